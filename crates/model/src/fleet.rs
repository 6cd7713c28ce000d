//! The rules of a lead: what happens next to a fleet of workers, as one pure function.
//!
//! Whatever happens (a worker ends, a document changes, a clock, a signal) is a [`FleetEvent`]; [`Fleet::step`] takes
//! it and returns [`Decision`]s in the order in which they are carried out. A decision that can fail answers with an
//! event of its own. Nothing here starts a process, and nothing is remembered but what is in [`Fleet`], so that a lead
//! which died is continued by building the same value again and stepping on.

mod close;
mod judge;
mod lane;
mod plan;
mod schedule;
mod watch;

#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::Time;
use crate::proof::{Correction, Proof};

pub use judge::{StageResult, Standing};
pub use lane::{Closing, Counts, How, Lane, LaneState, StopReason, Worker, WorkerState};
pub use plan::{Cycle, find_cycle, waves};

/// A lane's place in the fleet.
pub type LaneAt = usize;

/// A group's place in the fleet.
pub type GroupAt = usize;

/// The moment of an event. Ages of signs are counted by a clock that does not run while the machine sleeps and that
/// nobody can set; times that are promised (when a limit ends) by the one on the wall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// The time on the wall.
    pub time: Time,
    /// The steady clock.
    pub steady: Duration,
}

/// How much is granted, and how long is waited. A limit of n grants n; the next one pauses.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// The most workers at once.
    pub workers: usize,
    /// How often a dead worker is started again.
    pub respawn: u32,
    /// How often a NO-GO is validated again.
    pub validation: u32,
    /// How often a FAIL is worked on again.
    pub rework: u32,
    /// How long a worker may give no sign, by stage; the last one holds for later stages too.
    pub patience: Vec<Duration>,
    /// How long a question may stay unanswered.
    pub answer: Duration,
    /// How long a worker may take for one stage, whatever signs it gives.
    pub longest: Duration,
    /// How long a worker may stay when its stage is complete.
    pub linger: Duration,
    /// How far apart workers start after a limit has ended.
    pub stagger: Duration,
    /// From which readiness on the quality gate is told to be short.
    pub fast_track: f64,
}

impl Limits {
    /// The patience for a stage.
    pub fn patience(&self, stage: u8) -> Duration {
        self.patience.get(usize::from(stage)).or(self.patience.last()).copied().unwrap_or(Duration::from_secs(600))
    }
}

/// Lanes that belong together: the stories of a pipeline, the workstreams of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The unit that all of it is about, or what the lanes are called together.
    pub name: String,
    /// What comes after what: a phase begins when the one before is closed.
    pub phases: Vec<Phase>,
    /// Why nothing more of it is started; its lanes that run are waited for.
    pub halted: Option<Halt>,
}

/// A group that does not go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Halt {
    /// Why.
    pub reason: String,
    /// The lane it began with, when it was one.
    pub lane: Option<LaneAt>,
    /// Whether it has been recorded, which is done when no sibling runs any more.
    pub recorded: bool,
}

/// A phase of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phase {
    /// What a person calls it.
    pub name: String,
    /// The gates that close it, run when all of its lanes are done.
    pub gates: Vec<PhaseGate>,
    /// Whether a person has to look at it before the next phase.
    pub approval: Approval,
    /// Whether all of that has happened.
    pub closed: bool,
}

/// A gate and how far it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseGate {
    /// Its name.
    pub name: String,
    /// How far it is.
    pub state: GateProgress,
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
    /// Nobody is asked.
    NotNeeded,
    /// A person is asked when its gates have passed.
    Needed,
    /// A person has been asked.
    Asked,
    /// A person agreed.
    Given,
}

/// How far the lead goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Everything is done.
    Going,
    /// Nothing new is started; workers are waited for.
    Draining,
    /// Workers are stopped gently.
    Stopping,
    /// The lead ends at once; workers go on without it.
    Leaving,
}

/// Everything that a lead knows.
#[derive(Debug, Clone, PartialEq)]
pub struct Fleet {
    /// What is granted.
    pub limits: Limits,
    /// The groups.
    pub groups: Vec<Group>,
    /// The lanes, in the order in which they were named.
    pub lanes: Vec<Lane>,
    /// How far it goes.
    pub mode: Mode,
    /// Nothing is started before this, because the account's limit is used up.
    pub parked_until: Option<Time>,
    /// How many starts are kept apart, because a limit has just ended.
    pub staggered: usize,
    /// When the next of them may be.
    pub not_before: Option<Duration>,
    /// Whether the end has been decided.
    pub ended: bool,
}

/// What can happen to a fleet.
#[derive(Debug, Clone, PartialEq)]
pub enum FleetEvent {
    /// The loop begins: a fresh start, or what is left of an earlier lead.
    Begun,
    /// A worker's process is there.
    WorkerStarted {
        /// Whose.
        lane: LaneAt,
    },
    /// A worker could not be started, or its unit could not be claimed.
    StartFailed {
        /// Whose.
        lane: LaneAt,
        /// Why.
        message: String,
    },
    /// A worker's process is gone.
    WorkerExited {
        /// Whose.
        lane: LaneAt,
        /// How it ended.
        end: End,
        /// What its unit's documents say now.
        standing: Standing,
    },
    /// A worker gave a sign of life.
    SignSeen {
        /// Whose.
        lane: LaneAt,
    },
    /// The documents of a lane's unit changed.
    DocumentChanged {
        /// Whose.
        lane: LaneAt,
        /// What they say now.
        standing: Standing,
    },
    /// A gate was run.
    GateEnded {
        /// Of a lane, or of a group's phase.
        of: GateOf,
        /// Its name.
        gate: String,
        /// How.
        result: Result<(), String>,
    },
    /// A lane's work was merged back, or was not.
    MergeEnded {
        /// Which.
        lane: LaneAt,
        /// How.
        result: Result<(), String>,
    },
    /// The end of a lane's work was recorded, or was refused.
    FinishEnded {
        /// Which.
        lane: LaneAt,
        /// How.
        result: Result<(), String>,
    },
    /// It was looked whether what a lane's unit says is done is really there.
    Proved {
        /// Which.
        lane: LaneAt,
        /// What follows.
        proof: Proof,
    },
    /// A person agreed that a group goes on.
    Approved {
        /// Which.
        group: GroupAt,
    },
    /// A worker reported that a limit is used up.
    LimitReported {
        /// Whose.
        lane: LaneAt,
        /// When it ends.
        until: Time,
        /// Whether it concerns the account, and so the whole fleet.
        account: bool,
    },
    /// Time has passed.
    TimerFired,
    /// The machine slept: nobody could give a sign.
    Woke,
    /// The clock on the wall was set: ages that were told by it say nothing.
    ClockSet,
    /// A person asked the lead to end: once, twice, three times.
    Signalled,
}

/// Whose gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateOf {
    /// A lane's own.
    Lane(LaneAt),
    /// One that closes a phase of a group.
    Phase(GroupAt, usize),
    /// One that has passed, run again before a lane's worker starts again.
    Proof(LaneAt),
}

/// How a worker ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It exited by itself with this code.
    Exited(i32),
    /// A signal ended it.
    Killed(i32),
    /// It is gone, and nobody saw how.
    Vanished,
    /// It did not take up its own session.
    RefusedResume,
    /// It ended because a limit is used up.
    Limited {
        /// When the limit ends.
        until: Time,
        /// Whether it concerns the account.
        account: bool,
    },
}

/// What the lead does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// It is looked whether what the lane's unit says is done is really there, before anybody goes on with it.
    Prove {
        /// Which lane.
        lane: LaneAt,
    },
    /// What is not there is put right, as far as the dialect can; the rest is told to the lane's next worker.
    Correct {
        /// Which lane.
        lane: LaneAt,
        /// What.
        correction: Correction,
    },
    /// The lane's unit gets a new attempt, durably, before anything is started.
    Claim {
        /// Which lane.
        lane: LaneAt,
    },
    /// A new worker is started.
    Spawn {
        /// Which lane.
        lane: LaneAt,
    },
    /// The lane's last worker is continued, or a new one gets the brief.
    Resume {
        /// Which lane.
        lane: LaneAt,
        /// How.
        how: How,
    },
    /// The worker is asked for a sign.
    Ask {
        /// Which lane.
        lane: LaneAt,
    },
    /// The worker and everything that it started is ended.
    Stop {
        /// Which lane.
        lane: LaneAt,
        /// Why.
        why: StopReason,
    },
    /// Something that a worker achieved is recorded: a stage, a rework.
    Record {
        /// Which lane.
        lane: LaneAt,
        /// What.
        what: Achievement,
    },
    /// A gate's command is run.
    RunGate {
        /// Whose.
        of: GateOf,
        /// Its name.
        gate: String,
    },
    /// The lane's worktree is merged back.
    Merge {
        /// Which lane.
        lane: LaneAt,
    },
    /// The lane's work is recorded as done.
    Finish {
        /// Which lane.
        lane: LaneAt,
    },
    /// The lane waits for a limit to end.
    Park {
        /// Which lane.
        lane: LaneAt,
        /// Until when.
        until: Time,
    },
    /// The lane stops, for a reason that a person can act on.
    Pause {
        /// Which lane.
        lane: LaneAt,
        /// Why.
        reason: String,
    },
    /// The group stops; no lane of it runs any more.
    Halt {
        /// Which group.
        group: GroupAt,
        /// Why.
        reason: String,
    },
    /// A person is asked to approve before the group goes on.
    AskApproval {
        /// Which group.
        group: GroupAt,
        /// The phase that was closed.
        phase: usize,
    },
    /// A phase of a group is closed.
    ClosePhase {
        /// Which group.
        group: GroupAt,
        /// Which phase.
        phase: usize,
    },
    /// The run ends.
    EndRun {
        /// How.
        outcome: Outcome,
    },
}

/// What is recorded when a stage has come to its end.
#[derive(Debug, Clone, PartialEq)]
pub enum Achievement {
    /// A stage is complete, and the next one begins.
    Stage {
        /// The one that is complete.
        from: u8,
        /// The one that begins.
        to: u8,
        /// What came of it.
        result: StageResult,
    },
    /// The quality was judged, and the work is to be closed.
    Passed {
        /// What came of it.
        result: StageResult,
    },
    /// What was called passed is not: a gate says so.
    Overruled {
        /// Why.
        issues: String,
    },
}

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Everything is done.
    Done,
    /// Something is paused, with its reason.
    Paused,
    /// A person ended it; what is open can be gone on with.
    Stopped,
}

impl Fleet {
    /// A fleet of which nothing has begun.
    pub fn new(limits: Limits, groups: Vec<Group>, lanes: Vec<Lane>) -> Fleet {
        Fleet {
            limits,
            groups,
            lanes,
            mode: Mode::Going,
            parked_until: None,
            staggered: 0,
            not_before: None,
            ended: false,
        }
    }

    /// Takes what happened, and decides what is done now.
    pub fn step(&mut self, event: FleetEvent, now: Now) -> Vec<Decision> {
        let mut decisions = Vec::new();
        match event {
            FleetEvent::Begun | FleetEvent::TimerFired => self.watch(now, &mut decisions),
            FleetEvent::WorkerStarted { lane } => self.started(lane, now),
            FleetEvent::StartFailed { lane, message } => self.start_failed(lane, &message, &mut decisions),
            FleetEvent::WorkerExited { lane, end, standing } => {
                self.exited(lane, &end, &standing, now, &mut decisions);
            }
            FleetEvent::SignSeen { lane } => self.sign(lane, now),
            FleetEvent::DocumentChanged { lane, standing } => self.changed(lane, &standing, now),
            FleetEvent::GateEnded { of, gate, result } => self.gate_ended(of, &gate, result, &mut decisions),
            FleetEvent::MergeEnded { lane, result } => self.merge_ended(lane, result, &mut decisions),
            FleetEvent::FinishEnded { lane, result } => self.finish_ended(lane, result, &mut decisions),
            FleetEvent::Proved { lane, proof } => self.proved(lane, proof, now, &mut decisions),
            FleetEvent::Approved { group } => self.approved(group),
            FleetEvent::LimitReported { lane, until, account } => self.limited(lane, until, account),
            FleetEvent::Woke | FleetEvent::ClockSet => self.woke(now),
            FleetEvent::Signalled => self.signalled(now, &mut decisions),
        }
        self.schedule(now, &mut decisions);
        decisions
    }

    /// Lanes that have a worker, or are about to have one.
    pub fn active(&self) -> usize {
        let is_active = |lane: &&Lane| lane.state.has_worker() || matches!(lane.state, LaneState::Proving { .. });
        self.lanes.iter().filter(is_active).count()
    }

    /// When something is to be looked at again although nothing happens: the steady clock, and the one on the wall.
    pub fn next_timer(&self) -> (Option<Duration>, Option<Time>) {
        let steady = self.lanes.iter().filter_map(|lane| self.deadline(lane)).chain(self.not_before).min();
        let wall = self.lanes.iter().filter_map(|lane| lane.state.waits_until()).chain(self.parked_until).min();
        (steady, wall)
    }
}
