//! `status`: every unit of a workspace, and one with its whole story.

use insta::assert_snapshot;

use crate::support::Workspace;
use crate::support::fixtures::task;
use crate::support::harbour::{harbour, put};

#[test]
fn every_unit_at_eighty_columns() {
    assert_snapshot!(harbour().run(&["status"]).transcript());
}

#[test]
fn a_wide_terminal_shows_more() {
    assert_snapshot!(harbour().call(&["status"]).env("COLUMNS", "120").run().transcript());
}

#[test]
fn each_dialects_unit_tells_its_story() {
    let workspace = harbour();
    for (name, unit) in [
        ("pipeline_story", "pipeline:HARB-2"),
        ("build", "build:PRD-003"),
        ("build_with_specification", "build:PRD-002"),
        ("plan", "plan:260218-0900-lighthouse"),
        ("task", "task:boats/T063"),
        ("crew", "crew:Secondary-C"),
    ] {
        assert_snapshot!(format!("one_{name}"), workspace.run(&["status", unit]).transcript());
        assert_snapshot!(format!("one_{name}_json"), workspace.run(&["status", unit, "--json"]).transcript());
    }
}

#[test]
fn all_units_as_json() {
    assert_snapshot!(harbour().run(&["status", "--json"]).transcript());
}

#[test]
fn an_empty_workspace_says_where_it_looked() {
    assert_snapshot!(Workspace::new().run(&["status"]).transcript());
    assert_snapshot!("empty_as_json", Workspace::new().run(&["status", "--json"]).transcript());
}

#[test]
fn five_hundred_units_are_capped_unless_all_are_asked_for() {
    let workspace = Workspace::new();
    for number in 0..500 {
        let id = format!("T{number:03}");
        let document = task("hand", &id, "One of many", "2026-02-20T11:55:00Z");
        put(&workspace, &format!("progress/checkpoints/hand-{id}.json"), &document);
    }
    let short = workspace.run(&["status"]).exits(0);
    assert_snapshot!(short.transcript());
    let all = workspace.run(&["status", "--all"]).exits(0);
    assert_eq!(all.stdout.matches("One of many").count(), 500);
    assert!(!all.stdout.contains("more:"));
    assert_eq!(workspace.run(&["status", "--json"]).json()["units"].as_array().map(Vec::len), Some(500));
}
