//! What every door says about a run: whether a lead is at work, and what it knows about its units. Judged by facts about
//! processes, read without a lock, and nothing is changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use piton_model::fleet::Outcome;
use piton_model::hint::verbs;
use piton_model::{Arg, Hint, Invocation, LedWork, Patience, State, Time, Unit, UnitRef, judge};
use piton_supervisor::{End, Exit, KeeperProgram, Sight, Worker};

use super::approvals::{is_asked, is_given, is_of_earlier_life};
use super::attach::is_at_work;
use super::by_hand::{standing_pause, taken};
use super::denials;
use super::freed::is_changed;
use super::gates::refused_by_person;
use super::left_work::{continued_by, heir_of};
use super::memory::{MEMORY, Memory};
use super::other_sources::way_back;
use super::recover_groups::taken_by_session;
use super::runs::{self, RunRecord, Wanted};
use super::settings::Settings;
use super::unknown_work::{NOT_ON_BASE, is_on_base};
use super::view::{LaneView, PUBLISHED, Published, View, Waiting, kept};
use super::ways::{Judging, WHEN_MET, Way, brought_back, fetched, ways_out};
use super::work::read_work;
use crate::find::{find_all, find_alone};
use crate::lost::{lost, was_given_up};
use crate::{Workspace, find};

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
    /// The gates that it waits for a person to judge.
    pub judging: Vec<Judging>,
    /// Units that a person paused.
    held: BTreeSet<String>,
    /// Units that are paused for what only a person can do, with what that is.
    asked: BTreeMap<String, Vec<Way>>,
    /// Whether the user approved something that it waited for, and no lead took that yet.
    pub is_approved: bool,
    /// How many units its last lead had no part in, and how many of them are done.
    others: (usize, usize),
    /// Whether a newer run is not finished either.
    is_older: bool,
    /// Whether a unit of it is paused for what its client denied, and that is not allowed yet.
    is_denied: bool,
}

impl RunStatus {
    /// How many of its lanes are done, of all; nothing when that is not known.
    pub fn progress(&self) -> Option<(usize, usize)> {
        let lanes = &self.view.as_ref()?.lanes;
        let done = lanes.iter().filter(|lane| lane.state == "done").count();
        let (others, others_done) = self.others;
        (!lanes.is_empty()).then_some((done + others_done, lanes.len() + others))
    }

    /// Whether its last lead did all that it was asked for, and that was a part of the run.
    pub fn is_part_done(&self) -> bool {
        self.state == RunState::Paused && matches!(self.run.ended, Some((Outcome::Done, _)))
    }

    /// Whether a person has seen to everything of it that its lead left paused.
    pub fn is_freed(&self) -> bool {
        let lanes = || self.view.iter().flat_map(|view| &view.lanes);
        (self.is_part_done() || lanes().any(|lane| lane.work == LedWork::Changed))
            && !lanes().any(|lane| matches!(lane.work, LedWork::Paused { .. }))
    }

    /// The command by which a person approves what it waits for.
    pub fn approval(&self) -> Option<Invocation> {
        let units: BTreeSet<&str> = self.waiting.iter().map(|it| it.unit.as_str()).collect();
        let command = |command: Invocation, unit: &str| command.arg(Arg::unit(unit));
        (!units.is_empty()).then(|| units.into_iter().fold(verbs::APPROVE.call(), command))
    }

    /// What continues it: what a person approves, judges or answers comes before.
    #[track_caller]
    pub fn continuation(&self, why: &str, root: &Path, directory: &Path) -> Hint {
        let command = self.command(root, directory);
        if self.state == RunState::Led {
            return command.to(why.to_owned());
        }
        if let Some(back) =
            self.asked.values().flatten().find(|way| matches!(way, Way::Repair { .. } | Way::Fetch { .. }))
        {
            return back.hint(|options| self.run.command(root, directory, options));
        }
        if let Some(approval) = self.approval() {
            return approval.to(why.to_owned()).then(command);
        }
        if self.is_denied {
            let retry = self.run.command(root, directory, &["--retry"]);
            return denials::allow().to("allow what was denied").then(retry);
        }
        let first = self.judging.first().map(|it| it.unit.as_str()).or_else(|| self.question());
        let step = first.and_then(|unit| self.own_step(unit, root, directory));
        step.unwrap_or_else(|| command.to(why.to_owned()))
    }

    /// The commands of its continuation alone, as they can be typed in a directory.
    #[track_caller]
    pub fn next_commands(&self, root: &Path, directory: &Path) -> String {
        let mut next = self.continuation("", root, directory);
        if !next.commands.is_empty() {
            next.text = "".into();
        }
        next.to_string()
    }

    /// What only a person can do about one of its units, and the command that continues the run then.
    #[track_caller]
    pub fn own_step(&self, unit: &str, root: &Path, directory: &Path) -> Option<Hint> {
        let run = |options: &[&'static str]| self.run.command(root, directory, options);
        let options: &[&'static str] = if self.held.contains(unit) { &["--retry"] } else { &[] };
        let judging = self.judging.iter().find(|it| it.unit == unit);
        let judging = judging.map(|it| it.command().to(WHEN_MET).then(run(options)));
        let asked = || self.asked.get(unit)?.first().map(|way| way.hint(run));
        let held = || self.held.contains(unit).then(|| run(&["--retry"]).to("a person paused it; continue it"));
        judging.or_else(asked).or_else(held)
    }

    /// The unit that a person sees to first, where nothing of the run can continue before.
    fn question(&self) -> Option<&str> {
        let lanes = || self.view.iter().flat_map(|view| &view.lanes);
        let can_continue = |lane: &LaneView| match &lane.work {
            LedWork::Paused { why } => !waits(why) && !self.asked.contains_key(&lane.unit),
            LedWork::Changed => !self.asked.contains_key(&lane.unit),
            // What an ended run left so waits for what is paused.
            LedWork::Turn
            | LedWork::Dead { .. }
            | LedWork::Parked { .. }
            | LedWork::Closing
            | LedWork::Working { .. } => self.state != RunState::Paused && !self.asked.contains_key(&lane.unit),
            LedWork::Settled | LedWork::Approval { .. } => false,
        };
        let first = self.asked.keys().next().map(String::as_str);
        first.filter(|_| !self.is_approved && !lanes().any(can_continue))
    }

    /// Whether nothing is left of it but what is paused.
    fn is_all_paused(&self) -> bool {
        let lanes = self.view.iter().flat_map(|view| &view.lanes);
        let left: Vec<_> = lanes.filter(|lane| lane.state != "done").collect();
        let is_paused = |lane: &&LaneView| matches!(lane.work, LedWork::Paused { .. });
        !left.is_empty() && self.waiting.is_empty() && left.iter().all(is_paused)
    }

    /// The command that shows a run that is led, or continues one that is not, as it can be typed in a directory.
    fn command(&self, root: &Path, directory: &Path) -> Invocation {
        let is_retried = match self.state {
            RunState::Led => return verbs::RUN.call(),
            RunState::Paused => !self.is_freed() && self.waiting.is_empty() && !self.is_approved,
            RunState::NoLead | RunState::Stopped => self.is_all_paused(),
        };
        let options: &[&'static str] = if is_retried { &["--retry"] } else { &[] };
        match self.is_older && is_retried {
            true => self.run.named().command(root, directory, options),
            false => self.run.command(root, directory, options),
        }
    }
}

/// The run that a lead is at work on, or else the newest that is not finished; nothing when there is none.
pub fn run_status(workspace: &Workspace, now: Time) -> Option<RunStatus> {
    let published = Published::read(workspace, now);
    let led = published.as_ref().filter(|published| is_at_work(workspace, &published.lead));
    let run = match led {
        Some(published) => runs::load(&*workspace.disk, published.run),
        None => runs::all(workspace).find(|run| !run.is_finished && !is_given_up(workspace, run, now)),
    }?;
    Some(status_of(workspace, run, published, now))
}

/// Whether the user gave up all that is left of a run: a commit removed the documents, or another agent took the work over
/// and did it.
fn is_given_up(workspace: &Workspace, run: &RunRecord, now: Time) -> bool {
    let units = run.units.iter().filter_map(|name| UnitRef::parse(name).ok());
    let is_done = |unit: &UnitRef| find(workspace, unit, now).is_ok_and(|found| found.unit.state == State::Done);
    let mut left = units.filter(|unit| !is_done(unit)).peekable();
    // The run asks about commits that the earlier agent left on its branch.
    let is_left = |unit: &UnitRef| {
        let memory = Memory::load(workspace).unwrap_or_default();
        memory.lanes.get(&unit.to_string()).is_some_and(|known| known.branch.is_some() && known.merged.is_none())
    };
    let is_gone = |unit: UnitRef| {
        lost(workspace, &unit, now).is_some_and(|lost| was_given_up(workspace, &lost))
            || heir_of(workspace, &unit, now).is_some_and(|(_, heir)| heir.state == State::Done) && !is_left(&unit)
    };
    left.peek().is_some() && left.all(is_gone)
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
    let is_led = run.lead.as_ref().is_some_and(|lead| run.ended.is_none() && is_at_work(workspace, lead));
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
    let mut view = own.map(|published| published.view);
    if state != RunState::Led {
        // Its last lead may have had a part of it; what was known about the rest is kept.
        let kept = Published::read_kept(workspace, run.number, now).filter(|_| is_last);
        if let (Some(view), Some(kept)) = (&mut view, kept) {
            let own: BTreeSet<String> = view.lanes.iter().map(|lane| lane.unit.clone()).collect();
            let is_of_run = |lane: &LaneView| run.units.contains(&lane.unit) && !own.contains(&lane.unit);
            // What only waited for another lane may begin with the next lead.
            let waits = |work: &LedWork| matches!(work, LedWork::Paused { why } if waits(why));
            let mut kept: Vec<LaneView> = kept.view.lanes.into_iter().filter(is_of_run).collect();
            kept.iter_mut().filter(|lane| waits(&lane.work)).for_each(|lane| lane.work = LedWork::Turn);
            view.lanes.extend(kept);
        }
        for lane in view.iter_mut().flat_map(|view| &mut view.lanes) {
            lane.work = since(workspace, Some(&run), lane, now);
        }
    }
    let asked: Vec<Waiting> = view.as_ref().map_or(&run.waiting, |view| &view.waiting).clone();
    let (asked, past): (Vec<Waiting>, Vec<Waiting>) = asked.into_iter().partition(|it| is_asked(workspace, it, now));
    if let Some(view) = view.as_mut().filter(|_| state != RunState::Led) {
        past.iter().for_each(|it| reopen(&mut view.lanes, it, is_of_earlier_life(workspace, it, now)));
    }
    let (given, waiting): (Vec<Waiting>, Vec<Waiting>) = asked.into_iter().partition(|it| is_given(workspace, it, now));
    let has_lane = |unit: &&String| view.iter().flat_map(|view| &view.lanes).any(|lane| lane.unit == **unit);
    let others: Vec<&String> = run.units.iter().filter(|unit| !has_lane(unit)).collect();
    let is_done = |unit: &&&String| {
        let found = UnitRef::parse(unit).ok().and_then(|unit| crate::find(workspace, &unit, now).ok());
        found.is_some_and(|found| found.unit.state == State::Done)
    };
    let others = (others.len(), others.iter().filter(is_done).count());
    let is_older = run.is_older(workspace);
    let (mut judging, mut asked, mut held) = (Vec::new(), BTreeMap::new(), BTreeSet::new());
    if let Some(view) = view.as_mut().filter(|_| state != RunState::Led) {
        let left = view.lanes.iter().filter(|lane| lane.state != "done").map(|lane| lane.unit.clone());
        let judged = view.judging.iter().map(|it| it.unit.clone());
        let units = find_all(workspace, &left.chain(judged).collect(), now);
        held = hold_paused(workspace, &mut view.lanes, &units, now);
        // What a person refused goes back to its worker.
        let is_refused = |it: &Judging, unit: &Unit| {
            let events = UnitRef::parse(&it.unit).ok().and_then(|unit| crate::log(workspace, &unit, now).ok());
            let events = events.map(|log| log.log.events).unwrap_or_default();
            refused_by_person(unit.dialect, &events, &it.gate, it.step.as_deref()).is_some()
        };
        let is_open = |it: &&Judging| units.get(&it.unit).is_some_and(|unit| it.is_open(unit) && !is_refused(it, unit));
        judging.extend(view.judging.iter().filter(is_open).cloned());
        asked = ways_of(workspace, &view.lanes, &units, now);
        let files = run.wanted.iter().filter_map(|wanted| match wanted {
            Wanted::File(file) => Some(file),
            Wanted::Unit(_) => None,
        });
        let way = files.into_iter().find_map(|file| fetched(workspace, file));
        if let Some(way) = way.or_else(|| way_back(workspace, &run)) {
            let open = view.lanes.iter().filter(|lane| lane.state != "done");
            asked.extend(open.map(|lane| (lane.unit.clone(), vec![way.clone()])));
        }
    }
    let run = match view.as_ref().filter(|_| state != RunState::Led) {
        Some(view) => listed_run(workspace, run, &view.lanes, now),
        None => run,
    };
    let is_approved = !given.is_empty();
    let is_denied = view.as_ref().is_some_and(|view| is_denied(workspace, &view.lanes));
    RunStatus {
        pid,
        state,
        view,
        workers,
        seen,
        waiting,
        judging,
        held,
        asked,
        is_approved,
        others,
        is_older,
        is_denied,
        run,
    }
}

/// Lanes of a unit that does not wait for an approval any more: the run continues with them. `is_anew` says that the unit was
/// begun anew, so that nothing of it is done.
fn reopen(lanes: &mut [LaneView], past: &Waiting, is_anew: bool) {
    for lane in lanes.iter_mut().filter(|lane| lane.unit == past.unit) {
        match lane.work {
            LedWork::Settled if is_anew => (lane.work, lane.state) = (LedWork::Changed, "queued".into()),
            LedWork::Turn => lane.work = LedWork::Changed,
            _ => {}
        }
    }
}

/// Whether a lane is paused for what its client denied, and that is not allowed yet.
fn is_denied(workspace: &Workspace, lanes: &[LaneView]) -> bool {
    let paused = |lane: &&LaneView| matches!(&lane.work, LedWork::Paused { why } if denials::is_denial(why));
    let units: BTreeSet<&str> = lanes.iter().filter(paused).map(|lane| lane.unit.as_str()).collect();
    !units.is_empty() && denials::denied(workspace).iter().any(|each| units.contains(each.unit.as_str()))
}

/// The run, with its open units named where the files that were named for it list none of them any more.
fn listed_run(workspace: &Workspace, run: RunRecord, lanes: &[LaneView], now: Time) -> RunRecord {
    let open: BTreeSet<String> =
        lanes.iter().filter(|lane| lane.state != "done").map(|lane| lane.unit.clone()).collect();
    let is_file = |wanted: &Wanted| matches!(wanted, Wanted::File(_));
    if open.is_empty() || !run.wanted.iter().any(is_file) {
        return run;
    }
    let wanted: Vec<String> = run.wanted.iter().map(|wanted| wanted.opened(workspace.root())).collect();
    let settings = Settings::load(workspace).ok();
    let listed = settings.and_then(|settings| read_work(workspace, &settings, &wanted, now).ok());
    match listed.is_some_and(|work| work.units().is_disjoint(&open)) {
        true => RunRecord { wanted: open.into_iter().map(Wanted::Unit).collect(), ..run },
        false => run,
    }
}

/// What only a person can do about units that are left to be done.
fn ways_of(
    workspace: &Workspace,
    lanes: &[LaneView],
    units: &BTreeMap<String, Unit>,
    now: Time,
) -> BTreeMap<String, Vec<Way>> {
    let mut reasons: BTreeMap<&String, Vec<&str>> = BTreeMap::new();
    for lane in lanes.iter().filter(|lane| lane.state != "done") {
        let own = reasons.entry(&lane.unit).or_default();
        if let LedWork::Paused { why } = &lane.work
            && !waits(why)
        {
            own.push(why);
        }
    }
    let own = |name: &String, reasons: &[&str]| match units.get(name) {
        Some(unit) => Some(ways_out(workspace, name, unit, reasons, now)),
        None => {
            let (heir, unit) = heir_of(workspace, &UnitRef::parse(name).ok()?, now)?;
            let continued = continued_by(&heir, &unit).to(format!("{name} was taken over; continue it as {heir}"));
            (unit.state != State::Done).then(|| vec![Way::Other(continued)])
        }
    };
    let ways = reasons.into_iter().filter_map(|(name, reasons)| {
        let ways = brought_back(workspace, name, &reasons, now).or_else(|| own(name, &reasons))?;
        Some((name.clone(), ways))
    });
    ways.filter(|(_, ways)| !ways.is_empty()).collect()
}

/// A unit that a person paused waits until they continue it, wherever its last lead left it. Returns these units.
fn hold_paused(
    workspace: &Workspace,
    lanes: &mut [LaneView],
    units: &BTreeMap<String, Unit>,
    now: Time,
) -> BTreeSet<String> {
    let pause = |(name, unit): (&String, &Unit)| {
        let why = standing_pause(workspace, &UnitRef::parse(name).ok()?, unit, now)?;
        Some((name.clone(), why))
    };
    let pauses: BTreeMap<String, String> = units.iter().filter_map(pause).collect();
    for lane in lanes.iter_mut() {
        let is_open = match lane.work {
            LedWork::Turn | LedWork::Dead { .. } | LedWork::Parked { .. } | LedWork::Closing => true,
            LedWork::Settled | LedWork::Paused { .. } | LedWork::Changed | LedWork::Approval { .. } => false,
            LedWork::Working { .. } => false,
        };
        if let Some(why) = pauses.get(&lane.unit).filter(|_| is_open) {
            lane.work = LedWork::Paused { why: why.clone() };
        }
    }
    // What waits for a lane that is paused cannot begin.
    while let Some((at, why)) = waits_for_paused(lanes) {
        lanes[at].work = LedWork::Paused { why };
    }
    pauses.into_keys().collect()
}

/// A lane that has its turn, and waits for one that is paused.
fn waits_for_paused(lanes: &[LaneView]) -> Option<(usize, String)> {
    let is_paused =
        |name: &&String| lanes.iter().any(|lane| lane.name == **name && matches!(lane.work, LedWork::Paused { .. }));
    let waiting = lanes.iter().enumerate().filter(|(_, lane)| lane.work == LedWork::Turn && lane.state != "done");
    let mut waiting = waiting.filter_map(|(at, lane)| Some((at, lane.after.iter().find(is_paused)?)));
    waiting.next().map(|(at, before)| (at, format!("waits for {before} (paused)")))
}

/// Whether a lane was paused only because another one is.
pub(super) fn waits(why: &str) -> bool {
    why.starts_with("waits for ") && why.ends_with(')')
}

/// When the last lead wrote last: what it knows, or a heartbeat.
pub(super) fn last_sign(workspace: &Workspace) -> Option<Time> {
    [PUBLISHED, MEMORY].into_iter().filter_map(|path| written(workspace, path)).max()
}

pub(super) fn written(workspace: &Workspace, path: &str) -> Option<Time> {
    let modified = workspace.root().join(path).symlink_metadata().ok()?.modified().ok()?;
    let seconds = modified.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs();
    Some(Time::from_unix_seconds(i64::try_from(seconds).ok()?))
}

/// What the state in which a lead that is gone left a lane means now: its worker's process tells, and what a person did.
pub(super) fn since(workspace: &Workspace, run: Option<&RunRecord>, lane: &LaneView, now: Time) -> LedWork {
    let work = lane.work.clone();
    if matches!(&work, LedWork::Paused { why } if why.contains(NOT_ON_BASE)) && is_on_base(workspace, run, lane, now) {
        return LedWork::Changed;
    }
    if let (LedWork::Paused { .. }, Some(known)) = (&work, lane.known) {
        let Ok(unit) = UnitRef::parse(&lane.unit) else { return work };
        let events = crate::log(workspace, &unit, now).map(|log| log.log.events).unwrap_or_default();
        let step = lane.step();
        if !is_changed(&events, step, known) {
            return work;
        }
        let taken = find_alone(workspace, &unit, now).and_then(|unit| {
            let liveness = judge(&unit.claim, &unit.signs, Patience::of(unit.dialect), now).liveness;
            match step {
                Some(_) => taken_by_session(&unit, liveness, &events),
                None => taken(unit.dialect, &events, liveness),
            }
        });
        return taken.map_or(LedWork::Changed, |why| LedWork::Paused { why });
    }
    let (LedWork::Working { .. } | LedWork::Parked { .. }, Some(home)) = (&work, lane.home.as_deref()) else {
        return work;
    };
    match sight(workspace.root(), home) {
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
