//! The tasks of a story. Stage 0 plans them, and they are the story's tasks until it ends.
//!
//! The protocol has stage 1 write both lists of tasks empty, and a worker that writes its checkpoint by hand keeps no
//! key of ours. So a plan that a checkpoint does not hold is taken from the versions that the journal recorded.

use std::ops::ControlFlow;

use piton_model::PlannedTask;
use serde_json::{Map, Value as NewValue};

use super::is_our_checkpoint;
use crate::json::{Editor, Kind, Value};
use crate::{Files, content};

/// The key of a checkpoint that holds the planned tasks.
pub(super) const PLANNED: &str = "plannedTasks";

/// What stage 0 planned, as some version of the checkpoint has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    pub(super) tasks: Vec<PlannedTask>,
    pub(super) skipped: Vec<String>,
    /// The tasks that this version has as done.
    pub(super) completed: Vec<String>,
}

impl Plan {
    /// The plan in a version of a checkpoint: what Piton wrote there, or what stage 0 says. Nothing when the version
    /// is of a later stage and a worker wrote it by hand: then an older one knows.
    fn in_version(bytes: &[u8]) -> Option<Plan> {
        let editor = Editor::open("", bytes).ok().filter(|editor| editor.look(is_our_checkpoint))?;
        editor.look(|root| {
            let (skipped, completed) = (content::texts(root, "tasksSkipped"), content::texts(root, "tasksCompleted"));
            if let Some(tasks) = planned(root).filter(|tasks| !tasks.is_empty()) {
                return Some(Plan { tasks, skipped, completed });
            }
            let is_planning = root.get("stage").and_then(Value::as_int) == Some(0);
            let listed = ["tasksRemaining", "tasksCompleted"].into_iter().flat_map(|key| content::texts(root, key));
            is_planning.then(|| Plan { tasks: listed.map(untitled).collect(), skipped, completed })
        })
    }
}

/// The plan that the recorded versions of a checkpoint know, the newest first.
pub fn remember(files: &dyn Files, path: &str) -> Option<Plan> {
    let mut found = None;
    files.recorded(path, &mut |bytes| {
        found = Plan::in_version(bytes);
        if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    found
}

/// The planned tasks that a checkpoint holds; nothing when it lacks the key.
pub(super) fn planned(root: Value<'_, '_>) -> Option<Vec<PlannedTask>> {
    let list = root.get(PLANNED).filter(|list| list.kind() == Kind::Array)?;
    let task = |item: Value<'_, '_>| match item.kind() {
        Kind::Object => Some(PlannedTask {
            id: content::text(item, "id")?,
            title: content::text(item, "title"),
            description: content::text(item, "description"),
        }),
        _ => content::as_text(item).map(untitled),
    };
    Some(list.items().filter_map(task).collect())
}

/// A task of which only the id is known.
pub(super) fn untitled(id: String) -> PlannedTask {
    PlannedTask { id, ..PlannedTask::default() }
}

/// Planned tasks as a checkpoint holds them.
pub(super) fn to_json(tasks: &[PlannedTask]) -> NewValue {
    let task = |task: &PlannedTask| {
        let mut map = Map::new();
        map.insert("id".to_owned(), task.id.as_str().into());
        let texts = [("title", &task.title), ("description", &task.description)];
        let given = texts.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text.as_deref()?.into())));
        map.extend(given);
        NewValue::Object(map)
    };
    NewValue::Array(tasks.iter().map(task).collect())
}

/// A task of a story, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoryTask {
    /// What was planned.
    pub task: PlannedTask,
    /// Where it stands.
    pub state: TaskState,
}

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    /// It is still to be done.
    Open,
    /// It is done.
    Done,
    /// It is left out on purpose.
    Skipped,
}

/// What a checkpoint lists, and what is known of the plan.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lists<'c> {
    pub stage: Option<u8>,
    pub completed: &'c [String],
    pub remaining: &'c [String],
    pub skipped: &'c [String],
    /// The planned tasks: of the checkpoint itself, or of the journal.
    pub planned: &'c [PlannedTask],
    /// Tasks that the journal has as done.
    pub completed_before: &'c [String],
}

/// The tasks of a story as they stand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tasks {
    /// Tasks that are done, in the order of the checkpoint.
    pub done: Vec<String>,
    /// Tasks that are open: those that the checkpoint lists, then planned ones that it lists nowhere.
    pub open: Vec<String>,
    pub skipped: Vec<String>,
    /// Each task that is not skipped, with what the plan says about it; planned ones first, in the plan's order.
    pub plan: Vec<PlannedTask>,
}

impl Tasks {
    /// The story's tasks. While stage 0 plans, its lists decide; later a planned task stays one, whatever the
    /// checkpoint lists, and a task that a worker added is one too. Stage 3 judges what stage 2 completed: a task that its
    /// list forgets stays done.
    pub fn new(lists: &Lists<'_>) -> Tasks {
        let mut tasks = Tasks::default();
        let is_open = |id: &String| lists.remaining.contains(id);
        for id in lists.completed {
            if !is_open(id) {
                push_new(&mut tasks.done, id);
            }
        }
        for id in lists.remaining {
            push_new(&mut tasks.open, id);
        }
        for id in lists.skipped {
            if !tasks.is_listed(id) {
                push_new(&mut tasks.skipped, id);
            }
        }
        let is_planning = lists.stage == Some(0);
        for task in lists.planned {
            let is_new = !tasks.is_listed(&task.id) && !tasks.skipped.contains(&task.id);
            let was_done = lists.stage == Some(3) && lists.completed_before.contains(&task.id);
            if is_new && !is_planning {
                let list = if was_done { &mut tasks.done } else { &mut tasks.open };
                list.push(task.id.clone());
            }
        }
        let known = lists.planned.iter().filter(|task| tasks.is_listed(&task.id)).cloned();
        let mut plan: Vec<PlannedTask> = Vec::new();
        let added = tasks.done.iter().chain(&tasks.open).cloned().map(untitled);
        for task in known.chain(added) {
            if plan.iter().all(|other| other.id != task.id) {
                plan.push(task);
            }
        }
        tasks.plan = plan;
        tasks
    }

    /// Whether there are none at all.
    pub fn is_empty(&self) -> bool {
        self.plan.is_empty()
    }

    /// What the plan says about a task.
    pub fn described(&self, id: &str) -> Option<&PlannedTask> {
        self.plan.iter().find(|task| task.id == id)
    }

    /// Every task with its state: done ones, open ones, skipped ones.
    pub fn list(&self) -> impl Iterator<Item = StoryTask> {
        let of = |ids: &[String], state| {
            let task = |id: &String| self.described(id).cloned().unwrap_or_else(|| untitled(id.clone()));
            ids.iter().map(|id| StoryTask { task: task(id), state }).collect::<Vec<_>>()
        };
        let (done, open) = (of(&self.done, TaskState::Done), of(&self.open, TaskState::Open));
        done.into_iter().chain(open).chain(of(&self.skipped, TaskState::Skipped))
    }

    fn is_listed(&self, id: &String) -> bool {
        self.done.contains(id) || self.open.contains(id)
    }
}

fn push_new(list: &mut Vec<String>, id: &String) {
    if !list.contains(id) {
        list.push(id.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(ids: &str) -> Vec<String> {
        ids.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn planned_tasks_stay_and_added_ones_count() {
        for (stage, completed, remaining, skipped, planned, done, open) in [
            // Planning: the lists decide.
            (0, "", "A B", "", "A C", "", "A B"),
            // Validation writes both lists empty.
            (1, "", "", "", "A B", "", "A B"),
            (2, "A", "B", "", "A B", "A", "B"),
            // A worker dropped a planned task.
            (2, "A", "", "", "A B", "A", "B"),
            // A worker added one.
            (2, "A", "X", "", "A", "A", "X"),
            (2, "A X", "", "", "A B", "A X", "B"),
            // A task in both lists is not done.
            (2, "A", "A", "", "A", "", "A"),
            (2, "A", "", "B", "A B", "A", ""),
            // A skipped task that a worker lists again is a task again.
            (2, "", "B", "B", "A B", "", "B A"),
            (3, "", "", "", "A", "", "A"),
            (3, "A", "", "", "", "A", ""),
        ] {
            let [completed, remaining, skipped] = [completed, remaining, skipped].map(texts);
            let planned: Vec<_> = texts(planned).into_iter().map(untitled).collect();
            let tasks = Tasks::new(&Lists {
                stage: Some(stage),
                completed: &completed,
                remaining: &remaining,
                skipped: &skipped,
                planned: &planned,
                completed_before: &[],
            });
            assert_eq!((&tasks.done, &tasks.open), (&texts(done), &texts(open)), "stage {stage}: {completed:?}");
        }
    }

    #[test]
    fn a_task_that_a_review_forgets_stays_done() {
        let planned: Vec<_> = texts("A B C").into_iter().map(untitled).collect();
        for (stage, remaining, done, open) in [(3, "", "A B", "C"), (3, "B", "A", "B C"), (2, "", "A", "B C")] {
            let tasks = Tasks::new(&Lists {
                stage: Some(stage),
                completed: &texts("A"),
                remaining: &texts(remaining),
                skipped: &[],
                planned: &planned,
                completed_before: &texts("A B"),
            });
            assert_eq!((&tasks.done, &tasks.open), (&texts(done), &texts(open)), "stage {stage}: {remaining:?}");
        }
    }

    #[test]
    fn a_version_tells_its_plan() {
        let version = |stage: u8, more: &str| {
            Plan::in_version(format!(r#"{{"storyId": "A", "stage": {stage}{more}}}"#).as_bytes())
                .map(|plan| plan.tasks.into_iter().map(|task| task.id).collect::<Vec<_>>())
        };
        let lists = r#", "tasksCompleted": [], "tasksRemaining": ["T1", "T2"]"#;
        assert_eq!(version(0, lists), Some(texts("T1 T2")));
        assert_eq!(version(0, ""), Some(vec![]));
        assert_eq!(version(1, r#", "tasksCompleted": [], "tasksRemaining": []"#), None);
        assert_eq!(version(2, lists), None);
        let key = r#", "plannedTasks": [{"id": "T1", "title": "Door"}, "T2", {"title": "no id"}, 7]"#;
        assert_eq!(version(2, key), Some(texts("T1 T2 7")));
        assert_eq!(Plan::in_version(b"{torn"), None);
        assert_eq!(Plan::in_version(br#"{"plannedTasks": ["T1"]}"#), None);
    }
}
