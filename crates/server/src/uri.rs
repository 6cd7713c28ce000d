//! Names of resources: `piton://status`, and `piton://KIND/UNIT`.

use piton_engine::Problem;
use piton_model::UnitRef;

use crate::door::parse;

/// What a resource tells about a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Everything that is known about it.
    Unit,
    /// Its main document as it stands: a plan, a checkpoint.
    Document,
    /// What whoever resumes it would be told.
    Brief,
    /// What happened to it.
    Log,
}

/// A resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Uri {
    /// All units.
    Status,
    /// Something about one of them.
    Of(Kind, UnitRef),
}

/// The name of [`Uri::Status`].
pub const STATUS: &str = "piton://status";

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 4] = [Kind::Unit, Kind::Document, Kind::Brief, Kind::Log];

    /// The word for it in a name.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Unit => "unit",
            Kind::Document => "document",
            Kind::Brief => "brief",
            Kind::Log => "log",
        }
    }

    /// What it tells, in a sentence.
    pub fn about(self) -> &'static str {
        match self {
            Kind::Unit => {
                "Everything known about a unit: state, steps, gates, decisions, findings, why it was judged so"
            }
            Kind::Document => "A unit's main document as it stands, in its own format: a plan, a checkpoint",
            Kind::Brief => "What whoever resumes the unit would be told; reading it begins nothing",
            Kind::Log => "Everything that happened to a unit, from its journal",
        }
    }

    /// What form it has; of a document that is known only when it is read.
    pub fn mime_type(self) -> Option<&'static str> {
        match self {
            Kind::Unit | Kind::Log => Some("application/json"),
            Kind::Brief => Some("text/markdown"),
            Kind::Document => None,
        }
    }

    /// The name of the resource about a unit.
    pub fn of(self, unit: &str) -> String {
        format!("piton://{}/{unit}", self.word())
    }

    /// The same for any unit.
    pub fn template(self) -> String {
        format!("piton://{}/{{+unit}}", self.word())
    }
}

/// Reads a name. Nothing when it is no resource of ours; a problem when the unit in it cannot be one.
pub fn read(uri: &str) -> Option<Result<Uri, Problem>> {
    if uri == STATUS {
        return Some(Ok(Uri::Status));
    }
    let (word, unit) = uri.strip_prefix("piton://")?.split_once('/')?;
    let kind = Kind::ALL.into_iter().find(|kind| kind.word() == word)?;
    // Colons and slashes are the only characters of a unit's name that a client may have escaped.
    let unit = unit.replace("%3A", ":").replace("%3a", ":").replace("%2F", "/").replace("%2f", "/");
    Some(parse(&unit).map(|unit| Uri::Of(kind, unit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let unit = UnitRef::parse("task:migration/T060").expect("a unit");
        for kind in Kind::ALL {
            let uri = kind.of("task:migration/T060");
            assert_eq!(read(&uri), Some(Ok(Uri::Of(kind, unit.clone()))), "{uri}");
            assert_eq!(kind.template().replace("{+unit}", "task:migration/T060"), uri);
        }
        assert_eq!(read("piton://log/task%3Amigration%2FT060"), Some(Ok(Uri::Of(Kind::Log, unit))));
        assert_eq!(read(STATUS), Some(Ok(Uri::Status)));
    }

    #[test]
    fn what_is_no_resource_is_not_taken_for_one() {
        for uri in ["", "piton://", "piton://status/", "piton://unit", "file:///etc/passwd", "piton://secret/plan:a"] {
            assert_eq!(read(uri), None, "{uri}");
        }
        for uri in ["piton://unit/", "piton://log/plan:../../x", "piton://unit/plan:a%00b", "piton://brief/nope:a"] {
            assert!(matches!(read(uri), Some(Err(_))), "{uri}");
        }
    }
}
