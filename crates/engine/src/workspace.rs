use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use piton_dialect::{Source, codes};
use piton_model::{Code, Finding, Place};
use piton_store::disk::Disk;
use piton_store::{Behind, Content, Overlaid, ReadError, Reader, Tree};

use crate::half_written::{is_half_written, wait_while};

/// A repository and the documents in it.
#[derive(Debug)]
pub struct Workspace {
    pub(crate) disk: Arc<dyn Disk>,
    files_read: Arc<AtomicUsize>,
}

/// A directory that cannot be a workspace.
#[derive(Debug)]
pub struct OpenError {
    /// The directory.
    pub root: PathBuf,
    /// What the system says.
    pub error: io::Error,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot open the workspace `{}`: {}", self.root.display(), self.error)
    }
}

impl Workspace {
    /// Opens the directory `root`, or finds the nearest workspace from `start` upwards when there is none.
    pub fn open(root: Option<&Path>, start: &Path) -> Result<Workspace, OpenError> {
        let root = root.map_or_else(|| Workspace::locate(start), Path::to_owned);
        let root = std::path::absolute(&root).unwrap_or(root);
        let tree = Tree::open(&root).map_err(|error| OpenError { root, error })?;
        Ok(Workspace::on(Box::new(tree)))
    }

    /// Where the workspace is that a directory belongs to. A worktree that Piton made belongs to the workspace that made it.
    pub fn locate(start: &Path) -> PathBuf {
        let around = piton_supervisor::around_made(start);
        piton_store::locate(around.as_deref().unwrap_or(start)).root
    }

    /// A workspace on any disk.
    pub fn on(disk: Box<dyn Disk>) -> Workspace {
        Workspace { disk: Arc::from(disk), files_read: Arc::default() }
    }

    /// The same workspace, to be read as it will be when these files are no longer behind.
    pub(crate) fn with(&self, behind: Vec<Behind>) -> Workspace {
        let disk = Arc::new(Overlaid::new(Arc::clone(&self.disk), behind));
        Workspace { disk, files_read: Arc::clone(&self.files_read) }
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        self.disk.root()
    }

    /// The path below the root, when a path that somebody typed lies there by its name.
    pub(crate) fn relative(&self, path: &Path) -> Option<String> {
        let path = std::path::absolute(path).ok()?;
        let has_parents = path.components().any(|part| part == std::path::Component::ParentDir);
        let inside = path.strip_prefix(self.root()).ok().filter(|_| !has_parents)?;
        inside.to_str().map(str::to_owned)
    }

    /// Reads a text beneath the root; nothing when there is none. No link leads out, and the size is bounded.
    pub fn read_text(&self, path: &str) -> io::Result<Option<String>> {
        match self.disk.read(path) {
            Ok(content) => String::from_utf8(content.bytes).map(Some).map_err(io::Error::other),
            Err(ReadError::Missing) => Ok(None),
            Err(error) => Err(io::Error::other(error.to_string())),
        }
    }

    /// How many documents have been read so far.
    pub fn files_read(&self) -> usize {
        self.files_read.load(Ordering::Relaxed)
    }

    /// Reads a document, or says in a finding why not. A document that has just vanished is no finding.
    pub(crate) fn read(&self, path: &str) -> Result<Content, Option<Finding>> {
        self.files_read.fetch_add(1, Ordering::Relaxed);
        self.read_whole(path).map_err(|error| unreadable(path, &error))
    }

    /// Reads a document. One that is half written is read again.
    fn read_whole(&self, path: &str) -> Result<Content, ReadError> {
        let mut content = self.disk.read(path)?;
        wait_while(|| {
            let is_cut = is_half_written(path, &content);
            if is_cut {
                content = self.disk.read(path)?;
            }
            Ok(is_cut)
        })?;
        Ok(content)
    }

    /// For reading many documents one after another.
    pub(crate) fn documents(&self) -> Documents<'_> {
        Documents { workspace: self, reader: self.disk.reader(), last: None }
    }
}

/// Reads documents of a workspace one after another.
pub(crate) struct Documents<'w> {
    workspace: &'w Workspace,
    /// Where the disk has something faster than reading one by one.
    reader: Option<Reader<'w>>,
    last: Option<Content>,
}

impl Documents<'_> {
    /// What [`Workspace::read`] gives.
    pub(crate) fn read(&mut self, path: &str) -> Result<&Content, Option<Finding>> {
        self.workspace.files_read.fetch_add(1, Ordering::Relaxed);
        let content = match &mut self.reader {
            Some(reader) => match reader.read(path) {
                Ok(content) if is_half_written(path, content) => None,
                read => Some(read),
            },
            None => None,
        };
        let read =
            content.unwrap_or_else(|| self.workspace.read_whole(path).map(|content| &*self.last.insert(content)));
        read.map_err(|error| unreadable(path, &error))
    }
}

/// The finding for a document that could not be read.
pub(crate) fn unreadable(path: &str, error: &ReadError) -> Option<Finding> {
    let code: &'static Code = match error {
        ReadError::Missing => return None,
        ReadError::Outside => &codes::LINK_OUTSIDE,
        ReadError::NotAFile { .. } => &codes::NOT_A_FILE,
        ReadError::TooLarge { .. } => &codes::TOO_LARGE,
        ReadError::Io { .. } => &codes::UNREADABLE,
    };
    Some(Finding { code, place: Place { path: path.into(), line: None }, message: error.to_string() })
}

/// A document as codecs take it.
pub(crate) fn source<'a>(path: &str, content: &'a Content) -> Source<'a> {
    shared_source(Arc::from(path), content)
}

/// The same, where the path is shared already.
pub(crate) fn shared_source(path: Arc<str>, content: &Content) -> Source<'_> {
    Source { path, bytes: &content.bytes, modified: Some(content.modified) }
}

/// Reads a text that somebody named on the command line, wherever it is; nothing when there is none.
pub fn read_named_text(path: &Path) -> io::Result<Option<String>> {
    match piton_store::read_named(path) {
        Ok(content) => String::from_utf8(content.bytes).map(Some).map_err(io::Error::other),
        Err(ReadError::Missing) => Ok(None),
        Err(error) => Err(io::Error::other(error.to_string())),
    }
}

/// Keeps a secret of a process that runs where its owner alone can read it, and returns the path in the workspace.
pub fn keep_secret(workspace: &Workspace, name: &str, secret: &str) -> Result<String, String> {
    piton_store::keep_secret(&*workspace.disk, name, secret).map_err(|error| error.to_string())
}
