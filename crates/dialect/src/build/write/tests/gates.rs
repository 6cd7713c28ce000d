use super::*;

#[test]
fn a_specification_names_workstreams_gates_and_phases() {
    let mut bench = Bench::with_spec();
    bench.shows(&json!({
        "prd_title": "Cashier Workflows", "pending_workstreams": ["WS1", "WS2", "WS3", "WS4", "WS5"],
        "gates_pending": ["schema-validation", "type-check", "lint", "test-pass"], "exec_spec": SPEC_PATH
    }));
    let refusal = bench.refused(&begin(&["WS4"]));
    assert_eq!(refusal.message, "WS4 depends on WS2, WS3, not completed yet");
    assert_eq!(refusal.hints, ["what can begin: piton step build:PRD-009 begin WS1"]);
    bench.refused(&begin(&["WS1", "WS2"]));
    bench.must(&begin(&["WS1"]));
    bench.must(&done("WS1", &["a.sql"]));
    // The only workstream that the gate belongs to need not be named.
    assert_eq!(
        bench.must(&gate(true, "Schema_Validation", None)).summary,
        "gate schema-validation (WS1) passed, paused for approval"
    );
    bench.shows(&json!({ "current_phase": 1, "gates_passed": ["schema-validation (WS1)"], "status": "paused" }));
    bench.must(&begin(&["WS2", "WS3"]));
    bench.must(&done("WS2", &[]));
    bench.must(&gate(true, "type-check", Some("WS2")));
    // WS4 needs it too, and WS3 is still at work.
    bench.shows(&json!({
        "current_phase": 2, "status": "in_progress", "gates_pending": ["type-check", "lint", "test-pass"]
    }));
    bench.must(&done("WS3", &[]));
    bench.must(&gate(true, "lint", None));
    bench.must(&done("WS4", &[]));
    bench.must(&gate(true, "type-check", None));
    bench.shows(&json!({ "current_phase": 3, "gates_pending": ["test-pass"] }));
    let refusal = bench.refused(&Event::Finished);
    assert_eq!(refusal.message, "not everything is done: workstreams WS5 and gates test-pass left");
    bench.must(&done("WS5", &[]));
    let change = bench.must(&gate(true, "test-pass", Some("WS5")));
    assert_eq!(change.summary, "gate test-pass (WS5) passed; complete (5/5)");
    bench.shows(&json!({ "current_phase": 4, "status": "complete" }));
    assert_eq!(bench.must(&Event::Finished).summary, "already complete");
    // A lead that died says again what it had recorded.
    bench.must(&done("WS5", &["b.ts"]));
    bench.must(&gate(true, "test-pass", Some("WS5")));
    bench.shows(&json!({ "status": "complete" }));
    bench.refused(&gate(false, "test-pass", Some("WS5")));
    assert_eq!(bench.reading().findings, []);
}

#[test]
fn a_gate_is_due_when_its_workstream_is_completed() {
    let mut bench = Bench::plain();
    assert_eq!(bench.refused(&gate(true, "lint", Some("WS1"))).kind, RefusalKind::Rule);
    assert_eq!(bench.refused(&gate(true, "lint", None)).kind, RefusalKind::Rule);
    let unknown = bench.refused(&gate(true, "linting", None));
    assert_eq!(unknown.kind, RefusalKind::Missing);
    assert_eq!(unknown.hints, ["there are: lint"]);
    bench.must(&begin(&["WS1"]));
    assert_eq!(bench.refused(&gate(true, "lint", Some("WS1"))).kind, RefusalKind::Rule);
    assert_eq!(bench.refused(&gate(true, "lint", Some("WS9"))).kind, RefusalKind::Missing);
    bench.must(&done("WS1", &[]));
    bench.must(&gate(true, "lint (WS1)", None));
    bench.must(&gate(true, "lint", Some("WS1")));
    bench.shows(&json!({ "gates_passed": ["lint (WS1)"], "current_phase": 1 }));
}

#[test]
fn a_gate_that_fails_is_continued_after_the_fix() {
    let mut bench = Bench::with_spec();
    bench.must(&done("WS1", &["a.sql"]));
    bench.must(&gate(false, "schema-validation", None));
    bench.shows(&json!({
        "status": "failed", "error": {"workstream": "WS1", "message": "the gate schema-validation failed"},
        "completed_workstreams": ["WS1"]
    }));
    assert_eq!(bench.errors(), [""; 0]);
    let refusal = bench.refused(&gate(true, "schema-validation", None));
    assert!(refusal.hints.iter().any(|hint| hint.to_string().contains("piton resume build:PRD-009")));
    let plan = resume(&place(), &bench.files, None, &at(1)).expect("a plan");
    assert_eq!(plan.action, ResumeAction::Refuse);
    assert_eq!(
        plan.reasons,
        [
            "it failed at WS1: the gate schema-validation failed",
            "when that is fixed: piton resume build:PRD-009 --fixed"
        ]
    );
    let plan = resume(&place(), &bench.files, Some(ResumeMode::Fixed), &at(1)).expect("a plan");
    assert_eq!(
        plan.next,
        "run the gate schema-validation of WS1; when it passes: piton gate build:PRD-009 pass schema-validation --step WS1"
    );
    let mut other = bench.clone();
    bench.must(&resumed(Some(ResumeMode::Fixed)));
    bench.shows(&json!({ "status": "in_progress", "error": null }));
    bench.must(&gate(true, "schema-validation", None));
    // The other way is that of the protocol's picture: failed, paused, in progress.
    other.must(&Event::Unblocked { which: None, answer: None });
    other.shows(&json!({ "status": "paused", "error": null }));
    other.must(&Event::Unblocked { which: None, answer: None });
    other.shows(&json!({ "status": "in_progress" }));
}

#[test]
fn evidence_stands_by_its_gate() {
    let mut bench = Bench::with_spec();
    bench.must(&done("WS1", &[]));
    let evidence =
        Evidence { command: "make schema".into(), exit_code: 0, digest: "d".into(), tail: "ok".into(), tree: None };
    let names = vec!["schema-validation".into()];
    bench.must(&Event::GateJudged(GateJudgement { passed: true, names, step: None, evidence: Some(evidence) }));
    assert_eq!(bench.json()["evidence"]["schema-validation (WS1)"]["exit_code"], 0);
}

#[test]
fn without_a_specification_each_gate_ends_a_phase() {
    let mut bench = Bench::plain();
    bench.must(&done("WS1", &[]));
    bench.must(&gate(true, "schema-validation", Some("WS1")));
    let plan = resume(&place(), &bench.files, None, &at(1)).expect("a plan");
    assert!(
        plan.block.is_some_and(|block| block.starts_with("Resuming PRD-009 from Phase 2\n\nCompleted:\n  WS1 ✅\n"))
    );
}

#[test]
fn without_a_specification_phases_follow_one_another() {
    let mut bench = Bench::plain();
    bench.must(&begin(&["WS1"]));
    let phase = bench.json()["current_phase"].as_i64().expect("a phase");
    let enter = |phase: i64| Event::StageEntered { stage: phase.to_string(), phase: None };
    let refusal = bench.refused(&enter(phase + 2));
    assert_eq!(refusal.hints, [format!("piton stage build:PRD-009 {}", phase + 1)]);
    assert_eq!(bench.refused(&enter(9)).hints, refusal.hints);
    bench.must(&enter(phase + 1));
    assert_eq!(bench.json()["current_phase"], phase + 1);
}
