//! A build begins again from nothing; its checkpoint is kept.

use piton_model::{Effect, Refusal};
use serde_json::json;

use super::super::checkpoint::Bucket;
use super::super::layout;
use super::Draft;

/// Makes everything pending again, and keeps what there was in `checkpoints/archive`.
pub(super) fn restarted(draft: &mut Draft) -> Result<String, Refusal> {
    draft.list(&["gates_passed"])?;
    draft.list(&["gates_pending"])?;
    let steps: Vec<_> = draft.unit.steps.iter().map(|step| step.id.clone()).collect();
    for id in &steps {
        draft.put(id, Bucket::Pending);
    }
    super::gates::forget(draft);
    for key in ["error", "pause_reason", "blocked_by", "adversarial_review", "kept_artifacts", "evidence"] {
        draft.editor.remove(&[key]);
    }
    draft.editor.set(&["artifacts"], json!({})).set(&["current_phase"], 0);
    draft.begin_anew();
    let directory = draft.path.rsplit_once('/').map_or(layout::DIRECTORY, |(directory, _)| directory);
    let to = format!("{directory}/archive/{}", draft.archive_name());
    draft.effects.push(Effect::Keep { from: draft.path.clone(), to: to.clone() });
    Ok(format!("begun again; the old checkpoint is kept in {to}"))
}
