//! Gives a unit to another agent.
//!
//! In a crew the new agent has a checkpoint and a journal of its own. Both units are locked, always in the order of
//! their journals, so that two takeovers that cross cannot wait for each other for ever. All files change with the
//! event of the old agent; then the new agent's journal begins with where its document came from. Should that be cut
//! off, the next record of the new agent finds its document, and adopts it.

use piton_dialect::crew::layout::agent_key;
use piton_model::hint::verbs;
use piton_model::{Arg, Change, Dialect, Effect, Event, Hint, Id, Refusal, UnitRef};
use piton_store::journal::Entry;
use piton_store::{History, SeenContent, SeenDocument};
use serde_json::{Map, Value};

use crate::Workspace;
use crate::crew::agent_target;
use crate::life::Claim;
use crate::record::{AWAITED, RecordError, Recorded, Recorder, Session};
use crate::target::Target;

/// Whether a live agent keeps its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// It does.
    No,
    /// It is known to be gone, whatever its signs say.
    Yes,
}

/// Gives a unit to another agent.
pub fn take_over(
    workspace: &Workspace,
    wanted: &UnitRef,
    agent: &str,
    force: Force,
    recorder: &Recorder,
) -> Result<Recorded, RecordError> {
    let target = match Target::find(workspace, wanted, recorder.now) {
        Ok(target) => target,
        // Somebody may have died in the middle of this very thing; the contact brings that to an end.
        found => Session::open_found(workspace, wanted, found, recorder)?.target.clone(),
    };
    let event = Event::TakenOver { agent: agent.to_owned() };
    let command = verbs::TAKEOVER.on(&target.name).with("--as", Arg::name(agent, "AGENT"));
    let claim = Claim { force: force == Force::Yes, command: &command, goes_on: false };
    if target.dialect != Dialect::Crew || agent_key(agent) == agent_key(&target.key.id) {
        let mut session = Session::open(workspace, target, recorder)?;
        session.fence_writer(recorder, event.name())?;
        session.spare_the_living(&claim, recorder).map_err(|error| session.advised(error, recorder))?;
        let recorded = session.record(&event, recorder);
        let mut recorded = recorded.map_err(|error| session.advised(error, recorder))?;
        recorded.handoff = session.handoff(Some(&session.target.key.id), recorder);
        return Ok(recorded);
    }
    let heir = Id::parse(agent)
        .map_err(|why| RecordError::Refused(Refusal::usage(format!("the agent {agent:?} is not an id: {why}"))))?;
    let heir = agent_target(workspace, &target.place.base, &heir, recorder.now);
    let (mut old, mut new) = open_both(workspace, target, heir, recorder)?;
    old.fence_writer(recorder, event.name())?;
    old.spare_the_living(&claim, recorder).map_err(|error| old.advised(error, recorder))?;
    let mut recorded = old.record_for(&new, &event, recorder)?;
    match new.begin(&old, recorded.seq, recorder) {
        Ok(warnings) => recorded.warnings.extend(warnings),
        // The work is in its new place, and its journal begins with the next record.
        Err(error) => recorded.warnings.push(format!("the journal of {agent} could not be begun yet: {error}").into()),
    }
    recorded.handoff = new.handoff(Some(&old.target.key.id), recorder);
    Ok(recorded)
}

/// The feature that an agent began with, or took over from the one who did. What its checkpoint calls it may be another word.
pub(crate) fn begun_feature(events: &[Entry]) -> Option<String> {
    let begins = |entry: &&Entry| match entry.event.as_str() {
        "started" => true,
        // An agent whose work another one took over has the same event, with the other's name.
        "taken_over" => entry.data.contains_key("from"),
        _ => false,
    };
    let began = events.iter().rfind(begins)?;
    began.data.get("feature").and_then(Value::as_str).map(str::to_owned)
}

/// Opens two units in the order of their journals.
fn open_both<'w>(
    workspace: &'w Workspace,
    old: Target,
    new: Target,
    recorder: &Recorder,
) -> Result<(Session<'w>, Session<'w>), RecordError> {
    if old.key.directory() < new.key.directory() {
        let old = Session::open(workspace, old, recorder)?;
        Ok((old, Session::open(workspace, new, recorder)?))
    } else {
        let new = Session::open(workspace, new, recorder)?;
        Ok((Session::open(workspace, old, recorder)?, new))
    }
}

impl Session<'_> {
    /// Records that another unit goes on with this one's work. Its document is not one of this unit's.
    fn record_for(&mut self, heir: &Session<'_>, event: &Event, recorder: &Recorder) -> Result<Recorded, RecordError> {
        let moment = self.moment(event, recorder);
        let own = self.target.key.document.clone();
        let document = heir.target.key.document.clone();
        let data = Map::from_iter([("agent".to_owned(), heir.target.key.id.as_str().into())]);
        self.change(recorder, event.name(), data, moment.attempt, &|_, place, files| {
            let Change { summary, warnings, effects, .. } = piton_dialect::crew::record(place, files, event, &moment)?;
            let handed = |effect| match effect {
                Effect::Write { path, bytes } if path != own => Effect::Share { path, bytes, before: None },
                other => other,
            };
            let effects: Vec<Effect> = effects.into_iter().map(handed).collect();
            let is_locked = |effect: &Effect| match effect {
                Effect::Share { path, before: None, .. } => *path == document,
                _ => false,
            };
            if !effects.iter().any(is_locked) {
                return Err(Refusal::document(format!("the new checkpoint would not be {document}")));
            }
            Ok(Change { summary, warnings, effects, next: None })
        })
    }

    /// Begins an attempt with the document that another unit's event has put there.
    fn begin(&mut self, from: &Session<'_>, seq: u64, recorder: &Recorder) -> Result<Vec<Hint>, RecordError> {
        let path = self.target.key.document.clone();
        let content = self.workspace().disk.read(&path);
        let content = content.map_err(|error| RecordError::Failed { message: format!("`{path}`: {error}") })?;
        let seen = SeenContent::new(content.bytes, content.stamp);
        self.contact.documents.insert(path.clone(), SeenDocument { content: Some(seen) });
        let history = History::open(&*self.workspace().disk, &from.target.key)?;
        let events = history.map(|history| history.log()).transpose()?.map(|log| log.events).unwrap_or_default();
        let from = from.target.name.clone();
        let mut data = Map::from_iter([("from".to_owned(), from.as_str().into()), ("seq".to_owned(), seq.into())]);
        data.extend(begun_feature(&events).map(|feature| ("feature".to_owned(), feature.into())));
        let attempt = self.unit.attempt() + 1;
        self.carried.insert(AWAITED.to_owned(), true.into());
        let recorded = self.change(recorder, "taken_over", data, attempt, &|_, _, files| {
            use piton_dialect::Files as _;
            let bytes = files.read(&path)?.ok_or_else(|| Refusal::document(format!("it is gone already: {path}")))?;
            let summary = format!("taken over from {from}@{seq}");
            let effects = vec![Effect::Write { path: path.clone(), bytes }];
            Ok(Change { summary, effects, ..Change::default() })
        })?;
        Ok(recorded.warnings)
    }
}
