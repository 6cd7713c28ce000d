//! Locks that other programs take by making a file. Whoever makes it has it; nothing else tells whether they live.

use std::time::{Duration, Instant};

use crate::ReadError;
use crate::disk::{Access, Disk, DiskError, Open, Rename, Stamp, make_directories};
use crate::journal::Hash;
use crate::replace::SHARED;

/// How often a lock that somebody has is looked at.
const PAUSE: Duration = Duration::from_millis(50);

/// How long a lock that says nothing must have been left alone before it is taken for one that nobody finished.
const TORN: Duration = Duration::from_secs(1);

/// A file that says who is at work. It is there as long as this value, if nobody else takes it away.
pub struct LockFile<'d> {
    disk: &'d dyn Disk,
    path: String,
    text: String,
}

impl std::fmt::Debug for LockFile<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LockFile").field("path", &self.path).finish_non_exhaustive()
    }
}

/// What the text of a lock tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockState {
    /// Somebody has it.
    Held,
    /// Whoever had it is gone, or it is over.
    Over,
    /// Nothing; it may be about to be written.
    Torn,
}

/// How a lock file was asked for.
#[derive(Debug)]
pub enum Asked<'d> {
    /// It was made.
    Taken(LockFile<'d>),
    /// Somebody has it, and this is what it says.
    Held(Vec<u8>),
}

impl<'d> LockFile<'d> {
    /// Makes the file, whole, unless it is there. One that is over is cleared away; for one that is held this waits. `judge`
    /// is told how long it has been waited.
    ///
    /// Only one process of ours may ask for a file at a time: whoever holds [`crate::lock_shared`] of what it protects.
    pub fn take(
        disk: &'d dyn Disk,
        path: &str,
        text: &str,
        wait: Duration,
        judge: &dyn Fn(&[u8], Duration) -> LockState,
    ) -> Result<Asked<'d>, DiskError> {
        let begun = Instant::now();
        let mut torn: Option<(Stamp, Instant)> = None;
        loop {
            if make(disk, path, text)? {
                return Ok(Asked::Taken(LockFile { disk, path: path.to_owned(), text: text.to_owned() }));
            }
            let found = match disk.read(path) {
                Ok(found) => found,
                Err(ReadError::Missing) => continue,
                // Something else than a file is in the way, and nobody releases that.
                Err(error) => return Ok(Asked::Held(error.to_string().into_bytes())),
            };
            let is_over = match judge(&found.bytes, begun.elapsed()) {
                LockState::Over => true,
                LockState::Held => false,
                LockState::Torn => {
                    let (stamp, since) = *torn.get_or_insert((found.stamp, Instant::now()));
                    if stamp != found.stamp {
                        torn = None;
                    }
                    stamp == found.stamp && since.elapsed() >= TORN
                }
            };
            if is_over {
                clear(disk, path, found.stamp)?;
            } else if begun.elapsed() >= wait {
                return Ok(Asked::Held(found.bytes));
            } else {
                std::thread::sleep(PAUSE);
            }
        }
    }
}

impl Drop for LockFile<'_> {
    fn drop(&mut self) {
        // Who took it away, because it was over, has one of their own there. Should this fail, it will be over some day.
        if self.disk.read(&self.path).is_ok_and(|found| found.bytes == self.text.as_bytes()) {
            let _ = self.disk.remove(&self.path);
        }
    }
}

/// Makes a lock file with its text in one step, since others take an empty one for torn. Whether it was made.
fn make(disk: &dyn Disk, path: &str, text: &str) -> Result<bool, DiskError> {
    let aside = aside_of(disk, path, "new")?;
    let file = disk.open(&aside, Open::New { like: path })?;
    file.write_at(0, text.as_bytes())?;
    drop(file);
    match disk.rename(&aside, path, Rename::New) {
        Ok(()) => return Ok(true),
        Err(error) if error.is_taken() => {}
        Err(error) if is_elsewhere(&error) => {
            disk.remove(&aside)?;
            return match disk.open(path, Open::New { like: path }) {
                Ok(file) => file.write_at(0, text.as_bytes()).map(|()| true),
                Err(error) if error.is_taken() => Ok(false),
                Err(error) => Err(error),
            };
        }
        Err(error) => {
            let _ = disk.remove(&aside);
            return Err(error);
        }
    }
    disk.remove(&aside)?;
    Ok(false)
}

/// Whether the lock is on another file system than our own files.
fn is_elsewhere(error: &DiskError) -> bool {
    error.error.kind() == std::io::ErrorKind::CrossesDevices
}

/// Clears a lock away that was judged to be over. If somebody has made another one in the meantime, that goes back.
fn clear(disk: &dyn Disk, path: &str, judged: Stamp) -> Result<(), DiskError> {
    let aside = aside_of(disk, path, "over")?;
    match disk.rename(path, &aside, Rename::New) {
        Ok(()) => {}
        // Somebody else has done it.
        Err(error) if error.is_missing() => return Ok(()),
        Err(error) if is_elsewhere(&error) => return disk.remove(path),
        Err(error) => return Err(error),
    }
    if disk.stamp(&aside)? == Some(judged) {
        return disk.remove(&aside);
    }
    match disk.rename(&aside, path, Rename::New) {
        Err(error) if error.is_taken() => disk.remove(&aside),
        renamed => renamed,
    }
}

/// A name among our own files, where nobody takes it for a lock. What a process left there that died is removed.
fn aside_of(disk: &dyn Disk, path: &str, what: &str) -> Result<String, DiskError> {
    make_directories(disk, SHARED, Access::Private)?;
    let aside = format!("{SHARED}/{}.{what}", &Hash::of(path.as_bytes()).as_str()[..16]);
    if disk.stamp(&aside)?.is_some() {
        disk.remove(&aside)?;
    }
    Ok(aside)
}

#[cfg(test)]
mod tests;
