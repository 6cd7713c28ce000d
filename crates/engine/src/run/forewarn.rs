//! What a run would be refused for or run into, told before it begins.

use piton_dialect::Source;
use piton_dialect::build::read_spec;
use piton_model::Time;
use piton_model::hint::verbs;
use piton_supervisor::{GitError, Repository};

use super::attach::lead_at_work;
use super::judges::unheard;
use super::memory::Memory;
use super::other_work::retitled;
use super::scripts::{Base, missing_scripts};
use super::task_list::added_to_done;
use super::work::{Work, undefined};
use super::{RunPlan, runs};
use crate::Workspace;

/// What stands in the way of a run, for people; nothing where it could begin as planned.
pub fn forewarn(workspace: &Workspace, plan: &RunPlan, now: Time) -> Vec<String> {
    let mut added = added_to_done(workspace, &plan.work, now);
    added.extend(retitled(workspace, &plan.work, now));
    let mut all: Vec<String> =
        added.iter().map(|(at, hint)| format!("{}: {hint}", plan.work.lanes[*at].unit_name)).collect();
    let name = |group: usize| &plan.work.fleet.groups[group].name;
    let undefined = undefined_streams(workspace, &plan.work).into_iter();
    all.extend(undefined.map(|(group, text)| format!("{}: {text}", name(group))));
    all.extend(unheard(&plan.settings, &plan.work));
    if let Some(lead) = lead_at_work(workspace) {
        let show = verbs::RUN.call().to(format!("a lead is at work (process {}); show it", lead.pid));
        all.push(show.to_string());
    }
    if !plan.settings.worktrees {
        return all;
    }
    match base(workspace, plan) {
        Ok(None) => {}
        Ok(Some((repository, branch))) => {
            let base = Base { repository: &repository, branch: &branch };
            all.extend(missing_scripts(workspace, &plan.settings, &plan.work, &base));
        }
        Err(error) => all.push(refusal(&error)),
    }
    all
}

/// What phases of specifications name and no workstream is, by the group.
pub(super) fn undefined_streams(workspace: &Workspace, work: &Work) -> Vec<(usize, String)> {
    let mut all = Vec::new();
    for (group, work) in work.groups.iter().enumerate() {
        let Some(path) = work.spec.as_deref() else { continue };
        let text = workspace.read_text(path).ok().flatten().unwrap_or_default();
        let source = Source { path: path.into(), bytes: text.as_bytes(), modified: None };
        let undefined = read_spec(&source).spec.map(|spec| undefined(&spec)).unwrap_or_default();
        let told = |(phase, id): (String, String)| {
            format!("{path}: {phase} names {id}, which is no workstream; no worker builds it")
        };
        all.extend(undefined.into_iter().map(|it| (group, told(it))));
    }
    all
}

/// The repository and the branch that a run would merge into; nothing where there is no repository.
fn base(workspace: &Workspace, plan: &RunPlan) -> Result<Option<(Repository, String)>, GitError> {
    let Some(repository) = Repository::find(workspace.root())? else { return Ok(None) };
    let units = plan.work.units();
    let run = runs::all(workspace).find(|run| !run.is_finished && !run.units.is_disjoint(&units));
    let known = run.and_then(|run| Memory::load(workspace).ok()?.bases.get(&run.number).cloned());
    let branch = match known {
        Some(known) => known,
        None => repository.base_branch()?,
    };
    Ok(Some((repository, branch)))
}

fn refusal(error: &GitError) -> String {
    let hint = error.hint().map_or_else(String::new, |hint| format!("; {hint}"));
    format!("a run is refused here: {error}{hint}")
}
