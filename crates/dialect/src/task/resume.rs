//! How a task goes on, or why not.

use piton_model::hint::verbs;
use piton_model::{Moment, Refusal, ResumeAction, ResumeMode, ResumePlan, StepState, Unit};

use super::write::{Found, Spot, not_resumable};
use crate::brief::in_an_order;
use crate::{Files, Place};

/// How the task is continued. Nothing changes; that it was resumed is recorded separately.
pub fn resume(
    place: &Place,
    files: &dyn Files,
    mode: Option<ResumeMode>,
    moment: &Moment,
) -> Result<ResumePlan, Refusal> {
    let spot = Spot::of(place)?;
    let found = match spot.find(files, moment)? {
        Some(found) => found,
        None => spot.archived(files, moment)?.map_or_else(|| spot.live(files, moment), Ok)?,
    };
    let mut plan = plan(&found, &spot, files);
    let restart = (mode == Some(ResumeMode::Restart)).then(|| {
        let hint = verbs::RESTART.on(&spot.unit).to("begin again from nothing");
        Refusal::rule("a task goes on where it stopped, or begins again").hint(hint)
    });
    match not_resumable(&spot, &found.unit).or(restart) {
        Some(refusal) => {
            plan.action = ResumeAction::Refuse;
            plan.next = format!("do not go on with {}", spot.unit).into();
            plan.reasons.push(refusal.message.into());
            plan.reasons.extend(refusal.hints);
        }
        None => plan.reasons.push(format!("`resumable` is true and the status is {}", found.unit.status_text).into()),
    }
    Ok(plan)
}

fn plan(found: &Found, spot: &Spot, files: &dyn Files) -> ResumePlan {
    let unit = &found.unit;
    let with = |wanted: fn(&StepState) -> bool| -> Vec<String> {
        unit.steps.iter().filter(|step| wanted(&step.state)).map(|step| step.id.clone()).collect()
    };
    let is_open = |state: &StepState| matches!(state, StepState::Running | StepState::Pending | StepState::Failed);
    let mut remaining = with(|state| *state == StepState::Running);
    remaining.extend(with(|state| *state == StepState::Failed));
    remaining.extend(with(|state| *state == StepState::Pending));
    let said = |key| found.editor.string(&["context", key]).filter(|text| !text.trim().is_empty());
    let next = said("next_to_process");
    // What comes next is among the first of the rest, where it is a subtask.
    if let Some(place) = next.as_ref().and_then(|next| remaining.iter().position(|step| step == next)) {
        let step = remaining.remove(place);
        remaining.insert(0, step);
    }
    let position = match (&next, said("last_processed")) {
        (Some(next), Some(last)) => format!("{next}, after {last}"),
        (Some(next), None) => next.clone(),
        (None, Some(last)) => format!("after {last}"),
        (None, None) => "the beginning".to_owned(),
    };
    let order = match next.as_ref().or(remaining.first()) {
        Some(step) => format!("continue from {}; skip what is complete", in_an_order(step)),
        None if unit.steps.iter().any(|step| is_open(&step.state)) => "continue with what is open".to_owned(),
        None => "check the acceptance criteria, then finish".to_owned(),
    };
    ResumePlan {
        action: ResumeAction::Continue,
        position: super::write::short(&position),
        next: order.into(),
        done: with(|state| matches!(state, StepState::Done { .. } | StepState::Skipped)).into_iter().collect(),
        remaining: remaining.into_iter().collect(),
        reasons: Vec::new(),
        block: None,
        instructions: found.editor.string(&["resume_instructions"]).into_iter().collect(),
        outputs: outputs(unit, found, spot, files),
    }
}

/// The files that were named as made, where they are: below the workspace's root or the directory of `progress`.
fn outputs(unit: &Unit, found: &Found, spot: &Spot, files: &dyn Files) -> Vec<String> {
    let mut named: Vec<String> = Vec::new();
    for step in &unit.steps {
        if let StepState::Done { outputs, .. } = &step.state {
            named.extend(outputs.iter().cloned());
        }
    }
    named.extend(found.editor.strings(&["files_created"]));
    let is_there = |path: &str| {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        files.list(directory).iter().any(|found| found == name)
    };
    let mut outputs: Vec<String> = Vec::new();
    for file in named.iter().filter(|file| !file.starts_with('/') && !file.split('/').any(|part| part == "..")) {
        // An output may be spelled from a directory further down; the list of created files then has all of it.
        let is_tail = named.iter().any(|other| other != file && other.ends_with(&format!("/{file}")));
        let below = spot.below(file);
        let path = if !is_there(file) && is_there(&below) { below } else { file.clone() };
        if !is_tail && !outputs.contains(&path) {
            outputs.push(path);
        }
    }
    outputs
}
