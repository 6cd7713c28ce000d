use std::borrow::Cow;
use std::collections::HashMap;

use piton_model::{Finding, Id};

use super::{codes, wire};
use crate::json::{Kind, Value};
use crate::words::Word;
use crate::{Findings, codes as any};

/// How many stories of one pipeline are read.
const MOST_STORIES: usize = 100_000;

/// Whether an object is a pipeline's state, and not that of another tool that uses the same path: `complete` with
/// one more of its keys, or stories whose states are its words.
pub fn is_our_state(object: Value<'_, '_>) -> bool {
    let knows_states = |states: Value<'_, '_>| {
        let word = |(_, state): (_, Value<'_, '_>)| state.as_str().is_some_and(|text| is_state_word(&text));
        states.entries().any(word)
    };
    let is_complete = object.get("complete").is_some_and(|complete| complete.as_bool().is_some());
    let telling = [
        ("active_workers", Kind::Number),
        ("stories_remaining", Kind::Number),
        ("last_check", Kind::String),
        ("story_state", Kind::Object),
        ("worker_map", Kind::Object),
        ("quality_cycles", Kind::Object),
        ("validation_retries", Kind::Object),
        ("crash_count", Kind::Object),
        ("priority_queue_ids", Kind::Array),
        ("story_results", Kind::Object),
        ("infra_issues", Kind::Array),
        ("worktree_map", Kind::Object),
        ("depends_on", Kind::Object),
        ("status_cache", Kind::Object),
        ("stage_timestamps", Kind::Object),
        ("git_stats", Kind::Object),
        ("pipeline_start_time", Kind::String),
        ("readiness_scores", Kind::Object),
        ("team_name", Kind::String),
        ("business_answers", Kind::Object),
        ("storage_mode", Kind::String),
        ("skill_repo_path", Kind::String),
        ("project_brief", Kind::Object),
        ("story_briefs", Kind::Object),
    ];
    let has_another = || telling.iter().any(|(key, kind)| object.get(key).is_some_and(|value| value.kind() == *kind));
    (is_complete && has_another()) || object.get("story_state").is_some_and(knows_states)
}

fn is_state_word(text: &str) -> bool {
    matches!(wire::STORY_STATE.read(text), Word::Exact(_))
}

/// What the state's maps say about a story, by map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fact {
    State,
    Worker,
    Depends,
    Quality,
    Validation,
    Crash,
    Results,
    Worktree,
    Times,
    Git,
    Readiness,
    Brief,
    Pause,
}

/// The maps; a story that only a later one names is not a story of the pipeline.
const FACTS: [(Fact, &str); 13] = [
    (Fact::State, "story_state"),
    (Fact::Worker, "worker_map"),
    (Fact::Depends, "depends_on"),
    (Fact::Quality, "quality_cycles"),
    (Fact::Validation, "validation_retries"),
    (Fact::Crash, "crash_count"),
    (Fact::Results, "story_results"),
    (Fact::Worktree, "worktree_map"),
    (Fact::Times, "stage_timestamps"),
    (Fact::Git, "git_stats"),
    (Fact::Readiness, "readiness_scores"),
    (Fact::Brief, "story_briefs"),
    (Fact::Pause, "pause_reasons"),
];

/// How many of [`FACTS`] name the pipeline's stories.
const NAMING: usize = 3;

/// Where a story stands, according to the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Queued,
    Stage(u8),
    Done,
    Paused,
    /// The state says something that no rule understands.
    Unknown,
    /// Only a checkpoint names it.
    Absent,
}

/// A story, as the state describes it.
pub(super) struct Story<'a, 'j> {
    pub id: Cow<'a, str>,
    facts: [Option<Value<'a, 'j>>; FACTS.len()],
    /// Where the state names it first.
    pub named: Option<Value<'a, 'j>>,
    pub in_queue: bool,
    pub standing: Standing,
    /// The stories it depends on.
    pub depends: Vec<usize>,
    pub unknown_dependencies: Vec<String>,
    /// It is queued, and nothing that runs or may start can free it.
    pub is_blocked: bool,
    pub findings: Vec<Finding>,
}

impl<'a, 'j> Story<'a, 'j> {
    pub(super) fn fact(&self, fact: Fact) -> Option<Value<'a, 'j>> {
        self.facts[fact as usize]
    }

    /// Whether it will not be worked on any more, as far as the pipeline goes.
    pub(super) fn is_settled(&self) -> bool {
        matches!(self.standing, Standing::Done | Standing::Paused)
    }
}

/// All stories of a pipeline, in the order in which its documents name them.
#[derive(Default)]
pub(super) struct Stories<'a, 'j> {
    pub list: Vec<Story<'a, 'j>>,
    by_id: HashMap<Cow<'a, str>, usize>,
    is_full: bool,
}

impl<'a, 'j> Stories<'a, 'j> {
    /// Collects the stories that the state names.
    pub(super) fn collect(root: Value<'a, 'j>, findings: &mut Findings<'_>) -> Stories<'a, 'j> {
        let mut stories = Stories::default();
        for (place, (_, key)) in FACTS.iter().enumerate() {
            if place == NAMING {
                stories.queue(root, findings);
            }
            let Some(map) = root.get(key) else { continue };
            for (key, value) in map.entries() {
                let id = key.as_str().expect("a key is a string");
                let known = stories.by_id.get(&id).copied();
                let story = if place < NAMING { stories.named(id, key) } else { known };
                if let Some(story) = story {
                    stories.list[story].facts[place] = Some(value);
                }
            }
        }
        stories.link(findings);
        stories
    }

    pub(super) fn get(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// The place of the story with this id, which is added when it is new. Nothing when there are too many.
    pub(super) fn named_by_checkpoint(&mut self, id: &str) -> Option<usize> {
        self.get(id).or_else(|| self.add(Cow::Owned(id.to_owned()), None))
    }

    fn queue(&mut self, root: Value<'a, 'j>, findings: &mut Findings<'_>) {
        for item in root.get("priority_queue_ids").into_iter().flat_map(Value::items) {
            let Some(id) = item.as_str() else { continue };
            let Some(place) = self.named(id, item) else { continue };
            let story = &mut self.list[place];
            if std::mem::replace(&mut story.in_queue, true) {
                let message = format!("{} stands twice in `priority_queue_ids`", item.raw());
                findings.at(item.span().start, &codes::PIPELINE_QUEUE, message);
            }
        }
    }

    fn named(&mut self, id: Cow<'a, str>, place: Value<'a, 'j>) -> Option<usize> {
        self.get(&id).or_else(|| self.add(id, Some(place)))
    }

    fn add(&mut self, id: Cow<'a, str>, named: Option<Value<'a, 'j>>) -> Option<usize> {
        if self.list.len() >= MOST_STORIES {
            self.is_full = true;
            return None;
        }
        self.by_id.insert(id.clone(), self.list.len());
        self.list.push(Story {
            id,
            facts: [None; FACTS.len()],
            named,
            in_queue: false,
            standing: Standing::Absent,
            depends: Vec::new(),
            unknown_dependencies: Vec::new(),
            is_blocked: false,
            findings: Vec::new(),
        });
        Some(self.list.len() - 1)
    }

    /// Finds out where each story stands and what it depends on.
    fn link(&mut self, findings: &mut Findings<'_>) {
        if self.is_full {
            findings.whole(
                &codes::PIPELINE_TOO_MANY,
                format!("there are more than {MOST_STORIES} stories; the rest is not read"),
            );
        }
        for place in 0..self.list.len() {
            let story = &self.list[place];
            let standing = standing(story.fact(Fact::State));
            let mut known = Vec::new();
            let mut unknown = Vec::new();
            for dependency in story.fact(Fact::Depends).into_iter().flat_map(Value::items) {
                let Some(id) = dependency.as_str() else { continue };
                match self.by_id.get(&id) {
                    Some(dependency) => known.push(*dependency),
                    None => unknown.push(id.into_owned()),
                }
            }
            let story = &mut self.list[place];
            if let (Err(why), Some(named)) = (Id::parse(&story.id), story.named) {
                findings.at(named.span().start, &any::BAD_ID, format!("{:?} is not an id: {why}", story.id));
            }
            (story.standing, story.depends, story.unknown_dependencies) = (standing, known, unknown);
        }
    }
}

fn standing(state: Option<Value<'_, '_>>) -> Standing {
    let Some(state) = state else { return Standing::Queued };
    match state.as_str().and_then(|text| wire::STORY_STATE.read(&text).word()) {
        Some("QUEUED") => Standing::Queued,
        Some("STAGE_0") => Standing::Stage(0),
        Some("STAGE_1") => Standing::Stage(1),
        Some("STAGE_2") => Standing::Stage(2),
        Some("STAGE_3") => Standing::Stage(3),
        Some("DONE") => Standing::Done,
        Some("PAUSED") => Standing::Paused,
        _ => Standing::Unknown,
    }
}
