//! Files that others write under locks of their own: whoever writes one takes its lock, as its protocol says. The kernel's
//! locks keep our own processes apart; these are for agents that know nothing of them.

use std::time::Duration;

use piton_dialect::crew::{Lock, lock_of};
use piton_model::{Change, Effect, Hint};
use piton_store::journal::Hash;
use piton_store::{Asked, LockFile, LockState};

use super::{RecordError, Recorder};
use crate::Workspace;
use crate::target::Target;

/// The locks that a change needs. They are released with this value, however the change ends.
#[derive(Debug, Default)]
pub(super) struct LockFiles<'w> {
    held: Vec<LockFile<'w>>,
    /// Files that were looked at.
    known: Vec<String>,
    /// Files whose locks somebody else has: they are left alone.
    pub left_alone: Vec<String>,
    pub warnings: Vec<Hint>,
}

impl<'w> LockFiles<'w> {
    /// Takes the locks of the files that a change writes; whether that is news, so that it has to be decided again. Who
    /// calls this has the kernel's lock of each of them.
    ///
    /// Somebody who keeps a lock for longer than is waited keeps the file from being written, not the event.
    pub fn take(
        &mut self,
        workspace: &'w Workspace,
        target: &Target,
        change: &Change,
        name: &str,
        recorder: &Recorder,
    ) -> Result<bool, RecordError> {
        let mut is_news = false;
        for path in change.effects.iter().filter(|effect| matches!(effect, Effect::Share { .. })).map(Effect::path) {
            if self.known.iter().any(|known| known == path) {
                continue;
            }
            self.known.push(path.to_owned());
            let Some((directory, lock)) = lock_of(path) else { continue };
            let disk = &*workspace.disk;
            if disk.identity(&directory)?.is_none() {
                // A crew without that directory locks nothing.
                continue;
            }
            is_news = true;
            let own = format!("piton-{}", &Hash::of(target.place.root.as_bytes()).as_str()[..12]);
            let text = Lock::new(&target.key.id, &own, &format!("recording `{name}`"), recorder.now).text(recorder.now);
            let judge = |bytes: &[u8], waited: Duration| match Lock::read(bytes) {
                None => LockState::Torn,
                // A process of ours that is alive has the kernel's lock too, and that is held here.
                Some(found) if found.holder_id == own || found.is_over(recorder.now.after(waited)) => LockState::Over,
                Some(_) => LockState::Held,
            };
            match LockFile::take(disk, &lock, &text, recorder.wait, &judge)? {
                Asked::Taken(lock) => self.held.push(lock),
                Asked::Held(text) => {
                    let who = Lock::read(&text).map_or_else(|| "somebody".to_owned(), |lock| lock.who());
                    self.warnings.push(format!("{path} is locked by {who}, so it was not updated: {lock}").into());
                    self.left_alone.push(path.to_owned());
                }
            }
        }
        Ok(is_news)
    }
}
