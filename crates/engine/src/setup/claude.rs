//! The settings of Claude Code: hooks, and the plugin that brings them instead.

use piton_dialect::json::Lenient;
use serde_json::{Value, json};

use super::Scope;

/// What the settings call.
pub(super) const COMMAND: &str = "piton";

/// The plugin, as settings name it.
const PLUGIN: &str = "piton@piton";

/// How long the host waits for a hook, in seconds.
const TIMEOUT: u64 = 10;

/// Where documents of the dialects are, as the host's filters write it.
const DOCUMENTS: [&str; 5] = [
    "**/plans/**",
    "**/.pipeline/**",
    "**/build-pipeline/checkpoints/**",
    "**/progress/checkpoints/**",
    "**/agent_checkpoints/**",
];

/// The hooks, by event: a matcher, and the filters by which the host decides whether to start a process at all.
pub(super) fn hooks(scope: Scope) -> Vec<(&'static str, Value)> {
    let call =
        |event: &str| json!({"type": "command", "command": COMMAND, "args": ["hook", event], "timeout": TIMEOUT});
    let plain = |event: &'static str| (event, json!({"hooks": [call(event)]}));
    let matched = |event: &'static str, matcher: &str| (event, json!({"matcher": matcher, "hooks": [call(event)]}));
    let mut all = vec![plain("SessionStart"), plain("UserPromptSubmit"), matched("PreToolUse", "Agent")];
    match scope {
        Scope::AllFiles => {
            all.push(matched("PostToolUse", "Edit|Write|NotebookEdit|Agent"));
            all.push(plain("PostToolUseFailure"));
        }
        Scope::Documents => {
            let filtered = ["Edit", "Write"].iter().flat_map(|tool| {
                DOCUMENTS.iter().map(move |place| {
                    let mut each = call("PostToolUse");
                    each["if"] = format!("{tool}({place})").into();
                    each
                })
            });
            let filtered: Vec<Value> = filtered.collect();
            all.push(("PostToolUse", json!({"matcher": "Edit|Write", "hooks": filtered})));
            all.push(matched("PostToolUse", "Agent"));
        }
    }
    all.push(matched("FileChanged", ""));
    all.extend(["SubagentStart", "SubagentStop", "PreCompact", "PostCompact", "Stop", "SessionEnd"].map(plain));
    all
}

/// Settings with our hooks.
pub(super) fn add(text: &str, scope: Scope) -> Result<String, String> {
    let mut settings = open(text)?;
    let wanted = hooks(scope);
    if is_current(&settings, scope) {
        return Ok(settings.text().to_owned());
    }
    settings = open(&remove(text)?)?;
    make(&mut settings, &[], "hooks", &json!({}))?;
    for (event, group) in &wanted {
        make(&mut settings, &["hooks"], event, &json!([]))?;
        settings.add(&["hooks", event], None, group);
    }
    Ok(settings.text().to_owned())
}

/// Whether settings have the plugin, which brings the hooks.
pub(super) fn has_plugin(text: &str) -> bool {
    open(text).is_ok_and(|settings| settings.get(&["enabledPlugins", PLUGIN]) == Some(Value::Bool(true)))
}

/// Settings without anything of ours. A list or object that is empty then goes with it.
pub(super) fn remove(text: &str) -> Result<String, String> {
    let mut settings = open(&remove_hooks(text)?)?;
    if settings.get(&["enabledPlugins", PLUGIN]).is_some() {
        settings.remove(&["enabledPlugins"], &|key, _| key == Some(PLUGIN));
        if settings.get(&["enabledPlugins"]) == Some(json!({})) {
            settings.remove(&[], &|found, _| found == Some("enabledPlugins"));
        }
    }
    Ok(settings.text().to_owned())
}

/// Settings without our hooks.
pub(super) fn remove_hooks(text: &str) -> Result<String, String> {
    let mut settings = open(text)?;
    let had_hooks = !own_groups(&settings).is_empty();
    let events: Vec<String> = match settings.get(&["hooks"]) {
        Some(Value::Object(events)) if had_hooks => events.keys().cloned().collect(),
        _ => Vec::new(),
    };
    for event in &events {
        remove_from(&mut settings, event);
    }
    if had_hooks && settings.get(&["hooks"]) == Some(json!({})) {
        settings.remove(&[], &|found, _| found == Some("hooks"));
    }
    Ok(settings.text().to_owned())
}

/// Takes our hooks out of the groups of an event; groups of others stay, and so do others' hooks in ours.
fn remove_from(settings: &mut Lenient, event: &str) {
    let groups = settings.get(&["hooks", event]);
    let groups = groups.as_ref().and_then(Value::as_array).cloned().unwrap_or_default();
    if !groups.iter().any(|group| hooks_of(group).iter().any(is_own)) {
        return;
    }
    // A group that somebody added a hook to is written anew without ours.
    for group in groups.iter().filter(|group| hooks_of(group).iter().any(is_own) && !is_wholly_own(group)) {
        let mut rest = group.clone();
        rest["hooks"] = hooks_of(group).into_iter().filter(|hook| !is_own(hook)).collect();
        settings.add(&["hooks", event], None, &rest);
    }
    settings.remove(&["hooks", event], &|_, group| hooks_of(group).iter().any(is_own));
    if settings.get(&["hooks", event]) == Some(json!([])) {
        settings.remove(&["hooks"], &|key, _| key == Some(event));
    }
}

/// Our groups, in the order of the settings.
pub(super) fn own_groups(settings: &Lenient) -> Vec<(&'static str, Value)> {
    let mut all = Vec::new();
    let Some(Value::Object(events)) = settings.get(&["hooks"]) else { return all };
    for (event, groups) in &events {
        let name = piton_dialect::hook::EVENTS.iter().find(|known| *known == event);
        let groups = groups.as_array().into_iter().flatten().filter(|group| hooks_of(group).iter().any(is_own));
        all.extend(groups.map(|group| (name.copied().unwrap_or("?"), group.clone())));
    }
    all
}

/// Whether our hooks are those that would be written now, in whatever order.
pub(super) fn is_current(settings: &Lenient, scope: Scope) -> bool {
    let sorted = |mut all: Vec<(&'static str, Value)>| {
        all.sort_by_cached_key(|(event, group)| format!("{event} {group}"));
        all
    };
    sorted(own_groups(settings)) == sorted(hooks(scope))
}

fn hooks_of(group: &Value) -> Vec<Value> {
    group.get("hooks").and_then(Value::as_array).cloned().unwrap_or_default()
}

fn is_wholly_own(group: &Value) -> bool {
    hooks_of(group).iter().all(is_own)
}

/// Whether a hook calls this program as a hook, from wherever it is installed.
fn is_own(hook: &Value) -> bool {
    let command = hook.get("command").and_then(Value::as_str).unwrap_or_default();
    let first = hook.get("args").and_then(|args| args.get(0)).and_then(Value::as_str);
    command.rsplit('/').next() == Some(COMMAND) && first == Some("hook")
}

/// Makes sure that a key is there, with something of the same kind.
fn make(settings: &mut Lenient, path: &[&str], key: &str, empty: &Value) -> Result<(), String> {
    let full: Vec<&str> = path.iter().copied().chain([key]).collect();
    match settings.get(&full) {
        None => {
            settings.add(path, Some(key), empty);
            Ok(())
        }
        Some(found) if found.is_object() == empty.is_object() && found.is_array() == empty.is_array() => Ok(()),
        Some(_) => Err(format!("`{}` is not what it should be, and is left alone", full.join("."))),
    }
}

fn open(text: &str) -> Result<Lenient, String> {
    Lenient::open(text).map_err(|error| {
        let line = text[..error.at.min(text.len())].lines().count().max(1);
        format!("it cannot be read: {} (line {line})", error.problem)
    })
}

/// Adds our server to a `.mcp.json`; one of the same name that is somebody else's is left alone.
pub(super) fn add_server(text: &str) -> Result<String, String> {
    let mut file = open(text)?;
    match file.get(&["mcpServers", COMMAND]) {
        Some(_) => return Ok(file.text().to_owned()),
        None => make(&mut file, &[], "mcpServers", &json!({}))?,
    }
    file.add(&["mcpServers"], Some(COMMAND), &json!({"command": COMMAND, "args": ["mcp"]}));
    Ok(file.text().to_owned())
}

/// Takes our server out of a `.mcp.json`.
pub(super) fn remove_server(text: &str) -> Result<String, String> {
    let mut file = open(text)?;
    let is_ours = |server: &Value| {
        let command = server.get("command").and_then(Value::as_str).unwrap_or_default();
        command.rsplit('/').next() == Some(COMMAND) && server.get("args") == Some(&json!(["mcp"]))
    };
    if file.get(&["mcpServers", COMMAND]).as_ref().is_some_and(is_ours) {
        file.remove(&["mcpServers"], &|key, _| key == Some(COMMAND));
        if file.get(&["mcpServers"]) == Some(json!({})) {
            file.remove(&[], &|key, _| key == Some("mcpServers"));
        }
    }
    Ok(file.text().to_owned())
}
