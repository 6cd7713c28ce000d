//! Untrusted text on its way to a person: nothing in it may move a cursor, hide or reorder.

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Returns the text as one line that a terminal shows as it is: line breaks and tabs become spaces, and
/// control, bidirectional and invisible characters become visible escapes.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| !is_break(c) && !is_hostile(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if is_break(c) => out.push(' '),
            c if is_hostile(c) => {
                let _ = match u32::from(c) {
                    code @ 0..0x100 => write!(out, "\\x{code:02x}"),
                    code => write!(out, "\\u{{{code:x}}}"),
                };
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// The first line of a reason. Those below it are what a worker printed last.
pub fn headline(reason: &str) -> &str {
    reason.split('\n').next().unwrap_or_default()
}

/// A sentence of somebody as a part of one of ours: without the full stop at its end.
pub fn clause(text: &str) -> &str {
    let text = text.trim_end();
    match text.strip_suffix('.') {
        Some(rest) if !rest.ends_with('.') => rest,
        _ => text,
    }
}

/// Returns the text as one word of a POSIX shell: as it is where that is safe, else in single quotes.
pub fn shell_word(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@+%^".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("'{}'", text.replace('\'', "'\\''"))),
    }
}

/// A number with the words that fit it: `1 task remains`, `2 tasks remain`.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// The same with its verb: `is 1 step`, `are 2 steps`.
pub fn are_counted(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", if count == 1 { "is" } else { "are" }, counted(count, one, many))
}

/// A place in an order: `1st`, `2nd`, `3rd`, `11th`.
pub fn ordinal(number: u64) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// How many columns a terminal uses for the text.
pub fn columns(text: &str) -> usize {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain { text.len() } else { text.width() }
}

/// Cuts the text to at most that many columns, with an ellipsis where something was cut, and never
/// inside what a reader sees as one character.
pub fn fit(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most || columns(text) <= most {
        return Cow::Borrowed(text);
    }
    let Some(room) = most.checked_sub(1) else { return Cow::Borrowed("") };
    let mut used = 0;
    let mut end = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        used += columns(grapheme);
        if used > room {
            break;
        }
        end = at + grapheme.len();
    }
    Cow::Owned(format!("{}…", text[..end].trim_end()))
}

/// [`fit`], then filled with spaces to exactly that many columns.
pub fn cell(text: &str, width: usize) -> String {
    let fitted = fit(text, width);
    let fill = width.saturating_sub(columns(&fitted));
    format!("{fitted}{:fill$}", "")
}

fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\t' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_words() {
        let words = [1, 2, 3, 4, 11, 12, 13, 21, 101, 111].map(ordinal);
        assert_eq!(words, ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "101st", "111th"]);
        assert_eq!(are_counted(1, "step", "steps"), "is 1 step");
        assert_eq!(are_counted(0, "step", "steps"), "are 0 steps");
    }

    #[test]
    fn nothing_reaches_the_terminal_that_it_would_obey() {
        for (text, want) in [
            ("plain", "plain"),
            ("naïve 日本 👩‍👩‍👧", "naïve 日本 👩‍👩‍👧"),
            ("two\nlines\tand", "two lines and"),
            ("\x1b]52;c;aGk=\x07", "\\x1b]52;c;aGk=\\x07"),
            ("a\u{9b}31mb", "a\\x9b31mb"),
            ("abc\u{202e}fed", "abc\\u{202e}fed"),
            ("zero\u{200b}width", "zero\\u{200b}width"),
            ("del\x7f", "del\\x7f"),
        ] {
            assert_eq!(printable(text), want);
        }
    }

    #[test]
    fn a_shell_reads_a_word_as_it_was() {
        for (text, want) in [
            ("build:PRD-009", "build:PRD-009"),
            ("", "''"),
            ("two words", "'two words'"),
            ("it's", "'it'\\''s'"),
            ("$(rm -rf /)", "'$(rm -rf /)'"),
            ("a;b", "'a;b'"),
            ("~x", "'~x'"),
        ] {
            assert_eq!(shell_word(text), want);
        }
    }

    #[test]
    fn cells_have_their_width_whatever_they_hold() {
        for (text, width, want) in [
            ("abc", 5, "abc  "),
            ("abcdef", 5, "abcd…"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日… "),
            ("👩‍👩‍👧👩‍👩‍👧", 3, "👩‍👩‍👧…"),
            ("a b c", 3, "a… "),
            ("abc", 0, ""),
        ] {
            let cell = cell(text, width);
            assert_eq!(cell, want, "{text} in {width}");
            assert_eq!(columns(&cell), width);
        }
    }
}
