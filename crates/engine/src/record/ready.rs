//! The end of a task whose last criteria have a command: a worker has done its part, and the lead runs them.

use std::cell::{LazyCell, RefCell};
use std::collections::BTreeMap;

use piton_dialect::task;
use piton_model::hint::verbs;
use piton_model::{Change, Dialect, Effect, Event, Hint, Refusal};
use serde_json::{Map, Value};

use super::{RecordError, Recorded, Recorder, Session};
use crate::Workspace;
use crate::evidence::{Trust, configured_gates, is_approved, named_command};
use crate::target::Target;

impl Session<'_> {
    /// Records that a task is ready when nothing but criteria with a command is left of it. Nothing when it can be
    /// finished, or something else is open: that is the dialect's own affair.
    ///
    /// A worker's part ends there, because the lead runs the commands. Without a lead they have to be run.
    pub(super) fn make_ready(&mut self, event: &Event, recorder: &Recorder) -> Result<Option<Recorded>, RecordError> {
        if self.target.dialect != Dialect::Task || *event != Event::Finished {
            return Ok(None);
        }
        let moment = self.moment(event, recorder);
        let place = self.target.place.clone();
        // Most tasks have no such criteria, and then the settings need not be read.
        let any = |_: &str| true;
        if task::awaited(&place, &self.files(), &any, &moment).map_err(RecordError::Refused)?.is_empty() {
            return Ok(None);
        }
        let gates = configured_gates(self.workspace())?;
        let has_command = |name: &str| named_command(&gates, name).is_some();
        let awaited = task::awaited(&place, &self.files(), &has_command, &moment).map_err(RecordError::Refused)?;
        if awaited.is_empty() {
            return Ok(None);
        }
        if recorder.attempt.is_none() {
            let name = &self.target.name;
            let refusal = Refusal::rule(format!("{name} is not complete: not met: {}", awaited.join(", ")));
            let run = |criterion: &String| run_criterion(self.workspace(), name, criterion, &gates);
            return Err(RecordError::Refused(awaited.iter().map(run).fold(refusal, Refusal::hint)));
        }
        let data = Map::from_iter([("criteria".to_owned(), Value::from(awaited.clone()))]);
        self.change(recorder, "ready", data, moment.attempt, &|_, place, files| {
            task::ready(place, files, &awaited, &moment)
        })
        .map(Some)
    }
}

/// How a criterion that has a command is run without a lead.
fn run_criterion(workspace: &Workspace, unit: &str, criterion: &str, gates: &BTreeMap<String, String>) -> Hint {
    let run = verbs::GATE_RUN.on(unit).word("run").name(criterion, "NAME");
    let command = named_command(gates, criterion).map_or("", String::as_str);
    match is_approved(&Trust::of(workspace, command)) {
        true => run.to("run it"),
        // A command of the repository runs when its user has read it.
        false => run.flag("--approve").to("read its command in piton.toml, then"),
    }
}

/// A change of a task with what its agent does next. Criteria that have a command are not a worker's to judge; without a
/// lead they have to be run.
pub(super) fn with_next(
    workspace: &Workspace,
    target: &Target,
    change: Change,
    event: &Event,
    recorder: &Recorder,
) -> Change {
    let written = change.effects.iter().find_map(|effect| match effect {
        Effect::Write { path, bytes } if *path == target.key.document => Some(bytes),
        _ => None,
    });
    let (Event::StepMoved(_) | Event::GateJudged(_), Some(bytes)) = (event, written) else { return change };
    // Settings that cannot be read name no command; the verbs that need one say so.
    let gates = LazyCell::new(|| configured_gates(workspace).unwrap_or_default());
    let led = RefCell::new(Vec::new());
    let next = task::next_step(&target.name, bytes, &|name| {
        let is_led = named_command(&gates, name).is_some();
        led.borrow_mut().extend(is_led.then(|| name.to_owned()));
        is_led
    });
    let is_end = next.as_ref().is_some_and(|next| next.commands.iter().any(|command| command.verb == &verbs::FINISH));
    let next = match led.borrow().first().filter(|_| is_end && recorder.attempt.is_none()) {
        Some(criterion) => Some(run_criterion(workspace, &target.name, criterion, &gates)),
        None => next,
    };
    Change { next, ..change }
}
