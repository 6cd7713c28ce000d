//! The lists that stories, tasks and agents of a run come from, as they are at a moment.

use std::path::Path;

use piton_model::{Dialect, Start, UnitRef};
use serde_json::{Map, Value};

use super::super::runs::Wanted;
use super::super::section::{BadFile, parse};
use super::super::settings::{SETTINGS, Settings};
use super::{Story, crew, pipeline, stories, task};
use crate::Workspace;

/// What the lists of a run name.
#[derive(Debug)]
pub(in crate::run) struct Lists {
    /// Each file with its text. A file of the workspace is named relative to that.
    pub files: Vec<(String, Vec<u8>)>,
    /// Those of the settings and the boards, behind those of files that the run names.
    stories: Vec<Story>,
    /// How many of the stories are those of files that the run names.
    named: usize,
    tasks: Vec<task::Task>,
    agents: Vec<crew::Agent>,
}

/// What a list says about one of its units.
#[derive(Debug, Clone)]
pub(in crate::run) struct ListedUnit {
    pub title: Option<String>,
    pub text: Option<String>,
    pub depends_on: Vec<String>,
    /// How the unit would start.
    pub start: Start,
    /// What only a story has.
    pub story: Option<ListedStory>,
}

#[derive(Debug, Clone)]
pub(in crate::run) struct ListedStory {
    pub brief: Map<String, Value>,
    pub stages: Vec<u8>,
    pub worker: Option<String>,
    pub priority: i64,
}

impl Lists {
    /// Reads the settings, the boards and the files that a run names; nothing when one of them is being edited and cannot
    /// be understood.
    pub fn read(workspace: &Workspace, wanted: &[Wanted]) -> Option<Lists> {
        Lists::load(workspace, wanted).ok()
    }

    /// What is wrong with a file that cannot be understood, in words.
    pub fn problem(workspace: &Workspace, wanted: &[Wanted]) -> Option<String> {
        let error = Lists::load(workspace, wanted).err()?;
        Some(format!("cannot read {}: {}", error.path, error.message))
    }

    fn load(workspace: &Workspace, wanted: &[Wanted]) -> Result<Lists, BadFile> {
        let mut lists =
            Lists { files: Vec::new(), stories: Vec::new(), named: 0, tasks: Vec::new(), agents: Vec::new() };
        for file in Lists::paths(wanted) {
            let read = match Path::new(&file).is_absolute() {
                true => std::fs::read(&file).ok(),
                false => workspace.disk.read(&file).ok().map(|content| content.bytes),
            };
            let Some(bytes) = read else { continue };
            let not_text = |_| BadFile { path: file.clone(), message: "it is not UTF-8".to_owned(), hint: None };
            let text = String::from_utf8(bytes).map_err(not_text)?;
            match file == SETTINGS {
                true => lists.stories.extend(Settings::parse(&text)?.stories),
                false => {
                    let mut root = parse(&file, &text)?;
                    // A run of a file works from that file, also where the settings have an entry of the same id.
                    let is_named = wanted.iter().filter_map(Wanted::list).any(|named| named == file);
                    let place = if is_named { 0 } else { lists.stories.len() };
                    let own = stories(&mut root)?;
                    lists.named += if is_named { own.len() } else { 0 };
                    lists.stories.splice(place..place, own);
                    lists.tasks.extend(task::tasks(&mut root)?);
                    lists.agents.extend(crew::agents(&mut root)?);
                    root.finish()?;
                }
            }
            lists.files.push((file, text.into_bytes()));
        }
        Ok(lists)
    }

    /// Where lists may be: the settings, the boards and the files that a run names.
    pub fn paths(wanted: &[Wanted]) -> Vec<String> {
        let own = [SETTINGS].into_iter().chain(pipeline::BOARDS).map(str::to_owned);
        own.chain(wanted.iter().filter_map(Wanted::list).map(str::to_owned)).collect()
    }

    /// What a list says about a unit; nothing when none names it.
    pub fn unit(&self, unit: &UnitRef) -> Option<ListedUnit> {
        match unit.dialect? {
            Dialect::Pipeline => {
                self.stories.iter().find(|story| unit.parts.last() == Some(&story.id)).cloned().map(Story::into_listed)
            }
            Dialect::Task => {
                let meant = self.tasks.iter().filter_map(|task| Some((task.is_called(unit), task.as_unit(unit)?)));
                only(meant.collect()).map(task::Task::into_listed)
            }
            Dialect::Crew => {
                let meant = self.agents.iter().filter_map(|agent| Some((agent.is_called(unit), agent.as_unit(unit)?)));
                only(meant.collect()).map(crew::Agent::into_listed)
            }
            Dialect::Plan | Dialect::Build => None,
        }
    }

    /// Whether a list names a story, a task or an agent.
    pub fn names(&self, unit: &UnitRef) -> bool {
        match unit.dialect {
            Some(Dialect::Pipeline) => self.stories.iter().any(|story| unit.parts.last() == Some(&story.id)),
            Some(Dialect::Task) => self.tasks.iter().any(|task| task.as_unit(unit).is_some()),
            Some(Dialect::Crew) => self.agents.iter().any(|agent| agent.as_unit(unit).is_some()),
            Some(Dialect::Plan | Dialect::Build) | None => false,
        }
    }

    /// The units that are listed: all of them, or those of files that the run names.
    pub fn units(&self, is_named: bool) -> Vec<UnitRef> {
        let story = |story: &Story| UnitRef {
            dialect: Some(Dialect::Pipeline),
            parts: vec![story.id.clone()],
            is_whole: false,
        };
        let stories = if is_named { &self.stories[..self.named] } else { &self.stories[..] };
        let stories = stories.iter().map(story);
        let tasks = self.tasks.iter().map(task::Task::unit);
        stories.chain(tasks).chain(self.agents.iter().map(crew::Agent::unit)).collect()
    }

    /// Whether something that is listed waits for a unit.
    pub fn needs(&self, unit: &UnitRef) -> bool {
        let parts: Vec<&str> = unit.parts.iter().map(piton_model::Id::as_str).collect();
        let is_it = |name: &String| {
            parts.last() == Some(&name.as_str()) || parts.join("/") == *name || unit.to_string() == *name
        };
        let stories = self.stories.iter().flat_map(|story| &story.depends_on);
        let tasks = self.tasks.iter().flat_map(task::Task::depends_on);
        stories.chain(tasks).chain(self.agents.iter().flat_map(crew::Agent::depends_on)).any(is_it)
    }

    /// Whether the same files are there.
    pub fn has_same_files(&self, other: &Lists) -> bool {
        self.files.iter().map(|(file, _)| file).eq(other.files.iter().map(|(file, _)| file))
    }
}

/// The one that is meant: the one of exactly this name, else the only one. Two epics may have agents of one name.
fn only<T>(mut meant: Vec<(bool, T)>) -> Option<T> {
    match meant.iter().position(|(is_exact, _)| *is_exact) {
        Some(exact) => Some(meant.swap_remove(exact).1),
        None if meant.len() == 1 => meant.pop().map(|(_, only)| only),
        None => None,
    }
}
