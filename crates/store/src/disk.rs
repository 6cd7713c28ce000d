//! The seam below everything that touches a file. Behind it is a real directory, or in tests a disk that crashes.

use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::{Content, ReadError, Reader};

/// A disk, seen from the workspace's root. Every method that changes something is one effect: a crash comes before
/// or after it, never inside, except in the middle of the bytes of a write.
///
/// Paths are relative, with `/` between names, and are resolved beneath the root: no link leads out.
pub trait Disk: fmt::Debug + Send + Sync {
    /// Where the root is.
    fn root(&self) -> &Path;

    /// Reads a whole document: a regular file of bounded size.
    fn read(&self, path: &str) -> Result<Content, ReadError>;

    /// For reading many documents one after another, where there is a faster way than one by one.
    fn reader(&self) -> Option<Reader<'_>> {
        None
    }

    /// What tells this file from another one, and one content of it from the next; nothing when it is not there.
    fn stamp(&self, path: &str) -> Result<Option<Stamp>, DiskError>;

    /// What stays the same as long as nobody writes a file or gives it another name; nothing when it is not there, and
    /// where the file system does not promise that every change shows in it, however it is made.
    fn imprint(&self, path: &str) -> Result<Option<Imprint>, DiskError> {
        let _ = path;
        Ok(None)
    }

    /// What tells this directory from every copy of it; nothing when it is not there or is no directory.
    fn identity(&self, directory: &str) -> Result<Option<Identity>, DiskError>;

    /// The path behind all links; the same path when nothing is there yet.
    fn resolve(&self, path: &str) -> Result<String, DiskError>;

    /// The names in a directory, in order; none when it cannot be listed.
    fn list(&self, directory: &str) -> Vec<String>;

    /// Calls `visit` with every file that may be a document.
    fn walk(&self, visit: &mut dyn FnMut(&str));

    /// Opens a file to read and write parts of it.
    fn open(&self, path: &str, how: Open<'_>) -> Result<Box<dyn Handle>, DiskError>;

    /// Makes a file that has no name, in the directory of another one and like it: whatever becomes of us, nothing is left of
    /// it. Nothing where that cannot be done.
    fn unnamed(&self, like: &str) -> Option<Box<dyn Handle>> {
        let _ = like;
        None
    }

    /// Makes a directory in one that is there; it may be there already.
    fn make_directory(&self, path: &str, access: Access) -> Result<(), DiskError>;

    /// Gives a file another name.
    fn rename(&self, from: &str, to: &str, how: Rename) -> Result<(), DiskError>;

    /// Gives a file a second name, which must be free.
    fn link(&self, from: &str, to: &str) -> Result<(), DiskError>;

    /// Takes a file's name away.
    fn remove(&self, path: &str) -> Result<(), DiskError>;

    /// Makes the names in a directory durable.
    fn sync_directory(&self, path: &str) -> Result<(), DiskError>;

    /// Locks a file, which is made when it is missing. The lock goes with the handle, or with the process.
    fn lock(&self, path: &str, wait: Duration) -> Result<Box<dyn Handle>, LockError>;

    /// What is different after each start of the machine.
    fn boot(&self) -> String;
}

/// An open file.
pub trait Handle: Send + Sync {
    /// How many bytes it has.
    fn size(&self) -> Result<u64, DiskError>;
    /// Reads at most that many bytes from there.
    fn read_at(&self, at: u64, length: usize) -> Result<Vec<u8>, DiskError>;
    /// Writes all of the bytes there.
    fn write_at(&self, at: u64, bytes: &[u8]) -> Result<(), DiskError>;
    /// Cuts it.
    fn truncate(&self, size: u64) -> Result<(), DiskError>;
    /// Gives a file without a name its first one, which must be free, in the directory that it was made in.
    fn name(&self, path: &str) -> Result<(), DiskError> {
        Err(DiskError { doing: "name", path: path.to_owned(), error: io::ErrorKind::Unsupported.into() })
    }

    /// Begins with what `sync` waits for, where that can be told. It promises nothing.
    fn begin_sync(&self) {}

    /// Makes its bytes durable. When this fails nothing is known about them, and asking again would lie.
    fn sync(&self) -> Result<(), DiskError>;
    /// What tells it from other files.
    fn stamp(&self) -> Result<Stamp, DiskError>;
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open<'a> {
    /// It must be there.
    Existing,
    /// It is made when it is missing.
    Create(Access),
    /// It must not be there; it gets the mode and owner of another file, when that is there.
    New {
        /// That other file. With no name at all the new one is private.
        like: &'a str,
    },
}

/// Who may open what is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Its owner alone.
    Private,
    /// Whoever the user's mask allows.
    Shared,
}

/// What happens to what has the new name already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rename {
    /// It is replaced.
    Replace,
    /// There must not be any.
    New,
    /// It gets the old name, in the same instant.
    Exchange,
}

/// What tells a file and its content from others. Whoever writes a file changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The file.
    pub inode: u64,
    /// Its length.
    pub size: u64,
    /// When it was last written, in nanoseconds.
    pub modified: i128,
}

/// A stamp that nobody can put back: not even with the file's time of writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Imprint {
    /// Which file, and when it was last written.
    pub stamp: Stamp,
    /// When anything about it last changed, its name included, in nanoseconds.
    pub changed: i128,
}

impl Imprint {
    /// Whether a file that we wrote, and then put into its place, shows whatever others have done to it since it is
    /// there. What they do has the time at which it was put there, or a later one; where the clock has moved on between
    /// our writing and that, none of them is the time of our writing.
    pub fn is_telling(&self, written: Stamp) -> bool {
        self.stamp == written && self.changed > written.modified
    }
}

/// What tells a directory from its copies, and whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// The directory.
    pub inode: u64,
    /// When it was made, in nanoseconds; zero where the file system does not say.
    pub born: i128,
    /// Whose it is.
    pub owner: u32,
    /// Whether it is ours.
    pub is_ours: bool,
}

/// An effect that failed.
#[derive(Debug)]
pub struct DiskError {
    /// What was tried, as a verb.
    pub doing: &'static str,
    /// With what.
    pub path: String,
    /// What the system says.
    pub error: io::Error,
}

impl fmt::Display for DiskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} `{}`: {}", self.doing, self.path, self.error)
    }
}

impl DiskError {
    /// Whether the file or directory is not there.
    pub fn is_missing(&self) -> bool {
        matches!(self.error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
    }

    /// Whether something is in the way.
    pub fn is_taken(&self) -> bool {
        self.error.kind() == io::ErrorKind::AlreadyExists
    }
}

/// A lock that was not got.
#[derive(Debug)]
pub enum LockError {
    /// Somebody else holds it.
    Busy {
        /// What the holder wrote into it.
        holder: String,
    },
    /// The disk failed.
    Disk(DiskError),
}

impl From<DiskError> for LockError {
    fn from(error: DiskError) -> LockError {
        LockError::Disk(error)
    }
}

/// The directory that holds a path; empty for the root.
pub fn directory_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// The last name of a path.
pub fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Makes a directory with all that lead to it; the names are durable when this returns.
pub fn make_directories(disk: &dyn Disk, path: &str, access: Access) -> Result<(), DiskError> {
    if path.is_empty() || disk.identity(path)?.is_some() {
        return Ok(());
    }
    make_directories(disk, directory_of(path), access)?;
    disk.make_directory(path, access)?;
    disk.sync_directory(directory_of(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_shows_what_others_do_when_the_clock_moved_on_before_they_could() {
        let written = Stamp { inode: 1, size: 9, modified: 100 };
        let imprint = |stamp, changed| Imprint { stamp, changed };
        for (what, found, want) in [
            ("put in its place later", imprint(written, 101), true),
            ("in the same instant", imprint(written, 100), false),
            ("the clock went back", imprint(written, 99), false),
            ("written since", imprint(Stamp { modified: 101, ..written }, 101), false),
            ("longer", imprint(Stamp { size: 10, ..written }, 101), false),
            ("another file", imprint(Stamp { inode: 2, ..written }, 101), false),
        ] {
            assert_eq!(found.is_telling(written), want, "{what}");
        }
    }
}
