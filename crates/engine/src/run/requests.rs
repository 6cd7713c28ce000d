//! What a lead is asked to do, and who asks: signals of its own terminal and of the system, and request files that
//! commands leave below `.piton/run/requests`. A signal says what is wanted by its kind; no signal is counted but Ctrl-C.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use piton_model::Time;
use piton_model::fleet::{Interrupts, Request};
use piton_model::text::printable;
use piton_store::disk::{Access, Disk};
use piton_supervisor::{Identity, Watch};
use serde_json::{Value, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::{RunError, failed};
use crate::Workspace;

/// Where requests wait for the lead.
pub(super) const REQUESTS: &str = ".piton/run/requests";

/// The signals that a lead listens to, and the numbers under which they are watched.
const SIGNALS: [(u64, i32); 3] = [(1, SIGINT), (2, SIGTERM), (3, SIGHUP)];

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asker {
    /// Ctrl-C at the lead's terminal.
    Terminal,
    /// The system, or a person with `kill`.
    Terminated,
    /// `piton stop`.
    Command {
        /// Its process.
        pid: u32,
        /// The user's name, as far as it is known.
        user: Option<String>,
    },
}

impl Asker {
    /// As it is told.
    pub fn shown(&self) -> String {
        match self {
            Asker::Terminal => "Ctrl-C".to_owned(),
            Asker::Terminated => "SIGTERM".to_owned(),
            Asker::Command { pid, user: Some(user) } => {
                format!("piton stop (process {pid}, user {})", printable(user))
            }
            Asker::Command { pid, user: None } => format!("piton stop (process {pid})"),
        }
    }
}

/// What came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asked {
    /// To do something.
    To(Request, Asker),
    /// The terminal is gone, or is to be left alone: the view ends, and nothing else.
    HangUp,
}

/// The signals of a lead.
pub(super) struct Signals {
    pipes: Vec<(u64, i32, UnixStream)>,
    ignored: Vec<i32>,
    interrupts: Interrupts,
}

impl Signals {
    /// Listens, and lets `watch` wake up for it.
    pub fn listen(watch: &mut Watch) -> std::io::Result<Signals> {
        // Asked before the first handler is there: `nohup` and a shell's `&` say by this that nobody means the lead.
        let ignored = ignored_signals(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
        let mut pipes = Vec::new();
        for (number, signal) in SIGNALS {
            let (mut reader, writer) = UnixStream::pair()?;
            reader.set_nonblocking(true)?;
            // A handler replaces an ignored signal, for workers too: they start with the system's defaults.
            signal_hook::low_level::pipe::register(signal, writer)?;
            watch.add_readable(number, &mut reader)?;
            pipes.push((number, signal, reader));
        }
        Ok(Signals { pipes, ignored, interrupts: Interrupts::default() })
    }

    /// Takes what was signalled under a number of the watch.
    pub fn take(&mut self, number: u64, now: Duration) -> Option<Asked> {
        let (_, signal, pipe) = self.pipes.iter_mut().find(|(each, _, _)| *each == number)?;
        let mut bytes = [0; 64];
        let mut came = false;
        while let Ok(1..) = pipe.read(&mut bytes) {
            came = true;
        }
        let signal = *signal;
        if !came || (self.ignored.contains(&signal) && signal != SIGTERM) {
            return None;
        }
        match signal {
            SIGINT => self.interrupts.press(now).map(|request| Asked::To(request, Asker::Terminal)),
            SIGHUP => Some(Asked::HangUp),
            _ => Some(Asked::To(Request::Drain, Asker::Terminated)),
        }
    }
}

/// The signals that a process ignores, by its `/proc/PID/status`.
fn ignored_signals(status: &str) -> Vec<i32> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    (1..=64).filter(|signal| mask >> (signal - 1) & 1 == 1).collect()
}

/// Leaves a request for a lead, durably; the path of it.
pub(super) fn leave(
    workspace: &Workspace,
    lead: &Identity,
    request: Request,
    user: Option<&str>,
    now: Time,
) -> Result<String, RunError> {
    let pid = std::process::id();
    let path = format!("{REQUESTS}/{}-{pid}-{}.json", now.unix_seconds(), request.word());
    let content = json!({
        "kind": request.word(),
        "lead": lead.to_string(),
        "pid": pid,
        "user": user,
        "at": now.to_string(),
    });
    piton_store::replace(&*workspace.disk, &path, format!("{content}\n").as_bytes(), Access::Private)
        .map_err(failed)?;
    Ok(path)
}

/// Takes what is asked of this lead, oldest first. What was asked of a lead that is gone is not for its successor.
/// Requests that cannot be removed are remembered in `kept`, so that each is taken once.
pub(super) fn take(workspace: &Workspace, own: &Identity, kept: &mut BTreeSet<String>) -> Vec<Asked> {
    let disk = &*workspace.disk;
    let mut asked = Vec::new();
    for name in disk.list(REQUESTS) {
        // A name with a dot in front is still being written.
        if name.starts_with('.') || kept.contains(&name) {
            continue;
        }
        let path = format!("{REQUESTS}/{name}");
        asked.extend(read(disk, &path, own));
        if disk.remove(&path).is_err() {
            kept.insert(name);
        }
    }
    asked
}

/// Whether a request has not been taken yet.
pub(super) fn is_waiting(workspace: &Workspace, path: &str) -> bool {
    matches!(workspace.disk.stamp(path), Ok(Some(_)))
}

fn read(disk: &dyn Disk, path: &str, own: &Identity) -> Option<Asked> {
    let content = disk.read(path).ok()?;
    let value: Value = serde_json::from_slice(&content.bytes).ok()?;
    let lead: Identity = value["lead"].as_str()?.parse().ok()?;
    let request = Request::parse(value["kind"].as_str()?)?;
    let pid = value["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok())?;
    let user = value["user"].as_str().map(str::to_owned);
    (lead == *own).then_some(Asked::To(request, Asker::Command { pid, user }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_mask() {
        for (status, want) in [
            ("Name:\tx\nSigIgn:\t0000000000000001\nSigCgt:\t0\n", vec![SIGHUP]),
            ("SigIgn:\t0000000000001006\n", vec![SIGINT, 3, 13]),
            ("SigIgn:\t0000000000000000\n", vec![]),
            ("SigIgn:\tnonsense\n", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(ignored_signals(status), want, "{status:?}");
        }
    }
}
