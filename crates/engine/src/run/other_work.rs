//! Lists that describe other work by the name of a unit than the unit was begun with: the next feature of an agent, another
//! task of the same id, a story with another title.

use piton_model::fleet::{LaneAt, LaneState};
use piton_model::hint::verbs;
use piton_model::{Dialect, Hint, Lifecycle, State, Time, Unit};
use piton_store::journal::Entry;
use serde_json::Value;

use super::lead::Lead;
use super::memory::{LaneMemory, Memory, SavedState};
use super::recover::is_beginning;
use super::task_list::begun_with;
use super::work::{LaneWork, Work};
use crate::Workspace;
use crate::takeover::begun_feature;

/// Whether a list describes other work than the document of its unit: an agent's other feature, or a task of another title that
/// has none of its subtasks. A title that was corrected, and subtasks that were added, are the same work.
pub(super) fn is_other_work(work: &LaneWork, unit: &Unit, events: &[Entry]) -> bool {
    let is_other = |listed: &Option<String>, known: &Option<String>| {
        listed.as_ref().zip(known.as_ref()).is_some_and(|(listed, known)| listed != known)
    };
    match work.dialect {
        Dialect::Crew => {
            // An agent may call its feature otherwise in its own checkpoint: what it began with counts. Where no journal has
            // that, because its checkpoint was written by hand, the checkpoint does.
            let known = begun_feature(events).or_else(|| unit.title.clone());
            is_other(&work.start.feature, &known) && work.start.feature != unit.title
        }
        Dialect::Task => {
            let before = begun_with(events, "steps");
            let is_known = |step: &String| before.contains(step) || unit.steps.iter().any(|known| known.id == *step);
            let steps = &work.start.steps;
            is_other(&work.title, &unit.title) && !steps.is_empty() && !steps.iter().any(is_known)
        }
        Dialect::Pipeline | Dialect::Plan | Dialect::Build => false,
    }
}

/// What is remembered of a unit's present life.
fn of_this_life<'m>(known: Option<&'m LaneMemory>, events: &[Entry]) -> Option<&'m LaneMemory> {
    let began = events.iter().rfind(|entry| is_beginning(entry)).map_or(0, |entry| entry.seq);
    known.filter(|known| known.origin.began == began || began == 0)
}

fn title_at_start(events: &[Entry]) -> Option<String> {
    let began = events.iter().rfind(|entry| entry.event == "started")?;
    began.data.get("title").and_then(Value::as_str).map(str::to_owned)
}

/// Whether the list of a unit that was begun has another title than when a lead last followed it, or than it began with.
pub(super) fn is_retitled(work: &LaneWork, known: Option<&LaneMemory>, events: &[Entry]) -> bool {
    let has_begun = events.iter().any(|entry| entry.event == "started");
    let followed = of_this_life(known, events).and_then(|known| known.listed.title.clone());
    has_begun && followed.or_else(|| title_at_start(events)) != work.title
}

impl Lead<'_> {
    /// Begins a unit anew that is done, and whose list has other work for it by now. Whether it does so.
    pub(super) fn begin_other_work(&mut self, at: LaneAt) -> bool {
        let name = self.work.fleet.lanes[at].name.clone();
        let is_settled = self.memory.lanes.get(&name).is_none_or(|known| {
            !known.is_remembered() || matches!(known.state, SavedState::Done) && known.claiming.is_none()
        });
        if !is_settled || !self.unit_of(at).is_ok_and(|unit| self.is_done_otherwise(at, &unit)) {
            return false;
        }
        let memory = self.memory.lane(&name);
        memory.begin_anew();
        // What is on the base is of other work.
        memory.was_done = false;
        let title = self.work.lanes[at].title.clone().unwrap_or_default();
        self.tell_lane(
            at,
            "reopened",
            &format!("it is done, and its list has other work for it: it begins with {title}"),
        );
        self.work.fleet.lanes[at].state = LaneState::Queued;
        true
    }

    /// Holds an agent whose list has another feature while its own is not finished: only the user knows whether that one is
    /// given up. Who retries gives it up.
    pub(super) fn hold_other_work(&mut self, at: LaneAt, is_retry: bool) {
        let is_at_rest = !matches!(
            self.work.fleet.lanes[at].state,
            LaneState::Working(_) | LaneState::Closing(_) | LaneState::Integrated | LaneState::Done
        );
        let is_open = |unit: &Unit| !matches!(unit.state.lifecycle(), Lifecycle::Done | Lifecycle::Queued);
        let events = self.events_of(&self.work.lanes[at].unit);
        let is_other = |unit: &Unit| is_open(unit) && is_other_work(&self.work.lanes[at], unit, &events);
        let unit = self.unit_of(at).ok().filter(is_other);
        let Some(known) = unit.filter(|unit| is_at_rest && unit.dialect == Dialect::Crew).and_then(|it| it.title)
        else {
            return;
        };
        let name = self.work.fleet.lanes[at].name.clone();
        let listed = self.work.lanes[at].title.clone().unwrap_or_default();
        if is_retry {
            let branch = self.memory.lane(&name).branch.clone();
            let left = branch.map_or_else(String::new, |branch| format!("; its branch {branch} is left as it is"));
            self.memory.lane(&name).begin_anew();
            self.work.lanes[at].start.replaces = true;
            self.work.fleet.lanes[at].grant_anew();
            self.work.fleet.lanes[at].state = LaneState::Queued;
            self.tell_lane(at, "reopened", &format!("{known} is given up, and it begins with {listed}{left}"));
            return;
        }
        let give_up = self.command(&["--retry"]).to(format!("or give it up and begin with {listed}"));
        let reason =
            format!("it is not finished with {known}, and its list has {listed}; list {known} again, {give_up}");
        self.hold(at, reason);
    }

    /// Whether the unit of a lane is done, and its list has other work for it.
    pub(super) fn is_done_otherwise(&self, at: LaneAt, unit: &Unit) -> bool {
        let work = &self.work.lanes[at];
        let is_done = work.step.is_none() && unit.state == State::Done;
        is_done && is_other_work(work, unit, &self.events_of(&work.unit))
    }

    /// Says which stories and tasks are done by another title than their list has: no worker starts for those.
    pub(super) fn tell_retitled(&mut self) {
        for (at, hint) in retitled(self.workspace, &self.work, self.time()) {
            self.tell_lane(at, "settled", &hint.to_string());
        }
    }
}

/// Stories and tasks that are done, and that their lists call otherwise than their workers knew them. Whether that is other work, only
/// the user knows.
pub(super) fn retitled(workspace: &Workspace, work: &Work, now: Time) -> Vec<(LaneAt, Hint)> {
    let memory = Memory::load(workspace).unwrap_or_default();
    let hint = |(at, lane): (LaneAt, &LaneWork)| {
        let events = crate::log(workspace, &lane.unit, now).map(|log| log.log.events).unwrap_or_default();
        let known = of_this_life(memory.lanes.get(&work.fleet.lanes[at].name), &events);
        let told = known.and_then(|known| known.listed.told.clone().or_else(|| known.listed.title.clone()));
        let before = told.or_else(|| title_at_start(&events))?;
        let listed = lane.title.as_ref().filter(|listed| **listed != before)?;
        let what = format!("it is done as {before:?}, and its list has {listed:?}; if that is other work, begin it");
        Some((at, verbs::START.on(&lane.unit_name).to(what)))
    };
    let is_done = |(at, lane): &(LaneAt, &LaneWork)| {
        matches!(lane.dialect, Dialect::Pipeline | Dialect::Task) && work.fleet.lanes[*at].state == LaneState::Done
    };
    work.lanes.iter().enumerate().filter(is_done).filter_map(hint).collect()
}
