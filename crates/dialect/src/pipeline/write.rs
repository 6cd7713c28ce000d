//! What an event changes in a story's checkpoint, and where the story stands in the lead's state.

use piton_model::hint::verbs;
use piton_model::{Change, Dialect, Event, Hint, Moment, NotePurpose, Refusal, permit};

use super::layout;
use crate::{Files, Place};

mod draft;
mod found;
mod life;
mod notes;
mod own_stage;
mod stages;
mod start;
mod tasks;
mod verdicts;

#[cfg(test)]
mod tests;

pub use own_stage::{OWN_STAGE, beyond_stage};
pub use stages::{NO_PLANNING, NO_VALIDATION};

pub(super) use draft::{Draft, clean};
pub(super) use stages::{back_to_work, is_refused_plan, judged, may_rework};
pub(super) use tasks::mend;
pub(super) use verdicts::{number, wanted as wanted_verdict, word as verdict_word};

/// The documents whose every version is kept: the story's checkpoint, where it is or will be. The lead's state is
/// shared by all stories.
pub fn documents(place: &Place, _files: &dyn Files) -> Vec<String> {
    vec![path(place)]
}

/// Decides what an event changes. The same files, event and moment give the same change; what would break a rule that
/// is not broken yet is refused.
pub fn record(place: &Place, files: &dyn Files, event: &Event, moment: &Moment) -> Result<Change, Refusal> {
    let mut draft = Draft::open(place, files, moment)?;
    draft.is_taken_up = takes_up(event);
    if let Event::Started(start) = event {
        let summary = start::started(&mut draft, start, moment)?;
        return draft.close(summary);
    }
    draft.require_checkpoint()?;
    // A worker that wrote a later stage by hand left a checkpoint that does not fit the lead's state.
    let is_aligned = own_stage::takes_back(event, moment) && life::is_misfit(&draft);
    if let Some(unit) = draft.unit.as_ref().filter(|_| !is_aligned) {
        permit(Dialect::Pipeline, &draft.name, unit.state.lifecycle(), event)
            .map_err(|refusal| draft.explain(&refusal))?;
    }
    let summary = apply(&mut draft, event, moment)?;
    let next = left_to_record(&draft, event);
    Ok(Change { next, ..draft.close(summary)? })
}

/// What is left to record in the stage, after a step of it. Its end is the worker's, and the next stage the lead's.
fn left_to_record(draft: &Draft, event: &Event) -> Option<Hint> {
    let (Event::StepMoved(_), Ok(tasks)) = (event, draft.tasks()) else { return None };
    match draft.stage {
        Some(0) => Some(verdicts::wanted(&draft.name, Some(0)).to("when all tasks are recorded, score the plan")),
        Some(2) => {
            let task = tasks.open.first()?;
            let done = verbs::STEP.on(&draft.name).word("done").name(task, "TASK");
            Some(done.to(format!("when {} is done", clean(task))))
        }
        _ => None,
    }
}

/// Whether an event takes a story up, so that its pipeline goes on.
fn takes_up(event: &Event) -> bool {
    match event {
        Event::Started(_)
        | Event::StepMoved(_)
        | Event::StageEntered { .. }
        | Event::VerdictGiven(_)
        | Event::Unblocked { .. }
        | Event::Resumed { .. }
        | Event::TakenOver { .. }
        | Event::Restarted { .. }
        | Event::Reopened => true,
        Event::GateJudged(_)
        | Event::CriteriaDropped { .. }
        | Event::Blocked { .. }
        | Event::Paused { .. }
        | Event::Failed { .. }
        | Event::Noted { .. }
        | Event::ExecutionNoted(_)
        | Event::Decided { .. }
        | Event::Beat
        | Event::Finished
        | Event::Repaired
        | Event::BackedUp { .. }
        | Event::HelperStarted { .. }
        | Event::HelperStopped { .. }
        | Event::Marked
        | Event::Checkpointed { .. }
        | Event::Crashed { .. }
        | Event::FilesTouched { .. }
        | Event::ToolFailed { .. } => false,
    }
}

fn apply(draft: &mut Draft, event: &Event, moment: &Moment) -> Result<String, Refusal> {
    match event {
        Event::Started(_) => Err(Refusal::rule("it has begun already")),
        Event::StepMoved(moved) => tasks::moved(draft, moved, moment),
        Event::StageEntered { stage, phase } => stages::entered(draft, stage, phase.as_deref(), moment),
        Event::GateJudged(_) => Err(Refusal::usage("the gates of a story are judged by a verdict")
            .hint(verdicts::wanted(&draft.name, draft.stage))),
        Event::VerdictGiven(verdict) => verdicts::given(draft, verdict),
        Event::Blocked { message, kind } => life::blocked(draft, message, kind.as_deref(), moment),
        Event::Unblocked { which, answer } => {
            let summary = life::unblocked(draft, which.as_deref())?;
            let Some(answer) = answer else { return Ok(summary) };
            let told = notes::noted(draft, answer, NotePurpose::ResumeInstruction, moment)?;
            Ok(format!("{summary}; {told}"))
        }
        Event::Paused { reason } => life::paused(draft, reason.as_deref()),
        Event::Failed { step, message, file, line } => {
            life::failed(draft, step.as_deref(), message, file.as_deref(), *line)
        }
        Event::Noted { text, purpose } => notes::noted(draft, text, *purpose, moment),
        Event::CriteriaDropped { .. } => Err(Refusal::usage("only a task has criteria that its list may drop")),
        Event::ExecutionNoted(_) => Err(Refusal::usage("only a build lists fixes and cleanups")),
        Event::Decided { text, reason } => notes::decided(draft, text, reason.as_deref(), moment),
        Event::Beat => Ok("beat".to_owned()),
        Event::Finished => life::finished(draft, moment),
        Event::Resumed { mode: _ } => life::resumed(draft),
        Event::TakenOver { agent } => life::taken_over(draft, agent),
        Event::Restarted { .. } => start::restarted(draft, moment),
        Event::Reopened => life::reopened(draft),
        Event::Repaired => tasks::repaired(draft),
        Event::Marked => {
            Err(Refusal::usage("the tasks of a story have ids already").hint("only the checkboxes of a plan get ids"))
        }
        Event::Checkpointed { reason, .. } => Ok(format!("checkpoint: {reason}")),
        Event::Crashed { session } => Ok(format!("the session {session} went away without an end")),
        Event::BackedUp { .. }
        | Event::HelperStarted { .. }
        | Event::HelperStopped { .. }
        | Event::FilesTouched { .. }
        | Event::ToolFailed { .. } => Err(Refusal::usage(format!("a story does not record `{}`", event.name()))),
    }
}

/// Where the checkpoint is, or will be. One that lies in a worktree is written at home.
fn path(place: &Place) -> String {
    let own = place.document.as_deref().filter(|path| {
        let is_checkpoint = layout::story_of(path.rsplit('/').next().unwrap_or(path)).is_some();
        match layout::recognise(path) {
            Some((_, layout::File::Checkpoint)) => true,
            Some((_, layout::File::State | layout::File::Stray)) => false,
            None => is_checkpoint,
        }
    });
    own.map_or_else(|| place.path(&layout::path_of(story(place))), str::to_owned)
}

/// The story's id.
fn story(place: &Place) -> &str {
    place.id.last().map_or("", |id| id.as_str())
}
