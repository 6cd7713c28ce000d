//! Compares a plan's state with the plan: the plan is right, the differences are findings.

use std::collections::{HashMap, HashSet};

use piton_model::{GateState, Percent, Unit};

use super::own::Own;
use super::read::Ticked;
use super::standing::is_done;
use super::{PlanFiles, checksum, codes, layout, wire};
use crate::json::Value;
use crate::{Findings, content};

/// Adds a finding for everything that the state says differently.
pub(super) fn compare(
    state: Value<'_, '_>,
    files: &PlanFiles<'_>,
    unit: &Unit,
    ticked: &Ticked,
    findings: &mut Findings<'_>,
) {
    let (_, id) = layout::id(&files.directory);
    let differs = |key: &str, is_right: &dyn Fn(&str) -> bool| {
        state.get(key).filter(|found| found.as_str().is_some_and(|found| !is_right(&found)))
    };
    if let Some(found) = differs("planId", &|found| found == id) {
        let message = format!("`planId` is {}, but the plan is {id}", found.raw());
        findings.at(found.span().start, &codes::PLAN_OTHER_ID, message);
    }
    if let Some(path) = differs("planPath", &|path| path.ends_with(&format!("{id}/plan.md"))) {
        let message = format!("`planPath` is {}, which is not this plan", path.raw());
        findings.at(path.span().start, &codes::PLAN_OTHER_PATH, message);
    }
    own_numbers(state, findings);
    let (Some(plan), true) = (&files.plan, ticked.parsed) else { return };
    let compare = Compare { state, unit, ticked };
    compare.backwards(findings);
    compare.unknown_tasks(findings);
    match differs("checksum", &|found| found == checksum(plan.bytes)) {
        Some(found) => {
            findings.at(found.span().start, &codes::PLAN_CHECKSUM, "plan.md has changed since this was written")
        }
        // What follows from the plan was right when it was written, and is only old after a change.
        None => compare.derived(findings),
    }
}

struct Compare<'a, 'j, 'u> {
    state: Value<'a, 'j>,
    unit: &'u Unit,
    ticked: &'u Ticked,
}

impl<'a, 'j> Compare<'a, 'j, '_> {
    fn phases(&self) -> impl Iterator<Item = (Value<'a, 'j>, Value<'a, 'j>)> + use<'a, 'j> {
        self.state.get("phases").into_iter().flat_map(Value::entries)
    }

    fn in_phases(&self, key: &'static str) -> impl Iterator<Item = (Value<'a, 'j>, Value<'a, 'j>)> + use<'a, 'j> {
        self.phases().filter_map(move |(_, phase)| phase.get(key)).flat_map(Value::entries)
    }

    /// Boxes that were ticked and are not any more.
    fn backwards(&self, findings: &mut Findings<'_>) {
        let is_true = |value: Value<'_, '_>, key| value.get(key).and_then(Value::as_bool) == Some(true);
        let mut open_again = |name: Value<'_, '_>, what: &str| {
            let message =
                format!("the {what} {} was done, and is open in the plan: progress went backwards", name.raw());
            findings.at(name.span().start, &codes::PLAN_BACKWARDS, message);
        };
        for (id, task) in self.in_phases("tasks") {
            let place = id.as_str().and_then(|id| self.ticked.tasks.get(&*id));
            if is_true(task, "done") && place.is_some_and(|place| !is_done(&self.unit.steps[*place])) {
                open_again(id, "task");
            }
        }
        for (id, criterion) in self.in_phases("acceptance") {
            let place = id.as_str().and_then(|id| self.ticked.criteria.get(&*id));
            if is_true(criterion, "met")
                && place.is_some_and(|place| self.unit.gates[*place].state == GateState::Pending)
            {
                open_again(id, "criterion");
            }
        }
    }

    /// Tasks that the plan does not have.
    fn unknown_tasks(&self, findings: &mut Findings<'_>) {
        let is_unknown = |id: &Value<'_, '_>| id.as_str().is_some_and(|id| !self.ticked.tasks.contains_key(&*id));
        let named = self.in_phases("tasks").map(|(id, _)| id);
        let agents = self.state.get("agents").into_iter().flat_map(Value::entries);
        let assigned = agents.filter_map(|(_, agent)| agent.get("assignedTasks")).flat_map(Value::items);
        for id in named.chain(assigned).filter(is_unknown) {
            findings.at(id.span().start, &codes::PLAN_STATE_UNKNOWN, format!("the plan has no task {}", id.raw()));
        }
    }

    /// What the state says that follows from the plan.
    fn derived(&self, findings: &mut Findings<'_>) {
        // Between a phase's last task and its acceptance there is no current task.
        let task = self.unit.current.as_deref().filter(|current| self.ticked.tasks.contains_key(*current));
        for (key, want) in [("currentPhase", self.unit.stage.as_deref()), ("currentTask", task)] {
            let Some(found) = self.state.get(key) else { continue };
            if content::as_text(found).as_deref() != want {
                let want = want.unwrap_or("null");
                let message = format!("`{key}` is {}, but by the plan it is {want}", found.raw());
                findings.at(found.span().start, &codes::PLAN_STATE_DIFFERS, message);
            }
        }
        let statuses = self.statuses();
        for (id, phase) in self.phases() {
            let (Some(name), Some(status)) = (id.as_str(), phase.get("status")) else { continue };
            let found = status.as_str().and_then(|status| wire::PHASE_STATUS.read(&status).word());
            let want = statuses.get(&*name).copied();
            if let (Some(found), Some(want)) = (found, want)
                && found != want
                // A phase may have begun before its first box is ticked.
                && !(found == "in_progress" && want == "pending" && phase.get("startedAt").is_some())
            {
                let message = format!("the phase {} is {found}, but by the plan it is {want}", id.raw());
                findings.at(status.span().start, &codes::PLAN_STATE_DIFFERS, message);
            }
        }
        let own = Own::read(self.state);
        let known: HashSet<&str> = self.unit.blockers.iter().chain(&own.blockers).map(String::as_str).collect();
        for blocker in self.state.get("blockers").into_iter().flat_map(Value::items) {
            if blocker.as_str().is_some_and(|text| !known.contains(text.trim_ascii())) {
                let message = format!("the plan does not name the blocker {}", blocker.raw());
                findings.at(blocker.span().start, &codes::PLAN_STATE_DIFFERS, message);
            }
        }
    }

    /// How far each phase is by the plan.
    fn statuses(&self) -> HashMap<&str, &'static str> {
        let steps = self.unit.steps.iter().filter_map(|step| Some((step.stage.as_deref()?, is_done(step))));
        let gates =
            self.unit.gates.iter().filter_map(|gate| Some((gate.stage.as_deref()?, gate.state != GateState::Pending)));
        let mut counts: HashMap<&str, (u64, u64)> =
            self.ticked.phases.iter().map(|phase| (phase.as_ref(), (0, 0))).collect();
        for (phase, is_done) in steps.chain(gates) {
            let (done, all) = counts.entry(phase).or_default();
            *done += u64::from(is_done);
            *all += 1;
        }
        let status = |(done, all): (u64, u64)| match done {
            done if done == all => "completed",
            0 => "pending",
            _ => "in_progress",
        };
        counts.into_iter().map(|(phase, counts)| (phase, status(counts))).collect()
    }
}

/// Checks the numbers of the state against its own phases.
fn own_numbers(state: Value<'_, '_>, findings: &mut Findings<'_>) {
    let Some(progress) = state.get("progress") else { return };
    let phases = || state.get("phases").into_iter().flat_map(Value::entries);
    let tasks = || phases().filter_map(|(_, phase)| phase.get("tasks")).flat_map(Value::entries);
    let total = tasks().count() as u64;
    let done = tasks().filter(|(_, task)| task.get("done").and_then(Value::as_bool) == Some(true)).count() as u64;
    let number = |key: &str| progress.get(key).and_then(Value::as_int).and_then(|number| u64::try_from(number).ok());
    for (key, want) in [("totalTasks", total), ("completedTasks", done)] {
        if let (Some(found), Some(value)) = (number(key), progress.get(key))
            && found != want
        {
            let message = format!("`progress.{key}` is {found}, but the phases have {want}");
            findings.at(value.span().start, &codes::PLAN_STATE_NUMBERS, message);
        }
    }
    let counts = (number("completedTasks"), number("totalTasks"));
    if let (Some(found), (Some(done), Some(total))) = (progress.get("percentage"), counts) {
        let want = Percent::of(done, total).to_string();
        if found.as_f64().is_some_and(|found| (found - want.parse::<f64>().unwrap_or(found)).abs() > 0.05) {
            let message = format!("`progress.percentage` is {}, but {done} of {total} is {want}", found.raw());
            findings.at(found.span().start, &codes::PLAN_STATE_NUMBERS, message);
        }
    }
}
