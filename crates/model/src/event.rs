use crate::{Ticket, Time};

/// Something that happened to a unit and is to be recorded. Every door turns what it is told into one of these.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The unit came into being, or began anew.
    Started(Start),
    /// Steps moved.
    StepMoved(StepMove),
    /// The unit entered a stage or phase.
    StageEntered {
        /// Its name or number, as typed.
        stage: String,
        /// What a person calls the phase.
        phase: Option<String>,
    },
    /// Gates or acceptance criteria were judged.
    GateJudged(GateJudgement),
    /// The user took acceptance criteria out of a task: nothing judges them any more.
    CriteriaDropped {
        /// Their names.
        names: Vec<String>,
    },
    /// Somebody gave a verdict or a score.
    VerdictGiven(Verdict),
    /// Something keeps the unit from going on.
    Blocked {
        /// What.
        message: String,
        /// What kind of thing, in the dialect's words.
        kind: Option<String>,
    },
    /// What kept it is gone.
    Unblocked {
        /// Which blocker, when only one of several is gone.
        which: Option<String>,
        /// What the next worker is told about it, as an instruction.
        answer: Option<String>,
    },
    /// Somebody stopped it on purpose.
    Paused {
        /// Why.
        reason: Option<String>,
    },
    /// Something broke.
    Failed {
        /// At which step.
        step: Option<String>,
        /// What.
        message: String,
        /// In which file.
        file: Option<String>,
        /// In which line of it.
        line: Option<u64>,
    },
    /// A note was taken.
    Noted {
        /// What it says.
        text: String,
        /// What it is for.
        purpose: NotePurpose,
    },
    /// The protocol's execution notes: a fix that was made on the way, or a cleanup.
    ExecutionNoted(ExecutionNote),
    /// Something was decided.
    Decided {
        /// What.
        text: String,
        /// Why.
        reason: Option<String>,
    },
    /// The worker gave a sign of life.
    Beat,
    /// All work is done.
    Finished,
    /// The same or another worker continues it.
    Resumed {
        /// How an interrupted stretch is treated, where the dialect asks.
        mode: Option<ResumeMode>,
    },
    /// Another agent takes the unit over.
    TakenOver {
        /// Its new agent.
        agent: String,
    },
    /// The unit begins again from nothing; what there was is archived.
    Restarted {
        /// Whether much recorded work is given up knowingly.
        force: bool,
    },
    /// A unit that claims to be done is opened again for what is missing.
    Reopened,
    /// The documents were brought into line with each other by the dialect's own rules.
    Repaired,
    /// A copy of the state was kept, for a reason that the dialect knows.
    BackedUp {
        /// That reason, such as `pre_subagent_spawn`.
        reason: String,
    },
    /// A helper of the worker began.
    HelperStarted {
        /// Its type.
        kind: String,
        /// Its id, when it has one.
        agent: Option<String>,
        /// The steps it was given.
        steps: Vec<String>,
    },
    /// A helper of the worker ended.
    HelperStopped {
        /// Its type.
        kind: String,
        /// Its id, when it has one.
        agent: Option<String>,
        /// The steps that are done by it.
        completed: Vec<String>,
    },
    /// Ids were given to steps that had none.
    Marked,
    /// A stretch of work came to its end, and what a session knows of it is kept: before its context is made shorter,
    /// when a turn or the session ends.
    Checkpointed {
        /// Which end it is, such as `session_end` or `pre_compact`.
        reason: String,
        /// What the session said last.
        note: Option<String>,
    },
    /// A session went away without an end. Somebody else says so, later.
    Crashed {
        /// That session.
        session: String,
    },
    /// The worker made or changed files.
    FilesTouched {
        /// Files that were not there before.
        created: Vec<String>,
        /// Files that were.
        modified: Vec<String>,
    },
    /// A tool that the worker used failed. It does not keep the unit from going on.
    ToolFailed {
        /// The tool's name.
        tool: String,
        /// What it said.
        message: String,
    },
}

/// How a unit starts. Each dialect takes what it knows and refuses what it does not.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Start {
    /// What a person calls it.
    pub title: Option<String>,
    /// The specification it follows: path and text.
    pub spec: Option<(String, String)>,
    /// Its steps.
    pub steps: Vec<String>,
    /// Its gates.
    pub gates: Vec<String>,
    /// Its acceptance criteria.
    pub criteria: Vec<String>,
    /// How many steps there are, when not all of them are named.
    pub total: Option<u64>,
    /// What the agent is called by people.
    pub agent_name: Option<String>,
    /// The feature it is about.
    pub feature: Option<String>,
    /// The stage it starts in.
    pub stage: Option<String>,
    /// Primary or secondary.
    pub agent_type: Option<String>,
    /// The worker's own session.
    pub session: Option<String>,
    /// How long it is expected to take, in minutes.
    pub estimate_minutes: Option<u64>,
    /// The tasks of a story whose stages leave planning out; they come before [`Start::steps`].
    pub tasks: Vec<PlannedTask>,
    /// Whether it takes the place of an agent's feature that is not finished; that one is archived.
    pub replaces: bool,
}

/// A task of a story, as it was planned.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlannedTask {
    /// Its id.
    pub id: String,
    /// What a person calls it.
    pub title: Option<String>,
    /// What is to be done.
    pub description: Option<String>,
}

/// Steps that moved, and what is known about it.
#[derive(Debug, Clone, PartialEq)]
pub struct StepMove {
    /// Where to.
    pub to: StepTo,
    /// Which steps; at least one.
    pub steps: Vec<String>,
    /// What the step produced.
    pub outputs: Vec<String>,
    /// Files that were changed on the way.
    pub files: Vec<String>,
    /// What comes next.
    pub next: Option<String>,
    /// What there is to say.
    pub message: Option<String>,
    /// What proves it.
    pub evidence: Option<Evidence>,
    /// What a person calls the step, where the dialect keeps that.
    pub title: Option<String>,
    /// What is to be done in the step, where the dialect keeps that.
    pub description: Option<String>,
}

impl StepMove {
    /// Steps that move, and nothing else to say about it.
    pub fn new(to: StepTo, steps: Vec<String>) -> StepMove {
        StepMove {
            to,
            steps,
            outputs: Vec::new(),
            files: Vec::new(),
            next: None,
            message: None,
            evidence: None,
            title: None,
            description: None,
        }
    }
}

/// Where a step moves to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepTo {
    /// Somebody is at it.
    Begun,
    /// It is done.
    Done,
    /// It failed.
    Failed,
    /// It is left out on purpose.
    Skipped,
}

/// Gates that were judged.
#[derive(Debug, Clone, PartialEq)]
pub struct GateJudgement {
    /// Whether they pass.
    pub passed: bool,
    /// Their names; at least one.
    pub names: Vec<String>,
    /// The step they belong to.
    pub step: Option<String>,
    /// What proves it.
    pub evidence: Option<Evidence>,
}

/// A verdict or a score.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Verdict {
    /// The word, as typed.
    pub word: String,
    /// A score, in the dialect's scale.
    pub score: Option<f64>,
    /// Why.
    pub reason: Option<String>,
    /// What is wrong.
    pub issues: Option<String>,
    /// Who judged, when that is not the one who records it.
    pub reviewer: Option<String>,
    /// Findings that block.
    pub p0: Option<u64>,
    /// Findings that should be mended.
    pub p1: Option<u64>,
    /// Where the whole report is.
    pub report: Option<String>,
}

/// What proves that a step or gate is what it is said to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The command that was run.
    pub command: String,
    /// How it ended.
    pub exit_code: i32,
    /// What it printed, as a digest.
    pub digest: String,
    /// The last lines of what it printed.
    pub tail: String,
    /// The tree of the commit that it was run on; nothing when there is no repository.
    pub tree: Option<String>,
}

impl Evidence {
    /// That a gate failed, with its command and the last line that it printed.
    pub fn failure(&self, gate: &str) -> String {
        let last = self.tail.lines().map(str::trim).rfind(|line| !line.is_empty());
        let last = last.map_or_else(String::new, |last| format!(": {last}"));
        let text = format!("the gate {gate} failed: `{}` ended with exit code {}{last}", self.command, self.exit_code);
        crate::text::printable(&text).into_owned()
    }
}

/// What a note is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotePurpose {
    /// To be kept.
    Note,
    /// To be followed by whoever resumes.
    ResumeInstruction,
}

/// What was mended or cleaned up on the way, where a protocol has a list for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecutionNote {
    /// A change to a file.
    Fix {
        /// Which list it belongs to.
        kind: FixKind,
        /// The file.
        file: String,
        /// What was changed in it.
        change: String,
    },
    /// Something that was cleaned up.
    Cleanup {
        /// What.
        text: String,
    },
}

/// The kinds of fixes that a build lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FixKind {
    /// The linter asked for it.
    Eslint,
    /// It is worth knowing.
    Key,
}

/// How an interrupted stretch is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumeMode {
    /// What was begun is begun again.
    Restart,
    /// What was begun goes on.
    Continue,
    /// What failed is fixed.
    Fixed,
}

/// Who records something, when, and as which incarnation of the unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// When.
    pub now: Time,
    /// Who: `main`, `subagent:{type}`, `team:{id}`, an agent's name.
    pub by: String,
    /// The attempt that this belongs to; for an event that begins one, the new one.
    pub attempt: u64,
    /// The worker's own session, when it is known.
    pub session: Option<String>,
    /// An id that nobody has used, for a dialect that needs one.
    pub fresh_id: String,
    /// The ticket that the writer showed: a worker has one, a person and the lead have none.
    pub ticket: Option<Ticket>,
}

impl Moment {
    /// Whether one of several workers that share the unit records it, and not the lead or a person.
    pub fn is_of_fleet_worker(&self) -> bool {
        self.ticket.is_some_and(|ticket| ticket.worker.is_some())
    }
}

impl Event {
    /// Its name in the journal.
    pub fn name(&self) -> &'static str {
        match self {
            Event::Started(_) => "started",
            Event::StepMoved(moved) => match moved.to {
                StepTo::Begun => "step_begun",
                StepTo::Done => "step_done",
                StepTo::Failed => "step_failed",
                StepTo::Skipped => "step_skipped",
            },
            Event::StageEntered { .. } => "stage_entered",
            Event::GateJudged(judged) => match judged.passed {
                true => "gate_passed",
                false => "gate_failed",
            },
            Event::CriteriaDropped { .. } => "criteria_dropped",
            Event::VerdictGiven(_) => "verdict_given",
            Event::Blocked { .. } => "blocked",
            Event::Unblocked { .. } => "unblocked",
            Event::Paused { .. } => "paused",
            Event::Failed { .. } => "failed",
            Event::Noted { .. } => "noted",
            Event::ExecutionNoted(_) => "execution_noted",
            Event::Decided { .. } => "decided",
            Event::Beat => "beat",
            Event::Finished => "finished",
            Event::Resumed { .. } => "resumed",
            Event::TakenOver { .. } => "taken_over",
            Event::Restarted { .. } => "restarted",
            Event::Reopened => "reopened",
            Event::Repaired => "repaired",
            Event::BackedUp { .. } => "backed_up",
            Event::HelperStarted { .. } => "helper_started",
            Event::HelperStopped { .. } => "helper_stopped",
            Event::Marked => "marked",
            Event::Checkpointed { .. } => "checkpointed",
            Event::Crashed { .. } => "crashed",
            Event::FilesTouched { .. } => "files_touched",
            Event::ToolFailed { .. } => "tool_failed",
        }
    }

    /// Whether it begins a new attempt, so that older writers are shut out.
    pub fn begins_attempt(&self) -> bool {
        matches!(
            self,
            Event::Started(_)
                | Event::Resumed { .. }
                | Event::TakenOver { .. }
                | Event::Restarted { .. }
                | Event::Reopened
        )
    }
}
