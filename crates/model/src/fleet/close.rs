//! The end of a lane: its work is on the base, and that is recorded.

use super::lane::{Closing, LaneState};
use super::{Decision, Fleet, LaneAt};

impl Fleet {
    /// A lane's worker is through: what is left is the lead's.
    pub(super) fn begin_closing(&mut self, at: LaneAt) {
        self.lanes[at].state = LaneState::Closing(Closing::Queued);
    }

    pub(super) fn finish_ended(&mut self, at: LaneAt, result: Result<(), String>, decisions: &mut Vec<Decision>) {
        if self.lanes[at].state != LaneState::Closing(Closing::Finishing) {
            return;
        }
        match result {
            Ok(()) => self.lanes[at].state = LaneState::Done,
            Err(why) => self.pause_for_person(at, why, decisions),
        }
    }
}
