//! Whatever a hook is given: exit code 0, an answer that is nothing or JSON, and the host is not kept waiting.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::hook::{ONE, PLAN};
use crate::support::Workspace;

const EVENTS: [&str; 14] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "FileChanged",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "Stop",
    "SessionEnd",
    "Notification",
    "",
];

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("plans/quay/plan.md", PLAN);
    workspace.run(&["start", "plan:quay"]).exits(0);
    workspace
}

fn hear(workspace: &Workspace, arguments: &[&str], payload: impl Into<Vec<u8>>) -> String {
    let began = Instant::now();
    let run = workspace.call(arguments).input(payload).run().exits(0);
    assert!(run.stdout.is_empty() || run.json().is_object(), "{}", run.transcript());
    assert_eq!(run.stderr, "", "{}", run.transcript());
    assert!(began.elapsed() < Duration::from_secs(15), "{}", run.transcript());
    run.stdout
}

/// A payload that has what any event may have.
fn whole(workspace: &Workspace, event: &str) -> Value {
    let plan = workspace.path("plans/quay/plan.md");
    json!({
        "session_id": ONE, "hook_event_name": event, "cwd": workspace.root(), "source": "startup", "prompt": "go",
        "tool_name": if event == "PreToolUse" { "Agent" } else { "Edit" }, "file_path": plan,
        "tool_input": {"file_path": plan, "prompt": "measure-wall", "subagent_type": "mason"},
        "tool_response": {"type": "create"}, "error": "it broke", "agent_id": "a17", "agent_type": "mason",
        "last_assistant_message": "measure-wall is done", "background_tasks": [], "reason": "other",
        "compact_summary": "short",
    })
}

#[test]
fn fields_may_be_missing_or_of_another_type() {
    let workspace = workspace();
    for event in EVENTS {
        let whole = whole(&workspace, event);
        hear(&workspace, &["hook", event], whole.to_string());
        let odd =
            [Value::Null, json!(7), json!(["x"]), json!({"a": {"b": 1}}), json!("$(touch pwned) `x` \u{1b}[2J\n../..")];
        let keys: Vec<String> = whole.as_object().expect("an object").keys().cloned().collect();
        // Each key misses once and is something else once; that is many processes, so odd values take turns.
        for (place, key) in keys.iter().enumerate() {
            let mut payload = whole.clone();
            payload[key] = odd[place % odd.len()].clone();
            hear(&workspace, &["hook", event], payload.to_string());
        }
        let mut none = whole.clone();
        none.as_object_mut().expect("an object").retain(|key, _| matches!(key.as_str(), "session_id" | "tool_name"));
        hear(&workspace, &["hook", event], none.to_string());
    }
    assert!(!workspace.path("pwned").exists());
    workspace.run(&["check", "plan:quay"]).exits(0);
}

#[test]
fn what_is_no_payload_changes_nothing() {
    let workspace = workspace();
    let before = workspace.fingerprint();
    let deep = format!("{{\"session_id\": \"{ONE}\", \"x\": {}1{}}}", "[".repeat(50_000), "]".repeat(50_000));
    let payloads: [&[u8]; 9] = [
        b"",
        b"not json",
        b"{",
        b"null",
        b"{\"session_id\": \"\xff\xfe\"}",
        b"{\"session_id\": \"../../../etc/passwd\", \"source\": \"startup\"}",
        b"{\"session_id\": \"a b\"}",
        b"\x00\x00\x00",
        deep.as_bytes(),
    ];
    for event in ["SessionStart", "PostToolUse", "Stop", "SessionEnd"] {
        for payload in payloads {
            assert_eq!(hear(&workspace, &["hook", event], payload), "", "{event}");
        }
    }
    let is_trace = |path: &str| path.ends_with("/fired") || path.ends_with("/hook.log");
    assert_eq!(before.without(is_trace), workspace.fingerprint().without(is_trace));
    let log = fs::read_to_string(workspace.path(".piton/hook.log")).expect("a log");
    assert_eq!(log.lines().count(), 36, "{log}");
}

#[test]
fn ten_megabytes_are_read_and_dropped() {
    let workspace = workspace();
    let mut payload = whole(&workspace, "PostToolUse");
    payload["tool_input"]["content"] = "x".repeat(10_000_000).into();
    assert_eq!(hear(&workspace, &["hook", "PostToolUse"], payload.to_string()), "");
    let log = fs::read_to_string(workspace.path(".piton/hook.log")).expect("a log");
    assert!(log.contains("more than 8388608 bytes"), "{log}");
    payload["tool_input"]["content"] = "x".repeat(2_000_000).into();
    hear(&workspace, &["hook", "PostToolUse"], payload.to_string());
    assert!(workspace.path(&format!(".piton/sessions/{ONE}")).exists(), "what fits is heard");
}

#[test]
fn wrong_arguments_and_surroundings_are_no_business_of_the_host() {
    let workspace = workspace();
    let start = json!({"session_id": ONE, "source": "startup"}).to_string();
    for arguments in [
        &["hook"][..],
        &["hook", "NoSuchEvent"],
        &["hook", "SessionStart", "--frobnicate"],
        &["hook", "--frobnicate"],
        &["hook", "SessionStart", "extra", "words"],
        &["--color", "nonsense", "hook", "SessionStart"],
        &["-C", "/does/not/exist", "hook", "SessionStart"],
    ] {
        hear(&workspace, arguments, start.clone());
    }
    let call = workspace.call(&["hook", "SessionStart"]).at("not a time").input(start.clone());
    call.run().exits(0);
    for (name, value) in [
        ("PITON_UNIT", "../../x"),
        ("PITON_UNIT", "plan:nobody"),
        ("PITON_ATTEMPT", "-1"),
        ("CLAUDE_PID", "99999999999"),
        ("CLAUDE_ENV_FILE", "/does/not/exist/file"),
        ("CLAUDE_PROJECT_DIR", "/does/not/exist"),
        ("PITON_ROOT", "/dev/null"),
    ] {
        let run = workspace.call(&["hook", "SessionStart"]).env(name, value).input(start.clone()).run().exits(0);
        assert!(run.stdout.is_empty() || run.json().is_object(), "{name}={value}: {}", run.transcript());
    }
}

#[test]
fn a_store_that_cannot_be_used_is_a_line_and_not_a_failure() {
    let workspace = Workspace::new();
    workspace.write("plans/quay/plan.md", PLAN);
    // A file stands where the sessions should be.
    workspace.run(&["start", "plan:quay"]).exits(0);
    fs::write(workspace.path(".piton/sessions"), "in the way").expect("it can be written");
    for event in EVENTS {
        hear(&workspace, &["hook", event], whole(&workspace, event).to_string());
    }
    let log = fs::read_to_string(workspace.path(".piton/hook.log")).expect("a log");
    assert!(log.contains(".piton/sessions"), "{log}");
}

#[test]
fn a_workspace_without_documents_is_left_alone() {
    let workspace = Workspace::new();
    let before = workspace.fingerprint();
    for event in EVENTS {
        let mut payload = whole(&workspace, event);
        payload["tool_input"]["file_path"] = "src/a.rs".into();
        payload["file_path"] = "src/a.rs".into();
        assert_eq!(hear(&workspace, &["hook", event], payload.to_string()), "", "{event}");
    }
    assert_eq!(before, workspace.fingerprint());
}
