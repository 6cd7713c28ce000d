//! The machine is started anew, in order. What people did before that is theirs: nothing is done again over it.

use piton_store::History;
use piton_testkit::{CrashDisk, PowerLoss};

use crate::script::{Do, LOG, PLAN, STATE, World, commit, key, open};

/// A unit with one commit behind it, and then something that people do before they go home.
fn after_a_night(people: impl FnOnce(&CrashDisk)) -> CrashDisk {
    let disk = CrashDisk::default();
    let mut world = World::default();
    for (number, text) in ["one\n", "two\n"].into_iter().enumerate() {
        let state = Do::Write(STATE, format!("{{\"n\":{number}}}\n"));
        let doing = [Do::Write(PLAN, text.to_owned()), state, Do::Append(LOG, text.to_owned())];
        commit(&disk, &doing, &world, number).expect("nothing is in the way");
        world.apply(&doing);
    }
    let doing = [Do::Keep(STATE, "archive/state.json"), Do::Remove(STATE), Do::Write(PLAN, "three\n".to_owned())];
    let doing = [&doing[..], &[Do::Append(LOG, "three\n".to_owned())]].concat();
    commit(&disk, &doing, &world, 3).expect("nothing is in the way");
    people(&disk);
    disk.sync_outside();
    disk.after_power_loss(PowerLoss::NamesLost)
}

/// The last event, once we have looked.
fn last_event(disk: &CrashDisk) -> (String, u64) {
    drop(open(disk).expect("it opens"));
    let history = History::open(disk, &key()).expect("it opens").expect("it is there");
    let last = history.last().expect("it can be read").expect("there is one");
    (last.event, last.seq)
}

#[test]
fn nothing_happens_when_nobody_did_anything() {
    let disk = after_a_night(|_| {});
    assert_eq!(last_event(&disk), ("step_done".to_owned(), 3));
    assert_eq!(disk.bytes(PLAN).as_deref(), Some(&b"three\n"[..]));
}

#[test]
fn a_document_that_was_brought_back_is_seen_and_left() {
    let in_place = after_a_night(|disk| disk.write_outside(PLAN, b"two\n"));
    let by_rename = after_a_night(|disk| disk.replace_outside(PLAN, b"two\n"));
    for disk in [in_place, by_rename] {
        assert_eq!(last_event(&disk), ("observed".to_owned(), 4));
        assert_eq!(disk.bytes(PLAN).as_deref(), Some(&b"two\n"[..]));
    }
}

#[test]
fn a_line_that_was_taken_from_a_log_does_not_come_back() {
    let disk = after_a_night(|disk| disk.write_outside(LOG, b""));
    assert_eq!(last_event(&disk), ("step_done".to_owned(), 3));
    assert_eq!(disk.bytes(LOG).as_deref(), Some(&b""[..]));
}

#[test]
fn a_copy_that_was_thrown_away_and_a_file_that_was_made_again_stay_so() {
    let disk = after_a_night(|disk| {
        disk.remove_outside("archive/state.json");
        disk.write_outside(STATE, b"{\"n\":1}\n");
    });
    assert_eq!(last_event(&disk), ("observed".to_owned(), 4));
    assert_eq!(disk.bytes("archive/state.json"), None);
    assert_eq!(disk.bytes(STATE).as_deref(), Some(&b"{\"n\":1}\n"[..]));
}
