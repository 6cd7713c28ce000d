//! How a worker left a story, for the lead that started it.

use std::collections::BTreeMap;

use piton_model::fleet::{StageResult, Standing};
use piton_model::hint::verbs;
use piton_model::{Moment, State};

use super::judge::{Judgement, judge_stage, open_tasks};
use super::tasks::StoryTask;
use super::wire;
use super::write::{Draft, clean, is_refused_plan, verdict_word};
use crate::{Files, Place};

/// What a story's documents say about the stage that a worker was started for.
///
/// The judgement is the one that verbs and `check` make: what is missing or out of range leaves the stage incomplete.
pub fn standing(place: &Place, files: &dyn Files, stage: u8, moment: &Moment) -> Standing {
    let draft = match Draft::open(place, files, moment) {
        Ok(draft) => draft,
        Err(refusal) => return Standing::Incomplete { missing: vec![clean(&refusal.message)] },
    };
    let (Some(unit), Some(checkpoint)) = (&draft.unit, &draft.checkpoint) else { return Standing::Open };
    let is_called_done = draft.standing().as_deref() == Some("DONE");
    match &unit.state {
        State::Paused { reason } => {
            let reason = reason.as_deref().map_or_else(|| "the story is PAUSED".to_owned(), clean);
            return Standing::Halted { reason };
        }
        State::Blocked if is_called_done || !checkpoint.blockers.is_empty() => {
            return Standing::Halted { reason: clean(&unit.blockers.join("; ")) };
        }
        State::Failed { error } => return Standing::Halted { reason: clean(error) },
        State::Unknown | State::Blocked | State::Queued | State::Running | State::Waiting | State::Done => {}
    }
    if let Some(word) = draft.standing().filter(|word| wire::STORY_STATE.read(word).word().is_none()) {
        let unblock = verbs::UNBLOCK.on(&draft.name);
        let reason = unblock.to(format!("the lead's state says {:?}; go on with", clean(&word)));
        return Standing::Halted { reason: reason.to_string() };
    }
    match checkpoint.stage {
        Some(written) if written == stage => at_stage(&draft),
        Some(written) if written > stage || (stage == 3 && written == 2) => moved(&draft, stage, written),
        Some(written) => {
            let missing = format!("the checkpoint of stage {stage}; it is at stage {written}");
            Standing::Incomplete { missing: vec![missing] }
        }
        None => Standing::Incomplete { missing: vec!["`stage` (0 to 3)".to_owned()] },
    }
}

fn at_stage(draft: &Draft) -> Standing {
    let Some(checkpoint) = &draft.checkpoint else { return Standing::Open };
    match judge_stage(checkpoint) {
        Judgement::Complete(result) => Standing::Complete(cleaned(result)),
        Judgement::Incomplete(missing) => {
            Standing::Incomplete { missing: missing.iter().map(|it| clean(it)).collect() }
        }
        Judgement::NoTasks => no_tasks(draft),
    }
}

/// The worker took its story to another stage by itself. It counts where nothing is left behind.
fn moved(draft: &Draft, stage: u8, to: u8) -> Standing {
    let Some(checkpoint) = &draft.checkpoint else { return Standing::Open };
    let open: Vec<String> = open_tasks(checkpoint).map(|it| clean(&it)).collect();
    let has_failed = draft.editor.string(&["stageResults", "stage3", "verdict"]).as_deref() == Some("FAIL");
    match to {
        _ if checkpoint.tasks.is_empty() => no_tasks(draft),
        3 if !open.is_empty() => Standing::Incomplete { missing: open },
        2 if stage == 3 && open.is_empty() && !has_failed => {
            let missing = "the checkpoint of stage 3; it is at stage 2, and nothing failed".to_owned();
            Standing::Incomplete { missing: vec![missing] }
        }
        // The verdict is the same as one that the lead takes the story back for, and is counted with those.
        2 if stage == 3 && has_failed => {
            let issues = draft.editor.string(&["stageResults", "stage3", "issues"]).unwrap_or_default();
            Standing::Complete(StageResult::Failed { issues: clean(&issues) })
        }
        _ => Standing::Complete(StageResult::Moved { to }),
    }
}

fn no_tasks(draft: &Draft) -> Standing {
    let refusal = draft.no_tasks(draft.stage.map_or(2, |stage| (stage + 1).min(3)));
    // A lead pauses the story, and from there it can only be planned again.
    Standing::Halted { reason: format!("{}; {}", refusal.message, draft.plan_again()) }
}

/// Texts of a worker stand in one line.
fn cleaned(result: StageResult) -> StageResult {
    match result {
        StageResult::NoGo { reason } => StageResult::NoGo { reason: clean(&reason) },
        StageResult::Failed { issues } => StageResult::Failed { issues: clean(&issues) },
        StageResult::Planned { .. }
        | StageResult::Go { .. }
        | StageResult::Executed
        | StageResult::Passed { .. }
        | StageResult::Done
        | StageResult::Moved { .. } => result,
    }
}

/// The stage that a story's checkpoint is at; nothing when there is no checkpoint that can be read.
pub fn stage_of(place: &Place, files: &dyn Files, moment: &Moment) -> Option<u8> {
    Draft::open(place, files, moment).ok().filter(|draft| draft.has_checkpoint)?.stage
}

/// Whether a stage has to be entered before a worker starts at it: the checkpoint is at another one, or holds a verdict
/// already: a NO-GO that the worker is to answer, or what was said before it began.
pub fn must_enter(place: &Place, files: &dyn Files, stage: u8, moment: &Moment) -> bool {
    let Ok(draft) = Draft::open(place, files, moment) else { return false };
    let is_answered = stage == 1 && verdict_word(&draft) == Some("NO-GO");
    let is_judged = matches!(stage, 1 | 3) && matches!(at_stage(&draft), Standing::Complete(_));
    let is_poor =
        stage == 0 && draft.checkpoint.as_ref().is_some_and(|checkpoint| is_refused_plan(&judge_stage(checkpoint)));
    draft.stage.is_some_and(|written| written != stage || is_answered || is_judged || is_poor)
}

/// Whether only recorded versions know the story's plan: its checkpoint was written by hand since.
pub fn lacks_plan(place: &Place, files: &dyn Files, moment: &Moment) -> bool {
    let draft = Draft::open(place, files, moment).ok();
    let checkpoint = draft.and_then(|draft| draft.checkpoint);
    checkpoint.is_some_and(|checkpoint| !checkpoint.has_plan && !checkpoint.tasks.is_empty())
}

/// The story's tasks, with title and description: what is done, what is open, what is left out.
pub fn story_tasks(place: &Place, files: &dyn Files, moment: &Moment) -> Vec<StoryTask> {
    let tasks = Draft::open(place, files, moment).ok().and_then(|draft| draft.tasks().ok());
    tasks.map(|tasks| tasks.list().collect()).unwrap_or_default()
}

/// What each stage resulted in, as the checkpoint has it: for the record of a story whose lead forgot it or paused it.
pub fn stage_results(place: &Place, files: &dyn Files, moment: &Moment) -> BTreeMap<u8, String> {
    let mut results = BTreeMap::new();
    let Ok(draft) = Draft::open(place, files, moment) else { return results };
    for stage in 0..=3u8 {
        let own = draft.stage == Some(stage);
        let key = format!("stage{stage}");
        let value = |name: &str| match own && draft.editor.get(&[name]).is_some() {
            true => draft.editor.get(&[name]),
            false => draft.editor.get(&["stageResults", &key, name]),
        };
        let text = |name: &str| value(name).and_then(|value| value.as_str().map(clean)).unwrap_or_default();
        let number = |name: &str| value(name).filter(|value| value.is_number()).map(|value| value.to_string());
        let verdict = wire::VERDICT.read(&text("verdict")).word();
        let scored = |word: &str, what: &str, score: Option<String>| match score {
            Some(score) => format!("{word}, {what} {score}"),
            None => word.to_owned(),
        };
        let result = match (stage, verdict) {
            (0, _) => number("planScore").map(|score| format!("planned, score {score}")),
            (1, Some("GO")) => Some(scored("GO", "readiness", number("readiness"))),
            // Stage 2 has no field of its own: the quality is judged when every task is done.
            (2, _) if draft.stage == Some(3) => {
                let tasks = draft.tasks().unwrap_or_default();
                (!tasks.is_empty() && tasks.open.is_empty()).then(|| "Done".to_owned())
            }
            (1, Some("NO-GO")) => Some(format!("NO-GO: {}", text("reason"))),
            (3, Some("FAIL")) => Some(format!("FAIL: {}", text("issues"))),
            (3, Some(word)) => Some(scored(word, "quality", number("qualityScore"))),
            _ => None,
        };
        results.extend(result.map(|result| (stage, result)));
    }
    results
}
