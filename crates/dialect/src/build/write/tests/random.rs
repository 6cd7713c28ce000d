use super::*;

pub(super) fn any_event() -> impl Strategy<Value = Event> {
    let ids = || prop::sample::subsequence(vec!["WS1", "WS2", "WS3", "WS4", "WS5"], 1..4);
    let to = prop_oneof![
        3 => Just(StepTo::Begun), 4 => Just(StepTo::Done), 1 => Just(StepTo::Failed), 1 => Just(StepTo::Skipped)
    ];
    let gates = prop::sample::select(vec!["schema-validation", "type-check", "lint", "test-pass", "other"]);
    let owner = prop::option::of(prop::sample::select(vec!["WS1", "WS2", "WS3", "WS4", "WS5"]));
    let word = prop::sample::select(vec!["ship", "ship_with_gates", "do_not_ship", "overridden"]);
    let mode =
        prop::option::of(prop::sample::select(vec![ResumeMode::Restart, ResumeMode::Continue, ResumeMode::Fixed]));
    prop_oneof![
        8 => (to, ids(), prop::option::of("[a-z]{1,3}")).prop_map(|(to, ids, file)| {
            step(to, &ids, &file.as_deref().into_iter().collect::<Vec<_>>())
        }),
        8 => (any::<bool>(), gates, owner).prop_map(|(fails, name, owner)| gate(!fails, name, owner)),
        1 => (word, prop::option::of(0u64..3), prop::option::of("[a-z ]{0,4}"))
            .prop_map(|(word, p0, reason)| verdict(word, p0, reason.as_deref())),
        1 => "\\PC{0,9}".prop_map(|message| Event::Blocked { message, kind: None }),
        3 => Just(Event::Unblocked { which: None, answer: None }),
        1 => "\\PC{0,9}".prop_map(|text| Event::Paused { reason: Some(text) }),
        1 => ids().prop_map(|ids| fail(ids[0])),
        1 => ".{0,9}".prop_map(|text| Event::Noted { text, purpose: NotePurpose::Note }),
        1 => ".{0,9}".prop_map(|text| Event::Decided { text, reason: None }),
        1 => Just(Event::Beat),
        2 => Just(Event::Finished),
        3 => mode.prop_map(resumed),
        1 => Just(Event::Restarted { force: false }),
        1 => Just(Event::Reopened),
        1 => Just(Event::Repaired),
        1 => "[0-9]".prop_map(|stage| Event::StageEntered { stage, phase: None }),
    ]
}

/// The protocol's own examples as whole documents: the first, the fifth and the seventh.
fn examples() -> [Value; 3] {
    let all = ["WS1", "WS2", "WS3", "WS4", "WS5"];
    let document =
        |phase: i64, status: &str, lists: [&[&str]; 3], artifacts: Value, passed: &[&str], waiting: &[&str]| {
            json!({
                "prd": "PRD-009", "prd_title": "Cashier Workflows", "current_phase": phase, "status": status,
                "completed_workstreams": lists[0], "in_progress_workstreams": lists[1], "pending_workstreams": lists[2],
                "artifacts": artifacts, "gates_passed": passed, "gates_pending": waiting,
                "timestamp": "2025-12-11T10:00:00Z"
            })
        };
    let gates = ["schema-validation", "type-check", "lint", "test-pass"];
    let passed = ["schema-validation (WS1)", "type-check (WS2)", "lint (WS3)", "type-check (WS4)", "test-pass (WS5)"];
    let some = json!({ "WS1": ["migration.sql"] });
    [
        document(0, "initialized", [&[], &[], &all], json!({}), &[], &gates),
        document(1, "in_progress", [&all[..1], &all[1..3], &all[3..]], some, &passed[..1], &gates[1..]),
        document(5, "complete", [&all, &[], &[]], json!({ "WS5": ["*.test.ts"] }), &passed, &[]),
    ]
}

proptest! {
    /// The same for documents that others wrote.
    #[test]
    fn no_sequence_of_events_breaks_the_examples(
        example in prop::sample::select(examples().to_vec()),
        events in prop::collection::vec(any_event(), 1..30),
    ) {
        let mut bench = Bench::holding(&example.to_string());
        for event in events {
            bench.minutes += 1;
            if bench.tell(&event).is_ok() {
                let mut errors = bench.errors();
                errors.retain(|name| *name != "build-not-shippable");
                prop_assert_eq!(errors, vec![""; 0], "after {:?}: {}", event, bench.text());
            }
        }
    }

    /// Whatever happens, what is written breaks no rule, and every workstream is in one list.
    #[test]
    fn no_sequence_of_events_breaks_a_rule(
        has_spec in any::<bool>(),
        events in prop::collection::vec(any_event(), 1..40),
    ) {
        let mut bench = if has_spec { Bench::with_spec() } else { Bench::plain() };
        for event in events {
            bench.minutes += 1;
            if bench.tell(&event).is_err() {
                continue;
            }
            let mut errors = bench.errors();
            errors.retain(|name| *name != "build-not-shippable");
            prop_assert_eq!(errors, vec![""; 0], "after {:?}: {}", event, bench.text());
            let json = bench.json();
            let keys = ["completed_workstreams", "in_progress_workstreams", "pending_workstreams", "dormant_workstreams"];
            let listed = keys.iter().flat_map(|key| json[key].as_array().cloned().unwrap_or_default());
            prop_assert_eq!(listed.count(), 5);
            prop_assert!(resume(&place(), &bench.files, None, &at(bench.minutes)).is_ok());
        }
    }
}
