//! Who works on a plan: entries of the state's `agents`, and what the log says of helpers.

use piton_model::{Refusal, text::counted};
use serde_json::{Map, Value as NewValue, json};

use super::book::{Book, Boxes};
use super::draft::Draft;
use super::remarks::said;
use super::{Scene, standing, work};

/// Whether an agent was given tasks that it has not completed.
pub(super) fn is_at_work(agents: &Map<String, NewValue>) -> bool {
    agents.values().any(|agent| !open_tasks(agent).is_empty())
}

/// Agents that are recorded at work, each with its open tasks.
pub(in crate::plan) fn workers(agents: &Map<String, NewValue>) -> Vec<(String, Vec<String>)> {
    let open = agents.iter().map(|(name, agent)| (name.clone(), open_tasks(agent)));
    open.filter(|(_, open)| !open.is_empty()).collect()
}

fn texts(agent: &NewValue, key: &str) -> Vec<String> {
    let list = agent.get(key).and_then(NewValue::as_array);
    list.into_iter().flatten().filter_map(|text| Some(text.as_str()?.trim_ascii().to_owned())).collect()
}

fn open_tasks(agent: &NewValue) -> Vec<String> {
    let completed = texts(agent, "completedTasks");
    let mut open = texts(agent, "assignedTasks");
    open.retain(|task| !completed.contains(task));
    open
}

/// The entry of an agent, made when there is none.
fn entry<'d>(draft: &'d mut Draft<'_>, id: &str, kind: &str) -> &'d mut NewValue {
    let entry = draft.agents.entry(id.to_owned()).or_insert(NewValue::Null);
    if !entry.is_object() {
        *entry = json!({"type": kind, "assignedTasks": [], "completedTasks": [], "lastActive": draft.now});
    }
    entry["lastActive"] = json!(draft.now);
    for key in ["assignedTasks", "completedTasks"] {
        if !entry[key].is_array() {
            entry[key] = json!([]);
        }
    }
    entry
}

fn push_new(list: &mut NewValue, id: &str) {
    if let NewValue::Array(list) = list
        && !list.iter().any(|known| known == id)
    {
        list.push(json!(id));
    }
}

/// The kind of an agent that is known by what it calls itself: `subagent:fullstack` is a `fullstack`.
fn kind_of(by: &str) -> &str {
    by.strip_prefix("subagent:").unwrap_or(by)
}

/// Whoever records something lives.
pub(super) fn touch(draft: &mut Draft<'_>) {
    let by = draft.moment.by.clone();
    entry(draft, &by, kind_of(&by));
}

pub(super) fn beat(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    touch(draft);
    draft.summary = "beat".to_owned();
    Ok(())
}

/// Tasks are given to whoever records it.
pub(super) fn assign(draft: &mut Draft<'_>, ids: &[String]) {
    let by = draft.moment.by.clone();
    let entry = entry(draft, &by, kind_of(&by));
    ids.iter().for_each(|id| take_up(entry, id));
}

/// A task that is done and was opened again is not completed any more.
fn take_up(entry: &mut NewValue, id: &str) {
    if let Some(completed) = entry["completedTasks"].as_array_mut() {
        completed.retain(|known| known != id);
    }
    push_new(&mut entry["assignedTasks"], id);
}

/// Tasks are completed, for whoever was given them and for whoever did them.
pub(super) fn complete(draft: &mut Draft<'_>, ids: &[String], by: &str) {
    for (name, agent) in &mut draft.agents {
        let given = texts(agent, "assignedTasks");
        if !agent.is_object() {
            continue;
        }
        for id in ids.iter().filter(|id| given.contains(id)) {
            if !agent["completedTasks"].is_array() {
                agent["completedTasks"] = json!([]);
            }
            push_new(&mut agent["completedTasks"], id);
        }
        if name == by {
            agent["lastActive"] = json!(draft.now);
        }
    }
    let did = entry(draft, by, kind_of(by));
    for id in ids {
        push_new(&mut did["assignedTasks"], id);
        push_new(&mut did["completedTasks"], id);
    }
}

/// Nobody works on anything any more: what was given and not completed is given back.
pub(super) fn release_all(draft: &mut Draft<'_>) -> Vec<String> {
    let mut released = Vec::new();
    for (name, agent) in &mut draft.agents {
        let open = open_tasks(agent);
        if !open.is_empty() {
            agent["assignedTasks"] = json!(texts(agent, "completedTasks"));
            released.push(name.clone());
        }
    }
    released
}

/// Continues a plan. An agent that is still recorded at work has died: whoever resumes was told so before.
pub(super) fn resumed(scene: &mut Scene<'_, '_>) -> Result<(), Refusal> {
    recover(scene.draft, scene.from, scene.book.progress().done);
    let (_, task) = scene.book.position();
    let at = task.map_or_else(String::new, |task| format!(" at {task}"));
    scene.draft.summary = format!("resumed{at} {}", standing(scene.book));
    Ok(())
}

/// A session went away. What its agents were given is free again, as far as anybody knows.
pub(super) fn crashed(draft: &mut Draft<'_>, from: &str, session: &str) -> Result<(), Refusal> {
    let mut keys = vec![("lastKnownState", json!(from)), ("session", json!(session))];
    let dead = release_all(draft);
    if !dead.is_empty() {
        keys.push(("agents", json!(dead)));
    }
    draft.log("session_crash", &keys);
    draft.summary = format!("the session {session} went away without an end");
    Ok(())
}

/// Says where the session goes on from.
pub(super) fn recover(draft: &mut Draft<'_>, from: &str, done: usize) {
    let dead = release_all(draft);
    if !dead.is_empty() {
        draft.log("session_crash", &[("lastKnownState", json!(from)), ("agents", json!(dead))]);
    }
    draft.log("session_recovered", &[("from", json!(from)), ("tasksRestored", json!(done))]);
    draft.own.paused = None;
    draft.summary = "resumed".to_owned();
    touch(draft);
}

pub(super) fn helper_started(
    scene: &mut Scene<'_, '_>,
    kind: &str,
    agent: Option<&str>,
    steps: &[String],
) -> Result<(), Refusal> {
    let kind = said(kind, "a helper needs a type")?;
    check_tasks(scene.book, steps, scene.unit)?;
    let draft = &mut *scene.draft;
    let entry = entry(draft, &name_of(kind, agent), kind);
    steps.iter().for_each(|id| take_up(entry, id));
    let mut keys = vec![("agentType", json!(kind)), ("tasks", json!(steps))];
    keys.extend(agent.map(|agent| ("agentId", json!(agent))));
    draft.log("subagent_started", &keys);
    draft.backup = Some("pre_subagent_spawn".to_owned());
    draft.summary = format!("{kind} started on {}", counted(steps.len(), "task", "tasks"));
    Ok(())
}

/// A helper ended. What it completed is ticked, if it did not do so itself; what it was given besides is free again.
pub(super) fn helper_stopped(
    scene: &mut Scene<'_, '_>,
    kind: &str,
    agent: Option<&str>,
    completed: &[String],
) -> Result<(), Refusal> {
    let kind = said(kind, "a helper needs a type")?;
    let name = name_of(kind, agent);
    let by = format!("subagent:{kind}");
    work::complete_tasks(scene, completed, &by, &[])?;
    let draft = &mut *scene.draft;
    let entry = entry(draft, &name, kind);
    for id in completed {
        push_new(&mut entry["completedTasks"], id);
        push_new(&mut entry["assignedTasks"], id);
    }
    let open: Vec<String> = open_tasks(entry);
    entry["assignedTasks"] = json!(texts(entry, "completedTasks"));
    let mut keys = vec![("agentType", json!(kind)), ("completed", json!(completed.len()))];
    keys.extend(agent.map(|agent| ("agentId", json!(agent))));
    if !open.is_empty() {
        keys.push(("unfinished", json!(open)));
        draft.warnings.push(format!("{kind} stopped before these were done: {}", open.join(", ")).into());
    }
    draft.log("subagent_stopped", &keys);
    draft.summary = format!("{kind} stopped, {} completed {}", completed.len(), standing(scene.book));
    Ok(())
}

fn name_of(kind: &str, agent: Option<&str>) -> String {
    agent.map_or_else(|| format!("subagent:{kind}"), str::to_owned)
}

fn check_tasks(book: &Book<'_>, ids: &[String], unit: &str) -> Result<(), Refusal> {
    book.find(Boxes::Tasks, ids).map(drop).map_err(|id| book.unknown(Boxes::Tasks, id, unit))
}
