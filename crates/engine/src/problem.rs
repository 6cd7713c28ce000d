//! Why an operation did not do what it was asked to, for whoever has to act on it: words, and what to do next.

use std::fmt;

use piton_model::hint::verbs;
use piton_model::{BadUnit, Hint, Refusal, RefusalKind, UnitRef};

use crate::{CheckError, NotFound, OpenError, RecordError, Resumption};

/// What kind of problem it is. A door has a code or a word for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemKind {
    /// I/O and everything internal.
    Failed,
    /// What was asked cannot be meant.
    Usage,
    /// A rule forbids it: an illegal transition, an older attempt, a live agent.
    Refused,
    /// No such unit, step or file.
    Missing,
    /// Somebody else held the lock for too long.
    Busy,
}

impl ProblemKind {
    /// The word that programs rely on.
    pub fn word(self) -> &'static str {
        match self {
            ProblemKind::Failed => "failed",
            ProblemKind::Usage => "usage",
            ProblemKind::Refused => "refused",
            ProblemKind::Missing => "missing",
            ProblemKind::Busy => "busy",
        }
    }
}

/// A problem in words that every door uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What kind it is.
    pub kind: ProblemKind,
    /// What happened: a lower-case fragment. It may quote text of others.
    pub message: String,
    /// What to do next, the most likely first.
    pub hints: Vec<Hint>,
}

impl Problem {
    /// A problem without a hint.
    pub fn new(kind: ProblemKind, message: impl Into<String>) -> Problem {
        Problem { kind, message: message.into(), hints: Vec::new() }
    }

    /// Adds what to do next.
    pub fn hint(mut self, hint: impl Into<Hint>) -> Problem {
        self.hints.push(hint.into());
        self
    }

    /// A name that cannot be a unit's.
    pub fn bad_unit(typed: &str, error: &BadUnit) -> Problem {
        Problem::new(ProblemKind::Usage, format!("{error}: {typed}"))
            .hint("a unit is written dialect:id, such as build:PRD-009 or task:migration/T060")
    }

    /// A unit that is not there.
    pub fn not_found(wanted: impl fmt::Display, error: &NotFound) -> Problem {
        let message = format!("{error}: {wanted}");
        match error {
            NotFound::Nothing { similar } if similar.is_empty() => Problem::new(ProblemKind::Missing, message)
                .hint(verbs::STATUS.call().flag("--all").to("list all units with")),
            NotFound::Nothing { similar } => {
                Problem::new(ProblemKind::Missing, message).hint(format!("did you mean {}?", similar.join(" or ")))
            }
            NotFound::Ambiguous { names } => {
                // The hints list them.
                let message = format!("{} units have this name: {wanted}", names.len());
                let problem = Problem::new(ProblemKind::Usage, message);
                names.iter().fold(problem, |problem, name| problem.hint(format!("name one of them: {name}")))
            }
        }
    }

    /// Something that was not recorded.
    pub fn record(wanted: impl fmt::Display, error: &RecordError) -> Problem {
        match error {
            RecordError::NotFound(error) => Problem::not_found(wanted, error),
            RecordError::Refused(refusal) => Problem::refused(refusal),
            RecordError::Busy { holder, .. } => {
                let who = holder.as_ref().map_or_else(String::new, |holder| format!(": {holder}"));
                Problem::new(ProblemKind::Busy, format!("{error}{who}")).hint(
                    "wait longer with --wait SECONDS; a lock goes with its process, so nothing has to be cleaned up",
                )
            }
            RecordError::Failed { message } => {
                let problem = Problem::new(ProblemKind::Failed, message.clone());
                match message.contains("No space left") {
                    true => problem.hint("nothing has changed; make room on the disk and run the same command again"),
                    false => problem.hint(verbs::CHECK.on(wanted).to("see what is wrong")),
                }
            }
        }
    }

    /// Something that a rule forbids.
    pub fn refused(refusal: &Refusal) -> Problem {
        let kind = match refusal.kind {
            RefusalKind::Rule => ProblemKind::Refused,
            RefusalKind::Missing => ProblemKind::Missing,
            RefusalKind::Usage => ProblemKind::Usage,
            RefusalKind::Document => ProblemKind::Failed,
        };
        Problem { kind, message: refusal.message.clone(), hints: refusal.hints.clone() }
    }

    /// A unit that its dialect's protocol does not let be resumed.
    pub fn not_resumed(resumption: &Resumption) -> Problem {
        let mut reasons = resumption.plan.reasons.iter();
        let first = reasons.next().map_or_else(|| "it cannot be resumed".to_owned(), Hint::to_string);
        let message = match first.starts_with(&resumption.unit) {
            true => first,
            false => format!("{} is not resumed: {first}", resumption.unit),
        };
        reasons.cloned().fold(Problem::new(ProblemKind::Refused, message), Problem::hint)
    }

    /// A check that could not be made.
    pub fn check(wanted: Option<&UnitRef>, error: &CheckError) -> Problem {
        match (error, wanted) {
            (CheckError::Unit(error), Some(wanted)) => Problem::not_found(wanted, error),
            (CheckError::Missing { .. }, _) => Problem::new(ProblemKind::Missing, error.to_string()),
            (CheckError::Unit(_) | CheckError::Open(_), _) => Problem::new(ProblemKind::Failed, error.to_string()),
        }
    }
}

impl From<&OpenError> for Problem {
    fn from(error: &OpenError) -> Problem {
        let kind = match error.error.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => ProblemKind::Missing,
            _ => ProblemKind::Failed,
        };
        Problem::new(kind, error.to_string()).hint("name a directory with -C DIR")
    }
}
