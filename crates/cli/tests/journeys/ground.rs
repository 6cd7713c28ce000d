//! The ground of a journey: a repository as a user has it, a worker's script beside it, and a shell to type into.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::follow::note_typed;
use crate::lead::Lead;
use crate::moment::Moment;
use crate::workers::{self, Who};

/// No single thing that is waited for takes longer, however busy the machine is.
pub const PATIENCE: Duration = Duration::from_secs(45);

/// Short spans, so that no journey waits; long enough that a busy machine kills no worker by mistake.
const SETTINGS: &str =
    "[run]\nworkers = 3\nheartbeat = 1\npatience = 60\nanswer = 10\nlinger = 5\ngrace = 0.3\nstagger = 0\n";

/// A repository with its worker; all of it goes with the value.
pub struct Ground {
    outer: PathBuf,
    settings: String,
}

/// What a command left behind.
#[derive(Debug)]
pub struct Typed {
    pub line: String,
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ground {
    /// An empty repository with one commit on `main`.
    pub fn new(who: Who) -> Ground {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let unique = format!("piton-journey-{}-{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
        let outer = std::env::temp_dir().canonicalize().expect("a temporary directory").join(unique);
        for directory in ["workspace", "marks", "prompts", "bin", "state"] {
            fs::create_dir_all(outer.join(directory)).expect("a directory can be made");
        }
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_piton"), outer.join("bin/piton")).expect("a link can be made");
        fs::write(
            outer.join(".gitconfig"),
            "[user]\nname = A User\nemail = user@localhost\n[init]\ndefaultBranch = main\n",
        )
        .expect("git is set up");
        let ground = Ground { outer, settings: SETTINGS.to_owned() };
        workers::write_script(&ground.outer.join("worker"), &ground.outer, who, "");
        ground.types("git init -q").succeeds();
        ground.write("README.md", "A workshop.\n");
        ground.write(
            ".gitignore",
            ".piton/\n.pipeline/\n.worktrees/\n.claude/\nprogress/\nagent_checkpoints/\n.checkpoint/\n",
        );
        ground.sets_up("");
        ground.commit("begin");
        ground
    }

    /// Gives the worker another policy: what it does once, or always, besides its work.
    pub fn policy(&self, who: Who, policy: &str) {
        workers::write_script(&self.outer.join("worker"), &self.outer, who, policy);
    }

    /// Adds settings of the run, or sets others instead.
    pub fn settings(&mut self, more: &str) {
        let key = |line: &str| line.split(" = ").next().unwrap_or_default().to_owned();
        let set: Vec<String> = more.lines().map(key).collect();
        let kept = self.settings.lines().filter(|line| !set.contains(&key(line)));
        self.settings = kept.chain(more.lines()).map(|line| format!("{line}\n")).collect();
    }

    /// Writes `piton.toml`: the settings, the worker, and these sections.
    pub fn sets_up(&self, sections: &str) {
        let worker =
            format!("[worker]\nadapter = \"command\"\ncommand = [{:?}]\n", self.outer("worker").display().to_string());
        self.write("piton.toml", &format!("{}{worker}{sections}", self.settings));
    }

    pub fn outer(&self, path: &str) -> PathBuf {
        self.outer.join(path)
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.outer.join("workspace").join(path)
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("a directory can be made");
        fs::write(path, text).expect("a file can be written");
    }

    #[track_caller]
    pub fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}\n{}", self.story()))
    }

    #[track_caller]
    pub fn json(&self, path: &str) -> Value {
        let text = self.text(path);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}: {text}"))
    }

    /// Commits all that a user would.
    pub fn commit(&self, message: &str) {
        self.types(&format!("git add -A && git commit -q -m {}", workers::words::quoted(message))).succeeds();
    }

    /// What a git command prints.
    #[track_caller]
    pub fn git(&self, arguments: &str) -> String {
        self.types(&format!("git {arguments}")).succeeds().stdout
    }

    /// A command in the repository, in the environment of its user.
    pub fn prepared(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.path("")).stdin(Stdio::null());
        command.env("HOME", &self.outer).env("XDG_STATE_HOME", self.outer("state")).env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", self.outer("bin").display()));
        command.env("PITON_TEST_HINTS", self.outer("hints"));
        command
    }

    /// Types a line into a shell, and waits for its end.
    pub fn types(&self, line: &str) -> Typed {
        let before = Moment::now(&self.outer);
        let mut command = self.prepared("/bin/sh");
        command.args(["-c", line]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (code, stdout, stderr) = crate::lead::finish(command.spawn().expect("a shell starts"), line);
        if code == Some(0) {
            note_typed(&before, line);
        }
        Typed { line: line.to_owned(), code, stdout, stderr }
    }

    /// Begins `piton run` with these arguments.
    pub fn run(&self, arguments: &str) -> Lead<'_> {
        Lead::start(self, &format!("piton run {arguments}"))
    }

    /// What a verb that reads prints as JSON.
    #[track_caller]
    pub fn reads(&self, arguments: &str) -> Value {
        let typed = self.types(&format!("piton {arguments} --json"));
        serde_json::from_str(&typed.stdout).unwrap_or_else(|error| panic!("{error}: {typed:?}\n{}", self.story()))
    }

    /// Lets a worker go on that waits at a point, or will.
    pub fn lets_go(&self, point: &str) {
        fs::write(self.outer("marks").join(format!("go-{point}")), "").expect("a mark can be made");
    }

    /// The process of the worker that waits at a point, if there is one.
    pub fn worker_at(&self, point: &str) -> Option<u32> {
        let mark = self.outer("marks").join(format!("at-{point}"));
        fs::read_to_string(mark).ok().and_then(|text| text.parse().ok())
    }

    /// Waits until something holds.
    #[track_caller]
    pub fn wait_for(&self, what: &str, holds: impl Fn() -> bool) {
        let since = Instant::now();
        while !holds() {
            assert!(since.elapsed() < PATIENCE, "waited too long for {what}\n{}", self.story());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The prompts that workers got, oldest first, with the name of each: number, unit, stage, step.
    pub fn prompts(&self) -> Vec<(String, String)> {
        let mut names: Vec<PathBuf> =
            fs::read_dir(self.outer("prompts")).expect("prompts").flatten().map(|entry| entry.path()).collect();
        names.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
        names.sort();
        let named = |path: &PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        names.iter().map(|path| (named(path), fs::read_to_string(path).unwrap_or_default())).collect()
    }

    /// Every process that works for this ground.
    pub fn processes(&self) -> Vec<u32> {
        let place = self.outer.display().to_string();
        let names = |path: PathBuf| {
            let bytes = fs::read(path).unwrap_or_default();
            String::from_utf8_lossy(&bytes).contains(&place)
        };
        let numbers = fs::read_dir("/proc").expect("/proc").flatten();
        let numbers = numbers.filter_map(|entry| entry.file_name().to_string_lossy().parse::<u32>().ok());
        let own = std::process::id();
        let works = |pid: &u32| {
            let directory = Path::new("/proc").join(pid.to_string());
            *pid != own && (names(directory.join("environ")) || names(directory.join("cmdline")))
        };
        numbers.filter(works).collect()
    }

    /// All that workers did, for a test that failed.
    pub fn story(&self) -> String {
        let text = |path| fs::read_to_string(path).unwrap_or_default();
        let told: String = (1..4).map(|run| text(self.path(&format!(".piton/run/runs/{run}/events.jsonl")))).collect();
        format!("--- what the leads told\n{told}--- what the workers did\n{}", text(self.outer("log")))
    }
}

impl Typed {
    /// Asserts that it went well.
    #[track_caller]
    pub fn succeeds(self) -> Typed {
        assert_eq!(self.code, Some(0), "{self}");
        self
    }

    /// Everything that it printed.
    pub fn said(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

impl std::fmt::Display for Typed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "$ {}\n{}--- stderr\n{}--- exit code {:?}", self.line, self.stdout, self.stderr, self.code)
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        // A journey that failed in the middle leaves no process behind.
        for pid in self.processes() {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).stderr(Stdio::null()).status();
        }
        if std::thread::panicking() && std::env::var_os("PITON_TEST_KEEP").is_some() {
            eprintln!("kept {}", self.outer.display());
        } else {
            // What cannot be removed stays in the directory for temporary files.
            let _ = fs::remove_dir_all(&self.outer);
        }
    }
}
