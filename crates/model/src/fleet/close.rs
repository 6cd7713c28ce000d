//! What the lead does itself: gates, merges, ends.

use super::lane::{Closing, LaneState};
use super::{Achievement, Approval, Decision, Fleet, GateOf, GateProgress, GroupAt, Halt, LaneAt, StageResult};

impl Fleet {
    pub(super) fn gate_ended(
        &mut self,
        of: GateOf,
        gate: &str,
        result: Result<(), String>,
        decisions: &mut Vec<Decision>,
    ) {
        match of {
            GateOf::Lane(at) => self.lane_gate_ended(at, gate, result, decisions),
            GateOf::Phase(group, phase) => self.phase_gate_ended(group, phase, gate, result),
            // What follows from it is said when all of the lane has been looked at.
            GateOf::Proof(_) => {}
        }
    }

    fn lane_gate_ended(&mut self, at: LaneAt, gate: &str, result: Result<(), String>, decisions: &mut Vec<Decision>) {
        let lane = &mut self.lanes[at];
        let LaneState::Closing(Closing::Gates { passed }) = &mut lane.state else { return };
        if let Err(why) = result {
            let issues = format!("gate {gate} failed: {why}");
            // A story is worked on again; elsewhere a failed gate is a person's business.
            if lane.stages > 1 {
                decisions.push(Decision::Record { lane: at, what: Achievement::Overruled { issues: issues.clone() } });
                self.complete(at, StageResult::Failed { issues }, decisions);
            } else {
                self.pause(at, issues, decisions);
            }
            return;
        }
        *passed += 1;
        let (passed, first) = (*passed, lane.gates_first);
        match (lane.gates.get(passed).cloned(), first) {
            (Some(gate), _) => decisions.push(Decision::RunGate { of: GateOf::Lane(at), gate }),
            (None, true) => {
                lane.state = LaneState::Closing(Closing::Merging);
                decisions.push(Decision::Merge { lane: at });
            }
            (None, false) => lane.state = LaneState::Done,
        }
    }

    fn phase_gate_ended(&mut self, group: GroupAt, phase: usize, gate: &str, result: Result<(), String>) {
        let known = self.groups[group].phases[phase].gates.iter_mut().find(|known| known.name == gate);
        let Some(known) = known else { return };
        known.state = if result.is_ok() { GateProgress::Passed } else { GateProgress::Failed };
        if let Err(why) = result {
            let reason = format!("gate {gate} failed: {why}");
            self.groups[group].halted.get_or_insert(Halt { reason, lane: None, recorded: false });
        }
    }

    pub(super) fn merge_ended(&mut self, at: LaneAt, result: Result<(), String>, decisions: &mut Vec<Decision>) {
        if self.lanes[at].state != LaneState::Closing(Closing::Merging) {
            return;
        }
        match result {
            Ok(()) => {
                self.lanes[at].state = LaneState::Closing(Closing::Finishing);
                decisions.push(Decision::Finish { lane: at });
            }
            Err(why) => self.pause(at, why, decisions),
        }
    }

    pub(super) fn finish_ended(&mut self, at: LaneAt, result: Result<(), String>, decisions: &mut Vec<Decision>) {
        let lane = &mut self.lanes[at];
        if lane.state != LaneState::Closing(Closing::Finishing) {
            return;
        }
        if let Err(why) = result {
            self.pause(at, why, decisions);
            return;
        }
        match lane.gates.first().filter(|_| !lane.gates_first).cloned() {
            Some(gate) => {
                lane.state = LaneState::Closing(Closing::Gates { passed: 0 });
                decisions.push(Decision::RunGate { of: GateOf::Lane(at), gate });
            }
            None => lane.state = LaneState::Done,
        }
    }

    pub(super) fn approved(&mut self, group: GroupAt) {
        for phase in &mut self.groups[group].phases {
            if phase.approval == Approval::Asked {
                phase.approval = Approval::Given;
                return;
            }
        }
    }
}
