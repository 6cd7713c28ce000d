//! A story that another machine began: its checkpoint came along, and the branch with its work did not.

use piton_dialect::pipeline::layout;
use piton_model::fleet::LaneAt;
use piton_model::hint::verbs;
use piton_model::{Dialect, Hint, Output, StepState, Unit};
use piton_supervisor::was_removed;
use serde_json::Value;

use super::lead::Lead;
use super::left_work::NOT_ON_BASE;
use super::outputs::is_there;

impl Lead<'_> {
    /// Why a story of which no lead remembers anything is held: its checkpoint has tasks as done, and nothing here has their
    /// work. What was recorded in this workspace is where its worker or its user left it.
    pub(super) fn done_nowhere(&self, at: LaneAt) -> Option<Hint> {
        let work = &self.work.lanes[at];
        let unit = self.unit_of(at).ok().filter(|_| work.dialect == Dialect::Pipeline)?;
        let is_done = |step: &piton_model::Step| matches!(step.state, StepState::Done { .. });
        let is_recorded_here = self.events_of(&work.unit).iter().any(|entry| entry.event == "step_done");
        if is_recorded_here || !unit.steps.iter().any(is_done) || !self.is_nowhere(at, &unit) {
            return None;
        }
        let base = self.memory.run.base.as_ref()?;
        let restart = verbs::RESTART.on(&work.unit_name);
        Some(restart.to(format!(
            "its checkpoint {NOT_ON_BASE} {base}, and no branch here has it; push its branch from where it was done, then: \
             git fetch --all; or begin the story again"
        )))
    }

    /// Whether files that a story names are not here; where it names none, whether nothing changed since it began.
    fn is_nowhere(&self, at: LaneAt, unit: &Unit) -> bool {
        let (Some(repository), Some(base)) = (&self.repository, &self.memory.run.base) else { return false };
        let root = self.workspace.root();
        let mut files = unit.files.iter().filter_map(|text| Output::read(text)).peekable();
        if files.peek().is_some() {
            return files.any(|file| !is_there(root, &file) && !was_removed(root, Some(base), file.name()));
        }
        // Times that agents write by hand are often invented.
        let began = self.known_story(at).and_then(|known| known.began).filter(|_| self.is_written_by_piton(at));
        let Some(began) = began else { return false };
        let documents = repository.inside().join(layout::DIRECTORY);
        let is_document = |path: &String| std::path::Path::new(path).starts_with(&documents);
        let state = repository.state(root, &format!("refs/heads/{base}"));
        let is_clean = state.is_ok_and(|state| state.changed.iter().all(is_document));
        is_clean && matches!(repository.has_changed_since(base, began.unix_seconds(), &documents), Ok(false))
    }

    /// Whether Piton led a story through a stage: then its checkpoint has what the stage resulted in.
    fn is_written_by_piton(&self, at: LaneAt) -> bool {
        let content = self.workspace.disk.read(&self.document_of(at)).map(|content| content.bytes).unwrap_or_default();
        serde_json::from_slice::<Value>(&content).is_ok_and(|checkpoint| checkpoint.get("stageResults").is_some())
    }
}
