//! Which dialect's functions decide. This is the only place that asks.

use piton_dialect::{Files, Place, build, crew, pipeline, plan, task};
use piton_model::{Change, Dialect, Event, Moment, Refusal, ResumeMode, ResumePlan};

/// The documents of a unit, the main one first.
pub(super) fn documents(dialect: Dialect, place: &Place, files: &dyn Files) -> Vec<String> {
    match dialect {
        Dialect::Pipeline => pipeline::documents(place, files),
        Dialect::Plan => plan::documents(place, files),
        Dialect::Build => build::documents(place, files),
        Dialect::Task => task::documents(place, files),
        Dialect::Crew => crew::documents(place, files),
    }
}

/// A document of a unit that is written now and then and hardly ever looked at.
pub(super) fn seldom_read(dialect: Dialect, place: &Place) -> Option<String> {
    match dialect {
        Dialect::Plan => Some(plan::layout::paths(place).recovery),
        Dialect::Pipeline | Dialect::Build | Dialect::Task | Dialect::Crew => None,
    }
}

/// What an event changes. Only a story's tasks keep a title and a description, so those are refused elsewhere.
pub(super) fn record(
    dialect: Dialect,
    place: &Place,
    files: &dyn Files,
    event: &Event,
    moment: &Moment,
) -> Result<Change, Refusal> {
    if let (Event::StepMoved(moved), false) = (event, dialect == Dialect::Pipeline)
        && (moved.title.is_some() || moved.description.is_some())
    {
        let what = format!("a step of a {dialect} keeps no title and no description; only the tasks of a story do");
        return Err(Refusal::usage(what));
    }
    match dialect {
        Dialect::Pipeline => pipeline::record(place, files, event, moment),
        Dialect::Plan => plan::record(place, files, event, moment),
        Dialect::Build => build::record(place, files, event, moment),
        Dialect::Task => task::record(place, files, event, moment),
        Dialect::Crew => crew::record(place, files, event, moment),
    }
}

/// How a unit is continued.
pub(crate) fn resume_plan(
    dialect: Dialect,
    place: &Place,
    files: &dyn Files,
    mode: Option<ResumeMode>,
    moment: &Moment,
) -> Result<ResumePlan, Refusal> {
    match dialect {
        Dialect::Pipeline => pipeline::resume(place, files, mode, moment),
        Dialect::Plan => plan::resume(place, files, mode, moment),
        Dialect::Build => build::resume(place, files, mode, moment),
        Dialect::Task => task::resume(place, files, mode, moment),
        Dialect::Crew => crew::resume(place, files, mode, moment),
    }
}

/// Files that units of a dialect may share elsewhere than beside and above their documents.
pub(crate) fn shared(dialect: Dialect, place: &Place, files: &dyn Files) -> Vec<String> {
    match dialect {
        Dialect::Crew => crew::status_files(place, files),
        Dialect::Pipeline | Dialect::Plan | Dialect::Build | Dialect::Task => Vec::new(),
    }
}
