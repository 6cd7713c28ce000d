//! What a person does about one step while others are at work: leaves it out, does it, remarks something, copies a line.

use std::fs;

use crate::whose_word::{is_on_main, meanwhile, said, set_hook, workers, yard};
use crate::yard::{finish, wait_for};

const SPEC: &str = "docs/EXECUTION-SPEC-PRD-091.md";

const BUILD: &str = "---\nprd: PRD-091\nworkstreams:\n  WS1:\n    name: Floor\n    outputs: [WS1.txt]\n  WS2:\n    name: Walls\n    \
                     outputs: [WS2.txt]\nexecution_phases:\n  - name: Ground\n    parallel: [WS1, WS2]\n    gates: [ok]\n\
                     gates:\n  ok:\n    command: test -e WS1.txt\n---\n# A shed\n";

const PLAN: &str = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n\n## Two\n<!-- CHECKPOINT: two -->\n\
                    - [ ] B <!-- TASK: b -->\n";

#[test]
fn a_step_that_is_left_out_while_its_worker_works_is_not_merged() {
    // One worker records its step, the other one writes the checkpoint by hand.
    let by_hand = r#"keep WS2; sed -i 's/"dormant_workstreams": \["WS2"\]/"dormant_workstreams": []/; s/"completed_workstreams": \[\([^]]*\)\]/"completed_workstreams": [\1, "WS2"]/' "$PITON_CHECKPOINT"; exit 0"#;
    for then in ["", by_hand] {
        let hook = format!(
            r#"if [ "$step" = WS2 ]; then hold WS2; {then}
fi"#
        );
        let yard = yard(&hook, "", &[(SPEC, BUILD)]);
        let ended = meanwhile(&yard, &["run", SPEC, "--yes"], "WS2", || {
            yard.run(&["step", "build:PRD-091", "skip", "WS2"]);
        });
        assert_eq!(ended.code, Some(0), "{then} {}", said(&ended));
        assert!(is_on_main(&yard, "WS1.txt") && !is_on_main(&yard, "WS2.txt"), "{then} {}", said(&ended));
        assert!(said(&ended).contains("left out by hand: it is not merged; its branch"), "{then} {}", said(&ended));
        let checkpoint = yard.read_json(".claude/skills/build-pipeline/checkpoints/PRD-091.json");
        assert_eq!(checkpoint["completed_workstreams"], serde_json::json!(["WS1"]), "{then} {checkpoint}");
    }
}

#[test]
fn a_remark_in_a_plan_is_no_question_of_a_worker_that_dies() {
    let plan = format!("{PLAN}\n<!-- BLOCKER: The printer has not answered -->\n");
    let hook = r#"if [ "$step" = a ] && mkdir "$MARKS/died" 2>/dev/null; then exit 1; fi"#;
    let yard = yard(hook, "", &[("plans/p/plan.md", &plan)]);
    yard.workspace.write("piton.toml", yard.text("piton.toml").replace("respawn = 0", "respawn = 1"));
    yard.commit("settings");
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(workers(&yard), ["a", "a", "b"], "{}", said(&ended));
    assert!(is_on_main(&yard, "a.txt") && is_on_main(&yard, "b.txt"), "{}", said(&ended));
}

#[test]
fn a_task_that_the_user_does_while_it_waits_for_a_limit_gets_no_worker() {
    let hook = r#"if [ "$step" = b ]; then echo "{\"limit_reset\": \"$(date -u -d '+3600 seconds' +%Y-%m-%dT%H:%M:%SZ)\"}"; exit 75; fi"#;
    let yard = yard(hook, "", &[("plans/p/plan.md", PLAN)]);
    let lead = yard.command(&["run", "plan:p", "--yes"]).spawn().expect("it starts");
    let is_parked = || yard.piton(&["status"]).stdout.contains("limit");
    wait_for("the limit", is_parked, || yard.piton(&["status"]).stdout);
    yard.workspace.write("b.txt", "by hand\n");
    yard.git(&["add", "b.txt"]);
    yard.git(&["commit", "-q", "-m", "b by hand"]);
    let text = yard.text("plans/p/plan.md").replace("[ ] B", "[x] B");
    yard.workspace.write("plans/p/plan.md", text);
    let ended = finish(lead);
    assert_eq!((ended.code, workers(&yard)), (Some(0), vec!["a".to_owned(), "b".to_owned()]), "{}", said(&ended));
}

#[test]
fn what_the_user_commits_in_the_worktree_of_a_task_is_merged() {
    let hook = r#"if [ "$step" = b ]; then keep half; exit 1; fi"#;
    let yard = yard(hook, "", &[("plans/p/plan.md", PLAN)]);
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    yard.workspace.write(".worktrees/plan-p-b/b.txt", "by hand\n");
    yard.git(&["-C", ".worktrees/plan-p-b", "add", "-A"]);
    yard.git(&["-C", ".worktrees/plan-p-b", "commit", "-q", "-m", "the rest, by hand"]);
    let text = yard.text("plans/p/plan.md").replace("[ ] B", "[x] B");
    yard.workspace.write("plans/p/plan.md", text);
    let ended = yard.piton(&["run", "plan:p", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "b.txt"), "{}", said(&ended));
    assert_eq!(workers(&yard).len(), 2, "{}", said(&ended));
}

#[test]
fn a_copied_box_with_the_id_of_a_finished_task_reopens_nothing() {
    let hook = r#"if [ "$step" = b ]; then hold b; fi"#;
    let yard = yard(hook, "", &[("plans/p/plan.md", PLAN)]);
    let ended = meanwhile(&yard, &["run", "plan:p", "--yes"], "b", || {
        let text = yard.text("plans/p/plan.md");
        yard.workspace.write("plans/p/plan.md", format!("{text}- [ ] Another thing <!-- TASK: a -->\n"));
    });
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(said(&ended).contains("piton check plan:p"), "{}", said(&ended));
    assert_eq!(workers(&yard), ["a", "b"], "{}", said(&ended));
    yard.piton(&["check", "plan:p"]);
    let text = yard.text("plans/p/plan.md").replace("Another thing <!-- TASK: a -->", "Another thing <!-- TASK: c -->");
    yard.workspace.write("plans/p/plan.md", text);
    let ended = yard.piton(&["run", "plan:p", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "c.txt"), "{}", said(&ended));
}

#[test]
fn an_output_that_was_claimed_before_is_forgotten_with_the_next_record() {
    let hook = r#"if [ "$step" = WS1 ]; then
  if mkdir "$MARKS/lied" 2>/dev/null; then "$PITON" step "$PITON_UNIT" done WS1 --output WS1.sql; exit 0; fi
fi"#;
    let yard = yard(hook, "", &[(SPEC, BUILD)]);
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let ended = yard.piton(&["run", SPEC, "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "WS1.txt"), "{}", said(&ended));
}

#[test]
fn a_worker_that_is_named_after_a_limit_does_not_wait_for_the_old_one() {
    let hook = r#"if [ ! -e "$MARKS/other" ]; then echo "{\"scope\": \"account\", \"limit_reset\": \"$(date -u -d '+3600 seconds' +%Y-%m-%dT%H:%M:%SZ)\"}"; exit 75; fi"#;
    let yard = yard(hook, "[[stories]]\nid = \"S-1\"\nstages = [2, 3]\n", &[]);
    let lead = yard.command(&["run", "--yes"]).spawn().expect("it starts");
    let is_parked = || yard.piton(&["status"]).stdout.contains("limit");
    wait_for("the limit", is_parked, || yard.piton(&["status"]).stdout);
    yard.run(&["stop"]);
    assert_eq!(finish(lead).code, Some(1));
    fs::write(yard.outer("marks/other"), "").expect("it can be written");
    let settings = yard.text("piton.toml");
    let (before, story) = settings.split_once("[[stories]]").expect("a story");
    // Accounts are told apart by their programs.
    let other = before.replace("[worker]", "[worker.other]").replace("/bin/sh", "/bin/bash");
    yard.workspace.write(
        "piton.toml",
        format!(
            "{before}fallback = \"other\"\n{}\n[[stories]]{story}",
            &other[other.find("[worker.other]").expect("it")..]
        ),
    );
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn workstream_that_is_put_back_after_the_build_is_done_gets_a_worker() {
    let whole = "---\nprd: PRD-098\nprd_title: A hut\nworkstreams:\n  WS1: {name: Floor, outputs: [WS1.txt]}\n  \
                 WS2: {name: Roof, outputs: [WS2.txt]}\nexecution_phases:\n  - {name: All, parallel: [WS1, WS2]}\n---\n# A hut\n";
    let (path, unit) = ("docs/EXECUTION-SPEC-PRD-098.md", "build:PRD-098");
    let yard = yard("if [ $step = WS2 ]; then exit 1; fi", "", &[(path, whole)]);
    assert_eq!(yard.piton(&["run", unit, "--yes"]).code, Some(4));
    let less = whole.replace("  WS2: {name: Roof, outputs: [WS2.txt]}\n", "").replace("[WS1, WS2]", "[WS1]");
    yard.workspace.write(path, less);
    yard.commit("the roof comes later");
    let ended = yard.run(&["run", unit, "--yes", "--retry"]);
    assert!(said(&ended).contains("not in the specification any more: WS2"), "{}", said(&ended));
    yard.run(&["check"]);
    set_hook(&yard, "");
    yard.workspace.write(path, whole);
    yard.commit("the roof");
    let ended = yard.run(&["run", unit, "--yes"]);
    assert!(is_on_main(&yard, "WS2.txt"), "{}", said(&ended));
}
