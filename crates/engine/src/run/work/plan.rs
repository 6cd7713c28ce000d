//! A plan: its phases one after another, its tasks, and the acceptance of each phase.

use std::sync::Arc;

use piton_dialect::plan::{MAIN_PHASE, codes};
use piton_model::fleet::{Approval, Lane, LaneState, Phase};
use piton_model::hint::verbs;
use piton_model::{Dialect, Finding, Gate, GateState, Hint, Id, Start, Step, StepState, Unit, UnitRef};

use super::{Draft, DraftLane, GroupWork, LaneWork, WorkError, new_phase, phase_gate, unusable};
use crate::Found;
use crate::evidence::named_command;
use crate::find::find_recorded;

impl Draft<'_> {
    pub(super) fn add_plan(&mut self, typed: &str) -> Result<(), WorkError> {
        let wanted = UnitRef::parse(typed)
            .map_err(|error| unusable(format!("{error}: {typed}"), "name it by its directory: plan:ID"))?;
        self.must_not_be_lost(&wanted)?;
        let found = find_recorded(self.workspace, &wanted, self.now)
            .map_err(|error| WorkError::Unit { wanted: typed.to_owned(), error })?;
        let name = found.name.clone();
        let unit = UnitRef::parse(&name).unwrap_or(wanted);
        let steps = &found.unit.steps;
        if let Some(why) = left_out(&found) {
            return Err(unusable(why.message, why.hint));
        }
        if steps.is_empty() {
            let hint = verbs::PLAN_MARK.on(&name).to("give its boxes ids");
            return Err(unusable(format!("{name} has no tasks with ids"), hint));
        }
        let mut names: Vec<String> = Vec::new();
        for each in steps.iter().map(|step| &step.stage) {
            let each = stage_of(each);
            if !names.contains(&each) {
                names.push(each);
            }
        }
        let has_command = |gate: &str| named_command(&self.settings.gates, gate).is_some();
        let last = names.len().saturating_sub(1);
        let phases = names.iter().enumerate();
        let phases = phases.map(|(place, name)| plan_phase(&found.unit, name, place == last, &has_command)).collect();
        let work = GroupWork { dialect: Dialect::Plan, unit: Some(unit.clone()), gates: Vec::new(), spec: None };
        let group = self.add_group(&name, phases, work);
        for (place, step) in steps.iter().enumerate() {
            // Files are named after it.
            Id::parse(&step.id)
                .map_err(|why| unusable(format!("the task {:?} is no id: {why}", step.id), verbs::CHECK.on(&name)))?;
            let own = stage_of(&step.stage);
            let phase = names.iter().position(|name| *name == own).unwrap_or(0);
            let (lane, work) = plan_lane(&unit, step, group, phase, place);
            self.add_lane(DraftLane { lane, work, after: Vec::new(), key: step.id.clone() });
        }
        Ok(())
    }
}

/// A box that the reader of a plan leaves out, and that has no worker for that.
pub(in crate::run) struct LeftOut {
    message: String,
    hint: Hint,
}

impl std::fmt::Display for LeftOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}; {}", self.message, self.hint)
    }
}

/// The first box of a plan that its reader leaves out.
pub(in crate::run) fn left_out(found: &Found) -> Option<LeftOut> {
    let is_left_out = |finding: &&Finding| {
        [&codes::PLAN_DUPLICATE_ID, &codes::PLAN_BAD_ID, &codes::PLAN_OPEN_COMMENT].contains(&finding.code)
    };
    let finding = found.findings.iter().find(is_left_out)?;
    let line = finding.place.line.map_or_else(String::new, |line| format!(":{line}"));
    let message = format!("{}{line}: {}", finding.place.path, finding.message);
    Some(LeftOut { message, hint: verbs::CHECK.on(&found.name).to("correct it, then see that nothing is left") })
}

/// The name of the phase that a task or criterion of a plan belongs to.
pub fn stage_of(stage: &Option<Arc<str>>) -> String {
    stage.as_deref().unwrap_or(MAIN_PHASE).to_owned()
}

/// A phase of a plan with its gates. The last one judges all commands once more: what a later phase broke is not complete. It
/// judges what phases without tasks ask for, too.
pub fn plan_phase(plan: &Unit, name: &str, is_last: bool, has_command: &dyn Fn(&str) -> bool) -> Phase {
    let has_tasks = |stage: &str| plan.steps.iter().any(|step| stage_of(&step.stage) == stage);
    let is_here = |gate: &&Gate| {
        let stage = stage_of(&gate.stage);
        let is_own = stage == name || is_last && !has_tasks(&stage);
        match has_command(&gate.name) {
            true => is_own || is_last,
            false => is_own && !matches!(gate.state, GateState::Passed { .. }),
        }
    };
    let gates = plan.gates.iter().filter(is_here);
    let gates = gates.map(|gate| phase_gate(&gate.name, None, has_command(&gate.name)));
    new_phase(name.to_owned(), gates.collect(), Approval::NotNeeded)
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
