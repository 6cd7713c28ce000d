//! Stories: a list in a run file or in the settings, a board, or what an earlier lead wrote down.

use piton_dialect::pipeline::{KnownStory, STORY_KEYS, known_stories, state_path};
use piton_model::fleet::{Approval, Lane};
use piton_model::{Dialect, Id, PlannedTask, Start, UnitRef};
use serde_json::{Map, Value};

use super::super::is_ours;
use super::super::memory::Memory;
use super::super::section::{BadFile, Section, parse};
use super::super::settings::{SETTINGS, Settings};
use super::lists::{ListedStory, ListedUnit};
use super::{Before, Draft, DraftLane, GroupWork, LaneWork, WorkError, id, new_phase, unusable};
use crate::Workspace;

/// Where a board may stand.
pub(in crate::run) const BOARDS: [&str; 2] = [".pipeline/board.json", ".pipeline/board.toml"];

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

impl Story {
    /// How it starts.
    fn start(&self) -> Start {
        let first = self.stages.first().copied().unwrap_or(0);
        // A story without stage 0 has one task: itself.
        let itself = PlannedTask { id: self.id.to_string(), title: self.title.clone(), description: self.text.clone() };
        let tasks = if first == 0 { Vec::new() } else { vec![itself] };
        Start { stage: Some(first.to_string()), title: self.title.clone(), tasks, ..Start::default() }
    }

    /// What the list says about it.
    pub(super) fn into_listed(self) -> ListedUnit {
        let start = self.start();
        let Story { title, text, priority, depends_on, brief, stages, worker, .. } = self;
        let story = Some(ListedStory { brief, stages, worker, priority });
        ListedUnit { title, text, depends_on, start, story }
    }
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

/// The stories that the settings and the boards list. No story is in two of them.
fn listed(workspace: &Workspace, settings: &Settings) -> Result<Vec<Story>, WorkError> {
    let mut all: Vec<(&str, Story)> = settings.stories.iter().map(|story| (SETTINGS, story.clone())).collect();
    for path in BOARDS {
        let Ok(content) = workspace.disk.read(path) else { continue };
        let mut root = parse(path, &String::from_utf8_lossy(&content.bytes))?;
        let found = stories(&mut root)?;
        root.finish()?;
        for story in found {
            if let Some((first, _)) = all.iter().find(|(_, known)| known.id == story.id) {
                let message = format!("the story {} is listed in {first} and in {path}", story.id);
                return Err(unusable(message, format!("take it out of {path}, or out of {first}")));
            }
            all.push((path, story));
        }
    }
    Ok(all.into_iter().map(|(_, story)| story).collect())
}

/// The stories of a workspace: those of the settings and the boards, else what an earlier lead wrote down. A story that a
/// lead of ours took from a list, and that no list has any more, was taken out by the user.
pub(super) fn known(workspace: &Workspace, settings: &Settings) -> Result<Vec<Story>, WorkError> {
    let all = listed(workspace, settings)?;
    if !all.is_empty() {
        return Ok(all);
    }
    let Ok(state) = workspace.disk.read(&state_path()) else { return Ok(Vec::new()) };
    let before = Before::read(workspace).stories;
    let listed = Memory::load(workspace).ok().filter(|_| is_ours(workspace)).unwrap_or_default().listed;
    let described = |id: &str| before.iter().find(|story| story.id.as_str() == id);
    let left = without(known_stories(&state.bytes), |it| listed.contains(&it.id) && described(&it.id).is_none());
    let story = |(place, known): (usize, KnownStory)| {
        if let Some(story) = described(&known.id) {
            return Some(story.clone());
        }
        let (id, priority) = (Id::parse(&known.id).ok()?, 1000 + i64::try_from(place).unwrap_or(0));
        let (depends_on, brief, stages) = (known.depends_on, Map::new(), STAGES.to_vec());
        Some(Story { id, title: None, text: None, priority, depends_on, brief, stages, worker: None })
    };
    Ok(left.into_iter().enumerate().filter_map(story).collect())
}

/// Stories without those that are out. What another one waits for stays.
pub(in crate::run) fn without(mut stories: Vec<KnownStory>, is_out: impl Fn(&KnownStory) -> bool) -> Vec<KnownStory> {
    let is_needed = |id: &String, all: &[KnownStory]| all.iter().any(|other| other.depends_on.contains(id));
    while let Some(at) = stories.iter().position(|story| is_out(story) && !is_needed(&story.id, &stories)) {
        stories.remove(at);
    }
    stories
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
            let start = story.start();
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
