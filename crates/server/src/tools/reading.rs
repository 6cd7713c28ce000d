//! Tools that look and change nothing.

use std::path::{Component, Path};

use piton_engine::run::run_status;
use piton_engine::{
    Problem, ProblemKind, Target, UnitLog, Workspace, check, find_or_led, json, last_words, log, next_step, resumable,
    status,
};
use piton_model::text::{counted, printable};
use piton_model::{Audience, Dialect, Lifecycle, Tally, Time};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Effect, Entry, read};
use crate::answer::Answer;
use crate::bounds::{Keep, MOST_CHARACTERS, Page, fit};
use crate::door::{Door, parse};
use crate::schema;

pub(super) const TOOLS: [Entry; 4] = [
    Entry {
        name: "status",
        title: "Status",
        about: "Shows units of work (stories, plans, PRDs, tasks, agents' features): how far each is, who works on it, \
                whether they are alive, what blocks it. Use it first to learn where things stand, and with `unit` for \
                everything about one: its steps and gates with their ids, decisions, errors, notes, findings.",
        example: r#"{"unit": "plan:260220-1149-feature"}"#,
        effect: Effect::Reads,
        input: schema::input::<StatusInput>,
        output: schema::status,
        run: |door, arguments| show_status(door, &read(arguments)?),
    },
    Entry {
        name: "check",
        title: "Check documents",
        about: "Checks documents against the rules of their dialects, and says for each finding where it is and how to \
                mend it. Use it after editing a plan or checkpoint by hand. Without arguments: the whole workspace.",
        example: r#"{"unit": "build:PRD-009"}"#,
        effect: Effect::Reads,
        input: schema::input::<CheckInput>,
        output: schema::check,
        run: |door, arguments| show_findings(door, &read(arguments)?),
    },
    Entry {
        name: "why",
        title: "Explain a judgement",
        about: "Explains how a unit was judged: which record says that it runs, blocks or is stale, and which signs of \
                life were believed or not. Use it when a status surprises you, before you force anything.",
        example: r#"{"unit": "crew:Secondary-A"}"#,
        effect: Effect::Reads,
        input: schema::input::<UnitInput>,
        output: schema::why,
        run: |door, arguments| explain(door, &read(arguments)?),
    },
    Entry {
        name: "log",
        title: "History of a unit",
        about: "Lists what happened to a unit, from its journal: who recorded what, when, in which attempt, and which \
                files changed. The newest events, oldest of them first; `offset` skips that many of the newest.",
        example: r#"{"unit": "build:PRD-009"}"#,
        effect: Effect::Reads,
        input: schema::input::<LogInput>,
        output: schema::log,
        run: |door, arguments| show_log(door, &read(arguments)?),
    },
];

#[derive(Debug, Deserialize, JsonSchema)]
struct StatusInput {
    /// Only this unit, with everything about it: dialect:id
    unit: Option<String>,
    /// Only units of this dialect
    dialect: Option<DialectWord>,
    /// Only units that stand like this
    lifecycle: Option<LifecycleWord>,
    /// Only units that could be resumed now, the most urgent first
    resumable: Option<bool>,
    /// Skip that many units; with `unit`, that many of its steps
    offset: Option<usize>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum DialectWord {
    Pipeline,
    Plan,
    Build,
    Task,
    Crew,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum LifecycleWord {
    Queued,
    Running,
    Waiting,
    Paused,
    Blocked,
    Failed,
    Done,
    Unknown,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct UnitInput {
    /// The unit: dialect:id. Default: PITON_UNIT
    unit: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct CheckInput {
    /// Only this unit: dialect:id
    unit: Option<String>,
    /// Only this file or directory, relative to the workspace
    path: Option<String>,
    /// Skip that many findings
    offset: Option<usize>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct LogInput {
    /// The unit: dialect:id. Default: PITON_UNIT
    unit: Option<String>,
    /// Skip that many of the newest events
    offset: Option<usize>,
}

fn show_status(door: &Door, input: &StatusInput) -> Result<Answer, Problem> {
    let (workspace, now) = (door.open()?, door.now());
    if let Some(name) = &input.unit {
        let wanted = parse(name)?;
        let found = find_or_led(&workspace, &wanted, now).map_err(|error| Problem::not_found(&wanted, &error))?;
        let mut document = json::unit(&found, &workspace.root().display().to_string(), now);
        let words = last_words(&workspace, &found.name, &found.unit);
        document["units"][0]["last_worker"] = words.as_ref().map(json::last_words).into();
        document["run"] = run_of(&workspace, now);
        let document = page_steps(document, input.offset.unwrap_or(0));
        let text = unit_line(&document["units"][0]);
        return Ok(Answer { document, text });
    }
    let mut report = status(&workspace, input.dialect.map(dialect), now);
    if input.resumable == Some(true) {
        report.rows = resumable(&workspace, now);
        report.rows.retain(|row| input.dialect.is_none_or(|only| row.dialect == dialect(only)));
    }
    if let Some(word) = input.lifecycle {
        report.rows.retain(|row| row.state.lifecycle() == lifecycle(word));
    }
    let page = Page { offset: input.offset.unwrap_or(0), of: report.rows.len() };
    report.rows = report.rows.drain(page.first()).collect();
    let mut document = json::report(&report);
    document["run"] = run_of(&workspace, now);
    let document = page.cut(document, "units", Keep::First);
    let text = report_text(&document);
    Ok(Answer { document, text })
}

/// The run of a workspace. Commands are typed at its root.
pub fn run_of(workspace: &Workspace, now: Time) -> Value {
    json::run(run_status(workspace, now).as_ref(), workspace.root(), workspace.root())
}

/// The document of one unit with as many of its steps as fit beside the rest, which gets half of the room at most.
pub fn page_steps(mut document: Value, offset: usize) -> Value {
    let steps = match document["units"][0]["steps"].take() {
        Value::Array(steps) => steps,
        _ => Vec::new(),
    };
    document["units"][0]["steps"] = Value::Array(Vec::new());
    let mut fitted = fit(&document, MOST_CHARACTERS / 2);
    let page = Page { offset, of: steps.len() };
    let mut room = MOST_CHARACTERS.saturating_sub(fitted.to_string().chars().count() + ROOM_FOR_PAGE);
    let fits = |step: &Value| {
        let size = step.to_string().chars().count() + 1;
        let has_room = size <= room;
        room = room.saturating_sub(size);
        has_room
    };
    let bounded = steps[page.first()].iter().map(|step| fit(step, LONGEST_STEP));
    let shown: Vec<Value> = bounded.take_while(fits).collect();
    if shown.len() < steps.len() {
        fitted["page"] = page.shown(shown.len());
    }
    fitted["units"][0]["steps"] = shown.into();
    fitted
}

/// The most characters of one step.
const LONGEST_STEP: usize = 2_000;

/// What the words about a page take at most.
const ROOM_FOR_PAGE: usize = 200;

fn report_text(document: &Value) -> String {
    let units = document["units"].as_array().map(Vec::as_slice).unwrap_or_default();
    let all = document["page"]["of"].as_u64().unwrap_or(0) as usize;
    let mut text = run_line(&document["run"]);
    text.push_str(&format!("{} of {}", units.len(), counted(all, "unit", "units")));
    for unit in units {
        text.push('\n');
        text.push_str(&unit_line(unit));
    }
    text
}

/// The run in a line; nothing when there is none.
fn run_line(run: &Value) -> String {
    let (number, pid) = (&run["number"], &run["lead"]["pid"]);
    let command = run["command"].as_str().unwrap_or_default();
    match run["state"].as_str() {
        Some("led") => format!("run {number}: a lead is at work, process {pid}\n"),
        Some("no_lead") => format!("run {number} has no lead; the user continues it with: {command}\n"),
        Some(state) => format!("run {number} is {state}; the user continues it with: {command}\n"),
        None => String::new(),
    }
}

/// A unit in a line.
fn unit_line(unit: &Value) -> String {
    let word = |key: &str| unit[key].as_str().map(|text| printable(text).into_owned()).unwrap_or_default();
    let position = match word("position") {
        position if position.is_empty() => position,
        position => format!(", at {position}"),
    };
    format!(
        "{} {}, {}/{}, worker {}{position}",
        word("unit"),
        word("lifecycle"),
        unit["done"],
        unit["total"],
        word("liveness")
    )
}

fn show_findings(door: &Door, input: &CheckInput) -> Result<Answer, Problem> {
    let (workspace, now) = (door.open()?, door.now());
    let target = match (&input.unit, &input.path) {
        (Some(_), Some(_)) => return Err(Problem::new(ProblemKind::Usage, "either a unit or a path, not both")),
        (Some(name), None) => Target::Unit(parse(name)?),
        (None, Some(path)) => Target::Path(workspace.root().join(inside(path)?)),
        (None, None) => Target::Workspace,
    };
    let wanted = match &target {
        Target::Unit(unit) => Some(unit),
        Target::Workspace | Target::Path(_) => None,
    };
    let checked = check(&workspace, &target, now).map_err(|error| Problem::check(wanted, &error))?;
    let tally = Tally::of(&checked.findings);
    let page = Page { offset: input.offset.unwrap_or(0), of: checked.findings.len() };
    let mut document = json::findings(&checked.findings[page.first()], checked.files);
    document["found"] = serde_json::json!({ "error": tally.error, "warning": tally.warning, "note": tally.note });
    let document = page.cut(document, "findings", Keep::First);
    let files = counted(checked.files, "file", "files");
    let text = format!("{files}: {} errors, {} warnings, {} notes", tally.error, tally.warning, tally.note);
    Ok(Answer { document, text })
}

/// A path that stays inside of the workspace by its looks. That no link leads out is seen to where it is opened.
pub(super) fn inside(path: &str) -> Result<&Path, Problem> {
    let parts = Path::new(path);
    let is_inside = parts.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !is_inside || path.is_empty() || path.contains('\0') {
        return Err(Problem::new(ProblemKind::Usage, format!("not a path inside of the workspace: {path:?}"))
            .hint("write it relative to the workspace, without `..`"));
    }
    Ok(parts)
}

fn explain(door: &Door, input: &UnitInput) -> Result<Answer, Problem> {
    let wanted = door.wanted(input.unit.as_deref())?;
    let (workspace, now) = (door.open()?, door.now());
    let found = find_or_led(&workspace, &wanted, now).map_err(|error| Problem::not_found(&wanted, &error))?;
    let next = next_step(&workspace, &found, workspace.root(), now).render(Audience::Tools);
    let lines = piton_engine::why(&found, now).into_iter();
    let lines: Vec<_> = lines.map(|reason| format!("{}: {}", reason.what, printable(&reason.because))).collect();
    let text = format!("{}\n{}\nnext: {}", found.name, lines.join("\n"), printable(&next));
    let mut document = json::why(&found, now);
    document["next"] = next.into();
    Ok(Answer { document, text })
}

fn show_log(door: &Door, input: &LogInput) -> Result<Answer, Problem> {
    let wanted = door.wanted(input.unit.as_deref())?;
    let workspace = door.open()?;
    let found = log(&workspace, &wanted, door.now()).map_err(|error| Problem::record(&wanted, &error))?;
    let last = found.log.events.last().map_or(0, |entry| entry.seq);
    let text = format!("{}: {}, the last is @{last}", found.unit, counted(found.log.events.len(), "event", "events"));
    Ok(Answer { document: log_page(found, input.offset.unwrap_or(0)), text })
}

/// The newest events but so many, oldest of them first, as many as fit.
pub fn log_page(mut found: UnitLog, offset: usize) -> Value {
    let page = Page { offset, of: found.log.events.len() };
    found.log.events = found.log.events.drain(page.last()).collect();
    page.cut(json::log(&found), "events", Keep::Last)
}

fn dialect(word: DialectWord) -> Dialect {
    match word {
        DialectWord::Pipeline => Dialect::Pipeline,
        DialectWord::Plan => Dialect::Plan,
        DialectWord::Build => Dialect::Build,
        DialectWord::Task => Dialect::Task,
        DialectWord::Crew => Dialect::Crew,
    }
}

fn lifecycle(word: LifecycleWord) -> Lifecycle {
    match word {
        LifecycleWord::Queued => Lifecycle::Queued,
        LifecycleWord::Running => Lifecycle::Running,
        LifecycleWord::Waiting => Lifecycle::Waiting,
        LifecycleWord::Paused => Lifecycle::Paused,
        LifecycleWord::Blocked => Lifecycle::Blocked,
        LifecycleWord::Failed => Lifecycle::Failed,
        LifecycleWord::Done => Lifecycle::Done,
        LifecycleWord::Unknown => Lifecycle::Unknown,
    }
}
