//! Directories that are kept open while a unit is locked. A commit names the same two or three of them a dozen times, and
//! opening one is most of what it costs to use it.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What is open. Nothing is kept beyond a lock: a directory that somebody has put in the place of another would not be
/// noticed for as long as a process lives.
#[derive(Debug, Default)]
pub(crate) struct Parents {
    holders: AtomicUsize,
    open: Mutex<Vec<(String, Arc<OwnedFd>)>>,
}

impl Parents {
    /// The directory, if it is open.
    pub(crate) fn get(&self, path: &str) -> Option<Arc<OwnedFd>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.iter().find(|(name, _)| name == path).map(|(_, directory)| Arc::clone(directory))
    }

    /// Keeps a directory open, while anybody holds a lock.
    pub(crate) fn put(&self, path: &str, directory: &Arc<OwnedFd>) {
        if self.holders.load(Ordering::Relaxed) > 0 {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.push((path.to_owned(), Arc::clone(directory)));
        }
    }

    fn clear(&self) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// A part of every lock that is held.
pub(crate) struct Holding(Arc<Parents>);

impl Holding {
    pub(crate) fn new(parents: &Arc<Parents>) -> Holding {
        parents.clear();
        parents.holders.fetch_add(1, Ordering::Relaxed);
        Holding(Arc::clone(parents))
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.0.holders.fetch_sub(1, Ordering::Relaxed);
        self.0.clear();
    }
}
