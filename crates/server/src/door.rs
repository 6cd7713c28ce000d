//! What every call starts from.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use piton_engine::{Problem, ProblemKind, Recorder, Workspace};
use piton_model::{Ticket, Time, UnitRef};
use schemars::JsonSchema;
use serde::Deserialize;

/// How long a lock is waited for when a call does not say.
const WAIT_SECONDS: f64 = 10.0;

/// The longest wait that a call may ask for: a client gives up on a call after about a minute.
const LONGEST_WAIT: f64 = 50.0;

/// Where the server serves, and what its environment says about whom. All of it is fixed when it starts.
pub struct Door {
    /// The workspace's root.
    pub root: PathBuf,
    /// Asks for the moment.
    pub clock: Box<dyn Fn() -> Time + Send + Sync>,
    /// The unit that is meant when a call names none.
    pub unit: Option<String>,
    /// The attempt that the worker belongs to when a call does not say.
    pub attempt: Option<Ticket>,
    /// The agent that sends messages when a call does not say.
    pub agent: Option<String>,
    /// How often files are looked at that a client wants to hear about.
    pub pulse: Duration,
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Door").field("root", &self.root).field("unit", &self.unit).finish_non_exhaustive()
    }
}

/// Who records something.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub struct Writer {
    /// Who records it: main, subagent:TYPE, team:ID, an agent's name. Default: main
    pub by: Option<String>,
    /// The attempt that `resume` or `start` returned; who belongs to an older one is refused
    pub attempt: Option<u64>,
    /// Your session id, if you know it
    pub session: Option<String>,
    /// Seconds to wait for another writer. Default: 10, at most 50
    pub wait_seconds: Option<f64>,
}

impl Door {
    /// The moment.
    pub fn now(&self) -> Time {
        (self.clock)()
    }

    /// Opens the workspace, anew for each call: nothing that one call saw is believed by the next.
    pub fn open(&self) -> Result<Workspace, Problem> {
        Workspace::open(Some(&self.root), &self.root).map_err(|error| Problem::from(&error))
    }

    /// The unit that a call names, or the one that is meant when it names none.
    pub fn wanted(&self, named: Option<&str>) -> Result<UnitRef, Problem> {
        let Some(name) = named.or(self.unit.as_deref()) else {
            return Err(Problem::new(ProblemKind::Usage, "which unit?")
                .hint("name it as `unit`, such as build:PRD-009 or task:migration/T060; the tool `status` lists all"));
        };
        parse(name)
    }

    /// Who records something about a unit.
    pub fn recorder(&self, writer: &Writer, named: Option<&str>, tool: &str) -> Result<Recorder, Problem> {
        let seconds = writer.wait_seconds.unwrap_or(WAIT_SECONDS);
        if !(0.0..=LONGEST_WAIT).contains(&seconds) {
            let message = format!("`wait_seconds` is {seconds}; it may be 0 to {LONGEST_WAIT}");
            return Err(Problem::new(ProblemKind::Usage, message));
        }
        let now = self.now();
        Ok(Recorder {
            now,
            by: writer.by.clone().unwrap_or_else(|| "main".to_owned()),
            attempt: self.ticket(writer.attempt, named),
            own: self.own().filter(|_| writer.attempt.is_none()),
            session: writer.session.clone(),
            wait: Duration::from_secs_f64(seconds),
            holder: format!("`piton mcp` ({tool}), process {}, since {now}", std::process::id()),
        })
    }

    /// The attempt that a call names, else the environment's. A worker that says only the number of the attempt which it
    /// shares with others is still itself.
    fn ticket(&self, given: Option<u64>, named: Option<&str>) -> Option<Ticket> {
        let Some(attempt) = given else { return self.attempt };
        let is_other = match (named.map(UnitRef::parse), self.own()) {
            (Some(Ok(named)), Some(own)) => !named.may_be(&own),
            _ => false,
        };
        let own = self.attempt.filter(|own| own.attempt == attempt && !is_other);
        own.or(Some(Ticket::from(attempt)))
    }

    /// The unit that the environment names.
    fn own(&self) -> Option<UnitRef> {
        self.unit.as_deref().and_then(|unit| UnitRef::parse(unit).ok())
    }
}

/// Parses a unit's name.
pub fn parse(name: &str) -> Result<UnitRef, Problem> {
    UnitRef::parse(name).map_err(|error| Problem::bad_unit(name, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door(unit: Option<&str>, attempt: Option<&str>) -> Door {
        Door {
            root: PathBuf::from("/"),
            clock: Box::new(|| Time::from_unix_seconds(0)),
            unit: unit.map(str::to_owned),
            attempt: attempt.map(|attempt| attempt.parse().expect("an attempt")),
            agent: None,
            pulse: Duration::from_secs(1),
        }
    }

    #[test]
    fn the_environments_attempt_belongs_to_the_environments_unit() {
        for (own, named, given, want) in [
            (Some("build:A"), None, None, Some(3)),
            (Some("build:A"), Some("build:A"), None, Some(3)),
            // The engine refuses it: the attempt is one of build:A.
            (Some("build:A"), Some("build:B"), None, Some(3)),
            (Some("build:A"), Some("plan:A"), None, Some(3)),
            (Some("build:A"), Some("A"), None, Some(3)),
            (Some("A"), Some("build:A"), None, Some(3)),
            (Some("task:x/A"), Some("A"), None, Some(3)),
            (Some("crew:Secondary-A"), Some("crew:epics/e7/secondary_a"), None, Some(3)),
            (Some("build:A"), Some("build:B"), Some(7), Some(7)),
            (Some("build:A"), None, Some(7), Some(7)),
            (None, Some("build:B"), None, Some(3)),
        ] {
            let writer = Writer { attempt: given, ..Writer::default() };
            let want = want.map(Ticket::from);
            let recorder = door(own, Some("3")).recorder(&writer, named, "step").expect("a recorder");
            assert_eq!(recorder.attempt, want, "{own:?} {named:?} {given:?}");
            let of = own.filter(|_| given.is_none());
            assert_eq!(recorder.own.map(|own| own.to_string()).as_deref(), of, "{own:?} {named:?} {given:?}");
        }
    }

    #[test]
    fn a_worker_that_shares_its_attempt_stays_itself() {
        for (named, given, want) in [
            ("build:A", None, Some("3.7")),
            ("build:A", Some(3), Some("3.7")),
            ("build:A", Some(4), Some("4")),
            ("build:B", Some(3), Some("3")),
            ("build:B", None, Some("3.7")),
        ] {
            let writer = Writer { attempt: given, ..Writer::default() };
            let recorder =
                door(Some("build:A"), Some("3.7")).recorder(&writer, Some(named), "step").expect("a recorder");
            let shown = recorder.attempt.map(|ticket| ticket.to_string());
            assert_eq!(shown.as_deref(), want, "{named} {given:?}");
        }
    }

    #[test]
    fn a_wait_is_bounded() {
        for (seconds, want) in [(0.0, true), (50.0, true), (51.0, false), (-1.0, false), (f64::NAN, false)] {
            let writer = Writer { wait_seconds: Some(seconds), ..Writer::default() };
            assert_eq!(door(None, None).recorder(&writer, None, "step").is_ok(), want, "{seconds}");
        }
    }
}
