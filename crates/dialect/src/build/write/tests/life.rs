use super::*;

#[test]
fn pauses_blocks_and_notes_stand_in_keys_of_their_own() {
    let mut bench = Bench::plain();
    bench.must(&begin(&["WS1"]));
    assert_eq!(bench.refused(&Event::Paused { reason: None }).kind, RefusalKind::Rule);
    let hostile = "a \"quote\"\n\"status\": \"complete\"} --> </x>";
    bench.must(&Event::Blocked { message: hostile.into(), kind: Some("key".into()) });
    assert_eq!(bench.unit().state, State::Blocked);
    assert_eq!(bench.unit().blockers.len(), 1);
    bench.refused(&begin(&["WS2"]));
    bench.must(&done("WS1", &[]));
    bench.refused(&Event::Unblocked { which: Some("7".into()), answer: None });
    bench.must(&Event::Unblocked { which: Some("1".into()), answer: None });
    bench.must(&Event::Paused { reason: Some(hostile.into()) });
    assert_eq!(bench.unit().state, State::Paused { reason: Some(hostile.into()) });
    let summary = bench.must(&Event::Noted { text: hostile.into(), purpose: NotePurpose::ResumeInstruction }).summary;
    assert!(!summary.contains('\n'), "{summary}");
    bench.must(&Event::Decided { text: "no cache".into(), reason: Some("stale".into()) });
    let unit = bench.unit();
    assert!(unit.notes.iter().any(|note| note.label == "resume instructions" && note.text == hostile));
    assert_eq!(unit.decisions[0].reason.as_deref(), Some("stale"));
    bench.must(&resumed(None));
    bench.shows(&json!({ "status": "in_progress", "pause_reason": null }));
    assert_eq!(bench.errors(), [""; 0]);
}

#[test]
fn execution_notes_stand_in_the_lists_of_the_protocol() {
    let mut bench = Bench::plain();
    let fix = |kind, file: &str, change: &str| {
        Event::ExecutionNoted(ExecutionNote::Fix { kind, file: file.into(), change: change.into() })
    };
    let cleanup = |text: &str| Event::ExecutionNoted(ExecutionNote::Cleanup { text: text.into() });
    bench.must(&fix(FixKind::Eslint, "a.ts", "no unused names"));
    bench.must(&fix(FixKind::Key, "b.ts", "a key for each row"));
    bench.must(&cleanup("the old hooks are gone"));
    bench.must(&cleanup("the old hooks are gone"));
    bench.shows(&json!({
        "eslint_fixes": [{"file": "a.ts", "change": "no unused names"}],
        "key_fixes": [{"file": "b.ts", "change": "a key for each row"}],
        "cleanup_done": ["the old hooks are gone"], "status": "initialized"
    }));
    assert_eq!(bench.reading().findings, []);
    for bad in [fix(FixKind::Key, "../b.ts", "x"), fix(FixKind::Key, "b.ts", " "), cleanup("")] {
        assert_eq!(bench.refused(&bad).kind, RefusalKind::Usage, "{bad:?}");
    }
}

#[test]
fn a_beat_changes_the_time_alone() {
    let mut bench = Bench::plain();
    let before = bench.text();
    bench.minutes = 7;
    assert_eq!(bench.must(&Event::Beat).summary, "beat");
    assert_eq!(bench.text(), before.replace("10:00:00Z", "10:07:00Z"));
}

#[test]
fn what_nobody_names_keeps_its_bytes() {
    let text = "\u{feff}{\r\n\t\"prd\":\"PRD-009\", \"prd_title\": \"K\\u0069tes\",\r\n\t\"score\": 1.50e1,\r\n\t\"current_phase\": 0,\r\n\t\"status\": \"initialized\", \"completed_workstreams\": [],\r\n\t\"in_progress_workstreams\": [], \"pending_workstreams\": [\"WS1\"],\r\n\t\"artifacts\": { }, \"gates_passed\": [ ], \"gates_pending\": [\"lint\"],\r\n\t\"timestamp\": \"2025-12-11T09:00:00Z\", \"mine\": {\"b\":1,\"a\":[1, 2]}\r\n}";
    let mut bench = Bench::holding(text);
    bench.must(&begin(&["WS1"]));
    let new = bench.text();
    for kept in [
        "\u{feff}{\r\n\t\"prd\":\"PRD-009\", \"prd_title\": \"K\\u0069tes\"",
        "1.50e1",
        "\"artifacts\": { }",
        "{\"b\":1,\"a\":[1, 2]}\r\n}",
    ] {
        assert!(new.contains(kept), "{kept:?} in {new:?}");
    }
    assert!(!new.ends_with('\n'));
}

#[test]
fn what_cannot_be_understood_is_not_written() {
    let lists = |running: &str| {
        format!(
            "{{\"prd\": \"PRD-009\", \"status\": \"in_progress\", \"completed_workstreams\": [], \"in_progress_workstreams\": {running}}}"
        )
    };
    for text in [
        "{",
        "{\"a\": 1}",
        "[]",
        "{\"prd\": \"PRD-009\", \"prd\": \"PRD-010\", \"status\": \"paused\"}",
        &lists("\"WS1\""),
        &lists("[[]]"),
        &lists("{}"),
    ] {
        let refusal = Bench::holding(text).refused(&Event::Beat);
        assert_eq!(refusal.kind, RefusalKind::Document, "{text}: {refusal}");
    }
    let mut odd = Bench::holding(&lists("[\"WS1\"]").replace("in_progress\", \"c", "flying high\", \"c"));
    assert_eq!(odd.refused(&begin(&["WS1"])).kind, RefusalKind::Rule);
}

#[test]
fn workstreams_in_other_forms_are_moved_as_they_are_written() {
    let mut objects = Bench::holding(
        r#"{"prd": "PRD-009", "prd_title": "x", "current_phase": 0, "status": "initialized", "workstreams_completed": [],
        "in_progress_workstreams": [], "workstreams_pending": [{"id": "WS1", "name": "Data", "who": 7}, "WS2"],
        "artifacts": {}, "gates_passed": [], "gates_pending": ["lint"], "timestamp": "2025-12-11T09:00:00Z"}"#,
    );
    assert_eq!(objects.unit().steps[0].title.as_deref(), Some("Data"));
    objects.must(&begin(&["WS1"]));
    objects.must(&done("WS1", &[]));
    objects.shows(&json!({
        "completed_workstreams": [{"id": "WS1", "name": "Data", "who": 7}], "pending_workstreams": ["WS2"],
        "workstreams_completed": null, "workstreams_pending": null, "status": "in_progress"
    }));
    let mut statuses = Bench::holding(
        r#"{"prd": "PRD-009", "prd_title": "x", "current_phase": 0, "status": "in_progress",
        "workstreams": {"WS1": {"status": "complete"}, "WS2": {"status": "pending"}},
        "artifacts": {}, "gates_passed": [], "gates_pending": ["lint"], "timestamp": "2025-12-11T09:00:00Z"}"#,
    );
    statuses.must(&begin(&["WS2"]));
    statuses.shows(&json!({
        "completed_workstreams": ["WS1"], "in_progress_workstreams": ["WS2"],
        "workstreams": {"WS1": {"status": "complete"}, "WS2": {"status": "in_progress"}}
    }));
}

#[test]
fn starting_needs_workstreams_and_refuses_what_is_there() {
    let mut bench = Bench::default();
    let start = |steps: &[&str]| Start { steps: steps.iter().map(|id| (*id).into()).collect(), ..Start::default() };
    assert_eq!(bench.refused(&Event::Beat).kind, RefusalKind::Missing);
    for bad in [&[][..], &["../x"], &["WS1", "WS1"]] {
        assert_eq!(bench.refused(&Event::Started(start(bad))).kind, RefusalKind::Usage, "{bad:?}");
    }
    let strange = Start { feature: Some("x".into()), ..start(&["WS1"]) };
    assert_eq!(bench.refused(&Event::Started(strange)).kind, RefusalKind::Usage);
    let bad_spec = Start { spec: Some(("a.md".into(), "no front matter".into())), ..Start::default() };
    assert_eq!(bench.refused(&Event::Started(bad_spec)).kind, RefusalKind::Document);
    // A specification that lies there is believed.
    bench.files.files.insert(SPEC_PATH.into(), SPEC.into());
    assert_eq!(bench.refused(&Event::Started(start(&["WS1"]))).kind, RefusalKind::Rule);
    bench.must(&Event::Started(Start::default()));
    assert_eq!(bench.json()["exec_spec"], SPEC_PATH);
    let refusal = bench.refused(&Event::Started(Start::default()));
    assert!(refusal.hints.iter().any(|hint| hint.to_string().contains("piton resume build:PRD-009")));
    let place = Place { id: vec![Id::parse("KITE").expect("an id")], ..place() };
    let change = record(&place, &bench.files, &Event::Started(start(&["WS1"])), &at(0)).expect("it starts");
    assert_eq!(change.warnings.len(), 1);
}

#[test]
fn a_restart_keeps_the_old_checkpoint() {
    let mut bench = Bench::with_spec();
    bench.must(&done("WS1", &["a.sql"]));
    bench.must(&gate(true, "schema-validation", None));
    let old = bench.text();
    bench.must(&Event::Restarted { force: false });
    bench.must(&Event::Restarted { force: false });
    let archive = format!(".claude/skills/build-pipeline/checkpoints/archive/PRD-009-{START}");
    assert_eq!(bench.files.files[&format!("{archive}.json")], old.as_bytes());
    assert!(bench.files.files.contains_key(&format!("{archive}-2.json")));
    bench.shows(&json!({
        "status": "initialized", "current_phase": 0, "artifacts": {}, "gates_passed": [],
        "pending_workstreams": ["WS1", "WS2", "WS3", "WS4", "WS5"]
    }));
    assert_eq!(bench.reading().findings, []);
}

#[test]
fn a_repair_makes_nothing_done_that_is_not() {
    let mut bench = Bench::with_spec();
    let text = bench.text();
    let text = text.replace("\"completed_workstreams\": []", "\"completed_workstreams\": [\"WS1\", \"WS2\"]");
    let text = text.replace("\"WS1\",\n    \"WS2\",\n    \"WS3\",\n", "\"WS1\",\n    \"WS3\",\n");
    let text = text.replace("    \"lint\",\n", "").replace("\"artifacts\": {}", "\"artifacts\": {\"WS1\": [\"a\"]}");
    bench.files.files.insert(PATH.into(), text.into_bytes());
    assert_eq!(bench.errors().len(), 3);
    bench.must(&Event::Repaired);
    bench.shows(&json!({
        "completed_workstreams": ["WS2"], "pending_workstreams": ["WS1", "WS3", "WS4", "WS5"],
        "kept_artifacts": {"WS1": ["a"]}, "gates_pending": ["schema-validation", "type-check", "test-pass", "lint"]
    }));
    assert_eq!(bench.errors(), [""; 0]);
}

#[test]
fn a_complete_build_with_something_open_is_reopened() {
    let mut bench = Bench::plain();
    let text = bench.text().replace("\"initialized\"", "\"complete\"");
    bench.files.files.insert(PATH.into(), text.into_bytes());
    assert!(bench.refused(&begin(&["WS1"])).hints[0].to_string().contains("piton reopen"));
    bench.must(&Event::Reopened);
    bench.must(&begin(&["WS1"]));
}

const ONE: &str = "---
prd: PRD-009
workstreams:
  WS1: { name: Database Layer }
execution_phases:
  - { name: Data, parallel: [WS1], gates: [lint] }
---
";

#[test]
fn a_complete_build_is_opened_again_for_what_its_gates_are_now() {
    let judged = |name: &str, passed: bool, evidence: Option<Evidence>| {
        Event::GateJudged(GateJudgement { passed, names: vec![name.to_owned()], step: None, evidence })
    };
    let mut complete = Bench::default();
    complete.files.files.insert(SPEC_PATH.into(), ONE.into());
    complete.must(&Event::Started(Start { spec: Some((SPEC_PATH.into(), ONE.into())), ..Start::default() }));
    complete.must(&begin(&["WS1"]));
    complete.must(&done("WS1", &[]));
    complete.must(&judged("lint", true, None));
    complete.shows(&json!({ "status": "complete" }));
    let mut bench = complete.clone();
    bench.refused(&Event::Reopened);
    bench.refused(&judged("lint", false, None));
    // The command of the gate has changed.
    let evidence =
        Evidence { command: "x".into(), exit_code: 1, digest: String::new(), tail: String::new(), tree: None };
    bench.must(&judged("lint", false, Some(evidence)));
    bench.shows(&json!({ "status": "failed", "gates_pending": ["lint"] }));
    assert_eq!(bench.errors(), [""; 0]);
    for (event, status, pending) in
        [(Event::Reopened, "in_progress", vec!["new"]), (judged("new", true, None), "complete", Vec::new())]
    {
        let mut bench = complete.clone();
        bench.files.files.insert(SPEC_PATH.into(), ONE.replace("[lint]", "[lint, new]").into());
        bench.must(&event);
        bench.shows(&json!({ "status": status, "gates_pending": pending }));
        assert_eq!(bench.errors(), [""; 0]);
    }
}

#[test]
fn a_completed_workstream_is_left_out_when_the_specification_has_it_no_more() {
    let mut bench = Bench::with_spec();
    bench.must(&begin(&["WS1"]));
    bench.must(&done("WS1", &["a"]));
    let skip = Event::StepMoved(StepMove::new(StepTo::Skipped, vec!["WS1".to_owned()]));
    bench.refused(&skip);
    let without = SPEC.replace("  WS1: { name: Database Layer, gate: schema-validation }\n", "");
    let without = without.replace("depends_on: [WS1], ", "").replace("[WS1]", "[WS2]");
    bench.files.files.insert(SPEC_PATH.into(), without.into());
    bench.must(&skip);
    bench.shows(&json!({ "completed_workstreams": [], "kept_artifacts": {"WS1": ["a"]} }));
    assert!(bench.json().get("dormant_workstreams").is_none_or(|list| *list == json!([])), "{}", bench.text());
}
