use std::fmt;
use std::str::FromStr;

/// One of the five checkpoint protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// Stories that go through stages 0 to 3, driven by a lead.
    Pipeline,
    /// A Markdown plan whose checkboxes are the truth.
    Plan,
    /// A PRD built in phases of parallel workstreams.
    Build,
    /// One agent's task with subtasks and acceptance criteria.
    Task,
    /// One agent's feature in a crew of a primary and secondaries.
    Crew,
}

impl Dialect {
    /// All dialects, in the order in which they are shown.
    pub const ALL: [Dialect; 5] = [Dialect::Pipeline, Dialect::Plan, Dialect::Build, Dialect::Task, Dialect::Crew];

    /// The word used on the command line and in unit names.
    pub fn word(self) -> &'static str {
        match self {
            Dialect::Pipeline => "pipeline",
            Dialect::Plan => "plan",
            Dialect::Build => "build",
            Dialect::Task => "task",
            Dialect::Crew => "crew",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Dialect {
    type Err = ();

    fn from_str(word: &str) -> Result<Dialect, ()> {
        Dialect::ALL.into_iter().find(|dialect| dialect.word() == word).ok_or(())
    }
}
