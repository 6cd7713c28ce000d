use piton_dialect::json::Editor;
use piton_model::{Dialect, Effect};

use super::{AWAITED, RecordError, Recorder, Session};
use crate::half_written::{is_new, wait_while};

/// How many versions are looked at; beyond that a person has to choose.
const MOST_VERSIONS: usize = 50;

impl Session<'_> {
    /// Restores a main document that somebody made unreadable, from the newest version that can be read. What they
    /// left is kept beside the journal, and stays a version of its own.
    ///
    /// A plan has a cascade of its own, in which its text wins.
    pub(super) fn restore_unreadable(&mut self, recorder: &Recorder) -> Result<(), RecordError> {
        if self.target.dialect == Dialect::Plan {
            return Ok(());
        }
        let path = self.workspace.disk.resolve(&self.target.key.document)?;
        let torn = |session: &Self| {
            let content = session.contact.documents.get(&path).and_then(|seen| seen.content.as_ref());
            content.filter(|content| Editor::open(&path, &content.bytes).is_err()).cloned()
        };
        let mut unreadable = torn(self);
        // Restoring a document while it is being written would lose the new version.
        wait_while(|| {
            let is_being_written = unreadable.as_ref().is_some_and(|content| is_new(&content.stamp));
            if is_being_written {
                self.look_again(recorder)?;
                unreadable = torn(self);
            }
            Ok::<_, RecordError>(is_being_written)
        })?;
        let Some(content) = unreadable else { return Ok(()) };
        let Some((seq, good)) = self.newest_readable(&path)? else { return Ok(()) };
        let kept = self.unit.put_aside("unreadable", &content.bytes)?;
        let summary = format!("{path} could not be read and is restored from @{seq}; what was there is kept in {kept}");
        let mut entry = self.entry(recorder, "restored", summary.clone(), self.unit.attempt());
        // Whoever looks first mends it, and may still be refused.
        entry.carried.remove(AWAITED);
        self.commit(entry, &[Effect::Write { path, bytes: good }])?;
        self.warnings.push(summary.into());
        self.look_again(recorder)
    }

    /// The plan's text, when it is a document of the unit and is gone.
    pub(crate) fn lost_text(&self) -> Option<String> {
        let documents = self.contact.documents.iter();
        let mut lost = documents.filter(|(path, seen)| path.ends_with("/plan.md") && seen.content.is_none());
        lost.next().map(|(path, _)| path.clone())
    }

    /// The newest version of a document that can be read, and its number.
    pub(crate) fn newest_readable(&self, path: &str) -> Result<Option<(u64, Vec<u8>)>, RecordError> {
        self.newest(path, &|bytes| Editor::open(path, bytes).is_ok())
    }

    /// The newest version of a document that is text, and its number.
    pub(crate) fn newest_text(&self, path: &str) -> Result<Option<(u64, Vec<u8>)>, RecordError> {
        self.newest(path, &|bytes| std::str::from_utf8(bytes).is_ok())
    }

    fn newest(&self, path: &str, is_good: &dyn Fn(&[u8]) -> bool) -> Result<Option<(u64, Vec<u8>)>, RecordError> {
        let Some(history) = piton_store::History::open(&*self.workspace.disk, &self.target.key)? else {
            return Ok(None);
        };
        for seq in (1..=self.unit.seq()).rev().take(MOST_VERSIONS) {
            if let Some(bytes) = history.version(path, seq)?
                && is_good(&bytes)
            {
                return Ok(Some((seq, bytes)));
            }
        }
        Ok(None)
    }
}
