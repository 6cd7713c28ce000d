//! Git worktrees of workers: made, looked at, snapshotted, merged, cleaned up. Nothing is ever destroyed.
//!
//! All is done by `git` itself. Hooks of the repository do not run for what is done here.

mod advance;
mod clean;
mod create;
mod find;
mod fork;
mod gates;
mod ignored;
mod in_tree;
mod intent;
mod keep;
mod list;
mod merge;
mod own_work;
mod reattach;
mod repair;
mod restore;
mod settle;
mod snapshot;
mod state;
mod stray;
mod submodules;
mod texts;

pub use in_tree::InTree;
pub use list::around_made;
pub use own_work::{Dropped, LeftBranch};
pub use reattach::left_name;

use std::path::{Path, PathBuf};

use crate::git::{Git, GitError, failed};

/// A repository, by one of its work trees.
#[derive(Debug, Clone)]
pub struct Repository {
    /// The top of the work tree that holds the workspace.
    root: PathBuf,
    /// Where the workspace is below that; empty when it is the same.
    inside: PathBuf,
}

/// What is checked out in a work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    /// A branch.
    Branch {
        /// Its name.
        name: String,
        /// The commit that it is at.
        commit: String,
    },
    /// A branch that has no commit yet.
    Unborn {
        /// Its name.
        name: String,
    },
    /// A commit without a branch.
    Detached {
        /// The commit.
        commit: String,
    },
}

impl Head {
    /// The branch, if one is checked out.
    pub fn branch(&self) -> Option<&str> {
        match self {
            Head::Branch { name, .. } | Head::Unborn { name } => Some(name),
            Head::Detached { .. } => None,
        }
    }
}

/// A worktree that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWorktree {
    /// Where, relative to the workspace: `.worktrees/story-7`.
    pub path: PathBuf,
    /// Its branch: `feature/7-login`. Made at the base unless it is there.
    pub branch: String,
    /// What it starts from: a branch or a commit.
    pub base: String,
    /// Whether the caller knows that it made this branch before. Any other branch of that name is a person's.
    pub is_known: bool,
}

/// What became of a worktree that was wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Creation {
    /// It is there now.
    Ready(Created),
    /// A branch of that name is there that the caller did not make. Nothing has changed.
    Exists(ExistingBranch),
}

/// A branch that the caller did not make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExistingBranch {
    /// Its name.
    pub branch: String,
    /// The commit that it is at.
    pub tip: String,
    /// Whether the base has all of it.
    pub is_merged: bool,
}

/// A worktree that is there now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    /// Its top, absolute.
    pub path: PathBuf,
    /// Where the workspace is in it: the top, unless the workspace is a subdirectory of its repository.
    pub directory: PathBuf,
    /// Its branch.
    pub branch: String,
    /// Whether it was there before, with whatever is in it.
    pub was_there: bool,
    /// The commit that its branch started from, as far as that was written down.
    pub start: Option<String>,
}

/// A detached worktree that gates run in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scratch {
    /// Its top, absolute.
    pub path: PathBuf,
    /// Where the workspace is in it.
    pub directory: PathBuf,
    /// The commit that was checked out.
    pub commit: String,
    /// The tree that is judged: the commit's, with what `restore_files` put into it.
    pub tree: String,
}

/// Who made a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maker {
    /// Piton, for a worker.
    Piton,
    /// Piton, for gates.
    Scratch,
    /// Somebody else: it is not touched.
    User,
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
    /// The reason with which it is locked, if it is.
    pub locked: Option<String>,
    /// Who made it.
    pub maker: Maker,
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

/// What a merge would be. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prepared {
    /// The base has everything already.
    AlreadyMerged,
    /// A commit that has both.
    Candidate(Candidate),
    /// Both changed the same.
    Conflict {
        /// The files in question.
        files: Vec<String>,
    },
}

/// A commit that has a branch and its base, and that no branch is at yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The branch that gets it.
    pub base_branch: String,
    /// Where that was.
    pub base_commit: String,
    /// The branch with the work.
    pub branch: String,
    /// Where that was.
    pub branch_commit: String,
    /// The commit that has both.
    pub commit: String,
    /// Its files: the same for the same work, whatever the commit's time.
    pub tree: String,
    /// Whether that is the branch's own commit.
    pub is_fast_forward: bool,
}

/// What became of a branch that was to be moved forward.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Advanced {
    /// It is at the candidate's commit, or beyond.
    Moved,
    /// It is not where it was any more. Nothing has changed: prepare again.
    BaseMoved {
        /// Where it is now; nothing when it is gone.
        now: Option<String>,
    },
    /// The user's work tree is in the way. Nothing has changed: try again later.
    Blocked {
        /// Why, as a fragment.
        reason: String,
        /// The uncommitted files in the way.
        files: Vec<String>,
    },
}

/// Commits that a worker made outside of its branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stray {
    /// The branch that has them; nothing when no branch is checked out.
    pub branch: Option<String>,
    /// Where it is.
    pub tip: String,
    /// How many commits the worker's branch does not have.
    pub commits: u64,
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
    /// The top of the work tree that holds the workspace, absolute.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where the workspace is below the root; empty when it is the root.
    pub fn inside(&self) -> &Path {
        &self.inside
    }

    /// All worktrees but the main one and the workspace's own.
    pub fn worktrees(&self) -> Result<Vec<Listed>, GitError> {
        let all = list::all(&self.root)?.into_iter().skip(1).map(|each| each.listed);
        Ok(all.filter(|listed| listed.path != self.root).collect())
    }

    fn git(&self) -> Git {
        Git::at(&self.root)
    }

    /// The commit that a name means: a branch, else a commit or anything else that git knows.
    fn commit(&self, name: &str) -> Result<String, GitError> {
        match self.resolve(name)? {
            Some(commit) => Ok(commit),
            None => refused(format!("no such branch or commit: {name}")),
        }
    }

    fn resolve(&self, name: &str) -> Result<Option<String>, GitError> {
        let is_exact = name == "HEAD" || name.starts_with("refs/") || is_hash(name);
        let places = if is_exact { vec![name.to_owned()] } else { vec![merge::full(name), name.to_owned()] };
        for place in places {
            let wanted = format!("{place}^{{commit}}");
            let question = ["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted];
            let said = self.git().ask(&question)?;
            if said.is_success() {
                return Ok(Some(said.text()));
            }
            if said.is_failure() {
                return Err(failed(&question, &said));
            }
        }
        Ok(None)
    }
}

/// Whether a name is a commit's whole hash.
fn is_hash(name: &str) -> bool {
    matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn refused<T>(message: String) -> Result<T, GitError> {
    Err(GitError::Refused { message, hint: None })
}

fn refused_with<T>(message: String, hint: String) -> Result<T, GitError> {
    Err(GitError::Refused { message, hint: Some(hint) })
}
