//! Who records something, and what comes of it.

use std::fmt;
use std::time::Duration;

use piton_model::{Hint, Refusal, Ticket, Time, UnitRef};
use piton_store::ContactError;
use piton_store::disk::DiskError;

use crate::find::NotFound;
use crate::target::NoTarget;

/// Who records something, and how long they wait for it.
#[derive(Debug, Clone)]
pub struct Recorder {
    /// The moment.
    pub now: Time,
    /// Who records it.
    pub by: String,
    /// The attempt that the writer belongs to, and which of its workers it is; nothing when it does not say.
    pub attempt: Option<Ticket>,
    /// The unit that the attempt is of, where the writer's environment names both. The attempt holds for no other one.
    pub own: Option<UnitRef>,
    /// The worker's own session, when it is known.
    pub session: Option<String>,
    /// How long to wait for a lock.
    pub wait: Duration,
    /// What the holder of a lock is called.
    pub holder: String,
}

/// What became true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The unit.
    pub unit: String,
    /// The number of the event.
    pub seq: u64,
    /// The unit's attempt.
    pub attempt: u64,
    /// What became true.
    pub summary: String,
    /// What has to be said loudly.
    pub warnings: Vec<Hint>,
    /// What its writer does next, where it has not done its part yet.
    pub next: Option<Hint>,
    /// The text for the session of whoever goes on, where a crew's agent got another one.
    pub handoff: Option<String>,
}

/// Why nothing was recorded.
#[derive(Debug)]
pub enum RecordError {
    /// There is no such unit.
    NotFound(NotFound),
    /// A rule forbids it.
    Refused(Refusal),
    /// Somebody else holds the unit.
    Busy {
        /// The unit.
        unit: String,
        /// Who holds it, when that is known.
        holder: Option<String>,
    },
    /// A disk failed, or a document cannot be read.
    Failed {
        /// What happened, with the path it happened to.
        message: String,
    },
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordError::NotFound(error) => write!(f, "{error}"),
            RecordError::Refused(refusal) => write!(f, "{refusal}"),
            RecordError::Busy { unit, .. } => write!(f, "somebody else holds {unit}"),
            RecordError::Failed { message } => f.write_str(message),
        }
    }
}

impl From<DiskError> for RecordError {
    fn from(error: DiskError) -> RecordError {
        RecordError::Failed { message: error.to_string() }
    }
}

impl From<ContactError> for RecordError {
    fn from(error: ContactError) -> RecordError {
        RecordError::Failed { message: error.to_string() }
    }
}

impl From<NoTarget> for RecordError {
    fn from(error: NoTarget) -> RecordError {
        match error {
            NoTarget::NotFound(error) => RecordError::NotFound(error),
            NoTarget::Disk(error) => error.into(),
        }
    }
}

/// How a commit ended that did not happen.
pub(super) enum Committing {
    Raced,
    Failed(RecordError),
}

impl From<Committing> for RecordError {
    fn from(error: Committing) -> RecordError {
        match error {
            Committing::Raced => RecordError::Failed { message: "somebody else writes the same file".to_owned() },
            Committing::Failed(error) => error,
        }
    }
}
