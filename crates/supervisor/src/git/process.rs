//! Runs one git process to its end: in a session of its own, within a time, with bounded output.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};

/// More output than this is an error.
const MOST_OUTPUT: usize = 64 << 20;

/// More messages than this are dropped.
const MOST_MESSAGES: usize = 64 << 10;

/// How long a process has after SIGTERM, on which git removes its lock files.
const GRACE: Duration = Duration::from_secs(5);

/// How often a process is looked at where the kernel gives no handle for it.
const WITHOUT_HANDLE: Duration = Duration::from_millis(20);

/// How a process ended, and what it printed.
#[derive(Debug)]
pub(crate) struct Ended {
    pub status: ExitStatus,
    pub out: Vec<u8>,
    pub err: Vec<u8>,
}

impl Ended {
    /// Whether a terminal's signal ended it before it had a session of its own: it has done nothing yet.
    pub fn was_interrupted(&self) -> bool {
        let terminal = [Signal::INT, Signal::QUIT, Signal::HUP];
        self.status.signal().is_some_and(|signal| terminal.iter().any(|each| each.as_raw() == signal))
    }
}

#[derive(Debug)]
pub(crate) enum ProcessError {
    Io(io::Error),
    TimedOut,
    TooMuchOutput,
}

impl From<io::Error> for ProcessError {
    fn from(error: io::Error) -> ProcessError {
        ProcessError::Io(error)
    }
}

impl From<rustix::io::Errno> for ProcessError {
    fn from(error: rustix::io::Errno) -> ProcessError {
        ProcessError::Io(error.into())
    }
}

/// A command that will run away from our terminal: neither Ctrl-C nor a hang-up reaches it.
///
/// The standard library begins no session without `unsafe`, so `setsid` from util-linux or BusyBox does. It becomes the
/// program itself, with the same pid, because it does not lead its process group. Without it the command gets at least a
/// process group of its own.
pub(crate) fn in_own_session(program: &Path) -> Command {
    match in_path("setsid") {
        Some(setsid) => {
            let mut command = Command::new(setsid);
            command.arg(program);
            command
        }
        None => {
            let mut command = Command::new(program);
            command.process_group(0);
            command
        }
    }
}

/// Where a program is.
pub(crate) fn in_path(name: &str) -> Option<PathBuf> {
    // Without PATH, programs are looked for where the C library does.
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    std::env::split_paths(&path)
        .map(|directory| directory.join(name))
        .find(|file| rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok() && file.is_file())
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command, input: &[u8], limit: Duration) -> Result<Ended, ProcessError> {
    let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
    let mut child = command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let done = attend(&mut child, input, Instant::now() + limit);
    match done {
        Ok((out, err)) => Ok(Ended { status: child.wait()?, out, err }),
        Err(error) => {
            end(&mut child)?;
            Err(error)
        }
    }
}

/// Feeds and reads a process until it has ended. A process of its own that keeps the pipes open is not waited for.
fn attend(child: &mut Child, input: &[u8], deadline: Instant) -> Result<(Vec<u8>, Vec<u8>), ProcessError> {
    let handle = pid_of(child).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    let mut feed = child.stdin.take().filter(|pipe| rustix::io::ioctl_fionbio(pipe, true).is_ok());
    let mut left = input;
    let mut out = Pipe::new(child.stdout.take(), MOST_OUTPUT + 1)?;
    let mut err = Pipe::new(child.stderr.take(), MOST_MESSAGES)?;
    loop {
        let now = Instant::now();
        if now >= deadline {
            return Err(ProcessError::TimedOut);
        }
        wait_for(feed.as_ref().map(AsFd::as_fd), &[out.fd(), err.fd()], handle.as_ref(), deadline - now)?;
        if let Some(pipe) = &mut feed {
            match pipe.write(left) {
                Ok(count) => left = &left[count..],
                Err(error) if is_not_now(&error) => {}
                // A process that does not read its input says why in another way.
                Err(_) => left = &[],
            }
        }
        if left.is_empty() {
            feed = None;
        }
        let has_ended = child.try_wait()?.is_some();
        out.read()?;
        err.read()?;
        if out.kept.len() > MOST_OUTPUT {
            return Err(ProcessError::TooMuchOutput);
        }
        if has_ended {
            return Ok((out.kept, err.kept));
        }
    }
}

/// Waits until something can be read or written, or the process has ended.
fn wait_for(
    feed: Option<BorrowedFd<'_>>,
    pipes: &[Option<BorrowedFd<'_>>],
    handle: Option<&OwnedFd>,
    most: Duration,
) -> Result<(), ProcessError> {
    let mut all: Vec<PollFd<'_>> = Vec::with_capacity(4);
    all.extend(feed.map(|feed| PollFd::from_borrowed_fd(feed, PollFlags::OUT)));
    all.extend(pipes.iter().flatten().map(|pipe| PollFd::from_borrowed_fd(*pipe, PollFlags::IN)));
    all.extend(handle.map(|handle| PollFd::new(handle, PollFlags::IN)));
    let most = if handle.is_some() { most } else { most.min(WITHOUT_HANDLE) };
    let most = Timespec::try_from(most).map_err(io::Error::other)?;
    match poll(&mut all, Some(&most)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

struct Pipe<R> {
    from: Option<R>,
    kept: Vec<u8>,
    most: usize,
}

impl<R: Read + AsFd> Pipe<R> {
    fn new(from: Option<R>, most: usize) -> Result<Pipe<R>, ProcessError> {
        if let Some(from) = &from {
            rustix::io::ioctl_fionbio(from, true)?;
        }
        Ok(Pipe { from, kept: Vec::new(), most })
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.from.as_ref().map(AsFd::as_fd)
    }

    /// Takes what is there; what is more than is kept is dropped.
    fn read(&mut self) -> io::Result<()> {
        let mut piece = vec![0; 64 << 10];
        while let Some(from) = &mut self.from {
            match from.read(&mut piece) {
                Ok(0) => self.from = None,
                Ok(count) => {
                    let room = self.most.saturating_sub(self.kept.len());
                    self.kept.extend_from_slice(&piece[..count.min(room)]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_not_now(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn is_not_now(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

fn pid_of(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Ends a process with everything in its process group: first in a way that lets git remove its locks.
fn end(child: &mut Child) -> Result<(), ProcessError> {
    signal(child, Signal::TERM);
    let until = Instant::now() + GRACE;
    while child.try_wait()?.is_none() && Instant::now() < until {
        std::thread::sleep(WITHOUT_HANDLE);
    }
    signal(child, Signal::KILL);
    child.wait()?;
    Ok(())
}

/// Its pid is its own for as long as nobody has waited for it; a group of that number is its own.
fn signal(child: &Child, signal: Signal) {
    if let Some(pid) = pid_of(child)
        && kill_process_group(pid, signal).is_err()
    {
        // It has not begun its session yet, or it has ended.
        let _ = kill_process(pid, signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn shell(script: &str) -> Command {
        let mut command = in_own_session(Path::new("/bin/sh"));
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_and_status_are_taken() {
        let ended = run(&mut shell("cat; echo no >&2; exit 3"), &b"x".repeat(1 << 20), LONG).expect("it runs");
        assert_eq!((ended.status.code(), ended.out.len(), &*ended.err), (Some(3), 1 << 20, &b"no\n"[..]));
    }

    #[test]
    fn a_session_of_its_own() {
        let ended = run(&mut shell("cut -d' ' -f1,5,6 /proc/$$/stat"), b"", LONG).expect("it runs");
        let text = String::from_utf8_lossy(&ended.out).into_owned();
        let [pid, group, session] = text.split_ascii_whitespace().collect::<Vec<_>>()[..] else { panic!("{text}") };
        assert_eq!((pid, pid), (group, session), "it leads its group and its session");
    }

    #[test]
    fn time_is_limited_and_everything_it_started_ends() {
        let file = std::env::temp_dir().join(format!("piton-git-process-{}", std::process::id()));
        let script = format!("trap '' TERM; sleep 600 & echo $! > {}; sleep 600", file.display());
        // TERM is ignored by the shell and what it starts, so KILL has to do it.
        let error = run(&mut shell(&script), b"", Duration::from_millis(300)).expect_err("it does not end");
        assert!(matches!(error, ProcessError::TimedOut), "{error:?}");
        let pid: u32 = std::fs::read_to_string(&file).expect("it began").trim().parse().expect("a pid");
        std::fs::remove_file(&file).expect("it is there");
        let until = Instant::now() + Duration::from_secs(20);
        while crate::process::stat(pid).is_some_and(|stat| !stat.has_ended()) {
            assert!(Instant::now() < until, "process {pid} lives");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_background_process_that_holds_the_pipe_is_not_waited_for() {
        let ended = run(&mut shell("sleep 5 & echo done"), b"", Duration::from_secs(4)).expect("it ends");
        assert_eq!(&*ended.out, b"done\n");
    }

    #[test]
    fn endless_output_is_an_error() {
        let error = run(&mut shell("yes"), b"", LONG).expect_err("it does not end");
        assert!(matches!(error, ProcessError::TooMuchOutput), "{error:?}");
    }
}
