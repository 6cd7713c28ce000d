//! The lead: drives a fleet of workers to the end, whatever dies. One loop; claim before spawn; journal before act.
//!
//! The loop takes what happened as a [`piton_model::fleet::FleetEvent`], lets [`piton_model::fleet::Fleet::step`]
//! decide, writes down what a later lead must know (`run/memory.rs`), and only then acts. It begins with what an
//! earlier lead left; a fresh start is the case in which that is nothing.

mod act;
mod approvals;
mod attach;
mod by_hand;
mod candidacy;
mod claim;
mod clocks;
mod close;
mod commands;
mod conflicts;
mod continued;
mod copies;
mod costs;
mod delisted;
mod denials;
mod disk;
mod edited_lists;
mod edited_order;
mod end;
mod ended_workers;
mod finished_runs;
mod foresee;
mod forewarn;
mod freed;
mod gates;
mod gone;
mod jobs;
mod judges;
mod lead;
mod led_units;
mod left_out;
mod left_work;
mod lost_lock;
mod memory;
mod merging;
mod nowhere;
mod observe;
mod off_base;
mod on_base;
mod other_sources;
mod other_work;
mod others;
mod outputs;
mod own_gates;
mod own_stage;
mod plans;
mod prompt;
mod proof;
mod prune;
mod put_back;
mod recover;
mod recover_groups;
mod recover_workers;
mod report;
mod requests;
mod runs;
mod scripts;
mod section;
mod set_right;
mod settings;
mod shared_texts;
mod signs;
mod sources;
mod standing;
mod state_file;
mod status;
mod stop;
mod strangers;
mod strays;
mod sync_point;
mod taken_back;
mod task_list;
mod teller;
mod told;
mod trees;
mod unknown_work;
mod view;
mod ways;
mod withdrawn;
mod work;
mod workers;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use piton_model::Time;
use piton_model::fleet::waves;
use piton_store::disk::{Access, DiskError, LockError, make_directories};
use piton_supervisor::{GitError, Identity};

pub use approvals::{
    ApprovedPhase, NotApproved, Unapproved, approve_commands, approve_phase, approve_settings, asks_for_commands,
    settings_ask_for_commands, unapproved, unapproved_specifications,
};
pub use attach::{Attached, Followed, OtherWork};
pub(crate) use by_hand::person_pause;
pub use clocks::slept;
pub use denials::{DeniedCommand, allow_denied, denied};
pub use end::{EndedLane, RunEnd};
pub use foresee::foresee;
pub use forewarn::forewarn;
pub use led_units::LedUnits;
pub use prompt::{BadTemplate, Templates};
pub use runs::{RunRecord, Wanted, unfinished};
pub use section::BadFile;
pub use settings::{Choice, SETTINGS, Settings, Why, WorkerSpec, Workers};
pub use status::{RunState, RunStatus, run_status, status_of_run};
pub use stop::{LeftWorker, StopRequest, Stopping, stop_run};
pub(crate) use sync_point::LedAgents;
pub use teller::Pending;
pub use told::event_json;
pub use view::{LaneView, OtherWorker, View, Waiting};
pub use ways::Judging;
pub(crate) use ways::place_of_unit;
pub use work::{GroupWork, LaneWork, Story, Work, WorkError};

use crate::Workspace;
use continued::Continued;

/// Where the lead's lock is.
const LOCK: &str = ".piton/run/lock";

/// How long it may take until nothing of a lead that was killed holds its lock.
const LETTING_GO: Duration = Duration::from_secs(5);

/// What is to be run, and how.
#[derive(Debug, Clone, Default)]
pub struct RunRequest {
    /// Units and run files; with none, the stories of the workspace.
    pub wanted: Vec<String>,
    /// Whether phases go on without a person's approval.
    pub yes: bool,
    /// Whether what is paused is tried again.
    pub retry: bool,
    /// The directory with the user's own prompt templates.
    pub prompts: Option<PathBuf>,
    /// Where commands that it prints are typed; nothing for the workspace's root.
    pub directory: Option<PathBuf>,
    /// The session of the agent that started it, which hands its own units over.
    pub session: Option<String>,
}

/// A run that could begin.
#[derive(Debug)]
pub struct RunPlan {
    /// The settings.
    pub settings: Settings,
    /// What there is to do.
    pub work: Work,
    /// Lanes by the wave in which each could begin.
    pub waves: Vec<Vec<usize>>,
    /// What was named, on the command line or for the run that is gone on with; nothing for the stories.
    pub wanted: Vec<String>,
    /// Names of the continued run that no longer exist.
    pub gone: Vec<String>,
    /// What workers are told, by kind.
    pub templates: Templates,
    /// Why a run would start no worker for a lane that is neither done nor paused, as far as that was looked at.
    pub held: BTreeMap<usize, String>,
}

/// Why a run did not begin, or could not go on.
#[derive(Debug)]
pub enum RunError {
    /// What is to be done cannot be understood.
    Work(WorkError),
    /// Another lead is at work here.
    Busy {
        /// Who, as far as it is known.
        holder: String,
    },
    /// Commands of the repository that nobody approved.
    NotApproved(Vec<Unapproved>),
    /// git does not use the repository, or failed.
    Git(GitError),
    /// A prompt template of the user cannot be used.
    Template(BadTemplate),
    /// The disk refuses what has to be durable.
    Disk {
        /// What, as a fragment.
        message: String,
    },
    /// Something else failed.
    Failed {
        /// What, as a fragment.
        message: String,
    },
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RunError::Work(_) => f.write_str("the work cannot be read"),
            RunError::Busy { holder } => write!(f, "another lead is at work: {holder}"),
            RunError::NotApproved(_) => f.write_str("commands of the repository are not approved"),
            RunError::Git(error) => error.fmt(f),
            RunError::Template(bad) => bad.fmt(f),
            RunError::Disk { message } | RunError::Failed { message } => f.write_str(message),
        }
    }
}

impl std::error::Error for RunError {}

impl From<DiskError> for RunError {
    fn from(error: DiskError) -> RunError {
        RunError::Disk { message: error.to_string() }
    }
}

impl From<WorkError> for RunError {
    fn from(error: WorkError) -> RunError {
        RunError::Work(error)
    }
}

impl From<BadFile> for RunError {
    fn from(error: BadFile) -> RunError {
        RunError::Work(WorkError::File(error))
    }
}

impl From<BadTemplate> for RunError {
    fn from(error: BadTemplate) -> RunError {
        RunError::Template(error)
    }
}

/// Whether what stands in `.piton` is ours: one that came with a repository says nothing.
fn is_ours(workspace: &Workspace) -> bool {
    matches!(piton_store::seal::inspect(&*workspace.disk), Ok(piton_store::seal::Home::Ours))
}

/// A time that a file of ours holds.
fn read_time(value: &serde_json::Value) -> Option<Time> {
    piton_dialect::time::read(value.as_str()?).time()
}

pub(crate) fn failed(what: impl std::fmt::Display) -> RunError {
    RunError::Failed { message: what.to_string() }
}

/// Reads what would be run. Nothing is started, nothing is written.
pub fn plan_run(workspace: &Workspace, request: &RunRequest, now: Time) -> Result<RunPlan, RunError> {
    other_sources::refuse(workspace, request)?;
    let mut settings = Settings::load(workspace)?;
    settings.workers.detect(&std::env::var("PATH").unwrap_or_default());
    let Continued { wanted, mut work, gone } =
        continued::read(&shared_texts::as_it_counts(workspace, now), &settings, request, now)?;
    if request.yes {
        for group in &mut work.fleet.groups {
            group.begin = piton_model::fleet::Approval::NotNeeded;
            for phase in &mut group.phases {
                phase.approval = piton_model::fleet::Approval::NotNeeded;
            }
        }
    }
    let waves = waves(&work.fleet);
    let templates = request.prompts.as_deref().map_or_else(|| Ok(Templates::built_in()), Templates::load)?;
    Ok(RunPlan { settings, work, waves, wanted, gone, templates, held: BTreeMap::new() })
}

/// How many stories the workspace lists; none where its settings cannot be read.
pub fn listed_stories(workspace: &Workspace) -> usize {
    Settings::load(workspace).ok().and_then(|settings| work::count_stories(workspace, &settings).ok()).unwrap_or(0)
}

/// The units that the lanes of the last runs worked on, by their worktrees. Empty when that is not known.
pub(crate) fn unit_of_worktree(workspace: &Workspace, worktree: &str) -> Option<String> {
    memory::Memory::load(workspace).ok()?.unit_of(worktree).map(str::to_owned)
}

/// Something that whoever watches a run may want to know.
#[derive(Debug)]
pub enum Progress<'a> {
    /// Something happened.
    Happened {
        /// When.
        at: Time,
        /// To which lane or group; nothing for the run itself.
        name: Option<&'a str>,
        /// What kind of thing, a word for programs.
        kind: &'static str,
        /// What, for people.
        text: &'a str,
    },
    /// Where everything stands, a few times a second.
    Stands(&'a View),
    /// The lead has begun: it holds the lock, and its run has a number.
    Leads {
        /// The number.
        run: u64,
        /// The run's directory, relative to the workspace.
        directory: &'a str,
    },
    /// The terminal hung up.
    HungUp,
}

/// What a lead needs from its door.
pub struct Surroundings<'a> {
    /// The time on the wall.
    pub clock: &'a dyn Fn() -> Time,
    /// How long the machine has slept since it was started: [`slept`].
    pub slept: &'a dyn Fn() -> std::time::Duration,
    /// Told of everything that happens.
    pub watcher: &'a mut dyn FnMut(&Progress<'_>),
    /// The program that keeps workers and that workers record with.
    pub program: PathBuf,
    /// Where commands that it prints are typed.
    pub directory: PathBuf,
}

/// Runs it to the end. Returns when everything is done, paused or stopped.
pub fn run<'a>(
    workspace: &'a Workspace,
    request: &RunRequest,
    surroundings: Surroundings<'a>,
) -> Result<RunEnd, RunError> {
    let now = (surroundings.clock)();
    let plan = plan_run(workspace, request, now)?;
    let missing = unapproved(workspace, &plan);
    if !missing.is_empty() {
        return Err(RunError::NotApproved(missing));
    }
    piton_store::seal::prepare(&*workspace.disk).map_err(failed)?;
    make_directories(&*workspace.disk, memory::DIRECTORY, Access::Private).map_err(failed)?;
    let lock = lock_lead(workspace)?;
    let own = Identity::current().map(|own| own.to_string()).unwrap_or_default();
    lock.truncate(0).and_then(|()| lock.write_at(0, own.as_bytes())).map_err(failed)?;
    let request = RunRequest { wanted: plan.wanted.clone(), ..request.clone() };
    let end = lead::Lead::begin(workspace, plan, &request, surroundings)?.lead()?;
    lock.truncate(0).map_err(failed)?;
    Ok(end)
}

/// Takes the lead's lock. Whoever holds it and is gone was killed while it started a process, which lets go of the lock
/// when it becomes a program of its own: that is waited for.
fn lock_lead(workspace: &Workspace) -> Result<Box<dyn piton_store::disk::Handle>, RunError> {
    let mut wait = Duration::ZERO;
    loop {
        let holder = match workspace.disk.lock(LOCK, wait) {
            Ok(lock) => return Ok(lock),
            Err(LockError::Busy { holder }) => holder.trim().to_owned(),
            Err(LockError::Disk(error)) => return Err(failed(error)),
        };
        let is_gone = holder.parse::<Identity>().is_ok_and(|lead| !lead.holds(&workspace.root().join(LOCK)));
        if !is_gone || !wait.is_zero() {
            return Err(RunError::Busy { holder });
        }
        wait = LETTING_GO;
    }
}

/// Lets this process outlive Ctrl-C, which its children get as well; the flag says whether it came.
pub fn catch_interrupts() -> std::io::Result<std::sync::Arc<std::sync::atomic::AtomicBool>> {
    let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGINT, std::sync::Arc::clone(&flag))?;
    Ok(flag)
}
