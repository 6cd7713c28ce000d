//! How a story is continued.

use piton_model::{Moment, Refusal, ResumeAction, ResumeMode, ResumePlan, State, Unit};

use super::write::{Draft, clean, verdict_word, verdicts_example};
use crate::{Files, Place};

/// How a story is continued: its checkpoint is compared with where the lead's state says that it stands.
///
/// Equal: the stage goes on, with the protocol's block. One behind, or back after a FAIL: the state's stage begins
/// fresh. Anything else is refused, because nobody may guess which of the two is right.
pub fn resume(
    place: &Place,
    files: &dyn Files,
    _mode: Option<ResumeMode>,
    moment: &Moment,
) -> Result<ResumePlan, Refusal> {
    let draft = Draft::open(place, files, moment)?;
    let Some(unit) = &draft.unit else {
        return Err(Refusal::missing(format!("there is no story {}", draft.name))
            .hint(format!("start it: piton start {}", draft.name)));
    };
    let (action, stage, mut reasons) = decide(&draft, unit);
    let goes_on = action != ResumeAction::Refuse;
    let is_same_stage = draft.has_checkpoint && draft.stage == Some(stage);
    let agent = draft.editor.string(&["agentId"]).map(|agent| clean(&agent)).filter(|agent| !agent.is_empty());
    let mut action = action;
    if goes_on {
        let worker = format!("story-{}-s{stage}-retry", draft.story);
        match agent.filter(|_| is_same_stage) {
            Some(agent) => {
                reasons.push(format!("ask session {agent} first"));
                reasons.push(format!("if that is refused, a new worker {worker} takes the block"));
            }
            None => {
                action = ResumeAction::Respawn;
                reasons.push(format!("a new worker {worker} is started"));
            }
        }
    }
    let list = |key: &str| draft.editor.strings(&[key]);
    let remaining = list("tasksRemaining").into_iter().chain(list("plannedTasks")).collect();
    Ok(ResumePlan {
        action,
        position: format!("stage {stage}"),
        next: if goes_on { next(&draft, stage, is_same_stage) } else { String::new() },
        done: list("tasksCompleted").into_iter().collect(),
        remaining,
        reasons,
        block: (goes_on && is_same_stage).then(|| block(&draft)),
        instructions: instructions(unit),
        outputs: unit.files.clone(),
    })
}

/// What is done with it, at which stage, and why.
fn decide(draft: &Draft, unit: &Unit) -> (ResumeAction, u8, Vec<String>) {
    let written = draft.stage.unwrap_or(0);
    let refuse = |reasons| (ResumeAction::Refuse, written, reasons);
    let of_state = |word: &str| word.strip_prefix("STAGE_").and_then(|stage| stage.parse::<u8>().ok());
    let standing = draft.standing();
    match &unit.state {
        State::Done => {
            let again = format!("open it again: piton reopen {}", draft.name);
            return refuse(vec![format!("{} already done", unit.id), again]);
        }
        State::Unknown => return refuse(vec!["where it stands is not understood; a person decides".to_owned()]),
        State::Blocked => {
            let why = unit.blockers.iter().map(|blocker| clean(blocker)).collect::<Vec<_>>().join("; ");
            let then = match (standing.as_deref(), draft.has_checkpoint) {
                (Some("DONE"), _) => format!("open it again for what is missing: piton reopen {}", draft.name),
                (_, true) => format!("when what blocks it is gone: piton unblock {}", draft.name),
                (_, false) => format!("see what it waits for: piton why {}", draft.name),
            };
            return refuse(vec![format!("it is blocked: {why}"), then]);
        }
        State::Queued => {
            return refuse(vec!["it has not begun".to_owned(), format!("start it: piton start {}", draft.name)]);
        }
        State::Running | State::Waiting | State::Paused { .. } | State::Failed { .. } => {}
    }
    if draft.has_checkpoint && draft.stage.is_none() {
        return refuse(vec!["its checkpoint is at no stage from 0 to 3".to_owned()]);
    }
    let paused_from = draft.editor.string(&["pausedFrom"]);
    let (stage, mut reasons) = match (standing.as_deref(), &paused_from) {
        (Some("PAUSED") | None, Some(from)) => (of_state(from), vec![format!("it was paused at {}", clean(from))]),
        (Some("PAUSED"), None) => {
            let why = "it is PAUSED, and nothing says where it came from; a person decides".to_owned();
            return refuse(vec![why, format!("piton unblock {}", draft.name)]);
        }
        (Some(word), _) => (of_state(word), Vec::new()),
        (None, None) if draft.has_state() => (None, Vec::new()),
        (None, None) => (draft.stage, vec!["there is no state of the lead; the checkpoint decides".to_owned()]),
    };
    let Some(stage) = stage else {
        return refuse(vec!["where the lead's state has it is not understood".to_owned()]);
    };
    if !draft.has_checkpoint {
        reasons.push(format!("it has no checkpoint; stage {stage} begins fresh"));
        return (ResumeAction::Respawn, stage, reasons);
    }
    let is_rework = stage == 2 && written == 3 && verdict_word(draft) == Some("FAIL");
    if written == stage {
        if standing.is_some() {
            reasons.push(format!("checkpoint and state are both at stage {stage}"));
        }
        (ResumeAction::Continue, stage, reasons)
    } else if written + 1 == stage || is_rework {
        reasons.push(format!("the checkpoint is of stage {written}; stage {stage} begins fresh"));
        (ResumeAction::Respawn, stage, reasons)
    } else {
        refuse(vec![format!("its checkpoint is at stage {written}, but the lead's state says STAGE_{stage}")])
    }
}

/// The next order, with the command that records it.
fn next(draft: &Draft, stage: u8, is_same_stage: bool) -> String {
    let name = &draft.name;
    let verdict = verdict_word(draft).filter(|_| is_same_stage);
    let remaining = draft.editor.strings(&["tasksRemaining"]);
    let has_score = is_same_stage && draft.editor.get(&["planScore"]).is_some();
    let judge = format!("piton verdict {name} {}", verdicts_example(Some(stage)));
    match (stage, verdict) {
        (0, _) if has_score => format!("the story is planned: piton stage {name} 1"),
        (0, _) => format!("plan the tasks and score the plan: {judge}"),
        (1, Some("GO")) => format!("the story is validated: piton stage {name} 2"),
        (1, _) => format!("validate the story: {judge}"),
        (2, _) => match remaining.first() {
            Some(task) => {
                format!("go on with {}; when it is done: piton step {name} done {}", clean(task), clean(task))
            }
            None => format!("no task remains: piton stage {name} 3"),
        },
        (3, Some("FAIL")) => format!("work on what failed: piton stage {name} 2"),
        (3, Some("PASS" | "CONCERNS" | "WAIVED")) => format!("the quality gate let it pass: piton finish {name}"),
        _ => format!("judge the quality: {judge}"),
    }
}

/// The protocol's CHECKPOINT_RESUME block. Each of its lines stays one line.
fn block(draft: &Draft) -> String {
    let joined = |key: &str| clean(&draft.editor.strings(&[key]).join(", "));
    let last = draft.editor.string(&["lastAction"]).map(|last| clean(&last)).unwrap_or_default();
    format!(
        "CHECKPOINT RESUME — DO NOT re-execute completed work.\nTasks already completed: {}\nTasks remaining: {}\n\
         Last action: {last}\nContinue from remaining tasks only.",
        joined("tasksCompleted"),
        joined("tasksRemaining"),
    )
}

fn instructions(unit: &Unit) -> Vec<String> {
    unit.notes.iter().filter(|note| note.label == "resume instructions").map(|note| note.text.clone()).collect()
}
