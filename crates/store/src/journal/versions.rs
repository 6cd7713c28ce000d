use std::collections::BTreeMap;

use super::{Entry, FileChange, Line, Parsed, parse_line};
use crate::disk::{DiskError, Handle};

/// How much is read at once.
const CHUNK: usize = 256 * 1024;

/// Reads a journal line by line from some place on; it stops at the end, or before a line that is torn.
pub(crate) struct Reader<'h> {
    handle: &'h dyn Handle,
    /// Where the next line begins.
    at: u64,
    /// What has been read from there on.
    buffer: Vec<u8>,
    start: usize,
}

impl<'h> Reader<'h> {
    pub fn new(handle: &'h dyn Handle, at: u64) -> Reader<'h> {
        Reader { handle, at, buffer: Vec::new(), start: 0 }
    }

    /// Where the next line begins.
    pub fn place(&self) -> u64 {
        self.at
    }

    /// The next line, and where it begins.
    pub fn next(&mut self) -> Result<Option<(u64, Parsed)>, DiskError> {
        let mut searched = self.start;
        loop {
            if let Some(end) = self.buffer[searched..].iter().position(|byte| *byte == b'\n') {
                let end = searched + end;
                let parsed = parse_line(&self.buffer[self.start..end]);
                let place = self.at;
                let Some(parsed) = parsed else { return Ok(None) };
                self.at += (end + 1 - self.start) as u64;
                self.start = end + 1;
                return Ok(Some((place, parsed)));
            }
            self.buffer.drain(..self.start);
            self.start = 0;
            searched = self.buffer.len();
            let more = self.handle.read_at(self.at + self.buffer.len() as u64, CHUNK.max(self.buffer.len()))?;
            if more.is_empty() {
                return Ok(None);
            }
            self.buffer.extend_from_slice(&more);
        }
    }
}

/// Builds a document as it is after the last event, from a place at or before its last snapshot.
///
/// Nothing when it is not there.
pub(crate) fn rebuild_newest(handle: &dyn Handle, from: u64, path: &str) -> Result<Option<Vec<u8>>, DiskError> {
    Ok(rebuild(handle, from, path, u64::MAX)?.0)
}

/// Builds a document as it was after the event `seq`.
///
/// Nothing when it was not there then, or when the journal does not hold that event any more.
pub(crate) fn rebuild_at(handle: &dyn Handle, path: &str, seq: u64) -> Result<Option<Vec<u8>>, DiskError> {
    let (document, last) = rebuild(handle, 0, path, seq)?;
    Ok(document.filter(|_| last == Some(seq)))
}

/// A document after the last event up to `seq`, and the number of that event.
fn rebuild(handle: &dyn Handle, from: u64, path: &str, seq: u64) -> Result<(Option<Vec<u8>>, Option<u64>), DiskError> {
    let mut reader = Reader::new(handle, from);
    let mut versions = Versions::default();
    let mut last = None;
    while let Some((_, parsed)) = reader.next()? {
        if let Line::Event(entry) = &parsed.line {
            if entry.seq > seq {
                break;
            }
            last = Some(entry.seq);
        }
        versions.see(&parsed.line, Some(path));
    }
    Ok((versions.documents.remove(path), last))
}

/// The documents of a unit, as a journal is read.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    pub documents: BTreeMap<String, Vec<u8>>,
    /// Snapshots whose event has not come yet.
    snapshots: BTreeMap<String, Vec<u8>>,
}

impl Versions {
    /// Takes the next line; of all documents, or of one.
    pub fn see(&mut self, line: &Line, only: Option<&str>) {
        match line {
            Line::Head(_) => {}
            Line::Snapshot { path, bytes } => {
                if only.is_none_or(|only| only == path) {
                    self.snapshots.insert(path.clone(), bytes.clone());
                }
            }
            Line::Event(entry) => self.see_event(entry, only),
        }
    }

    fn see_event(&mut self, entry: &Entry, only: Option<&str>) {
        for change in &entry.files {
            let FileChange::Write { path, after, splice, .. } = change else { continue };
            if only.is_some_and(|only| only != path) {
                continue;
            }
            match (after, splice) {
                (None, _) => {
                    self.documents.remove(path);
                }
                (Some(_), Some(splice)) => {
                    let before = self.documents.remove(path).unwrap_or_default();
                    if let Some(bytes) = splice.apply(&before) {
                        self.documents.insert(path.clone(), bytes);
                    }
                }
                (Some(_), None) => {}
            }
        }
        // A snapshot holds the document as it is after the event that follows it.
        self.documents.append(&mut self.snapshots);
    }
}
