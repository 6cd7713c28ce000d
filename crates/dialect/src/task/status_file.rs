//! `STATUS.md`: a person's file with one block that is managed.

use std::ops::Range;

use piton_model::Finding;

use super::codes;
use super::layout::{BLOCK_BEGIN, BLOCK_END};
use crate::{Source, open_text};

/// Why the managed block cannot be told from the rest, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadBlock {
    /// The byte at which the trouble is.
    pub at: usize,
    /// What it is.
    pub why: &'static str,
}

/// Finds the bytes between the two marker comments; nothing when there is no block.
pub fn managed_block(text: &str) -> Result<Option<Range<usize>>, BadBlock> {
    let bad = |at, why| Err(BadBlock { at, why });
    let (begin, end) = match (text.find(BLOCK_BEGIN), text.find(BLOCK_END)) {
        (None, None) => return Ok(None),
        (Some(begin), None) => return bad(begin, "the managed block is not ended"),
        (None, Some(end)) => return bad(end, "the managed block is ended, but not begun"),
        (Some(begin), Some(end)) if end < begin => return bad(end, "the managed block is ended before it is begun"),
        (Some(begin), Some(end)) => (begin + BLOCK_BEGIN.len(), end),
    };
    if let Some(again) = text[begin..].find(BLOCK_BEGIN) {
        return bad(begin + again, "the managed block is begun twice");
    }
    let after = end + BLOCK_END.len();
    if let Some(again) = text[after..].find(BLOCK_END) {
        return bad(after + again, "the managed block is ended twice");
    }
    Ok(Some(begin..end))
}

/// Checks `STATUS.md`: all that matters in it is that its block can be found.
pub fn check_status_file(source: &Source<'_>) -> Vec<Finding> {
    let (text, mut findings) = open_text(source);
    if let Some(Err(bad)) = text.map(managed_block) {
        findings.at(bad.at, &codes::TASK_STATUS_BLOCK, bad.why);
    }
    findings.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_is_found_or_the_trouble_is() {
        let (b, e) = (BLOCK_BEGIN, BLOCK_END);
        for (text, want) in [
            ("# Status\n".to_owned(), Ok(None)),
            (format!("# Status\n{b}\n| a |\n{e}\nmine"), Ok(Some("\n| a |\n"))),
            (format!("{b}{e}"), Ok(Some(""))),
            (format!("{b}\n"), Err("the managed block is not ended")),
            (format!("{e}\n"), Err("the managed block is ended, but not begun")),
            (format!("{e}\n{b}"), Err("the managed block is ended before it is begun")),
            (format!("{b}{b}{e}"), Err("the managed block is begun twice")),
            (format!("{b}{e}{b}{e}"), Err("the managed block is begun twice")),
            (format!("{b}{e}{e}"), Err("the managed block is ended twice")),
        ] {
            let got = managed_block(&text).map(|block| block.map(|block| &text[block])).map_err(|bad| bad.why);
            assert_eq!(got, want, "{text}");
        }
    }

    #[test]
    fn a_torn_block_is_reported_with_its_line() {
        let text = format!("# Status\n\n{BLOCK_BEGIN}\n");
        let source = Source { path: "progress/STATUS.md".into(), bytes: text.as_bytes(), modified: None };
        let findings = check_status_file(&source);
        assert_eq!((findings[0].code.name, findings[0].place.line), ("task-status-block", Some(3)));
    }
}
