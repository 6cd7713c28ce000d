//! `.pipeline/state.json`, with all of its fields, on every heartbeat and transition.

use std::collections::BTreeMap;
use std::time::Duration;

use piton_dialect::pipeline::{
    self, Briefs, KnownStory, LeadState, LeadStory, known_stories, layout, state_path, write_state,
};
use piton_model::fleet::{LaneAt, LaneState};
use piton_model::{Dialect, Time};
use piton_store::ReadError;
use piton_store::disk::{Access, Disk, LockError};

use super::lead::Lead;
use super::unknown_work::known_story;
use super::{RunError, failed};
use crate::record::DiskFiles;

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
        let path = state_path();
        let disk = &*self.workspace.disk;
        let lock = match piton_store::lock_shared(disk, &path, Duration::from_secs(10)) {
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
        let mut known = known_stories(before.as_deref().unwrap_or_default());
        let taken_out = self.taken_out(&known);
        known.retain(|story| !taken_out.contains(&story.id));
        let complete = complete && !self.has_other_stories(&known);
        let mut state = LeadState { taken_out, ..self.lead_state(&stories, complete) };
        for story in &mut state.stories {
            let at = stories.iter().find(|at| self.work.lanes[**at].id == story.id);
            let is_listed = known.iter().any(|known| known.id == story.id && known.standing.is_some());
            if at.is_some_and(|at| self.is_done_unlisted(*at, is_listed)) {
                story.standing = Some("DONE");
            }
        }
        let now = self.time();
        let checkpoints = || self.checkpoints();
        let written =
            write_state(before.as_deref(), &state, &checkpoints, now).map_err(|refusal| failed(refusal.message))?;
        if before.as_deref() == Some(written.bytes.as_slice()) {
            return Ok(());
        }
        let told = match (&written.aside, &before) {
            (Some(why), Some(bytes)) => {
                let kept = free_name(disk, now);
                piton_store::replace(disk, &kept, bytes, Access::Shared)?;
                Some(format!("{path} was rebuilt ({why}); the file that was there is kept as {kept}"))
            }
            _ => None,
        };
        piton_store::replace(disk, &path, &written.bytes, Access::Shared)?;
        drop(lock);
        self.restored.clear();
        if let Some(told) = told {
            self.tell(None, "state", &told);
            self.memory.issues.push(("state".to_owned(), "state.json".to_owned(), told));
        }
        Ok(())
    }

    /// Whether the state has to say that a story is done, because git took back or removed what said so.
    fn is_done_unlisted(&self, at: LaneAt, is_listed: bool) -> bool {
        let is_restored = self.restored.contains(&self.work.lanes[at].unit.to_string());
        self.work.fleet.lanes[at].state == LaneState::Done && (is_restored || !is_listed)
    }

    /// Whether the state has stories that are open and no part of this run.
    fn has_other_stories(&self, known: &[KnownStory]) -> bool {
        let is_open = |story: &KnownStory| {
            let is_settled = matches!(story.standing.as_deref(), Some("DONE" | "PAUSED"));
            // One that was taken out of its list stays as it is.
            let is_own = |at: LaneAt| {
                let is_left_out = self.work.fleet.lanes[at].state == LaneState::Done && !self.has_begun(at);
                self.work.lanes[at].id == story.id && !is_left_out
            };
            !is_settled && !(0..self.work.lanes.len()).any(is_own)
        };
        known.iter().any(is_open)
    }

    /// Every checkpoint of the pipeline, with its path.
    fn checkpoints(&self) -> Vec<(String, Vec<u8>)> {
        let disk = &*self.workspace.disk;
        let names = disk.list(layout::DIRECTORY).into_iter().filter(|name| layout::story_of(name).is_some());
        let paths = names.map(|name| format!("{}/{name}", layout::DIRECTORY));
        // One that is being written at this moment is waited for: a story without a checkpoint is a queued one.
        paths.filter_map(|path| self.workspace.read(&path).ok().map(|content| (path, content.bytes))).collect()
    }

    fn lead_state(&self, stories: &[LaneAt], complete: bool) -> LeadState {
        let started = self.run.started;
        let day: String = started.to_string().chars().take(10).collect();
        let mut order = stories.to_vec();
        order.sort_by_key(|at| (self.work.fleet.lanes[*at].priority, *at));
        LeadState {
            complete,
            started,
            team: format!("pipeline-{day}"),
            briefs: self.briefs(),
            stories: order.into_iter().map(|at| self.lead_story(at)).collect(),
            issues: self.memory.issues.clone(),
            taken_out: Vec::new(),
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
        let times = memory.all_times();
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
                    // Two stages ahead of its checkpoint would be a contradiction.
                    let is_unvalidated = lane.stage == 2 && !lane.stages.contains(&1);
                    let written = self.document_stage(at);
                    // A story that is taken back to an earlier stage is so when that is recorded, not before.
                    let is_ahead = written.is_some_and(|written| written > lane.stage);
                    let is_taken_back = is_ahead && self.scores(at).issues.is_none();
                    let written = written.filter(|written| is_unvalidated && *written == 0);
                    let stage = STAGES.get(usize::from(written.unwrap_or(lane.stage))).copied();
                    stage.filter(|_| !is_taken_back)
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
            pause: match &lane.state {
                LaneState::Paused { reason } if !has_begun => Some(reason.clone()),
                _ => None,
            },
            requeued: memory.put_off && !lane.state.is_settled(),
            remains: !lane.state.is_settled(),
            worker: memory.worker.filter(|_| lane.state.has_worker()),
            reworks: lane.counts.reworks,
            no_gos: lane.counts.no_gos,
            crashes: lane.counts.crashes,
            results: self.story_results(at, memory.results),
            worktree: memory.worktree,
            depends_on,
            times,
            git: memory.git.map(|git| (git.insertions, git.deletions, git.files)),
            readiness: lane.readiness,
        }
    }

    /// What each stage resulted in. The story's own record knows what this lead paused for, such as the last FAIL.
    fn story_results(&self, at: LaneAt, remembered: BTreeMap<u8, String>) -> BTreeMap<u8, String> {
        let files = DiskFiles::new(&*self.workspace.disk, None);
        let mut results = pipeline::stage_results(&self.place(at), &files, &self.moment());
        for (stage, result) in remembered {
            // What was judged after the lead wrote it down is newer.
            results.entry(stage).or_insert(result);
        }
        results
    }

    /// What an earlier lead wrote down about a story, where nothing else is remembered.
    pub(super) fn known_story(&self, at: LaneAt) -> Option<KnownStory> {
        known_story(self.workspace, &self.work.lanes[at])
    }
}

/// A free name for a state that cannot be continued.
fn free_name(disk: &dyn Disk, now: Time) -> String {
    let directory = format!("{}/archive", layout::DIRECTORY);
    let taken = disk.list(&directory);
    let at = now.unix_seconds();
    let name = |number: u32| if number == 1 { format!("state-{at}.json") } else { format!("state-{at}-{number}.json") };
    let free = (1..).map(name).find(|name| !taken.contains(name)).unwrap_or_else(|| name(1));
    format!("{directory}/{free}")
}
