//! `stale`: who should be at work and gives no sign of it.

use insta::assert_snapshot;

use crate::support::Workspace;
use crate::support::fixtures::{agent, task};
use crate::support::harbour::{harbour, put};

#[test]
fn the_missing_are_listed_the_worst_first() {
    let workspace = harbour();
    assert_snapshot!(workspace.run(&["stale"]).exits(7).transcript());
    assert_snapshot!("missing_json", workspace.run(&["stale", "--json"]).exits(7).transcript());
}

#[test]
fn nobody_is_missing() {
    let workspace = Workspace::new();
    assert_snapshot!(workspace.run(&["stale"]).exits(0).transcript());
    let document = task("quay", "T060", "List all quays", "2026-02-20T11:55:00Z");
    put(&workspace, "progress/checkpoints/quay-T060.json", &document);
    assert_eq!(workspace.run(&["stale"]).exits(0).stdout, "");
    assert_snapshot!("nobody_json", workspace.run(&["stale", "--json"]).exits(0).transcript());
}

#[test]
fn each_dialects_limits_are_exact() {
    let check = |written: &str, task_life: &str, agent_life: &str| {
        let workspace = Workspace::new();
        let document = task("quay", "T060", "List all quays", written);
        put(&workspace, "progress/checkpoints/quay-T060.json", &document);
        let document = agent("Secondary-A", "tide_gauges", "IN_PROGRESS", written, written);
        put(&workspace, "agent_checkpoints/secondary_a.json", &document);
        for (unit, life) in [("task:quay/T060", task_life), ("crew:Secondary-A", agent_life)] {
            let judged = workspace.run(&["why", unit, "--json"]).exits(0).json();
            assert_eq!(judged["liveness"], life, "{unit} at {written}");
        }
        let any = [task_life, agent_life].iter().any(|life| matches!(*life, "late" | "stale"));
        workspace.run(&["stale"]).exits(if any { 7 } else { 0 });
    };
    check("2026-02-20T12:00:00Z", "alive", "alive");
    check("2026-02-20T11:50:01Z", "alive", "alive");
    check("2026-02-20T11:50:00Z", "late", "alive");
    check("2026-02-20T11:30:01Z", "late", "alive");
    check("2026-02-20T11:30:00Z", "stale", "late");
    check("2026-02-20T11:00:01Z", "stale", "late");
    check("2026-02-20T11:00:00Z", "stale", "stale");
}
