//! The part of a Markdown document that a worker needs: what stands before the work, and the section around a place.

use std::ops::Range;

use crate::plan::markdown::{self, Block, Heading, PlainTask, Visit};

/// The text of the innermost section around a place: from the heading above it to the next heading that is not below
/// that one. Before the first heading: everything up to it.
pub fn section_at(text: &str, at: usize) -> &str {
    let headings = headings(text);
    let Some(own) = headings.iter().rposition(|heading| heading.text.start <= at) else {
        let end = headings.first().map_or(text.len(), |first| line_start(text, first.text.start));
        return text[..end].trim_end();
    };
    section(text, &headings, own)
}

/// The first section whose heading names an id as a word of its own.
pub fn section_about<'t>(text: &'t str, id: &str) -> Option<&'t str> {
    let headings = headings(text);
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let names = |heading: &Heading| text[heading.text.clone()].split(|c| !is_part(c)).any(|word| trimmed(word) == id);
    let own = headings.iter().position(names)?;
    Some(section(text, &headings, own))
}

/// What stands before the section that holds a place: the introduction of a document whose work begins there.
pub fn before_section(text: &str, at: usize) -> &str {
    let headings = headings(text);
    let own = headings.iter().rfind(|heading| heading.text.start <= at);
    let end = own.map_or(line_start(text, at), |heading| line_start(text, heading.text.start));
    text[..end].trim()
}

/// An entry of a YAML map, from the line of its key (the first line is 1) to the next key that is not below it.
pub fn yaml_entry(text: &str, line: u32) -> String {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut lines = text.lines().skip(usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX));
    let Some(key) = lines.next() else { return String::new() };
    let own = indent(key);
    let is_inside = |line: &&str| line.trim().is_empty() || indent(line) > own;
    let below: Vec<&str> = lines.take_while(is_inside).collect();
    let dedent = |line: &str| line.get(own..).unwrap_or("").to_owned();
    let all: Vec<String> = std::iter::once(key).chain(below).map(dedent).collect();
    all.join("\n").trim_end().to_owned()
}

/// A text of at most so many characters: the lines around a place stay, and each cut is marked.
pub fn around(text: &str, at: usize, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let lines: Vec<&str> = text.lines().collect();
    let wanted = text[..at.min(text.len())].matches('\n').count().min(lines.len().saturating_sub(1));
    let mut kept = wanted..wanted + 1;
    let mut room = most.saturating_sub(lines[wanted].chars().count());
    loop {
        let before = kept.start.checked_sub(1);
        let after = Some(kept.end).filter(|after| *after < lines.len());
        let fits = |line: usize, room: usize| lines[line].chars().count() < room;
        let mut has_grown = false;
        if let Some(line) = before.filter(|line| fits(*line, room)) {
            (kept.start, has_grown) = (line, true);
            room -= lines[line].chars().count() + 1;
        }
        if let Some(line) = after.filter(|line| fits(*line, room)) {
            (kept.end, has_grown) = (line + 1, true);
            room -= lines[line].chars().count() + 1;
        }
        if !has_grown {
            break;
        }
    }
    joined(&lines, kept)
}

fn joined(lines: &[&str], kept: Range<usize>) -> String {
    let mut out = Vec::new();
    if kept.start > 0 {
        out.push(format!("… {} lines before", kept.start));
    }
    out.extend(lines[kept.clone()].iter().map(|line| (*line).to_owned()));
    if kept.end < lines.len() {
        out.push(format!("… {} lines after", lines.len() - kept.end));
    }
    out.join("\n")
}

fn section<'t>(text: &'t str, headings: &[Heading], own: usize) -> &'t str {
    let level = headings[own].level;
    let next = headings[own + 1..].iter().find(|heading| heading.level <= level);
    let start = line_start(text, headings[own].text.start);
    let end = next.map_or(text.len(), |next| line_start(text, next.text.start));
    text[start..end].trim_end()
}

fn trimmed(word: &str) -> &str {
    word.trim_matches(['.', '-'])
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

fn headings(text: &str) -> Vec<Heading> {
    let mut found = Found(Vec::new());
    markdown::scan(text, &mut found);
    found.0
}

struct Found(Vec<Heading>);

impl Visit for Found {
    fn plain_task(&mut self, _task: PlainTask) {}
    fn block(&mut self, _block: &Block<'_>) {}
    fn heading(&mut self, heading: Heading) {
        self.0.push(heading);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PLAN: &str = "# Quay\n\nBuild it of stone.\n\n```\n# no heading\n```\n\n## Phase 1: Setup\n\n- [ ] a\n\n### Notes\n\nmore\n\n## Phase 2\n\n- [ ] b\n";

    #[test]
    fn a_section_ends_where_the_next_one_of_its_level_begins() {
        let at = |needle: &str| PLAN.find(needle).expect("it is there");
        assert_eq!(section_at(PLAN, at("- [ ] a")), "## Phase 1: Setup\n\n- [ ] a\n\n### Notes\n\nmore");
        assert_eq!(section_at(PLAN, at("more")), "### Notes\n\nmore");
        assert_eq!(section_at(PLAN, at("- [ ] b")), "## Phase 2\n\n- [ ] b");
        assert_eq!(before_section(PLAN, at("- [ ] a")), "# Quay\n\nBuild it of stone.\n\n```\n# no heading\n```");
        assert_eq!(section_at("no heading\n- [ ] a\n", 12), "no heading\n- [ ] a");
        assert_eq!(before_section("no heading\n- [ ] a\n", 12), "no heading");
    }

    #[test]
    fn a_section_is_found_by_the_id_in_its_heading() {
        let text = "# Spec\n\n## WS10: Other\n\nten\n\n### WS1 — Database (core)\n\none\n\n## WS2.\n\ntwo\n";
        assert_eq!(section_about(text, "WS1"), Some("### WS1 — Database (core)\n\none"));
        assert_eq!(section_about(text, "WS2"), Some("## WS2.\n\ntwo"));
        assert_eq!(section_about(text, "WS3"), None);
    }

    #[test]
    fn an_entry_of_a_map_is_taken_with_all_that_is_below_it() {
        let text = "---\nworkstreams:\n  WS1:\n    name: Base\n\n    outputs:\n      - a.rs\n  WS2:\n    name: Top\n";
        assert_eq!(yaml_entry(text, 3), "WS1:\n  name: Base\n\n  outputs:\n    - a.rs");
        assert_eq!(yaml_entry(text, 8), "WS2:\n  name: Top");
        assert_eq!(yaml_entry(text, 99), "");
    }

    #[test]
    fn what_is_too_long_is_cut_around_the_place() {
        let text = (0..100).map(|number| format!("line {number}")).collect::<Vec<_>>().join("\n");
        let cut = around(&text, text.find("line 50").expect("it is there"), 40);
        assert_eq!(cut, "… 48 lines before\nline 48\nline 49\nline 50\nline 51\nline 52\n… 47 lines after");
        assert_eq!(around("short", 0, 40), "short");
    }

    proptest! {
        #[test]
        fn nothing_in_a_text_makes_it_panic(text in "[#a\\n \u{e9}`-]{0,80}", at in 0usize..80, most in 0usize..40) {
            let at = (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            section_at(&text, at);
            before_section(&text, at);
            yaml_entry(&text, at as u32);
            let _ = around(&text, at, most);
        }
    }
}
