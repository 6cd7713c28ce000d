//! How blocks begin, as questions about one line.

use std::ops::Range;

use piton_model::seek;

use super::Checkbox;
use super::html::End;
use super::line::Line;

/// Where the marker and its id are in a line that begins with `- [ ] ` and ends with a TASK marker, when nothing
/// between them could make it something else: no backtick, backslash or other `<`.
pub(super) fn plain_marker(line: &[u8]) -> Option<(usize, Range<usize>)> {
    const OPENING: &[u8] = b"<!-- TASK: ";
    let body = line.strip_suffix(b" -->")?;
    let marker = seek::last_byte(b'<', body)?;
    let id = body[marker..].strip_prefix(OPENING)?;
    let text = line.get(6..marker)?;
    let good_id = !id.is_empty() && id.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    let good_text = text.first().is_some_and(|byte| byte.is_ascii_graphic());
    let plain = good_id && good_text && seek::any([b'`', b'\\', b'<'], text).is_none();
    plain.then_some((marker, marker + OPENING.len()..body.len()))
}

pub(super) struct ItemStart<'t> {
    pub indent: usize,
    pub rest: Line<'t>,
}

/// Recognises `-`, `*`, `+`, `1.` and `1)`; `line` stands behind its indentation.
pub(super) fn item_start(line: Line<'_>, outer_indent: usize, in_paragraph: bool) -> Option<ItemStart<'_>> {
    let rest = line.rest();
    let width = match rest[0] {
        b'-' | b'*' | b'+' => 1,
        b'0'..=b'9' => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let is_marker = digits <= 9 && matches!(rest.get(digits), Some(b'.' | b')'));
            // Only a list that begins with 1 may interrupt a paragraph: a number may just start a line.
            if !is_marker
                || in_paragraph
                    && rest[..digits].iter().rev().enumerate().any(|(i, d)| *d != if i == 0 { b'1' } else { b'0' })
            {
                return None;
            }
            digits + 1
        }
        _ => return None,
    };
    let mut after = line;
    after.take(width);
    if after.is_blank() {
        return (!in_paragraph).then_some(ItemStart { indent: outer_indent + width + 1, rest: after });
    }
    let spaces = after.indent();
    let padding = match spaces {
        0 => return None,
        1..=4 => spaces,
        _ => 1,
    };
    after.take_indent(padding);
    Some(ItemStart { indent: outer_indent + width + padding, rest: after })
}

/// Recognises `[ ]`, `[x]` and `[X]` with white space after it.
pub(super) fn take_checkbox(line: Line<'_>, start: usize) -> Option<(Checkbox, Line<'_>)> {
    let mut ahead = line;
    if ahead.take_indent(4) > 3 {
        return None;
    }
    let ticked = match ahead.rest() {
        [b'[', b' ' | b'\t', b']', ..] => false,
        [b'[', b'x' | b'X', b']', ..] => true,
        _ => return None,
    };
    let checkbox = Checkbox { at: start + ahead.at + 1, ticked };
    ahead.take(3);
    matches!(ahead.peek(), None | Some(b' ' | b'\t')).then_some((checkbox, ahead))
}

pub(super) fn take_quote_mark(line: &mut Line<'_>) -> bool {
    let mut ahead = *line;
    if ahead.take_indent(4) > 3 || ahead.peek() != Some(b'>') {
        return false;
    }
    ahead.take(1);
    ahead.take_indent(1);
    *line = ahead;
    true
}

pub(super) fn is_heading(rest: &[u8]) -> bool {
    let level = rest.iter().take_while(|byte| **byte == b'#').count();
    level <= 6 && matches!(rest.get(level), None | Some(b' ' | b'\t'))
}

/// Whether the line is a setext underline of `mark`.
pub(super) fn is_underline(rest: &[u8], mark: u8) -> bool {
    let length = rest.iter().take_while(|byte| **byte == mark).count();
    rest[length..].iter().all(|byte| matches!(byte, b' ' | b'\t'))
}

pub(super) fn opens_fence(rest: &[u8], mark: u8) -> Option<usize> {
    let length = rest.iter().take_while(|byte| **byte == mark).count();
    let clean = mark == b'~' || seek::byte(b'`', &rest[length..]).is_none();
    (length >= 3 && clean).then_some(length)
}

pub(super) fn closes_fence(mut line: Line<'_>, mark: u8, length: usize) -> bool {
    if line.take_indent(4) > 3 {
        return false;
    }
    let rest = line.rest();
    let found = rest.iter().take_while(|byte| **byte == mark).count();
    found >= length && rest[found..].iter().all(|byte| matches!(byte, b' ' | b'\t'))
}

/// What of an HTML block's first line may end it: a comment's own `<!--` does not count as its end.
pub(super) fn after_opening(rest: &[u8], end: End) -> &[u8] {
    match end {
        End::Text(b"-->") => &rest[2..],
        End::Text(_) => &rest[2..],
        End::RawElement | End::Blank => rest,
    }
}
