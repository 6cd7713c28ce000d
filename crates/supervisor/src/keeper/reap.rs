//! Orphans of the worker: the keeper is their child subreaper, so it has to collect them, or they stay as zombies for as
//! long as the worker runs.

use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, WaitOptions, waitpid};

/// Collects every child that exits, except the worker: its status is the keeper's to read.
pub(super) struct Reaper {
    worker: Pid,
    /// Becomes readable on SIGCHLD.
    signals: UnixStream,
}

impl Reaper {
    pub fn new(worker: Pid) -> io::Result<Reaper> {
        let (signals, writer) = UnixStream::pair()?;
        signals.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(signal_hook::consts::SIGCHLD, writer)?;
        Ok(Reaper { worker, signals })
    }

    pub fn poll_fd(&self) -> PollFd<'_> {
        PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN)
    }

    /// Collects what has exited so far. One signal may stand for many children, so each of them is asked.
    pub fn reap(&mut self) {
        let mut bytes = [0; 256];
        let mut is_told = false;
        while matches!(self.signals.read(&mut bytes), Ok(count) if count > 0) {
            is_told = true;
        }
        if !is_told {
            return;
        }
        for child in crate::tree::children() {
            if let Some(pid) = Pid::from_raw(child as i32).filter(|pid| *pid != self.worker) {
                // One that still runs is asked again with the next signal.
                let _ = waitpid(Some(pid), WaitOptions::NOHANG);
            }
        }
    }
}
