//! Journals that were torn or damaged: they open, what is cut is kept, and no whole event is forgotten.

use std::collections::BTreeMap;

use piton_store::History;
use piton_testkit::{CrashDisk, PowerLoss};

use crate::points::life;
use crate::script::{Manners, PLAN, STATE, key, open, run};

/// A unit's disk, its journal, and every version of its documents.
struct Sound {
    disk: CrashDisk,
    journal: Vec<u8>,
    versions: BTreeMap<(&'static str, u64), Vec<u8>>,
    last: u64,
}

impl Sound {
    fn new() -> Sound {
        let disk = CrashDisk::default();
        run(&disk, &life()[..8], Manners::Syncing);
        disk.sync_outside();
        let journal = disk.bytes(&key().journal()).expect("there is a journal");
        let history = History::open(&disk, &key()).expect("it opens").expect("it is there");
        let last = history.last().expect("it can be read").expect("there is one").seq;
        let mut versions = BTreeMap::new();
        for seq in 1..=last {
            for path in [PLAN, STATE] {
                let version = history.version(path, seq).expect("it can be read");
                versions.extend(version.map(|version| ((path, seq), version)));
            }
        }
        Sound { disk, journal, versions, last }
    }

    /// The disk with another journal; started anew or not.
    fn with(&self, journal: &[u8], restarted: bool) -> CrashDisk {
        let disk = self.disk.after_kill();
        disk.write_outside(&key().journal(), journal);
        disk.sync_outside();
        if restarted { disk.after_power_loss(PowerLoss::NamesLost) } else { disk }
    }

    /// Opens a damaged journal and checks what must hold for any damage.
    fn check(&self, journal: &[u8], restarted: bool) -> Result<(), String> {
        let disk = self.with(journal, restarted);
        let intact = intact_events(&self.journal, journal);
        let before = History::open(&disk, &key()).expect("it opens").expect("it is there").log().expect("it is read");
        let listed: Vec<u64> = before.events.iter().map(|event| event.seq).collect();
        if intact.iter().any(|seq| !listed.contains(seq)) {
            return Err(format!("intact {intact:?}, listed {listed:?}"));
        }
        if journal != self.journal && before.broken_at.is_none() && journal.len() >= self.journal.len() {
            return Err("the damage is not reported".to_owned());
        }
        let (unit, _) = open(&disk)?;
        for path in [PLAN, STATE] {
            let current = unit.current(path).expect("it can be read");
            if current.is_some() && current != disk.bytes(path) {
                return Err(format!("the journal gives another text for {path} than the one it has a digest of"));
            }
        }
        let cut = unit.cut().map(|path| disk.bytes(path).unwrap_or_default()).unwrap_or_default();
        drop(unit);
        let now = disk.bytes(&key().journal()).unwrap_or_default();
        let common = now.iter().zip(journal).take_while(|(now, then)| now == then).count();
        let rest = &journal[common.min(journal.len())..];
        let is_head = self.journal.starts_with(journal) && intact.is_empty();
        if !is_head && !rest.is_empty() && !cut.ends_with(rest) {
            return Err(format!("{} bytes are neither in the journal nor kept aside", rest.len()));
        }
        self.check_versions(&disk)
    }

    /// A version is what it was, or unknown; never something else.
    fn check_versions(&self, disk: &CrashDisk) -> Result<(), String> {
        let Some(history) = History::open(disk, &key()).expect("it opens") else { return Ok(()) };
        let log = history.log().expect("it can be read");
        for ((path, seq), expected) in &self.versions {
            // A number may have been given again, to what was found after its first event was cut.
            let is_same = log.events.iter().any(|event| event.seq == *seq && event.by == "test");
            let found = history.version(path, *seq).expect("it can be read");
            if is_same && found.is_some_and(|found| found != *expected) {
                return Err(format!("{path}@{seq} is another one"));
            }
        }
        Ok(())
    }
}

/// The numbers of the events whose lines are still there, found by comparing text alone.
fn intact_events(sound: &[u8], damaged: &[u8]) -> Vec<u64> {
    let lines =
        |bytes: &[u8]| -> Vec<Vec<u8>> { bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect() };
    let left = lines(damaged);
    let events = lines(sound).into_iter().filter(|line| line.starts_with(b"{\"seq\":"));
    events.zip(1..).filter(|(line, _)| left.contains(line)).map(|(_, seq)| seq).collect()
}

#[test]
fn a_journal_may_be_cut_anywhere() {
    let sound = Sound::new();
    let last_line =
        sound.journal[..sound.journal.len() - 1].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    for cut in (0..last_line).step_by(397).chain((last_line..sound.journal.len()).step_by(2)) {
        for restarted in [false, true] {
            sound.check(&sound.journal[..cut], restarted).unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        }
    }
}

#[test]
fn a_flipped_byte_costs_only_its_own_line() {
    let sound = Sound::new();
    let newlines = (0..sound.journal.len()).filter(|at| sound.journal[*at] == b'\n');
    for at in (0..sound.journal.len()).step_by(31).chain(newlines) {
        let mut damaged = sound.journal.clone();
        damaged[at] ^= 1;
        for restarted in [false, true] {
            sound.check(&damaged, restarted).unwrap_or_else(|error| panic!("byte {at} flipped: {error}"));
        }
    }
}

#[test]
fn rubbish_behind_a_journal_is_cut_and_kept() {
    let sound = Sound::new();
    let second = sound.journal.split_inclusive(|byte| *byte == b'\n').next_back().expect("it has lines");
    let torn = [&second[..second.len() / 2], b"\n", &second[..second.len() / 3]].concat();
    for rubbish in [&b"x"[..], b"\n", b"\n\n\n", b"{\"seq\":99}\n", &[0; 70_000], &torn] {
        for restarted in [false, true] {
            let journal = [&sound.journal[..], rubbish].concat();
            sound.check(&journal, restarted).unwrap_or_else(|error| panic!("{:?}: {error}", &rubbish[..1]));
            let disk = sound.with(&journal, restarted);
            let (unit, _) = open(&disk).expect("it opens");
            assert_eq!(unit.seq(), sound.last);
            assert_eq!(unit.cut().and_then(|path| disk.bytes(path)).as_deref(), Some(rubbish));
        }
    }
}

#[test]
fn next_to_nothing_is_a_journal_too() {
    let sound = Sound::new();
    let head = sound.journal.split_inclusive(|byte| *byte == b'\n').next().expect("it has lines");
    for journal in [&b""[..], b"x", b"{", b"\n", head, &head[..head.len() / 2], &[head, b"rubbish\n"].concat()] {
        for restarted in [false, true] {
            sound
                .check(journal, restarted)
                .unwrap_or_else(|error| panic!("{:?}: {error}", String::from_utf8_lossy(journal)));
        }
    }
}
