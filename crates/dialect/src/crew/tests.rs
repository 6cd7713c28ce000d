use piton_model::{Claim, Said, State, StepState, Time};
use proptest::prelude::*;

use super::{is_whole, read_checkpoint, read_epic, read_markdown, read_messages, read_status_file};
use crate::{Reading, Source, time};

const RUNNING: &str = r#"{
  "agent_id": "Secondary-B",
  "agent_type": "secondary",
  "session_id": "5f1c",
  "feature": "feature_03_ledger",
  "stage": "S2.P2",
  "phase": "Specification",
  "last_checkpoint": "2026-03-02T10:00:00Z",
  "next_checkpoint_expected": "2026-03-02T10:15:00Z",
  "status": "IN_PROGRESS",
  "can_resume": true,
  "blockers": [],
  "files_modified": ["feature_03_ledger/spec.md"],
  "recovery_instructions": "go on with section 2",
  "current_step": "section 2",
  "completed_steps": ["section 1"],
  "next_steps": ["section 2", "section 3"],
  "coordination_state": {"last_inbox_check": "2026-03-02T09:58:00Z", "unread_messages": 0}
}"#;

fn now() -> Time {
    time::read("2026-03-02T10:10:00Z").time().expect("a time")
}

fn read_at(path: &str, text: &str) -> Reading {
    read_checkpoint(&Source { path: path.into(), bytes: text.as_bytes(), modified: None }, crate::Detail::Full, now())
}

fn check(changes: &[(&str, &str)], want: &[&str]) {
    let text = changes.iter().fold(RUNNING.to_owned(), |text, (old, new)| {
        assert!(text.contains(old), "{old} is in the text");
        text.replacen(old, new, 1)
    });
    let reading = read_at("agent_checkpoints/secondary_b.json", &text);
    let codes: Vec<_> = reading.findings.iter().map(|finding| finding.code.name).collect();
    assert_eq!(codes, want, "{changes:?}");
}

#[test]
fn an_agent_at_work_is_read_whole() {
    check(&[], &[]);
    let unit = read_at("e/agent_checkpoints/secondary_b.json", RUNNING).unit.expect("an agent");
    assert_eq!((unit.id.as_str(), unit.state, unit.claim), ("Secondary-B", State::Running, Claim::Worker));
    assert_eq!((unit.stage.as_deref(), unit.current.as_deref()), (Some("S2.P2"), Some("section 2")));
    assert_eq!((unit.progress.done, unit.progress.total, unit.resumable), (1, 3, true));
    assert!(matches!(unit.steps[0].state, StepState::Done { .. }) && unit.steps[1].state == StepState::Pending);
    assert!(matches!(unit.signs[0].said, Said::At(_)));
}

#[test]
fn neither_a_complete_agent_nor_a_sentence_is_resumed() {
    for (status, can_resume, want) in [
        ("IN_PROGRESS", "true", true),
        ("WAITING", "true", true),
        ("PAUSED", "true", true),
        ("BLOCKED", "true", true),
        ("IN_PROGRESS", "false", false),
        ("COMPLETE", "true", false),
        ("finished", "true", false),
        ("on holiday", "true", false),
    ] {
        let json = RUNNING.replacen("IN_PROGRESS", status, 1).replacen("true", can_resume, 1);
        let unit = read_at("agent_checkpoints/secondary_b.json", &json).unit.expect("an agent");
        assert_eq!(unit.resumable, want, "{status} {can_resume}");
        let prose = format!("**Agent ID:** Secondary-B\n**Status:** {status}\n**Can Resume:** {can_resume}\n");
        let source = Source { path: "secondary_b.md".into(), bytes: prose.as_bytes(), modified: None };
        assert_eq!(read_markdown(&source, now()).unit.expect("an agent").resumable, want, "{prose}");
    }
}

#[test]
fn a_claimed_completion_is_blocked_by_its_blockers() {
    let blockers = r#""blockers": ["the ledger is locked"]"#;
    for (status, blockers, state, resumable) in [
        ("COMPLETE", blockers, State::Blocked, false),
        ("done", blockers, State::Blocked, false),
        ("COMPLETE", r#""blockers": ["none"]"#, State::Done, false),
        ("COMPLETE", r#""blockers": []"#, State::Done, false),
        ("WAITING", blockers, State::Waiting, true),
        ("IN_PROGRESS", blockers, State::Running, true),
    ] {
        let text = RUNNING.replacen("IN_PROGRESS", status, 1).replacen(r#""blockers": []"#, blockers, 1);
        let unit = read_at("agent_checkpoints/secondary_b.json", &text).unit.expect("an agent");
        assert_eq!((&unit.state, unit.resumable), (&state, resumable), "{status} {blockers}");
        let is_doubted = unit.claim == Claim::Nobody { why: "it claims to be complete" };
        assert_eq!(is_doubted, state == State::Blocked, "{status} {blockers}");
    }
}

#[test]
fn each_rule_has_its_finding() {
    let complete = ("IN_PROGRESS", "COMPLETE");
    let no_next = (r#"["section 2", "section 3"]"#, "[]");
    check(&[("Secondary-B", "Secondary-C")], &["crew-file-name"]);
    check(&[(r#""agent_type": "secondary""#, r#""agent_type": "primary""#)], &["crew-agent-type"]);
    check(&[("5f1c", " ")], &["crew-session"]);
    check(&[("S2.P2", "S3")], &["crew-stage"]);
    check(&[("S2.P2", "S2.P1 COMPLETE")], &[]);
    check(&[(r#""agent_type": "secondary""#, r#""agent_type": "boss""#)], &["word-unknown"]);
    check(&[(r#""agent_type": "secondary""#, r#""agent_type": "Secondary""#)], &["word-folded"]);
    check(&[(r#""agent_type": "secondary""#, r#""agent_type": "PRIMARY""#)], &["word-folded", "crew-agent-type"]);
    check(&[("10:15:00Z", "10:30:00Z")], &["crew-interval"]);
    check(&[("10:15:00Z", "10:15:01Z")], &["crew-interval"]);
    check(&[("10:15:00Z", "10:15:00.250Z")], &[]);
    check(&[("10:00:00Z", "10:00:00.999Z")], &[]);
    check(&[("IN_PROGRESS", "BLOCKED")], &["crew-blocked-without-blocker"]);
    check(
        &[("IN_PROGRESS", "BLOCKED"), (r#""blockers": []"#, r#""blockers": ["None"]"#)],
        &["crew-blocked-without-blocker"],
    );
    check(&[complete, no_next], &[]);
    check(&[complete], &["crew-next-steps"]);
    check(&[no_next], &["crew-next-steps"]);
    check(&[complete, no_next, (r#""blockers": []"#, r#""blockers": ["rain"]"#)], &["crew-blockers-left"]);
    check(&[(r#"["section 1"]"#, r#"["section 1", "section 2"]"#)], &["crew-step-twice"]);
    check(&[(r#""can_resume": true"#, r#""can_resume": false"#)], &["crew-not-resumable"]);
    check(&[("go on with section 2", "")], &["crew-no-instructions"]);
    check(&[("IN_PROGRESS", "WAITING_FOR_SYNC")], &["word-folded"]);
    check(&[("IN_PROGRESS", "on holiday")], &["word-unknown"]);
    check(&[(r#""blockers": []"#, r#""blockers": "none""#)], &["wrong-type"]);
}

#[test]
fn only_a_whole_copy_can_be_restored() {
    assert!(is_whole(RUNNING.as_bytes()));
    assert!(!is_whole(&RUNNING.as_bytes()[..200]) && !is_whole(b"{}") && !is_whole(b"\xff"));
}

#[test]
fn the_schema_accepts_what_the_check_accepts() {
    let schema = crate::schema::of_dialect("crew", super::wire::DOCUMENTS);
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    assert!(validator.is_valid(&serde_json::from_str(RUNNING).expect("JSON")));
}

#[test]
fn hostile_prose_takes_linear_time() {
    let texts = [
        "<!-- BEGIN A PROGRESS -->".repeat(20_000),
        "<!--".repeat(100_000),
        "**".repeat(200_000),
        "```\n".repeat(100_001),
        "# ".repeat(100_000),
        "- [ ] **a:** x\n".repeat(30_000),
    ];
    for text in &texts {
        let source = Source { path: "x.md".into(), bytes: text.as_bytes(), modified: None };
        read_epic(&source);
        read_messages(&source);
        read_status_file(&source);
        read_markdown(&source, now());
    }
}

proptest! {
    /// Cuts, swaps and splices of a valid document are read or refused, and never a panic.
    #[test]
    fn no_mutation_panics(start in 0usize..RUNNING.len(), length in 0usize..80, insert in ".{0,12}") {
        let mut bytes = RUNNING.as_bytes().to_vec();
        let end = (start + length).min(bytes.len());
        bytes.splice(start..end, insert.bytes());
        read_checkpoint(&Source { path: "secondary_b.json".into(), bytes: &bytes, modified: None }, crate::Detail::Full, now());
        is_whole(&bytes);
    }
}
