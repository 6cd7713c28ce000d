//! An approval is for what was there when it was given: a build that is begun anew, or whose phase gets another workstream,
//! asks when that is built.

use crate::whose_word::{is_on_main, said, workers, yard};
use crate::yard::Yard;

const SPEC: &str = "docs/EXECUTION-SPEC-PRD-074.md";

const TEXT: &str = "---\nprd: PRD-074\nprd_title: A shed\nworkstreams:\n  WS1: {name: Posts, outputs: [WS1.txt]}\n  \
WS2: {name: Roof, outputs: [WS2.txt]}\nexecution_phases:\n  - {name: Ground, parallel: [WS1]}\n  - {name: Rest, \
parallel: [WS2]}\n---\n# A shed\n";

const UNIT: &str = "build:PRD-074";

/// A build that waits for the approval of its first phase.
fn waits() -> Yard {
    // A workstream that is built anew has something to change.
    let yard = yard("keep() { date +%s%N > \"$1.txt\"; git add -A; git commit -qm \"$1\"; }", "", &[(SPEC, TEXT)]);
    yard.run(&["approve", "--commands", SPEC]);
    let ended = yard.piton(&["run", SPEC]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(yard.run(&["status"]).stdout.contains(&format!("piton approve {UNIT}")));
    yard
}

/// Nothing waits: no door asks for an approval, and none can be given.
#[track_caller]
fn asks_for_nothing(yard: &Yard) {
    for arguments in [&["status"][..], &["status", UNIT], &["why", UNIT], &["run", SPEC, "--explain"]] {
        let shown = yard.run(arguments).stdout;
        assert!(!shown.contains("piton approve"), "{arguments:?}: {shown}");
    }
    let next = format!("piton run {SPEC}\n");
    assert!(yard.run(&["status"]).stdout.contains(&next), "{}", yard.run(&["status"]).stdout);
    let refused = yard.piton(&["approve", UNIT]);
    assert_eq!(refused.code, Some(4), "{}", said(&refused));
    assert!(refused.stderr.contains("waits for no approval"), "{}", refused.stderr);
}

#[track_caller]
fn asks(yard: &Yard, built: &[&str]) {
    let ended = yard.piton(&["run", SPEC]);
    assert_eq!((ended.code, workers(yard)), (Some(4), built.iter().map(|it| (*it).to_owned()).collect()));
    assert!(said(&ended).contains("Ground is complete and waits for approval"), "{}", said(&ended));
    assert!(!is_on_main(yard, "WS2.txt"), "{}", said(&ended));
    yard.run(&["approve", UNIT]);
    yard.run(&["run", SPEC]);
    assert!(is_on_main(yard, "WS2.txt"));
}

#[test]
fn a_build_that_is_begun_anew_while_it_waits_asks_when_its_phase_is_built_again() {
    let yard = waits();
    yard.run(&["restart", UNIT]);
    asks_for_nothing(&yard);
    asks(&yard, &["WS1", "WS1"]);
}

fn add_stream(yard: &Yard) {
    let more = "  WS3: {name: Wall, outputs: [WS3.txt]}\nexecution_phases:";
    yard.workspace.write(SPEC, TEXT.replace("execution_phases:", more).replace("[WS1]}\n  -", "[WS1, WS3]}\n  -"));
    yard.commit("a wall");
}

#[test]
fn a_phase_that_gets_a_workstream_while_it_waits_asks_when_that_is_built() {
    let yard = waits();
    add_stream(&yard);
    asks_for_nothing(&yard);
    asks(&yard, &["WS1", "WS3"]);
}

#[test]
fn an_approval_from_before_a_workstream_of_its_phase_is_not_used() {
    let yard = waits();
    yard.run(&["approve", UNIT]);
    add_stream(&yard);
    asks(&yard, &["WS1", "WS3"]);
}
