use serde_json::{Value, json};

use super::{MAY, MUST, keys_hold, words_hold};
use crate::plan::wire::{HISTORY, RECOVERY, STATE};

fn state() -> Value {
    json!({
        "version": 2, "planId": "260220-1149-feature", "planPath": "/repo/plans/260220-1149-feature/plan.md",
        "lastCheckpoint": "2026-02-20T11:52:00Z", "checksum": "sha256:ba7816bf8f01cfea",
        "progress": { "totalTasks": 2, "completedTasks": 1, "percentage": 50.0 },
        "phases": {
            "phase-1-setup": {
                "status": "in_progress", "startedAt": "2026-02-20T11:49:00Z", "completedAt": "2026-02-20T12:30:00Z",
                "tasks": {
                    "db-schema": { "done": true, "completedAt": "2026-02-20T11:52:00Z", "completedBy": "main" }
                },
                "acceptance": { "migrations": { "met": true, "verifiedAt": "2026-02-20T12:30:00Z" } }
            }
        },
        "currentPhase": "phase-1-setup", "currentTask": "auth-middleware", "blockers": ["no key"],
        "decisions": [{ "time": "2026-02-20T11:50:00Z", "decision": "one database", "reason": "simple" }],
        "sessionNotes": "half way",
        "agents": {
            "a1": {
                "type": "fullstack", "assignedTasks": ["auth-middleware"], "completedTasks": ["db-schema"],
                "lastActive": "2026-02-20T12:05:00Z"
            }
        }
    })
}

#[test]
fn each_key_of_a_state_has_its_type() {
    let (phase, task) = ("/phases/phase-1-setup", "/phases/phase-1-setup/tasks/db-schema");
    let criterion = "/phases/phase-1-setup/acceptance/migrations";
    let below = |at: &str, key: &str| format!("{at}/{key}");
    let nested = [
        (below(phase, "status"), MUST, json!([7, "half"])),
        (below(phase, "startedAt"), MAY, json!([7, "soon"])),
        (below(phase, "completedAt"), MAY, json!([7, "soon"])),
        (below(phase, "tasks"), MUST, json!([[], "db-schema"])),
        (below(phase, "acceptance"), MAY, json!([[], "migrations"])),
        (below(task, "done"), MUST, json!(["x", 1])),
        (below(task, "completedAt"), MAY, json!([7, "soon"])),
        (below(task, "completedBy"), MAY, json!([7])),
        (below(criterion, "met"), MUST, json!(["x", 1])),
        (below(criterion, "verifiedAt"), MAY, json!([7, "soon"])),
        (below("/agents/a1", "type"), MUST, json!([7])),
        (below("/agents/a1", "assignedTasks"), MAY, json!(["x", [7]])),
        (below("/agents/a1", "completedTasks"), MAY, json!(["x", [7]])),
        (below("/agents/a1", "lastActive"), MAY, json!([7, "soon"])),
    ];
    let mut keys = vec![
        ("/version", MUST, json!(["2", 1, 3])),
        ("/planId", MUST, json!([7, "../x"])),
        ("/planPath", MUST, json!([7])),
        ("/lastCheckpoint", MUST, json!([7, "soon"])),
        ("/checksum", MUST, json!([7])),
        ("/progress", MUST, json!([[], 50])),
        ("/progress/totalTasks", MUST, json!(["2", -1, 1.5])),
        ("/progress/completedTasks", MUST, json!(["1", -1])),
        ("/progress/percentage", MUST, json!(["50.0", -1, 101])),
        ("/phases", MUST, json!([[], "phase-1-setup"])),
        ("/currentPhase", MUST, json!([7])),
        ("/currentTask", MUST, json!([7])),
        ("/blockers", MUST, json!(["no key", [7]])),
        ("/decisions", MUST, json!([{}, "one database"])),
        ("/decisions/0/time", MAY, json!([7, "soon"])),
        ("/decisions/0/decision", MUST, json!([7])),
        ("/decisions/0/reason", MAY, json!([7])),
        ("/sessionNotes", MUST, json!([7])),
        ("/agents", MUST, json!([[], "a1"])),
    ];
    keys.extend(nested.iter().map(|(at, need, wrong)| (at.as_str(), *need, wrong.clone())));
    keys_hold(STATE, &state(), &keys);
    words_hold(STATE, &state(), &below(phase, "status"), &["pending", "in_progress", "completed"]);
    let mut over = state();
    for key in ["currentPhase", "currentTask", "sessionNotes"] {
        over[key] = Value::Null;
    }
    assert_eq!(super::findings(STATE, &over), [""; 0], "these may be null");
}

#[test]
fn each_key_of_a_recovery_and_of_a_history_line_has_its_type() {
    let recovery = json!({ "savedAt": "2026-02-20T12:25:00Z", "reason": "pre_subagent_spawn", "state": state() });
    keys_hold(
        RECOVERY,
        &recovery,
        &[
            ("/savedAt", MUST, json!([7, "soon"])),
            ("/reason", MUST, json!([7])),
            ("/state", MUST, json!([[], "x"])),
            ("/state/version", MUST, json!([1])),
        ],
    );
    let line = json!({ "ts": "2026-02-20T11:49:00Z", "event": "checkpoint_created" });
    keys_hold(HISTORY, &line, &[("/ts", MUST, json!([7, "soon"])), ("/event", MUST, json!([7]))]);
}
