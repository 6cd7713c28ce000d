//! Steps and stages of a checkpoint.

use piton_model::hint::verbs;
use piton_model::{Hint, Refusal, StepMove, StepTo, text};
use serde_json::Value;

use super::create::{first_instructions, first_next_steps, unknown_stage};
use super::{Spot, numbers};
use crate::crew::wire;
use crate::json::Editor;

/// How much of a step a summary holds.
const LONGEST: usize = 72;

/// What stands as the current step when none is left.
const NO_STEP: &str = "No steps left";

/// Moves steps.
pub(super) fn move_steps(
    editor: &mut Editor,
    moved: &StepMove,
    attempt: u64,
    warnings: &mut Vec<Hint>,
) -> Result<String, Refusal> {
    numbers::keep(editor, attempt);
    let typed = moved.steps.iter().map(|step| step.trim()).filter(|step| !step.is_empty());
    let meant = typed.map(|step| numbers::meant(editor, step, attempt)).collect::<Result<Vec<_>, _>>()?;
    let steps: Vec<&str> = meant.iter().map(String::as_str).collect();
    let [first, ..] = steps[..] else { return Err(Refusal::usage("no step is named")) };
    for file in moved.files.iter().chain(&moved.outputs) {
        add_file(editor, file)?;
    }
    let was_known = steps.iter().filter(|step| has(editor, "completed_steps", step)).count();
    let next = moved.next.as_deref().map(str::trim).filter(|next| !next.is_empty());
    let next = next.map(|next| numbers::meant(editor, next, attempt)).transpose()?;
    let said = moved.message.as_deref().map(str::trim).filter(|message| !message.is_empty());
    let word = match moved.to {
        StepTo::Begun => {
            begin(editor, &steps, warnings);
            "begun"
        }
        StepTo::Done => {
            steps.iter().for_each(|step| complete(editor, step, step));
            if was_known == steps.len() { "already done" } else { "done" }
        }
        StepTo::Skipped => {
            let why = said.map(|said| format!("skipped: {said}")).unwrap_or_else(|| "skipped".into());
            steps.iter().for_each(|step| complete(editor, step, &format!("{step} ({why})")));
            "skipped"
        }
        StepTo::Failed => {
            for step in &steps {
                to_front(editor, step);
                add_blocker(editor, &failure(Some(step), said));
            }
            editor.set(&["status"], "BLOCKED");
            "failed"
        }
    };
    if let Some(next) = next {
        to_front(editor, &next);
        editor.set(&["current_step"], next);
    } else {
        match moved.to {
            StepTo::Done | StepTo::Skipped => go_on(editor),
            StepTo::Failed => follow(editor),
            StepTo::Begun => {}
        }
    }
    if let (Some(said), StepTo::Begun | StepTo::Done) = (said, moved.to) {
        editor.set(&["recovery_instructions"], said);
    }
    if let Some(phase) = editor.string(&["phase"]).as_deref().and_then(|phase| phase.strip_suffix(" - Starting")) {
        editor.set(&["phase"], format!("{phase} - In Progress"));
    }
    numbers::keep(editor, attempt);
    Ok(format!("{} {word} {}", named(first, steps.len()), counted(editor)))
}

/// Enters a stage: the next one, or another phase of the same.
pub(super) fn enter(
    editor: &mut Editor,
    spot: &Spot,
    typed: &str,
    phase: Option<&str>,
    warnings: &mut Vec<Hint>,
) -> Result<String, Refusal> {
    let stage = wire::stage_named(typed).ok_or_else(|| unknown_stage(typed))?;
    let phase = phase.map(str::trim).filter(|phase| !phase.is_empty());
    let old = editor.string(&["stage"]).unwrap_or_default();
    let place = |stage: &str| wire::STAGES.iter().position(|known| *known == stage);
    let (from, to) = (place(&wire::stage(&old)), place(stage).unwrap_or_default());
    let (agent, unit) = (&spot.agent, &spot.unit);
    match from {
        Some(from) if from == to => {
            let Some(phase) = phase else { return Ok(format!("already in {stage}")) };
            editor.set(&["phase"], phase);
            return Ok(format!("{stage} {}", short(phase)));
        }
        Some(from) if to < from => {
            return Err(Refusal::rule(format!("{agent} is in {} and does not go back to {stage}", wire::STAGES[from]))
                .hint(verbs::RESTART.on(unit).to("begin again from nothing"))
                .hint(verbs::STATUS.on(unit).to("see the steps that could be done again")));
        }
        Some(from) if to > from + 1 => {
            let next = wire::STAGES[from + 1];
            return Err(Refusal::rule(format!("{agent} is in {}; {next} comes before {stage}", wire::STAGES[from]))
                .hint(verbs::STAGE.on(unit).name(next, "STAGE").to("enter the next one")));
        }
        Some(_) | None => {}
    }
    if !old.trim().is_empty() {
        let done = format!("{} complete", wire::stage(&old));
        push_once(editor, "completed_steps", &done);
    }
    // The step of going there is done by going there.
    let steps = leave(editor, &wire::stage(&old), &[format!("Transition to {stage}")]);
    let left: Vec<String> = steps.iter().filter_map(said_by).collect();
    if !left.is_empty() {
        let left = left.iter().map(|step| short(step)).collect::<Vec<_>>().join("; ");
        warnings
            .push(format!("steps of {} are still open and stay among the next ones: {left}", wire::stage(&old)).into());
    }
    let new = first_next_steps(stage).into_iter().map(Value::from);
    editor.set(&["next_steps"], Value::Array(new.chain(steps).collect()));
    editor.set(&["stage"], stage);
    editor.set(&["phase"], phase.map_or_else(|| format!("{} - Starting", wire::phase_of(stage)), str::to_owned));
    editor.set(&["current_step"], format!("Reading {stage} guide"));
    editor.set(&["recovery_instructions"], beginning_of(stage));
    Ok(format!("entered {stage}"))
}

/// Takes what every agent begins a stage with, and what is over besides, from the next steps; returns those that stay.
pub(super) fn leave(editor: &mut Editor, stage: &str, over: &[String]) -> Vec<Value> {
    let first = first_next_steps(stage);
    let is_over = |step: &String| first.iter().chain(over).any(|over| same(step, over));
    let mut steps = list(editor, "next_steps");
    let count = steps.len();
    steps.retain(|step| !said_by(step).as_ref().is_some_and(is_over));
    if steps.len() < count {
        editor.set(&["next_steps"], Value::Array(steps.clone()));
    }
    steps
}

/// What whoever resumes is told, as far as the checkpoint itself says it.
pub(super) fn instructions(editor: &Editor) -> String {
    let key = |key| editor.string(&[key]).unwrap_or_default();
    let phase = key("phase");
    let phase = phase.split(" - ").next().unwrap_or_default().trim();
    format!("Resume from {} {phase}. Continue with: {}", key("stage"), key("current_step"))
}

/// Whether the instructions of a checkpoint are none that somebody gave: they follow the work then.
pub(super) fn instructions_follow(editor: &Editor) -> bool {
    let said = editor.string(&["recovery_instructions"]).unwrap_or_default();
    let stage = editor.string(&["stage"]).unwrap_or_default();
    said.trim().is_empty()
        || said == instructions(editor)
        || said == first_instructions(&stage)
        || said == beginning_of(&stage)
}

/// Adds a file to those that were changed.
pub(super) fn add_file(editor: &mut Editor, file: &str) -> Result<(), Refusal> {
    let file = file.trim();
    if file.is_empty() || file.starts_with('/') || file.split('/').any(|part| part == "..") {
        return Err(Refusal::usage(format!(
            "a file is named relative to the workspace and inside of it, not {file:?}"
        )));
    }
    push_once(editor, "files_modified", file);
    Ok(())
}

/// Names something that keeps the agent from going on.
pub(super) fn add_blocker(editor: &mut Editor, text: &str) {
    push_once(editor, "blockers", text);
}

/// The items of a list. A single text is a list of one, as it is when it is read.
pub(super) fn list(editor: &Editor, key: &str) -> Vec<Value> {
    match editor.get(&[key]) {
        Some(Value::Array(items)) => items,
        Some(Value::String(text)) if !text.trim().is_empty() && !crate::content::is_nothing(text.trim()) => {
            vec![Value::String(text)]
        }
        _ => Vec::new(),
    }
}

/// Adds an item at the end of a list, which is made one where it is a single text.
pub(super) fn push(editor: &mut Editor, key: &str, value: Value) {
    if !matches!(editor.get(&[key]), Some(Value::Array(_))) {
        let items = list(editor, key);
        editor.set(&[key], Value::Array(items));
    }
    editor.push(&[key], value);
}

/// What an item says: a text, or an object by the key that tells.
pub(super) fn said_by(item: &Value) -> Option<String> {
    let keys = ["message", "blocker", "description", "text", "name", "title", "reason", "id"];
    let said = match item {
        Value::String(text) => Some(text.as_str()),
        Value::Object(object) => keys.iter().find_map(|key| object.get(*key).and_then(Value::as_str)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    };
    said.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Whether two texts name the same thing: case and spacing do not matter.
pub(super) fn same(one: &str, other: &str) -> bool {
    let fold = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    one == other || fold(one) == fold(other)
}

/// A text in a line that is short enough for a summary.
pub(in crate::crew) fn short(text: &str) -> String {
    text::fit(&text::printable(text.trim()), LONGEST).into_owned()
}

/// A failure as a blocker. It begins with a word of its own, so that no text of others makes it read as none.
pub(super) fn failure(step: Option<&str>, said: Option<&str>) -> String {
    match (step, said) {
        (Some(step), Some(said)) => format!("Step failed: {step}: {said}"),
        (Some(step), None) => format!("Step failed: {step}"),
        (None, said) => format!("Failed: {}", said.unwrap_or("no reason given")),
    }
}

fn begin(editor: &mut Editor, steps: &[&str], warnings: &mut Vec<Hint>) {
    for step in steps.iter().rev() {
        if has(editor, "completed_steps", step) {
            take(editor, "completed_steps", step);
            warnings.push(format!("it was done and is begun again: {}", short(step)).into());
        }
        to_front(editor, step);
    }
    editor.set(&["current_step"], steps[0]);
}

fn complete(editor: &mut Editor, step: &str, as_what: &str) {
    // The list's own spelling stays.
    let spelled = take(editor, "next_steps", step);
    let text = if as_what == step { spelled.as_deref().unwrap_or(step) } else { as_what };
    push_once(editor, "completed_steps", text);
}

/// After a step is done the current step is the first of the next ones.
fn go_on(editor: &mut Editor) {
    let next = list(editor, "next_steps").iter().find_map(said_by);
    editor.set(&["current_step"], next.as_deref().unwrap_or(NO_STEP));
}

/// Lets the current step be one that is still open.
fn follow(editor: &mut Editor) {
    let open: Vec<String> = list(editor, "next_steps").iter().filter_map(said_by).collect();
    let current = editor.string(&["current_step"]).unwrap_or_default();
    let is_done = has(editor, "completed_steps", &current) || current.trim().is_empty() || current == NO_STEP;
    if is_done || open.is_empty() {
        editor.set(&["current_step"], open.first().map_or(NO_STEP, String::as_str));
    }
}

fn to_front(editor: &mut Editor, step: &str) {
    let mut items = list(editor, "next_steps");
    let at = items.iter().position(|item| said_by(item).is_some_and(|said| same(&said, step)));
    let item = at.map_or_else(|| Value::from(step), |at| items.remove(at));
    items.insert(0, item);
    editor.set(&["next_steps"], Value::Array(items));
}

fn has(editor: &Editor, key: &str, text: &str) -> bool {
    list(editor, key).iter().filter_map(said_by).any(|said| same(&said, text))
}

fn take(editor: &mut Editor, key: &str, text: &str) -> Option<String> {
    let mut items = list(editor, key);
    let at = items.iter().position(|item| said_by(item).is_some_and(|said| same(&said, text)))?;
    let taken = items.remove(at);
    editor.set(&[key], Value::Array(items));
    said_by(&taken)
}

fn push_once(editor: &mut Editor, key: &str, text: &str) {
    if !has(editor, key, text) {
        push(editor, key, Value::from(text));
    }
}

fn named(first: &str, count: usize) -> String {
    if count > 1 { format!("{} and {} more", short(first), count - 1) } else { short(first) }
}

fn counted(editor: &Editor) -> String {
    let count = |key| list(editor, key).iter().filter_map(said_by).count();
    let done = count("completed_steps");
    format!("({done}/{})", done + count("next_steps"))
}

fn beginning_of(stage: &str) -> String {
    format!("Resume from beginning of {stage}")
}
