//! A repository on disk with one commit.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use piton_supervisor::{Created, Creation, NewWorktree, Repository};

pub struct Scratch {
    pub outer: PathBuf,
    pub root: PathBuf,
    pub repository: Repository,
}

impl Scratch {
    pub fn new() -> Scratch {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("piton-worktrees-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let outer = std::env::temp_dir().join(name);
        let root = outer.join("repo");
        fs::create_dir_all(&root).expect("a directory can be made");
        git(&root, &["init", "--quiet", "-b", "main"]);
        write(&root.join("a.txt"), "one\ntwo\nthree\n");
        write(&root.join(".gitignore"), "*.ignored\n");
        commit(&root, "first");
        let repository = found(&root);
        let root = repository.root().to_owned();
        Scratch { outer, root, repository }
    }

    /// A worktree for story 7.
    pub fn story(&self) -> Created {
        ready(self.repository.create(&wanted("story-7", "feature/7-login")).expect("it can be made"))
    }

    /// Everything that the user sees of the repository: branches, stash, index, files of the main work tree.
    pub fn users_view(&self) -> Vec<String> {
        [
            ["for-each-ref", "refs/heads", "refs/tags", "refs/stash"].as_slice(),
            &["ls-files", "--stage"],
            &["status", "--porcelain=v2", "--untracked-files=all", "--branch"],
            &["diff"],
            &["stash", "list"],
        ]
        .map(|arguments| git(&self.root, arguments))
        .to_vec()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.outer);
    }
}

/// The repository that holds a directory.
pub fn found(directory: &Path) -> Repository {
    Repository::find(directory).expect("git answers").expect("there is a repository")
}

/// A worktree that is there now.
pub fn ready(creation: Creation) -> Created {
    match creation {
        Creation::Ready(created) => created,
        Creation::Exists(existing) => panic!("{existing:?}"),
    }
}

pub fn wanted(name: &str, branch: &str) -> NewWorktree {
    NewWorktree {
        path: Path::new(".worktrees").join(name),
        branch: branch.to_owned(),
        base: "main".to_owned(),
        is_known: false,
    }
}

/// Runs git as its user does, with hooks and all.
pub fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(["-c", "user.name=U", "-c", "user.email=u@example.org", "-c", "commit.gpgSign=false"])
        .args(arguments)
        .env("LC_ALL", "C")
        .output()
        .expect("there is git");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

pub fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a file is in a directory")).expect("it can be made");
    fs::write(path, text).expect("a file can be written");
}

pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn commit(directory: &Path, message: &str) -> String {
    git(directory, &["add", "--all"]);
    git(directory, &["commit", "--quiet", "--message", message]);
    git(directory, &["rev-parse", "HEAD"])
}

/// A hook that leaves a trace.
pub fn plant_hook(root: &Path, name: &str) -> PathBuf {
    let trace = root.join(format!(".git/{name}-ran"));
    plant_script(root, name, &format!("touch {}", trace.display()));
    trace
}

/// A hook.
pub fn plant_script(root: &Path, name: &str, script: &str) {
    let hook = root.join(".git/hooks").join(name);
    write(&hook, &format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("it is ours");
}
