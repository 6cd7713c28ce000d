//! A story is blocked, paused, continued, finished.

use piton_model::{Moment, Refusal, State};
use serde_json::{Value as NewValue, json};

use super::draft::{Draft, brief, clean};
use super::verdicts;

/// Records what blocks the story.
pub(super) fn blocked(
    draft: &mut Draft,
    message: &str,
    kind: Option<&str>,
    moment: &Moment,
) -> Result<String, Refusal> {
    if message.trim().is_empty() {
        return Err(Refusal::usage("say what blocks it: --message TEXT"));
    }
    let mut entry = json!({ "message": message });
    if let Some(kind) = kind {
        entry["type"] = kind.into();
    }
    entry["timestamp"] = moment.now.to_string().into();
    entry["by"] = moment.by.as_str().into();
    draft.add_entry("blockedBy", entry)?;
    draft.act(&format!("Blocked: {}", clean(message)));
    Ok(format!("blocked: {}", brief(message)))
}

/// Takes blockers away; where there is none, continues a story that is paused.
pub(super) fn unblocked(draft: &mut Draft, which: Option<&str>) -> Result<String, Refusal> {
    let list = draft.editor.get(&["blockedBy"]).and_then(|list| list.as_array().cloned()).unwrap_or_default();
    if list.is_empty() && which.is_none() && is_paused(draft) {
        return unpause(draft, "Continued after a pause");
    }
    let is_it = |(place, entry): (usize, &NewValue)| match which {
        None => true,
        Some(which) => which == (place + 1).to_string() || entry["message"].as_str() == Some(which),
    };
    let kept: Vec<_> = list.iter().enumerate().filter(|pair| !is_it(*pair)).map(|(_, entry)| entry.clone()).collect();
    if let Some(which) = which.filter(|_| kept.len() == list.len()) {
        return Err(Refusal::missing(format!("nothing is blocked by {which:?}"))
            .hint(format!("there are {} blockers, numbered from 1", list.len())));
    }
    if list.is_empty() {
        return Ok("nothing blocks it".to_owned());
    }
    draft.act("Unblocked");
    let left = kept.len();
    if kept.is_empty() {
        draft.editor.remove(&["blockedBy"]);
        return Ok("unblocked".to_owned());
    }
    draft.editor.set(&["blockedBy"], kept);
    Ok(format!("unblocked, {left} left"))
}

/// Pauses the story; where it stood and why is kept with it.
pub(super) fn paused(draft: &mut Draft, reason: Option<&str>) -> Result<String, Refusal> {
    let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
    pause(draft, reason)?;
    match reason {
        Some(reason) => {
            draft.act(&format!("Paused: {}", clean(reason)));
            Ok(format!("paused: {}", brief(reason)))
        }
        None => {
            draft.act("Paused");
            Ok("paused".to_owned())
        }
    }
}

/// A story has no state for a failure: it is paused until a person has looked at it.
pub(super) fn failed(
    draft: &mut Draft,
    step: Option<&str>,
    message: &str,
    file: Option<&str>,
    line: Option<u64>,
) -> Result<String, Refusal> {
    if message.trim().is_empty() {
        return Err(Refusal::usage("say what failed: --message TEXT"));
    }
    if let Some(step) = step {
        let known = draft.list(&["tasksRemaining"])?.into_iter().chain(draft.list(&["tasksCompleted"])?);
        let known: Vec<_> = known.collect();
        if !known.iter().any(|task| task == step) {
            return Err(Refusal::missing(format!("there is no task {step:?} in {}", draft.name))
                .hint(format!("there are: {}", known.join(", "))));
        }
    }
    let place = match (file, line) {
        (Some(file), Some(line)) => format!(" ({file}:{line})"),
        (Some(file), None) => format!(" ({file})"),
        (None, _) => String::new(),
    };
    let task = step.map(|step| format!("{step}: ")).unwrap_or_default();
    let what = clean(&format!("{task}{}{place}", message.trim()));
    pause(draft, Some(&what))?;
    let stage = draft.stage.unwrap_or(0);
    let action = format!("Stage {stage} ERROR for {}: {what}", draft.story);
    draft.act(&action);
    Ok(format!("paused by an error: {}", brief(&what)))
}

fn pause(draft: &mut Draft, reason: Option<&str>) -> Result<(), Refusal> {
    // A second pause does not hide where the first one came from.
    if draft.editor.string(&["pausedFrom"]).is_none() || !is_paused(draft) {
        let standing = draft.standing().filter(|word| word != "PAUSED");
        let from = standing.unwrap_or_else(|| draft.stage_word());
        draft.editor.set(&["pausedFrom"], from);
    }
    match reason {
        Some(reason) => draft.editor.set(&["pauseReason"], reason),
        None => draft.editor.remove(&["pauseReason"]),
    };
    draft.stand("PAUSED")
}

fn is_paused(draft: &Draft) -> bool {
    draft.unit.as_ref().is_some_and(|unit| matches!(unit.state, State::Paused { .. }))
}

/// Goes on where the story was paused.
fn unpause(draft: &mut Draft, action: &str) -> Result<String, Refusal> {
    let from = draft.editor.string(&["pausedFrom"]).unwrap_or_else(|| draft.stage_word());
    let was_paused = draft.standing().as_deref() == Some("PAUSED");
    let has_mark = draft.editor.get(&["pausedFrom"]).is_some();
    if !was_paused && !has_mark {
        return Err(Refusal::rule("its checkpoint does not fit the lead's state; nobody may guess which is right")
            .hint(format!("see both: piton why {}", draft.name)));
    }
    if was_paused {
        draft.stand(&from)?;
    }
    draft.unpause();
    draft.act(action);
    Ok(format!("continued at {from}"))
}

/// Records that a worker continues the story. When the lead has moved it on, its new stage begins.
pub(super) fn resumed(draft: &mut Draft, moment: &Moment) -> Result<String, Refusal> {
    let name = &draft.name;
    if let Some(unit) = draft.unit.as_ref().filter(|unit| unit.state == State::Blocked) {
        let hint = match draft.standing().as_deref() {
            Some("DONE") => format!("it is called DONE, but is not: piton reopen {name}"),
            _ => format!("when what blocks it is gone: piton unblock {name}"),
        };
        return Err(Refusal::rule(format!("it is blocked: {}", brief(&unit.blockers.join(", ")))).hint(hint));
    }
    if draft.standing().as_deref() == Some("PAUSED") && draft.editor.string(&["pausedFrom"]).is_none() {
        let stage = draft.stage_word();
        return Err(Refusal::rule("it is PAUSED, and nothing says where it came from; a person decides")
            .hint(format!("to go on at {stage}: piton unblock {name}")));
    }
    if is_paused(draft) {
        unpause(draft, "Resumed after a pause")?;
    }
    if let Some(session) = &moment.session {
        draft.editor.set(&["agentId"], session.as_str());
    }
    let standing = draft.standing();
    let by_state = standing.as_deref().and_then(|word| word.strip_prefix("STAGE_")?.parse::<u8>().ok());
    match (draft.stage, by_state) {
        (Some(written), Some(stage)) if written != stage => {
            draft.enter(stage)?;
            draft.act(&format!("Stage {stage} started"));
            Ok(format!("resumed, stage {stage} begins"))
        }
        (stage, _) => Ok(format!("resumed at stage {}", stage.unwrap_or(0))),
    }
}

/// Another worker has the story now.
pub(super) fn taken_over(draft: &mut Draft, agent: &str) -> Result<String, Refusal> {
    let agent = clean(agent);
    if agent.is_empty() {
        return Err(Refusal::usage("say who takes it over: --as AGENT"));
    }
    draft.editor.set(&["agentId"], agent.as_str());
    draft.act(&format!("Taken over by {agent}"));
    Ok(format!("taken over by {}", brief(&agent)))
}

/// Finishes the story: its quality gate has let it pass, and no task remains.
pub(super) fn finished(draft: &mut Draft, moment: &Moment) -> Result<String, Refusal> {
    let name = &draft.name;
    let left = draft.list(&["tasksRemaining"])?;
    let refusal = match (draft.stage, verdicts::word(draft)) {
        _ if !left.is_empty() => Some(
            Refusal::rule(format!("tasks remain: {}", left.join(", ")))
                .hint(format!("piton step {name} done {}", left[0])),
        ),
        (Some(3), Some("PASS" | "CONCERNS" | "WAIVED")) => None,
        (Some(3), Some(_)) => {
            Some(Refusal::rule("the quality gate failed").hint(format!("work on it again: piton stage {name} 2")))
        }
        (Some(3), None) => Some(
            Refusal::rule("the quality gate has not been judged").hint(format!("piton verdict {name} PASS --score N")),
        ),
        (stage, _) => {
            let at = stage.map_or_else(|| "no stage".to_owned(), |stage| format!("stage {stage}"));
            let next = stage.map_or(0, |stage| stage + 1).min(3);
            Some(
                Refusal::rule(format!("it is at {at}, before the quality gate"))
                    .hint(format!("what comes next: piton stage {name} {next}")),
            )
        }
    };
    if let Some(refusal) = refusal {
        return Err(refusal);
    }
    if draft.editor.get(&["finished"]).is_some() && draft.standing().is_none_or(|word| word == "DONE") {
        return Ok("already done".to_owned());
    }
    draft.editor.set(&["finished"], moment.now.to_string());
    let action = format!("Stage 3 COMPLETE for {}. Story DONE", draft.story);
    draft.act(&action);
    draft.stand("DONE")?;
    Ok("done".to_owned())
}

/// Opens a story again that is called done: for the quality gate, or for the stage where it really is.
pub(super) fn reopened(draft: &mut Draft) -> Result<String, Refusal> {
    let is_done = draft.unit.as_ref().is_some_and(|unit| unit.state == State::Done);
    if !is_done && draft.standing().as_deref() != Some("DONE") {
        return Err(Refusal::rule("it is not done").hint(format!("go on with it: piton resume {}", draft.name)));
    }
    draft.editor.remove(&["finished"]);
    if draft.stage == Some(3) && verdicts::word(draft) != Some("FAIL") {
        draft.shelve()?;
        draft.await_results();
    }
    let word = draft.stage_word();
    draft.stand(&word)?;
    draft.act("Reopened");
    Ok(format!("reopened at {word}"))
}
