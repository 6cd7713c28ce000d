//! A lane's unit gets a new attempt before a worker is started, so that whoever wakes up late is refused.

use std::collections::BTreeMap;

use piton_dialect::Place;
use piton_dialect::pipeline;
use piton_model::fleet::{How, LaneAt};
use piton_model::{
    Audience, Dialect, Event, GateJudgement, Hint, Lifecycle, Moment, NotePurpose, ResumeAction, ResumeMode, Rework,
    Start, Step, StepMove, StepState, StepTo, Ticket, UnitRef,
};

use piton_store::journal::Entry;

use super::lead::Lead;
use super::recover::is_beginning;
use crate::record::{DiskFiles, Session, record_with};
use crate::target::Target;
use crate::{RecordError, Recorder, ResumeRequest, Resumption, record, resume, rollback};

/// How long a brief may be.
const BUDGET: usize = 10_000;

/// A unit that is the lead's now.
pub(super) struct Claimed {
    /// What its worker shows to be let in.
    pub ticket: Ticket,
    /// How its work is continued, where an earlier worker was at it.
    pub resumption: Option<Resumption>,
}

impl Lead<'_> {
    /// Claims the unit of a lane; says why not, for people.
    pub(super) fn claim(&mut self, at: LaneAt, how: How, worker: &str) -> Result<Claimed, String> {
        match self.work.lanes[at].dialect {
            Dialect::Pipeline => self.claim_story(at, how, worker),
            Dialect::Build | Dialect::Plan => self.claim_step(at, worker),
            Dialect::Task | Dialect::Crew => self.claim_whole(at, worker),
        }
    }

    /// Writes down which attempt comes next: a lead that dies during the claim leaves this behind, so that the next one
    /// knows whose attempt it is. Lanes of one unit share its attempt.
    pub(super) fn begin_claim(&mut self, at: LaneAt) -> Result<u64, String> {
        let next = self.origin_of(&self.work.lanes[at].unit).attempt + 1;
        let name = self.work.fleet.lanes[at].name.clone();
        for lane in self.siblings(at).into_iter().chain([name]) {
            self.memory.lane(&lane).claiming = Some(next);
        }
        self.save().map_err(|_| "cannot write the run's memory".to_owned())?;
        Ok(next)
    }

    /// Claims a unit that several lanes share, before any of them begins.
    pub(super) fn claim_for_all(&mut self, first: LaneAt) -> Result<u64, String> {
        let next = self.begin_claim(first)?;
        let attempt = self.claim_whole(first, "lead")?.ticket.attempt;
        self.end_claim(first, next, attempt);
        let memory = self.memory.lane(&self.work.fleet.lanes[first].name.clone());
        memory.claiming = None;
        if memory.origin.attempt > 0 && attempt == next {
            memory.origin.attempt = attempt;
        }
        Ok(attempt)
    }

    /// Begins a unit that several lanes share before the first of its workers: its first phase has gates alone, and who judges
    /// or approves that phase needs the unit.
    pub(super) fn begin_shared_unit(&mut self, group: usize) {
        let first = self.work.fleet.lanes.iter().position(|lane| lane.group == group);
        let Some(first) = first.filter(|first| self.work.lanes[*first].step.is_some()) else { return };
        if !self.is_document_gone(first) || self.is_shared_document_gone(first) {
            return;
        }
        match self.claim_for_all(first) {
            Ok(attempt) => self.claimed[group] = Some(attempt),
            Err(why) => self.memory.issues.push((self.work.lanes[first].unit_name.clone(), "start".to_owned(), why)),
        }
    }

    /// What is known about the other lanes of a unit, and about the unit, belongs to the attempt that this lead has begun.
    pub(super) fn end_claim(&mut self, at: LaneAt, next: u64, attempt: u64) {
        for lane in self.siblings(at) {
            let memory = self.memory.lane(&lane);
            memory.claiming = None;
            if attempt == next {
                memory.origin.attempt = attempt;
            }
        }
        let group = self.work.fleet.lanes[at].group;
        if let Some(unit) = self.work.groups[group].unit.clone() {
            let (name, origin) = (self.work.fleet.groups[group].name.clone(), self.origin_of(&unit));
            self.memory.groups.entry(name).or_default().origin = origin;
        }
    }

    /// The other lanes of a lane's unit of whose present life something is known.
    fn siblings(&self, at: LaneAt) -> Vec<String> {
        if self.work.lanes[at].step.is_none() {
            return Vec::new();
        }
        let (group, lanes) = (self.work.fleet.lanes[at].group, self.work.fleet.lanes.iter().enumerate());
        let others = lanes.filter(|(other, lane)| *other != at && lane.group == group).map(|(_, lane)| lane);
        let is_known = |name: &&String| self.memory.lanes.get(*name).is_some_and(|memory| memory.origin.attempt > 0);
        others.map(|lane| &lane.name).filter(is_known).cloned().collect()
    }

    /// What an earlier lead recorded and did not come to write is brought into the documents. Who reads them through us
    /// sees it all the same, so a unit that is done would not be touched again.
    pub(super) fn finish_records(&self) {
        let recorder = self.recorder("lead");
        for (at, lane) in self.work.fleet.lanes.iter().enumerate() {
            if self.memory.lanes.get(&lane.name).is_some_and(|known| known.claiming.is_some()) {
                self.finish_claim(at);
            }
        }
        let units: BTreeMap<String, &UnitRef> =
            self.work.lanes.iter().map(|lane| (lane.unit.to_string(), &lane.unit)).collect();
        for unit in units.into_values() {
            if let Ok(target) = Target::find(self.workspace, unit, recorder.now)
                && target.is_journaled
            {
                // What cannot be finished says so to whoever records the next event.
                let _ = Session::open(self.workspace, target, &recorder);
            }
        }
    }

    /// A lead that died in the middle of a first claim left a journal without a document: that is brought to its end
    /// first, or the claim would seem to be somebody else's.
    pub(super) fn finish_claim(&self, at: LaneAt) {
        let is_remembered =
            self.memory.lanes.get(&self.work.fleet.lanes[at].name).is_some_and(|lane| lane.origin.attempt > 0);
        let is_there = matches!(self.workspace.disk.stamp(&self.document_of(at)), Ok(Some(_)));
        if is_remembered && is_there {
            return;
        }
        let (unit, recorder) = (&self.work.lanes[at].unit, self.recorder("lead"));
        let found = Target::find(self.workspace, unit, recorder.now);
        // Where nothing was begun there is nothing to finish; what cannot be finished says so when it is claimed.
        let _ = Session::open_found(self.workspace, unit, found, &recorder);
    }

    fn claim_story(&mut self, at: LaneAt, how: How, worker: &str) -> Result<Claimed, String> {
        let place = self.place(at);
        let path = place.path(&pipeline::layout::path_of(&self.work.lanes[at].id));
        let is_there = matches!(self.workspace.disk.stamp(&path), Ok(Some(_)));
        if !is_there {
            let stage = self.work.fleet.lanes[at].stage;
            let start = Start { stage: Some(stage.to_string()), ..self.work.lanes[at].start.clone() };
            return self.start_unit(at, start, worker);
        }
        self.ensure_stage(at, how)?;
        self.resume_unit(at, worker)
    }

    /// Brings a story's document to the stage at which the lead has it.
    fn ensure_stage(&mut self, at: LaneAt, how: How) -> Result<(), String> {
        let lane = self.work.fleet.lanes[at].clone();
        let (stage, reworks) = (lane.stage, lane.counts.reworks);
        let files = DiskFiles::new(&*self.workspace.disk, None);
        let written = self.document_stage(at);
        let was_refused = written == Some(3) && self.scores(at).issues.is_some();
        // What a person said about the stage is what its worker finds.
        let is_said = written == Some(stage) && self.is_judged_by_person(at);
        if !is_said && pipeline::must_enter(&self.place(at), &files, stage, &self.moment()) {
            let is_unplanned = !lane.stages.contains(&0) && written == Some(0);
            let is_unvalidated = stage == 2 && matches!(written, Some(0 | 1)) && !lane.stages.contains(&1);
            let phase = match (lane.stages.contains(&0), is_unplanned || is_unvalidated) {
                (_, false) => None,
                (true, true) => Some(pipeline::NO_VALIDATION.to_owned()),
                (false, true) => Some(pipeline::NO_PLANNING.to_owned()),
            };
            let is_left_out = phase.as_deref() == Some(pipeline::NO_PLANNING);
            if is_left_out && self.unit_of(at).is_ok_and(|unit| unit.steps.is_empty()) {
                // A story that is not planned is its own task.
                let (work, whole) = (&self.work.lanes[at], self.work.lanes[at].id.clone());
                let (title, description) = (work.title.clone(), work.text.clone());
                let task = StepMove { title, description, ..plain(StepTo::Begun, whole) };
                self.record_lane(at, &Event::StepMoved(task))?;
            }
            let entered = self.record_lane(at, &Event::StageEntered { stage: stage.to_string(), phase });
            entered.or_else(|why| if self.restore_stage(at, stage) { Ok(()) } else { Err(why) })?;
        }
        let fix = format!("{}-fix{}", self.work.lanes[at].id, reworks.max(1));
        if stage == 2 && (how == How::Fresh && reworks > 0 || self.lacks_fix(at, was_refused, &fix)) {
            // A rework is a task like any other: without one the stage would be complete before anybody came.
            let why = self.memory.lanes.get(&self.work.fleet.lanes[at].name).and_then(|lane| lane.rework.last());
            let description = why.map(Rework::summary).or_else(|| self.scores(at).issues);
            let title = Some("Correct what was refused".to_owned());
            self.record_lane(at, &Event::StepMoved(StepMove { title, description, ..plain(StepTo::Begun, fix) }))?;
        }
        Ok(())
    }

    /// Whether a story is back at stage 2 after a FAIL that another lead took it back for, or whose rework was interrupted:
    /// no task of it is open, and none is for what failed. `was_refused` says that its document was at that FAIL until now.
    fn lacks_fix(&self, at: LaneAt, was_refused: bool, fix: &str) -> bool {
        let has_failed = self.work.fleet.lanes[at].counts.reworks > 0 || self.scores(at).issues.is_some();
        let is_open = |step: &Step| !matches!(step.state, StepState::Done { .. } | StepState::Skipped);
        let Ok(unit) = self.unit_of(at) else { return false };
        has_failed && !unit.steps.iter().any(is_open) && (was_refused || unit.steps.iter().all(|step| step.id != fix))
    }

    /// Brings a checkpoint back to the version with which its stage was entered, when a worker wrote an earlier stage over
    /// it; or to its restart, when a worker from before that wrote a later one. Whether that was possible.
    fn restore_stage(&mut self, at: LaneAt, stage: u8) -> bool {
        let unit = self.work.lanes[at].unit.clone();
        let events = self.events_of(&unit);
        let life = events.iter().rposition(is_beginning).unwrap_or(0);
        let named = stage.to_string();
        let enters = |entry: &&Entry| entry.event == "stage_entered" && entry.data["stage"].as_str() == Some(&named);
        let (word, version) = match self.document_stage(at) {
            Some(written) if written < stage => ("an earlier", events[life..].iter().rfind(enters)),
            Some(written) if written > stage && self.is_untouched_since_restart(at) => ("a later", events.get(life)),
            Some(_) | None => return false,
        };
        let Some(seq) = version.map(|entry| entry.seq) else { return false };
        if self.taken_back_to(at).is_some() {
            return false;
        }
        let is_restored = rollback(self.workspace, &unit, seq, &self.recorder("lead")).is_ok();
        if is_restored {
            // Where the pipeline's state says the later stage too, the checkpoint counts.
            let _ = self.record_lane(at, &Event::Unblocked { which: None, answer: None });
            let text = format!("its checkpoint said {word} stage; it is at stage {stage} again");
            self.tell_lane(at, "restored", &text);
        }
        is_restored
    }

    pub(super) fn document_stage(&self, at: LaneAt) -> Option<u8> {
        let files = DiskFiles::new(&*self.workspace.disk, None);
        pipeline::stage_of(&self.place(at), &files, &self.moment())
    }

    pub(super) fn claim_whole(&mut self, at: LaneAt, worker: &str) -> Result<Claimed, String> {
        let unit = &self.work.lanes[at].unit;
        let start = self.work.lanes[at].start.clone();
        match crate::find(self.workspace, unit, self.time()) {
            Err(crate::NotFound::Nothing { .. }) => self.start_unit(at, start, worker),
            Err(error) => Err(error.to_string()),
            Ok(found) if found.unit.state.lifecycle() == Lifecycle::Queued => {
                self.start_unit(at, start, worker).or_else(|_| self.resume_unit(at, worker))
            }
            Ok(found) if start.replaces || self.is_done_otherwise(at, &found.unit) => {
                let claimed = self.start_unit(at, start, worker)?;
                // What was given up is given up once: a later worker resumes what this one begins.
                self.work.lanes[at].start.replaces = false;
                Ok(claimed)
            }
            Ok(found) => {
                if found.unit.state.lifecycle() == Lifecycle::Done && self.work.lanes[at].step.is_none() {
                    self.reopen_refused(at)?;
                }
                let claimed = self.resume_unit(at, worker)?;
                self.follow_list(at, &found.unit)?;
                Ok(claimed)
            }
        }
    }

    /// A unit whose agent called it complete, and whose work was refused, is opened again for what was refused.
    fn reopen_refused(&mut self, at: LaneAt) -> Result<(), String> {
        self.record_lane(at, &Event::Reopened)?;
        let refused = self.memory.lane(&self.work.fleet.lanes[at].name.clone()).rework.clone();
        let criteria = self.unit_of(at).map(|unit| unit.gates).unwrap_or_default();
        for why in refused {
            if let Rework::GateFailed { gate, .. } = why
                && criteria.iter().any(|known| known.name == gate)
            {
                let judged = GateJudgement { passed: false, names: vec![gate], step: None, evidence: None };
                self.record_lane(at, &Event::GateJudged(judged))?;
            }
        }
        Ok(())
    }

    /// Opens a task again whose agent called it complete, and whose work is refused for good: where only its documents are
    /// known, in another clone, it would pass for done.
    pub(super) fn reopen_unmerged(&mut self, at: LaneAt) {
        let is_done = self.unit_of(at).is_ok_and(|unit| unit.state.lifecycle() == Lifecycle::Done);
        let known = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
        let is_refused = known.is_some_and(|known| known.merged.is_none() && !known.rework.is_empty());
        if self.work.lanes[at].dialect == Dialect::Task
            && is_done
            && is_refused
            && !self.is_finished_by_person(at)
            && let Err(why) = self.reopen_refused(at)
        {
            let name = self.work.fleet.lanes[at].name.clone();
            self.memory.issues.push((name, "record".to_owned(), why));
        }
    }

    /// A unit that several workers share is claimed once for all of them; each then begins its step, and shuts out
    /// whoever was at that step before.
    fn claim_step(&mut self, at: LaneAt, worker: &str) -> Result<Claimed, String> {
        let group = self.work.fleet.lanes[at].group;
        let shared = |attempt: u64| Claimed { ticket: attempt.into(), resumption: None };
        let claimed = match self.claimed[group].or_else(|| self.sibling_attempt(group)) {
            Some(attempt) => shared(attempt),
            None => match self.claim_whole(at, "lead") {
                Ok(claimed) => claimed,
                // Every box is ticked, and what was refused is seen to again.
                Err(why) => {
                    self.unit_of(at).ok().filter(is_all_done).and_then(|unit| unit.attempt).map(shared).ok_or(why)?
                }
            },
        };
        self.claimed[group] = Some(claimed.ticket.attempt);
        // What is approved from here on belongs to the life that this claim began or continues.
        let name = self.work.fleet.groups[group].name.clone();
        let origin = self.origin_of(&self.work.lanes[at].unit);
        self.memory.groups.entry(name).or_default().origin = origin;
        let name = self.work.lanes[at].step.clone().unwrap_or_default();
        let mut begin = StepMove { message: Some(format!("by {worker}")), ..plain(StepTo::Begun, name) };
        if self.work.lanes[at].dialect == Dialect::Build {
            begin.message = None;
        }
        let step = begin.steps.concat();
        // What is done already and has to be seen to again cannot begin a second time.
        let is_done = |known: &Step| known.id == step && matches!(known.state, StepState::Done { .. });
        let event = match self.unit_of(at).is_ok_and(|unit| unit.steps.iter().any(is_done)) {
            true => Event::Noted { text: format!("{step} is seen to again by {worker}"), purpose: NotePurpose::Note },
            false => Event::StepMoved(begin),
        };
        let (unit, recorder) = (&self.work.lanes[at].unit, self.recorder("lead"));
        let (recorded, number) =
            record_with(self.workspace, unit, &event, &recorder, |unit| unit.begin_worker(&step)).map_err(explain)?;
        Ok(Claimed { ticket: Ticket { attempt: recorded.attempt, worker: Some(number) }, ..claimed })
    }

    /// The attempt of a worker that was adopted: it must not be shut out.
    fn sibling_attempt(&self, group: usize) -> Option<u64> {
        let lanes = self.work.fleet.lanes.iter().enumerate();
        let living = lanes.filter(|(at, lane)| lane.group == group && self.live.contains_key(at));
        living
            .into_iter()
            .find_map(|(_, lane)| Some(self.memory.lanes.get(&lane.name)?.origin.attempt))
            .filter(|at| *at > 0)
    }

    fn start_unit(&mut self, at: LaneAt, start: Start, worker: &str) -> Result<Claimed, String> {
        let lane = &self.work.lanes[at];
        let session = self.memory.lanes.get(&self.work.fleet.lanes[at].name).and_then(|lane| lane.session.clone());
        let session = session.filter(|_| lane.step.is_none());
        let start = match lane.dialect {
            Dialect::Pipeline | Dialect::Crew => Start { session: session.clone(), ..start },
            Dialect::Plan | Dialect::Build | Dialect::Task => start,
        };
        let recorder = Recorder { session, ..self.recorder(worker) };
        let recorded = record(self.workspace, &lane.unit, &Event::Started(start), &recorder).map_err(explain)?;
        Ok(Claimed { ticket: recorded.attempt.into(), resumption: None })
    }

    fn resume_unit(&mut self, at: LaneAt, worker: &str) -> Result<Claimed, String> {
        let lane = &self.work.lanes[at];
        let known = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
        let session = known.and_then(|lane| lane.session.clone()).filter(|_| lane.step.is_none());
        let has_failed = self
            .unit_of(at)
            .is_ok_and(|unit| lane.dialect == Dialect::Build && unit.state.lifecycle() == Lifecycle::Failed);
        let request = ResumeRequest {
            // A worker that is started after a failure is there to fix it, or a person did before the run.
            mode: Some(if has_failed { ResumeMode::Fixed } else { ResumeMode::Continue }),
            // The lead knows by the process that nobody is at it.
            force: true,
            budget: BUDGET,
            outputs_in: known.and_then(|lane| lane.worktree.clone()),
            audience: Audience::Shell,
        };
        let recorder = Recorder { session, ..self.recorder(worker) };
        let resumption = resume(self.workspace, &lane.unit, &request, &recorder).map_err(explain)?;
        if resumption.plan.action == ResumeAction::Refuse {
            let reasons: Vec<_> = resumption.plan.reasons.iter().map(Hint::to_string).collect();
            return Err(reasons.join("; "));
        }
        Ok(Claimed { ticket: resumption.attempt.into(), resumption: Some(resumption) })
    }

    /// Records something about a lane's unit in the lead's name.
    pub(super) fn record_lane(&mut self, at: LaneAt, event: &Event) -> Result<(), String> {
        let recorder = self.recorder("lead");
        record(self.workspace, &self.work.lanes[at].unit, event, &recorder).map(drop).map_err(explain)
    }

    pub(super) fn moment(&self) -> Moment {
        let fresh_id = String::new();
        Moment { now: self.time(), by: "lead".to_owned(), attempt: 0, session: None, fresh_id, ticket: None }
    }

    pub(super) fn place(&self, at: LaneAt) -> Place {
        let id = self.work.lanes[at].unit.parts.last().cloned().into_iter().collect();
        Place {
            base: String::new(),
            id,
            document: None,
            root: self.workspace.root().display().to_string(),
            typed_below: String::new(),
        }
    }
}

/// Whether no step of a unit is left.
fn is_all_done(unit: &piton_model::Unit) -> bool {
    unit.steps.iter().all(|step| matches!(step.state, StepState::Done { .. } | StepState::Skipped))
}

pub(super) fn step(to: StepTo, name: String) -> Event {
    Event::StepMoved(plain(to, name))
}

pub(super) fn plain(to: StepTo, name: String) -> StepMove {
    StepMove::new(to, vec![name])
}

/// Why something was not recorded, for people.
pub(super) fn explain(error: RecordError) -> String {
    match error {
        RecordError::Refused(refusal) => match refusal.hints.first() {
            Some(hint) => format!("{} ({hint})", refusal.message),
            None => refusal.message,
        },
        RecordError::NotFound(_) | RecordError::Busy { .. } | RecordError::Failed { .. } => error.to_string(),
    }
}
