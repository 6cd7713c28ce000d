//! The keys of an agent's checkpoint.

use super::standing;
use crate::schema::DocumentShape;
use crate::shape::{COUNT, Field, Shape, optional, required};
use crate::words::{Words, nothing_else};

/// What `status` may say. The synonyms are words of real files; each stands for the nearest of the protocol's.
pub static STATUS: Words = Words {
    canonical: &["IN_PROGRESS", "WAITING", "BLOCKED", "COMPLETE"],
    synonyms: &[
        ("completed", "COMPLETE"),
        ("done", "COMPLETE"),
        ("finished", "COMPLETE"),
        ("active", "IN_PROGRESS"),
        ("working", "IN_PROGRESS"),
        ("running", "IN_PROGRESS"),
        ("resumed", "IN_PROGRESS"),
        ("started", "IN_PROGRESS"),
        ("waiting_for_sync", "WAITING"),
        ("waiting_for_primary", "WAITING"),
        ("waiting_for_dependencies", "WAITING"),
        ("ready", "WAITING"),
        ("ready_for_sync", "WAITING"),
    ],
    is_understood: standing::is_understood,
};

/// The stages in which agents work in parallel.
pub const STAGES: [&str; 3] = ["S2.P1", "S2.P2", "S2.P3"];

/// A stage without the words that agents put after it: `S2.P1 COMPLETE` is stage `S2.P1`.
pub fn stage(text: &str) -> String {
    text.split_whitespace().next().unwrap_or_default().trim_end_matches([',', ':', ';']).to_ascii_uppercase()
}

/// The stage that somebody typed: `S2.P2`, `P2` or `2`.
pub fn stage_named(typed: &str) -> Option<&'static str> {
    let typed = typed.trim().to_ascii_uppercase();
    let is_named = |stage: &&&str| **stage == typed || stage[3..] == typed || stage[4..] == typed;
    STAGES.iter().find(is_named).copied()
}

/// The stage after one; nothing after the last, and after one that is not known.
pub fn stage_after(text: &str) -> Option<&'static str> {
    let at = STAGES.iter().position(|known| *known == stage(text))?;
    STAGES.get(at + 1).copied()
}

/// What people call a stage's phase; the stage itself where it has no such name.
pub fn phase_of(stage: &str) -> &str {
    match stage {
        "S2.P1" => "Research Phase",
        "S2.P2" => "Specification",
        "S2.P3" => "Refinement",
        other => other,
    }
}

/// What `agent_type` may say.
pub static AGENT_TYPE: Words =
    Words { canonical: &["primary", "secondary"], synonyms: &[], is_understood: nothing_else };

static COORDINATION: &[Field] = &[
    optional("last_inbox_check", Shape::Time, "when the inbox was last read"),
    optional("unread_messages", COUNT, "how many messages were unread then"),
    optional("last_epic_readme_update", Shape::Time, "when EPIC_README.md was last updated"),
    optional("last_status_update", Shape::Time, "when the feature's STATUS file was last updated"),
];

/// `agent_checkpoints/{agent}.json`
pub static CHECKPOINT: &[Field] = &[
    required("agent_id", Shape::Id, "the agent, such as Agent-Primary or Secondary-A"),
    required("agent_type", Shape::Word(&AGENT_TYPE), "primary or secondary"),
    required("session_id", Shape::Text, "a unique id of this session, new after every resume"),
    required("feature", Shape::Text, "the feature that this agent owns"),
    required("stage", Shape::Text, "the current stage: S2.P1, S2.P2 or S2.P3"),
    required("phase", Shape::Text, "the phase in words"),
    required("last_checkpoint", Shape::Time, "when this checkpoint was last updated"),
    required("next_checkpoint_expected", Shape::Deadline, "when the next update is expected: 15 minutes later"),
    required("status", Shape::Word(&STATUS), "what the agent is doing"),
    required("can_resume", Shape::Flag, "whether work can be resumed from here"),
    required("blockers", Shape::List(&Shape::Text), "what keeps the agent from going on"),
    required("files_modified", Shape::List(&Shape::Path), "files changed since the last commit"),
    required("recovery_instructions", Shape::Text, "how to resume, for a reader who knows nothing"),
    required("current_step", Shape::Text, "what the agent is working on right now"),
    required("completed_steps", Shape::List(&Shape::Text), "steps already done"),
    required("next_steps", Shape::List(&Shape::Text), "steps to do next"),
    required("coordination_state", Shape::Object(COORDINATION), "when the agent last talked to the others"),
    optional("waiting_reason", Shape::OrNull(&Shape::Text), "why it waits; written by Piton"),
    optional(
        "paused_by",
        Shape::OrNull(&Shape::Text),
        "who paused it, when it does not wait by itself; written by Piton",
    ),
    optional("step_numbers", Shape::Any, "the steps of an attempt by their numbers; written by Piton"),
];

/// The documents of this dialect.
pub static DOCUMENTS: &[DocumentShape] = &[DocumentShape {
    name: "checkpoint",
    about: "An agent's checkpoint: agent_checkpoints/{agent}.json",
    fields: CHECKPOINT,
}];
