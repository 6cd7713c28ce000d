//! Random fleets and random orders of events, against a dumber account of what runs.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::proof::{Correction, Proof};

/// A world that answers decisions at random, and keeps a plain account of what runs and what is done.
struct World {
    fleet: Fleet,
    running: BTreeSet<LaneAt>,
    claimed: BTreeSet<LaneAt>,
    done: BTreeSet<LaneAt>,
    answers: Vec<FleetEvent>,
    ended: Option<Outcome>,
    seconds: u64,
    /// What is in the scratch worktree, and the gates that have passed on it.
    merging: Option<MergeOf>,
    judged: Vec<String>,
}

impl World {
    fn new(fleet: Fleet) -> World {
        World {
            fleet,
            running: BTreeSet::new(),
            claimed: BTreeSet::new(),
            done: BTreeSet::new(),
            answers: Vec::new(),
            ended: None,
            seconds: 0,
            merging: None,
            judged: Vec::new(),
        }
    }

    fn step(&mut self, event: FleetEvent, luck: u8) {
        if let FleetEvent::WorkerExited { lane, .. } = &event {
            assert!(self.running.remove(lane));
        }
        let decisions = self.fleet.step(event, at(self.seconds));
        for decision in decisions {
            assert!(self.ended.is_none(), "decided after the end: {decision:?}");
            self.carry_out(decision, luck);
        }
    }

    fn carry_out(&mut self, decision: Decision, luck: u8) {
        match decision {
            Decision::Claim { lane } => assert!(self.claimed.insert(lane), "{lane} is claimed twice"),
            Decision::Spawn { lane } | Decision::Resume { lane, .. } => {
                assert!(self.claimed.remove(&lane), "{lane} was started without a claim");
                assert!(self.running.insert(lane), "{lane} runs twice at once");
                assert!(self.running.len() <= self.fleet.limits.workers, "too many workers");
                let lane_now = &self.fleet.lanes[lane];
                for before in &lane_now.depends_on {
                    let is_collected = self.fleet.lanes[*before].state == LaneState::Integrated
                        && self.fleet.lanes[*before].phase == lane_now.phase;
                    assert!(self.done.contains(before) || is_collected, "{lane} began before {before} was done");
                }
                let earlier = self.fleet.lanes.iter().enumerate().filter(|(_, other)| other.phase < lane_now.phase);
                assert!(earlier.into_iter().all(|(at, _)| self.done.contains(&at)), "a phase began too early");
            }
            Decision::Prove { lane } => {
                assert!(!self.running.contains(&lane), "it is proved beside its worker");
                let proof = match luck {
                    luck if luck.is_multiple_of(13) => Proof::Refused { reasons: vec!["bad luck".to_owned()] },
                    luck if luck.is_multiple_of(5) => Proof::Corrected(Correction::default()),
                    _ => Proof::Holds,
                };
                self.answers.push(FleetEvent::Proved { lane, proof });
            }
            Decision::Prepare { of } => {
                assert!(self.merging.replace(of).is_none(), "two merges at once");
                if let MergeOf::Lane(lane) = of {
                    assert!(!self.running.contains(&lane), "it is merged beside its worker");
                }
                let own_gates = if luck.is_multiple_of(29) { vec!["gate.sh".to_owned()] } else { Vec::new() };
                let result = match luck {
                    luck if luck.is_multiple_of(19) => Prepared::Rework(Rework::Uncommitted { files: Vec::new() }),
                    luck if luck.is_multiple_of(31) => Prepared::Refused { reason: "bad luck".to_owned() },
                    _ => Prepared::Ready { own_gates },
                };
                if !matches!(result, Prepared::Ready { .. }) {
                    self.merging = None;
                }
                self.judged.clear();
                self.answers.push(FleetEvent::Prepared { of, result });
            }
            Decision::Merge { of } => {
                assert_eq!(self.merging.take(), Some(of), "moved without being prepared");
                let gates = match of {
                    MergeOf::Lane(at) => self.fleet.lanes[at].gates.len(),
                    MergeOf::Phase(group, phase) => self.fleet.groups[group].phases[phase].gates.len(),
                };
                assert_eq!(self.judged.len(), gates, "moved before every gate had passed on this tree");
                let result = match luck {
                    luck if luck.is_multiple_of(23) => MergeResult::Blocked { reason: "bad luck".to_owned() },
                    luck if luck.is_multiple_of(29) => MergeResult::Withdrawn { standing: Standing::Open },
                    luck if luck.is_multiple_of(7) => MergeResult::TargetMoved,
                    _ => MergeResult::Merged,
                };
                self.answers.push(FleetEvent::MergeEnded { of, result });
            }
            Decision::Finish { lane } => {
                self.answers.push(FleetEvent::FinishEnded { lane, result: Ok(()) });
                self.done.insert(lane);
            }
            Decision::RunGate { of, gate } => {
                if let GateOf::Lane(lane) = of {
                    assert!(!self.running.contains(&lane), "a gate was run beside its worker");
                }
                let result = match luck {
                    luck if luck.is_multiple_of(11) => GateResult::Failed(Rework::Uncommitted { files: Vec::new() }),
                    luck if luck.is_multiple_of(37) => GateResult::Broken { why: "bad luck".to_owned() },
                    _ => GateResult::Passed,
                };
                match result {
                    GateResult::Passed => self.judged.push(gate.clone()),
                    _ => self.merging = None,
                }
                self.answers.push(FleetEvent::GateEnded { of, gate, result });
            }
            Decision::EndRun { outcome } => {
                self.ended = Some(outcome);
                assert!(self.running.is_empty(), "the run ended while workers ran");
            }
            Decision::Ask { .. }
            | Decision::Stop { .. }
            | Decision::Correct { .. }
            | Decision::Record { .. }
            | Decision::Park { .. }
            | Decision::Pause { .. }
            | Decision::Halt { .. }
            | Decision::Rework { .. }
            | Decision::StopGates
            | Decision::AskApproval { .. }
            | Decision::ClosePhase { .. } => {}
            // The tree is judged, and waits for a person: the queue goes on.
            Decision::AskLaneApproval { .. } => self.merging = None,
            Decision::Complete { group } => {
                self.answers.push(FleetEvent::CompleteEnded { group, result: Ok(()) });
            }
        }
    }

    /// Something that can happen now, chosen by a number.
    fn happens(&mut self, choice: u8, luck: u8) -> FleetEvent {
        self.seconds += u64::from(luck % 7);
        if !self.answers.is_empty() && !choice.is_multiple_of(3) {
            return self.answers.remove(usize::from(luck) % self.answers.len());
        }
        let running: Vec<LaneAt> = self.running.iter().copied().collect();
        let Some(lane) = running.get(usize::from(luck) % running.len().max(1)).copied() else {
            return match self.answers.pop() {
                Some(answer) => answer,
                None => {
                    self.seconds += 40;
                    FleetEvent::TimerFired
                }
            };
        };
        let result = match (self.fleet.lanes[lane].is_staged(), self.fleet.lanes[lane].stage) {
            (false, _) => StageResult::Done,
            (_, 0) => StageResult::Planned { score: 2.0 },
            (_, 1) if luck.is_multiple_of(4) => StageResult::NoGo { reason: "no".to_owned() },
            (_, 1) => StageResult::Go { readiness: 7.0 },
            (_, 2) => StageResult::Executed,
            _ if luck.is_multiple_of(4) => StageResult::Failed { issues: "bad".to_owned() },
            _ => StageResult::Passed { word: "PASS".to_owned(), score: None },
        };
        let exit = |end, standing| FleetEvent::WorkerExited { lane, end, standing, words: None };
        match choice % 12 {
            0 => exit(End::Exited(0), Standing::Open),
            1 => exit(End::Killed(9), Standing::Open),
            2 => exit(End::RefusedResume, Standing::Open),
            9 => exit(End::Exited(0), Standing::Unproved { missing: vec!["x".to_owned()] }),
            3 => {
                exit(End::Limited { until: at(self.seconds + 5).time, account: luck.is_multiple_of(2) }, Standing::Open)
            }
            4 => FleetEvent::SignSeen { lane },
            5 => FleetEvent::TimerFired,
            6 => FleetEvent::WorkerStarted { lane },
            7 => FleetEvent::DocumentChanged { lane, standing: Standing::Complete(result) },
            8 => FleetEvent::Woke,
            _ => exit(End::Exited(0), Standing::Complete(result)),
        }
    }
}

fn random_fleet() -> impl Strategy<Value = Fleet> {
    let lane = (0..3_i64, proptest::collection::vec(0..6_usize, 0..3), any::<bool>(), 0..2_usize);
    (proptest::collection::vec(lane, 1..7), 1..4_usize, 0..5_u8).prop_map(|(drawn, workers, asks)| {
        let lanes = drawn.into_iter().enumerate().map(|(place, (priority, depends, has_stages, phase))| {
            // Only on earlier ones, so that there is no cycle; and never on a later phase.
            let depends: Vec<LaneAt> = depends.into_iter().filter(|before| *before < place).collect();
            let name = format!("L{place}");
            match has_stages {
                true => Lane { gates: vec!["g".to_owned()], ..story(&name, priority, &depends) },
                false => Lane { priority, waves_left: 1, ..workstream(&name, phase) },
            }
        });
        let mut lanes: Vec<Lane> = lanes.collect();
        for place in 0..lanes.len() {
            let phase = lanes[place].depends_on.iter().map(|before| lanes[*before].phase).max().unwrap_or(0);
            lanes[place].phase = lanes[place].phase.max(phase);
        }
        let approval = if asks == 0 { Approval::Needed } else { Approval::NotNeeded };
        let mut fleet = fleet(lanes, vec![phase(&["p"], approval), phase(&[], Approval::NotNeeded)]);
        fleet.limits.workers = workers;
        fleet
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// No lane runs twice at once, nothing begins before what it waits for, and every run ends in done or paused.
    #[test]
    fn every_order_of_events_keeps_the_promises(
        fleet in random_fleet(),
        luck in proptest::collection::vec((any::<u8>(), any::<u8>()), 1..120),
    ) {
        let mut world = World::new(fleet);
        world.step(FleetEvent::Begun, 1);
        for (choice, luck) in luck {
            if world.ended.is_some() {
                break;
            }
            let event = world.happens(choice, luck);
            world.step(event, luck);
        }
        // From here on everything goes well, and so it must come to an end.
        for _ in 0..2_000 {
            if world.ended.is_some() {
                break;
            }
            let event = world.happens(10, 1);
            world.step(event, 1);
        }
        let outcome = world.ended.expect("every run ends");
        let all_done = world.fleet.lanes.iter().all(|lane| lane.state == LaneState::Done);
        let has_reason = world.fleet.lanes.iter().any(|lane| matches!(lane.state, LaneState::Paused { .. }))
            || world.fleet.lanes.iter().any(|lane| {
                matches!(lane.state, LaneState::Closing(Closing::Approving { .. }))
            })
            || world.fleet.groups.iter().any(|group| group.halted.is_some() || group.is_asked());
        match outcome {
            Outcome::Done => prop_assert!(all_done && world.done.len() == world.fleet.lanes.len()),
            Outcome::Paused => prop_assert!(has_reason, "paused without a reason: {:?}", world.fleet),
            Outcome::Stopped => prop_assert!(false, "nobody stopped it"),
        }
    }
}
