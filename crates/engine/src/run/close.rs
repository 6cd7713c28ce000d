//! What the lead does itself: runs gates, records ends, pauses groups.

use std::path::PathBuf;

use piton_model::fleet::{FleetEvent, GateOf, LaneAt, LaneState};
use piton_model::{Dialect, Event, Evidence, GateJudgement, GateState, Lifecycle, NotePurpose, StepMove, StepTo};
use piton_supervisor::{Condition, Exit, Launch, Stream, Worker, tail, tree_of};

use super::claim::{explain, plain};
use super::lead::{GATES, Lead};
use super::memory::DIRECTORY;
use super::work::{COMPLETE, LaneWork};
use super::{RunError, failed};
use crate::evidence::evidence_of;
use crate::record;
use crate::record::record_with;

/// How much of the end of a gate's output is kept.
const TAIL: usize = 4000;

/// A gate that runs.
pub(super) struct LiveGate {
    of: GateOf,
    /// What the fleet waits for.
    gate: String,
    /// The gate of the unit that is judged by it: the same, or one of those that are left at the end.
    judges: String,
    step: Option<String>,
    command: String,
    /// The tree of the commit that it runs on.
    tree: Option<String>,
    worker: Worker,
    home: String,
}

impl Lead<'_> {
    /// Starts a gate's command as a process that the next lead could find, and does not wait for it.
    pub(super) fn run_gate(&mut self, of: GateOf, gate: &str) -> Result<(), RunError> {
        let begun = self.begin_gate(of, gate);
        let result = match begun {
            Ok(None) => return Ok(()),
            Ok(Some(())) => Ok(()),
            Err(why) => Err(why),
        };
        self.tell_gate(of, gate, &result);
        self.queue.push_back(FleetEvent::GateEnded { of, gate: gate.to_owned(), result });
        Ok(())
    }

    /// Nothing when a process was started; something when the gate is judged already.
    fn begin_gate(&mut self, of: GateOf, gate: &str) -> Result<Option<()>, String> {
        let (group, lane) = self.whose(of);
        if self.work.groups[group].dialect == Dialect::Crew {
            return self.sync_point().map(Some);
        }
        if gate == COMPLETE {
            return self.complete_unit(of, group);
        }
        if self.has_passed(group, gate, lane) {
            return Ok(Some(()));
        }
        let step = lane.and_then(|at| self.work.lanes[at].step.clone());
        let Some(command) = self.gate_command(group, gate) else {
            let unit = &self.work.fleet.groups[group].name;
            let step = step.map_or_else(String::new, |step| format!(" --step {step}"));
            return Err(format!(
                "no command is known for it; give one in piton.toml, [gates] {} = \"COMMAND\", or judge it: \
                 piton gate {unit} pass {gate}{step} --evidence COMMAND; then piton run {unit} --retry",
                toml_key(gate)
            ));
        };
        self.start_gate(of, gate, gate.to_owned(), step, command)
    }

    pub(super) fn gate_command(&self, group: usize, gate: &str) -> Option<String> {
        let named = self.work.groups[group].gates.iter().find(|(name, _)| name == gate).map(|(_, command)| command);
        named.or_else(|| self.settings.gates.get(gate)).cloned()
    }

    /// Runs what is left of a unit's gates, each once, and records that the unit is done.
    fn complete_unit(&mut self, of: GateOf, group: usize) -> Result<Option<()>, String> {
        let Some(unit) = self.work.groups[group].unit.clone() else { return Ok(Some(())) };
        let found = crate::find(self.workspace, &unit, self.time()).map_err(|error| error.to_string())?;
        if found.unit.state.lifecycle() == Lifecycle::Done {
            return Ok(Some(()));
        }
        let is_left = |gate: &&piton_model::Gate| {
            let key = (gate.name.clone(), gate.step.clone());
            let has_passed = matches!(gate.state, GateState::Passed { .. });
            !self.judged.contains(&key) && (!has_passed || self.is_mere_word(group, &unit, gate))
        };
        let left = found.unit.gates.iter().filter(is_left);
        let known = left.into_iter().find_map(|gate| Some((gate.clone(), self.gate_command(group, &gate.name)?)));
        if let Some((gate, command)) = known {
            self.judged.push((gate.name.clone(), gate.step.clone()));
            return self.start_gate(of, COMPLETE, gate.name, gate.step, command);
        }
        record(self.workspace, &unit, &Event::Finished, &self.recorder("lead")).map_err(explain)?;
        Ok(Some(()))
    }

    pub(super) fn start_gate(
        &mut self,
        of: GateOf,
        gate: &str,
        judges: String,
        step: Option<String>,
        command: String,
    ) -> Result<Option<()>, String> {
        if !crate::is_approved(&crate::Trust::of(self.workspace, &command)) {
            return Err(format!("its command is not approved: {command}"));
        }
        let root = self.workspace.root().to_owned();
        if let GateOf::Lane(at) = of
            && self.work.fleet.lanes[at].gates_first
        {
            // A lead that died at the very end has removed it already; its branch has everything.
            self.ensure_worktree(at)?;
        }
        let directory = self.gate_directory(of);
        let tree = self.repository.is_some().then(|| tree_of(&directory)).flatten();
        self.memory.gates_started += 1;
        let number = self.memory.gates_started;
        let home = format!("{DIRECTORY}/gates/{number}");
        self.memory.gate_homes.push(home.clone());
        self.save().map_err(|_| "the lead's memory cannot be written".to_owned())?;
        let launch = Launch::new(["/bin/sh", "-c", &command], directory).set("PITON_ROOT", root.display().to_string());
        let worker = Worker::start(&self.keeper, &root.join(&home), &launch).map_err(|error| error.to_string())?;
        self.watch.add(GATES + number, &worker).map_err(|error| error.to_string())?;
        let gate = gate.to_owned();
        self.gates.insert(GATES + number, LiveGate { of, gate, judges, step, command, tree, worker, home });
        Ok(None)
    }

    /// The group and the lane that a gate is about.
    fn whose(&self, of: GateOf) -> (usize, Option<LaneAt>) {
        match of {
            GateOf::Lane(at) | GateOf::Proof(at) => (self.work.fleet.lanes[at].group, Some(at)),
            GateOf::Phase(group, _) => (group, None),
        }
    }

    /// Where a gate is run: in the lane's worktree when what it judges is not merged yet.
    pub(super) fn gate_directory(&self, of: GateOf) -> PathBuf {
        let lane = match of {
            GateOf::Lane(at) => Some(at).filter(|at| self.work.fleet.lanes[*at].gates_first),
            GateOf::Proof(at) => Some(at).filter(|at| self.work.lanes[*at].step.is_none()),
            GateOf::Phase(..) => None,
        };
        let root = self.workspace.root();
        lane.and_then(|at| self.worktree_of(at)).map_or_else(|| root.to_owned(), |tree| root.join(tree))
    }

    /// Whether the unit's documents have the gate as passed already.
    fn has_passed(&self, group: usize, gate: &str, lane: Option<LaneAt>) -> bool {
        let Some(unit) = &self.work.groups[group].unit else { return false };
        let Ok(found) = crate::find(self.workspace, unit, self.time()) else { return false };
        let step = lane.and_then(|at| self.work.lanes[at].step.as_deref());
        found.unit.gates.iter().any(|known| {
            known.name == gate
                && matches!(known.state, GateState::Passed { .. })
                && step.is_none_or(|step| known.step.as_deref() == Some(step))
                && !self.is_mere_word(group, unit, known)
        })
    }

    /// Whether everybody of the crews is at the sync point.
    fn sync_point(&self) -> Result<(), String> {
        let points = crate::sync(self.workspace, None, self.time()).map_err(|refusal| refusal.message)?;
        let missing: Vec<String> =
            points.iter().flat_map(|point| &point.missing).map(|(agent, why)| format!("{agent}: {why}")).collect();
        if missing.is_empty() { Ok(()) } else { Err(format!("not everybody is there: {}", missing.join("; "))) }
    }

    /// A gate's process has ended.
    pub(super) fn gate_ended(&mut self, number: u64) -> Result<(), RunError> {
        let Some(live) = self.gates.remove(&number) else { return Ok(()) };
        let end = match live.worker.condition().map_err(failed)? {
            Condition::Ended(end) => end,
            Condition::Orphaned { .. } => live.worker.force_end().map_err(failed)?,
            Condition::Running { .. } => {
                self.watch.add(number, &live.worker).map_err(failed)?;
                self.gates.insert(number, live);
                return Ok(());
            }
        };
        self.memory.gate_homes.retain(|home| *home != live.home);
        let evidence = self.evidence(&live, &end.exit);
        let passed = evidence.exit_code == 0;
        let last = evidence.tail.lines().next_back().unwrap_or_default().to_owned();
        let mut result = match passed {
            true => Ok(()),
            false => Err(format!("`{}` ended with {}: {last}", live.command, evidence.exit_code)),
        };
        let recorded = self.record_gate(&live, passed, evidence);
        if let GateOf::Proof(at) = live.of {
            // What it found counts, also where the unit does not take it down.
            self.tell_gate(live.of, &live.judges, &result);
            return self.proof_ended(at, (live.judges, live.step), result);
        }
        if let (true, Err(why)) = (passed, recorded) {
            result = Err(why);
        }
        self.tell_gate(live.of, &live.judges, &result);
        if result.is_ok() && live.judges != live.gate {
            // One of those that are left; there may be more.
            return self.run_gate(live.of, &live.gate);
        }
        self.queue.push_back(FleetEvent::GateEnded { of: live.of, gate: live.gate, result });
        Ok(())
    }

    fn evidence(&self, live: &LiveGate, exit: &Exit) -> Evidence {
        let read = |stream| tail(live.worker.home(), stream, live.worker.spool(), TAIL).unwrap_or_default();
        let mut all = read(Stream::Out);
        all.extend(read(Stream::Err));
        let exit_code = match exit {
            Exit::Code(code) => *code,
            Exit::Signal(signal) => 128 + signal,
            Exit::NotStarted { .. } | Exit::Vanished => 128,
        };
        evidence_of(&live.command, exit_code, &all, live.tree.clone())
    }

    fn record_gate(&mut self, live: &LiveGate, passed: bool, evidence: Evidence) -> Result<(), String> {
        let (group, lane) = self.whose(live.of);
        let word = if passed { "passed" } else { "failed" };
        let name = lane
            .map_or_else(|| self.work.fleet.groups[group].name.clone(), |at| self.work.fleet.lanes[at].name.clone());
        let summary = format!("{word}: `{}` ended with {} ({})", evidence.command, evidence.exit_code, evidence.digest);
        self.memory.lane(&name).gates.push((live.judges.clone(), summary.clone()));
        self.save().map_err(|_| "the lead's memory cannot be written".to_owned())?;
        let of_lane = lane.filter(|_| matches!(live.of, GateOf::Proof(_))).map(|at| &self.work.lanes[at].unit);
        let (unit, event) = match (self.work.groups[group].unit.as_ref().or(of_lane), lane) {
            // A build that fails now would shut out the siblings; the lane's pause says what is wrong.
            (Some(_), Some(at)) if !passed && self.is_proof_of_build(live.of, at) => return Ok(()),
            (Some(unit), _) => {
                let (names, step) = (vec![live.judges.clone()], live.step.clone());
                let judged = GateJudgement { passed, names, step, evidence: Some(evidence) };
                (unit.clone(), Event::GateJudged(judged))
            }
            (None, Some(at)) => {
                let text = format!("gate {} {summary}", live.gate);
                (self.work.lanes[at].unit.clone(), Event::Noted { text, purpose: NotePurpose::Note })
            }
            (None, None) => return Ok(()),
        };
        record(self.workspace, &unit, &event, &self.recorder("lead")).map(drop).map_err(explain)
    }

    fn is_proof_of_build(&self, of: GateOf, at: LaneAt) -> bool {
        matches!(of, GateOf::Proof(_)) && self.work.lanes[at].dialect == Dialect::Build
    }

    fn tell_gate(&mut self, of: GateOf, gate: &str, result: &Result<(), String>) {
        if gate == COMPLETE && result.is_ok() {
            return;
        }
        let text = match result {
            Ok(()) => format!("gate {gate} passed"),
            Err(why) => format!("gate {gate} failed: {why}"),
        };
        match of {
            GateOf::Lane(at) => self.tell_lane(at, "gate", &text),
            GateOf::Proof(at) => self.tell_lane(at, "gate", &format!("run again: {text}")),
            GateOf::Phase(group, _) => {
                let name = self.work.fleet.groups[group].name.clone();
                self.tell(Some(&name), "gate", &text);
            }
        }
    }

    /// Records that a lane's work is done.
    pub(super) fn finish(&mut self, at: LaneAt) -> Result<(), RunError> {
        let work = self.work.lanes[at].clone();
        let result = match &work.step {
            Some(step) => self.finish_step(&work, step),
            None => self.finish_whole(at, &work),
        };
        if result.is_ok() {
            self.remove_worktree(at);
            self.tell_lane(at, "done", "done");
        }
        self.queue.push_back(FleetEvent::FinishEnded { lane: at, result });
        self.is_state_due = true;
        Ok(())
    }

    fn finish_step(&mut self, work: &LaneWork, step: &str) -> Result<(), String> {
        let outputs = match work.dialect {
            Dialect::Build => {
                let is_there = |path: &&String| matches!(self.workspace.disk.stamp(path), Ok(Some(_)));
                work.outputs.iter().filter(is_there).cloned().collect()
            }
            Dialect::Pipeline | Dialect::Plan | Dialect::Task | Dialect::Crew => Vec::new(),
        };
        let moved = StepMove { outputs, ..plain(StepTo::Done, step.to_owned()) };
        // From here on nobody writes for it any more, whoever wakes up late.
        record_with(self.workspace, &work.unit, &Event::StepMoved(moved), &self.recorder("lead"), |unit| {
            unit.end_worker(step);
        })
        .map(drop)
        .map_err(explain)
    }

    fn finish_whole(&mut self, at: LaneAt, work: &LaneWork) -> Result<(), String> {
        let found = crate::find(self.workspace, &work.unit, self.time()).map_err(|error| error.to_string())?;
        match (found.unit.state.lifecycle(), work.dialect) {
            (Lifecycle::Done, Dialect::Task | Dialect::Crew) | (Lifecycle::Waiting, Dialect::Crew) => Ok(()),
            _ => self.record_lane(at, &Event::Finished),
        }
    }

    /// A group has come to a stop; that is written where its dialect has a place for it.
    pub(super) fn halted(&mut self, group: usize, reason: &str) -> Result<(), RunError> {
        let name = self.work.fleet.groups[group].name.clone();
        self.tell(Some(&name), "halted", reason);
        let Some(unit) = self.work.groups[group].unit.clone() else { return Ok(()) };
        let is_paused =
            |lane: &&piton_model::fleet::Lane| lane.group == group && matches!(lane.state, LaneState::Paused { .. });
        let lanes = self.work.fleet.lanes.iter().zip(&self.work.lanes).filter(|(lane, _)| is_paused(lane));
        let steps: Vec<String> = lanes.filter_map(|(_, work)| work.step.clone()).collect();
        let recorder = self.recorder("lead");
        let event = match self.work.groups[group].dialect {
            Dialect::Build if !steps.is_empty() => {
                let moved =
                    StepMove { steps, message: Some(reason.to_owned()), ..plain(StepTo::Failed, String::new()) };
                Event::StepMoved(moved)
            }
            Dialect::Pipeline | Dialect::Plan | Dialect::Build | Dialect::Task | Dialect::Crew => {
                Event::Paused { reason: Some(reason.to_owned()) }
            }
        };
        let paused = Event::Paused { reason: Some(reason.to_owned()) };
        // What is recorded as done cannot fail any more; then the unit is paused, with the same reason.
        let recorded = record(self.workspace, &unit, &event, &recorder)
            .or_else(|error| record(self.workspace, &unit, &paused, &recorder).map_err(|_| error));
        if let Err(error) = recorded {
            // A gate that failed has been recorded as that already.
            self.memory.issues.push((name, "record".to_owned(), explain(error)));
        }
        self.save()
    }

    pub(super) fn ask_approval(&mut self, group: usize, phase: usize) -> Result<(), RunError> {
        let name = self.work.fleet.groups[group].name.clone();
        let phase_name = self.work.fleet.groups[group].phases[phase].name.clone();
        let text = format!("{phase_name} is complete and waits for approval: piton approve {name}");
        self.tell(Some(&name), "approval", &text);
        if let Some(unit) = self.work.groups[group].unit.clone() {
            let event = Event::Paused { reason: Some(format!("{phase_name} waits for approval")) };
            // A build that paused itself at the gate is paused already.
            let _ = record(self.workspace, &unit, &event, &self.recorder("lead"));
        }
        Ok(())
    }

    pub(super) fn close_phase(&mut self, group: usize, phase: usize) -> Result<(), RunError> {
        let name = self.work.fleet.groups[group].name.clone();
        let phases = &self.work.fleet.groups[group].phases;
        let (is_last, text) = (phase + 1 == phases.len(), format!("{} is complete", phases[phase].name));
        if self.work.groups[group].unit.is_none() {
            return Ok(());
        }
        self.tell(Some(&name), "phase", &text);
        if is_last {
            self.tell(Some(&name), "done", "done");
        }
        self.save()
    }
}

/// A name as it is written before an equals sign in a settings file.
fn toml_key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !name.is_empty() && name.chars().all(is_bare) {
        true => name.to_owned(),
        false => format!("{name:?}"),
    }
}
