use std::fmt;

use crate::Dialect;

/// The longest id that becomes a file name.
const LONGEST: usize = 128;

/// An id that is safe as a file name: it starts with a letter or digit, goes on with letters,
/// digits, `.`, `_` and `-`, has at most 128 bytes and never contains `..`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(Box<str>);

/// Why a text is not an [`Id`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadId {
    /// There is nothing there.
    Empty,
    /// It has more than 128 bytes.
    TooLong {
        /// How many bytes it has.
        bytes: usize,
    },
    /// It starts with something that is neither a letter nor a digit.
    Start {
        /// What it starts with.
        found: char,
    },
    /// It holds a character that an id may not hold.
    Character {
        /// The first such character.
        found: char,
    },
    /// It holds `..`, which would climb out of a directory.
    DotDot,
}

impl Id {
    /// Parses an id; nothing else in the program builds one.
    ///
    /// ```
    /// use piton_model::Id;
    /// assert!(Id::parse("260220-1149-feature").is_ok());
    /// assert!(Id::parse("../../x").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Id, BadId> {
        Id::check(text).map(|()| Id(text.into()))
    }

    /// Whether a text could be parsed, for who does not need the id itself.
    pub fn check(text: &str) -> Result<(), BadId> {
        let Some(first) = text.chars().next() else { return Err(BadId::Empty) };
        if text.len() > LONGEST {
            return Err(BadId::TooLong { bytes: text.len() });
        }
        if !first.is_ascii_alphanumeric() {
            return Err(BadId::Start { found: first });
        }
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if let Some(found) = text.chars().find(|c| !allowed(*c)) {
            return Err(BadId::Character { found });
        }
        if text.as_bytes().windows(2).any(|pair| pair == b"..") {
            return Err(BadId::DotDot);
        }
        Ok(())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Display for BadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadId::Empty => write!(f, "it is empty"),
            BadId::TooLong { bytes } => write!(f, "it has {bytes} bytes, more than {LONGEST}"),
            BadId::Start { found } => write!(f, "it starts with {found:?}, not with a letter or digit"),
            BadId::Character { found } => {
                write!(f, "it holds {found:?}; letters, digits, `.`, `_` and `-` are allowed")
            }
            BadId::DotDot => write!(f, "it holds `..`"),
        }
    }
}

/// A unit as somebody typed it: `dialect:id`, or a bare id; the id of a task is `agent/task`, and any
/// unit may be preceded by the directories that tell it from its namesakes. One at the workspace's root has none; it is
/// told from namesakes below by `./`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitRef {
    /// The dialect, when it was named.
    pub dialect: Option<Dialect>,
    /// The parts between slashes; at least one.
    pub parts: Vec<Id>,
    /// Whether the parts are all there are: `./` stands before them, and no other directory does.
    pub is_whole: bool,
}

/// Why a text is not a [`UnitRef`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadUnit {
    /// The word before the colon is no dialect.
    Dialect {
        /// That word.
        word: String,
    },
    /// A part of the id is not an id.
    Part {
        /// That part.
        part: String,
        /// What is wrong with it.
        why: BadId,
    },
}

impl UnitRef {
    /// Parses what somebody typed.
    pub fn parse(text: &str) -> Result<UnitRef, BadUnit> {
        let (dialect, rest) = match text.split_once(':') {
            None => (None, text),
            Some((word, rest)) => {
                let dialect = word.parse().map_err(|()| BadUnit::Dialect { word: word.to_owned() })?;
                (Some(dialect), rest)
            }
        };
        let (rest, is_whole) = rest.strip_prefix("./").map_or((rest, false), |rest| (rest, true));
        let part = |part: &str| Id::parse(part).map_err(|why| BadUnit::Part { part: part.to_owned(), why });
        let parts = rest.split('/').map(part).collect::<Result<_, _>>()?;
        Ok(UnitRef { dialect, parts, is_whole })
    }

    /// A reference to the one unit that has this dialect and full name (directories, then id), whatever namesakes it has.
    /// Nothing when a directory's name is no id.
    pub fn to_full_name(dialect: Dialect, full_name: &str) -> Option<UnitRef> {
        let parts = full_name.split('/').map(Id::parse).collect::<Result<Vec<_>, _>>().ok()?;
        Some(UnitRef { dialect: Some(dialect), parts, is_whole: true })
    }

    /// The directories that it names and its id.
    pub fn full_name(&self) -> String {
        self.parts.iter().map(Id::as_str).collect::<Vec<_>>().join("/")
    }

    /// Whether the unit with this dialect and full name (directories, then id) is meant.
    ///
    /// Agents of a crew are known by file names as well, so there case, `-` and `_` do not matter.
    pub fn means(&self, dialect: Dialect, full_name: &str) -> bool {
        if self.dialect.is_some_and(|wanted| wanted != dialect) {
            return false;
        }
        let same = |wanted: &str, found: &str| match dialect {
            Dialect::Crew => fold_agent(wanted) == fold_agent(found),
            Dialect::Pipeline | Dialect::Plan | Dialect::Build | Dialect::Task => wanted == found,
        };
        if self.is_whole && full_name.matches('/').count() + 1 != self.parts.len() {
            return false;
        }
        let mut found = full_name.rsplit('/');
        self.parts.iter().rev().all(|wanted| found.next().is_some_and(|found| same(wanted.as_str(), found)))
    }

    /// Whether two names may be those of one unit: a name may leave out the dialect and directories, and agents of a crew
    /// are known by names that fold. In doubt they are the same.
    pub fn may_be(&self, other: &UnitRef) -> bool {
        let is_same_kind = self.dialect.is_none() || other.dialect.is_none() || self.dialect == other.dialect;
        let mut parts = self.parts.iter().rev().zip(other.parts.iter().rev());
        is_same_kind && parts.all(|(own, other)| fold_agent(own.as_str()) == fold_agent(other.as_str()))
    }
}

impl fmt::Display for UnitRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(dialect) = self.dialect {
            write!(f, "{dialect}:")?;
        }
        if self.is_whole {
            write!(f, "./")?;
        }
        for (i, part) in self.parts.iter().enumerate() {
            write!(f, "{}{part}", if i == 0 { "" } else { "/" })?;
        }
        Ok(())
    }
}

impl fmt::Display for BadUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadUnit::Dialect { word } => write!(f, "{word:?} is not a dialect"),
            BadUnit::Part { part, why } => write!(f, "{part:?} is not an id: {why}"),
        }
    }
}

/// An agent's name as that of its checkpoint, by which an agent is known whose checkpoint cannot be read.
fn fold_agent(id: &str) -> String {
    let folded: String = id.chars().map(|c| if c == '-' { '_' } else { c.to_ascii_lowercase() }).collect();
    if folded == "agent_primary" { "primary".to_owned() } else { folded }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_could_be_paths_are_refused() {
        let long = "a".repeat(129);
        for (text, want) in [
            ("", BadId::Empty),
            (long.as_str(), BadId::TooLong { bytes: 129 }),
            ("../../x", BadId::Start { found: '.' }),
            ("/etc/x", BadId::Start { found: '/' }),
            (".", BadId::Start { found: '.' }),
            ("-rf", BadId::Start { found: '-' }),
            ("a/b", BadId::Character { found: '/' }),
            ("a\0b", BadId::Character { found: '\0' }),
            ("a\nb", BadId::Character { found: '\n' }),
            ("cafe\u{301}", BadId::Character { found: '\u{301}' }),
            ("a..b", BadId::DotDot),
        ] {
            assert_eq!(Id::parse(text), Err(want), "{text:?}");
        }
        for text in ["a", "PRD-009", "260220-1149-feature", "v1.2_x", &"a".repeat(128)] {
            assert_eq!(Id::parse(text).map(|id| id.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn a_reference_means_units_by_their_last_parts() {
        let means = |typed: &str, dialect, name: &str| UnitRef::parse(typed).expect("a reference").means(dialect, name);
        assert!(means("build:PRD-009", Dialect::Build, "PRD-009"));
        assert!(means("PRD-009", Dialect::Build, "PRD-009"));
        assert!(!means("plan:PRD-009", Dialect::Build, "PRD-009"));
        assert!(!means("PRD-00", Dialect::Build, "PRD-009"));
        assert!(means("task:migration/T060", Dialect::Task, "docs/migration/T060"));
        assert!(means("task:T060", Dialect::Task, "docs/migration/T060"));
        assert!(!means("task:docs/T060", Dialect::Task, "docs/migration/T060"));
        assert!(
            means("crew:Agent-Primary", Dialect::Crew, "primary") && !means("crew:agent", Dialect::Crew, "primary")
        );
        for (a, b, want) in [
            ("plan:p1", "plan:shop/p1", true),
            ("p1", "plan:p1", true),
            ("crew:Secondary-A", "crew:epics/e7/secondary_a", true),
            ("task:copy/T1", "task:copy/T2", false),
            ("task:copy/T1", "task:other/T1", false),
            ("build:A", "plan:A", false),
        ] {
            let parse = |text: &str| UnitRef::parse(text).expect("a reference");
            assert_eq!((parse(a).may_be(&parse(b)), parse(b).may_be(&parse(a))), (want, want), "{a} {b}");
        }
        assert!(means("crew:secondary_a", Dialect::Crew, "epics/epic-7/Secondary-A"));
        assert!(means("crew:epic-7/Secondary-A", Dialect::Crew, "epics/epic-7/Secondary-A"));
        assert!(!means("crew:epic-8/Secondary-A", Dialect::Crew, "epics/epic-7/Secondary-A"));
        assert!(means("crew:./Secondary-A", Dialect::Crew, "Secondary-A"));
        assert!(!means("crew:./Secondary-A", Dialect::Crew, "epics/epic-7/Secondary-A"));
        assert!(means("crew:./epics/epic-7/Secondary-A", Dialect::Crew, "epics/epic-7/Secondary-A"));
        assert_eq!(UnitRef::parse("crew:./Secondary-A").expect("a reference").to_string(), "crew:./Secondary-A");
    }

    #[test]
    fn a_reference_names_what_is_wrong_with_it() {
        assert_eq!(UnitRef::parse("story:X").unwrap_err().to_string(), "\"story\" is not a dialect");
        assert!(UnitRef::parse("build:../x").unwrap_err().to_string().starts_with("\"..\" is not an id"));
        assert!(UnitRef::parse("").is_err());
    }
}
