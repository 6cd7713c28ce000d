use std::fs;
use std::os::unix::fs::symlink;

use piton_supervisor::InTree;

use crate::repository::{Scratch, commit, git, write};

#[test]
fn tree_of_a_branch_says_what_it_has() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.root.join("src/deep")).expect("it can be made");
    write(&scratch.root.join("src/deep/[a].txt"), "a\n");
    symlink("src", scratch.root.join("link")).expect("it can be made");
    let first = commit(&scratch.root, "files");
    let link = format!("160000,{first},module");
    git(&scratch.root, &["update-index", "--add", "--cacheinfo", &link]);
    git(&scratch.root, &["commit", "--quiet", "-m", "a submodule"]);
    // The work tree and another branch say nothing.
    write(&scratch.root.join("untracked.txt"), "x\n");
    fs::remove_file(scratch.root.join("src/deep/[a].txt")).expect("it is there");
    for (path, want) in [
        ("src", InTree::There),
        ("src/deep", InTree::There),
        ("src/deep/[a].txt", InTree::There),
        ("src/deep/a.txt", InTree::Missing),
        ("src/deep/[a].txt/below", InTree::Missing),
        ("untracked.txt", InTree::Missing),
        ("link", InTree::There),
        ("link/deep/[a].txt", InTree::Beyond),
        ("module", InTree::There),
        ("module/file.txt", InTree::Beyond),
    ] {
        assert_eq!(scratch.repository.in_tree("main", path).expect("git answers"), want, "{path}");
    }
}

#[test]
fn content_is_found_under_another_name() {
    let scratch = Scratch::new();
    write(&scratch.root.join("old.txt"), "content\n");
    let first = commit(&scratch.root, "a file");
    git(&scratch.root, &["mv", "old.txt", "new.txt"]);
    commit(&scratch.root, "moved");
    let has = |path: &str| scratch.repository.has_content_of("main", &first, path).expect("git answers");
    assert!(has("old.txt") && !has("never.txt"));
    write(&scratch.root.join("new.txt"), "other content\n");
    commit(&scratch.root, "changed");
    assert!(!has("old.txt"));
}

#[test]
fn file_that_was_there_already_is_no_moved_one() {
    let scratch = Scratch::new();
    write(&scratch.root.join("a/__init__.py"), "");
    let before = commit(&scratch.root, "one");
    write(&scratch.root.join("b/__init__.py"), "");
    let made = commit(&scratch.root, "another");
    git(&scratch.root, &["reset", "-q", "--hard", &before]);
    let has = |path: &str| scratch.repository.has_content_of("main", &made, path).expect("git answers");
    assert!(!has("b/__init__.py") && has("a/__init__.py"));
}

#[test]
fn newest_commits_that_a_branch_lacks_are_named_and_all_are_counted() {
    let scratch = Scratch::new();
    git(&scratch.root, &["branch", "behind"]);
    for name in ["one", "two", "three"] {
        write(&scratch.root.join(name), "x\n");
        commit(&scratch.root, name);
    }
    let (named, count) = scratch.repository.lacks("behind", "main", 2).expect("git answers");
    let subjects: Vec<&str> =
        named.iter().filter_map(|line| line.split_once(' ')).map(|(_, subject)| subject).collect();
    assert_eq!((subjects, count), (vec!["three", "two"], 3));
    assert_eq!(scratch.repository.lacks("main", "behind", 2).expect("git answers"), (Vec::new(), 0));
}
