//! A directory of its own for each test.

use std::fs;
use std::path::PathBuf;

use piton_engine::Workspace;
use piton_model::Time;

pub struct Directory(PathBuf);

impl Directory {
    /// An empty directory; names are unique among all tests.
    pub fn new(name: &str) -> Directory {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        if path.exists() {
            fs::remove_dir_all(&path).expect("an old directory can be removed");
        }
        fs::create_dir_all(&path).expect("a directory can be made");
        Directory(path)
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("a directory can be made");
        fs::write(path, text).expect("a file can be written");
    }

    pub fn workspace(&self) -> Workspace {
        Workspace::open(Some(&self.0), &self.0).expect("a workspace")
    }

    /// 2026-03-02T10:05:00Z
    pub fn now(&self) -> Time {
        Time::from_unix_seconds(1_772_445_900)
    }
}
