//! Where a plan stands: its position, and its state.

use std::collections::HashMap;
use std::sync::Arc;

use piton_model::{Claim, GateState, Progress, Said, Sign, Source, State, Step, StepState, Unit};

use super::read::Ticked;

/// Finds the current phase, which is the first that is not completed, and in it the first open task, or else the
/// first criterion that is not met.
pub(super) fn find_position(unit: &mut Unit, ticked: &Ticked) {
    let (current, stage) = {
        let open = open_places(unit);
        let steps = unit.steps.iter().filter_map(|step| step.stage.as_ref());
        // A plan that could not be read has its phases from the state.
        let mut phases: Box<dyn Iterator<Item = &Arc<str>>> =
            if ticked.parsed { Box::new(ticked.phases.iter()) } else { Box::new(steps) };
        match phases.find_map(|phase| Some((phase, open.get(phase)?))) {
            Some((phase, name)) => (Some(name.to_string()), Some(phase.to_string())),
            None => (None, None),
        }
    };
    (unit.current, unit.stage) = (current, stage);
}

/// The first open task or criterion of each phase that has one.
fn open_places(unit: &Unit) -> HashMap<&Arc<str>, &str> {
    let mut open = HashMap::new();
    for step in unit.steps.iter().filter(|step| !is_done(step)) {
        open.entry(step.stage.as_ref().expect("every task has a phase")).or_insert(step.id.as_str());
    }
    for gate in unit.gates.iter().filter(|gate| gate.state == GateState::Pending) {
        open.entry(gate.stage.as_ref().expect("every criterion has a phase")).or_insert(gate.name.as_str());
    }
    open
}

pub(super) fn is_done(step: &Step) -> bool {
    matches!(step.state, StepState::Done { .. })
}

/// Decides where the plan stands.
pub(super) fn judge(unit: &mut Unit, ticked: &Ticked) {
    let done = unit.steps.iter().filter(|step| is_done(step)).count() as u64;
    unit.progress = Progress { done, total: unit.steps.len() as u64 };
    find_position(unit, ticked);
    let is_marked = !unit.steps.is_empty() || !unit.gates.is_empty();
    let has_boxes = !is_marked && ticked.unmarked_boxes > 0;
    if has_boxes {
        // Only recording by id needs markers: what is ticked is done all the same.
        unit.progress = Progress { done: ticked.unmarked_done as u64, total: ticked.unmarked_boxes as u64 };
        unit.current = ticked.unmarked_open.clone();
    }
    if is_marked && unit.current.is_none() {
        // A box without an id is open all the same.
        unit.current.clone_from(&ticked.left_over);
    }
    let done = unit.progress.done;
    let (state, word) = match () {
        () if !is_marked && !has_boxes => (State::Unknown, "no tasks".to_owned()),
        () if unit.current.is_none() => (State::Done, "completed".to_owned()),
        () if let State::Paused { reason } = &unit.state => {
            (State::Paused { reason: reason.clone() }, "paused".to_owned())
        }
        () if !unit.blockers.is_empty() => (State::Blocked, "blocked".to_owned()),
        () if done == 0 && unit.claim != Claim::Worker => (State::Queued, "pending".to_owned()),
        () => (State::Running, "in_progress".to_owned()),
    };
    let word = if has_boxes { format!("{word}, without markers") } else { word };
    (unit.state, unit.status_text) = (state, word);
    // Without the plan itself nothing can be ticked.
    unit.resumable = unit.current.is_some() && is_marked && ticked.parsed;
    if unit.claim != Claim::Worker || unit.state == State::Done {
        unit.claim = Claim::Nobody { why: "no agent is recorded at work on it" };
    }
    let file_time = unit.documents.first().and_then(|document| document.modified);
    unit.signs.extend(file_time.map(|at| Sign { source: Source::FileTime, said: Said::At(at) }));
}
