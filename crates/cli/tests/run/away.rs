//! Documents that git takes away or back for a while: a stash, another branch, a discarded change. What is done stays done,
//! and what is printed brings a document back.

use std::fs;

use crate::whose_word::{is_on_main, meanwhile, said, set_hook, workers, yard};
use crate::yard::{Yard, finish, wait_for};

const SPEC: &str = "docs/EXECUTION-SPEC-PRD-090.md";

const BUILD: &str = "---\nprd: PRD-090\nworkstreams:\n  WS1:\n    name: Floor\n    outputs: [WS1.txt]\n  WS2:\n    name: Walls\n    \
                     outputs: [WS2.txt]\nexecution_phases:\n  - name: Ground\n    parallel: [WS1]\n  - name: Rest\n    \
                     parallel: [WS2]\n---\n# A shed\n";

const PLAN: &str = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n- [ ] B <!-- TASK: b -->\n\
                    - [ ] It holds <!-- ACCEPT: ok -->\n\n## Two\n<!-- CHECKPOINT: two -->\n- [ ] C <!-- TASK: c -->\n";

const STORY: &str = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";

const TASK: &str = "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\ntitle = \"T1\"\nsubtasks = [\"one\", \"two\"]\n";

fn count(yard: &Yard, step: &str) -> usize {
    workers(yard).iter().filter(|known| *known == step).count()
}

/// A repository in which documents are committed or at least not ignored.
fn with_documents(hook: &str, more: &str, files: &[(&str, &str)]) -> Yard {
    let yard = yard(hook, more, files);
    yard.workspace.write(".gitignore", ".piton/\n.worktrees/\n");
    yard.commit("documents are not ignored");
    yard
}

#[test]
fn a_discarded_tick_of_collected_work_is_ticked_again() {
    for command in [&["checkout", "-q", "."][..], &["stash", "-q"]] {
        let yard = yard(
            r#"if [ "$step" = b ]; then hold b; fi"#,
            "[gates]\nok = \"test -e a.txt\"\n",
            &[("plans/p/plan.md", PLAN)],
        );
        let collected = || yard.text(".piton/run/memory.json").contains("\"is\": \"integrated\"");
        let ended = meanwhile(&yard, &["run", "plan:p", "--yes"], "b", || {
            wait_for("the work of a", collected, || yard.piton(&["status"]).stdout);
            yard.git(command);
            if command[0] == "checkout" {
                let is_ticked = || yard.text("plans/p/plan.md").contains("[x] A");
                wait_for("the tick", is_ticked, || yard.piton(&["status"]).stdout);
            }
        });
        assert_eq!((ended.code, count(&yard, "a")), (Some(0), 1), "{command:?} {}", said(&ended));
        assert!(yard.text("plans/p/plan.md").contains("[x] A"), "{}", yard.text("plans/p/plan.md"));
    }
}

#[test]
fn work_whose_merge_was_in_the_way_is_merged_after_a_stash() {
    let hook = r#"if [ "$step" = b ]; then echo worker > README.md; fi"#;
    let yard = yard(hook, "[gates]\nok = \"test -e a.txt\"\n", &[("plans/p/plan.md", PLAN)]);
    yard.workspace.write("README.md", "an edit of the user\n");
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    yard.git(&["stash", "-q"]);
    let ended = yard.piton(&["run", "plan:p", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!((count(&yard, "a"), count(&yard, "b")), (1, 1), "{}", said(&ended));
}

#[test]
fn a_rebased_merge_is_on_the_base() {
    let hook = r#"if [ "$step" = c ] && [ -e "$MARKS/fails" ]; then exit 1; fi"#;
    let yard = yard(hook, "", &[("plans/p/plan.md", PLAN)]);
    fs::write(yard.outer("marks/fails"), "").expect("it can be written");
    let first = yard.git(&["rev-parse", "HEAD"]).trim().to_owned();
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    // A colleague's commit is below the merges now.
    yard.git(&["branch", "-q", "colleague", &first]);
    yard.git(&["stash", "-q"]);
    yard.git(&["checkout", "-q", "colleague"]);
    yard.workspace.write("colleague.txt", "x\n");
    yard.commit("of a colleague");
    yard.git(&["checkout", "-q", "main"]);
    yard.git(&["rebase", "-q", "colleague"]);
    yard.git(&["stash", "drop", "-q"]);
    assert!(yard.text("plans/p/plan.md").contains("[ ] A"), "git has the plan without ticks");
    fs::remove_file(yard.outer("marks/fails")).expect("it is there");
    let ended = yard.piton(&["run", "plan:p", "--yes", "--retry"]);
    assert_eq!((count(&yard, "a"), count(&yard, "b")), (1, 1), "{}", said(&ended));
}

/// A build of which the first phase is done, and whose checkpoint is in the stash.
fn stashed_build() -> Yard {
    let yard = with_documents(r#"if [ "$step" = WS2 ]; then hold WS2; fi"#, "", &[(SPEC, BUILD)]);
    let ended = meanwhile(&yard, &["run", SPEC, "--yes"], "WS2", || {
        yard.git(&["stash", "-u", "-q"]);
    });
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(
        said(&ended).contains("its document is in the stash: git stash pop; then continue: piton run"),
        "{}",
        said(&ended)
    );
    yard
}

#[test]
fn a_build_whose_checkpoint_is_gone_is_brought_back_as_printed() {
    let yard = stashed_build();
    // No retry begins it anew.
    let ended = yard.piton(&["run", SPEC, "--yes", "--retry"]);
    assert_eq!((ended.code, count(&yard, "WS1")), (Some(4), 1), "{}", said(&ended));
    let status = yard.run(&["status"]).stdout;
    assert!(status.contains("git stash pop; then continue: piton run"), "{status}");
    yard.git(&["stash", "drop", "-q"]);
    let status = yard.run(&["status"]).stdout;
    assert!(status.contains("piton repair build:PRD-090 && piton run"), "{status}");
    yard.run(&["repair", "build:PRD-090"]);
    let ended = yard.piton(&["run", SPEC, "--yes", "--retry"]);
    assert_eq!((ended.code, count(&yard, "WS1")), (Some(0), 1), "{}", said(&ended));
    assert!(is_on_main(&yard, "WS2.txt"), "{}", said(&ended));
}

#[test]
fn a_plan_that_went_with_a_stash_is_brought_back_as_printed() {
    let yard = with_documents(r#"if [ "$step" = c ]; then hold c; fi"#, "", &[]);
    yard.workspace.write("plans/p/plan.md", PLAN.replace("- [ ] It holds <!-- ACCEPT: ok -->\n", ""));
    let ended = meanwhile(&yard, &["run", "plan:p", "--yes"], "c", || {
        yard.git(&["stash", "-u", "-q"]);
    });
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let status = yard.run(&["status"]).stdout;
    assert!(status.contains("git stash pop; then continue: piton run plan:p --retry"), "{status}");
    assert!(said(&ended).contains("piton log plan:p"), "{}", said(&ended));
    yard.run(&["log", "plan:p"]);
    let refused = yard.piton(&["run", "plan:p", "--yes", "--retry"]);
    assert!(said(&refused).contains("git stash pop; then continue: piton run plan:p"), "{}", said(&refused));
    yard.git(&["stash", "pop", "-q"]);
    let ended = yard.piton(&["run", "plan:p", "--retry"]);
    assert_eq!((ended.code, count(&yard, "a")), (Some(0), 1), "{}", said(&ended));
}

#[test]
fn a_run_whose_plan_was_given_up_is_over() {
    let yard = yard(r#"[ "$step" = c ] && exit 1"#, "", &[("plans/p/plan.md", PLAN)]);
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    assert!(yard.run(&["status"]).stdout.contains("run 1 was paused"));
    yard.git(&["rm", "-r", "-q", "-f", "plans/p"]);
    yard.commit("given up");
    assert!(!yard.run(&["status"]).stdout.contains("run 1"), "{}", yard.run(&["status"]).stdout);
}

#[test]
fn a_stash_under_a_living_lead_does_not_take_back_what_a_story_did() {
    let hook = r#"if [ "$PITON_STAGE" = 2 ]; then
  : > "$MARKS/began"; while [ ! -e "$MARKS/committed" ]; do sleep 0.02; done
  keep S-1; "$PITON" step "$PITON_UNIT" done S-1; hold S-1; exit 0
fi"#;
    let yard = with_documents(hook, STORY, &[]);
    let shown = || yard.piton(&["status"]).stdout;
    let ended = {
        let lead = yard.command(&["run", "--yes"]).spawn().expect("it starts");
        wait_for("the worker", || yard.outer("marks/began").exists(), shown);
        yard.commit("work of the day");
        fs::write(yard.outer("marks/committed"), "").expect("it can be written");
        wait_for("the record", || yard.outer("marks/held-S-1").exists(), shown);
        yard.workspace.write("README.md", "an edit of the user\n");
        yard.git(&["stash", "-q"]);
        fs::write(yard.outer("marks/go"), "").expect("it can be written");
        finish(lead)
    };
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!(count(&yard, "S-1"), 2, "one worker for each stage: {}", said(&ended));
}

#[test]
fn finished_work_stays_done_while_its_record_is_away() {
    for (more, files, wanted) in
        [(STORY, &[][..], &["run", "--yes"][..]), ("", &[("tasks.toml", TASK)], &["run", "tasks.toml", "--yes"])]
    {
        let yard = with_documents("", more, files);
        let ended = yard.piton(wanted);
        assert_eq!(ended.code, Some(0), "{}", said(&ended));
        let before = workers(&yard).len();
        yard.git(&["stash", "-u", "-q"]);
        let ended = yard.piton(wanted);
        assert_eq!((ended.code, workers(&yard).len()), (Some(0), before), "{wanted:?} {}", said(&ended));
    }
}

/// A story that was merged, and whose user took the merge and its record off the base.
fn taken_off() -> Yard {
    let yard = with_documents("", STORY, &[]);
    let first = yard.git(&["rev-parse", "HEAD"]).trim().to_owned();
    set_hook(&yard, r#"if [ "$PITON_STAGE" = 3 ]; then hold judge; fi"#);
    let ended = meanwhile(&yard, &["run", "--yes"], "judge", || yard.commit("work of the day"));
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    let before = yard.git(&["rev-parse", "main^1"]).trim().to_owned();
    assert_ne!(before, first);
    yard.git(&["reset", "-q", "--hard", &before]);
    yard
}

#[test]
fn a_story_whose_merge_was_taken_off_the_base_is_asked_about() {
    let yard = taken_off();
    let (count, ended) = (workers(&yard).len(), yard.piton(&["run", "--yes"]));
    assert_eq!((ended.code, workers(&yard).len()), (Some(4), count), "{}", said(&ended));
    assert!(said(&ended).contains("is not on main; merge it again: piton run --retry"), "{}", said(&ended));
    assert!(!is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
    let ended = yard.piton(&["run", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
}

#[test]
fn a_phase_that_was_taken_off_the_base_is_built_again() {
    let gates = "gates:\n  ok:\n    command: test -e WS1.txt\n";
    let spec = BUILD.replace("    parallel: [WS1]\n", "    parallel: [WS1]\n    gates: [ok]\n");
    let spec = spec.replace("---\n# A shed", &format!("{gates}---\n# A shed"));
    let yard = yard("", "", &[(SPEC, &spec)]);
    yard.run(&["approve", SPEC]);
    let before = yard.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let ended = yard.piton(&["run", SPEC]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    yard.git(&["reset", "-q", "--hard", &before]);
    yard.piton(&["approve", "build:PRD-090"]);
    let mut ended = yard.piton(&["run", SPEC]);
    for _ in 0..3 {
        if ended.code == Some(0) {
            break;
        }
        yard.piton(&["approve", "build:PRD-090"]);
        ended = yard.piton(&["run", SPEC, "--retry"]);
    }
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "WS1.txt") && is_on_main(&yard, "WS2.txt"), "{}", said(&ended));
}

#[test]
fn finished_story_whose_checkpoint_is_stashed_is_done_although_an_older_state_lists_it() {
    let story = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";
    let yard = yard("exit 1", story, &[]);
    yard.workspace.write(".gitignore", yard.text(".gitignore").replace(".pipeline/\n", ""));
    yard.commit("documents are kept");
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    yard.git(&["add", ".pipeline/state.json"]);
    yard.git(&["commit", "-qm", "the state of the evening"]);
    set_hook(&yard, "");
    yard.run(&["run", "--yes", "--retry"]);
    let before = workers(&yard).len();
    yard.git(&["stash", "-q", "-u"]);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!((ended.code, workers(&yard).len()), (Some(0), before), "{}", said(&ended));
}
