use std::ffi::OsString;
use std::io::{Read, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use super::follow::{self, Caller};
use super::{NOW, Workspace, printed};

/// How long a call may take: generous, because machines are busy and builds for tests are slow.
const PATIENCE: Duration = Duration::from_secs(if cfg!(debug_assertions) { 40 } else { 20 });

/// A call of the binary that is about to be made, in an empty environment.
pub struct Call<'a> {
    workspace: &'a Workspace,
    arguments: Vec<OsString>,
    environment: Vec<(&'static str, String)>,
    directory: &'static str,
    clock: Option<String>,
    input: Option<Vec<u8>>,
    mends: Option<fn(&Path)>,
}

/// What a call left behind.
#[derive(Debug)]
pub struct Run {
    pub stdout: String,
    pub stderr: String,
    /// Nothing when a signal ended it.
    pub code: Option<i32>,
    shown: String,
}

impl<'a> Call<'a> {
    pub fn new(workspace: &'a Workspace, arguments: Vec<OsString>) -> Call<'a> {
        Call {
            workspace,
            arguments,
            environment: Vec::new(),
            directory: "",
            clock: Some(NOW.to_owned()),
            input: None,
            mends: None,
        }
    }

    /// Sets a variable.
    pub fn env(mut self, name: &'static str, value: impl Into<String>) -> Call<'a> {
        self.environment.push((name, value.into()));
        self
    }

    /// Starts in a directory below the workspace's.
    pub fn from(mut self, directory: &'static str) -> Call<'a> {
        self.directory = directory;
        self
    }

    /// Gives no `--at`.
    pub fn without_clock(mut self) -> Call<'a> {
        self.clock = None;
        self
    }

    /// Gives another `--at`.
    pub fn at(mut self, clock: impl Into<String>) -> Call<'a> {
        self.clock = Some(clock.into());
        self
    }

    /// Gives something on standard input.
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Call<'a> {
        self.input = Some(bytes.into());
        self
    }

    /// What a reader of its hints does first, in the directory of the workspace: "put it right, then".
    pub fn mended_by(mut self, mend: fn(&Path)) -> Call<'a> {
        self.mends = Some(mend);
        self
    }

    /// Adds an argument that need not be text.
    pub fn arg(mut self, argument: OsString) -> Call<'a> {
        self.arguments.push(argument);
        self
    }

    /// Runs it to its end.
    ///
    /// # Panics
    ///
    /// When it takes too long, is ended by a signal, or panics.
    pub fn run(self) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_piton"));
        command.env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.current_dir(self.workspace.path(self.directory));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.args(&self.arguments).args(self.clock.iter().flat_map(|clock| ["--at", clock]));
        if self.input.is_some() {
            command.stdin(Stdio::piped());
        }
        let hints = follow::file();
        command.env("PITON_TEST_HINTS", &hints);
        let (stdout, stderr, code) = finish(command, &self.arguments, self.input);
        let hide = |bytes: Vec<u8>| {
            let text = String::from_utf8(bytes).expect("output is UTF-8");
            text.replace(&self.workspace.outer().display().to_string(), "[TEMP]")
        };
        let shown: Vec<_> = self.arguments.iter().map(|argument| argument.to_string_lossy()).collect();
        let variables = self.environment.iter().map(|(name, value)| format!("{name}={value} ")).collect::<String>();
        let shown = format!("$ {variables}piton {}", shown.join(" "));
        let run = Run { stdout: hide(stdout), stderr: hide(stderr), code, shown };
        assert!(!run.stderr.contains("panicked"), "{}", run.transcript());
        assert!(run.code.is_some_and(|code| (0..=7).contains(&code)), "{}", run.transcript());
        let (root, environment) = (&self.workspace.root(), &self.environment[..]);
        let caller =
            Caller { root, below: self.directory, environment, clock: self.clock.as_deref(), mends: self.mends };
        let new = follow::take(&hints);
        follow::follow(&caller, &new, &run.transcript());
        let mut known = self.workspace.printed.lock().expect("no test panics while it holds it");
        if run.code == Some(0) {
            let arguments = self.arguments.iter().map(|argument| argument.to_string_lossy().into_owned());
            printed::typed(&known, &std::iter::once("piton".to_owned()).chain(arguments).collect::<Vec<_>>());
        }
        known.extend(new);
        drop(known);
        run
    }
}

impl Run {
    /// Everything that a person sees, in one text.
    pub fn transcript(&self) -> String {
        let stderr = if self.stderr.is_empty() { String::new() } else { format!("--- stderr\n{}", self.stderr) };
        let code = self.code.map_or_else(|| "a signal".to_owned(), |code| code.to_string());
        format!("{}\n{}{stderr}--- exit code {code}\n", self.shown.trim_end(), self.stdout)
    }

    /// Asserts the exit code.
    pub fn exits(self, code: i32) -> Run {
        assert_eq!(self.code, Some(code), "{}", self.transcript());
        self
    }

    /// Standard output as one JSON document.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {}", self.transcript()))
    }
}

/// Runs a command to its end, or kills it when it takes too long. It has ended when it has closed both its outputs.
fn finish(mut command: Command, shown: &[OsString], input: Option<Vec<u8>>) -> (Vec<u8>, Vec<u8>, Option<i32>) {
    let deadline = Instant::now() + PATIENCE;
    let mut child = command.spawn().expect("the binary can be started");
    if let (Some(bytes), Some(mut stdin)) = (input, child.stdin.take()) {
        // A program that does not read to the end is no failure of its own.
        std::thread::spawn(move || stdin.write_all(&bytes));
    }
    let (out, out_read) = mpsc::channel();
    let (err, err_read) = mpsc::channel();
    collect(child.stdout.take().expect("it is piped"), out);
    collect(child.stderr.take().expect("it is piped"), err);
    let mut wait = |read: mpsc::Receiver<Vec<u8>>| {
        let left = deadline.saturating_duration_since(Instant::now());
        read.recv_timeout(left).unwrap_or_else(|error| {
            assert_eq!(error, RecvTimeoutError::Timeout);
            let _ = child.kill();
            let _ = child.wait();
            panic!("piton {shown:?} took longer than {PATIENCE:?}");
        })
    };
    let (stdout, stderr) = (wait(out_read), wait(err_read));
    (stdout, stderr, child.wait().expect("a child can be waited for").code())
}

fn collect(mut from: impl Read + Send + 'static, to: Sender<Vec<u8>>) {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).expect("a pipe can be read");
        // Nobody listens any more when the call took too long.
        let _ = to.send(bytes);
    });
}
