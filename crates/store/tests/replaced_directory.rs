//! Somebody renames a document's directory away while the unit is locked, and puts another one in its place. Nothing of
//! theirs is overwritten, and what is acknowledged is in the journal.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use piton_model::{Effect, Time};
use piton_store::{CommitError, History, Key, LockedUnit, NewEntry, Tree};
use serde_json::Map;

const DOCUMENT: &str = "epic/agent_checkpoints/a.json";
const OLD: &str = "{\"version\": 1}\n";
const BETWEEN: &str = "{\"version\": 1.5}\n";
const NEW: &str = "{\"version\": 2}\n";

/// What is in the new directory.
#[derive(Debug, Clone, Copy)]
enum Put {
    Nothing,
    TheSame,
    Another(&'static str),
}

/// When it is put there.
#[derive(Debug, Clone, Copy, PartialEq)]
enum When {
    BeforeContact,
    BeforeCommit,
    /// Directories are open then.
    BetweenCommits,
}

struct Scratch {
    path: PathBuf,
    tree: Tree,
}

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("piton-replaced-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("epic/agent_checkpoints")).expect("a directory can be made");
        fs::create_dir_all(path.join(".piton")).expect("a directory can be made");
        fs::write(path.join(DOCUMENT), OLD).expect("a document can be written");
        let tree = Tree::open(&path).expect("a tree");
        Scratch { path, tree }
    }

    fn key(&self) -> Key {
        let [dialect, base, id, folded_id] = ["crew", "epic", "A", "a"].map(str::to_owned);
        Key { dialect, base, id, folded_id, document: DOCUMENT.to_owned() }
    }

    fn lock(&self) -> LockedUnit<'_> {
        LockedUnit::lock(&self.tree, self.key(), Duration::ZERO, "a test").expect("nobody else is here")
    }

    fn replace(&self, put: Put) {
        let directory = self.path.join("epic/agent_checkpoints");
        fs::rename(&directory, self.path.join("epic/moved")).expect("it can be renamed");
        fs::create_dir(&directory).expect("a directory can be made");
        match put {
            Put::Nothing => {}
            Put::TheSame => fs::write(self.path.join(DOCUMENT), OLD).expect("a document can be written"),
            Put::Another(text) => fs::write(self.path.join(DOCUMENT), text).expect("a document can be written"),
        }
    }

    fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.path.join(path)).ok()
    }

    fn leftovers(&self) -> Vec<String> {
        let names = ["epic/agent_checkpoints", "epic/moved"].map(|directory| self.tree.list(directory));
        names.into_iter().flatten().filter(|name| name.contains(".piton-")).collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn now() -> Time {
    Time::from_unix_seconds(1_771_588_140)
}

fn write(unit: &mut LockedUnit<'_>, contact: &piton_store::Contact, text: &str) -> Result<u64, CommitError> {
    let new = NewEntry {
        at: now(),
        attempt: 1,
        by: "main".to_owned(),
        event: "noted".to_owned(),
        summary: text.to_owned(),
        data: Map::new(),
        carried: Map::new(),
    };
    let effects = [Effect::Write { path: DOCUMENT.to_owned(), bytes: text.as_bytes().to_vec() }];
    unit.commit(new, &effects, &contact.documents)
}

fn replaced(when: When, put: Put) {
    let what = format!("{when:?}, {put:?}");
    let scratch = Scratch::new(&format!("{when:?}-{}", what.len()));
    let documents = [DOCUMENT.to_owned()];
    let mut unit = scratch.lock();
    if when == When::BeforeContact {
        scratch.replace(put);
    }
    let mut contact = unit.contact(&documents, now()).expect("it can be looked at");
    if when == When::BetweenCommits {
        write(&mut unit, &contact, BETWEEN).expect("nothing has happened yet");
        contact = unit.contact(&documents, now()).expect("it can be looked at");
        scratch.replace(put);
    }
    if when == When::BeforeCommit {
        scratch.replace(put);
    }
    let theirs = scratch.text(DOCUMENT);
    let committed = write(&mut unit, &contact, NEW);
    drop(unit);
    // Whoever comes next finds everything in order, and can go on.
    let mut unit = scratch.lock();
    let contact = unit.contact(&documents, now()).expect("it can be looked at again");
    let history = History::open(&scratch.tree, &scratch.key()).expect("it can be read").expect("there is a journal");
    let log = history.log().expect("it can be read");
    assert_eq!(log.broken_at, None, "{what}");
    let versions: Vec<Option<String>> = (log.events.iter())
        .map(|event| history.version(DOCUMENT, event.seq).expect("it can be read"))
        .map(|bytes| bytes.map(|bytes| String::from_utf8(bytes).expect("text")))
        .collect();
    if let Ok(seq) = committed {
        assert_eq!(versions[seq as usize - 1].as_deref(), Some(NEW), "{what}: what was acknowledged is kept");
    }
    // What they put there stands, or is a version that was replaced knowingly.
    let is_kept = theirs.is_none() || scratch.text(DOCUMENT) == theirs || versions.contains(&theirs);
    assert!(is_kept, "{what}: {theirs:?} is lost: {versions:?}");
    let moved = scratch.text("epic/moved/a.json").expect("it was moved with its directory");
    assert!([OLD, BETWEEN, NEW].contains(&moved.as_str()), "{what}: {moved}");
    let seq = write(&mut unit, &contact, "{\"version\": 3}\n").expect("it goes on");
    drop(unit);
    assert_eq!(scratch.text(DOCUMENT).as_deref(), Some("{\"version\": 3}\n"), "{what}");
    assert_eq!(log.events.len() as u64 + 1, seq, "{what}");
    let left: Vec<_> = scratch.leftovers();
    assert_eq!(left, Vec::<String>::new(), "{what}");
}

#[test]
fn a_directory_that_is_replaced_while_its_unit_is_locked_loses_nothing() {
    for when in [When::BeforeContact, When::BeforeCommit, When::BetweenCommits] {
        for put in [Put::Nothing, Put::TheSame, Put::Another("{\"version\": \"theirs\"}\n")] {
            replaced(when, put);
        }
    }
}
