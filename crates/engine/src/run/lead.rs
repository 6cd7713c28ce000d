//! The loop.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::time::Duration;

use piton_model::fleet::{Achievement, Decision, FleetEvent, LaneAt, LaneState, Now, Outcome, Request, WorkerState};
use piton_model::{Time, UnitRef};
use piton_supervisor::{Identity, KeeperProgram, Reading, Repository, Signs, Wake, Watch, Worker};

use super::candidacy::Merged;
pub(super) use super::clocks::steady;
use super::commands::LiveCommand;
use super::disk::Trouble;
use super::gates::JudgedGate;
use super::jobs::{JobEnd, Jobs};
use super::lost_lock::lock_file;
use super::memory::Memory;
use super::merging::Key;
use super::other_sources::put_by_git;
use super::others::{OTHERS, Others};
use super::prompt::Templates;
use super::requests::{self, Asked, Signals};
use super::runs::RunRecord;
use super::set_right::Judged;
use super::settings::Settings;
use super::signs::Afar;
use super::sources::Sources;
use super::teller::Teller;
use super::told::EventLog;
use super::view::Published;
use super::work::{Lists, Work};
use super::{Progress, RunEnd, RunError, RunPlan, RunRequest, Surroundings, failed};
use crate::{Recorder, Workspace};

/// The number of the pipe that ended jobs write to; those of signals are smaller.
const JOBS: u64 = 16;

/// Numbers of commands begin here; below are lanes. Those of workers of other runs begin at [`OTHERS`].
pub(super) const GATES: u64 = 1 << 32;

/// How often the workers' signs are looked at, at the least and at the most.
const SLOWEST_LOOK: Duration = Duration::from_secs(1);
const FASTEST_LOOK: Duration = Duration::from_millis(25);

/// A lead at work.
pub(super) struct Lead<'w> {
    pub workspace: &'w Workspace,
    pub settings: Settings,
    pub work: Work,
    pub memory: Memory,
    pub surroundings: Surroundings<'w>,
    pub repository: Option<Repository>,
    pub keeper: KeeperProgram,
    pub templates: Templates,
    pub watch: Watch,
    pub live: HashMap<LaneAt, Live>,
    pub commands: HashMap<u64, LiveCommand>,
    pub jobs: Jobs,
    /// Trees that are being judged.
    pub merged: HashMap<Key, Merged>,
    /// Commands of gates that a person approved with a branch that is merged.
    pub approved_commands: BTreeSet<String>,
    /// Gates that have passed on them.
    pub passed: HashMap<Key, Vec<JudgedGate>>,
    /// The last gate that failed on each.
    pub failed_gates: HashMap<Key, JudgedGate>,
    /// The texts of each plan, by its group, and how each looked just before it was last read.
    pub plans: HashMap<usize, Vec<(String, Option<piton_store::disk::Stamp>)>>,
    /// The documents that workers share, by their group, as they were last judged.
    pub judged: HashMap<usize, Judged>,
    /// Whether one was judged since the memory was saved.
    pub is_judged_due: bool,
    /// The lists of its stories and tasks as they were when this lead began.
    pub lists: Option<Lists>,
    /// How the files of these lists looked when they were last read.
    pub looked_at_lists: Option<Vec<super::edited_lists::Look>>,
    /// Lanes whose units the user took out of their list before they began.
    pub delisted: BTreeSet<LaneAt>,
    /// Units that the lists got since this lead began, which it does not have.
    pub added: Vec<String>,
    /// Lanes whose list named other units to wait for while this lead was at work.
    pub reordered: BTreeSet<LaneAt>,
    /// Lanes that are paused because what their list makes them wait for cannot be.
    pub held_for_list: BTreeSet<LaneAt>,
    /// The files that steer it, as their user has them.
    pub sources: RefCell<Sources>,
    /// Lanes whose end is recorded.
    pub finished: HashSet<LaneAt>,
    /// The attempt of each group's unit, once this lead has claimed it.
    pub claimed: Vec<Option<u64>>,
    pub queue: VecDeque<FleetEvent>,
    pub is_yes: bool,
    /// Whether the user wants what is paused to continue.
    pub is_retry: bool,
    /// Why workers with an account cannot be started, until this lead ends.
    pub unavailable: BTreeMap<String, String>,
    /// Whether something happened that the state of all stories does not say yet.
    pub is_state_due: bool,
    /// The run that this lead leads.
    pub run: RunRecord,
    pub teller: Teller,
    pub others: Others,
    /// What the disk refused to write.
    pub trouble: Trouble,
    signals: Signals,
    /// Requests that were taken and could not be removed.
    kept_requests: BTreeSet<String>,
    /// How many open boxes without an id each plan had when that was last told.
    pub unmarked: BTreeMap<usize, usize>,
    /// The event that last freed each paused lane.
    pub freed: BTreeMap<LaneAt, u64>,
    /// The last event of each lane's unit when this lead began.
    pub begun_with: BTreeMap<LaneAt, u64>,
    /// Units whose document git had taken back, until the state of all stories is written.
    pub restored: BTreeSet<String>,
    /// The event that last freed each halted group.
    pub freed_groups: BTreeMap<usize, u64>,
    /// Files of approvals that were taken and are removed with the next save.
    pub taken_approvals: BTreeSet<String>,
    outcome: Option<Outcome>,
    last_look: Duration,
    last_beat: Duration,
    /// How long the machine had slept.
    pub slept: Duration,
    /// How far the clock on the wall was ahead of one that nobody sets, in seconds.
    pub set_to: i64,
    pub began: Duration,
    /// The file that it holds locked, as the disk knows it.
    pub lock: Option<u64>,
    /// The same by the clock on the wall.
    pub began_at: Time,
}

/// A worker that runs.
pub(super) struct Live {
    pub worker: Worker,
    pub reading: Reading,
    pub signs: Signs,
    /// What the unit's document was when it was last looked at.
    pub document: Option<(String, Option<piton_store::disk::Stamp>)>,
    /// When the last sign came, on the wall.
    pub seen: std::time::SystemTime,
    pub afar: Afar,
    /// Whether its step was called done, and the journal does not say by whom.
    pub is_ticked: bool,
    /// Why it was ended by the lead.
    pub stopped: Option<String>,
}

impl Live {
    /// A worker that was just started or found again.
    pub fn new(worker: Worker, reading: Reading) -> Live {
        let seen = std::time::SystemTime::now();
        // Whatever it printed so far is read with the first look: it may wait for a limit, or have said its session.
        let (signs, afar) = (Signs::default(), Afar::default());
        Live { worker, reading, signs, document: None, seen, afar, is_ticked: false, stopped: None }
    }
}

impl<'w> Lead<'w> {
    /// Takes up what an earlier lead left, or begins.
    pub fn begin(
        workspace: &'w Workspace,
        plan: RunPlan,
        request: &RunRequest,
        surroundings: Surroundings<'w>,
    ) -> Result<Lead<'w>, RunError> {
        let mut watch = Watch::new().map_err(failed)?;
        let signals = Signals::listen(&mut watch).map_err(failed)?;
        let own = Identity::current().ok_or_else(|| failed("cannot tell which process this is"))?;
        let now = (surroundings.clock)();
        let memory = Memory::load(workspace)?;
        if plan.settings.worktrees {
            // A run that git refuses does not begin.
            Repository::find(workspace.root()).map_err(RunError::Git)?;
        }
        let units = plan.work.units();
        let run = RunRecord::begin(workspace, request, (units, &plan.gone), Some(own.clone()), now)?;
        let gone = plan.gone;
        let log = EventLog::open(&workspace.root().join(run.directory())).ok();
        let jobs = Jobs::new()?;
        watch.add_readable(JOBS, &jobs.reader).map_err(failed)?;
        let groups = plan.work.groups.len();
        let steady = steady();
        let mut lead = Lead {
            workspace,
            keeper: KeeperProgram::at(&surroundings.program),
            templates: plan.templates,
            settings: plan.settings,
            work: plan.work,
            memory,
            surroundings,
            repository: None,
            watch,
            live: HashMap::new(),
            commands: HashMap::new(),
            jobs,
            merged: HashMap::new(),
            approved_commands: BTreeSet::new(),
            passed: HashMap::new(),
            failed_gates: HashMap::new(),
            plans: HashMap::new(),
            judged: HashMap::new(),
            is_judged_due: false,
            lists: Lists::read(workspace, &run.wanted),
            looked_at_lists: None,
            delisted: BTreeSet::new(),
            added: Vec::new(),
            reordered: BTreeSet::new(),
            held_for_list: BTreeSet::new(),
            sources: RefCell::default(),
            finished: HashSet::new(),
            claimed: vec![None; groups],
            queue: VecDeque::new(),
            is_yes: request.yes,
            is_retry: request.retry,
            unavailable: BTreeMap::new(),
            is_state_due: false,
            run,
            teller: Teller::new(log, own),
            others: Others::default(),
            trouble: Trouble::default(),
            signals,
            kept_requests: BTreeSet::new(),
            unmarked: BTreeMap::new(),
            freed: BTreeMap::new(),
            restored: BTreeSet::new(),
            begun_with: BTreeMap::new(),
            freed_groups: BTreeMap::new(),
            taken_approvals: BTreeSet::new(),
            outcome: None,
            last_look: steady,
            last_beat: steady,
            slept: Duration::ZERO,
            set_to: 0,
            began: steady,
            lock: lock_file(workspace),
            began_at: now,
        };
        lead.slept = (lead.surroundings.slept)();
        lead.set_to = lead.clock_ahead();
        lead.memory.begin_run(&lead.run, &lead.work.fleet);
        lead.remember_listed();
        Published::keep_other(workspace, lead.run.number, &lead.work.units(), now);
        // From here on readers know who leads; what that lead knows follows.
        let view = lead.view();
        lead.publish(&super::View { lanes: Vec::new(), waiting: Vec::new(), ..view });
        (lead.surroundings.watcher)(&Progress::Leads { run: lead.run.number, directory: &lead.run.directory() });
        lead.open_repository()?;
        for gone in gone {
            let is_there = || UnitRef::parse(&gone).is_ok_and(|unit| crate::find(workspace, &unit, now).is_ok());
            let what = match gone.starts_with("pipeline:") {
                true => "is in no list of stories any more; the run continues without it",
                false if lead.run.lists(workspace).contains_key(&gone) => {
                    "no longer exists; the run continues with what it listed"
                }
                false if is_there() => "is in no list of the run any more; the run continues without it",
                false => "no longer exists; the run continues without it",
            };
            let left = lead.left_behind(&gone);
            lead.tell(None, "gone", &format!("{gone} {what}{left}"));
        }
        if let Some(path) = put_by_git(workspace, &lead.run).filter(|_| request.retry) {
            lead.tell(
                None,
                "led_by",
                &format!("{path} is an earlier version, which git put there; this run continues with it"),
            );
        }
        lead.note_sources()?;
        lead.tell_missing_scripts();
        lead.tell_undefined();
        lead.recover(request)?;
        lead.refresh_accounts();
        lead.free_other_accounts();
        lead.find_others();
        lead.prune();
        let view = lead.view();
        lead.publish(&view);
        Ok(lead)
    }

    /// Leads the run to its end.
    pub fn lead(mut self) -> Result<RunEnd, RunError> {
        match self.until_the_end() {
            // Whatever failed, it failed because `.piton` is not there any more.
            _ if self.is_lock_lost() => Err(self.leave_lost_workspace()),
            Ok(outcome) => self.finish_run(outcome),
            Err(error) => Err(error),
        }
    }

    /// Goes on until the end has been decided.
    fn until_the_end(&mut self) -> Result<Outcome, RunError> {
        self.last_beat = steady();
        self.save()?;
        self.write_state_file(false)?;
        self.queue.push_back(FleetEvent::Begun);
        loop {
            // What the user changed in a plan or a list is known before anything is decided about its tasks.
            self.look_at_edits();
            while let Some(event) = self.queue.pop_front() {
                self.take(event)?;
                self.look_at_edits();
            }
            if let Some(outcome) = self.outcome {
                return Ok(outcome);
            }
            self.write_due_state();
            self.tell_limits();
            self.show();
            self.wait()?;
        }
    }

    fn look_at_edits(&mut self) {
        self.look_at_lists();
        self.look_at_plans();
    }

    /// Decides, writes down, acts.
    fn take(&mut self, event: FleetEvent) -> Result<(), RunError> {
        self.tell_event(&event);
        // Signs come by the hundred; nobody has to remember them.
        let before = (!matches!(event, FleetEvent::SignSeen { .. })).then(|| self.work.fleet.clone());
        self.refresh_accounts();
        let decisions = self.work.fleet.step(event, self.now());
        for (was, is) in before.iter().flat_map(|before| &before.lanes).zip(&self.work.fleet.lanes) {
            if was.counts != is.counts {
                self.memory.lane(&is.name).again.add(&was.counts, &is.counts);
            }
        }
        let is_same = before.is_none_or(|before| same_but_signs(&before, &self.work.fleet));
        if decisions.is_empty() && is_same {
            return Ok(());
        }
        for decision in &decisions {
            match decision {
                // Its last worker is judged; the next lead must not judge it again.
                Decision::Claim { lane } => {
                    let name = self.work.fleet.lanes[*lane].name.clone();
                    self.memory.lane(&name).home = None;
                }
                // Saved with the state that follows from it: the next worker gets the reason even if this lead dies now.
                Decision::Record { lane, what: Achievement::Overruled { why } } | Decision::Rework { lane, why } => {
                    let name = self.work.fleet.lanes[*lane].name.clone();
                    self.memory.lane(&name).rework = vec![why.clone()];
                }
                _ => {}
            }
        }
        self.save()?;
        for decision in decisions {
            if let Decision::EndRun { outcome } = decision {
                // An approval that was given before it was asked for is on its way.
                let is_answer =
                    |event: &FleetEvent| matches!(event, FleetEvent::Approved { .. } | FleetEvent::LaneApproved { .. });
                let goes_on = self.queue.iter().any(is_answer) || self.look_for_reopened();
                match outcome != Outcome::Stopped && goes_on {
                    true => self.work.fleet.ended = false,
                    false => self.outcome = Some(outcome),
                }
                continue;
            }
            self.act(decision)?;
        }
        Ok(())
    }

    /// Waits until something happens, and makes events of it.
    fn wait(&mut self) -> Result<(), RunError> {
        let wakes = self.watch.wait(Some(self.patience())).map_err(failed)?;
        self.look_at_clocks();
        for wake in wakes {
            match wake {
                Wake::Worker(number) if number >= OTHERS => self.other_ended(number),
                Wake::Worker(number) if number >= GATES => self.command_ended(number)?,
                Wake::Worker(number) => self.worker_ended(usize::try_from(number).unwrap_or(usize::MAX))?,
                Wake::Readable(JOBS) => self.jobs_ended()?,
                Wake::Readable(number) => {
                    let asked = self.signals.take(number, steady());
                    self.hear(asked);
                }
            }
        }
        self.end_late_commands();
        let now = steady();
        if now.saturating_sub(self.last_look) >= self.pace() {
            self.last_look = now;
            self.refuse_lost_lock()?;
            let asked = requests::take(self.workspace, &self.teller.own, &mut self.kept_requests);
            self.hear(asked);
            self.look()?;
            self.look_at_others();
        }
        let (steady_timer, wall_timer) = self.work.fleet.next_timer();
        let is_due = steady_timer.is_some_and(|due| due <= now) || wall_timer.is_some_and(|due| due <= self.time());
        if is_due {
            self.look_closely();
            self.queue.push_back(FleetEvent::TimerFired);
        }
        if now >= self.next_beat() {
            self.beat();
        }
        Ok(())
    }

    fn jobs_ended(&mut self) -> Result<(), RunError> {
        for end in self.jobs.ended() {
            match end {
                JobEnd::Prepared(of, candidacy) => self.merge_prepared(of, *candidacy)?,
                JobEnd::Merged(of, result) => self.merge_ended(of, result)?,
            }
        }
        Ok(())
    }

    /// Does what is asked, and says what that is.
    fn hear(&mut self, asked: impl IntoIterator<Item = Asked>) {
        for asked in asked {
            match asked {
                Asked::HangUp => self.hang_up(),
                Asked::To(request, asker) => {
                    self.tell_request(request, &asker);
                    if request == Request::StopWorkers {
                        self.stop_others();
                    }
                    self.queue.push_back(FleetEvent::Requested(request));
                }
            }
        }
    }

    /// How long nothing has to be looked at.
    fn patience(&self) -> Duration {
        let now = steady();
        let (steady_timer, wall_timer) = self.work.fleet.next_timer();
        let until = |due: Duration| due.saturating_sub(now);
        let wall = wall_timer.map(|due| {
            let left = due.unix_seconds().saturating_sub(self.time().unix_seconds());
            Duration::from_secs(u64::try_from(left).unwrap_or(0)).max(Duration::from_millis(50))
        });
        let beat = until(self.next_beat());
        let look = if self.live.is_empty() { SLOWEST_LOOK } else { until(self.last_look + self.pace()) };
        let late = self.command_deadline().map(until);
        [steady_timer.map(until), wall, Some(beat), Some(look), late]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(SLOWEST_LOOK)
    }

    /// How often signs are looked at: often enough for the shortest patience.
    fn pace(&self) -> Duration {
        let limits = &self.settings.limits;
        let shortest = limits.patience.iter().copied().chain([limits.answer, limits.linger]).min();
        (shortest.unwrap_or(SLOWEST_LOOK) / 4).clamp(FASTEST_LOOK, SLOWEST_LOOK)
    }

    /// When the state is written although nothing happened; sooner when the disk refused it.
    fn next_beat(&self) -> Duration {
        self.trouble.retry_at().unwrap_or(self.last_beat + self.settings.heartbeat)
    }

    /// Writes the state although nothing happened. A beat that fails is no reason to stop leading.
    fn beat(&mut self) {
        self.last_beat = steady();
        let saved = self.memory.save(self.workspace, &self.work.fleet).map_err(RunError::from);
        let written = saved.and_then(|()| self.write_state_file(false));
        self.note_write(written);
    }

    pub fn now(&self) -> Now {
        Now { time: self.time(), steady: steady() }
    }

    /// Who records what the lead does.
    pub fn recorder(&self, by: &str) -> Recorder {
        Recorder {
            now: self.time(),
            by: by.to_owned(),
            attempt: None,
            own: None,
            session: None,
            wait: Duration::from_secs(10),
            holder: format!("`piton run`, process {}", std::process::id()),
        }
    }

    /// When this lead began, by the clock on the wall as it is set now.
    pub fn began_at(&self) -> Time {
        self.began_at
    }
}

/// Whether two fleets differ at most in when somebody gave a sign, which nobody has to remember.
fn same_but_signs(before: &piton_model::fleet::Fleet, after: &piton_model::fleet::Fleet) -> bool {
    let plain = |state: &LaneState| match state {
        LaneState::Working(worker) => matches!(
            worker.state,
            WorkerState::Running { .. } | WorkerState::Silent { .. } | WorkerState::Idle { .. } | WorkerState::Spawning
        ),
        _ => false,
    };
    let lanes = before.lanes.iter().zip(&after.lanes);
    before.groups == after.groups
        && before.mode == after.mode
        && before.parked == after.parked
        && lanes.into_iter().all(|(a, b)| a == b || (plain(&a.state) && plain(&b.state) && a.counts == b.counts))
}
