//! Makes a worktree, or takes the one that is there.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::advance::MADE;
use super::gates::utf8;
use super::merge::full;
use super::{Created, Creation, ExistingBranch, Listed, Maker, NewWorktree, Repository, list, refused, refused_with};
use crate::git::{Git, GitError, MARK, quote};

/// The reason with which a worktree is locked until it is whole: one that has it was left by a killed process.
const UNFINISHED: &str = "piton: being made";

impl Repository {
    /// Makes a worktree, or takes the one that is there, as it is. Refuses when something else stands in its place. A
    /// branch that the caller does not know is not touched, unless it is exactly at the base.
    ///
    /// So that the work tree around it does not show it as untracked, its parent is added to `.git/info/exclude`.
    pub fn create(&self, wanted: &NewWorktree) -> Result<Creation, GitError> {
        self.create_from(wanted, None)
    }

    /// Makes a worktree on a branch that was not there before. Of two callers that want the same branch at once, one gets
    /// it; the other one gets the error that it exists.
    pub fn create_new(&self, wanted: &NewWorktree) -> Result<Creation, GitError> {
        self.place(&wanted.path)?;
        let base = self.commit(&wanted.base)?;
        self.check_inside(&base)?;
        match self.create_branch(&wanted.branch, &base)? {
            true => self.create_from(&NewWorktree { is_known: true, ..wanted.clone() }, Some(base)),
            false => self.exists(&wanted.branch, &base),
        }
    }

    fn exists(&self, branch: &str, base: &str) -> Result<Creation, GitError> {
        let tip = self.tip(branch)?.unwrap_or_default();
        let is_merged = !tip.is_empty() && self.is_ancestor(&tip, base)?;
        Ok(Creation::Exists(ExistingBranch { branch: branch.to_owned(), tip, is_merged }))
    }

    /// The same as `create`; `made` is the commit at which the caller has just made the branch.
    fn create_from(&self, wanted: &NewWorktree, made: Option<String>) -> Result<Creation, GitError> {
        let path = self.place(&wanted.path)?;
        self.check_branch_name(&wanted.branch)?;
        let listed: Vec<Listed> = list::all(&self.root)?.into_iter().map(|each| each.listed).collect();
        match listed.iter().find(|each| each.path == path) {
            Some(each) if is_unfinished(each) => self.set_aside(&path)?,
            Some(each) if !is_for(each, wanted) && !switch_back(self, each, wanted)? => {
                return in_the_way(self, each, wanted);
            }
            Some(each) if each.is_there => return self.take(each, wanted).map(Creation::Ready),
            // Its directory is gone. Only this worktree is forgotten; its branch stays.
            Some(_) => drop(self.git().run(&["worktree", "remove", "--force", utf8(&path)?])?),
            None => {}
        }
        let is_elsewhere = |each: &&Listed| each.branch.as_ref() == Some(&wanted.branch) && each.path != path;
        if let Some(other) = listed.iter().find(is_elsewhere) {
            let message = format!("{} is checked out in {}", wanted.branch, other.path.display());
            let hint = match other.is_there {
                true => self.way_to_move_on(&other.path),
                false => {
                    format!("when that was moved here: git -C {} worktree repair {}", quote(&self.root), quote(&path))
                }
            };
            return refused_with(message, hint);
        }
        if path.symlink_metadata().is_ok() && fs::read_dir(&path).is_ok_and(|mut entries| entries.next().is_some()) {
            return refused(format!("something else is in the way: {}", path.display()));
        }
        let base = self.commit(&wanted.base)?;
        self.check_inside(&base)?;
        let mut tip = self.tip(&wanted.branch)?;
        if !wanted.is_known && self.is_left_by_us(&wanted.branch, tip.as_deref(), &base)? {
            tip = Some(base.clone());
        }
        if tip.as_ref().is_some_and(|tip| !wanted.is_known && *tip != base) {
            return self.exists(&wanted.branch, &base);
        }
        self.exclude(&wanted.path)?;
        let start = made.or_else(|| tip.is_none().then(|| base.clone()));
        if tip.is_none() && !self.create_branch(&wanted.branch, &base)? {
            return self.exists(&wanted.branch, &base);
        }
        self.add(wanted, &path, &tip.unwrap_or(base), start.as_deref())?;
        Ok(Creation::Ready(self.created(path, wanted, false)))
    }

    /// Brings a branch to the base that a killed lead made and that nothing was done on: only its making is in its reflog.
    fn is_left_by_us(&self, branch: &str, tip: Option<&str>, base: &str) -> Result<bool, GitError> {
        let Some(tip) = tip.filter(|tip| *tip != base) else { return Ok(false) };
        let log = self.git().ask(&["log", "--walk-reflogs", "-n", "100", "--format=%gs", &full(branch), "--"])?.text();
        if log.is_empty() || log.lines().any(|line| line != MADE) || !self.is_ancestor(tip, base)? {
            return Ok(false);
        }
        let update = ["update-ref", "-m", MADE, &full(branch), base, tip];
        Ok(self.git().ask(&update)?.is_success())
    }

    /// Each step leaves something that the next call knows: the branch at the base, then a worktree with the lock of one
    /// that is unfinished. The branch is given by its full name alone, since a tag may have the same.
    fn add(&self, wanted: &NewWorktree, path: &Path, at: &str, start: Option<&str>) -> Result<(), GitError> {
        let text = utf8(path)?;
        self.git().run(&["worktree", "add", "--quiet", "--detach", "--lock", "--reason", UNFINISHED, text, at])?;
        Git::at(path).run(&["symbolic-ref", "-m", "piton: worktree made", "HEAD", &full(&wanted.branch)])?;
        let start = start.map_or_else(String::new, |start| format!("start {start}\n"));
        mark(path, &format!("branch {}\n{start}", wanted.branch))?;
        self.git().run(&["worktree", "unlock", text]).map(drop)
    }

    /// Takes a worktree as it is. One that the caller knows, and that an earlier version made, gets its mark now.
    fn take(&self, listed: &Listed, wanted: &NewWorktree) -> Result<Created, GitError> {
        if listed.maker == Maker::User {
            mark(&listed.path, &format!("branch {}\n", wanted.branch))?;
        }
        Ok(self.created(listed.path.clone(), wanted, true))
    }

    fn created(&self, path: PathBuf, wanted: &NewWorktree, was_there: bool) -> Created {
        let start = start_of(&path);
        Created { directory: path.join(&self.inside), path, branch: wanted.branch.clone(), was_there, start }
    }

    /// Where a worktree is to be, if that stays inside: a repository may bring links along that lead out.
    pub(super) fn place(&self, relative: &Path) -> Result<PathBuf, GitError> {
        let is_plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
        if !is_plain || relative.as_os_str().is_empty() {
            return refused(format!("a worktree has to be below the workspace: {}", relative.display()));
        }
        let mut path = self.root.join(&self.inside);
        for part in relative.components() {
            path.push(part);
            if path.symlink_metadata().is_ok_and(|found| found.file_type().is_symlink()) {
                return refused(format!("a link is in the way: {}", path.display()));
            }
        }
        Ok(path)
    }

    /// A workspace that is a subdirectory has to be one in the commit too, or a worktree would not have it.
    pub(super) fn check_inside(&self, commit: &str) -> Result<(), GitError> {
        if self.inside.as_os_str().is_empty() {
            return Ok(());
        }
        let name = format!("{commit}:{}", utf8(&self.inside)?);
        let kind = self.git().ask(&["cat-file", "-t", &name])?;
        if kind.is_success() && kind.text() == "tree" {
            return Ok(());
        }
        let directory = quote(&self.root.join(&self.inside));
        refused_with(
            format!(
                "the workspace {} is in the repository {}, which has no commit with files of it",
                self.inside.display(),
                self.root.display()
            ),
            format!(
                "commit its files there, or make it a repository of its own: git init {directory} && git -C {directory} add -A && git -C {directory} commit --allow-empty -m 'first commit'"
            ),
        )
    }

    /// Moves away what a killed process left before it had finished. Nothing was worked on there.
    fn set_aside(&self, path: &Path) -> Result<(), GitError> {
        let text = utf8(path)?;
        if path.exists() {
            let aside = (1..).map(|number| path.with_extension(format!("unfinished-{number}")));
            let aside = aside.into_iter().find(|aside| aside.symlink_metadata().is_err()).unwrap_or_default();
            fs::rename(path, &aside).or_else(|error| refused(format!("cannot move {text} aside: {error}")))?;
        }
        self.git().run(&["worktree", "remove", "--force", "--force", text]).map(drop)
    }

    /// Keeps files that Piton writes beside documents for an instant out of git's sight: a `git add -A` that lists one of
    /// them fails when it is gone.
    pub fn ignore_temporary_files(&self) -> Result<(), GitError> {
        self.ignore(&self.inside.join(".document.piton-new"), ".*.piton-*")
    }

    /// Keeps the directory of worktrees out of the user's `git status`.
    pub(super) fn exclude(&self, relative: &Path) -> Result<(), GitError> {
        let Some(first) = relative.iter().next() else { return Ok(()) };
        let pattern = format!("/{}/", as_pattern(utf8(&self.inside.join(first))?));
        self.ignore(&self.inside.join(relative), &pattern)
    }

    /// Adds a pattern to `.git/info/exclude`, unless git ignores the path already.
    fn ignore(&self, path: &Path, pattern: &str) -> Result<(), GitError> {
        if self.git().ask(&["check-ignore", "--quiet", "--no-index", "--", utf8(path)?])?.is_success() {
            return Ok(());
        }
        let common = list::common_directory(&self.root);
        let file = common.join("info/exclude");
        let write = || {
            fs::create_dir_all(common.join("info"))?;
            let before = fs::read(&file).unwrap_or_default();
            let line_end = if before.is_empty() || before.ends_with(b"\n") { "" } else { "\n" };
            let line = format!("{line_end}{pattern}\n");
            OpenOptions::new().create(true).append(true).open(&file)?.write_all(line.as_bytes())
        };
        write().or_else(|error: std::io::Error| refused(format!("cannot write {}: {error}", file.display())))
    }
}

/// Writes down that Piton made a worktree, and what for.
pub(super) fn mark(path: &Path, what_for: &str) -> Result<(), GitError> {
    let file = list::git_directory(path).join(MARK);
    fs::write(&file, what_for).or_else(|error| refused(format!("cannot write {}: {error}", file.display())))
}

/// git's own lock while it makes a worktree, or ours until it is whole.
fn is_unfinished(listed: &Listed) -> bool {
    matches!(listed.locked.as_deref(), Some("initializing" | UNFINISHED))
}

/// Whether a worktree in that place is the one that is wanted: Piton's, or one that the caller knows.
fn is_for(listed: &Listed, wanted: &NewWorktree) -> bool {
    let is_same = listed.branch.as_ref() == Some(&wanted.branch);
    is_same && (listed.maker == Maker::Piton || (listed.maker == Maker::User && wanted.is_known))
}

/// Checks the wanted branch out again in a worktree of Piton's in which a worker left another one, or in which a rebase of
/// the branch was interrupted. What that worker did not commit stays, or is in a snapshot; where git cannot keep it, nothing
/// changes.
fn switch_back(repository: &Repository, listed: &Listed, wanted: &NewWorktree) -> Result<bool, GitError> {
    if listed.maker != Maker::Piton || !listed.is_there || !wanted.is_known {
        return Ok(false);
    }
    let git = Git::at(&listed.path);
    if is_rebased(&listed.path, &wanted.branch) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        repository.snapshot(&listed.path, &listed.name, i64::try_from(now).unwrap_or_default())?;
        return Ok(git.ask(&["rebase", "--abort"])?.is_success());
    }
    let switch = ["switch", "--quiet", "--no-guess", &wanted.branch];
    Ok(git.ask(&switch)?.is_success())
}

/// Whether a rebase of a branch is under way in a worktree.
fn is_rebased(worktree: &Path, branch: &str) -> bool {
    let directory = list::git_directory(worktree);
    let name = |state: &str| fs::read_to_string(directory.join(state).join("head-name")).ok();
    ["rebase-merge", "rebase-apply"].iter().filter_map(|state| name(state)).any(|name| name.trim_end() == full(branch))
}

fn in_the_way(repository: &Repository, listed: &Listed, wanted: &NewWorktree) -> Result<Creation, GitError> {
    let path = listed.path.display();
    let message = match (&listed.branch, listed.maker) {
        (Some(branch), Maker::User) if *branch == wanted.branch => {
            format!("{path} is a worktree that Piton did not make")
        }
        (branch, _) => {
            format!("{path} has {} checked out, not {}", branch.as_deref().unwrap_or("no branch"), wanted.branch)
        }
    };
    refused_with(message, repository.way_to_move(&listed.path))
}

impl Repository {
    /// The command that lets a branch go that a worktree has checked out, with what is changed there.
    fn way_to_move_on(&self, path: &Path) -> String {
        format!("check out something else there: git -C {} switch --detach", quote(path))
    }

    /// The command that moves a worktree out of the way.
    pub(super) fn way_to_move(&self, path: &Path) -> String {
        let place = |number: u32| PathBuf::from(format!("{}-moved-{number}", path.display()));
        let free = (1..100).map(place).find(|place| place.symlink_metadata().is_err()).unwrap_or_else(|| place(100));
        let root = quote(&self.root);
        format!("move it away: git -C {root} worktree move {} {}", quote(path), quote(&free))
    }
}

/// The commit that a worktree's branch started from, if that was written down.
fn start_of(path: &Path) -> Option<String> {
    let text = fs::read_to_string(list::git_directory(path).join(MARK)).ok()?;
    text.lines().find_map(|line| line.strip_prefix("start ")).map(str::to_owned)
}

/// A path as a pattern that means only this path.
fn as_pattern(path: &str) -> String {
    path.chars().fold(String::new(), |mut pattern, c| {
        if "\\*?[]".contains(c) || (c == ' ' && path.ends_with(' ')) {
            pattern.push('\\');
        }
        pattern.push(c);
        pattern
    })
}
