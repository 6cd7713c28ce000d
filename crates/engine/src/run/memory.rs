//! What a lead must not forget and no dialect has a place for: `.piton/run/memory.json`, replaced whole before anything
//! that depends on it is done.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use piton_model::Time;
use piton_model::fleet::{
    Approval, Closing, Counts, Fleet, GateProgress, Group, Halt, How, Lane, LaneState, Worker, WorkerState,
};
use piton_store::disk::{Access, DiskError};
use piton_supervisor::Statistics;
use serde_json::{Map, Value, json};

use crate::Workspace;

/// Where everything of a run is.
pub(super) const DIRECTORY: &str = ".piton/run";

const MEMORY: &str = ".piton/run/memory.json";

/// What is remembered of the whole run.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    /// When the run began; later leads go on with it.
    pub started: Option<Time>,
    /// The branch that worktrees start from and are merged into.
    pub base: Option<String>,
    /// Each lane, by its name.
    pub lanes: BTreeMap<String, LaneMemory>,
    /// Homes of gates that run.
    pub gate_homes: Vec<String>,
    /// How many gates were started.
    pub gates_started: u64,
    /// What went wrong that is no lane's fault: phase, kind, message.
    pub issues: Vec<(String, String, String)>,
    /// How many leads there were.
    pub leads: u64,
    /// Whether everything was done: the next lead begins another run.
    pub is_finished: bool,
    /// What was stored of the fleet's rules, to be applied to a fleet that was read anew.
    lanes_stored: BTreeMap<String, Value>,
    groups_stored: BTreeMap<String, Value>,
    /// When the account's limit ends.
    pub parked_until: Option<Time>,
}

/// What is remembered of a lane, beside its rules.
#[derive(Debug, Clone, Default)]
pub(super) struct LaneMemory {
    pub attempt: u64,
    /// How many workers it has had; homes are numbered by it.
    pub spawned: u64,
    /// The home of its last worker, relative to the workspace.
    pub home: Option<String>,
    pub worker: Option<String>,
    pub session: Option<String>,
    pub worktree: Option<String>,
    pub branch: Option<String>,
    pub results: BTreeMap<u8, String>,
    pub times: BTreeMap<u8, (Option<Time>, Option<Time>)>,
    pub git: Option<Statistics>,
    pub cost: f64,
    /// What is known about each death.
    pub deaths: Vec<String>,
    /// How often it was resumed, and how many steps were not done again thereby.
    pub resumes: u64,
    pub saved: u64,
    /// Gates and how they ended.
    pub gates: Vec<(String, String)>,
    /// Whether a lead put it off before anybody had begun: whoever leads next may queue it again.
    pub put_off: bool,
}

/// What a lane was doing when it was written down.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Stored {
    /// As it is.
    State(LaneState),
    /// It had a worker, or was being closed after one.
    Worked(How),
}

impl Memory {
    /// What the last lead left; nothing when there was none.
    pub fn load(workspace: &Workspace) -> Memory {
        let Ok(content) = workspace.disk.read(MEMORY) else { return Memory::default() };
        let Ok(value) = serde_json::from_slice::<Value>(&content.bytes) else { return Memory::default() };
        Memory::from_json(&value)
    }

    /// Writes it down. When this returns it is durable.
    pub fn save(&self, workspace: &Workspace, fleet: &Fleet) -> Result<(), DiskError> {
        let bytes = format!("{:#}\n", self.to_json(fleet)).into_bytes();
        piton_store::replace(&*workspace.disk, MEMORY, &bytes, Access::Private)
    }

    pub fn lane(&mut self, name: &str) -> &mut LaneMemory {
        self.lanes.entry(name.to_owned()).or_default()
    }

    fn to_json(&self, fleet: &Fleet) -> Value {
        let lane = |lane: &Lane| {
            let own = self.lanes.get(&lane.name).map(LaneMemory::to_json).unwrap_or_default();
            (lane.name.clone(), json!({ "rules": lane_json(lane), "own": own }))
        };
        let mut lanes: Map<String, Value> = self.lanes_stored.clone().into_iter().collect();
        lanes.extend(fleet.lanes.iter().map(lane));
        let mut groups: Map<String, Value> = self.groups_stored.clone().into_iter().collect();
        groups.extend(fleet.groups.iter().map(|group| (group.name.clone(), group_json(group))));
        json!({
            "started": self.started.map(|at| at.to_string()),
            "base": self.base,
            "lanes": lanes,
            "groups": groups,
            "gate_homes": self.gate_homes,
            "gates_started": self.gates_started,
            "issues": self.issues,
            "leads": self.leads,
            "is_finished": self.is_finished,
            "parked_until": fleet.parked_until.map(|at| at.to_string()),
        })
    }

    fn from_json(value: &Value) -> Memory {
        let texts = |value: &Value| -> Vec<String> {
            value.as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
        };
        let map = |value: &Value| value.as_object().cloned().unwrap_or_default();
        let stored = map(&value["lanes"]);
        let issue = |issue: &Value| {
            let text = |place: usize| issue.get(place).and_then(Value::as_str).unwrap_or_default().to_owned();
            (text(0), text(1), text(2))
        };
        Memory {
            started: time(&value["started"]),
            base: value["base"].as_str().map(str::to_owned),
            lanes: stored.iter().map(|(name, lane)| (name.clone(), LaneMemory::from_json(&lane["own"]))).collect(),
            gate_homes: texts(&value["gate_homes"]),
            gates_started: value["gates_started"].as_u64().unwrap_or(0),
            issues: value["issues"].as_array().into_iter().flatten().map(issue).collect(),
            leads: value["leads"].as_u64().unwrap_or(0),
            is_finished: value["is_finished"].as_bool().unwrap_or(false),
            lanes_stored: stored.into_iter().collect(),
            groups_stored: map(&value["groups"]).into_iter().collect(),
            parked_until: time(&value["parked_until"]),
        }
    }

    /// The ids of lanes of earlier runs that are done, as the homes of their workers have them.
    pub fn done_elsewhere(&self, fleet: &Fleet) -> BTreeSet<String> {
        let is_elsewhere = |name: &str| fleet.lanes.iter().all(|lane| lane.name != name);
        let done =
            self.lanes_stored.iter().filter(|(name, stored)| stored["rules"]["state"] == "done" && is_elsewhere(name));
        let home = |stored: &Value| stored["own"]["home"].as_str().map(str::to_owned);
        let id = |home: String| Some(home.rsplit('/').next()?.rsplit_once('-')?.0.to_owned());
        done.filter_map(|(_, stored)| id(home(stored)?)).collect()
    }

    /// Brings a lane to where it was left, and says what it was doing; nothing when nobody knew it.
    pub fn recall(&self, lane: &mut Lane) -> Option<Stored> {
        let rules = self.lanes_stored.get(&lane.name).map(|stored| &stored["rules"])?;
        let count = |key: &str| rules[key].as_u64().and_then(|count| u32::try_from(count).ok()).unwrap_or(0);
        lane.counts = Counts { crashes: count("crashes"), no_gos: count("no_gos"), reworks: count("reworks") };
        lane.stage = u8::try_from(count("stage")).unwrap_or(0);
        lane.waves_left = count("waves_left");
        lane.priority = rules["priority"].as_i64().unwrap_or(lane.priority);
        lane.readiness = rules["readiness"].as_f64();
        let how = match rules["how"].as_str() {
            Some("session") => How::Session,
            Some("brief") => How::Brief,
            _ => How::Fresh,
        };
        let reason = || rules["reason"].as_str().unwrap_or("it was paused").to_owned();
        Some(match rules["state"].as_str() {
            Some("between") => Stored::State(LaneState::Between),
            Some("dead") => Stored::State(LaneState::Dead { why: reason(), how }),
            Some("parked") => match time(&rules["until"]) {
                Some(until) => Stored::State(LaneState::Parked { until }),
                None => Stored::State(LaneState::Between),
            },
            Some("done") => Stored::State(LaneState::Done),
            Some("paused") => Stored::State(LaneState::Paused { reason: reason() }),
            Some("worked") => Stored::Worked(how),
            _ => Stored::State(LaneState::Queued),
        })
    }

    /// Brings a group to where it was left. A gate that was being run is run again.
    pub fn recall_group(&self, group: &mut Group) {
        let Some(stored) = self.groups_stored.get(&group.name) else { return };
        for (place, phase) in group.phases.iter_mut().enumerate() {
            let known = &stored["phases"][place];
            if known["name"].as_str() != Some(phase.name.as_str()) {
                continue;
            }
            for gate in &mut phase.gates {
                if known["gates"][&gate.name].as_str() == Some("passed") {
                    gate.state = GateProgress::Passed;
                }
            }
            phase.closed = known["closed"].as_bool().unwrap_or(false);
            match known["approval"].as_str() {
                Some("given") => phase.approval = Approval::Given,
                Some("asked") if phase.approval == Approval::Needed => phase.approval = Approval::Asked,
                _ => {}
            }
        }
        if let Some(reason) = stored["halted"].as_str() {
            group.halted = Some(Halt { reason: reason.to_owned(), lane: None, recorded: true });
        }
    }
}

fn time(value: &Value) -> Option<Time> {
    piton_dialect::time::read(value.as_str()?).time()
}

fn lane_json(lane: &Lane) -> Value {
    let how_word = |how: How| match how {
        How::Fresh => "fresh",
        How::Session => "session",
        How::Brief => "brief",
    };
    let (state, reason, how, until) = match &lane.state {
        LaneState::Queued => ("queued", None, None, None),
        LaneState::Between => ("between", None, None, None),
        LaneState::Working(worker) => ("worked", None, Some(worker.how), None),
        LaneState::Closing(Closing::Gates { .. } | Closing::Merging | Closing::Finishing) => {
            ("worked", None, Some(How::Fresh), None)
        }
        LaneState::Dead { why, how } | LaneState::Proving { why, how } => ("dead", Some(why), Some(*how), None),
        LaneState::Parked { until } => ("parked", None, None, Some(until.to_string())),
        LaneState::Done => ("done", None, None, None),
        LaneState::Paused { reason } => ("paused", Some(reason), None, None),
    };
    json!({
        "state": state,
        "reason": reason,
        "how": how.map(how_word),
        "until": until,
        "stage": lane.stage,
        "crashes": lane.counts.crashes,
        "no_gos": lane.counts.no_gos,
        "reworks": lane.counts.reworks,
        "waves_left": lane.waves_left,
        "priority": lane.priority,
        "readiness": lane.readiness,
    })
}

fn group_json(group: &Group) -> Value {
    let phase = |phase: &piton_model::fleet::Phase| {
        let gate = |gate: &piton_model::fleet::PhaseGate| {
            let word = match gate.state {
                GateProgress::Pending | GateProgress::Running => "pending",
                GateProgress::Passed => "passed",
                GateProgress::Failed => "failed",
            };
            (gate.name.clone(), Value::from(word))
        };
        let approval = match phase.approval {
            Approval::NotNeeded => "not needed",
            Approval::Needed => "needed",
            Approval::Asked => "asked",
            Approval::Given => "given",
        };
        let gates: Map<String, Value> = phase.gates.iter().map(gate).collect();
        json!({ "name": phase.name, "gates": gates, "approval": approval, "closed": phase.closed })
    };
    let phases: Vec<Value> = group.phases.iter().map(phase).collect();
    json!({ "phases": phases, "halted": group.halted.as_ref().map(|halt| &halt.reason) })
}

impl LaneMemory {
    fn to_json(&self) -> Value {
        let times: Map<String, Value> = self
            .times
            .iter()
            .map(|(stage, (start, end))| {
                (stage.to_string(), json!([start.map(|at| at.to_string()), end.map(|at| at.to_string())]))
            })
            .collect();
        let results: Map<String, Value> =
            self.results.iter().map(|(stage, result)| (stage.to_string(), result.as_str().into())).collect();
        json!({
            "attempt": self.attempt,
            "spawned": self.spawned,
            "home": self.home,
            "worker": self.worker,
            "session": self.session,
            "worktree": self.worktree,
            "branch": self.branch,
            "results": results,
            "times": times,
            "git": self.git.map(|git| [git.commits, git.files, git.insertions, git.deletions]),
            "cost": self.cost,
            "deaths": self.deaths,
            "resumes": self.resumes,
            "saved": self.saved,
            "gates": self.gates,
            "put_off": self.put_off,
        })
    }

    fn from_json(value: &Value) -> LaneMemory {
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        let number = |key: &str| value[key].as_u64().unwrap_or(0);
        let map = |key: &str| value[key].as_object().cloned().unwrap_or_default().into_iter();
        let texts = value["deaths"].as_array().into_iter().flatten();
        let pair = |pair: &Value| Some((pair.get(0)?.as_str()?.to_owned(), pair.get(1)?.as_str()?.to_owned()));
        let git = value["git"].as_array().map(|git| {
            let at = |place: usize| git.get(place).and_then(Value::as_u64).unwrap_or(0);
            Statistics { commits: at(0), files: at(1), insertions: at(2), deletions: at(3) }
        });
        LaneMemory {
            attempt: number("attempt"),
            spawned: number("spawned"),
            home: text("home"),
            worker: text("worker"),
            session: text("session"),
            worktree: text("worktree"),
            branch: text("branch"),
            results: map("results")
                .filter_map(|(stage, result)| Some((stage.parse().ok()?, result.as_str()?.to_owned())))
                .collect(),
            times: map("times")
                .filter_map(|(stage, times)| Some((stage.parse().ok()?, (time(&times[0]), time(&times[1])))))
                .collect(),
            git,
            cost: value["cost"].as_f64().unwrap_or(0.0),
            deaths: texts.filter_map(|text| text.as_str().map(str::to_owned)).collect(),
            resumes: number("resumes"),
            saved: number("saved"),
            gates: value["gates"].as_array().into_iter().flatten().filter_map(pair).collect(),
            put_off: value["put_off"].as_bool().unwrap_or(false),
        }
    }
}

/// A worker that an earlier lead started.
pub(super) fn adopted(how: How, now: Duration) -> LaneState {
    LaneState::Working(Worker { how, since: now, state: WorkerState::Running { last_sign: now } })
}
