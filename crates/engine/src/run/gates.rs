//! Gates: which command judges what, where, and how the verdict is recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use piton_dialect::build::is_same_gate;
use piton_model::fleet::{
    FleetEvent, GateKind, GateOf, GateProgress, GateResult, LaneAt, MergeOf, PhaseGate, PhaseState, cannot_judge,
};
use piton_model::{Dialect, Event, Evidence, Gate, GateJudgement, GateState, NotePurpose, Rework, StepState, UnitRef};
use piton_store::journal::Entry;
use piton_supervisor::{Scratch, quoted};
use serde_json::Value;

use super::RunError;
use super::claim::explain;
use super::commands::Purpose;
use super::forewarn::undefined_streams;
use super::freed::{LEAD, is_by_person};
use super::lead::Lead;
use super::merging::Key;
use super::scripts::{Base, missing_scripts};
use super::settings::{SETTINGS, Settings};
use super::ways::Judging;
use super::work::gates_by_phase;
use crate::evidence::toml_key;
use crate::record;

/// A gate that has judged a tree.
#[derive(Debug, Clone)]
pub(super) struct JudgedGate {
    pub gate: String,
    pub step: Option<String>,
    pub evidence: Evidence,
}

impl Lead<'_> {
    /// Starts a gate's command, or judges what has none.
    pub(super) fn run_gate(&mut self, of: GateOf, gate: &str) -> Result<(), RunError> {
        let group = self.group_of(of);
        let mut approved = self.approved_gates(of).unwrap_or_default();
        let own = approved.remove(gate).filter(|own| self.settings.gates.get(gate) != Some(own));
        let is_own = own.is_some();
        let command = own.or_else(|| self.gate_command(group, gate));
        let unit = self.work.groups[group].unit.clone();
        let changed = match unit {
            Some(unit) => self.refuse_changed_gates(&unit),
            None => self.refuse_changed_settings(gate),
        };
        let changed = changed.err();
        let result = match command {
            _ if changed.is_some() => GateResult::Broken { why: changed.unwrap_or_default() },
            Some(command) => {
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
            None if self.work.groups[group].dialect == Dialect::Crew => self.sync_point(group),
            None => self.judged_by_person(of, gate),
        };
        self.tell_gate(of, gate, &result);
        self.queue.push_back(FleetEvent::GateEnded { of, gate: gate.to_owned(), result });
        Ok(())
    }

    /// The gates of settings that a branch changes and a person approved: its own version judges it.
    pub(super) fn approved_gates(&self, of: GateOf) -> Option<BTreeMap<String, String>> {
        let GateOf::Lane(at) = of else { return None };
        let merged = self.merged.get(&Key::Lane(at)).filter(|merged| merged.own_gates.is_empty())?;
        // An approval holds for later commits that leave the settings alone.
        self.memory.lanes.get(&self.work.fleet.lanes[at].name)?.approved.as_ref()?;
        let (repository, candidate) = (self.repository.as_ref()?, merged.candidate.as_ref()?);
        let path = repository.inside().join(SETTINGS).display().to_string();
        let text = |commit: &str| repository.text_at(commit, &path).ok().flatten();
        // Settings that the base does not have were not a part of the question.
        let (before, own) = (text(&candidate.base_commit)?, text(&candidate.commit)?);
        (before != own).then(|| Settings::parse(&String::from_utf8_lossy(&own)).ok()).flatten().map(|own| own.gates)
    }

    pub(super) fn gate_command(&self, group: usize, gate: &str) -> Option<String> {
        let own = self.work.groups[group].gates.iter().map(|(name, command)| (name, command));
        let is_build = self.work.groups[group].dialect == Dialect::Build;
        let is_it = |(name, _): &(&String, &String)| *name == gate || is_build && is_same_gate(name, gate);
        let mut known = own.chain(&self.settings.gates);
        known.find(is_it).map(|(_, command)| command.clone())
    }

    /// Refuses to judge a unit, and to call it done, whose user added a gate or changed its command since this lead began:
    /// the next lead judges by that.
    pub(super) fn refuse_changed_gates(&self, unit: &UnitRef) -> Result<(), String> {
        let Some(group) = self.work.groups.iter().position(|known| known.unit.as_ref() == Some(unit)) else {
            return Ok(());
        };
        let phases = self.work.fleet.groups[group].phases.iter();
        let mut names: BTreeSet<String> = phases.flat_map(|phase| &phase.gates).map(|gate| gate.name.clone()).collect();
        let mut commands: Vec<(String, String)> = Vec::new();
        if self.work.groups[group].dialect == Dialect::Build
            && let Some(spec) = self.specification(unit)
        {
            names.extend(spec.phases.iter().flat_map(|phase| phase.gates.clone()));
            let known = spec.gates.into_iter().filter_map(|gate| Some((gate.name, gate.command?)));
            commands.extend(known);
        }
        commands.extend(self.gates_of_user());
        let command =
            |gate: &String| commands.iter().find(|(name, _)| is_same_gate(name, gate)).map(|(_, command)| command);
        let is_changed =
            |gate: &String| command(gate).is_some_and(|now| self.gate_command(group, gate).as_ref() != Some(now));
        let mut changed: Vec<String> = names.into_iter().filter(is_changed).collect();
        let added = self.added_gates(group, unit).into_iter().filter(|gate| !changed.contains(gate));
        changed.extend(added.collect::<Vec<_>>());
        match changed.is_empty() {
            true => Ok(()),
            false => Err(self.judge_by_changed(&changed.join(", "))),
        }
    }

    /// The gates that a build's specification has in a phase by now, and that this lead does not have there.
    fn added_gates(&self, group: usize, unit: &UnitRef) -> Vec<String> {
        let is_build = self.work.groups[group].dialect == Dialect::Build;
        let spec = self.specification(unit).filter(|_| is_build);
        let known = &self.work.fleet.groups[group];
        let keys: Vec<String> = (0..known.phases.len()).map(|place| known.phase_key(place)).collect();
        let of_lanes = self.work.fleet.lanes.iter().filter(|lane| lane.group == group).flat_map(|lane| &lane.gates);
        let of_lanes: Vec<&String> = of_lanes.collect();
        let is_known = |key: &String, gate: &String| {
            let is_it = |name: &String| is_same_gate(name, gate);
            // A phase that was renamed or added has the gates of all.
            let here = known.phases.iter().zip(&keys).filter(|(_, other)| *other == key || !keys.contains(key));
            let here = here.flat_map(|(phase, _)| phase.gates.iter().map(|gate| &gate.name));
            of_lanes.iter().copied().chain(here).any(is_it)
        };
        let all = spec.iter().flat_map(gates_by_phase);
        all.flat_map(|(key, gates)| gates.into_iter().filter(|gate| !is_known(&key, gate)).collect::<Vec<_>>())
            .collect()
    }

    /// The same for a story or a task, which the gates of the settings judge.
    fn refuse_changed_settings(&self, gate: &str) -> Result<(), String> {
        let now = self.gates_of_user();
        match now.get(gate) {
            Some(now) if Some(now) != self.settings.gates.get(gate) => Err(self.judge_by_changed(gate)),
            _ => Ok(()),
        }
    }

    /// Refuses to merge a story, a task or an agent's work whose user added a gate since this lead began.
    pub(super) fn refuse_added_gates(&self, at: LaneAt) -> Result<(), String> {
        let work = &self.work.lanes[at];
        let criteria: BTreeSet<String> =
            self.unit_of(at).map(|unit| unit.gates.into_iter().map(|gate| gate.name).collect()).unwrap_or_default();
        let judges = |gate: &String| match work.dialect {
            Dialect::Pipeline | Dialect::Crew => true,
            Dialect::Task => criteria.contains(gate),
            // They are judged by phases, see `refuse_changed_gates`.
            Dialect::Plan | Dialect::Build => false,
        };
        let is_new = |gate: &String| !self.settings.gates.contains_key(gate) && judges(gate);
        let added: Vec<String> = self.gates_of_user().into_keys().filter(is_new).collect();
        match added.is_empty() {
            true => Ok(()),
            false => Err(self.judge_by_changed(&added.join(", "))),
        }
    }

    fn judge_by_changed(&self, gates: &str) -> String {
        let mut text = format!("gates changed during the run: {gates}; ");
        if let Some(base) = self.memory.run.base.as_ref().filter(|_| !self.is_base_here()) {
            // A lead reads its settings from what is checked out.
            text += &format!("check {base} out: git checkout {}; then ", quoted(base));
        }
        self.command(&["--retry"]).to(text + "judge by them").to_string()
    }

    /// The gates of the settings as their user has them now.
    pub(super) fn gates_of_user(&self) -> BTreeMap<String, String> {
        let settings = Settings::load(&self.as_user_has_it());
        settings.map_or_else(|_| self.settings.gates.clone(), |settings| settings.gates)
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

    fn group_of(&self, of: GateOf) -> usize {
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
        if found.is_some_and(|found| judging.is(&found.unit, |state| matches!(state, GateState::Passed { .. }))) {
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

    /// The steps of a phase of a build, where other phases have a gate of that name: its judgement is recorded for these.
    fn judged_steps(&self, group: usize, phase: usize, gate: &str) -> Vec<String> {
        let phases = self.work.fleet.groups[group].phases.iter();
        let has_it = |phase: &&piton_model::fleet::Phase| phase.gates.iter().any(|it| is_same_gate(&it.name, gate));
        if self.work.groups[group].dialect != Dialect::Build || phases.filter(has_it).count() < 2 {
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
        let gate = judging.gate.as_str();
        let events = self.events_of(self.work.groups[group].unit.as_ref()?);
        let starts = |entry: &Entry| entry.by == LEAD && matches!(entry.event.as_str(), "step_begun" | "noted");
        let since = events.iter().rposition(starts).map_or(0, |at| at + 1);
        let is_meant = |entry: &&Entry| {
            let names = entry.data.get("gates").and_then(Value::as_array).into_iter().flatten();
            let step = entry.data.get("step").and_then(Value::as_str);
            let is_its = step.is_none() || judging.step.is_none() || step == judging.step.as_deref();
            let mut names = names.filter_map(Value::as_str);
            entry.event == "gate_failed" && is_by_person(entry) && is_its && names.any(|it| it == gate)
        };
        let refused = events[since..].iter().rfind(is_meant)?;
        let evidence = |key: &str| refused.data.get("evidence").and_then(|it| it[key].as_str());
        let said = evidence("tail").filter(|tail| !tail.is_empty()).or_else(|| evidence("command"));
        let notes = events[since..].iter().filter(|entry| entry.event == "noted" && is_by_person(entry));
        let notes = notes.filter_map(|entry| entry.data.get("text").and_then(Value::as_str));
        let words: Vec<&str> = said.into_iter().chain(notes).collect();
        Some(
            [format!("a person judged {gate}: not met")]
                .into_iter()
                .chain(words.iter().map(|it| (*it).to_owned()))
                .collect::<Vec<_>>()
                .join("; "),
        )
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
        let is_meant = |known: &&Gate| names.contains(&known.name) && (step.is_none() || known.step == *step);
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
