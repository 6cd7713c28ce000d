//! What a commit is going to do, as the lines that are written down before anything of it is done.

use std::borrow::Cow;
use std::collections::BTreeMap;

use piton_model::Effect;

use super::{CommitError, NewContent, NewEntry, Replacement, SeenContent, SeenDocument};
use crate::disk::{DiskError, Open};
use crate::journal::{DocumentState, Entry, FileChange, Hash, Head, Splice, seal_event, seal_head, seal_snapshot};
use crate::unit::LockedUnit;

/// How many splices may follow a snapshot.
const MOST_SPLICES: u64 = 500;

impl LockedUnit<'_> {
    pub(crate) fn replacements<'a>(
        &self,
        seq: u64,
        effects: &'a [Effect],
        seen: &'a BTreeMap<String, SeenDocument>,
    ) -> Result<Vec<Replacement<'a>>, CommitError> {
        let mut replacements = Vec::new();
        for effect in effects {
            let (path, content, known, old, is_document) = match effect {
                Effect::Write { path, bytes } => {
                    let path = self.disk.resolve(path)?;
                    let old = match seen.get(&path).and_then(|seen| seen.content.as_ref()) {
                        Some(unread) if unread.is_unread => match unread.read_now(self.disk, &path) {
                            Some(read) => Some(Cow::Owned(read)),
                            None => return Err(CommitError::Raced { path }),
                        },
                        old => old.map(Cow::Borrowed),
                    };
                    (path, NewContent::whole(bytes), None, old, true)
                }
                Effect::Edit { path, edits, digest } => {
                    let path = self.disk.resolve(path)?;
                    let old = seen.get(&path).and_then(|seen| seen.content.as_ref());
                    // Edits are of what was read.
                    let content = old.filter(|old| !old.is_unread).and_then(|old| NewContent::edited(old, edits));
                    let Some(content) = content else { return Err(CommitError::Raced { path }) };
                    (path, content, digest.map(Hash::from), old.map(Cow::Borrowed), true)
                }
                Effect::Share { path, bytes, before } => {
                    let path = self.disk.resolve(path)?;
                    let old = self.shared(&path, before.as_deref())?.map(Cow::Owned);
                    (path, NewContent::whole(bytes), None, old, false)
                }
                Effect::Append { .. } | Effect::Keep { .. } | Effect::Remove { .. } => continue,
            };
            let aside = self.aside_of(&path, seq);
            debug_assert!(
                known.as_ref().is_none_or(|known| *known == content.hash()),
                "{path} holds what its digest says"
            );
            replacements.push(Replacement::new(path, aside, content, known, old, is_document));
        }
        Ok(replacements)
    }

    /// A shared file as it is now, which has to be as it was when its new content was made.
    fn shared(&self, path: &str, before: Option<&[u8]>) -> Result<Option<SeenContent>, CommitError> {
        match (self.disk.read(path), before) {
            (Ok(content), Some(before)) if content.bytes == before => {
                Ok(Some(SeenContent::new(content.bytes, content.stamp)))
            }
            (Err(crate::ReadError::Missing), None) => Ok(None),
            _ => Err(CommitError::Raced { path: path.to_owned() }),
        }
    }

    pub(crate) fn entry(
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
                Effect::Write { .. } | Effect::Edit { .. } => {
                    document_change(next.next().expect("one for each"), &mut documents)
                }
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
        let NewEntry { at, attempt, by, event, summary, data, carried: new } = new;
        let mut carried = self.last().map(|entry| entry.carried.clone()).unwrap_or_default();
        carried.extend(new);
        Ok(Entry { seq, at: at.to_string(), attempt, by, event, summary, data, carried, files, documents })
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

    /// Lines behind the last one: none yet, or the head where there is no journal.
    pub(crate) fn new_lines(&self) -> Lines {
        match self.end {
            0 => Lines::begin(&self.head()),
            _ => Lines { bytes: Vec::new(), last: self.last_sum.clone() },
        }
    }

    /// The lines of an event: snapshots of documents first, where one is due, then the event itself.
    pub(crate) fn lines(&self, entry: &mut Entry, replacements: &[Replacement<'_>]) -> Lines {
        let mut lines = self.new_lines();
        for each in replacements.iter().filter(|each| each.is_document) {
            let place = self.end + lines.bytes.len() as u64;
            let state = entry.documents.iter_mut().find(|state| state.path == each.path).expect("it was added");
            if state.splices == 0 {
                state.base = place;
                lines.add_snapshot(&each.path, &each.content.bytes());
            }
        }
        lines.add_event(entry);
        lines
    }
}

/// What is to be appended to a log already.
fn appended_to<'f>(files: &'f mut [FileChange], log: &str) -> Option<&'f mut String> {
    files.iter_mut().find_map(|change| match change {
        FileChange::Append { path, text, .. } if path == log => Some(text),
        _ => None,
    })
}

/// Lines that are written at once.
pub(crate) struct Lines {
    pub bytes: Vec<u8>,
    /// The checksum of the last one.
    pub last: Option<Hash>,
}

impl Lines {
    /// The first line of a journal.
    pub fn begin(head: &Head) -> Lines {
        let (bytes, sum) = seal_head(head);
        Lines { bytes, last: Some(sum) }
    }

    pub fn add_snapshot(&mut self, path: &str, bytes: &[u8]) {
        self.add(seal_snapshot(path, bytes, self.last.as_ref()));
    }

    pub fn add_event(&mut self, entry: &Entry) {
        self.add(seal_event(entry, self.last.as_ref()));
    }

    fn add(&mut self, (line, sum): (Vec<u8>, Hash)) {
        match self.bytes.is_empty() {
            true => self.bytes = line,
            false => self.bytes.extend_from_slice(&line),
        }
        self.last = Some(sum);
    }
}

/// How a document changes, and where it stands then. A snapshot is due when there is none, when too many splices
/// came since, or when they weigh more than the document: so neither the journal nor a rebuild grows beyond measure.
fn document_change(each: &Replacement<'_>, documents: &mut Vec<DocumentState>) -> FileChange {
    let after = each.hash().clone();
    let before = each.old.as_ref().map(|old| old.hash.clone());
    let known = documents.iter().position(|state| state.path == each.path);
    let place = known.unwrap_or_else(|| {
        documents.push(DocumentState::unknown(&each.path));
        documents.len() - 1
    });
    let state = &mut documents[place];
    let old = each.old.as_ref().filter(|old| state.hash.as_ref() == Some(&old.hash));
    let old = old.filter(|_| state.splices < MOST_SPLICES);
    let splice = counted(state, old.map(|old| each.content.splice_from(old)), each.content.length());
    state.was = before.clone();
    state.hash = Some(after.clone());
    let inode = each.old.as_ref().map(|old| old.stamp.inode);
    let (path, aside) = (each.path.clone(), Some(each.aside.clone()));
    FileChange::Write { path, aside, before, inode, after: Some(after), splice }
}

/// What leads from a document's known version to the next, counted in its state; nothing when a snapshot is due.
pub(crate) fn splice_of(state: &mut DocumentState, old: Option<&[u8]>, new: &[u8], most: u64) -> Option<Splice> {
    let old = old.filter(|_| state.splices < most);
    counted(state, old.map(|old| Splice::between(old, new)), new.len())
}

/// Counts a splice in its document's state; nothing when a snapshot of the document, which is now so long, is due.
fn counted(state: &mut DocumentState, splice: Option<Splice>, length: usize) -> Option<Splice> {
    let splice = splice.filter(|splice| {
        let weight = state.weight + splice.weight();
        weight < (2 * length as u64).max(16 * 1024)
    });
    (state.weight, state.splices) = match &splice {
        Some(splice) => (state.weight + splice.weight(), state.splices + 1),
        None => (0, 0),
    };
    splice
}

fn shared_change(each: &Replacement<'_>) -> FileChange {
    let before = each.old.as_ref();
    FileChange::Share {
        path: each.path.clone(),
        aside: each.aside.clone(),
        before: before.map(|old| old.hash.clone()),
        after: each.hash().clone(),
        splice: Splice::between(before.map_or(&[], |old| &old.bytes), &each.content.bytes()),
    }
}
