//! What is left of workers that have ended goes when nobody needs it: their homes with all that they printed, and what
//! they were told. Of a unit that is done the newest stay; of a run that is not, everything does.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use piton_model::fleet::LaneState;
use piton_supervisor::Worker;

use super::lead::Lead;
use super::memory::DIRECTORY;

/// How many workers of a unit are kept, and how many gates of all.
const KEPT_WORKERS: usize = 3;
const KEPT_GATES: usize = 20;

impl Lead<'_> {
    /// Removes what nobody needs any more. What cannot be removed stays; it is tried again by the next run.
    pub(super) fn prune(&self) {
        let root = self.workspace.root().join(DIRECTORY);
        let lanes = self.work.fleet.lanes.iter();
        let is_finished = lanes.clone().all(|lane| lane.state == LaneState::Done);
        let mut done: BTreeSet<String> = self.memory.done_elsewhere(&self.work.fleet);
        let own = self.work.lanes.iter().map(|work| work.id.clone());
        match is_finished {
            true => done.extend(own),
            // An id that both have is not done.
            false => own.for_each(|id| {
                done.remove(&id);
            }),
        }
        for (id, number) in old(&names(&root.join("workers")), KEPT_WORKERS, &|id| done.contains(id)) {
            if self.discard(&root.join(format!("workers/{id}-{number}"))) {
                // One that was never told anything has none.
                let _ = fs::remove_file(root.join(format!("prompts/{id}-{number}.md")));
            }
        }
        let is_running = |number: &str| self.memory.gate_homes.iter().any(|home| home.ends_with(&format!("/{number}")));
        let gates: Vec<String> = names(&root.join("gates")).iter().map(|name| format!("gate-{name}")).collect();
        for (_, number) in old(&gates, KEPT_GATES, &|_| is_finished) {
            if !is_running(&number.to_string()) {
                self.discard(&root.join(format!("gates/{number}")));
            }
        }
    }

    /// Removes a home whose worker has ended; says whether it is gone.
    fn discard(&self, home: &Path) -> bool {
        let worker = Worker::adopt(&self.keeper, home);
        worker.is_ok_and(|worker| worker.discard().unwrap_or(false))
    }
}

/// Of names `ID-NUMBER` those whose id may go, but for the ones with the highest numbers of each.
fn old(names: &[String], kept: usize, may_go: &dyn Fn(&str) -> bool) -> Vec<(String, u64)> {
    let mut numbers: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for name in names {
        let Some((id, number)) = name.rsplit_once('-') else { continue };
        // Only what is written as we write it is ours.
        if let Some(number) = number.parse::<u64>().ok().filter(|parsed| parsed.to_string() == number && may_go(id)) {
            numbers.entry(id).or_default().push(number);
        }
    }
    let mut old = Vec::new();
    for (id, mut numbers) in numbers {
        numbers.sort_unstable_by(|a, b| b.cmp(a));
        old.extend(numbers.into_iter().skip(kept).map(|number| (id.to_owned(), number)));
    }
    old
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_is_done_the_newest_stay_and_of_the_rest_everything() {
        let names =
            ["A-1", "A-2", "A-10", "A-9", "A-1-1", "A-1-2", "A-1-3", "B-1", "B-2", "B-3", "x", "A-", "A-x", "A-07"];
        let names: Vec<String> = names.map(str::to_owned).to_vec();
        let old = |kept, done: &'static [&'static str]| old(&names, kept, &move |id| done.contains(&id));
        let pair = |id: &str, number| (id.to_owned(), number);
        assert_eq!(old(3, &["A"]), [pair("A", 1)]);
        assert_eq!(old(2, &["A", "A-1"]), [pair("A", 2), pair("A", 1), pair("A-1", 1)]);
        assert_eq!(old(0, &["B"]), [pair("B", 3), pair("B", 2), pair("B", 1)]);
        assert_eq!(old(0, &[]), []);
    }
}
