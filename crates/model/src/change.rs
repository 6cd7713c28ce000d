use std::fmt;

use crate::Hint;

/// What a writer of a dialect decides: files to be written, and what is true then. Nothing has happened yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// What became true, for the line that a command prints: `WS1 done (2/5)`.
    pub summary: String,
    /// What has to be said loudly beside it: progress that went backwards, two tasks at one file.
    pub warnings: Vec<Hint>,
    /// What its writer does next, where it has not done its part yet.
    pub next: Option<Hint>,
    /// What happens to files, in this order. Paths are relative to the workspace.
    pub effects: Vec<Effect>,
}

/// Something that happens to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// A document of the unit gets new content; every version of it is kept in the journal.
    Write {
        /// The document.
        path: String,
        /// All of its new bytes.
        bytes: Vec<u8>,
    },
    /// A document of the unit changes at some places, as it was read for this decision. What stays of it is not copied:
    /// it may be megabytes, of which one byte changes.
    Edit {
        /// The document.
        path: String,
        /// The places, in order.
        edits: Vec<Edit>,
        /// The digest of all that it holds then, where that is known already.
        digest: Option<Digest>,
    },
    /// A file that units share gets new content: a table of all tasks, a mailbox.
    Share {
        /// The file.
        path: String,
        /// All of its new bytes.
        bytes: Vec<u8>,
        /// What it held when the new content was made; nothing when it was not there.
        before: Option<Vec<u8>>,
    },
    /// A line is added at the end of a log. Where the log ends inside of a line, that line is closed first.
    Append {
        /// The log.
        path: String,
        /// The line, with its end.
        line: String,
    },
    /// What a document holds before this change is kept under another name, which must be free.
    Keep {
        /// The document.
        from: String,
        /// Its copy.
        to: String,
    },
    /// A file goes, because what it held is kept elsewhere by this change or is one copy too many.
    Remove {
        /// The file.
        path: String,
    },
}

impl Effect {
    /// The file that it is about; of two the one that comes into being.
    pub fn path(&self) -> &str {
        match self {
            Effect::Write { path, .. }
            | Effect::Edit { path, .. }
            | Effect::Share { path, .. }
            | Effect::Append { path, .. }
            | Effect::Remove { path } => path,
            Effect::Keep { to, .. } => to,
        }
    }
}

/// What tells the content of a file from any other: the first half of its SHA-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(pub [u8; 16]);

/// A place of a text that changes: some bytes go, and others come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Where, in the text before.
    pub at: usize,
    /// How many bytes go.
    pub removed: usize,
    /// What comes.
    pub inserted: Vec<u8>,
}

impl Edit {
    /// A text with edits, as the pieces that it then consists of; nothing when they do not fit: each is to begin behind
    /// the end of the one before, and to end inside of the text.
    pub fn parts<'t>(before: &'t [u8], edits: &'t [Edit]) -> Option<Vec<&'t [u8]>> {
        let mut parts = Vec::with_capacity(2 * edits.len() + 1);
        let mut done = 0;
        for Edit { at, removed, inserted } in edits {
            parts.push(before.get(done..*at)?);
            parts.push(inserted.as_slice());
            done = at.checked_add(*removed).filter(|end| *end <= before.len())?;
        }
        parts.push(&before[done..]);
        Some(parts)
    }
}

/// Why something is not recorded. Nothing has changed then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What kind of refusal it is.
    pub kind: RefusalKind,
    /// What is refused and why, as a lower-case fragment.
    pub message: String,
    /// What would be possible, each as something to do next.
    pub hints: Vec<Hint>,
}

/// Kinds of refusal, each with an exit code of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// A rule forbids it.
    Rule,
    /// The unit, step, gate or file that it is about does not exist.
    Missing,
    /// Something is missing or wrong in what was asked.
    Usage,
    /// A document is in the way: unreadable, foreign, not a file.
    Document,
}

impl Refusal {
    /// Something that a rule forbids.
    pub fn rule(message: impl Into<String>) -> Refusal {
        Refusal { kind: RefusalKind::Rule, message: message.into(), hints: Vec::new() }
    }

    /// Something that does not exist.
    pub fn missing(message: impl Into<String>) -> Refusal {
        Refusal { kind: RefusalKind::Missing, ..Refusal::rule(message) }
    }

    /// Something that was asked in a way that cannot be understood.
    pub fn usage(message: impl Into<String>) -> Refusal {
        Refusal { kind: RefusalKind::Usage, ..Refusal::rule(message) }
    }

    /// A document that is in the way.
    pub fn document(message: impl Into<String>) -> Refusal {
        Refusal { kind: RefusalKind::Document, ..Refusal::rule(message) }
    }

    /// Adds what would be possible.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Hint>) -> Refusal {
        self.hints.push(hint.into());
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
