//! What an event changes in a build's checkpoint.

use piton_model::hint::verbs;
use piton_model::{
    BuildStatus, Change, Dialect, Event, Lifecycle, Moment, NotePurpose, Refusal, StepTo, is_same_gate, permit,
};

use super::checkpoint::Bucket;
use super::layout;
use crate::{Files, Place};

mod draft;
mod gates;
mod life;
mod notes;
mod restart;
mod review;
mod start;
mod steps;

#[cfg(test)]
mod tests;

pub(super) use draft::Draft;
pub(super) use gates::due;
pub(super) use life::refuse_when_blocked;

/// The documents whose every version is kept: the checkpoint, where it is or will be.
pub fn documents(place: &Place, _files: &dyn Files) -> Vec<String> {
    vec![path(place)]
}

/// Decides what an event changes. The same files, event and moment give the same change; what would break a rule of
/// the checkpoint that is not broken yet is refused.
pub fn record(place: &Place, files: &dyn Files, event: &Event, moment: &Moment) -> Result<Change, Refusal> {
    let Some(bytes) = files.read(&path(place))? else {
        return match event {
            Event::Started(start) => start::start(place, files, start, moment),
            _ => Err(no_checkpoint(place)),
        };
    };
    let mut draft = Draft::open(place, files, &path(place), &bytes, moment)?;
    let summary = decide(&mut draft, event, moment)?;
    draft.close(place, files, summary)
}

fn decide(draft: &mut Draft, event: &Event, moment: &Moment) -> Result<String, Refusal> {
    let lifecycle = draft.unit.state.lifecycle();
    if lifecycle == Lifecycle::Done && repeats(draft, event) {
        return apply(draft, event, moment);
    }
    if lifecycle == Lifecycle::Done && outgrows(draft, event) {
        // What is judged now was no part of the build when it was completed.
        gates::add_missing(draft)?;
        draft.doubt_completion();
        return apply(draft, event, moment);
    }
    permit(Dialect::Build, &draft.name, lifecycle, event).map_err(|refusal| draft.explain(refusal, event))?;
    if lifecycle == Lifecycle::Blocked {
        // What blocks a build does not add arrows to its status.
        let beneath = draft.trail().last().map_or(Lifecycle::Unknown, |status| lifecycle_of(*status));
        let is_answer = matches!(event, Event::Unblocked { .. } | Event::Reopened | Event::Noted { .. });
        if !is_answer {
            permit(Dialect::Build, &draft.name, beneath, event).map_err(|refusal| draft.explain(refusal, event))?;
        }
    }
    apply(draft, event, moment)
}

/// Whether an event says of a complete build what is recorded already: a lead that died in between records it again.
fn repeats(draft: &Draft, event: &Event) -> bool {
    match event {
        Event::StepMoved(moved) => {
            moved.to == StepTo::Done && moved.steps.iter().all(|id| draft.bucket_of(id) == Some(Bucket::Completed))
        }
        Event::GateJudged(judged) => judged.passed && gates::have_passed(draft, judged),
        _ => false,
    }
}

/// Whether an event shows that a complete build is not complete any more: its specification has got a gate, or a gate's
/// command refuses what it passed before.
fn outgrows(draft: &Draft, event: &Event) -> bool {
    match event {
        Event::Reopened => !gates::missing(draft).is_empty(),
        Event::GateJudged(judged) => {
            let missing = gates::missing(draft);
            let is_new = |name: &String| missing.iter().any(|known| is_same_gate(known, name));
            judged.names.iter().any(is_new) || !judged.passed && judged.evidence.is_some()
        }
        _ => false,
    }
}

fn lifecycle_of(status: BuildStatus) -> Lifecycle {
    match status {
        BuildStatus::Initialized => Lifecycle::Queued,
        BuildStatus::InProgress => Lifecycle::Running,
        BuildStatus::Paused => Lifecycle::Paused,
        BuildStatus::Failed => Lifecycle::Failed,
        BuildStatus::Complete => Lifecycle::Done,
    }
}

fn apply(draft: &mut Draft, event: &Event, moment: &Moment) -> Result<String, Refusal> {
    match event {
        Event::Started(_) => Err(draft.explain(Refusal::rule("there is a checkpoint already"), event)),
        Event::StepMoved(moved) => steps::moved(draft, moved, moment),
        Event::StageEntered { stage, phase } => life::phase(draft, stage, phase.as_deref()),
        Event::GateJudged(judged) => gates::judged(draft, judged, moment),
        Event::CriteriaDropped { .. } => Err(Refusal::usage("only a task has criteria that its list may drop")),
        Event::VerdictGiven(verdict) => review::given(draft, verdict, moment),
        Event::Blocked { message, kind } => life::blocked(draft, message, kind.as_deref(), moment),
        Event::Unblocked { which, answer } => {
            let summary = life::unblocked(draft, which.as_deref(), moment)?;
            let Some(answer) = answer else { return Ok(summary) };
            let told = notes::noted(draft, answer, NotePurpose::ResumeInstruction, moment)?;
            Ok(format!("{summary}; {told}"))
        }
        Event::Paused { reason } => life::paused(draft, reason.as_deref()),
        Event::Failed { step, message, file, line } => {
            let failure = steps::Failure { message, file: file.as_deref(), line: *line };
            steps::failed(draft, step.as_slice(), &failure)
        }
        Event::Noted { text, purpose } => notes::noted(draft, text, *purpose, moment),
        Event::ExecutionNoted(note) => notes::execution(draft, note),
        Event::Decided { text, reason } => notes::decided(draft, text, reason.as_deref(), moment),
        Event::Beat => Ok("beat".to_owned()),
        Event::Finished => life::finished(draft),
        Event::Resumed { mode } => life::resumed(draft, *mode),
        Event::Reopened => life::reopened(draft),
        Event::Restarted { .. } => restart::restarted(draft),
        Event::TakenOver { .. } => {
            let hint = verbs::RESUME.on(&draft.name).to("go on with it");
            Err(Refusal::rule("a build has no agent of its own that another could replace").hint(hint))
        }
        Event::Repaired => life::repaired(draft),
        Event::Marked => {
            Err(Refusal::usage("the workstreams of a build have ids already")
                .hint("only the checkboxes of a plan get ids"))
        }
        Event::Checkpointed { reason, .. } => Ok(format!("checkpoint: {reason}")),
        Event::Crashed { session } => Ok(format!("the session {session} went away without an end")),
        Event::BackedUp { .. }
        | Event::HelperStarted { .. }
        | Event::HelperStopped { .. }
        | Event::FilesTouched { .. }
        | Event::ToolFailed { .. } => Err(Refusal::usage(format!("a build does not record `{}`", event.name()))),
    }
}

/// Where the checkpoint is, or will be.
pub(super) fn path(place: &Place) -> String {
    place.document.clone().unwrap_or_else(|| layout::path_of(&place.base, id(place)))
}

/// The PRD's id.
pub(super) fn id(place: &Place) -> &str {
    place.id.last().map_or("", |id| id.as_str())
}

pub(super) fn no_checkpoint(place: &Place) -> Refusal {
    let name = place.unit(Dialect::Build);
    Refusal::missing(format!("there is no checkpoint of {name}"))
}
