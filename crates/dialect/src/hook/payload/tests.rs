use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;

fn base(event: &str, more: Json) -> Json {
    let mut all = json!({
        "session_id": "9b1c7e52-0f3a-4d1b-9a70-55d1c1c0a001",
        "transcript_path": "/home/ada/.claude/projects/-harbour/9b1c7e52.jsonl",
        "cwd": "/harbour",
        "hook_event_name": event,
    });
    let object = all.as_object_mut().expect("an object");
    object.extend(more.as_object().expect("an object").clone());
    all
}

fn told_of(event: &str, more: Json) -> Told {
    read(event, base(event, more).to_string().as_bytes()).expect("a payload").told
}

fn helper_of(kind: &str) -> Helper {
    Helper { id: Some("a17".to_owned()), kind: kind.to_owned() }
}

#[test]
fn each_event_is_read_as_what_happened() {
    let path = || "/harbour/plans/x/plan.md".to_owned();
    let agent = json!({"agent_id": "a17", "agent_type": "general-purpose"});
    for (event, more, want) in [
        ("SessionStart", json!({"source": "startup"}), Told::SessionStarted(Source::Startup)),
        ("SessionStart", json!({"source": "resume"}), Told::SessionStarted(Source::Resume)),
        ("SessionStart", json!({"source": "clear"}), Told::SessionStarted(Source::Clear)),
        ("SessionStart", json!({"source": "compact"}), Told::SessionStarted(Source::Compact)),
        ("SessionStart", json!({"source": "fork"}), Told::SessionStarted(Source::Fork)),
        ("SessionStart", json!({"source": 7}), Told::SessionStarted(Source::Startup)),
        ("UserPromptSubmit", json!({"prompt": "go on"}), Told::Prompted { is_notification: false }),
        (
            "UserPromptSubmit",
            json!({"prompt": "<task-notification>\n<task-id>a</task-id>"}),
            Told::Prompted { is_notification: true },
        ),
        (
            "PostToolUse",
            json!({"tool_name": "Edit", "tool_input": {"file_path": path()}, "tool_response": {"filePath": path()}}),
            Told::FileWritten { path: path(), is_new: false },
        ),
        (
            "PostToolUse",
            json!({"tool_name": "Write", "tool_input": {"file_path": path()}, "tool_response": {"type": "create"}}),
            Told::FileWritten { path: path(), is_new: true },
        ),
        ("PostToolUse", json!({"tool_name": "Agent", "tool_input": {}}), Told::HelperReturned),
        ("PostToolUse", json!({"tool_name": "Read", "tool_input": {"file_path": path()}}), Told::Nothing),
        ("PostToolUse", json!({"tool_name": "Write", "tool_input": {"file_path": ["x"]}}), Told::Nothing),
        ("PostToolUse", json!({"tool_name": "Write", "tool_input": 3}), Told::Nothing),
        ("FileChanged", json!({"file_path": path(), "event": "change"}), Told::FileChanged { path: path() }),
        ("FileChanged", json!({}), Told::Nothing),
        (
            "PreToolUse",
            json!({"tool_name": "Agent", "tool_input": {"subagent_type": "buyer", "prompt": "buy lens-1"}}),
            Told::HelperWanted { kind: "buyer".to_owned(), prompt: "buy lens-1".to_owned() },
        ),
        ("PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}), Told::Nothing),
        ("SubagentStart", agent.clone(), Told::HelperStarted(helper_of("general-purpose"))),
        ("SubagentStart", json!({"agent_id": "a17", "agent_type": ""}), Told::Nothing),
        (
            "SubagentStop",
            json!({"agent_id": "a17", "agent_type": "buyer", "last_assistant_message": "lens-1 done"}),
            Told::HelperStopped { helper: helper_of("buyer"), message: "lens-1 done".to_owned() },
        ),
        ("SubagentStop", json!({"agent_id": "a17", "agent_type": "", "last_assistant_message": "x"}), Told::Nothing),
        ("SubagentStop", json!({"agent_type": "a\nb"}), Told::Nothing),
        (
            "PostToolUseFailure",
            json!({"tool_name": "Bash", "error": "Exit code 2", "is_interrupt": false}),
            Told::ToolFailed { tool: "Bash".to_owned(), message: "Exit code 2".to_owned() },
        ),
        ("PostToolUseFailure", json!({"tool_name": "Bash", "error": "x", "is_interrupt": true}), Told::Nothing),
        ("PreCompact", json!({"trigger": "auto", "custom_instructions": null}), Told::Compacting),
        ("PostCompact", json!({"compact_summary": "short"}), Told::Compacted { summary: Some("short".to_owned()) }),
        (
            "Stop",
            json!({"stop_hook_active": false, "last_assistant_message": "fine", "background_tasks": []}),
            Told::TurnEnded { message: Some("fine".to_owned()), goes_on: false, is_again: false },
        ),
        (
            "Stop",
            json!({"stop_hook_active": true, "background_tasks": [{"id": "a17"}]}),
            Told::TurnEnded { message: None, goes_on: true, is_again: true },
        ),
        ("SessionEnd", json!({"reason": "clear"}), Told::SessionEnded { reason: "clear".to_owned() }),
        ("SessionEnd", json!({}), Told::SessionEnded { reason: "other".to_owned() }),
        ("Notification", json!({"message": "x"}), Told::Nothing),
    ] {
        assert_eq!(told_of(event, more.clone()), want, "{event} {more}");
    }
}

#[test]
fn a_payload_that_is_none_is_refused() {
    let whole = base("Stop", json!({})).to_string();
    for (bytes, want) in [
        (b"".as_slice(), "the payload is no JSON object: the file is empty"),
        (b"[]", "the payload is no JSON object: it is a list"),
        (
            b"{\"session_id\": \"a\"",
            "the payload is no JSON object: the text ends inside a value; it was probably torn",
        ),
        (b"{\"session_id\": \"\xff\"}", "the payload is no JSON object: it is not UTF-8"),
        (b"{}", "the payload names no session"),
        (b"{\"session_id\": 7}", "the payload names no session"),
        (b"{\"session_id\": \"../../etc/passwd\"}", "the payload names no session"),
        (b"{\"session_id\": \"$(reboot)\"}", "the payload names no session"),
        (b"{\"session_id\": \"a\", \"hook_event_name\": \"Stop\"}", "the payload is about another event"),
        (whole.as_bytes(), "the payload is about another event"),
    ] {
        let error = read("SessionEnd", bytes).expect_err("it is refused").to_string();
        assert_eq!(error, want);
    }
    let deep = format!("{{\"session_id\": \"a\", \"x\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(read("Stop", deep.as_bytes()).is_err());
}

proptest! {
    /// Any key of a payload may be missing or something else: it is read or refused, and nothing panics.
    #[test]
    fn any_field_may_be_missing_or_something_else(
        event in proptest::sample::select(EVENTS.to_vec()),
        keys in proptest::sample::subsequence(
            vec!["session_id", "hook_event_name", "tool_name", "tool_input", "tool_response", "source", "prompt",
                 "agent_type", "agent_id", "file_path", "error", "reason", "background_tasks", "last_assistant_message"],
            0..14,
        ),
        values in proptest::collection::vec(
            proptest::sample::select(vec!["null", "7", "\"Agent\"", "\"x\"", "[]", "{}", "{\"file_path\":1}", "true"]), 14,
        ),
    ) {
        let fields: Vec<_> = keys.iter().zip(&values).map(|(key, value)| format!("\"{key}\":{value}")).collect();
        let _ = read(event, format!("{{{}}}", fields.join(",")).as_bytes());
    }
}
