//! Clocks that are set back and forward while units are at work.

use crate::support::Workspace;

const NOON: &str = "2026-02-20T12:00:00Z";
const LATER: &str = "2026-02-20T12:10:00Z";
/// Two hours back, before anything began.
const BEFORE: &str = "2026-02-20T10:00:00Z";
const DAYS_LATER: &str = "2026-02-22T10:00:00Z";

fn begun() -> Workspace {
    let workspace = Workspace::new();
    let commands = [
        "start pipeline:S-1 --stage 0",
        "start build:PRD-001 --title Quay --step WS1 --gate lint",
        "step build:PRD-001 begin WS1",
        "start task:quay/T1 --title Quay --total 1 --step a --estimate 30m",
        "start crew:Secondary-A --feature quay --stage S2.P1",
    ];
    for command in commands {
        at(&workspace, NOON, command);
    }
    workspace
}

fn at(workspace: &Workspace, time: &str, command: &str) -> String {
    let arguments: Vec<&str> = command.split(' ').collect();
    workspace.call(&arguments).at(time).run().exits(0).stdout
}

fn life(workspace: &Workspace, time: &str, unit: &str) -> (String, String) {
    let row = &workspace.call(&["status", unit, "--json"]).at(time).run().exits(0).json()["units"][0];
    let text = |key: &str| row[key].as_str().expect("a word").to_owned();
    (text("liveness"), text("last_seen"))
}

#[test]
fn a_beat_counts_by_the_clock_it_was_given_at_and_numbers_go_on() {
    let workspace = begun();
    for unit in ["pipeline:S-1", "build:PRD-001", "task:quay/T1", "crew:Secondary-A"] {
        let alive = |time: &str| {
            at(&workspace, time, &format!("beat {unit}"));
            assert_eq!(life(&workspace, time, unit), ("alive".to_owned(), time.to_owned()), "{unit}");
        };
        alive(LATER);
        // The clock is set back: the newest beat is the one of the earlier time.
        alive(BEFORE);
        // It jumps forward: nobody was there for two days, until somebody is.
        assert_eq!(life(&workspace, DAYS_LATER, unit), ("stale".to_owned(), BEFORE.to_owned()), "{unit}");
        alive(DAYS_LATER);
        let log = workspace.run(&["log", unit, "--json"]).exits(0).json();
        let numbers: Vec<_> = log["events"].as_array().expect("events").iter().map(|event| &event["seq"]).collect();
        let expected: Vec<_> = (1..=numbers.len()).map(serde_json::Value::from).collect();
        assert_eq!(numbers, expected.iter().collect::<Vec<_>>(), "{unit}");
    }
}

#[test]
fn work_that_ends_before_it_began_took_no_time() {
    let workspace = begun();
    at(&workspace, BEFORE, "step task:quay/T1 done a");
    let finished = at(&workspace, BEFORE, "finish task:quay/T1");
    assert!(finished.contains("0m") && !finished.contains('-'), "{finished}");
    // What the documents say is legal, whatever the clock did.
    let check = workspace.call(&["check", "--json"]).at(DAYS_LATER).run().exits(0).json();
    let errors = check["findings"].as_array().expect("findings").iter().filter(|each| each["severity"] == "error");
    assert_eq!(errors.count(), 0, "{check}");
}
