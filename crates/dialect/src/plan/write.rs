//! What events change in a plan's files. Everything here decides; nothing acts.
//!
//! `plan.md` gets nothing but ticks in boxes, and ids when they are asked for. Decisions, blockers and notes go to the
//! state: free text in `plan.md` could hold the end of a comment or a marker, and the file belongs to people.

mod agents;
mod beside;
mod book;
mod draft;
mod ground;
mod mark;
mod matches;
mod phases;
mod remarks;
mod sheet;
mod splice;
mod work;

use piton_model::hint::verbs;
use piton_model::{Change, Dialect, Event, Lifecycle, Moment, Refusal, Start, permit};
use serde_json::json;

use self::agents::is_at_work;
pub(super) use self::agents::workers;
pub(super) use self::book::{Book, Boxes};
use self::draft::Draft;
pub(super) use self::ground::{Ground, Texts, find as find_ground};
pub(super) use self::matches::Search;
use self::remarks::Plan;
pub(super) use self::splice::to_new;
use super::layout::{self, Paths};
use crate::json::Value;
use crate::{Files, Place};

/// The documents whose every version is kept, `plan.md` first.
pub fn documents(place: &Place, files: &dyn Files) -> Vec<String> {
    let paths = layout::paths(place);
    let phase_files = files.list(&paths.directory).into_iter().filter(|name| layout::is_phase_file(name));
    let phase_files = phase_files.map(|name| format!("{}/{name}", paths.directory));
    let mut documents = vec![paths.plan.clone()];
    documents.extend(phase_files);
    documents.extend([paths.state, paths.recovery]);
    documents
}

/// Decides what an event changes. Pure: the same input gives the same output.
///
/// Before the event itself the state is brought into line with the plan, by the protocol's error cascades.
pub fn record(place: &Place, files: &dyn Files, event: &Event, moment: &Moment) -> Result<Change, Refusal> {
    let paths = layout::paths(place);
    let unit = place.unit(Dialect::Plan);
    let texts = Texts::read(&paths, files)?;
    let (book, found) = texts.parse(&paths)?;
    let now = moment.now.to_string();
    let ground = find_ground(&texts, found, &paths, book.as_ref(), &now)?;
    let mut draft = Draft::open(ground.json.as_ref(), moment);
    let Some(mut book) = book else {
        without_plan(&mut draft, &ground, event, &paths, &unit)?;
        return Ok(draft.finish(&paths, &place.root, ground, None));
    };
    if *event == Event::Marked {
        return mark::mark(book, draft, &paths, place, ground);
    }
    check_marked(&book, event, &unit)?;
    let is_first = ground.json.is_none();
    // A plan that has no checkpoint yet can be started however much of it is done.
    if !(is_first && matches!(event, Event::Started(_))) {
        permit(Dialect::Plan, &unit, lifecycle(&book, &draft), event)?;
    }
    if is_first {
        let (_, id) = layout::id(&paths.directory);
        draft.log("checkpoint_created", &[("planId", json!(id))]);
    }
    remarks::forget_old_blockers(&mut draft, &ground, &book);
    happen(&mut Scene { book: &mut book, draft: &mut draft, unit: &unit, is_first, from: ground.from }, event)?;
    Ok(draft.finish(&paths, &place.root, ground, Some(book)))
}

/// Everything that an event may look at and change.
struct Scene<'s, 'a> {
    book: &'s mut Book<'a>,
    draft: &'s mut Draft<'a>,
    /// The plan as commands name it.
    unit: &'s str,
    /// Whether there was no state before.
    is_first: bool,
    /// What the state was read from.
    from: &'static str,
}

fn happen(scene: &mut Scene<'_, '_>, event: &Event) -> Result<(), Refusal> {
    match event {
        Event::Started(start) => started(scene, start),
        Event::StepMoved(moved) => work::step_moved(scene, moved),
        Event::StageEntered { stage, .. } => work::stage_entered(scene, stage),
        Event::GateJudged(judged) => work::gate_judged(scene, judged),
        Event::VerdictGiven(_) => {
            let refusal = Refusal::rule("a plan has no verdicts, it has acceptance criteria");
            let open = scene.book.items(Boxes::Criteria).iter().find(|item| !item.is_ticked);
            Err(match open.map(|item| scene.book.id(item)) {
                Some(id) => refusal.hint(verbs::GATE.on(scene.unit).word("pass").name(id, "NAME").to("judge them")),
                None => refusal.hint(verbs::STATUS.on(scene.unit).to("see what there is")),
            })
        }
        Event::Blocked { message, kind } => remarks::blocked(scene.draft, message, kind.as_deref()),
        Event::Unblocked { which, answer } => {
            remarks::unblocked(scene.draft, Plan::Read(scene.book), which.as_deref(), answer.as_deref())
        }
        Event::Paused { reason } => remarks::paused(scene.draft, reason.as_deref()),
        Event::Failed { step, message, file, line } => {
            work::failed(scene, step.as_deref(), message, file.as_deref(), *line)
        }
        Event::Noted { text, purpose } => remarks::noted(scene.draft, text, *purpose),
        Event::CriteriaDropped { .. } => Err(Refusal::usage("only a task has criteria that its list may drop")),
        Event::ExecutionNoted(_) => Err(Refusal::usage("only a build lists fixes and cleanups")),
        Event::Decided { text, reason } => remarks::decided(scene.draft, text, reason.as_deref()),
        Event::Beat => agents::beat(scene.draft),
        Event::Finished => work::finished(scene),
        Event::Resumed { .. } => agents::resumed(scene),
        Event::TakenOver { .. } | Event::Restarted { .. } => {
            Err(Refusal::rule("a plan is neither taken over nor begun again: its boxes say what is done"))
        }
        Event::Reopened => work::reopened(scene),
        Event::Repaired => repaired(scene),
        Event::BackedUp { reason } => remarks::backed_up(scene.draft, reason),
        Event::HelperStarted { kind, agent, steps } => agents::helper_started(scene, kind, agent.as_deref(), steps),
        Event::HelperStopped { kind, agent, completed } => {
            agents::helper_stopped(scene, kind, agent.as_deref(), completed)
        }
        Event::Checkpointed { reason, note } => remarks::checkpointed(scene.draft, reason, note.as_deref()),
        Event::Crashed { session } => agents::crashed(scene.draft, scene.from, session),
        Event::FilesTouched { .. } | Event::ToolFailed { .. } => {
            Err(Refusal::usage(format!("a plan does not record `{}`", event.name())))
        }
        // It is handled before: a plan without markers is what it is for.
        Event::Marked => Ok(()),
    }
}

/// What can be recorded while `plan.md` cannot be read: everything that touches no box.
fn without_plan(
    draft: &mut Draft<'_>,
    ground: &Ground<'_>,
    event: &Event,
    paths: &Paths,
    unit: &str,
) -> Result<(), Refusal> {
    let named = ground.json.as_ref().map(|json| crate::content::texts(json.root(), "blockers")).unwrap_or_default();
    let named: Vec<String> = named.into_iter().filter(|blocker| !draft.own.blockers.contains(blocker)).collect();
    match event {
        Event::Blocked { message, kind } => remarks::blocked(draft, message, kind.as_deref()),
        Event::Unblocked { which, answer } => {
            let text = Plan::Unreadable { blockers: named };
            remarks::unblocked(draft, text, which.as_deref(), answer.as_deref())
        }
        Event::Paused { reason } => remarks::paused(draft, reason.as_deref()),
        Event::Noted { text, purpose } => remarks::noted(draft, text, *purpose),
        Event::CriteriaDropped { .. } => Err(Refusal::usage("only a task has criteria that its list may drop")),
        Event::ExecutionNoted(_) => Err(Refusal::usage("only a build lists fixes and cleanups")),
        Event::Decided { text, reason } => remarks::decided(draft, text, reason.as_deref()),
        Event::Beat => agents::beat(draft),
        Event::BackedUp { reason } => remarks::backed_up(draft, reason),
        Event::Checkpointed { reason, note } => remarks::checkpointed(draft, reason, note.as_deref()),
        Event::Crashed { session } => agents::crashed(draft, ground.from, session),
        Event::Repaired => {
            draft.summary = format!("kept as it was, from {}", ground.from);
            Ok(())
        }
        Event::Resumed { .. } => {
            let done = ground.json.as_ref().map_or(0, |json| tasks_done(json.root()));
            agents::recover(draft, ground.from, done);
            Ok(())
        }
        Event::Started(_)
        | Event::StepMoved(_)
        | Event::StageEntered { .. }
        | Event::GateJudged(_)
        | Event::VerdictGiven(_)
        | Event::Failed { .. }
        | Event::Finished
        | Event::TakenOver { .. }
        | Event::Restarted { .. }
        | Event::Reopened
        | Event::HelperStarted { .. }
        | Event::HelperStopped { .. }
        | Event::FilesTouched { .. }
        | Event::ToolFailed { .. }
        | Event::Marked => Err(Refusal::document(format!("the plan is missing or is not UTF-8 text: {}", paths.plan))
            .hint(verbs::REPAIR.on(unit).to("bring back what was recorded last"))
            .hint(format!("or restore it: git restore {}", paths.plan))),
    }
}

/// How many tasks a state has as done.
fn tasks_done(state: Value<'_, '_>) -> usize {
    let phases = state.get("phases").into_iter().flat_map(Value::entries);
    let tasks = phases.filter_map(|(_, phase)| phase.get("tasks")).flat_map(Value::entries);
    tasks.filter(|(_, task)| task.get("done").and_then(Value::as_bool) == Some(true)).count()
}

fn started(scene: &mut Scene<'_, '_>, start: &Start) -> Result<(), Refusal> {
    let Start { title, spec, steps, gates, criteria, total, feature, stage, agent_type, .. } = start;
    let others = title.is_some() || spec.is_some() || total.is_some() || feature.is_some() || stage.is_some();
    let lists = !steps.is_empty() || !gates.is_empty() || !criteria.is_empty();
    if others || lists || agent_type.is_some() {
        return Err(Refusal::usage("a plan takes its title, tasks and criteria from plan.md alone")
            .hint(verbs::START.on(scene.unit).to("start it without options")));
    }
    if is_at_work(&scene.draft.agents) && !scene.is_first {
        return Err(Refusal::rule("an agent is recorded at work on the plan")
            .hint(verbs::RESUME.on(scene.unit).to("continue it")));
    }
    scene.draft.own.paused = None;
    if !scene.is_first {
        scene.draft.log("session_started", &[("by", json!(scene.draft.moment.by))]);
    }
    agents::touch(scene.draft);
    scene.draft.summary = format!("started {}", standing(scene.book));
    let boxes = scene.book.unmarked_boxes();
    if boxes > 0 {
        scene.draft.warnings.push(
            verbs::PLAN_MARK
                .on(scene.unit)
                .to(format!("{boxes} checkboxes have no id and are not counted; give them one")),
        );
    }
    Ok(())
}

fn repaired(scene: &mut Scene<'_, '_>) -> Result<(), Refusal> {
    // Whoever tells that the plan was edited has edited it.
    scene.draft.credit.seen_by = Some(scene.draft.moment.by.clone());
    scene.draft.summary = format!("in line with plan.md {}", standing(scene.book));
    Ok(())
}

/// How much is done, as a command shows it.
fn standing(book: &Book<'_>) -> String {
    let count = book.progress();
    format!("({}/{})", count.done, count.all)
}

/// A plan without any marked box can be talked about, but not worked on.
fn check_marked(book: &Book<'_>, event: &Event, unit: &str) -> Result<(), Refusal> {
    let needs_boxes = matches!(
        event,
        Event::Started(_)
            | Event::StepMoved(_)
            | Event::StageEntered { .. }
            | Event::GateJudged(_)
            | Event::Finished
            | Event::Resumed { .. }
            | Event::Reopened
    );
    if book.is_marked() || !needs_boxes {
        return Ok(());
    }
    Err(match book.unmarked_boxes() {
        0 => Refusal::rule("the plan has no checkboxes").hint("write tasks as `- [ ] text <!-- TASK: id -->`"),
        boxes => Refusal::rule(format!("none of the plan's {boxes} checkboxes has an id"))
            .hint(verbs::PLAN_MARK.on(unit).to("give them ids")),
    })
}

/// Where the plan stands, by the rules of the reader.
fn lifecycle(book: &Book<'_>, draft: &Draft<'_>) -> Lifecycle {
    let is_done = book.counts().iter().all(|count| count.is_complete());
    let is_blocked =
        !draft.own.blockers.is_empty() || book.sheets.iter().any(|sheet| !sheet.parsed.blockers.is_empty());
    match () {
        () if !book.is_marked() => Lifecycle::Unknown,
        () if is_done && book.open_unmarked() == 0 => Lifecycle::Done,
        () if draft.own.paused.is_some() => Lifecycle::Paused,
        () if is_blocked => Lifecycle::Blocked,
        () if book.progress().done == 0 && !is_at_work(&draft.agents) => Lifecycle::Queued,
        () => Lifecycle::Running,
    }
}

#[cfg(test)]
mod tests;
