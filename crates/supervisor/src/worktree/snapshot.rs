//! Keeps what is in a worktree, outside of all branches.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::{Repository, Snapshot, refused};
use crate::git::{Git, GitError, failed};
use crate::home::new_mark;

/// Where snapshots are.
const SNAPSHOTS: &str = "refs/piton/snapshots/";

/// How many movements of a worktree's HEAD are looked at for commits that no branch has.
const MOST_COMMITS: &str = "200";

impl Repository {
    /// Keeps all tracked and untracked files of a worktree as a commit under `refs/piton/snapshots/NAME/TIME`, with what
    /// was staged as its second parent when that is something else, and commits that no branch has as further ones. Ignored files are among them, unless tools make them
    /// again, the workspace has the same, or they are too large. Index, branches and stash are not touched. When nothing
    /// has changed since the last snapshot of that name, that is returned.
    pub fn snapshot(&self, worktree: &Path, name: &str, at: i64) -> Result<Snapshot, GitError> {
        let git = Git::at(worktree);
        let index = TemporaryIndex::copy(&git)?;
        let own = Git::at(worktree).with_index(&index.path).in_our_name().at_time(at);
        let staged = own.ask(&["write-tree"])?;
        own.run(&["add", "--all", "--", ":/"])?;
        self.add_ignored_files(&own, worktree)?;
        let tree = own.run(&["write-tree"])?;
        let head = git.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?;
        let head = (head.code == Some(0)).then(|| head.text());
        let name = as_ref_part(name);
        let known = self.snapshots_of(&name)?;
        if let Some(last) = known.first().filter(|last| self.holds(last, &tree, head.as_deref())) {
            return Ok(last.clone());
        }
        let mut parents: Vec<String> = head.iter().cloned().collect();
        if let (Some(0), Some(head)) = (staged.code, &head) {
            let staged = staged.text();
            if staged != tree && staged != git.run(&["rev-parse", &format!("{head}^{{tree}}")])? {
                parents.push(own.run(&["commit-tree", "-p", head, "-m", "what was staged", &staged])?);
            }
        }
        parents.extend(unreferenced(&git)?);
        let message = format!("snapshot of {name}");
        let mut arguments = vec!["commit-tree", "-m", &message];
        parents.iter().for_each(|parent| arguments.extend(["-p", parent]));
        arguments.push(&tree);
        let commit = own.run(&arguments)?;
        self.keep(&name, at, commit)
    }

    fn add_ignored_files(&self, own: &Git, worktree: &Path) -> Result<(), GitError> {
        let ignored = self.ignored_files(worktree)?;
        let files = ignored.for_snapshot();
        if files.is_empty() {
            return Ok(());
        }
        let add = ["--literal-pathspecs", "add", "--force", "--pathspec-from-file=-", "--pathspec-file-nul"];
        let said = own.tell(&add, files.join("\0").as_bytes())?;
        if said.is_success() { Ok(()) } else { Err(failed(&add, &said)) }
    }

    /// All snapshots, the newest of each name first.
    pub fn snapshots(&self) -> Result<Vec<Snapshot>, GitError> {
        self.snapshots_below(SNAPSHOTS)
    }

    fn snapshots_of(&self, name: &str) -> Result<Vec<Snapshot>, GitError> {
        self.snapshots_below(&format!("{SNAPSHOTS}{name}/"))
    }

    fn snapshots_below(&self, below: &str) -> Result<Vec<Snapshot>, GitError> {
        let format = "--format=%(refname) %(objectname) %(committerdate:unix)";
        let text = self.git().run(&["for-each-ref", format, below])?;
        let mut found: Vec<Snapshot> = text.lines().filter_map(parse).collect();
        found.sort_by(|a, b| (&a.name, b.at, &b.reference).cmp(&(&b.name, a.at, &a.reference)));
        Ok(found)
    }

    /// Whether a snapshot holds these files, taken at this commit.
    fn holds(&self, snapshot: &Snapshot, tree: &str, head: Option<&str>) -> bool {
        let ask = |name: String| self.git().run(&["rev-parse", "--verify", "--quiet", &name]).ok();
        let is_same_tree = ask(format!("{}^{{tree}}", snapshot.commit)).as_deref() == Some(tree);
        is_same_tree && ask(format!("{}^1", snapshot.commit)).as_deref() == head
    }

    /// Gives a commit its name; another of the same second gets a number.
    fn keep(&self, name: &str, at: i64, commit: String) -> Result<Snapshot, GitError> {
        let Ok(time) = Timestamp::from_second(at) else { return refused(format!("not a time: {at}")) };
        let time = time.strftime("%Y%m%dT%H%M%SZ");
        for number in 0..1000 {
            let suffix = if number == 0 { String::new() } else { format!("-{number}") };
            let reference = format!("{SNAPSHOTS}{name}/{time}{suffix}");
            let taken = self.git().ask(&["show-ref", "--verify", "--quiet", &reference])?.code == Some(0);
            if !taken {
                // The last argument says that it is not there yet.
                self.git().run(&["update-ref", &reference, &commit, ""])?;
                return Ok(Snapshot { name: name.to_owned(), at, reference, commit });
            }
        }
        refused(format!("there are too many snapshots of {name} of one second"))
    }
}

fn parse(line: &str) -> Option<Snapshot> {
    let mut words = line.split(' ');
    let (reference, commit, at) = (words.next()?, words.next()?, words.next()?);
    let (name, _) = reference.strip_prefix(SNAPSHOTS)?.rsplit_once('/')?;
    Some(Snapshot {
        name: name.to_owned(),
        at: at.parse().ok()?,
        reference: reference.to_owned(),
        commit: commit.to_owned(),
    })
}

impl Snapshot {
    /// What snapshots of a worktree of this name are called: a name as a part of a ref.
    pub fn name_for(name: &str) -> String {
        as_ref_part(name)
    }
}

fn as_ref_part(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let mut part: String = name.chars().map(plain).collect();
    while part.contains("..") {
        part = part.replace("..", ".-");
    }
    if part.is_empty() || part.starts_with('.') || part.starts_with('-') {
        part.insert(0, '_');
    }
    if part.ends_with(".lock") || part.ends_with('.') {
        part.push('_');
    }
    part
}

/// Commits that were made in a worktree and that no branch has: only the worktree's own reflog knows them.
fn unreferenced(git: &Git) -> Result<Vec<String>, GitError> {
    let log = git.ask(&["log", "--walk-reflogs", "-n", MOST_COMMITS, "--format=%H %gs", "HEAD", "--"])?;
    let text = log.text();
    let made: Vec<&str> = text.lines().filter_map(|line| line.split_once(" commit")).map(|(hash, _)| hash).collect();
    if made.is_empty() {
        return Ok(Vec::new());
    }
    let mut list = vec!["rev-list"];
    list.extend(&made);
    list.extend(["--not", "HEAD", "--branches", "--tags"]);
    let lost = git.run(&list)?;
    let mut found: Vec<String> = made.into_iter().filter(|hash| lost.contains(hash)).map(str::to_owned).collect();
    found.sort();
    found.dedup();
    Ok(found)
}

/// An index that goes when this does.
pub(super) struct TemporaryIndex {
    pub path: PathBuf,
}

impl TemporaryIndex {
    /// An index that is not there yet, which is an empty one.
    pub fn empty(git: &Git) -> Result<TemporaryIndex, GitError> {
        let directory = PathBuf::from(git.run(&["rev-parse", "--absolute-git-dir"])?);
        let mark = new_mark().or_else(|error| refused(format!("cannot get random bytes: {error}")))?;
        Ok(TemporaryIndex { path: directory.join(format!("piton-index-{mark}")) })
    }

    /// A copy of the work tree's own: it knows which files have not changed.
    pub fn copy(git: &Git) -> Result<TemporaryIndex, GitError> {
        let index = TemporaryIndex::empty(git)?;
        let own = git.run(&["rev-parse", "--path-format=absolute", "--git-path", "index"])?;
        match fs::copy(own, &index.path) {
            Ok(_) => Ok(index),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(index),
            Err(error) => refused(format!("cannot copy the index: {error}")),
        }
    }
}

impl Drop for TemporaryIndex {
    fn drop(&mut self) {
        // Should it stay, it is a file that nobody looks at.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_becomes_part_of_a_ref() {
        for (name, want) in [
            ("story-7", "story-7"),
            ("feature/7 login", "feature-7-login"),
            ("..", "_.-"),
            ("a..b", "a.-b"),
            ("", "_"),
            ("-x", "_-x"),
            ("x.lock", "x.lock_"),
            ("ü~^:?*[\\@{", "----------"),
        ] {
            let want = if want.starts_with('-') { format!("_{want}") } else { want.to_owned() };
            assert_eq!(as_ref_part(name), want, "{name}");
        }
    }
}
