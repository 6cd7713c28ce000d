//! Subtasks: their list, their counters, and what is processed last and next.

use piton_model::hint::verbs;
use piton_model::{Moment, Percent, Refusal, StepMove, StepTo};
use serde_json::{Value, json};

use super::errors::add_error;
use super::update::{append_note, push_path};
use super::{Spot, short};
use crate::json::{Editor, Kind};
use crate::task::read::{Counts, errors, item_id, item_word, items};
use crate::{content, json};

/// Moves subtasks.
pub(super) fn move_steps(
    editor: &mut Editor,
    spot: &Spot,
    moved: &StepMove,
    moment: &Moment,
) -> Result<String, Refusal> {
    let steps = checked(moved)?;
    let follows = instructions_follow(editor);
    let mut already = 0;
    for (place, step) in steps.iter().enumerate() {
        let output = if moved.outputs.len() == steps.len() { moved.outputs.get(place) } else { None };
        let output = output.or_else(|| moved.outputs.first().filter(|_| steps.len() == 1));
        already += usize::from(set_item(editor, spot, step, moved.to, output.map(String::as_str))?);
    }
    for file in &moved.outputs {
        push_path(editor, "files_created", file)?;
    }
    for file in &moved.files {
        push_path(editor, "files_modified", file)?;
    }
    set_context(editor, &steps, moved);
    let said = moved.message.as_deref().map(str::trim).filter(|said| !said.is_empty());
    match (said, moved.to) {
        (Some(said), StepTo::Failed) => {
            add_error(editor, "subtask_failed", &format!("{}: {said}", steps.join(", ")), false, moment)
        }
        (Some(said), StepTo::Begun | StepTo::Done | StepTo::Skipped) => append_note(editor, said),
        (None, _) => {}
    }
    if follows {
        editor.set(&["resume_instructions"], instructions(editor));
    }
    let word = match moved.to {
        StepTo::Begun => "begun",
        StepTo::Done if already == steps.len() => "already done",
        StepTo::Done => "done",
        StepTo::Failed => "failed",
        StepTo::Skipped => "skipped",
    };
    let more = if steps.len() > 1 { format!(" and {} more", steps.len() - 1) } else { String::new() };
    let counts = editor.look(Counts::read);
    Ok(format!("{}{more} {word} ({}/{})", short(steps[0]), counts.done(), counts.total))
}

/// Lets counters and percentage follow from the list and from what is not listed.
pub(super) fn recount(editor: &mut Editor, before: &Counts, total: u64) {
    // What is done and not listed is known by the counters only, and stays.
    let hidden = |all: u64, listed: u64| if before.lists_all() { 0 } else { all.saturating_sub(listed) };
    let now = editor.look(Counts::read);
    let completed = hidden(before.completed, before.listed_complete).saturating_add(now.listed_complete);
    let failed = hidden(before.failed, before.listed_failed).saturating_add(now.listed_failed);
    editor.set(&["subtasks", "total"], total);
    editor.set(&["subtasks", "completed"], completed);
    editor.set(&["subtasks", "failed"], failed);
    let percent = Percent::of(completed, total).floor().min(99);
    editor.set(&["progress_percent"], percent);
}

/// What whoever resumes is told, as far as the checkpoint itself says it.
pub(super) fn instructions(editor: &Editor) -> String {
    let next = editor.string(&["context", "next_to_process"]).filter(|next| !next.trim().is_empty());
    let blocked = editor.look(|root| {
        let is_blocking =
            |error: &json::Value<'_, '_>| error.get("blocking").and_then(json::Value::as_bool) == Some(true);
        errors(root).filter(is_blocking).last().and_then(|error| content::text(error, "message"))
    });
    match (blocked, next) {
        (Some(error), Some(next)) => format!("Resolve: {error}. Then continue from {next}"),
        (Some(error), None) => format!("Resolve: {error}. Then continue with what is open"),
        (None, Some(next)) => format!("Continue from {next}"),
        (None, None) => "Continue with what is open".to_owned(),
    }
}

/// Whether the instructions are none that somebody gave: they follow the work then.
pub(super) fn instructions_follow(editor: &Editor) -> bool {
    let said = editor.string(&["resume_instructions"]).unwrap_or_default();
    said.trim().is_empty() || said == instructions(editor)
}

/// The first subtask that is not begun, failed or done; of two, the one that is begun.
pub(super) fn next_open(editor: &Editor) -> Option<String> {
    editor.look(|root| {
        let open = |wanted: &'static [&'static str]| {
            let mut all = items(root).enumerate();
            all.find(|(_, item)| item_word(*item).is_none_or(|word| wanted.contains(&word)))
                .map(|(place, item)| item_id(place, item))
        };
        open(&["in_progress"]).or_else(|| open(&["pending"]))
    })
}

fn checked(moved: &StepMove) -> Result<Vec<&str>, Refusal> {
    let steps: Vec<&str> = moved.steps.iter().map(|step| step.trim()).collect();
    if steps.is_empty() || steps.iter().any(|step| step.is_empty()) {
        return Err(Refusal::usage("no subtask is named"));
    }
    for (place, step) in steps.iter().enumerate() {
        if steps[..place].contains(step) {
            return Err(Refusal::usage(format!("{step:?} is named twice")));
        }
    }
    let next = moved.next.as_deref().map(str::trim);
    if moved.to != StepTo::Begun && next.is_some_and(|next| steps.contains(&next)) {
        return Err(Refusal::usage(format!("{:?} cannot come next: it was just processed", next.unwrap_or_default())));
    }
    Ok(steps)
}

/// Sets the state of one subtask, which is added when it is not listed yet; tells whether it was so before.
fn set_item(editor: &mut Editor, spot: &Spot, step: &str, to: StepTo, output: Option<&str>) -> Result<bool, Refusal> {
    let word = match to {
        StepTo::Begun => "in_progress",
        StepTo::Done => "complete",
        StepTo::Failed => "failed",
        StepTo::Skipped => "skipped",
    };
    let before = editor.look(Counts::read);
    let found = editor.look(|root| {
        let mut all = items(root).enumerate();
        all.find(|(place, item)| item_id(*place, *item) == step).map(|(place, item)| (place, item_word(item)))
    });
    let Some((place, old)) = found else {
        let total = room_for(editor, spot, step, to, &before)?;
        if !matches!(editor.get(&["subtasks", "items"]), Some(Value::Array(_))) {
            editor.set(&["subtasks", "items"], json!([]));
        }
        editor.push(&["subtasks", "items"], json!({"id": step, "status": word, "output": output}));
        recount(editor, &before, total);
        return Ok(false);
    };
    editor.edit(|root, edits| {
        let Some(item) = items(root).nth(place) else { return };
        if item.kind() != Kind::Object {
            return edits.replace(item, &json!({"id": step, "status": word, "output": output}));
        }
        edits.set(item, "status", json!(word));
        if let Some(output) = output {
            edits.set(item, "output", json!(output));
        }
    });
    recount(editor, &before, before.total.max(before.listed));
    Ok(old == Some(word))
}

/// The total with room for one more subtask in the list, or why there is none.
fn room_for(editor: &Editor, spot: &Spot, step: &str, to: StepTo, before: &Counts) -> Result<u64, Refusal> {
    let hidden =
        before.completed.saturating_sub(before.listed_complete) + before.failed.saturating_sub(before.listed_failed);
    let hidden = if before.lists_all() { 0 } else { hidden };
    let used = before.listed.saturating_add(hidden);
    if used < before.total {
        return Ok(before.total);
    }
    // Work that turns out to be more is begun before it is done; a wrong name is rather done than begun.
    if before.total == 0 || (to == StepTo::Begun && hidden == 0) {
        return Ok(used.saturating_add(1));
    }
    let known: Vec<String> =
        editor.look(|root| items(root).enumerate().map(|(place, item)| short(&item_id(place, item))).collect());
    let near = nearest(step, &known);
    let refusal = Refusal::missing(format!(
        "{step:?} is not one of the {} subtasks, and there is no room for another: {}",
        before.total,
        near.join(", ")
    ));
    Err(refusal.hint(verbs::STEP.on(&spot.unit).word("begin").name(step, "STEP").to("when it is one more")))
}

/// The names that are most like another, at most five.
fn nearest(step: &str, known: &[String]) -> Vec<String> {
    let alike = |name: &str| {
        let ends = |a: &mut dyn Iterator<Item = char>, b: &mut dyn Iterator<Item = char>| {
            a.zip(b).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count()
        };
        ends(&mut name.chars(), &mut step.chars()) + ends(&mut name.chars().rev(), &mut step.chars().rev())
    };
    let mut names = known.to_vec();
    names.sort_by_key(|name| std::cmp::Reverse(alike(name)));
    names.truncate(5);
    names
}

/// Sets what was processed last and what comes next.
fn set_context(editor: &mut Editor, steps: &[&str], moved: &StepMove) {
    let given = moved.next.as_deref().map(str::trim).filter(|next| !next.is_empty()).map(str::to_owned);
    let last = steps.last().copied().unwrap_or_default();
    match moved.to {
        StepTo::Begun => {
            let next = given.unwrap_or_else(|| steps[0].to_owned());
            if editor.string(&["context", "last_processed"]).as_deref() == Some(next.as_str()) {
                editor.set(&["context", "last_processed"], Value::Null);
            }
            editor.set(&["context", "next_to_process"], next);
        }
        StepTo::Done | StepTo::Skipped | StepTo::Failed => {
            // A source that was to be processed next, and is no subtask's id, is what this step has processed.
            let source = editor.string(&["context", "next_to_process"]).filter(|next| !next.trim().is_empty());
            let is_id = |name: &str| {
                editor.look(|root| items(root).enumerate().any(|(place, item)| item_id(place, item) == name))
            };
            let source = source.filter(|name| steps.len() == 1 && !is_id(name));
            let next = given.or_else(|| next_open(editor));
            if moved.to == StepTo::Done {
                let done = source.unwrap_or_else(|| last.to_owned());
                let next = next.filter(|next| *next != done);
                editor.set(&["context", "last_processed"], done);
                editor.set(&["context", "next_to_process"], next);
            } else {
                let done = editor.string(&["context", "last_processed"]);
                editor.set(&["context", "next_to_process"], next.filter(|next| done.as_ref() != Some(next)));
            }
        }
    }
}
