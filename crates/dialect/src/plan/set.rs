//! A version of a plan's text with other ticks, and with the remarks or boxes of another version.

use std::collections::{BTreeMap, BTreeSet};

use super::parse::{Mark, Parsed, Remark, parse};
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

/// Returns the words of a text without its ticks, remarks and empty lines: two versions with the same words differ by these alone.
pub fn words(path: &str, text: &str) -> String {
    let parsed = parsed(path, text);
    let mut bytes = text.as_bytes().to_vec();
    let boxes = parsed.tasks.iter().chain(&parsed.criteria).map(Mark::box_at);
    boxes.chain(parsed.unmarked.iter().map(|it| it.box_at as usize)).for_each(|at| bytes[at] = b' ');
    for remark in parsed.decisions.iter().chain(&parsed.blockers) {
        bytes[remark.marker.clone()].fill(b' ');
    }
    let text = String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned());
    text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Returns the text with the boxes of another version that it lacks, by their ids. Each is put behind the line that it follows
/// there, or at the end.
pub fn with_boxes(path: &str, text: &str, other: &str, ids: &BTreeSet<String>) -> String {
    let parsed = parsed(path, other);
    let missing = parsed.tasks.iter().chain(&parsed.criteria).filter(|mark| ids.contains(mark.id(other)));
    let mut missing: Vec<usize> = missing.map(|mark| other[..mark.box_at()].matches('\n').count()).collect();
    missing.sort_unstable();
    let others: Vec<&str> = other.lines().collect();
    let mut lines: Vec<&str> = text.lines().collect();
    let bare = |line: &str| line.replace("[x]", "[ ]").replace("[X]", "[ ]");
    for at in missing {
        let is_before = |before: &&str| !before.trim().is_empty();
        let place = others[..at]
            .iter()
            .rev()
            .filter(|before| is_before(before))
            .find_map(|before| lines.iter().position(|line| bare(line) == bare(before)).map(|place| place + 1));
        lines.insert(place.unwrap_or(lines.len()), others[at]);
    }
    let end = if text.ends_with('\n') || text.is_empty() { "\n" } else { "" };
    lines.join("\n") + end
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
    fn versions_with_the_same_words_differ_by_ticks_and_remarks() {
        let ticked = TEXT.replace("[ ] A", "[x] A").replace("[ ] C", "[x] C");
        for same in [ticked.as_str(), &format!("{TEXT}\n\n<!-- DECISION: tea -->\n")] {
            assert_eq!(words("p", same), words("p", TEXT));
        }
        assert_ne!(words("p", &TEXT.replace("A", "E")), words("p", TEXT));
    }

    #[test]
    fn missing_boxes_are_put_back_where_they_were() {
        let with =
            |text: &str, ids: &[&str]| with_boxes("p", text, TEXT, &ids.iter().map(|id| (*id).to_owned()).collect());
        let without = "# P\n- [x] A <!-- TASK: a -->\n- [ ] E <!-- TASK: e -->\n";
        let whole = "# P\n- [x] A <!-- TASK: a -->\n- [X] B <!-- TASK: b -->\n- [ ] E <!-- TASK: e -->\n";
        assert_eq!(with(without, &["b"]), whole);
        assert_eq!(with(without, &[]), without);
        assert_eq!(with("x", &["a", "b"]), "x\n- [ ] A <!-- TASK: a -->\n- [X] B <!-- TASK: b -->");
    }

    #[test]
    fn remarks_are_taken_over_once() {
        let other = "<!-- DECISION: tea -->\nx\n<!-- BLOCKER: no cups -->";
        let whole = format!("{TEXT}\n<!-- DECISION: tea -->\n<!-- BLOCKER: no cups -->\n");
        assert_eq!(with_remarks("p", TEXT, other), whole);
        assert_eq!(with_remarks("p", &whole, other), whole);
    }
}
