//! What a person did about a unit that a run has: finished it, left it out, holds it, or is at work on it.

use piton_model::fleet::{FleetEvent, LaneAt, LaneState};
use piton_model::{Event, Liveness, NotePurpose, Row, State, StepState};
use piton_store::journal::Entry;
use piton_supervisor::quoted;
use serde_json::Value;

use super::freed::is_by_person;
use super::lead::Lead;
use super::recover::held_because;

impl Lead<'_> {
    /// Whether the user recorded the end of a lane that no worker has begun, or left its step out.
    pub(super) fn is_done_by_person(&mut self, at: LaneAt) -> bool {
        let name = self.work.fleet.lanes[at].name.clone();
        let has_begun =
            self.memory.lanes.get(&name).is_some_and(|memory| memory.home.is_some() || memory.branch.is_some());
        let Ok(unit) = self.unit_of(at) else { return false };
        let text = match &self.work.lanes[at].step {
            Some(step) => match unit.steps.iter().find(|known| known.id == *step).map(|known| &known.state) {
                Some(StepState::Skipped) => "it was left out by hand; no worker starts",
                Some(StepState::Done { .. }) if !has_begun && !self.is_workers_word(at, step) => {
                    "it was done by hand; no worker starts"
                }
                _ => return false,
            },
            None if !has_begun && unit.state == State::Done && self.is_finished_by_person(at) => {
                "it was finished by hand; no worker starts"
            }
            None => return false,
        };
        self.tell_lane(at, "settled", text);
        self.queue.push_front(FleetEvent::LaneSettled { lane: at });
        true
    }

    /// Why the user wants a whole unit to wait that its worker is through with.
    pub(super) fn held_by_person(&self, at: LaneAt) -> Option<String> {
        let unit = self.unit_of(at).ok().filter(|_| self.work.lanes[at].step.is_none())?;
        let holds = |entry: &&Entry| matches!(entry.event.as_str(), "paused" | "blocked" | "failed");
        let events = self.events_of(&self.work.lanes[at].unit);
        events.iter().rfind(holds).filter(|entry| is_by_person(entry))?;
        match &unit.state {
            State::Paused { .. } | State::Blocked => held_because(&unit.state, &unit.blockers),
            State::Queued | State::Running | State::Waiting | State::Failed { .. } | State::Done | State::Unknown => {
                None
            }
        }
    }

    /// A person finished a unit that its workers did not. Whether the commits that they left are a part of it, only the
    /// user knows.
    pub(super) fn take_finished(&mut self, at: LaneAt, is_retry: bool) {
        let name = self.work.fleet.lanes[at].name.clone();
        let branch = self.memory.lane(&name).branch.clone();
        let target = self.target_branch(&self.work.fleet.lanes[at]);
        let left = match (&self.repository, &branch, &target) {
            (Some(repository), Some(branch), Some(target)) => match repository.tip(branch) {
                Ok(None) => {
                    self.memory.lane(&name).branch = None;
                    self.tell_lane(at, "settled", "it was finished by hand");
                    self.work.fleet.lanes[at].state = LaneState::Done;
                    return;
                }
                // What git cannot tell now, it tells when the branch is merged.
                tip => {
                    tip.is_ok()
                        && !is_retry
                        && repository.adds_to(&format!("refs/heads/{branch}"), target).unwrap_or(false)
                }
            },
            _ => false,
        };
        match (left, branch, target) {
            (true, Some(branch), Some(target)) => {
                let (old, new) = (quoted(&branch), quoted(&format!("left/{branch}")));
                let merge = self.command(&["--retry"]).to("merge them");
                let reason = format!(
                    "it was finished by hand, and its branch {branch} has commits that are not on {target}; {merge}; \
                     or leave them on another branch: git branch -m {old} {new}"
                );
                self.work.fleet.lanes[at].state = LaneState::Paused { reason };
            }
            _ => self.judge_again(at),
        }
    }

    /// Whether a person resumed a unit last, and did not open it again for more work.
    pub(super) fn is_resumed_by_hand(&self, at: LaneAt) -> bool {
        let events = self.events_of(&self.work.lanes[at].unit);
        let begins = |entry: &&Entry| {
            matches!(entry.event.as_str(), "started" | "restarted" | "resumed" | "reopened" | "taken_over")
        };
        events.iter().rfind(begins).is_some_and(|entry| entry.event == "resumed" && is_by_person(entry))
    }

    /// Whether a session that a person or their agent began is at work on a unit.
    pub(super) fn has_living_session(&self, at: LaneAt, row: &Row) -> bool {
        let events = self.events_of(&self.work.lanes[at].unit);
        let begins = |entry: &&Entry| matches!(entry.event.as_str(), "started" | "resumed" | "taken_over");
        // A lead claims a unit in the name of the worker that it starts.
        let is_own = |entry: &Entry| ["story-", "worker-"].iter().any(|start| entry.by.starts_with(start));
        let Some(begun) = events.iter().rfind(begins).filter(|entry| is_by_person(entry) && !is_own(entry)) else {
            return false;
        };
        // A unit that was begun and nothing else is handed over by running it.
        row.liveness == Liveness::Alive && events.iter().any(|entry| entry.seq > begun.seq && is_by_person(entry))
    }

    /// What a person recorded about a unit since its worker began, which the worker's own document does not have: the event
    /// that holds the unit, and what they said.
    pub(super) fn recorded_by_person(&self, at: LaneAt) -> (Option<String>, Vec<Event>) {
        let events = self.events_of(&self.work.lanes[at].unit);
        let begins = |entry: &Entry| matches!(entry.event.as_str(), "started" | "restarted" | "resumed");
        let began = events.iter().rposition(begins).map_or(0, |at| at + 1);
        let own: Vec<&Entry> = events[began..].iter().filter(|entry| is_by_person(entry)).collect();
        let holds = |entry: &&&Entry| matches!(entry.event.as_str(), "paused" | "blocked" | "failed");
        let text = |entry: &Entry, key: &str| entry.data.get(key).and_then(Value::as_str).map(str::to_owned);
        let said = |entry: &&Entry| match entry.event.as_str() {
            "noted" => Some(Event::Noted { text: text(entry, "text")?, purpose: NotePurpose::Note }),
            "decided" => Some(Event::Decided { text: text(entry, "text")?, reason: text(entry, "reason") }),
            _ => None,
        };
        (own.iter().rfind(holds).map(|entry| entry.event.clone()), own.iter().filter_map(said).collect())
    }
}
