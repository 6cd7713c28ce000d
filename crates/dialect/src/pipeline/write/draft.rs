use piton_model::hint::verbs;
use piton_model::{Arg, Change, Effect, Hint, Id, Moment, Refusal, RetryLimits, State, Unit, text};
use serde_json::{Value as NewValue, json};

use super::super::layout::File;
use super::super::resume::way_on;
use super::super::tasks::{self, Lists, PLANNED, Tasks};
use super::super::{Checkpoint, is_our_checkpoint, read_checkpoint};
use super::found::{Broken, Look, StateFile, broken, find, newly_stuck, read_own, refuse_worse};
use super::verdicts::stage_of_word;
use crate::json::{Editor, Kind, Value};
use crate::{Files, Place, Source};

/// The keys that belong to one stage, with that stage; `verdict` belongs to two and goes with either.
const STAGE_KEYS: [&str; 6] = ["planScore", "readiness", "verdict", "reason", "qualityScore", "issues"];

/// The lists of texts in a checkpoint.
const LISTS: [&str; 4] = ["tasksCompleted", "tasksRemaining", "tasksSkipped", "awaits"];

/// A story that is being changed: its checkpoint, and its place in the lead's state.
pub(in super::super) struct Draft<'f> {
    /// The unit's name: `pipeline:PROJ-42`.
    pub name: String,
    pub story: String,
    pub path: String,
    /// The checkpoint; empty when there is none yet.
    pub editor: Editor,
    pub has_checkpoint: bool,
    /// The checkpoint as it was read, before any change.
    pub checkpoint: Option<Checkpoint>,
    /// Whether the checkpoint lies where it is written.
    is_home: bool,
    /// The stage in the checkpoint.
    pub stage: Option<u8>,
    /// The unit as it was read, before any change.
    pub unit: Option<Unit>,
    /// What has to be said loudly.
    pub warnings: Vec<Hint>,
    /// What else happens to files, before the checkpoint is written.
    pub effects: Vec<Effect>,
    pub moment: Moment,
    /// The lead's state, when there is one that can be read.
    state: Option<StateFile>,
    /// The retries that the settings grant.
    pub limits: RetryLimits,
    /// Whether the story is taken up, so that a pipeline with it is not complete.
    pub is_taken_up: bool,
    files: &'f dyn Files,
    broken: Broken,
}

impl<'f> Draft<'f> {
    /// Opens a story to be changed. What is not a checkpoint of ours is left to a person.
    pub(in super::super) fn open(place: &Place, files: &'f dyn Files, moment: &Moment) -> Result<Draft<'f>, Refusal> {
        let (story, path) = (super::story(place).to_owned(), super::path(place));
        let mut warnings = Vec::new();
        let state = StateFile::open(place, files, &mut warnings)?;
        let found = find(place, files, &story, &path, moment)?;
        if let Some(stray) = found.as_ref().filter(|found| found.path != path) {
            warnings.push(
                format!("its worker wrote the checkpoint into a worktree; {path} takes it over: {}", stray.path).into(),
            );
        }
        let editor = match &found {
            Some(found) => Editor::open(&found.path, &found.bytes)?,
            None => Editor::create(&json!({})),
        };
        if found.is_some() && !editor.look(is_our_checkpoint) {
            return Err(Refusal::document(format!("this is not a story's checkpoint, and is not written: {path}")));
        }
        let checkpoint = found.as_ref().and_then(|found| read_own(found, &path, files, moment));
        let limits = files.retry_limits();
        let now_state = state.as_ref().map(|state| (state.path.as_str(), state.before.as_slice()));
        let look = Look { story: &story, path: &path, state: now_state, limits, moment };
        let (unit, findings) = look.at(checkpoint.clone());
        let mut draft = Draft {
            name: full_name(place, &story),
            is_home: found.as_ref().is_some_and(|found| found.path == path),
            has_checkpoint: found.is_some(),
            story,
            path,
            editor,
            stage: checkpoint.as_ref().and_then(|checkpoint| checkpoint.stage),
            checkpoint,
            unit,
            warnings,
            effects: Vec::new(),
            moment: moment.clone(),
            state,
            limits,
            is_taken_up: false,
            files,
            broken: broken(&findings),
        };
        let odd = draft.editor.look(|root| LISTS.into_iter().find(|key| !root.get(key).is_none_or(is_list)));
        if let Some(key) = odd {
            return Err(in_another_form(&draft.path, key));
        }
        draft.align_tasks();
        Ok(draft)
    }

    /// Puts the planned tasks where they belong when a worker wrote the checkpoint by hand and left them out.
    fn align_tasks(&mut self) {
        let Some(tasks) = self.checkpoint.as_ref().map(|checkpoint| checkpoint.tasks.clone()) else { return };
        if matches!(self.stage, Some(2 | 3)) {
            let listed = self.editor.strings(&["tasksRemaining"]);
            let dropped: Vec<_> = tasks.open.iter().filter(|id| !listed.contains(id)).map(String::as_str).collect();
            if !dropped.is_empty() {
                self.warnings
                    .push(format!("planned, and in neither list of tasks, so not done: {}", dropped.join(", ")).into());
            }
            for id in dropped {
                self.editor.push_new(&["tasksRemaining"], id);
            }
            for id in &tasks.done {
                self.editor.push_new(&["tasksCompleted"], id);
            }
        }
        for id in &tasks.skipped {
            self.editor.push_new(&["tasksSkipped"], id);
        }
        self.plan(&tasks);
    }

    /// Writes the plan into the checkpoint.
    pub(super) fn plan(&mut self, tasks: &Tasks) {
        if !tasks.plan.is_empty() {
            self.editor.set(&[PLANNED], tasks::to_json(&tasks.plan));
        } else if self.editor.get(&[PLANNED]).is_some() {
            self.editor.remove(&[PLANNED]);
        }
    }

    /// The story's tasks as the checkpoint has them now.
    pub(in super::super) fn tasks(&self) -> Result<Tasks, Refusal> {
        let (completed, remaining) = (self.list(&["tasksCompleted"])?, self.list(&["tasksRemaining"])?);
        let skipped = self.list(&["tasksSkipped"])?;
        let planned = self.editor.look(|root| tasks::planned(root).unwrap_or_default());
        Ok(Tasks::new(&Lists {
            stage: self.stage,
            completed: &completed,
            remaining: &remaining,
            skipped: &skipped,
            planned: &planned,
            completed_before: &[],
        }))
    }

    /// The change that writes what became of it. A rule that would be broken by it, and is not yet, refuses it.
    pub(super) fn close(mut self, summary: String) -> Result<Change, Refusal> {
        let now = self.moment.now.to_string();
        fill_required(&mut self.editor, &self.story, &self.moment);
        self.reopen_pipeline();
        if let Some(state) = self.state.as_mut().filter(|state| state.is_changed()) {
            state.editor.set(&["last_check"], now.as_str());
        }
        let bytes = self.editor.into_bytes();
        let state = self.state.map(|state| {
            let is_changed = state.is_changed();
            (state.path, state.editor.into_bytes(), state.before, is_changed)
        });
        let now_state = state.as_ref().map(|(path, bytes, ..)| (path.as_str(), bytes.as_slice()));
        let look =
            Look { story: &self.story, path: &self.path, state: now_state, limits: self.limits, moment: &self.moment };
        let findings = look.at_bytes(&bytes);
        refuse_worse(&self.broken, &findings)?;
        self.warnings.extend(newly_stuck(&self.broken, &findings).map(Hint::from));
        self.effects.push(Effect::Write { path: self.path, bytes });
        if let Some((path, bytes, before, true)) = state {
            self.effects.push(Effect::Share { path, bytes, before: Some(before) });
        }
        Ok(Change { summary, warnings: self.warnings, effects: self.effects, next: None })
    }

    /// The checkpoint as it would be read if it were written now.
    pub(super) fn as_it_would_be(&self) -> Option<Checkpoint> {
        let mut editor = self.editor.clone();
        fill_required(&mut editor, &self.story, &self.moment);
        let bytes = editor.into_bytes();
        let source = Source { path: self.path.as_str().into(), bytes: &bytes, modified: None };
        read_checkpoint(&source, File::Checkpoint, self.moment.now).ok()
    }

    /// A pipeline that has ended goes on with a story that is taken up.
    fn reopen_pipeline(&mut self) {
        let is_settled = self.standing().is_some_and(|word| matches!(word.as_str(), "DONE" | "PAUSED"));
        let Some(state) = self.state.as_mut().filter(|_| self.is_taken_up && !is_settled) else { return };
        if state.editor.get(&["complete"]) == Some(NewValue::Bool(true)) {
            state.editor.set(&["complete"], false);
        }
    }

    /// Refuses when there is no checkpoint.
    pub(super) fn require_checkpoint(&self) -> Result<(), Refusal> {
        if self.has_checkpoint {
            return Ok(());
        }
        let waits = self.unit.as_ref().is_some_and(|unit| !unit.blockers.is_empty());
        let hint = match waits {
            true => verbs::WHY.on(&self.name).to("see what it waits for"),
            false => self.start_hint(),
        };
        Err(Refusal::missing(format!("there is no checkpoint of {}", self.name)).hint(hint))
    }

    /// How a story without a checkpoint is started. Nothing starts at stage 3, because nothing says what is done.
    pub(in super::super) fn start_hint(&self) -> Hint {
        match self.standing().as_deref() {
            Some("STAGE_3") => {
                verbs::START.on(&self.name).with("--stage", Arg::Word("2")).to("start it with its tasks at stage 2")
            }
            _ => verbs::START.on(&self.name).to("start it"),
        }
    }

    /// Adds to a refusal of the lifecycle what leads on from here.
    pub(super) fn explain(&self, refusal: &Refusal) -> Refusal {
        let legal = refusal.hints.iter().filter(|hint| hint.commands.is_empty());
        let own = Refusal::rule(refusal.message.clone()).hint(way_on(self));
        legal.fold(own, |refusal, hint| refusal.hint(hint.clone())).hint(verbs::WHY.on(&self.name).to("see why"))
    }

    /// Where the lead's state says that the story stands.
    pub(in super::super) fn standing(&self) -> Option<String> {
        self.state.as_ref().and_then(|state| state.editor.string(&["story_state", &self.story]))
    }

    /// Whether there is a lead's state that can be read.
    pub(in super::super) fn has_state(&self) -> bool {
        self.state.is_some()
    }

    /// Moves the story in the lead's state, where there is one.
    pub(super) fn stand(&mut self, word: &str) -> Result<(), Refusal> {
        let Some(state) = &mut self.state else { return Ok(()) };
        match state.editor.get(&["story_state"]) {
            None | Some(NewValue::Null | NewValue::Object(_)) => {}
            Some(_) => return Err(in_another_form(&state.path, "story_state")),
        }
        state.editor.set(&["story_state", &self.story], word);
        let queue = state.editor.strings(&["priority_queue_ids"]);
        if word != "QUEUED" && queue.contains(&self.story) {
            let rest: Vec<_> = queue.into_iter().filter(|id| *id != self.story).collect();
            state.editor.set(&["priority_queue_ids"], rest);
        }
        Ok(())
    }

    /// Takes away a counter of this story: a person grants its retries anew.
    pub(super) fn forget_counts(&mut self) {
        self.editor.remove(&["reworks"]).remove(&["noGos"]);
        let Some(state) = &mut self.state else { return };
        for key in ["quality_cycles", "validation_retries", "crash_count"] {
            if state.editor.get(&[key, &self.story]).is_some() {
                state.editor.set(&[key, &self.story], 0);
            }
        }
    }

    /// Takes away what the lead recorded of the story's stages, because it begins from nothing.
    pub(super) fn forget_stages(&mut self) {
        self.forget_counts();
        let Some(state) = &mut self.state else { return };
        for key in ["story_results", "stage_timestamps", "readiness_scores", "git_stats"] {
            state.editor.remove(&[key, &self.story]);
        }
    }

    /// Enters a stage: what belonged to the one before is kept aside, and what this one gives at its end is awaited.
    ///
    /// Every road into a stage leads through here, so no story gets to stage 3 while a task is open.
    pub(super) fn enter(&mut self, stage: u8) -> Result<(), Refusal> {
        let tasks = self.tasks()?;
        if stage == 3 && !tasks.open.is_empty() {
            return Err(self.tasks_remain(&tasks));
        }
        if stage >= 2 && tasks.is_empty() {
            return Err(self.no_tasks(stage));
        }
        self.shelve()?;
        match (self.stage, stage) {
            // Nothing is executed while a story is planned or validated.
            (_, 0 | 1) => self.list_tasks(&[], &[]),
            // After a failed quality gate what is done stays done.
            (Some(3), 2) => {}
            (_, 2) => {
                let planned: Vec<_> = tasks.plan.iter().map(|task| task.id.clone()).collect();
                self.list_tasks(&[], &planned);
            }
            _ => {}
        }
        self.plan(&tasks);
        self.editor.set(&["stage"], stage);
        self.stage = Some(stage);
        self.await_results();
        self.name_agent();
        Ok(())
    }

    pub(super) fn list_tasks(&mut self, completed: &[String], remaining: &[String]) {
        self.editor.set(&["tasksCompleted"], completed.to_vec()).set(&["tasksRemaining"], remaining.to_vec());
    }

    /// The worker's own session, where it is known; a checkpoint without any names who wrote it.
    pub(super) fn name_agent(&mut self) {
        name_agent(&mut self.editor, &self.moment);
    }

    /// That open tasks keep the story from stage 3.
    pub(super) fn tasks_remain(&self, tasks: &Tasks) -> Refusal {
        let refusal = Refusal::rule(format!("tasks remain: {}", tasks.open.join(", ")));
        match (self.stage, tasks.open.first()) {
            (Some(3), _) => refusal.hint(verbs::STAGE.on(&self.name).word("2").to("do them at stage 2")),
            (_, Some(first)) => {
                refusal.hint(verbs::STEP.on(&self.name).word("done").name(first, "STEP").to("when it is done"))
            }
            (_, None) => refusal,
        }
    }

    /// That a checkpoint without a stage says nothing about where the story is.
    pub(super) fn no_stage(&self) -> Refusal {
        Refusal::document(format!("its checkpoint is at no stage from 0 to 3: {}", self.path))
            .hint(verbs::RESTART.on(&self.name).to("begin it again"))
    }

    /// That a story without tasks does not go on.
    pub(in super::super) fn no_tasks(&self, stage: u8) -> Refusal {
        let refusal =
            Refusal::rule(format!("no task of {} is planned, so it does not get to stage {stage}", self.name));
        let is_running = self.unit.as_ref().is_some_and(|unit| unit.state == State::Running);
        let refusal = match self.stage {
            Some(1 | 2) if is_running => refusal.hint(
                verbs::STEP.on(&self.name).word("begin").fill("TASK").filled("--title", "TEXT").to("name its tasks"),
            ),
            _ => refusal,
        };
        refusal.hint(self.plan_again())
    }

    /// How a story begins again from stage 0: one that is done is started anew.
    pub(in super::super) fn plan_again(&self) -> Hint {
        let is_done = self.unit.as_ref().is_some_and(|unit| unit.state == State::Done);
        let command = match is_done {
            true => verbs::START.on(&self.name),
            false => verbs::RESTART.on(&self.name),
        };
        command.to("plan it again from stage 0")
    }

    /// Puts the results of the present stage under its name in `stageResults`.
    pub(super) fn shelve(&mut self) -> Result<(), Refusal> {
        self.expect_object("stageResults")?;
        let before = self.stage.map_or_else(|| "unknown".to_owned(), |stage| format!("stage{stage}"));
        for key in STAGE_KEYS {
            if let Some(value) = self.editor.get(&[key]) {
                if !value.is_null() {
                    self.editor.set(&["stageResults", &before, key], value);
                }
                self.editor.remove(&[key]);
            }
        }
        Ok(())
    }

    /// Takes away what the checkpoint has as the results of a stage.
    pub(super) fn forget_results(&mut self, stage: u8) {
        let keys: &[&str] = match stage {
            0 => &["planScore"],
            1 => &["readiness", "reason"],
            3 => &["qualityScore", "issues"],
            _ => &[],
        };
        for key in keys {
            self.editor.remove(&[key]);
        }
        // A word that is no verdict belongs to no stage.
        if self.editor.string(&["verdict"]).is_some_and(|word| stage_of_word(&word).is_none_or(|of| of == stage)) {
            self.editor.remove(&["verdict"]);
        }
    }

    /// Says which keys the stage gives at its end.
    pub(super) fn await_results(&mut self) {
        let awaited: &[&str] = match self.stage {
            Some(0) => &["planScore"],
            Some(1) => &["readiness", "verdict"],
            Some(3) => &["verdict", "qualityScore"],
            _ => &[],
        };
        if awaited.is_empty() {
            self.editor.remove(&["awaits"]);
        } else {
            self.editor.set(&["awaits"], awaited.to_vec());
        }
    }

    /// Writes what was done last; one line, because the resume block quotes it.
    pub(super) fn act(&mut self, action: &str) {
        self.editor.set(&["lastAction"], clean(action));
    }

    /// Takes away what a pause left.
    pub(super) fn unpause(&mut self) {
        self.editor.remove(&["pausedFrom"]).remove(&["pauseReason"]);
    }

    /// The word of the checkpoint's stage: `STAGE_2`.
    pub(super) fn stage_word(&self) -> String {
        format!("STAGE_{}", self.stage.unwrap_or(0))
    }

    /// Keeps the checkpoint as it was under a free name, when it is where it belongs.
    pub(super) fn archive(&mut self) {
        if !self.is_home {
            return;
        }
        let at = self.moment.now.unix_seconds();
        let name = |number: usize| match number {
            1 => format!("checkpoint-{}-{at}.json", self.story),
            number => format!("checkpoint-{}-{at}-{number}.json", self.story),
        };
        let archive =
            self.path.rsplit_once('/').map_or("archive".to_owned(), |(directory, _)| format!("{directory}/archive"));
        let archived = self.files.list(&archive);
        let free = (1..).map(name).find(|name| !archived.contains(name)).unwrap_or_default();
        self.effects.push(Effect::Keep { from: self.path.clone(), to: format!("{archive}/{free}") });
    }

    /// A list of texts at a path; anything else there is left to a person.
    pub(super) fn list(&self, path: &[&str]) -> Result<Vec<String>, Refusal> {
        let is_good =
            self.editor.look(|root| path.iter().try_fold(root, |value, key| value.get(key)).is_none_or(is_list));
        match is_good {
            true => Ok(self.editor.strings(path)),
            false => Err(in_another_form(&self.path, &path.join("."))),
        }
    }

    pub(super) fn expect_object(&self, key: &str) -> Result<(), Refusal> {
        match self.editor.get(&[key]) {
            None | Some(NewValue::Null | NewValue::Object(_)) => Ok(()),
            Some(_) => Err(in_another_form(&self.path, key)),
        }
    }

    /// Adds an entry to a list of ours.
    pub(super) fn add_entry(&mut self, key: &str, entry: NewValue) -> Result<(), Refusal> {
        match self.editor.get(&[key]) {
            None | Some(NewValue::Null | NewValue::Array(_)) => {
                self.editor.push(&[key], entry);
                Ok(())
            }
            Some(_) => Err(in_another_form(&self.path, key)),
        }
    }
}

/// Writes what the protocol requires at every stage, where a worker that wrote by hand left it out.
fn fill_required(editor: &mut Editor, story: &str, moment: &Moment) {
    editor.set(&["timestamp"], moment.now.to_string());
    for (key, value) in [
        ("storyId", json!(story)),
        ("lastAction", json!("Checkpoint written")),
        ("tasksCompleted", json!([])),
        ("tasksRemaining", json!([])),
    ] {
        if editor.get(&[key]).is_none_or(|known| known.is_null()) {
            editor.set(&[key], value);
        }
    }
    if editor.string(&["agentId"]).is_none() {
        name_agent(editor, moment);
    }
}

fn name_agent(editor: &mut Editor, moment: &Moment) {
    let is_known = editor.string(&["agentId"]).is_some_and(|agent| !agent.trim().is_empty());
    if let Some(session) = &moment.session {
        editor.set(&["agentId"], session.as_str());
    } else if !is_known {
        editor.set(&["agentId"], moment.by.as_str());
    }
}

/// The unit's name as it can be typed wherever another story has the same id.
fn full_name(place: &Place, story: &str) -> String {
    let is_plain = |base: &str| !base.is_empty() && base.split('/').all(|part| Id::parse(part).is_ok());
    match is_plain(&place.base) {
        true => format!("pipeline:{}/{story}", place.base),
        false => format!("pipeline:{story}"),
    }
}

/// Whether something is a list of texts, or nothing.
fn is_list(value: Value<'_, '_>) -> bool {
    match value.kind() {
        Kind::Null => true,
        Kind::Array => value.items().all(|item| item.kind() == Kind::String),
        Kind::True | Kind::False | Kind::Number | Kind::String | Kind::Object => false,
    }
}

/// A text of somebody as one line.
pub(in super::super) fn clean(message: &str) -> String {
    text::printable(message.trim()).into_owned()
}

/// A text of somebody as a part of a summary.
pub(super) fn brief(message: &str) -> String {
    text::fit(&clean(message), 100).into_owned()
}

fn in_another_form(path: &str, key: &str) -> Refusal {
    Refusal::document(format!("`{key}` has another form than the protocol's, and is not written: {path}"))
        .hint(verbs::CHECK.call().path(path).to("see what is wrong with"))
}
