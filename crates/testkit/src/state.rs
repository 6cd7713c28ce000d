//! Files and directories in memory: what they are now, and what of that would survive.

use std::collections::BTreeMap;

use crate::effect::Plan;

/// The names in a directory, each with the file or directory it stands for.
pub(crate) type Names = BTreeMap<String, usize>;

/// The place of the root among the nodes.
pub(crate) const ROOT: usize = 0;

/// A file or a directory. Nodes are never thrown away: a name that was lost may come back.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    File(FileNode),
    Directory(DirectoryNode),
}

#[derive(Debug, Clone, Default)]
pub(crate) struct FileNode {
    pub bytes: Vec<u8>,
    /// What is on the disk for sure.
    pub durable: Vec<u8>,
    /// What happened since, in order. A sync that fails drops it: the bytes stay in memory, and never reach the disk.
    pub pending: Vec<Pending>,
    pub mode: u32,
    pub modified: i128,
}

#[derive(Debug, Clone)]
pub(crate) enum Pending {
    Write { at: usize, bytes: Vec<u8> },
    Cut { size: usize },
}

#[derive(Debug, Clone)]
pub(crate) struct DirectoryNode {
    pub names: Names,
    /// The names at the last sync, and after each change since then but the last one.
    pub past: Vec<Names>,
}

#[derive(Debug)]
pub(crate) struct State {
    pub nodes: Vec<Node>,
    /// Counts every change of a file, and stands for the time.
    pub clock: i128,
    /// How often the machine was started.
    pub boot: u64,
    /// Which files are locked.
    pub locks: Vec<usize>,
    pub plan: Plan,
}

impl Pending {
    pub fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Pending::Write { at, bytes: new } => {
                bytes.resize(bytes.len().max(at + new.len()), 0);
                bytes[*at..at + new.len()].copy_from_slice(new);
            }
            Pending::Cut { size } => bytes.resize(*size, 0),
        }
    }
}

impl FileNode {
    pub fn change(&mut self, change: Pending) {
        change.apply(&mut self.bytes);
        self.pending.push(change);
    }

    pub fn sync(&mut self) {
        for change in self.pending.drain(..) {
            change.apply(&mut self.durable);
        }
    }
}

impl DirectoryNode {
    pub fn new() -> DirectoryNode {
        DirectoryNode { names: Names::new(), past: vec![Names::new()] }
    }

    pub fn sync(&mut self) {
        self.past = vec![self.names.clone()];
    }
}

impl State {
    pub fn new() -> State {
        let nodes = vec![Node::Directory(DirectoryNode::new())];
        State { nodes, clock: 0, boot: 1, locks: Vec::new(), plan: Plan::default() }
    }

    /// The same files, as another process finds them: nobody holds a lock, and nothing is planned.
    pub fn copy(&self) -> State {
        let State { nodes, clock, boot, .. } = self;
        State { nodes: nodes.clone(), clock: *clock, boot: *boot, locks: Vec::new(), plan: Plan::default() }
    }

    pub fn find(&self, path: &str) -> Option<usize> {
        let mut at = ROOT;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            let Node::Directory(directory) = &self.nodes[at] else { return None };
            at = *directory.names.get(name)?;
        }
        Some(at)
    }

    pub fn file(&self, node: usize) -> Option<&FileNode> {
        match &self.nodes[node] {
            Node::File(file) => Some(file),
            Node::Directory(_) => None,
        }
    }

    pub fn file_mut(&mut self, node: usize) -> &mut FileNode {
        match &mut self.nodes[node] {
            Node::File(file) => file,
            Node::Directory(_) => unreachable!("only files are opened"),
        }
    }

    pub fn directory(&self, path: &str) -> Option<usize> {
        self.find(path).filter(|node| matches!(self.nodes[*node], Node::Directory(_)))
    }

    pub fn directory_mut(&mut self, node: usize) -> &mut DirectoryNode {
        match &mut self.nodes[node] {
            Node::Directory(directory) => directory,
            Node::File(_) => unreachable!("only directories hold names"),
        }
    }

    /// Changes the names of a directory in one step.
    pub fn rename_in(&mut self, directory: usize, change: impl FnOnce(&mut Names)) {
        let directory = self.directory_mut(directory);
        let before = directory.names.clone();
        change(&mut directory.names);
        if before != directory.names && directory.past.last() != Some(&before) {
            directory.past.push(before);
        }
    }

    /// Gives a node a name.
    pub fn name(&mut self, directory: usize, name: &str, node: usize) {
        self.rename_in(directory, |names| {
            names.insert(name.to_owned(), node);
        });
    }

    /// Takes a name away.
    pub fn unname(&mut self, directory: usize, name: &str) {
        self.rename_in(directory, |names| {
            names.remove(name);
        });
    }

    pub fn add(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// Changes a file, and the time at which it was changed.
    pub fn change(&mut self, node: usize, change: Pending) {
        self.clock += 1;
        let now = self.clock;
        let file = self.file_mut(node);
        file.change(change);
        file.modified = now;
    }
}
