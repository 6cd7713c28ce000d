//! A commit: journal and documents, in the one order that survives a crash at any instant.
//!
//! The journal's line and the new documents, written aside, are made durable; neither waits for the other. Then each
//! document changes places with its new version, in one step of the file system. What comes out of that step is
//! looked at: if somebody else has written the document since it was read, everything is put back, and the caller
//! decides again. Nothing is ever overwritten unseen.

use std::collections::BTreeMap;
use std::fmt;

use piton_model::{Effect, Time};
use serde_json::{Map, Value};

use crate::disk::{Access, Disk, DiskError, Handle, Open, Rename, Stamp, directory_of, make_directories, name_of};
use crate::journal::{DocumentState, Entry, FileChange, Hash, Line, Splice, seal_line};
use crate::unit::{LockedUnit, Tail, keep_aside};

/// A document is compared byte by byte up to this size; beyond it the stamp of its file has to do.
const COMPARED: u64 = 256 * 1024;

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
    /// What later events are to know; it is added to what is known already.
    pub carried: Map<String, Value>,
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

/// Why a commit did not happen. Nothing has changed then.
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
}

impl fmt::Display for CommitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommitError::Raced { path } => write!(f, "somebody else keeps writing `{path}`"),
            CommitError::Taken { path } => write!(f, "there is a file already: `{path}`"),
            CommitError::Disk(error) => write!(f, "{error}"),
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
        let seq = self.seq() + 1;
        let replacements = self.replacements(seq, effects, seen)?;
        let mut entry = self.entry(seq, new, effects, &replacements, seen)?;
        let lines = self.lines(&mut entry, &replacements);
        let mut undo = Undo::new(self.disk, self.key.directory());
        match self.perform(&entry, &lines.bytes, &replacements, &mut undo) {
            Ok(()) => {}
            Err(error) => {
                undo.everything();
                // Nobody was told about the line. Should cutting it fail, it is found and finished by whoever comes next.
                if let Some(journal) = &self.journal {
                    let _ = journal.truncate(self.end);
                }
                return Err(error);
            }
        }
        self.end += lines.bytes.len() as u64;
        self.last_sum = Some(lines.sum.clone());
        self.tail = Some(Tail { entry, sum: lines.sum });
        self.retire(&replacements)?;
        self.settle()?;
        Ok(seq)
    }

    /// Everything up to the point of no return, in order.
    fn perform<'a>(
        &mut self,
        entry: &Entry,
        lines: &[u8],
        replacements: &'a [Replacement<'a>],
        undo: &mut Undo<'_>,
    ) -> Result<(), CommitError> {
        let disk = self.disk;
        let mut handles: Vec<Box<dyn Handle>> = Vec::new();
        for each in replacements {
            make_directories(disk, directory_of(&each.path), Access::Shared)?;
            handles.push(write_aside(disk, each, undo)?);
        }
        let end = self.end;
        let journal = self.journal()?;
        journal.write_at(end, lines)?;
        sync_all(journal, &handles)?;
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
                match disk.remove(path) {
                    Ok(()) => touched.push(directory_of(path).to_owned()),
                    Err(error) if error.is_missing() => {}
                    Err(error) => return Err(error.into()),
                }
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
    fn retire(&mut self, replacements: &[Replacement<'_>]) -> Result<(), DiskError> {
        for each in replacements.iter().filter(|each| each.old.is_some()) {
            if !each.is_document {
                self.disk.remove(&each.aside)?;
                continue;
            }
            let kept = self.replaced_path(&each.path);
            self.disk.rename(&each.aside, &kept, Rename::Replace)?;
            if let Some(stamp) = self.disk.stamp(&kept)? {
                self.note.replaced.insert(each.path.clone(), stamp);
            }
        }
        Ok(())
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
                    // What a link leads to was read, and is known by its own name.
                    let seen = seen.get(path).or(seen.get(&self.disk.resolve(path)?));
                    (path, bytes, seen.and_then(|seen| seen.content.clone()), true)
                }
                Effect::Share { path, bytes, before } => (path, bytes, self.shared(path, before.as_deref())?, false),
                Effect::Append { .. } | Effect::Keep { .. } | Effect::Remove { .. } => continue,
            };
            let path = self.disk.resolve(path)?;
            let aside = aside_of(&path, seq);
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
            if let Effect::Append { path, line } = effect
                && let Some(text) = appended_to(&mut files, path)
            {
                // Lines for one log are written at once.
                text.push_str(line);
                continue;
            }
            files.push(match effect {
                Effect::Write { .. } => document_change(next.next().expect("one for each"), &mut documents),
                Effect::Share { .. } => shared_change(next.next().expect("one for each")),
                Effect::Append { path, line } => self.append_change(path, line)?,
                Effect::Keep { from, to } => FileChange::Keep { from: from.clone(), to: to.clone() },
                Effect::Remove { path } => {
                    if let Some(state) = documents.iter_mut().find(|state| state.path == *path) {
                        let before = seen.get(path).and_then(|seen| seen.content.as_ref());
                        state.was = before.map(|before| before.hash.clone());
                        state.hash = None;
                    }
                    FileChange::Remove { path: path.clone() }
                }
            });
        }
        let NewEntry { at, attempt, by, event, summary, data, carried } = new;
        let mut all = self.last().map(|entry| entry.carried.clone()).unwrap_or_default();
        all.extend(carried);
        Ok(Entry { seq, at: at.to_string(), attempt, by, event, summary, data, carried: all, files, documents })
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
    FileChange::Write { path: each.path.clone(), aside: Some(each.aside.clone()), before, after: Some(after), splice }
}

/// What is to be appended to a log already.
fn appended_to<'f>(files: &'f mut [FileChange], log: &str) -> Option<&'f mut String> {
    files.iter_mut().find_map(|change| match change {
        FileChange::Append { path, text, .. } if path == log => Some(text),
        _ => None,
    })
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

/// Where the new content of a file is written first: beside it, so that the two can change places.
pub(crate) fn aside_of(path: &str, seq: u64) -> String {
    let name = format!(".{}.piton-{seq}", name_of(path));
    match directory_of(path) {
        "" => name,
        directory => format!("{directory}/{name}"),
    }
}

fn write_aside(disk: &dyn Disk, each: &Replacement<'_>, undo: &mut Undo<'_>) -> Result<Box<dyn Handle>, DiskError> {
    let how = Open::New { like: &each.path };
    let handle = match disk.open(&each.aside, how) {
        Err(error) if error.is_taken() => {
            // The rest of an attempt that died; only the holder of the lock makes such names.
            disk.remove(&each.aside)?;
            disk.open(&each.aside, how)?
        }
        opened => opened?,
    };
    undo.asides.push(each.aside.clone());
    handle.write_at(0, each.bytes)?;
    Ok(handle)
}

/// Syncs the journal and everything written aside. Each wait may cost milliseconds, so all of them wait at once.
fn sync_all(journal: &dyn Handle, handles: &[Box<dyn Handle>]) -> Result<(), DiskError> {
    std::thread::scope(|scope| {
        let others: Vec<_> = handles.iter().map(|handle| scope.spawn(move || handle.sync())).collect();
        let first = journal.sync();
        let others = others.into_iter().map(|other| other.join().expect("a sync does not panic"));
        others.fold(first, Result::and)
    })
}

fn keep(disk: &dyn Disk, from: &str, to: &str, undo: &mut Undo<'_>) -> Result<(), CommitError> {
    make_directories(disk, directory_of(to), Access::Shared)?;
    match disk.link(from, to) {
        Ok(()) => undo.made.push(to.to_owned()),
        Err(error) if error.is_taken() => return Err(CommitError::Taken { path: to.to_owned() }),
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

fn append(disk: &dyn Disk, path: &str, size: u64, text: &str, undo: &mut Undo<'_>) -> Result<(), CommitError> {
    make_directories(disk, directory_of(path), Access::Shared)?;
    let is_new = disk.stamp(path)?.is_none();
    let log = disk.open(path, Open::Create(Access::Shared))?;
    if is_new {
        undo.made.push(path.to_owned());
    } else if log.size()? != size {
        return Err(CommitError::Raced { path: path.to_owned() });
    } else {
        undo.cut.push((path.to_owned(), size, text.len() as u64));
    }
    log.write_at(size, text.as_bytes())?;
    log.sync()?;
    if is_new {
        disk.sync_directory(directory_of(path))?;
    }
    Ok(())
}

/// Puts a file in its place, and looks at what came out.
fn exchange(disk: &dyn Disk, each: &Replacement<'_>, undo: &mut Undo<'_>) -> Result<(), CommitError> {
    let raced = || CommitError::Raced { path: each.path.clone() };
    let Some(old) = &each.old else {
        return match disk.rename(&each.aside, &each.path, Rename::New) {
            Ok(()) => {
                undo.asides.retain(|aside| *aside != each.aside);
                undo.made.push(each.path.clone());
                Ok(())
            }
            Err(error) if error.is_taken() => Err(raced()),
            Err(error) => Err(error.into()),
        };
    };
    match disk.rename(&each.aside, &each.path, Rename::Exchange) {
        Ok(()) => undo.exchanged.push((each.aside.clone(), each.path.clone(), Hash::of(each.bytes))),
        Err(error) if error.is_missing() => return Err(raced()),
        Err(error) => return Err(error.into()),
    }
    let is_same = match disk.stamp(&each.aside)? {
        Some(stamp) if stamp != old.stamp => false,
        Some(stamp) if stamp.size > COMPARED => true,
        Some(_) => disk.read(&each.aside).is_ok_and(|content| content.bytes == old.bytes),
        None => false,
    };
    if is_same { Ok(()) } else { Err(raced()) }
}

/// What has been done and would have to be taken back.
struct Undo<'d> {
    disk: &'d dyn Disk,
    /// Where bytes go that have no other place.
    directory: String,
    asides: Vec<String>,
    /// What is aside now, what is in its place, and the digest of what was put there.
    exchanged: Vec<(String, String, Hash)>,
    made: Vec<String>,
    /// Logs, with the size that each had and how much was added.
    cut: Vec<(String, u64, u64)>,
}

impl<'d> Undo<'d> {
    fn new(disk: &'d dyn Disk, directory: String) -> Undo<'d> {
        Undo { disk, directory, asides: Vec::new(), exchanged: Vec::new(), made: Vec::new(), cut: Vec::new() }
    }

    /// Takes everything back, as far as the disk allows: this runs because something failed. What it cannot do is
    /// found by whoever comes next, because the journal is cut last.
    fn everything(self) {
        for (aside, path, put) in self.exchanged.iter().rev() {
            let _ = self.disk.rename(aside, path, Rename::Exchange);
            // Somebody may have written even to what stood there for an instant.
            if let Ok(content) = self.disk.read(aside)
                && Hash::of(&content.bytes) != *put
            {
                let _ = keep_aside(self.disk, &self.directory, "raced", &content.bytes);
            }
        }
        for path in self.asides.iter().chain(&self.made) {
            let _ = self.disk.remove(path);
        }
        for (path, size, added) in &self.cut {
            if let Ok(log) = self.disk.open(path, Open::Existing)
                && log.size().is_ok_and(|now| now <= size + added)
            {
                let _ = log.truncate(*size);
            }
        }
    }
}
