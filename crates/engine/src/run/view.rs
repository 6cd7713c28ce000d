//! Where a run stands, as its lead shows and publishes it: `.piton/run/lead.json`. Readers take no lock. It is replaced
//! whole when something changes, and not synced: after a loss of power the lead is gone, and the run's record says so.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use piton_model::{LedWork, Time};
use piton_supervisor::Identity;
use serde_json::{Value, json};

use super::read_time as time;
use super::ways::Judging;
use crate::Workspace;

/// Where a lead publishes what it knows.
pub(super) const PUBLISHED: &str = ".piton/run/lead.json";

/// Where what a run's last lead published is kept while other runs are led.
pub(super) fn kept(run: u64) -> String {
    format!("{}/{run}/lead.json", super::runs::RUNS)
}

/// A lead's file is not longer; one that is was written by something else.
const LONGEST: u64 = 16 << 20;

/// Where a run stands.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// The moment it speaks of.
    pub as_of: Time,
    /// When its lead began.
    pub began: Time,
    /// Each lane.
    pub lanes: Vec<LaneView>,
    /// What all workers cost so far, in US dollars; nothing when none said.
    pub cost: Option<f64>,
    /// How many seconds are left, judged by how long stages took.
    pub eta: Option<u64>,
    /// Whether it goes on, drains or stops, in a word.
    pub mode: Cow<'static, str>,
    /// What waits for a person's approval.
    pub waiting: Vec<Waiting>,
    /// Gates that a person judges, and that work waits for.
    pub judging: Vec<Judging>,
    /// Until when the fleet is parked.
    pub parked_until: Option<Time>,
    /// Workers of other runs that still run.
    pub others: Vec<OtherWorker>,
}

/// A unit that waits for a person's approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The unit.
    pub unit: String,
    /// What is to be approved: mostly the name of a phase.
    pub what: String,
    /// What tells it from everything else that the unit may ask.
    pub(super) key: String,
    /// The event that began the unit of which it is asked; 0 when no such event was known.
    pub(super) began: u64,
}

impl Waiting {
    /// Something that a unit waits for; `key` tells it from everything else that the unit may ask.
    pub fn new(unit: impl Into<String>, what: impl Into<String>, key: impl Into<String>) -> Waiting {
        Waiting { unit: unit.into(), what: what.into(), key: key.into(), began: 0 }
    }

    pub(super) fn to_json(&self) -> Value {
        json!({ "unit": self.unit, "what": self.what, "key": self.key, "began": self.began })
    }

    pub(super) fn from_json(value: &Value) -> Option<Waiting> {
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        let began = value["began"].as_u64().unwrap_or(0);
        Some(Waiting { began, ..Waiting::new(text("unit")?, text("what")?, text("key")?) })
    }
}

/// A worker that belongs to no lane of this run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherWorker {
    /// The unit it works on, as far as that is known.
    pub unit: Option<String>,
    /// Its home, relative to the workspace.
    pub home: String,
}

/// Where a lane stands.
#[derive(Debug, Clone, PartialEq)]
pub struct LaneView {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// What its state means for its unit.
    pub work: LedWork,
    /// The attempt of its unit that its last worker had.
    pub attempt: u64,
    /// What a person calls it.
    pub title: Option<String>,
    /// The word of its state.
    pub state: Cow<'static, str>,
    /// How far it is: stages done, of all.
    pub done: u64,
    /// See [`LaneView::done`].
    pub total: u64,
    /// Its stage, where it has several.
    pub stage: Option<u8>,
    /// Its worker.
    pub worker: Option<String>,
    /// That worker's home, relative to the workspace.
    pub home: Option<String>,
    /// When the worker last gave a sign.
    pub last_sign: Option<Time>,
    /// Until when it waits for a limit to end.
    pub until: Option<Time>,
    /// Why it is paused or dead.
    pub reason: Option<String>,
    /// The lanes that it waits for, by their names.
    pub after: Vec<String>,
    /// The last event of its unit that the lead knew of when it ended and left the lane paused.
    pub known: Option<u64>,
}

impl View {
    /// For how many seconds its lead has been at work.
    pub fn seconds(&self) -> u64 {
        self.began.age(self.as_of).0.as_secs()
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "began": self.began.to_string(),
            "lanes": self.lanes.iter().map(LaneView::to_json).collect::<Vec<_>>(),
            "cost_usd": self.cost,
            "eta": self.eta,
            "mode": self.mode,
            "waiting": self.waiting.iter().map(Waiting::to_json).collect::<Vec<_>>(),
            "judging": self.judging.iter().map(Judging::to_json).collect::<Vec<_>>(),
            "parked_until": self.parked_until.map(|at| at.to_string()),
            "others": self.others.iter().map(|each| json!({ "unit": each.unit, "home": each.home })).collect::<Vec<_>>(),
        })
    }

    pub(super) fn from_json(value: &Value, as_of: Time) -> Option<View> {
        let list = |key: &str| value[key].as_array().map(Vec::as_slice).unwrap_or_default().iter();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Some(View {
            as_of,
            began: time(&value["began"])?,
            lanes: list("lanes").filter_map(LaneView::from_json).collect(),
            cost: value["cost_usd"].as_f64(),
            eta: value["eta"].as_u64(),
            mode: text(&value["mode"])?.into(),
            waiting: list("waiting").filter_map(Waiting::from_json).collect(),
            judging: list("judging").filter_map(Judging::from_json).collect(),
            parked_until: time(&value["parked_until"]),
            others: list("others")
                .filter_map(|each| Some(OtherWorker { unit: text(&each["unit"]), home: text(&each["home"])? }))
                .collect(),
        })
    }
}

impl LaneView {
    /// The step of its unit that it is; nothing when it is the whole unit.
    pub(super) fn step(&self) -> Option<&str> {
        self.name.strip_prefix(&self.unit)?.strip_prefix(' ')
    }

    fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "unit": self.unit,
            "work": work_json(&self.work),
            "attempt": self.attempt,
            "title": self.title,
            "state": self.state,
            "done": self.done,
            "total": self.total,
            "stage": self.stage,
            "worker": self.worker,
            "home": self.home,
            "last_sign": self.last_sign.map(|at| at.to_string()),
            "until": self.until.map(|at| at.to_string()),
            "reason": self.reason,
            "after": self.after,
            "known": self.known,
        })
    }

    fn from_json(value: &Value) -> Option<LaneView> {
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        Some(LaneView {
            name: text("name")?,
            unit: text("unit")?,
            work: read_work(&value["work"])?,
            attempt: value["attempt"].as_u64().unwrap_or(0),
            title: text("title"),
            state: text("state")?.into(),
            done: value["done"].as_u64().unwrap_or(0),
            total: value["total"].as_u64().unwrap_or(1),
            stage: value["stage"].as_u64().and_then(|stage| u8::try_from(stage).ok()),
            worker: text("worker"),
            home: text("home"),
            last_sign: time(&value["last_sign"]),
            until: time(&value["until"]),
            reason: text("reason"),
            after: value["after"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|it| it.as_str().map(str::to_owned))
                .collect(),
            known: value["known"].as_u64(),
        })
    }
}

fn work_json(work: &LedWork) -> Value {
    match work {
        LedWork::Settled => json!({ "is": "settled" }),
        LedWork::Paused { why } => json!({ "is": "paused", "why": why }),
        LedWork::Turn => json!({ "is": "turn" }),
        LedWork::Changed => json!({ "is": "changed" }),
        LedWork::Dead { why } => json!({ "is": "dead", "why": why }),
        LedWork::Parked { until, why } => json!({ "is": "parked", "until": until.to_string(), "why": why }),
        LedWork::Approval { what } => json!({ "is": "approval", "what": what }),
        LedWork::Closing => json!({ "is": "closing" }),
        LedWork::Working { is_silent } => json!({ "is": "working", "silent": is_silent }),
    }
}

fn read_work(value: &Value) -> Option<LedWork> {
    let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    Some(match value["is"].as_str()? {
        "settled" => LedWork::Settled,
        "paused" => LedWork::Paused { why: text("why") },
        "turn" => LedWork::Turn,
        "changed" => LedWork::Changed,
        "dead" => LedWork::Dead { why: text("why") },
        "parked" => LedWork::Parked { until: time(&value["until"])?, why: text("why") },
        "approval" => LedWork::Approval { what: text("what") },
        "closing" => LedWork::Closing,
        "working" => LedWork::Working { is_silent: value["silent"] == true },
        _ => return None,
    })
}

/// What a lead published.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Published {
    /// The lead.
    pub lead: Identity,
    /// The number of its run.
    pub run: u64,
    /// The units that it leads; a part of the run's when only some were named.
    pub units: BTreeSet<String>,
    /// Where that stands.
    pub view: View,
}

impl Published {
    /// As it is written.
    pub fn text(lead: &Identity, run: u64, units: &BTreeSet<String>, view: &View) -> String {
        format!("{}\n", json!({ "lead": lead.to_string(), "run": run, "units": units, "view": view.to_json() }))
    }

    /// Replaces what was published before.
    pub fn write(root: &Path, text: &str) -> std::io::Result<()> {
        Published::write_to(&root.join(PUBLISHED), text)
    }

    fn write_to(path: &Path, text: &str) -> std::io::Result<()> {
        let aside = path.with_extension("json.new");
        let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&aside)?;
        file.write_all(text.as_bytes())?;
        fs::rename(aside, path)
    }

    /// What the last lead published; nothing when there is none, or it cannot be read.
    pub fn read(workspace: &Workspace, as_of: Time) -> Option<Published> {
        Published::read_at(workspace, PUBLISHED, as_of)
    }

    /// What the last lead of a run published, when another run was led since.
    pub fn read_kept(workspace: &Workspace, run: u64, as_of: Time) -> Option<Published> {
        Published::read_at(workspace, &kept(run), as_of).filter(|published| published.run == run)
    }

    /// Keeps what the lead of another run published, or one of other units of the same run, before this one publishes.
    pub fn keep_other(workspace: &Workspace, run: u64, units: &BTreeSet<String>, as_of: Time) {
        let is_other = |published: &Published| published.run != run || !published.units.is_subset(units);
        let Some(mut other) = Published::read(workspace, as_of).filter(is_other) else { return };
        // What an earlier lead of that run knew about other units stays with it.
        if let Some(earlier) = Published::read_kept(workspace, other.run, as_of) {
            let is_new = |lane: &LaneView| !other.units.contains(&lane.unit);
            let lanes: Vec<LaneView> = earlier.view.lanes.into_iter().filter(is_new).collect();
            other.view.lanes.extend(lanes);
            other.units.extend(earlier.units);
        }
        let text = Published::text(&other.lead, other.run, &other.units, &other.view);
        // Without it, readers know what the documents say.
        let _ = Published::write_to(&workspace.root().join(kept(other.run)), &text);
    }

    fn read_at(workspace: &Workspace, path: &str, as_of: Time) -> Option<Published> {
        let path = workspace.root().join(path);
        let metadata = fs::symlink_metadata(&path).ok()?;
        if !metadata.is_file() || metadata.len() > LONGEST || !super::is_ours(workspace) {
            return None;
        }
        Published::load(&path, as_of)
    }

    fn load(path: &Path, as_of: Time) -> Option<Published> {
        let value: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        Some(Published {
            lead: value["lead"].as_str()?.parse().ok()?,
            run: value["run"].as_u64()?,
            units: value["units"].as_array()?.iter().filter_map(|unit| unit.as_str().map(str::to_owned)).collect(),
            view: View::from_json(&value["view"], as_of)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_read_back() {
        let at = Time::from_unix_seconds;
        let lane = LaneView {
            name: "build:PRD-009 WS1".to_owned(),
            unit: "build:PRD-009".to_owned(),
            work: LedWork::Parked { until: at(500), why: "a usage limit is reached".to_owned() },
            attempt: 3,
            title: Some("Posts".to_owned()),
            state: "parked".into(),
            done: 1,
            total: 4,
            stage: Some(2),
            worker: Some("worker-1".to_owned()),
            home: Some(".piton/run/workers/x-1".to_owned()),
            last_sign: Some(at(90)),
            until: Some(at(500)),
            reason: Some("a limit".to_owned()),
            after: vec!["pipeline:A".to_owned()],
            known: Some(12),
        };
        let view = View {
            as_of: at(100),
            began: at(40),
            lanes: vec![lane],
            cost: Some(1.5),
            eta: Some(60),
            mode: "draining".into(),
            waiting: vec![Waiting::new("build:PRD-009", "Ground", "phase 0 Ground")],
            judging: vec![Judging {
                unit: "plan:p".to_owned(),
                gate: "looks".to_owned(),
                step: None,
                phase: Vec::new(),
            }],
            parked_until: Some(at(400)),
            others: vec![OtherWorker { unit: None, home: ".piton/run/workers/y-2".to_owned() }],
        };
        assert_eq!(View::from_json(&view.to_json(), at(100)), Some(view.clone()));
        for work in [
            LedWork::Settled,
            LedWork::Paused { why: "z".to_owned() },
            LedWork::Turn,
            LedWork::Changed,
            LedWork::Dead { why: "x".to_owned() },
            LedWork::Parked { until: at(7), why: "its API cannot be reached".to_owned() },
            LedWork::Approval { what: "y".to_owned() },
            LedWork::Closing,
            LedWork::Working { is_silent: true },
            LedWork::Working { is_silent: false },
        ] {
            assert_eq!(read_work(&work_json(&work)), Some(work));
        }
        assert_eq!(view.seconds(), 60);
        let own = Identity::current().expect("we run");
        let units = BTreeSet::from(["build:PRD-009".to_owned()]);
        let text = Published::text(&own, 7, &units, &view);
        let directory = std::env::temp_dir().join(format!("piton-view-{}", std::process::id()));
        fs::create_dir_all(directory.join(".piton/run")).expect("a directory");
        Published::write(&directory, &text).expect("it can be written");
        let read = Published::load(&directory.join(PUBLISHED), at(100));
        fs::remove_dir_all(&directory).expect("it can be removed");
        assert_eq!(read, Some(Published { lead: own, run: 7, units, view }));
    }
}
