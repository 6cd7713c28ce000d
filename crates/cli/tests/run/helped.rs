//! What a user does to help a worker that failed reaches its worktree: commits on the base, and files that are copied.

use std::fs;

use crate::whose_word::{is_on_main, said, set_hook, workers, yard};
use crate::yard::Yard;

const STORY: &str = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";

const COPY: &str = "[worktree]\ncopy = [\".env\"]\n";

/// A story whose worker needs a key in a file that git ignores.
fn with_env(hook: &str, env: Option<&str>) -> Yard {
    let yard = yard(hook, &format!("{COPY}{STORY}"), &[]);
    yard.workspace.write(".gitignore", format!("{}.env\n", yard.text(".gitignore")));
    yard.commit("the environment is ignored");
    if let Some(env) = env {
        yard.workspace.write(".env", env);
    }
    yard
}

#[test]
fn commit_on_the_base_reaches_a_worktree_without_commits() {
    let yard = yard("test -e fixture.txt || exit 1", STORY, &[]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    yard.workspace.write("fixture.txt", "x\n");
    yard.commit("the missing fixture");
    let ended = yard.piton(&["run", "--retry"]);
    assert_eq!((ended.code, workers(&yard).len()), (Some(0), 3), "{}", said(&ended));
    assert!(is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
}

#[test]
fn commit_on_the_base_reaches_a_worker_whose_sibling_is_collected() {
    let spec = "---\nprd: PRD-097\nprd_title: A gate\nworkstreams:\n  WS1: {name: One, outputs: [WS1.txt]}\n  \
                WS2: {name: Two, outputs: [WS2.txt]}\nexecution_phases:\n  - {name: All, parallel: [WS1, WS2], \
                gates: [both]}\ngates:\n  both: {command: test -e WS1.txt -a -e WS2.txt -a -e fixture.txt}\n---\n# A gate\n";
    let hook = "[ $step = WS1 ] || test -e fixture.txt || exit 1";
    let yard = yard(hook, "", &[("docs/EXECUTION-SPEC-PRD-097.md", spec)]);
    assert_eq!(yard.piton(&["run", "build:PRD-097", "--yes"]).code, Some(4));
    yard.workspace.write("fixture.txt", "x\n");
    yard.commit("the missing fixture");
    let ended = yard.piton(&["run", "build:PRD-097", "--retry"]);
    assert_eq!((ended.code, workers(&yard).len()), (Some(0), 3), "{}", said(&ended));
    assert!(is_on_main(&yard, "WS1.txt") && is_on_main(&yard, "WS2.txt"), "{}", said(&ended));
}

#[test]
fn worker_with_commits_of_its_own_is_told_what_the_base_has_since() {
    let yard = yard("test -e half.txt || keep half; test -e fixture.txt || exit 1", STORY, &[]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    yard.workspace.write("fixture.txt", "x\n");
    yard.commit("the missing fixture");
    // What the prompt says.
    set_hook(&yard, "if [ \"$PITON_STAGE\" = 2 ]; then git merge -q --no-edit main; fi; test -e fixture.txt || exit 1");
    let ended = yard.piton(&["run", "--retry"]);
    let prompt = yard.text(".piton/run/prompts/S-1-2.md");
    assert!(prompt.contains("main has commits that your branch does not have"), "{prompt}");
    assert!(prompt.contains("the missing fixture") && prompt.contains("\n    git merge main\n"), "{prompt}");
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
}

#[test]
fn copied_file_that_the_user_creates_or_corrects_reaches_the_worktree() {
    for env in [None, Some("OTHER=1\n")] {
        let yard = with_env("grep -q KEY .env || exit 1", env);
        assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
        yard.workspace.write(".env", "OTHER=1\nKEY=1\n");
        let ended = yard.piton(&["run", "--retry"]);
        assert_eq!((ended.code, workers(&yard).len()), (Some(0), 3), "{env:?} {}", said(&ended));
    }
}

#[test]
fn copied_file_that_a_worker_changed_stays_and_is_named() {
    let yard = with_env("echo OWN=1 >> .env; exit 1", Some("OTHER=1\n"));
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    yard.workspace.write(".env", "OTHER=2\n");
    set_hook(&yard, "cp .env \"$MARKS/env\"");
    let ended = yard.piton(&["run", "--retry"]);
    let want = ".worktrees/story-S-1/.env is another file than .env of the workspace, and stays";
    assert!(said(&ended).contains(want), "{}", said(&ended));
    let seen = fs::read_to_string(yard.outer("marks/env")).expect("the worker copied it");
    assert_eq!((ended.code, seen.as_str()), (Some(0), "OTHER=1\nOWN=1\n"), "{}", said(&ended));
}

#[test]
fn copied_file_that_the_set_up_changed_gets_the_users_correction_and_is_set_up_again() {
    let yard = with_env("grep -q KEY .env || exit 1; cp .env \"$MARKS/env\"", Some("OTHER=1\n"));
    let settings = yard.text("piton.toml").replace(COPY, &format!("{COPY}setup = \"echo PORT=4711 >> .env\"\n"));
    assert!(settings.contains("setup"), "{settings}");
    yard.workspace.write("piton.toml", settings);
    yard.commit("a port for each worktree");
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    yard.workspace.write(".env", "OTHER=1\nKEY=1\n");
    let ended = yard.piton(&["run", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    let seen = fs::read_to_string(yard.outer("marks/env")).expect("the worker copied it");
    assert_eq!(seen, "OTHER=1\nKEY=1\nPORT=4711\n");
}

#[test]
fn copied_file_is_not_written_through_a_link_of_the_branch() {
    let yard = with_env("grep -q KEY .env || exit 1", Some("KEY=1\n"));
    let outside = yard.outer("outside");
    fs::write(&outside, "theirs\n").expect("it can be written");
    // The base has a link where the user has their own file.
    fs::remove_file(yard.workspace.path(".env")).expect("it is there");
    std::os::unix::fs::symlink(&outside, yard.workspace.path(".env")).expect("a link");
    yard.git(&["add", "-f", ".env"]);
    yard.commit("a link");
    fs::remove_file(yard.workspace.path(".env")).expect("it is there");
    yard.workspace.write(".env", "KEY=1\n");
    yard.piton(&["run", "--yes"]);
    assert_eq!(fs::read_to_string(&outside).expect("it is there"), "theirs\n");
}
