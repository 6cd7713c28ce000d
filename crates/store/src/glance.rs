//! What can be told of a unit without its lock: its last event, and what its documents are to hold where a writer died, or
//! waits, between the journal and them. Nothing is changed.

use crate::ReadError;
use crate::disk::{Disk, DiskError, Handle, Open};
use crate::finish::{Exchange, event_before_last, exchanges, is_to_go, older_file, own_line, place_in_log};
use crate::journal::{Entry, FileChange, Hash, last_event};
use crate::seen::SeenDocument;
use crate::unit::{Note, aside_of, document_after};

/// A unit's journal at a glance.
#[derive(Debug)]
pub struct Glance {
    /// The last event.
    pub last: Entry,
    /// The files that are behind it.
    pub behind: Vec<Behind>,
}

/// A file that is behind a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Behind {
    /// The file.
    pub path: String,
    /// What it will hold when the last event is finished; nothing when it will be gone.
    pub bytes: Option<Vec<u8>>,
    /// When that was written down, in nanoseconds.
    pub written: i128,
}

impl Glance {
    /// Looks at the journal in a unit's directory; nothing when nothing is recorded there. `boot` is the disk's, which
    /// whoever looks at many units asks once.
    ///
    /// Which files are behind is decided as it is under the lock, by [`crate::LockedUnit::contact`]: somebody else's edit stands.
    /// A writer that is in the middle of an event may still take it back; what is behind it is what that event would make
    /// true.
    pub fn take(disk: &dyn Disk, directory: &str, boot: &str) -> Result<Option<Glance>, DiskError> {
        let journal = match disk.open(&format!("{directory}/journal"), Open::Existing) {
            Ok(journal) => journal,
            Err(error) if error.is_missing() => return Ok(None),
            Err(error) => return Err(error),
        };
        let note =
            disk.read(&format!("{directory}/lock")).map_or_else(|_| Note::default(), |it| Note::parse(&it.bytes));
        let is_same_boot = note.boot == boot;
        let Some(found) = last_event(&*journal, journal.size()?, is_same_boot)? else { return Ok(None) };
        let is_settled = note.settled == found.entry.seq;
        let mut glance = Glance { last: found.entry, behind: Vec::new() };
        if !(is_same_boot && is_settled) {
            let earlier = event_before_last(&*journal, found.end)?.map(|earlier| earlier.files).unwrap_or_default();
            let lost = if is_same_boot { &[][..] } else { &earlier };
            glance.behind =
                Unfinished { disk, directory, journal: &*journal, last: &glance.last, lost }.find(is_settled)?;
        }
        Ok(Some(glance))
    }
}

/// An event that may not be finished.
struct Unfinished<'e> {
    disk: &'e dyn Disk,
    directory: &'e str,
    journal: &'e dyn Handle,
    last: &'e Entry,
    /// What a restart of the machine may have taken back of the event before.
    lost: &'e [FileChange],
}

impl Unfinished<'_> {
    fn find(&self, is_settled: bool) -> Result<Vec<Behind>, DiskError> {
        let written = self.journal.stamp()?.modified;
        let mut behind = Vec::new();
        for exchange in exchanges(self.last, self.lost, is_settled) {
            if let Some(bytes) = self.new_content(&exchange)? {
                behind.push(Behind { path: exchange.path.to_owned(), bytes: Some(bytes), written });
            }
        }
        for change in self.last.files.iter().filter(|_| !is_settled) {
            match change {
                FileChange::Remove { path } if self.is_to_go(path)? => {
                    behind.push(Behind { path: path.clone(), bytes: None, written });
                }
                FileChange::Append { path, size, text } => {
                    let bytes = self.longer_log(path, *size, text);
                    behind.extend(bytes.map(|bytes| Behind { path: path.clone(), bytes: Some(bytes), written }));
                }
                // A copy tells nothing that its document does not.
                FileChange::Keep { .. }
                | FileChange::Remove { .. }
                | FileChange::Write { .. }
                | FileChange::Share { .. } => {}
            }
        }
        Ok(behind)
    }

    /// What a file will hold, when that is not there yet and can be made.
    fn new_content(&self, exchange: &Exchange<'_>) -> Result<Option<Vec<u8>>, DiskError> {
        let path = exchange.path;
        // After each restart of the machine this is asked about every unit, and most files need not be read for it.
        if !exchange.may_be_undone(self.disk.stamp(path)?) {
            return Ok(None);
        }
        // One that cannot be read is not what stood there before.
        let Ok(SeenDocument { content }) = SeenDocument::read(self.disk, path) else { return Ok(None) };
        if !exchange.is_undone(content.as_ref()) {
            return Ok(None);
        }
        let bytes = match exchange.splice {
            Some(splice) => splice.apply(&content.map(|content| content.bytes).unwrap_or_default()),
            None => document_after(self.journal, self.last, path)?,
        };
        Ok(bytes.filter(|bytes| Hash::of(bytes) == *exchange.after))
    }

    /// A log with the line that was to be added, when that is not there yet.
    fn longer_log(&self, path: &str, size: u64, text: &str) -> Option<Vec<u8>> {
        let mut log = match self.disk.read(path) {
            Ok(content) => content.bytes,
            Err(ReadError::Missing) => Vec::new(),
            Err(_) => return None,
        };
        let start = log.len().min(usize::try_from(size).ok()?);
        let found = &log[start..log.len().min(start + text.len())];
        let at = place_in_log(log.len() as u64, size, found, text)?;
        log.truncate(usize::try_from(at).ok()?);
        let line = own_line(&log, text);
        log.extend_from_slice(line.as_bytes());
        Some(log)
    }

    /// Whether a document that the last event removes is still there.
    fn is_to_go(&self, path: &str) -> Result<bool, DiskError> {
        let is_document = self.last.document(path).is_some();
        if !is_document || self.disk.stamp(&aside_of(self.directory, path, self.last.seq))?.is_some() {
            return Ok(false);
        }
        let found = SeenDocument::read(self.disk, path).ok().and_then(|seen| seen.content);
        Ok(found.is_some_and(|found| is_to_go(self.last, path, older_file(self.lost, path), &found)))
    }
}
