//! New checkpoints: of a task that starts, starts again, is opened again or goes to another agent.

use piton_model::hint::verbs;
use piton_model::{Change, Effect, Event, Id, Lifecycle, Moment, Refusal, Start, State};
use serde_json::{Map, Value, json};

use super::finish::{free_archive, missing};
use super::subtasks::{instructions, instructions_follow, next_open, recount};
use super::{Found, Spot, board, commit, permitted, short};
use crate::Files;
use crate::json::Editor;
use crate::task::layout;
use crate::task::read::Counts;

/// A task starts.
pub(super) fn start(
    spot: &Spot,
    files: &dyn Files,
    start: &Start,
    event: &Event,
    moment: &Moment,
) -> Result<Change, Refusal> {
    check_arguments(start, spot)?;
    check_names(&spot.agent, &spot.task)?;
    let mut change = Change::default();
    let editor = match spot.find(files, moment)? {
        None => fresh(spot, start, moment),
        Some(found) => {
            refuse_over_live(spot, &found, event)?;
            if found.unit.state == State::Done {
                let to = free_archive(spot, files);
                change.effects.push(Effect::Keep { from: spot.path.clone(), to });
                fresh(spot, start, moment)
            } else {
                begin_queued(found, start, moment)
            }
        }
    };
    let total = editor.int(&["subtasks", "total"]).unwrap_or_default();
    change.summary = format!("started (0/{total})");
    commit(spot, files, editor, event, moment, &mut change)?;
    Ok(change)
}

/// A task that was completed, or claims it, is opened for what is missing. Its archive stays as it is.
pub(super) fn reopen(spot: &Spot, files: &dyn Files, event: &Event, moment: &Moment) -> Result<Change, Refusal> {
    let found = match spot.find(files, moment)? {
        Some(found) => found,
        None => match spot.archived(files, moment)? {
            Some(found) => found,
            None => spot.live(files, moment)?,
        },
    };
    let word = crate::task::wire::STATUS.read(&found.unit.status_text).word();
    if word != Some("complete") {
        let name = &spot.unit;
        permitted(spot, &found.unit, event)?;
        return Err(Refusal::rule(format!("{name} does not say that it is complete"))
            .hint(verbs::UNBLOCK.on(name).to("go on with it")));
    }
    let open = missing(&found.editor, &found.unit);
    let mut editor = found.editor;
    let counts = editor.look(Counts::read);
    editor.set(&["status"], "in_progress").set(&["completed_at"], Value::Null).set(&["resumable"], true);
    recount(&mut editor, &counts, counts.total.max(counts.listed));
    let next = next_open(&editor);
    let last = editor.string(&["context", "last_processed"]);
    if let Some(next) = next.filter(|next| last.as_ref() != Some(next)) {
        editor.set(&["context", "next_to_process"], next);
    }
    let mut change = Change { summary: "reopened".into(), ..Change::default() };
    if open.is_empty() {
        change.warnings.push("nothing was missing by its own document".into());
        editor.set(&["resume_instructions"], instructions(&editor));
    } else {
        let open = open.join("; ");
        change.summary = format!("reopened for: {}", short(&open));
        editor.set(&["resume_instructions"], format!("Reopened for what is missing: {open}"));
    }
    commit(spot, files, editor, event, moment, &mut change)?;
    Ok(change)
}

/// The task begins again from nothing; what there was is kept aside.
pub(super) fn restart(
    spot: &Spot,
    files: &dyn Files,
    force: bool,
    event: &Event,
    moment: &Moment,
) -> Result<Change, Refusal> {
    let found = spot.live(files, moment)?;
    permitted(spot, &found.unit, event)?;
    let done = found.unit.progress.done;
    let name = &spot.unit;
    if done > 0 && !force {
        return Err(Refusal::rule(format!("{name} has {done} subtasks done"))
            .hint(verbs::RESUME.on(name).to("go on with it"))
            .hint(verbs::RESTART.on(name).flag("--force").to("give them up, kept aside")));
    }
    let old = found.editor;
    let text = |key: &str| old.string(&[key]);
    let items = old.get(&["subtasks", "items"]).and_then(|items| items.as_array().cloned()).unwrap_or_default();
    let id = |item: &Value| item.get("id").or(Some(item)).and_then(Value::as_str).map(str::to_owned);
    let criteria = old.get(&["acceptance_criteria_met"]).and_then(|met| met.as_object().cloned()).unwrap_or_default();
    let total = old.int(&["subtasks", "total"]).and_then(|total| u64::try_from(total).ok());
    let start = Start {
        title: text("task_title"),
        agent_name: text("agent_name"),
        steps: items.iter().filter_map(id).collect(),
        total,
        criteria: criteria.keys().cloned().collect(),
        estimate_minutes: old.int(&["estimated_minutes"]).and_then(|minutes| u64::try_from(minutes).ok()),
        ..Start::default()
    };
    let to = aside(spot, files, "aborted", moment);
    let mut change = Change { summary: format!("restarted; the old checkpoint is {to}"), ..Change::default() };
    change.effects.push(Effect::Keep { from: spot.path.clone(), to });
    commit(spot, files, fresh(spot, &start, moment), event, moment, &mut change)?;
    Ok(change)
}

/// Another agent goes on with the task, under its own name.
pub(super) fn take_over(
    spot: &Spot,
    files: &dyn Files,
    agent: &str,
    event: &Event,
    moment: &Moment,
) -> Result<Change, Refusal> {
    check_names(agent, &spot.task)?;
    let found = spot.live(files, moment)?;
    permitted(spot, &found.unit, event)?;
    let path = spot.beside(&layout::file_name(agent, &spot.task));
    let unit = format!("{}{agent}/{}", spot.tasks, spot.task);
    let new = Spot { path, agent: agent.to_owned(), archive: None, unit, ..spot.clone() };
    if new.path == spot.path {
        return Err(Refusal::rule(format!("{} belongs to {agent} already", spot.unit))
            .hint(verbs::RESUME.on(&spot.unit).to("go on with it")));
    }
    if files.read(&new.path)?.is_some() {
        return Err(Refusal::rule(format!("{} is there already: {}", new.unit, new.path))
            .hint(verbs::TAKEOVER.on(&spot.unit).filled("--as", "AGENT").to("name another agent")));
    }
    let mut editor = found.editor;
    editor.set(&["checkpoint_id"], checkpoint_id(&new, moment)).set(&["agent"], agent).remove(&["agent_name"]);
    let to = aside(spot, files, "crashed", moment);
    let mut change =
        Change { summary: format!("taken over by {agent}; the old checkpoint is {to}"), ..Change::default() };
    change.effects.push(Effect::Keep { from: spot.path.clone(), to });
    super::update::stamp(&mut editor, event, moment);
    change.effects.push(Effect::Write { path: new.path.clone(), bytes: editor.clone().into_bytes() });
    change.effects.push(Effect::Remove { path: spot.path.clone() });
    change.effects.extend(board::update(spot, files, &editor, &new.path, moment, &mut change.warnings)?);
    Ok(change)
}

/// The checkpoint of a task that begins, with every key of the format in its order.
fn fresh(spot: &Spot, start: &Start, moment: &Moment) -> Editor {
    let now = moment.now.to_string();
    let item = |step: &String| json!({"id": step.trim(), "status": "pending", "output": null});
    let items: Vec<Value> = start.steps.iter().map(item).collect();
    let criteria: Map<String, Value> =
        start.criteria.iter().map(|name| (name.trim().to_owned(), json!(false))).collect();
    let total = start.total.unwrap_or(items.len() as u64).max(items.len() as u64);
    let mut document = Map::new();
    let mut put = |key: &str, value: Value| document.insert(key.to_owned(), value);
    put("checkpoint_id", json!(checkpoint_id(spot, moment)));
    put("agent", json!(spot.agent));
    if let Some(name) = &start.agent_name {
        put("agent_name", json!(name.trim()));
    }
    put("task_id", json!(spot.task));
    put("task_title", json!(start.title.as_deref().unwrap_or(&spot.task).trim()));
    put("status", json!("in_progress"));
    put("progress_percent", json!(0));
    put("started_at", json!(now));
    put("updated_at", json!(now));
    put("completed_at", Value::Null);
    if let Some(minutes) = start.estimate_minutes {
        put("estimated_minutes", json!(minutes));
    }
    put("subtasks", json!({"total": total, "completed": 0, "failed": 0, "items": items}));
    put("files_created", json!([]));
    put("files_modified", json!([]));
    put("acceptance_criteria_met", Value::Object(criteria));
    put("review_scores", json!({}));
    put("errors", json!([]));
    let first = start.steps.first().map(|step| step.trim());
    put("context", json!({"last_processed": null, "next_to_process": first, "notes": null}));
    put("resumable", json!(true));
    put("resume_instructions", json!("Continue with what is open"));
    put("heartbeat", json!({"last_beat": now, "interval_seconds": 300, "status": "alive"}));
    let mut editor = Editor::create(&Value::Object(document));
    editor.set(&["resume_instructions"], instructions(&editor));
    editor
}

/// A task that somebody wrote down and nobody has begun: what is there stays, what is given is added.
fn begin_queued(found: Found, start: &Start, moment: &Moment) -> Editor {
    let mut editor = found.editor;
    let counts = editor.look(Counts::read);
    let now = moment.now.to_string();
    let follows = instructions_follow(&editor);
    editor.set(&["status"], "in_progress").set(&["started_at"], now).set(&["resumable"], true);
    if editor.get(&["completed_at"]).is_some() {
        editor.set(&["completed_at"], Value::Null);
    }
    for (key, value) in [("task_title", &start.title), ("agent_name", &start.agent_name)] {
        if let Some(value) = value {
            editor.set(&[key], value.trim());
        }
    }
    if let Some(minutes) = start.estimate_minutes {
        editor.set(&["estimated_minutes"], minutes);
    }
    let known: Vec<String> = found.unit.steps.iter().map(|step| step.id.clone()).collect();
    for step in start.steps.iter().map(|step| step.trim()).filter(|step| !known.iter().any(|known| known == step)) {
        editor.push(&["subtasks", "items"], json!({"id": step, "status": "pending", "output": null}));
    }
    for name in start.criteria.iter().map(|name| name.trim()) {
        if editor.get(&["acceptance_criteria_met", name]).is_none() {
            editor.set(&["acceptance_criteria_met", name], false);
        }
    }
    let listed = editor.look(Counts::read).listed;
    recount(&mut editor, &counts, start.total.unwrap_or(counts.total).max(listed));
    if follows {
        editor.set(&["resume_instructions"], instructions(&editor));
    }
    editor
}

/// What a task does not know is refused and not dropped.
fn check_arguments(start: &Start, spot: &Spot) -> Result<(), Refusal> {
    let unknown = [
        (start.spec.is_some(), "a specification"),
        (!start.gates.is_empty(), "gates; criteria are named with --criterion"),
        (start.feature.is_some(), "a feature"),
        (start.stage.is_some(), "a stage"),
        (start.agent_type.is_some(), "a type of agent"),
        (start.session.is_some(), "a session"),
    ];
    if let Some((_, what)) = unknown.iter().find(|(is_given, _)| *is_given) {
        return Err(Refusal::usage(format!("a task has no place for {what}"))
            .hint(verbs::START.on(&spot.unit).filled("--title", "TITLE").filled("--total", "N")));
    }
    for (names, what) in [(&start.steps, "subtask"), (&start.criteria, "criterion")] {
        for (place, name) in names.iter().enumerate() {
            let is_twice = names[..place].iter().any(|other| other.trim() == name.trim());
            if name.trim().is_empty() || is_twice {
                return Err(Refusal::usage(format!("each {what} has a name of its own, not {name:?}")));
            }
        }
    }
    match start.total {
        Some(total) if total < start.steps.len() as u64 => {
            Err(Refusal::usage(format!("{} subtasks are named, more than the total of {total}", start.steps.len())))
        }
        Some(total) if total > i64::MAX as u64 => Err(Refusal::usage(format!("{total} subtasks are too many"))),
        Some(_) | None => Ok(()),
    }
}

fn check_names(agent: &str, task: &str) -> Result<(), Refusal> {
    for (what, id) in [("agent", agent), ("task", task)] {
        Id::parse(id).map_err(|why| Refusal::usage(format!("the {what} {id:?} is not an id: {why}")))?;
    }
    let name = layout::file_name(agent, task);
    if layout::archive_number(&name).is_some() {
        return Err(Refusal::usage(format!("{name} would be taken for an archive")));
    }
    // The whole id stands in the document too, with the time behind it.
    let whole = format!("{agent}-{task}-20260101-000000");
    Id::parse(&whole).map(drop).map_err(|why| Refusal::usage(format!("the id {whole:?} cannot be written: {why}")))
}

fn refuse_over_live(spot: &Spot, found: &Found, event: &Event) -> Result<(), Refusal> {
    let (name, there) = (&spot.unit, &found.unit.id);
    if *there != format!("{}/{}", spot.agent, spot.task) {
        return Err(Refusal::document(format!("the file belongs to {there}: {}", spot.path)));
    }
    if matches!(found.unit.state.lifecycle(), Lifecycle::Queued | Lifecycle::Done) {
        return permitted(spot, &found.unit, event);
    }
    let (done, total) = (found.unit.progress.done, found.unit.progress.total);
    let status = short(&found.unit.status_text);
    Err(Refusal::rule(format!("{name} is not finished: {status} ({done}/{total})"))
        .hint(verbs::RESUME.on(name).to("go on with it"))
        .hint(verbs::RESTART.on(name).to("begin again from nothing")))
}

fn checkpoint_id(spot: &Spot, moment: &Moment) -> String {
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    let now = moment.now.to_string();
    let (date, clock) = now.split_once('T').unwrap_or((&now, ""));
    format!("{}-{}-{}-{}", spot.agent, spot.task, digits(date), digits(clock))
}

/// Where a checkpoint is kept that is neither current nor complete: under a name that nobody takes for either.
fn aside(spot: &Spot, files: &dyn Files, why: &str, moment: &Moment) -> String {
    let names = files.list(spot.directory());
    let mut seconds = moment.now.unix_seconds();
    let name = |seconds: i64| format!("{}.json.{why}_{seconds}", spot.stem());
    while names.contains(&name(seconds)) {
        seconds += 1;
    }
    spot.beside(&name(seconds))
}
