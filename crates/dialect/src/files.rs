use piton_model::{Id, Refusal};

/// The files of a workspace as a writer sees them: what they hold now, under the lock of the unit.
///
/// A writer asks for what it needs and decides; it cannot change anything through this.
pub trait Files {
    /// What a file holds; nothing when there is none. Something that is there and cannot be read is a refusal.
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Refusal>;

    /// The names in a directory, in order; none when it is not there.
    fn list(&self, directory: &str) -> Vec<String>;
}

/// Which unit is written, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The directory that holds the dialect's own files; empty for the workspace's root.
    pub base: String,
    /// The unit's id, a part for each name between slashes: two for a task, one for all others.
    pub id: Vec<Id>,
    /// Its main document, where one was found; a unit that starts has none yet.
    pub document: Option<String>,
    /// The absolute path of the workspace, for a document that has to name it; empty when it is not known.
    pub root: String,
}

impl Place {
    /// A path below the directory that holds the dialect's files.
    pub fn path(&self, below: &str) -> String {
        if self.base.is_empty() { below.to_owned() } else { format!("{}/{below}", self.base) }
    }
}

#[cfg(test)]
pub(crate) mod memory {
    use std::collections::BTreeMap;

    use piton_model::{Change, Effect, Refusal};

    use super::Files;

    /// Files that are nowhere but here.
    #[derive(Debug, Clone, Default, PartialEq)]
    pub(crate) struct MemoryFiles {
        pub files: BTreeMap<String, Vec<u8>>,
    }

    impl MemoryFiles {
        /// Does what a change asks for.
        pub fn apply(&mut self, change: &Change) {
            for effect in &change.effects {
                match effect {
                    Effect::Write { path, bytes } | Effect::Share { path, bytes, .. } => {
                        self.files.insert(path.clone(), bytes.clone());
                    }
                    Effect::Append { path, line } => {
                        let log = self.files.entry(path.clone()).or_default();
                        if log.last().is_some_and(|last| *last != b'\n') {
                            log.push(b'\n');
                        }
                        log.extend_from_slice(line.as_bytes());
                    }
                    Effect::Keep { from, to } => {
                        let old = self.files.get(from).expect("what is kept is there").clone();
                        assert!(self.files.insert(to.clone(), old).is_none(), "{to} is taken");
                    }
                    Effect::Remove { path } => {
                        self.files.remove(path);
                    }
                }
            }
        }

        /// What a file holds, as text.
        pub fn text(&self, path: &str) -> &str {
            std::str::from_utf8(self.files.get(path).map_or(&[], Vec::as_slice)).expect("text")
        }
    }

    impl Files for MemoryFiles {
        fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Refusal> {
            Ok(self.files.get(path).cloned())
        }

        fn list(&self, directory: &str) -> Vec<String> {
            let inside =
                |path: &String| path.strip_prefix(directory)?.strip_prefix('/')?.split('/').next().map(str::to_owned);
            let mut names: Vec<String> = self.files.keys().filter_map(inside).collect();
            names.dedup();
            names
        }
    }
}
