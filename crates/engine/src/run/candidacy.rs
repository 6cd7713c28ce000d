//! A merge is worked out beside the lead's loop: what is on the branch, a tree with both sides, and the move of the target.

use std::path::{Path, PathBuf};

use piton_model::fleet::{LaneAt, MergeResult, Prepared};
use piton_model::{Hint, Rework};
use piton_supervisor::{
    Advanced, Candidate, Dropped, GitError, Head, Merging, Prepared as Merge, Repository, Scratch, Statistics, quoted,
};

use super::gone::branch_gone;
use super::trees::SCRATCH;

/// How many files of a branch are named.
const MOST_FILES: usize = 20;

/// What was worked out about a merge.
pub(super) struct Candidacy {
    pub result: Result<Merged, Prepared>,
    pub git: Option<Statistics>,
}

/// A tree that has both sides.
#[derive(Debug, Clone)]
pub(super) struct Merged {
    /// What the target becomes; nothing when it has all of it already.
    pub candidate: Option<Candidate>,
    /// Where gates run.
    pub directory: PathBuf,
    /// The worktree around that, which holds what is judged and nothing else.
    pub scratch: Option<Scratch>,
    /// Files of its own gates that the branch changes and no person approved: gates run with the base's version of them.
    pub own_gates: Vec<String>,
    pub branch_commit: Option<String>,
}

/// Everything that a merge is worked out from, without the lead.
pub(super) struct Question {
    pub repository: Repository,
    pub target: String,
    /// The branch that all work reaches in the end.
    pub base: String,
    pub branch: String,
    pub message: String,
    /// The lane's worktree, when it is there.
    pub tree: Option<PathBuf>,
    /// Files that the lane names as its results.
    pub outputs: Vec<String>,
    /// Documents of the unit, which are Piton's to write.
    pub documents: Vec<String>,
    /// Commands and files that judge the work.
    pub judges: Vec<String>,
    /// Files that the unit's specification lists as results.
    pub results: Vec<String>,
    /// Where the branch was when it was last seen.
    pub seen: Option<String>,
    /// How its unit is begun again.
    pub begin_again: Option<Hint>,
    /// New files that who only judged the work left in the worktree.
    pub leftovers: Vec<String>,
    /// Commits whose changes of what judges them a person approved: the lane's own, or those of a phase's lanes.
    pub approved: Vec<String>,
    /// The lanes that the branch has collected, each with a commit that has its work.
    pub collected: Vec<(LaneAt, String)>,
    /// Whether it is a phase's collected work.
    pub is_phase: bool,
    /// Whether the user wants back what was taken off the target.
    pub brings_back: bool,
    /// Whether work without a commit is no work: a story's.
    pub needs_commit: bool,
    /// Whether gates need a scratch worktree.
    pub is_judged: bool,
    pub root: PathBuf,
}

impl Question {
    pub(super) fn answer(&self) -> Candidacy {
        let mut git = None;
        let result = match self.check_tree(&mut git) {
            Ok(None) => self.prepare().unwrap_or_else(|error| Err(refused(&error))),
            Ok(Some(rework)) => Err(Prepared::Rework(rework)),
            Err(error) => Err(refused(&error)),
        };
        Candidacy { result, git }
    }

    /// Looks at the worktree: what is not committed or not on the branch would be lost with it.
    fn check_tree(&self, git: &mut Option<Statistics>) -> Result<Option<Rework>, GitError> {
        let Some(tree) = &self.tree else { return self.check_commits() };
        let state = self.repository.state(tree, &format!("refs/heads/{}", self.target))?;
        let inside = self.repository.inside();
        let is_document =
            |path: &String| self.documents.iter().any(|document| inside.join(document) == Path::new(path));
        let changed = state.changed.iter().filter(|path| !is_document(path) && !self.leftovers.contains(path));
        let mut files: Vec<String> = changed.cloned().collect();
        files.extend(state.under_way.map(|what| format!("{what} that is under way")));
        files.extend(state.holds.clone());
        if !files.is_empty() {
            return Ok(Some(Rework::Uncommitted { files }));
        }
        if self.repository.tip(&self.branch)?.is_none() && !(self.is_merged_by_hand()? && self.is_taken(tree)?) {
            self.name_again(tree)?;
        }
        if self.repository.tip(&self.branch)?.is_some()
            && let Some(rework) = on_other_branch(&self.repository, tree, &self.branch)?
        {
            return Ok(Some(rework));
        }
        let below = tree.join(inside);
        let is_only_here = |path: &String| below.join(path).exists() && !self.root.join(path).exists();
        let ignored = self.repository.ignored(&below, &self.outputs)?;
        let ignored: Vec<String> = ignored.into_iter().filter(is_only_here).collect();
        if !ignored.is_empty() {
            return Ok(Some(Rework::Ignored { files: ignored }));
        }
        if let Some(rework) = self.check_commits()? {
            return Ok(Some(rework));
        }
        let embedded = self.repository.embedded(&self.branch, &self.target)?;
        if !embedded.is_empty() {
            let named = |path: &String| format!("the files of {path}, which is a repository of its own");
            return Ok(Some(Rework::Uncommitted { files: embedded.iter().map(named).collect() }));
        }
        let unpublished = self.repository.unpublished(tree, &self.branch, &self.target)?;
        if !unpublished.is_empty() {
            let named =
                |path: &String| format!("the commit of the submodule {path}, which is on no remote branch of it");
            return Ok(Some(Rework::Uncommitted { files: unpublished.iter().map(named).collect() }));
        }
        if state.ahead > 0 {
            *git = Some(self.repository.statistics(tree, &format!("refs/heads/{}", self.target))?);
        }
        Ok(None)
    }

    /// Whether the target has what is checked out in the worktree.
    fn is_taken(&self, tree: &Path) -> Result<bool, GitError> {
        match self.repository.head_in(tree)? {
            Head::Branch { commit, .. } | Head::Detached { commit } => self.repository.has_taken(&self.target, &commit),
            Head::Unborn { .. } => Ok(true),
        }
    }

    /// A branch that was renamed in its worktree gets its name back beside the new one.
    fn name_again(&self, tree: &Path) -> Result<(), GitError> {
        match self.repository.head_in(tree)? {
            Head::Branch { commit, .. } => self.repository.create_branch(&self.branch, &commit).map(|_| ()),
            Head::Detached { .. } | Head::Unborn { .. } => Ok(()),
        }
    }

    /// A story without a commit is not done, whatever its worker recorded.
    fn check_commits(&self) -> Result<Option<Rework>, GitError> {
        let is_asked = self.needs_commit && self.repository.tip(&self.branch)?.is_some();
        let documents: Vec<String> =
            self.documents.iter().map(|path| self.repository.inside().join(path).display().to_string()).collect();
        let is_missing = is_asked && !self.repository.has_own_work(&self.branch, &self.target, &documents)?;
        Ok(is_missing.then(|| Rework::NoCommit { branch: self.branch.clone() }))
    }

    /// Whether a person merged the branch, and then removed it.
    fn is_merged_by_hand(&self) -> Result<bool, GitError> {
        match &self.seen {
            Some(seen) => {
                let is_on = |branch: &str| self.repository.has_taken(branch, seen);
                Ok(is_on(&self.target)? || is_on(&self.base)?)
            }
            None => Ok(false),
        }
    }

    fn built_on(&self, dropped: &str) -> String {
        let short: String = dropped.chars().take(9).collect();
        let (target, branch) = (&self.target, &self.branch);
        let way = self.tree.as_ref().map(|tree| {
            let tree = quoted(&tree.to_string_lossy());
            format!("; take it out with: git -C {tree} rebase --onto {} {dropped} {}", quoted(target), quoted(branch))
        });
        let way = way.unwrap_or_default();
        format!("{branch} is built on {short}, which was taken off {target}: a merge would bring it back{way}")
    }

    /// Takes a commit off the branch that its user took off the base: an amended one, for instance. Says what follows when
    /// the branch cannot be merged yet. Work of the branch itself that the user took off is not brought back unasked.
    fn take_off(&self, dropped: &str) -> Result<Option<Prepared>, GitError> {
        let is_history = self.repository.began_with(&self.branch, dropped)?;
        match &self.tree {
            Some(tree) if is_history && self.repository.rebase(tree, dropped, &self.target, &self.branch)? => Ok(None),
            // The branch of a phase is the lead's own: its lanes are collected on a new one.
            None if self.is_phase => {
                self.repository.set_branch(&self.branch, &self.target)?;
                Ok((!self.collected.is_empty())
                    .then(|| Prepared::Lost { lanes: self.collected.iter().map(|(lane, _)| *lane).collect() }))
            }
            _ => Ok(Some(Prepared::Refused { reason: self.built_on(dropped) })),
        }
    }

    fn prepare(&self) -> Result<Result<Merged, Prepared>, GitError> {
        if !self.brings_back
            && self.repository.tip(&self.branch)?.is_some()
            && let Some(Dropped { commit, comes_back }) =
                self.repository.dropped(&self.branch, &self.target, &self.base)?
        {
            match comes_back {
                true => {
                    if let Some(result) = self.take_off(&commit)? {
                        return Ok(Err(result));
                    }
                }
                // An amended message or addition: a rebase that conflicts is no reason not to merge.
                false => {
                    if let Some(tree) = &self.tree
                        && self.repository.began_with(&self.branch, &commit)?
                    {
                        self.repository.rebase(tree, &commit, &self.target, &self.branch)?;
                    }
                }
            }
        }
        let merging = Merging { branch: self.branch.clone(), base: self.target.clone(), message: self.message.clone() };
        let merge = match self.repository.tip(&self.branch)? {
            Some(_) => self.repository.prepare_keeping(&merging, &self.documents)?,
            None if self.is_merged_by_hand()? => Merge::AlreadyMerged,
            None => {
                return Ok(Err(Prepared::Refused {
                    reason: branch_gone(&self.branch, self.seen.as_deref(), self.begin_again.as_ref()),
                }));
            }
        };
        let candidate = match merge {
            Merge::AlreadyMerged => None,
            Merge::Candidate(candidate) => Some(candidate),
            Merge::Conflict { files } => {
                return Ok(Err(Prepared::Rework(Rework::Conflict { base: self.target.clone(), files })));
            }
        };
        let tip = self.repository.tip(&self.target)?.unwrap_or_default();
        let commit = candidate.as_ref().map_or(tip, |candidate| candidate.commit.clone());
        let mut lost = Vec::new();
        for (lane, work) in &self.collected {
            if !self.repository.is_reachable(work, &commit)? {
                lost.push(*lane);
            }
        }
        if !lost.is_empty() {
            return Ok(Err(Prepared::Lost { lanes: lost }));
        }
        let bad = candidate.as_ref().map(|candidate| self.bad_settings(candidate)).transpose()?;
        if let Some(bad) = bad.flatten() {
            return Ok(Err(Prepared::Rework(bad)));
        }
        let own_gates = match &candidate {
            Some(candidate) => self.unapproved(candidate)?,
            None => Vec::new(),
        };
        let scratch = match self.is_judged {
            true => {
                let mut scratch = self.repository.scratch(Path::new(SCRATCH), &commit)?;
                if let Some(candidate) = candidate.as_ref().filter(|_| !own_gates.is_empty()) {
                    self.repository.restore_files(&mut scratch, &candidate.base_commit, &own_gates)?;
                }
                Some(scratch)
            }
            false => None,
        };
        let directory = scratch.as_ref().map_or_else(|| self.root.clone(), |scratch| scratch.directory.clone());
        let branch_commit = candidate.as_ref().map(|candidate| candidate.branch_commit.clone());
        Ok(Ok(Merged { candidate, directory, scratch, own_gates, branch_commit }))
    }
}

/// Whether commits that were made in a lane's worktree are not on its branch.
pub(super) fn on_other_branch(repository: &Repository, tree: &Path, branch: &str) -> Result<Option<Rework>, GitError> {
    let strays = repository.commits_outside(tree, branch)?;
    let branch = branch.to_owned();
    if let Some(stray) = strays.first() {
        let short: String = stray.tip.chars().take(9).collect();
        let found = stray.branch.clone().unwrap_or_else(|| format!("a detached HEAD ({short})"));
        let from = stray.branch.clone().unwrap_or_else(|| stray.tip.clone());
        let files = repository.changed_files(&format!("refs/heads/{branch}"), &stray.tip)?;
        let files = files.into_iter().take(MOST_FILES).collect();
        return Ok(Some(Rework::OtherBranch { found, from, branch, files }));
    }
    Ok(match repository.head_in(tree)? {
        Head::Detached { commit } => {
            let files = Vec::new();
            Some(Rework::OtherBranch { found: "a detached HEAD".to_owned(), from: commit, branch, files })
        }
        Head::Unborn { .. } => {
            let (from, files) = (branch.clone(), Vec::new());
            Some(Rework::OtherBranch { found: "a branch without commits".to_owned(), from, branch, files })
        }
        Head::Branch { .. } => None,
    })
}

fn refused(error: &GitError) -> Prepared {
    let reason = match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    };
    Prepared::Refused { reason }
}

/// Moves a target to a judged commit, and proves that the work is reachable from it.
pub(super) fn advance(repository: &Repository, candidate: &Candidate, is_base: bool) -> MergeResult {
    let blocked = |error: GitError| MergeResult::Blocked { reason: error.to_string() };
    match repository.advance(candidate) {
        Ok(Advanced::Moved) => {
            let target = format!("refs/heads/{}", candidate.base_branch);
            match repository.is_reachable(&candidate.branch_commit, &target) {
                Ok(true) => MergeResult::Merged,
                Ok(false) => MergeResult::TargetMoved,
                Err(error) => blocked(error),
            }
        }
        Ok(Advanced::BaseMoved { now: Some(_) }) => MergeResult::TargetMoved,
        // A branch on which a phase is collected is the lead's own: it is made again.
        Ok(Advanced::BaseMoved { now: None }) if !is_base => MergeResult::TargetMoved,
        Ok(Advanced::BaseMoved { now: None }) => {
            let (branch, commit) = (&candidate.base_branch, &candidate.base_commit);
            let back = format!("git branch {} {commit}", quoted(branch));
            MergeResult::Blocked { reason: format!("the branch {branch} is gone; bring it back with: {back}") }
        }
        Ok(Advanced::Blocked { reason, files }) if files.is_empty() => MergeResult::Blocked { reason },
        Ok(Advanced::Blocked { reason, files }) => {
            MergeResult::Blocked { reason: format!("{reason}: {}", files.join(", ")) }
        }
        Err(error) => blocked(error),
    }
}
