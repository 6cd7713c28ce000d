//! Documents of a megabyte and more: what is written ahead, and what is freed later. All else is as with small ones.

use piton_testkit::{CrashDisk, Fault, Kind, PowerLoss};

use crate::faults::fail_from;
use crate::outside::is_journaled;
use crate::points::crash_from;
use crate::script::{Do, Manners, PLAN, STATE, Staying, Step, commit, open, run};

/// Events of two large documents. Only the fourth does all there is: the third is the first that leaves a file to be freed.
/// The last two are of a process that stays.
fn life() -> Vec<Step> {
    let mut steps: Vec<_> = [1, 2, 3, 4].map(|number| Step::Commit(both(number))).into();
    steps.push(Step::Stay(vec![Staying::Commit(both(5)), Staying::Commit(both(6)), Staying::Flush]));
    steps
}

fn both(number: usize) -> Vec<Do> {
    let text = |number: usize| format!("{number:07}\n{}", "- [ ] a box\n".repeat(90_000));
    vec![Do::Write(PLAN, text(number)), Do::Write(STATE, text(number + 1))]
}

/// The disk after the third event.
fn after_three() -> CrashDisk {
    let disk = CrashDisk::default();
    run(&disk, &life()[..3], Manners::Syncing);
    disk
}

#[test]
fn a_crash_loses_nothing() {
    let before = after_three().effects();
    let losses = |point| vec![PowerLoss::Mixed(point)];
    let states = crash_from(before + 1, &CrashDisk::default(), &life(), Manners::Syncing, losses);
    assert!(states > 100, "{states}");
}

#[test]
fn contents_are_written_ahead_of_the_line_and_nothing_else_is() {
    let disk = after_three();
    let before = disk.effects() as usize;
    let world = run(&CrashDisk::default(), &life()[..3], Manners::Syncing).after;
    commit(&disk, &both(4), &world, 4).expect("nothing is in the way");
    let trace = disk.trace().split_off(before);
    let line = trace.iter().position(|(kind, path)| *kind == Kind::Write && path.ends_with("/journal"));
    let earlier = &trace[..line.expect("there is a line")];
    let made = earlier.iter().filter(|(kind, _)| *kind == Kind::Create).count();
    assert_eq!(made, 2, "{earlier:?}");
    let freed = earlier.iter().filter(|(kind, path)| *kind == Kind::Remove && path.contains("/gone-")).count();
    assert_eq!(freed, 2, "{earlier:?}");
    let is_hidden = |path: &str| path.ends_with("/(no name)") || path.starts_with(".piton/");
    assert!(earlier.iter().all(|(_, path)| is_hidden(path)), "{earlier:?}");
}

#[test]
fn a_disk_that_fails_changes_nothing() {
    for fault in [Fault::FullOnce, Fault::BrokenOnce, Fault::ReadOnly] {
        assert!(fail_from(3, &life(), fault) > 25);
    }
}

/// Who has a document open that was replaced by the event before may write to it until the next event lets go of it.
#[test]
fn what_is_written_late_is_found() {
    let world = run(&CrashDisk::default(), &life()[..3], Manners::Syncing).after;
    let disk = CrashDisk::default();
    run(&disk, &life()[..2], Manners::Syncing);
    let late = disk.open_outside(PLAN).expect("it is there");
    commit(&disk, &both(3), &run(&CrashDisk::default(), &life()[..2], Manners::Syncing).after, 3).expect("it is free");
    let whole = disk.after_kill();
    commit(&whole, &both(4), &world, 4).expect("nothing is in the way");
    let last = whole.trace().iter().position(|(kind, path)| *kind == Kind::Rename && path.contains("/gone-"));
    for effect in 1..=last.expect("it goes then") as u64 + 1 {
        let disk = disk.after_kill();
        disk.before(effect, move |disk| disk.append_open(late, b"written late\n"));
        commit(&disk, &both(4), &world, 4).expect("nothing is in the way");
        drop(open(&disk).expect("it opens"));
        assert!(is_journaled(&disk, "written late"), "at effect {effect}");
    }
}
