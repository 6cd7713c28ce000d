//! What a run would do with each lane, as far as documents, journals and memory tell without a lead.

use std::collections::BTreeMap;

use piton_model::fleet::{Approval, LaneAt, LaneState};
use piton_model::{Dialect, Row, State, Time, Unit, UnitRef};
use piton_store::journal::Entry;

use super::memory::{LaneMemory, Memory, SavedState};
use super::recover::held_because;
use super::{RunPlan, RunRequest, Waiting, approvals, freed, recover_groups, runs};
use crate::Workspace;

/// Marks the lanes of a plan for which a run would start no worker: those that are done, and those that wait for a
/// person.
pub fn foresee(workspace: &Workspace, plan: &mut RunPlan, request: &RunRequest, now: Time) {
    let memory = Memory::load(workspace).unwrap_or_default();
    let rows = crate::status::recorded(workspace, now);
    let shared = Shared::of_all(workspace, plan, now);
    for (lane, work) in plan.work.fleet.lanes.iter_mut().zip(&plan.work.lanes) {
        let row = rows.iter().find(|row| work.unit.means(row.dialect, &row.full_name));
        let known = memory.lanes.get(&lane.name);
        let state = match (row, shared.get(&work.unit_name), work.step.is_some()) {
            (Some(row), _, false) => of_unit(row, known, request.retry),
            (_, Some(unit), true) => known.and_then(paused).filter(|state| unit.holds_step(state, request.retry)),
            (_, None, true) | (None, _, false) => known.and_then(paused).filter(|_| !request.retry),
        };
        lane.state = state.unwrap_or_else(|| lane.state.clone());
    }
    let waiting = open_approvals(workspace, plan, &memory, request, now);
    let held = |at: &LaneAt| {
        let is_settled = plan.work.fleet.lanes[*at].state.is_settled();
        (!is_settled).then(|| held(plan, *at, &shared, &waiting, request)).flatten()
    };
    let held: BTreeMap<LaneAt, String> =
        (0..plan.work.fleet.lanes.len()).filter_map(|at| Some((at, held(&at)?))).collect();
    plan.held = held;
}

/// Why a lane that is neither done nor paused gets no worker: its unit is held, a sibling is paused, or a person has not
/// approved what comes before it.
fn held(
    plan: &RunPlan,
    at: LaneAt,
    shared: &BTreeMap<String, Shared>,
    waiting: &[Waiting],
    request: &RunRequest,
) -> Option<String> {
    let (lane, work) = (&plan.work.fleet.lanes[at], &plan.work.lanes[at]);
    let siblings = || plan.work.fleet.lanes.iter().filter(|other| other.group == lane.group);
    let halted = || {
        let are_done = siblings().all(|lane| lane.state == LaneState::Done);
        shared.get(&work.unit_name)?.held(request.retry, are_done)
    };
    let paused = || {
        siblings().filter(|other| other.halts_group).find_map(|other| match &other.state {
            LaneState::Paused { reason } => Some(format!("{}: {reason}", other.name)),
            _ => None,
        })
    };
    let approval = || {
        let own = format!("{}{} ", approvals::OWN_GATES, lane.name);
        let holds = |it: &&Waiting| match it.key.starts_with(approvals::OWN_GATES) {
            true => it.key.starts_with(&own),
            false => it.unit == work.unit_name,
        };
        waiting.iter().find(holds).map(|it| format!("it waits for approval: {}", it.what))
    };
    work.step.is_some().then(|| halted().or_else(paused)).flatten().or_else(approval)
}

/// What the run asks a person and no person has answered.
fn open_approvals(
    workspace: &Workspace,
    plan: &RunPlan,
    memory: &Memory,
    request: &RunRequest,
    now: Time,
) -> Vec<Waiting> {
    let units = plan.work.units();
    let run = runs::all(workspace).find(|run| !run.is_finished && !run.units.is_disjoint(&units));
    let mut asked = run.map(|run| approvals::waiting(workspace, &run, now)).unwrap_or_default();
    // Whether work may begin is asked by a unit's document, and answered there.
    asked.retain(|it| it.key != approvals::BEGIN);
    for group in plan.work.fleet.groups.iter().filter(|group| group.begin == Approval::Needed) {
        if !memory.groups.get(&group.name).is_some_and(|known| known.has_begun) {
            asked.push(approvals::beginning(group));
        }
    }
    let is_given = |it: &Waiting| workspace.disk.read(&approvals::path(&it.unit, &it.key)).is_ok();
    let is_yes = |it: &Waiting| request.yes && !it.key.starts_with(approvals::OWN_GATES);
    asked.retain(|it| !is_given(it) && !is_yes(it));
    asked
}

/// A unit of which lanes are the steps.
struct Shared {
    unit: Unit,
    events: Vec<Entry>,
}

impl Shared {
    fn of_all(workspace: &Workspace, plan: &RunPlan, now: Time) -> BTreeMap<String, Shared> {
        let of = |wanted: &UnitRef| {
            let unit = crate::find(workspace, wanted, now).ok()?.unit;
            let events = crate::log(workspace, wanted, now).map(|log| log.log.events).unwrap_or_default();
            Some(Shared { unit, events })
        };
        let mut all = BTreeMap::new();
        for work in plan.work.lanes.iter().filter(|work| work.step.is_some()) {
            if !all.contains_key(&work.unit_name)
                && let Some(shared) = of(&work.unit)
            {
                all.insert(work.unit_name.clone(), shared);
            }
        }
        all
    }

    /// Whether a paused step stays so: its worker's question is open, or no person asks for a retry or freed its unit.
    fn holds_step(&self, state: &LaneState, is_retry: bool) -> bool {
        let LaneState::Paused { reason } = state else { return false };
        freed::question(&self.unit.blockers, false, &self.events, reason).is_some()
            || !is_retry && freed::unblocked(&self.events).is_none()
    }

    /// Why its documents halt it.
    fn held(&self, is_retry: bool, are_done: bool) -> Option<String> {
        let reason = recover_groups::halted_because(&self.unit)?;
        let is_paused = matches!(self.unit.state, State::Paused { .. });
        // A plan's blocker is a remark; other tasks may still be done.
        let is_remark = self.unit.dialect == Dialect::Plan && !is_paused;
        let is_let_go = is_retry || is_paused && recover_groups::is_let_go(&self.events, are_done);
        (!is_remark && (!is_let_go || self.unit.state == State::Blocked)).then_some(reason)
    }
}
/// The state of a lane that is a whole unit; nothing when a worker would start.
fn of_unit(row: &Row, known: Option<&LaneMemory>, is_retry: bool) -> Option<LaneState> {
    let may_retry = is_retry && matches!(row.state, State::Paused { .. } | State::Failed { .. });
    if row.state == State::Done {
        // What its worker calls done may have been refused.
        return match known.and_then(paused) {
            Some(_) if is_retry => None,
            Some(refused) => Some(refused),
            None => Some(LaneState::Done),
        };
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
