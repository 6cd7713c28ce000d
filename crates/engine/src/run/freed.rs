//! Paused lanes that a person lets go on: seen by the lead at work, and by the next one.

use piton_model::Lifecycle;
use piton_model::fleet::{Counts, FleetEvent, LaneAt, LaneState, Standing};
use piton_store::journal::Entry;

use super::lead::Lead;

/// Who records for a lead.
const LEAD: &str = "lead";

impl Lead<'_> {
    /// Lets paused lanes go on that a person freed. An event frees a lane once: a lane that pauses again waits for another.
    pub(super) fn look_for_freed(&mut self) {
        for at in 0..self.work.fleet.lanes.len() {
            if !matches!(self.work.fleet.lanes[at].state, LaneState::Paused { .. }) {
                continue;
            }
            let freed = match self.work.lanes[at].step {
                Some(_) => self.unblocked_by(at),
                None => self.freed_by(at),
            };
            let Some(event) = freed.filter(|event| self.freed.get(&at) != Some(event)) else { continue };
            if self.is_held(at) {
                continue;
            }
            self.freed.insert(at, event);
            self.tell_lane(at, "freed", "a person lets it go on");
            let is_whole = !self.work.fleet.lanes[at].halts_group;
            match self.standing(at, true) {
                // Only the merge or the record was refused: that is done again, not the work.
                Standing::Complete(_) if is_whole => {
                    self.work.fleet.lanes[at].counts = Counts::default();
                    self.judge_again(at);
                }
                _ => self.queue.push_back(FleetEvent::LaneFreed { lane: at }),
            }
        }
    }

    /// Whether a unit's documents still say that it may not go on.
    fn is_held(&self, at: LaneAt) -> bool {
        self.unit_of(at).is_ok_and(|unit| match unit.state.lifecycle() {
            Lifecycle::Queued | Lifecycle::Running | Lifecycle::Waiting => false,
            Lifecycle::Paused | Lifecycle::Blocked | Lifecycle::Failed | Lifecycle::Done | Lifecycle::Unknown => true,
        })
    }

    /// The event by which a person took the blocker or the pause of a unit away, when nothing happened since.
    pub(super) fn freed_by(&self, at: LaneAt) -> Option<u64> {
        let events = self.events_of(&self.work.lanes[at].unit);
        let frees = |entry: &&Entry| {
            entry.by != LEAD && matches!(entry.event.as_str(), "unblocked" | "noted" | "decided" | "reopened")
        };
        events.last().filter(frees).map(|entry| entry.seq)
    }

    /// The event by which a person took away what a worker of a step's unit was blocked by.
    pub(super) fn unblocked_by(&self, at: LaneAt) -> Option<u64> {
        let events = self.events_of(&self.work.lanes[at].unit);
        let last = |word: &str| events.iter().rfind(|entry| entry.event == word).map(|entry| entry.seq);
        let (blocked, unblocked) = (last("blocked")?, last("unblocked")?);
        (unblocked > blocked).then_some(unblocked)
    }
}
