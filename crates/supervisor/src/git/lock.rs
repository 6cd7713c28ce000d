//! Lock files that git leaves behind when it is killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::process;

/// A lock that is younger may belong to a git process that cannot be seen, on another machine or in another container.
const YOUNG: Duration = Duration::from_secs(10);

/// The lock file that git could not make because it was there. git was started with `LC_ALL=C`.
pub(crate) fn named_in(message: &str) -> Option<PathBuf> {
    let (_, rest) = message.split_once("Unable to create '")?;
    let (path, _) = rest.split_once("': File exists")?;
    Some(PathBuf::from(path))
}

/// A git process that may hold a lock: it has the file open, or works in the same repository.
pub(crate) fn holder_of(lock: &Path) -> Option<u32> {
    let directory = git_directory_of(lock);
    let tree = work_tree_of(&directory);
    let own = std::process::id();
    process::all().into_iter().filter(|pid| *pid != own).find(|pid| {
        let link = |name: &str| fs::read_link(format!("/proc/{pid}/{name}"));
        let is_git = || fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with("git"));
        let works_there = || {
            link("cwd")
                .is_ok_and(|cwd| cwd.starts_with(&directory) || tree.as_ref().is_some_and(|tree| cwd.starts_with(tree)))
        };
        let has_ended = || process::stat(*pid).is_none_or(|stat| stat.has_ended());
        (has_open(*pid, lock) || (is_git() && works_there())) && !has_ended()
    })
}

/// Removes a lock that a killed process left in a place where nobody but Piton's own git and its workers' makes any.
/// Says whether it is gone.
pub(crate) fn remove_if_ours(lock: &Path) -> bool {
    let age = lock.metadata().and_then(|found| found.modified()).ok().and_then(|at| at.elapsed().ok());
    is_ours(lock) && age.is_some_and(|age| age > YOUNG) && holder_of(lock).is_none() && fs::remove_file(lock).is_ok()
}

/// Whether a lock is one of a worktree that Piton made, or of a ref that it keeps for itself.
fn is_ours(lock: &Path) -> bool {
    let text = lock.to_string_lossy();
    let is_ref = ["/refs/heads/piton/", "/refs/piton/"].iter().any(|part| text.contains(part));
    is_ref || super::is_marked(&git_directory_of(lock))
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
