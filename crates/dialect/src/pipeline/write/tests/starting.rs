use super::*;

#[test]
fn starting_is_refused_where_a_story_lives_or_cannot_run() {
    let mut bench = Bench::started("2", &["T-1"]);
    assert!(bench.refused(&start("0", &[])).hints[0].to_string().contains("piton resume pipeline:PROJ-42"));
    let mut bench = Bench::led("STAGE_1");
    assert_eq!(bench.refused(&start("2", &[])).kind, RefusalKind::Rule);
    bench.must(&Event::Started(Start::default()));
    bench.shows(&json!({ "stage": 1, "agentId": "fresh-1", "plannedTasks": [{ "id": "PROJ-42" }] }));
    // Nothing says which tasks of a story are done that starts before its quality gate.
    for mut bench in [Bench::led("STAGE_3"), Bench::default()] {
        let refusal = bench.refused(&start("3", &["T-1"]));
        assert_eq!(refusal.hints, ["start it with its tasks at stage 2: piton start pipeline:PROJ-42 --stage 2"]);
        bench.must(&start("2", &[]));
    }
    // A lead may pause a story before it begins.
    Bench::led("PAUSED").must(&start("0", &[]));
    let mut bench = Bench::led("QUEUED");
    let state = bench.value(STATE).to_string().replace("\"mine\"", "\"depends_on\":{\"PROJ-42\":[\"PROJ-9\"]},\"x\"");
    bench.files.files.insert(STATE.into(), state.into_bytes());
    assert!(bench.refused(&start("0", &[])).message.contains("waits for PROJ-9"));
    for bad in ["../x", "a b"] {
        assert_eq!(Bench::default().refused(&start("0", &[bad])).kind, RefusalKind::Usage);
    }
    assert_eq!(Bench::default().refused(&start("7", &[])).kind, RefusalKind::Usage);
    assert_eq!(Bench::default().refused(&Event::Beat).kind, RefusalKind::Missing);
}

#[test]
fn a_pipeline_that_has_ended_goes_on_with_a_story_that_is_taken_up() {
    let complete = |bench: &mut Bench, complete: bool| {
        let state = bench.value(STATE).to_string();
        let state = state.replace(&format!("\"complete\":{}", !complete), &format!("\"complete\":{complete}"));
        bench.files.files.insert(STATE.into(), state.into_bytes());
    };
    let is_complete = |bench: &Bench| bench.value(STATE)["complete"].clone();
    let mut bench = Bench::led("DONE");
    complete(&mut bench, true);
    bench.must(&start("0", &["T-1"]));
    assert_eq!(is_complete(&bench), json!(false));
    // Every verb works on a story of an ended run, and only one that takes it up changes that the run has ended.
    bench.must(&Event::Paused { reason: Some("x".into()) });
    complete(&mut bench, true);
    bench.must(&Event::Noted { text: "y".into(), purpose: NotePurpose::Note });
    assert_eq!(is_complete(&bench), json!(true));
    for event in [
        Event::Unblocked { which: None, answer: None },
        verdict("PLAN", 3.0, None),
        stage("1"),
        verdict("GO", 8.0, None),
        stage("2"),
        step(StepTo::Done, &["T-1"]),
        resumed(),
        stage("3"),
        verdict("PASS", 80.0, None),
        Event::Finished,
        Event::Reopened,
        Event::TakenOver { agent: "b".into() },
        Event::Restarted { force: true },
    ] {
        complete(&mut bench, true);
        bench.must(&event);
        assert_eq!(is_complete(&bench), json!(event == Event::Finished), "{event:?}");
    }
}

#[test]
fn a_foreign_state_is_left_alone_and_a_broken_one_is_said() {
    let mut bench = Bench::default();
    bench.files.files.insert(STATE.into(), b"{\"jobs\": 3}".to_vec());
    assert_eq!(bench.must(&start("2", &["T-1"])).warnings, [""; 0]);
    assert_eq!(bench.files.files[STATE], b"{\"jobs\": 3}");
    bench.files.files.insert(STATE.into(), b"{\"complete\": fal".to_vec());
    assert_eq!(bench.must(&step(StepTo::Done, &["T-1"])).warnings.len(), 1);
}
