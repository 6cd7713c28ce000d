//! What a run would do with each lane, as far as documents and memory tell without a lead.

use piton_model::fleet::LaneState;
use piton_model::{Row, State, Time};

use super::memory::{LaneMemory, Memory, SavedState};
use super::recover::held_because;
use super::{RunPlan, RunRequest};
use crate::Workspace;

/// Marks the lanes of a plan for which a run would start no worker: those that are done, and those that wait for a
/// person.
pub fn foresee(workspace: &Workspace, plan: &mut RunPlan, request: &RunRequest, now: Time) {
    let memory = Memory::load(workspace).unwrap_or_default();
    let rows = crate::status::recorded(workspace, now);
    for (lane, work) in plan.work.fleet.lanes.iter_mut().zip(&plan.work.lanes) {
        let row = rows.iter().find(|row| work.unit.means(row.dialect, &row.full_name));
        let known = memory.lanes.get(&lane.name);
        let state = match (row, work.step.is_some()) {
            (Some(row), false) => of_unit(row, known, request.retry),
            (_, true) | (None, false) => known.and_then(paused).filter(|_| !request.retry),
        };
        lane.state = state.unwrap_or_else(|| lane.state.clone());
    }
}

/// The state of a lane that is a whole unit; nothing when a worker would start.
fn of_unit(row: &Row, known: Option<&LaneMemory>, is_retry: bool) -> Option<LaneState> {
    let may_retry = is_retry && matches!(row.state, State::Paused { .. } | State::Failed { .. });
    if row.state == State::Done {
        return Some(LaneState::Done);
    }
    let reason = held_because(&row.state, &row.blockers).filter(|_| !may_retry)?;
    // What the lead paused it for says more.
    Some(known.and_then(paused).unwrap_or(LaneState::Paused { reason }))
}

fn paused(known: &LaneMemory) -> Option<LaneState> {
    match &known.state {
        SavedState::Paused { reason } if !known.put_off => Some(LaneState::Paused { reason: reason.clone() }),
        _ => None,
    }
}
