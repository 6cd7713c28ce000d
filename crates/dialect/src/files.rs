use std::borrow::Cow;
use std::ops::ControlFlow;

use piton_model::{Dialect, Digest, Edit, Id, Refusal, RetryLimits};

/// The files of a workspace as a writer sees them: what they hold now, under the lock of the unit.
///
/// A writer asks for what it needs and decides; it cannot change anything through this.
pub trait Files: Sync {
    /// What a file holds; nothing when there is none. Something that is there and cannot be read is a refusal. A document
    /// of the unit is lent as it was read.
    fn look(&self, path: &str) -> Result<Option<Cow<'_, [u8]>>, Refusal>;

    /// What a file holds, to be changed.
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Refusal> {
        Ok(self.look(path)?.map(Cow::into_owned))
    }

    /// The digest of a document of the unit when edits are made in what was lent; nothing for any other file, and where
    /// they do not fit. Only what has one can be edited: all else is written whole.
    fn digest(&self, path: &str, edits: &[Edit]) -> Option<Digest>;

    /// Begins with the digest of a document that is about to be edited, as long as there is time: for whoever has a core to
    /// spare before the edits are known.
    fn hash_ahead(&self, path: &str, is_time: &dyn Fn() -> bool) {
        let _ = (path, is_time);
    }

    /// Does two things once each, at the same time where there is a core for the other one.
    fn both(&self, other: &mut (dyn FnMut() + Send), own: &mut dyn FnMut()) {
        other();
        own();
    }

    /// The names in a directory, in order; none when it is not there.
    fn list(&self, directory: &str) -> Vec<String>;

    /// The recorded versions of a document, newest first, until `see` has seen enough. None where nothing was recorded.
    fn recorded(&self, path: &str, see: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) {
        let _ = (path, see);
    }

    /// When a file was last modified, in nanoseconds, to be compared with another file's; nothing where that is unknown.
    fn modified(&self, path: &str) -> Option<i128> {
        let _ = path;
        None
    }

    /// How often a story is retried, by the workspace's settings.
    fn retry_limits(&self) -> RetryLimits {
        RetryLimits::default()
    }
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
    /// The directories that have to be typed before the id, because the unit has namesakes; `.` for one at the root.
    pub typed_below: String,
}

impl Place {
    /// A path below the directory that holds the dialect's files.
    pub fn path(&self, below: &str) -> String {
        if self.base.is_empty() { below.to_owned() } else { format!("{}/{below}", self.base) }
    }

    /// The unit as it is typed.
    pub fn unit(&self, dialect: Dialect) -> String {
        self.named(dialect, &self.id.iter().map(Id::as_str).collect::<Vec<_>>().join("/"))
    }

    /// Another unit of the same place as it is typed.
    pub fn named(&self, dialect: Dialect, id: &str) -> String {
        match self.typed_below.as_str() {
            "" => format!("{dialect}:{id}"),
            below => format!("{dialect}:{below}/{id}"),
        }
    }
}

/// A workspace in memory, for tests of writers.
#[cfg(test)]
pub(crate) mod memory {
    use std::borrow::Cow;
    use std::collections::{BTreeMap, BTreeSet};
    use std::ops::ControlFlow;

    use piton_model::{Change, Digest, Edit, Effect, Refusal, RetryLimits};

    use super::Files;
    use crate::digest::digest_of;

    /// Files in memory, to which changes are applied as the store would.
    #[derive(Debug, Clone, Default, PartialEq)]
    pub(crate) struct MemoryFiles {
        pub files: BTreeMap<String, Vec<u8>>,
        /// The versions of each file that were recorded, oldest first.
        pub versions: BTreeMap<String, Vec<Vec<u8>>>,
        pub modified: BTreeMap<String, i128>,
        pub limits: Option<RetryLimits>,
    }

    impl MemoryFiles {
        /// Records a document as it is, as the store does before it decides and after it has written.
        pub(crate) fn observe(&mut self, path: &str) {
            let Some(bytes) = self.files.get(path) else { return };
            let versions = self.versions.entry(path.to_owned()).or_default();
            if versions.last() != Some(bytes) {
                versions.push(bytes.clone());
            }
        }

        /// Applies the effects in order. What the store refuses is a failure of the test.
        pub(crate) fn apply(&mut self, change: &Change) {
            let before = self.files.clone();
            for effect in &change.effects {
                match effect {
                    Effect::Write { path, bytes } => {
                        self.files.insert(path.clone(), bytes.clone());
                    }
                    Effect::Edit { path, edits, digest } => {
                        let bytes = edited(self.files.get(path).expect("what is edited is there"), edits);
                        if let Some(digest) = digest {
                            assert_eq!(digest_of([&bytes[..]]), *digest, "{path} is what its digest says");
                        }
                        self.files.insert(path.clone(), bytes);
                    }
                    Effect::Share { path, bytes, before: seen } => {
                        assert_eq!(self.files.get(path), seen.as_ref(), "{path} is what it was seen as");
                        self.files.insert(path.clone(), bytes.clone());
                    }
                    Effect::Append { path, line } => {
                        let log = self.files.entry(path.clone()).or_default();
                        if log.last().is_some_and(|byte| *byte != b'\n') {
                            log.push(b'\n');
                        }
                        log.extend_from_slice(line.as_bytes());
                    }
                    Effect::Keep { from, to } => {
                        let kept = before.get(from).expect("what is kept is there").clone();
                        assert_eq!(self.files.insert(to.clone(), kept), None, "{to} is free");
                    }
                    Effect::Remove { path } => {
                        assert!(self.files.remove(path).is_some(), "{path} is there");
                    }
                }
            }
        }

        /// What a file holds, as text.
        pub(crate) fn text(&self, path: &str) -> &str {
            let bytes = self.files.get(path).unwrap_or_else(|| panic!("{path} is there"));
            std::str::from_utf8(bytes).expect("text")
        }
    }

    fn edited(bytes: &[u8], edits: &[Edit]) -> Vec<u8> {
        Edit::parts(bytes, edits).expect("edits fit").concat()
    }

    impl Files for MemoryFiles {
        fn look(&self, path: &str) -> Result<Option<Cow<'_, [u8]>>, Refusal> {
            Ok(self.files.get(path).map(|bytes| Cow::Borrowed(bytes.as_slice())))
        }

        fn digest(&self, path: &str, edits: &[Edit]) -> Option<Digest> {
            Some(digest_of([&edited(self.files.get(path)?, edits)[..]]))
        }

        fn list(&self, directory: &str) -> Vec<String> {
            let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
            let below = self.files.keys().filter_map(|path| path.strip_prefix(&prefix));
            let names: BTreeSet<_> = below.map(|rest| rest.split('/').next().unwrap_or(rest).to_owned()).collect();
            names.into_iter().collect()
        }

        fn recorded(&self, path: &str, see: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) {
            let _ = self.versions.get(path).into_iter().flatten().rev().try_for_each(|bytes| see(bytes));
        }

        fn modified(&self, path: &str) -> Option<i128> {
            self.modified.get(path).copied()
        }

        fn retry_limits(&self) -> RetryLimits {
            self.limits.unwrap_or_default()
        }
    }
}
