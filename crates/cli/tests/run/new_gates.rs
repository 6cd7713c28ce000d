//! Gates of a build that is complete: one that is added or changed judges it, and what it says is recorded.

use crate::whose_word::{said, workers, yard};
use crate::yard::Yard;

const SPEC: &str = "docs/EXECUTION-SPEC-PRD-075.md";

const TEXT: &str = "---\nprd: PRD-075\nprd_title: A gate\nworkstreams:\n  WS1: {name: Posts, outputs: [WS1.txt]}\n\
execution_phases:\n  - {name: Ground, parallel: [WS1], gates: [all]}\ngates:\n  all: {command: test -s WS1.txt}\n---\n# A gate\n";

const UNIT: &str = "build:PRD-075";

/// A build that is complete, whose specification is changed then.
fn complete(from: &str, to: &str) -> Yard {
    let yard = yard("", "", &[(SPEC, TEXT)]);
    yard.run(&["run", SPEC, "--yes"]);
    assert!(TEXT.contains(from));
    yard.workspace.write(SPEC, TEXT.replace(from, to));
    yard.commit("another gate");
    yard
}

fn state(yard: &Yard) -> String {
    yard.json(&["status", UNIT, "--json"])["units"][0]["lifecycle"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_gate_that_is_added_to_a_complete_build_judges_it() {
    let yard = complete("gates: [all]}\ngates:\n", "gates: [all, lint]}\ngates:\n  lint: {command: test -e lint.ok}\n");
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    assert_eq!((ended.code, state(&yard).as_str()), (Some(4), "failed"), "{}", said(&ended));
    let why = yard.run(&["why", UNIT]).stdout;
    assert!(why.contains("the gate lint failed: `test -e lint.ok` ended with exit code 1"), "{why}");
    yard.workspace.write("lint.ok", "");
    yard.commit("it passes");
    let ended = yard.piton(&["run", SPEC, "--yes", "--retry"]);
    assert_eq!((ended.code, state(&yard).as_str()), (Some(0), "done"), "{}", said(&ended));
    assert!(yard.run(&["status", UNIT]).stdout.contains("lint"));
    assert_eq!(workers(&yard), ["WS1"]);
}

#[test]
fn a_gate_that_passes_at_once_leaves_a_complete_build_complete() {
    let yard = complete("gates: [all]}\ngates:\n", "gates: [all, lint]}\ngates:\n  lint: {command: test -s WS1.txt}\n");
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    assert_eq!((ended.code, state(&yard).as_str()), (Some(0), "done"), "{}", said(&ended));
    assert_eq!(workers(&yard), ["WS1"]);
}

#[test]
fn a_gate_without_a_command_that_is_added_to_a_complete_build_is_judged_as_printed() {
    let yard = complete("gates: [all]", "gates: [all, security]");
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    let judge = format!("piton gate {UNIT} pass security");
    assert_eq!((ended.code, said(&ended).contains(&judge)), (Some(4), true), "{}", said(&ended));
    yard.run(&["gate", UNIT, "pass", "security"]);
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    assert_eq!((ended.code, state(&yard).as_str()), (Some(0), "done"), "{}", said(&ended));
}

#[test]
fn a_changed_command_that_refuses_a_complete_build_is_recorded() {
    let yard = complete("command: test -s WS1.txt", "command: test -e lint.ok");
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    assert_eq!((ended.code, state(&yard).as_str()), (Some(4), "failed"), "{}", said(&ended));
    yard.workspace.write("lint.ok", "");
    yard.commit("it passes");
    let ended = yard.piton(&["run", SPEC, "--yes", "--retry"]);
    assert_eq!((ended.code, state(&yard).as_str()), (Some(0), "done"), "{}", said(&ended));
}

const PHASED: &str = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n- [ ] Good <!-- ACCEPT: good -->\n\n\
                      ## Two\n<!-- CHECKPOINT: two -->\n- [ ] B <!-- TASK: b -->\n";

/// A plan that waits for a person to judge its first phase; then a command is named for that.
fn named_later(command: &str) -> Yard {
    let yard = yard("", "", &[("plans/p/plan.md", PHASED)]);
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert!(said(&ended).contains("gate good cannot judge: no command is known for it"), "{}", said(&ended));
    let settings = yard.text("piton.toml");
    yard.workspace.write("piton.toml", format!("{settings}[gates]\ngood = '{command}'\n"));
    yard.commit("a command");
    yard.run(&["approve", "--commands", "plan:p"]);
    yard
}

#[test]
fn a_command_that_is_named_after_the_pause_judges_its_phase_before_the_next_begins() {
    for more in [&["run", "plan:p"][..], &["run", "plan:p", "--retry"]] {
        let yard = named_later("test -s never.txt");
        let explained = yard.run(&["run", "plan:p", "--explain"]).stdout;
        assert!(!explained.contains("no command is known"), "{explained}");
        let ended = yard.piton(more);
        let told = said(&ended);
        assert_eq!(ended.code, Some(4), "{told}");
        assert!(told.contains("gate good failed") && !told.contains("one is complete"), "{told}");
        assert_eq!(workers(&yard), ["a"], "{told}");
    }
}

#[test]
fn a_command_that_is_named_after_the_pause_and_passes_lets_the_plan_continue() {
    let yard = named_later("test -s a.txt");
    let ended = yard.piton(&["run", "plan:p"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!(workers(&yard), ["a", "b"]);
    assert!(yard.text("plans/p/plan.md").contains("- [x] Good"));
}
