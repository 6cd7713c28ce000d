//! The disk itself.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use piton_model::Time;
use piton_store::disk::{
    Access, Disk, DiskError, Handle, Identity, LockError, Open, Rename, Stamp, directory_of, name_of,
};
use piton_store::{Content, LARGEST, ReadError, SKIPPED};

use crate::effect::{Course, Fault, Kind, Stop, dead};
use crate::handle::CrashHandle;
use crate::state::{DirectoryNode, FileNode, Node, State};

/// A disk in memory. Every change is counted; at any of them the process can die, or the disk fail.
#[derive(Clone)]
pub struct CrashDisk {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    unlocked: Condvar,
}

impl Default for CrashDisk {
    fn default() -> CrashDisk {
        CrashDisk::from_state(State::new())
    }
}

impl CrashDisk {
    pub(crate) fn from_state(state: State) -> CrashDisk {
        CrashDisk { shared: Arc::new(Shared { state: Mutex::new(state), unlocked: Condvar::new() }) }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the process die at an effect, counted from now on; the first one is 1.
    pub fn stop_at(&self, effect: u64, stop: Stop) {
        let mut state = self.state();
        let done = state.plan.trace.len() as u64;
        state.plan.stop = Some((done + effect, stop));
    }

    /// Lets an effect fail, counted from now on; the process lives on.
    pub fn fail_at(&self, effect: u64, fault: Fault) {
        let mut state = self.state();
        let done = state.plan.trace.len() as u64;
        state.plan.fault = Some((done + effect, fault));
    }

    /// Lets somebody else do something just before an effect, counted from now on.
    pub fn before(&self, effect: u64, hook: impl FnOnce(&CrashDisk) + Send + 'static) {
        let mut state = self.state();
        let done = state.plan.trace.len() as u64;
        state.plan.hook = Some((done + effect, Box::new(hook)));
    }

    /// Nothing goes wrong any more.
    pub fn repair(&self) {
        let mut state = self.state();
        (state.plan.stop, state.plan.fault, state.plan.hook) = (None, None, None);
    }

    /// How many effects there were.
    pub fn effects(&self) -> u64 {
        self.state().plan.trace.len() as u64
    }

    /// Whether the process died.
    pub fn is_dead(&self) -> bool {
        self.state().plan.is_dead
    }

    /// Every effect so far, with its path.
    pub fn trace(&self) -> Vec<(Kind, String)> {
        self.state().plan.trace.clone()
    }

    /// Files that were synced again through a handle whose sync had failed.
    pub fn retried_syncs(&self) -> Vec<String> {
        self.state().plan.retried.clone()
    }

    /// Counts an effect and does it, as far as the plan lets it. `half` is what happens when it stops in the middle.
    pub(crate) fn effect<T>(
        &self,
        (kind, doing, path): (Kind, &'static str, &str),
        half: impl FnOnce(&mut State),
        whole: impl FnOnce(&mut State) -> Result<T, io::Error>,
    ) -> Result<T, DiskError> {
        let hook = {
            let mut state = self.state();
            let next = state.plan.trace.len() as u64 + 1;
            let is_due = !state.plan.is_dead && state.plan.hook.as_ref().is_some_and(|(at, _)| *at == next);
            if is_due { state.plan.hook.take() } else { None }
        };
        if let Some((_, hook)) = hook {
            hook(self);
        }
        let mut state = self.state();
        let done = if state.plan.is_dead {
            Err(dead())
        } else {
            match state.plan.next(kind, path) {
                Course::Whole => whole(&mut state),
                Course::Not(error) => Err(error),
                Course::Half(error) => {
                    half(&mut state);
                    Err(error)
                }
            }
        };
        done.map_err(|error| DiskError { doing, path: path.to_owned(), error })
    }

    /// Looks at something; nobody dead can.
    pub(crate) fn look<T>(
        &self,
        doing: &'static str,
        path: &str,
        look: impl FnOnce(&State) -> Result<T, io::Error>,
    ) -> Result<T, DiskError> {
        let state = self.state();
        let found = if state.plan.is_dead { Err(dead()) } else { look(&state) };
        found.map_err(|error| DiskError { doing, path: path.to_owned(), error })
    }

    pub(crate) fn unlock(&self, node: usize) {
        self.state().locks.retain(|each| *each != node);
        self.shared.unlocked.notify_all();
    }

    fn handle(&self, path: &str, node: usize) -> CrashHandle {
        let has_failed = AtomicBool::new(false);
        CrashHandle { disk: self.clone(), node, path: path.to_owned(), has_failed, is_lock: false }
    }
}

impl fmt::Debug for CrashDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CrashDisk").field("effects", &self.effects()).finish_non_exhaustive()
    }
}

pub(crate) fn nothing(_: &mut State) {}

fn missing() -> io::Error {
    io::ErrorKind::NotFound.into()
}

pub(crate) fn stamp_of(state: &State, node: usize) -> Stamp {
    match &state.nodes[node] {
        Node::File(file) => Stamp { inode: node as u64, size: file.bytes.len() as u64, modified: file.modified },
        Node::Directory(_) => Stamp { inode: node as u64, size: 0, modified: 0 },
    }
}

impl Disk for CrashDisk {
    fn root(&self) -> &Path {
        Path::new("/")
    }

    fn read(&self, path: &str) -> Result<Content, ReadError> {
        let state = self.state();
        if state.plan.is_dead {
            return Err(ReadError::Io { error: dead() });
        }
        let node = state.find(path).ok_or(ReadError::Missing)?;
        let file = state.file(node).ok_or(ReadError::NotAFile { what: "a directory" })?;
        if file.bytes.len() as u64 > LARGEST {
            return Err(ReadError::TooLarge { bytes: file.bytes.len() as u64 });
        }
        let modified = Time::from_unix_seconds(i64::try_from(file.modified).unwrap_or_default());
        Ok(Content { bytes: file.bytes.clone(), modified, stamp: stamp_of(&state, node) })
    }

    fn stamp(&self, path: &str) -> Result<Option<Stamp>, DiskError> {
        self.look("look at", path, |state| Ok(state.find(path).map(|node| stamp_of(state, node))))
    }

    fn identity(&self, directory: &str) -> Result<Option<Identity>, DiskError> {
        self.look("look at", directory, |state| {
            let node = state.directory(directory).map(|node| node as u64);
            Ok(node.map(|inode| Identity { inode, born: i128::from(inode), owner: 1000, is_ours: true }))
        })
    }

    fn resolve(&self, path: &str) -> Result<String, DiskError> {
        Ok(path.to_owned())
    }

    fn list(&self, directory: &str) -> Vec<String> {
        let state = self.state();
        match state.directory(directory).map(|node| &state.nodes[node]) {
            Some(Node::Directory(found)) if !state.plan.is_dead => found.names.keys().cloned().collect(),
            _ => Vec::new(),
        }
    }

    fn walk(&self, visit: &mut dyn FnMut(&str)) {
        let is_visited = |path: &String| directory_of(path).split('/').all(|name| !SKIPPED.contains(&name));
        if !self.is_dead() {
            self.files().iter().filter(|path| is_visited(path)).for_each(|path| visit(path));
        }
    }

    fn open(&self, path: &str, how: Open<'_>) -> Result<Box<dyn Handle>, DiskError> {
        let found = self.look("open", path, |state| {
            let found = state.find(path);
            match (found.map(|node| &state.nodes[node]), how) {
                (Some(Node::Directory(_)), _) => Err(io::Error::other("it is not a regular file")),
                (Some(Node::File(_)), Open::New { .. }) => Err(io::ErrorKind::AlreadyExists.into()),
                (None, Open::Existing) => Err(missing()),
                _ => Ok(found),
            }
        })?;
        let node = match found {
            Some(node) => node,
            None => self.effect((Kind::Create, "create", path), nothing, |state| {
                let directory = state.directory(directory_of(path)).ok_or_else(missing)?;
                let alike = match how {
                    Open::New { like } => state.find(like).and_then(|node| state.file(node)),
                    Open::Existing | Open::Create(_) => None,
                };
                let usual = if how == Open::Create(Access::Private) { 0o600 } else { 0o644 };
                let mode = alike.map_or(usual, |file| file.mode);
                state.clock += 1;
                let modified = state.clock;
                let node = state.add(Node::File(FileNode { mode, modified, ..FileNode::default() }));
                state.name(directory, name_of(path), node);
                Ok(node)
            })?,
        };
        Ok(Box::new(self.handle(path, node)))
    }

    fn unnamed(&self, like: &str) -> Option<Box<dyn Handle>> {
        let path = format!("{}/(no name)", directory_of(like));
        let made = self.effect((Kind::Create, "create", &path), nothing, |state| {
            state.directory(directory_of(like)).ok_or_else(missing)?;
            let mode = state.find(like).and_then(|node| state.file(node)).map_or(0o644, |file| file.mode);
            state.clock += 1;
            let modified = state.clock;
            Ok(state.add(Node::File(FileNode { mode, modified, ..FileNode::default() })))
        });
        Some(Box::new(self.handle(&path, made.ok()?)))
    }

    fn make_directory(&self, path: &str, _: Access) -> Result<(), DiskError> {
        if self.identity(path)?.is_some() {
            return Ok(());
        }
        self.effect((Kind::MakeDirectory, "make the directory", path), nothing, |state| {
            let parent = state.directory(directory_of(path)).ok_or_else(missing)?;
            let node = state.add(Node::Directory(DirectoryNode::new()));
            state.name(parent, name_of(path), node);
            Ok(())
        })
    }

    fn rename(&self, from: &str, to: &str, how: Rename) -> Result<(), DiskError> {
        self.effect((Kind::Rename, "rename to", to), nothing, |state| {
            let old = state.directory(directory_of(from)).ok_or_else(missing)?;
            let new = state.directory(directory_of(to)).ok_or_else(missing)?;
            let moved = state.find(from).ok_or_else(missing)?;
            let other = state.find(to);
            match (how, other) {
                (Rename::New, Some(_)) => return Err(io::ErrorKind::AlreadyExists.into()),
                (Rename::Exchange, None) => return Err(missing()),
                _ => {}
            }
            if other == Some(moved) {
                // Two names of one file: the system does nothing, and both stay.
                return Ok(());
            }
            let (from, to) = (name_of(from).to_owned(), name_of(to).to_owned());
            let back = other.filter(|_| how == Rename::Exchange);
            if old == new {
                state.rename_in(old, |names| {
                    names.remove(&from);
                    names.extend(back.map(|other| (from, other)));
                    names.insert(to, moved);
                });
            } else {
                state.name(new, &to, moved);
                state.rename_in(old, |names| {
                    names.remove(&from);
                    names.extend(back.map(|other| (from, other)));
                });
            }
            Ok(())
        })
    }

    fn link(&self, from: &str, to: &str) -> Result<(), DiskError> {
        self.effect((Kind::Link, "link to", to), nothing, |state| {
            let directory = state.directory(directory_of(to)).ok_or_else(missing)?;
            let node = state.find(from).ok_or_else(missing)?;
            if state.find(to).is_some() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            state.name(directory, name_of(to), node);
            Ok(())
        })
    }

    fn remove(&self, path: &str) -> Result<(), DiskError> {
        if self.stamp(path)?.is_none() {
            return Err(DiskError { doing: "remove", path: path.to_owned(), error: missing() });
        }
        self.effect((Kind::Remove, "remove", path), nothing, |state| {
            let directory = state.directory(directory_of(path)).ok_or_else(missing)?;
            state.unname(directory, name_of(path));
            Ok(())
        })
    }

    fn sync_directory(&self, path: &str) -> Result<(), DiskError> {
        self.effect((Kind::SyncDirectory, "sync the directory", path), nothing, |state| {
            let node = state.directory(path).ok_or_else(missing)?;
            state.directory_mut(node).sync();
            Ok(())
        })
    }

    fn lock(&self, path: &str, wait: Duration) -> Result<Box<dyn Handle>, LockError> {
        self.open(path, Open::Create(Access::Private))?;
        let node = self.look("lock", path, |state| state.find(path).ok_or_else(missing))?;
        let is_held = |state: &mut State| state.locks.contains(&node);
        let waited = self.shared.unlocked.wait_timeout_while(self.state(), wait, is_held);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if is_held(&mut state) {
            let holder = state.file(node).map(|file| file.bytes.clone()).unwrap_or_default();
            return Err(LockError::Busy { holder: String::from_utf8_lossy(&holder).into_owned() });
        }
        state.locks.push(node);
        drop(state);
        let mut handle = self.handle(path, node);
        handle.is_lock = true;
        Ok(Box::new(handle))
    }

    fn boot(&self) -> String {
        format!("boot {}", self.state().boot)
    }
}
