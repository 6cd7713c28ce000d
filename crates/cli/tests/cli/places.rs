//! Where documents are: twice, in nested repositories, in worktrees, in other tools' files, in odd places.

use serde_json::{Value, json};

use crate::support::fixtures::{BUILDS, agent, build, pipeline, story, task};
use crate::support::harbour::{but, put};
use crate::support::{Run, Workspace};

const WRITTEN: &str = "2026-02-20T11:55:00Z";
const OLDER: &str = "2026-02-20T10:00:00Z";

fn names(run: &Run) -> Vec<String> {
    let document = run.json();
    let units = document["units"].as_array().expect("units").iter();
    units.map(|unit| unit["unit"].as_str().expect("a name").to_owned()).collect()
}

/// The findings of `check --json` as `path code`.
fn findings(document: &Value) -> Vec<String> {
    let findings = document["findings"].as_array().expect("findings").iter();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    findings.map(|finding| format!("{} {}", text(&finding["path"]), text(&finding["code"]))).collect()
}

#[test]
fn of_two_documents_for_one_unit_the_newer_counts() {
    let workspace = Workspace::new();
    let old = agent("Secondary-A", "tide_gauges", "BLOCKED", OLDER, OLDER);
    let old = but(old, json!({ "blockers": ["fog"] }));
    put(&workspace, "epics/tides/agent_checkpoints/Secondary-A.json", &old);
    let new = agent("Secondary-A", "tide_gauges", "IN_PROGRESS", WRITTEN, "2026-02-20T12:10:00Z");
    put(&workspace, "epics/tides/agent_checkpoints/secondary_a.json", &new);

    let all = workspace.run(&["status", "--json"]).exits(0);
    assert_eq!(names(&all), ["crew:Secondary-A"]);
    assert_eq!(all.json()["units"][0]["lifecycle"], "running");
    let one = workspace.run(&["status", "crew:Secondary-A", "--json"]).exits(0).json();
    assert_eq!(
        one["units"][0]["documents"],
        json!([
            { "path": "epics/tides/agent_checkpoints/secondary_a.json", "role": "main" },
            { "path": "epics/tides/agent_checkpoints/Secondary-A.json", "role": "superseded" },
        ])
    );
    let found = findings(&workspace.run(&["check", "--json"]).exits(0).json());
    assert!(found.contains(&"epics/tides/agent_checkpoints/Secondary-A.json two-documents".to_owned()), "{found:?}");
}

#[test]
fn namesakes_are_told_apart_by_their_directories() {
    let workspace = Workspace::new();
    for base in ["epics/tides", "epics/storms"] {
        let document = agent("Secondary-A", base, "WAITING", WRITTEN, "2026-02-20T12:10:00Z");
        put(&workspace, &format!("{base}/agent_checkpoints/secondary_a.json"), &document);
    }
    for base in ["", "web/"] {
        let document = build("PRD-002", "Dredge the basin", "in_progress");
        put(&workspace, &format!("{base}{BUILDS}/PRD-002.json"), &document);
        put(&workspace, &format!("{base}progress/checkpoints/quay-T060.json"), &task("quay", "T060", "List", WRITTEN));
    }
    let all = names(&workspace.run(&["status", "--json"]).exits(0));
    let mut sorted = all.clone();
    sorted.sort();
    assert_eq!(
        sorted,
        [
            "build:./PRD-002",
            "build:web/PRD-002",
            "crew:storms/Secondary-A",
            "crew:tides/Secondary-A",
            "task:./quay/T060",
            "task:web/quay/T060",
        ]
    );
    for name in &sorted {
        workspace.run(&["status", name]).exits(0);
    }
    workspace.run(&["status", "Secondary-A"]).exits(2);
}

#[test]
fn a_nested_repository_is_not_entered() {
    let workspace = Workspace::new();
    put(&workspace, "progress/checkpoints/quay-T060.json", &task("quay", "T060", "List", WRITTEN));
    for (path, is_directory) in [("vendor/other/.git", true), ("module/.git", false)] {
        match is_directory {
            true => workspace.write(&format!("{path}/HEAD"), "ref: refs/heads/main\n"),
            false => workspace.write(path, "gitdir: ../.git/modules/module\n"),
        };
        let inside = path.strip_suffix(".git").expect("a repository");
        let document = task("depth", "T061", "Sound", WRITTEN);
        put(&workspace, &format!("{inside}progress/checkpoints/depth-T061.json"), &document);
    }
    for skipped in ["node_modules", "target", ".cache", ".piton"] {
        let document = task("depth", "T062", "Sound", WRITTEN);
        put(&workspace, &format!("{skipped}/progress/checkpoints/depth-T062.json"), &document);
    }
    assert_eq!(names(&workspace.run(&["status", "--json"]).exits(0)), ["task:quay/T060"]);
    assert_eq!(workspace.run(&["check", "--json"]).exits(0).json()["files"], 1);
    let below = workspace.run(&["status", "--json", "-C", "vendor/other"]).exits(0);
    assert_eq!(names(&below), ["task:depth/T061"]);
}

#[test]
fn checkpoints_lost_in_worktrees_are_found() {
    let workspace = Workspace::new();
    put(&workspace, ".pipeline/state.json", &pipeline(json!({ "HARB-2": "STAGE_2" }), json!({})));
    put(&workspace, ".pipeline/checkpoint-HARB-2.json", &story("HARB-2", OLDER));
    let stray = ".worktrees/story-HARB-2/.pipeline/checkpoint-HARB-2.json";
    put(&workspace, stray, &story("HARB-2", WRITTEN));
    workspace.write(".worktrees/story-HARB-2/.git", "gitdir: ../../.git/worktrees/story-HARB-2\n");
    // Another document of the worktree is a copy of the one in the project.
    put(&workspace, ".worktrees/story-HARB-2/progress/checkpoints/quay-T060.json", &task("quay", "T060", "L", WRITTEN));
    let all = workspace.run(&["status", "--json"]).exits(0);
    assert_eq!(names(&all), ["pipeline:HARB-2"]);
    assert_eq!(
        (&all.json()["units"][0]["path"], &all.json()["units"][0]["liveness"]),
        (&json!(".pipeline/state.json"), &json!("alive"))
    );
    let one = workspace.run(&["status", "HARB-2", "--json"]).exits(0).json();
    assert!(one.to_string().contains(&format!(r#"{{"path":"{stray}","role":"companion"}}"#)), "{one}");
    let found = findings(&workspace.run(&["check", "--json"]).exits(0).json());
    assert!(found.contains(&format!("{stray} pipeline-stray")), "{found:?}");
    assert!(found.contains(&".pipeline/checkpoint-HARB-2.json two-documents".to_owned()), "{found:?}");
}

#[test]
fn a_link_in_worktrees_does_not_lead_out() {
    let workspace = Workspace::new();
    put(&workspace, "../elsewhere/.pipeline/checkpoint-HARB-9.json", &story("HARB-9", WRITTEN));
    workspace.link(".worktrees/story-HARB-9", workspace.path("../elsewhere"));
    let all = workspace.run(&["status", "--json"]).exits(0);
    assert_eq!(names(&all), Vec::<String>::new());
    let checked = workspace.run(&["check", "--json"]);
    let told = findings(&checked.json());
    assert!(told.is_empty() || told[0].ends_with(" link-outside"), "{told:?}");
}

#[test]
fn other_tools_states_are_foreign() {
    for foreign in [
        json!({ "phase": "build", "progress": 40, "project": "crane" }),
        json!({ "version": 3, "pipelines": [{ "name": "nightly", "steps": ["lint", "test"] }], "current": 0 }),
        json!({ "status": "complete", "complete": "yes", "artifacts": { "deb": "crane.deb" } }),
    ] {
        let workspace = Workspace::new();
        put(&workspace, ".pipeline/state.json", &foreign);
        assert_eq!(names(&workspace.run(&["status", "--json"]).exits(0)), Vec::<String>::new(), "{foreign}");
        let checked = workspace.run(&["check", "--json"]).exits(0).json();
        assert_eq!(findings(&checked), [".pipeline/state.json foreign"], "{foreign}");
    }
}

#[test]
fn documents_in_other_places_are_checked_by_their_content() {
    let check = |path: &str, document: &Value, code: i32, want: &str| {
        let workspace = Workspace::new();
        put(&workspace, path, document);
        let run = workspace.run(&["check", path, "--json"]).exits(code);
        let found = findings(&run.json());
        assert!(want.is_empty() || found.contains(&format!("{path} {want}")), "{found:?}");
        assert_eq!(run.json()["files"], 1);
    };
    let sentence = build("PRD-005", "Move the ferry", "nearly done");
    check("notes/build.json", &sentence, 3, "word-unknown");
    check("../beside.json", &sentence, 3, "word-unknown");
    check("story.json", &but(story("HARB-1", WRITTEN), json!({ "stage": 9 })), 3, "out-of-range");
    check(
        "t.json",
        &but(task("quay", "T060", "List", WRITTEN), json!({ "progress_percent": 99 })),
        0,
        "task-progress-percent",
    );
    check("a.json", &agent("Secondary-A", "tides", "BLOCKED", WRITTEN, WRITTEN), 3, "crew-blocked-without-blocker");
    check("other.json", &json!({ "name": "crane" }), 0, "foreign");
}
