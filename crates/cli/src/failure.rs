//! Errors as users see them: words, a hint, an exit code. Nowhere else are these chosen.

use std::fmt;

use piton_engine::{CheckError, GitError, NotFound, OpenError, RecordError, WorktreesError};
use piton_model::text::printable;
use piton_model::{BadUnit, Refusal, RefusalKind, UnitRef};

/// I/O and everything internal.
pub const FAILED: u8 = 1;
/// The command line is wrong.
pub const USAGE: u8 = 2;
/// `check` found an error.
pub const FOUND_ERRORS: u8 = 3;
/// Refused by a rule: an illegal transition, an older attempt, a live agent.
pub const REFUSED: u8 = 4;
/// No such unit, step or file.
pub const NOTHING: u8 = 5;
/// Somebody else held the lock for too long.
pub const BUSY: u8 = 6;
/// `stale` found somebody.
pub const FOUND_STALE: u8 = 7;

/// Why a command ended without doing what it was asked to.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub code: u8,
    message: String,
    quoted: Vec<String>,
    hints: Vec<String>,
}

impl Failure {
    /// A failure with its exit code; the message is a lower-case fragment.
    pub fn new(code: u8, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into(), quoted: Vec::new(), hints: Vec::new() }
    }

    /// Adds lines that somebody else printed.
    pub fn quote(mut self, text: &str) -> Failure {
        self.quoted.extend(text.lines().map(str::to_owned));
        self
    }

    /// Adds what to do next.
    pub fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hints.push(hint.into());
        self
    }

    /// Prints it to standard error.
    pub fn print(&self) {
        eprint!("{self}");
    }

    /// A name that cannot be a unit's.
    pub fn bad_unit(typed: &str, error: &BadUnit) -> Failure {
        Failure::new(USAGE, format!("{error}: {typed}"))
            .hint("a unit is written dialect:id, such as build:PRD-009 or task:migration/T060")
    }

    /// A unit that is not there.
    pub fn not_found(wanted: impl fmt::Display, error: &NotFound) -> Failure {
        match error {
            NotFound::Nothing { similar } if similar.is_empty() => {
                Failure::new(NOTHING, format!("{error}: {wanted}")).hint("list all units with: piton status --all")
            }
            NotFound::Nothing { similar } => Failure::new(NOTHING, format!("{error}: {wanted}"))
                .hint(format!("did you mean {}?", similar.join(" or "))),
            NotFound::Ambiguous { names } => {
                let failure = Failure::new(USAGE, format!("{error}: {wanted}"));
                names.iter().fold(failure, |failure, name| failure.hint(format!("name one of them: {name}")))
            }
        }
    }

    /// Something that was not recorded.
    pub fn record(wanted: impl fmt::Display, error: &RecordError) -> Failure {
        match error {
            RecordError::NotFound(error) => Failure::not_found(wanted, error),
            RecordError::Refused(refusal) => Failure::refused(refusal),
            RecordError::Busy { holder, .. } => {
                let who = holder.as_ref().map_or_else(String::new, |holder| format!(": {holder}"));
                Failure::new(BUSY, format!("{error}{who}")).hint(
                    "wait longer with --wait SECONDS; a lock goes with its process, so nothing has to be cleaned up",
                )
            }
            RecordError::Failed { message } => {
                let failure = Failure::new(FAILED, message.clone());
                match message.contains("No space left") {
                    true => failure.hint("nothing has changed; make room on the disk and run the same command again"),
                    false => failure.hint(format!("see what is wrong: piton check {wanted}")),
                }
            }
        }
    }

    /// Worktrees that cannot be listed, cleaned up or restored.
    pub fn worktrees(error: &WorktreesError) -> Failure {
        match error {
            WorktreesError::NoSnapshot { name, known } if known.is_empty() => {
                Failure::new(NOTHING, format!("there is no snapshot of {name}, nor any other"))
            }
            WorktreesError::NoSnapshot { name, known } => {
                Failure::new(NOTHING, format!("there is no snapshot of {name}"))
                    .hint(format!("there are snapshots of {}", known.join(", ")))
            }
            WorktreesError::Git(GitError::Failed { message, .. }) if message.contains("not a git repository") => {
                Failure::new(NOTHING, "this is no git repository").hint("name one with -C DIR")
            }
            WorktreesError::Git(error) => Failure::new(FAILED, error.to_string()),
        }
    }

    /// Something that a rule forbids.
    pub fn refused(refusal: &Refusal) -> Failure {
        let code = match refusal.kind {
            RefusalKind::Rule => REFUSED,
            RefusalKind::Missing => NOTHING,
            RefusalKind::Usage => USAGE,
            RefusalKind::Document => FAILED,
        };
        refusal.hints.iter().fold(Failure::new(code, refusal.message.clone()), Failure::hint)
    }

    /// A check that could not be made.
    pub fn check(wanted: Option<&UnitRef>, error: &CheckError) -> Failure {
        match (error, wanted) {
            (CheckError::Unit(error), Some(wanted)) => Failure::not_found(wanted, error),
            (CheckError::Missing { .. }, _) => Failure::new(NOTHING, error.to_string()),
            (CheckError::Unit(_) | CheckError::Open(_), _) => Failure::new(FAILED, error.to_string()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error: {}", printable(&self.message))?;
        self.quoted.iter().try_for_each(|line| writeln!(f, "  | {}", printable(line)))?;
        self.hints.iter().try_for_each(|hint| writeln!(f, "hint: {}", printable(hint)))
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Failure {
        let code = match error.error.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => NOTHING,
            _ => FAILED,
        };
        Failure::new(code, error.to_string()).hint("name a directory with -C DIR")
    }
}
