use std::sync::Arc;

use crate::{Dialect, Sign, State, Time};

/// Why no agent is expected to be at work on a unit whose document is damaged.
const UNREADABLE: &str = "its document cannot be read";

/// What has a checkpoint of its own, in any dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// The protocol it follows.
    pub dialect: Dialect,
    /// Its id as the dialect writes it; for a task `agent/task`.
    pub id: String,
    /// What a person calls it.
    pub title: Option<String>,
    /// Where it stands.
    pub state: State,
    /// The status as the document words it.
    pub status_text: String,
    /// Where it is in the dialect's own sequence: a stage, a phase.
    pub stage: Option<String>,
    /// What is being done there, or comes next.
    pub current: Option<String>,
    /// Its pieces of work.
    pub steps: Vec<Step>,
    /// How much of it is done. Not always the count of `steps`, which may be a sample.
    pub progress: Progress,
    /// Its checks.
    pub gates: Vec<Gate>,
    /// Who works on it, as recorded.
    pub agent: Option<String>,
    /// The worker's own session, as recorded.
    pub session: Option<String>,
    /// The number of its current incarnation, when Piton has given one.
    pub attempt: Option<u64>,
    /// Whether a worker is expected to be at it now.
    pub claim: Claim,
    /// Everything that may show that the worker lives.
    pub signs: Vec<Sign>,
    /// Whether its document allows it to be resumed.
    pub resumable: bool,
    /// What keeps it from going on.
    pub blockers: Vec<String>,
    /// What was decided on the way.
    pub decisions: Vec<Decision>,
    /// What went wrong.
    pub troubles: Vec<Trouble>,
    /// Files it says it made or changed.
    pub files: Vec<String>,
    /// Anything else worth telling whoever continues it.
    pub notes: Vec<Note>,
    /// The files it was read from; the first one is the one that counts.
    pub documents: Vec<Document>,
}

impl Unit {
    /// A unit about which nothing is known yet but its name and its main document.
    pub fn new(dialect: Dialect, id: impl Into<String>, document: Document) -> Unit {
        Unit {
            dialect,
            id: id.into(),
            title: None,
            state: State::Unknown,
            status_text: String::new(),
            stage: None,
            current: None,
            steps: Vec::new(),
            progress: Progress::default(),
            gates: Vec::new(),
            agent: None,
            session: None,
            attempt: None,
            claim: Claim::Nobody { why: "its status is not understood" },
            signs: Vec::new(),
            resumable: false,
            blockers: Vec::new(),
            decisions: Vec::new(),
            troubles: Vec::new(),
            files: Vec::new(),
            notes: Vec::new(),
            documents: vec![document],
        }
    }

    /// A unit that is known by its name, and has no document.
    pub fn without_document(dialect: Dialect, id: impl Into<String>) -> Unit {
        let none = Document { path: "".into(), role: Role::Main, modified: None };
        Unit { documents: Vec::new(), ..Unit::new(dialect, id, none) }
    }

    /// A unit whose document is there but cannot be read: it is shown, so that it is not forgotten.
    pub fn unreadable(dialect: Dialect, id: impl Into<String>, document: Document) -> Unit {
        let claim = Claim::Nobody { why: UNREADABLE };
        Unit { status_text: "unreadable".to_owned(), claim, ..Unit::new(dialect, id, document) }
    }

    /// Whether its document is there but cannot be read.
    pub fn is_unreadable(&self) -> bool {
        self.claim == Claim::Nobody { why: UNREADABLE }
    }

    /// Stage and current step in one line.
    pub fn position(&self) -> Option<String> {
        match (&self.stage, &self.current) {
            (Some(stage), Some(current)) => Some([stage, " · ", current].concat()),
            (stage, current) => stage.clone().or_else(|| current.clone()),
        }
    }
}

/// Whether somebody is expected to be at work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// The document says that a worker is at it.
    Worker,
    /// It says that nobody is.
    Nobody {
        /// The reason, to be put after "because".
        why: &'static str,
    },
}

/// How much is done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Steps done.
    pub done: u64,
    /// All steps; zero when the dialect does not count them.
    pub total: u64,
}

/// A piece of a unit's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its id within the unit.
    pub id: String,
    /// What is to be done, where the document says more than the id.
    pub title: Option<String>,
    /// The stage or phase it belongs to.
    pub stage: Option<Arc<str>>,
    /// How far it is.
    pub state: StepState,
}

/// How far a step is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepState {
    /// Nobody has begun it.
    Pending,
    /// Somebody is at it.
    Running,
    /// It is done.
    Done {
        /// Who did it, when that is recorded.
        by: Option<String>,
        /// When, when that is recorded.
        at: Option<String>,
        /// What it produced.
        outputs: Vec<String>,
    },
    /// It failed.
    Failed,
    /// It was left out on purpose.
    Skipped,
}

/// A check that must pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// Its name.
    pub name: String,
    /// The step it belongs to, when it belongs to one.
    pub step: Option<String>,
    /// The stage or phase it belongs to.
    pub stage: Option<Arc<str>>,
    /// Whether it has passed.
    pub state: GateState,
}

/// Whether a gate has passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateState {
    /// Not yet judged, or judged not to pass yet.
    Pending,
    /// Passed.
    Passed {
        /// A score or the word of a verdict, when there is one.
        result: Option<String>,
    },
    /// Failed.
    Failed {
        /// A score or the word of a verdict, when there is one.
        result: Option<String>,
    },
}

/// Something that was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// When, as written.
    pub time: Option<String>,
    /// What.
    pub text: String,
    /// Why.
    pub reason: Option<String>,
}

/// Something that went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// When, as written.
    pub time: Option<String>,
    /// What happened.
    pub message: String,
    /// Where: a step or a file with its line.
    pub place: Option<String>,
}

/// A named piece of information.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What it is, in the words of the dialect's key.
    pub label: &'static str,
    /// What it says.
    pub text: String,
}

/// A file that a unit was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The path, relative to the workspace where it is inside.
    pub path: Arc<str>,
    /// What it is to the unit.
    pub role: Role,
    /// When it was last written.
    pub modified: Option<Time>,
}

/// What a file is to a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// The document that counts.
    Main,
    /// One that adds to it: a state file, a phase file, a specification.
    Companion,
    /// An older document of the same unit that another one has replaced.
    Superseded,
    /// A copy kept on completion or take-over.
    Archive,
    /// A copy kept for repair.
    Backup,
}
