//! How a story is continued.

use piton_model::fleet::StageResult;
use piton_model::hint::verbs;
use piton_model::{Hint, Moment, Refusal, ResumeAction, ResumeMode, ResumePlan, State, Unit};

use super::judge::Judgement;
use super::tasks::Tasks;
use super::write::{Draft, back_to_work, clean, judged, may_rework, mend, verdict_word, wanted_verdict};
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
        return Err(Refusal::missing(format!("there is no story {}", draft.name)).hint(draft.start_hint()));
    };
    let tasks = draft.tasks()?;
    let (action, stage, mut reasons) = decide(&draft, unit, &tasks);
    let goes_on = action != ResumeAction::Refuse;
    let is_same_stage = draft.has_checkpoint && draft.stage == Some(stage);
    let agent = draft.editor.string(&["agentId"]).map(|agent| clean(&agent)).filter(|agent| !agent.is_empty());
    let mut action = action;
    if goes_on {
        let worker = format!("story-{}-s{stage}-retry", draft.story);
        match agent.filter(|_| is_same_stage) {
            Some(agent) => {
                reasons.push(format!("ask session {agent} first").into());
                reasons.push(format!("if that is refused, a new worker {worker} takes the block").into());
            }
            None => {
                action = ResumeAction::Respawn;
                reasons.push(format!("a new worker {worker} is started").into());
            }
        }
    }
    Ok(ResumePlan {
        action,
        position: format!("stage {stage}"),
        next: if goes_on { next(&draft, &tasks, stage, is_same_stage) } else { Hint::text("") },
        done: tasks.done.iter().collect(),
        remaining: tasks.open.iter().collect(),
        reasons,
        block: (goes_on && is_same_stage).then(|| block(&draft, &tasks)),
        instructions: instructions(unit),
        outputs: unit.files.clone(),
    })
}

/// The stage at which a story that has begun goes on, by its checkpoint and the lead's state; nothing when it cannot.
pub fn continues_at(place: &Place, files: &dyn Files, moment: &Moment) -> Option<u8> {
    let draft = Draft::open(place, files, moment).ok()?;
    let tasks = draft.tasks().ok()?;
    let (action, stage, _) = decide(&draft, draft.unit.as_ref()?, &tasks);
    (action != ResumeAction::Refuse).then_some(stage)
}

/// The protocol's CHECKPOINT_RESUME block for a worker that continues a stage; nothing when there is no checkpoint.
pub fn resume_block(place: &Place, files: &dyn Files, moment: &Moment) -> Option<String> {
    let draft = Draft::open(place, files, moment).ok().filter(|draft| draft.has_checkpoint)?;
    Some(block(&draft, &draft.tasks().ok()?))
}

/// What is done with it, at which stage, and why.
fn decide(draft: &Draft, unit: &Unit, tasks: &Tasks) -> (ResumeAction, u8, Vec<Hint>) {
    let written = draft.stage.unwrap_or(0);
    let refuse = |reasons| (ResumeAction::Refuse, written, reasons);
    let of_state = |word: &str| word.strip_prefix("STAGE_").and_then(|stage| stage.parse::<u8>().ok());
    let standing = draft.standing();
    match &unit.state {
        State::Done => {
            let again = match draft.stage == Some(3) && tasks.is_empty() {
                true => draft.plan_again(),
                false => verbs::REOPEN.on(&draft.name).to("open it again"),
            };
            return refuse(vec![format!("{} already done", unit.id).into(), again]);
        }
        State::Unknown => {
            let word = standing.map_or_else(|| "nothing of it".to_owned(), |word| format!("{:?}", clean(&word)));
            let why = format!("the lead's state says {word}, which no rule understands; a person decides");
            return refuse(vec![why.into(), take_up(draft)]);
        }
        State::Blocked => {
            let why = unit.blockers.iter().map(|blocker| clean(blocker)).collect::<Vec<_>>().join("; ");
            let then = match draft.has_checkpoint {
                true if draft.stage == Some(3) && tasks.is_empty() => draft.plan_again(),
                true => verbs::UNBLOCK.on(&draft.name).to("when what blocks it is gone"),
                false => verbs::WHY.on(&draft.name).to("see what it waits for"),
            };
            return refuse(vec![format!("it is blocked: {why}").into(), then]);
        }
        State::Queued => {
            return refuse(vec!["it has not begun".into(), begin(draft, unit)]);
        }
        State::Running | State::Waiting | State::Paused { .. } | State::Failed { .. } => {}
    }
    if draft.checkpoint.as_ref().is_some_and(|checkpoint| !checkpoint.blockers.is_empty()) {
        let why = clean(&unit.blockers.join("; "));
        let then = verbs::UNBLOCK.on(&draft.name).to("when what blocks it is gone");
        return refuse(vec![format!("it is blocked: {why}").into(), then]);
    }
    if draft.has_checkpoint && draft.stage.is_none() {
        return refuse(vec!["its checkpoint is at no stage from 0 to 3".into()]);
    }
    let paused_from = draft.editor.string(&["pausedFrom"]);
    let (stage, mut reasons) = match (standing.as_deref(), &paused_from) {
        (Some("PAUSED") | None, Some(from)) => {
            (of_state(from), vec![format!("it was paused at {}", clean(from)).into()])
        }
        (Some("PAUSED"), None) if !draft.has_checkpoint => {
            return refuse(vec!["it is PAUSED and has not begun".into(), begin(draft, unit)]);
        }
        (Some("PAUSED"), None) => {
            let why = "it is PAUSED, and nothing says where it came from; a person decides".to_owned();
            return refuse(vec![why.into(), take_up(draft)]);
        }
        (Some(word), _) => (of_state(word), Vec::new()),
        (None, None) if draft.has_state() => (None, Vec::new()),
        (None, None) => (draft.stage, vec!["there is no state of the lead; the checkpoint decides".into()]),
    };
    let Some(stage) = stage else {
        return refuse(vec!["where the lead's state has it is not understood".into(), take_up(draft)]);
    };
    if !draft.has_checkpoint && stage == 3 {
        let why = "it has no checkpoint, so nothing says which of its tasks are done".to_owned();
        return refuse(vec![why.into(), draft.start_hint()]);
    }
    if !draft.has_checkpoint {
        reasons.push(format!("it has no checkpoint; stage {stage} begins fresh").into());
        return (ResumeAction::Respawn, stage, reasons);
    }
    let is_rework = stage == 2 && written == 3 && verdict_word(draft) == Some("FAIL");
    if written != stage && written + 1 != stage && !is_rework {
        let why = format!("its checkpoint is at stage {written}, but the lead's state says STAGE_{stage}");
        return refuse(vec![why.into(), take_up(draft)]);
    }
    if stage >= 2 && tasks.is_empty() {
        let refusal = draft.no_tasks(stage);
        return refuse([refusal.message.into()].into_iter().chain(refusal.hints).collect());
    }
    let waits = stage == 3 && !tasks.open.is_empty();
    let is_equal = written == stage && standing.is_some();
    let stage = if waits { 2 } else { stage };
    if waits {
        reasons.push(format!("stage 3 waits for tasks that are open: {}", clean(&tasks.open.join(", "))).into());
    } else if is_equal {
        reasons.push(format!("checkpoint and state are both at stage {stage}").into());
    }
    if written == stage {
        return (ResumeAction::Continue, stage, reasons);
    }
    reasons.push(format!("the checkpoint is of stage {written}; stage {stage} begins fresh").into());
    (ResumeAction::Respawn, stage, reasons)
}

/// How a story that cannot be worked on as it stands goes on.
pub(super) fn way_on(draft: &Draft) -> Hint {
    let (Some(unit), Ok(tasks)) = (&draft.unit, draft.tasks()) else { return draft.start_hint() };
    let (action, _, reasons) = decide(draft, unit, &tasks);
    let command = reasons.into_iter().find(|reason| !reason.commands.is_empty());
    match (action, command) {
        (ResumeAction::Refuse, Some(command)) => command,
        (ResumeAction::Refuse, None) => verbs::WHY.on(&draft.name).to("see why"),
        _ => verbs::RESUME.on(&draft.name).to("go on with it"),
    }
}

/// How a story begins that has not begun; one that waits for others does not yet.
fn begin(draft: &Draft, unit: &Unit) -> Hint {
    match unit.blockers.is_empty() {
        true => draft.start_hint(),
        false => verbs::WHY.on(&draft.name).to("see what it waits for"),
    }
}

/// How a person takes a story up where no rule decides.
fn take_up(draft: &Draft) -> Hint {
    match (draft.has_checkpoint, draft.stage) {
        (true, Some(stage)) => {
            verbs::UNBLOCK.on(&draft.name).to(format!("to go on from its checkpoint, at stage {stage}"))
        }
        (true, None) => verbs::RESTART.on(&draft.name).to("to begin it again"),
        (false, _) => draft.start_hint(),
    }
}

/// The next order, with the command that records it. What the checkpoint says about its own stage counts while the story
/// is at it.
pub(super) fn next(draft: &Draft, tasks: &Tasks, stage: u8, is_same_stage: bool) -> Hint {
    let name = &draft.name;
    let judge = wanted_verdict(name, Some(stage));
    let plan = verbs::STEP.on(name).word("begin").fill("TASK").filled("--title", "TEXT");
    let result = match judged(draft) {
        Judgement::Complete(result) if is_same_stage => Some(result),
        Judgement::Complete(_) | Judgement::Incomplete(_) | Judgement::NoTasks => None,
    };
    match (stage, result) {
        (0, _) if tasks.is_empty() => plan.filled("--description", "TEXT").to("plan the tasks"),
        (0, Some(StageResult::Planned { score })) if score >= 2.0 => {
            verbs::STAGE.on(name).word("1").to("the story is planned")
        }
        (0, _) => judge.to("score the plan"),
        (1, Some(StageResult::Go { .. })) => verbs::STAGE.on(name).word("2").to("the story is validated"),
        (1, Some(StageResult::NoGo { .. })) => verbs::STAGE.on(name).word("1").to("validate the story again"),
        (1, _) => judge.to("validate the story"),
        (2, _) if tasks.is_empty() => plan.to("name its tasks"),
        (2, result) => match (tasks.open.first(), result) {
            (Some(task), _) => verbs::STEP
                .on(name)
                .word("done")
                .name(task, "STEP")
                .to(format!("go on with {}; when it is done", clean(task))),
            (None, Some(_)) => verbs::STAGE.on(name).word("3").to("no task remains"),
            (None, None) => mend(draft),
        },
        _ if !tasks.open.is_empty() => verbs::STAGE.on(name).word("2").to("do the tasks that are open"),
        // Paused is what it is already: who takes it up corrects it and judges it anew.
        (_, Some(StageResult::Failed { .. })) if is_paused(draft) && !may_rework(draft) => {
            judge.to("work on what failed, commit it, and judge the quality again")
        }
        (_, Some(StageResult::Failed { .. })) => back_to_work(draft).to("work on what failed"),
        (_, Some(StageResult::Passed { .. })) => verbs::FINISH.on(name).to("the quality gate let it pass"),
        _ => judge.to("judge the quality"),
    }
}

fn is_paused(draft: &Draft) -> bool {
    draft.unit.as_ref().is_some_and(|unit| matches!(unit.state, State::Paused { .. }))
}

/// The protocol's CHECKPOINT_RESUME block. Each of its lines stays one line. Where tasks are executed, a planned one
/// that a worker dropped from both lists remains; elsewhere the lists are the checkpoint's own.
fn block(draft: &Draft, tasks: &Tasks) -> String {
    let listed = |key: &str| draft.editor.strings(&[key]);
    let (done, left) = match draft.stage {
        Some(2 | 3) => (tasks.done.clone(), tasks.open.clone()),
        _ => (listed("tasksCompleted"), listed("tasksRemaining")),
    };
    let joined = |ids: &[String]| clean(&ids.join(", "));
    let last = draft.editor.string(&["lastAction"]).map(|last| clean(&last)).unwrap_or_default();
    format!(
        "CHECKPOINT RESUME — DO NOT re-execute completed work.\nTasks already completed: {}\nTasks remaining: {}\n\
         Last action: {last}\nContinue from remaining tasks only.",
        joined(&done),
        joined(&left),
    )
}

fn instructions(unit: &Unit) -> Vec<String> {
    unit.notes.iter().filter(|note| note.label == "resume instructions").map(|note| note.text.clone()).collect()
}
