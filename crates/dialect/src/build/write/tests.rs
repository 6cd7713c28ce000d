use piton_model::{
    Event, Evidence, GateJudgement, Id, Lifecycle, Moment, NotePurpose, RefusalKind, ResumeAction, ResumeMode,
    Severity, Start, State, StepMove, StepTo, Time, Unit, Verdict,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::find_spec::find_spec;
use super::super::{read_checkpoint, resume};
use super::*;
use crate::files::memory::MemoryFiles;
use crate::{Reading, Source};

const PATH: &str = ".claude/skills/build-pipeline/checkpoints/PRD-009.json";
const SPEC_PATH: &str = "docs/EXECUTION-SPEC-PRD-009.md";

/// 2025-12-11T10:00:00Z
const START: i64 = 1_765_447_200;

const SPEC: &str = "---
prd: PRD-009
prd_title: Cashier Workflows
workstreams:
  WS1: { name: Database Layer, gate: schema-validation }
  WS2: { name: Service Layer, depends_on: [WS1], gate: type-check }
  WS3: { name: Route Handlers, depends_on: [WS1], gate: lint }
  WS4: { name: Hooks, depends_on: [WS2, WS3], gate: type-check }
  WS5: { name: Tests, depends_on: [WS4], gate: test-pass }
execution_phases:
  - { name: Data, parallel: [WS1] }
  - { name: Services, parallel: [WS2, WS3] }
  - { name: Screens, parallel: [WS4] }
  - { name: Tests, parallel: [WS5] }
gates:
  schema-validation: { command: make schema }
  type-check: { command: make types }
  lint: { command: make lint }
  test-pass: { command: make test }
---
";

fn place() -> Place {
    Place { base: String::new(), id: vec![Id::parse("PRD-009").expect("an id")], document: None, root: String::new() }
}

fn at(minutes: i64) -> Moment {
    Moment {
        now: Time::from_unix_seconds(START + 60 * minutes),
        by: "main".into(),
        attempt: 1,
        session: None,
        fresh_id: "f-1".into(),
    }
}

/// A workspace with one build in it.
#[derive(Clone, Default)]
struct Bench {
    files: MemoryFiles,
    minutes: i64,
}

impl Bench {
    fn plain() -> Bench {
        let mut bench = Bench::default();
        bench.must(&Event::Started(Start {
            title: Some("Cashier Workflows".into()),
            steps: ["WS1", "WS2", "WS3", "WS4", "WS5"].map(str::to_owned).to_vec(),
            gates: ["schema-validation", "type-check", "lint", "test-pass"].map(str::to_owned).to_vec(),
            ..Start::default()
        }));
        bench
    }

    fn with_spec() -> Bench {
        let mut bench = Bench::default();
        bench.files.files.insert(SPEC_PATH.into(), SPEC.into());
        bench.must(&Event::Started(Start { spec: Some((SPEC_PATH.into(), SPEC.into())), ..Start::default() }));
        bench
    }

    fn holding(text: &str) -> Bench {
        let mut bench = Bench::default();
        bench.files.files.insert(PATH.into(), text.into());
        bench
    }

    fn tell(&mut self, event: &Event) -> Result<Change, Refusal> {
        let change = record(&place(), &self.files, event, &at(self.minutes))?;
        self.files.apply(&change);
        Ok(change)
    }

    fn must(&mut self, event: &Event) -> Change {
        self.tell(event).unwrap_or_else(|refusal| panic!("{event:?}: {refusal} {:?}", refusal.hints))
    }

    fn refused(&mut self, event: &Event) -> Refusal {
        let before = self.files.files.clone();
        let refusal = self.tell(event).expect_err("this is refused");
        assert_eq!(before, self.files.files);
        refusal
    }

    fn text(&self) -> String {
        String::from_utf8(self.files.files[PATH].clone()).expect("text")
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.text()).expect("JSON")
    }

    /// Compares the keys that an example names.
    fn shows(&self, example: &Value) {
        let json = self.json();
        for (key, value) in example.as_object().expect("an object") {
            assert_eq!(&json[key], value, "{key}");
        }
    }

    fn reading(&self) -> Reading {
        let source = Source { path: PATH.into(), bytes: &self.files.files[PATH], modified: None };
        read_checkpoint(&source, at(self.minutes).now, &mut |wanted| find_spec(&place(), &self.files, wanted))
    }

    fn unit(&self) -> Unit {
        self.reading().unit.expect("a unit")
    }

    fn errors(&self) -> Vec<&'static str> {
        let found = self.reading().findings.into_iter();
        found.filter(|found| found.code.severity == Severity::Error).map(|found| found.code.name).collect()
    }
}

fn step(to: StepTo, steps: &[&str], outputs: &[&str]) -> Event {
    Event::StepMoved(StepMove {
        to,
        steps: steps.iter().map(|id| (*id).to_owned()).collect(),
        outputs: outputs.iter().map(|file| (*file).to_owned()).collect(),
        files: Vec::new(),
        next: None,
        message: None,
        evidence: None,
    })
}

fn begin(steps: &[&str]) -> Event {
    step(StepTo::Begun, steps, &[])
}

fn done(id: &str, outputs: &[&str]) -> Event {
    step(StepTo::Done, &[id], outputs)
}

fn gate(passed: bool, name: &str, step: Option<&str>) -> Event {
    Event::GateJudged(GateJudgement { passed, names: vec![name.into()], step: step.map(str::to_owned), evidence: None })
}

fn fail(step: &str) -> Event {
    Event::Failed { step: Some(step.into()), message: "torn".into(), file: None, line: None }
}

fn verdict(word: &str, p0: Option<u64>, reason: Option<&str>) -> Event {
    Event::VerdictGiven(Verdict { word: word.into(), p0, reason: reason.map(str::to_owned), ..Verdict::default() })
}

fn resumed(mode: Option<ResumeMode>) -> Event {
    Event::Resumed { mode }
}

#[test]
fn the_protocols_examples_come_out_of_their_operations() {
    let mut bench = Bench::plain();
    assert_eq!(
        bench.json(),
        json!({
            "prd": "PRD-009", "prd_title": "Cashier Workflows", "current_phase": 0, "status": "initialized",
            "completed_workstreams": [], "in_progress_workstreams": [],
            "pending_workstreams": ["WS1", "WS2", "WS3", "WS4", "WS5"], "artifacts": {}, "gates_passed": [],
            "gates_pending": ["schema-validation", "type-check", "lint", "test-pass"],
            "timestamp": "2025-12-11T10:00:00Z"
        })
    );
    bench.minutes = 5;
    bench.must(&begin(&["WS1"]));
    bench.shows(&json!({
        "status": "in_progress", "in_progress_workstreams": ["WS1"],
        "pending_workstreams": ["WS2", "WS3", "WS4", "WS5"], "timestamp": "2025-12-11T10:05:00Z"
    }));
    bench.minutes = 15;
    let files = ["supabase/migrations/xxx.sql", "services/domain/dtos.ts", "services/domain/schemas.ts"];
    let change = bench.must(&done("WS1", &files));
    assert_eq!(change.summary, "WS1 done (1/5)");
    bench.shows(&json!({
        "completed_workstreams": ["WS1"], "in_progress_workstreams": [], "artifacts": {"WS1": files},
        "timestamp": "2025-12-11T10:15:00Z"
    }));
    bench.minutes = 16;
    bench.must(&gate(true, "schema-validation", Some("WS1")));
    bench.shows(&json!({
        "current_phase": 1, "gates_passed": ["schema-validation (WS1)"],
        "gates_pending": ["type-check", "lint", "test-pass"], "status": "paused",
        "timestamp": "2025-12-11T10:16:00Z"
    }));
    bench.minutes = 20;
    bench.must(&begin(&["WS2", "WS3"]));
    bench.shows(&json!({
        "status": "in_progress", "in_progress_workstreams": ["WS2", "WS3"], "pending_workstreams": ["WS4", "WS5"],
        "timestamp": "2025-12-11T10:20:00Z"
    }));
    let mut broken = bench.clone();
    broken.minutes = 25;
    let message = "Property 'player_id' does not exist on type 'PlayerDTO'";
    let failure = Event::Failed {
        step: Some("WS3".into()),
        message: message.into(),
        file: Some("services/player/index.ts".into()),
        line: Some(45),
    };
    let refusal = broken.refused(&failure);
    assert!(refusal.hints[0].contains("piton step build:PRD-009 done WS2"), "{:?}", refusal.hints);
    broken.must(&done("WS2", &[]));
    broken.must(&failure);
    broken.shows(&json!({
        "status": "failed", "in_progress_workstreams": [], "pending_workstreams": ["WS3", "WS4", "WS5"],
        "error": {"workstream": "WS3", "message": message, "file": "services/player/index.ts", "line": 45},
        "timestamp": "2025-12-11T10:25:00Z"
    }));
    assert_eq!(broken.errors(), [""; 0]);
}

#[test]
fn the_complete_example_comes_out_of_its_operations() {
    let mut bench = Bench::plain();
    let streams = [
        ("WS1", &["migration.sql", "dtos.ts"][..], "schema-validation"),
        ("WS2", &["index.ts", "keys.ts"], "type-check"),
        ("WS3", &["route.ts"], "lint"),
        ("WS4", &["hooks/index.ts"], "type-check"),
        ("WS5", &["*.test.ts"], "test-pass"),
    ];
    for (id, files, name) in streams {
        bench.must(&begin(&[id]));
        bench.must(&done(id, files));
        bench.must(&gate(true, name, Some(id)));
    }
    bench.minutes = 60;
    bench.must(&Event::Finished);
    assert_eq!(
        bench.json(),
        json!({
            "prd": "PRD-009", "prd_title": "Cashier Workflows", "current_phase": 5, "status": "complete",
            "completed_workstreams": ["WS1", "WS2", "WS3", "WS4", "WS5"], "in_progress_workstreams": [],
            "pending_workstreams": [],
            "artifacts": {
                "WS1": ["migration.sql", "dtos.ts"], "WS2": ["index.ts", "keys.ts"], "WS3": ["route.ts"],
                "WS4": ["hooks/index.ts"], "WS5": ["*.test.ts"]
            },
            "gates_passed": [
                "schema-validation (WS1)", "type-check (WS2)", "lint (WS3)", "type-check (WS4)", "test-pass (WS5)"
            ],
            "gates_pending": [], "timestamp": "2025-12-11T11:00:00Z"
        })
    );
    assert_eq!(bench.unit().state, State::Done);
    assert_eq!(bench.must(&Event::Finished).summary, "already complete");
    assert!(bench.refused(&begin(&["WS1"])).hints[1].contains("legal"));
    assert!(bench.refused(&Event::Started(Start::default())).hints.iter().any(|hint| hint.contains("piton restart")));
}

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
    bench.must(&gate(true, "test-pass", Some("WS5")));
    bench.must(&Event::Finished);
    bench.shows(&json!({ "current_phase": 4, "status": "complete" }));
    assert_eq!(bench.reading().findings, []);
}

#[test]
fn a_gate_is_due_when_its_workstream_is_completed() {
    let mut bench = Bench::plain();
    assert_eq!(bench.refused(&gate(true, "lint", Some("WS1"))).kind, RefusalKind::Rule);
    assert_eq!(bench.refused(&gate(true, "lint", None)).kind, RefusalKind::Rule);
    let unknown = bench.refused(&gate(true, "linting", None));
    assert_eq!((unknown.kind, &*unknown.hints[0]), (RefusalKind::Missing, "there are: lint"));
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
    assert!(refusal.hints.iter().any(|hint| hint.contains("piton resume build:PRD-009")));
    let plan = resume(&place(), &bench.files, None, &at(1)).expect("a plan");
    assert_eq!(
        plan.next,
        "run the gate schema-validation of WS1: piton gate build:PRD-009 pass schema-validation --step WS1"
    );
    let mut other = bench.clone();
    bench.must(&resumed(None));
    bench.shows(&json!({ "status": "in_progress", "error": null }));
    bench.must(&gate(true, "schema-validation", None));
    // The other way is that of the protocol's picture: failed, paused, in progress.
    other.must(&Event::Unblocked { which: None });
    other.shows(&json!({ "status": "paused", "error": null }));
    other.must(&Event::Unblocked { which: None });
    other.shows(&json!({ "status": "in_progress" }));
}

#[test]
fn files_of_a_failed_workstream_are_kept_until_it_is_completed() {
    let mut bench = Bench::plain();
    bench.must(&step(StepTo::Begun, &["WS1"], &["half.sql"]));
    bench.must(&fail("WS1"));
    bench.must(&resumed(None));
    assert_eq!(bench.json()["kept_artifacts"], json!({ "WS1": ["half.sql"] }));
    assert_eq!(bench.json()["status"], "initialized");
    bench.must(&begin(&["WS1"]));
    bench.must(&done("WS1", &["whole.sql", "half.sql"]));
    bench.shows(&json!({ "artifacts": {"WS1": ["half.sql", "whole.sql"]}, "kept_artifacts": null }));
    let again = bench.must(&done("WS1", &["more.sql"]));
    assert_eq!(again.summary, "WS1 already done (1/5)");
    assert_eq!(bench.json()["artifacts"]["WS1"], json!(["half.sql", "whole.sql", "more.sql"]));
}

#[test]
fn a_hand_written_failure_keeps_its_artifacts_when_it_is_cleared() {
    let mut bench = Bench::plain();
    bench.must(&begin(&["WS1"]));
    bench.must(&fail("WS1"));
    let text = bench.text().replace("\"artifacts\": {}", "\"artifacts\": {\"WS1\": [\"a.sql\"]}");
    bench.files.files.insert(PATH.into(), text.into_bytes());
    bench.must(&Event::Unblocked { which: None });
    bench.shows(&json!({ "artifacts": {}, "kept_artifacts": {"WS1": ["a.sql"]}, "status": "paused" }));
    assert_eq!(bench.errors(), [""; 0]);
}

#[test]
fn siblings_that_were_stopped_are_named_with_the_failure() {
    let mut bench = Bench::plain();
    bench.must(&begin(&["WS1", "WS2", "WS3"]));
    bench.refused(&Event::Failed { step: None, message: "x".into(), file: None, line: None });
    bench.refused(&step(StepTo::Failed, &["WS3", "WS1"], &[]));
    bench.must(&step(StepTo::Failed, &["WS3", "WS1", "WS2"], &[]));
    bench.shows(&json!({ "pending_workstreams": ["WS1", "WS2", "WS3", "WS4", "WS5"], "status": "failed" }));
    assert_eq!(bench.json()["error"]["workstream"], "WS3");
}

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
    bench.must(&Event::Unblocked { which: None });
    bench.shows(&json!({ "status": "initialized", "pause_reason": null }));
}

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
    bench.refused(&Event::Unblocked { which: Some("7".into()) });
    bench.must(&Event::Unblocked { which: Some("1".into()) });
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
        "{\"prd\": \"PRD-009\", \"status\": \"in_progress\", \"workstreams\": {\"WS1\": {\"status\": \"complete\"}}}",
        &lists("[{\"id\": \"WS1\"}]"),
        &lists("\"WS1\""),
    ] {
        let refusal = Bench::holding(text).refused(&Event::Beat);
        assert_eq!(refusal.kind, RefusalKind::Document, "{text}: {refusal}");
    }
    let mut odd = Bench::holding(&lists("[\"WS1\"]").replace("in_progress\", \"c", "flying high\", \"c"));
    assert_eq!(odd.refused(&begin(&["WS1"])).kind, RefusalKind::Rule);
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
    assert!(refusal.hints.iter().any(|hint| hint.contains("piton resume build:PRD-009")));
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
    assert!(bench.refused(&begin(&["WS1"])).hints[0].contains("piton reopen"));
    bench.must(&Event::Reopened);
    bench.must(&begin(&["WS1"]));
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
fn a_resume_shows_the_protocols_display() {
    let mut bench = Bench::with_spec();
    let plan = |bench: &Bench, mode| resume(&place(), &bench.files, mode, &at(90)).expect("a plan");
    let first = plan(&bench, None);
    assert_eq!((first.action, &*first.position), (ResumeAction::Continue, "phase 1"));
    assert_eq!(first.next, "begin WS1 of phase 1: piton step build:PRD-009 begin WS1");
    bench.must(&done("WS1", &["a.sql"]));
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
    assert_eq!((paused.done, paused.outputs), (vec!["WS1".to_owned()], vec!["a.sql".to_owned()]));
    assert_eq!(paused.remaining[..2], ["WS2", "WS3"]);
    assert!(paused.reasons[1].contains("schema-validation (WS1)"), "{:?}", paused.reasons);
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
    let failed = plan(&bench, None);
    assert_eq!(failed.action, ResumeAction::Continue);
    assert_eq!(failed.reasons, ["it failed at WS3: torn", "it continues when that is fixed"]);
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
    assert_eq!((plan.action, &*plan.reasons[0]), (ResumeAction::Refuse, "PRD-009 already complete"));
    let nothing = resume(&place(), &MemoryFiles::default(), None, &at(1)).expect_err("no plan");
    assert_eq!(nothing.kind, RefusalKind::Missing);
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

fn any_event() -> impl Strategy<Value = Event> {
    let ids = || prop::sample::subsequence(vec!["WS1", "WS2", "WS3", "WS4", "WS5"], 1..4);
    let to = prop_oneof![
        3 => Just(StepTo::Begun), 4 => Just(StepTo::Done), 1 => Just(StepTo::Failed), 1 => Just(StepTo::Skipped)
    ];
    let gates = prop::sample::select(vec!["schema-validation", "type-check", "lint", "test-pass", "other"]);
    let owner = prop::option::of(prop::sample::select(vec!["WS1", "WS2", "WS3", "WS4", "WS5"]));
    let word = prop::sample::select(vec!["ship", "ship_with_gates", "do_not_ship", "overridden"]);
    let mode = prop::option::of(prop::sample::select(vec![ResumeMode::Restart, ResumeMode::Continue]));
    prop_oneof![
        8 => (to, ids(), prop::option::of("[a-z]{1,3}")).prop_map(|(to, ids, file)| {
            step(to, &ids, &file.as_deref().into_iter().collect::<Vec<_>>())
        }),
        8 => (any::<bool>(), gates, owner).prop_map(|(fails, name, owner)| gate(!fails, name, owner)),
        1 => (word, prop::option::of(0u64..3), prop::option::of("[a-z ]{0,4}"))
            .prop_map(|(word, p0, reason)| verdict(word, p0, reason.as_deref())),
        1 => "\\PC{0,9}".prop_map(|message| Event::Blocked { message, kind: None }),
        3 => Just(Event::Unblocked { which: None }),
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
