//! A checkpoint in prose: `agent_checkpoints/*.md`. It is recognised and shown, never written.

use piton_model::{
    Dialect, Note, Progress, Role, Said, Sign, Source as SignSource, State, Step, StepState, Time, Unit,
};

use super::fields::{Field, fields, find, plain};
use super::{codes, standing, wire};
use crate::{Findings, Reading, Source, open_text, time};

/// Keys that hold the time of the checkpoint, the most telling first.
const TIMES: [&str; 7] =
    ["Last Checkpoint", "Final Checkpoint", "Last Updated", "Last Update", "Updated", "Timestamp", "Session Ended"];

/// Reads a checkpoint in Markdown.
pub fn read_markdown(source: &Source<'_>, now: Time) -> Reading {
    let (text, mut findings) = open_text(source);
    let Some(text) = text else { return Reading { unit: None, findings: findings.finish() } };
    let fields = fields(text);
    let agent = find(&fields, &["Agent ID", "Agent"]).and_then(Field::line).map(plain).filter(|id| !id.is_empty());
    let is_ours = ["Stage", "Status", "Feature"].iter().any(|key| find(&fields, &[key]).is_some());
    let Some(agent) = agent.filter(|_| is_ours) else {
        let message = "this is not an agent's checkpoint: it has no `Agent ID` with a feature, stage or status";
        findings.whole(&crate::codes::FOREIGN, message);
        return Reading { unit: None, findings: findings.finish() };
    };
    let unit = unit(agent, &fields, source);
    check(&unit, &fields, now, &mut findings);
    Reading { unit: Some(unit), findings: findings.finish() }
}

fn unit(agent: &str, fields: &[Field<'_>], source: &Source<'_>) -> Unit {
    let line = |names: &[&str]| find(fields, names).and_then(Field::line).map(plain).map(str::to_owned);
    let mut unit = Unit::new(Dialect::Crew, agent, source.document(Role::Main));
    unit.agent = Some(agent.to_owned());
    unit.title = line(&["Feature"]);
    unit.session = line(&["Session ID"]);
    unit.stage = line(&["Stage", "Current Stage"]);
    unit.status_text = line(&["Status"]).unwrap_or_default();
    unit.current = line(&["Current Step", "Final Step", "Next Action", "Phase"]);
    let can_resume = line(&["Can Resume"]).is_some_and(|text| {
        let word = text.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
        word.eq_ignore_ascii_case("true") || word.eq_ignore_ascii_case("yes")
    });
    let list = |names: &[&str]| find(fields, names).map(Field::items).unwrap_or_default();
    unit.blockers = list(&["Blockers", "Blocker"]).into_iter().filter(|text| standing::is_blocker(text)).collect();
    standing::stand(&mut unit, can_resume, None);
    unit.files = list(&["Files Modified", "Modified Files"]).iter().map(|file| file_name(file)).collect();
    let step = |id, state| Step { id, title: None, stage: None, state };
    let done = || StepState::Done { by: None, at: None, outputs: Vec::new() };
    let completed = list(&["Completed Steps", "Completed"]).into_iter().map(|id| step(id, done()));
    unit.steps = completed.collect();
    let count = unit.steps.len() as u64;
    unit.steps.extend(list(&["Next Steps"]).into_iter().map(|id| step(id, StepState::Pending)));
    unit.progress = Progress { done: count, total: unit.steps.len() as u64 };
    let note = |label, name| line(&[name]).map(|text| Note { label, text });
    unit.notes.extend(note("phase", "Phase"));
    let instructions = find(fields, &["Recovery Instructions"]).map(|field| field.value.to_owned());
    unit.notes.extend(instructions.map(|text| Note { label: "recovery instructions", text }));
    unit.signs.extend(sign(fields).map(|(sign, _)| sign));
    unit.signs.extend(source.file_time());
    unit
}

fn check(unit: &Unit, fields: &[Field<'_>], now: Time, findings: &mut Findings<'_>) {
    let message = format!("the checkpoint of {} is written in Markdown", unit.id);
    findings.whole(&codes::CREW_MARKDOWN_CHECKPOINT, message);
    let at = find(fields, &["Status"]).map_or(0, |field| field.at);
    if unit.state == State::Unknown {
        let known = wire::STATUS.canonical.join(", ");
        let message = format!("`Status` is {:?}, not one of {known}", unit.status_text);
        findings.at(at, &crate::codes::WORD_UNKNOWN, message);
    }
    if unit.state == State::Blocked && unit.blockers.is_empty() {
        let message = "the status is BLOCKED, but no blocker is named";
        findings.at(at, &codes::CREW_BLOCKED_WITHOUT_BLOCKER, message);
    }
    if let Some(first) = unit.blockers.first().filter(|_| standing::claims_completion(unit)) {
        let message = format!("the status is COMPLETE, but a blocker is named: {first:?}");
        findings.at(at, &codes::CREW_BLOCKERS_LEFT, message);
    }
    if let Some((Sign { said: Said::At(time), .. }, field)) = sign(fields)
        && time.is_impossible(now)
    {
        let message = format!("`{}` is {time}, which lies in the future", field.key);
        findings.at(field.at, &crate::codes::TIME_FUTURE, message);
    }
}

fn sign<'a, 'f>(fields: &'f [Field<'a>]) -> Option<(Sign, &'f Field<'a>)> {
    TIMES.into_iter().find_map(|key| {
        let field = find(fields, &[key])?;
        let text = plain(field.line()?);
        let said = time::read(text).time().map_or_else(|| Said::Words(text.to_owned()), Said::At);
        Some((Sign { source: SignSource::Field(key), said }, field))
    })
}

/// The file in an item such as `` `spec.md` (all sections) ``.
fn file_name(item: &str) -> String {
    plain(item.split(" (").next().unwrap_or(item)).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Secondary B Checkpoint\n\n**Agent ID:** Secondary-B\n**Feature:** Feature 03 (ledger)\n**Last Checkpoint:** 2026-01-15 14:30\n\n## Where it is\n\n**Stage:** S2.P1\n**Status:** ⏳ IN_PROGRESS\n**Can Resume:** true (from the notes)\n**Current Step:** reading\n\n**Completed Steps:**\n- ✅ got the package\n- ✅ read the guide\n\n**Next Steps (for me):**\n1. research\n\n**Files Modified:**\n- `ledger/spec.md` (started)\n\n## Blockers\n\nNone - all clear\n\n## Recovery Instructions\n\nStart with the notes.\nThen go on.\n";

    fn read(text: &str) -> Reading {
        let source = Source { path: "agent_checkpoints/secondary_b.md".into(), bytes: text.as_bytes(), modified: None };
        read_markdown(&source, time::read("2026-01-15T14:40:00Z").time().expect("a time"))
    }

    fn codes(text: &str) -> Vec<&'static str> {
        read(text).findings.iter().map(|finding| finding.code.name).collect()
    }

    #[test]
    fn prose_becomes_a_unit() {
        assert_eq!(codes(TEXT), ["crew-markdown-checkpoint"]);
        let unit = read(TEXT).unit.expect("a unit");
        assert_eq!((unit.id.as_str(), unit.state, unit.resumable), ("Secondary-B", State::Running, true));
        assert_eq!((unit.stage.as_deref(), unit.current.as_deref()), (Some("S2.P1"), Some("reading")));
        assert_eq!((unit.progress.done, unit.progress.total), (2, 3));
        assert_eq!((unit.files, unit.blockers), (vec!["ledger/spec.md".to_owned()], vec![]));
        assert_eq!(unit.steps[0].id, "got the package");
        assert_eq!(unit.signs[0].source, SignSource::Field("Last Checkpoint"));
        assert!(unit.notes.iter().any(|note| note.text == "Start with the notes.\nThen go on."));
    }

    #[test]
    fn oddities_of_prose_are_told() {
        let with = |old: &str, new: &str| codes(&TEXT.replace(old, new));
        assert_eq!(codes("# Read me\n\nAll about checkpoints.\n"), ["foreign"]);
        assert_eq!(with("⏳ IN_PROGRESS", "almost done"), ["crew-markdown-checkpoint", "word-unknown"]);
        assert_eq!(with("IN_PROGRESS", "BLOCKED"), ["crew-markdown-checkpoint", "crew-blocked-without-blocker"]);
        let left = TEXT.replace("None - all clear", "- the ledger is locked").replace("IN_PROGRESS", "COMPLETE");
        assert_eq!(codes(&left), ["crew-markdown-checkpoint", "crew-blockers-left"]);
        assert_eq!(read(&left).unit.map(|unit| (unit.state, unit.resumable)), Some((State::Blocked, false)));
        assert_eq!(with("2026-01-15 14:30", "2026-01-16 14:30"), ["crew-markdown-checkpoint", "time-future"]);
    }
}
