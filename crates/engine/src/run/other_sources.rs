//! A run that is continued is led by the settings, lists and specifications that it was led by, unless its user changed them.
//! What git put in their place (another branch, a stash) names other gates and other work: nothing is merged by that.

use piton_model::hint::verbs;
use piton_supervisor::{GitError, Repository, quoted};

use super::memory::Memory;
use super::runs::{self, RunRecord};
use super::sources::{Found, History as _, InRepository, Source, judge};
use super::work::{WorkError, unusable};
use super::{RunError, RunRequest, listed_stories};
use crate::Workspace;

/// Refuses to continue an unfinished run with files that git put in the place of its own.
pub(super) fn refuse(workspace: &Workspace, request: &RunRequest) -> Result<(), RunError> {
    let Some(run) = meant(workspace, request) else { return Ok(()) };
    let now = |path: &str| workspace.disk.read(path).ok().map(|content| content.bytes);
    let led_by = run.kept(workspace).into_iter().map(|(path, text)| (path, text.into_bytes()));
    let changed: Vec<_> = led_by.filter(|(path, text)| now(path).as_ref() != Some(text)).collect();
    if changed.is_empty() {
        return Ok(());
    }
    // What git refuses is told when the lead begins.
    let Ok(Some(repository)) = Repository::find(workspace.root()) else { return Ok(()) };
    let memory = Memory::load(workspace)?;
    let Some(base) = memory.bases.get(&run.number) else { return Ok(()) };
    let tip = memory.base_tips.get(&run.number).map(String::as_str);
    for (path, text) in changed {
        let inside = repository.inside().join(&path).display().to_string();
        let file = Before { run: run.number, path: &path, text, tip, is_retry: request.retry };
        let history = InRepository { repository: &repository, base, path: inside };
        if let Some(why) = file.refused(now(&path).as_deref(), &history).map_err(RunError::Git)? {
            return Err(why.into());
        }
    }
    Ok(())
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

/// A file that steered a run.
struct Before<'m> {
    run: u64,
    path: &'m str,
    text: Vec<u8>,
    /// Where the base was when the run last looked.
    tip: Option<&'m str>,
    is_retry: bool,
}

impl Before<'_> {
    /// Why the run is not led by what is in the file's place.
    fn refused(&self, now: Option<&[u8]>, history: &InRepository<'_>) -> Result<Option<WorkError>, GitError> {
        let (number, path, base) = (self.run, self.path, history.base);
        let on_base = history.on_base()?;
        if !history.is_base_here()? {
            let is_other = on_base.is_some() && on_base.as_deref() != now;
            let hint = verbs::RUN.call().to(format!("check it out: git checkout {}; then continue", quoted(base)));
            let head = history.repository.head()?;
            let here = head.branch().unwrap_or("no branch");
            let why =
                format!("run {number} merges into {base}, and {path} of {here}, which is checked out, is another");
            return Ok(is_other.then(|| unusable(why, hint)));
        }
        let before = match self.tip {
            Some(tip) => history.repository.text_at(tip, &history.path)?,
            None => None,
        };
        let known = Source { text: Some(self.text.clone()), on_base: before, began: Some(self.text.clone()) };
        let is_put = judge(&known, now, on_base.as_deref(), history)? == Found::PutByGit;
        let hint =
            "bring yours back, for instance with: git stash pop; with --retry the run continues with what is there";
        let why = format!("run {number} was led by another {path}, and git put an earlier version in its place");
        Ok((is_put && !self.is_retry).then(|| unusable(why, hint)))
    }
}
