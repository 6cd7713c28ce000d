//! Branches that are gone: merged by hand in whatever form, or lost. What is recorded as done is never continued on an empty
//! branch, and what is printed brings it back.

use std::fs;

use crate::whose_word::{is_on_main, said, workers, yard};
use crate::yard::{Ended, Yard};

const STORY: &str = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [0, 2, 3]\n";

const BRANCH: &str = "feature/S-1-one";

/// Plans two tasks, does the first one and asks; then does the other one.
const ASKS: &str = r#"
case $PITON_STAGE in
  0) "$PITON" step "$PITON_UNIT" begin S-1-a S-1-b; "$PITON" verdict "$PITON_UNIT" PLAN --score 4; exit 0 ;;
  2) if mkdir "$MARKS/asked" 2>/dev/null; then
       keep a; "$PITON" step "$PITON_UNIT" done S-1-a FILE; "$PITON" block "$PITON_UNIT" --message 'which port?'; exit 0
     fi
     tasks=S-1-b; if [ -e "$MARKS/all" ]; then tasks='S-1-a S-1-b'; fi
     for task in $tasks; do keep "${task#S-1-}"; "$PITON" step "$PITON_UNIT" done $task; done; exit 0 ;;
esac
"#;

/// A story of which one task is done, on a branch that is gone, and whose question is answered.
fn half_done(file: &str) -> (Yard, String) {
    let yard = yard(&ASKS.replace("FILE", file), STORY, &[]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    let tip = yard.git(&["rev-parse", BRANCH]).trim().to_owned();
    remove_branch(&yard);
    (yard, tip)
}

fn remove_branch(yard: &Yard) {
    yard.git(&["worktree", "remove", "--force", ".worktrees/story-S-1"]);
    yard.git(&["branch", "-q", "-D", BRANCH]);
}

/// Types a command of git as it was printed behind some words.
fn type_git(yard: &Yard, ended: &Ended, words: &str) {
    let text = said(ended);
    let (_, command) = text.split_once(words).unwrap_or_else(|| panic!("no {words:?} in {text}"));
    let command = command.split([';', '\n']).next().unwrap_or_default();
    yard.git(&command.split(' ').filter(|word| *word != "git").collect::<Vec<_>>());
}

#[test]
fn branch_with_recorded_work_that_is_gone_is_brought_back_as_printed() {
    let (yard, tip) = half_done("");
    yard.run(&["unblock", "pipeline:S-1", "--message", "80"]);
    let before = workers(&yard).len();
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let reason = format!(
        "its branch {BRANCH} is gone and not merged; bring it back with: git branch {BRANCH} {tip}; \
         or begin it again from nothing: piton restart pipeline:S-1"
    );
    assert!(said(&ended).contains(&reason), "{}", said(&ended));
    assert_eq!(workers(&yard).len(), before, "no worker starts: {}", said(&ended));
    type_git(&yard, &ended, "bring it back with: ");
    let ended = yard.piton(&["run", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "a.txt") && is_on_main(&yard, "b.txt"), "{}", said(&ended));
}

#[test]
fn branch_of_a_task_with_recorded_outputs_that_is_gone_is_brought_back_as_printed() {
    let task = "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\ntitle = \"T1\"\nsubtasks = [\"one\", \"two\"]\n";
    let hook = r#"
if mkdir "$MARKS/asked" 2>/dev/null; then
  keep one; "$PITON" step "$PITON_UNIT" done one --output one.txt; "$PITON" block "$PITON_UNIT" --message 'which port?'; exit 0
fi
keep two; "$PITON" step "$PITON_UNIT" done two; "$PITON" finish "$PITON_UNIT"; exit 0
"#;
    let yard = yard(hook, "", &[("tasks.toml", task)]);
    assert_eq!(yard.piton(&["run", "tasks.toml", "--yes"]).code, Some(4));
    let branch = yard.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/feature"]).trim().to_owned();
    yard.git(&["worktree", "remove", "--force", ".worktrees/task-copy-T1"]);
    yard.git(&["branch", "-q", "-D", &branch]);
    yard.run(&["unblock", "task:copy/T1", "--message", "80"]);
    let before = workers(&yard).len();
    let ended = yard.piton(&["run", "tasks.toml", "--yes"]);
    assert_eq!((ended.code, workers(&yard).len()), (Some(4), before), "{}", said(&ended));
    type_git(&yard, &ended, "bring it back with: ");
    let ended = yard.piton(&["run", "tasks.toml", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!(workers(&yard).len(), before + 1, "{}", said(&ended));
    assert!(is_on_main(&yard, "one.txt") && is_on_main(&yard, "two.txt"), "{}", said(&ended));
}

#[test]
fn story_whose_branch_is_gone_is_begun_again_as_printed() {
    let (yard, _) = half_done("");
    yard.run(&["unblock", "pipeline:S-1", "--message", "80"]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    yard.run(&["restart", "pipeline:S-1"]);
    fs::write(yard.outer("marks/all"), "").expect("it can be written");
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "a.txt") && is_on_main(&yard, "b.txt"), "{}", said(&ended));
}

#[test]
fn story_whose_half_was_merged_by_hand_continues_on_a_new_branch() {
    let (yard, tip) = half_done("");
    yard.git(&["merge", "-q", "--squash", &tip]);
    yard.commit("half of it");
    // What was merged is changed again.
    yard.workspace.write("a.txt", "another\n");
    yard.commit("changed");
    yard.run(&["unblock", "pipeline:S-1", "--message", "80"]);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(said(&ended).contains("was merged by hand and removed"), "{}", said(&ended));
    assert!(is_on_main(&yard, "b.txt") && yard.text("a.txt") == "another\n", "{}", said(&ended));
}

#[test]
fn squashed_branch_of_a_paused_story_is_merged() {
    let more = format!("[gates]\ntest = \"test -e ok.txt\"\n{}", STORY.replace("[0, 2, 3]", "[2, 3]"));
    for reworks in ["reworks = 0", "reworks = 1"] {
        let hook = r#"if [ $PITON_STAGE = 2 ]; then keep fix; "$PITON" step "$PITON_UNIT" done S-1-fix1; fi"#;
        let yard = yard(hook, &more, &[]);
        yard.workspace.write("piton.toml", yard.text("piton.toml").replace("reworks = 0", reworks));
        yard.commit("settings");
        let ended = yard.piton(&["run", "--yes"]);
        assert_eq!(ended.code, Some(4), "{}", said(&ended));
        yard.git(&["merge", "-q", "--squash", BRANCH]);
        yard.workspace.write("ok.txt", "");
        yard.commit("by a pull request, with what was missing");
        remove_branch(&yard);
        let before = workers(&yard).len();
        let ended = yard.piton(&["run", "--yes", "--retry"]);
        assert_eq!(ended.code, Some(0), "{}", said(&ended));
        assert!(workers(&yard).len() <= before + 1, "at most a judge starts: {}", said(&ended));
    }
}

#[test]
fn squashed_branch_of_a_paused_task_is_merged() {
    let task = "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\ntitle = \"T1\"\nsubtasks = [\"one\", \"two\"]\n\
                acceptance_criteria = [\"good\"]\n";
    let yard = yard("", "[gates]\ngood = \"test -e ok.txt\"\n", &[("tasks.toml", task)]);
    let ended = yard.piton(&["run", "tasks.toml", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let branch = yard.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/feature"]).trim().to_owned();
    yard.git(&["merge", "-q", "--squash", &branch]);
    yard.workspace.write("ok.txt", "");
    yard.commit("by a pull request, with what was missing");
    let trees = yard.git(&["worktree", "list", "--porcelain"]);
    let tree = trees.lines().filter_map(|line| line.strip_prefix("worktree ")).nth(1).expect("a worktree");
    yard.git(&["worktree", "remove", "--force", tree]);
    yard.git(&["branch", "-q", "-D", &branch]);
    let before = workers(&yard).len();
    let ended = yard.piton(&["run", "tasks.toml", "--yes", "--retry"]);
    assert_eq!((ended.code, workers(&yard).len()), (Some(0), before), "{}", said(&ended));
}

/// What a clone has of a story whose branch was not pushed.
fn cloned(file: &str) -> (Yard, String) {
    let hook = ASKS.replace("FILE", file);
    // What is on the base is older than the story.
    let yard = yard(&hook, STORY, &[]);
    let amend = "alias.old=!GIT_COMMITTER_DATE=2026-01-01T00:00:00Z git commit -q --amend --no-edit";
    yard.git(&["-c", amend, "old"]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    let tip = yard.git(&["rev-parse", BRANCH]).trim().to_owned();
    remove_branch(&yard);
    fs::remove_dir_all(yard.workspace.path(".piton")).expect("it is there");
    yard.run(&["unblock", "pipeline:S-1", "--message", "80"]);
    (yard, tip)
}

#[test]
fn story_that_came_without_its_branch_is_held() {
    for file in ["", "--file a.txt"] {
        let (yard, tip) = cloned(file);
        let before = workers(&yard).len();
        for options in [&["run", "--yes"][..], &["run", "--yes", "--retry"]] {
            let ended = yard.piton(options);
            assert_eq!(ended.code, Some(4), "{file}: {}", said(&ended));
            let ways = "then: git fetch --all; or begin the story again: piton restart pipeline:S-1";
            assert!(said(&ended).contains(ways), "{file}: {}", said(&ended));
            type_git(&yard, &ended, "then: ");
        }
        assert_eq!(workers(&yard).len(), before, "no worker starts");
        // Its branch was pushed and fetched.
        yard.git(&["update-ref", &format!("refs/remotes/origin/{BRANCH}"), &tip]);
        let ended = yard.piton(&["run", "--yes"]);
        assert_eq!(ended.code, Some(4), "{file}: {}", said(&ended));
        type_git(&yard, &ended, "merge it with: ");
        let ended = yard.piton(&["run", "--yes"]);
        assert_eq!(ended.code, Some(0), "{file}: {}", said(&ended));
        assert!(is_on_main(&yard, "a.txt") && is_on_main(&yard, "b.txt"), "{file}: {}", said(&ended));
    }
}

#[test]
fn story_that_came_without_its_branch_is_begun_again_as_printed() {
    let (yard, _) = cloned("--file a.txt");
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    yard.run(&["restart", "pipeline:S-1"]);
    fs::write(yard.outer("marks/all"), "").expect("it can be written");
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "a.txt") && is_on_main(&yard, "b.txt"), "{}", said(&ended));
}

#[test]
fn commits_under_another_name_or_on_a_detached_head_are_the_workers_work() {
    for leaves in ["git branch -m story/S-1", "git checkout -q --detach && keep S-1-a"] {
        let story = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";
        let yard = yard(&format!("if [ $PITON_STAGE = 2 ]; then keep first; {leaves}; fi"), story, &[]);
        let ended = yard.run(&["run", "--yes"]);
        assert!(said(&ended).contains("it is on feature/S-1-one again, with these commits"), "{}", said(&ended));
        assert!(is_on_main(&yard, "first.txt") && is_on_main(&yard, "S-1.txt"), "{leaves}: {}", said(&ended));
        assert_eq!(workers(&yard).len(), 2, "{leaves}: {}", said(&ended));
    }
}
