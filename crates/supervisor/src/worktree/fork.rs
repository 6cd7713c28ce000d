//! Where a branch left another one, and whether all of it came back.

use super::Repository;
use super::merge::full;
use crate::git::{Git, GitError, failed};

/// How many commits of a branch are looked at for the one with which another branch was merged.
const MOST_MERGES: &str = "100";

/// Where two histories parted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fork {
    /// The newest commit that both have.
    At(String),
    /// They have no commit in common: everything is new since the empty tree.
    Unrelated {
        /// The empty tree.
        tree: String,
    },
}

impl Fork {
    /// What a history is compared with.
    pub fn tree(&self) -> &str {
        match self {
            Fork::At(commit) => commit,
            Fork::Unrelated { tree } => tree,
        }
    }
}

/// Where two commits of a work tree parted.
pub(super) fn fork_in(git: &Git, one: &str, other: &str) -> Result<Fork, GitError> {
    let question = ["merge-base", one, other];
    let said = git.ask(&question)?;
    match said.code {
        Some(0) => Ok(Fork::At(said.text())),
        Some(1) => Ok(Fork::Unrelated { tree: git.run(&["hash-object", "-t", "tree", "/dev/null"])? }),
        _ => Err(failed(&question, &said)),
    }
}

impl Repository {
    pub(super) fn fork_of(&self, one: &str, other: &str) -> Result<Fork, GitError> {
        fork_in(&self.git(), one, other)
    }

    /// Whether a branch has all that a commit has, or had it once: the commit itself, or its changes in another form, as
    /// after a squash. A commit that the repository does not have is nowhere.
    pub fn has_taken(&self, branch: &str, commit: &str) -> Result<bool, GitError> {
        let (branch, Some(commit)) = (full(branch), self.resolve(commit)?) else { return Ok(false) };
        if self.is_ancestor(&commit, &branch)? {
            return Ok(true);
        }
        let Fork::At(fork) = self.fork_of(&branch, &commit)? else { return Ok(false) };
        // What was merged may have been changed since.
        let list = ["rev-list", "--first-parent", "-n", MOST_MERGES, &format!("{fork}..{branch}"), "--"];
        for merged in self.git().run(&list)?.lines() {
            if !self.adds_to_commit(&commit, merged)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a branch lost what a commit changed: a file is as it was where the two parted. Files that the branch changed since
    /// may have the change in another form: a commit that was amended, squashed with others, or rebased over a conflict.
    pub fn has_lost(&self, branch: &str, commit: &str) -> Result<bool, GitError> {
        if self.has_taken(branch, commit)? {
            return Ok(false);
        }
        let (branch, Some(commit)) = (full(branch), self.resolve(commit)?) else { return Ok(true) };
        let Fork::At(fork) = self.fork_of(&branch, &commit)? else { return Ok(true) };
        let since = self.changed_files(&fork, &branch)?;
        Ok(self.changed_files(&fork, &commit)?.iter().any(|path| !since.contains(path)))
    }
}
