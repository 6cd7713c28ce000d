//! The ground of a walk: a repository, its scripted workers, a shell to type into, and a transcript of all of it.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The longest that one command may take, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Ground {
    outer: PathBuf,
    began: Instant,
    transcript: RefCell<String>,
}

/// What a command printed, and how it ended. A signal leaves no exit code.
pub struct Typed {
    pub line: String,
    pub code: Option<i32>,
    pub text: String,
}

/// A `piton run` that may still be at work.
pub struct Lead {
    child: Child,
    line: String,
    output: PathBuf,
}

impl Ground {
    /// An empty repository. The directory is removed with the value.
    pub fn new(seed: u64) -> Ground {
        let unique = format!("piton-walk-{}-{seed}", std::process::id());
        let outer = std::env::temp_dir().canonicalize().expect("a temporary directory").join(unique);
        for directory in ["workspace", "marks", "moods", "prompts", "bin", "state"] {
            fs::create_dir_all(outer.join(directory)).expect("a directory can be made");
        }
        let ground = Ground { outer, began: Instant::now(), transcript: RefCell::default() };
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_piton"), ground.outer("bin/piton")).expect("a link");
        let identity = "[user]\nname = A User\nemail = user@localhost\n[init]\ndefaultBranch = main\n";
        fs::write(ground.outer(".gitconfig"), identity).expect("git is set up");
        let head = format!("#!/bin/sh\nexport WALK='{}'\n", ground.outer.display());
        let scripts = [
            ("worker", format!("{head}{}", include_str!("worker.sh"))),
            ("pipeline.sh", include_str!("pipeline.sh").to_owned()),
            ("task.sh", include_str!("task.sh").to_owned()),
            ("crew.sh", include_str!("crew.sh").to_owned()),
            ("ledger", String::new()),
        ];
        for (name, text) in scripts {
            fs::write(ground.outer(name), text).expect("a file can be written");
        }
        fs::set_permissions(ground.outer("worker"), fs::Permissions::from_mode(0o755)).expect("the worker can be run");
        ground
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

    pub fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_default()
    }

    /// Adds to the transcript.
    pub fn note(&self, text: &str) {
        let seconds = self.began.elapsed().as_secs_f64();
        *self.transcript.borrow_mut() += &format!("[{seconds:6.2}] {}\n", text.trim_end());
    }

    pub fn transcript(&self) -> String {
        self.transcript.borrow().clone()
    }

    fn prepared(&self, line: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]).env_clear().current_dir(self.path("")).stdin(Stdio::null());
        command.env("HOME", &self.outer).env("XDG_STATE_HOME", self.outer("state")).env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", self.outer("bin").display()));
        command
    }

    fn begin(&self, line: &str) -> Lead {
        let count = fs::read_dir(self.outer("prompts")).map_or(0, Iterator::count);
        let unique = format!("output-{count}-{}", self.began.elapsed().as_nanos());
        let output = self.outer(&unique);
        let file = fs::File::create(&output).expect("a file for the output");
        let mut command = self.prepared(line);
        command.stdout(file.try_clone().expect("a second handle")).stderr(file);
        Lead { child: command.spawn().expect("a shell starts"), line: line.to_owned(), output }
    }

    /// Types a line and waits for its end.
    #[track_caller]
    pub fn types(&self, line: &str) -> Typed {
        let mut lead = self.begin(line);
        lead.wait(self)
    }

    /// The same, without the output.
    pub fn asks(&self, line: &str) -> Typed {
        let length = self.transcript.borrow().len();
        let typed = self.types(line);
        self.transcript.borrow_mut().truncate(length);
        typed
    }

    /// Begins `piton run`, which stays at work.
    pub fn leads(&self, line: &str) -> Lead {
        self.note(&format!("$ {line} &"));
        self.begin(&format!("exec {line}"))
    }

    /// Waits until something holds, for at most `PATIENCE`.
    #[track_caller]
    pub fn wait_for(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let since = Instant::now();
        while !holds() {
            assert!(since.elapsed() < PATIENCE, "waited too long for {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// All events of all runs, oldest first.
    pub fn events(&self) -> Vec<serde_json::Value> {
        let texts = (1..100)
            .map_while(|run| fs::read_to_string(self.path(&format!(".piton/run/runs/{run}/events.jsonl"))).ok());
        let lines = |text: String| text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect::<Vec<_>>();
        texts.flat_map(lines).collect()
    }

    /// The processes of this walk: those that name its directory.
    pub fn processes(&self) -> Vec<(u32, String)> {
        let place = self.outer.display().to_string();
        let read = |path: PathBuf| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).replace('\0', " ");
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").expect("/proc").flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
            let words = read(entry.path().join("cmdline"));
            let is_ours = words.contains(&place) || read(entry.path().join("environ")).contains(&place);
            if is_ours && pid != std::process::id() && !words.is_empty() {
                found.push((pid, words));
            }
        }
        found
    }
}

impl Lead {
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("it can be asked").is_some()
    }

    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        // It may have ended by now.
        let _ = Command::new("kill").args([name, &pid]).stderr(Stdio::null()).status();
    }

    /// Waits for the end, and writes it down.
    #[track_caller]
    pub fn wait(&mut self, ground: &Ground) -> Typed {
        let since = Instant::now();
        while !self.has_ended() && since.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(2));
        }
        let has_ended = self.has_ended();
        let code = if has_ended { self.child.wait().expect("it has ended").code() } else { None };
        let text = String::from_utf8_lossy(&fs::read(&self.output).expect("output")).into_owned();
        ground.note(&format!("$ {}\n{text}= {code:?}", self.line));
        assert!(has_ended, "took too long: {}", self.line);
        Typed { line: self.line.clone(), code, text }
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        // A walk that failed leaves no process behind. A worker may start others meanwhile, so look more than once.
        for _ in 0..5 {
            for (pid, _) in self.processes() {
                let _ = Command::new("kill").args(["-9", &pid.to_string()]).stderr(Stdio::null()).status();
            }
        }
        if std::env::var_os("PITON_TEST_KEEP").is_none() {
            // What cannot be removed stays in the directory for temporary files.
            let _ = fs::remove_dir_all(&self.outer);
        }
    }
}
