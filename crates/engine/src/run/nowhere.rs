//! Work of another machine: its documents came along, and the branch with the work did not.

use std::path::{Path, PathBuf};

use piton_dialect::pipeline::layout;
use piton_dialect::plan;
use piton_model::fleet::{How, LaneAt, LaneState};
use piton_model::hint::verbs;
use piton_model::{Dialect, Event, Gate, GateState, Hint, NotePurpose, Output, State, StepState, Time, Unit};
use piton_store::journal::Entry;
use piton_supervisor::is_ignored;
use serde_json::Value;

use super::claim::explain;
use super::freed::LEAD;
use super::lead::Lead;
use super::on_base::{Base, Made};
use super::outputs::is_there;
use super::trees::{DIRECTORIES, branch_name};
use super::unknown_work::{NOT_ON_BASE, UnknownWork, is_done};
use super::withdrawn::last_about;
use super::work::LaneWork;
use crate::evidence::named_command;
use crate::{Workspace, record};

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
        has_recorded_end(work, &self.events_of(&work.unit))
    }
}

/// Whether the journal has the end of a lane.
fn has_recorded_end(work: &LaneWork, events: &[Entry]) -> bool {
    match (&work.step, work.dialect) {
        (Some(step), _) => last_about(events, step).is_some_and(|entry| entry.event == "step_done"),
        (None, Dialect::Pipeline) => events.iter().any(|entry| entry.event == "step_done"),
        (None, _) => events.iter().any(|entry| matches!(entry.event.as_str(), "step_done" | "finished")),
    }
}

impl UnknownWork<'_> {
    /// Why a lane of which no lead remembers anything is held: its document has work of it as done, and nothing here has that
    /// work. What was recorded in this workspace is where its worker or its user left it, and a branch of the lane that is
    /// here and merged is its work.
    pub(super) fn done_nowhere(&self, work: &LaneWork) -> Option<Hint> {
        let unit = self.unit_of(work)?;
        let is_nowhere = match (work.dialect, &work.step) {
            (Dialect::Pipeline, _) => unit.state != State::Done && self.is_story_nowhere(work, &unit),
            (Dialect::Crew, _) => unit.state == State::Done && self.is_agent_nowhere(&unit),
            (Dialect::Plan, Some(step)) => is_done(&unit, step) && self.is_task_nowhere(&unit, step),
            // These name their files, which are looked for when a lead begins.
            (Dialect::Build | Dialect::Task, _) | (Dialect::Plan, None) => false,
        };
        if !is_nowhere || has_recorded_end(work, &self.events_of(work)) || self.has_merged_branch(work) {
            return None;
        }
        let (_, base) = self.ground?;
        let what = if work.dialect == Dialect::Plan { "plan" } else { "checkpoint" };
        let text = format!(
            "its {what} {NOT_ON_BASE} {base}, and no branch here has it; push its branch from where it was done, then: \
             git fetch --all"
        );
        let name = &work.unit_name;
        Some(match (work.dialect, &work.step) {
            (Dialect::Plan, Some(step)) => {
                let document = unit.documents.first().map_or("plan.md", |document| document.path.as_ref());
                let record = verbs::STEP.on(name).word("done").name(step, "TASK");
                record.to(format!(
                    "{text}; or untick its box in {document}, and it is done again; or, where {base} has it, say so"
                ))
            }
            (Dialect::Crew, _) => verbs::REOPEN.on(name).to(format!("{text}; or do the feature again")),
            _ => verbs::RESTART.on(name).to(format!("{text}; or begin the story again")),
        })
    }

    /// Whether a branch that a lead made for a lane is here. It is merged where nothing else was said about it.
    fn has_merged_branch(&self, work: &LaneWork) -> bool {
        let Some((repository, _)) = self.ground else { return false };
        let name = branch_name(work);
        DIRECTORIES
            .iter()
            .any(|directory| repository.has_branch_named(&name.replacen(DIRECTORIES[0], directory, 1)).unwrap_or(false))
    }

    /// Whether files that a story names are not here; where it names none, whether nothing changed since it began.
    fn is_story_nowhere(&self, work: &LaneWork, unit: &Unit) -> bool {
        if !unit.steps.iter().any(|step| matches!(step.state, StepState::Done { .. })) {
            return false;
        }
        let files: Vec<Output> = unit.files.iter().filter_map(|text| Output::read(text)).collect();
        if !files.is_empty() {
            return files.iter().any(|file| self.is_missing(file));
        }
        // Times that agents write by hand are often invented.
        let began =
            self.known_story(work).and_then(|known| known.began).filter(|_| is_written_by_piton(unit, self.workspace));
        began.is_some_and(|began| self.is_unchanged_since(began, &[layout::DIRECTORY.to_owned()]))
    }

    /// Whether files that an agent names are not here, or a lead said last that its work was not merged.
    fn is_agent_nowhere(&self, unit: &Unit) -> bool {
        // An absolute path is one of another machine.
        let files = unit.files.iter().filter(|text| !text.starts_with(['/', '~']));
        let mut files = files.filter_map(|text| Output::read(text));
        files.any(|file| self.is_missing_agent_file(&file, unit)) || is_refused(&unmerged_notes(self.workspace, unit))
    }

    /// The same for a file of an agent, who may name it from its epic's directory.
    fn is_missing_agent_file(&self, file: &Output, unit: &Unit) -> bool {
        let document = unit.documents.first().map(|document| Path::new(document.path.as_ref()));
        let epic = document.and_then(Path::parent).and_then(Path::parent).filter(|epic| !epic.as_os_str().is_empty());
        let in_epic = epic.and_then(|epic| Output::read(&epic.join(file.name()).display().to_string()));
        let root = self.workspace.root();
        [Some(file.clone()), in_epic]
            .into_iter()
            .flatten()
            .all(|file| self.is_missing(&file) && !is_there(root, &file) && !is_ignored(root, file.name()))
    }

    /// Whether a lead began a task, as its plan's log says, and its work can be nowhere on the base: no gate of its phase has
    /// passed, which the lead would have asked before the merge, or nothing changed on the base since.
    fn is_task_nowhere(&self, unit: &Unit, step: &str) -> bool {
        let Some((directory, _)) = unit.documents.first().and_then(|document| document.path.rsplit_once('/')) else {
            return false;
        };
        let path = format!("{directory}/.checkpoint/history.jsonl");
        let log = self.workspace.disk.read(&path).map(|content| content.bytes).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let Some(began) = plan::led_since(&log, step) else { return false };
        let stage = unit.steps.iter().find(|known| known.id == step).map(|known| &known.stage);
        let is_own =
            |gate: &&Gate| Some(&gate.stage) == stage && named_command(&self.settings.gates, &gate.name).is_some();
        let mut gates = unit.gates.iter().filter(is_own).peekable();
        // A criterion that was added later says nothing about the phase as it was.
        let was_complete = stage.is_some_and(|stage| plan::was_complete(&log, stage.as_deref().unwrap_or("main")));
        let is_open = gates.peek().is_some() && !gates.any(|gate| matches!(gate.state, GateState::Passed { .. }));
        let documents = unit.documents.iter().map(|document| document.path.to_string());
        let documents: Vec<String> = documents.chain([format!("{directory}/.checkpoint")]).collect();
        self.ground.is_some() && (is_open && !was_complete || self.is_unchanged_since(began, &documents))
    }

    fn is_missing(&self, file: &Output) -> bool {
        let on_base = Base { root: self.workspace.root(), ground: self.ground };
        self.ground.is_some() && !on_base.has(file) && !on_base.has_removed(file.name())
    }

    /// Whether nothing but documents changed since then, on the base and in the user's work tree.
    fn is_unchanged_since(&self, began: Time, documents: &[String]) -> bool {
        let Some((repository, base)) = self.ground else { return false };
        let documents: Vec<PathBuf> = documents.iter().map(|path| repository.inside().join(path)).collect();
        let is_document = |path: &String| documents.iter().any(|document| Path::new(path).starts_with(document));
        let state = repository.state(self.workspace.root(), &format!("refs/heads/{base}"));
        let is_clean = state.is_ok_and(|state| state.changed.iter().all(is_document));
        is_clean && matches!(repository.has_changed_since(base, began.unix_seconds(), &documents), Ok(false))
    }
}

/// How a lead says in an agent's document that its work is not on the base, and that it is.
const NOT_MERGED: &str = "not merged: ";
const MERGED: &str = "merged into ";

/// The notes of an agent's document, without their times.
fn unmerged_notes(workspace: &Workspace, unit: &Unit) -> Vec<String> {
    let bytes = unit.documents.first().and_then(|document| workspace.disk.read(&document.path).ok());
    let document = serde_json::from_slice::<Value>(&bytes.map(|content| content.bytes).unwrap_or_default());
    let notes = document.ok().and_then(|it| it.get("notes").and_then(Value::as_array).cloned()).unwrap_or_default();
    let text = |note: &Value| note.as_str().and_then(|note| note.split_once("Z: ")).map(|(_, text)| text.to_owned());
    notes.iter().filter_map(text).collect()
}

/// Whether the last note of a lead about a merge says that there was none.
fn is_refused(notes: &[String]) -> bool {
    let is_gate =
        |note: &str| note.starts_with("gate ") && (note.contains(" failed: `") || note.contains(" passed: `"));
    let is_about = |note: &&String| note.starts_with(NOT_MERGED) || note.starts_with(MERGED) || is_gate(note);
    let last = notes.iter().rfind(is_about);
    last.is_some_and(|note| note.starts_with(NOT_MERGED) || note.starts_with("gate ") && note.contains(" failed: `"))
}

impl Lead<'_> {
    /// Says in the document of an agent that calls itself complete whether its work is on the base: another workspace has
    /// nothing else to tell it by.
    pub(super) fn note_merge(&mut self, at: LaneAt, refused: Option<&str>) {
        let work = &self.work.lanes[at];
        let (unit, is_led) = (work.unit.clone(), work.dialect == Dialect::Crew && self.repository.is_some());
        let Some(found) = self.unit_of(at).ok().filter(|found| is_led && found.state == State::Done) else { return };
        let was_refused = is_refused(&unmerged_notes(self.workspace, &found));
        let text = match (refused, was_refused) {
            (Some(why), false) => format!("{NOT_MERGED}{why}"),
            (None, true) => format!("{MERGED}{}", self.memory.run.base.clone().unwrap_or_default()),
            (Some(_), true) | (None, false) => return,
        };
        let event = Event::Noted { text, purpose: NotePurpose::Note };
        if let Err(error) = record(self.workspace, &unit, &event, &self.recorder(LEAD)) {
            self.memory.issues.push((unit.to_string(), "record".to_owned(), explain(error)));
        }
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

#[cfg(test)]
mod tests {
    use super::is_refused;

    #[test]
    fn last_note_about_a_merge_decides() {
        for (notes, want) in [
            (&[][..], false),
            (&["looked at the bells"], false),
            (&["gate test failed: `sh x` ended with 1 (sha256:0)"], true),
            (&["not merged: the branch conflicts", "looked at the bells"], true),
            (&["gate test failed: `sh x` ended with 1 (sha256:0)", "merged into main"], false),
            (&["merged into main", "not merged: x"], true),
            (&["gate test failed: `sh x` ended with 1 (sha256:0)", "gate test passed: `sh x` ended with 0 (x)"], false),
        ] {
            let notes: Vec<String> = notes.iter().map(|note| (*note).to_owned()).collect();
            assert_eq!(is_refused(&notes), want, "{notes:?}");
        }
    }
}
