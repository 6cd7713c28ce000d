//! Whether branches and commits are there that a document names.

use std::io::Write as _;
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
    let mut git = Command::new("git")
        .arg("-C")
        .arg(workspace.root())
        .args(["cat-file", "--batch-check=%(objecttype)"])
        .env("LC_ALL", "C")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    // A hundred short lines fit into the pipe, so that neither waits for the other.
    let written = git.stdin.take().map(|mut input| input.write_all((lines.join("\n") + "\n").as_bytes()));
    let output = git.wait_with_output().ok()?;
    let is_answered = output.status.success() && matches!(written, Some(Ok(())));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    is_answered.then(|| text.lines().map(|line| line == "commit").collect())
}
