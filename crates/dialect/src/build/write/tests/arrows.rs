//! Random verbs and random edits by hand against the protocol's picture, written down a second time.

use super::random::any_event;
use super::*;

/// The arrows of the picture. A restart makes a new checkpoint, and is none of them.
const PICTURE: [(&str, &str); 7] = [
    ("initialized", "in_progress"),
    ("in_progress", "paused"),
    ("in_progress", "failed"),
    ("in_progress", "complete"),
    ("paused", "in_progress"),
    ("failed", "paused"),
    ("failed", "in_progress"),
];

/// The table of status-specific rules, and the rule between `failed` and `error`, without any of the reader's code.
fn broken_rule(json: &Value) -> Option<&'static str> {
    let count = |key: &str| json[key].as_array().map_or(0, Vec::len);
    let running = count("in_progress_workstreams");
    let waits_for_gate = count("completed_workstreams") > 0 && count("gates_pending") > 0;
    let has_error = !json["error"].is_null();
    match json["status"].as_str()? {
        "in_progress" if running == 0 && !waits_for_gate => Some("in_progress with nothing in progress"),
        "initialized" | "paused" | "failed" | "complete" if running > 0 => Some("something is in progress"),
        "failed" if !has_error => Some("failed without an error"),
        "initialized" | "in_progress" | "paused" | "complete" if has_error => Some("an error without a failure"),
        "complete" if count("pending_workstreams") + count("gates_pending") > 0 => Some("complete with something left"),
        "initialized" if count("completed_workstreams") > 0 || json["current_phase"] != 0 => Some("begun"),
        _ => None,
    }
}

fn status(json: &Value) -> String {
    json["status"].as_str().expect("a status").to_owned()
}

/// A change that somebody makes with an editor: one key gets another value, right or wrong.
#[derive(Debug, Clone)]
enum Edit {
    Status(&'static str),
    /// Moves the first workstream of one list to another.
    Move(usize, usize),
    NoError,
    NoGates,
}

const LISTS: [&str; 3] = ["completed_workstreams", "in_progress_workstreams", "pending_workstreams"];

fn any_edit() -> impl Strategy<Value = Edit> {
    let words = vec!["initialized", "in_progress", "paused", "failed", "complete"];
    prop_oneof![
        prop::sample::select(words).prop_map(Edit::Status),
        (0..3usize, 0..3usize).prop_map(|(from, to)| Edit::Move(from, to)),
        Just(Edit::NoError),
        Just(Edit::NoGates),
    ]
}

fn edit(bench: &mut Bench, edit: &Edit) {
    let mut json = bench.json();
    match edit {
        Edit::Status(word) => json["status"] = (*word).into(),
        Edit::Move(from, to) => {
            let list = json[LISTS[*from]].as_array_mut().expect("a list");
            if !list.is_empty() {
                let moved = list.remove(0);
                json[LISTS[*to]].as_array_mut().expect("a list").push(moved);
            }
        }
        Edit::NoError => {
            json.as_object_mut().expect("an object").remove("error");
        }
        Edit::NoGates => json["gates_pending"] = json!([]),
    }
    bench.files.files.insert(PATH.into(), json.to_string().into_bytes());
}

#[derive(Debug, Clone)]
enum Act {
    Verb(Box<Event>),
    Hand(Edit),
}

fn any_act() -> impl Strategy<Value = Act> {
    prop_oneof![9 => any_event().prop_map(|event| Act::Verb(Box::new(event))), 1 => any_edit().prop_map(Act::Hand)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Every version that a verb writes follows the one before it by an arrow of the picture, and obeys the table of its
    /// status, unless a hand had broken it before.
    #[test]
    fn verbs_follow_the_arrows_whatever_a_hand_does(
        has_spec in any::<bool>(),
        is_worker in prop::bool::weighted(0.2),
        acts in prop::collection::vec(any_act(), 1..40),
    ) {
        let mut bench = if has_spec { Bench::with_spec() } else { Bench::plain() };
        for act in acts {
            bench.minutes += 1;
            let event = match act {
                Act::Hand(change) => {
                    edit(&mut bench, &change);
                    continue;
                }
                Act::Verb(event) => *event,
            };
            let ticket = is_worker.then(|| "1.1".parse().expect("a ticket"));
            let moment = Moment { ticket, ..at(bench.minutes) };
            let before = bench.json();
            let was_right = broken_rule(&before).is_none();
            let Ok(change) = record(&place(), &bench.files, &event, &moment) else { continue };
            bench.files.apply(&change);
            let after = bench.json();
            let (from, to) = (status(&before), status(&after));
            // What is done in two steps when nothing stands between a pause and the end.
            let completes = matches!(event, Event::GateJudged(_) | Event::Finished);
            let by_way = from == "paused" && to == "complete" && completes;
            let is_new = matches!(event, Event::Restarted { .. });
            if was_right && !is_new {
                prop_assert!(
                    from == to || by_way || PICTURE.contains(&(from.as_str(), to.as_str())),
                    "{from} to {to} by {event:?}"
                );
                prop_assert_eq!(broken_rule(&after), None, "after {:?}: {}", event, after);
            }
        }
    }
}

#[test]
fn the_last_gate_of_a_paused_build_completes_it() {
    let mut bench = Bench::default();
    bench.must(&Event::Started(Start {
        steps: vec!["WS1".into()],
        gates: vec!["lint".into(), "types".into()],
        ..Start::default()
    }));
    bench.must(&done("WS1", &[]));
    bench.must(&gate(true, "lint", None));
    bench.shows(&json!({ "status": "paused" }));
    // No arrow leads from there to a failure: it stays paused, with the gate pending.
    let mut judged = bench.clone();
    judged.must(&gate(false, "types", None));
    judged.shows(&json!({ "status": "paused", "gates_pending": ["types"] }));
    let mut other = bench.clone();
    other.must(&resumed(None));
    other.must(&gate(false, "types", None));
    other.shows(&json!({ "status": "failed" }));
    assert_eq!(bench.must(&gate(true, "types", None)).summary, "gate types passed; complete (1/1)");
    bench.shows(&json!({ "status": "complete", "gates_pending": [] }));
}

#[test]
fn two_arrows_are_two_records() {
    let mut bench = Bench::default();
    bench.must(&Event::Started(Start { steps: vec!["WS1".into(), "WS2".into()], ..Start::default() }));
    let refusal = bench.refused(&done("WS1", &[]));
    assert_eq!(refusal.hints, ["begin it: piton step build:PRD-009 begin WS1"]);
    bench.must(&begin(&["WS1"]));
    bench.must(&done("WS1", &[]));
    bench.shows(&json!({ "status": "paused" }));
    bench.refused(&done("WS2", &[]));
    bench.must(&begin(&["WS2"]));
    // The last workstream of a build without gates completes it.
    bench.must(&done("WS2", &[]));
    bench.shows(&json!({ "status": "complete" }));
}

#[test]
fn a_worker_of_a_fleet_does_not_complete_the_build() {
    let mut bench = Bench::default();
    bench.must(&Event::Started(Start { steps: vec!["WS1".into()], gates: vec!["lint".into()], ..Start::default() }));
    bench.must(&done("WS1", &[]));
    let worker = Moment { ticket: Some("1.4".parse().expect("a ticket")), ..at(1) };
    let change = record(&place(), &bench.files, &gate(true, "lint", None), &worker).expect("it may say so");
    bench.files.apply(&change);
    bench.shows(&json!({ "status": "paused", "gates_pending": [] }));
    bench.must(&Event::Finished);
    bench.shows(&json!({ "status": "complete" }));
}

#[test]
fn what_the_picture_does_not_have_is_refused_with_a_way_on() {
    let pause = Event::Paused { reason: Some("later".into()) };
    let mut new = Bench::plain();
    for event in [&pause, &fail("WS1"), &step(StepTo::Failed, &["WS1"], &[]), &gate(true, "lint", None)] {
        let refusal = new.refused(event);
        assert!(refusal.hints.iter().any(|hint| hint.to_string().contains("piton ")), "{event:?}: {:?}", refusal.hints);
    }
    let mut paused = Bench::plain();
    paused.must(&done("WS1", &[]));
    paused.must(&gate(true, "lint", None));
    paused.shows(&json!({ "status": "paused" }));
    for event in [fail("WS1"), fail("WS2"), step(StepTo::Failed, &["WS2"], &[])] {
        paused.refused(&event);
    }
    // A build that is blocked before it began gets no other arrows by that.
    new.must(&Event::Blocked { message: "no key".into(), kind: None });
    new.refused(&pause);
    new.refused(&fail("WS1"));
}
