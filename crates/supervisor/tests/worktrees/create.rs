use std::fs;
use std::os::unix::fs::symlink;

use piton_supervisor::{Creation, ExistingBranch, NewWorktree};

use crate::repository::{Scratch, commit, git, plant_hook, read, ready, wanted, write};

#[test]
fn a_worktree_is_made_on_its_branch_and_taken_as_it_is_the_next_time() {
    let scratch = Scratch::new();
    let trace = plant_hook(&scratch.root, "post-checkout");
    let made = scratch.story();
    assert_eq!(made.path, scratch.root.join(".worktrees/story-7"));
    assert!(!made.was_there);
    assert_eq!(git(&made.path, &["branch", "--show-current"]), "feature/7-login");
    assert!(!trace.exists(), "a hook of the repository ran");
    write(&made.path.join("new.txt"), "work\n");
    let again = scratch.story();
    assert!(again.was_there);
    assert_eq!(read(&again.path.join("new.txt")), "work\n");
    assert_eq!(git(&scratch.root, &["status", "--porcelain"]), "", "the user does not see it as untracked");
}

#[test]
fn branch_of_a_person_is_not_adopted() {
    let scratch = Scratch::new();
    git(&scratch.root, &["branch", "feature/7-login"]);
    let path = scratch.story().path;
    write(&path.join("b.txt"), "b\n");
    let work = commit(&path, "work");
    git(&scratch.root, &["worktree", "remove", path.to_str().expect("it is text")]);
    let unknown = wanted("story-7", "feature/7-login");
    let exists = |tip: &str, is_merged| {
        Creation::Exists(ExistingBranch { branch: "feature/7-login".to_owned(), tip: tip.to_owned(), is_merged })
    };
    assert_eq!(scratch.repository.create(&unknown).expect("git answers"), exists(&work, false));
    assert!(!path.exists());
    let known = NewWorktree { is_known: true, ..unknown.clone() };
    assert_eq!(git(&ready(scratch.repository.create(&known).expect("git answers")).path, &["rev-parse", "HEAD"]), work);
    git(&scratch.root, &["worktree", "remove", path.to_str().expect("it is text")]);
    git(&scratch.root, &["merge", "--quiet", "--no-ff", "-m", "merged", "feature/7-login"]);
    assert_eq!(scratch.repository.create(&unknown).expect("git answers"), exists(&work, true));
}

#[test]
fn directory_that_was_removed_comes_back() {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    fs::remove_dir_all(&path).expect("it is ours");
    assert!(!scratch.repository.worktrees().expect("git lists them")[0].is_there);
    let again = scratch.story();
    assert!(!again.was_there);
    assert!(path.join("a.txt").exists());
}

#[test]
fn what_a_killed_git_left_unfinished_is_set_aside() {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    // As git leaves it when it is killed while it writes files.
    fs::remove_file(path.join("a.txt")).expect("it is ours");
    write(&scratch.root.join(".git/worktrees/story-7/locked"), "initializing");
    let again = scratch.story();
    assert!(!again.was_there);
    assert!(path.join("a.txt").exists());
    assert!(path.with_extension("unfinished-1").join(".gitignore").exists());
}

#[test]
fn what_is_in_the_way_is_named() {
    let scratch = Scratch::new();
    scratch.story();
    write(&scratch.root.join(".worktrees/taken/file"), "mine\n");
    symlink("/tmp", scratch.root.join("out")).expect("a link can be made");
    let in_main = NewWorktree { branch: "main".to_owned(), ..wanted("story-8", "") };
    let with_path = |path: &str| NewWorktree { path: path.into(), ..wanted("", "feature/8") };
    for (wanted, want) in [
        (wanted("story-7", "feature/other"), "has feature/7-login checked out, not feature/other"),
        (wanted("story-8", "feature/7-login"), "feature/7-login is checked out in"),
        (wanted("taken", "feature/8"), "something else is in the way"),
        (wanted("story-8", "--force"), "not the name of a branch: --force"),
        (wanted("story-8", "a..b"), "not the name of a branch: a..b"),
        (
            NewWorktree { base: "nowhere".to_owned(), ..wanted("story-8", "feature/8") },
            "no such branch or commit: nowhere",
        ),
        (with_path("../outside"), "a worktree has to be below the workspace"),
        (with_path("/tmp/outside"), "a worktree has to be below the workspace"),
        (with_path("out/side"), "a link is in the way"),
        (with_path(""), "a worktree has to be below the workspace"),
        (in_main, "main"),
    ] {
        let error = scratch.repository.create(&wanted).expect_err("it is refused");
        assert!(error.to_string().contains(want), "{wanted:?}: {error}");
    }
    assert_eq!(read(&scratch.root.join(".worktrees/taken/file")), "mine\n");
}
