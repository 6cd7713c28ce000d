use piton_supervisor::{Merge, Merging};

use crate::repository::{Scratch, commit, git, plant_hook, read, write};

fn merging() -> Merging {
    Merging { branch: "feature/7-login".to_owned(), base: "main".to_owned(), message: "merge story 7".to_owned() }
}

#[test]
fn a_base_that_stood_still_is_moved_forward() {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    assert_eq!(scratch.repository.merge(&merging()).expect("git answers"), Merge::AlreadyMerged);
    write(&path.join("b.txt"), "b\n");
    let work = commit(&path, "work");
    let trace = plant_hook(&scratch.root, "post-merge");
    let merged = scratch.repository.merge(&merging()).expect("git answers");
    assert_eq!(merged, Merge::FastForwarded { commit: work.clone() });
    assert_eq!(git(&scratch.root, &["rev-parse", "main"]), work);
    assert_eq!(read(&scratch.root.join("b.txt")), "b\n");
    assert_eq!(git(&scratch.root, &["status", "--porcelain"]), "");
    assert!(!trace.exists(), "a hook of the repository ran");
    assert_eq!(scratch.repository.merge(&merging()).expect("git answers"), Merge::AlreadyMerged);
}

#[test]
fn both_sides_are_joined_and_uncommitted_files_stay_as_they_are() {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    write(&path.join("b.txt"), "b\n");
    commit(&path, "work");
    write(&scratch.root.join("main.txt"), "m\n");
    commit(&scratch.root, "in main");
    write(&scratch.root.join("a.txt"), "the user is at it\n");
    write(&scratch.root.join("staged.txt"), "staged\n");
    git(&scratch.root, &["add", "staged.txt"]);
    write(&scratch.root.join("notes.txt"), "untracked\n");
    let before = git(&scratch.root, &["status", "--porcelain"]);
    let merged = scratch.repository.merge(&merging()).expect("git answers");
    let Merge::Merged { commit } = merged else { panic!("{merged:?}") };
    assert_eq!(git(&scratch.root, &["rev-parse", "HEAD"]), commit);
    assert_eq!(git(&scratch.root, &["log", "-1", "--format=%s %p"]).split(' ').count(), 5, "two parents");
    assert_eq!(read(&scratch.root.join("b.txt")), "b\n");
    assert_eq!(git(&scratch.root, &["status", "--porcelain"]), before);
}

#[test]
fn a_conflict_changes_nothing_and_names_the_files() {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    write(&path.join("a.txt"), "theirs\n");
    write(&path.join("fine.txt"), "f\n");
    commit(&path, "work");
    write(&scratch.root.join("a.txt"), "ours\n");
    commit(&scratch.root, "in main");
    write(&scratch.root.join("notes.txt"), "untracked\n");
    let before = scratch.users_view();
    let merged = scratch.repository.merge(&merging()).expect("git answers");
    assert_eq!(merged, Merge::Conflict { files: vec!["a.txt".to_owned()] });
    assert_eq!(scratch.users_view(), before);
    assert!(!scratch.root.join("fine.txt").exists());
}

#[test]
fn what_is_uncommitted_and_in_the_way_blocks() {
    for (file, name) in [("a.txt", "a changed file"), ("new.txt", "an untracked file")] {
        let scratch = Scratch::new();
        let path = scratch.story().path;
        write(&path.join(file), "theirs\n");
        commit(&path, "work");
        write(&scratch.root.join(file), "the user is at it\n");
        let before = scratch.users_view();
        let merged = scratch.repository.merge(&merging()).expect("git answers");
        let Merge::Blocked { reason } = &merged else { panic!("{name}: {merged:?}") };
        assert!(reason.ends_with(&format!(": {file}")), "{name}: {reason}");
        assert_eq!(scratch.users_view(), before, "{name}");
        assert_eq!(read(&scratch.root.join(file)), "the user is at it\n");
    }
}

#[test]
fn what_is_under_way_blocks() {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    write(&path.join("b.txt"), "b\n");
    commit(&path, "work");
    write(&scratch.root.join(".git/MERGE_HEAD"), &git(&scratch.root, &["rev-parse", "HEAD"]));
    let merged = scratch.repository.merge(&merging()).expect("git answers");
    let Merge::Blocked { reason } = &merged else { panic!("{merged:?}") };
    assert!(reason.starts_with("a merge is under way in "), "{reason}");
}

#[test]
fn a_base_that_nobody_has_checked_out_is_moved_too() {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    write(&path.join("b.txt"), "b\n");
    let work = commit(&path, "work");
    git(&scratch.root, &["switch", "--quiet", "-c", "elsewhere"]);
    let merged = scratch.repository.merge(&merging()).expect("git answers");
    assert_eq!(merged, Merge::FastForwarded { commit: work.clone() });
    assert_eq!(git(&scratch.root, &["rev-parse", "main"]), work);
    assert!(!scratch.root.join("b.txt").exists());
}
