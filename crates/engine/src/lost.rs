//! Units whose document is gone, while their journal knows it.

use piton_model::{Dialect, Time, Unit, UnitRef};
use piton_supervisor::has_removed;

use crate::Workspace;
use crate::find::{NotFound, find_recorded};
use crate::repair::TAKEN_OVER;
use crate::target::Target;

/// A unit whose document is gone.
#[derive(Debug, Clone)]
pub(crate) struct Lost {
    /// Its name, as commands take it.
    pub name: String,
    /// Where its document was.
    pub document: String,
}

/// The unit of a name, when its document is gone and its journal could bring it back. What another agent took over went
/// away on purpose.
pub(crate) fn lost(workspace: &Workspace, wanted: &UnitRef, now: Time) -> Option<Lost> {
    match find_recorded(workspace, wanted, now) {
        Err(NotFound::Nothing { .. }) => {}
        // What is left of a plan without its text is a memory of it.
        Ok(found) if found.unit.dialect == Dialect::Plan && !has_text(&found.unit) => {}
        Ok(_) | Err(_) => return None,
    }
    let target = Target::find_with_journal(workspace, wanted, now).ok()?;
    let last = crate::log(workspace, wanted, now).ok()?.log.events.pop()?;
    let text = last.documents.iter().find(|it| it.path.ends_with(".md")).or(last.documents.first());
    let document = text.map_or_else(|| target.key.document.clone(), |it| it.path.clone());
    (last.event != TAKEN_OVER).then_some(Lost { name: target.name, document })
}

fn has_text(plan: &Unit) -> bool {
    plan.documents.iter().any(|document| document.path.ends_with(".md"))
}

/// Whether a commit removed or renamed the document of a unit that is gone: then its user gave the unit up.
pub(crate) fn was_given_up(workspace: &Workspace, lost: &Lost) -> bool {
    has_removed(workspace.root(), "HEAD", &lost.document)
}
