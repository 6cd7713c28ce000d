//! Puts a worktree back on its own branch, where a worker renamed the branch or committed on a detached HEAD.

use std::path::Path;

use super::merge::full;
use super::state::under_way;
use super::{Head, Repository};
use crate::git::{Git, GitError};

/// How many entries of a branch's reflog are looked at for a rename.
const MOST_ENTRIES: &str = "50";

/// The name that a branch gets whose commits its user does not want to be merged.
pub fn left_name(branch: &str) -> String {
    format!("left/{branch}")
}

impl Repository {
    /// Puts a worktree back on its branch, with all commits that were made there, and says where it was; nothing when it is
    /// there, or when that cannot be told for certain. No file changes.
    pub fn reattach(&self, tree: &Path, branch: &str) -> Result<Option<String>, GitError> {
        let git = Git::at(tree);
        match (self.head_in(tree)?, self.tip(branch)?) {
            (Head::Branch { name, .. }, None)
                if name != branch && name != left_name(branch) && self.was_renamed(branch, &name)? =>
            {
                git.run(&["branch", "-m", &name, branch])?;
                Ok(Some(name))
            }
            (Head::Detached { commit }, Some(tip))
                if under_way(&git)?.is_none() && self.is_ancestor(&tip, &commit)? =>
            {
                git.run(&["update-ref", "-m", "piton: reattached", &full(branch), &commit, &tip])?;
                git.run(&["symbolic-ref", "-m", "piton: reattached", "HEAD", &full(branch)])?;
                Ok(Some("a detached HEAD".to_owned()))
            }
            _ => Ok(None),
        }
    }

    /// Whether a branch had another name before: its reflog says so.
    fn was_renamed(&self, from: &str, to: &str) -> Result<bool, GitError> {
        let (from, to) = (full(from), full(to));
        let question = ["log", "--walk-reflogs", "-n", MOST_ENTRIES, "--format=%gs", &to, "--"];
        let entry = format!("Branch: renamed {from} to {to}");
        Ok(self.git().ask(&question)?.text().lines().any(|line| line == entry))
    }
}
