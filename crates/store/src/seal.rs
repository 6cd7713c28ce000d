//! Whether `.piton` is ours. A journal decides what documents are made of, so one that came with a clone, a copy or
//! an archive is not believed: it is put aside, and a new one begins.

use std::time::Duration;

use crate::disk::{Access, Disk, DiskError, Identity, LockError, Open, Rename, make_directories};

/// The directory that holds everything Piton keeps for itself.
pub const HOME: &str = ".piton";

const SEAL: &str = ".piton/seal";
const IGNORE: &str = ".piton/.gitignore";
const UNITS: &str = ".piton/units";
const QUARANTINE: &str = ".piton/quarantine";

/// How a foreign directory is called until it is in quarantine.
pub const ASIDE: &str = ".piton-foreign-";

/// Locked while a foreign directory is put aside. It cannot be inside of it: what stands there may be anything.
const MAKING: &str = ".piton-lock";

/// How long another process is waited for that does the same.
const PATIENCE: Duration = Duration::from_secs(10);

/// What stands where our directory should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Home {
    /// Nothing.
    Missing,
    /// Our own directory.
    Ours,
    /// Somebody else's, or a copy of ours.
    Foreign,
}

/// Looks at `.piton` without changing it.
pub fn inspect(disk: &dyn Disk) -> Result<Home, DiskError> {
    let Some(identity) = disk.identity(HOME)? else {
        return Ok(if disk.stamp(HOME)?.is_some() { Home::Foreign } else { Home::Missing });
    };
    // Read-only: a sandboxed worker may write journals, and not what says whose they are.
    let sealed = disk.read(SEAL).ok().map(|seal| seal.bytes);
    Ok(match sealed {
        Some(sealed) if identity.is_ours && sealed == seal_of(&identity).into_bytes() => Home::Ours,
        // Somebody died while making it: there is nothing in it yet that could be believed.
        None if identity.is_ours && disk.stamp(UNITS)?.is_none() && disk.stamp(SEAL)?.is_none() => Home::Missing,
        _ => Home::Foreign,
    })
}

/// Makes sure that `.piton` is there and ours. Returns where a foreign one was put, when there was one.
///
/// Two processes may do this at once: each step may be done already.
pub fn prepare(disk: &dyn Disk) -> Result<Option<String>, DiskError> {
    match inspect(disk)? {
        Home::Ours => return Ok(None),
        Home::Missing => {}
        Home::Foreign => {
            // Of several that see it one puts it aside; the others would take the new one for it.
            let lock = disk.lock(MAKING, PATIENCE).map_err(|error| match error {
                LockError::Busy { .. } => {
                    DiskError { doing: "lock", path: MAKING.to_owned(), error: std::io::ErrorKind::TimedOut.into() }
                }
                LockError::Disk(error) => error,
            })?;
            if inspect(disk)? == Home::Foreign {
                put_aside(disk)?;
            }
            let made = make(disk);
            // Whoever waits for this file notices that it is gone, and makes its own.
            disk.remove(MAKING)?;
            drop(lock);
            return made;
        }
    }
    make(disk)
}

fn make(disk: &dyn Disk) -> Result<Option<String>, DiskError> {
    make_directories(disk, HOME, Access::Private)?;
    let identity = disk.identity(HOME)?.ok_or_else(|| missing(HOME))?;
    write_small(disk, IGNORE, "*\n")?;
    // The seal is durable before it has its name: one that could be lost would make strangers of our own journals.
    let unsealed = format!("{SEAL}-{}", std::process::id());
    write_small(disk, &unsealed, &seal_of(&identity))?;
    match disk.rename(&unsealed, SEAL, Rename::Replace) {
        Err(error) if !error.is_missing() => return Err(error),
        _ => {}
    }
    disk.sync_directory(HOME)?;
    disk.sync_directory("")?;
    quarantine(disk)
}

/// Moves what was taken out of the way, now or by somebody who died then, to where git does not see it. Returns where
/// the last one is.
fn quarantine(disk: &dyn Disk) -> Result<Option<String>, DiskError> {
    let mut last = None;
    for aside in disk.list("").into_iter().filter(|name| name.starts_with(ASIDE)) {
        make_directories(disk, QUARANTINE, Access::Private)?;
        for number in 1.. {
            let kept = format!("{QUARANTINE}/{number}");
            match disk.rename(&aside, &kept, Rename::New) {
                Ok(()) => last = Some(kept),
                Err(error) if error.is_taken() => continue,
                // Another process has moved it.
                Err(error) if error.is_missing() => {}
                Err(error) => return Err(error),
            }
            break;
        }
    }
    Ok(last)
}

/// Takes a foreign directory out of the way, under a name that nobody has.
fn put_aside(disk: &dyn Disk) -> Result<(), DiskError> {
    for number in 1.. {
        match disk.rename(HOME, &format!("{ASIDE}{number}"), Rename::New) {
            Err(error) if error.is_taken() => {}
            Err(error) if error.is_missing() => break,
            renamed => return renamed,
        }
    }
    Ok(())
}

fn seal_of(identity: &Identity) -> String {
    format!("{} {} {}\n", identity.inode, identity.born, identity.owner)
}

fn write_small(disk: &dyn Disk, path: &str, text: &str) -> Result<(), DiskError> {
    let file = disk.open(path, Open::Create(Access::Private))?;
    file.write_at(0, text.as_bytes())?;
    file.truncate(text.len() as u64)?;
    file.sync()
}

fn missing(path: &str) -> DiskError {
    DiskError { doing: "find", path: path.to_owned(), error: std::io::ErrorKind::NotFound.into() }
}
