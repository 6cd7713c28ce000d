//! The keys of a build's checkpoint.

use crate::schema::DocumentShape;
use crate::shape::{COUNT, Field, Shape, optional, required};
use crate::words::{Words, nothing_else};

/// What `status` may say. The synonyms are words of real files; each stands for the nearest of the protocol's.
pub static STATUS: Words = Words {
    canonical: &["initialized", "in_progress", "paused", "failed", "complete"],
    synonyms: &[
        ("approved", "initialized"),
        ("pending", "initialized"),
        ("queued", "initialized"),
        ("ready", "initialized"),
        ("not_started", "initialized"),
        ("executing", "in_progress"),
        ("running", "in_progress"),
        ("active", "in_progress"),
        ("started", "in_progress"),
        ("ready_for_approval", "paused"),
        ("awaiting_approval", "paused"),
        ("on_hold", "paused"),
        ("error", "failed"),
        ("completed", "complete"),
        ("done", "complete"),
        ("finished", "complete"),
    ],
    is_understood: nothing_else,
};

/// What a review's verdict may say.
pub static VERDICT: Words = Words {
    canonical: &["ship", "ship_with_gates", "do_not_ship", "overridden"],
    synonyms: &[("ship_w/_gates", "ship_with_gates"), ("override", "overridden")],
    is_understood: nothing_else,
};

static ERROR: &[Field] = &[
    required("workstream", Shape::Text, "the workstream that failed"),
    required("message", Shape::Text, "what went wrong"),
    optional("file", Shape::OrNull(&Shape::Path), "the file it went wrong in"),
    optional("line", Shape::OrNull(&COUNT), "the line there"),
];

static REVIEW: &[Field] = &[
    required("verdict", Shape::Word(&VERDICT), "whether the build may go on"),
    required("p0_count", COUNT, "findings that block"),
    required("p1_count", COUNT, "findings that should be fixed"),
    required("attempt", Shape::Count { min: 1, max: 2 }, "which attempt this was; the second is the last"),
    optional("findings_path", Shape::OrNull(&Shape::Path), "the full report"),
    optional("approved_at", Shape::OrNull(&Shape::Time), "when a person approved of ship_with_gates; written by Piton"),
    optional("approved_by", Shape::OrNull(&Shape::Text), "who approved of it; written by Piton"),
    optional("override_reason", Shape::OrNull(&Shape::Text), "why the verdict was overridden"),
];

static FIX: &[Field] =
    &[required("file", Shape::Path, "the file that was changed"), required("change", Shape::Text, "what was changed")];

const NAMES: Shape = Shape::List(&Shape::Text);

static LISTED: &[Field] =
    &[required("id", Shape::Text, "the workstream's id"), optional("name", Shape::Text, "what a person calls it")];

const STREAMS: Shape = Shape::List(&Shape::TextOr(LISTED));

/// `.claude/skills/build-pipeline/checkpoints/{PRD}.json`
pub static CHECKPOINT: &[Field] = &[
    required("prd", Shape::Id, "the PRD, such as PRD-003"),
    required("prd_title", Shape::Text, "what a person calls it"),
    required("current_phase", COUNT, "0 before the first phase, then the phase's number"),
    required("status", Shape::Word(&STATUS), "where the build stands"),
    required("completed_workstreams", STREAMS, "workstreams that are done"),
    required("in_progress_workstreams", STREAMS, "workstreams that are being executed"),
    required("pending_workstreams", STREAMS, "workstreams that have not begun"),
    required("artifacts", Shape::Map(&Shape::List(&Shape::Path)), "files that each completed workstream made"),
    required("gates_passed", NAMES, "gates that passed, with their workstream: lint (WS1)"),
    required("gates_pending", NAMES, "gates that have not passed yet"),
    required("timestamp", Shape::Time, "when this checkpoint was last updated"),
    optional("error", Shape::OrNull(&Shape::Object(ERROR)), "what failed; only when failed"),
    optional("adversarial_review", Shape::OrNull(&Shape::Object(REVIEW)), "the review before the first phase"),
    optional("eslint_fixes", Shape::List(&Shape::Object(FIX)), "fixes that the linter asked for"),
    optional("cleanup_done", NAMES, "what was cleaned up"),
    optional("key_fixes", Shape::List(&Shape::Object(FIX)), "fixes worth knowing"),
    optional("exec_spec", Shape::Path, "the EXECUTION-SPEC"),
    optional("dormant_workstreams", STREAMS, "workstreams that are left out for now"),
    optional("created_at", Shape::Time, "when this checkpoint was created"),
    optional("updated_at", Shape::Time, "when this checkpoint was last updated"),
    optional("pause_reason", Shape::OrNull(&Shape::Text), "why it is paused; written by Piton"),
    optional("blocked_by", Shape::Any, "what keeps it from going on; written by Piton"),
    optional(
        "kept_artifacts",
        Shape::Map(&Shape::List(&Shape::Path)),
        "files of workstreams that are not completed; written by Piton",
    ),
    optional("execution_notes", Shape::Any, "notes with time, writer and purpose; written by Piton"),
    optional("decisions", Shape::Any, "what was decided on the way"),
    optional("evidence", Shape::Any, "what proves a workstream or gate; written by Piton"),
    optional("gov010_check", Shape::Any, "whether the design was checked before the build"),
];

static WORKSTREAM: &[Field] = &[
    required("name", Shape::Text, "what a person calls it"),
    optional("description", Shape::Text, "what it is about"),
    optional("executor", Shape::Text, "who executes it"),
    optional("executor_type", Shape::Text, "what kind of executor that is"),
    optional("depends_on", NAMES, "workstreams that must be done before"),
    optional("outputs", NAMES, "files that it makes"),
    optional("gate", Shape::Text, "the gate that it must pass"),
];

static PHASE: &[Field] = &[
    required("name", Shape::Text, "what a person calls it"),
    required("parallel", NAMES, "workstreams that run side by side"),
    optional("gates", NAMES, "gates that end the phase"),
];

static GATE: &[Field] = &[
    required("command", Shape::Text, "the command whose exit code decides"),
    optional("success_criteria", Shape::Text, "what success means, in words"),
];

/// The front matter of an EXECUTION-SPEC.
pub static SPECIFICATION: &[Field] = &[
    required("prd", Shape::Id, "the PRD that it belongs to"),
    optional("prd_title", Shape::Text, "what a person calls it"),
    required("workstreams", Shape::Map(&Shape::Object(WORKSTREAM)), "the workstreams by id"),
    required("execution_phases", Shape::List(&Shape::Object(PHASE)), "the phases in order; their numbers begin at 1"),
    optional("gates", Shape::Map(&Shape::Object(GATE)), "the gates by name"),
];

/// The documents of this dialect.
pub static DOCUMENTS: &[DocumentShape] = &[
    DocumentShape {
        name: "checkpoint",
        about: "A build's checkpoint: .claude/skills/build-pipeline/checkpoints/{PRD}.json",
        fields: CHECKPOINT,
    },
    DocumentShape {
        name: "specification",
        about: "The front matter of an EXECUTION-SPEC, as a YAML or JSON object",
        fields: SPECIFICATION,
    },
];
