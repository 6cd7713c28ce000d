//! A lane or a phase reaches its target: both sides in a scratch worktree, judged there, and only then the target moves.

use std::collections::BTreeSet;

use piton_model::fleet::{FleetEvent, LaneAt, LaneState, MergeOf, MergeResult, Prepared};
use piton_model::{Dialect, Rework, StepState};
use piton_supervisor::Repository;

use super::RunError;
use super::candidacy::{Candidacy, Merged, Question, advance};
use super::jobs::JobEnd;
use super::lead::Lead;

impl Lead<'_> {
    /// Works out a merge, beside the loop.
    pub(super) fn prepare_merge(&mut self, of: MergeOf) -> Result<(), RunError> {
        self.merged.remove(&Key::from(of));
        self.restore_documents(of);
        let left_out = self.leave_out(of);
        if left_out == Ok(true) {
            return self.save();
        }
        let question = match left_out.and_then(|_| self.question(of)) {
            Ok(Some(question)) => question,
            // Without a repository everything is where it belongs.
            Ok(None) => {
                let directory = self.workspace.root().to_owned();
                let merged =
                    Merged { candidate: None, directory, scratch: None, own_gates: Vec::new(), branch_commit: None };
                return self.merge_prepared(of, Candidacy { result: Ok(merged), git: None });
            }
            Err(reason) => {
                let result = Err(Prepared::Refused { reason });
                return self.merge_prepared(of, Candidacy { result, git: None });
            }
        };
        self.jobs.run(move || JobEnd::Prepared(of, Box::new(question.answer())))
    }

    fn question(&mut self, of: MergeOf) -> Result<Option<Question>, String> {
        let Some(repository) = self.repository.clone() else { return self.left_on_a_branch(of) };
        let root = self.workspace.root().to_owned();
        let judges = self.judges_of(of);
        let results = self.results_of(of);
        let base = self.memory.run.base.clone().unwrap_or_default();
        match of {
            MergeOf::Lane(at) => {
                let has_gates = !self.gates_of_lane(at).is_empty();
                let target = self.target_of(at)?;
                let name = self.work.fleet.lanes[at].name.clone();
                let memory = self.memory.lane(&name).clone();
                let Some(branch) = memory.branch else { return Ok(None) };
                let seen = repository.tip(&branch).ok().flatten().or(memory.tip).or(memory.seen);
                self.memory.lane(&name).seen.clone_from(&seen);
                let title = self.work.lanes[at].title.clone().map_or_else(String::new, |title| format!(": {title}"));
                let tree = memory.worktree.map(|tree| root.join(tree)).filter(|tree| tree.exists());
                let outputs = self.named_outputs(at);
                let documents = self.kept_files(at);
                let message = format!("Merge {name}{title}");
                // What a person did by hand is where they left it; a restarted story has nothing that anybody did yet.
                let had_worker = [&memory.times, &memory.earlier_times].iter().any(|times| times.contains_key(&2));
                // What was work once is work as long as the branch has it, or its target, in whatever form.
                let is_proved = memory.worked.as_ref().is_some_and(|worked| {
                    memory.worked == seen || repository.has_taken(&target, worked).unwrap_or(false)
                });
                let is_story = self.work.lanes[at].dialect == Dialect::Pipeline;
                // A person who judged the story knows what it lacks.
                let is_unproved = is_story && !is_proved && !self.is_judged_by_person(at);
                let needs_commit = is_unproved && (had_worker || self.is_untouched_since_restart(at));
                Ok(Some(Question {
                    repository,
                    target,
                    base,
                    branch,
                    message,
                    tree,
                    outputs,
                    documents,
                    judges,
                    results,
                    seen,
                    begin_again: self.begin_again(at),
                    leftovers: memory.leftovers,
                    // Approved settings may have gates where those of this lead have none.
                    is_judged: has_gates || memory.approved.is_some(),
                    approved: memory.approved.into_iter().collect(),
                    collected: Vec::new(),
                    is_phase: false,
                    brings_back: memory.brings_back,
                    needs_commit,
                    root,
                }))
            }
            MergeOf::Phase(group, phase) => {
                let branch = self.collecting_branch(group, phase)?;
                let unit = &self.work.fleet.groups[group];
                let message = format!("Merge {} {}", unit.name, unit.phases[phase].name);
                let (tree, outputs) = (None, Vec::new());
                // The phase's branch has them as they were when it began, or as a worker's branch brought them.
                let documents = self.documents_of_phase(group, phase);
                let collected = self.collected_in(group, phase, &repository);
                let approved = self.approved_in(group, phase);
                let is_judged = !unit.phases[phase].gates.is_empty();
                Ok(Some(Question {
                    repository,
                    target: base.clone(),
                    base,
                    branch,
                    message,
                    tree,
                    outputs,
                    documents,
                    judges,
                    results,
                    seen: None,
                    begin_again: None,
                    leftovers: Vec::new(),
                    approved,
                    collected,
                    is_phase: true,
                    brings_back: self.brings_phase_back(group, phase),
                    needs_commit: false,
                    is_judged,
                    root,
                }))
            }
        }
    }

    /// Restores what git put back of the documents that a merge is judged by.
    fn restore_documents(&mut self, of: MergeOf) {
        let first = match of {
            MergeOf::Lane(at) => Some(at),
            MergeOf::Phase(group, _) => self.work.fleet.lanes.iter().position(|lane| lane.group == group),
        };
        first.into_iter().for_each(|at| self.restore_document(at));
    }

    /// The documents of all lanes of a phase.
    fn documents_of_phase(&self, group: usize, phase: usize) -> Vec<String> {
        let lanes = self.work.fleet.lanes.iter().enumerate();
        let lanes = lanes.filter(|(_, lane)| (lane.group, lane.phase) == (group, phase));
        let documents: BTreeSet<String> = lanes.flat_map(|(at, _)| self.kept_files(at)).collect();
        documents.into_iter().collect()
    }

    /// The lanes that were merged into a phase's branch, each with a commit that has its work.
    fn collected_in(&self, group: usize, phase: usize, repository: &Repository) -> Vec<(LaneAt, String)> {
        let lanes = self.work.fleet.lanes.iter().enumerate();
        let lanes =
            lanes.filter(|(_, lane)| (lane.group, lane.phase) == (group, phase) && lane.state == LaneState::Integrated);
        let commit = |name: &str| {
            let known = self.memory.lanes.get(name)?;
            let tip = known.branch.as_ref().and_then(|branch| repository.tip(branch).ok().flatten());
            tip.or_else(|| known.collected.clone())
        };
        lanes.filter_map(|(at, lane)| Some((at, commit(&lane.name)?))).collect()
    }

    /// Without worktrees there is nothing to merge, unless an earlier lead had them.
    fn left_on_a_branch(&self, of: MergeOf) -> Result<Option<Question>, String> {
        let MergeOf::Lane(at) = of else { return Ok(None) };
        let known = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
        match known.filter(|known| known.merged.is_none()).and_then(|known| known.branch.as_deref()) {
            Some(branch) => Err(format!("its work is on the branch {branch}, which is merged with worktrees = true")),
            None => Ok(None),
        }
    }

    /// A merge is worked out: its tree is set up as worktrees are, then its gates may judge it.
    pub(super) fn merge_prepared(&mut self, of: MergeOf, candidacy: Candidacy) -> Result<(), RunError> {
        if let MergeOf::Lane(at) = of {
            let memory = self.memory.lane(&self.work.fleet.lanes[at].name);
            memory.git = candidacy.git.or(memory.git.take());
            let worked = match &candidacy.result {
                Ok(merged) => merged.branch_commit.clone(),
                // What conflicts is work, whatever its worker makes of it.
                Err(Prepared::Rework(Rework::Conflict { .. })) => memory.seen.clone(),
                Err(_) => None,
            };
            memory.worked = worked.or(memory.worked.take());
        }
        let merged = match candidacy.result {
            Ok(merged) => merged,
            Err(result) => {
                if let Prepared::Refused { reason } = &result {
                    self.memory.issues.push((self.name_of(of), "merge".to_owned(), reason.clone()));
                }
                if let Prepared::Rework(why) = &result {
                    self.note_conflict(of, why);
                }
                self.queue.push_back(FleetEvent::Prepared { of, result });
                return Ok(());
            }
        };
        let is_scratch = merged.directory != *self.workspace.root();
        let directory = merged.directory.clone();
        self.merged.insert(Key::from(of), merged);
        match is_scratch {
            true => self.set_up_scratch(of, &directory),
            false => {
                self.tell_prepared(of);
                Ok(())
            }
        }
    }

    /// The prepared tree may be judged.
    pub(super) fn tell_prepared(&mut self, of: MergeOf) {
        self.choose_gates(of);
        let own_gates = match (of, self.merged.get(&Key::from(of))) {
            (MergeOf::Lane(_), Some(merged)) => merged.own_gates.clone(),
            (MergeOf::Phase(..), _) | (_, None) => Vec::new(),
        };
        self.queue.push_back(FleetEvent::Prepared { of, result: Prepared::Ready { own_gates } });
    }

    /// Moves the target to the judged tree, beside the loop, unless a person wants otherwise by now.
    pub(super) fn merge(&mut self, of: MergeOf) -> Result<(), RunError> {
        self.restore_documents(of);
        let candidate = self.merged.get(&Key::from(of)).and_then(|merged| merged.candidate.clone());
        let base = self.memory.run.base.clone();
        let is_base = candidate.as_ref().is_none_or(|candidate| base.as_ref() == Some(&candidate.base_branch));
        let unit = match of {
            MergeOf::Lane(at) => Some(self.work.lanes[at].unit.clone()),
            MergeOf::Phase(group, _) => self.work.groups[group].unit.clone(),
        };
        if let Some(reason) = unit.filter(|_| is_base).and_then(|unit| self.held_at_its_end(&unit)) {
            return self.merge_ended(of, MergeResult::Blocked { reason });
        }
        match self.leave_out(of) {
            Ok(true) => return self.save(),
            Ok(false) => {}
            Err(reason) => return self.merge_ended(of, MergeResult::Blocked { reason }),
        }
        if let Some(result) = self.withdrawn(of) {
            return self.merge_ended(of, result);
        }
        if let MergeOf::Lane(at) = of
            && let Err(reason) = self.refuse_added_gates(at)
        {
            return self.merge_ended(of, MergeResult::Blocked { reason });
        }
        let (Some(repository), Some(candidate)) = (self.repository.clone(), candidate) else {
            return self.merge_ended(of, MergeResult::Merged);
        };
        self.jobs.run(move || JobEnd::Merged(of, advance(&repository, &candidate, is_base)))
    }

    pub(super) fn merge_ended(&mut self, of: MergeOf, result: MergeResult) -> Result<(), RunError> {
        let result = match (of, result) {
            (MergeOf::Phase(group, phase), MergeResult::Merged) if self.is_all_done(group, phase) => {
                // No lane is left to finish, with which the gates of its phase would be recorded.
                match self.record_passed(of) {
                    Ok(()) => MergeResult::Merged,
                    Err(reason) => MergeResult::Blocked { reason },
                }
            }
            (MergeOf::Lane(at), MergeResult::Merged) => match self.record_collected(at) {
                Ok(()) => MergeResult::Merged,
                Err(reason) => MergeResult::Blocked { reason },
            },
            (_, result) => result,
        };
        let candidate = self.merged.get(&Key::from(of)).and_then(|merged| merged.candidate.clone());
        let name = self.name_of(of);
        // The gates of a phase may have been removed since its target was chosen.
        let is_collected = result == MergeResult::Merged
            && candidate
                .as_ref()
                .is_some_and(|candidate| self.memory.run.base.as_ref() != Some(&candidate.base_branch));
        let result = if is_collected { MergeResult::Collected } else { result };
        if result == MergeResult::Merged
            && let Some(gates) = self.approved_gates(of)
        {
            self.take_over_gates(gates);
        }
        match (&result, candidate) {
            (MergeResult::Merged | MergeResult::Collected, Some(candidate)) => {
                let short: String = candidate.commit.chars().take(9).collect();
                for lane in self.merged_lanes(of) {
                    let (lane, commit) = (self.memory.lane(&lane), Some(candidate.commit.clone()));
                    *(if is_collected { &mut lane.collected } else { &mut lane.merged }) = commit;
                    lane.brings_back &= is_collected;
                }
                if !is_collected {
                    self.note_base();
                }
                let text = format!("merged into {} as {short}", candidate.base_branch);
                self.save()?;
                self.tell(Some(&name), "merged", &text);
            }
            (MergeResult::TargetMoved, Some(candidate)) => {
                let text = format!("{} has moved meanwhile: it is merged and judged again", candidate.base_branch);
                self.tell(Some(&name), "not_merged", &text);
            }
            (MergeResult::Blocked { reason }, _) => {
                self.memory.issues.push((name.clone(), "merge".to_owned(), reason.clone()));
                self.tell(Some(&name), "not_merged", reason);
            }
            (MergeResult::Merged | MergeResult::Collected | MergeResult::TargetMoved, None)
            | (MergeResult::Rework(_) | MergeResult::Withdrawn { .. } | MergeResult::BegunAnew, _) => {}
        }
        self.save()?;
        self.queue.push_back(FleetEvent::MergeEnded { of, result });
        Ok(())
    }

    /// The names of the lanes whose work a merge brings to its target.
    fn merged_lanes(&self, of: MergeOf) -> Vec<String> {
        let name = |at: LaneAt| self.work.fleet.lanes[at].name.clone();
        let is_its = |at: &LaneAt| match of {
            MergeOf::Lane(lane) => *at == lane,
            MergeOf::Phase(group, phase) => {
                let lane = &self.work.fleet.lanes[*at];
                (lane.group, lane.phase) == (group, phase) && lane.state == LaneState::Integrated
            }
        };
        (0..self.work.fleet.lanes.len()).filter(is_its).map(name).collect()
    }

    /// A workstream whose work is collected may be what another one of its phase waits for, and its worker may not have
    /// recorded it.
    fn record_collected(&mut self, at: LaneAt) -> Result<(), String> {
        let (lane, work) = (&self.work.fleet.lanes[at], self.work.lanes[at].clone());
        let phase = self.work.fleet.groups[lane.group].phases.get(lane.phase);
        let (Some(step), true) = (&work.step, phase.is_some_and(|phase| phase.collects())) else { return Ok(()) };
        let is_recorded = self.unit_of(at).is_ok_and(|unit| {
            unit.steps.iter().any(|known| known.id == *step && matches!(known.state, StepState::Done { .. }))
        });
        match work.dialect == Dialect::Build && !is_recorded {
            true => self.finish_step(&work, step),
            false => Ok(()),
        }
    }

    fn is_all_done(&self, group: usize, phase: usize) -> bool {
        let mut lanes = self.work.fleet.lanes.iter().filter(|lane| (lane.group, lane.phase) == (group, phase));
        lanes.all(|lane| lane.state == LaneState::Done)
    }

    pub(super) fn name_of(&self, of: MergeOf) -> String {
        match of {
            MergeOf::Lane(at) => self.work.fleet.lanes[at].name.clone(),
            MergeOf::Phase(group, _) => self.work.fleet.groups[group].name.clone(),
        }
    }

    /// The commands that judge a unit's work, and the files that name them.
    fn judges_of(&self, of: MergeOf) -> Vec<String> {
        let group = match of {
            MergeOf::Lane(at) => self.work.fleet.lanes[at].group,
            MergeOf::Phase(group, _) => group,
        };
        let own = self.work.groups[group].gates.iter().map(|(_, command)| command.clone());
        own.chain(self.settings.gates.values().cloned()).chain(self.work.groups[group].spec.clone()).collect()
    }

    /// Files that lanes of the same unit are to make.
    fn results_of(&self, of: MergeOf) -> Vec<String> {
        let group = match of {
            MergeOf::Lane(at) => self.work.fleet.lanes[at].group,
            MergeOf::Phase(group, _) => group,
        };
        let lanes = self.work.fleet.lanes.iter().zip(&self.work.lanes).filter(|(lane, _)| lane.group == group);
        lanes.flat_map(|(_, work)| work.file_names()).collect()
    }

    /// Brings a reworked lane's worktree to the tree that was refused, so that its worker sees what failed.
    pub(super) fn catch_up(&mut self, at: LaneAt) {
        let merged = self.merged.remove(&Key::Lane(at));
        let phase = Key::Phase(self.work.fleet.lanes[at].group, self.work.fleet.lanes[at].phase);
        let merged = merged.or_else(|| self.merged.get(&phase).cloned());
        let (Some(repository), Some(tree)) = (&self.repository, self.worktree_of(at)) else { return };
        if let Some(candidate) = merged.and_then(|merged| merged.candidate) {
            // Where that is not possible, the worker is told which branch to merge.
            let _ = repository.catch_up(&self.workspace.root().join(tree), &candidate.commit);
        }
    }
}

/// What a merge is about, as a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Lane(LaneAt),
    Phase(usize, usize),
}

impl From<MergeOf> for Key {
    fn from(of: MergeOf) -> Key {
        match of {
            MergeOf::Lane(at) => Key::Lane(at),
            MergeOf::Phase(group, phase) => Key::Phase(group, phase),
        }
    }
}
