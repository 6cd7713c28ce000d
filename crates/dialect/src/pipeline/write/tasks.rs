//! Tasks are planned, done, left out, or fail.

use piton_model::{Moment, Refusal, StepMove, StepTo};

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
    let mut tasks = Vec::new();
    for task in &moved.steps {
        if !tasks.contains(task) {
            tasks.push(task.clone());
        }
    }
    let (verb, summary) = match moved.to {
        StepTo::Begun => begin(draft, &tasks)?,
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

fn begin(draft: &mut Draft, tasks: &[String]) -> Result<Moved, Refusal> {
    let (completed, remaining) = lists(draft)?;
    match draft.stage {
        Some(0) => {
            let new: Vec<_> = tasks.iter().filter(|task| !remaining.contains(task)).cloned().collect();
            for task in &task_ids(&new)? {
                draft.editor.push_new(&["tasksRemaining"], task);
            }
            let count = draft.list(&["tasksRemaining"])?.len();
            if count > 8 {
                draft.warnings.push(format!("{count} tasks are planned; a story has 1 to 8"));
            }
            Ok(("created", format!("{} planned ({count} tasks)", tasks.join(", "))))
        }
        Some(2) => {
            let is_rework = draft.editor.int(&["reworks"]).unwrap_or(0) > 0;
            for task in tasks.iter().filter(|task| !remaining.contains(task)) {
                if !is_rework {
                    return Err(match completed.contains(task) {
                        true => Refusal::rule(format!("{task} is done already")).hint(next_hint(draft, &remaining)),
                        false => unknown(draft, task, &completed, &remaining),
                    });
                }
                if !completed.contains(task) {
                    task_ids(std::slice::from_ref(task))?;
                }
                // What failed the quality gate is done again, or gets a task of its own.
                let kept: Vec<_> = draft.list(&["tasksCompleted"])?.into_iter().filter(|done| done != task).collect();
                if kept.len() < completed.len() && completed.contains(task) {
                    draft.editor.set(&["tasksCompleted"], kept);
                }
                draft.editor.push_new(&["tasksRemaining"], task);
            }
            Ok(("begun", format!("{} begun ({})", tasks.join(", "), counts(draft))))
        }
        stage => Err(not_here(draft, stage)),
    }
}

fn done(draft: &mut Draft, tasks: &[String]) -> Result<Moved, Refusal> {
    let (completed, remaining) = lists(draft)?;
    if tasks.iter().all(|task| completed.contains(task)) {
        return Ok(("", format!("{} already done ({})", tasks.join(", "), counts(draft))));
    }
    if draft.stage != Some(2) {
        return Err(not_here(draft, draft.stage));
    }
    for task in tasks {
        if !completed.contains(task) && !remaining.contains(task) {
            return Err(unknown(draft, task, &completed, &remaining));
        }
    }
    let left: Vec<_> = remaining.iter().filter(|task| !tasks.contains(task)).cloned().collect();
    draft.editor.set(&["tasksRemaining"], left);
    for task in tasks {
        draft.editor.push_new(&["tasksCompleted"], task);
    }
    Ok(("completed", format!("{} done ({})", tasks.join(", "), counts(draft))))
}

fn skip(draft: &mut Draft, tasks: &[String]) -> Result<Moved, Refusal> {
    let (completed, remaining) = lists(draft)?;
    if !matches!(draft.stage, Some(0 | 2)) {
        return Err(not_here(draft, draft.stage));
    }
    let skipped = draft.list(&["tasksSkipped"])?;
    if let Some(task) = tasks.iter().find(|task| !remaining.contains(task) && !skipped.contains(task)) {
        return Err(match completed.contains(task) {
            true => Refusal::rule(format!("{task} is done already and cannot be left out")),
            false => unknown(draft, task, &completed, &remaining),
        });
    }
    let left: Vec<_> = remaining.iter().filter(|task| !tasks.contains(task)).cloned().collect();
    draft.editor.set(&["tasksRemaining"], left);
    for task in tasks {
        draft.editor.push_new(&["tasksSkipped"], task);
    }
    Ok(("left out", format!("{} left out ({})", tasks.join(", "), counts(draft))))
}

/// A task that failed remains to be done.
fn fail(draft: &mut Draft, tasks: &[String]) -> Result<Moved, Refusal> {
    let (completed, remaining) = lists(draft)?;
    if draft.stage != Some(2) {
        return Err(not_here(draft, draft.stage));
    }
    if let Some(task) = tasks.iter().find(|task| !remaining.contains(task)) {
        return Err(unknown(draft, task, &completed, &remaining));
    }
    Ok(("failed", format!("{} failed, remains ({})", tasks.join(", "), counts(draft))))
}

/// Lists every task once: one that is listed as done and as remaining is not done.
pub(super) fn repaired(draft: &mut Draft) -> Result<String, Refusal> {
    let (completed, remaining) = lists(draft)?;
    let before = completed.len() + remaining.len();
    let mut seen = std::collections::HashSet::new();
    let remaining: Vec<_> = remaining.into_iter().filter(|task| seen.insert(task.clone())).collect();
    let completed: Vec<_> = completed.into_iter().filter(|task| seen.insert(task.clone())).collect();
    if completed.len() + remaining.len() == before {
        return Ok(format!("nothing to repair ({})", counts(draft)));
    }
    draft.editor.set(&["tasksRemaining"], remaining).set(&["tasksCompleted"], completed);
    Ok(format!("lists brought into line ({})", counts(draft)))
}

fn lists(draft: &Draft) -> Result<(Vec<String>, Vec<String>), Refusal> {
    Ok((draft.list(&["tasksCompleted"])?, draft.list(&["tasksRemaining"])?))
}

fn counts(draft: &Draft) -> String {
    let count = |key: &str| draft.editor.strings(&[key]).len();
    let (done, left) = (count("tasksCompleted"), count("tasksRemaining"));
    format!("{done}/{}", done + left)
}

fn not_here(draft: &Draft, stage: Option<u8>) -> Refusal {
    let name = &draft.name;
    let (what, hint) = match stage {
        Some(0) => ("at stage 0 tasks are planned, not executed", format!("piton verdict {name} PLAN --score N")),
        Some(1) => ("at stage 1 a story is validated, not executed", format!("piton verdict {name} GO --score N")),
        Some(3) => ("at stage 3 all tasks are done", format!("piton verdict {name} PASS --score N")),
        _ => ("tasks are executed at stage 2", format!("piton why {name}")),
    };
    Refusal::rule(what).hint(hint)
}

fn unknown(draft: &Draft, task: &str, completed: &[String], remaining: &[String]) -> Refusal {
    let all: Vec<_> = remaining.iter().chain(completed).map(String::as_str).collect();
    let known = if all.is_empty() { "it has none".to_owned() } else { format!("there are: {}", all.join(", ")) };
    Refusal::missing(format!("there is no task {task:?} in {}", draft.name)).hint(known)
}

fn next_hint(draft: &Draft, remaining: &[String]) -> String {
    match remaining.first() {
        Some(task) => format!("what remains: piton step {} done {task}", draft.name),
        None => format!("no task remains: piton stage {} 3", draft.name),
    }
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
