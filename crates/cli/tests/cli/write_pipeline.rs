//! A story from its first record to its last, verb by verb.

use insta::assert_snapshot;
use serde_json::json;

use crate::support::Workspace;
use crate::support::fixtures::pipeline;
use crate::support::harbour::put;
use crate::support::replay::{Replay, shown};

#[test]
fn a_story_lives_as_its_protocol_says() {
    let workspace = Workspace::new();
    let mut replay = Replay::new(&workspace);
    replay.all(
        "10:00 start pipeline:PROJ-42 --stage 0 --session abc-123-def --title 'A light for the mole'
         10:05 step pipeline:PROJ-42 begin PROJ-101 PROJ-102 PROJ-103",
    );
    replay.refused(4, "10:06 stage pipeline:PROJ-42 1");
    replay.all(
        "10:10 verdict pipeline:PROJ-42 PLAN --score 3
         10:11 stage pipeline:PROJ-42 1",
    );
    replay.refused(4, "10:12 stage pipeline:PROJ-42 2");
    replay.refused(4, "10:13 verdict pipeline:PROJ-42 GO --score 4");
    replay.all(
        "10:14 verdict pipeline:PROJ-42 NO-GO --score 4 --reason 'no drawing of the lamp'
         10:20 verdict pipeline:PROJ-42 GO --score 8 --by harbour-master",
    );
    assert_snapshot!("story_validated", shown(&workspace));
    replay.all(
        "10:21 stage pipeline:PROJ-42 2
         10:30 step pipeline:PROJ-42 done PROJ-101 --message 'lamp wired' --file src/lamp.rs
         10:31 note pipeline:PROJ-42 'the second lamp is dim'
         10:31 note pipeline:PROJ-42 --resume 'measure the second lamp first'
         10:32 decide pipeline:PROJ-42 'use a lens' --reason 'brighter'
         10:33 beat pipeline:PROJ-42
         10:34 block pipeline:PROJ-42 --message 'the lens is at sea' --type delivery",
    );
    replay.refused(4, "10:35 step pipeline:PROJ-42 done PROJ-102");
    replay.refused(4, "10:35 resume pipeline:PROJ-42");
    replay.all(
        "10:36 unblock pipeline:PROJ-42
         10:37 step pipeline:PROJ-42 done PROJ-102
         10:38 pause pipeline:PROJ-42 --reason 'storm'
         10:50 resume pipeline:PROJ-42 --session abc-456-def
         10:51 fail pipeline:PROJ-42 --step PROJ-103 --message 'the lamp broke' --file src/lamp.rs --line 7
         10:52 resume pipeline:PROJ-42 --json",
    );
    replay.refused(4, "10:53 stage pipeline:PROJ-42 3");
    replay.all(
        "10:54 step pipeline:PROJ-42 done PROJ-103
         10:55 stage pipeline:PROJ-42 3
         10:56 verdict pipeline:PROJ-42 FAIL --score 40 --issues 'two lamps are dark'",
    );
    replay.refused(4, "10:57 finish pipeline:PROJ-42");
    replay.all(
        "10:58 stage pipeline:PROJ-42 2
         11:10 stage pipeline:PROJ-42 3
         11:11 verdict pipeline:PROJ-42 PASS --score 92
         11:12 finish pipeline:PROJ-42",
    );
    replay.refused(4, "11:13 resume pipeline:PROJ-42");
    replay.refused(4, "11:13 step pipeline:PROJ-42 done PROJ-103");
    replay.all(
        "11:14 reopen pipeline:PROJ-42
         11:15 verdict pipeline:PROJ-42 WAIVED --score 90
         11:16 finish pipeline:PROJ-42
         11:17 repair pipeline:PROJ-42
         11:17 log pipeline:PROJ-42",
    );
    assert_snapshot!("story_life", replay.transcript());
    assert_snapshot!("story_done", shown(&workspace));
    let checked = workspace.run(&["check"]).exits(0);
    assert!(!checked.stdout.contains("error["), "{}", checked.transcript());
}

#[test]
fn the_leads_state_follows_its_story_and_keeps_everything_else() {
    let workspace = Workspace::new();
    let state = pipeline(json!({ "PROJ-42": "QUEUED", "PROJ-43": "QUEUED" }), json!({ "PROJ-43": ["PROJ-42"] }));
    put(&workspace, ".pipeline/state.json", &state);
    let mut replay = Replay::new(&workspace);
    replay.refused(4, "10:00 start pipeline:PROJ-43");
    replay.all(
        "10:00 start pipeline:PROJ-42 --stage 0 --session lamp-1 --step PROJ-101
         10:01 verdict pipeline:PROJ-42 PLAN --score 4
         10:02 stage pipeline:PROJ-42 1
         10:03 verdict pipeline:PROJ-42 GO --score 9
         10:04 stage pipeline:PROJ-42 2
         10:05 pause pipeline:PROJ-42 --reason storm",
    );
    assert_snapshot!("state_with_a_paused_story", shown(&workspace));
    replay.all(
        "10:06 unblock pipeline:PROJ-42
         10:07 takeover pipeline:PROJ-42 --as lamp-2 --force
         10:08 step pipeline:PROJ-42 done PROJ-101
         10:09 diff pipeline:PROJ-42@8
         10:10 rollback pipeline:PROJ-42@5
         10:11 restart pipeline:PROJ-42 --force",
    );
    assert_snapshot!("story_in_a_state", replay.transcript());
    assert_snapshot!("state_with_a_restarted_story", shown(&workspace));
}
