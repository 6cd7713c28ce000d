//! Secrets of a process that runs: files in `.piton` that their owner alone can read.

use crate::disk::{Disk, DiskError, Open, Rename};
use crate::seal::{HOME, prepare};

/// Keeps a secret in `.piton`, and returns where. One of that name that was there is replaced, whoever made it: it is
/// never written into, because somebody may have it open.
pub fn keep_secret(disk: &dyn Disk, name: &str, secret: &str) -> Result<String, DiskError> {
    prepare(disk)?;
    let path = format!("{HOME}/{name}");
    let aside = format!("{path}-{}", std::process::id());
    match disk.remove(&aside) {
        Err(error) if !error.is_missing() => return Err(error),
        _ => {}
    }
    let file = disk.open(&aside, Open::New { like: "" })?;
    file.write_at(0, format!("{secret}\n").as_bytes())?;
    disk.rename(&aside, &path, Rename::Replace)?;
    Ok(path)
}
