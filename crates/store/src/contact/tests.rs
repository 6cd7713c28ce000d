use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::disk::{Access, Disk, Handle, Identity, LockError, Rename};
use crate::unit::Key;
use crate::{Content, Tree};

#[test]
fn a_document_is_taken_as_it_is_when_nobody_can_be_at_it() {
    let millisecond = 1_000_000;
    let stamp = |size, age: i128| Stamp { inode: 1, size, modified: 1_000 * millisecond - age * millisecond };
    let fresh = stamp(9, 1);
    for (what, stamp, last, is_saved, want) in [
        ("left alone", stamp(9, 21), None, false, true),
        ("of the future", stamp(9, -1), None, false, true),
        ("just written", fresh, None, false, false),
        ("just written, and the same again", fresh, Some(fresh), false, true),
        ("just written, and another then", fresh, Some(stamp(8, 1)), false, false),
        ("just written, and saved", fresh, None, true, true),
        ("empty for long", stamp(0, 21), Some(stamp(0, 21)), false, false),
        ("empty, and saved", stamp(0, 1), None, true, false),
    ] {
        assert_eq!(is_whole(stamp, last, is_saved, 1_000 * millisecond), want, "{what}");
    }
}

#[test]
fn lines_are_counted_as_they_differ_wherever_they_stand() {
    for (old, new, added, removed) in [
        ("a\nb\nc\n", "a\nb\nc\n", 0, 0),
        ("a\nb\nc\n", "a\nx\nc\n", 1, 1),
        ("a\nb\nc\n", "a\nc\n", 0, 1),
        ("a\nc\n", "a\nb\nc\n", 1, 0),
        ("a\nb\nend", "a\nb\nother end", 1, 1),
        ("- [ ] one\n- [ ] two\n", "- [x] one\n- [ ] two\n", 1, 1),
        ("a\na\n", "a\na\na\n", 1, 0),
        ("one\ntwo\nthree\n", "three\ntwo\none\n", 0, 0),
        ("x\nsame\n", "xx\nsame\n", 1, 1),
        ("", "a\n", 1, 0),
    ] {
        let found = (lines_only_in(new.as_bytes(), old.as_bytes()), lines_only_in(old.as_bytes(), new.as_bytes()));
        assert_eq!(found, (added, removed), "{old:?} to {new:?}");
    }
}

#[test]
fn one_that_is_saved_is_read_once_and_the_word_holds_for_one_contact() {
    let place = std::env::temp_dir().join(format!("piton-saved-{}", std::process::id()));
    std::fs::create_dir_all(&place).expect("it can be made");
    std::fs::write(place.join("a.md"), "one").expect("it can be written");
    let disk = Busy { tree: Tree::open(&place).expect("it is there"), reads: AtomicUsize::new(0) };
    let key = Key {
        dialect: "plan".into(),
        base: String::new(),
        id: "a".into(),
        folded_id: "a".into(),
        document: "a.md".into(),
    };
    let mut unit = LockedUnit::lock(&disk, key, Duration::ZERO, "a test").expect("nobody else is here");
    let mut reads = |text: &str, is_saved: bool| {
        std::fs::write(place.join("a.md"), text).expect("it can be written");
        if is_saved {
            unit.is_saved("a.md").expect("it is there");
        }
        disk.reads.store(0, Ordering::SeqCst);
        unit.contact(&["a.md".to_owned()], Time::from_unix_seconds(0)).expect("the disk works");
        disk.reads.load(Ordering::SeqCst)
    };
    assert_eq!(reads("two", true), 1);
    assert_eq!(reads("", true), MOST_WAITS + 1, "an empty one is waited for");
    reads("three", false);
    assert_eq!(reads("three", false), 1, "one that is known is not waited for");
    assert_eq!(unit.saved, None, "what was said of one content says nothing of the next");
    std::fs::remove_dir_all(&place).expect("it goes");
}

/// A disk on which every document was written just now.
#[derive(Debug)]
struct Busy {
    tree: Tree,
    reads: AtomicUsize,
}

impl Disk for Busy {
    fn read(&self, path: &str) -> Result<Content, ReadError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        let mut content = self.tree.read(path)?;
        content.stamp.modified = now();
        Ok(content)
    }

    fn root(&self) -> &Path {
        Disk::root(&self.tree)
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
        Disk::walk(&self.tree, visit);
    }

    fn open(&self, path: &str, how: Open<'_>) -> Result<Box<dyn Handle>, DiskError> {
        Disk::open(&self.tree, path, how)
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

    fn sync_directory(&self, path: &str) -> Result<(), DiskError> {
        self.tree.sync_directory(path)
    }

    fn lock(&self, path: &str, wait: Duration) -> Result<Box<dyn Handle>, LockError> {
        self.tree.lock(path, wait)
    }

    fn boot(&self) -> String {
        self.tree.boot()
    }
}
