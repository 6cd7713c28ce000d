use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Up to this size the bytes of a file are looked at; of larger ones the times say enough.
const LOOKED_AT: u64 = 32 * 1024 * 1024;

/// What can be seen of every file below a directory: kind, bytes, and the times of its content and its entry.
#[derive(Debug, PartialEq, Eq)]
pub struct Fingerprint(BTreeMap<PathBuf, String>);

impl Fingerprint {
    pub fn of(directory: &Path) -> Fingerprint {
        let mut files = BTreeMap::new();
        add(directory, &mut files);
        Fingerprint(files)
    }

    /// The same without some files, and without the times of the directories that hold them.
    pub fn without(mut self, is_meant: impl Fn(&str) -> bool) -> Fingerprint {
        let is_meant = |path: &Path| is_meant(&path.to_string_lossy());
        let holds = |path: &Path| path.ends_with(".piton") || path.ends_with("workspace");
        self.0.retain(|path, _| !is_meant(path) && !holds(path));
        self
    }
}

fn add(path: &Path, files: &mut BTreeMap<PathBuf, String>) {
    let data = path.symlink_metadata().expect("what is listed is there");
    let content = match data.file_type() {
        kind if kind.is_file() && data.len() <= LOOKED_AT => {
            let mut hasher = DefaultHasher::new();
            hasher.write(&fs::read(path).unwrap_or_default());
            format!("{:x}", hasher.finish())
        }
        kind if kind.is_symlink() => format!("{:?}", fs::read_link(path)),
        _ => String::new(),
    };
    let (written, changed) = ((data.mtime(), data.mtime_nsec()), (data.ctime(), data.ctime_nsec()));
    let seen = format!("{:o} {} bytes, written {written:?}, changed {changed:?}: {content}", data.mode(), data.len());
    files.insert(path.to_owned(), seen);
    if data.is_dir() {
        // A directory that may not be listed cannot be written to either.
        for entry in fs::read_dir(path).into_iter().flatten() {
            add(&entry.expect("a directory can be listed").path(), files);
        }
    }
}
