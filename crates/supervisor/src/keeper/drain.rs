//! The worker's output: read as it comes, kept, counted.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::time::{Duration, Instant, SystemTime};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

use super::spool::SpoolFile;
use crate::home::Home;
use crate::launch::Spool;
use crate::output::Stream;
use crate::worker::Signs;

/// Signs are written at most so often.
const SIGNS_EVERY: Duration = Duration::from_millis(250);

/// What is read at once.
const AT_ONCE: usize = 64 << 10;

/// Both streams of a worker.
pub(super) struct Drain {
    pipes: [Pipe; 2],
    buffer: Vec<u8>,
    signs_file: Option<File>,
    signs: Signs,
    written: Signs,
    written_at: Option<Instant>,
}

struct Pipe {
    /// Nothing once nobody can write to it any more.
    end: Option<OwnedFd>,
    spool: SpoolFile,
}

impl Drain {
    pub fn new(home: &Home, spool: Spool, out: OwnedFd, err: OwnedFd) -> io::Result<Drain> {
        let pipe = |end: OwnedFd, stream| {
            rustix::io::ioctl_fionbio(&end, true)?;
            io::Result::Ok(Pipe { end: Some(end), spool: SpoolFile::new(stream, spool.segment) })
        };
        let signs_file =
            OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(home.file("signs"));
        Ok(Drain {
            pipes: [pipe(out, Stream::Out)?, pipe(err, Stream::Err)?],
            buffer: vec![0; AT_ONCE],
            signs_file: signs_file.ok(),
            signs: Signs::default(),
            written: Signs::default(),
            written_at: None,
        })
    }

    pub fn signs(&self) -> Signs {
        self.signs
    }

    /// The pipes that may bring something.
    pub fn poll_fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.pipes
            .iter()
            .filter_map(|pipe| pipe.end.as_ref())
            .map(|end| PollFd::from_borrowed_fd(end.as_fd(), PollFlags::IN))
    }

    /// Reads once from each pipe that has something; says whether any had.
    pub fn read(&mut self, home: &Home) -> bool {
        let mut has_read = false;
        for pipe in &mut self.pipes {
            let Some(end) = &pipe.end else { continue };
            match rustix::io::read(end, self.buffer.as_mut_slice()) {
                Ok(0) => pipe.end = None,
                Ok(count) => {
                    pipe.spool.write(home, &self.buffer[..count]);
                    has_read = true;
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(_) => pipe.end = None,
            }
        }
        if has_read {
            let [out, err] = &self.pipes;
            self.signs = Signs { out: out.spool.total(), err: err.spool.total(), last: Some(SystemTime::now()) };
        }
        has_read
    }

    /// Reads what is there, but not for ever: whoever still holds a pipe may go on writing.
    pub fn read_rest(&mut self, home: &Home, most: Duration) {
        let begun = Instant::now();
        while self.read(home) && begun.elapsed() < most {}
    }

    /// Writes the signs if they have changed and it is time; says when it will be.
    pub fn write_signs(&mut self, now: Instant) -> Option<Duration> {
        if self.signs == self.written {
            return None;
        }
        let wait = self.written_at.and_then(|at| (at + SIGNS_EVERY).checked_duration_since(now));
        match wait.filter(|wait| !wait.is_zero()) {
            Some(wait) => Some(wait),
            None => {
                self.write_signs_now();
                self.written_at = Some(now);
                None
            }
        }
    }

    pub fn write_signs_now(&mut self) {
        if let Some(file) = &self.signs_file {
            // Always as long as before. A sign that is lost to a full disk is followed by others.
            let _ = file.write_all_at(self.signs.line().as_bytes(), 0);
        }
        self.written = self.signs;
    }
}
