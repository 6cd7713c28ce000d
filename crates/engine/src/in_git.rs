//! Whether branches and commits are there that a document names.

use piton_dialect::GitNames;
use piton_supervisor::are_commits;

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
    // The names have been checked: none can be an option or a second line.
    let Ok(found) = are_commits(workspace.root(), &lines) else { return Vec::new() };
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
