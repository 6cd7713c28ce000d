//! Git takes back what says that work is done: a stash, a discarded change, a removed directory, an amended commit. The work
//! is done all the same, and no worker is paid for it again.

use std::fs;

use crate::whose_word::{is_on_main, meanwhile, said, set_hook, workers, yard};
use crate::yard::{Yard, wait_for};

const PLAN: &str = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n- [ ] B <!-- TASK: b -->\n\n## Two\n\
                    <!-- CHECKPOINT: two -->\n- [ ] C <!-- TASK: c -->\n";

const SPEC: &str = "docs/EXECUTION-SPEC-PRD-081.md";

const BUILD: &str = "build:PRD-081";

/// A build with a phase for each list of workstreams, and a gate for the last.
fn build(phases: &[&[&str]], gate: &str) -> String {
    let streams: String =
        phases.concat().iter().map(|id| format!("  {id}: {{name: Row {id}, outputs: [{id}.txt]}}\n")).collect();
    let last = phases.len() - 1;
    let phase = |(place, streams): (usize, &&[&str])| {
        let gates = if place == last { ", gates: [holds]" } else { "" };
        format!("  - {{name: P{place}, parallel: [{}]{gates}}}\n", streams.join(", "))
    };
    let phases: String = phases.iter().enumerate().map(phase).collect();
    format!(
        "---\nprd: PRD-081\nprd_title: A wall\nworkstreams:\n{streams}execution_phases:\n{phases}gates:\n  holds: \
         {{command: \"{gate}\"}}\n---\n# A wall\n"
    )
}

/// Commits the documents of a run too.
fn track_documents(yard: &Yard) {
    yard.workspace.write(".gitignore", ".piton/\n.worktrees/\n");
    yard.commit("documents are committed");
}

fn stays_done(act: fn(&Yard)) {
    let yard = yard(r#"if [ "$step" = c ]; then exit 1; fi"#, "", &[("plans/p/plan.md", PLAN)]);
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    act(&yard);
    assert!(!yard.text("plans/p/plan.md").contains("[x]"), "git has the plan without ticks");
    set_hook(&yard, "");
    let ended = yard.piton(&["run", "plan:p", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    let count = |step: &str| workers(&yard).iter().filter(|known| *known == step).count();
    assert_eq!((count("a"), count("b")), (1, 1), "{}", said(&ended));
    assert!(!yard.text("plans/p/plan.md").contains("[ ]"), "{}", said(&ended));
}

#[test]
fn boxes_whose_ticks_git_discards_are_ticked_again() {
    stays_done(|yard| drop(yard.git(&["checkout", "-q", "."])));
}

#[test]
fn boxes_whose_ticks_went_to_another_branch_are_ticked_again() {
    stays_done(|yard| {
        yard.git(&["checkout", "-q", "-b", "hotfix"]);
        yard.commit("hotfix");
        yard.git(&["checkout", "-q", "main"]);
    });
}

#[test]
fn checkpoint_of_a_build_that_a_stash_takes_back_is_restored() {
    let spec = build(&[&["WS1"], &["WS2"], &["WS3"]], "true");
    let yard = yard("", "", &[(SPEC, &spec)]);
    track_documents(&yard);
    yard.run(&["approve", SPEC]);
    assert_eq!(yard.piton(&["run", SPEC]).code, Some(4), "it waits for approval");
    yard.commit("phase 1, with its checkpoint");
    yard.run(&["approve", BUILD]);
    assert_eq!(yard.piton(&["run", SPEC]).code, Some(4), "it waits for approval");
    yard.git(&["stash", "-q"]);
    yard.run(&["approve", BUILD]);
    let ended = yard.piton(&["run", SPEC]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(said(&ended).contains("git had put an earlier version of"), "{}", said(&ended));
    assert_eq!(workers(&yard), ["WS1", "WS2", "WS3"], "{}", said(&ended));
}

const STORIES: &str = "[[stories]]\nid = \"S-1\"\nstages = [2, 3]\n[[stories]]\nid = \"S-2\"\nstages = [2, 3]\n";

/// Two stories: the first asks something, the second is done and merged.
fn half_done() -> Yard {
    let hook = r#"if [ "$step" = S-1 ] && [ ! -e "$MARKS/go" ]; then "$PITON" block "$PITON_UNIT" --message 'which port?'; exit 0; fi"#;
    let yard = yard(hook, STORIES, &[]);
    track_documents(&yard);
    yard
}

/// The second story stays done, and the first one continues as printed.
fn is_not_done_again(yard: &Yard, continued: &[&[&str]]) {
    let before = workers(yard).iter().filter(|step| *step == "S-2").count();
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    for arguments in continued {
        let ended = yard.piton(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}", said(&ended));
    }
    let after = workers(yard).iter().filter(|step| *step == "S-2").count();
    assert_eq!(after, before, "a story that is merged gets no worker");
    assert!(is_on_main(yard, "S-1.txt"));
    let status = yard.run(&["status"]).stdout;
    assert!(status.contains("2 done"), "{status}");
}

#[test]
fn story_that_is_merged_stays_done_when_a_stash_takes_its_checkpoint_back() {
    let yard = half_done();
    set_hook(
        &yard,
        r#"if [ ! -e "$MARKS/go" ]; then "$PITON" block "$PITON_UNIT" --message 'which port?'; exit 0; fi"#,
    );
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    yard.commit("with the documents");
    set_hook(&yard, r#"if [ "$step" = S-1 ] && [ ! -e "$MARKS/go" ]; then exit 1; fi"#);
    yard.run(&["unblock", "pipeline:S-2", "--message", "8080"]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    assert!(is_on_main(&yard, "S-2.txt"));
    yard.git(&["stash", "-q"]);
    is_not_done_again(&yard, &[&["unblock", "pipeline:S-1", "--message", "8080"], &["run", "--yes"]]);
}

#[test]
fn board_that_is_removed_in_an_unfinished_run_is_not_done_again() {
    let yard = half_done();
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    assert!(is_on_main(&yard, "S-2.txt"));
    yard.git(&["clean", "-fdq"]);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(said(&ended).contains("piton repair pipeline:S-1"), "{}", said(&ended));
    let answer = ["unblock", "pipeline:S-1", "--message", "8080"];
    is_not_done_again(&yard, &[&["repair", "pipeline:S-1"], &answer, &["run", "--yes", "--retry"]]);
}

#[test]
fn text_that_its_user_commits_to_a_plan_stays_when_a_worker_merges_the_base() {
    let first = "# One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n- [ ] B <!-- TASK: b -->\n\
                 - [ ] Good <!-- ACCEPT: good -->\n";
    let second = "# Two\n<!-- CHECKPOINT: two -->\n- [ ] C <!-- TASK: c -->\n";
    let files = [("plans/p/plan.md", "# P\n"), ("plans/p/phase-01-one.md", first), ("plans/p/phase-02-two.md", second)];
    let hook = r#"if [ "$step" = b ]; then hold b; git merge -q --no-edit main; fi"#;
    let yard = yard(hook, "[gates]\ngood = \"test -e a.txt && test -e b.txt\"\n", &files);
    let log = || fs::read_to_string(yard.workspace.path(".piton/run/runs/1/events.jsonl")).unwrap_or_default();
    let ended = meanwhile(&yard, &["run", "plan:p", "--yes"], "b", || {
        wait_for("the first task", || log().contains("merged into piton/plan-p-phase-1"), log);
        yard.workspace.write("plans/p/phase-02-two.md", format!("{second}\nUse bricks.\n"));
        yard.git(&["commit", "-q", "-m", "bricks", "plans/p/phase-02-two.md"]);
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    let text = yard.git(&["show", "main:plans/p/phase-02-two.md"]);
    assert!(text.contains("Use bricks."), "{text}\n{}", said(&ended));
    assert!(yard.text("plans/p/phase-02-two.md").contains("Use bricks."));
}

#[test]
fn phase_is_collected_anew_when_its_user_amends_the_base() {
    let spec = build(&[&["WS1", "WS2"]], "test -e WS1.txt && test -e WS2.txt");
    let yard = yard(r#"if [ "$step" = WS2 ]; then hold WS2; fi"#, "", &[(SPEC, &spec)]);
    yard.workspace.write("code.txt", "one\n");
    yard.commit("code");
    let log = || fs::read_to_string(yard.workspace.path(".piton/run/runs/1/events.jsonl")).unwrap_or_default();
    let ended = meanwhile(&yard, &["run", SPEC, "--yes"], "WS2", || {
        wait_for("the first workstream", || log().contains("merged into piton/build-prd-081-phase-1"), log);
        yard.workspace.write("code.txt", "one, and what was forgotten\n");
        yard.git(&["commit", "-q", "--amend", "-m", "all of the code", "code.txt"]);
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "WS1.txt") && is_on_main(&yard, "WS2.txt"), "{}", said(&ended));
    assert_eq!(yard.git(&["show", "main:code.txt"]), "one, and what was forgotten\n");
}

#[test]
fn phase_that_its_user_amends_at_its_approval_stays_done() {
    let spec =
        build(&[&["WS1"], &["WS2"]], "true").replace("P0, parallel: [WS1]", "P0, parallel: [WS1], gates: [holds]");
    let yard = yard("", "", &[(SPEC, &spec)]);
    yard.run(&["approve", SPEC]);
    assert_eq!(yard.piton(&["run", SPEC]).code, Some(4), "it waits for approval");
    yard.workspace.write("WS1.txt", "tidied up\n");
    yard.git(&["commit", "-q", "--amend", "-m", "row 1", "WS1.txt"]);
    yard.run(&["approve", BUILD]);
    let ended = yard.piton(&["run", SPEC]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!(workers(&yard), ["WS1", "WS2"], "{}", said(&ended));
    assert_eq!(yard.git(&["show", "main:WS1.txt"]), "tidied up\n");
}

#[test]
fn gates_that_change_during_the_run_judge_before_a_build_is_done() {
    let before = build(&[&["WS1"], &["WS2"]], "true");
    let stricter = build(&[&["WS1"], &["WS2"]], "test -e never.txt");
    let more = before.replace("gates: [holds]", "gates: [holds, more]");
    let more = more.replace("gates:\n  holds", "gates:\n  more: {command: \"test -e never.txt\"}\n  holds");
    let passed = build(&[&["WS1"], &["WS2"]], "test -e WS2.txt");
    for (after, is_met) in [(stricter, false), (more, false), (passed, true)] {
        let yard = yard(r#"if [ "$step" = WS1 ]; then hold WS1; fi"#, "", &[(SPEC, &before)]);
        let ended = meanwhile(&yard, &["run", SPEC, "--yes"], "WS1", || {
            yard.workspace.write(SPEC, &after);
            yard.commit("a stricter specification");
        });
        assert_eq!(ended.code, Some(4), "{}", said(&ended));
        assert!(said(&ended).contains("gates changed during the run: "), "{}", said(&ended));
        let ended = yard.piton(&["run", SPEC, "--yes", "--retry"]);
        assert_eq!(ended.code, Some(if is_met { 0 } else { 4 }), "{}", said(&ended));
        let is_refused = said(&ended).contains("`test -e never.txt` ended with exit code 1");
        assert_eq!((is_refused, is_on_main(&yard, "WS2.txt")), (!is_met, is_met), "{}", said(&ended));
    }
}

#[test]
fn lock_of_a_killed_git_does_not_keep_the_next_worker_from_its_commit() {
    let hook = r#"if [ ! -e "$MARKS/killed" ]; then : > "$MARKS/killed"; : > "$(git rev-parse --git-dir)/index.lock"; exit 1; fi"#;
    let yard = yard(hook, "[[stories]]\nid = \"S-1\"\nstages = [2, 3]\n", &[]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    let ended = yard.piton(&["run", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
}

#[test]
fn story_that_is_restarted_begins_with_the_first_stage_of_its_settings() {
    let yard = yard("exit 1", "[[stories]]\nid = \"S-1\"\nstages = [2, 3]\n", &[]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    yard.run(&["restart", "pipeline:S-1"]);
    set_hook(&yard, "");
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(!said(&ended).contains("story-S-1-s0"), "{}", said(&ended));
    assert!(is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
}

/// How many workers a step had.
fn count(yard: &Yard, step: &str) -> usize {
    workers(yard).iter().filter(|known| *known == step).count()
}

#[test]
fn boxes_that_their_user_unticks_are_done_again() {
    let yard = yard(r#"if [ "$step" = c ]; then exit 1; fi"#, "", &[("plans/p/plan.md", PLAN)]);
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    let text = yard.text("plans/p/plan.md");
    assert!(text.contains("[x] A") && text.contains("[x] B"), "{text}");
    // The text is the committed one again, by hand.
    yard.workspace.write("plans/p/plan.md", text.replace("[x]", "[ ]"));
    set_hook(&yard, "");
    let ended = yard.piton(&["run", "plan:p", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!((count(&yard, "a"), count(&yard, "b")), (2, 2), "{}", said(&ended));
}

#[test]
fn box_that_was_done_again_without_a_commit_stays_done_when_git_discards_its_tick() {
    let yard = yard("", "", &[("plans/p/plan.md", PLAN)]);
    let run = ["run", "plan:p", "--yes"];
    assert_eq!(yard.piton(&run).code, Some(0));
    let plan = yard.text("plans/p/plan.md").replace("- [x] B", "- [ ] B");
    yard.workspace.write("plans/p/plan.md", plan);
    // Its worker finds the file as it should be.
    let ended = yard.piton(&run);
    assert_eq!((ended.code, count(&yard, "b")), (Some(0), 2), "{}", said(&ended));
    for _ in 0..2 {
        yard.git(&["checkout", "-q", "."]);
        let ended = yard.piton(&run);
        assert_eq!((ended.code, count(&yard, "b"), count(&yard, "a")), (Some(0), 2, 1), "{}", said(&ended));
        assert!(!yard.text("plans/p/plan.md").contains("[ ]"), "{}", said(&ended));
    }
}

#[test]
fn tasks_whose_merge_is_taken_off_the_base_are_done_again() {
    let yard = yard(r#"if [ "$step" = c ]; then exit 1; fi"#, "", &[("plans/p/plan.md", PLAN)]);
    let start = yard.git(&["rev-parse", "HEAD"]);
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    assert!(is_on_main(&yard, "a.txt"));
    yard.git(&["reset", "-q", "--hard", start.trim()]);
    set_hook(&yard, "echo again >> \"$step.txt\"");
    let ended = yard.piton(&["run", "plan:p", "--yes", "--retry"]);
    let is_done = ended.code == Some(0);
    assert!(!is_done || is_on_main(&yard, "a.txt") && is_on_main(&yard, "b.txt"), "{}", said(&ended));
    assert!(!said(&ended).contains("its work is merged"), "{}", said(&ended));
}

#[test]
fn gate_of_the_settings_that_changes_during_the_run_judges_a_story() {
    let story = "[[stories]]\nid = \"S-1\"\nstages = [2, 3]\n[gates]\nholds = \"true\"\n";
    let yard = yard(r#"if [ "$PITON_STAGE" = 2 ]; then hold S-1; fi"#, story, &[]);
    let ended = meanwhile(&yard, &["run", "--yes"], "S-1", || {
        let settings = yard.text("piton.toml").replace("holds = \"true\"", "holds = \"test -e S-1.txt\"");
        yard.workspace.write("piton.toml", settings);
        yard.commit("a stricter gate");
    });
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(said(&ended).contains("gates changed during the run: holds"), "{}", said(&ended));
    assert!(!is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
    yard.run(&["approve"]);
    let ended = yard.piton(&["run", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(said(&ended).contains("gate holds passed") && is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
}

#[test]
fn build_that_is_restarted_while_its_gate_runs_is_begun_anew_by_what_is_printed() {
    let gate = ": > $MARKS/held-gate; until [ -e $MARKS/go ]; do sleep 0.02; done";
    let yard = yard("", "", &[(SPEC, &build(&[&["WS1"]], gate))]);
    let ended = meanwhile(&yard, &["run", SPEC, "--yes"], "gate", || {
        yard.run(&["restart", BUILD, "--force"]);
    });
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(said(&ended).contains("its unit was restarted meanwhile"), "{}", said(&ended));
    assert!(!is_on_main(&yard, "WS1.txt"), "{}", said(&ended));
    let ended = yard.piton(&["run", SPEC, "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!(count(&yard, "WS1"), 2, "{}", said(&ended));
    assert!(is_on_main(&yard, "WS1.txt"), "{}", said(&ended));
}

#[test]
fn half_of_an_output_is_not_merged_when_its_worker_asked_or_died() {
    let spec = build(&[&["WS1"]], "true");
    let asks = r#"echo draft > WS1.txt; git add -A; git commit -qm draft
"$PITON" block "$PITON_UNIT" --message 'which stone?'; exit 0"#;
    let dies = "echo draft > WS1.txt; git add -A; git commit -qm draft; exit 1";
    for (hook, answer) in [(asks, Some(["unblock", BUILD, "--message", "granite"])), (dies, None)] {
        let yard = yard(hook, "", &[(SPEC, &spec)]);
        assert_eq!(yard.piton(&["run", SPEC, "--yes"]).code, Some(4));
        set_hook(&yard, "");
        let retry: &[&str] = match &answer {
            Some(answer) => {
                yard.run(answer);
                &["run", SPEC, "--yes"]
            }
            None => &["run", SPEC, "--yes", "--retry"],
        };
        let ended = yard.piton(retry);
        assert_eq!(ended.code, Some(0), "{}", said(&ended));
        assert_eq!(count(&yard, "WS1"), 2, "{}", said(&ended));
        assert_eq!(yard.git(&["show", "main:WS1.txt"]), "x\n", "{}", said(&ended));
    }
}

#[test]
fn worker_that_dies_in_the_middle_of_a_rebase_is_followed_by_another() {
    let hook = r#"if [ "$PITON_STAGE" = 2 ] && [ ! -e "$MARKS/died" ]; then
  : > "$MARKS/died"; echo mine > code.txt; git add -A; git commit -qm mine
  git branch -q other HEAD~1; git worktree add -q ../other other
  (cd ../other; echo theirs > code.txt; git add -A; git commit -qm theirs)
  git rebase -q other; exit 1
fi"#;
    let yard = yard(hook, "[[stories]]\nid = \"S-1\"\nstages = [2, 3]\n", &[]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    let ended = yard.piton(&["run", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
    assert_eq!(yard.git(&["show", "main:code.txt"]), "mine\n", "what it had committed stays: {}", said(&ended));
    assert!(yard.git(&["for-each-ref", "refs/piton/snapshots"]).contains("story-S-1"), "{}", said(&ended));
}

/// A worker records its task, and git takes the tick back before it ends.
fn is_done_once(act: fn(&Yard)) {
    let hook = r#"keep "$step"; "$PITON" step "$PITON_UNIT" done "$step"; if [ "$step" = a ]; then hold a; fi; exit 0"#;
    let yard = yard(hook, "", &[("plans/p/plan.md", PLAN)]);
    let ended = meanwhile(&yard, &["run", "plan:p", "--yes"], "a", || {
        sibling_is_done(&yard);
        act(&yard);
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!(workers(&yard).iter().filter(|step| *step == "a").count(), 1, "{}", said(&ended));
}

#[test]
fn task_whose_tick_is_discarded_before_its_worker_ends_is_done_once() {
    is_done_once(|yard| drop(yard.git(&["checkout", "-q", "."])));
}

#[test]
fn task_whose_tick_is_stashed_before_its_worker_ends_is_done_once() {
    is_done_once(|yard| drop(yard.git(&["stash", "-q"])));
}

#[test]
fn box_that_its_user_opens_as_git_has_it_is_done_again_when_the_ticks_are_committed() {
    let hook = r#"keep "$step"; "$PITON" step "$PITON_UNIT" done "$step"; if [ "$step" = a ]; then hold a; fi; exit 0"#;
    let yard = yard(hook, "", &[("plans/p/plan.md", PLAN)]);
    let count = || workers(&yard).iter().filter(|step| *step == "a").count();
    let ended = meanwhile(&yard, &["run", "plan:p", "--yes"], "a", || {
        sibling_is_done(&yard);
        yard.workspace.write("plans/p/plan.md", PLAN);
        yard.git(&["status"]);
    });
    let told = "it is ticked again; to have it done again, commit the plan with its ticks, and untick it then\n";
    assert!(ended.code == Some(0) && said(&ended).contains(told), "{}", said(&ended));
    assert_eq!(count(), 1);
    yard.commit("with its ticks");
    yard.workspace.write("plans/p/plan.md", yard.text("plans/p/plan.md").replace("[x] A", "[ ] A"));
    yard.git(&["status"]);
    let ended = yard.run(&["run", "plan:p", "--yes"]);
    assert_eq!(count(), 2, "{}", said(&ended));
}

/// A sibling that records something makes the text another one than git has.
fn sibling_is_done(yard: &Yard) {
    let told = || fs::read_to_string(yard.workspace.path(".piton/run/runs/1/events.jsonl")).unwrap_or_default();
    let is_done = || told().lines().any(|line| line.contains("\"event\":\"done\"") && line.contains("plan:p b"));
    wait_for("its sibling", is_done, told);
}
