use piton_dialect::build::{is_refused, waits_for_person};
use piton_dialect::{build, task};
use piton_model::hint::verbs;
use piton_model::{Age, Dialect, LedWork, Lifecycle, PassedOver, Rule, Severity, State, Time, Unit};

use crate::Found;

/// Where the pause of a plan is known from.
const RECORDED: &str = "that is recorded for the plan, and not in its text";

/// One judgement about a unit, and why it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// What was judged, in a word.
    pub what: &'static str,
    /// What it is, and the record that says so.
    pub because: String,
}

/// Explains every judgement about a unit, with the record behind it.
pub fn why(found: &Found, now: Time) -> Vec<Reason> {
    reasons(found, now).into_iter().map(|(what, because)| Reason { what, because }).collect()
}

fn reasons(found: &Found, now: Time) -> Vec<(&'static str, String)> {
    let unit = &found.unit;
    let mut reasons = Vec::new();
    let path = unit.documents.first().map(|document| document.path.as_ref()).unwrap_or_default();
    let lifecycle = found.state().lifecycle();
    let says = match (unit.dialect, unit.status_text.as_str()) {
        (_, "") => "it says nothing about that".to_owned(),
        (Dialect::Plan, _) if matches!(lifecycle, Lifecycle::Paused | Lifecycle::Blocked | Lifecycle::Failed) => {
            RECORDED.to_owned()
        }
        // Else a plan has no status of its own: it follows from the boxes.
        (Dialect::Plan, _) if path.ends_with(".md") => "its boxes say so".to_owned(),
        (Dialect::Plan, _) => "the last known boxes say so".to_owned(),
        (_, status) => format!("it says {status:?}"),
    };
    // What pauses or fails a plan is recorded beside it, and not in its text.
    let is_beside = unit.dialect == Dialect::Plan && says == RECORDED;
    reasons.push(match path {
        _ if is_beside => ("state", format!("{lifecycle}: {says}")),
        "" => ("state", format!("{lifecycle}: it has no document yet")),
        path => ("state", format!("{lifecycle}: {says} in {path}")),
    });
    match &found.state() {
        State::Failed { error } => reasons.push(("failed", error.clone())),
        State::Paused { reason: Some(reason) } => reasons.push(("paused", reason.clone())),
        _ => {}
    }
    // A story that waits for a paused one is paused for just that.
    let is_said = |blocker: &str| match found.state() {
        State::Paused { reason: Some(reason) } => reason.replace("pipeline:", "").starts_with(blocker),
        _ => false,
    };
    for blocker in unit.blockers.iter().filter(|blocker| !is_said(blocker)) {
        reasons.push(("blocked", blocker.clone()));
    }
    if asks_person(unit) {
        reasons.push(("answer", verbs::UNBLOCK.on(&found.name).filled("--message", "TEXT").to_string()));
    }
    if let Some(led) = &found.led {
        if let LedWork::Paused { why } = &led.work
            && !reasons.iter().any(|(_, known)| known.contains(why.as_str()))
        {
            reasons.push(("run", why.clone()));
        }
        if let LedWork::Approval { .. } = led.work {
            reasons.push(("approve", verbs::APPROVE.on(&found.name).to_string()));
        }
        reasons.push(("lead", led.lead.shown(now)));
    }
    reasons.push(("liveness", liveness(found)));
    if let Some(seen) = &found.judgement.believed {
        reasons.push(("believed", format!("{} says {}, {} ago", seen.source, seen.at, seen.age)));
    }
    reasons.extend(found.judgement.passed_over.iter().map(|passed| ("not used", passed_over(passed))));
    if let Some(position) = unit.position() {
        reasons.push(("position", position));
    }
    if unit.progress.total > 0 {
        reasons.push(("progress", format!("{} of {} steps are done", unit.progress.done, unit.progress.total)));
    }
    let is_held = found.led.as_ref().is_some_and(piton_model::Led::is_held);
    let resumable = match (unit.resumable, &unit.state) {
        (true, _) if is_held => "no: a lead is at work on it".to_owned(),
        (true, _) => "yes: its documents allow it".to_owned(),
        (false, State::Done) => "no: nothing is left to do".to_owned(),
        (false, _) if path.is_empty() => "no: it has not begun".to_owned(),
        (false, State::Unknown) => "no: a person has to look at it first".to_owned(),
        (false, _) => "no: its documents do not allow it".to_owned(),
    };
    reasons.push(("resumable", resumable));
    for document in unit.documents.iter().skip(1) {
        reasons.push(("also read", document.path.to_string()));
    }
    for finding in found.findings.iter().filter(|finding| finding.code.severity != Severity::Note) {
        let line = finding.place.line.map(|line| format!(":{line}")).unwrap_or_default();
        reasons.push(("finding", format!("{}{line}: {} ({})", finding.place.path, finding.message, finding.code.name)));
    }
    reasons
}

/// Whether a unit waits for a person's answer. A review that blocks a build needs an approval or a verdict; a story may
/// wait for other stories, and what is called complete too early is opened again.
pub(crate) fn asks_person(unit: &Unit) -> bool {
    // A story that has begun may be blocked with the same words.
    let has_begun = unit.attempt.is_some() || unit.dialect != Dialect::Pipeline;
    let waits_for_others = |blocker: &String| !has_begun && blocker.starts_with("waits for ");
    let is_question = unit.blockers.iter().any(|blocker| !waits_for_others(blocker));
    let is_partial = claims_complete(unit);
    unit.state == State::Blocked && is_question && !waits_for_person(unit) && !is_refused(unit) && !is_partial
}

/// Whether a unit is called complete, but is not: it is opened again for what is missing. The specification of a build may
/// have more workstreams than it had.
pub(crate) fn claims_complete(unit: &Unit) -> bool {
    match unit.dialect {
        Dialect::Task => task::claims_complete(unit),
        Dialect::Build => build::claims_complete(unit),
        Dialect::Pipeline | Dialect::Plan | Dialect::Crew => false,
    }
}

fn liveness(found: &Found) -> String {
    let liveness = found.judgement.liveness;
    match (&found.judgement.rule, &found.judgement.believed) {
        (Rule::NobodyExpected(why), _) => format!("{liveness}: nobody is expected to work on it, because {why}"),
        (Rule::Process(fact), _) => {
            // Why its lead stopped stands above.
            let said = match found.state() {
                State::Paused { reason: Some(reason) } => fact.strip_suffix(reason.as_str()),
                _ => None,
            };
            format!("{liveness}: {}", said.map_or(fact.as_str(), |fact| fact.trim_end_matches([':', ' '])))
        }
        (Rule::NoSign, _) => format!("{liveness}: a worker is claimed, but no sign of it could be believed"),
        (Rule::Compared(patience), seen) => {
            let age = seen.as_ref().map(|seen| seen.age.to_string()).unwrap_or_default();
            format!(
                "{liveness}: the newest believable sign is {age} old; from {} on a {} worker is late, from {} on stale",
                Age(patience.late),
                found.unit.dialect,
                Age(patience.stale)
            )
        }
    }
}

fn passed_over(passed: &PassedOver) -> String {
    match passed {
        PassedOver::Future { source, at } => format!("{source} says {at}, which lies in the future"),
        PassedOver::Words { source, words } => format!("{source} says {words:?}, which is not a time"),
        PassedOver::Weaker { source, at } => format!("{source} says {at}; a more believable or newer sign was there"),
    }
}
