//! A base branch that its user merges, squashes, deletes or rewrites while a run is under way.

use std::fs;

use crate::whose_word::{is_on_main, said, set_hook, workers, yard};
use crate::yard::{Yard, finish, wait_for};

const STORIES: &str = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n\
                       [[stories]]\nid = \"S-2\"\ntitle = \"Two\"\nstages = [2, 3]\ndepends_on = [\"S-1\"]\n";

const BUILD: &str = "---\nprd: PRD-082\nprd_title: A till\nworkstreams:\n  WS1: {name: A, outputs: [WS1.txt]}\n  \
                     WS2: {name: B, outputs: [WS2.txt]}\nexecution_phases:\n  - {name: P1, parallel: [WS1], gates: [one]}\n  \
                     - {name: P2, parallel: [WS2], gates: [two]}\ngates:\n  one: {command: test -s WS1.txt}\n  \
                     two: {command: test -s WS2.txt}\n---\n# A till\n";

const SPEC: &str = "docs/EXECUTION-SPEC-PRD-082.md";

/// Merges the branch `topic` into `main` in one commit, and deletes it.
fn squash(yard: &Yard) {
    yard.git(&["checkout", "-q", "main"]);
    yard.git(&["merge", "-q", "--squash", "topic"]);
    yard.commit("by a pull request");
    yard.git(&["branch", "-q", "-D", "topic"]);
}

#[test]
fn squashed_and_deleted_base_is_followed() {
    let yard = yard(r#"if [ "$step" = S-2 ]; then exit 1; fi"#, STORIES, &[]);
    yard.git(&["checkout", "-q", "-b", "topic"]);
    let ended = yard.piton(&["run", "--yes"]);
    assert!(ended.code == Some(4) && said(&ended).contains("merged into topic"), "{}", said(&ended));
    squash(&yard);
    set_hook(&yard, "");
    let ended = yard.piton(&["run", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(said(&ended).contains("topic is gone, and main has what it had; this run merges into main"));
    assert!(is_on_main(&yard, "S-1.txt") && is_on_main(&yard, "S-2.txt"), "{}", said(&ended));
}

#[test]
fn base_of_a_build_that_was_merged_and_deleted_between_phases_is_followed() {
    let yard = yard("", "", &[(SPEC, BUILD)]);
    yard.git(&["checkout", "-q", "-b", "topic"]);
    yard.run(&["approve", SPEC]);
    let ended = yard.piton(&["run", SPEC]);
    assert!(ended.code == Some(4) && said(&ended).contains("waits for approval"), "{}", said(&ended));
    yard.git(&["checkout", "-q", "main"]);
    yard.git(&["merge", "-q", "--no-ff", "-m", "merged", "topic"]);
    yard.git(&["branch", "-q", "-d", "topic"]);
    yard.run(&["approve", "build:PRD-082"]);
    let ended = yard.piton(&["run", SPEC]);
    assert_eq!((ended.code, is_on_main(&yard, "WS2.txt")), (Some(0), true), "{}", said(&ended));
}

#[test]
fn base_on_which_nothing_was_begun_is_replaced_by_the_branch_that_is_checked_out() {
    let plan = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n";
    let yard = yard("", "", &[("plans/p/plan.md", plan)]);
    yard.git(&["checkout", "-q", "-b", "topic"]);
    yard.workspace.write("own.txt", "own\n");
    yard.commit("its own");
    yard.run(&["start", "plan:p"]);
    yard.run(&["pause", "plan:p", "--reason", "later"]);
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    yard.git(&["checkout", "-q", "main"]);
    yard.git(&["branch", "-q", "-D", "topic"]);
    let ended = yard.piton(&["run", "plan:p", "--yes", "--retry"]);
    let told = "topic is gone, and nothing was begun on it; this run merges into main";
    assert!(said(&ended).contains(told), "{}", said(&ended));
    assert!(is_on_main(&yard, "a.txt") && !is_on_main(&yard, "own.txt"), "{}", said(&ended));
}

#[test]
fn base_that_is_gone_is_brought_back_as_printed() {
    let yard = yard(r#"if [ "$step" = S-2 ]; then exit 1; fi"#, STORIES, &[]);
    yard.git(&["checkout", "-q", "-b", "topic"]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    let tip = yard.git(&["rev-parse", "topic"]).trim().to_owned();
    yard.git(&["checkout", "-q", "main"]);
    yard.git(&["branch", "-q", "-D", "topic"]);
    set_hook(&yard, "");
    let before = workers(&yard).len();
    let ended = yard.piton(&["run", "--yes", "--retry"]);
    let told =
        format!("the branch topic, which this run merges into, is gone; bring it back with: git branch topic {tip}\n");
    assert!(said(&ended).contains(&told) && workers(&yard).len() == before, "{}", said(&ended));
    yard.git(&["branch", "topic", &tip]);
    let ended = yard.piton(&["run", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(yard.git(&["ls-tree", "--name-only", "topic"]).contains("S-2.txt"), "{}", said(&ended));
}

#[test]
fn work_on_an_only_commit_that_is_amended_is_merged() {
    for change in ["more\n", "a yard\n"] {
        let yard = yard("if [ $PITON_STAGE = 2 ]; then hold work; fi", STORIES, &[]);
        // One commit is all there is.
        yard.git(&["checkout", "-q", "--orphan", "young"]);
        yard.commit("all of it");
        yard.git(&["branch", "-q", "-M", "young", "main"]);
        let lead = yard.command(&["run", "pipeline:S-1", "--yes"]).spawn().expect("it starts");
        let held = yard.outer("marks/held-work");
        wait_for("the worker", || held.exists(), || yard.piton(&["status"]).stdout);
        yard.workspace.write("README.md", change);
        yard.git(&["commit", "-q", "-a", "--amend", "-m", "all of it, and more"]);
        fs::write(yard.outer("marks/go"), "").expect("it can be written");
        let ended = finish(lead);
        assert_eq!(ended.code, Some(0), "{}", said(&ended));
        assert!(is_on_main(&yard, "S-1.txt") && yard.text("README.md") == change, "{}", said(&ended));
    }
}
