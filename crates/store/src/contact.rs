//! The first thing done with a locked unit: its documents are brought to where the journal says they are, and what
//! others did to them is written down before anything else happens.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use piton_model::Time;
use serde_json::{Map, json};

use crate::ReadError;
use crate::commit::{Lines, splice_of, sync_rest};
use crate::disk::{DiskError, Open, Stamp, directory_of};
use crate::finish::Rest;
use crate::journal::{DocumentState, Entry, FileChange, Hash, Line, Reader, Text, common_end, common_start};
use crate::seen::{SeenContent, SeenDocument};
use crate::stray::Stray;
use crate::unit::{Durable, LARGE, Left, LockedUnit, keep_aside, sync_names_to};

/// How many splices a document has at most when somebody else's edit adds one: what it was before is rebuilt from them.
const MOST_SPLICES: u64 = 12;

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
        self.contact_beside(documents, &Vec::new, now)
    }

    /// The same, where the unit may have been about to write files elsewhere than beside its documents. `others` names them;
    /// it is asked when the machine was started since, and leftovers are looked for.
    pub fn contact_beside(
        &mut self,
        documents: &[String],
        others: &dyn Fn() -> Vec<String>,
        now: Time,
    ) -> Result<Contact, ContactError> {
        let rest = self.bring_up()?;
        let mut late = self.late_writes(rest)?;
        let known = self.last().map(|entry| entry.documents.clone()).unwrap_or_default();
        let mut paths: Vec<String> = known.iter().map(|state| state.path.clone()).collect();
        for path in documents {
            let path = self.disk.resolve(path)?;
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        if matches!(rest, Rest::AfterRestart | Rest::Unknown) {
            self.sweep(&[paths.as_slice(), &others()].concat())?;
        }
        let mut contact = Contact::default();
        let mut changes = Vec::new();
        let read = self.read_all(paths, &known)?;
        // It was said of what stands there now; who writes it next has said nothing.
        self.saved = None;
        self.seldom = None;
        for (path, seen) in read {
            let recorded = known.iter().find(|state| state.path == path);
            let hash = seen.content.as_ref().map(|content| content.hash.clone());
            if recorded.map(|state| &state.hash).unwrap_or(&None) != &hash {
                changes.push((path.clone(), recorded.cloned()));
            }
            contact.documents.insert(path, seen);
        }
        late.extend(self.stray_writes(rest, &contact)?);
        if !changes.is_empty() || !late.is_empty() {
            self.observe(&changes, late, now, &mut contact)?;
        }
        // Now the journal has them. Should a file stay, it is a copy.
        for stray in std::mem::take(&mut self.strays) {
            let _ = self.disk.remove(&stray.file);
        }
        self.note.has_strays = false;
        Ok(contact)
    }

    /// What others wrote to documents while they were replaced, unless it is there again or known.
    fn stray_writes(&mut self, rest: Rest, contact: &Contact) -> Result<Vec<(String, Vec<u8>)>, ContactError> {
        if rest != Rest::Settled || self.note.has_strays {
            let known = std::mem::take(&mut self.strays);
            let found = Stray::find(self.disk, &self.key.directory(), contact.documents.keys());
            let others = found.into_iter().filter(|found| known.iter().all(|stray| stray.file != found.file));
            self.strays = known.iter().cloned().chain(others).collect();
        }
        let mut written: Vec<(String, Vec<u8>)> = Vec::new();
        for Stray { path, file, first, ours } in &self.strays {
            let now = contact.documents.get(path).and_then(|seen| seen.content.as_ref());
            let last = self.read_quiet(file, ours.as_ref())?.content.map(|content| content.bytes);
            for bytes in [Some(first.clone()), last].into_iter().flatten() {
                let hash = Hash::of(&bytes);
                let is_known = bytes.is_empty()
                    || ours.as_ref() == Some(&hash)
                    || now.is_some_and(|now| now.hash == hash)
                    || written.iter().any(|(_, other)| *other == bytes);
                if !is_known && !self.is_version(path, &hash)? {
                    written.push((path.clone(), bytes));
                }
            }
        }
        Ok(written)
    }

    /// Reads documents. Large ones, as those were that they replaced, are read in two lanes: a core more would only wait for
    /// the first one.
    fn read_all(
        &self,
        mut paths: Vec<String>,
        known: &[DocumentState],
    ) -> Result<Vec<(String, SeenDocument)>, ContactError> {
        let recorded = |path: &String| known.iter().find(|state| state.path == *path)?.hash.as_ref();
        let left = |path: &String| recorded(path).and_then(|recorded| self.read_left(path, recorded));
        let read = |path: &String| left(path).map_or_else(|| self.read_quiet(path, recorded(path)), Ok);
        let size = |path: &String| self.note.replaced.get(path).map_or(0, |stamp| stamp.size);
        paths.sort_by_key(|path| std::cmp::Reverse(size(path)));
        let (first, others) = match paths.split_first() {
            Some((first, others)) if size(first) >= LARGE => (first, others),
            _ => return paths.into_iter().map(|path| read(&path).map(|seen| (path, seen))).collect(),
        };
        let (others, first) =
            piton_cores::both(|| others.iter().map(read).collect::<Result<Vec<_>, _>>(), || read(first));
        let seen: Vec<_> = std::iter::once(first?).chain(others?).collect();
        Ok(paths.into_iter().zip(seen).collect())
    }

    /// Reads a document. One that differs from what is recorded and was written just now may be half written: it is
    /// given a moment, unless its writer said that it is saved.
    fn read_quiet(&self, path: &str, recorded: Option<&Hash>) -> Result<SeenDocument, ContactError> {
        let mut last = None;
        let is_saved = self.saved.as_deref() == Some(path);
        for _ in 0..MOST_WAITS {
            let seen = self.read_document(path)?;
            let is_known = recorded.is_some() && recorded == seen.content.as_ref().map(|content| &content.hash);
            let stamp = seen.content.as_ref().map(|content| content.stamp);
            if is_known || stamp.is_none_or(|stamp| is_whole(stamp, last, is_saved, now())) {
                return Ok(seen);
            }
            last = stamp;
            std::thread::sleep(QUIET);
        }
        self.read_document(path)
    }

    /// A large document that is as we left it; one that is seldom looked at stays unread. Hashing one of megabytes costs more
    /// than all else that is done with it, and what nobody has written is what is recorded.
    fn read_left(&self, path: &str, recorded: &Hash) -> Option<SeenDocument> {
        let Left { imprint, hash } = self.note.left.get(path).filter(|left| left.hash == *recorded)?;
        let is_as_left = || self.disk.imprint(path).is_ok_and(|found| found == Some(*imprint));
        if self.seldom.as_deref() == Some(path) {
            let unread = || SeenDocument { content: Some(SeenContent::unread(hash.clone(), imprint.stamp)) };
            return is_as_left().then(unread);
        }
        let content = is_as_left().then(|| self.disk.read(path).ok())??;
        // Whoever wrote it while it was read shows now.
        (content.stamp == imprint.stamp && is_as_left())
            .then(|| SeenDocument { content: Some(SeenContent::known(content.bytes, hash.clone(), content.stamp)) })
    }

    pub(crate) fn read_document(&self, path: &str) -> Result<SeenDocument, ContactError> {
        let unreadable = |error| ContactError::Unreadable { path: path.to_owned(), error };
        SeenDocument::read(self.disk, path).map_err(unreadable)
    }

    /// Documents that were replaced and then written by somebody who still had them open.
    fn late_writes(&mut self, rest: Rest) -> Result<Vec<(String, Vec<u8>)>, DiskError> {
        let mut paths: Vec<String> = self.note.replaced.keys().cloned().collect();
        if matches!(rest, Rest::AfterKill | Rest::Unknown) {
            // Whoever died may have replaced one and not have come to note it.
            let documents = self.last().map(|entry| entry.documents.clone()).unwrap_or_default();
            paths.extend(documents.into_iter().map(|state| state.path));
            paths.sort();
            paths.dedup();
        }
        let mut late = Vec::new();
        for path in paths {
            let kept = self.replaced_path(&path);
            let found = self.disk.stamp(&kept)?;
            if found.is_none() || found == self.note.replaced.get(&path).copied() {
                continue;
            }
            if let Ok(content) = self.disk.read(&kept) {
                if !self.is_version(&path, &Hash::of(&content.bytes))? {
                    late.push((path.clone(), content.bytes));
                }
                self.note.replaced.insert(path, content.stamp);
            }
        }
        Ok(late)
    }

    /// Whether the journal knows this as a version of a document. Mostly it is the one before the last.
    fn is_version(&self, path: &str, hash: &Hash) -> Result<bool, DiskError> {
        let state = self.last().and_then(|entry| entry.document(path));
        if state.is_some_and(|state| state.was.as_ref() == Some(hash) || state.hash.as_ref() == Some(hash)) {
            return Ok(true);
        }
        let Some(journal) = &self.journal else { return Ok(false) };
        let mut reader = Reader::new(&**journal, 0);
        while let Some((_, parsed)) = reader.next_whole()? {
            if let Line::Event(entry) = parsed.line
                && entry.document(path).is_some_and(|state| state.hash.as_ref() == Some(hash))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Makes durable what others left, before an event says that it was seen: the next event builds on it.
    fn sync_outside(&self, paths: &[(String, Option<DocumentState>)]) -> Result<(), DiskError> {
        let mut directories = self.unsynced_directories();
        let mut made = Vec::new();
        for (path, recorded) in paths {
            // One that may not be written cannot be synced this way; its owner has to.
            if let Ok(file) = self.disk.open(path, Open::Existing) {
                file.sync()?;
            }
            match recorded {
                Some(DocumentState { hash: Some(_), .. }) => directories.push(directory_of(path).to_owned()),
                // Nobody has made the names durable yet that lead to it.
                Some(DocumentState { hash: None, .. }) | None => made.push(directory_of(path)),
            }
        }
        sync_names_to(self.disk, &made)?;
        directories.sort();
        directories.dedup();
        sync_rest(self.disk, &[], &directories)
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
        let is_first = self.tail.is_none();
        let has_late = !late.is_empty();
        let mut lines = self.new_lines();
        let mut documents = self.last().map(|entry| entry.documents.clone()).unwrap_or_default();
        let mut files = Vec::new();
        for (path, recorded) in changes {
            let content = contact.documents[path].content.as_ref();
            let old = self.current(path)?;
            let what = describe(recorded.is_some(), old.as_deref(), content.map(|content| content.bytes.as_slice()));
            let before = recorded.as_ref().and_then(|state| state.hash.clone());
            let after = content.map(|content| content.hash.clone());
            contact.observed.push(Observation { path: path.clone(), seq, what });
            documents.retain(|state| state.path != *path);
            let mut state = recorded.clone().unwrap_or_else(|| DocumentState::unknown(path));
            let splice =
                content.and_then(|content| splice_of(&mut state, old.as_deref(), &content.bytes, MOST_SPLICES));
            if splice.is_none() {
                (state.base, state.weight, state.splices) = (self.end + lines.bytes.len() as u64, 0, 0);
            }
            if let (Some(content), None) = (content, &splice) {
                lines.add_snapshot(path, &content.bytes);
            }
            (state.hash, state.was) = (after.clone(), before.clone());
            documents.push(state);
            files.push(FileChange::Write { path: path.clone(), aside: None, before, inode: None, after, splice });
        }
        let mut kept = Vec::new();
        for (path, text) in late {
            kept.push(json!({"path": path, "text": Text(&text)}));
            let what = "was written by somebody while it was being replaced; what they wrote is kept in the journal";
            contact.observed.push(Observation { path, seq, what: what.to_owned() });
        }
        let words: Vec<_> = contact.observed.iter().map(|each| format!("{} {}", each.path, each.what)).collect();
        let entry = Entry {
            seq,
            at: now.to_string(),
            attempt: self.attempt(),
            by: "outside".to_owned(),
            carried: self.last().map(|entry| entry.carried.clone()).unwrap_or_default(),
            event: if is_first { "adopted" } else { "observed" }.to_owned(),
            summary: words.join("; "),
            data: if kept.is_empty() { Map::new() } else { Map::from_iter([("late".to_owned(), json!(kept))]) },
            files,
            documents,
        };
        lines.add_event(&entry);
        if is_first {
            // A document that was there before us is no news.
            contact.observed.clear();
        }
        self.sync_outside(changes)?;
        self.record(entry, lines)?;
        if has_late {
            // Nothing else will have it.
            self.make_durable()?;
        }
        Ok(())
    }

    /// Writes an event down that is done already. It is made durable with the one that follows, or when the unit is let
    /// go: should it be lost before, what it saw is there to be seen again.
    fn record(&mut self, entry: Entry, lines: Lines) -> Result<(), ContactError> {
        let end = self.end;
        if self.note.boot != self.boot {
            // Whoever finds the line is to know that it is not synced.
            self.settle()?;
        }
        let journal = self.journal()?;
        if let Err(error) = journal.write_at(end, &lines.bytes) {
            self.is_stale = self.cut_journal().is_err();
            return Err(error.into());
        }
        let durable = Durable { tail: self.tail.take(), end, last_sum: self.last_sum.take() };
        self.durable.get_or_insert(durable);
        self.end += lines.bytes.len() as u64;
        self.last_sum = lines.last;
        self.tail = Some(entry);
        Ok(self.settle()?)
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
    let (a, b) = without_same_ends(a, b);
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

/// Two texts without the whole lines in which both begin, and those in which both end.
fn without_same_ends<'t>(a: &'t [u8], b: &'t [u8]) -> (&'t [u8], &'t [u8]) {
    let start = common_start(a, b);
    let start = a[..start].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let (a, b) = (&a[start..], &b[start..]);
    let tail = common_end(a, b);
    let tail = a[a.len() - tail..].iter().position(|byte| *byte == b'\n').map_or(0, |end| tail - end);
    (&a[..a.len() - tail], &b[..b.len() - tail])
}

/// Whether a document that others wrote can be taken as it is: it was left alone for a while, it did not change while
/// it was waited for, or its writer says that it is saved. Moments are those of the file system, in nanoseconds.
fn is_whole(stamp: Stamp, last: Option<Stamp>, is_saved: bool, now: i128) -> bool {
    // Whoever empties a file is about to fill it, and a busy machine may make them slow.
    let is_emptied = stamp.size == 0;
    // A time in the future is as good as old: nobody waits for it.
    let is_old = !(0..QUIET.as_nanos() as i128).contains(&(now - stamp.modified));
    !is_emptied && (is_saved || is_old || last == Some(stamp))
}

fn now() -> i128 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_nanos() as i128
}

#[cfg(test)]
mod tests;
