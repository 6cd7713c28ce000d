//! Absence, refusal and failure are three answers.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;

use piton_supervisor::{Advanced, GitError, Head, Merging, Prepared, Repository};

use crate::repository::{Scratch, commit, found, git, ready, wanted, write};

/// A story is made, worked on and merged.
fn works(directory: &Path, base: &str) {
    let repository = found(directory);
    assert_eq!(repository.base_branch().expect("a branch is checked out"), base);
    let wanted = piton_supervisor::NewWorktree { base: base.to_owned(), ..wanted("story-7", "feature/7-login") };
    let created = ready(repository.create(&wanted).expect("it can be made"));
    assert!(created.path.starts_with(directory), "{created:?}");
    write(&created.directory.join("b.txt"), "b\n");
    commit(&created.path, "work");
    let merging = Merging { branch: wanted.branch, base: base.to_owned(), message: "merge".to_owned() };
    let Prepared::Candidate(candidate) = repository.prepare(&merging).expect("git answers") else {
        panic!("no candidate")
    };
    assert_eq!(repository.advance(&candidate).expect("git answers"), Advanced::Moved);
    assert_eq!(fs::read_to_string(directory.join("b.txt")).expect("it is merged"), "b\n");
    assert_eq!(git(directory, &["status", "--porcelain"]), "");
}

#[test]
fn only_absence_is_no_repository() {
    let scratch = Scratch::new();
    assert!(Repository::find(&scratch.outer).expect("git answers").is_none());
    assert!(matches!(Repository::find(&scratch.outer.join("nowhere")), Err(GitError::Denied { .. })));
    let empty = scratch.outer.join("empty");
    fs::create_dir_all(empty.join(".git")).expect("it can be made");
    assert!(Repository::find(&empty).expect("git answers").is_none(), "nothing is in .git");
    write(&empty.join(".git/config"), "");
    assert!(matches!(Repository::find(&empty), Err(GitError::Denied { .. })), "a broken repository is not none");
    let dangling = scratch.outer.join("dangling");
    write(&dangling.join(".git"), "gitdir: /nowhere/at/all\n");
    assert!(matches!(Repository::find(&dangling), Err(GitError::Denied { .. })));
    let bare = scratch.outer.join("bare");
    git(&scratch.outer, &["init", "--quiet", "--bare", "bare"]);
    assert!(matches!(Repository::find(&bare), Err(GitError::Refused { .. })));
}

#[test]
fn broken_configuration_is_a_refusal_in_gits_words() {
    let scratch = Scratch::new();
    fs::write(scratch.root.join(".git/config"), "[core\n").expect("it is ours");
    let error = Repository::find(&scratch.root).expect_err("git does not use it");
    assert!(matches!(&error, GitError::Denied { message, .. } if message.contains("bad config line 1")), "{error:?}");
    assert!(error.hint().expect("a hint").contains("git -C "), "{error:?}");
}

#[test]
fn repository_of_another_user_is_a_refusal_with_gits_own_way_out() {
    if !rustix_is_root() {
        return;
    }
    let scratch = Scratch::new();
    for path in [&scratch.root, &scratch.root.join(".git")] {
        chown(path, Some(12345), Some(12345)).expect("root may");
    }
    let error = Repository::find(&scratch.root).expect_err("git does not use it");
    let hint = error.hint().expect("a hint");
    assert!(hint.contains("git config --global --add safe.directory"), "{error:?}: {hint}");
}

fn rustix_is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|found| std::os::unix::fs::MetadataExt::uid(&found) == 0)
}

#[test]
fn detached_unborn_and_branch_are_told_apart() {
    let scratch = Scratch::new();
    let head = git(&scratch.root, &["rev-parse", "HEAD"]);
    let main = Head::Branch { name: "main".to_owned(), commit: head.clone() };
    assert_eq!(scratch.repository.head().expect("git answers"), main);
    git(&scratch.root, &["switch", "--quiet", "--detach"]);
    assert_eq!(scratch.repository.head().expect("git answers"), Head::Detached { commit: head });
    let hint = scratch.repository.base_branch().expect_err("it is refused").hint().expect("a hint");
    let (_, command) = hint.split_once(": ").expect("a command");
    let ran = std::process::Command::new("sh").args(["-c", command]).status().expect("it runs");
    assert!(ran.success(), "{command}");
    assert_eq!(scratch.repository.head().expect("git answers"), main);
    let fresh = scratch.outer.join("fresh");
    git(&scratch.outer, &["init", "--quiet", "-b", "trunk", "fresh"]);
    let fresh = found(&fresh);
    assert_eq!(fresh.head().expect("git answers"), Head::Unborn { name: "trunk".to_owned() });
    let error = fresh.base_branch().expect_err("it is refused");
    assert!(error.hint().expect("a hint").contains("commit --allow-empty"), "{error:?}");
}

#[test]
fn detached_head_that_no_branch_has_gets_a_new_branch() {
    let scratch = Scratch::new();
    git(&scratch.root, &["switch", "--quiet", "--detach"]);
    write(&scratch.root.join("x"), "x");
    let head = commit(&scratch.root, "on no branch");
    let hint = scratch.repository.base_branch().expect_err("it is refused").hint().expect("a hint");
    let (_, command) = hint.split_once(": ").expect("a command");
    assert!(std::process::Command::new("sh").args(["-c", command]).status().expect("it runs").success(), "{command}");
    let work = Head::Branch { name: "work".to_owned(), commit: head };
    assert_eq!(scratch.repository.head().expect("git answers"), work);
}

#[test]
fn git_directory_elsewhere_works() {
    let scratch = Scratch::new();
    let tree = scratch.outer.join("tree");
    let directory = scratch.outer.join("elsewhere.git");
    let directory = format!("--separate-git-dir={}", directory.display());
    git(&scratch.outer, &["clone", "--quiet", &directory, "repo", "tree"]);
    assert!(tree.join(".git").is_file());
    works(&fs::canonicalize(&tree).expect("it is there"), "main");
}

#[test]
fn submodule_is_a_workspace_of_its_own() {
    let scratch = Scratch::new();
    let other = Scratch::new();
    let from = other.root.to_str().expect("it is text");
    git(&scratch.root, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", from, "part"]);
    commit(&scratch.root, "with a part");
    let part = scratch.root.join("part");
    assert!(part.join(".git").is_file());
    assert_eq!(found(&part).root(), part);
    works(&part, "main");
}

#[test]
fn worktree_of_a_bare_repository_is_a_workspace() {
    let scratch = Scratch::new();
    git(&scratch.outer, &["clone", "--quiet", "--bare", "repo", "bare"]);
    let bare = scratch.outer.join("bare");
    git(&bare, &["worktree", "add", "--quiet", "../tree", "main"]);
    works(&fs::canonicalize(scratch.outer.join("tree")).expect("it is there"), "main");
}

#[test]
fn worktree_of_the_user_is_a_workspace_with_its_own_branch() {
    let scratch = Scratch::new();
    git(&scratch.root, &["worktree", "add", "--quiet", "-b", "topic", "../topic"]);
    let main = git(&scratch.root, &["rev-parse", "main"]);
    works(&fs::canonicalize(scratch.outer.join("topic")).expect("it is there"), "topic");
    assert_eq!(git(&scratch.root, &["rev-parse", "main"]), main);
}

#[test]
fn subdirectory_is_found_again_in_its_worktrees() {
    let scratch = Scratch::new();
    write(&scratch.root.join("apps/shop [1]/x.txt"), "x\n");
    commit(&scratch.root, "a shop");
    let shop = scratch.root.join("apps/shop [1]");
    let repository = found(&shop);
    assert_eq!((repository.root(), repository.inside()), (&*scratch.root, Path::new("apps/shop [1]")));
    works(&shop, "main");
    let created = ready(repository.create(&wanted("story-8", "feature/8")).expect("it can be made"));
    assert_eq!(created.directory, shop.join(".worktrees/story-8/apps/shop [1]"));
    assert!(created.directory.join("x.txt").exists());
}

#[test]
fn subdirectory_that_no_commit_has_is_refused_with_a_way_out() {
    let scratch = Scratch::new();
    let loose = scratch.root.join("loose");
    write(&loose.join("x.txt"), "x\n");
    let error = found(&loose).create(&wanted("story-7", "feature/7")).expect_err("it is refused");
    let hint = error.hint().expect("a hint");
    let (_, command) = hint.split_once(": ").expect("a command");
    let mut shell = std::process::Command::new("sh");
    for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
        shell.env(name, "u");
    }
    assert!(shell.args(["-c", command]).status().expect("it runs").success(), "{command}");
    assert_eq!(found(&loose).root(), loose);
}

#[test]
fn directory_that_may_not_be_read_is_a_refusal() {
    if rustix_is_root() {
        return;
    }
    let scratch = Scratch::new();
    let inner = scratch.root.join(".git");
    fs::set_permissions(&inner, fs::Permissions::from_mode(0o0)).expect("it is ours");
    let answer = Repository::find(&scratch.root);
    fs::set_permissions(&inner, fs::Permissions::from_mode(0o755)).expect("it is ours");
    assert!(matches!(answer, Err(GitError::Denied { .. })), "{answer:?}");
}
