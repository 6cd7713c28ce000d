//! `sync`, and `stale --notify`: who is missing at a sync point, and what is done about silent agents.

use insta::assert_snapshot;
use serde_json::json;

use crate::support::Workspace;
use crate::support::fixtures::agent;
use crate::support::harbour::{but, put};

const ALIVE: &str = "2026-02-20T11:55:00Z";
const LATE: &str = "2026-02-20T11:20:00Z";
const STALE: &str = "2026-02-20T10:00:00Z";

fn put_agent(workspace: &Workspace, path: &str, id: &str, status: &str, written: &str) {
    let document = agent(id, &format!("feature_of_{id}"), status, written, written);
    let done = if status == "COMPLETE" { json!({ "next_steps": [] }) } else { json!({}) };
    put(workspace, path, &but(document, done));
}

#[test]
fn a_crew_is_ready_when_every_secondary_is() {
    let workspace = Workspace::new();
    workspace.run(&["sync"]).exits(5);
    put_agent(&workspace, "epics/e7/agent_checkpoints/primary.json", "Agent-Primary", "IN_PROGRESS", ALIVE);
    put_agent(&workspace, "epics/e7/agent_checkpoints/secondary_a.json", "Secondary-A", "COMPLETE", ALIVE);
    put_agent(&workspace, "epics/e7/agent_checkpoints/secondary_b.json", "Secondary-B", "IN_PROGRESS", ALIVE);
    put_agent(&workspace, "epics/e7/agent_checkpoints/secondary_c.json", "Secondary-C", "COMPLETE", STALE);
    put_agent(&workspace, "epics/e8/agent_checkpoints/secondary_a.json", "Secondary-A", "COMPLETE", ALIVE);
    let before = workspace.fingerprint();
    assert_snapshot!("missing", workspace.run(&["sync"]).exits(7).transcript());
    assert_snapshot!("missing_json", workspace.run(&["sync", "epics/e7", "--json"]).exits(7).transcript());
    assert_snapshot!("ready", workspace.run(&["sync", "e8"]).exits(0).transcript());
    assert_snapshot!("no_such_epic", workspace.run(&["sync", "e9"]).exits(5).transcript());
    assert_eq!(workspace.fingerprint(), before);
}

#[test]
fn silent_agents_are_warned_once_and_then_marked_as_crashed() {
    let workspace = Workspace::new();
    put_agent(&workspace, "epics/e7/agent_checkpoints/primary.json", "Agent-Primary", "IN_PROGRESS", ALIVE);
    put_agent(&workspace, "epics/e7/agent_checkpoints/secondary_a.json", "Secondary-A", "IN_PROGRESS", LATE);
    put_agent(&workspace, "epics/e7/agent_checkpoints/secondary_b.json", "Secondary-B", "IN_PROGRESS", STALE);
    put_agent(&workspace, "epics/e8/agent_checkpoints/secondary_a.json", "Secondary-A", "IN_PROGRESS", ALIVE);
    let section = "<!-- BEGIN SECONDARY-B PROGRESS -->\nSecondary-B: IN_PROGRESS\n<!-- END SECONDARY-B PROGRESS -->\n";
    workspace.write("epics/e7/EPIC_README.md", format!("# Tides\n\n{section}"));
    let before = workspace.fingerprint();
    let plain = workspace.run(&["stale"]).exits(7);
    assert_eq!(workspace.fingerprint(), before);
    let notified = workspace.run(&["stale", "--notify"]).exits(7);
    assert!(notified.stdout.starts_with(&plain.stdout), "{}", notified.transcript());
    assert_snapshot!("notified", notified.transcript());
    let epic = std::fs::read_to_string(workspace.path("epics/e7/EPIC_README.md")).expect("the epic");
    assert!(epic.contains("\nSecondary-B: STALE (likely crashed)\n"), "{epic}");
    let inbox = workspace.run(&["inbox", "e7/Secondary-A", "--json"]).exits(0).json();
    assert_eq!(inbox["messages"][0]["subject"], "CHECKPOINT WARNING - No Update in 30 Minutes");
    // The same silence is not told twice.
    let before = workspace.fingerprint();
    assert_snapshot!("known_json", workspace.run(&["stale", "--notify", "--json"]).exits(7).transcript());
    assert_eq!(workspace.fingerprint(), before);
}

#[test]
fn nobody_is_notified_where_nobody_is_silent() {
    let workspace = Workspace::new();
    put_agent(&workspace, "agent_checkpoints/secondary_a.json", "Secondary-A", "IN_PROGRESS", ALIVE);
    let before = workspace.fingerprint();
    assert_eq!(workspace.run(&["stale", "--notify"]).exits(0).stdout, "");
    assert_eq!(workspace.fingerprint(), before);
}
