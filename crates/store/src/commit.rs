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

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

use piton_cores::Core;
use piton_model::{Effect, Time};
use serde_json::{Map, Value};

use crate::ContactError;
use crate::disk::{Access, DiskError, Open, Rename, Stamp, directory_of, make_directories};
use crate::journal::{Entry, FileChange, Hash};
use crate::seen::{SeenContent, SeenDocument};
use crate::stray::Stray;
use crate::unit::{LARGE, Left, LockedUnit, sync_names_to};
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

    /// Keeps the replaced documents where a late writer's bytes can be found; removes what else is left over.
    fn retire(&mut self, replacements: &[Replacement<'_>], taken: &[(String, String)]) -> Result<(), DiskError> {
        self.note_left(replacements);
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

    /// Notes how large documents are left, where whatever others do to them from now on shows. Whoever has written one
    /// since it is in its place has changed its stamp.
    fn note_left(&mut self, replacements: &[Replacement<'_>]) {
        for each in replacements.iter().filter(|each| each.is_document) {
            self.note.left.remove(&each.path);
            let Some(written) = each.written.get() else { continue };
            if let Ok(Some(imprint)) = self.disk.imprint(&each.path)
                && imprint.is_telling(*written)
            {
                self.note.left.insert(each.path.clone(), Left { imprint, hash: each.hash().clone() });
            }
        }
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
            let own = self.key.directory();
            self.strays.push(Stray::copy(self.disk, &own, path, &content.bytes)?);
            self.note.has_strays = true;
        }
        // Two names of one file, which a rename would leave as they are.
        let own = match stamp {
            Some(stamp) => Some(stamp),
            None => self.disk.stamp(aside)?,
        };
        if found.is_some() && found.map(|found| found.inode) == own.map(|own| own.inode) {
            return self.disk.remove(aside);
        }
        if found.is_some_and(|found| found.size >= LARGE) {
            // The next event frees it, and has something to do meanwhile.
            self.disk.rename(&kept, &self.gone_path(path), Rename::Replace)?;
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

    /// Frees what was kept of large documents until the event before. Where a disk is told which of its blocks are free, that
    /// takes as long as a sync, so it is done beside all else.
    fn free_gone(&self, replacements: &[Replacement<'_>]) {
        let remove = |each: &Replacement<'_>| {
            let gone = self.gone_path(&each.path);
            // Who closes the last handle of a file without a name frees it.
            let file = self.disk.open(&gone, Open::Existing).ok()?;
            self.disk.remove(&gone).ok().map(|()| file)
        };
        let large = replacements.iter().filter(|each| each.is_document && each.is_large());
        let gone: Vec<_> = large.filter_map(remove).collect();
        if !gone.is_empty() {
            let here = Core::here();
            // Without a thread it is done here. Whoever ends before that has it done all the same.
            let _ = std::thread::Builder::new().spawn(move || {
                here.avoid();
                drop(gone);
            });
        }
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
        self.path_for("replaced", path)
    }

    /// Where the one that was kept before it waits to be freed, when it is large.
    fn gone_path(&self, path: &str) -> String {
        self.path_for("gone", path)
    }

    fn path_for(&self, what: &str, path: &str) -> String {
        format!("{}/{what}-{}", self.key.directory(), &Hash::of(path.as_bytes()).as_str()[..8])
    }
}
