//! Shapes of credentials, so that they are warned of and masked.

use std::borrow::Cow;
use std::ops::Range;

use crate::seek;

/// How a credential begins, and how many characters of it must follow to be one.
const SHAPES: [(&str, usize); 11] = [
    ("sk-ant-", 20),
    ("sk-proj-", 20),
    ("ghp_", 30),
    ("gho_", 30),
    ("ghs_", 30),
    ("github_pat_", 30),
    ("glpat-", 16),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("AKIA", 16),
    ("AIza", 30),
];

/// The shortest credential: `AKIA` and 16 more.
const SHORTEST: usize = 20;

const PRIVATE_KEY: &str = "PRIVATE KEY-----";

const BEGIN: &str = "-----BEGIN ";

/// Finds what looks like credentials, in order.
///
/// Every document is searched, so this looks only for runs of twenty letters, digits, `_` and `-`, from the end of
/// each window backwards: a credential is at least that long.
pub fn find(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    if bytes.len() < SHORTEST {
        return found;
    }
    let mut at = SHORTEST - 1;
    while at < bytes.len() {
        let window = &bytes[at + 1 - SHORTEST..=at];
        // A long run cannot begin before what interrupts this one, so the next window ends that much later.
        if let Some(last) = window.iter().rposition(|byte| !continues(*byte)) {
            at += last + 1;
            continue;
        }
        let start = bytes[..at].iter().rposition(|byte| !continues(*byte)).map_or(0, |before| before + 1);
        let end = bytes[at..].iter().position(|byte| !continues(*byte)).map_or(bytes.len(), |length| at + length);
        let run = &text[start..end];
        let is_shape = |(begin, least): &(&str, usize)| run.len() >= begin.len() + least && run.starts_with(begin);
        if SHAPES.iter().any(is_shape) {
            found.push(start..end);
        }
        at = end + SHORTEST;
    }
    if let Some(begin) = seek::word(BEGIN.as_bytes(), bytes) {
        let keys = seek::words(PRIVATE_KEY.as_bytes(), &bytes[begin..]);
        found.extend(keys.map(|at| begin + at..begin + at + PRIVATE_KEY.len()));
        found.sort_by_key(|range| range.start);
    }
    found
}

fn continues(byte: u8) -> bool {
    CONTINUES[usize::from(byte)]
}

/// Letters, digits, `_` and `-`.
static CONTINUES: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = (byte as u8).is_ascii_alphanumeric() || matches!(byte as u8, b'_' | b'-');
        byte += 1;
    }
    table
};

/// Replaces what looks like credentials by their first characters and `…`.
pub fn mask(text: &str) -> Cow<'_, str> {
    let found = find(text);
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for range in found {
        out.push_str(&text[end..range.start + 4]);
        out.push_str("…masked…");
        end = range.end;
    }
    out.push_str(&text[end..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_masked_and_words_are_not() {
        let token = format!("ghp_{}", "a1".repeat(18));
        assert_eq!(mask(&format!("use {token} to push")), "use ghp_…masked… to push");
        assert_eq!(mask("AKIAIOSFODNN7EXAMPLE"), "AKIA…masked…");
        for harmless in ["task-ant-hill", "sk-ant-short", "the AKIA format", "desk-ant-aaaaaaaaaaaaaaaaaaaaaaaaaaaa"] {
            assert_eq!(mask(harmless), harmless);
        }
        assert_eq!(find("-----BEGIN RSA PRIVATE KEY-----").len(), 1);
    }

    #[test]
    fn credentials_are_found_wherever_they_stand() {
        for shift in 0..60 {
            let text = format!("{}AKIAIOSFODNN7EXAMPLE {}", " ".repeat(shift), "word ".repeat(shift));
            let found: Vec<_> = find(&text).into_iter().map(|range| (range.start, range.end)).collect();
            assert_eq!(found, [(shift, shift + 20)]);
            let text = format!("{}x{}", "ab ".repeat(shift), "AKIAIOSFODNN7EXAMPLE");
            assert!(find(&text).is_empty(), "a credential starts its run");
        }
    }
}
