//! What an earlier lead wrote down about its stories.

use piton_model::Time;
use serde_json::Value as NewValue;

use super::super::state::is_our_state;
use super::state_path;
use crate::json::Editor;
use crate::time;

/// What an earlier lead knew of a story: reworks, validations, respawns, and whether it was paused.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KnownStory {
    /// Its id.
    pub id: String,
    /// The word of its state.
    pub standing: Option<String>,
    /// What it waits for.
    pub depends_on: Vec<String>,
    /// The worktree that it was worked on in.
    pub worktree: Option<String>,
    /// When its first stage began.
    pub began: Option<Time>,
    /// What was granted.
    pub reworks: u32,
    /// See [`KnownStory::reworks`].
    pub no_gos: u32,
    /// See [`KnownStory::reworks`].
    pub crashes: u32,
    /// The readiness that its validation gave.
    pub readiness: Option<f64>,
}

/// The stories that the lead's state names, those of its queue in that order; nothing when it is not ours.
pub fn known_stories(bytes: &[u8]) -> Vec<KnownStory> {
    let Ok(editor) = Editor::open(&state_path(), bytes) else { return Vec::new() };
    if !editor.look(is_our_state) {
        return Vec::new();
    }
    let mut ids = editor.strings(&["priority_queue_ids"]);
    for key in ["story_state", "depends_on"] {
        let Some(NewValue::Object(map)) = editor.get(&[key]) else { continue };
        for (id, _) in map {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
    }
    let count =
        |key: &str, id: &str| editor.int(&[key, id]).and_then(|count| u32::try_from(count).ok()).unwrap_or_default();
    let began = |id: &str| {
        let Some(NewValue::Object(times)) = editor.get(&["stage_timestamps", id]) else { return None };
        let texts = times.iter().filter_map(|(key, _)| editor.string(&["stage_timestamps", id, key]));
        texts.filter_map(|text| time::read(&text).time()).min()
    };
    let known = |id: String| KnownStory {
        began: began(&id),
        standing: editor.string(&["story_state", &id]),
        depends_on: editor.strings(&["depends_on", &id]),
        worktree: editor.string(&["worktree_map", &id]),
        reworks: count("quality_cycles", &id),
        no_gos: count("validation_retries", &id),
        crashes: count("crash_count", &id),
        readiness: editor.get(&["readiness_scores", &id]).as_ref().and_then(NewValue::as_f64),
        id,
    };
    ids.into_iter().map(known).collect()
}
