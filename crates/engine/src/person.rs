//! What a person says to a unit: answers for its next worker, and approvals that its protocol asks for.

use piton_model::{Event, Refusal, Time, UnitRef};
use piton_store::journal::Entry;
use serde_json::Value;

use crate::persons_word::is_by_person;
use crate::record::{RecordError, Recorded, Recorder, Session};
use crate::target::Target;
use crate::{Workspace, find, log};

/// An instruction that a person gave, to be followed by the next worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserInstruction {
    /// The number of the event that recorded it.
    pub seq: u64,
    /// When it was given, as RFC 3339.
    pub at: String,
    /// Who gave it.
    pub by: String,
    /// What it says. It is text of the user.
    pub text: String,
}

/// The instructions that a person gave for a unit after an event of its journal, oldest first: answers with
/// `unblock --message`, and `note --resume`. What a worker records carries its ticket and is none, and neither is what the
/// lead records.
///
/// A lead asks with the number of the event that began the last worker; 0 asks for all.
pub fn user_instructions(
    workspace: &Workspace,
    wanted: &UnitRef,
    after: u64,
    now: Time,
) -> Result<Vec<UserInstruction>, RecordError> {
    let events = match log(workspace, wanted, now) {
        Ok(found) => found.log.events,
        // What has no journal was never talked about.
        Err(RecordError::NotFound(_) | RecordError::Refused(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let later = events.iter().filter(|entry| entry.seq > after);
    Ok(later.filter_map(instruction).collect())
}

fn instruction(entry: &Entry) -> Option<UserInstruction> {
    if !is_by_person(entry) {
        return None;
    }
    let is_instruction = entry.event == "noted" && entry.data.get("resume") == Some(&Value::Bool(true));
    let key = match entry.event.as_str() {
        "unblocked" => "answer",
        _ if is_instruction => "text",
        _ => return None,
    };
    let text = entry.data.get(key).and_then(Value::as_str)?;
    Some(UserInstruction { seq: entry.seq, at: entry.at.clone(), by: entry.by.clone(), text: text.to_owned() })
}

/// What goes away with an unblocking, and what the next worker is told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unblocking {
    /// The one blocker that is gone, by its words or its number; all of them when nothing is named.
    pub blocker: Option<String>,
    /// An answer for the next worker. One that repeats a blocker word for word names that blocker.
    pub answer: Option<String>,
}

/// Takes away what blocks a unit, and leaves the answer as an instruction for the next worker.
pub fn unblock(
    workspace: &Workspace,
    wanted: &UnitRef,
    unblocking: &Unblocking,
    recorder: &Recorder,
) -> Result<Recorded, RecordError> {
    let found = Target::find(workspace, wanted, recorder.now);
    let mut session = Session::open_found(workspace, wanted, found, recorder)?;
    session.fence_writer(recorder, "unblocked")?;
    refuse_worker(workspace, wanted, &session, recorder)?;
    let (which, answer) = match (&unblocking.blocker, given(unblocking.answer.as_ref())?) {
        (None, Some(answer)) if is_blocker(workspace, &session, &answer, recorder.now) => (Some(answer), None),
        (blocker, answer) => (blocker.clone(), answer),
    };
    session.record(&Event::Unblocked { which, answer }, recorder)
}

/// What a person holds, a worker does not free.
fn refuse_worker(
    workspace: &Workspace,
    wanted: &UnitRef,
    session: &Session<'_>,
    recorder: &Recorder,
) -> Result<(), RecordError> {
    let held = || {
        let events = crate::log(workspace, wanted, recorder.now).ok()?.log.events;
        let found = find(workspace, wanted, recorder.now).ok()?;
        crate::run::person_pause(&found.unit, &events)
    };
    match recorder.attempt.is_some().then(held).flatten() {
        Some((_, reason)) => {
            let refusal = Refusal::rule(format!("{} is held by its user: {reason}", session.target.name));
            Err(RecordError::Refused(refusal.hint("end now; what you made stays where it is")))
        }
        None => Ok(()),
    }
}

fn given(answer: Option<&String>) -> Result<Option<String>, RecordError> {
    match answer.map(|answer| answer.trim()) {
        Some("") => Err(RecordError::Refused(Refusal::usage("the answer is empty"))),
        answer => Ok(answer.map(str::to_owned)),
    }
}

/// Whether a text is one of the blockers, word for word.
fn is_blocker(workspace: &Workspace, session: &Session<'_>, text: &str, now: Time) -> bool {
    let Ok(wanted) = crate::life::exact(&session.target) else { return false };
    find(workspace, &wanted, now).is_ok_and(|found| found.unit.blockers.iter().any(|blocker| blocker.trim() == text))
}

/// Records a person's approval of a review that asks for one before work begins; nothing when the unit waits for none.
pub fn approve_review(
    workspace: &Workspace,
    wanted: &UnitRef,
    recorder: &Recorder,
) -> Result<Option<Recorded>, RecordError> {
    let found = find(workspace, wanted, recorder.now).map_err(RecordError::NotFound)?;
    if !piton_dialect::build::waits_for_person(&found.unit) {
        return Ok(None);
    }
    crate::record(workspace, wanted, &Event::Unblocked { which: None, answer: None }, recorder).map(Some)
}
