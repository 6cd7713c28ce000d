//! What is known of a worker from what it printed, and what its end means.

use super::{Denied, Limit, LimitScope, Spent};
use crate::end::Exit;

/// What is known of a worker from what it printed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Seen {
    /// Its session, by which it can be resumed.
    pub session: Option<String>,
    /// Whether it got so far as to begin.
    pub has_begun: bool,
    /// What its session cost so far, earlier processes of the same session included: see [`Spent::beyond`].
    pub spent: Spent,
    /// The last result that it reported. There may be several, and more may come until it ends.
    pub result: Option<ResultSeen>,
    /// It waits by itself for a service that is overloaded or limited, and goes on then: it is alive.
    pub waiting: Option<Limit>,
    /// The last limit that was reported and not overcome.
    pub limit: Option<Limit>,
    /// The last complaint, for people: a line of standard error, or an error event.
    pub complaint: Option<String>,
    /// What the client did not let it do, each once.
    pub denied: Vec<Denied>,
    /// Whether it said that the session to go on with does not exist.
    pub(super) refused_session: bool,
    /// Whether it said that another process has the session open.
    pub(super) busy_session: bool,
    /// Why the client cannot be used at all, with what to do about it.
    pub(super) unusable: Option<String>,
    /// Calls of tools that may yet be refused: id, tool, and what for.
    pub(super) calls: Vec<(String, Denied)>,
}

impl Seen {
    /// What an end with a code means that is no success.
    pub(super) fn not_finished(&self, exit: &Exit, has_resumed: bool) -> Outcome {
        if let Some(reason) = &self.unusable {
            return Outcome::Unavailable { reason: reason.clone() };
        }
        if !self.has_begun && self.busy_session {
            return Outcome::Limited(Limit::new(LimitScope::Worker, None, &self.reason(exit)));
        }
        if !self.has_begun && self.refused_session && has_resumed {
            return Outcome::ResumeRefused { reason: self.reason(exit) };
        }
        match &self.limit {
            Some(limit) => Outcome::Limited(limit.clone()),
            None => Outcome::Failed { reason: self.reason(exit) },
        }
    }

    /// The best words for why it ended.
    pub(super) fn reason(&self, exit: &Exit) -> String {
        let result = self.result.as_ref().filter(|result| !result.text.is_empty());
        match (result, &self.complaint, exit) {
            (Some(result), _, _) if result.is_error => result.text.clone(),
            (_, Some(complaint), _) if self.refused_session || self.busy_session => complaint.clone(),
            (_, Some(complaint), _) => format!("{exit}: {complaint}"),
            (_, None, Exit::Code(0)) => format!("{exit} without a result"),
            (_, None, _) => exit.to_string(),
        }
    }
}

/// A result that a worker reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultSeen {
    /// Whether it says that it failed.
    pub is_error: bool,
    /// Its words, shortened.
    pub text: String,
}

/// What an end means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The worker says that it is through. Whether the work is done has to be proved.
    Finished,
    /// It failed.
    Failed {
        /// Why, as far as it is known.
        reason: String,
    },
    /// The session to go on with is not there: start a new worker with the brief.
    ResumeRefused {
        /// Its words.
        reason: String,
    },
    /// It ran into a limit: go on when that is over.
    Limited(Limit),
    /// Its client is missing, not logged in, not paid for or too old: no worker of this kind can work. A person has to
    /// do something; it is not the worker's fault.
    Unavailable {
        /// Why, with what to do.
        reason: String,
    },
    /// It was ended by a signal, or nobody saw how.
    Died {
        /// How.
        reason: String,
    },
}
