//! What the last event began and did not finish: the process died, or the power failed.

use crate::commit::hold_log;
use crate::contact::ContactError;
use crate::disk::{Access, DiskError, Open, Rename, directory_of, make_directories};
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
struct Exchange<'e> {
    path: &'e str,
    aside: &'e str,
    before: Option<&'e Hash>,
    /// Which file it was.
    inode: Option<u64>,
    after: &'e Hash,
    /// How the new content is made, where the journal has no version of the file.
    splice: Option<&'e Splice>,
}

/// A file that a document was before an event.
struct OlderFile<'e> {
    before: Option<&'e Hash>,
    inode: Option<u64>,
}

impl OlderFile<'_> {
    fn is(&self, found: &SeenContent) -> bool {
        self.before == Some(&found.hash) && self.inode == Some(found.stamp.inode)
    }
}

/// Which file a document was before an event that replaced it.
fn older_file<'e>(changes: &'e [FileChange], path: &str) -> Option<OlderFile<'e>> {
    changes.iter().filter(|change| change.path() == path).find_map(|change| {
        let exchange = Exchange::of_document(change)?;
        Some(OlderFile { before: exchange.before, inode: exchange.inode })
    })
}

impl<'e> Exchange<'e> {
    /// What was to be exchanged when an event of ours wrote a document.
    fn of_document(change: &'e FileChange) -> Option<Exchange<'e>> {
        let FileChange::Write { path, aside: Some(aside), before, inode, after: Some(after), .. } = change else {
            return None;
        };
        Some(Exchange { path, aside, before: before.as_ref(), inode: *inode, after, splice: None })
    }

    /// Whether this is what stood there before. Somebody who brought the old text back has made another file of it, or
    /// written into ours.
    fn is_old(&self, found: &SeenContent) -> bool {
        self.before == Some(&found.hash) && self.inode.is_none_or(|inode| inode == found.stamp.inode)
    }
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
            self.finish_exchanges(&entry, lost, is_settled)?;
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
        let Some(journal) = &self.journal else { return Ok(None) };
        let Some(last) = last_event(&**journal, self.end, true)? else { return Ok(None) };
        let before = last_event(&**journal, last.start, true)?.map(|found| found.entry);
        Ok(before.filter(|before| before.seq + 1 == last.entry.seq))
    }

    fn finish_exchanges(
        &mut self,
        entry: &Entry,
        earlier: &[FileChange],
        is_settled: bool,
    ) -> Result<(), ContactError> {
        for change in earlier.iter().filter(|change| entry.files.iter().all(|last| last.path() != change.path())) {
            if let Some(exchange) = Exchange::of_document(change)
                && exchange.before.is_some()
            {
                self.finish_exchange(&exchange, true)?;
            }
        }
        for change in &entry.files {
            match change {
                FileChange::Write { path, aside: Some(_), after: Some(_), .. } => {
                    let mut exchange = Exchange::of_document(change).expect("it has both");
                    if let Some(older) = older_file(earlier, path)
                        && self.read_document(path)?.content.is_some_and(|found| older.is(&found))
                    {
                        (exchange.before, exchange.inode) = (older.before, older.inode);
                    }
                    let is_due = !is_settled || exchange.before.is_some();
                    self.finish_exchange(&exchange, is_due)?;
                }
                FileChange::Share { path, aside, before, after, splice } => {
                    let before = before.as_ref();
                    let exchange = Exchange { path, aside, before, inode: None, after, splice: Some(splice) };
                    self.finish_exchange(&exchange, !is_settled)?;
                }
                // Somebody else did this one.
                FileChange::Write { .. }
                | FileChange::Append { .. }
                | FileChange::Keep { .. }
                | FileChange::Remove { .. } => {}
            }
        }
        Ok(())
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

    fn finish_exchange(&mut self, exchange: &Exchange<'_>, is_due: bool) -> Result<(), ContactError> {
        let Exchange { path, aside, before, after, .. } = *exchange;
        let found = self.read_document(path)?.content;
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
        } else if is_due && found.as_ref().map_or(before.is_none(), |found| exchange.is_old(found)) {
            self.exchange_again(exchange, left.as_ref())?;
        }
        // Anything else in its place came from somebody else after the crash, and is observed.
        self.tidy(exchange)
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
        let now = log.size()?;
        let found = log.read_at(size, text.len())?;
        if found != text.as_bytes() {
            // Our own line, torn, is completed; what did not arrive of it is zero. Behind somebody else's line ours
            // comes last.
            let is_torn = now >= size
                && now - size <= text.len() as u64
                && found.iter().zip(text.as_bytes()).all(|(found, own)| found == own || *found == 0);
            let at = if is_torn { size } else { now };
            let is_open = at > 0 && log.read_at(at - 1, 1)? != b"\n" && !text.starts_with('\n');
            let text = if is_open { format!("\n{text}") } else { text.to_owned() };
            log.write_at(at, text.as_bytes())?;
        }
        Ok(log.sync()?)
    }

    fn finish_remove(&mut self, entry: &Entry, path: &str, older: Option<OlderFile<'_>>) -> Result<(), ContactError> {
        let aside = self.aside_of(path, entry.seq);
        let is_document = entry.document(path).is_some();
        let was = entry.document(path).and_then(|state| state.was.clone());
        // A document that somebody has written since is not the one that was to go.
        let is_due = |found: &SeenContent| {
            !is_document || Some(&found.hash) == was.as_ref() || older.as_ref().is_some_and(|older| older.is(found))
        };
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
