use piton_supervisor::{Statistics, are_commits};

use crate::repository::{Scratch, commit, git, write};

#[test]
fn state_and_statistics_say_what_was_done() {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    let state = || scratch.repository.state(&path, "main").expect("it can be read");
    assert!(state().is_clean() && state().is_merged());
    write(&path.join("b.txt"), "1\n2\n");
    write(&path.join("c.txt"), "1\n");
    commit(&path, "work");
    commit_in_main(&scratch);
    write(&path.join("a.txt"), "one\nthree\n");
    write(&path.join("new file"), "x\n");
    write(&path.join("x.ignored"), "x\n");
    let found = state();
    assert_eq!(found.changed, ["a.txt", "new file"]);
    assert_eq!((found.ahead, found.behind, found.under_way), (1, 1, None));
    let statistics = scratch.repository.statistics(&path, "main").expect("it can be read");
    assert_eq!(statistics, Statistics { commits: 1, files: 3, insertions: 3, deletions: 1 });
}

#[test]
fn what_no_snapshot_holds_is_named() {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    write(&path.join(".piton/.gitignore"), "*\n");
    write(&path.join("inner/file"), "x\n");
    git(&path.join("inner"), &["init", "--quiet"]);
    let state = scratch.repository.state(&path, "main").expect("it can be read");
    assert_eq!(state.holds, ["a repository in inner/", "a journal in .piton"]);
    assert!(!state.is_clean());
}

fn commit_in_main(scratch: &Scratch) {
    write(&scratch.root.join("main.txt"), "x\n");
    commit(&scratch.root, "in main");
}

#[test]
fn git_says_which_names_are_commits() {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    write(&scratch.root.join("main.txt"), "x\n");
    let head = commit(&scratch.root, "in main");
    let tree = format!("{head}^{{tree}}");
    let names = [head.as_str(), "refs/heads/main", &tree, "refs/heads/none", "0000000", "main^{commit}"];
    assert_eq!(are_commits(&path, &names).expect("there is a repository"), [true, true, false, false, false, true]);
    // More than a pipe holds.
    let many = vec!["refs/heads/a-branch-that-nobody-has"; 5_000];
    assert_eq!(are_commits(&path, &many).expect("there is a repository"), vec![false; 5_000]);
    assert!(are_commits(std::path::Path::new("/proc"), &["main"]).is_err(), "no repository");
    assert_eq!(are_commits(&path, &[]).expect("nothing is asked"), Vec::<bool>::new());
}
