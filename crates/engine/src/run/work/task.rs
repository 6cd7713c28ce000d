//! Tasks of agents: a registry in a run file, or checkpoints that are there.

use piton_model::fleet::{Approval, Lane};
use piton_model::{Dialect, Id, Start, UnitRef};

use super::super::section::{BadFile, Section};
use super::lists::ListedUnit;
use super::{Draft, GroupWork, Listed, WorkError, id, new_phase};

/// A task as somebody listed it.
#[derive(Debug, Clone)]
pub struct Task {
    priority: i64,
    listed: Listed,
}

impl Task {
    /// The task as a list has it, when it is this unit.
    pub fn as_unit(&self, unit: &UnitRef) -> Option<Task> {
        Some(Task { priority: self.priority, listed: self.listed.as_unit(unit)? })
    }

    /// The task as a list has it, when this unit continues it.
    pub fn as_heir(&self, unit: &UnitRef, heir_of: &dyn Fn(&UnitRef) -> Option<UnitRef>) -> Option<Task> {
        Some(Task { priority: self.priority, listed: self.listed.as_heir(Dialect::Task, unit, heir_of)? })
    }

    /// The unit that it describes.
    pub fn unit(&self) -> UnitRef {
        UnitRef { dialect: Some(Dialect::Task), parts: self.listed.parts.clone(), is_whole: self.listed.is_whole }
    }

    /// Whether this is the whole name of its unit.
    pub fn is_called(&self, unit: &UnitRef) -> bool {
        self.listed.parts == unit.parts
    }

    /// What the list says about it.
    pub fn into_listed(self) -> ListedUnit {
        self.listed.into_listed()
    }

    /// What a person calls it.
    pub fn title(&self) -> Option<&str> {
        self.listed.title.as_deref()
    }

    /// Leaves out what tasks wait for that is not among them.
    pub fn wait_among(tasks: &mut [Task]) {
        Listed::wait_among(&mut tasks.iter_mut().map(|task| &mut task.listed).collect::<Vec<_>>());
    }

    /// The tasks that it waits for.
    pub fn depends_on(&self) -> &[String] {
        &self.listed.depends_on
    }

    /// A task of which only the name is known.
    pub fn named(unit: &UnitRef) -> Task {
        Task { priority: 100, listed: Listed::named(unit) }
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
        let total = section.count("total")?;
        let mut steps = section.texts("subtasks")?.unwrap_or_default();
        if steps.is_empty() && total.is_none() {
            // A task that is not divided is its own subtask: without one it could never be complete.
            steps.push(task.clone());
        }
        let start = Start {
            title: section.text("title")?,
            agent_name: section.text("agent_name")?,
            steps,
            criteria: section.texts("acceptance_criteria")?.unwrap_or_default(),
            total,
            estimate_minutes: section.count("estimate_minutes")?,
            ..Start::default()
        };
        let parts = vec![id(&section.path, "task's agent", &agent)?, id(&section.path, "task", &task)?];
        if all.iter().any(|known: &Task| known.listed.parts == parts) {
            let message = format!("the task {agent}/{task} is listed twice");
            return Err(BadFile { path: root.path.clone(), message, hint: None });
        }
        all.push(Task {
            priority: section.integer("priority")?.unwrap_or(1000 + i64::try_from(place).unwrap_or(0)),
            listed: Listed {
                is_whole: false,
                parts,
                title: start.title.clone(),
                depends_on: section.texts("depends_on")?.unwrap_or_default(),
                text: section.text("text")?,
                start,
            },
        });
        section.finish()?;
    }
    Ok(all)
}

impl Draft<'_> {
    pub(super) fn add_tasks(&mut self, tasks: Vec<Task>) -> Result<(), WorkError> {
        for task in tasks {
            let work = GroupWork { dialect: Dialect::Task, unit: None, gates: Vec::new(), spec: None };
            let group = self.add_group("tasks", vec![new_phase("tasks", Vec::new(), Approval::NotNeeded)], work);
            let file = task.listed.parts.iter().map(Id::as_str).collect::<Vec<_>>().join("-");
            let lane = Lane { priority: task.priority, ..Lane::new(String::new(), group) };
            self.add_listed(Dialect::Task, task.listed, lane, file);
        }
        Ok(())
    }
}
