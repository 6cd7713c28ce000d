//! What a status word says about an agent.

use piton_model::{Claim, State, Step, StepState, Unit};

use super::fields::plain;
use super::wire;
use crate::content;

/// The key that says who paused an agent. Without it WAITING is the agent's own word: it waits for others.
pub(super) const PAUSED_BY: &str = "paused_by";

/// Whether an agent has done its part, so that its work may be taken as it is: it is COMPLETE; or it waits for the
/// others at the end of its last stage, with nothing left to do and nothing in its way. One that waits anywhere else
/// has work left, and somebody else's answer has to come first.
pub fn has_done_its_part(unit: &Unit) -> bool {
    let is_last = unit.stage.as_deref().is_some_and(|stage| wire::STAGES.last() == Some(&wire::stage(stage).as_str()));
    let is_open = |step: &Step| !matches!(step.state, StepState::Done { .. } | StepState::Skipped);
    match unit.state {
        State::Done => true,
        State::Waiting => is_last && unit.blockers.is_empty() && !unit.steps.iter().any(is_open),
        State::Queued
        | State::Running
        | State::Paused { .. }
        | State::Blocked
        | State::Failed { .. }
        | State::Unknown => false,
    }
}

/// What a status word means. Words beyond the protocol's four are those of real files.
///
/// Beginnings are enough where a mistake does no harm: an agent that waits, is paused or blocked is left alone.
/// Complete it is only by the word itself.
pub(super) fn state(status: &str) -> (State, Claim) {
    let nobody = |why| Claim::Nobody { why };
    let waiting = || (State::Waiting, nobody("it waits for others"));
    match wire::STATUS.read(status).word() {
        Some("IN_PROGRESS") => return (State::Running, Claim::Worker),
        Some("BLOCKED") => return (State::Blocked, Claim::Worker),
        Some("WAITING") => return waiting(),
        Some("COMPLETE") => return (State::Done, nobody("it is complete")),
        _ => {}
    }
    beyond_protocol(status).unwrap_or((State::Unknown, nobody("its status is not understood")))
}

/// Sets where an agent stands, from its status and blockers, and whether it may be resumed.
///
/// One that says it is complete and still names blockers is not done: somebody would build on work that is missing.
/// Next steps alone do not count against it, because agents note there what happens after their part.
///
/// One that waits because somebody else paused it is paused: it has not released its work.
pub(super) fn stand(unit: &mut Unit, can_resume: bool, paused: Option<Pause>) {
    (unit.state, unit.claim) = state(&unit.status_text);
    if let (State::Waiting, Some(Pause { by, reason })) = (&unit.state, paused) {
        let reason = Some(reason.unwrap_or_else(|| format!("paused by {by}")));
        (unit.state, unit.claim) = (State::Paused { reason }, Claim::Nobody { why: "it is paused" });
    }
    unit.resumable = can_resume && may_be_resumed(&unit.state);
    doubt_completion(unit);
}

/// Who paused an agent, and why.
pub(super) struct Pause {
    pub by: String,
    pub reason: Option<String>,
}

/// Takes an agent for blocked that claims to be complete and names blockers.
pub(super) fn doubt_completion(unit: &mut Unit) {
    if unit.state == State::Done && !unit.blockers.is_empty() {
        (unit.state, unit.claim) = (State::Blocked, Claim::Nobody { why: "it claims to be complete" });
    }
}

/// Whether an agent says that it is complete, be it true or not.
pub(super) fn claims_completion(unit: &Unit) -> bool {
    match unit.state {
        State::Done => true,
        State::Blocked => state(plain(&unit.status_text)).0 == State::Done,
        _ => false,
    }
}

/// Whether a text names a blocker: `None - all clear` does not, `None of the tests pass` does.
pub(super) fn is_blocker(text: &str) -> bool {
    let says_none = || {
        let (none, rest) = text.split_at_checked(4)?;
        let goes_on = rest.trim_start().starts_with(char::is_alphanumeric);
        (none.eq_ignore_ascii_case("none") && !goes_on).then_some(())
    };
    !content::is_nothing(text) && says_none().is_none()
}

/// Whether an agent that stands so may be resumed, when its checkpoint allows it. What is complete has nothing left,
/// and a status that nobody understands needs a person.
fn may_be_resumed(state: &State) -> bool {
    match state {
        State::Queued
        | State::Running
        | State::Waiting
        | State::Paused { .. }
        | State::Blocked
        | State::Failed { .. } => true,
        State::Done | State::Unknown => false,
    }
}

/// What the words of real files mean that the protocol does not have.
fn beyond_protocol(status: &str) -> Option<(State, Claim)> {
    let nobody = |why| Claim::Nobody { why };
    let waiting = (State::Waiting, nobody("it waits for others"));
    let folded: String = status.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    match folded.as_str() {
        word if word.starts_with("paused") => Some((State::Paused { reason: None }, nobody("it is paused"))),
        word if word.starts_with("waiting") || word.starts_with("readyfor") => Some(waiting),
        word if word.starts_with("blocked") => Some((State::Blocked, Claim::Worker)),
        "pending" | "notstarted" | "queued" => Some((State::Queued, nobody("it has not been started"))),
        // A part of the stage is finished: `S2.P1_COMPLETE`. What follows is up to the primary.
        "s2p1complete" | "s2p2complete" | "s2p3complete" => Some(waiting),
        _ => None,
    }
}

/// Whether a word beyond the protocol's has a meaning here.
pub(super) fn is_understood(status: &str) -> bool {
    beyond_protocol(status).is_some()
}

#[cfg(test)]
mod tests {
    use piton_model::{Dialect, Document, Role};

    use super::*;

    #[test]
    fn an_agent_that_waits_has_done_its_part_only_at_the_end_of_its_last_stage() {
        for (status, stage, open, want) in [
            ("COMPLETE", "S2.P1", 0, true),
            ("WAITING", "S2.P3", 0, true),
            ("WAITING_FOR_SYNC", "S2.P3", 0, true),
            ("WAITING", "S2.P3", 1, false),
            ("WAITING", "S2.P1", 0, false),
            ("WAITING_FOR_PRIMARY", "S2.P2", 2, false),
            ("IN_PROGRESS", "S2.P3", 0, false),
            ("BLOCKED", "S2.P3", 0, false),
            ("PAUSED", "S2.P3", 0, false),
        ] {
            let document = Document { role: Role::Main, path: "a.json".into(), modified: None };
            let mut unit = Unit::new(Dialect::Crew, "Secondary-A".to_owned(), document);
            unit.status_text = status.to_owned();
            unit.stage = Some(stage.to_owned());
            let step = |id: usize| Step { id: id.to_string(), title: None, stage: None, state: StepState::Pending };
            unit.steps = (0..open).map(step).collect();
            stand(&mut unit, true, None);
            assert_eq!(has_done_its_part(&unit), want, "{status} at {stage} with {open} open");
            stand(&mut unit, true, Some(Pause { by: "lead".into(), reason: None }));
            let is_complete = status == "COMPLETE";
            assert_eq!(has_done_its_part(&unit), is_complete, "{status} at {stage}, paused by the lead");
        }
    }

    #[test]
    fn a_blocker_is_told_from_words_for_nothing() {
        for (text, want) in [
            ("none", false),
            ("None", false),
            ("N/A", false),
            ("None - all clear", false),
            ("none (waiting for an answer)", false),
            ("None of the tests pass", true),
            ("nonesuch", true),
            ("the ledger is locked", true),
            ("äöü", true),
        ] {
            assert_eq!(is_blocker(text), want, "{text}");
        }
    }

    #[test]
    fn words_of_real_files_have_a_meaning() {
        for (status, want) in [
            ("IN_PROGRESS", State::Running),
            ("in progress", State::Running),
            ("BLOCKED", State::Blocked),
            ("Blocked by the ledger", State::Blocked),
            ("WAITING_FOR_SYNC", State::Waiting),
            ("WAITING_FOR_DEPENDENCIES", State::Waiting),
            ("WAITING_FOR_PRIMARY - cross-feature alignment", State::Waiting),
            ("READY_FOR_SYNC", State::Waiting),
            ("S2.P1_COMPLETE", State::Waiting),
            ("COMPLETE", State::Done),
            ("complete, but untested", State::Unknown),
            ("PAUSED", State::Paused { reason: None }),
            ("PENDING", State::Queued),
            ("", State::Unknown),
        ] {
            assert_eq!(state(status).0, want, "{status:?}");
        }
    }
}
