//! A story's checkpoint comes into being, or begins again.

use std::collections::HashSet;

use piton_model::hint::verbs;
use piton_model::{Arg, Id, Lifecycle, Moment, PlannedTask, Refusal, Start};
use serde_json::json;

use super::super::resume::way_on;
use super::super::tasks::{PLANNED, to_json, untitled};
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
    let name = draft.name.clone();
    if let Some(known) = by_state.filter(|known| *known < stage) {
        return Err(Refusal::rule(format!("the lead's state says STAGE_{known}, not stage {stage}"))
            .hint(verbs::START.on(name).with("--stage", Arg::name(&known.to_string(), "STAGE"))));
    }
    if stage == 3 {
        return Err(Refusal::rule("no story starts at stage 3: nothing says which of its tasks are done")
            .hint(verbs::START.on(name).with("--stage", Arg::Word("2")).to("start it with its tasks at stage 2")));
    }
    let tasks = tasks_of(draft, start, stage)?;
    if draft.has_checkpoint {
        draft.archive();
    }
    let session = start.session.as_deref().or(moment.session.as_deref()).unwrap_or(&moment.fresh_id);
    write_new(draft, stage, session, &tasks);
    if let Some(title) = &start.title {
        draft.editor.set(&["title"], title.as_str());
    }
    draft.act(&format!("Stage {stage} started"));
    draft.forget_stages();
    draft.stand(&format!("STAGE_{stage}"))?;
    Ok(format!("started at stage {stage}"))
}

/// The tasks of a story that starts. One whose planning is left out has one task, itself.
fn tasks_of(draft: &Draft, start: &Start, stage: u8) -> Result<Vec<PlannedTask>, Refusal> {
    let ids: Vec<_> = start.tasks.iter().map(|task| task.id.clone()).chain(start.steps.iter().cloned()).collect();
    task_ids(&ids)?;
    let mut tasks = start.tasks.clone();
    tasks.extend(start.steps.iter().cloned().map(untitled));
    if tasks.is_empty() && stage > 0 {
        tasks.push(PlannedTask { id: draft.story.clone(), title: start.title.clone(), description: None });
    }
    Ok(tasks)
}

/// Begins again from nothing: stage 0, no tasks. The old checkpoint is kept.
pub(super) fn restarted(draft: &mut Draft, moment: &Moment) -> Result<String, Refusal> {
    draft.archive();
    let session = moment.session.as_deref().unwrap_or(&moment.fresh_id).to_owned();
    write_new(draft, 0, &session, &[]);
    draft.act("Story restarted at stage 0");
    draft.forget_stages();
    draft.stand("STAGE_0")?;
    Ok("begun again at stage 0".to_owned())
}

fn write_new(draft: &mut Draft, stage: u8, session: &str, tasks: &[PlannedTask]) {
    let ids: Vec<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
    draft.editor = Editor::create(&json!({
        "storyId": draft.story,
        "stage": stage,
        "agentId": session,
        "tasksCompleted": [],
        "tasksRemaining": if stage == 1 { Vec::new() } else { ids },
        "lastAction": "",
        "timestamp": draft.moment.now.to_string(),
    }));
    if !tasks.is_empty() {
        draft.editor.set(&[PLANNED], to_json(tasks));
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
                .hint(verbs::WHY.on(name).to("see how far the others are")))
        }
        // The lead gives a story its stage before the worker writes for the first time, and may pause it before.
        Lifecycle::Queued | Lifecycle::Running | Lifecycle::Paused | Lifecycle::Unknown if !draft.has_checkpoint => {
            Ok(())
        }
        _ => Err(Refusal::rule(format!("a {lifecycle} story cannot be started"))
            .hint(way_on(draft))
            .hint(verbs::RESTART.on(name).to("or begin it again from nothing"))),
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
pub(super) fn task_ids(tasks: &[String]) -> Result<(), Refusal> {
    let mut seen = HashSet::new();
    for task in tasks {
        if let Err(why) = Id::parse(task) {
            return Err(Refusal::usage(format!("{task:?} cannot be the id of a task: {why}")));
        }
        if !seen.insert(task) {
            return Err(Refusal::usage(format!("the task {task} is named twice")));
        }
    }
    Ok(())
}
