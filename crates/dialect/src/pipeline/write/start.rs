//! A story's checkpoint comes into being, or begins again.

use std::collections::HashSet;

use piton_model::{Id, Lifecycle, Moment, Refusal, Start};
use serde_json::json;

use super::draft::{Draft, clean};
use super::stages::parse_stage;
use crate::json::Editor;

/// Makes the checkpoint of a story that has none, or begins one anew that is done.
pub(super) fn started(draft: &mut Draft, start: &Start, moment: &Moment) -> Result<String, Refusal> {
    refuse_what_is_unknown(start)?;
    refuse_where_it_stands(draft)?;
    let standing = draft.standing();
    let by_state = standing.as_deref().and_then(|word| word.strip_prefix("STAGE_")?.parse::<u8>().ok());
    let stage = match &start.stage {
        Some(typed) => parse_stage(typed)?,
        None => by_state.unwrap_or(0),
    };
    if let Some(known) = by_state.filter(|known| *known != stage) {
        return Err(Refusal::rule(format!("the lead's state says STAGE_{known}, not stage {stage}"))
            .hint(format!("piton start {} --stage {known}", draft.name)));
    }
    if stage == 3 && !start.steps.is_empty() {
        return Err(Refusal::usage("at stage 3 no task is left; tasks are named up to stage 2"));
    }
    let tasks = task_ids(&start.steps)?;
    if draft.has_checkpoint {
        draft.archive();
    }
    let session = start.session.as_deref().or(moment.session.as_deref()).unwrap_or(&moment.fresh_id);
    write_new(draft, stage, session, &tasks);
    if let Some(title) = &start.title {
        draft.editor.set(&["title"], title.as_str());
    }
    draft.act(&format!("Stage {stage} started"));
    draft.stand(&format!("STAGE_{stage}"))?;
    Ok(format!("started at stage {stage}"))
}

/// Begins again from nothing: stage 0, no tasks. The old checkpoint is kept.
pub(super) fn restarted(draft: &mut Draft, moment: &Moment) -> Result<String, Refusal> {
    draft.archive();
    let session = moment.session.as_deref().unwrap_or(&moment.fresh_id).to_owned();
    write_new(draft, 0, &session, &[]);
    draft.act("Story restarted at stage 0");
    draft.stand("STAGE_0")?;
    Ok("begun again at stage 0".to_owned())
}

fn write_new(draft: &mut Draft, stage: u8, session: &str, tasks: &[String]) {
    let remaining = if stage == 1 { &[] } else { tasks };
    draft.editor = Editor::create(&json!({
        "storyId": draft.story,
        "stage": stage,
        "agentId": session,
        "tasksCompleted": [],
        "tasksRemaining": remaining,
        "lastAction": "",
        "timestamp": draft.moment.now.to_string(),
    }));
    if stage == 1 && !tasks.is_empty() {
        draft.editor.set(&["plannedTasks"], tasks.to_vec());
    }
    draft.stage = Some(stage);
    draft.await_results();
}

fn refuse_where_it_stands(draft: &Draft) -> Result<(), Refusal> {
    let Some(unit) = &draft.unit else { return Ok(()) };
    let name = &draft.name;
    let lifecycle = unit.state.lifecycle();
    match lifecycle {
        Lifecycle::Done => Ok(()),
        Lifecycle::Queued | Lifecycle::Blocked if !draft.has_checkpoint && !unit.blockers.is_empty() => {
            Err(Refusal::rule(format!("it cannot start yet: {}", clean(&unit.blockers.join(", "))))
                .hint(format!("see how far the others are: piton why {name}")))
        }
        // The lead gives a story its stage before the worker writes for the first time.
        Lifecycle::Queued | Lifecycle::Running | Lifecycle::Unknown if !draft.has_checkpoint => Ok(()),
        _ => Err(Refusal::rule(format!("a {lifecycle} story cannot be started"))
            .hint(format!("go on with it: piton resume {name}"))
            .hint(format!("or begin it again from nothing: piton restart {name}"))),
    }
}

fn refuse_what_is_unknown(start: &Start) -> Result<(), Refusal> {
    let given = [
        (start.spec.is_some(), "specification"),
        (!start.gates.is_empty(), "gates to be named"),
        (!start.criteria.is_empty(), "acceptance criteria"),
        (start.total.is_some(), "total"),
        (start.agent_name.is_some(), "agent name"),
        (start.feature.is_some(), "feature"),
        (start.agent_type.is_some(), "agent type"),
        (start.estimate_minutes.is_some(), "estimate"),
    ];
    match given.iter().find(|(is_given, _)| *is_given) {
        Some((_, what)) => Err(Refusal::usage(format!("a story has no {what}"))
            .hint("it takes --stage, --session, --title and --step for each task")),
        None => Ok(()),
    }
}

/// Tasks that were typed: each an id, none twice.
pub(super) fn task_ids(tasks: &[String]) -> Result<Vec<String>, Refusal> {
    let mut seen = HashSet::new();
    for task in tasks {
        if let Err(why) = Id::parse(task) {
            return Err(Refusal::usage(format!("{task:?} cannot be the id of a task: {why}")));
        }
        if !seen.insert(task) {
            return Err(Refusal::usage(format!("the task {task} is named twice")));
        }
    }
    Ok(tasks.to_vec())
}
