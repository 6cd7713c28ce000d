//! What others see of a task: its line in `STATUS.md`, its outbox, and files that two tasks change.

use std::collections::BTreeMap;

use piton_model::{Age, Effect, Event, Hint, Moment, Refusal, Time, text};

use super::Spot;
use crate::json::Editor;
use crate::task::layout::{self, BLOCK_BEGIN, BLOCK_END};
use crate::task::read::names;
use crate::task::{is_ours, managed_block, wire};
use crate::{Files, content, json, time};

/// How many archives are shown in the table; current tasks are all shown.
const MOST_ARCHIVES: usize = 50;

/// A task in the table of `STATUS.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusRow {
    /// The agent.
    pub agent: String,
    /// The task.
    pub task: String,
    /// How much of it is done, in per cent.
    pub percent: i64,
    /// How long ago it was updated; nothing when it was not started.
    pub age: Option<Age>,
    /// Its status, in the protocol's words.
    pub status: String,
}

/// The managed block of `STATUS.md`, the marker comments included, without a line end behind it.
pub fn status_block(rows: &[StatusRow]) -> String {
    let mut block = format!(
        "{BLOCK_BEGIN}\n## Active Checkpoints\n\n| Agent | Task | Progress | Last Update | Status |\n|-------|------|----------|-------------|--------|\n"
    );
    for row in rows {
        let age = row.age.map_or_else(|| "—".to_owned(), ago);
        let (agent, task, status) = (cell(&row.agent), cell(&row.task), cell(&row.status));
        block.push_str(&format!("| {agent} | {task} | {}% | {age} | {status} |\n", row.percent));
    }
    block.push_str(BLOCK_END);
    block
}

/// Brings the block in `STATUS.md` up to date; the file is made when there is none, and nothing but the block changes.
///
/// `spot` is where the task was, and `own` the document that it has now.
pub(super) fn update(
    spot: &Spot,
    files: &dyn Files,
    editor: &Editor,
    own: &str,
    moment: &Moment,
    warnings: &mut Vec<Hint>,
) -> Result<Option<Effect>, Refusal> {
    let path = spot.below("progress/STATUS.md");
    let before = files.read(&path)?;
    let mut tasks = neighbours(spot, files)?;
    tasks.retain(|name, _| layout::live_stem(name) != spot.stem());
    let own_name = own.rsplit('/').next().unwrap_or(own).to_owned();
    tasks.extend(editor.look(|root| Neighbour::read(root, &own_name)).map(|task| (own_name, task)));
    let rows: Vec<StatusRow> = tasks.into_values().map(|task| task.row(moment.now)).collect();
    let block = status_block(&rows);
    let Some(bytes) = before else {
        return Ok(Some(Effect::Share { path, bytes: format!("{block}\n").into_bytes(), before: None }));
    };
    let bad = |why: &str| format!("{why}, so it was not updated: {path}");
    let Ok(old) = std::str::from_utf8(&bytes) else {
        warnings.push(bad("the file is not UTF-8").into());
        return Ok(None);
    };
    let block = if old.contains("\r\n") { block.replace('\n', "\r\n") } else { block };
    let line_end = if old.contains("\r\n") { "\r\n" } else { "\n" };
    let new = match managed_block(old) {
        Ok(Some(span)) => {
            let (from, to) = (span.start - BLOCK_BEGIN.len(), span.end + BLOCK_END.len());
            format!("{}{block}{}", &old[..from], &old[to..])
        }
        Ok(None) => {
            let gap = if old.is_empty() {
                String::new()
            } else if old.ends_with('\n') {
                line_end.to_owned()
            } else {
                line_end.repeat(2)
            };
            format!("{old}{gap}{block}{line_end}")
        }
        Err(found) => {
            warnings.push(bad(found.why).into());
            return Ok(None);
        }
    };
    Ok((new != old).then(|| Effect::Share { path, bytes: new.into_bytes(), before: Some(bytes) }))
}

/// The line that tells the orchestrator how far the task is.
pub(super) fn post(spot: &Spot, percent: i64) -> Effect {
    let path = spot.below(&format!("progress/outbox/{}.md", spot.agent));
    Effect::Append { path, line: format!("@orchestrator: Task {} progress: {percent}%\n", spot.task) }
}

/// What has to be said about files that a step names and another task, not finished either, names too.
pub(super) fn conflicts(spot: &Spot, files: &dyn Files, editor: &Editor, event: &Event) -> Result<Vec<Hint>, Refusal> {
    let Event::StepMoved(moved) = event else { return Ok(Vec::new()) };
    let named: Vec<&str> = moved.files.iter().chain(&moved.outputs).map(|file| normal(file.trim())).collect();
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let own = editor.look(|root| names(root, spot.stem()));
    let mut warnings = Vec::new();
    for task in neighbours(spot, files)?.into_values().filter(Neighbour::is_active) {
        if (&task.agent, &task.task) == (&own.0, &own.1) {
            continue;
        }
        for file in named.iter().filter(|file| task.files.iter().any(|other| normal(other) == **file)) {
            warnings.push(
                format!(
                    "{file:?} is also named by {}/{}, which is not finished: the two may overwrite each other",
                    task.agent, task.task
                )
                .into(),
            );
        }
    }
    Ok(warnings)
}

/// Another task of the same directory, as far as it is shown.
struct Neighbour {
    agent: String,
    task: String,
    percent: i64,
    updated: Option<Time>,
    status: String,
    files: Vec<String>,
}

impl Neighbour {
    fn read(root: json::Value<'_, '_>, file_name: &str) -> Option<Neighbour> {
        if !is_ours(root) {
            return None;
        }
        let (agent, task) = names(root, file_name);
        let said = content::text(root, "status").unwrap_or_default();
        let status = wire::STATUS.read(&said).word().map_or(said, str::to_owned);
        let updated = content::text(root, "updated_at").and_then(|text| time::read(&text).time());
        let percent = root.get("progress_percent").and_then(json::Value::as_int).unwrap_or_default();
        let mut files = content::texts(root, "files_created");
        files.extend(content::texts(root, "files_modified"));
        Some(Neighbour { agent, task, percent, updated, status, files })
    }

    fn is_active(&self) -> bool {
        matches!(self.status.as_str(), "in_progress" | "blocked")
    }

    fn row(self, now: Time) -> StatusRow {
        let is_begun = self.status != "not_started";
        StatusRow {
            agent: self.agent,
            task: self.task,
            percent: self.percent,
            age: self.updated.filter(|_| is_begun).map(|at| at.age(now)),
            status: self.status.replace('_', if is_begun { "_" } else { " " }),
        }
    }
}

/// The tasks of the directory by file name: the current ones, and the last archives of those that have none.
fn neighbours(spot: &Spot, files: &dyn Files) -> Result<BTreeMap<String, Neighbour>, Refusal> {
    let all: Vec<String> = files.list(spot.directory()).into_iter().filter(|name| name.ends_with(".json")).collect();
    let (archives, live): (Vec<_>, Vec<_>) = all.into_iter().partition(|name| layout::archive_number(name).is_some());
    let mut last: BTreeMap<String, String> = BTreeMap::new();
    for name in archives {
        let stem = layout::live_stem(&name).to_owned();
        let is_current = live.iter().any(|live| live.strip_suffix(".json") == Some(&stem));
        let is_newer = last.get(&stem).is_none_or(|old| layout::archive_number(old) < layout::archive_number(&name));
        if !is_current && is_newer {
            last.insert(stem, name);
        }
    }
    let mut found = BTreeMap::new();
    for name in live.into_iter().chain(last.into_values().take(MOST_ARCHIVES)) {
        // A neighbour that cannot be read is told where it is checked, not at every step of others.
        let Ok(Some(bytes)) = files.read(&spot.beside(&name)) else { continue };
        let body = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let Ok(parsed) = std::str::from_utf8(body).map_err(drop).and_then(|text| json::parse(text).map_err(drop))
        else {
            continue;
        };
        if let Some(task) = Neighbour::read(parsed.root(), &name) {
            found.insert(name, task);
        }
    }
    Ok(found)
}

fn ago(age: Age) -> String {
    let minutes = age.0.as_secs() / 60;
    match minutes {
        0 => "just now".to_owned(),
        1..60 => format!("{minutes} min ago"),
        60..2_880 => format!("{} h ago", minutes / 60),
        _ => format!("{} d ago", minutes / 1_440),
    }
}

/// A text as a cell: in one line, without what would end the cell or the block.
fn cell(value: &str) -> String {
    let line = text::printable(value.trim()).replace("<!--", "<! --").replace("-->", "-- >").replace('|', "\\|");
    text::fit(&line, 60).into_owned()
}

fn normal(file: &str) -> &str {
    file.strip_prefix("./").unwrap_or(file)
}
