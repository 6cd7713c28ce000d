//! Subtasks and criteria that the user adds to a task in its list after the task began.

use piton_model::fleet::{LaneAt, LaneState};
use piton_model::hint::verbs;
use piton_model::{Dialect, Event, GateJudgement, Hint, State, StepMove, StepTo, Time, Unit};
use piton_store::journal::Entry;

use super::lead::Lead;
use super::work::{LaneWork, Work};
use crate::Workspace;

impl Lead<'_> {
    /// Adds what a task's list has and its checkpoint does not have, before a worker starts.
    pub(super) fn add_subtasks(&mut self, at: LaneAt, known: &Unit) -> Result<(), String> {
        if self.work.lanes[at].dialect != Dialect::Task {
            return Ok(());
        }
        let events = self.events_of(&self.work.lanes[at].unit);
        let new = added_steps(&self.work.lanes[at], known, &events);
        if !new.is_empty() {
            self.record_lane(at, &Event::StepMoved(StepMove::new(StepTo::Begun, new)))?;
        }
        let before = begun_with(&events, "criteria");
        let is_new = |name: &&String| known.gates.iter().all(|it| it.name != **name) && !before.contains(name);
        let names: Vec<String> = self.work.lanes[at].start.criteria.iter().filter(is_new).cloned().collect();
        if names.is_empty() {
            return Ok(());
        }
        self.record_lane(at, &Event::GateJudged(GateJudgement { passed: false, names, step: None, evidence: None }))
    }

    /// Says which tasks are done without subtasks that their list has: no worker starts for those.
    pub(super) fn tell_added_subtasks(&mut self) {
        for (at, hint) in added_to_done(self.workspace, &self.work, self.time()) {
            self.tell_lane(at, "settled", &hint.to_string());
        }
    }
}

/// Tasks that are done, and whose lists have subtasks that they do not have.
pub(super) fn added_to_done(workspace: &Workspace, work: &Work, now: Time) -> Vec<(LaneAt, Hint)> {
    let added = |(at, work): (LaneAt, &LaneWork)| {
        let unit = crate::find(workspace, &work.unit, now).ok()?.unit;
        let events = crate::log(workspace, &work.unit, now).map(|log| log.log.events).unwrap_or_default();
        let new = added_steps(work, &unit, &events);
        let open = || {
            let missing = new.join(", ");
            let what = format!("it is done without subtasks of its list: {missing}; open it for the next run");
            (at, verbs::REOPEN.on(&work.unit_name).to(what))
        };
        (unit.state == State::Done && !new.is_empty()).then(open)
    };
    let is_done = |(at, lane): &(LaneAt, &LaneWork)| {
        lane.dialect == Dialect::Task && work.fleet.lanes[*at].state == LaneState::Done
    };
    work.lanes.iter().enumerate().filter(is_done).filter_map(added).collect()
}

/// Subtasks that a list has, and neither the task nor its beginning. What a task began with and does not have any more was
/// taken out of it.
fn added_steps(work: &LaneWork, known: &Unit, events: &[Entry]) -> Vec<String> {
    let before = begun_with(events, "steps");
    let is_new = |step: &&String| known.steps.iter().all(|it| it.id != **step) && !before.contains(step);
    // A task that is not divided is its own subtask.
    let is_stand_in = |step: &&String| known.id.rsplit('/').next() == Some(step.as_str());
    work.start.steps.iter().filter(is_new).filter(|step| !is_stand_in(step)).cloned().collect()
}

/// What a task began with.
fn begun_with(events: &[Entry], key: &str) -> Vec<String> {
    let started = events.iter().rfind(|entry| entry.event == "started");
    let names = started.and_then(|entry| entry.data.get(key)?.as_array());
    names.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}
