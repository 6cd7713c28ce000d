use std::collections::BTreeMap;

use piton_dialect::Files;
use piton_model::Refusal;
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
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Refusal> {
        if self.hidden.iter().any(|hidden| hidden == path) {
            return Ok(None);
        }
        if let Some(seen) = self.seen.and_then(|seen| seen.get(path)) {
            return Ok(seen.content.as_ref().map(|content| content.bytes.clone()));
        }
        match self.disk.read(path) {
            Ok(content) => Ok(Some(content.bytes)),
            Err(ReadError::Missing) => Ok(None),
            Err(error) => Err(Refusal::document(format!("cannot read `{path}`: {error}"))),
        }
    }

    fn list(&self, directory: &str) -> Vec<String> {
        self.disk.list(directory)
    }
}
