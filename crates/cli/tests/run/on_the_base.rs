//! What reaches the base during a run counts, whenever it was written: gates that are pulled, committed before another branch
//! is checked out, or added by an approved branch. And what an agent or its user says in other words is the same work.

use crate::whose_word::{is_on_main, meanwhile, said, set_hook, workers, yard};
use crate::yard::Yard;

const STORY: &str =
    "[gates]\ntest = \"test -e README.md\"\n[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";

const HOLDS: &str = r#"if [ "$step$PITON_STAGE" = S-12 ]; then hold S-1; fi"#;

const CHANGED: &str = "gates changed during the run: test; judge by them: piton run --retry";

/// Changes the gate of the settings and commits that, an hour ago.
fn stricter_gate(yard: &Yard) {
    let settings = yard.text("piton.toml").replace("test -e README.md", "test -e never-ever.txt");
    yard.workspace.write("piton.toml", settings);
    yard.commit("a stricter gate");
    let amend = "alias.old=!GIT_COMMITTER_DATE=2026-01-01T00:00:00Z git commit -q --allow-empty --amend --no-edit";
    yard.git(&["-c", amend, "old"]);
}

#[test]
fn gate_that_is_pulled_during_a_run_judges_the_story() {
    let yard = yard(HOLDS, STORY, &[]);
    yard.git(&["checkout", "-q", "-b", "colleague"]);
    stricter_gate(&yard);
    yard.git(&["checkout", "-q", "main"]);
    let ended =
        meanwhile(&yard, &["run", "--yes"], "S-1", || drop(yard.git(&["merge", "-q", "--ff-only", "colleague"])));
    assert_eq!((ended.code, is_on_main(&yard, "S-1.txt")), (Some(4), false), "{}", said(&ended));
    assert!(said(&ended).contains(CHANGED), "{}", said(&ended));
}

#[test]
fn gate_that_is_committed_on_the_base_counts_while_another_branch_is_checked_out() {
    let yard = yard(HOLDS, STORY, &[]);
    let ended = meanwhile(&yard, &["run", "--yes"], "S-1", || {
        stricter_gate(&yard);
        yard.git(&["checkout", "-q", "-b", "hotfix"]);
    });
    assert_eq!((ended.code, is_on_main(&yard, "S-1.txt")), (Some(4), false), "{}", said(&ended));
    assert!(said(&ended).contains(CHANGED), "{}", said(&ended));
}

#[test]
fn gate_that_an_approved_branch_adds_judges_it() {
    let hook = r#"if [ "$PITON_STAGE" = 2 ]; then sed -i 's/^test = .*/&\nlint = "test -e lint.ok"/' piton.toml; fi"#;
    let yard = yard(hook, STORY, &[]);
    let ended = yard.piton(&["run", "--yes"]);
    assert!(said(&ended).contains(r#"lint becomes "test -e lint.ok""#), "{}", said(&ended));
    yard.run(&["approve", "pipeline:S-1"]);
    let ended = yard.piton(&["run"]);
    assert_eq!((ended.code, is_on_main(&yard, "S-1.txt")), (Some(4), false), "{}", said(&ended));
    assert!(said(&ended).contains("gate lint failed"), "{}", said(&ended));
}

#[test]
fn agent_that_calls_its_feature_otherwise_continues_it_and_stays_done() {
    let crew = "[[agents]]\nagent = \"Secondary-A\"\nfeature = \"search\"\ntype = \"secondary\"\n";
    let renames =
        r#"sed -i 's/"feature": *"search"/"feature": "feature_02_search"/' "$PITON_CHECKPOINT"; keep half; exit 1"#;
    let yard = yard(renames, "", &[("crew.toml", crew)]);
    assert_eq!(yard.piton(&["run", "crew.toml", "--yes"]).code, Some(4));
    set_hook(&yard, r#"keep rest; sed -i 's/"status": *"[A-Z_]*"/"status": "COMPLETE"/' "$PITON_CHECKPOINT"; exit 0"#);
    let ended = yard.piton(&["run", "crew.toml", "--yes", "--retry"]);
    assert!(is_on_main(&yard, "half.txt"), "its first commits are a part of it: {}", said(&ended));
    assert!(!said(&ended).contains("given up"), "{}", said(&ended));
    let before = workers(&yard).len();
    let again = yard.piton(&["run", "crew.toml", "--yes"]);
    assert_eq!((again.code, workers(&yard).len()), (Some(0), before), "{}", said(&again));
}

#[test]
fn gate_of_two_phases_is_judged_once_where_the_second_has_nothing_left() {
    let spec = "docs/EXECUTION-SPEC-PRD-096.md";
    let text = "---\nprd: PRD-096\nprd_title: A wall\nworkstreams:\n  WS1: {name: One, outputs: [WS1.txt]}\n  \
                WS2: {name: Two, outputs: [WS2.txt]}\nexecution_phases:\n  - {name: A, parallel: [WS1], gates: [review]}\n  \
                - {name: B, parallel: [WS2], gates: [review]}\n---\n# A wall\n";
    let yard = yard("", "", &[(spec, text)]);
    assert_eq!(yard.piton(&["run", spec, "--yes"]).code, Some(4));
    yard.run(&["step", "build:PRD-096", "skip", "WS2"]);
    yard.run(&["gate", "build:PRD-096", "pass", "review"]);
    let ended = yard.piton(&["run", spec, "--yes"]);
    assert_eq!((ended.code, workers(&yard).len()), (Some(0), 1), "{}", said(&ended));
}

#[test]
fn stash_that_is_older_than_the_last_record_is_not_offered() {
    let plan = "# P\n\n- [ ] A <!-- TASK: a -->\n- [ ] B <!-- TASK: b -->\n";
    let yard = yard(r#"if [ "$step" = b ]; then exit 1; fi"#, "", &[]);
    yard.workspace.write("plans/p/plan.md", plan);
    yard.git(&["-c", "alias.old=!GIT_COMMITTER_DATE=2026-01-01T00:00:00Z git stash -q -u", "old"]);
    yard.git(&["stash", "apply", "-q"]);
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    std::fs::remove_file(yard.workspace.path("plans/p/plan.md")).expect("it was there");
    let status = yard.run(&["status"]).stdout;
    assert!(status.contains("piton repair plan:p && piton run plan:p --retry"), "{status}");
    yard.run(&["repair", "plan:p"]);
    assert!(yard.text("plans/p/plan.md").contains("[x] A"));
}

#[test]
fn committed_checkpoint_that_another_worktree_checks_out_takes_nothing_back() {
    let stories = "[gates]\ntest = \"test ! -e S-1.txt || test -e fix.txt\"\n[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n\
                   [[stories]]\nid = \"S-2\"\ntitle = \"Two\"\nstages = [2, 3]\ndepends_on = [\"S-1\"]\n";
    let asks = r#"if [ "$step$PITON_STAGE" = S-22 ] && mkdir "$MARKS/asked" 2>/dev/null; then "$PITON" block "$PITON_UNIT" --message 'which port?'; exit 0; fi"#;
    let yard = yard(asks, stories, &[(".gitignore", ".piton/\n.worktrees/\n")]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    // The refused checkpoint is committed, and reaches the worktree of the next story.
    yard.commit("wip");
    yard.workspace.write(".worktrees/story-S-1/fix.txt", "x\n");
    yard.git(&["-C", ".worktrees/story-S-1", "add", "fix.txt"]);
    yard.git(&["-C", ".worktrees/story-S-1", "commit", "-qm", "fix"]);
    let ended = yard.piton(&["run", "--retry"]);
    assert_eq!((ended.code, is_on_main(&yard, "S-1.txt")), (Some(4), true), "{}", said(&ended));
    let status = yard.json(&["status", "pipeline:S-1", "--json"]);
    assert_eq!(status["units"][0]["lifecycle"], "done", "{status}");
    yard.run(&["unblock", "pipeline:S-2", "--message", "80"]);
    let ended = yard.piton(&["run"]);
    assert_eq!((ended.code, is_on_main(&yard, "S-2.txt")), (Some(0), true), "{}", said(&ended));
}

#[test]
fn plan_whose_text_is_removed_after_its_run_is_brought_back_as_printed() {
    let yard = yard("", "", &[]);
    yard.workspace.write("plans/p/plan.md", "# P\n\n- [ ] A <!-- TASK: a -->\n");
    yard.run(&["run", "plan:p", "--yes"]);
    std::fs::remove_file(yard.workspace.path("plans/p/plan.md")).expect("it was there");
    let refused = yard.piton(&["run", "plan:p"]);
    assert!(said(&refused).contains("bring it back: piton repair plan:p && piton run plan:p"), "{}", said(&refused));
    yard.run(&["repair", "plan:p"]);
    let ended = yard.piton(&["run", "plan:p"]);
    assert_eq!((ended.code, workers(&yard).len()), (Some(0), 1), "{}", said(&ended));
}
