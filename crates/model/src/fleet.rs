//! The rules of a lead: what happens next to a fleet of workers, as one pure function.
//!
//! Whatever happens (a worker ends, a document changes, a clock, a signal) is a [`FleetEvent`]; [`Fleet::step`] takes
//! it and returns [`Decision`]s in the order in which they are carried out. A decision that can fail answers with an
//! event of its own. Nothing here starts a process, and nothing is remembered but what is in [`Fleet`], so that a lead
//! which died is continued by building the same value again and stepping on.

mod budget;
mod close;
mod decision;
mod event;
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

use crate::Time;

pub use decision::{Achievement, Decision, Outcome};
pub use event::{End, FleetEvent, GateOf};
pub use judge::{Exited, LOWEST_PLAN, StageResult, Standing};
pub use lane::{Closing, Counts, How, Lane, LaneState, StopReason, Worker, WorkerState};
pub use merge::{GateResult, MergeOf, MergeResult, Prepared, cannot_judge};
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
            FleetEvent::LanesAdded => {}
            FleetEvent::LaneSettled { lane } => self.lane_settled(lane),
            FleetEvent::LaneFreed { lane } => self.lane_freed(lane),
            FleetEvent::GroupFreed { group } => self.group_freed(group),
            FleetEvent::LaneReopened { lane } => self.lane_reopened(lane),
            FleetEvent::LaneLeftOut { lane } => self.lane_left_out(lane),
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

    /// Until when a lane waits for a usage limit to end: its own, or that of every account that its next worker could use.
    pub fn limited_until(&self, at: LaneAt) -> Option<Time> {
        let lane = &self.lanes[at];
        let of_accounts = || {
            let is_held = self.may_start(at) && self.account_of(lane).is_none();
            lane.accounts.iter().filter_map(|account| self.parked.get(account)).min().copied().filter(|_| is_held)
        };
        lane.state.waits_until().or_else(of_accounts)
    }

    /// The account that a lane's next worker uses: the first of its own that is not at its limit.
    pub fn account_of<'l>(&self, lane: &'l Lane) -> Option<&'l str> {
        lane.accounts.iter().map(String::as_str).find(|account| !self.parked.contains_key(*account))
    }
}
