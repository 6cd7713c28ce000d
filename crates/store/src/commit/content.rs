use std::borrow::Cow;

use piton_model::Edit;
use sha2::{Digest as _, Sha256};

use super::SeenContent;
use crate::disk::{DiskError, Handle};
use crate::journal::{Hash, Splice};

/// Up to this length a content is put together and written at once.
const TOGETHER: usize = 256 * 1024;

/// More pieces than these are put together as well.
const MOST_PARTS: usize = 256;

/// What a file is to hold, as the pieces that it consists of: what stays of a document of megabytes is not copied.
pub(crate) struct NewContent<'a> {
    parts: Vec<&'a [u8]>,
    /// What leads to it from what was read.
    edits: Option<&'a [Edit]>,
}

impl<'a> NewContent<'a> {
    pub fn whole(bytes: &'a [u8]) -> NewContent<'a> {
        NewContent { parts: vec![bytes], edits: None }
    }

    /// What was read, with edits; nothing when they do not fit.
    pub fn edited(old: &'a SeenContent, edits: &'a [Edit]) -> Option<NewContent<'a>> {
        Some(NewContent { parts: Edit::parts(&old.bytes, edits)?, edits: Some(edits) })
    }

    pub fn length(&self) -> usize {
        self.parts.iter().map(|part| part.len()).sum()
    }

    /// All of it.
    pub fn bytes(&self) -> Cow<'a, [u8]> {
        match self.parts[..] {
            [only] => Cow::Borrowed(only),
            _ => Cow::Owned(self.parts.concat()),
        }
    }

    /// The digest of all of it.
    pub fn hash(&self) -> Hash {
        let mut hasher = Sha256::new();
        self.parts.iter().for_each(|part| hasher.update(part));
        Hash::finished(hasher)
    }

    /// What leads to it from an older content, which is the one that was read.
    pub fn splice_from(&self, old: &SeenContent) -> Splice {
        self.edits.and_then(Splice::of).unwrap_or_else(|| Splice::between(&old.bytes, &self.bytes()))
    }

    /// Writes it into a file that is empty.
    pub fn write_to(&self, file: &dyn Handle) -> Result<(), DiskError> {
        if self.length() <= TOGETHER || self.parts.len() > MOST_PARTS {
            return file.write_at(0, &self.bytes());
        }
        let mut at = 0;
        for part in self.parts.iter().filter(|part| !part.is_empty()) {
            file.write_at(at, part)?;
            at += part.len() as u64;
        }
        Ok(())
    }
}
