//! What a run would do with each lane, as far as documents, journals and memory tell without a lead.

use std::collections::BTreeMap;

use piton_dialect::pipeline::layout::path_of;
use piton_dialect::task;
use piton_model::fleet::{Approval, Closing, GateKind, LaneAt, LaneState, PhaseGate};
use piton_model::{Dialect, GateState, Liveness, Row, State, Time, Unit, UnitRef};
use piton_store::journal::Entry;
use piton_supervisor::Repository;
use serde_json::Value;

use super::by_hand::{person_pause, taken};
use super::gates::refused_by_person;
use super::memory::{LaneMemory, Memory, SavedState};
use super::on_base::Base;
use super::other_work::{is_other_work, is_retitled};
use super::recover::held_because;
use super::recover_groups::{left_to_session, taken_by_session};
use super::taken_back::is_finished_and_away;
use super::unknown_work::{UnknownWork, ground_of};
use super::ways::{Judging, gone};
use super::work::LaneWork;
use super::{RunPlan, RunRecord, RunRequest, Waiting, approvals, freed, recover_groups, runs, strangers};
use crate::Workspace;
use crate::lost::lost;

/// Marks the lanes of a plan for which a run would start no worker: those that are done, and those that wait for a
/// person.
pub fn foresee(workspace: &Workspace, plan: &mut RunPlan, request: &RunRequest, now: Time) {
    let workspace = &super::shared_texts::as_it_counts(workspace, now);
    let memory = Memory::load(workspace).unwrap_or_default();
    let rows = crate::status::recorded(workspace, now);
    let units = plan.work.units();
    let run = runs::all(workspace).find(|run| !run.is_finished && !run.units.is_disjoint(&units));
    let shared = Shared::of_all(workspace, plan, &rows, (request, run.as_ref()), now);
    let ground = ground_of(workspace, &plan.settings, &memory, run.as_ref());
    let ground = ground.as_ref().map(|(repository, base)| (repository, base.as_str()));
    let settings = &plan.settings;
    let unknown = UnknownWork { workspace, memory: &memory, settings, ground, now };
    for (lane, work) in plan.work.fleet.lanes.iter_mut().zip(&plan.work.lanes) {
        let row = rows.iter().find(|row| work.unit.means(row.dialect, &row.full_name));
        let known = memory.lanes.get(&lane.name).filter(|known| known.is_remembered());
        // A story is known by the state of all stories as well.
        let has_lost = |row: &Row| {
            let is_open_story = work.dialect == Dialect::Pipeline && row.state != State::Done;
            is_open_story && !matches!(workspace.disk.stamp(&path_of(&work.id)), Ok(Some(_)))
        };
        let is_gone = row.is_none_or(has_lost);
        let repository = ground.map(|(repository, _)| repository);
        let gone = || without_document(workspace, repository, work, known?, run.as_ref(), now);
        let gone = if is_gone && work.step.is_none() { gone() } else { None };
        let state = match (row, shared.get(&work.unit_name), work.step.is_some()) {
            _ if gone.is_some() => gone,
            (Some(row), _, false) if is_partial(workspace, row, &work.unit, now) => None,
            (Some(row), _, false) => match known {
                Some(known) => of_unit(row, known, request.retry),
                None => {
                    let events = crate::log(workspace, &work.unit, now).map(|log| log.log.events).unwrap_or_default();
                    let taken = taken(row.dialect, &events, row.liveness).filter(|_| !request.retry);
                    Some(strangers::state_of(lane, row, &row.blockers, taken, request.retry))
                }
            },
            (_, Some(unit), true) => known.filter(|known| unit.holds_step(known, request.retry)).and_then(paused),
            (_, None, true) | (None, _, false) => known.and_then(paused).filter(|_| !request.retry),
        };
        let state = state.unwrap_or_else(|| lane.state.clone());
        let is_by_hand = || match (&work.step, shared.get(&work.unit_name)) {
            (Some(step), Some(unit)) => unit.is_done_by_person(step),
            _ => false,
        };
        lane.state = match known.and_then(unmerged) {
            Some(unmerged) if state == LaneState::Done && !is_by_hand() => unmerged,
            _ => state,
        };
        let is_settled = known.is_none_or(|known| known.state == SavedState::Done);
        if lane.state == LaneState::Done && work.step.is_none() && is_settled && begins_anew(workspace, work, now) {
            lane.state = LaneState::Queued;
        }
        let is_whole = lane.state == LaneState::Done && work.step.is_none();
        let on_base = Base { root: workspace.root(), ground };
        if let Some(reason) = known.filter(|_| is_whole).and_then(|known| on_base.foresees_question(known)) {
            lane.state = LaneState::Paused { reason };
        }
        // A specification that got an output since has work again.
        let is_built =
            lane.state == LaneState::Done && work.dialect == Dialect::Build && known.is_some() && !is_by_hand();
        if is_built && work.files().iter().any(|output| !on_base.has(output) && !on_base.has_removed(output.name())) {
            lane.state = LaneState::Queued;
        }
        if let Some(reason) = unknown.holds(lane, work, row) {
            lane.state = LaneState::Paused { reason };
        }
        // A worker continues what an earlier one began.
        if matches!(lane.state, LaneState::Dead { .. }) {
            lane.state = LaneState::Queued;
        }
    }
    foresee_refusals(plan, &shared);
    let waiting = open_approvals(workspace, plan, run.as_ref(), &memory, request, now);
    let held = |at: &LaneAt| {
        let is_settled = plan.work.fleet.lanes[*at].state.is_settled();
        (!is_settled).then(|| held(plan, *at, &shared, &waiting, request)).flatten()
    };
    let lanes = &plan.work.fleet.lanes;
    let mut all: BTreeMap<LaneAt, String> = (0..lanes.len()).filter_map(|at| Some((at, held(&at)?))).collect();
    // What waits for a lane that gets no worker gets none either.
    loop {
        let is_stuck =
            |before: &&LaneAt| matches!(lanes[**before].state, LaneState::Paused { .. }) || all.contains_key(*before);
        let waits = |at: &LaneAt| {
            let before = lanes[*at].depends_on.iter().find(is_stuck)?;
            let is_new = !lanes[*at].state.is_settled() && !all.contains_key(at);
            is_new.then(|| (*at, format!("it waits for {}", lanes[*before].name)))
        };
        let Some((at, reason)) = (0..lanes.len()).find_map(|at| waits(&at)) else { break };
        all.insert(at, reason);
    }
    plan.held = all;
}

/// Where a lane stands that an earlier lead had, and whose document is gone; nothing when it is begun anew.
fn without_document(
    workspace: &Workspace,
    repository: Option<&Repository>,
    work: &LaneWork,
    known: &LaneMemory,
    run: Option<&RunRecord>,
    now: Time,
) -> Option<LaneState> {
    let events = crate::log(workspace, &work.unit, now).map(|log| log.log.events).unwrap_or_default();
    if is_finished_and_away(repository, work, known, &events) {
        return Some(LaneState::Done);
    }
    // It had a worker in this very run: its document was removed by mistake. A board that has another story of that name
    // was archived.
    let had_worker = run.is_some_and(|run| run.number == known.run) && known.workers > 0;
    let is_archived = work.dialect == Dialect::Pipeline && is_retitled(work, Some(known), &events);
    if !had_worker || is_archived {
        return None;
    }
    let document = match work.dialect {
        Dialect::Pipeline => path_of(&work.id),
        _ => lost(workspace, &work.unit, now)?.document,
    };
    Some(LaneState::Paused { reason: gone(workspace, &work.unit_name, &document, now).to_string() })
}

/// Marks the work that a person refused after it was merged: the lane of the step that was judged, or the last one of its phase,
/// gets its worker again.
fn foresee_refusals(plan: &mut RunPlan, shared: &BTreeMap<String, Shared>) {
    for (at, group) in plan.work.fleet.groups.iter().enumerate() {
        let (Some(shared), dialect) = (shared.get(&group.name), plan.work.groups[at].dialect) else { continue };
        let refused = group.phases.iter().enumerate().find_map(|(place, phase)| {
            let is_here =
                |it: &LaneAt| (plan.work.fleet.lanes[*it].group, plan.work.fleet.lanes[*it].phase) == (at, place);
            let here: Vec<LaneAt> = (0..plan.work.fleet.lanes.len()).filter(is_here).collect();
            if !here.iter().all(|it| plan.work.fleet.lanes[*it].state == LaneState::Done) {
                return None;
            }
            let is_refused = |gate: &&PhaseGate| {
                let judging = Judging {
                    unit: group.name.clone(),
                    gate: gate.name.clone(),
                    step: gate.step.clone(),
                    phase: Vec::new(),
                };
                let is_passed = judging.is(&shared.unit, |state| matches!(state, GateState::Passed { .. }));
                let said = refused_by_person(dialect, &shared.events, &gate.name, gate.step.as_deref());
                gate.kind == GateKind::Later && !is_passed && said.is_some()
            };
            let gate = phase.gates.iter().find(is_refused)?;
            let judged = here.iter().find(|it| gate.step.is_some() && plan.work.lanes[**it].step == gate.step);
            judged.or(here.last()).copied()
        });
        if let Some(refused) = refused {
            plan.work.fleet.lanes[refused].state = LaneState::Queued;
        }
    }
}

/// Where a lane stands whose document calls it done, and whose work did not reach the base.
fn unmerged(known: &LaneMemory) -> Option<LaneState> {
    match known.state {
        SavedState::Reworking | SavedState::Dead { .. } | SavedState::Between | SavedState::Parked { .. } => {
            Some(LaneState::Queued)
        }
        SavedState::Worked { .. } | SavedState::Closing => Some(LaneState::Closing(Closing::Queued)),
        SavedState::Integrated => Some(LaneState::Integrated),
        SavedState::Queued | SavedState::Done | SavedState::Paused { .. } => None,
    }
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
        let shared = shared.get(&work.unit_name)?;
        let are_done = siblings().all(|lane| lane.state == LaneState::Done)
            || recover_groups::waits_for_commands(&plan.work.fleet, lane.group, &shared.unit);
        shared.held(request.retry, are_done)
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
        // The approval of a phase holds the phases after it.
        let phases = &plan.work.fleet.groups[lane.group].phases;
        let is_after = |it: &&Waiting| {
            let asked =
                (0..phases.len()).find(|at| it.key == approvals::key_of(&plan.work.fleet.groups[lane.group], *at));
            asked.is_none_or(|asked| lane.phase > asked)
        };
        waiting.iter().filter(is_after).find(holds).map(|it| format!("it waits for approval: {}", it.what))
    };
    work.step.is_some().then(|| halted().or_else(paused)).flatten().or_else(approval)
}

/// What the run asks a person and no person has answered.
fn open_approvals(
    workspace: &Workspace,
    plan: &RunPlan,
    run: Option<&RunRecord>,
    memory: &Memory,
    request: &RunRequest,
    now: Time,
) -> Vec<Waiting> {
    let mut asked = run.map(|run| approvals::waiting(workspace, run, now)).unwrap_or_default();
    // Whether work may begin is asked by a unit's document, and answered there.
    asked.retain(|it| it.key != approvals::BEGIN);
    for group in plan.work.fleet.groups.iter().filter(|group| group.begin == Approval::Needed) {
        if !memory.groups.get(&group.name).is_some_and(|known| known.has_begun) {
            asked.push(approvals::beginning(group));
        }
    }
    let is_given = |it: &Waiting| approvals::is_given(workspace, it, now);
    let is_yes = |it: &Waiting| request.yes && !it.key.starts_with(approvals::OWN_GATES);
    asked.retain(|it| !is_given(it) && !is_yes(it) && approvals::is_asked(workspace, it, now));
    asked
}

/// A unit of which lanes are the steps.
struct Shared {
    unit: Unit,
    /// Whether a session is at it, by its own signs.
    liveness: Liveness,
    /// Why a person, or the session that is at it, wants it to wait.
    pause: Option<String>,
    events: Vec<Entry>,
}

impl Shared {
    fn of_all(
        workspace: &Workspace,
        plan: &RunPlan,
        rows: &[Row],
        (request, run): (&RunRequest, Option<&RunRecord>),
        now: Time,
    ) -> BTreeMap<String, Shared> {
        let handed_by = run.map(|run| run.handed_by.clone()).unwrap_or_default();
        let of = |wanted: &UnitRef| {
            let unit = crate::find(workspace, wanted, now).ok()?.unit;
            let row = rows.iter().find(|row| wanted.means(row.dialect, &row.full_name));
            let liveness = row.map_or(Liveness::Unknown, |row| row.liveness);
            let events = crate::log(workspace, wanted, now).map(|log| log.log.events).unwrap_or_default();
            let is_approved = |paused: u64| approvals::approved_after(workspace, &wanted.to_string(), paused);
            let pause = person_pause(&unit, &events).filter(|(paused, _)| !is_approved(*paused));
            let session = left_to_session(workspace, wanted, &unit, (&handed_by, request.session.as_ref()), now);
            Some(Shared { unit, liveness, pause: session.or(pause.map(|(_, reason)| reason)), events })
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

    /// Whether a paused step stays so: its worker's question is open, or no person asks for a retry, freed its unit or
    /// resumed it.
    fn holds_step(&self, known: &LaneMemory, is_retry: bool) -> bool {
        let SavedState::Paused { reason } = &known.state else { return false };
        let is_same_attempt = self.events.last().is_some_and(|last| last.attempt == known.origin.attempt);
        freed::question(&self.unit.blockers, false, &self.events, reason).is_some()
            || !is_retry && is_same_attempt && freed::unblocked(&self.events).is_none()
    }

    /// Why its documents halt it.
    fn held(&self, is_retry: bool, are_done: bool) -> Option<String> {
        let unit = &self.unit;
        let taken = taken_by_session(unit, self.liveness, &self.events).or_else(|| self.pause.clone());
        if let Some(taken) = taken.filter(|_| !is_retry) {
            return Some(taken);
        }
        let reason = recover_groups::halted_because(unit)?;
        let is_paused = matches!(unit.state, State::Paused { .. });
        // A plan's blocker is a remark; other tasks may still be done.
        let is_remark = unit.dialect == Dialect::Plan && !is_paused;
        let is_let_go = is_retry || is_paused && recover_groups::is_let_go(&self.events, are_done);
        (!is_remark && (!is_let_go || unit.state == State::Blocked)).then_some(reason)
    }

    /// Whether a person recorded that a step is done.
    fn is_done_by_person(&self, step: &str) -> bool {
        let names = |entry: &Entry| entry.data.get("steps").and_then(Value::as_array).cloned().unwrap_or_default();
        let ends =
            |entry: &&Entry| entry.event == "step_done" && names(entry).iter().any(|name| name.as_str() == Some(step));
        self.events.iter().rfind(ends).is_some_and(freed::is_by_person)
    }
}

/// Whether the list of a unit that is done has other work for it.
fn begins_anew(workspace: &Workspace, work: &LaneWork, now: Time) -> bool {
    let events = crate::log(workspace, &work.unit, now).map(|log| log.log.events).unwrap_or_default();
    crate::find(workspace, &work.unit, now).is_ok_and(|found| is_other_work(work, &found.unit, &events))
}

/// Whether a task is called complete while something of it is open: a run opens it again.
fn is_partial(workspace: &Workspace, row: &Row, unit: &UnitRef, now: Time) -> bool {
    row.dialect == Dialect::Task
        && row.state == State::Blocked
        && crate::find(workspace, unit, now).is_ok_and(|found| task::claims_complete(&found.unit))
}

/// The state of a lane that is a whole unit and that an earlier lead had; nothing when a worker would start.
fn of_unit(row: &Row, known: &LaneMemory, is_retry: bool) -> Option<LaneState> {
    // A lane that was put off before it began is queued again.
    if known.put_off && matches!(known.state, SavedState::Paused { .. }) {
        return None;
    }
    let may_retry = is_retry && matches!(row.state, State::Paused { .. } | State::Failed { .. });
    if row.state == State::Done {
        // What its worker calls done may have been refused.
        return match paused(known) {
            Some(_) if is_retry => None,
            Some(refused) => Some(refused),
            None => Some(LaneState::Done),
        };
    }
    let reason = held_because(&row.state, &row.blockers).filter(|_| !may_retry)?;
    // What the lead paused it for says more.
    Some(paused(known).unwrap_or(LaneState::Paused { reason }))
}

fn paused(known: &LaneMemory) -> Option<LaneState> {
    match &known.state {
        SavedState::Paused { reason } if !known.put_off => Some(LaneState::Paused { reason: reason.clone() }),
        _ => None,
    }
}
