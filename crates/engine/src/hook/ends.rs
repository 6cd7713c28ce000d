//! Prompts, and the ends of turns and sessions.

use piton_dialect::plan::{Alignment, alignment};
use piton_model::{Dialect, Event};

use super::documents::Deed;
use super::{Hook, one_line, sessions};
use crate::record::DiskFiles;

/// A copy of the state is kept after so many prompts.
const BACKUP_EVERY: u64 = 5;

/// The longest note that is kept of what a session said.
const LONGEST_NOTE: usize = 600;

impl Hook<'_> {
    /// Somebody asked for something: a turn begins.
    pub(super) fn prompted(&mut self, is_notification: bool) {
        let session = self.session();
        session.is_open = true;
        session.prompts += u64::from(!is_notification);
        let is_due = !is_notification && session.prompts.is_multiple_of(BACKUP_EVERY);
        self.align_own();
        match self.unit() {
            Some(target) if is_due && matches!(target.dialect, Dialect::Plan | Dialect::Crew | Dialect::Task) => {
                self.record(&target, &Event::BackedUp { reason: "every_5_prompts".to_owned() });
            }
            _ => self.beat(),
        }
    }

    /// What the session knows is kept: its context is about to go, or has gone.
    pub(super) fn checkpoint(&mut self, reason: &str, note: Option<&str>) {
        self.align_own();
        let note = note.map(|note| one_line(note, LONGEST_NOTE)).filter(|note| !note.is_empty());
        let note = note.or_else(|| self.session().said.clone());
        if let Some(target) = self.unit() {
            self.record(&target, &Event::Checkpointed { reason: reason.to_owned(), note });
        }
    }

    /// A turn ended. While something goes on in the background, so does the work.
    pub(super) fn turn_ended(&mut self, message: Option<&str>, goes_on: bool) {
        if let Some(said) = message.map(|message| one_line(message, LONGEST_NOTE)).filter(|said| !said.is_empty()) {
            self.session().said = Some(said);
        }
        self.checkpoint("stop", None);
        self.session().is_open = goes_on;
    }

    /// The session ended, in order.
    pub(super) fn session_ended(&mut self, reason: &str) {
        self.checkpoint("session_end", None);
        let session = self.session();
        session.is_open = false;
        session.ended = Some(one_line(reason, 40));
        // Nobody waits for anything now: the time to forget others that ended long ago.
        sessions::ended(&*self.workspace.disk, self.now);
    }

    /// Catches what a command did to the session's plan; to the one that it was told about, when it has none.
    pub(super) fn align_own(&mut self) {
        let workspace = self.workspace;
        let own = self.unit();
        let is_own = own.is_some();
        let target = own.or_else(|| self.session().shown.as_ref().map(|shown| shown.target(workspace)));
        let Some(target) = target.filter(|target| target.dialect == Dialect::Plan) else { return };
        if !is_own {
            let files = DiskFiles::new(&*workspace.disk, None);
            let is_changed = alignment(&target.place, &files) == Ok(Alignment::Behind);
            if !is_changed || !self.session().is_open {
                return;
            }
            self.bind(&target);
        }
        let result = self.align(&target, Deed::Own);
        self.tell_failure(result);
    }
}
