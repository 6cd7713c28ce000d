use super::*;

pub(super) fn any_event() -> impl Strategy<Value = Event> {
    let tasks = || prop::sample::subsequence(vec!["T-1", "T-2", "T-3"], 1..3);
    let to = prop_oneof![
        3 => Just(StepTo::Begun), 5 => Just(StepTo::Done), 1 => Just(StepTo::Failed), 1 => Just(StepTo::Skipped)
    ];
    let word = prop::sample::select(vec!["PLAN", "GO", "GO", "NO-GO", "PASS", "CONCERNS", "FAIL"]);
    prop_oneof![
        6 => (to, tasks()).prop_map(|(to, tasks)| step(to, &tasks)),
        8 => "[0-3]".prop_map(|number| stage(&number)),
        8 => (word, 0.0..10.0f64, prop::option::of("[a-z ]{0,4}"))
            .prop_map(|(word, score, text)| verdict(word, score, text.as_deref())),
        1 => "\\PC{0,9}".prop_map(|message| Event::Blocked { message, kind: None }),
        2 => Just(Event::Unblocked { which: None, answer: None }),
        1 => "\\PC{0,9}".prop_map(|text| Event::Paused { reason: Some(text) }),
        1 => "\\PC{0,9}".prop_map(|message| Event::Failed { step: None, message, file: None, line: None }),
        1 => ".{0,9}".prop_map(|text| Event::Noted { text, purpose: NotePurpose::Note }),
        1 => Just(Event::Beat),
        2 => Just(Event::Finished),
        3 => Just(resumed()),
        1 => Just(Event::Restarted { force: false }),
        1 => Just(Event::Reopened),
        1 => Just(Event::Repaired),
        1 => Just(start("0", &["T-1"])),
    ]
}

proptest! {
    /// Whatever happens, what is written breaks no rule but that of a plan that is not good enough.
    #[test]
    fn no_sequence_of_events_breaks_a_rule(
        has_state in any::<bool>(),
        first in 0u8..3,
        events in prop::collection::vec(any_event(), 1..40),
    ) {
        let mut bench = if has_state { Bench::led("QUEUED") } else { Bench::default() };
        bench.must(&start(&first.to_string(), &["T-1", "T-2"]));
        for event in events {
            bench.minutes += 1;
            if bench.tell(&event).is_err() {
                continue;
            }
            let (_, mut errors) = bench.look();
            errors.retain(|name| *name != "pipeline-plan-score");
            prop_assert_eq!(errors, vec![""; 0], "after {:?}: {}", event, bench.json());
            prop_assert!(resume(&place(), &bench.files, None, &moment(bench.minutes)).is_ok());
            prop_assert!(bench.json()["lastAction"].is_string());
        }
    }
}
