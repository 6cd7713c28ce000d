//! What a person did about a unit that a run has: finished it, left it out, holds it, or is at work on it.

use piton_model::fleet::{FleetEvent, LaneAt, LaneState, StageResult, Standing};
use piton_model::{Dialect, Event, Liveness, Patience, State, StepState, Time, Unit, UnitRef, judge};
use piton_store::journal::Entry;
use piton_supervisor::{left_name, quoted};
use serde_json::Value;

use super::approvals::approved_after;
use super::freed::{LEAD, is_by_person};
use super::lead::Lead;
use super::memory::SavedState;
use super::on_base::Made;
use super::recover::held_because;
use super::taken_back::is_seen;
use crate::find::find_alone;
use crate::persons_word::{is_claim, standing_hold};
use crate::{Workspace, record};

/// Why a unit or a step that a session is at is left to it.
const TAKEN: &str = "another session is at work on it, until it ends";

/// How the question begins that is asked about the branch of a unit that a person finished.
const FINISHED_BY_HAND: &str = "it was finished by hand, and its branch";

/// Why a unit waits, when a person paused or blocked it last and it was not continued since, with the number of that event.
pub(crate) fn person_pause(unit: &Unit, events: &[Entry]) -> Option<(u64, String)> {
    let holds = |entry: &Entry| matches!(entry.event.as_str(), "paused" | "blocked" | "failed");
    // What a lead recorded beside it takes nothing away.
    let at = events.iter().rposition(|entry| holds(entry) && is_by_person(entry))?;
    let continues = |entry: &Entry| {
        matches!(
            entry.event.as_str(),
            "started"
                | "resumed"
                | "unblocked"
                | "restarted"
                | "reopened"
                | "taken_over"
                | "rolled_back"
                | "step_begun"
        )
    };
    if events[at..].iter().any(continues) {
        return None;
    }
    match &unit.state {
        State::Paused { .. } | State::Blocked => {
            held_because(&unit.state, &unit.blockers).map(|reason| (events[at].seq, reason))
        }
        State::Queued | State::Running | State::Waiting | State::Failed { .. } | State::Done | State::Unknown => None,
    }
}

/// The same for a unit as it is now. Who approves something of it after that wants it to continue; a review that refuses
/// it holds it until there is another verdict.
pub(super) fn standing_pause(workspace: &Workspace, name: &UnitRef, unit: &Unit, now: Time) -> Option<String> {
    if piton_dialect::build::is_refused(unit) {
        return held_because(&unit.state, &unit.blockers);
    }
    if !matches!(unit.state, State::Paused { .. } | State::Blocked) {
        return None;
    }
    let events = crate::log(workspace, name, now).map(|log| log.log.events).unwrap_or_default();
    let (paused, reason) = person_pause(unit, &events)?;
    (!approved_after(workspace, &name.to_string(), paused)).then_some(reason)
}

/// The pause or block of a person that nothing continued since, by the journal alone: the number of its event, and why.
fn recorded_pause(events: &[Entry]) -> Option<(u64, String)> {
    let held = standing_hold(events)?;
    let (key, without) = match held.event.as_str() {
        "paused" => ("reason", "it was paused by hand"),
        "blocked" => ("message", "it is blocked"),
        _ => return None,
    };
    let why = held.data.get(key).and_then(Value::as_str).unwrap_or(without);
    Some((held.seq, why.to_owned()))
}

/// When a lane is left to the person who did its step.
#[derive(Debug, Clone, Copy)]
pub(super) enum LeftBy {
    /// When a lead begins.
    Recovering,
    /// While it is at work.
    Settling,
}

/// Why a lead waits for a unit that a session of a person or their agent is at work on.
pub(super) fn taken(dialect: Dialect, events: &[Entry], liveness: Liveness) -> Option<String> {
    // A session that writes its task's or its agent's document by hand is in no journal. Stories say when they were
    // written, and not whether their worker lives.
    let is_recorded = |entry: &Entry| !matches!(entry.event.as_str(), "observed" | "adopted");
    if !events.iter().any(is_recorded) && matches!(dialect, Dialect::Task | Dialect::Crew) {
        return (liveness == Liveness::Alive).then(|| TAKEN.to_owned());
    }
    let begun = begun_by_person(events)?;
    // What a lead took back was written by the worker of an earlier life.
    let restored = events.iter().rfind(|entry| entry.event == "rolled_back" && entry.by == LEAD);
    let from = begun.seq.max(restored.map_or(0, |entry| entry.seq));
    let since = || events.iter().filter(|entry| entry.seq > from && is_by_person(entry));
    // Who unblocks a unit hands it over.
    let is_handed_over = since().any(|entry| entry.event == "unblocked");
    // A unit that was begun and nothing else is handed over by running it.
    let is_at_work = liveness == Liveness::Alive && since().next().is_some() && !is_handed_over;
    is_at_work.then(|| TAKEN.to_owned())
}

/// The last event that began a unit or an attempt of it, when that was a person's.
pub(super) fn begun_by_person(events: &[Entry]) -> Option<&Entry> {
    // Who opens a unit again gives it back.
    let begins = |entry: &&Entry| matches!(entry.event.as_str(), "started" | "resumed" | "restarted" | "taken_over");
    events.iter().rfind(begins).filter(|entry| is_by_person(entry) && !is_claim(entry))
}

/// The last event about a step, when a person began it.
fn step_begun_by_person<'e>(events: &'e [Entry], step: &str) -> Option<&'e Entry> {
    let names = |entry: &Entry| entry.data.get("steps").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_its = |entry: &&Entry| {
        entry.event.starts_with("step_") && names(entry).iter().any(|name| name.as_str() == Some(step))
    };
    events.iter().rfind(is_its).filter(|entry| entry.event == "step_begun" && is_by_person(entry))
}

impl Lead<'_> {
    /// Whether the user recorded the end of a lane that no worker has begun, or left its step out.
    pub(super) fn is_done_by_person(&mut self, at: LaneAt) -> bool {
        let name = self.work.fleet.lanes[at].name.clone();
        // Refused work is done again, also when a person did it.
        if self.memory.lanes.get(&name).is_some_and(|memory| !memory.rework.is_empty()) {
            return false;
        }
        let has_begun =
            self.memory.lanes.get(&name).is_some_and(|memory| memory.home.is_some() || memory.branch.is_some());
        let Ok(unit) = self.unit_of(at) else { return false };
        let text = match &self.work.lanes[at].step {
            Some(step) => match unit.steps.iter().find(|known| known.id == *step).map(|known| &known.state) {
                Some(StepState::Skipped) => "it was left out by hand; no worker starts",
                _ if self.work.lanes[at].dialect == Dialect::Build
                    && !has_begun
                    && !self.is_specified(&self.work.lanes[at].unit, step) =>
                {
                    "it was taken out of the specification; no worker starts"
                }
                Some(StepState::Done { .. }) if !has_begun && !self.is_workers_word(at, step) => {
                    match self.made_by_hand(at) {
                        Made::OnBase => "it was done by hand; no worker starts",
                        Made::Uncommitted(message) => {
                            self.queue.push_back(FleetEvent::StartFailed { lane: at, message });
                            return true;
                        }
                        // A worker that writes documents by hand may have called it done.
                        Made::Missing => return false,
                    }
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

    /// Why the user wants a unit to wait.
    pub(super) fn held_by_person(&self, unit: &UnitRef) -> Option<String> {
        let found = crate::find(self.workspace, unit, self.time()).ok()?;
        standing_pause(self.workspace, unit, &found.unit, self.time())
    }

    /// The same for a unit whose agent wrote its document by hand since: what the user recorded after an event of the
    /// journal holds all the same.
    pub(super) fn held_in_journal(&self, unit: &UnitRef, after: u64) -> Option<String> {
        let found = crate::find(self.workspace, unit, self.time()).ok()?;
        match found.unit.state {
            State::Queued | State::Running | State::Waiting | State::Done => {}
            State::Paused { .. } | State::Blocked | State::Failed { .. } | State::Unknown => return None,
        }
        let (paused, reason) = recorded_pause(&self.events_of(unit)).filter(|(paused, _)| *paused > after)?;
        (!approved_after(self.workspace, &unit.to_string(), paused)).then_some(reason)
    }

    /// Why the user wants a unit to wait that is about to be merged. Who retries it wants it to continue.
    pub(super) fn held_at_its_end(&self, unit: &UnitRef) -> Option<String> {
        let after = if self.is_retry { self.began_with(unit) } else { 0 };
        self.held_by_person(unit).or_else(|| self.held_in_journal(unit, after))
    }

    /// The same for one whose worker is about to start. Who took a pause away before this lead began may have done it in
    /// the document.
    pub(super) fn held_at_its_start(&self, unit: &UnitRef) -> Option<String> {
        self.held_by_person(unit).or_else(|| self.held_in_journal(unit, self.began_with(unit)))
    }

    /// The last event of a unit when this lead began.
    fn began_with(&self, unit: &UnitRef) -> u64 {
        let at = self.work.lanes.iter().position(|work| work.unit == *unit);
        at.and_then(|at| self.begun_with.get(&at)).copied().unwrap_or(0)
    }

    /// The stage that a person took a story back to, when no lead entered one since.
    pub(super) fn taken_back_to(&self, at: LaneAt) -> Option<u8> {
        if !self.work.fleet.lanes[at].is_staged() {
            return None;
        }
        let events = self.events_of(&self.work.lanes[at].unit);
        let takes_back = |entry: &&Entry| entry.event == "rolled_back" && is_by_person(entry);
        let back = events.iter().rfind(takes_back)?.seq;
        let enters = |entry: &Entry| entry.seq > back && matches!(entry.event.as_str(), "stage_entered" | "restarted");
        if events.iter().any(enters) {
            return None;
        }
        self.document_stage(at)
    }

    /// Why a lane is left alone: a session began its unit or its step since this lead began, and is at work.
    pub(super) fn taken_since(&self, at: LaneAt) -> Option<String> {
        let events = self.events_of(&self.work.lanes[at].unit);
        let begun = match &self.work.lanes[at].step {
            Some(step) => step_begun_by_person(&events, step)?,
            None => begun_by_person(&events)?,
        };
        // Who only restarts a unit that is led wants the lead to begin it anew.
        let is_own = |entry: &&Entry| is_by_person(entry) && !is_seen(entry);
        let is_last = events.iter().rfind(is_own).is_some_and(|last| last.seq == begun.seq);
        if begun.event == "restarted" && is_last {
            return None;
        }
        // What was begun before this lead was judged when it began.
        if begun.seq <= self.begun_with.get(&at).copied().unwrap_or(0) {
            return None;
        }
        let unit = find_alone(self.workspace, &self.work.lanes[at].unit, self.time())?;
        let liveness = judge(&unit.claim, &unit.signs, Patience::of(unit.dialect), self.time()).liveness;
        match &self.work.lanes[at].step {
            Some(_) => (liveness == Liveness::Alive).then(|| TAKEN.to_owned()),
            None => taken(unit.dialect, &events, liveness),
        }
    }

    /// Continues units that a person paused, where the user retries them or approved something of them since.
    pub(super) fn lift_pauses(&self, is_retry: bool) {
        for work in self.work.lanes.iter().filter(|work| work.step.is_none()) {
            let Ok(found) = crate::find(self.workspace, &work.unit, self.time()) else { continue };
            let Some((paused, _)) = person_pause(&found.unit, &self.events_of(&work.unit)) else { continue };
            let is_lifted = is_retry || approved_after(self.workspace, &work.unit_name, paused);
            // A blocker is a question to the user, and neither answers it.
            if is_lifted && matches!(found.unit.state, State::Paused { .. }) && found.unit.blockers.is_empty() {
                let continued = Event::Unblocked { which: None, answer: None };
                // What cannot be recorded holds the unit, with its pause as the reason.
                let _ = record(self.workspace, &work.unit, &continued, &self.recorder(LEAD));
            }
        }
    }

    /// A person finished a unit that its workers did not. Whether the commits that they left are a part of it, only the
    /// user knows.
    pub(super) fn take_finished(&mut self, at: LaneAt, is_retry: bool) {
        let name = self.work.fleet.lanes[at].name.clone();
        // A retry is the answer to a question that was asked.
        let was_asked = matches!(
            &self.memory.lane(&name).state,
            SavedState::Paused { reason } if reason.starts_with(FINISHED_BY_HAND)
        );
        let branch = self.memory.lane(&name).branch.clone();
        let is_gone = match (&self.repository, &branch) {
            (Some(repository), Some(branch)) => matches!(repository.tip(branch), Ok(None)),
            _ => false,
        };
        if is_gone {
            self.memory.lane(&name).branch = None;
            self.tell_lane(at, "settled", "it was finished by hand");
            self.work.fleet.lanes[at].state = LaneState::Done;
            return;
        }
        match self.asks_about_branch(at).filter(|_| !(is_retry && was_asked)) {
            Some(reason) => self.work.fleet.lanes[at].state = LaneState::Paused { reason },
            None => self.judge_again(at),
        }
    }

    /// What the user is asked about a unit that they finished, when its workers left commits. What git cannot tell now, it
    /// tells when the branch is merged.
    pub(super) fn asks_about_branch(&self, at: LaneAt) -> Option<String> {
        let branch = self.memory.lanes.get(&self.work.fleet.lanes[at].name)?.branch.clone()?;
        let (repository, target) = (self.repository.as_ref()?, self.target_branch(&self.work.fleet.lanes[at])?);
        repository.tip(&branch).ok()??;
        if !repository.adds_to(&format!("refs/heads/{branch}"), &target).unwrap_or(false) {
            return None;
        }
        let (old, new) = (quoted(&branch), quoted(&left_name(&branch)));
        let merge = self.command(&["--retry"]).to("merge them");
        Some(format!(
            "{FINISHED_BY_HAND} {branch} has commits that are not on {target}; {merge}; \
             or leave them on another branch: git branch -m {old} {new}"
        ))
    }

    /// Whether a person resumed a unit last, and did not open it again for more work.
    pub(super) fn is_resumed_by_hand(&self, at: LaneAt) -> bool {
        let events = self.events_of(&self.work.lanes[at].unit);
        let begins = |entry: &&Entry| {
            matches!(entry.event.as_str(), "started" | "restarted" | "resumed" | "reopened" | "taken_over")
        };
        events.iter().rfind(begins).is_some_and(|entry| entry.event == "resumed" && is_by_person(entry))
    }

    /// Whether a person gave the last verdict on a story, and no worker began since.
    pub(super) fn is_judged_by_person(&self, at: LaneAt) -> bool {
        let events = self.events_of(&self.work.lanes[at].unit);
        let Some(judged) = events.iter().rposition(|entry| entry.event == "verdict_given") else { return false };
        let begins =
            |entry: &Entry| !is_by_person(entry) && matches!(entry.event.as_str(), "resumed" | "stage_entered");
        is_by_person(&events[judged]) && !events[judged..].iter().any(begins)
    }

    /// Whether a unit was restarted, and no person recorded a step as done since.
    pub(super) fn is_untouched_since_restart(&self, at: LaneAt) -> bool {
        let events = self.events_of(&self.work.lanes[at].unit);
        let restarted = events.iter().rposition(|entry| entry.event == "restarted");
        let is_done = |entry: &Entry| entry.event == "step_done" && is_by_person(entry);
        restarted.is_some_and(|restarted| !events[restarted..].iter().any(is_done))
    }

    /// Whether a person who resumed a unit did steps of it themselves.
    pub(super) fn has_done_steps(&self, at: LaneAt) -> bool {
        let events = self.events_of(&self.work.lanes[at].unit);
        let resumes = |entry: &Entry| entry.event == "resumed" && is_by_person(entry);
        let resumed = events.iter().rposition(resumes).unwrap_or(events.len());
        events[resumed..].iter().any(|entry| entry.event == "step_done" && is_by_person(entry))
    }

    /// A step that a person did is done; what its workers left stays on their branch. What was committed there after its
    /// last worker ended is the person's own work, and is merged.
    pub(super) fn leave_to_person(&mut self, at: LaneAt, by: LeftBy) {
        if self.has_commits_of_person(at) {
            return match by {
                LeftBy::Recovering => self.judge_as(at, Standing::Complete(StageResult::Done)),
                LeftBy::Settling => {
                    self.work.fleet.lanes[at].grant_anew();
                    self.judge_as(at, Standing::Complete(StageResult::Done));
                }
            };
        }
        let origin = self.origin_of(&self.work.lanes[at].unit);
        let memory = self.memory.lane(&self.work.fleet.lanes[at].name.clone());
        // What is left on the branch is known, and left on purpose.
        memory.origin = origin;
        let branch = memory.branch.take();
        let left = branch.map_or_else(String::new, |branch| format!("; its branch {branch} is left as it is"));
        self.tell_lane(at, "settled", &format!("it was done by hand{left}"));
        match by {
            LeftBy::Recovering => self.work.fleet.lanes[at].state = LaneState::Done,
            LeftBy::Settling => self.queue.push_back(FleetEvent::LaneSettled { lane: at }),
        }
    }

    /// Whether the branch of a lane moved since its last worker ended.
    fn has_commits_of_person(&self, at: LaneAt) -> bool {
        let Some(known) = self.memory.lanes.get(&self.work.fleet.lanes[at].name) else { return false };
        let (Some(repository), Some(branch), Some(ended)) = (&self.repository, &known.branch, &known.ended) else {
            return false;
        };
        let tip = repository.tip(branch).ok().flatten();
        tip.is_some_and(|tip| tip != *ended && repository.is_reachable(ended, &tip).unwrap_or(false))
    }

    /// Whether a step that its workers did not come to the end of is done now: then a person did it.
    pub(super) fn is_done_by_hand(&mut self, at: LaneAt) -> bool {
        let Some(step) = self.work.lanes[at].step.clone() else { return false };
        let is_skipped = |unit: &piton_model::Unit| {
            unit.steps.iter().any(|known| known.id == step && known.state == StepState::Skipped)
        };
        if self.unit_of(at).is_ok_and(|unit| is_skipped(&unit)) {
            return true;
        }
        let memory = self.memory.lane(&self.work.fleet.lanes[at].name.clone());
        let was_complete = memory.seen.is_some() || memory.merged.is_some() || memory.collected.is_some();
        let is_done = |unit: &piton_model::Unit| {
            unit.steps.iter().any(|known| known.id == step && matches!(known.state, StepState::Done { .. }))
        };
        // A worker that writes documents by hand may have called it done.
        !was_complete
            && !self.is_workers_word(at, &step)
            && self.made_by_hand(at) == Made::OnBase
            && self.unit_of(at).is_ok_and(|unit| is_done(&unit))
    }
}
