//! What a plan's state, or its backup, adds to the plan.

use std::collections::HashSet;
use std::sync::Arc;

use piton_model::{Claim, Decision, Finding, Note, State, Step, StepState, Time, Unit};

use super::own::Own;
use super::read::Ticked;
use super::{MAIN_PHASE, PlanFiles, codes, compare, is_recovery, is_state, wire};
use crate::json::{Json, Value};
use crate::{content, open_json, shape};

/// Reads the state, or its backup when the state is unreadable, and compares it with the plan.
pub(super) fn read_state(
    files: &PlanFiles<'_>,
    unit: &mut Unit,
    ticked: &Ticked,
    now: Time,
    findings: &mut Vec<Finding>,
) {
    let mut has_state = false;
    if let Some(source) = &files.state {
        let (json, mut found) = open_json(source);
        if let Some(json) = &json {
            if is_state(json.root()) {
                has_state = true;
                shape::check(json.root(), wire::STATE, now, &mut found);
                compare::compare(json.root(), files, unit, ticked, &mut found);
                add_state(json.root(), unit, ticked);
            } else {
                found.whole(&crate::codes::FOREIGN, "this is not a plan's state: it has no `planId` with phases");
            }
        }
        findings.extend(found.finish());
    }
    let Some(source) = &files.recovery else { return };
    let (json, mut found) = open_json(source);
    match json.as_ref().map(Json::root).filter(|root| is_recovery(*root)) {
        Some(root) => {
            shape::check(root, wire::RECOVERY, now, &mut found);
            if let (false, Some(state)) = (has_state, root.get("state")) {
                add_state(state, unit, ticked);
                let text = "recovery.json, because state.json could not be read".to_owned();
                unit.notes.push(Note { label: "read from", text });
            }
        }
        None if json.is_some() => found.whole(&codes::PLAN_RECOVERY, "it holds no state"),
        None => {}
    }
    findings.extend(found.finish());
}

/// Takes from a state what the plan itself cannot say; the tasks too when there is no plan.
fn add_state(state: Value<'_, '_>, unit: &mut Unit, ticked: &Ticked) {
    add_tasks(state, unit, ticked);
    add_remarks(state, unit);
    add_agents(state, unit);
    unit.signs.extend(content::sign(state, "lastCheckpoint"));
}

/// Who did a task and when; the tasks themselves when there is no plan.
fn add_tasks(state: Value<'_, '_>, unit: &mut Unit, ticked: &Ticked) {
    for (phase_id, phase) in state.get("phases").into_iter().flat_map(Value::entries) {
        let phase_id: Arc<str> = Arc::from(phase_id.as_str().as_deref().unwrap_or(MAIN_PHASE));
        for (id, task) in phase.get("tasks").into_iter().flat_map(Value::entries) {
            let id = id.as_str().unwrap_or_default();
            let done = || StepState::Done {
                by: content::text(task, "completedBy"),
                at: content::text(task, "completedAt"),
                outputs: Vec::new(),
            };
            match ticked.tasks.get(&*id) {
                Some(place) if matches!(unit.steps[*place].state, StepState::Done { .. }) => {
                    unit.steps[*place].state = done()
                }
                None if !ticked.parsed => {
                    let is_done = task.get("done").and_then(Value::as_bool) == Some(true);
                    let state = if is_done { done() } else { StepState::Pending };
                    let title = content::text(task, "description");
                    unit.steps.push(Step { id: id.into_owned(), title, stage: Some(Arc::clone(&phase_id)), state });
                }
                Some(_) | None => {}
            }
        }
    }
}

/// Blockers, decisions and notes.
pub(super) fn add_remarks(state: Value<'_, '_>, unit: &mut Unit) {
    let own = Own::read(state);
    let named: HashSet<String> = unit.blockers.iter().cloned().collect();
    unit.blockers.extend(own.blockers.into_iter().filter(|blocker| !named.contains(blocker)));
    unit.notes.extend(own.instructions.into_iter().map(|text| Note { label: "resume instruction", text }));
    // Where the plan stands is decided later; this is only remembered.
    if let Some((_, reason)) = own.paused {
        unit.state = State::Paused { reason };
    }
    // A blocker that the plan does not name any more is told, but holds nothing up: it may be long gone.
    let known: HashSet<&str> = unit.blockers.iter().map(String::as_str).collect();
    let only_here = content::texts(state, "blockers").into_iter().filter(|blocker| !known.contains(blocker.as_str()));
    unit.notes.extend(only_here.map(|text| Note { label: "blocker in the state alone", text }));
    let decision = |decision| {
        let text = content::as_sentence(decision)?;
        Some(Decision { time: content::text(decision, "time"), text, reason: content::text(decision, "reason") })
    };
    // The state knows when and why; what it does not know is only in the plan.
    let recorded: Vec<_> = state.get("decisions").into_iter().flat_map(Value::items).filter_map(decision).collect();
    let texts: HashSet<&str> = recorded.iter().map(|decision| decision.text.as_str()).collect();
    unit.decisions.retain(|decision| !texts.contains(decision.text.as_str()));
    unit.decisions.splice(0..0, recorded);
    let notes = content::text(state, "sessionNotes").map(|text| Note { label: "session notes", text });
    unit.notes.extend(notes);
}

/// Agents that were given tasks and have not completed them are expected to be at work.
fn add_agents(state: Value<'_, '_>, unit: &mut Unit) {
    for (id, agent) in state.get("agents").into_iter().flat_map(Value::entries) {
        let completed = content::texts(agent, "completedTasks");
        let is_open = |task: &String| !completed.contains(task);
        if content::texts(agent, "assignedTasks").iter().any(is_open) {
            unit.claim = Claim::Worker;
            let id = id.as_str().unwrap_or_default();
            // Whoever is no subagent is known by its own name: `main`, `team:{id}`.
            unit.agent = content::text(agent, "type").map(|kind| match kind == id {
                true => kind,
                false => format!("subagent:{kind}"),
            });
            unit.session = Some(id.into_owned());
            unit.signs.extend(content::sign(agent, "lastActive"));
        }
    }
}
