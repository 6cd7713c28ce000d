//! Where a run stands, and what is told about it at the end.

mod page;

use std::collections::BTreeMap;

use piton_model::Dialect;
use piton_model::fleet::{Closing, Lane, LaneAt, LaneState, Mode, Outcome, WorkerState};
use piton_store::disk::Access;
use serde_json::{Value, json};

use super::lead::{Lead, steady};
use super::memory::{DIRECTORY, LaneMemory};
use super::{LaneView, RunEnd, RunError, View, failed};

impl Lead<'_> {
    pub(super) fn view(&self) -> View {
        let lanes: Vec<LaneView> = (0..self.work.fleet.lanes.len()).map(|at| self.lane_view(at)).collect();
        let own = self.work.fleet.lanes.iter().filter_map(|lane| self.memory.lanes.get(&lane.name));
        let past = own.filter_map(|lane| lane.cost);
        let costs: Vec<f64> = past.chain(self.live.values().filter_map(|live| live.reading.seen().cost_usd)).collect();
        View {
            seconds: self.elapsed().as_secs(),
            eta: self.eta(),
            lanes,
            cost: (!costs.is_empty()).then(|| costs.iter().sum()),
            mode: match self.work.fleet.mode {
                Mode::Going => "running",
                Mode::Draining => "draining",
                Mode::Stopping => "stopping",
                Mode::Leaving => "leaving",
            },
            waiting: self.waiting(),
            parked_until: self.work.fleet.parked_until(),
        }
    }

    /// Units that wait for a person's approval.
    fn waiting(&self) -> Vec<String> {
        let groups = self.work.fleet.groups.iter().filter(|group| group.is_asked()).map(|group| group.name.clone());
        let is_asked = |lane: &Lane| matches!(lane.state, LaneState::Closing(Closing::Approving { .. }));
        let lanes = self.work.fleet.lanes.iter().zip(&self.work.lanes).filter(|(lane, _)| is_asked(lane));
        groups.chain(lanes.map(|(_, work)| work.unit_name.clone())).collect()
    }

    fn lane_view(&self, at: LaneAt) -> LaneView {
        let (lane, work) = (&self.work.fleet.lanes[at], &self.work.lanes[at]);
        let memory = self.memory.lanes.get(&lane.name);
        let total = lane.stages.len().max(1) as u64;
        let done = match &lane.state {
            LaneState::Done => total,
            LaneState::Closing(_) | LaneState::Integrated => total,
            LaneState::Queued
            | LaneState::Between
            | LaneState::Working(_)
            | LaneState::Dead { .. }
            | LaneState::Proving { .. }
            | LaneState::Reworking { .. }
            | LaneState::Parked { .. }
            | LaneState::Paused { .. } => lane.stages.iter().filter(|stage| **stage < lane.stage).count() as u64,
        };
        let last_sign = match &lane.state {
            LaneState::Working(worker) => match worker.state {
                WorkerState::Running { last_sign } | WorkerState::Silent { last_sign, .. } => Some(last_sign),
                WorkerState::Spawning
                | WorkerState::Idle { .. }
                | WorkerState::Limited { .. }
                | WorkerState::Stopping { .. } => None,
            },
            _ => None,
        };
        LaneView {
            name: lane.name.clone(),
            title: work.title.clone(),
            state: lane.state.word(),
            done,
            total,
            stage: lane.is_staged().then_some(lane.stage),
            worker: memory.and_then(|memory| memory.worker.clone()).filter(|_| lane.state.has_worker()),
            last_sign: last_sign.map(|sign| steady().saturating_sub(sign).as_secs()),
            reason: match &lane.state {
                LaneState::Paused { reason } => Some(reason.clone()),
                LaneState::Dead { why, .. } | LaneState::Proving { why, .. } => Some(why.clone()),
                LaneState::Reworking { why } => Some(why.summary()),
                LaneState::Parked { until } => Some(format!("until {until}")),
                LaneState::Closing(Closing::Approving { files }) => {
                    Some(format!("it changes its own gates ({}) and waits for approval", files.join(", ")))
                }
                _ => None,
            },
        }
    }

    /// Judged by how long each stage took so far: what is left, divided by who can work at once. Nothing while a stage is
    /// left that nobody has been through.
    fn eta(&self) -> Option<u64> {
        let mut spans: BTreeMap<u8, Vec<u64>> = BTreeMap::new();
        for memory in self.memory.lanes.values() {
            for stage in memory.times.keys() {
                spans.entry(*stage).or_default().extend(stage_seconds(memory, *stage));
            }
        }
        let average = |stage: u8| {
            let spans = spans.get(&stage).filter(|spans| !spans.is_empty())?;
            Some(spans.iter().sum::<u64>() as f64 / spans.len() as f64)
        };
        let (mut left, mut lanes) = (0.0, 0);
        for lane in &self.work.fleet.lanes {
            let is_left = !matches!(
                lane.state,
                LaneState::Done | LaneState::Integrated | LaneState::Closing(_) | LaneState::Paused { .. }
            );
            let stages = if lane.is_staged() { lane.stages.clone() } else { vec![0] };
            for stage in stages.into_iter().filter(|stage| is_left && *stage >= lane.stage) {
                left += average(stage)?;
            }
            lanes += usize::from(is_left);
        }
        Some((left / self.settings.limits.workers.min(lanes).max(1) as f64).round() as u64)
    }

    /// Writes what is to be told, and ends.
    pub(super) fn finish_run(&mut self, outcome: Outcome) -> Result<RunEnd, RunError> {
        self.write_state_file(outcome != Outcome::Stopped)?;
        self.memory.run.is_finished = outcome == Outcome::Done;
        self.save()?;
        let (markdown, value) = (self.page(outcome), self.json(outcome));
        let mut reports = Vec::new();
        let mut directories = vec![DIRECTORY];
        if self.work.lanes.iter().any(|lane| lane.dialect == Dialect::Pipeline) {
            directories.push(piton_dialect::pipeline::layout::DIRECTORY);
        }
        for directory in directories {
            let access = if directory == DIRECTORY { Access::Private } else { Access::Shared };
            let files = [("report.md", markdown.clone()), ("report.json", format!("{value:#}\n"))];
            for (name, text) in files {
                let path = format!("{directory}/{name}");
                piton_store::replace(&*self.workspace.disk, &path, text.as_bytes(), access).map_err(failed)?;
                reports.push(path);
            }
        }
        if let Some(repository) = &self.repository {
            // One that stays is replaced by the next run.
            let _ = repository.remove_scratch(std::path::Path::new(super::trees::SCRATCH));
        }
        self.prune();
        Ok(RunEnd { outcome, view: self.view(), reports, next: self.next_steps(outcome) })
    }

    /// What a person does next.
    fn next_steps(&self, outcome: Outcome) -> Vec<String> {
        let mut next = Vec::new();
        for name in self.waiting() {
            next.push(format!("let it go on: piton approve {name} && piton run {name}"));
        }
        let halted = self.work.fleet.groups.iter().zip(&self.work.groups);
        let halted: Vec<&str> = halted
            .filter(|(group, work)| group.halted.is_some() && work.unit.is_some())
            .map(|(group, _)| group.name.as_str())
            .collect();
        let paused: Vec<&str> = self
            .work
            .fleet
            .lanes
            .iter()
            .zip(&self.work.lanes)
            .filter(|(lane, _)| matches!(lane.state, LaneState::Paused { .. }))
            .map(|(_, work)| work.unit_name.as_str())
            .collect();
        if let (Some(group), None) = (halted.first(), paused.first()) {
            next.push(format!("see why: piton why {group}"));
            next.push(format!("when it is mended: piton run {group} --retry"));
        }
        if let Some(first) = paused.first() {
            next.push(format!("see why: piton why {first}"));
            next.push("when it is mended: piton run --retry".to_owned());
        }
        if outcome == Outcome::Stopped {
            next.push("go on with it: piton run".to_owned());
        }
        next
    }

    fn json(&self, outcome: Outcome) -> Value {
        let lanes: Vec<Value> = (0..self.work.fleet.lanes.len()).map(|at| self.lane_json(at)).collect();
        let groups: Vec<Value> = self
            .work
            .fleet
            .groups
            .iter()
            .map(|group| {
                json!({
                    "name": group.name,
                    "halted": group.halted.as_ref().map(|halt| &halt.reason),
                    "waits_for_approval": group.is_asked(),
                    "gates": self.memory.lanes.get(&group.name).map(gates_json),
                })
            })
            .collect();
        json!({
            "outcome": outcome_word(outcome),
            "started": self.memory.run.started.map(|at| at.to_string()),
            "ended": self.time().to_string(),
            "seconds": self.memory.run.started.map(|started| started.age(self.time()).0.as_secs()),
            "leads": self.memory.run.leads,
            "cost_usd": self.view().cost,
            "resumes": lanes.iter().filter_map(|lane| lane["resumes"].as_u64()).sum::<u64>(),
            "steps_not_done_again": lanes.iter().filter_map(|lane| lane["steps_not_done_again"].as_u64()).sum::<u64>(),
            "lanes": lanes,
            "groups": groups,
            "issues": self.memory.issues.iter().map(|(phase, kind, message)| json!({"phase": phase, "type": kind, "message": message})).collect::<Vec<_>>(),
        })
    }

    fn lane_json(&self, at: LaneAt) -> Value {
        let lane = &self.work.fleet.lanes[at];
        let memory = self.memory.lanes.get(&lane.name).cloned().unwrap_or_default();
        let view = self.lane_view(at);
        json!({
            "name": lane.name,
            "title": view.title,
            "state": view.state,
            "reason": view.reason,
            "attempts": memory.origin.attempt,
            "workers": memory.spawned,
            "respawns": lane.counts.crashes,
            "validation_retries": lane.counts.no_gos,
            "reworks": lane.counts.reworks,
            "results": memory.results.iter().map(|(stage, result)| (format!("stage{stage}"), Value::from(result.as_str()))).collect::<serde_json::Map<_, _>>(),
            "seconds": seconds(&memory),
            "stages": memory.times.iter().map(|(stage, (start, end))| json!({
                "stage": stage,
                "started": start.map(|at| at.to_string()),
                "ended": end.map(|at| at.to_string()),
                "seconds": stage_seconds(&memory, *stage),
            })).collect::<Vec<_>>(),
            "git": memory.git.map(|git| json!({"commits": git.commits, "files_changed": git.files, "lines_added": git.insertions, "lines_deleted": git.deletions})),
            "gates": gates_json(&memory),
            "deaths": memory.deaths,
            "resumes": memory.resumes,
            "steps_not_done_again": memory.saved,
            "cost_usd": memory.cost,
        })
    }
}

/// How long the stages of a lane took together.
fn seconds(memory: &LaneMemory) -> u64 {
    memory.times.keys().filter_map(|stage| stage_seconds(memory, *stage)).sum()
}

/// How long a stage took, from its first worker to its end.
fn stage_seconds(memory: &LaneMemory, stage: u8) -> Option<u64> {
    let (start, end) = memory.times.get(&stage)?;
    Some(start.as_ref()?.age((*end)?).0.as_secs())
}

fn gates_json(memory: &LaneMemory) -> Value {
    memory.gates.iter().map(|(gate, how)| json!({ "gate": gate, "result": how })).collect()
}

fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::Paused => "paused",
        Outcome::Stopped => "stopped",
    }
}
