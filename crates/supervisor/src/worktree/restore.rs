//! Brings a snapshot back.

use std::fs;
use std::path::{Path, PathBuf};

use super::create::mark;
use super::snapshot::TemporaryIndex;
use super::{Repository, RestoreTo, Restored, Snapshot, refused};
use crate::git::{Git, GitError};

impl Repository {
    /// Brings back the files of a snapshot. Nothing is overwritten: where something is already, it is refused.
    pub fn restore(&self, snapshot: &Snapshot, to: &RestoreTo) -> Result<Restored, GitError> {
        let path = match to {
            RestoreTo::Worktree(path) => self.restore_worktree(snapshot, path)?,
            RestoreTo::Files(path) => self.write_files(snapshot, path)?,
        };
        Ok(Restored { snapshot: snapshot.clone(), path })
    }

    fn restore_worktree(&self, snapshot: &Snapshot, to: &Path) -> Result<PathBuf, GitError> {
        let text = free(to)?;
        let parent = self.git().ask(&["rev-parse", "--verify", "--quiet", &format!("{}^1", snapshot.commit)])?;
        let Some(0) = parent.code else {
            return refused("it was taken before the first commit: restore it with --to DIR".to_owned());
        };
        let parent = parent.text();
        self.git().run(&["worktree", "add", "--quiet", "--detach", "--no-checkout", text, &parent])?;
        let git = Git::at(to);
        git.run(&["read-tree", "--reset", "-u", &snapshot.commit])?;
        // The files stay; what was uncommitted is so again.
        git.run(&["read-tree", "--reset", &parent])?;
        mark(to, &format!("snapshot {}\n", snapshot.reference))?;
        fs::canonicalize(to).or_else(|error| refused(format!("cannot open {text}: {error}")))
    }

    fn write_files(&self, snapshot: &Snapshot, to: &Path) -> Result<PathBuf, GitError> {
        let text = free(to)?;
        fs::create_dir_all(to).or_else(|error| refused(format!("cannot make {text}: {error}")))?;
        let absolute = fs::canonicalize(to).or_else(|error| refused(format!("cannot open {text}: {error}")))?;
        let Some(prefix) = absolute.to_str().map(|path| format!("--prefix={path}/")) else {
            return refused(format!("a path is not UTF-8: {}", absolute.display()));
        };
        let index = TemporaryIndex::empty(&self.git())?;
        let git = self.git().with_index(&index.path);
        git.run(&["read-tree", &snapshot.commit])?;
        git.run(&["checkout-index", "--all", "--quiet", &prefix])?;
        Ok(absolute)
    }
}

/// A path at which there is nothing yet.
fn free(path: &Path) -> Result<&str, GitError> {
    let Some(text) = path.to_str() else { return refused(format!("a path is not UTF-8: {}", path.display())) };
    let is_empty = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    match path.symlink_metadata() {
        Ok(_) if !is_empty => refused(format!("something is there already: {text}")),
        _ => Ok(text),
    }
}
