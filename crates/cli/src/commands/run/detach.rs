//! `piton run --detach`: the lead in a session of its own, which no terminal belongs to.

use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use piton_engine::run::{Attached, RunRequest};
use piton_model::hint::verbs;
use serde_json::json;

use super::{BEGINNING, BETWEEN_LOOKS, RunArgs, attach};
use crate::clock;
use crate::context::Context;
use crate::failure::{BUSY, FAILED, Failure};
use crate::output::{print, print_json};

/// This program, even when its file was replaced or removed meanwhile.
const OURSELVES: &str = "/proc/self/exe";

/// The name of the log, in the run's directory.
const LOG: &str = "lead.log";

/// What the lead says when it leads; the number of its run and of its process follow.
const LEADS: &str = "leads";

/// Starts the lead, waits until it leads or has failed, and says how to watch and stop it.
pub fn start(context: &Context, args: &RunArgs, request: &RunRequest) -> Result<u8, Failure> {
    let flags = [("--yes", args.yes), ("--retry", args.retry), ("--json", args.json)];
    let mut child = Command::new(OURSELVES)
        .arg("-C")
        .arg(context.workspace.root())
        .args(["run", "--detached"])
        .args(flags.iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| flag))
        .arg("--")
        .args(&args.wanted)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| Failure::new(FAILED, format!("cannot start the lead: {error}")))?;
    let failed = |error: std::io::Error| Failure::new(FAILED, format!("cannot tell what became of the lead: {error}"));
    let mut errors = child.stderr.take();
    let errors = std::thread::spawn(move || {
        let mut text = String::new();
        errors.as_mut().map(|errors| errors.read_to_string(&mut text));
        text
    });
    let mut said = String::new();
    child.stdout.take().map(|mut out| out.read_to_string(&mut said)).transpose().map_err(failed)?;
    let number = said.strip_prefix(LEADS).and_then(|rest| rest.trim().parse::<u64>().ok());
    if let Some(number) = number {
        return leading(context, number, child.id(), args.json);
    }
    let status = child.wait().map_err(failed)?;
    let errors = errors.join().unwrap_or_default();
    if status.code() == Some(BUSY.into())
        && let Some(attached) = another_lead(context)
    {
        return is_led(context, &attached, request, args.json);
    }
    // It said why in the words of this very command.
    let _ = std::io::stderr().write_all(errors.as_bytes());
    match status.code().and_then(|code| u8::try_from(code).ok()) {
        Some(code) if code != 0 && !errors.is_empty() => Ok(code),
        _ => Err(Failure::new(FAILED, format!("the lead ended before it led: {status}"))),
    }
}

/// The lead that was faster, as soon as it says who it is.
fn another_lead(context: &Context) -> Option<Attached> {
    let since = Instant::now();
    loop {
        let attached = Attached::to(&context.workspace, 0, clock::time());
        if attached.is_some() || since.elapsed() > BEGINNING {
            return attached;
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
}

/// The same when a lead is at work already.
pub fn is_led(context: &Context, attached: &Attached, request: &RunRequest, json: bool) -> Result<u8, Failure> {
    attach::check(context, attached, request)?;
    leading(context, attached.run().number, attached.pid(), json)
}

fn leading(context: &Context, number: u64, pid: u32, json: bool) -> Result<u8, Failure> {
    let log = format!(".piton/run/runs/{number}/{LOG}");
    let has_log = context.workspace.root().join(&log).exists();
    if json {
        print_json(&json!({ "run": number, "pid": pid, "log": has_log.then_some(log) }))?;
        return Ok(0);
    }
    let (show, stop) = (verbs::RUN.call().to("show it"), verbs::STOP.call().to("stop it"));
    print(&format!("run {number} is led by process {pid}\n{show}\n{stop}\n"))?;
    if has_log {
        print(&format!("log: {log}\n"))?;
    }
    Ok(0)
}

/// Leaves the session of the terminal.
pub fn begin_session() -> Result<(), Failure> {
    rustix::process::setsid()
        .map(drop)
        .map_err(|error| Failure::new(FAILED, format!("cannot begin a session: {error}")))
}

/// The lead leads: whoever started it is told, and from here on everything goes to the log.
pub fn leads(directory: &Path, number: u64) {
    // Whoever started it may be gone already.
    let _ = print(&format!("{LEADS} {number}\n"));
    let log = OpenOptions::new().create(true).append(true).mode(0o600).open(directory.join(LOG));
    let log = log.or_else(|_| OpenOptions::new().write(true).open("/dev/null"));
    if let Ok(log) = log {
        let _ = rustix::stdio::dup2_stdout(&log);
        let _ = rustix::stdio::dup2_stderr(&log);
    }
}
