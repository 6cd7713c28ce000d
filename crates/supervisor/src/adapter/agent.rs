//! What the settings of coding agents have in common.

/// Settings of an agent's client that is started as a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// The program, and arguments that come before ours.
    pub program: Vec<String>,
    /// What it may do: such as `--permission-mode acceptEdits` or `--sandbox workspace-write`.
    pub permissions: Vec<String>,
    /// Further arguments: such as `--model`.
    pub extra: Vec<String>,
}

impl Agent {
    /// Claude Code as it is usually started.
    pub fn claude() -> Agent {
        Agent::new("claude", ["--permission-mode", "acceptEdits"])
    }

    /// Codex as it is usually started.
    pub fn codex() -> Agent {
        Agent::new("codex", ["--sandbox", "workspace-write"])
    }

    fn new(program: &str, permissions: [&str; 2]) -> Agent {
        Agent {
            program: vec![program.to_owned()],
            permissions: permissions.map(str::to_owned).to_vec(),
            extra: Vec::new(),
        }
    }

    /// The settings' own part of its command line: what a person approves.
    pub fn words(&self) -> impl Iterator<Item = &String> {
        self.program.iter().chain(&self.permissions).chain(&self.extra)
    }
}
