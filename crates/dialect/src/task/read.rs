use std::collections::HashSet;

use piton_model::{
    Claim, Decision, Dialect, Gate, GateState, Note, Progress, Role, Sign, State, Step, StepState, Time, Trouble, Unit,
};

use super::{layout, rules, wire};
use crate::json::{Kind, Value};
use crate::words::Word;
use crate::{Reading, Source, content, open_json, shape, time};

/// Whether an object is a task's checkpoint: it has at least two of the keys that only this protocol combines.
/// Agents that follow the protocol's examples write patches as whole files, so no single key can be asked for.
pub fn is_ours(object: Value<'_, '_>) -> bool {
    const TELLING: [&str; 9] = [
        "checkpoint_id",
        "agent",
        "task_id",
        "progress_percent",
        "subtasks",
        "acceptance_criteria_met",
        "resumable",
        "resume_instructions",
        "heartbeat",
    ];
    TELLING.iter().filter(|key| object.get(key).is_some()).nth(1).is_some()
}

/// Reads a task's checkpoint, current or archived; the file's name says which.
pub fn read_checkpoint(source: &Source<'_>, now: Time) -> Reading {
    let (json, mut findings) = open_json(source);
    let Some(json) = json else { return Reading { unit: None, findings: findings.finish() } };
    let root = json.root();
    if !is_ours(root) {
        let message = "this is not a task's checkpoint: it has no two of `checkpoint_id`, `agent`, `task_id`, `progress_percent`, `subtasks`, `resumable`";
        return Reading { unit: None, findings: findings.foreign(message) };
    }
    shape::check(root, wire::CHECKPOINT, now, &mut findings);
    let counts = Counts::read(root);
    let unit = unit(root, source, &counts);
    rules::check(root, &unit, &counts, source, &mut findings);
    Reading { unit: Some(unit), findings: findings.finish() }
}

/// What stands for the words with which agents leave a subtask out.
const SKIPPED: &str = "skipped";

/// The counters of `subtasks`, and those that follow from `items`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    /// The counters as they are written; the total is the length of `items` where it is missing.
    pub total: u64,
    pub completed: u64,
    pub failed: u64,
    pub listed: u64,
    pub listed_complete: u64,
    pub listed_failed: u64,
    pub listed_skipped: u64,
}

impl Counts {
    pub fn read(root: Value<'_, '_>) -> Counts {
        let subtasks = root.get("subtasks");
        let count = |key| {
            subtasks.and_then(|subtasks| subtasks.get(key)).and_then(Value::as_int).map(|count| count.max(0) as u64)
        };
        let (mut listed, mut listed_complete, mut listed_failed, mut listed_skipped) = (0, 0, 0, 0);
        for item in items(root) {
            listed += 1;
            match item_word(item) {
                Some("complete") => listed_complete += 1,
                Some("failed") => listed_failed += 1,
                Some(SKIPPED) => listed_skipped += 1,
                _ => {}
            }
        }
        Counts {
            total: count("total").unwrap_or(listed),
            completed: count("completed").unwrap_or(listed_complete),
            failed: count("failed").unwrap_or(listed_failed),
            listed,
            listed_complete,
            listed_failed,
            listed_skipped,
        }
    }

    /// Whether `items` lists every subtask, so that the counters follow from it.
    pub fn lists_all(&self) -> bool {
        self.listed > 0 && self.listed == self.total
    }

    /// How many are done.
    pub fn done(&self) -> u64 {
        if self.lists_all() { self.listed_complete } else { self.completed }
    }

    /// How many failed.
    pub fn broken(&self) -> u64 {
        if self.lists_all() { self.listed_failed } else { self.failed }
    }
}

fn unit(root: Value<'_, '_>, source: &Source<'_>, counts: &Counts) -> Unit {
    let (agent, task) = names(root, source.file_name());
    let archived = layout::archive_number(source.file_name()).is_some();
    let role = if archived { Role::Archive } else { Role::Main };
    let mut unit = Unit::new(Dialect::Task, format!("{agent}/{task}"), source.document(role));
    unit.agent = Some(agent);
    unit.title = content::text(root, "task_title");
    unit.status_text = content::text(root, "status").unwrap_or_default();
    unit.steps = items(root).enumerate().map(|(index, item)| step(index, item)).collect();
    // Counters that contradict each other are told; a bar beyond its end would only confuse.
    let total = counts.total.saturating_sub(counts.listed_skipped);
    unit.progress = Progress { done: counts.done().min(total), total };
    unit.gates = gates(root);
    unit.troubles = errors(root).map(trouble).collect();
    unit.files = files(root);
    let context = root.get("context");
    unit.current = context
        .and_then(|context| content::text(context, "next_to_process"))
        .or_else(|| unit.steps.iter().find(|step| step.state == StepState::Running).map(|step| step.id.clone()));
    unit.notes = notes(root);
    unit.decisions = decisions(root);
    unit.signs.extend(last_beat(root));
    unit.signs.extend(content::sign(root, "updated_at"));
    unit.signs.extend(source.file_time());
    stand(&mut unit, root, counts);
    unit.resumable = says_resumable(root) && is_resumed_from(&unit.status_text);
    unit
}

/// Whether the document says that the task can be resumed from it.
pub(super) fn says_resumable(root: Value<'_, '_>) -> bool {
    root.get("resumable").and_then(Value::as_bool) == Some(true)
}

/// Whether a task of this status is one that the protocol resumes: under way or blocked. A claim of completion that
/// is not true is reopened, and a sentence needs a person.
fn is_resumed_from(status: &str) -> bool {
    matches!(wire::STATUS.read(status).word(), Some("in_progress" | "blocked"))
}

/// The agent and the task: from the document, else from the file's name, `{agent}-{task}`.
pub(super) fn names(root: Value<'_, '_>, file_name: &str) -> (String, String) {
    let stem = layout::live_stem(file_name);
    let (agent, task) = (content::text(root, "agent"), content::text(root, "task_id"));
    match (agent, task) {
        (Some(agent), Some(task)) => (agent, task),
        (Some(agent), None) => {
            let task = stem.strip_prefix(agent.as_str()).and_then(|rest| rest.strip_prefix('-')).unwrap_or(stem);
            (agent, task.to_owned())
        }
        (None, Some(task)) => {
            let agent = stem.strip_suffix(task.as_str()).and_then(|rest| rest.strip_suffix('-')).unwrap_or(stem);
            (agent.to_owned(), task)
        }
        (None, None) => {
            let (agent, task) = stem.rsplit_once('-').unwrap_or(("unknown", stem));
            (agent.to_owned(), task.to_owned())
        }
    }
}

/// The last beat as a sign of life, unless the heartbeat itself says that there is none.
fn last_beat(root: Value<'_, '_>) -> Option<Sign> {
    let beat = root.get("heartbeat")?;
    let has_stopped = content::text(beat, "status").is_some_and(|status| wire::says_stopped(&status));
    if has_stopped { None } else { content::sign(beat, "last_beat") }
}

/// Where the task stands, who is expected at it, and what keeps it from going on.
fn stand(unit: &mut Unit, root: Value<'_, '_>, counts: &Counts) {
    let nobody = |why| Claim::Nobody { why };
    (unit.state, unit.claim) = match wire::STATUS.read(&unit.status_text).word() {
        Some("in_progress") => (State::Running, Claim::Worker),
        Some("blocked") if pause(root).is_some() => (State::Paused { reason: pause(root) }, nobody("it is paused")),
        Some("blocked") => {
            unit.blockers = blocking(root);
            (State::Blocked, nobody("it is blocked"))
        }
        Some("complete") => {
            unit.blockers = missing(root, counts);
            if unit.blockers.is_empty() {
                (State::Done, nobody("it is complete"))
            } else {
                (State::Blocked, nobody("it claims to be complete"))
            }
        }
        Some("not_started") => (State::Queued, nobody("it has not been started")),
        _ if unit.status_text.to_ascii_lowercase().starts_with("paused") => {
            (State::Paused { reason: None }, nobody("it is paused"))
        }
        _ => (State::Unknown, nobody("its status is not understood")),
    };
}

/// What a task that claims to be complete still lacks.
fn missing(root: Value<'_, '_>, counts: &Counts) -> Vec<String> {
    let unmet = entries(root, "acceptance_criteria_met")
        .filter(|(_, met)| met.as_bool() == Some(false))
        .map(|(name, _)| format!("criterion {name:?} is not met"));
    let mut missing: Vec<_> = unmet.collect();
    let (done, failed) = (counts.done(), counts.broken());
    if failed > 0 {
        missing.push(format!("{failed} of {} failed", many_subtasks(counts.total)));
    }
    let left = counts.total.saturating_sub(done.saturating_add(failed).saturating_add(counts.listed_skipped));
    if left > 0 {
        let verb = if left == 1 { "is" } else { "are" };
        missing.push(format!("{left} of {} {verb} not done", many_subtasks(counts.total)));
    }
    missing
}

/// That many subtasks, in words.
pub(super) fn many_subtasks(count: u64) -> String {
    if count == 1 { "1 subtask".to_owned() } else { format!("{count} subtasks") }
}

/// The errors that block; when none is marked, all of them do.
fn blocking(root: Value<'_, '_>) -> Vec<String> {
    let is_marked = |error: &Value<'_, '_>| error.get("blocking").and_then(Value::as_bool) == Some(true);
    let any_marked = errors(root).any(|error| is_marked(&error));
    errors(root).filter(|error| !any_marked || is_marked(error)).filter_map(content::as_sentence).collect()
}

/// Why the task is paused, when that is all that keeps it: the protocol has no word for it but `blocked`.
fn pause(root: Value<'_, '_>) -> Option<String> {
    let is_pause = |error: Value<'_, '_>| content::text(error, "type").as_deref() == Some(wire::PAUSED);
    let keeps = |error: &Value<'_, '_>| error.get("blocking").and_then(Value::as_bool) != Some(false);
    let reason = errors(root).filter(keeps).filter(|error| is_pause(*error)).find_map(content::as_sentence);
    reason.filter(|_| errors(root).filter(keeps).all(is_pause))
}

fn trouble(error: Value<'_, '_>) -> Trouble {
    let what = content::as_sentence(error).unwrap_or_else(|| error.raw().to_owned());
    let message = match content::text(error, "type") {
        Some(kind) if kind != what => format!("{kind}: {what}"),
        _ => what,
    };
    Trouble { time: content::text(error, "timestamp"), message, place: None }
}

/// What a subtask is called: its id, or its place in the list.
pub(super) fn item_id(index: usize, item: Value<'_, '_>) -> String {
    let id = content::text(item, "id").or_else(|| content::as_text(item));
    id.unwrap_or_else(|| (index + 1).to_string())
}

fn step(index: usize, item: Value<'_, '_>) -> Step {
    let title = ["title", "name", "description"].iter().find_map(|key| content::text(item, key));
    let done = || StepState::Done {
        by: None,
        at: content::text(item, "completed_at"),
        outputs: content::texts(item, "output"),
    };
    let state = match item_word(item) {
        Some("complete") => done(),
        Some("in_progress") => StepState::Running,
        Some("failed") => StepState::Failed,
        Some(SKIPPED) => StepState::Skipped,
        _ => StepState::Pending,
    };
    Step { id: item_id(index, item), title, stage: None, state }
}

/// The criteria that are all that is left of a task to its agent, when every subtask is done or left out; nothing while a
/// subtask is left. A criterion that has a command is judged by running it. Reviews are not the agent's to give.
pub fn open_criteria<'a>(unit: &'a Unit, has_command: &dyn Fn(&str) -> bool) -> Option<Vec<&'a str>> {
    let is_open = |step: &Step| !matches!(step.state, StepState::Done { .. } | StepState::Skipped);
    let has_done_all = (matches!(unit.state, State::Running | State::Done) || claims_complete(unit))
        && unit.progress.total > 0
        && unit.progress.done == unit.progress.total
        && !unit.steps.iter().any(is_open);
    let is_met = |gate: &Gate| {
        let is_judged = matches!(gate.state, GateState::Passed { .. });
        is_judged || gate.name.starts_with(REVIEW_BY) || has_command(&gate.name)
    };
    has_done_all.then(|| unit.gates.iter().filter(|gate| !is_met(gate)).map(|gate| gate.name.as_str()).collect())
}

/// Whether a task's document says that it is complete, and that something of it is not.
pub fn claims_complete(unit: &Unit) -> bool {
    unit.state == State::Blocked && wire::STATUS.read(&unit.status_text).word() == Some("complete")
}

/// How the gate of a review is called, before the reviewer's name.
const REVIEW_BY: &str = "review by ";

fn gates(root: Value<'_, '_>) -> Vec<Gate> {
    let gate = |name: String, state| Gate { name, step: None, stage: None, state };
    let criteria = entries(root, "acceptance_criteria_met").map(|(name, met)| {
        let passed = met.as_bool() == Some(true);
        gate(name, if passed { GateState::Passed { result: None } } else { GateState::Pending })
    });
    // The protocol sets no bar for a score, so a review that was given has passed; the score is shown.
    let reviews = entries(root, "review_scores").map(|(name, score)| {
        let result = content::as_text(score);
        let state = if result.is_some() { GateState::Passed { result } } else { GateState::Pending };
        gate(format!("{REVIEW_BY}{name}"), state)
    });
    criteria.chain(reviews).collect()
}

/// Created, then modified files, each once.
fn files(root: Value<'_, '_>) -> Vec<String> {
    let mut files = content::texts(root, "files_created");
    files.extend(content::texts(root, "files_modified"));
    let mut seen = HashSet::new();
    let first: Vec<_> = files.iter().map(|file| seen.insert(file.as_str())).collect();
    files.iter().zip(first).filter(|(_, first)| *first).map(|(file, _)| file.clone()).collect()
}

fn decisions(root: Value<'_, '_>) -> Vec<Decision> {
    let decision = |item: Value<'_, '_>| {
        let text = content::as_sentence(item)?;
        Some(Decision { time: content::text(item, "at"), text, reason: content::text(item, "reason") })
    };
    root.get("decisions").into_iter().flat_map(Value::items).filter_map(decision).collect()
}

fn notes(root: Value<'_, '_>) -> Vec<Note> {
    let context = root.get("context").unwrap_or(root);
    let note = |label, text: Option<String>| text.map(|text| Note { label, text });
    let moment = |key| content::text(root, key).and_then(|text| time::read(&text).time());
    let lasted = |end| {
        let (from, to) = (moment("started_at")?, moment(end)?);
        (from <= to).then(|| from.age(to).to_string())
    };
    let taken = lasted("completed_at");
    let so_far = if taken.is_none() { lasted("updated_at") } else { None };
    let minutes = |text: &str| if text == "1" { "1 minute".to_owned() } else { format!("{text} minutes") };
    let estimate = content::text(root, "estimated_minutes").map(|text| minutes(&text));
    [
        note("agent name", content::text(root, "agent_name")),
        note("resume instructions", content::text(root, "resume_instructions")),
        note("last processed", content::text(context, "last_processed")),
        note("next to process", content::text(context, "next_to_process")),
        note("notes", content::text(context, "notes")),
        note("estimate", estimate),
        note("time taken", taken),
        note("time so far", so_far),
    ]
    .into_iter()
    .flatten()
    .collect()
}

pub(super) fn items<'a, 'j>(root: Value<'a, 'j>) -> impl Iterator<Item = Value<'a, 'j>> {
    root.get("subtasks").and_then(|subtasks| subtasks.get("items")).into_iter().flat_map(Value::items)
}

pub(super) fn errors<'a, 'j>(root: Value<'a, 'j>) -> impl Iterator<Item = Value<'a, 'j>> {
    root.get("errors").into_iter().flat_map(Value::items)
}

fn entries<'a, 'j>(root: Value<'a, 'j>, key: &str) -> impl Iterator<Item = (String, Value<'a, 'j>)> {
    let decoded =
        |(key, value): (Value<'a, 'j>, Value<'a, 'j>)| (key.as_str().expect("a key is a string").into_owned(), value);
    root.get(key).into_iter().flat_map(Value::entries).map(decoded)
}

/// The protocol's word for a subtask's status, or [`SKIPPED`].
pub(super) fn item_word(item: Value<'_, '_>) -> Option<&'static str> {
    let status = item.get("status").filter(|status| status.kind() == Kind::String)?;
    match wire::SUBTASK_STATUS.read(&status.as_str()?) {
        Word::Exact(word) | Word::Folded(word) => Some(word),
        Word::Other => Some(SKIPPED),
        Word::Unknown => None,
    }
}
