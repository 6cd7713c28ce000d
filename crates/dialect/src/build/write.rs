//! What an event changes in a build's checkpoint.

use piton_model::{Change, Dialect, Event, Moment, NotePurpose, Refusal, permit};

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
    permit(Dialect::Build, &draft.name, draft.unit.state.lifecycle(), event)
        .map_err(|refusal| draft.explain(refusal, event))?;
    let summary = apply(&mut draft, event, moment)?;
    draft.close(place, files, summary)
}

fn apply(draft: &mut Draft, event: &Event, moment: &Moment) -> Result<String, Refusal> {
    match event {
        Event::Started(_) => Err(draft.explain(Refusal::rule("there is a checkpoint already"), event)),
        Event::StepMoved(moved) => steps::moved(draft, moved, moment),
        Event::StageEntered { stage, phase } => life::phase(draft, stage, phase.as_deref()),
        Event::GateJudged(judged) => gates::judged(draft, judged, moment),
        Event::VerdictGiven(verdict) => review::given(draft, verdict, moment),
        Event::Blocked { message, kind } => life::blocked(draft, message, kind.as_deref(), moment),
        Event::Unblocked { which, answer } => {
            let done = life::unblocked(draft, which.as_deref())?;
            if let Some(answer) = answer {
                notes::noted(draft, answer, NotePurpose::ResumeInstruction, moment)?;
            }
            Ok(done)
        }
        Event::Paused { reason } => life::paused(draft, reason.as_deref()),
        Event::Failed { step, message, file, line } => {
            let failure = steps::Failure { message, file: file.as_deref(), line: *line };
            steps::failed(draft, step.as_slice(), &failure)
        }
        Event::Noted { text, purpose } => notes::noted(draft, text, *purpose, moment),
        Event::Decided { text, reason } => notes::decided(draft, text, reason.as_deref(), moment),
        Event::Beat => Ok("beat".to_owned()),
        Event::Finished => life::finished(draft),
        Event::Resumed { mode } => life::resumed(draft, *mode),
        Event::Reopened => life::reopened(draft),
        Event::Restarted { .. } => restart::restarted(draft),
        Event::TakenOver { .. } => {
            let hint = format!("go on with it: piton resume {}", draft.name);
            Err(Refusal::rule("a build has no agent of its own that another could replace").hint(hint))
        }
        Event::Repaired => life::repaired(draft),
        Event::Marked => Err(Refusal::usage("the workstreams of a build have ids already")
            .hint("only the checkboxes of a plan get ids: piton plan mark plan:ID")),
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
    place.document.clone().unwrap_or_else(|| place.path(&layout::path_of(id(place))))
}

/// The PRD's id.
pub(super) fn id(place: &Place) -> &str {
    place.id.last().map_or("", |id| id.as_str())
}

pub(super) fn no_checkpoint(place: &Place) -> Refusal {
    let id = id(place);
    let hint = format!("start it: piton start build:{id} --title TITLE --spec FILE");
    Refusal::missing(format!("there is no checkpoint of build:{id}")).hint(hint)
}
