//! A story or a task that the user takes out of its list before its first worker started gets no worker.

use piton_model::fleet::{FleetEvent, LaneAt};

use super::lead::Lead;
use super::work::Lists;

impl Lead<'_> {
    /// Whether the user took a lane's unit out of its list since this lead began, before anything was done for it. What
    /// another branch or a stash has in the list's place says nothing, nor does a list in which something waits for it.
    pub(super) fn is_delisted(&mut self, at: LaneAt) -> bool {
        let unit = self.work.lanes[at].unit.clone();
        let Some(before) = self.lists.as_ref().filter(|lists| lists.names(&unit)) else { return false };
        if self.has_begun(at) || !self.is_base_checked_out() {
            return false;
        }
        let Some(now) = Lists::read(self.workspace, &self.run.wanted) else { return false };
        let is_named = now.names(&unit) || now.needs(&unit) || !now.has_same_files(before);
        let changed = now.files.iter().filter(|file| !before.files.contains(file));
        let mut is_gits = changed.map(|(file, bytes)| self.is_gits(file, bytes, self.began_at));
        if is_named || is_gits.any(|is_gits| is_gits) {
            return false;
        }
        self.tell_lane(at, "settled", "it was taken out of its list; no worker starts");
        self.queue.push_front(FleetEvent::LaneSettled { lane: at });
        true
    }

    /// Whether anything was done for a lane.
    pub(super) fn has_begun(&self, at: LaneAt) -> bool {
        let known = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
        let is_known = known.is_some_and(|it| it.origin.attempt > 0 || it.home.is_some() || it.branch.is_some());
        let document = self.document_of(at);
        is_known || !document.is_empty() && matches!(self.workspace.disk.stamp(&document), Ok(Some(_)))
    }

    fn is_base_checked_out(&self) -> bool {
        let (Some(repository), Some(base)) = (&self.repository, &self.memory.run.base) else { return true };
        repository.head().is_ok_and(|head| head.branch() == Some(base))
    }
}
