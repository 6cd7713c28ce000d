//! Lines of Markdown, with the fenced ones marked: what stands in a code block is an example, not a fact.

use piton_model::seek;

/// A line without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// Where it begins in the text.
    pub at: usize,
    pub text: &'a str,
    /// Whether it belongs to a fenced code block, the fences included.
    pub fenced: bool,
}

/// Splits a text into lines.
///
/// A fence that is never closed is no fence. By the letter it would swallow the rest of the file, and with it
/// messages that somebody waits for.
pub(super) fn lines(text: &str) -> Lines<'_> {
    let mut scan = Lines { text, next: 0, fence: None, ignore_from: usize::MAX };
    while scan.next().is_some() {}
    let ignore_from = scan.fence.map_or(usize::MAX, |fence| fence.at);
    Lines { text, next: 0, fence: None, ignore_from }
}

pub(super) struct Lines<'a> {
    text: &'a str,
    next: usize,
    fence: Option<Fence>,
    ignore_from: usize,
}

#[derive(Clone, Copy)]
struct Fence {
    at: usize,
    mark: u8,
    length: usize,
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let at = self.next;
        let rest = self.text.get(at..).filter(|rest| !rest.is_empty())?;
        let length = seek::byte(b'\n', rest.as_bytes()).unwrap_or(rest.len());
        self.next = at + length + 1;
        let text = rest[..length].trim_end_matches('\r');
        let found = fence(at, text).filter(|_| at < self.ignore_from);
        let fenced = self.fence.is_some() || found.is_some();
        match (self.fence, found) {
            (None, Some((fence, _))) => self.fence = Some(fence),
            (Some(open), Some((close, ""))) if close.mark == open.mark && close.length >= open.length => {
                self.fence = None;
            }
            _ => {}
        }
        Some(Line { at, text, fenced })
    }
}

/// The fence that a line is, and what follows the marks.
fn fence(at: usize, line: &str) -> Option<(Fence, &str)> {
    let line = line.trim();
    let mark = *line.as_bytes().first().filter(|mark| matches!(mark, b'`' | b'~'))?;
    let length = line.bytes().take_while(|byte| *byte == mark).count();
    let info = &line[length..];
    let is_fence = length >= 3 && !(mark == b'`' && info.contains('`'));
    is_fence.then_some((Fence { at, mark, length }, info))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fenced_lines_are_marked_and_open_fences_are_not_fences() {
        let fenced = |text| lines(text).map(|line| u8::from(line.fenced)).collect::<Vec<_>>();
        for (text, want) in [
            ("a\r\nb\n", &[0, 0][..]),
            ("a\n```\nb\n```\nc", &[0, 1, 1, 1, 0]),
            ("~~~~md\n```\n~~~\n~~~~\nc", &[1, 1, 1, 1, 0]),
            ("a\n```text\nb\nc", &[0, 0, 0, 0]),
            ("```\na\n```\n```\nb", &[1, 1, 1, 0, 0]),
            ("```a`b```\nc", &[0, 0]),
            ("", &[]),
        ] {
            assert_eq!(fenced(text), want, "{text:?}");
        }
        let text = "one\r\n\ntwo";
        let all: Vec<_> = lines(text).map(|line| (line.at, line.text)).collect();
        assert_eq!(all, [(0, "one"), (5, ""), (6, "two")]);
    }
}
