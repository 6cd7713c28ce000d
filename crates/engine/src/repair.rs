//! Brings the documents of a unit back into order: the dialect's own cascade, and what the journal can rebuild.

use piton_model::hint::verbs;
use piton_model::{Change, Dialect, Effect, Event, Lifecycle, Refusal, State, Time, UnitRef};

use crate::find::find_alone;
use crate::record::{RecordError, Recorded, Recorder, Session};
use crate::target::Target;
use crate::{Workspace, status};

/// The event after which a unit's work is another's.
pub(crate) const TAKEN_OVER: &str = "taken_over";

/// Repairs a unit. A document that is gone comes back from the journal; one that cannot be read was restored when
/// the unit was opened; the rest is the dialect's own affair.
pub fn repair(workspace: &Workspace, wanted: &UnitRef, recorder: &Recorder) -> Result<Recorded, RecordError> {
    let target = Target::find_with_journal(workspace, wanted, recorder.now)?;
    let mut session = Session::open(workspace, target, recorder)?;
    session.fence_writer(recorder, "repair")?;
    let path = workspace.disk.resolve(&session.target.key.document)?;
    let is_there = session.contact.documents.get(&path).is_some_and(|seen| seen.content.is_some());
    let is_plan = session.target.dialect == Dialect::Plan;
    if let (false, false, Some(last)) = (is_plan, is_there, session.unit.last())
        && last.event == TAKEN_OVER
    {
        let refusal = Refusal::rule(format!("its document went away on purpose: {}", last.summary))
            .hint(verbs::LOG.on(&session.target.name).to("see where its work went"));
        return Err(RecordError::Refused(refusal));
    }
    if !is_plan
        && !is_there
        && let Some(unit) = find_alone(workspace, wanted, recorder.now)
        && let Some(document) = unit.documents.first().filter(|_| unit.state == State::Done)
    {
        let refusal = Refusal::rule(format!("it is done, and its document is archived: {}", document.path))
            .hint(verbs::STATUS.on(&session.target.name).to("see what was done"));
        return Err(RecordError::Refused(refusal));
    }
    let gone = match is_plan {
        true => session.lost_text().map(|path| (path.clone(), session.newest_text(&path))),
        false if is_there => None,
        false => Some((path.clone(), session.newest_readable(&path))),
    };
    let (path, seq, bytes) = match gone {
        Some((path, found)) => match found? {
            Some((seq, bytes)) => (path, seq, bytes),
            // A plan has a cascade of its own for what no journal knows.
            None if is_plan => return session.record(&Event::Repaired, recorder),
            None => {
                let refusal = Refusal::missing(format!("no version of {path} is known"));
                return Err(RecordError::Refused(refusal));
            }
        },
        None => return session.record(&Event::Repaired, recorder),
    };
    let attempt = session.unit.attempt().max(1);
    session.change(recorder, "repaired", serde_json::Map::new(), attempt, &|_, _, _| {
        Ok(Change {
            summary: format!("{path} is back, from @{seq}"),
            effects: vec![Effect::Write { path: path.clone(), bytes: bytes.clone() }],
            ..Change::default()
        })
    })
}

/// The units whose documents cannot be read.
pub fn repairable(workspace: &Workspace, now: Time) -> Vec<String> {
    let report = status(workspace, None, now);
    let broken =
        report.rows.iter().filter(|row| row.state.lifecycle() == Lifecycle::Unknown && row.status_text == "unreadable");
    broken.map(|row| row.unit()).collect()
}
