//! How a unit was judged, with the record behind each judgement.

use std::fmt::Write as _;

use piton_engine::Found;
use piton_model::{Age, Dialect, PassedOver, Rule, Severity, State};

use super::{Style, clean};

/// The explanation as text.
pub fn text(found: &Found, color: bool) -> String {
    let style = Style::new(color);
    let mut out = String::new();
    let _ = writeln!(out, "{}\n", style.bold(&clean(&found.name)));
    for (what, because) in reasons(found) {
        let _ = writeln!(out, "{what:<10} {}", clean(&because));
    }
    out
}

/// What was judged, and why: also what the JSON form holds.
pub fn reasons(found: &Found) -> Vec<(&'static str, String)> {
    let unit = &found.unit;
    let mut reasons = Vec::new();
    let path = unit.documents.first().map(|document| document.path.as_ref()).unwrap_or_default();
    let lifecycle = unit.state.lifecycle();
    let says = match (unit.dialect, unit.status_text.as_str()) {
        (_, "") => "it says nothing about that".to_owned(),
        // A plan has no status of its own: it follows from the boxes.
        (Dialect::Plan, derived) => format!("its boxes say so, {derived:?},"),
        (_, status) => format!("it says {status:?}"),
    };
    reasons.push(("state", format!("{lifecycle}: {says} in {path}")));
    match &unit.state {
        State::Failed { error } => reasons.push(("failed", error.clone())),
        State::Paused { reason: Some(reason) } => reasons.push(("paused", reason.clone())),
        _ => {}
    }
    for blocker in &unit.blockers {
        reasons.push(("blocked", blocker.clone()));
    }
    reasons.push(("liveness", liveness(found)));
    if let Some(seen) = &found.judgement.believed {
        reasons.push(("believed", format!("{} says {}, {} ago", seen.source, seen.at, seen.age)));
    }
    reasons.extend(found.judgement.passed_over.iter().map(|passed| ("not used", passed_over(passed))));
    if let Some(position) = unit.position() {
        reasons.push(("position", format!("{position}: the first that is not done")));
    }
    if unit.progress.total > 0 {
        reasons.push(("progress", format!("{} of {} steps are done", unit.progress.done, unit.progress.total)));
    }
    let resumable = if unit.resumable { "its documents allow it" } else { "its documents do not allow it" };
    reasons.push(("resumable", resumable.to_owned()));
    for document in unit.documents.iter().skip(1) {
        reasons.push(("also read", document.path.to_string()));
    }
    for finding in found.findings.iter().filter(|finding| finding.code.severity != Severity::Note) {
        let line = finding.place.line.map(|line| format!(":{line}")).unwrap_or_default();
        reasons.push(("finding", format!("{}{line}: {} ({})", finding.place.path, finding.message, finding.code.name)));
    }
    reasons
}

fn liveness(found: &Found) -> String {
    let liveness = found.judgement.liveness;
    match (&found.judgement.rule, &found.judgement.believed) {
        (Rule::NobodyExpected(why), _) => format!("{liveness}: nobody is expected to work on it, because {why}"),
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
