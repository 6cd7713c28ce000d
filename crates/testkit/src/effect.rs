//! What is counted, and what is planned to go wrong.

use std::fmt;
use std::io;

use crate::CrashDisk;

/// What kind of change an effect is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file is made.
    Create,
    /// A directory is made.
    MakeDirectory,
    /// A file gets another name.
    Rename,
    /// A file gets a second name.
    Link,
    /// A name is taken away.
    Remove,
    /// Bytes are written.
    Write,
    /// A file is cut.
    Cut,
    /// A file's bytes are made durable.
    Sync,
    /// A directory's names are made durable.
    SyncDirectory,
}

impl Kind {
    /// Whether it makes something durable.
    pub fn is_sync(self) -> bool {
        matches!(self, Kind::Sync | Kind::SyncDirectory)
    }
}

/// How far the effect goes at which the process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It does not happen.
    Before,
    /// Of a write half of the bytes arrive; anything else does not happen.
    Halfway,
}

/// An error that the disk gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// There is no room for one effect; half of a write arrives.
    FullOnce,
    /// One effect fails.
    BrokenOnce,
    /// From that effect on nothing can be changed.
    ReadOnly,
}

impl Fault {
    pub(crate) fn error(self) -> io::Error {
        io::Error::from_raw_os_error(match self {
            Fault::FullOnce => 28,
            Fault::BrokenOnce => 5,
            Fault::ReadOnly => 30,
        })
    }
}

/// Something that somebody else does.
pub(crate) type Hook = Box<dyn FnOnce(&CrashDisk) + Send>;

/// What is to go wrong, and what has happened so far.
#[derive(Default)]
pub(crate) struct Plan {
    pub stop: Option<(u64, Stop)>,
    pub fault: Option<(u64, Fault)>,
    pub hook: Option<(u64, Hook)>,
    pub is_dead: bool,
    /// Each effect that was tried, with its path.
    pub trace: Vec<(Kind, String)>,
    /// Files that were synced again through a handle whose sync had failed.
    pub retried: Vec<String>,
}

/// How an effect goes.
pub(crate) enum Course {
    Whole,
    /// Half of it, and then this.
    Half(io::Error),
    Not(io::Error),
}

impl Plan {
    /// Counts an effect and says how it goes.
    pub fn next(&mut self, kind: Kind, path: &str) -> Course {
        self.trace.push((kind, path.to_owned()));
        let number = self.trace.len() as u64;
        if let Some((at, stop)) = self.stop
            && at == number
        {
            self.is_dead = true;
            let is_half = stop == Stop::Halfway && kind == Kind::Write;
            return if is_half { Course::Half(dead()) } else { Course::Not(dead()) };
        }
        match self.fault {
            Some((at, fault)) if at == number && fault == Fault::FullOnce && kind == Kind::Write => {
                Course::Half(fault.error())
            }
            Some((at, fault)) if at == number || (at < number && fault == Fault::ReadOnly) => {
                Course::Not(fault.error())
            }
            _ => Course::Whole,
        }
    }
}

/// What every call of a dead process gets.
pub(crate) fn dead() -> io::Error {
    io::Error::other("the process is dead")
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan").field("stop", &self.stop).field("fault", &self.fault).finish_non_exhaustive()
    }
}
