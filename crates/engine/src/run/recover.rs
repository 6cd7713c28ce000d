//! Takes up what an earlier lead left: adopts workers that live, judges those that are dead. A fresh start is the case
//! in which nothing was left.

use piton_model::fleet::{Counts, End, FleetEvent, Halt, How, LaneAt, LaneState, StageResult, Standing};
use piton_model::{Dialect, Event, Hint, Lifecycle, Liveness, Row, State, Step, StepState, Unit, UnitRef};
use piton_store::journal::Entry;

use super::approvals::Question;
use super::by_hand::{LeftBy, begun_by_person};
use super::lead::{Lead, steady};
use super::memory::{Origin, SavedState, adopted};
use super::other_work::is_retitled;
use super::taken_back::added_steps;
use super::{RunError, RunRequest};

/// Whether an event begins a unit anew.
pub(super) fn is_beginning(entry: &Entry) -> bool {
    matches!(entry.event.as_str(), "started" | "restarted")
}

impl Lead<'_> {
    /// Brings every lane to where it was left.
    pub(super) fn recover(&mut self, request: &RunRequest) -> Result<(), RunError> {
        self.memory.is_recovering = true;
        self.end_old_gates();
        self.finish_records();
        self.restore_taken_back();
        self.set_all_right();
        self.put_back_unled();
        let now = self.time();
        if self.run.leads <= 1 {
            self.forget_denials();
        }
        self.work.fleet.parked = self.memory.parked.clone();
        self.work.fleet.parked.retain(|_, until| *until > now && !request.retry);
        for at in 0..self.work.fleet.lanes.len() {
            let known = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
            // Where a worker may still be at work, its end is judged.
            if !known.is_some_and(|known| matches!(known.state, SavedState::Worked { .. })) {
                self.reopen_partial(at);
            }
        }
        self.take_up_branches();
        self.note_tips();
        self.lift_pauses(request.retry);
        let rows = crate::status(self.workspace, None, now).rows;
        for at in 0..self.work.fleet.lanes.len() {
            self.forget_other_lives(at);
            if self.begin_other_work(at) {
                continue;
            }
            let (unit, step) = (self.work.lanes[at].unit.clone(), self.work.lanes[at].step.is_some());
            let row = rows.iter().find(|row| unit.means(row.dialect, &row.full_name));
            self.recover_lane(at, row.filter(|_| !step), request)?;
            self.hold_other_work(at, request.retry);
        }
        for at in 0..self.work.fleet.lanes.len() {
            if self.work.fleet.lanes[at].state == LaneState::Done && self.is_left_on_its_branch(at) {
                let is_whole = self.work.lanes[at].step.is_none();
                match is_whole {
                    true if self.is_finished_by_person(at) => self.take_finished(at, request.retry),
                    false if self.is_done_by_hand(at) => self.leave_to_person(at, LeftBy::Recovering),
                    _ => self.judge_again(at),
                }
            }
            self.hold_unknown_work(at, &rows);
            self.hold_done_elsewhere(at, request.retry);
        }
        self.tick_discarded();
        for at in 0..self.work.fleet.groups.len() {
            self.recover_group(at, request);
            if let Err(reason) = self.leave_out_removed(at) {
                let name = self.work.fleet.groups[at].name.clone();
                self.tell(Some(&name), "halted", &reason);
                let halt = Halt { reason, lane: None, is_failure: false, recorded: false };
                self.work.fleet.groups[at].halted.get_or_insert(halt);
            }
        }
        for at in 0..self.work.fleet.lanes.len() {
            let last = self.events_of(&self.work.lanes[at].unit).last().map_or(0, |entry| entry.seq);
            self.begun_with.insert(at, last);
        }
        self.tell_added_subtasks();
        self.tell_retitled();
        self.memory.is_recovering = false;
        self.save()
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
        // A claim that was under way when the lead died came to its end, or did not. One that was refused may be followed
        // by a person's.
        let is_persons = begun_by_person(&self.events_of(&unit)).is_some();
        let (was, claiming) = (known.origin, known.claiming.filter(|_| !is_persons));
        let is_same_attempt = was.attempt == now.attempt || claiming == Some(now.attempt) || was.attempt == 0;
        // A lane that was not claimed yet knows of no life.
        // A journal that was made shorter may lack the beginning.
        let is_same_life = was.began == now.began || was == Origin::default() || now.began == 0;
        // An archived document: what is left of the unit is its journal. A claim that was under way had none yet.
        let is_gone = claiming.is_none() && was.attempt > 0 && self.is_document_gone(at);
        let is_kept = is_gone && (self.work.lanes[at].step.is_some() || self.is_finished_and_away(at));
        // A board of stories is archived as a whole to begin anew: when its run is finished, or for another story of that
        // name. One that the user stashed comes back.
        let events = self.events_of(&unit);
        let is_renamed = || is_retitled(&self.work.lanes[at], Some(known), &events);
        let is_board = self.work.lanes[at].dialect == Dialect::Pipeline && (self.run.leads <= 1 || is_renamed());
        let is_archived = is_gone && is_board && !self.is_in_stash(&self.document_of(at));
        // A task whose document was tidied away is begun anew for what its list got since.
        let is_task = self.work.lanes[at].dialect == Dialect::Task;
        let is_more = is_task && is_gone && !is_kept && known.state == SavedState::Done;
        let is_same = is_more && !is_renamed() && self.is_merge_on_base(at);
        let added = if is_same { added_steps(&self.work.lanes[at], known, &events) } else { Vec::new() };
        // A question stays one in the next attempt.
        let is_asked = match &known.state {
            SavedState::Paused { reason } => self.open_question(at, reason).is_some(),
            _ => false,
        };
        let lane = self.memory.lane(&name);
        if is_kept || is_gone && lane.workers > 0 && !is_archived {
            // It had a worker in this very run: its document was removed by mistake.
            return;
        }
        if !is_same_life || is_gone {
            lane.begin_anew();
            if !added.is_empty() {
                let listed = &self.work.lanes[at].start.steps;
                lane.listed.done_before = listed.iter().filter(|step| !added.contains(step)).cloned().collect();
            }
        } else if !is_same_attempt && is_asked {
            lane.origin = now;
        } else if !is_same_attempt {
            lane.forget_attempt();
        } else if claiming == Some(now.attempt) {
            lane.origin = now;
        }
        let lane = self.memory.lane(&name);
        lane.claiming = None;
        // What an earlier life did is not asked for again.
        self.work.lanes[at].start.steps.retain(|step| !lane.listed.done_before.contains(step));
    }

    pub(super) fn is_document_gone(&self, at: LaneAt) -> bool {
        let found = crate::find(self.workspace, &self.work.lanes[at].unit, self.time());
        matches!(found, Err(crate::NotFound::Nothing { .. }))
    }

    /// Why a lane waits whose unit has no document, with what brings it back.
    #[track_caller]
    pub(super) fn gone(&self, at: LaneAt) -> Hint {
        let work = &self.work.lanes[at];
        let known = crate::lost::lost(self.workspace, &work.unit, self.time()).map(|lost| lost.document);
        super::ways::gone(self.workspace, &work.unit_name, &known.unwrap_or_else(|| self.document_of(at)), self.time())
    }

    /// Whether a unit that several lanes share was begun in this life, by whichever of them, and its document is gone.
    pub(super) fn is_shared_document_gone(&self, at: LaneAt) -> bool {
        let group = &self.work.fleet.groups[self.work.fleet.lanes[at].group].name;
        let has_begun = self.memory.groups.get(group).is_some_and(|known| known.origin.attempt > 0);
        self.work.lanes[at].step.is_some() && has_begun && self.is_document_gone(at)
    }

    fn recover_lane(&mut self, at: LaneAt, row: Option<&Row>, request: &RunRequest) -> Result<(), RunError> {
        let name = self.work.fleet.lanes[at].name.clone();
        let known = self.memory.lanes.get(&name).filter(|lane| lane.is_remembered()).cloned();
        let lifecycle = row.map(|row| row.state.lifecycle());
        if let Some(heir) = self.is_done_by_heir(at) {
            self.tell_lane(at, "settled", &format!("it was done as {heir}"));
            self.work.fleet.lanes[at].state = LaneState::Done;
            return Ok(());
        }
        if let Some(reason) = self.is_continued_by(at) {
            self.hold(at, reason.to_string());
            return Ok(());
        }
        let is_done = known.as_ref().is_some_and(|known| known.state == SavedState::Done);
        if !is_done && self.is_shared_document_gone(at) {
            let reason = self.gone(at);
            self.work.fleet.lanes[at].state = LaneState::Paused { reason: reason.to_string() };
            return Ok(());
        }
        let Some(known) = known else {
            self.recover_stranger(at, row, request.retry);
            return Ok(());
        };
        if known.state == SavedState::Done && self.is_done_without_document(at) {
            self.work.fleet.lanes[at].state = LaneState::Done;
            return Ok(());
        }
        let is_step = self.work.lanes[at].step.is_some();
        if is_step && is_done && self.is_document_gone(at) {
            self.work.fleet.lanes[at].state = LaneState::Done;
            return Ok(());
        }
        if self.settle_off_base(at, &known, lifecycle, request.retry) {
            return Ok(());
        }
        if known.claiming.is_none() && known.origin.attempt > 0 && !is_step && self.is_document_gone(at) {
            let reason = self.gone(at);
            self.work.fleet.lanes[at].state = LaneState::Paused { reason: reason.to_string() };
            return Ok(());
        }
        let lane = &mut self.work.fleet.lanes[at];
        // A stage that the settings leave out since is followed by the next.
        let stage = lane.stages.iter().copied().filter(|stage| *stage >= known.stage).min().unwrap_or(known.stage);
        (lane.stage, lane.readiness) = (stage, known.readiness);
        lane.counts = Counts {
            crashes: known.crashes,
            taken: known.taken,
            no_gos: known.no_gos,
            // A phase that its gate refused has no lane that is paused: its lanes are granted reworks anew.
            reworks: if request.retry && is_step { 0 } else { known.reworks },
            waves: known.put_off_waves,
            ..Counts::default()
        };
        lane.waves_left = lane.waves_left.saturating_sub(known.put_off_waves);
        if let Some(stage) = self.taken_back_to(at).or_else(|| self.begun_since(at)) {
            self.work.fleet.lanes[at].stage = stage;
        }
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
            self.leave_to_person(at, LeftBy::Recovering);
            return Ok(());
        }
        self.overrule_again(at);
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
                    self.tell_lane(at, "parked", &format!("still parked until {until}: {}", self.limit_of(at)));
                }
            }
        }
        Ok(())
    }

    /// A lane that was done is done as long as its documents say so.
    pub(super) fn recover_done(&mut self, at: LaneAt, lifecycle: Option<Lifecycle>) {
        let is_done = match self.work.lanes[at].step {
            Some(_) => matches!(self.standing(at, false), Standing::Complete(_)) || self.is_untick_of_git(at),
            None => lifecycle == Some(Lifecycle::Done) || self.is_brought_back(at),
        };
        let name = self.work.fleet.lanes[at].name.clone();
        self.work.fleet.lanes[at].state = match is_done {
            true => LaneState::Done,
            false => {
                let is_off_base = self.is_merge_off_base(at);
                self.memory.lane(&name).forget_attempt();
                if is_off_base && self.work.lanes[at].step.is_some() {
                    // Its branch is built on what the user took off the base: it begins on another one.
                    (self.memory.lane(&name).branch, self.memory.lane(&name).worktree) = (None, None);
                }
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

    pub(super) fn judge_as(&mut self, at: LaneAt, standing: Standing) {
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
            && self.take_approval(&unit, &Question::own_gates(&name, &tip, None))
        {
            self.memory.lane(&name).approved = Some(tip);
        }
    }

    /// A lead that died when a gate or a merge had refused a story may not have recorded that over the judge's verdict.
    fn overrule_again(&mut self, at: LaneAt) {
        let name = self.work.fleet.lanes[at].name.clone();
        let Some(why) = self.memory.lane(&name).rework.last().cloned() else { return };
        let is_back = self.work.fleet.lanes[at].is_staged() && self.work.fleet.lanes[at].stage == 2;
        let events = self.events_of(&self.work.lanes[at].unit);
        let entered = events.iter().rfind(|entry| entry.event == "stage_entered");
        let is_judged = entered.is_some_and(|entry| entry.data["stage"].as_str() == Some("3"));
        if is_back && is_judged && self.document_stage(at) == Some(3) && self.scores(at).issues.is_none() {
            self.overrule(at, why.summary());
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
            self.leave_to_person(at, LeftBy::Recovering);
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
        if let Some(standing) = self.refused_again(at) {
            return self.judge_as(at, standing);
        }
        let standing = self.standing(at, true);
        match standing {
            // Only the merge or the record was refused: that is done again, not the work.
            Standing::Complete(_) if !self.is_half_made(at) && !self.has_unread_answer(at) => self.judge_again(at),
            _ if self.memory.lane(&self.work.fleet.lanes[at].name.clone()).home.is_none() => {
                self.work.fleet.lanes[at].state = again(lifecycle, "freed by the user");
            }
            _ => {
                let why = "freed by the user".to_owned();
                self.work.fleet.lanes[at].state = LaneState::Dead { why, how: How::Session };
            }
        }
    }

    /// Whether files are all that speaks for a workstream: its worker asked or died, and neither it nor a person recorded
    /// that it is done.
    fn is_half_made(&self, at: LaneAt) -> bool {
        let work = &self.work.lanes[at];
        let known = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
        let was_judged = known.is_some_and(|known| known.worked.is_some());
        let is_recorded = |unit: &Unit| {
            let is_done = |step: &Step| matches!(step.state, StepState::Done { .. });
            unit.steps.iter().any(|step| Some(&step.id) == work.step.as_ref() && is_done(step))
        };
        work.dialect == Dialect::Build && !was_judged && !self.unit_of(at).is_ok_and(|unit| is_recorded(&unit))
    }

    /// Takes the pause of a story or a task away. What it was paused for is then judged again; what was complete stays so.
    pub(super) fn continue_unit(&mut self, at: LaneAt, lifecycle: Option<Lifecycle>) {
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

/// A lane that goes on, however far it was.
pub(super) fn again(lifecycle: Option<Lifecycle>, why: &str) -> LaneState {
    match lifecycle {
        None | Some(Lifecycle::Queued) => LaneState::Queued,
        Some(_) => LaneState::Dead { why: why.to_owned(), how: How::Session },
    }
}
