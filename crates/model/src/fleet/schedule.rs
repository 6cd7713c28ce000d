//! What may begin, and when the run has come to its end.

use super::lane::{Closing, How, LaneState, Worker, WorkerState};
use super::{Approval, Decision, Fleet, GateOf, GateProgress, GroupAt, LaneAt, Mode, Now, Outcome};
use crate::proof::Proof;

impl Fleet {
    pub(super) fn schedule(&mut self, now: Now, decisions: &mut Vec<Decision>) {
        if self.ended {
            return;
        }
        if self.mode == Mode::Leaving {
            self.end(Outcome::Stopped, decisions);
            return;
        }
        for group in 0..self.groups.len() {
            self.close_phases(group, decisions);
        }
        self.start_what_may(now, decisions);
        self.record_halts(decisions);
        if !self.is_at_rest() {
            return;
        }
        match self.mode {
            Mode::Going if self.may_go_on() => {}
            Mode::Going => self.end_at_rest(decisions),
            Mode::Draining | Mode::Stopping | Mode::Leaving => self.end(self.stopped_outcome(), decisions),
        }
    }

    /// Closes phases whose lanes are done: gates, then a person's approval.
    fn close_phases(&mut self, at: GroupAt, decisions: &mut Vec<Decision>) {
        for phase_at in 0..self.groups[at].phases.len() {
            let is_open =
                |lane: &super::Lane| lane.group == at && lane.phase == phase_at && lane.state != LaneState::Done;
            let is_halted = self.groups[at].halted.is_some();
            let has_open = self.lanes.iter().any(is_open);
            let phase = &mut self.groups[at].phases[phase_at];
            if phase.closed {
                continue;
            }
            if has_open || is_halted || self.mode != Mode::Going {
                return;
            }
            if phase.gates.iter().any(|gate| gate.state == GateProgress::Running) {
                return;
            }
            if let Some(gate) = phase.gates.iter_mut().find(|gate| gate.state == GateProgress::Pending) {
                gate.state = GateProgress::Running;
                let gate = gate.name.clone();
                decisions.push(Decision::RunGate { of: GateOf::Phase(at, phase_at), gate });
                return;
            }
            match phase.approval {
                Approval::Needed => {
                    phase.approval = Approval::Asked;
                    decisions.push(Decision::AskApproval { group: at, phase: phase_at });
                    return;
                }
                Approval::Asked => return,
                Approval::NotNeeded | Approval::Given => {
                    phase.closed = true;
                    decisions.push(Decision::ClosePhase { group: at, phase: phase_at });
                }
            }
        }
    }

    fn start_what_may(&mut self, now: Now, decisions: &mut Vec<Decision>) {
        if self.mode != Mode::Going || self.parked_until.is_some() {
            return;
        }
        let mut ready: Vec<LaneAt> = (0..self.lanes.len()).filter(|at| self.may_start(*at)).collect();
        // What has begun goes on before anything new begins.
        ready.sort_by_key(|at| {
            let lane = &self.lanes[*at];
            (lane.state == LaneState::Queued, lane.priority, *at)
        });
        for at in ready {
            if self.active() >= self.limits.workers || self.not_before.is_some_and(|moment| now.steady < moment) {
                return;
            }
            self.not_before = None;
            self.start(at, now, decisions);
        }
    }

    fn start(&mut self, at: LaneAt, now: Now, decisions: &mut Vec<Decision>) {
        let lane = &mut self.lanes[at];
        if let LaneState::Dead { why, how } = &lane.state {
            // Nobody goes on with what was never there.
            lane.state = LaneState::Proving { why: why.clone(), how: *how };
            decisions.push(Decision::Prove { lane: at });
        } else {
            self.claim(at, How::Fresh, now, decisions);
        }
        if self.staggered > 0 {
            self.staggered -= 1;
            self.not_before = Some(now.steady.saturating_add(self.limits.stagger));
        }
    }

    fn claim(&mut self, at: LaneAt, how: How, now: Now, decisions: &mut Vec<Decision>) {
        let worker = Worker { how, since: now.steady, state: WorkerState::Spawning };
        self.lanes[at].state = LaneState::Working(worker);
        decisions.push(Decision::Claim { lane: at });
        decisions.push(match how {
            How::Fresh => Decision::Spawn { lane: at },
            How::Session | How::Brief => Decision::Resume { lane: at, how },
        });
    }

    /// What is recorded as done was looked for: the worker goes on, or is told first, or a person is.
    pub(super) fn proved(&mut self, at: LaneAt, proof: Proof, now: Now, decisions: &mut Vec<Decision>) {
        let LaneState::Proving { why, how } = self.lanes[at].state.clone() else { return };
        self.lanes[at].state = LaneState::Dead { why, how };
        // Meanwhile the run may have been ended, or its group halted; whoever goes on later looks again.
        if self.mode != Mode::Going || self.parked_until.is_some() || !self.may_start(at) {
            return;
        }
        match proof {
            Proof::Holds => self.claim(at, how, now, decisions),
            Proof::Corrected(correction) => {
                decisions.push(Decision::Correct { lane: at, correction });
                self.claim(at, how, now, decisions);
            }
            Proof::Refused { reasons } => self.pause(at, reasons.join("; "), decisions),
        }
    }

    /// Whether a lane could begin if there were room.
    pub fn may_start(&self, at: LaneAt) -> bool {
        let lane = &self.lanes[at];
        let group = &self.groups[lane.group];
        let is_waiting = match lane.state {
            LaneState::Queued | LaneState::Between | LaneState::Dead { .. } => true,
            LaneState::Working(_)
            | LaneState::Proving { .. }
            | LaneState::Parked { .. }
            | LaneState::Closing(_)
            | LaneState::Done
            | LaneState::Paused { .. } => false,
        };
        is_waiting
            && group.halted.is_none()
            && group.phases.iter().take(lane.phase).all(|phase| phase.closed)
            && lane.depends_on.iter().all(|before| self.lanes[*before].state == LaneState::Done)
    }

    /// A halt is recorded when no sibling runs any more.
    fn record_halts(&mut self, decisions: &mut Vec<Decision>) {
        for at in 0..self.groups.len() {
            let runs = self.lanes.iter().filter(|lane| lane.group == at).any(|lane| {
                matches!(lane.state, LaneState::Working(_) | LaneState::Closing(_) | LaneState::Proving { .. })
            });
            if let Some(halt) = self.groups[at].halted.as_mut().filter(|halt| !halt.recorded && !runs) {
                halt.recorded = true;
                decisions.push(Decision::Halt { group: at, reason: halt.reason.clone() });
            }
        }
    }

    /// Whether nothing runs: no worker, no gate, no merge.
    fn is_at_rest(&self) -> bool {
        let lanes = self.lanes.iter().all(|lane| match &lane.state {
            LaneState::Working(_) | LaneState::Proving { .. } => false,
            LaneState::Closing(Closing::Gates { .. } | Closing::Merging | Closing::Finishing) => false,
            LaneState::Queued
            | LaneState::Between
            | LaneState::Dead { .. }
            | LaneState::Parked { .. }
            | LaneState::Done
            | LaneState::Paused { .. } => true,
        });
        let gates = self.groups.iter().flat_map(|group| &group.phases).flat_map(|phase| &phase.gates);
        lanes && gates.into_iter().all(|gate| gate.state != GateProgress::Running)
    }

    /// Whether something will begin without anybody doing anything.
    fn may_go_on(&self) -> bool {
        let waits_for_limit = self
            .lanes
            .iter()
            .any(|lane| matches!(lane.state, LaneState::Parked { .. }) && self.groups[lane.group].halted.is_none());
        waits_for_limit || (0..self.lanes.len()).any(|at| self.may_start(at))
    }

    /// Nothing runs and nothing may begin: all is done, or what is left is told why it waits.
    fn end_at_rest(&mut self, decisions: &mut Vec<Decision>) {
        let is_done = self.lanes.iter().all(|lane| lane.state == LaneState::Done)
            && self.groups.iter().flat_map(|group| &group.phases).all(|phase| phase.closed);
        if is_done {
            return self.end(Outcome::Done, decisions);
        }
        for at in 0..self.lanes.len() {
            let lane = &self.lanes[at];
            let group = &self.groups[lane.group];
            // A group that is halted or waits for a person is paused as a whole.
            if lane.state != LaneState::Queued || group.halted.is_some() || lane.depends_on.is_empty() {
                continue;
            }
            let open = lane.depends_on.iter().filter(|before| self.lanes[**before].state != LaneState::Done);
            let open: Vec<String> = open
                .map(|before| format!("{} ({})", self.lanes[*before].name, self.lanes[*before].state.word()))
                .collect();
            if !open.is_empty() {
                self.pause(at, format!("waits for {}", open.join(", ")), decisions);
            }
        }
        self.record_halts(decisions);
        self.end(Outcome::Paused, decisions);
    }

    fn stopped_outcome(&self) -> Outcome {
        let lanes = &self.lanes;
        match lanes.iter().all(|lane| lane.state == LaneState::Done) {
            true => Outcome::Done,
            false if lanes.iter().all(|lane| lane.state.is_settled()) => Outcome::Paused,
            false => Outcome::Stopped,
        }
    }

    fn end(&mut self, outcome: Outcome, decisions: &mut Vec<Decision>) {
        self.ended = true;
        decisions.push(Decision::EndRun { outcome });
    }
}
