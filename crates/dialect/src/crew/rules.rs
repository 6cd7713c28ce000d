//! The rules that relate the keys of an agent's checkpoint to each other.

use std::collections::HashSet;
use std::time::Duration;

use piton_model::{State, Unit};

use super::keys::Keys;
use super::{codes, layout, standing, wire};
use crate::json::Value;
use crate::{Findings, Source, content, time};

/// How often an agent updates its checkpoint.
const INTERVAL: Duration = Duration::from_secs(15 * 60);

/// Adds a finding for every broken rule.
pub(super) fn check(keys: &Keys<'_, '_>, unit: &Unit, source: &Source<'_>, findings: &mut Findings<'_>) {
    check_agent(keys, unit, source, findings);
    check_stage(keys, findings);
    check_blockers(keys, unit, findings);
    check_steps(keys, unit, findings);
    check_interval(keys, unit, findings);
    if unit.state == State::Running {
        check_running(keys, findings);
    }
}

fn check_agent(keys: &Keys<'_, '_>, unit: &Unit, source: &Source<'_>, findings: &mut Findings<'_>) {
    if !layout::is_file_of(source.file_name(), &unit.id) {
        let expected = layout::file_name(&unit.id);
        let message = format!("{} is kept in {}, not in {expected}", unit.id, source.file_name());
        findings.whole(&codes::CREW_FILE_NAME, message);
    }
    // A word that is neither is told as such, once.
    if let Some(kind) = keys.agent_type
        && let Some(word) = kind.as_str().and_then(|text| wire::AGENT_TYPE.read(&text).word())
    {
        let is_primary = unit.id.as_bytes().windows(7).any(|part| part.eq_ignore_ascii_case(b"primary"));
        if (word == "primary") != is_primary {
            let message = format!("`agent_type` is {} for {}", kind.raw(), unit.id);
            findings.at(kind.span().start, &codes::CREW_AGENT_TYPE, message);
        }
    }
    if let Some(session) = keys.session_id.filter(|session| is_blank(*session)) {
        findings.at(session.span().start, &codes::CREW_SESSION, "`session_id` is blank");
    }
}

fn check_stage(keys: &Keys<'_, '_>, findings: &mut Findings<'_>) {
    let Some((value, stage)) = keys.stage.and_then(|value| Some((value, value.as_str()?))) else { return };
    if !wire::STAGES.contains(&&*stage) && !wire::STAGES.contains(&wire::stage(&stage).as_str()) {
        let message = format!("`stage` is {stage:?}, not one of {}", wire::STAGES.join(", "));
        findings.at(value.span().start, &codes::CREW_STAGE, message);
    }
}

fn check_blockers(keys: &Keys<'_, '_>, unit: &Unit, findings: &mut Findings<'_>) {
    if unit.state == State::Blocked && unit.blockers.is_empty() {
        let at = keys.status.unwrap_or(keys.root).span().start;
        findings.at(at, &codes::CREW_BLOCKED_WITHOUT_BLOCKER, "the status is BLOCKED, but `blockers` is empty");
    }
    if let Some(first) = unit.blockers.first()
        && standing::claims_completion(unit)
        && let Some(blockers) = keys.blockers
    {
        let message = format!("the status is COMPLETE, but `blockers` names {first:?}");
        findings.at(blockers.span().start, &codes::CREW_BLOCKERS_LEFT, message);
    }
}

fn check_steps(keys: &Keys<'_, '_>, unit: &Unit, findings: &mut Findings<'_>) {
    let Some(next) = keys.next_steps else { return };
    let at = next.span().start;
    let is_empty = next.items().next().is_none();
    if unit.state == State::Running && is_empty {
        findings.at(at, &codes::CREW_NEXT_STEPS, "the status is IN_PROGRESS, but `next_steps` is empty");
    } else if !is_empty && standing::claims_completion(unit) {
        findings.at(at, &codes::CREW_NEXT_STEPS, "the status is COMPLETE, but there are next steps");
    }
    let Some(completed) = keys.completed_steps else { return };
    // Lists are short; only a long one is worth a set.
    let is_long = completed.items().nth(32).is_some();
    let set: Option<HashSet<_>> = is_long.then(|| completed.items().filter_map(Value::as_str).collect());
    let is_completed = |step: &Value<'_, '_>| match &set {
        Some(set) => step.as_str().is_some_and(|id| set.contains(&id)),
        None => step.as_str().is_some_and(|id| completed.items().any(|done| done.is_text(&id))),
    };
    for step in next.items().filter(is_completed) {
        let message = format!("{} is in `completed_steps` and in `next_steps`", step.raw());
        findings.at(step.span().start, &codes::CREW_STEP_TWICE, message);
    }
}

fn check_interval(keys: &Keys<'_, '_>, unit: &Unit, findings: &mut Findings<'_>) {
    if unit.state != State::Running {
        return;
    }
    let moment =
        |value: Option<_>| value.and_then(|value: Value<'_, '_>| Some((value, time::read(&value.as_str()?).time()?)));
    let (Some((_, last)), Some((value, next))) = (moment(keys.last_checkpoint), moment(keys.next_checkpoint_expected))
    else {
        return;
    };
    // Agents write one of the two with fractions of a second and the other without.
    if next.unix_seconds() != last.after(INTERVAL).unix_seconds() {
        let message = format!("the next checkpoint is expected at {next}, not 15 minutes after the last");
        findings.at(value.span().start, &codes::CREW_INTERVAL, message);
    }
}

fn check_running(keys: &Keys<'_, '_>, findings: &mut Findings<'_>) {
    if let Some(value) = keys.can_resume.filter(|value| value.as_bool() == Some(false)) {
        let message = "the status is IN_PROGRESS, but `can_resume` is false";
        findings.at(value.span().start, &codes::CREW_NOT_RESUMABLE, message);
    }
    if let Some(value) = keys.recovery_instructions.filter(|value| is_blank(*value)) {
        let message = "the status is IN_PROGRESS, but `recovery_instructions` is blank";
        findings.at(value.span().start, &codes::CREW_NO_INSTRUCTIONS, message);
    }
}

/// Whether it is a text without anything in it.
fn is_blank(value: Value<'_, '_>) -> bool {
    value.as_str().is_some() && content::as_text(value).is_none()
}
