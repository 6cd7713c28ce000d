use piton_model::{Claim, GateState, Lifecycle, Role, State, StepState, Time};
use proptest::prelude::*;

use super::*;
use crate::{Reading, Source};

/// 2026-02-14T15:00:00Z
const NOW: i64 = 1_771_081_200;

const SPEC: &str = "---
# Kites
prd: PRD-101
workstreams:
  WS1:
    name: Frame
    executor: carpenter
    depends_on: []
    outputs: [frame.rs]
    gate: build
  WS2:
    name: \"Sail: the cloth\"
    depends_on: [WS1]
    gate: lint
  WS3: { name: Line, depends_on: [WS1], gate: lint }
execution_phases:
  - name: \"Phase 1 — Wood\"
    parallel: [WS1]
    gates: [build]
  - name: Cloth
    parallel: [WS2, WS3]
    gates: [lint]
gates:
  build: { command: \"make all\", success_criteria: \"exit code 0\" }
  lint: { command: make lint }
---
# The rest is prose
";

fn source<'a>(path: &str, text: &'a str) -> Source<'a> {
    Source { path: path.into(), bytes: text.as_bytes(), modified: Some(Time::from_unix_seconds(NOW - 60)) }
}

fn read(file_name: &str, text: &str, spec: Option<&str>) -> Reading {
    let path = format!(".claude/skills/build-pipeline/checkpoints/{file_name}");
    read_checkpoint(&source(&path, text), Time::from_unix_seconds(NOW), &mut |_| match spec {
        Some(spec) => FoundSpec::Read(Box::new(read_spec(&source("docs/EXECUTION-SPEC-PRD-101.md", spec)))),
        None => FoundSpec::Nothing,
    })
}

fn codes_of(reading: &Reading) -> Vec<&'static str> {
    let mut names: Vec<_> = reading.findings.iter().map(|finding| finding.code.name).collect();
    names.sort_unstable();
    names
}

/// A checkpoint in progress, with some of its values replaced and further keys at its end.
fn checkpoint(replace: &[(&str, &str)], more: &str) -> String {
    let mut text = r#"{
  "prd": "PRD-101", "prd_title": "Kites", "current_phase": 1, "status": "in_progress",
  "completed_workstreams": ["WS1"], "in_progress_workstreams": ["WS2"], "pending_workstreams": ["WS3"],
  "artifacts": {"WS1": ["frame.rs"]},
  "gates_passed": ["build (WS1)"], "gates_pending": ["lint"],
  "timestamp": "2026-02-14T14:30:00Z"MORE
}"#
    .to_owned();
    for (from, to) in replace {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    text.replace("MORE", more)
}

#[test]
fn a_checkpoint_has_its_rules() {
    let none = r#""in_progress_workstreams": []"#;
    let running = r#""in_progress_workstreams": ["WS2"]"#;
    let status = r#""status": "in_progress""#;
    let ws3 = r#""pending_workstreams": ["WS3"]"#;
    let both = r#""pending_workstreams": ["WS2", "WS3"]"#;
    let no_gate = (r#""gates_pending": ["lint"]"#, r#""gates_pending": []"#);
    let error = r#", "error": {"workstream": "WS2", "message": "torn"}"#;
    let all = r#""pending_workstreams": ["WS1", "WS2", "WS3"]"#;
    let nothing_done = (r#""completed_workstreams": ["WS1"]"#, r#""completed_workstreams": []"#);
    let no_files = (r#"{"WS1": ["frame.rs"]}"#, "{}");
    let passed_none = (r#"["build (WS1)"], "gates_pending": ["lint"]"#, r#"[], "gates_pending": ["lint", "build"]"#);
    let idle = [(running, none), (ws3, both)];
    let with = |more: &[(&'static str, &'static str)]| {
        let both_once = idle.iter().filter(|(from, _)| more.iter().all(|(other, _)| other != from));
        both_once.chain(more).copied().collect::<Vec<_>>()
    };
    for (replace, more, want) in [
        (vec![], "", vec![]),
        (vec![], r#", "error": null"#, vec![]),
        (vec![], error, vec!["build-error-unexpected"]),
        (with(&[]), "", vec![]),
        (with(&[no_gate]), "", vec!["build-gate-missing", "build-in-progress-empty"]),
        (with(&[nothing_done, no_files, (ws3, all), passed_none]), "", vec!["build-in-progress-empty"]),
        (with(&[(status, r#""status": "paused""#)]), "", vec![]),
        (with(&[(status, r#""status": "failed""#)]), error, vec![]),
        (with(&[(status, r#""status": "failed""#)]), "", vec!["build-failed-without-error"]),
        (vec![(status, r#""status": "paused""#)], "", vec!["build-in-progress-unexpected"]),
        (with(&[(status, r#""status": "complete""#)]), "", vec!["build-complete-pending"]),
        (with(&[(status, r#""status": "initialized""#)]), "", vec!["build-initialized-begun"]),
        (with(&[(status, r#""status": "flying high""#)]), "", vec!["word-unknown"]),
        (with(&[(status, r#""status": "In-Progress""#)]), "", vec!["word-folded"]),
        (
            vec![(ws3, r#""pending_workstreams": ["WS3", "WS1"]"#)],
            "",
            vec!["build-artifacts", "build-buckets-overlap", "build-gate-early"],
        ),
        (vec![(ws3, r#""pending_workstreams": []"#)], "", vec!["build-workstream-missing"]),
        (vec![(ws3, r#""pending_workstreams": ["WS3", "WS9"]"#)], "", vec!["build-workstream-unknown"]),
        (vec![(ws3, r#""pending_workstreams": []"#)], r#", "dormant_workstreams": ["WS3"]"#, vec![]),
        (vec![no_gate], "", vec!["build-gate-missing"]),
        (vec![("lint\"", "lint\", \"taste\"")], "", vec!["build-gate-unknown"]),
        (vec![(r#"{"WS1""#, r#"{"WS2""#)], "", vec!["build-artifacts"]),
        (vec![(r#""current_phase": 1"#, r#""current_phase": 3"#)], "", vec!["build-phase-range"]),
        (
            vec![(r#""prd": "PRD-101""#, r#""prd": "KITE""#)],
            "",
            vec!["build-file-name", "build-prd-pattern", "build-spec-prd"],
        ),
        (vec![(r#""prd": "#, r#""prd_id": "#)], "", vec!["build-key-instead", "missing-key"]),
        (vec![(r#""timestamp": "#, r#""updated_at": "#)], "", vec!["build-key-instead", "missing-key"]),
        (vec![], r#", "exec_spec": "docs/EXEC-9.md""#, vec!["build-spec-missing"]),
        (vec![], r#", "exec_spec": "docs/EXECUTION-SPEC-PRD-101.md""#, vec![]),
    ] {
        let text = checkpoint(&replace, more);
        assert_eq!(codes_of(&read("PRD-101.json", &text, Some(SPEC))), want, "{text}");
    }
}

#[test]
fn a_review_has_its_rules() {
    for (review, want) in [
        (r#"{"verdict": "ship", "p0_count": 0, "p1_count": 0, "attempt": 1}"#, vec![]),
        (r#"{"verdict": "ship", "p0_count": 0, "p1_count": 0, "attempt": 3}"#, vec!["out-of-range"]),
        (r#"{"verdict": "do_not_ship", "p0_count": 2, "p1_count": 0, "attempt": 1}"#, vec!["build-not-shippable"]),
        (r#"{"verdict": "do_not_ship", "p0_count": 0, "p1_count": 3, "attempt": 1}"#, vec![]),
        (r#"{"verdict": "ship", "p0_count": 1, "p1_count": 3, "attempt": 1}"#, vec!["build-ship-blocking"]),
        (r#"{"verdict": "ship_with_gates", "p0_count": 1, "p1_count": 3, "attempt": 1}"#, vec![]),
        (r#"{"verdict": "overridden", "p0_count": 1, "p1_count": 0, "attempt": 2}"#, vec!["build-override-reason"]),
        (r#"{"verdict": "overridden", "p0_count": 1, "p1_count": 0, "attempt": 2, "override_reason": "demo"}"#, vec![]),
    ] {
        let text = checkpoint(&[], &format!(r#", "adversarial_review": {review}"#));
        assert_eq!(codes_of(&read("PRD-101.json", &text, Some(SPEC))), want, "{review}");
    }
}

/// A build that is called complete, or goes on although its review forbids it, is neither done nor resumed.
#[test]
fn a_build_is_blocked_by_what_is_open_and_by_its_review() {
    let status = r#""status": "in_progress""#;
    let complete = (status, r#""status": "complete""#);
    let initialized = (status, r#""status": "initialized""#);
    let paused = (status, r#""status": "paused""#);
    let failed = (status, r#""status": "failed""#);
    let all_done = (
        r#"["WS1"], "in_progress_workstreams": ["WS2"], "pending_workstreams": ["WS3"]"#,
        r#"["WS1", "WS2", "WS3"], "in_progress_workstreams": [], "pending_workstreams": []"#,
    );
    let unlisted = (
        r#""in_progress_workstreams": ["WS2"], "pending_workstreams": ["WS3"]"#,
        r#""in_progress_workstreams": [], "pending_workstreams": []"#,
    );
    let no_gate = (r#""gates_pending": ["lint"]"#, r#""gates_pending": []"#);
    let one_gate = (r#""gates_pending": ["lint"]"#, r#""gates_pending": ["lint (WS2)"]"#);
    let stop = r#", "adversarial_review": {"verdict": "do_not_ship", "p0_count": 1, "p1_count": 0, "attempt": 1}"#;
    let go = r#", "adversarial_review": {"verdict": "overridden", "p0_count": 1, "p1_count": 0, "attempt": 1, "override_reason": "demo"}"#;
    let review = "the verdict is do_not_ship with 1 blocking finding";
    let (done, blocked, worker) = (Lifecycle::Done, Lifecycle::Blocked, true);
    for (replace, more, lifecycle, claimed, blockers) in [
        (vec![complete, all_done, no_gate], "", done, !worker, vec![]),
        (vec![complete, all_done], "", blocked, !worker, vec!["the gate lint is pending"]),
        (vec![complete, all_done, one_gate], "", blocked, !worker, vec!["the gate lint (WS2) is pending"]),
        (vec![complete, no_gate], "", blocked, !worker, vec!["WS2 is in progress", "WS3 is pending"]),
        (vec![complete, no_gate, unlisted], "", blocked, !worker, vec!["WS2 is pending", "WS3 is pending"]),
        (vec![complete, all_done, no_gate], stop, blocked, !worker, vec![review]),
        (vec![initialized], stop, blocked, !worker, vec![review]),
        (vec![paused], stop, blocked, !worker, vec![review]),
        (vec![], stop, blocked, worker, vec![review]),
        (vec![failed], stop, Lifecycle::Failed, !worker, vec![review]),
        (vec![], go, Lifecycle::Running, worker, vec![]),
        (vec![unlisted], "", Lifecycle::Running, worker, vec![]),
        (vec![unlisted, no_gate], "", Lifecycle::Running, worker, vec![]),
    ] {
        let text = checkpoint(&replace, more);
        let reading = read("PRD-101.json", &text, Some(SPEC));
        let told = codes_of(&reading).contains(&"build-not-shippable");
        assert_eq!(told, more == stop, "{text}");
        let unit = reading.unit.expect("a unit");
        assert_eq!((unit.state.lifecycle(), unit.claim == Claim::Worker), (lifecycle, claimed), "{text}");
        assert_eq!(unit.blockers, blockers, "{text}");
        assert_eq!(unit.resumable, blockers.is_empty() && lifecycle != done, "{text}");
    }
}

#[test]
fn gates_phases_and_dependencies_fit_the_workstreams() {
    let passed = r#"["build (WS1)"]"#;
    let pending = r#""gates_pending": ["lint"]"#;
    let lists = r#"["WS1"], "in_progress_workstreams": ["WS2"], "pending_workstreams": ["WS3"]"#;
    let files = r#"{"WS1": ["frame.rs"]}"#;
    let phase = r#""current_phase": 1"#;
    let reversed = r#"["WS2"], "in_progress_workstreams": [], "pending_workstreams": ["WS1", "WS3"]"#;
    for (replace, by_spec, alone) in [
        (vec![(passed, r#"["build (WS1)", "lint (WS2)"]"#)], vec![], vec![]),
        (vec![(passed, r#"["build (WS1)", "build (WS2)"]"#)], vec!["build-gate-workstream"], vec![]),
        (vec![(passed, r#"["build (WS1)", "lint (WS3)"]"#)], vec!["build-gate-early"], vec!["build-gate-early"]),
        (vec![(passed, r#"["build (WS1)", "build (WS1)"]"#)], vec!["build-gate-twice"], vec!["build-gate-twice"]),
        (vec![(pending, r#""gates_pending": ["lint", "lint"]"#)], vec!["build-gate-twice"], vec!["build-gate-twice"]),
        (
            vec![(pending, r#""gates_pending": ["lint", "Build (WS1)"]"#)],
            vec!["build-gate-twice"],
            vec!["build-gate-twice"],
        ),
        (
            vec![(passed, r#"["build", "lint (WS2)"]"#), (pending, r#""gates_pending": ["build", "lint"]"#)],
            vec![],
            vec![],
        ),
        (vec![(lists, reversed), (files, "{}"), (passed, r#"["build"]"#)], vec!["build-dependency-open"], vec![]),
        (
            vec![(lists, reversed), (files, "{}"), (passed, r#"["build"]"#), (phase, r#""current_phase": 2"#)],
            vec!["build-dependency-open", "build-phase-pending"],
            vec![],
        ),
        (vec![(phase, r#""current_phase": 2"#)], vec![], vec![]),
    ] {
        let text = checkpoint(&replace, "");
        assert_eq!(codes_of(&read("PRD-101.json", &text, Some(SPEC))), by_spec, "{text}");
        assert_eq!(codes_of(&read("PRD-101.json", &text, None)), alone, "{text}");
    }
}

#[test]
fn a_design_check_may_be_anything() {
    for (value, want) in [
        (r#""passed""#, Some("passed")),
        ("true", Some("true")),
        (r#"{"message": "passed"}"#, Some("passed")),
        (r#"["a", "b"]"#, Some(r#"["a", "b"]"#)),
        ("null", None),
    ] {
        let reading = read("PRD-101.json", &checkpoint(&[], &format!(r#", "gov010_check": {value}"#)), Some(SPEC));
        assert_eq!(codes_of(&reading), [""; 0], "{value}");
        let notes = reading.unit.expect("a unit").notes;
        assert_eq!(notes.first().map(|note| note.text.as_str()), want, "{value}");
    }
}

#[test]
fn one_is_not_counted_as_many() {
    let status = r#""status": "in_progress""#;
    for (replace, want) in [
        ((status, r#""status": "paused""#), "the status is paused, but 1 workstream is in progress"),
        ((status, r#""status": "complete""#), "the status is complete, but 2 workstreams and 1 gate are pending"),
        (
            (status, r#""status": "initialized""#),
            "the status is initialized, but `current_phase` is 1 and 1 workstream is completed",
        ),
    ] {
        let reading = read("PRD-101.json", &checkpoint(&[replace], ""), Some(SPEC));
        assert!(reading.findings.iter().any(|finding| finding.message == want), "{want}: {:?}", reading.findings);
    }
}

#[test]
fn a_specification_has_its_rules() {
    let cases = [
        ("", "", vec![]),
        ("\"Sail: the cloth\"", "Sail: the cloth", vec!["build-spec-yaml"]),
        ("parallel: [WS2, WS3]", "parallel: [WS2]", vec!["build-spec-unphased"]),
        ("parallel: [WS2, WS3]", "parallel: [WS2, WS3, WS1]", vec!["build-spec-phased-twice"]),
        ("parallel: [WS2, WS3]", "parallel: [WS2, WS3, WS7]", vec!["build-spec-unknown-workstream"]),
        ("parallel: [WS2, WS3]", "workstreams: [WS2, WS3]\n    parallel: true", vec![]),
        ("lint: { command: make lint }", "lint: { type: manual }", vec!["build-spec-gate-command"]),
        ("  lint: { command: make lint }\n", "", vec!["build-spec-unknown-gate"; 3]),
        ("depends_on: []", "depends_on: [WS8]", vec!["build-spec-unknown-dependency"]),
        ("depends_on: []", "depends_on: [WS3]", vec!["build-spec-cycle", "build-spec-order"]),
        ("WS3: { name: Line, depends_on: [WS1]", "WS3: { name: Line, depends_on: [WS2]", vec!["build-spec-same-phase"]),
        ("prd: PRD-101\n", "prd: PRD-101\nprd: PRD-101\n", vec!["repeated-key"]),
        ("---\n# Kites", "# Kites", vec!["build-spec-front-matter"]),
        ("workstreams:\n", "streams:\n", vec!["build-spec-empty"]),
        ("prd: PRD-101\n", "prd: &p PRD-101\nid: *p\n", vec!["build-spec-alias"]),
    ];
    for (from, to, want) in cases {
        let text = if from.is_empty() { SPEC.to_owned() } else { SPEC.replace(from, to) };
        let reading = read_spec(&source("docs/EXECUTION-SPEC-PRD-101.md", &text));
        let mut got: Vec<_> = reading.findings.iter().map(|finding| finding.code.name).collect();
        got.sort_unstable();
        assert_eq!(got, want, "{to}");
    }
}

#[test]
fn invalid_yaml_is_reported_with_its_line() {
    let text = SPEC.replace("\"Sail: the cloth\"", "Sail: the cloth").replace('\n', "\r\n");
    let reading = read_spec(&source("EXEC-7.md", &text));
    assert_eq!((reading.spec, reading.findings[0].place.line), (None, Some(12)));
}

#[test]
fn lists_are_read_as_maps_are() {
    let text = "\n---\nprd_id: 'PRD-101' # ours\nworkstreams:\n- {id: WS1, title: Frame}\n- WS2\nphases:\n  first: [WS1]\n  second: {workstreams: WS2}\ngates: [lint]\n...\n";
    let spec = read_spec(&source("EXEC-7.md", text)).spec.expect("a specification");
    let streams: Vec<_> =
        spec.workstreams.iter().map(|stream| (&*stream.id, stream.name.as_deref(), stream.line)).collect();
    assert_eq!(streams, [("WS1", Some("Frame"), 5), ("WS2", None, 6)]);
    let phases: Vec<_> = spec.phases.iter().map(|phase| (phase.name.as_deref(), phase.parallel.join(","))).collect();
    assert_eq!(phases, [(Some("first"), "WS1".to_owned()), (Some("second"), "WS2".to_owned())]);
    assert_eq!((spec.prd.as_deref(), &*spec.gates[0].name), (Some("PRD-101"), "lint"));
    assert_eq!(prd_of(SPEC.as_bytes()).as_deref(), Some("PRD-101"));
    assert_eq!(prd_of(b"---\nprd: \"PRD-9\" # x\n---\n").as_deref(), Some("PRD-9"));
    assert_eq!(prd_of(b"prd: PRD-9\n"), None);
}

#[test]
fn the_position_is_the_first_phase_that_has_something_left() {
    let spec =
        SPEC.replace("gates:\n  build:", "  - name: Flight\n    parallel: []\n    gates: [flies]\ngates:\n  build:");
    let (completed, running) = (r#""completed_workstreams": ["WS1"]"#, r#""in_progress_workstreams": ["WS2"]"#);
    let (pending, passed) = (r#""pending_workstreams": ["WS3"]"#, r#"["build (WS1)"], "gates_pending": ["lint"]"#);
    let all_done = (completed, r#""completed_workstreams": ["WS1", "WS2", "WS3"]"#);
    let none_running = (running, r#""in_progress_workstreams": []"#);
    let none_pending = (pending, r#""pending_workstreams": []"#);
    let both_pending = (pending, r#""pending_workstreams": ["WS2", "WS3"]"#);
    let gates = |text: &'static str| (passed, text);
    for (replace, want) in [
        // `current_phase` is 1 in all of them: it advances when a gate passes.
        (vec![all_done, none_running, none_pending], "phase 2 (Cloth) · gate lint"),
        (
            vec![all_done, none_running, none_pending, gates(r#"["build (WS1)"], "gates_pending": ["flies", "Lint"]"#)],
            "phase 2 (Cloth) · gate Lint",
        ),
        (
            vec![all_done, none_running, none_pending, gates(r#"["lint (WS2)"], "gates_pending": ["lint (WS3)"]"#)],
            "phase 2 (Cloth) · gate lint",
        ),
        (
            vec![
                all_done,
                none_running,
                none_pending,
                gates(r#"["lint (WS2)", "lint (WS3)"], "gates_pending": ["flies"]"#),
            ],
            "phase 3 (Flight) · gate flies",
        ),
        (
            vec![none_running, both_pending, gates(r#"[], "gates_pending": ["lint", "build"]"#)],
            "phase 1 (Wood) · gate build",
        ),
        (vec![none_running, both_pending], "phase 2 (Cloth) · WS2 Sail: the cloth"),
        (vec![gates(r#"[], "gates_pending": ["build", "lint"]"#)], "phase 2 (Cloth) · WS2 Sail: the cloth"),
        // No phase has it: the recorded one is all that is known.
        (
            vec![all_done, none_running, none_pending, gates(r#"[], "gates_pending": ["taste"]"#)],
            "phase 1 (Wood) · gate taste",
        ),
    ] {
        let text = checkpoint(&replace, "");
        let unit = read("PRD-101.json", &text, Some(&spec)).unit.expect("a unit");
        assert_eq!(unit.position().as_deref(), Some(want), "{text}");
    }
}

#[test]
fn a_checkpoint_becomes_a_unit() {
    let review = r#", "adversarial_review": {"verdict": "ship", "p0_count": 0, "p1_count": 1, "attempt": 1},
        "key_fixes": [{"file": "a.rs", "change": "no panic"}], "cleanup_done": ["old sails"], "gov010_check": "passed""#;
    let unit = read("PRD-101.json", &checkpoint(&[], review), Some(SPEC)).unit.expect("a unit");
    assert_eq!((unit.id.as_str(), unit.title.as_deref()), ("PRD-101", Some("Kites")));
    assert_eq!((&unit.state, &unit.claim), (&State::Running, &Claim::Worker));
    assert_eq!(unit.position().as_deref(), Some("phase 2 (Cloth) · WS2 Sail: the cloth"));
    let steps: Vec<_> = unit.steps.iter().map(|step| (&*step.id, step.stage.as_deref(), &step.state)).collect();
    let done = StepState::Done { by: None, at: None, outputs: vec!["frame.rs".into()] };
    assert_eq!(
        steps,
        [
            ("WS1", Some("phase 1 (Wood)"), &done),
            ("WS2", Some("phase 2 (Cloth)"), &StepState::Running),
            ("WS3", Some("phase 2 (Cloth)"), &StepState::Pending),
        ]
    );
    assert_eq!((unit.progress.done, unit.progress.total), (1, 3));
    let gates: Vec<_> = unit.gates.iter().map(|gate| (&*gate.name, gate.step.as_deref(), &gate.state)).collect();
    let shipped = GateState::Passed { result: Some("ship, 0 P0, 1 P1".into()) };
    assert_eq!(
        gates,
        [
            ("build", Some("WS1"), &GateState::Passed { result: None }),
            ("lint", None, &GateState::Pending),
            ("adversarial review", None, &shipped),
        ]
    );
    let notes: Vec<_> = unit.notes.iter().map(|note| format!("{}: {}", note.label, note.text)).collect();
    assert_eq!(notes, ["key fix: a.rs: no panic", "cleanup done: old sails", "design check: passed"]);
    let roles: Vec<_> = unit.documents.iter().map(|document| document.role).collect();
    assert_eq!(roles, [Role::Main, Role::Companion]);
}

#[test]
fn a_failure_says_what_and_where() {
    let text = checkpoint(
        &[
            (r#""status": "in_progress""#, r#""status": "failed""#),
            (r#""in_progress_workstreams": ["WS2"]"#, r#""in_progress_workstreams": []"#),
            (r#"["WS3"]"#, r#"["WS2", "WS3"]"#),
        ],
        r#", "error": {"workstream": "WS2", "message": "torn", "file": "sail.rs", "line": 45}"#,
    );
    let unit = read("PRD-101.json", &text, Some(SPEC)).unit.expect("a unit");
    assert_eq!(unit.state, State::Failed { error: "torn".into() });
    assert_eq!(unit.troubles[0].place.as_deref(), Some("WS2, sail.rs:45"));
    assert_eq!(unit.steps[1].state, StepState::Failed);
    assert!(unit.resumable);
}

#[test]
fn odd_files_are_read() {
    for (file, text, id, lifecycle, progress) in [
        (
            "PRD-7.json",
            r#"{"status": "executing", "workstreams": {"WS1": {"status": "completed"}, "WS2": {"status": "pending"}}, "prd": "PRD-7"}"#,
            "PRD-7",
            Lifecycle::Running,
            (1, 2),
        ),
        (
            "PRD-8.json",
            r#"{"prd": "docs/PRD-8.md", "status": "completed", "completed_workstreams": ["A"]}"#,
            "PRD-8",
            Lifecycle::Done,
            (1, 1),
        ),
        (
            "x.json",
            r#"{"prd_id": "PRD-9", "status": "ready_for_approval", "pending_workstreams": ["A"], "artifacts": ["a.rs"]}"#,
            "PRD-9",
            Lifecycle::Paused,
            (0, 1),
        ),
        (
            "y.json",
            r#"{"spec_id": "S", "status": "approved", "pending_workstreams": ["A"], "gates_passed": {"lint": true}}"#,
            "S",
            Lifecycle::Queued,
            (0, 1),
        ),
        (
            "z.json",
            r#"{"id": "Z", "status": "approved", "completed_workstreams": ["A"], "pending_workstreams": ["B"]}"#,
            "Z",
            Lifecycle::Paused,
            (1, 2),
        ),
        (
            "w.json",
            r#"{"pending_workstreams": ["A"], "status": "we stopped, see the notes"}"#,
            "w",
            Lifecycle::Unknown,
            (0, 1),
        ),
    ] {
        let unit = read(file, text, None).unit.expect("a unit");
        assert_eq!((unit.id.as_str(), unit.state.lifecycle()), (id, lifecycle), "{text}");
        assert_eq!((unit.progress.done, unit.progress.total), progress, "{text}");
    }
    for text in [r#"{"feature_id": "x", "status": "complete", "gates": {}}"#, "{}", r#"{"a": 1, "a": 2}"#] {
        let reading = read("PRD-101.json", text, None);
        assert_eq!((reading.unit.is_none(), codes_of(&reading)), (true, vec!["foreign"]), "{text}");
    }
}

#[test]
fn the_documents_own_examples_pass() {
    let initialized = r#"{
      "prd": "PRD-009", "prd_title": "Cashier Workflows", "current_phase": 0, "status": "initialized",
      "completed_workstreams": [], "in_progress_workstreams": [],
      "pending_workstreams": ["WS1", "WS2", "WS3", "WS4", "WS5"], "artifacts": {}, "gates_passed": [],
      "gates_pending": ["schema-validation", "type-check", "lint", "test-pass"], "timestamp": "2025-12-11T10:00:00Z"
    }"#;
    let complete = r#"{
      "prd": "PRD-009", "prd_title": "Cashier Workflows", "current_phase": 5, "status": "complete",
      "completed_workstreams": ["WS1", "WS2", "WS3", "WS4", "WS5"], "in_progress_workstreams": [],
      "pending_workstreams": [], "artifacts": {"WS1": ["migration.sql", "dtos.ts"], "WS2": ["index.ts", "keys.ts"]},
      "gates_passed": ["schema-validation (WS1)", "type-check (WS2)", "lint (WS3)", "type-check (WS4)", "test-pass (WS5)"],
      "gates_pending": [], "timestamp": "2025-12-11T11:00:00Z"
    }"#;
    for text in [initialized, complete] {
        assert_eq!(codes_of(&read("PRD-009.json", text, None)), [""; 0]);
    }
}

#[test]
fn a_hundred_thousand_workstreams_are_read() {
    let ids: Vec<_> = (0..100_000).map(|n| format!("\"W{n}\"")).collect();
    let text = checkpoint(&[(r#"["WS3"]"#, &format!("[{}]", ids.join(",")))], "");
    let reading = read("PRD-101.json", &text, Some(SPEC));
    assert_eq!(reading.unit.expect("a unit").steps.len(), 100_003);
    assert_eq!(reading.findings.len(), 201);
}

proptest! {
    #[test]
    fn no_mutation_panics(at in any::<prop::sample::Index>(), length in 0usize..30, with in "[-\\[\\]{}:,\"()0-9a-zA-Z _\\n]{0,12}", in_spec in any::<bool>()) {
        let mutate = |text: &str| {
            let characters: Vec<char> = text.chars().collect();
            let at = at.index(characters.len());
            let end = (at + length).min(characters.len());
            let before: String = characters[..at].iter().collect();
            format!("{before}{with}{}", characters[end..].iter().collect::<String>())
        };
        let good = checkpoint(&[], r#", "error": null, "exec_spec": "docs/x.md""#);
        let (text, spec) = match in_spec {
            true => (good, mutate(SPEC)),
            false => (mutate(&good), SPEC.to_owned()),
        };
        read("PRD-101.json", &text, Some(&spec));
    }
}
