//! Commands that the lead itself runs: gates, and the set-up of worktrees. Each has a keeper, a time limit and a home in
//! which its output stays, and the loop never waits for it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use piton_model::fleet::{FleetEvent, GateOf, GateResult, How, LaneAt, MergeOf, Prepared};
use piton_model::hint::verbs;
use piton_model::{Evidence, Rework};
use piton_supervisor::{About, End, Exit, Launch, Stream, Worker, tail, tree_of};

use super::lead::{GATES, Lead, steady};
use super::memory::DIRECTORY;
use super::scripts::missing_script;
use super::{RunError, failed};
use crate::evidence::evidence_of;

/// How much of the end of an output is kept, and how many lines of it are given to a worker.
const TAIL: usize = 16_000;
const TAIL_LINES: usize = 30;

/// What the set-up of a worktree is called where gates have a name.
const SETUP: &str = "worktree setup";

/// The shell's exit codes for a command that cannot be executed or is not there.
const NOT_EXECUTABLE: i32 = 126;
const NOT_FOUND: i32 = 127;

/// A command that runs.
pub(super) struct LiveCommand {
    purpose: Purpose,
    command: String,
    /// The tree of the commit that it runs on.
    tree: Option<String>,
    worker: Worker,
    home: String,
    /// When its time is over, by the steady clock.
    deadline: Duration,
    /// Why the lead ended it.
    ended: Option<Ended>,
}

impl LiveCommand {
    /// Ends it, by its keeper or without. That it has ended is seen as always.
    fn stop(&mut self, why: Ended) {
        self.ended = Some(why);
        if self.worker.stop_now().is_err() {
            self.worker.end_by_mark();
        }
    }

    /// Ends it although its home is gone.
    pub(super) fn end_by_mark(&self) {
        self.worker.end_by_mark();
    }
}

/// What a command is run for.
#[derive(Debug, Clone)]
pub(super) enum Purpose {
    /// It judges something.
    Gate {
        /// Whose gate.
        of: GateOf,
        /// Its name.
        gate: String,
    },
    /// It sets up a lane's worktree, before a worker is started in this way.
    Lane(LaneAt, How),
    /// It sets up the tree that is to be judged.
    Scratch(MergeOf),
}

/// Why the lead ended a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    TooLong,
    Stopped,
}

/// How a command ended, in the terms that a reader needs.
struct Report {
    evidence: Evidence,
    /// `exit code 1`, `signal 9`.
    exit: String,
    /// The last lines that it printed.
    tail: String,
    /// Why it judged nothing, if so.
    broken: Option<String>,
}

impl Lead<'_> {
    /// Starts the command of a gate. A person approved `is_own`, the version of the branch that it judges, with the branch.
    pub(super) fn start_gate(
        &mut self,
        purpose: Purpose,
        command: &str,
        directory: PathBuf,
        is_own: bool,
    ) -> Result<(), String> {
        match is_own {
            true => self.start_approved(purpose, command, directory),
            false => self.start_command(purpose, command, directory),
        }
    }

    pub(super) fn start_command(&mut self, purpose: Purpose, command: &str, directory: PathBuf) -> Result<(), String> {
        if !crate::is_approved(&crate::Trust::of(self.workspace, command)) {
            let approve = verbs::APPROVE.call();
            return Err(approve.to(format!("its command is not approved: {command}; approve it with")).to_string());
        }
        self.start_approved(purpose, command, directory)
    }

    fn start_approved(&mut self, purpose: Purpose, command: &str, directory: PathBuf) -> Result<(), String> {
        let root = self.workspace.root().to_owned();
        let tree = self.repository.is_some().then(|| tree_of(&directory)).flatten();
        self.memory.gates_started += 1;
        let number = self.memory.gates_started;
        let home = format!("{DIRECTORY}/gates/{number}");
        self.memory.gate_homes.push(home.clone());
        self.save().map_err(|_| "cannot write the run's memory".to_owned())?;
        let launch = Launch::new(["/bin/sh", "-c", command], directory).set("PITON_ROOT", root.display().to_string());
        let launch = launch.about(self.about_command(&purpose));
        let worker = Worker::start(&self.keeper, &root.join(&home), &launch).map_err(|error| error.to_string())?;
        self.watch.add(GATES + number, &worker).map_err(|error| error.to_string())?;
        let deadline = steady().saturating_add(self.settings.gate_timeout);
        let command = command.to_owned();
        let live = LiveCommand { purpose, command, tree, worker, home, deadline, ended: None };
        self.commands.insert(GATES + number, live);
        Ok(())
    }

    /// Whose command it is, so that its output is found by the unit.
    fn about_command(&self, purpose: &Purpose) -> About {
        let lane = |at: LaneAt| (Some(self.work.lanes[at].unit_name.clone()), self.work.lanes[at].step.clone());
        let group = |group: usize| (self.work.groups[group].unit.as_ref().map(ToString::to_string), None);
        let ((unit, step), gate) = match purpose {
            Purpose::Gate { of: GateOf::Lane(at), gate } => (lane(*at), gate.as_str()),
            Purpose::Gate { of: GateOf::Phase(of, _), gate } => (group(*of), gate.as_str()),
            Purpose::Lane(at, _) | Purpose::Scratch(MergeOf::Lane(at)) => (lane(*at), SETUP),
            Purpose::Scratch(MergeOf::Phase(of, _)) => (group(*of), SETUP),
        };
        let (gate, started) = (Some(gate.to_owned()), Some(self.time().unix_seconds()));
        About { unit, step, gate, started, ..About::default() }
    }

    /// How many gates and set-up commands run.
    pub(super) fn running_commands(&self) -> usize {
        self.commands.values().filter(|live| live.ended.is_none()).count()
    }

    /// When the first running command's time is over.
    pub(super) fn command_deadline(&self) -> Option<Duration> {
        self.commands.values().filter(|live| live.ended.is_none()).map(|live| live.deadline).min()
    }

    /// Ends commands whose time is over.
    pub(super) fn end_late_commands(&mut self) {
        let now = steady();
        for live in self.commands.values_mut().filter(|live| live.ended.is_none() && live.deadline <= now) {
            live.stop(Ended::TooLong);
        }
    }

    /// Ends all commands, because the run is being stopped.
    pub(super) fn stop_commands(&mut self) {
        for live in self.commands.values_mut().filter(|live| live.ended.is_none()) {
            live.stop(Ended::Stopped);
        }
    }

    /// A command's process has ended.
    pub(super) fn command_ended(&mut self, number: u64) -> Result<(), RunError> {
        let Some(live) = self.commands.remove(&number) else { return Ok(()) };
        let Some(end) = live.worker.end() else {
            self.watch.add(number, &live.worker).map_err(failed)?;
            self.commands.insert(number, live);
            return Ok(());
        };
        self.memory.gate_homes.retain(|home| *home != live.home);
        let report = self.report(&live, &end);
        match live.purpose.clone() {
            Purpose::Gate { of, gate } => self.gate_reported(of, gate, &live, report),
            Purpose::Lane(at, how) => self.lane_set_up(at, how, &live, &report),
            Purpose::Scratch(of) => self.scratch_set_up(of, &live, report),
        }
    }

    fn report(&self, live: &LiveCommand, end: &End) -> Report {
        let read = |stream| tail(live.worker.home(), stream, live.worker.spool(), TAIL).unwrap_or_default();
        let mut printed = read(Stream::Out);
        printed.extend(read(Stream::Err));
        let exit_code = match &end.exit {
            Exit::Code(code) => *code,
            Exit::Signal(signal) => 128 + signal,
            Exit::NotStarted { .. } | Exit::Vanished => 128,
        };
        let text = String::from_utf8_lossy(&printed).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        let tail = lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n");
        let tail = piton_model::secret::mask(&tail).into_owned();
        let limit = self.settings.gate_timeout.as_secs();
        let broken = match (live.ended, &end.exit) {
            (Some(Ended::TooLong), _) => Some(format!("`{}` ran longer than {limit} s and was ended", live.command)),
            (_, Exit::Code(NOT_EXECUTABLE | NOT_FOUND)) => {
                let last = lines.last().copied().unwrap_or_default();
                Some(format!("`{}` ended with {}: {last}", live.command, end.exit))
            }
            (_, Exit::Code(0)) => None,
            (_, Exit::Code(_)) => missing_script(&live.command, &live.worker.launch().directory, self.workspace.root())
                .map(|why| format!("`{}` ended with {}: {why}", live.command, end.exit)),
            (_, exit) => Some(format!("`{}` ended with {exit}", live.command)),
        };
        let evidence = evidence_of(&live.command, exit_code, &printed, live.tree.clone());
        Report { evidence, exit: end.exit.to_string(), tail, broken }
    }

    fn gate_reported(&mut self, of: GateOf, gate: String, live: &LiveCommand, report: Report) -> Result<(), RunError> {
        let has_passed = report.evidence.exit_code == 0 && report.broken.is_none();
        let result = match (live.ended, report.broken) {
            (Some(Ended::Stopped), _) => GateResult::Stopped,
            (_, Some(why)) => GateResult::Broken { why },
            (_, None) if has_passed => GateResult::Passed,
            (_, None) => GateResult::Failed(Rework::GateFailed {
                gate: gate.clone(),
                command: live.command.clone(),
                exit: report.exit,
                tail: report.tail,
            }),
        };
        self.gate_judged(of, gate, result, report.evidence)
    }

    /// Copies files into a lane's new worktree and runs its set-up command; says whether that has ended already.
    pub(super) fn set_up_lane(&mut self, at: LaneAt, how: How) -> Result<bool, String> {
        let name = self.work.fleet.lanes[at].name.clone();
        let settings = self.settings.worktree_settings();
        let memory = self.memory.lane(&name);
        if self.repository.is_none() {
            return Ok(true);
        }
        let (is_set_up, is_same) = (memory.is_set_up, memory.set_up_by == settings);
        let is_undone = self.copy_to_lane(at, is_set_up)?;
        if is_set_up && is_same && !is_undone {
            return Ok(true);
        }
        let Some(command) = self.settings.worktree_setup.clone() else {
            let memory = self.memory.lane(&name);
            (memory.is_set_up, memory.set_up_by) = (true, settings);
            return Ok(true);
        };
        self.tell_lane(at, "setup", &format!("setting up its worktree: {command}"));
        self.start_command(Purpose::Lane(at, how), &command, self.directory_of(at))?;
        Ok(false)
    }

    fn lane_set_up(&mut self, at: LaneAt, how: How, live: &LiveCommand, report: &Report) -> Result<(), RunError> {
        let name = self.work.fleet.lanes[at].name.clone();
        let has_passed = report.evidence.exit_code == 0 && report.broken.is_none();
        let word = if has_passed { "passed" } else { "failed" };
        let summary = format!("{word}: `{}` ended with {}", live.command, report.exit);
        self.memory.lane(&name).gates.push((SETUP.to_owned(), summary));
        match (live.ended, has_passed) {
            (Some(Ended::Stopped), _) => self.not_started(at, how),
            (_, true) => {
                let settings = self.settings.worktree_settings();
                let memory = self.memory.lane(&name);
                (memory.is_set_up, memory.set_up_by) = (true, settings);
                self.note_set_up_files(at);
                self.save()?;
                self.go_on_starting(at, how)
            }
            (_, false) => {
                let why = report.broken.clone().unwrap_or_else(|| {
                    let last = report.tail.lines().next_back().unwrap_or_default();
                    format!("`{}` ended with {}: {last}", live.command, report.exit)
                });
                let message = format!("the worktree setup failed: {why}");
                self.memory.issues.push((name, SETUP.to_owned(), message.clone()));
                self.queue.push_back(FleetEvent::StartFailed { lane: at, message });
                Ok(())
            }
        }
    }

    /// Sets up the tree that is to be judged, as a worker's worktree is.
    pub(super) fn set_up_scratch(&mut self, of: MergeOf, directory: &Path) -> Result<(), RunError> {
        let begun = self.copy_to_scratch(directory).and_then(|()| match self.settings.worktree_setup.clone() {
            Some(command) => self.start_command(Purpose::Scratch(of), &command, directory.to_owned()).map(|()| true),
            None => Ok(false),
        });
        match begun {
            Ok(true) => {}
            Ok(false) => self.tell_prepared(of),
            Err(reason) => self.queue.push_back(FleetEvent::Prepared { of, result: Prepared::Refused { reason } }),
        }
        Ok(())
    }

    fn scratch_set_up(&mut self, of: MergeOf, live: &LiveCommand, report: Report) -> Result<(), RunError> {
        let has_passed = report.evidence.exit_code == 0 && report.broken.is_none();
        if has_passed {
            self.tell_prepared(of);
            return Ok(());
        }
        let result = match report.broken {
            // Ended by a person, like a gate that was stopped: no verdict about the tree.
            _ if live.ended == Some(Ended::Stopped) => Prepared::Stopped,
            Some(why) => Prepared::Refused { reason: format!("the setup of the merged worktree failed: {why}") },
            // It passed in the lane's own worktree: the merged tree is what it fails on.
            None => Prepared::Rework(Rework::GateFailed {
                gate: SETUP.to_owned(),
                command: live.command.clone(),
                exit: report.exit,
                tail: report.tail,
            }),
        };
        self.queue.push_back(FleetEvent::Prepared { of, result });
        Ok(())
    }
}
