//! A version of a plan's text with other ticks, and with the remarks of another version.

use std::collections::BTreeMap;

use super::parse::{Parsed, Remark, parse};
use crate::Findings;

/// Returns the text with boxes of tasks ticked or unticked, by their ids. Nothing else changes.
pub fn with_ticks(path: &str, text: &str, ticks: &BTreeMap<String, bool>) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for mark in &parsed(path, text).tasks {
        match ticks.get(mark.id(text)) {
            Some(is_ticked) if *is_ticked != mark.is_ticked() => {
                bytes[mark.box_at()] = if *is_ticked { b'x' } else { b' ' };
            }
            Some(_) | None => {}
        }
    }
    // A box is one ASCII byte, so the text stays one.
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// Returns the text with the decisions and blockers of another version at its end that it lacks.
pub fn with_remarks(path: &str, text: &str, other: &str) -> String {
    let remarks = |parsed: Parsed| -> Vec<Remark> { parsed.decisions.into_iter().chain(parsed.blockers).collect() };
    let known = remarks(parsed(path, text));
    let mut new: Vec<Remark> = remarks(parsed(path, other));
    new.retain(|remark| known.iter().all(|known| known.text != remark.text));
    new.sort_by_key(|remark| remark.marker.start);
    let mut text = text.to_owned();
    for remark in new {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&other[remark.marker]);
        text.push('\n');
    }
    text
}

fn parsed(path: &str, text: &str) -> Parsed {
    parse(text, &mut Findings::new(path.into(), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# P\n- [ ] A <!-- TASK: a -->\n- [X] B <!-- TASK: b -->\n- [ ] C";

    #[test]
    fn ticks_change_one_byte_each() {
        let set = |ticks: &[(&str, bool)]| {
            with_ticks("p", TEXT, &ticks.iter().map(|(id, is_ticked)| ((*id).to_owned(), *is_ticked)).collect())
        };
        assert_eq!(set(&[]), TEXT);
        assert_eq!(set(&[("a", false), ("b", true), ("d", true)]), TEXT);
        assert_eq!(set(&[("a", true)]), TEXT.replace("[ ] A", "[x] A"));
        assert_eq!(set(&[("a", true), ("b", false)]), TEXT.replace("[ ] A", "[x] A").replace("[X]", "[ ]"));
    }

    #[test]
    fn remarks_are_taken_over_once() {
        let other = "<!-- DECISION: tea -->\nx\n<!-- BLOCKER: no cups -->";
        let whole = format!("{TEXT}\n<!-- DECISION: tea -->\n<!-- BLOCKER: no cups -->\n");
        assert_eq!(with_remarks("p", TEXT, other), whole);
        assert_eq!(with_remarks("p", &whole, other), whole);
    }
}
