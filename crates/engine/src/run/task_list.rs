//! Subtasks and criteria that the user adds to a task in its list after the task began, and those that they take out.

use piton_model::fleet::{LaneAt, LaneState};
use piton_model::hint::verbs;
use piton_model::{Dialect, Event, GateJudgement, Hint, State, Step, StepMove, StepState, StepTo, Time, Unit};
use piton_store::journal::Entry;
use piton_supervisor::{Repository, quoted};

use super::freed::LEAD;
use super::lead::Lead;
use super::memory::{LaneMemory, Memory};
use super::taken_back::added_steps;
use super::withdrawn::last_about;
use super::work::{LaneWork, Work};
use crate::Workspace;
use crate::persons_word::is_claim;

impl Lead<'_> {
    /// Adds what a task's list has and its checkpoint does not have, before a worker starts, and skips open subtasks that the
    /// user took out of the list.
    pub(super) fn follow_list(&mut self, at: LaneAt, known: &Unit) -> Result<(), String> {
        if self.work.lanes[at].dialect != Dialect::Task {
            return Ok(());
        }
        let events = self.events_of(&self.work.lanes[at].unit);
        let before = begun_steps(self.memory.lanes.get(&self.work.fleet.lanes[at].name), &events);
        let removed = removed_steps(&self.work.lanes[at], known, &before, &events);
        let mut left = known.clone();
        if !removed.is_empty() {
            self.tell_lane(at, "settled", &format!("taken out of its list, and skipped: {}", removed.join(", ")));
            for step in left.steps.iter_mut().filter(|step| removed.contains(&step.id)) {
                step.state = StepState::Skipped;
            }
            self.record_lane(at, &Event::StepMoved(StepMove::new(StepTo::Skipped, removed)))?;
        }
        self.drop_criteria(at)?;
        let new = missing_steps(&self.work.lanes[at], &left, &events);
        if !new.is_empty() {
            self.record_lane(at, &Event::StepMoved(StepMove::new(StepTo::Begun, new)))?;
        }
        let names = missing_criteria(&self.work.lanes[at], known);
        if names.is_empty() {
            return Ok(());
        }
        self.record_lane(at, &Event::GateJudged(GateJudgement { passed: false, names, step: None, evidence: None }))
    }

    /// Takes criteria out of a task's checkpoint that the user took out of its list.
    pub(super) fn drop_criteria(&mut self, at: LaneAt) -> Result<(), String> {
        if self.work.lanes[at].dialect != Dialect::Task {
            return Ok(());
        }
        let Ok(unit) = self.unit_of(at) else { return Ok(()) };
        let names = removed_criteria(&self.work.lanes[at], &unit, &self.begun_criteria(at));
        if names.is_empty() || unit.state == State::Done {
            return Ok(());
        }
        self.tell_lane(at, "settled", &format!("criteria taken out of its list, and not judged: {}", names.join(", ")));
        self.record_lane(at, &Event::CriteriaDropped { names })
    }

    /// The criteria that the lists of a task had since it began.
    pub(super) fn begun_criteria(&self, at: LaneAt) -> Vec<String> {
        let known = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
        let listed = known.into_iter().flat_map(|known| known.listed.criteria.iter().cloned());
        begun_with(&self.events_of(&self.work.lanes[at].unit), "criteria").into_iter().chain(listed).collect()
    }

    /// Says which tasks are done without what their list has: no worker starts for those.
    pub(super) fn tell_added_subtasks(&mut self) {
        for (at, hint) in added_to_done(self.workspace, &self.work, self.time()) {
            self.tell_lane(at, "settled", &hint.to_string());
        }
    }
}

/// What a task's list has and its checkpoint leaves out: its user added it while the worker was at work, or the worker wrote the
/// checkpoint anew. Criteria that a command judges are the lead's to record.
pub(super) fn left_out_of(
    work: &LaneWork,
    unit: &Unit,
    events: &[Entry],
    has_command: &dyn Fn(&str) -> bool,
) -> Vec<String> {
    let before = begun_with(events, "steps");
    let was_led = events.iter().rfind(|entry| entry.event == "started").is_some_and(is_claim);
    let is_known = |name: &String| unit.steps.iter().any(|step| step.id == *name);
    // An agent that names its subtasks otherwise has done what was added when it counts as many as its list.
    let is_short = before.iter().any(is_known) || unit.progress.total < work.start.steps.len() as u64;
    let is_asked = |step: &String| before.contains(step) || was_led && is_short;
    let steps = missing_steps(work, unit, events).into_iter().filter(is_asked);
    let criteria = missing_criteria(work, unit).into_iter().filter(|name| was_led && !has_command(name));
    let steps = steps.map(|step| format!("the subtask {step:?} of its list"));
    steps.chain(criteria.map(|name| format!("the criterion {name:?} of its list"))).collect()
}

/// Subtasks that a list has and a task lacks. `items` may be a sample, and an agent may name its subtasks otherwise: of what
/// the task began with, a checkpoint that counts as many as its list, or none at all, lacks none.
fn missing_steps(work: &LaneWork, known: &Unit, events: &[Entry]) -> Vec<String> {
    let (before, listed) = (begun_with(events, "steps"), &work.start.steps);
    let first = listed.iter().filter(|step| before.contains(step)).count() as u64;
    let counts_all = known.progress.total == 0 || known.progress.total >= first;
    // What a lead skipped, because it was out of the list, and what is in it again, is asked for.
    let is_back = |step: &Step| {
        let last = last_about(events, &step.id).filter(|_| step.state == StepState::Skipped);
        last.is_some_and(|last| last.event == "step_skipped" && last.by == LEAD)
    };
    let is_known = |step: &String| known.steps.iter().any(|it| it.id == *step && !is_back(it));
    let is_put_back = |step: &String| known.steps.iter().any(|it| it.id == *step && is_back(it));
    let is_there = |step: &String| is_known(step) || counts_all && before.contains(step) && !is_put_back(step);
    // A task that is not divided is its own subtask. Where all others were taken out of the list, it is asked for.
    let is_divided = known.steps.is_empty() || known.steps.iter().any(|step| step.state != StepState::Skipped);
    let is_stand_in = |step: &String| is_divided && known.id.rsplit('/').next() == Some(step.as_str());
    listed.iter().filter(|step| !is_there(step) && !is_stand_in(step)).cloned().collect()
}

/// Open subtasks that the list of a task had, and has no more. `before` says which it had. A task of which only the name is known has no list.
fn removed_steps(work: &LaneWork, known: &Unit, before: &[String], events: &[Entry]) -> Vec<String> {
    let is_led = events.iter().rfind(|entry| entry.event == "started").is_some_and(is_claim);
    let listed = &work.start.steps;
    let is_open = |step: &&Step| matches!(step.state, StepState::Pending | StepState::Running);
    let is_removed = |step: &&Step| is_open(step) && before.contains(&step.id) && !listed.contains(&step.id);
    let removed = known.steps.iter().filter(is_removed).map(|step| step.id.clone());
    if is_led && !listed.is_empty() { removed.collect() } else { Vec::new() }
}

/// Criteria that the list of a task had, and has no more. `before` says which it had.
pub(super) fn removed_criteria(work: &LaneWork, known: &Unit, before: &[String]) -> Vec<String> {
    let is_removed = |name: &String| before.contains(name) && !work.start.criteria.contains(name);
    // A task of which only the name is known has no list.
    let has_list = !work.start.steps.is_empty() || work.start.total.is_some();
    let known = known.gates.iter().map(|gate| gate.name.clone());
    if has_list { known.filter(is_removed).collect() } else { Vec::new() }
}

fn missing_criteria(work: &LaneWork, known: &Unit) -> Vec<String> {
    let is_missing = |name: &&String| known.gates.iter().all(|it| it.name != **name);
    work.start.criteria.iter().filter(is_missing).cloned().collect()
}

/// Tasks that are done, and whose lists have subtasks or criteria that they do not have.
pub(super) fn added_to_done(workspace: &Workspace, work: &Work, now: Time) -> Vec<(LaneAt, Hint)> {
    let memory = Memory::load(workspace).unwrap_or_default();
    let added = |(at, listed): (LaneAt, &LaneWork)| {
        let events = crate::log(workspace, &listed.unit, now).map(|log| log.log.events).unwrap_or_default();
        let known = memory.lanes.get(&work.fleet.lanes[at].name);
        let mut own = listed.clone();
        own.start.steps.retain(|step| known.is_none_or(|known| !known.listed.done_before.contains(step)));
        let Ok(found) = crate::find(workspace, &own.unit, now) else {
            let added = added_steps(&own, known?, &events);
            let documents = events.last().into_iter().flat_map(|last| &last.documents);
            let back = documents.filter_map(|document| brought_back(workspace, &document.path)).next();
            let back = back.map_or_else(String::new, |back| format!(": {back}"));
            let text = format!(
                "it is done without {} of its list; bring its document back{back}, and run it again",
                added.join(", ")
            );
            return (!added.is_empty()).then(|| (at, Hint::from(text)));
        };
        let (unit, work) = (found.unit, &own);
        let steps = missing_steps(work, &unit, &events).into_iter().map(|step| format!("the subtask {step:?}"));
        let criteria = missing_criteria(work, &unit).into_iter().map(|name| format!("the criterion {name:?}"));
        let new: Vec<String> = steps.chain(criteria).collect();
        let open = || {
            let missing = new.join(", ");
            let what = format!("it is done without what its list has: {missing}; open it for the next run");
            (at, verbs::REOPEN.on(&work.unit_name).to(what))
        };
        (unit.state == State::Done && !new.is_empty()).then(open)
    };
    let is_done = |(at, lane): &(LaneAt, &LaneWork)| {
        lane.dialect == Dialect::Task && work.fleet.lanes[*at].state == LaneState::Done
    };
    work.lanes.iter().enumerate().filter(is_done).filter_map(added).collect()
}

/// How git brings a document back that is away: from the newest stash, or from the commit that is checked out.
fn brought_back(workspace: &Workspace, path: &str) -> Option<String> {
    let repository = Repository::find(workspace.root()).ok().flatten()?;
    let inside = repository.inside().join(path).display().to_string();
    if repository.stashed_since(&inside, 0).ok().flatten().is_some() {
        return Some("git stash pop".to_owned());
    }
    repository.committed(&inside).ok().flatten().map(|_| format!("git checkout -- {}", quoted(path)))
}

/// The subtasks that the lists of a task had since it began.
pub(super) fn begun_steps(known: Option<&LaneMemory>, events: &[Entry]) -> Vec<String> {
    let listed = known.into_iter().flat_map(|known| known.listed.steps.union(&known.listed.done_before).cloned());
    begun_with(events, "steps").into_iter().chain(listed).collect()
}

/// What a task began with.
pub(super) fn begun_with(events: &[Entry], key: &str) -> Vec<String> {
    let started = events.iter().rfind(|entry| entry.event == "started");
    let names = started.and_then(|entry| entry.data.get(key)?.as_array());
    names.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}
