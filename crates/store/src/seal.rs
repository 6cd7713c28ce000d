//! Whether `.piton` is ours. A journal decides what documents are made of, so one that came with a clone, a copy or
//! an archive is not believed: it is put aside, and a new one begins.

use crate::disk::{Access, Disk, DiskError, Identity, Open, Rename, make_directories};

/// The directory that holds everything Piton keeps for itself.
pub const HOME: &str = ".piton";

const SEAL: &str = ".piton/seal";
const IGNORE: &str = ".piton/.gitignore";
const UNITS: &str = ".piton/units";
const QUARANTINE: &str = ".piton/quarantine";

/// How a foreign directory is called until it is in quarantine.
const ASIDE: &str = ".piton-foreign-";

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
        Ok(seal) => Some(seal.read_at(0, 256)?),
        Err(_) => None,
    };
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
        Home::Foreign => put_aside(disk)?,
    }
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
