//! Codex without a terminal.

use super::{Outcome, Seen, Work};
use crate::launch::Launch;
use crate::output::{Line, Stream};
use crate::worker::Exit;

/// Settings of Codex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Codex {
    /// The program, and arguments that come before ours.
    pub program: Vec<String>,
    /// What it may do: such as `--sandbox workspace-write`.
    pub permissions: Vec<String>,
    /// Further arguments: such as `--model`.
    pub extra: Vec<String>,
}

impl Default for Codex {
    fn default() -> Codex {
        let permissions = ["--sandbox", "workspace-write"];
        Codex {
            program: vec!["codex".to_owned()],
            permissions: permissions.map(str::to_owned).to_vec(),
            extra: Vec::new(),
        }
    }
}

impl Codex {
    pub(super) fn start(&self, work: &Work) -> Launch {
        self.launch(work, &["-"])
    }

    pub(super) fn resume(&self, work: &Work, session: &str) -> Launch {
        self.launch(work, &["resume", session, "-"])
    }

    fn launch(&self, work: &Work, last: &[&str]) -> Launch {
        let argv = self.program.iter().cloned().chain(["exec", "--json"].map(str::to_owned));
        // Options come before `resume`: after it, it does not know all of them.
        let argv = argv.chain(self.permissions.iter().chain(&self.extra).cloned());
        let argv = argv.chain(last.iter().map(|word| (*word).to_owned()));
        Launch::new(argv, &work.directory).input(&work.prompt)
    }
}

pub(super) fn see(_seen: &mut Seen, _stream: Stream, _line: Line<'_>) {}

pub(super) fn judge(exit: &Exit, _seen: &Seen) -> Outcome {
    match exit {
        Exit::Code(0) => Outcome::Finished,
        exit => Outcome::Failed { reason: exit.to_string() },
    }
}
