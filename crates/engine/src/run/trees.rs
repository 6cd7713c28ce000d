//! The git worktree of each lane, and the branches that its work reaches the base by.

use std::path::PathBuf;

use piton_model::Dialect;
use piton_model::fleet::LaneAt;
use piton_supervisor::{
    Created, Creation, GitError, Head, Merging, NewWorktree, Prepared as Merge, Removal, Repository,
};

use super::RunError;
use super::gone::base_gone;
use super::lead::Lead;
use super::work::LaneWork;

/// Where gates judge what is to be merged. One lead, one merge at a time: one place.
pub(super) const SCRATCH: &str = ".worktrees/piton-merge";

/// Below which of these the branches of lanes are made: the first one that is no branch itself.
pub(super) const DIRECTORIES: [&str; 2] = ["feature", "piton"];

/// How many names are tried for a branch before a person is asked.
const MOST_NAMES: usize = 50;

impl Lead<'_> {
    /// Finds the repository. Only a workspace that has none may run without git.
    pub(super) fn open_repository(&mut self) -> Result<(), RunError> {
        if !self.settings.worktrees {
            return Ok(());
        }
        let Some(repository) = Repository::find(self.workspace.root()).map_err(RunError::Git)? else {
            self.tell(None, "no_repository", "no git repository here: all workers share the workspace");
            return Ok(());
        };
        repository.ignore_temporary_files().map_err(RunError::Git)?;
        for tree in repository.repair().map_err(RunError::Git)? {
            let words = format!("{} was moved together with its repository: its link is repaired", tree.display());
            self.tell(None, "repaired", &words);
        }
        for tree in repository.recover().map_err(RunError::Git)? {
            let words = format!("{} is in order again: a merge was interrupted there", tree.display());
            self.tell(None, "recovered", &words);
        }
        let base = match self.memory.run.base.clone() {
            Some(base) => self.renamed_base(&repository, base)?,
            None => repository.base_branch().map_err(RunError::Git)?,
        };
        let base = match repository.tip(&base).map_err(RunError::Git)? {
            Some(_) => base,
            None => self.successor_of(&repository, &base)?,
        };
        if let Head::Branch { name, .. } = repository.head().map_err(RunError::Git)?
            && name != base
        {
            self.tell(None, "base", &format!("this run merges into {base}; {name} is checked out here"));
        }
        self.memory.bases.insert(self.memory.run.number, base.clone());
        self.memory.run.base = Some(base);
        self.repository = Some(repository);
        self.note_base();
        Ok(())
    }

    /// The branch that a run merges into, by the name that it has now.
    fn renamed_base(&mut self, repository: &Repository, base: String) -> Result<String, RunError> {
        let Some(renamed) = repository.renamed(&base).map_err(RunError::Git)? else { return Ok(base) };
        self.tell(None, "base", &format!("{base} was renamed to {renamed}: this run merges into it from now on"));
        Ok(renamed)
    }

    /// The directory that a lane works in.
    pub(super) fn directory_of(&self, at: LaneAt) -> PathBuf {
        let root = self.workspace.root();
        match (self.worktree_of(at), &self.repository) {
            (Some(tree), Some(repository)) => root.join(tree).join(repository.inside()),
            _ => root.to_owned(),
        }
    }

    /// Removes locks that a killed worker's git left in the lane's worktree: the next worker could not commit.
    pub(super) fn free_locks(&self, at: LaneAt) -> Result<(), String> {
        match (&self.repository, self.worktree_of(at)) {
            (Some(repository), Some(tree)) => {
                repository.free_locks(&self.workspace.root().join(tree)).map_err(|error| error.to_string())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn worktree_of(&self, at: LaneAt) -> Option<String> {
        self.memory.lanes.get(&self.work.fleet.lanes[at].name)?.worktree.clone()
    }

    /// Where the workspace is in a lane's worktree: the workspace may be below the repository's root.
    pub(super) fn workspace_in_tree(&self, at: LaneAt) -> Option<String> {
        let tree = self.worktree_of(at)?;
        let inside = self.repository.as_ref().map(|repository| repository.inside().display().to_string());
        Some(match inside.filter(|inside| !inside.is_empty()) {
            Some(inside) => format!("{tree}/{inside}"),
            None => tree,
        })
    }

    /// Makes the lane's worktree, or takes the one that is there. Says whether it is new.
    pub(super) fn ensure_worktree(&mut self, at: LaneAt) -> Result<bool, String> {
        if self.repository.is_none() {
            return Ok(false);
        }
        let target = self.target_of(at)?;
        self.bring_base_into(&target);
        let work = &self.work.lanes[at];
        let place = match work.dialect {
            Dialect::Pipeline => format!(".worktrees/story-{}", work.id),
            Dialect::Plan | Dialect::Build | Dialect::Task | Dialect::Crew => {
                format!(".worktrees/{}-{}", work.dialect, work.id)
            }
        };
        let name = branch_name(work);
        let lane = self.work.fleet.lanes[at].name.clone();
        self.forget_lost_branch(at)?;
        self.check_branch(at)?;
        let memory = self.memory.lane(&lane);
        let known = memory.branch.clone().map(|branch| (memory.worktree.clone().unwrap_or(place.clone()), branch));
        let created = match known {
            // A branch that it has had stays, whatever became of its title. When all of it is merged, the work begins with
            // what the target has now.
            Some((path, branch)) => {
                self.bring_forward(at, &path, &branch, &target).map_err(|error| explain(&error))?;
                self.create_worktree(&path, &branch, &target)?
            }
            None => self.create_new(at, &place, &name, &target)?,
        };
        let root = self.workspace.root();
        let path = created.path.strip_prefix(root).unwrap_or(&created.path).display().to_string();
        let is_new = !created.was_there;
        let memory = self.memory.lane(&lane);
        memory.is_set_up &= !is_new;
        (memory.worktree, memory.branch) = (Some(path), Some(created.branch));
        self.note_tip(at);
        Ok(is_new)
    }

    /// Merges what the base has got into the branch on which a phase is collected, before a worker of the phase starts: what
    /// its user committed there may be what the worker before lacked. Where that conflicts, the phase's own merge says so.
    fn bring_base_into(&self, target: &str) {
        let (Some(repository), Some(base)) = (&self.repository, &self.memory.run.base) else { return };
        if base == target {
            return;
        }
        let merging =
            Merging { branch: base.clone(), base: target.to_owned(), message: format!("Merge {base} into {target}") };
        if let Ok(Merge::Candidate(candidate)) = repository.prepare(&merging) {
            // A branch that moved meanwhile is brought forward before the next worker.
            let _ = repository.advance(&candidate);
        }
    }

    /// Brings a lane's branch forward to its target, as long as it has no commits of its own: what its user committed there may
    /// be what the worker before lacked.
    fn bring_forward(&mut self, at: LaneAt, path: &str, branch: &str, target: &str) -> Result<(), GitError> {
        let Some(repository) = self.repository.clone() else { return Ok(()) };
        let tree = self.workspace.root().join(path);
        let before = repository.tip(branch)?;
        match tree.symlink_metadata() {
            Ok(_) => repository.forward_worktree(&tree, branch, target)?,
            Err(_) => {
                if let Some(tip) = repository.tip(target)? {
                    repository.forward_branch(branch, &tip)?;
                }
            }
        }
        let after = repository.tip(branch)?;
        let memory = self.memory.lane(&self.work.fleet.lanes[at].name);
        // What the lead moved is no commit of a person.
        if before.is_some() && memory.ended == before {
            memory.ended = after;
        }
        Ok(())
    }

    /// Remembers what is committed on the branch of a lane that is not merged.
    pub(super) fn measure(&mut self, at: LaneAt) {
        let (name, target) = (self.work.fleet.lanes[at].name.clone(), self.target_of(at));
        let known = self.memory.lanes.get(&name).filter(|known| known.merged.is_none());
        let tree = known.and_then(|known| known.worktree.as_ref()).map(|tree| self.workspace.root().join(tree));
        let (Some(repository), Some(tree), Ok(target)) = (&self.repository, tree, target) else { return };
        // Without it a report lacks a number, and the pause is what counts.
        let measured = repository.statistics(&tree, &format!("refs/heads/{target}")).ok();
        if let Some(git) = measured.filter(|git| git.commits > 0) {
            self.memory.lane(&name).git = Some(git);
        }
    }

    /// Forgets the branch that a lane was going to make, where another lead made it first: nothing was begun on it here.
    fn forget_lost_branch(&mut self, at: LaneAt) -> Result<(), String> {
        let Some(repository) = self.repository.clone() else { return Ok(()) };
        let root = self.workspace.root().to_owned();
        let name = self.work.fleet.lanes[at].name.clone();
        let memory = self.memory.lane(&name);
        let (Some(branch), Some(tree)) = (&memory.branch, &memory.worktree) else { return Ok(()) };
        if memory.spawned > 0 || root.join(tree).symlink_metadata().is_ok() {
            return Ok(());
        }
        let trees = repository.worktrees().map_err(|error| error.to_string())?;
        if trees.iter().any(|each| each.is_there && each.branch.as_ref() == Some(branch)) {
            (memory.worktree, memory.branch) = (None, None);
        }
        Ok(())
    }

    /// A new worktree on a new branch. A branch of that name that this lane did not make is a person's, or belongs to
    /// another lead or an earlier life of the unit: it is left alone, and another name is taken. The names are remembered
    /// before anything is made, so that the next lead knows what it finds.
    fn create_new(&mut self, at: LaneAt, place: &str, name: &str, target: &str) -> Result<Created, String> {
        let Some(repository) = self.repository.clone() else { return Err("there is no repository".to_owned()) };
        let root = self.workspace.root().to_owned();
        let lane = self.work.fleet.lanes[at].name.clone();
        let wanted = name.replacen(DIRECTORIES[0], free_directory(&repository)?, 1);
        let mut taken = None;
        for number in 1..=MOST_NAMES {
            let numbered = |text: &str| if number == 1 { text.to_owned() } else { format!("{text}-{number}") };
            let (path, branch) = (numbered(place), numbered(&wanted));
            let in_the_way = repository.in_the_way_of(&branch).map_err(|error| error.to_string())?;
            let is_occupied = root.join(&path).symlink_metadata().is_ok();
            if in_the_way.is_some() || is_occupied {
                taken.get_or_insert(if in_the_way.is_some() { branch } else { path });
                continue;
            }
            let memory = self.memory.lane(&lane);
            (memory.worktree, memory.branch) = (Some(path.clone()), Some(branch.clone()));
            self.save().map_err(|_| "cannot write the run's memory".to_owned())?;
            let base = format!("refs/heads/{target}");
            let new = NewWorktree { path: path.into(), branch: branch.clone(), base, is_known: false };
            match repository.create_new(&new).map_err(|error| explain(&error))? {
                Creation::Ready(created) => {
                    if let Some(taken) = taken {
                        let text = format!("{taken} is there already; it works on {branch}");
                        self.tell_lane(at, "branch", &text);
                    }
                    return Ok(created);
                }
                // Another lead was faster.
                Creation::Exists(_) => {
                    taken.get_or_insert(branch);
                    let memory = self.memory.lane(&lane);
                    (memory.worktree, memory.branch) = (None, None);
                }
            }
        }
        Err(format!("{wanted} and {MOST_NAMES} names like it are taken"))
    }

    fn create_worktree(&self, path: &str, branch: &str, target: &str) -> Result<Created, String> {
        let Some(repository) = &self.repository else { return Err("there is no repository".to_owned()) };
        let base = format!("refs/heads/{target}");
        let wanted = NewWorktree { path: path.into(), branch: branch.to_owned(), base, is_known: true };
        match repository.create(&wanted).map_err(|error| explain(&error))? {
            Creation::Ready(created) => Ok(created),
            Creation::Exists(existing) => Err(format!("the branch {} is there already", existing.branch)),
        }
    }

    /// The branch that a lane is merged into: the base, or the one on which its phase is collected.
    pub(super) fn target_of(&mut self, at: LaneAt) -> Result<String, String> {
        let lane = &self.work.fleet.lanes[at];
        let (group, phase) = (lane.group, lane.phase);
        let collects = self.work.fleet.groups[group].phases.get(phase).is_some_and(|phase| phase.collects());
        let base = self.memory.run.base.clone().unwrap_or_default();
        if !collects || self.repository.is_none() {
            return Ok(base);
        }
        self.collecting_branch(group, phase)
    }

    /// The branch on which a phase is collected, made at the base when it is not there.
    pub(super) fn collecting_branch(&mut self, group: usize, phase: usize) -> Result<String, String> {
        let name = self.work.fleet.groups[group].name.clone();
        let key = self.work.fleet.groups[group].phase_key(phase);
        let base = self.memory.run.base.clone().unwrap_or_default();
        let Some(repository) = self.repository.clone() else { return Ok(base) };
        let words = |error: GitError| explain(&error);
        let start = repository
            .tip(&base)
            .map_err(words)?
            .ok_or_else(|| base_gone(&base, self.memory.base_tips.get(&self.memory.run.number).map(String::as_str)))?;
        let known = self.memory.groups.get(&name).and_then(|group| group.branches.get(&key)).cloned();
        if let Some(known) = known {
            if repository.tip(&known).map_err(words)?.is_none() {
                // A lead that was killed had chosen the name, and did not come to make it.
                repository.create_branch(&known, &start).map_err(words)?;
            }
            // As long as nothing is collected, work is judged with all that the base has got since.
            repository.forward_branch(&known, &start).map_err(words)?;
            return Ok(known);
        }
        let plain = format!("piton/{}-phase-{}", slug(&name), phase + 1);
        for number in 1..=MOST_NAMES {
            let branch = if number == 1 { plain.clone() } else { format!("{plain}-{number}") };
            if repository.tip(&branch).map_err(words)?.is_some() {
                continue;
            }
            let memory = self.memory.groups.entry(name.clone()).or_default();
            memory.branches.insert(key.clone(), branch.clone());
            self.save().map_err(|_| "cannot write the run's memory".to_owned())?;
            if repository.create_branch(&branch, &start).map_err(words)? {
                return Ok(branch);
            }
        }
        Err(format!("{plain} and {MOST_NAMES} names like it are taken"))
    }

    /// Removes a worktree that holds nothing that is not merged; any other stays where it is.
    pub(super) fn remove_worktree(&mut self, at: LaneAt) {
        let name = self.work.fleet.lanes[at].name.clone();
        let Some(tree) = self.worktree_of(at) else { return };
        let (Some(repository), Some(base)) = (self.repository.clone(), self.memory.run.base.clone()) else { return };
        let path = self.workspace.root().join(&tree);
        if !self.settings.removes_worktrees || !path.exists() {
            return;
        }
        let why = match repository.remove(&path, &base, self.time().unix_seconds()) {
            Ok(Removal::Removed { .. }) => {
                self.memory.lane(&name).worktree = None;
                return;
            }
            Ok(Removal::Kept(kept)) => kept.reasons.join("; "),
            Err(error) => error.to_string(),
        };
        self.tell_lane(at, "kept", &format!("{tree} stays: {why}"));
    }
}

/// The branch that a lane works on, unless the name is taken.
pub(super) fn branch_name(work: &LaneWork) -> String {
    match slug(work.title.as_deref().unwrap_or_default()) {
        slug if slug.is_empty() => format!("feature/{}", work.id),
        slug => format!("feature/{}-{slug}", work.id),
    }
}

/// The directory of branches in which a lane's branch can be made: a branch that is called `feature` takes the name.
fn free_directory(repository: &Repository) -> Result<&'static str, String> {
    for directory in DIRECTORIES {
        if repository.tip(directory).map_err(|error| error.to_string())?.is_none() {
            return Ok(directory);
        }
    }
    let rename = "git branch -m feature feature-renamed";
    Err(format!(
        "no branch can be made below `feature` or `piton`, because branches have these names; rename one: {rename}"
    ))
}

/// Why a worktree cannot be made, and what to do about it.
fn explain(error: &GitError) -> String {
    match error.hint() {
        Some(hint) => format!("cannot make its worktree: {error}; {hint}"),
        None => format!("cannot make its worktree: {error}"),
    }
}

/// A title as part of a branch's name.
pub(super) fn slug(title: &str) -> String {
    let mut slug = String::new();
    for letter in title.to_lowercase().chars() {
        match letter {
            'a'..='z' | '0'..='9' => slug.push(letter),
            _ if slug.ends_with('-') || slug.is_empty() => {}
            _ => slug.push('-'),
        }
        if slug.len() >= 40 {
            break;
        }
    }
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::slug;

    #[test]
    fn a_title_becomes_part_of_a_branch() {
        for (title, want) in [
            ("Tell the rider: it's ready!", "tell-the-rider-it-s-ready"),
            ("  ", ""),
            ("../../etc", "etc"),
            ("Größe", "gr-e"),
            (&"x".repeat(80), &"x".repeat(40)),
        ] {
            assert_eq!(slug(title), want);
        }
    }
}
