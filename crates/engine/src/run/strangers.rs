//! Takes up units of which no lead remembers anything that still holds.

use piton_dialect::pipeline;
use piton_model::fleet::{Lane, LaneAt, LaneState, Standing};
use piton_model::{Dialect, Lifecycle, Row, State};

use super::by_hand::{LeftBy, taken};
use super::lead::Lead;
use super::recover::{again, held_because};
use super::status::waits;
use crate::record::DiskFiles;

impl Lead<'_> {
    /// A unit of which no lead remembers anything that still holds.
    pub(super) fn recover_stranger(&mut self, at: LaneAt, row: Option<&Row>, is_retry: bool) {
        if self.work.lanes[at].step.is_some() {
            self.recover_strange_step(at);
            return;
        }
        let Some(row) = row else { return };
        let known = self.known_story(at);
        // What a person began by hand may stand in its own document alone.
        let written = self.document_stage(at);
        let files = DiskFiles::new(&*self.workspace.disk, None);
        let is_story = self.work.lanes[at].dialect == Dialect::Pipeline;
        let continues_at = is_story.then(|| pipeline::continues_at(&self.place(at), &files, &self.moment())).flatten();
        let blockers = self.unit_of(at).map(|unit| unit.blockers).unwrap_or_default();
        let is_open = matches!(row.state, State::Running | State::Waiting) && blockers.is_empty();
        let is_resumed = is_open && (self.is_resumed_by_hand(at) || is_story && self.is_judged_by_person(at));
        if let (true, true, Some(written)) = (is_resumed, is_story, written) {
            self.work.fleet.lanes[at].stage = written;
        }
        if is_resumed && matches!(self.standing(at, true), Standing::Complete(_)) {
            // A person completed what its workers had left, or judged it: only the merge is left.
            match self.has_done_steps(at) {
                true => self.take_finished(at, is_retry),
                false => self.judge_again(at),
            }
            return;
        }
        let scores = self.scores(at);
        let validated = scores.readiness.filter(|_| scores.no_go.is_none());
        let validated = validated.or_else(|| known.as_ref().and_then(|known| known.readiness));
        let taken = taken(row.dialect, &self.events_of(&self.work.lanes[at].unit), row.liveness).filter(|_| !is_retry);
        let lane = &mut self.work.fleet.lanes[at];
        if lane.is_staged() {
            lane.stage = written.unwrap_or(lane.stage);
        }
        if let Some(known) = known {
            (lane.counts.crashes, lane.counts.no_gos, lane.counts.reworks) =
                (known.crashes, known.no_gos, known.reworks);
            let stage: Option<u8> =
                known.standing.as_deref().and_then(|word| word.strip_prefix("STAGE_")?.parse().ok());
            // One that is further behind was begun again.
            let fits = |stage: &u8| written.is_none_or(|written| *stage <= written + 1);
            lane.stage = stage.filter(fits).unwrap_or(lane.stage);
        }
        // While a task is open, the story is at stage 2. The memory of an earlier lead does not count.
        lane.stage = continues_at.filter(|_| lane.is_staged()).unwrap_or(lane.stage);
        // A story that was restarted is at stage 0, which its settings may leave out.
        let listed = lane.stages.iter().copied().filter(|stage| *stage >= lane.stage).min();
        lane.stage = listed.unwrap_or(lane.stage);
        // Validated by another lead: what it gave decides how the quality is judged.
        lane.readiness = validated.filter(|_| lane.is_staged() && lane.stage > 1);
        lane.state = state_of(lane, row, &blockers, taken, is_retry);
        if is_retried(lane, row, &blockers, is_retry) {
            self.continue_unit(at, Some(row.state.lifecycle()));
        }
    }

    /// A step that was done by hand is done: what is on the base is judged with its phase.
    pub(super) fn recover_strange_step(&mut self, at: LaneAt) {
        if self.work.fleet.lanes[at].state != LaneState::Done
            && matches!(self.standing(at, false), Standing::Complete(_))
        {
            match self.is_done_by_hand(at) {
                true => self.leave_to_person(at, LeftBy::Recovering),
                false => self.judge_again(at),
            }
        }
    }
}

/// Where the lane of a unit stands of which no lead remembers anything, by its documents. `taken` says that a session is at
/// it.
pub(super) fn state_of(
    lane: &Lane,
    row: &Row,
    blockers: &[String],
    taken: Option<String>,
    is_retry: bool,
) -> LaneState {
    if is_retried(lane, row, blockers, is_retry) {
        return again(Some(Lifecycle::Running), "the user retries it");
    }
    match (&row.state, held_because(&row.state, blockers), taken) {
        (_, Some(_), _) if is_put_off(lane, row) => LaneState::Queued,
        (_, Some(reason), _) | (State::Running | State::Waiting, None, Some(reason)) => LaneState::Paused { reason },
        (State::Queued, None, _) => LaneState::Queued,
        (State::Done, None, _) => LaneState::Done,
        (_, None, _) => again(Some(Lifecycle::Running), "no lead remembers its worker"),
    }
}

/// Whether an earlier lead put a unit off because another one was paused: it has its turn when that is done.
fn is_put_off(lane: &Lane, row: &Row) -> bool {
    !lane.depends_on.is_empty() && matches!(&row.state, State::Paused { reason: Some(why) } if waits(why))
}

/// Whether the user's retry continues a unit. A blocker is a question to the user: a retry does not answer it.
fn is_retried(lane: &Lane, row: &Row, blockers: &[String], is_retry: bool) -> bool {
    let is_stopped = matches!(row.state, State::Paused { .. } | State::Failed { .. });
    is_retry && is_stopped && blockers.is_empty() && !is_put_off(lane, row)
}
