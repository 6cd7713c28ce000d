//! Takes up what an earlier lead left: adopts workers that live, judges those that are dead. A fresh start is the case
//! in which nothing was left.

use std::path::Path;

use piton_dialect::pipeline;
use piton_model::fleet::{Counts, End, FleetEvent, How, LaneAt, LaneState, StageResult, Standing};
use piton_model::hint::verbs;
use piton_model::{Dialect, Event, Lifecycle, Liveness, Row, State, StepState, UnitRef};
use piton_store::journal::Entry;
use piton_supervisor::{Condition, Exit, Reading, Worker};

use super::approvals::Question;
use super::lead::{Lead, Live, steady};
use super::memory::{Origin, SavedState, adopted};
use super::others::was_stopped;
use super::{RunError, RunRequest, failed};
use crate::record::DiskFiles;

/// Whether an event begins a unit anew.
pub(super) fn is_beginning(entry: &Entry) -> bool {
    matches!(entry.event.as_str(), "started" | "restarted")
}

impl Lead<'_> {
    /// Brings every lane to where it was left.
    pub(super) fn recover(&mut self, request: &RunRequest) -> Result<(), RunError> {
        self.end_old_gates();
        self.finish_records();
        let now = self.time();
        if self.run.leads <= 1 {
            self.forget_denials();
        }
        self.work.fleet.parked = self.memory.parked.clone();
        self.work.fleet.parked.retain(|_, until| *until > now && !request.retry);
        let rows = crate::status(self.workspace, None, now).rows;
        for at in 0..self.work.fleet.lanes.len() {
            self.forget_other_lives(at);
            let (unit, step) = (self.work.lanes[at].unit.clone(), self.work.lanes[at].step.is_some());
            let row = rows.iter().find(|row| unit.means(row.dialect, &row.full_name));
            self.recover_lane(at, row.filter(|_| !step), request)?;
        }
        for at in 0..self.work.fleet.lanes.len() {
            if self.work.fleet.lanes[at].state == LaneState::Done && self.is_left_on_its_branch(at) {
                let is_whole = self.work.lanes[at].step.is_none();
                match is_whole && self.is_finished_by_person(at) {
                    true => self.take_finished(at, request.retry),
                    false => self.judge_again(at),
                }
            }
            self.hold_unknown_work(at, &rows);
        }
        for at in 0..self.work.fleet.groups.len() {
            self.recover_group(at, request);
        }
        self.save()
    }

    /// Whether a lane that its documents call done has work on a branch of ours that did not reach the base: its worker
    /// recorded it, and no lead merged it yet. What git cannot tell is left to the merge.
    fn is_left_on_its_branch(&self, at: LaneAt) -> bool {
        let Some(known) = self.memory.lanes.get(&self.work.fleet.lanes[at].name) else { return false };
        let (Some(repository), Some(base)) = (&self.repository, &self.memory.run.base) else { return false };
        let Some(branch) = known.branch.as_ref().filter(|_| known.merged.is_none()) else { return false };
        let Ok(Some(tip)) = repository.tip(branch) else { return false };
        matches!(repository.is_reachable(&tip, &format!("refs/heads/{base}")), Ok(false))
    }

    /// Holds a lane back that was begun, by a lead of which no memory is left, on a branch that is not merged. Of a story, task
    /// or agent that its document calls done nothing more is asked.
    fn hold_unknown_work(&mut self, at: LaneAt, rows: &[Row]) {
        let lane = &self.work.fleet.lanes[at];
        let known = self.memory.lanes.get(&lane.name);
        let is_known = known.is_some_and(|known| known.branch.is_some() || known.origin.attempt > 0);
        let unit = &self.work.lanes[at].unit;
        let row = rows.iter().find(|row| unit.means(row.dialect, &row.full_name));
        let has_begun = match (&self.work.lanes[at].step, &lane.state) {
            (Some(_), state) => *state == LaneState::Done,
            (None, state) => !matches!(state, LaneState::Queued | LaneState::Done | LaneState::Paused { .. }),
        };
        let is_step = self.work.lanes[at].step.is_some();
        let is_open = is_step || row.is_some_and(|row| row.state.lifecycle() != Lifecycle::Done);
        // A unit that a person restarted leaves its old branch behind, on purpose.
        let is_restarted = self.events_of(unit).iter().any(|entry| entry.event == "restarted");
        if is_known || !is_open || !has_begun || is_restarted {
            return;
        }
        if let Some(reason) = self.left_on_branches(at).or_else(|| self.left_by_namesake(at)) {
            self.tell_lane(at, "paused", &reason);
            self.work.fleet.lanes[at].state = LaneState::Paused { reason };
        }
    }

    /// What the journal says about a unit's present life.
    pub(super) fn origin_of(&self, unit: &UnitRef) -> Origin {
        let events = self.events_of(unit);
        let began = events.iter().rfind(|entry| is_beginning(entry));
        Origin { attempt: events.last().map_or(0, |entry| entry.attempt), began: began.map_or(0, |entry| entry.seq) }
    }

    /// Facts about an earlier life of a lane's unit are history.
    fn forget_other_lives(&mut self, at: LaneAt) {
        let (name, unit) = (self.work.fleet.lanes[at].name.clone(), self.work.lanes[at].unit.clone());
        let Some(known) = self.memory.lanes.get(&name) else { return };
        let now = self.origin_of(&unit);
        let (was, claiming) = (known.origin, known.claiming);
        // A claim that was under way when the lead died came to its end, or did not.
        let is_same_attempt = was.attempt == now.attempt || claiming == Some(now.attempt) || was.attempt == 0;
        // A lane that was not claimed yet knows of no life.
        let is_same_life = was.began == now.began || was == Origin::default();
        // An archived document: what is left of the unit is its journal. A claim that was under way had none yet.
        let is_gone = claiming.is_none() && was.attempt > 0 && self.is_document_gone(at);
        // A board of stories is archived as a whole, to begin anew.
        let is_board = self.work.lanes[at].dialect == Dialect::Pipeline;
        let lane = self.memory.lane(&name);
        if is_gone && lane.workers > 0 && !is_board {
            // It had a worker in this very run: its document was removed by mistake.
            return;
        }
        if !is_same_life || is_gone {
            lane.begin_anew();
        } else if !is_same_attempt {
            lane.forget_attempt();
        } else if claiming == Some(now.attempt) {
            lane.origin = now;
        }
        self.memory.lane(&name).claiming = None;
    }

    fn is_document_gone(&self, at: LaneAt) -> bool {
        let is_whole = self.work.lanes[at].step.is_none();
        is_whole
            && matches!(
                crate::find(self.workspace, &self.work.lanes[at].unit, self.time()),
                Err(crate::NotFound::Nothing { .. })
            )
    }

    fn recover_lane(&mut self, at: LaneAt, row: Option<&Row>, request: &RunRequest) -> Result<(), RunError> {
        let name = self.work.fleet.lanes[at].name.clone();
        let known = self.memory.lanes.get(&name).filter(|lane| lane.origin.attempt > 0 || lane.put_off).cloned();
        let lifecycle = row.map(|row| row.state.lifecycle());
        let Some(known) = known else {
            self.recover_stranger(at, row, request.retry);
            return Ok(());
        };
        if known.claiming.is_none() && known.origin.attempt > 0 && self.is_document_gone(at) {
            let reason = verbs::REPAIR.on(&self.work.lanes[at].unit_name).to("its document is gone; bring it back");
            self.work.fleet.lanes[at].state = LaneState::Paused { reason: reason.to_string() };
            return Ok(());
        }
        let is_step = self.work.lanes[at].step.is_some();
        let lane = &mut self.work.fleet.lanes[at];
        (lane.stage, lane.readiness) = (known.stage, known.readiness);
        lane.counts = Counts {
            crashes: known.crashes,
            no_gos: known.no_gos,
            // A phase that its gate refused has no lane that is paused: its lanes are granted reworks anew.
            reworks: if request.retry && is_step { 0 } else { known.reworks },
            waves: known.put_off_waves,
            ..Counts::default()
        };
        lane.waves_left = lane.waves_left.saturating_sub(known.put_off_waves);
        let is_at_rest = !matches!(
            known.state,
            SavedState::Done | SavedState::Worked { .. } | SavedState::Closing | SavedState::Integrated
        );
        if is_at_rest && lifecycle == Some(Lifecycle::Done) && self.is_finished_by_person(at) {
            self.take_finished(at, request.retry);
            return Ok(());
        }
        // The worker's end was judged, and its step was open then.
        let was_open = matches!(
            known.state,
            SavedState::Dead { .. } | SavedState::Parked { .. } | SavedState::Between | SavedState::Reworking
        );
        if was_open && self.is_done_by_hand(at) {
            self.leave_to_person(at);
            return Ok(());
        }
        match known.state {
            SavedState::Done => self.recover_done(at, lifecycle),
            SavedState::Worked { how } => self.recover_worker(at, how.into())?,
            SavedState::Closing | SavedState::Integrated => self.close_again(at),
            SavedState::Paused { reason } => self.recover_paused(at, &reason, known.put_off, row, request),
            SavedState::Queued => self.recover_stranger(at, row, request.retry),
            SavedState::Between => self.work.fleet.lanes[at].state = LaneState::Between,
            SavedState::Dead { why, how } => {
                self.work.fleet.lanes[at].state = LaneState::Dead { why, how: how.into() };
            }
            SavedState::Reworking => self.rework_again(at),
            SavedState::Parked { until } => {
                let until = piton_dialect::time::read(&until).time().filter(|_| !request.retry);
                self.work.fleet.lanes[at].state = match until {
                    Some(until) => LaneState::Parked { until },
                    None => LaneState::Dead { why: "it waited for a limit".to_owned(), how: How::Session },
                };
                if let Some(until) = until.filter(|until| *until > self.time()) {
                    self.tell_lane(at, "parked", &format!("still parked until {until}: a limit is used up"));
                }
            }
        }
        Ok(())
    }

    /// A lane that was done is done as long as its documents say so.
    fn recover_done(&mut self, at: LaneAt, lifecycle: Option<Lifecycle>) {
        let is_done = match self.work.lanes[at].step {
            Some(_) => matches!(self.standing(at, false), Standing::Complete(_)) || self.is_stashed(at),
            None => lifecycle == Some(Lifecycle::Done),
        };
        let name = self.work.fleet.lanes[at].name.clone();
        self.work.fleet.lanes[at].state = match is_done {
            true => LaneState::Done,
            false => {
                self.memory.lane(&name).forget_attempt();
                self.work.fleet.lanes[at].grant_anew();
                again(lifecycle.or(Some(Lifecycle::Running)), "its document says that it is not done")
            }
        };
    }

    /// Its worker was through, and the lead was closing it: that is judged anew, from the documents.
    pub(super) fn judge_again(&mut self, at: LaneAt) {
        let standing = self.standing(at, true);
        self.judge_as(at, standing);
    }

    /// The same for a lane that an earlier lead had found complete. When its merge came to its end, git shows no change of
    /// it any more: the files that it was to make are proof enough.
    fn close_again(&mut self, at: LaneAt) {
        let standing = match self.standing(at, true) {
            Standing::Open | Standing::Unproved { .. } if self.has_outputs(at) => Standing::Complete(StageResult::Done),
            standing => standing,
        };
        self.judge_as(at, standing);
    }

    fn judge_as(&mut self, at: LaneAt, standing: Standing) {
        self.recover_lane_approval(at);
        let account = self.memory.lane(&self.work.fleet.lanes[at].name.clone()).account.clone();
        self.work.fleet.lanes[at].state = adopted(How::Fresh, account, steady());
        self.queue.push_back(FleetEvent::WorkerExited { lane: at, end: End::Exited(0), standing, words: None });
    }

    /// An approval of a lane that changes its own gates is for the commit that its branch is at.
    fn recover_lane_approval(&mut self, at: LaneAt) {
        let (name, unit) = (self.work.fleet.lanes[at].name.clone(), self.work.lanes[at].unit_name.clone());
        let (Some(repository), Some(branch)) = (&self.repository, self.memory.lane(&name).branch.clone()) else {
            return;
        };
        if let Ok(Some(tip)) = repository.tip(&branch)
            && self.take_approval(&unit, &Question::own_gates(&name, &tip))
        {
            self.memory.lane(&name).approved = Some(tip);
        }
    }

    fn rework_again(&mut self, at: LaneAt) {
        let name = self.work.fleet.lanes[at].name.clone();
        let why = self.memory.lane(&name).rework.last().cloned();
        self.work.fleet.lanes[at].state = match why {
            Some(why) => LaneState::Reworking { why },
            None => LaneState::Dead { why: "its rework was interrupted".to_owned(), how: How::Session },
        };
    }

    /// A paused lane goes on when a person asks for it, or took the pause away.
    fn recover_paused(&mut self, at: LaneAt, reason: &str, was_put_off: bool, row: Option<&Row>, request: &RunRequest) {
        let lifecycle = row.map(|row| row.state.lifecycle());
        let was_freed = match row {
            Some(row) => {
                matches!(row.state.lifecycle(), Lifecycle::Running | Lifecycle::Waiting)
                    && (row.liveness != Liveness::Alive || self.freed_by(at).is_some())
            }
            None => self.unblocked_by(at).is_some(),
        };
        if was_put_off {
            self.work.fleet.lanes[at].state = LaneState::Queued;
            return;
        }
        if self.is_done_by_hand(at) {
            self.leave_to_person(at);
            return;
        }
        // A blocker is a question to a person: `--retry` is no answer to it.
        if let Some(question) = self.open_question(at, reason) {
            self.work.fleet.lanes[at].state = LaneState::Paused { reason: question };
            return;
        }
        if !request.retry && !was_freed {
            self.work.fleet.lanes[at].state = LaneState::Paused { reason: reason.to_owned() };
            return;
        }
        self.work.fleet.lanes[at].grant_anew();
        self.continue_unit(at, lifecycle);
        let standing = self.standing(at, true);
        match standing {
            // Only the merge or the record was refused: that is done again, not the work.
            Standing::Complete(_) => self.judge_again(at),
            _ if self.memory.lane(&self.work.fleet.lanes[at].name.clone()).home.is_none() => {
                self.work.fleet.lanes[at].state = again(lifecycle, "freed by the user");
            }
            _ => {
                let why = "freed by the user".to_owned();
                self.work.fleet.lanes[at].state = LaneState::Dead { why, how: How::Session };
            }
        }
    }

    /// A step that a person did is done; what its workers left stays on their branch.
    fn leave_to_person(&mut self, at: LaneAt) {
        let branch = self.memory.lane(&self.work.fleet.lanes[at].name.clone()).branch.take();
        let left = branch.map_or_else(String::new, |branch| format!("; its branch {branch} is left as it is"));
        self.tell_lane(at, "settled", &format!("it was done by hand{left}"));
        self.work.fleet.lanes[at].state = LaneState::Done;
    }

    /// Whether a step that its workers did not come to the end of is done now: then a person did it.
    fn is_done_by_hand(&mut self, at: LaneAt) -> bool {
        let Some(step) = self.work.lanes[at].step.clone() else { return false };
        let memory = self.memory.lane(&self.work.fleet.lanes[at].name.clone());
        let was_complete = memory.seen.is_some() || memory.merged.is_some() || memory.collected.is_some();
        let is_done = |unit: &piton_model::Unit| {
            unit.steps.iter().any(|known| known.id == step && matches!(known.state, StepState::Done { .. }))
        };
        // What a person did is where they work. A worker that writes documents by hand may have called it done.
        let is_made = |path: &String| self.workspace.root().join(path).exists();
        !was_complete
            && !self.is_workers_word(at, &step)
            && self.work.lanes[at].outputs.iter().all(is_made)
            && self.unit_of(at).is_ok_and(|unit| is_done(&unit))
    }

    /// Takes the pause of a story or a task away. What it was paused for is then judged again; what was complete stays so.
    fn continue_unit(&mut self, at: LaneAt, lifecycle: Option<Lifecycle>) {
        let knows_pauses = match self.work.lanes[at].dialect {
            Dialect::Pipeline | Dialect::Task => true,
            Dialect::Plan | Dialect::Build | Dialect::Crew => false,
        };
        if !knows_pauses || lifecycle != Some(Lifecycle::Paused) {
            return;
        }
        if let Err(why) = self.record_lane(at, &Event::Unblocked { which: None, answer: None }) {
            let name = self.work.fleet.lanes[at].name.clone();
            self.memory.issues.push((name, "record".to_owned(), why));
        }
    }

    /// A unit of which no lead remembers anything that still holds.
    fn recover_stranger(&mut self, at: LaneAt, row: Option<&Row>, is_retry: bool) {
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
        let is_resumed = !is_story && is_open && self.is_resumed_by_hand(at);
        if is_resumed && matches!(self.standing(at, true), Standing::Complete(_)) {
            // A person completed what its workers had left, or judged it: only the merge is left.
            self.judge_again(at);
            return;
        }
        let is_taken = !is_retry && self.has_living_session(at, row);
        let lane = &mut self.work.fleet.lanes[at];
        if lane.is_staged() {
            lane.stage = written.unwrap_or(lane.stage);
        }
        if let Some(known) = known {
            (lane.counts.crashes, lane.counts.no_gos, lane.counts.reworks) =
                (known.crashes, known.no_gos, known.reworks);
            let stage = known.standing.as_deref().and_then(|word| word.strip_prefix("STAGE_")?.parse().ok());
            lane.stage = stage.unwrap_or(lane.stage);
        }
        // Where a task is open, stage 2 goes on, whatever an earlier lead wrote down.
        lane.stage = continues_at.filter(|_| lane.is_staged()).unwrap_or(lane.stage);
        lane.state = match (&row.state, held_because(&row.state, &blockers)) {
            (_, Some(reason)) => LaneState::Paused { reason },
            (State::Running | State::Waiting, None) if is_taken => {
                LaneState::Paused { reason: "another session is at work on it, until it ends".to_owned() }
            }
            (State::Queued, None) => LaneState::Queued,
            (State::Done, None) => LaneState::Done,
            (_, None) => again(Some(Lifecycle::Running), "no lead remembers its worker"),
        };
        // A blocker is a question to the user: `--retry` does not answer it.
        if is_retry && blockers.is_empty() && matches!(row.state, State::Paused { .. } | State::Failed { .. }) {
            self.continue_unit(at, Some(row.state.lifecycle()));
            self.work.fleet.lanes[at].state = again(Some(Lifecycle::Running), "the user retries it");
        }
    }

    /// A step that was done by hand is done: what is on the base is judged with its phase.
    fn recover_strange_step(&mut self, at: LaneAt) {
        if self.work.fleet.lanes[at].state != LaneState::Done
            && matches!(self.standing(at, false), Standing::Complete(_))
        {
            self.judge_again(at);
        }
    }

    /// A lane that had a worker: it lives, or its end is judged, or it never began.
    fn recover_worker(&mut self, at: LaneAt, how: How) -> Result<(), RunError> {
        let name = self.work.fleet.lanes[at].name.clone();
        let (home, account) = (self.memory.lane(&name).home.clone(), self.memory.lane(&name).account.clone());
        let worker = match home.as_deref().map(|home| Worker::adopt(&self.keeper, &self.workspace.root().join(home))) {
            Some(Ok(worker)) => worker,
            // Claimed, and never started: that is no death.
            Some(Err(_)) | None => {
                self.work.fleet.lanes[at].state = not_begun(how);
                return Ok(());
            }
        };
        let end = match worker.condition().map_err(failed)? {
            Condition::Running { .. } => {
                self.work.fleet.lanes[at].state = adopted(how, account, steady());
                self.watch.add(at as u64, &worker).map_err(failed)?;
                let reading = Reading::new(self.kind_of(at), &worker);
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
        self.work.fleet.lanes[at].state = adopted(how, account, steady());
        let judged = self.judge_end(at, &worker, &end);
        if was_stopped(worker.home()) && !matches!(judged.standing, Standing::Complete(_) | Standing::Halted { .. }) {
            // A person ended it with its run: that is no death to be counted.
            self.work.fleet.lanes[at].state =
                LaneState::Dead { why: "the run was ended".to_owned(), how: How::Session };
            return Ok(());
        }
        if judged.end != End::Exited(0) {
            self.tell_lane(at, "judged", "its worker ended while no lead was at work");
        }
        self.queue.push_back(FleetEvent::WorkerExited {
            lane: at,
            end: judged.end,
            standing: judged.standing,
            words: judged.words,
        });
        Ok(())
    }

    /// Ends gates that an earlier lead started: they are run again, so that their result is seen.
    fn end_old_gates(&mut self) {
        for home in std::mem::take(&mut self.memory.gate_homes) {
            let path = self.workspace.root().join(Path::new(&home));
            if let Ok(gate) = Worker::adopt(&self.keeper, &path) {
                // One that cannot be ended belongs to no worker; the new one is judged by itself.
                let _ = gate.force_end();
            }
        }
    }
}

/// Why a unit's documents keep the lead from starting a worker for it.
pub(super) fn held_because(state: &State, blockers: &[String]) -> Option<String> {
    match state {
        State::Paused { reason } => Some(reason.clone().unwrap_or_else(|| "it was paused by hand".to_owned())),
        State::Blocked if blockers.is_empty() => Some("it is blocked".to_owned()),
        State::Blocked => Some(blockers.join("; ")),
        State::Failed { error } => Some(error.clone()),
        State::Unknown => Some("its status is not understood".to_owned()),
        State::Queued | State::Running | State::Waiting | State::Done => None,
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
