use super::*;

#[test]
fn the_write_protocol_ends_in_the_example() {
    let mut bench = Bench::started("0", &[]);
    bench.shows(&json!({
        "storyId": "PROJ-42", "stage": 0, "agentId": "abc-123-def", "tasksCompleted": [], "tasksRemaining": [],
        "lastAction": "Stage 0 started", "timestamp": "2026-02-14T14:30:00Z"
    }));
    assert_eq!(bench.look(), (State::Running, vec![]));
    bench.must(&step(StepTo::Begun, &TASKS));
    bench.must(&verdict("PLAN", 3.0, None));
    bench.shows(&json!({ "planScore": 3, "tasksRemaining": TASKS, "tasksCompleted": [], "awaits": null }));
    bench.must(&stage("1"));
    let planned: Vec<_> = TASKS.iter().map(|id| json!({ "id": id })).collect();
    bench.shows(&json!({ "stage": 1, "tasksRemaining": [], "plannedTasks": planned, "planScore": null }));
    bench.must(&verdict("NO-GO", 4.0, Some("no acceptance criteria")));
    bench.shows(&json!({ "readiness": 4, "verdict": "NO-GO", "reason": "no acceptance criteria" }));
    bench.must(&verdict("go", 8.5, None));
    bench.shows(&json!({ "readiness": 8.5, "verdict": "GO", "reason": null }));
    bench.must(&stage("STAGE_2"));
    bench.shows(&json!({ "stage": 2, "tasksRemaining": TASKS, "verdict": null, "plannedTasks": planned }));
    for (number, task) in TASKS.iter().enumerate() {
        let summary = bench.must(&step(StepTo::Done, &[task])).summary;
        assert_eq!(summary, format!("{task} done ({}/5)", number + 1));
        assert_eq!(bench.look(), (State::Running, vec![]));
    }
    assert_eq!(bench.json()["lastAction"], "Task PROJ-105 completed");
    bench.must(&stage("3"));
    bench.must(&verdict("PASS", 92.0, None));
    let mut now = bench.json();
    let results = now["stageResults"].take();
    assert_eq!(results, json!({ "stage0": {"planScore": 3}, "stage1": {"readiness": 8.5, "verdict": "GO"} }));
    bench.shows(&json!({
        "storyId": "PROJ-42", "stage": 3, "agentId": "abc-123-def", "tasksCompleted": TASKS, "tasksRemaining": [],
        "lastAction": "Quality gate completed, verdict: PASS", "timestamp": "2026-02-14T14:30:00Z",
        "verdict": "PASS", "qualityScore": 92
    }));
    assert_eq!(bench.look(), (State::Done, vec![]));
    assert_eq!(bench.must(&Event::Finished).summary, "done");
    assert_eq!(bench.must(&Event::Finished).summary, "already done");
    assert_eq!(bench.json()["finished"], "2026-02-14T14:30:00Z");
}

#[test]
fn the_lead_s_state_moves_with_the_story_and_is_not_touched_else() {
    let mut bench = Bench::led("QUEUED");
    bench.minutes = 1;
    bench.must(&start("0", &["T-1"]));
    assert_eq!(bench.standing(), "STAGE_0");
    assert_eq!(bench.value(STATE)["last_check"], "2026-02-14T14:31:00Z");
    bench.minutes = 2;
    bench.must(&verdict("plan", 4.0, None));
    // Nothing moved, so the state was not written.
    assert_eq!(bench.value(STATE)["last_check"], "2026-02-14T14:31:00Z");
    bench.must(&stage("1"));
    bench.must(&verdict("GO", 9.0, None));
    bench.must(&stage("2"));
    bench.must(&Event::Paused { reason: Some("waits for a key".into()) });
    assert_eq!(bench.standing(), "PAUSED");
    bench.shows(&json!({ "pausedFrom": "STAGE_2", "pauseReason": "waits for a key" }));
    assert_eq!(bench.look().0, State::Paused { reason: Some("waits for a key".into()) });
    bench.refused(&step(StepTo::Done, &["T-1"]));
    bench.must(&resumed());
    assert_eq!(bench.standing(), "STAGE_2");
    bench.shows(&json!({ "pausedFrom": null, "pauseReason": null }));
    bench.must(&step(StepTo::Done, &["T-1"]));
    bench.must(&stage("3"));
    bench.must(&verdict("WAIVED", 40.0, None));
    bench.must(&Event::Finished);
    assert_eq!(bench.standing(), "DONE");
    assert_eq!(bench.look(), (State::Done, vec![]));
    let text = String::from_utf8(bench.files.files[STATE].clone()).expect("text");
    assert!(text.contains("\"active_workers\":1,\"stories_remaining\":1") && text.contains("[1.5]"), "{text}");
    bench.must(&Event::Reopened);
    assert_eq!((bench.standing(), bench.look()), (json!("STAGE_3"), (State::Running, vec![])));
    bench.must(&verdict("PASS", 90.0, None));
}

#[test]
fn the_protocol_s_example_state_takes_a_story_on() {
    let state = r#"{
  "complete": false,
  "active_workers": 3,
  "stories_remaining": 3,
  "last_check": "2026-02-13T14:30:00Z",
  "story_state": { "API-427": "STAGE_2", "API-428": "STAGE_1" },
  "worker_map": { "API-427": "story-API-427-s2", "API-428": "story-API-428-s1" },
  "quality_cycles": { "API-427": 0, "API-428": 0 },
  "priority_queue_ids": ["API-429", "API-430", "API-431"],
  "depends_on": { "API-429": ["API-427"], "API-430": [] }
}
"#;
    let mut files = MemoryFiles::default();
    files.files.insert(STATE.into(), state.into());
    let place = |id: &str| Place { id: vec![Id::parse(id).expect("an id")], ..place() };
    let mut tell = |id: &str, event: &Event| {
        let change = record(&place(id), &files, event, &moment(0))?;
        files.apply(&change);
        Ok::<_, Refusal>(files.files[STATE].clone())
    };
    let untouched = tell("API-427", &start("2", &["API-501"])).expect("it starts");
    assert_eq!(untouched, state.as_bytes());
    tell("API-427", &step(StepTo::Done, &["API-501"])).expect("done");
    assert!(tell("API-429", &start("0", &[])).is_err());
    tell("API-427", &stage("3")).expect("stage 3");
    tell("API-427", &verdict("PASS", 92.0, None)).expect("judged");
    let ended = tell("API-427", &Event::Finished).expect("finished");
    let want = state.replace("\"STAGE_2\"", "\"DONE\"").replace("2026-02-13T14:30:00Z", "2026-02-14T14:30:00Z");
    assert_eq!(String::from_utf8(ended).expect("text"), want);
    tell("API-429", &start("0", &[])).expect("its dependency is DONE");
}
