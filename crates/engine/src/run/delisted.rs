//! A story, a task or an agent that the user takes out of its list before its first worker started gets no worker.

use piton_dialect::pipeline::{KnownStory, layout};
use piton_model::fleet::{FleetEvent, LaneAt, LaneState};
use piton_model::{Dialect, UnitRef};

use super::lead::Lead;
use super::memory::LaneMemory;
use super::work::{Before, Lists, without};

impl Lead<'_> {
    /// Whether the user took a lane's unit out of its list since this lead began, before anything was done for it. A list in
    /// which something waits for it says nothing.
    pub(super) fn is_delisted(&mut self, at: LaneAt) -> bool {
        let unit = self.work.lanes[at].unit.clone();
        let Some(before) = self.lists.as_ref().filter(|lists| lists.names(&unit)) else { return false };
        if self.has_begun(at) {
            return false;
        }
        let Some(now) = Lists::read(&self.as_user_has_it(), &self.run.wanted) else { return false };
        if now.names(&unit) || now.needs(&unit) || !now.has_same_files(before) {
            return false;
        }
        self.tell_lane(at, "settled", "it was taken out of its list; no worker starts");
        self.delisted.insert(at);
        self.queue.push_front(FleetEvent::LaneSettled { lane: at });
        true
    }

    /// Queues a unit again that the user puts back into its list.
    pub(super) fn relist(&mut self, at: LaneAt) {
        self.delisted.remove(&at);
        self.work.fleet.lanes[at].state = LaneState::Queued;
        self.tell_lane(at, "listed", "it is in its list again, and its turn comes");
    }

    /// Lanes of this run, without those that the user took out of their list.
    pub(super) fn listed_lanes(&self) -> impl Iterator<Item = LaneAt> {
        (0..self.work.fleet.lanes.len()).filter(|at| !self.delisted.contains(at))
    }

    /// Leaves units out of the run's record that the user took out of their list: it is not about them any more.
    pub(super) fn forget_delisted(&mut self) {
        for at in &self.delisted {
            self.run.units.remove(&self.work.lanes[*at].unit_name);
        }
    }

    /// Remembers which stories come from a list: those that another lead left are no user's to take out.
    pub(super) fn remember_listed(&mut self) {
        let before = Before::read(self.workspace);
        for work in self.work.lanes.iter().filter(|work| work.dialect == Dialect::Pipeline) {
            if before.names(&work.unit) || self.lists.as_ref().is_some_and(|lists| lists.names(&work.unit)) {
                self.memory.listed.insert(work.id.clone());
            }
        }
    }

    /// Stories of the state that no list has any more and that have not begun: no lead is to do them, ours or another one.
    pub(super) fn taken_out(&self, known: &[KnownStory]) -> Vec<String> {
        let Some(lists) = &self.lists else { return Vec::new() };
        let before = Before::read(self.workspace);
        let is_out = |story: &KnownStory| {
            let unit = format!("pipeline:{}", story.id);
            let is_listed = UnitRef::parse(&unit).is_ok_and(|unit| lists.names(&unit) || before.names(&unit));
            let has_begun = self.memory.lanes.get(&unit).is_some_and(LaneMemory::has_begun)
                || matches!(self.workspace.disk.stamp(&layout::path_of(&story.id)), Ok(Some(_)));
            let has_lane = self.work.lanes.iter().any(|work| work.unit_name == unit);
            self.memory.listed.contains(&story.id) && !is_listed && !has_begun && !has_lane
        };
        let left = without(known.to_vec(), is_out);
        known.iter().filter(|story| !left.contains(story)).map(|story| story.id.clone()).collect()
    }

    /// Whether anything was done for a lane.
    pub(super) fn has_begun(&self, at: LaneAt) -> bool {
        let known = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
        let is_known = known.is_some_and(LaneMemory::has_begun);
        let document = self.document_of(at);
        is_known || !document.is_empty() && matches!(self.workspace.disk.stamp(&document), Ok(Some(_)))
    }
}
