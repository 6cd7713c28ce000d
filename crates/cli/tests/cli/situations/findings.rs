//! Each kind of finding that names a command, with a document in which the command does what the finding says.

use serde_json::{Value, json};

use super::text;
use crate::support::Workspace;
use crate::support::fixtures::{agent, story, task};
use crate::support::harbour::but;

const OLD: &str = "2026-02-20T08:00:00Z";
const TASK: &str = "progress/checkpoints/quay-T1.json";

/// Documents with a finding, the name of the finding, and the command that follows.
fn cases() -> Vec<(&'static str, String, &'static str, &'static str)> {
    let of_task = |changes: Value| text(&but(task("quay", "T1", "List all quays", OLD), changes));
    let message = "# Messages\n\n## Message 1 (2026-02-20 10:00) ⏳ UNREAD\n**Subject:** x\n**Action:** y\n";
    vec![
        (TASK, of_task(json!({ "status": "complete" })), "task-partial-completion", "piton reopen UNIT"),
        (
            TASK,
            text(&json!({ "task_id": "T1", "agent": "quay", "status": "in_progress" })),
            "missing-key",
            "piton schema DIALECT",
        ),
        (TASK, of_task(json!({ "progress_percent": "much" })), "wrong-type", "piton schema DIALECT"),
        (TASK, of_task(json!({ "progress_percent": 900 })), "out-of-range", "piton schema DIALECT"),
        (TASK, of_task(json!({ "status": "odd" })), "word-unknown", "piton schema DIALECT"),
        ("plans/p/plan.md", "# P\n\n- [ ] One\n- [ ] Two\n".to_owned(), "plan-no-markers", "piton plan mark UNIT"),
        (
            "plans/p/plan.md",
            "# P\n\n- [ ] One <!-- TASK: one -->\n- [ ] Two\n".to_owned(),
            "plan-unmarked-box",
            "piton plan mark UNIT",
        ),
        (
            ".pipeline/checkpoint-S.json",
            text(&but(story("S", OLD), json!({ "tasksCompleted": [], "tasksRemaining": [] }))),
            "pipeline-no-tasks",
            "piton restart UNIT",
        ),
        (
            "epics/e/agent_comms/secondary_a_to_primary.md",
            message.to_owned(),
            "crew-unread-messages",
            "piton inbox AGENT",
        ),
    ]
}

#[test]
fn the_command_of_a_finding_works() {
    for (path, text_of, code, command) in cases() {
        let workspace = Workspace::new();
        workspace.write(path, text_of);
        if path.starts_with("epics/") {
            workspace.write(
                "epics/e/agent_checkpoints/secondary_a.json",
                text(&agent("Secondary-A", "tides", "IN_PROGRESS", OLD, OLD)),
            );
        }
        // Every command is followed here, however often walks did.
        let path = if path.starts_with("epics/") { "epics" } else { path };
        let shown = workspace.call(&["check", path]).mended_by(|_| ()).run().transcript();
        assert!(shown.contains(&format!("[{code}]")) && shown.contains(command), "{code}: {command}\n{shown}");
    }
}

/// A torn document is restored by the command that the finding names, from what was recorded before.
#[test]
fn a_torn_document_is_restored_by_the_command_of_its_finding() {
    for (torn, code) in [("{\"task_id\": \"T", "not-json"), ("[]\n", "not-an-object")] {
        let workspace = Workspace::new();
        workspace.write(TASK, text(&task("quay", "T1", "List all quays", OLD)));
        workspace.run(&["beat", "task:quay/T1"]).exits(0);
        workspace.write(TASK, torn);
        let run = workspace.call(&["check", TASK]).mended_by(|_| ()).run();
        let shown = run.transcript();
        assert!(shown.contains(&format!("[{code}]")) && shown.contains("piton repair UNIT"), "{shown}");
    }
}
