//! Done means on the base: whatever a user or another run does in between, work that is only on a branch is not done, and
//! nothing is merged that was not judged.

use crate::yard::{Ended, Yard, finish};

const SETTINGS: &str = "[run]\nworkers = 2\nheartbeat = 1\npatience = 60\ngrace = 0.3\nrespawn = 0\nreworks = 0\n";

const STORY: &str = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";

const SPEC: &str = "---\nprd: PRD-061\nprd_title: A wall\nworkstreams:\n  WS1:\n    name: Stones\nexecution_phases:\n  \
                    - name: Ground\n    parallel: [WS1]\n---\n# A wall\n";

fn said(ended: &Ended) -> String {
    format!("{}{}", ended.stdout, ended.stderr)
}

fn run_with(yard: &Yard, bad: &str, arguments: &[&str]) -> Ended {
    finish(yard.command(arguments).env("BAD", bad).spawn().expect("it starts"))
}

fn is_on_main(yard: &Yard, file: &str) -> bool {
    yard.git(&["ls-tree", "--name-only", "main"]).lines().any(|line| line == file)
}

#[test]
fn a_story_without_a_commit_is_not_done_with_and_without_its_worktree() {
    let yard = Yard::with(SETTINGS, STORY);
    let ended = run_with(&yard, "records", &["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(ended.stdout.contains("nothing is committed on feature/S-1"), "{}", said(&ended));
    std::fs::remove_dir_all(yard.workspace.path(".worktrees/story-S-1")).expect("it is there");
    let ended = run_with(&yard, "records", &["run", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert_ne!(yard.read_json(".pipeline/state.json")["story_state"]["S-1"], "DONE");
}

#[test]
fn a_run_that_goes_on_after_another_one_keeps_its_base() {
    let yard = Yard::with(SETTINGS, STORY);
    let ended = run_with(&yard, "always-exits", &["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    yard.git(&["switch", "-q", "-c", "dev"]);
    let registry = r#"{"tasks": [{"agent": "copy", "id": "T01", "title": "First", "subtasks": ["one", "two"],
        "acceptance_criteria": ["works"]}]}"#;
    yard.workspace.write("registry.json", registry);
    yard.commit("a registry");
    let ended = run_with(&yard, "", &["run", "registry.json", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    let ended = run_with(&yard, "", &["run", "pipeline:S-1", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
}

/// A workstream whose merge a file of the user's blocks; it is recorded as done.
fn blocked_build() -> Yard {
    let yard = Yard::with(SETTINGS, "");
    yard.workspace.write("docs/EXECUTION-SPEC-PRD-061.md", SPEC);
    yard.commit("a specification");
    yard.workspace.write("WS1.txt", "mine\n");
    let ended = run_with(&yard, "", &["run", "docs/EXECUTION-SPEC-PRD-061.md", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(!is_on_main(&yard, "WS1.txt"), "{}", said(&ended));
    std::fs::remove_file(yard.workspace.path("WS1.txt")).expect("it is there");
    yard
}

#[test]
fn recorded_work_is_merged_after_its_unit_was_resumed_by_hand() {
    let yard = blocked_build();
    yard.run(&["resume", "build:PRD-061"]);
    let ended = run_with(&yard, "", &["run", "build:PRD-061", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "WS1.txt"), "{}", said(&ended));
}

#[test]
fn work_on_a_branch_is_not_done_because_worktrees_were_switched_off() {
    let yard = blocked_build();
    let settings = yard.text("piton.toml").replacen("[run]\n", "[run]\nworktrees = false\n", 1);
    yard.workspace.write("piton.toml", settings);
    let ended = run_with(&yard, "", &["run", "build:PRD-061", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(ended.stdout.contains("which is merged with worktrees = true"), "{}", said(&ended));
}

#[test]
fn a_gate_does_not_judge_what_another_gate_wrote() {
    let gates = "[gates]\na = \"echo good > README.md\"\nb = \"grep -q good README.md\"\n";
    let yard = Yard::with(SETTINGS, &format!("{gates}{STORY}"));
    let ended = run_with(&yard, "", &["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(ended.stdout.contains("gate b failed"), "{}", said(&ended));
    assert!(!is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
}

#[test]
fn a_build_that_is_named_twice_is_built_once() {
    let yard = Yard::with(SETTINGS, "");
    yard.workspace.write("docs/EXECUTION-SPEC-PRD-061.md", SPEC);
    yard.commit("a specification");
    let ended = run_with(&yard, "", &["run", "build:PRD-061", "docs/EXECUTION-SPEC-PRD-061.md", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(ended.stdout.contains("done: 1 of 1 done"), "{}", said(&ended));
    assert_eq!(yard.ledger().len(), 1, "{:?}", yard.ledger());
}

#[test]
fn a_task_or_agent_that_is_not_there_is_an_error_and_starts_nothing() {
    let yard = Yard::with(SETTINGS, "");
    for unit in ["task:x/T1", "crew:Secondary-Z"] {
        let ended = run_with(&yard, "", &["run", unit, "--yes"]);
        assert_eq!(ended.code, Some(5), "{}", said(&ended));
        assert!(ended.stderr.contains("no such unit"), "{}", said(&ended));
    }
    assert!(yard.ledger().is_empty());
}

#[test]
fn a_paused_plan_is_held_until_the_user_retries() {
    let yard = Yard::with(SETTINGS, "");
    yard.workspace.write("plans/p/plan.md", "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n");
    yard.commit("a plan");
    yard.run(&["start", "plan:p"]);
    yard.run(&["pause", "plan:p", "--reason", "the mason is ill"]);
    let ended = run_with(&yard, "", &["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(ended.stdout.contains("the mason is ill") && yard.ledger().is_empty(), "{}", said(&ended));
    let ended = run_with(&yard, "", &["run", "plan:p", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "a.txt"), "{}", said(&ended));
}
