//! Works out what a merge would be, and moves no branch.

use super::{Candidate, Merging, Prepared, Repository};
use crate::git::{GitError, failed, split, split_keeping_empty};

impl Repository {
    /// Works out the commit that has both a branch and its base. No branch, index or file changes: the commit is an object
    /// that nothing refers to yet.
    pub fn prepare(&self, merging: &Merging) -> Result<Prepared, GitError> {
        let base = self.commit(&full(&merging.base))?;
        let branch = self.commit(&full(&merging.branch))?;
        self.prepare_commits(merging, &base, &branch)
    }

    /// The same for commits: a branch may move meanwhile.
    pub(super) fn prepare_commits(&self, merging: &Merging, base: &str, branch: &str) -> Result<Prepared, GitError> {
        let git = self.git();
        if self.is_ancestor(branch, base)? {
            return Ok(Prepared::AlreadyMerged);
        }
        if self.is_ancestor(base, branch)? {
            let tree = git.run(&["rev-parse", "--verify", &format!("{branch}^{{tree}}")])?;
            return Ok(Prepared::Candidate(candidate(merging, base, branch, branch.to_owned(), tree)));
        }
        let question = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", base, branch];
        let said = git.ask(&question)?;
        let mut parts = split_keeping_empty(&said.out).into_iter().filter(|part| !part.is_empty());
        let tree = parts.next().unwrap_or_default();
        match said.code {
            Some(0) => Ok(Prepared::Candidate(self.commit_merge(merging, base, branch, tree)?)),
            Some(1) => Ok(Prepared::Conflict { files: parts.collect() }),
            _ => Err(failed(&question, &said)),
        }
    }

    /// Makes the commit of a merge: in the user's name, if there is one.
    pub(super) fn commit_merge(
        &self,
        merging: &Merging,
        base: &str,
        branch: &str,
        tree: String,
    ) -> Result<Candidate, GitError> {
        let arguments = ["commit-tree", "-p", base, "-p", branch, "-m", &merging.message, &tree];
        let has_name = self.git().ask(&["var", "GIT_COMMITTER_IDENT"])?.is_success();
        let git = if has_name { self.git() } else { self.git().in_our_name() };
        let commit = git.run(&arguments)?;
        Ok(candidate(merging, base, branch, commit, tree))
    }

    /// The files that differ between two commits, with those that only one of them has.
    pub fn changed_files(&self, from: &str, to: &str) -> Result<Vec<String>, GitError> {
        let (from, to) = (self.commit(from)?, self.commit(to)?);
        Ok(split(&self.git().bytes(&["diff-tree", "-r", "-z", "--name-only", "--no-renames", &from, &to])?))
    }

    /// Whether a branch or commit has a commit in its history. One that the repository does not have is in no history.
    pub fn is_reachable(&self, commit: &str, from: &str) -> Result<bool, GitError> {
        match (self.resolve(commit)?, self.resolve(from)?) {
            (Some(commit), Some(from)) => self.is_ancestor(&commit, &from),
            _ => Ok(false),
        }
    }

    /// The commit that a branch is at; nothing when there is no such branch.
    pub fn tip(&self, branch: &str) -> Result<Option<String>, GitError> {
        let wanted = format!("{}^{{commit}}", full(branch));
        let question = ["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted];
        let said = self.git().ask(&question)?;
        if said.is_failure() {
            return Err(failed(&question, &said));
        }
        Ok(said.is_success().then(|| said.text()))
    }

    pub(super) fn is_ancestor(&self, ancestor: &str, of: &str) -> Result<bool, GitError> {
        let question = ["merge-base", "--is-ancestor", ancestor, of];
        let said = self.git().ask(&question)?;
        match said.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(failed(&question, &said)),
        }
    }
}

fn candidate(merging: &Merging, base: &str, branch: &str, commit: String, tree: String) -> Candidate {
    Candidate {
        base_branch: merging.base.clone(),
        base_commit: base.to_owned(),
        branch: merging.branch.clone(),
        branch_commit: branch.to_owned(),
        is_fast_forward: commit == branch,
        commit,
        tree,
    }
}

/// The full name of a branch, so that a tag of the same name is never meant.
pub(super) fn full(branch: &str) -> String {
    match branch.starts_with("refs/") {
        true => branch.to_owned(),
        false => format!("refs/heads/{branch}"),
    }
}
