//! A result is there when the base has it: not because the user has it checked out, and not because a document says so.

use std::fs;

use serde_json::json;

use crate::whose_word::{is_on_main, meanwhile, said, set_hook, workers, yard};
use crate::yard::{Yard, finish, wait_for};

const SPEC: &str = "docs/EXECUTION-SPEC-PRD-091.md";
const UNIT: &str = "build:PRD-091";
const CHECKPOINT: &str = ".claude/skills/build-pipeline/checkpoints/PRD-091.json";

const BUILD: &str = "---\nprd: PRD-091\nworkstreams:\n  WS1:\n    name: Floor\n    outputs: [WS1.txt]\n  WS2:\n    name: Walls\n    \
                     outputs: [WS2.txt]\nexecution_phases:\n  - name: Ground\n    parallel: [WS1]\n  - name: Rest\n    \
                     parallel: [WS2]\n---\n# A shed\n";

const PLAN: &str = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n\n## Two\n\
                    <!-- CHECKPOINT: two -->\n- [ ] B <!-- TASK: b -->\n";

fn count(yard: &Yard, step: &str) -> usize {
    workers(yard).iter().filter(|known| *known == step).count()
}

/// A repository with a build and a branch that began before it.
fn build(hook: &str) -> Yard {
    let yard = yard(hook, "", &[(SPEC, BUILD)]);
    yard.git(&["branch", "hotfix"]);
    yard
}

/// The same build after its first phase, which waits for approval.
fn half_built() -> Yard {
    let yard = build("");
    yard.run(&["approve", SPEC]);
    let ended = yard.piton(&["run", SPEC]);
    assert_eq!((ended.code, is_on_main(&yard, "WS1.txt")), (Some(4), true), "{}", said(&ended));
    yard
}

#[test]
fn merged_workstream_stays_done_while_another_branch_is_checked_out() {
    let yard = half_built();
    yard.git(&["checkout", "-q", "hotfix"]);
    yard.run(&["approve", UNIT]);
    let ended = yard.piton(&["run", SPEC]);
    assert_eq!((count(&yard, "WS1"), count(&yard, "WS2")), (1, 1), "{}", said(&ended));
    assert!(is_on_main(&yard, "WS2.txt"), "{}", said(&ended));
    assert_eq!(yard.read_json(CHECKPOINT)["artifacts"]["WS2"], json!(["WS2.txt"]));
}

#[test]
fn worker_that_died_is_started_again_while_another_branch_is_checked_out() {
    let yard = build(r#"if [ "$step" = WS2 ] && [ ! -e "$MARKS/died" ]; then : > "$MARKS/died"; hold WS2; exit 1; fi"#);
    yard.workspace.write("piton.toml", yard.text("piton.toml").replace("respawn = 0", "respawn = 1"));
    yard.commit("one more try");
    yard.git(&["branch", "-f", "hotfix"]);
    let ended = meanwhile(&yard, &["run", SPEC, "--yes"], "WS2", || drop(yard.git(&["checkout", "-q", "hotfix"])));
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!((count(&yard, "WS1"), count(&yard, "WS2")), (1, 2), "{}", said(&ended));
}

#[test]
fn merged_task_of_an_ignored_plan_stays_done_while_another_branch_is_checked_out() {
    let yard = yard(r#"if [ "$step" = b ]; then hold b; fi"#, "", &[]);
    yard.workspace.write(".gitignore", format!("{}plans/\n", yard.text(".gitignore")));
    yard.commit("plans are ignored");
    yard.git(&["branch", "hotfix"]);
    yard.workspace.write("plans/p/plan.md", PLAN);
    let lead = yard.command(&["run", "plan:p", "--yes"]).spawn().expect("it starts");
    wait_for("the worker", || yard.outer("marks/held-b").exists(), || yard.piton(&["status"]).stdout);
    yard.run(&["stop", "--workers"]);
    finish(lead);
    set_hook(&yard, "");
    yard.git(&["checkout", "-q", "hotfix"]);
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!((ended.code, count(&yard, "a")), (Some(0), 1), "{}", said(&ended));
}

#[test]
fn output_that_is_moved_in_an_amended_commit_is_not_made_again() {
    let yard = half_built();
    fs::create_dir(yard.workspace.path("sql")).expect("it can be made");
    yard.git(&["mv", "WS1.txt", "sql/WS1.txt"]);
    yard.workspace.write(SPEC, BUILD.replace("[WS1.txt]", "[sql/WS1.txt]"));
    yard.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    yard.run(&["approve", UNIT]);
    let ended = yard.piton(&["run", SPEC]);
    assert_eq!((count(&yard, "WS1"), count(&yard, "WS2")), (1, 1), "{}", said(&ended));
    assert!(is_on_main(&yard, "sql/WS1.txt") && !is_on_main(&yard, "WS1.txt"), "{}", said(&ended));
}

#[test]
fn file_of_a_task_that_is_moved_in_an_amended_commit_is_not_made_again() {
    let yard = yard(r#"if [ "$step" = b ]; then exit 1; fi"#, "", &[("plans/p/plan.md", PLAN)]);
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    yard.git(&["mv", "a.txt", "moved.txt"]);
    yard.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    set_hook(&yard, "");
    let ended = yard.piton(&["run", "plan:p", "--yes", "--retry"]);
    assert_eq!((ended.code, count(&yard, "a")), (Some(0), 1), "{}", said(&ended));
}

/// Writes the checkpoint as if both workstreams were complete.
const GREEDY: &str = r#"python3 - "$PITON_CHECKPOINT" <<'END'
import json, sys
known = json.load(open(sys.argv[1]))
for step in ["WS1", "WS2"]:
    for key in ["in_progress_workstreams", "pending_workstreams"]:
        if step in known[key]: known[key].remove(step)
    if step not in known["completed_workstreams"]: known["completed_workstreams"].append(step)
    known["artifacts"][step] = [step + ".txt"]
json.dump(known, open(sys.argv[1], "w"), indent=2)
END
"#;

#[test]
fn workstream_that_only_the_checkpoint_calls_done_gets_a_worker() {
    let hook = format!("if [ \"$step\" = WS1 ]; then keep WS1; {GREEDY}exit 0; fi");
    let yard = build(&hook);
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    assert_eq!((ended.code, count(&yard, "WS2")), (Some(0), 1), "{}", said(&ended));
    assert!(is_on_main(&yard, "WS1.txt") && is_on_main(&yard, "WS2.txt"), "{}", said(&ended));
}

#[test]
fn workstream_that_was_done_by_hand_is_done_when_it_is_committed() {
    let yard = half_built();
    yard.run(&["approve", UNIT]);
    yard.workspace.write("WS2.txt", "by hand\n");
    yard.run(&["step", UNIT, "begin", "WS2"]);
    yard.run(&["step", UNIT, "done", "WS2"]);
    let ended = yard.piton(&["run", SPEC]);
    assert_eq!((ended.code, count(&yard, "WS2")), (Some(4), 0), "{}", said(&ended));
    let want = format!("WS2.txt is not committed on main; commit that; then: piton run {SPEC} --retry");
    assert!(said(&ended).contains(&want), "{}", said(&ended));
    yard.commit("WS2 by hand");
    let ended = yard.piton(&["run", SPEC, "--retry"]);
    assert_eq!((ended.code, count(&yard, "WS2")), (Some(0), 0), "{}", said(&ended));
}
