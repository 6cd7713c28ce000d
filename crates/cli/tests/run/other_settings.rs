//! A run that is continued is judged by its own gates: not by those of another branch, nor by what a stash left.

use crate::whose_word::{is_on_main, meanwhile, said, set_hook, workers, yard};
use crate::yard::Yard;

const STORIES: &str = "[[stories]]\nid = \"S-1\"\nstages = [2, 3]\n[[stories]]\nid = \"S-2\"\nstages = [2, 3]\ntext = \"what S-2 is\"\n\
                       depends_on = [\"S-1\"]\n";

/// A run of which the first story waits for an answer; the gates of main refuse it.
fn paused(commit: bool) -> Yard {
    let hook = r#"if [ "$step$PITON_STAGE" = S-12 ] && mkdir "$MARKS/asked" 2>/dev/null; then "$PITON" block "$PITON_UNIT" --message 'which port?'; exit 0; fi"#;
    let yard = yard(hook, "", &[]);
    // What is committed is older than the run.
    let amend = "alias.old=!GIT_COMMITTER_DATE=2026-01-01T00:00:00Z git commit -q --amend --no-edit";
    yard.git(&["-c", amend, "old"]);
    yard.git(&["branch", "hotfix"]);
    yard.workspace
        .write("piton.toml", format!("{}[gates]\ntest = \"test -e never.txt\"\n{STORIES}", yard.text("piton.toml")));
    if commit {
        yard.commit("stories and a gate");
    }
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    yard.run(&["unblock", "pipeline:S-1", "--message", "80"]);
    yard
}

#[test]
fn settings_of_another_branch_continue_no_run() {
    let yard = paused(true);
    yard.git(&["checkout", "-q", "hotfix"]);
    let before = workers(&yard).len();
    for options in [&["run", "--yes"][..], &["run", "--yes", "--retry"], &["run", "--explain"]] {
        let ended = yard.piton(options);
        assert_eq!((ended.code, workers(&yard).len()), (Some(2), before), "{options:?} {}", said(&ended));
        assert!(said(&ended).contains("check it out: git checkout main; then continue: piton run"), "{}", said(&ended));
    }
    yard.git(&["checkout", "-q", "main"]);
    set_hook(&yard, "touch never.txt; git add -A");
    let ended = yard.piton(&["run"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "S-1.txt") && is_on_main(&yard, "S-2.txt"), "{}", said(&ended));
}

#[test]
fn settings_that_the_user_commits_during_a_run_continue_it() {
    let hook = r#"if [ "$step$PITON_STAGE" = S-12 ] && mkdir "$MARKS/asked" 2>/dev/null; then hold S-1; "$PITON" block "$PITON_UNIT" --message 'which port?'; exit 0; fi"#;
    let yard = yard(hook, STORIES, &[]);
    let ended = meanwhile(&yard, &["run", "--yes"], "S-1", || {
        yard.workspace.write("piton.toml", yard.text("piton.toml").replace("workers = 2", "workers = 1"));
        yard.commit("one worker is enough");
    });
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    yard.run(&["unblock", "pipeline:S-1", "--message", "80"]);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn the_same_settings_on_another_branch_continue_the_run() {
    let yard = paused(true);
    yard.git(&["checkout", "-q", "-b", "topic"]);
    set_hook(&yard, "touch never.txt; git add -A");
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "S-2.txt"), "{}", said(&ended));
}

#[test]
fn settings_that_a_stash_took_are_brought_back_as_printed() {
    let yard = paused(false);
    yard.git(&["stash", "-q"]);
    let before = workers(&yard).len();
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!((ended.code, workers(&yard).len()), (Some(2), before), "{}", said(&ended));
    assert!(said(&ended).contains("git stash pop; with --retry the run continues"), "{}", said(&ended));
    yard.git(&["stash", "pop", "-q"]);
    set_hook(&yard, "touch never.txt; git add -A");
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn paused_run_of_a_plan_leaves_the_stories_of_another_branch_alone() {
    let plan = "# P\n\n- [ ] A <!-- TASK: a -->\n";
    let yard = yard(r#"if [ "$step" = a ]; then exit 1; fi"#, "", &[]);
    yard.git(&["checkout", "-q", "-b", "dev"]);
    yard.workspace.write("plans/p/plan.md", plan);
    yard.commit("a plan");
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    yard.git(&["checkout", "-q", "main"]);
    yard.workspace
        .write("piton.toml", format!("{}[[stories]]\nid = \"S-1\"\nstages = [2, 3]\n", yard.text("piton.toml")));
    yard.commit("a story");
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
}

#[test]
fn settings_that_are_undone_in_an_editor_continue_the_run() {
    let yard = paused(false);
    let committed = yard.git(&["show", "HEAD:piton.toml"]);
    yard.workspace.write("piton.toml", format!("{committed}{STORIES}"));
    let ended = yard.piton(&["run", "--yes", "--explain"]);
    assert_eq!(ended.code, Some(0), "the user edited it: {}", said(&ended));
    yard.commit("stories");
    yard.workspace.write("piton.toml", format!("{committed}# later\n{STORIES}"));
    set_hook(&yard, r#""$PITON" block "$PITON_UNIT" --message 'which disk?'; exit 0"#);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    yard.run(&["unblock", "pipeline:S-1", "--message", "the small one"]);
    set_hook(&yard, "");
    yard.workspace.write("piton.toml", format!("{committed}{STORIES}"));
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}
