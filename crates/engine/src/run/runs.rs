//! Runs have numbers. Each has a directory, `.piton/run/runs/N`, with its record, everything that was told, and its
//! report. A run goes on under its number, with one lead after another, until all of its units are done.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use piton_model::fleet::Outcome;
use piton_model::hint::verbs;
use piton_model::{Arg, Invocation, Time};
use piton_store::disk::{Access, Disk};
use piton_supervisor::Identity;
use serde_json::{Value, json};

use super::sources::{Source, is_list, kept};
use super::view::Waiting;
use super::{RunError, RunRequest, read_time as time};
use crate::Workspace;

/// Where the directories of runs are.
pub(super) const RUNS: &str = ".piton/run/runs";

/// How many runs are kept. Older ones go when they are finished.
const KEPT: usize = 50;

/// Something that a person named to be run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wanted {
    /// A unit, as it was typed.
    Unit(String),
    /// A file: relative to the workspace when it is inside, else absolute.
    File(String),
}

impl Wanted {
    pub(super) fn new(workspace: &Workspace, typed: &str) -> Wanted {
        let path = Path::new(typed);
        if !path.is_file() {
            return Wanted::Unit(typed.to_owned());
        }
        let absolute = || std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string();
        Wanted::File(workspace.relative(path).unwrap_or_else(absolute))
    }

    /// Its path, when it is a list of units.
    pub(super) fn list(&self) -> Option<&str> {
        match self {
            Wanted::File(file) if is_list(file) => Some(file),
            Wanted::File(_) | Wanted::Unit(_) => None,
        }
    }

    /// As it can be typed in a directory.
    fn typed(&self, root: &Path, directory: &Path) -> String {
        match self {
            Wanted::Unit(unit) => unit.clone(),
            Wanted::File(file) => {
                let path = root.join(file);
                let path = path.strip_prefix(directory).map(PathBuf::from).unwrap_or(path);
                path.display().to_string()
            }
        }
    }

    /// As it can be opened in any directory.
    pub(super) fn opened(&self, root: &Path) -> String {
        match self {
            Wanted::Unit(unit) => unit.clone(),
            Wanted::File(file) => root.join(file).display().to_string(),
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Wanted::Unit(unit) => json!({ "unit": unit }),
            Wanted::File(file) => json!({ "file": file }),
        }
    }

    fn from_json(value: &Value) -> Option<Wanted> {
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        text("unit").map(Wanted::Unit).or_else(|| text("file").map(Wanted::File))
    }
}

/// What is durably known about a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRecord {
    /// Its number.
    pub number: u64,
    /// What was named when it began; nothing for the stories of the workspace.
    pub wanted: Vec<Wanted>,
    /// Whether phases go on without a person's approval.
    pub yes: bool,
    /// The units that it is about.
    pub units: BTreeSet<String>,
    /// When its first lead began.
    pub started: Time,
    /// How many leads it has had.
    pub leads: u64,
    /// Its last lead.
    pub lead: Option<Identity>,
    /// When that began.
    pub lead_since: Time,
    /// How its last lead ended it; nothing while that is at work, and when it was killed.
    pub ended: Option<(Outcome, Time)>,
    /// What it waited for when its last lead ended it.
    pub waiting: Vec<Waiting>,
    /// Whether all of its units are done.
    pub is_finished: bool,
    /// Sessions of agents that started a lead of it: they handed its units over.
    pub handed_by: BTreeSet<String>,
}

impl RunRecord {
    /// Takes up the newest run that is not finished and is about one of these units, or begins another one; durably. For
    /// the one lead alone.
    pub(super) fn begin(
        workspace: &Workspace,
        request: &RunRequest,
        (units, gone): (BTreeSet<String>, &[String]),
        lead: Option<Identity>,
        now: Time,
    ) -> Result<RunRecord, RunError> {
        let wanted: Vec<Wanted> = request.wanted.iter().map(|typed| Wanted::new(workspace, typed)).collect();
        let numbers = numbers(&*workspace.disk);
        let mut run = match continued_by(workspace, &units) {
            // All that is left of it was read: what is gone is no part of it any more.
            Some(run) if run.names(gone) => RunRecord { wanted, units, ..run },
            Some(run) => run.without(gone).widened(wanted, units),
            None => RunRecord {
                number: numbers.last().map_or(1, |last| last + 1),
                wanted,
                yes: false,
                units,
                started: now,
                leads: 0,
                lead: None,
                lead_since: now,
                ended: None,
                waiting: Vec::new(),
                is_finished: false,
                handed_by: BTreeSet::new(),
            },
        };
        run.handed_by.extend(request.session.clone());
        run.leads += 1;
        run.waiting.clear();
        (run.lead, run.lead_since, run.ended, run.yes) = (lead, now, None, request.yes);
        run.save(workspace)?;
        run.prune(workspace, &numbers);
        Ok(run)
    }

    /// The run files that it names, each with its text: as it is now, or as it was when it was last there.
    pub(super) fn lists(&self, workspace: &Workspace) -> BTreeMap<String, String> {
        let kept = kept::load(&*workspace.disk, &self.directory()).into_iter().filter(|(path, _)| is_list(path));
        let text = |source: Source| source.text.and_then(|text| String::from_utf8(text).ok());
        let mut lists: BTreeMap<String, String> =
            kept.filter_map(|(path, source)| Some((path, text(source)?))).collect();
        let named = self.wanted.iter().filter_map(Wanted::list).map(str::to_owned);
        let all: BTreeSet<String> = lists.keys().cloned().chain(named).collect();
        for file in all {
            if let Ok(text) = std::fs::read_to_string(workspace.root().join(&file)) {
                lists.insert(file, text);
            }
        }
        lists
    }

    /// The same run, without units that are in no list any more.
    fn without(mut self, gone: &[String]) -> RunRecord {
        self.units.retain(|unit| !gone.contains(unit));
        self
    }

    /// The same run, when somebody asks for other units too. What was asked for first stays, as far as it is not a part of
    /// what is asked for now.
    fn widened(mut self, wanted: Vec<Wanted>, units: BTreeSet<String>) -> RunRecord {
        if units.is_superset(&self.units) {
            self.wanted = wanted;
        } else if !units.is_subset(&self.units) {
            // A run of the workspace's stories names nothing: beside other units each has to be named.
            let named = |wanted: Vec<Wanted>, units: &BTreeSet<String>| match wanted.is_empty() {
                true => units.iter().cloned().map(Wanted::Unit).collect(),
                false => wanted,
            };
            let new = named(wanted, &units);
            self.wanted = named(self.wanted, &self.units);
            let new: Vec<Wanted> = new.into_iter().filter(|each| !self.wanted.contains(each)).collect();
            self.wanted.extend(new);
        }
        self.units.extend(units);
        self
    }

    /// Whether one of these was named for it.
    fn names(&self, texts: &[String]) -> bool {
        self.wanted.iter().any(|wanted| match wanted {
            Wanted::Unit(text) | Wanted::File(text) => texts.contains(text),
        })
    }

    /// Its directory.
    pub(super) fn directory(&self) -> String {
        format!("{RUNS}/{}", self.number)
    }

    /// Writes it down, durably.
    pub(super) fn save(&self, workspace: &Workspace) -> Result<(), RunError> {
        let path = format!("{}/run.json", self.directory());
        let bytes = format!("{:#}\n", self.to_json()).into_bytes();
        piton_store::replace(&*workspace.disk, &path, &bytes, Access::Private)?;
        Ok(())
    }

    /// What was named, as it can be typed in a directory.
    pub fn typed(&self, root: &Path, directory: &Path) -> Vec<String> {
        self.wanted.iter().map(|wanted| wanted.typed(root, directory)).collect()
    }

    /// The command that goes on with it, as it can be typed in a directory.
    #[track_caller]
    pub fn command(&self, root: &Path, directory: &Path, options: &[&'static str]) -> Invocation {
        let mut command = verbs::RUN.call();
        if !directory.starts_with(root) {
            command = command.within(&root.display().to_string());
        }
        // A file that is gone may have been moved: its units are known by their names.
        let is_there = |wanted: &Wanted| match wanted {
            Wanted::Unit(_) => true,
            Wanted::File(file) => root.join(file).is_file(),
        };
        let wanted: Vec<Wanted> = match self.wanted.iter().all(is_there) {
            true => self.wanted.clone(),
            false => self.units.iter().cloned().map(Wanted::Unit).collect(),
        };
        for wanted in &wanted {
            command = command.arg(match wanted {
                Wanted::Unit(unit) => Arg::unit(unit),
                Wanted::File(_) => Arg::path(&wanted.typed(root, directory)),
            });
        }
        // Only a build's phases ask. Elsewhere `--yes` would do nothing but approve commands that changed since.
        let asks = self.units.iter().any(|unit| unit.starts_with("build:"));
        (self.yes && asks)
            .then_some(&"--yes")
            .into_iter()
            .chain(options)
            .fold(command, |command, flag| command.flag(flag))
    }

    /// Whether a newer run is not finished: a retry that names nothing means that one.
    pub(super) fn is_older(&self, workspace: &Workspace) -> bool {
        all(workspace).find(|run| !run.is_finished).is_some_and(|newest| newest.number > self.number)
    }

    /// The same run, with its units named where nothing was.
    pub(super) fn named(&self) -> RunRecord {
        let units = || self.units.iter().cloned().map(Wanted::Unit).collect();
        let wanted = if self.wanted.is_empty() { units() } else { self.wanted.clone() };
        RunRecord { wanted, ..self.clone() }
    }

    /// Removes the directories of old runs; what cannot be removed stays.
    fn prune(&self, workspace: &Workspace, numbers: &[u64]) {
        let is_finished = |number: &u64| load(&*workspace.disk, *number).is_none_or(|run| run.is_finished);
        let old = numbers.iter().rev().skip(KEPT);
        for number in old.copied().filter(|number| *number != self.number).filter(is_finished) {
            let _ = std::fs::remove_dir_all(workspace.root().join(format!("{RUNS}/{number}")));
        }
    }

    fn to_json(&self) -> Value {
        json!({
            "number": self.number,
            "wanted": self.wanted.iter().map(Wanted::to_json).collect::<Vec<_>>(),
            "yes": self.yes,
            "units": self.units,
            "started": self.started.to_string(),
            "leads": self.leads,
            "lead": self.lead.as_ref().map(Identity::to_string),
            "lead_since": self.lead_since.to_string(),
            "ended": self.ended.map(|(outcome, at)| json!({ "outcome": outcome.word(), "at": at.to_string() })),
            "waiting": self.waiting.iter().map(Waiting::to_json).collect::<Vec<_>>(),
            "is_finished": self.is_finished,
            "handed_by": self.handed_by,
        })
    }

    fn from_json(number: u64, value: &Value) -> Option<RunRecord> {
        let list = |key: &str| value[key].as_array().map(Vec::as_slice).unwrap_or_default().iter();
        let started = time(&value["started"])?;
        let ended = Outcome::parse(value["ended"]["outcome"].as_str().unwrap_or_default());
        Some(RunRecord {
            number,
            wanted: list("wanted").filter_map(Wanted::from_json).collect(),
            yes: value["yes"].as_bool().unwrap_or(false),
            units: list("units").filter_map(|unit| unit.as_str().map(str::to_owned)).collect(),
            started,
            leads: value["leads"].as_u64().unwrap_or(1),
            lead: value["lead"].as_str().and_then(|lead| lead.parse().ok()),
            lead_since: time(&value["lead_since"]).unwrap_or(started),
            ended: ended.zip(time(&value["ended"]["at"])),
            waiting: list("waiting").filter_map(Waiting::from_json).collect(),
            is_finished: value["is_finished"].as_bool().unwrap_or(false),
            handed_by: list("handed_by").filter_map(|session| session.as_str().map(str::to_owned)).collect(),
        })
    }
}

/// All runs that are kept, the newest first.
pub(super) fn all(workspace: &Workspace) -> impl Iterator<Item = RunRecord> {
    let disk = &*workspace.disk;
    let mut numbers = numbers(disk);
    if !numbers.is_empty() && !super::is_ours(workspace) {
        numbers.clear();
    }
    numbers.into_iter().rev().filter_map(move |number| load(disk, number))
}

/// The run that a lead of these units continues: the newest that is not finished and is about one of them.
pub(super) fn continued_by(workspace: &Workspace, units: &BTreeSet<String>) -> Option<RunRecord> {
    all(workspace).find(|run| !run.is_finished && !run.units.is_disjoint(units))
}

/// The newest run that is not finished.
pub fn unfinished(workspace: &Workspace) -> Option<RunRecord> {
    all(workspace).find(|run| !run.is_finished)
}

pub(super) fn load(disk: &dyn Disk, number: u64) -> Option<RunRecord> {
    let content = disk.read(&format!("{RUNS}/{number}/run.json")).ok()?;
    RunRecord::from_json(number, &serde_json::from_slice(&content.bytes).ok()?)
}

/// The numbers of all runs, in order. Only what is written as we write it is ours.
fn numbers(disk: &dyn Disk) -> Vec<u64> {
    let names = disk.list(RUNS).into_iter();
    let number = |name: String| name.parse::<u64>().ok().filter(|number| number.to_string() == name);
    let mut numbers: Vec<u64> = names.filter_map(number).collect();
    numbers.sort_unstable();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(wanted: &[&str], units: &[&str]) -> RunRecord {
        RunRecord {
            number: 3,
            wanted: wanted.iter().map(|unit| Wanted::Unit((*unit).to_owned())).collect(),
            yes: true,
            units: units.iter().map(|unit| (*unit).to_owned()).collect(),
            started: Time::from_unix_seconds(1_000),
            leads: 2,
            lead: Identity::current(),
            lead_since: Time::from_unix_seconds(2_000),
            ended: Some((Outcome::Stopped, Time::from_unix_seconds(3_000))),
            waiting: vec![Waiting::new("build:A", "Ground", "phase 0 Ground")],
            is_finished: false,
            handed_by: BTreeSet::new(),
        }
    }

    #[test]
    fn records_read_back() {
        let mut file = run(&[], &["build:A"]);
        file.wanted.push(Wanted::File("docs/a b.md".to_owned()));
        for record in [run(&["build:A"], &["build:A", "plan:b"]), file, RunRecord { ended: None, ..run(&[], &[]) }] {
            assert_eq!(RunRecord::from_json(3, &record.to_json()), Some(record));
        }
    }

    #[test]
    fn what_was_asked_for_first_stays_unless_all_of_it_is_asked_for_again() {
        let set = |units: &[&str]| units.iter().map(|unit| (*unit).to_owned()).collect::<BTreeSet<_>>();
        let unit = |name: &str| vec![Wanted::Unit(name.to_owned())];
        let known = || run(&["build:A", "build:B"], &["build:A", "build:B"]);
        let part = known().widened(unit("build:A"), set(&["build:A"]));
        assert_eq!(part, known(), "a part of it is the same run");
        let all = known().widened(unit("list.toml"), set(&["build:A", "build:B", "build:C"]));
        assert_eq!((all.wanted, all.units), (unit("list.toml"), set(&["build:A", "build:B", "build:C"])));
        let other = known().widened(unit("build:C"), set(&["build:B", "build:C"]));
        let want = ["build:A", "build:B", "build:C"].map(|name| Wanted::Unit(name.to_owned()));
        assert_eq!(other.wanted, want);
        // The stories of a workspace are named when something else comes beside them.
        let want = ["pipeline:S", "pipeline:T", "plan:p"].map(|name| Wanted::Unit(name.to_owned()));
        let stories = run(&[], &["pipeline:S", "pipeline:T"]).widened(unit("plan:p"), set(&["plan:p", "pipeline:S"]));
        assert_eq!(stories.wanted, want);
        let stories = run(&["plan:p"], &["plan:p"]).widened(Vec::new(), set(&["pipeline:S", "pipeline:T"]));
        assert_eq!(stories.wanted.len(), 3, "{:?}", stories.wanted);
    }

    #[test]
    fn commands_can_be_typed_where_the_person_is() {
        let mut record = run(&["build:PRD-009"], &["build:PRD-009", "build:PRD-010"]);
        record.wanted.push(Wanted::File("docs/a b.md".to_owned()));
        let root = std::env::temp_dir().join(format!("piton-runs-{}", std::process::id()));
        let typed = |directory: &str, want: &str| {
            let directory = if directory.starts_with('/') { directory.into() } else { root.join(directory) };
            let want = want.replace("ROOT", &root.display().to_string());
            assert_eq!(record.command(&root, &directory, &["--retry"]).to_string(), want);
        };
        std::fs::create_dir_all(root.join("docs")).expect("a directory");
        // A file that was moved is not there to be typed.
        typed("", "piton run build:PRD-009 build:PRD-010 --yes --retry");
        std::fs::write(root.join("docs/a b.md"), "").expect("a file");
        typed("", "piton run build:PRD-009 'docs/a b.md' --yes --retry");
        typed("docs", "piton run build:PRD-009 'a b.md' --yes --retry");
        typed("/elsewhere", "piton -C ROOT run build:PRD-009 'ROOT/docs/a b.md' --yes --retry");
        std::fs::remove_dir_all(&root).expect("it is there");
    }
}
