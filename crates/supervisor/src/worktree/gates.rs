//! A detached worktree that gates run in.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::{Listed, Repository, Scratch, refused, refused_with};
use crate::git::{Git, GitError, split};

/// The reason with which a scratch worktree is locked: by it the next lead knows that it may replace it.
const REASON: &str = "piton: scratch for gates";

/// How many paths are given to git at once.
const AT_ONCE: usize = 500;

impl Repository {
    /// Makes a detached worktree of a commit. One that a killed lead left there is replaced; anything else in that place
    /// is refused. A relative path is one below the directory of the workspace.
    pub fn scratch(&self, path: &Path, commit: &str) -> Result<Scratch, GitError> {
        let commit = self.commit(commit)?;
        let place = self.scratch_place(path)?;
        self.remove_scratch_at(&place)?;
        if path.is_relative() {
            self.exclude(path)?;
        }
        let text = utf8(&place)?;
        let add = ["worktree", "add", "--quiet", "--detach", "--lock", "--reason", REASON, text, &commit];
        self.git().run(&add)?;
        self.check_inside(&commit)?;
        let tree = self.git().run(&["rev-parse", "--verify", &format!("{commit}^{{tree}}")])?;
        Ok(Scratch { directory: place.join(&self.inside), path: place, commit, tree })
    }

    /// Removes a scratch worktree with everything in it, whatever a gate left there. Nothing to do when there is none.
    pub fn remove_scratch(&self, path: &Path) -> Result<(), GitError> {
        self.remove_scratch_at(&self.scratch_place(path)?)
    }

    fn remove_scratch_at(&self, place: &Path) -> Result<(), GitError> {
        let listed = self.worktrees()?.into_iter().find(|each| each.path == place);
        match &listed {
            Some(each) if !is_scratch(each) => {
                return refused_with(
                    format!("{} is a worktree that is not Piton's scratch", place.display()),
                    self.way_to_move(place),
                );
            }
            Some(_) => remove_all(place)?,
            None if place.symlink_metadata().is_err() => return Ok(()),
            // An empty directory is as good as none.
            None if fs::remove_dir(place).is_ok() => return Ok(()),
            None => return refused(format!("something else is in the way: {}", place.display())),
        }
        // Its directory is gone, so this forgets the worktree, and only this one.
        self.git().run(&["worktree", "remove", "--force", "--force", utf8(place)?]).map(drop)
    }

    /// Puts a commit's version of some files into a scratch worktree; deletes those that the commit does not have.
    pub fn restore_files(&self, scratch: &mut Scratch, from: &str, files: &[String]) -> Result<(), GitError> {
        let from = self.commit(from)?;
        let git = Git::at(&scratch.path);
        for files in files.chunks(AT_ONCE) {
            let mut list =
                vec!["--literal-pathspecs", "ls-tree", "-r", "-z", "--name-only", "--full-tree", &from, "--"];
            list.extend(files.iter().map(String::as_str));
            let known = split(&git.bytes(&list)?);
            let mut forget = vec!["--literal-pathspecs", "rm", "-rfq", "--cached", "--ignore-unmatch", "--"];
            forget.extend(files.iter().map(String::as_str));
            for file in files {
                remove_below(&scratch.path, Path::new(file))?;
            }
            git.run(&forget)?;
            if !known.is_empty() {
                let mut checkout = vec!["--literal-pathspecs", "checkout", "--quiet", &from, "--"];
                checkout.extend(known.iter().map(String::as_str));
                git.run(&checkout)?;
            }
        }
        scratch.tree = git.run(&["write-tree"])?;
        Ok(())
    }

    /// Puts a scratch worktree back to what is judged there, after a gate wrote over files, staged or committed some, or
    /// checked out another commit. What the judged tree does not have stays: set-up and builds need it.
    pub fn refresh_scratch(&self, scratch: &Scratch) -> Result<(), GitError> {
        let git = Git::at(&scratch.path);
        git.run(&["read-tree", "--reset", &scratch.tree])?;
        git.run(&["checkout-index", "--force", "--all", "--quiet"])?;
        git.run(&["update-ref", "--no-deref", "-m", "piton: gates", "HEAD", &scratch.commit]).map(drop)
    }

    fn scratch_place(&self, path: &Path) -> Result<PathBuf, GitError> {
        if path.is_relative() {
            return self.place(path);
        }
        let parent = path.parent().and_then(|parent| fs::canonicalize(parent).ok());
        match (parent, path.file_name()) {
            (Some(parent), Some(name)) => Ok(parent.join(name)),
            _ => refused(format!("there is no directory for {}", path.display())),
        }
    }
}

/// Whether a worktree is one for gates.
pub(super) fn is_scratch(listed: &Listed) -> bool {
    listed.locked.as_deref() == Some(REASON)
}

/// The same by a worktree's git directory.
pub(super) fn is_scratch_directory(directory: &Path) -> bool {
    fs::read_to_string(directory.join("locked")).is_ok_and(|reason| reason.trim_end() == REASON)
}

pub(super) fn utf8(path: &Path) -> Result<&str, GitError> {
    path.to_str().map_or_else(|| refused(format!("a path is not UTF-8: {}", path.display())), Ok)
}

/// Removes one file or directory below a directory. What stands where one of its parents should be is removed instead:
/// a link might lead elsewhere.
fn remove_below(top: &Path, file: &Path) -> Result<(), GitError> {
    let mut path = top.to_owned();
    for part in file.components() {
        let std::path::Component::Normal(part) = part else {
            return refused(format!("not a path below a worktree: {}", file.display()));
        };
        path.push(part);
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() => {}
            Ok(_) => break,
            Err(_) => return Ok(()),
        }
    }
    if path == top || path.starts_with(top.join(".git")) {
        return refused(format!("not a file of a worktree: {}", file.display()));
    }
    remove_all(&path)
}

/// Removes a file or a directory with everything in it. A gate may have made directories that cannot be written.
fn remove_all(path: &Path) -> Result<(), GitError> {
    let remove = || match path.symlink_metadata() {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    let done = remove().or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        io::ErrorKind::PermissionDenied => {
            make_writable(path);
            remove()
        }
        // A process that a gate left behind still writes.
        io::ErrorKind::DirectoryNotEmpty => remove(),
        _ => Err(error),
    });
    done.or_else(|error| refused(format!("cannot remove {}: {error}", path.display())))
}

fn make_writable(directory: &Path) {
    if !directory.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        return;
    }
    // What cannot be changed makes the removal fail, with its own error.
    let _ = fs::set_permissions(directory, fs::Permissions::from_mode(0o700));
    let Ok(entries) = fs::read_dir(directory) else { return };
    entries.flatten().for_each(|entry| make_writable(&entry.path()));
}
