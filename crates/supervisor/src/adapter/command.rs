//! Any other command.

use std::io;

use super::{Outcome, Seen, Work, read_prompt};
use crate::launch::Launch;
use crate::output::{Line, Stream};
use crate::worker::Exit;

/// How a command gets its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PromptBy {
    /// On its standard input.
    #[default]
    Stdin,
    /// The path of a file with it, in place of `{prompt}`, or as its last argument.
    File,
    /// Its text, in place of `{prompt}`, or as its last argument.
    Argument,
}

/// A command and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// How it gets its prompt.
    pub prompt: PromptBy,
}

/// Stands for the prompt in an argument.
const PROMPT: &str = "{prompt}";

impl CommandLine {
    pub(super) fn start(&self, work: &Work) -> io::Result<Launch> {
        let launch =
            |argv: Vec<String>| Launch::new(argv, &work.directory).set("PITON_PROMPT", work.prompt.to_string_lossy());
        Ok(match self.prompt {
            PromptBy::Stdin => launch(self.argv.clone()).input(&work.prompt),
            PromptBy::File => launch(self.with_prompt(&work.prompt.to_string_lossy())),
            PromptBy::Argument => launch(self.with_prompt(&read_prompt(&work.prompt)?)),
        })
    }

    fn with_prompt(&self, prompt: &str) -> Vec<String> {
        let is_named = self.argv.iter().any(|argument| argument.contains(PROMPT));
        let last = (!is_named).then(|| prompt.to_owned());
        self.argv.iter().map(|argument| argument.replace(PROMPT, prompt)).chain(last).collect()
    }
}

pub(super) fn see(_seen: &mut Seen, _stream: Stream, _line: Line<'_>) {}

pub(super) fn judge(exit: &Exit, _seen: &Seen) -> Outcome {
    match exit {
        Exit::Code(0) => Outcome::Finished,
        exit => Outcome::Failed { reason: exit.to_string() },
    }
}
