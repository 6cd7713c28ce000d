//! Worktrees that are out of order: their repository was moved, or a killed git left a lock.

use std::fs;
use std::path::{Path, PathBuf};

use super::gates::utf8;
use super::{Maker, Repository, list, refused};
use crate::git::{Git, GitError, free_locks};

impl Repository {
    /// Connects Piton's worktrees with the repository again after both were moved together. git knows each of them by the
    /// absolute path of the other. A worktree whose recorded place is still there is left alone: this is a copy then.
    /// Returns the worktrees.
    pub fn repair(&self) -> Result<Vec<PathBuf>, GitError> {
        let common = list::common_directory(&self.root);
        let mut repaired = Vec::new();
        for listed in list::all(&self.root)?.into_iter().map(|entry| entry.listed) {
            if listed.is_there || listed.maker == Maker::User {
                continue;
            }
            let place = self.root.join(&self.inside).join(".worktrees").join(&listed.name);
            if is_of(&place, &common) && !has_repository(&place) {
                Git::at(&self.root).run(&["worktree", "repair", utf8(&place)?])?;
                repaired.push(place);
            }
        }
        Ok(repaired)
    }

    /// Removes locks that a killed git left in a worktree of Piton's, before another worker starts there.
    pub fn free_locks(&self, worktree: &Path) -> Result<(), GitError> {
        let freed = free_locks(&list::git_directory(worktree));
        freed.or_else(|error| refused(format!("cannot remove a lock of {}: {error}", worktree.display())))
    }
}

/// Whether a directory is a worktree that this repository administers, by the name that it has there.
fn is_of(place: &Path, common: &Path) -> bool {
    let is_link = place.symlink_metadata().is_ok_and(|found| found.file_type().is_symlink());
    let directory = list::git_directory(place);
    let Some(id) = directory.file_name().filter(|_| !is_link && directory != place) else { return false };
    let recorded = fs::read_to_string(common.join("worktrees").join(id).join("gitdir")).unwrap_or_default();
    let tree = Path::new(recorded.trim_end()).parent();
    tree.and_then(Path::file_name).is_some_and(|name| Some(name) == place.file_name())
}

/// Whether the repository that a worktree names is there.
fn has_repository(place: &Path) -> bool {
    list::git_directory(place).join("HEAD").exists()
}
