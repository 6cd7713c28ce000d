use serde_json::{Value, json};

use super::{MAY, MUST, keys_hold, words_hold};
use crate::build::wire::CHECKPOINT;

fn checkpoint() -> Value {
    json!({
        "prd": "PRD-003", "prd_title": "Cashier Workflows", "current_phase": 1, "status": "in_progress",
        "completed_workstreams": ["WS1"], "in_progress_workstreams": ["WS2"], "pending_workstreams": ["WS3"],
        "artifacts": { "WS1": ["dtos.ts"] }, "gates_passed": ["schema-validation (WS1)"], "gates_pending": ["lint"],
        "timestamp": "2025-12-11T10:20:00Z",
        "error": { "workstream": "WS3", "message": "torn", "file": "services/index.ts", "line": 45 },
        "adversarial_review": {
            "verdict": "overridden", "p0_count": 1, "p1_count": 2, "attempt": 2, "findings_path": "docs/review.md",
            "override_reason": "a demo"
        },
        "eslint_fixes": [{ "file": "a.ts", "change": "no unused names" }], "cleanup_done": ["old hooks"],
        "key_fixes": [{ "file": "b.ts", "change": "a key for each row" }]
    })
}

#[test]
fn each_key_of_a_checkpoint_has_its_type() {
    keys_hold(
        CHECKPOINT,
        &checkpoint(),
        &[
            ("/prd", MUST, json!([7, "../x"])),
            ("/prd_title", MUST, json!([7])),
            ("/current_phase", MUST, json!(["1", -1, 1.5])),
            ("/status", MUST, json!([7, "flying"])),
            ("/completed_workstreams", MUST, json!(["WS1", [7]])),
            ("/in_progress_workstreams", MUST, json!(["WS1", [7]])),
            ("/pending_workstreams", MUST, json!(["WS1", [7]])),
            ("/artifacts", MUST, json!([[], "dtos.ts"])),
            ("/artifacts/WS1", MAY, json!(["dtos.ts", [7]])),
            ("/gates_passed", MUST, json!(["lint", [7]])),
            ("/gates_pending", MUST, json!(["lint", [7]])),
            ("/timestamp", MUST, json!([7, "soon"])),
            ("/error", MAY, json!(["torn"])),
            ("/error/workstream", MUST, json!([7])),
            ("/error/message", MUST, json!([7])),
            ("/error/file", MAY, json!([7])),
            ("/error/line", MAY, json!(["45", -1])),
            ("/adversarial_review", MAY, json!(["ship"])),
            ("/adversarial_review/verdict", MUST, json!([7, "perhaps"])),
            ("/adversarial_review/p0_count", MUST, json!(["1", -1])),
            ("/adversarial_review/p1_count", MUST, json!(["2", -1])),
            ("/adversarial_review/attempt", MUST, json!(["2", 0, 3])),
            ("/adversarial_review/findings_path", MAY, json!([7])),
            ("/adversarial_review/override_reason", MAY, json!([7])),
            ("/eslint_fixes", MAY, json!(["a.ts"])),
            ("/eslint_fixes/0/file", MUST, json!([7])),
            ("/eslint_fixes/0/change", MUST, json!([7])),
            ("/cleanup_done", MAY, json!(["old hooks", [7]])),
            ("/key_fixes", MAY, json!(["b.ts"])),
            ("/key_fixes/0/file", MUST, json!([7])),
            ("/key_fixes/0/change", MUST, json!([7])),
        ],
    );
    let words = ["initialized", "in_progress", "paused", "failed", "complete"];
    words_hold(CHECKPOINT, &checkpoint(), "/status", &words);
    let words = ["ship", "ship_with_gates", "do_not_ship", "overridden"];
    words_hold(CHECKPOINT, &checkpoint(), "/adversarial_review/verdict", &words);
}
