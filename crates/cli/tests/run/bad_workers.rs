//! Workers that misbehave once: the story is done all the same, and the report says what happened.

use std::fs;

use crate::yard::Yard;

const STORY: &str = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\n";

/// Runs one story whose worker misbehaves once at stage 2; gives what the report says about its deaths.
#[track_caller]
fn survives(yard: &Yard) -> String {
    yard.run(&["run", "--yes"]);
    let report = yard.read_json(".pipeline/report.json");
    assert_eq!(report["outcome"], "done");
    assert_eq!(yard.text("S-1-b.txt"), "S-1-b\n");
    yard.assert_nothing_twice(&["pipeline:S-1"]);
    yard.assert_nothing_left();
    report["lanes"][0]["deaths"].to_string()
}

#[track_caller]
fn patient(bad: &str) -> Yard {
    Yard::new(&[("S-1", &[])]).env("BAD", bad)
}

#[test]
fn who_exits_with_0_without_completing_is_followed_by_another() {
    assert!(survives(&patient("quits")).contains("exit code 0"));
}

#[test]
fn who_exits_with_1_is_followed_by_another_and_twice_is_a_pause() {
    assert!(survives(&patient("exits")).contains("exit code 1"));
    let yard = patient("always-exits");
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4));
    let want = "pipeline:S-1: paused: its worker exited with 1; not complete: the task S-1-a is not done, the task S-1-b is not done; it was restarted once";
    assert!(ended.stdout.contains(want), "{}", ended.stdout);
    assert_eq!(yard.read_json(".pipeline/state.json")["story_state"]["S-1"], "PAUSED");
    assert_eq!(yard.read_json(".pipeline/checkpoint-S-1.json")["pausedFrom"], "STAGE_2");
}

#[test]
fn who_hangs_in_silence_is_asked_and_then_ended() {
    let yard = Yard::impatient("", STORY).env("BAD", "hangs");
    let ended = yard.run(&["run", "--yes", "--json"]);
    assert!(ended.stdout.contains("\"event\":\"asked\""), "{}", ended.stdout);
    assert!(ended.stdout.contains("silent, and did not answer"), "{}", ended.stdout);
    assert_eq!(yard.read_json(".pipeline/state.json")["crash_count"]["S-1"], 1);
    yard.assert_nothing_left();
}

#[test]
fn who_babbles_for_ever_is_ended_when_its_time_is_over() {
    let yard = Yard::impatient("longest = 2.5\n", STORY).env("BAD", "babbles");
    let ended = yard.run(&["run", "--yes", "--json"]);
    assert!(ended.stdout.contains("it took too long"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("\"event\":\"asked\""), "{}", ended.stdout);
    yard.assert_nothing_left();
}

#[test]
fn who_does_not_hear_sigterm_is_killed() {
    survives(&Yard::impatient("", STORY).env("BAD", "deaf"));
}

#[test]
fn a_daemon_that_a_worker_leaves_behind_is_ended() {
    survives(&patient("daemon"));
}

#[test]
fn who_fills_its_pipe_is_not_held_up() {
    assert_eq!(survives(&patient("pipe")), "[]");
}

#[test]
fn a_gigabyte_of_output_does_not_fill_the_disk() {
    let yard = patient("gigabyte");
    survives(&yard);
    let mut bytes = 0;
    for home in fs::read_dir(yard.workspace.path(".piton/run/workers")).expect("homes").flatten() {
        for file in fs::read_dir(home.path()).expect("files").flatten() {
            bytes += file.metadata().expect("a file").len();
        }
    }
    assert!(bytes < 20_000_000, "{bytes} bytes of output are kept");
}

#[test]
fn a_checkpoint_that_a_worker_breaks_is_restored() {
    let yard = patient("corrupts");
    survives(&yard);
    let log = yard.json(&["log", "pipeline:S-1", "--json"]).to_string();
    assert!(log.contains("\"restored\""), "{log}");
}

#[test]
fn who_lies_about_being_done_is_caught_by_the_gate() {
    let gates = "[gates]\nmade = 'grep S-1-b S-1-b.txt'\n";
    let settings = "[run]\npatience = 60\ngrace = 0.3\n";
    let yard = Yard::with(settings, &format!("{gates}{STORY}")).env("BAD", "botches");
    let ended = yard.piton(&["run", "--yes"]);
    assert!(ended.stdout.contains("gate made failed"), "{}", ended.stdout);
    let log = yard.json(&["log", "pipeline:S-1", "--json"]).to_string();
    assert!(log.contains("FAIL, quality 0"), "{log}");
    assert!(log.contains("gate made failed: `grep S-1-b S-1-b.txt"), "{log}");
    assert!(ended.code == Some(4), "a lie that is repeated to the end is a pause: {}", ended.stdout);
    assert!(!yard.workspace.path("S-1-b.txt").exists(), "nothing of it was merged");
}

#[test]
fn who_is_blocked_pauses_with_its_reason() {
    let yard = patient("blocks");
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4));
    assert!(ended.stdout.contains("no key to the vault"), "{}", ended.stdout);
}

#[test]
fn who_runs_into_a_limit_is_parked_and_goes_on_when_it_is_over() {
    let yard = patient("parks");
    let ended = yard.run(&["run", "--yes", "--json"]);
    assert!(ended.stdout.contains("\"event\":\"parked\""), "{}", ended.stdout);
    assert_eq!(yard.read_json(".pipeline/state.json")["crash_count"]["S-1"], 0);
    yard.assert_nothing_left();
}
