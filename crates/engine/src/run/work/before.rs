//! What run files of unfinished runs list, also when their user moved or removed them.

use piton_model::{Dialect, UnitRef};

use super::super::runs::RunRecord;
use super::super::section::parse;
use super::{Story, crew, stories, task};
use crate::Workspace;

/// Says which unit continues one that was taken over.
pub(super) type HeirOf<'h> = &'h dyn Fn(&UnitRef) -> Option<UnitRef>;

/// What the run files of unfinished runs list. A file that is gone counts as it was when its run last read it.
#[derive(Debug, Default)]
pub(in crate::run) struct Before {
    pub(super) stories: Vec<Story>,
    pub(super) tasks: Vec<task::Task>,
    pub(super) agents: Vec<crew::Agent>,
}

impl Before {
    pub fn read(workspace: &Workspace) -> Before {
        Before::of(workspace, &|run| !run.is_finished)
    }

    /// The same for runs that are finished, the newest first: a unit of one may be opened again.
    pub(super) fn of_finished(workspace: &Workspace) -> Before {
        Before::of(workspace, &|run| run.is_finished)
    }

    fn of(workspace: &Workspace, is_meant: &dyn Fn(&RunRecord) -> bool) -> Before {
        let mut all = Before::default();
        for run in super::super::runs::all(workspace).filter(is_meant) {
            for (path, text) in run.lists(workspace) {
                let Ok(mut root) = parse(&path, &text) else { continue };
                all.stories.extend(stories(&mut root).unwrap_or_default());
                all.tasks.extend(task::tasks(&mut root).unwrap_or_default());
                all.agents.extend(crew::agents(&mut root).unwrap_or_default());
            }
        }
        all
    }

    /// What describes a task that is named, or the one that it continues.
    pub(super) fn task(&self, unit: &UnitRef, heir_of: HeirOf<'_>) -> Option<task::Task> {
        let own = self.tasks.iter().find_map(|task| task.as_unit(unit));
        own.or_else(|| self.tasks.iter().find_map(|task| task.as_heir(unit, heir_of)))
    }

    /// The same for an agent.
    pub(super) fn agent(&self, unit: &UnitRef, heir_of: HeirOf<'_>) -> Option<crew::Agent> {
        let own = self.agents.iter().find_map(|agent| agent.as_unit(unit));
        own.or_else(|| self.agents.iter().find_map(|agent| agent.as_heir(unit, heir_of)))
    }

    /// Whether one of them describes a unit.
    pub fn names(&self, unit: &UnitRef) -> bool {
        match unit.dialect {
            Some(Dialect::Pipeline) => self.stories.iter().any(|story| unit.parts.last() == Some(&story.id)),
            Some(Dialect::Task) => self.tasks.iter().any(|task| task.as_unit(unit).is_some()),
            Some(Dialect::Crew) => self.agents.iter().any(|agent| agent.as_unit(unit).is_some()),
            Some(Dialect::Plan | Dialect::Build) | None => false,
        }
    }
}
