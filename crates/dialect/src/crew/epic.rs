//! Sections of `EPIC_README.md`: each agent keeps its progress between two comments.

use std::collections::HashSet;
use std::ops::Range;

use piton_model::Finding;

use super::lines::lines;
use super::{codes, layout};
use crate::{Findings, Source, open_text};

/// An agent's section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section<'a> {
    /// The agent as the comments name it.
    pub name: &'a str,
    /// The text between the two comments.
    pub body: &'a str,
    /// Where that text is.
    pub span: Range<usize>,
}

/// Finds the sections, and what is wrong with them.
///
/// Comments count wherever they stand on a line, several on one line included, but not in fenced code.
pub fn read_epic<'a>(source: &Source<'a>) -> (Vec<Section<'a>>, Vec<Finding>) {
    let (text, mut findings) = open_text(source);
    let Some(text) = text else { return (Vec::new(), findings.finish()) };
    let mut reader = Reader { text, open: None, seen: HashSet::new(), sections: Vec::new() };
    for line in lines(text).filter(|line| !line.fenced) {
        for (comment, span) in comments(line.text, line.at) {
            reader.comment(comment, span, &mut findings);
        }
    }
    if let Some((name, begin)) = reader.open.take() {
        findings.at(begin.start, &codes::CREW_SECTION_OPEN, format!("the section {name:?} is not ended"));
    }
    (reader.sections, findings.finish())
}

struct Reader<'a> {
    text: &'a str,
    open: Option<(&'a str, Range<usize>)>,
    seen: HashSet<String>,
    sections: Vec<Section<'a>>,
}

impl<'a> Reader<'a> {
    fn comment(&mut self, comment: &'a str, span: Range<usize>, findings: &mut Findings<'_>) {
        if let Some(name) = marker(comment, "BEGIN") {
            if let Some((outer, begin)) = self.open.replace((name, span.clone())) {
                let message = format!("the section {outer:?} is not ended before {name:?} begins");
                findings.at(begin.start, &codes::CREW_SECTION_OPEN, message);
            }
            if !self.seen.insert(layout::agent_key(name)) {
                let message = format!("there is an earlier section {name:?}");
                findings.at(span.start, &codes::CREW_SECTION_REPEATED, message);
            }
        } else if let Some(name) = marker(comment, "END") {
            match self.open.take() {
                Some((open, begin)) if open == name => {
                    let body = begin.end..span.start;
                    self.sections.push(Section { name, body: &self.text[body.clone()], span: body });
                }
                open => {
                    self.open = open;
                    let message = format!("the section {name:?} is ended, but not begun");
                    findings.at(span.start, &codes::CREW_SECTION_STRAY_END, message);
                }
            }
        }
    }
}

/// The comments of a line, without their delimiters, and where they are in the text.
fn comments(line: &str, at: usize) -> impl Iterator<Item = (&str, Range<usize>)> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let begin = next + line[next..].find("<!--")?;
        // A comment that does not end on its line is no marker, and nothing after it is.
        let end = begin + 4 + line[begin + 4..].find("-->")?;
        next = end + 3;
        Some((line[begin + 4..end].trim(), at + begin..at + next))
    })
}

fn marker<'a>(comment: &'a str, word: &str) -> Option<&'a str> {
    let name = comment.strip_prefix(word)?.strip_suffix("PROGRESS")?;
    let is_apart = name.starts_with(char::is_whitespace) && name.ends_with(char::is_whitespace);
    Some(name.trim()).filter(|name| is_apart && !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_found_and_troubles_told() {
        let check = |text: &str, bodies: &[(&str, &str)], codes: &[&str]| {
            let source = Source { path: "EPIC_README.md".into(), bytes: text.as_bytes(), modified: None };
            let (sections, findings) = read_epic(&source);
            let got: Vec<_> = sections.iter().map(|section| (section.name, section.body)).collect();
            assert_eq!(got, bodies, "{text}");
            assert_eq!(findings.iter().map(|finding| finding.code.name).collect::<Vec<_>>(), codes, "{text}");
            assert!(sections.iter().all(|section| &text[section.span.clone()] == section.body));
        };
        let (a, z) = ("<!-- BEGIN SECONDARY-A PROGRESS -->", "<!-- END SECONDARY-A PROGRESS -->");
        let (b, y) = ("<!-- BEGIN SECONDARY-B PROGRESS -->", "<!-- END SECONDARY-B PROGRESS -->");
        check("# Epic\n<!-- a comment -->\n", &[], &[]);
        check(&format!("{a}\none\n{z}\n"), &[("SECONDARY-A", "\none\n")], &[]);
        check(&format!("{a}## one{z}{b}two{y}"), &[("SECONDARY-A", "## one"), ("SECONDARY-B", "two")], &[]);
        check(&format!("{a}\none\n"), &[], &["crew-section-open"]);
        check(&format!("one\n{z}\n"), &[], &["crew-section-stray-end"]);
        check(
            &format!("{a}\n{b}\n{y}\n{z}\n"),
            &[("SECONDARY-B", "\n")],
            &["crew-section-open", "crew-section-stray-end"],
        );
        check(&format!("{a}\n{y}\n{z}"), &[("SECONDARY-A", &format!("\n{y}\n"))], &["crew-section-stray-end"]);
        check(&format!("{a}1{z}{a}2{z}"), &[("SECONDARY-A", "1"), ("SECONDARY-A", "2")], &["crew-section-repeated"]);
        check(&format!("```\n{a}\n```\n"), &[], &[]);
        check("<!-- BEGIN PROGRESS --><!--BEGINX PROGRESS--><!-- BEGIN A PROGRESS", &[], &[]);
    }
}
