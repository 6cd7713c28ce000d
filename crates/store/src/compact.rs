//! Makes a journal shorter: events that nobody asks for any more are left out, with the versions that only they knew.
//!
//! The numbers of those that stay do not change. The new journal is written beside the old one, read back, and put in
//! its place in one step; until then nothing has happened, and a crash leaves the one or the other.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::commit::{Lines, NewEntry};
use crate::disk::{DiskError, Handle, Open, Rename};
use crate::history::{History, Log};
use crate::journal::{Entry, FileChange, Hash, Head, Line, Reader};
use crate::unit::LockedUnit;

/// Which versions stay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keep {
    /// So many of the newest events; at least the last one stays in any case.
    pub newest: u64,
    /// These, however old they are.
    pub named: BTreeSet<u64>,
}

/// A journal that was made shorter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compacted {
    /// The number of the event that says so.
    pub seq: u64,
    /// How many events were left out.
    pub left_out: u64,
    /// The first event from which on none is missing.
    pub first: u64,
    /// The older ones that stayed.
    pub named: Vec<u64>,
}

/// Why a journal was not made shorter. Nothing has changed then.
#[derive(Debug)]
pub enum CompactError {
    /// A version that is to stay is not there.
    NoSuchVersion {
        /// Its number.
        seq: u64,
    },
    /// The journal is damaged, and what it holds behind that place would be lost.
    Broken {
        /// Behind this many bytes.
        at: u64,
    },
    /// A version cannot be built again from what the journal holds.
    Unequal {
        /// Its number.
        seq: u64,
        /// Of which document.
        path: String,
    },
    /// The disk failed.
    Disk(DiskError),
}

impl fmt::Display for CompactError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompactError::NoSuchVersion { seq } => write!(f, "there is no version @{seq}"),
            CompactError::Broken { at } => write!(f, "the journal is damaged behind byte {at}"),
            CompactError::Unequal { seq, path } => write!(f, "version @{seq} of `{path}` cannot be built again"),
            CompactError::Disk(error) => write!(f, "{error}"),
        }
    }
}

impl From<DiskError> for CompactError {
    fn from(error: DiskError) -> CompactError {
        CompactError::Disk(error)
    }
}

impl LockedUnit<'_> {
    /// Makes the unit's journal shorter, and records that. Nothing when there is nothing to leave out.
    ///
    /// The unit has to be settled, which it is after a contact. `new` is the event that says so; what it did is its
    /// summary, which is made here.
    pub fn compact(&mut self, keep: &Keep, new: NewEntry) -> Result<Option<Compacted>, CompactError> {
        // What is pending is of the journal that goes, and nobody is to cut the one that comes for it.
        self.make_durable()?;
        let Some(history) = History::open(self.disk, &self.key)? else { return Ok(None) };
        let log = history.log()?;
        let Some(plan) = Plan::of(&log, keep)? else { return Ok(None) };
        let Some(journal) = &self.journal else { return Ok(None) };
        let mut rewriter = Rewriter::new(&plan);
        let mut reader = Reader::new(&**journal, 0);
        while let Some((_, parsed)) = reader.next_whole()? {
            rewriter.see(parsed.line)?;
        }
        let compacted = plan.compacted(self.seq() + 1);
        let entry = self.compacting(new, &compacted);
        rewriter.add_event(entry, Vec::new())?;
        let Rewriter { lines, last: Some(entry), .. } = rewriter else { return Ok(None) };
        let handle = self.put_in_place(&lines.bytes)?;
        self.journal = Some(handle);
        self.end = lines.bytes.len() as u64;
        self.last_sum = lines.last;
        self.tail = Some(entry);
        self.disk.sync_directory(&self.key.directory())?;
        self.settle()?;
        Ok(Some(compacted))
    }

    /// The event that says what happened. It is not a sign of life, so what is carried stays as it is.
    fn compacting(&self, new: NewEntry, compacted: &Compacted) -> Entry {
        let last = self.last();
        Entry {
            seq: compacted.seq,
            at: new.at.to_string(),
            attempt: self.attempt(),
            by: new.by,
            carried: last.map(|entry| entry.carried.clone()).unwrap_or_default(),
            event: new.event,
            summary: compacted.to_string(),
            data: new.data,
            files: Vec::new(),
            documents: last.map(|entry| entry.documents.clone()).unwrap_or_default(),
        }
    }

    /// Writes the new journal, reads it back, and puts it in the place of the old one.
    fn put_in_place(&self, bytes: &[u8]) -> Result<Box<dyn Handle>, CompactError> {
        let (path, aside) = (self.key.journal(), format!("{}/journal-new", self.key.directory()));
        let how = Open::New { like: &path };
        let file = match self.disk.open(&aside, how) {
            Err(error) if error.is_taken() => {
                // The rest of an attempt that died; only the holder of the lock makes this name.
                self.disk.remove(&aside)?;
                self.disk.open(&aside, how)?
            }
            opened => opened?,
        };
        let written = file.write_at(0, bytes).and_then(|()| file.sync()).map_err(CompactError::Disk);
        let replaced = written
            .and_then(|()| verify(&*file))
            .and_then(|()| self.disk.rename(&aside, &path, Rename::Replace).map_err(CompactError::Disk));
        if let Err(error) = replaced {
            // Should this fail as well, the next attempt removes it.
            let _ = self.disk.remove(&aside);
            return Err(error);
        }
        Ok(file)
    }
}

impl fmt::Display for Compacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named: Vec<String> = self.named.iter().map(|seq| format!("@{seq}")).collect();
        let (first, last) = (self.first, self.seq - 1);
        let newest = if first == last { format!("@{first}") } else { format!("@{first} to @{last}") };
        let kept = if named.is_empty() { newest } else { format!("{} and {newest}", named.join(", ")) };
        let events = if self.left_out == 1 { "event" } else { "events" };
        write!(f, "kept {kept}; {} {events} left out of the journal", self.left_out)
    }
}

/// What stays.
struct Plan {
    head: Head,
    kept: BTreeSet<u64>,
    left_out: u64,
    first: u64,
}

impl Plan {
    /// Decides what stays; nothing when that is everything.
    fn of(log: &Log, keep: &Keep) -> Result<Option<Plan>, CompactError> {
        if let Some(at) = log.broken_at {
            return Err(CompactError::Broken { at });
        }
        let all: BTreeSet<u64> = log.events.iter().map(|entry| entry.seq).collect();
        if let Some(seq) = keep.named.difference(&all).next() {
            return Err(CompactError::NoSuchVersion { seq: *seq });
        }
        let (Some(head), Some(last)) = (&log.head, all.last()) else { return Ok(None) };
        let newest = last.saturating_sub(keep.newest.max(1) - 1);
        let kept: BTreeSet<u64> =
            all.iter().copied().filter(|seq| *seq >= newest || keep.named.contains(seq)).collect();
        let left_out = (all.len() - kept.len()) as u64;
        if left_out == 0 {
            return Ok(None);
        }
        let mut first = *last;
        while kept.contains(&(first - 1)) {
            first -= 1;
        }
        Ok(Some(Plan { head: Head { after: first - 1, ..head.clone() }, kept, left_out, first }))
    }

    fn compacted(&self, seq: u64) -> Compacted {
        let named = self.kept.range(..self.first).copied().collect();
        Compacted { seq, left_out: self.left_out, first: self.first, named }
    }
}

/// All documents of a unit, as its journal is read.
#[derive(Debug, Default)]
struct Versions {
    documents: BTreeMap<String, Vec<u8>>,
    /// Snapshots whose event has not come yet.
    snapshots: BTreeMap<String, Vec<u8>>,
}

impl Versions {
    fn see(&mut self, line: &Line) {
        match line {
            Line::Head(_) => {}
            Line::Snapshot { path, bytes } => {
                self.snapshots.insert(path.clone(), bytes.clone());
            }
            Line::Event(entry) => {
                for change in &entry.files {
                    self.change(change);
                }
                // A snapshot holds the document as it is after the event that follows it.
                self.documents.append(&mut self.snapshots);
            }
        }
    }

    fn change(&mut self, change: &FileChange) {
        match change {
            FileChange::Write { path, after: None, .. } | FileChange::Remove { path } => {
                self.documents.remove(path);
            }
            FileChange::Write { path, splice: Some(splice), .. } => {
                let before = self.documents.remove(path).unwrap_or_default();
                self.documents.extend(splice.apply(&before).map(|after| (path.clone(), after)));
            }
            FileChange::Write { .. }
            | FileChange::Share { .. }
            | FileChange::Append { .. }
            | FileChange::Keep { .. } => {}
        }
    }
}

/// Where the last snapshot of a document is, and what came since.
#[derive(Debug, Clone, Copy, Default)]
struct Since {
    base: u64,
    weight: u64,
    splices: u64,
}

/// Writes the lines of a journal again, without those that are left out.
struct Rewriter<'p> {
    plan: &'p Plan,
    lines: Lines,
    last: Option<Entry>,
    versions: Versions,
    /// Snapshots whose event has not come yet.
    snapshots: Vec<(String, Vec<u8>)>,
    since: BTreeMap<String, Since>,
}

impl<'p> Rewriter<'p> {
    fn new(plan: &'p Plan) -> Rewriter<'p> {
        Rewriter {
            plan,
            lines: Lines::begin(&plan.head),
            last: None,
            versions: Versions::default(),
            snapshots: Vec::new(),
            since: BTreeMap::new(),
        }
    }

    fn see(&mut self, line: Line) -> Result<(), CompactError> {
        self.versions.see(&line);
        match line {
            Line::Head(_) => {}
            Line::Snapshot { path, bytes } => self.snapshots.push((path, bytes)),
            Line::Event(entry) => {
                let snapshots = std::mem::take(&mut self.snapshots);
                if self.plan.kept.contains(&entry.seq) {
                    self.add_event(*entry, snapshots)?;
                }
            }
        }
        Ok(())
    }

    /// Adds an event. Where the one before it is left out, all its documents come with it.
    fn add_event(&mut self, mut entry: Entry, snapshots: Vec<(String, Vec<u8>)>) -> Result<(), CompactError> {
        let before = self.last.as_ref().map_or(0, |entry| entry.seq);
        if entry.seq == before + 1 {
            for (path, bytes) in snapshots {
                self.add_snapshot(path, &bytes);
            }
            for change in &entry.files {
                if let FileChange::Write { path, splice: Some(splice), .. } = change {
                    let since = self.since.entry(path.clone()).or_default();
                    since.weight += splice.weight();
                    since.splices += 1;
                }
            }
        } else {
            self.since.clear();
            for state in &entry.documents {
                let Some(hash) = &state.hash else { continue };
                let found = self.versions.documents.get(&state.path).filter(|bytes| Hash::of(bytes) == *hash);
                let unequal = || CompactError::Unequal { seq: entry.seq, path: state.path.clone() };
                let bytes = found.cloned().ok_or_else(unequal)?;
                self.add_snapshot(state.path.clone(), &bytes);
            }
        }
        for state in &mut entry.documents {
            let Since { base, weight, splices } = self.since.get(&state.path).copied().unwrap_or_default();
            (state.base, state.weight, state.splices) = (base, weight, splices);
        }
        self.lines.add_event(&entry);
        self.last = Some(entry);
        Ok(())
    }

    fn add_snapshot(&mut self, path: String, bytes: &[u8]) {
        let base = self.lines.bytes.len() as u64;
        self.lines.add_snapshot(&path, bytes);
        self.since.insert(path, Since { base, ..Since::default() });
    }
}

/// Reads a journal back: every line follows the one before, and every version is what its event says it is.
fn verify(journal: &dyn Handle) -> Result<(), CompactError> {
    let mut reader = Reader::new(journal, 0);
    let mut versions = Versions::default();
    let mut last: Option<Hash> = None;
    while let Some((at, parsed)) = reader.next_whole()? {
        if parsed.previous != last {
            return Err(CompactError::Broken { at });
        }
        last = Some(parsed.sum);
        versions.see(&parsed.line);
        let Line::Event(entry) = &parsed.line else { continue };
        for state in entry.documents.iter().filter(|state| state.hash.is_some()) {
            let found = versions.documents.get(&state.path).map(|bytes| Hash::of(bytes));
            if found != state.hash {
                return Err(CompactError::Unequal { seq: entry.seq, path: state.path.clone() });
            }
        }
    }
    reader.damaged().map_or(Ok(()), |at| Err(CompactError::Broken { at }))
}

#[cfg(test)]
mod tests;
