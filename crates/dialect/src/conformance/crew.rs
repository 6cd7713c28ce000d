use serde_json::{Value, json};

use super::{MAY, MUST, keys_hold, words_hold};
use crate::crew::wire::CHECKPOINT;

fn checkpoint() -> Value {
    json!({
        "agent_id": "Agent-Primary", "agent_type": "primary", "session_id": "abc123def456",
        "feature": "feature_01_player_json", "stage": "S2.P2", "phase": "Specification",
        "last_checkpoint": "2026-01-15T14:30:00Z", "next_checkpoint_expected": "2026-01-15T14:45:00Z",
        "status": "IN_PROGRESS", "can_resume": true, "blockers": [],
        "files_modified": ["feature_01_player_json/spec.md", "EPIC_README.md"],
        "recovery_instructions": "Continue from Requirements Section 5.", "current_step": "Writing Section 5",
        "completed_steps": ["S2.P1 complete"], "next_steps": ["Complete Requirements Section 5"],
        "coordination_state": {
            "last_inbox_check": "2026-01-15T14:28:00Z", "unread_messages": 0,
            "last_epic_readme_update": "2026-01-15T14:15:00Z", "last_status_update": "2026-01-15T14:15:00Z"
        }
    })
}

#[test]
fn each_key_of_a_checkpoint_has_its_type() {
    keys_hold(
        CHECKPOINT,
        &checkpoint(),
        &[
            ("/agent_id", MUST, json!([7, "../x"])),
            ("/agent_type", MUST, json!([7, "boss"])),
            ("/session_id", MUST, json!([7])),
            ("/feature", MUST, json!([7])),
            ("/stage", MUST, json!([7])),
            ("/phase", MUST, json!([7])),
            ("/last_checkpoint", MUST, json!([7, "soon"])),
            ("/next_checkpoint_expected", MUST, json!([7, "soon"])),
            ("/status", MUST, json!([7, "on holiday"])),
            ("/can_resume", MUST, json!(["yes", 1])),
            ("/blockers", MUST, json!(["none", [7]])),
            ("/files_modified", MUST, json!(["spec.md", ["../x"]])),
            ("/recovery_instructions", MUST, json!([7])),
            ("/current_step", MUST, json!([7])),
            ("/completed_steps", MUST, json!(["one", [7]])),
            ("/next_steps", MUST, json!(["one", [7]])),
            ("/coordination_state", MUST, json!([[], "x"])),
            ("/coordination_state/last_inbox_check", MAY, json!([7, "soon"])),
            ("/coordination_state/unread_messages", MAY, json!(["0", -1])),
            ("/coordination_state/last_epic_readme_update", MAY, json!([7, "soon"])),
            ("/coordination_state/last_status_update", MAY, json!([7, "soon"])),
        ],
    );
    words_hold(CHECKPOINT, &checkpoint(), "/agent_type", &["primary", "secondary"]);
    words_hold(CHECKPOINT, &checkpoint(), "/status", &["IN_PROGRESS", "WAITING", "BLOCKED", "COMPLETE"]);
}
