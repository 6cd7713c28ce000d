mod random;
mod rules;

use std::time::Duration;

use super::*;

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
    }
}

/// A story.
pub(super) fn story(name: &str, priority: i64, depends_on: &[LaneAt]) -> Lane {
    Lane { priority, depends_on: depends_on.to_vec(), stages: 4, gates_first: true, ..Lane::new(name, 0) }
}

/// A workstream of a build.
pub(super) fn workstream(name: &str, phase: usize) -> Lane {
    Lane { stages: 1, phase, gates_first: false, halts_group: true, ..story(name, 0, &[]) }
}

pub(super) fn phase(gates: &[&str], approval: Approval) -> Phase {
    let gate = |name: &&str| PhaseGate { name: (*name).to_owned(), state: GateProgress::Pending };
    Phase { name: "phase".to_owned(), gates: gates.iter().map(gate).collect(), approval, closed: false }
}

pub(super) fn fleet(lanes: Vec<Lane>, phases: Vec<Phase>) -> Fleet {
    Fleet::new(limits(), vec![Group { name: "all".to_owned(), phases, halted: None }], lanes)
}

pub(super) fn stories(lanes: Vec<Lane>) -> Fleet {
    fleet(lanes, vec![phase(&[], Approval::NotNeeded)])
}

/// So many seconds after the beginning, by both clocks.
pub(super) fn at(seconds: u64) -> Now {
    Now { time: Time::from_unix_seconds(1_000_000 + seconds as i64), steady: Duration::from_secs(seconds) }
}
