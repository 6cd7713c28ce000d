mod merges;
mod random;
mod restarts;
mod rules;

use std::time::Duration;

use super::*;
use crate::Rework;

/// Short spans, so that tables read as seconds.
pub(super) fn limits() -> Limits {
    let seconds = Duration::from_secs;
    Limits {
        workers: 2,
        respawn: 1,
        validation: 1,
        rework: 2,
        patience: vec![seconds(10), seconds(10), seconds(30)],
        answer: seconds(5),
        longest: seconds(100),
        linger: seconds(3),
        stagger: seconds(2),
        fast_track: 9.0,
        restarts: 5,
        quick: seconds(1),
        longest_park: seconds(1_000),
    }
}

/// A story.
pub(super) fn story(name: &str, priority: i64, depends_on: &[LaneAt]) -> Lane {
    Lane { priority, depends_on: depends_on.to_vec(), stages: vec![0, 1, 2, 3], ..Lane::new(name, 0) }
}

/// A workstream of a build.
pub(super) fn workstream(name: &str, phase: usize) -> Lane {
    Lane { stages: Vec::new(), phase, halts_group: true, ..story(name, 0, &[]) }
}

pub(super) fn phase(gates: &[&str], approval: Approval) -> Phase {
    let gate = |name: &&str| PhaseGate {
        name: (*name).to_owned(),
        step: None,
        kind: GateKind::Command,
        state: GateProgress::Pending,
    };
    let gates = gates.iter().map(gate).collect();
    Phase { name: "phase".to_owned(), gates, approval, state: PhaseState::Open, last: None, is_stale: false }
}

pub(super) fn fleet(lanes: Vec<Lane>, phases: Vec<Phase>) -> Fleet {
    let group = Group {
        name: "all".to_owned(),
        phases,
        begin: Approval::NotNeeded,
        completion: Completion::NotNeeded,
        halted: None,
    };
    Fleet::new(limits(), vec![group], lanes)
}

pub(super) fn stories(lanes: Vec<Lane>) -> Fleet {
    fleet(lanes, vec![phase(&[], Approval::NotNeeded)])
}

/// So many seconds after the beginning, by both clocks.
pub(super) fn at(seconds: u64) -> Now {
    Now { time: Time::from_unix_seconds(1_000_000 + seconds as i64), steady: Duration::from_secs(seconds) }
}
