//! A document as it was read, and the digest of what becomes of it, computed without hashing again what stays.

use std::sync::OnceLock;

use piton_model::{Digest, Edit};
use sha2::{Digest as _, Sha256};

use crate::disk::{Disk, Stamp};
use crate::journal::Hash;
use crate::unit::LARGE;
use crate::{Content, ReadError};

/// A document as it was read under the lock.
#[derive(Debug, Clone)]
pub struct SeenDocument {
    /// What it holds; nothing when it is not there.
    pub content: Option<SeenContent>,
}

/// What a document held, and which file it was.
#[derive(Debug, Clone)]
pub struct SeenContent {
    /// Its bytes; none where it was not read.
    pub bytes: Vec<u8>,
    /// Whether it was not read: nobody has written it since we did, and it is seldom looked at.
    pub is_unread: bool,
    /// Their digest.
    pub hash: Hash,
    /// Which file, and when it was written.
    pub stamp: Stamp,
    /// How the digest came about; nothing where it was known and nobody has hashed ahead.
    steps: OnceLock<Steps>,
}

impl SeenDocument {
    /// Reads a document; one that is not there is seen as well.
    pub(crate) fn read(disk: &dyn Disk, path: &str) -> Result<SeenDocument, ReadError> {
        match disk.read(path) {
            Ok(Content { bytes, stamp, .. }) => Ok(SeenDocument { content: Some(SeenContent::new(bytes, stamp)) }),
            Err(ReadError::Missing) => Ok(SeenDocument { content: None }),
            Err(error) => Err(error),
        }
    }
}

impl SeenContent {
    /// Hashes what was read.
    pub fn new(bytes: Vec<u8>, stamp: Stamp) -> SeenContent {
        let (hash, steps) = Steps::hash(&bytes);
        SeenContent { bytes, is_unread: false, hash, stamp, steps: steps.into() }
    }

    /// What a document is going to hold in the same file's place, whose digest is known.
    pub(crate) fn known(bytes: Vec<u8>, hash: Hash, stamp: Stamp) -> SeenContent {
        SeenContent { bytes, is_unread: false, hash, stamp, steps: OnceLock::new() }
    }

    /// What is as we left it, and is not read.
    pub(crate) fn unread(hash: Hash, stamp: Stamp) -> SeenContent {
        SeenContent { is_unread: true, ..SeenContent::known(Vec::new(), hash, stamp) }
    }

    /// Reads what was not read so far; nothing when somebody has written it since.
    pub(crate) fn read_now(&self, disk: &dyn Disk, path: &str) -> Option<SeenContent> {
        let content = disk.read(path).ok().filter(|content| content.stamp == self.stamp)?;
        let seen = SeenContent::new(content.bytes, content.stamp);
        (seen.hash == self.hash).then_some(seen)
    }

    /// Begins with the digest of what it is going to hold, before the edits are known: as long as there is time, all of it is
    /// hashed as it is, from the start. What comes before the first edit is not hashed again.
    pub fn hash_ahead(&self, is_time: &dyn Fn() -> bool) {
        if self.steps.get().is_none() {
            let _ = self.steps.set(Steps::ahead(&self.bytes, is_time));
        }
    }

    /// The digest of what it holds with edits made; nothing when they do not fit.
    pub fn digest_with(&self, edits: &[Edit]) -> Option<Digest> {
        let Some(first) = edits.first() else { return Some(self.hash.digest()) };
        let parts = Edit::parts(&self.bytes, edits).filter(|_| !self.is_unread)?;
        let (mut hasher, mut known) = self.steps.get().map_or_else(Default::default, |steps| steps.before(first.at));
        for part in parts {
            // What is known ends in the first part, before the first edit.
            hasher.update(&part[known.min(part.len())..]);
            known = known.saturating_sub(part.len());
        }
        Some(Hash::finished(hasher).digest())
    }
}

/// In how many parts a large content is hashed.
const PARTS: usize = 64;

/// States of the computation of a digest, so that a change near the end costs little: hashing is the larger part of
/// ticking a box in a plan of megabytes. What is small has none.
#[derive(Debug, Clone, Default)]
struct Steps {
    /// The state before each part.
    before: Vec<Sha256>,
    /// How long a part is.
    length: usize,
}

impl Steps {
    fn hash(bytes: &[u8]) -> (Hash, Steps) {
        if (bytes.len() as u64) < LARGE {
            return (Hash::of(bytes), Steps::default());
        }
        let (hasher, steps) = Steps::take(bytes, &|| true);
        (Hash::finished(hasher), steps)
    }

    /// As many as there is time for.
    fn ahead(bytes: &[u8], is_time: &dyn Fn() -> bool) -> Steps {
        if (bytes.len() as u64) < LARGE { Steps::default() } else { Steps::take(bytes, is_time).1 }
    }

    fn take(bytes: &[u8], is_time: &dyn Fn() -> bool) -> (Sha256, Steps) {
        let length = bytes.len() / PARTS;
        let mut before = Vec::with_capacity(PARTS + 1);
        let mut hasher = Sha256::new();
        for part in bytes.chunks(length) {
            before.push(hasher.clone());
            if !is_time() {
                break;
            }
            hasher.update(part);
        }
        (hasher, Steps { before, length })
    }

    /// The last state that has seen nothing from a byte on, and how many bytes it has seen.
    fn before(&self, byte: usize) -> (Sha256, usize) {
        let Some(last) = self.before.len().checked_sub(1) else { return (Sha256::new(), 0) };
        let step = (byte / self.length).min(last);
        (self.before[step].clone(), step * self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::cell::Cell;

    fn edit(at: usize, removed: usize, inserted: &str) -> Edit {
        Edit { at, removed, inserted: inserted.into() }
    }

    #[test]
    fn the_digest_of_an_edited_document_is_that_of_its_text() {
        let large = LARGE as usize;
        for length in [0, 1, 64, 5000, large - 1, large, large + 1, 2 * large + 77] {
            let bytes: Vec<u8> = (0..length).map(|number| (number % 251) as u8).collect();
            let stamp = Stamp { inode: 1, size: length as u64, modified: 0 };
            let seen = SeenContent::new(bytes.clone(), stamp);
            assert_eq!(seen.hash, Hash::of(&bytes), "{length}");
            assert_eq!(seen.digest_with(&[]), Some(Hash::of(&bytes).digest()), "{length}");
            let part = seen.steps.get().expect("it was hashed").length.max(1);
            for at in [0, 1, part - 1, part, part + 1, 7 * part, length / 2, length.saturating_sub(1), length] {
                let at = at.min(length);
                let left = length - at;
                for edits in [
                    vec![edit(at, 0, "more")],
                    vec![edit(at, left.min(1), "x")],
                    vec![edit(at, left.min(70_000), "")],
                    vec![edit(at, left.min(1), "x"), edit(at + left / 2 + left.min(1), 0, "y"), edit(length, 0, "end")],
                ] {
                    let Some(parts) = Edit::parts(&bytes, &edits) else {
                        assert_eq!(seen.digest_with(&edits), None, "{length} {edits:?}");
                        continue;
                    };
                    let want = Hash::of(&parts.concat()).digest();
                    assert_eq!(seen.digest_with(&edits), Some(want), "{length} {edits:?}");
                }
            }
            assert_eq!(seen.digest_with(&[edit(length, 1, "")]), None, "{length}");
        }
    }

    #[test]
    fn what_was_hashed_ahead_changes_no_digest() {
        let large = LARGE as usize;
        for length in [0, 5000, large, large + 77] {
            let bytes: Vec<u8> = (0..length).map(|number| (number % 241) as u8).collect();
            let stamp = Stamp { inode: 1, size: length as u64, modified: 0 };
            for parts in [0_usize, 1, 2, 40, 64, 100] {
                let seen = SeenContent::known(bytes.clone(), Hash::of(&bytes), stamp);
                let left = Cell::new(parts);
                seen.hash_ahead(&|| left.replace(left.get().saturating_sub(1)) > 0);
                let steps = seen.steps.get().expect("it was begun");
                let most = if length < large { 0 } else { (parts + 1).min(length.div_ceil(steps.length)) };
                assert_eq!(steps.before.len(), most, "{length}: only as far as there was time");
                for at in [0, 1, length / 64, length / 2, length].map(|at| at.min(length.saturating_sub(1))) {
                    let edits = [edit(at, length.min(1), "x")];
                    let want = Hash::of(&Edit::parts(&bytes, &edits).expect("it fits").concat()).digest();
                    assert_eq!(seen.digest_with(&edits), Some(want), "{length} {parts} {at}");
                }
            }
        }
    }
}
