//! Puts a work tree back in order in which git was killed, or failed, while it moved a branch.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::find::head_of;
use super::intent::Written;
use super::merge::full;
use super::snapshot::TemporaryIndex;
use super::{Head, Repository, list, refused};
use crate::git::{Git, GitError, holder_of, split};

/// How long a process is waited for that may hold a lock.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);

/// A repository in a work tree: its files are not ours to write.
const SUBMODULE: &str = "160000";

/// A file that differs between two commits.
#[derive(Debug)]
pub(super) struct Difference {
    path: String,
    is_in_from: bool,
    is_in_to: bool,
}

impl Repository {
    /// Puts work trees back in order in which a git of a killed lead left half of a merge, and removes its lock files.
    /// Every file that is neither as before nor as after the merge is the user's, and stays. Returns the work trees.
    ///
    /// [`Repository::advance`] does it too. A lead does it when it begins, since it may have nothing to merge.
    pub fn recover(&self) -> Result<Vec<PathBuf>, GitError> {
        let mut found = Vec::new();
        for listed in list::all(&self.root)?.into_iter().map(|entry| entry.listed).filter(|each| each.is_there) {
            if let Some(written) = Written::find(&listed.path)? {
                self.settle(&listed.path, written)?;
                found.push(listed.path);
            }
        }
        Ok(found)
    }

    pub(super) fn settle(&self, tree: &Path, written: Written) -> Result<(), GitError> {
        written.wait()?;
        let git = Git::at(tree);
        let intent = &written.intent;
        let directory = list::git_directory(tree);
        let common = list::common_directory(tree);
        let head = head_of(&git)?;
        let is_here = head.branch() == Some(intent.branch.as_str());
        let locks = [
            (true, common.join(format!("{}.lock", full(&intent.branch)))),
            (true, common.join("packed-refs.lock")),
            (is_here, directory.join("index.lock")),
            (is_here, directory.join("HEAD.lock")),
        ];
        for (_, lock) in locks.iter().filter(|(is_ours, _)| *is_ours) {
            remove_stale(lock)?;
        }
        // Anything else was checked out by the user since, or it has been done.
        let is_half = match head {
            Head::Branch { commit, .. } => is_here && commit == intent.from,
            Head::Unborn { .. } | Head::Detached { .. } => false,
        };
        if is_half {
            self.roll_back(tree, &written)?;
        }
        written.remove()
    }

    /// Files that differ between two commits and are not as in the first one. A file that is not there is none of them:
    /// git makes it again.
    pub(super) fn dirty(&self, tree: &Path, from: &str, to: &str) -> Result<Vec<String>, GitError> {
        let differences = self.differences(from, to)?;
        let not_from = not_as_in(tree, from)?.1;
        let is_dirty =
            |each: &&Difference| is_present(tree, &each.path) && !is_as_in(tree, each, each.is_in_from, &not_from);
        Ok(differences.iter().filter(is_dirty).map(|each| each.path.clone()).collect())
    }

    /// Makes index and files as they were before: what git has written already is in the commit that it was to move to.
    fn roll_back(&self, tree: &Path, written: &Written) -> Result<(), GitError> {
        let intent = &written.intent;
        let git = Git::at(tree);
        // Entries as in the one become those of the other; any other entry is the user's, and then nothing is done.
        git.ask(&["read-tree", "-m", &intent.to, &intent.from])?;
        let (index, not_from) = not_as_in(tree, &intent.from)?;
        let not_to = not_as_in(tree, &intent.to)?.1;
        let mut restored = String::new();
        for each in self.differences(&intent.from, &intent.to)? {
            let is_from = is_as_in(tree, &each, each.is_in_from, &not_from);
            if intent.dirty.contains(&each.path) || is_from {
                continue;
            }
            let is_gits = !is_present(tree, &each.path)
                || is_as_in(tree, &each, each.is_in_to, &not_to)
                || (each.is_in_to && is_beginning(&git, tree, &intent.to, &each.path)?);
            match (is_gits, each.is_in_from) {
                (false, _) => {}
                (true, true) => restored.extend([each.path.as_str(), "\0"]),
                (true, false) => remove_made(tree, Path::new(&each.path))?,
            }
        }
        if !restored.is_empty() {
            let checkout = ["checkout-index", "--force", "--quiet", "-z", "--stdin"];
            let said = Git::at(tree).with_index(&index.path).tell(&checkout, restored.as_bytes())?;
            if !said.is_success() {
                return refused(format!("cannot put {} back in order: {}", tree.display(), said.err.trim()));
            }
        }
        git.ask(&["update-index", "-q", "--refresh"]).map(drop)
    }

    fn differences(&self, from: &str, to: &str) -> Result<Vec<Difference>, GitError> {
        let out = self.git().bytes(&["diff-tree", "-r", "-z", "--raw", "--no-renames", from, to])?;
        let parts = split(&out);
        let each = |(meta, path): (&String, &String)| {
            let words: Vec<&str> = meta.trim_start_matches(':').split(' ').collect();
            let [before, after, ..] = words[..] else { return None };
            let is_file = before != SUBMODULE && after != SUBMODULE;
            let is_there = |mode: &str| mode != "000000";
            is_file.then(|| Difference { path: path.clone(), is_in_from: is_there(before), is_in_to: is_there(after) })
        };
        Ok(parts.iter().zip(parts.iter().skip(1)).step_by(2).filter_map(each).collect())
    }
}

/// The files of a commit that a work tree does not have as they are there, and an index of that commit.
fn not_as_in(tree: &Path, commit: &str) -> Result<(TemporaryIndex, BTreeSet<String>), GitError> {
    // The copy knows which files have not changed, so that only others are read.
    let index = TemporaryIndex::copy(&Git::at(tree))?;
    let git = Git::at(tree).with_index(&index.path);
    git.run(&["read-tree", "--reset", commit])?;
    // Its exit status says that some files differ.
    git.ask(&["update-index", "-q", "--refresh"])?;
    let names = split(&git.bytes(&["diff-files", "--name-only", "-z", "--ignore-submodules=all"])?);
    Ok((index, names.into_iter().collect()))
}

fn is_as_in(tree: &Path, each: &Difference, is_in_commit: bool, differing: &BTreeSet<String>) -> bool {
    match is_in_commit {
        true => !differing.contains(&each.path),
        false => !is_present(tree, &each.path),
    }
}

fn is_present(tree: &Path, path: &str) -> bool {
    tree.join(path).symlink_metadata().is_ok()
}

/// Whether a file is the beginning of what git was to write there.
fn is_beginning(git: &Git, tree: &Path, commit: &str, path: &str) -> Result<bool, GitError> {
    let file = tree.join(path);
    if !file.symlink_metadata().is_ok_and(|found| found.is_file()) {
        return Ok(false);
    }
    let Ok(begun) = fs::read(&file) else { return Ok(false) };
    let said = git.ask(&["cat-file", "--filters", &format!("{commit}:{path}")])?;
    Ok(said.is_success() && said.out.starts_with(&begun))
}

/// Removes a file that git made, and its directories where nothing else is in them.
fn remove_made(tree: &Path, path: &Path) -> Result<(), GitError> {
    let is_linked = |parent: &&Path| tree.join(parent).symlink_metadata().is_ok_and(|found| !found.is_dir());
    if path.ancestors().skip(1).any(|parent| is_linked(&parent)) {
        return Ok(());
    }
    match fs::remove_file(tree.join(path)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return refused(format!("cannot remove {}: {error}", tree.join(path).display()));
        }
        _ => {}
    }
    for parent in path.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty()) {
        if fs::remove_dir(tree.join(parent)).is_err() {
            break;
        }
    }
    Ok(())
}

/// Removes a lock file that a killed git left. One that a process still holds after a while is an error.
fn remove_stale(lock: &Path) -> Result<(), GitError> {
    let until = Instant::now() + PATIENCE;
    while lock.symlink_metadata().is_ok() {
        match holder_of(lock) {
            Some(pid) if Instant::now() >= until => {
                return Err(GitError::Locked { lock: lock.to_owned(), holder: Some(pid) });
            }
            Some(_) => std::thread::sleep(PAUSE),
            None => {
                return fs::remove_file(lock)
                    .or_else(|error| refused(format!("cannot remove {}: {error}", lock.display())));
            }
        }
    }
    Ok(())
}
