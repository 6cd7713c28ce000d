use std::ops::Range;

use piton_model::seek;

use super::html::{self, End};
use super::line::Line;
use super::starts::{
    after_opening, closes_fence, is_heading, is_underline, item_start, opens_fence, plain_marker, take_checkbox,
    take_quote_mark,
};
use super::{Block, BlockKind, Checkbox, Heading, PlainTask, Visit};

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
        let length = seek::either([b'\n', b'\r'], &text.as_bytes()[start..]).unwrap_or(text.len() - start);
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

/// A line whose blocks are being opened.
struct Opening<'t> {
    start: usize,
    line: Line<'t>,
    /// How many containers the line continues.
    matched: usize,
    /// Whether it has opened a container itself.
    opened: bool,
    /// Whether a paragraph is open that plain text would continue.
    may_be_lazy: bool,
    /// Whether what comes next stands in that paragraph itself.
    in_paragraph: bool,
}

/// What a part of a line has opened.
enum Opened {
    Container,
    Leaf,
    Nothing,
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
    fn open_blocks(&mut self, start: usize, line: Line<'_>, matched: usize) {
        let is_open = self.leaf == Leaf::Paragraph;
        let in_paragraph = is_open && matched == self.containers.len();
        let mut opening = Opening { start, line, matched, opened: false, may_be_lazy: is_open, in_paragraph };
        loop {
            match self.open_one(&mut opening) {
                Opened::Container if opening.line.is_blank() => return,
                Opened::Container => {
                    opening.opened = true;
                    opening.in_paragraph = false;
                }
                Opened::Leaf => return,
                Opened::Nothing => break,
            }
        }
        // Text: it continues an open paragraph, even one whose containers the line does not repeat.
        if !opening.may_be_lazy || opening.opened {
            self.prepare(&opening);
            self.leaf = Leaf::Paragraph;
        }
        let mut ahead = opening.line;
        ahead.take_indent(usize::MAX);
        self.add_line(start + ahead.at, start + ahead.at + ahead.rest().len());
    }

    /// Opens the next container or the leaf that the line begins, if it begins one.
    fn open_one(&mut self, opening: &mut Opening<'_>) -> Opened {
        let start = opening.start;
        let indent = opening.line.indent();
        if indent >= 4 {
            if opening.may_be_lazy && !opening.opened {
                return Opened::Nothing;
            }
            // Indented code: nothing in it counts, and each of its lines is recognised anew.
            self.prepare(opening);
            return Opened::Leaf;
        }
        let mut ahead = opening.line;
        ahead.take_indent(indent);
        let Some(first) = ahead.peek() else { return Opened::Nothing };
        let after_text = opening.in_paragraph || opening.may_be_lazy && !opening.opened;
        match first {
            b'>' => {
                self.prepare(opening);
                take_quote_mark(&mut opening.line);
                self.first_quote = self.first_quote.min(self.containers.len());
                self.containers.push(Container::Quote);
                return Opened::Container;
            }
            b'#' if is_heading(ahead.rest()) => {
                self.prepare(opening);
                let line = start + ahead.at..start + ahead.at + ahead.rest().len();
                let level = ahead.rest().iter().take_while(|byte| **byte == b'#').count();
                self.heading(level, line.clone(), line.end);
                self.leaf = Leaf::Paragraph;
                self.add_line(line.start, line.end);
                self.close_leaf();
            }
            b'`' | b'~' if let Some(length) = opens_fence(ahead.rest(), first) => {
                self.prepare(opening);
                self.leaf = Leaf::Fence { mark: first, length };
            }
            b'<' if let Some(end) = html::block_start(ahead.rest(), after_text) => {
                self.prepare(opening);
                self.leaf = Leaf::Html(end);
                let line = opening.line;
                self.add_line(start + line.at, start + line.at + line.rest().len());
                if html::ends(end, after_opening(ahead.rest(), end)) {
                    self.close_leaf();
                }
            }
            b'=' | b'-' if opening.in_paragraph && is_underline(ahead.rest(), first) => {
                if let (Some(from), Some(to)) = (self.lines.first(), self.lines.last()) {
                    let level = if first == b'=' { 1 } else { 2 };
                    self.heading(level, from.start..to.end, start + ahead.at + ahead.rest().len());
                }
                self.close_leaf();
            }
            b'*' | b'-' | b'_' if self.is_break(start + ahead.at, ahead.rest(), first) => self.prepare(opening),
            _ => return self.open_item(opening, ahead, indent),
        }
        Opened::Leaf
    }

    fn heading(&mut self, level: usize, text: Range<usize>, end: usize) {
        if self.containers.is_empty() {
            self.visit.heading(Heading { level, text, end });
        }
    }

    /// Opens a list item, and the paragraph that begins with its checkbox.
    fn open_item<'t>(&mut self, opening: &mut Opening<'t>, ahead: Line<'t>, indent: usize) -> Opened {
        let Some(item) = item_start(ahead, indent, opening.in_paragraph) else { return Opened::Nothing };
        self.prepare(opening);
        self.items += 1;
        self.containers.push(Container::Item { indent: item.indent as u32, number: self.items, empty: true });
        opening.line = item.rest;
        let Some((checkbox, after)) = take_checkbox(item.rest, opening.start) else { return Opened::Container };
        self.mark_content();
        self.checkbox = Some(checkbox);
        self.leaf = Leaf::Paragraph;
        if !after.is_blank() {
            self.add_line(opening.start + after.at, opening.start + after.at + after.rest().len());
        }
        Opened::Leaf
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

    /// Makes room for a new block: before the first one of a line, what the line does not continue is closed. The block
    /// is content of the item around it.
    fn prepare(&mut self, opening: &Opening<'_>) {
        if !opening.opened {
            self.close_leaf();
            self.truncate(opening.matched);
        }
        self.mark_content();
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
