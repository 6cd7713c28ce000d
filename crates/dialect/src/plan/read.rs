use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use piton_model::{
    Decision, Dialect, Digest, Document, Finding, Gate, GateState, Note, Place, Role, Step, StepState, Time, Unit,
};

use super::{Parsed, codes, layout, parse, read_history, standing, state};
use crate::digest::digest_of;
use crate::json::Value;
use crate::{Findings, Reading, Source, open_text};

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
    checksum_text(digest_of([plan]))
}

/// A checksum as the state writes it.
pub(super) fn checksum_text(digest: Digest) -> String {
    digest.0[..8].iter().fold("sha256:".to_owned(), |mut text, byte| {
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
            add_plan(&mut unit, &mut ticked, &plan, text, &mut found);
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
    standing::find_position(&mut unit, &ticked);
    state::read_state(files, &mut unit, &ticked, now, &mut findings);
    if let Some(history) = &files.history {
        let history = read_history(history, now);
        let last = history.last.map(|(at, event)| Note { label: "last event", text: format!("{event} at {at}") });
        unit.notes.extend(last);
        findings.extend(history.findings);
    }
    standing::judge(&mut unit, &ticked);
    Reading { unit: Some(unit), findings }
}

/// What the plan's text says beyond the unit itself.
#[derive(Default)]
pub(super) struct Ticked {
    /// The place of each task in the unit's steps.
    pub tasks: HashMap<String, usize>,
    /// The place of each criterion in the unit's gates.
    pub criteria: HashMap<String, usize>,
    /// The phases in order, over all files.
    pub phases: Vec<Arc<str>>,
    pub unmarked_boxes: usize,
    /// How many of those are ticked, and the text of the first one that is not.
    pub unmarked_done: usize,
    pub unmarked_open: Option<String>,
    /// The first of them that is no detail of a task, in a plan that has ids.
    pub left_over: Option<String>,
    /// Whether any text could be parsed at all.
    pub parsed: bool,
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

/// How much of a box without an id is shown.
const LONGEST_TITLE: usize = 300;

/// Adds a file's tasks to the unit. Of an id that an earlier file has too the later one counts, as within one file.
fn add_plan(unit: &mut Unit, ticked: &mut Ticked, plan: &Parsed, text: &str, findings: &mut Findings<'_>) {
    ticked.parsed = true;
    ticked.unmarked_boxes += plan.unmarked_boxes;
    for found in &plan.unmarked {
        let words = || {
            let words = text.get(found.box_at as usize + 2..found.text_end as usize).unwrap_or_default();
            let start: String = words.chars().take(LONGEST_TITLE).collect();
            start.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        if ticked.left_over.is_none() && found.is_open(text) {
            ticked.left_over = Some(words());
        }
        match text.as_bytes().get(found.box_at as usize) {
            Some(b'x' | b'X') => ticked.unmarked_done += 1,
            _ if ticked.unmarked_open.is_none() => ticked.unmarked_open = Some(words()),
            _ => {}
        }
    }
    if unit.title.is_none() {
        unit.title = text.lines().find_map(|line| line.strip_prefix("# ")).map(|title| title.trim().to_owned());
    }
    let phases: Vec<Arc<str>> = plan.phases.iter().map(|phase| Arc::from(phase.id.as_str())).collect();
    ticked.phases.extend(phases.iter().cloned());
    let mut repeated = |mark: &super::Mark| {
        let message = format!("the id {:?} stands in an earlier file of the plan too; this one counts", mark.id(text));
        findings.at(mark.box_at(), &codes::PLAN_DUPLICATE_ID, message);
    };
    for task in &plan.tasks {
        let state = match task.is_ticked() {
            true => StepState::Done { by: None, at: None, outputs: Vec::new() },
            false => StepState::Pending,
        };
        let title = Some(task.text(text)).filter(|title| !title.is_empty()).map(str::to_owned);
        let step = Step { id: task.id(text).to_owned(), title, stage: Some(Arc::clone(&phases[task.phase()])), state };
        match ticked.tasks.get(task.id(text)) {
            Some(place) => {
                repeated(task);
                unit.steps[*place] = step;
            }
            None => {
                ticked.tasks.insert(step.id.clone(), unit.steps.len());
                unit.steps.push(step);
            }
        }
    }
    for criterion in &plan.criteria {
        let state = if criterion.is_ticked() { GateState::Passed { result: None } } else { GateState::Pending };
        let name = criterion.id(text).to_owned();
        let gate = Gate { name, step: None, stage: Some(Arc::clone(&phases[criterion.phase()])), state };
        match ticked.criteria.get(&gate.name) {
            Some(place) => {
                repeated(criterion);
                unit.gates[*place] = gate;
            }
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

#[cfg(test)]
mod tests;
