//! Workers that a lead before left and that belong to no lane of this run. They are nobody's to adopt here; but they
//! run, so they count against `workers`, are shown, and have a maximum of time like every worker.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use piton_model::fleet::FleetEvent;
use piton_model::hint::verbs;
use piton_supervisor::{Condition, Gently, KeeperProgram, Worker};

use super::lead::{Lead, steady};
use super::memory::DIRECTORY;
use super::view::OtherWorker;

/// Numbers of such workers begin here.
pub(super) const OTHERS: u64 = 1 << 48;

/// The workers of other runs.
#[derive(Default)]
pub(super) struct Others {
    running: BTreeMap<u64, Other>,
}

struct Other {
    worker: Worker,
    seen: OtherWorker,
    /// By the steady clock.
    since: Duration,
    is_stopping: bool,
}

impl Others {
    /// As they are shown.
    pub fn view(&self) -> Vec<OtherWorker> {
        self.running.values().map(|other| other.seen.clone()).collect()
    }
}

impl Lead<'_> {
    /// Finds workers of other runs that still run.
    pub(super) fn find_others(&mut self) {
        let own: Vec<String> = self.live.values().map(|live| live.worker.home().display().to_string()).collect();
        for (home, worker) in homes(self.workspace.root(), &self.keeper, "workers") {
            let is_own = own.contains(&worker.home().display().to_string());
            let runs = || matches!(worker.condition(), Ok(Condition::Running { .. } | Condition::Orphaned { .. }));
            if is_own || !runs() {
                continue;
            }
            let number = OTHERS + self.others.running.len() as u64;
            if self.watch.add(number, &worker).is_err() {
                continue;
            }
            let seen = OtherWorker { unit: unit_of(&worker), home };
            self.others.running.insert(number, Other { worker, seen, since: steady(), is_stopping: false });
        }
        if self.others.running.is_empty() {
            return;
        }
        let units: Vec<String> = self.others.view().into_iter().map(|other| other.unit.unwrap_or(other.home)).collect();
        let text = verbs::STOP.call().flag("--workers").to(format!(
            "workers of an earlier run still run and count against `workers`: {}. To stop all workers",
            units.join(", ")
        ));
        self.tell(None, "others", &text.to_string());
        self.count_others();
    }

    pub(super) fn other_ended(&mut self, number: u64) {
        let Some(other) = self.others.running.get(&number) else { return };
        if let Ok(Condition::Running { .. } | Condition::Orphaned { .. }) = other.worker.condition()
            && self.watch.add(number, &other.worker).is_ok()
        {
            return;
        }
        self.others.running.remove(&number);
        self.count_others();
    }

    /// Ends those that take longer than any worker may.
    pub(super) fn look_at_others(&mut self) {
        let (now, longest) = (steady(), self.settings.limits.longest);
        let is_over = |other: &Other| now.saturating_sub(other.since) >= longest;
        if self.others.running.values().any(is_over) {
            self.stop_others_if(Gently::Terminate, is_over);
        }
    }

    /// Stops all of them, as the lead's own workers are stopped.
    pub(super) fn stop_others(&mut self) {
        self.stop_others_if(Gently::Interrupt, |_| true);
    }

    fn stop_others_if(&mut self, how: Gently, is_meant: impl Fn(&Other) -> bool) {
        let grace = self.settings.grace;
        for other in self.others.running.values_mut().filter(|other| !other.is_stopping && is_meant(other)) {
            other.is_stopping = true;
            mark_stopped(other.worker.home());
            // One whose keeper does not answer goes on; it still counts.
            let _ = other.worker.stop(how, grace);
        }
    }

    fn count_others(&mut self) {
        let running = self.others.running.len();
        self.queue.push_back(FleetEvent::StrangersCounted { running });
    }
}

/// All workers or gates whose homes are there, with their homes relative to the workspace.
pub(super) fn homes(root: &Path, keeper: &KeeperProgram, kind: &str) -> Vec<(String, Worker)> {
    let directory = format!("{DIRECTORY}/{kind}");
    let entries = std::fs::read_dir(root.join(&directory)).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    let adopt = |name: String| {
        let home = format!("{directory}/{name}");
        Worker::adopt(keeper, &root.join(&home)).ok().map(|worker| (home, worker))
    };
    names.into_iter().filter_map(adopt).collect()
}

/// The unit that a worker works on, with the step where it has one.
pub(super) fn unit_of(worker: &Worker) -> Option<String> {
    let about = &worker.launch().about;
    let unit = about.unit.as_ref()?;
    Some(about.step.as_ref().map_or_else(|| unit.clone(), |step| format!("{unit} {step}")))
}

/// The file in a worker's home that says that it was stopped because a person ended the run.
const STOPPED: &str = "stopped";

/// Notes in a worker's home that it is stopped on request: how it ends says nothing about its work.
pub(super) fn mark_stopped(home: &Path) {
    // Without the note its end counts as a death, which is granted.
    let _ = std::fs::write(home.join(STOPPED), "");
}

/// Whether a worker was stopped on request.
pub(super) fn was_stopped(home: &Path) -> bool {
    home.join(STOPPED).exists()
}
