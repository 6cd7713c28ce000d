//! What is done for large documents before the journal has its line: digests, and new contents where nobody looks.

use super::Replacement;
use super::effects::Undo;
use crate::disk::{Disk, DiskError, Handle, Open, Rename};
use crate::journal::Hash;
use crate::unit::LockedUnit;

/// A new content that was written in our own directory, under a name that only the holder of the lock uses. It is put
/// aside when the line stands, so that whatever is found beside a document has its line. What a crash leaves here is
/// written over next time.
pub(super) struct Ahead {
    /// Of which replacement.
    pub place: usize,
    path: String,
    file: Box<dyn Handle>,
}

impl Ahead {
    /// Puts it aside. Where that fails, on another file system for one, nothing was written so far.
    pub fn put_aside(self, disk: &dyn Disk, each: &Replacement<'_>, undo: &mut Undo<'_>) -> Option<Box<dyn Handle>> {
        undo.asides.retain(|aside| *aside != self.path);
        if disk.rename(&self.path, &each.aside, Rename::Replace).is_err() {
            let _ = disk.remove(&self.path);
            return None;
        }
        undo.asides.push(each.aside.clone());
        Some(self.file)
    }
}

impl LockedUnit<'_> {
    /// Computes the digest of everything that is to be written. To hash a large content keeps a core busy; where the
    /// digest of one is known, another core writes all large ones meanwhile.
    pub(super) fn hash_all(&self, replacements: &[Replacement<'_>], undo: &mut Undo<'_>) -> Vec<Ahead> {
        let large = || replacements.iter().enumerate().filter(|(_, each)| each.is_large());
        let is_known = |(_, each): (usize, &Replacement<'_>)| each.hash.get().is_some();
        if large().count() < 2 || !large().any(is_known) {
            return Vec::new();
        }
        let hash = || {
            for each in replacements {
                each.hash();
            }
        };
        let write = || large().map_while(|(place, each)| self.write_ahead(place, each, undo)).collect();
        piton_cores::both(hash, write).1
    }

    /// Writes a new content ahead. Where that fails, it is tried again when it is due, and told then.
    fn write_ahead(&self, place: usize, each: &Replacement<'_>, undo: &mut Undo<'_>) -> Option<Ahead> {
        let path = format!("{}/ahead-{}", self.key.directory(), &Hash::of(each.path.as_bytes()).as_str()[..8]);
        match write(self.disk, &path, each) {
            Ok(file) => {
                undo.asides.push(path.clone());
                Some(Ahead { place, path, file })
            }
            Err(_) => {
                let _ = self.disk.remove(&path);
                None
            }
        }
    }
}

fn write(disk: &dyn Disk, path: &str, each: &Replacement<'_>) -> Result<Box<dyn Handle>, DiskError> {
    let file = new_file(disk, path, &each.path)?;
    each.write_to(&*file)?;
    file.begin_sync();
    Ok(file)
}

/// Makes a file that only the holder of the lock makes; one that is there is the rest of an attempt that died.
pub(super) fn new_file(disk: &dyn Disk, path: &str, like: &str) -> Result<Box<dyn Handle>, DiskError> {
    let how = Open::New { like };
    match disk.open(path, how) {
        Err(error) if error.is_taken() => {
            disk.remove(path)?;
            disk.open(path, how)
        }
        opened => opened,
    }
}
