//! How each kind of worker is started, resumed and understood.
//!
//! | | `claude` | `codex` | `command` |
//! |---|---|---|---|
//! | start | `-p`, stream-json, our session id | `exec --json` | the argv |
//! | resume | `--resume ID` | `exec resume ID` | not possible: a new one with the brief |
//! | prompt | standard input | standard input | standard input, the file's path, or its text |
//! | may do | its mode, and a rule for each command, path and tool | a sandbox, with directories that it may write | all |
//! | done | exit 0 and no error in the last result | exit 0 and no failed turn | exit 0 |
//! | refused resume | exit 1, "No conversation found", never began | exit 1, never began, after a resume | — |
//! | transcript | `~/.claude/projects` | `~/.codex/sessions` | — |
//! | parked | a limit in a result; too many requests, overload | a limit in an error, a session that is open elsewhere | exit 75, or a last line `{"limit_reset": TIME}` |
//! | unavailable | not logged in, not paid, an option that it does not know | the same | — |
//!
//! A worker calls Piton by its plain name, `piton`: no rule of Claude Code can allow a call by a variable (`"$PITON"`).
//! So the lead sees to it that PATH leads to itself, and Codex is told to use no login shell, which would reset PATH.

mod agent;
mod claude;
mod codex;
mod command;
mod denied;
mod grants;
mod limit;
mod login;
mod reading;
mod repository;
mod reset;
mod seen;
mod shell;
mod spent;
mod transcript;
mod wait;

use std::io;
use std::path::{Path, PathBuf};

pub use agent::Agent;
pub use command::{CommandLine, PromptBy};
pub use denied::{Denied, Remedy};
pub use grants::{Allow, Grants};
pub use limit::{Limit, LimitCause, LimitScope};
pub use login::{Login, login};
pub use reading::Reading;
pub use repository::{commit_directories, is_in_git};
pub use seen::{Outcome, ResultSeen, Seen};
pub use shell::{quoted, simple_commands};
pub use spent::{Spent, Tokens};
pub use transcript::{Trace, Transcript};
pub use wait::Wait;

use crate::end::Exit;
use crate::home::random;
use crate::launch::Launch;
use crate::output::{Line, Stream};

/// A kind of worker: how what it prints and how it ends is understood. A session belongs to a kind, and can be resumed by
/// no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Claude Code in print mode.
    Claude,
    /// Codex without a terminal.
    Codex,
    /// Anything else.
    Command,
}

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
    /// What it may do beside editing its own directory.
    pub grants: Grants,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 3] = [Kind::Claude, Kind::Codex, Kind::Command];

    /// Its name in settings.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Claude => "claude",
            Kind::Codex => "codex",
            Kind::Command => "command",
        }
    }

    /// The kind of this name.
    pub fn parse(word: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Whether its sessions can be gone on with.
    pub fn can_resume(self) -> bool {
        match self {
            Kind::Claude | Kind::Codex => true,
            Kind::Command => false,
        }
    }

    /// Whether the session of a new worker is chosen by whoever starts it, so that it is known even when the worker dies
    /// before it says anything.
    pub fn takes_session_id(self) -> bool {
        match self {
            Kind::Claude => true,
            Kind::Codex | Kind::Command => false,
        }
    }

    /// Where a session that works in this directory is written down by its own host; nothing for a kind that has no
    /// such place. The place follows from this process's environment, which workers inherit.
    pub fn transcript(self, directory: &Path, session: &str) -> Option<Transcript> {
        match self {
            Kind::Claude => Transcript::of_claude(&own_directory("CLAUDE_CONFIG_DIR", ".claude")?, directory, session),
            Kind::Codex => Transcript::of_codex(&own_directory("CODEX_HOME", ".codex")?, session),
            Kind::Command => None,
        }
    }

    /// What an end means, given what was seen before and how the worker was started.
    pub fn judge(self, exit: &Exit, seen: &Seen, launch: &Launch) -> Outcome {
        if let Exit::NotStarted { message } = exit {
            return Outcome::Failed { reason: message.clone() };
        }
        match self {
            Kind::Claude => claude::judge(exit, seen, claude::has_resumed(launch)),
            Kind::Codex => codex::judge(exit, seen, codex::has_resumed(launch)),
            Kind::Command => command::judge(exit, seen),
        }
    }

    fn see(self, seen: &mut Seen, stream: Stream, line: Line<'_>) {
        match self {
            Kind::Claude => claude::see(seen, stream, line),
            Kind::Codex => codex::see(seen, stream, line),
            Kind::Command => command::see(seen, stream, line),
        }
    }
}

impl Adapter {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Adapter::Claude(_) => Kind::Claude,
            Adapter::Codex(_) => Kind::Codex,
            Adapter::Command(_) => Kind::Command,
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

    /// The settings' own part of its command line, as a person types it in a shell: what is approved.
    pub fn command_line(&self) -> String {
        let words: Vec<String> = match self {
            Adapter::Claude(agent) | Adapter::Codex(agent) => agent.words().map(quoted).collect(),
            Adapter::Command(command) => command.argv.iter().map(|word| quoted(word)).collect(),
        };
        words.join(" ")
    }

    /// The program that is started.
    pub fn program(&self) -> &str {
        let argv = match self {
            Adapter::Claude(agent) | Adapter::Codex(agent) => &agent.program,
            Adapter::Command(command) => &command.argv,
        };
        argv.first().map_or("", String::as_str)
    }

    /// Why no worker can be started by it, with what to do: its program is not found. `path` is the list of directories
    /// in which programs are looked for, `directory` the worker's own, once it is there: a relative path means a file in
    /// it.
    pub fn missing(&self, path: &str, directory: Option<&Path>) -> Option<String> {
        let program = self.program();
        let named = Path::new(program);
        let wrong = match (program.contains('/'), directory) {
            (false, _) => {
                let is_there = std::env::split_paths(path).any(|directory| is_program(&directory.join(named)));
                (!is_there).then_some("is not in PATH")
            }
            (true, None) if named.is_relative() => None,
            (true, directory) => {
                let file = directory.unwrap_or(Path::new("/")).join(named);
                match (file.exists(), is_program(&file)) {
                    (false, _) => Some("does not exist"),
                    (true, false) => Some("is no executable file"),
                    (true, true) => None,
                }
            }
        }?;
        let advice = match self.kind() {
            Kind::Claude => "install Claude Code, or choose another `adapter` in [worker] of piton.toml",
            Kind::Codex => "install Codex, or choose another `adapter` in [worker] of piton.toml",
            Kind::Command => "install it, or correct `command` in [worker] of piton.toml",
        };
        Some(format!("the worker's program `{program}` {wrong}; {advice}"))
    }
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
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
