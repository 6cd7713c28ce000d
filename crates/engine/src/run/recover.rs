//! Takes up what an earlier lead left: adopts workers that live, judges those that are dead. A fresh start is the case
//! in which nothing was left.

use std::path::Path;

use piton_model::fleet::{Approval, End, FleetEvent, How, LaneAt, LaneState, Standing};
use piton_model::{Dialect, Lifecycle, Liveness, State};
use piton_supervisor::{Condition, Exit, Reading, Worker};

use super::approvals::take_approval;
use super::lead::{Lead, Live, steady};
use super::memory::{Stored, adopted};
use super::{RunError, RunRequest, failed};

impl Lead<'_> {
    /// Brings every lane to where it was left.
    pub(super) fn recover(&mut self, request: &RunRequest) -> Result<(), RunError> {
        self.end_old_gates();
        self.finish_records();
        let now = self.time();
        if std::mem::take(&mut self.memory.is_finished) {
            (self.memory.started, self.memory.leads) = (None, 0);
            self.memory.issues.clear();
        }
        self.memory.leads += 1;
        self.memory.started.get_or_insert(now);
        let rows = crate::status(self.workspace, None, now).rows;
        for at in 0..self.work.fleet.lanes.len() {
            let (unit, step) = (self.work.lanes[at].unit.clone(), self.work.lanes[at].step.is_some());
            let row = rows.iter().find(|row| unit.means(row.dialect, &row.full_name));
            self.recover_lane(at, row.filter(|_| !step), request)?;
        }
        for at in 0..self.work.fleet.groups.len() {
            self.recover_group(at, request);
            if request.retry {
                self.retry_group(at);
            }
        }
        self.work.fleet.parked_until = self.memory.parked_until.filter(|until| *until > now);
        self.save()
    }

    fn recover_lane(
        &mut self,
        at: LaneAt,
        row: Option<&piton_model::Row>,
        request: &RunRequest,
    ) -> Result<(), RunError> {
        let lifecycle = row.map(|row| row.state.lifecycle());
        let stored = self.memory.recall(&mut self.work.fleet.lanes[at]);
        let is_called_done = self.work.fleet.lanes[at].state == LaneState::Done || lifecycle == Some(Lifecycle::Done);
        if is_called_done && self.is_done(at, stored.as_ref()) {
            self.work.fleet.lanes[at].state = LaneState::Done;
            return Ok(());
        }
        let is_paused = matches!(stored, Some(Stored::State(LaneState::Paused { .. }))) && !request.retry;
        let may_be_complete = self.work.lanes[at].step.is_some() || is_called_done;
        if may_be_complete && !is_paused && !matches!(stored, Some(Stored::Worked(_))) {
            let standing = self.standing(at, false);
            if matches!(standing, Standing::Complete(_)) {
                // Its work is done, and not yet closed: what is left is the lead's.
                self.work.fleet.lanes[at].state = adopted(How::Fresh, steady());
                self.queue.push_back(FleetEvent::WorkerExited { lane: at, end: End::Exited(0), standing });
                return Ok(());
            }
        }
        let lane = &mut self.work.fleet.lanes[at];
        match stored {
            Some(Stored::Worked(how)) => self.recover_worker(at, how)?,
            // Its document says that it is not done after all.
            Some(Stored::State(LaneState::Done)) => lane.state = LaneState::Queued,
            Some(Stored::State(LaneState::Paused { reason })) => {
                let was_put_off = self.memory.lanes.get(&lane.name).is_some_and(|memory| memory.put_off);
                // Somebody who took the pause away lets it go on.
                let was_freed = matches!(lifecycle, Some(Lifecycle::Running | Lifecycle::Waiting))
                    && row.is_some_and(|row| row.liveness != Liveness::Alive);
                let is_free = request.retry || was_put_off || was_freed;
                lane.state = match is_free {
                    true => {
                        lane.counts = Default::default();
                        let is_step = self.work.lanes[at].step.is_some();
                        let begun = lifecycle.or(is_step.then_some(Lifecycle::Running));
                        again(begun.filter(|_| !was_put_off), "a person lets it go on")
                    }
                    false => LaneState::Paused { reason },
                };
            }
            Some(Stored::State(state)) => lane.state = state,
            None => self.recover_stranger(at, row),
        }
        Ok(())
    }

    /// Whether a lane is done that its document calls done, by what an earlier lead knew of it.
    fn is_done(&self, at: LaneAt, stored: Option<&Stored>) -> bool {
        match stored {
            None | Some(Stored::State(LaneState::Done | LaneState::Queued)) => true,
            // It may still have to be merged; then its lane was being closed.
            Some(Stored::Worked(_)) => false,
            // Somebody may have called done what is not there, or what is not merged yet.
            Some(Stored::State(_)) => {
                let is_story = self.work.lanes[at].dialect == Dialect::Pipeline;
                let tree = self.worktree_of(at).map(|tree| self.workspace.root().join(tree));
                let is_open = tree.is_some_and(|tree| tree.exists()) && !is_story;
                !is_open && !matches!(self.standing(at, false), Standing::Unproved { .. })
            }
        }
    }

    /// A unit that has begun and that no lead remembers.
    fn recover_stranger(&mut self, at: LaneAt, row: Option<&piton_model::Row>) {
        let Some(row) = row else { return };
        let known = self.known_story(at);
        // What a person began by hand may stand in its own document alone.
        let written = self.document_stage(at);
        let lane = &mut self.work.fleet.lanes[at];
        lane.stage = written.filter(|_| lane.stages > 1).unwrap_or(lane.stage);
        if let Some(known) = known {
            (lane.counts.crashes, lane.counts.no_gos, lane.counts.reworks) =
                (known.crashes, known.no_gos, known.reworks);
            let stage = known.standing.as_deref().and_then(|word| word.strip_prefix("STAGE_")?.parse().ok());
            lane.stage = stage.unwrap_or(lane.stage);
        }
        lane.state = match &row.state {
            State::Queued => LaneState::Queued,
            State::Running | State::Waiting => again(Some(Lifecycle::Running), "nobody remembers its worker"),
            State::Paused { reason } => {
                LaneState::Paused { reason: reason.clone().unwrap_or_else(|| "somebody paused it".to_owned()) }
            }
            State::Blocked => LaneState::Paused { reason: "it is blocked".to_owned() },
            State::Failed { error } => LaneState::Paused { reason: error.clone() },
            State::Done => LaneState::Done,
            State::Unknown => LaneState::Paused { reason: "where it stands is not understood".to_owned() },
        };
    }

    /// A lane that had a worker: it lives, or its end is judged, or it never began.
    fn recover_worker(&mut self, at: LaneAt, how: How) -> Result<(), RunError> {
        let name = self.work.fleet.lanes[at].name.clone();
        let home = self.memory.lane(&name).home.clone();
        let worker = match home.as_deref().map(|home| Worker::adopt(&self.keeper, &self.workspace.root().join(home))) {
            Some(Ok(worker)) => worker,
            // Claimed, and never started: nobody died.
            Some(Err(_)) | None => {
                self.work.fleet.lanes[at].state = not_begun(how);
                return Ok(());
            }
        };
        let end = match worker.condition().map_err(failed)? {
            Condition::Running { .. } => {
                self.work.fleet.lanes[at].state = adopted(how, steady());
                self.watch.add(at as u64, &worker).map_err(failed)?;
                let reading = Reading::new(&self.settings.adapter, &worker);
                self.live.insert(at, Live::new(worker, reading));
                self.tell_lane(at, "adopted", "its worker lives and goes on");
                return Ok(());
            }
            Condition::Orphaned { .. } => worker.force_end().map_err(failed)?,
            Condition::Ended(end) => end,
        };
        if let Exit::NotStarted { .. } = end.exit {
            self.work.fleet.lanes[at].state = not_begun(how);
            return Ok(());
        }
        self.work.fleet.lanes[at].state = adopted(how, steady());
        let (end, standing) = self.judge_end(at, &worker, &end);
        if end != End::Exited(0) {
            self.tell_lane(at, "judged", "its worker ended while nobody led");
        }
        self.queue.push_back(FleetEvent::WorkerExited { lane: at, end, standing });
        Ok(())
    }

    fn recover_group(&mut self, at: usize, request: &RunRequest) {
        let group = &mut self.work.fleet.groups[at];
        self.memory.recall_group(group);
        if request.retry {
            group.halted = None;
        }
        let waiting = group
            .phases
            .iter_mut()
            .find(|phase| matches!(phase.approval, Approval::Asked | Approval::Needed) && !phase.closed);
        if let Some(phase) = waiting
            && take_approval(self.workspace, &group.name)
        {
            phase.approval = Approval::Given;
        }
        if self.is_yes {
            for phase in &mut group.phases {
                phase.approval = Approval::NotNeeded;
            }
        }
    }

    /// A unit that several lanes share and that failed is taken up again before anything of it goes on.
    fn retry_group(&mut self, group: usize) {
        let first = (0..self.work.lanes.len()).find(|at| self.work.fleet.lanes[*at].group == group);
        let (Some(first), Some(unit)) = (first, self.work.groups[group].unit.clone()) else { return };
        let Ok(found) = crate::find(self.workspace, &unit, self.time()) else { return };
        let is_stuck = matches!(found.unit.state.lifecycle(), Lifecycle::Failed | Lifecycle::Paused);
        if !is_stuck || self.live.keys().any(|at| self.work.fleet.lanes[*at].group == group) {
            return;
        }
        match self.claim_whole(first, "lead") {
            Ok(claimed) => self.claimed[group] = Some(claimed.ticket.attempt),
            Err(why) => self.memory.issues.push((unit.to_string(), "resume".to_owned(), why)),
        }
    }

    /// Ends gates that an earlier lead started: they are run again, so that their result is seen.
    fn end_old_gates(&mut self) {
        for home in std::mem::take(&mut self.memory.gate_homes) {
            let path = self.workspace.root().join(Path::new(&home));
            if let Ok(gate) = Worker::adopt(&self.keeper, &path) {
                // One that cannot be ended is nobody's worker; the new one is judged by itself.
                let _ = gate.force_end();
            }
        }
    }
}

/// A lane whose worker was to be started and was not.
fn not_begun(how: How) -> LaneState {
    match how {
        How::Fresh => LaneState::Between,
        How::Session | How::Brief => LaneState::Dead { why: "its lead died before it began".to_owned(), how },
    }
}

/// A lane that goes on, however far it was.
fn again(lifecycle: Option<Lifecycle>, why: &str) -> LaneState {
    match lifecycle {
        None | Some(Lifecycle::Queued) => LaneState::Queued,
        Some(_) => LaneState::Dead { why: why.to_owned(), how: How::Session },
    }
}
