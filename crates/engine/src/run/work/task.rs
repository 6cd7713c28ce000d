//! Tasks of agents: a registry in a run file, or checkpoints that are there.

use piton_model::fleet::{Approval, Lane, LaneState};
use piton_model::{Dialect, Id, Lifecycle, Start, UnitRef};

use super::super::section::{BadFile, Section};
use super::{Draft, DraftLane, GroupWork, LaneWork, WorkError, id, new_lane, new_phase};

/// A task as somebody listed it.
#[derive(Debug, Clone)]
pub struct Task {
    parts: Vec<Id>,
    priority: i64,
    depends_on: Vec<String>,
    text: Option<String>,
    start: Start,
}

impl Task {
    /// A task of which only the name is known.
    pub fn named(unit: &UnitRef) -> Task {
        let (parts, start) = (unit.parts.clone(), Start::default());
        Task { parts, priority: 100, depends_on: Vec::new(), text: None, start }
    }
}

/// Takes the tasks of a registry.
pub fn tasks(root: &mut Section) -> Result<Vec<Task>, BadFile> {
    let mut all = Vec::new();
    for (place, mut section) in root.sections("tasks")?.into_iter().enumerate() {
        let agent = section.text("agent")?.unwrap_or_default();
        let task = match section.text("task_id")? {
            Some(task) => task,
            None => section.text("id")?.unwrap_or_default(),
        };
        let start = Start {
            title: section.text("title")?,
            agent_name: section.text("agent_name")?,
            steps: section.texts("subtasks")?.unwrap_or_default(),
            criteria: section.texts("acceptance_criteria")?.unwrap_or_default(),
            total: section.count("total")?,
            estimate_minutes: section.count("estimate_minutes")?,
            ..Start::default()
        };
        all.push(Task {
            parts: vec![id(&section.path, "task's agent", &agent)?, id(&section.path, "task", &task)?],
            priority: section.integer("priority")?.unwrap_or(1000 + i64::try_from(place).unwrap_or(0)),
            depends_on: section.texts("depends_on")?.unwrap_or_default(),
            text: section.text("text")?,
            start,
        });
        section.finish()?;
    }
    Ok(all)
}

impl Draft<'_> {
    pub(super) fn add_tasks(&mut self, tasks: Vec<Task>) -> Result<(), WorkError> {
        for task in tasks {
            let work = GroupWork { dialect: Dialect::Task, unit: None, gates: Vec::new() };
            let group = self.add_group("tasks", vec![new_phase("tasks", &[], Approval::NotNeeded)], work);
            let unit = UnitRef { dialect: Some(Dialect::Task), parts: task.parts.clone() };
            let found = crate::find(self.workspace, &unit, self.now).ok();
            let is_done = found.as_ref().is_some_and(|it| it.unit.state.lifecycle() == Lifecycle::Done);
            let name = unit.to_string();
            let title = task.start.title.clone().or_else(|| found.and_then(|found| found.unit.title));
            let lane = Lane {
                priority: task.priority,
                state: if is_done { LaneState::Done } else { LaneState::Queued },
                ..new_lane(name.clone(), group)
            };
            let file = task.parts.iter().map(Id::as_str).collect::<Vec<_>>().join("-");
            let start = Start { title: title.clone(), ..task.start };
            let work = LaneWork {
                dialect: Dialect::Task,
                unit,
                unit_name: name,
                id: file,
                title,
                text: task.text,
                step: None,
                outputs: Vec::new(),
                start,
            };
            let key = task.parts.last().map_or(String::new(), Id::to_string);
            self.add_lane(DraftLane { lane, work, after: task.depends_on, key });
        }
        Ok(())
    }
}
