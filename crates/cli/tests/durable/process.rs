//! The binary as a process that may be killed.

use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::support::Workspace;

/// A call of the binary in a workspace, in an empty environment.
pub fn command(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_piton"));
    command.env_clear().current_dir(workspace.root()).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// How a call ended.
pub struct Ended {
    /// Nothing when it was killed.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    pub fn of(child: Child) -> Ended {
        let output = child.wait_with_output().expect("a child can be waited for");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
        let ended = Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) };
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
        ended
    }

    /// The number that was acknowledged.
    pub fn acknowledged(&self) -> Option<u64> {
        let (_, number) = self.stdout.trim_end().rsplit_once('@')?;
        Some(number.parse().expect("a number follows the @"))
    }
}

/// Runs a call to its end.
pub fn run(workspace: &Workspace, arguments: &[&str]) -> Ended {
    Ended::of(command(workspace, arguments).spawn().expect("the binary starts"))
}

/// Runs a call that has to succeed; returns its number.
pub fn acknowledged(workspace: &Workspace, arguments: &[&str]) -> u64 {
    let ended = run(workspace, arguments);
    assert_eq!(ended.code, Some(0), "{arguments:?}: {}{}", ended.stdout, ended.stderr);
    ended.acknowledged().unwrap_or(0)
}

/// The events of a unit, oldest first; their numbers have no gap.
pub fn events(workspace: &Workspace, unit: &str) -> Vec<Value> {
    let ended = run(workspace, &["log", unit, "--json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let log: Value = serde_json::from_str(&ended.stdout).expect("one JSON document");
    let events = log["events"].as_array().expect("a list").clone();
    for (place, event) in events.iter().enumerate() {
        assert_eq!(event["seq"].as_u64(), Some(place as u64 + 1), "the numbers of {unit} have a gap");
    }
    events
}

/// Numbers that look random and are the same for the same seed.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// A seed that differs from run to run, printed where a test fails.
pub fn seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    now.as_nanos() as u64
}
