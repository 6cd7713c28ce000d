//! A plan is its user's text: boxes that are ticked, added or removed during a run are respected.

use piton_model::fleet::{FleetEvent, LaneState};
use piton_model::{Dialect, Id, StepState};

use super::lead::Lead;
use super::work::plan_lane;

impl Lead<'_> {
    /// Looks at every plan whose text has changed.
    pub(super) fn look_at_plans(&mut self) {
        for group in 0..self.work.groups.len() {
            let Some(unit) = self.work.groups[group].unit.clone() else { continue };
            if self.work.groups[group].dialect != Dialect::Plan {
                continue;
            }
            let first = self.work.fleet.lanes.iter().position(|lane| lane.group == group);
            let Some(path) = first.map(|at| self.document_of(at)).filter(|path| !path.is_empty()) else { continue };
            let Ok(Some(stamp)) = self.workspace.disk.stamp(&path) else { continue };
            if self.plans.insert(group, stamp).is_none_or(|before| before == stamp) {
                continue;
            }
            if let Ok(found) = crate::find(self.workspace, &unit, self.time()) {
                self.follow_plan(group, &unit, &found.unit);
            }
        }
    }

    /// Brings the lanes of a plan into line with its text. What a worker is at stays with its worker.
    fn follow_plan(&mut self, group: usize, unit: &piton_model::UnitRef, plan: &piton_model::Unit) {
        for at in 0..self.work.fleet.lanes.len() {
            if self.work.fleet.lanes[at].group != group {
                continue;
            }
            let is_waiting = matches!(self.work.fleet.lanes[at].state, LaneState::Queued | LaneState::Between);
            let own = self.work.lanes[at].step.as_deref();
            let text = match plan.steps.iter().find(|step| Some(step.id.as_str()) == own) {
                None => Some("its box was removed from the plan: it is left alone"),
                Some(step) => match step.state {
                    StepState::Done { .. } | StepState::Skipped => Some("its box was ticked by hand"),
                    StepState::Pending | StepState::Running | StepState::Failed => None,
                },
            };
            if let (true, Some(text)) = (is_waiting, text) {
                self.tell_lane(at, "plan", text);
                self.queue.push_back(FleetEvent::LaneSettled { lane: at });
            }
        }
        self.add_steps(group, unit, plan);
    }

    fn add_steps(&mut self, group: usize, unit: &piton_model::UnitRef, plan: &piton_model::Unit) {
        let known: Vec<String> = self
            .work
            .fleet
            .lanes
            .iter()
            .zip(&self.work.lanes)
            .filter(|(lane, _)| lane.group == group)
            .filter_map(|(_, work)| work.step.clone())
            .collect();
        let phases: Vec<String> = self.work.fleet.groups[group].phases.iter().map(|phase| phase.name.clone()).collect();
        for (place, step) in plan.steps.iter().enumerate() {
            let is_open = !matches!(step.state, StepState::Done { .. } | StepState::Skipped);
            if known.contains(&step.id) || !is_open || Id::parse(&step.id).is_err() {
                continue;
            }
            // A task of a phase that is new joins the last one: phases are closed in order.
            let own = step.stage.as_deref().unwrap_or("main");
            let phase = phases.iter().position(|name| name == own).unwrap_or(phases.len().saturating_sub(1));
            let (lane, work) = plan_lane(unit, step, group, phase, place);
            self.tell(Some(&lane.name.clone()), "plan", "its box was added to the plan");
            self.work.lanes.push(work);
            self.queue.push_back(FleetEvent::LaneAdded(Box::new(lane)));
        }
    }
}
