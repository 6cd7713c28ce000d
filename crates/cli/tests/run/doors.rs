//! What a lead knows is what every door says: whether one is at work, what waits and for what, who is dead.

use serde_json::Value;

use crate::requests::signal;
use crate::yard::{Yard, finish, wait_for};

const SPEC: &str = "---\nprd: PRD-044\nprd_title: A fence\nworkstreams:\n  WS1:\n    name: Posts\n    outputs: [WS1.txt]\n  \
WS2:\n    name: Rails\n    depends_on: [WS1]\n    outputs: [WS2.txt]\nexecution_phases:\n  - name: Ground\n    parallel: \
[WS1]\n  - name: Rest\n    parallel: [WS2]\n---\n# A fence\n";

fn fence() -> Yard {
    let yard = Yard::with("[run]\nworkers = 3\nheartbeat = 1\npatience = 60\ngrace = 0.3\n", "");
    yard.workspace.write("docs/EXECUTION-SPEC-PRD-044.md", SPEC);
    yard.commit("a specification");
    yard.run(&["approve", "docs/EXECUTION-SPEC-PRD-044.md"]);
    yard
}

fn status(yard: &Yard) -> Value {
    yard.json(&["status", "--json"])
}

fn unit<'v>(status: &'v Value, name: &str) -> &'v Value {
    let units = status["units"].as_array().expect("units");
    units.iter().find(|unit| unit["unit"] == name).unwrap_or_else(|| panic!("no {name}: {status}"))
}

/// Types a command as it was printed, and returns how it ended.
fn type_in(yard: &Yard, command: &str) -> crate::yard::Ended {
    let words: Vec<&str> = command.strip_prefix("piton ").expect("our own command").split(' ').collect();
    yard.piton(&words)
}

#[test]
fn every_door_says_whether_a_lead_is_at_work_and_how_to_continue() {
    let yard = Yard::new(&[("S-1", &[])]).env("WAIT", "yes");
    yard.run(&["approve"]);
    assert_eq!(status(&yard)["run"], Value::Null);
    let mut lead = yard.command(&["run", "pipeline:S-1", "--yes"]).spawn().expect("it starts");
    // The worker of stage 2 is the one that waits.
    let is_at_work = |status: &Value| {
        let unit = &status["units"][0];
        let is_there = unit["position"].as_str().is_some_and(|position| position.starts_with("stage 2"));
        is_there && unit["liveness"] == "alive" && status["run"]["workers"] == 1
    };
    wait_for("a worker", || is_at_work(&status(&yard)), || status(&yard).to_string());
    let led = status(&yard);
    assert_eq!((&led["run"]["state"], &led["run"]["lead"]["pid"]), (&"led".into(), &lead.id().into()), "{led}");
    assert_eq!((&led["run"]["workers"], &led["run"]["total"]), (&1.into(), &1.into()), "{led}");
    let text = yard.run(&["status"]).stdout;
    assert!(text.starts_with("run 1: lead at work for "), "{text}");
    let why = yard.run(&["why", "pipeline:S-1"]).stdout;
    assert!(why.contains(&format!("lead       `piton run`, process {}, at work for ", lead.id())), "{why}");
    assert!(why.contains("alive: its worker's process runs\n"), "{why}");
    lead.kill().expect("it can be killed");
    lead.wait().expect("it is gone");
    let text = yard.run(&["status"]).stdout;
    assert!(text.starts_with("run 1 has no lead: the last one (process "), "{text}");
    let command = text.lines().next().and_then(|line| line.split_once("; continue it: ")).expect("a command").1;
    assert_eq!(command, "piton run pipeline:S-1");
    let why = yard.run(&["why", "pipeline:S-1"]).stdout;
    assert!(why.contains("alive: its worker's process runs, and no lead is at work\n"), "{why}");
    std::fs::write(yard.outer("marks/go"), "").expect("it can be written");
    assert_eq!(type_in(&yard, command).code, Some(0));
    assert_eq!(status(&yard)["run"], Value::Null, "the run is finished");
    yard.assert_nothing_left();
}

#[test]
fn a_worker_that_died_while_no_lead_was_at_work_is_dead_at_once() {
    let yard = Yard::new(&[("S-1", &[])]).env("BAD", "hangs");
    yard.run(&["approve"]);
    let mut lead = yard.command(&["run"]).spawn().expect("it starts");
    let hangs = || yard.processes().into_iter().find(|process| process.contains("sleep 1000"));
    wait_for("a worker that hangs", || hangs().is_some(), String::new);
    assert_eq!(yard.piton(&["stale"]).code, Some(0));
    lead.kill().expect("it can be killed");
    lead.wait().expect("it is gone");
    let pid = hangs().expect("it runs").split(' ').next().expect("a pid").parse().expect("a number");
    signal("-KILL", pid);
    wait_for("every process to be gone", || yard.processes().is_empty(), || format!("{:?}", yard.processes()));
    let found = status(&yard);
    let story = unit(&found, "pipeline:S-1");
    assert_eq!((&story["lifecycle"], &story["liveness"]), (&"running".into(), &"dead".into()), "{story}");
    assert_eq!(story["reason"], "its worker ended: signal 9", "{story}");
    let stale = yard.piton(&["stale"]);
    assert_eq!(stale.code, Some(7), "{}", stale.stdout);
    assert!(stale.stdout.starts_with("dead "), "{}", stale.stdout);
    // Without a lead a person may take it.
    assert!(yard.run(&["resume"]).stdout.contains("pipeline:S-1"));
    yard.run(&["run"]);
    yard.assert_nothing_left();
}

#[test]
fn a_parked_unit_waits_and_is_not_to_be_resumed_by_hand() {
    let yard = Yard::new(&[("S-1", &[])]).env("BAD", "parks-long");
    yard.run(&["approve"]);
    let lead = yard.command(&["run"]).spawn().expect("it starts");
    let waits = || status(&yard)["units"][0]["lifecycle"] == "waiting";
    wait_for("the limit", waits, || status(&yard).to_string());
    let found = status(&yard);
    let story = unit(&found, "pipeline:S-1");
    assert_eq!(story["liveness"], "idle", "{story}");
    assert!(story["reason"].as_str().is_some_and(|why| why.starts_with("parked until 20")), "{story}");
    assert_eq!(yard.piton(&["stale"]).code, Some(0));
    assert!(yard.run(&["status"]).stdout.contains("\n    waiting: parked until 20"));
    let refused = yard.piton(&["resume", "pipeline:S-1"]);
    assert_eq!(refused.code, Some(4), "{}", refused.stdout);
    let want = format!("pipeline:S-1 is led: `piton run`, process {}", lead.id());
    assert!(refused.stderr.contains(&want), "{}", refused.stderr);
    assert_eq!(yard.run(&["resume"]).stdout, "nothing to resume\n");
    yard.run(&["stop"]);
    assert_eq!(finish(lead).code, Some(1));
    // Nobody leads it: it is a person's to take, and still says until when it is parked.
    let found = status(&yard);
    assert!(unit(&found, "pipeline:S-1")["reason"].as_str().is_some_and(|why| why.starts_with("parked until 20")));
    assert_eq!(yard.piton(&["resume", "pipeline:S-1"]).code, Some(0));
}

#[test]
fn a_unit_that_waits_for_approval_says_what_to_type() {
    let yard = fence();
    let ended = yard.piton(&["run", "docs/EXECUTION-SPEC-PRD-044.md"]);
    assert_eq!(ended.code, Some(4), "{}{}", ended.stdout, ended.stderr);
    let next = "next: approve and continue: piton approve build:PRD-044 && piton run docs/EXECUTION-SPEC-PRD-044.md\n";
    assert!(ended.stdout.contains(next), "{}", ended.stdout);
    let text = yard.run(&["status"]).stdout;
    let first = text.lines().next().expect("a line");
    assert!(first.starts_with("run 1 was paused ") && first.contains(" ago, 1 of 2 done; "), "{text}");
    let want = "; approve and continue: piton approve build:PRD-044 && piton run docs/EXECUTION-SPEC-PRD-044.md";
    assert!(first.ends_with(want), "{text}");
    assert!(text.contains("approve it: piton approve build:PRD-044"), "{text}");
    let approved = yard.run(&["approve", "build:PRD-044"]);
    let want = "build:PRD-044: approved Ground (run 1)\ncontinue: piton run docs/EXECUTION-SPEC-PRD-044.md\n";
    assert_eq!(approved.stdout, want);
    yard.run(&["run", "build:PRD-044"]);
    let refused = yard.piton(&["approve", "build:PRD-044"]);
    assert_eq!(refused.code, Some(4), "{}{}", refused.stdout, refused.stderr);
    assert!(refused.stderr.contains("build:PRD-044 waits for no approval"), "{}", refused.stderr);
    yard.run(&["approve", "--commands", "build:PRD-044"]);
    assert_eq!(yard.piton(&["approve", "build:PRD-999"]).code, Some(5));
}

#[test]
fn what_was_approved_stays_approved_when_the_lead_is_killed() {
    let yard = fence().env("BAD", "hangs");
    let mut first = yard.command(&["run", "build:PRD-044", "docs/EXECUTION-SPEC-PRD-044.md"]);
    let first = finish(first.env("BAD", "").spawn().expect("it starts"));
    assert_eq!(first.code, Some(4), "{}{}", first.stdout, first.stderr);
    assert!(first.stdout.contains("piton approve build:PRD-044"), "{}{}", first.stdout, first.stderr);
    yard.run(&["approve", "build:PRD-044"]);
    let mut lead = yard.command(&["run"]).spawn().expect("it starts");
    let hangs = || yard.processes().into_iter().find(|process| process.contains("sleep 1000"));
    wait_for("a worker of the second phase", || hangs().is_some(), String::new);
    lead.kill().expect("it can be killed");
    lead.wait().expect("it is gone");
    let pid = hangs().expect("it runs").split(' ').next().expect("a pid").parse().expect("a number");
    signal("-KILL", pid);
    let ended = yard.run(&["run", "build:PRD-044"]);
    assert!(!ended.stdout.contains("waits for approval"), "{}", ended.stdout);
    yard.assert_nothing_left();
}

#[test]
fn without_a_name_who_retries_or_approves_means_the_run_that_is_not_finished() {
    let yard = fence().env("BAD", "always-exits");
    let ended = yard.piton(&["run", "docs/EXECUTION-SPEC-PRD-044.md", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}{}", ended.stdout, ended.stderr);
    let retry = "next: when it is fixed: piton run docs/EXECUTION-SPEC-PRD-044.md --yes --retry\n";
    assert!(ended.stdout.contains(retry), "{}", ended.stdout);
    assert_eq!(yard.run(&["approve"]).stdout, "every command is approved already\n");
    let again = yard.command(&["run", "--retry", "--yes"]).env("BAD", "").spawn().expect("it starts");
    let again = finish(again);
    assert_eq!(again.code, Some(0), "{}{}", again.stdout, again.stderr);
    let report = yard.read_json(".piton/run/runs/1/report.json");
    assert_eq!((&report["run"], &report["leads"], &report["outcome"]), (&1.into(), &2.into(), &"done".into()));
    // Finished: there is nothing that a name could be left out for.
    let nothing = yard.piton(&["run", "--retry"]);
    assert_eq!(nothing.code, Some(2), "{}{}", nothing.stdout, nothing.stderr);
    assert!(!yard.workspace.path(".piton/run/runs/2").exists());
}

#[test]
fn each_run_keeps_its_report_and_what_it_told() {
    let yard = Yard::new(&[("S-1", &[]), ("S-2", &[])]);
    yard.run(&["run", "pipeline:S-1", "--yes"]);
    yard.run(&["run", "pipeline:S-2", "--yes"]);
    for (run, story) in [(1, "S-1"), (2, "S-2")] {
        let report = yard.read_json(&format!(".piton/run/runs/{run}/report.json"));
        assert_eq!((&report["run"], &report["lanes"][0]["name"]), (&run.into(), &format!("pipeline:{story}").into()));
        let page = yard.text(&format!(".piton/run/runs/{run}/report.md"));
        assert!(page.starts_with(&format!("# Run {run}: done\n")), "{page}");
        let log = yard.text(&format!(".piton/run/runs/{run}/events.jsonl"));
        assert!(
            log.contains(&format!("\"name\":\"pipeline:{story}\"")) && log.contains("\"event\":\"ended\""),
            "{log}"
        );
    }
    assert_eq!(yard.read_json(".piton/run/report.json")["run"], 2);
    assert_eq!(yard.read_json(".pipeline/report.json")["run"], 2);
}

#[test]
fn a_directory_that_came_with_the_repository_says_nothing_about_runs() {
    let yard = Yard::new(&[("S-1", &[])]);
    yard.run(&["run", "--yes"]);
    let forged = yard.text(".piton/run/runs/1/run.json").replace("\"is_finished\": true", "\"is_finished\": false");
    std::fs::write(yard.workspace.path(".piton/run/runs/1/run.json"), forged).expect("it can be written");
    assert_ne!(status(&yard)["run"], Value::Null, "our own is believed");
    std::fs::rename(yard.workspace.path(".piton"), yard.outer("theirs")).expect("it can be moved");
    let (theirs, here) = (yard.outer("theirs"), yard.workspace.path(".piton"));
    let copied = std::process::Command::new("cp").arg("-r").arg(theirs).arg(here).status().expect("cp runs");
    assert!(copied.success());
    assert_eq!(status(&yard)["run"], Value::Null, "a copy is not ours");
}
