//! A commit: journal and documents, in the one order that survives a crash at any instant.
//!
//! The journal's line and the new documents, written aside, are made durable; neither waits for the other. Then each
//! document changes places with its new version, in one step of the file system. What comes out of that step is
//! looked at: if somebody else has written the document since it was read, everything is put back, and the caller
//! decides again. Nothing is ever overwritten unseen.
//!
//! The line is written before anything else, so that whoever finds the rest of a commit that died finds its line too.
//! That documents have changed places is not synced before the answer, because the line is enough to do it again. It
//! is synced with the next event, so that never more than one event has to be done again.

mod effects;

use std::collections::BTreeMap;
use std::fmt;

use piton_model::{Effect, Time};
use serde_json::{Map, Value};

use crate::ContactError;
use crate::disk::{Access, DiskError, Handle, Open, Rename, Stamp, directory_of, make_directories};
use crate::journal::{DocumentState, Entry, FileChange, Hash, Line, Splice, seal_line};
use crate::unit::{LockedUnit, keep_aside};
pub(crate) use effects::sync_if_there;
use effects::{Undo, append, exchange, keep, sync_all, take_away, write_aside};

/// How many splices may follow a snapshot.
const MOST_SPLICES: u64 = 500;

/// What is known about an event before it has a number.
#[derive(Debug, Clone)]
pub struct NewEntry {
    /// When.
    pub at: Time,
    /// The attempt it belongs to.
    pub attempt: u64,
    /// Who records it.
    pub by: String,
    /// What kind of event it is.
    pub event: String,
    /// What becomes true.
    pub summary: String,
    /// What else is known about it.
    pub data: Map<String, Value>,
}

/// A document as it was read under the lock.
#[derive(Debug, Clone)]
pub struct SeenDocument {
    /// What it holds; nothing when it is not there.
    pub content: Option<SeenContent>,
}

/// What a document held, and which file it was.
#[derive(Debug, Clone)]
pub struct SeenContent {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Their digest.
    pub hash: Hash,
    /// Which file, and when it was written.
    pub stamp: Stamp,
}

/// Why a commit did not happen. Nothing has changed then, but for `Unfinished`.
#[derive(Debug)]
pub enum CommitError {
    /// Somebody wrote a document meanwhile: look again, and decide again.
    Raced {
        /// Which one.
        path: String,
    },
    /// A name that should be free is taken.
    Taken {
        /// Which one.
        path: String,
    },
    /// The disk failed.
    Disk(DiskError),
    /// The disk failed, and what had been done could not be taken back. Whoever comes next finds the event and finishes
    /// it, or finds that it never was.
    Unfinished {
        /// The number that the event has, if it is found.
        seq: u64,
        /// What failed first.
        error: Box<CommitError>,
    },
}

impl fmt::Display for CommitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommitError::Raced { path } => write!(f, "somebody else keeps writing `{path}`"),
            CommitError::Taken { path } => write!(f, "there is a file already: `{path}`"),
            CommitError::Disk(error) => write!(f, "{error}"),
            CommitError::Unfinished { seq, error } => {
                write!(
                    f,
                    "{error}; it could not be taken back, and the next command decides whether @{seq} is recorded"
                )
            }
        }
    }
}

impl From<ContactError> for CommitError {
    fn from(error: ContactError) -> CommitError {
        match error {
            ContactError::Unreadable { path, .. } => CommitError::Raced { path },
            ContactError::Disk(error) => CommitError::Disk(error),
        }
    }
}

impl From<DiskError> for CommitError {
    fn from(error: DiskError) -> CommitError {
        CommitError::Disk(error)
    }
}

/// A file that gets new content: aside first, then in its place.
struct Replacement<'a> {
    path: String,
    aside: String,
    bytes: &'a [u8],
    /// What it replaces; nothing when there was no file.
    old: Option<SeenContent>,
    /// Whether it is a document of the unit, whose replaced version is kept for whoever has it open.
    is_document: bool,
}

impl LockedUnit<'_> {
    /// Records an event and does what it does to files. Returns its number; it is durable then.
    ///
    /// `seen` holds every document of the unit as it was read for this decision.
    pub fn commit(
        &mut self,
        new: NewEntry,
        effects: &[Effect],
        seen: &BTreeMap<String, SeenDocument>,
    ) -> Result<u64, CommitError> {
        self.bring_up()?;
        let seq = self.seq() + 1;
        let replacements = self.replacements(seq, effects, seen)?;
        let mut entry = self.entry(seq, new, effects, &replacements, seen)?;
        let lines = self.lines(&mut entry, &replacements);
        let mut undo = Undo::new(self.disk, self.key.directory());
        if let Err(error) = self.perform(&entry, &lines.bytes, &replacements, seen, &mut undo) {
            // Nobody was told about the line. It is cut last: as long as it stands, what is left over is its business.
            let is_undone = undo.everything() && self.cut_journal().is_ok();
            self.is_stale = !is_undone;
            return Err(if is_undone { error } else { CommitError::Unfinished { seq, error: Box::new(error) } });
        }
        self.end += lines.bytes.len() as u64;
        self.last_sum = Some(lines.sum);
        self.tail = Some(entry);
        // The event is durable and everybody can see it. What is left is tidying: should it fail, the event counts as
        // not settled, and whoever comes next tidies up.
        let _ = self.retire(&replacements, &undo.taken).and_then(|()| self.settle());
        Ok(seq)
    }

    /// Everything up to the point of no return, in order.
    fn perform<'a>(
        &mut self,
        entry: &Entry,
        lines: &[u8],
        replacements: &'a [Replacement<'a>],
        seen: &BTreeMap<String, SeenDocument>,
        undo: &mut Undo<'_>,
    ) -> Result<(), CommitError> {
        let disk = self.disk;
        let end = self.end;
        let earlier = self.unsynced_directories();
        let journal = self.journal()?;
        journal.write_at(end, lines)?;
        let mut handles: Vec<Box<dyn Handle>> = Vec::new();
        for each in replacements {
            make_directories(disk, directory_of(&each.path), Access::Shared)?;
            handles.push(write_aside(disk, each, undo)?);
        }
        sync_all(disk, journal, &handles, &earlier)?;
        drop(handles);
        let mut touched = Vec::new();
        for change in &entry.files {
            match change {
                FileChange::Keep { from, to } => {
                    keep(disk, from, to, undo)?;
                    touched.push(directory_of(to).to_owned());
                }
                FileChange::Append { path, size, text } => append(disk, path, *size, text, undo)?,
                FileChange::Write { .. } | FileChange::Share { .. } | FileChange::Remove { .. } => {}
            }
        }
        for each in replacements {
            exchange(disk, each, undo)?;
            if each.old.is_none() || !each.is_document {
                touched.push(directory_of(&each.path).to_owned());
            }
        }
        for change in &entry.files {
            if let FileChange::Remove { path } = change {
                let aside = self.aside_of(path, entry.seq);
                take_away(disk, path, &aside, seen.get(path).and_then(|seen| seen.content.as_ref()), undo)?;
                touched.push(directory_of(path).to_owned());
            }
        }
        touched.sort();
        touched.dedup();
        for directory in touched {
            disk.sync_directory(&directory)?;
        }
        Ok(())
    }

    /// Keeps the replaced documents where a late writer's bytes can be found; removes what else is left over.
    fn retire(&mut self, replacements: &[Replacement<'_>], taken: &[(String, String)]) -> Result<(), DiskError> {
        for each in replacements {
            match &each.old {
                Some(old) if each.is_document => self.retire_document(&each.path, &each.aside, Some(old.stamp))?,
                Some(_) => self.disk.remove(&each.aside)?,
                None => {}
            }
        }
        for (aside, path) in taken {
            match self.last().is_some_and(|entry| entry.document(path).is_some()) {
                true => self.retire_document(path, aside, None)?,
                false => self.disk.remove(aside)?,
            }
        }
        Ok(())
    }

    /// Keeps the file that came out of a document's place. `stamp` is what it was when it was compared last: who writes
    /// to it since then is late.
    pub(crate) fn retire_document(&mut self, path: &str, aside: &str, stamp: Option<Stamp>) -> Result<(), DiskError> {
        let kept = self.replaced_path(path);
        let found = self.disk.stamp(&kept)?;
        // The one that was kept so far goes. Somebody may have written to it since the last contact.
        if let Some(known) = self.note.replaced.get(path)
            && found.is_some_and(|found| found != *known)
            && let Ok(content) = self.disk.read(&kept)
        {
            keep_aside(self.disk, &self.key.directory(), "late", &content.bytes)?;
        }
        // Two names of one file, which a rename would leave as they are.
        let own = match stamp {
            Some(stamp) => Some(stamp),
            None => self.disk.stamp(aside)?,
        };
        if found.is_some() && found.map(|found| found.inode) == own.map(|own| own.inode) {
            return self.disk.remove(aside);
        }
        match self.disk.rename(aside, &kept, Rename::Replace) {
            Ok(()) => {}
            // A document on another file system than the journal.
            Err(error) if error.error.kind() == std::io::ErrorKind::CrossesDevices => {
                self.note.replaced.remove(path);
                return self.disk.remove(aside);
            }
            Err(error) => return Err(error),
        }
        self.note.replaced.extend(own.map(|own| (path.to_owned(), own)));
        Ok(())
    }

    /// Directories whose names the last event changed after its last sync of them.
    pub(crate) fn unsynced_directories(&self) -> Vec<String> {
        let changes = self.last().map_or(&[][..], |entry| &entry.files);
        let mut directories: Vec<String> = changes
            .iter()
            .filter_map(|change| match change {
                FileChange::Write { path, aside: Some(_), .. }
                | FileChange::Share { path, .. }
                | FileChange::Remove { path } => Some(directory_of(path).to_owned()),
                FileChange::Write { .. } | FileChange::Append { .. } | FileChange::Keep { .. } => None,
            })
            .collect();
        directories.sort();
        directories.dedup();
        directories
    }

    /// Where the version of a document that was replaced last is kept.
    pub(crate) fn replaced_path(&self, path: &str) -> String {
        format!("{}/replaced-{}", self.key.directory(), &Hash::of(path.as_bytes()).as_str()[..8])
    }

    fn replacements<'a>(
        &self,
        seq: u64,
        effects: &'a [Effect],
        seen: &BTreeMap<String, SeenDocument>,
    ) -> Result<Vec<Replacement<'a>>, CommitError> {
        let mut replacements = Vec::new();
        for effect in effects {
            let (path, bytes, old, is_document) = match effect {
                Effect::Write { path, bytes } => {
                    let path = self.disk.resolve(path)?;
                    let old = seen.get(&path).and_then(|seen| seen.content.clone());
                    (path, bytes, old, true)
                }
                Effect::Share { path, bytes, before } => {
                    let path = self.disk.resolve(path)?;
                    let old = self.shared(&path, before.as_deref())?;
                    (path, bytes, old, false)
                }
                Effect::Append { .. } | Effect::Keep { .. } | Effect::Remove { .. } => continue,
            };
            let aside = self.aside_of(&path, seq);
            replacements.push(Replacement { path, aside, bytes, old, is_document });
        }
        Ok(replacements)
    }

    /// A shared file as it is now, which has to be as it was when its new content was made.
    fn shared(&self, path: &str, before: Option<&[u8]>) -> Result<Option<SeenContent>, CommitError> {
        match (self.disk.read(path), before) {
            (Ok(content), Some(before)) if content.bytes == before => {
                let hash = Hash::of(before);
                Ok(Some(SeenContent { bytes: content.bytes, hash, stamp: content.stamp }))
            }
            (Err(crate::ReadError::Missing), None) => Ok(None),
            _ => Err(CommitError::Raced { path: path.to_owned() }),
        }
    }

    fn entry(
        &self,
        seq: u64,
        new: NewEntry,
        effects: &[Effect],
        replacements: &[Replacement<'_>],
        seen: &BTreeMap<String, SeenDocument>,
    ) -> Result<Entry, CommitError> {
        let mut documents = self.last().map(|entry| entry.documents.clone()).unwrap_or_default();
        let mut files = Vec::new();
        let mut next = replacements.iter();
        for effect in effects {
            files.push(match effect {
                Effect::Write { .. } => document_change(next.next().expect("one for each"), &mut documents),
                Effect::Share { .. } => shared_change(next.next().expect("one for each")),
                Effect::Append { path, line } => self.append_change(path, line)?,
                Effect::Keep { from, to } => FileChange::Keep { from: self.disk.resolve(from)?, to: to.clone() },
                Effect::Remove { path } => {
                    let path = self.disk.resolve(path)?;
                    if let Some(state) = documents.iter_mut().find(|state| state.path == path) {
                        let before = seen.get(&path).and_then(|seen| seen.content.as_ref());
                        state.was = before.map(|before| before.hash.clone());
                        state.hash = None;
                    }
                    FileChange::Remove { path }
                }
            });
        }
        let NewEntry { at, attempt, by, event, summary, data } = new;
        Ok(Entry { seq, at: at.to_string(), attempt, by, event, summary, data, files, documents })
    }

    /// A log's next line. Where it ends inside of a line, that one is closed first, so that two are never glued.
    fn append_change(&self, path: &str, line: &str) -> Result<FileChange, DiskError> {
        let (size, is_open) = match self.disk.open(path, Open::Existing) {
            Ok(log) => {
                let size = log.size()?;
                (size, size > 0 && log.read_at(size - 1, 1)? != b"\n")
            }
            Err(error) if error.is_missing() => (0, false),
            Err(error) => return Err(error),
        };
        let text = if is_open { format!("\n{line}") } else { line.to_owned() };
        Ok(FileChange::Append { path: path.to_owned(), size, text })
    }

    /// The lines of an event: snapshots of documents first, where one is due, then the event itself.
    fn lines(&self, entry: &mut Entry, replacements: &[Replacement<'_>]) -> Lines {
        let mut lines = Lines { bytes: Vec::new(), sum: Hash::of(b""), last: self.last_sum.clone() };
        if self.end == 0 {
            lines.add(&self.head());
        }
        for each in replacements.iter().filter(|each| each.is_document) {
            let place = self.end + lines.bytes.len() as u64;
            let state = entry.documents.iter_mut().find(|state| state.path == each.path).expect("it was added");
            if state.splices == 0 {
                state.base = place;
                lines.add(&Line::Snapshot { path: each.path.clone(), bytes: each.bytes.to_vec() });
            }
        }
        lines.add(&Line::Event(Box::new(entry.clone())));
        lines
    }
}

/// Lines that are written at once.
struct Lines {
    bytes: Vec<u8>,
    sum: Hash,
    last: Option<Hash>,
}

impl Lines {
    fn add(&mut self, line: &Line) {
        let (bytes, sum) = seal_line(line, self.last.as_ref());
        self.bytes.extend_from_slice(&bytes);
        self.last = Some(sum.clone());
        self.sum = sum;
    }
}

/// How a document changes, and where it stands then. A snapshot is due when there is none, when too many splices
/// came since, or when they weigh more than the document: so neither the journal nor a rebuild grows beyond measure.
fn document_change(each: &Replacement<'_>, documents: &mut Vec<DocumentState>) -> FileChange {
    let after = Hash::of(each.bytes);
    let before = each.old.as_ref().map(|old| old.hash.clone());
    let known = documents.iter().position(|state| state.path == each.path);
    let place = known.unwrap_or_else(|| {
        documents.push(DocumentState {
            path: each.path.clone(),
            hash: None,
            was: None,
            base: 0,
            weight: 0,
            splices: 0,
        });
        documents.len() - 1
    });
    let state = &mut documents[place];
    let splice = each
        .old
        .as_ref()
        .filter(|old| state.hash.as_ref() == Some(&old.hash))
        .map(|old| Splice::between(&old.bytes, each.bytes));
    let splice = splice.filter(|splice| {
        let weight = state.weight + splice.inserted.len() as u64 + 64;
        state.splices < MOST_SPLICES && weight < (2 * each.bytes.len() as u64).max(16 * 1024)
    });
    match &splice {
        Some(splice) => {
            state.weight += splice.inserted.len() as u64 + 64;
            state.splices += 1;
        }
        None => (state.weight, state.splices) = (0, 0),
    }
    state.was = before.clone();
    state.hash = Some(after.clone());
    let inode = each.old.as_ref().map(|old| old.stamp.inode);
    let (path, aside) = (each.path.clone(), Some(each.aside.clone()));
    FileChange::Write { path, aside, before, inode, after: Some(after), splice }
}

fn shared_change(each: &Replacement<'_>) -> FileChange {
    let before = each.old.as_ref();
    FileChange::Share {
        path: each.path.clone(),
        aside: each.aside.clone(),
        before: before.map(|old| old.hash.clone()),
        after: Hash::of(each.bytes),
        splice: Splice::between(before.map_or(&[], |old| &old.bytes), each.bytes),
    }
}
