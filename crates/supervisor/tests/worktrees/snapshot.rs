use std::fs;
use std::os::unix::fs::symlink;

use piton_supervisor::RestoreTo;

use crate::repository::{Scratch, commit, git, plant_hook, read, write};

/// A moment: 2026-11-16T03:15:00Z.
const AT: i64 = 1_794_798_900;

#[test]
fn a_snapshot_holds_everything_and_touches_nothing() {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    write(&path.join("committed.txt"), "c\n");
    commit(&path, "work");
    write(&path.join("staged.txt"), "staged\n");
    git(&path, &["add", "staged.txt"]);
    write(&path.join("staged.txt"), "staged, then changed\n");
    write(&path.join("a.txt"), "changed\n");
    write(&path.join("deep/er/untracked.txt"), "u\n");
    write(&path.join("x.ignored"), "i\n");
    fs::remove_file(path.join("committed.txt")).expect("it is ours");
    symlink("a.txt", path.join("link")).expect("a link can be made");
    let (before, worktree_before) = (scratch.users_view(), git(&path, &["status", "--porcelain=v2"]));
    let index_before = fs::read(scratch.root.join(".git/worktrees/story-7/index")).expect("it is there");
    let trace = plant_hook(&scratch.root, "post-index-change");
    let snapshot = scratch.repository.snapshot(&path, "story-7", AT).expect("it can be taken");
    assert!(!trace.exists(), "a hook of the repository ran");
    assert_eq!(fs::read(scratch.root.join(".git/worktrees/story-7/index")).expect("it is there"), index_before);
    assert_eq!(scratch.users_view(), before);
    assert_eq!(git(&path, &["status", "--porcelain=v2"]), worktree_before);
    assert_eq!(snapshot.reference, "refs/piton/snapshots/story-7/20261116T031500Z");
    let files = git(&scratch.root, &["ls-tree", "-r", "--name-only", &snapshot.reference]);
    assert_eq!(files, ".gitignore\na.txt\ndeep/er/untracked.txt\nlink\nstaged.txt\nx.ignored");
    assert_eq!(git(&scratch.root, &["show", &format!("{}:staged.txt", snapshot.commit)]), "staged, then changed");
    assert_eq!(git(&scratch.root, &["show", &format!("{}^2:staged.txt", snapshot.commit)]), "staged");
    let left = fs::read_dir(scratch.root.join(".git/worktrees/story-7")).expect("it is there").flatten();
    let left: Vec<_> = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("piton-index")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn the_same_is_not_kept_twice_and_another_of_the_same_second_is() {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    write(&path.join("x"), "1");
    let first = scratch.repository.snapshot(&path, "story-7", AT).expect("it can be taken");
    assert_eq!(scratch.repository.snapshot(&path, "story-7", AT + 50).expect("it can be taken"), first);
    write(&path.join("x"), "2");
    let second = scratch.repository.snapshot(&path, "story-7", AT).expect("it can be taken");
    assert_eq!(second.reference, format!("{}-1", first.reference));
    commit(&path, "the same files, now committed");
    let third = scratch.repository.snapshot(&path, "story-7", AT + 60).expect("it can be taken");
    let other = scratch.repository.snapshot(&scratch.root, "main tree", AT).expect("it can be taken");
    assert_eq!(scratch.repository.snapshots().expect("git lists them"), [other, third, second, first]);
}

#[test]
fn a_snapshot_comes_back_as_a_worktree_with_its_uncommitted_work() {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    write(&path.join("done.txt"), "d\n");
    let head = commit(&path, "work");
    write(&path.join("a.txt"), "changed\n");
    write(&path.join("untracked.txt"), "u\n");
    let snapshot = scratch.repository.snapshot(&path, "story-7", AT).expect("it can be taken");
    git(&scratch.root, &["worktree", "remove", "--force", path.to_str().expect("it is text")]);
    let to = scratch.root.join(".worktrees/again");
    let restored = scratch.repository.restore(&snapshot, &RestoreTo::Worktree(to.clone())).expect("it comes back");
    assert_eq!(restored.path, to);
    assert_eq!(git(&to, &["rev-parse", "HEAD"]), head);
    assert_eq!(git(&to, &["status", "--porcelain"]), " M a.txt\n?? untracked.txt");
    assert_eq!((read(&to.join("a.txt")), read(&to.join("done.txt"))), ("changed\n".to_owned(), "d\n".to_owned()));
    let again = scratch.repository.restore(&snapshot, &RestoreTo::Worktree(to)).expect_err("it is taken");
    assert!(again.to_string().contains("something is there already"), "{again}");
}

#[test]
fn a_snapshot_comes_back_as_files() {
    let scratch = Scratch::new();
    write(&scratch.root.join("sub/untracked.txt"), "u\n");
    let before = scratch.users_view();
    let snapshot = scratch.repository.snapshot(&scratch.root, "main", AT).expect("it can be taken");
    let to = scratch.outer.join("files");
    scratch.repository.restore(&snapshot, &RestoreTo::Files(to.clone())).expect("it comes back");
    assert_eq!(read(&to.join("sub/untracked.txt")), "u\n");
    assert_eq!(read(&to.join("a.txt")), "one\ntwo\nthree\n");
    assert!(!to.join(".git").exists());
    assert_eq!(scratch.users_view(), before);
    assert!(scratch.repository.restore(&snapshot, &RestoreTo::Files(to)).is_err(), "nothing is overwritten");
}

#[test]
fn a_repository_without_a_commit_can_be_kept_too() {
    let scratch = Scratch::new();
    let fresh = scratch.outer.join("fresh");
    fs::create_dir(&fresh).expect("it can be made");
    git(&fresh, &["init", "--quiet", "-b", "main"]);
    write(&fresh.join("x"), "x\n");
    let repository = crate::repository::found(&fresh);
    let snapshot = repository.snapshot(&fresh, "fresh", AT).expect("it can be taken");
    assert_eq!(git(&fresh, &["show", &format!("{}:x", snapshot.commit)]), "x");
    let refused = repository.restore(&snapshot, &RestoreTo::Worktree(scratch.outer.join("w")));
    assert!(refused.expect_err("there is no commit to stand on").to_string().contains("--to DIR"));
}
