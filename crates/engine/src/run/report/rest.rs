//! Lanes of a run that its last lead had no part in: they stay in the run's report.

use super::super::lead::Lead;
use super::super::memory::LaneMemory;
use super::super::view::{LaneView, Published};

impl Lead<'_> {
    /// All lanes of the run for its report: those of this lead, then the others as their last lead left them.
    pub(super) fn reported(&self) -> Vec<(LaneView, LaneMemory)> {
        let own = self.listed_lanes().map(|at| self.lane_view(at));
        let kept = Published::read_kept(self.workspace, self.run.number, self.time());
        let rest = kept.into_iter().flat_map(|kept| kept.view.lanes).filter(|lane| self.is_of_rest(&lane.name));
        let memory = |name: &str| self.memory.lanes.get(name).cloned().unwrap_or_default();
        own.chain(rest).map(|lane| (memory(&lane.name), lane)).map(|(memory, lane)| (lane, memory)).collect()
    }

    /// What is remembered of lanes and groups of the run that this lead has no part in, by their names.
    pub(super) fn rest(&self) -> impl Iterator<Item = (&str, &LaneMemory)> {
        let all = self.memory.lanes.iter();
        all.filter(|(name, _)| self.is_of_rest(name)).map(|(name, memory)| (name.as_str(), memory))
    }

    fn is_of_rest(&self, name: &str) -> bool {
        // The name of a step begins with its unit.
        let unit = name.split(' ').next().unwrap_or_default();
        // Its user may have taken it out of the list since: what its workers did and cost is a part of the run.
        let is_of_run = self.memory.lanes.get(name).is_some_and(|memory| memory.run == self.run.number);
        is_of_run && !self.work.lanes.iter().any(|lane| lane.unit_name == unit)
    }
}
