use piton_model::{Decision, Document, Gate, GateJudgement, Note, Role, Step};
use serde_json::json;

use super::*;

/// An event: its name, who recorded it, and what it says.
fn entries(events: &[(&str, &str, Value)]) -> Vec<Entry> {
    let entry = |((event, by, data), seq): (&(&str, &str, Value), u64)| Entry {
        seq,
        at: "2026-03-10T10:00:00Z".to_owned(),
        attempt: 1,
        by: (*by).to_owned(),
        carried: serde_json::Map::new(),
        event: (*event).to_owned(),
        summary: format!("@{seq}"),
        data: data.as_object().cloned().unwrap_or_default(),
        files: Vec::new(),
        documents: Vec::new(),
    };
    events.iter().zip(1..).map(entry).collect()
}

fn unit(dialect: Dialect) -> Unit {
    let document = Document { path: "d.json".into(), role: Role::Main, modified: None };
    let step = |id: &str, state| Step { id: id.to_owned(), title: None, stage: None, state };
    let gate = |name: &str, state| Gate { name: name.to_owned(), step: None, stage: None, state };
    let mut unit = Unit::new(dialect, "u", document);
    unit.state = State::Running;
    unit.steps = vec![
        step("open", StepState::Pending),
        step("done", StepState::Done { by: None, at: None, outputs: Vec::new() }),
    ];
    unit.gates = vec![
        gate("quality", GateState::Failed { result: Some("FAIL, score 10".to_owned()) }),
        gate("met", GateState::Passed { result: None }),
        gate("unmet", GateState::Pending),
    ];
    unit.notes = vec![Note { label: "issues", text: "it leaks".to_owned() }];
    unit.decisions = vec![Decision { time: None, text: "in cents".to_owned(), reason: None }];
    unit
}

const CLAIM: (&str, &str) = ("resumed", "story-u-s3");

#[test]
fn a_refused_worker_is_no_person() {
    let table = [
        (("noted", "main", json!({})), true),
        (("noted", LEAD, json!({})), false),
        (("noted", "main", json!({"ticket": "3"})), false),
        (("refused", "main", json!({})), false),
    ];
    for (event, want) in table {
        assert_eq!(is_by_person(&entries(std::slice::from_ref(&event))[0]), want, "{event:?}");
    }
}

#[test]
fn a_persons_move_is_restored_when_the_document_was_written_since() {
    let claim = (CLAIM.0, CLAIM.1, json!({}));
    let seen = ("observed", "outside", json!({}));
    let fail = ("verdict_given", "main", json!({"verdict": "FAIL", "issues": "it leaks"}));
    let waived = ("verdict_given", "main", json!({"verdict": "WAIVED"}));
    let workers = ("verdict_given", "main", json!({"verdict": "PASS", "ticket": "4"}));
    let event = |name: &'static str, by: &'static str| (name, by, json!({}));
    let back = || event("rolled_back", "main");
    let restored = || event("rolled_back", LEAD);
    let anew = || event("restarted", "main");
    for (events, story, task) in [
        (vec![claim.clone(), waived.clone(), seen.clone()], Some(2), None),
        // The document says the same.
        (vec![claim.clone(), fail, seen.clone()], None, None),
        (vec![claim.clone(), waived.clone()], None, None),
        (vec![claim.clone(), seen.clone(), waived.clone()], None, None),
        (vec![claim.clone(), workers, seen.clone()], None, None),
        (vec![claim.clone(), back(), seen.clone()], Some(2), Some(2)),
        (vec![claim.clone(), anew(), seen.clone()], Some(2), Some(2)),
        (vec![claim.clone(), anew(), event("refused", "main"), seen.clone()], Some(2), Some(2)),
        (vec![claim.clone(), event("stage_entered", "main"), seen.clone()], Some(2), None),
        (vec![claim.clone(), back(), waived.clone(), seen.clone()], Some(3), None),
        // It was restored, and written once more.
        (vec![claim.clone(), back(), seen.clone(), restored()], None, None),
        (vec![claim.clone(), back(), seen.clone(), restored(), seen.clone()], Some(2), Some(2)),
        // Another worker began since, or the person themselves.
        (vec![claim.clone(), back(), claim.clone(), seen.clone()], None, None),
        (vec![claim.clone(), anew(), event("resumed", "main"), seen.clone()], None, None),
        // No worker of a lead was at it.
        (vec![event("started", "main"), back(), seen.clone()], None, None),
    ] {
        let events = entries(&events);
        let found = |dialect| replaced_version(&events, &unit(dialect)).map(|entry| entry.seq);
        assert_eq!((found(Dialect::Pipeline), found(Dialect::Task)), (story, task), "{events:?}");
    }
}

#[test]
fn words_that_a_document_lacks_are_said_again() {
    let claim = (CLAIM.0, CLAIM.1, json!({}));
    let seen = ("observed", "outside", json!({}));
    let noted = |text: &str| ("noted", "main", json!({"text": text}));
    let decided = |text: &str| ("decided", "main", json!({"text": text}));
    let step = |to: &'static str, by: &'static str, id: &str| (to, by, json!({"steps": [id]}));
    let gate = |to: &'static str, name: &str| (to, "main", json!({"gates": [name]}));
    let paused = ("paused", "main", json!({"reason": "wait"}));
    let asked = ("blocked", "main", json!({"message": "which?"}));
    let event = |name: &'static str| (name, "main", json!({}));
    let table = [
        (vec![claim.clone(), noted("new"), seen.clone()], vec!["noted"]),
        (vec![claim.clone(), noted("it leaks"), seen.clone()], vec![]),
        (vec![claim.clone(), noted("new")], vec![]),
        (vec![claim.clone(), seen.clone(), noted("new")], vec![]),
        // What was decided before a worker began counts for it as well, until the unit begins anew.
        (vec![decided("new"), claim.clone(), seen.clone()], vec!["decided"]),
        (vec![decided("new"), event("restarted"), claim.clone(), seen.clone()], vec![]),
        (vec![decided("new"), event("rolled_back"), claim.clone(), seen.clone()], vec![]),
        (vec![claim.clone(), decided("in cents"), seen.clone()], vec![]),
        (vec![claim.clone(), step("step_begun", "main", "more"), seen.clone()], vec!["step_begun"]),
        (vec![step("step_begun", "main", "more"), claim.clone(), seen.clone()], vec!["step_begun"]),
        (vec![step("step_begun", "main", "more"), step("step_begun", LEAD, "more"), seen.clone()], vec!["step_begun"]),
        (vec![step("step_begun", "main", "more"), step("step_skipped", "main", "more"), seen.clone()], vec![]),
        (vec![claim.clone(), step("step_begun", "main", "done"), seen.clone()], vec![]),
        (vec![claim.clone(), step("step_skipped", "main", "open"), seen.clone()], vec!["step_skipped"]),
        (vec![claim.clone(), step("step_skipped", "main", "done"), seen.clone()], vec![]),
        (vec![claim.clone(), step("step_done", "main", "open"), seen.clone()], vec!["step_done"]),
        (vec![claim.clone(), step("step_failed", "main", "done"), seen.clone()], vec!["step_failed"]),
        (vec![step("step_failed", "main", "done"), claim.clone(), seen.clone()], vec![]),
        (vec![claim.clone(), gate("gate_failed", "met"), seen.clone()], vec!["gate_failed"]),
        (vec![claim.clone(), gate("gate_failed", "met"), gate("gate_passed", "met"), seen.clone()], vec![]),
        (vec![gate("gate_failed", "met"), claim.clone(), seen.clone()], vec![]),
        (vec![claim.clone(), gate("gate_passed", "unmet"), seen.clone()], vec!["gate_passed"]),
        (vec![claim.clone(), paused.clone(), seen.clone()], vec!["paused"]),
        (vec![claim.clone(), paused.clone(), event("unblocked"), seen.clone()], vec![]),
        (vec![claim.clone(), asked, seen.clone()], vec!["blocked"]),
        // What holds it comes last.
        (vec![claim.clone(), paused, noted("new"), seen.clone()], vec!["noted", "paused"]),
    ];
    for (events, want) in table {
        let events = entries(&events);
        let found = lacking_words(&events, &unit(Dialect::Task));
        let found: Vec<&str> = found.iter().map(|word| word.event.name()).collect();
        assert_eq!(found, want, "{events:?}");
    }
}

#[test]
fn of_several_steps_only_those_that_are_lacking_are_said_again() {
    let events = entries(&[
        (CLAIM.0, CLAIM.1, json!({})),
        ("step_skipped", "main", json!({"steps": ["open", "done"], "message": "both"})),
        ("gate_failed", "main", json!({"gates": ["met", "unmet"]})),
        ("observed", "outside", json!({})),
    ]);
    let found: Vec<Event> = lacking_words(&events, &unit(Dialect::Task)).into_iter().map(|word| word.event).collect();
    let judged = GateJudgement { passed: false, names: vec!["met".to_owned()], step: None, evidence: None };
    let skipped = StepMove::new(StepTo::Skipped, vec!["open".to_owned()]);
    assert_eq!(found, [Event::StepMoved(skipped), Event::GateJudged(judged)]);
}
