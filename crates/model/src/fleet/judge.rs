//! What follows when a worker is gone: from how it ended and what its unit's documents say.

use super::lane::{Closing, How, LaneState, Worker, WorkerState};
use super::{Achievement, Decision, End, Fleet, LaneAt, Now, StopReason};

/// What a unit's documents say about the stage that a worker was started for.
#[derive(Debug, Clone, PartialEq)]
pub enum Standing {
    /// It is not complete.
    Open,
    /// It is complete.
    Complete(StageResult),
    /// It is said to be complete, and what it names as made is not there.
    Unproved {
        /// What is not there.
        missing: Vec<String>,
    },
    /// The unit says that it cannot go on: blocked, paused, failed.
    Halted {
        /// Why.
        reason: String,
    },
}

/// What came of a stage.
#[derive(Debug, Clone, PartialEq)]
pub enum StageResult {
    /// Stage 0: tasks are planned.
    Planned {
        /// From 0 to 4; below 2 is an error.
        score: f64,
    },
    /// Stage 1: the story is ready.
    Go {
        /// From 1 to 10.
        readiness: f64,
    },
    /// Stage 1: the story is not ready.
    NoGo {
        /// Why.
        reason: String,
    },
    /// Stage 2: all tasks are done.
    Executed,
    /// Stage 3: PASS, CONCERNS or WAIVED.
    Passed {
        /// The word.
        word: String,
        /// From 0 to 100.
        score: Option<f64>,
    },
    /// Stage 3: FAIL.
    Failed {
        /// What is wrong.
        issues: String,
    },
    /// Where a dialect has no stages: all of it is done.
    Done,
    /// The worker itself went on to a later stage.
    Moved {
        /// Which.
        to: u8,
    },
}

impl Fleet {
    pub(super) fn exited(
        &mut self,
        at: LaneAt,
        end: &End,
        standing: &Standing,
        now: Now,
        decisions: &mut Vec<Decision>,
    ) {
        let LaneState::Working(worker) = &self.lanes[at].state else { return };
        let worker = worker.clone();
        match (standing, end) {
            (Standing::Complete(result), _) => self.complete(at, result.clone(), decisions),
            (Standing::Halted { reason }, _) => self.pause(at, reason.clone(), decisions),
            (Standing::Open | Standing::Unproved { .. }, End::Limited { until, account }) => {
                if *account {
                    self.park_fleet(*until);
                }
                self.lanes[at].state = LaneState::Parked { until: *until };
                decisions.push(Decision::Park { lane: at, until: *until });
            }
            // The second half of one recovery, not another death.
            (Standing::Open | Standing::Unproved { .. }, End::RefusedResume) => {
                self.lanes[at].state = LaneState::Dead { why: "its session was refused".to_owned(), how: How::Brief };
            }
            (Standing::Open, End::Exited(_) | End::Killed(_) | End::Vanished) => {
                self.died(at, &worker, death(&worker, end, now), decisions);
            }
            // Whoever calls done what is not there has not done it.
            (Standing::Unproved { missing }, End::Exited(_) | End::Killed(_) | End::Vanished) => {
                self.died(at, &worker, lie(missing), decisions);
            }
        }
    }

    fn died(&mut self, at: LaneAt, worker: &Worker, why: String, decisions: &mut Vec<Decision>) {
        if matches!(worker.state, WorkerState::Stopping { why: StopReason::Asked }) {
            // Whoever ended the run did not ask for a verdict about the worker.
            self.lanes[at].state = LaneState::Dead { why, how: How::Session };
            return;
        }
        let respawn = self.limits.respawn;
        let lane = &mut self.lanes[at];
        if lane.counts.crashes < respawn {
            lane.counts.crashes += 1;
            lane.state = LaneState::Dead { why, how: How::Session };
        } else if lane.waves_left > 0 {
            // Put off to the next wave, with what was granted before.
            lane.waves_left -= 1;
            lane.priority = lane.priority.saturating_add(1_000_000);
            lane.counts.crashes = 0;
            lane.state = LaneState::Dead { why, how: How::Brief };
        } else {
            let reason = match respawn {
                0 => format!("{why}; workers are not started again"),
                1 => format!("{why}; it was started again once already"),
                n => format!("{why}; it was started again {n} times already"),
            };
            self.pause(at, reason, decisions);
        }
    }

    /// A stage has come to its end, whatever became of its worker.
    pub(super) fn complete(&mut self, at: LaneAt, result: StageResult, decisions: &mut Vec<Decision>) {
        let (validation, rework) = (self.limits.validation, self.limits.rework);
        let lane = &mut self.lanes[at];
        let from = lane.stage;
        let mut to_stage = |lane: &mut super::Lane, to: u8, result: StageResult| {
            lane.stage = to;
            lane.state = LaneState::Between;
            decisions.push(Decision::Record { lane: at, what: Achievement::Stage { from, to, result } });
        };
        match &result {
            StageResult::Planned { score } if *score < 2.0 => {
                let reason = format!("the plan's score is {score}; 2 is needed");
                self.pause(at, reason, decisions);
            }
            StageResult::Planned { .. } => to_stage(lane, 1, result),
            StageResult::Go { readiness } => {
                lane.readiness = Some(*readiness);
                to_stage(lane, 2, result);
            }
            StageResult::NoGo { .. } if lane.counts.no_gos < validation => {
                lane.counts.no_gos += 1;
                to_stage(lane, 1, result);
            }
            StageResult::NoGo { reason } => {
                let reason = format!("NO-GO after {validation} retries: {reason}");
                self.pause(at, reason, decisions);
            }
            StageResult::Executed => to_stage(lane, 3, result),
            StageResult::Failed { .. } if lane.counts.reworks < rework => {
                lane.counts.reworks += 1;
                to_stage(lane, 2, result);
            }
            StageResult::Failed { issues } => {
                let reason = format!("FAIL after {rework} reworks: {issues}");
                self.pause(at, reason, decisions);
            }
            StageResult::Moved { to } => {
                lane.stage = *to;
                lane.state = LaneState::Between;
            }
            StageResult::Passed { .. } | StageResult::Done => {
                decisions.push(Decision::Record { lane: at, what: Achievement::Passed { result } });
                self.begin_closing(at, decisions);
            }
        }
    }

    /// Pauses a lane; where the others of its group cannot go on without it, they come to an end first.
    pub(super) fn pause(&mut self, at: LaneAt, reason: String, decisions: &mut Vec<Decision>) {
        let lane = &mut self.lanes[at];
        lane.state = LaneState::Paused { reason: reason.clone() };
        let (group, halts, name) = (lane.group, lane.halts_group, lane.name.clone());
        decisions.push(Decision::Pause { lane: at, reason: reason.clone() });
        if halts && self.groups[group].halted.is_none() {
            let reason = format!("{name}: {reason}");
            self.groups[group].halted = Some(super::Halt { reason, lane: Some(at), recorded: false });
        }
    }

    fn begin_closing(&mut self, at: LaneAt, decisions: &mut Vec<Decision>) {
        let lane = &mut self.lanes[at];
        let first_gate = lane.gates.first().filter(|_| lane.gates_first).cloned();
        match first_gate {
            Some(gate) => {
                lane.state = LaneState::Closing(Closing::Gates { passed: 0 });
                decisions.push(Decision::RunGate { of: super::GateOf::Lane(at), gate });
            }
            None => {
                lane.state = LaneState::Closing(Closing::Merging);
                decisions.push(Decision::Merge { lane: at });
            }
        }
    }
}

/// What is known about a claim that is not true, for people.
fn lie(missing: &[String]) -> String {
    format!("its worker says that it is done, and it is not there: {}", missing.join(", "))
}

/// What is known about a death, for people.
fn death(worker: &Worker, end: &End, now: Now) -> String {
    let seconds = |span: std::time::Duration| format!("{:.1} s", span.as_secs_f64());
    match (&worker.state, end) {
        (WorkerState::Stopping { why: StopReason::Silent }, _) => {
            "its worker gave no sign of life and did not answer; it was ended".to_owned()
        }
        (WorkerState::Stopping { why: StopReason::TooLong }, _) => {
            format!(
                "its worker took longer than any may ({}); it was ended",
                seconds(now.steady.saturating_sub(worker.since))
            )
        }
        (WorkerState::Stopping { why: StopReason::Asked }, _) => "the run was ended".to_owned(),
        (_, End::Exited(0)) => "its worker exited with 0 without completing its work".to_owned(),
        (_, End::Exited(code)) => format!("its worker exited with {code}"),
        (_, End::Killed(signal)) => format!("its worker was ended by signal {signal}"),
        (_, End::Vanished) => "its worker vanished".to_owned(),
        (_, End::RefusedResume) => "its session was refused".to_owned(),
        (_, End::Limited { .. }) => "its worker ran into a limit".to_owned(),
    }
}
