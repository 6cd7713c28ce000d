use std::time::Duration;

use piton_model::{Effect, Time};
use serde_json::Map;

use super::*;
use crate::Key;
use crate::scratch::Scratch;

impl Scratch {
    fn lock(&self) -> LockedUnit<'_> {
        LockedUnit::lock(&self.tree, key(), Duration::ZERO, "").expect("nobody else is here")
    }

    fn history(&self) -> History {
        History::open(&self.tree, &key()).expect("it can be read").expect("there is a journal")
    }

    /// Records an event that changes one or both of two documents.
    fn record(&self, step: u64) {
        let mut unit = self.lock();
        let documents = [MAIN.to_owned(), OTHER.to_owned()];
        let contact = unit.contact(&documents, now()).expect("contact");
        let mut effects = vec![Effect::Write { path: MAIN.to_owned(), bytes: text(step).into_bytes() }];
        match step % 7 {
            2 | 4 => effects.push(Effect::Write { path: OTHER.to_owned(), bytes: format!("other {step}\n").into() }),
            5 => effects.push(Effect::Remove { path: OTHER.to_owned() }),
            _ => {}
        }
        unit.commit(new("recorded"), &effects, &contact.documents).expect("a commit");
    }

    fn compact(&self, newest: u64, named: &[u64]) -> Result<Option<Compacted>, CompactError> {
        let mut unit = self.lock();
        unit.contact(&[MAIN.to_owned(), OTHER.to_owned()], now()).expect("contact");
        unit.compact(&Keep { newest, named: named.iter().copied().collect() }, new("compacted"))
    }

    /// All that the journal tells: each event, with the documents that were there after it.
    fn told(&self) -> BTreeMap<u64, Told> {
        let history = self.history();
        let log = history.log().expect("a log");
        assert_eq!(log.broken_at, None);
        let version = |entry: &Entry| {
            let there = entry.documents.iter().filter(|state| state.hash.is_some());
            let bytes = |path: &str| history.version(path, entry.seq).expect("a version").expect("it is kept");
            let documents = there.map(|state| (state.path.clone(), bytes(&state.path))).collect();
            (entry.seq, (format!("{}: {}", entry.event, entry.summary), documents))
        };
        log.events.iter().map(version).collect()
    }
}

/// What an event says, and the documents after it.
type Told = (String, Vec<(String, Vec<u8>)>);

const MAIN: &str = "docs/main.json";
const OTHER: &str = "docs/other.md";

fn key() -> Key {
    Key {
        dialect: "build".to_owned(),
        base: String::new(),
        id: "PRD-009".to_owned(),
        folded_id: "PRD-009".to_owned(),
        document: MAIN.to_owned(),
    }
}

fn now() -> Time {
    Time::from_unix_seconds(1_771_588_800)
}

fn new(event: &str) -> NewEntry {
    NewEntry {
        at: now(),
        attempt: 1,
        by: "main".to_owned(),
        event: event.to_owned(),
        summary: "as it is".to_owned(),
        data: Map::new(),
        carried: Map::new(),
    }
}

/// A document that changes in its middle, and sometimes altogether.
fn text(step: u64) -> String {
    let fill = if step % 11 == 3 { "y" } else { "x" };
    format!("{{\"step\": {step}, \"fill\": \"{}\"}}\n", fill.repeat(3000))
}

#[test]
fn every_version_that_stays_is_as_it_was() {
    for (newest, named) in [(1, &[][..]), (2, &[1]), (10, &[2, 5, 17]), (10, &[29, 30]), (39, &[]), (0, &[40])] {
        let scratch = Scratch::new();
        (1..=40).for_each(|step| scratch.record(step));
        let before = scratch.told();
        let compacted = scratch.compact(newest, named).expect("it can be compacted").expect("something goes");
        let after = scratch.told();
        let kept: BTreeSet<u64> = (41 - newest.max(1)..=40).chain(named.iter().copied()).collect();
        assert_eq!(after.keys().copied().collect::<Vec<_>>(), kept.iter().copied().chain([41]).collect::<Vec<_>>());
        assert_eq!(compacted.left_out, 40 - kept.len() as u64);
        for seq in kept {
            assert_eq!(after[&seq], before[&seq], "@{seq} of {newest} and {named:?}");
        }
        assert_eq!(after[&41].1, before[&40].1);
        // The last line alone leads to the newest version, as it always did.
        for (path, bytes) in &after[&41].1 {
            let current = scratch.lock().current(path).expect("it can be read");
            assert_eq!(current.as_ref(), Some(bytes), "{path} of {newest} and {named:?}");
        }
        for gone in (1..41).filter(|seq| !after.contains_key(seq)) {
            assert_eq!(scratch.history().version(MAIN, gone).expect("it can be read"), None, "@{gone}");
        }
    }
}

#[test]
fn work_goes_on_after_it_and_it_can_be_done_again() {
    let scratch = Scratch::new();
    (1..=30).for_each(|step| scratch.record(step));
    scratch.compact(5, &[3, 7]).expect("it can be compacted").expect("something goes");
    (32..=60).for_each(|step| scratch.record(step));
    let before = scratch.told();
    assert_eq!(before.keys().copied().collect::<Vec<_>>(), [3, 7].into_iter().chain(26..=60).collect::<Vec<_>>());
    assert_eq!(scratch.compact(100, &[3, 7]).expect("it can be compacted"), None);
    let compacted = scratch.compact(4, &[7, 28]).expect("it can be compacted").expect("something goes");
    assert_eq!((compacted.first, compacted.named.clone()), (57, vec![7, 28]));
    assert_eq!(compacted.to_string(), "kept @7, @28 and @57 to @60; 31 events left out of the journal");
    let after = scratch.told();
    for seq in [7, 28, 57, 58, 59, 60] {
        assert_eq!(after[&seq], before[&seq], "@{seq}");
    }
    let log = scratch.history().log().expect("a log");
    assert_eq!(log.compacted_up_to(), 56);
    assert_eq!(log.older().map(|entry| entry.seq).collect::<Vec<_>>(), [7, 28]);
}

#[test]
fn a_splice_costs_as_little_after_it_as_before() {
    let scratch = Scratch::new();
    (20..=30).for_each(|step| scratch.record(step));
    let size = |scratch: &Scratch| std::fs::metadata(scratch.path.join(key().journal())).expect("a journal").len();
    let (before, ()) = (size(&scratch), scratch.record(31));
    let usual = size(&scratch) - before;
    scratch.compact(2, &[]).expect("it can be compacted").expect("something goes");
    let (before, ()) = (size(&scratch), scratch.record(31));
    assert!(size(&scratch) - before <= usual + 16, "{} instead of {usual}", size(&scratch) - before);
}

#[test]
fn nothing_goes_where_a_version_is_missing_or_the_journal_is_damaged() {
    let scratch = Scratch::new();
    (1..=9).for_each(|step| scratch.record(step));
    let path = scratch.path.join(key().journal());
    let bytes = std::fs::read(&path).expect("a journal");
    let refused = scratch.compact(2, &[77]).expect_err("there is no such version");
    assert!(matches!(refused, CompactError::NoSuchVersion { seq: 77 }), "{refused}");
    assert_eq!(std::fs::read(&path).expect("a journal"), bytes);
    let mut damaged = bytes.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    std::fs::write(&path, &damaged).expect("a file can be written");
    let refused = scratch.compact(2, &[]).expect_err("the middle is damaged");
    assert!(matches!(refused, CompactError::Broken { .. }), "{refused}");
    assert_eq!(std::fs::read(&path).expect("a journal"), damaged);
}
