//! What can happen to a fleet.

use super::{GateResult, GroupAt, How, LaneAt, MergeOf, MergeResult, Prepared, Request, Standing};
use crate::Time;
use crate::proof::Proof;

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
    /// A person added work while the run is under way: [`Fleet::add_lane`](super::Fleet::add_lane) took it in.
    LanesAdded,
    /// A person did a lane's work, or took it out of the document, before a worker began.
    LaneSettled {
        /// Which.
        lane: LaneAt,
    },
    /// The user took away what a group was halted for, or judged what it waited for.
    GroupFreed {
        /// Which.
        group: GroupAt,
    },
    /// The user freed a paused lane.
    LaneFreed {
        /// Which.
        lane: LaneAt,
    },
    /// A person opened a lane again that was done, or whose work was collected.
    LaneReopened {
        /// Which.
        lane: LaneAt,
    },
    /// A person left a lane's step out whose work was complete and did not reach the base: it is not merged.
    LaneLeftOut {
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
    /// The user approved that a group continues.
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
    /// The machine slept: no worker could give a sign.
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
    /// It is gone, and its exit status and its keeper with it.
    Vanished,
    /// A signal ended it while no lead was at work.
    KilledUnled(i32),
    /// Its keeper could not start it.
    NotStarted,
    /// Its client cannot work here: it is missing, not logged in or too old.
    Unavailable {
        /// Why, and what to do.
        reason: String,
    },
    /// It did not take up its own session.
    RefusedResume,
    /// A person began its unit anew while it was at work.
    BegunAnew,
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

impl End {
    /// Whether the worker was taken from outside, with its keeper or its lead: a reboot, a killed session. That says nothing
    /// about the worker. SIGHUP, SIGINT, SIGKILL and SIGTERM come from outside; other signals are its own faults.
    pub(super) fn is_from_outside(&self) -> bool {
        matches!(self, End::Vanished | End::KilledUnled(1 | 2 | 9 | 15))
    }
}
