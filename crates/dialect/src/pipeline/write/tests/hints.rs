//! Every command in a hint works as typed, in the situation that printed it.

use super::model::{Deed, any_deed};
use super::*;
use piton_model::Hint;

/// The words of the command in a hint, without the program; nothing when the hint names none.
fn command(hint: &Hint) -> Option<Vec<String>> {
    Some(hint.commands.first()?.argv().split_off(1))
}

/// The event that a command records; nothing for a command that only reads.
fn event(words: &[String]) -> Option<Event> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let option = |name: &str| {
        let at = words.iter().position(|word| *word == name)?;
        Some(words.get(at + 1).map_or("", |word| *word).to_owned())
    };
    let [verb, unit, rest @ ..] = words.as_slice() else { panic!("{words:?}") };
    assert!(*unit == "pipeline:PROJ-42" || *verb == "check", "{words:?}");
    let first = rest.first().copied().unwrap_or_default();
    Some(match *verb {
        "why" | "check" => return None,
        "start" => Event::Started(Start { stage: option("--stage"), ..Start::default() }),
        "resume" => resumed(),
        "restart" => Event::Restarted { force: false },
        "reopen" => Event::Reopened,
        "repair" => Event::Repaired,
        "finish" => Event::Finished,
        "unblock" => Event::Unblocked { which: None, answer: None },
        "pause" => Event::Paused { reason: option("--reason") },
        "block" => Event::Blocked { message: option("--message").expect("a message"), kind: None },
        "stage" => stage(first),
        "step" => {
            let to = match first {
                "begin" => StepTo::Begun,
                "done" => StepTo::Done,
                other => panic!("{other}"),
            };
            let steps = vec![rest[1].replace("TASK", "T-77")];
            Event::StepMoved(StepMove { title: option("--title"), ..StepMove::new(to, steps) })
        }
        "verdict" => {
            let score = match option("--score").as_deref() {
                Some("N") => match first {
                    "PLAN" => 3.0,
                    "GO" => 8.0,
                    _ => 90.0,
                },
                given => given.expect("a score").parse().expect("a number"),
            };
            verdict(first, score, Some("text"))
        }
        other => panic!("{other} is no verb of a story"),
    })
}

/// Follows each command among hints, each in a copy of the situation.
fn follow(bench: &Bench, hints: &[Hint], told: &str) -> Result<(), TestCaseError> {
    for words in hints.iter().filter_map(command) {
        let mut copy = bench.clone();
        copy.minutes += 1;
        if let Some(event) = event(&words)
            && let Err(refusal) = copy.tell(&event)
        {
            let why = format!("{told}: {words:?} is refused: {refusal} {:?}\n{}", refusal.hints, bench.json());
            return Err(TestCaseError::fail(why));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Whatever was done: what a refusal, a warning or a resume says to type is accepted.
    #[test]
    fn every_hint_works_as_typed(
        standing in prop::sample::select(vec![
            None, Some("QUEUED"), Some("STAGE_1"), Some("STAGE_2"), Some("STAGE_3"), Some("PAUSED"), Some("DONE"), Some("WAITING"),
        ]),
        deeds in prop::collection::vec(any_deed(), 1..25),
    ) {
        let mut bench = Bench::started("0", &["T-1", "T-2"]);
        if let Some(standing) = standing {
            bench.lead(standing);
        }
        for deed in deeds {
            bench.minutes += 1;
            let event = match deed {
                Deed::Hand(checkpoint) => {
                    bench.files.files.insert(PATH.into(), checkpoint.to_string().into_bytes());
                    resumed()
                }
                Deed::Verb(event) => *event,
                Deed::Lead => continue,
            };
            let before = bench.clone();
            match bench.tell(&event) {
                Ok(change) => follow(&bench, &change.warnings, &format!("{event:?}"))?,
                Err(refusal) => follow(&before, &refusal.hints, &format!("{event:?}: {refusal}"))?,
            }
            let plan = bench.plan();
            let hints: Vec<Hint> = plan.reasons.iter().cloned().chain([plan.next.clone()]).collect();
            let mut taken_up = bench.clone();
            if plan.action != ResumeAction::Refuse {
                taken_up.must(&resumed());
            }
            follow(&taken_up, &hints, &format!("a resume ({:?})", plan.action))?;
        }
    }
}

#[test]
fn a_story_without_a_checkpoint_has_a_way_on() {
    for standing in ["QUEUED", "STAGE_0", "STAGE_1", "STAGE_2", "STAGE_3", "PAUSED", "WAITING"] {
        for event in [
            resumed(),
            Event::Unblocked { which: None, answer: None },
            stage("2"),
            Event::Finished,
            Event::Restarted { force: false },
        ] {
            let mut bench = Bench::led(standing);
            let refusal = bench.refused(&event);
            assert!(!refusal.hints.is_empty(), "{standing} {event:?}");
            for words in refusal.hints.iter().filter_map(command) {
                let Some(start) = super::hints::event(&words) else { continue };
                bench.clone().must(&start);
            }
            let plan = bench.plan();
            if plan.action == ResumeAction::Refuse {
                let words = plan.reasons.iter().find_map(command).expect("a way on");
                bench.must(&super::hints::event(&words).expect("a verb"));
            }
        }
    }
}
