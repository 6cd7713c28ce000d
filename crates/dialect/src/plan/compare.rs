//! Compares a plan's state with the plan: the plan is right, the differences are findings.

use piton_model::{Percent, StepState, Unit};

use super::{PlanFiles, checksum, codes, layout};
use crate::json::Value;
use crate::{Findings, content};

/// Adds a finding for everything that the state says differently. `counts` are the plan's own: done and all.
pub(super) fn compare(
    state: Value<'_, '_>,
    files: &PlanFiles<'_>,
    unit: &Unit,
    counts: Option<(u64, u64)>,
    findings: &mut Findings<'_>,
) {
    let (_, id) = layout::id(&files.directory);
    if let Some(found) = state.get("planId").filter(|found| found.as_str().is_some_and(|found| found != id)) {
        findings.at(
            found.span().start,
            &codes::PLAN_OTHER_ID,
            format!("`planId` is {}, but the plan is {id}", found.raw()),
        );
    }
    if let Some(path) =
        state.get("planPath").filter(|path| path.as_str().is_some_and(|path| !path.ends_with(&format!("{id}/plan.md"))))
    {
        findings.at(
            path.span().start,
            &codes::PLAN_OTHER_PATH,
            format!("`planPath` is {}, which is not this plan", path.raw()),
        );
    }
    own_numbers(state, findings);
    let (Some(plan), Some((done, total))) = (&files.plan, counts) else { return };
    if let Some(found) =
        state.get("checksum").filter(|found| found.as_str().is_some_and(|found| found != checksum(plan.bytes)))
    {
        findings.at(found.span().start, &codes::PLAN_CHECKSUM, "plan.md has changed since this was written".to_owned());
        if let Some(before) = completed(state).filter(|before| *before > done) {
            let message =
                format!("the state has {before} tasks done, the plan only {done} of {total}: progress went backwards");
            findings.at(found.span().start, &codes::PLAN_BACKWARDS, message);
        }
    }
    unknown_tasks(state, unit, findings);
}

fn completed(state: Value<'_, '_>) -> Option<u64> {
    u64::try_from(state.get("progress")?.get("completedTasks")?.as_int()?).ok()
}

/// Checks the numbers of the state against its own phases.
fn own_numbers(state: Value<'_, '_>, findings: &mut Findings<'_>) {
    let Some(progress) = state.get("progress") else { return };
    let tasks = || {
        state
            .get("phases")
            .into_iter()
            .flat_map(Value::entries)
            .filter_map(|(_, phase)| phase.get("tasks"))
            .flat_map(Value::entries)
    };
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
    if let (Some(found), Some(done), Some(total)) =
        (progress.get("percentage"), number("completedTasks"), number("totalTasks"))
    {
        let want = Percent::of(done, total).to_string();
        if found.as_f64().is_some_and(|found| (found - want.parse::<f64>().unwrap_or(found)).abs() > 0.05) {
            let message = format!("`progress.percentage` is {}, but {done} of {total} is {want}", found.raw());
            findings.at(found.span().start, &codes::PLAN_STATE_NUMBERS, message);
        }
    }
}

fn unknown_tasks(state: Value<'_, '_>, unit: &Unit, findings: &mut Findings<'_>) {
    let known: std::collections::HashSet<&str> = unit.steps.iter().map(|step| step.id.as_str()).collect();
    for (_, phase) in state.get("phases").into_iter().flat_map(Value::entries) {
        for (id, _) in phase.get("tasks").into_iter().flat_map(Value::entries) {
            if id.as_str().is_some_and(|id| !known.contains(&*id)) {
                findings.at(id.span().start, &codes::PLAN_STATE_UNKNOWN, format!("the plan has no task {}", id.raw()));
            }
        }
    }
    let open = unit.steps.iter().any(|step| !matches!(step.state, StepState::Done { .. }));
    if let (true, Some(task)) = (open, content::text(state, "currentTask"))
        && !known.contains(task.as_str())
    {
        let at = state.get("currentTask").expect("it has a text").span().start;
        findings.at(
            at,
            &codes::PLAN_STATE_UNKNOWN,
            format!("the plan has no task {task:?}, which `currentTask` names"),
        );
    }
}
