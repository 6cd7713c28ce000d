//! Makes a worktree, or takes the one that is there.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

use super::{Created, Listed, NewWorktree, Repository, refused};
use crate::git::{Git, GitError};

impl Repository {
    /// Makes a worktree, or takes the one that is there, as it is. Refuses when something else stands in its place.
    ///
    /// So that the main work tree does not show it as untracked, its parent is added to `.git/info/exclude`.
    pub fn create(&self, wanted: &NewWorktree) -> Result<Created, GitError> {
        let path = self.place(&wanted.path)?;
        if wanted.branch.starts_with('-')
            || self.git().ask(&["check-ref-format", "--branch", &wanted.branch])?.code != Some(0)
        {
            return refused(format!("not the name of a branch: {}", wanted.branch));
        }
        let listed = self.worktrees()?;
        let branch = || Some(wanted.branch.clone());
        match listed.iter().find(|each| each.path == path) {
            Some(each) if each.locked.as_deref() == Some("initializing") => self.set_aside(&path)?,
            Some(each) if each.is_there && each.branch == branch() => {
                return Ok(Created { path, branch: wanted.branch.clone(), was_there: true });
            }
            Some(each) if each.is_there => {
                let other = each.branch.as_deref().unwrap_or("no branch");
                return refused(format!("{} has {other} checked out, not {}", path.display(), wanted.branch));
            }
            // Its directory is gone, which git minds unless it is told so.
            Some(_) => drop(self.git().run(&["worktree", "prune"])?),
            None => {}
        }
        let is_elsewhere = |each: &&Listed| each.branch == branch() && each.path != path;
        if let Some(other) = listed.iter().find(is_elsewhere) {
            return refused(format!("{} is checked out in {}", wanted.branch, other.path.display()));
        }
        if path.symlink_metadata().is_ok() && fs::read_dir(&path).is_ok_and(|mut entries| entries.next().is_some()) {
            return refused(format!("something else is in the way: {}", path.display()));
        }
        self.exclude(&wanted.path)?;
        self.add(wanted, &path)?;
        Ok(Created { path, branch: wanted.branch.clone(), was_there: false })
    }

    fn add(&self, wanted: &NewWorktree, path: &Path) -> Result<(), GitError> {
        let Some(text) = path.to_str() else { return refused(format!("a path is not UTF-8: {}", path.display())) };
        let reference = format!("refs/heads/{}", wanted.branch);
        let is_there = self.git().ask(&["show-ref", "--verify", "--quiet", &reference])?.code == Some(0);
        if is_there {
            return self.git().run(&["worktree", "add", "--quiet", text, &wanted.branch]).map(drop);
        }
        let base = self.commit(&wanted.base)?;
        self.git().run(&["worktree", "add", "--quiet", "--no-track", "-b", &wanted.branch, text, &base]).map(drop)
    }

    /// Where a worktree is to be, if that stays inside: a repository may bring links along that lead out.
    fn place(&self, relative: &Path) -> Result<PathBuf, GitError> {
        let is_plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
        if !is_plain || relative.as_os_str().is_empty() {
            return refused(format!("a worktree has to be below the repository: {}", relative.display()));
        }
        let mut path = self.root().to_owned();
        for part in relative.components() {
            path.push(part);
            if path.symlink_metadata().is_ok_and(|found| found.file_type().is_symlink()) {
                return refused(format!("a link is in the way: {}", path.display()));
            }
        }
        Ok(path)
    }

    /// Moves away what a killed git left before it had finished. Nobody has worked there.
    fn set_aside(&self, path: &Path) -> Result<(), GitError> {
        let Some(text) = path.to_str() else { return refused(format!("a path is not UTF-8: {}", path.display())) };
        if path.exists() {
            let aside = (1..).map(|number| path.with_extension(format!("unfinished-{number}")));
            let aside = aside.into_iter().find(|aside| aside.symlink_metadata().is_err()).unwrap_or_default();
            fs::rename(path, &aside).or_else(|error| refused(format!("cannot move {text} aside: {error}")))?;
        }
        self.git().run(&["worktree", "unlock", text])?;
        self.git().run(&["worktree", "prune"]).map(drop)
    }

    /// Keeps the directory of worktrees out of the user's `git status`.
    fn exclude(&self, relative: &Path) -> Result<(), GitError> {
        let Some(first) = relative.iter().next().and_then(|first| first.to_str()) else { return Ok(()) };
        let text = relative.to_string_lossy();
        if self.git().ask(&["check-ignore", "--quiet", "--no-index", "--", &text])?.code == Some(0) {
            return Ok(());
        }
        let common = common_directory(&self.git())?;
        let path = common.join("info/exclude");
        let write = || {
            fs::create_dir_all(common.join("info"))?;
            let before = fs::read(&path).unwrap_or_default();
            let line_end = if before.is_empty() || before.ends_with(b"\n") { "" } else { "\n" };
            let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
            file.write_all(format!("{line_end}/{first}/\n").as_bytes())
        };
        write().or_else(|error: std::io::Error| refused(format!("cannot write {}: {error}", path.display())))
    }
}

pub(super) fn common_directory(git: &Git) -> Result<PathBuf, GitError> {
    git.run(&["rev-parse", "--path-format=absolute", "--git-common-dir"]).map(PathBuf::from)
}
