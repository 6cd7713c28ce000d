//! What a person does next about a unit, in every state that it may be in.

use std::path::Path;

use piton_model::hint::verbs;
use piton_model::{
    Audience, Dialect, Gate, GateState, Hint, LedWork, Lifecycle, Liveness, ResumeAction, Step, StepState, Unit,
    UnitRef,
};

use crate::run::{RunState, RunStatus, place_of_unit, run_status, status_of_run};
use crate::why::{asks_person, claims_complete};
use crate::{Found, Workspace, preview};

/// The command that comes next for a unit, as it can be typed in `directory`.
pub fn next_step(workspace: &Workspace, found: &Found, directory: &Path, now: piton_model::Time) -> Hint {
    let (name, root) = (&found.name, workspace.root());
    let lifecycle = found.state().lifecycle();
    let run = found.led.as_ref().and_then(|led| status_of_run(workspace, led.lead.run, now));
    if let Some(LedWork::Approval { .. }) = found.led.as_ref().map(|led| &led.work) {
        let approve = verbs::APPROVE.on(name).to("approve and continue");
        return match run.filter(|run| run.state != RunState::Led) {
            Some(run) => approve.then(run.run.command(root, directory, &[])),
            None => verbs::APPROVE.on(name).to("approve it"),
        };
    }
    if found.led.as_ref().is_some_and(piton_model::Led::is_held) {
        return verbs::RUN.call().to("watch the run");
    }
    // A person who resumes a build approves its phase; the run continues the build.
    let is_of = |run: &RunStatus| run.state != RunState::Led && run.is_approved && run.run.units.contains(name);
    if found.led.is_none()
        && found.unit.dialect == Dialect::Build
        && let Some(run) = run_status(workspace, now).filter(is_of)
    {
        return run.continuation("approved; continue it", root, directory);
    }
    match lifecycle {
        Lifecycle::Done => return verbs::STATUS.on(name).to("see what was done"),
        Lifecycle::Unknown => return verbs::CHECK.on(name).to("see what is not understood"),
        Lifecycle::Running | Lifecycle::Waiting if found.judgement.liveness == Liveness::Alive => {
            return verbs::STATUS.on(name).to("see what its agent recorded");
        }
        Lifecycle::Blocked if asks_person(&found.unit) => {
            let answer = verbs::UNBLOCK.on(name).filled("--message", "TEXT").to("answer what blocks it");
            return match run.filter(|run| run.state != RunState::Led) {
                Some(run) => {
                    let step = run.own_step(name, root, directory);
                    step.unwrap_or(answer)
                }
                None => answer,
            };
        }
        Lifecycle::Queued
        | Lifecycle::Running
        | Lifecycle::Waiting
        | Lifecycle::Paused
        | Lifecycle::Failed
        | Lifecycle::Blocked => {}
    }
    let is_led = run.as_ref().is_some_and(|run| run.state == RunState::Led);
    if is_led && matches!(lifecycle, Lifecycle::Paused | Lifecycle::Failed) {
        // What has not begun has no record by which a person could free it.
        if found.unit.attempt.is_none() {
            let until = "fix it, and retry when the run has ended; watch the run until then";
            return verbs::RUN.call().to(until);
        }
        return verbs::UNBLOCK.on(name).filled("--message", "TEXT").to("when it is fixed, tell the lead to continue");
    }
    if lacks_id(&found.unit) {
        let mark = verbs::PLAN_MARK.on(name).to("a box without an id is open; give ids");
        return match run.filter(|run| run.state != RunState::Led) {
            Some(run) => mark.then(run.run.command(root, directory, &[])),
            None => mark,
        };
    }
    let is_partial = claims_complete(&found.unit);
    let is_blocked = lifecycle == Lifecycle::Blocked && !is_partial;
    if let Some(run) = run.filter(|run| !is_blocked && run.state != RunState::Led) {
        if let Some(step) = run.own_step(name, root, directory) {
            return step;
        }
        let why = place_of_unit(workspace, name).unwrap_or_else(|| "continue the run".to_owned());
        return run.continuation(&why, root, directory);
    }
    match is_partial {
        true => verbs::REOPEN.on(name).to("open it again for what is missing"),
        false => resume(workspace, name, now),
    }
}

/// Whether all that is left of a plan is a box without an id.
fn lacks_id(unit: &Unit) -> bool {
    let is_open = |step: &Step| !matches!(step.state, StepState::Done { .. } | StepState::Skipped);
    let is_marked = !unit.steps.is_empty() || !unit.gates.is_empty();
    let is_unmet = |gate: &Gate| !matches!(gate.state, GateState::Passed { .. });
    unit.dialect == Dialect::Plan
        && is_marked
        && unit.current.is_some()
        && !unit.steps.iter().any(is_open)
        && !unit.gates.iter().any(is_unmet)
}

/// How a unit that no run has is resumed; where that is refused, what it is refused with.
fn resume(workspace: &Workspace, name: &str, now: piton_model::Time) -> Hint {
    let plan = UnitRef::parse(name).ok();
    let plan =
        plan.and_then(|unit| preview(workspace, &unit, 0, Audience::Shell, now).ok()).map(|resumed| resumed.plan);
    match plan {
        Some(plan) if plan.action != ResumeAction::Refuse => verbs::RESUME.on(name).to("resume it"),
        Some(plan) => {
            // What this explains already is no way on.
            let leads_on = |reason: &Hint| reason.commands.first().is_some_and(|it| it.verb != &verbs::WHY);
            let way = plan.reasons.into_iter().find(leads_on);
            way.unwrap_or_else(|| verbs::STATUS.call().flag("--all").to("see where the others stand"))
        }
        None => verbs::STATUS.call().flag("--all").to("list all units"),
    }
}
