//! Small files that are replaced as a whole: what Piton keeps for itself beside the journals, and the settings of
//! other programs that a user asked it to write.

use crate::disk::{Disk, DiskError, Open, Rename, directory_of};

/// Whether something has to outlive a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasting {
    /// It is durable when the call returns.
    Durable,
    /// It outlives the process, and a power cut may take the file back to an older content or to none.
    Cheap,
}

/// Replaces a file: whoever reads it sees the old bytes or the new ones, whole. It keeps its mode, and a link stays a
/// link. When this fails the old content is there.
pub fn replace(disk: &dyn Disk, path: &str, bytes: &[u8], lasting: Lasting) -> Result<(), DiskError> {
    let path = &disk.resolve(path)?;
    let aside = format!("{path}.piton-{}", std::process::id());
    let how = Open::New { like: path };
    let file = match disk.open(&aside, how) {
        Err(error) if error.is_taken() => {
            // A process of the same number died here; this one has it now.
            disk.remove(&aside)?;
            disk.open(&aside, how)?
        }
        opened => opened?,
    };
    let is_durable = lasting == Lasting::Durable;
    let written = file.write_at(0, bytes).and_then(|()| if is_durable { file.sync() } else { Ok(()) });
    if let Err(error) = written.and_then(|()| disk.rename(&aside, path, Rename::Replace)) {
        // Should this fail as well, a file stays that nobody reads.
        let _ = disk.remove(&aside);
        return Err(error);
    }
    if is_durable { disk.sync_directory(directory_of(path)) } else { Ok(()) }
}

/// Adds a line at the end of a log that is kept short: a full one is put aside once, in the place of the one before.
/// It is not synced.
pub fn append_bounded(disk: &dyn Disk, path: &str, line: &str, most: u64) -> Result<(), DiskError> {
    let open = || disk.open(path, Open::Create(crate::disk::Access::Private));
    let mut file = open()?;
    let mut size = file.size()?;
    if size + line.len() as u64 > most && size > 0 {
        disk.rename(path, &format!("{path}.1"), Rename::Replace)?;
        file = open()?;
        size = file.size()?;
    }
    file.write_at(size, line.as_bytes())
}
