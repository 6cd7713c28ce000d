//! No bytes make the readers of `task` panic.

use piton_dialect::Source;
use piton_dialect::task::{check_status_file, layout, read_checkpoint};
use piton_model::Time;

fn source(bytes: &[u8]) -> Source<'_> {
    Source { path: "progress/checkpoints/mason-W12.json".into(), bytes, modified: None }
}

#[test]
fn checkpoint() {
    bolero::check!().for_each(|bytes: &[u8]| {
        read_checkpoint(&source(bytes), Time::from_unix_seconds(1_771_588_140));
    });
}

/// Any value in the place of any key.
#[test]
fn checkpoint_values() {
    const KEYS: [&str; 12] = [
        "agent",
        "task_id",
        "status",
        "progress_percent",
        "subtasks",
        "files_created",
        "acceptance_criteria_met",
        "review_scores",
        "errors",
        "context",
        "heartbeat",
        "completed_at",
    ];
    bolero::check!().for_each(|bytes: &[u8]| {
        let mut text = String::from("{\"resumable\":true,\"checkpoint_id\":\"a-b\"");
        for (key, value) in KEYS.iter().zip(bytes.split(|byte| *byte == b'\n')) {
            text.push_str(&format!(",\"{key}\":{}", String::from_utf8_lossy(value)));
        }
        text.push('}');
        read_checkpoint(&source(text.as_bytes()), Time::from_unix_seconds(1_771_588_140));
    });
}

#[test]
fn status_file_and_paths() {
    bolero::check!().for_each(|bytes: &[u8]| {
        check_status_file(&source(bytes));
        let path = String::from_utf8_lossy(bytes);
        layout::recognise(&format!("progress/checkpoints/{path}.json"));
        layout::recognise(&path);
    });
}
