//! What events change in a task's files.

mod board;
mod create;
mod errors;
mod finish;
mod subtasks;
mod update;

use piton_model::hint::verbs;
use piton_model::{Change, Dialect, Effect, Event, Hint, Moment, Refusal, StepTo, Unit, permit, text};

use super::{is_ours, layout, read_checkpoint};
use crate::json::Editor;
use crate::{Files, Place, Source};
pub use board::{StatusRow, status_block};
pub(super) use update::not_resumable;

/// How much free text a summary holds.
const LONGEST: usize = 72;

/// The documents whose every version is kept: the current checkpoint, and the archive where only that is left.
pub fn documents(place: &Place, _files: &dyn Files) -> Vec<String> {
    let Ok(spot) = Spot::of(place) else { return Vec::new() };
    let mut paths = vec![spot.path];
    paths.extend(place.document.clone().filter(|document| *document != paths[0]));
    paths
}

/// Decides what an event changes. Pure: the same input gives the same output.
pub fn record(place: &Place, files: &dyn Files, event: &Event, moment: &Moment) -> Result<Change, Refusal> {
    let spot = Spot::of(place)?;
    match event {
        Event::Started(start) => create::start(&spot, files, start, event, moment),
        Event::Reopened => create::reopen(&spot, files, event, moment),
        Event::Restarted { force } => create::restart(&spot, files, *force, event, moment),
        Event::TakenOver { agent } => create::take_over(&spot, files, agent, event, moment),
        Event::Finished => finish::finish(&spot, files, event, moment),
        Event::Repaired => update::repair(&spot, files, moment),
        Event::BackedUp { .. } => {
            spot.live(files, moment)?;
            Ok(Change { summary: "nothing to back up: every version is kept".into(), ..Change::default() })
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
        | Event::Resumed { .. }
        | Event::HelperStarted { .. }
        | Event::HelperStopped { .. }
        | Event::Marked
        | Event::Checkpointed { .. }
        | Event::Crashed { .. }
        | Event::FilesTouched { .. }
        | Event::ToolFailed { .. } => {
            let mut found = spot.live(files, moment)?;
            update::may(&spot, &found.unit, event)?;
            let summary = update::apply(&mut found.editor, &spot, &found.unit, event, moment)?;
            let mut change = Change { summary, ..Change::default() };
            let posts = matches!(event, Event::StepMoved(moved) if moved.to != StepTo::Begun);
            commit(&spot, files, found.editor, event, moment, &mut change)?;
            if posts {
                let percent = percent_in(&change);
                change.effects.push(board::post(&spot, percent));
            }
            Ok(change)
        }
    }
}

/// The criteria that are left when an agent finishes its task, where each of them has a command: the lead runs those.
/// Nothing when the task can be finished, or something else is open.
pub fn awaited(
    place: &Place,
    files: &dyn Files,
    has_command: &dyn Fn(&str) -> bool,
    moment: &Moment,
) -> Result<Vec<String>, Refusal> {
    finish::awaited(&Spot::of(place)?, files, has_command, moment)
}

/// Records that an agent has done its part of a task, and that the criteria which are left have to be run.
pub fn ready(place: &Place, files: &dyn Files, awaited: &[String], moment: &Moment) -> Result<Change, Refusal> {
    finish::ready(&Spot::of(place)?, files, awaited, &Event::Finished, moment)
}

/// What an agent does next after a step or a criterion; nothing when the document cannot be read. `has_command` says
/// which criteria the lead judges.
pub fn next_step(unit: &str, bytes: &[u8], has_command: &dyn Fn(&str) -> bool) -> Option<Hint> {
    finish::next_step(unit, &Editor::open("", bytes).ok()?, has_command)
}

/// Where a task's files are.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    /// The directory that holds `progress`.
    pub base: String,
    /// The current checkpoint, there or not.
    pub path: String,
    /// The archive that stands for the task, where there is no current checkpoint.
    pub archive: Option<String>,
    pub agent: String,
    pub task: String,
    /// The task as it is typed.
    pub unit: String,
    /// How another task of the directory is typed: this, its agent and its id.
    pub tasks: String,
}

/// A checkpoint as an event finds it.
pub(super) struct Found {
    pub editor: Editor,
    pub unit: Unit,
    pub bytes: Vec<u8>,
}

impl Spot {
    pub(super) fn of(place: &Place) -> Result<Spot, Refusal> {
        let [.., agent, task] = &place.id[..] else {
            return Err(Refusal::usage("a task is named by its agent and its id").hint("write it as task:AGENT/TASK"));
        };
        let (agent, task) = (agent.as_str().to_owned(), task.as_str().to_owned());
        let document = place.document.clone();
        let is_archive = |path: &String| {
            let name = path.rsplit('/').next().unwrap_or(path);
            layout::archive_number(name).is_some() && name != layout::file_name(&agent, &task)
        };
        let archive = document.clone().filter(is_archive);
        let path = match (&archive, document) {
            (Some(archive), _) => {
                let directory = archive.rsplit_once('/').map_or("", |(directory, _)| directory);
                let name = layout::file_name(&agent, &task);
                if directory.is_empty() { name } else { format!("{directory}/{name}") }
            }
            (None, Some(document)) => document,
            (None, None) => place.path(&layout::path_of(&agent, &task)),
        };
        let (unit, tasks) = (place.unit(Dialect::Task), place.named(Dialect::Task, ""));
        Ok(Spot { base: place.base.clone(), path, archive, agent, task, unit, tasks })
    }

    pub fn directory(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(directory, _)| directory)
    }

    /// A path beside the checkpoint.
    pub fn beside(&self, name: &str) -> String {
        if self.directory().is_empty() { name.to_owned() } else { format!("{}/{name}", self.directory()) }
    }

    /// The checkpoint's file name without `.json`.
    pub fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        name.strip_suffix(".json").unwrap_or(name)
    }

    /// A path below the directory that holds `progress`.
    pub fn below(&self, path: &str) -> String {
        if self.base.is_empty() { path.to_owned() } else { format!("{}/{path}", self.base) }
    }

    /// The current checkpoint; nothing when there is none.
    pub(super) fn find(&self, files: &dyn Files, moment: &Moment) -> Result<Option<Found>, Refusal> {
        open(&self.path, files, moment)
    }

    /// The newest archive, when there is one.
    pub(super) fn archived(&self, files: &dyn Files, moment: &Moment) -> Result<Option<Found>, Refusal> {
        if let Some(path) = &self.archive {
            return open(path, files, moment);
        }
        let number =
            |name: &String| (layout::live_stem(name) == self.stem()).then(|| layout::archive_number(name)).flatten();
        let last = files.list(self.directory()).iter().filter_map(number).max();
        match last {
            Some(number) => open(&self.beside(&layout::archive_name(self.stem(), number)), files, moment),
            None => Ok(None),
        }
    }

    /// The current checkpoint, or why there is none.
    pub(super) fn live(&self, files: &dyn Files, moment: &Moment) -> Result<Found, Refusal> {
        if let Some(found) = self.find(files, moment)? {
            return Ok(found);
        }
        let unit = &self.unit;
        if self.archived(files, moment)?.is_some() {
            return Err(Refusal::rule(format!("{unit} is complete and archived"))
                .hint(verbs::REOPEN.on(unit).to("when something is missing"))
                .hint(verbs::START.on(unit).filled("--title", "TITLE").to("do it all again")));
        }
        Err(Refusal::missing(format!("there is no checkpoint of {unit}")))
    }
}

fn open(path: &str, files: &dyn Files, moment: &Moment) -> Result<Option<Found>, Refusal> {
    let Some(bytes) = files.read(path)? else { return Ok(None) };
    let editor = Editor::open(path, &bytes)?;
    let foreign = || {
        Refusal::document(format!("this is not a task's checkpoint: {path}"))
            .hint(verbs::CHECK.call().path(path).to("see what it is"))
    };
    if !editor.look(is_ours) {
        return Err(foreign());
    }
    let unit = unit_of(path, &editor, moment).ok_or_else(foreign)?;
    Ok(Some(Found { editor, unit, bytes }))
}

fn unit_of(path: &str, editor: &Editor, moment: &Moment) -> Option<Unit> {
    let source = Source { path: path.into(), bytes: editor.text().as_bytes(), modified: None };
    read_checkpoint(&source, moment.now).unit
}

/// Refuses what the lifecycle does not allow.
fn permitted(spot: &Spot, unit: &Unit, event: &Event) -> Result<(), Refusal> {
    permit(Dialect::Task, &spot.unit, unit.state.lifecycle(), event)
}

/// Writes the current checkpoint with its times, and the table of all tasks.
fn commit(
    spot: &Spot,
    files: &dyn Files,
    mut editor: Editor,
    event: &Event,
    moment: &Moment,
    change: &mut Change,
) -> Result<(), Refusal> {
    update::stamp(&mut editor, event, moment);
    change.warnings.extend(board::conflicts(spot, files, &editor, event)?);
    change.effects.push(Effect::Write { path: spot.path.clone(), bytes: editor.clone().into_bytes() });
    change.effects.extend(board::update(spot, files, &editor, &spot.path, moment, &mut change.warnings)?);
    Ok(())
}

/// The percentage that a change writes.
fn percent_in(change: &Change) -> i64 {
    let written = change.effects.iter().find_map(|effect| match effect {
        Effect::Write { path, bytes } => Editor::open(path, bytes).ok(),
        Effect::Edit { .. }
        | Effect::Share { .. }
        | Effect::Append { .. }
        | Effect::Keep { .. }
        | Effect::Remove { .. } => None,
    });
    written.and_then(|editor| editor.int(&["progress_percent"])).unwrap_or_default()
}

/// A text in a line that is short enough for a summary.
pub(super) fn short(text: &str) -> String {
    text::fit(&text::printable(text.trim()), LONGEST).into_owned()
}

#[cfg(test)]
mod tests;
