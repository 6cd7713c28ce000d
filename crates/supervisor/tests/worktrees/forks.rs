use piton_supervisor::Dropped;

use crate::repository::{Scratch, commit, git, write};

/// A branch with one commit, and the commit.
fn work(scratch: &Scratch) -> String {
    let path = scratch.story().path;
    write(&path.join("b.txt"), "b\n");
    commit(&path, "work")
}

#[test]
fn work_is_taken_when_it_was_merged_in_whatever_form() {
    for (how, want) in [
        (&["commit", "--allow-empty", "-qm", "other"][..], false),
        (&["merge", "-q", "--no-ff", "-m", "merged", "feature/7-login"], true),
        (&["cherry-pick", "feature/7-login"], true),
    ] {
        let scratch = Scratch::new();
        let tip = work(&scratch);
        write(&scratch.root.join("c.txt"), "c\n");
        commit(&scratch.root, "in main");
        git(&scratch.root, how);
        assert_eq!(scratch.repository.has_taken("main", &tip).expect("git answers"), want, "{how:?}");
        // What is changed later was taken all the same.
        write(&scratch.root.join("b.txt"), "changed\n");
        commit(&scratch.root, "changed");
        assert_eq!(scratch.repository.has_taken("main", &tip).expect("git answers"), want, "{how:?}, then changed");
    }
    let scratch = Scratch::new();
    let unknown = "0123456789012345678901234567890123456789";
    assert!(!scratch.repository.has_taken("main", unknown).expect("git answers"), "it is nowhere");
}

#[test]
fn branch_on_a_first_commit_that_was_amended_is_compared_with_nothing() {
    let scratch = Scratch::new();
    let root = git(&scratch.root, &["rev-parse", "HEAD"]);
    work(&scratch);
    git(&scratch.root, &["commit", "-q", "--amend", "-m", "another first"]);
    let (repository, branch) = (&scratch.repository, "feature/7-login");
    let tree = scratch.root.join(".worktrees/story-7");
    assert!(repository.has_own_work(branch, "main", &[]).expect("git answers"));
    assert!(repository.embedded(branch, "main").expect("git answers").is_empty());
    assert!(repository.unpublished(&tree, branch, "main").expect("git answers").is_empty());
    let dropped = Dropped { commit: root.clone(), comes_back: true };
    assert_eq!(repository.dropped(branch, "main", "main").expect("git answers"), Some(dropped));
    assert!(repository.rebase(&tree, &root, "main", branch).expect("git answers"));
    assert_eq!(repository.dropped(branch, "main", "main").expect("git answers"), None);
}

#[test]
fn changes_since_a_moment_are_seen_outside_of_a_directory() {
    let scratch = Scratch::new();
    let made: i64 = git(&scratch.root, &["log", "-1", "--format=%ct"]).parse().expect("a time");
    git(&scratch.root, &["checkout", "-q", "--orphan", "documents"]);
    git(&scratch.root, &["rm", "-q", "-r", "--force", "."]);
    write(&scratch.root.join(".pipeline/state.json"), "{}");
    commit(&scratch.root, "documents");
    for (branch, since, but, want) in [
        ("main", made, ".pipeline", true),
        ("main", made + 3600, ".pipeline", false),
        ("documents", made, ".pipeline", false),
        ("documents", made, "other", true),
    ] {
        let found = scratch.repository.has_changed_since(branch, since, &[but.into()]).expect("git answers");
        assert_eq!(found, want, "{branch} {since} {but}");
    }
}
