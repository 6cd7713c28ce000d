//! Tasks are planned, done, left out, or fail.

use piton_model::hint::verbs;
use piton_model::text::counted;
use piton_model::{Hint, Moment, PlannedTask, Refusal, StepMove, StepTo};

use super::super::resume::next;
use super::super::tasks::{Tasks, untitled};
use super::draft::{Draft, brief, clean};
use super::notes;
use super::start::task_ids;

/// Records that tasks moved.
pub(super) fn moved(draft: &mut Draft, moved: &StepMove, moment: &Moment) -> Result<String, Refusal> {
    if moved.steps.is_empty() {
        return Err(Refusal::usage("name at least one task"));
    }
    if moved.steps.len() > 1 && !(moved.outputs.is_empty() && moved.files.is_empty()) {
        return Err(Refusal::usage("files belong to one task; name it alone"));
    }
    let is_described = moved.title.is_some() || moved.description.is_some();
    if is_described && (moved.to != StepTo::Begun || moved.steps.len() > 1) {
        return Err(Refusal::usage("a title and a description are given with `begin` of one task"));
    }
    let mut tasks = Vec::new();
    for task in &moved.steps {
        if !tasks.contains(task) {
            tasks.push(task.clone());
        }
    }
    let (verb, summary) = match moved.to {
        StepTo::Begun => begin(draft, &tasks, moved)?,
        StepTo::Done => done(draft, &tasks)?,
        StepTo::Skipped => skip(draft, &tasks)?,
        StepTo::Failed => fail(draft, &tasks)?,
    };
    add_files(draft, moved)?;
    let message = moved.message.as_deref().map(clean).filter(|message| !message.is_empty());
    let more = message.map(|message| format!(": {message}")).unwrap_or_default();
    let what = if tasks.len() == 1 { "Task" } else { "Tasks" };
    if !verb.is_empty() {
        draft.act(&format!("{what} {} {verb}{more}", tasks.join(", ")));
    }
    if let Some(evidence) = &moved.evidence {
        for task in &tasks {
            notes::evidence(draft, task, evidence, moment)?;
        }
    }
    Ok(format!("{summary}{}", brief(&more)))
}

/// What happened, as `lastAction` words it (nothing when nothing did), and the summary.
type Moved = (&'static str, String);

fn begin(draft: &mut Draft, tasks: &[String], moved: &StepMove) -> Result<Moved, Refusal> {
    let known = draft.tasks()?;
    let (verb, summary) = match draft.stage {
        Some(0) => {
            add(draft, tasks, &known, "tasksRemaining")?;
            let count = draft.tasks()?.plan.len();
            if count > 8 {
                draft.warnings.push(format!("{count} tasks are planned; a story has 1 to 8").into());
            }
            ("created", format!("{} planned ({})", tasks.join(", "), counted(count, "task", "tasks")))
        }
        // A story of which nobody planned a task is planned late.
        Some(1) if known.is_empty() => ("created", format!("{} planned", tasks.join(", "))),
        Some(2) => {
            let is_rework = draft.editor.int(&["reworks"]).unwrap_or(0) > 0;
            for task in tasks.iter().filter(|task| !known.open.contains(task)) {
                // A task that says what it is for can be added while the others are executed.
                let is_added = moved.title.is_some() && !known.done.contains(task);
                if !is_rework && !known.is_empty() && !is_added {
                    return Err(match known.done.contains(task) {
                        true => Refusal::rule(format!("{task} is done already")).hint(next(draft, &known, 2, true)),
                        false => unknown(draft, task, &known),
                    });
                }
                // What failed the quality gate is done again, or gets a task of its own.
                let completed = draft.list(&["tasksCompleted"])?;
                if completed.contains(task) {
                    let kept: Vec<_> = completed.into_iter().filter(|done| done != task).collect();
                    draft.editor.set(&["tasksCompleted"], kept);
                }
            }
            add(draft, tasks, &known, "tasksRemaining")?;
            if draft.standing().as_deref() == Some("STAGE_3") {
                // The quality gate waits for open tasks.
                draft.stand("STAGE_2")?;
            }
            ("begun", format!("{} begun ({})", tasks.join(", "), counts(draft)?))
        }
        stage => return Err(not_here(draft, stage)),
    };
    describe(draft, tasks, moved)?;
    Ok((verb, summary))
}

/// Adds tasks to a list; new ones must be ids.
fn add(draft: &mut Draft, tasks: &[String], known: &Tasks, list: &str) -> Result<(), Refusal> {
    let is_new = |task: &&String| known.described(task).is_none();
    task_ids(&tasks.iter().filter(is_new).cloned().collect::<Vec<_>>())?;
    for task in tasks {
        draft.editor.push_new(&[list], task);
    }
    Ok(())
}

/// Writes the tasks into the plan, with what is said about them.
fn describe(draft: &mut Draft, tasks: &[String], moved: &StepMove) -> Result<(), Refusal> {
    let mut all = draft.tasks()?;
    for id in tasks {
        if all.described(id).is_none() {
            task_ids(std::slice::from_ref(id))?;
            all.plan.push(untitled(id.clone()));
        }
        let Some(task) = all.plan.iter_mut().find(|task| task.id == *id) else { continue };
        say(task, moved);
    }
    draft.plan(&all);
    Ok(())
}

fn say(task: &mut PlannedTask, moved: &StepMove) {
    let filled =
        |text: &Option<String>| text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
    if let Some(title) = filled(&moved.title) {
        task.title = Some(clean(&title));
    }
    if let Some(description) = filled(&moved.description) {
        task.description = Some(description);
    }
}

fn done(draft: &mut Draft, tasks: &[String]) -> Result<Moved, Refusal> {
    let known = draft.tasks()?;
    if tasks.iter().all(|task| known.done.contains(task)) {
        return Ok(("", format!("{} already done ({})", tasks.join(", "), counts(draft)?)));
    }
    if draft.stage != Some(2) {
        return Err(not_here(draft, draft.stage));
    }
    if let Some(task) = tasks.iter().find(|task| !known.done.contains(task) && !known.open.contains(task)) {
        return Err(unknown(draft, task, &known));
    }
    leave(draft, tasks, "tasksCompleted")?;
    Ok(("completed", format!("{} done ({})", tasks.join(", "), counts(draft)?)))
}

fn skip(draft: &mut Draft, tasks: &[String]) -> Result<Moved, Refusal> {
    let known = draft.tasks()?;
    if !matches!(draft.stage, Some(0 | 2)) {
        return Err(not_here(draft, draft.stage));
    }
    if let Some(task) = tasks.iter().find(|task| !known.open.contains(task) && !known.skipped.contains(task)) {
        return Err(match known.done.contains(task) {
            true => Refusal::rule(format!("{task} is done already and cannot be left out")),
            false => unknown(draft, task, &known),
        });
    }
    let is_left = known.plan.iter().any(|task| !tasks.contains(&task.id));
    if let (false, Some(first)) = (is_left, tasks.first()) {
        let name = &draft.name;
        let hint = match draft.stage {
            Some(0) => {
                verbs::STEP.on(name).word("begin").fill("TASK").filled("--title", "TEXT").to("plan another one first")
            }
            _ => verbs::STEP.on(name).word("done").name(first, "STEP").to("when it is done"),
        };
        return Err(Refusal::rule("a story keeps one task at least").hint(hint));
    }
    leave(draft, tasks, "tasksSkipped")?;
    let rest = draft.tasks()?;
    draft.plan(&rest);
    Ok(("left out", format!("{} left out ({})", tasks.join(", "), counts(draft)?)))
}

/// Moves tasks from those that remain to another list. A task that stood in both lists was not done.
fn leave(draft: &mut Draft, tasks: &[String], to: &str) -> Result<(), Refusal> {
    for key in ["tasksRemaining", "tasksCompleted"] {
        let listed = draft.list(&[key])?;
        let left: Vec<_> = listed.iter().filter(|task| key == to || !tasks.contains(task)).cloned().collect();
        if key == "tasksRemaining" || left != listed {
            draft.editor.set(&[key], left);
        }
    }
    for task in tasks {
        draft.editor.push_new(&[to], task);
    }
    Ok(())
}

/// A task that failed remains to be done.
fn fail(draft: &mut Draft, tasks: &[String]) -> Result<Moved, Refusal> {
    let known = draft.tasks()?;
    if draft.stage != Some(2) {
        return Err(not_here(draft, draft.stage));
    }
    if let Some(task) = tasks.iter().find(|task| !known.open.contains(task)) {
        return Err(unknown(draft, task, &known));
    }
    Ok(("failed", format!("{} failed, remains ({})", tasks.join(", "), counts(draft)?)))
}

/// Lists every task once, and takes away a verdict that the stage does not give.
pub(super) fn repaired(draft: &mut Draft) -> Result<String, Refusal> {
    let Some((completed, remaining, has_verdict)) = to_repair(draft)? else {
        return Ok(format!("nothing to repair ({})", counts(draft)?));
    };
    draft.editor.set(&["tasksRemaining"], remaining).set(&["tasksCompleted"], completed);
    if has_verdict {
        draft.editor.remove(&["verdict"]);
    }
    Ok(format!("lists brought into line ({})", counts(draft)?))
}

/// How what is wrong at stage 2 beside open tasks is mended: by a repair, or by the person who wrote it.
pub(in super::super) fn mend(draft: &Draft) -> Hint {
    match to_repair(draft) {
        Ok(Some(_)) => verbs::REPAIR.on(&draft.name).to("bring its lists of tasks into line"),
        _ => verbs::CHECK.call().path(&draft.path).to("see what is wrong with its checkpoint"),
    }
}

/// Lists of tasks that are brought into line: completed, remaining, and whether a verdict is left over.
type Repair = (Vec<String>, Vec<String>, bool);

/// The lists with every task once: one that is listed as done and as remaining is not done. And whether a verdict is
/// left over. Nothing when all is in line.
fn to_repair(draft: &Draft) -> Result<Option<Repair>, Refusal> {
    let (completed, remaining) = (draft.list(&["tasksCompleted"])?, draft.list(&["tasksRemaining"])?);
    let before = completed.len() + remaining.len();
    let mut seen = std::collections::HashSet::new();
    let remaining: Vec<_> = remaining.into_iter().filter(|task| seen.insert(task.clone())).collect();
    let completed: Vec<_> = completed.into_iter().filter(|task| seen.insert(task.clone())).collect();
    let has_verdict = matches!(draft.stage, Some(0 | 2)) && draft.editor.get(&["verdict"]).is_some();
    let is_in_line = completed.len() + remaining.len() == before && !has_verdict;
    Ok((!is_in_line).then_some((completed, remaining, has_verdict)))
}

fn counts(draft: &Draft) -> Result<String, Refusal> {
    let tasks = draft.tasks()?;
    Ok(format!("{}/{}", tasks.done.len(), tasks.done.len() + tasks.open.len()))
}

fn not_here(draft: &Draft, stage: Option<u8>) -> Refusal {
    let tasks = draft.tasks().unwrap_or_default();
    let what = match stage {
        Some(0) => "at stage 0 tasks are planned, not executed",
        Some(1) => "at stage 1 a story is validated, not executed",
        Some(3) if tasks.open.is_empty() => "at stage 3 all tasks are done",
        _ => "tasks are executed at stage 2",
    };
    match stage {
        Some(3) if !tasks.open.is_empty() => Refusal::rule(what).hint(verbs::STAGE.on(&draft.name).word("2")),
        Some(stage) => Refusal::rule(what).hint(next(draft, &tasks, stage, true)),
        None => draft.no_stage(),
    }
}

fn unknown(draft: &Draft, task: &str, known: &Tasks) -> Refusal {
    let all: Vec<_> = known.open.iter().chain(&known.done).map(String::as_str).collect();
    let known = if all.is_empty() { "it has none".to_owned() } else { format!("there are: {}", all.join(", ")) };
    Refusal::missing(format!("there is no task {task:?} in {}", draft.name)).hint(known)
}

/// Keeps the files of a task by its id.
fn add_files(draft: &mut Draft, moved: &StepMove) -> Result<(), Refusal> {
    let [task] = moved.steps.as_slice() else { return Ok(()) };
    for file in moved.outputs.iter().chain(&moved.files) {
        draft.expect_object("taskFiles")?;
        draft.list(&["taskFiles", task])?;
        draft.editor.push_new(&["taskFiles", task], file);
    }
    Ok(())
}
