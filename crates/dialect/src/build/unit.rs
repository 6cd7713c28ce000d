//! A build as a unit.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use piton_model::{
    Claim, Decision, Dialect, Gate, GateState, Note, Progress, Role, State, Step, StepState, Trouble, Unit,
};

use super::checkpoint::{Bucket, Checkpoint, Failure, Review};
use super::gates::{Listed, first_due, shown};
use super::rules::not_shippable;
use super::spec::{Phase, Spec};
use super::wire;
use crate::json::{Kind, Value};
use crate::{Source, content};

/// What the review is called among the gates. No command passes it.
pub(super) const REVIEW: &str = "adversarial review";

/// How many files of a build are listed.
const MOST_FILES: usize = 100_000;

/// Makes the unit of a checkpoint and, when there is one, its specification.
pub(super) fn unit(root: Value<'_, '_>, checkpoint: &Checkpoint, spec: Option<&Spec>, source: &Source<'_>) -> Unit {
    let mut unit = Unit::new(Dialect::Build, checkpoint.id.clone(), source.document(Role::Main));
    unit.title = content::text(root, "prd_title").or_else(|| content::text(root, "title"));
    unit.status_text = checkpoint.status_text.clone();
    let phases = spec.map(|spec| &spec.phases).filter(|phases| !phases.is_empty()).unwrap_or(&checkpoint.phases);
    let plan = Plan::new(phases);
    unit.steps = steps(root, checkpoint, spec, &plan);
    let open = open(checkpoint, &unit.steps);
    (unit.state, unit.claim) = state(checkpoint, open.is_empty());
    unit.blockers = blockers(checkpoint, open);
    // A review that blocks and a `complete` that is not must be put right by a person first.
    unit.resumable = !matches!(unit.state, State::Done | State::Unknown) && unit.blockers.is_empty();
    let count = |wanted: fn(&StepState) -> bool| unit.steps.iter().filter(|step| wanted(&step.state)).count() as u64;
    let total = count(|state| *state != StepState::Skipped);
    unit.progress = Progress { done: count(|state| matches!(state, StepState::Done { .. })), total };
    position(&mut unit, checkpoint, spec, &plan);
    unit.gates = gates(root, checkpoint);
    unit.troubles = checkpoint.failure.iter().map(trouble).collect();
    unit.decisions = decisions(root);
    unit.files = files(root);
    unit.notes = notes(root);
    let times = ["timestamp", "updated_at", "completed_at"];
    unit.signs.extend(times.into_iter().find_map(|key| content::sign(root, key)));
    unit.signs.extend(source.file_time());
    unit
}

fn state(checkpoint: &Checkpoint, is_finished: bool) -> (State, Claim) {
    let nobody = |why| Claim::Nobody { why };
    let has_begun = checkpoint.has_begun();
    let is_blocked = checkpoint.review.is_some_and(Review::blocks)
        || !checkpoint.blocked_by.is_empty()
        || checkpoint.waits_for_approval();
    match checkpoint.status {
        // Whoever executes it although it is blocked can still be missed.
        Some("in_progress") if is_blocked => (State::Blocked, Claim::Worker),
        Some("initialized" | "paused" | "complete") if is_blocked => (State::Blocked, nobody("it is blocked")),
        Some("initialized") if has_begun => (State::Paused { reason: None }, nobody("its status is not in_progress")),
        Some("initialized") => (State::Queued, nobody("it has not begun")),
        // Even with nothing in progress: the status says that it is executed, so somebody must act next.
        Some("in_progress") => (State::Running, Claim::Worker),
        Some("paused") => (State::Paused { reason: checkpoint.pause_reason.clone() }, nobody("it is paused")),
        Some("failed") => {
            let error = checkpoint.failure.as_ref().map_or("it does not say what failed", |failure| &failure.message);
            (State::Failed { error: error.to_owned() }, nobody("it has failed"))
        }
        Some("complete") if !is_finished => (State::Blocked, nobody("it is called complete, but is not")),
        Some("complete") => (State::Done, nobody("it is complete")),
        _ => (State::Unknown, nobody("its status is not understood")),
    }
}

/// What is left to do: workstreams and gates. A checkpoint that lists no workstreams says nothing about them.
fn open(checkpoint: &Checkpoint, steps: &[Step]) -> Vec<String> {
    let lists_steps = !checkpoint.bucket_of.is_empty();
    let step = |step: &Step| {
        let how = match step.state {
            StepState::Pending => "is pending",
            StepState::Running => "is in progress",
            StepState::Failed => "has failed",
            StepState::Done { .. } | StepState::Skipped => return None,
        };
        Some(format!("{} {how}", step.id))
    };
    let steps = steps.iter().filter(|_| lists_steps).filter_map(step);
    steps.chain(checkpoint.waiting.iter().map(|gate| format!("the gate {} is pending", shown(gate)))).collect()
}

/// What keeps the build from going on, or from being done.
fn blockers(checkpoint: &Checkpoint, open: Vec<String>) -> Vec<String> {
    let review = checkpoint.review.filter(|review| review.blocks()).map(not_shippable);
    let open = if checkpoint.status == Some("complete") { open } else { Vec::new() };
    let asks = "the review says ship_with_gates: a person approves it before work begins";
    let asks = checkpoint.waits_for_approval().then(|| asks.to_owned());
    review.into_iter().chain(asks).chain(checkpoint.blocked_by.iter().cloned()).chain(open).collect()
}

/// The phases, with the label that each step carries.
struct Plan<'p> {
    labels: Vec<Arc<str>>,
    phase_of: HashMap<&'p str, usize>,
}

impl<'p> Plan<'p> {
    fn new(phases: &'p [Phase]) -> Plan<'p> {
        let mut phase_of = HashMap::new();
        for (number, phase) in phases.iter().enumerate() {
            for id in &phase.parallel {
                phase_of.entry(id.as_str()).or_insert(number);
            }
        }
        let labels =
            phases.iter().enumerate().map(|(number, phase)| label(number + 1, phase.name.as_deref())).collect();
        Plan { labels, phase_of }
    }

    fn phase(&self, id: &str) -> Option<usize> {
        self.phase_of.get(id).copied()
    }
}

/// `phase 2 (Service Layer)`, whether the name repeats the number or not.
fn label(number: usize, name: Option<&str>) -> Arc<str> {
    let name = name.map(|name| {
        let start = format!("phase {number}");
        let repeats = name.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(&start));
        if repeats { name[start.len()..].trim_start_matches([' ', ':', '-', '–', '—', '.']) } else { name }
    });
    match name.filter(|name| !name.is_empty()) {
        Some(name) => format!("phase {number} ({name})").into(),
        None => format!("phase {number}").into(),
    }
}

fn steps(root: Value<'_, '_>, checkpoint: &Checkpoint, spec: Option<&Spec>, plan: &Plan<'_>) -> Vec<Step> {
    let artifacts: HashMap<_, _> = root
        .get("artifacts")
        .into_iter()
        .flat_map(Value::entries)
        .filter_map(|(key, files)| Some((key.as_str()?, files)))
        .filter(|(id, _)| checkpoint.bucket_of.contains_key(&**id))
        .collect();
    let failed = checkpoint.failure.as_ref().filter(|_| checkpoint.status == Some("failed"));
    let failed = failed.and_then(|failure| failure.workstream.as_deref());
    let state = |id: &str| match checkpoint.bucket_of.get(id) {
        Some(Bucket::Pending) if failed == Some(id) => StepState::Failed,
        Some(Bucket::Failed) => StepState::Failed,
        Some(Bucket::InProgress) => StepState::Running,
        Some(Bucket::Skipped) => StepState::Skipped,
        Some(Bucket::Completed) => {
            let outputs = artifacts.get(id).map(|files| each_text(*files)).unwrap_or_default();
            StepState::Done { by: None, at: None, outputs }
        }
        Some(Bucket::Pending) | None => StepState::Pending,
    };
    let stage = |id: &str| plan.phase(id).map(|phase| Arc::clone(&plan.labels[phase]));
    let step = |id: &str, title: Option<&str>| Step {
        id: id.to_owned(),
        title: title.map(str::to_owned),
        stage: stage(id),
        state: state(id),
    };
    let mut seen = HashSet::new();
    let mut steps = Vec::new();
    for stream in spec.into_iter().flat_map(|spec| &spec.workstreams) {
        if seen.insert(stream.id.as_str()) {
            steps.push(step(&stream.id, stream.name.as_deref()));
        }
    }
    let mut listed: Vec<_> = checkpoint.listed.iter().map(|(id, _)| id.as_str()).collect();
    // A list keeps its order; completed ones come first. Those that only have a status have no order of their own.
    listed.sort_by_key(|id| checkpoint.bucket_of.get(*id) != Some(&Bucket::Completed));
    let mut by_status: Vec<_> = checkpoint.bucket_of.keys().map(String::as_str).collect();
    by_status.sort_unstable();
    let named = root.get("workstreams").into_iter().flat_map(Value::entries);
    let names: HashMap<_, _> =
        named.filter_map(|(id, stream)| Some((id.as_str()?, content::text(stream, "name")?))).collect();
    for id in listed.into_iter().chain(by_status) {
        if seen.insert(id) {
            steps.push(step(id, names.get(id).or_else(|| checkpoint.names.get(id)).map(String::as_str)));
        }
    }
    steps
}

/// Where the build is, or would be resumed: the first phase that has a workstream or a gate left. A workstream in progress
/// counts more than a gate of an earlier phase.
fn position(unit: &mut Unit, checkpoint: &Checkpoint, spec: Option<&Spec>, plan: &Plan<'_>) {
    let is_open = |step: &&Step| matches!(step.state, StepState::Pending | StepState::Running | StepState::Failed);
    let of_steps = unit.steps.iter().filter(is_open).filter_map(|step| plan.phase(&step.id)).min();
    let is_running = unit.steps.iter().any(|step| step.state == StepState::Running);
    let is_completed = |id: &str| checkpoint.bucket_of.get(id) == Some(&Bucket::Completed);
    let due = spec.and_then(|spec| first_due(spec, &checkpoint.passed, &checkpoint.waiting, &is_completed));
    let due = due.filter(|(phase, _)| !is_running && of_steps.is_none_or(|of_steps| *phase < of_steps));
    let recorded = checkpoint.phase.and_then(|phase| usize::try_from(phase).ok()).filter(|phase| *phase > 0);
    let label = |phase: usize| plan.labels.get(phase).cloned().unwrap_or_else(|| label(phase + 1, None));
    let phase = due.map(|(phase, _)| phase).or(of_steps);
    unit.stage = phase.or(recorded.map(|phase| phase - 1)).map(|phase| label(phase).to_string());
    if unit.state == State::Done {
        return;
    }
    let here = |step: &&Step| phase.is_none() || plan.phase(&step.id) == phase;
    let open = || unit.steps.iter().filter(is_open).filter(here);
    let current = open().find(|step| step.state == StepState::Running).or_else(|| open().next());
    unit.current = match current {
        Some(step) => Some(step.title.as_ref().map_or_else(|| step.id.clone(), |title| format!("{} {title}", step.id))),
        None => {
            let gate = due.map(|(_, gate)| gate).or(checkpoint.waiting.first());
            gate.map(|gate| format!("gate {}", gate.name))
        }
    };
}

fn gates(root: Value<'_, '_>, checkpoint: &Checkpoint) -> Vec<Gate> {
    let gate = |listed: &Listed, state| Gate {
        name: listed.name.clone(),
        step: listed.step.clone(),
        stage: listed.stage.as_deref().map(Arc::from),
        state,
    };
    let judged = |listed: &Listed| match listed.has_failed {
        true => gate(listed, GateState::Failed { result: listed.result.clone() }),
        false => gate(listed, GateState::Passed { result: listed.result.clone() }),
    };
    let passed = checkpoint.passed.iter().map(judged);
    let waiting = checkpoint.waiting.iter().map(|listed| gate(listed, GateState::Pending));
    let review = root.get("adversarial_review").and_then(|it| review(it, checkpoint.waits_for_approval()));
    passed.chain(waiting).chain(review).collect()
}

/// Whether a build is called complete, but is not.
pub fn claims_complete(unit: &Unit) -> bool {
    unit.state == State::Blocked && unit.status_text == "complete"
}

/// Whether a review waits for a person's approval before work begins.
pub fn waits_for_person(unit: &Unit) -> bool {
    unit.gates.iter().any(|gate| gate.name == REVIEW && gate.state == GateState::Pending)
        && unit.state == State::Blocked
}

/// Whether a review blocks the build until it is reviewed again or a person overrides it.
pub fn is_refused(unit: &Unit) -> bool {
    unit.gates.iter().any(|gate| gate.name == REVIEW && matches!(gate.state, GateState::Failed { .. }))
        && unit.state == State::Blocked
}

fn review(review: Value<'_, '_>, waits: bool) -> Option<Gate> {
    let verdict = content::text(review, "verdict")?;
    let count = |key| review.get(key).and_then(Value::as_int);
    let counted = |(key, what)| count(key).map(|count| format!(", {count} {what}")).unwrap_or_default();
    let counts: String = [("p0_count", "P0"), ("p1_count", "P1")].into_iter().map(counted).collect();
    let result = Some(format!("{verdict}{counts}"));
    let state = match wire::VERDICT.read(&verdict).word() {
        Some("ship_with_gates") if waits => GateState::Pending,
        Some("ship" | "ship_with_gates" | "overridden") => GateState::Passed { result },
        Some("do_not_ship") => GateState::Failed { result },
        _ => GateState::Pending,
    };
    Some(Gate { name: REVIEW.to_owned(), step: None, stage: None, state })
}

fn trouble(failure: &Failure) -> Trouble {
    let file = failure.file.as_ref().map(|file| match failure.line {
        Some(line) => format!("{file}:{line}"),
        None => file.clone(),
    });
    let place = match (&failure.workstream, file) {
        (Some(workstream), Some(file)) => Some(format!("{workstream}, {file}")),
        (workstream, file) => workstream.clone().or(file),
    };
    Trouble { time: None, message: failure.message.clone(), place }
}

fn decisions(root: Value<'_, '_>) -> Vec<Decision> {
    let decision = |item: Value<'_, '_>| {
        let text = ["decision", "resolution", "text"].iter().find_map(|key| content::text(item, key));
        let text = text.or_else(|| content::as_sentence(item))?;
        let reason = ["reason", "rationale", "question"].iter().find_map(|key| content::text(item, key));
        Some(Decision { time: content::text(item, "timestamp"), text, reason })
    };
    root.get("decisions").into_iter().flat_map(Value::items).filter_map(decision).collect()
}

/// Every file that `artifacts` names, whatever its form.
fn files(root: Value<'_, '_>) -> Vec<String> {
    let Some(artifacts) = root.get("artifacts") else { return Vec::new() };
    let of_open = root.get("kept_artifacts").into_iter().flat_map(Value::entries);
    let of_open = of_open.flat_map(|(_, files)| each_text(files));
    match artifacts.kind() {
        Kind::Object => {
            artifacts.entries().flat_map(|(_, files)| each_text(files)).chain(of_open).take(MOST_FILES).collect()
        }
        _ => each_text(artifacts),
    }
}

fn each_text(value: Value<'_, '_>) -> Vec<String> {
    let own = content::as_text(value);
    own.into_iter().chain(value.items().filter_map(content::as_text)).take(MOST_FILES).collect()
}

fn notes(root: Value<'_, '_>) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut add = |label, text: Option<String>| notes.extend(text.map(|text| Note { label, text }));
    for (label, key) in [("eslint fix", "eslint_fixes"), ("key fix", "key_fixes")] {
        for fix in root.get(key).into_iter().flat_map(Value::items) {
            let text = match (content::text(fix, "file"), content::text(fix, "change")) {
                (Some(file), Some(change)) => Some(format!("{file}: {change}")),
                _ => content::as_sentence(fix),
            };
            add(label, text);
        }
    }
    for done in content::texts(root, "cleanup_done") {
        add("cleanup done", Some(done));
    }
    for note in root.get("execution_notes").into_iter().flat_map(Value::items) {
        let label = match content::text(note, "purpose").as_deref() {
            Some("resume") => "resume instructions",
            _ => "note",
        };
        add(label, content::as_sentence(note));
    }
    let joined = |key| Some(content::texts(root, key).join(", ")).filter(|texts| !texts.is_empty());
    add("dormant workstreams", joined("dormant_workstreams"));
    let texts = [
        ("next action", "next_action"),
        ("resume instructions", "resume_instructions"),
        ("resume notes", "resume_notes"),
        ("notes", "notes"),
        ("created at", "created_at"),
        ("worktree", "worktree"),
        ("branch", "branch"),
    ];
    for (label, key) in texts {
        add(label, root.get(key).and_then(content::as_sentence));
    }
    add("design check", root.get("gov010_check").filter(|check| !check.is_null()).map(check));
    let review = root.get("adversarial_review");
    for (label, key) in [("review report", "findings_path"), ("override reason", "override_reason")] {
        add(label, review.and_then(|review| content::text(review, key)));
    }
    notes
}

/// The protocol does not say what a design check looks like; what is no sentence is shown as it is written.
fn check(value: Value<'_, '_>) -> String {
    content::as_sentence(value).unwrap_or_else(|| value.raw().to_owned())
}
