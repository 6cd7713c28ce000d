//! A build: the phases, workstreams and gates of its specification.

use piton_dialect::build::{Spec, read_spec, spec_of};
use piton_dialect::{Place, Source};
use piton_model::fleet::{Approval, Lane, LaneState};
use piton_model::{Dialect, GateState, Id, Start, StepState, UnitRef};

use super::{COMPLETE, Draft, DraftLane, GroupWork, LaneWork, WorkError, new_phase, unusable};
use crate::record::DiskFiles;

impl Draft<'_> {
    /// A build whose specification was named.
    pub(super) fn add_build_spec(&mut self, path: &str, text: &str) -> Result<(), WorkError> {
        let reading = read_spec(&Source { path: path.into(), bytes: text.as_bytes(), modified: None });
        let Some(spec) = reading.spec else {
            let why = reading.findings.first().map_or("it has no front matter", |finding| &finding.message);
            return Err(unusable(format!("{path} is no specification: {why}"), format!("piton check {path}")));
        };
        let prd = spec.prd.clone().unwrap_or_default();
        let prd = Id::parse(&prd).map_err(|why| {
            unusable(format!("the specification's `prd` {prd:?} is no id: {why}"), format!("piton check {path}"))
        })?;
        let unit = UnitRef { dialect: Some(Dialect::Build), parts: vec![prd] };
        let start = Start { spec: Some((path.to_owned(), text.to_owned())), ..Start::default() };
        self.add_streams(&unit, &spec, start)
    }

    /// A build that is named by its unit.
    pub(super) fn add_build(&mut self, unit: &UnitRef) -> Result<(), WorkError> {
        let files = DiskFiles::new(&*self.workspace.disk, None);
        let found = crate::find(self.workspace, unit, self.now).ok();
        let document = found.as_ref().and_then(|found| found.unit.documents.first()).map(|it| it.path.to_string());
        let id = unit.parts.last().cloned().into_iter().collect();
        let place = Place { base: String::new(), id, document, root: String::new() };
        let Some(spec) = spec_of(&place, &files, self.now) else {
            return Err(unusable(
                format!("no specification of {unit} was found"),
                format!("name it: piton run docs/EXECUTION-SPEC-{}.md", unit.parts.last().map_or("", |id| id.as_str())),
            ));
        };
        self.add_streams(unit, &spec, Start::default())
    }

    fn add_streams(&mut self, unit: &UnitRef, spec: &Spec, start: Start) -> Result<(), WorkError> {
        let name = unit.to_string();
        let known = crate::find(self.workspace, unit, self.now).ok();
        let commands = spec.gates.iter().filter_map(|gate| Some((gate.name.clone(), gate.command.clone()?)));
        let group_work = GroupWork { dialect: Dialect::Build, unit: Some(unit.clone()), gates: commands.collect() };
        let last = spec.phases.len().saturating_sub(1);
        let phase = |(place, phase): (usize, &piton_dialect::build::Phase)| {
            let name = phase.name.clone().unwrap_or_else(|| format!("phase {}", place + 1));
            // What a workstream of the phase names is run for that workstream.
            let of_stream = |gate: &&String| {
                let streams = spec.workstreams.iter().filter(|stream| phase.parallel.contains(&stream.id));
                streams.into_iter().any(|stream| stream.gate.as_ref() == Some(*gate))
            };
            let gates: Vec<String> = phase.gates.iter().filter(|gate| !of_stream(gate)).cloned().collect();
            new_phase(name, &gates, if place == last { Approval::NotNeeded } else { Approval::Needed })
        };
        let mut phases: Vec<_> = spec.phases.iter().enumerate().map(phase).collect();
        if phases.is_empty() {
            phases.push(new_phase("phase 1", &[], Approval::NotNeeded));
        }
        if let Some(last) = phases.last_mut() {
            last.gates.extend(new_phase("", &[COMPLETE.to_owned()], Approval::NotNeeded).gates);
        }
        let group = self.add_group(&name, phases, group_work);
        for (place, stream) in spec.workstreams.iter().enumerate() {
            let id = Id::parse(&stream.id).map_err(|why| {
                unusable(format!("the workstream {:?} is no id: {why}", stream.id), format!("piton check {name}"))
            })?;
            let phase = spec.phases.iter().position(|phase| phase.parallel.contains(&stream.id)).unwrap_or(last);
            let step = known.as_ref().and_then(|found| found.unit.steps.iter().find(|step| step.id == stream.id));
            // Its gate belongs to it: without that it is not through.
            let has_passed = |gate: &String| {
                known.as_ref().is_some_and(|found| {
                    found.unit.gates.iter().any(|known| {
                        known.name == *gate
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
                gates: stream.gate.iter().cloned().collect(),
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
                outputs: stream.outputs.clone(),
                brief: serde_json::Map::new(),
                start: start.clone(),
            };
            self.add_lane(DraftLane { lane, work, after: stream.depends_on.clone(), key: stream.id.clone() });
        }
        Ok(())
    }
}
