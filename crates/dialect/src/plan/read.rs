use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;

use piton_model::{
    Claim, Decision, Dialect, Document, Finding, Gate, GateState, Note, Place, Progress, Role, State, Step, StepState,
    Time, Unit,
};

use super::{MAIN_PHASE, Parsed, codes, layout, parse, read_history, wire};
use crate::json::{Json, Value};
use crate::{Findings, Reading, Source, content, open_json, open_text, shape};

/// The files of one plan, as far as they are there.
#[derive(Debug, Default)]
pub struct PlanFiles<'a> {
    /// The plan's directory, relative to the workspace.
    pub directory: String,
    /// `plan.md`, when it could be read.
    pub plan: Option<Source<'a>>,
    /// Phase files, in the order of their names.
    pub phases: Vec<Source<'a>>,
    /// `.checkpoint/state.json`
    pub state: Option<Source<'a>>,
    /// `.checkpoint/recovery.json`
    pub recovery: Option<Source<'a>>,
    /// `.checkpoint/history.jsonl`
    pub history: Option<Source<'a>>,
    /// `.memory/progress.json`
    pub legacy: Option<Source<'a>>,
}

/// The checksum that the state keeps of `plan.md`.
///
/// ```
/// assert_eq!(piton_dialect::plan::checksum(b"abc"), "sha256:ba7816bf8f01cfea");
/// ```
pub fn checksum(plan: &[u8]) -> String {
    use sha2::Digest as _;
    sha2::Sha256::digest(plan)[..8].iter().fold("sha256:".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Whether an object is a plan's state.
pub fn is_state(object: Value<'_, '_>) -> bool {
    object.get("phases").is_some() && (object.get("planId").is_some() || object.get("checksum").is_some())
}

/// Whether an object is the backup of one.
pub fn is_recovery(object: Value<'_, '_>) -> bool {
    object.get("savedAt").is_some() && object.get("state").is_some()
}

/// Reads a plan. What is done comes from `plan.md` alone; the state only adds who, when and why.
pub fn read(files: &PlanFiles<'_>, now: Time) -> Reading {
    let mut findings = Vec::new();
    let (_, id) = layout::id(&files.directory);
    let documents = documents(files);
    let Some(main) = documents.first().cloned() else { return Reading::default() };
    let mut unit = Unit::new(Dialect::Plan, id, main);
    unit.documents = documents;

    let mut ticked = Ticked::default();
    for source in files.plan.iter().chain(&files.phases) {
        let (text, mut found) = open_text(source);
        if let Some(text) = text {
            let plan = parse(text, &mut found);
            note_form(&plan, &mut found);
            add_plan(&mut unit, &mut ticked, &plan, text);
        }
        findings.extend(found.finish());
    }
    let whole = |code, message: String| Finding { code, place: place(&unit.documents[0].path), message };
    if files.plan.is_none() {
        findings.push(whole(&codes::PLAN_MISSING, format!("there is no readable plan.md in {}", files.directory)));
    }
    if let Some(legacy) = &files.legacy {
        let message = "the deprecated `.memory/progress.json` is there".to_owned();
        findings.push(Finding { code: &codes::PLAN_LEGACY, place: place(&legacy.path), message });
    }
    read_state(files, &mut unit, &ticked, now, &mut findings);
    if let Some(history) = &files.history {
        let history = read_history(history, now);
        let last = history.last.map(|(at, event)| Note { label: "last event", text: format!("{event} at {at}") });
        unit.notes.extend(last);
        findings.extend(history.findings);
    }
    judge(&mut unit, &ticked);
    Reading { unit: Some(unit), findings }
}

/// What the plan's text says beyond the unit itself.
#[derive(Default)]
struct Ticked {
    /// The place of each task in the unit's steps.
    tasks: HashMap<String, usize>,
    criteria: HashMap<String, usize>,
    unmarked_boxes: usize,
    /// Whether any text could be parsed at all.
    parsed: bool,
}

fn place(path: &Arc<str>) -> Place {
    Place { path: Arc::clone(path), line: None }
}

fn documents(files: &PlanFiles<'_>) -> Vec<Document> {
    let main = files.plan.iter().map(|source| source.document(Role::Main));
    let phases = files.phases.iter().map(|source| source.document(Role::Companion));
    let state = files.state.iter().chain(&files.history).map(|source| source.document(Role::Companion));
    let recovery = files.recovery.iter().map(|source| source.document(Role::Backup));
    main.chain(phases).chain(state).chain(recovery).collect()
}

fn note_form(plan: &Parsed, findings: &mut Findings<'_>) {
    let marked = plan.tasks.len() + plan.criteria.len();
    match (marked, plan.unmarked_boxes) {
        (0, 0) => findings.whole(&codes::PLAN_EMPTY, "the plan has no checkboxes"),
        (0, 1) => findings.whole(&codes::PLAN_NO_MARKERS, "the only checkbox has no marker"),
        (0, boxes) => findings.whole(&codes::PLAN_NO_MARKERS, format!("none of the {boxes} checkboxes has a marker")),
        (_, 0) => {}
        (_, 1) => findings.whole(&codes::PLAN_UNMARKED_BOX, "a checkbox has no marker and is not counted"),
        (_, boxes) => {
            let message = format!("{boxes} checkboxes have no marker and are not counted");
            findings.whole(&codes::PLAN_UNMARKED_BOX, message);
        }
    }
    let mut is_used = vec![false; plan.phases.len()];
    for mark in plan.tasks.iter().chain(&plan.criteria) {
        is_used[mark.phase()] = true;
    }
    for (phase, is_used) in plan.phases.iter().zip(is_used) {
        if let (Some(marker), false) = (&phase.marker, is_used) {
            findings.at(marker.start, &codes::PLAN_EMPTY_PHASE, format!("the phase {:?} is empty", phase.id));
        }
    }
}

/// Adds a file's tasks to the unit. A later file's task replaces an earlier one with the same id.
fn add_plan(unit: &mut Unit, ticked: &mut Ticked, plan: &Parsed, text: &str) {
    ticked.parsed = true;
    ticked.unmarked_boxes += plan.unmarked_boxes;
    if unit.title.is_none() {
        unit.title = text.lines().find_map(|line| line.strip_prefix("# ")).map(|title| title.trim().to_owned());
    }
    let phases: Vec<Arc<str>> = plan.phases.iter().map(|phase| Arc::from(phase.id.as_str())).collect();
    for task in &plan.tasks {
        let state = match task.is_ticked(text) {
            true => StepState::Done { by: None, at: None, outputs: Vec::new() },
            false => StepState::Pending,
        };
        let title = Some(task.text(text)).filter(|title| !title.is_empty()).map(str::to_owned);
        let step = Step { id: task.id(text).to_owned(), title, stage: Some(Arc::clone(&phases[task.phase()])), state };
        match ticked.tasks.get(task.id(text)) {
            Some(place) => unit.steps[*place] = step,
            None => {
                ticked.tasks.insert(step.id.clone(), unit.steps.len());
                unit.steps.push(step);
            }
        }
    }
    for criterion in &plan.criteria {
        let state = if criterion.is_ticked(text) { GateState::Passed { result: None } } else { GateState::Pending };
        let name = criterion.id(text).to_owned();
        let gate = Gate { name, step: None, stage: Some(Arc::clone(&phases[criterion.phase()])), state };
        match ticked.criteria.get(&gate.name) {
            Some(place) => unit.gates[*place] = gate,
            None => {
                ticked.criteria.insert(gate.name.clone(), unit.gates.len());
                unit.gates.push(gate);
            }
        }
    }
    unit.blockers.extend(plan.blockers.iter().map(|blocker| blocker.text.clone()));
    let decision = |remark: &super::Remark| Decision { time: None, text: remark.text.clone(), reason: None };
    unit.decisions.extend(plan.decisions.iter().map(decision));
}

/// Reads the state, or its backup when the state is unreadable, and compares it with the plan.
fn read_state(files: &PlanFiles<'_>, unit: &mut Unit, ticked: &Ticked, now: Time, findings: &mut Vec<Finding>) {
    let mut has_state = false;
    if let Some(source) = &files.state {
        let (json, mut found) = open_json(source);
        if let Some(json) = &json {
            if is_state(json.root()) {
                has_state = true;
                shape::check(json.root(), wire::STATE, now, &mut found);
                super::compare::compare(json.root(), files, unit, ticked_counts(unit, ticked), &mut found);
                add_state(json.root(), unit, ticked);
            } else {
                found.whole(&crate::codes::FOREIGN, "this is not a plan's state: it has no `planId` with phases");
            }
        }
        findings.extend(found.finish());
    }
    let Some(source) = &files.recovery else { return };
    let (json, mut found) = open_json(source);
    match json.as_ref().map(Json::root).filter(|root| is_recovery(*root)) {
        Some(root) => {
            shape::check(root, wire::RECOVERY, now, &mut found);
            if let (false, Some(state)) = (has_state, root.get("state")) {
                add_state(state, unit, ticked);
            }
        }
        None if json.is_some() => found.whole(&codes::PLAN_RECOVERY, "it holds no state"),
        None => {}
    }
    findings.extend(found.finish());
}

/// Tasks done and all tasks by the plan, when it could be parsed.
fn ticked_counts(unit: &Unit, ticked: &Ticked) -> Option<(u64, u64)> {
    let done = unit.steps.iter().filter(|step| matches!(step.state, StepState::Done { .. })).count() as u64;
    ticked.parsed.then_some((done, unit.steps.len() as u64))
}

/// Takes from a state what the plan itself cannot say; the tasks too when there is no plan.
fn add_state(state: Value<'_, '_>, unit: &mut Unit, ticked: &Ticked) {
    for (phase_id, phase) in state.get("phases").into_iter().flat_map(Value::entries) {
        let phase_id: Arc<str> = Arc::from(phase_id.as_str().as_deref().unwrap_or(MAIN_PHASE));
        for (id, task) in phase.get("tasks").into_iter().flat_map(Value::entries) {
            let id = id.as_str().unwrap_or_default();
            let done = || StepState::Done {
                by: content::text(task, "completedBy"),
                at: content::text(task, "completedAt"),
                outputs: Vec::new(),
            };
            match ticked.tasks.get(&*id) {
                Some(place) if matches!(unit.steps[*place].state, StepState::Done { .. }) => {
                    unit.steps[*place].state = done()
                }
                None if !ticked.parsed => {
                    let is_done = task.get("done").and_then(Value::as_bool) == Some(true);
                    let state = if is_done { done() } else { StepState::Pending };
                    let title = content::text(task, "description");
                    unit.steps.push(Step { id: id.into_owned(), title, stage: Some(Arc::clone(&phase_id)), state });
                }
                Some(_) | None => {}
            }
        }
    }
    let known: HashSet<String> = unit.blockers.iter().cloned().collect();
    unit.blockers.extend(content::texts(state, "blockers").into_iter().filter(|blocker| !known.contains(blocker)));
    let decision = |decision| {
        let text = content::as_sentence(decision)?;
        Some(Decision { time: content::text(decision, "time"), text, reason: content::text(decision, "reason") })
    };
    // The state knows when and why; what it does not know is only in the plan.
    let recorded: Vec<_> = state.get("decisions").into_iter().flat_map(Value::items).filter_map(decision).collect();
    let texts: HashSet<&str> = recorded.iter().map(|decision| decision.text.as_str()).collect();
    unit.decisions.retain(|decision| !texts.contains(decision.text.as_str()));
    unit.decisions.splice(0..0, recorded);
    let notes = content::text(state, "sessionNotes").map(|text| Note { label: "session notes", text });
    unit.notes.extend(notes);
    add_agents(state, unit);
    unit.signs.extend(content::sign(state, "lastCheckpoint"));
}

/// Agents that were given tasks and have not completed them are expected to be at work.
fn add_agents(state: Value<'_, '_>, unit: &mut Unit) {
    for (id, agent) in state.get("agents").into_iter().flat_map(Value::entries) {
        let completed = content::texts(agent, "completedTasks");
        let is_open = |task: &String| !completed.contains(task);
        if content::texts(agent, "assignedTasks").iter().any(is_open) {
            unit.claim = Claim::Worker;
            unit.agent = content::text(agent, "type").map(|kind| format!("subagent:{kind}"));
            unit.session = id.as_str().map(|id| id.into_owned());
            unit.signs.extend(content::sign(agent, "lastActive"));
        }
    }
}

/// Decides where the plan stands.
fn judge(unit: &mut Unit, ticked: &Ticked) {
    let is_done = |step: &&Step| matches!(step.state, StepState::Done { .. });
    let done = unit.steps.iter().filter(is_done).count() as u64;
    unit.progress = Progress { done, total: unit.steps.len() as u64 };
    let open_step = unit.steps.iter().find(|step| !is_done(step));
    let open_gate = unit.gates.iter().find(|gate| gate.state == GateState::Pending);
    unit.stage = open_step
        .and_then(|step| step.stage.as_deref())
        .or_else(|| open_gate.and_then(|gate| gate.stage.as_deref()))
        .map(str::to_owned);
    unit.current = open_step.map(|step| step.id.clone()).or_else(|| open_gate.map(|gate| gate.name.clone()));
    let is_marked = !unit.steps.is_empty() || !unit.gates.is_empty();
    let (state, word) = match () {
        () if !is_marked && ticked.unmarked_boxes > 0 => {
            (State::Unknown, format!("{} boxes without markers", ticked.unmarked_boxes))
        }
        () if !is_marked => (State::Unknown, "no tasks".to_owned()),
        () if unit.current.is_none() => (State::Done, "completed".to_owned()),
        () if !unit.blockers.is_empty() => (State::Blocked, "blocked".to_owned()),
        () if done == 0 && unit.claim != Claim::Worker => (State::Queued, "pending".to_owned()),
        () => (State::Running, "in_progress".to_owned()),
    };
    (unit.state, unit.status_text) = (state, word);
    unit.resumable = unit.current.is_some() && is_marked;
    if unit.claim != Claim::Worker || unit.state == State::Done {
        unit.claim = Claim::Nobody { why: "no agent is recorded at work on it" };
    }
    let file_time = unit.documents.first().and_then(|document| document.modified);
    unit.signs.extend(
        file_time
            .map(|at| piton_model::Sign { source: piton_model::Source::FileTime, said: piton_model::Said::At(at) }),
    );
}

#[cfg(test)]
mod tests;
