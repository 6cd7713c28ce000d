//! What the epic's README and the feature's STATUS file say about an agent.

use piton_model::{Change, Effect, Hint, Id, Moment, Refusal, State, Unit, text};

use super::{Spot, unit_of};
use crate::crew::{layout, read_epic};
use crate::json::Editor;
use crate::{Files, Source};

/// How much free text a line takes.
const LONGEST: usize = 100;

/// Brings the agent's line in `EPIC_README.md` and the feature's STATUS file up to date, where they are there, and
/// notes in the checkpoint when that was.
pub(super) fn update(
    spot: &Spot,
    files: &dyn Files,
    editor: &mut Editor,
    moment: &Moment,
    warnings: &mut Vec<Hint>,
) -> Result<Vec<Effect>, Refusal> {
    let Some(unit) = unit_of(&spot.path, editor, moment) else { return Ok(Vec::new()) };
    let mut effects = Vec::new();
    let epic = spot.below("EPIC_README.md");
    if let Some(before) = files.read(&epic)? {
        match section_with(&epic, &before, &unit.id, &progress(&unit, moment)) {
            Ok(Some(bytes)) => {
                editor.set(&["coordination_state", "last_epic_readme_update"], moment.now.to_string());
                effects.push(Effect::Share { path: epic, bytes, before: Some(before) });
            }
            Ok(None) => {}
            Err(why) => warnings.push(format!("{why}, so it was not updated: {epic}").into()),
        }
    }
    let Some(feature) = unit.title.as_deref().filter(|feature| Id::parse(feature).is_ok()) else { return Ok(effects) };
    let status = spot.below(&format!("{feature}/STATUS"));
    if let Some(before) = files.read(&status)? {
        match std::str::from_utf8(&before) {
            Ok(old) => {
                editor.set(&["coordination_state", "last_status_update"], moment.now.to_string());
                let bytes = status_text(old, &unit, editor, moment).into_bytes();
                effects.push(Effect::Share { path: status, bytes, before: Some(before) });
            }
            Err(_) => warnings.push(format!("the file is not UTF-8, so it was not updated: {status}").into()),
        }
    }
    Ok(effects)
}

/// Sets the line of another agent in `EPIC_README.md`, on top of what the change does to that file already.
pub(super) fn say(spot: &Spot, files: &dyn Files, agent: &str, says: &str, change: &mut Change) -> Result<(), Refusal> {
    let epic = spot.below("EPIC_README.md");
    let shared = change.effects.iter_mut().find_map(|effect| match effect {
        Effect::Share { path, bytes, .. } if *path == epic => Some(bytes),
        _ => None,
    });
    if let Some(bytes) = shared {
        if let Ok(Some(new)) = section_with(&epic, bytes, agent, says) {
            *bytes = new;
        }
        return Ok(());
    }
    let Some(before) = files.read(&epic)? else { return Ok(()) };
    if let Ok(Some(bytes)) = section_with(&epic, &before, agent, says) {
        change.effects.push(Effect::Share { path: epic, bytes, before: Some(before) });
    }
    Ok(())
}

/// The README with another line in an agent's section; nothing when the agent has no section.
///
/// Of the section only the line that begins with the agent's name changes; it is added at the end when there is none.
pub(in crate::crew) fn section_with(
    path: &str,
    bytes: &[u8],
    agent: &str,
    says: &str,
) -> Result<Option<Vec<u8>>, String> {
    let source = Source { path: path.into(), bytes, modified: None };
    let (sections, _) = read_epic(&source);
    let key = layout::agent_key(agent);
    let mut own = sections.iter().filter(|section| layout::agent_key(section.name) == key);
    let Some(section) = own.next() else { return Ok(None) };
    if own.next().is_some() {
        return Err(format!("{agent} has two sections"));
    }
    let mark = bytes.len() - crate::open_text(&source).0.map_or(0, str::len);
    let line_end = if bytes.windows(2).any(|two| two == b"\r\n") { "\r\n" } else { "\n" };
    let line = format!("{}: {}", one_line(agent), one_line(says));
    let prefix = format!("{agent}: ");
    let mut body = String::new();
    let mut is_there = false;
    for old in section.body.split_inclusive('\n') {
        if !is_there && old.trim_start().starts_with(&prefix) {
            is_there = true;
            body.push_str(&line);
            body.push_str(&old[old.trim_end_matches(['\r', '\n']).len()..]);
        } else {
            body.push_str(old);
        }
    }
    if !is_there {
        if !body.ends_with('\n') {
            body.push_str(line_end);
        }
        body.push_str(&line);
    }
    if !body.ends_with('\n') {
        body.push_str(line_end);
    }
    let (from, to) = (section.span.start + mark, section.span.end + mark);
    Ok(Some([&bytes[..from], body.as_bytes(), &bytes[to..]].concat()))
}

/// Where the agent stands, in a line.
fn progress(unit: &Unit, moment: &Moment) -> String {
    let stage = unit.stage.as_deref().unwrap_or("no stage");
    let current = unit.current.as_deref().unwrap_or("nothing");
    let (done, total) = (unit.progress.done, unit.progress.total);
    format!("{} - {stage}, {done}/{total} steps, {} ({})", unit.status_text, one_line(current), moment.now)
}

/// The STATUS file with new values for the keys that it has.
fn status_text(old: &str, unit: &Unit, editor: &Editor, moment: &Moment) -> String {
    let mut new = String::with_capacity(old.len() + 64);
    for line in old.split_inclusive('\n') {
        let content = line.trim_end_matches(['\r', '\n']);
        let value = content
            .split_once(':')
            .filter(|(key, _)| !key.trim_start().starts_with('#'))
            .and_then(|(key, _)| value_of(key.trim_start_matches('\u{feff}').trim(), unit, editor, moment));
        match (value, content.find(':')) {
            (Some(value), Some(colon)) => {
                new.push_str(&content[..=colon]);
                new.push(' ');
                new.push_str(&value);
                new.push_str(&line[content.len()..]);
            }
            _ => new.push_str(line),
        }
    }
    new
}

/// What a key of the STATUS file says now; nothing for one that is not kept up to date.
fn value_of(key: &str, unit: &Unit, editor: &Editor, moment: &Moment) -> Option<String> {
    let value = match key.to_ascii_uppercase().as_str() {
        "STAGE" => unit.stage.clone()?,
        "PHASE" => editor.string(&["phase"])?,
        "AGENT" => unit.id.clone(),
        "STATUS" => unit.status_text.clone(),
        "UPDATED" | "LAST_UPDATED" | "LAST_UPDATE" => moment.now.to_string(),
        "BLOCKERS" | "BLOCKER" if unit.blockers.is_empty() => "none".to_owned(),
        "BLOCKERS" | "BLOCKER" => unit.blockers.join("; "),
        "NEXT_ACTION" => unit.current.clone()?,
        // An agent that waits may be ready by its own word.
        "READY_FOR_SYNC" => match unit.state {
            State::Done => "true".to_owned(),
            State::Running | State::Blocked => "false".to_owned(),
            State::Queued | State::Waiting | State::Paused { .. } | State::Failed { .. } | State::Unknown => {
                return None;
            }
        },
        _ => return None,
    };
    Some(one_line(&value))
}

/// A text in a line that can neither end a comment nor begin one.
fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("<!--", "<! --").replace("-->", "-- >");
    text::fit(&line, LONGEST).into_owned()
}
