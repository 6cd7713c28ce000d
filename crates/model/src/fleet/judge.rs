//! What follows when a worker is gone: from how it ended and what its unit's documents say.

use super::lane::{How, LaneState, Worker, WorkerState};
use super::merge::{after_reworks, times};
use super::{Achievement, Decision, End, Fleet, LaneAt, Now, StopReason};
use crate::Rework;
use crate::text::{clause, headline};

/// Why a worker starts for work that was complete.
const WITHDRAWN: &str = "a person took its end back";

/// The lowest score of a plan that is validated.
pub const LOWEST_PLAN: f64 = 2.0;

/// How a worker ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Exited {
    /// The end of its process.
    pub end: End,
    /// What its unit's documents say now.
    pub standing: Standing,
    /// What else is known, for people: its last words, denied commands.
    pub words: Option<String>,
}

/// What a unit's documents say about the stage that a worker was started for.
#[derive(Debug, Clone, PartialEq)]
pub enum Standing {
    /// It is not complete.
    Open,
    /// The worker wrote a result that the dialect's rules do not accept yet. The next worker gets the list.
    Incomplete {
        /// What is missing or out of range, each as a fragment.
        missing: Vec<String>,
    },
    /// It is complete.
    Complete(StageResult),
    /// It is said to be complete, and what it names as made is not there.
    Unproved {
        /// What is not there.
        missing: Vec<String>,
    },
    /// It is said to be complete, and its result is where no merge takes it. A worker starts again with the facts.
    Misplaced(Rework),
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
    /// The worker itself took the story to another stage. Back is a rework.
    Moved {
        /// Which.
        to: u8,
    },
}

impl Fleet {
    pub(super) fn exited(&mut self, at: LaneAt, exited: &Exited, now: Now, decisions: &mut Vec<Decision>) {
        let LaneState::Working(worker) = &self.lanes[at].state else { return };
        let worker = worker.clone();
        match (&exited.standing, &exited.end) {
            (_, End::BegunAnew) => self.begun_anew(at),
            (Standing::Complete(result), _) => {
                (self.lanes[at].counts.quick, self.lanes[at].counts.taken) = (0, 0);
                self.complete(at, result.clone(), decisions);
            }
            (Standing::Misplaced(why), _) => self.rework_stage(at, why.clone(), decisions),
            (Standing::Halted { reason }, _) => self.pause_for_person(at, reason.clone(), decisions),
            (_, End::Limited { until, account }) => {
                self.ran_into_limit(at, &worker, (*until, *account), now, decisions)
            }
            // The second half of one recovery, not another death.
            (_, End::RefusedResume) if worker.how == How::Session => {
                let why = "its session was refused".to_owned();
                self.restart(at, &worker, LaneState::Dead { why, how: How::Brief }, now, decisions);
            }
            (_, End::Unavailable { reason }) => self.pause_for_person(at, reason.clone(), decisions),
            // Another worker would be denied the same.
            (_, End::Denied { what }) => {
                let reason = format!("its worker ended without completing its work; {what}");
                self.pause_for_person(at, reason, decisions);
            }
            (standing, end) => {
                let why = match standing {
                    Standing::Incomplete { missing } => {
                        format!("{}; not complete: {}", death(&worker, end, now), missing.join(", "))
                    }
                    // A worker that calls done what is not there has not done it.
                    Standing::Unproved { missing } => lie(missing),
                    Standing::Open | Standing::Complete(_) | Standing::Misplaced(_) | Standing::Halted { .. } => {
                        death(&worker, end, now)
                    }
                };
                let why = match &exited.words {
                    Some(words) => format!("{why}\n{words}"),
                    None => why,
                };
                let is_stopping = matches!(worker.state, WorkerState::Stopping { .. });
                let is_lie = matches!(standing, Standing::Unproved { .. });
                if end.is_from_outside() && !is_stopping && !is_lie {
                    return self.taken(at, why, now, decisions);
                }
                self.died(at, &worker, why, now, decisions);
            }
        }
    }

    /// A person began a lane's unit anew: it is queued, with every restart and rework again.
    pub(super) fn begun_anew(&mut self, at: LaneAt) {
        self.lanes[at].grant_anew();
        self.lanes[at].state = LaneState::Queued;
    }

    /// A person took back what was complete, before it reached its target: what they left decides.
    pub(super) fn withdrawn(&mut self, at: LaneAt, standing: Standing, decisions: &mut Vec<Decision>) {
        match standing {
            Standing::Complete(result) => self.complete(at, result, decisions),
            Standing::Misplaced(why) => self.rework_stage(at, why, decisions),
            Standing::Halted { reason } => self.pause_for_person(at, reason, decisions),
            Standing::Open | Standing::Incomplete { .. } | Standing::Unproved { .. } => {
                self.lanes[at].grant_anew();
                self.lanes[at].state = LaneState::Dead { why: WITHDRAWN.to_owned(), how: How::Session };
            }
        }
    }

    fn ran_into_limit(
        &mut self,
        at: LaneAt,
        worker: &Worker,
        (until, account): (crate::Time, bool),
        now: Now,
        decisions: &mut Vec<Decision>,
    ) {
        let until = self.bounded(at, until, now);
        if account {
            self.park_account(&worker.account, until);
        }
        let is_replaced = account && self.account_of(&self.lanes[at]).is_some();
        let state = match is_replaced {
            true => LaneState::Dead { why: format!("{} is at its limit", worker.account), how: How::Brief },
            false => LaneState::Parked { until },
        };
        self.restart(at, worker, state, now, decisions);
        if let LaneState::Parked { until } = self.lanes[at].state {
            decisions.push(Decision::Park { lane: at, until });
        }
    }

    /// Brings a lane to the state from which its next worker starts, or pauses it when its budget is spent.
    fn restart(&mut self, at: LaneAt, worker: &Worker, state: LaneState, now: Now, decisions: &mut Vec<Decision>) {
        let is_asked = matches!(worker.state, WorkerState::Stopping { why: StopReason::Asked });
        if is_asked || self.spend_restart(at, worker.since, now) {
            self.lanes[at].state = state;
            return;
        }
        let (count, quick) = (self.lanes[at].counts.quick, self.limits.quick.as_secs());
        let last = match &state {
            LaneState::Dead { why, .. } => why.clone(),
            LaneState::Parked { until } => format!("it waits for a limit until {until}"),
            _ => state.word().to_owned(),
        };
        let reason = format!("{count} workers in a row ended within {quick} s of their start; the last one: {last}");
        self.pause(at, reason, decisions);
    }

    /// A worker was taken from outside: another takes its place, and `respawn` stays as it is.
    fn taken(&mut self, at: LaneAt, why: String, now: Now, decisions: &mut Vec<Decision>) {
        if self.spend_taken(at, now) {
            self.lanes[at].state = LaneState::Dead { why, how: How::Session };
            return;
        }
        let others = format!("so did {} before it, one after the other", self.lanes[at].counts.taken);
        self.pause(at, and(&why, &others), decisions);
    }

    fn died(&mut self, at: LaneAt, worker: &Worker, why: String, now: Now, decisions: &mut Vec<Decision>) {
        if matches!(worker.state, WorkerState::Stopping { why: StopReason::Asked }) {
            // The user ended the run; that is no verdict about the worker.
            self.lanes[at].state = LaneState::Dead { why, how: How::Session };
            return;
        }
        let respawn = self.limits.respawn;
        let lane = &mut self.lanes[at];
        if lane.counts.crashes < respawn {
            lane.counts.crashes += 1;
            self.restart(at, worker, LaneState::Dead { why, how: How::Session }, now, decisions);
        } else if lane.waves_left > 0 {
            // Put off to the next wave, with what was granted before.
            lane.waves_left -= 1;
            lane.counts.waves += 1;
            lane.priority = lane.priority.saturating_add(1_000_000);
            lane.counts.crashes = 0;
            self.restart(at, worker, LaneState::Dead { why, how: How::Brief }, now, decisions);
        } else {
            let reason = match lane.counts.restarts(respawn) {
                0 => and(&why, "`respawn` is 0"),
                n => and(&why, &format!("it was restarted {}", times(n))),
            };
            self.pause(at, reason, decisions);
        }
    }

    /// A stage has come to its end, whatever became of its worker.
    pub(super) fn complete(&mut self, at: LaneAt, result: StageResult, decisions: &mut Vec<Decision>) {
        let (validation, rework) = (self.limits.validation, self.limits.rework);
        let lane = &mut self.lanes[at];
        let from = lane.stage;
        let to = match &result {
            StageResult::Planned { score } if *score < LOWEST_PLAN && lane.counts.no_gos < validation => {
                lane.counts.no_gos += 1;
                Some(from)
            }
            StageResult::Planned { score } if *score < LOWEST_PLAN => {
                let again = match validation {
                    0 => "`validation_retries` is 0".to_owned(),
                    n => format!("planned or validated again {}", times(n)),
                };
                let reason = format!("the plan's score is {score}; {LOWEST_PLAN} is needed; {again}");
                return self.pause(at, reason, decisions);
            }
            StageResult::Planned { .. } | StageResult::Executed => lane.stage_after(from),
            StageResult::Go { readiness } => {
                lane.readiness = Some(*readiness);
                lane.stage_after(from)
            }
            StageResult::NoGo { .. } if lane.counts.no_gos < validation => {
                lane.counts.no_gos += 1;
                Some(from)
            }
            StageResult::NoGo { reason } => {
                let reason = match validation {
                    0 => format!("NO-GO: {}; `validation_retries` is 0", clause(reason)),
                    n => format!("NO-GO: {}; validated again {}", clause(reason), times(n)),
                };
                return self.pause(at, reason, decisions);
            }
            StageResult::Failed { .. } if lane.counts.reworks < rework => {
                lane.counts.reworks += 1;
                Some(2)
            }
            StageResult::Failed { issues } => {
                let reason = after_reworks(&format!("FAIL: {}", clause(issues)), rework);
                return self.pause(at, reason, decisions);
            }
            StageResult::Moved { to } if *to <= from && lane.counts.reworks >= rework => {
                let reason = after_reworks(&format!("its worker took it back to stage {to}"), rework);
                return self.pause(at, reason, decisions);
            }
            StageResult::Moved { to } => {
                // Forward there is an end; back there is none unless it is counted.
                lane.counts.reworks += u32::from(*to <= from);
                lane.stage = *to;
                lane.state = LaneState::Between;
                return;
            }
            StageResult::Passed { .. } | StageResult::Done => None,
        };
        match to {
            Some(to) => {
                lane.stage = to;
                lane.state = LaneState::Between;
                decisions.push(Decision::Record { lane: at, what: Achievement::Stage { from, to, result } });
            }
            None => {
                decisions.push(Decision::Record { lane: at, what: Achievement::Passed { result } });
                self.begin_closing(at);
            }
        }
    }

    /// Pauses a lane because its work failed; where the others of its group cannot go on without it, they come to an
    /// end first.
    pub(super) fn pause(&mut self, at: LaneAt, reason: String, decisions: &mut Vec<Decision>) {
        self.pause_as(at, reason, true, decisions);
    }

    /// Pauses a lane because a person has to do something; no work has failed.
    pub(super) fn pause_for_person(&mut self, at: LaneAt, reason: String, decisions: &mut Vec<Decision>) {
        self.pause_as(at, reason, false, decisions);
    }

    fn pause_as(&mut self, at: LaneAt, reason: String, is_failure: bool, decisions: &mut Vec<Decision>) {
        let lane = &mut self.lanes[at];
        lane.state = LaneState::Paused { reason: reason.clone() };
        let (group, halts, name) = (lane.group, lane.halts_group, lane.name.clone());
        decisions.push(Decision::Pause { lane: at, reason: reason.clone() });
        if halts && self.groups[group].halted.is_none() {
            let reason = format!("{name}: {reason}");
            self.groups[group].halted = Some(super::Halt { reason, lane: Some(at), is_failure, recorded: false });
        }
    }
}

/// A reason with more about it, before the lines that a worker printed.
fn and(why: &str, more: &str) -> String {
    let head = headline(why);
    format!("{head}; {more}{}", &why[head.len()..])
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
        (_, End::Idle) => "its worker exited with 0 and did nothing: no step recorded, no output, no commit".to_owned(),
        (_, End::Exited(0)) => "its worker exited with 0 without completing its work".to_owned(),
        (_, End::Exited(code)) => format!("its worker exited with {code}"),
        (_, End::Killed(signal)) => format!("its worker was ended by signal {signal}"),
        (_, End::Vanished) => "its worker vanished with its keeper".to_owned(),
        (_, End::KilledUnled(signal)) => format!("its worker was ended by signal {signal} while no lead was at work"),
        (_, End::NotStarted) => "its worker could not be started".to_owned(),
        (_, End::RefusedResume) => "its session was refused".to_owned(),
        (_, End::BegunAnew) => "a person began it anew".to_owned(),
        (_, End::Limited { .. }) => "its worker ran into a limit".to_owned(),
        (_, End::Unavailable { reason } | End::Denied { what: reason }) => reason.clone(),
    }
}
