//! What others do to the same files. None of it is counted, and none of it is durable before it is synced.

use crate::CrashDisk;
use crate::state::{DirectoryNode, FileNode, Node, Pending, ROOT};

/// A file that somebody else has open, whatever its name is now. It stays open when our process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File(pub(crate) usize);

impl CrashDisk {
    /// What a file holds; nothing when there is none.
    pub fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        let state = self.state();
        state.file(state.find(path)?).map(|file| file.bytes.clone())
    }

    /// Every file, in the order of names.
    pub fn files(&self) -> Vec<String> {
        fn below(disk: &CrashDisk, path: &str, node: usize, found: &mut Vec<String>) {
            let names = match &disk.state().nodes[node] {
                Node::File(_) => return found.push(path.to_owned()),
                Node::Directory(directory) => directory.names.clone(),
            };
            for (name, node) in names {
                let path = if path.is_empty() { name } else { format!("{path}/{name}") };
                below(disk, &path, node, found);
            }
        }
        let mut found = Vec::new();
        below(self, "", ROOT, &mut found);
        found
    }

    /// All that another process could find out: each file, which one it is, what it holds, and how often the machine
    /// was started.
    pub fn snapshot(&self) -> (u64, Vec<(String, usize, Vec<u8>)>) {
        let files = self.files();
        let state = self.state();
        let found = files.into_iter().filter_map(|path| {
            let node = state.find(&path)?;
            Some((path, node, state.file(node)?.bytes.clone()))
        });
        (state.boot, found.collect())
    }

    /// Opens a file as somebody else.
    pub fn open_outside(&self, path: &str) -> Option<File> {
        let state = self.state();
        let node = state.find(path)?;
        state.file(node).map(|_| File(node))
    }

    /// Writes all of an open file anew, in place.
    pub fn write_open(&self, file: File, bytes: &[u8]) {
        let mut state = self.state();
        state.change(file.0, Pending::Cut { size: 0 });
        state.change(file.0, Pending::Write { at: 0, bytes: bytes.to_vec() });
    }

    /// Adds bytes at the end of an open file.
    pub fn append_open(&self, file: File, bytes: &[u8]) {
        let mut state = self.state();
        let at = state.file_mut(file.0).bytes.len();
        state.change(file.0, Pending::Write { at, bytes: bytes.to_vec() });
    }

    /// Writes a file in place, as an editor does that truncates; it is made, with its directories, when it is missing.
    pub fn write_outside(&self, path: &str, bytes: &[u8]) {
        match self.open_outside(path) {
            Some(file) => self.write_open(file, bytes),
            None => self.replace_outside(path, bytes),
        }
    }

    /// Puts a new file in the place of another, as an editor does that renames.
    pub fn replace_outside(&self, path: &str, bytes: &[u8]) {
        let mut state = self.state();
        let mut at = ROOT;
        let (directories, name) = path.rsplit_once('/').unwrap_or(("", path));
        for name in directories.split('/').filter(|name| !name.is_empty()) {
            let found = state.directory_mut(at).names.get(name).copied();
            at = match found {
                Some(found) => found,
                None => {
                    let new = state.add(Node::Directory(DirectoryNode::new()));
                    state.name(at, name, new);
                    new
                }
            };
        }
        let file = state.add(Node::File(FileNode { mode: 0o644, ..FileNode::default() }));
        state.change(file, Pending::Write { at: 0, bytes: bytes.to_vec() });
        state.name(at, name, file);
    }

    /// Removes a file.
    pub fn remove_outside(&self, path: &str) {
        let mut state = self.state();
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        if let Some(directory) = state.directory(directory) {
            state.unname(directory, name);
        }
    }

    /// Makes everything durable, as `sync` does.
    pub fn sync_outside(&self) {
        for node in &mut self.state().nodes {
            match node {
                Node::File(file) => file.sync(),
                Node::Directory(directory) => directory.sync(),
            }
        }
    }
}
