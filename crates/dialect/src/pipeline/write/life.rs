//! A story is blocked, paused, continued, finished.

use piton_model::fleet::StageResult;
use piton_model::hint::verbs;
use piton_model::text::are_counted;
use piton_model::{Moment, Refusal, State};
use serde_json::{Value as NewValue, json};

use super::super::judge::Judgement;
use super::super::resume::{next, way_on};
use super::draft::{Draft, brief, clean};
use super::stages::back_to_work;
use super::{stages, verdicts};

/// Records what blocks the story.
pub(super) fn blocked(
    draft: &mut Draft,
    message: &str,
    kind: Option<&str>,
    moment: &Moment,
) -> Result<String, Refusal> {
    if message.trim().is_empty() {
        return Err(Refusal::usage("say what blocks it: --message TEXT"));
    }
    let mut entry = json!({ "message": message });
    if let Some(kind) = kind {
        entry["type"] = kind.into();
    }
    entry["timestamp"] = moment.now.to_string().into();
    entry["by"] = moment.by.as_str().into();
    draft.add_entry("blockedBy", entry)?;
    draft.act(&format!("Blocked: {}", clean(message)));
    Ok(format!("blocked: {}", brief(message)))
}

/// Takes blockers away. Without one that is named the story goes on, too, where it is paused, called done without being
/// finished, or where only a person understands where it stands.
pub(super) fn unblocked(draft: &mut Draft, which: Option<&str>) -> Result<String, Refusal> {
    let list = match draft.editor.get(&["blockedBy"]) {
        Some(NewValue::Array(list)) => list,
        None | Some(NewValue::Null) => Vec::new(),
        Some(other) => vec![other],
    };
    let is_it = |(place, entry): (usize, &NewValue)| match which {
        None => true,
        Some(which) => which == (place + 1).to_string() || entry["message"].as_str() == Some(which),
    };
    let kept: Vec<_> = list.iter().enumerate().filter(|pair| !is_it(*pair)).map(|(_, entry)| entry.clone()).collect();
    if let Some(which) = which.filter(|_| kept.len() == list.len()) {
        return Err(Refusal::missing(format!("nothing is blocked by {which:?}"))
            .hint(format!("there {}, numbered from 1", are_counted(list.len(), "blocker", "blockers"))));
    }
    let left = kept.len();
    match kept.is_empty() {
        true => draft.editor.remove(&["blockedBy"]),
        false => draft.editor.set(&["blockedBy"], kept),
    };
    let state = draft.unit.as_ref().map(|unit| unit.state.clone());
    let is_called_done = draft.standing().as_deref() == Some("DONE") || list.is_empty();
    match state {
        Some(State::Paused { .. } | State::Unknown) if which.is_none() => unpause(draft, "Continued after a pause"),
        Some(State::Blocked) if which.is_none() && is_called_done => take_up(draft, "Unblocked"),
        _ if list.is_empty() => Ok("nothing blocks it".to_owned()),
        _ => {
            draft.act("Unblocked");
            Ok(if left == 0 { "unblocked".to_owned() } else { format!("unblocked, {left} left") })
        }
    }
}

/// Pauses the story; where it stood and why is kept with it.
pub(super) fn paused(draft: &mut Draft, reason: Option<&str>) -> Result<String, Refusal> {
    let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
    pause(draft, reason)?;
    match reason {
        Some(reason) => {
            draft.act(&format!("Paused: {}", clean(reason)));
            Ok(format!("paused: {}", brief(reason)))
        }
        None => {
            draft.act("Paused");
            Ok("paused".to_owned())
        }
    }
}

/// A story has no state for a failure: it is paused until a person has looked at it.
pub(super) fn failed(
    draft: &mut Draft,
    step: Option<&str>,
    message: &str,
    file: Option<&str>,
    line: Option<u64>,
) -> Result<String, Refusal> {
    if message.trim().is_empty() {
        return Err(Refusal::usage("say what failed: --message TEXT"));
    }
    if let Some(step) = step {
        let tasks = draft.tasks()?;
        let known: Vec<_> = tasks.open.into_iter().chain(tasks.done).collect();
        if !known.iter().any(|task| task == step) {
            return Err(Refusal::missing(format!("there is no task {step:?} in {}", draft.name))
                .hint(format!("there are: {}", known.join(", "))));
        }
    }
    let place = match (file, line) {
        (Some(file), Some(line)) => format!(" ({file}:{line})"),
        (Some(file), None) => format!(" ({file})"),
        (None, _) => String::new(),
    };
    let task = step.map(|step| format!("{step}: ")).unwrap_or_default();
    let what = clean(&format!("{task}{}{place}", message.trim()));
    pause(draft, Some(&what))?;
    let stage = draft.stage.unwrap_or(0);
    let action = format!("Stage {stage} ERROR for {}: {what}", draft.story);
    draft.act(&action);
    Ok(format!("paused by an error: {}", brief(&what)))
}

fn pause(draft: &mut Draft, reason: Option<&str>) -> Result<(), Refusal> {
    // A second pause does not hide where the first one came from.
    if draft.editor.string(&["pausedFrom"]).is_none() || !is_paused(draft) {
        let standing = draft.standing().filter(|word| word != "PAUSED");
        let from = standing.unwrap_or_else(|| draft.stage_word());
        draft.editor.set(&["pausedFrom"], from);
    }
    match reason {
        Some(reason) => draft.editor.set(&["pauseReason"], reason),
        None => draft.editor.remove(&["pauseReason"]),
    };
    draft.stand("PAUSED")
}

fn is_paused(draft: &Draft) -> bool {
    draft.unit.as_ref().is_some_and(|unit| matches!(unit.state, State::Paused { .. }))
}

/// Goes on where the story was paused. A person decided that: where the lead's state and the checkpoint differ, the
/// checkpoint counts, and the retries are granted anew.
fn unpause(draft: &mut Draft, action: &str) -> Result<String, Refusal> {
    if draft.stage.is_none() {
        return Err(draft.no_stage());
    }
    let of_pause = draft.editor.string(&["pausedFrom"]).filter(|from| fits(draft, from));
    let from = of_pause.unwrap_or_else(|| draft.stage_word());
    draft.stand(&from)?;
    draft.unpause();
    draft.forget_counts();
    let is_same_stage = from == draft.stage_word();
    if is_same_stage && halts(draft) {
        // What it was paused for is judged again.
        draft.shelve()?;
        draft.await_results();
    }
    draft.act(action);
    Ok(format!("continued at {from}"))
}

/// Whether a story may go on from there with its checkpoint: equal, or one behind.
fn fits(draft: &Draft, word: &str) -> bool {
    let stage = stage_of(word);
    let is_rework = stage == Some(2) && draft.stage == Some(3) && verdicts::word(draft) == Some("FAIL");
    stage.is_some() && (stage == draft.stage || stage == draft.stage.map(|written| written + 1) || is_rework)
}

/// The number in a word such as `STAGE_2`.
fn stage_of(word: &str) -> Option<u8> {
    word.strip_prefix("STAGE_")?.parse().ok().filter(|stage| *stage <= 3)
}

/// Whether the checkpoint holds a result for which a lead pauses a story.
fn halts(draft: &Draft) -> bool {
    let score = draft.editor.get(&["planScore"]).and_then(|score| score.as_f64());
    match draft.stage {
        Some(0) => score.is_some_and(|score| score < 2.0),
        Some(1) => verdicts::word(draft) == Some("NO-GO"),
        Some(3) => verdicts::word(draft) == Some("FAIL"),
        _ => false,
    }
}

/// Records that a worker continues the story. When the lead has moved it on, its new stage begins.
pub(super) fn resumed(draft: &mut Draft) -> Result<String, Refusal> {
    let is_blocked = draft.checkpoint.as_ref().is_some_and(|checkpoint| !checkpoint.blockers.is_empty());
    if let Some(unit) = draft.unit.as_ref().filter(|unit| is_blocked || unit.state == State::Blocked) {
        return Err(Refusal::rule(format!("it is blocked: {}", brief(&unit.blockers.join(", ")))).hint(way_on(draft)));
    }
    if draft.standing().as_deref() == Some("PAUSED") && draft.editor.string(&["pausedFrom"]).is_none() {
        return Err(
            Refusal::rule("it is PAUSED, and nothing says where it came from; a person decides").hint(way_on(draft))
        );
    }
    if is_misfit(draft) {
        return Err(Refusal::rule("its checkpoint does not fit the lead's state; a person decides").hint(way_on(draft)));
    }
    if is_paused(draft) {
        unpause(draft, "Resumed after a pause")?;
    }
    draft.name_agent();
    let tasks = draft.tasks()?;
    let wanted = draft.standing().as_deref().and_then(stage_of).or(draft.stage);
    // What is open is done before the quality is judged.
    let stage = if wanted == Some(3) && !tasks.open.is_empty() { Some(2) } else { wanted };
    if tasks.is_empty() && stage >= Some(2) {
        return Err(draft.no_tasks(stage.unwrap_or(2)));
    }
    if let Some(stage) = stage.filter(|_| stage != wanted) {
        draft.stand(&format!("STAGE_{stage}"))?;
    }
    match (draft.stage, stage) {
        (Some(written), Some(stage)) if written != stage => {
            draft.enter(stage)?;
            draft.act(&format!("Stage {stage} started"));
            Ok(format!("resumed, stage {stage} begins"))
        }
        (stage, _) => {
            let forgets = draft.checkpoint.as_ref().is_some_and(|checkpoint| !checkpoint.dropped.is_empty());
            if stage == Some(3) && forgets {
                // Its tasks are listed again now; the verdict of a review that forgot some is given again too.
                draft.shelve()?;
                draft.await_results();
            }
            Ok(format!("resumed at stage {}", stage.unwrap_or(0)))
        }
    }
}

/// Whether checkpoint and state do not fit each other, and no pause of ours explains that.
pub(super) fn is_misfit(draft: &Draft) -> bool {
    match draft.standing().as_deref() {
        None | Some("PAUSED") => false,
        Some(word) => draft.has_checkpoint && !fits(draft, word),
    }
}

/// Another worker has the story now.
pub(super) fn taken_over(draft: &mut Draft, agent: &str) -> Result<String, Refusal> {
    let agent = clean(agent);
    if agent.is_empty() {
        return Err(Refusal::usage("say who takes it over: --as AGENT"));
    }
    draft.editor.set(&["agentId"], agent.as_str());
    draft.act(&format!("Taken over by {agent}"));
    Ok(format!("taken over by {}", brief(&agent)))
}

/// Finishes the story: its quality gate has let it pass, and no task remains.
///
/// A person may finish what is paused. What is missing then is recorded when the story goes on.
pub(super) fn finished(draft: &mut Draft, moment: &Moment) -> Result<String, Refusal> {
    if !is_paused(draft) {
        return finish(draft, moment);
    }
    let summary = finish(draft, moment).map_err(|refusal| draft.explain(&Refusal { hints: Vec::new(), ..refusal }))?;
    draft.unpause();
    Ok(summary)
}

fn finish(draft: &mut Draft, moment: &Moment) -> Result<String, Refusal> {
    let name = &draft.name;
    let tasks = draft.tasks()?;
    match draft.stage {
        Some(3) => {}
        Some(stage) => {
            return Err(Refusal::rule(format!("it is at stage {stage}, before the quality gate"))
                .hint(next(draft, &tasks, stage, true)));
        }
        None => {
            return Err(draft.no_stage());
        }
    }
    if !tasks.open.is_empty() {
        return Err(draft.tasks_remain(&tasks));
    }
    match stages::judged(draft) {
        Judgement::Complete(StageResult::Failed { .. }) => {
            return Err(Refusal::rule("the quality gate failed").hint(back_to_work(draft).to("work on it again")));
        }
        Judgement::Complete(_) => {}
        Judgement::Incomplete(missing) => {
            let is_done = draft.unit.as_ref().is_some_and(|unit| unit.state == State::Done);
            let pass = verbs::VERDICT.on(name).word("PASS").filled("--score", "N");
            let hint = if is_done { way_on(draft) } else { pass.into() };
            return Err(stages::incomplete(3, &missing).hint(hint));
        }
        Judgement::NoTasks => return Err(draft.no_tasks(3)),
    }
    if draft.editor.get(&["finished"]).is_some() && draft.standing().is_none_or(|word| word == "DONE") {
        return Ok("already done".to_owned());
    }
    draft.editor.set(&["finished"], moment.now.to_string());
    let action = format!("Stage 3 COMPLETE for {}. Story DONE", draft.story);
    draft.act(&action);
    draft.stand("DONE")?;
    Ok("done".to_owned())
}

/// Opens a story again that is called done: for the quality gate, or for the stage where it really is.
pub(super) fn reopened(draft: &mut Draft) -> Result<String, Refusal> {
    let is_done = draft.unit.as_ref().is_some_and(|unit| unit.state == State::Done);
    if !is_done && draft.standing().as_deref() != Some("DONE") {
        return Err(Refusal::rule("it is not done").hint(way_on(draft)));
    }
    take_up(draft, "Reopened")
}

/// Takes up a story that is called done: at its quality gate, or at stage 2 when a task is open.
fn take_up(draft: &mut Draft, action: &str) -> Result<String, Refusal> {
    if draft.stage.is_none() {
        return Err(draft.no_stage());
    }
    if draft.stage == Some(3) && draft.tasks()?.is_empty() {
        return Err(draft.no_tasks(3));
    }
    draft.editor.remove(&["finished"]);
    draft.forget_counts();
    if draft.stage == Some(3) && !draft.tasks()?.open.is_empty() {
        draft.enter(2)?;
    } else if draft.stage == Some(3) && verdicts::word(draft) != Some("FAIL") {
        draft.shelve()?;
        draft.await_results();
    }
    let word = draft.stage_word();
    draft.stand(&word)?;
    draft.act(action);
    Ok(format!("{} at {word}", action.to_lowercase()))
}
