//! For a process that stays: an event is acknowledged when its line is durable, and the document is written once for
//! several of them. Until then the file holds an older version; whoever comes after a crash rolls it forward, as
//! after any other.

use std::collections::BTreeMap;

use piton_model::Effect;

use crate::commit::{CommitError, NewEntry, sync_rest};
use crate::contact::ContactError;
use crate::journal::{Entry, FileChange};
use crate::seen::{SeenContent, SeenDocument};
use crate::unit::LockedUnit;

impl LockedUnit<'_> {
    /// Records an event like [`LockedUnit::commit`], and leaves the documents as they are for now. `seen` is brought to
    /// what they will hold.
    ///
    /// An event that does more than write documents that are there is committed at once.
    pub fn commit_deferred(
        &mut self,
        new: NewEntry,
        effects: &[Effect],
        seen: &mut BTreeMap<String, SeenDocument>,
    ) -> Result<u64, CommitError> {
        if !self.can_defer(effects, seen) {
            if !self.on_disk.is_empty() {
                self.flush(seen)?;
                // What was seen has changed places meanwhile.
                return Err(CommitError::Raced { path: self.key.document.clone() });
            }
            return self.commit(new, effects, seen);
        }
        let is_first = self.on_disk.is_empty();
        if is_first {
            self.bring_up()?;
            // Each line is synced before the next; where the last one ends is not noted.
            self.note.durable = u64::MAX;
            self.write_note()?;
        }
        let seq = self.seq() + 1;
        let replacements = self.replacements(seq, effects, seen)?;
        let mut entry = self.entry(seq, new, effects, &replacements, seen)?;
        self.name_what_is_on_disk(&mut entry, seen);
        let lines = self.lines(&mut entry, &replacements);
        // The names that the event before left unsynced: a line may only count on what is durable.
        let earlier = if is_first { self.unsynced_directories() } else { Vec::new() };
        let (disk, end) = (self.disk, self.end);
        let line = self.journal()?.write_at(end, &lines.bytes).and_then(|()| self.sync_journal());
        let written = line.and_then(|()| sync_rest(disk, &[], &earlier));
        if let Err(error) = written {
            let is_undone = self.cut_journal().is_ok();
            self.is_stale = !is_undone;
            let error = CommitError::Disk(error);
            return Err(if is_undone { error } else { CommitError::Unfinished { seq, error: Box::new(error) } });
        }
        self.end += lines.bytes.len() as u64;
        self.last_sum = lines.last;
        self.tail = Some(entry);
        let written: Vec<_> = replacements
            .into_iter()
            .map(|each| (each.hash().clone(), each.path, each.content.bytes().into_owned()))
            .collect();
        for (hash, path, bytes) in written {
            let Some(old) = seen.get_mut(&path).and_then(|seen| seen.content.as_mut()) else { continue };
            let new = SeenContent::known(bytes, hash, old.stamp);
            let old = std::mem::replace(old, new);
            self.on_disk.entry(path).or_insert(old);
        }
        Ok(seq)
    }

    /// Writes the documents that are behind; `seen` holds what they are to be. Somebody else's edit of one is left as it
    /// is, and seen at the next contact.
    pub fn flush(&mut self, seen: &BTreeMap<String, SeenDocument>) -> Result<(), ContactError> {
        let behind = std::mem::take(&mut self.on_disk);
        if behind.is_empty() || self.write_behind(&behind, seen).is_ok() {
            return Ok(());
        }
        // The last line says all that is to be done, as it would after a crash.
        let brought = self.bring_up().map(|_| ());
        // Which documents have changed places is not known then: whoever goes on looks again.
        self.is_stale |= brought.is_err();
        brought
    }

    /// Whether documents are behind their journal.
    pub fn is_behind(&self) -> bool {
        !self.on_disk.is_empty()
    }

    /// Whether whoever rolls forward needs nothing but the last line: it writes documents that are there, and all that
    /// are behind.
    fn can_defer(&self, effects: &[Effect], seen: &BTreeMap<String, SeenDocument>) -> bool {
        let is_known = |path: &str, content: &SeenContent| {
            !content.is_unread
                && self
                    .last()
                    .and_then(|entry| entry.document(path))
                    .is_some_and(|state| state.hash.as_ref() == Some(&content.hash))
        };
        let is_plain = |effect: &Effect| match effect {
            Effect::Write { path, .. } | Effect::Edit { path, .. } => {
                seen.get(path).and_then(|seen| seen.content.as_ref()).is_some_and(|content| is_known(path, content))
            }
            Effect::Share { .. } | Effect::Append { .. } | Effect::Keep { .. } | Effect::Remove { .. } => false,
        };
        let is_written = |path: &String| effects.iter().any(|effect| effect.path() == path);
        !self.is_stale && !effects.is_empty() && effects.iter().all(is_plain) && self.on_disk.keys().all(is_written)
    }

    /// Says in an event which version each of its documents really has on the disk: that is what a crash leaves.
    fn name_what_is_on_disk(&self, entry: &mut Entry, seen: &BTreeMap<String, SeenDocument>) {
        for change in &mut entry.files {
            let FileChange::Write { path, before, inode, .. } = change else { continue };
            let on_disk = self.on_disk.get(path).or_else(|| seen.get(path).and_then(|seen| seen.content.as_ref()));
            let Some(on_disk) = on_disk else { continue };
            *before = Some(on_disk.hash.clone());
            *inode = Some(on_disk.stamp.inode);
            if let Some(state) = entry.documents.iter_mut().find(|state| state.path == *path) {
                state.was = Some(on_disk.hash.clone());
            }
        }
    }
}
