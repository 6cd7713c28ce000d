//! Lock files that git leaves behind when it is killed.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use crate::process;

/// A lock that is younger may belong to a git process that cannot be seen, on another machine or in another container.
const YOUNG: Duration = Duration::from_secs(10);

/// The lock file that git could not make because it was there. git was started with `LC_ALL=C`.
pub(crate) fn named_in(message: &str) -> Option<PathBuf> {
    let (_, rest) = message.split_once("Unable to create '")?;
    let (path, _) = rest.split_once("': File exists")?;
    Some(PathBuf::from(path))
}

/// Commands of git that only read. They may run for hours, with a pager.
const READERS: [&str; 14] = [
    "blame",
    "cat-file",
    "daemon",
    "diff",
    "fetch",
    "for-each-ref",
    "fsmonitor--daemon",
    "grep",
    "log",
    "ls-files",
    "rev-list",
    "shortlog",
    "show",
    "status",
];

/// Commands of git that use the index or move what is checked out. One that waits for an editor or a hook holds no lock,
/// and fails when the branch moves meanwhile.
const USERS: [&str; 17] = [
    "add",
    "am",
    "apply",
    "checkout",
    "cherry-pick",
    "commit",
    "merge",
    "mv",
    "pull",
    "read-tree",
    "rebase",
    "reset",
    "restore",
    "revert",
    "rm",
    "stash",
    "switch",
];

/// A git process that may hold a lock: it has the file open, or is one that writes and works in the same repository.
pub(crate) fn holder_of(lock: &Path) -> Option<u32> {
    let directory = git_directory_of(lock);
    let tree = work_tree_of(&directory);
    // A lock right in a git directory is one of its own work tree; others are taken from every work tree.
    let is_of_one = lock.parent() == Some(&directory) && !lock.ends_with("packed-refs.lock");
    let is_there = |cwd: &Path| match (&tree, is_of_one) {
        (Some(tree), true) => cwd.starts_with(&directory) || top_of(cwd) == Some(tree),
        (Some(tree), false) => cwd.starts_with(&directory) || cwd.starts_with(tree),
        (None, _) => cwd.starts_with(&directory),
    };
    let is_writer = |command: &str| !READERS.contains(&command);
    processes().find(|pid| has_open(*pid, lock) || is_git(*pid, &is_there, &is_writer))
}

/// A git process of the user that uses the index of a work tree or is about to move its branch, whether or not it holds a
/// lock just now.
pub(crate) fn user_of(tree: &Path) -> Option<u32> {
    let is_there = |cwd: &Path| top_of(cwd) == Some(tree);
    let is_user = |command: &str| USERS.contains(&command);
    processes().find(|pid| is_git(*pid, &is_there, &is_user) && !is_ours_by_environment(*pid))
}

/// Whether Piton started a git process.
fn is_ours_by_environment(pid: u32) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
    environment.split(|byte| *byte == 0).any(|entry| entry.starts_with(super::OURS.as_bytes()))
}

/// All processes that have not ended, but for this one.
fn processes() -> impl Iterator<Item = u32> {
    let own = std::process::id();
    let lives = move |pid: &u32| *pid != own && process::stat(*pid).is_some_and(|stat| !stat.has_ended());
    process::all().into_iter().filter(lives)
}

/// The top of the work tree that a directory is in.
fn top_of(directory: &Path) -> Option<&Path> {
    directory.ancestors().find(|each| super::is_top(each))
}

/// Whether a process is a git in such a directory with such a command.
fn is_git(pid: u32, is_there: &dyn Fn(&Path) -> bool, is_command: &dyn Fn(&str) -> bool) -> bool {
    let Ok(line) = fs::read(format!("/proc/{pid}/cmdline")) else { return false };
    let line = String::from_utf8_lossy(&line);
    let mut words = line.split('\0');
    words.next().is_some_and(|program| program.rsplit('/').next() == Some("git"))
        && command_in(words).is_some_and(is_command)
        && fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| is_there(&cwd))
}

/// The command among git's arguments: the first that is no option, nor an option's value.
fn command_in<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    loop {
        match words.next()? {
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--config-env" => drop(words.next()),
            option if option.starts_with('-') => {}
            command => return Some(command),
        }
    }
}

/// Whether no process that could hold a lock is left.
pub(crate) fn is_stale(lock: &Path) -> bool {
    let age = lock.metadata().and_then(|found| found.modified()).ok().and_then(|at| at.elapsed().ok());
    age.is_some_and(|age| age > YOUNG) && holder_of(lock).is_none()
}

/// Removes a lock that a killed process left where only Piton's own git and its workers' make any. Says whether it is
/// gone.
pub(crate) fn remove_if_ours(lock: &Path) -> bool {
    is_ours(lock) && is_stale(lock) && fs::remove_file(lock).is_ok()
}

/// Removes locks of a worktree that Piton made, whose worker has ended, unless a process holds them. How old they are does
/// not matter: what the worker started has ended with it.
pub(crate) fn free(git_directory: &Path) -> io::Result<()> {
    for name in ["index.lock", "HEAD.lock"] {
        let lock = git_directory.join(name);
        if super::is_marked(git_directory) && lock.exists() && holder_of(&lock).is_none() {
            fs::remove_file(&lock)?;
        }
    }
    Ok(())
}

/// Whether a lock is one of a worktree that Piton made, or of a ref that it keeps for itself.
fn is_ours(lock: &Path) -> bool {
    let text = lock.to_string_lossy();
    let is_ref = ["/refs/heads/piton/", "/refs/piton/"].iter().any(|part| text.contains(part));
    let directory = git_directory_of(lock);
    let is_scratch = fs::read_to_string(directory.join("locked")).is_ok_and(|reason| reason.starts_with("piton: "));
    is_ref || is_scratch || super::is_marked(&directory)
}

fn has_open(pid: u32, file: &Path) -> bool {
    let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    open.flatten().any(|entry| fs::read_link(entry.path()).is_ok_and(|target| target == file))
}

/// The git directory that a lock is in: a work tree's own, or the repository's.
fn git_directory_of(lock: &Path) -> PathBuf {
    let is_git_directory = |path: &&Path| path.join("HEAD").exists();
    let found = lock.ancestors().skip(1).find(is_git_directory);
    found.or(lock.parent()).unwrap_or(lock).to_owned()
}

/// The work tree of a git directory: named in it, or around it.
fn work_tree_of(directory: &Path) -> Option<PathBuf> {
    match fs::read_to_string(directory.join("gitdir")) {
        Ok(text) => Path::new(text.trim_end()).parent().map(Path::to_owned),
        Err(_) => directory.parent().map(Path::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_found_behind_options() {
        for (words, want) in [
            (&["log", "-p"][..], Some("log")),
            (&["-C", "log", "-c", "a=b", "--no-pager", "commit", "-m", "x"], Some("commit")),
            (&["--version"], None),
        ] {
            assert_eq!(command_in(words.iter().copied()), want, "{words:?}");
        }
    }

    #[test]
    fn the_lock_is_found_in_gits_words() {
        for (message, want) in [
            ("fatal: Unable to create '/r/.git/index.lock': File exists.\n\nAnother git…", Some("/r/.git/index.lock")),
            (
                "fatal: update_ref failed for ref 'refs/heads/m': cannot lock ref 'refs/heads/m': Unable to create '/r/.git/refs/heads/m.lock': File exists.",
                Some("/r/.git/refs/heads/m.lock"),
            ),
            ("fatal: cannot lock ref 'refs/heads/m': is at 11 but expected 22", None),
            ("fatal: Unable to create '/r/.git/index.lock': No space left on device", None),
        ] {
            assert_eq!(named_in(message).as_deref(), want.map(Path::new), "{message}");
        }
    }
}
