//! All processes of a worker: found, counted, ended.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rustix::process::Signal;

use crate::identity::Identity;
use crate::process::{self, Marked};

/// The variable that all processes of a worker have in their environment. A worker within a worker has the marks of
/// both, separated by colons.
pub(crate) const MARK: &str = "PITON_WORKER";

/// How often it is looked for more processes before giving up. Each time all that were found are stopped first, so that
/// they cannot start others.
const ROUNDS: usize = 100;

/// How often a process is looked at that may just be becoming another program. There are some without an environment.
const UNCLEAR_LOOKS: usize = 20;

/// Ends everything below this process; returns how many that were. They are not collected here.
pub(crate) fn end_descendants() -> u32 {
    end(&|| descendants(&BTreeSet::from([std::process::id()])))
}

/// The children of this process, those included that it adopted and that have exited.
pub(crate) fn children() -> Vec<u32> {
    let own = std::process::id();
    process::children(own).unwrap_or_else(|| {
        let is_child = |pid: &u32| process::stat(*pid).is_some_and(|stat| stat.parent == own);
        process::all().into_iter().filter(is_child).collect()
    })
}

/// Ends every process with this mark, the worker itself if it is still the one, its session, and everything below them.
pub(crate) fn end_marked(mark: &str, worker: Option<&Identity>) -> u32 {
    end(&|| marked(mark, worker))
}

/// The processor time of everything below a keeper, or of a worker and everything below it.
pub(crate) fn processor_time(keeper: Option<&Identity>, worker: Option<&Identity>) -> Duration {
    let below = |root: &Identity| descendants(&BTreeSet::from([root.pid]));
    let pids: BTreeSet<u32> = match (keeper, worker) {
        (Some(keeper), _) => below(keeper),
        (None, Some(worker)) => below(worker).into_iter().chain([worker.pid]).collect(),
        (None, None) => BTreeSet::new(),
    };
    let ticks: u64 = pids.into_iter().filter_map(process::stat).map(|stat| stat.ticks).sum();
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_millis(ticks.saturating_mul(1000) / per_second)
}

/// Stops all, looks whether there are more, and kills them when there are none; until none is left.
fn end(find: &dyn Fn() -> BTreeSet<u32>) -> u32 {
    let mut ended = BTreeSet::new();
    for _ in 0..ROUNDS {
        let mut stopped = BTreeMap::new();
        loop {
            let found: Vec<_> = find().into_iter().filter_map(Identity::of).collect();
            let new: Vec<_> = found.into_iter().filter(|each| !stopped.contains_key(&each.pid)).collect();
            if new.is_empty() {
                break;
            }
            for each in new {
                each.signal(Signal::STOP);
                stopped.insert(each.pid, each);
            }
        }
        if stopped.is_empty() {
            break;
        }
        for each in stopped.into_values() {
            each.signal(Signal::KILL);
            ended.insert((each.pid, each.start));
        }
        // A killed process is there until it has been taken off a processor.
        std::thread::sleep(Duration::from_millis(1));
    }
    ended.len() as u32
}

/// Everything below these processes.
fn descendants(roots: &BTreeSet<u32>) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut open: Vec<u32> = roots.iter().copied().collect();
    while let Some(pid) = open.pop() {
        let Some(children) = process::children(pid) else {
            if process::stat(pid).is_some() {
                return descendants_by_parents(roots);
            }
            continue;
        };
        open.extend(children.into_iter().filter(|child| found.insert(*child)));
    }
    found
}

/// The same where the kernel keeps no list of children: by everybody's parent.
fn descendants_by_parents(roots: &BTreeSet<u32>) -> BTreeSet<u32> {
    let parents: Vec<_> =
        process::all().into_iter().filter_map(|pid| Some((pid, process::stat(pid)?.parent))).collect();
    let mut found = BTreeSet::new();
    loop {
        let known = found.len();
        for (pid, parent) in &parents {
            if roots.contains(parent) || found.contains(parent) {
                found.insert(*pid);
            }
        }
        if found.len() == known {
            return found;
        }
    }
}

fn marked(mark: &str, worker: Option<&Identity>) -> BTreeSet<u32> {
    let worker = worker.filter(|worker| worker.is_alive());
    let own = std::process::id();
    let is_in_session = |pid: u32| {
        // The session has the worker's pid as its number. Once the worker is gone that may be another session's.
        worker.is_some_and(|worker| process::stat(pid).is_some_and(|stat| stat.session == worker.pid))
    };
    let mut found: BTreeSet<u32> = worker.map(|worker| worker.pid).into_iter().collect();
    let mut open: Vec<u32> = process::all().into_iter().filter(|pid| *pid > 1 && *pid != own).collect();
    for _ in 0..UNCLEAR_LOOKS {
        open.retain(|pid| match process::marked(*pid, mark) {
            _ if is_in_session(*pid) => !found.insert(*pid),
            Marked::Yes => !found.insert(*pid),
            Marked::No => false,
            Marked::Unclear => true,
        });
        if open.is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    found.extend(descendants(&found));
    found.remove(&own);
    found
}
