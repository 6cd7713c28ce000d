//! What shows that a worker lives that says nothing.

use crate::yard::Yard;

/// A story for a scripted client of Claude Code that works for four seconds in silence.
fn quiet(kind: &str) -> Yard {
    let settings = "[run]\nheartbeat = 1\npatience = 1.5\nanswer = 0.7\nlinger = 2\ngrace = 0.2\n";
    let yard = Yard::with(settings, "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\n").env("QUIET", kind);
    let client = yard.outer("claude.sh");
    std::fs::write(&client, include_str!("claude.sh")).expect("the client is written");
    let command =
        format!("[worker]\nadapter = \"claude\"\ncommand = [\"/bin/sh\", {:?}]\n", client.display().to_string());
    let text = yard.text("piton.toml");
    let (before, after) = text.split_once("[worker]\n").expect("there are settings");
    let (_, after) = after.split_once('\n').expect("a line");
    yard.workspace.write("piton.toml", format!("{before}{command}{after}"));
    yard.commit("another worker");
    let agent = yard.outer("agent.sh").display().to_string();
    yard.env("AGENT", &agent)
}

#[test]
fn a_transcript_that_grows_is_a_sign_of_life() {
    for kind in ["main", "subagent"] {
        let yard = quiet(kind);
        let ended = yard.run(&["run", "--yes", "--json"]);
        assert!(!ended.stdout.contains("\"event\":\"asked\""), "{kind}: {}", ended.stdout);
        assert_eq!(yard.read_json(".pipeline/report.json")["lanes"][0]["deaths"], serde_json::json!([]));
    }
}

#[test]
fn one_that_does_not_grow_is_none_and_what_its_worker_did_is_told() {
    let yard = quiet("nowhere");
    let ended = yard.run(&["run", "--yes", "--json"]);
    assert!(ended.stdout.contains("\"event\":\"asked\""), "{}", ended.stdout);
    let deaths = yard.read_json(".pipeline/report.json")["lanes"][0]["deaths"].to_string();
    let want = "silent, and did not answer: its worker is ended; its processes ";
    assert!(deaths.contains(want), "{deaths}");
    assert!(ended.stdout.contains("resumed by its own session"), "{}", ended.stdout);
    yard.assert_nothing_left();
}
