use std::process::{Command, Stdio};

use piton_supervisor::{Removal, Repository};

use crate::repository::{Scratch, commit, git, read, write};

const AT: i64 = 1_794_798_900;

fn remove(scratch: &Scratch) -> Removal {
    let path = scratch.root.join(".worktrees/story-7");
    scratch.repository.remove(&path, "main", AT).expect("git answers")
}

fn reasons(removal: &Removal) -> &[String] {
    match removal {
        Removal::Kept(kept) => &kept.reasons,
        Removal::Removed { .. } => panic!("it was removed"),
    }
}

#[test]
fn a_clean_and_merged_worktree_goes_and_its_branch_and_snapshot_stay() {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    write(&path.join("b.txt"), "b\n");
    let work = commit(&path, "work");
    git(&scratch.root, &["merge", "--quiet", "feature/7-login"]);
    let Removal::Removed { snapshot } = remove(&scratch) else { panic!("it stays") };
    assert!(!path.exists());
    assert_eq!(git(&scratch.root, &["rev-parse", "feature/7-login"]), work);
    assert_eq!(scratch.repository.snapshots().expect("git lists them"), [snapshot]);
}

#[test]
fn everything_else_stays_and_is_kept_besides() {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    write(&path.join("untracked.txt"), "u\n");
    let kept = remove(&scratch);
    assert_eq!(reasons(&kept), ["1 uncommitted file"]);
    let Removal::Kept(kept) = kept else { unreachable!("it was kept") };
    let snapshot = kept.snapshot.expect("it was taken");
    assert_eq!(git(&scratch.root, &["show", &format!("{}:untracked.txt", snapshot.commit)]), "u");
    commit(&path, "work");
    assert_eq!(reasons(&remove(&scratch)), ["1 commit not in main"]);
    git(&scratch.root, &["merge", "--quiet", "feature/7-login"]);
    git(&scratch.root, &["worktree", "lock", "--reason", "on a stick", ".worktrees/story-7"]);
    assert_eq!(reasons(&remove(&scratch)), ["it is locked: on a stick"]);
    git(&scratch.root, &["worktree", "unlock", ".worktrees/story-7"]);
    let mut user = Command::new("/bin/sleep")
        .arg("1000")
        .current_dir(&path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let used = remove(&scratch);
    user.kill().expect("it is ours");
    user.wait().expect("it is ours");
    assert_eq!(reasons(&used), [format!("process {} works in it", user.id())]);
    assert_eq!(read(&path.join("untracked.txt")), "u\n");
    assert!(matches!(remove(&scratch), Removal::Removed { .. }));
}

#[test]
fn the_main_work_tree_and_strangers_are_not_ours_to_remove() {
    let scratch = Scratch::new();
    let other = Scratch::new();
    let path = other.story().path;
    for path in [&scratch.root, &path, &scratch.outer] {
        assert!(scratch.repository.remove(path, "main", AT).is_err());
    }
    assert!(path.join("a.txt").exists() && scratch.root.join("a.txt").exists());
    assert!(Repository::find(&path).is_ok_and(|found| found.is_some()));
}

#[test]
fn a_worktree_whose_directory_is_gone_is_left_to_git() {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    std::fs::remove_dir_all(&path).expect("it is ours");
    assert_eq!(reasons(&remove(&scratch)), ["its directory is gone already"]);
}
