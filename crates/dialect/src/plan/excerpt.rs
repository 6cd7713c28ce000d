//! The part of a plan that the worker of one task needs.

use super::parse::parse;
use crate::excerpt::{around, before_section, section_at};
use crate::{Findings, plan::Mark};

/// How much of a plan's introduction and of a section is told.
const LONGEST_PREAMBLE: usize = 4_000;
const LONGEST_SECTION: usize = 6_000;

/// What a plan says about one of its tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskExcerpt {
    /// What stands before the first phase or task.
    pub preamble: String,
    /// The section that holds the task.
    pub section: String,
    /// The task's own line.
    pub line: String,
    /// The acceptance criteria of its phase: id and text.
    pub criteria: Vec<(String, String)>,
}

/// Finds a task in a plan's text; nothing when it is not there.
pub fn excerpt(text: &str, task: &str) -> Option<TaskExcerpt> {
    let parsed = parse(text, &mut Findings::new("".into(), text));
    let mark = parsed.tasks.iter().find(|mark| mark.id(text) == task)?;
    let at = mark.box_at();
    let markers = parsed.phases.iter().filter_map(|phase| phase.marker.as_ref().map(|marker| marker.start));
    let first = markers.chain(parsed.tasks.iter().map(Mark::box_at)).min().unwrap_or(at);
    let section = section_at(text, at);
    // A section is a part of the text, so the task has a place in it too.
    let start = section.as_ptr().addr() - text.as_ptr().addr();
    let preamble = before_section(text, first);
    let criteria = parsed.criteria.iter().filter(|criterion| criterion.phase() == mark.phase());
    Some(TaskExcerpt {
        preamble: around(preamble, 0, LONGEST_PREAMBLE),
        section: around(section, at.saturating_sub(start), LONGEST_SECTION),
        line: line_at(text, at).to_owned(),
        criteria: criteria.map(|each| (each.id(text).to_owned(), each.text(text).to_owned())).collect(),
    })
}

fn line_at(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    text[start..end].trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "# Quay\n\nBuild it of stone.\n\n## Phase 1: Setup\n<!-- CHECKPOINT: phase-1 -->\n\n\
        - [ ] Measure the wall <!-- TASK: measure -->\n- [ ] It holds <!-- ACCEPT: holds -->\n\n\
        ## Phase 2\n<!-- CHECKPOINT: phase-2 -->\n\nTake care.\n\n- [ ] Order stones <!-- TASK: order -->\n\
        - [ ] They came <!-- ACCEPT: came -->\n";

    #[test]
    fn a_task_is_told_with_what_stands_around_it() {
        let found = excerpt(PLAN, "order").expect("it is there");
        assert_eq!(found.preamble, "# Quay\n\nBuild it of stone.");
        assert_eq!(found.line, "- [ ] Order stones <!-- TASK: order -->");
        assert!(found.section.starts_with("## Phase 2\n") && found.section.contains("Take care."), "{found:?}");
        assert!(!found.section.contains("Measure"), "{found:?}");
        assert_eq!(found.criteria, [("came".to_owned(), "They came".to_owned())]);
        assert_eq!(excerpt(PLAN, "nothing"), None);
    }

    #[test]
    fn a_plan_without_headings_is_told_too() {
        let found = excerpt("Intro.\n\n- [ ] a <!-- TASK: a -->\n- [ ] b <!-- TASK: b -->\n", "b").expect("there");
        assert_eq!((found.preamble.as_str(), found.line.as_str()), ("Intro.", "- [ ] b <!-- TASK: b -->"));
    }
}
