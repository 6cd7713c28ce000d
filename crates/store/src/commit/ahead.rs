//! What is done for large documents before the journal has its line: digests, and new contents in files without a name.

use super::Replacement;
use super::effects::Undo;
use crate::disk::{Disk, Handle};
use crate::unit::LockedUnit;

/// A new content that has no name yet. It gets one aside when the line stands, so that whatever is found beside a document
/// has its line; of a commit that dies before, nothing is left.
pub(super) struct Ahead {
    /// Of which replacement.
    pub place: usize,
    file: Box<dyn Handle>,
}

impl Ahead {
    /// Puts it aside. Where that fails, because the name is taken for one, nothing was written so far.
    pub fn put_aside(self, each: &Replacement<'_>, undo: &mut Undo<'_>) -> Option<Box<dyn Handle>> {
        self.file.name(&each.aside).ok()?;
        undo.asides.push(each.aside.clone());
        Some(self.file)
    }
}

impl LockedUnit<'_> {
    /// Computes the digest of everything that is to be written. To hash a large content keeps a core busy; where that of the
    /// first one is known, this core writes all large ones while another one hashes, else it hashes the first.
    pub(super) fn prepare(&self, replacements: &[Replacement<'_>]) -> Vec<Ahead> {
        let large = || replacements.iter().enumerate().filter(|(_, each)| each.is_large());
        let (Some((_, first)), true) = (large().next(), large().count() > 1) else { return Vec::new() };
        let hash = || {
            for each in replacements.iter().filter(|each| !std::ptr::eq(*each, first)) {
                each.hash();
            }
        };
        let write = || match first.hash.get() {
            Some(_) => large().map_while(|(place, each)| write_ahead(self.disk, place, each)).collect(),
            None => {
                first.hash();
                Vec::new()
            }
        };
        piton_cores::both(hash, write).1
    }
}

/// Writes a new content ahead. Where that fails, it is tried again when it is due, and told then.
fn write_ahead(disk: &dyn Disk, place: usize, each: &Replacement<'_>) -> Option<Ahead> {
    let file = disk.unnamed(&each.path)?;
    each.write_to(&*file).ok()?;
    file.begin_sync();
    Some(Ahead { place, file })
}
