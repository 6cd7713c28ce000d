//! Stories: a list in a run file or in the settings, a board, or what an earlier lead wrote down.

use piton_dialect::pipeline::{STORY_KEYS, known_stories, state_path};
use piton_model::fleet::{Approval, Lane};
use piton_model::{Dialect, Id, PlannedTask, Start, UnitRef};
use serde_json::{Map, Value};

use super::super::section::{BadFile, Section, parse};
use super::super::settings::Settings;
use super::{Draft, DraftLane, GroupWork, LaneWork, WorkError, id, listed_before, new_phase, unusable};
use crate::Workspace;

/// Where a board may stand.
pub(super) const BOARDS: [&str; 2] = [".pipeline/board.json", ".pipeline/board.toml"];

/// A story as somebody listed it.
#[derive(Debug, Clone, PartialEq)]
pub struct Story {
    /// Its id.
    pub id: Id,
    /// What a person calls it.
    pub title: Option<String>,
    /// What is to be done.
    pub text: Option<String>,
    /// The smaller, the sooner.
    pub priority: i64,
    /// Stories that must be done before.
    pub depends_on: Vec<String>,
    /// What its workers are told in short: the keys of `story_briefs`.
    pub brief: Map<String, Value>,
    /// The stages it goes through: all four, or fewer.
    pub stages: Vec<u8>,
    /// The worker that it asks for, by its name in the settings.
    pub worker: Option<String>,
}

/// The stages of a story that names none.
const STAGES: [u8; 4] = [0, 1, 2, 3];

/// Takes the stories of a file.
pub fn stories(root: &mut Section) -> Result<Vec<Story>, BadFile> {
    // A bare list is one of stories.
    let key = if root.has("items") { "items" } else { "stories" };
    let mut all: Vec<Story> = Vec::new();
    for (place, mut section) in root.sections(key)?.into_iter().enumerate() {
        let typed = section.text("id")?.unwrap_or_default();
        let story = Story {
            id: id(&section.path, "story", &typed)?,
            title: section.text("title")?,
            text: section.text("text")?,
            priority: section.integer("priority")?.unwrap_or(1000 + i64::try_from(place).unwrap_or(0)),
            depends_on: section.texts("depends_on")?.unwrap_or_default(),
            brief: brief(&mut section)?,
            stages: stages(&mut section)?,
            worker: section.text("worker")?,
        };
        section.finish()?;
        if all.iter().any(|known| known.id == story.id) {
            let message = format!("the story {} is listed twice", story.id);
            return Err(BadFile { path: root.path.clone(), message, hint: None });
        }
        all.push(story);
    }
    Ok(all)
}

/// Takes a story's brief.
fn brief(story: &mut Section) -> Result<Map<String, Value>, BadFile> {
    let Some(mut section) = story.section("brief")? else { return Ok(Map::new()) };
    let mut brief = Map::new();
    for key in STORY_KEYS {
        brief.extend(section.words(key)?.map(|value| (key.to_owned(), value)));
    }
    section.finish()?;
    Ok(brief)
}

/// The stages that a story names: in order, each once, with those in which the work is done and judged: without a verdict
/// no story is done.
fn stages(section: &mut Section) -> Result<Vec<u8>, BadFile> {
    let Some(given) = section.counts("stages")? else { return Ok(STAGES.to_vec()) };
    let stages: Vec<u8> = STAGES.into_iter().filter(|stage| given.contains(&u64::from(*stage))).collect();
    match stages.len() == given.len() && stages.ends_with(&[2, 3]) {
        true => Ok(stages),
        false => Err(BadFile {
            path: section.path.clone(),
            message: format!("a story has the stages {given:?}"),
            hint: Some(
                "name some of 0 (plan), 1 (validate), 2 (execute), 3 (judge), with 2 and 3 among them".to_owned(),
            ),
        }),
    }
}

/// The stories of the board, when there is one.
pub fn board_stories(workspace: &Workspace) -> Result<Vec<Story>, BadFile> {
    for path in BOARDS {
        let Ok(content) = workspace.disk.read(path) else { continue };
        let mut root = parse(path, &String::from_utf8_lossy(&content.bytes))?;
        let found = stories(&mut root)?;
        root.finish()?;
        return Ok(found);
    }
    Ok(Vec::new())
}

/// The stories of a workspace: those of the settings, else of the board, else what an earlier lead wrote down.
pub(super) fn known(workspace: &Workspace, settings: &Settings) -> Result<Vec<Story>, WorkError> {
    if !settings.stories.is_empty() {
        return Ok(settings.stories.clone());
    }
    let board = board_stories(workspace)?;
    if !board.is_empty() {
        return Ok(board);
    }
    let Ok(state) = workspace.disk.read(&state_path()) else { return Ok(Vec::new()) };
    let listed = listed_before(workspace).0;
    let story = |(place, known): (usize, piton_dialect::pipeline::KnownStory)| {
        let priority = 1000 + i64::try_from(place).unwrap_or(0);
        let id = Id::parse(&known.id).ok()?;
        if let Some(listed) = listed.iter().find(|listed| listed.id == id) {
            return Some(listed.clone());
        }
        let (depends_on, brief, stages) = (known.depends_on, Map::new(), STAGES.to_vec());
        Some(Story { id, title: None, text: None, priority, depends_on, brief, stages, worker: None })
    };
    Ok(known_stories(&state.bytes).into_iter().enumerate().filter_map(story).collect())
}

/// Only the named stories and what they wait for; all of them when none is named.
pub(super) fn only(stories: Vec<Story>, named: &[Id]) -> Result<Vec<Story>, WorkError> {
    if named.is_empty() {
        return Ok(stories);
    }
    let mut wanted: Vec<String> = Vec::new();
    let mut queue: Vec<String> = named.iter().map(Id::to_string).collect();
    while let Some(next) = queue.pop() {
        let Some(story) = stories.iter().find(|story| story.id.as_str() == next) else {
            let known: Vec<&str> = stories.iter().map(|story| story.id.as_str()).collect();
            let hint = match crate::find::nearest(&next, &known) {
                Some(near) => format!("did you mean pipeline:{near}?"),
                None => "list it in piton.toml or .pipeline/board.json".to_owned(),
            };
            return Err(unusable(format!("no list names the story {next}"), hint));
        };
        if !wanted.contains(&next) {
            queue.extend(story.depends_on.clone());
            wanted.push(next);
        }
    }
    Ok(stories.into_iter().filter(|story| wanted.iter().any(|id| id == story.id.as_str())).collect())
}

impl Draft<'_> {
    pub(super) fn add_stories(&mut self, stories: Vec<Story>) -> Result<(), WorkError> {
        if stories.is_empty() {
            return Ok(());
        }
        let work = GroupWork { dialect: Dialect::Pipeline, unit: None, gates: Vec::new(), spec: None };
        let group = self.add_group("stories", vec![new_phase("stories", Vec::new(), Approval::NotNeeded)], work);
        let gates: Vec<String> = self.settings.gates.keys().cloned().collect();
        for story in stories {
            let workers = &self.settings.workers;
            if let Some(worker) = story.worker.as_deref().filter(|name| !workers.has(name)) {
                let message = format!("the story {} asks for the worker `{worker}`, which is not there", story.id);
                return Err(unusable(message, workers.suggestion(worker)));
            }
            let unit = UnitRef { dialect: Some(Dialect::Pipeline), parts: vec![story.id.clone()], is_whole: false };
            let name = unit.to_string();
            let lane = Lane {
                priority: story.priority,
                stages: story.stages.clone(),
                stage: story.stages.first().copied().unwrap_or(0),
                gates: gates.clone(),
                ..Lane::new(name.clone(), group)
            };
            let first = story.stages.first().copied().unwrap_or(0);
            // A story that nobody plans has one task: itself.
            let itself =
                PlannedTask { id: story.id.to_string(), title: story.title.clone(), description: story.text.clone() };
            let tasks = if first == 0 { Vec::new() } else { vec![itself] };
            let start = Start { stage: Some(first.to_string()), title: story.title.clone(), tasks, ..Start::default() };
            let work = LaneWork {
                dialect: Dialect::Pipeline,
                unit,
                unit_name: name,
                id: story.id.to_string(),
                title: story.title,
                text: story.text,
                step: None,
                outputs: Vec::new(),
                brief: story.brief,
                start,
                worker: story.worker,
            };
            self.add_lane(DraftLane { lane, work, after: story.depends_on, key: story.id.to_string() });
        }
        Ok(())
    }
}
