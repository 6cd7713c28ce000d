//! Branches that are gone: a lane's own, or the base. What is recorded as done is never continued on an empty branch.

use piton_model::fleet::LaneAt;
use piton_model::hint::verbs;
use piton_model::{Dialect, Hint, StepState};
use piton_supervisor::{Head, KeeperProgram, Repository, Sight, Worker, quoted};

use super::lead::Lead;
use super::memory::SavedState;
use super::{RunError, failed};

impl Lead<'_> {
    /// Remembers where the branch of a lane is: its user may remove it.
    pub(super) fn note_tip(&mut self, at: LaneAt) {
        let name = self.work.fleet.lanes[at].name.clone();
        let branch = self.memory.lane(&name).branch.clone();
        let (Some(repository), Some(branch)) = (self.repository.clone(), branch) else { return };
        self.reattach(at, &repository, &branch);
        if let Ok(Some(tip)) = repository.tip(&branch) {
            self.memory.lane(&name).tip = Some(tip);
        }
    }

    /// Puts the worktree of a lane without a worker back on the lane's branch. What a worker committed under another name, or on
    /// a detached HEAD, is its work.
    fn reattach(&mut self, at: LaneAt, repository: &Repository, branch: &str) {
        let tree = self.worktree_of(at).map(|tree| self.workspace.root().join(tree)).filter(|tree| tree.is_dir());
        let Some(tree) = tree.filter(|_| !self.is_at_work(at)) else { return };
        // Where it is not possible, the commits are looked for before the merge.
        if let Ok(Some(was)) = repository.reattach(&tree, branch) {
            let text = format!("its worker left its worktree on {was}; it is on {branch} again, with these commits");
            self.tell_lane(at, "branch", &text);
        }
    }

    /// Whether the last worker of a lane is known to run.
    fn is_at_work(&self, at: LaneAt) -> bool {
        let home = self.memory.lanes.get(&self.work.fleet.lanes[at].name).and_then(|known| known.home.as_ref());
        let worker =
            home.and_then(|home| Worker::adopt(&KeeperProgram::this(), &self.workspace.root().join(home)).ok());
        worker.is_some_and(|worker| matches!(worker.sight(), Ok(Sight::Running)))
    }

    /// The same for all lanes that an earlier lead left, since others may have committed to their branches.
    pub(super) fn note_tips(&mut self) {
        for at in 0..self.work.fleet.lanes.len() {
            let known = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
            if known.is_some_and(|known| known.state != SavedState::Done) {
                self.note_tip(at);
            }
        }
    }

    /// Refuses to make the branch of a lane anew while what is recorded as done is on no other one.
    pub(super) fn check_branch(&mut self, at: LaneAt) -> Result<(), String> {
        let name = self.work.fleet.lanes[at].name.clone();
        let Some(known) = self.memory.lanes.get(&name) else { return Ok(()) };
        let (Some(repository), Some(branch), Some(tip)) = (&self.repository, &known.branch, &known.tip) else {
            return Ok(());
        };
        let tree = known.worktree.as_ref().map(|tree| self.workspace.root().join(tree)).filter(|tree| tree.is_dir());
        // A branch that was renamed in its worktree is there by another name.
        let is_in_tree = tree.is_some_and(|tree| !matches!(repository.head_in(&tree), Ok(Head::Unborn { .. })));
        if is_in_tree || !matches!(repository.tip(branch), Ok(None)) || !self.has_recorded_work(at) {
            return Ok(());
        }
        let (repository, branch, tip) = (repository.clone(), branch.clone(), tip.clone());
        let target = self.target_of(at)?;
        let base = self.memory.run.base.clone().unwrap_or_default();
        let is_on = |place: &str| repository.has_taken(place, &tip).map_err(|error| error.to_string());
        if is_on(&target)? || is_on(&base)? {
            self.tell_lane(at, "branch", &format!("its branch {branch} was merged by hand and removed"));
            return Ok(());
        }
        Err(branch_gone(&branch, Some(&tip), self.begin_again(at).as_ref()))
    }

    /// Whether something that a lane is to do is recorded as done.
    fn has_recorded_work(&self, at: LaneAt) -> bool {
        let own = self.work.lanes[at].step.as_ref();
        let Ok(unit) = self.unit_of(at) else { return false };
        let mut steps = unit.steps.iter().filter(|step| own.is_none_or(|own| step.id == *own));
        steps.any(|step| matches!(step.state, StepState::Done { .. }))
    }

    /// How the unit of a lane is begun again, where the lane is all of it.
    pub(super) fn begin_again(&self, at: LaneAt) -> Option<Hint> {
        let work = &self.work.lanes[at];
        let restart = verbs::RESTART.on(&work.unit_name);
        // Subtasks that are done are given up only on purpose.
        let is_forced = work.dialect == Dialect::Task && self.has_recorded_work(at);
        let restart = if is_forced { restart.flag("--force") } else { restart };
        work.step.is_none().then(|| restart.to("or begin it again from nothing"))
    }

    /// Remembers where the base is.
    pub(super) fn note_base(&mut self) {
        let (Some(repository), Some(base)) = (&self.repository, &self.memory.run.base) else { return };
        if let Ok(Some(tip)) = repository.tip(base) {
            self.memory.base_tips.insert(self.memory.run.number, tip);
        }
    }

    /// The branch that is checked out, in place of a base that is gone, when it has all that the base had: a base that
    /// was merged or squashed, and deleted. Where nothing was begun, there is nothing to have.
    pub(super) fn successor_of(&mut self, repository: &Repository, base: &str) -> Result<String, RunError> {
        let tip = self.memory.base_tips.get(&self.memory.run.number).cloned().or_else(|| self.last_merged(repository));
        let Head::Branch { name, .. } = repository.head().map_err(RunError::Git)? else {
            return Err(failed(base_gone(base, tip.as_deref())));
        };
        let has_all = match &tip {
            Some(tip) => repository.has_taken(&name, tip).map_err(RunError::Git)?,
            None => false,
        };
        let text = match has_all {
            true => format!("{base} is gone, and {name} has what it had; this run merges into {name}"),
            false if !self.has_begun_branches(repository) => {
                format!("{base} is gone, and nothing was begun on it; this run merges into {name}")
            }
            false => return Err(failed(base_gone(base, tip.as_deref()))),
        };
        self.tell(None, "base", &text);
        Ok(name)
    }

    /// The commit by which this run last merged something, as far as its lanes say.
    fn last_merged(&self, repository: &Repository) -> Option<String> {
        let run = self.memory.run.number;
        let own = self.memory.lanes.values().filter(|lane| lane.run == run);
        let merged: Vec<&String> = own.filter_map(|lane| lane.merged.as_ref()).collect();
        let has_all = |last: &&&String| merged.iter().all(|it| repository.is_reachable(it, last).unwrap_or(false));
        merged.iter().find(has_all).map(|last| (*last).clone())
    }

    /// Whether a lane of this run has a branch, which is built on the base.
    fn has_begun_branches(&self, repository: &Repository) -> bool {
        let run = self.memory.run.number;
        let mut branches =
            self.memory.lanes.values().filter(|lane| lane.run == run).filter_map(|it| it.branch.as_ref());
        branches.any(|branch| !matches!(repository.tip(branch), Ok(None)))
    }
}

/// Why a lane is paused whose branch is gone, and what its user can do.
pub(super) fn branch_gone(branch: &str, tip: Option<&str>, again: Option<&Hint>) -> String {
    let back = match tip {
        Some(tip) => format!("is gone and not merged; bring it back with: git branch {} {tip}", quoted(branch)),
        None => "is gone, and no commit of it is known".to_owned(),
    };
    let again = again.map_or_else(String::new, |again| format!("; {again}"));
    format!("its branch {branch} {back}{again}")
}

/// Why a run cannot go on whose base is gone.
pub(super) fn base_gone(base: &str, tip: Option<&str>) -> String {
    let back = match tip {
        Some(tip) => format!("bring it back with: git branch {} {tip}", quoted(base)),
        None => "no commit of it is known; make a branch of that name where the run is to go on".to_owned(),
    };
    format!("the branch {base}, which this run merges into, is gone; {back}")
}
