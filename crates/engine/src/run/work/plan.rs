//! A plan: its phases one after another, its tasks, and the acceptance of each phase.

use piton_model::fleet::{Approval, Lane, LaneState};
use piton_model::hint::verbs;
use piton_model::{Dialect, GateState, Id, Start, Step, StepState, UnitRef};

use super::{Draft, DraftLane, GroupWork, LaneWork, WorkError, new_phase, phase_gate, unusable};

impl Draft<'_> {
    pub(super) fn add_plan(&mut self, typed: &str) -> Result<(), WorkError> {
        let wanted = UnitRef::parse(typed)
            .map_err(|error| unusable(format!("{error}: {typed}"), "name it by its directory: plan:ID"))?;
        let found = crate::find(self.workspace, &wanted, self.now)
            .map_err(|error| WorkError::Unit { wanted: typed.to_owned(), error })?;
        let name = found.name.clone();
        let unit = UnitRef::parse(&name).unwrap_or(wanted);
        let steps = &found.unit.steps;
        if steps.is_empty() {
            let hint = verbs::PLAN_MARK.on(&name).to("give its boxes ids");
            return Err(unusable(format!("{name} has no tasks with ids"), hint));
        }
        let mut names: Vec<String> = Vec::new();
        let stage = |stage: &Option<std::sync::Arc<str>>| stage.as_deref().unwrap_or("main").to_owned();
        for each in steps.iter().map(|step| &step.stage).chain(found.unit.gates.iter().map(|gate| &gate.stage)) {
            let each = stage(each);
            if !names.contains(&each) {
                names.push(each);
            }
        }
        let has_command = |gate: &str| self.settings.gates.contains_key(gate);
        let phases: Vec<_> = names
            .iter()
            .enumerate()
            .map(|(place, name)| {
                let is_last = place + 1 == names.len();
                // The last phase judges all commands once more: what a later phase broke is not complete.
                let is_here = |gate: &&piton_model::Gate| {
                    let is_own = stage(&gate.stage) == *name;
                    match has_command(&gate.name) {
                        true => is_own || is_last,
                        false => is_own && !matches!(gate.state, GateState::Passed { .. }),
                    }
                };
                let gates = found.unit.gates.iter().filter(is_here);
                let gates = gates.map(|gate| phase_gate(&gate.name, None, has_command(&gate.name)));
                new_phase(name.clone(), gates.collect(), Approval::NotNeeded)
            })
            .collect();
        let work = GroupWork { dialect: Dialect::Plan, unit: Some(unit.clone()), gates: Vec::new(), spec: None };
        let group = self.add_group(&name, phases, work);
        for (place, step) in steps.iter().enumerate() {
            // Files are named after it.
            Id::parse(&step.id)
                .map_err(|why| unusable(format!("the task {:?} is no id: {why}", step.id), verbs::CHECK.on(&name)))?;
            let own = stage(&step.stage);
            let phase = names.iter().position(|name| *name == own).unwrap_or(0);
            let (lane, work) = plan_lane(&unit, step, group, phase, place);
            self.add_lane(DraftLane { lane, work, after: Vec::new(), key: step.id.clone() });
        }
        Ok(())
    }
}

/// The lane of a plan's task.
pub fn plan_lane(unit: &UnitRef, step: &Step, group: usize, phase: usize, place: usize) -> (Lane, LaneWork) {
    let name = unit.to_string();
    let plan = unit.parts.last().map_or(String::new(), |id| id.to_string());
    let lane = Lane {
        phase,
        priority: i64::try_from(place).unwrap_or(i64::MAX),
        halts_group: true,
        state: match step.state {
            StepState::Done { .. } | StepState::Skipped => LaneState::Done,
            StepState::Pending | StepState::Running | StepState::Failed => LaneState::Queued,
        },
        ..Lane::new(format!("{name} {}", step.id), group)
    };
    let work = LaneWork {
        dialect: Dialect::Plan,
        unit: unit.clone(),
        unit_name: name,
        id: format!("{plan}-{}", step.id),
        title: step.title.clone(),
        text: None,
        step: Some(step.id.clone()),
        outputs: Vec::new(),
        start: Start::default(),
        brief: Default::default(),
        worker: None,
    };
    (lane, work)
}
