//! Git worktrees of workers: made, looked at, snapshotted, merged, cleaned up. Nothing is ever destroyed.
//!
//! All is done by `git` itself. Hooks of the repository do not run for what is done here.

use std::path::{Path, PathBuf};

use crate::git::GitError;

/// A repository, by its main work tree.
#[derive(Debug, Clone)]
pub struct Repository {
    root: PathBuf,
}

/// A worktree that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWorktree {
    /// Where, relative to the main work tree: `.worktrees/story-7`.
    pub path: PathBuf,
    /// Its branch: `feature/7-login`. Made at the base unless it is there.
    pub branch: String,
    /// What it starts from: a branch or a commit.
    pub base: String,
}

/// A worktree that is there now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    /// Where, absolute.
    pub path: PathBuf,
    /// Its branch.
    pub branch: String,
    /// Whether it was there before, with whatever is in it.
    pub was_there: bool,
}

/// A worktree, as git lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The last part of its path: the name that commands take.
    pub name: String,
    /// Where, absolute.
    pub path: PathBuf,
    /// The commit that is checked out.
    pub head: String,
    /// The branch; nothing when none is checked out.
    pub branch: Option<String>,
    /// Whether its directory is there.
    pub is_there: bool,
    /// Why somebody locked it, if so.
    pub locked: Option<String>,
}

/// How a worktree stands against a base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeState {
    /// Files that are changed, staged or not tracked; ignored ones are not among them.
    pub changed: Vec<String>,
    /// Commits that the base does not have.
    pub ahead: u64,
    /// Commits of the base that it does not have.
    pub behind: u64,
    /// A merge, rebase or the like that is under way.
    pub under_way: Option<&'static str>,
    /// What else in it would be lost and no snapshot holds: a journal of its own, a repository within it.
    pub holds: Vec<String>,
}

impl WorktreeState {
    /// Whether nothing in it is uncommitted.
    pub fn is_clean(&self) -> bool {
        self.changed.is_empty() && self.under_way.is_none() && self.holds.is_empty()
    }

    /// Whether the base has all of its commits.
    pub fn is_merged(&self) -> bool {
        self.ahead == 0
    }
}

/// What was done on a branch since it left its base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Commits.
    pub commits: u64,
    /// Files that differ.
    pub files: u64,
    /// Lines that came.
    pub insertions: u64,
    /// Lines that went.
    pub deletions: u64,
}

/// A snapshot: a commit outside of all branches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The name of what was snapshotted.
    pub name: String,
    /// When, in seconds since 1970.
    pub at: i64,
    /// Its full ref: `refs/piton/snapshots/NAME/TIME`.
    pub reference: String,
    /// Its commit.
    pub commit: String,
}

/// A merge that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merging {
    /// The branch with the work.
    pub branch: String,
    /// The branch that gets it.
    pub base: String,
    /// What the commit says, when one is needed.
    pub message: String,
}

/// What became of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merge {
    /// The base had everything already.
    AlreadyMerged,
    /// The base was moved forward.
    FastForwarded {
        /// Its commit now.
        commit: String,
    },
    /// A commit was made that has both.
    Merged {
        /// That commit, and the base's now.
        commit: String,
    },
    /// Both changed the same. Nothing has changed.
    Conflict {
        /// The files in question.
        files: Vec<String>,
    },
    /// It would touch what is not committed, or something else is under way. Nothing has changed.
    Blocked {
        /// Why, as a fragment, with the files in question.
        reason: String,
    },
}

/// What became of a clean-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal {
    /// The directory is gone; branch and snapshot stay.
    Removed {
        /// What was in it.
        snapshot: Snapshot,
    },
    /// It stays where it is.
    Kept(Kept),
}

/// Why a worktree stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Why, as fragments.
    pub reasons: Vec<String>,
    /// What is in it, so that it cannot be lost even so.
    pub snapshot: Option<Snapshot>,
}

/// What was restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The snapshot.
    pub snapshot: Snapshot,
    /// Where its files are now, absolute.
    pub path: PathBuf,
}

impl Repository {
    /// The repository that holds a directory, from any of its worktrees.
    pub fn open(directory: &Path) -> Result<Repository, GitError> {
        let _ = directory;
        Err(unfinished())
    }

    /// Its main work tree, absolute.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The branch that is checked out in the main work tree.
    pub fn base_branch(&self) -> Result<String, GitError> {
        Err(unfinished())
    }

    /// All worktrees but the main one.
    pub fn worktrees(&self) -> Result<Vec<Listed>, GitError> {
        Err(unfinished())
    }

    /// Makes a worktree, or takes the one that is there, as it is. Refuses when something else stands in its place.
    pub fn create(&self, _wanted: &NewWorktree) -> Result<Created, GitError> {
        Err(unfinished())
    }

    /// How a worktree stands against a base.
    pub fn state(&self, _worktree: &Path, _base: &str) -> Result<WorktreeState, GitError> {
        Err(unfinished())
    }

    /// What was done in a worktree since it left its base, committed or not.
    pub fn statistics(&self, _worktree: &Path, _base: &str) -> Result<Statistics, GitError> {
        Err(unfinished())
    }

    /// Keeps all tracked and untracked files of a worktree (ignored ones not) as a commit under
    /// `refs/piton/snapshots/NAME/TIME`. Index, branches and stash are not touched.
    pub fn snapshot(&self, _worktree: &Path, _name: &str, _at: i64) -> Result<Snapshot, GitError> {
        Err(unfinished())
    }

    /// All snapshots, the newest of each name first.
    pub fn snapshots(&self) -> Result<Vec<Snapshot>, GitError> {
        Err(unfinished())
    }

    /// Brings a branch into its base, when that touches nothing uncommitted.
    pub fn merge(&self, _merging: &Merging) -> Result<Merge, GitError> {
        Err(unfinished())
    }

    /// Removes a worktree when everything in it is committed and merged; else it stays. A snapshot is made before.
    pub fn remove(&self, _worktree: &Path, _base: &str, _at: i64) -> Result<Removal, GitError> {
        Err(unfinished())
    }

    /// Puts the files of a snapshot into a new worktree: no branch is checked out there, and what was uncommitted is so
    /// again.
    pub fn restore(&self, _snapshot: &Snapshot, _to: &Path) -> Result<Restored, GitError> {
        Err(unfinished())
    }
}

fn unfinished() -> GitError {
    GitError::Refused { message: "worktrees are not there yet".to_owned() }
}
