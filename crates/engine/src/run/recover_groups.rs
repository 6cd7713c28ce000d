//! Takes up groups that an earlier lead left: which phases are judged, what a person approved, whether a shared unit may continue.

use std::collections::BTreeSet;

use piton_model::fleet::{Approval, Fleet, GateKind, GateProgress, Halt, LaneState, PhaseGate, PhaseState};
use piton_model::{
    Dialect, Event, Gate, GateState, LEFT_TO_SESSION, Liveness, State, Step, StepState, Time, Unit, UnitRef, is_gate,
};
use piton_store::journal::Entry;
use piton_supervisor::quoted;
use serde_json::Value;

use super::RunRequest;
use super::approvals::approved_after;
use super::by_hand::person_pause;
use super::claim::explain;
use super::freed::{LEAD, is_by_person};
use super::lead::Lead;
use super::memory::GroupMemory;
use super::recover::is_beginning;
use super::taken_back::is_seen;
use crate::record::HOLDER_SESSION;
use crate::{Workspace, record};

impl Lead<'_> {
    pub(super) fn recover_group(&mut self, at: usize, request: &RunRequest) {
        let name = self.work.fleet.groups[at].name.clone();
        if let Some(unit) = self.work.groups[at].unit.clone() {
            let now = self.origin_of(&unit);
            let beginnings = self.events_of(&unit).iter().filter(|entry| is_beginning(entry)).count();
            let base = self.memory.run.base.clone();
            let tip = self.repository.as_ref().zip(base).and_then(|(repository, base)| repository.tip(&base).ok()?);
            let known = self.memory.groups.entry(name.clone()).or_default();
            // What was known before the unit began is about its first life.
            let is_same_life = known.origin.began == now.began || (known.origin.began == 0 && beginnings <= 1);
            if !is_same_life {
                *known = GroupMemory::default();
            }
            known.origin = now;
            known.began_on = known.began_on.take().or(tip);
            self.recover_unit_group(at, &unit, request);
        }
        let known = self.memory.groups.get(&name).cloned().unwrap_or_default();
        let are_done: Vec<bool> = (0..self.work.fleet.groups[at].phases.len())
            .map(|phase| {
                let mut lanes = self.work.fleet.lanes.iter().filter(|lane| (lane.group, lane.phase) == (at, phase));
                lanes.all(|lane| lane.state == LaneState::Done)
            })
            .collect();
        let are_judged: Vec<bool> =
            (0..are_done.len()).map(|phase| are_done[phase] && self.is_phase_closed(at, phase)).collect();
        let group = &mut self.work.fleet.groups[at];
        let keys: Vec<String> = (0..group.phases.len()).map(|place| group.phase_key(place)).collect();
        if known.has_begun && group.begin == Approval::Needed {
            group.begin = Approval::Given;
        }
        // A phase is approved so that later work may begin: where all of that is done, nothing is left to approve.
        let last_open = are_done.iter().rposition(|is_done| !is_done);
        for phase in group.phases.iter_mut().skip(last_open.unwrap_or(0)) {
            phase.approval = Approval::NotNeeded;
        }
        for (((phase, is_judged), is_done), key) in group.phases.iter_mut().zip(are_judged).zip(are_done).zip(keys) {
            // Work that was added since is approved when it is there.
            if is_done && known.approved.contains(&key) && phase.approval == Approval::Needed {
                phase.approval = Approval::Given;
            }
            // All of it is on the base and recorded, with the gates that judged it.
            if is_judged && phase.state == PhaseState::Open {
                phase.state = PhaseState::Merged;
                for gate in phase.gates.iter_mut().filter(|gate| gate.kind == GateKind::Command) {
                    gate.state = GateProgress::Passed;
                }
            }
        }
        self.recover_approval(at);
        self.judge_refused_first(at);
        if self.is_yes {
            self.approve_review(at);
            let group = &mut self.work.fleet.groups[at];
            group.begin = Approval::NotNeeded;
            for phase in &mut group.phases {
                phase.approval = Approval::NotNeeded;
            }
        }
    }

    /// An approval that a person gave while no lead was at work.
    fn recover_approval(&mut self, at: usize) {
        let group = &self.work.fleet.groups[at];
        let open = group.phases.iter().position(|phase| !phase.is_closed() && phase.approval != Approval::Given);
        let waits = group.begin == Approval::Needed
            || open.is_some_and(|phase| {
                let phase = &group.phases[phase];
                phase.approval == Approval::Needed && phase.state == PhaseState::Merged
            });
        let begins = group.begin == Approval::Needed;
        if !waits {
            return;
        }
        let is_resumed = !begins && self.is_resumed_by_person(at);
        if !self.take_group_approval(at, open.filter(|_| !begins)) && !is_resumed {
            return;
        }
        let group = &mut self.work.fleet.groups[at];
        match (group.begin, open) {
            (Approval::Needed, _) => {
                group.begin = Approval::Given;
                self.approve_review(at);
            }
            (_, Some(phase)) => group.phases[phase].approval = Approval::Given,
            (_, None) => {}
        }
    }

    /// Whether a person resumed or unblocked a unit that its lead had paused, and the lead began nothing since: that approves the next
    /// phase.
    pub(super) fn is_resumed_by_person(&self, group: usize) -> bool {
        let unit = self.work.groups[group].unit.as_ref();
        unit.is_some_and(|unit| approves_by_resuming(&self.events_of(unit)))
    }

    /// Whether a phase was judged. One that reached the base with all of its lanes was judged before that, unless one of its
    /// gates got its command since; the last phase judges all that there is.
    fn is_phase_closed(&self, group: usize, phase: usize) -> bool {
        let is_last = phase + 1 == self.work.fleet.groups[group].phases.len();
        let lanes = self.work.fleet.lanes.iter().filter(|lane| (lane.group, lane.phase) == (group, phase));
        let is_merged = |name: &str| self.memory.lanes.get(name).is_some_and(|known| known.merged.is_some());
        let is_collected = self.work.fleet.groups[group].phases[phase].collects();
        let has_reached_base = !is_last && is_collected && lanes.into_iter().all(|lane| is_merged(&lane.name));
        has_reached_base && self.are_gates_judged_once(group, phase) || self.is_phase_judged(group, phase)
    }

    /// Whether each command gate of a phase has passed at some time, by the lead's run of it or a person's word.
    fn are_gates_judged_once(&self, group: usize, phase: usize) -> bool {
        let events = self.work.groups[group].unit.as_ref().map(|unit| self.events_of(unit)).unwrap_or_default();
        let known = self.memory.lanes.get(&self.work.fleet.groups[group].name);
        let dialect = self.work.groups[group].dialect;
        let mut gates = self.work.fleet.groups[group].phases[phase].gates.iter();
        gates.all(|gate| {
            let is_it = |name: &str| is_gate(dialect, name, &gate.name);
            // The record follows the move of the base; a lead that died between the two remembers the gate.
            let is_remembered = || {
                known
                    .is_some_and(|known| known.gates.iter().any(|(name, how)| is_it(name) && how.starts_with("passed")))
            };
            let is_recorded = |entry: &Entry| {
                let is_worker = entry.by != LEAD && !is_by_person(entry);
                entry.event == "gate_passed" && !is_worker && gates_of(entry).any(is_it)
            };
            gate.kind != GateKind::Command || events.iter().any(is_recorded) || is_remembered()
        })
    }

    /// Whether the unit's documents have every command gate of a phase as passed, by more than a worker's word. The last
    /// phase judges all that there is: its gates have to have judged it after the last step was done.
    fn is_phase_judged(&self, group: usize, phase: usize) -> bool {
        let gates = &self.work.fleet.groups[group].phases[phase].gates;
        let is_last = phase + 1 == self.work.fleet.groups[group].phases.len();
        let mut commands = gates.iter().filter(|gate| gate.kind == GateKind::Command).peekable();
        if commands.peek().is_none() {
            return true;
        }
        let Some(unit) = &self.work.groups[group].unit else { return false };
        let Ok(found) = crate::find(self.workspace, unit, self.time()) else { return false };
        let events = self.events_of(unit);
        let last_step = events.iter().rposition(changes_steps);
        commands.all(|gate| {
            let mut known =
                found.unit.gates.iter().filter(|known| is_gate(found.unit.dialect, &known.name, &gate.name)).peekable();
            let is_fresh =
                !is_last || last_judgement(&events, |name| is_gate(found.unit.dialect, name, &gate.name)) > last_step;
            let command = self.gate_command(group, &gate.name);
            let holds =
                |known: &Gate| self.is_proved(unit, known) && !self.is_command_changed(unit, known, command.as_deref());
            is_fresh && known.peek().is_some() && known.all(holds)
        })
    }

    /// Why a person wants a unit to wait. Who approves its next phase after that wants it to continue.
    fn paused_by_person(&mut self, name: &UnitRef, unit: &Unit, events: &[Entry]) -> Option<String> {
        let (paused, reason) = person_pause(unit, events)?;
        if !approved_after(self.workspace, &name.to_string(), paused) {
            return Some(reason);
        }
        let continued = Event::Unblocked { which: None, answer: None };
        record(self.workspace, name, &continued, &self.recorder(LEAD)).err().map(explain)
    }

    /// Why an earlier lead halted a group, with what it had tried, when its own record of that is the last word about the unit.
    fn halted_before(&self, group: usize, events: &[Entry]) -> Option<String> {
        let is_own = |entry: &Entry| {
            entry.by == LEAD && matches!(entry.event.as_str(), "failed" | "paused" | "blocked" | "gate_failed")
        };
        let is_last = events.iter().rfind(|entry| !is_seen(entry)).is_some_and(is_own);
        let known = self.memory.groups.get(&self.work.fleet.groups[group].name).filter(|_| is_last);
        known.and_then(|known| known.halted.clone())
    }

    /// A unit that several lanes share: its document says whether it may continue.
    fn recover_unit_group(&mut self, group: usize, unit: &UnitRef, request: &RunRequest) {
        let is_done =
            |unit| crate::find(self.workspace, unit, self.time()).is_ok_and(|it| it.unit.state == State::Done);
        if self.work.groups[group].dialect == Dialect::Build && is_done(unit) {
            // A complete build whose specification has got a gate is not complete any more. Of another one this is refused.
            let _ = record(self.workspace, unit, &Event::Reopened, &self.recorder(LEAD));
        }
        let Ok(found) = crate::find(self.workspace, unit, self.time()) else { return };
        let is_plan = self.work.groups[group].dialect == Dialect::Plan;
        if is_plan && self.is_elsewhere(&found.unit) {
            let base = self.memory.run.base.clone().unwrap_or_default();
            let reason = format!(
                "the plan that is checked out is not that of {base}, into which this run merges; run it there: \
                 git checkout {}",
                quoted(&base)
            );
            let name = self.work.fleet.groups[group].name.clone();
            self.tell(Some(&name), "halted", &reason);
            for lane in self.work.fleet.lanes.iter_mut().filter(|lane| lane.group == group && !lane.state.has_worker())
            {
                if lane.state != LaneState::Done {
                    lane.state = LaneState::Paused { reason: reason.clone() };
                }
            }
            let halt = Halt { reason, lane: None, is_failure: true, recorded: true };
            self.work.fleet.groups[group].halted = Some(halt);
            return;
        }
        let is_paused = matches!(found.unit.state, State::Paused { .. });
        let events = self.events_of(unit);
        let session = left_to_session(
            self.workspace,
            unit,
            &found.unit,
            (&self.run.handed_by, request.session.as_ref()),
            self.time(),
        );
        let taken = taken_by_session(&found.unit, found.judgement.liveness, &events)
            .or(session)
            .or_else(|| self.paused_by_person(unit, &found.unit, &events));
        let reason =
            taken.clone().or_else(|| self.halted_before(group, &events)).or_else(|| halted_because(&found.unit));
        let mut lanes = self.work.fleet.lanes.iter().filter(|lane| lane.group == group);
        let are_done =
            lanes.all(|lane| lane.state == LaneState::Done) || waits_for_commands(&self.work.fleet, group, &found.unit);
        let is_blocked = found.unit.state == State::Blocked;
        let is_living = self.live.keys().any(|at| self.work.fleet.lanes[*at].group == group);
        let goes_on = request.retry || taken.is_none() && is_paused && is_let_go(&events, are_done);
        match reason {
            // A plan's blocker is a remark; other tasks may still be done.
            Some(_) if is_plan && !is_paused && taken.is_none() => {}
            Some(reason) if !goes_on || is_blocked => {
                let name = self.work.fleet.groups[group].name.clone();
                let ways = self.ways_out(&name).into_iter().map(|way| way.to_string());
                let told = [reason.clone()].into_iter().chain(ways).collect::<Vec<_>>().join("; ");
                self.tell(Some(&name), "halted", &told);
                let halt = Halt { reason, lane: None, is_failure: true, recorded: true };
                self.work.fleet.groups[group].halted = Some(halt);
            }
            Some(_) if is_living => {}
            // A person says that it is mended.
            Some(_) => {
                let first = (0..self.work.lanes.len()).find(|at| self.work.fleet.lanes[*at].group == group);
                match first.map(|first| self.claim_for_all(first)) {
                    Some(Ok(attempt)) => self.claimed[group] = Some(attempt),
                    Some(Err(why)) => self.memory.issues.push((unit.to_string(), "resume".to_owned(), why)),
                    None => {}
                }
            }
            None => {}
        }
        let is_paused = |lane: &&piton_model::fleet::Lane| {
            lane.group == group && lane.halts_group && matches!(lane.state, LaneState::Paused { .. })
        };
        let paused = self.work.fleet.lanes.iter().find(is_paused);
        if let Some((name, LaneState::Paused { reason })) = paused.map(|lane| (&lane.name, &lane.state)) {
            let halt = Halt { reason: format!("{name}: {reason}"), lane: None, is_failure: true, recorded: true };
            self.work.fleet.groups[group].halted.get_or_insert(halt);
        }
    }
}

/// Whether a person resumed or unblocked a unit while it waited for the approval of a phase: that approves the phase.
pub(super) fn approves_by_resuming(events: &[Entry]) -> bool {
    let acts = |entry: &&Entry| entry.by == LEAD && matches!(entry.event.as_str(), "paused" | "step_begun");
    let asks = |entry: &&Entry| {
        let reason = entry.data.get("reason").and_then(Value::as_str);
        entry.event == "paused" && reason.is_some_and(|reason| reason.ends_with(super::close::WAITS))
    };
    let last = events.iter().rfind(acts).filter(asks).map(|entry| entry.seq);
    let resumes = |entry: &&Entry| matches!(entry.event.as_str(), "resumed" | "unblocked") && is_by_person(entry);
    last.is_some_and(|last| events.iter().rfind(resumes).is_some_and(|entry| entry.seq > last))
}

/// Why the documents of a unit that several lanes share halt it.
pub(super) fn halted_because(unit: &Unit) -> Option<String> {
    match &unit.state {
        State::Failed { error } => Some(error.clone()),
        // A build is paused between its phases; a plan only when it cannot or should not continue.
        State::Paused { reason } if unit.dialect == Dialect::Plan => {
            Some(reason.clone().unwrap_or_else(|| "it was paused by hand".to_owned()))
        }
        // A review that asks for approval is a question of the run's own.
        State::Blocked if piton_dialect::build::waits_for_person(unit) => None,
        // A run opens it again.
        State::Blocked if piton_dialect::build::claims_complete(unit) => None,
        State::Blocked => Some(unit.blockers.join("; ")),
        State::Unknown => Some("its status is not understood".to_owned()),
        State::Queued | State::Running | State::Waiting | State::Paused { .. } | State::Done => None,
    }
}

/// Why a unit of several lanes is left alone: a session whose host tells Piton about it is bound to the unit, and its process
/// runs. An agent that starts the run itself hands the unit over, and a worker of a lead is no other session.
pub(super) fn left_to_session(
    workspace: &Workspace,
    name: &UnitRef,
    unit: &Unit,
    (handed_by, asks): (&BTreeSet<String>, Option<&String>),
    now: Time,
) -> Option<String> {
    // A session that took the unit up again since has it.
    let last = crate::log(workspace, name, now).ok().and_then(|log| log.log.events.into_iter().last());
    let holder = last.and_then(|last| last.carried.get(HOLDER_SESSION)?.as_str().map(str::to_owned));
    let is_asking = |session: &str| asks.is_some_and(|asks| asks == session);
    let is_handed =
        |session: &str| is_asking(session) || handed_by.contains(session) && holder.as_deref() != Some(session);
    let is_left = unit.state != State::Done && crate::hook::is_session_at_work(workspace, name, &is_handed, now);
    is_left.then(|| format!("{LEFT_TO_SESSION} it, until it ends"))
}

/// Why a unit of several lanes is left alone: a session that a person began is at one of its steps. One that keeps the
/// documents by hand is in no journal: there the document of a build says at which step it is, that of a plan that it is at work.
pub(super) fn taken_by_session(unit: &Unit, liveness: Liveness, events: &[Entry]) -> Option<String> {
    let is_at = |step: &Step| {
        let names = |entry: &Entry| entry.data.get("steps").and_then(Value::as_array).cloned().unwrap_or_default();
        let begins = |entry: &&Entry| {
            let is_move = matches!(entry.event.as_str(), "step_begun" | "step_done" | "step_failed" | "step_skipped");
            is_move && names(entry).iter().any(|name| name.as_str() == Some(&step.id))
        };
        let is_open = !matches!(step.state, StepState::Done { .. } | StepState::Skipped);
        let last = events.iter().rfind(begins).filter(|entry| entry.event == "step_begun");
        let is_untold = !events.iter().any(|entry| begins(&entry));
        let is_by_hand = unit.dialect == Dialect::Build && step.state == StepState::Running && is_untold;
        is_open && (last.is_some_and(is_by_person) || is_by_hand)
    };
    if liveness != Liveness::Alive {
        return None;
    }
    let step = unit.steps.iter().find(|step| is_at(step)).map(|step| step.id.as_str());
    let is_led = events.iter().any(|entry| !is_seen(entry));
    let step = step.or_else(|| (unit.dialect == Dialect::Plan && !is_led).then_some("it"))?;
    Some(format!("{LEFT_TO_SESSION} {step}, until it ends"))
}

/// Whether all work of a phase is done, and all that is left of it are gates that a command judges: no worker is needed, and no
/// person.
pub(super) fn waits_for_commands(fleet: &Fleet, group: usize, unit: &Unit) -> bool {
    let is_open = |gate: &&PhaseGate| {
        unit.gates.iter().any(|known| {
            let is_its = gate.step.is_none() || known.step == gate.step;
            is_gate(unit.dialect, &known.name, &gate.name) && is_its && !matches!(known.state, GateState::Passed { .. })
        })
    };
    fleet.groups[group].phases.iter().enumerate().any(|(at, phase)| {
        let mut lanes = fleet.lanes.iter().filter(|lane| (lane.group, lane.phase) == (group, at));
        let mut open = phase.gates.iter().filter(is_open).peekable();
        open.peek().is_some()
            && open.all(|gate| gate.kind == GateKind::Command)
            && lanes.all(|lane| lane.state == LaneState::Done)
    })
}

/// Whether a paused unit continues without `--retry`: the user did something about it since, or all of its work, or that of
/// a phase, is done and only its gates are left, which costs no worker.
pub(super) fn is_let_go(events: &[Entry], are_done: bool) -> bool {
    let Some(paused) = events.iter().rposition(|entry| entry.event == "paused" && entry.by == LEAD) else {
        return false;
    };
    let since = &events[paused + 1..];
    let is_paused_again = since.iter().any(|entry| entry.event == "paused");
    let acts = [
        "gate_passed",
        "gate_failed",
        "marked",
        "observed",
        "unblocked",
        "decided",
        "reopened",
        "step_done",
        "step_skipped",
    ];
    let has_acted = since.iter().any(|entry| is_by_person(entry) && acts.contains(&entry.event.as_str()));
    !is_paused_again && (has_acted || are_done)
}

/// Whether an event may have changed which steps are done: one that records it, or documents that others wrote.
fn changes_steps(entry: &Entry) -> bool {
    matches!(entry.event.as_str(), "step_begun" | "step_done" | "step_skipped" | "step_failed" | "observed" | "adopted")
}

/// The gates that an event names.
fn gates_of(entry: &Entry) -> impl Iterator<Item = &str> {
    entry.data.get("gates").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// The place of the last event that has a gate as passed.
fn last_judgement(events: &[Entry], is_it: impl Fn(&str) -> bool) -> Option<usize> {
    events.iter().rposition(|entry| entry.event == "gate_passed" && gates_of(entry).any(&is_it))
}
