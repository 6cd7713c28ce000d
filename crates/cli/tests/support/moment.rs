//! The moment before a command is typed: what was printed until then, and what the files of its user were like. A command that
//! writes and changes nothing did not move the work on.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::printed::{self, Printed};

pub struct Moment {
    outer: PathBuf,
    printed: BTreeSet<Printed>,
    files: u64,
}

impl Moment {
    /// Looks at the directory that holds a workspace and its user's own files.
    pub fn now(outer: &Path) -> Moment {
        Moment { outer: outer.to_owned(), printed: printed::read(&outer.join("hints")), files: files_of(outer) }
    }

    /// Notes the sites of a command that was printed before, typed since, and that worked.
    pub fn typed(&self, argv: &[String]) {
        let has_moved = self.files != files_of(&self.outer);
        // A run that is only explained starts nothing.
        let reads = |hint: &Printed| hint.reads || hint.argv.iter().any(|word| word == "--explain");
        let moved = self.printed.iter().filter(|hint| reads(hint) || has_moved).cloned().collect();
        printed::typed(&moved, argv);
    }
}

/// A number that changes with any file below a directory, but for git's and those in which tests note things.
fn files_of(directory: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    add(directory, &mut hasher);
    hasher.finish()
}

fn add(directory: &Path, hasher: &mut DefaultHasher) {
    let mut entries: Vec<_> = fs::read_dir(directory).into_iter().flatten().flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries.iter().filter(|entry| ![".git", "hints"].contains(&&*entry.file_name().to_string_lossy())) {
        // Workers may remove a file meanwhile.
        let Ok(data) = entry.path().symlink_metadata() else { continue };
        (entry.file_name(), data.is_file().then(|| (data.len(), data.mtime(), data.mtime_nsec()))).hash(hasher);
        if data.is_dir() {
            add(&entry.path(), hasher);
        }
    }
}
