//! What is decided is done here; what fails answers with an event.

use piton_model::fleet::{Achievement, Decision, FleetEvent, GateOf, How, LaneAt, Mode, StageResult, StopReason};
use piton_model::text::clause;
use piton_model::{Dialect, Event, Rework, State, Verdict};
use piton_store::disk::Access;
use piton_supervisor::{About, Gently, Launch, Reading, Worker, new_session_id};

use super::claim::Claimed;
use super::lead::{Lead, Live};
use super::memory::DIRECTORY;
use super::others::mark_stopped;
use super::prompt::{prompt, question};
use super::settings::WorkerSpec;
use super::{RunError, failed};
use crate::Workspace;

impl Lead<'_> {
    pub(super) fn act(&mut self, decision: Decision) -> Result<(), RunError> {
        match decision {
            // One act: a worker is started right after its claim, or neither happens.
            Decision::Claim { .. } => Ok(()),
            Decision::Prove { lane } => self.prove(lane),
            Decision::Correct { lane, correction } => self.correct(lane, correction),
            Decision::Spawn { lane } => self.start(lane, How::Fresh),
            Decision::Resume { lane, how } => self.start(lane, how),
            Decision::Ask { lane } => self.ask(lane),
            Decision::Stop { lane, why } => self.stop(lane, why),
            Decision::Record { lane, what } => self.achieved(lane, &what),
            Decision::RunGate { of, gate } => {
                if let GateOf::Phase(group, _) = of {
                    self.begin_shared_unit(group);
                }
                self.run_gate(of, &gate)
            }
            Decision::Prepare { of } => self.prepare_merge(of),
            Decision::Merge { of } => self.merge(of),
            Decision::StopGates => {
                self.stop_commands();
                Ok(())
            }
            Decision::Rework { lane, why } => self.rework(lane, &why),
            Decision::Finish { lane } => self.finish(lane),
            Decision::Park { lane, until } => {
                let text = format!("parked until {until}: {}", self.limit_of(lane));
                self.tell_lane(lane, "parked", &text);
                self.is_state_due = true;
                Ok(())
            }
            Decision::Pause { lane, reason } => self.paused(lane, &reason),
            Decision::Halt { group, reason, is_failure } => self.halted(group, &reason, is_failure),
            Decision::AskApproval { group, phase } => {
                self.begin_shared_unit(group);
                self.ask_approval(group, phase)
            }
            Decision::AskLaneApproval { lane, files, refused } => {
                self.ask_lane_approval(lane, &files, refused.as_deref())
            }
            Decision::Complete { group } => self.complete_group(group),
            Decision::ClosePhase { group, phase } => self.close_phase(group, phase),
            Decision::EndRun { .. } => Ok(()),
        }
    }

    /// Makes and sets up the worktree, then claims the unit and starts a worker in it.
    fn start(&mut self, at: LaneAt, how: How) -> Result<(), RunError> {
        if self.is_settled_by_hand(at) || !self.can_start(at) {
            return Ok(());
        }
        self.restore_document(at);
        let name = self.work.fleet.lanes[at].name.clone();
        let has_begun = self.memory.lane(&name).origin.attempt > 0 || self.is_shared_document_gone(at);
        // The lead's own state names a story whose checkpoint is gone.
        let is_story = self.work.lanes[at].dialect == Dialect::Pipeline;
        let is_lost = |lead: &Self| {
            let is_there = matches!(lead.workspace.disk.stamp(&lead.document_of(at)), Ok(Some(_)));
            is_story && !is_there || lead.is_document_gone(at)
        };
        if has_begun && is_lost(self) {
            // A lead that was killed may have recorded its beginning, and not have come to write it.
            self.finish_claim(at);
        }
        if has_begun && is_lost(self) {
            // A new document would not have what was planned and done.
            let message = self.gone(at);
            self.queue.push_back(FleetEvent::StartFailed { lane: at, message: message.to_string() });
            return Ok(());
        }
        let held = self.held_at_its_start(&self.work.lanes[at].unit).or_else(|| self.taken_since(at));
        if let Some(message) = held.or_else(|| self.lacks_ground(at)) {
            self.queue.push_back(FleetEvent::StartFailed { lane: at, message });
            return Ok(());
        }
        match self.ensure_worktree(at).and_then(|_| self.set_up_lane(at, how)) {
            Ok(true) => self.go_on_starting(at, how),
            // It goes on when the set-up command has ended.
            Ok(false) => self.save(),
            Err(message) => {
                self.queue.push_back(FleetEvent::StartFailed { lane: at, message });
                Ok(())
            }
        }
    }

    /// Claims the unit and starts a worker: a new one, or by its own session, or with the brief.
    pub(super) fn go_on_starting(&mut self, at: LaneAt, how: How) -> Result<(), RunError> {
        if self.work.fleet.mode != Mode::Going {
            return self.not_started(at, how);
        }
        self.finish_claim(at);
        let has_begun = matches!(self.workspace.disk.stamp(&self.document_of(at)), Ok(Some(_)));
        if has_begun && self.work.lanes[at].dialect == Dialect::Pipeline {
            // A process that died in the middle of a record may have left the state behind the story.
            self.persist(|lead| lead.write_state_file(false))?;
        }
        if let Err(message) = self.try_start(at, how) {
            self.queue.push_back(FleetEvent::StartFailed { lane: at, message });
        }
        self.is_state_due = true;
        Ok(())
    }

    /// The run was stopped before the worker began: that is no death.
    pub(super) fn not_started(&mut self, at: LaneAt, how: How) -> Result<(), RunError> {
        self.queue.push_back(FleetEvent::NotStarted { lane: at, how });
        Ok(())
    }

    /// The worktree of a lane's next worker shows what was refused.
    fn rework(&mut self, at: LaneAt, why: &Rework) -> Result<(), RunError> {
        self.tell_lane(at, "rework", &why.summary());
        self.catch_up(at);
        Ok(())
    }

    fn try_start(&mut self, at: LaneAt, how: How) -> Result<(), String> {
        let name = self.work.fleet.lanes[at].name.clone();
        let id = self.work.lanes[at].id.clone();
        let spec = self.worker_in_place(at)?;
        self.free_locks(at)?;
        let (how, session) = self.session_for(at, how, &spec)?;
        let memory = self.memory.lane(&name);
        memory.session = session.clone();
        memory.kind = Some(spec.adapter.kind());
        let worker_name = self.work.fleet.lanes[at].worker_name(&id, how);
        let next = self.begin_claim(at)?;
        let claimed = self.claim(at, how, &worker_name)?;
        self.end_claim(at, next, claimed.ticket.attempt);
        // What the worker writes is compared with what is there before it begins.
        self.set_right(self.work.fleet.lanes[at].group);
        let is_again = how != How::Fresh;
        let origin = self.origin_of(&self.work.lanes[at].unit);
        let account = spec.account();
        let blockers = self.unit_of(at).map(|unit| unit.blockers).unwrap_or_default();
        let memory = self.memory.lane(&name);
        memory.follow_list(self.work.lanes[at].title.as_ref(), &self.work.lanes[at].start);
        memory.listed.told.clone_from(&memory.listed.title);
        (memory.origin, memory.claiming) = (origin, None);
        memory.origin.attempt = claimed.ticket.attempt;
        memory.account = Some(account);
        memory.spawned = free_number(self.workspace, &id, memory.spawned);
        memory.workers += 1;
        memory.worker = Some(worker_name.clone());
        memory.ticket = Some(claimed.ticket.to_string());
        memory.blockers = blockers;
        let home = home_of(&id, memory.spawned);
        memory.home = Some(home.clone());
        if is_again {
            memory.resumes += 1;
            let done = claimed.resumption.as_ref().map_or(0, |resumption| resumption.plan.done.len());
            memory.saved = memory.saved.max(done as u64);
        }
        let stage = self.work.fleet.lanes[at].stage;
        let now = self.time();
        self.memory.lane(&name).begin_stage(stage, now);
        // From here on a later lead looks for the worker in its home.
        self.save().map_err(|_| "cannot write the run's memory".to_owned())?;
        let launch = self.launch(at, how, &claimed, session, &spec)?;
        // Readers look for it there too, should this lead be killed.
        let view = self.view();
        self.publish(&view);
        let worker = Worker::start(&self.keeper, &self.workspace.root().join(&home), &launch)
            .map_err(|error| error.to_string())?;
        let text = match how {
            How::Fresh => format!("{worker_name} started, attempt {}", claimed.ticket),
            How::Session => format!("{worker_name} resumed by its own session, attempt {}", claimed.ticket),
            How::Brief => format!("{worker_name} started with the brief, attempt {}", claimed.ticket),
        };
        let text = match spec.name.starts_with("worker.") {
            true => format!("{text}, by [{}]", spec.name),
            false => text,
        };
        self.watch_worker(at, worker)?;
        self.tell_lane(at, "started", &text);
        self.queue.push_back(FleetEvent::WorkerStarted { lane: at });
        Ok(())
    }

    fn watch_worker(&mut self, at: LaneAt, worker: Worker) -> Result<(), String> {
        self.watch.add(at as u64, &worker).map_err(|error| error.to_string())?;
        let reading = Reading::new(self.kind_of(at), &worker);
        self.live.insert(at, Live::new(worker, reading));
        Ok(())
    }

    /// How it is really started, and by which session: one that was never known, or that belongs to another client,
    /// cannot be gone on with.
    fn session_for(&mut self, at: LaneAt, how: How, spec: &WorkerSpec) -> Result<(How, Option<String>), String> {
        let kind = spec.adapter.kind();
        let memory = self.memory.lane(&self.work.fleet.lanes[at].name);
        let is_own = memory.kind.is_none_or(|known| known == kind);
        let known = memory.session.clone().filter(|_| is_own);
        match how {
            How::Session if known.is_some() && kind.can_resume() => Ok((How::Session, known)),
            How::Session | How::Brief | How::Fresh => {
                let how = if how == How::Fresh { How::Fresh } else { How::Brief };
                let session = match kind.takes_session_id() {
                    true => Some(new_session_id().map_err(|error| error.to_string())?),
                    false => None,
                };
                Ok((how, session))
            }
        }
    }

    fn launch(
        &mut self,
        at: LaneAt,
        how: How,
        claimed: &Claimed,
        session: Option<String>,
        spec: &WorkerSpec,
    ) -> Result<Launch, String> {
        let root = self.workspace.root().to_owned();
        let lane = &self.work.fleet.lanes[at];
        let memory = self.memory.lanes.get(&lane.name).cloned().unwrap_or_default();
        let directory = self.directory_of(at);
        let worker = memory.worker.clone().unwrap_or_default();
        let context = self.prompt_context(at, &worker, claimed, how);
        let text = prompt(&context, &self.templates).map_err(|error| error.to_string())?;
        let stage = lane.stage;
        let id = self.work.lanes[at].id.clone();
        let prompt_path = format!("{DIRECTORY}/prompts/{id}-{}.md", memory.spawned);
        piton_store::replace(&*self.workspace.disk, &prompt_path, text.as_bytes(), Access::Private)
            .map_err(|error| error.to_string())?;
        let work = piton_supervisor::Work {
            unit: self.work.lanes[at].unit_name.clone(),
            attempt: claimed.ticket.attempt,
            checkpoint: root.join(self.document_of(at)),
            grants: self.grants(at, spec, &directory),
            directory,
            prompt: root.join(prompt_path),
            session,
            root: root.clone(),
        };
        let launch = match how {
            How::Session => spec.adapter.resume(&work),
            How::Fresh | How::Brief => None,
        };
        let launch = match launch {
            Some(launch) => launch,
            None => spec.adapter.start(&work).map_err(|error| error.to_string())?,
        };
        let mut launch = launch
            .set("PITON", self.surroundings.program.display().to_string())
            .set("PITON_INBOX", root.join(self.inbox_of(at)).display().to_string())
            .set("PITON_STAGE", stage.to_string())
            // The same where it has the unit for itself; where it shares it, with its own number.
            .set("PITON_ATTEMPT", claimed.ticket.to_string())
            .about(About {
                unit: Some(self.work.lanes[at].unit_name.clone()),
                step: self.work.lanes[at].step.clone(),
                stage: (!self.work.fleet.lanes[at].stages.is_empty()).then_some(stage),
                attempt: Some(claimed.ticket.to_string()),
                worker: Some(worker),
                gate: None,
                adapter: Some(spec.adapter.kind().word().to_owned()),
                started: Some(self.time().unix_seconds()),
            });
        if let Some(step) = &self.work.lanes[at].step {
            launch = launch.set("PITON_STEP", step);
        }
        Ok(launch.set("PATH", self.worker_path()))
    }

    /// The main document of a lane's unit, relative to the workspace.
    pub(super) fn document_of(&self, at: LaneAt) -> String {
        let work = &self.work.lanes[at];
        if work.dialect == Dialect::Pipeline {
            return self.place(at).path(&piton_dialect::pipeline::layout::path_of(&work.id));
        }
        let found = crate::find(self.workspace, &work.unit, self.time()).ok();
        let document = found.and_then(|found| found.unit.documents.first().map(|it| it.path.to_string()));
        document.unwrap_or_default()
    }

    /// Where a lane's worker is asked: each worker has its own place.
    fn inbox_of(&self, at: LaneAt) -> String {
        let home = self.memory.lanes.get(&self.work.fleet.lanes[at].name).and_then(|lane| lane.home.as_deref());
        let name = home.and_then(|home| home.rsplit('/').next()).unwrap_or(&self.work.lanes[at].id);
        format!("{DIRECTORY}/inbox/{name}.md")
    }

    /// Asks a silent worker for a sign: by its inbox, and for a crew by the crew's own messages.
    fn ask(&mut self, at: LaneAt) -> Result<(), RunError> {
        let unit = self.work.lanes[at].unit_name.clone();
        let path = self.inbox_of(at);
        let text = question(&self.piton_word(), &unit, &self.templates).map_err(failed)?;
        piton_store::replace(&*self.workspace.disk, &path, text.as_bytes(), Access::Private).map_err(failed)?;
        if self.work.lanes[at].dialect == Dialect::Crew {
            // The protocol's own warning; that it could not be sent does not save anybody.
            let _ = crate::notify(self.workspace, &self.recorder("lead"));
        }
        self.note_work(at);
        self.tell_lane(at, "asked", "no sign for too long; asked");
        Ok(())
    }

    fn stop(&mut self, at: LaneAt, why: StopReason) -> Result<(), RunError> {
        let hint = self.work_since_asked(at).filter(|_| why == StopReason::Silent);
        let Some(live) = self.live.get(&at) else { return Ok(()) };
        if why == StopReason::Asked {
            mark_stopped(live.worker.home());
        }
        let grace = self.settings.grace;
        let stopped = match why {
            StopReason::Asked => live.worker.stop(Gently::Interrupt, grace),
            StopReason::Silent | StopReason::TooLong | StopReason::Lingering => {
                live.worker.stop(Gently::Terminate, grace)
            }
        };
        if stopped.is_err() {
            // A keeper that does not answer: without it, then.
            live.worker.force_end().unwrap_or_else(|_| live.worker.end_by_mark());
        }
        let text = match why {
            StopReason::Asked => "its worker is asked to end",
            StopReason::Silent => "silent, and did not answer: its worker is ended",
            StopReason::TooLong => "it took too long: its worker is ended",
            StopReason::Lingering if self.held_by_person(&self.work.lanes[at].unit).is_some() => {
                "its user holds it: its worker is asked to go"
            }
            StopReason::Lingering => "its work is complete: its worker is asked to go",
        };
        let text = match hint {
            Some(hint) => format!("{text}; {hint}"),
            None => text.to_owned(),
        };
        self.tell_lane(at, "stopping", &text);
        if let Some(live) = self.live.get_mut(&at) {
            live.stopped = Some(text);
        }
        Ok(())
    }

    /// Records what a stage resulted in.
    fn achieved(&mut self, at: LaneAt, what: &Achievement) -> Result<(), RunError> {
        let now = self.time();
        let name = self.work.fleet.lanes[at].name.clone();
        let (stage, text, kind, told) = match what {
            Achievement::Stage { from, to, result } => {
                let text = result_text(result);
                let told = format!("stage {from}: {}; stage {to} is next", clause(&text));
                (*from, text, "stage", told)
            }
            Achievement::Passed { result } => {
                let text = result_text(result);
                (self.work.fleet.lanes[at].stage, text.clone(), "passed", text)
            }
            Achievement::Overruled { why } => {
                let issues = why.summary();
                self.catch_up(at);
                self.overrule(at, issues.clone());
                (3, format!("FAIL: {issues}"), "overruled", "its verdict is overruled: FAIL".to_owned())
            }
        };
        let memory = self.memory.lane(&name);
        memory.results.insert(stage, text);
        memory.times.entry(stage).or_default().1 = Some(now);
        memory.leave_stage(stage, now);
        self.is_state_due = true;
        self.save()?;
        // Told when it is durable: a lead that is killed now is followed by one that knows it.
        self.tell_lane(at, kind, &told);
        Ok(())
    }

    /// Records a FAIL in place of the verdict of a story's judge: a gate or a merge refused its work.
    pub(super) fn overrule(&mut self, at: LaneAt, issues: String) {
        self.reopen_story(at);
        let verdict = Verdict {
            word: "FAIL".to_owned(),
            score: Some(0.0),
            issues: Some(issues),
            reviewer: Some("lead".to_owned()),
            ..Verdict::default()
        };
        if let Err(why) = self.record_lane(at, &Event::VerdictGiven(verdict)) {
            self.memory.issues.push(("stage 3".to_owned(), "verdict".to_owned(), why));
        }
    }

    fn paused(&mut self, at: LaneAt, reason: &str) -> Result<(), RunError> {
        self.tell_lane(at, "paused", reason);
        self.measure(at);
        let name = self.work.fleet.lanes[at].name.clone();
        let has_begun = self.memory.lane(&name).origin.attempt > 0;
        self.memory.lane(&name).put_off = !has_begun;
        let is_whole = self.work.lanes[at].step.is_none();
        if is_whole && has_begun {
            self.reopen_unmerged(at);
            self.note_merge(at, Some(reason));
        }
        // What its worker wrote down as a question or a pause of its own stands as it is.
        let is_halted = self.unit_of(at).is_ok_and(|unit| matches!(unit.state, State::Blocked | State::Paused { .. }));
        if is_whole && has_begun && !is_halted {
            let paused = Event::Paused { reason: Some(reason.to_owned()) };
            if self.record_lane(at, &paused).is_err() {
                // Where a dialect knows no pause, what is in the way is a blocker.
                let blocked = Event::Blocked { message: reason.to_owned(), kind: None };
                let _ = self.record_lane(at, &blocked);
            }
        }
        self.is_state_due = true;
        self.save()
    }

    /// Files of a worker that is gone are kept; what the lead holds of it is let go.
    pub(super) fn let_go(&mut self, at: LaneAt) {
        self.live.remove(&at);
        let inbox = self.inbox_of(at);
        if matches!(self.workspace.disk.stamp(&inbox), Ok(Some(_))) {
            // A question to somebody who is gone is not for its successor.
            let _ = self.workspace.disk.remove(&inbox);
        }
    }
}

fn home_of(id: &str, number: u64) -> String {
    format!("{DIRECTORY}/workers/{id}-{number}")
}

/// The number of a lane's next worker. Ids of two dialects may be the same; no two workers share a home.
fn free_number(workspace: &Workspace, id: &str, last: u64) -> u64 {
    let is_taken = |number: &u64| workspace.root().join(home_of(id, *number)).symlink_metadata().is_ok();
    (last.saturating_add(1)..).find(|number| !is_taken(number)).unwrap_or(u64::MAX)
}

fn result_text(result: &StageResult) -> String {
    match result {
        StageResult::Planned { score } => format!("planned, score {score}"),
        StageResult::Go { readiness } => format!("GO, readiness {readiness}"),
        StageResult::NoGo { reason } => format!("NO-GO: {reason}"),
        StageResult::Executed => "Done".to_owned(),
        StageResult::Passed { word, score: Some(score) } => format!("{word}, quality {score}"),
        StageResult::Passed { word, score: None } => word.clone(),
        StageResult::Failed { issues } => format!("FAIL: {issues}"),
        // Whether it is done is said when it is merged and recorded.
        StageResult::Done => "its work is complete".to_owned(),
        StageResult::Moved { to } => format!("moved on to stage {to}"),
    }
}
