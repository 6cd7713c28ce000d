//! Others edit a document in every way and at any moment: no line of theirs is lost from document and journal together,
//! and none is overwritten before it was written down.

use std::sync::{Arc, Mutex};

use piton_model::Effect;
use piton_store::{CommitError, History};
use piton_testkit::{CrashDisk, File, Kind, PowerLoss, Stop};
use proptest::prelude::*;

use crate::script::{PLAN, key, new_entry, open};

/// Something that somebody else does, always with a line that nobody wrote before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Edit {
    AddInPlace,
    AddByRename,
    Truncate,
    Delete,
    /// Brings back what stood there before our last commit.
    Revert,
    /// Writes to a file that was opened before.
    WriteOpen,
}

#[derive(Debug, Clone, Copy)]
enum Act {
    Edit(Edit),
    Open,
    Commit,
    /// Somebody edits just before an effect of our commit.
    CommitWith(u64, Edit),
    /// Our process dies at an effect.
    Die(u64, bool),
}

fn edits() -> impl Strategy<Value = Edit> {
    let all = [Edit::AddInPlace, Edit::AddByRename, Edit::Truncate, Edit::Delete, Edit::Revert, Edit::WriteOpen];
    prop::sample::select(all.to_vec())
}

fn acts() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => edits().prop_map(Act::Edit),
        2 => Just(Act::Open),
        3 => Just(Act::Commit),
        4 => (1..40_u64, edits()).prop_map(|(at, edit)| Act::CommitWith(at, edit)),
        3 => (1..40_u64, any::<bool>()).prop_map(|(at, half)| Act::Die(at, half)),
    ]
}

/// What the others remember.
#[derive(Debug, Default)]
struct Others {
    lines: usize,
    /// Lines that nobody but us may be blamed for when they are gone.
    written: Vec<String>,
    /// Lines written since we looked last: whoever edits may still destroy them on their own.
    fresh: Vec<String>,
    /// What the document held before our last commit.
    earlier: Vec<u8>,
    open: Option<File>,
}

impl Others {
    fn edit(&mut self, disk: &CrashDisk, edit: Edit) {
        self.lines += 1;
        let line = format!("theirs {}\n", self.lines);
        let now = disk.bytes(PLAN).unwrap_or_default();
        let with_line = |text: &[u8]| [text, line.as_bytes()].concat();
        match edit {
            Edit::AddInPlace => disk.write_outside(PLAN, &with_line(&now)),
            Edit::AddByRename => {
                disk.replace_outside(PLAN, &with_line(&now));
                self.open = None;
            }
            Edit::Truncate => {
                self.fresh.clear();
                disk.write_outside(PLAN, line.as_bytes());
            }
            Edit::Delete => {
                self.fresh.clear();
                self.open = None;
                return disk.remove_outside(PLAN);
            }
            Edit::Revert => {
                self.fresh.clear();
                self.open = None;
                let earlier = self.earlier.clone();
                return disk.replace_outside(PLAN, &earlier);
            }
            Edit::WriteOpen => match self.open {
                Some(file) => disk.append_open(file, line.as_bytes()),
                None => return,
            },
        }
        self.fresh.push(line);
    }

    fn we_looked(&mut self) {
        self.written.append(&mut self.fresh);
    }
}

/// Adds a line of ours, as often as somebody comes in between.
fn commit(disk: &CrashDisk, others: &Mutex<Others>, number: usize) -> Result<u64, String> {
    let (mut unit, mut contact) = open(disk)?;
    for _ in 0..3 {
        let content = contact.documents[PLAN].content.as_ref();
        let before = content.map(|content| content.bytes.clone()).unwrap_or_default();
        {
            let mut others = others.lock().expect("nobody panicked");
            let seen = |line: &String| String::from_utf8_lossy(&before).contains(line.as_str());
            let (old, fresh) = std::mem::take(&mut others.fresh).into_iter().partition(seen);
            others.written.extend::<Vec<_>>(old);
            others.fresh = fresh;
            others.earlier = before.clone();
        }
        let bytes = [&before[..], format!("ours {number}\n").as_bytes()].concat();
        let effects = [Effect::Write { path: PLAN.to_owned(), bytes }];
        match unit.commit(new_entry(number), &effects, &contact.documents) {
            Err(CommitError::Raced { .. }) => {
                contact = unit.contact(&[PLAN.to_owned()], crate::script::now()).map_err(|error| error.to_string())?;
            }
            Err(error) => return Err(error.to_string()),
            Ok(seq) => return Ok(seq),
        }
    }
    Err("they keep writing".to_owned())
}

/// Plays a script. Returns the disk, what the others remember, and our commits.
fn play(acts: &[Act]) -> (CrashDisk, Others, Vec<(u64, usize)>) {
    let mut disk = CrashDisk::default();
    let others = Arc::new(Mutex::new(Others::default()));
    let mut ours = Vec::new();
    // How often the document was replaced by us since somebody opened it. Only the file that was replaced last is
    // watched. Whoever comes after one that died may have to replace it once more.
    let mut replaced = 0;
    let mut is_owed = false;
    others.lock().expect("nobody panicked").edit(&disk, Edit::AddInPlace);
    for (number, act) in acts.iter().enumerate() {
        match *act {
            Act::Edit(edit) => others.lock().expect("nobody panicked").edit(&disk, edit),
            Act::Open => {
                others.lock().expect("nobody panicked").open = disk.open_outside(PLAN);
                replaced = usize::from(is_owed);
                continue;
            }
            Act::Commit => ours.push((commit(&disk, &others, number).expect("nothing is in the way"), number)),
            Act::CommitWith(at, edit) => {
                if edit == Edit::WriteOpen && replaced > 0 {
                    continue;
                }
                let them = Arc::clone(&others);
                disk.before(at, move |disk| them.lock().expect("nobody panicked").edit(disk, edit));
                ours.push((commit(&disk, &others, number).expect("they come only once"), number));
                disk.repair();
            }
            Act::Die(at, half) => {
                disk.stop_at(at, if half { Stop::Halfway } else { Stop::Before });
                let done = commit(&disk, &others, number);
                ours.extend(done.ok().map(|seq| (seq, number)));
                disk = disk.after_kill();
            }
        }
        if !matches!(act, Act::Edit(_)) {
            replaced += 1;
            is_owed = matches!(act, Act::Die(..));
        }
        if replaced > 1 {
            others.lock().expect("nobody panicked").open = None;
        }
    }
    open(&disk).expect("it opens");
    let mut others = std::mem::take(&mut *others.lock().expect("nobody panicked"));
    others.we_looked();
    (disk, others, ours)
}

/// Checks what is left of a script.
fn verify(disk: &CrashDisk, others: &Others, ours: &[(u64, usize)]) -> Result<(), String> {
    let Some(history) = History::open(disk, &key()).expect("it opens") else {
        return if ours.is_empty() && others.written.is_empty() { Ok(()) } else { Err("no journal".to_owned()) };
    };
    let log = history.log().expect("it can be read");
    let numbers: Vec<u64> = log.events.iter().map(|event| event.seq).collect();
    if numbers != (1..=numbers.len() as u64).collect::<Vec<_>>() {
        return Err(format!("numbers: {numbers:?}"));
    }
    let version = |seq| history.version(PLAN, seq).expect("it can be read").unwrap_or_default();
    let versions: Vec<String> =
        numbers.iter().map(|seq| String::from_utf8_lossy(&version(*seq)).into_owned()).collect();
    if versions.last().map(String::as_bytes).unwrap_or_default() != disk.bytes(PLAN).unwrap_or_default() {
        return Err("the document is not the last version".to_owned());
    }
    for (seq, number) in ours {
        if !versions[*seq as usize - 1].contains(&format!("ours {number}\n")) {
            return Err(format!("@{seq} does not hold line {number} of ours"));
        }
    }
    let kept: String = disk
        .files()
        .iter()
        .filter(|path| path.contains("/stray-"))
        .map(|path| String::from_utf8_lossy(&disk.bytes(path).unwrap_or_default()).into_owned())
        .collect();
    for line in &others.written {
        let first = versions.iter().position(|version| version.contains(line.as_str()));
        let late = |event: &piton_store::journal::Entry| {
            event.data.get("late").is_some_and(|late| late.to_string().contains(line.trim_end()))
        };
        match first {
            Some(first) if log.events[first].by != "outside" => {
                return Err(format!("{line:?} was first seen in an event of ours, @{}", first + 1));
            }
            Some(_) => {}
            None if log.events.iter().any(late) || kept.contains(line.as_str()) => {}
            None => return Err(format!("{line:?} is lost")),
        }
    }
    Ok(())
}

/// Somebody saves in the instant of the exchange, and another who has not seen that saves over it at each moment until we
/// look again. What the first one wrote is in the journal all the same, and nowhere else.
#[test]
fn what_was_saved_in_between_is_journaled_though_somebody_saves_over_it() {
    let (disk, _, _) = play(&[Act::Commit]);
    let whole = disk.after_kill();
    commit(&whole, &Mutex::default(), 7).expect("nothing is in the way");
    let is_exchange = |(kind, path): &(Kind, String)| *kind == Kind::Rename && path == PLAN;
    let exchange = whole.trace().iter().position(is_exchange).expect("there is one") as u64 + 1;
    for later in 1..=20 {
        let disk = disk.after_kill();
        disk.before(exchange, move |disk| {
            disk.write_outside(PLAN, b"saved in between\n");
            disk.before(1 + later, |disk| disk.write_outside(PLAN, b"saved over it\n"));
        });
        commit(&disk, &Mutex::default(), 7).expect("they come only once each");
        assert!(is_journaled(&disk, "saved in between"), "saved over it {later} effects later");
        let strays: Vec<_> = disk.files().into_iter().filter(|path| path.contains("/stray-")).collect();
        assert_eq!(strays, Vec::<String>::new(), "saved over it {later} effects later");
    }
}

/// Somebody has emptied the document when it is exchanged, and fills it a moment later; another who has seen neither puts
/// a new file in its place at each moment after that.
#[test]
fn what_was_half_saved_in_between_is_journaled_when_it_is_whole() {
    let (disk, _, _) = play(&[Act::Commit]);
    let whole = disk.after_kill();
    commit(&whole, &Mutex::default(), 7).expect("nothing is in the way");
    let is_exchange = |(kind, path): &(Kind, String)| *kind == Kind::Rename && path == PLAN;
    let exchange = whole.trace().iter().position(is_exchange).expect("there is one") as u64 + 1;
    for filled in 1..=2 {
        for later in 1..=12 {
            let disk = disk.after_kill();
            disk.before(exchange, move |disk| {
                let open = disk.open_outside(PLAN).expect("it is there");
                disk.write_open(open, b"");
                disk.before(1 + filled, move |disk| {
                    disk.write_open(open, b"saved slowly\n");
                    disk.before(later, |disk| disk.replace_outside(PLAN, b"saved over it\n"));
                });
            });
            commit(&disk, &Mutex::default(), 7).expect("they come only once each");
            assert!(is_journaled(&disk, "saved slowly"), "filled {filled} and saved over {later} effects later");
        }
    }
}

/// Somebody writes a document that has been replaced, and who finds it does nothing else: no other place will have it when
/// the power goes.
#[test]
fn what_was_written_late_is_durable_as_soon_as_it_is_seen() {
    let (disk, _, _) = play(&[Act::Commit]);
    let late = disk.open_outside(PLAN).expect("it is there");
    commit(&disk, &Mutex::default(), 7).expect("nothing is in the way");
    disk.write_open(late, b"written late\n");
    let (unit, contact) = open(&disk).expect("it opens");
    assert_eq!(contact.observed.len(), 1, "{:?}", contact.observed);
    let lost = disk.after_power_loss(PowerLoss::ContentsLost);
    drop(unit);
    assert!(is_journaled(&lost, "written late"));
}

/// Whether the journal has a text, as a version of the document or beside one.
pub fn is_journaled(disk: &CrashDisk, text: &str) -> bool {
    let history = History::open(disk, &key()).expect("it opens").expect("it is there");
    let log = history.log().expect("it can be read");
    log.events.iter().any(|event| {
        let version = history.version(PLAN, event.seq).expect("it can be read").unwrap_or_default();
        let is_late = event.data.get("late").is_some_and(|late| late.to_string().contains(text));
        is_late || String::from_utf8_lossy(&version).contains(text)
    })
}

/// Somebody edits at each moment up to the one in which the document changes places: ours comes after theirs.
#[test]
fn an_edit_before_the_exchange_is_in_what_we_write() {
    let (disk, _, _) = play(&[Act::Commit]);
    let whole = disk.after_kill();
    commit(&whole, &Mutex::default(), 7).expect("nothing is in the way");
    let is_exchange = |(kind, path): &(Kind, String)| *kind == Kind::Rename && path == PLAN;
    let exchange = whole.trace().iter().position(is_exchange).expect("there is one") as u64 + 1;
    for edit in [Edit::AddInPlace, Edit::AddByRename, Edit::Truncate] {
        for at in 1..=exchange {
            let disk = disk.after_kill();
            let others = Arc::new(Mutex::new(Others { lines: 100, ..Others::default() }));
            let them = Arc::clone(&others);
            disk.before(at, move |disk| them.lock().expect("nobody panicked").edit(disk, edit));
            let seq = commit(&disk, &others, 7).expect("they come only once");
            let history = History::open(&disk, &key()).expect("it opens").expect("it is there");
            let version = history.version(PLAN, seq).expect("it can be read").expect("it is there");
            assert!(String::from_utf8_lossy(&version).contains("theirs 101\n"), "{edit:?} before effect {at}");
            let log = history.log().expect("it can be read");
            assert_eq!(log.events[log.events.len() - 2].by, "outside", "{edit:?} before effect {at}");
        }
    }
}

/// Somebody edits at each moment while we finish what another process of ours began: theirs stays in the document.
#[test]
fn an_edit_while_a_dead_commit_is_finished_stays() {
    let (disk, _, _) = play(&[Act::Commit]);
    let effects = {
        let whole = disk.after_kill();
        commit(&whole, &Mutex::default(), 7).expect("nothing is in the way");
        whole.effects()
    };
    for point in 1..=effects {
        let dying = disk.after_kill();
        dying.stop_at(point, Stop::Before);
        // It may have been acknowledged: tidying up comes after that.
        let _ = commit(&dying, &Mutex::default(), 7);
        let left = dying.after_kill();
        let whole = left.after_kill();
        open(&whole).expect("it opens");
        for (edit, at) in [Edit::AddInPlace, Edit::AddByRename]
            .into_iter()
            .flat_map(|edit| (1..=whole.effects()).map(move |at| (edit, at)))
        {
            let disk = left.after_kill();
            let mut others = Others { lines: 100, ..Others::default() };
            disk.before(at, move |disk| others.edit(disk, edit));
            open(&disk).expect("it opens");
            open(&disk).expect("it opens again, and sees what came after the first look");
            let now = disk.bytes(PLAN).expect("it is there");
            let what = format!("{edit:?} before effect {at} after a death at {point}");
            assert!(String::from_utf8_lossy(&now).contains("theirs 101\n"), "{what}");
            let history = History::open(&disk, &key()).expect("it opens").expect("it is there");
            let last = history.last().expect("it can be read").expect("there is one");
            assert_eq!(history.version(PLAN, last.seq).expect("it can be read"), Some(now), "{what}");
        }
    }
}

/// How many scripts are played; the environment may ask for more.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(400)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_line_of_others_is_lost_or_overwritten_unseen(acts in prop::collection::vec(acts(), 1..14)) {
        let (disk, others, ours) = play(&acts);
        if let Err(error) = verify(&disk, &others, &ours) {
            return Err(TestCaseError::fail(error));
        }
    }
}
