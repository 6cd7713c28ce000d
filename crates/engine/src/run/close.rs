//! Ends: a lane's work is on the base and is recorded; a group is halted, waits for a person, or is complete.

use piton_dialect::build::Spec;
use piton_dialect::task;
use piton_model::fleet::{FleetEvent, LaneAt, LaneState, MergeOf};
use piton_model::hint::verbs;
use piton_model::{
    Dialect, Event, GateJudgement, GateState, Lifecycle, Output, State, Step, StepMove, StepState, StepTo, Unit,
    UnitRef,
};

use super::RunError;
use super::claim::{explain, plain};
use super::lead::Lead;
use super::merging::Key;
use super::settings::{SETTINGS, Settings};
use super::work::{LaneWork, left_out, specification};
use crate::record;
use crate::record::record_with;

/// How the lead's pause for an approval ends.
pub(super) const WAITS: &str = "and waits for approval";

impl Lead<'_> {
    /// Records that a lane's work is done, with the gates that judged it.
    pub(super) fn finish(&mut self, at: LaneAt) -> Result<(), RunError> {
        let work = self.work.lanes[at].clone();
        let result = match &work.step {
            None if self.is_taken_back_too_late(at) => Err(Self::taken_back_too_late()),
            // What its user took out of a plan has no box any more.
            Some(_) if self.is_removed(&work) => Ok(()),
            Some(step) => self.finish_step(&work, step).and_then(|()| self.record_passed(MergeOf::Lane(at))),
            // A unit may ask for its criteria before it is finished.
            None => self.record_passed(MergeOf::Lane(at)).and_then(|()| self.finish_whole(at, &work)),
        };
        let result = result.and_then(|()| self.record_phase(at));
        if result.is_ok() {
            self.finished.insert(at);
            let name = self.work.fleet.lanes[at].name.clone();
            self.memory.lane(&name).rework.clear();
            self.memory.lane(&name).tip = None;
            self.note_merge(at, None);
            self.remove_worktree(at);
            self.tell_lane(at, "done", "done");
        }
        self.queue.push_back(FleetEvent::FinishEnded { lane: at, result });
        self.is_state_due = true;
        Ok(())
    }

    /// The gates of a phase are recorded with the last of its lanes: a protocol may ask for all steps first.
    fn record_phase(&mut self, at: LaneAt) -> Result<(), String> {
        let (group, phase) = (self.work.fleet.lanes[at].group, self.work.fleet.lanes[at].phase);
        let is_open = |(other, lane): (usize, &piton_model::fleet::Lane)| {
            let is_finished = other == at || lane.state == LaneState::Done || self.finished.contains(&other);
            (lane.group, lane.phase) == (group, phase) && !is_finished
        };
        if self.work.fleet.lanes.iter().enumerate().any(is_open) {
            return Ok(());
        }
        self.record_passed(MergeOf::Phase(group, phase))
    }

    pub(super) fn finish_step(&mut self, work: &LaneWork, step: &str) -> Result<(), String> {
        let outputs = match work.dialect {
            Dialect::Build => {
                let is_made = |path: &String| self.base().has(&Output::File(path.clone()));
                work.file_names().into_iter().filter(is_made).collect()
            }
            Dialect::Pipeline | Dialect::Plan | Dialect::Task | Dialect::Crew => Vec::new(),
        };
        let moved = StepMove { outputs, ..plain(StepTo::Done, step.to_owned()) };
        // From here on the worker's ticket is over.
        record_with(self.workspace, &work.unit, &Event::StepMoved(moved), &self.recorder("lead"), |unit| {
            unit.end_worker(step);
        })
        .map(drop)
        .map_err(explain)
    }

    fn finish_whole(&mut self, at: LaneAt, work: &LaneWork) -> Result<(), String> {
        let found = crate::find(self.workspace, &work.unit, self.time()).map_err(|error| error.to_string())?;
        let document = found.unit.documents.first().map(|document| document.path.to_string()).unwrap_or_default();
        let name = document.rsplit('/').next().unwrap_or_default();
        match (found.unit.state.lifecycle(), work.dialect) {
            (Lifecycle::Done, Dialect::Crew) => Ok(()),
            // Its agent may have archived it already.
            (Lifecycle::Done, Dialect::Task) if task::layout::archive_number(name).is_some() => Ok(()),
            _ => self.record_lane(at, &Event::Finished),
        }
    }

    /// All lanes and gates of a group's unit are done.
    pub(super) fn complete_group(&mut self, group: usize) -> Result<(), RunError> {
        self.set_right(group);
        let result = match self.work.groups[group].unit.clone() {
            Some(unit) => self.tick_again(group).and_then(|()| self.complete_unit(&unit)),
            None => Ok(()),
        };
        if let Err(why) = &result {
            let name = self.work.fleet.groups[group].name.clone();
            self.tell(Some(&name), "halted", why);
        } else {
            let name = self.work.fleet.groups[group].name.clone();
            self.tell(Some(&name), "done", "done");
        }
        self.queue.push_back(FleetEvent::CompleteEnded { group, result });
        Ok(())
    }

    fn complete_unit(&mut self, unit: &UnitRef) -> Result<(), String> {
        let found = crate::find(self.workspace, unit, self.time()).map_err(|error| error.to_string())?;
        self.refuse_unmarked(&found.unit)?;
        if let Some(why) = left_out(&found).filter(|_| found.unit.dialect == Dialect::Plan) {
            return Err(why.to_string());
        }
        if found.unit.state.lifecycle() == Lifecycle::Done {
            // Its last gate may have completed it.
            return self.refuse_added_outputs(unit);
        }
        self.skip_removed(unit, &found.unit)?;
        self.refuse_changed_gates(unit)?;
        self.refuse_added_outputs(unit)?;
        record(self.workspace, unit, &Event::Finished, &self.recorder("lead")).map(drop).map_err(explain)
    }

    /// Whether a build's specification has a workstream; true where it cannot be read.
    pub(super) fn is_specified(&self, unit: &UnitRef, stream: &str) -> bool {
        let is_named = |spec: Spec| spec.workstreams.iter().any(|known| known.id == stream);
        self.specification(unit).is_none_or(is_named)
    }

    /// A build's specification as its user has it; nothing where it cannot be read.
    pub(super) fn specification(&self, unit: &UnitRef) -> Option<Spec> {
        let found = crate::find(self.workspace, unit, self.time()).ok();
        specification(&self.as_user_has_it(), unit, found.as_ref().map(|found| &found.unit), self.time())
    }

    /// Workstreams that a person took out of the specification are not built. Those that they added since this lead began
    /// are the next lead's.
    fn skip_removed(&mut self, unit: &UnitRef, build: &Unit) -> Result<(), String> {
        if build.dialect != Dialect::Build {
            return Ok(());
        }
        let is_known =
            |step: &str| self.work.lanes.iter().any(|work| work.unit == *unit && work.step.as_deref() == Some(step));
        let is_open = |step: &&Step| matches!(step.state, StepState::Pending | StepState::Running | StepState::Failed);
        let open = build.steps.iter().filter(is_open).map(|step| step.id.clone());
        let (added, removed): (Vec<String>, Vec<String>) = open
            .filter(|step| !is_known(step) || !self.is_specified(unit, step))
            .partition(|step| self.is_specified(unit, step));
        if !added.is_empty() {
            let text = format!("added to the specification during the run: {}; do them", added.join(", "));
            return Err(self.command(&["--retry"]).to(text).to_string());
        }
        if removed.is_empty() {
            return Ok(());
        }
        self.tell(
            Some(&unit.to_string()),
            "skipped",
            &format!("not in the specification any more: {}", removed.join(", ")),
        );
        let skip = StepMove { steps: removed, ..plain(StepTo::Skipped, String::new()) };
        record(self.workspace, unit, &Event::StepMoved(skip), &self.recorder("lead")).map(drop).map_err(explain)
    }

    /// A group has come to a stop; that is written where its dialect has a place for it.
    pub(super) fn halted(&mut self, group: usize, reason: &str, is_failure: bool) -> Result<(), RunError> {
        let name = self.work.fleet.groups[group].name.clone();
        self.tell(Some(&name), "halted", reason);
        let Some(unit) = self.work.groups[group].unit.clone() else { return Ok(()) };
        if self.held_by_person(&unit).is_some_and(|held| reason.contains(&held)) {
            // What the user wrote down stands as it is.
            return self.save();
        }
        let recorder = self.recorder("lead");
        if is_failure && self.work.groups[group].dialect == Dialect::Plan {
            // A criterion that was met before is not met any more.
            self.record_failed_criterion(group, &unit);
        }
        let mut recorded = Ok(());
        for event in self.halt_events(group, &unit, reason, is_failure) {
            recorded = record(self.workspace, &unit, &event, &recorder).map(drop);
            if recorded.is_ok() {
                break;
            }
        }
        if let Err(error) = recorded {
            self.memory.issues.push((name, "record".to_owned(), explain(error)));
        }
        self.save()
    }

    /// Takes back what a plan has as met and a command has just refused.
    fn record_failed_criterion(&mut self, group: usize, unit: &UnitRef) {
        let Some(event) = self.failed_gate(group) else { return };
        let Event::GateJudged(judgement) = &event else { return };
        let is_met = crate::find(self.workspace, unit, self.time()).is_ok_and(|found| {
            let mut gates = found.unit.gates.iter().filter(|gate| judgement.names.contains(&gate.name));
            gates.any(|gate| matches!(gate.state, GateState::Passed { .. }))
        });
        if !is_met {
            return;
        }
        if let Err(error) = record(self.workspace, unit, &event, &self.recorder("lead")) {
            self.memory.issues.push((unit.to_string(), "record".to_owned(), explain(error)));
        }
    }

    /// What may be recorded of a unit that came to a stop, the most precise first: the first that its protocol allows is.
    fn halt_events(&self, group: usize, unit: &UnitRef, reason: &str, is_failure: bool) -> Vec<Event> {
        let text = || Some(reason.to_owned());
        let failed =
            |steps| Event::StepMoved(StepMove { steps, message: text(), ..plain(StepTo::Failed, String::new()) });
        let mut events = Vec::new();
        let is_build = self.work.groups[group].dialect == Dialect::Build;
        let found = crate::find(self.workspace, unit, self.time());
        // The user's own pause keeps its reason.
        let is_paused = found.as_ref().is_ok_and(|found| matches!(found.unit.state, State::Paused { .. }));
        if let Some(held) = self.held_by_person(unit).filter(|_| is_paused) {
            // The reason also names a gate that failed meanwhile.
            let both = self.failed_gate(group).map(|_| format!("{held}; and {reason}"));
            events.extend(both.map(|both| Event::Paused { reason: Some(both) }));
            return events;
        }
        if !is_failure && found.as_ref().is_ok_and(|found| found.unit.state.lifecycle() == Lifecycle::Blocked) {
            // Its document has the question that stopped it, and the unit continues there when it is answered.
            return events;
        }
        if is_failure && is_build {
            // No arrow leads from a pause to a failure: a paused build is continued first.
            if found.as_ref().is_ok_and(|found| found.unit.state.lifecycle() == Lifecycle::Paused) {
                let continued = Event::Unblocked { which: None, answer: None };
                let _ = record(self.workspace, unit, &continued, &self.recorder("lead"));
            }
            events.extend(self.failed_gate(group));
            let steps = self.failed_steps(group);
            let step = steps.first().cloned();
            events.push(failed(steps));
            // A step that is recorded as done does not fail any more; the unit does, because of it.
            events.push(Event::Failed { step, message: reason.to_owned(), file: None, line: None });
        }
        events.push(Event::Paused { reason: text() });
        if is_build && let Ok(found) = found {
            // A paused build has nothing in progress. A worker that could not start leaves its workstream there.
            let running = found.unit.steps.iter().filter(|step| step.state == StepState::Running);
            let running: Vec<String> = running.map(|step| step.id.clone()).collect();
            events.extend((!running.is_empty()).then(|| failed(running)));
        }
        events
    }

    /// The gate whose failure halted a group.
    fn failed_gate(&self, group: usize) -> Option<Event> {
        let is_here = |key: &Key| match key {
            Key::Lane(at) => self.work.fleet.lanes[*at].group == group,
            Key::Phase(other, _) => *other == group,
        };
        let (_, failed) = self.failed_gates.iter().find(|(key, _)| is_here(key))?;
        let halt = self.work.fleet.groups[group].halted.as_ref();
        let step = failed.step.clone().or_else(|| self.work.lanes[halt?.lane?].step.clone());
        let (names, evidence) = (vec![failed.gate.clone()], Some(failed.evidence.clone()));
        Some(Event::GateJudged(GateJudgement { passed: false, names, step, evidence }))
    }

    /// The steps whose failure halted a group.
    fn failed_steps(&self, group: usize) -> Vec<String> {
        let lanes = self.work.fleet.lanes.iter().zip(&self.work.lanes);
        let is_paused =
            |lane: &piton_model::fleet::Lane| lane.group == group && matches!(lane.state, LaneState::Paused { .. });
        let paused = lanes.filter(|(lane, _)| is_paused(lane)).filter_map(|(_, work)| work.step.clone());
        let paused: Vec<String> = paused.collect();
        if !paused.is_empty() {
            return paused;
        }
        // A gate of the phase failed: the lane that joined last could not mend it.
        let halt = self.work.fleet.groups[group].halted.as_ref();
        let last = halt.and_then(|halt| halt.lane).and_then(|at| self.work.lanes[at].step.clone());
        last.into_iter().collect()
    }

    pub(super) fn ask_approval(&mut self, group: usize, phase: Option<usize>) -> Result<(), RunError> {
        self.set_right(group);
        let name = self.work.fleet.groups[group].name.clone();
        let is_resumed = phase.is_some() && self.is_resumed_by_person(group);
        if self.take_group_approval(group, phase) || is_resumed {
            self.approve_review(group);
            self.queue.push_back(FleetEvent::Approved { group });
            return Ok(());
        }
        if let Some(hint) = phase.and_then(|phase| self.do_first(group, phase)) {
            self.tell(Some(&name), "approval", &hint.to_string());
            if let Some(unit) = self.work.groups[group].unit.clone() {
                let event = Event::Paused { reason: Some(hint.text.to_string()) };
                let _ = record(self.workspace, &unit, &event, &self.recorder("lead"));
            }
            return Ok(());
        }
        let what = match phase {
            Some(phase) => format!("{} is complete", self.work.fleet.groups[group].phases[phase].name),
            None => "its review says ship_with_gates".to_owned(),
        };
        self.tell(Some(&name), "approval", &verbs::APPROVE.on(&name).to(format!("{what} {WAITS}")).to_string());
        if let (Some(unit), Some(_)) = (self.work.groups[group].unit.clone(), phase) {
            let event = Event::Paused { reason: Some(format!("{what} {WAITS}")) };
            // A build that paused itself at the gate is paused already.
            let _ = record(self.workspace, &unit, &event, &self.recorder("lead"));
        }
        Ok(())
    }

    pub(super) fn ask_lane_approval(
        &mut self,
        at: LaneAt,
        files: &[String],
        refused: Option<&str>,
    ) -> Result<(), RunError> {
        // What a version that is not the branch's said is no failure of the work.
        self.failed_gates.remove(&Key::Lane(at));
        if self.take_lane_approval(at) {
            return Ok(());
        }
        let name = self.work.lanes[at].unit_name.clone();
        let judged = match refused {
            Some(refused) => format!("{refused}; "),
            // A lane without gates of its own is judged with its phase.
            None if self.work.fleet.lanes[at].gates.is_empty() => String::new(),
            None => "it passed with the base's version; ".to_owned(),
        };
        let commands = self.changed_commands(at);
        let files = files.join(", ");
        let changes = format!(
            "it changes what judges it: {files}; {commands}{judged}approval lets its own version judge. Look at it, then"
        );
        let text = verbs::APPROVE.on(&name).to(changes);
        self.tell_lane(at, "approval", &text.to_string());
        Ok(())
    }

    /// The commands of gates that a lane's branch changes in the settings, for the person who approves them.
    fn changed_commands(&self, at: LaneAt) -> String {
        let (Some(repository), Some(commit)) = (&self.repository, self.judged_commit(at)) else { return String::new() };
        let path = repository.inside().join(SETTINGS).display().to_string();
        let text = repository.text_at(&commit, &path).ok().flatten();
        let own = text.and_then(|text| Settings::parse(&String::from_utf8_lossy(&text)).ok());
        let Some(own) = own else { return String::new() };
        let is_changed = |(gate, command): &(&String, &String)| self.settings.gates.get(*gate) != Some(*command);
        let changed =
            own.gates.iter().filter(is_changed).map(|(gate, command)| format!("{gate} becomes {command:?}; "));
        let is_removed = |gate: &&String| !own.gates.contains_key(*gate);
        let removed = self.settings.gates.keys().filter(is_removed).map(|gate| format!("{gate} is removed; "));
        changed.chain(removed).collect()
    }

    pub(super) fn close_phase(&mut self, group: usize, phase: usize) -> Result<(), RunError> {
        if self.work.groups[group].unit.is_none() {
            return Ok(());
        }
        let name = self.work.fleet.groups[group].name.clone();
        let text = format!("{} is complete", self.work.fleet.groups[group].phases[phase].name);
        self.tell(Some(&name), "phase", &text);
        self.save()
    }
}
