use std::fmt;
use std::sync::Arc;

use crate::hint::{Hint, Verb};

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// A rule of the dialect is broken; what depends on it cannot be trusted.
    Error,
    /// Something is off, but it could still be read.
    Warning,
    /// Worth knowing; nothing is wrong.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        })
    }
}

/// A kind of finding: its stable name, how much it matters, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    /// The name that scripts rely on, such as `build-buckets-overlap`.
    pub name: &'static str,
    /// How much every finding of this kind matters.
    pub severity: Severity,
    /// What to do, in a line.
    pub help: &'static str,
    /// The command that does it, if one does, and what the reader fills in: a finding knows a file, not a unit.
    pub command: Option<(&'static Verb, &'static str)>,
    /// What it means and why it matters, for the page in `docs/`.
    pub meaning: &'static str,
}

impl Code {
    /// What to do about a finding of this kind.
    pub fn hint(&self) -> Hint {
        match self.command {
            Some((verb, fill)) => verb.call().fill(fill).to(self.help),
            None => Hint::text(self.help),
        }
    }
}

/// Where something was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, relative to the workspace where it is inside.
    pub path: Arc<str>,
    /// The line, counted from 1, when the finding is about one.
    pub line: Option<u32>,
}

/// Something odd in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What kind of oddity.
    pub code: &'static Code,
    /// Where it is.
    pub place: Place,
    /// What exactly is there: a lower-case fragment without a full stop.
    pub message: String,
}

/// How many findings there are of each severity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Findings at the level of an error.
    pub error: u32,
    /// Findings at the level of a warning.
    pub warning: u32,
    /// Findings at the level of a note.
    pub note: u32,
}

impl Tally {
    /// Counts findings.
    pub fn of<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Tally {
        let mut tally = Tally::default();
        for finding in findings {
            match finding.code.severity {
                Severity::Error => tally.error += 1,
                Severity::Warning => tally.warning += 1,
                Severity::Note => tally.note += 1,
            }
        }
        tally
    }

    /// Adds another count to this one.
    pub fn add(&mut self, other: Tally) {
        self.error += other.error;
        self.warning += other.warning;
        self.note += other.note;
    }
}
