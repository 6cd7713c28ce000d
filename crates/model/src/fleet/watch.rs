//! Signs of life, and what follows from their absence. Death needs proof: an exit, or silence of every sign and a
//! question that nobody answered.

use std::time::Duration;

use super::lane::{LaneState, Worker, WorkerState};
use super::{Decision, Fleet, How, Lane, LaneAt, Now, Standing, StopReason};
use crate::Time;

impl Fleet {
    pub(super) fn started(&mut self, at: LaneAt, now: Now) {
        if let Some(worker) = self.worker(at)
            && worker.state == WorkerState::Spawning
        {
            worker.state = WorkerState::Running { last_sign: now.steady };
        }
    }

    pub(super) fn start_failed(&mut self, at: LaneAt, message: &str, decisions: &mut Vec<Decision>) {
        if self.worker(at).is_some() {
            self.pause_for_person(at, format!("cannot start its worker: {message}"), decisions);
        }
    }

    /// The lane is where it was before its worker was to begin.
    pub(super) fn not_started(&mut self, at: LaneAt, how: How) {
        if self.worker(at).is_some() {
            self.lanes[at].state = match how {
                How::Fresh => LaneState::Between,
                How::Session | How::Brief => LaneState::Dead { why: "the run was stopped".to_owned(), how },
            };
        }
    }

    /// A sign answers every question.
    pub(super) fn sign(&mut self, at: LaneAt, now: Now) {
        let Some(worker) = self.worker(at) else { return };
        match &mut worker.state {
            WorkerState::Spawning | WorkerState::Silent { .. } | WorkerState::Running { .. } => {
                worker.state = WorkerState::Running { last_sign: now.steady };
            }
            // Whoever is idle, waits or is being ended stays that, whatever it still prints.
            WorkerState::Idle { .. } | WorkerState::Limited { .. } | WorkerState::Stopping { .. } => {}
        }
    }

    pub(super) fn changed(&mut self, at: LaneAt, standing: &Standing, now: Now) {
        self.sign(at, now);
        let Some(worker) = self.worker(at) else { return };
        match (standing, &worker.state) {
            (_, WorkerState::Stopping { .. }) => {}
            (Standing::Complete(_) | Standing::Halted { .. }, WorkerState::Idle { .. }) => {}
            (Standing::Complete(_) | Standing::Halted { .. }, _) => {
                worker.state = WorkerState::Idle { since: now.steady };
            }
            // A person took the blocker away, or a verdict back: the worker has something to do again.
            (_, WorkerState::Idle { .. }) => worker.state = WorkerState::Running { last_sign: now.steady },
            (Standing::Open | Standing::Incomplete { .. } | Standing::Unproved { .. } | Standing::Misplaced(_), _) => {}
        }
    }

    pub(super) fn limited(&mut self, at: LaneAt, until: Time, account: bool, now: Now) {
        let until = self.bounded(at, until, now);
        if let (true, LaneState::Working(worker)) = (account, &self.lanes[at].state) {
            let account = worker.account.clone();
            self.park_account(&account, until);
        }
        if let Some(worker) = self.worker(at)
            && !matches!(worker.state, WorkerState::Stopping { .. })
        {
            worker.state = WorkerState::Limited { until };
        }
    }

    pub(super) fn park_account(&mut self, account: &str, until: Time) {
        let known = self.parked.entry(account.to_owned()).or_insert(until);
        *known = (*known).max(until);
    }

    /// Looks at every worker whose time has come.
    pub(super) fn watch(&mut self, now: Now, decisions: &mut Vec<Decision>) {
        self.parked.retain(|_, until| *until > now.time);
        // A moment that has passed is no timer any more.
        self.not_before = self.not_before.filter(|moment| *moment > now.steady);
        for lane in &mut self.lanes {
            lane.not_before = lane.not_before.filter(|moment| *moment > now.steady);
        }
        for at in 0..self.lanes.len() {
            let limits = self.limits.clone();
            let stage = self.lanes[at].stage;
            if let LaneState::Parked { until } = self.lanes[at].state
                && until <= now.time
            {
                let why = "a limit has ended".to_owned();
                self.lanes[at].state = LaneState::Dead { why, how: How::Session };
                self.staggered += 1;
            }
            let Some(worker) = self.worker(at) else { continue };
            let past = |since: Duration, span: Duration| now.steady.saturating_sub(since) >= span;
            match worker.state {
                WorkerState::Stopping { .. } => {}
                _ if past(worker.since, limits.longest) => stop(worker, at, StopReason::TooLong, decisions),
                WorkerState::Running { last_sign } if past(last_sign, limits.patience(stage)) => {
                    worker.state = WorkerState::Silent { last_sign, asked: now.steady };
                    decisions.push(Decision::Ask { lane: at });
                }
                WorkerState::Silent { asked, .. } if past(asked, limits.answer) => {
                    stop(worker, at, StopReason::Silent, decisions);
                }
                WorkerState::Idle { since } if past(since, limits.linger) => {
                    stop(worker, at, StopReason::Lingering, decisions);
                }
                WorkerState::Limited { until } if until <= now.time => {
                    worker.state = WorkerState::Running { last_sign: now.steady };
                }
                WorkerState::Spawning
                | WorkerState::Running { .. }
                | WorkerState::Silent { .. }
                | WorkerState::Idle { .. }
                | WorkerState::Limited { .. } => {}
            }
        }
    }

    /// When a lane is to be looked at by the steady clock.
    pub(super) fn deadline(&self, lane: &Lane) -> Option<Duration> {
        let LaneState::Working(worker) = &lane.state else { return None };
        let longest = worker.since.saturating_add(self.limits.longest);
        let own = match worker.state {
            WorkerState::Running { last_sign } => last_sign.saturating_add(self.limits.patience(lane.stage)),
            WorkerState::Silent { asked, .. } => asked.saturating_add(self.limits.answer),
            WorkerState::Idle { since } => since.saturating_add(self.limits.linger),
            WorkerState::Spawning | WorkerState::Limited { .. } => longest,
            WorkerState::Stopping { .. } => return None,
        };
        Some(own.min(longest))
    }

    /// Nobody can give a sign while the machine sleeps.
    pub(super) fn woke(&mut self, now: Now) {
        for lane in &mut self.lanes {
            let LaneState::Working(worker) = &mut lane.state else { continue };
            if let WorkerState::Running { .. } | WorkerState::Silent { .. } = worker.state {
                worker.state = WorkerState::Running { last_sign: now.steady };
            }
        }
    }

    /// Stops a lane's worker, unless it has none or is being stopped already.
    pub(super) fn stop_worker(&mut self, at: LaneAt, why: StopReason, decisions: &mut Vec<Decision>) {
        if let Some(worker) = self.worker(at)
            && !matches!(worker.state, WorkerState::Stopping { .. })
        {
            stop(worker, at, why, decisions);
        }
    }

    fn worker(&mut self, at: LaneAt) -> Option<&mut Worker> {
        match &mut self.lanes[at].state {
            LaneState::Working(worker) => Some(worker),
            LaneState::Queued
            | LaneState::Between
            | LaneState::Dead { .. }
            | LaneState::Proving { .. }
            | LaneState::Reworking { .. }
            | LaneState::Parked { .. }
            | LaneState::Closing(_)
            | LaneState::Integrated
            | LaneState::Done
            | LaneState::Paused { .. } => None,
        }
    }
}

fn stop(worker: &mut Worker, at: LaneAt, why: StopReason, decisions: &mut Vec<Decision>) {
    worker.state = WorkerState::Stopping { why };
    decisions.push(Decision::Stop { lane: at, why });
}
