//! An update of a unit that has a long history, beside one of a unit that has a short one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use piton_model::Time;
use piton_store::disk::{Access, Disk, DiskError, Handle, Identity, LockError, Open, Rename, Stamp};
use piton_store::{Content, Key, LockedUnit, NewEntry, ReadError, Tree};

use crate::beside::{Contender, agent, compare};
use crate::{Bench, goal, put};

const YOUNG: u64 = 1_000;
const OLD: u64 = 1_000_000;
const ROUNDS: usize = 300;
const UNIT: &str = "crew:Secondary-000000";

pub fn measure(bench: &Bench) {
    println!("update number {OLD} of a unit beside number {YOUNG}, cold");
    let (young, old) = (with_history(bench, YOUNG), with_history(bench, OLD));
    let ratios = compare(
        vec![
            Contender::program("piton beat, after 1,000 events", |_| bench.piton(&young, &["beat", UNIT])),
            Contender::program("piton beat, after 1,000,000 events", |_| bench.piton(&old, &["beat", UNIT])),
        ],
        ROUNDS,
    );
    goal("at most 1.1 times that", ratios[1], ratios[1] <= 1.1);
}

/// A unit with so many events, made by the store's own code on a disk that never waits.
fn with_history(bench: &Bench, events: u64) -> PathBuf {
    let workspace = bench.directory(&format!("aged-{events}"));
    put(&workspace.join("agent_checkpoints/secondary_000000.json"), &agent(0));
    bench.prepare(&workspace, &["beat", UNIT]);
    let start = Instant::now();
    let disk = Hasty { tree: Tree::open(&workspace).expect("a workspace") };
    let key = Key {
        dialect: "crew".to_owned(),
        base: String::new(),
        id: "Secondary-000000".to_owned(),
        folded_id: "secondary_000000".to_owned(),
        document: "agent_checkpoints/secondary_000000.json".to_owned(),
    };
    let mut unit = LockedUnit::lock(&disk, key, Duration::ZERO, "a benchmark").expect("nobody holds it");
    assert!(unit.seq() > 0, "the unit's own journal is continued");
    while unit.seq() < events {
        unit.commit(event(unit.seq()), &[], &BTreeMap::new()).expect("it is recorded");
    }
    drop(unit);
    // What was written without waiting is not to be waited for by whoever is measured.
    rustix::fs::sync();
    println!("  ({events} events took {:.1} s)", start.elapsed().as_secs_f64());
    workspace
}

fn event(number: u64) -> NewEntry {
    NewEntry {
        at: Time::from_unix_seconds(1_771_000_000),
        attempt: 1,
        by: "main".to_owned(),
        event: "note".to_owned(),
        summary: format!("noted: number {number}"),
        data: serde_json::Map::new(),
        carried: serde_json::Map::new(),
    }
}

/// The real disk, on which a sync does nothing.
#[derive(Debug)]
struct Hasty {
    tree: Tree,
}

struct HastyFile(Box<dyn Handle>);

impl Disk for Hasty {
    fn root(&self) -> &Path {
        Disk::root(&self.tree)
    }
    fn read(&self, path: &str) -> Result<Content, ReadError> {
        Disk::read(&self.tree, path)
    }
    fn stamp(&self, path: &str) -> Result<Option<Stamp>, DiskError> {
        self.tree.stamp(path)
    }
    fn identity(&self, directory: &str) -> Result<Option<Identity>, DiskError> {
        self.tree.identity(directory)
    }
    fn resolve(&self, path: &str) -> Result<String, DiskError> {
        self.tree.resolve(path)
    }
    fn list(&self, directory: &str) -> Vec<String> {
        Disk::list(&self.tree, directory)
    }
    fn walk(&self, visit: &mut dyn FnMut(&str)) {
        self.tree.walk(visit);
    }
    fn open(&self, path: &str, how: Open<'_>) -> Result<Box<dyn Handle>, DiskError> {
        Ok(Box::new(HastyFile(Disk::open(&self.tree, path, how)?)))
    }
    fn make_directory(&self, path: &str, access: Access) -> Result<(), DiskError> {
        self.tree.make_directory(path, access)
    }
    fn rename(&self, from: &str, to: &str, how: Rename) -> Result<(), DiskError> {
        self.tree.rename(from, to, how)
    }
    fn link(&self, from: &str, to: &str) -> Result<(), DiskError> {
        self.tree.link(from, to)
    }
    fn remove(&self, path: &str) -> Result<(), DiskError> {
        self.tree.remove(path)
    }
    fn sync_directory(&self, _: &str) -> Result<(), DiskError> {
        Ok(())
    }
    fn lock(&self, path: &str, wait: Duration) -> Result<Box<dyn Handle>, LockError> {
        self.tree.lock(path, wait)
    }
    fn boot(&self) -> String {
        self.tree.boot()
    }
}

impl Handle for HastyFile {
    fn size(&self) -> Result<u64, DiskError> {
        self.0.size()
    }
    fn read_at(&self, at: u64, length: usize) -> Result<Vec<u8>, DiskError> {
        self.0.read_at(at, length)
    }
    fn write_at(&self, at: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.0.write_at(at, bytes)
    }
    fn truncate(&self, size: u64) -> Result<(), DiskError> {
        self.0.truncate(size)
    }
    fn sync(&self) -> Result<(), DiskError> {
        Ok(())
    }
    fn stamp(&self) -> Result<Stamp, DiskError> {
        self.0.stamp()
    }
}
