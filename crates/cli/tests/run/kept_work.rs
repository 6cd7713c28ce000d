//! Work that is collected on the branch of its phase stays done when git takes a tick or a worktree away.

use std::fs;
use std::time::Duration;

use crate::whose_word::{is_on_main, meanwhile, said, workers, yard};
use crate::yard::{Yard, wait_for};

const PLAN: &str = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n- [ ] B <!-- TASK: b -->\n\
                    - [ ] Holds <!-- ACCEPT: holds -->\n\n## Two\n<!-- CHECKPOINT: two -->\n- [ ] C <!-- TASK: c -->\n";

const PATH: &str = "docs/EXECUTION-SPEC-PRD-012.md";

const SPEC: &str = "---\nprd: PRD-012\nprd_title: A till\nworkstreams:\n  WS1: {name: Schema, outputs: [WS1.txt]}\n  \
                    WS2: {name: Receipts, outputs: [WS2.txt]}\nexecution_phases:\n  - name: Ground\n    parallel: [WS1, WS2]\n    \
                    gates: [all]\ngates:\n  all:\n    command: test -s WS1.txt && test -s WS2.txt && test -e fixed.txt\n---\n# A till\n";

fn log_has(yard: &Yard, words: &str) {
    let log = || fs::read_to_string(yard.workspace.path(".piton/run/runs/1/events.jsonl")).unwrap_or_default();
    wait_for(words, || log().contains(words), log);
}

/// Waits for two heartbeats: between them the lead has looked at everything.
fn beats(yard: &Yard) {
    let path = yard.workspace.path(".piton/run/memory.json");
    let time = || fs::metadata(&path).and_then(|found| found.modified()).ok();
    for _ in 0..2 {
        let before = time();
        wait_for("a heartbeat", || time() != before, String::new);
    }
}

fn count(yard: &Yard, step: &str) -> usize {
    workers(yard).iter().filter(|it| *it == step).count()
}

#[test]
fn a_tick_that_is_checked_out_while_its_phase_is_collected_is_ticked_again() {
    let hook = r#"if [ "$step" = b ]; then hold b; fi"#;
    let yard = yard(hook, "[gates]\nholds = \"test -s a.txt\"\n", &[("plans/p/plan.md", PLAN)]);
    let ended = meanwhile(&yard, &["run", "plan:p", "--yes"], "b", || {
        log_has(&yard, "merged into piton/plan-p-phase-1");
        wait_for("the tick", || yard.text("plans/p/plan.md").contains("[x] A"), || yard.text("plans/p/plan.md"));
        yard.git(&["checkout", "-q", "."]);
        beats(&yard);
    });
    assert_eq!((ended.code, count(&yard, "a")), (Some(0), 1), "{}", said(&ended));
    assert!(yard.text("plans/p/plan.md").contains("[x] A") && is_on_main(&yard, "a.txt"), "{}", said(&ended));
}

#[test]
fn a_plan_that_is_being_written_keeps_its_boxes_and_criteria() {
    let hook = r#"if [ "$step" = b ]; then hold b; fi"#;
    let yard = yard(hook, "[gates]\nholds = \"test -s a.txt\"\n", &[("plans/p/plan.md", PLAN)]);
    let ended = meanwhile(&yard, &["run", "plan:p", "--yes"], "b", || {
        log_has(&yard, "merged into piton/plan-p-phase-1");
        let (path, text) = (yard.workspace.path("plans/p/plan.md"), yard.text("plans/p/plan.md"));
        for _ in 0..4 {
            // As git and editors do it: the file is gone, and has its text a moment later.
            fs::remove_file(&path).expect("it is there");
            std::thread::sleep(Duration::from_millis(80));
            fs::write(&path, &text).expect("it can be written");
            std::thread::sleep(Duration::from_millis(400));
        }
    });
    assert_eq!((ended.code, workers(&yard).len()), (Some(0), 3), "{}", said(&ended));
    assert!(["a.txt", "b.txt", "c.txt"].iter().all(|file| is_on_main(&yard, file)), "{}", said(&ended));
    assert!(!said(&ended).contains("removed"), "{}", said(&ended));
}

#[test]
fn work_that_is_collected_reaches_the_base_when_the_criterion_of_its_phase_is_removed() {
    let hook = r#"if [ "$step" = b ]; then hold b; fi"#;
    let yard = yard(hook, "[gates]\nholds = \"test -s a.txt\"\n", &[("plans/p/plan.md", PLAN)]);
    let ended = meanwhile(&yard, &["run", "plan:p", "--yes"], "b", || {
        log_has(&yard, "merged into piton/plan-p-phase-1");
        let text = yard.text("plans/p/plan.md").replace("- [ ] Holds <!-- ACCEPT: holds -->\n", "");
        yard.workspace.write("plans/p/plan.md", text);
        beats(&yard);
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(["a.txt", "b.txt", "c.txt"].iter().all(|file| is_on_main(&yard, file)), "{}", said(&ended));
}

/// What a gate refused is merged without a worker after its worktrees were removed, whichever way, and its cause was
/// corrected. Their branches stay.
#[track_caller]
fn is_kept(yard: &Yard, wanted: &str, files: [&str; 2]) {
    let ended = yard.piton(&["run", wanted, "--yes"]);
    assert_eq!(ended.code, Some(4), "{wanted}: {}", said(&ended));
    let trees = yard.git(&["worktree", "list", "--porcelain"]);
    let trees: Vec<&str> = trees.lines().filter_map(|line| line.strip_prefix("worktree ")).skip(1).collect();
    let [first, second] = trees[..] else { panic!("{trees:?}") };
    yard.git(&["worktree", "remove", first]);
    fs::remove_dir_all(second).expect("it is there");
    yard.workspace.write("fixed.txt", "");
    yard.commit("what was missing");
    let ended = yard.run(&["run", wanted, "--yes", "--retry"]);
    assert!(files.iter().all(|file| is_on_main(yard, file)), "{wanted}: {}", said(&ended));
}

#[test]
fn a_workstream_whose_worktree_is_removed_is_merged_from_its_branch() {
    let yard = yard("", "", &[(PATH, SPEC)]);
    is_kept(&yard, PATH, ["WS1.txt", "WS2.txt"]);
    assert_eq!((count(&yard, "WS1"), count(&yard, "WS2")), (1, 1));
}

#[test]
fn a_task_of_a_plan_whose_worktree_is_removed_is_merged_from_its_branch() {
    let plan = PLAN.replace("\n## Two\n<!-- CHECKPOINT: two -->\n- [ ] C <!-- TASK: c -->\n", "");
    let yard = yard("", "[gates]\nholds = \"test -e fixed.txt\"\n", &[("plans/p/plan.md", &plan)]);
    is_kept(&yard, "plan:p", ["a.txt", "b.txt"]);
    assert_eq!((count(&yard, "a"), count(&yard, "b")), (1, 1));
}
