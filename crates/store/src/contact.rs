//! The first thing done with a locked unit: its documents are brought to where the journal says they are, and what
//! others did to them is written down before anything else happens.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use piton_model::Time;
use serde_json::{Map, json};

use crate::ReadError;
use crate::commit::{SeenContent, SeenDocument, aside_of};
use crate::disk::{Access, DiskError, Open, Rename, directory_of, make_directories};
use crate::journal::{DocumentState, Entry, FileChange, Hash, Line, Splice, rebuild_at, seal_line};
use crate::unit::{LockedUnit, Tail, keep_aside};

/// How long a document must have been left alone before an outside edit of it is taken for finished.
const QUIET: Duration = Duration::from_millis(20);

/// How often that is waited for; an editor that writes for ever does not keep others from working.
const MOST_WAITS: usize = 10;

/// What was found out at contact.
#[derive(Debug, Default)]
pub struct Contact {
    /// Every document of the unit, as it is now.
    pub documents: BTreeMap<String, SeenDocument>,
    /// What others did to them since the last event, in words; empty when nothing happened.
    pub observed: Vec<Observation>,
}

/// Something that others did to a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// The document.
    pub path: String,
    /// The number of the event that recorded it.
    pub seq: u64,
    /// What happened, as a fragment.
    pub what: String,
}

impl LockedUnit<'_> {
    /// Finishes what the last event began, and records what others did since. Then all documents are as returned.
    ///
    /// `documents` are the unit's documents as its dialect knows them; those that the journal knows come with them.
    pub fn contact(&mut self, documents: &[String], now: Time) -> Result<Contact, ContactError> {
        if !self.is_settled() {
            self.finish()?;
        }
        let late = self.late_writes()?;
        let known = self.last().map(|entry| entry.documents.clone()).unwrap_or_default();
        let mut paths: Vec<String> = known.iter().map(|state| state.path.clone()).collect();
        for path in documents {
            let path = self.disk.resolve(path)?;
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        let mut contact = Contact::default();
        let mut changes = Vec::new();
        for path in paths {
            let recorded = known.iter().find(|state| state.path == path);
            let seen = self.read_quiet(&path, recorded)?;
            let hash = seen.content.as_ref().map(|content| content.hash.clone());
            if recorded.map(|state| &state.hash).unwrap_or(&None) != &hash {
                changes.push((path.clone(), recorded.cloned()));
            }
            contact.documents.insert(path, seen);
        }
        if !changes.is_empty() || !late.is_empty() {
            self.observe(&changes, late, now, &mut contact)?;
        }
        Ok(contact)
    }

    /// Reads a document. One that differs from what is recorded and was written just now may be half written: it is
    /// given a moment.
    fn read_quiet(&self, path: &str, recorded: Option<&DocumentState>) -> Result<SeenDocument, ContactError> {
        let mut last = None;
        for _ in 0..MOST_WAITS {
            let seen = self.read_document(path)?;
            let hash = seen.content.as_ref().map(|content| content.hash.clone());
            let is_known = recorded.is_some_and(|state| state.hash == hash);
            let stamp = seen.content.as_ref().map(|content| content.stamp);
            let is_quiet = stamp.is_none_or(|stamp| is_old(stamp.modified)) || last == Some(stamp);
            // Whoever empties a file is about to fill it, and a busy machine may make them slow.
            let is_emptied = stamp.is_some_and(|stamp| stamp.size == 0);
            if is_known || (is_quiet && !is_emptied) {
                return Ok(seen);
            }
            last = Some(stamp);
            std::thread::sleep(QUIET);
        }
        self.read_document(path)
    }

    fn read_document(&self, path: &str) -> Result<SeenDocument, ContactError> {
        match self.disk.read(path) {
            Ok(content) => {
                let hash = Hash::of(&content.bytes);
                let content = SeenContent { bytes: content.bytes, hash, stamp: content.stamp };
                Ok(SeenDocument { content: Some(content) })
            }
            Err(ReadError::Missing) => Ok(SeenDocument { content: None }),
            Err(error) => Err(ContactError::Unreadable { path: path.to_owned(), error }),
        }
    }

    /// Documents that were replaced and then written by somebody who still had them open.
    fn late_writes(&mut self) -> Result<Vec<(String, Vec<u8>)>, DiskError> {
        let mut late = Vec::new();
        for (path, stamp) in self.note.replaced.clone() {
            let kept = self.replaced_path(&path);
            let found = self.disk.stamp(&kept)?;
            if found.is_none_or(|found| found == stamp) {
                continue;
            }
            if let Ok(content) = self.disk.read(&kept) {
                let was = self.last().and_then(|entry| entry.document(&path)).and_then(|state| state.was.clone());
                if Some(Hash::of(&content.bytes)) != was {
                    late.push((path.clone(), content.bytes));
                }
                self.note.replaced.insert(path, content.stamp);
            }
        }
        Ok(late)
    }

    /// Writes down what others did.
    fn observe(
        &mut self,
        changes: &[(String, Option<DocumentState>)],
        late: Vec<(String, Vec<u8>)>,
        now: Time,
        contact: &mut Contact,
    ) -> Result<(), ContactError> {
        let seq = self.seq() + 1;
        let mut bytes = Vec::new();
        let mut last = self.last_sum.clone();
        let mut add = |line: &Line, bytes: &mut Vec<u8>| {
            let (text, sum) = seal_line(line, last.as_ref());
            bytes.extend_from_slice(&text);
            last = Some(sum.clone());
            sum
        };
        if self.end == 0 {
            add(&self.head(), &mut bytes);
        }
        let mut documents = self.last().map(|entry| entry.documents.clone()).unwrap_or_default();
        let mut files = Vec::new();
        let mut words = Vec::new();
        for (path, recorded) in changes {
            let content = contact.documents[path].content.as_ref();
            let before = recorded.as_ref().and_then(|state| state.hash.clone());
            let old = match &before {
                Some(_) => self.current(path)?,
                None => None,
            };
            let what = describe(recorded.is_some(), old.as_deref(), content.map(|content| content.bytes.as_slice()));
            words.push(format!("{path} {what}"));
            contact.observed.push(Observation { path: path.clone(), seq, what });
            let after = content.map(|content| content.hash.clone());
            files.push(FileChange::Write {
                path: path.clone(),
                aside: None,
                before: before.clone(),
                after: after.clone(),
                splice: None,
            });
            documents.retain(|state| state.path != *path);
            let base = self.end + bytes.len() as u64;
            documents.push(DocumentState { path: path.clone(), hash: after, was: before, base, weight: 0, splices: 0 });
            if let Some(content) = content {
                add(&Line::Snapshot { path: path.clone(), bytes: content.bytes.clone() }, &mut bytes);
            }
        }
        let mut data = Map::new();
        for (path, text) in late {
            words.push(format!("{path} was written by somebody who had an older version open"));
            let what = "was written by somebody who had an older version open; what they wrote is kept in the journal";
            contact.observed.push(Observation { path: path.clone(), seq, what: what.to_owned() });
            data.insert("late".to_owned(), json!({"path": path, "text": String::from_utf8_lossy(&text)}));
        }
        let is_first = self.tail.is_none();
        let event = if is_first { "adopted" } else { "observed" };
        let entry = Entry {
            seq,
            at: now.to_string(),
            attempt: self.attempt(),
            by: "outside".to_owned(),
            carried: self.last().map(|entry| entry.carried.clone()).unwrap_or_default(),
            event: event.to_owned(),
            summary: words.join("; "),
            data,
            files,
            documents,
        };
        let sum = add(&Line::Event(Box::new(entry.clone())), &mut bytes);
        let end = self.end;
        let journal = self.journal()?;
        if let Err(error) = journal.write_at(end, &bytes).and_then(|()| journal.sync()) {
            let _ = journal.truncate(end);
            return Err(error.into());
        }
        self.end += bytes.len() as u64;
        self.last_sum = Some(sum.clone());
        self.tail = Some(Tail { entry, sum });
        // A writer that died before its event had this number. What it left is not looked for under a later one.
        for (path, _) in changes {
            self.remove_if_there(&aside_of(path, seq))?;
        }
        if is_first {
            // A document that was there before us is no news.
            contact.observed.clear();
        }
        Ok(self.settle()?)
    }

    /// Does again what the last event did to files, as far as it is not done.
    fn finish(&mut self) -> Result<(), ContactError> {
        let Some(Tail { entry, .. }) = self.tail.clone() else { return Ok(()) };
        for change in &entry.files {
            match change {
                FileChange::Keep { from, to } => self.finish_keep(&entry, from, to)?,
                FileChange::Append { path, size, text } => self.finish_append(path, *size, text)?,
                FileChange::Write { path, aside: Some(aside), before, after: Some(after), .. } => {
                    let new = || self.current(path);
                    self.finish_replace(path, aside, before.as_ref(), after, &new)?;
                }
                FileChange::Share { path, aside, before, after, splice } => {
                    let new = || self.shared_after(path, splice);
                    self.finish_replace(path, aside, before.as_ref(), after, &new)?;
                }
                // Somebody else did this one.
                FileChange::Write { .. } => {}
                FileChange::Remove { path } => self.finish_remove(&entry, path)?,
            }
        }
        self.note.replaced.clear();
        Ok(self.settle()?)
    }

    fn finish_replace(
        &self,
        path: &str,
        aside: &str,
        before: Option<&Hash>,
        after: &Hash,
        new: &dyn Fn() -> Result<Option<Vec<u8>>, DiskError>,
    ) -> Result<(), ContactError> {
        let hash = |path: &str| -> Result<Option<Hash>, ContactError> {
            Ok(self.read_document(path)?.content.map(|content| content.hash))
        };
        let (found, left) = (hash(path)?, hash(aside)?);
        if found.as_ref() == Some(after) {
            // It is done. What came out of its place, if it is still there, is what was there: unless somebody wrote
            // it in the last instant, and then their version goes back.
            if left.is_some() && left.as_ref() != before && left.as_ref() != Some(after) {
                self.disk.rename(aside, path, Rename::Exchange)?;
            }
        } else if found.as_ref() == before {
            if left.as_ref() != Some(after) {
                let Some(bytes) = new()? else { return Ok(()) };
                self.write_again(path, aside, &bytes, left.is_some())?;
            } else {
                self.disk.open(aside, Open::Existing)?.sync()?;
            }
            let how = if before.is_some() { Rename::Exchange } else { Rename::New };
            self.disk.rename(aside, path, how)?;
            self.disk.sync_directory(directory_of(path))?;
        }
        // Anything else in its place came from somebody else after the crash, and is observed.
        self.remove_if_there(aside)
    }

    fn write_again(&self, path: &str, aside: &str, bytes: &[u8], is_there: bool) -> Result<(), DiskError> {
        make_directories(self.disk, directory_of(path), Access::Shared)?;
        if is_there {
            self.disk.remove(aside)?;
        }
        let file = self.disk.open(aside, Open::New { like: path })?;
        file.write_at(0, bytes)?;
        file.sync()
    }

    fn shared_after(&self, path: &str, splice: &Splice) -> Result<Option<Vec<u8>>, DiskError> {
        let before = self.disk.read(path).map(|content| content.bytes).unwrap_or_default();
        Ok(splice.apply(&before))
    }

    fn finish_keep(&self, entry: &Entry, from: &str, to: &str) -> Result<(), ContactError> {
        if self.disk.stamp(to)?.is_some_and(|stamp| stamp.size > 0) {
            return Ok(());
        }
        let bytes = match (&self.journal, entry.document(from)) {
            (Some(journal), Some(_)) => rebuild_at(&**journal, from, entry.seq - 1)?,
            _ => None,
        };
        let Some(bytes) = bytes else { return Ok(()) };
        make_directories(self.disk, directory_of(to), Access::Shared)?;
        let file = self.disk.open(to, Open::Create(Access::Shared))?;
        file.write_at(0, &bytes)?;
        file.sync()?;
        Ok(self.disk.sync_directory(directory_of(to))?)
    }

    fn finish_append(&self, path: &str, size: u64, text: &str) -> Result<(), ContactError> {
        make_directories(self.disk, directory_of(path), Access::Shared)?;
        let log = self.disk.open(path, Open::Create(Access::Shared))?;
        let now = log.size()?;
        let found = log.read_at(size, text.len())?;
        if found == text.as_bytes() {
            return Ok(());
        }
        // Our own line, torn, is completed; behind somebody else's line ours comes last.
        let is_torn = now >= size && (now - size) < text.len() as u64 && text.as_bytes().starts_with(&found);
        let at = if is_torn { size } else { now };
        let is_open = at > 0 && log.read_at(at - 1, 1)? != b"\n" && !text.starts_with('\n');
        let text = if is_open { format!("\n{text}") } else { text.to_owned() };
        log.write_at(at, text.as_bytes())?;
        log.sync()?;
        Ok(self.disk.sync_directory(directory_of(path))?)
    }

    fn finish_remove(&self, entry: &Entry, path: &str) -> Result<(), ContactError> {
        let expected = entry.document(path).map(|state| state.was.clone());
        let found = self.read_document(path)?.content.map(|content| content.hash);
        // A document that somebody has written since is not the one that was to go.
        if found.is_some() && expected.is_none_or(|was| was == found) {
            self.disk.remove(path)?;
            self.disk.sync_directory(directory_of(path))?;
        }
        Ok(())
    }

    fn remove_if_there(&self, path: &str) -> Result<(), ContactError> {
        match self.disk.remove(path) {
            Err(error) if !error.is_missing() => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Keeps a document's bytes beside the journal, for a person to look at.
    pub fn put_aside(&self, why: &str, bytes: &[u8]) -> Result<String, DiskError> {
        keep_aside(self.disk, &self.key.directory(), why, bytes)
    }
}

/// Why a unit's documents cannot be worked with.
#[derive(Debug)]
pub enum ContactError {
    /// One of them is there and cannot be read.
    Unreadable {
        /// Which one.
        path: String,
        /// Why.
        error: ReadError,
    },
    /// The disk failed.
    Disk(DiskError),
}

impl From<DiskError> for ContactError {
    fn from(error: DiskError) -> ContactError {
        ContactError::Disk(error)
    }
}

impl std::fmt::Display for ContactError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ContactError::Unreadable { path, error } => write!(f, "cannot read `{path}`: {error}"),
            ContactError::Disk(error) => write!(f, "{error}"),
        }
    }
}

/// What happened to a document, in a few words.
fn describe(is_known: bool, old: Option<&[u8]>, new: Option<&[u8]>) -> String {
    match (old, new) {
        (None, Some(_)) if !is_known => "was there already".to_owned(),
        (None, _) => "was made by somebody else".to_owned(),
        (Some(_), None) => "was removed by somebody else".to_owned(),
        (Some(old), Some(new)) => {
            format!("was edited by somebody else (+{} −{} lines)", lines_only_in(new, old), lines_only_in(old, new))
        }
    }
}

/// How many lines of one text the other does not have, each as often as it stands there.
fn lines_only_in(a: &[u8], b: &[u8]) -> usize {
    let mut counts: HashMap<&[u8], i64> = HashMap::new();
    for line in b.split(|byte| *byte == b'\n') {
        *counts.entry(line).or_default() += 1;
    }
    let mut only = 0;
    for line in a.split(|byte| *byte == b'\n') {
        let count = counts.entry(line).or_default();
        *count -= 1;
        only += usize::from(*count < 0);
    }
    only
}

/// Whether a moment of the file system is past, by more than a short while.
fn is_old(modified: i128) -> bool {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let age = now.as_nanos() as i128 - modified;
    // A time in the future is as good as old: nobody waits for it.
    !(0..QUIET.as_nanos() as i128).contains(&age)
}
