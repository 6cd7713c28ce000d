use piton_model::{
    Change, Event, Moment, NotePurpose, RefusalKind, ResumeMode, Severity, Start, State, StepMove, StepTo, Time,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{read_checkpoint, resume};
use super::*;
use crate::files::memory::MemoryFiles;
use crate::time;

mod transitions;

const PATH: &str = "agent_checkpoints/secondary_a.json";

/// A small world: files, and a clock.
pub(super) struct World {
    pub files: MemoryFiles,
    pub now: Time,
    pub place: Place,
    ids: u32,
}

impl World {
    pub fn new() -> World {
        let place = Place {
            base: String::new(),
            id: vec![Id::parse("Secondary-A").expect("an id")],
            document: None,
            root: String::new(),
            typed_below: String::new(),
        };
        World { files: MemoryFiles::default(), now: at("2026-01-15T14:00:00Z"), place, ids: 0 }
    }

    pub fn started() -> World {
        let mut world = World::new();
        world.ok(start("feature_02_team_penalty"));
        world
    }

    pub fn with(text: &str) -> World {
        let mut world = World::new();
        world.files.files.insert(PATH.into(), text.into());
        world
    }

    pub fn moment(&mut self) -> Moment {
        self.ids += 1;
        Moment {
            now: self.now,
            by: "main".into(),
            attempt: 1,
            session: None,
            fresh_id: format!("fresh-{}", self.ids),
            ticket: None,
        }
    }

    pub fn unit(&self) -> Unit {
        let source = Source { path: PATH.into(), bytes: &self.files.files[PATH], modified: None };
        read_checkpoint(&source, Detail::Full, self.now).unit.expect("a unit")
    }

    pub fn try_to(&mut self, event: &Event) -> Result<Change, Refusal> {
        let moment = self.moment();
        let change = record(&self.place, &self.files, event, &moment)?;
        self.files.apply(&change);
        Ok(change)
    }

    pub fn ok(&mut self, event: Event) -> Change {
        self.try_to(&event).unwrap_or_else(|refusal| panic!("{event:?}: {refusal}"))
    }

    pub fn refused(&mut self, event: Event) -> Refusal {
        let before = self.files.files.clone();
        let refusal = self.try_to(&event).expect_err("it is refused");
        assert_eq!(self.files.files, before);
        refusal
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(self.files.text(PATH)).expect("JSON")
    }

    pub fn wait(&mut self, minutes: u64) -> &mut World {
        self.now = self.now.after(Duration::from_secs(minutes * 60));
        self
    }
}

pub(super) fn at(text: &str) -> Time {
    time::read(text).time().expect("a time")
}

pub(super) fn start(feature: &str) -> Event {
    Event::Started(Start { feature: Some(feature.into()), ..Start::default() })
}

pub(super) fn step(to: StepTo, steps: &[&str]) -> StepMove {
    let steps = steps.iter().map(|step| (*step).to_owned()).collect();
    StepMove::new(to, steps)
}

pub(super) fn stage(stage: &str) -> Event {
    Event::StageEntered { stage: stage.into(), phase: None }
}

fn block(message: &str) -> Event {
    Event::Blocked { message: message.into(), kind: None }
}

/// The keys that an example names, in their order or not.
fn holds(found: &Value, wanted: &Value) {
    for (key, value) in wanted.as_object().expect("an object") {
        assert_eq!(&found[key], value, "{key}");
    }
}

#[test]
fn the_first_checkpoint_is_the_one_of_the_document() {
    let mut world = World::new();
    let change = world.ok(Event::Started(Start {
        feature: Some("feature_02_team_penalty".into()),
        stage: Some("S2.P1".into()),
        session: Some("abc123".into()),
        ..Start::default()
    }));
    assert_eq!(change.summary, "started feature_02_team_penalty at S2.P1");
    let want = json!({
        "agent_id": "Secondary-A",
        "agent_type": "secondary",
        "session_id": "abc123",
        "feature": "feature_02_team_penalty",
        "stage": "S2.P1",
        "phase": "Research Phase - Starting",
        "last_checkpoint": "2026-01-15T14:00:00Z",
        "next_checkpoint_expected": "2026-01-15T14:15:00Z",
        "status": "IN_PROGRESS",
        "can_resume": true,
        "blockers": [],
        "files_modified": [],
        "recovery_instructions": "Just started S2.P1. No work done yet. Start from beginning of S2.P1 Research Phase guide.",
        "current_step": "Reading S2.P1 guide",
        "completed_steps": ["Received handoff package", "Verified epic path", "Created checkpoint file"],
        "next_steps": ["Read S2.P1 guide", "Phase 0: Discovery Context Review", "Phase 1: Targeted Research"],
        "coordination_state": {
            "last_inbox_check": "2026-01-15T14:00:00Z",
            "unread_messages": 0,
            "last_epic_readme_update": "2026-01-15T14:00:00Z",
            "last_status_update": "2026-01-15T14:00:00Z"
        }
    });
    assert_eq!(world.json(), want);
    let keys = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&world.json()), keys(&want));
    assert_eq!(documents(&world.place, &world.files), [PATH]);
}

#[test]
fn the_update_of_the_document_is_reached_verb_by_verb() {
    let mut world = World::started();
    world.ok(Event::StepMoved(step(
        StepTo::Done,
        &["Read S2.P1 guide", "Phase 0: Discovery Context Review", "phase 1:  Targeted Research"],
    )));
    world.wait(15).ok(stage("S2.P2"));
    holds(
        &world.json(),
        &json!({"stage": "S2.P2", "phase": "Specification - Starting", "recovery_instructions": "Resume from beginning of S2.P2"}),
    );
    assert!(world.json()["completed_steps"].as_array().expect("a list").contains(&json!("S2.P1 complete")));
    let mut written = step(StepTo::Done, &["Read S2.P2 guide", "S2.P2 Phase 1: Requirements section written"]);
    written.files = vec!["feature_02_team_penalty/spec.md".into()];
    world.wait(10).ok(Event::StepMoved(written));
    let mut written = step(StepTo::Done, &["S2.P2 Phase 2: Integration section written"]);
    written.files = vec!["feature_02_team_penalty/checklist.md".into(), "feature_02_team_penalty/spec.md".into()];
    world.ok(Event::StepMoved(written));
    let plan = ["Complete Acceptance Criteria", "Write checklist.md questions", "Transition to S2.P3"];
    world.ok(Event::StepMoved(step(StepTo::Begun, &plan)));
    let mut begun = step(StepTo::Begun, &["Complete Acceptance Criteria"]);
    begun.message = Some("Resume from S2.P2 Specification Phase. spec.md is 80% complete.".into());
    world.wait(5).ok(Event::StepMoved(begun));
    holds(
        &world.json(),
        &json!({
            "agent_id": "Secondary-A",
            "session_id": "fresh-1",
            "stage": "S2.P2",
            "phase": "Specification - In Progress",
            "last_checkpoint": "2026-01-15T14:30:00Z",
            "next_checkpoint_expected": "2026-01-15T14:45:00Z",
            "status": "IN_PROGRESS",
            "files_modified": ["feature_02_team_penalty/spec.md", "feature_02_team_penalty/checklist.md"],
            "recovery_instructions": "Resume from S2.P2 Specification Phase. spec.md is 80% complete.",
            "current_step": "Complete Acceptance Criteria",
            "next_steps": plan,
        }),
    );
    world.ok(Event::StepMoved(step(StepTo::Done, &plan[..2])));
    let change = world.ok(stage("3"));
    assert_eq!((change.summary.as_str(), change.warnings.len()), ("entered S2.P3", 0));
    world.ok(Event::StepMoved(step(StepTo::Done, &["Read S2.P3 guide"])));
    assert_eq!(world.ok(Event::Finished).summary, "complete");
    holds(&world.json(), &json!({"status": "COMPLETE", "can_resume": false, "next_steps": [], "blockers": []}));
}

#[test]
fn instructions_follow_the_work_until_somebody_gives_others() {
    let mut world = World::started();
    world.ok(Event::StepMoved(step(StepTo::Done, &["Read S2.P1 guide"])));
    assert_eq!(
        world.json()["recovery_instructions"],
        "Resume from S2.P1 Research Phase. Continue with: Phase 0: Discovery Context Review"
    );
    world.ok(Event::StepMoved(step(StepTo::Begun, &["Phase 1: Targeted Research"])));
    assert_eq!(
        world.json()["recovery_instructions"],
        "Resume from S2.P1 Research Phase. Continue with: Phase 1: Targeted Research"
    );
    let text = "ask about \"quotes\"\n-->".to_owned();
    world.ok(Event::Noted { text: text.clone(), purpose: NotePurpose::ResumeInstruction });
    world.ok(Event::StepMoved(step(StepTo::Done, &["Phase 1: Targeted Research"])));
    assert_eq!(world.json()["recovery_instructions"], text.as_str());
    assert_eq!(world.json()["current_step"], "Phase 0: Discovery Context Review");
}

#[test]
fn ten_backups_of_exactly_this_agent_stay() {
    let mut world = World::started();
    let other = "agent_checkpoints/backups/secondary_a_b_20200101_000000.json";
    world.files.files.insert(other.into(), b"{}".to_vec());
    for _ in 0..12 {
        world.ok(Event::Beat);
    }
    world.wait(1).ok(Event::Beat);
    let names = world.files.list("agent_checkpoints/backups");
    assert_eq!(names.len(), 11);
    assert!(names.contains(&"secondary_a_b_20200101_000000.json".to_owned()));
    assert!(names.contains(&"secondary_a_20260115_140100.json".to_owned()));
    assert!(names.contains(&"secondary_a_20260115_140000_12.json".to_owned()));
    assert!(!names.contains(&"secondary_a_20260115_140000_3.json".to_owned()));
}

#[test]
fn a_torn_checkpoint_is_restored_from_the_newest_whole_backup() {
    let mut world = World::started();
    world.wait(1).ok(Event::StepMoved(step(StepTo::Done, &["Read S2.P1 guide"])));
    world.wait(1).ok(Event::Beat);
    world.files.files.insert("agent_checkpoints/backups/secondary_a_20260115_235900.json".into(), b"{torn".to_vec());
    world.files.files.insert("agent_checkpoints/backups/secondary_ab_20260115_235900.json".into(), b"{}".to_vec());
    world.files.files.insert(PATH.into(), b"{\"agent_id\": \"Sec".to_vec());
    let mut repaired = World { files: world.files.clone(), place: world.place.clone(), ..World::new() };
    repaired.now = world.now;
    let change = repaired.ok(Event::Repaired);
    assert_eq!(change.summary, "restored from agent_checkpoints/backups/secondary_a_20260115_140200.json");
    assert_eq!(repaired.json()["last_checkpoint"], "2026-01-15T14:01:00Z");
    let aside = format!("{PATH}.corrupt_{}", world.now.unix_seconds());
    assert_eq!(repaired.files.text(&aside), "{\"agent_id\": \"Sec");
    assert_eq!(repaired.ok(Event::Repaired), Change { summary: "nothing to repair".into(), ..Change::default() });
    let change = world.ok(Event::Beat);
    assert!(change.warnings[0].to_string().contains("restored from"), "{change:?}");
    assert_eq!(world.json()["completed_steps"][3], "Read S2.P1 guide");
    assert_eq!(world.files.text(&aside), "{\"agent_id\": \"Sec");
}

#[test]
fn a_lost_checkpoint_comes_back_unless_it_was_archived() {
    let mut world = World::started();
    world.wait(1).ok(Event::Beat);
    let all = world.files.clone();
    world.files.files.remove(PATH);
    assert_eq!(world.refused(Event::Beat).kind, RefusalKind::Missing);
    world.ok(Event::Repaired);
    assert_eq!(world.json()["status"], "IN_PROGRESS");
    world.files = all;
    world.wait(1).ok(Event::TakenOver { agent: "Secondary-C".into() });
    assert_eq!(world.refused(Event::Repaired).kind, RefusalKind::Missing);
}

#[test]
fn another_agent_takes_over_and_the_old_checkpoint_is_archived() {
    let mut world = World::started();
    world.wait(60).ok(Event::StepMoved(step(StepTo::Done, &["Read S2.P1 guide"])));
    let old = world.json();
    let epoch = world.now.unix_seconds();
    world.ok(Event::TakenOver { agent: "Secondary-C".into() });
    let archive = format!("agent_checkpoints/secondary_a_crashed_{epoch}.json");
    assert_eq!(serde_json::from_str::<Value>(world.files.text(&archive)).expect("JSON"), old);
    assert!(!world.files.files.contains_key(PATH));
    let new: Value = serde_json::from_str(world.files.text("agent_checkpoints/secondary_c.json")).expect("JSON");
    for key in ["feature", "stage", "completed_steps", "next_steps", "recovery_instructions", "current_step"] {
        assert_eq!(new[key], old[key], "{key}");
    }
    assert_eq!((&new["agent_id"], &new["session_id"]), (&json!("Secondary-C"), &json!("fresh-3")));
    let mut told = World::started();
    let epic = "<!-- BEGIN SECONDARY-A PROGRESS --><!-- END SECONDARY-A PROGRESS -->\n<!-- BEGIN SECONDARY-C PROGRESS -->\n<!-- END SECONDARY-C PROGRESS -->";
    told.files.files.insert("EPIC_README.md".into(), epic.into());
    told.ok(Event::TakenOver { agent: "Secondary-C".into() });
    let text = told.files.text("EPIC_README.md");
    assert!(
        text.starts_with("<!-- BEGIN SECONDARY-A PROGRESS -->\nSecondary-A: taken over by Secondary-C\n<!-- END"),
        "{text}"
    );
    assert!(text.contains("Secondary-C: IN_PROGRESS - S2.P1"), "{text}");
    let mut same = World::started();
    same.ok(Event::TakenOver { agent: "secondary_a".into() });
    same.ok(Event::TakenOver { agent: "secondary_a".into() });
    assert_eq!((&same.json()["agent_id"], &same.json()["session_id"]), (&json!("Secondary-A"), &json!("fresh-3")));
    assert_eq!(same.files.list("agent_checkpoints").len(), 3);
    same.files.files.insert("agent_checkpoints/primary.json".into(), b"{}".to_vec());
    assert_eq!(same.refused(Event::TakenOver { agent: "Agent-Primary".into() }).kind, RefusalKind::Rule);
    assert_eq!(same.refused(Event::TakenOver { agent: "../x".into() }).kind, RefusalKind::Usage);
    assert_eq!(same.refused(Event::TakenOver { agent: "x_crashed_1".into() }).kind, RefusalKind::Usage);
}

#[test]
fn only_little_work_is_given_up_without_force() {
    let mut world = World::started();
    world.wait(29).ok(Event::StepMoved(step(StepTo::Done, &["Read S2.P1 guide"])));
    let mut young = World { files: world.files.clone(), place: world.place.clone(), ..World::new() };
    young.now = world.now;
    young.ok(Event::Restarted { force: false });
    holds(&young.json(), &json!({"stage": "S2.P1", "feature": "feature_02_team_penalty", "session_id": "fresh-1"}));
    let archive = format!("agent_checkpoints/secondary_a_aborted_{}.json", young.now.unix_seconds());
    assert_eq!(young.files.text(&archive), world.files.text(PATH));
    // What was given up does not come back as a backup.
    young.files.files.insert(PATH.into(), b"{".to_vec());
    assert_eq!(young.refused(Event::Beat).kind, RefusalKind::Document);
    young.wait(1).ok(start("feature_02_team_penalty"));

    world.wait(1).ok(Event::Beat);
    let refusal = world.refused(Event::Restarted { force: false });
    assert_eq!((refusal.kind, refusal.hints.len()), (RefusalKind::Rule, 3));
    world.ok(Event::Restarted { force: true });
    assert_eq!(world.json()["stage"], "S2.P1");
}

#[test]
fn blockers_come_and_go_one_by_one() {
    let mut world = World::started();
    world.ok(block("the ledger is locked"));
    world.ok(Event::Blocked { message: "no key".into(), kind: Some("dependency".into()) });
    holds(&world.json(), &json!({"status": "BLOCKED", "blockers": ["the ledger is locked", "dependency: no key"]}));
    assert_eq!(world.refused(Event::Unblocked { which: Some("e".into()), answer: None }).kind, RefusalKind::Missing);
    let change = world.ok(Event::Unblocked { which: Some("ledger".into()), answer: None });
    assert_eq!(change.summary, "still blocked: dependency: no key");
    assert!(world.refused(Event::Finished).message.contains("no key"));
    world.ok(Event::Unblocked { which: Some("1".into()), answer: None });
    holds(&world.json(), &json!({"status": "IN_PROGRESS", "blockers": []}));
    assert_eq!(world.ok(Event::Unblocked { which: None, answer: None }).summary, "not blocked");
    assert_eq!(world.refused(block("none")).kind, RefusalKind::Usage);
    let none = "none - really";
    world.ok(Event::StepMoved(step(StepTo::Failed, &[none])));
    assert_eq!(world.json()["blockers"], json!(["Step failed: none - really"]));
}

#[test]
fn the_epic_and_the_feature_are_kept_up_to_date() {
    let mut world = World::started();
    let epic = "# Epic\r\n<!-- BEGIN SECONDARY-A PROGRESS -->\r\nmine\r\n<!-- END SECONDARY-A PROGRESS -->\r\nend";
    world.files.files.insert("EPIC_README.md".into(), epic.into());
    let status = "# by hand\nSTAGE:S2.P1\nSTATUS: IN_PROGRESS\nBLOCKERS: none\nMOOD: good\nREADY_FOR_SYNC: false";
    world.files.files.insert("feature_02_team_penalty/STATUS".into(), status.into());
    world.wait(5).ok(block("the <!-- END SECONDARY-A PROGRESS -->\nis --> missing"));
    let text = world.files.text("EPIC_README.md");
    assert!(text.starts_with(
        "# Epic\r\n<!-- BEGIN SECONDARY-A PROGRESS -->\r\nmine\r\nSecondary-A: BLOCKED - S2.P1, 3/6 steps"
    ));
    assert!(text.ends_with("(2026-01-15T14:05:00Z)\r\n<!-- END SECONDARY-A PROGRESS -->\r\nend"), "{text}");
    let text = world.files.text("feature_02_team_penalty/STATUS");
    assert!(text.starts_with("# by hand\nSTAGE: S2.P1\nSTATUS: BLOCKED\nBLOCKERS: the <! -- END"), "{text}");
    assert!(text.ends_with("\nMOOD: good\nREADY_FOR_SYNC: false"));
    assert_eq!(world.json()["coordination_state"]["last_epic_readme_update"], "2026-01-15T14:05:00Z");
    assert_eq!(world.json()["coordination_state"]["last_status_update"], "2026-01-15T14:05:00Z");
    world.wait(5).ok(Event::Unblocked { which: None, answer: None });
    let text = world.files.text("EPIC_README.md");
    assert_eq!((text.matches("Secondary-A: ").count(), text.matches("mine").count()), (1, 1));
    let status = "feature_02_team_penalty/STATUS";
    world.ok(Event::Paused { reason: None });
    let ready = world.files.text(status).replace("READY_FOR_SYNC: false", "READY_FOR_SYNC: true");
    world.files.files.insert(status.into(), ready.into());
    world.ok(Event::Beat);
    assert!(world.files.text(status).ends_with("READY_FOR_SYNC: true"), "an agent that waits may be ready");
}

#[test]
fn what_others_wrote_stays_as_it_is() {
    let text = "\u{feff}{\r\n\t\"agent_id\": \"Secondary-A\",\r\n\t\"mine\": 1.50,\r\n\t\"feature\": \"f\", \"stage\": \"S2.P1\",\r\n\t\"status\": \"working\",\r\n\t\"notes\": \"old\", \"next_steps\": \"one\"}";
    let mut world = World::with(text);
    world.ok(Event::Noted { text: "new".into(), purpose: NotePurpose::Note });
    let new = world.files.text(PATH);
    assert!(new.starts_with("\u{feff}{\r\n\t\"agent_id\": \"Secondary-A\",\r\n\t\"mine\": 1.50,\r\n"), "{new}");
    assert!(!new.contains("working\u{0}") && !new.ends_with('\n'));
    let json: Value = serde_json::from_str(new.trim_start_matches('\u{feff}')).expect("JSON");
    assert_eq!(json["notes"], json!(["old", "2026-01-15T14:00:00Z: new"]));
    assert_eq!((&json["status"], &json["next_steps"]), (&json!("working"), &json!("one")));
    for (text, kind) in [
        ("{\"name\": \"x\"}", RefusalKind::Document),
        ("{\"agent_id\": \"a\", \"agent_id\": \"b\", \"stage\": \"x\"}", RefusalKind::Document),
        ("[1]", RefusalKind::Document),
    ] {
        assert_eq!(World::with(text).refused(Event::Beat).kind, kind, "{text}");
    }
}

#[test]
fn a_checkpoint_in_prose_is_left_alone_and_one_in_json_may_start() {
    let mut world = World::new();
    world.files.files.insert("agent_checkpoints/secondary_a.md".into(), b"**Agent ID:** Secondary-A".to_vec());
    world.place.document = Some("agent_checkpoints/secondary_a.md".into());
    assert_eq!(world.refused(Event::Beat).kind, RefusalKind::Document);
    world.ok(start("feature_02"));
    assert_eq!(world.json()["feature"], "feature_02");
}

#[test]
fn a_resume_message_is_the_one_of_the_document() {
    let mut world = World::started();
    world.files.files.insert("spec.md".into(), Vec::new());
    let mut moved = step(StepTo::Begun, &["Writing Acceptance Criteria in spec.md", "Finish checklist.md questions"]);
    moved.files = vec!["spec.md".into()];
    world.ok(Event::StepMoved(moved));
    world.wait(45);
    let moment = Moment { attempt: 2, ..world.moment() };
    let plan = resume(&world.place, &world.files, None, &moment).expect("a plan");
    assert_eq!(plan.action, piton_model::ResumeAction::Continue);
    assert_eq!(
        plan.next,
        "go on with the step that is quoted below as \"current step\"; when step 1 is done: piton step crew:Secondary-A done 1"
    );
    assert_eq!(
        (plan.position.as_str(), plan.outputs),
        ("S2.P1 (Research Phase - In Progress)", vec!["spec.md".into()])
    );
    let block = plan.block.expect("a message");
    assert!(block.starts_with("✅ Checkpoint found! Resuming work...\n\n**Previous Session:**\n- Stage: S2.P1 (Research Phase - In Progress)\n- Last Update: 14:00 (45 minutes ago)\n- Status: IN_PROGRESS\n\n**Current State:**\n- spec.md: modified\n\n**Resuming from:** Writing Acceptance Criteria in spec.md\n\n**Next Steps:**\n1. Writing"), "{block}");
    assert!(block.ends_with("I'll continue where I left off..."));
    world.ok(Event::Resumed { mode: None });
    holds(
        &world.json(),
        &json!({
            "session_id": "fresh-4", "agent_id": "Secondary-A", "feature": "feature_02_team_penalty", "stage": "S2.P1",
            "status": "IN_PROGRESS"
        }),
    );
    let refused = resume(&world.place, &world.files, Some(ResumeMode::Restart), &moment).expect("a plan");
    assert_eq!(refused.action, piton_model::ResumeAction::Refuse);
}

#[test]
fn who_paused_an_agent_is_written_down_and_goes_with_the_pause() {
    let mut world = World::started();
    let pause = Event::Paused { reason: Some("a conflict".into()) };
    let lead = Moment { by: "lead".into(), ..world.moment() };
    let change = record(&world.place, &world.files, &pause, &lead).expect("it is paused");
    world.files.apply(&change);
    assert_eq!((&world.json()["status"], &world.json()["paused_by"]), (&json!("WAITING"), &json!("lead")));
    assert_eq!(world.unit().state, State::Paused { reason: Some("a conflict".into()) });
    assert!(!world.refused(Event::StepMoved(step(StepTo::Done, &["Read S2.P1 guide"]))).hints.is_empty());
    world.ok(Event::Resumed { mode: None });
    assert_eq!(world.json()["paused_by"], Value::Null);
    // An agent that waits for others says so of itself, and has released nothing.
    let own = Moment { ticket: Some(1.into()), ..world.moment() };
    let change = record(&world.place, &world.files, &pause, &own).expect("it waits");
    world.files.apply(&change);
    assert_eq!((world.unit().state, &world.json()["paused_by"]), (State::Waiting, &Value::Null));
}

#[test]
fn a_step_is_named_by_its_number() {
    let mut world = World::started();
    let open = |world: &World| world.json()["next_steps"].as_array().expect("a list").len();
    assert_eq!(open(&world), 3);
    world.ok(Event::StepMoved(step(StepTo::Done, &["2"])));
    assert!(world.json()["completed_steps"].to_string().contains("Phase 0: Discovery Context Review"));
    // What is done does not move the others.
    world.ok(Event::StepMoved(step(StepTo::Done, &["1", "3"])));
    assert_eq!(open(&world), 0);
    let refusal = world.refused(Event::StepMoved(step(StepTo::Done, &["9"])));
    assert_eq!(refusal.kind, RefusalKind::Missing);
    world.ok(Event::StepMoved(step(StepTo::Begun, &["it's new"])));
    let refusal = world.refused(Event::Finished);
    assert_eq!(refusal.hints[0], "when it is done: piton step crew:Secondary-A done 4");
}
