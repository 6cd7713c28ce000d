//! The end of a task: what is still in the way, and its archive.

use piton_model::hint::verbs;
use piton_model::{Change, Effect, Event, Hint, Moment, Refusal, State, StepState, Unit};
use serde_json::{Value, json};

use super::{Spot, board, permitted, short, subtasks, update};
use crate::json::Editor;
use crate::task::read::{Counts, item_id, item_word, items};
use crate::task::{layout, wire};
use crate::{Files, time};

/// The task is complete: its last state goes to the archive, and the current checkpoint goes.
///
/// The archive is written before the other is removed, so that a crash between the two leaves both.
pub(super) fn finish(spot: &Spot, files: &dyn Files, event: &Event, moment: &Moment) -> Result<Change, Refusal> {
    if spot.find(files, moment)?.is_none() && spot.archived(files, moment)?.is_some() {
        return Ok(Change { summary: "already complete".into(), ..Change::default() });
    }
    let found = spot.live(files, moment)?;
    let is_blocked = found.unit.state == State::Blocked;
    let open = missing(&found.editor, &found.unit);
    if !is_blocked || open.is_empty() {
        permitted(spot, &found.unit, event)?;
    }
    if !open.is_empty() {
        let name = &spot.unit;
        let mut refusal = Refusal::rule(format!("{name} is not complete: {}", open.join("; ")));
        match wire::STATUS.read(&found.unit.status_text).word() {
            Some("complete") => {
                return Err(refusal.hint(verbs::REOPEN.on(name).to("open it again for what is missing")));
            }
            _ if is_blocked => return Err(refusal.hint(verbs::UNBLOCK.on(name).to("when it is mended"))),
            _ => {}
        }
        let steps = [StepState::Running, StepState::Pending, StepState::Failed].map(|state| {
            let steps = &found.unit.steps;
            steps.iter().find(|step| step.state == state).map(|step| short(&step.id))
        });
        if let Some(step) = steps.into_iter().flatten().next() {
            refusal = refusal.hint(verbs::STEP.on(name).word("done").name(&step, "STEP"));
        } else if open.iter().any(|what| what.ends_with("not done")) {
            refusal = refusal.hint(verbs::STEP.on(name).word("done").fill("SUBTASK"));
        }
        if let Some(criterion) = first_unmet(&found.editor) {
            refusal = refusal.hint(verbs::GATE.on(name).word("pass").name(&criterion, "NAME"));
        }
        return Err(refusal);
    }
    let mut editor = found.editor;
    // An agent that completed its checkpoint by hand wrote when.
    if found.unit.state != State::Done || editor.string(&["completed_at"]).is_none() {
        editor.set(&["completed_at"], moment.now.to_string());
    }
    editor.set(&["status"], "complete").set(&["progress_percent"], 100).set(&["resumable"], false);
    editor.set(&["context", "next_to_process"], Value::Null);
    update::stamp(&mut editor, event, moment);
    let archive = free_archive(spot, files);
    let mut change = Change { summary: summary(&editor, moment), ..Change::default() };
    change.effects.push(Effect::Write { path: archive.clone(), bytes: editor.clone().into_bytes() });
    change.effects.push(Effect::Remove { path: spot.path.clone() });
    change.effects.extend(board::update(spot, files, &editor, &archive, moment, &mut change.warnings)?);
    change.effects.push(board::post(spot, 100));
    Ok(change)
}

/// The criteria that alone keep a task from being complete, when each of them has a command: running those is left to
/// somebody else than the agent. Nothing when something else is open too, or nothing at all.
pub(super) fn awaited(
    spot: &Spot,
    files: &dyn Files,
    has_command: &dyn Fn(&str) -> bool,
    moment: &Moment,
) -> Result<Vec<String>, Refusal> {
    let Some(found) = spot.find(files, moment)? else { return Ok(Vec::new()) };
    let mut judged = found.editor.clone();
    let criteria =
        judged.get(&["acceptance_criteria_met"]).and_then(|met| met.as_object().cloned()).unwrap_or_default();
    let unmet = criteria.iter().filter(|(_, met)| **met != json!(true)).map(|(name, _)| name.clone());
    let unmet: Vec<String> = unmet.collect();
    for name in unmet.iter().filter(|name| has_command(name)) {
        judged.set(&["acceptance_criteria_met", name], true);
    }
    let is_running = found.unit.state == State::Running;
    Ok(if is_running && missing(&judged, &found.unit).is_empty() { unmet } else { Vec::new() })
}

/// Records that an agent has done its part, and which criteria are still to be judged by their commands.
pub(super) fn ready(
    spot: &Spot,
    files: &dyn Files,
    awaited: &[String],
    event: &Event,
    moment: &Moment,
) -> Result<Change, Refusal> {
    let found = spot.live(files, moment)?;
    permitted(spot, &found.unit, event)?;
    let names = awaited.iter().map(|name| short(name)).collect::<Vec<_>>().join(", ");
    let mut change = Change { summary: format!("ready; the lead runs {names} and archives it"), ..Change::default() };
    super::commit(spot, files, found.editor, &Event::Beat, moment, &mut change)?;
    Ok(change)
}

/// What an agent does next: a subtask, a criterion that it judges itself, or the end.
pub(super) fn next_step(unit: &str, editor: &Editor, has_command: &dyn Fn(&str) -> bool) -> Option<Hint> {
    if wire::STATUS.read(&editor.string(&["status"]).unwrap_or_default()).word() != Some("in_progress") {
        return None;
    }
    let step = verbs::STEP.on(unit).word("done");
    if let Some(open) = subtasks::next_open(editor) {
        return Some(step.name(&open, "SUBTASK").to(format!("when {} is done", short(&open))));
    }
    let counts = editor.look(Counts::read);
    if counts.done().saturating_add(counts.broken()).saturating_add(counts.listed_skipped) < counts.total {
        return Some(step.fill("SUBTASK").to("when the next subtask is done"));
    }
    let unmet = unmet(editor).into_iter().find(|name| !has_command(name));
    Some(match unmet {
        Some(criterion) => {
            verbs::GATE.on(unit).word("pass").name(&criterion, "NAME").to(format!("when {} is met", short(&criterion)))
        }
        None if counts.broken() > 0 => return None,
        None => verbs::FINISH.on(unit).to("when all of it is committed"),
    })
}

fn unmet(editor: &Editor) -> Vec<String> {
    let Some(Value::Object(criteria)) = editor.get(&["acceptance_criteria_met"]) else { return Vec::new() };
    criteria.iter().filter(|(_, met)| **met != json!(true)).map(|(name, _)| name.clone()).collect()
}

fn first_unmet(editor: &Editor) -> Option<String> {
    unmet(editor).into_iter().next()
}

/// What keeps a task from being complete, each by name.
pub(super) fn missing(editor: &Editor, unit: &Unit) -> Vec<String> {
    let mut open = Vec::new();
    if let Some(Value::Object(criteria)) = editor.get(&["acceptance_criteria_met"]) {
        let unmet = criteria.iter().filter(|(_, met)| **met != json!(true));
        open.extend(unmet.map(|(name, _)| format!("criterion {:?} is not met", short(name))));
    }
    let with = |wanted: fn(Option<&str>) -> bool| -> Vec<String> {
        editor.look(|root| {
            let all = items(root).enumerate().filter(|(_, item)| wanted(item_word(*item)));
            all.map(|(place, item)| short(&item_id(place, item))).collect()
        })
    };
    let failed = with(|word| word == Some("failed"));
    let unfinished = with(|word| matches!(word, None | Some("pending" | "in_progress")));
    let counts = editor.look(Counts::read);
    let mut tell = |names: Vec<String>, all: u64, what: &str| {
        let unnamed = all.saturating_sub(names.len() as u64);
        if !names.is_empty() {
            open.push(format!("{what}: {}", names.join(", ")));
        }
        if unnamed > 0 {
            open.push(format!("{unnamed} of {} subtasks {what}", counts.total));
        }
    };
    let left = counts
        .total
        .saturating_sub(counts.done().saturating_add(counts.broken()).saturating_add(counts.listed_skipped));
    tell(failed, counts.broken(), "failed");
    tell(unfinished, left, "not done");
    let is_blocking = |error: &Value| error.get("blocking") == Some(&json!(true));
    let errors = editor.get(&["errors"]);
    let blocking = errors.iter().filter_map(Value::as_array).flatten().any(is_blocking);
    if blocking || (unit.state == State::Blocked && open.is_empty()) {
        let errors = unit.troubles.iter().map(|trouble| short(&trouble.message)).collect::<Vec<_>>().join(", ");
        open.push(format!("blocked: {errors}"));
    }
    open
}

/// The first archive name that nobody has.
pub(super) fn free_archive(spot: &Spot, files: &dyn Files) -> String {
    let stem = spot.stem();
    let names = files.list(spot.directory());
    let number = |name: &String| (layout::live_stem(name) == stem).then(|| layout::archive_number(name)).flatten();
    let last = names.iter().filter_map(number).max().unwrap_or(0);
    spot.beside(&layout::archive_name(stem, last.saturating_add(1)))
}

/// How long it took, against what was thought.
fn summary(editor: &Editor, moment: &Moment) -> String {
    let started = editor.string(&["started_at"]).and_then(|text| time::read(&text).time());
    let took = started.map(|at| format!(" in {}", at.age(moment.now))).unwrap_or_default();
    let estimate = match editor.get(&["estimated_minutes"]) {
        Some(Value::Number(minutes)) => format!(" (estimated {minutes}m)"),
        _ => String::new(),
    };
    format!("complete{took}{estimate}")
}
