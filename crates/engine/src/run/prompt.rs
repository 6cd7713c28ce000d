//! A worker's prompt: what it works on, how it records that, and where an earlier worker stopped.
//!
//! A [`PromptContext`] is everything that a prompt is made of, as plain values. `gather.rs` reads them, `value.rs` makes
//! them safe to show, and `templates.rs` renders the Markdown template of the dialect and stage.

mod example;
mod gather;
mod templates;
mod value;

#[cfg(test)]
mod tests;

use piton_dialect::pipeline::Scores;
use piton_model::Rework;
use serde_json::{Map, Value};

pub use templates::{BadTemplate, Templates};

/// What a prompt is for: one template each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromptKind {
    /// A stage of a story, 0 to 3.
    Story {
        /// Which.
        stage: u8,
    },
    /// A workstream of a build.
    Workstream,
    /// A task of a plan.
    PlanTask,
    /// An agent's task.
    Task,
    /// An agent's feature.
    Feature,
}

impl PromptKind {
    /// The name of its template.
    pub fn template(self) -> &'static str {
        match self {
            PromptKind::Story { stage: 0 } => "pipeline-stage-0",
            PromptKind::Story { stage: 1 } => "pipeline-stage-1",
            PromptKind::Story { stage: 2 } => "pipeline-stage-2",
            PromptKind::Story { .. } => "pipeline-stage-3",
            PromptKind::Workstream => "build",
            PromptKind::PlanTask => "plan",
            PromptKind::Task => "task",
            PromptKind::Feature => "crew",
        }
    }
}

/// Everything that a worker's prompt is made of. Texts are as they were found; nothing here is safe to print yet.
#[derive(Debug, Clone)]
pub(super) struct PromptContext {
    pub kind: PromptKind,
    /// How a worker calls Piton.
    pub piton: String,
    /// The unit, `dialect:id`.
    pub unit: String,
    /// The last part of the unit's id: a story, an agent.
    pub id: String,
    /// The workstream or task of the unit that it works on, where it is not the whole unit.
    pub step: Option<String>,
    /// The worker's name.
    pub worker: String,
    /// Where it works, absolute.
    pub directory: String,
    /// Its branch, where it works in a git worktree.
    pub branch: Option<String>,
    /// The branch that its work is merged into.
    pub base: Option<String>,
    /// The unit's main document, absolute.
    pub checkpoint: String,
    /// What the settings say to every worker.
    pub preamble: Option<String>,
    /// What a person calls the build that a workstream belongs to.
    pub whole: Option<String>,
    pub title: Option<String>,
    pub description: Option<String>,
    /// Parts of the specification or plan.
    pub sources: Vec<Excerpt>,
    /// The phase that the step belongs to.
    pub phase: Option<String>,
    /// Tasks of a story, subtasks of a task, steps of an agent.
    pub tasks: Vec<TaskFacts>,
    /// How many further subtasks are open that have no names.
    pub unnamed: u64,
    pub criteria: Vec<CriterionFacts>,
    /// Files that the work makes.
    pub outputs: Vec<String>,
    pub gates: Vec<GateFacts>,
    pub dependencies: Vec<DependencyFacts>,
    pub scores: Scores,
    /// `project_brief`, `business_answers` and the story's entry of `story_briefs`.
    pub project: Map<String, Value>,
    pub answers: Map<String, Value>,
    pub brief: Map<String, Value>,
    /// Decisions, notes, blockers and troubles of the unit: what it is, and its text.
    pub notes: Vec<(String, String)>,
    /// What the user wrote for the next worker, the oldest first.
    pub instructions: Vec<String>,
    /// Why the work is done again.
    pub rework: Vec<Rework>,
    /// What an earlier worker left; nothing for a worker that begins.
    pub resumed: Option<ResumeFacts>,
    /// Whether the quality gate is to be short.
    pub is_fast: bool,
    /// The stage that an agent of a crew is in, and those after it.
    pub stages: Vec<String>,
    /// The directory of an agent's crew, relative to the workspace; empty for the workspace itself.
    pub epic: String,
    /// What nobody could have guessed who wrote what is quoted.
    pub fence: String,
}

/// A part of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Excerpt {
    /// What it is: `The workstream in the specification`.
    pub label: &'static str,
    /// The document, absolute.
    pub path: String,
    pub text: String,
}

/// A task of a story, a subtask, a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TaskFacts {
    pub id: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub state: TaskState,
}

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskState {
    Open,
    Done,
    Skipped,
}

/// An acceptance criterion that is not met yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CriterionFacts {
    pub name: String,
    pub text: Option<String>,
    /// The command by which the lead judges it.
    pub command: Option<String>,
}

/// A gate that judges the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GateFacts {
    pub name: String,
    /// Its command; nothing when a person judges it.
    pub command: Option<String>,
    /// What success means, in the specification's words.
    pub criteria: Option<String>,
}

/// Work that this work builds on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DependencyFacts {
    pub name: String,
    pub title: Option<String>,
    /// Files that it made.
    pub outputs: Vec<String>,
    /// The commit on the base branch that holds it.
    pub commit: Option<String>,
}

/// What an earlier worker left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ResumeFacts {
    /// What has to be said loudly: lost files, progress that went backwards, a loop.
    pub alarms: Vec<String>,
    /// Files that are recorded as made or changed.
    pub files: Vec<String>,
    /// Where it stopped, and what it wrote for its successor.
    pub left: Vec<String>,
    /// The protocol's own block, word for word, where the protocol prescribes it for a prompt.
    pub block: Option<String>,
    /// What the base got since the worker's branch left it.
    pub behind: Option<BehindFacts>,
}

/// Commits of the base that a worker's branch does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BehindFacts {
    /// The base branch.
    pub base: String,
    /// The newest of them, each as its short name and its subject.
    pub commits: Vec<String>,
    /// How many there are.
    pub count: usize,
}

/// The whole prompt.
pub(super) fn prompt(context: &PromptContext, templates: &Templates) -> Result<String, BadTemplate> {
    templates.render(context.kind.template(), &value::of(context))
}

/// What a silent worker is asked.
pub(super) fn question(piton: &str, unit: &str, templates: &Templates) -> Result<String, BadTemplate> {
    templates.render("question", &serde_json::json!({ "piton": piton, "unit": unit }))
}
