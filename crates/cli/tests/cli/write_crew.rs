//! An agent of a crew from its first record to its last, verb by verb.

use std::time::{Duration, Instant};

use insta::assert_snapshot;

use crate::support::Workspace;
use crate::support::replay::{Replay, shown};

const EPIC: &str = "# The tides\n\n<!-- BEGIN Secondary-A PROGRESS -->\nnothing yet\n<!-- END Secondary-A PROGRESS -->\n\nKeep this.\n";

fn epic() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("EPIC_README.md", EPIC).directory("agent_checkpoints");
    workspace
}

#[test]
fn an_agent_lives_as_its_protocol_says() {
    let workspace = epic();
    let mut replay = Replay::new(&workspace);
    replay.all("10:00 start crew:Secondary-A --feature feature_02_tide_gauge --stage S2.P1 --session session-1");
    assert_snapshot!("agent_started", shown(&workspace));
    replay.all(
        "10:05 step crew:Secondary-A begin 'read the tide table'
         10:10 step crew:Secondary-A done 'read the tide table' --file feature_02_tide_gauge/spec.md --next 'write the spec'
         10:15 beat crew:Secondary-A
         10:16 note crew:Secondary-A 'the gauge is rusty'
         10:17 note crew:Secondary-A --resume 'the spec is half written; go on with section 5'
         10:18 decide crew:Secondary-A 'buy a new gauge' --reason 'rust'
         10:20 stage crew:Secondary-A S2.P2 --phase Specification
         10:25 block crew:Secondary-A --message 'no tide table for March'",
    );
    assert_snapshot!("agent_blocked", shown(&workspace));
    replay.refused(4, "10:26 step crew:Secondary-A done 'write the spec'");
    replay.all(
        "10:27 unblock crew:Secondary-A
         10:28 step crew:Secondary-A done 'write the spec'
         10:29 pause crew:Secondary-A --reason 'waiting for the others'
         10:30 resume crew:Secondary-A --session session-2
         10:31 fail crew:Secondary-A --message 'the gauge fell into the sea'
         10:32 unblock crew:Secondary-A
         10:33 stage crew:Secondary-A S2.P3
         10:34 step crew:Secondary-A done 'write the checklist'
         10:34 step crew:Secondary-A skip 'Read S2.P3 guide' --message 'known by heart'
         10:35 finish crew:Secondary-A",
    );
    replay.refused(4, "10:36 step crew:Secondary-A begin 'one more'");
    replay.all(
        "10:37 beat crew:Secondary-A
         10:38 reopen crew:Secondary-A
         10:39 finish crew:Secondary-A
         10:40 log crew:Secondary-A",
    );
    assert_snapshot!("agent_life", replay.transcript());
    let all = shown(&workspace);
    let (backups, rest): (Vec<_>, Vec<_>) = all.split("==> ").skip(1).partition(|file| file.contains("/backups/"));
    assert_snapshot!("agent_complete", rest.concat());
    assert_eq!(backups.len(), 10, "the last ten copies are kept");
    let checked = workspace.run(&["check"]).exits(0);
    assert!(!checked.stdout.contains("error["), "{}", checked.transcript());
}

#[test]
fn a_silent_agent_is_resumed_taken_over_or_begun_again() {
    let workspace = epic();
    let mut replay = Replay::new(&workspace);
    replay.all(
        "10:00 start crew:Secondary-A --feature feature_02_tide_gauge --stage S2.P1 --session session-1
         10:40 step crew:Secondary-A done 'read the tide table' --next 'write the spec'",
    );
    replay.refused(4, "10:50 resume crew:Secondary-A");
    replay.all(
        "11:45 resume crew:Secondary-A --session session-2
         11:46 resume crew:Secondary-A --session session-2 --json",
    );
    replay.refused(4, "11:47 restart crew:Secondary-A");
    replay.all(
        "12:50 takeover crew:Secondary-A --as Secondary-C
         12:51 status crew:Secondary-C
         12:52 log crew:Secondary-A",
    );
    assert_snapshot!("agent_taken_over", shown(&workspace));
    replay.all(
        "13:00 start crew:Secondary-B --feature feature_03_buoys --stage S2.P1
         13:05 restart crew:Secondary-B --force
         13:06 start crew:Secondary-D --feature feature_04_sand --stage S2.P1
         13:45 step crew:Secondary-D done 'dig'
         13:50 restart crew:Secondary-D --force",
    );
    replay.all(
        "13:51 show crew:Secondary-D@2
         13:51 diff crew:Secondary-D@1 crew:Secondary-D@2
         13:52 rollback crew:Secondary-D@2
         13:53 repair crew:Secondary-D",
    );
    assert_snapshot!("agent_recovery", replay.transcript());
    let names: Vec<_> = crate::support::replay::documents(&workspace).into_keys().collect();
    assert_snapshot!("agent_files", names.join("\n"));
}

/// The fastest of several, so that a busy machine decides nothing.
#[test]
fn each_record_of_an_agent_takes_less_than_a_second() {
    let workspace = epic();
    let fastest = |call: &dyn Fn(usize)| {
        let timed = |round| {
            let since = Instant::now();
            call(round);
            since.elapsed()
        };
        (0..5).map(timed).min().expect("some")
    };
    let start = |round: usize| {
        let agent = format!("crew:Secondary-{round}");
        drop(workspace.run(&["start", &agent, "--feature", "tides", "--stage", "S2.P1"]).exits(0));
    };
    // An update writes the backup too.
    let update = |_| drop(workspace.run(&["beat", "crew:Secondary-1"]).exits(0));
    let read = |_| drop(workspace.run(&["status", "crew:Secondary-1"]).exits(0));
    for (what, call) in [("create", &start as &dyn Fn(usize)), ("update and back up", &update), ("read", &read)] {
        let took = fastest(call);
        assert!(took < Duration::from_secs(1), "{what}: {took:?}");
    }
}
