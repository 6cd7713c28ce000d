//! A worker's word counts for the stage that it was started for. The later stages have workers of their own.

use piton_dialect::pipeline;
use piton_model::fleet::LaneAt;
use piton_model::{Event, State};

use super::lead::Lead;
use crate::persons_word::persons_move;
use crate::record::DiskFiles;

impl Lead<'_> {
    /// Takes a story back to the stage of its worker, when that wrote the checkpoint of a later one by hand: it has done
    /// its own stage, or has not.
    pub(super) fn take_back_to_own_stage(&mut self, at: LaneAt) {
        let stage = self.work.fleet.lanes[at].stage;
        let is_staged = self.work.fleet.lanes[at].is_staged();
        let Some(written) = self.document_stage(at).filter(|written| is_staged && *written > stage) else { return };
        if persons_move(&self.events_of(&self.work.lanes[at].unit)).is_some() {
            return;
        }
        self.reopen_story(at);
        let phase = Some(pipeline::OWN_STAGE.to_owned());
        match self.record_lane(at, &Event::StageEntered { stage: stage.to_string(), phase }) {
            Ok(()) => {
                let text = format!(
                    "the worker of stage {stage} wrote a checkpoint of stage {written}; that counts for stage {stage} only"
                );
                self.tell_lane(at, "restored", &text);
            }
            // What cannot be taken back does not fit, and pauses the story.
            Err(why) => {
                let name = self.work.fleet.lanes[at].name.clone();
                self.memory.issues.push((name, "record".to_owned(), why));
            }
        }
        self.is_state_due = true;
    }

    /// Opens a story again that is called done before its work is merged: the lead works on it.
    pub(super) fn reopen_story(&mut self, at: LaneAt) {
        if !self.unit_of(at).is_ok_and(|unit| unit.state == State::Done) {
            return;
        }
        let reopened = self.record_lane(at, &Event::Reopened).or_else(|_| {
            // The state of all stories may have one that builds on it further than it may be then: that one waits.
            self.hold_dependants(at);
            self.record_lane(at, &Event::Reopened)
        });
        if let Err(why) = reopened {
            let name = self.work.fleet.lanes[at].name.clone();
            self.memory.issues.push((name, "record".to_owned(), why));
        }
    }

    /// Records stories that depend on a lane as paused, where they have begun.
    fn hold_dependants(&mut self, at: LaneAt) {
        let waiting: Vec<LaneAt> =
            (0..self.work.lanes.len()).filter(|other| self.work.fleet.lanes[*other].depends_on.contains(&at)).collect();
        let reason = Some(format!("it waits for {}", self.work.fleet.lanes[at].name));
        for other in waiting {
            if self.live.contains_key(&other) {
                continue;
            }
            // What has not begun cannot be paused, and need not be.
            let _ = self.record_lane(other, &Event::Paused { reason: reason.clone() });
        }
    }

    /// The stage of a story that a person began since a lead put it off: no worker of that lead was at it.
    pub(super) fn begun_since(&self, at: LaneAt) -> Option<u8> {
        let lane = &self.work.fleet.lanes[at];
        let is_new = self.memory.lanes.get(&lane.name).is_some_and(|known| known.origin.attempt == 0);
        let written = self.document_stage(at).filter(|_| is_new && lane.is_staged())?;
        let files = DiskFiles::new(&*self.workspace.disk, None);
        let stage = pipeline::continues_at(&self.place(at), &files, &self.moment()).unwrap_or(written);
        lane.stages.iter().copied().filter(|listed| *listed >= stage).min()
    }
}
