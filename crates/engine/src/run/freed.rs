//! Paused lanes that the user frees, while a lead is at work or before the next one.

use piton_model::fleet::{FleetEvent, LaneAt, LaneState, Standing};
use piton_model::{Event, Lifecycle, State, UnitRef};
use piton_store::journal::Entry;
use serde_json::Value;

use super::by_hand::LeftBy;
use super::lead::Lead;
pub(super) use crate::persons_word::{LEAD, is_by_person};
use crate::record;
use crate::record::TICKET;

impl Lead<'_> {
    /// Restarts paused lanes that the user freed. An event frees a lane once: a lane that pauses again waits for another.
    pub(super) fn look_for_freed(&mut self) {
        for at in 0..self.work.fleet.lanes.len() {
            let is_resting = match self.work.fleet.lanes[at].state {
                LaneState::Paused { .. } => !self.is_done_since(at),
                // Who does by hand what waits for a limit need not wait for it.
                LaneState::Parked { .. } => {
                    self.is_done_since(at);
                    false
                }
                _ => false,
            };
            if !is_resting {
                continue;
            }
            let freed = match self.work.lanes[at].step {
                Some(_) => self.unblocked_by(at),
                None => self.freed_by(at),
            };
            let Some(event) = freed.filter(|event| self.freed.get(&at) != Some(event)) else { continue };
            // An unblocked build is paused until its lead continues it.
            let is_step = self.work.lanes[at].step.is_some();
            let is_paused = self.unit_of(at).is_ok_and(|unit| matches!(unit.state, State::Paused { .. }));
            if self.is_held(at) && !(is_step && is_paused) {
                continue;
            }
            self.freed.insert(at, event);
            self.tell_lane(at, "freed", "freed by the user; it continues");
            let is_whole = !self.work.fleet.lanes[at].halts_group;
            let standing = self.refused_again(at).unwrap_or_else(|| self.standing(at, true));
            match standing {
                // Only the merge or the record was refused: that is done again, not the work.
                Standing::Complete(_) if is_whole && !self.has_unread_answer(at) => {
                    self.work.fleet.lanes[at].grant_anew();
                    self.judge_as(at, standing);
                }
                _ => self.queue.push_back(FleetEvent::LaneFreed { lane: at }),
            }
        }
    }

    /// Whether a person did what a paused lane was to do: it is settled, and no worker starts.
    fn is_done_since(&mut self, at: LaneAt) -> bool {
        if self.is_done_by_hand(at) {
            self.leave_to_person(at, LeftBy::Settling);
            let unit = self.work.lanes[at].unit.clone();
            let group = self.work.fleet.lanes[at].group;
            let mut others = (0..self.work.lanes.len()).filter(|other| *other != at);
            let is_paused = |other: usize| {
                let lane = &self.work.fleet.lanes[other];
                lane.group == group && matches!(lane.state, LaneState::Paused { .. })
            };
            if !others.any(is_paused) {
                self.lift_own_pause(&unit);
            }
            return true;
        }
        let is_whole = self.work.lanes[at].step.is_none();
        let is_done = is_whole && self.unit_of(at).is_ok_and(|unit| unit.state == State::Done);
        if !is_done || !self.is_finished_by_person(at) {
            return false;
        }
        let finished = self.events_of(&self.work.lanes[at].unit).last().map_or(0, |entry| entry.seq);
        if self.freed.insert(at, finished) != Some(finished) {
            self.take_finished(at, false);
        }
        true
    }

    /// Takes away a pause of the lead's own. What cannot be recorded shows when the next worker starts.
    fn lift_own_pause(&self, unit: &UnitRef) {
        let found = crate::find(self.workspace, unit, self.time());
        let is_paused = found.is_ok_and(|found| matches!(found.unit.state, State::Paused { .. }));
        if is_paused && self.held_by_person(unit).is_none() {
            let continued = Event::Unblocked { which: None, answer: None };
            let _ = record(self.workspace, unit, &continued, &self.recorder(LEAD));
        }
    }

    /// Continues groups that no lane halted, when a person unblocked their unit or judged a gate of it since.
    pub(super) fn look_for_freed_groups(&mut self) {
        for group in 0..self.work.fleet.groups.len() {
            let is_halted = self.work.fleet.groups[group].halted.as_ref().is_some_and(|halt| halt.recorded);
            let mut lanes = self.work.fleet.lanes.iter().filter(|lane| lane.group == group);
            let Some(unit) = self.work.groups[group].unit.clone().filter(|_| is_halted) else { continue };
            if lanes.any(|lane| matches!(lane.state, LaneState::Paused { .. })) {
                continue;
            }
            let events = self.events_of(&unit);
            let holds =
                |entry: &&Entry| entry.by == LEAD && matches!(entry.event.as_str(), "paused" | "blocked" | "failed");
            let Some(held) = events.iter().rfind(holds).map(|entry| entry.seq) else { continue };
            let frees = |entry: &&Entry| {
                is_by_person(entry) && matches!(entry.event.as_str(), "unblocked" | "gate_passed" | "gate_failed")
            };
            let Some(event) = events.iter().rfind(frees).map(|entry| entry.seq).filter(|event| *event > held) else {
                continue;
            };
            if self.held_by_person(&unit).is_some() {
                continue;
            }
            if self.freed_groups.insert(group, event) != Some(event) {
                self.lift_own_pause(&unit);
                let name = self.work.fleet.groups[group].name.clone();
                self.tell(Some(&name), "freed", "freed by the user; it continues");
                self.judge_refused_first(group);
                self.queue.push_back(FleetEvent::GroupFreed { group });
            }
        }
    }

    /// Whether a person opened units again that this run has done: then it has not come to its end.
    pub(super) fn look_for_reopened(&mut self) -> bool {
        let mut is_any = false;
        for at in 0..self.work.fleet.lanes.len() {
            let is_whole = self.work.lanes[at].step.is_none();
            let is_done = || self.unit_of(at).is_ok_and(|unit| unit.state.lifecycle() == Lifecycle::Done);
            if !is_whole || self.work.fleet.lanes[at].state != LaneState::Done || is_done() {
                continue;
            }
            let Some(event) = self.reopened_by(at).filter(|event| self.freed.get(&at) != Some(event)) else { continue };
            self.freed.insert(at, event);
            self.tell_lane(at, "reopened", "a person opened it again");
            let stage = self.document_stage(at).filter(|_| self.work.fleet.lanes[at].is_staged());
            self.work.fleet.lanes[at].stage = stage.unwrap_or(self.work.fleet.lanes[at].stage);
            self.memory.lane(&self.work.fleet.lanes[at].name.clone()).merged = None;
            self.queue.push_back(FleetEvent::LaneReopened { lane: at });
            is_any = true;
        }
        is_any
    }

    /// The event by which a person opened a unit again after its end.
    fn reopened_by(&self, at: LaneAt) -> Option<u64> {
        let events = self.events_of(&self.work.lanes[at].unit);
        let finished = events.iter().rfind(|entry| entry.event == "finished")?.seq;
        let opens = |entry: &&Entry| is_by_person(entry) && matches!(entry.event.as_str(), "reopened" | "restarted");
        events.iter().rfind(opens).map(|entry| entry.seq).filter(|opened| *opened > finished)
    }

    /// Whether a person, and no worker or lead, recorded the end of a lane's unit.
    pub(super) fn is_finished_by_person(&self, at: LaneAt) -> bool {
        let events = self.events_of(&self.work.lanes[at].unit);
        let ends = |entry: &&Entry| matches!(entry.event.as_str(), "finished" | "reopened" | "restarted");
        let last = events.iter().rfind(ends).filter(|entry| entry.event == "finished");
        last.is_some_and(is_by_person)
    }

    /// Whether a unit's documents still hold it.
    fn is_held(&self, at: LaneAt) -> bool {
        self.unit_of(at).is_ok_and(|unit| match unit.state.lifecycle() {
            Lifecycle::Queued | Lifecycle::Running | Lifecycle::Waiting => false,
            Lifecycle::Paused | Lifecycle::Blocked | Lifecycle::Failed | Lifecycle::Done | Lifecycle::Unknown => true,
        })
    }

    /// What a worker asked and no person answered yet. A step's unit may name blockers that are remarks: only what
    /// paused the step counts. What the lead itself wrote down as a blocker is no question.
    pub(super) fn open_question(&self, at: LaneAt, reason: &str) -> Option<String> {
        let unit = self.unit_of(at).ok()?;
        let is_whole = self.work.lanes[at].step.is_none();
        question(&unit.blockers, is_whole, &self.events_of(&self.work.lanes[at].unit), reason)
    }

    /// The event by which a person took the blocker or the pause of a unit away, when no other worker took the unit since.
    pub(super) fn freed_by(&self, at: LaneAt) -> Option<u64> {
        let events = self.events_of(&self.work.lanes[at].unit);
        let frees = |entry: &&Entry| {
            is_by_person(entry) && matches!(entry.event.as_str(), "unblocked" | "noted" | "decided" | "reopened")
        };
        let pauses = |entry: &Entry| matches!(entry.event.as_str(), "blocked" | "paused" | "failed");
        // Where nothing was recorded about the pause, the last event alone tells.
        let from = events.iter().rposition(pauses).unwrap_or(events.len().saturating_sub(1));
        let since = &events[from..];
        let freed = since.iter().rposition(|entry| frees(&entry))?;
        // Who resumed it by hand may note something about their own work. An answer is meant for the next worker.
        let is_answer = matches!(since[freed].event.as_str(), "unblocked" | "reopened");
        let untaken = if is_answer { &since[freed..] } else { since };
        let is_same_attempt = untaken.iter().all(|entry| entry.attempt == untaken[0].attempt);
        is_same_attempt.then_some(since[freed].seq)
    }

    /// Whether a person answered a worker in words, and no worker of the lane began since: what it calls complete is not
    /// merged before a worker has read the answer.
    pub(super) fn has_unread_answer(&self, at: LaneAt) -> bool {
        let known = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
        let ticket = known.and_then(|known| known.ticket.as_deref());
        let work = &self.work.lanes[at];
        is_answer_unread(&self.events_of(&work.unit), ticket, work.step.is_none())
    }

    /// The event by which a person took away what held a step's unit: a worker's question, or the lead's pause.
    pub(super) fn unblocked_by(&self, at: LaneAt) -> Option<u64> {
        unblocked(&self.events_of(&self.work.lanes[at].unit))
    }
}

/// The open question among a unit's blockers, see [`Lead::open_question`].
pub(super) fn question(blockers: &[String], is_whole: bool, events: &[Entry], reason: &str) -> Option<String> {
    let blocked = |by_lead: bool, text: &str| {
        let mut of = events.iter().filter(|entry| entry.event == "blocked" && (entry.by == LEAD) == by_lead);
        of.any(|entry| entry.data["message"].as_str().is_some_and(|message| text.contains(message)))
    };
    let is_own = |text: &str| blocked(true, text) && !blocked(false, text);
    let open = blockers.iter().filter(|text| is_whole || reason.contains(text.as_str()));
    let open: Vec<&str> = open.map(String::as_str).filter(|text| !is_own(text)).collect();
    (!open.is_empty()).then(|| open.join("; "))
}

/// The event by which a person took away what held a unit, when nothing holds it since.
pub(super) fn unblocked(events: &[Entry]) -> Option<u64> {
    let holds = |entry: &&Entry| matches!(entry.event.as_str(), "blocked" | "paused" | "failed" | "step_failed");
    // A worker that writes its plan by hand asks there, and no event says so: what is said after it began is the answer.
    let begins = |entry: &&Entry| matches!(entry.event.as_str(), "started" | "resumed" | "restarted" | "step_begun");
    let frees = |entry: &&Entry| is_by_person(entry) && entry.event == "unblocked";
    let held = events.iter().rfind(holds).or_else(|| events.iter().rfind(begins))?.seq;
    let freed = events.iter().rfind(frees)?.seq;
    (freed > held).then_some(freed)
}

/// Whether the last answer of a person to a worker's question has no reader, see [`Lead::has_unread_answer`]. `ticket` is that
/// of the lane's last worker.
fn is_answer_unread(events: &[Entry], ticket: Option<&str>, is_whole: bool) -> bool {
    let has_words = |entry: &Entry| entry.data.get("answer").and_then(Value::as_str).is_some_and(|it| !it.is_empty());
    let answers = |entry: &Entry| entry.event == "unblocked" && is_by_person(entry) && has_words(entry);
    let Some(answered) = events.iter().rposition(answers) else { return false };
    let asked = events[..answered].iter().rfind(|entry| entry.event == "blocked");
    match asked.and_then(|entry| entry.data.get(TICKET)?.as_str()) {
        // The worker that asked may have waited for the answer: what it recorded since, it recorded with it.
        Some(asked) => {
            let is_own = |entry: &Entry| entry.data.get(TICKET).and_then(Value::as_str) == Some(asked);
            ticket == Some(asked) && !events[answered + 1..].iter().any(is_own)
        }
        // A worker that writes its document by hand asks there. The next worker of the unit begins another attempt.
        None => {
            let is_question = asked.is_none_or(|entry| entry.by != LEAD);
            is_whole && is_question && events.last().is_some_and(|last| last.attempt == events[answered].attempt)
        }
    }
}

/// Whether a person changed something since about a lane that a lead left paused: about its unit, or the step that it is.
pub(super) fn is_changed(events: &[Entry], step: Option<&str>, known: u64) -> bool {
    let names = |entry: &Entry| {
        let steps = entry.data.get("steps").and_then(Value::as_array);
        steps.is_some_and(|steps| steps.iter().any(|name| name.as_str() == step))
    };
    let changes = |entry: &Entry| match entry.event.as_str() {
        "started" | "restarted" | "reopened" | "resumed" | "finished" | "unblocked" => true,
        "step_done" | "step_skipped" => step.is_some() && names(entry),
        _ => false,
    };
    events.iter().any(|entry| entry.seq > known && is_by_person(entry) && changes(entry))
}
