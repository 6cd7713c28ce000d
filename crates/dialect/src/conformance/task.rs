use serde_json::{Value, json};

use super::{MAY, MUST, keys_hold, words_hold};
use crate::task::wire::CHECKPOINT;

fn checkpoint() -> Value {
    json!({
        "checkpoint_id": "migration-T060-20251208-143025", "agent": "migration", "agent_name": "Riley",
        "task_id": "T060", "task_title": "Convert Nature Trail PDFs to Markdown", "status": "in_progress",
        "progress_percent": 65, "started_at": "2025-12-08T14:30:25Z", "updated_at": "2025-12-08T14:52:10Z",
        "completed_at": null,
        "subtasks": {
            "total": 29, "completed": 19, "failed": 0,
            "items": [{ "id": "post-01", "status": "complete", "output": "pdfs-markdown/post-01.md" }]
        },
        "files_created": ["docs/post-01.md"], "files_modified": ["docs/MANIFEST.json"],
        "acceptance_criteria_met": { "29_files_created": false }, "review_scores": { "agent_4": null },
        "errors": [{
            "type": "dependency_missing", "message": "no source", "timestamp": "2025-12-08T14:52:10Z", "blocking": true
        }],
        "context": { "last_processed": "Post19English.pdf", "next_to_process": "Post20English.pdf", "notes": "flagged" },
        "resumable": true, "resume_instructions": "Continue from post-20.md",
        "heartbeat": { "last_beat": "2025-12-08T14:55:00Z", "interval_seconds": 300, "status": "alive" }
    })
}

#[test]
fn each_key_of_a_checkpoint_has_its_type() {
    keys_hold(
        CHECKPOINT,
        &checkpoint(),
        &[
            ("/checkpoint_id", MUST, json!([7, "../x"])),
            ("/agent", MUST, json!([7, "../x"])),
            ("/agent_name", MAY, json!([7])),
            ("/task_id", MUST, json!([7, "a b"])),
            ("/task_title", MAY, json!([7])),
            ("/status", MUST, json!([7, "flying"])),
            ("/progress_percent", MUST, json!(["65", -1, 101, 6.5])),
            ("/started_at", MUST, json!([7, "soon"])),
            ("/updated_at", MUST, json!([7, "soon"])),
            ("/completed_at", MAY, json!([7, "soon"])),
            ("/subtasks", MUST, json!([[], 29])),
            ("/subtasks/total", MUST, json!(["29", -1])),
            ("/subtasks/completed", MUST, json!(["19", -1])),
            ("/subtasks/failed", MAY, json!(["0", -1])),
            ("/subtasks/items", MAY, json!([{}, "post-01"])),
            ("/subtasks/items/0/id", MUST, json!([7])),
            ("/subtasks/items/0/status", MUST, json!([7, "flying"])),
            ("/subtasks/items/0/output", MAY, json!([7, "../x"])),
            ("/files_created", MAY, json!(["a.md", [7], ["../x"]])),
            ("/files_modified", MAY, json!(["a.md", [7], ["../x"]])),
            ("/acceptance_criteria_met", MAY, json!([[], "all"])),
            ("/acceptance_criteria_met/29_files_created", MAY, json!(["soon", 1])),
            ("/review_scores", MAY, json!([[], 85])),
            ("/review_scores/agent_4", MAY, json!(["85", -1, 101])),
            ("/errors", MAY, json!(["x", {}])),
            ("/errors/0/type", MAY, json!([7])),
            ("/errors/0/message", MUST, json!([7])),
            ("/errors/0/timestamp", MAY, json!([7, "soon"])),
            ("/errors/0/blocking", MAY, json!(["yes"])),
            ("/context", MAY, json!([[], "x"])),
            ("/context/last_processed", MAY, json!([7])),
            ("/context/next_to_process", MAY, json!([7])),
            ("/context/notes", MAY, json!([7])),
            ("/resumable", MUST, json!(["yes", 1])),
            ("/resume_instructions", MAY, json!([7])),
            ("/heartbeat", MAY, json!([[], "alive"])),
            ("/heartbeat/last_beat", MUST, json!([7, "soon"])),
            ("/heartbeat/interval_seconds", MAY, json!(["300", 0])),
            ("/heartbeat/status", MAY, json!([7])),
        ],
    );
    words_hold(CHECKPOINT, &checkpoint(), "/status", &["in_progress", "blocked", "complete", "not_started"]);
    let words = ["complete", "in_progress", "pending"];
    words_hold(CHECKPOINT, &checkpoint(), "/subtasks/items/0/status", &words);
}
