use serde_json::json;

use super::client::Client;
use super::support::{NOW, Workspace};

fn started() -> Workspace {
    let workspace = Workspace::new();
    workspace.run(&["start", "build:PRD-001", "--step", "WS1", "--step", "WS2"]).exits(0);
    workspace
}

#[test]
fn a_call_that_names_no_unit_means_the_environments() {
    let workspace = started();
    let environment = [("PITON_UNIT", "build:PRD-001"), ("PITON_ATTEMPT", "1")];
    let mut client = Client::start_with(&workspace, &["--at", NOW], &environment).greeted();
    let recorded = client.does("step", json!({ "deed": "begin", "steps": ["WS1"] }));
    assert_eq!(recorded["unit"], "build:PRD-001");
    assert_eq!(client.does("why", json!({}))["unit"], "build:PRD-001");
    // Another unit has attempts of its own. A worker may begin one, and says which attempt it means from then on.
    let other = json!({ "unit": "build:PRD-002" });
    assert_eq!(client.does("start", json!({ "unit": "build:PRD-002", "steps": ["WS1"] }))["attempt"], 1);
    for tool in ["resume", "beat"] {
        let words = client.refuses(tool, other.clone());
        assert!(words.starts_with("error: attempt 1 is one of build:PRD-001, and not of build:PRD-002"), "{words}");
    }
    client.does("beat", json!({ "unit": "build:PRD-002", "attempt": 1 }));
}

#[test]
fn a_server_of_an_older_attempt_cannot_write() {
    let workspace = started();
    let environment = [("PITON_UNIT", "build:PRD-001"), ("PITON_ATTEMPT", "1")];
    let mut ghost = Client::start_with(&workspace, &["--at", NOW], &environment).greeted();
    ghost.does("beat", json!({}));
    let mut next = Client::connect(&workspace);
    let attempt = next.does("resume", json!({ "unit": "build:PRD-001", "force": true }))["attempt"].clone();
    assert_eq!(attempt, 2);
    let words = ghost.refuses("step", json!({ "deed": "done", "steps": ["WS1"] }));
    assert!(words.starts_with("error: attempt 1 of build:PRD-001 is over"), "{words}");
    // What a call says goes before what the environment says.
    ghost.does("step", json!({ "deed": "begin", "steps": ["WS1"], "attempt": attempt }));
}

#[test]
fn an_environment_that_cannot_be_meant_is_refused_at_the_start() {
    let workspace = Workspace::new();
    for (name, value) in [("PITON_ATTEMPT", "two"), ("PITON_UNIT", "../x")] {
        let run = workspace.call(&["mcp"]).env(name, value).run().exits(2);
        assert!(run.stdout.is_empty(), "{}", run.transcript());
    }
    workspace.run(&["mcp", "--poll", "0"]).exits(2);
    workspace.run(&["-C", "/nowhere/at/all", "mcp"]).exits(5);
}

#[test]
fn the_agent_of_the_environment_sends_and_reads() {
    let workspace = super::support::harbour::harbour();
    let mut client = Client::start_with(&workspace, &["--at", NOW], &[("PITON_AGENT", "Secondary-A")]).greeted();
    let sent = client.does("send", json!({ "to": "Secondary-B", "subject": "Tides", "body": "They turn" }));
    assert_eq!(sent["unit"], "crew:epics/tides/Secondary-A");
    assert_eq!(client.does("inbox", json!({}))["agent"], "Secondary-A");
    assert_eq!(client.does("inbox", json!({ "agent": "Secondary-B" }))["messages"][0]["subject"], "Tides");
}
