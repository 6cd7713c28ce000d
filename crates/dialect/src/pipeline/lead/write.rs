//! `.pipeline/state.json` with all fields of its table, on every write.

use piton_model::{Refusal, State, Time};
use serde_json::{Map, Value as NewValue, json};

use super::super::briefs::{Briefs, PROJECT_KEYS, STORY_KEYS};
use super::super::checkpoint::read_checkpoint;
use super::super::layout::File;
use super::super::state::is_our_state;
use super::super::write::number;
use super::super::{Seen, read, wire};
use super::{LeadState, LeadStory, state_path};
use crate::Source;
use crate::json::Editor;

/// How many issues of the infrastructure are kept.
const MOST_ISSUES: usize = 200;

/// A state that is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenState {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Why the file that was there cannot be continued, and is to be kept aside; nothing when it can.
    pub aside: Option<String>,
}

/// The lead's state with everything that its table names; what the lead does not know stays as it is.
///
/// A state that is missing, or of which nothing can be read, is rebuilt from what the lead knows and from the stories'
/// checkpoints; those are asked for only then. The state of another tool is refused.
pub fn write_state(
    before: Option<&[u8]>,
    lead: &LeadState,
    checkpoints: &dyn Fn() -> Vec<(String, Vec<u8>)>,
    now: Time,
) -> Result<WrittenState, Refusal> {
    let path = state_path();
    let opened = before.map(|bytes| Editor::open(&path, bytes));
    let (editor, mut aside) = match opened {
        Some(Ok(editor)) if !editor.look(is_our_state) => {
            return Err(Refusal::document(format!("this is the state of another tool, and is not written: {path}"))
                .hint("move it away, or run the stories in another workspace: -C DIR"));
        }
        Some(Ok(editor)) => (Some(editor), None),
        Some(Err(refusal)) => (None, Some(refusal.message)),
        None => (None, None),
    };
    let mut lead = lead.clone();
    if editor.is_none() {
        rebuild(&mut lead, checkpoints(), now);
    }
    let mut writing = Writing {
        was_complete: editor.as_ref().is_some_and(|editor| editor.get(&["complete"]) == Some(NewValue::Bool(true))),
        editor: editor.unwrap_or_else(|| Editor::create(&json!({ "complete": false }))),
        odd: Vec::new(),
    };
    writing.write(&lead, now);
    if !writing.odd.is_empty() {
        aside = Some(format!("another form than the protocol's: {}", writing.odd.join(", ")));
    }
    Ok(WrittenState { bytes: writing.editor.into_bytes(), aside })
}

/// Adds what the checkpoints say: where stories of the run stand that record that themselves, and stories of others.
fn rebuild(lead: &mut LeadState, checkpoints: Vec<(String, Vec<u8>)>, now: Time) {
    for (path, bytes) in checkpoints {
        let source = Source { path: path.as_str().into(), bytes: &bytes, modified: None };
        let Ok(checkpoint) = read_checkpoint(&source, File::Checkpoint, now) else { continue };
        let (id, stage) = (checkpoint.story.clone(), checkpoint.stage);
        let mut state = None;
        read(None, vec![checkpoint], Default::default(), now, &mut |seen| {
            if let Seen::Story(unit, _) = seen {
                state = Some(unit.state);
            }
        });
        let word = match (state, stage) {
            (Some(State::Done), _) => "DONE",
            (Some(State::Paused { .. }), _) => "PAUSED",
            (Some(State::Running | State::Blocked), Some(stage)) => STAGES[usize::from(stage)],
            _ => continue,
        };
        match lead.stories.iter_mut().find(|story| story.id == id) {
            Some(story) => story.standing = story.standing.or(Some(word)),
            None => lead.stories.push(LeadStory { id, standing: Some(word), ..LeadStory::default() }),
        }
    }
}

/// The protocol's words for the stages.
const STAGES: [&str; 4] = ["STAGE_0", "STAGE_1", "STAGE_2", "STAGE_3"];

struct Writing {
    editor: Editor,
    /// Whether the pipeline had ended: then another one begins.
    was_complete: bool,
    /// Keys that held something else than the protocol says.
    odd: Vec<String>,
}

impl Writing {
    fn write(&mut self, lead: &LeadState, now: Time) {
        let states = self.stories(lead);
        let is_open = |word: &NewValue| !matches!(word_of(word), Some("DONE" | "PAUSED"));
        let open = states.values().filter(|word| is_open(word)).count();
        let silent = lead.stories.iter().filter(|story| story.remains && !states.contains_key(&story.id)).count();
        let active = lead.stories.iter().filter(|story| story.worker.is_some()).count();
        let queue = self.queue(lead, &states);
        self.editor
            .set(&["complete"], lead.complete)
            .set(&["active_workers"], active)
            .set(&["stories_remaining"], open + silent)
            .set(&["last_check"], now.to_string())
            .set(&["priority_queue_ids"], queue);
        let issues = self.issues(lead);
        self.editor.set(&["infra_issues"], issues);
        self.briefs(lead);
        let cache = self.map("status_cache");
        self.editor.set(&["status_cache"], NewValue::Object(cache));
        // Another pipeline begins where the last one has ended.
        self.text("pipeline_start_time", &lead.started.to_string(), self.was_complete);
        self.text("team_name", &lead.team, self.was_complete);
        self.text("storage_mode", "file", false);
        self.text("skill_repo_path", "", false);
    }

    /// Writes the maps that have an entry for each story, and returns where each story stands.
    fn stories(&mut self, lead: &LeadState) -> Map<String, NewValue> {
        for (key, of) in MAPS {
            let mut map = self.map(key);
            for story in &lead.stories {
                match of(story, map.get(&story.id)) {
                    Entry::Set(value) => {
                        map.insert(story.id.clone(), value);
                    }
                    Entry::Keep => {}
                    Entry::Remove => {
                        map.remove(&story.id);
                    }
                }
            }
            map.retain(|id, _| !lead.taken_out.contains(id));
            if key == PAUSES && map.is_empty() {
                // No field of the protocol: it is there while it says something.
                self.editor.remove(&[key]);
                continue;
            }
            // One value a map: each step of an editor reads the document anew.
            self.editor.set(&[key], NewValue::Object(map));
        }
        self.map("story_state")
    }

    /// The queue: the lead's stories in its order, then those of a pipeline that was taken over.
    fn queue(&mut self, lead: &LeadState, states: &Map<String, NewValue>) -> Vec<String> {
        let is_queued = |id: &str| states.get(id).is_none_or(|word| word_of(word) == Some("QUEUED"));
        let own = lead.stories.iter().filter(|story| story.remains && is_queued(&story.id));
        let own: Vec<_> = own.map(|story| story.id.clone()).collect();
        let is_foreign = |id: &String| {
            lead.stories.iter().all(|story| story.id != *id) && !lead.taken_out.contains(id) && is_queued(id)
        };
        let known = self.list("priority_queue_ids");
        let known = known.into_iter().filter_map(|id| id.as_str().map(str::to_owned)).filter(is_foreign);
        let mut queue = own;
        for id in known {
            if !queue.contains(&id) {
                queue.push(id);
            }
        }
        queue
    }

    /// What workers are told: the settings count more than what is known, key by key; what nothing says is empty.
    fn briefs(&mut self, lead: &LeadState) {
        let known = Briefs {
            answers: self.map("business_answers"),
            project: self.map("project_brief"),
            stories: self.map("story_briefs"),
        };
        let mut briefs = known.with(&lead.briefs);
        fill(&mut briefs.project, &PROJECT_KEYS);
        for brief in briefs.stories.values_mut().filter_map(NewValue::as_object_mut) {
            fill(brief, &STORY_KEYS);
        }
        self.editor
            .set(&["business_answers"], NewValue::Object(briefs.answers))
            .set(&["project_brief"], NewValue::Object(briefs.project))
            .set(&["story_briefs"], NewValue::Object(briefs.stories));
    }

    fn issues(&mut self, lead: &LeadState) -> NewValue {
        let mut all = self.list("infra_issues");
        for (phase, kind, message) in &lead.issues {
            let issue = json!({ "phase": phase, "type": kind, "message": message });
            if !all.contains(&issue) {
                all.push(issue);
            }
        }
        let first = all.len().saturating_sub(MOST_ISSUES);
        NewValue::Array(all.split_off(first))
    }

    /// Writes a text where there is none, or where it belongs to a pipeline that has ended.
    fn text(&mut self, key: &'static str, value: &str, is_over: bool) {
        match self.editor.get(&[key]) {
            Some(NewValue::String(known)) if !known.is_empty() && !is_over => return,
            None | Some(NewValue::Null | NewValue::String(_)) => {}
            Some(_) => self.odd.push(key.to_owned()),
        }
        self.editor.set(&[key], value);
    }

    fn map(&mut self, key: &'static str) -> Map<String, NewValue> {
        match self.editor.get(&[key]) {
            Some(NewValue::Object(map)) => map,
            None | Some(NewValue::Null) => Map::new(),
            Some(_) => {
                self.odd.push(key.to_owned());
                Map::new()
            }
        }
    }

    fn list(&mut self, key: &'static str) -> Vec<NewValue> {
        match self.editor.get(&[key]) {
            Some(NewValue::Array(list)) => list,
            None | Some(NewValue::Null) => Vec::new(),
            Some(_) => {
                self.odd.push(key.to_owned());
                Vec::new()
            }
        }
    }
}

/// Adds the keys of a brief that are missing, empty. Files and rules are lists.
fn fill(brief: &mut Map<String, NewValue>, keys: &[&str]) {
    for key in keys {
        let empty = if matches!(*key, "keyFiles" | "key_rules") { json!([]) } else { json!("") };
        let known = brief.entry(*key).or_insert_with(|| empty.clone());
        if known.is_null() {
            *known = empty;
        }
    }
}

/// The protocol's word for where a story stands.
fn word_of(value: &NewValue) -> Option<&'static str> {
    wire::STORY_STATE.read(value.as_str()?).word()
}

/// What becomes of a story's entry in a map.
enum Entry {
    Set(NewValue),
    Keep,
    Remove,
}

impl From<Option<NewValue>> for Entry {
    fn from(value: Option<NewValue>) -> Entry {
        value.map_or(Entry::Keep, Entry::Set)
    }
}

/// Reasons of pauses that no checkpoint holds.
const PAUSES: &str = "pause_reasons";

/// A map of the state, and what it holds of a story.
type OfStory = fn(&LeadStory, Option<&NewValue>) -> Entry;

const MAPS: [(&str, OfStory); 12] = [
    ("story_state", story_state),
    ("worker_map", |story, _| story.worker.as_deref().map_or(Entry::Remove, |worker| Entry::Set(worker.into()))),
    ("quality_cycles", |story, _| Entry::Set(story.reworks.into())),
    ("validation_retries", |story, _| Entry::Set(story.no_gos.into())),
    ("crash_count", |story, _| Entry::Set(story.crashes.into())),
    ("story_results", |story, known| {
        let mut results = known.and_then(NewValue::as_object).cloned().unwrap_or_default();
        results.extend(story.results.iter().map(|(stage, result)| (format!("stage{stage}"), result.as_str().into())));
        Entry::Set(NewValue::Object(results))
    }),
    ("worktree_map", |story, known| match (&story.worktree, known) {
        (Some(worktree), _) => Entry::Set(worktree.as_str().into()),
        (None, Some(_)) => Entry::Keep,
        (None, None) => Entry::Set(NewValue::Null),
    }),
    ("depends_on", |story, _| Entry::Set(story.depends_on.clone().into())),
    ("stage_timestamps", |story, known| {
        let mut times = known.and_then(NewValue::as_object).cloned().unwrap_or_default();
        for (stage, (start, end)) in &story.times {
            times.extend(start.map(|at| (format!("stage_{stage}_start"), at.to_string().into())));
            times.extend(end.map(|at| (format!("stage_{stage}_end"), at.to_string().into())));
        }
        Entry::Set(NewValue::Object(times))
    }),
    ("git_stats", |story, _| {
        let stats = story.git.map(
            |(added, deleted, files)| json!({ "lines_added": added, "lines_deleted": deleted, "files_changed": files }),
        );
        stats.into()
    }),
    ("readiness_scores", |story, _| story.readiness.map(number).into()),
    (PAUSES, |story, _| story.pause.as_deref().map_or(Entry::Remove, |reason| Entry::Set(reason.into()))),
];

/// Where a story stands. A word that no rule understands is a person's, and a pause or an end that was recorded stands.
fn story_state(story: &LeadStory, known: Option<&NewValue>) -> Entry {
    let known = known.filter(|known| !known.is_null());
    let is_a_person_s = known.is_some_and(|known| word_of(known).is_none());
    let is_settled = known.and_then(word_of).is_some_and(|word| matches!(word, "PAUSED" | "DONE"));
    match story.standing {
        _ if is_a_person_s => Entry::Keep,
        None => Entry::Keep,
        Some(word) if word.starts_with("STAGE_") && is_settled => Entry::Keep,
        // Whoever moved the story recorded that; the lead only knows better where nothing was.
        Some("QUEUED") if known.is_some() && !story.requeued => Entry::Keep,
        Some(word) => Entry::Set(word.into()),
    }
}
