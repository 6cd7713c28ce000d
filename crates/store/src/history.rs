//! What a journal tells: its events, and every version of every document. Nothing here changes anything.

use crate::disk::{Disk, DiskError, Handle, Open};
use crate::journal::{Entry, Hash, Head, Line, Reader, last_event, parse_line, rebuild};
use crate::unit::Key;

/// A head is hardly ever longer.
const SHORT: usize = 2048;

/// A journal that is read.
pub struct History {
    journal: Box<dyn Handle>,
}

/// All events of a journal, and whether it is whole.
#[derive(Debug, Default)]
pub struct Log {
    /// Whose journal it is.
    pub head: Option<Head>,
    /// The events, oldest first.
    pub events: Vec<Entry>,
    /// Where the chain of checksums breaks, when it does: behind this many bytes.
    pub broken_at: Option<u64>,
}

impl Log {
    /// The number up to which events were left out when the journal was compacted; zero when none was.
    pub fn compacted_up_to(&self) -> u64 {
        self.head.as_ref().map_or(0, |head| head.after)
    }

    /// The events that stayed all the same.
    pub fn older(&self) -> impl Iterator<Item = &Entry> {
        self.events.iter().take_while(|entry| entry.seq <= self.compacted_up_to())
    }
}

impl History {
    /// Opens the journal of a unit; nothing when it has none.
    pub fn open(disk: &dyn Disk, key: &Key) -> Result<Option<History>, DiskError> {
        History::open_path(disk, &key.journal())
    }

    /// Opens a journal by its path.
    pub fn open_path(disk: &dyn Disk, path: &str) -> Result<Option<History>, DiskError> {
        match disk.open(path, Open::Existing) {
            Ok(journal) => Ok(Some(History { journal })),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whose journal it is.
    pub fn head(&self) -> Result<Option<Head>, DiskError> {
        // It is a short line, and every command asks for it.
        let start = self.journal.read_at(0, SHORT)?;
        let parsed = match start.iter().position(|byte| *byte == b'\n') {
            Some(end) => parse_line(&start[..end]),
            None => Reader::new(&*self.journal, 0).next()?.flatten(),
        };
        Ok(match parsed.map(|parsed| parsed.line) {
            Some(Line::Head(head)) => Some(head),
            Some(Line::Snapshot { .. } | Line::Event(_)) | None => None,
        })
    }

    /// The last event. Only the end of the journal is read.
    pub fn last(&self) -> Result<Option<Entry>, DiskError> {
        let found = last_event(&*self.journal, self.journal.size()?, true)?;
        Ok(found.map(|found| found.entry))
    }

    /// All events whose lines are whole, also those behind a line that is not.
    pub fn log(&self) -> Result<Log, DiskError> {
        let mut log = Log::default();
        let mut reader = Reader::new(&*self.journal, 0);
        let mut last: Option<Hash> = None;
        while let Some((at, parsed)) = reader.next_whole()? {
            if log.broken_at.is_none() && at > 0 && parsed.previous != last {
                log.broken_at = Some(at);
            }
            last = Some(parsed.sum);
            match parsed.line {
                Line::Head(head) => log.head = Some(head),
                Line::Snapshot { .. } => {}
                Line::Event(entry) => log.events.push(*entry),
            }
        }
        // Behind the last whole line there may be one that is being written, or that was torn.
        log.broken_at = reader.damaged().into_iter().chain(log.broken_at).min();
        Ok(log)
    }

    /// A document as it was after an event; nothing when it was not there, or is not kept any more.
    pub fn version(&self, path: &str, seq: u64) -> Result<Option<Vec<u8>>, DiskError> {
        rebuild(&*self.journal, 0, path, seq)
    }
}

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("History")
    }
}
