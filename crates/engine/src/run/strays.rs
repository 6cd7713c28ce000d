//! Documents that a worker wrote into its worktree, as its protocol tells it to, instead of the workspace: they are found
//! and used.

use piton_dialect::{Findings, plan, task};
use piton_model::fleet::LaneAt;
use piton_model::{Dialect, Event, StepState, StepTo};
use piton_store::disk::Access;
use piton_store::journal::Entry;
use piton_supervisor::quoted;

use super::claim::{explain, step};
use super::lead::Lead;
use super::recover::is_beginning;
use crate::{Recorder, record};

impl Lead<'_> {
    /// The documents of a lane's unit, relative to the workspace, also those that only its worktree has.
    pub(super) fn documents_of(&self, at: LaneAt) -> Vec<String> {
        let work = &self.work.lanes[at];
        let found = crate::find(self.workspace, &work.unit, self.time()).ok();
        let mut documents: Vec<String> =
            found.iter().flat_map(|found| &found.unit.documents).map(|document| document.path.to_string()).collect();
        let main = self.document_of(at);
        if !main.is_empty() && !documents.contains(&main) {
            documents.insert(0, main.clone());
        }
        let strays = self.names_in_tree(at, &main).into_iter().filter(|path| !documents.contains(path));
        documents.extend(strays.collect::<Vec<_>>());
        documents
    }

    /// The files that a merge of a lane leaves to Piton: the documents of its unit, and what several units share and
    /// both Piton and agents that never call Piton write.
    pub(super) fn kept_files(&self, at: LaneAt) -> Vec<String> {
        let (mut files, work) = (self.documents_of(at), &self.work.lanes[at]);
        if work.dialect == Dialect::Task {
            let agent = work.unit.parts.first().map_or("", |agent| agent.as_str());
            let shared = files.first().map(|checkpoint| task::layout::shared_files(checkpoint, agent));
            files.extend(shared.into_iter().flatten());
        }
        files
    }

    /// The texts of a lane's plan, relative to the workspace: `plan.md` and the phase files.
    pub(super) fn texts_of(&self, at: LaneAt) -> Vec<String> {
        let mut documents = self.documents_of(at);
        documents.retain(|path| path.ends_with(".md"));
        documents
    }

    /// The document in which a lane's worker records its work: of a plan, the file that has the lane's box.
    pub(super) fn recorded_in(&self, at: LaneAt) -> String {
        let own = self.work.lanes[at].step.as_deref().filter(|_| self.work.lanes[at].dialect == Dialect::Plan);
        let has_box = |path: &String, own: &str| {
            let text = self.workspace.read_text(path).ok().flatten().unwrap_or_default();
            parsed(path, &text).tasks.iter().any(|mark| mark.id(&text) == own)
        };
        let text = own.and_then(|own| self.texts_of(at).into_iter().find(|path| has_box(path, own)));
        text.unwrap_or_else(|| self.document_of(at))
    }

    /// Files that a lane's steps name as results.
    pub(super) fn named_outputs(&self, at: LaneAt) -> Vec<String> {
        let Ok(unit) = self.unit_of(at) else { return self.work.lanes[at].file_names() };
        let mut outputs = self.work.lanes[at].file_names();
        for known in &unit.steps {
            let is_own = self.work.lanes[at].step.as_ref().is_none_or(|own| *own == known.id);
            if let (true, StepState::Done { outputs: named, .. }) = (is_own, &known.state) {
                outputs.extend(named.iter().cloned());
            }
        }
        let is_plain = |path: &String| {
            !path.starts_with(['/', '-'])
                && !path.contains(['*', '\\', '\n'])
                && !path.split('/').any(|part| part == "..")
        };
        outputs.retain(is_plain);
        outputs.sort();
        outputs.dedup();
        outputs
    }

    /// Takes over what the lane's worker wrote into its worktree.
    pub(super) fn adopt_strays(&mut self, at: LaneAt) {
        let Some(below) = self.workspace_in_tree(at) else { return };
        match self.work.lanes[at].dialect {
            Dialect::Plan => self.adopt_ticks(at, &below),
            Dialect::Pipeline | Dialect::Task | Dialect::Crew => self.adopt_document(at, &below),
            // A build's documents are the lead's and the user's alone.
            Dialect::Build => self.tell_changed_specification(at, &below),
        }
    }

    /// A checkpoint that was written into the worktree after the lane's worker began becomes the unit's document: an
    /// edit by hand, which the next record observes.
    fn adopt_document(&mut self, at: LaneAt, below: &str) {
        let path = self.document_of(at);
        let Some(own) = self.names_in_tree(at, &path).pop() else { return };
        let stray = format!("{below}/{own}");
        let disk = &*self.workspace.disk;
        let Ok(written) = disk.read(&stray) else { return };
        let known = disk.read(&path).ok();
        if known.as_ref().is_some_and(|known| known.bytes == written.bytes)
            || !self.is_newer(at, &stray, &path)
            || self.is_checked_out(at, &own)
        {
            return;
        }
        if serde_json::from_slice::<serde_json::Value>(&written.bytes).is_err() {
            self.tell_lane(at, "stray", &format!("{stray} was written by its worker and is not JSON: it is not used"));
            return;
        }
        match piton_store::replace(disk, &path, &written.bytes, Access::Shared) {
            Ok(()) => {
                self.tell_lane(at, "stray", &format!("its worker wrote {stray}: that is its document now"));
                // Observed now, so that the version is kept.
                self.finish_records();
            }
            Err(error) => self.memory.issues.push((stray, "stray".to_owned(), error.to_string())),
        }
    }

    /// The names by which a lane's worktree has its document, the one that was written last at the end: the worker of a task
    /// may have archived its checkpoint there.
    fn names_in_tree(&self, at: LaneAt, path: &str) -> Vec<String> {
        let (Some(below), Some((directory, name))) = (self.workspace_in_tree(at), path.rsplit_once('/')) else {
            return Vec::new();
        };
        if self.work.lanes[at].dialect != Dialect::Task {
            return vec![path.to_owned()];
        }
        let entries = std::fs::read_dir(self.workspace.root().join(below).join(directory));
        let own = entries.into_iter().flatten().flatten().filter_map(|entry| {
            let found = entry.file_name().into_string().ok().filter(|found| found.ends_with(".json"))?;
            let written = entry.metadata().and_then(|found| found.modified()).ok()?;
            (task::layout::live_stem(&found) == task::layout::live_stem(name)).then_some((written, found))
        });
        let mut own: Vec<_> = own.collect();
        own.sort();
        own.into_iter().map(|(_, found)| format!("{directory}/{found}")).collect()
    }

    /// Whether git put a file into a lane's worktree, and no worker wrote it.
    fn is_checked_out(&self, at: LaneAt, path: &str) -> bool {
        let (Some(repository), Some(tree)) = (&self.repository, self.worktree_of(at)) else { return false };
        let (tree, path) = (self.workspace.root().join(tree), repository.inside().join(path).display().to_string());
        let target = self.target_branch(&self.work.fleet.lanes[at]).unwrap_or_default();
        repository.is_checked_out(&tree, &target, &path).unwrap_or(false)
    }

    /// Whether a plan's text in a lane's worktree has the box of its task ticked. A text without ids is that of a base on
    /// which they are not committed: there the box is known by its words.
    fn has_ticked(&self, path: &str, text: &str, task: &str) -> bool {
        let own = self.workspace.read_text(path).ok().flatten().unwrap_or_default();
        is_ticked(path, text, task) || box_without_id(path, text, &own, task).is_some_and(|it| it.is_ticked(text))
    }

    /// A text as it was where a lane's branch left its target.
    fn at_fork(&self, at: LaneAt, path: &str) -> Option<String> {
        let (repository, tree) = (self.repository.as_ref()?, self.worktree_of(at)?);
        let (tree, inside) = (self.workspace.root().join(tree), repository.inside().join(path).display().to_string());
        let target = self.target_branch(&self.work.fleet.lanes[at]).unwrap_or_default();
        let before = repository.at_fork(&tree, &target, &inside).ok().flatten()?;
        Some(String::from_utf8_lossy(&before).into_owned())
    }

    /// Whether a worker wrote a file later than the unit's document was last written.
    fn is_newer(&self, at: LaneAt, stray: &str, path: &str) -> bool {
        let root = self.workspace.root();
        let modified = |path: &str| std::fs::metadata(root.join(path)).and_then(|found| found.modified()).ok();
        let since = self.memory.lanes.get(&self.work.fleet.lanes[at].name).and_then(|lane| lane.home.clone());
        let started = since.and_then(|home| modified(&home));
        match (modified(stray), modified(path), started) {
            (Some(stray), Some(known), _) => stray > known,
            (Some(stray), None, Some(started)) => stray >= started,
            (Some(_), None, None) => true,
            (None, ..) => false,
        }
    }

    /// The box of the lane's own task that its worker ticked in the worktree's plan is ticked in the plan itself.
    fn adopt_ticks(&mut self, at: LaneAt, below: &str) {
        for path in self.texts_of(at) {
            self.adopt_tick(at, below, &path);
        }
    }

    fn adopt_tick(&mut self, at: LaneAt, below: &str, path: &str) {
        let Some(own) = self.work.lanes[at].step.clone() else { return };
        let stray = format!("{below}/{path}");
        let Ok(written) = self.workspace.disk.read(&stray) else { return };
        let text = String::from_utf8_lossy(&written.bytes).into_owned();
        let branch = self.memory.lanes.get(&self.work.fleet.lanes[at].name).and_then(|lane| lane.branch.clone());
        if let (Some(before), Some(branch)) = (self.at_fork(at, path), branch)
            && unticked(&before) != unticked(&text)
        {
            self.tell_lane(at, "stray", &changed_text(path, &branch));
        }
        self.adopt_questions(at, path, &stray, &text);
        let is_open = self.unit_of(at).is_ok_and(|unit| {
            let known = unit.steps.iter().find(|known| known.id == own);
            known.is_some_and(|known| !matches!(known.state, StepState::Done { .. } | StepState::Skipped))
        });
        let was_ticked = || self.at_fork(at, path).is_some_and(|before| self.has_ticked(path, &before, &own));
        if is_open && self.has_ticked(path, &text, &own) && !was_ticked() {
            let text = match self.record_lane(at, &step(StepTo::Done, own.clone())) {
                Ok(()) => format!("its worker ticked {own} in {stray}: recorded"),
                Err(why) => format!("its worker ticked {own} in {stray}, which cannot be recorded: {why}"),
            };
            self.tell_lane(at, "stray", &text);
        }
    }
}

impl Lead<'_> {
    /// Says that a worker changed the specification of its build: what judges a build is not merged with the work.
    fn tell_changed_specification(&mut self, at: LaneAt, below: &str) {
        let Some(path) = self.work.groups[self.work.fleet.lanes[at].group].spec.clone() else { return };
        let branch = self.memory.lanes.get(&self.work.fleet.lanes[at].name).and_then(|lane| lane.branch.clone());
        let written = self.workspace.read_text(&format!("{below}/{path}")).ok().flatten();
        let (Some(before), Some(written), Some(branch)) = (self.at_fork(at, &path), written, branch) else { return };
        if before != written {
            self.tell_lane(at, "stray", &changed_text(&path, &branch));
        }
    }

    /// What a worker asked in the worktree's plan (`BLOCKER`) is its question, once.
    fn adopt_questions(&mut self, at: LaneAt, path: &str, stray: &str, text: &str) {
        let asked = |text: &str| parsed(path, text).blockers.into_iter().map(|it| it.text).collect::<Vec<_>>();
        let before = self.at_fork(at, path).map(|before| asked(&before)).unwrap_or_default();
        let events = self.events_of(&self.work.lanes[at].unit);
        let life = events.iter().rposition(is_beginning).unwrap_or(0);
        let is_known = |question: &String| {
            let says = |entry: &Entry| entry.data.get("message").and_then(|it| it.as_str()) == Some(question);
            events[life..].iter().any(|entry| entry.event == "blocked" && says(entry))
        };
        let known = self.unit_of(at).map(|unit| unit.blockers).unwrap_or_default();
        let new = asked(text).into_iter().filter(|it| !before.contains(it) && !known.contains(it) && !is_known(it));
        for message in new.collect::<Vec<_>>() {
            let memory = self.memory.lane(&self.work.fleet.lanes[at].name.clone());
            let attempt = memory.ticket.as_deref().and_then(|ticket| ticket.parse().ok());
            let worker = memory.worker.clone().unwrap_or_else(|| "worker".to_owned());
            let recorder = Recorder { attempt, ..self.recorder(&worker) };
            let event = Event::Blocked { message: message.clone(), kind: None };
            let told = match record(self.workspace, &self.work.lanes[at].unit.clone(), &event, &recorder) {
                Ok(_) => format!("its worker asks in {stray}: {message}"),
                Err(error) => format!("its worker asks in {stray}, which cannot be recorded: {}", explain(error)),
            };
            self.tell_lane(at, "stray", &told);
        }
    }
}

/// What is said of a text of the user that a worker changed.
fn changed_text(path: &str, branch: &str) -> String {
    let (branch, path) = (quoted(branch), quoted(path));
    format!("its worker changed the text of {path}, which is not merged; it is on its branch: git show {branch}:{path}")
}

/// A plan's text without its ticks.
pub(super) fn unticked(text: &str) -> String {
    text.replace("[x]", "[ ]").replace("[X]", "[ ]")
}

/// Whether a plan's text has a task's box ticked.
pub(super) fn is_ticked(path: &str, text: &str, task: &str) -> bool {
    parsed(path, text).tasks.iter().any(|mark| mark.id(text) == task && mark.is_ticked())
}

/// A task's box in a text that has it without its id. `own` is the text with the ids; the words of the box have to be those
/// of one box alone in both.
pub(super) fn box_without_id(path: &str, text: &str, own: &str, task: &str) -> Option<plan::Unmarked> {
    let (found, known) = (parsed(path, text), parsed(path, own));
    let words = known.tasks.iter().find(|mark| mark.id(own) == task)?.text(own);
    let is_marked = found.tasks.iter().any(|mark| mark.id(text) == task);
    let is_only = known.tasks.iter().filter(|mark| mark.text(own) == words).count() == 1;
    let mut boxes = found.unmarked.iter().filter(|unmarked| unmarked.text(text) == words);
    match (boxes.next(), boxes.next()) {
        (Some(only), None) if is_only && !is_marked => Some(*only),
        _ => None,
    }
}

fn parsed(path: &str, text: &str) -> plan::Parsed {
    plan::parse(text, &mut Findings::new(path.into(), text))
}
