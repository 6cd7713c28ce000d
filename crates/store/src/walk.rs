use std::path::Path;

use rustix::fs::{Dir, FileType, Mode, OFlags};

/// Directories that are never looked into: version control, installed packages, build output, our own.
pub const SKIPPED: [&str; 11] =
    [".git", ".hg", ".svn", ".piton", "node_modules", "target", ".venv", "venv", "__pycache__", ".worktrees", ".cache"];

/// How deep directories are followed.
const DEEPEST: usize = 24;

/// Calls `visit` with the relative path of every file below `root`, in the order of names, a directory's
/// files before its subdirectories. What has the name of a document counts as a file, whatever it is.
///
/// Links to directories are not followed. A directory with a `.git` of its own is another workspace (a
/// nested repository, a submodule, a worktree) and is not entered, so that no unit is seen twice; an empty `.git` makes
/// none. What cannot be listed is passed over: a file that matters is reported when it is read.
pub fn walk(root: &Path, visit: &mut dyn FnMut(&str)) {
    directory(root, &mut String::new(), 0, visit);
}

fn directory(root: &Path, path: &mut String, depth: usize, visit: &mut dyn FnMut(&str)) {
    let Some(Listing { files, directories }) = list(&root.join(path.as_str()), depth > 0) else { return };
    let outer = path.len();
    let with = |name: &str, path: &mut String, then: &mut dyn FnMut(&mut String)| {
        if outer > 0 {
            path.push('/');
        }
        path.push_str(name);
        then(path);
        path.truncate(outer);
    };
    let directories = directories.in_order();
    // A directory that has a file's name may stand in a document's place, which has to be noticed.
    let like_files =
        directories.iter().filter(|name| name.ends_with(".json") || name.ends_with(".md") || name.ends_with(".jsonl"));
    for name in files.in_order().iter().chain(like_files) {
        with(name, path, &mut |path| visit(path));
    }
    for name in directories.iter().filter(|name| depth < DEEPEST && !SKIPPED.contains(name)) {
        with(name, path, &mut |path| directory(root, path, depth + 1, visit));
    }
}

/// What a directory holds.
#[derive(Default)]
struct Listing {
    files: Names,
    directories: Names,
}

/// Lists a directory; nothing when it cannot be listed, or is a workspace of its own and `may_be_nested`.
fn list(directory: &Path, may_be_nested: bool) -> Option<Listing> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(directory, flags, Mode::empty()).ok()?;
    let mut listing = Listing::default();
    for entry in Dir::new(opened).ok()?.flatten() {
        let Ok(name) = entry.file_name().to_str() else { continue };
        let kind = match entry.file_type() {
            // Some file systems do not say it in the listing.
            FileType::Unknown => directory.join(name).symlink_metadata().ok().map(|found| found.is_dir()),
            kind => Some(kind == FileType::Directory),
        };
        match (name, kind) {
            ("." | "..", _) => {}
            (".git", Some(_)) if may_be_nested && is_repository(directory) => return None,
            (name, Some(true)) => listing.directories.add(name),
            (name, Some(false)) => listing.files.add(name),
            (_, None) => {}
        }
    }
    Some(listing)
}

/// Whether a directory has a `.git` that means a repository. An empty directory of that name does not, for git neither:
/// sandboxes make one in every directory that a command may write.
pub(crate) fn is_repository(directory: &Path) -> bool {
    let inner = directory.join(".git");
    let is_empty = || std::fs::read_dir(&inner).is_ok_and(|mut entries| entries.next().is_none());
    inner.symlink_metadata().is_ok() && !is_empty()
}

/// Names, one behind the other in one text: a directory may have a hundred thousand.
#[derive(Default)]
struct Names {
    text: String,
    ends: Vec<usize>,
}

impl Names {
    fn add(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len());
    }

    fn in_order(&self) -> Vec<&str> {
        let mut start = 0;
        let names = self.ends.iter().map(|end| &self.text[std::mem::replace(&mut start, *end)..*end]);
        let names: Vec<&str> = names.collect();
        let same = |a: &str, b: &str| a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
        let common = names.iter().map(|name| same(name, names[0])).min().unwrap_or(0);
        // Names beside each other mostly begin alike; the bytes behind that, as a number, tell nearly all apart.
        let key = |name: &str| {
            let mut first = [0; 8];
            first.iter_mut().zip(&name.as_bytes()[common..]).for_each(|(to, from)| *to = *from);
            u64::from_be_bytes(first)
        };
        let mut keyed: Vec<_> = names.into_iter().map(|name| (key(name), name)).collect();
        keyed.sort_unstable();
        keyed.into_iter().map(|(_, name)| name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_git_directory_hides_no_documents() {
        let root = std::env::temp_dir().join(format!("piton-walk-{}", std::process::id()));
        std::fs::create_dir_all(root.join("sandboxed/.git")).expect("a directory");
        std::fs::create_dir_all(root.join("nested/.git/refs")).expect("a directory");
        for directory in ["sandboxed", "nested"] {
            std::fs::write(root.join(directory).join("a.json"), "{}").expect("a file");
        }
        let mut seen = Vec::new();
        walk(&root, &mut |path| seen.push(path.to_owned()));
        std::fs::write(root.join("piton.toml"), "").expect("a file");
        let located = crate::locate(&root.join("sandboxed"));
        std::fs::remove_dir_all(&root).expect("it is removed");
        assert_eq!(seen, ["sandboxed/a.json"]);
        assert_eq!(located.root, root);
    }

    #[test]
    fn names_are_ordered_by_their_bytes() {
        for names in [
            vec![],
            vec!["one"],
            vec!["task-10.json", "task-9.json", "task-1.json", "task-1", "task-", "task-1.jsonl", "task-1.json.bak"],
            vec!["b", "a", "é", "z", "Z", "aé", "a-long-name-of-more-than-8", "a-long-name-of-more-than-10"],
        ] {
            let mut listed = Names::default();
            names.iter().for_each(|name| listed.add(name));
            let mut sorted = names.clone();
            sorted.sort_unstable();
            assert_eq!(listed.in_order(), sorted);
        }
    }
}
