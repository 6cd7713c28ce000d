use serde_json::{Value, json};

use super::client::{Client, initialize, with_meta};
use super::support::Workspace;

#[test]
fn older_revisions_are_spoken_as_they_are_asked_for() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let workspace = Workspace::new();
        let mut client = Client::start(&workspace);
        let answer = client.ask("initialize", initialize(revision));
        assert_eq!(answer["result"]["protocolVersion"], revision);
        assert_eq!(answer["result"]["serverInfo"]["name"], "piton");
        assert_eq!(answer["result"]["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
        assert!(answer["result"]["instructions"].as_str().is_some_and(|text| text.contains("`resume`")));
        client.tell("notifications/initialized", json!({}));
        let tools = client.ask("tools/list", json!({}));
        assert!(tools["result"]["tools"].as_array().is_some_and(|tools| tools.len() > 15), "{revision}: {tools}");
        assert_eq!(client.ask("ping", json!({}))["result"], json!({}), "{revision}");
        assert_eq!(client.close().1, Some(0));
    }
}

#[test]
fn an_unknown_revision_is_answered_with_a_known_one() {
    let workspace = Workspace::new();
    let mut client = Client::start(&workspace);
    let answer = client.ask("initialize", initialize("1999-01-01"));
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
}

#[test]
fn the_newest_revision_is_discovered_and_needs_no_handshake() {
    let workspace = Workspace::new();
    let mut client = Client::start(&workspace);
    let answer = client.ask("server/discover", with_meta(json!({})));
    let versions = answer["result"]["supportedVersions"].as_array().expect("versions");
    assert!(versions.contains(&Value::from("2026-07-28")), "{answer}");
    assert!(answer["result"]["capabilities"]["tools"].is_object(), "{answer}");
    let called = client.ask("tools/call", with_meta(json!({ "name": "status", "arguments": {} })));
    assert_eq!(called["result"]["structuredContent"]["units"], json!([]), "{called}");
    assert_eq!(client.close().1, Some(0));
}

#[test]
fn a_client_may_try_the_newest_revision_and_then_shake_hands() {
    let workspace = Workspace::new();
    let mut client = Client::start(&workspace);
    client.ask("server/discover", with_meta(json!({})));
    let answer = client.ask("initialize", initialize("2025-06-18"));
    assert!(answer["result"].is_object() || answer["error"].is_object(), "{answer}");
    assert_eq!(client.close().1, Some(0));
}

#[test]
fn a_client_that_leaves_at_once_has_done_nothing_wrong() {
    let workspace = Workspace::new();
    assert_eq!(Client::start(&workspace).close(), (Vec::new(), Some(0)));
    assert_eq!(Client::connect(&workspace).close(), (Vec::new(), Some(0)));
}

#[test]
fn what_was_asked_before_the_client_left_is_done_and_answered() {
    let workspace = Workspace::new();
    let mut client = Client::connect(&workspace);
    let id = client
        .send("tools/call", json!({ "name": "start", "arguments": { "unit": "build:PRD-001", "steps": ["WS1"] } }));
    let (rest, code) = client.close();
    assert_eq!(code, Some(0));
    let answer = rest.iter().find(|message| message["id"] == id).expect("an answer");
    assert_eq!(answer["result"]["structuredContent"]["seq"], 1, "{answer}");
    workspace.run(&["status", "build:PRD-001"]).exits(0);
}
