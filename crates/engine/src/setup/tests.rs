use proptest::prelude::*;
use serde_json::Value;

use super::*;

const RICH: &str = r#"{
  // what the team agreed on
  "permissions": { "allow": ["Bash(make *)"] }, /* for now */
  "hooks": {
    "Stop": [
      // says when it is done
      {"hooks": [{"type": "command", "command": "notify-send done"}]}
    ],
    "PostToolUse": [{"matcher": "Edit", "hooks": [{"type": "command", "command": "make fmt"}]}], // keep
  },
  "model": "opus",
}
"#;

fn hooks_in(text: &str) -> Value {
    piton_dialect::json::Lenient::open(text).expect("settings").get(&["hooks"]).expect("hooks")
}

#[test]
fn hooks_are_added_to_what_is_there_and_go_without_a_trace() {
    for text in ["{}\n", "{\"model\": \"opus\"}", "{\n\t\"hooks\": {\n\t\t\"Stop\": []\n\t}\n}\n", RICH] {
        for scope in [Scope::Documents, Scope::AllFiles] {
            let with = claude::add(text, scope).expect("they are added");
            assert_eq!(claude::add(&with, scope).as_ref(), Ok(&with), "again is nothing new");
            let all = hooks_in(&with);
            for event in piton_dialect::hook::EVENTS {
                let is_wanted = claude::hooks(scope).iter().any(|(wanted, _)| *wanted == event);
                let text = all.get(event).map(Value::to_string).unwrap_or_default();
                assert_eq!(text.contains(&format!("[\"hook\",\"{event}\"]")), is_wanted, "{event} in {with}");
            }
            let without = claude::remove(&with).expect("they go");
            if text.contains("\"Stop\": []") {
                assert_eq!(without.split_whitespace().collect::<String>(), "{}", "an empty list is nothing");
            } else {
                assert_eq!(without, text, "{scope:?}");
            }
        }
    }
    let with = claude::add(RICH, Scope::Documents).expect("they are added");
    for comment in ["// what the team agreed on\n", "}, /* for now */\n", "// says when it is done\n", "], // keep\n"] {
        assert!(with.contains(comment), "{comment} is in {with}");
    }
}

#[test]
fn other_settings_make_other_hooks() {
    let few = claude::add("{}", Scope::Documents).expect("added");
    let all = claude::add(&few, Scope::AllFiles).expect("changed");
    assert!(few.contains("\"if\": \"Edit(**/plans/**)\"") && !few.contains("PostToolUseFailure"), "{few}");
    assert!(!all.contains("\"if\"") && all.contains("PostToolUseFailure"), "{all}");
    assert_eq!(claude::add(&all, Scope::Documents), Ok(few));
    assert_eq!(claude::remove_hooks(&all), Ok("{}".to_owned()));
    let plugin = "{\"enabledPlugins\": {\"piton@piton\": true}, \"model\": \"opus\"}";
    assert_eq!(claude::remove_hooks(plugin).as_deref(), Ok(plugin));
    assert_eq!(claude::remove(plugin).as_deref(), Ok("{\"model\": \"opus\"}"));
}

#[test]
fn what_others_put_beside_ours_stays() {
    let with = claude::add("{}", Scope::AllFiles).expect("added");
    let ours = "\"args\": [\"hook\", \"Stop\"],";
    let mixed = with.replacen(
        &format!("{{\n            \"type\": \"command\",\n            \"command\": \"piton\",\n            {ours}"),
        &format!("{{\"type\": \"command\", \"command\": \"say\"}}, {{\n            \"type\": \"command\",\n            \"command\": \"piton\",\n            {ours}"),
        1,
    );
    assert_ne!(mixed, with, "the test changes something");
    let rest = claude::remove(&mixed).expect("ours go");
    assert_eq!(hooks_in(&rest), json!({"Stop": [{"hooks": [{"type": "command", "command": "say"}]}]}), "{rest}");
}

#[test]
fn what_is_not_understood_is_left_alone() {
    for text in ["{", "[]", "{\"hooks\": 7}", "{\"hooks\": {\"Stop\": {}}}"] {
        assert!(claude::add(text, Scope::Documents).is_err(), "{text}");
    }
    assert!(claude::add_server("{\"mcpServers\": []}").is_err());
    let others = "{\"mcpServers\": {\"piton\": {\"command\": \"other\"}}}";
    assert_eq!(claude::add_server(others), Ok(others.to_owned()));
    assert_eq!(claude::remove_server(others), Ok(others.to_owned()));
    for text in ["mcp_servers = 7\n", "= broken"] {
        assert!(codex::add(text).is_err(), "{text}");
    }
    let others = "[mcp_servers.piton]\ncommand = \"other\"\n";
    assert_eq!((codex::add(others), codex::remove(others)), (Ok(others.to_owned()), Ok(others.to_owned())));
    assert!(block::add("<!-- piton:end --> and <!-- piton:begin -->").is_err());
}

#[test]
fn servers_and_blocks_go_without_a_trace() {
    for text in ["{}\n", "{\"mcpServers\": {\"x\": {\"command\": \"y\"}}}", "{\n  // c\n  \"mcpServers\": {\n  }\n}\n"]
    {
        let with = claude::add_server(text).expect("added");
        assert!(with.contains("\"args\": [\"mcp\"]") || with.contains("\"args\":[\"mcp\"]"), "{with}");
        assert_eq!(claude::add_server(&with).as_ref(), Ok(&with));
        let rest = claude::remove_server(&with).expect("removed");
        assert!(rest == text || text.contains("// c"), "{rest}");
    }
    for text in
        ["", "model = \"x\" # c\n", "[mcp_servers.a]\ncommand = \"b\"\n", "mcp_servers = { a = { command = \"b\" } }\n"]
    {
        let with = codex::add(text).expect("added");
        assert!(
            with.parse::<toml_edit::DocumentMut>()
                .is_ok_and(|all| all["mcp_servers"]["piton"]["args"][0].as_str() == Some("mcp")),
            "{with}"
        );
        assert_eq!(codex::add(&with).as_ref(), Ok(&with));
        assert_eq!(codex::remove(&with), Ok(text.to_owned()));
    }
    // As an older version wrote it.
    let old = "[mcp_servers.piton]\ncommand = \"piton\"\nargs = [\"mcp\"]\n";
    let with = codex::add(old).expect("completed");
    assert!(with.starts_with(old), "{with}");
    for line in ["env_vars = [\"PITON_ROOT\", ", "default_tools_approval_mode = \"approve\"\n"] {
        assert!(with.contains(line), "{with}");
    }
}

proptest! {
    /// Whatever stands in an AGENTS.md: the block comes once, and goes without a trace.
    #[test]
    fn a_block_goes_without_a_trace(text in "([a-z# ]{0,20}\\r?\\n){0,5}[a-z]{0,5}") {
        let with = block::add(&text).expect("added");
        prop_assert_eq!(with.matches("## Recorded work").count(), 1);
        let again = block::add(&with).expect("added");
        prop_assert_eq!(&again, &with);
        let rest = block::remove(&with).expect("removed");
        // A last line without an end gets one, which nobody can tell from the user's own.
        let is_ended = text.is_empty() || text.ends_with('\n');
        prop_assert!(rest == text || (!is_ended && rest.trim_end_matches(['\r', '\n']) == text), "{:?} of {:?}", rest, text);
    }
}

#[test]
fn the_plugin_has_the_same_hooks_as_the_settings() {
    let plugin: Value = serde_json::from_str(include_str!("../../../../plugin/hooks/hooks.json")).expect("JSON");
    let mut wanted = serde_json::Map::new();
    for (event, group) in claude::hooks(Scope::AllFiles) {
        wanted.entry(event).or_insert_with(|| json!([])).as_array_mut().expect("a list").push(group);
    }
    assert_eq!(plugin["hooks"], Value::Object(wanted));
    let servers: Value = serde_json::from_str(include_str!("../../../../plugin/.mcp.json")).expect("JSON");
    let ours = claude::add_server("{}").expect("added");
    assert_eq!(servers, serde_json::from_str::<Value>(&ours).expect("JSON"));
}
