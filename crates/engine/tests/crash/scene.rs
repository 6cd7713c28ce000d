//! A verb and the unit that it is about to change: what is on the disk before it, and what has to be there after it.

use std::collections::{BTreeMap, BTreeSet};

use piton_engine::{RecordError, log, record, show};
use piton_model::{Event, Time, UnitRef};
use piton_store::History;
use piton_store::journal::FileChange;
use piton_testkit::CrashDisk;

use crate::table::Dialect;
use crate::verb::{act, at, event, outside, recorder, workspace};

/// The lock of what a crew's agents share.
pub const LOCK: &str = ".epic_locks/epic_readme.lock";

/// What every file holds that is not ours alone.
pub type World = BTreeMap<String, Vec<u8>>;

/// Files by path, as versions of a unit's documents.
pub type Documents = Vec<(String, Vec<u8>)>;

/// An event that was acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acknowledged {
    pub seq: u64,
    pub event: String,
    pub summary: String,
    pub documents: Documents,
}

pub struct Scene {
    pub unit: &'static str,
    pub verb: String,
    pub prepared: String,
    pub base: CrashDisk,
    pub now: Time,
    pub acknowledged: Vec<Acknowledged>,
    /// The worlds in which the verb may leave the disk: as it was, as it was once it was looked at, and as it is done.
    /// With each the number of its last event.
    pub before: (World, u64),
    pub looked_at: (World, u64),
    pub after: (World, u64),
    /// Every version that a file ever had.
    pub versions: BTreeMap<String, BTreeSet<Vec<u8>>>,
    /// Files to which lines are added.
    pub logs: BTreeSet<String>,
    /// Whether there is no unit before, or none after.
    pub makes_or_ends: bool,
}

impl Scene {
    pub fn new(dialect: &Dialect, prepare: &str, verb: &str) -> Scene {
        let base = CrashDisk::default();
        let unit = dialect.unit;
        let mut versions: BTreeMap<String, BTreeSet<Vec<u8>>> = BTreeMap::new();
        let mut remember = |world: &World| {
            for (path, bytes) in world {
                versions.entry(path.clone()).or_default().insert(bytes.clone());
            }
        };
        for (path, text) in dialect.files {
            base.replace_outside(path, text.as_bytes());
        }
        base.sync_outside();
        remember(&world(&base));
        let steps: Vec<&str> = prepare.split("; ").filter(|step| !step.is_empty()).collect();
        for (number, step) in steps.iter().enumerate() {
            if !outside(&base, step) {
                act(&base, unit, step, at(number)).unwrap_or_else(|error| panic!("{unit}: {prepare}: {step}: {error}"));
            }
            remember(&world(&base));
        }
        let now = at(steps.len());
        let acknowledged = acknowledged(&base, unit, now);
        let last = |disk: &CrashDisk| self::acknowledged(disk, unit, now).last().map_or(0, |event| event.seq);
        let looked = base.after_kill();
        let is_new = matches!(look(&looked, unit, now), Ok(Looked::Nothing));
        let done = base.after_kill();
        let seq = act(&done, unit, verb, now).unwrap_or_else(|error| panic!("{unit}: {prepare}: {verb}: {error}"));
        assert_eq!(seq, last(&done), "{unit}: {prepare}: {verb}");
        assert!(!done.files().iter().any(|path| path == LOCK), "{unit}: {prepare}: {verb}: the lock is kept");
        remember(&world(&looked));
        remember(&world(&done));
        let is_over = matches!(look(&done.after_kill(), unit, now), Ok(Looked::Nothing));
        let makes_or_ends = is_new || is_over;
        let before = (world(&base), acknowledged.last().map_or(0, |event| event.seq));
        let looked_at = (world(&looked), last(&looked));
        let after = (world(&done), seq);
        let (verb, prepared) = (verb.to_owned(), prepare.to_owned());
        let logs = logs(&done, unit, now);
        Scene { unit, verb, prepared, base, now, acknowledged, before, looked_at, after, versions, logs, makes_or_ends }
    }

    pub fn act(&self, disk: &CrashDisk) -> Result<u64, RecordError> {
        act(disk, self.unit, &self.verb, self.now)
    }

    /// Whether somebody made a document unreadable, which whoever has the lock restores.
    pub fn is_torn(&self) -> bool {
        self.prepared.contains("tear ")
    }

    pub fn name(&self) -> String {
        format!("{} ({}) {}", self.unit, self.prepared, self.verb)
    }
}

/// What a command found that only looked.
#[derive(Debug, PartialEq, Eq)]
pub enum Looked {
    Unit,
    /// There is no unit.
    Nothing,
}

/// Whether the unit has no document: it was never made, or somebody took it away.
pub fn is_away(error: &RecordError) -> bool {
    match error {
        RecordError::NotFound(_) => true,
        RecordError::Refused(refusal) => refusal.message.contains("is gone: "),
        _ => false,
    }
}

/// Lets a command come that brings the unit to rest and is then refused: its attempt has not begun.
pub fn look(disk: &CrashDisk, unit: &str, now: Time) -> Result<Looked, String> {
    let wanted = UnitRef::parse(unit).expect("a unit's name");
    let ghost = piton_engine::Recorder { attempt: Some(u64::MAX.into()), ..recorder(now) };
    if unit == "crew:Secondary-A" {
        // Whoever took it over has a journal of its own, which has to come to rest as well.
        let heir = UnitRef::parse("crew:Secondary-C").expect("a unit's name");
        match record(&workspace(disk), &heir, &Event::Beat, &ghost) {
            Err(RecordError::Refused(_) | RecordError::NotFound(_)) => {}
            other => return Err(format!("the heir: {other:?}")),
        }
    }
    match record(&workspace(disk), &wanted, &Event::Beat, &ghost) {
        Err(RecordError::Refused(refusal)) if refusal.message.contains("has not begun") => Ok(Looked::Unit),
        Err(error) if is_away(&error) => {
            // One that is started again brings the rest of its first start to an end.
            match record(&workspace(disk), &wanted, &event(unit, "start", ""), &ghost) {
                Err(RecordError::Refused(_)) => Ok(Looked::Nothing),
                other => Err(format!("{other:?}")),
            }
        }
        other => Err(format!("{other:?}")),
    }
}

/// Every file but our own, with ids that are chance made alike. The lock of whoever died stays until the next one who
/// needs it.
pub fn world(disk: &CrashDisk) -> World {
    let is_own = |path: &str| path.starts_with(".piton/") || path == LOCK;
    let files = disk.files().into_iter().filter(|path| !is_own(path));
    files.map(|path| (path.clone(), masked(disk.bytes(&path).unwrap_or_default()))).collect()
}

/// Everything in the unit's journal, with each version of its documents.
pub fn acknowledged(disk: &CrashDisk, unit: &str, now: Time) -> Vec<Acknowledged> {
    let wanted = UnitRef::parse(unit).expect("a unit's name");
    let Ok(found) = log(&workspace(disk), &wanted, now) else { return Vec::new() };
    let journal = disk.files().into_iter().find(|path| path.starts_with(".piton/units") && path.ends_with("/journal"));
    let history = journal.and_then(|path| History::open_path(disk, &path).expect("it opens")).expect("it is there");
    let events = found.log.events.into_iter().map(|entry| {
        let known = entry.documents.iter().filter(|state| state.hash.is_some());
        let version = |path: &String| history.version(path, entry.seq).expect("it can be read");
        let documents = known.filter_map(|state| Some((state.path.clone(), masked(version(&state.path)?)))).collect();
        Acknowledged { seq: entry.seq, event: entry.event.clone(), summary: entry.summary.clone(), documents }
    });
    events.collect()
}

/// A version as it is shown to people.
pub fn shown(disk: &CrashDisk, unit: &str, seq: u64, now: Time) -> Result<Documents, String> {
    let wanted = UnitRef::parse(unit).expect("a unit's name");
    let version = show(&workspace(disk), &wanted, Some(seq), now).map_err(|error| format!("show @{seq}: {error:?}"))?;
    Ok(version.documents.into_iter().map(|(path, bytes)| (path, masked(bytes))).collect())
}

fn logs(disk: &CrashDisk, unit: &str, now: Time) -> BTreeSet<String> {
    let wanted = UnitRef::parse(unit).expect("a unit's name");
    let events = log(&workspace(disk), &wanted, now).expect("it has a journal").log.events;
    let appends = events.iter().flat_map(|entry| &entry.files).filter_map(|change| match change {
        FileChange::Append { path, .. } => Some(path.clone()),
        FileChange::Write { .. } | FileChange::Share { .. } | FileChange::Keep { .. } | FileChange::Remove { .. } => {
            None
        }
    });
    appends.collect()
}

/// Ids that are made by chance are replaced by one that is not.
fn masked(mut bytes: Vec<u8>) -> Vec<u8> {
    const SHAPE: &[u8] = b"xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    let is_id = |window: &[u8]| {
        window.iter().zip(SHAPE).all(|(byte, shape)| match shape {
            b'-' => *byte == b'-',
            _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(byte),
        })
    };
    let places: Vec<usize> = (8..bytes.len()).filter(|at| bytes[*at] == b'-').map(|at| at - 8).collect();
    for at in places {
        if let Some(window) = bytes.get_mut(at..at + SHAPE.len())
            && is_id(window)
        {
            window.copy_from_slice(SHAPE);
        }
    }
    bytes
}
