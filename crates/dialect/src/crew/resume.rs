//! How an agent goes on: the first recovery scenario of the protocol, or why not.

use piton_model::hint::verbs;
use piton_model::{
    Age, Hint, Moment, Refusal, ResumeAction, ResumeMode, ResumePlan, Said, Step, StepState, Unit, text,
};

use super::write::{Origin, Spot, not_resumable, number_of, short};
use crate::brief::in_an_order;
use crate::json::Editor;
use crate::{Files, Place};

/// How the agent's work is continued. Nothing changes; that it was resumed is recorded separately.
///
/// A crew's steps are an agent's own words, so `next` points to the current one where it is a sentence.
pub fn resume(
    place: &Place,
    files: &dyn Files,
    mode: Option<ResumeMode>,
    moment: &Moment,
) -> Result<ResumePlan, Refusal> {
    let spot = Spot::of(place)?;
    let found = spot.found(files, moment)?;
    let unit = &found.unit;
    let agent = &spot.agent;
    let mut plan = plan(unit, &spot, &found.editor, moment);
    plan.outputs = outputs(unit, &spot, files);
    if let Origin::Backup(path) = &found.origin {
        plan.reasons.push(format!("the checkpoint is unreadable; {path} is its newest whole backup").into());
    }
    let refusal = if !unit.resumable {
        Some(not_resumable(&spot, unit))
    } else if mode == Some(ResumeMode::Restart) {
        let hint = verbs::RESTART.on(&spot.unit).to("begin again from nothing");
        Some(Refusal::rule("an agent of a crew goes on where it stopped, or its feature begins again").hint(hint))
    } else {
        None
    };
    if let Some(refusal) = refusal {
        plan.action = ResumeAction::Refuse;
        plan.next = format!("do not go on with {agent}").into();
        plan.reasons.push(refusal.message.into());
        plan.reasons.extend(refusal.hints);
        return Ok(plan);
    }
    if !unit.blockers.is_empty() {
        plan.reasons.push(verbs::UNBLOCK.on(&spot.unit).to("blockers are still named; when they are gone"));
    }
    plan.reasons.push("the checkpoint allows it: the same agent, feature and stage, with a new session".into());
    plan.block = Some(message(unit, &found.editor, moment));
    Ok(plan)
}

fn plan(unit: &Unit, spot: &Spot, editor: &Editor, moment: &Moment) -> ResumePlan {
    let first = unit.steps.iter().find(|step| step.state == StepState::Pending);
    let first = first.and_then(|step| number_of(editor, &step.id, moment.attempt));
    let order = |order: String| match first {
        Some(number) => verbs::STEP
            .on(&spot.unit)
            .word("done")
            .name(&number.to_string(), "STEP")
            .to(format!("{order}; when step {number} is done")),
        None => Hint::text(order),
    };
    let named = |wanted: fn(&StepState) -> bool| {
        unit.steps.iter().filter(move |step| wanted(&step.state)).map(|step| &step.id).collect()
    };
    let phase = note(unit, "phase").map(|phase| format!(" ({})", short(phase))).unwrap_or_default();
    ResumePlan {
        action: ResumeAction::Continue,
        position: format!("{}{phase}", unit.stage.as_deref().unwrap_or("no stage")),
        next: match &unit.current {
            Some(current) => order(format!("go on with {}", in_an_order(current))),
            None => order("go on from the beginning of the stage: no current step is recorded".to_owned()),
        },
        done: named(|state| matches!(state, StepState::Done { .. })),
        remaining: named(|state| *state == StepState::Pending),
        reasons: Vec::new(),
        block: None,
        instructions: note(unit, "recovery instructions").map(str::to_owned).into_iter().collect(),
        outputs: Vec::new(),
    }
}

/// The protocol's resume message, filled from the checkpoint.
fn message(unit: &Unit, editor: &Editor, moment: &Moment) -> String {
    let stage = unit.stage.as_deref().unwrap_or("no stage");
    let phase = note(unit, "phase").map(|phase| format!(" ({})", short(phase))).unwrap_or_default();
    let updated = unit.signs.iter().find_map(|sign| match &sign.said {
        Said::At(at) => Some(*at),
        Said::Words(_) => None,
    });
    let updated = match updated {
        Some(at) => {
            let clock = at.to_string();
            format!("{} ({})", clock.get(11..16).unwrap_or(&clock), ago(at.age(moment.now)))
        }
        None => "unknown".to_owned(),
    };
    let list = |items: &[String]| match items {
        [] => "- No files recorded".to_owned(),
        items => items.iter().map(|file| format!("- {}: modified", short(file))).collect::<Vec<_>>().join("\n"),
    };
    let open = unit.steps.iter().filter(|step| step.state == StepState::Pending);
    let number = |at: usize, step: &Step| number_of(editor, &step.id, moment.attempt).unwrap_or(at + 1);
    let next: Vec<_> =
        open.enumerate().map(|(at, step)| format!("{}. {}", number(at, step), short(&step.id))).collect();
    let next = if next.is_empty() { "None recorded".to_owned() } else { next.join("\n") };
    format!(
        "✅ Checkpoint found! Resuming work...\n\n**Previous Session:**\n- Stage: {stage}{phase}\n- Last Update: {updated}\n- Status: {}\n\n**Current State:**\n{}\n\n**Resuming from:** {}\n\n**Next Steps:**\n{next}\n\nI'll continue where I left off...",
        short(&unit.status_text),
        list(&unit.files),
        short(unit.current.as_deref().unwrap_or("the beginning of the stage")),
    )
}

/// The files that were named, where they are: below the epic's directory or the workspace's root.
fn outputs(unit: &Unit, spot: &Spot, files: &dyn Files) -> Vec<String> {
    let is_there = |path: &str| {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        files.list(directory).iter().any(|found| found == name)
    };
    let inside = |file: &&String| !file.starts_with('/') && !file.split('/').any(|part| part == "..");
    let place = |file: &String| {
        let below = spot.below(file);
        if !is_there(&below) && is_there(file) { file.clone() } else { below }
    };
    unit.files.iter().filter(inside).map(place).collect()
}

fn note<'a>(unit: &'a Unit, label: &str) -> Option<&'a str> {
    unit.notes.iter().find(|note| note.label == label).map(|note| note.text.as_str())
}

/// An age as the protocol's messages word it: `45 minutes ago`.
pub(super) fn ago(age: Age) -> String {
    let minutes = usize::try_from(age.0.as_secs() / 60).unwrap_or(usize::MAX);
    format!("{} ago", text::counted(minutes, "minute", "minutes"))
}
