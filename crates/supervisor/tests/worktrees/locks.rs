//! Lock files: those of a git at work are waited for, stale ones are named or, in Piton's own places, removed.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use piton_supervisor::{Advanced, Candidate, GitError, Merging, Prepared};

use crate::repository::{Scratch, commit, git, plant_script, write};

fn candidate(scratch: &Scratch) -> Candidate {
    let merging =
        Merging { branch: "feature/7-login".to_owned(), base: "main".to_owned(), message: "merge".to_owned() };
    match scratch.repository.prepare(&merging).expect("git answers") {
        Prepared::Candidate(candidate) => candidate,
        other => panic!("{other:?}"),
    }
}

fn worked() -> Scratch {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    write(&path.join("b.txt"), "b\n");
    commit(&path, "work");
    scratch
}

/// A lock that a process left a while ago.
fn stale(lock: &Path) {
    write(lock, "");
    let file = fs::File::options().write(true).open(lock).expect("it is ours");
    file.set_modified(SystemTime::now() - Duration::from_secs(60)).expect("it is ours");
}

#[test]
fn stale_lock_of_the_user_is_named_and_the_named_command_helps() {
    for (lock, is_elsewhere) in [(".git/index.lock", false), (".git/refs/heads/main.lock", true)] {
        let scratch = worked();
        if is_elsewhere {
            git(&scratch.root, &["switch", "--quiet", "-c", "elsewhere"]);
        }
        stale(&scratch.root.join(lock));
        let advanced = scratch.repository.advance(&candidate(&scratch)).expect("git answers");
        let Advanced::Blocked { reason, .. } = &advanced else { panic!("{advanced:?}") };
        let (_, command) = reason.split_once("remove it: ").unwrap_or_else(|| panic!("{reason}"));
        assert!(Command::new("sh").args(["-c", command]).status().expect("it runs").success(), "{command}");
        assert_eq!(scratch.repository.advance(&candidate(&scratch)).expect("git answers"), Advanced::Moved);
    }
}

#[test]
fn commit_hook_of_the_user_is_waited_for() {
    let scratch = worked();
    for name in ["reached", "go"] {
        assert!(Command::new("mkfifo").arg(scratch.outer.join(name)).status().expect("there is mkfifo").success());
    }
    let outer = scratch.outer.display();
    plant_script(&scratch.root, "pre-commit", &format!("echo here > {outer}/reached; read line < {outer}/go"));
    write(&scratch.root.join("mine.txt"), "mine\n");
    git(&scratch.root, &["add", "mine.txt"]);
    let early = candidate(&scratch);
    let mut user = Command::new("git")
        .args(["-c", "user.name=U", "-c", "user.email=u@example.org", "commit", "--quiet", "-m", "the user's"])
        .current_dir(&scratch.root)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("there is git");
    let mut line = String::new();
    fs::File::open(scratch.outer.join("reached")).expect("it is there").read_to_string(&mut line).expect("a pipe");
    // While the hook runs nothing is locked, and yet the commit would fail if its branch moved.
    let advanced = scratch.repository.advance(&early).expect("git answers");
    fs::write(scratch.outer.join("go"), "go\n").expect("the hook waits for it");
    assert!(user.wait().expect("it is ours").success());
    let Advanced::Blocked { reason, .. } = &advanced else { panic!("{advanced:?}") };
    assert!(reason.starts_with(&format!("process {} is a git at work in ", user.id())), "{reason}");
    let advanced = scratch.repository.advance(&early).expect("git answers");
    assert!(matches!(advanced, Advanced::BaseMoved { now: Some(_) }), "{advanced:?}");
    assert_eq!(scratch.repository.advance(&candidate(&scratch)).expect("git answers"), Advanced::Moved);
    assert_eq!(git(&scratch.root, &["log", "--format=%s", "--first-parent", "-2"]), "merge\nthe user's");
}

#[test]
fn stale_locks_in_piton_s_own_places_are_removed() {
    let scratch = worked();
    let repository = &scratch.repository;
    let base = git(&scratch.root, &["rev-parse", "main"]);
    stale(&scratch.root.join(".git/refs/heads/piton/phase-1.lock"));
    repository.create_branch("piton/phase-1", &base).expect("no process holds the lock");
    let path = scratch.root.join(".worktrees/story-7");
    stale(&scratch.root.join(".git/worktrees/story-7/index.lock"));
    write(&path.join("c.txt"), "c\n");
    let mut made = repository.scratch(Path::new(".worktrees/gates"), &base).expect("it can be made");
    stale(&scratch.root.join(".git/worktrees/gates/index.lock"));
    repository.restore_files(&mut made, &base, &["a.txt".to_owned()]).expect("no process holds the lock");
    repository.remove_scratch(&made.path).expect("it is removed");
}

#[test]
fn lock_of_the_user_is_an_error_that_names_it() {
    let scratch = worked();
    let lock = scratch.root.join(".git/refs/heads/other.lock");
    stale(&lock);
    let error = scratch.repository.create_branch("other", "main").expect_err("it is locked");
    assert!(matches!(&error, GitError::Locked { lock: named, holder: None } if *named == lock), "{error:?}");
    assert_eq!(error.hint(), Some(format!("no git process uses it any more; remove it: rm -- {}", lock.display())));
    assert!(lock.exists());
}
