use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use piton_dialect::Files;
use piton_dialect::pipeline::layout;
use piton_model::{Dialect, Digest, Edit, Refusal, RetryLimits};
use piton_store::disk::{Disk, DiskError};
use piton_store::{History, ReadError, SeenDocument, seal};

use crate::target::key_of;

/// How many different versions of a document are looked at. A plan that is older is no story's plan any more.
const MOST_VERSIONS: usize = 500;

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

    fn recorded(&self, path: &str, see: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) {
        // A journal that cannot be read knows nothing; whoever writes is told.
        let _ = recorded(self.disk, path, see);
    }

    fn modified(&self, path: &str) -> Option<i128> {
        self.disk.stamp(path).ok().flatten().map(|stamp| stamp.modified)
    }

    fn retry_limits(&self) -> RetryLimits {
        crate::retries::limits(self.disk)
    }
}

/// Shows the recorded versions of a story's checkpoint, newest first. Only a journal of ours is believed.
fn recorded(disk: &dyn Disk, path: &str, see: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> Result<(), DiskError> {
    let Some((base, layout::File::Checkpoint)) = layout::recognise(path) else { return Ok(()) };
    let Some(story) = path.rsplit('/').next().and_then(layout::story_of) else { return Ok(()) };
    let full_name = if base.is_empty() { story.to_owned() } else { format!("{base}/{story}") };
    if seal::inspect(disk)? != seal::Home::Ours {
        return Ok(());
    }
    let Some(history) = History::open(disk, &key_of(Dialect::Pipeline, &full_name, story))? else { return Ok(()) };
    let path = disk.resolve(path)?;
    let mut last = None;
    let mut seen = 0;
    for entry in history.log()?.events.iter().rev() {
        let Some(hash) = entry.document(&path).and_then(|document| document.hash.as_ref()) else { continue };
        if last.as_ref() == Some(hash) {
            continue;
        }
        last = Some(hash.clone());
        let Some(bytes) = history.version(&path, entry.seq)? else { continue };
        seen += 1;
        if see(&bytes).is_break() || seen >= MOST_VERSIONS {
            break;
        }
    }
    Ok(())
}
