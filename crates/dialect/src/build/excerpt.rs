//! The part of a specification that the worker of one workstream needs.

use super::spec::{body, read_spec};
use crate::Source;
use crate::excerpt::{around, section_about, yaml_entry};

/// How much of a section is told.
const LONGEST_SECTION: usize = 8_000;

/// What a specification says about one of its workstreams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamExcerpt {
    /// Its entry in the front matter.
    pub entry: String,
    /// The section of the text whose heading names it; empty when there is none.
    pub section: String,
}

/// Finds a workstream in a specification's text; nothing when it is not there.
pub fn excerpt(text: &str, stream: &str) -> Option<StreamExcerpt> {
    let spec = read_spec(&Source { path: "".into(), bytes: text.as_bytes(), modified: None }).spec?;
    let found = spec.workstreams.iter().find(|known| known.id == stream)?;
    let section = section_about(body(text), stream).unwrap_or_default();
    Some(StreamExcerpt { entry: yaml_entry(text, found.line), section: around(section, 0, LONGEST_SECTION) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workstream_is_told_by_its_entry_and_its_section() {
        let text = "---\nprd: PRD-001\nworkstreams:\n  WS1:\n    name: Base\n    outputs: [a.rs]\n  WS2:\n    name: Top\n---\n\n\
            # Spec\n\nWords about WS1.\n\n## WS1: Base\n\nLay it deep.\n\n## WS2: Top\n\nLast.\n";
        let found = excerpt(text, "WS1").expect("it is there");
        assert_eq!(found.entry, "WS1:\n  name: Base\n  outputs: [a.rs]");
        assert_eq!(found.section, "## WS1: Base\n\nLay it deep.");
        assert_eq!(excerpt(text, "WS3"), None);
    }
}
