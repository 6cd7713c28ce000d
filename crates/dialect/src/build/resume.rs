//! How a build is continued.

use piton_model::hint::verbs;
use piton_model::text::printable;
use piton_model::{
    Arg, Gate, GateState, Hint, Lifecycle, Moment, Names, Refusal, ResumeAction, ResumeMode, ResumePlan,
    ResumeQuestion, Step, StepState, Trouble, Unit,
};

use super::checkpoint::Bucket;
use super::gates::{first_due, fold};
use super::unit::REVIEW;
use super::write::{Draft, due, no_checkpoint, path, refuse_when_blocked};
use crate::{Files, Place};

/// How a build is continued: from the first phase in which workstreams are pending or in progress, or a gate is due.
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
    // "Next first": a gate that is due comes before the workstreams of the phases after it.
    let due = due_before(&draft, work_phase(&draft)).map(|(gate, _)| gate);
    let is_due = |gate: &&Gate| due.as_ref().is_some_and(|due| fold(due) == fold(&gate.name));
    let open_gates = unit.gates.iter().filter(|gate| gate.state == GateState::Pending);
    let (due, later): (Vec<_>, Vec<_>) = open_gates.partition(is_due);
    let named = |gates: Vec<&Gate>| gates.into_iter().map(|gate| format!("gate {}", gate.name)).collect::<Vec<_>>();
    let mut remaining: Names = named(due).into_iter().collect();
    remaining.extend(unit.steps.iter().filter(|step| is_open(&step.state)).map(|step| &step.id));
    remaining.extend(named(later));
    let goes_on = action != ResumeAction::Refuse;
    Ok(ResumePlan {
        action,
        position: format!("phase {phase}"),
        next: if goes_on { next(&draft, mode) } else { Hint::text("") },
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
fn decide(draft: &Draft, mode: Option<ResumeMode>) -> (ResumeAction, Vec<Hint>) {
    let (name, unit) = (&draft.name, &draft.unit);
    let refuse = |reasons| (ResumeAction::Refuse, reasons);
    match (unit.state.lifecycle(), mode) {
        (Lifecycle::Done, _) => refuse(vec![
            format!("{} already complete", unit.id).into(),
            verbs::RESTART.on(name).to("begin it again from nothing"),
        ]),
        (Lifecycle::Blocked, _) => {
            let why = unit.blockers.iter().map(|blocker| printable(blocker)).collect::<Vec<_>>().join("; ");
            let hints = refuse_when_blocked(draft).err().map(|refusal| refusal.hints).unwrap_or_default();
            refuse([Hint::text(format!("it is blocked: {why}"))].into_iter().chain(hints).collect())
        }
        (Lifecycle::Unknown, _) => refuse(vec!["its status is not understood; a person decides".into()]),
        (Lifecycle::Running | Lifecycle::Waiting, None | Some(ResumeMode::Fixed)) => {
            let why = Hint::text("it is in progress: say whether what was interrupted begins again or goes on");
            refuse([why].into_iter().chain(both_ways(name)).collect())
        }
        (Lifecycle::Running | Lifecycle::Waiting, Some(ResumeMode::Restart)) => {
            (ResumeAction::Restart, vec!["it was in progress; what was interrupted is pending again".into()])
        }
        (Lifecycle::Running | Lifecycle::Waiting, Some(ResumeMode::Continue)) => {
            (ResumeAction::Continue, vec!["it was in progress; what was interrupted goes on".into()])
        }
        (Lifecycle::Failed, mode) => {
            let failures = unit.troubles.iter().map(|trouble| Hint::text(failure(trouble)));
            match mode {
                Some(ResumeMode::Fixed) => {
                    let then = Hint::text("the caller says that it is fixed");
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
            let last = passed.map(|gate| {
                Hint::text(match &gate.step {
                    Some(step) => format!("the last gate that passed is {} ({step})", gate.name),
                    None => format!("the last gate that passed is {}", gate.name),
                })
            });
            let paused = Hint::text("it is paused; resuming approves of the next phase");
            (ResumeAction::Continue, [paused].into_iter().chain(last).collect())
        }
        (Lifecycle::Queued, _) => (ResumeAction::Continue, vec!["nothing has begun yet".into()]),
    }
}

/// The phase to go on from: that of the next workstreams, or an earlier one whose gate is due.
fn resume_phase(draft: &Draft) -> usize {
    let is_running = draft.unit.steps.iter().any(|step| step.state == StepState::Running);
    let is_completed = |id: &str| draft.bucket_of(id) == Some(Bucket::Completed);
    let due = draft.spec.as_ref().and_then(|spec| first_due(spec, &draft.passed, &draft.waiting, &is_completed));
    let due = due.filter(|_| !is_running).map(|(phase, _)| phase + 1);
    let has_open = draft.unit.steps.iter().any(|step| is_open(&step.state));
    due.filter(|due| !has_open || *due < work_phase(draft)).unwrap_or_else(|| work_phase(draft))
}

/// The phase of the next workstreams. Without a specification each gate that passed has ended one.
fn work_phase(draft: &Draft) -> usize {
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

/// The commands that continue a build which is in progress.
pub(super) fn both_ways(name: &str) -> [Hint; 2] {
    [
        verbs::RESUME.on(name).flag("--restart").to("begin it again"),
        verbs::RESUME.on(name).flag("--continue").to("go on with it"),
    ]
}

/// The command that continues a build after a fix.
pub(super) fn when_fixed(name: &str) -> Hint {
    verbs::RESUME.on(name).flag("--fixed").to("when that is fixed")
}

/// The next order, with the command that records it.
fn next(draft: &Draft, mode: Option<ResumeMode>) -> Hint {
    let restarts = mode == Some(ResumeMode::Restart);
    let steps = &draft.unit.steps;
    let running: Vec<_> = steps.iter().filter(|step| step.state == StepState::Running).map(|step| &*step.id).collect();
    if !running.is_empty() && !restarts {
        let done = verbs::STEP.on(&draft.name).word("done").name(running[0], "STEP");
        return done.to(format!("go on with {}; when one is done", running.join(", ")));
    }
    next_of(draft)
}

/// The command that moves the build on as it stands, with what it does.
pub(super) fn next_command(draft: &Draft) -> Hint {
    let running = draft.unit.steps.iter().find(|step| step.state == StepState::Running);
    match running {
        Some(step) => verbs::STEP.on(&draft.name).word("done").name(&step.id, "STEP").to("when it is done"),
        None => next_of(draft),
    }
}

/// What comes next when nothing is executed: a gate that is due, the next workstreams, the gates that are left, the end.
fn next_of(draft: &Draft) -> Hint {
    let (name, unit, phase) = (&draft.name, &draft.unit, work_phase(draft));
    let here = |step: &&Step| draft.phase_of(&step.id).is_none_or(|found| found == phase);
    if let Some((gate, step)) = due_before(draft, phase) {
        let command = verbs::GATE.on(name).word("pass").name(&gate, "NAME").with("--step", Arg::name(&step, "STEP"));
        return command.to(format!("run the gate {gate} of {step}; when it passes"));
    }
    let open = unit.steps.iter().filter(|step| is_open(&step.state)).filter(here);
    let open: Vec<_> = open.filter(|step| draft.can_begin(&step.id)).map(|step| &*step.id).collect();
    // Without phases nothing says what may run side by side.
    let open = if draft.spec.is_some() { &open[..] } else { &open[..open.len().min(1)] };
    let gate = draft.waiting.first();
    match (open, gate) {
        ([], Some(gate)) => {
            let command = verbs::GATE.on(name).word("pass").name(&gate.name, "NAME");
            command.to(format!("run the gate {}; when it passes", gate.name))
        }
        ([], None) if unit.steps.iter().any(|step| is_open(&step.state)) => {
            verbs::STATUS.on(name).to("see what is left")
        }
        ([], None) => verbs::FINISH.on(name).to("nothing is left"),
        (open, _) => verbs::STEP
            .on(name)
            .word("begin")
            .names(open, "STEP")
            .to(format!("begin {} of phase {phase}", open.join(", "))),
    }
}

/// The gate that is due in a phase before this one, with its workstream: a phase ends with its gates.
fn due_before(draft: &Draft, phase: usize) -> Option<(String, String)> {
    due(draft).filter(|(_, step)| draft.phase_of(step).is_none_or(|found| found < phase))
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
