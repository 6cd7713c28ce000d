//! The configuration of Codex: its list of servers.

use toml_edit::{Array, DocumentMut, Item, Table, value};

/// The configuration with our server; one of the same name is left alone.
pub(super) fn add(text: &str) -> Result<String, String> {
    let mut document = open(text)?;
    if server(&document).is_some() {
        return Ok(text.to_owned());
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
    servers.insert("piton", Item::Table(ours));
    Ok(document.to_string())
}

/// The configuration without our server.
pub(super) fn remove(text: &str) -> Result<String, String> {
    let mut document = open(text)?;
    let is_ours = server(&document).and_then(|server| server.get("command")?.as_str()) == Some("piton");
    if !is_ours {
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

fn server(document: &DocumentMut) -> Option<&Item> {
    document.get("mcp_servers")?.get("piton")
}

fn open(text: &str) -> Result<DocumentMut, String> {
    text.parse::<DocumentMut>().map_err(|error| format!("it cannot be read: {}", error.message()))
}
