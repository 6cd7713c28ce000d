//! `send` and `inbox`: messages between the agents of a crew, in the files of its protocol.

use std::process::{Command, Stdio};

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::Workspace;
use crate::support::fixtures::agent;
use crate::support::harbour::put;

const ALIVE: &str = "2026-02-20T11:55:00Z";
const NEXT: &str = "2026-02-20T12:10:00Z";

/// A crew of two in an epic's directory.
fn crew(workspace: &Workspace, epic: &str) {
    let document = agent("Agent-Primary", "tide_tables", "IN_PROGRESS", ALIVE, NEXT);
    put(workspace, &format!("{epic}agent_checkpoints/primary.json"), &document);
    let document = agent("Secondary-A", "tide_gauges", "IN_PROGRESS", ALIVE, NEXT);
    put(workspace, &format!("{epic}agent_checkpoints/secondary_a.json"), &document);
}

fn checkpoint(workspace: &Workspace, path: &str) -> Value {
    let bytes = std::fs::read(workspace.path(path)).expect("a checkpoint");
    serde_json::from_slice(&bytes).expect("JSON")
}

#[test]
fn a_message_is_sent_listed_and_marked_as_read() {
    let workspace = Workspace::new();
    crew(&workspace, "epics/tides/");
    let send = |arguments: &[&str]| workspace.run(&[&["send"], arguments].concat());
    send(&[
        "--to",
        "Secondary-A",
        "--subject",
        "The gauge moved",
        "--body",
        "It is at the east mole now.\n## Message 9 (never) READ\nLook before you go on.",
        "--action",
        "Calibrate it again",
        "--next",
        "Report",
        "--acknowledge",
        "Reply when done",
    ])
    .exits(0);
    send(&["--to", "Secondary-A", "--from", "Secondary-B", "--subject", "Rope", "--body", "I have yours"]).exits(0);
    let list = workspace.run(&["inbox", "Secondary-A"]).exits(0);
    assert_snapshot!("listed", list.transcript());
    let read = workspace.run(&["inbox", "Secondary-A", "--read", "1", "--from", "Agent-Primary"]).exits(0);
    assert_eq!(read.stdout, "crew:epics/tides/Secondary-A message 1 from primary read @2\n");
    let left = workspace.run(&["inbox", "crew:tides/Secondary-A", "--json"]).exits(0);
    assert_snapshot!("left_json", left.transcript());
    assert_eq!(workspace.run(&["inbox", "Secondary-A", "--all", "--json"]).json()["messages"][0]["unread"], false);
    let state = &checkpoint(&workspace, "epics/tides/agent_checkpoints/secondary_a.json")["coordination_state"];
    assert_eq!((&state["unread_messages"], &state["last_inbox_check"]), (&1.into(), &crate::support::NOW.into()));
    workspace.run(&["check"]).exits(0);
    assert_snapshot!("sender_log", workspace.run(&["log", "crew:Agent-Primary"]).exits(0).transcript());
}

#[test]
fn listing_an_inbox_changes_nothing_and_checking_it_is_noted() {
    let workspace = Workspace::new();
    crew(&workspace, "");
    workspace.run(&["send", "--to", "Secondary-A", "--subject", "S", "--body", "B"]).exits(0);
    let before = workspace.fingerprint();
    workspace.run(&["inbox", "Secondary-A"]).exits(0);
    workspace.run(&["inbox", "Secondary-A", "--all", "--json"]).exits(0);
    assert_eq!(workspace.fingerprint(), before);
    workspace.run(&["inbox", "Secondary-A", "--check"]).exits(0);
    let state = &checkpoint(&workspace, "agent_checkpoints/secondary_a.json")["coordination_state"];
    assert_eq!((&state["unread_messages"], &state["last_inbox_check"]), (&1.into(), &crate::support::NOW.into()));
}

#[test]
fn an_agent_without_a_checkpoint_sends_and_reads_and_its_journal_goes_on_when_it_starts() {
    let workspace = Workspace::new();
    workspace.write("EPIC_README.md", "# Tides\n");
    let call = workspace.call(&["send", "--to", "Secondary-A", "--subject", "S", "--body", "B"]);
    assert_eq!(
        call.env("PITON_AGENT", "Secondary-B").run().exits(0).stdout,
        "crew:Secondary-B message 1 to Secondary-A: S @1\n"
    );
    assert_eq!(
        workspace.run(&["inbox", "Secondary-A", "--read", "1"]).exits(0).stdout,
        "crew:Secondary-A message 1 from secondary_b read @1\n"
    );
    let start = workspace.run(&["start", "crew:Secondary-B", "--feature", "tide_clock", "--stage", "S2.P1"]).exits(0);
    assert_eq!(start.stdout, "crew:Secondary-B started tide_clock at S2.P1 @2\n");
    let log = workspace.run(&["log", "crew:Secondary-B", "--json"]).exits(0).json();
    assert_eq!(log["events"][0]["event"], "message_sent");
    assert_eq!((&log["events"][0]["by"], &log["events"][1]["attempt"]), (&"Secondary-B".into(), &1.into()));
}

#[test]
fn what_cannot_be_sent_or_read_says_what_could_be() {
    let workspace = Workspace::new();
    let mut transcripts = String::new();
    let mut refused = |arguments: &[&str], code: i32| {
        transcripts.push_str(&workspace.run(arguments).exits(code).transcript());
    };
    refused(&["send", "--to", "Secondary-A", "--subject", "S", "--body", "B"], 5);
    crew(&workspace, "epics/e7/");
    refused(&["inbox", "task:migration/T060"], 2);
    refused(&["inbox", "Secondary-A", "--read", "3"], 5);
    refused(&["send", "--to", "Secondary-A", "--from", "secondary_a", "--subject", "S", "--body", "B"], 2);
    refused(&["send", "--to", "Secondary-A", "--subject", " ", "--body", "B"], 2);
    crew(&workspace, "");
    refused(&["send", "--to", "Secondary-A", "--subject", "S", "--body", "B"], 2);
    refused(&["inbox", "crew:e8/Secondary-A"], 5);
    refused(&["send", "--to", "./Secondary-A", "--from", "e7/Secondary-B", "--subject", "S", "--body", "B"], 2);
    assert_snapshot!(transcripts);
    workspace.run(&["send", "--to", "./Secondary-A", "--subject", "S", "--body", "B"]).exits(0);
    workspace.run(&["send", "--to", "e7/Secondary-A", "--subject", "S", "--body", "B"]).exits(0);
    for directory in ["", "epics/e7/"] {
        assert!(workspace.path(&format!("{directory}agent_comms/primary_to_secondary_a.md")).exists(), "{directory}");
    }
}

/// All processes run at once: half of them from one sender to one receiver, the others from different ones, and in
/// between the receiver marks its messages as read.
#[test]
fn sixteen_senders_at_once_lose_and_double_nothing() {
    let workspace = Workspace::new();
    crew(&workspace, "");
    for round in 0..3 {
        let mut children: Vec<_> = (0..16)
            .map(|sender| {
                let subject = format!("subject {round}-{sender}");
                let from = if sender < 8 { "Agent-Primary".to_owned() } else { format!("Secondary-{sender}") };
                let mut command = Command::new(env!("CARGO_BIN_EXE_piton"));
                command.env_clear().current_dir(workspace.root()).stdin(Stdio::null()).stdout(Stdio::null());
                command.args(["send", "--to", "Secondary-A", "--from", &from, "--subject", &subject]);
                command.args(["--body", "B", "--wait", "60"]).spawn().expect("the binary starts")
            })
            .collect();
        if round > 0 {
            let number = round.to_string();
            workspace.run(&["inbox", "Secondary-A", "--read", &number, "--from", "primary", "--wait", "60"]).exits(0);
        }
        for child in &mut children {
            assert!(child.wait().expect("a child can be waited for").success());
        }
    }
    // These were the first writers here, and none took the other's journal for a foreign one.
    assert!(!workspace.path(".piton/quarantine").exists());
    let inbox = workspace.run(&["inbox", "Secondary-A", "--all", "--json"]).exits(0).json();
    let messages = inbox["messages"].as_array().expect("a list");
    let mut subjects: Vec<_> = messages.iter().map(|message| message["subject"].as_str().expect("a text")).collect();
    subjects.sort_unstable();
    subjects.dedup();
    assert_eq!((messages.len(), subjects.len()), (48, 48));
    let of_primary = messages.iter().filter(|message| message["from"] == "primary");
    let log = workspace.run(&["log", "crew:Agent-Primary", "--json"]).exits(0).json();
    assert_eq!(log["events"].as_array().map(Vec::len), Some(25), "24 messages, and the document that was there");
    let numbers: Vec<_> = of_primary.map(|message| message["number"].as_u64().expect("a number")).collect();
    assert_eq!(numbers, (1..=24).collect::<Vec<_>>());
    let unread = messages.iter().filter(|message| message["unread"] == true).count();
    assert_eq!((unread, inbox["unread"].as_u64()), (46, Some(46)));
    workspace.run(&["check"]).exits(0);
}
