//! Whose word an event of a journal is, and what a person recorded that a unit's document lacks: a worker that writes its
//! whole document by hand leaves out what was recorded since it read it.

use std::collections::BTreeSet;

use piton_model::{Dialect, Event, GateState, NotePurpose, State, StepMove, StepState, StepTo, Unit};
use piton_store::journal::Entry;
use serde_json::Value;

use crate::record::{TICKET, recorded};

/// The name under which a lead records what it does itself.
pub(crate) const LEAD: &str = "lead";

/// Whether a person recorded an event, and no lead or worker. That a worker was refused is recorded without its ticket.
pub(crate) fn is_by_person(entry: &Entry) -> bool {
    entry.by != LEAD && !entry.data.contains_key(TICKET) && entry.event != "refused"
}

/// Whether a lead claimed a unit with an event: it does so in the name of the worker that it starts.
pub(crate) fn is_claim(entry: &Entry) -> bool {
    matches!(entry.event.as_str(), "started" | "resumed")
        && ["story-", "worker-"].iter().any(|start| entry.by.starts_with(start))
}

/// Whether an event is what others did to documents.
pub(crate) fn is_seen(entry: &Entry) -> bool {
    matches!(entry.event.as_str(), "observed" | "adopted")
}

/// The event with which a person moved a unit as a whole since its worker began, when nothing moved it since: a verdict,
/// another stage, an earlier version, a new beginning. A person who takes the unit up is its worker then.
pub(crate) fn persons_move(events: &[Entry]) -> Option<&Entry> {
    let moves = |entry: &&Entry| match entry.event.as_str() {
        "started" | "restarted" | "resumed" | "taken_over" | "stage_entered" | "verdict_given" => true,
        // A lead restores a version, or opens a unit again, for what it lacks.
        "rolled_back" | "reopened" => entry.by != LEAD,
        _ => false,
    };
    let last = events.iter().rfind(moves)?;
    let is_taken_up = matches!(last.event.as_str(), "resumed" | "taken_over" | "reopened");
    (is_by_person(last) && !is_claim(last) && !is_taken_up).then_some(last)
}

/// The version of its document that a person's move left, when a worker wrote the document by hand since. The present
/// document may have the same verdict.
pub(crate) fn replaced_version<'e>(events: &'e [Entry], unit: &Unit) -> Option<&'e Entry> {
    let is_story = unit.dialect == Dialect::Pipeline;
    let moved = persons_move(events).filter(|entry| match entry.event.as_str() {
        "started" | "restarted" | "rolled_back" => true,
        "verdict_given" => is_story && !has_verdict(unit, entry),
        // Elsewhere the work of the document continues in another stage.
        "stage_entered" => is_story,
        _ => false,
    })?;
    let restored = events.iter().rfind(|entry| entry.event == "rolled_back" && entry.by == LEAD);
    let since = moved.seq.max(restored.map_or(0, |entry| entry.seq));
    // Without a claim before it no worker of a lead is at the unit.
    let has_worker = events.iter().any(|entry| entry.seq < moved.seq && is_claim(entry));
    (has_worker && events.iter().any(|entry| entry.seq > since && is_seen(entry))).then_some(moved)
}

/// Whether a story's checkpoint has a verdict, with what was said about it.
fn has_verdict(unit: &Unit, entry: &Entry) -> bool {
    let text = |key: &str| entry.data.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let word = text("verdict").unwrap_or_default();
    let is_given = unit.gates.iter().any(|gate| match &gate.state {
        GateState::Passed { result: Some(result) } | GateState::Failed { result: Some(result) } => {
            result.split(',').next().is_some_and(|given| given.eq_ignore_ascii_case(word))
        }
        GateState::Passed { result: None } | GateState::Failed { result: None } | GateState::Pending => false,
    });
    let is_noted = |said: &str| unit.notes.iter().any(|note| note.text.contains(said));
    is_given && ["reason", "issues"].iter().filter_map(|key| text(key)).all(is_noted)
}

/// An event that a person recorded and that is to be recorded again.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Word {
    /// The number of the person's event.
    pub seq: u64,
    /// Who recorded it.
    pub by: String,
    /// What the document lacks of it.
    pub event: Event,
    /// What was told of it when it was recorded.
    pub summary: String,
}

/// What a person recorded about a unit in its present life that its document lacks, although nothing took it back: the
/// document was written by hand since. What holds the unit comes last, because what is recorded after it ends it.
pub(crate) fn lacking_words(events: &[Entry], unit: &Unit) -> Vec<Word> {
    let takes_back = |entry: &Entry| entry.event == "rolled_back" && is_by_person(entry);
    let begins = |entry: &Entry| matches!(entry.event.as_str(), "started" | "restarted") || takes_back(entry);
    let life = events.iter().rposition(begins).unwrap_or(0);
    let worker = events.iter().rposition(is_claim).unwrap_or(0);
    let Some(seen) = events.iter().rposition(is_seen) else { return Vec::new() };
    let held = standing_hold(events).map(|entry| entry.seq);
    let word = |(at, entry): (usize, &Entry)| {
        let event = recorded(entry).filter(|_| is_by_person(entry) && at < seen)?;
        let event = match event {
            Event::Noted { .. } | Event::Decided { .. } => event,
            Event::StepMoved(moved) => {
                let is_open = moved.to != StepTo::Failed || at > worker;
                Event::StepMoved(narrowed(moved, |step| is_open && is_last_about(events, at, "steps", step))?)
            }
            // A worker may correct what a person refused before it began.
            Event::GateJudged(mut judged) => {
                judged.names.retain(|name| at > worker && is_last_about(events, at, "gates", name));
                Event::GateJudged(judged)
            }
            Event::Paused { .. } | Event::Blocked { .. } | Event::Failed { .. } if held == Some(entry.seq) => {
                (at > worker).then_some(event)?
            }
            _ => return None,
        };
        let event = lacking(event, unit)?;
        Some(Word { seq: entry.seq, by: entry.by.clone(), event, summary: entry.summary.clone() })
    };
    let mut words: Vec<Word> = events.iter().enumerate().skip(life).filter_map(word).collect();
    words.sort_by_key(|word| matches!(word.event, Event::Paused { .. } | Event::Blocked { .. } | Event::Failed { .. }));
    words
}

/// Whether no other event but the lead's names something later: the lead repeats what a person said.
fn is_last_about(events: &[Entry], at: usize, key: &str, name: &str) -> bool {
    let names = |entry: &Entry| {
        let named = entry.data.get(key).and_then(Value::as_array);
        named.is_some_and(|named| named.iter().any(|it| it.as_str() == Some(name)))
    };
    let is_about = |entry: &Entry| entry.event.starts_with("step_") || entry.event.starts_with("gate_");
    !events[at + 1..].iter().any(|entry| entry.by != LEAD && is_about(entry) && names(entry))
}

/// The pause or block of a person that nothing continued since.
pub(crate) fn standing_hold(events: &[Entry]) -> Option<&Entry> {
    let holds = |entry: &Entry| matches!(entry.event.as_str(), "paused" | "blocked" | "failed");
    // What a lead or a worker recorded beside it takes nothing away.
    let at = events.iter().rposition(|entry| holds(entry) && is_by_person(entry))?;
    let continues = |entry: &Entry| match entry.event.as_str() {
        "started" | "resumed" | "unblocked" | "restarted" | "reopened" | "taken_over" | "rolled_back"
        | "step_begun" => !entry.data.contains_key(TICKET),
        "step_done" | "verdict_given" | "finished" => is_by_person(entry),
        _ => false,
    };
    (!events[at..].iter().any(continues)).then_some(&events[at])
}

/// What of an event a document lacks.
fn lacking(event: Event, unit: &Unit) -> Option<Event> {
    match event {
        Event::Noted { purpose: NotePurpose::Note, ref text } => {
            (!unit.notes.iter().any(|note| note.text.contains(text.trim()))).then_some(event)
        }
        Event::Decided { ref text, .. } => {
            (!unit.decisions.iter().any(|known| known.text.contains(text.trim()))).then_some(event)
        }
        Event::StepMoved(moved) => {
            let to = moved.to;
            narrowed(moved, |step| {
                let known = unit.steps.iter().find(|known| known.id == step).map(|known| &known.state);
                match known {
                    None => to == StepTo::Begun,
                    Some(StepState::Done { .. }) => to == StepTo::Failed,
                    Some(StepState::Skipped) => false,
                    Some(StepState::Pending | StepState::Running | StepState::Failed) => {
                        matches!(to, StepTo::Done | StepTo::Skipped)
                    }
                }
            })
            .map(Event::StepMoved)
        }
        Event::GateJudged(mut judged) => {
            judged.names.retain(|name| {
                let known = unit.gates.iter().find(|known| known.name == *name);
                known.is_some_and(|known| matches!(known.state, GateState::Passed { .. }) != judged.passed)
            });
            (!judged.names.is_empty()).then_some(Event::GateJudged(judged))
        }
        Event::Paused { ref reason } => {
            let is_held = match &unit.state {
                State::Paused { reason: known } => reason.is_none() || known == reason,
                State::Blocked | State::Failed { .. } => true,
                // What is complete is not merged while the journal has a pause, and need not be opened again for it.
                State::Done => true,
                State::Queued | State::Running | State::Waiting | State::Unknown => false,
            };
            (!is_held).then_some(event)
        }
        Event::Blocked { ref message, .. } | Event::Failed { ref message, .. } => {
            let is_named = |text: &String| text.contains(message.trim());
            let is_held = match &unit.state {
                State::Failed { error } => is_named(error),
                _ => unit.blockers.iter().any(is_named),
            };
            (!is_held).then_some(event)
        }
        _ => None,
    }
}

/// The steps of a move that are meant. What it says beside them is about all of them.
fn narrowed(mut moved: StepMove, is_meant: impl Fn(&str) -> bool) -> Option<StepMove> {
    let all: BTreeSet<String> = moved.steps.iter().cloned().collect();
    moved.steps.retain(|step| is_meant(step));
    match moved.steps.len() {
        0 => None,
        left if left == all.len() => Some(moved),
        _ => Some(StepMove::new(moved.to, moved.steps)),
    }
}

#[cfg(test)]
mod tests;
