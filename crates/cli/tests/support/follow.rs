//! Hints are promises: each command that the binary printed is run in a copy of the workspace that printed it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::UNIX_EPOCH;

use serde_json::Value;

use super::printed::{Printed, executed, read};

/// Verbs that start processes or change more than a workspace. Journeys and runs type what they print.
const NOT_HERE: [&str; 6] = ["run", "stop", "approve", "mcp", "demo", "worktrees"];

/// How often the command of one place is followed for units of one dialect: each copy costs time, and walks print the
/// same one again and again.
const OFTEN_ENOUGH: u32 = 4;

/// A worker's environment. What a worker asks its user to type is typed without it.
const WORKERS: [&str; 2] = ["PITON_ATTEMPT", "PITON_UNIT"];

/// Places whose commands are for the user of the worker that reads them.
const FOR_THE_USER: [&str; 1] = ["crates/dialect/src/build/write/life.rs"];

/// How the binary was called that printed the hints.
pub struct Caller<'a> {
    pub root: &'a Path,
    pub below: &'a str,
    pub environment: &'a [(&'static str, String)],
    pub clock: Option<&'a str>,
    /// What the reader does first, where the hint says so.
    pub mends: Option<fn(&Path)>,
}

/// A new file for the binary to write hints to.
pub fn file() -> PathBuf {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let unique = format!("piton-hints-{}-{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
    std::env::temp_dir().join(unique)
}

/// Takes what was printed out of a file.
pub fn take(file: &Path) -> BTreeSet<Printed> {
    let printed = read(file);
    let _ = fs::remove_file(file);
    printed
}

/// Runs each command that was printed in a copy of its own. One whose unit the reader fills in need not work with any of
/// them: `check` prints it with documents that nothing mends.
///
/// # Panics
///
/// When one does not succeed, or records nothing though it writes.
pub fn follow(caller: &Caller<'_>, all: &BTreeSet<Printed>, transcript: &str) {
    // The worktrees of a copy would still be those of the original.
    if all.is_empty() || caller.root.join(".git/worktrees").exists() {
        return;
    }
    let environment: Vec<_> = caller.environment.iter().filter(|(_, value)| value != "-1").cloned().collect();
    let of_user: Vec<_> = environment.iter().filter(|(name, _)| !WORKERS.contains(name)).cloned().collect();
    let clock = caller.clock.filter(|clock| !clock.contains(' '));
    let caller = &Caller { environment: &environment, clock, ..*caller };
    // What a user approved is approved for one directory.
    let is_approved =
        |argv: &[String]| argv[1] == "gate" && argv[3] == "run" && !argv.contains(&"--approve".to_owned());
    let is_here = |hint: &&Printed| !NOT_HERE.contains(&verb_of(&hint.argv)) && !is_approved(&hint.argv);
    for hint in all.iter().filter(is_here).filter(|hint| !is_known(hint, caller)) {
        let is_for_user = FOR_THE_USER.iter().any(|file| hint.site.starts_with(file));
        let user = &Caller { environment: &of_user, ..*caller };
        let (copy, argv, before, output) = attempt(hint, if is_for_user { user } else { caller });
        let shown = format!(
            "a hint does not work: {} (made at {})\n{}{}after:\n{}",
            argv.join(" "),
            hint.site,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
            transcript
        );
        let is_good = succeeds(&argv, &output);
        if !is_good && hint.argv.iter().any(|word| word == "UNIT") {
            continue;
        }
        assert!(is_good, "{shown}");
        // `init` changes files and records nothing.
        let is_recorded = verb_of(&hint.argv) == "init" || copy.journals() != before;
        assert!(hint.reads || is_recorded, "nothing was recorded\n{shown}");
        executed(&hint.site);
    }
}

/// The verb of a command.
fn verb_of(argv: &[String]) -> &str {
    let place = if argv.get(1).is_some_and(|word| word == "-C") { 3 } else { 1 };
    argv.get(place).map_or("", String::as_str)
}

/// Whether a place's command was followed often enough for units of this dialect.
fn is_known(hint: &Printed, caller: &Caller<'_>) -> bool {
    static TRIED: Mutex<BTreeMap<String, u32>> = Mutex::new(BTreeMap::new());
    if caller.mends.is_some() {
        return false;
    }
    let kind = hint.argv.iter().filter_map(|word| word.split_once(':')).map(|(dialect, _)| dialect).next();
    let options: Vec<&str> = hint.argv.iter().filter(|word| word.starts_with('-')).map(String::as_str).collect();
    let key = format!("{} {} {kind:?} {options:?}", hint.site, verb_of(&hint.argv));
    let mut tried = TRIED.lock().expect("no test panics while it holds it");
    let count = tried.entry(key).or_default();
    *count += 1;
    *count > OFTEN_ENOUGH
}

/// Runs a command in a copy. Where it asks for a unit, those of the workspace are tried until it works with one.
fn attempt(hint: &Printed, caller: &Caller<'_>) -> (Copy, Vec<String>, u64, Output) {
    let units = match hint.argv.iter().any(|word| word == "UNIT") {
        true => Copy::of(caller.root).units(&hint.argv, caller),
        false => Vec::new(),
    };
    let mut units = units.into_iter();
    loop {
        let unit = units.next();
        let copy = Copy::of(caller.root);
        caller.mends.iter().for_each(|mend| mend(&copy.root()));
        let argv = copy.fill(&hint.argv, unit.as_deref().unwrap_or("UNIT"), caller);
        copy.begin(&hint.argv, &argv, caller);
        let before = copy.journals();
        let output = copy.run(&argv, caller);
        if units.len() == 0 || succeeds(&argv, &output) {
            return (copy, argv, before, output);
        }
    }
}

/// `check` and `doctor` say with 3 that they found something.
fn succeeds(argv: &[String], output: &Output) -> bool {
    let reports = argv.get(1).is_some_and(|verb| verb == "check" || verb == "doctor");
    output.status.success() || reports && output.status.code() == Some(3)
}

/// Where copies are made: in memory where there is such a place, because a copy need not survive anything.
fn scratch() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() { memory } else { std::env::temp_dir() }
}

/// A copy of a workspace, removed with the value.
struct Copy {
    outer: PathBuf,
}

impl Copy {
    fn of(root: &Path) -> Copy {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let unique = format!("piton-hint-{}-{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
        let outer = scratch().canonicalize().expect("it is there").join(unique);
        fs::create_dir_all(&outer).expect("a directory can be made");
        let status = Command::new("cp").arg("-a").arg(root).arg(outer.join("workspace")).status();
        assert!(status.is_ok_and(|status| status.success()), "the workspace cannot be copied");
        let copy = Copy { outer };
        copy.seal();
        copy
    }

    fn root(&self) -> PathBuf {
        self.outer.join("workspace")
    }

    /// A copy is not believed to be the clone that it was made from, so it gets a seal of its own.
    fn seal(&self) {
        let home = self.root().join(".piton");
        let (Ok(data), true) = (home.metadata(), home.join("seal").exists()) else { return };
        let born =
            data.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok()).map_or(0, |age| age.as_nanos());
        fs::write(home.join("seal"), format!("{} {born} {}\n", data.ino(), data.uid())).expect("it can be written");
    }

    fn run(&self, argv: &[String], caller: &Caller<'_>) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_piton"));
        command.env_clear().envs(caller.environment.iter().map(|(name, value)| (name, value)));
        command.current_dir(self.root().join(caller.below)).args(&argv[1..]);
        command.args(caller.clock.iter().flat_map(|clock| ["--at", clock]));
        command.output().expect("the binary can be started")
    }

    /// Begins the step that a reader names as done.
    fn begin(&self, printed: &[String], argv: &[String], caller: &Caller<'_>) {
        let is_named = printed.iter().any(|word| word == "STEP") && argv[1..].contains(&"done".to_owned());
        if is_named && argv.iter().any(|word| word.starts_with("build:")) {
            let begun: Vec<String> = argv.iter().map(|word| word.replace("done", "begin")).collect();
            self.run(&begun, caller);
        }
    }

    /// The command with what a reader would fill in.
    fn fill(&self, argv: &[String], any: &str, caller: &Caller<'_>) -> Vec<String> {
        let unit = argv.iter().find(|word| word.contains(':')).cloned().unwrap_or_default();
        let unit = || self.ask(&["status", &unit, "--json"], caller);
        let open = |list: &str, key: &str| {
            let found = unit();
            let all = found["units"][0][list].as_array().cloned().unwrap_or_default();
            let is_open =
                |each: &&Value| !["done", "passed", "skipped"].contains(&each["state"].as_str().unwrap_or(""));
            let first = all.iter().find(is_open).or(all.first()).and_then(|each| each[key].as_str());
            first.unwrap_or("T-77").to_owned()
        };
        let fill = |word: &String| match word.as_str() {
            "TEXT" | "TITLE" | "WHY" => "a text".to_owned(),
            "N" => if argv.iter().any(|word| word == "PLAN") { "3" } else { "8" }.to_owned(),
            "FEATURE" => "feature_x".to_owned(),
            "AGENT" if verb_of(argv) == "inbox" => "Agent-Primary".to_owned(),
            "AGENT" => "Secondary-Y".to_owned(),
            "DIALECT" => "build".to_owned(),
            "TASK" if argv.iter().any(|word| word == "begin") => "T-77".to_owned(),
            "STEP" | "SUBTASK" | "TASK" => open("steps", "id"),
            "NAME" => open("gates", "name"),
            "FILE" => self.specification(),
            "UNIT" => any.to_owned(),
            "WORD" => "PASS".to_owned(),
            word => word.to_owned(),
        };
        argv.iter().map(fill).collect()
    }

    fn ask(&self, arguments: &[&str], caller: &Caller<'_>) -> Value {
        let argv: Vec<String> = ["piton"].iter().chain(arguments).map(|word| (*word).to_owned()).collect();
        serde_json::from_slice(&self.run(&argv, caller).stdout).unwrap_or_default()
    }

    /// The units that a command without one may mean.
    fn units(&self, argv: &[String], caller: &Caller<'_>) -> Vec<String> {
        let dialect = match &*argv[1] {
            "plan" => "plan:",
            "reopen" => "task:",
            "restart" => "pipeline:",
            _ => "",
        };
        let found = self.ask(&["status", "--all", "--json"], caller);
        let units = found["units"].as_array().cloned().unwrap_or_default();
        let units = units.iter().filter_map(|unit| unit["unit"].as_str().map(str::to_owned));
        units.filter(|unit| unit.starts_with(dialect)).take(8).collect()
    }

    fn specification(&self) -> String {
        let path = "EXECUTION-SPEC-PRD-009.md";
        let text = "---\nprd: PRD-009\ntitle: x\nworkstreams:\n  - id: WS1\n---\n";
        fs::write(self.root().join(path), text).expect("it can be written");
        path.to_owned()
    }

    /// How many bytes all journals have together.
    fn journals(&self) -> u64 {
        size(&self.root().join(".piton/units"))
    }
}

fn size(path: &Path) -> u64 {
    let entries = fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| entry.metadata().map_or(0, |data| data.len()) + size(&entry.path())).sum()
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.outer);
    }
}
