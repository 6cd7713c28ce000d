//! A feature's `STATUS` file: lines of `KEY: value`.

use std::collections::HashMap;
use std::sync::Arc;

use piton_model::{Claim, Dialect, Finding, Note, Place, Role, Said, Sign, Source as SignSource, State, Time, Unit};

use super::fields::plain;
use super::{codes, standing, wire};
use crate::{Source, open_text, time};

/// How many keys of one file are read; the protocol has a dozen.
const MOST: usize = 200;

/// What a STATUS file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusFile {
    entries: HashMap<String, Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    value: String,
    line: u32,
}

impl StatusFile {
    /// What a key says; nothing when it is blank.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.entries.get(key).map(|entry| entry.value.as_str()).filter(|value| !value.is_empty())
    }

    /// Whether it says enough to stand for its feature: a stage, and a status or an agent.
    pub fn describes_a_feature(&self) -> bool {
        self.get("STAGE").is_some() && (self.get("STATUS").is_some() || self.get("AGENT").is_some())
    }

    fn place(&self, key: &str, path: &Arc<str>) -> Place {
        Place { path: Arc::clone(path), line: self.entries.get(key).map(|entry| entry.line) }
    }
}

/// Reads a STATUS file.
pub fn read_status_file(source: &Source<'_>) -> (StatusFile, Vec<Finding>) {
    let (text, mut findings) = open_text(source);
    let mut file = StatusFile::default();
    let mut at = 0;
    for whole in text.unwrap_or_default().split_inclusive('\n') {
        let line = whole.trim();
        let begin = at;
        at += whole.len();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((key, value)) = line.split_once(':').filter(|(key, _)| is_key(key)) else {
            findings.at(begin, &codes::CREW_STATUS_LINE, "the line is not `KEY: value`");
            continue;
        };
        let key = key.trim().to_ascii_uppercase();
        let line = findings.line(begin);
        if file.entries.len() == MOST && !file.entries.contains_key(&key) {
            findings.at(begin, &codes::CREW_STATUS_LINE, format!("only the first {MOST} keys are read"));
            break;
        }
        let entry = Entry { value: value.trim().to_owned(), line };
        if file.entries.insert(key.clone(), entry).is_some() {
            findings.at(begin, &codes::CREW_STATUS_REPEATED, format!("the key `{key}` stands twice"));
        }
    }
    (file, findings.finish())
}

/// The unit of a feature that has no checkpoint at all, as far as its STATUS file tells.
pub fn unit_of_status(file: &StatusFile, feature: &str, source: &Source<'_>, now: Time) -> (Unit, Vec<Finding>) {
    let mut unit = Unit::new(Dialect::Crew, feature, source.document(Role::Main));
    let owned = |key| file.get(key).map(str::to_owned);
    unit.status_text = owned("STATUS").unwrap_or_default();
    (unit.state, unit.claim) = standing::state(plain(&unit.status_text));
    if unit.state == State::Blocked {
        // A blocked agent goes on updating its checkpoint; where there is none, nobody does.
        unit.claim = Claim::Nobody { why: "it is blocked, and no agent has a checkpoint for it" };
    }
    unit.agent = owned("AGENT");
    unit.session = owned("AGENT_ID");
    unit.title = owned("FEATURE");
    unit.stage = owned("STAGE");
    unit.current = owned("NEXT_ACTION").or_else(|| owned("PHASE"));
    let blockers = ["BLOCKERS", "BLOCKER"].iter().find_map(|key| file.get(key));
    unit.blockers = blockers.filter(|text| standing::is_blocker(text)).map(str::to_owned).into_iter().collect();
    standing::doubt_completion(&mut unit);
    let note = |label, key| owned(key).map(|text| Note { label, text });
    unit.notes.extend(note("phase", "PHASE"));
    unit.notes.extend(note("ready for sync", "READY_FOR_SYNC"));
    unit.notes.extend(note("notes", "NOTES"));
    let mut findings = Vec::new();
    for key in ["UPDATED", "LAST_UPDATED", "LAST_UPDATE"] {
        let Some(text) = file.get(key) else { continue };
        let read = time::read(text).time();
        if read.is_some_and(|at| at.is_impossible(now)) {
            let message = format!("`{key}` is {text:?}, which lies in the future");
            let place = file.place(key, &source.path);
            findings.push(Finding { code: &crate::codes::TIME_FUTURE, place, message });
        }
        let said = read.map_or_else(|| Said::Words(text.to_owned()), Said::At);
        unit.signs.push(Sign { source: SignSource::Field(key), said });
    }
    unit.signs.extend(source.file_time());
    if let Some(first) = unit.blockers.first().filter(|_| standing::claims_completion(&unit)) {
        let message = format!("`STATUS` is complete, but a blocker is named: {first:?}");
        let place = file.place("STATUS", &source.path);
        findings.push(Finding { code: &codes::CREW_BLOCKERS_LEFT, place, message });
    }
    if unit.state == State::Running {
        let message = format!("{feature} is in progress, but no agent has a checkpoint for it");
        let place = file.place("STATUS", &source.path);
        findings.push(Finding { code: &codes::CREW_NO_CHECKPOINT, place, message });
    }
    (unit, findings)
}

/// Compares a feature's STATUS file with the checkpoint of its agent.
pub fn compare_status(unit: &Unit, file: &StatusFile, path: &Arc<str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    // What the two say is compared; that a claim of completion is doubted is told at the checkpoint.
    let claimed = if standing::claims_completion(unit) { &State::Done } else { &unit.state };
    let mut disagree = |key: &str, message| {
        let place = file.place(key, path);
        findings.push(Finding { code: &codes::CREW_STATUS_DISAGREES, place, message });
    };
    if let (Some(here), Some(there)) = (file.get("STAGE"), unit.stage.as_deref())
        && wire::stage(here) != wire::stage(there)
    {
        disagree("STAGE", format!("`STAGE` is {here:?}, the checkpoint of {} says {there:?}", unit.id));
    }
    let state = |text: &str| standing::state(plain(text)).0;
    if let Some(here) = file.get("STATUS")
        && state(here) != State::Unknown
        && *claimed != State::Unknown
        && state(here).lifecycle() != claimed.lifecycle()
    {
        let there = &unit.status_text;
        disagree("STATUS", format!("`STATUS` is {here:?}, the checkpoint of {} says {there:?}", unit.id));
    }
    let is_ready = file.get("READY_FOR_SYNC").is_some_and(|ready| ready.eq_ignore_ascii_case("true"));
    if is_ready && matches!(claimed, State::Running | State::Blocked) {
        let there = &unit.status_text;
        disagree("READY_FOR_SYNC", format!("`READY_FOR_SYNC` is true, the checkpoint of {} says {there:?}", unit.id));
    }
    findings
}

fn is_key(key: &str) -> bool {
    let key = key.trim();
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ' | '.');
    !key.is_empty() && key.len() <= 60 && key.chars().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "STAGE: S2.P2\nPHASE: Specification\nAGENT: Secondary-A\nUPDATED: 2026-01-15T14:30:00Z\nSTATUS: IN_PROGRESS\nBLOCKERS: none\nNEXT_ACTION: write spec.md\nREADY_FOR_SYNC: false\n";

    fn source(text: &str) -> Source<'_> {
        Source { path: "e/feature_02_ledger/STATUS".into(), bytes: text.as_bytes(), modified: None }
    }

    fn now() -> Time {
        time::read("2026-01-15T14:40:00Z").time().expect("a time")
    }

    #[test]
    fn lines_are_read_and_odd_ones_told() {
        for (text, want) in [
            (TEXT, &[][..]),
            ("# note\n\nSTAGE: S2\r\nAGENT: B\r\n", &[]),
            ("STAGE: S2.P1\nall is well\n", &["crew-status-line"]),
            ("STAGE: S2.P1\nSTAGE: S2.P2\n", &["crew-status-repeated"]),
            ("\u{1f600}: x\n", &["crew-status-line"]),
        ] {
            let (_, findings) = read_status_file(&source(text));
            assert_eq!(findings.iter().map(|finding| finding.code.name).collect::<Vec<_>>(), want, "{text}");
        }
        let (file, _) = read_status_file(&source("STAGE: S2.P1\nSTAGE: S2.P2\nSTATUS:\n"));
        assert_eq!((file.get("STAGE"), file.get("STATUS"), file.describes_a_feature()), (Some("S2.P2"), None, false));
        let many: String = (0..1_000).map(|n| format!("K{n}: v\n")).collect();
        assert_eq!(read_status_file(&source(&many)).0.entries.len(), MOST);
    }

    #[test]
    fn a_feature_without_a_checkpoint_is_a_unit() {
        let (file, _) = read_status_file(&source(TEXT));
        let (unit, findings) = unit_of_status(&file, "feature_02_ledger", &source(TEXT), now());
        assert_eq!((unit.id.as_str(), unit.state, unit.resumable), ("feature_02_ledger", State::Running, false));
        assert_eq!((unit.agent.as_deref(), unit.current.as_deref()), (Some("Secondary-A"), Some("write spec.md")));
        assert_eq!((unit.blockers.len(), unit.signs[0].source.clone()), (0, SignSource::Field("UPDATED")));
        assert_eq!((findings[0].code.name, findings[0].place.line), ("crew-no-checkpoint", Some(5)));
        let text = "STAGE: S2\nSTATUS: BLOCKED\nBLOCKER: the ledger comes first\n";
        let (file, _) = read_status_file(&source(text));
        let (unit, findings) = unit_of_status(&file, "feature_02_ledger", &source(text), now());
        assert_eq!((unit.state, findings.len(), unit.claim == Claim::Worker), (State::Blocked, 0, false));
        assert_eq!(unit.blockers, ["the ledger comes first"]);
        let text = "STAGE: S2\nSTATUS: COMPLETE\nBLOCKERS: the ledger comes first\n";
        let (file, _) = read_status_file(&source(text));
        let (unit, findings) = unit_of_status(&file, "feature_02_ledger", &source(text), now());
        assert_eq!((&unit.state, findings[0].code.name), (&State::Blocked, "crew-blockers-left"));
        assert_eq!(compare_status(&unit, &file, &"STATUS".into()), []);
    }

    #[test]
    fn a_checkpoint_and_its_status_are_compared() {
        let (file, _) = read_status_file(&source(TEXT));
        let (mut unit, _) = unit_of_status(&file, "x", &source(TEXT), now());
        let count = |unit: &Unit, text: &str| {
            let (file, _) = read_status_file(&source(text));
            compare_status(unit, &file, &"STATUS".into()).len()
        };
        assert_eq!(count(&unit, TEXT), 0);
        assert_eq!(count(&unit, "STAGE: S2.P2 (specification)\nSTATUS: ACTIVE\n"), 0);
        assert_eq!(count(&unit, "STAGE: S2.P3\nSTATUS: COMPLETE\nREADY_FOR_SYNC: true\n"), 3);
        assert_eq!(count(&unit, "STATUS: who knows\n"), 0);
        unit.state = State::Unknown;
        assert_eq!(count(&unit, "STATUS: COMPLETE\n"), 0);
    }
}
