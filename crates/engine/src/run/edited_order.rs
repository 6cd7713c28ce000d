//! Which units wait for which, as the lists say by now: followed for units that have not begun.

use std::mem::replace;

use piton_model::fleet::{Cycle, LaneAt, LaneState, find_cycle};

use super::lead::Lead;
use super::work::{ListedUnit, meant_of};

impl Lead<'_> {
    /// Lets lanes that have not begun wait for what their lists name, in the stages that their lists name. What changed, by
    /// lane. The lists are followed as a whole: an edit may turn an order round.
    pub(super) fn follow_order(&mut self, waiting: &[(LaneAt, ListedUnit)]) -> Vec<(LaneAt, Vec<&'static str>)> {
        let mut changed = Vec::new();
        let mut before = Vec::new();
        for (at, listed) in waiting {
            let is_held =
                self.held_for_list.contains(at) && matches!(self.work.fleet.lanes[*at].state, LaneState::Paused { .. });
            if !is_held && !matches!(self.work.fleet.lanes[*at].state, LaneState::Queued) {
                continue;
            }
            let mut words = Vec::new();
            if self.follow_stages(*at, listed) {
                words.push("stages");
            }
            if is_held || self.is_reordered(*at, listed) {
                match self.awaited_of(*at, listed) {
                    Ok(awaited) => {
                        let lane = &mut self.work.fleet.lanes[*at];
                        let old = replace(&mut lane.depends_on, awaited);
                        if is_held {
                            lane.state = LaneState::Queued;
                            self.held_for_list.remove(at);
                        }
                        if is_held || old != self.work.fleet.lanes[*at].depends_on {
                            words.push("dependencies");
                            before.push((*at, old));
                        }
                    }
                    Err(lost) => {
                        let why = format!("its list makes it wait for {lost}, which this run does not have");
                        self.hold_for_list(*at, &why);
                    }
                }
            }
            changed.push((*at, words));
        }
        for at in self.hold_cycles(before) {
            changed.retain(|(known, _)| *known != at);
        }
        changed
    }

    /// Whether a story's list has other stages or another priority than the lane; both are taken over.
    fn follow_stages(&mut self, at: LaneAt, listed: &ListedUnit) -> bool {
        let Some(story) = &listed.story else { return false };
        let lane = &mut self.work.fleet.lanes[at];
        lane.priority = story.priority;
        if lane.stages == story.stages {
            return false;
        }
        lane.stages.clone_from(&story.stages);
        lane.stage = story.stages.first().copied().unwrap_or(0);
        true
    }

    /// Whether a lane's list names other units to wait for than it did. What a run was given by name waits for what it was
    /// given, until its list is edited.
    fn is_reordered(&mut self, at: LaneAt, listed: &ListedUnit) -> bool {
        let before = self.lists.as_ref().and_then(|lists| lists.unit(&self.work.lanes[at].unit));
        let is_edited = before.is_none_or(|before| before.depends_on != listed.depends_on);
        if is_edited {
            self.reordered.insert(at);
        }
        is_edited || self.reordered.contains(&at)
    }

    /// The lanes that a list makes a lane wait for, or the names that this run does not have.
    fn awaited_of(&self, at: LaneAt, listed: &ListedUnit) -> Result<Vec<LaneAt>, String> {
        let found = listed.depends_on.iter().map(|name| (name.as_str(), self.lane_called(at, name)));
        let (known, lost): (Vec<_>, Vec<_>) = found.partition(|(_, at)| at.is_some());
        if lost.is_empty() {
            return Ok(known.into_iter().filter_map(|(_, at)| at).collect());
        }
        Err(lost.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "))
    }

    /// The lane that a list means by a name where another lane waits for it.
    fn lane_called(&self, at: LaneAt, name: &str) -> Option<LaneAt> {
        let is_meant = |other: &LaneAt| {
            let work = &self.work.lanes[*other];
            let is_last = work.step.is_none() && work.unit.parts.last().is_some_and(|last| last.as_str() == name);
            self.work.fleet.lanes[*other].group == self.work.fleet.lanes[at].group && (is_last || work.is_called(name))
        };
        let found = (0..self.work.lanes.len()).filter(is_meant);
        meant_of(&self.work.lanes[at], found.map(|other| (other, &self.work.lanes[other])))
    }

    /// Holds lanes that wait for each other by their lists; each waits again for what it did before. Which those are.
    fn hold_cycles(&mut self, mut before: Vec<(LaneAt, Vec<LaneAt>)>) -> Vec<LaneAt> {
        let mut held = Vec::new();
        loop {
            let edges: Vec<Vec<LaneAt>> = self.work.fleet.lanes.iter().map(|lane| lane.depends_on.clone()).collect();
            let Some(Cycle(cycle)) = find_cycle(&edges) else { return held };
            let (wrong, rest): (Vec<_>, Vec<_>) = before.into_iter().partition(|(at, _)| cycle.contains(at));
            // Without those that changed there is no cycle.
            if wrong.is_empty() {
                return held;
            }
            before = rest;
            let names: Vec<&str> = cycle.iter().map(|at| self.work.fleet.lanes[*at].name.as_str()).collect();
            let why = format!("its list makes units wait for each other: {}", names.join(", "));
            for (at, old) in wrong {
                self.work.fleet.lanes[at].depends_on = old;
                self.hold_for_list(at, &why);
                held.push(at);
            }
        }
    }

    /// Holds a lane whose list makes it wait for something that cannot be: the next lead reads the list from its beginning.
    fn hold_for_list(&mut self, at: LaneAt, why: &str) {
        self.held_for_list.insert(at);
        let reason = self.command(&["--retry"]).to(format!("{why}; when this run has ended")).to_string();
        let state = LaneState::Paused { reason: reason.clone() };
        if self.work.fleet.lanes[at].state == state {
            return;
        }
        // Nothing of it has begun: the next lead reads the list anew.
        self.memory.lane(&self.work.fleet.lanes[at].name.clone()).put_off = true;
        self.tell_lane(at, "paused", &reason);
        self.work.fleet.lanes[at].state = state;
        self.is_state_due = true;
    }
}
