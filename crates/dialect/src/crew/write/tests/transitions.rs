//! What is legal where, and what stays true over any sequence of events.

use super::*;

fn document(status: &str, can_resume: bool, blockers: &[&str], next: &[&str]) -> String {
    let mut world = World::started();
    world.now = at("2026-01-15T13:00:00Z");
    let mut json = world.json();
    json["status"] = json!(status);
    json["can_resume"] = json!(can_resume);
    json["blockers"] = json!(blockers);
    json["next_steps"] = json!(next);
    format!("{json:#}")
}

#[test]
fn each_status_allows_what_the_protocol_says() {
    use RefusalKind::{Rule, Usage};
    let finish = || Event::Finished;
    let resume = || Event::Resumed { mode: None };
    let work = || Event::StepMoved(step(StepTo::Done, &["one"]));
    let over = || Event::TakenOver { agent: "Secondary-C".into() };
    let reopen = || Event::Reopened;
    for (status, can_resume, blockers, next, event, want) in [
        ("IN_PROGRESS", true, &[][..], &[][..], finish(), Ok("COMPLETE")),
        ("IN_PROGRESS", true, &[], &["one"], finish(), Err(Rule)),
        ("IN_PROGRESS", true, &["rain"], &[], finish(), Err(Rule)),
        ("WAITING", true, &[], &[], finish(), Ok("COMPLETE")),
        ("BLOCKED", true, &["rain"], &[], finish(), Err(Rule)),
        ("BLOCKED", true, &["rain"], &["one"], work(), Err(Rule)),
        ("BLOCKED", true, &["rain"], &[], Event::Beat, Ok("BLOCKED")),
        ("WAITING", true, &[], &["one"], work(), Ok("IN_PROGRESS")),
        ("WAITING", true, &[], &[], Event::Beat, Ok("WAITING")),
        ("IN_PROGRESS", true, &[], &[], Event::Paused { reason: None }, Ok("WAITING")),
        ("WAITING_FOR_SYNC", true, &[], &[], Event::Beat, Ok("WAITING_FOR_SYNC")),
        ("PAUSED", true, &[], &["one"], work(), Err(Rule)),
        ("PAUSED", true, &[], &[], resume(), Ok("IN_PROGRESS")),
        ("IN_PROGRESS", false, &[], &[], resume(), Err(Rule)),
        ("IN_PROGRESS", false, &[], &[], over(), Ok("")),
        ("COMPLETE", true, &[], &[], resume(), Err(Rule)),
        ("COMPLETE", false, &[], &[], Event::Beat, Ok("COMPLETE")),
        ("COMPLETE", false, &[], &[], over(), Err(Rule)),
        ("COMPLETE", false, &[], &[], reopen(), Ok("IN_PROGRESS")),
        ("COMPLETE", false, &[], &[], start("f"), Ok("IN_PROGRESS")),
        ("COMPLETE", false, &["rain"], &[], Event::Unblocked { which: None, answer: None }, Ok("IN_PROGRESS")),
        ("IN_PROGRESS", true, &[], &[], start("f"), Err(Rule)),
        ("IN_PROGRESS", true, &[], &[], reopen(), Err(Rule)),
        ("on holiday", true, &[], &[], resume(), Err(Rule)),
        ("on holiday", true, &[], &["one"], work(), Err(Rule)),
        ("IN_PROGRESS", true, &[], &[], Event::Marked, Err(Usage)),
    ] {
        let mut world = World::with(&document(status, can_resume, blockers, next));
        match (world.try_to(&event), want) {
            (Ok(_), Ok("")) => {}
            (Ok(_), Ok(want)) => assert_eq!(world.json()["status"], want, "{status} {event:?}"),
            (Err(refusal), Err(kind)) => {
                assert_eq!(refusal.kind, kind, "{status} {event:?}: {refusal}");
                assert!(kind == Usage || !refusal.hints.is_empty(), "{refusal}");
            }
            (got, want) => panic!("{status} {event:?}: {got:?}, not {want:?}"),
        }
    }
}

#[test]
fn stages_go_forward_one_at_a_time() {
    for (from, to, want) in [
        ("S2.P1", "S2.P2", Ok("entered S2.P2")),
        ("S2.P1", "p2", Ok("entered S2.P2")),
        ("S2.P1", "1", Ok("already in S2.P1")),
        ("S2.P1", "S2.P3", Err("enter the next one: piton stage crew:Secondary-A S2.P2")),
        ("S2.P3", "S2.P2", Err("begin again from nothing: piton restart crew:Secondary-A")),
        ("S2.P1 COMPLETE", "S2.P2", Ok("entered S2.P2")),
        ("S1", "S2.P1", Ok("entered S2.P1")),
        ("S2.P1", "S9", Err("the stages are S2.P1, S2.P2, S2.P3")),
    ] {
        let text = document("IN_PROGRESS", true, &[], &["left"]).replacen("\"S2.P1\"", &format!("{from:?}"), 1);
        let mut world = World::with(&text);
        match (world.try_to(&stage(to)), want) {
            (Ok(change), Ok(want)) => {
                assert_eq!(change.summary, want, "{from} to {to}");
                let entered = want.starts_with("entered");
                assert_eq!(change.warnings.len(), usize::from(entered), "what is left is told: {from} to {to}");
                assert!(world.json()["next_steps"].as_array().is_some_and(|next| next.contains(&json!("left"))));
            }
            (Err(refusal), Err(hint)) => assert_eq!(refusal.hints[0], hint, "{from} to {to}"),
            (got, want) => panic!("{from} to {to}: {got:?}, not {want:?}"),
        }
    }
}

#[test]
fn an_agent_starts_with_what_a_crew_knows() {
    let given = |change: fn(&mut Start)| {
        let mut start = Start { feature: Some("f".into()), ..Start::default() };
        change(&mut start);
        World::new().try_to(&Event::Started(start)).map(|_| ()).map_err(|refusal| refusal.kind)
    };
    assert_eq!(given(|_| ()), Ok(()));
    assert_eq!(given(|start| start.feature = None), Err(RefusalKind::Usage));
    assert_eq!(given(|start| start.feature = Some("../f".into())), Err(RefusalKind::Usage));
    assert_eq!(given(|start| start.stage = Some("S9".into())), Err(RefusalKind::Usage));
    assert_eq!(given(|start| start.agent_type = Some("boss".into())), Err(RefusalKind::Usage));
    assert_eq!(given(|start| start.gates = vec!["lint".into()]), Err(RefusalKind::Usage));
    assert_eq!(given(|start| start.total = Some(3)), Err(RefusalKind::Usage));
    assert_eq!(given(|start| start.steps = vec!["one".into()]), Ok(()));
}

#[test]
fn a_step_that_was_done_is_not_done_again() {
    let mut world = World::started();
    world.ok(Event::StepMoved(step(StepTo::Done, &["Read S2.P1 guide"])));
    let change = world.ok(Event::StepMoved(step(StepTo::Done, &["read s2.p1 guide"])));
    assert_eq!(change.summary, "read s2.p1 guide already done (4/6)");
    let change = world.ok(Event::StepMoved(step(StepTo::Begun, &["Read S2.P1 guide"])));
    assert_eq!((change.summary.as_str(), change.warnings.len()), ("Read S2.P1 guide begun (3/6)", 1));
    world.ok(Event::StepMoved(step(StepTo::Skipped, &["Read S2.P1 guide"])));
    assert_eq!(world.json()["completed_steps"][3], "Read S2.P1 guide (skipped)");
    let mut outside = step(StepTo::Done, &["x"]);
    outside.files = vec!["../x".into()];
    assert_eq!(world.refused(Event::StepMoved(outside)).kind, RefusalKind::Usage);
    assert_eq!(world.refused(Event::StepMoved(step(StepTo::Done, &[" "]))).kind, RefusalKind::Usage);
}

fn any_event() -> impl Strategy<Value = Event> {
    let text = prop_oneof![
        Just("one".to_owned()),
        Just("two".to_owned()),
        Just("none".to_owned()),
        Just("None - all clear".to_owned()),
        Just("<!-- END SECONDARY-A PROGRESS -->\n## Message 1".to_owned()),
        ".{0,12}",
    ];
    let to = prop_oneof![Just(StepTo::Begun), Just(StepTo::Done), Just(StepTo::Failed), Just(StepTo::Skipped)];
    let option = || proptest::option::of(text.clone());
    prop_oneof![
        4 => (to, proptest::collection::vec(text.clone(), 1..3), option(), option()).prop_map(|(to, steps, next, message)| {
            let files = vec!["a/b.md".to_owned()];
            Event::StepMoved(StepMove { files, next, message, ..StepMove::new(to, steps) })
        }),
        1 => (1..4u8).prop_map(|number| stage(&number.to_string())),
        1 => (text.clone(), option()).prop_map(|(message, kind)| Event::Blocked { message, kind }),
        1 => option().prop_map(|which| Event::Unblocked { which, answer: None }),
        1 => option().prop_map(|reason| Event::Paused { reason }),
        1 => text.clone().prop_map(|message| Event::Failed { step: None, message, file: None, line: None }),
        1 => text.clone().prop_map(|text| Event::Noted { text, purpose: NotePurpose::Note }),
        1 => text.clone().prop_map(|text| Event::Noted { text, purpose: NotePurpose::ResumeInstruction }),
        1 => (text.clone(), option()).prop_map(|(text, reason)| Event::Decided { text, reason }),
        1 => Just(Event::Beat),
        1 => Just(Event::Finished),
        1 => Just(Event::Resumed { mode: None }),
        1 => Just(Event::Reopened),
        1 => Just(Event::Restarted { force: true }),
        1 => Just(Event::TakenOver { agent: "Secondary-A".into() }),
        1 => Just(start("feature_02")),
        1 => Just(Event::Repaired),
        1 => Just(Event::BackedUp { reason: "sync".into() }),
    ]
}

/// The error-level findings of the checkpoint.
fn errors(world: &World) -> Vec<String> {
    let bytes = &world.files.files[PATH];
    let source = Source { path: PATH.into(), bytes, modified: None };
    let findings = read_checkpoint(&source, Detail::Full, world.now).findings;
    findings
        .into_iter()
        .filter(|finding| finding.code.severity == Severity::Error)
        .map(|finding| finding.message)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whatever happens, the checkpoint stays valid, its copies are bounded, and the epic's other lines stay.
    #[test]
    fn no_sequence_breaks_a_checkpoint(events in proptest::collection::vec(any_event(), 1..25)) {
        let mut world = World::started();
        let epic = "a\n<!-- BEGIN SECONDARY-A PROGRESS -->\n<!-- END SECONDARY-A PROGRESS -->\nz";
        world.files.files.insert("EPIC_README.md".into(), epic.into());
        for event in events {
            let before = world.files.clone();
            match world.try_to(&event) {
                Ok(change) => {
                    prop_assert!(!change.summary.contains('\n') && !change.summary.is_empty(), "{:?}", change.summary);
                    prop_assert_eq!(errors(&world), Vec::<String>::new(), "{:?}", event);
                }
                Err(_) => prop_assert_eq!(&world.files.files, &before.files),
            }
            let text = world.files.text("EPIC_README.md");
            prop_assert!(text.starts_with("a\n<!-- BEGIN") && text.ends_with("<!-- END SECONDARY-A PROGRESS -->\nz"));
            prop_assert_eq!(text.matches("<!--").count(), 2);
            prop_assert!(world.files.list("agent_checkpoints/backups").len() <= 10);
            world.now = world.now.after(Duration::from_secs(7));
        }
    }
}

/// The format's own example.
const EXAMPLE: &str = r#"{
  "agent_id": "Secondary-A",
  "agent_type": "secondary",
  "session_id": "abc123def456",
  "feature": "feature_01_player_json",
  "stage": "S2.P2",
  "phase": "Specification",
  "last_checkpoint": "2026-01-15T14:30:00Z",
  "next_checkpoint_expected": "2026-01-15T14:45:00Z",
  "status": "IN_PROGRESS",
  "can_resume": true,
  "blockers": [],
  "files_modified": [
    "feature_01_player_json/spec.md",
    "EPIC_README.md"
  ],
  "recovery_instructions": "Resume from S2.P2 Specification Phase. spec.md partially complete (70% done).",
  "current_step": "Writing spec.md Requirements Section 5 (Error Handling)",
  "completed_steps": [
    "S2.P1 complete",
    "S2.P2 Phase 0: Read guide"
  ],
  "next_steps": [
    "Complete Requirements Section 5",
    "Write Acceptance Criteria"
  ],
  "coordination_state": {
    "last_inbox_check": "2026-01-15T14:28:00Z",
    "unread_messages": 0,
    "last_epic_readme_update": "2026-01-15T14:15:00Z",
    "last_status_update": "2026-01-15T14:15:00Z"
  }
}"#;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// The document's example stays valid, and a part that no event names keeps its bytes.
    #[test]
    fn the_example_stays_valid(events in proptest::collection::vec(any_event(), 1..12)) {
        let text = EXAMPLE.replacen('{', "{\n  \"mine\" : [1.50, \"\\u0041\"],", 1);
        let mut world = World::with(&text);
        world.now = at("2026-01-15T14:50:00Z");
        for event in events {
            let is_new = matches!(event, Event::Restarted { .. } | Event::Started(_));
            if world.try_to(&event).is_ok() {
                prop_assert_eq!(errors(&world), Vec::<String>::new(), "{:?}", event);
            }
            if is_new {
                break;
            }
            let is_kept = world.files.text(PATH).starts_with("{\n  \"mine\" : [1.50, \"\\u0041\"],\n  \"agent_id\"");
            prop_assert!(is_kept);
        }
    }

    /// A document that somebody mangled is written or refused, never a panic, and gets no new kind of error.
    #[test]
    fn mangled_documents_are_survived(
        start in 0usize..EXAMPLE.len(),
        length in 0usize..60,
        insert in prop_oneof![Just(String::new()), Just("null".into()), Just("[]".into()), Just("{}".into()), Just("1e9".into()), ".{0,6}"],
        events in proptest::collection::vec(any_event(), 1..6),
    ) {
        let mut bytes = EXAMPLE.as_bytes().to_vec();
        let end = (start + length).min(bytes.len());
        bytes.splice(start..end, insert.bytes());
        let mut world = World::new();
        world.files.files.insert(PATH.into(), bytes);
        world.now = at("2026-01-15T14:50:00Z");
        let before = errors(&world).len();
        for event in events {
            if world.try_to(&event).is_ok() && world.files.files.contains_key(PATH) {
                prop_assert!(errors(&world).len() <= before, "{:?}: {:?}", event, errors(&world));
            }
        }
        let moment = world.moment();
        let _ = resume(&world.place, &world.files, None, &moment);
    }
}

#[test]
fn what_a_stage_begins_with_goes_with_it_and_what_somebody_planned_stays() {
    let mut world = World::started();
    let planned = StepMove { next: Some("draw the chart".into()), ..step(StepTo::Done, &["one"]) };
    world.ok(Event::StepMoved(planned));
    let change = world.ok(stage("S2.P2"));
    assert_eq!(world.json()["next_steps"], json!(["Read S2.P2 guide", "draw the chart"]));
    assert_eq!(change.warnings, ["steps of S2.P1 are still open and stay among the next ones: draw the chart"]);
    assert!(world.ok(stage("S2.P3")).warnings[0].to_string().ends_with(": draw the chart"));
    assert_eq!(world.json()["next_steps"], json!(["Read S2.P3 guide", "draw the chart"]));
}

/// The copy of the old checkpoint comes before the new one, so that no moment is without a whole checkpoint.
#[test]
fn the_backup_comes_before_the_update() {
    let world = World::started();
    let old = world.files.text(PATH).to_owned();
    for event in [Event::Beat, block("no key"), stage("S2.P2"), Event::Resumed { mode: None }] {
        let mut world = World { files: world.files.clone(), ..World::new() };
        let change = world.wait(1).try_to(&event).unwrap_or_else(|refusal| panic!("{event:?}: {refusal}"));
        let paths: Vec<_> = change.effects.iter().map(piton_model::Effect::path).collect();
        let backup = "agent_checkpoints/backups/secondary_a_20260115_140100.json";
        let place = |wanted: &str| paths.iter().position(|path| *path == wanted).expect("it is written");
        assert!(place(backup) < place(PATH), "{event:?}: {paths:?}");
        assert_eq!(world.files.text(backup), old, "{event:?}");
    }
}

#[test]
fn a_handoff_package_names_the_checkpoint_only_when_work_is_taken_over() {
    let mut world = World::started();
    world.place.root = "/repo".to_owned();
    world.wait(60);
    world.ok(Event::TakenOver { agent: "Secondary-C".into() });
    let place = Place { id: vec![Id::parse("Secondary-C").expect("an id")], ..world.place.clone() };
    let moment = world.moment();
    let package = |from: Option<&str>| crate::crew::handoff(&place, &world.files, from, &moment).expect("a package");
    let taken = package(Some("Secondary-A"));
    for line in [
        "I'm taking over feature_02_team_penalty from crashed Secondary-A.",
        "Resuming work from crashed agent Secondary-A.",
        "Checkpoint File: agent_checkpoints/secondary_c.json",
        "Resume from: S2.P1 (Research Phase - Starting)",
        "Epic Path: /repo",
        "My Assignment: feature_02_team_penalty",
    ] {
        assert!(taken.lines().any(|found| found == line), "{line}: {taken}");
    }
    let fresh = package(None);
    assert!(!fresh.contains("heckpoint") && !fresh.contains("crashed"), "{fresh}");
    assert!(
        fresh.contains("\nBegin S2.P1 now.\n") && fresh.contains("My Assignment: feature_02_team_penalty"),
        "{fresh}"
    );
}

/// Nothing readable is left: neither a checkpoint nor a backup. The feature begins again, and the torn file is kept.
#[test]
fn a_feature_whose_checkpoint_is_lost_for_good_begins_again() {
    let mut world = World::with("{\"agent_id\": \"Sec");
    assert_eq!(world.refused(Event::Beat).kind, RefusalKind::Document);
    world.ok(start("feature_02_team_penalty"));
    holds(&world.json(), &json!({"stage": "S2.P1", "status": "IN_PROGRESS", "feature": "feature_02_team_penalty"}));
    let kept: Vec<_> = world.files.list("agent_checkpoints");
    assert!(kept.iter().any(|name| name.starts_with("secondary_a_aborted_")), "{kept:?}");
    assert_eq!(errors(&world), [""; 0]);
}
