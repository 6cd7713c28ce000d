//! Removes a worktree when nothing is lost with it.

use std::fs;
use std::path::Path;

use super::gates::utf8;
use super::{Kept, Listed, Maker, Removal, Repository, WorktreeState, refused};
use crate::git::{GitError, quote};

impl Repository {
    /// Why a worktree has to stay; empty when it may go.
    pub fn reasons_to_keep(&self, listed: &Listed, base: &str) -> Result<Vec<String>, GitError> {
        let mut reasons = Vec::new();
        match listed.maker {
            Maker::Piton => {}
            Maker::Scratch => reasons.push("gates run in it".to_owned()),
            Maker::User => reasons.push("Piton did not make it".to_owned()),
        }
        if let Some(why) = &listed.locked {
            let why = if why.is_empty() { "no reason is given" } else { why };
            reasons.push(format!("it is locked: {why}"));
        }
        match listed.is_there {
            true => {
                reasons.extend(state_reasons(&self.state(&listed.path, base)?, base));
                reasons.extend(self.ignored_files(&listed.path)?.reasons());
                reasons.extend(
                    self.lost_with_submodules(&listed.path)?.into_iter().map(|what| format!("it holds {what}")),
                );
                reasons.extend(user_of(&listed.path).map(|pid| format!("process {pid} works in it")));
            }
            // It may be on a disk that is not mounted just now.
            false => reasons.push(format!(
                "its directory is not there; forget it with git -C {} worktree remove {}",
                quote(&self.root),
                quote(&listed.path)
            )),
        }
        Ok(reasons)
    }

    /// Removes a worktree that Piton made when everything in it is committed and merged and no process works in it; else it
    /// stays. A snapshot is made before in either case, with the ignored files that exist nowhere else.
    pub fn remove(&self, worktree: &Path, base: &str, at: i64) -> Result<Removal, GitError> {
        // git lists paths without links.
        let path = fs::canonicalize(worktree).unwrap_or_else(|_| worktree.to_owned());
        // A workspace that is a subdirectory is one in its worktrees too.
        let Some(listed) =
            self.worktrees()?.into_iter().find(|each| path == each.path || path == each.path.join(&self.inside))
        else {
            return refused(format!("not a worktree of this repository: {}", worktree.display()));
        };
        let reasons = self.reasons_to_keep(&listed, base)?;
        let path = &listed.path;
        let snapshot = match listed.is_there {
            true => self.snapshot(path, &listed.name, at)?,
            false => return Ok(Removal::Kept(Kept { reasons, snapshot: None })),
        };
        if !reasons.is_empty() {
            return Ok(Removal::Kept(Kept { reasons, snapshot: Some(snapshot) }));
        }
        // Without force: git looks once more whether it is clean. It refuses each worktree with submodules, of which nothing is
        // lost.
        let force = if self.has_submodules(path)? { &["--force"][..] } else { &[] };
        let said = self.git().ask(&[&["worktree", "remove"], force, &[utf8(path)?]].concat())?;
        match said.code {
            Some(0) => Ok(Removal::Removed { snapshot }),
            _ => {
                let reasons = vec![format!("git does not remove it: {}", said.err.trim())];
                Ok(Removal::Kept(Kept { reasons, snapshot: Some(snapshot) }))
            }
        }
    }
}

fn state_reasons(state: &WorktreeState, base: &str) -> Vec<String> {
    let count = |number: usize, one: &str, many: &str| match number {
        1 => format!("1 {one}"),
        number => format!("{number} {many}"),
    };
    let mut reasons = Vec::new();
    if !state.changed.is_empty() {
        reasons.push(count(state.changed.len(), "uncommitted file", "uncommitted files"));
    }
    if state.ahead > 0 {
        let ahead = usize::try_from(state.ahead).unwrap_or(usize::MAX);
        reasons.push(format!("{} not in {base}", count(ahead, "commit", "commits")));
    }
    reasons.extend(state.under_way.map(|what| format!("{what} is under way")));
    reasons.extend(state.holds.iter().map(|what| format!("it holds {what}")));
    reasons
}

/// A process that has its working directory there.
fn user_of(worktree: &Path) -> Option<u32> {
    let is_inside = |pid: &u32| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(worktree));
    crate::process::all().into_iter().filter(|pid| *pid != std::process::id()).find(is_inside)
}
