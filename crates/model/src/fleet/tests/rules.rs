use super::*;
use crate::proof::{Correction, Proof};

pub(super) fn exit(lane: LaneAt, code: i32, standing: Standing) -> FleetEvent {
    FleetEvent::WorkerExited { lane, end: End::Exited(code), standing, words: None }
}

pub(super) fn complete(lane: LaneAt, result: StageResult) -> FleetEvent {
    exit(lane, 0, Standing::Complete(result))
}

pub(super) fn prepared(of: MergeOf) -> FleetEvent {
    FleetEvent::Prepared { of, result: Prepared::Ready { own_gates: Vec::new() } }
}

pub(super) fn merged(of: MergeOf) -> FleetEvent {
    FleetEvent::MergeEnded { of, result: MergeResult::Merged }
}

/// The decisions as words, for tables.
pub(super) fn words(decisions: &[Decision]) -> Vec<String> {
    let word = |decision: &Decision| match decision {
        Decision::Prove { lane } => format!("prove {lane}"),
        Decision::Correct { lane, correction } => format!("correct {lane}: {}", correction.told.join("; ")),
        Decision::Claim { lane } => format!("claim {lane}"),
        Decision::Spawn { lane } => format!("spawn {lane}"),
        Decision::Resume { lane, how } => format!("resume {lane} {how:?}"),
        Decision::Ask { lane } => format!("ask {lane}"),
        Decision::Stop { lane, why } => format!("stop {lane} {why:?}"),
        Decision::Record { lane, what: Achievement::Stage { from, to, .. } } => format!("stage {lane} {from}>{to}"),
        Decision::Record { lane, what: Achievement::Passed { .. } } => format!("passed {lane}"),
        Decision::Record { lane, what: Achievement::Overruled { .. } } => format!("overruled {lane}"),
        Decision::RunGate { of, gate } => format!("gate {of:?} {gate}"),
        Decision::Prepare { of } => format!("prepare {of:?}"),
        Decision::Merge { of } => format!("merge {of:?}"),
        Decision::StopGates => "stop gates".to_owned(),
        Decision::Rework { lane, why } => format!("rework {lane}: {}", why.summary()),
        Decision::AskLaneApproval { lane, files, refused } => {
            let refused = refused.as_ref().map_or_else(String::new, |refused| format!(": {refused}"));
            format!("approve lane? {lane} {}{refused}", files.join(","))
        }
        Decision::Complete { group } => format!("complete {group}"),
        Decision::Finish { lane } => format!("finish {lane}"),
        Decision::Park { lane, .. } => format!("park {lane}"),
        Decision::Pause { lane, reason } => format!("pause {lane}: {reason}"),
        Decision::Halt { group, reason, is_failure: true } => format!("fail {group}: {reason}"),
        Decision::Halt { group, reason, is_failure: false } => format!("halt {group}: {reason}"),
        Decision::AskApproval { group, phase } => format!("approve? {group} {phase:?}"),
        Decision::ClosePhase { group, phase } => format!("close {group} {phase}"),
        Decision::EndRun { outcome } => format!("end {outcome:?}"),
    };
    decisions.iter().map(word).collect()
}

#[track_caller]
pub(super) fn check(fleet: &mut Fleet, seconds: u64, event: FleetEvent, want: &[&str]) {
    let mut decisions = fleet.step(event.clone(), at(seconds));
    // Everything that is recorded as done is there, where a test does not say otherwise.
    for lane in 0..fleet.lanes.len() {
        if decisions.contains(&Decision::Prove { lane }) {
            decisions.extend(fleet.step(FleetEvent::Proved { lane, proof: Proof::Holds }, at(seconds)));
        }
    }
    let got = words(&decisions);
    assert_eq!(got, want, "after {event:?} at {seconds}");
}

#[test]
fn a_story_goes_through_its_stages_to_the_end() {
    let mut fleet = stories(vec![story("A", 0, &[])]);
    check(&mut fleet, 0, FleetEvent::Begun, &["claim 0", "spawn 0"]);
    check(&mut fleet, 0, FleetEvent::WorkerStarted { lane: 0 }, &[]);
    check(&mut fleet, 1, complete(0, StageResult::Planned { score: 3.0 }), &["stage 0 0>1", "claim 0", "spawn 0"]);
    check(&mut fleet, 2, complete(0, StageResult::Go { readiness: 9.0 }), &["stage 0 1>2", "claim 0", "spawn 0"]);
    check(&mut fleet, 3, complete(0, StageResult::Executed), &["stage 0 2>3", "claim 0", "spawn 0"]);
    let passed = StageResult::Passed { word: "PASS".to_owned(), score: Some(90.0) };
    check(&mut fleet, 4, complete(0, passed), &["passed 0", "prepare Lane(0)"]);
    check(&mut fleet, 4, prepared(MergeOf::Lane(0)), &["merge Lane(0)"]);
    check(&mut fleet, 4, merged(MergeOf::Lane(0)), &["finish 0"]);
    check(&mut fleet, 4, FleetEvent::FinishEnded { lane: 0, result: Ok(()) }, &["close 0 0", "end Done"]);
    assert_eq!(fleet.lanes[0].readiness, Some(9.0));
}

#[test]
fn a_limit_of_n_grants_n_and_the_next_one_pauses() {
    let no_go = || StageResult::NoGo { reason: "no port".to_owned() };
    let mut fleet = stories(vec![Lane { stage: 1, ..story("A", 0, &[]) }]);
    fleet.step(FleetEvent::Begun, at(0));
    check(&mut fleet, 1, complete(0, no_go()), &["stage 0 1>1", "claim 0", "spawn 0"]);
    check(&mut fleet, 2, complete(0, no_go()), &["pause 0: NO-GO: no port; validated again once", "end Paused"]);

    let fail = || StageResult::Failed { issues: "slow".to_owned() };
    let mut fleet = stories(vec![Lane { stage: 3, ..story("A", 0, &[]) }]);
    fleet.step(FleetEvent::Begun, at(0));
    for round in 1..=2 {
        check(&mut fleet, round, complete(0, fail()), &["stage 0 3>2", "claim 0", "spawn 0"]);
        check(&mut fleet, round, complete(0, StageResult::Executed), &["stage 0 2>3", "claim 0", "spawn 0"]);
    }
    check(&mut fleet, 9, complete(0, fail()), &["pause 0: FAIL: slow; reworked twice", "end Paused"]);

    let back = || StageResult::Moved { to: 2 };
    let mut fleet = stories(vec![Lane { stage: 3, ..story("A", 0, &[]) }]);
    fleet.step(FleetEvent::Begun, at(0));
    for round in 1..=2 {
        check(&mut fleet, round, complete(0, back()), &["claim 0", "spawn 0"]);
        check(&mut fleet, round, complete(0, StageResult::Executed), &["stage 0 2>3", "claim 0", "spawn 0"]);
    }
    let want = "pause 0: its worker took it back to stage 2; reworked twice";
    check(&mut fleet, 9, complete(0, back()), &[want, "end Paused"]);

    let mut fleet = stories(vec![story("A", 0, &[])]);
    fleet.step(FleetEvent::Begun, at(0));
    check(&mut fleet, 1, exit(0, 1, Standing::Open), &["prove 0", "claim 0", "resume 0 Session"]);
    let want = "pause 0: its worker exited with 1; it was restarted once";
    check(&mut fleet, 2, exit(0, 1, Standing::Open), &[want, "end Paused"]);
}

#[test]
fn a_plan_of_a_low_score_is_planned_again_before_it_pauses() {
    let mut fleet = stories(vec![story("A", 0, &[])]);
    fleet.step(FleetEvent::Begun, at(0));
    let poor = || complete(0, StageResult::Planned { score: 1.0 });
    check(&mut fleet, 1, poor(), &["stage 0 0>0", "claim 0", "spawn 0"]);
    let want = "pause 0: the plan's score is 1; 2 is needed; planned or validated again once";
    check(&mut fleet, 2, poor(), &[want, "end Paused"]);
}

#[test]
fn an_exit_is_judged_by_what_the_documents_say() {
    let killed = |standing| FleetEvent::WorkerExited { lane: 0, end: End::Killed(9), standing, words: None };
    let halted = Standing::Halted { reason: "no key".to_owned() };
    let table: Vec<(FleetEvent, &[&str])> = vec![
        (exit(0, 0, Standing::Open), &["prove 0", "claim 0", "resume 0 Session"]),
        (killed(Standing::Open), &["prove 0", "claim 0", "resume 0 Session"]),
        (killed(Standing::Complete(StageResult::Planned { score: 2.0 })), &["stage 0 0>1", "claim 0", "spawn 0"]),
        (exit(0, 1, Standing::Complete(StageResult::Moved { to: 2 })), &["claim 0", "spawn 0"]),
        (exit(0, 0, halted), &["pause 0: no key", "end Paused"]),
        (complete(0, StageResult::Planned { score: 1.5 }), &["stage 0 0>0", "claim 0", "spawn 0"]),
        (
            FleetEvent::WorkerExited { lane: 0, end: End::RefusedResume, standing: Standing::Open, words: None },
            &["prove 0", "claim 0", "resume 0 Session"],
        ),
        (
            FleetEvent::WorkerExited { lane: 0, end: End::Vanished, standing: Standing::Open, words: None },
            &["prove 0", "claim 0", "resume 0 Session"],
        ),
    ];
    for (event, want) in table {
        let mut fleet = stories(vec![story("A", 0, &[])]);
        fleet.step(FleetEvent::Begun, at(0));
        check(&mut fleet, 1, event, want);
    }
}

#[test]
fn a_refused_session_is_not_counted_as_another_death() {
    let mut fleet = stories(vec![story("A", 0, &[])]);
    fleet.step(FleetEvent::Begun, at(0));
    check(&mut fleet, 1, exit(0, 1, Standing::Open), &["prove 0", "claim 0", "resume 0 Session"]);
    let refused = FleetEvent::WorkerExited { lane: 0, end: End::RefusedResume, standing: Standing::Open, words: None };
    check(&mut fleet, 2, refused, &["prove 0", "claim 0", "resume 0 Brief"]);
    assert_eq!(fleet.lanes[0].counts.crashes, 1);
}

#[test]
fn the_most_urgent_starts_first_and_no_more_than_may() {
    let lanes = vec![story("A", 5, &[]), story("B", 1, &[]), story("C", 1, &[]), story("D", 0, &[1])];
    let mut fleet = stories(lanes);
    check(&mut fleet, 0, FleetEvent::Begun, &["claim 1", "spawn 1", "claim 2", "spawn 2"]);
    // What has begun goes on before anything new begins.
    let planned = StageResult::Planned { score: 3.0 };
    check(&mut fleet, 1, complete(1, planned), &["stage 1 0>1", "claim 1", "spawn 1"]);
}

#[test]
fn what_waits_for_something_paused_is_paused_with_the_reason() {
    let mut fleet = stories(vec![story("A", 0, &[]), story("B", 0, &[0]), story("C", 0, &[1])]);
    fleet.step(FleetEvent::Begun, at(0));
    let halted = Standing::Halted { reason: "no key".to_owned() };
    let want = ["pause 0: no key", "pause 1: waits for A (paused)", "pause 2: waits for B (paused)", "end Paused"];
    check(&mut fleet, 1, exit(0, 0, halted), &want);
}

#[test]
fn death_by_silence_needs_a_question_that_nobody_answers() {
    let mut fleet = stories(vec![story("A", 0, &[])]);
    fleet.step(FleetEvent::Begun, at(0));
    check(&mut fleet, 0, FleetEvent::WorkerStarted { lane: 0 }, &[]);
    assert_eq!(fleet.next_timer().0, Some(Duration::from_secs(10)));
    check(&mut fleet, 9, FleetEvent::TimerFired, &[]);
    check(&mut fleet, 10, FleetEvent::TimerFired, &["ask 0"]);
    check(&mut fleet, 14, FleetEvent::TimerFired, &[]);
    // An answer is any sign.
    check(&mut fleet, 14, FleetEvent::SignSeen { lane: 0 }, &[]);
    check(&mut fleet, 23, FleetEvent::TimerFired, &[]);
    check(&mut fleet, 24, FleetEvent::TimerFired, &["ask 0"]);
    check(&mut fleet, 29, FleetEvent::TimerFired, &["stop 0 Silent"]);
    // A sign that comes too late does not bring it back.
    check(&mut fleet, 29, FleetEvent::SignSeen { lane: 0 }, &[]);
    let gone = FleetEvent::WorkerExited { lane: 0, end: End::Killed(9), standing: Standing::Open, words: None };
    check(&mut fleet, 30, gone, &["prove 0", "claim 0", "resume 0 Session"]);
}

#[test]
fn a_machine_that_slept_and_a_clock_that_was_set_kill_nobody() {
    for event in [FleetEvent::Woke, FleetEvent::ClockSet] {
        let mut fleet = stories(vec![story("A", 0, &[])]);
        fleet.step(FleetEvent::Begun, at(0));
        fleet.step(FleetEvent::WorkerStarted { lane: 0 }, at(0));
        check(&mut fleet, 10, FleetEvent::TimerFired, &["ask 0"]);
        check(&mut fleet, 14, event, &[]);
        check(&mut fleet, 20, FleetEvent::TimerFired, &[]);
        check(&mut fleet, 24, FleetEvent::TimerFired, &["ask 0"]);
        // A jump of the wall's clock is nobody's silence.
        let jumped = Now { time: Time::from_unix_seconds(9_999_999_999), steady: Duration::from_secs(25) };
        assert_eq!(fleet.step(FleetEvent::TimerFired, jumped), []);
    }
}

#[test]
fn a_worker_that_babbles_for_ever_is_ended() {
    let mut fleet = stories(vec![story("A", 0, &[])]);
    fleet.step(FleetEvent::Begun, at(0));
    fleet.step(FleetEvent::WorkerStarted { lane: 0 }, at(0));
    for second in 1..100 {
        check(&mut fleet, second, FleetEvent::SignSeen { lane: 0 }, &[]);
    }
    check(&mut fleet, 100, FleetEvent::TimerFired, &["stop 0 TooLong"]);
}

#[test]
fn a_worker_that_is_complete_and_stays_is_idle_then_ended_and_not_dead() {
    let mut fleet = stories(vec![story("A", 0, &[])]);
    fleet.step(FleetEvent::Begun, at(0));
    fleet.step(FleetEvent::WorkerStarted { lane: 0 }, at(0));
    let planned = Standing::Complete(StageResult::Planned { score: 3.0 });
    check(&mut fleet, 1, FleetEvent::DocumentChanged { lane: 0, standing: planned.clone() }, &[]);
    assert_eq!(fleet.lanes[0].state.word(), "idle");
    check(&mut fleet, 2, FleetEvent::SignSeen { lane: 0 }, &[]);
    check(&mut fleet, 4, FleetEvent::TimerFired, &["stop 0 Lingering"]);
    let gone = FleetEvent::WorkerExited { lane: 0, end: End::Killed(15), standing: planned, words: None };
    check(&mut fleet, 5, gone, &["stage 0 0>1", "claim 0", "spawn 0"]);
    assert_eq!(fleet.lanes[0].counts.crashes, 0);
}

#[test]
fn a_limit_of_the_account_parks_the_fleet_and_ends_staggered() {
    let mut fleet = stories(vec![story("A", 0, &[]), story("B", 1, &[]), story("C", 2, &[])]);
    fleet.step(FleetEvent::Begun, at(0));
    let until = at(50).time;
    let limited = |lane| FleetEvent::WorkerExited {
        lane,
        end: End::Limited { until, account: true },
        standing: Standing::Open,
        words: None,
    };
    check(&mut fleet, 1, limited(0), &["park 0"]);
    check(&mut fleet, 2, limited(1), &["park 1"]);
    check(&mut fleet, 49, FleetEvent::TimerFired, &[]);
    assert_eq!(fleet.next_timer().1, Some(until));
    check(&mut fleet, 50, FleetEvent::TimerFired, &["prove 0", "claim 0", "resume 0 Session"]);
    check(&mut fleet, 51, FleetEvent::TimerFired, &[]);
    check(&mut fleet, 52, FleetEvent::TimerFired, &["prove 1", "claim 1", "resume 1 Session"]);
    assert_eq!(fleet.lanes[0].counts.crashes, 0);
}

#[test]
fn a_living_worker_that_waits_for_a_limit_is_not_silent() {
    let mut fleet = stories(vec![story("A", 0, &[])]);
    fleet.step(FleetEvent::Begun, at(0));
    fleet.step(FleetEvent::WorkerStarted { lane: 0 }, at(0));
    let until = at(60).time;
    check(&mut fleet, 5, FleetEvent::LimitReported { lane: 0, until, account: false }, &[]);
    check(&mut fleet, 40, FleetEvent::TimerFired, &[]);
    check(&mut fleet, 60, FleetEvent::TimerFired, &[]);
    check(&mut fleet, 70, FleetEvent::TimerFired, &["ask 0"]);
}

#[test]
fn requests_add_to_each_other_and_repeat_without_effect() {
    use Request::{Drain, Leave, StopWorkers};
    const STOPS: [&str; 2] = ["stop gates", "stop 0 Asked"];
    // What is asked, and what follows: at once, and when the worker has gone.
    for (requests, at_once, mode, then) in [
        (&[Drain][..], &[][..], Mode::Draining, Some("end Stopped")),
        (&[Drain, Drain, Drain, Drain], &[], Mode::Draining, Some("end Stopped")),
        (&[StopWorkers], &STOPS, Mode::Stopping, Some("end Stopped")),
        (&[StopWorkers, StopWorkers], &STOPS, Mode::Stopping, Some("end Stopped")),
        (&[Drain, StopWorkers], &STOPS, Mode::Stopping, Some("end Stopped")),
        (&[StopWorkers, Drain, Drain], &STOPS, Mode::Stopping, Some("end Stopped")),
        (&[Drain, StopWorkers, Leave], &["stop gates", "stop 0 Asked", "end Stopped"], Mode::Leaving, None),
        (&[Leave], &["end Stopped"], Mode::Leaving, None),
        (&[Leave, Drain, StopWorkers], &["end Stopped"], Mode::Leaving, None),
    ] {
        let mut fleet = stories(vec![story("A", 0, &[])]);
        fleet.step(FleetEvent::Begun, at(0));
        let decided = requests.iter().flat_map(|request| fleet.step(FleetEvent::Requested(*request), at(1)));
        let decided: Vec<Decision> = decided.collect();
        assert_eq!(words(&decided), at_once, "{requests:?}");
        assert_eq!(fleet.mode, mode, "{requests:?}");
        let gone = FleetEvent::WorkerExited { lane: 0, end: End::Killed(15), standing: Standing::Open, words: None };
        assert_eq!(words(&fleet.step(gone, at(2))), then.into_iter().collect::<Vec<_>>(), "{requests:?}");
    }
}

#[test]
fn a_lead_that_drains_starts_nothing_and_a_stopped_worker_has_not_crashed() {
    let mut fleet = stories(vec![story("A", 0, &[]), story("B", 0, &[]), story("C", 0, &[])]);
    fleet.step(FleetEvent::Begun, at(0));
    check(&mut fleet, 1, FleetEvent::Requested(Request::Drain), &[]);
    check(&mut fleet, 2, complete(0, StageResult::Planned { score: 3.0 }), &["stage 0 0>1"]);
    check(&mut fleet, 3, FleetEvent::Requested(Request::StopWorkers), &["stop gates", "stop 1 Asked"]);
    // The lead outlives its workers, however late they go.
    check(&mut fleet, 90, FleetEvent::TimerFired, &[]);
    let gone = FleetEvent::WorkerExited { lane: 1, end: End::Killed(15), standing: Standing::Open, words: None };
    check(&mut fleet, 91, gone, &["end Stopped"]);
    assert_eq!(fleet.lanes[1].counts.crashes, 0);
}

#[test]
fn workers_of_other_runs_take_places_until_they_have_ended() {
    let mut fleet = stories(vec![story("A", 0, &[]), story("B", 0, &[])]);
    check(&mut fleet, 0, FleetEvent::StrangersCounted { running: 2 }, &[]);
    check(&mut fleet, 1, FleetEvent::Begun, &[]);
    check(&mut fleet, 2, FleetEvent::StrangersCounted { running: 1 }, &["claim 0", "spawn 0"]);
    check(&mut fleet, 3, FleetEvent::StrangersCounted { running: 0 }, &["claim 1", "spawn 1"]);
}

#[test]
fn a_crew_puts_a_dead_agent_off_to_the_next_wave_once() {
    let secondary = |name: &str| Lane { waves_left: 1, ..workstream(name, 0) };
    let mut fleet = fleet(
        vec![Lane { halts_group: false, ..secondary("A") }, Lane { halts_group: false, ..secondary("B") }],
        vec![phase(&[], Approval::NotNeeded)],
    );
    fleet.limits.workers = 1;
    fleet.step(FleetEvent::Begun, at(0));
    check(&mut fleet, 1, exit(0, 1, Standing::Open), &["prove 0", "claim 0", "resume 0 Session"]);
    // What is put off comes after its siblings, with the brief.
    check(&mut fleet, 2, exit(0, 1, Standing::Open), &["prove 0", "claim 0", "resume 0 Brief"]);
    assert_eq!(fleet.lanes[0].waves_left, 0);
}

#[test]
fn worker_names_are_the_protocols_own() {
    let lane = |stage, reworks| Lane { stage, counts: Counts { reworks, ..Counts::default() }, ..story("A", 0, &[]) };
    for (lane, how, want) in [
        (lane(0, 0), How::Fresh, "story-P-1-s0"),
        (lane(2, 0), How::Fresh, "story-P-1-s2"),
        (lane(2, 2), How::Fresh, "story-P-1-s2-fix2"),
        (lane(1, 0), How::Session, "story-P-1-s1-retry"),
        (lane(2, 1), How::Brief, "story-P-1-s2-retry"),
        (workstream("WS1", 0), How::Fresh, "worker-P-1"),
    ] {
        assert_eq!(lane.worker_name("P-1", how), want);
    }
}

#[test]
fn cycles_are_found_and_named() {
    for (edges, want) in [
        (vec![vec![], vec![0], vec![0, 1]], None),
        (vec![vec![0]], Some(vec![0])),
        (vec![vec![1], vec![2], vec![0]], Some(vec![0, 1, 2])),
        (vec![vec![], vec![2, 0], vec![3], vec![2]], Some(vec![2, 3])),
    ] {
        assert_eq!(find_cycle(&edges), want.map(Cycle), "{edges:?}");
    }
}

#[test]
fn waves_follow_dependencies_and_phases() {
    let fleet = stories(vec![story("A", 1, &[]), story("B", 0, &[]), story("C", 0, &[0]), story("D", 0, &[2])]);
    assert_eq!(waves(&fleet), [vec![1, 0], vec![2], vec![3]]);
}

#[test]
fn before_a_worker_starts_again_what_is_done_is_proved() {
    let correction = Correction { open: vec!["a".to_owned()], told: vec!["a is not there".to_owned()] };
    let refused = Proof::Refused { reasons: vec!["b is gone".to_owned(), "c is gone".to_owned()] };
    for (proof, want) in [
        (Proof::Holds, &["claim 0", "resume 0 Session"][..]),
        (Proof::Corrected(correction), &["correct 0: a is not there", "claim 0", "resume 0 Session"]),
        (refused, &["pause 0: b is gone; c is gone", "end Paused"]),
    ] {
        let mut fleet = stories(vec![Lane { stage: 2, ..story("A", 0, &[]) }]);
        fleet.step(FleetEvent::Begun, at(0));
        assert_eq!(words(&fleet.step(exit(0, 1, Standing::Open), at(1))), ["prove 0"]);
        // Nothing else is started in its place, and the run does not end meanwhile.
        assert_eq!(words(&fleet.step(FleetEvent::TimerFired, at(2))), [""; 0]);
        check(&mut fleet, 3, FleetEvent::Proved { lane: 0, proof }, want);
    }
}

#[test]
fn what_was_proved_when_the_run_was_ended_waits_for_the_next_lead() {
    let mut fleet = stories(vec![Lane { stage: 2, ..story("A", 0, &[]) }]);
    fleet.step(FleetEvent::Begun, at(0));
    assert_eq!(words(&fleet.step(exit(0, 1, Standing::Open), at(1))), ["prove 0"]);
    check(&mut fleet, 2, FleetEvent::Requested(Request::Drain), &[]);
    check(&mut fleet, 3, FleetEvent::Proved { lane: 0, proof: Proof::Holds }, &["end Stopped"]);
}

#[test]
fn who_calls_done_what_is_not_there_is_dead_and_twice_is_a_pause() {
    let lie = || Standing::Unproved { missing: vec!["x.txt".to_owned(), "y.txt".to_owned()] };
    let mut fleet = stories(vec![Lane { stage: 2, ..story("A", 0, &[]) }]);
    fleet.step(FleetEvent::Begun, at(0));
    fleet.step(FleetEvent::WorkerStarted { lane: 0 }, at(0));
    // A document that says so is no reason to call anybody idle.
    check(&mut fleet, 1, FleetEvent::DocumentChanged { lane: 0, standing: lie() }, &[]);
    assert_eq!(fleet.lanes[0].state.word(), "running");
    check(&mut fleet, 2, exit(0, 0, lie()), &["prove 0", "claim 0", "resume 0 Session"]);
    let want = "pause 0: its worker says that it is done, and it is not there: x.txt, y.txt; it was restarted once";
    check(&mut fleet, 3, exit(0, 0, lie()), &[want, "end Paused"]);
}

#[test]
fn work_on_another_branch_goes_back_to_its_stage_within_the_reworks() {
    let why = || Rework::OtherBranch {
        found: "mine".to_owned(),
        from: "mine".to_owned(),
        branch: "feature/A".to_owned(),
        files: vec!["x.txt".to_owned()],
    };
    let mut fleet = stories(vec![Lane { stage: 2, ..story("A", 0, &[]) }]);
    fleet.limits.rework = 1;
    fleet.step(FleetEvent::Begun, at(0));
    fleet.step(FleetEvent::WorkerStarted { lane: 0 }, at(0));
    let first = exit(0, 0, Standing::Misplaced(why()));
    check(&mut fleet, 1, first, &["rework 0: its commits are on mine, not on feature/A: x.txt", "claim 0", "spawn 0"]);
    assert_eq!((fleet.lanes[0].stage, fleet.lanes[0].counts.reworks), (2, 1));
    fleet.step(FleetEvent::WorkerStarted { lane: 0 }, at(1));
    let want = "pause 0: its commits are on mine, not on feature/A: x.txt; reworked once";
    check(&mut fleet, 2, exit(0, 0, Standing::Misplaced(why())), &[want, "end Paused"]);
}

#[test]
fn a_readiness_of_nine_is_the_fast_track() {
    let limits = limits();
    for (readiness, want) in
        [(None, false), (Some(1.0), false), (Some(8.9), false), (Some(9.0), true), (Some(10.0), true)]
    {
        assert_eq!(limits.is_fast_track(readiness), want, "{readiness:?}");
    }
}
