//! Merges that leave some files as the base has them: documents that Piton itself writes are no part of the work.

use std::path::Path;

use super::fork::fork_in;
use super::merge::full;
use super::snapshot::TemporaryIndex;
use super::{Merging, Prepared, Repository};
use crate::git::{Git, GitError, failed, split, split_keeping_empty};

impl Repository {
    /// As [`Repository::prepare`], but these files stay as the base has them, whatever the branch did to them. Paths are
    /// relative to the workspace.
    pub fn prepare_keeping(&self, merging: &Merging, files: &[String]) -> Result<Prepared, GitError> {
        let base = self.commit(&full(&merging.base))?;
        let branch = self.commit(&full(&merging.branch))?;
        let prepared = self.prepare_commits(merging, &base, &branch)?;
        let kept: Vec<String> = files.iter().map(|file| self.inside().join(file).display().to_string()).collect();
        let tree = match &prepared {
            Prepared::AlreadyMerged => return Ok(prepared),
            Prepared::Candidate(candidate) => {
                let changed = self.changed_files(&base, &candidate.commit)?;
                if !changed.iter().any(|file| kept.contains(file)) {
                    return Ok(prepared);
                }
                candidate.tree.clone()
            }
            Prepared::Conflict { files } if files.iter().all(|file| kept.contains(file)) => {
                self.conflicted_tree(&base, &branch)?
            }
            Prepared::Conflict { files } => {
                let files = files.iter().filter(|file| !kept.contains(file)).cloned().collect();
                return Ok(Prepared::Conflict { files });
            }
        };
        let tree = self.with_files_of(&tree, &base, &kept)?;
        self.commit_merge(merging, &base, &branch, tree).map(Prepared::Candidate)
    }

    /// The tree of a merge that conflicts, with marks in the files in question.
    fn conflicted_tree(&self, base: &str, branch: &str) -> Result<String, GitError> {
        let question = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", base, branch];
        let said = self.git().ask(&question)?;
        match said.code {
            Some(0 | 1) => Ok(split_keeping_empty(&said.out).into_iter().next().unwrap_or_default()),
            _ => Err(failed(&question, &said)),
        }
    }

    /// A tree in which some files are as a commit has them; those that it does not have are not there.
    fn with_files_of(&self, tree: &str, commit: &str, files: &[String]) -> Result<String, GitError> {
        let index = TemporaryIndex::empty(&self.git())?;
        let git = Git::at(self.root()).with_index(&index.path);
        git.run(&["read-tree", tree])?;
        for file in files {
            let known = git.bytes(&["--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--", file])?;
            git.run(&["update-index", "--force-remove", "--", file])?;
            for entry in split(&known) {
                let Some((head, path)) = entry.split_once('\t') else { continue };
                let words: Vec<&str> = head.split(' ').collect();
                if let [mode, "blob", object] = words.as_slice() {
                    git.run(&["update-index", "--add", "--cacheinfo", &format!("{mode},{object},{path}")])?;
                }
            }
        }
        git.run(&["write-tree"])
    }

    /// Those of some files that a commit has.
    pub fn files_in(&self, commit: &str, files: &[String]) -> Result<Vec<String>, GitError> {
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let mut list = vec!["--literal-pathspecs", "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, "--"];
        list.extend(files.iter().map(String::as_str));
        Ok(split(&self.git().bytes(&list)?))
    }

    /// Brings a worktree's branch forward to a commit that has all of it. Nothing uncommitted is touched; where that is
    /// not possible, nothing changes and the answer is false.
    pub fn catch_up(&self, worktree: &Path, commit: &str) -> Result<bool, GitError> {
        let said = Git::at(worktree).ask(&["merge", "--ff-only", "--no-autostash", "--quiet", commit])?;
        Ok(said.is_success())
    }

    /// Files of a worktree that differ from where it left a base, committed or not, with those that git does not track.
    pub fn changed_since(&self, worktree: &Path, base: &str) -> Result<Vec<String>, GitError> {
        let git = Git::at(worktree);
        let base = self.commit(base)?;
        let fork = fork_in(&git, &base, "HEAD")?;
        let list = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", fork.tree()];
        let mut files = split(&git.bytes(&list)?);
        files.extend(split(&git.bytes(&["ls-files", "-z", "--others", "--exclude-standard"])?));
        files.sort();
        files.dedup();
        Ok(files)
    }
}
