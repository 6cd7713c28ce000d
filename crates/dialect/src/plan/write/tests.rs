use piton_model::{
    Effect, Event, GateJudgement, Id, Moment, Names, NotePurpose, RefusalKind, ResumeAction, Severity, Start, StepMove,
    StepTo, Time,
};
use serde_json::{Value as NewValue, json};

use super::super::{PlanFiles, checksum, read, resume};
use super::*;
use crate::Source;
use crate::files::memory::MemoryFiles;

mod cascades;
mod marks;
mod sequences;
mod transitions;

/// The markers of the protocol's own document, as one plan.
const PLAN: &str = "# Feature\n\n## Phase 1: Setup\n<!-- CHECKPOINT: phase-1-setup -->\n\n\
    - [ ] Create database schema <!-- TASK: db-schema -->\n- [ ] Setup auth middleware <!-- TASK: auth-middleware -->\n\
    - [ ] All migrations pass <!-- ACCEPT: migrations -->\n\n## Phase 2: Ship\n<!-- CHECKPOINT: phase-2-ship -->\n\n\
    - [ ] Deploy <!-- TASK: deploy -->\n";

const ID: &str = "260220-1149-feature";

fn path(name: &str) -> String {
    format!("plans/{ID}/{name}")
}

fn place() -> Place {
    let id = vec![Id::parse(ID).expect("an id")];
    Place {
        base: String::new(),
        id,
        document: Some(path("plan.md")),
        root: "/repo".to_owned(),
        typed_below: String::new(),
    }
}

fn at(clock: &str, by: &str) -> Moment {
    let time = crate::time::read(&format!("2026-02-20T{clock}:00Z")).time().expect("a time");
    Moment { now: time, by: by.to_owned(), attempt: 1, session: None, fresh_id: "f1".to_owned(), ticket: None }
}

fn with(files: &[(&str, &str)]) -> MemoryFiles {
    let files = files.iter().map(|(name, text)| (path(name), text.as_bytes().to_vec())).collect();
    MemoryFiles { files, ..MemoryFiles::default() }
}

fn step(to: StepTo, steps: &[&str]) -> Event {
    Event::StepMoved(StepMove::new(to, steps.iter().map(|step| (*step).to_owned()).collect()))
}

fn done(steps: &[&str]) -> Event {
    step(StepTo::Done, steps)
}

fn gate(passed: bool, name: &str) -> Event {
    Event::GateJudged(GateJudgement { passed, names: vec![name.to_owned()], step: None, evidence: None })
}

fn start() -> Event {
    Event::Started(Start::default())
}

fn helper(steps: &[&str]) -> Event {
    let steps = steps.iter().map(|step| (*step).to_owned()).collect();
    Event::HelperStarted { kind: "fullstack".to_owned(), agent: None, steps }
}

/// Records an event, does what the change asks for, and returns it.
fn go(files: &mut MemoryFiles, event: &Event, moment: &Moment) -> Change {
    let change = record(&place(), files, event, moment).unwrap_or_else(|refusal| panic!("{event:?}: {refusal:?}"));
    files.apply(&change);
    change
}

fn refused(files: &MemoryFiles, event: &Event) -> Refusal {
    record(&place(), files, event, &at("12:00", "main")).expect_err("a refusal")
}

fn state(files: &MemoryFiles) -> NewValue {
    serde_json::from_str(files.text(&path(".checkpoint/state.json"))).expect("JSON")
}

fn history(files: &MemoryFiles) -> Vec<NewValue> {
    let lines = files.text(&path(".checkpoint/history.jsonl")).lines();
    lines.map(|line| serde_json::from_str(line).unwrap_or(NewValue::Null)).collect()
}

fn events(files: &MemoryFiles) -> Vec<String> {
    history(files).iter().map(|line| line["event"].as_str().unwrap_or("?").to_owned()).collect()
}

/// The unit and the findings that the reader makes of the files.
fn reading(files: &MemoryFiles, now: Time) -> crate::Reading {
    let source = |name: &str| {
        let path = path(name);
        let bytes = files.files.get(&path)?;
        Some(Source { path: path.into(), bytes, modified: None })
    };
    let names = files.list(&format!("plans/{ID}"));
    let plan_files = PlanFiles {
        directory: format!("plans/{ID}"),
        plan: source("plan.md"),
        phases: names.iter().filter(|name| layout::is_phase_file(name)).filter_map(|name| source(name)).collect(),
        state: source(".checkpoint/state.json"),
        recovery: source(".checkpoint/recovery.json"),
        history: source(".checkpoint/history.jsonl"),
        legacy: None,
    };
    read(&plan_files, now)
}

#[test]
fn the_protocols_own_example_ends_in_its_own_states() {
    let mut files = with(&[("plan.md", PLAN)]);
    go(&mut files, &start(), &at("11:49", "main"));
    go(&mut files, &done(&["db-schema"]), &at("11:52", "main"));
    go(&mut files, &helper(&["auth-middleware"]), &at("12:05", "main"));
    go(&mut files, &done(&["auth-middleware"]), &at("12:15", "subagent:fullstack"));
    let completed = vec!["auth-middleware".to_owned()];
    let stopped = Event::HelperStopped { kind: "fullstack".to_owned(), agent: None, completed };
    go(&mut files, &stopped, &at("12:16", "main"));
    go(&mut files, &gate(true, "migrations"), &at("12:30", "main"));

    let lines = history(&files);
    assert_eq!(lines[0], json!({"ts":"2026-02-20T11:49:00Z","event":"checkpoint_created","planId":ID}));
    assert_eq!(
        lines[1],
        json!({"ts":"2026-02-20T11:52:00Z","event":"task_completed","taskId":"db-schema","by":"main"})
    );
    assert_eq!(
        lines[2],
        json!({"ts":"2026-02-20T12:05:00Z","event":"subagent_started","agentType":"fullstack","tasks":["auth-middleware"]})
    );
    assert_eq!(
        lines[3],
        json!({"ts":"2026-02-20T12:15:00Z","event":"task_completed","taskId":"auth-middleware","by":"subagent:fullstack"})
    );
    assert_eq!(
        lines[4],
        json!({"ts":"2026-02-20T12:16:00Z","event":"subagent_stopped","agentType":"fullstack","completed":1})
    );
    let last = lines.last().expect("a line");
    assert_eq!(*last, json!({"ts":"2026-02-20T12:30:00Z","event":"phase_completed","phaseId":"phase-1-setup"}));

    check_example_state(&files);
}

/// What the example leaves in the plan, its state and its backup.
fn check_example_state(files: &MemoryFiles) {
    let keys = |line: &NewValue, names: &[&str]| names.iter().map(|name| line[*name].clone()).collect::<Vec<_>>();
    let plan = files.text(&path("plan.md"));
    assert_eq!(plan, PLAN.replacen("[ ]", "[x]", 3));
    let state = state(files);
    assert_eq!(
        keys(&state, &["version", "planId", "planPath", "lastCheckpoint", "checksum", "currentPhase", "currentTask"]),
        [
            json!(2),
            json!(ID),
            json!(format!("/repo/plans/{ID}/plan.md")),
            json!("2026-02-20T12:30:00Z"),
            json!(checksum(plan.as_bytes())),
            json!("phase-2-ship"),
            json!("deploy")
        ]
    );
    assert_eq!(state["progress"], json!({"totalTasks": 3, "completedTasks": 2, "percentage": 66.7}));
    assert_eq!(
        state["phases"]["phase-1-setup"],
        json!({
            "status": "completed",
            "startedAt": "2026-02-20T11:52:00Z",
            "completedAt": "2026-02-20T12:30:00Z",
            "tasks": {
                "db-schema": {"done": true, "completedAt": "2026-02-20T11:52:00Z", "completedBy": "main"},
                "auth-middleware": {"done": true, "completedAt": "2026-02-20T12:15:00Z", "completedBy": "subagent:fullstack"},
            },
            "acceptance": {"migrations": {"met": true, "verifiedAt": "2026-02-20T12:30:00Z"}},
        })
    );
    assert_eq!(
        state["agents"]["subagent:fullstack"],
        json!({"type": "fullstack", "assignedTasks": ["auth-middleware"], "completedTasks": ["auth-middleware"],
            "lastActive": "2026-02-20T12:16:00Z"})
    );
    let recovery: NewValue =
        serde_json::from_str(files.text(&path(".checkpoint/recovery.json"))).expect("recovery is JSON");
    assert_eq!(keys(&recovery, &["savedAt", "reason"]), [json!("2026-02-20T12:30:00Z"), json!("phase_completed")]);
    assert_eq!(recovery["state"], state);
    let found = reading(files, at("12:31", "main").now);
    assert_eq!(found.findings, []);
}

#[test]
fn a_crash_is_told_when_somebody_resumes() {
    let mut files = with(&[("plan.md", PLAN)]);
    go(&mut files, &start(), &at("11:49", "main"));
    go(&mut files, &helper(&["db-schema"]), &at("12:05", "main"));
    let change = go(&mut files, &Event::Resumed { mode: None }, &at("12:45", "main"));
    assert_eq!(change.summary, "resumed at db-schema (0/3)");
    let lines = history(&files);
    let [crash, recovered] = &lines[lines.len() - 2..] else { panic!("two lines") };
    assert_eq!((&crash["event"], &crash["lastKnownState"]), (&json!("session_crash"), &json!("state.json")));
    assert_eq!(
        *recovered,
        json!({"ts":"2026-02-20T12:45:00Z","event":"session_recovered","from":"state.json","tasksRestored":0})
    );
    // The dead helper has nothing any more, so that nobody waits for it.
    assert_eq!(state(&files)["agents"]["subagent:fullstack"]["assignedTasks"], json!([]));
}

#[test]
fn a_copy_is_kept_every_five_checkpoints_and_before_a_helper() {
    let mut files = with(&[("plan.md", PLAN)]);
    go(&mut files, &start(), &at("11:49", "main"));
    let reasons: Vec<Option<String>> = (0..10)
        .map(|minute| {
            let change = go(&mut files, &Event::Beat, &at(&format!("12:{minute:02}"), "main"));
            let is_copy = |effect: &&Effect| effect.path() == path(".checkpoint/recovery.json");
            change.effects.iter().find(is_copy).map(|_| {
                let copy: NewValue =
                    serde_json::from_str(files.text(&path(".checkpoint/recovery.json"))).expect("JSON");
                copy["reason"].as_str().unwrap_or_default().to_owned()
            })
        })
        .collect();
    let places: Vec<_> = reasons.iter().enumerate().filter(|(_, reason)| reason.is_some()).map(|(n, _)| n).collect();
    assert_eq!(places, [3, 8]);
    assert_eq!(reasons[3].as_deref(), Some("every_5_checkpoints"));
}

#[test]
fn a_tick_changes_one_byte_whatever_the_file_is_like() {
    let phase = "\u{feff}# More\r\n<!-- CHECKPOINT: later -->\r\n* [ ] Odd  <!--TASK:odd-->\r\n1. [ ] Last <!-- ACCEPT: last -->";
    let mut files = with(&[("plan.md", PLAN), ("phase-01-more.md", phase)]);
    go(&mut files, &start(), &at("11:49", "main"));
    let change = go(&mut files, &done(&["odd"]), &at("11:50", "main"));
    assert!(!change.effects.iter().any(|effect| effect.path() == path("plan.md")));
    assert_eq!(files.text(&path("phase-01-more.md")), phase.replacen("[ ]", "[x]", 1));
    go(&mut files, &gate(true, "last"), &at("11:51", "main"));
    assert_eq!(files.text(&path("phase-01-more.md")), phase.replace("[ ]", "[x]"));
    assert_eq!(state(&files)["phases"]["later"]["status"], json!("completed"));
    go(&mut files, &gate(false, "last"), &at("11:52", "main"));
    assert_eq!(files.text(&path("phase-01-more.md")), phase.replacen("[ ]", "[x]", 1));
    let later = &state(&files)["phases"]["later"];
    assert_eq!((&later["status"], later.get("completedAt")), (&json!("in_progress"), None));
    assert_eq!(later["acceptance"]["last"], json!({"met": false}));
}

#[test]
fn a_box_that_is_ticked_keeps_its_letter() {
    let plan = "- [X] Big <!-- ACCEPT: big -->\n- [X] Large <!-- TASK: large -->\n";
    let mut files = with(&[("plan.md", plan)]);
    go(&mut files, &gate(true, "big"), &at("11:50", "main"));
    go(&mut files, &done(&["large"]), &at("11:51", "main"));
    assert_eq!(files.text(&path("plan.md")), plan);
}

#[test]
fn foreign_keys_and_layout_of_the_state_survive() {
    let mut files = with(&[("plan.md", PLAN)]);
    go(&mut files, &start(), &at("11:49", "main"));
    let odd = files.text(&path(".checkpoint/state.json"));
    let odd = odd.replacen("  \"version\": 2,", "  \"mine\": [1.50,   2e3],\n  \"version\": 2,", 1);
    let odd = odd.replacen("\"done\": false", "\"done\":   false, \"why\": {\"a\":1}", 1).replace('\n', "\r\n");
    files.files.insert(path(".checkpoint/state.json"), format!("\u{feff}{odd}").into_bytes());
    go(&mut files, &done(&["auth-middleware"]), &at("11:52", "main"));
    let new = files.text(&path(".checkpoint/state.json"));
    assert!(new.starts_with("\u{feff}{\r\n  \"mine\": [1.50,   2e3],\r\n"));
    assert!(new.contains("\"done\":   false, \"why\": {\"a\":1}"));
    assert!(!new.replace("\r\n", "").contains('\n'));
    let entry = "\"auth-middleware\": {\r\n          \"done\": true,\r\n          \"completedAt\": \"2026-02-20T11:52:00Z\",\r\n          \"completedBy\": \"main\"\r\n        }";
    assert!(new.contains(entry), "{new}");
}

#[test]
fn free_text_breaks_nothing() {
    let mut files = with(&[("plan.md", PLAN)]);
    go(&mut files, &start(), &at("11:49", "main"));
    let evil = "x --> <!-- TASK: forged -->\n{\"event\":\"task_completed\"}\n\"}\u{2028}\u{0}";
    let texts = [
        Event::Decided { text: evil.to_owned(), reason: Some(evil.to_owned()) },
        Event::Blocked { message: evil.to_owned(), kind: None },
        Event::Noted { text: evil.to_owned(), purpose: NotePurpose::Note },
        Event::Noted { text: evil.to_owned(), purpose: NotePurpose::ResumeInstruction },
        Event::Failed { step: None, message: evil.to_owned(), file: Some(evil.to_owned()), line: Some(3) },
        Event::BackedUp { reason: evil.to_owned() },
        Event::Paused { reason: Some(evil.to_owned()) },
    ];
    for (minute, event) in texts.iter().enumerate() {
        let change = go(&mut files, event, &at(&format!("12:{minute:02}"), "main"));
        assert!(!change.summary.contains(['\n', '\0', '\u{2028}']), "{:?}", change.summary);
    }
    assert_eq!(files.text(&path("plan.md")), PLAN);
    assert_eq!(events(&files).iter().filter(|event| *event == "task_completed").count(), 0);
    let state = state(&files);
    assert_eq!(state["decisions"][0]["decision"], json!(evil));
    assert_eq!(state["piton"]["resumeInstructions"], json!([evil]));
    let found = reading(&files, at("12:31", "main").now);
    assert_eq!(found.findings, []);
}

#[test]
fn what_was_said_is_told_to_whoever_resumes() {
    let mut files = with(&[("plan.md", PLAN)]);
    let said = [
        start(),
        done(&["db-schema"]),
        Event::Decided { text: "one database".to_owned(), reason: None },
        Event::Blocked { message: "no key".to_owned(), kind: None },
        Event::Noted { text: "run the linter first".to_owned(), purpose: NotePurpose::ResumeInstruction },
        Event::Paused { reason: Some("lunch".to_owned()) },
    ];
    said.iter().for_each(|event| drop(go(&mut files, event, &at("12:00", "main"))));
    let plan = resume(&place(), &files, None, &at("12:30", "main")).expect("a plan");
    assert_eq!((plan.action, plan.position.as_str()), (ResumeAction::Continue, "phase-1-setup · auth-middleware"));
    assert_eq!(
        plan.next,
        format!(
            "do the task auth-middleware of the phase phase-1-setup, then: piton step plan:{ID} done auth-middleware"
        )
    );
    assert_eq!(
        (plan.done, plan.remaining),
        (Names::from_iter(["db-schema"]), Names::from_iter(["auth-middleware", "migrations", "deploy"]))
    );
    assert_eq!(plan.instructions, ["run the linter first"]);
    assert_eq!(plan.reasons, ["it was paused", "1 blocker is recorded"]);
    let block = plan.block.expect("a block");
    assert!(block.contains("progress: 1/3 tasks (33.3%)") && block.contains("decision: \"one database\""), "{block}");

    files.files.insert(path("plan.md"), PLAN.replace("[ ]", "[x]").into_bytes());
    let plan = resume(&place(), &files, None, &at("12:30", "main")).expect("a plan");
    assert_eq!(plan.action, ResumeAction::Refuse);
    let gone = MemoryFiles::default();
    assert_eq!(resume(&place(), &gone, None, &at("12:30", "main")).expect("a plan").action, ResumeAction::Refuse);
}
