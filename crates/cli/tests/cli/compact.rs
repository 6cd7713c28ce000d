//! `compact`: a journal gets shorter, and what stays is as it was.

use insta::assert_snapshot;

use crate::support::Workspace;

const UNIT: &str = "build:PRD-009";

/// A build with twelve notes behind its start.
fn build() -> Workspace {
    let workspace = Workspace::new();
    workspace.run(&["start", UNIT, "--title", "Dredge the basin", "--step", "WS1", "--gate", "lint"]).exits(0);
    for note in 2..=13 {
        workspace.run(&["note", UNIT, &format!("note {note}")]).exits(0);
    }
    workspace
}

#[test]
fn old_events_go_and_numbers_stay() {
    let workspace = build();
    let show = |seq: u64| workspace.run(&["show", &format!("{UNIT}@{seq}")]).exits(0).stdout;
    let kept = [3, 5, 10, 11, 12, 13];
    let before = kept.map(show);
    let document = std::fs::read(workspace.path(".claude/skills/build-pipeline/checkpoints/PRD-009.json")).expect("it");
    let size = || std::fs::metadata(workspace.path(".piton/units/build/PRD-009/root/journal")).expect("it").len();
    let long = size();
    let compact = ["compact", UNIT, "--keep", "4", "--keep-version", "@3", "--keep-version", "5"];
    let compacted = workspace.run(&compact).exits(0);
    assert!(size() < long);
    let log = workspace.run(&["log", UNIT]).exits(0);
    let gone = workspace.run(&["show", &format!("{UNIT}@4")]).exits(5);
    assert_snapshot!([compacted.transcript(), log.transcript(), gone.transcript()].concat());
    assert_eq!(kept.map(show), before);
    let json = workspace.run(&["log", UNIT, "--json"]).exits(0).json();
    assert_eq!((&json["compacted_up_to"], &json["events"][0]["seq"]), (&9.into(), &3.into()));
    let same = std::fs::read(workspace.path(".claude/skills/build-pipeline/checkpoints/PRD-009.json")).expect("it");
    assert_eq!(same, document);
    assert!(workspace.run(&["note", UNIT, "on it goes"]).exits(0).stdout.ends_with("@15\n"));
    let back = workspace.run(&["rollback", &format!("{UNIT}@3")]).exits(0);
    assert!(back.stdout.ends_with("@16\n"), "{}", back.transcript());
    assert_eq!(show(16), before[0]);
}

#[test]
fn what_cannot_be_compacted_stays_as_it_is() {
    let workspace = build();
    let journal = || std::fs::read(workspace.path(".piton/units/build/PRD-009/root/journal")).expect("a journal");
    let before = journal();
    let mut transcripts = String::new();
    let mut run = |arguments: &[&str], code: i32| {
        transcripts.push_str(&workspace.run(arguments).exits(code).transcript());
    };
    run(&["compact", UNIT], 0);
    run(&["compact", UNIT, "--keep", "1", "--keep-version", "99"], 5);
    run(&["compact", UNIT, "--keep-version", "first"], 2);
    run(&["compact", "build:PRD-010"], 5);
    assert_snapshot!(transcripts);
    assert_eq!(journal(), before);
}
