use std::fs;

use piton_supervisor::{Head, Stray};

use crate::repository::{Scratch, commit, git, write};

const BRANCH: &str = "feature/7-login";

#[test]
fn commits_on_a_branch_of_the_workers_own_making_are_found() {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    let outside = || scratch.repository.commits_outside(&path, BRANCH).expect("git answers");
    assert_eq!(outside(), []);
    write(&path.join("b.txt"), "b\n");
    commit(&path, "where it belongs");
    git(&path, &["commit", "--quiet", "--amend", "-m", "amended"]);
    assert_eq!(outside(), [], "what was amended is no stray");
    git(&path, &["switch", "--quiet", "-c", "my-own"]);
    write(&path.join("c.txt"), "c\n");
    let tip = commit(&path, "elsewhere");
    let stray = Stray { branch: Some("my-own".to_owned()), tip: tip.clone(), commits: 1 };
    assert_eq!(outside(), std::slice::from_ref(&stray));
    assert_eq!(scratch.repository.head_in(&path).expect("git answers").branch(), Some("my-own"));
    git(&path, &["switch", "--quiet", BRANCH]);
    assert_eq!(outside(), [stray], "it went back, and its commit did not");
    git(&path, &["merge", "--quiet", "my-own"]);
    assert_eq!(outside(), []);
    git(&path, &["switch", "--quiet", "--detach"]);
    write(&path.join("d.txt"), "d\n");
    let tip = commit(&path, "on no branch");
    assert_eq!(outside(), [Stray { branch: None, tip: tip.clone(), commits: 1 }]);
    assert_eq!(scratch.repository.head_in(&path).expect("git answers"), Head::Detached { commit: tip });
}

#[test]
fn a_look_at_another_branch_is_no_stray() {
    let scratch = Scratch::new();
    git(&scratch.root, &["switch", "--quiet", "-c", "the-users"]);
    write(&scratch.root.join("u.txt"), "u\n");
    commit(&scratch.root, "the user's");
    git(&scratch.root, &["switch", "--quiet", "main"]);
    let path = scratch.story().path;
    git(&path, &["switch", "--quiet", "the-users"]);
    git(&path, &["switch", "--quiet", BRANCH]);
    assert_eq!(scratch.repository.commits_outside(&path, BRANCH).expect("git answers"), []);
}

#[test]
fn outputs_that_git_ignores_are_named() {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    for file in ["a.ignored", "deep/b.ignored", "plain.txt", "kept.ignored"] {
        write(&path.join(file), "x");
    }
    git(&path, &["add", "--force", "kept.ignored"]);
    let paths = ["a.ignored", "deep/b.ignored", "plain.txt", "kept.ignored", "missing.ignored", "a.txt"];
    let ignored = scratch.repository.ignored(&path, &paths.map(str::to_owned)).expect("git answers");
    assert_eq!(ignored, ["a.ignored", "deep/b.ignored", "missing.ignored"]);
    assert!(fs::exists(path.join("a.ignored")).expect("it can be asked"));
    assert_eq!(scratch.repository.ignored(&path, &[]).expect("git answers"), Vec::<String>::new());
}
