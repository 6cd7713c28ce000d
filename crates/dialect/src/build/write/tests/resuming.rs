use super::*;

#[test]
fn a_resume_shows_the_protocols_display() {
    let mut bench = Bench::with_spec();
    let plan = |bench: &Bench, mode| resume(&place(), &bench.files, mode, &at(90)).expect("a plan");
    let first = plan(&bench, None);
    assert_eq!((first.action, &*first.position), (ResumeAction::Continue, "phase 1"));
    assert_eq!(first.next, "begin WS1 of phase 1: piton step build:PRD-009 begin WS1");
    bench.must(&done("WS1", &["a.sql"]));
    // Phase 1 ends with its gate.
    let due = plan(&bench, Some(ResumeMode::Continue));
    assert_eq!(due.position, "phase 1");
    assert!(
        due.next.to_string().starts_with("run the gate schema-validation of WS1; when it passes: "),
        "{}",
        due.next
    );
    bench.must(&gate(true, "schema-validation", None));
    let paused = plan(&bench, None);
    assert_eq!(paused.action, ResumeAction::Continue);
    assert_eq!(
        paused.block.as_deref(),
        Some(
            "Resuming PRD-009 from Phase 2\n\nCompleted:\n  WS1: Database Layer ✅\n\nPending:\n  WS2: Service Layer\n  \
             WS3: Route Handlers\n  WS4: Hooks\n  WS5: Tests"
        )
    );
    assert_eq!(paused.next, "begin WS2, WS3 of phase 2: piton step build:PRD-009 begin WS2 WS3");
    assert_eq!((paused.done, paused.outputs), (Names::from_iter(["WS1"]), vec!["a.sql".to_owned()]));
    assert_eq!(paused.remaining.iter().take(2).collect::<Vec<_>>(), ["WS2", "WS3"]);
    assert!(paused.reasons[1].to_string().contains("schema-validation (WS1)"), "{:?}", paused.reasons);
    bench.must(&begin(&["WS2", "WS3"]));
    let asked = plan(&bench, None);
    assert_eq!(asked.action, ResumeAction::Refuse);
    assert_eq!(
        asked.reasons[1..],
        [
            "begin it again: piton resume build:PRD-009 --restart",
            "go on with it: piton resume build:PRD-009 --continue"
        ]
    );
    assert_eq!(bench.refused(&resumed(None)).hints.len(), 2);
    assert_eq!(plan(&bench, Some(ResumeMode::Restart)).action, ResumeAction::Restart);
    let goes_on = plan(&bench, Some(ResumeMode::Continue));
    assert_eq!(goes_on.next, "go on with WS2, WS3; when one is done: piton step build:PRD-009 done WS2");
    let mut again = bench.clone();
    again.must(&resumed(Some(ResumeMode::Continue)));
    again.shows(&json!({ "in_progress_workstreams": ["WS2", "WS3"], "status": "in_progress" }));
    again.must(&resumed(Some(ResumeMode::Restart)));
    again.shows(&json!({ "in_progress_workstreams": [], "pending_workstreams": ["WS2", "WS3", "WS4", "WS5"] }));
    bench.must(&done("WS2", &[]));
    bench.must(&fail("WS3"));
    let failed = plan(&bench, Some(ResumeMode::Continue));
    assert_eq!(failed.action, ResumeAction::Refuse);
    assert_eq!(failed.reasons, ["it failed at WS3: torn", "when that is fixed: piton resume build:PRD-009 --fixed"]);
    let failed = plan(&bench, Some(ResumeMode::Fixed));
    assert_eq!(failed.action, ResumeAction::Continue);
    assert_eq!(failed.next, "begin WS3 of phase 2: piton step build:PRD-009 begin WS3");
}

#[test]
fn a_resume_of_what_is_over_or_blocked_is_refused() {
    let mut bench = Bench::plain();
    bench.must(&verdict("do_not_ship", Some(1), None));
    let plan = resume(&place(), &bench.files, None, &at(1)).expect("a plan");
    assert_eq!((plan.action, plan.block), (ResumeAction::Refuse, None));
    let complete = json!({
        "prd": "PRD-009", "prd_title": "x", "current_phase": 1, "status": "complete",
        "completed_workstreams": ["WS1"], "in_progress_workstreams": [], "pending_workstreams": [], "artifacts": {},
        "gates_passed": [], "gates_pending": [], "timestamp": "2025-12-11T09:00:00Z"
    });
    let bench = Bench::holding(&complete.to_string());
    let plan = resume(&place(), &bench.files, None, &at(1)).expect("a plan");
    assert_eq!(plan.action, ResumeAction::Refuse);
    assert_eq!(plan.reasons[0], "PRD-009 already complete");
    let nothing = resume(&place(), &MemoryFiles::default(), None, &at(1)).expect_err("no plan");
    assert_eq!(nothing.kind, RefusalKind::Missing);
}
