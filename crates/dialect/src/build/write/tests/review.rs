use super::*;

#[test]
fn a_review_has_two_attempts_and_an_override() {
    let mut bench = Bench::plain();
    assert_eq!(bench.refused(&verdict("maybe", None, None)).kind, RefusalKind::Usage);
    assert_eq!(bench.refused(&verdict("do_not_ship", None, None)).kind, RefusalKind::Usage);
    assert_eq!(bench.refused(&verdict("ship", Some(1), None)).kind, RefusalKind::Rule);
    bench.must(&verdict("do_not_ship", Some(2), None));
    assert_eq!(bench.unit().state, State::Blocked);
    let refusal = bench.refused(&begin(&["WS1"]));
    assert!(refusal.hints.iter().any(|hint| hint.to_string().contains("overridden --reason")));
    bench.refused(&resumed(None));
    bench.must(&verdict("do_not_ship", Some(1), None));
    assert_eq!(bench.json()["adversarial_review"]["attempt"], 2);
    assert_eq!(bench.refused(&verdict("ship", None, None)).kind, RefusalKind::Rule);
    assert_eq!(bench.refused(&verdict("overridden", None, Some(" "))).kind, RefusalKind::Usage);
    bench.must(&verdict("overridden", None, Some("known and accepted")));
    assert_eq!(
        bench.json()["adversarial_review"],
        json!({
            "verdict": "overridden", "p0_count": 1, "p1_count": 0, "attempt": 2,
            "override_reason": "known and accepted"
        })
    );
    bench.must(&begin(&["WS1"]));
    assert_eq!(bench.errors(), [""; 0]);
}

#[test]
fn a_review_with_gates_asks_a_person() {
    let mut bench = Bench::plain();
    let given = Verdict {
        word: "ship_with_gates".into(),
        p1: Some(3),
        report: Some("docs/review.md".into()),
        ..Verdict::default()
    };
    bench.must(&Event::VerdictGiven(given));
    // It waits before work begins, and no arrow leads from `initialized` to `paused`.
    bench.shows(&json!({ "status": "initialized", "pause_reason": null }));
    assert_eq!(bench.unit().state.lifecycle(), Lifecycle::Blocked);
    assert_eq!(bench.json()["adversarial_review"]["findings_path"], "docs/review.md");
    for event in [begin(&["WS1"]), done("WS1", &[]), resumed(None), Event::Finished] {
        let refusal = bench.refused(&event);
        assert_eq!(refusal.hints, ["approve it: piton unblock build:PRD-009"], "{event:?}");
    }
    let worker = Moment { ticket: Some("3.17".parse().expect("a ticket")), ..at(1) };
    let unblocked = Event::Unblocked { which: None, answer: None };
    assert_eq!(record(&place(), &bench.files, &unblocked, &worker).expect_err("a worker").kind, RefusalKind::Rule);
    bench.must(&unblocked);
    assert_eq!(bench.json()["adversarial_review"]["approved_by"], "main");
    bench.shows(&json!({ "status": "initialized" }));
    bench.must(&begin(&["WS1"]));
    // Another review is another question; work that has begun pauses for it when nothing is executed.
    bench.must(&done("WS1", &[]));
    bench.must(&verdict("ship_with_gates", None, None));
    bench.shows(&json!({ "status": "paused" }));
    assert_eq!(bench.json()["adversarial_review"]["approved_at"], Value::Null);
    bench.must(&resumed(None));
    bench.shows(&json!({ "status": "in_progress" }));
}
