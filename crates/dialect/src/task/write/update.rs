//! What an event changes in a checkpoint that is there.

use piton_model::hint::verbs;
use piton_model::{Change, Event, GateJudgement, Moment, NotePurpose, Refusal, State, Unit, Verdict};
use serde_json::{Value, json};

use super::errors::{block, fail, lift_pause, tool_failed, unblock};
use super::subtasks::{self, move_steps, recount};
use super::{Spot, commit, permitted, short};
use crate::Files;
use crate::json::Editor;
use crate::task::read::Counts;
use crate::task::wire;

/// How often an agent gives a sign of life, in seconds.
const INTERVAL: u64 = 300;

/// Refuses what may not happen to a task that stands so.
pub(super) fn may(spot: &Spot, unit: &Unit, event: &Event) -> Result<(), Refusal> {
    match event {
        Event::StageEntered { .. } => Err(Refusal::usage("a task has subtasks, but no stages")
            .hint(verbs::STEP.on(&spot.unit).word("begin").fill("SUBTASK"))),
        Event::Marked => Err(Refusal::usage("subtasks have ids already")),
        Event::Resumed { .. } => match not_resumable(spot, unit) {
            Some(refusal) => Err(refusal),
            None => permitted(spot, unit, event),
        },
        _ => permitted(spot, unit, event),
    }
}

/// Why a task is not resumed, and what is possible instead; nothing when it may be.
pub(in crate::task) fn not_resumable(spot: &Spot, unit: &Unit) -> Option<Refusal> {
    let name = &spot.unit;
    let word = wire::STATUS.read(&unit.status_text).word();
    if word == Some("complete") {
        let hint = verbs::REOPEN.on(name).to("when something is missing");
        return Some(
            Refusal::rule(format!("{name} is complete, or says so; it is reopened and not resumed")).hint(hint),
        );
    }
    if word == Some("not_started") {
        return Some(Refusal::rule(format!("{name} has not been started")).hint(verbs::START.on(name)));
    }
    if word == Some("blocked") && !unit.blockers.is_empty() {
        let errors = unit.blockers.iter().map(|error| short(error)).collect::<Vec<_>>().join("; ");
        return Some(
            Refusal::rule(format!("{name} is blocked: {errors}"))
                .hint(verbs::UNBLOCK.on(name).to("when that is mended")),
        );
    }
    if word.is_none() {
        return Some(
            Refusal::rule(format!("the status of {name} is not understood: {:?}", short(&unit.status_text)))
                .hint(verbs::RESTART.on(name).flag("--force").to("correct it, or begin anew")),
        );
    }
    (!unit.resumable).then(|| {
        Refusal::rule(format!("{name} says that it cannot be resumed (`resumable` is not true)"))
            .hint(verbs::RESTART.on(name).flag("--force").to("begin again from nothing"))
    })
}

/// Changes the checkpoint, and tells what is true then.
pub(super) fn apply(
    editor: &mut Editor,
    spot: &Spot,
    unit: &Unit,
    event: &Event,
    moment: &Moment,
) -> Result<String, Refusal> {
    match event {
        Event::StepMoved(moved) => {
            go_on(editor, unit, moment);
            move_steps(editor, spot, moved, moment)
        }
        Event::GateJudged(judged) => judge(editor, judged, moment),
        Event::CriteriaDropped { names } => Ok(drop_criteria(editor, names)),
        Event::VerdictGiven(verdict) => score(editor, verdict, moment),
        Event::Blocked { message, kind } => block(editor, kind.as_deref().unwrap_or("blocked"), message, moment),
        Event::Paused { reason } => {
            let reason = reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
            block(editor, wire::PAUSED, reason.unwrap_or("paused by a person"), moment)?;
            Ok(format!("paused: {}", short(reason.unwrap_or("by a person"))))
        }
        Event::Failed { step, message, file, line } => {
            fail(editor, spot, step.as_deref(), message, file.as_deref().zip(Some(*line)), moment)
        }
        Event::Unblocked { which, answer } => {
            let summary = unblock(editor, spot, which.as_deref(), moment)?;
            let Some(answer) = answer else { return Ok(summary) };
            Ok(format!("{summary}; {}", note(editor, answer, NotePurpose::ResumeInstruction)?))
        }
        Event::Noted { text, purpose } => note(editor, text, *purpose),
        Event::ExecutionNoted(_) => Err(Refusal::usage("only a build lists fixes and cleanups")),
        Event::Decided { text, reason } => {
            let text = given(text, "decision")?;
            let mut decision = json!({"at": moment.now.to_string(), "decision": text});
            if let Some(reason) = reason {
                decision["reason"] = Value::from(reason.trim());
            }
            push(editor, "decisions", decision);
            Ok(format!("decided: {}", short(text)))
        }
        Event::Beat => Ok("beat".into()),
        Event::HelperStarted { kind, .. } => Ok(format!("helper started: {}", short(kind))),
        Event::HelperStopped { kind, .. } => Ok(format!("helper stopped: {}", short(kind))),
        Event::Checkpointed { reason, .. } => Ok(format!("checkpoint: {}", short(reason))),
        Event::Crashed { session } => Ok(format!("the session {} went away without an end", short(session))),
        Event::FilesTouched { created, modified } => touch(editor, created, modified),
        Event::ToolFailed { tool, message } => tool_failed(editor, tool, message, moment),
        Event::Resumed { .. } => {
            lift_pause(editor, moment);
            editor.set(&["status"], "in_progress");
            let next = editor.string(&["context", "next_to_process"]).or_else(|| subtasks::next_open(editor));
            Ok(next.map_or_else(|| "resumed".into(), |next| format!("resumed at {}", short(&next))))
        }
        Event::Started(_)
        | Event::StageEntered { .. }
        | Event::Finished
        | Event::TakenOver { .. }
        | Event::Restarted { .. }
        | Event::Reopened
        | Event::Repaired
        | Event::BackedUp { .. }
        | Event::Marked => Err(Refusal::usage(format!("{} is not an update of a checkpoint", event.name()))),
    }
}

fn note(editor: &mut Editor, text: &str, purpose: NotePurpose) -> Result<String, Refusal> {
    let text = given(text, "note")?;
    Ok(match purpose {
        NotePurpose::Note => {
            append_note(editor, text);
            format!("noted: {}", short(text))
        }
        NotePurpose::ResumeInstruction => {
            editor.set(&["resume_instructions"], text);
            format!("to resume: {}", short(text))
        }
    })
}

/// Sets when the checkpoint was updated and, where the agent itself is at work, its beat.
pub(super) fn stamp(editor: &mut Editor, event: &Event, moment: &Moment) {
    let now = moment.now.to_string();
    editor.set(&["updated_at"], now.as_str());
    let is_alive = matches!(
        event,
        Event::Started(_)
            | Event::StepMoved(_)
            | Event::Beat
            | Event::Resumed { .. }
            | Event::TakenOver { .. }
            | Event::Restarted { .. }
            | Event::Reopened
            | Event::HelperStarted { .. }
            | Event::HelperStopped { .. }
            | Event::Checkpointed { .. }
            | Event::FilesTouched { .. }
            | Event::ToolFailed { .. }
    );
    if is_alive {
        editor.set(&["heartbeat", "last_beat"], now);
        if editor.int(&["heartbeat", "interval_seconds"]).is_none() {
            editor.set(&["heartbeat", "interval_seconds"], INTERVAL);
        }
        editor.set(&["heartbeat", "status"], "alive");
    }
}

/// Brings the counters and the percentage into line with the list.
pub(super) fn repair(spot: &Spot, files: &dyn Files, moment: &Moment) -> Result<Change, Refusal> {
    let mut found = spot.live(files, moment)?;
    let counts = found.editor.look(Counts::read);
    if found.unit.state == State::Running {
        recount(&mut found.editor, &counts, counts.total.max(counts.listed));
    }
    let is_same = found.editor.clone().into_bytes() == found.bytes;
    let mut change = Change { summary: "nothing to repair".into(), ..Change::default() };
    if !is_same {
        change.summary = "counters follow from the list again".into();
        commit(spot, files, found.editor, &Event::Repaired, moment, &mut change)?;
    }
    Ok(change)
}

/// Adds files to those that were made and to those that were changed. One that the task made itself is not changed by it.
fn touch(editor: &mut Editor, created: &[String], modified: &[String]) -> Result<String, Refusal> {
    for file in created {
        push_path(editor, "files_created", file)?;
    }
    let made = list(editor, "files_created");
    for file in modified.iter().filter(|file| !made.iter().any(|known| known == file.trim())) {
        push_path(editor, "files_modified", file)?;
    }
    let all: Vec<&str> = created.iter().chain(modified).map(String::as_str).collect();
    Ok(format!("files: {}", short(&all.join(", "))))
}

/// Adds to what is worth knowing.
pub(super) fn append_note(editor: &mut Editor, text: &str) {
    let old = editor.string(&["context", "notes"]).filter(|old| !old.trim().is_empty());
    let new = old.map_or_else(|| text.to_owned(), |old| format!("{old}\n{text}"));
    editor.set(&["context", "notes"], new);
}

/// Adds a file to a list of files.
pub(super) fn push_path(editor: &mut Editor, key: &str, file: &str) -> Result<(), Refusal> {
    let file = file.trim();
    if file.is_empty() || file.starts_with('/') || file.split('/').any(|part| part == "..") {
        return Err(Refusal::usage(format!(
            "a file is named relative to the workspace and inside of it, not {file:?}"
        )));
    }
    if !list(editor, key).iter().any(|known| known == file) {
        push(editor, key, Value::from(file));
    }
    Ok(())
}

/// A text that says something.
pub(super) fn given<'a>(text: &'a str, what: &str) -> Result<&'a str, Refusal> {
    let text = text.trim();
    if text.is_empty() { Err(Refusal::usage(format!("the {what} is empty"))) } else { Ok(text) }
}

/// The task is worked on.
fn go_on(editor: &mut Editor, unit: &Unit, moment: &Moment) {
    if unit.state == State::Queued {
        editor.set(&["status"], "in_progress");
        if editor.string(&["started_at"]).is_none() {
            editor.set(&["started_at"], moment.now.to_string());
        }
    }
}

/// In whose name a lead records.
const LEAD: &str = "lead";

fn judge(editor: &mut Editor, judged: &GateJudgement, moment: &Moment) -> Result<String, Refusal> {
    if judged.step.is_some() {
        return Err(Refusal::usage("a criterion belongs to the whole task, not to a subtask"));
    }
    let known: Vec<String> = match editor.get(&["acceptance_criteria_met"]) {
        Some(Value::Object(criteria)) => criteria.keys().cloned().collect(),
        _ => Vec::new(),
    };
    let [first, ..] = &judged.names[..] else { return Err(Refusal::usage("no criterion is named")) };
    // A lead adds criteria that the tasks file lists since the task began.
    let is_added = !judged.passed && moment.by == LEAD && moment.ticket.is_none();
    if let Some(unknown) = judged.names.iter().find(|name| !known.contains(name) && !is_added) {
        let there = if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
        return Err(Refusal::missing(format!("the task has no criterion {unknown:?}; {there}"))
            .hint("criteria are named when a task starts: --criterion NAME"));
    }
    for name in &judged.names {
        editor.set(&["acceptance_criteria_met", name], judged.passed);
    }
    let met = known.iter().filter(|name| editor.get(&["acceptance_criteria_met", name]) == Some(json!(true))).count();
    let more = if judged.names.len() > 1 { format!(" and {} more", judged.names.len() - 1) } else { String::new() };
    let word = if judged.passed { "met" } else { "not met" };
    Ok(format!("{}{more} {word} ({met}/{} criteria)", short(first), known.len()))
}

/// Takes criteria out of the checkpoint.
fn drop_criteria(editor: &mut Editor, names: &[String]) -> String {
    for name in names {
        editor.remove(&["acceptance_criteria_met", name]);
    }
    format!("criteria taken out of its list: {}", short(&names.join(", ")))
}

fn score(editor: &mut Editor, verdict: &Verdict, moment: &Moment) -> Result<String, Refusal> {
    let reviewer = verdict.reviewer.as_deref().unwrap_or(&moment.by).trim();
    piton_model::Id::parse(reviewer)
        .map_err(|why| Refusal::usage(format!("the reviewer {reviewer:?} is not an id: {why}")).hint("--by agent_4"))?;
    let score = verdict.score.filter(|score| (0.0..=100.0).contains(score));
    let Some(score) = score else {
        return Err(Refusal::usage("a review of a task has a score from 0 to 100").hint("--score 88"));
    };
    // A whole score is written as one.
    let number = if score.fract() == 0.0 { json!(score as u64) } else { json!(score) };
    editor.set(&["review_scores", reviewer], number.clone());
    let said =
        |text: &Option<String>| text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
    if said(&verdict.reason).is_some() || said(&verdict.issues).is_some() {
        let mut note = json!({"verdict": verdict.word.trim(), "at": moment.now.to_string()});
        for (key, text) in [("reason", said(&verdict.reason)), ("issues", said(&verdict.issues))] {
            if let Some(text) = text {
                note[key] = Value::from(text);
            }
        }
        editor.set(&["review_notes", reviewer], note);
    }
    Ok(format!("review by {reviewer}: {number}"))
}

/// The items of a list; a single text or object is a list of one.
pub(super) fn list(editor: &Editor, key: &str) -> Vec<Value> {
    match editor.get(&[key]) {
        Some(Value::Array(items)) => items,
        Some(Value::String(text)) if crate::content::is_nothing(text.trim()) || text.trim().is_empty() => Vec::new(),
        Some(one @ (Value::String(_) | Value::Object(_))) => vec![one],
        Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => Vec::new(),
    }
}

/// Adds an item at the end of a list, which is made one where it is a single text or object.
pub(super) fn push(editor: &mut Editor, key: &str, value: Value) {
    if !matches!(editor.get(&[key]), Some(Value::Array(_))) {
        let items = list(editor, key);
        editor.set(&[key], Value::Array(items));
    }
    editor.push(&[key], value);
}
