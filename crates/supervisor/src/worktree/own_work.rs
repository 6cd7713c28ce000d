//! What of a branch is its own: commits that were made for it, files that were not only checked out, branches that a lost
//! lead left.

use std::collections::HashSet;
use std::path::Path;

use super::Repository;
use super::advance::MADE;
use super::fork::{Fork, fork_in};
use super::merge::full;
use crate::git::{Git, GitError, split};

/// How many movements of a branch are looked at.
const MOVEMENTS: &str = "1000";

/// How a reflog calls movements that make a commit. A merge makes one too, and adds nothing by that.
const COMMITS: [&str; 6] = ["commit:", "commit (amend)", "commit (initial)", "cherry-pick", "revert", "am:"];

impl Repository {
    /// Whether a branch has work of its own: a change that its target does not have, or a commit that was made on it and
    /// was not thrown away. Some files, relative to the repository's root, are no work. True when git cannot tell, because
    /// the branch has no reflog.
    pub fn has_own_work(&self, branch: &str, target: &str, but: &[String]) -> Result<bool, GitError> {
        if self.has_own_change(&full(branch), target, but)? {
            return Ok(true);
        }
        let log =
            self.git().ask(&["log", "--walk-reflogs", "-n", MOVEMENTS, "--format=%H %gs", &full(branch), "--"])?;
        let log = log.text();
        for (commit, movement) in log.lines().filter_map(|line| line.split_once(' ')) {
            if COMMITS.iter().any(|word| movement.starts_with(word))
                && self.is_ancestor(commit, &full(branch))?
                && !self.changes_only(commit, but)?
            {
                return Ok(true);
            }
        }
        Ok(log.is_empty())
    }

    /// Whether something but some files changed since a ref left a branch.
    fn has_own_change(&self, name: &str, target: &str, but: &[String]) -> Result<bool, GitError> {
        let fork = self.fork_of(&full(target), name)?;
        let list = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", fork.tree(), name, "--"];
        let changed = self.git().bytes(&list)?;
        Ok(split(&changed).iter().any(|path| !but.contains(path)))
    }

    /// Whether a commit changes some files and nothing else. A commit without any change was made on purpose.
    fn changes_only(&self, commit: &str, files: &[String]) -> Result<bool, GitError> {
        let list = ["diff-tree", "-r", "-z", "--root", "--no-commit-id", "--name-only", "--no-renames", commit];
        let changed = split(&self.git().bytes(&list)?);
        Ok(!changed.is_empty() && changed.iter().all(|path| files.contains(path)))
    }

    /// Whether merging a ref would change a branch.
    pub fn adds_to(&self, name: &str, target: &str) -> Result<bool, GitError> {
        self.adds_to_commit(name, &full(target))
    }

    pub(super) fn adds_to_commit(&self, name: &str, target: &str) -> Result<bool, GitError> {
        let question = ["merge-tree", "--write-tree", "--no-messages", target, name];
        let said = self.git().ask(&question)?;
        let tree = self.git().run(&["rev-parse", "--verify", &format!("{target}^{{tree}}")])?;
        Ok(!said.is_success() || said.text().lines().next() != Some(tree.as_str()))
    }

    /// The newest commit that a target had, that was taken off it, and that a branch is built on. What it had is known by
    /// the movements of the base, which it is or is built on.
    pub fn dropped(&self, branch: &str, target: &str, base: &str) -> Result<Option<Dropped>, GitError> {
        let (branch, name, target) = (full(branch), target, full(target));
        let git = self.git();
        let log = git.ask(&["log", "--walk-reflogs", "-n", MOVEMENTS, "--format=%H", &full(base), "--"])?.text();
        let had: HashSet<&str> = log.lines().collect();
        // What the base has now was not taken off it, though the target may not have it yet.
        let (not_target, not_base) = (format!("^{target}"), format!("^{}", full(base)));
        let own = git.run(&["rev-list", "--topo-order", &branch, &not_target, &not_base, "--"])?;
        let Some(dropped) = own.lines().find(|commit| had.contains(commit)) else { return Ok(None) };
        let files = |from: &str, to: &str| -> Result<Vec<String>, GitError> {
            Ok(split(&git.bytes(&["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", from, to, "--"])?))
        };
        let Fork::At(fork) = self.fork_of(&target, dropped)? else {
            // The target's first commit was replaced: git merges nothing that was built on the old one.
            return Ok(Some(Dropped { commit: dropped.to_owned(), comes_back: true }));
        };
        let (changed, differs, own) = (files(&fork, dropped)?, files(&target, dropped)?, files(dropped, &branch)?);
        let comes_back = changed.iter().any(|path| differs.contains(path) && !own.contains(path));
        // A commit that was rebased or squashed is on the target in another form: merging it adds nothing.
        let comes_back = comes_back && self.adds_to(dropped, name)?;
        Ok(Some(Dropped { commit: dropped.to_owned(), comes_back }))
    }

    /// Whether a branch had a commit from its beginning, so that it is no work of the branch. False when git cannot tell.
    pub fn began_with(&self, branch: &str, commit: &str) -> Result<bool, GitError> {
        let list = ["log", "--walk-reflogs", "--format=%H", &full(branch), "--"];
        let log = self.git().ask(&list)?.text();
        log.lines().last().map_or(Ok(false), |first| self.is_ancestor(commit, first))
    }

    /// Puts the commits of a worktree's branch that come after a commit onto a target. Nothing changes, and the answer is
    /// false, when that conflicts or the worktree has another branch.
    pub fn rebase(&self, worktree: &Path, after: &str, target: &str, branch: &str) -> Result<bool, GitError> {
        let git = Git::at(worktree);
        if git.ask(&["symbolic-ref", "--quiet", "HEAD"])?.text() != full(branch) {
            return Ok(false);
        }
        // The authors stay. Who puts the commits there may have no name.
        let has_name = git.ask(&["var", "GIT_COMMITTER_IDENT"])?.is_success();
        let git = if has_name { git } else { git.with_committer() };
        let rebase =
            ["-c", "commit.gpgSign=false", "rebase", "--quiet", "--no-autostash", "--onto", &full(target), after];
        if git.ask(&rebase)?.is_success() {
            return Ok(true);
        }
        git.ask(&["rebase", "--abort"])?;
        Ok(false)
    }

    /// Sets a branch that is checked out nowhere to the commit of another one.
    pub fn set_branch(&self, branch: &str, to: &str) -> Result<(), GitError> {
        let commit = self.commit(&full(to))?;
        self.git().run(&["update-ref", "-m", "piton: begin anew", &full(branch), &commit]).map(drop)
    }

    /// Repositories that a ref added below its tree since it left a branch, and that `.gitmodules` does not name: git has
    /// recorded a link to each, and none of their files.
    pub fn embedded(&self, name: &str, target: &str) -> Result<Vec<String>, GitError> {
        let (fork, name) = (self.fork_of(&full(target), &full(name))?, full(name));
        let list = ["diff", "--raw", "-z", "--no-renames", "--no-ext-diff", fork.tree(), &name, "--"];
        let raw = self.git().bytes(&list)?;
        let fields = split(&raw);
        let is_link = |info: &str| info.split(' ').nth(1) == Some("160000");
        let links = fields.chunks_exact(2).filter(|pair| is_link(&pair[0])).map(|pair| pair[1].clone());
        let blob = format!("--blob={name}:.gitmodules");
        let named = self.git().ask(&["config", &blob, "--get-regexp", r"^submodule\..*\.path$"])?.text();
        let is_named = |path: &String| named.lines().any(|line| line.split_once(' ').is_some_and(|it| it.1 == path));
        Ok(links.filter(|path| !is_named(path)).collect())
    }

    /// Submodules whose link a ref moved since it left a branch to a commit that is on no remote branch of theirs and in no
    /// tag, so that another clone cannot get it. One that is not checked out in the worktree is not looked at.
    pub fn unpublished(&self, worktree: &Path, name: &str, target: &str) -> Result<Vec<String>, GitError> {
        let (fork, name) = (self.fork_of(&full(target), &full(name))?, full(name));
        let list = ["diff", "--raw", "-z", "--no-abbrev", "--no-renames", "--no-ext-diff", fork.tree(), &name, "--"];
        let raw = self.git().bytes(&list)?;
        let mut found = Vec::new();
        for pair in split(&raw).chunks_exact(2) {
            let fields: Vec<&str> = pair[0].split(' ').collect();
            let (Some(&"160000"), Some(commit)) = (fields.get(1), fields.get(3)) else { continue };
            let module = worktree.join(&pair[1]);
            if !module.join(".git").exists() {
                continue;
            }
            let published = ["for-each-ref", "--contains", commit, "refs/remotes", "refs/tags"];
            let said = Git::at(&module).ask(&published)?;
            if said.is_success() && said.text().is_empty() {
                found.push(pair[1].clone());
            }
        }
        Ok(found)
    }

    /// Whether a file of a worktree is as its target has it, so that a checkout put it there and no worker did. The path is
    /// relative to the repository's root.
    pub fn is_checked_out(&self, worktree: &Path, target: &str, path: &str) -> Result<bool, GitError> {
        let fork = self.fork(worktree, target)?;
        let fork = fork.tree();
        if self.files_in(fork, &[path.to_owned()])?.is_empty() {
            return Ok(false);
        }
        let question = ["--literal-pathspecs", "diff", "--quiet", "--no-ext-diff", fork, "--", path];
        Ok(Git::at(worktree).ask(&question)?.is_success())
    }

    pub(super) fn fork(&self, worktree: &Path, target: &str) -> Result<Fork, GitError> {
        fork_in(&Git::at(worktree), &full(target), "HEAD")
    }

    /// Branches that have work that a target does not have: those that a lead made by this name, or by this name with a
    /// number, and those of this name that were fetched.
    pub fn left_branches(&self, name: &str, target: &str) -> Result<Vec<LeftBranch>, GitError> {
        let mut left = Vec::new();
        for (reference, branch) in self.branches_named(name)? {
            if self.adds_to(&reference, target)? {
                left.push(branch);
            }
        }
        Ok(left)
    }

    /// Whether such a branch is here, with work that a target does not have or without.
    pub fn has_branch_named(&self, name: &str) -> Result<bool, GitError> {
        Ok(!self.branches_named(name)?.is_empty())
    }

    fn branches_named(&self, name: &str) -> Result<Vec<(String, LeftBranch)>, GitError> {
        let all = self.git().run(&["for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes"])?;
        let mut named = Vec::new();
        for reference in all.lines() {
            let local = reference.strip_prefix("refs/heads/").filter(|branch| is_named(branch, name));
            let fetched = reference
                .strip_prefix("refs/remotes/")
                .filter(|branch| branch.split_once('/').is_some_and(|(_, branch)| branch == name));
            let is_ours = match (local, fetched) {
                (Some(_), _) => self.is_made_by_us(reference)?,
                (None, fetched) => fetched.is_some(),
            };
            if is_ours {
                let name = local.or(fetched).unwrap_or(reference).to_owned();
                named.push((reference.to_owned(), LeftBranch { name, is_fetched: fetched.is_some() }));
            }
        }
        Ok(named)
    }

    fn is_made_by_us(&self, reference: &str) -> Result<bool, GitError> {
        let log = self.git().ask(&["log", "--walk-reflogs", "--format=%gs", reference, "--"])?.text();
        Ok(log.lines().last() == Some(MADE))
    }
}

/// A commit that was taken off a branch, and that another branch is built on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// Which.
    pub commit: String,
    /// Whether merging the other branch would bring back what it changed; else only the commit would come back.
    pub comes_back: bool,
}

/// A branch with work that no lead remembers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftBranch {
    /// Its name, with that of the remote when it was fetched.
    pub name: String,
    /// Whether it is a copy of a branch elsewhere.
    pub is_fetched: bool,
}

/// Whether a branch has a name, or that name with a number.
fn is_named(branch: &str, name: &str) -> bool {
    let Some(rest) = branch.strip_prefix(name) else { return false };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    rest.is_empty() || rest.strip_prefix('-').is_some_and(is_number)
}
