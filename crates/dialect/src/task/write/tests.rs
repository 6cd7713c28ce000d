use piton_model::{
    Event, GateJudgement, Id, Moment, Names, NotePurpose, RefusalKind, ResumeAction, Severity, Start, StepMove, Time,
    Verdict,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::resume;
use super::*;
use crate::files::memory::MemoryFiles;
use crate::time;

mod transitions;

const PATH: &str = "docs/progress/checkpoints/migration-T060.json";
const ARCHIVE: &str = "docs/progress/checkpoints/migration-T060-complete.json";
const STATUS: &str = "docs/progress/STATUS.md";
const OUTBOX: &str = "docs/progress/outbox/migration.md";

/// A small world: files, and a clock.
struct World {
    files: MemoryFiles,
    now: Time,
    place: Place,
}

impl World {
    fn new() -> World {
        let id = ["migration", "T060"].map(|part| Id::parse(part).expect("an id")).to_vec();
        let place = Place { base: "docs".into(), id, document: None, root: String::new(), typed_below: String::new() };
        World { files: MemoryFiles::default(), now: at("2025-12-08T14:30:25Z"), place }
    }

    fn started(change: fn(&mut Start)) -> World {
        let mut world = World::new();
        let mut start = Start { title: Some("Convert".into()), ..Start::default() };
        change(&mut start);
        world.ok(Event::Started(start));
        world
    }

    fn with(text: &str) -> World {
        let mut world = World::new();
        world.files.files.insert(PATH.into(), text.into());
        world
    }

    fn moment(&self) -> Moment {
        Moment { now: self.now, by: "main".into(), attempt: 1, session: None, fresh_id: "fresh".into(), ticket: None }
    }

    fn try_to(&mut self, event: &Event) -> Result<Change, Refusal> {
        let change = record(&self.place, &self.files, event, &self.moment())?;
        self.files.apply(&change);
        Ok(change)
    }

    fn ok(&mut self, event: Event) -> Change {
        self.try_to(&event).unwrap_or_else(|refusal| panic!("{event:?}: {refusal}"))
    }

    fn refused(&mut self, event: Event) -> Refusal {
        let before = self.files.files.clone();
        let refusal = self.try_to(&event).expect_err("it is refused");
        assert_eq!(self.files.files, before);
        refusal
    }

    fn json(&self) -> Value {
        json_of(self.files.text(PATH))
    }

    fn at(&mut self, text: &str) -> &mut World {
        self.now = at(text);
        self
    }
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).expect("JSON")
}

fn at(text: &str) -> Time {
    time::read(text).time().expect("a time")
}

fn step(to: StepTo, steps: &[&str]) -> StepMove {
    let steps = steps.iter().map(|step| (*step).to_owned()).collect();
    StepMove::new(to, steps)
}

fn moved(to: StepTo, steps: &[&str]) -> Event {
    Event::StepMoved(step(to, steps))
}

fn gate(passed: bool, names: &[&str]) -> Event {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    Event::GateJudged(GateJudgement { passed, names, step: None, evidence: None })
}

fn block(message: &str) -> Event {
    Event::Blocked { message: message.into(), kind: Some("dependency_missing".into()) }
}

/// Every key that an example names has its value; objects are compared key by key.
fn holds(found: &Value, wanted: &Value) {
    for (key, value) in wanted.as_object().expect("an object") {
        if value.is_object() { holds(&found[key], value) } else { assert_eq!(&found[key], value, "{key}") }
    }
}

const CRITERIA: [&str; 3] = ["29_files_created", "frontmatter_valid", "manifest_updated"];

fn the_task(start: &mut Start) {
    start.total = Some(29);
    start.criteria = CRITERIA.map(str::to_owned).to_vec();
    start.agent_name = Some("Riley".into());
    start.estimate_minutes = Some(90);
}

/// Processes the PDFs up to a number, as the document does.
fn process(world: &mut World, from: u32, to: u32) {
    for number in from..=to {
        let mut done = step(StepTo::Done, &[&format!("post-{number:02}")]);
        done.outputs = vec![format!("docs/content-extraction/pdfs-markdown/nature-trail/post-{number:02}.md")];
        done.next = (number < 29).then(|| format!("Post{:02}English.pdf", number + 1));
        world.ok(Event::StepMoved(done));
    }
}

#[test]
fn the_life_of_the_documents_own_task_is_replayed() {
    let mut world = World::started(the_task);
    holds(
        &world.json(),
        &json!({
            "checkpoint_id": "migration-T060-20251208-143025", "agent": "migration", "task_id": "T060",
            "status": "in_progress", "progress_percent": 0, "started_at": "2025-12-08T14:30:25Z",
            "updated_at": "2025-12-08T14:30:25Z", "subtasks": {"total": 29, "completed": 0, "items": []},
            "files_created": [], "resumable": true
        }),
    );
    assert_eq!(documents(&world.place, &world.files), [PATH]);
    world.at("2025-12-08T14:45:00Z");
    process(&mut world, 1, 10);
    world
        .ok(Event::StepMoved(StepMove { next: Some("Post11English.pdf".into()), ..step(StepTo::Begun, &["post-11"]) }));
    let json = world.json();
    holds(
        &json,
        &json!({
            "status": "in_progress", "progress_percent": 34, "updated_at": "2025-12-08T14:45:00Z",
            "subtasks": {"total": 29, "completed": 10},
            "context": {"last_processed": "Post10English.pdf", "next_to_process": "Post11English.pdf"}
        }),
    );
    assert_eq!(
        (&json["subtasks"]["items"][9]["id"], &json["files_created"][9]),
        (&json!("post-10"), &json!("docs/content-extraction/pdfs-markdown/nature-trail/post-10.md"))
    );
    process(&mut world, 11, 19);
    world.ok(gate(true, &CRITERIA[1..]));
    assert_eq!(world.json()["progress_percent"], 65);
    world.at("2025-12-08T14:52:10Z").ok(block("Cannot find source PDF: Post20English.pdf"));
    let text = "Resolve missing PDF, then continue from post-20";
    world.ok(Event::Noted { text: text.into(), purpose: NotePurpose::ResumeInstruction });
    holds(
        &world.json(),
        &json!({
            "status": "blocked", "progress_percent": 65, "resumable": true, "resume_instructions": text,
            "errors": [{"type": "dependency_missing", "message": "Cannot find source PDF: Post20English.pdf", "timestamp": "2025-12-08T14:52:10Z", "blocking": true}]
        }),
    );
    world.ok(Event::Unblocked { which: None, answer: None });
    assert_eq!((&world.json()["errors"], &world.json()["status"]), (&json!([]), &json!("in_progress")));
    assert_eq!(world.json()["error_history"][0]["resolved_at"], "2025-12-08T14:52:10Z");
    world.at("2025-12-08T14:55:00Z").ok(Event::Beat);
    assert_eq!(
        world.json()["heartbeat"],
        json!({"last_beat": "2025-12-08T14:55:00Z", "interval_seconds": 300, "status": "alive"})
    );
    process(&mut world, 20, 29);
    assert_eq!(world.json()["progress_percent"], 99);
    assert!(world.refused(Event::Finished).message.contains("29_files_created"));
    world.ok(gate(true, &CRITERIA[..1]));
    let verdict =
        Verdict { word: "PASS".into(), score: Some(88.0), reviewer: Some("agent_4".into()), ..Verdict::default() };
    world.ok(Event::VerdictGiven(verdict));
    let change = world.at("2025-12-08T15:30:00Z").ok(Event::Finished);
    assert_eq!(change.summary, "complete in 59m (estimated 90m)");
    assert!(!world.files.files.contains_key(PATH));
    holds(
        &json_of(world.files.text(ARCHIVE)),
        &json!({
            "status": "complete", "progress_percent": 100, "updated_at": "2025-12-08T15:30:00Z",
            "completed_at": "2025-12-08T15:30:00Z", "subtasks": {"total": 29, "completed": 29},
            "acceptance_criteria_met": {"29_files_created": true, "frontmatter_valid": true, "manifest_updated": true},
            "review_scores": {"agent_4": 88}, "resumable": false
        }),
    );
    let outbox = world.files.text(OUTBOX);
    assert!(outbox.contains("@orchestrator: Task T060 progress: 34%\n"));
    assert!(outbox.ends_with("@orchestrator: Task T060 progress: 100%\n"));
}

#[test]
fn the_full_example_goes_on_from_where_it_is() {
    let text = r#"{
  "checkpoint_id": "migration-T060-20251208-143025",
  "agent": "migration", "agent_name": "Riley", "task_id": "T060", "task_title": "Convert",
  "status": "in_progress", "progress_percent": 65,
  "started_at": "2025-12-08T14:30:25Z", "updated_at": "2025-12-08T14:52:10Z", "completed_at": null,
  "subtasks": {
    "total": 29, "completed": 19, "failed": 0,
    "items": [
      {"id": "post-01", "status": "complete", "output": "pdfs-markdown/post-01.md"},
      {"id": "post-02", "status": "complete", "output": "pdfs-markdown/post-02.md"},
      {"id": "post-20", "status": "in_progress", "output": null},
      {"id": "post-21", "status": "pending", "output": null}
    ]
  },
  "files_created": ["docs/pdfs-markdown/post-01.md"],
  "context": {"last_processed": "Post19English.pdf", "next_to_process": "Post20English.pdf", "notes": "flagged"},
  "resumable": true,
  "resume_instructions": "Continue from post-20.md",
  "mine": 1.50
}"#;
    let mut world = World::with(text);
    world.at("2025-12-08T15:00:00Z");
    let plan = resume(&world.place, &world.files, None, &world.moment()).expect("a plan");
    assert_eq!(
        (plan.action, plan.next.to_string().as_str()),
        (ResumeAction::Continue, "continue from Post20English.pdf; skip what is complete")
    );
    assert_eq!(
        (plan.done, plan.remaining),
        (Names::from_iter(["post-01", "post-02"]), Names::from_iter(["post-20", "post-21"]))
    );
    assert_eq!(plan.instructions, ["Continue from post-20.md"]);
    assert_eq!(plan.outputs, ["pdfs-markdown/post-02.md", "docs/pdfs-markdown/post-01.md"]);
    let change = world.ok(StepMove {
        outputs: vec!["docs/pdfs-markdown/post-20.md".into()],
        ..step(StepTo::Done, &["post-20"])
    }
    .into_event());
    assert_eq!(change.summary, "post-20 done (20/29)");
    let new = world.files.text(PATH);
    assert!(
        new.contains(
            "      {\"id\": \"post-20\", \"status\": \"complete\", \"output\": \"docs/pdfs-markdown/post-20.md\"},\n"
        ),
        "{new}"
    );
    assert!(new.contains("\"mine\": 1.50") && new.contains("\"progress_percent\": 68"));
    holds(
        &world.json(),
        &json!({"context": {"last_processed": "Post20English.pdf", "next_to_process": "post-21", "notes": "flagged"}, "resume_instructions": "Continue from post-20.md"}),
    );
    // A subtask that is not in the sample counts once.
    world.ok(moved(StepTo::Done, &["post-22"]));
    let change = world.ok(moved(StepTo::Done, &["post-22"]));
    assert_eq!(change.summary, "post-22 already done (21/29)");
    assert_eq!(world.json()["subtasks"]["completed"], 21);
}

trait IntoEvent {
    fn into_event(self) -> Event;
}

impl IntoEvent for StepMove {
    fn into_event(self) -> Event {
        Event::StepMoved(self)
    }
}

#[test]
fn a_partial_completion_is_reopened_for_what_is_missing() {
    let mut world = World::started(|start| {
        start.steps = vec!["one".into(), "two".into()];
        start.criteria = vec!["tidy".into()];
    });
    world.ok(moved(StepTo::Done, &["one"]));
    let claimed = world
        .files
        .text(PATH)
        .replace("\"in_progress\"", "\"complete\"")
        .replace("\"completed_at\": null", "\"completed_at\": \"2025-12-08T15:00:00Z\"");
    world.files.files.insert(PATH.into(), claimed.into());
    let moment = world.moment();
    let plan = resume(&world.place, &world.files, None, &moment).expect("a plan");
    assert_eq!(plan.action, ResumeAction::Refuse);
    let change = world.ok(Event::Reopened);
    assert_eq!(change.summary, "reopened for: criterion \"tidy\" is not met; not done: two");
    holds(
        &world.json(),
        &json!({"status": "in_progress", "completed_at": null, "resumable": true, "progress_percent": 50}),
    );
    world.ok(moved(StepTo::Done, &["two"]));
    world.ok(gate(true, &["tidy"]));
    world.ok(Event::Finished);
    let first = world.files.text(ARCHIVE).to_owned();
    assert_eq!(world.refused(Event::Beat).kind, RefusalKind::Rule);
    world.place.document = Some(ARCHIVE.into());
    assert_eq!(documents(&world.place, &world.files), [PATH, ARCHIVE]);
    assert_eq!(resume(&world.place, &world.files, None, &moment).expect("a plan").action, ResumeAction::Refuse);
    assert_eq!(world.ok(Event::Reopened).warnings.len(), 1);
    world.ok(gate(false, &["tidy"]));
    world.ok(gate(true, &["tidy"]));
    world.ok(Event::Finished);
    assert_eq!(world.files.text(ARCHIVE), first);
    assert!(world.files.files.contains_key("docs/progress/checkpoints/migration-T060-complete-2.json"));
}

#[test]
fn the_table_has_all_tasks_and_the_rest_of_the_file_stays() {
    let mut world = World::new();
    let other = |name: &str, text: &str| (format!("docs/progress/checkpoints/{name}.json"), text.as_bytes().to_vec());
    world.files.files.extend([
        other("content-T001", r#"{"agent": "content", "task_id": "T001", "status": "not_started", "progress_percent": 0}"#),
        other("technical-T040-complete", r#"{"agent": "technical", "task_id": "T040", "status": "complete", "progress_percent": 100, "updated_at": "2025-12-08T14:25:25Z"}"#),
        other("zebra-T1", r#"{"agent": "a|b <!-- piton:end active-checkpoints -->", "task_id": "T1", "status": "blocked", "progress_percent": 5, "updated_at": "2025-12-07T14:25:25Z"}"#),
        other("foreign", "{}"),
        other("torn", "{"),
    ]);
    world.files.files.insert(STATUS.into(), b"# Status\r\nmine".to_vec());
    world.ok(Event::Started(Start { total: Some(3), ..Start::default() }));
    let text = world.files.text(STATUS).to_owned();
    let rows = "| Agent | Task | Progress | Last Update | Status |\r\n|-------|------|----------|-------------|--------|\r\n| content | T001 | 0% | — | not started |\r\n| migration | T060 | 0% | just now | in_progress |\r\n| technical | T040 | 100% | 5 min ago | complete |\r\n| a\\|b <! -- piton:end active-checkpoints -- > | T1 | 5% | 24 h ago | blocked |\r\n";
    assert_eq!(
        text,
        format!(
            "# Status\r\nmine\r\n\r\n{}\r\n## Active Checkpoints\r\n\r\n{rows}{}\r\n",
            super::super::layout::BLOCK_BEGIN,
            super::super::layout::BLOCK_END
        )
    );
    world.ok(Event::TakenOver { agent: "courier".into() });
    let text = world.files.text(STATUS);
    assert!(
        text.starts_with("# Status\r\nmine\r\n\r\n")
            && text.contains("| courier | T060 |")
            && !text.contains("| migration |")
    );
    assert!(world.files.files.contains_key("docs/progress/checkpoints/courier-T060.json"));
    let mut torn = World::new();
    torn.files.files.insert(STATUS.into(), super::super::layout::BLOCK_BEGIN.as_bytes().to_vec());
    let change = torn.ok(Event::Started(Start::default()));
    assert_eq!((change.warnings.len(), torn.files.text(STATUS)), (1, super::super::layout::BLOCK_BEGIN));
}

#[test]
fn two_active_tasks_at_one_file_are_told() {
    let mut world = World::started(|start| start.total = Some(3));
    let mut other = World { place: world.place.clone(), files: world.files.clone(), now: world.now };
    other.place.id[0] = Id::parse("content").expect("an id");
    other.ok(Event::Started(Start::default()));
    other.ok(StepMove { files: vec!["docs/MANIFEST.json".into()], ..step(StepTo::Done, &["a"]) }.into_event());
    world.files = other.files.clone();
    let change =
        world.ok(StepMove { files: vec!["./docs/MANIFEST.json".into()], ..step(StepTo::Done, &["b"]) }.into_event());
    assert!(
        change.warnings[0].to_string().starts_with("\"docs/MANIFEST.json\" is also named by content/T060"),
        "{change:?}"
    );
    other.files = world.files.clone();
    other.ok(Event::Finished);
    world.files = other.files.clone();
    let change =
        world.ok(StepMove { files: vec!["docs/MANIFEST.json".into()], ..step(StepTo::Done, &["c"]) }.into_event());
    assert_eq!(change.warnings, [""; 0]);
}
