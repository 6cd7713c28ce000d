//! Records an event of a unit: the one way in which anything is written.
//!
//! Lock, contact (finish what a crash left, write down what others did), decide, commit. When somebody writes a
//! document in the instant of the commit, nothing has happened, and it is decided again.

mod carried;
mod data;
mod dialects;
mod fence;
mod files;
mod hints;
mod lock_files;
mod outcome;
mod ready;
mod restore;
mod shared;

use piton_dialect::Place;
use piton_model::hint::verbs;
use piton_model::{Change, Dialect, Effect, Event, Hint, Moment, Refusal, StepTo, UnitRef};
use piton_store::disk::{Disk, Handle, LockError};
use piton_store::{CommitError, Contact, LockedUnit, NewEntry, Observation, holder_of, seal};

pub(crate) use self::carried::{ALIVE_AT, AWAITED, HOLDER, HOLDER_SESSION, SESSION, TICKET};
pub(crate) use self::data::read as recorded;
pub(crate) use self::dialects::resume_plan;
pub(crate) use self::files::DiskFiles;
use self::lock_files::LockFiles;
use self::outcome::Committing;
pub use self::outcome::{RecordError, Recorded, Recorder};
use crate::find::NotFound;
use crate::hook::bind_known;
use crate::life::Claim;
use crate::takeover::{Force, take_over};
use crate::target::{NoTarget, Target};
use crate::{Workspace, half_written};

/// How often a race with somebody else's editor is run again.
const MOST_RACES: usize = 50;

/// Records an event. When this returns, it is durable.
pub fn record(
    workspace: &Workspace,
    wanted: &UnitRef,
    event: &Event,
    recorder: &Recorder,
) -> Result<Recorded, RecordError> {
    if let Event::TakenOver { agent } = event {
        return take_over(workspace, wanted, agent, Force::No, recorder);
    }
    let mut session = match (Target::find(workspace, wanted, recorder.now), event, wanted.dialect) {
        (Err(NoTarget::NotFound(NotFound::Nothing { .. })), Event::Started(_), Some(dialect)) => {
            let target = Target::make(workspace, wanted, dialect);
            // A unit that is not there yet and cannot be made leaves nothing behind, not even a journal.
            let (files, moment) = (DiskFiles::new(&*workspace.disk, None), first_moment(recorder));
            dialects::record(dialect, &target.place, &files, event, &moment).map_err(RecordError::Refused)?;
            Session::open(workspace, target, recorder)?
        }
        (Err(NoTarget::NotFound(NotFound::Nothing { .. })), Event::Started(_), None) => {
            let refusal = Refusal::usage(format!("nobody knows what kind of unit this is to be: {wanted}"))
                .hint("name its dialect, such as build:PRD-009, task:migration/T060, crew:Secondary-A");
            return Err(RecordError::Refused(refusal));
        }
        (target, _, _) => Session::open_found(workspace, wanted, target, recorder)?,
    };
    session.fence_writer(recorder, event.name())?;
    session.fence_stage(recorder, event)?;
    session.fence_verdict(recorder, event)?;
    session.fence_finish(recorder, event).map_err(|error| session.advised(error, recorder))?;
    if let Event::Restarted { force } = event {
        let command = verbs::RESTART.on(&session.target.name);
        let claim = Claim { force: *force, command: &command, goes_on: false };
        session.spare_the_living(&claim, recorder).map_err(|error| session.advised(error, recorder))?;
    }
    if let (Event::StepMoved(moved), None) = (event, recorder.attempt)
        && moved.to == StepTo::Skipped
    {
        // Who leaves a step out does not want its worker to call it done afterwards.
        moved.steps.iter().for_each(|step| session.end_worker(step));
    }
    if let Some(ready) = session.make_ready(event, recorder)? {
        return Ok(ready);
    }
    let recorded = session.record(event, recorder);
    let mut recorded = recorded.map_err(|error| session.advised(error, recorder))?;
    if let Some(name) = &recorder.session {
        bind_known(workspace, name, &session.target);
    }
    if let Event::Restarted { .. } = event {
        recorded.handoff = session.handoff(None, recorder);
    }
    Ok(recorded)
}

/// Records an event of a unit that is there, with what `prepare` makes later events know.
pub(crate) fn record_with<T>(
    workspace: &Workspace,
    wanted: &UnitRef,
    event: &Event,
    recorder: &Recorder,
    prepare: impl FnOnce(&mut Session<'_>) -> T,
) -> Result<(Recorded, T), RecordError> {
    let found = Target::find(workspace, wanted, recorder.now);
    let mut session = Session::open_found(workspace, wanted, found, recorder)?;
    session.fence_writer(recorder, event.name())?;
    let prepared = prepare(&mut session);
    Ok((session.record(event, recorder)?, prepared))
}

fn first_moment(recorder: &Recorder) -> Moment {
    let session = recorder.session.clone();
    Moment {
        now: recorder.now,
        by: recorder.by.clone(),
        attempt: 1,
        session,
        fresh_id: fresh_id(),
        ticket: recorder.attempt,
    }
}

/// A unit that is locked and whose documents are known.
pub(crate) struct Session<'w> {
    workspace: &'w Workspace,
    pub target: Target,
    pub unit: LockedUnit<'w>,
    pub contact: Contact,
    pub warnings: Vec<Hint>,
    /// Whether documents may be written later than events.
    pub is_deferring: bool,
    /// What later events are to know, beside when this one was.
    pub carried: serde_json::Map<String, serde_json::Value>,
    /// Locks of files that units share.
    shared: Vec<(String, Box<dyn Handle>)>,
}

impl<'w> Session<'w> {
    /// Locks a unit that was looked for. One that has a journal and no document may have lost it to a crash, and then
    /// the contact brings it back; else somebody took it away, and that is said.
    pub(crate) fn open_found(
        workspace: &'w Workspace,
        wanted: &UnitRef,
        found: Result<Target, NoTarget>,
        recorder: &Recorder,
    ) -> Result<Session<'w>, RecordError> {
        let error = match found {
            Ok(target) => return Session::open(workspace, target, recorder),
            Err(error @ NoTarget::NotFound(NotFound::Nothing { .. })) => error,
            Err(error) => return Err(error.into()),
        };
        let Ok(target) = Target::find_with_journal(workspace, wanted, recorder.now) else { return Err(error.into()) };
        let session = Session::open(workspace, target, recorder)?;
        if session.unit.seq() == 0 {
            // Whoever was about to make it died before anything was recorded.
            return Err(error.into());
        }
        let path = workspace.disk.resolve(&session.target.key.document)?;
        if session.contact.documents.get(&path).is_some_and(|seen| seen.content.is_some()) {
            return Ok(session);
        }
        let name = &session.target.name;
        let refusal = Refusal::missing(format!("the document of {name} is gone: {path}"));
        // What was taken over went away on purpose, and its work is elsewhere.
        let is_taken = session.unit.last().is_some_and(|last| last.event == crate::repair::TAKEN_OVER);
        let refusal = if is_taken { refusal } else { refusal.hint(verbs::REPAIR.on(name).to("bring it back")) };
        let refusal = refusal.hint(verbs::LOG.on(name).to("see what is known of it"));
        Err(RecordError::Refused(refusal))
    }

    /// Locks a unit, and brings its documents to where its journal says they are.
    pub(crate) fn open(
        workspace: &'w Workspace,
        mut target: Target,
        recorder: &Recorder,
    ) -> Result<Session<'w>, RecordError> {
        let disk: &dyn Disk = &*workspace.disk;
        let mut warnings = Vec::new();
        if !target.is_journaled
            && let Some(kept) = seal::prepare(disk)?
        {
            warnings.push(format!("a journal that came from elsewhere is not believed; it was put into {kept}").into());
        }
        let documents = dialects::documents(target.dialect, &target.place, &DiskFiles::new(disk, None));
        target.key.document = documents.first().cloned().unwrap_or_default();
        let busy = |error| match error {
            LockError::Busy { holder } => RecordError::Busy { unit: target.name.clone(), holder: holder_of(&holder) },
            LockError::Disk(error) => error.into(),
        };
        let mut unit = LockedUnit::lock(disk, target.key.clone(), recorder.wait, &recorder.holder).map_err(busy)?;
        if let Some(cut) = unit.cut() {
            warnings.push(
                format!("the journal ended in a torn line, which was never acknowledged; it is kept in {cut}").into(),
            );
        }
        if let Some(saved) = &target.saved {
            unit.is_saved(saved)?;
        }
        if let Some(seldom) = dialects::seldom_read(target.dialect, &target.place) {
            unit.is_seldom_read(&seldom)?;
        }
        let is_emptied = |path: &String| {
            disk.stamp(path).ok().flatten().is_some_and(|stamp| stamp.size == 0 && half_written::is_new(&stamp))
        };
        half_written::wait_while(|| Ok::<_, RecordError>(documents.iter().any(is_emptied)))?;
        let others = || dialects::shared(target.dialect, &target.place, &DiskFiles::new(disk, None));
        let contact = unit.contact_beside(&documents, &others, recorder.now)?;
        warnings.extend(contact.observed.iter().map(|seen| Hint::text(described(seen))));
        let mut session = Session {
            workspace,
            target,
            unit,
            contact,
            warnings,
            is_deferring: false,
            carried: serde_json::Map::new(),
            shared: Vec::new(),
        };
        session.restore_unreadable(recorder)?;
        Ok(session)
    }

    /// Decides and commits, as often as somebody else's writing makes it necessary.
    pub(crate) fn record(&mut self, event: &Event, recorder: &Recorder) -> Result<Recorded, RecordError> {
        let moment = self.moment(event, recorder);
        if let Event::TakenOver { agent } = event {
            self.carried.insert(HOLDER.to_owned(), agent.as_str().into());
            self.carried.insert(HOLDER_SESSION.to_owned(), serde_json::Value::Null);
            self.carried.insert(AWAITED.to_owned(), true.into());
        }
        if let (Event::Unblocked { .. }, None) = (event, recorder.attempt) {
            // A person answered, and whoever was blocked has stopped: the unit waits for a worker that continues it.
            self.is_no_sign_of_life();
            self.carried.insert(AWAITED.to_owned(), true.into());
        }
        let mut data = data::of(event);
        let is_word = matches!(event, Event::Noted { .. } | Event::Unblocked { .. });
        if recorder.attempt.is_some() {
            // A worker's word is not a person's.
            data.extend(recorder.attempt.map(|ticket| (TICKET.to_owned(), ticket.to_string().into())));
        }
        if is_word {
            data.extend(recorder.session.iter().map(|session| (SESSION.to_owned(), session.as_str().into())));
        }
        let (workspace, target) = (self.workspace, self.target.clone());
        self.change(recorder, event.name(), data, moment.attempt, &|dialect, place, files| {
            let change = dialects::record(dialect, place, files, event, &moment)?;
            Ok(match dialect {
                Dialect::Task => ready::with_next(workspace, &target, change, event, recorder),
                Dialect::Pipeline | Dialect::Plan | Dialect::Build | Dialect::Crew => change,
            })
        })
    }

    /// Who records an event, and as which attempt: the next one, when the event begins one.
    pub(crate) fn moment(&self, event: &Event, recorder: &Recorder) -> Moment {
        let current = self.unit.attempt();
        Moment {
            now: recorder.now,
            by: recorder.by.clone(),
            attempt: current + u64::from(event.begins_attempt() || current == 0),
            session: recorder.session.clone(),
            fresh_id: fresh_id(),
            ticket: recorder.attempt,
        }
    }

    /// What a person pastes into the new session of a crew's agent, who goes on with the work of another one, or begins.
    /// The event is recorded already, so nothing is refused for the want of it.
    pub(crate) fn handoff(&self, from: Option<&str>, recorder: &Recorder) -> Option<String> {
        if self.target.dialect != Dialect::Crew {
            return None;
        }
        let files = DiskFiles::new(&*self.workspace.disk, None);
        piton_dialect::crew::handoff(&self.target.place, &files, from, &first_moment(recorder)).ok()
    }

    /// Where the unit is.
    pub(crate) fn workspace(&self) -> &'w Workspace {
        self.workspace
    }

    /// The unit's files, its documents as they were read under the lock.
    pub(crate) fn files(&self) -> DiskFiles<'_> {
        DiskFiles::new(&*self.workspace.disk, Some(&self.contact.documents))
    }

    /// Makes a change that a pure function decides.
    pub(crate) fn change(
        &mut self,
        recorder: &Recorder,
        name: &str,
        data: serde_json::Map<String, serde_json::Value>,
        attempt: u64,
        decide: &dyn Fn(Dialect, &Place, &DiskFiles<'_>) -> Result<Change, Refusal>,
    ) -> Result<Recorded, RecordError> {
        let mut locks = LockFiles::default();
        for _ in 0..MOST_RACES {
            let files = self.files().without(&locks.left_alone);
            let change = decide(self.target.dialect, &self.target.place, &files).map_err(RecordError::Refused)?;
            // A shared file is decided about under its lock, so a first decision only tells which ones there are.
            if self.lock_shared(&change, recorder.wait)?
                || locks.take(self.workspace, &self.target, &change, name, recorder)?
            {
                continue;
            }
            let mut entry = self.entry(recorder, name, change.summary.clone(), attempt);
            entry.data = data.clone();
            entry.carried.extend(self.carried.clone());
            match self.commit(entry, &change.effects) {
                Ok(seq) => {
                    let mut warnings = std::mem::take(&mut self.warnings);
                    warnings.extend(change.warnings);
                    warnings.append(&mut locks.warnings);
                    let unit = self.target.name.clone();
                    let Change { summary, next, .. } = change;
                    return Ok(Recorded { unit, seq, attempt, summary, warnings, next, handoff: None });
                }
                Err(Committing::Raced) => self.look_again(recorder)?,
                Err(Committing::Failed(error)) => return Err(error),
            }
        }
        let message = format!("somebody else keeps writing the documents of {}", self.target.name);
        Err(RecordError::Failed { message })
    }

    /// The documents as they are now, with what others did written down.
    pub(crate) fn look_again(&mut self, recorder: &Recorder) -> Result<(), RecordError> {
        let documents: Vec<String> = self.contact.documents.keys().cloned().collect();
        self.contact = self.unit.contact(&documents, recorder.now)?;
        self.warnings.extend(self.contact.observed.iter().map(|seen| Hint::text(described(seen))));
        Ok(())
    }

    fn commit(&mut self, entry: NewEntry, effects: &[Effect]) -> Result<u64, Committing> {
        let committed = match self.is_deferring {
            true => self.unit.commit_deferred(entry, effects, &mut self.contact.documents),
            false => self.unit.commit(entry, effects, &self.contact.documents),
        };
        match committed {
            Ok(seq) => Ok(seq),
            Err(CommitError::Raced { .. }) => Err(Committing::Raced),
            Err(error) => Err(Committing::Failed(RecordError::Failed { message: error.to_string() })),
        }
    }

    /// An event that has no number yet.
    pub(crate) fn entry(&self, recorder: &Recorder, event: &str, summary: String, attempt: u64) -> NewEntry {
        let mut carried = serde_json::Map::from_iter([(ALIVE_AT.to_owned(), recorder.now.to_string().into())]);
        if self.is_awaited() {
            carried.insert(AWAITED.to_owned(), false.into());
        }
        NewEntry {
            at: recorder.now,
            attempt,
            by: recorder.by.clone(),
            event: event.to_owned(),
            summary,
            data: serde_json::Map::new(),
            carried,
        }
    }
}

/// The documents of a unit that is to be written, the main one first.
pub(crate) fn documents_of(workspace: &Workspace, target: &Target) -> Vec<String> {
    dialects::documents(target.dialect, &target.place, &DiskFiles::new(&*workspace.disk, None))
}

fn described(observation: &Observation) -> String {
    format!("{} {} (@{})", observation.path, observation.what, observation.seq)
}

/// An id that nobody has used. The standard library's hash maps are seeded by the system's random numbers.
pub(crate) fn fresh_id() -> String {
    use std::hash::{BuildHasher as _, RandomState};
    let random = || RandomState::new().hash_one(std::process::id());
    let digits = format!("{:016x}{:016x}", random(), random());
    format!("{}-{}-{}-{}-{}", &digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..])
}
