//! Work of units of which no lead remembers anything: on a branch, in a worktree, or nowhere here. The lead holds such a unit
//! back, and what is said about it before and after a run is judged here too.

use std::path::Path;

use piton_dialect::pipeline::{KnownStory, known_stories, state_path};
use piton_model::fleet::{Lane, LaneState};
use piton_model::hint::verbs;
use piton_model::{Dialect, Hint, Lifecycle, Row, Step, StepState, Time, Unit, UnitRef};
use piton_store::journal::Entry;
use piton_supervisor::{LeftBranch, Repository, left_name, quoted};

use super::lead::Lead;
use super::memory::Memory;
use super::runs::RunRecord;
use super::settings::Settings;
use super::strays::unticked;
use super::trees::{DIRECTORIES, branch_name};
use super::view::LaneView;
use super::work::{LaneWork, read_lanes};
use crate::find::{find_alone, find_recorded};
use crate::{NotFound, Workspace};

/// What a reason says when work of a unit is left where the run did not put it.
pub(super) const NOT_ON_BASE: &str = "has work of it that is not on";

/// Looks for work of units of which no lead remembers anything.
pub(super) struct UnknownWork<'w> {
    pub workspace: &'w Workspace,
    pub memory: &'w Memory,
    pub settings: &'w Settings,
    /// The repository, and the branch that the run merges into.
    pub ground: Option<(&'w Repository, &'w str)>,
    pub now: Time,
}

impl UnknownWork<'_> {
    /// Why a lane is held that was begun, by a lead of which no memory is left, where its work is not merged. What its document
    /// calls done is asked about in every dialect: the document may say so before the merge.
    pub fn holds(&self, lane: &Lane, work: &LaneWork, row: Option<&Row>) -> Option<String> {
        let known = self.memory.lanes.get(&lane.name);
        let is_known = known.is_some_and(|known| known.branch.is_some() || known.origin.attempt > 0);
        let has_begun = match (&work.step, &lane.state) {
            (_, LaneState::Paused { .. }) | (None, LaneState::Queued) => false,
            // The state of a lane may ask for more than its step, such as a gate.
            (Some(step), _) => self.unit_of(work).is_some_and(|unit| is_done(&unit, step)),
            (None, _) => row.is_some(),
        };
        if is_known || !has_begun {
            return None;
        }
        self.left(work)
    }

    /// Where work of a lane is that is not on the base, and what to do about it.
    fn left(&self, work: &LaneWork) -> Option<String> {
        // A unit that a person restarted leaves its old branch behind, on purpose.
        if self.events_of(work).iter().any(|entry| entry.event == "restarted") {
            return None;
        }
        let left = self.left_on_branches(work).or_else(|| self.left_by_namesake(work));
        let elsewhere = || self.left_in_worktree(work).or_else(|| self.done_nowhere(work));
        left.or_else(|| elsewhere().map(|hint| hint.to_string()))
    }

    /// Why a lane is held: its work is on a branch of an earlier lead.
    fn left_on_branches(&self, work: &LaneWork) -> Option<String> {
        let (repository, base) = self.ground?;
        let name = branch_name(work);
        let left = |directory: &&str| repository.left_branches(&name.replacen(DIRECTORIES[0], directory, 1), base);
        let left = DIRECTORIES.iter().find_map(|directory| left(directory).ok()?.into_iter().next())?;
        let LeftBranch { name, is_fetched } = &left;
        let trees = repository.worktrees().unwrap_or_default();
        let tree = trees.iter().find(|tree| !is_fetched && tree.branch.as_ref() == Some(name));
        let tree = tree.map(|tree| format!("git worktree remove --force {} && ", quoted(&tree.path.to_string_lossy())));
        let (word, tree, remote) = (quoted(name), tree.unwrap_or_default(), if *is_fetched { "-r " } else { "" });
        Some(format!(
            "the branch {name} {NOT_ON_BASE} {base}, and no lead remembers it; merge it with: git merge {word}; \
             or remove it with: {tree}git branch -D {remote}{word}"
        ))
    }

    /// The same for a step of a unit that was renamed since: its work is on the branch of the step of the old name.
    fn left_by_namesake(&self, work: &LaneWork) -> Option<String> {
        let (repository, base) = self.ground?;
        let step = work.step.as_ref()?;
        let is_namesake = |name: &str| {
            let unit = name.strip_suffix(step.as_str()).and_then(|unit| unit.strip_suffix(' '));
            let unit =
                unit.and_then(|unit| UnitRef::parse(unit).ok()).filter(|unit| unit.dialect == Some(work.dialect));
            unit.is_some_and(|unit| {
                matches!(find_recorded(self.workspace, &unit, self.now), Err(NotFound::Nothing { .. }))
            })
        };
        let document = self.unit_of(work)?.documents.first()?.path.to_string();
        let text = self.workspace.read_text(&document).ok().flatten()?;
        let mut lanes = self.memory.lanes.iter().filter(|(_, known)| known.merged.is_none());
        let branch = lanes.find_map(|(name, known)| {
            let branch = known.branch.as_ref().filter(|_| is_namesake(name))?;
            repository.tip(branch).ok().flatten()?;
            // Its text is that of the unit which had the old name.
            let named = repository.files_named(branch, "plan.md").ok()?;
            named.iter().find(|known| unticked(known) == unticked(&text))?;
            repository.adds_to(&format!("refs/heads/{branch}"), base).ok()?.then_some(branch)
        })?;
        let word = quoted(branch);
        Some(format!(
            "the branch {branch} has work of it, from before it was renamed, that is not on {base}; merge it with: \
             git merge {word}; or leave it on another branch: git branch -m {word} {}",
            quoted(&left_name(branch))
        ))
    }

    /// Why a story that another lead began is held: its worktree has commits that are not on the base, and its checkpoint
    /// has tasks as done.
    fn left_in_worktree(&self, work: &LaneWork) -> Option<Hint> {
        let (repository, base) = self.ground?;
        let is_done = |step: &Step| matches!(step.state, StepState::Done { .. });
        let unit = self.unit_of(work).filter(|unit| unit.state.lifecycle() != Lifecycle::Done)?;
        if work.dialect != Dialect::Pipeline || !unit.steps.iter().any(is_done) {
            return None;
        }
        let own = format!(".worktrees/story-{}", work.id);
        let named = self.known_story(work).and_then(|known| known.worktree).into_iter().chain([own]);
        let root = self.workspace.root();
        let places: Vec<_> = named.filter_map(|path| root.join(path).canonicalize().ok()).collect();
        let trees = repository.worktrees().ok()?;
        let has_changes = |tree: &Path| has_changes(repository, base, tree);
        let tree = trees.iter().find(|tree| {
            let is_named = tree.path.canonicalize().is_ok_and(|path| places.contains(&path));
            is_named && (repository.adds_to(&tree.head, base).unwrap_or(false) || has_changes(&tree.path))
        })?;
        let path = tree.path.strip_prefix(root).unwrap_or(&tree.path).display().to_string();
        let restart = verbs::RESTART.on(&work.unit_name);
        if has_changes(&tree.path) {
            let (place, name) = (quoted(&path), quoted(tree.branch.as_ref().unwrap_or(&tree.head)));
            return Some(restart.to(format!(
                "{path} {NOT_ON_BASE} {base} and is not committed, and another lead began it; take it up with: git -C {place} \
                 add -A && git -C {place} commit -m 'work of {}' && git merge {name}; or begin the story again",
                work.id
            )));
        }
        let (what, name) = match &tree.branch {
            Some(branch) => (format!("the branch {branch} in {path}"), branch),
            None => (format!("the commit {} in {path}", tree.head), &tree.head),
        };
        Some(restart.to(format!(
            "{what} {NOT_ON_BASE} {base}, and another lead began it; merge it with: git merge {}; \
             or begin the story again",
            quoted(name)
        )))
    }

    pub(super) fn unit_of(&self, work: &LaneWork) -> Option<Unit> {
        find_alone(self.workspace, &work.unit, self.now)
    }

    pub(super) fn events_of(&self, work: &LaneWork) -> Vec<Entry> {
        crate::log(self.workspace, &work.unit, self.now).map(|log| log.log.events).unwrap_or_default()
    }

    pub(super) fn known_story(&self, work: &LaneWork) -> Option<KnownStory> {
        known_story(self.workspace, work)
    }
}

/// Whether a unit has a step as done.
pub(super) fn is_done(unit: &Unit, step: &str) -> bool {
    unit.steps.iter().any(|known| known.id == step && matches!(known.state, StepState::Done { .. }))
}

/// What an earlier lead wrote down about a story.
pub(super) fn known_story(workspace: &Workspace, work: &LaneWork) -> Option<KnownStory> {
    let content = workspace.disk.read(&state_path()).ok().filter(|_| work.dialect == Dialect::Pipeline)?;
    known_stories(&content.bytes).into_iter().find(|known| known.id == work.id)
}

/// Whether a worktree has files that are not committed.
pub(super) fn has_changes(repository: &Repository, base: &str, tree: &Path) -> bool {
    repository.state(tree, &format!("refs/heads/{base}")).is_ok_and(|state| !state.changed.is_empty())
}

impl Lead<'_> {
    /// Where the work of a unit is that the run continues without, in words; nothing where it has none.
    pub(super) fn left_behind(&self, unit: &str) -> String {
        let (known, base) = (self.memory.lanes.get(unit), self.memory.run.base.as_ref());
        let (Some(repository), Some(known), Some(base)) = (&self.repository, known, base) else { return String::new() };
        let tree = known.worktree.as_ref().map(|tree| (tree, self.workspace.root().join(tree)));
        let adds = |branch: &&String| repository.adds_to(&format!("refs/heads/{branch}"), base).unwrap_or(false);
        let branch = known.branch.as_ref().filter(adds).map(|branch| format!("on the branch {branch}"));
        let changed = tree.filter(|(_, path)| has_changes(repository, base, path));
        let changed = changed.map(|(tree, _)| format!("in {tree}, not committed"));
        let places: Vec<String> = branch.into_iter().chain(changed).collect();
        if places.is_empty() { String::new() } else { format!("; its work is {}", places.join(" and ")) }
    }
}

/// The repository of a workspace, and the branch that a run merges into, or would; nothing when git is not used or cannot
/// tell.
pub(super) fn ground_of(
    workspace: &Workspace,
    settings: &Settings,
    memory: &Memory,
    run: Option<&RunRecord>,
) -> Option<(Repository, String)> {
    let repository = Repository::find(workspace.root()).ok().flatten().filter(|_| settings.worktrees)?;
    let base = match run.and_then(|run| memory.bases.get(&run.number)) {
        Some(base) => repository.renamed(base).ok()?.unwrap_or_else(|| base.clone()),
        None => repository.base_branch().ok()?,
    };
    Some((repository, base))
}

/// Whether work for which a lead that is gone paused a lane is on the base since. What cannot be told is not. What leads
/// know about units is not asked here: this is a part of it.
pub(super) fn is_on_base(workspace: &Workspace, run: Option<&RunRecord>, lane: &LaneView, now: Time) -> bool {
    let (Ok(settings), Ok(memory)) = (Settings::load(workspace), Memory::load(workspace)) else { return false };
    let Some((repository, base)) = ground_of(workspace, &settings, &memory, run) else { return false };
    let unknown =
        UnknownWork { workspace, memory: &memory, settings: &settings, ground: Some((&repository, &base)), now };
    let is_there = UnitRef::parse(&lane.unit).is_ok_and(|unit| find_alone(workspace, &unit, now).is_some());
    let lanes = if is_there { read_lanes(workspace, &settings, &lane.unit, now) } else { Vec::new() };
    lanes.iter().find(|(name, _)| *name == lane.name).is_some_and(|(_, work)| unknown.left(work).is_none())
}
