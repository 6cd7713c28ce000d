use std::fs::{self, FileType};
use std::path::Path;

/// Directories that are never looked into: version control, installed packages, build output, our own.
pub const SKIPPED: [&str; 11] =
    [".git", ".hg", ".svn", ".piton", "node_modules", "target", ".venv", "venv", "__pycache__", ".worktrees", ".cache"];

/// How deep directories are followed.
const DEEPEST: usize = 24;

/// Calls `visit` with the relative path of every file below `root`, in the order of names, a directory's
/// files before its subdirectories. What has the name of a document counts as a file, whatever it is.
///
/// Links to directories are not followed. A directory with a `.git` of its own is another workspace (a
/// nested repository, a submodule, a worktree) and is not entered, so that no unit is seen twice. What cannot
/// be listed is passed over: a file that matters is reported when it is read.
pub fn walk(root: &Path, visit: &mut dyn FnMut(&str)) {
    directory(root, &mut String::new(), 0, visit);
}

fn directory(root: &Path, path: &mut String, depth: usize, visit: &mut dyn FnMut(&str)) {
    let Ok(listing) = fs::read_dir(root.join(path.as_str())) else { return };
    let mut files = Vec::new();
    let mut directories = Vec::new();
    for entry in listing.flatten() {
        let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else { continue };
        if depth > 0 && name == ".git" {
            return;
        }
        match kind {
            kind if FileType::is_dir(&kind) => directories.push(name),
            _ => files.push(name),
        }
    }
    files.sort_unstable();
    directories.sort_unstable();
    let outer = path.len();
    let with = |name: &str, path: &mut String, then: &mut dyn FnMut(&mut String)| {
        if outer > 0 {
            path.push('/');
        }
        path.push_str(name);
        then(path);
        path.truncate(outer);
    };
    // A directory that has a file's name may stand in a document's place, which has to be noticed.
    let like_files =
        directories.iter().filter(|name| name.ends_with(".json") || name.ends_with(".md") || name.ends_with(".jsonl"));
    for name in files.iter().chain(like_files) {
        with(name, path, &mut |path| visit(path));
    }
    for name in directories.iter().filter(|name| depth < DEEPEST && !SKIPPED.contains(&name.as_str())) {
        with(name, path, &mut |path| directory(root, path, depth + 1, visit));
    }
}
