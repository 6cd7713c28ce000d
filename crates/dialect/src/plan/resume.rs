//! How a plan is continued: what its text says is done, and what its state adds.

use piton_model::hint::verbs;
use piton_model::text::{counted, fit, printable};
use piton_model::{Dialect, Hint, Moment, Names, Percent, Refusal, ResumeAction, ResumeMode, ResumePlan};
use serde_json::Value as NewValue;

use super::Mark;
use super::layout::{self, Paths};
use super::own::Own;
use super::write::{Book, Boxes, Ground, Search, Texts, find_ground, to_new, workers};
use crate::json::{Json, Value};
use crate::{Files, Place, content};

/// How many decisions and blockers the resume block repeats, the newest ones.
const SHOWN: usize = 10;

/// Says how the plan is continued. Reads only.
pub fn resume(
    place: &Place,
    files: &dyn Files,
    mode: Option<ResumeMode>,
    moment: &Moment,
) -> Result<ResumePlan, Refusal> {
    let paths = layout::paths(place);
    let texts = Texts::read(&paths, files)?;
    let (book, found) = texts.parse(&paths)?;
    let ground = match find_ground(&texts, found, &paths, book.as_ref(), &moment.now.to_string()) {
        Ok(ground) => ground,
        Err(refusal) => {
            let reasons = std::iter::once(refusal.message.into()).chain(refusal.hints).collect();
            return Ok(ResumePlan { reasons, ..refused() });
        }
    };
    Ok(on_ground(&paths, &place.unit(Dialect::Plan), book.as_ref(), &ground, mode))
}

/// Says how a plan is continued that was read.
pub(super) fn on_ground(
    paths: &Paths,
    unit: &str,
    book: Option<&Book<'_>>,
    ground: &Ground<'_>,
    mode: Option<ResumeMode>,
) -> ResumePlan {
    let mut plan = match book {
        Some(book) => from_book(book, unit),
        None => from_state(ground, paths),
    };
    let root = ground.json.as_ref().map(Json::root);
    let own = root.map(Own::read).unwrap_or_default();
    let mut reasons = doubts(ground, book, root, &own);
    if let (Some(ResumeMode::Restart), ResumeAction::Continue) = (mode, plan.action) {
        reasons.push("a plan has nothing to restart: its boxes say what is done".into());
    }
    plan.reasons.splice(0..0, reasons);
    if plan.action != ResumeAction::Refuse {
        plan.block = Some(context(paths, book, root, &own, &plan));
    }
    plan.instructions = own.instructions;
    plan
}

fn refused() -> ResumePlan {
    ResumePlan {
        action: ResumeAction::Refuse,
        position: String::new(),
        next: Hint::text(""),
        done: Names::default(),
        remaining: Names::default(),
        reasons: Vec::new(),
        block: None,
        instructions: Vec::new(),
        outputs: Vec::new(),
    }
}

fn from_book(book: &Book<'_>, unit: &str) -> ResumePlan {
    let done = [Boxes::Tasks, Boxes::Criteria].map(|boxes| book.items(boxes).iter().filter(|item| item.is_ticked));
    let done = done.into_iter().flatten().map(|item| book.id(item)).collect();
    let plan = ResumePlan { done, ..refused() };
    if !book.is_marked() {
        let reason = match book.unmarked_boxes() {
            0 => "the plan has no checkboxes".to_owned(),
            boxes => {
                format!("none of the plan's {boxes} checkboxes has an id")
            }
        };
        let mark = verbs::PLAN_MARK.on(unit).to("give its checkboxes ids");
        return ResumePlan { reasons: vec![reason.into(), mark], ..plan };
    }
    let (Some(phase), task) = book.position() else {
        if book.open_unmarked() > 0 {
            let reason = "every box with an id is ticked, and one without an id is open".to_owned();
            return ResumePlan { reasons: vec![reason.into(), verbs::PLAN_MARK.on(unit).to("give ids")], ..plan };
        }
        let reason = "every task is done and every criterion is met; nothing is left to do".to_owned();
        let again = verbs::REOPEN.on(unit).to("untick in plan.md what is to be done again, then");
        return ResumePlan { reasons: vec![reason.into(), again], ..plan };
    };
    let remaining = remaining(book);
    let next = match (task, remaining.first()) {
        (Some(task), _) => verbs::STEP
            .on(unit)
            .word("done")
            .name(task, "STEP")
            .to(format!("do the task {task} of the phase {phase}, then")),
        (None, Some(criterion)) => verbs::GATE
            .on(unit)
            .word("pass")
            .name(criterion, "NAME")
            .to(format!("verify the acceptance criterion {criterion} of the phase {phase}, then")),
        (None, None) => Hint::text(""),
    };
    let position = task.map_or_else(|| phase.to_owned(), |task| format!("{phase} · {task}"));
    ResumePlan { action: ResumeAction::Continue, position, next, remaining, ..plan }
}

/// Open tasks and criteria by phase, the current phase first.
fn remaining(book: &Book<'_>) -> Names {
    let (tasks, criteria) = (book.items(Boxes::Tasks), book.items(Boxes::Criteria));
    // Tasks come first, and within a phase the order of the plan stays.
    let mut open: Vec<&Mark> = tasks.iter().chain(criteria).filter(|item| !item.is_ticked).collect();
    open.sort_by_key(|item| item.phase());
    open.into_iter().map(|item| book.id(item)).collect()
}

/// Without a readable plan the last known state says where it stood.
fn from_state(ground: &Ground<'_>, paths: &Paths) -> ResumePlan {
    let mut plan = ResumePlan { action: ResumeAction::Continue, ..refused() };
    let Some(root) = ground.json.as_ref().map(Json::root) else { return refused() };
    for (_, phase) in root.get("phases").into_iter().flat_map(Value::entries) {
        for (id, task) in phase.get("tasks").into_iter().flat_map(Value::entries) {
            let id = id.as_str().unwrap_or_default();
            match task.get("done").and_then(Value::as_bool) {
                Some(true) => plan.done.extend([id]),
                Some(false) | None => plan.remaining.extend([id]),
            }
        }
    }
    let known = ["currentPhase", "currentTask"].map(|key| content::text(root, key));
    plan.position = known.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    plan.next = format!("restore the plan first: git restore {}", paths.plan).into();
    plan
}

/// What whoever resumes has to know before anything is believed.
fn doubts(ground: &Ground<'_>, book: Option<&Book<'_>>, root: Option<Value<'_, '_>>, own: &Own) -> Vec<Hint> {
    let mut doubts = ground.warnings.clone();
    if !ground.is_current && ground.from == "state.json" {
        doubts.push("plan.md has changed since its state was written; the plan is right".into());
    }
    if let (Some(book), Some(root)) = (book, root) {
        let regressed = regressed(book, root);
        if !regressed.is_empty() {
            let some = regressed.iter().take(SHOWN).map(|id| fit(&printable(id), 60).into_owned()).collect::<Vec<_>>();
            doubts.push(
                format!("progress went backwards: done before, open in the plan now: {}", some.join(", ")).into(),
            );
        }
    }
    if own.paused.is_some() {
        doubts.push("it was paused".into());
    }
    let blockers = all_blockers(book, own).len();
    if blockers > 0 {
        doubts.push(counted(blockers, "blocker is recorded", "blockers are recorded").into());
    }
    if let Some(NewValue::Object(agents)) = root.and_then(|root| root.get("agents")).map(to_new) {
        let at_work = workers(&agents);
        doubts.extend(at_work.iter().take(SHOWN).map(|(name, open)| {
            format!("the agent {} was at work on {}", printable(name), printable(&open.join(", "))).into()
        }));
    }
    doubts
}

fn regressed(book: &Book<'_>, root: Value<'_, '_>) -> Vec<String> {
    let phases = root.get("phases").into_iter().flat_map(Value::entries);
    let tasks = phases.filter_map(|(_, phase)| phase.get("tasks")).flat_map(Value::entries);
    let mut search = Search::new(book, Boxes::Tasks);
    let mut is_open = |id| search.find(id).is_some_and(|place| !book.tasks[place].is_ticked);
    let was_done = |task: Value<'_, '_>| task.get("done").and_then(Value::as_bool) == Some(true);
    let regressed = tasks.filter(|(id, task)| is_open(*id) && was_done(*task));
    regressed.filter_map(|(id, _)| Some(id.as_str()?.into_owned())).collect()
}

fn all_blockers(book: Option<&Book<'_>>, own: &Own) -> Vec<String> {
    let mut blockers = book.map(Book::blockers).unwrap_or_default();
    let recorded: Vec<_> = own.blockers.iter().filter(|blocker| !blockers.contains(blocker)).cloned().collect();
    blockers.extend(recorded);
    blockers
}

/// The context that the protocol asks for at the start of a session.
fn context(
    paths: &Paths,
    book: Option<&Book<'_>>,
    root: Option<Value<'_, '_>>,
    own: &Own,
    plan: &ResumePlan,
) -> String {
    let (_, id) = layout::id(&paths.directory);
    let (done, all) = match book.map(Book::progress) {
        Some(count) => (count.done, count.all),
        None => (plan.done.len(), plan.done.len() + plan.remaining.len()),
    };
    let share = Percent::of(done as u64, all as u64);
    let mut lines = vec![
        format!("PLAN RESUME: {id}"),
        format!("plan: {}", paths.plan),
        format!("progress: {done}/{all} tasks ({share}%)"),
        format!("position: {}", printable(&plan.position)),
    ];
    if let Some(book) = book {
        let counts = book.counts();
        lines.extend(
            book.phases
                .iter()
                .zip(counts)
                .take(5 * SHOWN)
                .map(|(phase, count)| format!("phase {phase}: {}/{}", count.done, count.all)),
        );
    }
    // Text of others stays on its own line, in quotes.
    let quoted = |what: &str, text: &str| format!("{what}: \"{}\"", fit(&printable(text), 200).replace('"', "'"));
    let decisions: Vec<String> = root
        .and_then(|root| root.get("decisions"))
        .into_iter()
        .flat_map(Value::items)
        .filter_map(content::as_sentence)
        .collect();
    lines.extend(decisions.iter().rev().take(SHOWN).rev().map(|decision| quoted("decision", decision)));
    lines.extend(all_blockers(book, own).iter().take(SHOWN).map(|blocker| quoted("blocker", blocker)));
    lines
        .extend(root.and_then(|root| content::text(root, "sessionNotes")).map(|notes| quoted("session notes", &notes)));
    lines.push(String::new());
    lines.join("\n")
}
