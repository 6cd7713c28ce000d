//! Puts back what a person recorded about a unit that is one lane, where its worker wrote the whole document by hand over it. A
//! person's word counts for such a worker as it does for one that records with Piton.

use std::time::{SystemTime, UNIX_EPOCH};

use piton_model::fleet::LaneAt;
use piton_model::{Dialect, Event, State, permit};
use piton_supervisor::{Condition, Gently, Worker};

use super::approvals::approved_after;
use super::claim::explain;
use super::lead::Lead;
use super::memory::SavedState;
use crate::persons_word::{LEAD, Word, is_seen, lacking_words, replaced_version};
use crate::record;

impl Lead<'_> {
    /// Puts back what a person recorded while no lead was at work, before anything is decided about the lanes whose worker the
    /// earlier lead left.
    pub(super) fn put_back_unled(&mut self) {
        for at in 0..self.work.lanes.len() {
            let known = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
            let had_worker = known.is_some_and(|known| matches!(known.state, SavedState::Worked { .. }));
            if !had_worker || self.work.lanes[at].step.is_some() {
                continue;
            }
            let home = known.and_then(|known| known.home.clone());
            let home = home.map(|home| self.workspace.root().join(home));
            let worker = home.and_then(|home| Worker::adopt(&self.keeper, &home).ok());
            let condition = worker.as_ref().and_then(|worker| worker.condition().ok());
            let ended = match (worker, condition) {
                (_, Some(Condition::Ended(end))) => end.at,
                (Some(worker), Some(_)) if self.has_begun_anew(at) => {
                    self.tell_lane(at, "stopping", BEGUN_ANEW);
                    worker.force_end().map_or_else(|_| SystemTime::now(), |end| end.at)
                }
                // Its end is judged when it has come.
                _ => continue,
            };
            if self.is_written_since(at, ended) {
                continue;
            }
            let before = self.origin_of(&self.work.lanes[at].unit).attempt;
            self.put_back(at);
            let (name, now) =
                (self.work.fleet.lanes[at].name.clone(), self.origin_of(&self.work.lanes[at].unit).attempt);
            let memory = self.memory.lane(&name);
            if memory.origin.attempt == before {
                // What was put back may have opened the unit again: what is known of its worker stays.
                memory.origin.attempt = now;
            }
        }
    }

    /// Whether the document of a lane was written by hand after its worker had ended: that was no worker.
    pub(super) fn is_written_since(&self, at: LaneAt, ended: SystemTime) -> bool {
        let ended = ended.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i128);
        let written = self.workspace.disk.stamp(&self.document_of(at)).ok().flatten();
        // What was recorded since was written by Piton, over what the worker had left.
        let is_by_hand = self.events_of(&self.work.lanes[at].unit).last().is_some_and(is_seen);
        is_by_hand && written.is_some_and(|stamp| stamp.modified > ended + ROUNDED)
    }

    /// Puts back what a person recorded and the document of a lane's unit lacks, as its worker left it.
    pub(super) fn put_back(&mut self, at: LaneAt) {
        if self.work.lanes[at].step.is_some() {
            return;
        }
        // What the worker wrote is a version of its own first.
        self.finish_records();
        let unit = self.work.lanes[at].unit.clone();
        let (events, Ok(known)) = (self.events_of(&unit), self.unit_of(at)) else { return };
        if let Some(moved) = replaced_version(&events, &known) {
            let (seq, said) = (moved.seq, moved.summary.clone());
            match crate::rollback(self.workspace, &unit, seq, &self.recorder(LEAD)) {
                Ok(_) => {
                    let text = format!(
                        "its worker wrote its checkpoint over what a person recorded ({said}); that counts: version {seq} is restored"
                    );
                    self.tell_lane(at, "restored", &text);
                }
                Err(error) => self.memory.issues.push((unit.to_string(), "record".to_owned(), error.to_string())),
            }
            self.is_state_due = true;
        }
        self.say_again(at);
    }

    /// Records again what a person said and a lane's document lacks.
    fn say_again(&mut self, at: LaneAt) {
        let unit = self.work.lanes[at].unit.clone();
        let (events, Ok(mut known)) = (self.events_of(&unit), self.unit_of(at)) else { return };
        let mut words = lacking_words(&events, &known);
        words.retain(|word| self.is_meant(at, word));
        let is_remark = |word: &Word| matches!(word.event, Event::Noted { .. } | Event::Decided { .. });
        if known.state == State::Done && !words.iter().all(is_remark) {
            if let Err(why) = self.record_lane(at, &Event::Reopened) {
                self.memory.issues.push((unit.to_string(), "record".to_owned(), why));
                return;
            }
            let Ok(reopened) = self.unit_of(at) else { return };
            known = reopened;
        }
        // What a question of the worker is in the way of waits for the answer.
        let (dialect, lifecycle) = (known.dialect, known.state.lifecycle());
        words.retain(|word| permit(dialect, &known.id, lifecycle, &word.event).is_ok());
        let mut said = Vec::new();
        for word in words {
            // A remark in a person's name would free what is paused.
            let by = if is_remark(&word) { LEAD } else { &word.by };
            match record(self.workspace, &unit, &word.event, &self.recorder(by)) {
                Ok(_) => said.push(word.summary),
                Err(error) => self.memory.issues.push((unit.to_string(), "record".to_owned(), explain(error))),
            }
        }
        if !said.is_empty() {
            let text = format!(
                "its worker wrote its checkpoint without what a person recorded; it is recorded again: {}",
                said.join("; ")
            );
            self.tell_lane(at, "restored", &text);
            self.is_state_due = true;
        }
    }

    /// Whether a word of a person is about what a lane's worker was at.
    fn is_meant(&self, at: LaneAt, word: &Word) -> bool {
        let work = &self.work.lanes[at];
        match &word.event {
            // The protocol has a story's tasks in the checkpoints of two of its stages.
            Event::StepMoved(_) if work.dialect == Dialect::Pipeline => {
                matches!(self.document_stage(at), Some(0 | 2))
            }
            // Who approves something of a unit after its pause wants it to continue.
            Event::Paused { .. } | Event::Blocked { .. } | Event::Failed { .. } => {
                !approved_after(self.workspace, &work.unit_name, word.seq)
            }
            _ => true,
        }
    }

    /// Ends a living worker whose unit a person began anew: what it does from here on is of no use.
    pub(super) fn end_of_earlier_life(&mut self, at: LaneAt) -> bool {
        if self.work.lanes[at].step.is_some() || !self.has_begun_anew(at) {
            return false;
        }
        let grace = self.settings.grace;
        let Some(live) = self.live.get_mut(&at).filter(|live| live.stopped.is_none()) else { return true };
        live.stopped = Some(BEGUN_ANEW.to_owned());
        // A keeper that does not answer is asked again when the worker takes too long.
        let _ = live.worker.stop(Gently::Terminate, grace);
        self.tell_lane(at, "stopping", BEGUN_ANEW);
        true
    }
}

/// By how much the time of a worker's end may be before that of a file that it wrote last, in nanoseconds: both are rounded.
const ROUNDED: i128 = 100_000_000;

/// What is said of the worker of an earlier life.
const BEGUN_ANEW: &str = "a person began it anew: its worker is ended";
