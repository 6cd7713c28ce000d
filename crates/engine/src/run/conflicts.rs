//! Conflicts of a phase with its base: which lane's work they are about.

use std::path::Path;

use piton_model::Rework;
use piton_model::fleet::{LaneAt, LaneState, MergeOf};

use super::lead::Lead;

impl Lead<'_> {
    /// Notes a conflict, for the report. That of a phase goes to the lane that made the files, not to the one that joined last.
    pub(super) fn note_conflict(&mut self, of: MergeOf, why: &Rework) {
        let Rework::Conflict { files, .. } = why else { return };
        self.memory.issues.push((self.name_of(of), "merge conflict".to_owned(), why.summary()));
        if let MergeOf::Phase(group, phase) = of
            && let Some(owner) = self.owner_of(group, phase, files)
        {
            self.work.fleet.groups[group].phases[phase].last = Some(owner);
        }
    }

    /// The lane of a phase that was to make one of these files, or else one that changed it. The files are relative to the
    /// repository.
    fn owner_of(&self, group: usize, phase: usize, files: &[String]) -> Option<LaneAt> {
        let repository = self.repository.as_ref()?;
        let local = |path: &String| Path::new(path).strip_prefix(repository.inside()).ok()?.to_str().map(str::to_owned);
        let paths: Vec<String> = files.iter().filter_map(local).collect();
        let is_collected = |at: &LaneAt| {
            let lane = &self.work.fleet.lanes[*at];
            (lane.group, lane.phase) == (group, phase) && lane.state == LaneState::Integrated
        };
        let makes = |at: &LaneAt| {
            let outputs = self.work.lanes[*at].files();
            paths.iter().any(|path| outputs.iter().any(|output| output.is(path)))
        };
        let changed = |at: &LaneAt| {
            let known = self.memory.lanes.get(&self.work.fleet.lanes[*at].name);
            let Some(commit) = known.and_then(|known| known.collected.as_ref()) else { return false };
            let changed = repository.changed_files(&format!("{commit}^1"), commit).unwrap_or_default();
            changed.iter().any(|path| files.contains(path))
        };
        let lanes = || (0..self.work.fleet.lanes.len()).filter(is_collected);
        lanes().find(makes).or_else(|| lanes().find(changed))
    }
}
