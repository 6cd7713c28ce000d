//! What a unit's journal tells: its events, every version of its documents, and the way back to one of them.

use piton_dialect::Files as _;
use piton_model::hint::verbs;
use piton_model::{Change, Effect, Hint, Lifecycle, Refusal, Time, UnitRef};
use piton_store::journal::{Entry, FileChange};
use piton_store::{History, Log, seal};

use crate::Workspace;
use crate::find::find_alone;
use crate::record::{RecordError, Recorded, Recorder, Session};
use crate::target::Target;

/// The events of a unit.
#[derive(Debug)]
pub struct UnitLog {
    /// The unit.
    pub unit: String,
    /// What its journal holds.
    pub log: Log,
}

/// A version of a unit's documents.
#[derive(Debug)]
pub struct Version {
    /// The unit.
    pub unit: String,
    /// The number of the event after which it was like this.
    pub seq: u64,
    /// The documents, the main one first.
    pub documents: Vec<(String, Vec<u8>)>,
}

/// Reads the events of a unit, oldest first.
pub fn log(workspace: &Workspace, wanted: &UnitRef, now: Time) -> Result<UnitLog, RecordError> {
    let (target, history) = open(workspace, wanted, now)?;
    Ok(UnitLog { unit: target.name, log: history.log()? })
}

/// Reads the documents of a unit as they were after an event; without a number, as they are after the last one.
pub fn show(workspace: &Workspace, wanted: &UnitRef, seq: Option<u64>, now: Time) -> Result<Version, RecordError> {
    let (target, history) = open(workspace, wanted, now)?;
    let last = history.last()?.map_or(0, |entry| entry.seq);
    let seq = seq.unwrap_or(last);
    let log = history.log()?;
    let Some(entry) = log.events.iter().find(|entry| entry.seq == seq) else {
        return Err(RecordError::Refused(no_such_version(&target.name, seq, &log)));
    };
    let mut documents = Vec::new();
    for state in entry.documents.iter().filter(|state| state.hash.is_some()) {
        if let Some(bytes) = history.version(&state.path, seq)? {
            documents.push((state.path.clone(), bytes));
        }
    }
    Ok(Version { unit: target.name, seq, documents })
}

/// Makes an old version the newest. Nothing is lost: what is there now stays a version of its own.
pub fn rollback(
    workspace: &Workspace,
    wanted: &UnitRef,
    seq: u64,
    recorder: &Recorder,
) -> Result<Recorded, RecordError> {
    let version = show(workspace, wanted, Some(seq), recorder.now)?;
    let (target, _) = open(workspace, wanted, recorder.now)?;
    let mut session = Session::open(workspace, target, recorder)?;
    session.fence_writer(recorder, "rollback")?;
    let attempt = session.unit.attempt().max(1);
    let mut data = serde_json::Map::new();
    data.insert("to".to_owned(), seq.into());
    session.change(recorder, "rolled_back", data, attempt, &|_, _, files| {
        let mut effects = Vec::new();
        for (path, bytes) in &version.documents {
            // One that is like that already stays as it is.
            if files.look(path)?.as_deref() != Some(bytes.as_slice()) {
                effects.push(Effect::Write { path: path.clone(), bytes: bytes.clone() });
            }
        }
        Ok(Change { summary: format!("rolled back to version {seq}"), effects, ..Change::default() })
    })
}

/// What an event did to files, for people.
pub fn touched(entry: &Entry) -> Vec<String> {
    let mut paths: Vec<String> = entry
        .files
        .iter()
        .map(|change| match change {
            FileChange::Write { path, .. }
            | FileChange::Share { path, .. }
            | FileChange::Append { path, .. }
            | FileChange::Remove { path } => path.clone(),
            FileChange::Keep { to, .. } => to.clone(),
        })
        .collect();
    paths.dedup();
    paths
}

fn open(workspace: &Workspace, wanted: &UnitRef, now: Time) -> Result<(Target, History), RecordError> {
    let target = Target::find_with_journal(workspace, wanted, now)?;
    let is_ours = seal::inspect(&*workspace.disk)? == seal::Home::Ours;
    let history = if is_ours { History::open(&*workspace.disk, &target.key)? } else { None };
    match history {
        Some(history) => Ok((target, history)),
        None => {
            let refusal = Refusal::missing(format!("nothing has been recorded about {} yet", target.name));
            Err(RecordError::Refused(refusal.hint(first_record(workspace, &target, wanted, now))))
        }
    }
}

/// How a unit gets its first version. A beat says that an agent is at work, which is not true of one that is done; and a
/// unit without a document has nothing to keep.
fn first_record(workspace: &Workspace, target: &Target, wanted: &UnitRef, now: Time) -> Hint {
    let name = &target.name;
    let own = crate::record::documents_of(workspace, target);
    let is_there = own.iter().any(|path| matches!(workspace.disk.stamp(path), Ok(Some(_))));
    let is_done = find_alone(workspace, wanted, now).is_some_and(|unit| unit.state.lifecycle() == Lifecycle::Done);
    match (is_there, is_done) {
        (true, false) => verbs::BEAT.on(name).to("the first record keeps the document as it is now"),
        (true, true) => verbs::REPAIR.on(name).to("keep the document as it is now"),
        (false, _) => verbs::STATUS.on(name).to("it has no document of its own yet; see"),
    }
}

fn no_such_version(unit: &str, seq: u64, log: &Log) -> Refusal {
    let last = log.events.last().map_or(0, |entry| entry.seq);
    let after = log.compacted_up_to();
    let older: String = log.older().map(|entry| format!("@{}, ", entry.seq)).collect();
    let why = if seq > 0 && seq <= after { " any more, because its journal was compacted" } else { "" };
    Refusal::missing(format!("{unit} has no version @{seq}{why}; there are {older}@{} to @{last}", after + 1))
        .hint(verbs::LOG.on(unit).to("see them with"))
}
