//! Whether `.piton` is ours. A journal decides what documents are made of, so one that came with a clone, a copy or
//! an archive is not believed: it is put aside, and a new one begins.

use std::time::Duration;

use crate::disk::{Access, Disk, DiskError, Identity, LockError, Open, Rename, make_directories};

/// The directory that holds everything Piton keeps for itself.
pub const HOME: &str = ".piton";

const SEAL: &str = ".piton/seal";
const IGNORE: &str = ".piton/.gitignore";

/// Locked while the directory is made. It cannot be inside: what stands there may be anything.
const MAKING: &str = ".piton-lock";

/// How long another first writer is waited for.
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
    let sealed = match disk.open(SEAL, Open::Existing) {
        Ok(seal) => seal.read_at(0, 256)?,
        Err(_) => Vec::new(),
    };
    let is_ours = identity.is_ours && sealed == seal_of(&identity).into_bytes();
    Ok(if is_ours { Home::Ours } else { Home::Foreign })
}

/// Makes sure that `.piton` is there and ours. Returns where a foreign one was put, when there was one.
///
/// Of several first writers one does this, and the others wait for it: a directory that is just being made has no seal
/// yet, and would be taken for a foreign one together with all that was recorded in it.
pub fn prepare(disk: &dyn Disk) -> Result<Option<String>, DiskError> {
    if inspect(disk)? == Home::Ours {
        return Ok(None);
    }
    let lock = disk.lock(MAKING, PATIENCE).map_err(|error| match error {
        LockError::Busy { .. } => {
            DiskError { doing: "lock", path: MAKING.to_owned(), error: std::io::ErrorKind::TimedOut.into() }
        }
        LockError::Disk(error) => error,
    })?;
    let made = make(disk);
    // Whoever waits for this file notices that it is gone, and makes its own.
    disk.remove(MAKING)?;
    drop(lock);
    made
}

fn make(disk: &dyn Disk) -> Result<Option<String>, DiskError> {
    let aside = match inspect(disk)? {
        Home::Ours => return Ok(None),
        Home::Missing => None,
        Home::Foreign => Some(put_aside(disk)?),
    };
    make_directories(disk, HOME, Access::Private)?;
    let identity = disk.identity(HOME)?.ok_or_else(|| missing(HOME))?;
    write_small(disk, IGNORE, "*\n")?;
    write_small(disk, SEAL, &seal_of(&identity))?;
    disk.sync_directory(HOME)?;
    let Some(aside) = aside else { return Ok(None) };
    make_directories(disk, ".piton/quarantine", Access::Private)?;
    let kept = (1..).map(|number| format!(".piton/quarantine/{number}"));
    for kept in kept {
        match disk.rename(&aside, &kept, Rename::New) {
            Ok(()) => return Ok(Some(kept)),
            Err(error) if error.is_taken() => {}
            Err(error) => return Err(error),
        }
    }
    unreachable!("there is always another number")
}

/// Takes a foreign directory out of the way, under a name that nobody has.
fn put_aside(disk: &dyn Disk) -> Result<String, DiskError> {
    for number in 1.. {
        let aside = format!(".piton-foreign-{number}");
        match disk.rename(HOME, &aside, Rename::New) {
            Ok(()) => return Ok(aside),
            Err(error) if error.is_taken() => {}
            Err(error) => return Err(error),
        }
    }
    unreachable!("there is always another number")
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
