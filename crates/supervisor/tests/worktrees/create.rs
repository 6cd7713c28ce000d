use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use piton_supervisor::{Creation, ExistingBranch, NewWorktree};

use crate::repository::{Scratch, commit, found, git, plant_hook, read, ready, wanted, write};

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

#[test]
fn each_step_that_a_killed_lead_left_is_gone_on_from() {
    let scratch = Scratch::new();
    let first = git(&scratch.root, &["rev-parse", "main"]);
    // Only the branch was made, and the base has moved since.
    scratch.repository.create_branch("feature/7-login", &first).expect("it can be made");
    write(&scratch.root.join("more.txt"), "more\n");
    let second = commit(&scratch.root, "more");
    let made = scratch.story();
    assert_eq!(git(&made.path, &["rev-parse", "HEAD"]), second);
    assert_eq!(git(&scratch.root, &["rev-parse", "feature/7-login"]), second);
    // The worktree was made, and is neither on its branch nor marked.
    git(&made.path, &["switch", "--quiet", "--detach"]);
    fs::remove_file(scratch.root.join(".git/worktrees/story-7/piton")).expect("it is there");
    git(&scratch.root, &["worktree", "lock", "--reason", "piton: being made", ".worktrees/story-7"]);
    let again = scratch.story();
    assert!(!again.was_there);
    assert_eq!(git(&again.path, &["branch", "--show-current"]), "feature/7-login");
    assert_eq!(git(&scratch.root, &["status", "--porcelain"]), "");
}

#[test]
fn worktree_of_the_user_on_a_disk_that_is_not_mounted_is_remembered() {
    let scratch = Scratch::new();
    let disk = scratch.outer.join("disk");
    git(&scratch.root, &["worktree", "add", "--quiet", "-b", "mine", "../disk/mine"]);
    fs::rename(&disk, scratch.outer.join("unmounted")).expect("it is ours");
    let path = scratch.story().path;
    fs::remove_dir_all(&path).expect("it is ours");
    scratch.story();
    write(&scratch.root.join(".git/worktrees/story-7/locked"), "initializing");
    scratch.story();
    fs::rename(scratch.outer.join("unmounted"), &disk).expect("it is ours");
    assert_eq!(git(&disk.join("mine"), &["branch", "--show-current"]), "mine");
}

#[test]
fn command_that_moves_a_worktree_away_works() {
    let scratch = Scratch::new();
    git(&scratch.root, &["worktree", "add", "--quiet", "-b", "feature/7-login", ".worktrees/story-7"]);
    let hint = scratch.repository.create(&wanted("story-7", "feature/7-login")).expect_err("it is refused").hint();
    let hint = hint.expect("a hint");
    let (_, command) = hint.split_once(": ").expect("a command");
    let ran = std::process::Command::new("sh").args(["-c", command]).status().expect("it runs");
    assert!(ran.success(), "{command}");
    ready(scratch.repository.create(&wanted("story-7", "feature/7")).expect("the place is free"));
}

#[test]
fn a_new_branch_belongs_to_one_of_those_that_make_it_at_once() {
    let scratch = Scratch::new();
    let made = std::thread::scope(|scope| {
        let make = |number: u32| {
            let wanted = wanted(&format!("story-{number}"), "feature/7-login");
            let repository = scratch.repository.clone();
            scope.spawn(move || matches!(repository.create_new(&wanted).expect("git answers"), Creation::Ready(_)))
        };
        let threads: Vec<_> = (0..4).map(make).collect();
        threads.into_iter().map(|thread| thread.join().expect("it ends")).filter(|is_made| *is_made).count()
    });
    assert_eq!(made, 1);
    assert_eq!(scratch.repository.worktrees().expect("git lists them").len(), 1);
}

#[test]
fn a_branch_whose_name_is_a_directory_of_branches_is_named() {
    let scratch = Scratch::new();
    git(&scratch.root, &["branch", "feature"]);
    let new = wanted("story-7", "feature/7-login");
    let error = scratch.repository.create_new(&new).expect_err("it is refused");
    assert_eq!(error.to_string(), "no branch feature/7-login can be made: there is a branch feature");
    let hint = error.hint().expect("a hint");
    let (_, command) = hint.split_once(": ").expect("a command");
    let ran = std::process::Command::new("sh").args(["-c", command]).current_dir(&scratch.root).status();
    assert!(ran.expect("it runs").success(), "{command}");
    ready(scratch.repository.create_new(&new).expect("the name is free"));
    let below = scratch.repository.in_the_way_of("feature").expect("git answers");
    assert_eq!(below.as_deref(), Some("feature/7-login"));
}

#[test]
fn worktrees_that_were_moved_with_their_repository_are_connected_again() {
    let scratch = Scratch::new();
    let story = scratch.story();
    write(&story.path.join("work.txt"), "work\n");
    scratch.repository.scratch(Path::new(".worktrees/gates"), "main").expect("it can be made");
    let moved = scratch.outer.join("moved");
    fs::rename(&scratch.root, &moved).expect("it is ours");
    let repository = found(&moved);
    assert_eq!(repository.repair().expect("git answers").len(), 2);
    assert_eq!(repository.repair().expect("git answers"), Vec::<PathBuf>::new());
    let known = NewWorktree { is_known: true, ..wanted("story-7", "feature/7-login") };
    let again = ready(repository.create(&known).expect("it is taken"));
    assert!(again.was_there);
    assert_eq!(read(&again.path.join("work.txt")), "work\n");
    repository.scratch(Path::new(".worktrees/gates"), "main").expect("it is replaced");
}

#[test]
fn worktrees_of_a_copied_repository_stay_with_the_original() {
    let scratch = Scratch::new();
    let story = scratch.story();
    let copy = scratch.outer.join("copy");
    let copied = std::process::Command::new("cp").arg("-r").args([&scratch.root, &copy]).status();
    assert!(copied.expect("it runs").success());
    assert!(found(&copy).repair().expect("git answers").is_empty());
    assert_eq!(git(&story.path, &["rev-parse", "--show-toplevel"]), story.path.display().to_string());
}
