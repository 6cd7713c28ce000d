//! How each kind of worker is started, resumed and understood.
//!
//! | | `claude` | `codex` | `command` |
//! |---|---|---|---|
//! | start | `-p`, stream-json, our session id | `exec --json` | the argv |
//! | resume | `--resume ID` | `exec resume ID` | not possible: a new one with the brief |
//! | prompt | standard input | standard input | standard input, the file's path, or its text |
//! | done | exit 0 and no error in the last result | exit 0 and no failed turn | exit 0 |
//! | refused resume | exit 1, "No conversation found", never began | exit 1, never began, after a resume | — |
//! | transcript | `~/.claude/projects` | `~/.codex/sessions` | — |
//! | parked | a limit in a result; too many requests, overload | a limit in an error | exit 75, or a last line `{"limit_reset": TIME}` |

mod agent;
mod claude;
mod codex;
mod command;
mod limit;
mod reset;
mod transcript;

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub use agent::Agent;
pub use command::{CommandLine, PromptBy};
pub use limit::{Limit, LimitScope};
pub use transcript::{Trace, Transcript};

use crate::end::Exit;
use crate::home::random;
use crate::launch::Launch;
use crate::output::{Line, LineReader, Stream};
use crate::worker::Worker;

/// A kind of worker, with its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Adapter {
    /// Claude Code in print mode.
    Claude(Agent),
    /// Codex without a terminal.
    Codex(Agent),
    /// Anything else.
    Command(CommandLine),
}

/// What a worker is started for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// The unit, `dialect:id`.
    pub unit: String,
    /// Its attempt.
    pub attempt: u64,
    /// The workspace's root, absolute.
    pub root: PathBuf,
    /// The unit's document, absolute.
    pub checkpoint: PathBuf,
    /// Where the worker works, absolute.
    pub directory: PathBuf,
    /// The file with its prompt, absolute.
    pub prompt: PathBuf,
    /// The session that it begins or goes on with: [`new_session_id`], or what [`Seen::session`] said.
    pub session: Option<String>,
}

impl Adapter {
    /// Its name in settings.
    pub fn word(&self) -> &'static str {
        match self {
            Adapter::Claude(_) => "claude",
            Adapter::Codex(_) => "codex",
            Adapter::Command(_) => "command",
        }
    }

    /// How a new worker is started. Fails when the prompt has to be read and cannot.
    pub fn start(&self, work: &Work) -> io::Result<Launch> {
        let launch = match self {
            Adapter::Claude(agent) => claude::start(agent, work),
            Adapter::Codex(agent) => codex::start(agent, work),
            Adapter::Command(command) => command.start(work)?,
        };
        Ok(in_workspace(launch, work))
    }

    /// How a worker goes on with its own session; nothing when it cannot, or the session is not known.
    pub fn resume(&self, work: &Work) -> Option<Launch> {
        let session = work.session.as_deref()?;
        let launch = match self {
            Adapter::Claude(agent) => claude::resume(agent, work, session),
            Adapter::Codex(agent) => codex::resume(agent, work, session),
            Adapter::Command(_) => return None,
        };
        Some(in_workspace(launch, work))
    }

    /// Whether the session of a new worker is chosen by whoever starts it, so that it is known even when the worker dies
    /// before it says anything.
    pub fn takes_session_id(&self) -> bool {
        match self {
            Adapter::Claude(_) => true,
            Adapter::Codex(_) | Adapter::Command(_) => false,
        }
    }

    /// Where a session that works in this directory is written down by its own host; nothing for a kind that has no
    /// such place. The place follows from this process's environment, which workers inherit.
    pub fn transcript(&self, directory: &Path, session: &str) -> Option<Transcript> {
        match self {
            Adapter::Claude(_) => {
                Transcript::of_claude(&own_directory("CLAUDE_CONFIG_DIR", ".claude")?, directory, session)
            }
            Adapter::Codex(_) => Transcript::of_codex(&own_directory("CODEX_HOME", ".codex")?, session),
            Adapter::Command(_) => None,
        }
    }

    /// What an end means, given what was seen before.
    pub fn judge(&self, exit: &Exit, seen: &Seen) -> Outcome {
        if let Exit::NotStarted { message } = exit {
            return Outcome::Failed { reason: message.clone() };
        }
        match self {
            Adapter::Claude(_) => claude::judge(exit, seen),
            Adapter::Codex(_) => codex::judge(exit, seen),
            Adapter::Command(_) => command::judge(exit, seen),
        }
    }
}

/// The directory of an agent's host: as a variable says, else below the user's home.
fn own_directory(variable: &str, name: &str) -> Option<PathBuf> {
    let set = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    set(variable).or_else(|| Some(set("HOME")?.join(name)))
}

/// What every worker is told by its environment.
fn in_workspace(launch: Launch, work: &Work) -> Launch {
    launch
        .set("PITON_UNIT", &work.unit)
        .set("PITON_ATTEMPT", work.attempt.to_string())
        .set("PITON_ROOT", work.root.to_string_lossy())
        .set("PITON_CHECKPOINT", work.checkpoint.to_string_lossy())
}

/// What is known of a worker from what it printed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Seen {
    /// Its session, by which it can be resumed.
    pub session: Option<String>,
    /// Whether it got so far as to begin.
    pub has_begun: bool,
    /// What it cost so far, in US dollars.
    pub cost_usd: Option<f64>,
    /// The last result that it reported. There may be several, and more may come until it ends.
    pub result: Option<ResultSeen>,
    /// It waits by itself for a service that is overloaded or limited, and goes on then: it is alive.
    pub waiting: Option<Limit>,
    /// The last limit that was reported and not overcome.
    pub limit: Option<Limit>,
    /// The last complaint, for people: a line of standard error, or an error event.
    pub complaint: Option<String>,
    /// Whether it said that the session to go on with does not exist.
    pub refused_session: bool,
}

impl Seen {
    /// What an end with a code means that is no success.
    fn limited_or_failed(&self, exit: &Exit) -> Outcome {
        match &self.limit {
            Some(limit) => Outcome::Limited(limit.clone()),
            None => Outcome::Failed { reason: self.reason(exit) },
        }
    }

    /// The best words for why it ended.
    fn reason(&self, exit: &Exit) -> String {
        let result = self.result.as_ref().filter(|result| !result.text.is_empty());
        match (result, &self.complaint, exit) {
            (Some(result), _, _) if result.is_error => result.text.clone(),
            (_, Some(complaint), _) if self.refused_session => complaint.clone(),
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
    /// It was ended by a signal, or nobody saw how.
    Died {
        /// How.
        reason: String,
    },
}

/// Follows what a worker prints, with bounded memory.
#[derive(Debug)]
pub struct Reading {
    adapter: Adapter,
    out: LineReader,
    err: LineReader,
    seen: Seen,
    /// When the worker last said something.
    last: Option<SystemTime>,
}

impl Reading {
    /// Begins at the beginning, as whoever adopts a worker has to.
    pub fn new(adapter: &Adapter, worker: &Worker) -> Reading {
        let reader = |stream| LineReader::new(worker.home(), stream, worker.spool());
        let last = worker.signs().ok().and_then(|signs| signs.last);
        let (out, err) = (reader(Stream::Out), reader(Stream::Err));
        Reading { adapter: adapter.clone(), out, err, seen: Seen::default(), last }
    }

    /// Reads what has come since the last time; says whether there is more to be read at once.
    pub fn catch_up(&mut self) -> io::Result<bool> {
        let Reading { adapter, out, err, seen, .. } = self;
        let more_out = out.read(&mut |line| see(adapter, seen, Stream::Out, line))?;
        let more_err = err.read(&mut |line| see(adapter, seen, Stream::Err, line))?;
        Ok(more_out || more_err)
    }

    /// Reads all that is left, when the worker has ended. When a limit is over that was only given in words ("resets 2pm
    /// (UTC)", "try again at 3:05 PM") is worked out here, from when the worker last said something.
    pub fn finish(&mut self) -> io::Result<&Seen> {
        while self.catch_up()? {}
        let Reading { adapter, out, err, seen, .. } = self;
        out.finish(&mut |line| see(adapter, seen, Stream::Out, line));
        err.finish(&mut |line| see(adapter, seen, Stream::Err, line));
        let said_at = self.last.unwrap_or_else(SystemTime::now);
        if let Some(limit) = self.seen.limit.as_mut().filter(|limit| limit.resets_at.is_none()) {
            limit.resets_at = reset::in_words(&limit.message, said_at);
        }
        Ok(&self.seen)
    }

    /// What is known so far.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }
}

fn see(adapter: &Adapter, seen: &mut Seen, stream: Stream, line: Line<'_>) {
    match adapter {
        Adapter::Claude(_) => claude::see(seen, stream, line),
        Adapter::Codex(_) => codex::see(seen, stream, line),
        Adapter::Command(_) => command::see(seen, stream, line),
    }
}

/// A new id for a session: a random UUID.
pub fn new_session_id() -> io::Result<String> {
    let mut bytes = random()?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
}

/// The text of a prompt.
fn read_prompt(path: &Path) -> io::Result<String> {
    std::fs::read_to_string(path)
}

/// At most so many characters of a text, for people.
fn shorten(text: &str) -> String {
    const MOST: usize = 500;
    let text = text.trim();
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
