//! How a build is continued.

use piton_model::text::{printable, shell_word};
use piton_model::{
    Gate, GateState, Lifecycle, Moment, Names, Refusal, ResumeAction, ResumeMode, ResumePlan, ResumeQuestion, Step,
    StepState, Trouble, Unit,
};

use super::unit::REVIEW;
use super::write::{Draft, due, no_checkpoint, path, refuse_when_blocked};
use crate::{Files, Place};

/// How a build is continued: from the first phase in which workstreams are pending or in progress.
///
/// One in progress is refused until somebody says what becomes of the interrupted workstreams; a complete one always.
pub fn resume(
    place: &Place,
    files: &dyn Files,
    mode: Option<ResumeMode>,
    moment: &Moment,
) -> Result<ResumePlan, Refusal> {
    let Some(bytes) = files.read(&path(place))? else { return Err(no_checkpoint(place)) };
    let draft = Draft::open(place, files, &path(place), &bytes, moment)?;
    let unit = &draft.unit;
    let (action, reasons) = decide(&draft, mode);
    let phase = resume_phase(&draft);
    let ids = |wanted: fn(&StepState) -> bool| -> Names {
        unit.steps.iter().filter(|step| wanted(&step.state)).map(|step| &step.id).collect()
    };
    let done = ids(|state| matches!(state, StepState::Done { .. }));
    let open_gates = unit.gates.iter().filter(|gate| gate.state == GateState::Pending);
    let open_gates = open_gates.map(|gate| format!("gate {}", gate.name));
    let mut remaining = ids(is_open);
    remaining.extend(open_gates);
    let goes_on = action != ResumeAction::Refuse;
    Ok(ResumePlan {
        action,
        position: format!("phase {phase}"),
        next: if goes_on { next(&draft, mode, phase) } else { String::new() },
        done,
        remaining,
        reasons,
        block: goes_on.then(|| block(super::write::id(place), unit, phase)),
        instructions: instructions(unit),
        outputs: outputs(unit),
    })
}

/// What the protocol asks before a build that stands so is continued; nothing when the mode has the answer.
pub fn question(lifecycle: Lifecycle, mode: Option<ResumeMode>) -> Option<ResumeQuestion> {
    match (lifecycle, mode) {
        (Lifecycle::Failed, None) => Some(ResumeQuestion::IsFixed),
        (Lifecycle::Running, None) => Some(ResumeQuestion::RestartOrContinue),
        _ => None,
    }
}

fn is_open(state: &StepState) -> bool {
    match state {
        StepState::Pending | StepState::Running | StepState::Failed => true,
        StepState::Done { .. } | StepState::Skipped => false,
    }
}

/// What is done with it, and why.
fn decide(draft: &Draft, mode: Option<ResumeMode>) -> (ResumeAction, Vec<String>) {
    let (name, unit) = (&draft.name, &draft.unit);
    let refuse = |reasons| (ResumeAction::Refuse, reasons);
    match (unit.state.lifecycle(), mode) {
        (Lifecycle::Done, _) => refuse(vec![
            format!("{} already complete", unit.id),
            format!("begin it again from nothing: piton restart {name}"),
        ]),
        (Lifecycle::Blocked, _) => {
            let why = unit.blockers.iter().map(|blocker| printable(blocker)).collect::<Vec<_>>().join("; ");
            let hints = refuse_when_blocked(draft).err().map(|refusal| refusal.hints).unwrap_or_default();
            refuse([format!("it is blocked: {why}")].into_iter().chain(hints).collect())
        }
        (Lifecycle::Unknown, _) => refuse(vec!["its status is not understood; a person decides".to_owned()]),
        (Lifecycle::Running | Lifecycle::Waiting, None | Some(ResumeMode::Fixed)) => refuse(vec![
            "it is in progress: say whether what was interrupted begins again or goes on".to_owned(),
            format!("begin it again: piton resume {name} --restart"),
            format!("go on with it: piton resume {name} --continue"),
        ]),
        (Lifecycle::Running | Lifecycle::Waiting, Some(ResumeMode::Restart)) => {
            (ResumeAction::Restart, vec!["it was in progress; what was interrupted is pending again".to_owned()])
        }
        (Lifecycle::Running | Lifecycle::Waiting, Some(ResumeMode::Continue)) => {
            (ResumeAction::Continue, vec!["it was in progress; what was interrupted goes on".to_owned()])
        }
        (Lifecycle::Failed, mode) => {
            let failures = unit.troubles.iter().map(failure);
            match mode {
                Some(ResumeMode::Fixed) => {
                    let then = "the caller says that it is fixed".to_owned();
                    (ResumeAction::Continue, failures.chain([then]).collect())
                }
                Some(ResumeMode::Restart | ResumeMode::Continue) | None => {
                    refuse(failures.chain([when_fixed(name)]).collect())
                }
            }
        }
        (Lifecycle::Paused, _) => {
            let has_passed = |gate: &&Gate| gate.name != REVIEW && matches!(gate.state, GateState::Passed { .. });
            let passed = unit.gates.iter().rfind(has_passed);
            let last = passed.map(|gate| match &gate.step {
                Some(step) => format!("the last gate that passed is {} ({step})", gate.name),
                None => format!("the last gate that passed is {}", gate.name),
            });
            let paused = "it is paused; resuming approves of the next phase".to_owned();
            (ResumeAction::Continue, [paused].into_iter().chain(last).collect())
        }
        (Lifecycle::Queued, _) => (ResumeAction::Continue, vec!["nothing has begun yet".to_owned()]),
    }
}

/// The phase to go on from. Without a specification each gate that passed has ended one.
fn resume_phase(draft: &Draft) -> usize {
    let open = draft.unit.steps.iter().filter(|step| is_open(&step.state));
    let by_spec = open.filter_map(|step| draft.phase_of(&step.id)).min();
    let recorded = draft.editor.int(&["current_phase"]).and_then(|phase| usize::try_from(phase).ok()).unwrap_or(0);
    let phases = draft.spec.as_ref().map_or(0, |spec| spec.phases.len());
    match (by_spec, phases) {
        (Some(phase), _) => phase,
        (None, 0) if draft.unit.steps.iter().any(|step| is_open(&step.state)) => recorded.saturating_add(1),
        (None, 0) => recorded.max(1),
        (None, phases) => recorded.clamp(1, phases),
    }
}

/// What failed, and where.
pub(super) fn failure(trouble: &Trouble) -> String {
    match &trouble.place {
        Some(place) => format!("it failed at {place}: {}", trouble.message),
        None => format!("it failed: {}", trouble.message),
    }
}

/// The command that continues a build after a fix.
pub(super) fn when_fixed(name: &str) -> String {
    format!("when that is fixed: piton resume {name} --fixed")
}

/// The next order, with the command that records it.
fn next(draft: &Draft, mode: Option<ResumeMode>, phase: usize) -> String {
    let restarts = mode == Some(ResumeMode::Restart);
    let steps = &draft.unit.steps;
    let running: Vec<_> = steps.iter().filter(|step| step.state == StepState::Running).map(|step| &*step.id).collect();
    if !running.is_empty() && !restarts {
        let done = format!("piton step {} done {}", draft.name, running[0]);
        return format!("go on with {}; when one is done: {done}", running.join(", "));
    }
    next_of(draft, phase)
}

/// The command that moves the build on as it stands, with what it does.
pub(super) fn next_command(draft: &Draft) -> String {
    let running = draft.unit.steps.iter().find(|step| step.state == StepState::Running);
    match running {
        Some(step) => format!("when it is done: piton step {} done {}", draft.name, step.id),
        None => next_of(draft, resume_phase(draft)),
    }
}

/// What comes next when nothing is executed: a gate that is due, the next workstreams, the gates that are left, the end.
fn next_of(draft: &Draft, phase: usize) -> String {
    let (name, unit) = (&draft.name, &draft.unit);
    let here = |step: &&Step| draft.phase_of(&step.id).is_none_or(|found| found == phase);
    // A phase ends with its gates, so those of an earlier one come first.
    let is_earlier = |step: &str| draft.phase_of(step).is_none_or(|found| found < phase);
    if let Some((gate, step)) = due(draft).filter(|(_, step)| is_earlier(step)) {
        let command = format!("piton gate {name} pass {} --step {step}", shell_word(&gate));
        return format!("run the gate {gate} of {step}; when it passes: {command}");
    }
    let open = unit.steps.iter().filter(|step| is_open(&step.state)).filter(here);
    let open: Vec<_> = open.filter(|step| draft.can_begin(&step.id)).map(|step| &*step.id).collect();
    // Without phases nothing says what may run side by side.
    let open = if draft.spec.is_some() { &open[..] } else { &open[..open.len().min(1)] };
    let gate = draft.waiting.first();
    match (open, gate) {
        ([], Some(gate)) => {
            let command = format!("piton gate {name} pass {}", shell_word(&gate.name));
            format!("run the gate {}; when it passes: {command}", gate.name)
        }
        ([], None) if unit.steps.iter().any(|step| is_open(&step.state)) => {
            format!("see what is left: piton status {name}")
        }
        ([], None) => format!("nothing is left: piton finish {name}"),
        (open, _) => format!("begin {} of phase {phase}: piton step {name} begin {}", open.join(", "), open.join(" ")),
    }
}

/// The protocol's own display.
fn block(id: &str, unit: &Unit, phase: usize) -> String {
    let line = |step: &Step, mark: &str| match &step.title {
        Some(title) => format!("  {}: {title}{mark}\n", step.id),
        None => format!("  {}{mark}\n", step.id),
    };
    let done = unit.steps.iter().filter(|step| matches!(step.state, StepState::Done { .. }));
    let done: String = done.map(|step| line(step, " ✅")).collect();
    let open: String = unit.steps.iter().filter(|step| is_open(&step.state)).map(|step| line(step, "")).collect();
    let or_none = |lines: String| if lines.is_empty() { "  none\n".to_owned() } else { lines };
    let text =
        format!("Resuming {id} from Phase {phase}\n\nCompleted:\n{}\nPending:\n{}", or_none(done), or_none(open));
    text.trim_end().to_owned()
}

fn instructions(unit: &Unit) -> Vec<String> {
    let asked = ["resume instructions", "resume notes", "next action"];
    unit.notes.iter().filter(|note| asked.contains(&note.label)).map(|note| note.text.clone()).collect()
}

fn outputs(unit: &Unit) -> Vec<String> {
    let of = |step: &Step| match &step.state {
        StepState::Done { outputs, .. } => outputs.clone(),
        StepState::Pending | StepState::Running | StepState::Failed | StepState::Skipped => Vec::new(),
    };
    unit.steps.iter().flat_map(of).collect()
}
