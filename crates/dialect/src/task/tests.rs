use piton_model::{Claim, GateState, Role, Said, Source as SignSource, State, StepState, Time, Unit};
use proptest::prelude::*;

use super::{is_ours, read_checkpoint};
use crate::{Reading, Source, json};

const NAME: &str = "progress/checkpoints/mason-W12.json";

const RUNNING: &str = r#"{
  "checkpoint_id": "mason-W12-20260302-091500",
  "agent": "mason",
  "agent_name": "Ida",
  "task_id": "W12",
  "task_title": "Rebuild the garden wall",
  "status": "in_progress",
  "progress_percent": 50,
  "started_at": "2026-03-02T09:15:00Z",
  "updated_at": "2026-03-02T10:05:00Z",
  "completed_at": null,
  "estimated_minutes": 90,
  "subtasks": {
    "total": 4, "completed": 2, "failed": 0,
    "items": [
      {"id": "footing", "status": "complete", "output": "wall/footing.md"},
      {"id": "course-1", "status": "complete", "output": null},
      {"id": "course-2", "status": "in_progress", "output": null},
      {"id": "coping", "status": "pending", "output": null}
    ]
  },
  "files_created": ["wall/footing.md"],
  "files_modified": ["wall/plan.md", "wall/footing.md"],
  "acceptance_criteria_met": {"plumb": true, "dry": false},
  "review_scores": {"foreman": 88, "neighbour": null},
  "errors": [],
  "context": {"last_processed": "course-1", "next_to_process": "course-2", "notes": "the sand is wet"},
  "resumable": true,
  "resume_instructions": "continue with course-2",
  "heartbeat": {"last_beat": "2026-03-02T10:06:00Z", "interval_seconds": 300, "status": "alive"}
}"#;

fn now() -> Time {
    crate::time::read("2026-03-02T10:10:00Z").time().expect("a time")
}

fn read_at(path: &str, text: &str) -> Reading {
    read_checkpoint(&Source { path: path.into(), bytes: text.as_bytes(), modified: Some(now()) }, now())
}

fn unit(text: &str) -> Unit {
    read_at(NAME, text).unit.expect("a task")
}

/// `RUNNING` with pieces of its text replaced.
fn with(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(RUNNING.to_owned(), |text, (old, new)| {
        assert!(text.contains(old), "{old} is in the text");
        text.replacen(old, new, 1)
    })
}

const COMPLETE: &[(&str, &str)] = &[
    (r#""in_progress""#, r#""complete""#),
    (r#""progress_percent": 50"#, r#""progress_percent": 100"#),
    (r#""completed_at": null"#, r#""completed_at": "2026-03-02T10:05:00Z""#),
    (r#""completed": 2"#, r#""completed": 4"#),
    (r#""course-2", "status": "in_progress""#, r#""course-2", "status": "complete""#),
    (r#""status": "pending""#, r#""status": "complete""#),
    (r#""dry": false"#, r#""dry": true"#),
    (r#""resumable": true"#, r#""resumable": false"#),
];

fn completed(changes: &[(&str, &str)]) -> String {
    with(&[COMPLETE, changes].concat())
}

fn codes(reading: &Reading) -> Vec<&'static str> {
    reading.findings.iter().map(|finding| finding.code.name).collect()
}

#[test]
fn a_task_under_way_is_read_whole() {
    let reading = read_at(NAME, RUNNING);
    assert_eq!(codes(&reading), [""; 0], "{:?}", reading.findings);
    let unit = reading.unit.expect("a task");
    assert_eq!((unit.id.as_str(), unit.title.as_deref()), ("mason/W12", Some("Rebuild the garden wall")));
    assert_eq!((unit.state, unit.claim), (State::Running, Claim::Worker));
    assert_eq!((unit.progress.done, unit.progress.total), (2, 4));
    assert_eq!((unit.agent.as_deref(), unit.current.as_deref()), (Some("mason"), Some("course-2")));
    let outputs = vec!["wall/footing.md".to_owned()];
    assert_eq!(unit.steps[0].state, StepState::Done { by: None, at: None, outputs });
    assert_eq!((&unit.steps[2].state, &unit.steps[3].state), (&StepState::Running, &StepState::Pending));
    let gates: Vec<_> = unit.gates.iter().map(|gate| (gate.name.as_str(), &gate.state)).collect();
    assert_eq!(
        gates,
        [
            ("plumb", &GateState::Passed { result: None }),
            ("dry", &GateState::Pending),
            ("review by foreman", &GateState::Passed { result: Some("88".into()) }),
            ("review by neighbour", &GateState::Pending),
        ]
    );
    assert_eq!(unit.files, ["wall/footing.md", "wall/plan.md"]);
    let notes: Vec<_> = unit.notes.iter().map(|note| (note.label, note.text.as_str())).collect();
    assert_eq!(
        notes,
        [
            ("agent name", "Ida"),
            ("resume instructions", "continue with course-2"),
            ("last processed", "course-1"),
            ("next to process", "course-2"),
            ("notes", "the sand is wet"),
            ("estimate", "90 minutes"),
            ("time so far", "50m"),
        ]
    );
    let sources: Vec<_> = unit.signs.iter().map(|sign| sign.source.clone()).collect();
    assert_eq!(sources, [SignSource::Field("last_beat"), SignSource::Field("updated_at"), SignSource::FileTime]);
    assert!(unit.signs.iter().all(|sign| matches!(sign.said, Said::At(_))) && unit.resumable);
}

#[test]
fn a_complete_task_is_done_and_its_archive_is_marked() {
    let text = completed(&[]);
    let reading = read_at("progress/checkpoints/mason-W12-complete-2.json", &text);
    assert_eq!(codes(&reading), [""; 0], "{:?}", reading.findings);
    let unit = reading.unit.expect("a task");
    assert_eq!((unit.state, unit.documents[0].role), (State::Done, Role::Archive));
    assert!(unit.notes.iter().any(|note| (note.label, note.text.as_str()) == ("time taken", "50m")));
}

#[test]
fn a_blocked_task_names_what_blocks_it() {
    let both = r#""errors": [{"type": "weather", "message": "frost", "timestamp": "2026-03-02T10:00:00Z", "blocking": true},
        {"message": "a chipped stone", "blocking": false}]"#;
    let unit = unit(&with(&[(r#""in_progress""#, r#""blocked""#), (r#""errors": []"#, both)]));
    assert_eq!((&unit.state, &unit.claim), (&State::Blocked, &Claim::Nobody { why: "it is blocked" }));
    assert_eq!(unit.blockers, ["frost"]);
    let troubles: Vec<_> = unit.troubles.iter().map(|trouble| trouble.message.as_str()).collect();
    assert_eq!(troubles, ["weather: frost", "a chipped stone"]);
    assert_eq!(unit.troubles[0].time.as_deref(), Some("2026-03-02T10:00:00Z"));
}

#[test]
fn a_claimed_completion_is_blocked_by_what_is_missing() {
    for (changes, blockers) in [
        (&[(r#""dry": true"#, r#""dry": false"#)][..], &["criterion \"dry\" is not met"][..]),
        (
            &[
                (r#""coping", "status": "complete""#, r#""coping", "status": "failed""#),
                (r#""completed": 4, "failed": 0"#, r#""completed": 3, "failed": 1"#),
            ],
            &["1 of 4 subtasks failed"],
        ),
        (
            &[
                (r#""coping", "status": "complete""#, r#""coping", "status": "pending""#),
                (r#""completed": 4"#, r#""completed": 3"#),
            ],
            &["1 of 4 subtasks is not done"],
        ),
    ] {
        let reading = read_at(NAME, &completed(changes));
        assert_eq!(codes(&reading), ["task-partial-completion"], "{changes:?}");
        let unit = reading.unit.expect("a task");
        assert_eq!(
            (&unit.state, unit.blockers.iter().map(String::as_str).collect::<Vec<_>>()),
            (&State::Blocked, blockers.to_vec())
        );
        assert_eq!(unit.claim, Claim::Nobody { why: "it claims to be complete" });
    }
}

#[test]
fn a_subtask_left_out_on_purpose_is_not_open() {
    for word in ["skipped", "Cancelled", "canceled"] {
        let item = format!(r#""coping", "status": {word:?}"#);
        let changes =
            [(r#""coping", "status": "complete""#, item.as_str()), (r#""completed": 4"#, r#""completed": 3"#)];
        let reading = read_at(NAME, &completed(&changes));
        assert_eq!(codes(&reading), ["word-folded"], "{word}");
        let unit = reading.unit.expect("a task");
        assert_eq!((&unit.state, &unit.steps[3].state), (&State::Done, &StepState::Skipped), "{word}");
        assert_eq!((unit.progress.done, unit.progress.total), (3, 3), "{word}");
    }
    let waiting = with(&[(r#""status": "pending""#, r#""status": "for later""#)]);
    assert_eq!(codes(&read_at(NAME, &waiting)), ["word-unknown"]);
    assert_eq!(unit(&waiting).steps[3].state, StepState::Pending);
}

#[test]
fn one_is_not_many() {
    let claims = |total: u64, completed: u64| {
        let subtasks = format!(r#"{{"total":{total},"completed":{completed}}}"#);
        let text = format!(r#"{{"agent":"mason","task_id":"W12","status":"complete","subtasks":{subtasks}}}"#);
        unit(&text).blockers
    };
    assert_eq!(claims(1, 0), ["1 of 1 subtask is not done"]);
    assert_eq!(claims(3, 2), ["1 of 3 subtasks is not done"]);
    assert_eq!(claims(3, 1), ["2 of 3 subtasks are not done"]);
    let estimate = unit(&with(&[(r#""estimated_minutes": 90"#, r#""estimated_minutes": 1"#)])).notes;
    assert!(estimate.iter().any(|note| note.text == "1 minute"));
}

#[test]
fn items_count_only_when_they_are_all_there() {
    let sample = with(&[(r#""total": 4, "completed": 2"#, r#""total": 29, "completed": 10"#), (": 50", ": 34")]);
    let reading = read_at(NAME, &sample);
    assert_eq!(codes(&reading), [""; 0]);
    assert_eq!(reading.unit.map(|unit| (unit.progress.done, unit.progress.total)), Some((10, 29)));
    let wrong = with(&[(r#""completed": 2"#, r#""completed": 3"#)]);
    assert_eq!(unit(&wrong).progress.done, 2);
}

#[test]
fn status_words_become_states() {
    for (word, state, claimed) in [
        ("in_progress", State::Running, true),
        ("In Progress", State::Running, true),
        ("blocked", State::Blocked, false),
        ("failed", State::Blocked, false),
        ("not_started", State::Queued, false),
        ("pending", State::Queued, false),
        ("paused (weekend)", State::Paused { reason: None }, false),
        ("nearly there", State::Unknown, false),
    ] {
        let unit = unit(&with(&[(r#""in_progress""#, &format!("{word:?}"))]));
        assert_eq!((unit.state, unit.claim == Claim::Worker), (state, claimed), "{word}");
    }
}

#[test]
fn a_percentage_of_100_is_for_complete_tasks() {
    let all_done = [
        (r#""completed": 2"#, r#""completed": 4"#),
        (r#""course-2", "status": "in_progress""#, r#""course-2", "status": "complete""#),
        (r#""status": "pending""#, r#""status": "complete""#),
    ];
    for (percent, want) in [
        ("100", "`progress_percent` is 100, but the task is not complete"),
        ("99", ""),
        ("98", "`progress_percent` is 98; 4 of 4 is 99 until the task is complete"),
    ] {
        let percent = format!(": {percent}");
        let reading = read_at(NAME, &with(&[&[(": 50", percent.as_str())], &all_done[..]].concat()));
        let told = reading.findings.first().map_or("", |finding| finding.message.as_str());
        assert_eq!(told, want);
    }
}

#[test]
fn more_done_than_there_is_never_passes_the_end() {
    let text = with(&[(r#""total": 4, "completed": 2"#, r#""total": 5, "completed": 9"#), (": 50", ": 99")]);
    let reading = read_at(NAME, &text);
    assert_eq!(codes(&reading), ["task-counters"]);
    assert_eq!(reading.unit.map(|unit| (unit.progress.done, unit.progress.total)), Some((5, 5)));
}

#[test]
fn a_heartbeat_of_the_dead_is_no_sign_of_life() {
    for (status, found, counts) in [
        ("alive", false, true),
        ("Alive", false, true),
        ("busy", true, true),
        ("stopped", true, false),
        ("Dead", true, false),
        ("zombie", true, false),
        ("stopped_by_user", true, false),
        ("session ended", true, false),
    ] {
        let reading = read_at(NAME, &with(&[(r#""alive""#, &format!("{status:?}"))]));
        assert_eq!(codes(&reading).contains(&"task-heartbeat-status"), found, "{status}");
        let signs = reading.unit.expect("a task").signs;
        assert_eq!(signs.iter().any(|sign| sign.source == SignSource::Field("last_beat")), counts, "{status}");
    }
}

#[test]
fn only_a_task_under_way_or_blocked_is_resumed() {
    for (word, flag, want) in [
        ("in_progress", true, true),
        ("running", true, true),
        ("blocked", true, true),
        ("in_progress", false, false),
        ("not_started", true, false),
        ("complete", true, false),
        ("paused", true, false),
        ("nearly there", true, false),
    ] {
        let flag = format!(r#""resumable": {flag}"#);
        let text = with(&[(r#""in_progress""#, &format!("{word:?}")), (r#""resumable": true"#, &flag)]);
        assert_eq!(unit(&text).resumable, want, "{word} {flag}");
    }
    let complete = completed(&[(r#""resumable": false"#, r#""resumable": true"#)]);
    assert!(!unit(&complete).resumable);
}

#[test]
fn each_rule_has_its_finding() {
    let blocked = (r#""in_progress""#, r#""blocked""#);
    let check = |changes: &[(&str, &str)], want: &[&str]| {
        assert_eq!(codes(&read_at(NAME, &with(changes))), want, "{changes:?}");
    };
    check(&[(": 50", ": 51")], &["task-progress-percent"]);
    check(&[(": 50", ": 100")], &["task-progress-percent"]);
    check(&[(": 50", ": 101")], &["out-of-range"]);
    check(&[(": 50", ": -1")], &["out-of-range"]);
    check(&[(r#""total": 4, "completed": 2"#, r#""total": 0, "completed": 0"#)], &["task-items-disagree"]);
    check(&[(r#""failed": 0"#, r#""failed": 3"#)], &["task-counters", "task-items-disagree"]);
    check(&[(r#""completed": 2"#, r#""completed": 1"#)], &["task-items-disagree"]);
    check(
        &[(r#""total": 4, "completed": 2"#, r#""total": 9, "completed": 1"#), (": 50", ": 11")],
        &["task-items-disagree"],
    );
    check(&[(r#""id": "coping""#, r#""id": "footing""#)], &["task-repeated-subtask"]);
    check(&[("mason-W12-20260302", "mason-W1-20260302")], &["task-checkpoint-id"]);
    check(&[("mason-W12-20260302-091500", "mason-W123")], &["task-checkpoint-id"]);
    check(&[("mason-W12-20260302-091500", "mason-W12")], &[]);
    check(&[(r#""task_id": "W12""#, r#""task_id": "W1""#)], &["task-file-name", "task-checkpoint-id"]);
    check(&[(r#""completed_at": null"#, r#""completed_at": "2026-03-02T10:05:00Z""#)], &["task-completed-at"]);
    check(&[(r#""resumable": true"#, r#""resumable": false"#)], &["task-not-resumable"]);
    check(&[blocked], &["task-blocked-without-error"]);
    check(&[blocked, (r#""errors": []"#, r#""errors": [{"message": "frost"}]"#)], &[]);
    check(&[(r#""errors": []"#, r#""errors": [{"message": "frost", "blocking": true}]"#)], &["task-blocking-error"]);
    check(&[("2026-03-02T10:05:00Z", "2026-03-02T09:05:00Z")], &["task-times-reversed"]);
    check(&[(r#""next_to_process": "course-2""#, r#""next_to_process": "course-1""#)], &["task-next-is-last"]);
    check(&[(r#""foreman": 88"#, r#""foreman": 101"#)], &["out-of-range"]);
    check(&[(r#""dry": false"#, r#""dry": "soon""#)], &["wrong-type"]);
    check(&[(r#""wall/plan.md""#, r#""../plan.md""#)], &["path-outside"]);
    check(&[(r#""status": "pending""#, r#""status": "PENDING""#)], &["word-folded"]);
    check(&[("2026-03-02T10:06:00Z", "2026-03-02T19:06:00Z")], &["time-future"]);
    check(&[(r#"  "resumable": true,"#, "")], &["missing-key"]);

    let check = |name: &str, changes: &[(&str, &str)], want: &[&str]| {
        assert_eq!(codes(&read_at(name, &completed(changes))), want, "{name} {changes:?}");
    };
    check(NAME, &[], &[]);
    check(NAME, &[(r#""completed_at": "2026-03-02T10:05:00Z""#, r#""completed_at": null"#)], &["task-completed-at"]);
    check(NAME, &[(r#""resumable": false"#, r#""resumable": true"#)], &["task-complete-resumable"]);
    check(NAME, &[(": 100", ": 99")], &["task-progress-percent"]);
    check("progress/checkpoints/W12-mason-complete.json", &[], &["task-file-name"]);
    let archive = "progress/checkpoints/mason-W12-complete.json";
    assert_eq!(codes(&read_at(archive, RUNNING)), ["task-archive-not-complete"]);
}

#[test]
fn names_come_from_the_file_where_the_document_is_silent() {
    for (text, path, want) in [
        (r#"{"subtasks":{},"resumable":true}"#, "p/content-writer-T001.json", "content-writer/T001"),
        (r#"{"agent":"content","subtasks":{}}"#, "p/content-T-001-complete.json", "content/T-001"),
        (r#"{"task_id":"T-001","subtasks":{}}"#, "p/content-T-001.json", "content/T-001"),
        (r#"{"task_id":"T-001","subtasks":{}}"#, "p/other.json", "other/T-001"),
        (r#"{"subtasks":{},"resumable":true}"#, "p/lonely.json", "unknown/lonely"),
    ] {
        assert_eq!(read_at(path, text).unit.expect("a task").id, want, "{path}");
    }
}

#[test]
fn other_documents_are_foreign() {
    for (text, ours) in [
        (r#"{"status":"in_progress","progress_percent":35,"subtasks":{"total":29,"completed":10}}"#, true),
        (r#"{"status":"blocked","resumable":true,"resume_instructions":"go on"}"#, true),
        (r#"{"agent":"a","task_id":"b"}"#, true),
        (r#"{"heartbeat":{}}"#, false),
        (r#"{"version":1,"epoch":4,"loss":0.2}"#, false),
    ] {
        assert_eq!(is_ours(json::parse(text).expect("JSON").root()), ours, "{text}");
        assert_eq!(codes(&read_at(NAME, text)).contains(&"foreign"), !ours);
    }
}

#[test]
fn the_schema_accepts_what_the_check_accepts() {
    let schema = crate::schema::of_dialect("task", super::wire::DOCUMENTS);
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let document = serde_json::from_str(RUNNING).expect("JSON");
    assert!(validator.is_valid(&document));
    let document = serde_json::from_str(&with(&[(": 50", ": 101")])).expect("JSON");
    assert!(!validator.is_valid(&document));
}

proptest! {
    /// Cuts, swaps and splices of a valid document are read or refused, and never a panic.
    #[test]
    fn no_mutation_panics(start in 0usize..RUNNING.len(), length in 0usize..80, insert in ".{0,12}") {
        let mut bytes = RUNNING.as_bytes().to_vec();
        let end = (start + length).min(bytes.len());
        bytes.splice(start..end, insert.bytes());
        let source = Source { path: NAME.into(), bytes: &bytes, modified: None };
        read_checkpoint(&source, now());
    }

    /// A value of any kind at any place is read without a panic.
    #[test]
    fn no_value_panics(
        key in prop::sample::select(vec!["2026-03-02T09:15:00Z", "in_progress", "mason", "W12", "course-1", "footing"]),
        value in prop::sample::select(vec!["null", "{}", "[]", "-1", "1e999", "18446744073709551616", "\"\"", "[[],{}]"]),
    ) {
        let text = RUNNING.replace(&format!("{key:?}"), value);
        read_at(NAME, &text);
    }
}
