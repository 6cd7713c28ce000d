//! A build from its first record to its last, verb by verb.

use insta::assert_snapshot;

use crate::support::Workspace;
use crate::support::fixtures::BUILDS;
use crate::support::replay::{Replay, mask, shown};

const SPECIFICATION: &str = "---
prd: PRD-009
workstreams:
  WS1:
    name: Draw the quay
    gate: schema-validation
  WS2:
    name: Drive the piles
    depends_on: [WS1]
    gate: type-check
  WS3:
    name: Pour the deck
    depends_on: [WS1]
    gate: lint
  WS4:
    name: Hang the fenders
    depends_on: [WS2, WS3]
    gate: type-check
  WS5:
    name: Moor a ship
    depends_on: [WS4]
    gate: test-pass
execution_phases:
  - name: Survey
    parallel: [WS1]
    gates: [schema-validation]
  - name: Works
    parallel: [WS2, WS3]
    gates: [type-check, lint]
  - name: Fittings
    parallel: [WS4]
    gates: [type-check]
  - name: Trials
    parallel: [WS5]
    gates: [test-pass]
gates:
  schema-validation:
    command: 'true'
  type-check:
    command: 'true'
  lint:
    command: 'true'
  test-pass:
    command: 'true'
---

# How the quay is built
";

#[test]
fn a_build_lives_as_its_protocol_says() {
    let workspace = Workspace::new();
    workspace.write("docs/EXECUTION-SPEC-PRD-009.md", SPECIFICATION);
    let mut replay = Replay::new(&workspace);
    replay.all(
        "10:00 start build:PRD-009 --title 'The long quay' --spec docs/EXECUTION-SPEC-PRD-009.md
         10:01 verdict build:PRD-009 do_not_ship --p0 1 --p1 2 --report docs/review.md",
    );
    replay.refused(4, "10:02 step build:PRD-009 begin WS1");
    replay.all(
        "10:03 verdict build:PRD-009 ship --p0 0 --p1 1
         10:05 step build:PRD-009 begin WS1
         10:15 step build:PRD-009 done WS1 --output quay/plan.svg --output quay/levels.csv
         10:16 gate build:PRD-009 pass schema-validation --step WS1",
    );
    assert_snapshot!("build_paused_at_a_gate", shown(&workspace));
    replay.all(
        "10:18 resume build:PRD-009
         10:20 step build:PRD-009 begin WS2 WS3
         10:21 beat build:PRD-009
         10:22 note build:PRD-009 'the third pile meets rock'
         10:22 note build:PRD-009 --resume 'begin with the rock drill'
         10:23 decide build:PRD-009 'drill instead of driving' --reason 'the pile would bend'
         10:24 step build:PRD-009 done WS2 --output quay/piles.md
         10:25 fail build:PRD-009 --step WS3 --message 'the concrete does not set' --file quay/deck.md --line 45",
    );
    assert_snapshot!("build_failed", shown(&workspace));
    replay.refused(4, "10:26 step build:PRD-009 begin WS3");
    replay.refused(4, "10:39 resume build:PRD-009 --continue");
    replay.all(
        "10:40 resume build:PRD-009 --fixed
         10:41 step build:PRD-009 begin WS3
         10:42 step build:PRD-009 done WS3 --output quay/deck.md
         10:43 gate build:PRD-009 pass type-check --step WS2
         10:44 gate build:PRD-009 fail lint --step WS3",
    );
    replay.all(
        "10:45 resume build:PRD-009 --fixed
         10:45 note build:PRD-009 --fix quay/deck.md --message 'less water' --kind eslint
         10:45 note build:PRD-009 --fix quay/deck.md --message 'more sand'
         10:45 note build:PRD-009 --cleanup 'the old moulds are gone'
         10:46 gate build:PRD-009 pass lint --step WS3
         10:47 pause build:PRD-009 --reason 'the tide is high'
         10:48 resume build:PRD-009
         10:49 block build:PRD-009 --message 'no crane' --type equipment",
    );
    replay.refused(4, "10:50 step build:PRD-009 begin WS4");
    replay.all(
        "10:51 unblock build:PRD-009
         10:52 step build:PRD-009 begin WS4
         10:53 step build:PRD-009 done WS4 --output quay/fenders.md
         10:54 gate build:PRD-009 pass type-check --step WS4",
    );
    replay.refused(4, "10:55 finish build:PRD-009");
    replay.all(
        "10:56 resume build:PRD-009
         10:57 step build:PRD-009 begin WS5
         10:58 step build:PRD-009 done WS5 --output quay/mooring.md
         10:59 gate build:PRD-009 pass test-pass --step WS5
         11:00 finish build:PRD-009",
    );
    replay.refused(4, "11:01 resume build:PRD-009");
    replay.refused(4, "11:02 step build:PRD-009 begin WS1");
    assert_snapshot!("build_life", replay.transcript());
    assert_snapshot!("build_complete", shown(&workspace));
    let checked = workspace.run(&["check"]).exits(0);
    assert!(!checked.stdout.contains("error["), "{}", checked.transcript());
}

#[test]
fn the_history_of_a_build_is_kept() {
    let workspace = Workspace::new();
    let mut replay = Replay::new(&workspace);
    replay.all(
        "10:00 start build:PRD-010 --title 'The short quay' --step WS1 --step WS2 --gate lint
         10:05 step build:PRD-010 begin WS1
         10:15 step build:PRD-010 done WS1 --output quay/plan.svg
         10:16 log build:PRD-010
         10:16 log build:PRD-010 --last 1 --json
         10:16 show build:PRD-010@1
         10:16 diff build:PRD-010@2 build:PRD-010@3
         10:16 diff build:PRD-010@2
         10:17 rollback build:PRD-010@2
         10:18 log build:PRD-010 --last 2
         10:19 rollback build:PRD-010@3
         10:20 repair build:PRD-010",
    );
    for (code, line) in [
        (5, "10:21 show build:PRD-010@99"),
        (5, "10:21 rollback build:PRD-010@99"),
        (2, "10:21 rollback build:PRD-010"),
        (2, "10:21 diff build:PRD-010"),
        (2, "10:21 show build:PRD-010@x"),
        (5, "10:21 show build:PRD-010@1 --file elsewhere.json"),
        (5, "10:21 log build:PRD-011"),
    ] {
        replay.refused(code, line);
    }
    replay.run("10:22 restart build:PRD-010 --force").exits(0);
    assert_snapshot!("build_history", replay.transcript());
    assert_snapshot!("build_restarted", shown(&workspace));
}

#[test]
fn an_interrupted_build_says_how_it_goes_on() {
    let workspace = Workspace::new();
    let mut replay = Replay::new(&workspace);
    replay.all(
        "08:00 start build:PRD-010 --title 'The short quay' --step WS1 --step WS2 --gate lint
         08:05 step build:PRD-010 begin WS1",
    );
    replay.refused(4, "11:00 resume build:PRD-010");
    replay.run("11:01 resume build:PRD-010 --json").exits(4);
    replay.run("11:02 resume build:PRD-010 --continue --json --by nightwatch").exits(0);
    replay.refused(4, "11:03 resume build:PRD-010 --continue");
    replay.run("11:04 resume build:PRD-010 --restart --force").exits(0);
    replay.run("11:05 resume").exits(0);
    assert_snapshot!("build_resume", replay.transcript());
    let path = workspace.path(&format!("{BUILDS}/PRD-010.json"));
    let document = std::fs::read_to_string(path).expect("the checkpoint");
    assert_snapshot!("build_resumed", mask(&document));
}
