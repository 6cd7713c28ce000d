//! Documents as the protocols prescribe them, about the works of an invented harbour.

use serde_json::{Value, json};

/// Where builds keep their checkpoints.
pub const BUILDS: &str = ".claude/skills/build-pipeline/checkpoints";

/// A story's checkpoint at stage 2, with one of three tasks done.
pub fn story(id: &str, written: &str) -> Value {
    json!({
        "storyId": id,
        "stage": 2,
        "agentId": format!("agent-{id}"),
        "tasksCompleted": ["T1"],
        "tasksRemaining": ["T2", "T3"],
        "lastAction": "wired the lamp",
        "timestamp": written,
    })
}

/// A pipeline's state with these stories.
pub fn pipeline(stories: Value, depends_on: Value) -> Value {
    let open = |word: &Value| !matches!(word.as_str(), Some("DONE" | "PAUSED"));
    let is_worked_on = |word: &Value| word.as_str().is_some_and(|word| word.starts_with("STAGE_"));
    let words = || stories.as_object().expect("stories by their ids").values();
    json!({
        "complete": false,
        "active_workers": words().filter(|word| is_worked_on(word)).count(),
        "stories_remaining": words().filter(|word| open(word)).count(),
        "last_check": "2026-02-20T11:59:00Z",
        "story_state": stories,
        "depends_on": depends_on,
        "storage_mode": "file",
    })
}

/// A build's checkpoint in its second phase of two.
pub fn build(prd: &str, title: &str, status: &str) -> Value {
    let in_progress = if status == "in_progress" { json!(["WS2"]) } else { json!([]) };
    let pending = if status == "in_progress" { json!([]) } else { json!(["WS2"]) };
    json!({
        "prd": prd,
        "prd_title": title,
        "current_phase": 2,
        "status": status,
        "completed_workstreams": ["WS1"],
        "in_progress_workstreams": in_progress,
        "pending_workstreams": pending,
        "artifacts": { "WS1": ["src/chart.rs"] },
        "gates_passed": ["lint (WS1)"],
        "gates_pending": ["tests"],
        "timestamp": "2026-02-20T11:50:00Z",
    })
}

/// The specification of [`build`].
pub fn specification(prd: &str) -> String {
    format!(
        "---
prd: {prd}
workstreams:
  WS1:
    name: Draw the chart
    gate: lint
  WS2:
    name: Dredge the basin
    depends_on: [WS1]
    gate: tests
execution_phases:
  - name: \"Phase 1: Survey\"
    parallel: [WS1]
    gates: [lint]
  - name: Works
    parallel: [WS2]
    gates: [tests]
gates:
  lint:
    command: make lint
  tests:
    command: make test
---

# How {prd} is executed
"
    )
}

/// A task's checkpoint with one of three subtasks done.
pub fn task(agent: &str, id: &str, title: &str, beat: &str) -> Value {
    json!({
        "checkpoint_id": format!("{agent}-{id}-20260220-0900"),
        "agent": agent,
        "agent_name": "Harbour hand",
        "task_id": id,
        "task_title": title,
        "status": "in_progress",
        "progress_percent": 33,
        "started_at": "2026-02-20T09:00:00Z",
        "updated_at": beat,
        "subtasks": {
            "total": 3,
            "completed": 1,
            "failed": 0,
            "items": [
                { "id": "north", "status": "complete", "output": "docs/north.md" },
                { "id": "east", "status": "in_progress" },
                { "id": "south", "status": "pending" },
            ],
        },
        "files_modified": [format!("docs/{id}.md")],
        "acceptance_criteria_met": { "all_quays_listed": false },
        "errors": [],
        "context": { "last_processed": "north", "next_to_process": "east" },
        "resumable": true,
        "resume_instructions": "go on with the east quay",
        "heartbeat": { "last_beat": beat, "interval_seconds": 300, "status": "alive" },
    })
}

/// An agent's checkpoint with one step done.
pub fn agent(id: &str, feature: &str, status: &str, written: &str, next: &str) -> Value {
    let kind = if id == "Agent-Primary" { "primary" } else { "secondary" };
    json!({
        "agent_id": id,
        "agent_type": kind,
        "session_id": format!("session-{id}"),
        "feature": feature,
        "stage": "S2.P1",
        "phase": "Discovery",
        "last_checkpoint": written,
        "next_checkpoint_expected": next,
        "status": status,
        "can_resume": true,
        "blockers": [],
        "files_modified": ["src/tide.rs"],
        "recovery_instructions": "read the tide table and go on with the gauge",
        "current_step": "calibrate the gauge",
        "completed_steps": ["read the tide table"],
        "next_steps": ["calibrate the gauge", "report"],
        "coordination_state": { "last_inbox_check": written, "unread_messages": 0 },
    })
}

/// A plan in two phases, with two of four tasks and none of its criteria done.
pub const PLAN: &str = "\
# Rebuild the lighthouse

<!-- CHECKPOINT: phase-1 -->
- [x] Measure the tower <!-- TASK: measure -->
- [x] Order the lens <!-- TASK: lens -->

<!-- CHECKPOINT: phase-2 -->
- [ ] Fit the lens <!-- TASK: fit -->
- [ ] Light the lamp <!-- TASK: light -->
- [ ] Seen from ten miles <!-- ACCEPT: visible -->
";

/// The state of [`PLAN`] as of five minutes ago.
pub fn plan_state(id: &str, checksum: &str) -> Value {
    json!({
        "version": 2,
        "planId": id,
        "planPath": format!("/harbour/plans/{id}/plan.md"),
        "lastCheckpoint": "2026-02-20T11:55:00Z",
        "checksum": checksum,
        "progress": { "totalTasks": 4, "completedTasks": 2, "percentage": 50.0 },
        "phases": {
            "phase-1": {
                "status": "completed",
                "tasks": {
                    "measure": { "done": true, "completedAt": "2026-02-20T10:00:00Z", "completedBy": "main" },
                    "lens": { "done": true, "completedAt": "2026-02-20T11:00:00Z", "completedBy": "subagent:buyer" },
                },
            },
            "phase-2": {
                "status": "pending",
                "tasks": { "fit": { "done": false }, "light": { "done": false } },
                "acceptance": { "visible": { "met": false } },
            },
        },
        "currentPhase": "phase-2",
        "currentTask": "fit",
        "blockers": [],
        "decisions": [{ "time": "2026-02-20T10:30:00Z", "decision": "buy the lens", "reason": "grinding takes a year" }],
        "sessionNotes": "the crane comes on Monday",
        "agents": {
            "agent-9": {
                "type": "rigger",
                "assignedTasks": ["fit"],
                "completedTasks": [],
                "lastActive": "2026-02-20T11:55:00Z",
            },
        },
    })
}
