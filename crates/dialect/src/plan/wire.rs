//! The keys of a plan's state, recovery and history files.

use crate::schema::DocumentShape;
use crate::shape::{COUNT, Field, Shape, optional, required};
use crate::words::{Words, nothing_else};

/// What a phase's `status` may say.
pub static PHASE_STATUS: Words = Words {
    canonical: &["pending", "in_progress", "completed"],
    synonyms: &[
        ("complete", "completed"),
        ("done", "completed"),
        ("active", "in_progress"),
        ("not_started", "pending"),
    ],
    is_understood: nothing_else,
};

static PROGRESS: &[Field] = &[
    required("totalTasks", COUNT, "all tasks of the plan"),
    required("completedTasks", COUNT, "tasks whose box is ticked"),
    required("percentage", Shape::Number { min: 0.0, max: 100.0 }, "their share, with one decimal"),
];

static TASK: &[Field] = &[
    required("done", Shape::Flag, "whether the box is ticked"),
    optional("completedAt", Shape::Time, "when it was seen ticked first"),
    optional("completedBy", Shape::Text, "main, subagent:{type} or team:{id}"),
    optional("description", Shape::Text, "the task's text"),
];

static CRITERION: &[Field] = &[
    required("met", Shape::Flag, "whether the box is ticked"),
    optional("verifiedAt", Shape::Time, "when it was seen ticked first"),
];

static PHASE: &[Field] = &[
    required("status", Shape::Word(&PHASE_STATUS), "how far the phase is"),
    optional("startedAt", Shape::Time, "when its first task was done"),
    optional("completedAt", Shape::Time, "when it was completed"),
    required("tasks", Shape::Map(&Shape::Object(TASK)), "the phase's tasks by id"),
    optional("acceptance", Shape::Map(&Shape::Object(CRITERION)), "the phase's acceptance criteria by id"),
];

static DECISION: &[Field] = &[
    optional("time", Shape::Time, "when it was decided"),
    required("decision", Shape::Text, "what was decided"),
    optional("reason", Shape::Text, "why"),
];

static AGENT: &[Field] = &[
    required("type", Shape::Text, "the kind of subagent"),
    optional("assignedTasks", Shape::List(&Shape::Text), "ids of tasks it was given"),
    optional("completedTasks", Shape::List(&Shape::Text), "ids of tasks it completed"),
    optional("lastActive", Shape::Time, "its last sign of life"),
];

static PAUSED: &[Field] = &[required("time", Shape::Time, "since when"), optional("reason", Shape::Text, "why")];

static OWN: &[Field] = &[
    optional("blockers", Shape::List(&Shape::Text), "blockers that were recorded and do not stand in the plan"),
    optional("resumeInstructions", Shape::List(&Shape::Text), "what whoever resumes is to follow"),
    optional("paused", Shape::Object(PAUSED), "that somebody stopped it on purpose"),
    optional("finishedAt", Shape::Time, "when it was finished"),
    optional("sessionNote", Shape::Text, "what a session said last, as it stands in the notes"),
    optional("sinceBackup", COUNT, "checkpoints since the last copy to recovery.json"),
];

/// `.checkpoint/state.json`
pub static STATE: &[Field] = &[
    required("version", Shape::Count { min: 2, max: 2 }, "the version of this format"),
    required("planId", Shape::Id, "the name of the plan's directory"),
    required("planPath", Shape::Text, "the absolute path of plan.md"),
    required("lastCheckpoint", Shape::Time, "when this file was written"),
    required("checksum", Shape::Text, "sha256: and the first 16 hex digits over the bytes of plan.md"),
    required("progress", Shape::Object(PROGRESS), "how much is done"),
    required("phases", Shape::Map(&Shape::Object(PHASE)), "the plan's phases by id"),
    required("currentPhase", Shape::OrNull(&Shape::Text), "the first phase that is not completed"),
    required("currentTask", Shape::OrNull(&Shape::Text), "its first open task"),
    required("blockers", Shape::List(&Shape::Text), "what keeps the plan from going on"),
    required("decisions", Shape::List(&Shape::Object(DECISION)), "what was decided on the way"),
    required("sessionNotes", Shape::OrNull(&Shape::Text), "what the last session left to say"),
    required("agents", Shape::Map(&Shape::Object(AGENT)), "subagents by id"),
    optional("piton", Shape::Object(OWN), "what Piton keeps that the protocol has no key for"),
];

/// `.checkpoint/recovery.json`
pub static RECOVERY: &[Field] = &[
    required("savedAt", Shape::Time, "when the copy was made"),
    required("reason", Shape::Text, "why, such as pre_subagent_spawn"),
    required("state", Shape::Object(STATE), "the state as it was"),
];

/// A line of `.checkpoint/history.jsonl`
pub static HISTORY: &[Field] = &[
    required("ts", Shape::Time, "when it happened"),
    required("event", Shape::Text, "what happened, such as task_completed"),
];

/// The documents of this dialect.
pub static DOCUMENTS: &[DocumentShape] = &[
    DocumentShape { name: "state", about: "A plan's state: plans/{id}/.checkpoint/state.json", fields: STATE },
    DocumentShape { name: "recovery", about: "Its backup: plans/{id}/.checkpoint/recovery.json", fields: RECOVERY },
    DocumentShape {
        name: "history",
        about: "A line of its log: plans/{id}/.checkpoint/history.jsonl",
        fields: HISTORY,
    },
];
