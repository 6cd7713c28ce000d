use std::ops::Range;

use super::html::{self, End};
use super::line::Line;
use super::{Block, BlockKind, Checkbox, PlainTask, Visit};

/// Finds every block that may hold markers and hands it over, in the order of the text.
pub fn scan(text: &str, visit: &mut impl Visit) {
    let mut scanner = Scanner {
        text: text.as_bytes(),
        containers: Vec::new(),
        leaf: Leaf::None,
        lines: Vec::new(),
        checkbox: None,
        has_comment: false,
        continues: false,
        items: 0,
        first_quote: usize::MAX,
        no_break_before: 0,
        visit,
    };
    let mut start = 0;
    while start < text.len() {
        let length = memchr::memchr2(b'\n', b'\r', &text.as_bytes()[start..]).unwrap_or(text.len() - start);
        scanner.line(start, start + length);
        let is_crlf = text.as_bytes()[start + length..].starts_with(b"\r\n");
        start += length + if is_crlf { 2 } else { 1 };
    }
    scanner.close_leaf();
}

/// What may contain other blocks.
///
/// Only the innermost item can be empty: whatever is inside of an item is its content.
#[derive(Debug, Clone, Copy)]
enum Container {
    Quote,
    Item {
        /// How many columns its content is indented.
        indent: u32,
        /// Its number.
        number: u32,
        /// Whether nothing has come yet: two blank lines in a row then end it.
        empty: bool,
    },
}

impl Container {
    fn takes_blank(&self) -> bool {
        matches!(self, Container::Item { empty: false, .. })
    }
}

/// The block that lines are being added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaf {
    None,
    Paragraph,
    Fence { mark: u8, length: usize },
    Html(End),
}

struct Scanner<'t, 'v, V> {
    text: &'t [u8],
    containers: Vec<Container>,
    leaf: Leaf,
    /// The lines of the leaf, when it is one that may hold markers.
    lines: Vec<Range<usize>>,
    checkbox: Option<Checkbox>,
    has_comment: bool,
    continues: bool,
    items: u32,
    /// The place of the outermost quote among the containers, or a place behind all of them.
    first_quote: usize,
    /// No thematic break begins in this line before this byte: a search for one failed there.
    no_break_before: usize,
    visit: &'v mut V,
}

impl<V: Visit> Scanner<'_, '_, V> {
    fn line(&mut self, start: usize, end: usize) {
        let text = self.text;
        if self.plain_task(start, end) {
            return;
        }
        let mut line = Line::new(&text[start..end]);
        let matched = self.match_containers(&mut line);
        let all_matched = matched == self.containers.len();
        if all_matched && self.continue_leaf(start, line) {
            return;
        }
        if line.is_blank() {
            self.close_containers(matched);
            self.close_leaf();
            return;
        }
        self.open_blocks(start, line, matched);
    }

    /// Handles the line that plans consist of, `- [ ] …` at the left margin, without the general rules: it
    /// continues nothing but a fence or HTML block outside of all containers.
    fn plain_task(&mut self, start: usize, end: usize) -> bool {
        let line = &self.text[start..end];
        let ticked = match line {
            [b'-', b' ', b'[', b' ', b']', b' ', ..] => false,
            [b'-', b' ', b'[', b'x', b']', b' ', ..] => true,
            _ => return false,
        };
        if self.containers.is_empty() && matches!(self.leaf, Leaf::Fence { .. } | Leaf::Html(_)) {
            return false;
        }
        let Some((marker, id)) = plain_marker(line) else { return false };
        self.close_leaf();
        self.truncate(0);
        self.items += 1;
        self.containers.push(Container::Item { indent: 2, number: self.items, empty: false });
        self.leaf = Leaf::Paragraph;
        self.continues = true;
        self.visit.plain_task(PlainTask {
            checkbox: Checkbox { at: start + 3, ticked },
            marker: start + marker,
            id_start: start + id.start,
            id_end: start + id.end,
            item: self.items as usize,
        });
        true
    }

    /// Takes from the line what the open containers ask for; returns how many of them go on.
    ///
    /// There may be a million containers and as many lines, so nothing here looks at more of the line than it takes.
    fn match_containers(&mut self, line: &mut Line<'_>) -> usize {
        if line.is_blank() {
            return self.match_blank();
        }
        for (index, container) in self.containers.iter().enumerate() {
            match container {
                Container::Quote => {
                    if !take_quote_mark(line) {
                        return index;
                    }
                    if line.is_blank() {
                        // Nothing but the marks of quotes: what is inside of them meets a blank line.
                        let inner = self.containers[index + 1..].iter().take_while(|inner| inner.takes_blank()).count();
                        return index + 1 + inner;
                    }
                }
                Container::Item { indent, .. } => {
                    let mut ahead = *line;
                    if ahead.take_indent(*indent as usize) < *indent as usize {
                        return index;
                    }
                    *line = ahead;
                }
            }
        }
        self.containers.len()
    }

    /// A blank line continues list items, unless the innermost has nothing in it yet, and ends quotes.
    fn match_blank(&self) -> usize {
        let to_quote = self.first_quote.min(self.containers.len());
        match self.containers[..to_quote].last() {
            Some(Container::Item { empty: true, .. }) => to_quote - 1,
            _ => to_quote,
        }
    }

    /// Adds the line to a fence or HTML block that goes on; returns whether it did.
    fn continue_leaf(&mut self, start: usize, line: Line<'_>) -> bool {
        match self.leaf {
            Leaf::Fence { mark, length } => {
                if closes_fence(line, mark, length) {
                    self.leaf = Leaf::None;
                }
                true
            }
            Leaf::Html(End::Blank) if line.is_blank() => false,
            Leaf::Html(end) => {
                self.add_line(start + line.at, start + line.at + line.rest().len());
                if html::ends(end, line.rest()) {
                    self.close_leaf();
                }
                true
            }
            Leaf::None | Leaf::Paragraph => false,
        }
    }

    /// Opens the containers and the leaf that the line begins, or continues a paragraph.
    fn open_blocks(&mut self, start: usize, mut line: Line<'_>, matched: usize) {
        let all_matched = matched == self.containers.len();
        let mut in_paragraph = self.leaf == Leaf::Paragraph && all_matched;
        let may_be_lazy = self.leaf == Leaf::Paragraph;
        let mut opened = false;
        loop {
            let indent = line.indent();
            if indent >= 4 {
                if may_be_lazy && !opened {
                    break;
                }
                // Indented code: nothing in it counts, and each of its lines is recognised anew.
                self.prepare(matched, opened);
                self.mark_content();
                return;
            }
            let mut ahead = line;
            ahead.take_indent(indent);
            let Some(first) = ahead.peek() else { break };
            match first {
                b'>' => {
                    self.prepare(matched, opened);
                    take_quote_mark(&mut line);
                    self.mark_content();
                    self.first_quote = self.first_quote.min(self.containers.len());
                    self.containers.push(Container::Quote);
                }
                b'#' if is_heading(ahead.rest()) => {
                    self.prepare(matched, opened);
                    self.mark_content();
                    self.leaf = Leaf::Paragraph;
                    self.add_line(start + ahead.at, start + ahead.at + ahead.rest().len());
                    self.close_leaf();
                    return;
                }
                b'`' | b'~' if let Some(length) = opens_fence(ahead.rest(), first) => {
                    self.prepare(matched, opened);
                    self.mark_content();
                    self.leaf = Leaf::Fence { mark: first, length };
                    return;
                }
                b'<' if let Some(end) = html::block_start(ahead.rest(), in_paragraph || may_be_lazy && !opened) => {
                    self.prepare(matched, opened);
                    self.mark_content();
                    self.leaf = Leaf::Html(end);
                    self.add_line(start + line.at, start + line.at + line.rest().len());
                    if html::ends(end, after_opening(ahead.rest(), end)) {
                        self.close_leaf();
                    }
                    return;
                }
                b'=' | b'-' if in_paragraph && is_underline(ahead.rest(), first) => {
                    self.close_leaf();
                    return;
                }
                b'*' | b'-' | b'_' if self.is_break(start + ahead.at, ahead.rest(), first) => {
                    self.prepare(matched, opened);
                    self.mark_content();
                    return;
                }
                _ => {
                    let Some(item) = item_start(ahead, indent, in_paragraph) else { break };
                    self.prepare(matched, opened);
                    self.mark_content();
                    self.items += 1;
                    self.containers.push(Container::Item {
                        indent: item.indent as u32,
                        number: self.items,
                        empty: true,
                    });
                    line = item.rest;
                    if line.is_blank() {
                        return;
                    }
                    if let Some((checkbox, after)) = take_checkbox(line, start) {
                        self.mark_content();
                        self.checkbox = Some(checkbox);
                        self.leaf = Leaf::Paragraph;
                        if !after.is_blank() {
                            self.add_line(start + after.at, start + after.at + after.rest().len());
                        }
                        return;
                    }
                }
            }
            opened = true;
            in_paragraph = false;
            if line.is_blank() {
                return;
            }
        }
        // Text: it continues an open paragraph, even one whose containers the line does not repeat.
        if !may_be_lazy || opened {
            self.prepare(matched, opened);
            self.mark_content();
            self.leaf = Leaf::Paragraph;
        }
        let mut ahead = line;
        ahead.take_indent(usize::MAX);
        self.add_line(start + ahead.at, start + ahead.at + ahead.rest().len());
    }

    /// Whether the rest of a line, which begins at `at`, is a thematic break of `mark`. `- - - x` is asked about at each
    /// of its bullets, and the `x` answers for all of them.
    fn is_break(&mut self, at: usize, rest: &[u8], mark: u8) -> bool {
        if at < self.no_break_before {
            return false;
        }
        match rest.iter().position(|byte| *byte != mark && !matches!(byte, b' ' | b'\t')) {
            Some(other) => {
                self.no_break_before = at + other;
                false
            }
            None => rest.iter().filter(|byte| **byte == mark).take(3).count() == 3,
        }
    }

    /// Closes what the line does not continue, before the first new block of that line.
    fn prepare(&mut self, matched: usize, opened: bool) {
        if !opened {
            self.close_leaf();
            self.truncate(matched);
        }
    }

    fn close_containers(&mut self, matched: usize) {
        if matched < self.containers.len() {
            self.close_leaf();
            self.truncate(matched);
        }
    }

    fn truncate(&mut self, containers: usize) {
        self.containers.truncate(containers);
        if self.first_quote >= containers {
            self.first_quote = usize::MAX;
        }
    }

    /// The innermost item has content now.
    fn mark_content(&mut self) {
        if let Some(Container::Item { empty, .. }) = self.containers.last_mut() {
            *empty = false;
        }
    }

    fn add_line(&mut self, from: usize, to: usize) {
        // A block with a box is handed over in any case.
        let matters = self.has_comment || self.checkbox.is_some();
        self.has_comment = matters || html::find_comment(&self.text[from..to]).is_some();
        self.lines.push(from..to);
    }

    fn close_leaf(&mut self) {
        let kind = match self.leaf {
            Leaf::Paragraph => Some(BlockKind::Text),
            // Comments inside an element whose content is not HTML are not comments.
            Leaf::Html(End::Text(b"-->") | End::Blank) => Some(BlockKind::Html),
            Leaf::Html(_) | Leaf::Fence { .. } | Leaf::None => None,
        };
        if let Some(kind) = kind.filter(|_| self.has_comment || self.checkbox.is_some()) {
            let number = |container: &Container| match container {
                Container::Item { number, .. } => Some(*number as usize),
                Container::Quote => None,
            };
            let item = self.containers.iter().rev().find_map(number).unwrap_or(0);
            self.visit.block(&Block {
                lines: &self.lines,
                checkbox: self.checkbox,
                item,
                kind,
                continues: self.continues,
            });
        }
        self.leaf = Leaf::None;
        self.lines.clear();
        self.checkbox = None;
        self.has_comment = false;
        self.continues = false;
    }
}

/// Where the marker and its id are in a line that begins with `- [ ] ` and ends with a TASK marker, when nothing
/// between them could make it something else: no backtick, backslash or other `<`.
fn plain_marker(line: &[u8]) -> Option<(usize, Range<usize>)> {
    const OPENING: &[u8] = b"<!-- TASK: ";
    let body = line.strip_suffix(b" -->")?;
    let marker = memchr::memrchr(b'<', body)?;
    let id = body[marker..].strip_prefix(OPENING)?;
    let text = line.get(6..marker)?;
    let good_id = !id.is_empty() && id.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    let good_text = text.first().is_some_and(|byte| byte.is_ascii_graphic());
    let plain = good_id && good_text && memchr::memchr3(b'`', b'\\', b'<', text).is_none();
    plain.then_some((marker, marker + OPENING.len()..body.len()))
}

struct ItemStart<'t> {
    indent: usize,
    rest: Line<'t>,
}

/// Recognises `-`, `*`, `+`, `1.` and `1)`; `line` stands behind its indentation.
fn item_start(line: Line<'_>, outer_indent: usize, in_paragraph: bool) -> Option<ItemStart<'_>> {
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
fn take_checkbox(line: Line<'_>, start: usize) -> Option<(Checkbox, Line<'_>)> {
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

fn take_quote_mark(line: &mut Line<'_>) -> bool {
    let mut ahead = *line;
    if ahead.take_indent(4) > 3 || ahead.peek() != Some(b'>') {
        return false;
    }
    ahead.take(1);
    ahead.take_indent(1);
    *line = ahead;
    true
}

fn is_heading(rest: &[u8]) -> bool {
    let level = rest.iter().take_while(|byte| **byte == b'#').count();
    level <= 6 && matches!(rest.get(level), None | Some(b' ' | b'\t'))
}

/// Whether the line is a setext underline of `mark`.
fn is_underline(rest: &[u8], mark: u8) -> bool {
    let length = rest.iter().take_while(|byte| **byte == mark).count();
    rest[length..].iter().all(|byte| matches!(byte, b' ' | b'\t'))
}

fn opens_fence(rest: &[u8], mark: u8) -> Option<usize> {
    let length = rest.iter().take_while(|byte| **byte == mark).count();
    let clean = mark == b'~' || memchr::memchr(b'`', &rest[length..]).is_none();
    (length >= 3 && clean).then_some(length)
}

fn closes_fence(mut line: Line<'_>, mark: u8, length: usize) -> bool {
    if line.take_indent(4) > 3 {
        return false;
    }
    let rest = line.rest();
    let found = rest.iter().take_while(|byte| **byte == mark).count();
    found >= length && rest[found..].iter().all(|byte| matches!(byte, b' ' | b'\t'))
}

/// What of an HTML block's first line may end it: a comment's own `<!--` does not count as its end.
fn after_opening(rest: &[u8], end: End) -> &[u8] {
    match end {
        End::Text(b"-->") => &rest[2..],
        End::Text(_) => &rest[2..],
        End::RawElement | End::Blank => rest,
    }
}
