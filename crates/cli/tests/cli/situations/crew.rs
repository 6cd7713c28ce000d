use serde_json::{Value, json};

use super::{NOTHING, prints, text};
use crate::support::fixtures::agent;
use crate::support::harbour::but;

const PATH: &str = "epics/e/agent_checkpoints/secondary_a.json";
const OLD: &str = "2026-02-20T08:00:00Z";
const START: &str = "09:00 start crew:Secondary-A --feature tides --stage S2.P1\n";

/// A checkpoint with these keys, hours old.
fn checkpoint(changes: Value) -> (&'static str, String) {
    (PATH, text(&but(agent("Secondary-A", "tides", "IN_PROGRESS", OLD, OLD), changes)))
}

#[test]
fn hints_of_an_agent_that_others_wrote_lead_on() {
    for (changes, line, hint) in [
        (
            json!({ "status": "WAITING", "blockers": ["x"] }),
            "resume crew:Secondary-A",
            "blockers are still named; when they are gone: piton unblock crew:Secondary-A",
        ),
        (
            json!({ "stage": "S2.P3" }),
            "stage crew:Secondary-A S2.P1",
            "see the steps that could be done again: piton status crew:Secondary-A",
        ),
        (
            json!({ "status": "COMPLETE", "next_steps": [] }),
            "resume crew:Secondary-A",
            "when something is missing: piton reopen crew:Secondary-A",
        ),
        (
            json!({ "can_resume": false }),
            "resume crew:Secondary-A",
            "let another agent continue: piton takeover crew:Secondary-A --as AGENT",
        ),
        (
            json!({ "feature": null }),
            "restart crew:Secondary-A --force",
            "write its feature into the checkpoint, then restart it",
        ),
    ] {
        prints(&[checkpoint(changes)], line, hint);
    }
    let foreign = [(PATH, "{\"feature\": \"tides\"}\n")];
    prints(
        &foreign,
        "start crew:Secondary-A --feature tides",
        "see what it is: piton check epics/e/agent_checkpoints/secondary_a.json",
    );
    let prose = "# Secondary-A\n\n**Agent**: Secondary-A\n**Status**: IN_PROGRESS\n**Stage**: S2.P1\n";
    for line in ["step crew:Secondary-A done 1", "restart crew:Secondary-A"] {
        let hint = "begin one with: piton start crew:Secondary-A --feature FEATURE --stage S2.P1";
        prints(&[("epics/e/agent_checkpoints/secondary_a.md", prose)], line, hint);
    }
}

#[test]
fn hints_of_an_agent_with_little_work_lead_on() {
    for (lines, hint) in [
        (
            "09:05 stage crew:Secondary-A S2.P2\nstage crew:Secondary-A S2.P1",
            "begin again from nothing: piton restart crew:Secondary-A",
        ),
        (
            "sub agent_checkpoints/secondary_a.json '\"can_resume\": true' '\"can_resume\": false'\nresume crew:Secondary-A",
            "begin again from nothing: piton restart crew:Secondary-A",
        ),
    ] {
        prints(NOTHING, &format!("{START}{lines}"), hint);
    }
}

#[test]
fn a_hint_says_whose_message_is_meant() {
    let sent = "send --from Secondary-B --to Secondary-A --subject x --body y\n\
                send --from Agent-Primary --to Secondary-A --subject x --body y\n";
    let hint = "say whose: piton inbox Secondary-A --read 1 --from";
    prints(&[checkpoint(json!({}))], &format!("{sent}inbox Secondary-A --read 1"), hint);
}
