//! The merge queue: one lane or phase at a time is merged with its target in a scratch worktree, judged there, and only
//! then becomes the target. Nothing whose gate failed is ever on the base.

use super::lane::{Closing, LaneState};
use super::phase::{GateKind, GateProgress, PhaseState};
use super::{Achievement, Decision, Fleet, GateOf, GroupAt, Halt, LaneAt, Mode, StageResult, Standing};
use crate::Rework;

/// How often in a row a target may move while something is judged for it.
const MOST_MOVES: u32 = 20;

fn moved_too_often() -> String {
    format!("the branch that it is merged into moved {MOST_MOVES} times while it was judged; stop what moves it")
}

/// What is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeOf {
    /// A lane's branch, into the base or into the branch on which its phase is collected.
    Lane(LaneAt),
    /// A phase's collected work, into the base.
    Phase(GroupAt, usize),
}

/// What came of preparing a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prepared {
    /// Both sides are in the scratch worktree.
    Ready {
        /// Files that its own gates depend on, that the branch changes, and whose change no person has approved. They are
        /// judged with the base's version.
        own_gates: Vec<String>,
    },
    /// The agent has to see to it: files in conflict, files that are not committed.
    Rework(Rework),
    /// Work that was collected is not on the branch any more: it is merged again.
    Lost {
        /// Whose.
        lanes: Vec<LaneAt>,
    },
    /// A person has to see to it.
    Refused {
        /// Why.
        reason: String,
    },
    /// It was stopped together with the run: the next one prepares it again.
    Stopped,
}

/// How a gate ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateResult {
    /// It passed.
    Passed,
    /// It judged the work, and the work does not pass.
    Failed(Rework),
    /// It judged nothing: its command is missing, not approved, not executable or ran out of time.
    Broken {
        /// Why.
        why: String,
    },
    /// It was ended together with the run.
    Stopped,
}

/// How a merge ended.
#[derive(Debug, Clone, PartialEq)]
pub enum MergeResult {
    /// The target has the judged tree.
    Merged,
    /// The same, and the target is the branch on which a phase is collected, whatever gates the phase has by now.
    Collected,
    /// The target moved after the tree was prepared: it is prepared and judged again.
    TargetMoved,
    /// Something of a person's is in the way. Nothing has changed.
    Blocked {
        /// What, and what to do.
        reason: String,
    },
    /// The agent has to see to it: a named result is not on the target.
    Rework(Rework),
    /// A person took back what made the work complete. Nothing has changed. Lanes of a phase that it concerns are
    /// reopened.
    Withdrawn {
        /// What the documents say now.
        standing: Standing,
    },
    /// A person began the unit anew. Nothing has changed.
    BegunAnew,
}

impl Fleet {
    /// Whether no merge is under way.
    pub(super) fn is_merge_free(&self) -> bool {
        let is_merging = |lane: &super::Lane| match &lane.state {
            LaneState::Closing(closing) => match closing {
                Closing::Preparing | Closing::Gates { .. } | Closing::Merging => true,
                Closing::Queued | Closing::Approving { .. } | Closing::Finishing => false,
            },
            _ => false,
        };
        let phases = self.groups.iter().flat_map(|group| &group.phases);
        let is_phase_merging = |phase: &super::Phase| match phase.state {
            PhaseState::Preparing | PhaseState::Judging | PhaseState::Merging => true,
            PhaseState::Open | PhaseState::Merged | PhaseState::Closed => false,
        };
        !self.lanes.iter().any(is_merging) && !phases.into_iter().any(is_phase_merging)
    }

    /// Gives the merge queue's place to the first lane that waits for it.
    pub(super) fn start_merges(&mut self, decisions: &mut Vec<Decision>) {
        if matches!(self.mode, Mode::Stopping | Mode::Leaving) || !self.is_merge_free() {
            return;
        }
        let mut waiting: Vec<LaneAt> =
            (0..self.lanes.len()).filter(|at| self.lanes[*at].state == LaneState::Closing(Closing::Queued)).collect();
        waiting.sort_by_key(|at| (self.lanes[*at].priority, *at));
        if let Some(at) = waiting.first() {
            self.lanes[*at].state = LaneState::Closing(Closing::Preparing);
            decisions.push(Decision::Prepare { of: MergeOf::Lane(*at) });
        }
    }

    pub(super) fn prepared(&mut self, of: MergeOf, result: Prepared, decisions: &mut Vec<Decision>) {
        match of {
            MergeOf::Lane(at) => self.lane_prepared(at, result, decisions),
            MergeOf::Phase(group, phase) => self.phase_prepared(group, phase, result, decisions),
        }
    }

    fn lane_prepared(&mut self, at: LaneAt, result: Prepared, decisions: &mut Vec<Decision>) {
        if self.lanes[at].state != LaneState::Closing(Closing::Preparing) {
            return;
        }
        match result {
            Prepared::Ready { own_gates } => self.next_lane_gate(at, 0, own_gates, decisions),
            Prepared::Rework(why) => self.rework(at, why, decisions),
            Prepared::Refused { reason } => self.pause_for_person(at, reason, decisions),
            // Nothing is collected on a lane's own branch.
            Prepared::Lost { .. } | Prepared::Stopped => self.lanes[at].state = LaneState::Closing(Closing::Queued),
        }
    }

    /// Runs the lane's next gate on the prepared tree; when all have passed, the target moves.
    fn next_lane_gate(&mut self, at: LaneAt, passed: usize, own_gates: Vec<String>, decisions: &mut Vec<Decision>) {
        let is_stopping = matches!(self.mode, Mode::Stopping | Mode::Leaving);
        let lane = &mut self.lanes[at];
        if is_stopping {
            lane.state = LaneState::Closing(Closing::Queued);
        } else if let Some(gate) = lane.gates.get(passed).cloned() {
            lane.state = LaneState::Closing(Closing::Gates { passed, own_gates });
            decisions.push(Decision::RunGate { of: GateOf::Lane(at), gate });
        } else if own_gates.is_empty() {
            lane.state = LaneState::Closing(Closing::Merging);
            decisions.push(Decision::Merge { of: MergeOf::Lane(at) });
        } else {
            self.ask_lane_approval(at, own_gates, None, decisions);
        }
    }

    /// Asks a person about a lane that changes what judges it. Its own version judges it after the approval.
    fn ask_lane_approval(
        &mut self,
        at: LaneAt,
        files: Vec<String>,
        refused: Option<String>,
        decisions: &mut Vec<Decision>,
    ) {
        decisions.push(Decision::AskLaneApproval { lane: at, files: files.clone(), refused: refused.clone() });
        self.lanes[at].state = LaneState::Closing(Closing::Approving { files, refused });
    }

    fn phase_prepared(&mut self, group: GroupAt, phase: usize, result: Prepared, decisions: &mut Vec<Decision>) {
        if self.groups[group].phases[phase].state != PhaseState::Preparing {
            return;
        }
        if self.groups[group].phases[phase].is_stale {
            return self.reopen_phase(group, phase);
        }
        match result {
            // What a lane changes of its own gates was approved when the lane joined.
            Prepared::Ready { .. } => self.groups[group].phases[phase].state = PhaseState::Judging,
            Prepared::Rework(why) => self.rework_phase(group, phase, why, decisions),
            Prepared::Refused { reason } => self.halt_phase(group, phase, reason, false),
            Prepared::Lost { lanes } => self.collect_again(group, phase, &lanes),
            Prepared::Stopped => self.reopen_phase(group, phase),
        }
    }

    /// Merges lanes into their phase's branch again, which lost them: it was removed, or set to another commit.
    fn collect_again(&mut self, group: GroupAt, phase: usize, lanes: &[LaneAt]) {
        self.reopen_phase(group, phase);
        if lanes.iter().any(|at| self.lanes[*at].counts.moved >= MOST_MOVES) {
            let reason =
                format!("the branch that it is collected on lost its work {MOST_MOVES} times; stop what changes it");
            return self.halt_phase(group, phase, reason, false);
        }
        for at in lanes {
            let lane = &mut self.lanes[*at];
            if lane.state == LaneState::Integrated {
                lane.counts.moved += 1;
                lane.state = LaneState::Closing(Closing::Queued);
            }
        }
    }

    pub(super) fn gate_ended(&mut self, of: GateOf, gate: &str, result: GateResult, decisions: &mut Vec<Decision>) {
        match of {
            GateOf::Lane(at) => self.lane_gate_ended(at, gate, result, decisions),
            GateOf::Phase(group, phase) => self.phase_gate_ended(group, phase, gate, result, decisions),
        }
    }

    fn lane_gate_ended(&mut self, at: LaneAt, gate: &str, result: GateResult, decisions: &mut Vec<Decision>) {
        let LaneState::Closing(Closing::Gates { passed, own_gates }) = self.lanes[at].state.clone() else { return };
        match result {
            GateResult::Passed => self.next_lane_gate(at, passed + 1, own_gates, decisions),
            // What a person says about the work holds, whatever the branch changes.
            GateResult::Failed(why @ Rework::ReviewFailed { .. }) => self.rework(at, why, decisions),
            // The base's version may be older than the work: only with the branch's own is it a verdict.
            GateResult::Failed(_) if !own_gates.is_empty() => {
                let refused = format!("gate {gate} failed with the base's version of {}", own_gates.join(", "));
                self.ask_lane_approval(at, own_gates, Some(refused), decisions);
            }
            GateResult::Broken { why } if !own_gates.is_empty() => {
                let files = own_gates.join(", ");
                let refused = format!("gate {gate} cannot judge with the base's version of {files}: {why}");
                self.ask_lane_approval(at, own_gates, Some(refused), decisions);
            }
            GateResult::Failed(why) => self.rework(at, why, decisions),
            GateResult::Broken { why } => self.pause_for_person(at, cannot_judge(gate, &why), decisions),
            GateResult::Stopped => self.lanes[at].state = LaneState::Closing(Closing::Queued),
        }
    }

    fn phase_gate_ended(
        &mut self,
        group: GroupAt,
        phase: usize,
        gate: &str,
        result: GateResult,
        decisions: &mut Vec<Decision>,
    ) {
        let gates = &mut self.groups[group].phases[phase].gates;
        let is_it = |known: &&mut super::PhaseGate| known.name == gate && known.state == GateProgress::Running;
        let Some(known) = gates.iter_mut().find(is_it) else { return };
        let (kind, step) = (known.kind, known.step.clone());
        if self.groups[group].phases[phase].is_stale {
            return self.reopen_phase(group, phase);
        }
        let gates = &mut self.groups[group].phases[phase].gates;
        let Some(known) = gates.iter_mut().find(is_it) else { return };
        known.state = match result {
            GateResult::Passed => GateProgress::Passed,
            GateResult::Failed(_) => GateProgress::Failed,
            GateResult::Broken { .. } | GateResult::Stopped => GateProgress::Pending,
        };
        match (result, kind) {
            (GateResult::Passed, _) => {}
            (GateResult::Failed(why), GateKind::Command) => self.rework_phase(group, phase, why, decisions),
            (GateResult::Failed(why), GateKind::Later) => {
                self.rework_done(group, phase, step.as_deref(), why, decisions);
            }
            (GateResult::Broken { why }, GateKind::Command | GateKind::Later) => {
                self.halt_phase(group, phase, cannot_judge(gate, &why), false);
            }
            (GateResult::Stopped, _) => self.reopen_unless_merged(group, phase),
        }
    }

    fn reopen_unless_merged(&mut self, group: GroupAt, phase: usize) {
        if self.groups[group].phases[phase].state != PhaseState::Merged {
            self.reopen_phase(group, phase);
        }
    }

    fn halt_phase(&mut self, group: GroupAt, phase: usize, reason: String, is_failure: bool) {
        self.reopen_unless_merged(group, phase);
        let lane = self.groups[group].phases[phase].last;
        self.groups[group].halted.get_or_insert(Halt { reason, lane, is_failure, recorded: false });
    }

    /// The lane that joined a phase last sees to what the phase's gates refuse.
    fn rework_phase(&mut self, group: GroupAt, phase: usize, why: Rework, decisions: &mut Vec<Decision>) {
        let of_phase = |at: &LaneAt| {
            (self.lanes[*at].group, self.lanes[*at].phase, &self.lanes[*at].state)
                == (group, phase, &LaneState::Integrated)
        };
        let last = self.groups[group].phases[phase].last.filter(of_phase);
        let lane = last.or_else(|| (0..self.lanes.len()).rfind(of_phase));
        match lane {
            Some(at) if self.lanes[at].counts.reworks < self.limits.rework => {
                self.reopen_phase(group, phase);
                self.rework(at, why, decisions);
            }
            Some(_) => self.halt_phase(group, phase, after_reworks(&why.summary(), self.limits.rework), true),
            // All of it is on the base already: a person did it, or what judges it has changed since.
            None if self.limits.rework > 0 => {
                self.reopen_phase(group, phase);
                self.rework_done(group, phase, None, why, decisions);
            }
            None => self.halt_phase(group, phase, why.summary(), true),
        }
    }

    /// What is refused after the merge goes back to the lane of the step that was judged, or to the one that joined the
    /// phase last.
    fn rework_done(
        &mut self,
        group: GroupAt,
        phase: usize,
        step: Option<&str>,
        why: Rework,
        decisions: &mut Vec<Decision>,
    ) {
        let of_phase = |at: &LaneAt| {
            (self.lanes[*at].group, self.lanes[*at].phase, &self.lanes[*at].state) == (group, phase, &LaneState::Done)
        };
        let name = step.map(|step| format!("{} {step}", self.groups[group].name));
        let judged = (0..self.lanes.len()).find(|at| of_phase(at) && Some(&self.lanes[*at].name) == name.as_ref());
        let last = judged.or(self.groups[group].phases[phase].last.filter(of_phase));
        match last.or_else(|| (0..self.lanes.len()).rfind(of_phase)) {
            // A lane that its user takes out is done again without having changed anything: the same gate refuses the same tree.
            Some(at) if self.lanes[at].counts.refused < self.limits.rework => {
                let refused = self.lanes[at].counts.refused + 1;
                self.lane_reopened(at);
                self.lanes[at].counts.refused = refused;
                self.rework(at, why, decisions);
            }
            Some(_) if self.limits.rework > 0 => {
                self.halt_phase(group, phase, after_reworks(&why.summary(), self.limits.rework), true);
            }
            _ => self.halt_phase(group, phase, why.summary(), true),
        }
    }

    pub(super) fn merge_ended(&mut self, of: MergeOf, result: MergeResult, decisions: &mut Vec<Decision>) {
        match of {
            MergeOf::Lane(at) => self.lane_merged(at, result, decisions),
            MergeOf::Phase(group, phase) => self.phase_merged(group, phase, result, decisions),
        }
    }

    fn lane_merged(&mut self, at: LaneAt, result: MergeResult, decisions: &mut Vec<Decision>) {
        if self.lanes[at].state != LaneState::Closing(Closing::Merging) {
            return;
        }
        let (group, phase) = (self.lanes[at].group, self.lanes[at].phase);
        let collects = || self.groups[group].phases.get(phase).is_some_and(super::Phase::collects);
        let result = if result == MergeResult::Merged && collects() { MergeResult::Collected } else { result };
        match result {
            MergeResult::Collected => {
                self.groups[group].phases[phase].last = Some(at);
                self.lanes[at].state = LaneState::Integrated;
            }
            MergeResult::Merged => {
                self.lanes[at].state = LaneState::Closing(Closing::Finishing);
                decisions.push(Decision::Finish { lane: at });
            }
            MergeResult::TargetMoved if self.lanes[at].counts.moved < MOST_MOVES => {
                self.lanes[at].counts.moved += 1;
                self.lanes[at].state = LaneState::Closing(Closing::Queued);
            }
            MergeResult::TargetMoved => {
                self.pause_for_person(at, moved_too_often(), decisions);
            }
            MergeResult::Blocked { reason } => self.pause_for_person(at, reason, decisions),
            MergeResult::Rework(why) => self.rework(at, why, decisions),
            MergeResult::Withdrawn { standing } => self.withdrawn(at, standing, decisions),
            MergeResult::BegunAnew => self.begun_anew(at),
        }
    }

    fn phase_merged(&mut self, group: GroupAt, phase: usize, result: MergeResult, decisions: &mut Vec<Decision>) {
        if self.groups[group].phases[phase].state != PhaseState::Merging {
            return;
        }
        match result {
            MergeResult::Merged | MergeResult::Collected => {
                match self.groups[group].phases[phase].is_stale {
                    true => self.groups[group].phases[phase].open(),
                    false => self.groups[group].phases[phase].state = PhaseState::Merged,
                }
                for at in 0..self.lanes.len() {
                    let lane = &mut self.lanes[at];
                    if (lane.group, lane.phase) == (group, phase) && lane.state == LaneState::Integrated {
                        lane.state = LaneState::Closing(Closing::Finishing);
                        decisions.push(Decision::Finish { lane: at });
                    }
                }
            }
            MergeResult::TargetMoved => match self.groups[group].phases[phase].last {
                Some(last) if self.lanes[last].counts.moved >= MOST_MOVES => {
                    self.halt_phase(group, phase, moved_too_often(), false);
                }
                last => {
                    last.into_iter().for_each(|last| self.lanes[last].counts.moved += 1);
                    self.reopen_phase(group, phase);
                }
            },
            MergeResult::Blocked { reason } => self.halt_phase(group, phase, reason, false),
            MergeResult::Rework(why) => self.rework_phase(group, phase, why, decisions),
            MergeResult::Withdrawn { .. } | MergeResult::BegunAnew => self.reopen_phase(group, phase),
        }
    }

    /// What a gate or a merge refuses goes back to an agent first, within the reworks that are granted.
    pub(super) fn rework(&mut self, at: LaneAt, why: Rework, decisions: &mut Vec<Decision>) {
        let rework = self.limits.rework;
        let lane = &mut self.lanes[at];
        if lane.is_staged() {
            let issues = why.summary();
            decisions.push(Decision::Record { lane: at, what: Achievement::Overruled { why } });
            self.complete(at, StageResult::Failed { issues }, decisions);
        } else if lane.counts.reworks < rework {
            lane.counts.reworks += 1;
            lane.state = LaneState::Reworking { why: why.clone() };
            decisions.push(Decision::Rework { lane: at, why });
        } else {
            self.pause(at, after_reworks(&why.summary(), rework), decisions);
        }
    }

    /// A stage whose result no merge would take begins again, before the next stage judges what is not there.
    pub(super) fn rework_stage(&mut self, at: LaneAt, why: Rework, decisions: &mut Vec<Decision>) {
        let rework = self.limits.rework;
        let lane = &mut self.lanes[at];
        if lane.counts.reworks < rework {
            lane.counts.reworks += 1;
            lane.state = LaneState::Between;
            decisions.push(Decision::Rework { lane: at, why });
        } else {
            self.pause(at, after_reworks(&why.summary(), rework), decisions);
        }
    }

    pub(super) fn lane_approved(&mut self, at: LaneAt) {
        let lane = &mut self.lanes[at];
        if matches!(lane.state, LaneState::Closing(Closing::Approving { .. })) {
            lane.state = LaneState::Closing(Closing::Queued);
        }
    }
}

/// Why a gate says nothing about the work, in the words of the event that tells it.
pub fn cannot_judge(gate: &str, why: &str) -> String {
    format!("gate {gate} cannot judge: {why}")
}

/// A reason, and how often an agent has seen to it.
pub(super) fn after_reworks(why: &str, reworks: u32) -> String {
    match reworks {
        0 => format!("{why}; `reworks` is 0"),
        n => format!("{why}; reworked {}", times(n)),
    }
}

/// `once`, `twice`, `3 times`.
pub(super) fn times(n: u32) -> String {
    match n {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{n} times"),
    }
}
