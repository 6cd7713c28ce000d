use std::collections::HashMap;
use std::ops::Range;

use piton_model::seek;

use super::html;

/// Hands over the comments in inline text: not those in code spans, in tags, or behind a backslash.
pub(super) fn comments(body: &str, visit: &mut dyn FnMut(Range<usize>)) {
    let text = body.as_bytes();
    let mut ticks: Option<HashMap<usize, usize>> = None;
    let mut ends = Ends::default();
    let mut at = 0;
    while let Some(next) = seek::any([b'`', b'\\', b'<'], &text[at..]) {
        at += next;
        match text[at] {
            b'\\' => at += if text.get(at + 1).is_some_and(u8::is_ascii_punctuation) { 2 } else { 1 },
            b'`' => {
                let last = ticks.get_or_insert_with(|| last_runs(&text[at..], at));
                at = after_code_span(text, at, last);
            }
            _ if text[at..].starts_with(b"<!--") => match ends.search(b"-->", || html::comment_end(text, at)) {
                Some(end) => {
                    visit(at..end);
                    at = end;
                }
                None => at += 1,
            },
            _ => at += skip_markup(&text[at..], &mut ends),
        }
    }
}

/// Ends that were once searched for in vain: none of them comes later either, so they are not searched for again, and
/// the whole takes linear time whatever the text.
#[derive(Default)]
struct Ends {
    missing: Vec<&'static [u8]>,
}

impl Ends {
    fn search<T>(&mut self, end: &'static [u8], search: impl FnOnce() -> Option<T>) -> Option<T> {
        if self.missing.contains(&end) {
            return None;
        }
        let found = search();
        if found.is_none() {
            self.missing.push(end);
        }
        found
    }
}

/// Where to go on after the run of backticks at `at`: behind the code span that it opens, or behind the run
/// when nothing closes it.
fn after_code_span(text: &[u8], at: usize, last: &HashMap<usize, usize>) -> usize {
    let length = run(&text[at..]);
    if last.get(&length).is_none_or(|last| *last <= at) {
        return at + length;
    }
    let mut close = at + length;
    loop {
        close += seek::byte(b'`', &text[close..]).expect("a later run of this length exists");
        let found = run(&text[close..]);
        close += found;
        if found == length {
            return close;
        }
    }
}

/// Where the last run of each length begins.
fn last_runs(text: &[u8], offset: usize) -> HashMap<usize, usize> {
    let mut last = HashMap::new();
    let mut at = 0;
    while let Some(next) = seek::byte(b'`', &text[at..]) {
        at += next;
        let length = run(&text[at..]);
        last.insert(length, offset + at);
        at += length;
    }
    last
}

fn run(text: &[u8]) -> usize {
    text.iter().take_while(|byte| **byte == b'`').count()
}

/// The length of the tag, autolink or other markup that begins with this `<`, or 1.
fn skip_markup(text: &[u8], ends: &mut Ends) -> usize {
    let mut until = |end: &'static [u8]| ends.search(end, || seek::word(end, text).map(|at| at + end.len()));
    let length = match text.get(1) {
        Some(b'?') => until(b"?>"),
        Some(b'!') if text.starts_with(b"<![CDATA[") => until(b"]]>"),
        Some(b'!') if text.get(2).is_some_and(u8::is_ascii_alphabetic) => until(b">"),
        Some(byte) if byte.is_ascii_alphabetic() => html::tag(text).or_else(|| autolink(text)),
        Some(b'/') => html::tag(text),
        _ => None,
    };
    length.unwrap_or(1)
}

fn autolink(text: &[u8]) -> Option<usize> {
    // Nothing that ends an autolink in vain is looked beyond.
    let end = text[1..].iter().position(|byte| byte.is_ascii_control() || matches!(byte, b' ' | b'<' | b'>'))? + 1;
    let inner = &text[1..end];
    let is_scheme = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'.' | b'-');
    let scheme = inner.iter().take_while(is_scheme).count();
    let is_uri = (2..=32).contains(&scheme) && inner.get(scheme) == Some(&b':');
    let is_mail = inner.contains(&b'@');
    (text[end] == b'>' && (is_uri || is_mail)).then_some(end + 1)
}
