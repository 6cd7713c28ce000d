//! `piton stop`: asks the lead that is at work to end. Where there is none, the workers that it left are listed or ended.

use std::time::{Duration, Instant};

use piton_model::Time;
use piton_model::fleet::Request;
use piton_store::disk::{Handle, LockError};
use piton_supervisor::{Condition, Gently, Identity, KeeperProgram, Sight, Worker};

use super::others::{homes, mark_stopped, unit_of};
use super::settings::Settings;
use super::teller::Pending;
use super::view::Published;
use super::{LOCK, RunError, RunRecord, failed, requests, runs};
use crate::Workspace;

/// How long a lead has to take a request. It looks about once a second, unless it merges or waits for a disk.
const ANSWER: Duration = Duration::from_secs(3);

/// How much longer than their grace workers may take to be gone, before they are ended without their keepers.
const MARGIN: Duration = Duration::from_secs(5);

/// A worker or gate that runs without a lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftWorker {
    /// The unit it works on; for a gate none.
    pub unit: Option<String>,
    /// The process, as far as it is known.
    pub pid: Option<u32>,
    /// Its home, relative to the workspace.
    pub home: String,
}

/// What became of a request to end a run.
#[derive(Debug)]
pub enum Stopping {
    /// The lead was asked.
    Asked {
        /// Its process.
        pid: u32,
        /// What it waits for.
        pending: Pending,
        /// Whether it has taken the request already.
        is_taken: bool,
    },
    /// No lead is at work.
    NoLead {
        /// Workers that run all the same.
        left: Vec<LeftWorker>,
        /// The run that they belong to, as far as one is not finished.
        run: Option<RunRecord>,
    },
    /// No lead is at work, and the workers that it had left were ended.
    Ended {
        /// Who they were.
        workers: Vec<LeftWorker>,
        /// The run that they belong to.
        run: Option<RunRecord>,
    },
}

/// Who asks for an end, and with which program keepers are started.
#[derive(Debug, Clone)]
pub struct StopRequest {
    /// Whether workers are to end too.
    pub workers: bool,
    /// The user's name.
    pub user: Option<String>,
    /// Now.
    pub now: Time,
    /// This program.
    pub program: std::path::PathBuf,
}

/// Asks the lead of a workspace to end, or ends what a dead one left.
pub fn stop_run(workspace: &Workspace, request: &StopRequest) -> Result<Stopping, RunError> {
    let _lock = match lead_of(workspace)? {
        Leading::By(lead) => return ask(workspace, &lead, request),
        Leading::Nobody(lock) => lock,
    };
    let keeper = KeeperProgram::at(&request.program);
    let left = running(workspace, &keeper)?;
    let run = runs::unfinished(workspace);
    if !request.workers || left.is_empty() {
        let left = left.into_iter().map(|(left, _)| left).collect();
        return Ok(Stopping::NoLead { left, run });
    }
    // Settings that cannot be read are no reason to let workers run.
    let grace = Settings::load(workspace).map_or(Duration::from_secs(10), |settings| settings.grace);
    end(&left, grace)?;
    Ok(Stopping::Ended { workers: left.into_iter().map(|(left, _)| left).collect(), run })
}

enum Leading {
    By(Identity),
    /// As long as this lock is held no lead can begin.
    Nobody(Option<Box<dyn Handle>>),
}

fn lead_of(workspace: &Workspace) -> Result<Leading, RunError> {
    let begun = Instant::now();
    loop {
        let holder = match workspace.disk.lock(LOCK, Duration::ZERO) {
            Ok(lock) => return Ok(Leading::Nobody(Some(lock))),
            Err(LockError::Disk(error)) if error.is_missing() => return Ok(Leading::Nobody(None)),
            Err(LockError::Disk(error)) => return Err(error.into()),
            Err(LockError::Busy { holder }) => holder,
        };
        match holder.trim().parse::<Identity>() {
            Ok(lead) if lead.holds(&workspace.root().join(LOCK)) => return Ok(Leading::By(lead)),
            // It has just taken the lock, or has just been killed: that is over in a moment.
            Ok(_) | Err(()) if begun.elapsed() < super::LETTING_GO => std::thread::sleep(Duration::from_millis(10)),
            Ok(_) | Err(()) => return Err(failed(format!("the lead's lock does not say who it is: {LOCK}"))),
        }
    }
}

fn ask(workspace: &Workspace, lead: &Identity, request: &StopRequest) -> Result<Stopping, RunError> {
    let kind = if request.workers { Request::StopWorkers } else { Request::Drain };
    let published = Published::read(workspace, request.now).filter(|published| published.lead == *lead);
    // Looked at before the lead can stop them.
    let gates = homes(workspace.root(), &KeeperProgram::at(&request.program), "gates");
    let commands = gates.into_iter().filter(|(_, gate)| matches!(gate.sight(), Ok(Sight::Running))).count();
    let path = requests::leave(workspace, lead, kind, request.user.as_deref(), request.now)?;
    let begun = Instant::now();
    let mut is_taken = false;
    while !is_taken && begun.elapsed() < ANSWER {
        if !lead.holds(&workspace.root().join(LOCK)) {
            // It ended by itself, and its successor is not meant.
            let _ = workspace.disk.remove(&path);
            return stop_run(workspace, request);
        }
        std::thread::sleep(Duration::from_millis(20));
        is_taken = !requests::is_waiting(workspace, &path);
    }
    let workers = published.map_or(0, |it| it.view.lanes.iter().filter(|lane| lane.worker.is_some()).count());
    Ok(Stopping::Asked { pid: lead.pid, pending: Pending { workers, commands }, is_taken })
}

/// Workers and gates that run. Only while no lead can begin.
fn running(workspace: &Workspace, keeper: &KeeperProgram) -> Result<Vec<(LeftWorker, Worker)>, RunError> {
    let mut left = Vec::new();
    for kind in ["workers", "gates"] {
        for (home, worker) in homes(workspace.root(), keeper, kind) {
            let pid = match worker.condition().map_err(failed)? {
                Condition::Running { worker } => worker.map(|identity| identity.pid),
                Condition::Orphaned { worker } => Some(worker.pid),
                Condition::Ended(_) => continue,
            };
            let unit = unit_of(&worker).filter(|_| kind == "workers");
            left.push((LeftWorker { unit, pid, home }, worker));
        }
    }
    Ok(left)
}

/// Ends them, gently first; returns when nothing of them runs any more.
fn end(left: &[(LeftWorker, Worker)], grace: Duration) -> Result<(), RunError> {
    for (_, worker) in left {
        mark_stopped(worker.home());
        // A keeper that does not answer is ended below.
        let _ = worker.stop(Gently::Interrupt, grace);
    }
    let begun = Instant::now();
    for (_, worker) in left {
        loop {
            if matches!(worker.condition().map_err(failed)?, Condition::Ended(_)) {
                break;
            }
            if begun.elapsed() >= grace + MARGIN {
                worker.force_end().map_err(failed)?;
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    Ok(())
}
