//! What events change in a crew's files.

mod backup;
mod companions;
mod create;
mod next;
mod numbers;
mod steps;
mod update;

use std::time::Duration;

use piton_model::hint::verbs;
use piton_model::{Arg, Change, Dialect, Effect, Event, Id, Moment, Refusal, Unit, permit};

use super::{layout, read_checkpoint};
use crate::json::Editor;
use crate::{Detail, Files, Place, Source};
use backup::Found;
pub(super) use backup::{Origin, find};
pub(super) use companions::section_with;
pub(super) use numbers::number_of;
pub use numbers::step_numbers;
pub(super) use steps::short;
pub(super) use update::not_resumable;

/// How often an agent updates its checkpoint.
const INTERVAL: Duration = Duration::from_secs(15 * 60);

/// The documents whose every version is kept: the agent's checkpoint.
pub fn documents(place: &Place, _files: &dyn Files) -> Vec<String> {
    Spot::at_start(place).map(|spot| spot.path).into_iter().collect()
}

/// Where the features of an agent's epic may have their STATUS files.
pub fn status_files(place: &Place, files: &dyn Files) -> Vec<String> {
    files.list(&place.base).iter().map(|feature| place.path(&format!("{feature}/STATUS"))).collect()
}

/// Decides what an event changes. Pure: the same input gives the same output.
///
/// A checkpoint that cannot be read is restored from its newest whole backup first, with a warning, and kept aside.
pub fn record(place: &Place, files: &dyn Files, event: &Event, moment: &Moment) -> Result<Change, Refusal> {
    let spot = match event {
        Event::Started(_) => Spot::at_start(place)?,
        _ => Spot::of(place)?,
    };
    match event {
        Event::Started(start) => create::start(&spot, files, start, event, moment),
        Event::Restarted { force } => create::restart(&spot, files, *force, event, moment),
        Event::TakenOver { agent } => create::take_over(&spot, files, agent, event, moment),
        Event::Repaired => backup::repair(&spot, files, moment),
        Event::BackedUp { .. } => {
            let found = spot.found(files, moment)?;
            let effects = backup::before_update(&spot, files, &found, moment)?;
            Ok(Change { summary: "backed up".into(), warnings: found.warnings(), effects, next: None })
        }
        Event::StepMoved(_)
        | Event::StageEntered { .. }
        | Event::GateJudged(_)
        | Event::CriteriaDropped { .. }
        | Event::VerdictGiven(_)
        | Event::Blocked { .. }
        | Event::Unblocked { .. }
        | Event::Paused { .. }
        | Event::Failed { .. }
        | Event::Noted { .. }
        | Event::ExecutionNoted(_)
        | Event::Decided { .. }
        | Event::Beat
        | Event::Finished
        | Event::Resumed { .. }
        | Event::Reopened
        | Event::HelperStarted { .. }
        | Event::HelperStopped { .. }
        | Event::Marked
        | Event::Checkpointed { .. }
        | Event::Crashed { .. }
        | Event::FilesTouched { .. }
        | Event::ToolFailed { .. } => {
            let found = spot.found(files, moment)?;
            update::may(&spot, &found.unit, event)?;
            let mut editor = found.editor.clone();
            let mut warnings = found.warnings();
            let summary = update::apply(&mut editor, &spot, &found.unit, event, moment, &mut warnings)?;
            let next = next::after(&editor, &spot, event, moment);
            commit(&spot, files, &found, editor, moment, Change { summary, warnings, effects: Vec::new(), next })
        }
    }
}

/// Where an agent's files are.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    /// The epic's directory.
    pub base: String,
    /// The checkpoint.
    pub path: String,
    /// The agent as it was named.
    pub agent: String,
    /// The unit as it is typed.
    pub unit: String,
    /// How another agent of the epic is typed: this, and its id.
    pub crew: String,
}

impl Spot {
    /// Where the checkpoint of a unit is. One that is known by prose or by its feature's STATUS file has none.
    pub(super) fn of(place: &Place) -> Result<Spot, Refusal> {
        let spot = Spot::at_start(place)?;
        match place.document.as_deref().filter(|document| *document != spot.path) {
            None => Ok(spot),
            Some(document) => Err(Refusal::document(format!("only a checkpoint in JSON is written, not {document}"))
                .hint(
                    verbs::START
                        .on(&spot.unit)
                        .filled("--feature", "FEATURE")
                        .with("--stage", Arg::Word("S2.P1"))
                        .to("begin one with"),
                )),
        }
    }

    /// Where the checkpoint of an agent that starts will be.
    fn at_start(place: &Place) -> Result<Spot, Refusal> {
        let Some(id) = place.id.last() else { return Err(Refusal::usage("no agent is named")) };
        let agent = id.as_str().to_owned();
        let document = place.document.clone().filter(|document| document.ends_with(".json"));
        let path = document.unwrap_or_else(|| place.path(&layout::path_of(&agent)));
        let (unit, crew) = (place.unit(Dialect::Crew), place.named(Dialect::Crew, ""));
        Ok(Spot { base: place.base.clone(), path, agent, unit, crew })
    }

    /// The directory of the checkpoints.
    pub fn directory(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(directory, _)| directory)
    }

    /// A path beside the checkpoint.
    pub fn beside(&self, name: &str) -> String {
        if self.directory().is_empty() { name.to_owned() } else { format!("{}/{name}", self.directory()) }
    }

    /// The directory of the backups.
    pub fn backups(&self) -> String {
        self.beside("backups")
    }

    /// The checkpoint's file name without `.json`, by which its copies are named.
    pub fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        name.strip_suffix(".json").unwrap_or(name)
    }

    /// A path below the epic's directory.
    pub fn below(&self, path: &str) -> String {
        if self.base.is_empty() { path.to_owned() } else { format!("{}/{path}", self.base) }
    }

    /// The checkpoint that there is, restored where it is torn; a refusal when there is none.
    pub(super) fn found(&self, files: &dyn Files, moment: &Moment) -> Result<Found, Refusal> {
        if let Some(found) = backup::find(self, files, moment)? {
            return Ok(found);
        }
        Err(Refusal::missing(format!("there is no checkpoint of {}", self.agent)))
    }
}

/// The unit that a text is; nothing when it is none.
fn unit_of(path: &str, editor: &Editor, moment: &Moment) -> Option<Unit> {
    let source = Source { path: path.into(), bytes: editor.text().as_bytes(), modified: None };
    read_checkpoint(&source, Detail::Full, moment.now).unit
}

/// Refuses what the lifecycle does not allow.
fn permitted(spot: &Spot, unit: &Unit, event: &Event) -> Result<(), Refusal> {
    permit(Dialect::Crew, &spot.unit, unit.state.lifecycle(), event)
}

/// Makes the change of an update: the backup, the checkpoint with its times, and what stands beside it.
pub(super) fn commit(
    spot: &Spot,
    files: &dyn Files,
    found: &Found,
    mut editor: Editor,
    moment: &Moment,
    mut change: Change,
) -> Result<Change, Refusal> {
    change.effects = backup::before_update(spot, files, found, moment)?;
    write(spot, files, &mut editor, moment, &mut change)?;
    Ok(change)
}

/// Writes the checkpoint with its times, and what the epic and the feature say about it.
fn write(
    spot: &Spot,
    files: &dyn Files,
    editor: &mut Editor,
    moment: &Moment,
    change: &mut Change,
) -> Result<(), Refusal> {
    stamp(editor, moment);
    let shared = companions::update(spot, files, editor, moment, &mut change.warnings)?;
    change.effects.push(Effect::Write { path: spot.path.clone(), bytes: editor.clone().into_bytes() });
    change.effects.extend(shared);
    Ok(())
}

/// Sets when the checkpoint was updated, and when the next update is due.
fn stamp(editor: &mut Editor, moment: &Moment) {
    editor.set(&["last_checkpoint"], moment.now.to_string());
    editor.set(&["next_checkpoint_expected"], moment.now.after(INTERVAL).to_string());
}

/// An id that becomes a file name or stands in a document.
fn checked_id(what: &str, text: &str) -> Result<Id, Refusal> {
    Id::parse(text).map_err(|why| Refusal::usage(format!("{what} {text:?} is not an id: {why}")))
}

#[cfg(test)]
mod tests;
