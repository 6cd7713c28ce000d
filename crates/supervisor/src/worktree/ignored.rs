//! Files that git ignores, and what becomes of them when their worktree is removed.
//!
//! Those that tools make again (dependencies, caches) are deleted with the worktree. So are copies of files that the
//! workspace has too. All others belong into the snapshot; where they are too large for one, the worktree stays.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use super::Repository;
use crate::git::{Git, GitError, split};

/// Directories whose content tools make again from tracked files. `docs/workers.md` has the same list.
const REMADE: [&str; 19] = [
    ".cache",
    ".eggs",
    ".gradle",
    ".mypy_cache",
    ".next",
    ".nox",
    ".nuxt",
    ".parcel-cache",
    ".pytest_cache",
    ".ruff_cache",
    ".svelte-kit",
    ".tox",
    ".turbo",
    ".venv",
    "__pycache__",
    "bower_components",
    "node_modules",
    "target",
    "venv",
];

/// What marks a directory as a cache, whatever its name: the Cache Directory Tagging Specification.
const TAG: &str = "CACHEDIR.TAG";

/// More than this is no part of a snapshot.
const MOST_BYTES: u64 = 16 << 20;
const MOST_FILES: usize = 2000;

/// How many files are named.
const NAMED: usize = 5;

/// The ignored files of a worktree that exist nowhere else.
#[derive(Debug, Default)]
pub(super) struct Ignored {
    /// Each with its size, relative to the worktree.
    files: Vec<(String, u64)>,
    /// Directories that are repositories themselves.
    repositories: Vec<String>,
}

impl Ignored {
    /// What a snapshot has to hold; nothing when it is too much.
    pub fn for_snapshot(&self) -> Vec<&str> {
        if self.is_too_much() { Vec::new() } else { self.files.iter().map(|(path, _)| path.as_str()).collect() }
    }

    /// Why the worktree stays.
    pub fn reasons(&self) -> Vec<String> {
        let mut reasons: Vec<String> =
            self.repositories.iter().map(|path| format!("it holds a repository in {path}")).collect();
        if self.is_too_much() {
            let mut files = self.files.clone();
            files.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
            let named: Vec<&str> = files.iter().take(NAMED).map(|(path, _)| path.as_str()).collect();
            let more = if files.len() > NAMED { ", …" } else { "" };
            reasons.push(format!("ignored files are too large for a snapshot: {}{more}", named.join(", ")));
        }
        reasons
    }

    fn is_too_much(&self) -> bool {
        self.files.len() > MOST_FILES || self.files.iter().map(|(_, size)| size).sum::<u64>() > MOST_BYTES
    }
}

impl Repository {
    /// The ignored files of a worktree that would be lost with it.
    pub(super) fn ignored_files(&self, worktree: &Path) -> Result<Ignored, GitError> {
        let list = ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"];
        let mut found = Ignored::default();
        for path in split(&Git::at(worktree).bytes(&list)?) {
            let path = path.trim_end_matches('/');
            // A journal is a reason of its own.
            if path != ".piton" && !path.ends_with("/.piton") {
                self.add_ignored(worktree, path, &mut found);
            }
        }
        Ok(found)
    }

    fn add_ignored(&self, worktree: &Path, path: &str, found: &mut Ignored) {
        let full = worktree.join(path);
        let name = path.rsplit('/').next().unwrap_or(path);
        let Ok(metadata) = full.symlink_metadata() else { return };
        if metadata.is_dir() {
            let is_remade = REMADE.contains(&name) || full.join(TAG).is_file();
            if is_remade || found.files.len() > MOST_FILES {
                return;
            }
            if full.join(".git").symlink_metadata().is_ok() {
                found.repositories.push(path.to_owned());
                return;
            }
            let Ok(entries) = fs::read_dir(&full) else { return found.files.push((path.to_owned(), u64::MAX)) };
            for entry in entries.flatten() {
                match entry.file_name().to_str() {
                    Some(name) => self.add_ignored(worktree, &format!("{path}/{name}"), found),
                    // git could not be told its name.
                    None => found.files.push((entry.path().display().to_string(), u64::MAX)),
                }
            }
            return;
        }
        let is_file = metadata.is_file() || metadata.file_type().is_symlink();
        let is_remade = name.ends_with(".pyc") || name == ".DS_Store";
        if is_file && !is_remade && !is_same(&full, &self.root.join(path)) {
            found.files.push((path.to_owned(), metadata.len()));
        }
    }
}

/// Whether two files have the same content.
fn is_same(one: &Path, other: &Path) -> bool {
    let (Ok(a), Ok(b)) = (one.symlink_metadata(), other.symlink_metadata()) else { return false };
    match a.file_type().is_symlink() || b.file_type().is_symlink() {
        true => fs::read_link(one).is_ok_and(|a| fs::read_link(other).is_ok_and(|b| a == b)),
        false => a.len() == b.len() && is_same_content(one, other).unwrap_or(false),
    }
}

fn is_same_content(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut one, mut other) = (fs::File::open(one)?, fs::File::open(other)?);
    let (mut a, mut b) = (Vec::new(), Vec::new());
    loop {
        a.clear();
        b.clear();
        one.by_ref().take(64 << 10).read_to_end(&mut a)?;
        other.by_ref().take(64 << 10).read_to_end(&mut b)?;
        if a != b || a.is_empty() {
            return Ok(a == b);
        }
    }
}
