//! A directory for a test, with our own directory in it; gone with the value.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::Tree;
use crate::disk::{Access, make_directories};

pub(crate) struct Scratch {
    pub path: PathBuf,
    pub tree: Tree,
}

impl Scratch {
    pub fn new() -> Scratch {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("piton-store-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a directory can be made");
        let tree = Tree::open(&path).expect("a tree");
        make_directories(&tree, ".piton", Access::Private).expect("a directory can be made");
        Scratch { path, tree }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
