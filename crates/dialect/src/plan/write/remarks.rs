//! What people and agents say about a plan: decisions, blockers, notes. It all goes to the state, as text in JSON.

use std::collections::HashSet;

use piton_model::{NotePurpose, Refusal, text::fit};
use serde_json::{Value as NewValue, json};

use super::agents::release_all;
use super::book::Book;
use super::draft::{Draft, one_line};
use super::ground::Ground;
use crate::content;
use crate::json::Json;

/// Longest part of a text that a summary repeats.
const SHOWN: usize = 60;

pub(super) fn decided(draft: &mut Draft<'_>, text: &str, reason: Option<&str>) -> Result<(), Refusal> {
    let text = said(text, "a decision needs a text")?;
    let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
    let known = |known: &NewValue| known.get("decision").and_then(NewValue::as_str) == Some(text);
    if draft.decisions.iter().any(|old| known(old) && old.get("reason").and_then(NewValue::as_str) == reason) {
        draft.summary = format!("already decided: {}", short(text));
        return Ok(());
    }
    let mut decision = json!({"time": draft.now, "decision": text});
    let mut keys = vec![("decision", json!(text))];
    if let Some(reason) = reason {
        decision["reason"] = json!(reason);
        keys.push(("reason", json!(reason)));
    }
    keys.push(("by", json!(draft.moment.by)));
    draft.decisions.push(decision);
    draft.log("decision_made", &keys);
    draft.summary = format!("decided: {}", short(text));
    Ok(())
}

pub(super) fn blocked(draft: &mut Draft<'_>, message: &str, kind: Option<&str>) -> Result<(), Refusal> {
    let text = one_line(said(message, "a blocker needs a message")?);
    draft.summary = format!("blocked: {}", short(&text));
    if draft.own.blockers.contains(&text) {
        return Ok(());
    }
    let mut keys = vec![("blocker", json!(text)), ("by", json!(draft.moment.by))];
    keys.extend(kind.map(|kind| ("type", json!(kind))));
    draft.log("blocked", &keys);
    draft.own.blockers.push(text);
    Ok(())
}

/// Takes blockers away: recorded ones, and markers that stand in the plan's own text. Without the text, as when it cannot
/// be read, a marker stays.
pub(super) fn unblocked(
    draft: &mut Draft<'_>,
    text: Plan<'_, '_>,
    which: Option<&str>,
    answer: Option<&str>,
) -> Result<(), Refusal> {
    let which = which.map(one_line).filter(|which| !which.is_empty());
    let mut gone: Vec<String> = match &which {
        None => draft.own.blockers.clone(),
        Some(which) => pick(&draft.own.blockers, which)?.into_iter().collect(),
    };
    let named = match &text {
        Plan::Read(book) => book.blockers(),
        Plan::Unreadable { blockers } => blockers.clone(),
    };
    let in_plan: Vec<String> = match &which {
        None => named,
        Some(which) if gone.is_empty() => pick(&named, which)?.into_iter().collect(),
        Some(_) => Vec::new(),
    };
    draft.own.blockers.retain(|blocker| !gone.contains(blocker));
    match (text, in_plan.first()) {
        (_, None) => {}
        (Plan::Read(book), Some(_)) => {
            book.remove_blockers(&in_plan);
            gone.extend(in_plan);
        }
        (Plan::Unreadable { .. }, Some(blocker)) if gone.is_empty() => {
            return Err(Refusal::rule(format!("the blocker stands in the plan itself: {}", short(blocker)))
                .hint("remove its marker from plan.md: <!-- BLOCKER: … -->"));
        }
        (Plan::Unreadable { .. }, Some(blocker)) => {
            draft.warnings.push(format!("plan.md itself still names a blocker: {}", short(blocker)).into());
        }
    }
    let Some(first) = gone.first() else { return nothing_blocked(draft, which.is_some(), answer) };
    for blocker in &gone {
        draft.log("unblocked", &[("blocker", json!(blocker)), ("by", json!(draft.moment.by))]);
    }
    draft.summary = match draft.own.blockers.len() {
        0 => "unblocked".to_owned(),
        left => format!("unblocked: {} ({left} left)", short(first)),
    };
    answered(draft, answer)
}

/// The text of a plan, where blockers may stand.
pub(super) enum Plan<'s, 'a> {
    /// As it was read.
    Read(&'s mut Book<'a>),
    /// It cannot be read; the state has what it said last.
    Unreadable { blockers: Vec<String> },
}

/// Nothing blocks the plan: a pause may be over, and an answer is left all the same.
fn nothing_blocked(draft: &mut Draft<'_>, is_named: bool, answer: Option<&str>) -> Result<(), Refusal> {
    if is_named {
        return Err(Refusal::missing("no such blocker is recorded"));
    }
    if draft.own.paused.take().is_some() {
        draft.log("session_continued", &[("by", json!(draft.moment.by))]);
        draft.summary = "the pause is over".to_owned();
        return answered(draft, answer);
    }
    match answer {
        Some(_) => answered(draft, answer),
        None => Err(Refusal::rule("nothing blocks the plan")),
    }
}

/// Leaves an answer for the next worker, beside what is said already.
fn answered(draft: &mut Draft<'_>, answer: Option<&str>) -> Result<(), Refusal> {
    let Some(answer) = answer else { return Ok(()) };
    let before = std::mem::take(&mut draft.summary);
    noted(draft, answer, NotePurpose::ResumeInstruction)?;
    if !before.is_empty() {
        draft.summary = format!("{before}; {}", draft.summary);
    }
    Ok(())
}

/// The blocker that is meant: by its text, or by a part that only one has.
fn pick(blockers: &[String], which: &str) -> Result<Option<String>, Refusal> {
    if let Some(exact) = blockers.iter().find(|blocker| *blocker == which) {
        return Ok(Some(exact.clone()));
    }
    let number = which.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    if let Some(numbered) = number.and_then(|at| blockers.get(at)) {
        return Ok(Some(numbered.clone()));
    }
    let mut like = blockers.iter().filter(|blocker| blocker.contains(which));
    match (like.next(), like.next()) {
        (Some(_), Some(_)) => Err(Refusal::usage(format!("more than one blocker holds {:?}", short(which)))),
        (found, _) => Ok(found.cloned()),
    }
}

/// Blockers that the state has from an older text of the plan go with their markers, but not without a word.
pub(super) fn forget_old_blockers(draft: &mut Draft<'_>, ground: &Ground<'_>, book: &Book<'_>) {
    let known = ground.json.as_ref().map(Json::root).map(|root| content::texts(root, "blockers")).unwrap_or_default();
    let named: HashSet<String> = book.blockers().into_iter().chain(draft.own.blockers.clone()).collect();
    for blocker in known {
        if !named.contains(&one_line(&blocker)) {
            draft.log("unblocked", &[("blocker", json!(blocker)), ("by", json!("plan.md"))]);
        }
    }
}

/// Ends the session with a final checkpoint: its notes, and a copy of the state.
pub(super) fn paused(draft: &mut Draft<'_>, reason: Option<&str>) -> Result<(), Refusal> {
    let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
    if let Some(reason) = reason {
        draft.add_note(reason);
    }
    let mut keys = vec![("by", json!(draft.moment.by))];
    keys.extend(reason.map(|reason| ("reason", json!(reason))));
    draft.log("session_paused", &keys);
    release_all(draft);
    draft.own.paused = Some((draft.now.clone(), reason.map(str::to_owned)));
    draft.backup = Some("session_end".to_owned());
    draft.summary = reason.map_or_else(|| "paused".to_owned(), |reason| format!("paused: {}", short(reason)));
    Ok(())
}

/// Keeps what a session knows when a stretch of it ends: its last words in the notes, and a copy of the state. The words
/// replace those of the end before, so that the notes do not grow with every turn.
pub(super) fn checkpointed(draft: &mut Draft<'_>, reason: &str, note: Option<&str>) -> Result<(), Refusal> {
    let reason = said(reason, "a checkpoint needs a reason")?;
    if let Some(note) = note.map(str::trim).filter(|note| !note.is_empty()) {
        let before = draft.own.session_note.replace(note.to_owned());
        let notes = draft.notes.take().unwrap_or_default();
        let kept = match before.as_deref().and_then(|before| notes.strip_suffix(before)) {
            Some(rest) => rest.trim_end_matches('\n').to_owned(),
            None => notes,
        };
        draft.notes = Some(kept).filter(|kept| !kept.is_empty());
        draft.add_note(note);
    }
    draft.log("session_checkpoint", &[("reason", json!(reason)), ("by", json!(draft.moment.by))]);
    draft.backup = Some(reason.to_owned());
    draft.summary = format!("checkpoint: {}", short(reason));
    Ok(())
}

pub(super) fn noted(draft: &mut Draft<'_>, text: &str, purpose: NotePurpose) -> Result<(), Refusal> {
    let text = said(text, "a note needs a text")?;
    match purpose {
        NotePurpose::Note => {
            draft.add_note(text);
            draft.log("note_added", &[("note", json!(text)), ("by", json!(draft.moment.by))]);
        }
        NotePurpose::ResumeInstruction => {
            if !draft.own.instructions.iter().any(|known| known == text) {
                draft.own.instructions.push(text.to_owned());
            }
            draft.log("resume_instruction_added", &[("note", json!(text)), ("by", json!(draft.moment.by))]);
        }
    }
    draft.summary = format!("noted: {}", short(text));
    Ok(())
}

pub(super) fn backed_up(draft: &mut Draft<'_>, reason: &str) -> Result<(), Refusal> {
    let reason = said(reason, "a backup needs a reason")?;
    draft.log("recovery_saved", &[("reason", json!(reason))]);
    draft.backup = Some(reason.to_owned());
    draft.summary = format!("backed up: {}", short(reason));
    Ok(())
}

/// A text that says something.
pub(super) fn said<'t>(text: &'t str, why: &str) -> Result<&'t str, Refusal> {
    Some(text.trim()).filter(|text| !text.is_empty()).ok_or_else(|| Refusal::usage(why))
}

/// A text as a summary shows it: one line, not too long.
pub(super) fn short(text: &str) -> String {
    let line = one_line(text);
    fit(&piton_model::text::printable(&line), SHOWN).into_owned()
}
