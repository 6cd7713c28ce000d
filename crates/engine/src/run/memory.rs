//! What a lead must not forget and cannot derive from journals, documents and settings: `.piton/run/memory.json`,
//! replaced whole before anything that depends on it is done.
//!
//! Every fact of a lane or group names the unit it is about: the attempt that the lead claimed, and the event that began
//! the unit ([`Origin`]). A fact whose name no longer fits is history: it is kept for reports and never used as input.

mod saved;

use std::collections::{BTreeMap, BTreeSet};

use piton_model::fleet::{Counts, Fleet, Group, Lane};
use piton_model::{Rework, Start, Time};
use piton_store::ReadError;
use piton_store::disk::{Access, DiskError};
use piton_supervisor::{Kind, Statistics};
use serde::{Deserialize, Serialize};

pub(super) use saved::{SavedState, adopted};

use super::costs::Costs;
use super::{RunError, RunRecord, failed};
use crate::Workspace;

/// Where everything of a run is.
pub(super) const DIRECTORY: &str = ".piton/run";

pub(super) const MEMORY: &str = ".piton/run/memory.json";

/// The format that this version writes.
const VERSION: u32 = 2;

/// What is remembered of the whole run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Memory {
    version: u32,
    /// The run that is under way, or the last one.
    pub run: RunFacts,
    /// Whether a lead is taking up what an earlier one left.
    #[serde(skip)]
    pub is_recovering: bool,
    /// The branch that each run merges into, by the run's number: a run that is continued after another one keeps its own.
    pub bases: BTreeMap<u64, String>,
    /// Where the base of each run was when the run last looked at it or merged into it.
    pub base_tips: BTreeMap<u64, String>,
    /// Each lane, by its name.
    pub lanes: BTreeMap<String, LaneMemory>,
    /// Each group, by its name.
    pub groups: BTreeMap<String, GroupMemory>,
    /// Stories that a list of the user named for a run. One that is in no list any more was taken out.
    pub listed: BTreeSet<String>,
    /// Homes of gates and set-up commands that run.
    pub gate_homes: Vec<String>,
    /// How many of them were started.
    pub gates_started: u64,
    /// Infrastructure issues: phase, kind, message.
    pub issues: Vec<(String, String, String)>,
    /// Accounts at their limit, and until when.
    #[serde(with = "saved::times")]
    pub parked: BTreeMap<String, Time>,
}

/// The run that the last lead led.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct RunFacts {
    /// Its number. The rest of what is known of it is in its record.
    pub number: u64,
    /// The branch that worktrees start from and are merged into.
    pub base: Option<String>,
}

/// Which life of a unit a fact is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Origin {
    /// The attempt that the lead claimed.
    pub attempt: u64,
    /// The number of the event that began the unit: its start, or its last restart.
    pub began: u64,
}

/// What the lists said about a lane's unit in its life so far: its user edits them while a lead is at work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ListedAs {
    /// The newest title that a lead followed.
    pub title: Option<String>,
    /// The newest title that a worker got.
    pub told: Option<String>,
    /// Each subtask that was listed, also those that are not any more.
    pub steps: BTreeSet<String>,
    /// The same of criteria.
    pub criteria: BTreeSet<String>,
    /// Subtasks that were done in an earlier life, whose document was tidied away.
    pub done_before: BTreeSet<String>,
}

/// What is remembered of a lane.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct LaneMemory {
    /// What the facts below are about.
    pub origin: Origin,
    /// What its lists said.
    pub listed: ListedAs,
    /// An attempt that is being claimed: a lead that dies in between has claimed it or not.
    pub claiming: Option<u64>,
    /// Where the lane stood.
    pub state: SavedState,
    pub stage: u8,
    pub crashes: u32,
    /// How many of its workers in a row were taken from outside.
    pub taken: u32,
    pub no_gos: u32,
    pub reworks: u32,
    pub readiness: Option<f64>,
    /// Whether its last worker died so often that it was put off to a later wave.
    pub put_off_waves: u32,
    /// How many workers it has had; homes are numbered by it.
    pub spawned: u64,
    /// The home of its last worker, relative to the workspace.
    pub home: Option<String>,
    pub worker: Option<String>,
    /// What that worker shows to be let in.
    pub ticket: Option<String>,
    /// What blocked its unit before that worker began.
    pub blockers: Vec<String>,
    /// The name of the worker's settings and of its account.
    pub account: Option<String>,
    pub session: Option<String>,
    /// The kind of its last worker, to which the session belongs.
    #[serde(with = "saved::kind")]
    pub kind: Option<Kind>,
    /// How often in a row its workers ran into a limit.
    pub limits_in_a_row: u32,
    /// What the last of these limits was, for people.
    pub limit: Option<String>,
    pub worktree: Option<String>,
    pub branch: Option<String>,
    /// Where that branch was when a worker of the lane last started or ended, or another lead began. What is done needs
    /// no branch.
    pub tip: Option<String>,
    /// Where that branch was when its last worker ended.
    pub ended: Option<String>,
    /// Where that branch was when it was last looked at for a merge.
    pub seen: Option<String>,
    /// The branch's commit that was found to have work of its own.
    pub worked: Option<String>,
    /// The branch's commit at which a story was executed and its worktree clean.
    pub clean: Option<String>,
    /// New files that its reviewer left in the worktree.
    pub leftovers: Vec<String>,
    /// Whether the worktree's files were copied and its set-up command has passed.
    pub is_set_up: bool,
    /// The settings that it was set up by, see [`super::Settings::worktree_settings`].
    pub set_up_by: String,
    /// The files that were copied into the worktree, each with a checksum of what was copied.
    pub copied: BTreeMap<String, String>,
    /// The same files as the set-up command left them.
    pub set_up_files: BTreeMap<String, String>,
    /// The commit on the base branch that holds its work.
    pub merged: Option<String>,
    /// Whether the user wants it merged again, though they took its merge off the base.
    pub brings_back: bool,
    /// The commit that holds its work on the branch on which its phase is collected.
    pub collected: Option<String>,
    /// Whether the lane was done in an earlier life of its unit: what its workers find on the base is theirs.
    pub was_done: bool,
    pub results: BTreeMap<u8, String>,
    /// The run that the times, deaths, resumes and gates below are of.
    pub run: u64,
    /// How many workers it has had in that run.
    pub workers: u64,
    /// What was done again in that run.
    pub again: Again,
    #[serde(with = "saved::spans")]
    pub times: BTreeMap<u8, (Option<Time>, Option<Time>)>,
    /// Since when its worker is at its stage.
    #[serde(with = "saved::moment")]
    pub at_stage_since: Option<Time>,
    /// How many seconds its workers were at each stage in that run. A stage that is worked on again is visited again.
    pub stage_seconds: BTreeMap<u8, u64>,
    /// The times of stages in earlier runs.
    #[serde(with = "saved::spans")]
    pub earlier_times: BTreeMap<u8, (Option<Time>, Option<Time>)>,
    #[serde(with = "saved::statistics")]
    pub git: Option<Statistics>,
    /// What its workers cost, where they said so.
    pub costs: Costs,
    /// What is known about each death.
    pub deaths: Vec<String>,
    /// How often it was resumed, and how many steps were not done again thereby.
    pub resumes: u64,
    pub saved: u64,
    /// Gates and how they ended.
    pub gates: Vec<(String, String)>,
    /// What its next worker is to see to.
    #[serde(with = "saved::reworks")]
    pub rework: Vec<Rework>,
    /// The branch's commit whose changes of its own gates a person approved.
    pub approved: Option<String>,
    /// Whether a lead put it off before any worker had begun: the next lead may queue it again.
    pub put_off: bool,
}

/// How often something was done again, whatever was granted anew since.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Again {
    /// Dead workers that were followed by another.
    pub respawns: u32,
    /// NO-GOs that were validated again.
    pub no_gos: u32,
    /// FAILs, failed gates and conflicts that were worked on again.
    pub reworks: u32,
}

impl Again {
    /// Takes up what a decision granted.
    pub fn add(&mut self, before: &Counts, after: &Counts) {
        self.respawns +=
            u32::from(after.crashes > before.crashes || after.waves > before.waves || after.taken > before.taken);
        self.no_gos += u32::from(after.no_gos > before.no_gos);
        self.reworks += u32::from(after.reworks > before.reworks);
    }

    pub fn sum(&self) -> u32 {
        self.respawns + self.no_gos + self.reworks
    }
}

/// What is remembered of a group.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct GroupMemory {
    /// What the facts below are about.
    pub origin: Origin,
    /// Where the base was when a lead first had the unit in this life.
    pub began_on: Option<String>,
    /// Whether a person agreed that work begins.
    pub has_begun: bool,
    /// The keys of phases that a person approved.
    pub approved: Vec<String>,
    /// The branch on which each phase is collected, by the phase's key.
    pub branches: BTreeMap<String, String>,
    /// Why it was halted.
    pub halted: Option<String>,
    /// The event of the unit's journal after which its documents were last found to count as they are.
    pub judged: u64,
}

impl Memory {
    /// What the last lead left; empty when there was none.
    pub fn load(workspace: &Workspace) -> Result<Memory, RunError> {
        let unusable = |why: String| failed(format!("cannot read the memory of the last run, {MEMORY}: {why}"));
        let content = match workspace.disk.read(MEMORY) {
            Ok(content) => content,
            Err(ReadError::Missing) => return Ok(Memory::default()),
            Err(error) => return Err(unusable(error.to_string())),
        };
        let memory: Memory = serde_json::from_slice(&content.bytes).map_err(|error| unusable(error.to_string()))?;
        Ok(memory)
    }

    /// Whether work of a unit that its document calls done did not reach the base, as far as the lanes of its present life
    /// tell.
    pub fn is_unmerged(&self, unit: &str, life: Origin) -> bool {
        let is_own = |name: &str| name.strip_prefix(unit).is_some_and(|step| step.is_empty() || step.starts_with(' '));
        let is_left = |lane: &LaneMemory| {
            let is_same_life = lane.origin.began == life.began || life.began == 0;
            let is_settled = matches!(lane.state, SavedState::Done | SavedState::Queued);
            lane.origin.attempt > 0 && lane.origin.attempt == life.attempt && is_same_life && !is_settled
        };
        self.lanes.iter().any(|(name, lane)| is_own(name) && is_left(lane))
    }

    /// The unit of the lane that has a worktree, by the worktree's place in the workspace.
    pub fn unit_of(&self, worktree: &str) -> Option<&str> {
        let lane = self.lanes.iter().find(|(_, lane)| lane.worktree.as_deref() == Some(worktree));
        lane.and_then(|(name, _)| name.split(' ').next())
    }

    /// Writes it down. When this returns it is durable.
    pub fn save(&mut self, workspace: &Workspace, fleet: &Fleet) -> Result<(), DiskError> {
        self.version = VERSION;
        self.parked.clone_from(&fleet.parked);
        for lane in &fleet.lanes {
            self.lane(&lane.name).take_rules(lane);
        }
        // Groups are taken up last: until then the fleet does not know what an earlier lead knew of them.
        for group in fleet.groups.iter().filter(|_| !self.is_recovering) {
            self.groups.entry(group.name.clone()).or_default().take_rules(group);
        }
        let mut bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        bytes.push(b'\n');
        piton_store::replace(&*workspace.disk, MEMORY, &bytes, Access::Private)
    }

    pub fn lane(&mut self, name: &str) -> &mut LaneMemory {
        let run = self.run.number;
        self.lanes.entry(name.to_owned()).or_insert_with(|| LaneMemory { run, ..LaneMemory::default() })
    }

    /// The ids of lanes of earlier runs that are done, as the homes of their workers have them.
    pub fn done_elsewhere(&self, fleet: &Fleet) -> BTreeSet<String> {
        let is_elsewhere = |name: &str| fleet.lanes.iter().all(|lane| lane.name != name);
        let done = self.lanes.iter().filter(|(name, lane)| lane.state == SavedState::Done && is_elsewhere(name));
        let id = |home: &String| Some(home.rsplit('/').next()?.rsplit_once('-')?.0.to_owned());
        done.filter_map(|(_, lane)| id(lane.home.as_ref()?)).collect()
    }

    /// Takes up a run. What is remembered of another one stays with its lanes; what its report counts begins at nothing.
    pub fn begin_run(&mut self, run: &RunRecord, fleet: &Fleet) {
        let lanes = fleet.lanes.iter().map(|lane| &lane.name);
        for name in lanes.chain(fleet.groups.iter().map(|group| &group.name)) {
            if let Some(lane) = self.lanes.get_mut(name) {
                lane.join_run(run.number);
            }
        }
        if self.run.number != run.number {
            self.run = RunFacts { number: run.number, base: self.bases.get(&run.number).cloned() };
            self.issues.clear();
        }
    }
}

impl LaneMemory {
    /// Takes part in a run: its report is about its own workers, whatever other runs did here.
    fn join_run(&mut self, run: u64) {
        if self.run == run {
            return;
        }
        let times = std::mem::take(&mut self.times);
        self.earlier_times.extend(times);
        (self.run, self.workers, self.resumes, self.saved) = (run, 0, 0, 0);
        self.at_stage_since = None;
        self.stage_seconds.clear();
        self.again = Again::default();
        self.deaths.clear();
        self.gates.clear();
    }

    /// A lead follows what a list says about the unit.
    pub fn follow_list(&mut self, title: Option<&String>, start: &Start) {
        self.listed.title = title.cloned();
        self.listed.steps.extend(start.steps.iter().cloned());
        self.listed.criteria.extend(start.criteria.iter().cloned());
    }

    /// A worker begins at a stage.
    pub fn begin_stage(&mut self, stage: u8, now: Time) {
        self.times.entry(stage).or_default().0.get_or_insert(now);
        self.at_stage_since.get_or_insert(now);
    }

    /// Its worker leaves a stage: the stage is complete, or the worker has ended.
    pub fn leave_stage(&mut self, stage: u8, now: Time) {
        if let Some(since) = self.at_stage_since.take() {
            *self.stage_seconds.entry(stage).or_default() += since.age(now).0.as_secs();
        }
    }

    /// Whether a lead claimed its unit, or put it off: what is known besides tells the next lead nothing.
    pub fn is_remembered(&self) -> bool {
        self.origin.attempt > 0 || self.put_off
    }

    /// Whether anything was done for it.
    pub fn has_begun(&self) -> bool {
        self.origin.attempt > 0 || self.home.is_some() || self.branch.is_some()
    }

    /// When each stage began and ended the last time, in whichever run.
    pub fn all_times(&self) -> BTreeMap<u8, (Option<Time>, Option<Time>)> {
        let mut all = self.earlier_times.clone();
        all.extend(self.times.clone());
        all
    }

    /// When its first worker began, in whichever run.
    pub fn stage_began(&self) -> Option<Time> {
        self.all_times().values().filter_map(|(start, _)| *start).min()
    }

    /// When its last stage ended, in whichever run.
    pub fn stage_ended(&self) -> Option<Time> {
        self.all_times().values().filter_map(|(_, end)| *end).max()
    }

    /// Forgets what belongs to an earlier life of the lane's unit; numbers of homes continue, and what its workers cost the
    /// run was spent.
    pub fn begin_anew(&mut self) {
        let old = std::mem::take(self);
        *self = LaneMemory {
            was_done: old.was_done || old.state == SavedState::Done,
            spawned: old.spawned,
            run: old.run,
            workers: old.workers,
            again: old.again,
            costs: old.costs,
            deaths: old.deaths,
            ..LaneMemory::default()
        };
    }

    /// Forgets where the lane stood, because its unit has a newer attempt; its branch and what it cost stay.
    pub fn forget_attempt(&mut self) {
        let old = std::mem::take(self);
        *self = LaneMemory {
            origin: Origin { attempt: 0, ..old.origin },
            listed: old.listed,
            spawned: old.spawned,
            worktree: old.worktree,
            branch: old.branch,
            tip: old.tip,
            ended: old.ended,
            seen: old.seen,
            worked: old.worked,
            was_done: old.was_done,
            clean: old.clean,
            leftovers: old.leftovers,
            is_set_up: old.is_set_up,
            set_up_by: old.set_up_by,
            copied: old.copied,
            set_up_files: old.set_up_files,
            results: old.results,
            run: old.run,
            workers: old.workers,
            again: old.again,
            times: old.times,
            stage_seconds: old.stage_seconds,
            earlier_times: old.earlier_times,
            git: old.git,
            costs: old.costs,
            deaths: old.deaths,
            resumes: old.resumes,
            saved: old.saved,
            gates: old.gates,
            ..LaneMemory::default()
        };
    }

    fn take_rules(&mut self, lane: &Lane) {
        self.state = SavedState::of(&lane.state);
        self.stage = lane.stage;
        (self.crashes, self.no_gos, self.reworks) = (lane.counts.crashes, lane.counts.no_gos, lane.counts.reworks);
        (self.taken, self.put_off_waves) = (lane.counts.taken, lane.counts.waves);
        self.readiness = lane.readiness;
    }
}

impl GroupMemory {
    fn take_rules(&mut self, group: &Group) {
        use piton_model::fleet::Approval;
        self.has_begun = group.begin == Approval::Given;
        let is_given = |place: &usize| group.phases[*place].approval == Approval::Given;
        self.approved = (0..group.phases.len()).filter(is_given).map(|place| group.phase_key(place)).collect();
        self.halted = group.halted.as_ref().map(|halt| halt.reason.clone());
    }
}
