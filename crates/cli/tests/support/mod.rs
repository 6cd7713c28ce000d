//! A workspace of its own for each test, and the real binary run in it.

mod call;
mod fingerprint;
pub mod fixtures;
mod follow;
pub mod harbour;
pub mod printed;
pub mod replay;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

pub use call::{Call, Run};
pub use fingerprint::Fingerprint;
use printed::Printed;

/// The moment at which every test takes place.
pub const NOW: &str = "2026-02-20T12:00:00Z";

/// [`NOW`] in seconds since 1970.
const NOW_SECONDS: u64 = 1_771_588_800;

/// A directory with a repository in it and room for other files beside it; removed with the value.
pub struct Workspace {
    outer: PathBuf,
    /// What the binary printed here for its reader to type.
    printed: Mutex<BTreeSet<Printed>>,
}

impl Workspace {
    /// An empty repository. That it is one keeps the search for a workspace inside of it.
    pub fn new() -> Workspace {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let unique = format!("piton-cli-{}-{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
        let temporary = std::env::temp_dir().canonicalize().expect("the directory for temporary files exists");
        let outer = temporary.join(unique);
        fs::create_dir_all(outer.join("workspace/.git")).expect("a directory can be made");
        Workspace { outer, printed: Mutex::default() }
    }

    /// The directory that the binary is run in.
    pub fn root(&self) -> PathBuf {
        self.outer.join("workspace")
    }

    /// The directory that holds the workspace and what lies beside it.
    pub fn outer(&self) -> &Path {
        &self.outer
    }

    /// A path in the workspace; with `../` one beside it.
    pub fn path(&self, path: &str) -> PathBuf {
        match path.strip_prefix("../") {
            Some(beside) => self.outer.join(beside),
            None => self.root().join(path),
        }
    }

    /// Writes a file an hour before [`NOW`], with the directories it needs.
    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) -> &Workspace {
        let full = self.parent_of(path);
        fs::write(&full, bytes).expect("a file can be written");
        self.touch(path, 60)
    }

    /// Sets when a file was last written, in minutes before [`NOW`].
    pub fn touch(&self, path: &str, minutes: u64) -> &Workspace {
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW_SECONDS - 60 * minutes);
        let file = File::options().append(true).open(self.path(path)).expect("the file is there");
        file.set_modified(then).expect("a file's time can be set");
        self
    }

    /// Makes a directory.
    pub fn directory(&self, path: &str) -> &Workspace {
        fs::create_dir_all(self.path(path)).expect("a directory can be made");
        self
    }

    /// Makes a symbolic link with exactly this target.
    pub fn link(&self, path: &str, target: impl AsRef<Path>) -> &Workspace {
        std::os::unix::fs::symlink(target, self.parent_of(path)).expect("a link can be made");
        self
    }

    /// A path whose directory has been made.
    pub fn parent_of(&self, path: &str) -> PathBuf {
        let full = self.path(path);
        fs::create_dir_all(full.parent().expect("a file has a directory")).expect("a directory can be made");
        full
    }

    /// Prepares a call of the binary.
    pub fn call<'a>(&'a self, arguments: &[&str]) -> Call<'a> {
        Call::new(self, arguments.iter().map(Into::into).collect())
    }

    /// Calls the binary at [`NOW`].
    pub fn run(&self, arguments: &[&str]) -> Run {
        self.call(arguments).run()
    }

    /// Everything that can be seen of the files here and beside.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.outer)
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // What cannot be removed is left to whoever empties the directory for temporary files.
        let _ = fs::remove_dir_all(&self.outer);
    }
}
