use std::collections::HashMap;
use std::ops::Range;

use memchr::{memchr3, memmem};

use super::html;

/// Hands over the comments in inline text: not those in code spans, in tags, or behind a backslash.
pub(super) fn comments(body: &str, visit: &mut dyn FnMut(Range<usize>)) {
    let text = body.as_bytes();
    // Whatever was once searched for in vain to the end of the text is not searched for again.
    let mut ticks: Option<HashMap<usize, usize>> = None;
    let mut no_comment_end = false;
    let mut at = 0;
    while let Some(next) = memchr3(b'`', b'\\', b'<', &text[at..]) {
        at += next;
        match text[at] {
            b'\\' => at += if text.get(at + 1).is_some_and(u8::is_ascii_punctuation) { 2 } else { 1 },
            b'`' => {
                let last = ticks.get_or_insert_with(|| last_runs(&text[at..], at));
                at = after_code_span(text, at, last);
            }
            _ if text[at..].starts_with(b"<!--") => {
                match (!no_comment_end).then(|| html::comment_end(text, at)).flatten() {
                    Some(end) => {
                        visit(at..end);
                        at = end;
                    }
                    None => {
                        no_comment_end = true;
                        at += 1;
                    }
                }
            }
            _ => at += skip_markup(&text[at..]),
        }
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
        close += memchr::memchr(b'`', &text[close..]).expect("a later run of this length exists");
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
    while let Some(next) = memchr::memchr(b'`', &text[at..]) {
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
fn skip_markup(text: &[u8]) -> usize {
    let until = |end: &[u8]| memmem::find(text, end).map(|at| at + end.len());
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
    let end = text.iter().position(|byte| *byte == b'>')?;
    let inner = &text[1..end];
    let plain = inner.iter().all(|byte| !byte.is_ascii_control() && !matches!(byte, b' ' | b'<'));
    let scheme =
        inner.iter().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'.' | b'-')).count();
    let is_uri = (2..=32).contains(&scheme) && inner.get(scheme) == Some(&b':');
    let is_mail = inner.contains(&b'@');
    (plain && (is_uri || is_mail)).then_some(end + 1)
}
