//! Shapes of credentials, so that they are warned of and masked.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::{self, Finder};

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

const PRIVATE_KEY: &str = "PRIVATE KEY-----";

static BEGIN: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("-----BEGIN "));

/// Prepared once: every document is searched for all of them.
static FINDERS: LazyLock<Vec<Finder<'static>>> =
    LazyLock::new(|| SHAPES.iter().map(|(start, _)| Finder::new(*start).into_owned()).collect());

/// Finds what looks like credentials, in order.
pub fn find(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (finder, (start, least)) in FINDERS.iter().zip(SHAPES) {
        for at in finder.find_iter(text.as_bytes()) {
            let continues = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-');
            if at > 0 && continues(text.as_bytes()[at - 1]) {
                continue;
            }
            let rest = &text.as_bytes()[at + start.len()..];
            let length = rest.iter().take_while(|c| continues(**c)).count();
            if length >= least {
                found.push(at..at + start.len() + length);
            }
        }
    }
    if let Some(begin) = BEGIN.find(text.as_bytes()) {
        let keys = memmem::find_iter(&text.as_bytes()[begin..], PRIVATE_KEY);
        found.extend(keys.map(|at| begin + at..begin + at + PRIVATE_KEY.len()));
    }
    found.sort_by_key(|range| range.start);
    found
}

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
}
