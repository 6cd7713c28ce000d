//! The lead outlives its terminal, and others can look at it.

use std::time::Instant;

use serde_json::Value;

use crate::pty::Terminal;
use crate::requests::told;
use crate::yard::{Yard, finish, wait_for};

fn waiting() -> Yard {
    let yard = Yard::new(&[("S-1", &[])]).env("WAIT", "yes");
    yard.run(&["approve"]);
    yard
}

fn go(yard: &Yard) {
    std::fs::write(yard.outer("marks/go"), "").expect("it can be written");
}

fn is_running(yard: &Yard) -> bool {
    let published = std::fs::read_to_string(yard.workspace.path(".piton/run/lead.json")).unwrap_or_default();
    let value: Value = serde_json::from_str(&published).unwrap_or_default();
    value["view"]["lanes"][0]["stage"] == 2 && value["view"]["lanes"][0]["state"] == "running"
}

#[track_caller]
fn assert_done(yard: &Yard) {
    let state = yard.read_json(".pipeline/state.json");
    assert_eq!((&state["story_state"]["S-1"], &state["crash_count"]["S-1"]), (&"DONE".into(), &0.into()));
}

#[test]
fn a_closed_terminal_stops_neither_lead_nor_workers() {
    // More of them by hand: PITON_TEST_TERMINALS=20.
    let rounds = std::env::var("PITON_TEST_TERMINALS").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
    for _ in 0..rounds {
        let yard = waiting();
        let terminal = Terminal::start(&yard.command(&["run"]), 100, 30);
        wait_for("the worker of stage 2", || is_running(&yard), || terminal.seen());
        terminal.wait_for("running");
        let mut lead = terminal.close();
        let closed = Instant::now();
        wait_for("the hang-up", || !told(&yard, "detached").is_empty(), String::new);
        println!("told after {:?}", closed.elapsed());
        assert!(lead.try_wait().expect("it can be asked").is_none(), "the lead goes on");
        go(&yard);
        assert_eq!(lead.wait().expect("it ends").code(), Some(0));
        assert_done(&yard);
        yard.assert_nothing_left();
    }
}

/// A shell passes the hang-up on to its jobs: they get it twice.
#[test]
fn a_shell_that_passes_the_hang_up_on_stops_nothing_either() {
    let yard = waiting();
    let mut shell = yard.command(&["run"]);
    let line = format!("'{}' run\n", shell.get_program().display());
    shell = {
        let mut bash = std::process::Command::new("bash");
        bash.args(["--norc", "--noprofile", "-i"]);
        bash.env_clear().envs(shell.get_envs().filter_map(|(name, value)| Some((name, value?))));
        bash.current_dir(shell.get_current_dir().expect("a directory"));
        bash
    };
    let mut terminal = Terminal::start(&shell, 100, 30);
    terminal.type_in(&line);
    wait_for("the worker of stage 2", || is_running(&yard), || terminal.seen());
    let mut bash = terminal.close();
    bash.wait().expect("the shell ends");
    wait_for("the hang-up", || !told(&yard, "detached").is_empty(), String::new);
    go(&yard);
    wait_for(
        "the end",
        || yard.workspace.path(".piton/run/report.json").exists(),
        || format!("{:?}", yard.processes()),
    );
    assert_done(&yard);
    assert_eq!(told(&yard, "requested"), [""; 0]);
    yard.assert_nothing_left();
}

#[test]
fn a_second_run_shows_the_first_and_ctrl_c_only_detaches() {
    let yard = waiting();
    let lead = yard.command(&["run"]).spawn().expect("it starts");
    wait_for("the worker of stage 2", || is_running(&yard), String::new);
    let mut watcher = Terminal::start(&yard.command(&["run"]), 100, 30);
    watcher.wait_for("attached to run 1, led by process ");
    watcher.wait_for("pipeline:S-1 ████░░░░ s2 running");
    watcher.type_in("\x03");
    watcher.wait_for("detached; run 1 goes on, led by process ");
    watcher.wait_for("stop it: piton stop");
    let code = watcher.child.wait().expect("it ends").code();
    assert_eq!(code, Some(1), "whether the run succeeds is not known");
    // One that stays has the run's own exit code and its end.
    let mut second = Terminal::start(&yard.command(&["run", "pipeline:S-1"]), 100, 30);
    second.wait_for("attached to run 1");
    let mut third = Terminal::start(&yard.command(&["run", "--json"]), 100, 30);
    third.wait_for("\"event\":\"attached\"");
    go(&yard);
    let first = finish(lead);
    assert_eq!(first.code, Some(0), "{}{}", first.stdout, first.stderr);
    second.wait_for("pipeline:S-1: stage 2: Done; stage 3 is next");
    second.wait_for(": 1 of 1 done, in ");
    third.wait_for("\"event\":\"merged\"");
    third.wait_for("\"outcome\":\"done\"");
    for watcher in [&mut second, &mut third] {
        assert_eq!(watcher.child.wait().expect("it ends").code(), Some(0), "{}", watcher.seen());
    }
    let seen = third.seen();
    let mut events = seen
        .lines()
        .map(|line| serde_json::from_str::<Value>(line.trim()).unwrap_or_else(|error| panic!("{error}: {line:?}")));
    assert_eq!(events.next_back().expect("an end")["event"], "ended", "{seen}");
    yard.assert_nothing_left();
}

#[test]
fn a_run_of_other_work_beside_a_lead_is_refused_with_commands_that_work() {
    let yard = Yard::new(&[("S-1", &[]), ("S-2", &[])]).env("WAIT", "yes");
    yard.run(&["approve"]);
    let lead = yard.command(&["run", "pipeline:S-1"]).spawn().expect("it starts");
    wait_for("the worker of stage 2", || is_running(&yard), String::new);
    for (arguments, want, last) in [
        (&["run", "pipeline:S-2"][..], "the lead at work here does not have pipeline:S-2", "piton run pipeline:S-2"),
        (&["run", "--retry"], "a lead at work retries nothing that is paused", "piton run --retry"),
        (
            &["run", "--detach", "pipeline:S-2"],
            "the lead at work here does not have pipeline:S-2",
            "piton run pipeline:S-2",
        ),
    ] {
        let refused = yard.piton(arguments);
        assert_eq!(refused.code, Some(6), "{}{}", refused.stdout, refused.stderr);
        assert!(refused.stderr.contains(want) && refused.stderr.contains("(run 1, process "), "{}", refused.stderr);
        assert!(
            refused.stderr.contains("hint: let it end after its current workers: piton stop\n"),
            "{}",
            refused.stderr
        );
        assert!(refused.stderr.trim_end().ends_with(last), "{}", refused.stderr);
    }
    yard.run(&["stop"]);
    go(&yard);
    assert_eq!(finish(lead).code, Some(1));
    yard.run(&["run", "pipeline:S-2"]);
    yard.run(&["run"]);
    yard.assert_nothing_left();
}

#[test]
fn a_detached_lead_has_a_session_of_its_own_and_can_be_watched() {
    let yard = waiting();
    let begun = Instant::now();
    let started = yard.json(&["run", "--detach", "--json"]);
    println!("detached after {:?}", begun.elapsed());
    let pid = started["pid"].as_u64().expect("a pid");
    assert_eq!(started["run"], 1);
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let fields: Vec<&str> = stat.rsplit_once(") ").expect("a name").1.split(' ').collect();
    assert_eq!((fields[3], fields[4]), (pid.to_string().as_str(), "0"), "its own session, without a terminal: {stat}");
    // Once more: it is led already.
    let again = yard.run(&["run", "--detach"]);
    assert!(again.stdout.contains(&format!("run 1 is led by process {pid}\n")), "{}", again.stdout);
    let watcher = yard.command(&["run"]).spawn().expect("it starts");
    wait_for("the worker of stage 2", || is_running(&yard), String::new);
    go(&yard);
    let watched = finish(watcher);
    assert_eq!(watched.code, Some(0), "{}{}", watched.stdout, watched.stderr);
    let log = yard.text(started["log"].as_str().expect("a log"));
    assert!(log.contains("\"outcome\":\"done\""), "{log}");
    yard.assert_nothing_left();
}

#[test]
fn a_detached_lead_that_cannot_begin_says_why() {
    let yard = Yard::new(&[("S-1", &[])]);
    let refused = yard.piton(&["run", "--detach"]);
    assert_eq!(refused.code, Some(4), "{}{}", refused.stdout, refused.stderr);
    assert!(refused.stderr.contains("you have not approved"), "{}", refused.stderr);
    assert_eq!(refused.stdout, "");
}

#[test]
fn whoever_watches_a_lead_that_is_killed_is_told_how_to_continue() {
    let yard = waiting();
    let mut lead = yard.command(&["run", "pipeline:S-1"]).spawn().expect("it starts");
    wait_for("the worker of stage 2", || is_running(&yard), String::new);
    let watcher = Terminal::start(&yard.command(&["run"]), 80, 24);
    watcher.wait_for("attached to run 1");
    lead.kill().expect("it can be killed");
    lead.wait().expect("it is gone");
    watcher.wait_for("is gone, and run 1 is not finished");
    watcher.wait_for("hint: continue it: piton run pipeline:S-1");
    go(&yard);
    yard.run(&["run", "pipeline:S-1"]);
    assert_done(&yard);
    yard.assert_nothing_left();
}
