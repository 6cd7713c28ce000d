//! Where a worker's commits and outputs are, when they are not where they belong.

use std::collections::BTreeMap;
use std::path::Path;

use super::find::head_of;
use super::merge::full;
use super::{Head, Repository, Stray};
use crate::git::{Git, GitError, failed, split};

/// How many movements of a worktree's HEAD are looked at.
const MOVEMENTS: &str = "1000";

impl Repository {
    /// What is checked out in a worktree.
    pub fn head_in(&self, worktree: &Path) -> Result<Head, GitError> {
        head_of(&Git::at(worktree))
    }

    /// Commits that were made in a worktree and that its branch does not have: on another branch, or on none. Commits that
    /// were replaced (amended, rebased) and that no branch has do not count, unless they are checked out.
    pub fn commits_outside(&self, worktree: &Path, branch: &str) -> Result<Vec<Stray>, GitError> {
        let git = Git::at(worktree);
        let own = full(branch);
        let mut found = BTreeMap::new();
        let head = head_of(&git)?;
        if let Head::Branch { commit, .. } | Head::Detached { commit } = &head
            && head.branch() != Some(branch)
        {
            found.insert(head.branch().map(str::to_owned), commit.clone());
        }
        let log = ["log", "--walk-reflogs", "-n", MOVEMENTS, "--format=%H %gs", "HEAD", "--"];
        let movements = git.ask(&log)?;
        let made = movements.text();
        let made = made.lines().filter_map(|line| line.split_once(" commit")).map(|(hash, _)| hash);
        for commit in made {
            if self.is_ancestor(commit, &own)? {
                continue;
            }
            let format = "--format=%(objectname) %(refname:lstrip=2)";
            let holders = git.run(&["for-each-ref", format, "--contains", commit, "refs/heads"])?;
            for (tip, name) in holders.lines().filter_map(|line| line.split_once(' ')) {
                found.insert(Some(name.to_owned()), tip.to_owned());
            }
        }
        let mut strays = Vec::new();
        for (branch, tip) in found {
            let commits = git.run(&["rev-list", "--count", &tip, "--not", &own])?.parse().unwrap_or(0);
            if commits > 0 {
                strays.push(Stray { branch, tip, commits });
            }
        }
        Ok(strays)
    }

    /// Those of some paths that git ignores in a worktree, so that no commit has them. Paths are relative to the worktree.
    pub fn ignored(&self, worktree: &Path, paths: &[String]) -> Result<Vec<String>, GitError> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let question = ["check-ignore", "-z", "--stdin"];
        let said = Git::at(worktree).tell(&question, (paths.join("\0") + "\0").as_bytes())?;
        match said.code {
            Some(0 | 1) => Ok(split(&said.out)),
            _ => Err(failed(&question, &said)),
        }
    }
}
