//! What a lead of a pipeline reads and writes: how a worker left a story, and the state of all stories.

use std::collections::BTreeMap;

use piton_model::fleet::{StageResult, Standing};
use piton_model::{Moment, Refusal, State, Time};
use serde_json::{Value as NewValue, json};

use super::briefs::Briefs;
use super::layout;
use super::state::is_our_state;
use super::write::{Draft, clean, verdict_word};
use crate::json::Editor;
use crate::{Files, Place};

/// What a story's documents say about the stage that a worker was started for.
///
/// A checkpoint that cannot be read is an open stage: whoever continues the story has it restored first.
///
/// `no_gos` is how many NO-GOs were answered by another validation: those are over.
pub fn standing(place: &Place, files: &dyn Files, stage: u8, no_gos: u32, moment: &Moment) -> Standing {
    let Ok(draft) = Draft::open(place, files, moment) else { return Standing::Open };
    let Some(unit) = draft.unit.as_ref().filter(|_| draft.has_checkpoint) else { return Standing::Open };
    match &unit.state {
        State::Paused { reason } => {
            let reason = reason.as_deref().map_or_else(|| "somebody paused it".to_owned(), clean);
            return Standing::Halted { reason };
        }
        State::Blocked => return Standing::Halted { reason: clean(&unit.blockers.join("; ")) },
        State::Failed { error } => return Standing::Halted { reason: clean(error) },
        State::Queued | State::Running | State::Waiting | State::Done | State::Unknown => {}
    }
    match draft.stage {
        Some(written) if written == stage => at_stage(&draft, stage, no_gos),
        Some(written) if written > stage || (stage == 3 && written == 2) => {
            Standing::Complete(StageResult::Moved { to: written })
        }
        _ => Standing::Open,
    }
}

/// The stage that a story's checkpoint is at; nothing when there is no checkpoint that can be read.
pub fn stage_of(place: &Place, files: &dyn Files, moment: &Moment) -> Option<u8> {
    Draft::open(place, files, moment).ok().filter(|draft| draft.has_checkpoint)?.stage
}

fn at_stage(draft: &Draft, stage: u8, no_gos: u32) -> Standing {
    let number = |key: &str| draft.editor.get(&[key]).and_then(|value| value.as_f64());
    let text = |key: &str| draft.editor.string(&[key]).map(|text| clean(&text)).unwrap_or_default();
    let has_open_tasks = !draft.editor.strings(&["tasksRemaining"]).is_empty();
    let result = match (stage, verdict_word(draft)) {
        (0, _) => number("planScore").filter(|_| has_open_tasks).map(|score| StageResult::Planned { score }),
        (1, Some("GO")) => Some(StageResult::Go { readiness: number("readiness").unwrap_or(5.0) }),
        (1, Some("NO-GO")) => {
            let given = draft.editor.int(&["noGos"]).unwrap_or(1).max(1);
            (given > i64::from(no_gos)).then(|| StageResult::NoGo { reason: text("reason") })
        }
        (2, _) => (!has_open_tasks).then_some(StageResult::Executed),
        (3, Some(word @ ("PASS" | "CONCERNS" | "WAIVED"))) => {
            Some(StageResult::Passed { word: word.to_owned(), score: number("qualityScore") })
        }
        (3, Some("FAIL")) => Some(StageResult::Failed { issues: text("issues") }),
        _ => None,
    };
    result.map_or(Standing::Open, Standing::Complete)
}

/// Where the lead's state is, below a project.
pub fn state_path() -> String {
    format!("{}/state.json", layout::DIRECTORY)
}

/// What the lead knows of one story.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LeadStory {
    /// Its id.
    pub id: String,
    /// Where it stands, when only the lead can say: a story that somebody is at records that itself.
    pub standing: Option<&'static str>,
    /// Whether an earlier lead put it off, and this one does not.
    pub requeued: bool,
    /// Whether it is neither done nor paused.
    pub remains: bool,
    /// Its worker.
    pub worker: Option<String>,
    /// What was granted: reworks, validations, respawns.
    pub reworks: u32,
    /// See [`LeadStory::reworks`].
    pub no_gos: u32,
    /// See [`LeadStory::reworks`].
    pub crashes: u32,
    /// What each stage resulted in.
    pub results: BTreeMap<u8, String>,
    /// Its worktree, relative to the project.
    pub worktree: Option<String>,
    /// What it waits for.
    pub depends_on: Vec<String>,
    /// When each stage began and ended.
    pub times: BTreeMap<u8, (Option<Time>, Option<Time>)>,
    /// Lines added, lines deleted, files changed.
    pub git: Option<(u64, u64, u64)>,
    /// The readiness that its validation gave.
    pub readiness: Option<f64>,
}

/// What a lead writes down on every heartbeat and transition.
#[derive(Debug, Clone, PartialEq)]
pub struct LeadState {
    /// Whether the pipeline has ended.
    pub complete: bool,
    /// How many workers there are.
    pub active_workers: usize,
    /// When it began.
    pub started: Time,
    /// The name of the team of workers.
    pub team: String,
    /// What the settings tell workers about the project and its stories; what the state says already stays.
    pub briefs: Briefs,
    /// The stories, the most urgent first.
    pub stories: Vec<LeadStory>,
    /// What went wrong that is no story's fault: phase, kind, message.
    pub issues: Vec<(String, String, String)>,
}

/// The lead's state with everything that its table names; what it does not know stays as it is.
pub fn write_state(before: Option<&[u8]>, lead: &LeadState, now: Time) -> Result<Vec<u8>, Refusal> {
    let path = state_path();
    let mut editor = match before {
        None => Editor::create(&json!({ "complete": false })),
        Some(bytes) => {
            let editor = Editor::open(&path, bytes)?;
            if !editor.look(is_our_state) {
                return Err(Refusal::document(format!(
                    "this is the state of another tool, and is not written: {path}"
                ))
                .hint("move it away, or run the stories in another workspace: -C DIR"));
            }
            editor
        }
    };
    let remaining = lead.stories.iter().filter(|story| story.remains).count();
    editor
        .set(&["complete"], lead.complete)
        .set(&["active_workers"], lead.active_workers)
        .set(&["stories_remaining"], remaining)
        .set(&["last_check"], now.to_string());
    // One value a map: each step of an editor reads the document anew.
    for (key, of) in MAPS {
        let mut map = match editor.get(&[key]) {
            Some(NewValue::Object(map)) => map,
            None | Some(NewValue::Null) => serde_json::Map::new(),
            Some(_) => {
                return Err(Refusal::document(format!("`{key}` has another form than the protocol's: {path}"))
                    .hint(format!("see what is wrong with: piton check {path}")));
            }
        };
        for story in &lead.stories {
            let known = map.get(&story.id);
            if let Some(value) = of(story, known) {
                map.insert(story.id.clone(), value);
            }
        }
        editor.set(&[key], NewValue::Object(map));
    }
    let queued = lead.stories.iter().filter(|story| story.remains && story.standing == Some("QUEUED"));
    let queued: Vec<_> = queued.map(|story| story.id.clone()).collect();
    editor.set(&["priority_queue_ids"], queued);
    let issue =
        |(phase, kind, message): &(String, String, String)| json!({"phase": phase, "type": kind, "message": message});
    let issues: Vec<NewValue> = lead.issues.iter().map(issue).collect();
    for (key, value) in [
        ("infra_issues", NewValue::Array(issues)),
        ("status_cache", json!({})),
        ("pipeline_start_time", lead.started.to_string().into()),
        ("team_name", lead.team.as_str().into()),
        ("storage_mode", "file".into()),
        ("skill_repo_path", "".into()),
    ] {
        let is_known = editor.get(&[key]).is_some_and(|value| !value.is_null());
        if !is_known || key == "infra_issues" {
            editor.set(&[key], value);
        }
    }
    let briefs = before.map(Briefs::read).unwrap_or_default().with(&lead.briefs);
    for (key, map) in
        [("business_answers", briefs.answers), ("project_brief", briefs.project), ("story_briefs", briefs.stories)]
    {
        match editor.get(&[key]) {
            // Another form than the protocol's stays as it is.
            Some(NewValue::Bool(_) | NewValue::Number(_) | NewValue::String(_) | NewValue::Array(_)) => {}
            Some(NewValue::Object(known)) if known == map => {}
            Some(NewValue::Object(_) | NewValue::Null) | None => {
                editor.set(&[key], NewValue::Object(map));
            }
        }
    }
    Ok(editor.into_bytes())
}

/// A map of the state, and what it holds of a story; nothing where what it holds stays.
type OfStory = fn(&LeadStory, Option<&NewValue>) -> Option<NewValue>;

const MAPS: [(&str, OfStory); 11] = [
    ("story_state", |story, known| match story.standing {
        // A pause or an end that somebody recorded stands.
        Some(word) if word.starts_with("STAGE_") => {
            let is_settled = known.and_then(NewValue::as_str).is_some_and(|known| matches!(known, "PAUSED" | "DONE"));
            (!is_settled).then(|| word.into())
        }
        // Whoever moved the story recorded that; the lead only knows better where nothing was.
        Some("QUEUED") if !story.requeued && known.is_some_and(|known| !known.is_null()) => None,
        standing => standing.map(NewValue::from),
    }),
    ("worker_map", |story, known| match &story.worker {
        Some(worker) => Some(worker.as_str().into()),
        None => known.map(|_| NewValue::Null),
    }),
    ("quality_cycles", |story, _| Some(story.reworks.into())),
    ("validation_retries", |story, _| Some(story.no_gos.into())),
    ("crash_count", |story, _| Some(story.crashes.into())),
    ("story_results", |story, _| {
        Some(story.results.iter().map(|(stage, result)| (format!("stage{stage}"), NewValue::from(&**result))).collect())
    }),
    ("worktree_map", |story, _| Some(story.worktree.as_deref().map_or(NewValue::Null, NewValue::from))),
    ("depends_on", |story, _| Some(story.depends_on.clone().into())),
    ("stage_timestamps", |story, _| {
        let mut times = serde_json::Map::new();
        for (stage, (start, end)) in &story.times {
            times.extend(start.map(|at| (format!("stage_{stage}_start"), at.to_string().into())));
            times.extend(end.map(|at| (format!("stage_{stage}_end"), at.to_string().into())));
        }
        Some(NewValue::Object(times))
    }),
    ("git_stats", |story, _| {
        let (added, deleted, files) = story.git?;
        Some(json!({ "lines_added": added, "lines_deleted": deleted, "files_changed": files }))
    }),
    ("readiness_scores", |story, _| story.readiness.map(NewValue::from)),
];

/// What an earlier lead knew of a story: reworks, validations, respawns, and whether it was paused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownStory {
    /// Its id.
    pub id: String,
    /// The word of its state.
    pub standing: Option<String>,
    /// What it waits for.
    pub depends_on: Vec<String>,
    /// What was granted.
    pub reworks: u32,
    /// See [`KnownStory::reworks`].
    pub no_gos: u32,
    /// See [`KnownStory::reworks`].
    pub crashes: u32,
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
    let known = |id: String| KnownStory {
        standing: editor.string(&["story_state", &id]),
        depends_on: editor.strings(&["depends_on", &id]),
        reworks: count("quality_cycles", &id),
        no_gos: count("validation_retries", &id),
        crashes: count("crash_count", &id),
        id,
    };
    ids.into_iter().map(known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lead() -> LeadState {
        let story = LeadStory {
            id: "A-1".to_owned(),
            standing: Some("QUEUED"),
            remains: true,
            depends_on: vec!["A-0".to_owned()],
            ..LeadStory::default()
        };
        LeadState {
            complete: false,
            active_workers: 1,
            started: Time::from_unix_seconds(0),
            team: "pipeline-1970-01-01".to_owned(),
            briefs: Briefs::default(),
            stories: vec![story],
            issues: Vec::new(),
        }
    }

    #[test]
    fn a_new_state_has_every_key_of_the_table() {
        let bytes = write_state(None, &lead(), Time::from_unix_seconds(60)).expect("written");
        let value: NewValue = serde_json::from_slice(&bytes).expect("JSON");
        for field in super::super::wire::STATE {
            assert!(value.get(field.key).is_some(), "{} is missing", field.key);
        }
        // What nobody wrote down is empty; a directory's name is no project's name.
        for key in ["business_answers", "project_brief", "story_briefs"] {
            assert_eq!(value[key], json!({}), "{key}");
        }
        assert_eq!(value["story_state"]["A-1"], "QUEUED");
        assert_eq!(value["stories_remaining"], 1);
    }

    #[test]
    fn what_others_wrote_stays() {
        let before = br#"{"complete": true, "mine": [1,  2], "story_state": {"A-1": "PAUSED", "B-9": "DONE"},
            "status_cache": {"x": "y"}}"#;
        let bytes = write_state(Some(before), &lead(), Time::from_unix_seconds(60)).expect("written");
        let text = String::from_utf8(bytes).expect("text");
        assert!(text.contains(r#""mine": [1,  2]"#), "{text}");
        let value: NewValue = serde_json::from_str(&text).expect("JSON");
        // Somebody paused it: that a lead would queue it does not undo that.
        assert_eq!(value["story_state"], json!({"A-1": "PAUSED", "B-9": "DONE"}));
        assert_eq!(value["status_cache"], json!({"x": "y"}));
        let known = known_stories(text.as_bytes());
        assert_eq!(known[0].id, "A-1");
        assert_eq!(known[0].depends_on, ["A-0"]);
    }

    #[test]
    fn the_state_of_another_tool_is_not_written() {
        let refused = write_state(Some(br#"{"pipelines": []}"#), &lead(), Time::from_unix_seconds(60)).unwrap_err();
        assert!(refused.message.contains("another tool"), "{refused}");
    }
}
