use std::fs;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::moment::Moment;
use crate::support::Workspace;

/// No run takes longer, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(120);

/// Short spans, so that nobody waits; long enough that a busy machine kills nobody by mistake.
const SETTINGS: &str = "[run]\nworkers = 3\nheartbeat = 1\npatience = 60\nanswer = 10\nlinger = 5\ngrace = 0.3\n";

/// A git repository with settings, a scripted agent, and a ledger of every task that was begun.
pub struct Yard {
    pub workspace: Workspace,
    environment: Vec<(String, String)>,
}

/// A command that was typed and has not ended.
pub struct Typed {
    pub child: Child,
    before: Moment,
    arguments: Vec<String>,
}

impl Typed {
    /// Waits for its end. When it went well and had been printed, its place in the sources was executed.
    pub fn end(self) -> Ended {
        self.ends_with(0)
    }

    /// The same where another exit code is the right one.
    pub fn ends_with(self, code: i32) -> Ended {
        let ended = finish(self.child);
        if ended.code == Some(code) {
            let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
            note_typed(&self.before, &arguments);
        }
        ended
    }
}

/// How a run ended.
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Yard {
    /// A repository with these stories: an id, and what it waits for.
    pub fn new(stories: &[(&str, &[&str])]) -> Yard {
        let mut text = String::new();
        for (id, after) in stories {
            let after: Vec<String> = after.iter().map(|id| format!("{id:?}")).collect();
            text += &format!("[[stories]]\nid = {id:?}\ntitle = \"Story {id}\"\ndepends_on = [{}]\n", after.join(", "));
        }
        Yard::with(SETTINGS, &text)
    }

    /// A repository with these settings; `more` comes behind the worker's.
    pub fn with(settings: &str, more: &str) -> Yard {
        let workspace = Workspace::new();
        let agent = workspace.outer().join("agent.sh");
        fs::write(&agent, include_str!("agent.sh")).expect("the agent is written");
        for directory in ["marks", "state"] {
            fs::create_dir_all(workspace.outer().join(directory)).expect("a directory");
        }
        fs::write(workspace.outer().join("ledger"), "").expect("a ledger");
        let worker = format!("[worker]\ncommand = [\"/bin/sh\", {:?}]\n", agent.display().to_string());
        workspace.write("piton.toml", format!("{settings}{worker}{more}"));
        workspace.write("README.md", "a yard\n");
        workspace.write(".gitignore", ".piton/\n.pipeline/\n.worktrees/\n.claude/\nplans/*/.checkpoint/\nprogress/\n");
        let yard = Yard { workspace, environment: Vec::new() };
        yard.git(&["init", "-q", "-b", "main"]);
        yard.commit("start");
        yard
    }

    /// Settings that judge fast.
    pub fn impatient(settings: &str, more: &str) -> Yard {
        let base = "[run]\nworkers = 3\nheartbeat = 1\npatience = 1\nanswer = 0.3\nlinger = 2\ngrace = 0.2\n";
        Yard::with(&format!("{base}{settings}"), more)
    }

    pub fn env(mut self, name: &str, value: &str) -> Yard {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&[
            "-c",
            "user.name=u",
            "-c",
            "user.email=u@localhost",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            message,
        ]);
    }

    pub fn git(&self, arguments: &[&str]) -> String {
        let output = self.prepare(Command::new("git")).args(arguments).output().expect("git runs");
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    fn prepare(&self, mut command: Command) -> Command {
        let outer = self.workspace.outer();
        command.env_clear().current_dir(self.workspace.path(""));
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", outer).env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("XDG_STATE_HOME", outer.join("state")).env("LEDGER", outer.join("ledger"));
        command.env("GIT_AUTHOR_NAME", "u").env("GIT_AUTHOR_EMAIL", "u@localhost");
        command.env("GIT_COMMITTER_NAME", "u").env("GIT_COMMITTER_EMAIL", "u@localhost");
        command.env("PITON_TEST_HINTS", outer.join("hints"));
        command.env("MARKS", outer.join("marks")).envs(self.environment.iter().cloned());
        command
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.prepare(Command::new(env!("CARGO_BIN_EXE_piton")));
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the binary to its end.
    pub fn piton(&self, arguments: &[&str]) -> Ended {
        let before = Moment::now(self.workspace.outer());
        let ended = finish(self.command(arguments).spawn().expect("the binary starts"));
        if ended.code == Some(0) {
            note_typed(&before, arguments);
        }
        ended
    }

    /// Types a command that takes its time.
    pub fn types(&self, arguments: &[&str]) -> Typed {
        let before = Moment::now(self.workspace.outer());
        let child = self.command(arguments).spawn().expect("the binary starts");
        Typed { child, before, arguments: arguments.iter().map(|word| (*word).to_owned()).collect() }
    }

    /// Runs it to its end, well.
    #[track_caller]
    pub fn run(&self, arguments: &[&str]) -> Ended {
        let ended = self.piton(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}\n{}\n{}", ended.stdout, ended.stderr);
        ended
    }

    pub fn json(&self, arguments: &[&str]) -> Value {
        let ended = self.run(arguments);
        serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stdout))
    }

    pub fn read_json(&self, path: &str) -> Value {
        let text = self.text(path);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}: {text}"))
    }

    pub fn text(&self, path: &str) -> String {
        fs::read_to_string(self.workspace.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Every task that was begun: unit, task, attempt.
    pub fn ledger(&self) -> Vec<(String, String, u64)> {
        let text = fs::read_to_string(self.workspace.outer().join("ledger")).expect("a ledger");
        let line = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            // A worker that shares its attempt has a number of its own behind a dot.
            let attempt = words[2].split('.').next().unwrap_or_default();
            (words[0].to_owned(), words[1].to_owned(), attempt.parse().expect("an attempt"))
        };
        text.lines().map(line).collect()
    }

    /// Every process that works for this yard: whoever has its root in the environment.
    pub fn processes(&self) -> Vec<String> {
        let mark = format!("LEDGER={}", self.workspace.outer().join("ledger").display());
        let own = std::process::id().to_string();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").expect("/proc").flatten() {
            let name = entry.file_name().into_string().unwrap_or_default();
            if !name.bytes().all(|byte| byte.is_ascii_digit()) || name == own {
                continue;
            }
            let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
            if environ.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes()) {
                let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
                found.push(format!("{name} {}", String::from_utf8_lossy(&line).replace('\0', " ")));
            }
        }
        found
    }

    /// Nothing is left of the run but its result: no process, no lock, no worktree.
    #[track_caller]
    pub fn assert_nothing_left(&self) {
        wait_for("every process to be gone", || self.processes().is_empty(), || format!("{:?}", self.processes()));
        let stop = self.piton(&["stop"]);
        assert_eq!(stop.code, Some(5), "a lead is still at work: {}", stop.stdout);
        let trees = self.git(&["worktree", "list"]);
        assert_eq!(trees.lines().count(), 1, "{trees}");
    }

    /// No task was begun again after it had been recorded as done.
    #[track_caller]
    pub fn assert_nothing_twice(&self, units: &[&str]) {
        for unit in units {
            let log = self.json(&["log", unit, "--json"]);
            for event in log["events"].as_array().expect("events") {
                if event["event"] != "step_done" {
                    continue;
                }
                let attempt = event["attempt"].as_u64().expect("an attempt");
                let steps = event["data"]["steps"].as_array().cloned().unwrap_or_default();
                for step in steps.iter().filter_map(Value::as_str) {
                    let is_later =
                        |(of, task, at): &&(String, String, u64)| of == unit && task == step && *at > attempt;
                    let ledger = self.ledger();
                    let again = ledger.iter().find(is_later);
                    assert!(again.is_none(), "{unit} {step} was recorded at attempt {attempt} and begun at {again:?}");
                }
            }
        }
    }

    pub fn outer(&self, name: &str) -> PathBuf {
        self.workspace.outer().join(name)
    }
}

/// Notes the sites of commands that were printed before and that worked when they were typed.
pub fn note_typed(before: &Moment, arguments: &[&str]) {
    let typed = arguments.iter().filter(|word| **word != "--json");
    let argv: Vec<String> = ["piton"].iter().chain(typed).map(|word| (*word).to_owned()).collect();
    before.typed(&argv);
}

/// Waits for a process.
pub fn finish(mut child: Child) -> Ended {
    let mut out = child.stdout.take().expect("a pipe");
    let mut err = child.stderr.take().expect("a pipe");
    let out = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = out.read_to_string(&mut text);
        text
    });
    let err = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = err.read_to_string(&mut text);
        text
    });
    let since = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            break status;
        }
        if since.elapsed() > PATIENCE {
            child.kill().expect("it can be killed");
            let status = child.wait().expect("it ends");
            panic!("took too long ({status}): {}", out.join().expect("output"));
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    Ended { code: status.code(), stdout: out.join().expect("output"), stderr: err.join().expect("output") }
}

/// Waits until something holds.
#[track_caller]
pub fn wait_for(what: &str, holds: impl Fn() -> bool, shown: impl Fn() -> String) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < PATIENCE, "waited too long for {what}: {}", shown());
        std::thread::sleep(Duration::from_millis(10));
    }
}

impl Drop for Yard {
    fn drop(&mut self) {
        // A test that failed in the middle leaves nobody behind.
        for process in self.processes() {
            let pid = process.split(' ').next().unwrap_or_default();
            let _ = Command::new("kill").args(["-9", pid]).stderr(Stdio::null()).status();
        }
    }
}
