//! One workspace with units of every dialect, in every lifecycle and every state of life.

use serde_json::{Value, json};
use sha2::Digest as _;

use super::Workspace;
use super::fixtures::{BUILDS, PLAN, agent, build, pipeline, plan_state, specification, story, task};

const ALIVE: &str = "2026-02-20T11:55:00Z";
const LATE: &str = "2026-02-20T11:20:00Z";
const STALE: &str = "2026-02-20T10:00:00Z";

/// A workspace with all of them. Nothing in it is broken; what is odd is odd on purpose.
pub fn harbour() -> Workspace {
    let workspace = Workspace::new();
    stories(&workspace);
    builds(&workspace);
    plans(&workspace);
    tasks(&workspace);
    crew(&workspace);
    workspace
}

/// Writes a JSON document.
pub fn put(workspace: &Workspace, path: &str, document: &Value) {
    workspace.write(path, format!("{document:#}\n"));
}

/// The document with these keys set.
pub fn but(mut document: Value, changes: Value) -> Value {
    let Value::Object(changes) = changes else { panic!("changes are an object") };
    document.as_object_mut().expect("a document is an object").extend(changes);
    document
}

fn stories(workspace: &Workspace) {
    let states = json!({
        "HARB-1": "DONE",
        "HARB-2": "STAGE_2",
        "HARB-3": "STAGE_2",
        "HARB-4": "STAGE_2",
        "HARB-5": "QUEUED",
        "HARB-6": "PAUSED",
        "HARB-7": "QUEUED",
    });
    let state = pipeline(states, json!({ "HARB-5": ["HARB-2"] }));
    let briefs = json!({
        "HARB-2": { "approach": "Hang lamps along the pier" },
        "HARB-3": { "approach": "潮汐表を新しい形式に移行して、古い形式を廃止する" },
        "HARB-4": { "approach": "⚓ Anchors 👩‍🚀 for 🇫🇷 guests" },
        "HARB-5": { "approach": "red \u{1b}[31malert\u{1b}[0m and \u{1b}]52;c;aGFyYm91cg==\u{7}clipboard" },
        "HARB-6": { "approach": "left \u{202e}thgir\u{202c} left, zero\u{200b}width" },
    });
    let workers = json!({ "HARB-2": "story-HARB-2-s2", "HARB-3": "story-HARB-3-s2", "HARB-4": "story-HARB-4-s2-fix1" });
    put(workspace, ".pipeline/state.json", &but(state, json!({ "worker_map": workers, "story_briefs": briefs })));
    let checkpoint = |id: &str, document: &Value| {
        put(workspace, &format!(".pipeline/checkpoint-{id}.json"), document);
    };
    let finished =
        json!({ "stage": 3, "tasksCompleted": [], "tasksRemaining": [], "verdict": "PASS", "qualityScore": 91 });
    checkpoint("HARB-1", &but(story("HARB-1", STALE), finished));
    checkpoint("HARB-2", &story("HARB-2", ALIVE));
    checkpoint("HARB-3", &story("HARB-3", LATE));
    checkpoint("HARB-4", &story("HARB-4", STALE));
    let refused = json!({
        "stage": 1, "tasksCompleted": [], "tasksRemaining": [],
        "verdict": "NO-GO", "readiness": 3, "reason": "nobody knows how deep the water is",
    });
    checkpoint("HARB-6", &but(story("HARB-6", STALE), refused));
}

fn builds(workspace: &Workspace) {
    let checkpoint = |id: &str, document: Value| put(workspace, &format!("{BUILDS}/{id}.json"), &document);
    let complete = json!({
        "completed_workstreams": ["WS1", "WS2"], "pending_workstreams": [],
        "artifacts": { "WS1": ["src/chart.rs"], "WS2": ["src/basin.rs"] },
        "gates_passed": ["lint (WS1)", "tests (WS2)"], "gates_pending": [],
    });
    checkpoint("PRD-001", but(build("PRD-001", "Chart the bay", "complete"), complete));
    checkpoint("PRD-002", build("PRD-002", "Dredge the basin", "in_progress"));
    workspace.write("docs/EXECUTION-SPEC-PRD-002.md", specification("PRD-002"));
    let error =
        json!({ "workstream": "WS2", "message": "the dredger ran aground", "file": "src/basin.rs", "line": 41 });
    checkpoint("PRD-003", but(build("PRD-003", "Deepen the channel", "failed"), json!({ "error": error })));
    let fresh = json!({
        "current_phase": 0, "completed_workstreams": [], "pending_workstreams": ["WS1", "WS2"],
        "artifacts": {}, "gates_passed": [], "gates_pending": ["lint", "tests"],
    });
    checkpoint("PRD-004", but(build("PRD-004", "Paint the cranes", "initialized"), fresh));
    checkpoint("PRD-005", build("PRD-005", "Move the ferry", "done except for the ferry itself"));
    checkpoint("PRD-006", build("PRD-006", "Widen the quay", "paused"));
}

fn plans(workspace: &Workspace) {
    let digest = sha2::Sha256::digest(PLAN);
    let checksum = digest[..8].iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"));
    workspace.write("plans/260218-0900-lighthouse/plan.md", PLAN);
    let state = plan_state("260218-0900-lighthouse", &checksum);
    put(workspace, "plans/260218-0900-lighthouse/.checkpoint/state.json", &state);
    workspace.write("plans/260219-1000-buoys/plan.md", "# Buoys\n\n- [ ] Count them\n- [x] Paint them\n");
    let blocked =
        "# Ferry line\n\n- [x] Ask <!-- TASK: ask -->\n- [ ] Sail <!-- TASK: sail -->\n<!-- BLOCKER: no ferry -->\n";
    workspace.write("plans/260219-1100-ferry/plan.md", blocked);
    workspace.write("plans/260219-1200-moles/plan.md", "# Moles\n\n- [x] Mend <!-- TASK: mend -->\n");
    workspace.write("plans/260220-0800-cranes/plan.md", "# Cranes\n\n- [ ] Oil <!-- TASK: oil -->\n");
}

fn tasks(workspace: &Workspace) {
    let checkpoint = |agent: &str, id: &str, document: Value| {
        put(workspace, &format!("progress/checkpoints/{agent}-{id}.json"), &document);
    };
    checkpoint("quay", "T060", task("quay", "T060", "List all quays", ALIVE));
    checkpoint("depth", "T061", task("depth", "T061", "Sound the channel", "2026-02-20T11:45:00Z"));
    checkpoint("depth", "T062", task("depth", "T062", "Sound the basin", STALE));
    let error = json!({ "type": "dependency_missing", "message": "no boat", "timestamp": ALIVE, "blocking": true });
    let blocked = json!({ "status": "blocked", "errors": [error] });
    checkpoint("boats", "T063", but(task("boats", "T063", "Lend the boat", ALIVE), blocked));
    let not_begun = json!({
        "status": "not_started", "progress_percent": 0,
        "subtasks": { "total": 2, "completed": 0, "failed": 0 }, "context": {},
    });
    checkpoint("boats", "T064", but(task("boats", "T064", "Tar the boat", ALIVE), not_begun));
    let complete = json!({
        "status": "complete", "progress_percent": 100, "completed_at": STALE, "updated_at": STALE,
        "subtasks": { "total": 2, "completed": 2, "failed": 0 }, "context": {},
        "acceptance_criteria_met": { "all_quays_listed": true }, "resumable": false,
    });
    checkpoint("boats", "T065", but(task("boats", "T065", "Name the boat", STALE), complete));
}

fn crew(workspace: &Workspace) {
    let checkpoint = |file: &str, document: Value| {
        put(workspace, &format!("epics/tides/agent_checkpoints/{file}.json"), &document);
    };
    let at = |id: &str, feature: &str, status: &str, written: &str| agent(id, feature, status, written, &next(written));
    checkpoint("primary", at("Agent-Primary", "tide_tables", "IN_PROGRESS", ALIVE));
    checkpoint("secondary_a", at("Secondary-A", "tide_gauges", "IN_PROGRESS", LATE));
    checkpoint("secondary_b", at("Secondary-B", "tide_clock", "WAITING", STALE));
    let blocked = json!({ "blockers": ["the gauge is under water"] });
    checkpoint("secondary_c", but(at("Secondary-C", "tide_bells", "BLOCKED", STALE), blocked));
    checkpoint("secondary_d", but(at("Secondary-D", "tide_mill", "COMPLETE", STALE), json!({ "next_steps": [] })));
    // Words and a time to come, where times should be: the file's own time decides.
    let words = agent("Secondary-E", "tide_pool", "IN_PROGRESS", "PAUSED", "N/A");
    checkpoint("secondary_e", words);
    workspace.touch("epics/tides/agent_checkpoints/secondary_e.json", 5);
    let future = agent("Secondary-F", "tide_lock", "IN_PROGRESS", "2026-02-20T18:00:00Z", "2026-02-20T18:15:00Z");
    checkpoint("secondary_f", future);
    workspace.touch("epics/tides/agent_checkpoints/secondary_f.json", 45);
}

/// A quarter of an hour later.
fn next(written: &str) -> String {
    match written {
        ALIVE => "2026-02-20T12:10:00Z",
        LATE => "2026-02-20T11:35:00Z",
        _ => "2026-02-20T10:15:00Z",
    }
    .to_owned()
}
