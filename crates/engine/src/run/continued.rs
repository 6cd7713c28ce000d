//! What a run is about whose command names nothing: the stories of the workspace, or what an unfinished run left.

use piton_model::{Dialect, Time, UnitRef};

use super::runs::{self, RunRecord, Wanted};
use super::work::{self, Before, Work, WorkError};
use super::{RunError, RunRequest, Settings};
use crate::{NotFound, Workspace};

/// What is to be run.
pub(super) struct Continued {
    /// As it can be opened in any directory.
    pub wanted: Vec<String>,
    pub work: Work,
    /// What an unfinished run named and is not there any more.
    pub gone: Vec<String>,
}

/// Reads what is named. Where nothing is: what the last run that is not finished was about, or the stories of the
/// workspace. A retry means that run; else the stories come first, where there are any. A run of which nothing is left is
/// passed over.
pub(super) fn read(
    workspace: &Workspace,
    settings: &Settings,
    request: &RunRequest,
    now: Time,
) -> Result<Continued, RunError> {
    let mut gone = Vec::new();
    if request.wanted.is_empty() && (request.retry || !work::has_stories(workspace, settings)?) {
        for run in runs::all(workspace).filter(|run| !run.is_finished) {
            let (wanted, lost) = Left { workspace, settings, now }.of(&run);
            gone.extend(lost);
            if wanted.is_empty() && (!run.wanted.is_empty() || !work::has_stories(workspace, settings)?) {
                continue;
            }
            let work = work::read_work(workspace, settings, &wanted, now)?;
            return Ok(Continued { wanted, work, gone });
        }
    }
    let wanted = request.wanted.clone();
    let work = work::read_work(workspace, settings, &wanted, now)?;
    if wanted.is_empty() {
        let units = work.units();
        let run = runs::all(workspace).find(|run| !run.is_finished && !run.units.is_disjoint(&units));
        let left = Left { workspace, settings, now };
        let is_delisted =
            |unit: &&String| unit.starts_with("pipeline:") && !units.contains(*unit) && left.is_gone(unit);
        gone.extend(run.iter().flat_map(|run| run.units.iter().filter(is_delisted).cloned()));
    }
    Ok(Continued { wanted, work, gone })
}

struct Left<'w> {
    workspace: &'w Workspace,
    settings: &'w Settings,
    now: Time,
}

impl Left<'_> {
    /// What is left of what a run named, and what is gone. A file that was moved is looked for by its units.
    fn of(&self, run: &RunRecord) -> (Vec<String>, Vec<String>) {
        let root = self.workspace.root();
        let (mut left, mut gone) = (Vec::new(), Vec::new());
        for wanted in &run.wanted {
            let opened = wanted.opened(root);
            match wanted {
                Wanted::File(_) if std::path::Path::new(&opened).is_file() => left.push(opened),
                Wanted::Unit(unit) if !self.is_gone(unit) => left.push(opened),
                Wanted::File(file) => {
                    gone.push(file.clone());
                    let units = run.units.iter().filter(|unit| !self.is_gone(unit));
                    left.extend(units.cloned());
                }
                Wanted::Unit(unit) => gone.push(unit.clone()),
            }
        }
        (left, gone)
    }

    /// Whether no document and no list has a unit any more.
    fn is_gone(&self, unit: &str) -> bool {
        let Ok(wanted) = UnitRef::parse(unit) else { return true };
        let is_found = Before::read(self.workspace).names(&wanted)
            || !matches!(crate::find(self.workspace, &wanted, self.now), Err(NotFound::Nothing { .. }));
        let read = || work::read_work(self.workspace, self.settings, &[unit.to_owned()], self.now);
        match wanted.dialect {
            // A story is run when it is listed, whether or not it has begun.
            Some(Dialect::Pipeline) => matches!(read(), Err(WorkError::Unusable { .. })),
            Some(Dialect::Build) => !is_found && read().is_err(),
            Some(Dialect::Plan | Dialect::Task | Dialect::Crew) | None => !is_found,
        }
    }
}
