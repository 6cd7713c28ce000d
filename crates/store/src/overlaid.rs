//! A disk as it will be: files that are behind a journal hold what it says. It is for readers, and refuses to be changed.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use piton_model::Time;

use crate::disk::{Access, Disk, DiskError, Handle, Identity, LockError, Open, Rename, Stamp, directory_of, name_of};
use crate::{Behind, Content, ReadError};

/// A disk, and files that are different from what is on it.
#[derive(Debug)]
pub struct Overlaid {
    below: Arc<dyn Disk>,
    files: BTreeMap<String, Behind>,
}

impl Overlaid {
    /// Lays files over a disk.
    pub fn new(below: Arc<dyn Disk>, files: impl IntoIterator<Item = Behind>) -> Overlaid {
        Overlaid { below, files: files.into_iter().map(|file| (file.path.clone(), file)).collect() }
    }

    /// What lies over a path. Journals know a file by its own name, others may know it by a link.
    fn over(&self, path: &str) -> Option<&Behind> {
        let linked = || self.files.get(&self.below.resolve(path).ok()?);
        self.files.get(path).or_else(linked)
    }

    fn is_there(&self, path: &str) -> bool {
        self.files.get(path).is_none_or(|file| file.bytes.is_some())
    }

    fn new_files(&self) -> impl Iterator<Item = &str> {
        let is_new = |path: &str| matches!(self.below.stamp(path), Ok(None));
        let files = self.files.values().filter(|file| file.bytes.is_some());
        files.map(|file| file.path.as_str()).filter(move |path| is_new(path))
    }
}

impl Disk for Overlaid {
    fn root(&self) -> &Path {
        self.below.root()
    }

    fn read(&self, path: &str) -> Result<Content, ReadError> {
        let Some(file) = self.over(path) else { return self.below.read(path) };
        let Some(bytes) = file.bytes.clone() else { return Err(ReadError::Missing) };
        let modified = Time::from_unix_seconds(i64::try_from(file.written / 1_000_000_000).unwrap_or_default());
        Ok(Content { bytes, modified, stamp: stamp_of(file).expect("it is there") })
    }

    fn stamp(&self, path: &str) -> Result<Option<Stamp>, DiskError> {
        match self.over(path) {
            Some(file) => Ok(stamp_of(file)),
            None => self.below.stamp(path),
        }
    }

    fn identity(&self, directory: &str) -> Result<Option<Identity>, DiskError> {
        self.below.identity(directory)
    }

    fn resolve(&self, path: &str) -> Result<String, DiskError> {
        self.below.resolve(path)
    }

    fn list(&self, directory: &str) -> Vec<String> {
        let mut names = self.below.list(directory);
        names.retain(|name| self.is_there(&in_directory(directory, name)));
        names.extend(
            self.new_files().filter(|path| directory_of(path) == directory).map(|path| name_of(path).to_owned()),
        );
        names.sort_unstable();
        names
    }

    fn walk(&self, visit: &mut dyn FnMut(&str)) {
        self.below.walk(&mut |path| {
            if self.is_there(path) {
                visit(path);
            }
        });
        self.new_files().for_each(visit);
    }

    fn open(&self, path: &str, how: Open<'_>) -> Result<Box<dyn Handle>, DiskError> {
        match how {
            Open::Existing => self.below.open(path, how),
            Open::Create(_) | Open::New { .. } => Err(refused("make", path)),
        }
    }

    fn make_directory(&self, path: &str, _: Access) -> Result<(), DiskError> {
        Err(refused("make the directory", path))
    }

    fn rename(&self, _: &str, to: &str, _: Rename) -> Result<(), DiskError> {
        Err(refused("rename to", to))
    }

    fn link(&self, _: &str, to: &str) -> Result<(), DiskError> {
        Err(refused("link to", to))
    }

    fn remove(&self, path: &str) -> Result<(), DiskError> {
        Err(refused("remove", path))
    }

    fn sync_directory(&self, path: &str) -> Result<(), DiskError> {
        Err(refused("sync the directory", path))
    }

    fn lock(&self, path: &str, _: Duration) -> Result<Box<dyn Handle>, LockError> {
        Err(refused("lock", path).into())
    }

    fn boot(&self) -> String {
        self.below.boot()
    }
}

/// No file on the disk has this number.
fn stamp_of(file: &Behind) -> Option<Stamp> {
    let bytes = file.bytes.as_ref()?;
    Some(Stamp { inode: 0, size: bytes.len() as u64, modified: file.written })
}

fn refused(doing: &'static str, path: &str) -> DiskError {
    DiskError { doing, path: path.to_owned(), error: io::Error::from(io::ErrorKind::ReadOnlyFilesystem) }
}

fn in_directory(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}
