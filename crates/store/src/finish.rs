//! What the last event began and did not finish: the process died, or the power failed.

use std::borrow::Cow;

use crate::commit::hold_log;
use crate::contact::ContactError;
use crate::disk::{Access, DiskError, Handle, Open, Rename, Stamp, directory_of, make_directories};
use crate::journal::{Entry, FileChange, Hash, Splice, last_event, rebuild};
use crate::seen::SeenContent;
use crate::stray::Stray;
use crate::unit::{LockedUnit, keep_aside, sync_names_to};

/// How the unit was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// All effects of the last event are known to be done.
    Settled,
    /// Somebody died in the middle; the machine did not.
    AfterKill,
    /// The machine was started since.
    AfterRestart,
    /// Nobody noted how: either of the two.
    Unknown,
}

/// A file that was to change places with its new content.
#[derive(Clone, Copy)]
pub(crate) struct Exchange<'e> {
    pub path: &'e str,
    aside: &'e str,
    before: Option<&'e Hash>,
    /// Which file it was.
    inode: Option<u64>,
    /// Which file it was before the event before, if that may be undone too.
    older: Option<OlderFile<'e>>,
    pub after: &'e Hash,
    /// How the new content is made, where the journal has no version of the file.
    pub splice: Option<&'e Splice>,
    /// Whether everything but the name was durable before somebody died.
    is_settled: bool,
}

/// A file that a document was before an event.
#[derive(Clone, Copy)]
pub(crate) struct OlderFile<'e> {
    before: Option<&'e Hash>,
    inode: Option<u64>,
}

impl OlderFile<'_> {
    fn is(&self, found: &SeenContent) -> bool {
        self.before == Some(&found.hash) && self.inode == Some(found.stamp.inode)
    }
}

/// Which file a document was before an event that replaced it.
pub(crate) fn older_file<'e>(changes: &'e [FileChange], path: &str) -> Option<OlderFile<'e>> {
    changes.iter().filter(|change| change.path() == path).find_map(|change| {
        let exchange = Exchange::of_document(change, true)?;
        Some(OlderFile { before: exchange.before, inode: exchange.inode })
    })
}

/// What was to change places and may not have: what a restart of the machine took back of the event before, `lost`, and
/// what the last event did.
pub(crate) fn exchanges<'e>(entry: &'e Entry, lost: &'e [FileChange], is_settled: bool) -> Vec<Exchange<'e>> {
    let is_written_again = |change: &FileChange| entry.files.iter().any(|last| last.path() == change.path());
    let mut found: Vec<_> = lost
        .iter()
        .filter(|change| !is_written_again(change))
        .filter_map(|change| Exchange::of_document(change, true).filter(|exchange| exchange.before.is_some()))
        .collect();
    found.extend(entry.files.iter().filter_map(|change| match change {
        FileChange::Write { path, .. } => {
            let exchange = Exchange::of_document(change, is_settled)?;
            Some(Exchange { older: older_file(lost, path), ..exchange })
        }
        FileChange::Share { path, aside, before, after, splice } => {
            let (before, splice) = (before.as_ref(), Some(splice));
            Some(Exchange { path, aside, before, inode: None, older: None, after, splice, is_settled })
        }
        FileChange::Append { .. } | FileChange::Keep { .. } | FileChange::Remove { .. } => None,
    }));
    found
}

/// Where the text belongs that an event added to a log of `size` bytes. The log has `now` of them, and holds `found` in
/// its place. Nothing when it is there.
pub(crate) fn place_in_log(now: u64, size: u64, found: &[u8], text: &str) -> Option<u64> {
    if found == text.as_bytes() {
        return None;
    }
    // Our own line, torn, is completed; what did not arrive of it is zero. Behind somebody else's line ours comes last.
    let is_torn = now >= size
        && now - size <= text.len() as u64
        && found.iter().zip(text.as_bytes()).all(|(found, own)| found == own || *found == 0);
    Some(if is_torn { size } else { now })
}

/// The text that is added behind the end of a log, of which at least the last byte is given: on a line of its own.
pub(crate) fn own_line<'t>(before: &[u8], text: &'t str) -> Cow<'t, str> {
    let is_open = before.last().is_some_and(|byte| *byte != b'\n') && !text.starts_with('\n');
    if is_open { Cow::Owned(format!("\n{text}")) } else { Cow::Borrowed(text) }
}

/// Whether a file that an event removes is the one that was to go. A document that somebody has written since is not.
pub(crate) fn is_to_go(entry: &Entry, path: &str, older: Option<OlderFile<'_>>, found: &SeenContent) -> bool {
    match entry.document(path) {
        Some(state) => state.was.as_ref() == Some(&found.hash) || older.is_some_and(|older| older.is(found)),
        None => true,
    }
}

impl<'e> Exchange<'e> {
    /// What was to be exchanged when an event of ours wrote a document; nothing when somebody else did.
    fn of_document(change: &'e FileChange, is_settled: bool) -> Option<Exchange<'e>> {
        let FileChange::Write { path, aside: Some(aside), before, inode, after: Some(after), .. } = change else {
            return None;
        };
        let (before, inode) = (before.as_ref(), *inode);
        Some(Exchange { path, aside, before, inode, older: None, after, splice: None, is_settled })
    }

    /// The same, from what is found in the place: where that is the file from before the event before, both are undone.
    fn from(self, found: Option<&SeenContent>) -> Exchange<'e> {
        match (self.older, found) {
            (Some(older), Some(found)) if older.is(found) => {
                Exchange { before: older.before, inode: older.inode, ..self }
            }
            _ => self,
        }
    }

    /// Whether that is worth a look, from which file is in the place.
    pub(crate) fn may_be_undone(&self, found: Option<Stamp>) -> bool {
        let is = |inode: Option<u64>| found.is_some_and(|found| inode.is_none_or(|inode| inode == found.inode));
        match found {
            Some(_) => is(self.inode) || self.older.is_some_and(|older| is(older.inode)),
            None => self.before.is_none(),
        }
    }

    /// Whether the new content still has to come into its place, in which this was found. Anything else than what stood
    /// there before came from somebody else after the crash, and stays.
    pub(crate) fn is_undone(&self, found: Option<&SeenContent>) -> bool {
        let exchange = self.from(found);
        // A document that was made is durable under its name before its event is settled, and so is a shared file.
        let is_due = !exchange.is_settled || (exchange.splice.is_none() && exchange.before.is_some());
        let is_old = match found {
            Some(found) => found.hash != *exchange.after && exchange.is_old(found),
            None => exchange.before.is_none(),
        };
        is_due && is_old
    }

    /// Whether this is what stood there before. Somebody who brought the old text back has made another file of it, or
    /// written into ours.
    fn is_old(&self, found: &SeenContent) -> bool {
        self.before == Some(&found.hash) && self.inode.is_none_or(|inode| inode == found.stamp.inode)
    }
}

/// The event before the last one, when its line is there. `end` is where the last line ends.
pub(crate) fn event_before_last(journal: &dyn Handle, end: u64) -> Result<Option<Entry>, DiskError> {
    let Some(last) = last_event(journal, end, true)? else { return Ok(None) };
    let before = last_event(journal, last.start, true)?.map(|found| found.entry);
    Ok(before.filter(|before| before.seq + 1 == last.entry.seq))
}

impl LockedUnit<'_> {
    /// Brings the documents to where the journal says they are.
    ///
    /// After a restart of the machine it may be that the documents of the last event have not changed places, because
    /// that is not synced before the answer. Nor those of the event before, when the last one was not acknowledged: it
    /// syncs the names of the one before at the same time as its own line. Everything else that an event did was durable
    /// before it was settled. So a restart is no reason to do that again: since then others may have worked on with
    /// what they found.
    pub(crate) fn bring_up(&mut self) -> Result<Rest, ContactError> {
        self.refresh()?;
        let is_same_boot = self.note.boot == self.boot;
        let is_noted = !self.note.boot.is_empty();
        let is_settled = self.note.settled == self.seq();
        if is_same_boot && is_settled {
            return Ok(Rest::Settled);
        }
        if !is_same_boot {
            // Whoever had a replaced document open is gone with the machine.
            self.note.replaced.clear();
            self.note.left.clear();
        }
        if let Some(entry) = self.tail.clone() {
            let earlier = self.event_before_last()?.map(|earlier| earlier.files).unwrap_or_default();
            let lost = if is_same_boot { &[][..] } else { &earlier };
            if !is_settled {
                self.finish_removes(&entry, lost)?;
            }
            for exchange in exchanges(&entry, lost, is_settled) {
                self.finish_exchange(exchange)?;
            }
            if !is_settled {
                self.finish_others(&entry, &earlier)?;
            }
            self.settle()?;
        }
        Ok(match () {
            () if is_same_boot => Rest::AfterKill,
            () if is_noted => Rest::AfterRestart,
            () => Rest::Unknown,
        })
    }

    /// Removes what lies beside documents and belongs to no event: its line was lost with the power.
    pub(crate) fn sweep(&self, documents: &[String]) -> Result<(), DiskError> {
        let earlier = self.event_before_last()?.map(|earlier| earlier.files).unwrap_or_default();
        let files = self.last().map_or(&[][..], |entry| &entry.files).iter().chain(&earlier).map(FileChange::path);
        let paths = documents.iter().map(String::as_str).chain(files);
        // Files that units share mostly lie above their documents, and a line that was lost does not name them.
        let above =
            |path| std::iter::successors(Some(directory_of(path)), |at| (!at.is_empty()).then(|| directory_of(at)));
        let mut directories: Vec<&str> = paths.flat_map(above).chain([""]).collect();
        directories.sort_unstable();
        directories.dedup();
        let mark = self.aside_mark();
        for directory in directories {
            for name in self.disk.list(directory).iter().filter(|name| name.starts_with('.') && name.contains(&mark)) {
                let path = if directory.is_empty() { name.clone() } else { format!("{directory}/{name}") };
                self.disk.remove(&path)?;
            }
        }
        Ok(())
    }

    fn event_before_last(&self) -> Result<Option<Entry>, DiskError> {
        match &self.journal {
            Some(journal) => event_before_last(&**journal, self.end),
            None => Ok(None),
        }
    }

    fn finish_removes(&mut self, entry: &Entry, earlier: &[FileChange]) -> Result<(), ContactError> {
        if let Some(journal) = &self.journal {
            // Whoever died may not have come to that, and what is done now must not be more durable than its line.
            journal.sync()?;
        }
        for change in &entry.files {
            if let FileChange::Remove { path } = change {
                self.finish_remove(entry, path, older_file(earlier, path))?;
            }
        }
        Ok(())
    }

    fn finish_others(&mut self, entry: &Entry, earlier: &[FileChange]) -> Result<(), ContactError> {
        for change in &entry.files {
            match change {
                FileChange::Keep { from, to } => self.finish_keep(entry, from, to)?,
                FileChange::Append { path, size, text } => self.finish_append(path, *size, text)?,
                FileChange::Write { .. } | FileChange::Share { .. } | FileChange::Remove { .. } => {}
            }
        }
        // Whoever died may have done it all and not have come to the syncs.
        for change in entry.files.iter().chain(earlier) {
            sync_names_to(self.disk, &[directory_of(change.path())])?;
        }
        Ok(())
    }

    fn finish_exchange(&mut self, exchange: Exchange<'_>) -> Result<(), ContactError> {
        let found = self.read_document(exchange.path)?.content;
        let exchange = exchange.from(found.as_ref());
        let Exchange { path, aside, before, after, .. } = exchange;
        let left = self.hash_of(aside)?;
        let hash = found.as_ref().map(|found| &found.hash);
        if hash == Some(after) {
            // It is done. What came out of its place, if it is still there, is what was there: unless somebody wrote
            // it in the last instant, and then their version goes back.
            // Where nothing changed, it cannot be told whether they have changed places: what is aside may be ours, torn.
            let is_foreign = left.is_some() && left.as_ref() != before && left.as_ref() != Some(after);
            if is_foreign && before != Some(after) {
                self.disk.rename(aside, path, Rename::Exchange)?;
            }
        } else if exchange.is_undone(found.as_ref()) {
            self.exchange_again(&exchange, left.as_ref())?;
        }
        self.tidy(&exchange)
    }

    fn exchange_again(&self, exchange: &Exchange<'_>, left: Option<&Hash>) -> Result<(), ContactError> {
        let Exchange { path, aside, before, after, splice, .. } = *exchange;
        if left == Some(after) {
            self.disk.open(aside, Open::Existing)?.sync()?;
        } else {
            let bytes = match splice {
                Some(splice) => splice.apply(&self.disk.read(path).map(|content| content.bytes).unwrap_or_default()),
                None => self.current(path)?,
            };
            let Some(bytes) = bytes.filter(|bytes| Hash::of(bytes) == *after) else { return Ok(()) };
            self.write_again(path, aside, &bytes, left.is_some())?;
        }
        let how = if before.is_some() { Rename::Exchange } else { Rename::New };
        match self.disk.rename(aside, path, how) {
            // Somebody made or removed the document just now.
            Err(error) if error.is_taken() || error.is_missing() => return Ok(()),
            renamed => renamed?,
        }
        if before.is_some() && self.hash_of(aside)?.as_ref() != before {
            // Somebody wrote it just now.
            self.disk.rename(aside, path, Rename::Exchange)?;
        }
        Ok(self.disk.sync_directory(directory_of(path))?)
    }

    /// Clears away what is left aside. Nothing goes that is not kept elsewhere.
    fn tidy(&mut self, exchange: &Exchange<'_>) -> Result<(), ContactError> {
        let Exchange { path, aside, before, after, splice, .. } = *exchange;
        let Some(left) = self.read_document(aside)?.content else { return Ok(()) };
        if Some(&left.hash) == before && splice.is_none() {
            return Ok(self.retire_document(path, aside, Some(left.stamp))?);
        }
        if Some(&left.hash) != before && left.hash != *after && !left.bytes.is_empty() {
            if self.note.boot == self.boot {
                let own = self.key.directory();
                self.strays.push(Stray::take(self.disk, &own, path, aside, None)?);
                return Ok(());
            }
            keep_aside(self.disk, &self.key.directory(), "torn", &left.bytes)?;
        }
        Ok(self.disk.remove(aside)?)
    }

    fn write_again(&self, path: &str, aside: &str, bytes: &[u8], is_there: bool) -> Result<(), DiskError> {
        make_directories(self.disk, directory_of(path), Access::Shared)?;
        // What waits to be freed may be the room that this takes.
        let _ = self.disk.remove(&self.gone_path(path));
        if is_there {
            self.disk.remove(aside)?;
        }
        let file = self.disk.open(aside, Open::New { like: path })?;
        file.write_at(0, bytes)?;
        file.sync()
    }

    fn finish_keep(&self, entry: &Entry, from: &str, to: &str) -> Result<(), ContactError> {
        if self.disk.stamp(to)?.is_some() {
            return Ok(());
        }
        let bytes = match (&self.journal, entry.document(from)) {
            (Some(journal), Some(_)) => rebuild(&**journal, 0, from, entry.seq - 1)?,
            _ => None,
        };
        let Some(bytes) = bytes else { return Ok(()) };
        let aside = self.aside_of(to, entry.seq);
        self.write_again(to, &aside, &bytes, self.disk.stamp(&aside)?.is_some())?;
        match self.disk.rename(&aside, to, Rename::New) {
            Err(error) if error.is_taken() => Ok(self.disk.remove(&aside)?),
            renamed => Ok(renamed?),
        }
    }

    fn finish_append(&self, path: &str, size: u64, text: &str) -> Result<(), ContactError> {
        make_directories(self.disk, directory_of(path), Access::Shared)?;
        let log = self.disk.open(path, Open::Create(Access::Shared))?;
        let _held = hold_log(self.disk, path)?;
        let found = log.read_at(size, text.len())?;
        if let Some(at) = place_in_log(log.size()?, size, &found, text) {
            let before = if at > 0 { log.read_at(at - 1, 1)? } else { Vec::new() };
            log.write_at(at, own_line(&before, text).as_bytes())?;
        }
        Ok(log.sync()?)
    }

    fn finish_remove(&mut self, entry: &Entry, path: &str, older: Option<OlderFile<'_>>) -> Result<(), ContactError> {
        let aside = self.aside_of(path, entry.seq);
        let is_document = entry.document(path).is_some();
        let is_due = |found: &SeenContent| is_to_go(entry, path, older, found);
        if self.disk.stamp(&aside)?.is_none() && self.read_document(path)?.content.is_some_and(|found| is_due(&found)) {
            self.disk.rename(path, &aside, Rename::New)?;
        }
        let Some(taken) = self.read_document(&aside)?.content else { return Ok(()) };
        if !is_due(&taken) {
            match self.disk.rename(&aside, path, Rename::New) {
                Err(error) if error.is_taken() => {
                    let own = self.key.directory();
                    self.strays.push(Stray::take(self.disk, &own, path, &aside, None)?);
                    return Ok(());
                }
                renamed => return Ok(renamed?),
            }
        }
        match is_document {
            true => Ok(self.retire_document(path, &aside, Some(taken.stamp))?),
            false => Ok(self.disk.remove(&aside)?),
        }
    }

    fn hash_of(&self, path: &str) -> Result<Option<Hash>, ContactError> {
        Ok(self.read_document(path)?.content.map(|content| content.hash))
    }
}
