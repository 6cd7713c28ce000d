//! What a client did not let a worker do.

use std::fmt;

use super::shorten;

/// How many refusals of one worker are kept.
const MOST: usize = 40;

/// Something that a client refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    /// The client's tool: `Bash`, `WebFetch`.
    pub tool: String,
    /// What the tool was to be used for: a command, a path, an address.
    pub what: String,
    /// What helps.
    pub remedy: Remedy,
}

/// What helps against a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// To allow exactly this: a command, or a rule of the client.
    Allow(String),
    /// To let commands use the network.
    Network,
    /// To let commands write elsewhere.
    Write,
    /// Nothing that is known.
    Unknown,
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what.is_empty() {
            true => f.write_str(&self.tool),
            false => write!(f, "{}({})", self.tool, self.what),
        }
    }
}

impl Denied {
    pub(super) fn command(command: &str, remedy: Remedy) -> Denied {
        Denied { tool: "Bash".to_owned(), what: one_line(command), remedy }
    }

    pub(super) fn tool(tool: &str, what: &str, remedy: Remedy) -> Denied {
        Denied { tool: shorten(tool), what: one_line(what), remedy }
    }
}

/// Adds a refusal, once.
pub(super) fn add(all: &mut Vec<Denied>, denied: Denied) {
    if all.len() < MOST && !all.iter().any(|known| known.tool == denied.tool && known.what == denied.what) {
        all.push(denied);
    }
}

/// The first line, shortened, with a sign that there is more.
fn one_line(text: &str) -> String {
    let text = text.trim();
    match text.split_once('\n') {
        Some((first, _)) => format!("{} …", shorten(first)),
        None => shorten(text),
    }
}
