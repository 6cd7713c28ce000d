//! A plan from its first record to its last, verb by verb.

use insta::assert_snapshot;

use crate::support::Workspace;
use crate::support::replay::{Replay, shown};

const PLAN: &str = "# Rebuild the lighthouse

## Phase 1: Survey
<!-- CHECKPOINT: phase-1-survey -->
- [ ] Measure the tower <!-- TASK: measure -->
- [ ] Order the lens <!-- TASK: lens -->
- [ ] The tower is measured twice <!-- ACCEPT: twice -->

## Phase 2: Works
<!-- CHECKPOINT: phase-2-works -->
- [ ] Fit the lens <!-- TASK: fit -->
- [ ] Light the lamp <!-- TASK: light -->
- [ ] Seen from ten miles <!-- ACCEPT: visible -->
<!-- DECISION: the lens comes from far away -->
";

#[test]
fn a_plan_lives_as_its_protocol_says() {
    let workspace = Workspace::new();
    workspace.write("plans/260220-1149-lighthouse/plan.md", PLAN);
    let mut replay = Replay::new(&workspace);
    replay.all("10:00 start plan:260220-1149-lighthouse");
    assert_snapshot!("plan_started", shown(&workspace));
    replay.all(
        "10:05 step plan:260220-1149-lighthouse done measure
         10:06 step plan:260220-1149-lighthouse begin lens --by subagent:buyer
         10:07 step plan:260220-1149-lighthouse done lens --by subagent:buyer
         10:08 gate plan:260220-1149-lighthouse pass twice
         10:09 note plan:260220-1149-lighthouse 'the crane comes on Monday'
         10:10 note plan:260220-1149-lighthouse --resume 'wait for the crane'
         10:11 decide plan:260220-1149-lighthouse 'buy the lens' --reason 'grinding takes a year'
         10:12 block plan:260220-1149-lighthouse --message 'the crane is late'",
    );
    assert_snapshot!("plan_blocked", shown(&workspace));
    replay.all(
        "10:13 unblock plan:260220-1149-lighthouse
         10:14 beat plan:260220-1149-lighthouse
         10:15 pause plan:260220-1149-lighthouse --reason storm
         10:16 resume plan:260220-1149-lighthouse
         10:17 fail plan:260220-1149-lighthouse --step fit --message 'the lens does not fit'
         10:18 resume plan:260220-1149-lighthouse --json",
    );
    replay.refused(4, "10:19 finish plan:260220-1149-lighthouse");
    replay.all(
        "10:20 step plan:260220-1149-lighthouse done fit light
         10:21 gate plan:260220-1149-lighthouse pass visible
         10:22 finish plan:260220-1149-lighthouse",
    );
    replay.refused(4, "10:23 resume plan:260220-1149-lighthouse");
    replay.all(
        "10:24 reopen plan:260220-1149-lighthouse
         10:25 gate plan:260220-1149-lighthouse fail visible
         10:26 gate plan:260220-1149-lighthouse pass visible
         10:27 log plan:260220-1149-lighthouse
         10:28 diff plan:260220-1149-lighthouse@2
         10:29 rollback plan:260220-1149-lighthouse@4
         10:30 repair plan:260220-1149-lighthouse
         10:31 status plan:260220-1149-lighthouse",
    );
    assert_snapshot!("plan_life", replay.transcript());
    assert_snapshot!("plan_rolled_back", shown(&workspace));
}

#[test]
fn a_plan_without_ids_gets_them_and_nothing_else() {
    let workspace = Workspace::new();
    let text = "# Paint\r\n\r\n- [ ] Paint the door\r\n- [x] Buy the *paint*\r\n\r\nNo box here.";
    workspace.write("plans/paint/plan.md", text);
    let mut replay = Replay::new(&workspace);
    replay.refused(4, "10:00 step plan:paint done 'Paint the door'");
    replay.all(
        "10:01 plan mark plan:paint
         10:02 plan mark plan:paint
         10:03 step plan:paint done paint-the-door",
    );
    assert_snapshot!("plan_marked", replay.transcript());
    let marked = std::fs::read_to_string(workspace.path("plans/paint/plan.md")).expect("the plan");
    assert_eq!(
        marked,
        "# Paint\r\n\r\n- [x] Paint the door <!-- TASK: paint-the-door -->\r\n- [x] Buy the *paint* <!-- TASK: buy-the-paint -->\r\n\r\nNo box here."
    );
}

/// The backup of a state of megabytes is left unread as long as nobody needs it. Who needs it, and who replaces it, has
/// what it holds.
#[test]
fn a_large_backup_is_there_when_it_is_needed() {
    let workspace = Workspace::new();
    let task = |number: usize| format!("- [ ] Task {number} <!-- TASK: task-{number} -->\n");
    let plan: String = (0..20_000).map(task).collect();
    workspace.write("plans/wall/plan.md", format!("# Wall\n<!-- CHECKPOINT: all -->\n{plan}"));
    workspace.run(&["start", "plan:wall"]).exits(0);
    let done = |number: usize| workspace.run(&["step", "plan:wall", "done", &format!("task-{number}")]).exits(0);
    let read = |path: &str| std::fs::read_to_string(workspace.path(path)).expect("it is there");
    // Every fifth checkpoint keeps a copy, which replaces one that was not read.
    (0..10).for_each(|number| drop(done(number)));
    let backup = read("plans/wall/.checkpoint/recovery.json");
    assert!(backup.len() > 1024 * 1024, "{}", backup.len());
    workspace.write("plans/wall/.checkpoint/state.json", "{");
    let run = done(10);
    assert!(run.stderr.contains("restored from recovery.json"), "{}", run.stderr);
    let state = read("plans/wall/.checkpoint/state.json");
    assert!(state.contains("\"completedTasks\": 11,"), "{}", &state[..600]);
    // What the backup said of who did it and when is kept.
    let credited = |text: &str| text.matches("\"completedBy\"").count();
    assert!(credited(&backup) > 5, "{}", credited(&backup));
    // One task was done after the backup; as nobody knows by whom any more, its box counts as ticked by hand.
    assert_eq!(credited(&state), credited(&backup) + 2);
    workspace.run(&["check", "plan:wall"]).exits(0);
}
