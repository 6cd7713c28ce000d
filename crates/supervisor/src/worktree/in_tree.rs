//! What the tree of a branch has, and what a branch lacks.

use std::path::Path;

use super::Repository;
use super::merge::full;
use crate::git::{GitError, split};

/// Where a path is, by the tree of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InTree {
    /// The branch has a file or a directory there.
    There,
    /// It has nothing there.
    Missing,
    /// A submodule or a symbolic link is on the way: the branch does not say what is behind it.
    Beyond,
}

impl Repository {
    /// Whether a branch has a file or a directory. The path is relative to the repository's root.
    pub fn in_tree(&self, branch: &str, path: &str) -> Result<InTree, GitError> {
        let above: Vec<&Path> = Path::new(path).ancestors().filter(|part| !part.as_os_str().is_empty()).collect();
        for part in above.iter().rev() {
            let is_whole = *part == Path::new(path);
            let Some(mode) = self.mode_of(branch, part)? else { return Ok(InTree::Missing) };
            match mode.as_str() {
                _ if is_whole => return Ok(InTree::There),
                "040000" => {}
                "160000" | "120000" => return Ok(InTree::Beyond),
                _ => return Ok(InTree::Missing),
            }
        }
        // The root of the tree itself.
        Ok(InTree::There)
    }

    fn mode_of(&self, branch: &str, path: &Path) -> Result<Option<String>, GitError> {
        let (branch, path) = (full(branch), path.to_string_lossy());
        let list = ["--literal-pathspecs", "ls-tree", "-z", "--full-tree", &branch, "--", &path];
        let found = split(&self.git().bytes(&list)?);
        Ok(found.first().and_then(|line| line.split(' ').next()).map(str::to_owned))
    }

    /// Whether a branch has a file under a name of its own, or that of the path, with the content that the path has in a commit.
    /// Files that the commit has as well do not count: many files are alike.
    pub fn has_content_of(&self, branch: &str, commit: &str, path: &str) -> Result<bool, GitError> {
        let said = self.git().ask(&["rev-parse", "--verify", "--quiet", &format!("{commit}:{path}")])?;
        let content = said.text();
        if !said.is_success() || content.is_empty() {
            return Ok(false);
        }
        let list = |tree: &str| -> Result<Vec<String>, GitError> {
            let all = split(&self.git().bytes(&["ls-tree", "-r", "-t", "-z", "--full-tree", tree])?);
            let named = all.iter().filter_map(|line| line.split_once('\t'));
            let alike = named.filter(|(head, _)| head.rsplit(' ').next() == Some(content.as_str()));
            Ok(alike.map(|(_, name)| name.to_owned()).collect())
        };
        let known = list(commit)?;
        Ok(list(&full(branch))?.iter().any(|name| name == path || !known.contains(name)))
    }

    /// Whether the repository has a commit.
    pub fn has_commit(&self, name: &str) -> Result<bool, GitError> {
        Ok(self.resolve(name)?.is_some())
    }

    /// The newest commits of a branch that another one does not have, each as its short name and its subject, and how many
    /// there are.
    pub fn lacks(&self, branch: &str, other: &str, most: usize) -> Result<(Vec<String>, usize), GitError> {
        let range = format!("{}..{}", full(branch), full(other));
        let count = self.git().run(&["rev-list", "--count", "--first-parent", &range, "--"])?;
        let most = most.to_string();
        let log = ["log", "--first-parent", "--no-decorate", "-n", &most, "--format=%h %s", &range, "--"];
        let named = self.git().run(&log)?;
        Ok((named.lines().map(str::to_owned).collect(), count.parse().unwrap_or(0)))
    }
}
