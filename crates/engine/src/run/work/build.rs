//! A build: the phases, workstreams and gates of its specification.

use piton_dialect::build::{Spec, read_spec, spec_of, waits_for_person};
use piton_dialect::{Place, Source};
use piton_model::fleet::{Approval, Completion, Group, Lane, LaneState, Phase, PhaseGate};
use piton_model::hint::verbs;
use piton_model::{Dialect, GateState, Id, Start, StepState, Time, Unit, UnitRef, is_gate};

use super::super::judges::command_of;
use super::{Draft, DraftLane, GroupWork, LaneWork, WorkError, new_phase, phase_gate, unusable};
use crate::Workspace;
use crate::find::find_recorded;
use crate::record::DiskFiles;

/// A build's specification as it is now; nothing where it cannot be read.
pub fn specification(workspace: &Workspace, unit: &UnitRef, known: Option<&Unit>, now: Time) -> Option<Spec> {
    let document = known.and_then(|known| known.documents.first()).map(|it| it.path.to_string());
    let id = unit.parts.last().cloned().into_iter().collect();
    let place = Place { base: String::new(), id, document, root: String::new(), typed_below: String::new() };
    spec_of(&place, &DiskFiles::new(&*workspace.disk, None), now)
}

/// The workstreams of each phase that a run of a specification has, with the phase's key.
pub fn streams_by_phase(spec: &Spec) -> Vec<(String, Vec<String>)> {
    let (_, phase_at) = phases_of(spec, std::iter::empty(), &|_| false);
    let work = group_of(spec);
    let keys = (0..work.phases.len()).map(|place| (work.phase_key(place), Vec::new()));
    let mut all: Vec<(String, Vec<String>)> = keys.collect();
    for stream in &spec.workstreams {
        all[phase_of(spec, &phase_at, &stream.id)].1.push(stream.id.clone());
    }
    all
}

/// The gates of each phase that a run of a specification has, with the phase's key.
pub fn gates_by_phase(spec: &Spec) -> Vec<(String, Vec<String>)> {
    let work = group_of(spec);
    let names = |phase: &Phase| phase.gates.iter().map(|gate| gate.name.clone()).collect();
    work.phases.iter().enumerate().map(|(place, phase)| (work.phase_key(place), names(phase))).collect()
}

/// What a specification's phases name and its workstreams do not have: each with its phase.
pub fn undefined(spec: &Spec) -> Vec<(String, String)> {
    let is_unknown = |id: &&String| spec.workstreams.iter().all(|stream| stream.id != **id);
    let phases = spec.phases.iter().enumerate();
    let named = |place: usize, phase: &piton_dialect::build::Phase| {
        phase.name.clone().unwrap_or_else(|| format!("phase {}", place + 1))
    };
    let unknown = phases.flat_map(|(place, phase)| {
        phase.parallel.iter().filter(is_unknown).map(move |id| (named(place, phase), id.clone()))
    });
    unknown.collect()
}

fn group_of(spec: &Spec) -> Group {
    let (phases, _) = phases_of(spec, std::iter::empty(), &|_| false);
    let (begin, completion) = (Approval::NotNeeded, Completion::NotNeeded);
    Group { name: String::new(), phases, begin, completion, halted: None }
}

/// The phase of a run in which a workstream is built: the last, where the specification names none.
fn phase_of(spec: &Spec, phase_at: &[usize], stream: &str) -> usize {
    let named = spec.phases.iter().position(|phase| phase.parallel.iter().any(|known| known == stream));
    let last = phase_at.last().copied().unwrap_or(0);
    named.and_then(|place| phase_at.get(place).copied()).unwrap_or(last)
}

impl Draft<'_> {
    /// A build whose specification was named.
    pub(super) fn add_build_spec(&mut self, path: &str, text: &str) -> Result<(), WorkError> {
        let reading = read_spec(&Source { path: path.into(), bytes: text.as_bytes(), modified: None });
        let Some(spec) = reading.spec else {
            let why = reading.findings.first().map_or("it has no front matter", |finding| &finding.message);
            return Err(unusable(format!("{path} is no specification: {why}"), verbs::CHECK.call().path(path)));
        };
        let prd = spec.prd.clone().unwrap_or_default();
        let prd = Id::parse(&prd).map_err(|why| {
            unusable(format!("the specification's `prd` {prd:?} is no id: {why}"), verbs::CHECK.call().path(path))
        })?;
        let unit = UnitRef { dialect: Some(Dialect::Build), parts: vec![prd], is_whole: false };
        let start = Start { spec: Some((path.to_owned(), text.to_owned())), ..Start::default() };
        self.add_streams(&unit, &spec, Some(path.to_owned()), start)
    }

    /// A build that is named by its unit.
    pub(super) fn add_build(&mut self, unit: &UnitRef) -> Result<(), WorkError> {
        let found = find_recorded(self.workspace, unit, self.now).ok();
        let known = found.as_ref().map(|found| &found.unit);
        let Some(spec) = specification(self.workspace, unit, known, self.now) else {
            return Err(unusable(
                format!("no specification of {unit} was found"),
                verbs::RUN.call().fill("FILE").to("name its specification"),
            ));
        };
        let path = found.as_ref().and_then(|found| found.unit.documents.get(1)).map(|it| it.path.to_string());
        self.add_streams(unit, &spec, path, Start::default())
    }

    fn add_streams(
        &mut self,
        unit: &UnitRef,
        spec: &Spec,
        path: Option<String>,
        start: Start,
    ) -> Result<(), WorkError> {
        let name = unit.to_string();
        let known = find_recorded(self.workspace, unit, self.now).ok();
        let commands = spec.gates.iter().filter_map(|gate| Some((gate.name.clone(), gate.command.clone()?)));
        let commands: Vec<(String, String)> = commands.collect();
        let has_command = |gate: &str| command_of(&commands, &self.settings.gates, gate).is_some();
        let known_gates = known.iter().flat_map(|found| &found.unit.gates);
        let (phases, phase_at) = phases_of(spec, known_gates, &has_command);
        // A review that says ship_with_gates asks a person before any work begins.
        let asks = known.as_ref().is_some_and(|found| waits_for_person(&found.unit));
        let bad_id = match &path {
            Some(path) => verbs::CHECK.call().path(path),
            None => verbs::CHECK.call(),
        };
        let group_work =
            GroupWork { dialect: Dialect::Build, unit: Some(unit.clone()), gates: commands.clone(), spec: path };
        let stream_gates: Vec<Vec<String>> = spec
            .workstreams
            .iter()
            .map(|stream| stream.gate.iter().filter(|gate| has_command(gate)).cloned().collect())
            .collect();
        let group = self.add_group(&name, phases, group_work);
        if asks {
            self.ask_before(group);
        }
        for (place, stream) in spec.workstreams.iter().enumerate() {
            let id = Id::parse(&stream.id)
                .map_err(|why| unusable(format!("the workstream {:?} is no id: {why}", stream.id), bad_id.clone()))?;
            let phase = phase_of(spec, &phase_at, &stream.id);
            let step = known.as_ref().and_then(|found| found.unit.steps.iter().find(|step| step.id == stream.id));
            // Its gate belongs to it: without that it is not through.
            let has_passed = |gate: &String| {
                known.as_ref().is_some_and(|found| {
                    found.unit.gates.iter().any(|known| {
                        is_gate(Dialect::Build, &known.name, gate)
                            && known.step.as_deref() == Some(&stream.id)
                            && matches!(known.state, GateState::Passed { .. })
                    })
                })
            };
            let is_done = step.is_some_and(|step| match step.state {
                StepState::Done { .. } => stream.gate.iter().all(has_passed),
                StepState::Skipped => true,
                StepState::Pending | StepState::Running | StepState::Failed => false,
            });
            let lane = Lane {
                phase,
                priority: i64::try_from(place).unwrap_or(i64::MAX),
                gates: stream_gates[place].clone(),
                halts_group: true,
                state: if is_done { LaneState::Done } else { LaneState::Queued },
                ..Lane::new(format!("{name} {id}"), group)
            };
            let prd = unit.parts.last().map_or("", |id| id.as_str());
            let work = LaneWork {
                dialect: Dialect::Build,
                unit: unit.clone(),
                unit_name: name.clone(),
                id: format!("{prd}-{id}"),
                title: stream.name.clone(),
                text: None,
                step: Some(id.to_string()),
                outputs: stream.outputs.iter().map(|path| path.trim_start_matches("./").to_owned()).collect(),
                brief: serde_json::Map::new(),
                start: start.clone(),
                // An executor that no worker is called after is a person's word for it.
                worker: stream.executor.clone(),
            };
            self.add_lane(DraftLane { lane, work, after: stream.depends_on.clone(), key: stream.id.clone() });
        }
        Ok(())
    }
}

/// The phases of a specification with their gates, and which of them each phase of the specification is. What a workstream
/// names for itself is run with that workstream when a command is known, and is judged by a person after it otherwise. The
/// last phase judges all commands once more: what a later phase broke is not complete. A phase without workstreams has
/// no worker that could correct what its gates refuse: they judge the work before it.
fn phases_of<'g>(
    spec: &Spec,
    known: impl Iterator<Item = &'g piton_model::Gate>,
    has_command: &dyn Fn(&str) -> bool,
) -> (Vec<Phase>, Vec<usize>) {
    let last = spec.phases.len().saturating_sub(1);
    let (mut phases, mut phase_at): (Vec<Phase>, Vec<usize>) = (Vec::new(), Vec::new());
    let names = match spec.phases.is_empty() {
        true => vec![("phase 1".to_owned(), Vec::new(), Vec::new())],
        false => {
            let named = |(place, phase): (usize, &piton_dialect::build::Phase)| {
                let name = phase.name.clone().unwrap_or_else(|| format!("phase {}", place + 1));
                (name, phase.gates.clone(), phase.parallel.clone())
            };
            spec.phases.iter().enumerate().map(named).collect()
        }
    };
    for (place, (name, gates, parallel)) in names.into_iter().enumerate() {
        let is_here = |stream: &&piton_dialect::build::Workstream| {
            parallel.contains(&stream.id)
                || (place == last && !spec.phases.iter().any(|phase| phase.parallel.contains(&stream.id)))
        };
        let streams: Vec<_> = spec.workstreams.iter().filter(is_here).collect();
        let of_stream = |gate: &String| streams.iter().any(|stream| stream.gate.as_ref() == Some(gate));
        let mut own: Vec<PhaseGate> = gates
            .iter()
            // What a workstream names, too, is judged with it; a command judges the phase as a whole all the same.
            .filter(|gate| has_command(gate) || !of_stream(gate))
            .map(|gate| phase_gate(gate, None, has_command(gate)))
            .collect();
        let by_person = streams.iter().filter_map(|stream| Some((stream, stream.gate.as_ref()?)));
        let by_person = by_person.filter(|(_, gate)| !has_command(gate));
        own.extend(by_person.map(|(stream, gate)| phase_gate(gate, Some(&stream.id), false)));
        match phases.last_mut().filter(|_| streams.is_empty()) {
            Some(before) => {
                own.retain(|gate| !before.gates.iter().any(|known| is_gate(Dialect::Build, &known.name, &gate.name)));
                before.gates.extend(own);
            }
            None => phases.push(new_phase(name, own, Approval::Needed)),
        }
        phase_at.push(phases.len() - 1);
    }
    let stream_gates = spec.workstreams.iter().filter_map(|stream| stream.gate.clone());
    let all = spec.gates.iter().map(|gate| gate.name.clone()).chain(known.map(|gate| gate.name.clone()));
    let all: Vec<String> =
        all.chain(spec.phases.iter().flat_map(|phase| phase.gates.clone())).chain(stream_gates).collect();
    if let Some(last) = phases.last_mut() {
        last.approval = Approval::NotNeeded;
        for gate in all.iter().filter(|gate| has_command(gate)) {
            if !last.gates.iter().any(|known| is_gate(Dialect::Build, &known.name, gate)) {
                last.gates.push(phase_gate(gate, None, true));
            }
        }
    }
    (phases, phase_at)
}
