//! What is true when work has arrived: every door says the same, and git and the documents agree.

use serde_json::Value;

use crate::ground::Ground;
use crate::lead::Ended;
use crate::works::Work;

/// Every field that a pipeline's state has, always.
const FIELDS: [&str; 25] = [
    "complete",
    "active_workers",
    "stories_remaining",
    "last_check",
    "story_state",
    "worker_map",
    "quality_cycles",
    "validation_retries",
    "crash_count",
    "priority_queue_ids",
    "story_results",
    "infra_issues",
    "worktree_map",
    "depends_on",
    "status_cache",
    "stage_timestamps",
    "git_stats",
    "pipeline_start_time",
    "readiness_scores",
    "team_name",
    "business_answers",
    "storage_mode",
    "skill_repo_path",
    "project_brief",
    "story_briefs",
];

/// Asserts that a run ended well and that all of its work has arrived.
#[track_caller]
pub fn has_arrived(ground: &Ground, work: &Work, ended: Ended) {
    let ended = ended.exits(0, ground);
    assert_eq!(ended.outcome()["outcome"], "done", "{ended}");
    is_all_done(ground, work);
    let reports: Vec<&str> =
        ended.outcome()["reports"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let json = reports.iter().find(|path| path.ends_with(".json")).unwrap_or_else(|| panic!("no report\n{ended}"));
    let report = ground.json(json);
    for lane in report["lanes"].as_array().expect("lanes") {
        assert_eq!(lane["state"], "done", "{json}: {lane}");
    }
}

/// Asserts what every door, the documents and git say about work that is done.
#[track_caller]
pub fn is_all_done(ground: &Ground, work: &Work) {
    let story = || ground.story();
    for unit in work.units {
        let status = ground.reads(&format!("status {unit}"));
        assert_eq!(status["units"][0]["lifecycle"], "done", "{status}\n{}", story());
        let why = ground.types(&format!("piton why {unit}")).succeeds();
        for word in ["paused", "waits for", "failed"] {
            assert!(!why.stdout.contains(word), "{unit} is done, and why says otherwise: {why}");
        }
    }
    let check = ground.reads("check");
    let errors: Vec<&Value> =
        check["findings"].as_array().expect("findings").iter().filter(|each| each["severity"] == "error").collect();
    assert!(errors.is_empty(), "{errors:?}\n{}", story());
    work.units.iter().for_each(|unit| document_is_done(ground, unit));
    is_on_main(ground, work);
    is_cleaned_up(ground);
}

/// All work is on `main`, and its gates pass there.
#[track_caller]
pub fn is_on_main(ground: &Ground, work: &Work) {
    let elsewhere = ground.git("branch --no-merged main");
    assert!(elsewhere.is_empty(), "branches that are not merged: {elsewhere}\n{}", ground.story());
    let tracked = ground.git("ls-tree -r --name-only main");
    for file in work.files {
        assert!(tracked.lines().any(|line| line == *file), "{file} is not on main: {tracked}\n{}", ground.story());
    }
    let copy = ground.outer("copy");
    ground.git(&format!("clone -q . {}", copy.display()));
    for gate in work.gates {
        ground.types(&format!("cd {} && {gate}", copy.display())).succeeds();
    }
    std::fs::remove_dir_all(copy).expect("it can be removed");
    // A plan is ticked where it lies; nothing else is left uncommitted.
    let left: Vec<String> =
        ground.git("status --porcelain").lines().filter(|line| !line.contains("plan.md")).map(str::to_owned).collect();
    assert_eq!(left, [""; 0], "{}", ground.story());
}

/// Nothing is left but the result: no process, no worktree, no lead.
#[track_caller]
fn is_cleaned_up(ground: &Ground) {
    ground.wait_for("every process to be gone", || ground.processes().is_empty());
    let trees = ground.git("worktree list");
    assert_eq!(trees.lines().count(), 1, "{trees}\n{}", ground.story());
}

/// The unit's own document says that it is done, in its protocol's words.
#[track_caller]
fn document_is_done(ground: &Ground, unit: &str) {
    let (dialect, id) = unit.split_once(':').expect("a unit");
    match dialect {
        "pipeline" => story_is_done(ground, id),
        "plan" => {
            let text = ground.text(&format!("plans/{id}/plan.md"));
            assert!(!text.contains("[ ]"), "{text}\n{}", ground.story());
            let state = ground.json(&format!("plans/{id}/.checkpoint/state.json"));
            assert_eq!(state["progress"]["completedTasks"], state["progress"]["totalTasks"], "{state}");
        }
        "build" => build_is_done(ground, id),
        "task" => {
            let checkpoint = ground.json(&format!("progress/checkpoints/{}-complete.json", id.replace('/', "-")));
            assert_eq!(checkpoint["status"], "complete", "{checkpoint}");
            assert_eq!(checkpoint["resumable"], false, "{checkpoint}");
            assert_eq!(checkpoint["subtasks"]["completed"], checkpoint["subtasks"]["total"], "{checkpoint}");
            let criteria = checkpoint["acceptance_criteria_met"].as_object().expect("criteria");
            assert!(criteria.values().all(|met| *met == true), "{checkpoint}");
        }
        "crew" => {
            let (epic, agent) = id.rsplit_once('/').map_or(("", id), |(epic, agent)| (epic, agent));
            let name = agent.trim_start_matches("Agent-").to_lowercase().replace('-', "_");
            let checkpoint = ground.json(format!("{epic}/agent_checkpoints/{name}.json").trim_start_matches('/'));
            assert_eq!(checkpoint["status"], "COMPLETE", "{checkpoint}");
        }
        other => panic!("no dialect is called {other}"),
    }
}

#[track_caller]
fn story_is_done(ground: &Ground, id: &str) {
    let state = ground.json(".pipeline/state.json");
    let missing: Vec<&str> = FIELDS.into_iter().filter(|field| state.get(field).is_none()).collect();
    assert!(missing.is_empty(), "state.json lacks {missing:?}: {state}");
    assert_eq!(state["story_state"][id], "DONE", "{state}");
    assert_eq!((&state["complete"], &state["stories_remaining"]), (&true.into(), &0.into()), "{state}");
    for stage in ["stage0", "stage1", "stage2", "stage3"] {
        assert!(state["story_results"][id][stage].is_string(), "{stage}: {state}");
    }
    assert!(state["git_stats"][id]["lines_added"].as_u64() > Some(0), "{state}");
    assert!(state["readiness_scores"][id].as_u64() >= Some(5), "{state}");
    let checkpoint = ground.json(&format!(".pipeline/checkpoint-{id}.json"));
    assert_eq!(checkpoint["stage"], 3, "{checkpoint}");
    let has_passed = ["PASS", "CONCERNS", "WAIVED"].iter().any(|word| checkpoint["verdict"] == *word);
    assert!(has_passed, "{checkpoint}");
    assert!(checkpoint["qualityScore"].is_number(), "{checkpoint}");
    let status = ground.reads(&format!("status pipeline:{id}"));
    let (done, total) = (&status["units"][0]["done"], &status["units"][0]["total"]);
    assert!(total.as_u64() >= Some(2) && done == total, "the tasks of stage 0 stay the story's tasks: {status}");
}

#[track_caller]
fn build_is_done(ground: &Ground, id: &str) {
    let checkpoint = ground.json(&format!(".claude/skills/build-pipeline/checkpoints/{id}.json"));
    assert_eq!(checkpoint["status"], "complete", "{checkpoint}");
    for bucket in ["pending_workstreams", "in_progress_workstreams", "gates_pending"] {
        assert_eq!(checkpoint[bucket].as_array().map(Vec::len), Some(0), "{checkpoint}");
    }
    assert!(checkpoint["error"].is_null(), "{checkpoint}");
    let done = checkpoint["completed_workstreams"].as_array().expect("workstreams");
    for step in done {
        let step = step.as_str().unwrap_or_default();
        assert!(
            checkpoint["artifacts"][step].as_array().is_some_and(|files| !files.is_empty()),
            "{step}: {checkpoint}"
        );
    }
}
