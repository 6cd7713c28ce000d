//! `.pipeline/state.json`, with all of its fields, on every heartbeat and transition.

use std::time::Duration;

use piton_dialect::pipeline::{Briefs, KnownStory, LeadState, LeadStory, known_stories, state_path, write_state};
use piton_model::Dialect;
use piton_model::fleet::{LaneAt, LaneState};
use piton_store::ReadError;
use piton_store::disk::{Access, LockError};

use super::lead::Lead;
use super::{RunError, failed};

/// The protocol's words for the stages.
const STAGES: [&str; 4] = ["STAGE_0", "STAGE_1", "STAGE_2", "STAGE_3"];

impl Lead<'_> {
    /// Writes the state of all stories; nothing where there are none.
    pub(super) fn write_state_file(&mut self, complete: bool) -> Result<(), RunError> {
        let stories: Vec<LaneAt> =
            (0..self.work.lanes.len()).filter(|at| self.work.lanes[*at].dialect == Dialect::Pipeline).collect();
        if stories.is_empty() {
            return Ok(());
        }
        let state = self.lead_state(&stories, complete);
        let path = state_path();
        let disk = &*self.workspace.disk;
        let _lock = match piton_store::lock_shared(disk, &path, Duration::from_secs(10)) {
            Ok(lock) => lock,
            Err(LockError::Busy { .. }) => {
                return Err(RunError::Disk { message: format!("another process holds the lock of `{path}`") });
            }
            Err(LockError::Disk(error)) => return Err(error.into()),
        };
        let before = match disk.read(&path) {
            Ok(content) => Some(content.bytes),
            Err(ReadError::Missing) => None,
            Err(error) => return Err(RunError::Disk { message: format!("cannot read `{path}`: {error}") }),
        };
        let bytes = write_state(before.as_deref(), &state, self.time()).map_err(|refusal| failed(refusal.message))?;
        if before.as_deref() == Some(bytes.as_slice()) {
            return Ok(());
        }
        Ok(piton_store::replace(disk, &path, &bytes, Access::Shared)?)
    }

    fn lead_state(&self, stories: &[LaneAt], complete: bool) -> LeadState {
        let started = self.run.started;
        let day: String = started.to_string().chars().take(10).collect();
        let mut order = stories.to_vec();
        order.sort_by_key(|at| (self.work.fleet.lanes[*at].priority, *at));
        LeadState {
            complete,
            active_workers: self.work.fleet.active(),
            started,
            team: format!("pipeline-{day}"),
            briefs: self.briefs(),
            stories: order.into_iter().map(|at| self.lead_story(at)).collect(),
            issues: self.memory.issues.clone(),
        }
    }

    /// What the settings and the lists of stories tell workers.
    pub(super) fn briefs(&self) -> Briefs {
        let mut briefs = self.settings.briefs.clone();
        for work in self.work.lanes.iter().filter(|work| !work.brief.is_empty()) {
            briefs.stories.insert(work.id.clone(), work.brief.clone().into());
        }
        briefs
    }

    fn lead_story(&self, at: LaneAt) -> LeadStory {
        let lane = &self.work.fleet.lanes[at];
        let memory = self.memory.lanes.get(&lane.name).cloned().unwrap_or_default();
        // A lead that died right after the claim did not come to remember it.
        let has_begun =
            memory.origin.attempt > 0 || matches!(self.workspace.disk.stamp(&self.document_of(at)), Ok(Some(_)));
        let depends_on = lane.depends_on.iter().map(|before| self.work.lanes[*before].id.clone()).collect();
        LeadStory {
            id: self.work.lanes[at].id.clone(),
            standing: match &lane.state {
                LaneState::Queued
                | LaneState::Between
                | LaneState::Working(_)
                | LaneState::Dead { .. }
                | LaneState::Reworking { .. }
                | LaneState::Proving { .. }
                    if has_begun && !self.live.contains_key(&at) =>
                {
                    STAGES.get(usize::from(lane.stage)).copied()
                }
                _ if has_begun => None,
                LaneState::Paused { .. } => Some("PAUSED"),
                LaneState::Done => None,
                LaneState::Queued
                | LaneState::Between
                | LaneState::Working(_)
                | LaneState::Dead { .. }
                | LaneState::Proving { .. }
                | LaneState::Reworking { .. }
                | LaneState::Parked { .. }
                | LaneState::Integrated
                | LaneState::Closing(_) => Some("QUEUED"),
            },
            requeued: memory.put_off && !lane.state.is_settled(),
            remains: !lane.state.is_settled(),
            worker: memory.worker.filter(|_| lane.state.has_worker()),
            reworks: lane.counts.reworks,
            no_gos: lane.counts.no_gos,
            crashes: lane.counts.crashes,
            results: memory.results,
            worktree: memory.worktree,
            depends_on,
            times: memory.times,
            git: memory.git.map(|git| (git.insertions, git.deletions, git.files)),
            readiness: lane.readiness,
        }
    }

    /// What an earlier lead wrote down about a story, where nothing else is remembered.
    pub(super) fn known_story(&self, at: LaneAt) -> Option<KnownStory> {
        if self.work.lanes[at].dialect != Dialect::Pipeline {
            return None;
        }
        let content = self.workspace.disk.read(&state_path()).ok()?;
        known_stories(&content.bytes).into_iter().find(|known| known.id == self.work.lanes[at].id)
    }
}
