//! What an agent does next, after a step or a stage: each answer leads to the next, up to the end of the feature.

use piton_model::hint::verbs;
use piton_model::{Event, Hint, Moment};

use super::steps::{list, said_by, short};
use super::{Spot, numbers};
use crate::crew::wire;
use crate::json::Editor;

/// What comes after an event that moved the work: the first open step, the next stage, or the end. Nothing while the
/// agent is blocked.
pub(super) fn after(editor: &Editor, spot: &Spot, event: &Event, moment: &Moment) -> Option<Hint> {
    let moves = matches!(event, Event::StepMoved(_) | Event::StageEntered { .. });
    (moves && editor.string(&["status"]).as_deref() == Some("IN_PROGRESS")).then(|| hint(editor, spot, moment))
}

fn hint(editor: &Editor, spot: &Spot, moment: &Moment) -> Hint {
    let unit = &spot.unit;
    if let Some(step) = list(editor, "next_steps").iter().find_map(said_by) {
        let number = numbers::word(editor, &step, moment.attempt);
        let done = verbs::STEP.on(unit).word("done").name(&number, "STEP");
        return done.to(format!("when {:?} is done", short(&step)));
    }
    match wire::stage_after(&editor.string(&["stage"]).unwrap_or_default()) {
        Some(stage) => verbs::STAGE.on(unit).word(stage).to("no step is open; enter the next stage"),
        None => verbs::FINISH.on(unit).to("no step is open; when all of it is committed"),
    }
}
