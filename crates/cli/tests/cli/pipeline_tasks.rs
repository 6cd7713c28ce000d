//! The tasks of a story, whoever writes its checkpoint: verbs, or a worker by hand as the protocol's document says.

use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::Workspace;

const UNIT: &str = "pipeline:PROJ-42";
const HOME: &str = ".pipeline/checkpoint-PROJ-42.json";
const STRAY: &str = ".worktrees/story-PROJ-42/.pipeline/checkpoint-PROJ-42.json";

/// A checkpoint as a worker writes it that never calls Piton.
fn by_hand(stage: u8, completed: &[&str], remaining: &[&str], more: Value) -> Vec<u8> {
    let mut checkpoint = json!({
        "storyId": "PROJ-42", "stage": stage, "agentId": "by-hand", "tasksCompleted": completed,
        "tasksRemaining": remaining, "lastAction": "wrote", "timestamp": "2026-02-20T11:59:00Z",
    });
    checkpoint.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    format!("{checkpoint:#}\n").into_bytes()
}

/// Writes a file now, by the clock of the machine, and `later` seconds after that.
fn write(workspace: &Workspace, path: &str, bytes: &[u8], later: u64) {
    workspace.write(path, bytes);
    let file = fs::File::options().append(true).open(workspace.path(path)).expect("it is there");
    file.set_modified(SystemTime::now() + Duration::from_secs(later)).expect("a time can be set");
}

fn unit(workspace: &Workspace) -> Value {
    workspace.run(&["status", UNIT, "--json"]).exits(0).json()["units"][0].clone()
}

fn planned() -> Workspace {
    let workspace = Workspace::new();
    workspace.run(&["start", UNIT, "--stage", "0"]).exits(0);
    let plan = ["step", UNIT, "begin", "PROJ-101", "--title", "Door", "--description", "Hang it, then oil it."];
    let planned = workspace.run(&plan).exits(0);
    assert_eq!(planned.stdout, "pipeline:PROJ-42 PROJ-101 planned (1 task) @2\n");
    workspace.run(&["step", UNIT, "begin", "PROJ-102"]).exits(0);
    workspace.run(&["verdict", UNIT, "PLAN", "--score", "3"]).exits(0);
    workspace.run(&["stage", UNIT, "1"]).exits(0);
    workspace
}

#[test]
fn tasks_and_their_descriptions_outlive_a_checkpoint_written_by_hand() {
    let workspace = planned();
    write(&workspace, HOME, &by_hand(1, &[], &[], json!({ "readiness": 8, "verdict": "GO" })), 0);
    let seen = unit(&workspace);
    assert_eq!((&seen["done"], &seen["total"]), (&json!(0), &json!(2)), "{seen:#}");
    assert!(!fs::read_to_string(workspace.path(HOME)).expect("text").contains("PROJ-101"));
    workspace.run(&["check"]).exits(0);
    workspace.run(&["stage", UNIT, "2"]).exits(0);
    let brief = workspace.run(&["resume", UNIT, "--force"]).exits(0).stdout;
    assert!(brief.contains("- PROJ-101\n- PROJ-102"), "{brief}");
    assert!(brief.contains("task: PROJ-101 (Door): Hang it, then oil it."), "{brief}");
    // A worker that forgets a task has not done it, and nothing lets the story pass.
    write(&workspace, HOME, &by_hand(2, &["PROJ-101"], &[], json!({})), 0);
    assert_eq!(unit(&workspace)["done"], 1);
    let refused = workspace.run(&["stage", UNIT, "3"]).exits(4);
    assert!(refused.stderr.contains("error: tasks remain: PROJ-102"), "{}", refused.stderr);
    write(&workspace, HOME, &by_hand(2, &["PROJ-101", "PROJ-102"], &[], json!({})), 0);
    workspace.run(&["stage", UNIT, "3"]).exits(0);
}

/// The versions that alone know the plan go with a compaction; the plan does not.
#[test]
fn tasks_outlive_a_compacted_journal() {
    let workspace = planned();
    write(&workspace, HOME, &by_hand(1, &[], &[], json!({ "readiness": 8, "verdict": "GO" })), 0);
    workspace.run(&["compact", UNIT, "--keep", "1"]).exits(0);
    assert_eq!(unit(&workspace)["total"], 2);
    workspace.run(&["stage", UNIT, "2"]).exits(0);
    let checkpoint = fs::read_to_string(workspace.path(HOME)).expect("text");
    assert!(checkpoint.contains("Hang it, then oil it."), "{checkpoint}");
}

#[test]
fn only_a_story_s_task_takes_a_title() {
    let workspace = Workspace::new();
    workspace.run(&["start", "build:PRD-009", "--title", "x", "--step", "WS1"]).exits(0);
    let refused = workspace.run(&["step", "build:PRD-009", "begin", "WS1", "--title", "x"]).exits(2);
    assert!(refused.stderr.contains("keeps no title and no description"), "{}", refused.stderr);
}

/// A relative `.pipeline/` lands in the worktree.
#[test]
fn a_checkpoint_in_the_worktree_counts_when_it_is_newer_and_not_behind() {
    let workspace = planned();
    // A copy that git made when it checked the worktree out is older than the story's own.
    workspace.write(STRAY, by_hand(3, &["PROJ-9"], &[], json!({ "verdict": "PASS", "qualityScore": 90 })));
    assert_eq!(unit(&workspace)["position"], "stage 1 · PROJ-101");
    // A newer one of an earlier stage is a copy, too.
    write(&workspace, STRAY, &by_hand(0, &[], &["PROJ-9"], json!({ "planScore": 3 })), 60);
    assert_eq!(unit(&workspace)["total"], 2);
    // What the worker wrote is used, and taken over to where the lead looks.
    write(&workspace, STRAY, &by_hand(1, &[], &[], json!({ "readiness": 8, "verdict": "GO" })), 60);
    let entered = workspace.run(&["stage", UNIT, "2"]).exits(0);
    assert!(entered.stderr.contains(STRAY), "{}", entered.stderr);
    let checkpoint: Value = serde_json::from_slice(&fs::read(workspace.path(HOME)).expect("it")).expect("JSON");
    assert_eq!((&checkpoint["stage"], &checkpoint["tasksRemaining"]), (&json!(2), &json!(["PROJ-101", "PROJ-102"])));
}

#[test]
fn retries_are_those_of_the_settings() {
    let workspace = Workspace::new();
    workspace.write("piton.toml", "[run]\nreworks = 3\n");
    let states = |cycles: u32| json!({ "complete": false, "story_state": { "PROJ-42": "STAGE_2" }, "quality_cycles": { "PROJ-42": cycles } });
    workspace.write(".pipeline/state.json", states(3).to_string());
    let codes = |workspace: &Workspace| workspace.run(&["check", "--json"]).json()["findings"].to_string();
    assert!(!codes(&workspace).contains("pipeline-limit"));
    workspace.write(".pipeline/state.json", states(4).to_string());
    assert!(codes(&workspace).contains("pipeline-limit"));
    fs::remove_file(workspace.path(".pipeline/state.json")).expect("it is there");
    workspace.run(&["start", UNIT, "--stage", "2", "--step", "T-1"]).exits(0);
    workspace.run(&["step", UNIT, "done", "T-1"]).exits(0);
    for rework in 1..=4 {
        workspace.run(&["stage", UNIT, "3"]).exits(0);
        workspace.run(&["verdict", UNIT, "FAIL", "--score", "10", "--issues", "slow"]).exits(0);
        let back = workspace.run(&["stage", UNIT, "2"]);
        let code = if rework <= 3 { 0 } else { 4 };
        let shown = back.exits(code);
        if rework == 4 {
            let hint =
                "hint: leave it to a person: piton pause pipeline:PROJ-42 --reason 'the quality gate failed too often'";
            assert!(shown.stderr.contains(hint), "{}", shown.stderr);
        }
    }
    // A person who continues it grants the retries anew.
    workspace.run(&["pause", UNIT, "--reason", "the quality gate failed too often"]).exits(0);
    workspace.run(&["resume", UNIT]).exits(0);
    workspace.run(&["stage", UNIT, "2"]).exits(0);
}

/// A story of a run that has ended is taken up by every verb that does so.
#[test]
fn an_ended_run_refuses_nothing() {
    let workspace = planned();
    let state = json!({ "complete": true, "story_state": { "PROJ-42": "PAUSED" }, "active_workers": 0 });
    write(&workspace, ".pipeline/state.json", state.to_string().as_bytes(), 0);
    workspace.run(&["unblock", UNIT]).exits(0);
    let state: Value =
        serde_json::from_slice(&fs::read(workspace.path(".pipeline/state.json")).expect("it")).expect("JSON");
    assert_eq!((&state["complete"], &state["story_state"]["PROJ-42"]), (&json!(false), &json!("STAGE_1")));
    workspace.run(&["check"]).exits(0);
}

/// The user commits `.pipeline` while a story is planned, and git checks the commit out in worktrees of other stories.
#[test]
fn a_copy_that_git_made_of_a_checkpoint_takes_no_plan_back() {
    let workspace = Workspace::new();
    workspace.run(&["start", UNIT, "--stage", "0"]).exits(0);
    let committed = fs::read(workspace.path(HOME)).expect("it is there");
    let copy =
        |later: u64| write(&workspace, ".worktrees/story-B/.pipeline/checkpoint-PROJ-42.json", &committed, later);
    copy(10);
    workspace.run(&["step", UNIT, "begin", "PROJ-101", "--title", "Door", "--description", "Hang it."]).exits(0);
    copy(20);
    workspace.run(&["verdict", UNIT, "PLAN", "--score", "3"]).exits(0);
    copy(30);
    assert_eq!(unit(&workspace)["steps"][0]["id"], "PROJ-101", "{}", unit(&workspace));
    workspace.run(&["stage", UNIT, "1"]).exits(0);
    copy(40);
    workspace.run(&["verdict", UNIT, "GO", "--score", "8"]).exits(0);
    workspace.run(&["stage", UNIT, "2"]).exits(0);
    assert_eq!(unit(&workspace)["steps"][0]["state"], "pending", "{}", unit(&workspace));
}

#[test]
fn only_the_settings_leave_stages_out() {
    let workspace = Workspace::new();
    workspace.run(&["start", UNIT, "--stage", "0"]).exits(0);
    workspace.run(&["step", UNIT, "begin", "PROJ-101", "--title", "Door", "--description", "Hang it."]).exits(0);
    workspace.run(&["verdict", UNIT, "PLAN", "--score", "3"]).exits(0);
    for words in ["validation is left out", "planning is left out"] {
        let refused = workspace.run(&["stage", UNIT, "2", "--phase", words]).exits(4);
        assert!(refused.stderr.contains("from stage 0 a story does not go to stage 2"), "{}", refused.stderr);
    }
}

#[test]
fn a_question_that_sounds_like_waiting_is_answered_like_any_other() {
    let workspace = planned();
    workspace.run(&["block", UNIT, "--message", "waits for the API key"]).exits(0);
    let why = workspace.run(&["why", UNIT]).exits(0).stdout;
    assert!(why.contains(&format!("answer what blocks it: piton unblock {UNIT} --message TEXT")), "{why}");
}
