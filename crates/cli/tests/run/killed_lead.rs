//! The lead is killed with -9 at random moments and started again: what comes out is what comes out undisturbed.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::yard::{Yard, finish, wait_for};

/// Twelve stories, some of which wait for others.
const STORIES: [(&str, &[&str]); 12] = [
    ("S-01", &[]),
    ("S-02", &[]),
    ("S-03", &["S-01"]),
    ("S-04", &["S-01", "S-02"]),
    ("S-05", &[]),
    ("S-06", &["S-03"]),
    ("S-07", &["S-05"]),
    ("S-08", &["S-06", "S-07"]),
    ("S-09", &[]),
    ("S-10", &["S-09"]),
    ("S-11", &["S-10"]),
    ("S-12", &["S-08", "S-11"]),
];

/// What a run leaves: the files of the main branch, where each story stands, what it completed.
fn result(yard: &Yard) -> Vec<String> {
    let mut result = vec![yard.git(&["ls-files"])];
    let state = yard.read_json(".pipeline/state.json");
    result.push(format!("{} {}", state["complete"], state["stories_remaining"]));
    for (story, _) in STORIES {
        let checkpoint = yard.read_json(&format!(".pipeline/checkpoint-{story}.json"));
        result.push(format!("{story} {} {}", state["story_state"][story], checkpoint["tasksCompleted"]));
    }
    result
}

/// Kills the lead as often as asked, at moments that follow from the seed.
fn disturbed(kills: u64, seed: u64) -> (Yard, u64) {
    println!("seed {seed}");
    let yard = Yard::new(&STORIES);
    yard.run(&["approve"]);
    let mut random = seed;
    let mut killed = 0;
    let limit = Instant::now() + Duration::from_secs(300);
    // The more often, the sooner: all of them within one run.
    let longest = (4_500 / kills.max(1)).clamp(1, 900);
    while killed < kills && Instant::now() < limit {
        let mut lead = yard.command(&["run"]).spawn().expect("it starts");
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let moment = Duration::from_millis(30 + (random >> 33) % longest);
        let since = Instant::now();
        let mut has_ended = false;
        while since.elapsed() < moment && !has_ended {
            has_ended = lead.try_wait().expect("it can be asked").is_some();
            std::thread::sleep(Duration::from_millis(3));
        }
        if !has_ended {
            lead.kill().expect("it can be killed");
        }
        lead.wait().expect("it is gone");
        if has_ended {
            // Another lead would find nothing to do, and begin a report of its own.
            return (yard, killed);
        }
        killed += 1;
    }
    let ended = yard.run(&["run"]);
    assert!(ended.stdout.contains("12 of 12 done"), "seed {seed}: {}", ended.stdout);
    (yard, killed)
}

#[test]
fn a_lead_that_is_killed_again_and_again_loses_and_repeats_nothing() {
    let number = |name: &str, usual: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let undisturbed = Yard::new(&STORIES);
    undisturbed.run(&["run", "--yes"]);
    let want = result(&undisturbed);
    // More of them by hand: PITON_TEST_KILLS=30 PITON_TEST_SEED=7.
    let (yard, killed) = disturbed(number("PITON_TEST_KILLS", 5), number("PITON_TEST_SEED", 20_261_116));
    println!("killed {killed} times");
    assert!(killed >= 3, "the run was over before it was disturbed");
    assert_eq!(result(&yard), want);
    let names: Vec<String> = STORIES.iter().map(|(story, _)| format!("pipeline:{story}")).collect();
    yard.assert_nothing_twice(&names.iter().map(String::as_str).collect::<Vec<_>>());
    yard.assert_nothing_left();
    let report = yard.read_json(".pipeline/report.json");
    // One that was killed before it had begun was none.
    let leads = report["leads"].as_u64().expect("a number");
    assert!((2..=killed + 2).contains(&leads), "{leads} leads, {killed} killed");
    // Nobody died but leads: no worker was started again, no story was given up.
    for lane in report["lanes"].as_array().expect("lanes") {
        assert_eq!((&lane["deaths"], &lane["respawns"]), (&Value::Array(Vec::new()), &Value::from(0)), "{lane}");
    }
}

#[test]
fn a_living_worker_is_adopted_and_not_started_again() {
    let yard = Yard::new(&[("S-1", &[])]).env("PACE", "1");
    yard.run(&["approve"]);
    let mut lead = yard.command(&["run"]).spawn().expect("it starts");
    wait_for("the first task", || !yard.ledger().is_empty(), String::new);
    lead.kill().expect("it can be killed");
    lead.wait().expect("it is gone");
    assert!(!yard.processes().is_empty(), "the worker went with its lead");
    let ended = yard.run(&["run"]);
    assert!(ended.stdout.contains("its worker is alive and continues"), "{}", ended.stdout);
    assert_eq!(yard.ledger().len(), 2, "{:?}", yard.ledger());
    yard.assert_nothing_left();
}

#[test]
fn a_worker_that_died_while_nobody_led_is_judged_by_the_next_lead() {
    let yard = Yard::new(&[("S-1", &[])]).env("PACE", "0.5").env("BAD", "exits");
    yard.run(&["approve"]);
    let mut lead = yard.command(&["run"]).spawn().expect("it starts");
    wait_for("the mark of the one that will exit", || yard.outer("marks/exits-S-1").exists(), String::new);
    lead.kill().expect("it can be killed");
    lead.wait().expect("it is gone");
    wait_for("every process to be gone", || yard.processes().is_empty(), || format!("{:?}", yard.processes()));
    let ended = finish(yard.command(&["run"]).spawn().expect("it starts"));
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    let state = yard.read_json(".pipeline/state.json");
    assert_eq!(state["crash_count"]["S-1"], 1, "{}", ended.stdout);
    yard.assert_nothing_left();
}

/// Dies before its n-th effect on the disk, for some n, and is started again each time.
#[test]
fn a_lead_that_dies_between_any_two_effects_is_followed_by_one_that_goes_on() {
    let number = |name: &str, usual: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    // All of them by hand: PITON_TEST_STRIDE=1.
    let stride = number("PITON_TEST_STRIDE", 37);
    let mut effect = number("PITON_TEST_FIRST", 5);
    let mut has_ended = false;
    while !has_ended {
        let yard = Yard::new(&[("S-1", &[])]).env("BAD", "exits");
        yard.run(&["approve"]);
        let mut lead = yard.command(&["run"]);
        let ended = finish(lead.env("PITON_STOP_AT", effect.to_string()).spawn().expect("it starts"));
        has_ended = ended.code.is_some();
        assert!(!has_ended || ended.code == Some(0), "{effect}: {}{}", ended.stdout, ended.stderr);
        let again = yard.piton(&["run"]);
        assert_eq!(again.code, Some(0), "died before effect {effect}: {}{}", again.stdout, again.stderr);
        let state = yard.read_json(".pipeline/state.json");
        assert_eq!(
            (&state["story_state"]["S-1"], &state["crash_count"]["S-1"]),
            (&"DONE".into(), &1.into()),
            "died before effect {effect}: {}",
            again.stdout
        );
        yard.assert_nothing_twice(&["pipeline:S-1"]);
        yard.assert_nothing_left();
        effect += stride;
    }
    println!("the run has less than {effect} effects");
}
