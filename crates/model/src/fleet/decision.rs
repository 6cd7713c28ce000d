//! What the lead does next, and how a run ends.

use super::{GateOf, GroupAt, How, LaneAt, MergeOf, StageResult, StopReason};
use crate::proof::Correction;
use crate::{Rework, Time};

/// What the lead does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Verify that the recorded results of the lane's unit exist, before the next worker starts.
    Prove {
        /// Which lane.
        lane: LaneAt,
    },
    /// Correct the record of missing results, as far as the dialect can; the lane's next worker gets the rest.
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
    /// Ask the user to approve before the group continues.
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
        /// What a gate said with the base's version of them, when that did not pass.
        refused: Option<String>,
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
    /// The user ended it; open work can be continued.
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
