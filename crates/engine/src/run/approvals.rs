//! Which commands of a repository a run needs, and which of them nobody approved.

use piton_store::disk::Access;

use super::memory::DIRECTORY;
use super::{RunError, RunPlan, failed};
use crate::{Trust, Workspace, approve, is_approved};

/// A command that needs a person's approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unapproved {
    /// What it is: the worker, or a gate.
    pub what: String,
    /// The command.
    pub command: String,
}

/// The commands of a run that nobody approved.
pub fn unapproved(workspace: &Workspace, plan: &RunPlan) -> Vec<Unapproved> {
    let is_missing = |each: &Unapproved| !is_approved(&Trust::of(workspace, &each.command));
    commands(plan).into_iter().filter(is_missing).collect()
}

/// Approves all commands of a run, from now on.
pub fn approve_commands(workspace: &Workspace, plan: &RunPlan) -> Result<Vec<Unapproved>, RunError> {
    let missing = unapproved(workspace, plan);
    for each in &missing {
        approve(&Trust::of(workspace, &each.command)).map_err(failed)?;
    }
    Ok(missing)
}

fn commands(plan: &RunPlan) -> Vec<Unapproved> {
    let mut all = Vec::new();
    let settings = &plan.settings;
    // Without settings the worker is the user's own agent, started as its adapter does.
    if settings.is_there {
        all.push(Unapproved { what: "worker".to_owned(), command: settings.worker_command() });
    }
    if let Some(command) = &settings.worktree_setup {
        all.push(Unapproved { what: "worktree setup".to_owned(), command: command.clone() });
    }
    let own = settings.gates.iter().map(|(name, command)| (name.clone(), command.clone()));
    let named = plan.work.groups.iter().flat_map(|group| group.gates.clone());
    for (name, command) in own.chain(named) {
        if all.iter().all(|known| known.command != command) {
            all.push(Unapproved { what: format!("gate {name}"), command });
        }
    }
    all
}

/// Writes down that a person lets a build go on after its phase. A lead that is at work sees it; else the next does.
pub fn approve_group(workspace: &Workspace, unit: &str) -> Result<(), RunError> {
    piton_store::seal::prepare(&*workspace.disk).map_err(failed)?;
    piton_store::replace(&*workspace.disk, &approval_path(unit), b"approved\n", Access::Private).map_err(failed)
}

/// Takes an approval that was written down; whether there was one.
pub(super) fn take_approval(workspace: &Workspace, unit: &str) -> bool {
    let path = approval_path(unit);
    matches!(workspace.disk.stamp(&path), Ok(Some(_))) && workspace.disk.remove(&path).is_ok()
}

fn approval_path(unit: &str) -> String {
    let name: String = unit.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
    format!("{DIRECTORY}/approved/{name}")
}
