//! What git knows about files: as a branch, a commit or a stash has them, and when that changed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Repository;
use super::list::git_directory;
use super::merge::full;
use crate::git::{GitError, split};

/// How many stashes are looked at, the newest first.
const MOST_STASHES: &str = "50";

/// How often, and how far apart, the lock of an index is looked at before a file is judged without its end.
const LOOKS_AT_LOCK: u32 = 50;
const LOOK_AT_LOCK: Duration = Duration::from_millis(20);

impl Repository {
    /// A file as the newest stash has it, when that was made at this time or later, in seconds since 1970. The path is
    /// relative to the repository's root.
    pub fn stashed_since(&self, path: &str, seconds: i64) -> Result<Option<Vec<u8>>, GitError> {
        let made = self.git().ask(&["log", "-1", "--format=%ct", "refs/stash", "--"])?;
        if !made.is_success() || made.text().parse::<i64>().is_ok_and(|made| made < seconds) {
            return Ok(None);
        }
        let text = |commit: &str| self.git().ask(&["cat-file", "blob", &format!("{commit}:{path}")]);
        let (stashed, before) = (text("refs/stash")?, text("refs/stash^1")?);
        // A stash has every file; those that it did not change were not put away.
        if stashed.is_success() && !(before.is_success() && before.out == stashed.out) {
            return Ok(Some(stashed.out));
        }
        // What git did not track is in the third parent.
        let untracked = text("refs/stash^3")?;
        Ok(untracked.is_success().then_some(untracked.out))
    }

    /// The stash that has a file with this content, as git takes its name; else the newest that put a change of the file away
    /// since a moment, in seconds since 1970. The path is relative to the repository's root.
    pub fn stash_with(&self, path: &str, content: &[u8], since: i64) -> Result<Option<String>, GitError> {
        let said =
            self.git().ask(&["log", "--walk-reflogs", "--format=%H %ct", "-n", MOST_STASHES, "refs/stash", "--"])?;
        if !said.is_success() {
            return Ok(None);
        }
        let text = |commit: &str| -> Result<Option<Vec<u8>>, GitError> {
            let kept = self.git().ask(&["cat-file", "blob", &format!("{commit}:{path}")])?;
            Ok(kept.is_success().then_some(kept.out))
        };
        let mut newest = None;
        for (place, line) in said.text().lines().enumerate() {
            let Some((commit, made)) = line.split_once(' ') else { continue };
            let (kept, before) = (text(commit)?, text(&format!("{commit}^1"))?);
            // What git did not track is in the third parent.
            let kept = match kept.filter(|kept| before.as_ref() != Some(kept)) {
                Some(kept) => Some(kept),
                None => text(&format!("{commit}^3"))?,
            };
            let name = format!("stash@{{{place}}}");
            match kept {
                Some(kept) if kept == content => return Ok(Some(name)),
                Some(_) if made.parse::<i64>().is_ok_and(|made| made >= since) => {
                    newest.get_or_insert(name);
                }
                _ => {}
            }
        }
        Ok(newest)
    }

    /// A file as the commit that is checked out has it, and when it was last committed, in seconds since 1970. The path is
    /// relative to the repository's root.
    pub fn committed(&self, path: &str) -> Result<Option<(Vec<u8>, i64)>, GitError> {
        let said = self.git().ask(&["cat-file", "blob", &format!("HEAD:{path}")])?;
        if !said.is_success() {
            return Ok(None);
        }
        let made = self.git().ask(&["--literal-pathspecs", "log", "-1", "--format=%ct", "HEAD", "--", path])?;
        Ok(made.text().parse().ok().map(|made| (said.out, made)))
    }

    /// Whether a file of the work tree has not been written since git wrote it or last looked at it. The path is relative to
    /// the repository's root.
    pub fn is_written_by_git(&self, path: &str) -> Result<bool, GitError> {
        // A checkout that is under way wrote the file and not yet its index. It holds this lock from before to after.
        let lock = git_directory(&self.root).join("index.lock");
        let mut looks = 0..LOOKS_AT_LOCK;
        while lock.exists() && looks.next().is_some() {
            std::thread::sleep(LOOK_AT_LOCK);
        }
        // Without a refresh of the index, git compares when the file was written.
        Ok(self.git().ask(&["--literal-pathspecs", "diff-files", "--quiet", "--", path])?.is_success())
    }

    /// The commit that last changed a file of what is checked out. The path is relative to the repository's root.
    pub fn last_change(&self, path: &str) -> Result<Option<String>, GitError> {
        let log = ["--literal-pathspecs", "log", "-1", "--format=%H", "HEAD", "--", path];
        Ok(Some(self.git().run(&log)?).filter(|commit| !commit.is_empty()))
    }

    /// A file as a commit has it. The path is relative to the repository's root.
    pub fn text_at(&self, commit: &str, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        let said = self.git().ask(&["cat-file", "blob", &format!("{commit}:{path}")])?;
        Ok(said.is_success().then_some(said.out))
    }

    /// A file as a branch has it. The path is relative to the repository's root.
    pub fn text_of(&self, branch: &str, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        self.text_at(&full(branch), path)
    }

    /// Whether a local branch has a file. The path is relative to the repository's root.
    pub fn is_on_a_branch(&self, path: &str) -> Result<bool, GitError> {
        let log = ["--literal-pathspecs", "log", "-1", "--format=%H", "--branches", "--", path];
        if self.git().run(&log)?.is_empty() {
            return Ok(false);
        }
        for branch in self.git().run(&["for-each-ref", "--format=%(refname:short)", "refs/heads"])?.lines() {
            if self.has_file(branch, Path::new(path))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a branch has a commit of this time or later, in seconds since 1970, that changes something else than some files
    /// and directories. They are relative to the repository's root.
    pub fn has_changed_since(&self, branch: &str, seconds: i64, but: &[PathBuf]) -> Result<bool, GitError> {
        let (since, branch) = (format!("--since={seconds}"), full(branch));
        let but: Vec<String> = but.iter().map(|path| format!(":(top,exclude,literal){}", path.display())).collect();
        let mut list = vec!["log", "-1", "--full-history", "--format=%H", &since, &branch, "--", ":(top)"];
        list.extend(but.iter().map(String::as_str));
        self.git().run(&list).map(|found| !found.is_empty())
    }

    /// A file as it was where a worktree's branch left its target; nothing when it was not there.
    pub fn at_fork(&self, worktree: &Path, target: &str, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        let fork = self.fork(worktree, target)?;
        let said = self.git().ask(&["cat-file", "blob", &format!("{}:{path}", fork.tree())])?;
        Ok(said.is_success().then_some(said.out))
    }

    /// The paths of all files of a branch, relative to the repository's root.
    pub fn files(&self, branch: &str) -> Result<Vec<String>, GitError> {
        Ok(split(&self.git().bytes(&["ls-tree", "-r", "-z", "--name-only", "--full-tree", &full(branch)])?))
    }

    /// The texts of all files of a branch that have a name, in whatever directory.
    pub fn files_named(&self, branch: &str, name: &str) -> Result<Vec<String>, GitError> {
        let is_named = |path: &&String| Path::new(path.as_str()).file_name().is_some_and(|found| found == name);
        let text = |path: &String| {
            let said = self.git().ask(&["cat-file", "blob", &format!("{}:{path}", full(branch))])?;
            Ok(String::from_utf8_lossy(&said.out).into_owned())
        };
        self.files(branch)?.iter().filter(is_named).map(text).collect()
    }
}
