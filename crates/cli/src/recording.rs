//! What all verbs that write have in common: who writes, for which attempt, and the line that says what became true.

use std::time::Duration;

use clap::{ArgMatches, Args};
use piton_engine::{Recorded, Recorder, record};
use piton_model::{Event, Hint, Ticket, UnitRef};

use crate::context::Context;
use crate::failure::{Failure, USAGE};
use crate::output::{print, print_json};

/// How long a lock is waited for when nobody says.
const WAIT_SECONDS: f64 = 10.0;

// Options of every verb that writes. No doc comment: clap would show it as the help of each verb.
#[derive(Args, Debug, Clone)]
pub struct Writing {
    /// The unit, such as build:PRD-009 or task:migration/T060
    #[arg(value_name = "UNIT")]
    pub unit: String,

    #[command(flatten)]
    pub writer: Writer,
}

// Who writes.
#[derive(Args, Debug, Clone)]
pub struct Writer {
    /// Who records this: main, subagent:TYPE, team:ID, an agent's name
    #[arg(long, value_name = "WHO", default_value = "main", hide_default_value = true)]
    pub by: String,

    /// The attempt that the writer belongs to; an older one is refused [default: PITON_ATTEMPT, else the current one]
    #[arg(long, value_name = "N")]
    attempt: Option<Ticket>,

    /// The worker's own session [default: PITON_SESSION]
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,

    /// How long to wait for another writer
    #[arg(long, value_name = "SECONDS", hide_short_help = true)]
    wait: Option<f64>,
}

impl Writer {
    /// The same, as the engine takes it.
    pub fn recorder(&self, context: &Context, verb: &str) -> Result<Recorder, Failure> {
        let wait = self.wait.unwrap_or(WAIT_SECONDS);
        let wait = Duration::try_from_secs_f64(wait)
            .map_err(|_| Failure::new(USAGE, format!("--wait {wait} is not a number of seconds")))?;
        Ok(Recorder {
            now: context.now,
            by: self.by.clone(),
            attempt: self.attempt.map_or_else(attempt_of_environment, |attempt| Ok(Some(attempt)))?,
            own: unit_of_environment().filter(|_| self.attempt.is_none()),
            session: self.session.clone().or_else(session_of_environment),
            wait,
            holder: format!("`piton {verb}`, process {}, since {}", std::process::id(), context.now),
        })
    }
}

/// The session that a hook of the host named to its commands.
pub fn session_of_environment() -> Option<String> {
    std::env::var("PITON_SESSION").ok().filter(|session| piton_model::Id::check(session).is_ok())
}

/// Parses a unit's name.
pub fn unit(typed: &str) -> Result<UnitRef, Failure> {
    UnitRef::parse(typed).map_err(|error| Failure::bad_unit(typed, &error))
}

/// Records an event and says what became true.
pub fn run(matches: &ArgMatches, writing: &Writing, verb: &str, event: &Event) -> Result<u8, Failure> {
    acknowledge(&happen(matches, writing, verb, event)?)
}

/// Records an event.
pub fn happen(matches: &ArgMatches, writing: &Writing, verb: &str, event: &Event) -> Result<Recorded, Failure> {
    let wanted = unit(&writing.unit)?;
    let context = Context::new(matches)?;
    let recorder = writing.writer.recorder(&context, verb)?;
    record(&context.workspace, &wanted, event, &recorder).map_err(|error| Failure::record(&wanted, &error))
}

/// Prints what became true, with the number under which it is kept.
pub fn acknowledge(recorded: &Recorded) -> Result<u8, Failure> {
    warn(&recorded.warnings);
    print(&format!("{} {} @{}\n", recorded.unit, crate::render::clean(&recorded.summary), recorded.seq))?;
    if let Some(next) = &recorded.next {
        eprintln!("next: {}", crate::render::clean(&next.to_string()));
    }
    Ok(0)
}

/// The same for an event after which somebody else may go on: with what to paste into their session, or as JSON.
pub fn hand_off(recorded: &Recorded, as_json: bool) -> Result<u8, Failure> {
    if as_json {
        warn(&recorded.warnings);
        print_json(&crate::render::json::recorded(recorded))?;
        return Ok(0);
    }
    acknowledge(recorded)?;
    if let Some(handoff) = &recorded.handoff {
        let lines: String = handoff.lines().map(|line| format!("{}\n", crate::render::clean(line))).collect();
        print(&format!("\nPaste this into the new session:\n\n{lines}"))?;
    }
    Ok(0)
}

/// Says loudly what has to be said, beside the answer.
pub fn warn(warnings: &[Hint]) {
    for warning in warnings {
        eprintln!("warning: {}", crate::render::clean(&warning.to_string()));
    }
}

/// The agent that the environment names.
pub fn agent_of_environment() -> Option<String> {
    std::env::var("PITON_AGENT").ok().filter(|agent| !agent.is_empty())
}

/// The attempt that the environment names.
pub fn attempt_of_environment() -> Result<Option<Ticket>, Failure> {
    match std::env::var("PITON_ATTEMPT") {
        Ok(text) if !text.is_empty() => {
            let bad = |error| Failure::new(USAGE, format!("PITON_ATTEMPT is no attempt: {text}: {error}"));
            text.parse().map(Some).map_err(bad)
        }
        _ => Ok(None),
    }
}

/// The unit that the environment names.
fn unit_of_environment() -> Option<UnitRef> {
    std::env::var("PITON_UNIT").ok().and_then(|unit| UnitRef::parse(&unit).ok())
}

/// The user's name, for records of who asked for something; nothing where the environment does not say.
pub fn user() -> Option<String> {
    let named = |name: &str| std::env::var(name).ok().filter(|user| !user.is_empty() && user.len() <= 64);
    named("USER").or_else(|| named("LOGNAME"))
}
