//! The one judgement about a checkpoint, whoever wrote it: verbs, `check` and a lead use it alike.

use piton_model::fleet::StageResult;

use super::Checkpoint;

/// What a checkpoint says about its own stage.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Judgement {
    /// The stage has given what it must.
    Complete(StageResult),
    /// It has not; what is missing or out of range, each as a fragment.
    Incomplete(Vec<String>),
    /// The story has no task, so it may not go on.
    NoTasks,
}

/// Judges the stage that a checkpoint is at. Nothing is invented: what is missing makes the stage incomplete.
pub(super) fn judge_stage(checkpoint: &Checkpoint) -> Judgement {
    let stage = checkpoint.stage;
    if checkpoint.tasks.is_empty() && matches!(stage, Some(2 | 3)) {
        return Judgement::NoTasks;
    }
    let mut missing = checkpoint.lacks.clone();
    if stage == Some(2) {
        missing.extend(open_tasks(checkpoint));
    }
    if !missing.is_empty() {
        return Judgement::Incomplete(missing);
    }
    match (result(checkpoint), stage) {
        (Some(StageResult::Go { .. }), _) if checkpoint.tasks.is_empty() => Judgement::NoTasks,
        (Some(result), _) => Judgement::Complete(result),
        (None, Some(stage)) => Judgement::Incomplete(vec![format!("what stage {stage} results in")]),
        (None, None) => Judgement::Incomplete(vec!["`stage` (0 to 3)".to_owned()]),
    }
}

/// The open tasks of a story, each as a fragment.
pub(super) fn open_tasks(checkpoint: &Checkpoint) -> impl Iterator<Item = String> {
    checkpoint.tasks.open.iter().map(|id| {
        let title = checkpoint.tasks.described(id).and_then(|task| task.title.as_deref());
        let title = title.map(|title| format!(" ({title})")).unwrap_or_default();
        format!("the task {id}{title} is not done")
    })
}

/// What a stage with nothing missing results in.
fn result(checkpoint: &Checkpoint) -> Option<StageResult> {
    match (checkpoint.stage?, checkpoint.verdict) {
        (0, _) => Some(StageResult::Planned { score: checkpoint.plan_score? }),
        (1, Some("GO")) => Some(StageResult::Go { readiness: checkpoint.readiness? }),
        (1, Some("NO-GO")) => Some(StageResult::NoGo { reason: checkpoint.reason.clone()? }),
        (2, _) => Some(StageResult::Executed),
        (3, Some("FAIL")) => Some(StageResult::Failed { issues: checkpoint.issues.clone()? }),
        (3, Some(word @ ("PASS" | "CONCERNS" | "WAIVED"))) => {
            Some(StageResult::Passed { word: word.to_owned(), score: Some(checkpoint.quality?) })
        }
        _ => None,
    }
}
