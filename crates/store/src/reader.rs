use std::fs::File;

use rustix::fs::{Mode, OFlags};

use crate::read::{Content, READING, ReadError, Tree, read_whole};

/// Reads many files of a [`Tree`], one after another. It gives what [`Tree::read`] gives, for less: a directory is
/// resolved once for all files in it, and their bytes take turns in one buffer.
#[derive(Debug)]
pub struct Reader<'t> {
    tree: &'t Tree,
    /// The directory of the last file, by its path.
    directory: Option<(String, File)>,
    /// What was read last; its buffer is used again.
    content: Option<Content>,
}

impl<'t> Reader<'t> {
    /// A reader that has read nothing yet.
    pub fn new(tree: &'t Tree) -> Reader<'t> {
        Reader { tree, directory: None, content: None }
    }

    /// Reads the file at a relative path, under the bounds of [`Tree::read`].
    pub fn read(&mut self, path: &str) -> Result<&Content, ReadError> {
        let buffer = self.content.take().map(|content| content.bytes).unwrap_or_default();
        let content = match self.open_in_directory(path) {
            Some(file) => read_whole(file, buffer)?,
            None => self.tree.read(path)?,
        };
        Ok(self.content.insert(content))
    }

    /// Opens a file by its name in a directory that was resolved beneath the root, which cannot lead out: links are
    /// not followed. Those, and whatever else goes wrong, are left to the long way, which knows what to say.
    fn open_in_directory(&mut self, path: &str) -> Option<File> {
        let (directory, name) = path.rsplit_once('/')?;
        if matches!(name, "" | "." | "..") {
            return None;
        }
        if self.directory.as_ref().is_none_or(|(open, _)| open != directory) {
            self.directory = Some((directory.to_owned(), self.tree.open_beneath(directory).ok()?));
        }
        let (_, directory) = self.directory.as_ref()?;
        rustix::fs::openat(directory, name, READING | OFlags::NOFOLLOW, Mode::empty()).ok().map(File::from)
    }
}
