//! Git worktrees of workers: made, looked at, snapshotted, merged, cleaned up. Nothing is ever destroyed.
//!
//! All is done by `git` itself. Hooks of the repository do not run for what is done here.

mod clean;
mod create;
mod list;
mod merge;
mod restore;
mod snapshot;
mod state;

use std::path::{Path, PathBuf};

use crate::git::{Git, GitError};

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
    /// The name that commands take: where it is below `.worktrees`, else the last part of its path.
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

/// Where a snapshot is restored to. Nothing may be there yet, or an empty directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestoreTo {
    /// A new worktree: no branch is checked out there, and what was uncommitted is so again.
    Worktree(PathBuf),
    /// A directory that git knows nothing of.
    Files(PathBuf),
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
        let listed = list::all(&Git::at(directory))?;
        match listed.into_iter().next() {
            Some(main) if main.is_bare => refused(format!("{} has no work tree", main.listed.path.display())),
            Some(main) => Ok(Repository { root: main.listed.path }),
            None => refused(format!("git lists no work tree of {}", directory.display())),
        }
    }

    /// Its main work tree, absolute.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The branch that is checked out in the main work tree.
    pub fn base_branch(&self) -> Result<String, GitError> {
        match self.git().ask(&["symbolic-ref", "--quiet", "--short", "HEAD"])? {
            said if said.code == Some(0) => Ok(said.text()),
            _ => refused(format!(
                "no branch is checked out in {0}: check one out with git -C {0} switch BRANCH",
                self.root.display()
            )),
        }
    }

    /// All worktrees but the main one.
    pub fn worktrees(&self) -> Result<Vec<Listed>, GitError> {
        Ok(list::all(&self.git())?.into_iter().skip(1).map(|each| each.listed).collect())
    }

    fn git(&self) -> Git {
        Git::at(&self.root)
    }

    /// The commit that a name means.
    fn commit(&self, name: &str) -> Result<String, GitError> {
        let wanted = format!("{name}^{{commit}}");
        self.git().run(&["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted]).map_err(
            |error| match error {
                GitError::Failed { .. } => GitError::Refused { message: format!("no such branch or commit: {name}") },
                other => other,
            },
        )
    }
}

fn refused<T>(message: String) -> Result<T, GitError> {
    Err(GitError::Refused { message })
}
