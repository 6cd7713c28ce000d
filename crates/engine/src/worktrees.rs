//! The git worktrees that units are worked on in: listed, cleaned up, restored.

use std::path::{Path, PathBuf};

use piton_model::{Dialect, Lifecycle, Time, UnitRef};
use piton_supervisor::{GitError, Head, Kept, Listed, Maker, Removal, Repository, RestoreTo, Restored, Snapshot};

use crate::run::unit_of_worktree;
use crate::{Workspace, find};

/// Where worktrees of workers are, below the workspace.
const OURS: &str = ".worktrees";

/// All worktrees of a repository, and snapshots of some that are gone.
#[derive(Debug)]
pub struct Worktrees {
    /// What they are compared with: the branch of the main work tree.
    pub base: String,
    /// The worktrees, in git's order.
    pub rows: Vec<WorktreeRow>,
    /// Snapshots whose worktree is gone, the newest of each name first.
    pub gone: Vec<Snapshot>,
}

/// A worktree and what is known of it.
#[derive(Debug)]
pub struct WorktreeRow {
    /// Its name: the last part of its path.
    pub name: String,
    /// Where it is: below the repository's root as a relative path, else absolute.
    pub path: String,
    /// Its branch.
    pub branch: Option<String>,
    /// The unit that is worked on there, by its name, whether or not there is such a unit. Nothing when a person made it.
    pub unit: Option<String>,
    /// Whether Piton made it. Others are listed and never touched.
    pub is_ours: bool,
    /// Why it stays; empty when a clean-up would remove it, or when Piton did not make it.
    pub reasons: Vec<String>,
    /// Its snapshots, the newest first.
    pub snapshots: Vec<Snapshot>,
}

/// What a clean-up did, or would do, with a worktree.
#[derive(Debug)]
pub struct Cleaned {
    /// Its name.
    pub name: String,
    /// Where it is or was.
    pub path: String,
    /// Why it stays; nothing when it is gone or would go.
    pub kept: Option<Kept>,
    /// The snapshot that was made.
    pub snapshot: Option<Snapshot>,
}

/// Why something about worktrees was not done.
#[derive(Debug)]
pub enum WorktreesError {
    /// There is no repository.
    NoRepository,
    /// git does not do it.
    Git(GitError),
    /// There is no snapshot of that name.
    NoSnapshot {
        /// The name.
        name: String,
        /// Names that there are snapshots of.
        known: Vec<String>,
    },
}

impl From<GitError> for WorktreesError {
    fn from(error: GitError) -> WorktreesError {
        WorktreesError::Git(error)
    }
}

/// Lists all worktrees of the workspace's repository. Changes nothing.
pub fn worktrees(workspace: &Workspace, now: Time) -> Result<Worktrees, WorktreesError> {
    let (repository, base) = open(workspace)?;
    let snapshots = repository.snapshots()?;
    let mut rows = Vec::new();
    for listed in repository.worktrees()? {
        let is_ours = is_ours(&repository, &listed);
        // What is not Piton's is listed and not looked into: it may be on a disk that is not there.
        let reasons = if is_ours { reasons(workspace, &repository, &listed, &base, now)? } else { Vec::new() };
        let name = Snapshot::name_for(&listed.name);
        let snapshots = snapshots.iter().filter(|each| each.name == name).cloned().collect();
        rows.push(WorktreeRow {
            path: shown(&repository, &listed.path),
            unit: unit_of(workspace, &listed).filter(|_| is_ours).map(|unit| unit.to_string()),
            is_ours,
            name: listed.name,
            branch: listed.branch,
            reasons,
            snapshots,
        });
    }
    let is_gone = |snapshot: &Snapshot| rows.iter().all(|row| Snapshot::name_for(&row.name) != snapshot.name);
    let gone = snapshots.iter().filter(|snapshot| is_gone(snapshot)).cloned().collect();
    Ok(Worktrees { base, rows, gone })
}

/// Removes the worktrees of workers that are clean, merged and not in use, each after a snapshot; says why others stay.
/// A rehearsal only says so.
pub fn clean_worktrees(workspace: &Workspace, now: Time, is_rehearsal: bool) -> Result<Vec<Cleaned>, WorktreesError> {
    let (repository, base) = open(workspace)?;
    let mut done = Vec::new();
    for listed in repository.worktrees()?.into_iter().filter(|listed| is_ours(&repository, listed)) {
        let reasons = reasons(workspace, &repository, &listed, &base, now)?;
        let removal = match (reasons.is_empty(), is_rehearsal) {
            (true, false) => Some(repository.remove(&listed.path, &base, now.unix_seconds())?),
            (true, true) => None,
            (false, _) => Some(Removal::Kept(Kept { reasons, snapshot: None })),
        };
        let (kept, snapshot) = match removal {
            Some(Removal::Removed { snapshot }) => (None, Some(snapshot)),
            Some(Removal::Kept(kept)) => (Some(kept), None),
            None => (None, None),
        };
        done.push(Cleaned { path: shown(&repository, &listed.path), name: listed.name, kept, snapshot });
    }
    Ok(done)
}

/// Brings back the newest snapshot of a name, or the one with the name and time that were given: as files into a
/// directory, or else as a new worktree beside the others.
pub fn restore_worktree(workspace: &Workspace, name: &str, to: Option<&Path>) -> Result<Restored, WorktreesError> {
    let (repository, _) = open(workspace)?;
    let snapshots = repository.snapshots()?;
    let is_meant = |snapshot: &&Snapshot| {
        snapshot.name == Snapshot::name_for(name)
            || snapshot.reference == name
            || snapshot.reference.ends_with(&format!("/{name}"))
    };
    let Some(snapshot) = snapshots.iter().find(is_meant) else {
        let mut known: Vec<String> = snapshots.into_iter().map(|snapshot| snapshot.name).collect();
        known.dedup();
        return Err(WorktreesError::NoSnapshot { name: name.to_owned(), known });
    };
    let to = match to {
        Some(directory) => RestoreTo::Files(directory.to_owned()),
        None => RestoreTo::Worktree(free_place(&repository, &snapshot.name)),
    };
    Ok(repository.restore(snapshot, &to)?)
}

/// The repository, and what its worktrees are compared with.
fn open(workspace: &Workspace) -> Result<(Repository, String), WorktreesError> {
    let repository = Repository::find(workspace.root())?.ok_or(WorktreesError::NoRepository)?;
    let base = match repository.head()? {
        Head::Branch { name, .. } | Head::Unborn { name } => name,
        Head::Detached { .. } => "HEAD".to_owned(),
    };
    Ok((repository, base))
}

/// Why a worktree stays: what git knows, and that its unit is not done. One that was just made is clean, and yet needed.
fn reasons(
    workspace: &Workspace,
    repository: &Repository,
    listed: &Listed,
    base: &str,
    now: Time,
) -> Result<Vec<String>, GitError> {
    let mut reasons = repository.reasons_to_keep(listed, base)?;
    if let Some(found) = unit_of(workspace, listed).and_then(|unit| find(workspace, &unit, now).ok()) {
        let lifecycle = found.unit.state.lifecycle();
        if lifecycle != Lifecycle::Done {
            reasons.push(format!("{}:{} is {lifecycle}", found.unit.dialect, found.unit.id));
        }
    }
    Ok(reasons)
}

/// The unit that a worktree is for: as its lead knows, else as its name says.
fn unit_of(workspace: &Workspace, listed: &Listed) -> Option<UnitRef> {
    let place = format!("{OURS}/{}", listed.name);
    let known = unit_of_worktree(workspace, &place).and_then(|unit| UnitRef::parse(&unit).ok());
    known.or_else(|| unit_by_name(&listed.name))
}

/// The unit that a worktree's name means: `story-7` is a story of a pipeline, any other begins with its dialect.
fn unit_by_name(name: &str) -> Option<UnitRef> {
    let (kind, id) = name.split_once('-')?;
    let dialect = match kind {
        "story" => Dialect::Pipeline.word(),
        kind => Dialect::ALL.into_iter().map(Dialect::word).find(|word| *word == kind)?,
    };
    UnitRef::parse(&format!("{dialect}:{id}")).ok()
}

/// Whether Piton made a worktree, and it is where Piton makes them.
fn is_ours(repository: &Repository, listed: &Listed) -> bool {
    let is_made_by_piton = match listed.maker {
        Maker::Piton => true,
        // The lead removes it itself.
        Maker::Scratch | Maker::User => false,
    };
    is_made_by_piton && listed.path.starts_with(place_of(repository))
}

/// Where Piton makes worktrees.
fn place_of(repository: &Repository) -> PathBuf {
    repository.root().join(repository.inside()).join(OURS)
}

fn shown(repository: &Repository, path: &Path) -> String {
    path.strip_prefix(repository.root()).unwrap_or(path).display().to_string()
}

/// A place beside the other worktrees that is free.
fn free_place(repository: &Repository, name: &str) -> PathBuf {
    let place = |name: String| place_of(repository).join(name);
    let is_free = |path: &PathBuf| path.symlink_metadata().is_err();
    let names = std::iter::once(name.to_owned()).chain((1..).map(|number| format!("{name}-restored-{number}")));
    names.map(place).find(is_free).unwrap_or_else(|| place(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_unit() {
        for (name, want) in [
            ("story-7", Some("pipeline:7")),
            ("story-SHOP-12", Some("pipeline:SHOP-12")),
            ("build-PRD-009", Some("build:PRD-009")),
            ("plan-260220-1149-feature", Some("plan:260220-1149-feature")),
            ("task-photo/T07", Some("task:photo/T07")),
            ("hotfix-3", None),
            ("story-", None),
            ("story-..", None),
            ("main", None),
        ] {
            assert_eq!(unit_by_name(name).map(|unit| unit.to_string()).as_deref(), want, "{name}");
        }
    }
}
