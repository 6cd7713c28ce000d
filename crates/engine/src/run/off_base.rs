//! Work that was merged, and whose merge is not on the base: its user took it off, or it was merged into another branch. Whether
//! the base has it in another form, only the user knows.

use piton_model::fleet::{LaneAt, LaneState, StageResult, Standing};
use piton_model::{Lifecycle, Output};
use piton_supervisor::quoted;

use super::lead::Lead;
use super::memory::{LaneMemory, SavedState};
use super::on_base::Base;

/// How the question begins that is asked about such work.
const OFF_BASE: &str = "its merge";

/// Whether a lane was paused with that question.
fn is_asked(state: &SavedState) -> bool {
    matches!(state, SavedState::Paused { reason } if reason.starts_with(OFF_BASE))
}

impl Base<'_> {
    /// Whether the base has what a commit merged, in whatever form. True without a repository.
    fn has_merge(&self, commit: &str) -> bool {
        self.ground.is_none_or(|(repository, base)| !repository.has_lost(base, commit).unwrap_or(true))
    }

    /// Why a unit that a run would call done is asked about.
    pub fn foresees_question(&self, known: &LaneMemory) -> Option<String> {
        let (repository, base) = self.ground?;
        let merged = known.merged.as_ref().filter(|_| known.state == SavedState::Done || is_asked(&known.state))?;
        let is_off = !self.has_merge(merged) && repository.has_commit(merged).unwrap_or(false);
        is_off.then(|| format!("{OFF_BASE} ({}) is not on {base}", short(merged)))
    }
}

impl Lead<'_> {
    /// Whether a lane's merge is on the base, in whatever form: its user may have taken it off, or rebased it. True without a
    /// repository.
    pub(super) fn is_merge_on_base(&self, at: LaneAt) -> bool {
        let merged = self.memory.lanes.get(&self.work.fleet.lanes[at].name).and_then(|known| known.merged.as_ref());
        merged.map_or(self.repository.is_none(), |merged| self.base().has_merge(merged))
    }

    /// Whether a lane's merge is not on the base.
    pub(super) fn is_merge_off_base(&self, at: LaneAt) -> bool {
        let known = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
        known.is_some_and(|known| known.merged.is_some()) && !self.is_merge_on_base(at)
    }

    /// Whether a lane that is done has its result nowhere on the base. Files that a step names and that the base has are its
    /// result, in another form.
    fn is_result_off_base(&self, at: LaneAt) -> bool {
        let known = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
        let Some(merged) = known.and_then(|known| known.merged.as_ref()) else { return false };
        // A commit that git has removed since says nothing about the base.
        let is_known = self.repository.as_ref().is_some_and(|it| it.has_commit(merged).unwrap_or(false));
        let is_on_base = |file: &String| match Output::read(file) {
            Some(output) => self.base().has(&output) || self.base().has_moved(merged, output.name()),
            None => true,
        };
        let files = self.files_of_step(at);
        let is_proved = || !files.is_empty() && files.iter().all(is_on_base);
        is_known && self.is_merge_off_base(at) && !is_proved()
    }

    /// Why a lane that was merged is held: the base does not have its merge, and the user decides what follows.
    fn taken_off_base(&self, at: LaneAt, lifecycle: Option<Lifecycle>) -> Option<String> {
        let known = self.memory.lanes.get(&self.work.fleet.lanes[at].name)?;
        let was_done = known.state == SavedState::Done || is_asked(&known.state);
        let is_off = match self.work.lanes[at].step {
            // A step that is not recorded as done is done again. One whose files went off the base with its merge is not.
            Some(_) => {
                matches!(self.standing(at, false), Standing::Complete(_) | Standing::Unproved { .. })
                    && self.is_result_off_base(at)
            }
            None => match lifecycle? {
                Lifecycle::Done => self.is_result_off_base(at),
                _ => self.is_merge_off_base(at),
            },
        };
        if !was_done || !is_off {
            return None;
        }
        let (merged, base) = (known.merged.as_ref()?, self.memory.run.base.as_ref()?);
        let (name, branch) = (short(merged), quoted(base));
        let is_base_here =
            self.repository.as_ref().is_some_and(|it| it.head().is_ok_and(|it| it.branch() == Some(base)));
        let first = if is_base_here { String::new() } else { format!("git checkout {branch} && ") };
        let (again, go_on) = (self.command(&["--retry"]).to("merge it again"), self.command(&[]).to("then"));
        Some(format!(
            "{OFF_BASE} ({name}) is not on {base}; {again}; or, where {base} has it in another form, say so: {first}git merge \
             -s ours {name}; {go_on}"
        ))
    }

    /// Takes up a lane that was merged and whose merge is not on the base, or was not; says whether that was all.
    pub(super) fn settle_off_base(
        &mut self,
        at: LaneAt,
        known: &LaneMemory,
        lifecycle: Option<Lifecycle>,
        is_retry: bool,
    ) -> bool {
        let was_asked = is_asked(&known.state);
        match self.taken_off_base(at, lifecycle) {
            // A retry is the answer to a question that was asked.
            Some(_) if is_retry && was_asked => self.merge_again(at, lifecycle),
            Some(reason) => {
                // The stage is asked for when it is merged again.
                let lane = &mut self.work.fleet.lanes[at];
                (lane.stage, lane.readiness) = (known.stage, known.readiness);
                self.hold(at, reason);
                true
            }
            // Its user brought it back, or said that it is there.
            None if was_asked => {
                self.recover_done(at, lifecycle);
                true
            }
            None => false,
        }
    }

    /// Merges a lane again, because the user says so. Where its document was taken back too, it continues from there, and the
    /// answer is false.
    fn merge_again(&mut self, at: LaneAt, lifecycle: Option<Lifecycle>) -> bool {
        let memory = self.memory.lane(&self.work.fleet.lanes[at].name);
        (memory.merged, memory.collected, memory.brings_back) = (None, None, true);
        if self.work.lanes[at].step.is_none() && lifecycle != Some(Lifecycle::Done) {
            return false;
        }
        // What its last stage resulted in stays in the report.
        let result = match memory.results.get(&memory.stage).cloned() {
            Some(word) => StageResult::Passed { word, score: None },
            None => StageResult::Done,
        };
        let lane = &mut self.work.fleet.lanes[at];
        (lane.stage, lane.readiness) = (memory.stage, memory.readiness);
        lane.grant_anew();
        self.judge_as(at, Standing::Complete(result));
        true
    }

    /// Whether the user wants a phase merged again.
    pub(super) fn brings_phase_back(&self, group: usize, phase: usize) -> bool {
        let mut lanes = self.work.fleet.lanes.iter().filter(|lane| (lane.group, lane.phase) == (group, phase));
        lanes.any(|lane| self.memory.lanes.get(&lane.name).is_some_and(|known| known.brings_back))
    }

    /// Why no worker is started for a lane: what it builds on is not on the base any more.
    pub(super) fn lacks_ground(&self, at: LaneAt) -> Option<String> {
        let own = &self.work.fleet.lanes[at];
        let is_before = |other: &LaneAt| {
            let lane = &self.work.fleet.lanes[*other];
            let is_earlier = lane.group == own.group && lane.phase < own.phase;
            lane.state == LaneState::Done && (is_earlier || own.depends_on.contains(other))
        };
        let lost = (0..self.work.lanes.len()).filter(is_before).find(|other| self.is_result_off_base(*other))?;
        let name = &self.work.fleet.lanes[lost].name;
        let merged = self.memory.lanes.get(name)?.merged.as_ref()?;
        let (short, base) = (short(merged), self.memory.run.base.as_ref()?);
        let retry = self.command(&["--retry"]).to("bring it back, or decide about it");
        Some(format!("it builds on {name}, whose merge ({short}) is not on {base} any more; {retry}"))
    }
}

fn short(commit: &str) -> String {
    commit.chars().take(9).collect()
}
