//! The configuration of Codex: its list of servers.

use toml_edit::{Array, DocumentMut, Item, Table, value};

/// What the server of a worker has to know, and Codex does not pass on by itself.
const VARIABLES: [&str; 6] = ["PITON_ROOT", "PITON_UNIT", "PITON_ATTEMPT", "PITON_STEP", "PITON_AGENT", "PITON_WORKER"];

/// The configuration with our server; one of the same name that is not ours is left alone. Keys of ours that are missing
/// are added: an older version did not write all of them.
pub(super) fn add(text: &str) -> Result<String, String> {
    let mut document = open(text)?;
    if server(&document).is_some() {
        let is_ours = command(&document) == Some("piton");
        let known = document.get_mut("mcp_servers").and_then(|servers| servers.get_mut("piton"));
        if let Some(known) = known.and_then(Item::as_table_like_mut).filter(|_| is_ours) {
            complete(known);
        }
        return Ok(document.to_string());
    }
    let servers = document.entry("mcp_servers").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let Some(servers) = servers.as_table_like_mut() else {
        return Err("`mcp_servers` is no table, and is left alone".to_owned());
    };
    let mut ours = Table::new();
    ours.insert("command", value("piton"));
    ours.insert("args", value(Array::from_iter(["mcp"])));
    complete(&mut ours);
    servers.insert("piton", Item::Table(ours));
    Ok(document.to_string())
}

/// Without the variables a worker's server would record in its worktree; without the mode, tools that begin an attempt
/// would be refused wherever nobody can be asked.
fn complete(server: &mut dyn toml_edit::TableLike) {
    if !server.contains_key("env_vars") {
        server.insert("env_vars", value(Array::from_iter(VARIABLES)));
    }
    if !server.contains_key("default_tools_approval_mode") {
        server.insert("default_tools_approval_mode", value("approve"));
    }
}

/// The configuration without our server.
pub(super) fn remove(text: &str) -> Result<String, String> {
    let mut document = open(text)?;
    if command(&document) != Some("piton") {
        return Ok(text.to_owned());
    }
    if let Some(servers) = document.get_mut("mcp_servers").and_then(Item::as_table_like_mut) {
        servers.remove("piton");
        if servers.is_empty() {
            document.remove("mcp_servers");
        }
    }
    Ok(document.to_string())
}

fn command(document: &DocumentMut) -> Option<&str> {
    server(document)?.get("command")?.as_str()
}

fn server(document: &DocumentMut) -> Option<&Item> {
    document.get("mcp_servers")?.get("piton")
}

fn open(text: &str) -> Result<DocumentMut, String> {
    text.parse::<DocumentMut>().map_err(|error| format!("it cannot be read: {}", error.message()))
}
