//! Merges, gates and phases.

use super::rules::{check, complete, exit, merged, prepared, words};
use super::*;

fn gate(of: GateOf, name: &str, result: GateResult) -> FleetEvent {
    FleetEvent::GateEnded { of, gate: name.to_owned(), result }
}

fn failed(gate: &str) -> GateResult {
    let text = |text: &str| text.to_owned();
    let why =
        Rework::GateFailed { gate: text(gate), command: text("make"), exit: text("exit code 1"), tail: text("no") };
    GateResult::Failed(why)
}

fn passed_story() -> StageResult {
    StageResult::Passed { word: "PASS".to_owned(), score: Some(90.0) }
}

fn story_with_gate() -> Fleet {
    let mut fleet = stories(vec![Lane { stage: 3, gates: vec!["test".to_owned()], ..story("A", 0, &[]) }]);
    fleet.step(FleetEvent::Begun, at(0));
    check(&mut fleet, 1, complete(0, passed_story()), &["passed 0", "prepare Lane(0)"]);
    fleet
}

#[test]
fn gates_judge_the_merged_tree_before_the_target_moves() {
    let mut fleet = story_with_gate();
    check(&mut fleet, 1, prepared(MergeOf::Lane(0)), &["gate Lane(0) test"]);
    check(&mut fleet, 2, gate(GateOf::Lane(0), "test", GateResult::Passed), &["merge Lane(0)"]);
    check(&mut fleet, 3, merged(MergeOf::Lane(0)), &["finish 0"]);
    check(&mut fleet, 3, FleetEvent::FinishEnded { lane: 0, result: Ok(()) }, &["close 0 0", "end Done"]);
}

#[test]
fn a_target_that_moved_is_prepared_and_judged_again() {
    let mut fleet = story_with_gate();
    check(&mut fleet, 1, prepared(MergeOf::Lane(0)), &["gate Lane(0) test"]);
    check(&mut fleet, 2, gate(GateOf::Lane(0), "test", GateResult::Passed), &["merge Lane(0)"]);
    let moved = FleetEvent::MergeEnded { of: MergeOf::Lane(0), result: MergeResult::TargetMoved };
    check(&mut fleet, 3, moved, &["prepare Lane(0)"]);
    check(&mut fleet, 4, prepared(MergeOf::Lane(0)), &["gate Lane(0) test"]);
}

#[test]
fn a_target_that_keeps_moving_is_a_matter_for_a_person() {
    let mut fleet = story_with_gate();
    let moved = || FleetEvent::MergeEnded { of: MergeOf::Lane(0), result: MergeResult::TargetMoved };
    let mut rounds = 0;
    while !matches!(fleet.lanes[0].state, LaneState::Paused { .. }) {
        rounds += 1;
        assert!(rounds < 100, "it does not end");
        fleet.step(prepared(MergeOf::Lane(0)), at(rounds));
        fleet.step(gate(GateOf::Lane(0), "test", GateResult::Passed), at(rounds));
        fleet.step(moved(), at(rounds));
    }
    assert_eq!(rounds, 21);
}

#[test]
fn work_that_a_person_took_back_before_its_merge_goes_on_by_what_they_left() {
    let text = |text: &str| text.to_owned();
    let issues = StageResult::Failed { issues: text("it leaks") };
    let withdrawn = |standing| MergeResult::Withdrawn { standing };
    let rows: [(MergeResult, &[&str]); 5] = [
        (withdrawn(Standing::Complete(issues)), &["stage 0 3>2", "claim 0", "spawn 0"]),
        (withdrawn(Standing::Halted { reason: text("wait") }), &["pause 0: wait", "end Paused"]),
        (withdrawn(Standing::Open), &["prove 0", "claim 0", "resume 0 Session"]),
        (
            withdrawn(Standing::Incomplete { missing: vec![text("manual")] }),
            &["prove 0", "claim 0", "resume 0 Session"],
        ),
        (MergeResult::BegunAnew, &["claim 0", "spawn 0"]),
    ];
    for (result, want) in rows {
        let mut fleet = story_with_gate();
        check(&mut fleet, 1, prepared(MergeOf::Lane(0)), &["gate Lane(0) test"]);
        check(&mut fleet, 2, gate(GateOf::Lane(0), "test", GateResult::Passed), &["merge Lane(0)"]);
        check(&mut fleet, 3, FleetEvent::MergeEnded { of: MergeOf::Lane(0), result }, want);
    }
}

#[test]
fn a_stage_ends_a_lane_when_none_follows() {
    let lane = |stage, stages: &[u8]| Lane { stage, stages: stages.to_vec(), ..story("A", 0, &[]) };
    let failed = || StageResult::Failed { issues: String::new() };
    for (lane, result, want) in [
        (lane(3, &[2, 3]), passed_story(), true),
        (lane(3, &[2, 3]), failed(), false),
        (lane(2, &[2, 3]), StageResult::Executed, false),
        (lane(2, &[0, 2]), StageResult::Executed, true),
        (lane(1, &[0, 1]), StageResult::NoGo { reason: String::new() }, false),
        (lane(0, &[0]), StageResult::Planned { score: 1.0 }, false),
        (lane(0, &[]), StageResult::Done, true),
    ] {
        assert_eq!(lane.ends_with(&result), want, "{lane:?} {result:?}");
    }
}

#[test]
fn one_merge_at_a_time() {
    let lanes = vec![Lane { stage: 3, ..story("A", 0, &[]) }, Lane { stage: 3, ..story("B", 1, &[]) }];
    let mut fleet = stories(lanes);
    fleet.step(FleetEvent::Begun, at(0));
    check(&mut fleet, 1, complete(1, passed_story()), &["passed 1", "prepare Lane(1)"]);
    check(&mut fleet, 1, complete(0, passed_story()), &["passed 0"]);
    check(&mut fleet, 2, prepared(MergeOf::Lane(1)), &["merge Lane(1)"]);
    check(&mut fleet, 2, merged(MergeOf::Lane(1)), &["finish 1", "prepare Lane(0)"]);
}

#[test]
fn a_failed_gate_goes_back_to_an_agent_first() {
    let mut fleet = story_with_gate();
    check(&mut fleet, 1, prepared(MergeOf::Lane(0)), &["gate Lane(0) test"]);
    let want = ["overruled 0", "stage 0 3>2", "claim 0", "spawn 0"];
    check(&mut fleet, 2, gate(GateOf::Lane(0), "test", failed("test")), &want);
    assert_eq!(fleet.lanes[0].counts.reworks, 1);

    let mut fleet = fleet_of(vec![Lane { gates: vec!["test".to_owned()], ..workstream("WS1", 0) }], &[]);
    for round in 1..=2 {
        check(&mut fleet, round, complete(0, StageResult::Done), &["passed 0", "prepare Lane(0)"]);
        check(&mut fleet, round, prepared(MergeOf::Lane(0)), &["gate Lane(0) test"]);
        let want = ["rework 0: gate test failed: `make` ended with exit code 1: no", "claim 0", "resume 0 Session"];
        check(&mut fleet, round, gate(GateOf::Lane(0), "test", failed("test")), &want);
    }
    check(&mut fleet, 3, complete(0, StageResult::Done), &["passed 0", "prepare Lane(0)"]);
    check(&mut fleet, 3, prepared(MergeOf::Lane(0)), &["gate Lane(0) test"]);
    let reason = "gate test failed: `make` ended with exit code 1: no; reworked twice";
    let want = [&format!("pause 0: {reason}")[..], &format!("fail 0: WS1: {reason}"), "end Paused"];
    check(&mut fleet, 3, gate(GateOf::Lane(0), "test", failed("test")), &want);
}

#[test]
fn a_conflict_goes_back_to_an_agent_first() {
    let conflict = || Prepared::Rework(Rework::Conflict { base: "main".to_owned(), files: vec!["a.txt".to_owned()] });
    let mut fleet = fleet_of(vec![workstream("WS1", 0)], &[]);
    check(&mut fleet, 1, complete(0, StageResult::Done), &["passed 0", "prepare Lane(0)"]);
    let event = FleetEvent::Prepared { of: MergeOf::Lane(0), result: conflict() };
    check(&mut fleet, 1, event, &["rework 0: conflicts with main in a.txt", "claim 0", "resume 0 Session"]);
}

#[test]
fn a_broken_gate_is_no_verdict_on_the_work() {
    let mut fleet = story_with_gate();
    check(&mut fleet, 1, prepared(MergeOf::Lane(0)), &["gate Lane(0) test"]);
    let broken = GateResult::Broken { why: "exit status 127".to_owned() };
    let want = ["pause 0: gate test cannot judge: exit status 127", "end Paused"];
    check(&mut fleet, 2, gate(GateOf::Lane(0), "test", broken), &want);
    assert_eq!(fleet.lanes[0].counts.reworks, 0);
}

#[test]
fn a_lane_that_changes_its_own_gate_is_judged_and_then_asks_a_person() {
    let mut fleet = story_with_gate();
    let own = Prepared::Ready { own_gates: vec!["gate.sh".to_owned()] };
    check(&mut fleet, 1, FleetEvent::Prepared { of: MergeOf::Lane(0), result: own }, &["gate Lane(0) test"]);
    let want = ["approve lane? 0 gate.sh", "end Paused"];
    check(&mut fleet, 2, gate(GateOf::Lane(0), "test", GateResult::Passed), &want);
    fleet.ended = false;
    // What was approved is prepared and judged anew: the target may have moved since.
    check(&mut fleet, 3, FleetEvent::LaneApproved { lane: 0 }, &["prepare Lane(0)"]);
}

#[test]
fn a_gate_that_fails_with_the_bases_version_is_a_question_and_no_verdict() {
    let broken = || GateResult::Broken { why: "exit code 127".to_owned() };
    let review = || GateResult::Failed(Rework::ReviewFailed { issues: "not nice".to_owned() });
    for (own, result, want) in [
        (true, failed("test"), "approve lane? 0 gate.sh: gate test failed with the base's version of gate.sh"),
        (
            true,
            broken(),
            "approve lane? 0 gate.sh: gate test cannot judge with the base's version of gate.sh: exit code 127",
        ),
        (true, review(), "overruled 0"),
        (false, failed("test"), "overruled 0"),
        (false, broken(), "pause 0: gate test cannot judge: exit code 127"),
    ] {
        let mut fleet = story_with_gate();
        let own_gates = if own { vec!["gate.sh".to_owned()] } else { Vec::new() };
        let prepared = FleetEvent::Prepared { of: MergeOf::Lane(0), result: Prepared::Ready { own_gates } };
        check(&mut fleet, 1, prepared, &["gate Lane(0) test"]);
        let decided = words(&fleet.step(gate(GateOf::Lane(0), "test", result), at(2)));
        assert_eq!(decided.first().map(String::as_str), Some(want));
        let is_asked = want.starts_with("approve");
        assert_eq!(matches!(fleet.lanes[0].state, LaneState::Closing(Closing::Approving { .. })), is_asked, "{want}");
        assert_eq!(fleet.lanes[0].counts.reworks, u32::from(want == "overruled 0"), "{want}");
        if is_asked {
            fleet.ended = false;
            check(&mut fleet, 3, FleetEvent::LaneApproved { lane: 0 }, &["prepare Lane(0)"]);
            // With the branch's own version a failure is an ordinary one.
            let ready = Prepared::Ready { own_gates: Vec::new() };
            let prepared = FleetEvent::Prepared { of: MergeOf::Lane(0), result: ready };
            check(&mut fleet, 4, prepared, &["gate Lane(0) test"]);
            let want = ["overruled 0", "stage 0 3>2", "claim 0", "spawn 0"];
            check(&mut fleet, 5, gate(GateOf::Lane(0), "test", failed("test")), &want);
        }
    }
}

#[test]
fn a_phase_with_gates_reaches_the_base_as_a_whole() {
    let phases = vec![phase(&["lint"], Approval::Needed), phase(&["test"], Approval::NotNeeded)];
    let lanes = vec![workstream("WS1", 0), workstream("WS2", 0), workstream("WS3", 1)];
    let mut fleet = fleet(lanes, phases);
    check(&mut fleet, 0, FleetEvent::Begun, &["claim 0", "spawn 0", "claim 1", "spawn 1"]);
    check(&mut fleet, 1, complete(0, StageResult::Done), &["passed 0", "prepare Lane(0)"]);
    check(&mut fleet, 1, prepared(MergeOf::Lane(0)), &["merge Lane(0)"]);
    check(&mut fleet, 1, merged(MergeOf::Lane(0)), &[]);
    assert_eq!(fleet.lanes[0].state, LaneState::Integrated);
    check(&mut fleet, 1, complete(1, StageResult::Done), &["passed 1", "prepare Lane(1)"]);
    check(&mut fleet, 1, prepared(MergeOf::Lane(1)), &["merge Lane(1)"]);
    check(&mut fleet, 1, merged(MergeOf::Lane(1)), &["prepare Phase(0, 0)"]);
    check(&mut fleet, 2, prepared(MergeOf::Phase(0, 0)), &["gate Phase(0, 0) lint"]);
    check(&mut fleet, 3, gate(GateOf::Phase(0, 0), "lint", GateResult::Passed), &["merge Phase(0, 0)"]);
    check(&mut fleet, 3, merged(MergeOf::Phase(0, 0)), &["finish 0", "finish 1"]);
    check(&mut fleet, 3, FleetEvent::FinishEnded { lane: 0, result: Ok(()) }, &[]);
    // The build waits for a person. A workstream of a later phase is pending, not failed.
    let done = FleetEvent::FinishEnded { lane: 1, result: Ok(()) };
    check(&mut fleet, 3, done, &["approve? 0 Some(0)", "end Paused"]);
    assert_eq!(fleet.lanes[2].state, LaneState::Queued);
    fleet.ended = false;
    check(&mut fleet, 9, FleetEvent::Approved { group: 0 }, &["close 0 0", "claim 2", "spawn 2"]);
}

#[test]
fn work_that_is_collected_reaches_the_base_when_the_gates_of_its_phase_are_removed() {
    // Before or after the merge into the phase's branch comes to its end.
    for is_early in [true, false] {
        let phases = vec![phase(&["lint"], Approval::NotNeeded)];
        let mut fleet = fleet(vec![workstream("WS1", 0), workstream("WS2", 0)], phases);
        check(&mut fleet, 0, FleetEvent::Begun, &["claim 0", "spawn 0", "claim 1", "spawn 1"]);
        check(&mut fleet, 1, complete(0, StageResult::Done), &["passed 0", "prepare Lane(0)"]);
        check(&mut fleet, 1, prepared(MergeOf::Lane(0)), &["merge Lane(0)"]);
        if is_early {
            fleet.groups[0].phases[0].gates.clear();
        }
        let collected = FleetEvent::MergeEnded { of: MergeOf::Lane(0), result: MergeResult::Collected };
        check(&mut fleet, 1, collected, &[]);
        fleet.groups[0].phases[0].gates.clear();
        check(&mut fleet, 2, complete(1, StageResult::Done), &["passed 1", "prepare Lane(1)"]);
        check(&mut fleet, 2, prepared(MergeOf::Lane(1)), &["merge Lane(1)"]);
        check(&mut fleet, 2, merged(MergeOf::Lane(1)), &["finish 1"]);
        let done = FleetEvent::FinishEnded { lane: 1, result: Ok(()) };
        check(&mut fleet, 2, done, &["prepare Phase(0, 0)"]);
        check(&mut fleet, 3, prepared(MergeOf::Phase(0, 0)), &["merge Phase(0, 0)"]);
        check(&mut fleet, 3, merged(MergeOf::Phase(0, 0)), &["finish 0"]);
    }
}

#[test]
fn a_phase_gate_that_fails_is_reworked_by_the_lane_that_joined_last() {
    let mut fleet = fleet_of(vec![workstream("WS1", 0), workstream("WS2", 0)], &["lint"]);
    for lane in [1, 0] {
        fleet.step(complete(lane, StageResult::Done), at(1));
        fleet.step(prepared(MergeOf::Lane(lane)), at(1));
        fleet.step(merged(MergeOf::Lane(lane)), at(1));
    }
    check(&mut fleet, 2, prepared(MergeOf::Phase(0, 0)), &["gate Phase(0, 0) lint"]);
    let want = ["rework 0: gate lint failed: `make` ended with exit code 1: no", "claim 0", "resume 0 Session"];
    check(&mut fleet, 3, gate(GateOf::Phase(0, 0), "lint", failed("lint")), &want);
    // When it has joined again, the whole phase is judged again.
    check(&mut fleet, 4, complete(0, StageResult::Done), &["passed 0", "prepare Lane(0)"]);
    check(&mut fleet, 4, prepared(MergeOf::Lane(0)), &["merge Lane(0)"]);
    check(&mut fleet, 4, merged(MergeOf::Lane(0)), &["prepare Phase(0, 0)"]);
    check(&mut fleet, 4, prepared(MergeOf::Phase(0, 0)), &["gate Phase(0, 0) lint"]);
}

#[test]
fn a_failed_workstream_lets_its_siblings_end_and_fails_the_build() {
    let mut fleet = fleet_of(vec![workstream("WS1", 0), workstream("WS2", 0), workstream("WS3", 0)], &["lint"]);
    fleet.limits.respawn = 0;
    let want = "pause 0: its worker exited with 2; `respawn` is 0";
    check(&mut fleet, 1, exit(0, 2, Standing::Open), &[want]);
    check(&mut fleet, 2, complete(1, StageResult::Done), &["passed 1", "prepare Lane(1)"]);
    check(&mut fleet, 2, prepared(MergeOf::Lane(1)), &["merge Lane(1)"]);
    let want = "fail 0: WS1: its worker exited with 2; `respawn` is 0";
    check(&mut fleet, 2, merged(MergeOf::Lane(1)), &[want, "end Paused"]);
}

#[test]
fn a_unit_is_recorded_as_complete_after_its_last_phase() {
    let mut fleet = fleet_of(vec![workstream("WS1", 0)], &[]);
    fleet.groups[0].completion = Completion::Pending;
    for event in [complete(0, StageResult::Done), prepared(MergeOf::Lane(0)), merged(MergeOf::Lane(0))] {
        fleet.step(event, at(1));
    }
    let done = FleetEvent::FinishEnded { lane: 0, result: Ok(()) };
    check(&mut fleet, 1, done, &["close 0 0", "complete 0"]);
    check(&mut fleet, 1, FleetEvent::CompleteEnded { group: 0, result: Ok(()) }, &["end Done"]);
}

#[test]
fn a_group_that_asks_before_it_begins_starts_nothing() {
    let mut fleet = fleet(vec![workstream("WS1", 0)], vec![phase(&[], Approval::NotNeeded)]);
    fleet.groups[0].begin = Approval::Needed;
    check(&mut fleet, 0, FleetEvent::Begun, &["approve? 0 None", "end Paused"]);
    fleet.ended = false;
    check(&mut fleet, 1, FleetEvent::Approved { group: 0 }, &["claim 0", "spawn 0"]);
}

#[test]
fn a_run_that_is_stopped_ends_its_gates_and_merges_nothing_more() {
    let mut fleet = story_with_gate();
    check(&mut fleet, 1, prepared(MergeOf::Lane(0)), &["gate Lane(0) test"]);
    check(&mut fleet, 2, FleetEvent::Requested(Request::Drain), &[]);
    check(&mut fleet, 2, FleetEvent::Requested(Request::StopWorkers), &["stop gates"]);
    check(&mut fleet, 2, gate(GateOf::Lane(0), "test", GateResult::Stopped), &["end Stopped"]);
    assert_eq!(fleet.lanes[0].state, LaneState::Closing(Closing::Queued));
}

/// A group of workstreams that has begun.
fn fleet_of(lanes: Vec<Lane>, gates: &[&str]) -> Fleet {
    let mut fleet = fleet(lanes, vec![phase(gates, Approval::NotNeeded)]);
    assert!(!words(&fleet.step(FleetEvent::Begun, at(0))).is_empty());
    fleet
}

#[test]
fn work_that_a_phases_branch_lost_is_collected_again() {
    let mut fleet = fleet_of(vec![workstream("WS1", 0), workstream("WS2", 0)], &["lint"]);
    for lane in [0, 1] {
        fleet.step(complete(lane, StageResult::Done), at(1));
        fleet.step(prepared(MergeOf::Lane(lane)), at(1));
        fleet.step(merged(MergeOf::Lane(lane)), at(1));
    }
    let lost = || FleetEvent::Prepared { of: MergeOf::Phase(0, 0), result: Prepared::Lost { lanes: vec![0] } };
    for _ in 0..20 {
        check(&mut fleet, 2, lost(), &["prepare Lane(0)"]);
        check(&mut fleet, 2, prepared(MergeOf::Lane(0)), &["merge Lane(0)"]);
        check(&mut fleet, 2, merged(MergeOf::Lane(0)), &["prepare Phase(0, 0)"]);
    }
    let reason = "the branch that it is collected on lost its work 20 times; stop what changes it";
    check(&mut fleet, 3, lost(), &[&format!("halt 0: {reason}"), "end Paused"]);
}

#[test]
fn a_person_frees_a_workstream_and_its_build_with_it() {
    let mut fleet = fleet_of(vec![workstream("WS1", 0), workstream("WS2", 0)], &[]);
    let blocked = |lane| exit(lane, 0, Standing::Halted { reason: "no key".to_owned() });
    check(&mut fleet, 1, blocked(0), &["pause 0: no key"]);
    // Its sibling runs; the halt is not recorded yet.
    check(&mut fleet, 2, FleetEvent::LaneFreed { lane: 0 }, &["prove 0", "claim 0", "resume 0 Session"]);
    assert_eq!(fleet.groups[0].halted, None);
    // What is not paused cannot be freed.
    let before = fleet.clone();
    check(&mut fleet, 3, FleetEvent::LaneFreed { lane: 1 }, &[]);
    assert_eq!(fleet.lanes, before.lanes);
}
