//! Work on a plan: tasks, phases and acceptance criteria.

use piton_model::hint::verbs;
use piton_model::{Evidence, GateJudgement, Refusal, StepMove, StepTo};
use serde_json::{Value as NewValue, json};

use super::book::{Book, Boxes};
use super::remarks::{said, short};
use super::{Scene, agents, standing};

pub(super) fn step_moved(scene: &mut Scene<'_, '_>, moved: &StepMove) -> Result<(), Refusal> {
    if moved.steps.is_empty() {
        return Err(Refusal::usage("which task?"));
    }
    match moved.to {
        StepTo::Begun => begun(scene, &moved.steps),
        StepTo::Done => done(scene, moved),
        StepTo::Failed => {
            let message = moved.message.as_deref().unwrap_or("");
            for id in &moved.steps {
                task_failed(scene, id, message, &[])?;
            }
            scene.draft.summary = format!("{} failed {}", some(&moved.steps), standing(scene.book));
            Ok(())
        }
        StepTo::Skipped => Err(Refusal::rule("a plan's task cannot be skipped: it is done, or it is open")
            .hint("take the line out of plan.md if it is not to be done")
            .hint(verbs::STEP.on(scene.unit).word("done").name(&moved.steps[0], "STEP").to("or say that it is done"))),
    }
}

fn find(book: &Book<'_>, ids: &[String], unit: &str) -> Result<Vec<usize>, Refusal> {
    book.find(Boxes::Tasks, ids).map_err(|id| book.unknown(Boxes::Tasks, id, unit))
}

fn begun(scene: &mut Scene<'_, '_>, ids: &[String]) -> Result<(), Refusal> {
    for place in find(scene.book, ids, scene.unit)? {
        check_open(scene, place)?;
        scene.draft.credit.begun.insert(scene.book.tasks[place].phase());
    }
    agents::assign(scene.draft, ids);
    for id in ids {
        scene.draft.log("task_started", &[("taskId", json!(id)), ("by", json!(scene.draft.moment.by))]);
    }
    scene.draft.summary = format!("{} begun {}", some(ids), standing(scene.book));
    Ok(())
}

fn check_open(scene: &Scene<'_, '_>, place: usize) -> Result<(), Refusal> {
    let task = &scene.book.tasks[place];
    match task.is_ticked {
        true => Err(Refusal::rule(format!("the task {} is done", scene.book.id(task)))
            .hint("untick its box in plan.md if it is not")),
        false => Ok(()),
    }
}

fn done(scene: &mut Scene<'_, '_>, moved: &StepMove) -> Result<(), Refusal> {
    let by = scene.draft.moment.by.clone();
    let mut more: Vec<(&str, NewValue)> = Vec::new();
    if !moved.outputs.is_empty() {
        more.push(("outputs", json!(moved.outputs)));
    }
    if !moved.files.is_empty() {
        more.push(("files", json!(moved.files)));
    }
    more.extend(moved.next.as_ref().map(|next| ("next", json!(next))));
    more.extend(moved.message.as_ref().map(|message| ("message", json!(message))));
    more.extend(moved.evidence.as_ref().map(|evidence| ("evidence", shown(evidence))));
    let is_news = complete_tasks(scene, &moved.steps, &by, &more)?;
    agents::complete(scene.draft, &moved.steps, &by);
    let word = if is_news { "done" } else { "already done" };
    scene.draft.summary = format!("{} {word} {}", some(&moved.steps), standing(scene.book));
    Ok(())
}

fn shown(evidence: &Evidence) -> NewValue {
    json!({"command": evidence.command, "exitCode": evidence.exit_code, "digest": evidence.digest})
}

/// Ticks tasks, and says who did them. Returns whether any of them was open.
pub(super) fn complete_tasks(
    scene: &mut Scene<'_, '_>,
    ids: &[String],
    by: &str,
    more: &[(&str, NewValue)],
) -> Result<bool, Refusal> {
    let mut is_news = false;
    for (place, id) in find(scene.book, ids, scene.unit)?.into_iter().zip(ids) {
        scene.draft.credit.done_by.insert(place, by.to_owned());
        if scene.book.tasks[place].is_ticked {
            continue;
        }
        is_news = true;
        scene.book.tick(Boxes::Tasks, place, true);
        let mut keys = vec![("taskId", json!(id)), ("by", json!(by))];
        keys.extend(more.iter().cloned());
        scene.draft.log("task_completed", &keys);
    }
    Ok(is_news)
}

fn task_failed(scene: &mut Scene<'_, '_>, id: &str, message: &str, more: &[(&str, NewValue)]) -> Result<(), Refusal> {
    let place = find(scene.book, &[id.to_owned()], scene.unit)?[0];
    check_open(scene, place)?;
    scene.draft.credit.begun.insert(scene.book.tasks[place].phase());
    let mut keys = vec![("taskId", json!(id)), ("by", json!(scene.draft.moment.by))];
    if !message.trim().is_empty() {
        keys.push(("message", json!(message.trim())));
    }
    keys.extend(more.iter().cloned());
    scene.draft.log("task_failed", &keys);
    Ok(())
}

/// Something broke. A plan has no word for that, so it is logged, and told to whoever comes next by the notes.
pub(super) fn failed(
    scene: &mut Scene<'_, '_>,
    step: Option<&str>,
    message: &str,
    file: Option<&str>,
    line: Option<u64>,
) -> Result<(), Refusal> {
    let message = said(message, "a failure needs a message")?;
    let mut more: Vec<(&str, NewValue)> = Vec::new();
    more.extend(file.map(|file| ("file", json!(file))));
    more.extend(line.map(|line| ("line", json!(line))));
    match step {
        Some(step) => {
            task_failed(scene, step, message, &more)?;
            scene.draft.add_note(&format!("{step} failed: {message}"));
            scene.draft.summary = format!("{step} failed: {}", short(message));
        }
        None => {
            let mut keys = vec![("message", json!(message)), ("by", json!(scene.draft.moment.by))];
            keys.append(&mut more);
            scene.draft.log("session_failed", &keys);
            scene.draft.add_note(&format!("failed: {message}"));
            scene.draft.summary = format!("failed: {}", short(message));
        }
    }
    Ok(())
}

/// A phase begins. Its place in the plan decides what is current, so an earlier one that is open is told.
pub(super) fn stage_entered(scene: &mut Scene<'_, '_>, stage: &str) -> Result<(), Refusal> {
    let book = &*scene.book;
    let by_number = stage.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let place = book.phases.iter().position(|id| id == stage).or(by_number.filter(|place| *place < book.phases.len()));
    let Some(place) = place else {
        let known: Vec<&str> = book.phases.iter().take(20).map(String::as_str).collect();
        return Err(Refusal::missing(format!("the plan has no phase {stage:?}"))
            .hint(format!("its phases are: {}", known.join(", "))));
    };
    let counts = book.counts();
    let id = book.phases[place].clone();
    if counts[place].is_complete() {
        return Err(Refusal::rule(format!("the phase {id} is completed")).hint(match book.position() {
            (Some(current), _) => verbs::STAGE.on(scene.unit).name(current, "STAGE").to("the current one"),
            (None, _) => verbs::FINISH.on(scene.unit).to("nothing is left to do"),
        }));
    }
    if let Some(open) = counts[..place].iter().position(|count| !count.is_complete()) {
        scene.draft.warnings.push(format!("the phase {} before it is not completed", book.phases[open]).into());
    }
    scene.draft.credit.begun.insert(place);
    scene.draft.log("phase_started", &[("phaseId", json!(id)), ("by", json!(scene.draft.moment.by))]);
    scene.draft.summary = format!("in {id} ({}/{})", counts[place].done, counts[place].all);
    Ok(())
}

pub(super) fn gate_judged(scene: &mut Scene<'_, '_>, judged: &GateJudgement) -> Result<(), Refusal> {
    if judged.names.is_empty() {
        return Err(Refusal::usage("which criterion?"));
    }
    let found = scene.book.find(Boxes::Criteria, &judged.names);
    let places = found.map_err(|id| scene.book.unknown(Boxes::Criteria, id, scene.unit))?;
    for (place, id) in places.into_iter().zip(&judged.names) {
        scene.draft.credit.judged.insert(place);
        let was_met = scene.book.criteria[place].is_ticked;
        scene.book.tick(Boxes::Criteria, place, judged.passed);
        let event = match (was_met, judged.passed) {
            (true, true) => continue,
            (false, true) => "criterion_met",
            (true, false) => "criterion_lost",
            (false, false) => "criterion_failed",
        };
        let mut keys = vec![("criteriaId", json!(id)), ("by", json!(scene.draft.moment.by))];
        keys.extend(judged.evidence.as_ref().map(|evidence| ("evidence", shown(evidence))));
        scene.draft.log(event, &keys);
    }
    let met = scene.book.criteria.iter().filter(|item| item.is_ticked).count();
    let word = if judged.passed { "met" } else { "not met" };
    scene.draft.summary = format!("{} {word} ({met}/{})", some(&judged.names), scene.book.criteria.len());
    Ok(())
}

/// Ends the plan. Its boxes decide: while one is open it is refused.
pub(super) fn finished(scene: &mut Scene<'_, '_>) -> Result<(), Refusal> {
    let tasks = scene.book.open_ids(Boxes::Tasks);
    let criteria = scene.book.open_ids(Boxes::Criteria);
    if !tasks.is_empty() || !criteria.is_empty() {
        let count = tasks.len() + criteria.len();
        let mut refusal = Refusal::rule(format!("{count} boxes of the plan are open"));
        if let Some(first) = tasks.first() {
            refusal = refusal.hint(format!("open tasks: {}", some(&tasks)));
            refusal = refusal.hint(verbs::STEP.on(scene.unit).word("done").name(first, "STEP"));
        }
        if let Some(first) = criteria.first() {
            refusal = refusal.hint(format!("criteria that are not met: {}", some(&criteria)));
            refusal = refusal.hint(verbs::GATE.on(scene.unit).word("pass").name(first, "NAME"));
        }
        return Err(refusal);
    }
    if scene.book.open_unmarked() > 0 {
        let refusal = Refusal::rule("a box without an id is open");
        return Err(refusal.hint(verbs::PLAN_MARK.on(scene.unit).to("give ids")));
    }
    if scene.draft.own.finished.is_some() {
        scene.draft.summary = format!("already finished {}", standing(scene.book));
        return Ok(());
    }
    agents::release_all(scene.draft);
    scene.draft.own.paused = None;
    scene.draft.own.finished = Some(scene.draft.now.clone());
    scene.draft.log("plan_completed", &[("by", json!(scene.draft.moment.by))]);
    scene.draft.backup = Some("plan_completed".to_owned());
    scene.draft.summary = format!("finished {}", standing(scene.book));
    Ok(())
}

/// Takes the plan up again. What is to be done again only a person can say, in the plan.
pub(super) fn reopened(scene: &mut Scene<'_, '_>) -> Result<(), Refusal> {
    scene.draft.own.finished = None;
    scene.draft.log("plan_reopened", &[("by", json!(scene.draft.moment.by))]);
    scene.draft.warnings.push("every box is ticked: untick in plan.md what is to be done again, or add to it".into());
    scene.draft.summary = format!("reopened {}", standing(scene.book));
    Ok(())
}

/// Some of many ids, for a line.
fn some(ids: &[String]) -> String {
    match ids {
        [a, b, c, _, rest @ ..] => format!("{a}, {b}, {c} and {} more", rest.len() + 1),
        ids => ids.join(", "),
    }
}
