//! `check`: findings, and the exit code that says whether one of them is an error.

use insta::assert_snapshot;
use serde_json::json;

use crate::support::Workspace;
use crate::support::fixtures::{BUILDS, agent, build};
use crate::support::harbour::{but, harbour, put};

#[test]
fn findings_of_a_workspace() {
    assert_snapshot!(harbour().run(&["check"]).exits(3).transcript());
}

#[test]
fn findings_as_json() {
    let workspace = Workspace::new();
    put(&workspace, &format!("{BUILDS}/PRD-005.json"), &build("PRD-005", "Move the ferry", "nearly done"));
    assert_snapshot!(workspace.run(&["check", "--json"]).exits(3).transcript());
}

#[test]
fn a_workspace_without_findings() {
    let workspace = Workspace::new();
    put(&workspace, &format!("{BUILDS}/PRD-002.json"), &build("PRD-002", "Dredge the basin", "in_progress"));
    assert_snapshot!(workspace.run(&["check"]).exits(0).transcript());
    assert_snapshot!("nothing_found_json", workspace.run(&["check", "--json"]).exits(0).transcript());
    assert_snapshot!("nothing_to_check", Workspace::new().run(&["check"]).exits(0).transcript());
}

#[test]
fn only_errors_decide_the_exit_code() {
    let workspace = Workspace::new();
    let folded = but(build("PRD-007", "Ring the bell", "in_progress"), json!({ "status": "executing" }));
    put(&workspace, &format!("{BUILDS}/PRD-007.json"), &folded);
    assert_snapshot!(workspace.run(&["check"]).exits(0).transcript());
}

#[test]
fn one_unit_is_checked_alone() {
    let workspace = harbour();
    assert_snapshot!(workspace.run(&["check", "build:PRD-005"]).exits(3).transcript());
    workspace.run(&["check", "PRD-002"]).exits(0);
    workspace.run(&["check", "PRD-002", "PRD-005"]).exits(3);
}

#[test]
fn a_directory_is_checked_as_if_it_were_the_workspace() {
    let workspace = harbour();
    assert_snapshot!(workspace.run(&["check", "epics"]).exits(0).transcript());
    workspace.run(&["check", "plans", "."]).exits(3);
}

#[test]
fn findings_cannot_reach_the_terminal_unescaped() {
    let workspace = Workspace::new();
    let status = "half\u{1b}]52;c;aGk=\u{7} \u{202e}enod\u{202c}\nerror[fake]: forged";
    put(&workspace, &format!("{BUILDS}/PRD-008.json"), &build("PRD-008", "Forge\u{1b}[2J", status));
    let id = agent("Secondary-\u{1b}[31mZ", "tide\u{9b}31m", status, "2026-02-20T11:55:00Z", "\u{1b}[H");
    put(&workspace, "epics/x/agent_checkpoints/secondary_z.json", &id);
    for arguments in [&["check"][..], &["status"], &["stale"], &["status", "PRD-008"], &["why", "PRD-008"]] {
        let run = workspace.run(arguments);
        let hostile = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{200b}');
        for output in [&run.stdout, &run.stderr] {
            assert!(!output.contains(hostile), "{}", run.transcript().escape_debug());
            assert!(!output.lines().any(|line| line.starts_with("error[fake]")), "{}", run.transcript());
        }
    }
}

#[test]
fn what_is_not_there_cannot_be_checked() {
    let workspace = harbour();
    assert_snapshot!(workspace.run(&["check", "plans/nowhere/plan.md"]).exits(5).transcript());
    assert_snapshot!("missing_file_with_dots", workspace.run(&["check", "../nowhere.json"]).exits(5).transcript());
}
