//! The process that holds a worker: `piton keep HOME`.
//!
//! It is three processes in turn, all of them this program. The first is started by the lead, starts the second in a
//! session of its own, tells the lead how that went, and is gone: so nobody is the lead's child. The second is the
//! keeper. The third is the worker before it becomes its program: it writes down who it is, so that there is never a
//! worker that nobody can find.

mod begin;
mod drain;
mod hold;
mod reap;
mod spool;

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use crate::home::Home;

/// This program, even when its file was replaced or removed meanwhile.
const OURSELVES: &str = "/proc/self/exe";

/// No message to the lead is longer.
const LONGEST_MESSAGE: u64 = 64 << 10;

/// Runs a keeper, or a part of it, with the arguments that follow `keep`. Says on standard output `ready` when the
/// worker runs, and else why it does not.
pub fn keep(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    let home = arguments.pop();
    let options: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    let done = match (options.as_slice(), home) {
        ([], Some(home)) => launch(Path::new(&home), &[]),
        (["--orphan"], Some(home)) => launch(Path::new(&home), &["--orphan"]),
        (["--hold"], Some(home)) => hold::hold(Home::new(Path::new(&home))),
        (["--hold", "--orphan"], Some(home)) => hold::hold_orphan(Home::new(Path::new(&home))),
        (["--begin"], Some(home)) => begin::begin(&Home::new(Path::new(&home))),
        _ => Err("usage: piton keep DIR".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            // Whoever wants to know listens.
            let _ = say(&message);
            ExitCode::FAILURE
        }
    }
}

/// Starts the keeper proper, passes on what it says, and leaves it alone.
fn launch(home: &Path, options: &[&str]) -> Result<(), String> {
    let home = fs::canonicalize(home).map_err(|error| format!("cannot open {}: {error}", home.display()))?;
    let mut keeper = Command::new(OURSELVES)
        .args(["keep", "--hold"])
        .args(options)
        .arg(&home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot start the keeper: {error}"))?;
    let mut said = String::new();
    if let Some(mut out) = keeper.stdout.take() {
        out.by_ref().take(LONGEST_MESSAGE).read_to_string(&mut said).map_err(|error| error.to_string())?;
    }
    match said.trim() {
        "ready" => say("ready").map_err(|error| error.to_string()),
        "" => Err("the keeper ended before it held the worker".to_owned()),
        message => Err(message.to_owned()),
    }
}

fn say(message: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(message.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}
