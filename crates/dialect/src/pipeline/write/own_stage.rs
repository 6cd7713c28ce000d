//! A stage's result is the word of the worker that was started for that stage.

use piton_model::{Event, Moment, Refusal};

use super::draft::Draft;
use super::stages::{is_lead, parse_stage};
use super::verdicts::stage_of_word;

/// What a lead says of a story whose worker wrote a later stage than its own.
pub const OWN_STAGE: &str = "Taken back to the stage of its worker";

/// Why the worker of a stage may not record an event; nothing when it may. Back from a failed quality gate it may go.
pub fn beyond_stage(event: &Event, own: u8) -> Option<String> {
    let stage = match event {
        Event::Finished => return Some("the lead finishes a story, when its work is merged".to_owned()),
        Event::StageEntered { stage, .. } => parse_stage(stage).ok()?,
        Event::VerdictGiven(verdict) => stage_of_word(&verdict.word)?,
        _ => return None,
    };
    (stage > own).then(|| format!("stage {stage} has a worker of its own; you are the worker of stage {own}"))
}

/// Whether a lead takes a story back to the stage of its worker.
pub(super) fn takes_back(event: &Event, moment: &Moment) -> bool {
    matches!(event, Event::StageEntered { phase: Some(phase), .. } if phase == OWN_STAGE) && is_lead(moment)
}

/// Takes a story back to the stage of its worker. What the worker wrote of that stage and of its tasks stays; what it
/// wrote of later stages is forgotten.
pub(super) fn taken_back(draft: &mut Draft, to: u8) -> Result<String, Refusal> {
    let tasks = draft.tasks()?;
    let planned: Vec<String> = tasks.plan.iter().map(|task| task.id.clone()).collect();
    match to {
        // Nothing is executed while a story is planned or validated.
        0 => draft.list_tasks(&[], &planned),
        1 => draft.list_tasks(&[], &[]),
        _ => {}
    }
    draft.plan(&tasks);
    (0..=3).filter(|stage| *stage != to).for_each(|stage| draft.forget_results(stage));
    draft.editor.remove(&["finished"]).set(&["stage"], to);
    draft.stage = Some(to);
    draft.await_results();
    let awaited = draft.editor.strings(&["awaits"]);
    let missing: Vec<String> = awaited.into_iter().filter(|key| draft.editor.get(&[key]).is_none()).collect();
    match missing.is_empty() {
        true => draft.editor.remove(&["awaits"]),
        false => draft.editor.set(&["awaits"], missing),
    };
    draft.act(OWN_STAGE);
    draft.stand(&format!("STAGE_{to}"))?;
    Ok(format!("back at stage {to}, which its worker was started for"))
}

#[cfg(test)]
mod tests {
    use piton_model::Verdict;

    use super::*;

    #[test]
    fn worker_of_a_stage_records_that_stage_and_earlier_ones() {
        let stage = |stage: &str| Event::StageEntered { stage: stage.to_owned(), phase: None };
        let verdict = |word: &str| Event::VerdictGiven(Verdict { word: word.to_owned(), ..Verdict::default() });
        for (event, from) in [
            (stage("1"), 1),
            (stage("STAGE_2"), 2),
            (stage("3"), 3),
            (verdict("PLAN"), 0),
            (verdict("GO"), 1),
            (verdict("no-go"), 1),
            (verdict("PASS"), 3),
            (verdict("FAIL"), 3),
            // The dialect says what is wrong with it.
            (verdict("PERHAPS"), 0),
            (stage("9"), 0),
            (Event::Beat, 0),
            // No worker finishes a story.
            (Event::Finished, 4),
        ] {
            for own in 0..=3 {
                assert_eq!(beyond_stage(&event, own).is_some(), own < from, "{event:?} by the worker of stage {own}");
            }
        }
    }
}
