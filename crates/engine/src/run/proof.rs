//! Whether what a unit says is done is really there: looked at when a worker says so, and before one starts again.

use std::collections::BTreeMap;

use piton_dialect::git_names;
use piton_model::fleet::{FleetEvent, LaneAt, LaneState};
use piton_model::proof::{Correction, DoneStep, Facts, Judged, Proof, prove};
use piton_model::{Dialect, Event, Gate, GateState, Lifecycle, Output, Rework, Step, StepState, StepTo, Unit, UnitRef};
use piton_store::journal::Entry;
use piton_supervisor::has_removed;
use serde_json::Value;

use super::claim::step;
use super::freed::is_by_person;
use super::lead::Lead;
use super::outputs::is_there;
use super::work::LaneWork;
use super::{RunError, failed};
use crate::in_git::lost_in_git;
use crate::record::{DiskFiles, TICKET, resume_plan};
use crate::target::Target;

impl Lead<'_> {
    /// Looks whether what is recorded as done is there. Gates need no look: they judge every tree before it is merged.
    pub(super) fn prove(&mut self, at: LaneAt) -> Result<(), RunError> {
        let unit = self.work.lanes[at].unit.clone();
        // Files of a branch that is gone are not missing: nothing is opened again that comes back with the branch.
        if let Err(reason) = self.check_branch(at) {
            let proof = Proof::Refused { reasons: vec![reason] };
            self.queue.push_back(FleetEvent::Proved { lane: at, proof });
            return Ok(());
        }
        let Ok(found) = crate::find(self.workspace, &unit, self.time()) else {
            // Nothing is recorded, so nothing is claimed; the start says what is wrong.
            let proof = Proof::Holds;
            self.queue.push_back(FleetEvent::Proved { lane: at, proof });
            return Ok(());
        };
        let events = self.events_of(&unit);
        let facts = Facts { steps: self.done_steps(at, &found.unit, &events), lost: self.lost_in_git(at, &unit) };
        self.queue.push_back(FleetEvent::Proved { lane: at, proof: prove(&facts) });
        Ok(())
    }

    /// What is put right before the next worker starts; the rest it is told.
    pub(super) fn correct(&mut self, at: LaneAt, correction: Correction) -> Result<(), RunError> {
        self.tell_lane(at, "corrected", &correction.told.join("; "));
        if self.work.lanes[at].step.is_none() {
            let found = crate::find(self.workspace, &self.work.lanes[at].unit, self.time());
            if found.is_ok_and(|found| found.unit.state.lifecycle() == Lifecycle::Done)
                && let Err(why) = self.record_lane(at, &Event::Reopened)
            {
                let name = self.work.fleet.lanes[at].name.clone();
                self.memory.issues.push((name, "reopen".to_owned(), why));
            }
            for open in &correction.open {
                // Where the dialect has no way back for a step, its worker is told, and that has to do.
                let _ = self.record_lane(at, &step(StepTo::Begun, open.clone()));
            }
        }
        let name = self.work.fleet.lanes[at].name.clone();
        let claims = correction.told;
        self.memory.lane(&name).rework.retain(|known| !matches!(known, Rework::Unproved { .. }));
        self.memory.lane(&name).rework.push(Rework::Unproved { claims });
        self.save()
    }

    /// Files of a lane's own steps that are recorded as done, and are not there.
    pub(super) fn missing(&self, at: LaneAt, unit: &Unit) -> Vec<String> {
        let steps = self.done_steps(at, unit, &self.events_of(&self.work.lanes[at].unit));
        let mut missing: Vec<String> =
            steps.into_iter().filter(|step| step.is_own).flat_map(|step| step.missing).collect();
        missing.sort();
        missing.dedup();
        missing
    }

    pub(super) fn events_of(&self, unit: &UnitRef) -> Vec<Entry> {
        crate::log(self.workspace, unit, self.time()).map(|log| log.log.events).unwrap_or_default()
    }

    fn done_steps(&self, at: LaneAt, unit: &Unit, events: &[Entry]) -> Vec<DoneStep> {
        let named = named_files(events);
        let elsewhere = self.outputs_elsewhere(at);
        let own = self.work.lanes[at].step.as_deref();
        let mut steps = Vec::new();
        for known in &unit.steps {
            let StepState::Done { outputs, .. } = &known.state else { continue };
            let is_own = own.is_none_or(|own| own == known.id);
            if !is_own && !self.is_closed(at, known) {
                continue;
            }
            // A document may still list what was claimed before: the last record of the step counts.
            let named = named.get(&known.id).filter(|files| !files.is_empty());
            let mut files: Vec<String> = named.unwrap_or(outputs).clone();
            if own == Some(&known.id) {
                files.extend(self.work.lanes[at].outputs.iter().cloned());
            }
            // What was merged is there when all is there that the specification lists now: its user may have moved a file.
            let merged = self.merged_as(at, known);
            if let Some(specified) = merged.as_ref().and_then(|(of, _)| self.specified_files(*of)) {
                files = specified;
            }
            let is_moved = |file: &str| merged.as_ref().is_some_and(|(_, commit)| self.base().has_moved(commit, file));
            // A name may be meant from the workspace's root or from the unit's own directory.
            let is_lost = |file: &String| {
                let ending = format!("/{file}");
                let mut others = elsewhere.iter().filter(|path| path.ends_with(&ending));
                self.is_lost(at, is_own, file) && others.all(|path| self.is_lost(at, is_own, path)) && !is_moved(file)
            };
            let mut missing: Vec<String> = files.into_iter().filter(is_lost).collect();
            missing.sort();
            missing.dedup();
            steps.push(DoneStep { step: known.id.clone(), is_own, missing });
        }
        steps
    }

    /// The lane of a step that is merged into the base, with the commit that did it.
    fn merged_as(&self, at: LaneAt, step: &Step) -> Option<(LaneAt, String)> {
        let unit = &self.work.lanes[at].unit;
        let is_its = |work: &LaneWork| work.unit == *unit && work.step.as_deref() == Some(&step.id);
        let of = self.work.lanes.iter().position(is_its)?;
        let known = self.memory.lanes.get(&self.work.fleet.lanes[of].name)?;
        known.merged.clone().map(|commit| (of, commit))
    }

    /// The files that the specification lists for a lane now; nothing when it lists none.
    fn specified_files(&self, at: LaneAt) -> Option<Vec<String>> {
        let outputs = self.specified_outputs(at)?;
        let is_file = |text: &String| matches!(Output::read(text), Some(Output::File(_)));
        Some(outputs.into_iter().filter(is_file).collect()).filter(|files: &Vec<String>| !files.is_empty())
    }

    /// The files that the step of a lane is known by: those that its specification lists now, or those that its last record
    /// names.
    pub(super) fn files_of_step(&self, at: LaneAt) -> Vec<String> {
        let work = &self.work.lanes[at];
        let named = || named_files(&self.events_of(&work.unit)).remove(work.step.as_deref()?);
        self.specified_files(at).or_else(named).unwrap_or_default()
    }

    /// Whether another lane's step is through: what is still being closed lies in its own worktree, and what no lane has any
    /// more may be on a branch that the lead does not merge.
    fn is_closed(&self, at: LaneAt, step: &Step) -> bool {
        let group = self.work.fleet.lanes[at].group;
        let lanes = self.work.fleet.lanes.iter().zip(&self.work.lanes);
        let same = lanes.filter(|(lane, work)| lane.group == group && work.step.as_deref() == Some(&step.id));
        let mut same = same.peekable();
        same.peek().is_some() && same.all(|(lane, _)| lane.state == LaneState::Done)
    }

    /// Where the files of a unit are that names them from a directory of its own.
    fn outputs_elsewhere(&self, at: LaneAt) -> Vec<String> {
        let work = &self.work.lanes[at];
        match work.dialect {
            Dialect::Task | Dialect::Crew => {}
            Dialect::Pipeline | Dialect::Plan | Dialect::Build => return Vec::new(),
        }
        let Ok(target) = Target::find(self.workspace, &work.unit, self.time()) else { return Vec::new() };
        let files = DiskFiles::new(&*self.workspace.disk, None);
        let plan = resume_plan(target.dialect, &target.place, &files, None, &self.moment());
        plan.map(|plan| plan.outputs).unwrap_or_default()
    }

    /// Whether a file is not on the base, for a lane's own steps not in its worktree either, and was not taken away by a
    /// commit.
    fn is_lost(&self, at: LaneAt, is_own: bool, path: &str) -> bool {
        // Who recorded a step knows better than a pattern which file it made.
        let Some(Output::File(path)) = Output::read(path) else { return false };
        // A directory may be named with a slash behind it.
        let path = path.trim_end_matches('/');
        let (output, base) = (Output::File(path.to_owned()), self.base());
        let Some(tree) = self.workspace_in_tree(at).filter(|_| is_own) else {
            return !base.has(&output) && !base.has_removed(path);
        };
        let tree = self.workspace.root().join(tree);
        let is_removed = || match &self.memory.run.base {
            Some(base) => has_removed(&tree, &format!("refs/heads/{base}..HEAD"), path),
            None => false,
        };
        let is_found = is_there(&tree, &output) || base.has(&output) || self.is_on_branch_alone(at, &output);
        !is_found && !is_removed()
    }

    /// Whether the worker of a lane called its step done, or the lead for it, and not a person.
    pub(super) fn is_workers_word(&self, at: LaneAt, step: &str) -> bool {
        self.last_done(at, step).is_some_and(|entry| !is_by_person(&entry))
    }

    /// The last event that has a step of a lane's unit as done.
    fn last_done(&self, at: LaneAt, step: &str) -> Option<Entry> {
        let events = self.events_of(&self.work.lanes[at].unit);
        let names = |entry: &Entry| entry.data.get("steps").and_then(Value::as_array).cloned().unwrap_or_default();
        let is_it =
            |entry: &Entry| entry.event == "step_done" && names(entry).iter().any(|name| name.as_str() == Some(step));
        events.into_iter().rfind(is_it)
    }

    /// Whether the worker that a lane has now called its step done.
    pub(super) fn is_own_word(&self, at: LaneAt, step: &str) -> bool {
        let own = self.live.get(&at).and_then(|live| live.worker.launch().about.attempt.clone());
        let said = self.last_done(at, step).and_then(|entry| entry.data.get(TICKET)?.as_str().map(str::to_owned));
        own.is_some() && said == own
    }

    fn lost_in_git(&self, at: LaneAt, unit: &UnitRef) -> Vec<String> {
        let document = self.document_of(at);
        let Ok(content) = self.workspace.disk.read(&document) else { return Vec::new() };
        let lost = lost_in_git(self.workspace, &git_names(&content.bytes));
        lost.into_iter().map(|lost| format!("{unit}: {lost}")).collect()
    }

    /// Whether a gate is recorded as passed by more than a worker's word: by a command that the lead ran, or by a person.
    pub(super) fn is_proved(&self, unit: &UnitRef, gate: &Gate) -> bool {
        matches!(gate.state, GateState::Passed { .. })
            && matches!(judged(gate, &self.events_of(unit)), Some(Judged::ByCommand | Judged::ByPerson))
    }

    /// Whether the command with which a gate has last passed is another one now.
    pub(super) fn is_command_changed(&self, unit: &UnitRef, gate: &Gate, now: Option<&str>) -> bool {
        let events = self.events_of(unit);
        let recorded = last_pass(gate, &events).and_then(|event| event.data.get("evidence")?.get("command")?.as_str());
        recorded.zip(now).is_some_and(|(recorded, now)| recorded != now)
    }

    /// The tree on which a gate has last passed by a command.
    pub(super) fn evidence_of(&self, unit: &UnitRef, names: &[String], step: Option<&str>) -> Option<String> {
        let events = self.events_of(unit);
        let is_it = |event: &&Entry| {
            let known = event.data.get("gates").and_then(Value::as_array).into_iter().flatten();
            event.event == "gate_passed"
                && known
                    .into_iter()
                    .any(|name| name.as_str().is_some_and(|name| names.iter().any(|wanted| wanted == name)))
                && (step.is_none() || event.data.get("step").and_then(Value::as_str) == step)
        };
        let event = events.iter().rfind(is_it)?;
        event.data.get("evidence")?.get("tree")?.as_str().map(str::to_owned)
    }

    /// Reads a lane's unit for its claims; says why not.
    pub(super) fn unit_of(&self, at: LaneAt) -> Result<Unit, RunError> {
        let found = crate::find(self.workspace, &self.work.lanes[at].unit, self.time());
        found.map(|found| found.unit).map_err(failed)
    }
}

/// The files that each step named when it was last recorded as done.
fn named_files(events: &[Entry]) -> BTreeMap<String, Vec<String>> {
    let mut named = BTreeMap::new();
    for event in events.iter().filter(|event| event.event == "step_done") {
        let texts = |key: &str| -> Vec<String> {
            let list = event.data.get(key).and_then(Value::as_array).into_iter().flatten();
            list.filter_map(|text| text.as_str().map(str::to_owned)).collect()
        };
        let files = [texts("outputs"), texts("files")].concat();
        for step in texts("steps") {
            // Whoever records it again without files does not take back what was named.
            if !files.is_empty() || !named.contains_key(&step) {
                named.insert(step, files.clone());
            }
        }
    }
    named
}

/// The last event that called a gate passed.
fn last_pass<'e>(gate: &Gate, events: &'e [Entry]) -> Option<&'e Entry> {
    let is_it = |event: &&Entry| {
        let names = event.data.get("gates").and_then(Value::as_array).into_iter().flatten();
        let step = event.data.get("step").and_then(Value::as_str);
        event.event == "gate_passed"
            && names.into_iter().any(|name| name.as_str() == Some(&gate.name))
            && (step.is_none() || step == gate.step.as_deref())
    };
    events.iter().rfind(is_it)
}

/// Who called a gate passed, by the last event that did; nothing when no event did.
fn judged(gate: &Gate, events: &[Entry]) -> Option<Judged> {
    let event = last_pass(gate, events)?;
    let has_evidence = event.data.get("evidence").is_some_and(Value::is_object);
    Some(match (has_evidence, event.data.get(TICKET)) {
        (_, Some(_)) => Judged::ByWorker,
        (true, None) => Judged::ByCommand,
        (false, None) => Judged::ByPerson,
    })
}
