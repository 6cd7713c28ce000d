//! The journal of one unit, locked. What needs the lock is a method here.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};

use crate::commit::sync_if_there;
use crate::disk::{
    Access, Disk, DiskError, Handle, Imprint, LockError, Open, Stamp, directory_of, make_directories, name_of,
};
use crate::journal::{Entry, Hash, Head, last_event, rebuild_known, seal_head};
use crate::seen::SeenContent;
use crate::stray::Stray;

/// How long a note is at least.
const NOTE: usize = 512;

/// From this size on, work on several documents is worth a second thread, and so is freeing one.
pub(crate) const LARGE: u64 = 1024 * 1024;

/// Which unit a journal belongs to, and so where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The dialect's word.
    pub dialect: String,
    /// The directory that holds the dialect's files; empty for the root.
    pub base: String,
    /// The unit's id, its parts between slashes.
    pub id: String,
    /// The same, with all its spellings made one: what tells it from other units.
    pub folded_id: String,
    /// The unit's main document.
    pub document: String,
}

impl Key {
    /// The directory that holds one for each dialect.
    pub const DIRECTORY: &str = ".piton/units";

    /// The directory of everything that is kept about the unit.
    pub fn directory(&self) -> String {
        let place = if self.base.is_empty() {
            "root".to_owned()
        } else {
            Hash::of(self.base.as_bytes()).as_str()[..16].to_owned()
        };
        format!("{}/{place}", Key::directory_of_namesakes(&self.dialect, &self.folded_id))
    }

    /// The directory that holds one directory for each unit of that id.
    pub fn directory_of_namesakes(dialect: &str, folded_id: &str) -> String {
        format!("{}/{dialect}/{}", Key::DIRECTORY, folded_id.replace('/', "+"))
    }

    /// Its journal.
    pub fn journal(&self) -> String {
        format!("{}/journal", self.directory())
    }

    fn name(&self) -> String {
        match self.base.as_str() {
            "" => format!("{}:{}", self.dialect, self.id),
            base => format!("{}:{base}/{}", self.dialect, self.id),
        }
    }
}

/// A unit that nobody else can write while this value lives.
pub struct LockedUnit<'d> {
    pub(crate) disk: &'d dyn Disk,
    pub(crate) key: Key,
    pub(crate) lock: Box<dyn Handle>,
    pub(crate) journal: Option<Box<dyn Handle>>,
    /// The last event.
    pub(crate) tail: Option<Entry>,
    /// Where the next line of the journal goes.
    pub(crate) end: u64,
    /// The checksum of the last line, whatever it is.
    pub(crate) last_sum: Option<Hash>,
    /// Where the journal ended before events that are written and not synced; nothing when all are.
    pub(crate) durable: Option<Durable>,
    pub(crate) note: Note,
    /// What others are told who wait in vain.
    holder: String,
    pub(crate) boot: String,
    /// Whether the journal may end elsewhere than is thought: something failed and could not be taken back.
    pub(crate) is_stale: bool,
    /// Documents that are behind the journal, as they are on the disk.
    pub(crate) on_disk: BTreeMap<String, SeenContent>,
    /// What others wrote to documents while they were replaced, until the journal has it.
    pub(crate) strays: Vec<Stray>,
    /// What was cut from the journal's end, when something was.
    pub(crate) cut: Option<String>,
    /// A document whose writer said that it is saved, until the next contact.
    pub(crate) saved: Option<String>,
    /// A document that is hardly ever looked at, until the next contact.
    pub(crate) seldom: Option<String>,
}

/// Where a journal ends as far as it is durable.
#[derive(Debug)]
pub(crate) struct Durable {
    pub tail: Option<Entry>,
    pub end: u64,
    pub last_sum: Option<Hash>,
}

/// What the holder of the lock leaves in it. It is not synced: after a power cut it counts for nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Note {
    /// The event whose effects are all done.
    pub settled: u64,
    /// The start of the machine in which they were.
    pub boot: String,
    /// What documents were replaced last, as they were kept: whoever had one open may still write to it.
    pub replaced: BTreeMap<String, Stamp>,
    /// Whether there are strays that the journal does not have yet.
    pub has_strays: bool,
    /// Where the part of the journal ends that is synced.
    pub durable: u64,
    /// Large documents that we wrote, as we left them.
    pub left: BTreeMap<String, Left>,
}

/// A document as we left it: as long as it shows no change, it need not be hashed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Left {
    pub imprint: Imprint,
    pub hash: Hash,
}

impl std::fmt::Debug for LockedUnit<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LockedUnit").field("key", &self.key).field("end", &self.end).finish_non_exhaustive()
    }
}

impl<'d> LockedUnit<'d> {
    /// Locks the unit, and reads the end of its journal. A torn end is cut, and what was cut is kept.
    ///
    /// `holder` is what others are told who wait in vain.
    pub fn lock(disk: &'d dyn Disk, key: Key, wait: Duration, holder: &str) -> Result<LockedUnit<'d>, LockError> {
        let directory = key.directory();
        make_directories(disk, &directory, Access::Private)?;
        let lock = disk.lock(&format!("{directory}/lock"), wait)?;
        let note = Note::read(&*lock)?;
        let journal = match disk.open(&key.journal(), Open::Existing) {
            Ok(journal) => Some(journal),
            Err(error) if error.is_missing() => None,
            Err(error) => return Err(error.into()),
        };
        let boot = disk.boot();
        let mut unit = LockedUnit {
            disk,
            key,
            lock,
            journal,
            tail: None,
            end: 0,
            last_sum: None,
            durable: None,
            note,
            holder: holder.to_owned(),
            boot,
            is_stale: false,
            on_disk: BTreeMap::new(),
            strays: Vec::new(),
            cut: None,
            saved: None,
            seldom: None,
        };
        unit.find_tail()?;
        unit.write_note()?;
        unit.write_unsynced()?;
        Ok(unit)
    }

    /// The last event; nothing when there is none.
    pub fn last(&self) -> Option<&Entry> {
        self.tail.as_ref()
    }

    /// The number of the last event.
    pub fn seq(&self) -> u64 {
        self.last().map_or(0, |entry| entry.seq)
    }

    /// The unit's attempt; zero when none has begun.
    pub fn attempt(&self) -> u64 {
        self.last().map_or(0, |entry| entry.attempt)
    }

    /// Where a torn end of the journal was put, when it had one.
    pub fn cut(&self) -> Option<&str> {
        self.cut.as_deref()
    }

    /// Takes the word of whoever wrote a document last that it is saved: the next contact does not wait to see whether
    /// more of it comes. One that is empty is waited for all the same.
    pub fn is_saved(&mut self, path: &str) -> Result<(), DiskError> {
        self.saved = Some(self.disk.resolve(path)?);
        Ok(())
    }

    /// Lets the next contact leave a large document unread that nobody has written since we did: whoever looks at it reads
    /// it then.
    pub fn is_seldom_read(&mut self, path: &str) -> Result<(), DiskError> {
        if !self.note.left.is_empty() {
            self.seldom = Some(self.disk.resolve(path)?);
        }
        Ok(())
    }

    /// A document as the journal has it after the last event.
    pub fn current(&self, path: &str) -> Result<Option<Vec<u8>>, DiskError> {
        match (&self.journal, self.last()) {
            (Some(journal), Some(last)) => document_after(&**journal, last, path),
            _ => Ok(None),
        }
    }

    /// Where the new content of a file is written first.
    pub(crate) fn aside_of(&self, path: &str, seq: u64) -> String {
        aside_of(&self.key.directory(), path, seq)
    }

    /// What stands before the number in such a name.
    pub(crate) fn aside_mark(&self) -> String {
        aside_mark(&self.key.directory())
    }

    pub(crate) fn settle(&mut self) -> Result<(), DiskError> {
        self.note.settled = self.seq();
        self.note.boot = self.boot.clone();
        self.note.durable = self.durable.as_ref().map_or(self.end, |durable| durable.end);
        self.write_note()
    }

    /// Leaves word in the lock. Who held it last is of no interest to whoever gets it.
    pub(crate) fn write_note(&self) -> Result<(), DiskError> {
        self.lock.write_at(0, self.note.text(&self.holder).as_bytes())
    }

    /// Opens the journal. Before its first line is written all names that lead to it are made durable, whoever gave
    /// them: somebody who died may have left them as they are.
    pub(crate) fn journal(&mut self) -> Result<&dyn Handle, DiskError> {
        if self.journal.is_none() {
            self.journal = Some(self.disk.open(&self.key.journal(), Open::Create(Access::Private))?);
        }
        if self.end == 0 {
            sync_names_to(self.disk, &[&self.key.directory()])?;
        }
        Ok(&**self.journal.as_ref().expect("it was opened"))
    }

    /// Makes events durable that are written and not synced. When the journal may end elsewhere than is thought, whoever
    /// comes next looks.
    pub(crate) fn make_durable(&mut self) -> Result<(), DiskError> {
        if self.durable.is_none() || self.is_stale {
            return Ok(());
        }
        self.sync_journal().inspect_err(|_| self.is_stale = self.cut_journal().is_err())?;
        self.settle()
    }

    /// Syncs the journal. Should it fail, what was not durable before counts as not written, and is to be cut.
    pub(crate) fn sync_journal(&mut self) -> Result<(), DiskError> {
        let synced = self.journal()?.sync();
        if let (Err(_), Some(Durable { tail, end, last_sum })) = (&synced, self.durable.take()) {
            (self.tail, self.end, self.last_sum) = (tail, end, last_sum);
            // All that it did was done before others were looked at.
            self.note.settled = self.seq();
        }
        synced
    }

    /// Cuts what was written behind the last event, durably. The handle is a new one: after a sync that failed the old
    /// one is not to be asked again.
    pub(crate) fn cut_journal(&mut self) -> Result<(), DiskError> {
        match self.disk.open(&self.key.journal(), Open::Existing) {
            Ok(journal) => {
                if journal.size()? > self.end {
                    journal.truncate(self.end)?;
                    journal.sync()?;
                    self.durable = None;
                }
                self.journal = Some(journal);
            }
            Err(error) if error.is_missing() => self.journal = None,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Looks again where the journal ends, when that is not sure.
    pub(crate) fn refresh(&mut self) -> Result<(), DiskError> {
        if !self.is_stale {
            return Ok(());
        }
        self.journal = match self.disk.open(&self.key.journal(), Open::Existing) {
            Ok(journal) => Some(journal),
            Err(error) if error.is_missing() => None,
            Err(error) => return Err(error),
        };
        (self.tail, self.end, self.last_sum, self.durable) = (None, 0, None, None);
        self.find_tail()?;
        self.is_stale = false;
        Ok(())
    }

    /// The first line of a journal.
    pub(crate) fn head(&self) -> Head {
        let Key { base, id, document, .. } = self.key.clone();
        Head { unit: self.key.name(), base, id, document, after: 0 }
    }

    /// Writes once more what nobody has synced: after a sync that failed, the system may hold it in memory and never try
    /// to put it on the disk again.
    fn write_unsynced(&self) -> Result<(), DiskError> {
        let (Some(journal), from) = (&self.journal, self.note.durable) else { return Ok(()) };
        if self.note.boot != self.boot || from >= self.end {
            return Ok(());
        }
        let bytes = journal.read_at(from, usize::try_from(self.end - from).unwrap_or(usize::MAX))?;
        journal.write_at(from, &bytes)
    }

    /// Finds the last event. What stands behind it was never acknowledged: it is cut, and kept aside.
    fn find_tail(&mut self) -> Result<(), DiskError> {
        let Some(journal) = &self.journal else { return Ok(()) };
        let size = journal.size()?;
        let found = last_event(&**journal, size, self.note.boot == self.boot)?;
        let end = found.as_ref().map_or(0, |found| found.end);
        if end < size {
            let torn = journal.read_at(end, usize::try_from(size - end).unwrap_or(usize::MAX))?;
            // A head alone is no loss.
            if !(end == 0 && seal_head(&self.head()).0.starts_with(&torn)) {
                self.cut = Some(keep_aside(self.disk, &self.key.directory(), "torn", &torn)?);
            }
            journal.truncate(end)?;
        }
        self.end = end;
        self.last_sum = found.as_ref().map(|found| found.sum.clone());
        self.tail = found.map(|found| found.entry);
        Ok(())
    }
}

impl Drop for LockedUnit<'_> {
    /// Whoever saw what others did and then did nothing has promised nothing. Should this fail, they will be seen again.
    fn drop(&mut self) {
        let _ = self.make_durable();
    }
}

/// Where the new content of a file is written first: beside it, so that the two can change places. The unit, whose
/// directory is named, is a part of the name, because several may write a file that they share.
pub(crate) fn aside_of(directory: &str, path: &str, seq: u64) -> String {
    let name = format!(".{}{}{seq}", name_of(path), aside_mark(directory));
    match directory_of(path) {
        "" => name,
        above => format!("{above}/{name}"),
    }
}

fn aside_mark(directory: &str) -> String {
    format!(".piton-{}-", &Hash::of(directory.as_bytes()).as_str()[..8])
}

/// A document as a journal has it after an event, which is the last one.
pub(crate) fn document_after(journal: &dyn Handle, entry: &Entry, path: &str) -> Result<Option<Vec<u8>>, DiskError> {
    match entry.document(path) {
        Some(state) if state.hash.is_some() => rebuild_known(journal, state, entry.seq),
        _ => Ok(None),
    }
}

impl Note {
    fn read(lock: &dyn Handle) -> Result<Note, DiskError> {
        Ok(Note::parse(&lock.read_at(0, 64 * 1024)?))
    }

    /// A note that cannot be read says nothing.
    pub(crate) fn parse(bytes: &[u8]) -> Note {
        // A shorter note leaves the end of a longer one behind it for an instant.
        let bytes = bytes.split(|byte| *byte == b'\n').next().filter(|bytes| !bytes.is_empty());
        let parsed = bytes.and_then(|bytes| serde_json::from_slice::<Value>(bytes).ok());
        parsed.as_ref().and_then(Note::from_json).unwrap_or_default()
    }

    fn from_json(value: &Value) -> Option<Note> {
        let replaced = value.get("replaced")?.as_object()?.iter().map(|(path, stamp)| {
            let [inode, size, modified] = stamp.as_array()?.as_slice() else { return None };
            let modified = modified.as_str()?.parse().ok()?;
            Some((path.clone(), Stamp { inode: inode.as_u64()?, size: size.as_u64()?, modified }))
        });
        let left = value.get("left").and_then(Value::as_object).into_iter().flatten();
        Some(Note {
            settled: value.get("settled")?.as_u64()?,
            boot: value.get("boot")?.as_str()?.to_owned(),
            replaced: replaced.collect::<Option<_>>()?,
            has_strays: value.get("strays").is_some(),
            durable: value.get("durable").and_then(Value::as_u64).unwrap_or(u64::MAX),
            left: left.filter_map(|(path, left)| Some((path.clone(), Left::from_json(left)?))).collect(),
        })
    }

    fn text(&self, holder: &str) -> String {
        let stamp = |stamp: &Stamp| json!([stamp.inode, stamp.size, stamp.modified.to_string()]);
        let replaced: Value = self.replaced.iter().map(|(path, each)| (path.clone(), stamp(each))).collect();
        let mut note = json!({
            "holder": holder,
            "settled": self.settled,
            "boot": self.boot,
            "replaced": replaced,
            "durable": self.durable,
        });
        if self.has_strays {
            note["strays"] = json!(true);
        }
        if !self.left.is_empty() {
            note["left"] = self.left.iter().map(|(path, left)| (path.clone(), left.to_json())).collect();
        }
        // Nothing of a longer note is to stay behind a shorter one, and cutting costs more than blanks do.
        format!("{:1$}\n", note.to_string(), NOTE - 1)
    }
}

impl Left {
    fn to_json(&self) -> Value {
        let Imprint { stamp, changed } = self.imprint;
        json!([stamp.inode, stamp.size, stamp.modified.to_string(), changed.to_string(), self.hash.as_str()])
    }

    fn from_json(value: &Value) -> Option<Left> {
        let [inode, size, modified, changed, hash] = value.as_array()?.as_slice() else { return None };
        let time = |time: &Value| time.as_str()?.parse::<i128>().ok();
        let stamp = Stamp { inode: inode.as_u64()?, size: size.as_u64()?, modified: time(modified)? };
        let imprint = Imprint { stamp, changed: time(changed)? };
        Some(Left { imprint, hash: Hash::parse(hash.as_str()?)? })
    }
}

/// Who holds a lock, from what was written into it.
pub fn holder_of(note: &str) -> Option<String> {
    let value: Value = serde_json::from_str(note.lines().next()?).ok()?;
    value.get("holder")?.as_str().filter(|holder| !holder.is_empty()).map(str::to_owned)
}

/// Makes the names durable that lead from the root into directories, and those in them: outer ones first, each once.
pub(crate) fn sync_names_to(disk: &dyn Disk, directories: &[&str]) -> Result<(), DiskError> {
    let mut all = BTreeSet::new();
    for &directory in directories {
        let mut directory = directory;
        while all.insert(directory) && !directory.is_empty() {
            directory = directory_of(directory);
        }
    }
    // A directory comes before what is in it in this order.
    all.into_iter().try_for_each(|directory| sync_if_there(disk, directory))
}

/// Keeps bytes that have no other place any more.
pub(crate) fn keep_aside(disk: &dyn Disk, directory: &str, why: &str, bytes: &[u8]) -> Result<String, DiskError> {
    for number in 1.. {
        let path = format!("{directory}/{why}-{number}");
        match disk.open(&path, Open::New { like: "" }) {
            Ok(file) => {
                file.write_at(0, bytes)?;
                file.sync()?;
                disk.sync_directory(directory)?;
                return Ok(path);
            }
            Err(error) if error.is_taken() => {}
            Err(error) => return Err(error),
        }
    }
    unreachable!("there is always another number")
}
