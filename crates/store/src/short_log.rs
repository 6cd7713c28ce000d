//! Logs that nobody reads but people, and that must not grow.

use crate::disk::{Access, Disk, DiskError, Open, Rename};

/// Adds a line at the end of a log that is kept short: a full one is put aside once, in the place of the one before.
/// It is not synced.
pub fn append_bounded(disk: &dyn Disk, path: &str, line: &str, most: u64) -> Result<(), DiskError> {
    let open = || disk.open(path, Open::Create(Access::Private));
    let mut file = open()?;
    let mut size = file.size()?;
    if size + line.len() as u64 > most && size > 0 {
        disk.rename(path, &format!("{path}.1"), Rename::Replace)?;
        file = open()?;
        size = file.size()?;
    }
    file.write_at(size, line.as_bytes())
}
