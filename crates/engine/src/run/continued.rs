//! What a run is about whose command names nothing: the stories of the workspace, or what an unfinished run left.

use piton_model::{Dialect, Lifecycle, Time, UnitRef};

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
    let left = Left { workspace, settings, now };
    let mut gone = Vec::new();
    if request.wanted.is_empty() && (request.retry || !work::has_stories(workspace, settings)?) {
        for run in runs::all(workspace).filter(|run| !run.is_finished) {
            let (wanted, lost) = left.of(&run);
            gone.extend(lost);
            if wanted.is_empty() && (!run.wanted.is_empty() || !work::has_stories(workspace, settings)?) {
                continue;
            }
            return left.read(wanted, gone);
        }
    }
    left.read(request.wanted.clone(), gone)
}

struct Left<'w> {
    workspace: &'w Workspace,
    settings: &'w Settings,
    now: Time,
}

impl Left<'_> {
    /// Reads what is named. What its unfinished run was about and no list has any more is gone, whatever was typed.
    fn read(&self, wanted: Vec<String>, mut gone: Vec<String>) -> Result<Continued, RunError> {
        let work = work::read_work(self.workspace, self.settings, &wanted, self.now)?;
        let units = work.units();
        if let Some(run) = runs::continued_by(self.workspace, &units) {
            let others = run.units.iter().filter(|unit| !units.contains(*unit) && !gone.contains(unit));
            let delisted: Vec<String> = others.filter(|unit| self.is_delisted(unit)).cloned().collect();
            gone.extend(delisted);
        }
        gone.extend(self.taken_out_of_files(&wanted, &work));
        Ok(Continued { wanted, work, gone })
    }

    /// Tasks and agents of an unfinished run that are not done, and that its files, which are named again, list no more.
    fn taken_out_of_files(&self, wanted: &[String], work: &Work) -> Vec<String> {
        let units = work.units();
        let wanted: Vec<Wanted> = wanted.iter().map(|typed| Wanted::new(self.workspace, typed)).collect();
        let is_named = |list: &Wanted| list.list().is_some() && wanted.contains(list);
        let runs = runs::all(self.workspace).filter(|run| !run.is_finished);
        let mut runs = runs.filter(|run| !run.wanted.is_empty() && run.wanted.iter().all(is_named));
        let Some(run) = runs.next() else { return Vec::new() };
        let is_left = |unit: &&String| {
            let wanted = UnitRef::parse(unit).ok();
            let wanted = wanted.filter(|wanted| matches!(wanted.dialect, Some(Dialect::Task | Dialect::Crew)));
            let found = wanted.and_then(|wanted| crate::find(self.workspace, &wanted, self.now).ok());
            found.is_some_and(|found| found.unit.state.lifecycle() != Lifecycle::Done)
        };
        // A unit that has namesakes by now has a longer or shorter name.
        let parsed: Vec<UnitRef> = units.iter().filter_map(|unit| UnitRef::parse(unit).ok()).collect();
        let is_named = |unit: &String| UnitRef::parse(unit).is_ok_and(|unit| parsed.iter().any(|it| it.may_be(&unit)));
        run.units.iter().filter(|unit| !is_named(unit)).filter(is_left).cloned().collect()
    }

    /// Whether its user took a unit out of its list.
    fn is_delisted(&self, unit: &str) -> bool {
        unit.starts_with("pipeline:") && self.is_gone(unit)
    }

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
