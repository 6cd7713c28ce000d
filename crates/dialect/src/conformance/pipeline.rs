use serde_json::{Value, json};

use super::{MAY, MUST, keys_hold, words_hold};
use crate::pipeline::wire::{CHECKPOINT, STATE};

fn checkpoint() -> Value {
    json!({
        "storyId": "PROJ-42", "stage": 3, "agentId": "abc-123-def",
        "tasksCompleted": ["PROJ-101", "PROJ-102"], "tasksRemaining": [],
        "lastAction": "Quality gate completed, verdict: PASS", "timestamp": "2026-02-14T14:30:00Z",
        "planScore": 3, "readiness": 7, "verdict": "PASS", "reason": "x", "qualityScore": 92, "issues": "y"
    })
}

fn state() -> Value {
    json!({
        "complete": false, "active_workers": 3, "stories_remaining": 3, "last_check": "2026-02-13T14:30:00Z",
        "story_state": { "API-427": "STAGE_2" }, "worker_map": { "API-427": "story-API-427-s2" },
        "quality_cycles": { "API-427": 0 }, "validation_retries": { "API-427": 0 }, "crash_count": { "API-427": 0 },
        "priority_queue_ids": ["API-429", "API-430"], "story_results": { "API-427": { "stage0": "skip" } },
        "infra_issues": [{ "phase": "1", "type": "hook", "message": "no git" }],
        "worktree_map": { "API-427": ".worktrees/story-API-427" }, "depends_on": { "API-429": ["API-427"] },
        "status_cache": { "Done": "5bbc" },
        "stage_timestamps": { "API-427": { "stage_0_start": "2026-02-13T13:00:00Z" } },
        "git_stats": { "API-427": { "lines_added": 245, "lines_deleted": 12, "files_changed": 5 } },
        "pipeline_start_time": "2026-02-13T12:55:00Z", "readiness_scores": { "API-427": 8 },
        "team_name": "pipeline-2026-02-13", "business_answers": { "Which port?": "8080" }, "storage_mode": "file",
        "skill_repo_path": "/skills",
        "project_brief": { "name": "shop", "tech": "Rust", "type": "service", "key_rules": ["no unsafe"] },
        "story_briefs": {
            "API-427": { "tech": "axum", "keyFiles": ["a.rs"], "approach": "one handler", "complexity": "low" }
        }
    })
}

#[test]
fn each_key_of_a_checkpoint_has_its_type() {
    keys_hold(
        CHECKPOINT,
        &checkpoint(),
        &[
            ("/storyId", MUST, json!([7, "../x", ""])),
            ("/stage", MUST, json!(["3", -1, 4, 1.5])),
            ("/agentId", MUST, json!([7, {}])),
            ("/tasksCompleted", MUST, json!(["PROJ-101", [7], {}])),
            ("/tasksRemaining", MUST, json!(["PROJ-101", [7], {}])),
            ("/lastAction", MUST, json!([7, []])),
            ("/timestamp", MUST, json!([7, "yesterday", "14:30"])),
            ("/planScore", MAY, json!(["3", -1, 5])),
            ("/readiness", MAY, json!(["7", 0, 11])),
            ("/verdict", MAY, json!([7, "FINE"])),
            ("/reason", MAY, json!([7])),
            ("/qualityScore", MAY, json!(["92", -1, 101])),
            ("/issues", MAY, json!([7])),
        ],
    );
    words_hold(CHECKPOINT, &checkpoint(), "/verdict", &["GO", "NO-GO", "PASS", "CONCERNS", "WAIVED", "FAIL"]);
}

#[test]
fn each_key_of_a_state_has_its_type() {
    keys_hold(
        STATE,
        &state(),
        &[
            ("/complete", MUST, json!(["no", 0])),
            ("/active_workers", MAY, json!(["3", -1, 1.5])),
            ("/stories_remaining", MAY, json!(["3", -1])),
            ("/last_check", MAY, json!([7, "soon"])),
            ("/story_state", MAY, json!(["STAGE_2", []])),
            ("/story_state/API-427", MAY, json!([7, "FLYING", "STAGE_4"])),
            ("/worker_map/API-427", MAY, json!([7, []])),
            ("/quality_cycles/API-427", MAY, json!(["1", -1])),
            ("/validation_retries/API-427", MAY, json!(["1", -1])),
            ("/crash_count/API-427", MAY, json!(["1", -1])),
            ("/priority_queue_ids", MAY, json!(["API-429", ["../x"], {}])),
            ("/story_results", MAY, json!([[], "Done"])),
            ("/story_results/API-427", MAY, json!(["Done"])),
            ("/infra_issues", MAY, json!([{}, "no git"])),
            ("/infra_issues/0/phase", MAY, json!([])),
            ("/infra_issues/0/type", MAY, json!([7])),
            ("/infra_issues/0/message", MAY, json!([7])),
            ("/worktree_map/API-427", MAY, json!([7, "../../tmp"])),
            ("/depends_on/API-429", MAY, json!(["API-427", [7]])),
            ("/status_cache", MAY, json!([[], "Done"])),
            ("/stage_timestamps/API-427", MAY, json!(["2026-02-13T13:00:00Z"])),
            ("/stage_timestamps/API-427/stage_0_start", MAY, json!([7, "soon"])),
            ("/git_stats/API-427/lines_added", MAY, json!(["245", -1])),
            ("/git_stats/API-427/lines_deleted", MAY, json!(["12", -1])),
            ("/git_stats/API-427/files_changed", MAY, json!(["5", -1])),
            ("/pipeline_start_time", MAY, json!([7, "soon"])),
            ("/readiness_scores/API-427", MAY, json!(["8", 0, 11])),
            ("/team_name", MAY, json!([7])),
            ("/business_answers", MAY, json!([[], "8080"])),
            ("/storage_mode", MAY, json!([7, "paper"])),
            ("/skill_repo_path", MAY, json!([7])),
            ("/project_brief", MAY, json!([[], "shop"])),
            ("/project_brief/name", MAY, json!([7])),
            ("/story_briefs/API-427", MAY, json!(["axum"])),
        ],
    );
    let words = ["QUEUED", "STAGE_0", "STAGE_1", "STAGE_2", "STAGE_3", "DONE", "PAUSED"];
    words_hold(STATE, &state(), "/story_state/API-427", &words);
    words_hold(STATE, &state(), "/storage_mode", &["file", "linear"]);
}
