//! Files of our own that are written whole: a lead's memory, a report, a state that units share.

use std::time::Duration;

use crate::disk::{Access, Disk, DiskError, Handle, LockError, Open, Rename, directory_of, make_directories, name_of};
use crate::journal::Hash;

/// Where the locks of shared files are.
pub(crate) const SHARED: &str = ".piton/shared";

/// Replaces a file, or makes it. When this returns the new content is durable; before, the old one is there, whole.
///
/// Whoever calls this is the only writer of the file, or holds [`lock_shared`].
pub fn replace(disk: &dyn Disk, path: &str, bytes: &[u8], access: Access) -> Result<(), DiskError> {
    let directory = directory_of(path);
    make_directories(disk, directory, access)?;
    let aside = match directory {
        "" => format!(".{}.piton-new", name_of(path)),
        directory => format!("{directory}/.{}.piton-new", name_of(path)),
    };
    let like = if access == Access::Private { "" } else { path };
    let file = match disk.open(&aside, Open::New { like }) {
        // Left by a process that died on this line.
        Err(error) if error.is_taken() => {
            disk.remove(&aside)?;
            disk.open(&aside, Open::New { like })?
        }
        opened => opened?,
    };
    let written = file.write_at(0, bytes).and_then(|()| file.sync());
    if let Err(error) = written {
        // What could not be written is in nobody's way; should this fail as well, the next one removes it.
        let _ = disk.remove(&aside);
        return Err(error);
    }
    disk.rename(&aside, path, Rename::Replace)?;
    disk.sync_directory(directory)
}

/// Locks a file that several units share, as every writer of it does.
pub fn lock_shared(disk: &dyn Disk, path: &str, wait: Duration) -> Result<Box<dyn Handle>, LockError> {
    make_directories(disk, SHARED, Access::Private)?;
    disk.lock(&format!("{SHARED}/{}", &Hash::of(path.as_bytes()).as_str()[..16]), wait)
}
