use serde_json::{Value, json};

use super::{NOTHING, prints, text};
use crate::support::fixtures::task;
use crate::support::harbour::but;

const PATH: &str = "progress/checkpoints/quay-T1.json";
const OLD: &str = "2026-02-20T08:00:00Z";

/// A checkpoint with these keys, hours old.
fn checkpoint(changes: Value) -> (&'static str, String) {
    (PATH, text(&but(task("quay", "T1", "List all quays", OLD), changes)))
}

#[test]
fn hints_of_a_task_lead_on() {
    for (lines, hint) in [
        (
            "start task:quay/T1 --title T --total 2\ntakeover task:quay/T1 --as quay",
            "if it is gone for certain: piton resume task:quay/T1 --force",
        ),
        ("start task:quay/T1 --title T --total 2\nfinish task:quay/T1", "piton step task:quay/T1 done SUBTASK"),
        (
            "start task:quay/T1 --title T --step one\nstep task:quay/T1 done one\nfinish task:quay/T1\nrepair task:quay/T1",
            "see what was done: piton status task:quay/T1",
        ),
    ] {
        prints(NOTHING, lines, hint);
    }
    for (changes, line, hint) in [
        (json!({}), "takeover task:quay/T1 --as quay", "go on with it: piton resume task:quay/T1"),
        (json!({ "status": "blocked" }), "reopen task:quay/T1", "go on with it: piton unblock task:quay/T1"),
        (
            json!({ "status": "complete", "acceptance_criteria_met": { "tidy": false } }),
            "why task:quay/T1",
            "open it again for what is missing: piton reopen task:quay/T1",
        ),
        (json!({ "status": "not_started" }), "resume task:quay/T1", "piton start task:quay/T1"),
        (
            json!({ "status": "paused" }),
            "step task:quay/T1 begin east",
            "correct it, or begin anew: piton restart task:quay/T1 --force",
        ),
    ] {
        prints(&[checkpoint(changes)], line, hint);
    }
    prints(
        &[(PATH, "{\"a\": 1}\n")],
        "start task:quay/T1 --title T",
        "see what it is: piton check progress/checkpoints/quay-T1.json",
    );
}
