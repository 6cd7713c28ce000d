//! What is known of the sessions of a host: which unit each works on, whether it lives, and what it is still to be told.
//!
//! A session has one small file, which is locked while one of its hooks is at work. When it ends the file moves to another
//! directory, so that whoever looks for sessions that went away reads only those that may have. A content that is torn
//! counts as none: the session is then known by nothing but its next deed.
//!
//! Nothing here is more than a hint. Only that a session is at work on its unit is made durable, once, because after a
//! power cut that alone tells that its work was interrupted; the rest can be lost without harm.

use std::time::Duration;

use piton_model::{Dialect, Id, Time, UnitRef};
use piton_store::disk::{Access, Disk, DiskError, Handle, LockError, Open, Rename};
use piton_store::seal;
use serde_json::{Map, Value, json};

use super::process;
use crate::Workspace;
use crate::target::Target;

/// Where the files are.
const DIRECTORY: &str = ".piton/sessions";

/// Where those of sessions that ended are.
const ENDED: &str = ".piton/sessions-ended";

/// The largest file that is read.
const LARGEST: usize = 64 * 1024;

/// How much a file may have grown before all of it is read again.
const ROOM: usize = 1024;

/// How long another hook of the same session is waited for.
const WAIT: Duration = Duration::from_secs(3);

/// How many alarms wait for the model.
const MOST_ALARMS: usize = 12;

/// How many helpers may be on their way.
const MOST_WANTED: usize = 16;

/// How many files are looked at to find sessions.
const MOST_SESSIONS: usize = 2_000;

/// How long the file of a session that ended is kept, in seconds.
const KEPT: i64 = 7 * 24 * 60 * 60;

/// The unit that a session works on, in enough detail to be found without a survey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bound {
    pub dialect: Dialect,
    pub base: String,
    pub id: Vec<Id>,
    pub document: Option<String>,
}

/// What is known of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Session {
    /// The unit it works on.
    pub bound: Option<Bound>,
    /// The unit whose brief it was given, without having touched it.
    pub shown: Option<Bound>,
    /// The process it runs in.
    pub process: Option<String>,
    /// Whether a lead started it for its unit.
    pub is_worker: bool,
    /// Whether a turn has begun and not ended.
    pub is_open: bool,
    /// Whether the disk has it that a turn began that is about this unit.
    is_sure: bool,
    /// How it ended.
    pub ended: Option<String>,
    /// How many prompts it was given by people.
    pub prompts: u64,
    /// When it last gave a recorded sign of life, in seconds.
    pub alive_at: i64,
    /// When anything was last written here, in seconds.
    pub seen_at: i64,
    /// What it was told at its last start, as a digest.
    pub told: Option<String>,
    /// What the model said last.
    pub said: Option<String>,
    /// What the model is still to be told.
    pub alarms: Vec<String>,
    /// Helpers that are about to start: their types, and the steps they are given.
    pub wanted: Vec<(String, Vec<String>)>,
}

impl Bound {
    /// The unit of a target.
    pub fn of(target: &Target) -> Bound {
        let place = &target.place;
        Bound {
            dialect: target.dialect,
            base: place.base.clone(),
            id: place.id.clone(),
            document: place.document.clone(),
        }
    }

    /// The target again.
    pub fn target(&self, workspace: &Workspace) -> Target {
        Target::new(workspace, self.dialect, self.base.clone(), self.id.clone(), self.document.clone())
    }

    /// Whether it is the same unit.
    pub fn is(&self, other: &Bound) -> bool {
        (self.dialect, &self.base, &self.id) == (other.dialect, &other.base, &other.id)
    }

    fn json(&self) -> Value {
        let id = self.id.iter().map(Id::as_str).collect::<Vec<_>>().join("/");
        json!({"dialect": self.dialect.word(), "base": self.base, "id": id, "document": self.document})
    }

    fn read(value: &Value) -> Option<Bound> {
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let id = text("id")?.split('/').map(Id::parse).collect::<Result<Vec<_>, _>>().ok()?;
        let document = text("document").map(str::to_owned);
        Some(Bound { dialect: text("dialect")?.parse().ok()?, base: text("base")?.to_owned(), id, document })
    }
}

impl Session {
    /// Adds something that the model has to be told, once.
    pub fn alarm(&mut self, text: String) {
        if self.alarms.len() < MOST_ALARMS && !self.alarms.contains(&text) {
            self.alarms.push(text);
        }
    }

    /// Remembers a helper that is about to start.
    pub fn want(&mut self, kind: String, steps: Vec<String>) {
        if self.wanted.len() >= MOST_WANTED {
            self.wanted.remove(0);
        }
        self.wanted.push((kind, steps));
    }

    /// The steps of the helper that starts: the first of its type, else the first at all.
    pub fn take_wanted(&mut self, kind: &str) -> Vec<String> {
        let at = self.wanted.iter().position(|(wanted, _)| wanted == kind);
        match at.or_else(|| self.wanted.iter().position(|(wanted, _)| wanted.is_empty())) {
            Some(at) => self.wanted.remove(at).1,
            None => Vec::new(),
        }
    }

    /// Whether it may still do something: it has not ended, and its process is not known to be gone.
    pub fn may_live(&self) -> bool {
        self.ended.is_none() && self.process.as_deref().is_none_or(process::may_live)
    }

    /// Whether it went away in the middle of a turn.
    pub fn has_crashed(&self) -> bool {
        self.is_open && self.ended.is_none() && self.process.as_deref().is_some_and(|mark| !process::may_live(mark))
    }

    /// Whether nothing of it has to be written down any more.
    fn is_over(&self, now: Time) -> bool {
        match &self.process {
            _ if self.ended.is_some() => true,
            _ if self.bound.is_some() && self.has_crashed() => false,
            Some(process) => !process::may_live(process),
            // Nobody knows whether it lives. One that is silent for long is not asked about.
            None => self.is_old(now),
        }
    }

    fn is_old(&self, now: Time) -> bool {
        now.unix_seconds().saturating_sub(self.seen_at) > KEPT
    }

    fn read(bytes: &[u8]) -> Option<Session> {
        // Behind the first line may be the rest of a longer one.
        let line = bytes.split(|byte| *byte == b'\n').next().filter(|line| !line.is_empty())?;
        let all: Value = serde_json::from_slice(line).ok()?;
        let text = |key: &str| all.get(key).and_then(Value::as_str).map(str::to_owned);
        let number = |key: &str| all.get(key).and_then(Value::as_i64).unwrap_or(0);
        let texts = |value: &Value| -> Vec<String> {
            value.as_array().into_iter().flatten().filter_map(|text| Some(text.as_str()?.to_owned())).collect()
        };
        let wanted = all.get("wanted").and_then(Value::as_array).into_iter().flatten();
        Some(Session {
            bound: all.get("bound").and_then(Bound::read),
            shown: all.get("shown").and_then(Bound::read),
            process: text("process"),
            is_worker: all.get("is_worker").and_then(Value::as_bool).unwrap_or(false),
            is_open: all.get("is_open").and_then(Value::as_bool).unwrap_or(false),
            is_sure: all.get("is_sure").and_then(Value::as_bool).unwrap_or(false),
            ended: text("ended"),
            prompts: u64::try_from(number("prompts")).unwrap_or(0),
            alive_at: number("alive_at"),
            // It is in every file that is whole.
            seen_at: all.get("seen_at").and_then(Value::as_i64)?,
            told: text("told"),
            said: text("said"),
            alarms: all.get("alarms").map(texts).unwrap_or_default(),
            wanted: wanted
                .filter_map(|each| Some((each.get("type")?.as_str()?.to_owned(), texts(each.get("steps")?))))
                .collect(),
        })
    }

    fn text(&self) -> String {
        let wanted: Vec<Value> =
            self.wanted.iter().map(|(kind, steps)| json!({"type": kind, "steps": steps})).collect();
        let all = json!({
            "bound": self.bound.as_ref().map(Bound::json),
            "shown": self.shown.as_ref().map(Bound::json),
            "process": self.process,
            "is_worker": self.is_worker.then_some(true),
            "is_open": self.is_open,
            "is_sure": self.is_sure,
            "ended": self.ended,
            "prompts": self.prompts,
            "alive_at": self.alive_at,
            "seen_at": self.seen_at,
            "told": self.told,
            "said": self.said,
            "alarms": self.alarms,
            "wanted": wanted,
        });
        let says =
            |(_, value): &(String, Value)| !value.is_null() && value.as_array().is_none_or(|all| !all.is_empty());
        let said: Map<String, Value> = match all {
            Value::Object(all) => all.into_iter().filter(says).collect(),
            _ => Map::new(),
        };
        format!("{}\n", Value::Object(said))
    }
}

/// A session's file, locked.
pub(crate) struct Desk<'d> {
    pub session: Session,
    before: Session,
    /// Nothing where there is no file: what is known then is forgotten.
    file: Option<File<'d>>,
}

struct File<'d> {
    disk: &'d dyn Disk,
    id: Id,
    handle: Box<dyn Handle>,
    /// Whether it has no content yet.
    is_new: bool,
}

impl<'d> Desk<'d> {
    /// Locks the file of a session; it is made when it is missing. `.piton` is made as well.
    pub fn open(disk: &'d dyn Disk, id: &Id) -> Result<Desk<'d>, DiskError> {
        Desk::open_within(disk, id, WAIT)
    }

    fn open_within(disk: &'d dyn Disk, id: &Id, wait: Duration) -> Result<Desk<'d>, DiskError> {
        seal::prepare(disk)?;
        let path = path_of(id);
        let locked = match disk.lock(&path, wait) {
            Err(LockError::Disk(error)) if error.is_missing() => {
                disk.make_directory(DIRECTORY, Access::Private)?;
                disk.lock(&path, wait)
            }
            locked => locked,
        };
        let handle = locked.map_err(|error| match error {
            LockError::Busy { .. } => DiskError { doing: "lock", path, error: std::io::ErrorKind::TimedOut.into() },
            LockError::Disk(error) => error,
        })?;
        let found = Session::read(&content(&*handle)?);
        let is_new = found.is_none();
        // One that ended may go on.
        let session = found.or_else(|| read(disk, &ended_path_of(id))).unwrap_or_default();
        let file = File { disk, id: id.clone(), handle, is_new };
        Ok(Desk { before: session.clone(), session, file: Some(file) })
    }

    /// A desk without a file, for when there is none to be had.
    pub fn nowhere() -> Desk<'d> {
        Desk { before: Session::default(), session: Session::default(), file: None }
    }

    /// Writes what has changed. That a turn began which is about the session's unit is durable when this returns.
    pub fn save(&mut self, now: Time) -> Result<(), DiskError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        if self.session != self.before {
            self.session.seen_at = now.unix_seconds();
            let was_sure = self.session.is_sure && self.session.bound == self.before.bound;
            self.session.is_sure = was_sure || (self.session.is_open && self.session.bound.is_some());
            let text = self.session.text();
            file.handle.write_at(0, text.as_bytes())?;
            file.handle.truncate(text.len() as u64)?;
            file.is_new = false;
            if self.session.is_sure && !was_sure {
                file.handle.sync()?;
            }
            self.before = self.session.clone();
        }
        match self.session.ended {
            Some(_) => file.put_away(),
            None => Ok(()),
        }
    }
}

impl File<'_> {
    /// Moves the file of a session that ended to where nobody looks for those that may have gone away.
    fn put_away(&self) -> Result<(), DiskError> {
        let (from, to) = (path_of(&self.id), ended_path_of(&self.id));
        let moved = match self.is_new {
            // What is known of it is there already.
            true => self.disk.remove(&from),
            false => self.disk.rename(&from, &to, Rename::Replace).or_else(|error| {
                self.disk.make_directory(ENDED, Access::Private).map_err(|_| error)?;
                self.disk.rename(&from, &to, Rename::Replace)
            }),
        };
        match moved {
            Err(error) if !error.is_missing() => Err(error),
            _ => Ok(()),
        }
    }
}

/// What is known of a session that has not ended, without waiting for anybody; nothing when it is not known or `.piton`
/// is not ours.
pub(crate) fn peek(disk: &dyn Disk, id: &Id) -> Option<Session> {
    let file = disk.open(&path_of(id), Open::Existing).ok()?;
    if seal::inspect(disk).ok()? != seal::Home::Ours {
        return None;
    }
    Session::read(&content(&*file).ok()?)
}

/// What is known of a session that ended.
pub(crate) fn recall(disk: &dyn Disk, id: &Id) -> Option<Session> {
    let session = read(disk, &ended_path_of(id))?;
    matches!(seal::inspect(disk), Ok(seal::Home::Ours)).then_some(session)
}

/// All sessions that are known and have not ended, but for one. Those of which nothing is to be expected any more are
/// put away, unless somebody is at them.
pub(crate) fn others(disk: &dyn Disk, own: &Id, now: Time) -> Vec<(Id, Session)> {
    let mut all = list(disk, DIRECTORY, path_of);
    all.retain(|(id, session)| {
        if id == own {
            return false;
        }
        let is_over = session.is_over(now);
        if is_over && let Ok(mut desk) = Desk::open_within(disk, id, Duration::ZERO) {
            // Somebody may have taken it up again since.
            if desk.session.is_over(now) {
                desk.session.ended.get_or_insert_with(|| "gone".to_owned());
            }
            // It is found again when this fails.
            let _ = desk.save(now);
        }
        !is_over
    });
    all
}

/// Whether a session that no lead started is at work on a unit, by its process: it is bound to the unit, and has not ended.
/// `is_handed` tells sessions that handed the unit over.
pub(crate) fn is_at_work(workspace: &Workspace, unit: &UnitRef, is_handed: &dyn Fn(&str) -> bool, now: Time) -> bool {
    let Ok(target) = Target::find(workspace, unit, now) else { return false };
    let bound = Bound::of(&target);
    let is_at_it = |session: &Session| {
        let lives = session.process.as_deref().is_some_and(process::may_live);
        let is_own = session.bound.as_ref().is_some_and(|known| known.is(&bound));
        session.ended.is_none() && !session.is_worker && lives && is_own
    };
    let mut all = list(&*workspace.disk, DIRECTORY, path_of).into_iter();
    all.any(|(id, session)| is_at_it(&session) && !is_handed(id.as_str()))
}

/// All sessions that ended. Files of those that did so long ago are removed on the way.
pub(crate) fn ended(disk: &dyn Disk, now: Time) -> Vec<(Id, Session)> {
    let mut all = list(disk, ENDED, ended_path_of);
    all.retain(|(id, session)| {
        let is_old = session.is_old(now);
        if is_old {
            // Whoever removed it first has done the same.
            let _ = disk.remove(&ended_path_of(id));
        }
        !is_old
    });
    all
}

fn list(disk: &dyn Disk, directory: &str, path_of: fn(&Id) -> String) -> Vec<(Id, Session)> {
    if !matches!(seal::inspect(disk), Ok(seal::Home::Ours)) {
        return Vec::new();
    }
    let ids = disk.list(directory).into_iter().filter_map(|name| Id::parse(&name).ok());
    ids.take(MOST_SESSIONS).filter_map(|id| Some((id.clone(), read(disk, &path_of(&id))?))).collect()
}

fn read(disk: &dyn Disk, path: &str) -> Option<Session> {
    let file = disk.open(path, Open::Existing).ok()?;
    Session::read(&content(&*file).ok()?)
}

/// What a session's file holds. Its size is asked for first: room for the largest would be zeroed for every small one. Who
/// has not locked it may find that it has grown since.
fn content(file: &dyn Handle) -> Result<Vec<u8>, DiskError> {
    let room = usize::try_from(file.size()?).map_or(LARGEST, |size| size.saturating_add(ROOM).min(LARGEST));
    let found = file.read_at(0, room)?;
    if found.len() < room || room == LARGEST { Ok(found) } else { file.read_at(0, LARGEST) }
}

/// Binds a session to a unit that it has just recorded something about, when the session is known.
pub(crate) fn bind_known(workspace: &Workspace, session: &str, target: &Target) {
    let disk = &*workspace.disk;
    let Ok(id) = Id::parse(session) else { return };
    let bound = Bound::of(target);
    if peek(disk, &id).is_none_or(|known| known.bound.as_ref().is_some_and(|known| known.is(&bound))) {
        return;
    }
    // The event is recorded, whatever becomes of this: the session's next deed binds it again.
    if let Ok(mut desk) = Desk::open(disk, &id) {
        desk.session.bound = Some(bound);
        let _ = desk.save(Time::from_unix_seconds(desk.session.seen_at));
    }
}

fn path_of(id: &Id) -> String {
    format!("{DIRECTORY}/{id}")
}

fn ended_path_of(id: &Id) -> String {
    format!("{ENDED}/{id}")
}

#[cfg(test)]
mod tests;
