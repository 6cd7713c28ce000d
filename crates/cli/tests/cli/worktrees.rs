//! `worktrees`: what is in them is listed, cleaned up only when nothing is lost, and brought back.

use std::fs;
use std::process::Command;

use insta::assert_snapshot;

use crate::support::Workspace;
use crate::support::fixtures::{BUILDS, build};
use crate::support::harbour::put;

fn git(workspace: &Workspace, directory: &str, arguments: &[&str]) {
    let output = Command::new("git")
        .arg("-C")
        .arg(workspace.path(directory))
        .args(["-c", "user.name=U", "-c", "user.email=u@example.org"])
        .args(arguments)
        .output()
        .expect("there is git");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A repository with four worktrees: a story in work, one that is merged, and two of the user's own, one of them in the
/// place of Piton's.
fn repository() -> Workspace {
    let workspace = Workspace::new();
    fs::remove_dir(workspace.path(".git")).expect("it is empty");
    git(&workspace, "", &["init", "--quiet", "-b", "main"]);
    workspace.write("a.txt", "a\n").write(".gitignore", "/.worktrees/\n");
    git(&workspace, "", &["add", "--all"]);
    git(&workspace, "", &["commit", "--quiet", "--message", "first"]);
    for (path, branch) in [
        (".worktrees/story-7", "feature/7-login"),
        (".worktrees/build-PRD-009", "feature/PRD-009"),
        (".worktrees/story-9", "mine"),
        ("../hotfix", "hotfix"),
    ] {
        git(&workspace, "", &["worktree", "add", "--quiet", "-b", branch, path]);
    }
    for name in ["story-7", "build-PRD-009"] {
        // The mark of a worktree that Piton made.
        workspace.write(&format!(".git/worktrees/{name}/piton"), "branch feature\n");
    }
    workspace.write(".worktrees/story-7/b.txt", "b\n");
    git(&workspace, ".worktrees/story-7", &["add", "--all"]);
    git(&workspace, ".worktrees/story-7", &["commit", "--quiet", "--message", "work"]);
    workspace.write(".worktrees/story-7/c.txt", "not committed\n");
    workspace
}

#[test]
fn a_worktree_is_removed_only_when_nothing_is_lost_and_comes_back() {
    let workspace = repository();
    assert_snapshot!("list", workspace.run(&["worktrees"]).exits(0).transcript());
    assert_snapshot!("list_json", workspace.run(&["worktrees", "--json"]).exits(0).transcript());
    assert_snapshot!("rehearsal", workspace.run(&["worktrees", "clean", "--dry-run"]).exits(0).transcript());
    assert!(workspace.path(".worktrees/build-PRD-009").exists());
    assert_snapshot!("cleaned", workspace.run(&["worktrees", "clean"]).exits(0).transcript());
    assert!(!workspace.path(".worktrees/build-PRD-009").exists());
    assert!(workspace.path(".worktrees/story-7/c.txt").exists());
    assert!(workspace.path("../hotfix/a.txt").exists());
    assert!(workspace.path(".worktrees/story-9/a.txt").exists());
    assert_snapshot!("list_gone", workspace.run(&["worktrees"]).exits(0).transcript());
    assert_snapshot!("restored", workspace.run(&["worktrees", "restore", "build-PRD-009"]).exits(0).transcript());
    assert!(workspace.path(".worktrees/build-PRD-009/a.txt").exists());
    let files = workspace.path("../files").display().to_string();
    workspace.run(&["worktrees", "restore", "build-PRD-009", "--to", &files]).exits(0);
    assert_eq!(fs::read_to_string(workspace.path("../files/a.txt")).expect("it is there"), "a\n");
    workspace.run(&["worktrees", "restore", "build-PRD-009", "--to", &files]).exits(1);
}

#[test]
fn a_worktree_whose_unit_is_not_done_stays() {
    let workspace = repository();
    put(&workspace, &format!("{BUILDS}/PRD-009.json"), &build("PRD-009", "Dredge the basin", "in_progress"));
    let text = workspace.run(&["worktrees", "clean"]).exits(0).stdout;
    assert!(text.contains(".worktrees/build-PRD-009  stays: build:PRD-009 is "), "{text}");
    assert!(workspace.path(".worktrees/build-PRD-009").exists());
}

#[test]
fn an_environment_for_another_repository_leads_nobody_astray() {
    let workspace = repository();
    let plain = workspace.run(&["worktrees", "--json"]).exits(0).json();
    let astray = workspace
        .call(&["worktrees", "--json"])
        .env("GIT_DIR", "/nowhere")
        .env("GIT_WORK_TREE", "/nowhere")
        .env("GIT_INDEX_FILE", "/nowhere/index")
        .env("GIT_LITERAL_PATHSPECS", "1")
        .env("LC_ALL", "de_DE.UTF-8");
    assert_eq!(astray.run().exits(0).json(), plain);
    let clean = workspace.call(&["worktrees", "clean"]).env("GIT_INDEX_FILE", "/nowhere/index");
    clean.env("GIT_LITERAL_PATHSPECS", "1").run().exits(0);
    assert!(!workspace.path(".worktrees/build-PRD-009").exists());
}

#[test]
fn what_cannot_be_done_is_said() {
    let plain = Workspace::new();
    assert_snapshot!("no_repository", plain.run(&["worktrees"]).exits(5).transcript());
    let workspace = repository();
    assert_snapshot!("no_snapshot", workspace.run(&["worktrees", "restore", "story-8"]).exits(5).transcript());
    workspace.run(&["worktrees", "clean"]).exits(0);
    assert_snapshot!("other_snapshots", workspace.run(&["worktrees", "restore", "story-8"]).exits(5).transcript());
}

#[test]
fn git_that_cannot_be_used_is_not_the_same_as_no_repository() {
    let workspace = repository();
    workspace.write("../home/.gitconfig", "[user\n");
    let home = workspace.path("../home").display().to_string();
    let broken = workspace.call(&["worktrees"]).env("HOME", &home).run().exits(1);
    assert!(broken.stderr.contains("bad config line 1 in file"), "{}", broken.stderr);
    assert!(broken.stderr.contains("hint: repair what git names"), "{}", broken.stderr);
    let missing = workspace.call(&["worktrees"]).env("PATH", "/nowhere").run().exits(1);
    assert!(missing.stderr.contains("cannot run git: it is not in PATH"), "{}", missing.stderr);
    let plain = Workspace::new();
    plain.call(&["worktrees"]).env("PATH", "/nowhere").run().exits(5);
    plain.call(&["worktrees"]).env("HOME", &home).run().exits(5);
}

#[test]
fn a_keeper_without_a_home_says_how_it_is_used() {
    let output = Command::new(env!("CARGO_BIN_EXE_piton")).arg("keep").output().expect("it can be started");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "usage: piton keep DIR\n");
    assert!(!output.status.success());
}
