//! A disk that fails at every effect in turn: a commit that fails changes nothing, says where, and works afterwards.

use piton_store::CommitError;
use piton_testkit::{CrashDisk, Fault, Kind, PowerLoss};

use crate::check::settled;
use crate::points::life;
use crate::script::{Manners, Run, Step, commit, open, run, try_commit};

/// Where a step of the script begins: the disk, and what is on it.
struct Start {
    disk: CrashDisk,
    run: Run,
}

/// Tries one commit with a fault at an effect. Returns what was tried there, or nothing when there are no more effects.
fn fail_once(start: &Start, step: &Step, point: u64, fault: Fault) -> Result<Option<Kind>, String> {
    let Step::Commit(doing) = step else { return Ok(None) };
    let disk = start.disk.after_kill();
    disk.fail_at(point, fault);
    let world = &start.run.after;
    let number = start.run.begun + 1;
    let tried = match open(&disk) {
        Ok((mut unit, contact)) => {
            let tried = try_commit(&mut unit, &contact, doing, world, number);
            tried.map_err(|error| (matches!(error, CommitError::Unfinished { .. }), error.to_string()))
        }
        Err(error) => Err((false, error)),
    };
    let Some((kind, path)) = disk.trace().get(point as usize - 1).cloned() else { return Ok(None) };
    disk.repair();
    if !disk.retried_syncs().is_empty() {
        return Err(format!("synced again after a failure: {:?}", disk.retried_syncs()));
    }
    let mut expected = start.run.clone();
    expected.begun = number;
    expected.before = world.clone();
    expected.after = world.clone();
    match &tried {
        Ok(seq) => {
            if kind.is_sync() {
                return Err(format!("a failed sync of `{path}` was reported as @{seq}"));
            }
            expected.after.apply(doing);
            expected.acknowledged.push((*seq, expected.after.clone()));
        }
        Err((is_unfinished, error)) => {
            if !error.contains(&path) && fault != Fault::ReadOnly {
                return Err(format!("`{error}` does not name `{path}`"));
            }
            if *is_unfinished {
                if fault != Fault::ReadOnly {
                    return Err(format!("one failure was not taken back: {error}"));
                }
                expected.after.apply(doing);
            }
        }
    }
    let found = settled(&disk, &expected)?;
    if tried.is_err() && found == *world {
        let seq = commit(&disk, doing, world, number).map_err(|error| format!("afterwards: {error}"))?;
        expected.after.apply(doing);
        expected.acknowledged.push((seq, expected.after.clone()));
        // What the failed sync left in memory alone goes with the power; what was acknowledged since does not count on it.
        let lost = disk.after_power_loss(PowerLoss::ContentsLost);
        settled(&disk, &expected).map_err(|error| format!("afterwards: {error}"))?;
        settled(&lost, &expected).map_err(|error| format!("after a power cut: {error}"))?;
    }
    Ok(Some(kind))
}

fn fail_everywhere(fault: Fault) -> usize {
    fail_from(0, &life(), fault)
}

/// Fails at every effect of every step from one on. Returns how many those were.
pub fn fail_from(first: usize, steps: &[Step], fault: Fault) -> usize {
    let mut tried = 0;
    let mut failures = Vec::new();
    for (number, step) in steps.iter().enumerate().skip(first) {
        let disk = CrashDisk::default();
        let start = Start { run: run(&disk, &steps[..number], Manners::Syncing), disk };
        for point in 1.. {
            match fail_once(&start, step, point, fault) {
                Ok(None) => break,
                Ok(Some(_)) => tried += 1,
                Err(error) => {
                    tried += 1;
                    failures.push(format!("{fault:?} at effect {point} of step {}: {error}", number + 1));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} of {tried}:\n{}", failures.len(), failures.join("\n"));
    println!("{fault:?}: {tried} points");
    tried
}

#[test]
fn a_full_disk_changes_nothing() {
    assert!(fail_everywhere(Fault::FullOnce) > 150);
}

#[test]
fn a_failing_disk_changes_nothing() {
    assert!(fail_everywhere(Fault::BrokenOnce) > 150);
}

#[test]
fn a_disk_that_becomes_read_only_leaves_the_old_or_the_new() {
    assert!(fail_everywhere(Fault::ReadOnly) > 150);
}
