//! Errors as users see them: words, a hint, an exit code. Exit codes are chosen nowhere else; the words and hints of
//! what an operation of the engine says are the engine's own (`Problem`).

use std::fmt;
use std::io::Write as _;

use piton_engine::{CheckError, GitError, NotFound, OpenError, Problem, ProblemKind, RecordError, WorktreesError};
use piton_model::text::printable;
use piton_model::{BadUnit, Hint, Refusal, UnitRef};

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
    hints: Vec<Hint>,
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
    pub fn hint(mut self, hint: impl Into<Hint>) -> Failure {
        self.hints.push(hint.into());
        self
    }

    /// Prints it to standard error.
    pub fn print(&self) {
        // A terminal that is gone must not change how a command ends.
        let _ = std::io::stderr().write_all(self.to_string().as_bytes());
    }

    /// A name that cannot be a unit's.
    pub fn bad_unit(typed: &str, error: &BadUnit) -> Failure {
        Problem::bad_unit(typed, error).into()
    }

    /// A unit that is not there.
    pub fn not_found(wanted: impl fmt::Display, error: &NotFound) -> Failure {
        Problem::not_found(wanted, error).into()
    }

    /// Something that was not recorded.
    pub fn record(wanted: impl fmt::Display, error: &RecordError) -> Failure {
        Problem::record(wanted, error).into()
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
            WorktreesError::NoRepository => {
                Failure::new(NOTHING, "this is no git repository").hint("name one with -C DIR")
            }
            WorktreesError::Git(error) => Failure::git(error),
        }
    }

    /// Something that git does not do.
    pub fn git(error: &GitError) -> Failure {
        error.hint().into_iter().fold(Failure::new(FAILED, error.to_string()), Failure::hint)
    }

    /// Something that a rule forbids.
    pub fn refused(refusal: &Refusal) -> Failure {
        Problem::refused(refusal).into()
    }

    /// A check that could not be made.
    pub fn check(wanted: Option<&UnitRef>, error: &CheckError) -> Failure {
        Problem::check(wanted, error).into()
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Failure {
        let code = match problem.kind {
            ProblemKind::Failed => FAILED,
            ProblemKind::Usage => USAGE,
            ProblemKind::Refused => REFUSED,
            ProblemKind::Missing => NOTHING,
            ProblemKind::Busy => BUSY,
        };
        problem.hints.into_iter().fold(Failure::new(code, problem.message), Failure::hint)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error: {}", printable(&self.message))?;
        self.quoted.iter().try_for_each(|line| writeln!(f, "  | {}", printable(line)))?;
        self.hints.iter().try_for_each(|hint| writeln!(f, "hint: {}", printable(&hint.to_string())))
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Failure {
        Problem::from(&error).into()
    }
}
