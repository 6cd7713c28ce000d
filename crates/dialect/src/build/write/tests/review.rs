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
    assert!(refusal.hints.iter().any(|hint| hint.contains("overridden --reason")));
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
    assert_eq!(bench.unit().state.lifecycle(), Lifecycle::Paused);
    assert_eq!(bench.json()["adversarial_review"]["findings_path"], "docs/review.md");
    bench.must(&Event::Unblocked { which: None, answer: None });
    bench.shows(&json!({ "status": "initialized", "pause_reason": null }));
}
