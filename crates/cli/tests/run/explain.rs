//! `piton run --explain` says for which lanes the same command starts no worker.

use crate::yard::Yard;

const SPEC_PATH: &str = "docs/EXECUTION-SPEC-PRD-044.md";
const SPEC: &str = "---\nprd: PRD-044\nprd_title: A fence\nworkstreams:\n  WS1:\n    name: Posts\n    outputs: [WS1.txt]\n  \
WS2:\n    name: Rails\n    depends_on: [WS1]\n    outputs: [WS2.txt]\nexecution_phases:\n  - name: Ground\n    parallel: \
[WS1]\n  - name: Rest\n    parallel: [WS2]\n---\n# A fence\n";
const PLAN: &str = "# P\n\n## Phase 1: A\n- [ ] One <!-- TASK: one -->\n";

/// How many lanes get no worker, and what is said.
fn held(yard: &Yard, words: &[&str]) -> (usize, String) {
    let words: Vec<&str> = ["run", "--explain"].iter().chain(words).copied().collect();
    let shown = yard.run(&words).stdout;
    (shown.matches("no worker starts: ").count(), shown)
}

fn build() -> Yard {
    let yard = Yard::new(&[]);
    yard.workspace.write(SPEC_PATH, SPEC);
    yard.commit("a specification");
    yard.run(&["approve", "--commands", SPEC_PATH]);
    yard
}

#[test]
fn an_answer_frees_a_task() {
    let yard = Yard::new(&[]).env("BAD", "asks").env("ASKER", "one");
    yard.workspace.write("plans/p/plan.md", PLAN);
    yard.commit("a plan");
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    for words in [&["plan:p"][..], &["plan:p", "--retry"]] {
        let (count, shown) = held(&yard, words);
        assert!(count == 1 && shown.contains("is paused, and no worker starts: which port?\n"), "{words:?} {shown}");
    }
    yard.run(&["unblock", "plan:p", "--message", "the third"]);
    assert_eq!(held(&yard, &["plan:p"]).0, 0);
    assert!(yard.run(&["run", "plan:p"]).stdout.contains(" started"));
}

#[test]
fn a_review_that_refuses_holds_every_workstream() {
    let yard = build();
    yard.run(&["start", "build:PRD-044", "--spec", SPEC_PATH]);
    yard.run(&["verdict", "build:PRD-044", "do_not_ship", "--p0", "1", "--p1", "0"]);
    for words in [&[SPEC_PATH][..], &[SPEC_PATH, "--retry"], &[SPEC_PATH, "--yes"]] {
        let (count, shown) = held(&yard, words);
        assert!(count == 2 && shown.contains("no worker starts: the verdict is do_not_ship"), "{words:?} {shown}");
    }
    let ended = yard.piton(&["run", SPEC_PATH]);
    assert!(ended.code == Some(4) && !ended.stdout.contains(" started"), "{}", ended.stdout);
    yard.run(&["verdict", "build:PRD-044", "overridden", "--reason", "the finding is wrong"]);
    assert_eq!(held(&yard, &[SPEC_PATH]).0, 0);
}

#[test]
fn an_open_approval_holds_what_comes_after_it() {
    let yard = build();
    yard.run(&["start", "build:PRD-044", "--spec", SPEC_PATH]);
    yard.run(&["verdict", "build:PRD-044", "ship_with_gates", "--p0", "0", "--p1", "1"]);
    let (count, shown) = held(&yard, &[SPEC_PATH]);
    assert!(count == 2 && shown.contains("it waits for approval: the beginning of its work\n"), "{shown}");
    for what in ["the beginning of its work", "Ground"] {
        assert_eq!(yard.piton(&["run", SPEC_PATH]).code, Some(4));
        let (count, shown) = held(&yard, &[SPEC_PATH]);
        let said = format!("    no worker starts: it waits for approval: {what}\n");
        assert!(count > 0 && shown.matches(&said).count() == count, "{shown}");
        let json = yard.json(&["run", "--explain", SPEC_PATH, "--json"]);
        assert_eq!(json["lanes"][1]["reason"], format!("it waits for approval: {what}"));
        assert_eq!(held(&yard, &[SPEC_PATH, "--yes"]).0, 0);
        yard.run(&["approve", "build:PRD-044"]);
        let (count, shown) = held(&yard, &[SPEC_PATH]);
        assert_eq!(count, 0, "{shown}");
    }
    yard.run(&["run", SPEC_PATH]);
    yard.assert_nothing_left();
}
