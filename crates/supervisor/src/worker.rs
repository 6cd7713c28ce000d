//! A worker as its lead sees it: started, found again, watched, stopped.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use rustix::process::Signal;

use crate::end::{End, Exit, Signs};
use crate::home::{Claim, Home};
use crate::identity::Identity;
use crate::launch::{Launch, Spool};
use crate::tree;

/// How long killed processes may take to be gone.
const FORCE_PATIENCE: Duration = Duration::from_secs(20);

/// How long a keeper may take to say who it is.
const STARTING: Duration = Duration::from_secs(10);

/// The program that keeps workers.
#[derive(Debug, Clone)]
pub struct KeeperProgram {
    path: PathBuf,
}

impl KeeperProgram {
    /// This very program, even when its file was replaced or removed meanwhile.
    pub fn this() -> KeeperProgram {
        KeeperProgram { path: PathBuf::from("/proc/self/exe") }
    }

    /// A program that understands `keep`.
    pub fn at(path: impl Into<PathBuf>) -> KeeperProgram {
        KeeperProgram { path: path.into() }
    }
}

/// Where a worker stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// It runs, and its keeper does.
    Running {
        /// The worker; nothing while it is just being started.
        worker: Option<Identity>,
    },
    /// It runs, but its keeper is gone: how it ends cannot be known, and what it prints goes nowhere. To be stopped and
    /// started anew.
    Orphaned {
        /// The worker.
        worker: Identity,
    },
    /// It has ended.
    Ended(End),
}

/// Where a worker stands, as anybody may see it: nothing is locked, ended or written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sight {
    /// It runs, or is being started.
    Running,
    /// It has ended.
    Ended(End),
    /// It is gone, and nothing says yet how it ended.
    Gone,
}

/// How a worker is asked to stop before it is made to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gently {
    /// As by Ctrl-C.
    Interrupt,
    /// As by `kill`.
    Terminate,
}

/// Why a worker was not started. Nothing runs then.
#[derive(Debug)]
pub enum StartError {
    /// The home has had a worker already: take another one.
    Used {
        /// The home.
        home: PathBuf,
    },
    /// It cannot be started like that.
    Refused {
        /// Why, as a fragment.
        message: String,
    },
    /// The home cannot be written, or the keeper not be started.
    Io {
        /// What was tried, as a fragment.
        doing: &'static str,
        /// The system's word.
        error: io::Error,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Used { home } => write!(f, "this directory has had a worker already: {}", home.display()),
            StartError::Refused { message } => write!(f, "cannot start the worker: {message}"),
            StartError::Io { doing, error } => write!(f, "cannot {doing}: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

/// Why a worker could not be found again.
#[derive(Debug)]
pub enum AdoptError {
    /// The directory never had a worker.
    Nothing {
        /// The directory.
        home: PathBuf,
    },
    /// It cannot be read.
    Io {
        /// The directory.
        home: PathBuf,
        /// The system's word.
        error: io::Error,
    },
}

impl fmt::Display for AdoptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AdoptError::Nothing { home } => write!(f, "no worker was ever started from {}", home.display()),
            AdoptError::Io { home, error } => write!(f, "cannot read {}: {error}", home.display()),
        }
    }
}

impl std::error::Error for AdoptError {}

/// Why a worker could not be stopped.
#[derive(Debug)]
pub struct StopError {
    /// Its home.
    pub home: PathBuf,
    /// The system's word.
    pub error: io::Error,
}

impl fmt::Display for StopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot stop the worker of {}: {}", self.home.display(), self.error)
    }
}

impl std::error::Error for StopError {}

/// A worker that was started, by this process or by another.
///
/// Dropping this does nothing to the worker.
#[derive(Debug)]
pub struct Worker {
    home: Home,
    claim: Claim,
    program: KeeperProgram,
}

impl Worker {
    /// Starts a worker from a home of its own, a directory that is made if need be. Waits until the worker has become
    /// its program, or cannot.
    ///
    /// What is started is written down durably before. When this fails nothing runs, and the home stays as it is, to be
    /// looked at.
    pub fn start(program: &KeeperProgram, home: &Path, launch: &Launch) -> Result<Worker, StartError> {
        let claim = Claim::new(launch).map_err(io_error("get random bytes"))?;
        let home = Home::new(home);
        home.claim(&claim).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => StartError::Used { home: home.path.clone() },
            io::ErrorKind::InvalidInput => StartError::Refused { message: error.to_string() },
            _ => StartError::Io { doing: "write the worker's directory", error },
        })?;
        let worker = Worker { home, claim, program: program.clone() };
        let begun = worker.start_keeper(&[]);
        let problem = match begun {
            Ok(None) => return Ok(worker),
            Ok(Some(message)) => StartError::Refused { message },
            Err(error) => StartError::Io { doing: "start the keeper", error },
        };
        // Should the keeper come after all, it finds that it is too late.
        worker.condition().map_err(io_error("read the worker's directory"))?;
        Err(problem)
    }

    /// Finds a worker again that was started from this home, whoever started it and whatever became of it.
    pub fn adopt(program: &KeeperProgram, home: &Path) -> Result<Worker, AdoptError> {
        let found = Home::new(home);
        match found.claimed() {
            Ok(Some(claim)) => Ok(Worker { home: found, claim, program: program.clone() }),
            Ok(None) => Err(AdoptError::Nothing { home: home.to_owned() }),
            Err(error) => Err(AdoptError::Io { home: home.to_owned(), error }),
        }
    }

    /// Its home.
    pub fn home(&self) -> &Path {
        &self.home.path
    }

    /// What was started.
    pub fn launch(&self) -> &Launch {
        &self.claim.launch
    }

    /// How much of its output is kept.
    pub fn spool(&self) -> Spool {
        self.claim.launch.spool
    }

    /// Where it stands now.
    ///
    /// When its keeper could not bring it to an end, that is done here: what it left behind is ended, and its end is
    /// written down. So whoever is told `Ended` can start a successor. For the one lead alone: a worker that another
    /// process is just starting would be taken for one that nobody started.
    pub fn condition(&self) -> io::Result<Condition> {
        if let Some(end) = self.home.end()?.filter(|end| end.is_swept) {
            return Ok(Condition::Ended(end));
        }
        let lock = self.home.lock()?;
        match lock.try_lock() {
            Ok(()) => self.condition_without_keeper(),
            Err(TryLockError::WouldBlock) => Ok(Condition::Running { worker: self.home.identity("worker") }),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// The same while this process holds the keeper's lock, so that no keeper can come.
    fn condition_without_keeper(&self) -> io::Result<Condition> {
        let worker = self.home.identity("worker");
        let end = self.home.end()?;
        match (&end, &worker) {
            (Some(end), _) if end.is_swept => return Ok(Condition::Ended(end.clone())),
            (None, Some(worker)) if worker.is_alive() => return Ok(Condition::Orphaned { worker: worker.clone() }),
            _ => {}
        }
        let leftovers = match self.claim.is_of_this_boot() {
            true => tree::end_marked(&self.claim.mark, worker.as_ref()),
            false => 0,
        };
        // Who they were does not survive the machine, so that it may have begun.
        let has_begun = worker.is_some() || leftovers > 0 || !self.claim.is_of_this_boot();
        let exit = match end {
            Some(end) => end.exit,
            None if has_begun => Exit::Vanished,
            None => Exit::NotStarted { message: "whoever wanted to start it was gone before".to_owned() },
        };
        let end = End { exit, at: SystemTime::now(), signs: self.signs()?, leftovers, is_swept: true };
        self.home.write_end(&end)?;
        Ok(Condition::Ended(end))
    }

    /// Where it seems to stand, for who is not its lead. Nothing is changed.
    pub fn sight(&self) -> io::Result<Sight> {
        if let Some(end) = self.home.end()? {
            return Ok(Sight::Ended(end));
        }
        // The keeper holds the lock of the home as long as it runs.
        let lock = self.home.file("lock");
        let lives = |name| self.home.identity(name).map(|identity| identity.holds(&lock));
        Ok(match (lives("keeper"), lives("worker")) {
            (Some(true), _) | (_, Some(true)) => Sight::Running,
            // A keeper that has just been started has not said who it is.
            (None, None) if self.claim.is_of_this_boot() && self.is_new() => Sight::Running,
            // It may have ended between the two looks.
            (_, _) => self.home.end()?.map_or(Sight::Gone, Sight::Ended),
        })
    }

    /// Whether its home was made within the last seconds.
    fn is_new(&self) -> bool {
        let made = std::fs::metadata(self.home.file("launch.json")).and_then(|launch| launch.modified());
        made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age < STARTING))
    }

    /// Its signs of life. Cheap: one small file is read.
    pub fn signs(&self) -> io::Result<Signs> {
        self.home.signs()
    }

    /// The processor time that all its processes have used so far, those included that left it. Not cheap: looks at
    /// each of them.
    pub fn processor_time(&self) -> Duration {
        let keeper = self.home.identity("keeper").filter(Identity::is_alive);
        let worker = self.home.identity("worker").filter(Identity::is_alive);
        tree::processor_time(keeper.as_ref(), worker.as_ref())
    }

    /// Asks it to stop, and after a while makes it: everything that it started is ended then. Returns at once; that it
    /// has ended is seen as always.
    ///
    /// Asking again with less time shortens the time that is left.
    pub fn stop(&self, how: Gently, grace: Duration) -> Result<(), StopError> {
        let word = match how {
            Gently::Interrupt => "interrupt",
            Gently::Terminate => "terminate",
        };
        self.request(&format!("{word} {}\n", grace.as_millis()))
    }

    /// Ends it and everything that it started, at once. Returns before that is done; that it has ended is seen as
    /// always.
    pub fn stop_now(&self) -> Result<(), StopError> {
        self.request("kill 0\n")
    }

    /// Ends it and everything that it started without its keeper, which is ended too. For a keeper that does not answer.
    /// Waits until it is done; fails when a process does not even end by `SIGKILL`, because it waits for a device.
    pub fn force_end(&self) -> Result<End, StopError> {
        let failed = |error| StopError { home: self.home.path.clone(), error };
        let begun = Instant::now();
        while begun.elapsed() < FORCE_PATIENCE {
            if let Some(keeper) = self.home.identity("keeper") {
                keeper.signal(Signal::KILL);
            }
            if let Some(worker) = self.home.identity("worker").filter(Identity::is_alive) {
                tree::end_marked(&self.claim.mark, Some(&worker));
            }
            match self.condition().map_err(failed)? {
                Condition::Ended(end) => return Ok(end),
                // A killed process takes a moment to let go of its lock.
                Condition::Running { .. } | Condition::Orphaned { .. } => {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        }
        Err(failed(io::Error::new(io::ErrorKind::TimedOut, "its processes cannot be killed")))
    }

    /// Ends everything that it started, found by its mark. For a worker whose home is gone or cannot be read: no keeper can be
    /// asked, nothing is written down, and how it ended is not known.
    pub fn end_by_mark(&self) -> End {
        let worker = self.home.identity("worker");
        let leftovers = match self.claim.is_of_this_boot() {
            true => tree::end_marked(&self.claim.mark, worker.as_ref()),
            false => 0,
        };
        let signs = self.signs().unwrap_or_default();
        End { exit: Exit::Vanished, at: SystemTime::now(), signs, leftovers, is_swept: true }
    }

    /// Where it stands, when something of it has ended: it ran, or how it ended. A home that is gone or cannot be read is no
    /// reason to let it run on unseen: it is ended then.
    pub fn end(&self) -> Option<End> {
        let end = match self.condition() {
            Ok(Condition::Ended(end)) => Ok(end),
            Ok(Condition::Running { .. }) => return None,
            Ok(Condition::Orphaned { .. }) => self.force_end(),
            Err(error) => Err(StopError { home: self.home.path.clone(), error }),
        };
        Some(end.unwrap_or_else(|_| self.end_by_mark()))
    }

    /// Removes its home with all that it printed, when it has ended; says whether it had. Nobody can tell afterwards how
    /// it ended.
    pub fn discard(self) -> io::Result<bool> {
        match self.condition()? {
            Condition::Ended(_) => std::fs::remove_dir_all(&self.home.path).map(|()| true),
            Condition::Running { .. } | Condition::Orphaned { .. } => Ok(false),
        }
    }

    /// What becomes readable when the worker ends, or its keeper.
    pub(crate) fn handle(&self) -> Option<OwnedFd> {
        let identity = |name| self.home.identity(name).and_then(|identity| identity.open());
        identity("keeper").or_else(|| identity("worker"))
    }

    fn request(&self, request: &str) -> Result<(), StopError> {
        let failed = |error| StopError { home: self.home.path.clone(), error };
        // A keeper that is just starting opens its pipe in a moment.
        for _ in 0..500 {
            match self.condition().map_err(failed)? {
                Condition::Ended(_) => return Ok(()),
                Condition::Running { .. } => {}
                Condition::Orphaned { .. } => {
                    let refused = self.start_keeper(&["--orphan"]).map_err(failed)?;
                    if let Some(message) = refused {
                        return Err(failed(io::Error::other(message)));
                    }
                }
            }
            match self.write_request(request) {
                Ok(()) => return Ok(()),
                Err(error) if is_nobody_there(&error) => std::thread::sleep(Duration::from_millis(2)),
                Err(error) => return Err(failed(error)),
            }
        }
        Err(failed(io::Error::new(io::ErrorKind::TimedOut, "its keeper does not open its pipe")))
    }

    fn write_request(&self, request: &str) -> io::Result<()> {
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        let mut control: File =
            OpenOptions::new().write(true).custom_flags(nonblocking).open(self.home.file("control"))?;
        control.write_all(request.as_bytes())
    }

    /// Starts a keeper and waits until it holds the worker; a text says why it does not.
    fn start_keeper(&self, options: &[&str]) -> io::Result<Option<String>> {
        let output = Command::new(&self.program.path)
            .arg("keep")
            .args(options)
            .arg(&self.home.path)
            // Not in the terminal's foreground: a Ctrl-C there is meant for the lead.
            .process_group(0)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        match said.trim() {
            "ready" => Ok(None),
            "" => Ok(Some(format!("its keeper ended with {}", output.status))),
            message => Ok(Some(message.to_owned())),
        }
    }
}

/// No keeper has the pipe open.
fn is_nobody_there(error: &io::Error) -> bool {
    let nobody = rustix::io::Errno::NXIO.raw_os_error();
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(nobody)
}

fn io_error(doing: &'static str) -> impl Fn(io::Error) -> StartError {
    move |error| StartError::Io { doing, error }
}
