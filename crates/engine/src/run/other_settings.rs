//! A run that is continued is led with the settings it was led with, unless its user changed them. What git put in their
//! place (another branch, a stash) names other gates and other work: nothing is merged by that.

use piton_model::Time;
use piton_model::hint::verbs;
use piton_supervisor::{GitError, Repository, quoted};

use super::memory::Memory;
use super::runs::{self, RunRecord};
use super::settings::SETTINGS;
use super::work::{WorkError, unusable};
use super::{RunError, RunRequest, listed_stories};
use crate::Workspace;

/// Refuses to continue an unfinished run with settings that git put in the place of its own.
pub(super) fn refuse(workspace: &Workspace, request: &RunRequest) -> Result<(), RunError> {
    let Some(run) = meant(workspace, request) else { return Ok(()) };
    let Some(led_with) = run.settings(workspace) else { return Ok(()) };
    let now = std::fs::read(workspace.root().join(SETTINGS)).ok();
    if now.as_deref() == Some(led_with.as_bytes()) {
        return Ok(());
    }
    // What git refuses is told when the lead begins.
    let Ok(Some(repository)) = Repository::find(workspace.root()) else { return Ok(()) };
    let memory = Memory::load(workspace)?;
    let before = Before {
        run: run.number,
        since: run.lead_since,
        base: memory.bases.get(&run.number).map(String::as_str),
        tip: memory.base_tips.get(&run.number).map(String::as_str),
    };
    match before.taken(&repository, now.as_deref(), request.retry) {
        Ok(Some(why)) => Err(why.into()),
        Ok(None) => Ok(()),
        Err(error) => Err(RunError::Git(error)),
    }
}

/// The unfinished run that a request continues: one that has a unit which is named; with no name, the newest, or that of the
/// stories where the workspace lists any (see [`super::continued`]).
fn meant(workspace: &Workspace, request: &RunRequest) -> Option<RunRecord> {
    let is_named = |run: &RunRecord| {
        let typed = run.typed(workspace.root(), workspace.root());
        request.wanted.iter().any(|name| run.units.contains(name) || typed.contains(name))
    };
    let has_stories = !request.retry && listed_stories(workspace) > 0;
    let is_of_stories = |run: &RunRecord| run.units.iter().any(|unit| unit.starts_with("pipeline:"));
    let mut open = runs::all(workspace).filter(|run| !run.is_finished);
    open.find(|run| match request.wanted.is_empty() {
        true => !has_stories || is_of_stories(run),
        false => is_named(run),
    })
}

/// What a run knew of its base.
struct Before<'m> {
    run: u64,
    /// When its last lead began.
    since: Time,
    base: Option<&'m str>,
    /// Where the base was when the run last looked.
    tip: Option<&'m str>,
}

impl Before<'_> {
    /// Why settings are not the user's own change.
    fn taken(
        &self,
        repository: &Repository,
        now: Option<&[u8]>,
        is_retry: bool,
    ) -> Result<Option<WorkError>, GitError> {
        let number = self.run;
        let path = repository.inside().join(SETTINGS).display().to_string();
        let head = repository.head()?;
        if let Some(base) = self.base.filter(|base| head.branch() != Some(base)) {
            let of_base = repository.text_of(base, &path)?;
            let is_other = of_base.is_some() && of_base.as_deref() != now;
            let hint = verbs::RUN.call().to(format!("check it out: git checkout {}; then continue", quoted(base)));
            let here = head.branch().unwrap_or("no branch");
            let why =
                format!("run {number} merges into {base}, and {SETTINGS} of {here}, which is checked out, is another");
            return Ok(is_other.then(|| unusable(why, hint)));
        }
        let is_gits = match now {
            Some(now) => self.is_older(repository, &path, now)?,
            None => repository.stashed_since(&path, 0)?.is_some(),
        };
        let hint =
            "bring yours back, for instance with: git stash pop; with --retry the run continues with what is there";
        let why = format!("run {number} was led with another {SETTINGS}, and git put an earlier version in its place");
        Ok((is_gits && !is_retry).then(|| unusable(why, hint)))
    }

    /// Whether a text is the committed one, git wrote it, and the base had that commit already when the run's last lead began.
    /// What the user commits while a lead is at work is newer, and what they undo in an editor is their own change.
    fn is_older(&self, repository: &Repository, path: &str, now: &[u8]) -> Result<bool, GitError> {
        let is_before = |(text, made): (Vec<u8>, i64)| text == now && made < self.since.unix_seconds();
        let is_committed = repository.committed(path)?.is_some_and(is_before) && repository.is_written_by_git(path)?;
        let (true, Some(tip), Some(changed)) = (is_committed, self.tip, repository.last_change(path)?) else {
            return Ok(false);
        };
        repository.is_reachable(&changed, tip)
    }
}
