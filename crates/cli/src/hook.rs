//! The door for a coding agent's host: an event's name as argument, what happened as JSON on standard input.
//!
//! A host reads an exit code of 2 as "block what I was about to do", so this door has one exit code, 0, and is entered
//! before arguments are parsed. Whatever fails becomes a line in `.piton/hook.log`.

use std::io::{self, Read as _, Write as _};
use std::panic;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use piton_dialect::hook::read;
use piton_engine::{Surroundings, Workspace, hook, hook_fired, hook_log};
use piton_model::Time;

/// The largest payload that is looked at. What a host tells of a file holds its content up to three times.
const LARGEST: u64 = 8 * 1024 * 1024;

/// How much of a larger one is read to its end, so that the host is not interrupted while it writes.
const MOST_DRAINED: u64 = 256 * 1024 * 1024;

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton hook SessionStart < payload.json\n  piton init    (writes the settings that call it)"
)]
pub struct HookArgs {
    /// The event, as the host names it: SessionStart, PostToolUse, Stop and so on
    #[arg(value_name = "EVENT", default_value = "", hide_default_value = true)]
    event: String,
}

/// A call of this door, as far as it is understood.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Call {
    event: String,
    root: Option<PathBuf>,
    at: Option<String>,
}

/// The call, when the program was called as a hook. Who asks for help is not a host.
pub fn called() -> Option<Call> {
    parse(std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()))
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Option<Call> {
    let mut call = Call::default();
    let mut is_hook = false;
    while let Some(argument) = arguments.next() {
        let mut value = |short: &str| match argument.strip_prefix(short) {
            Some("") => arguments.next(),
            Some(rest) => Some(rest.trim_start_matches('=').to_owned()),
            None => None,
        };
        match argument.as_str() {
            "-h" | "--help" | "-V" | "--version" => return None,
            given if given.starts_with("-C") => call.root = value("-C").map(PathBuf::from),
            given if given.starts_with("--at") => call.at = value("--at"),
            given if given.starts_with("--color") => drop(value("--color")),
            "hook" if !is_hook => is_hook = true,
            _ if !is_hook => return None,
            given if call.event.is_empty() => given.clone_into(&mut call.event),
            // What a newer set of hooks may say.
            _ => {}
        }
    }
    is_hook.then_some(call)
}

/// Hears a call that came through the grammar.
pub fn run_parsed(args: HookArgs) -> u8 {
    Call { event: args.event, ..Call::default() }.run();
    0
}

impl Call {
    /// Does what there is to do. Nothing that happens here is the host's affair.
    pub fn run(self) -> ExitCode {
        panic::set_hook(Box::new(|_| {}));
        let told = panic::catch_unwind(|| self.hear());
        let answer = told.unwrap_or_else(|panic| {
            let said = panic.downcast_ref::<&str>().map(|said| (*said).to_owned());
            let said = said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            // A second panic, in the log itself, is nobody's affair either.
            let _ = panic::catch_unwind(|| self.log(&format!("a bug: {said}")));
            String::new()
        });
        let mut out = io::stdout().lock();
        // A host that does not listen has its reasons.
        let _ = out.write_all(answer.as_bytes()).and_then(|()| out.flush());
        ExitCode::SUCCESS
    }

    fn hear(&self) -> String {
        let payload = match read_payload() {
            Ok(Some(payload)) => payload,
            Ok(None) => {
                self.log(&format!("the payload has more than {LARGEST} bytes and is ignored"));
                return String::new();
            }
            Err(error) => {
                self.log(&format!("cannot read the payload: {error}"));
                return String::new();
            }
        };
        let Some(workspace) = self.workspace() else { return String::new() };
        let now = self.now();
        hook_fired(&workspace, &self.event, now);
        let payload = match read(&self.event, &payload) {
            Ok(payload) => payload,
            Err(error) => {
                hook_log(&workspace, &self.event, now, &error.to_string());
                return String::new();
            }
        };
        let done = hook(&workspace, &self.event, &payload, &surroundings(), now);
        for trouble in &done.troubles {
            hook_log(&workspace, &self.event, now, trouble);
        }
        done.reply.text(&self.event)
    }

    /// The workspace of the project that the host was started in; a session's own directory may be anywhere.
    fn workspace(&self) -> Option<Workspace> {
        let of = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let start = of("CLAUDE_PROJECT_DIR").or_else(|| std::env::current_dir().ok())?;
        let root = self.root.clone().or_else(|| of("PITON_ROOT"));
        Workspace::open(root.as_deref(), &start).ok()
    }

    fn now(&self) -> Time {
        crate::context::now(self.at.as_deref())
            .or_else(|_| crate::context::now(None))
            .unwrap_or(Time::from_unix_seconds(0))
    }

    fn log(&self, what: &str) {
        if let Some(workspace) = self.workspace() {
            hook_log(&workspace, &self.event, self.now(), what);
        }
    }
}

/// All of standard input; nothing when it is too much.
fn read_payload() -> io::Result<Option<Vec<u8>>> {
    let mut input = io::stdin().lock();
    let mut bytes = Vec::new();
    (&mut input).take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 <= LARGEST {
        return Ok(Some(bytes));
    }
    io::copy(&mut (&mut input).take(MOST_DRAINED), &mut io::sink())?;
    Ok(None)
}

fn surroundings() -> Surroundings {
    let of = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    Surroundings {
        unit: of("PITON_UNIT"),
        attempt: of("PITON_ATTEMPT").and_then(|attempt| attempt.parse().ok()),
        outer: of("PITON_SESSION"),
        process: of("CLAUDE_PID").and_then(|pid| pid.parse().ok()),
        exports: of("CLAUDE_ENV_FILE").map(PathBuf::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_is_known_before_the_grammar_and_help_is_not_one() {
        let call = |event: &str| Some(Call { event: event.to_owned(), ..Call::default() });
        let placed = Call { event: "Stop".into(), root: Some("/r".into()), at: Some("T".into()) };
        for (line, want) in [
            ("hook Stop", call("Stop")),
            ("hook", call("")),
            ("hook Stop --unknown x", call("Stop")),
            ("hook --frobnicate", call("--frobnicate")),
            ("hook Stop -C /r --at T", Some(placed)),
            (
                "-C /r --at=T hook Stop",
                Some(Call { event: "Stop".into(), root: Some("/r".into()), at: Some("T".into()) }),
            ),
            ("hook --help", None),
            ("status hook", None),
            ("status", None),
            ("", None),
        ] {
            assert_eq!(parse(line.split_whitespace().map(str::to_owned)), want, "{line}");
        }
    }
}
