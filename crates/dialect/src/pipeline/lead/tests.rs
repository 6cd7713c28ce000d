use serde_json::{Value, json};

use super::*;

fn story(id: &str) -> LeadStory {
    LeadStory { id: id.to_owned(), standing: Some("QUEUED"), remains: true, ..LeadStory::default() }
}

fn lead() -> LeadState {
    LeadState {
        complete: false,
        started: Time::from_unix_seconds(0),
        team: "pipeline-1970-01-01".to_owned(),
        briefs: Briefs::default(),
        stories: vec![LeadStory { depends_on: vec!["A-0".to_owned()], ..story("A-1") }],
        issues: Vec::new(),
        taken_out: Vec::new(),
    }
}

fn written(before: Option<&str>, lead: &LeadState) -> Value {
    let state = write(before, lead, &[]);
    serde_json::from_slice(&state.bytes).expect("JSON")
}

fn write(before: Option<&str>, lead: &LeadState, checkpoints: &[(&str, Value)]) -> WrittenState {
    let checkpoints =
        || checkpoints.iter().map(|(path, text)| ((*path).to_owned(), text.to_string().into_bytes())).collect();
    write_state(before.map(str::as_bytes), lead, &checkpoints, Time::from_unix_seconds(60)).expect("written")
}

/// What each field of the protocol's table is, by an example.
fn table() -> Value {
    json!({
        "complete": false, "active_workers": 0, "stories_remaining": 0, "last_check": "", "story_state": {},
        "worker_map": {}, "quality_cycles": {}, "validation_retries": {}, "crash_count": {},
        "priority_queue_ids": [], "story_results": {}, "infra_issues": [], "worktree_map": {}, "depends_on": {},
        "status_cache": {}, "stage_timestamps": {}, "git_stats": {}, "pipeline_start_time": "",
        "readiness_scores": {}, "team_name": "", "business_answers": {}, "storage_mode": "",
        "skill_repo_path": "", "project_brief": {}, "story_briefs": {},
    })
}

#[test]
fn every_state_has_all_25_fields_in_their_types() {
    assert_eq!(table().as_object().map(serde_json::Map::len), Some(25));
    let odd: serde_json::Map<String, Value> =
        table().as_object().expect("an object").keys().map(|key| (key.clone(), json!(7))).collect();
    let odd = json!({ "story_state": {"B-1": "STAGE_2"} }).to_string().replace("}}", "}, ")
        + Value::Object(odd).to_string().trim_start_matches('{');
    for before in
        [None, Some(r#"{"complete": false, "last_check": "x"}"#), Some("{\"complete\": fal"), Some(odd.as_str())]
    {
        let state = written(before, &lead());
        for (key, example) in table().as_object().expect("an object") {
            let kind = |value: &Value| std::mem::discriminant(value);
            assert_eq!(kind(&state[key]), kind(example), "{key} of {before:?}: {}", state[key]);
        }
        assert_eq!(state["story_state"]["A-1"], "QUEUED");
        assert_eq!(state["project_brief"], json!({ "name": "", "tech": "", "type": "", "key_rules": [] }));
        assert_eq!((&state["storage_mode"], &state["skill_repo_path"]), (&json!("file"), &json!("")));
    }
}

#[test]
fn a_torn_or_missing_state_is_rebuilt_from_memory_and_checkpoints() {
    let checkpoint = |id: &str, stage: u8, more: Value| {
        let mut checkpoint = json!({
            "storyId": id, "stage": stage, "agentId": "a", "tasksCompleted": ["T1"], "tasksRemaining": [],
            "lastAction": "x", "timestamp": "1970-01-01T00:00:00Z",
        });
        for (key, value) in more.as_object().expect("an object") {
            checkpoint[key] = value.clone();
        }
        checkpoint
    };
    let checkpoints = [
        (".pipeline/checkpoint-A-1.json", checkpoint("A-1", 2, json!({}))),
        (".pipeline/checkpoint-B-1.json", checkpoint("B-1", 3, json!({ "verdict": "PASS", "qualityScore": 80 }))),
        (".pipeline/checkpoint-B-2.json", checkpoint("B-2", 1, json!({ "pausedFrom": "STAGE_1" }))),
        (".pipeline/checkpoint-B-3.json", json!("not a checkpoint")),
    ];
    let mut lead = lead();
    lead.stories[0] =
        LeadStory { standing: None, worker: Some("story-A-1-s2".into()), reworks: 1, ..lead.stories[0].clone() };
    for before in [None, Some(""), Some("{\"complete\": fal")] {
        let state = write(before, &lead, &checkpoints);
        assert_eq!(state.aside.is_some(), before.is_some(), "{before:?}");
        let state: Value = serde_json::from_slice(&state.bytes).expect("JSON");
        assert_eq!(state["story_state"], json!({ "A-1": "STAGE_2", "B-1": "DONE", "B-2": "PAUSED" }));
        assert_eq!((&state["active_workers"], &state["stories_remaining"]), (&json!(1), &json!(1)));
        assert_eq!(state["quality_cycles"]["A-1"], 1);
        assert_eq!(state["worker_map"], json!({ "A-1": "story-A-1-s2" }));
    }
    // A state that can be read is not overruled by checkpoints.
    let state = write(Some(r#"{"complete": false, "story_state": {"B-1": "STAGE_3"}}"#), &lead, &checkpoints);
    let state: Value = serde_json::from_slice(&state.bytes).expect("JSON");
    assert_eq!(state["story_state"], json!({ "B-1": "STAGE_3" }));
}

/// Everything that another lead wrote down stays: stories, results, times, counts, issues, names.
#[test]
fn entries_of_a_pipeline_that_is_taken_over_are_kept() {
    let before = json!({
        "complete": false, "mine": [1, 2], "active_workers": 3, "stories_remaining": 9,
        "story_state": { "A-1": "PAUSED", "B-8": "STAGE_2", "B-9": "DONE" },
        "worker_map": { "A-1": "old", "B-8": "story-B-8-s2" },
        "quality_cycles": { "B-8": 1 }, "priority_queue_ids": ["A-1", "B-7", "B-9"],
        "story_results": { "A-1": { "stage0": "skip", "stage1": "skip" }, "B-8": { "stage2": "Done" } },
        "infra_issues": [{ "phase": "1", "type": "hook", "message": "no git" }],
        "worktree_map": { "A-1": ".worktrees/story-A-1" },
        "status_cache": { "x": "y" },
        "stage_timestamps": { "A-1": { "stage_0_start": "2026-02-13T13:00:00Z" } },
        "git_stats": { "A-1": { "lines_added": 5, "lines_deleted": 1, "files_changed": 2 } },
        "pipeline_start_time": "2026-02-13T12:55:00Z", "readiness_scores": { "A-1": 8 },
        "team_name": "pipeline-2026-02-13", "business_answers": { "db?": "postgres" }, "storage_mode": "linear",
        "skill_repo_path": "/skills", "project_brief": { "name": "shop", "extra": 1 },
        "story_briefs": { "A-1": { "approach": "cache" } },
    });
    let mut lead = lead();
    lead.stories[0].results.insert(1, "GO, readiness 8".to_owned());
    lead.stories[0].times.insert(1, (Some(Time::from_unix_seconds(0)), None));
    lead.issues.push(("stage 2".to_owned(), "disk".to_owned(), "full".to_owned()));
    let state = written(Some(&before.to_string()), &lead);
    for key in ["mine", "status_cache", "git_stats", "readiness_scores", "pipeline_start_time", "team_name"] {
        assert_eq!(state[key], before[key], "{key}");
    }
    for key in ["storage_mode", "skill_repo_path", "business_answers"] {
        assert_eq!(state[key], before[key], "{key}");
    }
    let brief = json!({ "tech": "", "keyFiles": [], "approach": "cache", "complexity": "" });
    assert_eq!(state["story_briefs"]["A-1"], brief);
    // A pause that a person recorded stands: that a lead would queue the story does not undo it.
    assert_eq!(state["story_state"], before["story_state"]);
    assert_eq!(state["worker_map"], json!({ "B-8": "story-B-8-s2" }));
    assert_eq!(state["priority_queue_ids"], json!(["B-7"]));
    assert_eq!((&state["active_workers"], &state["stories_remaining"]), (&json!(0), &json!(1)));
    assert_eq!(state["story_results"]["A-1"], json!({ "stage0": "skip", "stage1": "GO, readiness 8" }));
    assert_eq!(state["story_results"]["B-8"], json!({ "stage2": "Done" }));
    assert_eq!(
        state["stage_timestamps"]["A-1"],
        json!({ "stage_0_start": "2026-02-13T13:00:00Z", "stage_1_start": "1970-01-01T00:00:00Z" })
    );
    assert_eq!(state["worktree_map"]["A-1"], ".worktrees/story-A-1");
    assert_eq!(state["infra_issues"].as_array().map(Vec::len), Some(2));
    let brief = json!({ "name": "shop", "extra": 1, "tech": "", "type": "", "key_rules": [] });
    assert_eq!(state["project_brief"], brief);
    // Written again, nothing changes but the time, and no issue is added twice.
    let again = written(Some(&state.to_string()), &lead);
    assert_eq!(again, state);
    let known = known_stories(state.to_string().as_bytes());
    assert_eq!((known[0].id.as_str(), known[1].id.as_str()), ("B-7", "A-1"));
}

#[test]
fn words_of_a_person_stand() {
    for (known, lead_says, want) in [
        ("WAITING", Some("STAGE_2"), "WAITING"),
        ("WAITING", Some("PAUSED"), "WAITING"),
        ("PAUSED", Some("STAGE_2"), "PAUSED"),
        ("DONE", Some("STAGE_3"), "DONE"),
        ("STAGE_1", Some("STAGE_2"), "STAGE_2"),
        ("STAGE_1", Some("QUEUED"), "STAGE_1"),
        ("STAGE_1", None, "STAGE_1"),
    ] {
        let mut lead = lead();
        lead.stories[0].standing = lead_says;
        let before = json!({ "complete": false, "story_state": { "A-1": known } }).to_string();
        assert_eq!(written(Some(&before), &lead)["story_state"]["A-1"], want, "{known} {lead_says:?}");
    }
    let mut lead = lead();
    lead.stories[0].requeued = true;
    let before = r#"{"complete": false, "story_state": {"A-1": "PAUSED"}}"#;
    assert_eq!(written(Some(before), &lead)["story_state"]["A-1"], "QUEUED");
}

#[test]
fn what_the_settings_give_is_written_and_read_again() {
    let map = |value: Value| value.as_object().cloned().expect("an object");
    let mut lead = lead();
    lead.briefs = Briefs {
        answers: map(json!({ "Which port?": "8080" })),
        project: map(json!({ "name": "shop", "tech": "Rust", "type": "service", "key_rules": ["no unsafe"] })),
        stories: map(json!({ "A-1": { "tech": "axum", "keyFiles": ["src/cart.rs"], "approach": "one handler" } })),
    };
    let state = written(None, &lead);
    assert_eq!(state["business_answers"], Value::Object(lead.briefs.answers.clone()));
    assert_eq!(state["project_brief"], Value::Object(lead.briefs.project.clone()));
    assert_eq!(
        state["story_briefs"]["A-1"],
        json!({ "tech": "axum", "keyFiles": ["src/cart.rs"], "approach": "one handler", "complexity": "" })
    );
    assert_eq!(Briefs::read(state.to_string().as_bytes()).answers, lead.briefs.answers);
}

/// A run that begins after another one has ended has its own start and team.
#[test]
fn another_run_has_its_own_start() {
    let before = json!({
        "complete": true, "pipeline_start_time": "2020-01-01T00:00:00Z", "team_name": "old", "story_state": {},
    });
    let state = written(Some(&before.to_string()), &lead());
    assert_eq!(state["pipeline_start_time"], "1970-01-01T00:00:00Z");
    assert_eq!((&state["team_name"], &state["complete"]), (&json!("pipeline-1970-01-01"), &json!(false)));
}

#[test]
fn the_state_of_another_tool_is_not_written() {
    let nothing = || Vec::new();
    let now = Time::from_unix_seconds(60);
    let refused = write_state(Some(br#"{"pipelines": []}"#), &lead(), &nothing, now).unwrap_err();
    assert!(refused.message.contains("another tool"), "{refused}");
}

/// A worker's `8` stays `8` in the state.
#[test]
fn whole_readiness_has_no_fraction() {
    let mut lead = lead();
    for (readiness, text) in [(8.0, "8"), (7.5, "7.5")] {
        lead.stories[0].readiness = Some(readiness);
        assert_eq!(written(None, &lead)["readiness_scores"]["A-1"].to_string(), text);
    }
}

/// A story that was paused before it had a checkpoint says why all the same.
#[test]
fn reasons_of_pauses_are_kept_while_they_hold() {
    let mut lead = lead();
    (lead.stories[0].standing, lead.stories[0].pause) = (Some("PAUSED"), Some("the set-up failed".to_owned()));
    let state = written(None, &lead);
    assert_eq!(state["pause_reasons"], json!({ "A-1": "the set-up failed" }));
    (lead.stories[0].standing, lead.stories[0].pause) = (Some("QUEUED"), None);
    lead.stories[0].requeued = true;
    assert_eq!(written(Some(&state.to_string()), &lead).get("pause_reasons"), None);
}

/// The maps of the protocol's example, made from what a lead knows of its stories.
#[test]
fn the_example_state_comes_from_what_a_lead_knows() {
    let at = |text: &str| crate::time::read(text).time().expect("a time");
    let stage_0 = (Some(at("2026-02-13T13:00:00Z")), Some(at("2026-02-13T13:12:00Z")));
    let results = [(0, "skip"), (1, "skip"), (2, "Done")].map(|(stage, result)| (stage, result.to_owned()));
    let second = LeadStory {
        standing: Some("STAGE_2"),
        worker: Some("story-API-427-s2".to_owned()),
        reworks: 2,
        no_gos: 1,
        crashes: 1,
        results: results.into(),
        worktree: Some(".worktrees/story-API-427".to_owned()),
        times: [(0, stage_0)].into(),
        git: Some((245, 12, 5)),
        readiness: Some(8.0),
        ..story("API-427")
    };
    let after = LeadStory { depends_on: vec!["API-427".to_owned()], ..story("API-429") };
    let lead = LeadState {
        started: at("2026-02-13T12:55:00Z"),
        team: "pipeline-2026-02-13".to_owned(),
        stories: vec![second, after, story("API-430"), story("API-431")],
        issues: vec![("stage 2".to_owned(), "disk".to_owned(), "full".to_owned())],
        ..lead()
    };
    let state = written(None, &lead);
    let queue = ["API-429", "API-430", "API-431"];
    let of_first = |value: Value| json!({ "API-427": value });
    for (key, want) in [
        ("complete", json!(false)),
        ("active_workers", json!(1)),
        ("stories_remaining", json!(4)),
        ("last_check", json!("1970-01-01T00:01:00Z")),
        ("worker_map", of_first(json!("story-API-427-s2"))),
        ("priority_queue_ids", json!(queue)),
        ("infra_issues", json!([{ "phase": "stage 2", "type": "disk", "message": "full" }])),
        ("status_cache", json!({})),
        ("git_stats", of_first(json!({ "lines_added": 245, "lines_deleted": 12, "files_changed": 5 }))),
        ("readiness_scores", of_first(json!(8))),
        ("pipeline_start_time", json!("2026-02-13T12:55:00Z")),
        ("team_name", json!("pipeline-2026-02-13")),
        ("storage_mode", json!("file")),
    ] {
        assert_eq!(state[key], want, "{key}");
    }
    let times = json!({ "stage_0_start": "2026-02-13T13:00:00Z", "stage_0_end": "2026-02-13T13:12:00Z" });
    for (key, want, of_another) in [
        ("story_state", json!("STAGE_2"), json!("QUEUED")),
        ("quality_cycles", json!(2), json!(0)),
        ("validation_retries", json!(1), json!(0)),
        ("crash_count", json!(1), json!(0)),
        ("story_results", json!({ "stage0": "skip", "stage1": "skip", "stage2": "Done" }), json!({})),
        ("worktree_map", json!(".worktrees/story-API-427"), Value::Null),
        ("depends_on", json!([]), json!(["API-427"])),
        ("stage_timestamps", times, json!({})),
    ] {
        assert_eq!((&state[key]["API-427"], &state[key]["API-429"]), (&want, &of_another), "{key}");
    }
    let ended = written(None, &LeadState { complete: true, ..lead });
    assert_eq!(ended["complete"], true);
}

#[test]
fn stories_that_were_taken_out_are_not_named_any_more() {
    let before = json!({
        "complete": false,
        "story_state": { "A-1": "STAGE_1", "A-2": "PAUSED", "B-1": "QUEUED" },
        "pause_reasons": { "A-2": "waits for pipeline:A-1 (paused)" },
        "depends_on": { "A-1": [], "A-2": ["A-1"], "B-1": [] },
        "priority_queue_ids": ["A-2", "B-1"],
    });
    let lead = LeadState { taken_out: vec!["A-2".to_owned()], stories: vec![story("A-1")], ..lead() };
    let state = written(Some(&before.to_string()), &lead);
    assert_eq!(state["story_state"], json!({ "A-1": "STAGE_1", "B-1": "QUEUED" }));
    assert_eq!(state["depends_on"], json!({ "A-1": [], "B-1": [] }));
    assert_eq!((&state["priority_queue_ids"], &state["pause_reasons"]), (&json!(["B-1"]), &Value::Null));
}
