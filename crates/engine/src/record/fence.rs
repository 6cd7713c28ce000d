//! The fence: whoever was followed by another may not write any more. It is asked under the unit's lock, so that it does
//! not matter how long a writer slept before it came.

use piton_dialect::pipeline;
use piton_model::fleet::Standing;
use piton_model::hint::verbs;
use piton_model::{Admission, Dialect, Event, Refusal, Shift, UnitRef, admit};
use piton_store::History;
use piton_store::journal::Entry;
use serde_json::{Map, Value, json};

use super::{RecordError, Recorder, Session};
use crate::persons_word::persons_move;

/// Under which key a journal carries the workers that share an attempt.
const SHIFT: &str = "workers";

impl Session<'_> {
    /// Refuses a writer that was followed by another, and writes down that it came.
    pub(crate) fn fence_writer(&mut self, recorder: &Recorder, what: &str) -> Result<(), RecordError> {
        let current = self.unit.attempt();
        let Some(ticket) = recorder.attempt else { return Ok(()) };
        let name = self.target.name.clone();
        let is_own = |own: &UnitRef| UnitRef::parse(&name).is_ok_and(|unit| own.may_be(&unit));
        if let Some(own) = recorder.own.as_ref().filter(|own| !is_own(own)) {
            // A worker may begin a unit of its own making; every other one has its own workers.
            if what == "started" {
                return Ok(());
            }
            let refusal = Refusal::rule(format!("attempt {ticket} is one of {own}, and not of {name}"))
                .hint(verbs::STATUS.on(own.to_string()).to("see your own unit"));
            return Err(RecordError::Refused(refusal));
        }
        let (summary, refusal) = match admit(ticket, current, &self.shift()) {
            Admission::Admitted => return Ok(()),
            Admission::NotBegun => {
                let refusal =
                    Refusal::rule(format!("attempt {ticket} of {name} has not begun; it is at attempt {current}"))
                        .hint("leave out --attempt and PITON_ATTEMPT to act for the current attempt");
                return Err(RecordError::Refused(refusal));
            }
            Admission::AttemptOver => (
                format!("refused `{what}` of attempt {ticket}: the unit is at attempt {current}"),
                Refusal::rule(format!("attempt {ticket} of {name} is over: attempt {current} has begun"))
                    .hint(verbs::LOG.on(&name).to("another worker continues this unit; see"))
                    .hint("end now; what you made stays where it is"),
            ),
            Admission::WorkerOver => (
                format!("refused `{what}` of worker {ticket}: another is in its place, or its work is closed"),
                Refusal::rule(format!(
                    "worker {ticket} of {name} is over: another is in its place, or its work is closed"
                ))
                .hint(verbs::LOG.on(&name).to("another worker continues this step; see"))
                .hint("end now; what you made stays where it is"),
            ),
        };
        self.refuse(recorder, summary, refusal)
    }

    /// Refuses a worker's verdict where a person gave one since it began, and writes down that it came.
    pub(crate) fn fence_verdict(&mut self, recorder: &Recorder, event: &Event) -> Result<(), RecordError> {
        let (Event::VerdictGiven(verdict), Some(ticket)) = (event, recorder.attempt) else { return Ok(()) };
        let history = History::open(&*self.workspace.disk, &self.target.key)?;
        let events = history.map(|history| history.log()).transpose()?.map(|log| log.events).unwrap_or_default();
        let said = persons_move(&events).filter(|entry| entry.event == "verdict_given");
        let Some(word) = said.and_then(|entry| entry.data.get("verdict")?.as_str()) else { return Ok(()) };
        let name = self.target.name.clone();
        let summary = format!("refused {} of worker {ticket}: a person said {word}", verdict.word);
        let refusal = Refusal::rule(format!("a person said {word} about {name} since you began, and that counts"))
            // What was said is the business of the lead, which starts another worker with it.
            .hint("end now; what you made stays where it is");
        self.refuse(recorder, summary, refusal)
    }

    /// Refuses a story's worker what belongs to a later stage than its own, and writes down that it came.
    pub(crate) fn fence_stage(&mut self, recorder: &Recorder, event: &Event) -> Result<(), RecordError> {
        let (Some(ticket), Some(refusal)) = (recorder.attempt, self.beyond_stage(recorder, event)?) else {
            return Ok(());
        };
        let summary = format!("refused `{}` of worker {ticket}: {}", event.name(), refusal.message);
        self.refuse(recorder, summary, refusal)
    }

    /// Why an event is not for the stage that a story's worker was started for, and what the worker does instead.
    pub(super) fn beyond_stage(&self, recorder: &Recorder, event: &Event) -> Result<Option<Refusal>, RecordError> {
        let Some(ticket) = recorder.attempt.filter(|_| self.target.dialect == Dialect::Pipeline) else {
            return Ok(None);
        };
        // Most events are of no stage, and the journal need not be read for them.
        if pipeline::beyond_stage(event, 0).is_none() {
            return Ok(None);
        }
        let history = History::open(&*self.workspace.disk, &self.target.key)?;
        let events = history.map(|history| history.log()).transpose()?.map(|log| log.events).unwrap_or_default();
        let Some(own) = stage_of_worker(&events, ticket.attempt, &self.target.name) else { return Ok(None) };
        let Some(message) = pipeline::beyond_stage(event, own) else { return Ok(None) };
        let moment = self.moment(event, recorder);
        let hint = match pipeline::standing(&self.target.place, &self.files(), own, &moment) {
            Standing::Incomplete { missing } => {
                format!("complete stage {own}, and end; it lacks: {}", missing.join("; "))
            }
            _ => "end now; what you made stays where it is".to_owned(),
        };
        Ok(Some(Refusal::rule(message).hint(hint)))
    }

    /// Refuses that a worker finishes what a person paused. A person may: that is their answer to the pause.
    pub(super) fn fence_finish(&self, recorder: &Recorder, event: &Event) -> Result<(), RecordError> {
        if *event != Event::Finished || recorder.attempt.is_none() || !self.is_paused(recorder) {
            return Ok(());
        }
        Err(RecordError::Refused(Refusal::rule("a worker cannot finish a paused unit")))
    }

    fn refuse(&mut self, recorder: &Recorder, summary: String, refusal: Refusal) -> Result<(), RecordError> {
        let mut entry = self.entry(recorder, "refused", summary, self.unit.attempt());
        // A ghost is no sign that the unit's own worker lives.
        entry.carried.clear();
        self.commit(entry, &[])?;
        Err(RecordError::Refused(refusal))
    }

    /// With what is recorded next a new worker begins at a step; whoever was there is shut out. Gives its number.
    pub(crate) fn begin_worker(&mut self, step: &str) -> u64 {
        let mut shift = self.shift();
        let number = shift.begin(self.unit.attempt(), step);
        self.carried.insert(SHIFT.to_owned(), written(&shift));
        number
    }

    /// With what is recorded next a step is closed to whoever was at it.
    pub(crate) fn end_worker(&mut self, step: &str) {
        let mut shift = self.shift();
        shift.leave(self.unit.attempt(), step);
        self.carried.insert(SHIFT.to_owned(), written(&shift));
    }

    fn shift(&self) -> Shift {
        self.unit.last().and_then(|entry| entry.carried.get(SHIFT)).map(read).unwrap_or_default()
    }
}

/// The stage that a lead started the worker of an attempt for: it claims the story in the name of that worker.
fn stage_of_worker(events: &[Entry], attempt: u64, unit: &str) -> Option<u8> {
    let begins = |entry: &&Entry| entry.attempt == attempt && matches!(entry.event.as_str(), "started" | "resumed");
    let story = unit.rsplit([':', '/']).next()?;
    let stage = events.iter().find(begins)?.by.strip_prefix("story-")?.strip_prefix(story)?.strip_prefix("-s")?;
    stage.split('-').next()?.parse().ok()
}

fn written(shift: &Shift) -> Value {
    let at_work: Map<String, Value> =
        shift.at_work.iter().map(|(step, number)| (step.clone(), Value::from(*number))).collect();
    json!({ "attempt": shift.attempt, "begun": shift.begun, "at": at_work })
}

fn read(value: &Value) -> Shift {
    let number = |key: &str| value[key].as_u64().unwrap_or(0);
    let at_work = value["at"].as_object().into_iter().flatten();
    let at_work = at_work.filter_map(|(step, number)| Some((step.clone(), number.as_u64()?))).collect();
    Shift { attempt: number("attempt"), begun: number("begun"), at_work }
}
