//! A task from its first record to its archive, verb by verb.

use insta::assert_snapshot;

use crate::support::Workspace;
use crate::support::harbour::{but, put};
use crate::support::replay::{Replay, shown};

const START: &str = "10:00 start task:migration/T060 --title 'Turn the sea charts into text' --total 4 --step chart-01 --step chart-02 --step chart-03 --step chart-04 --criterion 4_files_created --criterion manifest_updated --agent-name Mole";

#[test]
fn a_task_lives_as_its_protocol_says() {
    let workspace = Workspace::new();
    workspace.write("progress/STATUS.md", "# Where we are\n\nThe harbour is open.\n");
    let mut replay = Replay::new(&workspace);
    replay.all(START);
    assert_snapshot!("task_started", shown(&workspace));
    replay.all(
        "10:05 step task:migration/T060 begin chart-01
         10:10 step task:migration/T060 done chart-01 --output text/chart-01.md --file text/MANIFEST.json --next chart-02
         10:12 step task:migration/T060 done chart-02 --output text/chart-02.md
         10:15 beat task:migration/T060
         10:16 note task:migration/T060 'two charts are in Dutch'
         10:17 decide task:migration/T060 'keep the Dutch names' --reason 'they are on the signs'
         10:18 note task:migration/T060 --resume 'go on with chart-03'
         10:20 block task:migration/T060 --message 'chart-03 is not in the drawer' --type dependency_missing",
    );
    assert_snapshot!("task_blocked", shown(&workspace));
    replay.refused(4, "10:21 step task:migration/T060 done chart-03");
    replay.refused(4, "10:21 finish task:migration/T060");
    replay.all(
        "10:22 unblock task:migration/T060
         10:23 pause task:migration/T060 --reason lunch
         11:00 resume task:migration/T060
         11:01 step task:migration/T060 fail chart-03 --message 'the ink is gone'",
    );
    replay.refused(4, "11:02 finish task:migration/T060");
    replay.all(
        "11:05 step task:migration/T060 done chart-03 --output text/chart-03.md
         11:06 step task:migration/T060 done chart-04 --output text/chart-04.md
         11:07 gate task:migration/T060 pass manifest_updated",
    );
    replay.refused(4, "11:08 finish task:migration/T060");
    replay.all(
        "11:09 gate task:migration/T060 pass 4_files_created
         11:10 verdict task:migration/T060 PASS --by agent_4 --score 85
         11:11 finish task:migration/T060",
    );
    replay.refused(4, "11:12 step task:migration/T060 done chart-04");
    replay.refused(4, "11:12 resume task:migration/T060");
    replay.all("11:13 log task:migration/T060");
    assert_snapshot!("task_life", replay.transcript());
    assert_snapshot!("task_archived", shown(&workspace));
    let checked = workspace.run(&["check"]).exits(0);
    assert!(!checked.stdout.contains("error["), "{}", checked.transcript());
}

#[test]
fn a_task_comes_back_from_its_archive_and_never_overwrites_one() {
    let workspace = Workspace::new();
    let mut replay = Replay::new(&workspace);
    replay.all(
        "10:00 start task:quay/T1 --title 'List the quays' --step north --criterion listed
         10:01 step task:quay/T1 done north
         10:02 gate task:quay/T1 pass listed
         10:03 finish task:quay/T1
         10:04 reopen task:quay/T1
         10:05 gate task:quay/T1 fail listed
         10:06 gate task:quay/T1 pass listed
         10:07 finish task:quay/T1
         10:08 start task:quay/T1 --title 'List them again' --step north
         10:09 takeover task:quay/T1 --as east --force
         10:10 restart task:east/T1 --force
         10:11 rollback task:east/T1@2
         10:12 diff task:east/T1@1 task:east/T1@2
         10:13 show task:quay/T1@1
         10:14 repair task:east/T1",
    );
    assert_snapshot!("task_again", replay.transcript());
    assert_snapshot!("task_archives", shown(&workspace));
}

#[test]
fn an_interrupted_task_is_resumed_for_what_is_missing() {
    let workspace = Workspace::new();
    let document = crate::support::fixtures::task("quay", "T060", "List the quays", "2026-02-20T10:00:00Z");
    put(&workspace, "progress/checkpoints/quay-T060.json", &document);
    let mut replay = Replay::new(&workspace);
    replay.refused(4, "10:05 resume task:quay/T060");
    replay.all(
        "10:45 resume task:quay/T060
         11:30 resume task:quay/T060 --json",
    );
    let claims = but(
        document.clone(),
        serde_json::json!({ "status": "complete", "progress_percent": 100, "task_id": "T061", "checkpoint_id": "x" }),
    );
    put(&workspace, "progress/checkpoints/quay-T061.json", &claims);
    replay.refused(4, "11:31 finish task:quay/T061");
    replay.all("11:32 reopen task:quay/T061");
    let stopped = but(document, serde_json::json!({ "resumable": false, "task_id": "T062", "checkpoint_id": "y" }));
    put(&workspace, "progress/checkpoints/quay-T062.json", &stopped);
    replay.refused(4, "11:33 resume task:quay/T062");
    replay.run("11:33 resume task:quay/T062 --json").exits(4);
    assert_snapshot!("task_resume", replay.transcript());
    assert_snapshot!("task_resumed", shown(&workspace));
}
