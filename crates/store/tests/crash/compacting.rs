//! A journal that is made shorter while the process dies, the power goes or the disk fails, just after somebody else has
//! edited a document: it is the old one or the new one, whole, and what it keeps is as it was.

use std::collections::BTreeMap;

use piton_store::{History, Keep};
use piton_testkit::{CrashDisk, Fault, Kind, PowerLoss, Stop};

use crate::points::life;
use crate::script::{
    Do, Edit, LOG, Manners, PLAN, STATE, World, commit, documents, edit_outside, key, new_entry, open, run,
};

/// A disk with a journal, every version that it holds, and an edit of which it does not know yet.
struct Start {
    disk: CrashDisk,
    versions: BTreeMap<(&'static str, u64), Vec<u8>>,
    last: u64,
    world: World,
}

impl Start {
    fn new() -> Start {
        let disk = CrashDisk::default();
        let mut world = run(&disk, &life()[..10], Manners::Syncing).after;
        let history = History::open(&disk, &key()).expect("it opens").expect("it is there");
        let last = history.last().expect("it can be read").expect("there is one").seq;
        let mut versions = BTreeMap::new();
        for (path, seq) in [PLAN, STATE].into_iter().flat_map(|path| (1..=last).map(move |seq| (path, seq))) {
            let version = history.version(path, seq).expect("it can be read");
            versions.extend(version.map(|version| ((path, seq), version)));
        }
        let edit = Edit::InPlace(PLAN, "# A person's plan\n".to_owned());
        edit_outside(&disk, &edit);
        world.edit(&edit);
        disk.sync_outside();
        Start { disk, versions, last, world }
    }

    /// Leaves the oldest events out; says whether that was told to be done.
    fn compact(&self, disk: &CrashDisk) -> bool {
        let Ok((mut unit, _)) = open(disk) else { return false };
        let keep = Keep { newest: self.last - 2, named: [2].into_iter().collect() };
        unit.compact(&keep, new_entry(99)).is_ok_and(|compacted| compacted.is_some())
    }

    /// What has to hold on whatever is left.
    fn check(&self, disk: &CrashDisk, is_done: bool) -> Result<(), String> {
        let (unit, _) = open(disk).map_err(|error| format!("it does not open: {error}"))?;
        let current = unit.current(PLAN).map_err(|error| error.to_string())?;
        drop(unit);
        if current != self.world.read(PLAN) || disk.bytes(PLAN) != current {
            return Err(format!("the plan is {:?}", current.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())));
        }
        let history = History::open(disk, &key()).map_err(|error| error.to_string())?.ok_or("the journal is gone")?;
        let log = history.log().map_err(|error| error.to_string())?;
        let numbers: Vec<u64> = log.events.iter().map(|event| event.seq).collect();
        let is_short = log.events.iter().any(|event| event.summary.contains("left out"));
        if log.broken_at.is_some() || (is_done && !is_short) || (!is_short && numbers[0] != 1) {
            return Err(format!("done: {is_done}, {numbers:?}, broken at {:?}", log.broken_at));
        }
        for ((path, seq), version) in self.versions.iter().filter(|((_, seq), _)| numbers.contains(seq)) {
            if history.version(path, *seq).map_err(|error| error.to_string())?.as_ref() != Some(version) {
                return Err(format!("{path}@{seq} is lost"));
            }
        }
        let mut newest = (self.last - 1..=self.last).chain([2]);
        match newest.find(|seq| !numbers.contains(seq)) {
            Some(seq) => Err(format!("@{seq} is lost: {numbers:?}")),
            None => Ok(()),
        }
    }

    /// The same, and then the unit goes on and the power fails.
    fn check_and_go_on(&self, disk: &CrashDisk, is_done: bool) -> Result<(), String> {
        self.check(disk, is_done)?;
        let further = [Do::Append(LOG, "{\"further\":true}\n".to_owned())];
        let seq = commit(disk, &further, &self.world, 999).map_err(|error| format!("a further commit: {error}"))?;
        let left = disk.after_power_loss(PowerLoss::ContentsLost);
        self.check(&left, is_done).map_err(|error| format!("then the power went: {error}"))?;
        let (unit, _) = open(&left)?;
        let found = unit.seq();
        if found == seq { Ok(()) } else { Err(format!("@{seq} was acknowledged, @{found} is the last")) }
    }
}

#[test]
fn a_crash_anywhere_leaves_the_old_journal_or_the_new_one() {
    let start = Start::new();
    assert_eq!(documents(), [PLAN, STATE]);
    let (mut states, mut failures) = (0, Vec::new());
    for stop in [Stop::Before, Stop::Halfway] {
        for point in 1.. {
            let disk = start.disk.after_kill();
            disk.stop_at(point, stop);
            let is_done = start.compact(&disk);
            if !disk.is_dead() {
                break;
            }
            if stop == Stop::Halfway && disk.trace().last().is_some_and(|(kind, _)| *kind != Kind::Write) {
                continue;
            }
            let lost = PowerLoss::all(point).map(|loss| (format!("{loss:?}"), disk.after_power_loss(loss)));
            for (what, left) in lost.into_iter().chain([("killed".to_owned(), disk.after_kill())]) {
                states += 1;
                if let Err(error) = start.check_and_go_on(&left, is_done) {
                    failures.push(format!("{stop:?} effect {point} {:?}, {what}: {error}", disk.trace().last()));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} of {states} states:\n{}", failures.len(), failures.join("\n"));
    assert!(states > 100, "{states}");
}

#[test]
fn a_disk_that_fails_leaves_the_old_journal_or_the_new_one() {
    let start = Start::new();
    let (mut tried, mut failures) = (0, Vec::new());
    for fault in [Fault::BrokenOnce, Fault::FullOnce, Fault::ReadOnly] {
        for point in 1.. {
            let disk = start.disk.after_kill();
            disk.fail_at(point, fault);
            let is_done = start.compact(&disk);
            let Some(at) = disk.trace().get(point as usize - 1).cloned() else { break };
            disk.repair();
            tried += 1;
            if !disk.retried_syncs().is_empty() {
                failures.push(format!("{fault:?} at effect {point} {at:?}: synced again: {:?}", disk.retried_syncs()));
            }
            if let Err(error) = start.check_and_go_on(&disk, is_done) {
                failures.push(format!("{fault:?} at effect {point} {at:?}: {error}"));
            }
        }
    }
    assert!(failures.is_empty(), "{} of {tried}:\n{}", failures.len(), failures.join("\n"));
    assert!(tried > 30, "{tried}");
}
