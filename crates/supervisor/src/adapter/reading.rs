//! Follows what a worker prints, with bounded memory.

use std::io;
use std::time::SystemTime;

use super::{Kind, Seen, reset};
use crate::output::{LineReader, Stream};
use crate::worker::Worker;

/// Follows what a worker prints, with bounded memory.
#[derive(Debug)]
pub struct Reading {
    kind: Kind,
    out: LineReader,
    err: LineReader,
    seen: Seen,
    /// When the worker last said something.
    last: Option<SystemTime>,
}

impl Reading {
    /// Begins at the beginning, as whoever adopts a worker has to. The kind is the one that the worker was started as.
    pub fn new(kind: Kind, worker: &Worker) -> Reading {
        let reader = |stream| LineReader::new(worker.home(), stream, worker.spool());
        let last = worker.signs().ok().and_then(|signs| signs.last);
        let (out, err) = (reader(Stream::Out), reader(Stream::Err));
        Reading { kind, out, err, seen: Seen::default(), last }
    }

    /// The kind of the worker.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Reads what has come since the last time; says whether there is more to be read at once.
    pub fn catch_up(&mut self) -> io::Result<bool> {
        let Reading { kind, out, err, seen, .. } = self;
        let more_out = out.read(&mut |line| kind.see(seen, Stream::Out, line))?;
        let more_err = err.read(&mut |line| kind.see(seen, Stream::Err, line))?;
        Ok(more_out || more_err)
    }

    /// Reads all that is left, when the worker has ended. When a limit is over that was only given in words ("resets 2pm
    /// (UTC)", "try again at 3:05 PM") is worked out here, from when the worker last said something.
    pub fn finish(&mut self) -> io::Result<&Seen> {
        while self.catch_up()? {}
        let Reading { kind, out, err, seen, .. } = self;
        out.finish(&mut |line| kind.see(seen, Stream::Out, line));
        err.finish(&mut |line| kind.see(seen, Stream::Err, line));
        let said_at = self.last.unwrap_or_else(SystemTime::now);
        if let Some(limit) = self.seen.limit.as_mut().filter(|limit| limit.resets_at.is_none()) {
            limit.resets_at = reset::in_words(&limit.message, said_at);
        }
        Ok(&self.seen)
    }

    /// What is known so far.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }
}
