use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use piton_supervisor::Maker;

use crate::repository::{Scratch, commit, git, read, write};

const PLACE: &str = ".worktrees/gates";

#[test]
fn scratch_is_made_replaced_and_removed_and_the_user_sees_nothing() {
    let scratch = Scratch::new();
    let repository = &scratch.repository;
    let first = git(&scratch.root, &["rev-parse", "HEAD"]);
    let before = scratch.users_view();
    let made = repository.scratch(Path::new(PLACE), &first).expect("it can be made");
    assert_eq!(git(&made.path, &["rev-parse", "HEAD"]), first);
    assert_eq!(repository.worktrees().expect("git lists them")[0].maker, Maker::Scratch);
    // What a gate leaves.
    write(&made.path.join("deep/locked/file"), "x");
    let locked = fs::Permissions::from_mode(0o500);
    fs::set_permissions(made.path.join("deep/locked"), locked).expect("it is ours");
    write(&made.path.join("a.txt"), "changed by a gate");
    git(&made.path, &["switch", "--quiet", "-c", "made-by-a-gate"]);
    git(&made.path, &["switch", "--quiet", "--detach"]);
    git(&made.path, &["branch", "--quiet", "-D", "made-by-a-gate"]);
    let again = repository.scratch(Path::new(PLACE), &first).expect("it is replaced");
    assert!(!again.path.join("deep").exists());
    assert_eq!(read(&again.path.join("a.txt")), "one\ntwo\nthree\n");
    // A killed lead, and a cleaner that removed the directory.
    fs::remove_dir_all(&again.path).expect("it is ours");
    repository.scratch(Path::new(PLACE), &first).expect("it is made again");
    repository.remove_scratch(Path::new(PLACE)).expect("it is removed");
    repository.remove_scratch(Path::new(PLACE)).expect("there is none");
    assert!(repository.worktrees().expect("git lists them").is_empty());
    assert_eq!(scratch.users_view(), before);
    // In another place.
    let place = scratch.outer.join("gates");
    let made = repository.scratch(&place, &first).expect("it can be made");
    assert_eq!(git(&made.path, &["rev-parse", "HEAD"]), first);
    repository.remove_scratch(&place).expect("it is removed");
    assert!(!place.exists());
}

#[test]
fn what_the_user_has_in_that_place_stays() {
    let scratch = Scratch::new();
    let place = scratch.root.join(PLACE);
    git(&scratch.root, &["worktree", "add", "--quiet", "-b", "mine", PLACE]);
    for is_locked in [false, true] {
        if is_locked {
            git(&scratch.root, &["worktree", "lock", "--reason", "mine", PLACE]);
        }
        let error = scratch.repository.scratch(Path::new(PLACE), "main").expect_err("it is refused");
        assert!(error.to_string().contains("not Piton's scratch"), "{error}");
    }
    assert!(place.join("a.txt").exists());
    write(&scratch.root.join(".worktrees/files/x"), "mine");
    assert!(scratch.repository.scratch(Path::new(".worktrees/files"), "main").is_err());
    assert_eq!(read(&scratch.root.join(".worktrees/files/x")), "mine");
}

#[test]
fn files_of_the_base_are_put_back() {
    let scratch = Scratch::new();
    write(&scratch.root.join("scripts/check.sh"), "exit 1\n");
    write(&scratch.root.join("gate"), "base\n");
    let base = commit(&scratch.root, "gates");
    let path = scratch.story().path;
    let outside = scratch.outer.join("outside");
    write(&outside.join("check.sh"), "precious\n");
    fs::remove_dir_all(path.join("scripts")).expect("it is ours");
    symlink(&outside, path.join("scripts")).expect("a link can be made");
    fs::remove_file(path.join("gate")).expect("it is ours");
    write(&path.join("gate/inner"), "a directory now\n");
    write(&path.join("new [x].sh"), "exit 0\n");
    write(&path.join("work.txt"), "work\n");
    let work = commit(&path, "a worker changes its own gate");
    let repository = &scratch.repository;
    let mut files = repository.changed_files(&base, &work).expect("git answers");
    files.sort();
    assert_eq!(files, ["gate", "gate/inner", "new [x].sh", "scripts", "scripts/check.sh", "work.txt"]);
    let mut made = repository.scratch(Path::new(PLACE), &work).expect("it can be made");
    let gates: Vec<String> = files.into_iter().filter(|file| file != "work.txt").collect();
    repository.restore_files(&mut made, &base, &gates).expect("they are put back");
    assert_eq!(read(&made.path.join("scripts/check.sh")), "exit 1\n");
    assert_eq!(read(&made.path.join("gate")), "base\n");
    assert!(!made.path.join("new [x].sh").exists());
    assert_eq!(read(&made.path.join("work.txt")), "work\n");
    assert_eq!(read(&outside.join("check.sh")), "precious\n");
    for bad in ["../outside/check.sh", "/etc/passwd", ".git", ".git/x", ""] {
        assert!(repository.restore_files(&mut made, &base, &[bad.to_owned()]).is_err(), "{bad}");
    }
    assert_eq!(read(&outside.join("check.sh")), "precious\n");
}

#[test]
fn whatever_a_gate_stages_commits_or_checks_out_the_next_one_judges_the_same_tree() {
    let scratch = Scratch::new();
    write(&scratch.root.join("check.sh"), "of the base\n");
    let base = commit(&scratch.root, "a gate");
    write(&scratch.root.join("check.sh"), "of the branch\n");
    write(&scratch.root.join("sub/b.txt"), "b\n");
    let work = commit(&scratch.root, "work");
    let repository = &scratch.repository;
    let mut made = repository.scratch(Path::new(PLACE), &work).expect("it can be made");
    repository.restore_files(&mut made, &base, &["check.sh".to_owned()]).expect("it is put back");
    for gate in [
        &["add", "--all"][..],
        &["commit", "--quiet", "--all", "--message", "by a gate"],
        &["checkout", "--quiet", "--force", "-b", "by-a-gate", &base],
        &["rm", "--quiet", "-r", "--force", "sub", "a.txt"],
        &["update-index", "--assume-unchanged", "a.txt"],
    ] {
        write(&made.path.join("a.txt"), "changed by a gate\n");
        write(&made.path.join("check.sh"), "changed by a gate\n");
        write(&made.path.join("built/output"), "of the set-up\n");
        git(&made.path, gate);
        repository.refresh_scratch(&made).expect("it is put back");
        assert_eq!(read(&made.path.join("a.txt")), "one\ntwo\nthree\n", "{gate:?}");
        assert_eq!(read(&made.path.join("check.sh")), "of the base\n", "{gate:?}");
        assert_eq!(read(&made.path.join("sub/b.txt")), "b\n", "{gate:?}");
        assert_eq!(git(&made.path, &["write-tree"]), made.tree, "{gate:?}");
        assert_eq!(git(&made.path, &["rev-parse", "HEAD"]), work, "{gate:?}");
        assert_eq!(git(&made.path, &["branch", "--show-current"]), "", "{gate:?}");
    }
    assert_eq!(read(&made.path.join("built/output")), "of the set-up\n");
}
