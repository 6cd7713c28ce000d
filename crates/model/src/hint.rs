//! What to do next: a text, and the commands that do it.
//!
//! A command is a value, not prose: a verb of the table and its arguments. The command line renders it as words of a
//! shell, the MCP server as a call of a tool, both from [`verbs`]. Text from a repository cannot stand in it: an argument
//! is a unit, a plain name, a word of Piton, a number, a path, or a word in capitals for the reader to fill in.

mod invocation;
pub mod verbs;

use std::borrow::Cow;
use std::fmt;

pub use invocation::{Arg, Invocation, observe, read_outside_of};
pub use verbs::{Place, Taken, VERBS, Verb};

/// Who reads a hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// A person or an agent with a shell.
    Shell,
    /// An agent that has tools and no shell.
    Tools,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// What the commands do or when they are right, as a fragment; everything where there is no command.
    pub text: Cow<'static, str>,
    /// The commands, to be run one after the other.
    pub commands: Vec<Invocation>,
}

impl Hint {
    /// Words alone.
    pub fn text(text: impl Into<Cow<'static, str>>) -> Hint {
        Hint { text: text.into(), commands: Vec::new() }
    }

    /// Adds a command that follows when those before it succeeded.
    #[must_use]
    pub fn then(mut self, command: Invocation) -> Hint {
        self.commands.push(command);
        self
    }

    /// The hint in the words of its audience.
    pub fn render(&self, audience: Audience) -> String {
        let between = match audience {
            Audience::Shell => " && ",
            Audience::Tools => ", then ",
        };
        let commands = self.commands.iter().map(|command| command.render(audience)).collect::<Vec<_>>().join(between);
        match (self.text.is_empty(), commands.is_empty()) {
            (_, true) => self.text.to_string(),
            (true, false) => commands,
            (false, false) => format!("{}: {commands}", self.text),
        }
    }
}

/// As a person types it.
impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Audience::Shell))
    }
}

impl From<&'static str> for Hint {
    fn from(text: &'static str) -> Hint {
        Hint::text(text)
    }
}

impl From<String> for Hint {
    fn from(text: String) -> Hint {
        Hint::text(text)
    }
}

impl From<Invocation> for Hint {
    fn from(command: Invocation) -> Hint {
        Hint::text("").then(command)
    }
}

/// Compares with what is printed.
impl PartialEq<str> for Hint {
    fn eq(&self, printed: &str) -> bool {
        self.render(Audience::Shell) == printed
    }
}

impl PartialEq<&str> for Hint {
    fn eq(&self, printed: &&str) -> bool {
        self == *printed
    }
}

impl PartialEq<String> for Hint {
    fn eq(&self, printed: &String) -> bool {
        self == printed.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::verbs::{APPROVE, LOG, RESTART, RUN};
    use super::*;

    #[test]
    fn a_hint_is_printed_as_it_is_typed() {
        for (hint, want, call) in [
            (Hint::text("name a run file"), "name a run file", "name a run file"),
            (RESTART.on("crew:A").into(), "piton restart crew:A", r#"call restart with {"unit":"crew:A"}"#),
            (LOG.on("crew:A").to("see"), "see: piton log crew:A", r#"see: call log with {"unit":"crew:A"}"#),
            (
                APPROVE.on("build:A").to("approve and continue").then(RUN.on("build:A")),
                "approve and continue: piton approve build:A && piton run build:A",
                "approve and continue: piton approve build:A, then piton run build:A",
            ),
        ] {
            assert_eq!(hint, want);
            assert_eq!(hint.render(Audience::Tools), call);
        }
    }
}
