//! What a commit does to files, each with what takes it back.

use std::io;
use std::time::Duration;

use super::ahead::Ahead;
use super::{CommitError, Replacement, SeenContent};
use crate::disk::{Access, Disk, DiskError, Handle, LockError, Open, Rename, directory_of, make_directories};
use crate::journal::Hash;
use crate::stray::Stray;
use crate::unit::{LARGE, sync_names_to};

/// A document is compared byte by byte up to this size; beyond it the stamp of its file has to do.
const COMPARED: u64 = 256 * 1024;

/// How long is waited for a log. Whoever holds it does so for one sync.
const LOG_WAIT: Duration = Duration::from_secs(5);

/// The files aside, in order.
pub(super) struct Asides {
    pub files: Vec<Box<dyn Handle>>,
    /// Places of those that were not written ahead.
    pub written_now: Vec<usize>,
}

/// Writes new contents aside, two large ones at once. What was written ahead only gets its name.
pub(super) fn write_aside(
    disk: &dyn Disk,
    replacements: &[Replacement<'_>],
    ahead: Vec<Ahead>,
    undo: &mut Undo<'_>,
) -> Result<Asides, DiskError> {
    let mut files: Vec<Box<dyn Handle>> = Vec::with_capacity(replacements.len());
    let mut written_now = Vec::with_capacity(replacements.len());
    let mut ahead = ahead.into_iter().peekable();
    for (place, each) in replacements.iter().enumerate() {
        let ahead = ahead.next_if(|ahead| ahead.place == place);
        let file = match ahead.and_then(|ahead| ahead.put_aside(each, undo)) {
            Some(file) => file,
            None => {
                written_now.push(place);
                open_aside(disk, each, undo)?
            }
        };
        files.push(file);
    }
    let write = |place: &usize| replacements[*place].write_to(&*files[*place]);
    match &written_now[..] {
        [first, others @ ..] if written_now.iter().filter(|place| replacements[**place].is_large()).count() > 1 => {
            // All of them end before what they did is taken back.
            let (others, first) = piton_cores::both(|| others.iter().try_for_each(write), || write(first));
            first.and(others)?;
        }
        all => all.iter().try_for_each(write)?,
    }
    Ok(Asides { files, written_now })
}

fn open_aside(disk: &dyn Disk, each: &Replacement<'_>, undo: &mut Undo<'_>) -> Result<Box<dyn Handle>, DiskError> {
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
    Ok(handle)
}

impl Replacement<'_> {
    pub(super) fn is_large(&self) -> bool {
        self.content.length() as u64 >= LARGE
    }

    pub(super) fn write_to(&self, file: &dyn Handle) -> Result<(), DiskError> {
        self.content.write_to(file)?;
        if self.is_document && self.is_large() {
            let _ = self.written.set(file.stamp()?);
        }
        Ok(())
    }
}

/// Syncs what was written aside, and names: those that the event before left to this one, and those of copies. It comes
/// behind the journal: a file system that has made that one durable has nearly always made everything durable with it
/// that was written before, so that this is hardly waited for.
pub(crate) fn sync_rest(disk: &dyn Disk, handles: &[Box<dyn Handle>], directories: &[String]) -> Result<(), DiskError> {
    directories.iter().try_for_each(|directory| sync_if_there(disk, directory))?;
    handles.iter().try_for_each(|handle| handle.sync())
}

/// Makes the names of a directory durable, unless somebody took the directory away.
pub(crate) fn sync_if_there(disk: &dyn Disk, directory: &str) -> Result<(), DiskError> {
    match disk.sync_directory(directory) {
        Err(error) if error.is_missing() => Ok(()),
        synced => synced,
    }
}

pub(super) fn keep(disk: &dyn Disk, from: &str, to: &str, undo: &mut Undo<'_>) -> Result<(), CommitError> {
    make_directories(disk, directory_of(to), Access::Shared)?;
    match disk.link(from, to) {
        Ok(()) => undo.links.push(to.to_owned()),
        Err(error) if error.is_taken() => return Err(CommitError::Taken { path: to.to_owned() }),
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

pub(super) fn append(
    disk: &dyn Disk,
    path: &str,
    size: u64,
    text: &str,
    undo: &mut Undo<'_>,
) -> Result<(), CommitError> {
    make_directories(disk, directory_of(path), Access::Shared)?;
    let is_new = disk.stamp(path)?.is_none();
    let log = disk.open(path, Open::Create(Access::Shared))?;
    let _held = hold_log(disk, path)?;
    if log.size()? != size {
        return Err(CommitError::Raced { path: path.to_owned() });
    }
    undo.logs.push(Appended { path: path.to_owned(), is_new, size, added: text.len() as u64 });
    log.write_at(size, text.as_bytes())?;
    log.sync()?;
    if is_new {
        // All names that lead to it: somebody who failed may have made a directory and not have come to its sync.
        sync_names_to(disk, &[directory_of(path)])?;
    }
    Ok(())
}

/// Keeps other units from a log that several of them may write: two that find the same end would write over each other.
pub(crate) fn hold_log(disk: &dyn Disk, path: &str) -> Result<Box<dyn Handle>, DiskError> {
    disk.lock(path, LOG_WAIT).map_err(|error| match error {
        LockError::Busy { .. } => {
            let error = io::Error::new(io::ErrorKind::ResourceBusy, "somebody else keeps it locked");
            DiskError { doing: "write", path: path.to_owned(), error }
        }
        LockError::Disk(error) => error,
    })
}

/// Puts a file in its place, and looks at what came out.
pub(super) fn exchange(disk: &dyn Disk, each: &Replacement<'_>, undo: &mut Undo<'_>) -> Result<(), CommitError> {
    let raced = || CommitError::Raced { path: each.path.clone() };
    let put = Placed { aside: each.aside.clone(), path: each.path.clone(), hash: each.hash().clone() };
    let Some(old) = &each.old else {
        return match disk.rename(&each.aside, &each.path, Rename::New) {
            Ok(()) => {
                undo.asides.retain(|aside| *aside != each.aside);
                undo.made.push(put);
                Ok(())
            }
            Err(error) if error.is_taken() => Err(raced()),
            Err(error) => Err(error.into()),
        };
    };
    match disk.rename(&each.aside, &each.path, Rename::Exchange) {
        Ok(()) => {
            undo.asides.retain(|aside| *aside != each.aside);
            undo.exchanged.push(put);
        }
        Err(error) if error.is_missing() => return Err(raced()),
        Err(error) => return Err(error.into()),
    }
    if is_same(disk, &each.aside, old)? {
        return Ok(());
    }
    // It goes back to its place. Whoever read what stood there for an instant may save over it before anybody else looks,
    // and whoever saved it may not be done yet. So the file itself is kept here as well.
    undo.strays.push(Stray::link(disk, &undo.directory, &each.path, &each.aside)?);
    Err(raced())
}

/// Takes a file out of its place, and looks at what it was.
pub(super) fn take_away(
    disk: &dyn Disk,
    path: &str,
    aside: &str,
    seen: Option<&SeenContent>,
    undo: &mut Undo<'_>,
) -> Result<(), CommitError> {
    match disk.rename(path, aside, Rename::New) {
        Ok(()) => undo.taken.push((aside.to_owned(), path.to_owned())),
        Err(error) if error.is_missing() && seen.is_none() => return Ok(()),
        Err(error) if error.is_missing() => return Err(CommitError::Raced { path: path.to_owned() }),
        Err(error) => return Err(error.into()),
    }
    match seen {
        Some(seen) if !is_same(disk, aside, seen)? => Err(CommitError::Raced { path: path.to_owned() }),
        _ => Ok(()),
    }
}

/// Whether a file is the one that was read, as it was read.
fn is_same(disk: &dyn Disk, path: &str, seen: &SeenContent) -> Result<bool, DiskError> {
    Ok(match disk.stamp(path)? {
        Some(stamp) if stamp != seen.stamp => false,
        Some(stamp) if stamp.size > COMPARED => true,
        Some(_) => disk.read(path).is_ok_and(|content| content.bytes == seen.bytes),
        None => false,
    })
}

/// A file that was put somewhere, and the digest of what was put.
struct Placed {
    aside: String,
    path: String,
    hash: Hash,
}

/// A line that was added to a log.
struct Appended {
    path: String,
    is_new: bool,
    size: u64,
    added: u64,
}

/// What has been done and would have to be taken back.
pub(super) struct Undo<'d> {
    disk: &'d dyn Disk,
    /// Where bytes go that have no other place.
    directory: String,
    pub(super) asides: Vec<String>,
    /// Documents that changed places with what was aside.
    exchanged: Vec<Placed>,
    /// Documents that were not there before.
    made: Vec<Placed>,
    links: Vec<String>,
    logs: Vec<Appended>,
    /// Where files are that were taken out of their place, and that place.
    pub(super) taken: Vec<(String, String)>,
    /// What others wrote in between.
    pub(super) strays: Vec<Stray>,
}

impl<'d> Undo<'d> {
    pub(super) fn new(disk: &'d dyn Disk, directory: String) -> Undo<'d> {
        Undo {
            disk,
            directory,
            asides: Vec::new(),
            exchanged: Vec::new(),
            made: Vec::new(),
            links: Vec::new(),
            logs: Vec::new(),
            taken: Vec::new(),
            strays: Vec::new(),
        }
    }

    /// Takes everything back, durably. Returns whether all of it could be: this runs because something failed.
    pub(super) fn everything(&mut self) -> bool {
        let mut done = true;
        for (aside, path) in self.taken.iter().rev() {
            done &= self.disk.rename(aside, path, Rename::New).is_ok();
        }
        for placed in self.exchanged.iter().rev() {
            match self.exchange_back(placed) {
                Ok(stray) => self.strays.extend(stray),
                Err(_) => done = false,
            }
        }
        for placed in &self.made {
            done &= self.unmake(placed).is_ok();
        }
        for path in self.asides.iter().chain(&self.links) {
            done &= self.disk.remove(path).is_ok();
        }
        for log in &self.logs {
            done &= self.shorten(log).is_ok_and(|is_shorter| is_shorter);
        }
        done && self.sync_names().is_ok()
    }

    /// What stood there for an instant is not removed: somebody may have opened it, and write to it yet.
    fn exchange_back(&self, placed: &Placed) -> Result<Option<Stray>, DiskError> {
        let Placed { aside, path, hash } = placed;
        match self.disk.rename(aside, path, Rename::Exchange) {
            // Somebody removed what stood there for an instant.
            Err(error) if error.is_missing() => {
                return self.disk.rename(aside, path, Rename::New).map(|()| None);
            }
            exchanged => exchanged?,
        }
        Stray::take(self.disk, &self.directory, path, aside, Some(hash.clone())).map(Some)
    }

    fn unmake(&self, placed: &Placed) -> Result<(), DiskError> {
        let Placed { aside, path, hash } = placed;
        match self.disk.rename(path, aside, Rename::New) {
            Err(error) if error.is_missing() => return Ok(()),
            renamed => renamed?,
        }
        match self.disk.read(aside) {
            Ok(content) if Hash::of(&content.bytes) == *hash => self.disk.remove(aside),
            // Somebody has written it since; now it is theirs.
            _ => self.disk.rename(aside, path, Rename::New),
        }
    }

    /// Takes our line from the end of a log; not when others have written behind it.
    fn shorten(&self, log: &Appended) -> Result<bool, DiskError> {
        let handle = self.disk.open(&log.path, Open::Existing)?;
        let _held = hold_log(self.disk, &log.path)?;
        if handle.size()? > log.size + log.added {
            return Ok(false);
        }
        if log.is_new {
            self.disk.remove(&log.path)?;
        } else {
            handle.truncate(log.size)?;
            handle.sync()?;
        }
        Ok(true)
    }

    fn sync_names(&self) -> Result<(), DiskError> {
        let placed = self.exchanged.iter().chain(&self.made).map(|placed| &placed.path);
        let logs = self.logs.iter().filter(|log| log.is_new).map(|log| &log.path);
        let others = self.asides.iter().chain(&self.links).chain(self.taken.iter().map(|(_, path)| path));
        let mut directories: Vec<&str> = placed.chain(logs).chain(others).map(|path| directory_of(path)).collect();
        directories.sort_unstable();
        directories.dedup();
        directories.into_iter().try_for_each(|directory| sync_if_there(self.disk, directory))
    }
}
