//! What is refused: with which exit code, that nothing changed, and that the hint is a way out.

use serde_json::Value;

use crate::support::replay::{Replay, documents, words};
use crate::support::{Run, Workspace};

const BUILD: &str = "09:00 start build:PRD-001 --title Quay --step WS1 --step WS2 --gate lint";
const TASK: &str = "09:00 start task:quay/T1 --title Quays --step north --step east --criterion listed";
const CREW: &str = "09:00 start crew:Secondary-A --feature tides --stage S2.P1";
const STORY: &str = "09:00 start pipeline:PROJ-1 --step T1 --step T2";
const PLAN: &str = "09:00 start plan:p";

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("plans/p/plan.md", crate::support::fixtures::PLAN);
    workspace
}

/// The commands that hints name and that can be run as they stand.
fn ways_out(run: &Run) -> Vec<String> {
    let commands = run.stderr.lines().filter(|line| line.starts_with("hint: "));
    let commands = commands.filter_map(|line| line.split_once("piton ").map(|(_, command)| command.to_owned()));
    commands.filter(|command| !command.split(' ').any(|word| word.len() > 1 && is_placeholder(word))).collect()
}

/// Whether a word stands for something that a person fills in. Ids of documents are upper case as well, but have digits.
fn is_placeholder(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_uppercase()) && !["PASS", "GO", "PLAN"].contains(&word) || word == "N"
}

#[test]
fn an_illegal_transition_is_refused_with_a_way_out_that_works() {
    for (row, (life, illegal)) in [
        // What leads there, and what is not legal then.
        (&[BUILD, "09:01 block build:PRD-001 --message storm"][..], "09:02 step build:PRD-001 begin WS1"),
        (&[BUILD, "09:01 block build:PRD-001 --message storm"], "09:02 resume build:PRD-001"),
        (&[BUILD, "09:01 step build:PRD-001 begin WS1"], "09:02 finish build:PRD-001"),
        (&[BUILD, "09:01 step build:PRD-001 begin WS1"], "09:02 pause build:PRD-001"),
        (&[BUILD, "09:01 step build:PRD-001 begin WS1"], "11:02 resume build:PRD-001"),
        (
            &[BUILD, "09:01 step build:PRD-001 begin WS1", "09:02 fail build:PRD-001 --step WS1 --message m"],
            "09:03 step build:PRD-001 begin WS1",
        ),
        (&[BUILD, "09:01 step build:PRD-001 begin WS1"], "09:02 gate build:PRD-001 pass lint --step WS1"),
        (&[BUILD], "09:02 takeover build:PRD-001 --as other"),
        (&[BUILD], "09:02 start build:PRD-001 --title Again --step WS1"),
        (&[BUILD], "09:02 reopen build:PRD-001"),
        (&[BUILD, "09:01 verdict build:PRD-001 do_not_ship --p0 1 --p1 0"], "09:02 step build:PRD-001 begin WS1"),
        (&[TASK, "09:01 block task:quay/T1 --message storm"], "09:02 step task:quay/T1 done north"),
        (&[TASK, "09:01 block task:quay/T1 --message storm"], "09:02 resume task:quay/T1"),
        (&[TASK, "09:01 pause task:quay/T1"], "09:02 step task:quay/T1 done north"),
        (&[TASK], "09:02 finish task:quay/T1"),
        (&[TASK], "09:02 start task:quay/T1 --title Again"),
        (&[TASK], "09:02 resume task:quay/T1"),
        (&[TASK], "09:02 reopen task:quay/T1"),
        (
            &[
                TASK,
                "09:01 step task:quay/T1 done north east",
                "09:01 gate task:quay/T1 pass listed",
                "09:01 finish task:quay/T1",
            ],
            "09:02 step task:quay/T1 done east",
        ),
        (&[CREW, "09:01 block crew:Secondary-A --message storm"], "09:02 step crew:Secondary-A done x"),
        (&[CREW, "09:01 block crew:Secondary-A --message storm"], "09:02 finish crew:Secondary-A"),
        (&[CREW], "09:02 stage crew:Secondary-A S2.P3"),
        (&[CREW], "09:02 finish crew:Secondary-A"),
        (&[CREW], "09:02 resume crew:Secondary-A"),
        (&[CREW], "09:02 start crew:Secondary-A --feature tides --stage S2.P1"),
        (&[CREW, "09:40 step crew:Secondary-A done x"], "09:41 restart crew:Secondary-A"),
        (&[STORY, "09:01 block pipeline:PROJ-1 --message storm"], "09:02 verdict pipeline:PROJ-1 PLAN --score 3"),
        (&[STORY, "09:01 block pipeline:PROJ-1 --message storm"], "09:02 resume pipeline:PROJ-1"),
        (&[STORY, "09:01 pause pipeline:PROJ-1"], "09:02 stage pipeline:PROJ-1 1"),
        (
            &[
                STORY,
                "09:01 verdict pipeline:PROJ-1 PLAN --score 3",
                "09:01 stage pipeline:PROJ-1 1",
                "09:01 verdict pipeline:PROJ-1 GO --score 9",
                "09:01 stage pipeline:PROJ-1 2",
            ],
            "09:02 stage pipeline:PROJ-1 3",
        ),
        (&[STORY], "09:02 start pipeline:PROJ-1"),
        (&[STORY], "09:02 resume pipeline:PROJ-1"),
        (&[PLAN, "09:01 pause plan:p"], "09:02 step plan:p done fit"),
        (&[PLAN], "09:02 finish plan:p"),
        (&[PLAN], "09:02 restart plan:p"),
        (&[PLAN], "09:02 verdict plan:p PASS"),
    ]
    .into_iter()
    .enumerate()
    {
        let workspace = workspace();
        let mut replay = Replay::new(&workspace);
        life.iter().for_each(|line| drop(replay.run(line).exits(0)));
        let run = replay.refused(4, illegal);
        let ways = ways_out(&run);
        let names_a_command = run.stderr.lines().any(|line| line.starts_with("hint: ") && line.contains("piton "));
        assert!(names_a_command, "row {row}: no hint names a command\n{}", run.transcript());
        for way in ways.iter().take(1) {
            replay.run(&format!("11:03 {way}")).exits(0);
        }
    }
}

#[test]
fn what_is_not_there_is_named() {
    for (life, unknown, similar) in [
        (BUILD, "09:02 step build:PRD-001 begin WS9", "WS1"),
        (BUILD, "09:02 gate build:PRD-001 pass lnt", "lint"),
        (BUILD, "09:02 stage build:PRD-002 1", "build:PRD-001"),
        (TASK, "09:02 step task:quay/T1 done west", "north"),
        (TASK, "09:02 gate task:quay/T1 pass painted", "listed"),
        (TASK, "09:02 beat task:quay/T2", "task:quay/T1"),
        (CREW, "09:02 beat crew:Secondary-B", "crew:Secondary-A"),
        (STORY, "09:02 fail pipeline:PROJ-1 --step T9 --message m", "T1"),
        (STORY, "09:02 note pipeline:PROJ-2 x", "pipeline:PROJ-1"),
        (PLAN, "09:02 step plan:p done fitt", "fit"),
        (PLAN, "09:02 gate plan:p pass visble", "visible"),
        (PLAN, "09:02 decide plan:q x", "plan:p"),
    ] {
        let workspace = workspace();
        let mut replay = Replay::new(&workspace);
        replay.all(life);
        let run = replay.refused(5, unknown);
        assert!(run.stderr.contains(similar), "{}", run.transcript());
    }
}

#[test]
fn a_command_line_that_lacks_something_is_refused_before_anything_is_read() {
    let workspace = workspace();
    let before = workspace.fingerprint();
    for line in [
        "start",
        "step build:PRD-001",
        "step build:PRD-001 done",
        "step build:PRD-001 finished WS1",
        "stage pipeline:PROJ-1",
        "gate build:PRD-001 pass",
        "verdict build:PRD-001",
        "block build:PRD-001",
        "fail build:PRD-001",
        "fail build:PRD-001 --message m --line 3",
        "note build:PRD-001",
        "note build:PRD-001 x --resume y",
        "decide build:PRD-001",
        "takeover crew:Secondary-A",
        "beat",
        "finish",
        "show",
        "diff",
        "rollback",
        "log",
        "plan",
        "plan mark",
        "resume build:PRD-001 --restart --continue",
        "beat build:PRD-001 --attempt one",
        "beat build:PRD-001 --wait soon",
        "beat build:PRD-001 --wait=-1",
        "start build:PRD-001",
        "start build:PRD-001 --title T --total 3 --step WS1",
        "start task:T1 --title T",
        "start crew:Secondary-A",
        "start crew:Secondary-A --feature f --stage S9",
        "start crew:Secondary-A --feature f --stage S2.P1 --type third",
        "start pipeline:PROJ-1 --stage 7",
        "start pipeline:PROJ-1 --estimate soon",
    ] {
        let words = words(line);
        let arguments: Vec<&str> = words.iter().map(String::as_str).collect();
        let run = workspace.run(&arguments).exits(2);
        assert!(run.stderr.starts_with("error: ") && run.stdout.is_empty(), "{}", run.transcript());
    }
    let run = workspace.call(&["beat", "plan:p"]).env("PITON_ATTEMPT", "first").run().exits(2);
    assert!(run.stderr.contains("PITON_ATTEMPT"), "{}", run.transcript());
    assert!(!workspace.path(".piton").exists(), "a wrong command line made a journal");
    assert_eq!(workspace.fingerprint(), before);
}

fn last_event(workspace: &Workspace, unit: &str) -> Value {
    let log = workspace.run(&["log", unit, "--json"]).exits(0).json();
    log["events"].as_array().and_then(|events| events.last()).cloned().expect("an event")
}

#[test]
fn a_writer_of_another_attempt_is_shut_out() {
    for (life, unit, write) in [
        (BUILD, "build:PRD-001", "step build:PRD-001 begin WS1"),
        (TASK, "task:quay/T1", "step task:quay/T1 done north"),
        (CREW, "crew:Secondary-A", "step crew:Secondary-A done x"),
        (STORY, "pipeline:PROJ-1", "verdict pipeline:PROJ-1 PLAN --score 3"),
        (PLAN, "plan:p", "step plan:p done fit"),
    ] {
        let workspace = workspace();
        let mut replay = Replay::new(&workspace);
        replay.all(life);
        replay.all(&format!("11:50 resume {unit} --force"));
        let before = documents(&workspace);
        let old = replay.run(&format!("11:51 {write} --attempt 1")).exits(4);
        assert!(
            old.stderr.starts_with(&format!("error: attempt 1 of {unit} is over: attempt 2 has begun\n")),
            "{}",
            old.transcript()
        );
        let refused = last_event(&workspace, unit);
        assert_eq!((&refused["event"], &refused["attempt"]), (&"refused".into(), &2.into()), "{refused:#}");
        let words = words(write);
        let arguments: Vec<&str> = words.iter().map(String::as_str).collect();
        workspace.call(&arguments).env("PITON_ATTEMPT", "1").run().exits(4);
        let new = replay.run(&format!("11:52 {write} --attempt 3")).exits(4);
        assert!(new.stderr.contains("has not begun"), "{}", new.transcript());
        assert_eq!(documents(&workspace), before, "{unit} was changed by a writer that was refused");
        workspace.call(&arguments).env("PITON_ATTEMPT", "2").run().exits(0);
        assert_ne!(documents(&workspace), before);
    }
}

#[test]
fn of_two_that_resume_at_once_one_gets_the_unit() {
    for (life, unit) in [
        (BUILD, "build:PRD-001"),
        (TASK, "task:quay/T1"),
        (CREW, "crew:Secondary-A"),
        (STORY, "pipeline:PROJ-1"),
        (PLAN, "plan:p"),
    ] {
        let workspace = workspace();
        Replay::new(&workspace).all(life).all(&begun(unit));
        let runs = std::thread::scope(|scope| {
            let resume = |who| workspace.call(&["resume", unit, "--continue", "--by", who]).run();
            let threads = ["one", "other"].map(|who| scope.spawn(move || resume(who)));
            threads.map(|thread| thread.join().expect("a call ends"))
        });
        let codes = runs.each_ref().map(|run| run.code);
        let all = || runs.iter().map(Run::transcript).collect::<String>();
        let lost = match codes {
            [Some(0), Some(4)] => 1,
            [Some(4), Some(0)] => 0,
            _ => panic!("{unit}: {}", all()),
        };
        let holder = if lost == 0 { "other" } else { "one" };
        assert!(runs[lost].stderr.contains(&format!("has a live agent: {holder}, attempt 2")), "{}", all());
    }
}

/// What makes a unit one that somebody works on.
fn begun(unit: &str) -> String {
    match unit.split_once(':').map(|(dialect, _)| dialect) {
        Some("build") => format!("09:01 step {unit} begin WS1"),
        _ => format!("09:01 beat {unit}"),
    }
}

#[test]
fn a_program_that_asks_is_answered_in_json_even_when_it_is_refused() {
    let workspace = workspace();
    Replay::new(&workspace).all(TASK);
    let refused = workspace.call(&["resume", "task:quay/T1", "--json"]).at("2026-02-20T09:02:00Z").run().exits(4);
    assert_eq!(refused.stderr, "");
    let refused = refused.json();
    assert_eq!((&refused["unit"], &refused["action"]), (&"task:quay/T1".into(), &"refuse".into()));
    assert!(refused["reasons"][0].as_str().is_some_and(|reason| reason.contains("live agent")), "{refused:#}");
    let resumed = workspace.run(&["resume", "task:quay/T1", "--json"]).exits(0).json();
    let keys = |value: &Value| value.as_object().map(|object| object.keys().cloned().collect::<Vec<_>>());
    assert_eq!(keys(&refused), keys(&resumed));
}

#[test]
fn evidence_that_fails_is_shown_and_nothing_is_recorded() {
    let workspace = workspace();
    Replay::new(&workspace).all(BUILD).all("09:01 step build:PRD-001 begin WS1");
    let before = documents(&workspace);
    let line = ["step", "build:PRD-001", "done", "WS1", "--evidence"];
    let run = workspace.run(&[&line[..], &["echo first; echo second; exit 3"]].concat()).exits(4);
    assert!(run.stderr.contains("ended with 3\n  | first\n  | second\nhint: "), "{}", run.transcript());
    assert_eq!(documents(&workspace), before);
    workspace.run(&[&line[..], &["echo fine"]].concat()).exits(0);
    let done = last_event(&workspace, "build:PRD-001");
    assert_eq!((&done["event"], &done["data"]["evidence"]["exit_code"]), (&"step_done".into(), &0.into()), "{done:#}");
}
