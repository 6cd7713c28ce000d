use std::borrow::Cow;
use std::collections::BTreeMap;

use piton_dialect::Files;
use piton_model::{Digest, Edit, Refusal};
use piton_store::disk::Disk;
use piton_store::{ReadError, SeenDocument};

/// The workspace as a writer sees it. A unit's own documents are those that were read under its lock.
pub(crate) struct DiskFiles<'a> {
    disk: &'a dyn Disk,
    seen: Option<&'a BTreeMap<String, SeenDocument>>,
    hidden: &'a [String],
}

impl<'a> DiskFiles<'a> {
    pub fn new(disk: &'a dyn Disk, seen: Option<&'a BTreeMap<String, SeenDocument>>) -> DiskFiles<'a> {
        DiskFiles { disk, seen, hidden: &[] }
    }

    /// The same without some files, which are to be left alone.
    pub fn without(self, hidden: &'a [String]) -> DiskFiles<'a> {
        DiskFiles { hidden, ..self }
    }
}

impl Files for DiskFiles<'_> {
    fn look(&self, path: &str) -> Result<Option<Cow<'_, [u8]>>, Refusal> {
        if self.hidden.iter().any(|hidden| hidden == path) {
            return Ok(None);
        }
        match self.seen.and_then(|seen| seen.get(path)).map(|seen| &seen.content) {
            Some(Some(content)) if content.is_unread => {}
            Some(content) => return Ok(content.as_ref().map(|content| Cow::Borrowed(content.bytes.as_slice()))),
            None => {}
        }
        match self.disk.read(path) {
            Ok(content) => Ok(Some(Cow::Owned(content.bytes))),
            Err(ReadError::Missing) => Ok(None),
            Err(error) => Err(Refusal::document(format!("cannot read `{path}`: {error}"))),
        }
    }

    fn digest(&self, path: &str, edits: &[Edit]) -> Option<Digest> {
        self.seen?.get(path)?.content.as_ref()?.digest_with(edits)
    }

    fn hash_ahead(&self, path: &str, is_time: &dyn Fn() -> bool) {
        if let Some(content) = self.seen.and_then(|seen| seen.get(path)?.content.as_ref()) {
            content.hash_ahead(is_time);
        }
    }

    fn both(&self, other: &mut (dyn FnMut() + Send), own: &mut dyn FnMut()) {
        piton_cores::both(other, own);
    }

    fn list(&self, directory: &str) -> Vec<String> {
        self.disk.list(directory)
    }
}
