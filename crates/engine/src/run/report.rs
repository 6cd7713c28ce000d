//! Where a run stands, and what is told about it at the end.

use std::fmt::Write as _;
use std::time::Duration;

use piton_model::fleet::{Approval, LaneAt, LaneState, Mode, Outcome, WorkerState};
use piton_model::{Dialect, text};
use piton_store::disk::Access;
use serde_json::{Value, json};

use super::lead::{Lead, steady};
use super::memory::{DIRECTORY, LaneMemory};
use super::{LaneView, RunEnd, RunError, View, failed};

impl Lead<'_> {
    pub(super) fn view(&self) -> View {
        let lanes: Vec<LaneView> = (0..self.work.fleet.lanes.len()).map(|at| self.lane_view(at)).collect();
        let cost: f64 = self.memory.lanes.values().map(|lane| lane.cost).sum::<f64>()
            + self.live.values().filter_map(|live| live.reading.seen().cost_usd).sum::<f64>();
        View {
            seconds: self.elapsed().as_secs(),
            eta: self.eta(&lanes),
            lanes,
            cost: (cost > 0.0).then_some(cost),
            mode: match self.work.fleet.mode {
                Mode::Going => "running",
                Mode::Draining => "draining",
                Mode::Stopping => "stopping",
                Mode::Leaving => "leaving",
            },
            parked_until: self.work.fleet.parked_until,
        }
    }

    fn lane_view(&self, at: LaneAt) -> LaneView {
        let (lane, work) = (&self.work.fleet.lanes[at], &self.work.lanes[at]);
        let memory = self.memory.lanes.get(&lane.name);
        let total = u64::from(lane.stages.max(1));
        let done = match &lane.state {
            LaneState::Done => total,
            LaneState::Closing(_) => total,
            LaneState::Queued
            | LaneState::Between
            | LaneState::Working(_)
            | LaneState::Dead { .. }
            | LaneState::Proving { .. }
            | LaneState::Parked { .. }
            | LaneState::Paused { .. } => u64::from(lane.stage),
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
            stage: (lane.stages > 1).then_some(lane.stage),
            worker: memory.and_then(|memory| memory.worker.clone()).filter(|_| lane.state.has_worker()),
            last_sign: last_sign.map(|sign| steady().saturating_sub(sign).as_secs()),
            reason: match &lane.state {
                LaneState::Paused { reason } => Some(reason.clone()),
                LaneState::Dead { why, .. } | LaneState::Proving { why, .. } => Some(why.clone()),
                LaneState::Parked { until } => Some(format!("until {until}")),
                _ => None,
            },
        }
    }

    /// Judged by how long stages took so far: what is left, divided by who can work at once.
    fn eta(&self, lanes: &[LaneView]) -> Option<u64> {
        let spans = self.memory.lanes.values().flat_map(|lane| lane.times.values());
        let spans: Vec<u64> = spans.filter_map(|(start, end)| Some(start.as_ref()?.age((*end)?).0.as_secs())).collect();
        if spans.is_empty() {
            return None;
        }
        let average = spans.iter().sum::<u64>() as f64 / spans.len() as f64;
        let left: u64 =
            lanes.iter().filter(|lane| lane.state != "paused").map(|lane| lane.total - lane.done.min(lane.total)).sum();
        let at_once = (self.settings.limits.workers as u64).min(left).max(1);
        Some((average * left as f64 / at_once as f64).round() as u64)
    }

    /// Writes what is to be told, and ends.
    pub(super) fn finish_run(&mut self, outcome: Outcome) -> Result<RunEnd, RunError> {
        self.write_state_file(outcome != Outcome::Stopped)?;
        self.save()?;
        let (markdown, value) = (self.markdown(outcome), self.json(outcome));
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
        Ok(RunEnd { outcome, view: self.view(), reports, next: self.next_steps(outcome) })
    }

    /// What a person does next.
    fn next_steps(&self, outcome: Outcome) -> Vec<String> {
        let mut next = Vec::new();
        for group in &self.work.fleet.groups {
            if group.phases.iter().any(|phase| phase.approval == Approval::Asked) {
                next.push(format!("let it go on: piton approve {} && piton run {}", group.name, group.name));
            }
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
                    "gates": self.memory.lanes.get(&group.name).map(|memory| &memory.gates),
                })
            })
            .collect();
        json!({
            "outcome": outcome_word(outcome),
            "started": self.memory.started.map(|at| at.to_string()),
            "ended": self.time().to_string(),
            "leads": self.memory.leads,
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
            "attempts": memory.attempt,
            "workers": memory.spawned,
            "respawns": lane.counts.crashes,
            "validation_retries": lane.counts.no_gos,
            "reworks": lane.counts.reworks,
            "results": memory.results.iter().map(|(stage, result)| (format!("stage{stage}"), Value::from(result.as_str()))).collect::<serde_json::Map<_, _>>(),
            "seconds": seconds(&memory),
            "git": memory.git.map(|git| json!({"commits": git.commits, "files_changed": git.files, "lines_added": git.insertions, "lines_deleted": git.deletions})),
            "gates": memory.gates,
            "deaths": memory.deaths,
            "resumes": memory.resumes,
            "steps_not_done_again": memory.saved,
            "cost_usd": memory.cost,
        })
    }

    fn markdown(&self, outcome: Outcome) -> String {
        let now = self.time();
        let started = self.memory.started.unwrap_or(now);
        let mut page = format!("# Run: {}\n\n", outcome_word(outcome));
        let leads = text::counted(usize::try_from(self.memory.leads).unwrap_or(0), "lead", "leads");
        let _ =
            writeln!(page, "Started {started}, ended {now}, {} in all, {leads}.\n", span(started.age(now).0.as_secs()));
        page.push_str("| what | state | workers | again | time | commits | lines |\n|---|---|---|---|---|---|---|\n");
        for at in 0..self.work.fleet.lanes.len() {
            let (lane, view) = (&self.work.fleet.lanes[at], self.lane_view(at));
            let memory = self.memory.lanes.get(&lane.name).cloned().unwrap_or_default();
            let git = memory.git.unwrap_or_default();
            let again = lane.counts.crashes + lane.counts.no_gos + lane.counts.reworks;
            let _ = writeln!(
                page,
                "| {} | {} | {} | {again} | {} | {} | +{} −{} |",
                cell(&lane.name),
                view.state,
                memory.spawned,
                span(seconds(&memory)),
                git.commits,
                git.insertions,
                git.deletions
            );
        }
        self.write_troubles(&mut page);
        page
    }

    fn write_troubles(&self, page: &mut String) {
        let mut lines = Vec::new();
        let (mut resumes, mut saved) = (0, 0);
        for (name, memory) in &self.memory.lanes {
            resumes += memory.resumes;
            saved += memory.saved;
            lines.extend(memory.deaths.iter().map(|death| format!("- {name}: {}", cell(death))));
            lines.extend(memory.gates.iter().map(|(gate, how)| format!("- {name}: gate {gate} {}", cell(how))));
        }
        for lane in &self.work.fleet.lanes {
            if let LaneState::Paused { reason } = &lane.state {
                lines.push(format!("- {} is paused: {}", lane.name, cell(reason)));
            }
        }
        lines.extend(
            self.memory.issues.iter().map(|(phase, kind, message)| format!("- {phase}, {kind}: {}", cell(message))),
        );
        if !lines.is_empty() {
            let _ = write!(page, "\n## What happened\n\n{}\n", lines.join("\n"));
        }
        if resumes > 0 {
            let _ = writeln!(
                page,
                "\n{} resumed; {} already recorded and not done again.",
                text::counted(usize::try_from(resumes).unwrap_or(0), "worker was", "workers were"),
                text::counted(usize::try_from(saved).unwrap_or(0), "step was", "steps were"),
            );
        }
    }
}

/// How long the stages of a lane took together.
fn seconds(memory: &LaneMemory) -> u64 {
    let spans = memory.times.values().filter_map(|(start, end)| Some(start.as_ref()?.age((*end)?).0));
    spans.sum::<Duration>().as_secs()
}

fn span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// A text of others in a table.
fn cell(text: &str) -> String {
    text::printable(text).replace('|', "\\|")
}

fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::Paused => "paused",
        Outcome::Stopped => "stopped",
    }
}
