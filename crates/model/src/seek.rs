//! Bytes and words, found in texts without asking the processor what it can do.
//!
//! The usual search asks before it picks the widest instructions. Each of a dozen questions is a trap where the machine
//! is a virtual one, so that asking costs more than most commands search: here it is what every such processor can do.

use std::iter;

#[cfg(target_arch = "x86_64")]
use memchr::arch::x86_64::sse2::{memchr as wide, packedpair};

/// Where a byte is first.
pub fn byte(wanted: u8, text: &[u8]) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if let Some(search) = wide::One::new(wanted) {
        return search.find(text);
    }
    memchr::memchr(wanted, text)
}

/// Where a byte is last.
pub fn last_byte(wanted: u8, text: &[u8]) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if let Some(search) = wide::One::new(wanted) {
        return search.rfind(text);
    }
    memchr::memrchr(wanted, text)
}

/// Where the first of two bytes is.
pub fn either(wanted: [u8; 2], text: &[u8]) -> Option<usize> {
    let [a, b] = wanted;
    #[cfg(target_arch = "x86_64")]
    if let Some(search) = wide::Two::new(a, b) {
        return search.find(text);
    }
    memchr::memchr2(a, b, text)
}

/// Where the first of three bytes is.
pub fn any(wanted: [u8; 3], text: &[u8]) -> Option<usize> {
    let [a, b, c] = wanted;
    #[cfg(target_arch = "x86_64")]
    if let Some(search) = wide::Three::new(a, b, c) {
        return search.find(text);
    }
    memchr::memchr3(a, b, c, text)
}

/// Wherever a byte is.
pub fn bytes(wanted: u8, text: &[u8]) -> impl Iterator<Item = usize> {
    everywhere(1, move |at| byte(wanted, &text[at..]))
}

/// Where a word is first.
pub fn word(wanted: &[u8], text: &[u8]) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if let Some(search) = packedpair::Finder::new(wanted)
        && text.len() >= search.min_haystack_len()
    {
        return search.find(text, wanted);
    }
    match wanted {
        [] => Some(0),
        [first, ..] => bytes(*first, text).find(|at| text[*at..].starts_with(wanted)),
    }
}

/// Wherever a word is, without overlaps.
pub fn words(wanted: &[u8], text: &[u8]) -> impl Iterator<Item = usize> {
    everywhere(wanted.len().max(1), move |at| word(wanted, &text[at..]))
}

fn everywhere(length: usize, next: impl Fn(usize) -> Option<usize>) -> impl Iterator<Item = usize> {
    let mut from = Some(0);
    iter::from_fn(move || {
        let start = from?;
        let found = next(start).map(|at| start + at);
        from = found.map(|at| at + length);
        found
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text of few letters, so that they meet in all ways.
    fn text(length: usize, seed: usize) -> Vec<u8> {
        let letter = |at: usize| b"abc-"[(at.wrapping_mul(2_654_435_761) ^ seed.wrapping_mul(40_503)) >> 7 & 3];
        (0..length).map(|at| letter(at + seed)).collect()
    }

    #[test]
    fn what_is_found_is_what_a_plain_search_finds() {
        for length in (0..80).chain([200, 1000]) {
            for seed in 0..20 {
                let text = text(length, seed);
                let at = |wanted: &[u8]| text.iter().position(|byte| wanted.contains(byte));
                assert_eq!(byte(b'a', &text), at(b"a"));
                assert_eq!(last_byte(b'b', &text), text.iter().rposition(|byte| *byte == b'b'));
                assert_eq!(either([b'b', b'-'], &text), at(b"b-"));
                assert_eq!(any([b'x', b'-', b'c'], &text), at(b"-c"));
                let all: Vec<_> = (0..length).filter(|at| text[*at] == b'c').collect();
                assert_eq!(bytes(b'c', &text).collect::<Vec<_>>(), all);
                for wanted in [&b"ab"[..], b"-c-", b"a-bc", b"abcabcabcabcabcabcabcabcabcabcabcabc", b"b", b""] {
                    let plain = (0..=length).find(|at| text[*at..].starts_with(wanted));
                    assert_eq!(word(wanted, &text), plain, "{wanted:?} of {length}");
                }
                let mut pairs = Vec::new();
                let mut from = 0;
                while let Some(at) = (from..length).find(|at| text[*at..].starts_with(b"--")) {
                    pairs.push(at);
                    from = at + 2;
                }
                assert_eq!(words(b"--", &text).collect::<Vec<_>>(), pairs);
            }
        }
    }
}
