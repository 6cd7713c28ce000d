//! A run that is continued is led by the settings, lists and specifications that it was led by, unless its user changed them.
//! What git put in their place (another branch, a stash) names other gates and other work: nothing is merged by that.

use piton_supervisor::{GitError, Repository, quoted};

use super::memory::Memory;
use super::runs::{self, RunRecord};
use super::sources::{Found, History as _, InRepository, Source, judge, kept};
use super::ways::Way;
use super::work::unusable;
use super::{RunError, RunRequest, listed_stories};
use crate::Workspace;

/// Refuses to continue an unfinished run with files that git put in the place of its own.
pub(super) fn refuse(workspace: &Workspace, request: &RunRequest) -> Result<(), RunError> {
    let Some(run) = meant(workspace, request) else { return Ok(()) };
    let root = workspace.root();
    let number = run.number;
    match first_refused(workspace, &run)?.filter(|it| !(request.retry && matches!(it.why, Refused::PutByGit { .. }))) {
        Some(Other { path, base, why: Refused::Elsewhere { branch } }) => {
            let here = branch.as_deref().unwrap_or("no branch");
            let why =
                format!("run {number} merges into {base}, and {path} of {here}, which is checked out, is another");
            let command = run.command(root, request.directory.as_deref().unwrap_or(root), options(request));
            let hint = command.to(format!("check it out: git checkout {}; then continue", quoted(&base)));
            Err(unusable(why, hint).into())
        }
        Some(Other { path, why: Refused::PutByGit { stash }, .. }) => {
            let why = format!(
                "run {number} was led by another {path}, which is in the stash; git put an earlier version in its place"
            );
            let back = popped(&stash);
            let hint = format!("bring yours back: {back}; with --retry the run continues with what is there");
            Err(unusable(why, hint).into())
        }
        None => Ok(()),
    }
}

/// How a stash is brought back.
fn popped(stash: &str) -> String {
    if stash == "stash@{0}" { "git stash pop".to_owned() } else { format!("git stash pop {}", quoted(stash)) }
}

/// The same on another branch than its base.
pub(super) fn is_elsewhere(workspace: &Workspace, run: &RunRecord) -> bool {
    let other = first_refused(workspace, run).ok().flatten();
    other.is_some_and(|other| matches!(other.why, Refused::Elsewhere { .. }))
}

/// What its user does first about a run that would be refused on the branch that is checked out.
pub(super) fn way_back(workspace: &Workspace, run: &RunRecord) -> Option<Way> {
    let Other { path, base, why } = first_refused(workspace, run).ok()??;
    let words = match why {
        Refused::Elsewhere { .. } => {
            format!("{path} is another on {base}, which is not checked out: git checkout {}", quoted(&base))
        }
        Refused::PutByGit { stash } => format!("{path} is in the stash: {}", popped(&stash)),
    };
    Some(Way::Fetch { words })
}

/// A file of a run in whose place git put an earlier version.
pub(super) fn put_by_git(workspace: &Workspace, run: &RunRecord) -> Option<String> {
    let other = first_refused(workspace, run).ok()??;
    matches!(other.why, Refused::PutByGit { .. }).then_some(other.path)
}

/// A file that steered a run, with something else in its place.
struct Other {
    path: String,
    base: String,
    why: Refused,
}

fn first_refused(workspace: &Workspace, run: &RunRecord) -> Result<Option<Other>, RunError> {
    // The lead reports what git refuses when it begins.
    let Ok(Some(repository)) = Repository::find(workspace.root()) else { return Ok(None) };
    let memory = Memory::load(workspace)?;
    let Some(base) = memory.bases.get(&run.number) else { return Ok(None) };
    for (path, known) in kept::load(&*workspace.disk, &run.directory()) {
        let now = workspace.disk.read(&path).ok().map(|content| content.bytes);
        let inside = repository.inside().join(&path).display().to_string();
        let since = run.lead_since.unix_seconds();
        let history = InRepository { repository: &repository, base, path: inside, since };
        if let Some(why) = refused(&known, now.as_deref(), &history).map_err(RunError::Git)? {
            return Ok(Some(Other { path, base: base.clone(), why }));
        }
    }
    Ok(None)
}

/// The options with which a request is typed again.
fn options(request: &RunRequest) -> &'static [&'static str] {
    if request.retry { &["--retry"] } else { &[] }
}

/// The unfinished run that a request continues: one that has a unit which is named; with no name, the newest, or that of the
/// stories where the workspace lists any (see [`super::continued`]).
fn meant(workspace: &Workspace, request: &RunRequest) -> Option<RunRecord> {
    let is_named = |run: &RunRecord| {
        let typed = run.typed(workspace.root(), workspace.root());
        request.wanted.iter().any(|name| run.units.contains(name) || typed.contains(name))
    };
    let has_stories = !request.retry && listed_stories(workspace) > 0;
    let is_of_stories = |run: &RunRecord| run.units.iter().any(|unit| unit.starts_with("pipeline:"));
    let mut open = runs::all(workspace).filter(|run| !run.is_finished);
    open.find(|run| match request.wanted.is_empty() {
        true => !has_stories || is_of_stories(run),
        false => is_named(run),
    })
}

/// Why a run is not led by what is in the place of a file.
#[derive(Debug, PartialEq, Eq)]
enum Refused {
    /// Another branch than the base is checked out, and the base has another version.
    Elsewhere {
        /// Its name.
        branch: Option<String>,
    },
    /// git put an earlier version there, and this stash has the run's.
    PutByGit {
        /// As git takes its name.
        stash: String,
    },
}

fn refused(known: &Source, now: Option<&[u8]>, history: &InRepository<'_>) -> Result<Option<Refused>, GitError> {
    let on_base = history.on_base()?;
    if !history.is_base_here()? {
        let has_changed = now != known.text.as_deref() || on_base != known.on_base;
        let is_other = on_base.is_some() && on_base.as_deref() != now && has_changed;
        let branch = history.repository.head()?.branch().map(str::to_owned);
        return Ok(is_other.then_some(Refused::Elsewhere { branch }));
    }
    let is_put = judge(known, now, on_base.as_deref(), history)? == Found::PutByGit;
    let text = known.text.as_deref().filter(|_| is_put);
    let stash = text.map_or(Ok(None), |text| history.repository.stash_with(&history.path, text, history.since))?;
    Ok(stash.map(|stash| Refused::PutByGit { stash }))
}
