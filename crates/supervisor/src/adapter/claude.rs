//! Claude Code in print mode.

use super::{Outcome, Seen, Work};
use crate::launch::Launch;
use crate::output::{Line, Stream};
use crate::worker::Exit;

/// Settings of Claude Code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claude {
    /// The program, and arguments that come before ours.
    pub program: Vec<String>,
    /// What it may do: such as `--permission-mode acceptEdits` or `--allowedTools Bash`.
    pub permissions: Vec<String>,
    /// Further arguments: such as `--model`.
    pub extra: Vec<String>,
}

impl Default for Claude {
    fn default() -> Claude {
        let permissions = ["--permission-mode", "acceptEdits"];
        Claude {
            program: vec!["claude".to_owned()],
            permissions: permissions.map(str::to_owned).to_vec(),
            extra: Vec::new(),
        }
    }
}

impl Claude {
    pub(super) fn start(&self, work: &Work) -> Launch {
        let session = work.session.iter().flat_map(|session| ["--session-id", session]);
        self.launch(work, session)
    }

    pub(super) fn resume(&self, work: &Work, session: &str) -> Launch {
        self.launch(work, ["--resume", session])
    }

    fn launch<'a>(&self, work: &Work, session: impl IntoIterator<Item = &'a str>) -> Launch {
        let fixed = ["-p", "--output-format", "stream-json", "--verbose"];
        let argv = self.program.iter().cloned();
        let argv = argv.chain(fixed.into_iter().chain(session).map(str::to_owned));
        let argv = argv.chain(self.permissions.iter().chain(&self.extra).cloned());
        // Within a session of its own kind it would refuse to begin.
        Launch::new(argv, &work.directory).input(&work.prompt).unset("CLAUDECODE")
    }
}

pub(super) fn see(_seen: &mut Seen, _stream: Stream, _line: Line<'_>) {}

pub(super) fn judge(exit: &Exit, _seen: &Seen) -> Outcome {
    match exit {
        Exit::Code(0) => Outcome::Finished,
        exit => Outcome::Failed { reason: exit.to_string() },
    }
}
