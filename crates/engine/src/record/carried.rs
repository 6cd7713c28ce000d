//! What a journal carries from event to event: who has the unit, when somebody was last at it, and whether it waits.

use super::Session;

/// Under which key a journal carries when somebody last recorded something.
pub(crate) const ALIVE_AT: &str = "alive_at";

/// Under which key a journal carries that a unit waits for the agent that it was given to.
pub(crate) const AWAITED: &str = "awaited";

/// Under which key a journal keeps which worker judged a gate, wrote a note or took a blocker away.
pub(crate) const TICKET: &str = "ticket";

/// Under which key it keeps which session of an agent wrote a note or took a blocker away.
pub(crate) const SESSION: &str = "session";

/// Under which keys a journal carries who has the unit.
pub(crate) const HOLDER: &str = "holder";
pub(crate) const HOLDER_SESSION: &str = "holder_session";

impl Session<'_> {
    /// Says that what is recorded now is not done by the unit's worker, so that it does not count as a sign of life.
    pub(crate) fn is_no_sign_of_life(&mut self) {
        let before = self.unit.last().and_then(|entry| entry.carried.get(ALIVE_AT)).cloned().unwrap_or_default();
        self.carried.insert(ALIVE_AT.to_owned(), before);
        if self.is_awaited() {
            self.carried.insert(AWAITED.to_owned(), true.into());
        }
    }

    /// Whether the unit was given to another agent and nobody has begun with it since. What others did to its documents
    /// in the meantime, and who was refused, does not count.
    pub(crate) fn is_awaited(&self) -> bool {
        self.unit
            .last()
            .is_some_and(|entry| entry.event == "taken_over" || entry.carried.get(AWAITED) == Some(&true.into()))
    }
}
