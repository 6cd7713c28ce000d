//! A commit: journal and documents, in the one order that survives a crash at any instant.
//!
//! The journal's line and the new documents, written aside, are made durable; neither waits for the other. Then each
//! document changes places with its new version, in one step of the file system. What comes out of that step is
//! looked at: if somebody else has written the document since it was read, everything is put back, and the caller
//! decides again. Nothing is ever overwritten unseen.
//!
//! The line is written before anything that has a name, so that whoever finds the rest of a commit that died finds its line
//! too. That documents have changed places is not synced before the answer, because the line is enough to do it again. It is
//! synced with the next event, so that never more than one event has to be done again.

mod ahead;
mod content;
mod effects;
mod entry;
mod retire;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

use piton_model::{Effect, Time};
use serde_json::{Map, Value};

use crate::ContactError;
use crate::disk::{Access, DiskError, Stamp, directory_of, make_directories};
use crate::journal::{Entry, FileChange, Hash};
use crate::seen::{SeenContent, SeenDocument};
use crate::unit::{LockedUnit, sync_names_to};
use ahead::Ahead;
pub(crate) use content::NewContent;
use effects::{Undo, append, exchange, keep, take_away, write_aside};
pub(crate) use effects::{hold_log, sync_if_there, sync_rest};
pub(crate) use entry::{Lines, splice_of};

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
    /// What later events are to know; it is added to what is known already.
    pub carried: Map<String, Value>,
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
pub(crate) struct Replacement<'a> {
    pub path: String,
    aside: String,
    pub content: NewContent<'a>,
    /// A large document's file, as it was when all of it was written aside.
    written: OnceLock<Stamp>,
    /// The digest of what it is to hold, once it was asked for.
    hash: OnceLock<Hash>,
    /// What it replaces; nothing when there was no file.
    old: Option<Cow<'a, SeenContent>>,
    /// Whether it is a document of the unit, whose replaced version is kept for whoever has it open.
    is_document: bool,
}

impl<'a> Replacement<'a> {
    fn new(
        path: String,
        aside: String,
        content: NewContent<'a>,
        known: Option<Hash>,
        old: Option<Cow<'a, SeenContent>>,
        is_document: bool,
    ) -> Replacement<'a> {
        let hash = known.map_or_else(OnceLock::new, OnceLock::from);
        Replacement { path, aside, content, written: OnceLock::new(), hash, old, is_document }
    }

    /// The digest of what it is to hold.
    pub fn hash(&self) -> &Hash {
        self.hash.get_or_init(|| self.content.hash())
    }
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
        let replacements = self.replacements(seq, effects, seen).inspect_err(|error| {
            // Whatever was noted of it: next time it is read.
            if let CommitError::Raced { path } = error {
                self.note.left.remove(path);
            }
        })?;
        self.free_gone(&replacements);
        let ahead = self.prepare(&replacements);
        let mut entry = self.entry(seq, new, effects, &replacements, seen)?;
        let lines = self.lines(&mut entry, &replacements);
        let mut undo = Undo::new(self.disk, self.key.directory());
        if let Err(error) = self.perform(&entry, &lines.bytes, &replacements, ahead, seen, &mut undo) {
            // Nobody was told about the line. It is cut last: as long as it stands, what is left over is its business.
            let is_undone = undo.everything() && self.cut_journal().is_ok();
            self.is_stale = !is_undone;
            self.strays.append(&mut undo.strays);
            return Err(if is_undone { error } else { CommitError::Unfinished { seq, error: Box::new(error) } });
        }
        self.end += lines.bytes.len() as u64;
        self.last_sum = lines.last;
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
        ahead: Vec<Ahead>,
        seen: &BTreeMap<String, SeenDocument>,
        undo: &mut Undo<'_>,
    ) -> Result<(), CommitError> {
        let disk = self.disk;
        let end = self.end;
        self.journal()?.write_at(end, lines)?;
        for each in replacements {
            make_directories(disk, directory_of(&each.path), Access::Shared)?;
        }
        let asides = write_aside(disk, replacements, ahead, undo)?;
        // With those that were written ahead it has begun. To begin again would take out of memory what is read next time.
        asides.written_now.iter().for_each(|place| asides.files[*place].begin_sync());
        self.sync_journal()?;
        let mut names = self.unsynced_directories();
        for change in &entry.files {
            match change {
                FileChange::Keep { from, to } => keep(disk, from, to, undo)?,
                // Copies go together with those that come: one sync for both.
                FileChange::Remove { path } if entry.document(path).is_none() => {
                    take_away(disk, path, &self.aside_of(path, entry.seq), None, undo)?;
                }
                _ => continue,
            }
            names.push(directory_of(change.path()).to_owned());
        }
        names.sort();
        names.dedup();
        sync_rest(disk, &asides.files, &names)?;
        drop(asides);
        let mut touched = Vec::new();
        for change in &entry.files {
            if let FileChange::Append { path, size, text } = change {
                append(disk, path, *size, text, undo)?;
            }
        }
        for each in replacements {
            exchange(disk, each, undo)?;
            if each.old.is_none() {
                // All names that lead to it: somebody who failed may have made a directory and not have come to its sync.
                sync_names_to(disk, &[directory_of(directory_of(&each.path))])?;
            }
            if each.old.is_none() || !each.is_document {
                touched.push(directory_of(&each.path).to_owned());
            }
        }
        for change in &entry.files {
            if let FileChange::Remove { path } = change
                && entry.document(path).is_some()
            {
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

    /// Puts documents into their places that are behind the journal. The last event is about all of them.
    pub(crate) fn write_behind(
        &mut self,
        behind: &BTreeMap<String, SeenContent>,
        seen: &BTreeMap<String, SeenDocument>,
    ) -> Result<(), CommitError> {
        let seq = self.seq();
        let replacements: Vec<_> = behind
            .iter()
            .filter_map(|(path, old)| {
                let SeenContent { bytes, hash, .. } = seen.get(path)?.content.as_ref()?;
                let (aside, old) = (self.aside_of(path, seq), Some(Cow::Borrowed(old)));
                let (path, content, hash) = (path.clone(), NewContent::whole(bytes), Some(hash.clone()));
                Some(Replacement::new(path, aside, content, hash, old, true))
            })
            .collect();
        self.free_gone(&replacements);
        let mut undo = Undo::new(self.disk, self.key.directory());
        if let Err(error) = self.place(&replacements, &mut undo) {
            undo.everything();
            self.strays.append(&mut undo.strays);
            return Err(error);
        }
        self.retire(&replacements, &[])?;
        Ok(self.settle()?)
    }

    fn place(&self, replacements: &[Replacement<'_>], undo: &mut Undo<'_>) -> Result<(), CommitError> {
        let asides = write_aside(self.disk, replacements, Vec::new(), undo)?;
        sync_rest(self.disk, &asides.files, &[])?;
        replacements.iter().try_for_each(|each| exchange(self.disk, each, undo))
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
}
