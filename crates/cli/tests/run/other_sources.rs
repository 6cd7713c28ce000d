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
    // git compares seconds: an edit within the second of its own look is no edit.
    let file = std::fs::File::options().write(true).open(yard.workspace.path("piton.toml")).expect("it is there");
    file.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(5)).expect("it can be set");
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn settings_whose_edit_is_discarded_between_leads_continue_the_run() {
    // The user undoes it in an editor and looks at git's status, or discards it with git.
    let acts: [fn(&Yard, &str); 2] = [
        |yard, before| {
            yard.workspace.write("piton.toml", before);
            yard.git(&["status"]);
        },
        |yard, _| drop(yard.git(&["checkout", "-q", "piton.toml"])),
    ];
    for act in acts {
        let yard = paused(true);
        let before = yard.text("piton.toml").replace("test -e never.txt", "true");
        yard.workspace.write("piton.toml", &before);
        yard.commit("a gate that passes");
        yard.workspace.write("piton.toml", before.replace("what S-2 is", "what S-2 was"));
        set_hook(&yard, r#""$PITON" block "$PITON_UNIT" --message 'which disk?'; exit 0"#);
        assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
        yard.run(&["unblock", "pipeline:S-1", "--message", "the small one"]);
        set_hook(&yard, "cat > \"$MARKS/told-$step\"");
        act(&yard, &before);
        let ended = yard.run(&["run", "--yes"]);
        let told = std::fs::read_to_string(yard.outer("marks/told-S-2")).expect("a prompt");
        assert!(told.contains("what S-2 is"), "{told}{}", said(&ended));
    }
}

#[test]
fn every_door_names_the_stash_that_has_the_settings() {
    let yard = paused(false);
    yard.git(&["stash", "-q"]);
    let way = "piton.toml is in the stash: git stash pop; then continue: piton run --retry";
    for words in [&["status"][..], &["why", "pipeline:S-1"]] {
        let shown = yard.run(words).stdout;
        assert!(shown.contains(way), "{words:?}: {shown}");
    }
    yard.git(&["stash", "pop", "-q"]);
    set_hook(&yard, "touch never.txt; git add -A");
    yard.run(&["run", "--yes", "--retry"]);
}

#[test]
fn settings_that_were_edited_before_they_were_stashed_are_brought_back() {
    let yard = paused(false);
    yard.workspace.write("piton.toml", format!("{}# a thought\n", yard.text("piton.toml")));
    yard.git(&["stash", "-q"]);
    let ended = yard.piton(&["run", "--yes"]);
    assert!(ended.code == Some(2) && said(&ended).contains("git stash pop"), "{}", said(&ended));
    yard.git(&["stash", "pop", "-q"]);
    set_hook(&yard, "touch never.txt; git add -A");
    yard.run(&["run", "--yes"]);
}

#[test]
fn settings_in_an_older_stash_are_brought_back_as_printed() {
    let yard = paused(false);
    yard.git(&["stash", "-q"]);
    yard.workspace.write("README.md", "another thought\n");
    yard.git(&["stash", "-q"]);
    let ended = yard.piton(&["run", "--yes"]);
    let way = "git stash pop 'stash@{1}'";
    assert!(ended.code == Some(2) && said(&ended).contains(way), "{}", said(&ended));
    assert!(yard.run(&["status"]).stdout.contains(way));
    yard.git(&["stash", "pop", "-q", "stash@{1}"]);
    set_hook(&yard, "touch never.txt; git add -A");
    yard.run(&["run", "--yes"]);
}

const ASKS: &str = r#"if [ "$step$PITON_STAGE" = S-12 ] && mkdir "$MARKS/asked" 2>/dev/null; then hold S-1; "$PITON" block "$PITON_UNIT" --message 'which port?'; exit 0; fi"#;

#[test]
fn settings_that_are_pulled_during_a_run_continue_it() {
    let yard = yard(ASKS, STORIES, &[]);
    // A teammate committed it before the run began.
    yard.git(&["checkout", "-q", "-b", "teammate"]);
    yard.workspace.write("piton.toml", format!("{}[project]\nname = \"shop\"\n", yard.text("piton.toml")));
    yard.commit("name the project");
    let dated = "alias.old=!GIT_COMMITTER_DATE=2026-01-01T00:00:00Z git commit -q --amend --no-edit";
    yard.git(&["-c", dated, "old"]);
    yard.git(&["checkout", "-q", "main"]);
    let ended = meanwhile(&yard, &["run", "--yes"], "S-1", || {
        yard.git(&["merge", "-q", "--ff-only", "teammate"]);
    });
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    yard.run(&["unblock", "pipeline:S-1", "--message", "80"]);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn gate_that_comes_back_with_a_revert_judges() {
    let gates = "[gates]\nreview = \"test -e reviewed.txt\"\n";
    let yard = yard("exit 1", &format!("{STORIES}{gates}"), &[]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    yard.workspace.write("piton.toml", yard.text("piton.toml").replace(gates, ""));
    yard.commit("no review for now");
    set_hook(&yard, r#"if [ "$step$PITON_STAGE" = S-12 ]; then hold S-1; fi"#);
    let ended = meanwhile(&yard, &["run", "--yes", "--retry"], "S-1", || {
        yard.git(&["revert", "--no-edit", "HEAD"]);
    });
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(said(&ended).contains("gates changed during the run: review"), "{}", said(&ended));
    assert!(!is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
}

#[test]
fn gate_that_the_base_gets_while_another_branch_is_checked_out_judges_as_printed() {
    let yard = yard(r#"if [ "$step$PITON_STAGE" = S-12 ]; then hold S-1; fi"#, STORIES, &[]);
    yard.git(&["branch", "lint"]);
    yard.git(&["worktree", "add", "-q", "../elsewhere", "lint"]);
    let elsewhere = yard.outer("elsewhere");
    let ended = meanwhile(&yard, &["run", "--yes"], "S-1", || {
        yard.git(&["checkout", "-q", "-b", "topic"]);
        let settings = format!("{}[gates]\nlint = \"test -e README.md\"\n", yard.text("piton.toml"));
        std::fs::write(elsewhere.join("piton.toml"), settings).expect("it can be written");
        let there = elsewhere.display().to_string();
        yard.git(&["-C", &there, "commit", "-q", "-am", "lint judges too"]);
        yard.git(&["branch", "-f", "main", "lint"]);
    });
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let next =
        "piton.toml is another on main, which is not checked out: git checkout main; then continue: piton run --retry";
    for doors in [said(&ended), said(&yard.piton(&["status"]))] {
        assert!(doors.contains(next), "{doors}");
    }
    yard.git(&["checkout", "-q", "main"]);
    yard.run(&["approve"]);
    let ended = yard.piton(&["run", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(said(&ended).contains("gate lint passed"), "{}", said(&ended));
}

const SPEC: &str = "---\nprd: PRD-009\ntitle: x\nworkstreams:\n  WS1:\n    name: one\n    outputs: [WS1.txt]\n";

#[test]
fn specification_of_another_branch_continues_no_build() {
    let old = format!("{SPEC}execution_phases:\n  - name: one\n    parallel: [WS1]\n---\n");
    let new = format!(
        "{SPEC}  WS2:\n    name: two\n    outputs: [WS2.txt]\nexecution_phases:\n  - name: one\n    parallel: [WS1, WS2]\n---\n"
    );
    let yard = yard("exit 1", "", &[("EXECUTION-SPEC-PRD-009.md", &old)]);
    yard.git(&["branch", "old"]);
    yard.workspace.write("EXECUTION-SPEC-PRD-009.md", &*new);
    yard.commit("two workstreams");
    let run = ["run", "EXECUTION-SPEC-PRD-009.md", "--yes", "--retry"];
    assert_eq!(yard.piton(&run).code, Some(4));
    set_hook(&yard, "");
    yard.git(&["checkout", "-q", "old"]);
    let ended = yard.piton(&run);
    assert_eq!(ended.code, Some(2), "{}", said(&ended));
    let hint = "check it out: git checkout main; then continue: piton run EXECUTION-SPEC-PRD-009.md --yes --retry";
    assert!(said(&ended).contains(hint), "{}", said(&ended));
    yard.git(&["checkout", "-q", "main"]);
    let ended = yard.piton(&run);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "WS1.txt") && is_on_main(&yard, "WS2.txt"), "{}", said(&ended));
}

#[test]
fn specification_of_another_branch_judges_no_build_that_is_led() {
    let spec = format!(
        "{SPEC}execution_phases:\n  - name: one\n    parallel: [WS1]\n    gates: [size]\ngates:\n  size:\n    command: COMMAND\n---\n"
    );
    let yard = yard("hold WS1", "", &[("EXECUTION-SPEC-PRD-009.md", &spec.replace("COMMAND", "test -s never.txt"))]);
    yard.git(&["branch", "old"]);
    yard.workspace.write("EXECUTION-SPEC-PRD-009.md", spec.replace("COMMAND", "test -s WS1.txt"));
    yard.commit("another command");
    let ended = meanwhile(&yard, &["run", "EXECUTION-SPEC-PRD-009.md", "--yes"], "WS1", || {
        yard.git(&["checkout", "-q", "old"]);
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "WS1.txt"), "{}", said(&ended));
}

#[test]
fn retry_says_that_it_continues_with_what_git_put_in_place() {
    let yard = yard("exit 1", STORIES, &[]);
    yard.workspace.write("piton.toml", format!("{}[gates]\nlint = \"true\"\n", yard.text("piton.toml")));
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    yard.git(&["stash", "-q"]);
    set_hook(&yard, "");
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(2));
    let ended = yard.piton(&["run", "--yes", "--retry"]);
    assert!(said(&ended).contains("piton.toml is an earlier version, which git put there"), "{}", said(&ended));
}
