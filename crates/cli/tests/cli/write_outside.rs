//! Documents that somebody else changes between two commands.

use std::fs;

use crate::support::Workspace;
use crate::support::replay::words;

fn call(workspace: &Workspace, line: &str) -> crate::support::Run {
    let words = words(line);
    workspace.run(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

fn events(workspace: &Workspace, unit: &str) -> Vec<(String, String)> {
    let log = workspace.run(&["log", unit, "--json"]).exits(0).json();
    let text = |event: &serde_json::Value, key: &str| event[key].as_str().expect("a text").to_owned();
    log["events"].as_array().expect("events").iter().map(|event| (text(event, "event"), text(event, "by"))).collect()
}

type Life = (&'static str, &'static str, &'static str, (&'static str, &'static str), &'static str);

/// A unit of each dialect: how it starts, its document, an edit by hand, and a verb that comes after.
const LIVES: [Life; 5] = [
    (
        "build:PRD-001",
        "start build:PRD-001 --title Quay --step WS1 --step WS2 --gate lint",
        ".claude/skills/build-pipeline/checkpoints/PRD-001.json",
        ("\"Quay\"", "\"The long quay\""),
        "step build:PRD-001 begin WS1",
    ),
    (
        "task:quay/T1",
        "start task:quay/T1 --title Quays --step north --step east",
        "progress/checkpoints/quay-T1.json",
        ("\"Quays\"", "\"All quays\""),
        "step task:quay/T1 done north",
    ),
    (
        "crew:Secondary-A",
        "start crew:Secondary-A --feature tides --stage S2.P1",
        "agent_checkpoints/secondary_a.json",
        ("\"files_modified\": []", "\"files_modified\": [\"by-hand.md\"]"),
        "step crew:Secondary-A done dig",
    ),
    (
        "pipeline:H-1",
        "start pipeline:H-1 --title Lamp --step T1",
        ".pipeline/checkpoint-H-1.json",
        ("\"Lamp\"", "\"Two lamps\""),
        "verdict pipeline:H-1 PLAN --score 3",
    ),
    (
        "plan:p",
        "start plan:p",
        "plans/p/plan.md",
        ("- [ ] Light the lamp", "- [x] Light the lamp"),
        "step plan:p done fit",
    ),
];

fn started(start: &str) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("plans/p/plan.md", crate::support::fixtures::PLAN);
    call(&workspace, start).exits(0);
    workspace
}

fn read(workspace: &Workspace, path: &str) -> String {
    fs::read_to_string(workspace.path(path)).expect("the document")
}

#[test]
fn an_edit_by_hand_is_written_down_and_survives() {
    for (unit, start, path, (from, to), next) in LIVES {
        let workspace = started(start);
        let before = read(&workspace, path);
        assert!(before.contains(from), "{unit}: {before}");
        workspace.write(path, before.replace(from, to));
        let run = call(&workspace, next).exits(0);
        assert!(run.stderr.contains("warning: ") && run.stderr.contains(path), "{}", run.transcript());
        assert!(read(&workspace, path).contains(to), "{unit}: the edit is gone");
        let seen: Vec<_> = events(&workspace, unit).into_iter().filter(|(event, _)| event == "observed").collect();
        assert_eq!(seen, [("observed".to_owned(), "outside".to_owned())], "{unit}");
        let quiet = call(&workspace, &format!("beat {unit}")).exits(0);
        assert_eq!(quiet.stderr, "", "{unit}: said twice");
    }
}

#[test]
fn an_edit_by_hand_costs_the_journal_as_much_as_the_edit() {
    let workspace = started("start plan:p");
    let prose = "The quay is long, and so is what is said of it.\n".repeat(3_000);
    workspace.write("plans/p/plan.md", format!("{}\n{prose}", crate::support::fixtures::PLAN));
    call(&workspace, "beat plan:p").exits(0);
    let size = || fs::metadata(workspace.path(".piton/units/plan/p/root/journal")).expect("the journal").len();
    let before = size();
    let mut versions = Vec::new();
    for number in 0..4 {
        let text = format!("{}- a remark, number {number}\n", read(&workspace, "plans/p/plan.md"));
        workspace.write("plans/p/plan.md", &text);
        call(&workspace, "beat plan:p").exits(0);
        versions.push(text);
    }
    assert!(size() - before < 20_000, "{} bytes for four short lines", size() - before);
    let log = events(&workspace, "plan:p");
    let seen = (1..).zip(&log).filter(|(_, (event, _))| event == "observed").map(|(seq, _)| seq);
    let seen: Vec<usize> = seen.skip(1).collect();
    assert_eq!(seen.len(), versions.len(), "{log:?}");
    for (seq, text) in seen.into_iter().zip(versions) {
        let shown = workspace.run(&["show", &format!("plan:p@{seq}"), "--file", "plans/p/plan.md"]).exits(0);
        assert!(shown.stdout == text, "@{seq} is another text than was written then");
    }
}

#[test]
fn a_deleted_document_is_missed_and_comes_back() {
    for (unit, start, path, _, next) in LIVES {
        let workspace = started(start);
        let before = read(&workspace, path);
        fs::remove_file(workspace.path(path)).expect("a file can be removed");
        let run = call(&workspace, next);
        assert!(matches!(run.code, Some(1 | 5)), "{}", run.transcript());
        assert!(run.stderr.contains(&format!("piton repair {unit}")), "{}", run.transcript());
        assert!(!workspace.path(path).exists(), "{unit}: {next} made a new document");
        let back = call(&workspace, &format!("repair {unit}")).exits(0);
        assert!(back.stdout.contains(path) && back.stdout.contains('@'), "{}", back.transcript());
        assert_eq!(read(&workspace, path), before, "{unit}");
        call(&workspace, next).exits(0);
    }
}

#[test]
fn going_back_to_an_older_version_is_an_observation_and_stays() {
    for (unit, start, path, _, next) in LIVES {
        let workspace = started(start);
        let old = read(&workspace, path);
        call(&workspace, next).exits(0);
        assert_ne!(read(&workspace, path), old, "{unit}");
        workspace.write(path, &old);
        call(&workspace, &format!("note {unit} 'after the checkout'")).exits(0);
        let last: Vec<_> = events(&workspace, unit).into_iter().rev().take(2).map(|(event, _)| event).collect();
        assert_eq!(last, ["noted", "observed"], "{unit}");
        let now = read(&workspace, path);
        let newest = workspace.run(&["show", unit]).exits(0).stdout;
        assert!(newest == now || unit == "plan:p", "{unit}: what is shown is not what is there");
        call(&workspace, next).exits(0);
    }
}
