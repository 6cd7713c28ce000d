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
}

impl Place {
    /// A path below the directory that holds the dialect's files.
    pub fn path(&self, below: &str) -> String {
        if self.base.is_empty() { below.to_owned() } else { format!("{}/{below}", self.base) }
    }
}
