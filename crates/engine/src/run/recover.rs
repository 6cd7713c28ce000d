//! Takes up what an earlier lead left: adopts workers that live, judges those that are dead. A fresh start is the case
//! in which nothing was left.

use std::path::Path;

use piton_dialect::pipeline;
use piton_model::fleet::{
    Approval, Counts, End, FleetEvent, GateKind, GateProgress, Halt, How, LaneAt, LaneState, PhaseState, StageResult,
    Standing,
};
use piton_model::{Dialect, Event, Lifecycle, Liveness, Row, State, UnitRef};
use piton_store::journal::Entry;
use piton_supervisor::{Condition, Exit, Reading, Worker};
use serde_json::Value;

use super::approvals::Question;
use super::lead::{Lead, Live, steady};
use super::memory::{Origin, SavedState, adopted};
use super::others::was_stopped;
use super::{RunError, RunRequest, failed};
use crate::record::DiskFiles;

/// Whether an event begins a unit anew.
fn is_beginning(entry: &Entry) -> bool {
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
                self.judge_again(at);
            }
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
        // An archived document: what is left of the unit is its journal.
        let is_gone = known.state == SavedState::Done && self.is_document_gone(at);
        let lane = self.memory.lane(&name);
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
        let lane = &mut self.work.fleet.lanes[at];
        (lane.stage, lane.readiness) = (known.stage, known.readiness);
        lane.counts =
            Counts { crashes: known.crashes, no_gos: known.no_gos, reworks: known.reworks, quick: 0, moved: 0 };
        lane.waves_left = lane.waves_left.saturating_sub(known.put_off_waves);
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
            Some(_) => matches!(self.standing(at, false), Standing::Complete(_)),
            None => lifecycle == Some(Lifecycle::Done),
        };
        let name = self.work.fleet.lanes[at].name.clone();
        self.work.fleet.lanes[at].state = match is_done {
            true => LaneState::Done,
            false => {
                self.memory.lane(&name).forget_attempt();
                self.work.fleet.lanes[at].counts = Counts::default();
                again(lifecycle.or(Some(Lifecycle::Running)), "its document says that it is not done")
            }
        };
    }

    /// Its worker was through, and the lead was closing it: that is judged anew, from the documents.
    fn judge_again(&mut self, at: LaneAt) {
        let standing = self.standing(at, true);
        self.judge_as(at, standing);
    }

    /// The same for a lane that an earlier lead had found complete. When its merge came to its end, git shows no change of
    /// it any more: the files that it was to make are proof enough.
    fn close_again(&mut self, at: LaneAt) {
        let standing = match self.standing(at, true) {
            Standing::Open if self.has_outputs(at) => Standing::Complete(StageResult::Done),
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
                    && (row.liveness != Liveness::Alive || self.is_freed_by_person(at))
            }
            None => self.is_unblocked(at),
        };
        if was_put_off {
            self.work.fleet.lanes[at].state = LaneState::Queued;
            return;
        }
        if !request.retry && !was_freed {
            self.work.fleet.lanes[at].state = LaneState::Paused { reason: reason.to_owned() };
            return;
        }
        self.work.fleet.lanes[at].counts = Counts::default();
        self.continue_unit(at, lifecycle);
        let standing = self.standing(at, true);
        match standing {
            // Only the merge or the record was refused: that is done again, not the work.
            Standing::Complete(_) => self.judge_again(at),
            _ if self.memory.lane(&self.work.fleet.lanes[at].name.clone()).home.is_none() => {
                self.work.fleet.lanes[at].state = again(lifecycle, "a person lets it go on");
            }
            _ => {
                let why = "a person lets it go on".to_owned();
                self.work.fleet.lanes[at].state = LaneState::Dead { why, how: How::Session };
            }
        }
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
        // A blocker is a question to a person: `--retry` is no answer to it.
        let is_blocked = self.unit_of(at).is_ok_and(|unit| !unit.blockers.is_empty());
        if !is_blocked && let Err(why) = self.record_lane(at, &Event::Unblocked { which: None, answer: None }) {
            let name = self.work.fleet.lanes[at].name.clone();
            self.memory.issues.push((name, "record".to_owned(), why));
        }
    }

    /// Whether the last thing that happened to a unit is that a person took its blocker or pause away.
    fn is_freed_by_person(&self, at: LaneAt) -> bool {
        let log = crate::log(self.workspace, &self.work.lanes[at].unit, self.time());
        let last = log.ok().and_then(|log| log.log.events.last().map(|entry| entry.event.clone()));
        last.is_some_and(|event| matches!(event.as_str(), "unblocked" | "noted" | "decided" | "reopened"))
    }

    /// Whether a step's unit was blocked by its worker, and a person took the blocker away.
    fn is_unblocked(&self, at: LaneAt) -> bool {
        let log = crate::log(self.workspace, &self.work.lanes[at].unit, self.time());
        let events = log.map(|log| log.log.events).unwrap_or_default();
        let last = |word: &str| events.iter().rposition(|entry| entry.event == word);
        matches!((last("blocked"), last("unblocked")), (Some(blocked), Some(unblocked)) if unblocked > blocked)
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
        lane.state = match &row.state {
            State::Queued => LaneState::Queued,
            State::Running | State::Waiting => again(Some(Lifecycle::Running), "no lead remembers its worker"),
            State::Paused { reason } => {
                LaneState::Paused { reason: reason.clone().unwrap_or_else(|| "it was paused by hand".to_owned()) }
            }
            State::Blocked => LaneState::Paused { reason: "it is blocked".to_owned() },
            State::Failed { error } => LaneState::Paused { reason: error.clone() },
            State::Done => LaneState::Done,
            State::Unknown => LaneState::Paused { reason: "its status is not understood".to_owned() },
        };
        if is_retry && matches!(row.state, State::Paused { .. } | State::Failed { .. }) {
            self.continue_unit(at, Some(row.state.lifecycle()));
            // A blocker is a question to a person: `--retry` is no answer to it.
            if self.unit_of(at).is_ok_and(|unit| unit.blockers.is_empty()) {
                self.work.fleet.lanes[at].state = again(Some(Lifecycle::Running), "a person lets it go on");
            }
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

    fn recover_group(&mut self, at: usize, request: &RunRequest) {
        let name = self.work.fleet.groups[at].name.clone();
        if let Some(unit) = self.work.groups[at].unit.clone() {
            let now = self.origin_of(&unit);
            let beginnings = self.events_of(&unit).iter().filter(|entry| is_beginning(entry)).count();
            let known = self.memory.groups.entry(name.clone()).or_default();
            // What was known before the unit began is about its first life.
            let is_same_life = known.origin.began == now.began || (known.origin.began == 0 && beginnings <= 1);
            if !is_same_life {
                *known = super::memory::GroupMemory::default();
            }
            known.origin = now;
            self.recover_unit_group(at, &unit, request);
        }
        let known = self.memory.groups.get(&name).cloned().unwrap_or_default();
        let are_done: Vec<bool> = (0..self.work.fleet.groups[at].phases.len())
            .map(|phase| {
                let mut lanes = self.work.fleet.lanes.iter().filter(|lane| (lane.group, lane.phase) == (at, phase));
                lanes.all(|lane| lane.state == LaneState::Done)
            })
            .collect();
        let are_judged: Vec<bool> =
            (0..are_done.len()).map(|phase| are_done[phase] && self.is_phase_judged(at, phase)).collect();
        let group = &mut self.work.fleet.groups[at];
        let keys: Vec<String> = (0..group.phases.len()).map(|place| group.phase_key(place)).collect();
        if known.has_begun && group.begin == Approval::Needed {
            group.begin = Approval::Given;
        }
        // A phase is approved so that later work may begin: where all of that is done, nothing is left to approve.
        let last_open = are_done.iter().rposition(|is_done| !is_done);
        for phase in group.phases.iter_mut().skip(last_open.unwrap_or(0)) {
            phase.approval = Approval::NotNeeded;
        }
        for ((phase, is_judged), key) in group.phases.iter_mut().zip(are_judged).zip(keys) {
            if known.approved.contains(&key) && phase.approval == Approval::Needed {
                phase.approval = Approval::Given;
            }
            // All of it is on the base and recorded, with the gates that judged it.
            if is_judged && phase.state == PhaseState::Open {
                phase.state = PhaseState::Merged;
                for gate in phase.gates.iter_mut().filter(|gate| gate.kind == GateKind::Command) {
                    gate.state = GateProgress::Passed;
                }
            }
        }
        self.recover_approval(at);
        if self.is_yes {
            self.approve_review(at);
            let group = &mut self.work.fleet.groups[at];
            group.begin = Approval::NotNeeded;
            for phase in &mut group.phases {
                phase.approval = Approval::NotNeeded;
            }
        }
    }

    /// An approval that a person gave while no lead was at work.
    fn recover_approval(&mut self, at: usize) {
        let group = &self.work.fleet.groups[at];
        let open = group.phases.iter().position(|phase| !phase.is_closed() && phase.approval != Approval::Given);
        let waits = group.begin == Approval::Needed
            || open.is_some_and(|phase| {
                let phase = &group.phases[phase];
                phase.approval == Approval::Needed && phase.state == PhaseState::Merged
            });
        let begins = group.begin == Approval::Needed;
        if !waits || !self.take_group_approval(at, open.filter(|_| !begins)) {
            return;
        }
        let group = &mut self.work.fleet.groups[at];
        match (group.begin, open) {
            (Approval::Needed, _) => {
                group.begin = Approval::Given;
                self.approve_review(at);
            }
            (_, Some(phase)) => group.phases[phase].approval = Approval::Given,
            (_, None) => {}
        }
    }

    /// Whether the unit's documents have every command gate of a phase as passed, by more than a worker's word. The last
    /// phase judges all that there is: its gates have to have judged it after the last step was done.
    fn is_phase_judged(&self, group: usize, phase: usize) -> bool {
        let gates = &self.work.fleet.groups[group].phases[phase].gates;
        let is_last = phase + 1 == self.work.fleet.groups[group].phases.len();
        let mut commands = gates.iter().filter(|gate| gate.kind == GateKind::Command).peekable();
        if commands.peek().is_none() {
            return true;
        }
        let Some(unit) = &self.work.groups[group].unit else { return false };
        let Ok(found) = crate::find(self.workspace, unit, self.time()) else { return false };
        let events = self.events_of(unit);
        let last_step = events.iter().rposition(changes_steps);
        commands.all(|gate| {
            let mut known = found.unit.gates.iter().filter(|known| known.name == gate.name).peekable();
            let is_fresh = !is_last || last_judgement(&events, &gate.name) > last_step;
            is_fresh && known.peek().is_some() && known.all(|known| self.is_proved(unit, known))
        })
    }

    /// A unit that several lanes share: whether it may go on is what its document says.
    fn recover_unit_group(&mut self, group: usize, unit: &UnitRef, request: &RunRequest) {
        let Ok(found) = crate::find(self.workspace, unit, self.time()) else { return };
        let is_plan = self.work.groups[group].dialect == Dialect::Plan;
        let is_paused = matches!(found.unit.state, State::Paused { .. });
        let reason = match &found.unit.state {
            State::Failed { error } => Some(error.clone()),
            // A build is paused between its phases; a plan only when it cannot or should not go on.
            State::Paused { reason } if is_plan => {
                Some(reason.clone().unwrap_or_else(|| "it was paused by hand".to_owned()))
            }
            // A review that asks for approval is a question of the run's own.
            State::Blocked if piton_dialect::build::waits_for_person(&found.unit) => None,
            State::Blocked => Some(found.unit.blockers.join("; ")),
            State::Unknown => Some("its status is not understood".to_owned()),
            State::Queued | State::Running | State::Waiting | State::Paused { .. } | State::Done => None,
        };
        let is_living = self.live.keys().any(|at| self.work.fleet.lanes[*at].group == group);
        match reason {
            // A plan's blocker is a remark; other tasks may still be done.
            Some(_) if is_plan && !is_paused => {}
            Some(reason) if !request.retry || found.unit.state == State::Blocked => {
                let name = self.work.fleet.groups[group].name.clone();
                let ways = self.ways_out(&name).into_iter().map(|way| way.to_string());
                let told = [reason.clone()].into_iter().chain(ways).collect::<Vec<_>>().join("; ");
                self.tell(Some(&name), "halted", &told);
                let halt = Halt { reason, lane: None, is_failure: true, recorded: true };
                self.work.fleet.groups[group].halted = Some(halt);
            }
            Some(_) if is_living => {}
            // A person says that it is mended.
            Some(_) => {
                let first = (0..self.work.lanes.len()).find(|at| self.work.fleet.lanes[*at].group == group);
                match first.map(|first| self.claim_for_all(first)) {
                    Some(Ok(attempt)) => self.claimed[group] = Some(attempt),
                    Some(Err(why)) => self.memory.issues.push((unit.to_string(), "resume".to_owned(), why)),
                    None => {}
                }
            }
            None => {}
        }
        let is_paused = |lane: &&piton_model::fleet::Lane| {
            lane.group == group && lane.halts_group && matches!(lane.state, LaneState::Paused { .. })
        };
        let paused = self.work.fleet.lanes.iter().find(is_paused);
        if let Some((name, LaneState::Paused { reason })) = paused.map(|lane| (&lane.name, &lane.state)) {
            let halt = Halt { reason: format!("{name}: {reason}"), lane: None, is_failure: true, recorded: true };
            self.work.fleet.groups[group].halted.get_or_insert(halt);
        }
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

/// Whether an event may have changed which steps are done: one that records it, or documents that others wrote.
fn changes_steps(entry: &Entry) -> bool {
    matches!(entry.event.as_str(), "step_begun" | "step_done" | "step_skipped" | "step_failed" | "observed" | "adopted")
}

/// The place of the last event that has a gate as passed.
fn last_judgement(events: &[Entry], gate: &str) -> Option<usize> {
    let names = |entry: &Entry| entry.data.get("gates").and_then(Value::as_array).cloned().unwrap_or_default();
    events
        .iter()
        .rposition(|entry| entry.event == "gate_passed" && names(entry).iter().any(|name| name.as_str() == Some(gate)))
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
