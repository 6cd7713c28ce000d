use super::*;

#[test]
fn files_of_a_failed_workstream_are_kept_until_it_is_completed() {
    let mut bench = Bench::plain();
    bench.must(&step(StepTo::Begun, &["WS1"], &["half.sql"]));
    bench.must(&fail("WS1"));
    let refusal = bench.refused(&resumed(Some(ResumeMode::Continue)));
    assert_eq!(refusal.message, "it failed at WS1: torn");
    assert_eq!(refusal.hints, ["when that is fixed: piton resume build:PRD-009 --fixed"]);
    bench.must(&resumed(Some(ResumeMode::Fixed)));
    assert_eq!(bench.json()["kept_artifacts"], json!({ "WS1": ["half.sql"] }));
    // Nothing is executed yet, and nothing is completed whose gate could be waited for.
    assert_eq!(bench.json()["status"], "paused");
    bench.must(&begin(&["WS1"]));
    bench.must(&done("WS1", &["whole.sql", "half.sql"]));
    bench.shows(&json!({ "artifacts": {"WS1": ["half.sql", "whole.sql"]}, "kept_artifacts": null }));
    let again = bench.must(&done("WS1", &["more.sql"]));
    assert_eq!(again.summary, "WS1 already done (1/5)");
    assert_eq!(bench.json()["artifacts"]["WS1"], json!(["half.sql", "whole.sql", "more.sql"]));
}

#[test]
fn a_hand_written_failure_keeps_its_artifacts_when_it_is_cleared() {
    let mut bench = Bench::plain();
    bench.must(&begin(&["WS1"]));
    bench.must(&fail("WS1"));
    let text = bench.text().replace("\"artifacts\": {}", "\"artifacts\": {\"WS1\": [\"a.sql\"]}");
    bench.files.files.insert(PATH.into(), text.into_bytes());
    bench.must(&Event::Unblocked { which: None, answer: None });
    bench.shows(&json!({ "artifacts": {}, "kept_artifacts": {"WS1": ["a.sql"]}, "status": "paused" }));
    assert_eq!(bench.errors(), [""; 0]);
}

#[test]
fn siblings_that_were_stopped_are_named_with_the_failure() {
    let mut bench = Bench::plain();
    bench.must(&begin(&["WS1", "WS2", "WS3"]));
    bench.refused(&Event::Failed { step: None, message: "x".into(), file: None, line: None });
    bench.refused(&step(StepTo::Failed, &["WS3", "WS1"], &[]));
    bench.must(&step(StepTo::Failed, &["WS3", "WS1", "WS2"], &[]));
    bench.shows(&json!({ "pending_workstreams": ["WS1", "WS2", "WS3", "WS4", "WS5"], "status": "failed" }));
    assert_eq!(bench.json()["error"]["workstream"], "WS3");
}
