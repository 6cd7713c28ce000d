//! Submodules of a worktree. Their repositories are in the git directory of the worktree, and go with it.

use std::path::Path;

use super::Repository;
use crate::git::{Git, GitError, split};

impl Repository {
    /// Whether submodules are checked out in a worktree: git removes it only by force then.
    pub(super) fn has_submodules(&self, worktree: &Path) -> Result<bool, GitError> {
        Ok(!checked_out(worktree)?.is_empty())
    }

    /// What would be lost with the submodules of a worktree, and with theirs; empty when nothing would be.
    pub(super) fn lost_with_submodules(&self, worktree: &Path) -> Result<Vec<String>, GitError> {
        let mut lost = Vec::new();
        add_lost(worktree, "", &mut lost)?;
        Ok(lost)
    }
}

fn add_lost(worktree: &Path, above: &str, lost: &mut Vec<String>) -> Result<(), GitError> {
    for path in checked_out(worktree)? {
        let (module, name) = (worktree.join(&path), format!("{above}{path}"));
        let git = Git::at(&module);
        let status =
            ["status", "--porcelain", "-z", "--untracked-files=all", "--ignored=matching", "--ignore-submodules=all"];
        if !git.bytes(&status)?.is_empty() {
            lost.push(format!("files in the submodule {name}"));
        }
        // Branches and stashes of a submodule are this worktree's own.
        let own = ["rev-list", "--max-count=1", "--exclude=refs/tags/*", "--exclude=refs/remotes/*", "--all", "HEAD"];
        let unpublished = [&own[..], &["--not", "--remotes", "--tags"]].concat();
        if !git.run(&unpublished)?.is_empty() {
            lost.push(format!("commits of the submodule {name} that are on no remote branch of it"));
        }
        add_lost(&module, &format!("{name}/"), lost)?;
    }
    Ok(())
}

/// The submodules that are checked out in a work tree.
fn checked_out(worktree: &Path) -> Result<Vec<String>, GitError> {
    let staged = split(&Git::at(worktree).bytes(&["ls-files", "--stage", "-z", "--full-name", ":/"])?);
    let links = staged.iter().filter(|entry| entry.starts_with("160000 "));
    let paths = links.filter_map(|entry| entry.split_once('\t').map(|(_, path)| path.to_owned()));
    Ok(paths.filter(|path| worktree.join(path).join(".git").exists()).collect())
}
