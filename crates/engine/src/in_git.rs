//! What git is asked: whether branches and commits are there that a document names, and what files are like.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use piton_dialect::GitNames;

use crate::Workspace;

/// What is not there, in words. Nothing when there is no repository, or no git to ask.
pub(crate) fn lost_in_git(workspace: &Workspace, names: &GitNames) -> Vec<String> {
    let branches = names.branches.iter().map(|name| (format!("branch {name}"), places_of(name)));
    let commits = names.commits.iter().map(|name| (format!("commit {name}"), vec![format!("{name}^{{commit}}")]));
    let wanted: Vec<_> = branches.chain(commits).collect();
    let lines: Vec<&str> = wanted.iter().flat_map(|(_, places)| places).map(String::as_str).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let Some(found) = ask(workspace, &lines) else { return Vec::new() };
    let mut found = found.into_iter();
    wanted
        .into_iter()
        .filter_map(|(what, places)| {
            // Every answer is taken, so that the next ones belong to the next name.
            let is_there: Vec<bool> = found.by_ref().take(places.len()).collect();
            let is_lost = is_there.len() == places.len() && !is_there.contains(&true);
            is_lost.then(|| format!("a {what} is named that the repository does not have"))
        })
        .collect()
}

/// Where a branch may be: here, or as it was fetched.
fn places_of(branch: &str) -> Vec<String> {
    vec![format!("refs/heads/{branch}"), format!("refs/remotes/origin/{branch}")]
}

/// Asks git for each name whether it is there. The names have been checked: none can be an option or a second line.
fn ask(workspace: &Workspace, lines: &[&str]) -> Option<Vec<bool>> {
    let mut git = git(workspace.root())
        .args(["cat-file", "--batch-check=%(objecttype)"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    // A hundred short lines fit into the pipe, so that neither waits for the other.
    let written = git.stdin.take().map(|mut input| input.write_all((lines.join("\n") + "\n").as_bytes()));
    let output = git.wait_with_output().ok()?;
    let is_answered = output.status.success() && matches!(written, Some(Ok(())));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    is_answered.then(|| text.lines().map(|line| line == "commit").collect())
}

/// The tree of the commit that a directory is at; nothing when there is no repository, or no commit.
pub(crate) fn tree_of(directory: &Path) -> Option<String> {
    answer(git(directory).args(["rev-parse", "--verify", "--quiet", "HEAD^{tree}"]))
}

/// Whether a commit took a file away on purpose, so that nobody misses it: one that a directory's branch has and its base
/// does not, or any where it is the base itself.
pub(crate) fn was_removed(directory: &Path, base: Option<&str>, path: &str) -> bool {
    let head = answer(git(directory).args(["symbolic-ref", "--quiet", "--short", "HEAD"]));
    let range = match base.filter(|base| head.as_deref() != Some(base)) {
        Some(base) => format!("refs/heads/{base}..HEAD"),
        None => "HEAD".to_owned(),
    };
    let log = ["log", "-1", "--format=%H", "--diff-filter=D", &range, "--", path];
    answer(git(directory).args(log)).is_some()
}

fn answer(git: &mut Command) -> Option<String> {
    let output = git.stdin(Stdio::null()).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// git in a directory, asked for nothing but answers.
fn git(directory: &Path) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(directory).arg("--literal-pathspecs");
    git.env("LC_ALL", "C").env("GIT_OPTIONAL_LOCKS", "0").env("GIT_NO_LAZY_FETCH", "1").env("GIT_TERMINAL_PROMPT", "0");
    git.env_remove("GIT_DIR").env_remove("GIT_WORK_TREE").stderr(Stdio::null());
    git
}
