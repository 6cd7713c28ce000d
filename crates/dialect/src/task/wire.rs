//! The keys of a task's checkpoint.

use crate::schema::DocumentShape;
use crate::shape::{COUNT, Field, Shape, optional, required};
use crate::words::{Words, nothing_else};

/// The type of the error that stands for a pause.
pub(super) const PAUSED: &str = "paused";

/// What `status` may say. The synonyms are words that agents use; each stands for the nearest of the protocol's.
pub static STATUS: Words = Words {
    canonical: &["not_started", "in_progress", "blocked", "complete"],
    synonyms: &[
        ("pending", "not_started"),
        ("queued", "not_started"),
        ("todo", "not_started"),
        ("active", "in_progress"),
        ("running", "in_progress"),
        ("started", "in_progress"),
        ("executing", "in_progress"),
        ("failed", "blocked"),
        ("error", "blocked"),
        ("stuck", "blocked"),
        ("completed", "complete"),
        ("done", "complete"),
        ("finished", "complete"),
    ],
    is_understood: nothing_else,
};

/// What the `status` of a subtask may say.
pub static SUBTASK_STATUS: Words = Words {
    canonical: &["pending", "in_progress", "complete", "failed"],
    synonyms: &[
        ("not_started", "pending"),
        ("queued", "pending"),
        ("todo", "pending"),
        ("blocked", "pending"),
        ("active", "in_progress"),
        ("running", "in_progress"),
        ("completed", "complete"),
        ("done", "complete"),
        ("finished", "complete"),
        ("error", "failed"),
    ],
    is_understood: is_skipped,
};

/// Whether a subtask was left out on purpose. The protocol has no word for it.
fn is_skipped(status: &str) -> bool {
    ["skipped", "cancelled", "canceled"].iter().any(|word| status.trim().eq_ignore_ascii_case(word))
}

static ITEM: &[Field] = &[
    required("id", Shape::Text, "the subtask, unique within the task"),
    required("status", Shape::Word(&SUBTASK_STATUS), "how far it is"),
    optional("output", Shape::OrNull(&Shape::Path), "the file it produced"),
];

static SUBTASKS: &[Field] = &[
    required("total", COUNT, "how many subtasks there are"),
    required("completed", COUNT, "how many are complete"),
    optional("failed", COUNT, "how many failed"),
    optional("items", Shape::List(&Shape::Object(ITEM)), "all subtasks, or a sample of them"),
];

static ERROR: &[Field] = &[
    optional("type", Shape::Text, "the kind of error, such as dependency_missing"),
    required("message", Shape::Text, "what happened"),
    optional("timestamp", Shape::Time, "when it happened"),
    optional("blocking", Shape::Flag, "whether the task cannot go on because of it"),
];

static CONTEXT: &[Field] = &[
    optional("last_processed", Shape::OrNull(&Shape::Text), "what was done last"),
    optional("next_to_process", Shape::OrNull(&Shape::Text), "where to start"),
    optional("notes", Shape::OrNull(&Shape::Text), "anything else worth knowing"),
];

static HEARTBEAT: &[Field] = &[
    required("last_beat", Shape::Time, "when the agent last gave a sign of life"),
    optional("interval_seconds", Shape::Count { min: 1, max: 86_400 }, "how often it does: every 300 seconds"),
    optional("status", Shape::Text, "what the agent says about itself, such as alive"),
];

/// Words of a heartbeat that say that no agent is there any more.
const STOPPED: [&str; 16] = [
    "stopped",
    "dead",
    "died",
    "zombie",
    "killed",
    "crashed",
    "exited",
    "terminated",
    "aborted",
    "failed",
    "ended",
    "finished",
    "gone",
    "lost",
    "offline",
    "inactive",
];

/// Whether the `status` of a heartbeat says that the agent has stopped. A word is enough: one sign of life too few
/// leaves the decision to the others, while the last beat of a dead agent would make it look alive.
pub fn says_stopped(status: &str) -> bool {
    let mut words = status.split(|c: char| !c.is_alphanumeric());
    words.any(|word| STOPPED.iter().any(|stopped| word.eq_ignore_ascii_case(stopped)))
}

/// A score of a review, or nothing while it is outstanding.
static SCORE: Shape = Shape::OrNull(&Shape::Number { min: 0.0, max: 100.0 });

/// `progress/checkpoints/{agent}-{task}.json`
pub static CHECKPOINT: &[Field] = &[
    required("checkpoint_id", Shape::Id, "the agent, the task and the time it was started, joined by `-`"),
    required("agent", Shape::Id, "the agent, such as migration"),
    optional("agent_name", Shape::Text, "what people call the agent"),
    required("task_id", Shape::Id, "the task, such as T060"),
    optional("task_title", Shape::Text, "the task in words"),
    required("status", Shape::Word(&STATUS), "where the task stands"),
    required("progress_percent", Shape::Count { min: 0, max: 100 }, "100 × completed / total, rounded down"),
    required("started_at", Shape::Time, "when the task was started"),
    required("updated_at", Shape::Time, "when this checkpoint was last updated"),
    optional("completed_at", Shape::OrNull(&Shape::Time), "when the task was completed"),
    optional("estimated_minutes", Shape::Number { min: 0.0, max: 1e9 }, "how long the task was thought to take"),
    required("subtasks", Shape::Object(SUBTASKS), "the pieces of the task"),
    optional("files_created", Shape::List(&Shape::Path), "files the task created"),
    optional("files_modified", Shape::List(&Shape::Path), "files the task changed"),
    optional("acceptance_criteria_met", Shape::Map(&Shape::Flag), "each criterion, and whether it is met"),
    optional("review_scores", Shape::Map(&SCORE), "each reviewer's score from 0 to 100"),
    optional("errors", Shape::List(&Shape::Object(ERROR)), "what went wrong"),
    optional("context", Shape::Object(CONTEXT), "where the work is"),
    required("resumable", Shape::Flag, "whether the task can be resumed from here"),
    optional("resume_instructions", Shape::OrNull(&Shape::Text), "how to resume, for a reader who knows nothing"),
    optional("heartbeat", Shape::Object(HEARTBEAT), "the agent's sign of life"),
];

/// The documents of this dialect.
pub static DOCUMENTS: &[DocumentShape] = &[DocumentShape {
    name: "checkpoint",
    about: "A task's checkpoint: progress/checkpoints/{agent}-{task}.json",
    fields: CHECKPOINT,
}];
