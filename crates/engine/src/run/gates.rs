//! Gates at work: where a command judges, and how its verdict is recorded. Which gates judge is in `judges.rs`.

use std::path::PathBuf;

use piton_model::fleet::{
    FleetEvent, GateKind, GateOf, GateProgress, GateResult, LaneAt, MergeOf, Phase, PhaseGate, PhaseState, cannot_judge,
};
use piton_model::{Dialect, Event, Evidence, Gate, GateJudgement, GateState, NotePurpose, Rework, StepState, is_gate};
use piton_store::journal::Entry;
use piton_supervisor::Scratch;
use serde_json::Value;

use super::RunError;
use super::claim::explain;
use super::commands::Purpose;
use super::forewarn::undefined_streams;
use super::freed::{LEAD, is_by_person};
use super::judges::command_of;
use super::lead::Lead;
use super::merging::Key;
use super::scripts::{Base, missing_scripts};
use super::ways::Judging;
use crate::evidence::toml_key;
use crate::record;

/// A gate that has judged a tree.
#[derive(Debug, Clone)]
pub(super) struct JudgedGate {
    pub gate: String,
    pub step: Option<String>,
    pub evidence: Evidence,
}

/// What a person said who judged that a gate is not met, when no worker was started since.
pub(super) fn refused_by_person(
    dialect: Dialect,
    events: &[Entry],
    gate: &str,
    judged: Option<&str>,
) -> Option<String> {
    let starts = |entry: &Entry| entry.by == LEAD && matches!(entry.event.as_str(), "step_begun" | "noted");
    let since = events.iter().rposition(starts).map_or(0, |at| at + 1);
    let is_meant = |entry: &&Entry| {
        let names = entry.data.get("gates").and_then(Value::as_array).into_iter().flatten();
        let step = entry.data.get("step").and_then(Value::as_str);
        let is_its = step.is_none() || judged.is_none() || step == judged;
        let mut names = names.filter_map(Value::as_str);
        entry.event == "gate_failed" && is_by_person(entry) && is_its && names.any(|it| is_gate(dialect, it, gate))
    };
    let refused = events[since..].iter().rfind(is_meant)?;
    let evidence = |key: &str| refused.data.get("evidence").and_then(|it| it[key].as_str());
    let said = evidence("tail").filter(|tail| !tail.is_empty()).or_else(|| evidence("command"));
    let notes = events[since..].iter().filter(|entry| entry.event == "noted" && is_by_person(entry));
    let notes = notes.filter_map(|entry| entry.data.get("text").and_then(Value::as_str));
    let words = [format!("a person judged {gate}: not met")];
    Some(words.into_iter().chain(said.into_iter().chain(notes).map(str::to_owned)).collect::<Vec<_>>().join("; "))
}

impl Lead<'_> {
    /// Starts a gate's command, or judges what has none.
    pub(super) fn run_gate(&mut self, of: GateOf, gate: &str) -> Result<(), RunError> {
        let group = self.group_of(of);
        let merge = match of {
            GateOf::Lane(at) => MergeOf::Lane(at),
            GateOf::Phase(group, phase) => MergeOf::Phase(group, phase),
        };
        let known = self.gate_command(group, gate);
        let command = match self.approved_gates(merge) {
            Some(approved) => command_of(&self.work.groups[group].gates, &approved, gate).cloned(),
            None => known.clone(),
        };
        let is_sync_point = self.work.groups[group].dialect == Dialect::Crew && matches!(of, GateOf::Phase(..));
        let result = match (self.refuse_changed_gate(of, gate), command) {
            _ if is_sync_point => self.sync_point(group),
            (Err(why), _) => GateResult::Broken { why },
            // What is on the base already is not judged in the user's own tree.
            (Ok(()), Some(_)) if self.is_judged_later(of, gate) => {
                GateResult::Broken { why: self.judge_by_changed(gate) }
            }
            (Ok(()), Some(command)) => {
                // A person approved it with the branch that it judges, or with one that was merged.
                let is_own = Some(&command) != known.as_ref() || self.approved_commands.contains(&command);
                let (directory, scratch) = self.gate_place(of);
                let purpose = Purpose::Gate { of, gate: gate.to_owned() };
                // Each gate judges what would be merged, and nothing that another gate wrote.
                let refreshed = match (&self.repository, &scratch) {
                    (Some(repository), Some(scratch)) => {
                        repository.refresh_scratch(scratch).map_err(|error| error.to_string())
                    }
                    (Some(_), None) | (None, _) => Ok(()),
                };
                match refreshed.and_then(|()| self.start_gate(purpose, &command, directory, is_own)) {
                    Ok(()) => return Ok(()),
                    Err(why) => GateResult::Broken { why },
                }
            }
            (Ok(()), None) => self.judged_by_person(of, gate),
        };
        self.tell_gate(of, gate, &result);
        self.queue.push_back(FleetEvent::GateEnded { of, gate: gate.to_owned(), result });
        Ok(())
    }

    /// Where a gate is run: where both sides of the merge are.
    fn gate_place(&self, of: GateOf) -> (PathBuf, Option<Scratch>) {
        let key = match of {
            GateOf::Lane(at) => Key::Lane(at),
            GateOf::Phase(group, phase) => Key::Phase(group, phase),
        };
        match self.merged.get(&key) {
            Some(merged) => (merged.directory.clone(), merged.scratch.clone()),
            None => (self.workspace.root().to_owned(), None),
        }
    }

    /// Whether a gate of a phase is judged after its work is on the base.
    fn is_judged_later(&self, of: GateOf, gate: &str) -> bool {
        let GateOf::Phase(group, phase) = of else { return false };
        let mut gates = self.work.fleet.groups[group].phases[phase].gates.iter();
        let is_it = |known: &&PhaseGate| known.name == gate && known.state == GateProgress::Running;
        gates.find(is_it).is_some_and(|known| known.kind == GateKind::Later)
    }

    pub(super) fn group_of(&self, of: GateOf) -> usize {
        match of {
            GateOf::Lane(at) => self.work.fleet.lanes[at].group,
            GateOf::Phase(group, _) => group,
        }
    }

    /// A gate without a command: a person judges it, with a verb.
    fn judged_by_person(&self, of: GateOf, gate: &str) -> GateResult {
        let group = self.group_of(of);
        let unit = &self.work.fleet.groups[group].name;
        let step = self.step_of(of, gate);
        let phase = match of {
            GateOf::Lane(_) => Vec::new(),
            GateOf::Phase(group, phase) => self.judged_steps(group, phase, gate),
        };
        let judging = Judging { unit: unit.to_string(), gate: gate.to_owned(), step, phase };
        let found = self.work.groups[group].unit.as_ref();
        let found = found.and_then(|unit| crate::find(self.workspace, unit, self.time()).ok());
        let is_judged = match of {
            GateOf::Lane(_) => true,
            GateOf::Phase(group, phase) => self.unjudged_steps(group, phase, gate).is_empty(),
        };
        if is_judged
            && found.is_some_and(|found| judging.is(&found.unit, |state| matches!(state, GateState::Passed { .. })))
        {
            return GateResult::Passed;
        }
        if let Some(said) = self.refused_by_person(group, &judging) {
            return GateResult::Failed(Rework::ReviewFailed { issues: said });
        }
        let why = judging.command().to(format!(
            "no command is known for it; name one in piton.toml, [gates] {} = \"COMMAND\", or judge it",
            toml_key(gate)
        ));
        GateResult::Broken { why: why.to_string() }
    }

    /// What halted groups wait for a person to judge.
    pub(super) fn judging(&self) -> Vec<Judging> {
        let mut judging = Vec::new();
        for (at, group) in self.work.fleet.groups.iter().enumerate() {
            if group.halted.is_none() || self.work.groups[at].unit.is_none() {
                continue;
            }
            let merged = group.phases.iter().enumerate().filter(|(_, phase)| phase.state == PhaseState::Merged);
            for (place, phase) in merged {
                let is_open = |gate: &&PhaseGate| gate.kind == GateKind::Later && gate.state != GateProgress::Passed;
                for gate in phase.gates.iter().filter(is_open) {
                    let phase = self.judged_steps(at, place, &gate.name);
                    let (gate, step) = (gate.name.clone(), gate.step.clone());
                    judging.push(Judging { unit: group.name.clone(), gate, step, phase });
                }
            }
        }
        judging
    }

    /// The steps of a phase of a build that were begun after a person judged one of its gates: the judgement does not speak of
    /// them. A judgement that stands in the document alone is taken as it is.
    fn unjudged_steps(&self, group: usize, phase: usize, gate: &str) -> Vec<String> {
        let dialect = self.work.groups[group].dialect;
        let Some(unit) = self.work.groups[group].unit.as_ref().filter(|_| dialect == Dialect::Build) else {
            return Vec::new();
        };
        let events = self.events_of(unit);
        let texts = |entry: &Entry, key: &str| -> Vec<String> {
            let list = entry.data.get(key).and_then(Value::as_array).into_iter().flatten();
            list.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let passes = |entry: &Entry| {
            entry.event == "gate_passed" && texts(entry, "gates").iter().any(|it| is_gate(dialect, it, gate))
        };
        let Some(judged) = events.iter().rposition(passes) else { return Vec::new() };
        let begun = events[judged..].iter().filter(|entry| entry.event == "step_begun");
        let begun: Vec<String> = begun.flat_map(|entry| texts(entry, "steps")).collect();
        let lanes = self.work.fleet.lanes.iter().zip(&self.work.lanes);
        let here = lanes.filter(|(lane, _)| (lane.group, lane.phase) == (group, phase));
        here.filter_map(|(_, work)| work.step.clone()).filter(|step| begun.contains(step)).collect()
    }

    /// The steps that a person judges a gate of a phase for: those that were begun since the last judgement, or, where other phases
    /// have a gate of that name, all of the phase.
    fn judged_steps(&self, group: usize, phase: usize, gate: &str) -> Vec<String> {
        let unjudged = self.unjudged_steps(group, phase, gate);
        if !unjudged.is_empty() {
            return unjudged;
        }
        let phases = self.work.fleet.groups[group].phases.iter();
        let dialect = self.work.groups[group].dialect;
        let has_it = |phase: &&Phase| phase.gates.iter().any(|it| is_gate(dialect, &it.name, gate));
        if dialect != Dialect::Build || phases.filter(has_it).count() < 2 {
            return Vec::new();
        }
        let lanes = self.work.fleet.lanes.iter().zip(&self.work.lanes);
        let here = lanes.filter(|(lane, _)| (lane.group, lane.phase) == (group, phase));
        let steps: Vec<String> = here.filter_map(|(_, work)| work.step.clone()).collect();
        // What was left out is not judged; where all of it was, any judgement of the gate counts.
        let unit = self.work.groups[group].unit.as_ref();
        let unit = unit.and_then(|unit| crate::find(self.workspace, unit, self.time()).ok()).map(|found| found.unit);
        let is_skipped = |step: &String| {
            let known = unit.iter().flat_map(|unit| &unit.steps);
            known.into_iter().any(|known| known.id == *step && known.state == StepState::Skipped)
        };
        steps.into_iter().filter(|step| !is_skipped(step)).collect()
    }

    /// Puts the gates that a person refused before those that nobody judged, which halt their group: what is refused is
    /// worked on meanwhile.
    pub(super) fn judge_refused_first(&mut self, group: usize) {
        let unit = self.work.fleet.groups[group].name.clone();
        for phase in 0..self.work.fleet.groups[group].phases.len() {
            let mut gates = self.work.fleet.groups[group].phases[phase].gates.clone();
            gates.sort_by_cached_key(|gate| {
                let judging =
                    Judging { unit: unit.clone(), gate: gate.name.clone(), step: gate.step.clone(), phase: Vec::new() };
                gate.kind != GateKind::Later || self.refused_by_person(group, &judging).is_none()
            });
            self.work.fleet.groups[group].phases[phase].gates = gates;
        }
    }

    /// What a person said who judged that a gate is not met, when no worker was started since.
    fn refused_by_person(&self, group: usize, judging: &Judging) -> Option<String> {
        let events = self.events_of(self.work.groups[group].unit.as_ref()?);
        refused_by_person(self.work.groups[group].dialect, &events, &judging.gate, judging.step.as_deref())
    }

    /// The step that a gate judges.
    fn step_of(&self, of: GateOf, gate: &str) -> Option<String> {
        match of {
            GateOf::Lane(at) => self.work.lanes[at].step.clone(),
            GateOf::Phase(group, phase) => {
                // Steps of one phase may have gates of one name: one gate of a phase runs at a time.
                let gates = self.work.fleet.groups[group].phases[phase].gates.iter();
                let mut gates = gates.filter(|known| known.name == gate);
                let first = gates.clone().next();
                let runs = gates.find(|known| known.state == GateProgress::Running);
                runs.or(first).and_then(|known| known.step.clone())
            }
        }
    }

    /// A gate's command has judged, or was not able to.
    pub(super) fn gate_judged(
        &mut self,
        of: GateOf,
        gate: String,
        result: GateResult,
        evidence: Evidence,
    ) -> Result<(), RunError> {
        let (name, key) = match of {
            GateOf::Lane(at) => (self.work.fleet.lanes[at].name.clone(), Key::Lane(at)),
            GateOf::Phase(group, phase) => (self.work.fleet.groups[group].name.clone(), Key::Phase(group, phase)),
        };
        let word = match &result {
            GateResult::Passed => "passed",
            GateResult::Failed(_) => "failed",
            GateResult::Broken { .. } => "broken",
            GateResult::Stopped => "stopped",
        };
        let ended = format!("`{}` ended with {} ({})", evidence.command, evidence.exit_code, evidence.digest);
        let summary = format!("{word}: {ended}{}", self.version_judged(key));
        self.memory.lane(&name).gates.push((gate.clone(), summary.clone()));
        self.save()?;
        self.tell_gate(of, &gate, &result);
        match &result {
            GateResult::Passed => {
                let step = self.step_of(of, &gate);
                self.failed_gates.remove(&key);
                self.passed.entry(key).or_default().push(JudgedGate { gate: gate.clone(), step, evidence });
            }
            GateResult::Failed(_) => {
                self.passed.remove(&key);
                let step = self.step_of(of, &gate);
                self.failed_gates.insert(key, JudgedGate { gate: gate.clone(), step, evidence });
                self.note_gate(of, &format!("gate {gate} {summary}"));
            }
            GateResult::Broken { .. } => {
                self.passed.remove(&key);
                self.note_gate(of, &format!("gate {gate} {summary}"));
            }
            GateResult::Stopped => drop(self.passed.remove(&key)),
        }
        self.queue.push_back(FleetEvent::GateEnded { of, gate, result });
        Ok(())
    }

    /// Which version of its own gates a branch is judged with, where that is not its own.
    fn version_judged(&self, key: Key) -> String {
        let restored = self.merged.get(&key).map(|merged| merged.own_gates.join(", "));
        let restored = restored.filter(|files| !files.is_empty());
        restored.map_or_else(String::new, |files| format!(", with the base's version of {files}"))
    }

    /// Notes a gate that did not pass. The unit itself fails only when no agent is left to see to it.
    fn note_gate(&mut self, of: GateOf, text: &str) {
        let unit = match of {
            GateOf::Lane(at) => Some(self.work.lanes[at].unit.clone()),
            GateOf::Phase(group, _) => self.work.groups[group].unit.clone(),
        };
        let Some(unit) = unit else { return };
        let event = Event::Noted { text: text.to_owned(), purpose: NotePurpose::Note };
        if let Err(error) = record(self.workspace, &unit, &event, &self.recorder("lead")) {
            self.memory.issues.push((unit.to_string(), "record".to_owned(), explain(error)));
        }
    }

    /// Records the gates that have passed on the tree that is on the base now.
    pub(super) fn record_passed(&mut self, of: MergeOf) -> Result<(), String> {
        for JudgedGate { gate, step, evidence } in self.passed.remove(&Key::from(of)).unwrap_or_default() {
            let (unit, event) = match of {
                MergeOf::Lane(at) => match &self.work.groups[self.work.fleet.lanes[at].group].unit {
                    Some(unit) => (unit.clone(), judged(&gate, step, evidence)),
                    None => (self.work.lanes[at].unit.clone(), self.own_judgement(at, &gate, evidence)),
                },
                MergeOf::Phase(group, _) => match self.work.groups[group].unit.clone() {
                    Some(unit) => (unit, judged(&gate, step, evidence)),
                    None => continue,
                },
            };
            if self.is_recorded(&unit, &event) || self.is_archived(of, &unit) {
                continue;
            }
            record(self.workspace, &unit, &event, &self.recorder("lead")).map_err(explain)?;
        }
        Ok(())
    }

    /// Whether a unit that is one lane was finished by its own agent: then its record is closed.
    fn is_archived(&self, of: MergeOf, unit: &piton_model::UnitRef) -> bool {
        let is_whole = matches!(of, MergeOf::Lane(at) if self.work.lanes[at].step.is_none());
        let found = crate::find(self.workspace, unit, self.time());
        is_whole && found.is_ok_and(|found| found.unit.state.lifecycle() == piton_model::Lifecycle::Done)
    }

    /// A gate of a unit that is one lane: a criterion of the unit, or the user's own, which is noted.
    fn own_judgement(&self, at: LaneAt, gate: &str, evidence: Evidence) -> Event {
        let is_criterion = self.unit_of(at).is_ok_and(|unit| unit.gates.iter().any(|known| known.name == gate));
        match is_criterion {
            true => judged(gate, None, evidence),
            false => {
                let text = format!(
                    "gate {gate} passed: `{}` ended with {} ({})",
                    evidence.command, evidence.exit_code, evidence.digest
                );
                Event::Noted { text, purpose: NotePurpose::Note }
            }
        }
    }

    /// Whether the unit has the same gate as passed already, by a command on the same tree.
    fn is_recorded(&self, unit: &piton_model::UnitRef, event: &Event) -> bool {
        let Event::GateJudged(GateJudgement { names, step, evidence: Some(evidence), .. }) = event else {
            return false;
        };
        let Ok(found) = crate::find(self.workspace, unit, self.time()) else { return false };
        // One gate may be that of several phases: as long as it is due for one of them, it is recorded.
        let is_named = |known: &Gate| names.iter().any(|name| is_gate(found.unit.dialect, name, &known.name));
        let is_meant = |known: &&Gate| is_named(known) && (step.is_none() || known.step == *step);
        let mut meant = found.unit.gates.iter().filter(is_meant).peekable();
        let is_passed = meant.peek().is_some() && meant.all(|known| matches!(known.state, GateState::Passed { .. }));
        is_passed && self.evidence_of(unit, names, step.as_deref()) == evidence.tree
    }

    /// Tells which gates would fail on every tree, because the base has no script of theirs.
    pub(super) fn tell_missing_scripts(&mut self) {
        let (Some(repository), Some(branch)) = (&self.repository, &self.memory.run.base) else { return };
        let base = Base { repository, branch };
        for missing in missing_scripts(self.workspace, &self.settings, &self.work, &base) {
            self.tell(None, "gate", &missing);
        }
    }

    /// Tells what the phases of specifications name and no workstream is: no worker builds it.
    pub(super) fn tell_undefined(&mut self) {
        for (group, text) in undefined_streams(self.workspace, &self.work) {
            let name = self.work.fleet.groups[group].name.clone();
            self.tell(Some(&name), "skipped", &text);
        }
    }

    fn tell_gate(&mut self, of: GateOf, gate: &str, result: &GateResult) {
        let text = match result {
            GateResult::Passed => format!("gate {gate} passed"),
            GateResult::Failed(why) => why.summary(),
            GateResult::Broken { why } => cannot_judge(gate, why),
            GateResult::Stopped => format!("gate {gate} was ended with the run"),
        };
        let key = match of {
            GateOf::Lane(at) => Key::Lane(at),
            GateOf::Phase(group, phase) => Key::Phase(group, phase),
        };
        let text = format!("{text}{}", self.version_judged(key));
        match of {
            GateOf::Lane(at) => self.tell_lane(at, "gate", &text),
            GateOf::Phase(group, _) => {
                let name = self.work.fleet.groups[group].name.clone();
                self.tell(Some(&name), "gate", &text);
            }
        }
    }
}

/// The command with which a person says that a gate is met.
fn judged(gate: &str, step: Option<String>, evidence: Evidence) -> Event {
    let names = vec![gate.to_owned()];
    Event::GateJudged(GateJudgement { passed: true, names, step, evidence: Some(evidence) })
}
