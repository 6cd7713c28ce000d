//! Every restart counts against a bound, and every wait has a maximum.

use super::rules::{check, exit, words};
use super::*;

fn limited(lane: LaneAt, until: Time, account: bool) -> FleetEvent {
    let end = End::Limited { until, account };
    FleetEvent::WorkerExited { lane, end, standing: Standing::Open, words: None }
}

fn one(restarts: u32) -> Fleet {
    let mut fleet = stories(vec![story("A", 0, &[])]);
    (fleet.limits.restarts, fleet.limits.quick) = (restarts, Duration::from_secs(60));
    fleet.step(FleetEvent::Begun, at(0));
    fleet
}

#[test]
fn a_limit_that_ended_in_the_past_does_not_restart_workers_without_end() {
    let mut fleet = one(4);
    let (mut starts, mut seconds) = (0, 0);
    while !fleet.ended {
        seconds += 1;
        let past = Time::from_unix_seconds(0);
        let event = if fleet.lanes[0].state.has_worker() { limited(0, past, false) } else { FleetEvent::TimerFired };
        let mut decisions = fleet.step(event, at(seconds));
        if decisions.contains(&Decision::Prove { lane: 0 }) {
            let proof = crate::proof::Proof::Holds;
            decisions.extend(fleet.step(FleetEvent::Proved { lane: 0, proof }, at(seconds)));
        }
        starts += decisions.iter().filter(|each| matches!(each, Decision::Resume { .. })).count();
        assert!(seconds < 1_000, "it never ends");
    }
    assert_eq!(starts, 4);
    assert!(matches!(&fleet.lanes[0].state, LaneState::Paused { reason } if reason.contains("5 workers in a row")));
}

#[test]
fn a_refused_session_that_is_refused_again_is_a_death() {
    let mut fleet = one(9);
    let refused =
        || FleetEvent::WorkerExited { lane: 0, end: End::RefusedResume, standing: Standing::Open, words: None };
    // A new worker has no session that could be refused.
    check(&mut fleet, 1, refused(), &["prove 0", "claim 0", "resume 0 Session"]);
    assert_eq!(fleet.lanes[0].counts.crashes, 1);
    // Two workers in a row ended at once: the third one waits.
    check(&mut fleet, 2, refused(), &[]);
    check(&mut fleet, 3, FleetEvent::TimerFired, &["prove 0", "claim 0", "resume 0 Brief"]);
    let want = "pause 0: its session was refused; it was restarted once";
    check(&mut fleet, 4, refused(), &[want, "end Paused"]);
}

#[test]
fn no_limit_is_waited_for_longer_than_the_bound() {
    let mut fleet = one(4);
    let far = Time::from_unix_seconds(9_999_999_999);
    check(&mut fleet, 1, limited(0, far, true), &["park 0"]);
    assert_eq!(fleet.next_timer().1, Some(at(1_001).time));
    assert_eq!(fleet.parked_until(), Some(at(1_001).time));
}

#[test]
fn a_limit_that_has_ended_leaves_no_timer_behind() {
    let mut fleet = one(4);
    fleet.limits.workers = 0;
    check(&mut fleet, 1, limited(0, at(5).time, true), &["park 0"]);
    check(&mut fleet, 5, FleetEvent::TimerFired, &[]);
    assert_eq!(fleet.next_timer(), (None, None));
}

#[test]
fn while_an_account_is_at_its_limit_the_fallback_goes_on() {
    let mut fleet = one(4);
    fleet.lanes[0].accounts = vec!["main".to_owned(), "spare".to_owned()];
    let LaneState::Working(worker) = &mut fleet.lanes[0].state else { panic!("it works") };
    worker.account = "main".to_owned();
    check(&mut fleet, 100, limited(0, at(500).time, true), &["prove 0", "claim 0", "resume 0 Brief"]);
    let LaneState::Working(worker) = &fleet.lanes[0].state else { panic!("it works") };
    assert_eq!(worker.account, "spare");
    assert_eq!(fleet.parked_until(), None);
    check(&mut fleet, 200, limited(0, at(400).time, true), &["park 0"]);
    assert_eq!(fleet.parked_until(), Some(at(400).time));
    check(&mut fleet, 400, FleetEvent::TimerFired, &["prove 0", "claim 0", "resume 0 Session"]);
}

#[test]
fn a_lane_waits_for_a_limit_when_none_of_its_accounts_is_free() {
    let until = |seconds| Some(at(seconds).time);
    for (accounts, parked, want) in [
        (&["main"][..], &[("main", 500)][..], until(500)),
        (&["main"], &[("other", 500)], None),
        (&["main", "spare"], &[("main", 500)], None),
        (&["main", "spare"], &[("main", 500), ("spare", 400), ("other", 300)], until(400)),
    ] {
        let mut fleet = stories(vec![story("A", 0, &[]), story("B", 0, &[0])]);
        for lane in &mut fleet.lanes {
            lane.accounts = accounts.iter().map(|account| (*account).to_owned()).collect();
        }
        fleet.parked = parked.iter().map(|(account, end)| ((*account).to_owned(), at(*end).time)).collect();
        assert_eq!(fleet.limited_until(0), want, "{accounts:?} {parked:?}");
        // What waits for another lane waits for no limit yet.
        assert_eq!(fleet.limited_until(1), None, "{accounts:?} {parked:?}");
    }
}

#[test]
fn what_a_client_denied_pauses_at_once_and_is_no_crash() {
    let mut fleet = one(4);
    let end = End::Denied { what: "denied: Bash(npm ci)".to_owned() };
    let denied = FleetEvent::WorkerExited { lane: 0, end, standing: Standing::Open, words: None };
    let want = "pause 0: its worker ended without completing its work; denied: Bash(npm ci)";
    check(&mut fleet, 1, denied, &[want, "end Paused"]);
    assert_eq!(fleet.lanes[0].counts.crashes, 0);
}

#[test]
fn a_long_life_gives_the_budget_back() {
    let mut fleet = one(1);
    fleet.limits.respawn = 99;
    let mut seconds = 0;
    for _ in 0..20 {
        seconds += 61;
        let decisions = fleet.step(exit(0, 1, Standing::Open), at(seconds));
        assert_eq!(words(&decisions), ["prove 0"]);
        fleet.step(FleetEvent::Proved { lane: 0, proof: crate::proof::Proof::Holds }, at(seconds));
    }
}

#[test]
fn an_unblocked_worker_that_lives_goes_on() {
    let mut fleet = one(1);
    fleet.step(FleetEvent::WorkerStarted { lane: 0 }, at(0));
    let blocked = Standing::Halted { reason: "no key".to_owned() };
    check(&mut fleet, 1, FleetEvent::DocumentChanged { lane: 0, standing: blocked }, &[]);
    assert_eq!(fleet.lanes[0].state.word(), "idle");
    check(&mut fleet, 2, FleetEvent::DocumentChanged { lane: 0, standing: Standing::Open }, &[]);
    assert_eq!(fleet.lanes[0].state.word(), "running");
    check(&mut fleet, 9, FleetEvent::TimerFired, &[]);
}

#[test]
fn living_workers_of_other_runs_count() {
    let mut fleet = stories(vec![story("A", 0, &[]), story("B", 1, &[])]);
    fleet.strangers = 1;
    check(&mut fleet, 0, FleetEvent::Begun, &["claim 0", "spawn 0"]);
}

#[test]
fn workers_taken_from_outside_spend_no_respawn_and_have_a_bound() {
    let ended = |end: End| FleetEvent::WorkerExited { lane: 0, end, standing: Standing::Open, words: None };
    // How often a lane is started again when every worker ends like this; `respawn` is 1.
    for (end, restarts) in [
        (End::Vanished, 10),
        (End::KilledUnled(9), 10),
        (End::KilledUnled(15), 10),
        (End::KilledUnled(11), 1),
        (End::Killed(9), 1),
        (End::NotStarted, 1),
    ] {
        let mut fleet = one(99);
        let (mut seconds, mut resumed, mut longest) = (0, 0, 0);
        while !fleet.ended {
            let mut decisions = fleet.step(ended(end.clone()), at(seconds));
            let began = seconds;
            while !fleet.ended && !fleet.lanes[0].state.has_worker() {
                if decisions.contains(&Decision::Prove { lane: 0 }) {
                    let proof = crate::proof::Proof::Holds;
                    fleet.step(FleetEvent::Proved { lane: 0, proof }, at(seconds));
                    resumed += 1;
                    continue;
                }
                seconds += 1;
                decisions = fleet.step(FleetEvent::TimerFired, at(seconds));
            }
            longest = longest.max(seconds - began);
        }
        assert_eq!(resumed, restarts, "{end:?}");
        assert_eq!(fleet.lanes[0].counts.crashes, u32::from(restarts == 1), "{end:?}");
        assert!(longest <= 300, "{end:?}: {longest}");
    }
}

#[test]
fn a_stage_that_came_to_its_end_forgets_workers_taken_from_outside() {
    let mut fleet = one(99);
    let vanished = FleetEvent::WorkerExited { lane: 0, end: End::Vanished, standing: Standing::Open, words: None };
    check(&mut fleet, 1, vanished, &["prove 0", "claim 0", "resume 0 Session"]);
    assert_eq!(fleet.lanes[0].counts.taken, 1);
    let planned = Standing::Complete(StageResult::Planned { score: 3.0 });
    check(&mut fleet, 2, exit(0, 0, planned), &["stage 0 0>1", "claim 0", "spawn 0"]);
    assert_eq!(fleet.lanes[0].counts.taken, 0);
}
