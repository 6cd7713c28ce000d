//! Work of another machine: its documents came along, and the branch with the work did not.

use piton_dialect::pipeline::layout;
use piton_model::fleet::{How, LaneAt, LaneState};
use piton_model::hint::verbs;
use piton_model::{Dialect, Hint, Output, StepState, Unit};
use piton_supervisor::is_ignored;
use serde_json::Value;

use super::lead::Lead;
use super::on_base::{Base, Made};
use super::unknown_work::{NOT_ON_BASE, UnknownWork};
use super::withdrawn::last_about;
use super::work::LaneWork;
use crate::Workspace;

impl Lead<'_> {
    /// Takes up a workstream or a task that its document calls done, of which no lead remembers anything, and whose files are
    /// not here: another machine has its branch. It is held, or done again where the user retries.
    pub(super) fn hold_done_elsewhere(&mut self, at: LaneAt, is_retry: bool) {
        let (lane, work) = (&self.work.fleet.lanes[at], &self.work.lanes[at]);
        let is_known = self.memory.lanes.get(&lane.name).is_some_and(|known| known.origin.attempt > 0);
        let names_files = matches!(work.dialect, Dialect::Build | Dialect::Task);
        let (Some(base), Ok(unit)) = (self.memory.run.base.clone(), self.unit_of(at)) else { return };
        let is_done = lane.state == LaneState::Done && self.repository.is_some();
        if is_known || !names_files || !is_done {
            return;
        }
        let is_recorded_here = self.is_recorded_here(work);
        // A task that was recorded in this workspace is where its user left it.
        if is_recorded_here && work.step.is_none() {
            return;
        }
        let root = self.workspace.root();
        let missing: Vec<String> = self.missing(at, &unit).into_iter().filter(|path| !is_ignored(root, path)).collect();
        match self.made(missing.iter().filter_map(|path| Output::read(path)).collect()) {
            Made::OnBase => return,
            Made::Uncommitted(reason) => return self.hold(at, reason),
            Made::Missing => {}
        }
        let files = missing.join(", ");
        if is_retry || is_recorded_here {
            let why = format!("it is recorded as done, and not there: {files}");
            self.work.fleet.lanes[at].state = LaneState::Dead { why, how: How::Brief };
            return;
        }
        let verb = if missing.len() == 1 { "is not" } else { "are not" };
        let reason = format!(
            "it is recorded as done, and {files} {verb} on {base}; push its branch from where it was done, then: git fetch \
             --all; a retry does it again here"
        );
        self.hold(at, reason);
    }

    /// Whether the end of a lane was recorded in this workspace.
    fn is_recorded_here(&self, work: &LaneWork) -> bool {
        let events = self.events_of(&work.unit);
        match &work.step {
            Some(step) => last_about(&events, step).is_some_and(|entry| entry.event == "step_done"),
            None => events.iter().any(|entry| matches!(entry.event.as_str(), "step_done" | "finished")),
        }
    }
}

impl UnknownWork<'_> {
    /// Why a story of which no lead remembers anything is held: its checkpoint has tasks as done, and nothing here has their
    /// work. What was recorded in this workspace is where its worker or its user left it.
    pub(super) fn done_nowhere(&self, work: &LaneWork) -> Option<Hint> {
        let unit = self.unit_of(work).filter(|_| work.dialect == Dialect::Pipeline)?;
        let is_done = |step: &piton_model::Step| matches!(step.state, StepState::Done { .. });
        let is_recorded_here = self.events_of(work).iter().any(|entry| entry.event == "step_done");
        if is_recorded_here || !unit.steps.iter().any(is_done) || !self.is_nowhere(work, &unit) {
            return None;
        }
        let (_, base) = self.ground?;
        let restart = verbs::RESTART.on(&work.unit_name);
        Some(restart.to(format!(
            "its checkpoint {NOT_ON_BASE} {base}, and no branch here has it; push its branch from where it was done, then: \
             git fetch --all; or begin the story again"
        )))
    }

    /// Whether files that a story names are not here; where it names none, whether nothing changed since it began.
    fn is_nowhere(&self, work: &LaneWork, unit: &Unit) -> bool {
        let Some((repository, base)) = self.ground else { return false };
        let root = self.workspace.root();
        let mut files = unit.files.iter().filter_map(|text| Output::read(text)).peekable();
        if files.peek().is_some() {
            let on_base = Base { root, ground: self.ground };
            return files.any(|file| !on_base.has(&file) && !on_base.has_removed(file.name()));
        }
        // Times that agents write by hand are often invented.
        let began =
            self.known_story(work).and_then(|known| known.began).filter(|_| is_written_by_piton(unit, self.workspace));
        let Some(began) = began else { return false };
        let documents = repository.inside().join(layout::DIRECTORY);
        let is_document = |path: &String| std::path::Path::new(path).starts_with(&documents);
        let state = repository.state(root, &format!("refs/heads/{base}"));
        let is_clean = state.is_ok_and(|state| state.changed.iter().all(is_document));
        is_clean && matches!(repository.has_changed_since(base, began.unix_seconds(), &documents), Ok(false))
    }
}

/// Whether Piton led a story through a stage: then its checkpoint has what the stage resulted in.
fn is_written_by_piton(unit: &Unit, workspace: &Workspace) -> bool {
    let has_results = |path: &str| {
        let bytes = workspace.disk.read(path).map(|content| content.bytes).unwrap_or_default();
        serde_json::from_slice::<Value>(&bytes).is_ok_and(|checkpoint| checkpoint.get("stageResults").is_some())
    };
    unit.documents.iter().any(|document| has_results(&document.path))
}
