//! Tries what everything else relies on: locks, syncs, and files that change places in one step.

use std::time::{Duration, Instant};

use piton_store::disk::{Access, Disk, DiskError, LockError, Open, Rename, directory_of};
use piton_store::seal;

use super::Checkup;
use crate::Workspace;

/// A sync that takes longer is felt at each record.
const SLOW: Duration = Duration::from_millis(100);

/// What came of trying.
struct Tried {
    sync: Duration,
    is_exclusive: bool,
    exchanges: bool,
}

pub(super) fn checkups(workspace: &Workspace) -> Vec<Checkup> {
    let disk = &*workspace.disk;
    let home = if matches!(seal::inspect(disk), Ok(seal::Home::Ours)) { ".piton/" } else { ".piton-" };
    let names = ["a", "b"].map(|which| format!("{home}doctor-{}-{which}", std::process::id()));
    let tried = attempt(disk, &names);
    for name in &names {
        // One that was never made is gone already.
        let _ = disk.remove(name);
    }
    match tried {
        Ok(tried) => judged(&tried),
        Err(error) => {
            let advice = "nothing can be recorded here: make the directory writable, or make room on the disk";
            vec![Checkup::bad("disk", error.to_string(), advice)]
        }
    }
}

fn attempt(disk: &dyn Disk, [first, second]: &[String; 2]) -> Result<Tried, DiskError> {
    let lock = disk.lock(first, Duration::ZERO).map_err(disk_error)?;
    lock.write_at(0, b"one")?;
    let began = Instant::now();
    lock.sync()?;
    disk.sync_directory(directory_of(first))?;
    let sync = began.elapsed();
    let is_exclusive = matches!(disk.lock(first, Duration::ZERO), Err(LockError::Busy { .. }));
    disk.open(second, Open::Create(Access::Private))?.write_at(0, b"two")?;
    let exchanges = disk.rename(first, second, Rename::Exchange).is_ok()
        && disk.open(second, Open::Existing)?.read_at(0, 8)? == b"one";
    piton_store::replace(disk, second, b"three", Access::Private)?;
    Ok(Tried { sync, is_exclusive, exchanges })
}

fn disk_error(error: LockError) -> DiskError {
    match error {
        LockError::Busy { .. } => DiskError {
            doing: "lock",
            path: "a file of its own".to_owned(),
            error: std::io::ErrorKind::WouldBlock.into(),
        },
        LockError::Disk(error) => error,
    }
}

fn judged(tried: &Tried) -> Vec<Checkup> {
    let move_it = "keep the repository on a local disk";
    let locks = match tried.is_exclusive {
        true => Checkup::good("disk", "locks work"),
        false => Checkup::bad("disk", "a lock does not keep a second process out", move_it),
    };
    let exchange = match tried.exchanges {
        true => Checkup::good("disk", "files change places in one step"),
        false => Checkup::bad("disk", "files cannot change places in one step", move_it),
    };
    let sync = match tried.sync {
        slow if slow > SLOW => Checkup::note("disk", "syncs work, but slowly: each record waits for one", move_it),
        _ => Checkup::good("disk", "syncs work"),
    };
    vec![locks, exchange, sync]
}
