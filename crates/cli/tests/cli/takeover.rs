//! `takeover` and `restart`: a unit changes hands, unless the hand that has it moves.

use std::process::{Command, Stdio};

use insta::assert_snapshot;

use crate::support::Workspace;
use crate::support::fixtures::agent;
use crate::support::harbour::put;

const ALIVE: &str = "2026-02-20T11:55:00Z";
const STALE: &str = "2026-02-20T10:00:00Z";

fn crew(written: &str) -> Workspace {
    let workspace = Workspace::new();
    let document = agent("Secondary-A", "tide_gauges", "IN_PROGRESS", written, written);
    put(&workspace, "epics/e7/agent_checkpoints/secondary_a.json", &document);
    workspace
}

#[test]
fn the_new_agents_journal_begins_with_where_its_work_came_from() {
    let workspace = crew(STALE);
    let taken = workspace.run(&["takeover", "crew:Secondary-A", "--as", "Secondary-C"]).exits(0);
    let old = workspace.run(&["log", "crew:Secondary-A"]).exits(0);
    let new = workspace.run(&["log", "crew:Secondary-C"]).exits(0);
    assert_snapshot!([taken.transcript(), old.transcript(), new.transcript()].concat());
    let json = workspace.run(&["log", "crew:Secondary-C", "--json"]).exits(0).json();
    assert_eq!(json["events"][0]["data"], serde_json::json!({"from": "crew:Secondary-A", "seq": 2}));
    // The new agent goes on, and nothing that it does concerns the old one any more.
    assert!(workspace.run(&["beat", "crew:Secondary-C"]).exits(0).stdout.ends_with("@2\n"));
    let shown = workspace.run(&["show", "crew:Secondary-C@1"]).exits(0);
    assert!(shown.stdout.contains("\"agent_id\": \"Secondary-C\""), "{}", shown.transcript());
    workspace.run(&["repair", "crew:Secondary-A"]).exits(4);
    let start = ["start", "crew:Secondary-A", "--feature", "tide_bells", "--stage", "S2.P1"];
    let again = workspace.run(&start).exits(0);
    assert_eq!(
        (again.stdout.as_str(), again.stderr.as_str()),
        ("crew:Secondary-A started tide_bells at S2.P1 @3\n", "")
    );
}

#[test]
fn what_was_taken_over_waits_for_its_new_agent_and_for_one_alone() {
    let workspace = crew(STALE);
    workspace.run(&["takeover", "crew:Secondary-A", "--as", "Secondary-C"]).exits(0);
    // Nobody else is given it meanwhile, and it cannot be begun from nothing.
    workspace.run(&["takeover", "crew:Secondary-C", "--as", "Secondary-D"]).exits(4);
    workspace.run(&["restart", "crew:Secondary-C"]).exits(4);
    let resumed = workspace.run(&["resume", "crew:Secondary-C"]).exits(0);
    assert!(resumed.stdout.starts_with("# Resume crew:Secondary-C, attempt 2"), "{}", resumed.transcript());
    workspace.run(&["resume", "crew:Secondary-C"]).exits(4);
}

/// What happens to a unit while it waits does not make its new agent insist: an edit by hand, a document that cannot be
/// read, a visit of the agent that crashed.
#[test]
fn what_others_do_does_not_end_the_waiting() {
    let workspace = crew(STALE);
    workspace.run(&["takeover", "crew:Secondary-A", "--as", "Secondary-C"]).exits(0);
    let document = workspace.path("epics/e7/agent_checkpoints/secondary_c.json");
    let text = std::fs::read_to_string(&document).expect("a checkpoint");
    let edited = text.replacen("tide_gauges", "tide_gauges_2", 1);
    assert_ne!(text, edited);
    std::fs::write(&document, edited).expect("it can be edited");
    workspace.run(&["beat", "crew:Secondary-C", "--attempt", "0"]).exits(4);
    std::fs::write(&document, "{ torn").expect("it can be torn");
    workspace.run(&["beat", "crew:Secondary-C", "--attempt", "0"]).exits(4);
    let log = workspace.run(&["log", "crew:Secondary-C", "--json"]).exits(0).json();
    let events: Vec<_> = log["events"].as_array().expect("events").iter().map(|event| event["event"].clone()).collect();
    assert_eq!(events, ["taken_over", "observed", "refused", "observed", "restored", "refused"]);
    workspace.run(&["takeover", "crew:Secondary-C", "--as", "Secondary-D"]).exits(4);
    workspace.run(&["resume", "crew:Secondary-C"]).exits(0);
    // Now it has been begun.
    workspace.run(&["resume", "crew:Secondary-C"]).exits(4);
    assert!(workspace.run(&["beat", "crew:Secondary-C"]).exits(0).stderr.is_empty());
    workspace.run(&["resume", "crew:Secondary-C"]).exits(4);
}

#[test]
fn a_live_agent_keeps_its_unit_unless_somebody_insists() {
    let workspace = crew(ALIVE);
    let before = std::fs::read(workspace.path("epics/e7/agent_checkpoints/secondary_a.json")).expect("a checkpoint");
    let taken = workspace.run(&["takeover", "crew:Secondary-A", "--as", "Secondary-C"]).exits(4);
    let restarted = workspace.run(&["restart", "crew:Secondary-A"]).exits(4);
    assert_snapshot!([taken.transcript(), restarted.transcript()].concat());
    let after = std::fs::read(workspace.path("epics/e7/agent_checkpoints/secondary_a.json")).expect("a checkpoint");
    assert_eq!(before, after);
    workspace.run(&["restart", "crew:Secondary-A", "--force"]).exits(0);
    workspace.run(&["takeover", "crew:Secondary-A", "--as", "Secondary-C"]).exits(4);
    workspace.run(&["takeover", "crew:Secondary-A", "--as", "Secondary-C", "--force"]).exits(0);
}

#[test]
fn a_stale_agent_is_restarted_without_insisting() {
    let workspace = Workspace::new();
    let start = ["start", "crew:Secondary-A", "--feature", "tide_table", "--stage", "S2.P1"];
    workspace.call(&start).at("2026-02-20T10:00:00Z").run().exits(0);
    workspace.run(&["restart", "crew:Secondary-A"]).exits(0);
    let workspace = crew(STALE);
    let taken = workspace.run(&["takeover", "crew:Secondary-A", "--as", "secondary_a"]).exits(0);
    assert!(taken.stdout.starts_with("crew:Secondary-A taken over by Secondary-A"), "{}", taken.transcript());
}

#[test]
fn an_agent_with_work_of_its_own_takes_nothing_over() {
    let workspace = crew(STALE);
    let document = agent("Secondary-B", "tide_clock", "IN_PROGRESS", STALE, STALE);
    put(&workspace, "epics/e7/agent_checkpoints/secondary_b.json", &document);
    assert_snapshot!(workspace.run(&["takeover", "crew:Secondary-A", "--as", "Secondary-B"]).exits(4).transcript());
    workspace.run(&["takeover", "crew:Secondary-A", "--as", "../x"]).exits(2);
}

/// Many agents hand their work to each other in a ring, over and over. Whoever names an agent that has work is
/// refused; nobody waits for ever, and no work is lost or doubled.
#[test]
fn takeovers_that_cross_end() {
    let workspace = crew(STALE);
    let document = agent("Secondary-B", "tide_clock", "IN_PROGRESS", STALE, STALE);
    put(&workspace, "epics/e7/agent_checkpoints/secondary_b.json", &document);
    for _ in 0..4 {
        let children: Vec<_> = [("A", "B"), ("B", "A"), ("A", "C"), ("B", "C"), ("C", "A"), ("C", "B")]
            .iter()
            .map(|(from, to)| {
                let (from, to) = (format!("crew:Secondary-{from}"), format!("Secondary-{to}"));
                let mut command = Command::new(env!("CARGO_BIN_EXE_piton"));
                command.env_clear().current_dir(workspace.root()).stdin(Stdio::null());
                command.stdout(Stdio::null()).stderr(Stdio::piped());
                command.args(["takeover", &from, "--as", &to, "--force", "--wait", "30"]);
                command.spawn().expect("the binary starts")
            })
            .collect();
        for child in children {
            let output = child.wait_with_output().expect("a child can be waited for");
            let code = output.status.code();
            assert!(matches!(code, Some(0 | 4 | 5)), "{code:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
    let report = workspace.run(&["status", "--json"]).exits(0).json();
    let mut features: Vec<_> =
        report["units"].as_array().expect("units").iter().map(|unit| unit["title"].clone()).collect();
    features.sort_by_key(ToString::to_string);
    assert_eq!(features, ["tide_clock", "tide_gauges"]);
}
