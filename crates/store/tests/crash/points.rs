//! A crash at every effect of a unit's life: what was acknowledged is there, and whole, and the next command works.

use piton_store::History;
use piton_testkit::{CrashDisk, Kind, PowerLoss, Stop};

use crate::check::check;
use crate::script::{Do, Edit, LOG, Manners, PLAN, STATE, Staying, Step, TABLE, key, run};

fn text(number: usize) -> String {
    format!("# Plan\n\n- [x] step {number}\n- [ ] another\n{}", "- [ ] rest\n".repeat(number % 3))
}

fn line(number: usize) -> String {
    format!("{{\"event\":{number}}}\n")
}

/// A life with everything in it.
pub fn life() -> Vec<Step> {
    let state = |number: usize| format!("{{\"position\":{number}}}\n");
    vec![
        Step::Outside(Edit::Replace(PLAN, text(0))),
        Step::Commit(vec![Do::Write(PLAN, text(1))]),
        Step::Commit(vec![Do::Write(STATE, state(2)), Do::Append(LOG, line(2))]),
        Step::Commit(vec![Do::Write(PLAN, text(3)), Do::Append(LOG, line(3))]),
        Step::Commit(vec![Do::Keep(PLAN, "backups/plan-1.md"), Do::Write(PLAN, text(4))]),
        Step::Outside(Edit::InPlace(PLAN, format!("{}a person's line\n", text(4)))),
        Step::Commit(vec![Do::Write(PLAN, format!("{}a person's line\n", text(5))), Do::Write(STATE, state(5))]),
        Step::Commit(vec![Do::Share(TABLE, "one\n".to_owned()), Do::Write(PLAN, text(6))]),
        Step::Commit(vec![Do::Share(TABLE, "one\ntwo\n".to_owned()), Do::Append(LOG, line(7))]),
        Step::Commit(vec![Do::Keep(STATE, "archive/state.json"), Do::Remove(STATE)]),
        Step::Outside(Edit::Replace(PLAN, text(9))),
        Step::Commit(vec![Do::Write(STATE, state(10)), Do::Append(LOG, line(10))]),
        Step::Commit(vec![Do::Remove("backups/plan-1.md"), Do::Write(PLAN, text(11))]),
        Step::Outside(Edit::Delete(PLAN)),
        Step::Commit(vec![Do::Write(PLAN, text(13)), Do::Append(LOG, line(13))]),
    ]
}

/// Stops at every effect from `base` on, and checks whatever may be left. Returns how many states that were.
fn crash_everywhere(base: &CrashDisk, steps: &[Step], manners: Manners) -> usize {
    crash_from(1, base, steps, manners, |point| PowerLoss::all(point).to_vec())
}

/// The same from some effect on, with some ways to lose power.
pub fn crash_from(
    first: u64,
    base: &CrashDisk,
    steps: &[Step],
    manners: Manners,
    losses: impl Fn(u64) -> Vec<PowerLoss>,
) -> usize {
    let mut states = 0;
    let mut failures = Vec::new();
    for stop in [Stop::Before, Stop::Halfway] {
        for point in first.. {
            let disk = base.after_kill();
            disk.stop_at(point, stop);
            let run = run(&disk, steps, manners);
            if !disk.is_dead() {
                break;
            }
            if stop == Stop::Halfway && disk.trace().last().is_some_and(|(kind, _)| *kind != Kind::Write) {
                continue;
            }
            let killed = std::iter::once(("killed".to_owned(), disk.after_kill()));
            let lost = losses(point).into_iter().map(|loss| (format!("{loss:?}"), disk.after_power_loss(loss)));
            for (what, left) in killed.chain(lost) {
                states += 1;
                // A dead process loses nothing that others wrote.
                let mut run = run.clone();
                run.is_loose &= what != "killed";
                if let Err(error) = check(&left, &run) {
                    let at = disk.trace().last().cloned();
                    failures.push(format!("{stop:?} effect {point} {at:?} of step {}, {what}: {error}", run.begun));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} of {states} states:\n{}", failures.len(), failures.join("\n"));
    println!("{manners:?}: {states} states");
    states
}

#[test]
fn a_crash_anywhere_loses_nothing_that_was_acknowledged() {
    let states = crash_everywhere(&CrashDisk::default(), &life(), Manners::Syncing);
    assert!(states > 1000, "{states}");
}

#[test]
fn a_crash_loses_nothing_even_when_others_do_not_sync() {
    let states = crash_everywhere(&CrashDisk::default(), &life(), Manners::Careless);
    assert!(states > 1000, "{states}");
}

/// Documents that are written once for several events, alone and between other ones.
#[test]
fn a_crash_of_a_process_that_stays_loses_nothing_that_was_acknowledged() {
    let plan = |number: usize| Staying::Commit(vec![Do::Write(PLAN, text(number))]);
    let both = |number: usize| {
        Staying::Commit(vec![Do::Write(PLAN, text(number)), Do::Write(STATE, format!("{{\"position\":{number}}}\n"))])
    };
    let steps = [
        Step::Outside(Edit::Replace(PLAN, text(0))),
        Step::Commit(vec![Do::Write(PLAN, text(1)), Do::Write(STATE, "{}\n".to_owned())]),
        Step::Stay(vec![plan(2), plan(3), Staying::Flush, plan(4), both(5), Staying::Flush]),
        Step::Stay(vec![both(6), both(7), Staying::Commit(vec![Do::Append(LOG, line(8))]), both(9)]),
        Step::Outside(Edit::InPlace(STATE, "{\"position\":\"a person's\"}\n".to_owned())),
        Step::Stay(vec![plan(10), plan(11)]),
        Step::Commit(vec![Do::Keep(PLAN, "backups/plan-1.md"), Do::Write(PLAN, text(12))]),
    ];
    for manners in [Manners::Syncing, Manners::Careless] {
        let states = crash_everywhere(&CrashDisk::default(), &steps, manners);
        assert!(states > 500, "{states}");
    }
}

fn snapshots_in(disk: &CrashDisk) -> usize {
    let journal = disk.bytes(&key().journal()).unwrap_or_default();
    String::from_utf8_lossy(&journal).matches("{\"snapshot\":").count()
}

#[test]
fn a_crash_around_a_snapshot_loses_nothing() {
    let write = |letter: &str| Do::Write(STATE, letter.repeat(9_000));
    let steps = [
        Step::Commit(vec![write("x")]),
        Step::Commit(vec![write("y"), Do::Write(PLAN, text(1))]),
        Step::Commit(vec![write("z"), Do::Write(PLAN, text(2))]),
    ];
    let disk = CrashDisk::default();
    run(&disk, &steps, Manners::Syncing);
    assert_eq!(snapshots_in(&disk), 3, "two first ones, and one for what weighs too much");
    crash_everywhere(&CrashDisk::default(), &steps, Manners::Syncing);
}

#[test]
fn every_version_of_a_long_history_can_be_had() {
    let steps: Vec<_> = (0..=502).map(|number| Step::Commit(vec![Do::Write(PLAN, text(number))])).collect();
    let disk = CrashDisk::default();
    let run = run(&disk, &steps, Manners::Syncing);
    assert_eq!(snapshots_in(&disk), 3, "the first one, one for many splices and one for heavy ones");
    let history = History::open(&disk, &key()).expect("it opens").expect("it is there");
    for (seq, world) in run.acknowledged.iter().filter(|(seq, _)| seq % 50 < 3) {
        assert_eq!(history.version(PLAN, *seq).expect("it can be read"), world.read(PLAN), "@{seq}");
    }
}
