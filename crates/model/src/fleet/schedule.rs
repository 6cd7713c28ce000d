//! What may begin, and when the run has come to its end.

use super::lane::{Closing, How, Lane, LaneState, Worker, WorkerState};
use super::phase::{Completion, PhaseState};
use super::{Decision, Fleet, LaneAt, Mode, Now, Outcome};
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
            self.advance_group(group, decisions);
        }
        self.start_merges(decisions);
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

    fn start_what_may(&mut self, now: Now, decisions: &mut Vec<Decision>) {
        if self.mode != Mode::Going {
            return;
        }
        let is_due = |at: &LaneAt| self.lanes[*at].not_before.is_none_or(|moment| moment <= now.steady);
        let has_account = |at: &LaneAt| self.account_of(&self.lanes[*at]).is_some();
        let mut ready: Vec<LaneAt> =
            (0..self.lanes.len()).filter(|at| self.may_start(*at) && is_due(at) && has_account(at)).collect();
        // What has begun goes on before anything new begins.
        ready.sort_by_key(|at| {
            let lane = &self.lanes[*at];
            (lane.state == LaneState::Queued, lane.priority, *at)
        });
        for at in ready {
            if self.active() + self.strangers >= self.limits.workers
                || self.not_before.is_some_and(|moment| now.steady < moment)
            {
                return;
            }
            self.not_before = None;
            self.start(at, now, decisions);
        }
    }

    fn start(&mut self, at: LaneAt, now: Now, decisions: &mut Vec<Decision>) {
        match self.lanes[at].state.clone() {
            // No worker goes on with what was never there.
            LaneState::Dead { why, how } => {
                self.lanes[at].state = LaneState::Proving { why, how };
                decisions.push(Decision::Prove { lane: at });
            }
            LaneState::Reworking { .. } => self.claim(at, How::Session, now, decisions),
            _ => self.claim(at, How::Fresh, now, decisions),
        }
        if self.staggered > 0 {
            self.staggered -= 1;
            self.not_before = Some(now.steady.saturating_add(self.limits.stagger));
        }
    }

    fn claim(&mut self, at: LaneAt, how: How, now: Now, decisions: &mut Vec<Decision>) {
        let account = self.account_of(&self.lanes[at]).unwrap_or_default().to_owned();
        let worker = Worker { how, account, since: now.steady, state: WorkerState::Spawning };
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
        if self.mode != Mode::Going || self.account_of(&self.lanes[at]).is_none() || !self.may_start(at) {
            return;
        }
        match proof {
            Proof::Holds => self.claim(at, how, now, decisions),
            Proof::Corrected(correction) => {
                decisions.push(Decision::Correct { lane: at, correction });
                self.claim(at, how, now, decisions);
            }
            Proof::Refused { reasons } => self.pause_for_person(at, reasons.join("; "), decisions),
        }
    }

    /// Whether a lane could begin if there were room.
    pub fn may_start(&self, at: LaneAt) -> bool {
        let lane = &self.lanes[at];
        let group = &self.groups[lane.group];
        lane.state.is_startable()
            && group.halted.is_none()
            && group.begin.is_settled()
            && group.phases.iter().take(lane.phase).all(super::Phase::is_closed)
            && lane.depends_on.iter().all(|before| self.is_ready_for(at, *before))
    }

    /// Whether what a lane waits for is done. Within one phase it is enough that it is collected: both work on the
    /// branch of that phase.
    fn is_ready_for(&self, at: LaneAt, before: LaneAt) -> bool {
        let (lane, before) = (&self.lanes[at], &self.lanes[before]);
        let is_beside = (lane.group, lane.phase) == (before.group, before.phase);
        before.state == LaneState::Done || (is_beside && before.state == LaneState::Integrated)
    }

    /// A halt is recorded when no sibling runs any more.
    fn record_halts(&mut self, decisions: &mut Vec<Decision>) {
        for at in 0..self.groups.len() {
            let runs = self.lanes.iter().filter(|lane| lane.group == at).any(|lane| match &lane.state {
                LaneState::Working(_) | LaneState::Proving { .. } => true,
                LaneState::Closing(closing) => !matches!(closing, Closing::Approving { .. }),
                _ => false,
            });
            if let Some(halt) = self.groups[at].halted.as_mut().filter(|halt| !halt.recorded && !runs) {
                halt.recorded = true;
                let (reason, is_failure) = (halt.reason.clone(), halt.is_failure);
                decisions.push(Decision::Halt { group: at, reason, is_failure });
            }
        }
    }

    /// Whether nothing runs: no worker, no gate, no merge.
    fn is_at_rest(&self) -> bool {
        let is_stopping = matches!(self.mode, Mode::Stopping | Mode::Leaving);
        let lanes = self.lanes.iter().all(|lane| match &lane.state {
            LaneState::Working(_) | LaneState::Proving { .. } => false,
            LaneState::Closing(Closing::Approving { .. }) => true,
            LaneState::Closing(Closing::Queued) => is_stopping,
            LaneState::Closing(Closing::Preparing | Closing::Gates { .. } | Closing::Merging | Closing::Finishing) => {
                false
            }
            LaneState::Queued
            | LaneState::Between
            | LaneState::Dead { .. }
            | LaneState::Reworking { .. }
            | LaneState::Parked { .. }
            | LaneState::Integrated
            | LaneState::Done
            | LaneState::Paused { .. } => true,
        });
        let groups = self.groups.iter().all(|group| {
            let phases = group.phases.iter().all(|phase| match phase.state {
                PhaseState::Preparing | PhaseState::Judging | PhaseState::Merging => false,
                PhaseState::Open | PhaseState::Merged | PhaseState::Closed => !phase.is_running_a_gate(),
            });
            phases && group.completion != Completion::Recording
        });
        lanes && groups
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
        if self.is_all_done() {
            return self.end(Outcome::Done, decisions);
        }
        for at in 0..self.lanes.len() {
            let lane = &self.lanes[at];
            // Steps of one unit are paused with the unit; a lane that is a unit of its own is told why it waits.
            if lane.state != LaneState::Queued || lane.halts_group || lane.depends_on.is_empty() {
                continue;
            }
            let open = lane.depends_on.iter().filter(|before| self.lanes[**before].state != LaneState::Done);
            let open: Vec<String> = open
                .map(|before| format!("{} ({})", self.lanes[*before].name, self.lanes[*before].state.word()))
                .collect();
            if !open.is_empty() {
                self.pause_for_person(at, format!("waits for {}", open.join(", ")), decisions);
            }
        }
        self.record_halts(decisions);
        self.end(Outcome::Paused, decisions);
    }

    fn stopped_outcome(&self) -> Outcome {
        let is_paused = |lane: &Lane| matches!(lane.state, LaneState::Paused { .. });
        let has_paused = self.lanes.iter().any(is_paused) || self.groups.iter().any(|group| group.halted.is_some());
        match self.is_all_done() {
            true => Outcome::Done,
            false if has_paused && self.lanes.iter().all(|lane| lane.state.is_settled()) => Outcome::Paused,
            false => Outcome::Stopped,
        }
    }

    /// Whether every lane is done, every phase is judged and closed, and every unit is recorded as complete.
    fn is_all_done(&self) -> bool {
        let is_closed = |group: &super::Group| {
            group.phases.iter().all(super::Phase::is_closed)
                && matches!(group.completion, Completion::NotNeeded | Completion::Recorded)
        };
        self.lanes.iter().all(|lane| lane.state == LaneState::Done) && self.groups.iter().all(is_closed)
    }

    fn end(&mut self, outcome: Outcome, decisions: &mut Vec<Decision>) {
        self.ended = true;
        decisions.push(Decision::EndRun { outcome });
    }
}
