use std::collections::BTreeMap;

use piton_model::{Change, Effect, Finding, Moment, Refusal, Severity, Unit, text};
use serde_json::{Value as NewValue, json};

use super::super::layout::{self, File};
use super::super::state::is_our_state;
use super::super::{Checkpoint, Seen, codes, is_our_checkpoint, read, read_checkpoint};
use crate::json::{Editor, Kind, Value};
use crate::{Files, Place, Source};

/// The keys that belong to one stage, with that stage; `verdict` belongs to two and goes with either.
const STAGE_KEYS: [&str; 6] = ["planScore", "readiness", "verdict", "reason", "qualityScore", "issues"];

/// The lists of texts in a checkpoint.
const LISTS: [&str; 5] = ["tasksCompleted", "tasksRemaining", "plannedTasks", "tasksSkipped", "awaits"];

/// A story that is being changed: its checkpoint, and its place in the lead's state.
pub(in super::super) struct Draft<'f> {
    /// The unit's name: `pipeline:PROJ-42`.
    pub name: String,
    pub story: String,
    pub path: String,
    /// The checkpoint; empty when there is none yet.
    pub editor: Editor,
    pub has_checkpoint: bool,
    /// Whether the checkpoint lies where it is written.
    is_home: bool,
    /// The stage in the checkpoint.
    pub stage: Option<u8>,
    /// The unit as it was read, before any change.
    pub unit: Option<Unit>,
    /// What has to be said loudly.
    pub warnings: Vec<String>,
    /// What else happens to files, before the checkpoint is written.
    pub effects: Vec<Effect>,
    pub moment: Moment,
    /// The lead's state, when there is one that can be read.
    state: Option<StateFile>,
    files: &'f dyn Files,
    broken: BTreeMap<&'static str, usize>,
}

struct StateFile {
    path: String,
    before: Vec<u8>,
    editor: Editor,
}

impl<'f> Draft<'f> {
    /// Opens a story to be changed. What is not a checkpoint of ours is left to a person.
    pub(in super::super) fn open(place: &Place, files: &'f dyn Files, moment: &Moment) -> Result<Draft<'f>, Refusal> {
        let (story, path) = (super::story(place).to_owned(), super::path(place));
        let mut warnings = Vec::new();
        let state = open_state(place, files, &mut warnings)?;
        let found = find(place, files, &story, &path, moment)?;
        if let Some((from, _)) = found.as_ref().filter(|(from, _)| *from != path) {
            warnings.push(format!("the checkpoint lay in a worktree, where the lead never looks: {from}"));
        }
        let editor = match &found {
            Some((from, bytes)) => Editor::open(from, bytes)?,
            None => Editor::create(&json!({})),
        };
        if found.is_some() && !editor.look(is_our_checkpoint) {
            return Err(Refusal::document(format!("this is not a story's checkpoint, and is not written: {path}")));
        }
        let bytes = found.as_ref().map(|(_, bytes)| bytes.as_slice());
        let now_state = state.as_ref().map(|state| (state.path.as_str(), state.before.as_slice()));
        let (unit, findings) = look(&story, &path, bytes, now_state, moment);
        let stage = editor.int(&["stage"]).and_then(|stage| u8::try_from(stage).ok()).filter(|stage| *stage <= 3);
        let draft = Draft {
            name: format!("pipeline:{story}"),
            is_home: found.as_ref().is_some_and(|(from, _)| *from == path),
            has_checkpoint: found.is_some(),
            story,
            path,
            editor,
            stage,
            unit,
            warnings,
            effects: Vec::new(),
            moment: moment.clone(),
            state,
            files,
            broken: broken(&findings),
        };
        let odd = draft.editor.look(|root| LISTS.into_iter().find(|key| !root.get(key).is_none_or(is_list)));
        match odd {
            Some(key) => Err(in_another_form(&draft.path, key)),
            None => Ok(draft),
        }
    }

    /// The change that writes what became of it. A rule that would be broken by it, and is not yet, refuses it.
    pub(super) fn close(mut self, summary: String) -> Result<Change, Refusal> {
        let now = self.moment.now.to_string();
        self.editor.set(&["timestamp"], now.as_str());
        if self.editor.string(&["lastAction"]).is_none() {
            self.editor.set(&["lastAction"], "Checkpoint written");
        }
        if let Some(state) = self.state.as_mut().filter(|state| state.is_changed()) {
            state.editor.set(&["last_check"], now.as_str());
        }
        let bytes = self.editor.into_bytes();
        let state = self.state.map(|state| {
            let is_changed = state.is_changed();
            (state.path, state.editor.into_bytes(), state.before, is_changed)
        });
        let now_state = state.as_ref().map(|(path, bytes, ..)| (path.as_str(), bytes.as_slice()));
        let (_, findings) = look(&self.story, &self.path, Some(&bytes), now_state, &self.moment);
        refuse_worse(&self.broken, &findings)?;
        self.warnings.extend(newly_stuck(&self.broken, &findings));
        self.effects.push(Effect::Write { path: self.path, bytes });
        if let Some((path, bytes, before, true)) = state {
            self.effects.push(Effect::Share { path, bytes, before: Some(before) });
        }
        Ok(Change { summary, warnings: self.warnings, effects: self.effects })
    }

    /// Refuses when there is no checkpoint.
    pub(super) fn require_checkpoint(&self) -> Result<(), Refusal> {
        if self.has_checkpoint {
            return Ok(());
        }
        Err(Refusal::missing(format!("there is no checkpoint of {}", self.name))
            .hint(format!("start it: piton start {}", self.name)))
    }

    /// Adds to a refusal what leads on.
    pub(super) fn explain(&self, refusal: Refusal) -> Refusal {
        refusal.hint(format!("see why: piton why {}", self.name))
    }

    /// Where the lead's state says that the story stands.
    pub(in super::super) fn standing(&self) -> Option<String> {
        self.state.as_ref().and_then(|state| state.editor.string(&["story_state", &self.story]))
    }

    /// Whether there is a lead's state that can be read.
    pub(in super::super) fn has_state(&self) -> bool {
        self.state.is_some()
    }

    /// How often the lead counted something of this story.
    pub(super) fn counted(&self, key: &str) -> i64 {
        self.state.as_ref().and_then(|state| state.editor.int(&[key, &self.story])).unwrap_or(0)
    }

    /// Moves the story in the lead's state, where there is one.
    pub(super) fn stand(&mut self, word: &str) -> Result<(), Refusal> {
        let Some(state) = &mut self.state else { return Ok(()) };
        match state.editor.get(&["story_state"]) {
            None | Some(NewValue::Null | NewValue::Object(_)) => {}
            Some(_) => return Err(in_another_form(&state.path, "story_state")),
        }
        state.editor.set(&["story_state", &self.story], word);
        Ok(())
    }

    /// Enters a stage: what belonged to the one before is kept aside, and what this one gives at its end is awaited.
    pub(super) fn enter(&mut self, stage: u8) -> Result<(), Refusal> {
        self.shelve()?;
        self.editor.set(&["stage"], stage);
        match stage {
            // Nothing is executed while a story is validated; the tasks come back with stage 2.
            1 => {
                let tasks = self.list(&["tasksRemaining"])?;
                if !tasks.is_empty() {
                    self.editor.set(&["plannedTasks"], tasks);
                }
                self.editor.set(&["tasksRemaining"], json!([]));
            }
            2 => {
                let planned = self.list(&["plannedTasks"])?;
                for task in &planned {
                    self.editor.push_new(&["tasksRemaining"], task);
                }
                self.editor.remove(&["plannedTasks"]);
            }
            _ => {}
        }
        self.stage = Some(stage);
        self.await_results();
        Ok(())
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

impl StateFile {
    fn is_changed(&self) -> bool {
        self.editor.clone().into_bytes() != self.before
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
        .hint(format!("see what is wrong with: piton check {path}"))
}

fn open_state(place: &Place, files: &dyn Files, warnings: &mut Vec<String>) -> Result<Option<StateFile>, Refusal> {
    let path = place.path(&format!("{}/state.json", layout::DIRECTORY));
    let Some(before) = files.read(&path)? else { return Ok(None) };
    match Editor::open(&path, &before) {
        Ok(editor) if editor.look(is_our_state) => Ok(Some(StateFile { path, before, editor })),
        // The state of another tool is left alone, and nothing is missing.
        Ok(_) => Ok(None),
        Err(_) => {
            warnings.push(format!("the lead's state cannot be read and is not written: {path}"));
            Ok(None)
        }
    }
}

/// The checkpoint that counts: at home or, when that is newer, in a worktree.
fn find(
    place: &Place,
    files: &dyn Files,
    story: &str,
    path: &str,
    moment: &Moment,
) -> Result<Option<(String, Vec<u8>)>, Refusal> {
    let home = files.read(path)?.map(|bytes| (path.to_owned(), bytes));
    let worktrees = place.path(layout::WORKTREES);
    let written = |path: &str, bytes: &[u8], file| {
        let source = Source { path: path.into(), bytes, modified: None };
        read_checkpoint(&source, file, moment.now).ok().filter(|checkpoint| checkpoint.story == story)
    };
    let mut newest = None;
    for worktree in files.list(&worktrees) {
        let stray = format!("{worktrees}/{worktree}/{}", layout::path_of(story));
        // A stray that cannot be read is no reason not to write at home.
        let Some(bytes) = files.read(&stray).ok().flatten() else { continue };
        let Some(checkpoint) = written(&stray, &bytes, File::Stray) else { continue };
        let at = checkpoint.written(moment.now);
        if newest.as_ref().is_none_or(|(newest, _, _)| at > *newest) {
            newest = Some((at, stray, bytes));
        }
    }
    let Some((at, stray, bytes)) = newest else { return Ok(home) };
    let is_newer = match &home {
        None => true,
        Some((path, bytes)) => {
            written(path, bytes, File::Checkpoint).is_some_and(|checkpoint| at > checkpoint.written(moment.now))
        }
    };
    Ok(if is_newer { Some((stray, bytes)) } else { home })
}

/// Reads the story from the bytes of its checkpoint and of the lead's state.
fn look(
    story: &str,
    path: &str,
    checkpoint: Option<&[u8]>,
    state: Option<(&str, &[u8])>,
    moment: &Moment,
) -> (Option<Unit>, Vec<Finding>) {
    let mut all = Vec::new();
    let checkpoint: Option<Checkpoint> = checkpoint.and_then(|bytes| {
        let source = Source { path: path.into(), bytes, modified: None };
        read_checkpoint(&source, File::Checkpoint, moment.now).map_err(|findings| all.extend(findings)).ok()
    });
    let id = checkpoint.as_ref().map_or_else(|| story.to_owned(), |checkpoint| checkpoint.story.clone());
    let state = state.map(|(path, bytes)| Source { path: path.into(), bytes, modified: None });
    let mut own = None;
    read(state.as_ref(), checkpoint.into_iter().collect(), moment.now, &mut |seen| match seen {
        Seen::Story(unit, findings) => {
            all.extend(findings);
            if unit.id == id {
                own = Some(*unit);
            }
        }
        Seen::Loose(findings) => all.extend(findings),
    });
    (own, all)
}

fn broken(findings: &[Finding]) -> BTreeMap<&'static str, usize> {
    let mut broken = BTreeMap::new();
    for finding in findings.iter().filter(|finding| finding.code.severity == Severity::Error) {
        *broken.entry(finding.code.name).or_default() += 1;
    }
    broken
}

/// That no other story can go on any more, when that was not so before.
fn newly_stuck(before: &BTreeMap<&'static str, usize>, findings: &[Finding]) -> Option<String> {
    let code = &codes::PIPELINE_DEADLOCK;
    let stuck = findings.iter().find(|finding| finding.code.name == code.name)?;
    (!before.contains_key(code.name)).then(|| format!("{}; {}", stuck.message, code.help))
}

/// Refuses what breaks a rule that was not broken before. A plan that is not good enough is a result, not a mistake,
/// and a story may be paused even when others wait for it.
fn refuse_worse(before: &BTreeMap<&'static str, usize>, findings: &[Finding]) -> Result<(), Refusal> {
    let after = broken(findings);
    let is_new = |name: &str| after.get(name).unwrap_or(&0) > before.get(name).unwrap_or(&0);
    let errors = findings.iter().filter(|finding| finding.code.severity == Severity::Error);
    let results = [codes::PIPELINE_PLAN_SCORE.name, codes::PIPELINE_DEADLOCK.name];
    let mut worse = errors.filter(|finding| !results.contains(&finding.code.name));
    match worse.find(|finding| is_new(finding.code.name)) {
        Some(finding) => Err(Refusal::rule(format!("this would break a rule: {}", finding.message))
            .hint(format!("{} ({})", finding.code.help, finding.code.name))),
        None => Ok(()),
    }
}
