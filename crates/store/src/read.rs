use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use piton_model::Time;
use rustix::buffer::spare_capacity;
use rustix::fs::{FileType, Mode, OFlags};

use crate::disk::Stamp;
use crate::parents::Parents;

/// The largest document that is read.
pub const LARGEST: u64 = 16 * 1024 * 1024;

/// A file's bytes and the time it was last written.
#[derive(Debug)]
pub struct Content {
    /// All of its bytes.
    pub bytes: Vec<u8>,
    /// Its modification time.
    pub modified: Time,
    /// What tells this content from the next.
    pub stamp: Stamp,
}

/// Why a file was not read.
#[derive(Debug)]
pub enum ReadError {
    /// There is none.
    Missing,
    /// A link on the way leads out of the workspace.
    Outside,
    /// It is something else than a regular file.
    NotAFile {
        /// What it is.
        what: &'static str,
    },
    /// It is larger than [`LARGEST`].
    TooLarge {
        /// How large it is.
        bytes: u64,
    },
    /// The system refused or failed.
    Io {
        /// What the system says.
        error: io::Error,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Missing => write!(f, "there is no such file"),
            ReadError::Outside => write!(f, "a symbolic link leads out of the workspace"),
            ReadError::NotAFile { what } => write!(f, "it is {what}, not a regular file"),
            ReadError::TooLarge { bytes } => write!(f, "it has {bytes} bytes, more than {LARGEST}"),
            ReadError::Io { error } => write!(f, "{error}"),
        }
    }
}

/// A directory below which files are opened, and never outside of it.
#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
    directory: File,
    /// Directories that are open while something is locked.
    pub(crate) parents: Arc<Parents>,
}

impl Tree {
    /// Opens the directory.
    pub fn open(root: &Path) -> io::Result<Tree> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(root, flags, Mode::empty())?;
        Ok(Tree { root: root.to_owned(), directory: File::from(directory), parents: Arc::default() })
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn directory(&self) -> &File {
        &self.directory
    }

    /// Reads the file at a relative path. Links are followed only as long as they stay inside; a FIFO, a
    /// device or a directory is refused without waiting for it; what is too large is not read at all.
    pub fn read(&self, path: &str) -> Result<Content, ReadError> {
        match self.open_beneath(path) {
            Ok(file) => read_whole(file, Vec::new()),
            Err(ReadError::Missing) if self.is_link(path) => {
                Err(ReadError::NotAFile { what: "a link that leads nowhere" })
            }
            Err(error) => Err(error),
        }
    }

    fn is_link(&self, path: &str) -> bool {
        let found = rustix::fs::statat(&self.directory, path, rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
        found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink)
    }

    /// The names in a directory, in order; nothing when it cannot be listed or a link on the way leads out.
    pub fn list(&self, path: &str) -> Vec<String> {
        let Ok(directory) = self.open_beneath(path) else { return Vec::new() };
        let Ok(listing) = rustix::fs::Dir::new(directory) else { return Vec::new() };
        let name = |entry: rustix::fs::DirEntry| entry.file_name().to_str().ok().map(str::to_owned);
        let mut names: Vec<_> = listing.flatten().filter_map(name).filter(|name| name != "." && name != "..").collect();
        names.sort_unstable();
        names
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn open_beneath(&self, path: &str) -> Result<File, ReadError> {
        use rustix::fs::ResolveFlags;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        loop {
            let opened = rustix::fs::openat2(&self.directory, path, READING, Mode::empty(), resolve);
            return match opened {
                Ok(file) => Ok(File::from(file)),
                // The kernel gives up when a rename races with the resolution; asking again is its own advice.
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => continue,
                Err(rustix::io::Errno::XDEV) => Err(ReadError::Outside),
                Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => self.open_resolved(path),
                Err(error) => Err(from_io(error.into())),
            };
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn open_beneath(&self, path: &str) -> Result<File, ReadError> {
        self.open_resolved(path)
    }

    /// For systems without `openat2`: resolves first, then opens what was resolved without following links.
    fn open_resolved(&self, path: &str) -> Result<File, ReadError> {
        let root = self.root.canonicalize().map_err(from_io)?;
        let resolved = root.join(path).canonicalize().map_err(from_io)?;
        if !resolved.starts_with(&root) {
            return Err(ReadError::Outside);
        }
        let opened = rustix::fs::open(&resolved, READING | OFlags::NOFOLLOW, Mode::empty());
        opened.map(File::from).map_err(|error| from_io(error.into()))
    }
}

/// Reads a file that somebody named on the command line, wherever it is, under the same bounds.
pub fn read_named(path: &Path) -> Result<Content, ReadError> {
    let opened = rustix::fs::open(path, READING, Mode::empty()).map_err(|error| from_io(error.into()))?;
    read_whole(File::from(opened), Vec::new())
}

pub(crate) const READING: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// How often a file that shrinks while it is read is read again.
const REREADS: usize = 10;

/// Reads an open file into a buffer that may hold anything.
///
/// A file that a writer truncates between the look at its size and the read is read again: else its content would be empty
/// and its stamp that of the version before, and no reader could tell that it is half written.
pub(crate) fn read_whole(file: File, mut bytes: Vec<u8>) -> Result<Content, ReadError> {
    for _ in 0..REREADS {
        let (content, is_cut) = read_once(&file, bytes)?;
        if !is_cut {
            return Ok(content);
        }
        bytes = content.bytes;
    }
    read_once(&file, bytes).map(|(content, _)| content)
}

/// Reads an open file from its beginning, and says whether it became shorter meanwhile.
fn read_once(file: &File, mut bytes: Vec<u8>) -> Result<(Content, bool), ReadError> {
    let stat = rustix::fs::fstat(file).map_err(|error| from_io(error.into()))?;
    let what = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => None,
        FileType::Directory => Some("a directory"),
        FileType::Fifo => Some("a FIFO"),
        FileType::Socket => Some("a socket"),
        FileType::CharacterDevice | FileType::BlockDevice => Some("a device"),
        FileType::Symlink | FileType::Unknown => Some("something unknown"),
    };
    if let Some(what) = what {
        return Err(ReadError::NotAFile { what });
    }
    let size = stat.st_size as u64;
    if size > LARGEST {
        return Err(ReadError::TooLarge { bytes: size });
    }
    // As many bytes as the file has now. What a writer appends meanwhile is seen by the next read.
    bytes.clear();
    bytes.reserve_exact(size as usize);
    while bytes.len() < size as usize {
        let at = bytes.len() as u64;
        let read = rustix::io::retry_on_intr(|| rustix::io::pread(file, spare_capacity(&mut bytes), at));
        if read.map_err(|error| from_io(error.into()))? == 0 {
            break;
        }
    }
    bytes.truncate(size as usize);
    let is_cut = bytes.len() < size as usize;
    let modified = i128::from(stat.st_mtime) * 1_000_000_000 + stat.st_mtime_nsec as i128;
    let stamp = Stamp { inode: stat.st_ino, size, modified };
    Ok((Content { bytes, modified: Time::from_unix_seconds(stat.st_mtime), stamp }, is_cut))
}

fn from_io(error: io::Error) -> ReadError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ReadError::Missing,
        // A socket cannot be opened at all.
        _ if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {
            ReadError::NotAFile { what: "a socket" }
        }
        _ => ReadError::Io { error },
    }
}
