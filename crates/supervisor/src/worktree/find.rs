//! Finds the repository that holds a directory. That there is none, that git does not use it, and that git failed are
//! three answers.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::{Head, Repository, list, refused, refused_with};
use crate::git::{Git, GitError, quote};

impl Repository {
    /// The repository that holds a directory, by the work tree that the directory is in: the main one, a linked one, or a
    /// submodule's. Nothing when there is no repository at all. Everything else is an error: a repository that git does
    /// not use is not the same as none.
    pub fn find(directory: &Path) -> Result<Option<Repository>, GitError> {
        let cannot_open = |error: io::Error| denied(directory, format!("cannot open it: {error}"));
        let directory = fs::canonicalize(directory).map_err(cannot_open)?;
        let git = Git::at(&directory);
        let asked = git.ask(&["rev-parse", "--is-inside-work-tree"]);
        let said = match asked {
            Ok(said) => said,
            Err(error @ GitError::NoGit { .. }) => {
                return if traces_of_one(&directory)?.is_some() { Err(error) } else { Ok(None) };
            }
            Err(error) => return Err(error),
        };
        if !said.is_success() {
            return match traces_of_one(&directory)? {
                None => Ok(None),
                Some(trace) => Err(denied(&directory, words_about(&trace, &said.err))),
            };
        }
        if said.text() != "true" {
            return refused_with(
                format!("{} is part of a git repository without being in a work tree of it", directory.display()),
                "add a work tree with git worktree add, and start there".to_owned(),
            );
        }
        let mut root = git.bytes(&["rev-parse", "--show-toplevel"])?;
        root.pop_if(|last| *last == b'\n');
        let root = PathBuf::from(OsString::from_vec(root));
        match directory.strip_prefix(&root) {
            Ok(inside) => Ok(Some(Repository { inside: inside.to_owned(), root })),
            Err(_) => refused(format!("{} is not below its work tree {}", directory.display(), root.display())),
        }
    }

    /// What is checked out in the work tree.
    pub fn head(&self) -> Result<Head, GitError> {
        head_of(&self.git())
    }

    /// Whether a branch has a file, by its path from the repository's root.
    pub fn has_file(&self, branch: &str, path: &Path) -> Result<bool, GitError> {
        let branch = format!("refs/heads/{branch}");
        let path = path.to_string_lossy();
        let list = ["--literal-pathspecs", "ls-tree", "-z", "--name-only", "--full-tree", &branch, "--", &path];
        Ok(!self.git().bytes(&list)?.is_empty())
    }

    /// The branch that is checked out in the work tree, with at least one commit. The base of everything that is merged.
    pub fn base_branch(&self) -> Result<String, GitError> {
        let root = quote(&self.root);
        match self.head()? {
            Head::Branch { name, .. } => Ok(name),
            Head::Unborn { name } => refused_with(
                format!("the branch {name} has no commit yet in {}", self.root.display()),
                format!(
                    "make the first commit: git -C {root} add -A && git -C {root} commit --allow-empty -m 'first commit'"
                ),
            ),
            Head::Detached { commit } => refused_with(
                format!("no branch is checked out in {} (detached HEAD)", self.root.display()),
                self.way_to_a_branch(&commit)?,
            ),
        }
    }

    /// The name that a branch has now, when it is gone and its user renamed it while it was checked out here.
    pub fn renamed(&self, branch: &str) -> Result<Option<String>, GitError> {
        if self.tip(branch)?.is_some() {
            return Ok(None);
        }
        let log = self.git().ask(&["log", "--walk-reflogs", "-n", "1000", "--format=%gs", "HEAD", "--"])?.text();
        let rename = |line: &str| {
            let (from, to) = line.strip_prefix("Branch: renamed refs/heads/")?.split_once(" to refs/heads/")?;
            Some((from.to_owned(), to.to_owned()))
        };
        // The newest is the first line.
        let mut renames: Vec<(String, String)> = log.lines().filter_map(rename).collect();
        renames.reverse();
        let first = renames.iter().rposition(|(from, _)| from == branch);
        let mut name = branch;
        for (from, to) in first.map_or(&[][..], |first| &renames[first..]) {
            name = if from == name { to } else { name };
        }
        Ok(self.tip(name)?.map(|_| name.to_owned()))
    }

    /// A command that checks out a branch without changing a file: one that is there, or a new one.
    fn way_to_a_branch(&self, commit: &str) -> Result<String, GitError> {
        let root = quote(&self.root);
        let taken: Vec<String> = list::all(&self.root)?.into_iter().filter_map(|each| each.listed.branch).collect();
        let here = self.git().run(&["for-each-ref", "--format=%(refname)", "--points-at", commit, "refs/heads"])?;
        let free = here.lines().filter_map(|name| name.strip_prefix("refs/heads/"));
        let free = free.filter(|name| !taken.iter().any(|taken| taken == name)).find(|name| is_plain(name));
        if let Some(name) = free {
            return Ok(format!("check out a branch: git -C {root} switch {name}"));
        }
        let names = std::iter::once("work".to_owned()).chain((2..).map(|number| format!("work-{number}")));
        for name in names.take(100) {
            if self.tip(&name)?.is_none() {
                return Ok(format!("check out a new branch: git -C {root} switch --create {name}"));
            }
        }
        Ok(format!("check out a branch: git -C {root} switch BRANCH"))
    }
}

/// What is checked out in a work tree.
pub(super) fn head_of(git: &Git) -> Result<Head, GitError> {
    let symbolic = git.ask(&["symbolic-ref", "--quiet", "HEAD"])?;
    let commit = git.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?;
    let commit = commit.is_success().then(|| commit.text());
    let text = symbolic.text();
    let branch = symbolic.is_success().then(|| text.strip_prefix("refs/heads/").unwrap_or(&text).to_owned());
    match (branch, commit) {
        (Some(name), Some(commit)) => Ok(Head::Branch { name, commit }),
        (Some(name), None) => Ok(Head::Unborn { name }),
        (None, Some(commit)) => Ok(Head::Detached { commit }),
        (None, None) => refused(format!("HEAD is neither a branch nor a commit: {}", symbolic.err.trim())),
    }
}

/// Whether a branch can be typed as it is.
fn is_plain(name: &str) -> bool {
    !name.starts_with('-') && name.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
}

/// What says that there is a repository, whatever git thinks of it: `.git` upwards from a directory, or a bare
/// repository. As git does, it does not look beyond the file system of the directory, nor at an empty `.git`.
fn traces_of_one(directory: &Path) -> Result<Option<PathBuf>, GitError> {
    let device = directory.metadata().map_err(|error| denied(directory, error.to_string()))?.dev();
    for each in directory.ancestors() {
        if each.metadata().is_ok_and(|found| found.dev() != device) {
            return Ok(None);
        }
        let inner = each.join(".git");
        let is_empty = || fs::read_dir(&inner).is_ok_and(|mut entries| entries.next().is_none());
        match inner.symlink_metadata() {
            Ok(_) if is_empty() => {}
            Ok(_) => return Ok(Some(inner)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(denied(directory, format!("cannot look at {}: {error}", inner.display()))),
        }
        if ["HEAD", "objects", "refs"].iter().all(|name| each.join(name).symlink_metadata().is_ok()) {
            return Ok(Some(each.to_owned()));
        }
    }
    Ok(None)
}

fn denied(directory: &Path, message: String) -> GitError {
    GitError::Denied { directory: directory.to_owned(), message }
}

fn words_about(trace: &Path, words: &str) -> String {
    match words.trim() {
        "" => format!("{} is there, and git does not take it", trace.display()),
        words => words.to_owned(),
    }
}
