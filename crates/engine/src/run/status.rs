//! What every door says about a run: whether a lead is at work, and what it knows about its units. Judged by facts about
//! processes, read without a lock, and nothing is changed.

use std::path::Path;

use piton_model::fleet::Outcome;
use piton_model::hint::verbs;
use piton_model::{Dialect, Invocation, Led, LedWork, Time, UnitLead, UnitRef};
use piton_supervisor::{End, Exit, Identity, KeeperProgram, Sight, Worker};

use super::approvals::is_given;
use super::memory::MEMORY;
use super::runs::{self, RunRecord};
use super::view::{PUBLISHED, Published, View, Waiting, kept};
use crate::Workspace;

/// How a run is going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// A lead is at work.
    Led,
    /// Its lead is gone and did not end it.
    NoLead,
    /// Its lead ended it, because something is paused or waits for a person.
    Paused,
    /// A person stopped it.
    Stopped,
}

impl RunState {
    /// The word that programs rely on.
    pub fn word(self) -> &'static str {
        match self {
            RunState::Led => "led",
            RunState::NoLead => "no_lead",
            RunState::Paused => "paused",
            RunState::Stopped => "stopped",
        }
    }
}

/// The run that a lead is at work on, or else the newest that is not finished.
#[derive(Debug, Clone, PartialEq)]
pub struct RunStatus {
    /// The run.
    pub run: RunRecord,
    /// How it is going on.
    pub state: RunState,
    /// The process of its last lead.
    pub pid: Option<u32>,
    /// Where it stood when that last said so.
    pub view: Option<View>,
    /// How many of its workers run.
    pub workers: usize,
    /// When its last lead gave its last sign: it publishes what changes, and beats.
    pub seen: Option<Time>,
    /// What it waits for the user's approval of.
    pub waiting: Vec<Waiting>,
    /// Whether the user approved something that it waited for, and no lead took that yet.
    pub is_approved: bool,
}

impl RunStatus {
    /// How many of its lanes are done, of all; nothing when that is not known.
    pub fn progress(&self) -> Option<(usize, usize)> {
        let lanes = &self.view.as_ref()?.lanes;
        let done = lanes.iter().filter(|lane| lane.state == "done").count();
        (!lanes.is_empty()).then_some((done, lanes.len()))
    }

    /// Whether nothing is left of it but what is paused.
    fn is_all_paused(&self) -> bool {
        let lanes = self.view.iter().flat_map(|view| &view.lanes);
        let left: Vec<_> = lanes.filter(|lane| lane.state != "done").collect();
        !left.is_empty() && self.waiting.is_empty() && left.iter().all(|lane| lane.state == "paused")
    }

    /// The command that shows a run that is led, or continues one that is not, as it can be typed in a directory.
    pub fn command(&self, root: &Path, directory: &Path) -> Invocation {
        let is_retried = match self.state {
            RunState::Led => return verbs::RUN.call(),
            RunState::Paused => self.waiting.is_empty() && !self.is_approved,
            RunState::NoLead => self.is_all_paused(),
            RunState::Stopped => false,
        };
        self.run.command(root, directory, if is_retried { &["--retry"] } else { &[] })
    }
}

/// The run that a lead is at work on, or else the newest that is not finished; nothing when there is none.
pub fn run_status(workspace: &Workspace, now: Time) -> Option<RunStatus> {
    let published = Published::read(workspace, now);
    let led = published.as_ref().filter(|published| published.lead.is_alive());
    let run = match led {
        Some(published) => runs::load(&*workspace.disk, published.run),
        None => runs::unfinished(workspace),
    }?;
    Some(status_of(workspace, run, published, now))
}

/// How a run that is not finished stands.
pub fn status_of_run(workspace: &Workspace, number: u64, now: Time) -> Option<RunStatus> {
    let run = runs::load(&*workspace.disk, number).filter(|run| !run.is_finished)?;
    Some(status_of(workspace, run, Published::read(workspace, now), now))
}

fn status_of(workspace: &Workspace, run: RunRecord, last: Option<Published>, now: Time) -> RunStatus {
    let own = last.filter(|published| published.run == run.number);
    let is_last = own.is_some();
    let own = own.or_else(|| Published::read_kept(workspace, run.number, now));
    // A lead that has just begun has not published yet, and its record says who it is.
    let is_led = run.lead.as_ref().is_some_and(|lead| run.ended.is_none() && lead.is_alive());
    let state = match run.ended {
        _ if is_led => RunState::Led,
        None => RunState::NoLead,
        Some((Outcome::Stopped, _)) => RunState::Stopped,
        Some((Outcome::Paused | Outcome::Done, _)) => RunState::Paused,
    };
    let homes = own.iter().flat_map(|published| &published.view.lanes).filter_map(|lane| lane.home.as_deref());
    let runs = |home: &&str| sight(workspace.root(), home) == Some(Sight::Running);
    let workers = homes.filter(runs).count();
    let pid = run.lead.as_ref().map(|lead| lead.pid);
    let sign = if is_last { last_sign(workspace) } else { written(workspace, &kept(run.number)) };
    let seen = own.as_ref().and(sign).map(|at| at.max(run.lead_since));
    let view = own.map(|published| published.view);
    let asked = view.as_ref().map_or(&run.waiting, |view| &view.waiting).iter().cloned();
    let (given, waiting): (Vec<Waiting>, Vec<Waiting>) = asked.partition(|it| is_given(workspace, it));
    RunStatus { pid, state, view, workers, seen, waiting, is_approved: !given.is_empty(), run }
}

/// When the last lead wrote last: what it knows, or a heartbeat.
fn last_sign(workspace: &Workspace) -> Option<Time> {
    [PUBLISHED, MEMORY].into_iter().filter_map(|path| written(workspace, path)).max()
}

fn written(workspace: &Workspace, path: &str) -> Option<Time> {
    let modified = workspace.root().join(path).symlink_metadata().ok()?.modified().ok()?;
    let seconds = modified.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs();
    Some(Time::from_unix_seconds(i64::try_from(seconds).ok()?))
}

/// What the leads of unfinished runs know about units, to be laid over what their documents say.
#[derive(Debug, Default)]
pub struct LedUnits {
    units: Vec<LedUnit>,
}

#[derive(Debug)]
struct LedUnit {
    unit: UnitRef,
    attempt: u64,
    led: Led,
    /// When the lead gave its last sign.
    seen: Option<Time>,
}

impl LedUnits {
    /// Looks at what the last lead of each unfinished run published. A lead itself believes the documents alone.
    pub fn look(workspace: &Workspace, now: Time) -> LedUnits {
        let last = Published::read(workspace, now);
        let is_own =
            |last: &Published| last.lead.pid == std::process::id() && Identity::current().as_ref() == Some(&last.lead);
        if last.as_ref().is_some_and(is_own) {
            return LedUnits::default();
        }
        let mut leads = LedUnits::default();
        let last_run = last.as_ref().map(|last| last.run);
        if let Some(last) = last {
            let run = runs::load(&*workspace.disk, last.run);
            // When all of its units are done, their documents say everything.
            if last.lead.is_alive() || run.as_ref().is_none_or(|run| !run.is_finished) {
                leads.add(workspace, last, run.as_ref(), last_sign(workspace));
            }
        }
        for run in runs::all(workspace).filter(|run| !run.is_finished && Some(run.number) != last_run) {
            if let Some(published) = Published::read_kept(workspace, run.number, now) {
                let ended = run.ended.map(|(_, at)| at);
                let seen = written(workspace, &kept(run.number)).max(ended);
                leads.add(workspace, published, Some(&run), seen);
            }
        }
        leads
    }

    /// Adds the units of a lead. What is known from a later one stays.
    fn add(&mut self, workspace: &Workspace, published: Published, run: Option<&RunRecord>, seen: Option<Time>) {
        let is_at_work = published.lead.is_alive();
        let ended = run.is_some_and(|run| run.ended.is_some() && run.lead.as_ref() == Some(&published.lead));
        let lead = UnitLead {
            run: published.run,
            pid: published.lead.pid,
            since: published.view.began,
            is_at_work,
            has_ended: ended && !is_at_work,
        };
        let mut units: Vec<(String, u64, LedWork)> = Vec::new();
        for lane in published.view.lanes {
            let work = fact(workspace.root(), is_at_work, lane.home.as_deref(), lane.work);
            match units.iter_mut().find(|(unit, _, _)| *unit == lane.unit) {
                Some((_, attempt, known)) => {
                    *attempt = lane.attempt.max(*attempt);
                    *known = std::mem::replace(known, LedWork::Settled).and(work);
                }
                None => units.push((lane.unit, lane.attempt, work)),
            }
        }
        let waiting = published.view.waiting.into_iter().filter(|it| !is_given(workspace, it));
        for Waiting { unit, what, .. } in waiting {
            if let Some((_, _, known)) = units.iter_mut().find(|(name, _, _)| *name == unit) {
                *known = std::mem::replace(known, LedWork::Settled).and(LedWork::Approval { what });
            }
        }
        self.units.extend(units.into_iter().filter_map(|(unit, attempt, work)| {
            Some(LedUnit { unit: UnitRef::parse(&unit).ok()?, attempt, led: Led { lead: lead.clone(), work }, seen })
        }));
    }

    /// The unit that a name means, that a lead has and no worker has begun, with what the lead knows about it; nothing
    /// when several are meant.
    pub fn named(&self, wanted: &UnitRef) -> Option<(UnitRef, Led)> {
        let means = |unit: &UnitRef| unit.dialect.is_some_and(|dialect| wanted.means(dialect, &unit.full_name()));
        // What a worker has begun has a document, or had one.
        let mut meant = self.units.iter().filter(|known| known.attempt == 0 && means(&known.unit));
        let known = meant.next()?;
        meant.all(|other| other.unit == known.unit).then(|| (known.unit.clone(), known.led.clone()))
    }

    /// What the last lead knows about a unit whose attempt is this one and whose document was written then; nothing when
    /// another took the unit since.
    pub fn of(&self, dialect: Dialect, full_name: &str, attempt: Option<u64>, written: Option<Time>) -> Option<Led> {
        let LedUnit { attempt: known, led, seen, .. } =
            self.units.iter().find(|known| known.unit.means(dialect, full_name))?;
        // The lead itself, or a session before it, may have begun an attempt that is later than that of its last worker.
        let is_untouched = !led.lead.is_at_work && written <= *seen;
        let is_current = attempt.unwrap_or(0) <= *known || is_untouched;
        // What no worker of the run has begun is the lead's as long as it is at work.
        let is_waiting = *known == 0 && led.lead.is_at_work;
        if !is_current && !is_waiting {
            return None;
        }
        let is_past = !led.lead.is_at_work && matches!(led.work, LedWork::Paused { .. });
        // What a person began, and perhaps finished, before its turn is what its document says.
        let is_by_hand = !is_current && led.work == LedWork::Turn;
        match is_past && written > *seen || is_by_hand {
            true => Some(Led { work: LedWork::Changed, ..led.clone() }),
            false => Some(led.clone()),
        }
    }
}

/// What a lane's last published state means now. A lead at work knows how its workers are; after it, their processes tell.
fn fact(root: &Path, is_at_work: bool, home: Option<&str>, work: LedWork) -> LedWork {
    let (LedWork::Working { .. } | LedWork::Parked { .. }, Some(home), false) = (&work, home, is_at_work) else {
        return work;
    };
    match sight(root, home) {
        Some(Sight::Running) => work,
        // It came to its end, and what follows is a lead's to do.
        Some(Sight::Ended(End { exit: Exit::Code(0), .. })) => LedWork::Turn,
        Some(Sight::Ended(end)) => LedWork::Dead { why: format!("its worker ended: {}", end.exit) },
        Some(Sight::Gone) | None => LedWork::Dead { why: "its worker is gone".to_owned() },
    }
}

/// Where the worker of a home stands, without a lock.
fn sight(root: &Path, home: &str) -> Option<Sight> {
    Worker::adopt(&KeeperProgram::this(), &root.join(home)).ok()?.sight().ok()
}
