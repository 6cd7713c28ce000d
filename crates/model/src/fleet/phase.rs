//! Groups of lanes and their phases: what is collected, judged and closed together.

use super::lane::{Closing, How, LaneState, WorkerState};
use super::{Decision, Fleet, GateOf, GroupAt, LaneAt, MergeOf, Mode};

/// Lanes that belong together: the stories of a pipeline, the workstreams of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The unit that all lanes are part of, or a name for lanes that are units of their own.
    pub name: String,
    /// A phase begins when the one before it is closed.
    pub phases: Vec<Phase>,
    /// Whether a person has to agree before any work begins.
    pub begin: Approval,
    /// Whether the group's unit is recorded as complete when its last phase is closed.
    pub completion: Completion,
    /// Why no lane of the group is started any more; running ones are waited for.
    pub halted: Option<Halt>,
}

/// How far the record of a complete unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// Its lanes are units of their own.
    NotNeeded,
    /// To be recorded after the last phase.
    Pending,
    /// Being recorded.
    Recording,
    /// Recorded.
    Recorded,
}

/// A group that starts no more work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Halt {
    /// Why.
    pub reason: String,
    /// The lane that caused it, when one did.
    pub lane: Option<LaneAt>,
    /// Whether work failed; otherwise it only needs a person.
    pub is_failure: bool,
    /// Whether it has been recorded, which is done when no sibling runs any more.
    pub recorded: bool,
}

/// A phase of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phase {
    /// What a person calls it.
    pub name: String,
    /// The gates that close it.
    pub gates: Vec<PhaseGate>,
    /// Whether a person has to agree before the next phase begins.
    pub approval: Approval,
    /// How far it is.
    pub state: PhaseState,
    /// The lane that joined it last: it reworks what a gate of the phase refuses.
    pub last: Option<LaneAt>,
    /// Whether work was added while it was being judged: what is judged then is not all of it.
    pub is_stale: bool,
}

/// How far a phase is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhaseState {
    /// Its lanes are at work, or wait for their turn.
    Open,
    /// Its collected work is being merged with the base in a scratch worktree.
    Preparing,
    /// Its command gates judge that tree.
    Judging,
    /// The base is being moved to that tree.
    Merging,
    /// The work is on the base; what people and agents judge is still open.
    Merged,
    /// Closed: the next one may begin.
    Closed,
}

/// A gate of a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseGate {
    /// Its name.
    pub name: String,
    /// The step of the unit that it judges, when it is not all of the phase.
    pub step: Option<String>,
    /// When it is judged.
    pub kind: GateKind,
    /// How far it is.
    pub state: GateProgress,
}

/// When and by what a phase's gate is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateKind {
    /// By a command, on the merged tree, before the base moves.
    Command,
    /// By something else (a person, a sync point), after the work is on the base.
    Later,
}

/// How far a gate is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateProgress {
    /// Not run yet.
    Pending,
    /// Being run.
    Running,
    /// Passed.
    Passed,
    /// Failed.
    Failed,
}

/// Whether a person has to agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// Nothing is asked.
    NotNeeded,
    /// A person will be asked.
    Needed,
    /// A person has been asked.
    Asked,
    /// A person agreed.
    Given,
}

impl Approval {
    /// Whether work may go on.
    pub fn is_settled(self) -> bool {
        match self {
            Approval::NotNeeded | Approval::Given => true,
            Approval::Needed | Approval::Asked => false,
        }
    }
}

impl Phase {
    /// Whether its lanes are collected on a branch of their own, because command gates judge them together before
    /// the base moves.
    pub fn collects(&self) -> bool {
        self.gates.iter().any(|gate| gate.kind == GateKind::Command)
    }

    /// Whether it is closed.
    pub fn is_closed(&self) -> bool {
        self.state == PhaseState::Closed
    }

    /// Begins anew: all of its gates are judged again.
    pub(super) fn open(&mut self) {
        (self.state, self.is_stale) = (PhaseState::Open, false);
        for gate in &mut self.gates {
            gate.state = GateProgress::Pending;
        }
    }

    fn next_gate(&mut self, kind: GateKind) -> Option<&mut PhaseGate> {
        self.gates.iter_mut().find(|gate| gate.kind == kind && gate.state == GateProgress::Pending)
    }

    pub(super) fn is_running_a_gate(&self) -> bool {
        self.gates.iter().any(|gate| gate.state == GateProgress::Running)
    }
}

impl Group {
    /// What tells a phase from all others of the group: its name, and how many of that name come before it.
    pub fn phase_key(&self, place: usize) -> String {
        let name = &self.phases[place].name;
        let before = self.phases.iter().take(place).filter(|phase| phase.name == *name).count();
        format!("{before} {name}")
    }

    /// Whether it waits for a person's approval: before its work begins, or after a phase.
    pub fn is_asked(&self) -> bool {
        self.asked().is_some()
    }

    /// What it waits for a person's approval of: the place of a phase, or nothing inside for all of its work.
    pub fn asked(&self) -> Option<Option<usize>> {
        match self.begin {
            Approval::Asked => Some(None),
            _ => self.phases.iter().position(|phase| phase.approval == Approval::Asked).map(Some),
        }
    }
}

impl Fleet {
    /// Moves the phases of a group on, one after the other, as far as nothing has to be waited for.
    pub(super) fn advance_group(&mut self, at: GroupAt, decisions: &mut Vec<Decision>) {
        for phase in 0..self.groups[at].phases.len() {
            if self.groups[at].phases[phase].state == PhaseState::Judging {
                self.judge_phase(at, phase, decisions);
            }
        }
        // A run that is to end after its workers still judges and records what they completed.
        let are_done = || self.lanes.iter().filter(|lane| lane.group == at).all(|lane| lane.state == LaneState::Done);
        let goes_on = match self.mode {
            Mode::Going => true,
            Mode::Draining => are_done(),
            Mode::Stopping | Mode::Leaving => false,
        };
        if self.groups[at].halted.is_some() || !goes_on {
            return;
        }
        if self.groups[at].begin == Approval::Needed {
            self.groups[at].begin = Approval::Asked;
            decisions.push(Decision::AskApproval { group: at, phase: None });
        }
        if !self.groups[at].begin.is_settled() {
            return;
        }
        for phase in 0..self.groups[at].phases.len() {
            if !self.groups[at].phases[phase].is_closed() && !self.advance_phase(at, phase, decisions) {
                return;
            }
        }
        if self.groups[at].completion == Completion::Pending {
            self.groups[at].completion = Completion::Recording;
            decisions.push(Decision::Complete { group: at });
        }
    }

    /// Whether the phase is closed now.
    fn advance_phase(&mut self, at: GroupAt, phase_at: usize, decisions: &mut Vec<Decision>) -> bool {
        let of_phase = |lane: &&super::Lane| lane.group == at && lane.phase == phase_at;
        let are_collected = self
            .lanes
            .iter()
            .filter(of_phase)
            .all(|lane| matches!(lane.state, LaneState::Integrated | LaneState::Done));
        let are_done = self.lanes.iter().filter(of_phase).all(|lane| lane.state == LaneState::Done);
        // The user may have removed the gates since.
        let is_collected = self.lanes.iter().filter(of_phase).any(|lane| lane.state == LaneState::Integrated);
        let is_free = self.is_merge_free();
        let phase = &mut self.groups[at].phases[phase_at];
        match phase.state {
            PhaseState::Open if !are_collected => false,
            PhaseState::Open if phase.collects() || is_collected => {
                if is_free {
                    phase.state = PhaseState::Preparing;
                    decisions.push(Decision::Prepare { of: MergeOf::Phase(at, phase_at) });
                }
                false
            }
            PhaseState::Open => {
                phase.state = PhaseState::Merged;
                self.advance_phase(at, phase_at, decisions)
            }
            PhaseState::Preparing | PhaseState::Judging | PhaseState::Merging => false,
            PhaseState::Merged if !are_done || phase.is_running_a_gate() => false,
            PhaseState::Merged => {
                if let Some(gate) = phase.next_gate(GateKind::Later) {
                    gate.state = GateProgress::Running;
                    let gate = gate.name.clone();
                    decisions.push(Decision::RunGate { of: GateOf::Phase(at, phase_at), gate });
                    return false;
                }
                match phase.approval {
                    Approval::Needed => {
                        phase.approval = Approval::Asked;
                        decisions.push(Decision::AskApproval { group: at, phase: Some(phase_at) });
                        false
                    }
                    Approval::Asked => false,
                    Approval::NotNeeded | Approval::Given => {
                        phase.state = PhaseState::Closed;
                        decisions.push(Decision::ClosePhase { group: at, phase: phase_at });
                        true
                    }
                }
            }
            PhaseState::Closed => true,
        }
    }

    /// Runs the next command gate of a phase on its prepared tree; when all have passed, the base moves.
    fn judge_phase(&mut self, at: GroupAt, phase_at: usize, decisions: &mut Vec<Decision>) {
        if self.groups[at].phases[phase_at].is_running_a_gate() {
            return;
        }
        if matches!(self.mode, Mode::Stopping | Mode::Leaving) {
            return self.reopen_phase(at, phase_at);
        }
        let phase = &mut self.groups[at].phases[phase_at];
        if let Some(gate) = phase.next_gate(GateKind::Command) {
            gate.state = GateProgress::Running;
            let gate = gate.name.clone();
            decisions.push(Decision::RunGate { of: GateOf::Phase(at, phase_at), gate });
        } else {
            phase.state = PhaseState::Merging;
            decisions.push(Decision::Merge { of: MergeOf::Phase(at, phase_at) });
        }
    }

    /// A phase's merge was taken back or refused: its gates judge the next tree anew.
    pub(super) fn reopen_phase(&mut self, at: GroupAt, phase: usize) {
        let phase = &mut self.groups[at].phases[phase];
        (phase.state, phase.is_stale) = (PhaseState::Open, false);
        for gate in phase.gates.iter_mut().filter(|gate| gate.kind == GateKind::Command) {
            gate.state = GateProgress::Pending;
        }
    }

    /// Takes in work that a person added; its phase is judged again, with all that it has become. It begins with the next
    /// event.
    pub fn add_lane(&mut self, lane: super::Lane) {
        self.open_phase(lane.group, lane.phase);
        self.lanes.push(lane);
    }

    /// A lane without a worker needs none any more.
    pub(super) fn lane_settled(&mut self, at: LaneAt) {
        let is_free = match &self.lanes[at].state {
            LaneState::Queued
            | LaneState::Between
            | LaneState::Dead { .. }
            | LaneState::Reworking { .. }
            | LaneState::Parked { .. } => true,
            LaneState::Paused { .. } => true,
            LaneState::Working(worker) => worker.state == WorkerState::Spawning,
            LaneState::Proving { .. } | LaneState::Closing(_) | LaneState::Integrated | LaneState::Done => false,
        };
        if is_free {
            self.lanes[at].state = LaneState::Done;
            self.lift_halt(at);
        }
    }

    /// A group is not halted any more when the last of its lanes is not paused any more that halted it.
    fn lift_halt(&mut self, at: LaneAt) {
        let (group, halts) = (self.lanes[at].group, self.lanes[at].halts_group);
        let is_paused = |lane: &super::Lane| lane.group == group && matches!(lane.state, LaneState::Paused { .. });
        let is_own = |halt: &Halt| halt.lane.is_some() || halt.is_failure;
        if halts && !self.lanes.iter().any(is_paused) && self.groups[group].halted.as_ref().is_some_and(is_own) {
            self.groups[group].halted = None;
        }
    }

    /// A person took away what a group was halted for: its gates judge again.
    pub(super) fn group_freed(&mut self, group: GroupAt) {
        let group = &mut self.groups[group];
        if group.halted.take().is_none() {
            return;
        }
        for gate in group.phases.iter_mut().flat_map(|phase| &mut phase.gates) {
            if gate.state == GateProgress::Failed {
                gate.state = GateProgress::Pending;
            }
        }
        self.ended = false;
    }

    /// A lane that was done, or whose work was collected, is reopened; its phase is judged again, with the new work.
    pub(super) fn lane_reopened(&mut self, at: LaneAt) {
        let lane = &mut self.lanes[at];
        if !matches!(lane.state, LaneState::Done | LaneState::Integrated) {
            return;
        }
        lane.grant_anew();
        lane.state = LaneState::Dead { why: "a person opened it again".to_owned(), how: How::Session };
        let (group, phase) = (lane.group, lane.phase);
        self.open_phase(group, phase);
        self.ended = false;
    }

    /// Work that was complete is left out. Where it was collected already, the others of its phase are collected again,
    /// without it.
    pub(super) fn lane_left_out(&mut self, at: LaneAt) {
        let lane = &mut self.lanes[at];
        let (group, phase) = (lane.group, lane.phase);
        match lane.state {
            LaneState::Closing(_) => lane.state = LaneState::Done,
            LaneState::Integrated => {
                lane.state = LaneState::Done;
                self.reopen_phase(group, phase);
                for lane in self.lanes.iter_mut().filter(|lane| (lane.group, lane.phase) == (group, phase)) {
                    if lane.state == LaneState::Integrated {
                        lane.state = LaneState::Closing(Closing::Queued);
                    }
                }
            }
            _ => {}
        }
    }

    fn open_phase(&mut self, group: GroupAt, phase: usize) {
        if let Some(known) = self.groups[group].phases.get_mut(phase) {
            match known.state {
                // What is under way comes to its end first, and then counts for nothing.
                PhaseState::Preparing | PhaseState::Judging | PhaseState::Merging => known.is_stale = true,
                PhaseState::Open | PhaseState::Merged | PhaseState::Closed => known.open(),
            }
        }
        if self.groups[group].completion == Completion::Recorded {
            self.groups[group].completion = Completion::Pending;
        }
    }

    /// A paused lane continues, and its group with it when no other lane of it is paused.
    pub(super) fn lane_freed(&mut self, at: LaneAt) {
        let lane = &mut self.lanes[at];
        if !matches!(lane.state, LaneState::Paused { .. }) {
            return;
        }
        lane.grant_anew();
        lane.state = LaneState::Dead { why: "freed by the user".to_owned(), how: How::Session };
        let (group, halts) = (lane.group, lane.halts_group);
        let is_paused = |lane: &super::Lane| lane.group == group && matches!(lane.state, LaneState::Paused { .. });
        if halts && !self.lanes.iter().any(is_paused) {
            self.groups[group].halted = None;
        }
    }

    pub(super) fn complete_ended(&mut self, group: GroupAt, result: Result<(), String>) {
        match result {
            Ok(()) => self.groups[group].completion = Completion::Recorded,
            Err(reason) => {
                self.groups[group].completion = Completion::Pending;
                let halt = Halt { reason, lane: None, is_failure: false, recorded: false };
                self.groups[group].halted.get_or_insert(halt);
            }
        }
    }

    pub(super) fn approved(&mut self, group: GroupAt) {
        let group = &mut self.groups[group];
        if group.begin == Approval::Asked {
            group.begin = Approval::Given;
            return;
        }
        if let Some(phase) = group.phases.iter_mut().find(|phase| phase.approval == Approval::Asked) {
            phase.approval = Approval::Given;
        }
    }
}
