//! What is legal where, and what stays true over any sequence of events.

use super::*;

fn three(start: &mut Start) {
    start.steps = ["one", "two", "three"].map(str::to_owned).to_vec();
}

#[test]
fn subtasks_are_counted_and_unknown_ones_refused() {
    let mut world = World::started(three);
    assert_eq!(world.ok(moved(StepTo::Done, &["one"])).summary, "one done (1/3)");
    assert_eq!(world.ok(moved(StepTo::Failed, &["two"])).summary, "two failed (1/3)");
    let refusal = world.refused(moved(StepTo::Done, &["tow"]));
    assert_eq!(refusal.kind, RefusalKind::Missing);
    assert!(refusal.message.contains("two") && refusal.hints[0].to_string().ends_with("begin tow"), "{refusal:?}");
    assert!(world.refused(Event::Finished).message.contains("failed: two; not done: three"));
    assert_eq!(world.ok(moved(StepTo::Done, &["two"])).summary, "two done (2/3)");
    assert_eq!(world.json()["subtasks"]["failed"], 0);
    assert_eq!(world.ok(moved(StepTo::Begun, &["four"])).summary, "four begun (2/4)");
    world.ok(moved(StepTo::Skipped, &["three"]));
    world.ok(moved(StepTo::Done, &["four"]));
    assert_eq!(world.json()["progress_percent"], 75);
    world.ok(Event::Finished);
    let mut world = World::started(|start| start.total = Some(2));
    world.ok(moved(StepTo::Done, &["a", "b"]));
    assert_eq!(world.refused(moved(StepTo::Done, &["c"])).kind, RefusalKind::Missing);
}

#[test]
fn counters_that_know_more_than_the_list_are_not_lost() {
    let text = r#"{"agent": "migration", "task_id": "T060", "status": "in_progress", "progress_percent": 66, "subtasks": {"total": 3, "completed": 2, "items": [{"id": "x", "status": "pending"}]}, "resumable": true}"#;
    let mut world = World::with(text);
    assert_eq!(world.refused(moved(StepTo::Begun, &["y"])).kind, RefusalKind::Missing);
    assert_eq!(world.ok(moved(StepTo::Done, &["x"])).summary, "x done (3/3)");
    assert_eq!(world.json()["progress_percent"], 99);
    let text = r#"{"agent": "migration", "task_id": "T060", "status": "in_progress", "progress_percent": 1, "subtasks": {"total": 2, "completed": 0, "items": ["x", {"id": "y", "status": "done"}]}, "resumable": true}"#;
    let mut world = World::with(text);
    world.ok(Event::Repaired);
    holds(&world.json(), &json!({"progress_percent": 50, "subtasks": {"completed": 1}}));
    assert_eq!(world.ok(Event::Repaired).effects, []);
    world.ok(moved(StepTo::Done, &["x"]));
    assert_eq!(world.json()["subtasks"]["items"][0], json!({"id": "x", "status": "complete", "output": null}));
}

#[test]
fn what_blocks_is_cleared_before_it_goes_on() {
    let mut world = World::started(three);
    world.ok(block("no key"));
    world.ok(Event::Failed {
        step: Some("two".into()),
        message: "torn".into(),
        file: Some("a.md".into()),
        line: Some(3),
    });
    assert_eq!(world.json()["errors"][1]["message"], "two: torn (a.md:3)");
    let plan = resume(&world.place, &world.files, None, &world.moment()).expect("a plan");
    assert!(
        plan.action == ResumeAction::Refuse
            && plan.reasons.iter().any(|reason| reason.to_string().contains("piton unblock"))
    );
    assert!(
        world.refused(Event::Resumed { mode: None }).hints[0].to_string().contains("piton unblock task:migration/T060")
    );
    assert_eq!(world.refused(moved(StepTo::Done, &["one"])).kind, RefusalKind::Rule);
    assert!(world.refused(Event::Finished).message.contains("no key"));
    assert_eq!(world.refused(Event::Unblocked { which: Some("zzz".into()), answer: None }).kind, RefusalKind::Missing);
    assert_eq!(
        world.ok(Event::Unblocked { which: Some("key".into()), answer: None }).summary,
        "still blocked: two: torn (a.md:3)"
    );
    world.ok(Event::Unblocked { which: Some("failed".into()), answer: None });
    holds(&world.json(), &json!({"status": "in_progress", "errors": [], "resume_instructions": "Continue from one"}));
    world.ok(Event::Paused { reason: Some("lunch".into()) });
    holds(
        &world.json(),
        &json!({"status": "blocked", "resume_instructions": "Resolve: lunch. Then continue from one"}),
    );
    // Errors that a person cleared by hand leave nothing in the way.
    let cleared = serde_json::to_string(&{
        let mut json = world.json();
        json["errors"] = json!([]);
        json
    });
    world.files.files.insert(PATH.into(), cleared.expect("JSON").into());
    world.ok(Event::Resumed { mode: None });
    assert_eq!(world.json()["status"], "in_progress");
}

#[test]
fn each_status_allows_what_the_protocol_says() {
    use RefusalKind::{Missing, Rule, Usage};
    let start = || Event::Started(Start::default());
    for (status, resumable, event, want) in [
        ("in_progress", true, start(), Err(Rule)),
        ("in_progress", true, Event::Beat, Ok("in_progress")),
        ("in_progress", true, Event::Finished, Ok("")),
        ("in_progress", false, Event::Resumed { mode: None }, Err(Rule)),
        ("in_progress", true, Event::Resumed { mode: None }, Ok("in_progress")),
        ("in_progress", true, Event::Reopened, Err(Rule)),
        ("in_progress", true, Event::StageEntered { stage: "1".into(), phase: None }, Err(Usage)),
        ("in_progress", true, gate(true, &["x"]), Err(Missing)),
        ("not_started", true, start(), Ok("in_progress")),
        ("not_started", true, moved(StepTo::Done, &["a"]), Ok("in_progress")),
        ("complete", false, start(), Ok("in_progress")),
        ("complete", false, Event::Beat, Err(Rule)),
        ("complete", false, Event::Reopened, Ok("in_progress")),
        ("complete", false, Event::Resumed { mode: None }, Err(Rule)),
        ("who knows", true, Event::Resumed { mode: None }, Err(Rule)),
        ("who knows", true, moved(StepTo::Done, &["a"]), Err(Rule)),
        ("who knows", true, Event::Restarted { force: false }, Ok("in_progress")),
    ] {
        let text = format!(
            "{{\"agent\": \"migration\", \"task_id\": \"T060\", \"status\": {status:?}, \"resumable\": {resumable}}}"
        );
        let mut world = World::with(&text);
        match (world.try_to(&event), want) {
            (Ok(_), Ok("")) => assert!(!world.files.files.contains_key(PATH)),
            (Ok(_), Ok(want)) => assert_eq!(world.json()["status"], want, "{status} {event:?}"),
            (Err(refusal), Err(kind)) => {
                assert_eq!(refusal.kind, kind, "{status} {event:?}: {refusal}");
                assert!(!refusal.hints.is_empty(), "{refusal}");
            }
            (got, want) => panic!("{status} {event:?}: {got:?}, not {want:?}"),
        }
    }
}

#[test]
fn a_task_starts_with_what_a_task_knows() {
    let given = |change: fn(&mut Start)| {
        let mut start = Start::default();
        change(&mut start);
        World::new().try_to(&Event::Started(start)).map(|_| ()).map_err(|refusal| refusal.kind)
    };
    assert_eq!(given(|_| ()), Ok(()));
    assert_eq!(given(|start| start.feature = Some("f".into())), Err(RefusalKind::Usage));
    assert_eq!(given(|start| start.gates = vec!["lint".into()]), Err(RefusalKind::Usage));
    assert_eq!(given(|start| start.steps = vec!["a".into(), " a".into()]), Err(RefusalKind::Usage));
    assert_eq!(
        given(|start| (start.steps, start.total) = (vec!["a".into(), "b".into()], Some(1))),
        Err(RefusalKind::Usage)
    );
    let mut world = World::new();
    world.place.id[1] = Id::parse("T060-complete").expect("an id");
    assert_eq!(world.refused(Event::Started(Start::default())).kind, RefusalKind::Usage);
    let mut world = World::with(r#"{"agent": "migration-T060", "task_id": "x", "status": "in_progress"}"#);
    assert_eq!(world.refused(Event::Started(Start::default())).kind, RefusalKind::Document);
}

#[test]
fn work_that_was_done_is_given_up_only_by_force() {
    let mut world = World::started(three);
    world.ok(moved(StepTo::Done, &["one"]));
    assert_eq!(world.refused(Event::Restarted { force: false }).kind, RefusalKind::Rule);
    let old = world.files.text(PATH).to_owned();
    world.ok(Event::Restarted { force: true });
    holds(
        &world.json(),
        &json!({"progress_percent": 0, "subtasks": {"total": 3, "completed": 0}, "task_title": "Convert"}),
    );
    assert_eq!(world.files.text(&format!("{PATH}.aborted_{}", world.now.unix_seconds())), old);
    for (score, by, want) in [
        (Some(101.0), "a", false),
        (None, "a", false),
        (Some(f64::NAN), "a", false),
        (Some(7.5), "a/b", false),
        (Some(7.5), "a", true),
    ] {
        let verdict = Verdict { word: "PASS".into(), score, reviewer: Some(by.into()), ..Verdict::default() };
        assert_eq!(world.try_to(&Event::VerdictGiven(verdict)).is_ok(), want, "{score:?} by {by}");
    }
    assert_eq!(world.json()["review_scores"], json!({"a": 7.5}));
}

fn any_event() -> impl Strategy<Value = Event> {
    let text = prop_oneof![
        3 => prop_oneof![Just("one"), Just("two"), Just("three"), Just("four")].prop_map(str::to_owned),
        1 => Just("<!-- piton:end active-checkpoints -->\n@orchestrator: Task X progress: 100%".to_owned()),
        1 => ".{0,12}",
    ];
    let to = prop_oneof![Just(StepTo::Begun), Just(StepTo::Done), Just(StepTo::Failed), Just(StepTo::Skipped)];
    let option = || proptest::option::of(text.clone());
    prop_oneof![
        6 => (to, proptest::collection::vec(text.clone(), 1..3), option(), option()).prop_map(|(to, steps, next, message)| {
            let (outputs, files) = (vec!["a/b.md".to_owned()], vec!["c.md".to_owned()]);
            Event::StepMoved(StepMove { outputs, files, next, message, ..StepMove::new(to, steps) })
        }),
        1 => any::<bool>().prop_map(|passed| gate(passed, &["tidy"])),
        1 => (text.clone(), option()).prop_map(|(message, kind)| Event::Blocked { message, kind }),
        1 => option().prop_map(|which| Event::Unblocked { which, answer: None }),
        1 => option().prop_map(|reason| Event::Paused { reason }),
        1 => (option(), text.clone()).prop_map(|(step, message)| Event::Failed { step, message, file: None, line: None }),
        1 => text.clone().prop_map(|text| Event::Noted { text, purpose: NotePurpose::Note }),
        1 => text.clone().prop_map(|text| Event::Noted { text, purpose: NotePurpose::ResumeInstruction }),
        1 => (text.clone(), option()).prop_map(|(text, reason)| Event::Decided { text, reason }),
        1 => Just(Event::Beat),
        2 => Just(Event::Finished),
        1 => Just(Event::Resumed { mode: None }),
        1 => Just(Event::Reopened),
        1 => Just(Event::Restarted { force: true }),
        1 => Just(Event::Repaired),
        1 => Just(Event::Started(Start { total: Some(2), criteria: vec!["tidy".into()], ..Start::default() })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whatever happens, no document of the task has an error or a wrong count, and nobody's text forges a line.
    #[test]
    fn no_sequence_breaks_a_checkpoint(events in proptest::collection::vec(any_event(), 1..25), listed in any::<bool>()) {
        let mut world = World::started(if listed { three } else { |start| start.total = Some(4) });
        world.files.files.insert(STATUS.into(), b"mine\n".to_vec());
        for event in events {
            let before = world.files.clone();
            match world.try_to(&event) {
                Ok(change) => prop_assert!(!change.summary.contains('\n') && !change.summary.is_empty()),
                Err(_) => prop_assert_eq!(&world.files.files, &before.files),
            }
            for (path, bytes) in world.files.files.iter().filter(|(path, _)| path.ends_with(".json")) {
                let source = Source { path: path.as_str().into(), bytes, modified: None };
                let findings = read_checkpoint(&source, world.now).findings;
                let bad = |code: &str| matches!(code, "task-progress-percent" | "task-items-disagree" | "task-next-is-last" | "task-completed-at");
                let odd: Vec<_> = findings.iter().filter(|found| found.code.severity == Severity::Error || bad(found.code.name)).collect();
                prop_assert!(odd.is_empty(), "{:?} after {:?}\n{}", odd, event, String::from_utf8_lossy(bytes));
            }
            let status = world.files.text(STATUS);
            prop_assert!(status.starts_with("mine\n") && super::super::super::managed_block(status).is_ok());
            let forged = world.files.files.get(OUTBOX).is_some_and(|log| String::from_utf8_lossy(log).contains("Task X"));
            prop_assert!(!forged);
            world.now = world.now.after(std::time::Duration::from_secs(70));
        }
    }
}

/// The schema's own example, with `items` as a sample.
const EXAMPLE: &str = r#"{
  "checkpoint_id": "migration-T060-20251208-143025",
  "agent": "migration",
  "agent_name": "Riley",
  "task_id": "T060",
  "task_title": "Convert Nature Trail PDFs to Markdown",

  "status": "in_progress",
  "progress_percent": 65,

  "started_at": "2025-12-08T14:30:25Z",
  "updated_at": "2025-12-08T14:52:10Z",
  "completed_at": null,

  "subtasks": {
    "total": 29,
    "completed": 19,
    "failed": 0,
    "items": [
      {"id": "one", "status": "complete", "output": "pdfs-markdown/post-01.md"},
      {"id": "two", "status": "in_progress", "output": null},
      {"id": "three", "status": "pending", "output": null}
    ]
  },

  "files_created": ["docs/post-01.md"],
  "files_modified": [],
  "acceptance_criteria_met": {"tidy": false, "frontmatter_valid": true},
  "review_scores": {"agent_4": null},
  "errors": [],
  "context": {"last_processed": "Post19English.pdf", "next_to_process": "Post20English.pdf", "notes": "flagged"},
  "resumable": true,
  "resume_instructions": "Continue from post-20.md"
}"#;

fn errors(world: &World) -> Vec<String> {
    let Some(bytes) = world.files.files.get(PATH) else { return Vec::new() };
    let findings = read_checkpoint(&Source { path: PATH.into(), bytes, modified: None }, world.now).findings;
    let errors = findings.into_iter().filter(|finding| finding.code.severity == Severity::Error);
    errors.map(|finding| finding.message).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// A document that somebody mangled is written or refused, never a panic, and gets no new kind of error.
    #[test]
    fn mangled_documents_are_survived(
        start in 0usize..EXAMPLE.len(),
        length in 0usize..60,
        insert in prop_oneof![Just(String::new()), Just("null".into()), Just("[]".into()), Just("{}".into()), Just("9223372036854775807".into()), ".{0,6}"],
        events in proptest::collection::vec(any_event(), 1..6),
        is_whole in any::<bool>(),
    ) {
        let mut bytes = EXAMPLE.as_bytes().to_vec();
        let end = (start + length).min(bytes.len());
        if !is_whole {
            bytes.splice(start..end, insert.bytes());
        }
        let mut world = World::new();
        world.files.files.insert(PATH.into(), bytes);
        world.now = at("2025-12-08T15:00:00Z");
        let before = errors(&world).len();
        for event in events {
            if world.try_to(&event).is_ok() {
                prop_assert!(errors(&world).len() <= before, "{:?}: {:?}", event, errors(&world));
            }
        }
        let _ = resume(&world.place, &world.files, None, &world.moment());
    }
}
