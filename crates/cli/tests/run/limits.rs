//! Limits that workers run into: waited for, remembered, and begun again after one by one.

use serde_json::Value;

use crate::yard::{Yard, finish, wait_for};

const SETTINGS: &str = "[run]\nworkers = 3\nheartbeat = 1\npatience = 60\nlinger = 5\ngrace = 0.3\nstagger = 1.5\n";

fn stories(bad: &str) -> Yard {
    let text = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\n[[stories]]\nid = \"S-2\"\ntitle = \"Two\"\n";
    Yard::with(SETTINGS, text).env("BAD", bad)
}

/// The events of a run, a line each.
fn events(stdout: &str) -> Vec<Value> {
    stdout.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// When workers that go on were started.
fn begun_again(events: &[Value]) -> Vec<String> {
    let is_again = |event: &&Value| {
        event["event"] == "started" && event["text"].as_str().is_some_and(|text| text.contains("-s2-retry"))
    };
    events.iter().filter(is_again).map(|event| event["at"].as_str().expect("a time").to_owned()).collect()
}

fn memory(yard: &Yard) -> Value {
    std::fs::read(yard.workspace.path(".piton/run/memory.json"))
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default()
}

#[test]
fn a_limit_of_the_account_outlives_the_lead_and_ends_staggered() {
    let yard = stories("account");
    yard.run(&["approve"]);
    let mut lead = yard.command(&["run", "--json"]).spawn().expect("it starts");
    let are_parked = || {
        let lanes = memory(&yard)["lanes"].clone();
        ["pipeline:S-1", "pipeline:S-2"].iter().all(|name| lanes[name]["state"]["is"] == "parked")
    };
    wait_for("both to be parked", are_parked, || memory(&yard).to_string());
    lead.kill().expect("it can be killed");
    lead.wait().expect("it is gone");
    let account = format!("command /bin/sh {}", yard.outer("agent.sh").display());
    let parked = memory(&yard)["parked"][account].clone();
    let until = parked.as_str().expect("the account is parked").to_owned();
    let ended = finish(yard.command(&["run", "--json"]).spawn().expect("it starts"));
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    let again = begun_again(&events(&ended.stdout));
    assert_eq!(again.len(), 2, "{}", ended.stdout);
    assert!(again.iter().all(|at| *at >= until), "{again:?} begin before {until}");
    assert_ne!(again[0], again[1], "one after another");
    assert_eq!(yard.read_json(".pipeline/state.json")["crash_count"]["S-1"], 0);
    yard.assert_nothing_left();
}

#[test]
fn lanes_that_wait_for_the_limit_of_their_account_say_so() {
    let text = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\n[[stories]]\nid = \"S-2\"\ntitle = \"Two\"\n";
    let yard = Yard::with(&SETTINGS.replace("workers = 3", "workers = 1"), text).env("BAD", "account-long");
    yard.run(&["approve"]);
    let lead = yard.command(&["run"]).spawn().expect("it starts");
    let published = || std::fs::read_to_string(yard.workspace.path(".piton/run/lead.json")).unwrap_or_default();
    let work = |lane: usize| {
        let value: Value = serde_json::from_str(&published()).unwrap_or_default();
        value["view"]["lanes"][lane]["work"]["is"].clone()
    };
    // The second story has met no limit: it only waits for the account.
    wait_for("both to be parked", || work(0) == "parked" && work(1) == "parked", published);
    let why = yard.run(&["why", "pipeline:S-2"]).stdout;
    assert!(why.contains("parked until ") && !why.contains("when there is room"), "{why}");
    yard.run(&["stop"]);
    let told = finish(lead).stdout;
    assert!(told.contains("starts before "), "{told}");
    // A lead that begins while the limit lasts says so, also when the story that met it was taken up by hand.
    yard.run(&["resume", "pipeline:S-1"]);
    let lead = yard.command(&["run"]).spawn().expect("it starts");
    let log = || yard.text(".piton/run/runs/1/events.jsonl");
    let offer = "To try earlier, end the lead: piton stop. Then: piton run --retry";
    let is_told = || log().matches(offer).count() == 2;
    wait_for("the second lead to tell it", is_told, log);
    yard.run(&["stop"]);
    assert_eq!(finish(lead).stdout.matches(offer).count(), 1);
    yard.run(&["run", "--retry"]);
    yard.assert_nothing_left();
}

#[test]
fn a_clock_that_jumps_over_the_end_of_a_limit_ends_it() {
    let yard = stories("parks-long");
    yard.run(&["approve"]);
    let clocks = yard.outer("clocks");
    std::fs::write(&clocks, "0 0\n").expect("it can be written");
    let mut command = yard.command(&["run", "--json"]);
    let lead = command.env("PITON_TEST_CLOCKS", &clocks).spawn().expect("it starts");
    let is_parked = || yard.text(".piton/run/memory.json").contains("\"parked\"");
    let is_there = || yard.workspace.path(".piton/run/memory.json").exists();
    wait_for("somebody to be parked", || is_there() && is_parked(), String::new);
    // An hour, in one go.
    std::fs::write(&clocks, "3700 0\n").expect("it can be written");
    let ended = finish(lead);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("\"event\":\"parked\""), "{}", ended.stdout);
    assert!(!begun_again(&events(&ended.stdout)).is_empty(), "{}", ended.stdout);
    yard.assert_nothing_left();
}

#[test]
fn a_fallback_of_the_same_interpreter_takes_over_at_a_limit() {
    let yard = Yard::with(SETTINGS, "");
    let script = r#"{"scope": "account", "limit_reset": "2999-01-01T00:00:00Z"}"#;
    let limited = yard.outer("limited.sh");
    std::fs::write(&limited, format!("echo '{script}'\nexit 75\n")).expect("it can be written");
    let (limited, agent) = (limited.display().to_string(), yard.outer("agent.sh").display().to_string());
    let worker = format!(
        "[worker]\ncommand = [\"/bin/sh\", {limited:?}]\nfallback = \"spare\"\n[worker.spare]\n\
         command = [\"/bin/sh\", {agent:?}]\n[[stories]]\nid = \"S-1\"\ntitle = \"One\"\n"
    );
    yard.workspace.write("piton.toml", format!("{SETTINGS}{worker}"));
    yard.commit("two workers");
    yard.run(&["run", "--yes"]);
}
