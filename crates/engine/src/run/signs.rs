//! Signs of life that cost something to look at: the worktree, and the transcript that an agent's own host writes. They
//! are looked at only when a worker's time is over: before it is asked, and before it is taken for dead.

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, SystemTime};

use piton_model::fleet::{FleetEvent, LaneAt, LaneState, WorkerState};
use piton_supervisor::{Trace, Transcript};

use super::lead::{Lead, Live, steady};

/// How many entries of a worktree are looked at for changes.
const MOST_ENTRIES: usize = 20_000;

/// What is skipped in a worktree: foreign code, and what the lead itself writes.
const SKIPPED: [&str; 3] = ["node_modules", ".git", ".piton"];

/// What was last seen of a worker from afar.
#[derive(Debug, Default)]
pub(super) struct Afar {
    tree: Option<Trace>,
    transcript: Option<Transcript>,
    written: Option<Trace>,
    /// The processor time of all its processes when it was asked.
    worked: Option<Duration>,
}

impl Lead<'_> {
    /// Before anybody is asked, or taken for dead, their worktree and transcript are looked at too.
    pub(super) fn look_closely(&mut self) {
        let now = steady();
        for at in 0..self.work.fleet.lanes.len() {
            let LaneState::Working(worker) = &self.work.fleet.lanes[at].state else { continue };
            let patience = self.settings.limits.patience(self.work.fleet.lanes[at].stage);
            let is_due = match worker.state {
                WorkerState::Running { last_sign } => now.saturating_sub(last_sign) >= patience,
                WorkerState::Silent { asked, .. } => now.saturating_sub(asked) >= self.settings.limits.answer,
                WorkerState::Spawning
                | WorkerState::Idle { .. }
                | WorkerState::Limited { .. }
                | WorkerState::Stopping { .. } => false,
            };
            if is_due && self.has_moved(at) {
                self.queue.push_back(FleetEvent::SignSeen { lane: at });
            }
        }
    }

    /// Whether something was written since the last sign, in the worktree or in the transcript.
    fn has_moved(&mut self, at: LaneAt) -> bool {
        let root = self.workspace.root();
        let memory = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
        let tree = memory.and_then(|lane| lane.worktree.as_deref()).map(|tree| root.join(tree));
        let session = memory.and_then(|lane| lane.session.clone());
        let Some(live) = self.live.get_mut(&at) else { return false };
        let since = live.seen;
        let mut has_moved = false;
        if let Some(trace) = tree.as_deref().map(trace_of) {
            has_moved |= trace.is_sign(live.afar.tree.replace(trace), since);
        }
        if let Some(session) = session {
            let is_known = live.afar.transcript.as_ref().is_some_and(|known| known.session() == session);
            if !is_known {
                let directory = tree.as_deref().unwrap_or(root);
                live.afar.transcript = live.reading.kind().transcript(directory, &session);
                live.afar.written = None;
            }
        }
        if let Some(trace) = live.afar.transcript.as_mut().and_then(Transcript::look) {
            has_moved |= trace.is_sign(live.afar.written.replace(trace), since);
        }
        if has_moved {
            live.seen = SystemTime::now();
        }
        has_moved
    }

    /// Remembers how much a worker that is asked has computed so far.
    pub(super) fn note_work(&mut self, at: LaneAt) {
        if let Some(live) = self.live.get_mut(&at) {
            live.afar.worked = Some(live.worker.processor_time());
        }
    }

    /// What a silent worker computed since it was asked: a hint for people, and no sign. Who runs in circles is busy too.
    pub(super) fn work_since_asked(&self, at: LaneAt) -> Option<String> {
        let Live { worker, afar, .. } = self.live.get(&at)?;
        Some(work_hint(worker.processor_time().saturating_sub(afar.worked?)))
    }

    /// Every worker gets its time anew: by the clock on the wall nothing can be told of before.
    pub(super) fn forget_moments(&mut self) {
        for live in self.live.values_mut() {
            live.seen = SystemTime::now();
        }
    }
}

fn work_hint(worked: Duration) -> String {
    match worked.as_millis() {
        0..100 => "its processes did nothing meanwhile".to_owned(),
        milliseconds => {
            format!("its processes computed for {:.1} s meanwhile, without a sign", milliseconds as f64 / 1000.0)
        }
    }
}

/// How a worktree looks: as much of it as is looked at, from the top.
fn trace_of(tree: &Path) -> Trace {
    let mut trace = Trace::default();
    let mut left = MOST_ENTRIES;
    let mut queue = VecDeque::from([tree.to_owned()]);
    while let Some(directory) = queue.pop_front() {
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            let Some(fewer) = left.checked_sub(1) else { return trace };
            left = fewer;
            let Ok(metadata) = entry.metadata() else { continue };
            let name = entry.file_name();
            if SKIPPED.iter().any(|skipped| name == **skipped) {
                continue;
            }
            trace.add(&metadata);
            if metadata.is_dir() {
                queue.push_back(entry.path());
            }
        }
    }
    trace
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_told_and_never_a_sign() {
        for (milliseconds, want) in [
            (0, "its processes did nothing meanwhile"),
            (99, "its processes did nothing meanwhile"),
            (2_345, "its processes computed for 2.3 s meanwhile, without a sign"),
        ] {
            assert_eq!(work_hint(Duration::from_millis(milliseconds)), want);
        }
    }
}
