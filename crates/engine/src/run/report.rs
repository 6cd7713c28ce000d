//! Where a run stands, and what is told about it at the end.

mod page;
mod rest;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

use piton_model::fleet::{Closing, Halt, LaneAt, LaneState, Outcome};
use piton_model::hint::verbs;
use piton_model::{Arg, Dialect, Hint, LedWork, State, Time, UnitRef};
use piton_store::disk::Access;
use piton_supervisor::Spent;
use serde_json::{Value, json};

use super::denials::is_denial;
use super::lead::Lead;
use super::memory::{DIRECTORY, LaneMemory};
use super::other_sources::way_back;
use super::runs::{self, RunRecord};
use super::status::waits;
use super::ways::{WHEN_MET, brought_back, place_of_fix, ways_out};
use super::{EndedLane, LaneView, RunEnd, RunError, View};

/// How many stuck units the end of a run asks about by name.
const MOST_LOOKS: usize = 5;

impl Lead<'_> {
    pub(super) fn view(&self) -> View {
        let lanes: Vec<LaneView> = self.listed_lanes().map(|at| self.lane_view(at)).collect();
        View {
            as_of: self.time(),
            began: self.began_at(),
            eta: self.eta(),
            lanes,
            cost: self.spent().usd,
            mode: self.work.fleet.mode.word().into(),
            waiting: self.waiting(),
            judging: self.judging(),
            parked_until: self.work.fleet.parked_until(),
            others: self.others.view(),
        }
    }

    /// What all workers of the run cost so far, those that run included, as far as it is known.
    pub(super) fn spent(&self) -> Spent {
        // Those count too whose unit its user took out of the list since.
        let sum =
            self.memory.lanes.values().fold(Spent::default(), |sum, lane| sum.and(&lane.costs.sum(self.run.number)));
        self.live.iter().fold(sum, |sum, (at, live)| {
            let seen = live.reading.seen();
            let known = self.memory.lanes.get(&self.work.fleet.lanes[*at].name);
            let own = known.map_or(seen.spent, |lane| lane.costs.beyond(seen.session.as_deref(), seen.spent));
            sum.and(&own)
        })
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
        let has_worker = lane.state.has_worker();
        let last_sign = self.live.get(&at).filter(|_| has_worker).map(|live| live.seen);
        let until = self.work.fleet.limited_until(at);
        LaneView {
            name: lane.name.clone(),
            unit: work.unit_name.clone(),
            work: until.map_or_else(|| LedWork::of(&lane.state), |until| self.parked(at, until)),
            attempt: memory.map_or(0, |memory| memory.origin.attempt),
            title: work.title.clone(),
            state: if until.is_some() && !has_worker { "parked" } else { lane.state.word() }.into(),
            done,
            total,
            stage: lane.is_staged().then_some(lane.stage),
            worker: memory.and_then(|memory| memory.worker.clone()).filter(|_| has_worker),
            home: memory.and_then(|memory| memory.home.clone()).filter(|_| has_worker),
            last_sign: last_sign.map(wall),
            until,
            reason: match &lane.state {
                LaneState::Paused { reason } => Some(reason.clone()),
                LaneState::Dead { why, .. } | LaneState::Proving { why, .. } => Some(why.clone()),
                LaneState::Reworking { why } => Some(why.summary()),
                LaneState::Closing(Closing::Approving { files, refused }) => {
                    let refused = refused.as_ref().map_or_else(String::new, |refused| format!("; {refused}"));
                    Some(format!("it changes its own gates ({}) and waits for approval{refused}", files.join(", ")))
                }
                _ => None,
            },
            after: lane.depends_on.iter().map(|before| self.work.fleet.lanes[*before].name.clone()).collect(),
            known: None,
        }
    }

    /// Judged by how long each stage took so far: what is left, divided by who can work at once. Nothing while a stage is
    /// left that nobody has been through.
    fn eta(&self) -> Option<u64> {
        let waits = |lane: &piton_model::fleet::Lane| lane.state.waits_until().is_some();
        if self.work.fleet.lanes.iter().any(waits)
            || self.work.fleet.parked_until().is_some()
            || !self.waiting().is_empty()
        {
            // How long a limit or a person takes is not told by stages.
            return None;
        }
        let mut spans: BTreeMap<u8, Vec<u64>> = BTreeMap::new();
        for memory in self.memory.lanes.values() {
            let is_complete = |stage: &u8| memory.times.get(stage).is_some_and(|(_, end)| end.is_some());
            let own = memory.stage_seconds.iter().filter(|(stage, _)| is_complete(stage));
            let own = own.map(|(stage, seconds)| (*stage, *seconds));
            let span = |(stage, (start, end)): (&u8, &(Option<Time>, Option<Time>))| {
                Some((*stage, start.as_ref()?.age((*end)?).0.as_secs()))
            };
            for (stage, seconds) in own.chain(memory.earlier_times.iter().filter_map(span)) {
                spans.entry(stage).or_default().push(seconds);
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
    pub(super) fn finish_run(mut self, outcome: Outcome) -> Result<RunEnd, RunError> {
        for at in 0..self.work.fleet.lanes.len() {
            if matches!(self.work.fleet.lanes[at].state, LaneState::Paused { .. }) {
                self.measure(at);
            }
        }
        // A story that waits for a person's approval or answer, or that another session is at, is neither DONE nor PAUSED,
        // and the pipeline is not complete then. One that has not begun waits for another story alone.
        let is_settled = |at: usize| match self.work.fleet.lanes[at].state {
            LaneState::Done => true,
            LaneState::Paused { .. } if !self.has_begun(at) => true,
            LaneState::Paused { .. } => {
                let is_open = |state: &State| matches!(state, State::Blocked | State::Running | State::Waiting);
                !self.unit_of(at).is_ok_and(|unit| unit.dialect == Dialect::Pipeline && is_open(&unit.state))
            }
            _ => false,
        };
        let is_complete = outcome != Outcome::Stopped && (0..self.work.fleet.lanes.len()).all(is_settled);
        self.persist(|lead| lead.write_state_file(is_complete))?;
        self.save()?;
        let reports = self.write_reports(outcome)?;
        // Readers know how it stands before they know that it has ended, should this lead be killed in between.
        let mut view = self.view();
        for lane in view.lanes.iter_mut().filter(|lane| matches!(lane.work, LedWork::Paused { .. })) {
            let events = UnitRef::parse(&lane.unit).map(|unit| self.events_of(&unit)).unwrap_or_default();
            lane.known = events.last().map(|event| event.seq);
        }
        self.publish(&view);
        if let Some(repository) = &self.repository {
            // One that stays is replaced by the next run.
            let _ = repository.remove_scratch(std::path::Path::new(super::trees::SCRATCH));
        }
        self.prune();
        self.forget_delisted();
        self.close_record(outcome)?;
        let lane = |lane: &LaneView| EndedLane {
            name: lane.name.clone(),
            state: lane.state.to_string(),
            reason: lane.reason.clone().filter(|_| lane.state == "paused"),
        };
        let end = RunEnd {
            run: self.run.number,
            outcome,
            seconds: view.seconds(),
            cost: view.cost,
            lanes: view.lanes.iter().map(lane).collect(),
            reports,
            next: self.next_steps(outcome).iter().map(Hint::to_string).collect(),
        };
        let mut line = end.to_json(self.time());
        line["lead"] = self.teller.own.to_string().into();
        self.log(&line);
        if let Some(log) = &self.teller.log {
            // What was told is worth keeping, and not worth failing for.
            let _ = log.sync();
        }
        Ok(end)
    }

    /// The report of the newest earlier run that had all units of this one, and workers.
    fn report_of_work(&self) -> Option<String> {
        let is_other = |run: &RunRecord| run.number != self.run.number && run.units.is_superset(&self.run.units);
        let has_worked = |run: &RunRecord| {
            let content = self.workspace.disk.read(&format!("{}/report.json", run.directory())).ok();
            let report: Value = content.and_then(|it| serde_json::from_slice(&it.bytes).ok()).unwrap_or_default();
            let lanes = report["lanes"].as_array().cloned().unwrap_or_default();
            lanes.iter().any(|lane| lane["workers"].as_u64() > Some(0))
        };
        let run = runs::all(self.workspace).filter(is_other).find(has_worked)?;
        Some(format!("{}/report.md", run.directory()))
    }

    /// The report of this run, and the same as the latest one; for stories also beside their state.
    fn write_reports(&mut self, outcome: Outcome) -> Result<Vec<String>, RunError> {
        let (markdown, value) = (self.page(outcome), self.json(outcome));
        let mut directories = vec![self.run.directory()];
        // A run that found everything done says nothing new: the latest report stays the one of the work.
        let is_idle = outcome == Outcome::Done && !self.has_worked();
        if !is_idle || self.workspace.disk.read(&format!("{DIRECTORY}/report.md")).is_err() {
            directories.push(DIRECTORY.to_owned());
        }
        if !is_idle && self.work.lanes.iter().any(|lane| lane.dialect == Dialect::Pipeline) {
            directories.push(piton_dialect::pipeline::layout::DIRECTORY.to_owned());
        }
        let mut reports: Vec<String> = self.report_of_work().filter(|_| is_idle).into_iter().collect();
        for directory in directories {
            let access = if directory.starts_with(DIRECTORY) { Access::Private } else { Access::Shared };
            for (name, text) in [("report.md", markdown.clone()), ("report.json", format!("{value:#}\n"))] {
                let path = format!("{directory}/{name}");
                self.persist(|lead| Ok(piton_store::replace(&*lead.workspace.disk, &path, text.as_bytes(), access)?))?;
                reports.push(path);
            }
        }
        Ok(reports)
    }

    /// Whether a worker or a gate of this run worked.
    fn has_worked(&self) -> bool {
        let lanes = self.work.fleet.lanes.iter().map(|lane| &lane.name);
        let mut names = lanes.chain(self.work.fleet.groups.iter().map(|group| &group.name));
        names.any(|name| {
            let known = self.memory.lanes.get(name).filter(|known| known.run == self.run.number);
            known.is_some_and(|known| known.workers > 0 || !known.gates.is_empty())
        })
    }

    /// What a person does next.
    fn next_steps(&self, outcome: Outcome) -> Vec<Hint> {
        let back = way_back(self.workspace, &self.run).filter(|_| outcome != Outcome::Done);
        let mut next: Vec<Hint> = back.iter().map(|way| way.hint(|options| self.command(options))).collect();
        let units: BTreeSet<String> = self.left_waiting().into_iter().map(|it| it.unit).collect();
        if !units.is_empty() {
            let approve = units.iter().fold(verbs::APPROVE.call(), |approve, unit| approve.arg(Arg::unit(unit)));
            next.push(approve.to("approve and continue").then(self.command(&[])));
        }
        next.extend(self.all_to_do_first());
        let halted = self.work.fleet.groups.iter().zip(&self.work.groups);
        let halted = halted.filter(|(group, work)| group.halted.is_some() && work.unit.is_some());
        let paused = self.work.fleet.lanes.iter().zip(&self.work.lanes);
        let paused = paused.filter(|(lane, _)| matches!(lane.state, LaneState::Paused { .. }));
        let paused = paused.map(|(_, work)| work.unit_name.as_str());
        let stuck: Vec<&str> = paused.chain(halted.map(|(group, _)| group.name.as_str())).collect();
        let (mut told, denied) = (BTreeSet::new(), super::denials::denied(self.workspace));
        let (mut has_way, mut is_all_told) = (false, true);
        for unit in stuck.iter().filter(|unit| told.insert(**unit)) {
            let ways = self.ways_out(unit);
            let is_denied = denied.iter().any(|each| each.unit == **unit) && self.is_paused_for(unit, is_denial);
            has_way |= !ways.is_empty() || is_denied;
            is_all_told &= !ways.is_empty() || is_denied || self.is_paused_for(unit, waits);
            next.extend(ways);
        }
        for it in self.judging() {
            let is_held = UnitRef::parse(&it.unit).is_ok_and(|unit| self.held_by_person(&unit).is_some());
            let options: &[&'static str] = if is_held { &["--retry"] } else { &[] };
            next.push(it.command().to(WHEN_MET).then(self.command(options)));
            next.push(it.refusal().to("when it is not, for its worker").then(self.command(options)));
        }
        if !denied.is_empty() {
            next.push(super::denials::allow().to("allow what was denied").then(self.command(&["--retry"])));
        }
        next.extend(self.looks(&told));
        // A crew has no unit of its own to ask about.
        let is_stuck = !stuck.is_empty() || self.work.fleet.groups.iter().any(|group| group.halted.is_some());
        // A retry is no answer to a question, whose own way names the command that continues the run.
        if is_stuck && back.is_none() && !(has_way && is_all_told) {
            next.push(self.command(&["--retry"]).to(self.when_fixed()));
        }
        if outcome == Outcome::Done && !self.added.is_empty() {
            next.push(self.command(&[]).to(format!("do what its list got meanwhile, {}", self.added.join(", "))));
        }
        if outcome == Outcome::Stopped {
            next.push(self.command(&[]).to("continue"));
        }
        next
    }

    /// How a person sees why units are stuck. Those that wait for others of them say nothing more.
    fn looks(&self, stuck: &BTreeSet<&str>) -> Vec<Hint> {
        // What no worker has begun has no document either, and the run knows it.
        let is_there = |name: &str| {
            let is_gone = |unit: UnitRef| {
                crate::lost::lost(self.workspace, &unit, self.time()).is_some() || self.heir_of(&unit).is_some()
            };
            !UnitRef::parse(name).is_ok_and(is_gone)
        };
        let (here, gone): (Vec<&str>, Vec<&str>) = stuck.iter().copied().partition(|name| is_there(name));
        let mut asked = here.iter().filter(|name| !self.is_paused_for(name, waits)).take(MOST_LOOKS);
        let first = asked.next().or(here.first()).map(|name| verbs::WHY.on(*name).to("see why"));
        let why = first.map(|first| asked.fold(first, |why, name| why.then(verbs::WHY.on(*name))));
        // Those that are not there were taken over, or their documents are gone.
        gone.iter().map(|name| verbs::LOG.on(*name).to("see what became of it")).chain(why).collect()
    }

    /// When a retry helps: where what was refused has to be corrected, as far as that is known.
    fn when_fixed(&self) -> String {
        let paused = self.work.fleet.lanes.iter().filter_map(|lane| match &lane.state {
            LaneState::Paused { reason } => Some((lane.name.as_str(), reason.as_str())),
            _ => None,
        });
        let halted = self.work.fleet.groups.iter();
        let halted = halted.filter_map(|group| Some((group.name.as_str(), group.halted.as_ref()?.reason.as_str())));
        place_of_fix(self.workspace, &self.memory, paused, halted).unwrap_or_else(|| "when it is fixed".to_owned())
    }

    /// Whether every lane of a unit that is paused has such a reason.
    fn is_paused_for(&self, unit: &str, is_such: fn(&str) -> bool) -> bool {
        let own = self.work.fleet.lanes.iter().zip(&self.work.lanes).filter(|(_, work)| work.unit_name == unit);
        let reasons = own.filter_map(|(lane, _)| match &lane.state {
            LaneState::Paused { reason } => Some(reason),
            _ => None,
        });
        // A group that a paused lane halted says nothing more than the lane.
        let says_more = |halt: &Halt| {
            !halt.lane.is_some_and(|at| matches!(self.work.fleet.lanes[at].state, LaneState::Paused { .. }))
        };
        let mut halts = self.work.fleet.groups.iter().filter(|group| group.name == unit);
        let is_halted = halts.any(|group| group.halted.as_ref().is_some_and(says_more));
        !is_halted && reasons.into_iter().all(|reason| is_such(reason))
    }

    /// What a person types about a unit whose own documents say that it is blocked: without that, no retry moves it.
    pub(super) fn ways_out(&self, unit: &str) -> Vec<Hint> {
        let own = self.work.fleet.lanes.iter().zip(&self.work.lanes).filter(|(_, work)| work.unit_name == unit);
        let reasons: Vec<&str> = own
            .filter_map(|(lane, _)| match &lane.state {
                LaneState::Paused { reason } => Some(reason.as_str()),
                _ => None,
            })
            .collect();
        if let Some(ways) = brought_back(self.workspace, unit, &reasons, self.time()) {
            return ways.iter().map(|way| way.hint(|options| self.command(options))).collect();
        }
        let found = UnitRef::parse(unit).ok().and_then(|unit| crate::find(self.workspace, &unit, self.time()).ok());
        let Some(found) = found else { return Vec::new() };
        let ways = ways_out(self.workspace, unit, &found.unit, &reasons, self.time());
        ways.iter().map(|way| way.hint(|options| self.command(options))).collect()
    }

    fn json(&self, outcome: Outcome) -> Value {
        let lanes: Vec<Value> = self.reported().iter().map(|(view, memory)| lane_json(view, memory)).collect();
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
            "run": self.run.number,
            "outcome": outcome.word(),
            "started": self.run.started.to_string(),
            "ended": self.time().to_string(),
            "seconds": self.run.started.age(self.time()).0.as_secs(),
            "leads": self.run.leads,
            "cost_usd": self.spent().usd,
            "input_tokens": self.spent().tokens.map(|tokens| tokens.input),
            "output_tokens": self.spent().tokens.map(|tokens| tokens.output),
            "resumes": lanes.iter().filter_map(|lane| lane["resumes"].as_u64()).sum::<u64>(),
            "steps_not_done_again": lanes.iter().filter_map(|lane| lane["steps_not_done_again"].as_u64()).sum::<u64>(),
            "lanes": lanes,
            "groups": groups,
            "issues": self.memory.issues.iter().map(|(phase, kind, message)| json!({"phase": phase, "type": kind, "message": message})).collect::<Vec<_>>(),
        })
    }
}

/// A lane, for programs.
fn lane_json(view: &LaneView, memory: &LaneMemory) -> Value {
    json!({
        "name": view.name,
        "title": view.title,
        "state": view.state,
        "reason": view.reason,
        "attempts": memory.origin.attempt,
        "workers": memory.workers,
        "respawns": memory.again.respawns,
        "validation_retries": memory.again.no_gos,
        "reworks": memory.again.reworks,
        "results": memory.results.iter().map(|(stage, result)| (format!("stage{stage}"), Value::from(result.as_str()))).collect::<serde_json::Map<_, _>>(),
        "seconds": memory.stage_seconds.values().sum::<u64>(),
        "stages": memory.times.iter().map(|(stage, (start, end))| json!({
            "stage": stage,
            "started": start.map(|at| at.to_string()),
            "ended": end.map(|at| at.to_string()),
            "seconds": memory.stage_seconds.get(stage),
        })).collect::<Vec<_>>(),
        "git": memory.git.map(|git| json!({"commits": git.commits, "files_changed": git.files, "lines_added": git.insertions, "lines_deleted": git.deletions})),
        "gates": gates_json(memory),
        "deaths": memory.deaths,
        "resumes": memory.resumes,
        "steps_not_done_again": memory.saved,
        "cost_usd": memory.costs.sum(memory.run).usd,
        "input_tokens": memory.costs.sum(memory.run).tokens.map(|tokens| tokens.input),
        "output_tokens": memory.costs.sum(memory.run).tokens.map(|tokens| tokens.output),
        "workers_without_cost": memory.costs.unknown(memory.run),
        "costs": memory.costs.report(memory.run),
    })
}

fn gates_json(memory: &LaneMemory) -> Value {
    memory.gates.iter().map(|(gate, how)| json!({ "gate": gate, "result": how })).collect()
}

/// A moment on the wall.
pub(super) fn wall(at: SystemTime) -> Time {
    let seconds = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    Time::from_unix_seconds(i64::try_from(seconds).unwrap_or(i64::MAX))
}
