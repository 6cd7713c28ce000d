//! A repository is untrusted input: whatever lies in it, a call ends in time, says what is wrong, changes nothing.

mod documents;
mod ids;
mod kinds;
mod plans;

use crate::support::Workspace;
use crate::support::fixtures::{BUILDS, PLAN, agent, build, pipeline, plan_state, story, task};
use serde_json::{Value, json};

/// What a hostile document leads to.
struct Expected {
    /// The code of the finding; empty when nothing is wrong with it after all.
    code: &'static str,
    /// The exit code of `check`.
    check: i32,
    /// Whether its unit can still be read.
    is_read: bool,
}

const FINE: Expected = Expected { code: "", check: 0, is_read: true };

/// The finding is an error, and nothing can be read.
const fn lost(code: &'static str) -> Expected {
    Expected { code, check: 3, is_read: false }
}

/// The finding is an error, but the unit is there.
const fn wrong(code: &'static str) -> Expected {
    Expected { code, check: 3, is_read: true }
}

/// The finding is no error.
const fn odd(code: &'static str) -> Expected {
    Expected { code, check: 0, is_read: true }
}

/// A document of each kind that can be put in place of, with the unit it describes.
struct Place {
    path: String,
    unit: &'static str,
    good: Value,
    /// Whether the unit is also known from another document.
    is_elsewhere: bool,
}

fn places() -> Vec<Place> {
    let written = "2026-02-20T11:55:00Z";
    let place = |path: &str, unit, good, is_elsewhere| Place { path: path.to_owned(), unit, good, is_elsewhere };
    let state = pipeline(json!({ "HARB-2": "STAGE_2" }), json!({}));
    let agent = agent("Secondary-A", "tide_gauges", "IN_PROGRESS", written, "2026-02-20T12:10:00Z");
    let path = format!("{BUILDS}/PRD-002.json");
    vec![
        place(".pipeline/checkpoint-HARB-2.json", "pipeline:HARB-2", story("HARB-2", written), true),
        place(".pipeline/state.json", "pipeline:HARB-2", state, true),
        place(&path, "build:PRD-002", build("PRD-002", "Dredge the basin", "in_progress"), false),
        place("progress/checkpoints/quay-T060.json", "task:quay/T060", task("quay", "T060", "List", written), false),
        place("epics/tides/agent_checkpoints/secondary_a.json", "crew:Secondary-A", agent, false),
        place("plans/p/.checkpoint/state.json", "plan:p", plan_state("p", "sha256:8f3a8c0c1a7a7d3e"), true),
    ]
}

/// A workspace in which everything is well.
fn healthy() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("plans/p/plan.md", PLAN);
    for place in places() {
        workspace.write(&place.path, format!("{:#}\n", place.good));
    }
    workspace
}

/// Calls every verb on a workspace whose document at `place` was made hostile, and checks what it leads to.
fn check_every_verb(row: &str, workspace: &Workspace, place: &Place, expected: &Expected) {
    let before = workspace.fingerprint();
    let Place { path, unit, .. } = place;
    let about = |what: &str| format!("{row} at {path}: {what}");

    let checked = workspace.run(&["check"]);
    let named = format!("[{}]", expected.code);
    let is_named = |line: &str| line.starts_with(path.as_str()) && line.contains(&named);
    if !expected.code.is_empty() {
        assert!(checked.stdout.lines().any(is_named), "{}", about(&checked.transcript()));
    }
    assert_eq!(checked.code, Some(expected.check), "{}", about(&checked.transcript()));

    let directory = path.rsplit_once('/').expect("a document has a directory").0;
    workspace.run(&["check", directory]);
    let alone = workspace.run(&["check", path]);
    if !expected.code.is_empty() {
        assert!(alone.stdout.lines().any(is_named), "{}", about(&alone.transcript()));
    }

    let all = workspace.run(&["status"]).exits(0);
    let first = all.stdout.lines().next().unwrap_or_default();
    assert_eq!(first.contains("1 error"), expected.check == 3, "{}", about(&all.transcript()));

    // A unit whose document cannot be read is still there, and says so.
    for verb in ["status", "why"] {
        let one = workspace.run(&[verb, unit]);
        assert_eq!(one.code, Some(0), "{}", about(&one.transcript()));
        if !expected.is_read && !place.is_elsewhere {
            assert!(one.stdout.contains("unreadable"), "{}", about(&one.transcript()));
        }
    }
    workspace.run(&["check", unit]);
    workspace.run(&["stale"]).exits(0);
    assert_eq!(workspace.fingerprint(), before, "{}", about("something has changed"));
}
