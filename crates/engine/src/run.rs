//! The lead: drives a fleet of workers to the end, whatever dies. One loop; claim before spawn; journal before act.
//!
//! The loop takes what happened as a [`piton_model::fleet::FleetEvent`], lets [`piton_model::fleet::Fleet::step`]
//! decide, writes down what a later lead must know (`run/memory.rs`), and only then acts. It begins with what an
//! earlier lead left; a fresh start is the case in which that is nothing.

mod act;
mod approvals;
mod claim;
mod close;
mod commands;
mod gates;
mod jobs;
mod lead;
mod memory;
mod merging;
mod observe;
mod own_gates;
mod plans;
mod prompt;
mod proof;
mod prune;
mod recover;
mod report;
mod section;
mod settings;
mod signs;
mod state_file;
mod strays;
mod trees;
mod work;

use std::path::PathBuf;
use std::time::Duration;

use piton_model::Time;
use piton_model::fleet::{Outcome, waves};
use piton_store::disk::{Access, LockError, make_directories};
use piton_supervisor::{GitError, Identity};

pub use approvals::{Unapproved, approve_commands, approve_group, unapproved};
pub use lead::slept;
pub use section::BadFile;
pub use settings::{SETTINGS, Settings};
pub use work::{GroupWork, LaneWork, Story, Work, WorkError};

use crate::Workspace;

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
    /// A disk or the system failed.
    Failed {
        /// What, as a fragment.
        message: String,
    },
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

pub(crate) fn failed(what: impl std::fmt::Display) -> RunError {
    RunError::Failed { message: what.to_string() }
}

/// Reads what would be run. Nothing is started, nothing is written.
pub fn plan_run(workspace: &Workspace, request: &RunRequest, now: Time) -> Result<RunPlan, RunError> {
    let settings = Settings::load(workspace)?;
    let mut work = work::read_work(workspace, &settings, &request.wanted, now)?;
    if request.yes {
        for group in &mut work.fleet.groups {
            group.begin = piton_model::fleet::Approval::NotNeeded;
            for phase in &mut group.phases {
                phase.approval = piton_model::fleet::Approval::NotNeeded;
            }
        }
    }
    let waves = waves(&work.fleet);
    Ok(RunPlan { settings, work, waves })
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
}

/// Where a run stands.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// How long it has been going, in seconds.
    pub seconds: u64,
    /// Each lane.
    pub lanes: Vec<LaneView>,
    /// What all workers cost so far, in US dollars; nothing when none said.
    pub cost: Option<f64>,
    /// When it will be over, in seconds from now, judged by how long stages took.
    pub eta: Option<u64>,
    /// Whether it goes on, drains or stops.
    pub mode: &'static str,
    /// What waits for a person's approval.
    pub waiting: Vec<String>,
    /// Until when the fleet is parked.
    pub parked_until: Option<Time>,
}

/// Where a lane stands.
#[derive(Debug, Clone)]
pub struct LaneView {
    /// Its name.
    pub name: String,
    /// What a person calls it.
    pub title: Option<String>,
    /// The word of its state.
    pub state: &'static str,
    /// How far it is: stages done, of all.
    pub done: u64,
    /// See [`LaneView::done`].
    pub total: u64,
    /// Its stage, where it has several.
    pub stage: Option<u8>,
    /// Its worker.
    pub worker: Option<String>,
    /// How long ago the worker gave a sign, in seconds.
    pub last_sign: Option<u64>,
    /// Why it is paused or dead.
    pub reason: Option<String>,
}

/// How a run ended.
#[derive(Debug)]
pub struct RunEnd {
    /// Done, paused, stopped.
    pub outcome: Outcome,
    /// The lanes as they were left.
    pub view: View,
    /// Reports that were written, relative to the workspace.
    pub reports: Vec<String>,
    /// What is to be done next, by a person.
    pub next: Vec<String>,
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
    let end = lead::Lead::begin(workspace, plan, request, surroundings)?.lead()?;
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
        let is_gone = holder.parse::<Identity>().is_ok_and(|lead| !lead.is_alive());
        if !is_gone || !wait.is_zero() {
            return Err(RunError::Busy { holder });
        }
        wait = LETTING_GO;
    }
}

/// What became of a request to end a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopping {
    /// There is no lead at work.
    Nobody,
    /// It was asked.
    Asked,
}

/// Asks the lead that is at work in a workspace to end: to wait for its workers, or to stop them too.
pub fn stop_run(workspace: &Workspace, stops_workers: bool) -> Result<Stopping, RunError> {
    let holder = match workspace.disk.lock(LOCK, Duration::ZERO) {
        Err(LockError::Busy { holder }) => holder,
        Ok(_) => return Ok(Stopping::Nobody),
        Err(LockError::Disk(error)) if error.is_missing() => return Ok(Stopping::Nobody),
        Err(LockError::Disk(error)) => return Err(failed(error)),
    };
    let Ok(lead) = holder.trim().parse::<Identity>() else {
        return Err(failed(format!("the lead's lock does not say who it is: {LOCK}")));
    };
    let mut was_there = lead.signal(rustix::process::Signal::TERM);
    if stops_workers {
        // Another signal than the first: two of one kind may arrive as one.
        was_there |= lead.signal(rustix::process::Signal::INT);
    }
    Ok(if was_there { Stopping::Asked } else { Stopping::Nobody })
}

/// Lets this process outlive Ctrl-C, which its children get as well; the flag says whether it came.
pub fn catch_interrupts() -> std::io::Result<std::sync::Arc<std::sync::atomic::AtomicBool>> {
    let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGINT, std::sync::Arc::clone(&flag))?;
    Ok(flag)
}
