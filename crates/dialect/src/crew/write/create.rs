//! New checkpoints: of an agent that starts, starts again or takes over from another.

use std::time::Duration;

use piton_model::hint::verbs;
use piton_model::{Arg, Change, Effect, Event, Lifecycle, Moment, Refusal, Start, Time, Unit};
use serde_json::{Value, json};

use super::backup::{self, Found, Origin};
use super::{INTERVAL, Spot, checked_id, commit, companions, permitted, write};
use crate::crew::{layout, mail, wire};
use crate::json::Editor;
use crate::{Files, time};

/// Work of which less is recorded is begun again without asking twice.
const LITTLE: Duration = Duration::from_secs(30 * 60);

/// What an agent has done when it writes its first checkpoint.
const FIRST_STEPS: [&str; 3] = ["Received handoff package", "Verified epic path", "Created checkpoint file"];

/// What a fresh checkpoint is about.
struct Fresh<'a> {
    agent: &'a str,
    agent_type: &'a str,
    session: &'a str,
    feature: &'a str,
    stage: &'static str,
    steps: &'a [String],
}

/// An agent starts.
pub(super) fn start(
    spot: &Spot,
    files: &dyn Files,
    start: &Start,
    event: &Event,
    moment: &Moment,
) -> Result<Change, Refusal> {
    check_arguments(start, spot)?;
    let agent = checked_agent(&spot.agent)?;
    let Some(feature) = start.feature.as_deref() else {
        return Err(Refusal::usage("an agent starts with a feature")
            .hint(verbs::START.on(&spot.unit).filled("--feature", "FEATURE").with("--stage", Arg::Word("S2.P1"))));
    };
    let feature = checked_id("the feature", feature)?;
    let stage = match &start.stage {
        Some(stage) => wire::stage_named(stage).ok_or_else(|| unknown_stage(stage))?,
        None => wire::STAGES[0],
    };
    let agent_type = agent_type(agent, start.agent_type.as_deref())?;
    let session = start.session.as_deref().filter(|text| !text.trim().is_empty()).unwrap_or(&moment.fresh_id);
    let fresh = Fresh { agent, agent_type, session, feature: feature.as_str(), stage, steps: &start.steps };
    let editor = fresh.editor(spot, files, moment);
    let mut change = Change { summary: format!("started {feature} at {stage}"), ..Change::default() };
    match files.read(&spot.path)? {
        None => {}
        Some(bytes) if backup::is_torn(&bytes) && backup::newest_whole(spot, files)?.is_none() => {
            let to = backup::archive(spot, files, "aborted", moment);
            change.warnings.push(format!("the old checkpoint was unreadable and is kept as {to}").into());
            change.effects.push(Effect::Keep { from: spot.path.clone(), to });
        }
        Some(_) if start.replaces => {
            let to = backup::archive(spot, files, "aborted", moment);
            change.summary = format!("{}; the old one is {to}", change.summary);
            change.effects.push(Effect::Keep { from: spot.path.clone(), to });
        }
        Some(_) => {
            let found = spot.found(files, moment)?;
            refuse_over_live(spot, &found, event)?;
            change.warnings = found.warnings();
            return commit(spot, files, &found, editor, moment, change);
        }
    }
    let mut editor = editor;
    write(spot, files, &mut editor, moment, &mut change)?;
    Ok(change)
}

/// The agent's feature begins again from nothing.
pub(super) fn restart(
    spot: &Spot,
    files: &dyn Files,
    force: bool,
    event: &Event,
    moment: &Moment,
) -> Result<Change, Refusal> {
    let found = spot.found(files, moment)?;
    permitted(spot, &found.unit, event)?;
    let (agent, unit) = (&spot.agent, &spot.unit);
    if !force && found.origin == Origin::Document && !is_little(spot, files, &found)? {
        return Err(Refusal::rule(format!("{agent} has recorded 30 minutes of work or more"))
            .hint(verbs::RESUME.on(unit).to("continue it"))
            .hint(verbs::TAKEOVER.on(unit).filled("--as", "AGENT").to("let another agent continue"))
            .hint(verbs::RESTART.on(unit).flag("--force").to("give it up, archived")));
    }
    let old = |key: &str| found.editor.string(&[key]).filter(|text| !text.trim().is_empty());
    let Some(feature) = old("feature") else {
        let message = format!("the checkpoint does not say which feature it is about: {}", spot.path);
        return Err(Refusal::document(message).hint("write its feature into the checkpoint, then restart it"));
    };
    let id = old("agent_id").unwrap_or_else(|| agent.clone());
    let kind = old("agent_type").and_then(|text| wire::AGENT_TYPE.read(&text).word());
    let fresh = Fresh {
        agent: &id,
        agent_type: kind.unwrap_or_else(|| type_of(&id)),
        session: &moment.fresh_id,
        feature: &feature,
        stage: wire::STAGES[0],
        steps: &[],
    };
    let mut editor = fresh.editor(spot, files, moment);
    let to = backup::archive(spot, files, "aborted", moment);
    let mut change = Change {
        summary: format!("restarted {feature} at {}; the old one is {to}", wire::STAGES[0]),
        ..Change::default()
    };
    change.effects.push(Effect::Keep { from: spot.path.clone(), to });
    write(spot, files, &mut editor, moment, &mut change)?;
    Ok(change)
}

/// Another agent goes on with the feature; it may have the same id.
pub(super) fn take_over(
    spot: &Spot,
    files: &dyn Files,
    agent: &str,
    event: &Event,
    moment: &Moment,
) -> Result<Change, Refusal> {
    let agent = checked_agent(agent)?;
    let found = spot.found(files, moment)?;
    permitted(spot, &found.unit, event)?;
    let is_same = layout::agent_key(agent) == layout::agent_key(&found.unit.id);
    let new = if is_same {
        spot.clone()
    } else {
        let (path, unit) = (spot.beside(&layout::file_name(agent)), format!("{}{agent}", spot.crew));
        Spot { path, agent: agent.to_owned(), unit, ..spot.clone() }
    };
    if new.path != spot.path && files.read(&new.path)?.is_some() {
        return Err(Refusal::rule(format!("{agent} has a checkpoint of its own: {}", new.path))
            .hint(verbs::TAKEOVER.on(&spot.unit).filled("--as", "AGENT").to("name an agent that has none")));
    }
    let to = backup::archive(spot, files, "crashed", moment);
    let mut change = Change { warnings: found.warnings(), ..Change::default() };
    if found.editor.get(&["can_resume"]) == Some(json!(false)) {
        change.warnings.push(format!("{} said that its work cannot be resumed from here", found.unit.id).into());
    }
    let mut editor = found.editor.clone();
    let id = if is_same { found.unit.id.clone() } else { agent.to_owned() };
    editor.set(&["agent_id"], id.as_str());
    editor.set(&["agent_type"], type_of(&id));
    editor.set(&["session_id"], moment.fresh_id.as_str());
    let status = if found.unit.blockers.is_empty() { "IN_PROGRESS" } else { "BLOCKED" };
    editor.set(&["status"], status).set(&["can_resume"], true);
    editor.remove(&["waiting_reason"]).remove(&[crate::crew::standing::PAUSED_BY]);
    editor.set(&["coordination_state", "last_inbox_check"], moment.now.to_string());
    editor.set(&["coordination_state", "unread_messages"], mail::unread(files, &new.base, &id));
    change.summary = format!("taken over by {id}; the old checkpoint is {to}");
    change.effects.push(Effect::Keep { from: spot.path.clone(), to });
    write(&new, files, &mut editor, moment, &mut change)?;
    if new.path != spot.path {
        change.effects.push(Effect::Remove { path: spot.path.clone() });
        companions::say(spot, files, &found.unit.id, &format!("taken over by {id}"), &mut change)?;
    }
    Ok(change)
}

impl Fresh<'_> {
    /// The checkpoint, with every key of the format in its order.
    fn editor(&self, spot: &Spot, files: &dyn Files, moment: &Moment) -> Editor {
        let (now, stage) = (moment.now.to_string(), self.stage);
        let phase = wire::phase_of(stage);
        let steps: Vec<String> = if self.steps.is_empty() { first_next_steps(stage) } else { self.steps.to_vec() };
        let current = match self.steps.first() {
            Some(first) => first.clone(),
            None => format!("Reading {stage} guide"),
        };
        Editor::create(&json!({
            "agent_id": self.agent,
            "agent_type": self.agent_type,
            "session_id": self.session,
            "feature": self.feature,
            "stage": stage,
            "phase": format!("{phase} - Starting"),
            "last_checkpoint": now,
            "next_checkpoint_expected": moment.now.after(INTERVAL).to_string(),
            "status": "IN_PROGRESS",
            "can_resume": true,
            "blockers": [],
            "files_modified": [],
            "recovery_instructions": first_instructions(stage),
            "current_step": current,
            "completed_steps": FIRST_STEPS,
            "next_steps": steps,
            "coordination_state": {
                "last_inbox_check": now,
                "unread_messages": mail::unread(files, &spot.base, self.agent),
                "last_epic_readme_update": now,
                "last_status_update": now,
            },
        }))
    }
}

/// What whoever resumes is told when nothing was done yet.
pub(super) fn first_instructions(stage: &str) -> String {
    let phase = wire::phase_of(stage);
    format!("Just started {stage}. No work done yet. Start from beginning of {stage} {phase} guide.")
}

/// What an agent does first in a stage.
pub(super) fn first_next_steps(stage: &str) -> Vec<String> {
    let mut steps = vec![format!("Read {stage} guide")];
    if stage == wire::STAGES[0] {
        steps.extend(["Phase 0: Discovery Context Review", "Phase 1: Targeted Research"].map(str::to_owned));
    }
    steps
}

pub(super) fn unknown_stage(stage: &str) -> Refusal {
    Refusal::usage(format!("{stage:?} is not a stage")).hint(format!("the stages are {}", wire::STAGES.join(", ")))
}

/// What a crew does not know is refused and not dropped.
fn check_arguments(start: &Start, spot: &Spot) -> Result<(), Refusal> {
    let unknown = [
        (start.title.is_some(), "a title"),
        (start.spec.is_some(), "a specification"),
        (!start.gates.is_empty(), "gates"),
        (!start.criteria.is_empty(), "criteria"),
        (start.total.is_some(), "a total"),
        (start.agent_name.is_some(), "an agent name"),
        (start.estimate_minutes.is_some(), "an estimate"),
    ];
    match unknown.iter().find(|(is_given, _)| *is_given) {
        Some((_, what)) => Err(Refusal::usage(format!("an agent of a crew has no place for {what}"))
            .hint(verbs::START.on(&spot.unit).filled("--feature", "FEATURE").with("--stage", Arg::Word("S2.P1")))),
        None => Ok(()),
    }
}

/// An agent whose checkpoint is neither taken for an archive nor climbs out of its directory.
fn checked_agent(agent: &str) -> Result<&str, Refusal> {
    checked_id("the agent", agent)?;
    let stem = layout::stem_of(agent);
    if layout::archive_owner(&stem).is_some() {
        return Err(Refusal::usage(format!("the agent {agent:?} is named like an archive")));
    }
    Ok(agent)
}

fn agent_type<'a>(agent: &str, typed: Option<&str>) -> Result<&'a str, Refusal> {
    let Some(typed) = typed else { return Ok(type_of(agent)) };
    wire::AGENT_TYPE
        .read(typed)
        .word()
        .ok_or_else(|| Refusal::usage(format!("{typed:?} is not a type of agent")).hint("primary or secondary"))
}

fn type_of(agent: &str) -> &'static str {
    if agent.to_ascii_lowercase().contains("primary") { "primary" } else { "secondary" }
}

fn refuse_over_live(spot: &Spot, found: &Found, event: &Event) -> Result<(), Refusal> {
    let Unit { id, status_text, title, stage, .. } = &found.unit;
    if matches!(found.unit.state.lifecycle(), Lifecycle::Done | Lifecycle::Queued) {
        return permitted(spot, &found.unit, event);
    }
    let feature = title.as_deref().unwrap_or("its feature");
    let stage = stage.as_deref().unwrap_or("an unknown stage");
    let unit = &spot.unit;
    Err(Refusal::rule(format!("{id} is not finished: {status_text} with {feature} at {stage}"))
        .hint(verbs::RESUME.on(unit).to("continue it"))
        .hint(verbs::RESTART.on(unit).to("begin again from nothing")))
}

/// Whether less than 30 minutes of work are recorded: nothing was done yet, or the first backup is that young.
fn is_little(spot: &Spot, files: &dyn Files, found: &Found) -> Result<bool, Refusal> {
    let is_first = |step: &Value| FIRST_STEPS.iter().any(|first| step == first);
    let steps = found.editor.get(&["completed_steps"]);
    let nothing_done = steps.is_none_or(|steps| steps.as_array().is_some_and(|steps| steps.iter().all(is_first)));
    if nothing_done && found.unit.files.is_empty() {
        return Ok(true);
    }
    let last = |editor: &Editor| editor.string(&["last_checkpoint"]).and_then(|text| time::read(&text).time());
    let Some((bytes, is_cut)) = backup::oldest(spot, files)? else { return Ok(false) };
    let first = Editor::open(&spot.path, &bytes).ok().as_ref().and_then(last);
    let (Some(first), Some(last)) = (first, last(&found.editor)) else { return Ok(false) };
    Ok(!is_cut && lasted(first, last) < LITTLE)
}

fn lasted(first: Time, last: Time) -> Duration {
    first.age(last).0
}
