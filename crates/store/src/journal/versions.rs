use piton_model::seek;

use super::{DocumentState, Entry, FileChange, Hash, Line, Parsed, parse_line, parse_unsummed};
use crate::disk::{DiskError, Handle};

/// How much is read at once.
const CHUNK: usize = 256 * 1024;

/// Reads a journal line by line from some place on.
pub(crate) struct Reader<'h> {
    handle: &'h dyn Handle,
    /// Where the next line begins.
    at: u64,
    /// What has been read from there on.
    buffer: Vec<u8>,
    start: usize,
    /// Where the first line begins that is not whole.
    damaged: Option<u64>,
    parse: fn(&[u8]) -> Option<Parsed>,
}

impl<'h> Reader<'h> {
    pub fn new(handle: &'h dyn Handle, at: u64) -> Reader<'h> {
        Reader { handle, at, buffer: Vec::new(), start: 0, damaged: None, parse: parse_line }
    }

    /// Where the first line began that was not whole, when there was one.
    pub fn damaged(&self) -> Option<u64> {
        self.damaged
    }

    /// The next line that is whole, and where it begins; what is damaged is passed over.
    pub fn next_whole(&mut self) -> Result<Option<(u64, Parsed)>, DiskError> {
        loop {
            let place = self.at;
            match self.next()? {
                Some(Some(parsed)) => return Ok(Some((place, parsed))),
                Some(None) => self.damaged = self.damaged.or(Some(place)),
                None => {
                    let is_more = self.start < self.buffer.len();
                    self.damaged = self.damaged.or(is_more.then_some(place));
                    return Ok(None);
                }
            }
        }
    }

    /// The next line, or nothing in its place when it is not whole; nothing at all at the end.
    pub fn next(&mut self) -> Result<Option<Option<Parsed>>, DiskError> {
        let mut searched = self.start;
        loop {
            if let Some(end) = seek::byte(b'\n', &self.buffer[searched..]) {
                let end = searched + end;
                let parsed = (self.parse)(&self.buffer[self.start..end]);
                self.at += (end + 1 - self.start) as u64;
                self.start = end + 1;
                return Ok(Some(parsed));
            }
            self.buffer.drain(..self.start);
            self.start = 0;
            searched = self.buffer.len();
            let more = self.handle.read_at(self.at + self.buffer.len() as u64, CHUNK.max(self.buffer.len()))?;
            if more.is_empty() {
                return Ok(None);
            }
            match self.buffer.is_empty() {
                true => self.buffer = more,
                false => self.buffer.extend_from_slice(&more),
            }
        }
    }
}

/// Builds a document as it was after the event `seq`, from its last snapshot before that.
///
/// Nothing when it was not there then, or when the journal does not hold it any more.
pub(crate) fn rebuild(handle: &dyn Handle, from: u64, path: &str, seq: u64) -> Result<Option<Vec<u8>>, DiskError> {
    rebuild_with(Reader::new(handle, from), path, seq)
}

/// Builds a document whose digest is known. That makes the sums of the lines that lead to it superfluous.
pub(crate) fn rebuild_known(
    handle: &dyn Handle,
    state: &DocumentState,
    seq: u64,
) -> Result<Option<Vec<u8>>, DiskError> {
    let reader = Reader { parse: parse_unsummed, ..Reader::new(handle, state.base) };
    let rebuilt = rebuild_with(reader, &state.path, seq)?;
    // A journal that was damaged in the middle gives another text, and that one is worse than none.
    Ok(rebuilt.filter(|bytes| state.hash.as_ref() == Some(&Hash::of(bytes))))
}

fn rebuild_with(mut reader: Reader<'_>, path: &str, seq: u64) -> Result<Option<Vec<u8>>, DiskError> {
    let mut versions = Versions::default();
    let mut reached = 0;
    while let Some(parsed) = reader.next()? {
        match parsed.map(|parsed| parsed.line) {
            Some(Line::Event(entry)) if entry.seq > seq => break,
            Some(line) => {
                if let Line::Event(entry) = &line {
                    reached = entry.seq;
                }
                versions.see(line, path);
            }
            // Damage behind the event does not concern it.
            None if reached == seq => break,
            // What this line did is not known, so nothing is known before the next snapshot.
            None => versions = Versions::default(),
        }
    }
    Ok(versions.document.filter(|_| reached == seq))
}

/// A document of a unit, as a journal is read.
#[derive(Debug, Default)]
struct Versions {
    document: Option<Vec<u8>>,
    /// A snapshot whose event has not come yet.
    snapshot: Option<Vec<u8>>,
}

impl Versions {
    fn see(&mut self, line: Line, only: &str) {
        match line {
            Line::Head(_) => {}
            Line::Snapshot { path, bytes } if path == only => self.snapshot = Some(bytes),
            Line::Snapshot { .. } => {}
            Line::Event(entry) => self.see_event(&entry, only),
        }
    }

    fn see_event(&mut self, entry: &Entry, only: &str) {
        for change in &entry.files {
            match change {
                FileChange::Write { path, after: None, .. } | FileChange::Remove { path } if path == only => {
                    self.document = None;
                }
                FileChange::Write { path, splice: Some(splice), .. } if path == only => {
                    let fits = self.document.as_mut().is_some_and(|document| splice.apply_to(document));
                    self.document = self.document.take().filter(|_| fits);
                }
                FileChange::Write { .. }
                | FileChange::Remove { .. }
                | FileChange::Share { .. }
                | FileChange::Append { .. }
                | FileChange::Keep { .. } => {}
            }
        }
        // A snapshot holds the document as it is after the event that follows it.
        self.document = self.snapshot.take().or(self.document.take());
    }
}
