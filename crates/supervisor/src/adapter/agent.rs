//! What the settings of coding agents have in common.

/// Settings of an agent's client that is started as a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// The program, and arguments that come before ours.
    pub program: Vec<String>,
    /// The client's own mode: such as `--permission-mode acceptEdits` or `--sandbox workspace-write`. What a worker may do
    /// beyond it is added where it is started, from its [`super::Grants`].
    pub permissions: Vec<String>,
    /// The model, where the client's own choice is not wanted.
    pub model: Option<String>,
    /// Further arguments.
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
            model: None,
            extra: Vec::new(),
        }
    }

    /// The settings' own part of its command line: what a person approves.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let all = self.program.iter().chain(&self.permissions).map(String::as_str);
        all.chain(self.chosen())
    }

    /// The model and further arguments.
    pub(super) fn chosen(&self) -> impl Iterator<Item = &str> {
        let model = self.model.iter().flat_map(|model| ["--model", model]);
        model.chain(self.extra.iter().map(String::as_str))
    }
}
