use std::time::Duration;

use super::{GroupAt, LaneAt, StageResult};
use crate::{Rework, Time};

/// A piece of work that has one worker at a time: a story, a workstream, a task, an agent's feature.
#[derive(Debug, Clone, PartialEq)]
pub struct Lane {
    /// What it is called: `pipeline:SHOP-1`, `build:PRD-009 WS1`.
    pub name: String,
    /// The group it belongs to.
    pub group: GroupAt,
    /// The phase of its group.
    pub phase: usize,
    /// The smaller, the sooner.
    pub priority: i64,
    /// What must be done before it starts.
    pub depends_on: Vec<LaneAt>,
    /// The stages it goes through, in order; empty where the dialect has none.
    pub stages: Vec<u8>,
    /// The stage it is at.
    pub stage: u8,
    /// The command gates that judge it, merged with its target, in order.
    pub gates: Vec<String>,
    /// The accounts that its workers may use, the preferred one first.
    pub accounts: Vec<String>,
    /// Whether a pause of it halts its group.
    pub halts_group: bool,
    /// How often it was put off to a later wave because its worker died; crews do that once.
    pub waves_left: u32,
    /// What was granted so far.
    pub counts: Counts,
    /// The readiness that its validation gave.
    pub readiness: Option<f64>,
    /// No worker of it starts before this, by the steady clock.
    pub not_before: Option<Duration>,
    /// Where it stands.
    pub state: LaneState,
}

/// What was granted so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Dead workers that were started again.
    pub crashes: u32,
    /// Workers in a row that were taken from outside, and started again.
    pub taken: u32,
    /// NO-GOs that were validated again.
    pub no_gos: u32,
    /// FAILs, failed gates and conflicts that were worked on again.
    pub reworks: u32,
    /// How often a gate of its phase refused it after it was done.
    pub refused: u32,
    /// Workers in a row that ended soon after their start.
    pub quick: u32,
    /// How often in a row its target moved while it was judged.
    pub moved: u32,
    /// Waves to which it was put off; each began with one more worker, and granted restarts anew.
    pub waves: u32,
}

impl Counts {
    /// How many dead workers were followed by another, of all waves.
    pub fn restarts(&self, respawn: u32) -> u32 {
        self.waves.saturating_mul(respawn.saturating_add(1)).saturating_add(self.crashes)
    }
}

/// Where a lane stands.
#[derive(Debug, Clone, PartialEq)]
pub enum LaneState {
    /// Nobody has begun.
    Queued,
    /// One worker has ended well, and the next is to begin.
    Between,
    /// A worker is at it.
    Working(Worker),
    /// Its worker is dead, and another is to go on.
    Dead {
        /// What is known about the death.
        why: String,
        /// How it goes on.
        how: How,
    },
    /// Its worker is dead, and before another goes on it is looked whether what is recorded as done is there.
    Proving {
        /// What is known about the death.
        why: String,
        /// How it goes on.
        how: How,
    },
    /// A gate or a merge refused its work, and its worker is to see to that.
    Reworking {
        /// What was refused.
        why: Rework,
    },
    /// It waits for a limit to end, without a worker.
    Parked {
        /// Until when.
        until: Time,
    },
    /// Its worker has ended well after the last stage; what is left is the lead's.
    Closing(Closing),
    /// Its work is on the branch of its phase, and reaches the base together with the other lanes of the phase.
    Integrated,
    /// Its work is on the base, and that is recorded.
    Done,
    /// It stopped, for a reason that a person can act on.
    Paused {
        /// Why.
        reason: String,
    },
}

/// What the lead still does about a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Closing {
    /// It waits for its turn to be merged.
    Queued,
    /// It is being merged with its target in a scratch worktree.
    Preparing,
    /// Its gates judge the merged tree.
    Gates {
        /// How many have passed.
        passed: usize,
        /// Files of its own gates that it changes; a person is asked before it is merged.
        own_gates: Vec<String>,
    },
    /// It changes its own gates, and a person is asked.
    Approving {
        /// The files.
        files: Vec<String>,
        /// What a gate said with the base's version of them, when that did not pass.
        refused: Option<String>,
    },
    /// The target is being moved to the judged tree.
    Merging,
    /// The end is being recorded.
    Finishing,
}

/// A worker, as the lead knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Worker {
    /// How it was started.
    pub how: How,
    /// The account that it uses.
    pub account: String,
    /// When, by the steady clock.
    pub since: Duration,
    /// How it is.
    pub state: WorkerState,
}

/// How a worker is.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkerState {
    /// It is being started.
    Spawning,
    /// It works.
    Running {
        /// When it last gave a sign.
        last_sign: Duration,
    },
    /// What it was started for is complete, and it is still there.
    Idle {
        /// Since when.
        since: Duration,
    },
    /// It waits for a limit to end.
    Limited {
        /// Until when.
        until: Time,
    },
    /// It gave no sign for longer than patience allows, and was asked.
    Silent {
        /// When it last gave a sign.
        last_sign: Duration,
        /// When it was asked.
        asked: Duration,
    },
    /// It is being ended.
    Stopping {
        /// Why.
        why: StopReason,
    },
}

/// Why a worker is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// Every sign was silent, and a question stayed unanswered.
    Silent,
    /// It took longer than any worker may.
    TooLong,
    /// Its work is complete, and it did not go.
    Lingering,
    /// A person ended the run.
    Asked,
}

/// How a worker is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Anew, for a stage that begins.
    Fresh,
    /// By its own session.
    Session,
    /// As a new worker that gets the brief.
    Brief,
}

impl LaneState {
    /// Whether a process is at it.
    pub fn has_worker(&self) -> bool {
        matches!(self, LaneState::Working(_))
    }

    /// Whether nothing more happens to it in this run.
    pub fn is_settled(&self) -> bool {
        matches!(self, LaneState::Done | LaneState::Paused { .. })
    }

    /// Whether a worker could be started for it.
    pub fn is_startable(&self) -> bool {
        match self {
            LaneState::Queued | LaneState::Between | LaneState::Dead { .. } | LaneState::Reworking { .. } => true,
            LaneState::Working(_)
            | LaneState::Proving { .. }
            | LaneState::Parked { .. }
            | LaneState::Closing(_)
            | LaneState::Integrated
            | LaneState::Done
            | LaneState::Paused { .. } => false,
        }
    }

    /// Until when it waits for a limit to end.
    pub fn waits_until(&self) -> Option<Time> {
        match self {
            LaneState::Parked { until } => Some(*until),
            LaneState::Working(Worker { state: WorkerState::Limited { until }, .. }) => Some(*until),
            LaneState::Working(_)
            | LaneState::Queued
            | LaneState::Between
            | LaneState::Dead { .. }
            | LaneState::Proving { .. }
            | LaneState::Reworking { .. }
            | LaneState::Closing(_)
            | LaneState::Integrated
            | LaneState::Done
            | LaneState::Paused { .. } => None,
        }
    }

    /// The word for it in views and reports.
    pub fn word(&self) -> &'static str {
        match self {
            LaneState::Queued => "queued",
            LaneState::Between => "next stage",
            LaneState::Working(worker) => match worker.state {
                WorkerState::Spawning => "spawning",
                WorkerState::Running { .. } => "running",
                WorkerState::Idle { .. } => "idle",
                WorkerState::Limited { .. } => "limited",
                WorkerState::Silent { .. } => "silent",
                WorkerState::Stopping { .. } => "stopping",
            },
            LaneState::Dead { .. } => "dead",
            LaneState::Proving { .. } => "proving",
            LaneState::Parked { .. } => "parked",
            LaneState::Reworking { .. } => "rework",
            LaneState::Closing(Closing::Queued) => "to merge",
            LaneState::Closing(Closing::Gates { .. }) => "gates",
            LaneState::Closing(Closing::Approving { .. }) => "approval",
            LaneState::Closing(Closing::Preparing | Closing::Merging) => "merging",
            LaneState::Closing(Closing::Finishing) => "finishing",
            LaneState::Integrated => "collected",
            LaneState::Done => "done",
            LaneState::Paused { .. } => "paused",
        }
    }
}

impl Lane {
    /// Forgets what was granted: the user freed it, so it has every restart and rework again.
    pub fn grant_anew(&mut self) {
        self.waves_left += self.counts.waves;
        self.counts = Counts::default();
    }

    /// A lane of which only the name is known.
    pub fn new(name: impl Into<String>, group: GroupAt) -> Lane {
        Lane {
            name: name.into(),
            group,
            phase: 0,
            priority: 100,
            depends_on: Vec::new(),
            stages: Vec::new(),
            stage: 0,
            gates: Vec::new(),
            accounts: vec![String::new()],
            halts_group: false,
            waves_left: 0,
            counts: Counts::default(),
            readiness: None,
            not_before: None,
            state: LaneState::Queued,
        }
    }

    /// Whether it goes through stages.
    pub fn is_staged(&self) -> bool {
        !self.stages.is_empty()
    }

    /// The stage that follows another one.
    pub fn stage_after(&self, stage: u8) -> Option<u8> {
        self.stages.iter().copied().find(|next| *next > stage)
    }

    /// Whether nothing is left of it but to merge and record it, when its stage results in this.
    pub fn ends_with(&self, result: &StageResult) -> bool {
        let is_last = self.stage_after(self.stage).is_none();
        match result {
            StageResult::Passed { .. } | StageResult::Done => true,
            StageResult::Planned { score } => is_last && *score >= 2.0,
            StageResult::Go { .. } | StageResult::Executed => is_last,
            StageResult::NoGo { .. } | StageResult::Failed { .. } | StageResult::Moved { .. } => false,
        }
    }

    /// The protocol's name of the worker that is at it: `story-X-s2`, `…-retry`, `…-s2-fix1`.
    pub fn worker_name(&self, id: &str, how: How) -> String {
        let base = match self.is_staged() {
            false => format!("worker-{id}"),
            true => format!("story-{id}-s{}", self.stage),
        };
        match how {
            How::Session | How::Brief => format!("{base}-retry"),
            How::Fresh if self.is_staged() && self.stage == 2 && self.counts.reworks > 0 => {
                format!("{base}-fix{}", self.counts.reworks)
            }
            How::Fresh => base,
        }
    }
}
