//! The rules of a lead: what happens next to a fleet of workers, as one pure function.
//!
//! Whatever happens (a worker ends, a document changes, a clock, a signal) is a [`FleetEvent`]; [`Fleet::step`] takes
//! it and returns [`Decision`]s in the order in which they are carried out. A decision that can fail answers with an
//! event of its own. Nothing here starts a process, and nothing is remembered but what is in [`Fleet`], so that a lead
//! which died is continued by building the same value again and stepping on.

mod budget;
mod close;
mod judge;
mod lane;
mod merge;
mod phase;
mod plan;
mod request;
mod schedule;
mod watch;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::proof::{Correction, Proof};
use crate::{Rework, Time};

pub use judge::{Exited, StageResult, Standing};
pub use lane::{Closing, Counts, How, Lane, LaneState, StopReason, Worker, WorkerState};
pub use merge::{GateResult, MergeOf, MergeResult, Prepared};
pub use phase::{Approval, Completion, GateKind, GateProgress, Group, Halt, Phase, PhaseGate, PhaseState};
pub use plan::{Cycle, find_cycle, waves};
pub use request::{Interrupts, Request};

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
    /// How many workers of a lane in a row may end within [`Limits::quick`] of their start; the next one pauses.
    pub restarts: u32,
    /// A worker that ends sooner than this after its start counts against [`Limits::restarts`].
    pub quick: Duration,
    /// The longest wait for a limit to end, whatever was reported.
    pub longest_park: Duration,
}

impl Limits {
    /// The patience for a stage.
    pub fn patience(&self, stage: u8) -> Duration {
        self.patience.get(usize::from(stage)).or(self.patience.last()).copied().unwrap_or(Duration::from_secs(600))
    }

    /// Whether a story of this readiness gets the short form of the quality gate.
    pub fn is_fast_track(&self, readiness: Option<f64>) -> bool {
        readiness.is_some_and(|readiness| readiness >= self.fast_track)
    }
}

/// How far the lead goes, the furthest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
    /// Accounts whose usage limit is reached, and when each ends. A lane that may use another account goes on.
    pub parked: BTreeMap<String, Time>,
    /// Living workers of lanes that are not part of this fleet. They count against [`Limits::workers`].
    pub strangers: usize,
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
    /// The run was stopped before a lane's worker began.
    NotStarted {
        /// Whose.
        lane: LaneAt,
        /// How it was to be started.
        how: How,
    },
    /// A worker's process is gone.
    WorkerExited {
        /// Whose.
        lane: LaneAt,
        /// How it ended.
        end: End,
        /// What its unit's documents say now.
        standing: Standing,
        /// What else is known about the end, for people: its last words, denied commands.
        words: Option<String>,
    },
    /// A person added work while the run is under way.
    LaneAdded(Box<Lane>),
    /// A person did a lane's work, or took it out of the document, before a worker began.
    LaneSettled {
        /// Which.
        lane: LaneAt,
    },
    /// A person let a paused lane go on.
    LaneFreed {
        /// Which.
        lane: LaneAt,
    },
    /// A person opened a lane again that was done.
    LaneReopened {
        /// Which.
        lane: LaneAt,
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
    /// The merge of a lane or of a phase was prepared: both sides are in one tree, and nothing has moved.
    Prepared {
        /// Of what.
        of: MergeOf,
        /// What came of it.
        result: Prepared,
    },
    /// A gate was run.
    GateEnded {
        /// Of a lane, or of a group's phase.
        of: GateOf,
        /// Its name.
        gate: String,
        /// How.
        result: GateResult,
    },
    /// A target branch was moved to the judged tree, or was not.
    MergeEnded {
        /// Of what.
        of: MergeOf,
        /// How.
        result: MergeResult,
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
    /// All that is left of a group's unit was recorded as done, or was refused.
    CompleteEnded {
        /// Which.
        group: GroupAt,
        /// How.
        result: Result<(), String>,
    },
    /// A person agreed that a group goes on.
    Approved {
        /// Which.
        group: GroupAt,
    },
    /// A person agreed that a lane is merged although it changes its own gates.
    LaneApproved {
        /// Which.
        lane: LaneAt,
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
    /// The lead is asked to do something.
    Requested(Request),
    /// Workers of other runs were counted.
    StrangersCounted {
        /// How many run.
        running: usize,
    },
}

/// Whose gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateOf {
    /// A lane's own.
    Lane(LaneAt),
    /// One that closes a phase of a group.
    Phase(GroupAt, usize),
}

/// How a worker ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It exited by itself with this code.
    Exited(i32),
    /// A signal ended it.
    Killed(i32),
    /// It exited with 0, and there is no trace of any work: no step, no output, no commit.
    Idle,
    /// It is gone, and its exit status with it.
    Vanished,
    /// Its client cannot work here: it is missing, not logged in or too old.
    Unavailable {
        /// Why, and what to do.
        reason: String,
    },
    /// It did not take up its own session.
    RefusedResume,
    /// Its client did not let it do what its work needs.
    Denied {
        /// What, with how to allow it.
        what: String,
    },
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
    /// Target and branch are merged in a scratch worktree; nothing is moved yet.
    Prepare {
        /// Of what.
        of: MergeOf,
    },
    /// The target branch is moved to the tree that was judged, if it has not moved since.
    Merge {
        /// Of what.
        of: MergeOf,
    },
    /// Gates that run are ended: the run is being stopped.
    StopGates,
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
    /// The lane's worker starts again with these facts: a gate that failed, files in conflict.
    Rework {
        /// Which lane.
        lane: LaneAt,
        /// Why.
        why: Rework,
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
        /// Whether work failed; otherwise it only needs a person.
        is_failure: bool,
    },
    /// A person is asked to approve before the group goes on.
    AskApproval {
        /// Which group.
        group: GroupAt,
        /// The phase that was closed; none before the first one.
        phase: Option<usize>,
    },
    /// A person is asked whether a lane may be merged that changes its own gates.
    AskLaneApproval {
        /// Which lane.
        lane: LaneAt,
        /// The files that it changes.
        files: Vec<String>,
    },
    /// All lanes and gates of the group's unit are done: the unit is recorded as complete.
    Complete {
        /// Which group.
        group: GroupAt,
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
        why: Rework,
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

impl Outcome {
    /// The word for it in reports and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Paused => "paused",
            Outcome::Stopped => "stopped",
        }
    }

    /// The outcome that a word stands for.
    pub fn parse(word: &str) -> Option<Outcome> {
        [Outcome::Done, Outcome::Paused, Outcome::Stopped].into_iter().find(|outcome| outcome.word() == word)
    }
}

impl Mode {
    /// The word for it in views and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Mode::Going => "running",
            Mode::Draining => "draining",
            Mode::Stopping => "stopping",
            Mode::Leaving => "leaving",
        }
    }
}

impl Fleet {
    /// A fleet of which nothing has begun.
    pub fn new(limits: Limits, groups: Vec<Group>, lanes: Vec<Lane>) -> Fleet {
        Fleet {
            limits,
            groups,
            lanes,
            mode: Mode::Going,
            parked: BTreeMap::new(),
            strangers: 0,
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
            FleetEvent::NotStarted { lane, how } => self.not_started(lane, how),
            FleetEvent::WorkerExited { lane, end, standing, words } => {
                self.exited(lane, &Exited { end, standing, words }, now, &mut decisions);
            }
            FleetEvent::LaneAdded(lane) => self.lane_added(*lane),
            FleetEvent::LaneSettled { lane } => self.lane_settled(lane),
            FleetEvent::LaneFreed { lane } => self.lane_freed(lane),
            FleetEvent::LaneReopened { lane } => self.lane_reopened(lane),
            FleetEvent::SignSeen { lane } => self.sign(lane, now),
            FleetEvent::DocumentChanged { lane, standing } => self.changed(lane, &standing, now),
            FleetEvent::Prepared { of, result } => self.prepared(of, result, &mut decisions),
            FleetEvent::GateEnded { of, gate, result } => self.gate_ended(of, &gate, result, &mut decisions),
            FleetEvent::MergeEnded { of, result } => self.merge_ended(of, result, &mut decisions),
            FleetEvent::FinishEnded { lane, result } => self.finish_ended(lane, result, &mut decisions),
            FleetEvent::Proved { lane, proof } => self.proved(lane, proof, now, &mut decisions),
            FleetEvent::CompleteEnded { group, result } => self.complete_ended(group, result),
            FleetEvent::Approved { group } => self.approved(group),
            FleetEvent::LaneApproved { lane } => self.lane_approved(lane),
            FleetEvent::LimitReported { lane, until, account } => self.limited(lane, until, account, now),
            FleetEvent::Woke | FleetEvent::ClockSet => self.woke(now),
            FleetEvent::Requested(request) => self.requested(request, &mut decisions),
            FleetEvent::StrangersCounted { running } => self.strangers = running,
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
        let delays = self.lanes.iter().filter(|lane| lane.state.is_startable()).filter_map(|lane| lane.not_before);
        let deadlines = self.lanes.iter().filter_map(|lane| self.deadline(lane));
        let steady = deadlines.chain(delays).chain(self.not_before).min();
        let wall = self.lanes.iter().filter_map(|lane| lane.state.waits_until()).chain(self.parked.values().copied());
        (steady, wall.min())
    }

    /// When the first account is free again; nothing while one is.
    pub fn parked_until(&self) -> Option<Time> {
        let waits = self.lanes.iter().any(|lane| !lane.state.is_settled() && self.account_of(lane).is_none());
        self.parked.values().min().copied().filter(|_| waits)
    }

    /// The account that a lane's next worker uses: the first of its own that is not at its limit.
    pub fn account_of<'l>(&self, lane: &'l Lane) -> Option<&'l str> {
        lane.accounts.iter().map(String::as_str).find(|account| !self.parked.contains_key(*account))
    }
}
