//! The keeper proper: starts the worker, keeps its output, waits, writes down the end, sweeps.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

use super::drain::Drain;
use super::reap::Reaper;
use super::{OURSELVES, say};
use crate::end::{End, Exit, Signs};
use crate::home::{Claim, Home, Reserve};
use crate::identity::Identity;
use crate::tree;

/// How long what is left in the pipes is read after the worker has ended.
const REST: Duration = Duration::from_millis(200);

/// How often it is tried again to write on a full disk.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// No request is longer.
const LONGEST_REQUEST: usize = 4096;

/// A worker that is held.
struct Keeper {
    home: Home,
    claim: Claim,
    identity: Identity,
    /// Becomes readable when the worker ends.
    handle: OwnedFd,
    control: File,
    held: Held,
    /// Room for how it ends.
    reserve: Reserve,
    /// When it is made to stop.
    deadline: Option<Instant>,
    /// Held as long as this process lives.
    _lock: File,
}

enum Held {
    Child {
        child: Child,
        drain: Box<Drain>,
        reaper: Reaper,
    },
    /// Its keeper died. Neither its output nor its status can be had any more.
    Orphan,
}

/// Starts the worker and holds it to its end.
pub(super) fn hold(home: Home) -> Result<(), String> {
    let (lock, control, claim) = settle_in(&home)?;
    if home.identity("worker").is_some() {
        return Err("the worker was started already".to_owned());
    }
    // Without it the end is written as soon as there is room.
    let mut reserve = home.reserve().unwrap_or_default();
    let begun = begin(&home, &claim).and_then(|child| {
        let identity = home.identity("worker").ok_or("the worker did not say who it is")?;
        Ok((child, identity))
    });
    let (mut child, identity) = match begun {
        Ok(begun) => begun,
        Err(message) => {
            tree::end_descendants();
            let exit = Exit::NotStarted { message: message.clone() };
            let end = End { exit, at: SystemTime::now(), signs: Signs::default(), leftovers: 0, is_swept: true };
            home.write_end_reserved(&end, &mut reserve).map_err(own(&home))?;
            return Err(message);
        }
    };
    let (Some(out), Some(err)) = (child.stdout.take(), child.stderr.take()) else {
        return Err("the worker has no pipes".to_owned());
    };
    let drain = Drain::new(&home, claim.launch.spool, out.into(), err.into()).map_err(own(&home))?;
    // It is our child, so that its pid is its own until we collect it.
    let pid = Pid::from_raw(identity.pid as i32).ok_or("the worker has no pid")?;
    let reaper = Reaper::new(pid).map_err(|error| format!("cannot watch the worker's processes: {error}"))?;
    let held = Held::Child { child, drain: Box::new(drain), reaper };
    let handle = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())
        .map_err(|error| format!("cannot watch the worker: {error}"))?;
    let keeper = Keeper { home, claim, identity, handle, control, held, reserve, deadline: None, _lock: lock };
    keeper.run()
}

/// Holds a worker whose keeper died.
pub(super) fn hold_orphan(home: Home) -> Result<(), String> {
    let (lock, control, claim) = settle_in(&home)?;
    let identity = home.identity("worker").ok_or("no worker was ever started")?;
    let Some(handle) = identity.open() else { return Err("the worker has ended".to_owned()) };
    let (held, reserve) = (Held::Orphan, home.reserve().unwrap_or_default());
    Keeper { home, claim, identity, handle, control, held, reserve, deadline: None, _lock: lock }.run()
}

/// Becomes independent of whoever started us, and the one keeper of this home.
fn settle_in(home: &Home) -> Result<(File, File, Claim), String> {
    rustix::process::setsid().map_err(|error| format!("cannot begin a session: {error}"))?;
    rustix::process::set_child_subreaper(Pid::from_raw(std::process::id() as i32))
        .map_err(|error| format!("cannot become child subreaper: {error}"))?;
    let owner = std::fs::metadata(&home.path).map_err(own(home))?.uid();
    if owner != rustix::process::geteuid().as_raw() {
        return Err(format!("{} belongs to somebody else", home.path.display()));
    }
    let claim = home.claimed().map_err(own(home))?.ok_or("nothing is to be started here")?;
    if !claim.is_of_this_boot() {
        return Err("it was claimed before the machine was started".to_owned());
    }
    let lock = home.lock().map_err(own(home))?;
    // Whoever looks whether there is a keeper holds it for a moment.
    lock.lock().map_err(own(home))?;
    if home.end().map_err(own(home))?.is_some() {
        return Err("it was given up before".to_owned());
    }
    let identity = Identity::current().ok_or("cannot tell this process from others: /proc is missing")?;
    home.write_identity("keeper", &identity).map_err(own(home))?;
    let control = open_control(home).map_err(own(home))?;
    Ok((lock, control, claim))
}

/// The pipe for requests. It is opened for both, so that it never is at its end.
fn open_control(home: &Home) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let path = home.file("control");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    match rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    OpenOptions::new().read(true).write(true).custom_flags(nonblocking).open(path)
}

/// Starts the worker; returns when it has become its program.
fn begin(home: &Home, claim: &Claim) -> Result<Child, String> {
    let (status, theirs) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|error| format!("cannot make a pipe: {error}"))?;
    let child = Command::new(OURSELVES)
        .args(["keep", "--begin"])
        .arg(&home.path)
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start {}: {error}", claim.launch.argv.join(" ")))?;
    let mut message = String::new();
    io::Read::read_to_string(&mut File::from(status), &mut message)
        .map_err(|error| format!("cannot tell whether the worker began: {error}"))?;
    if message.is_empty() { Ok(child) } else { Err(message) }
}

fn own(home: &Home) -> impl Fn(io::Error) -> String {
    move |error| format!("cannot use {}: {error}", home.path.display())
}

impl Keeper {
    fn run(mut self) -> Result<(), String> {
        say("ready").map_err(|error| error.to_string())?;
        leave_the_world().map_err(|error| error.to_string())?;
        let exit = self.wait().map_err(own(&self.home))?;
        self.end(exit).map_err(own(&self.home))
    }

    /// Waits for the worker and does meanwhile what is asked.
    fn wait(&mut self) -> io::Result<Exit> {
        loop {
            let has_ended = self.poll()?;
            if let Held::Child { drain, reaper, .. } = &mut self.held {
                drain.read(&self.home);
                reaper.reap();
            }
            if has_ended {
                return match &mut self.held {
                    Held::Child { child, .. } => child.wait().map(exit_of),
                    Held::Orphan => Ok(Exit::Vanished),
                };
            }
            self.obey();
            if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                self.deadline = None;
                self.sweep();
            }
        }
    }

    /// Waits until something happens; says whether the worker has ended.
    fn poll(&mut self) -> io::Result<bool> {
        let now = Instant::now();
        let until_deadline = self.deadline.map(|deadline| deadline.saturating_duration_since(now));
        let until_signs = match &mut self.held {
            Held::Child { drain, .. } => drain.write_signs(now),
            Held::Orphan => None,
        };
        let timeout = [until_deadline, until_signs].into_iter().flatten().min();
        let timeout = timeout
            .map(|timeout| Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() });
        let mut fds = vec![
            PollFd::from_borrowed_fd(self.handle.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.control.as_fd(), PollFlags::IN),
        ];
        if let Held::Child { drain, reaper, .. } = &self.held {
            fds.extend(drain.poll_fds());
            fds.push(reaper.poll_fd());
        }
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) => Ok(!fds[0].revents().is_empty()),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Does what was asked through the pipe. What makes no sense is passed over.
    fn obey(&mut self) {
        let mut bytes = [0; LONGEST_REQUEST];
        let Ok(count) = rustix::io::read(&self.control, &mut bytes) else { return };
        for request in String::from_utf8_lossy(&bytes[..count]).lines() {
            let Some((word, milliseconds)) = request.split_once(' ') else { continue };
            let Ok(milliseconds) = milliseconds.parse() else { continue };
            match word {
                "interrupt" => self.ask_to_stop(Signal::INT),
                "terminate" => self.ask_to_stop(Signal::TERM),
                "kill" => {}
                _ => continue,
            }
            let Some(deadline) = Instant::now().checked_add(Duration::from_millis(milliseconds)) else { continue };
            self.deadline = Some(self.deadline.map_or(deadline, |earlier| earlier.min(deadline)));
        }
    }

    /// Signals the worker's group, so that each of its processes can end in its own way.
    fn ask_to_stop(&self, signal: Signal) {
        if !self.identity.is_alive() {
            return;
        }
        let Some(group) = Pid::from_raw(self.identity.pid as i32).filter(|group| group.as_raw_nonzero().get() > 1)
        else {
            return;
        };
        // Gone in this moment: then it has stopped.
        let _ = kill_process_group(group, signal);
        // One that is stopped could not hear it.
        let _ = kill_process_group(group, Signal::CONT);
    }

    /// Ends everything that the worker started, and the worker.
    fn sweep(&self) -> u32 {
        match &self.held {
            Held::Child { .. } => tree::end_descendants(),
            Held::Orphan => tree::end_marked(&self.claim.mark, Some(&self.identity)),
        }
    }

    /// Writes down how it ended. First before its processes are looked for: should we be killed meanwhile, the status is
    /// what only we know.
    fn end(&mut self, exit: Exit) -> io::Result<()> {
        let signs = self.read_rest();
        let mut end = End { exit, at: SystemTime::now(), signs, leftovers: 0, is_swept: false };
        let first = self.home.write_end_reserved(&end, &mut self.reserve);
        end.leftovers = self.sweep();
        end.signs = self.read_rest();
        end.is_swept = true;
        match first {
            Err(error) if !is_full(&error) => Err(error),
            Ok(()) | Err(_) => self.write_down(&end),
        }
    }

    /// Writes down the end as soon as there is room for it. Until then this process stays, and the worker seems to run:
    /// better that than a status that is lost.
    fn write_down(&mut self, end: &End) -> io::Result<()> {
        let mut pause = FIRST_PAUSE;
        loop {
            match self.home.write_end_reserved(end, &mut self.reserve) {
                Err(error) if is_full(&error) && self.home.path.is_dir() => std::thread::sleep(pause),
                done => return done,
            }
            pause = LONGEST_PAUSE.min(pause * 2);
        }
    }

    fn read_rest(&mut self) -> Signs {
        match &mut self.held {
            Held::Child { drain, .. } => {
                drain.read_rest(&self.home, REST);
                drain.write_signs_now();
                drain.signs()
            }
            Held::Orphan => self.home.signs().unwrap_or_default(),
        }
    }
}

/// Lets go of what whoever started us may wait for.
fn leave_the_world() -> io::Result<()> {
    let nothing = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&nothing)?;
    rustix::stdio::dup2_stderr(&nothing)?;
    // A directory in which somebody stands cannot be unmounted.
    std::env::set_current_dir("/")
}

/// Whether there may be room later.
fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Vanished,
    }
}
