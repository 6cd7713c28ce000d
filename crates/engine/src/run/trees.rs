//! The git worktree of each lane: made when it starts, merged back when it is done, removed when nothing is lost thereby.

use piton_model::Dialect;
use piton_model::fleet::{FleetEvent, LaneAt};
use piton_supervisor::{Advanced, Creation, GitError, Merging, NewWorktree, Prepared, Removal, Repository};

use super::RunError;
use super::lead::Lead;

/// How often a merge is prepared again because the base has moved.
const MOST_MOVES: u32 = 10;

impl Lead<'_> {
    /// Finds the repository; without one every lane works in the workspace itself.
    pub(super) fn open_repository(&mut self) -> Result<(), RunError> {
        if !self.settings.worktrees {
            return Ok(());
        }
        let Some(repository) = Repository::find(self.workspace.root()).map_err(RunError::Git)? else {
            self.tell(None, "no_repository", "this is no git repository: all workers share the workspace");
            return Ok(());
        };
        if self.memory.base.is_none() {
            self.memory.base = Some(repository.base_branch().map_err(RunError::Git)?);
        }
        self.repository = Some(repository);
        Ok(())
    }

    pub(super) fn ensure_worktree(&mut self, at: LaneAt) -> Result<(), String> {
        let (Some(repository), Some(base)) = (&self.repository, self.memory.base.clone()) else { return Ok(()) };
        let work = &self.work.lanes[at];
        let name = match work.dialect {
            Dialect::Pipeline => format!("story-{}", work.id),
            Dialect::Plan | Dialect::Build | Dialect::Task | Dialect::Crew => format!("{}-{}", work.dialect, work.id),
        };
        let path = format!(".worktrees/{name}");
        let branch = match slug(work.title.as_deref().unwrap_or_default()) {
            slug if slug.is_empty() => format!("feature/{}", work.id),
            slug => format!("feature/{}-{slug}", work.id),
        };
        let lane = self.work.fleet.lanes[at].name.clone();
        // A branch that it has had stays, whatever became of its title.
        let known = self.memory.lane(&lane).branch.clone();
        let is_known = known.is_some();
        let branch = known.unwrap_or(branch);
        let wanted = NewWorktree { path: path.clone().into(), branch, base, is_known };
        let created =
            match repository.create(&wanted).map_err(|error| format!("its worktree cannot be made: {error}"))? {
                Creation::Ready(created) => created,
                Creation::Exists(existing) => {
                    return Err(format!(
                        "its worktree cannot be made: the branch {} is there already, and this run did not make it",
                        existing.branch
                    ));
                }
            };
        let memory = self.memory.lane(&lane);
        let directory = std::path::Path::new(&path).join(repository.inside());
        (memory.worktree, memory.branch) = (Some(directory.display().to_string()), Some(created.branch));
        Ok(())
    }

    /// Merges a lane's work back. What cannot be merged changes nothing, and is a reason to pause.
    pub(super) fn merge(&mut self, at: LaneAt) -> Result<(), RunError> {
        let result = self.try_merge(at);
        if let Err(why) = &result {
            self.tell_lane(at, "not_merged", why);
        }
        self.save()?;
        self.queue.push_back(FleetEvent::MergeEnded { lane: at, result });
        Ok(())
    }

    fn try_merge(&mut self, at: LaneAt) -> Result<(), String> {
        let name = self.work.fleet.lanes[at].name.clone();
        let memory = self.memory.lane(&name).clone();
        let (Some(repository), Some(base)) = (self.repository.clone(), self.memory.base.clone()) else { return Ok(()) };
        let (Some(tree), Some(branch)) = (memory.worktree, memory.branch) else { return Ok(()) };
        let path = self.workspace.root().join(&tree);
        if path.exists() {
            let state = repository.state(&path, &base).map_err(|error| error.to_string())?;
            if !state.is_clean() {
                let files: Vec<_> = state.changed.iter().take(5).cloned().collect();
                let what = if files.is_empty() { state.holds.join(", ") } else { files.join(", ") };
                return Err(format!(
                    "{tree} holds what is not committed: {what}; commit it there, then piton run --retry"
                ));
            }
            if state.ahead > 0 {
                let git = repository.statistics(&path, &base).map_err(|error| error.to_string())?;
                self.memory.lane(&name).git = Some(git);
            }
        }
        let title = self.work.lanes[at].title.clone().map_or_else(String::new, |title| format!(": {title}"));
        let merging = Merging { branch: branch.clone(), base: base.clone(), message: format!("Merge {name}{title}") };
        self.merge_into(at, &repository, &merging, &tree)
    }

    /// Merges, and again when the base has moved meanwhile.
    fn merge_into(&mut self, at: LaneAt, repository: &Repository, merging: &Merging, tree: &str) -> Result<(), String> {
        let Merging { branch, base, .. } = merging;
        let words = |error: GitError| error.to_string();
        for _ in 0..MOST_MOVES {
            let candidate = match repository.prepare(merging).map_err(words)? {
                Prepared::AlreadyMerged => return Ok(()),
                Prepared::Candidate(candidate) => candidate,
                Prepared::Conflict { files } => {
                    return Err(format!(
                        "{branch} conflicts with {base} in {}; merge {base} into it in {tree}, then piton run --retry",
                        files.join(", ")
                    ));
                }
            };
            match repository.advance(&candidate).map_err(words)? {
                Advanced::Moved => {
                    let short: String = candidate.commit.chars().take(9).collect();
                    self.tell_lane(at, "merged", &format!("merged into {base} as {short}"));
                    return Ok(());
                }
                Advanced::BaseMoved { .. } => {}
                Advanced::Blocked { reason, files } => {
                    let files = if files.is_empty() { String::new() } else { format!(": {}", files.join(", ")) };
                    return Err(format!(
                        "{branch} cannot be merged into {base}: {reason}{files}; then piton run --retry"
                    ));
                }
            }
        }
        Err(format!("{branch} cannot be merged into {base}, which moves all the time; then piton run --retry"))
    }

    /// Removes a worktree that holds nothing that is not merged; any other stays where it is.
    pub(super) fn remove_worktree(&mut self, at: LaneAt) {
        let name = self.work.fleet.lanes[at].name.clone();
        let Some(tree) = self.memory.lane(&name).worktree.clone() else { return };
        let (Some(repository), Some(base)) = (self.repository.clone(), self.memory.base.clone()) else { return };
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

/// A title as part of a branch's name.
fn slug(title: &str) -> String {
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
