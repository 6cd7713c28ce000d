//! Whatever stops a run, its documents and every door say so, and the commands that they print lead on.

use crate::dialects::{CHECKPOINT, SPEC};
use crate::yard::{Ended, Yard};

const RUN: &str = "[run]\nworkers = 3\nheartbeat = 1\npatience = 60\ngrace = 0.3\nstagger = 0\n";

/// Sets another worker, and commits that.
fn set_worker(yard: &Yard, settings: &str, command: &str, more: &str) {
    yard.workspace.write("piton.toml", format!("{settings}[worker]\ncommand = {command}\n{more}"));
    yard.commit("another worker");
}

fn said(ended: &Ended) -> String {
    format!("{}{}", ended.stdout, ended.stderr)
}

#[test]
fn a_build_whose_worker_cannot_start_has_no_live_agent_and_can_be_resumed() {
    let yard = Yard::with(RUN, "");
    let agent = yard.text("piton.toml");
    let agent = agent.lines().find_map(|line| line.strip_prefix("command = ")).expect("a worker").to_owned();
    yard.workspace.write("docs/EXECUTION-SPEC-PRD-031.md", SPEC);
    set_worker(&yard, RUN, "[\"/nonexistent/worker\"]", "");
    let ended = yard.piton(&["run", "docs/EXECUTION-SPEC-PRD-031.md", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let checkpoint = yard.read_json(CHECKPOINT);
    assert_eq!((&checkpoint["status"], &checkpoint["error"]["workstream"]), (&"failed".into(), &"WS1".into()));
    assert_eq!(checkpoint["in_progress_workstreams"].as_array().map(Vec::len), Some(0), "{checkpoint}");
    let unit = yard.json(&["status", "--json"])["units"][0].clone();
    assert_eq!((&unit["lifecycle"], &unit["liveness"]), (&"failed".into(), &"idle".into()), "{unit}");
    let resumed = yard.piton(&["resume", "build:PRD-031", "--fixed"]);
    assert_eq!(resumed.code, Some(0), "{}", said(&resumed));
    set_worker(&yard, RUN, &agent, "");
    yard.run(&["run", "docs/EXECUTION-SPEC-PRD-031.md", "--yes", "--retry"]);
    assert_eq!(yard.read_json(CHECKPOINT)["status"], "complete");
}
