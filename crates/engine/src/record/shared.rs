//! Locks of files that several units write.

use std::time::Duration;

use piton_model::{Change, Effect};
use piton_store::disk::LockError;
use piton_store::lock_shared;

use super::{RecordError, Session};

impl Session<'_> {
    /// Locks the shared files of a change; whether there was one that was not locked yet.
    pub(super) fn lock_shared(&mut self, change: &Change, wait: Duration) -> Result<bool, RecordError> {
        let mut paths: Vec<&str> = change
            .effects
            .iter()
            .filter(|effect| matches!(effect, Effect::Share { .. }))
            .map(Effect::path)
            .filter(|path| self.shared.iter().all(|(held, _)| held != path))
            .collect();
        if paths.is_empty() {
            return Ok(false);
        }
        // Always in the order of names, so that two writers cannot wait for each other. Whoever needs more than it
        // has begins again from nothing.
        paths.extend(self.shared.iter().map(|(held, _)| held.as_str()));
        let mut paths: Vec<String> = paths.into_iter().map(str::to_owned).collect();
        paths.sort();
        self.shared.clear();
        let disk = &*self.workspace.disk;
        for path in paths {
            match lock_shared(disk, &path, wait) {
                Ok(lock) => self.shared.push((path, lock)),
                Err(LockError::Busy { .. }) => return Err(RecordError::Busy { unit: path, holder: None }),
                Err(LockError::Disk(error)) => return Err(error.into()),
            }
        }
        Ok(true)
    }
}
