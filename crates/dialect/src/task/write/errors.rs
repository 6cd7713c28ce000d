//! What keeps a task from going on: errors, and their history.

use piton_model::hint::verbs;
use piton_model::{Moment, Refusal, StepMove, StepTo};
use serde_json::{Value, json};

use super::subtasks::{instructions, instructions_follow, move_steps};
use super::update::{given, list, push};
use super::{Spot, short};
use crate::json::Editor;
use crate::task::wire;

/// Adds an error.
pub(super) fn add_error(editor: &mut Editor, kind: &str, message: &str, blocking: bool, moment: &Moment) {
    let error = json!({"type": kind, "message": message, "timestamp": moment.now.to_string(), "blocking": blocking});
    push(editor, "errors", error);
}

/// How many failures of tools are listed; what fails on and on does not fill the checkpoint.
const MOST_TOOL_FAILURES: usize = 20;

/// A tool failed. The same failure is listed once.
pub(super) fn tool_failed(editor: &mut Editor, tool: &str, message: &str, moment: &Moment) -> Result<String, Refusal> {
    let said = format!("{}: {}", given(tool, "tool")?, given(message, "message")?);
    let is_tool = |error: &&Value| error.get("type").and_then(Value::as_str) == Some(TOOL_FAILED);
    let listed = list(editor, "errors");
    let known: Vec<&Value> = listed.iter().filter(is_tool).collect();
    let is_known = known.iter().any(|error| error.get("message").and_then(Value::as_str) == Some(said.as_str()));
    if !is_known && known.len() < MOST_TOOL_FAILURES {
        add_error(editor, TOOL_FAILED, &said, false, moment);
    }
    Ok(format!("tool failed: {}", short(&said)))
}

/// The type of an error that a tool gave.
const TOOL_FAILED: &str = "tool_failed";

/// Names an error that blocks the task.
pub(super) fn block(editor: &mut Editor, kind: &str, message: &str, moment: &Moment) -> Result<String, Refusal> {
    let message = given(message, "message")?;
    let follows = instructions_follow(editor);
    add_error(editor, kind.trim(), message, true, moment);
    editor.set(&["status"], "blocked");
    if follows {
        editor.set(&["resume_instructions"], instructions(editor));
    }
    Ok(format!("blocked: {}", short(message)))
}

/// Something broke: the subtask failed, and the task is blocked.
pub(super) fn fail(
    editor: &mut Editor,
    spot: &Spot,
    step: Option<&str>,
    message: &str,
    place: Option<(&str, Option<u64>)>,
    moment: &Moment,
) -> Result<String, Refusal> {
    let message = given(message, "message")?;
    let place = match place {
        Some((file, Some(line))) => format!(" ({file}:{line})"),
        Some((file, None)) => format!(" ({file})"),
        None => String::new(),
    };
    let mut said = format!("{message}{place}");
    if let Some(step) = step {
        let moved = StepMove::new(StepTo::Failed, vec![step.to_owned()]);
        move_steps(editor, spot, &moved, moment)?;
        said = format!("{step}: {said}");
    }
    block(editor, "failed", &said, moment)?;
    Ok(format!("failed: {}", short(&said)))
}

/// Moves pauses to the history: whoever resumes has ended them.
pub(super) fn lift_pause(editor: &mut Editor, moment: &Moment) {
    let is_pause = |error: &Value| error.get("type").and_then(Value::as_str) == Some(wire::PAUSED);
    let (pauses, left): (Vec<_>, Vec<_>) = list(editor, "errors").into_iter().partition(is_pause);
    if !pauses.is_empty() {
        resolve(editor, pauses, moment);
        editor.set(&["errors"], Value::Array(left));
    }
}

/// Puts errors into the history, with when they were resolved.
fn resolve(editor: &mut Editor, errors: Vec<Value>, moment: &Moment) {
    for mut error in errors {
        match &mut error {
            Value::Object(entry) => {
                entry.insert("resolved_at".into(), json!(moment.now.to_string()));
            }
            other => *other = json!({"message": said(other), "resolved_at": moment.now.to_string()}),
        }
        push(editor, "error_history", error);
    }
}

fn said(error: &Value) -> String {
    let text = error.as_str().or_else(|| error.get("message").and_then(Value::as_str));
    text.map_or_else(|| error.to_string(), str::to_owned)
}

/// Moves one error or all of them to the history; the task goes on when none is left that blocks.
pub(super) fn unblock(
    editor: &mut Editor,
    spot: &Spot,
    which: Option<&str>,
    moment: &Moment,
) -> Result<String, Refusal> {
    let errors = list(editor, "errors");
    let (gone, left): (Vec<_>, Vec<_>) = match which.map(str::trim) {
        None => (errors, Vec::new()),
        Some(which) => {
            let number = which.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let is_meant = |(place, error): &(usize, &Value)| {
                said(error).to_lowercase().contains(&which.to_lowercase())
                    || error.get("type").and_then(Value::as_str) == Some(which)
                    || number == Some(*place)
            };
            let meant: Vec<usize> = errors.iter().enumerate().filter(is_meant).map(|(place, _)| place).collect();
            let [only] = meant[..] else {
                let known = errors.iter().map(|error| short(&said(error))).collect::<Vec<_>>().join("; ");
                let refusal = Refusal::missing(format!("no single error is {which:?}; there are: {known}"));
                return Err(refusal.hint(verbs::UNBLOCK.on(&spot.unit).to("clear all of them")));
            };
            let split = |wanted: bool| {
                let all = errors.iter().enumerate();
                all.filter(|(place, _)| (*place == only) == wanted).map(|(_, error)| error.clone()).collect()
            };
            (split(true), split(false))
        }
    };
    let follows = instructions_follow(editor);
    let was_empty = gone.is_empty();
    resolve(editor, gone, moment);
    let open: Vec<String> =
        left.iter().filter(|error| error.get("blocking") != Some(&json!(false))).map(said).collect();
    editor.set(&["errors"], Value::Array(left));
    editor.set(&["status"], if open.is_empty() { "in_progress" } else { "blocked" });
    if follows {
        editor.set(&["resume_instructions"], instructions(editor));
    }
    Ok(match (open.is_empty(), was_empty) {
        (true, true) => "not blocked".into(),
        (true, false) => "unblocked".into(),
        (false, _) => format!("still blocked: {}", short(&open.join("; "))),
    })
}
