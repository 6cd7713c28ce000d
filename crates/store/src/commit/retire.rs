//! What becomes of files that came out of their places: kept until the next event, then freed.

use piton_cores::Core;

use super::Replacement;
use crate::disk::{DiskError, Open, Rename, Stamp};
use crate::journal::Hash;
use crate::stray::Stray;
use crate::unit::{LARGE, Left, LockedUnit};

impl LockedUnit<'_> {
    /// Keeps the replaced documents where a late writer's bytes can be found; removes what else is left over.
    pub(super) fn retire(
        &mut self,
        replacements: &[Replacement<'_>],
        taken: &[(String, String)],
    ) -> Result<(), DiskError> {
        self.note_left(replacements);
        for each in replacements {
            match &each.old {
                Some(old) if each.is_document => self.retire_document(&each.path, &each.aside, Some(old.stamp))?,
                Some(_) => self.disk.remove(&each.aside)?,
                None => {}
            }
        }
        for (aside, path) in taken {
            match self.last().is_some_and(|entry| entry.document(path).is_some()) {
                true => self.retire_document(path, aside, None)?,
                false => self.disk.remove(aside)?,
            }
        }
        Ok(())
    }

    /// Notes how large documents are left, where whatever others do to them from now on shows. Whoever has written one
    /// since it is in its place has changed its stamp.
    fn note_left(&mut self, replacements: &[Replacement<'_>]) {
        for each in replacements.iter().filter(|each| each.is_document) {
            self.note.left.remove(&each.path);
            let Some(written) = each.written.get() else { continue };
            if let Ok(Some(imprint)) = self.disk.imprint(&each.path)
                && imprint.is_telling(*written)
            {
                self.note.left.insert(each.path.clone(), Left { imprint, hash: each.hash().clone() });
            }
        }
    }

    /// Keeps the file that came out of a document's place. `stamp` is what it was when it was compared last: who writes
    /// to it since then is late.
    pub(crate) fn retire_document(&mut self, path: &str, aside: &str, stamp: Option<Stamp>) -> Result<(), DiskError> {
        let kept = self.replaced_path(path);
        let found = self.disk.stamp(&kept)?;
        // The one that was kept so far goes. Somebody may have written to it since the last contact.
        if let Some(known) = self.note.replaced.get(path)
            && found.is_some_and(|found| found != *known)
        {
            self.keep_late(path, &kept)?;
        }
        // Two names of one file, which a rename would leave as they are.
        let own = match stamp {
            Some(stamp) => Some(stamp),
            None => self.disk.stamp(aside)?,
        };
        if found.is_some() && found.map(|found| found.inode) == own.map(|own| own.inode) {
            return self.disk.remove(aside);
        }
        let is_large = |stamp: Option<Stamp>| stamp.is_some_and(|stamp| stamp.size >= LARGE);
        let gone = self.gone_path(path);
        // The next event frees it, and has something to do meanwhile.
        if is_large(found)
            && is_large(own)
            && self.disk.rename(&kept, &gone, Rename::Replace).is_ok()
            && self.disk.stamp(&gone)? != found
        {
            self.keep_late(path, &gone)?;
        }
        match self.disk.rename(aside, &kept, Rename::Replace) {
            Ok(()) => {}
            // A document on another file system than the journal.
            Err(error) if error.error.kind() == std::io::ErrorKind::CrossesDevices => {
                self.note.replaced.remove(path);
                return self.disk.remove(aside);
            }
            Err(error) => return Err(error),
        }
        self.note.replaced.extend(own.map(|own| (path.to_owned(), own)));
        Ok(())
    }

    /// Keeps what somebody wrote to a replaced document that goes.
    fn keep_late(&mut self, path: &str, file: &str) -> Result<(), DiskError> {
        if let Ok(content) = self.disk.read(file) {
            let own = self.key.directory();
            self.strays.push(Stray::copy(self.disk, &own, path, &content.bytes)?);
            self.note.has_strays = true;
        }
        Ok(())
    }

    /// Frees what was kept of large documents until the event before. Where a disk is told which of its blocks are free, that
    /// takes as long as a sync, so it is done beside all else.
    pub(super) fn free_gone(&self, replacements: &[Replacement<'_>]) {
        let remove = |each: &Replacement<'_>| {
            let gone = self.gone_path(&each.path);
            // Who closes the last handle of a file without a name frees it.
            let file = self.disk.open(&gone, Open::Existing).ok()?;
            self.disk.remove(&gone).ok().map(|()| file)
        };
        // Only behind a large one does another wait.
        let is_large =
            |each: &&Replacement<'_>| self.note.replaced.get(&each.path).is_some_and(|kept| kept.size >= LARGE);
        let gone: Vec<_> = replacements.iter().filter(is_large).filter_map(remove).collect();
        if !gone.is_empty() {
            let here = Core::here();
            // Without a thread it is done here. Whoever ends before that has it done all the same.
            let _ = std::thread::Builder::new().spawn(move || {
                here.avoid();
                drop(gone);
            });
        }
    }

    /// Where the version of a document that was replaced last is kept.
    pub(crate) fn replaced_path(&self, path: &str) -> String {
        self.path_for("replaced", path)
    }

    /// Where the one that was kept before it waits to be freed, when it is large.
    pub(crate) fn gone_path(&self, path: &str) -> String {
        self.path_for("gone", path)
    }

    fn path_for(&self, what: &str, path: &str) -> String {
        format!("{}/{what}-{}", self.key.directory(), &Hash::of(path.as_bytes()).as_str()[..8])
    }
}
