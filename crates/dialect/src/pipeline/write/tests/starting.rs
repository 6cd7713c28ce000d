use super::*;

#[test]
fn starting_is_refused_where_a_story_lives_or_cannot_run() {
    let mut bench = Bench::started("2", &["T-1"]);
    assert!(bench.refused(&start("0", &[])).hints[0].contains("piton resume pipeline:PROJ-42"));
    let mut bench = Bench::led("STAGE_1");
    assert_eq!(bench.refused(&start("2", &[])).kind, RefusalKind::Rule);
    bench.must(&Event::Started(Start::default()));
    bench.shows(&json!({ "stage": 1, "agentId": "fresh-1" }));
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
fn a_pipeline_that_is_complete_takes_no_story() {
    let mut bench = Bench::led("DONE");
    let state = bench.value(STATE).to_string().replace("\"complete\":false", "\"complete\":true");
    bench.files.files.insert(STATE.into(), state.into_bytes());
    let refusal = bench.refused(&start("0", &[]));
    assert!(refusal.hints[0].contains("pipeline-complete-early"), "{refusal} {:?}", refusal.hints);
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
