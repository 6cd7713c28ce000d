//! Whether branches and commits are there that a document names.

use piton_dialect::GitNames;
use piton_supervisor::{GitError, Repository, are_commits};

use crate::Workspace;

/// What is not there, in words. Nothing when there is no repository. That git cannot say it is said too.
pub(crate) fn lost_in_git(workspace: &Workspace, names: &GitNames) -> Vec<String> {
    let branches = names.branches.iter().map(|name| (format!("branch {name}"), places_of(name)));
    let commits = names.commits.iter().map(|name| (format!("commit {name}"), vec![format!("{name}^{{commit}}")]));
    let wanted: Vec<_> = branches.chain(commits).collect();
    let lines: Vec<&str> = wanted.iter().flat_map(|(_, places)| places).map(String::as_str).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    // The names have been checked: none can be an option or a second line.
    let found = match are_commits(workspace.root(), &lines) {
        Ok(found) => found,
        Err(error) => return unknown(workspace, &error),
    };
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

/// Only where there is no repository can nothing be lost in it.
fn unknown(workspace: &Workspace, error: &GitError) -> Vec<String> {
    let error = match Repository::find(workspace.root()) {
        Ok(None) => return Vec::new(),
        Ok(Some(_)) => error.to_string(),
        Err(error) => error.hint().into_iter().fold(error.to_string(), |text, hint| format!("{text}; {hint}")),
    };
    vec![format!("cannot tell whether the branches and commits that are named are there: {error}")]
}

/// Where a branch may be: here, or as it was fetched.
fn places_of(branch: &str) -> Vec<String> {
    vec![format!("refs/heads/{branch}"), format!("refs/remotes/origin/{branch}")]
}
