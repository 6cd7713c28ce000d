//! What an event changes in a checkpoint that is there.

use piton_model::hint::verbs;
use piton_model::{Event, Hint, Moment, NotePurpose, Refusal, State, Unit};
use serde_json::{Value, json};

use super::steps::{self, add_blocker, list, push, said_by, same, short};
use super::{Spot, numbers, permitted};
use crate::crew::{standing, wire};
use crate::json::Editor;

/// Refuses what may not happen to an agent that stands so.
pub(super) fn may(spot: &Spot, unit: &Unit, event: &Event) -> Result<(), Refusal> {
    match event {
        Event::GateJudged(_) | Event::VerdictGiven(_) => {
            Err(Refusal::usage("an agent of a crew has steps and stages, but no gates and verdicts")
                .hint(verbs::STATUS.on(&spot.unit).to("see its steps")))
        }
        Event::Marked => Err(Refusal::usage("steps of a crew need no ids")),
        // What is in the way is told by name.
        Event::Finished if unit.state == State::Blocked => Err(still_blocked(spot, &unit.blockers)),
        Event::Resumed { .. } if !unit.resumable => Err(not_resumable(spot, unit)),
        _ => permitted(spot, unit, event),
    }
}

/// Changes the checkpoint, and tells what is true then.
pub(super) fn apply(
    editor: &mut Editor,
    spot: &Spot,
    unit: &Unit,
    event: &Event,
    moment: &Moment,
    warnings: &mut Vec<Hint>,
) -> Result<String, Refusal> {
    let follows = steps::instructions_follow(editor);
    let summary = change(editor, spot, unit, event, moment, warnings)?;
    if follows && matches!(event, Event::StepMoved(moved) if moved.message.is_none()) {
        editor.set(&["recovery_instructions"], steps::instructions(editor));
    }
    Ok(summary)
}

fn change(
    editor: &mut Editor,
    spot: &Spot,
    unit: &Unit,
    event: &Event,
    moment: &Moment,
    warnings: &mut Vec<Hint>,
) -> Result<String, Refusal> {
    match event {
        Event::StepMoved(moved) => {
            go_on(editor);
            steps::move_steps(editor, moved, moment.attempt, warnings)
        }
        Event::StageEntered { stage, phase } => {
            let summary = steps::enter(editor, spot, stage, phase.as_deref(), warnings)?;
            go_on(editor);
            Ok(summary)
        }
        Event::Blocked { message, kind } => {
            let text = kind.as_ref().map_or_else(|| message.trim().to_owned(), |kind| format!("{kind}: {message}"));
            block(editor, &text)
        }
        Event::Failed { step, message, file, line } => {
            let place = file.as_ref().map(|file| match line {
                Some(line) => format!(" ({file}:{line})"),
                None => format!(" ({file})"),
            });
            let said = format!("{}{}", given(message, "message")?, place.unwrap_or_default());
            let step = step.as_deref().map(|step| numbers::meant(editor, step, moment.attempt)).transpose()?;
            let failure = steps::failure(step.as_deref(), Some(&said));
            block(editor, &failure)?;
            let step = step.as_deref().map(|step| format!("{}: ", steps::short(step))).unwrap_or_default();
            Ok(format!("failed: {step}{}", steps::short(&said)))
        }
        Event::Unblocked { which, answer } => {
            let summary = unblock(editor, unit, which.as_deref())?;
            let Some(answer) = answer else { return Ok(summary) };
            Ok(format!("{summary}; {}", note(editor, answer, NotePurpose::ResumeInstruction, moment)?))
        }
        Event::Paused { reason } => {
            editor.set(&["status"], "WAITING");
            match moment.ticket {
                // An agent that waits for others says so of itself.
                Some(_) => editor.remove(&[standing::PAUSED_BY]),
                None => editor.set(&[standing::PAUSED_BY], moment.by.as_str()),
            };
            let reason = reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
            match reason {
                Some(reason) => editor.set(&["waiting_reason"], reason),
                None => editor.remove(&["waiting_reason"]),
            };
            let word = if moment.ticket.is_some() { "waiting" } else { "paused" };
            Ok(reason.map_or_else(|| word.into(), |reason| format!("{word}: {}", short(reason))))
        }
        Event::Noted { text, purpose } => note(editor, text, *purpose, moment),
        Event::CriteriaDropped { .. } => Err(Refusal::usage("only a task has criteria that its list may drop")),
        Event::ExecutionNoted(_) => Err(Refusal::usage("only a build lists fixes and cleanups")),
        Event::Decided { text, reason } => decide(editor, text, reason.as_deref(), moment),
        Event::Beat => Ok("beat".into()),
        Event::HelperStarted { kind, .. } => Ok(format!("helper started: {}", short(kind))),
        Event::HelperStopped { kind, .. } => Ok(format!("helper stopped: {}", short(kind))),
        Event::Checkpointed { reason, .. } => Ok(format!("checkpoint: {}", short(reason))),
        Event::Crashed { session } => Ok(format!("the session {} went away without an end", short(session))),
        Event::FilesTouched { created, modified } => {
            let all: Vec<&String> = created.iter().chain(modified).collect();
            all.iter().try_for_each(|file| steps::add_file(editor, file))?;
            let named = all.iter().map(|file| file.as_str()).collect::<Vec<_>>().join(", ");
            Ok(format!("files: {}", short(&named)))
        }
        Event::ToolFailed { tool, message } => tool_failed(editor, tool, message, moment),
        Event::Finished => finish(editor, spot, unit, moment, warnings),
        Event::Resumed { .. } => Ok(resume(editor, unit, moment, warnings)),
        Event::Reopened => {
            go_on(editor);
            editor.set(&["can_resume"], true);
            editor.set(&["current_step"], "Reopened: find what is missing");
            editor.set(&["recovery_instructions"], steps::instructions(editor));
            Ok("reopened".into())
        }
        Event::Started(_)
        | Event::GateJudged(_)
        | Event::VerdictGiven(_)
        | Event::TakenOver { .. }
        | Event::Restarted { .. }
        | Event::Repaired
        | Event::BackedUp { .. }
        | Event::Marked => Err(Refusal::usage(format!("{} is not an update of a checkpoint", event.name()))),
    }
}

/// The agent is at work.
fn go_on(editor: &mut Editor) {
    editor.set(&["status"], "IN_PROGRESS").remove(&["waiting_reason"]).remove(&[standing::PAUSED_BY]);
}

fn block(editor: &mut Editor, text: &str) -> Result<String, Refusal> {
    let text = text.trim();
    if !standing::is_blocker(text) || text.is_empty() {
        return Err(Refusal::usage(format!("{text:?} does not say what is in the way"))
            .hint("say what is missing: --message 'the review of spec.md is missing'"));
    }
    add_blocker(editor, text);
    editor.set(&["status"], "BLOCKED");
    Ok(format!("blocked: {}", short(text)))
}

/// Removes one blocker, or all of them.
fn unblock(editor: &mut Editor, unit: &Unit, which: Option<&str>) -> Result<String, Refusal> {
    let items = list(editor, "blockers");
    let mut left: Vec<Value> = Vec::new();
    if let Some(which) = which.map(str::trim) {
        let said: Vec<String> = items.iter().map(|item| said_by(item).unwrap_or_default()).collect();
        let holds = |said: &String| said.to_lowercase().contains(&which.to_lowercase());
        let exact = said.iter().position(|said| same(said, which));
        let number = which.parse::<usize>().ok().and_then(|number| number.checked_sub(1)).filter(|at| *at < said.len());
        let only = || {
            let mut found = said.iter().enumerate().filter(|(_, said)| holds(said));
            found.next().filter(|_| found.next().is_none()).map(|(at, _)| at)
        };
        let Some(at) = exact.or(number).or_else(only) else {
            let named = said.iter().map(|said| format!("{:?}", short(said))).collect::<Vec<_>>().join(", ");
            let known = if named.is_empty() { "there is none".to_owned() } else { format!("there are {named}") };
            return Err(Refusal::missing(format!("no single blocker is {which:?}; {known}")));
        };
        left = items.iter().enumerate().filter(|(place, _)| *place != at).map(|(_, item)| item.clone()).collect();
    }
    let open: Vec<String> = left.iter().filter_map(said_by).filter(|text| standing::is_blocker(text)).collect();
    if open.is_empty() {
        editor.set(&["blockers"], json!([]));
        go_on(editor);
        // One that claimed to be complete goes on too, and may be resumed again.
        if standing::claims_completion(unit) {
            editor.set(&["can_resume"], true);
        }
        return Ok(match (items.is_empty(), &unit.state) {
            (false, _) => "unblocked".into(),
            (true, State::Paused { .. }) => "the pause is over".into(),
            (true, _) => "not blocked".into(),
        });
    }
    editor.set(&["blockers"], Value::Array(left));
    editor.set(&["status"], "BLOCKED");
    Ok(format!("still blocked: {}", short(&open.join("; "))))
}

fn note(editor: &mut Editor, text: &str, purpose: NotePurpose, moment: &Moment) -> Result<String, Refusal> {
    let text = given(text, "note")?;
    match purpose {
        NotePurpose::Note => {
            push(editor, "notes", Value::from(format!("{}: {text}", moment.now)));
            Ok(format!("noted: {}", short(text)))
        }
        NotePurpose::ResumeInstruction => {
            editor.set(&["recovery_instructions"], text);
            Ok(format!("to resume: {}", short(text)))
        }
    }
}

/// A tool failed: that is a note, once for the same words.
fn tool_failed(editor: &mut Editor, tool: &str, message: &str, moment: &Moment) -> Result<String, Refusal> {
    let said = format!("tool failed: {}: {}", given(tool, "tool")?, given(message, "message")?);
    let notes = list(editor, "notes");
    let failures = notes.iter().filter_map(Value::as_str).filter(|note| note.contains(": tool failed: "));
    let (mut count, mut is_known) = (0, false);
    for note in failures {
        count += 1;
        is_known |= note.ends_with(&said);
    }
    if !is_known && count < MOST_TOOL_FAILURES {
        push(editor, "notes", Value::from(format!("{}: {said}", moment.now)));
    }
    Ok(short(&said))
}

/// How many failures of tools are noted; what fails on and on does not fill the checkpoint.
const MOST_TOOL_FAILURES: usize = 20;

fn decide(editor: &mut Editor, text: &str, reason: Option<&str>, moment: &Moment) -> Result<String, Refusal> {
    let text = given(text, "decision")?;
    let mut decision = json!({"at": moment.now.to_string(), "decision": text});
    if let Some(reason) = reason {
        decision["reason"] = Value::from(reason.trim());
    }
    push(editor, "decisions", decision);
    Ok(format!("decided: {}", short(text)))
}

fn finish(
    editor: &mut Editor,
    spot: &Spot,
    unit: &Unit,
    moment: &Moment,
    warnings: &mut Vec<Hint>,
) -> Result<String, Refusal> {
    let agent = &spot.agent;
    if unit.state == State::Done {
        return Ok("already complete".into());
    }
    if !unit.blockers.is_empty() {
        return Err(still_blocked(spot, &unit.blockers));
    }
    let stage = wire::stage(&editor.string(&["stage"]).unwrap_or_default());
    if wire::stage_after(&stage).is_none() {
        // What every agent begins the last stage with goes with it, as it does when another stage is entered.
        steps::leave(editor, &stage, &[]);
    }
    let open: Vec<String> = list(editor, "next_steps").iter().filter_map(said_by).collect();
    if let Some(first) = open.first() {
        let all = open.iter().map(|step| format!("{:?}", short(step))).collect::<Vec<_>>().join(", ");
        let (unit, number) = (&spot.unit, numbers::word(editor, first, moment.attempt));
        let done = verbs::STEP.on(unit).word("done");
        let done = open.iter().fold(done, |done, step| done.name(&numbers::word(editor, step, moment.attempt), "STEP"));
        let when = if open.len() == 1 { "when it is done" } else { "when all of them are done" };
        return Err(Refusal::rule(format!("{agent} has open steps: {all}"))
            // Its answer says what is next.
            .hint(done.to(when))
            .hint(
                verbs::STEP
                    .on(unit)
                    .word("skip")
                    .name(&number, "STEP")
                    .filled("--message", "TEXT")
                    .to("to leave it out"),
            ));
    }
    if let Some(at) = wire::STAGES.iter().position(|known| *known == stage).filter(|at| at + 1 < wire::STAGES.len()) {
        warnings.push(format!("finished at {stage}; {} was not entered", wire::STAGES[at + 1..].join(" and ")).into());
    }
    let done = format!("{stage} complete");
    if !list(editor, "completed_steps").iter().filter_map(said_by).any(|step| same(&step, &done)) {
        push(editor, "completed_steps", Value::from(done));
    }
    editor.set(&["status"], "COMPLETE").set(&["can_resume"], false);
    editor.remove(&["waiting_reason"]).remove(&[standing::PAUSED_BY]);
    editor.set(&["current_step"], "Complete");
    editor.set(&["recovery_instructions"], "Complete. There is nothing to resume.");
    Ok("complete".into())
}

fn resume(editor: &mut Editor, unit: &Unit, moment: &Moment, warnings: &mut Vec<Hint>) -> String {
    let old = editor.string(&["session_id"]);
    let own =
        moment.session.as_deref().filter(|session| !session.trim().is_empty() && old.as_deref() != Some(*session));
    editor.set(&["session_id"], own.unwrap_or(&moment.fresh_id));
    go_on(editor);
    numbers::keep(editor, moment.attempt);
    if !unit.blockers.is_empty() {
        let all = unit.blockers.iter().map(|text| short(text)).collect::<Vec<_>>().join("; ");
        warnings.push(format!("resumed with blockers still named: {all}").into());
    }
    format!("resumed at {}", short(unit.stage.as_deref().unwrap_or("an unknown stage")))
}

fn given<'a>(text: &'a str, what: &str) -> Result<&'a str, Refusal> {
    let text = text.trim();
    if text.is_empty() { Err(Refusal::usage(format!("the {what} is empty"))) } else { Ok(text) }
}

fn still_blocked(spot: &Spot, blockers: &[String]) -> Refusal {
    let all = blockers.iter().map(|text| short(text)).collect::<Vec<_>>().join("; ");
    Refusal::rule(format!("{} is blocked: {all}", spot.agent))
        .hint(verbs::UNBLOCK.on(&spot.unit).to("when that is gone"))
}

/// Why an agent is not resumed, and what is possible instead.
pub(in crate::crew) fn not_resumable(spot: &Spot, unit: &Unit) -> Refusal {
    let (agent, name) = (&spot.agent, &spot.unit);
    let why = if standing::claims_completion(unit) {
        return Refusal::rule(format!("{agent} is complete; there is nothing to resume"))
            .hint(verbs::REOPEN.on(name).to("when something is missing"));
    } else if unit.state == State::Unknown {
        format!("the status of {agent} is not understood: {:?}", short(&unit.status_text))
    } else {
        format!("the checkpoint of {agent} says that it cannot be resumed (`can_resume` is not true)")
    };
    Refusal::rule(why)
        .hint(verbs::TAKEOVER.on(name).filled("--as", "AGENT").to("let another agent continue"))
        .hint(verbs::RESTART.on(name).to("begin again from nothing"))
}
