//! What others wrote to a document while it was replaced: a file that has no place any more, kept beside the journal until
//! the journal has it.
//!
//! The file itself is kept where that is possible, not a copy: whoever has it open may not be done with it.

use std::io::ErrorKind;

use crate::disk::{Disk, DiskError, Rename};
use crate::journal::Hash;
use crate::unit::keep_aside;

/// Such a file.
#[derive(Debug, Clone)]
pub(crate) struct Stray {
    /// The document it was for an instant.
    pub path: String,
    /// Where it is now.
    pub file: String,
    /// What it held when it was found out of place. Once it is back there, somebody may write over it.
    pub first: Vec<u8>,
    /// What we had written to it ourselves, which is no news.
    pub ours: Option<Hash>,
}

impl Stray {
    /// Gives a file a second name, beside the journal.
    pub(crate) fn link(disk: &dyn Disk, own: &str, path: &str, from: &str) -> Result<Stray, DiskError> {
        let stray = Stray::place(disk, own, path, from, None, |file| disk.link(from, file))?;
        let first = disk.read(&stray.file).map(|content| content.bytes).unwrap_or_default();
        Ok(Stray { first, ..stray })
    }

    /// Moves a file beside the journal.
    pub(crate) fn take(
        disk: &dyn Disk,
        own: &str,
        path: &str,
        from: &str,
        ours: Option<Hash>,
    ) -> Result<Stray, DiskError> {
        let stray = Stray::place(disk, own, path, from, ours, |file| disk.rename(from, file, Rename::New))?;
        match disk.stamp(from)? {
            // It was copied.
            Some(_) => disk.remove(from).map(|()| stray),
            None => Ok(stray),
        }
    }

    /// Keeps bytes of a file that will be gone.
    pub(crate) fn copy(disk: &dyn Disk, own: &str, path: &str, bytes: &[u8]) -> Result<Stray, DiskError> {
        let file = keep_aside(disk, own, &word_for(path), bytes)?;
        Ok(Stray { path: path.to_owned(), file, first: Vec::new(), ours: None })
    }

    /// Those of these documents that somebody left who died.
    pub(crate) fn find<'p>(disk: &dyn Disk, own: &str, paths: impl Iterator<Item = &'p String>) -> Vec<Stray> {
        let names = disk.list(own);
        let of_path = |path: &'p String| {
            let mark = format!("{}-", word_for(path));
            let names = names.iter().filter(move |name| name.starts_with(&mark));
            let file = |name| format!("{own}/{name}");
            names.map(move |name| Stray { path: path.clone(), file: file(name), first: Vec::new(), ours: None })
        };
        paths.flat_map(of_path).collect()
    }

    fn place(
        disk: &dyn Disk,
        own: &str,
        path: &str,
        from: &str,
        ours: Option<Hash>,
        put: impl Fn(&str) -> Result<(), DiskError>,
    ) -> Result<Stray, DiskError> {
        for number in 1.. {
            let file = format!("{own}/{}-{number}", word_for(path));
            match put(&file) {
                Ok(()) => return Ok(Stray { path: path.to_owned(), file, first: Vec::new(), ours }),
                Err(error) if error.is_taken() => {}
                // A document on another file system than the journal, or one that knows no second names.
                Err(error) if matches!(error.error.kind(), ErrorKind::CrossesDevices | ErrorKind::PermissionDenied) => {
                    let bytes = disk.read(from).map(|content| content.bytes).unwrap_or_default();
                    return Ok(Stray { ours, ..Stray::copy(disk, own, path, &bytes)? });
                }
                Err(error) => return Err(error),
            }
        }
        unreachable!("there is always another number")
    }
}

/// What the name of a document's strays begins with.
fn word_for(path: &str) -> String {
    format!("stray-{}", &Hash::of(path.as_bytes()).as_str()[..8])
}
