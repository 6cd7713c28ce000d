//! An open file of the disk.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use piton_store::disk::{DiskError, Handle, Stamp, directory_of, name_of};

use crate::CrashDisk;
use crate::crash::{nothing, stamp_of};
use crate::effect::Kind;
use crate::state::Pending;

pub(crate) struct CrashHandle {
    pub disk: CrashDisk,
    pub node: usize,
    pub path: String,
    /// Whether a sync through this handle failed: then nobody may ask it again.
    pub has_failed: AtomicBool,
    pub is_lock: bool,
}

impl Handle for CrashHandle {
    fn size(&self) -> Result<u64, DiskError> {
        Ok(self.stamp()?.size)
    }

    fn read_at(&self, at: u64, length: usize) -> Result<Vec<u8>, DiskError> {
        self.disk.look("read", &self.path, |state| {
            let bytes = state.file(self.node).map_or(&[][..], |file| &file.bytes);
            let from = usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
            let to = from.saturating_add(length).min(bytes.len());
            Ok(bytes[from..to].to_vec())
        })
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> Result<(), DiskError> {
        let at = usize::try_from(at).expect("a place in memory");
        let write = |length: usize| Pending::Write { at, bytes: bytes[..length].to_vec() };
        self.disk.effect(
            (Kind::Write, "write", &self.path),
            |state| state.change(self.node, write(bytes.len() / 2)),
            |state| {
                state.change(self.node, write(bytes.len()));
                Ok(())
            },
        )
    }

    fn truncate(&self, size: u64) -> Result<(), DiskError> {
        let size = usize::try_from(size).expect("a size in memory");
        self.disk.effect((Kind::Cut, "cut", &self.path), nothing, |state| {
            state.change(self.node, Pending::Cut { size });
            Ok(())
        })
    }

    fn name(&self, path: &str) -> Result<(), DiskError> {
        assert_eq!(directory_of(path), directory_of(&self.path), "it gets its name where it was made");
        self.disk.effect((Kind::Link, "name", path), nothing, |state| {
            let directory = state.directory(directory_of(path)).ok_or(io::ErrorKind::NotFound)?;
            if state.find(path).is_some() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            state.name(directory, name_of(path), self.node);
            Ok(())
        })
    }

    fn sync(&self) -> Result<(), DiskError> {
        if self.has_failed.load(Ordering::SeqCst) {
            self.disk.state().plan.retried.push(self.path.clone());
        }
        let synced = self.disk.effect((Kind::Sync, "sync", &self.path), nothing, |state| {
            state.file_mut(self.node).sync();
            Ok(())
        });
        if synced.is_err() && !self.disk.is_dead() {
            self.has_failed.store(true, Ordering::SeqCst);
            // The system has marked the bytes as written: nobody will ever try again.
            self.disk.state().file_mut(self.node).pending.clear();
        }
        synced
    }

    fn stamp(&self) -> Result<Stamp, DiskError> {
        self.disk.look("look at", &self.path, |state| Ok(stamp_of(state, self.node)))
    }
}

impl Drop for CrashHandle {
    fn drop(&mut self) {
        if self.is_lock {
            self.disk.unlock(self.node);
        }
    }
}
