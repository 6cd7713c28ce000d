//! What the documents and files of a lane say about what its worker was started for.

use piton_dialect::crew::has_done_its_part;
use piton_dialect::{crew, pipeline, task};
use piton_model::fleet::{LaneAt, StageResult, Standing};
use piton_model::hint::verbs;
use piton_model::{Dialect, State, Step, StepState, Time, Unit};
use piton_store::journal::Entry;
use serde_json::Value;

use super::by_hand::person_pause;
use super::freed::LEAD;
use super::lead::Lead;
use super::task_list::left_out_of;
use super::ways::WHEN_MET;
use super::withdrawn::last_about;
use crate::evidence::toml_key;
use crate::record::{DiskFiles, TICKET};

impl Lead<'_> {
    /// What the documents of a lane's unit say about what its worker was started for.
    pub(super) fn standing(&self, at: LaneAt, has_exited_well: bool) -> Standing {
        let (lane, work) = (&self.work.fleet.lanes[at], &self.work.lanes[at]);
        if work.dialect == Dialect::Pipeline {
            let files = DiskFiles::new(&*self.workspace.disk, None);
            let standing = pipeline::standing(&self.place(at), &files, lane.stage, &self.moment());
            return match standing {
                Standing::Complete(StageResult::Executed) => match self.unit_of(at) {
                    Ok(unit) => self.proved(at, &unit, standing),
                    Err(_) => standing,
                },
                _ => standing,
            };
        }
        let Ok(found) = crate::find(self.workspace, &work.unit, self.time()) else { return Standing::Open };
        let standing = match &work.step {
            Some(step) => self.step_standing(at, &found.unit, step, has_exited_well),
            None => self.whole_standing(at, &found.unit),
        };
        self.proved(at, &found.unit, standing)
    }

    fn whole_standing(&self, at: LaneAt, unit: &Unit) -> Standing {
        let has_command = |gate: &str| self.has_command(gate);
        match whole_standing(unit, &has_command) {
            Standing::Complete(result) if unit.dialect == Dialect::Task && !self.is_finished_by_person(at) => {
                match left_out_of(&self.work.lanes[at], unit, &self.events_of(&self.work.lanes[at].unit), &has_command)
                {
                    missing if missing.is_empty() => Standing::Complete(result),
                    missing => Standing::Incomplete { missing },
                }
            }
            standing => standing,
        }
    }

    /// What is called complete has to be there.
    fn proved(&self, at: LaneAt, unit: &Unit, standing: Standing) -> Standing {
        if !matches!(standing, Standing::Complete(_)) {
            return standing;
        }
        match self.missing(at, unit) {
            missing if missing.is_empty() => standing,
            missing => Standing::Unproved { missing },
        }
    }

    fn step_standing(&self, at: LaneAt, unit: &Unit, step: &str, has_exited_well: bool) -> Standing {
        let known = unit.steps.iter().find(|known| known.id == step);
        match known.map(|known| &known.state) {
            Some(StepState::Done { .. }) if self.is_untouched(at, step) => {
                return Standing::Unproved { missing: vec![self.unchanged(at, step)] };
            }
            Some(StepState::Done { .. }) if !self.asked_at_its_end(at, unit).is_empty() => {
                return Standing::Halted { reason: self.asked_at_its_end(at, unit).join("; ") };
            }
            Some(StepState::Done { .. } | StepState::Skipped) => return Standing::Complete(StageResult::Done),
            Some(StepState::Pending) if self.was_complete(at) && self.is_untick_of_git(at) => {
                return Standing::Complete(StageResult::Done);
            }
            Some(StepState::Pending | StepState::Running | StepState::Failed) | None => {}
        }
        let is_paused = matches!(unit.state, State::Paused { .. });
        let events = if is_paused { self.events_of(&self.work.lanes[at].unit) } else { Vec::new() };
        if let Some((_, reason)) = person_pause(unit, &events) {
            return Standing::Halted { reason };
        }
        let own = if unit.state == State::Blocked { self.own_blockers(at, unit) } else { Vec::new() };
        if !own.is_empty() {
            return Standing::Halted { reason: own.join("; ") };
        }
        if !has_exited_well || self.work.lanes[at].outputs.is_empty() {
            return Standing::Open;
        }
        // A worker that records nothing and made every file that it was to make has done its work.
        match self.missing_outputs(at) {
            missing if missing.is_empty() && self.has_changed(at) => Standing::Complete(StageResult::Done),
            missing if missing.is_empty() || !self.has_any_change(at) => Standing::Open,
            missing => {
                let missing = missing.iter().map(|output| format!("{output} is not there"));
                Standing::Incomplete { missing: missing.collect() }
            }
        }
    }

    /// Whether a lane's own worker recorded its step as done, or a lead was about to merge it, or has.
    pub(super) fn was_complete(&self, at: LaneAt) -> bool {
        let known = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
        known.is_some_and(|known| known.seen.is_some() || known.collected.is_some() || known.merged.is_some())
            || self.recorded_done(at).is_some()
    }

    /// When the last worker of a lane recorded its step as done, when nothing was recorded about the step since.
    pub(super) fn recorded_done(&self, at: LaneAt) -> Option<Time> {
        let ticket = self.memory.lanes.get(&self.work.fleet.lanes[at].name)?.ticket.as_deref()?;
        let events = self.events_of(&self.work.lanes[at].unit);
        let last = last_about(&events, self.work.lanes[at].step.as_deref()?)?;
        let is_its = last.event == "step_done" && last.data.get(TICKET).and_then(Value::as_str) == Some(ticket);
        piton_dialect::time::read(&last.at).time().filter(|_| is_its)
    }

    /// What keeps a step from being done, among all that blocks its unit: what its own worker asked, and what a person
    /// recorded. A remark in a plan and the question of another worker say nothing about it.
    fn own_blockers(&self, at: LaneAt, unit: &Unit) -> Vec<String> {
        let events = self.events_of(&self.work.lanes[at].unit);
        let known = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
        let is_own = |text: &&String| {
            let names = |entry: &&Entry| {
                let message = entry.data.get("message").and_then(Value::as_str);
                entry.event == "blocked" && message.is_some_and(|message| text.contains(message))
            };
            match events.iter().rfind(names) {
                Some(entry) if entry.by == LEAD => false,
                Some(entry) => match entry.data.get(TICKET).and_then(Value::as_str) {
                    Some(ticket) => known.is_none_or(|known| known.ticket.as_deref().is_none_or(|own| own == ticket)),
                    None => true,
                },
                // A worker that never calls Piton writes what it asks into the document.
                None => known.is_none_or(|known| !known.blockers.contains(text)),
            }
        };
        unit.blockers.iter().filter(is_own).cloned().collect()
    }

    /// What the worker of a step asked, although it had recorded the step as done.
    fn asked_at_its_end(&self, at: LaneAt, unit: &Unit) -> Vec<String> {
        let known = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
        let Some(ticket) = known.and_then(|known| known.ticket.as_deref()).filter(|_| !unit.blockers.is_empty()) else {
            return Vec::new();
        };
        let events = self.events_of(&self.work.lanes[at].unit);
        let asks =
            |entry: &&Entry| entry.event == "blocked" && entry.data.get(TICKET).and_then(Value::as_str) == Some(ticket);
        let messages = events.iter().filter(asks).filter_map(|entry| entry.data.get("message")?.as_str());
        let messages: Vec<&str> = messages.collect();
        let is_own = |text: &&String| messages.iter().any(|message| text.contains(message));
        unit.blockers.iter().filter(is_own).cloned().collect()
    }

    /// What a step lacks whose worker changed none of its files, with what a person may do who knows that nothing is to change.
    fn unchanged(&self, at: LaneAt, step: &str) -> String {
        let files = self.work.lanes[at].files().into_iter().map(|it| it.name().to_owned()).collect::<Vec<_>>();
        let record = verbs::STEP.on(&self.work.lanes[at].unit_name).word("done").name(step, "STEP").to(NO_CHANGE);
        format!("a change of {}; {record}", files.join(", "))
    }

    /// Whether a worker calls its step done and changed none of the files that it was to make. What was found to be work
    /// before is not asked again: what its worker corrects may be in other files. Nor is what was made since the unit began:
    /// there the worker's word counts, and the gates judge it.
    fn is_untouched(&self, at: LaneAt, step: &str) -> bool {
        let memory = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
        let is_new = memory.is_some_and(|memory| {
            let is_known = memory.worked.is_some() || memory.merged.is_some() || memory.collected.is_some();
            !is_known && !memory.was_done
        });
        // Words that name no file ask for no change.
        let has_files = !self.work.lanes[at].files().is_empty();
        let is_claimed = is_new && has_files && self.has_outputs(at) && self.is_workers_word(at, step);
        is_claimed && !self.has_changed(at) && !self.are_made_by_others(at)
    }
}

/// What a unit says that is one lane: all of it is done, or something is in its way.
///
/// Criteria of a task that have a command are the lead's to judge, so a worker has done its part without them.
fn whole_standing(unit: &Unit, has_command: &dyn Fn(&str) -> bool) -> Standing {
    match &unit.state {
        State::Done => Standing::Complete(StageResult::Done),
        // An agent of a crew that waits at the end of its last stage has done its part; elsewhere it has work left.
        State::Waiting if has_done_its_part(unit) => Standing::Complete(StageResult::Done),
        State::Waiting => {
            let why = unit.notes.iter().find(|note| note.label == "waits because").map(|note| note.text.as_str());
            Standing::Halted { reason: format!("it waits: {}", why.unwrap_or(&unit.status_text)) }
        }
        // Its worker calls it complete, and asks nothing.
        State::Blocked if unit.dialect == Dialect::Task && task::claims_complete(unit) => {
            criteria_standing(unit, has_command)
                .unwrap_or_else(|| Standing::Incomplete { missing: unit.blockers.clone() })
        }
        State::Blocked => Standing::Halted { reason: unit.blockers.join("; ") },
        State::Paused { reason } => {
            Standing::Halted { reason: reason.clone().unwrap_or_else(|| "it was paused".to_owned()) }
        }
        State::Failed { error } => Standing::Halted { reason: error.clone() },
        State::Queued | State::Running | State::Unknown => match unit.dialect {
            Dialect::Task => criteria_standing(unit, has_command).unwrap_or(Standing::Open),
            Dialect::Crew => unfinished(unit).unwrap_or(Standing::Open),
            Dialect::Pipeline | Dialect::Plan | Dialect::Build => Standing::Open,
        },
    }
}

/// What an agent of a crew says that has no step left and did not finish.
fn unfinished(unit: &Unit) -> Option<Standing> {
    let is_open = |step: &Step| !matches!(step.state, StepState::Done { .. } | StepState::Skipped);
    let is_through = unit.state == State::Running && !unit.steps.is_empty() && !unit.steps.iter().any(is_open);
    let missing = match unit.stage.as_deref().and_then(crew::wire::stage_after) {
        Some(next) => format!("no step is open, and it did not enter the next stage, {next}"),
        None => "no step is open, and it did not finish".to_owned(),
    };
    is_through.then(|| Standing::Incomplete { missing: vec![missing] })
}

/// What a task says whose subtasks are all done: only criteria may be left.
fn criteria_standing(unit: &Unit, has_command: &dyn Fn(&str) -> bool) -> Option<Standing> {
    Some(match task::open_criteria(unit, has_command)?.as_slice() {
        [] => Standing::Complete(StageResult::Done),
        open => Standing::Incomplete { missing: open.iter().map(|open| unmet(unit, open)).collect() },
    })
}

/// What a person may do about a criterion that is left.
const NO_COMMAND: &str = ", and piton.toml has no command for it: ";

/// A criterion that is left, for a person, who may name a command that judges it, or judge it.
fn unmet(unit: &Unit, criterion: &str) -> String {
    let judge = verbs::GATE
        .on(format_args!("{}:{}", unit.dialect, unit.id))
        .word("pass")
        .name(criterion, "NAME")
        .to(format!("or, {WHEN_MET}"));
    format!("the criterion {criterion:?} is not met{NO_COMMAND}[gates] {} = \"COMMAND\"; {judge}", toml_key(criterion))
}

/// How the hint begins that names a person's way out when a change is missing.
const NO_CHANGE: &str = "when nothing is to be changed, record it yourself";

/// What is missing, for the next worker: the settings are the user's, and so is their word.
pub(super) fn for_worker(missing: &str) -> &str {
    let missing = missing.split_once(NO_COMMAND).map_or(missing, |(missing, _)| missing);
    missing.split_once(NO_CHANGE).map_or(missing, |(missing, _)| missing.trim_end_matches([' ', ';']))
}
