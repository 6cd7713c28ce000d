//! Brings a branch into its base.

use std::path::PathBuf;

use super::state::under_way;
use super::{Merge, Merging, Repository, list};
use crate::git::{Git, GitError, failed, split_keeping_empty};

impl Repository {
    /// Brings a branch into its base, when that touches nothing uncommitted: what was changed by hand in the base's work
    /// tree stays as it is, and where it is in the way nothing happens.
    pub fn merge(&self, merging: &Merging) -> Result<Merge, GitError> {
        let git = self.git();
        let base = self.commit(&format!("refs/heads/{}", merging.base))?;
        let branch = self.commit(&format!("refs/heads/{}", merging.branch))?;
        let is_ancestor =
            |a: &str, b: &str| git.ask(&["merge-base", "--is-ancestor", a, b]).map(|said| said.code == Some(0));
        if is_ancestor(&branch, &base)? {
            return Ok(Merge::AlreadyMerged);
        }
        if is_ancestor(&base, &branch)? {
            let blocked = self.advance(merging, &base, &branch)?;
            return Ok(blocked.unwrap_or(Merge::FastForwarded { commit: branch }));
        }
        // Nothing is touched by this: it is worked out in the repository alone.
        let question = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", &base, &branch];
        let said = git.ask(&question)?;
        let mut parts = split_keeping_empty(&said.out).into_iter().filter(|part| !part.is_empty());
        let tree = parts.next().unwrap_or_default();
        match said.code {
            Some(0) => {}
            Some(1) => return Ok(Merge::Conflict { files: parts.collect() }),
            _ => return Err(failed(&question, &said)),
        }
        let arguments = ["commit-tree", "-p", &base, "-p", &branch, "-m", &merging.message, &tree];
        let has_name = git.ask(&["var", "GIT_COMMITTER_IDENT"])?.code == Some(0);
        let commit = if has_name { git.run(&arguments)? } else { self.git().in_our_name().run(&arguments)? };
        let blocked = self.advance(merging, &base, &commit)?;
        Ok(blocked.unwrap_or(Merge::Merged { commit }))
    }

    /// Moves the base forward to a commit that has all of it; says what is in the way.
    fn advance(&self, merging: &Merging, from: &str, to: &str) -> Result<Option<Merge>, GitError> {
        let Some(place) = self.checked_out(&merging.base)? else {
            let reference = format!("refs/heads/{}", merging.base);
            let why = format!("piton: merge {}", merging.branch);
            self.git().run(&["update-ref", "-m", &why, &reference, to, from])?;
            return Ok(None);
        };
        let git = Git::at(&place);
        let blocked = |reason: String| Ok(Some(Merge::Blocked { reason }));
        if let Some(what) = under_way(&git)? {
            return blocked(format!("{what} is under way in {}", place.display()));
        }
        let said = git.ask(&["merge", "--ff-only", "--no-autostash", "--quiet", to])?;
        match said.code {
            Some(0) => Ok(None),
            _ => match files_in_the_way(&said.err) {
                files if files.is_empty() => blocked(format!("git does not merge: {}", said.err.trim())),
                files => {
                    blocked(format!("uncommitted changes are in the way in {}: {}", place.display(), files.join(", ")))
                }
            },
        }
    }

    /// The work tree that has a branch checked out.
    fn checked_out(&self, branch: &str) -> Result<Option<PathBuf>, GitError> {
        let listed = list::all(&self.git())?.into_iter().map(|entry| entry.listed);
        let mut found = listed.filter(|each| each.branch.as_deref() == Some(branch) && each.is_there);
        Ok(found.next().map(|each| each.path))
    }
}

/// The files that git names when it does not overwrite something: one in each line that begins with a tab.
fn files_in_the_way(message: &str) -> Vec<String> {
    message.lines().filter_map(|line| line.strip_prefix('\t')).map(str::to_owned).collect()
}
