//! The end of a task whose last criteria have a command: a worker has done its part, and the lead runs them.

use piton_dialect::task;
use piton_model::hint::verbs;
use piton_model::{Dialect, Event, Refusal};
use serde_json::{Map, Value};

use super::{RecordError, Recorded, Recorder, Session};
use crate::evidence::{Trust, configured_gates, is_approved};

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
        let has_command = |name: &str| gates.contains_key(name);
        let awaited = task::awaited(&place, &self.files(), &has_command, &moment).map_err(RecordError::Refused)?;
        if awaited.is_empty() {
            return Ok(None);
        }
        if recorder.attempt.is_none() {
            let name = &self.target.name;
            let refusal = Refusal::rule(format!("{name} is not complete: not met: {}", awaited.join(", ")));
            let run = |criterion: &String| {
                let run = verbs::GATE_RUN.on(name).word("run").name(criterion, "NAME");
                let command = gates.get(criterion).map_or("", String::as_str);
                match is_approved(&Trust::of(self.workspace(), command)) {
                    true => run.to("run it"),
                    // A command of the repository runs when its user has read it.
                    false => run.flag("--approve").to("read its command in piton.toml, then"),
                }
            };
            return Err(RecordError::Refused(awaited.iter().map(run).fold(refusal, Refusal::hint)));
        }
        let data = Map::from_iter([("criteria".to_owned(), Value::from(awaited.clone()))]);
        self.change(recorder, "ready", data, moment.attempt, &|_, place, files| {
            task::ready(place, files, &awaited, &moment)
        })
        .map(Some)
    }
}
