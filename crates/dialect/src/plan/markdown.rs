//! As much of CommonMark as decides what is code, what is a comment and what is a checkbox.
//!
//! Checkboxes and markers count only where a renderer would show them as such: not in code, not in another
//! comment. A full Markdown parser answers that too, but takes several times as long, and a plan is read
//! again after every edit. This one follows the block structure of CommonMark 0.31 (containers, fences,
//! indented code, HTML blocks, lazy continuation) and looks at inline text only where a comment may be. It
//! reads each byte a bounded number of times, whatever the text. Tests compare it with pulldown-cmark.

mod blocks;
mod html;
mod inline;
mod line;
mod starts;

use std::ops::Range;

pub use blocks::scan;

/// Takes what [`scan`] finds, in the order of the text.
pub trait Visit {
    /// A task in the plainest form, alone on its line.
    fn plain_task(&mut self, task: PlainTask);
    /// Any other block that may hold markers.
    fn block(&mut self, block: &Block<'_>);
    /// A heading outside of all lists and quotes. A comment in it comes as a block as well.
    fn heading(&mut self, _heading: Heading) {}
}

/// A heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// 1 for the outermost.
    pub level: usize,
    /// Its text, with the marks that make it a heading.
    pub text: Range<usize>,
    /// Where its last line ends.
    pub end: usize,
}

/// `- [ ] text <!-- TASK: id -->` at the left margin, with nothing in the text that could hide the marker. Large
/// plans consist of these, so they are taken apart at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainTask {
    /// Its box.
    pub checkbox: Checkbox,
    /// Where the marker begins, and its text ends.
    pub marker: usize,
    /// Where the id begins.
    pub id_start: usize,
    /// Where the id ends.
    pub id_end: usize,
    /// The list item.
    pub item: usize,
}

/// The part of a document that may hold markers: text with a checkbox or a comment in it.
#[derive(Debug)]
pub struct Block<'a> {
    /// The lines of the block without what belongs to lists and quotes around it.
    pub lines: &'a [Range<usize>],
    /// The checkbox that the block begins with.
    pub checkbox: Option<Checkbox>,
    /// The list item that holds it: a number that no other item has, or 0 outside of all lists.
    pub item: usize,
    /// Whether it is text or raw HTML.
    pub kind: BlockKind,
    /// Whether it goes on with the paragraph of the [`PlainTask`] before it.
    pub continues: bool,
}

/// What a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// A paragraph or heading, in which code spans hide comments.
    Text,
    /// Raw HTML, in which nothing does.
    Html,
}

/// `[ ]`, `[x]` or `[X]` at the beginning of a list item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkbox {
    /// Where the character between the brackets is: ticking the box changes this byte.
    pub at: usize,
    /// Whether it is ticked.
    pub ticked: bool,
}

/// Finds the comments of a block and hands over where each is, from `<!--` to `-->`, and what stands between.
/// Returns whether the last one does not end.
pub fn comments(text: &str, block: &Block<'_>, visit: &mut dyn FnMut(Range<usize>, &str)) -> bool {
    // Nearly every block is one line, which needs no joining.
    if let [line] = block.lines {
        let body = &text[line.clone()];
        return in_body(body, block.kind, &mut |range| {
            visit(line.start + range.start..line.start + range.end, inner(body, range));
        });
    }
    let mut body = String::new();
    let mut starts = Vec::with_capacity(block.lines.len());
    for line in block.lines {
        starts.push((body.len(), line.start));
        body.push_str(&text[line.clone()]);
        body.push('\n');
    }
    let to_text = |at: usize| {
        let (from, start) = starts[starts.partition_point(|(from, _)| *from <= at) - 1];
        start + (at - from)
    };
    in_body(&body, block.kind, &mut |range| {
        visit(to_text(range.start)..to_text(range.end - 1) + 1, inner(&body, range));
    })
}

fn in_body(body: &str, kind: BlockKind, visit: &mut dyn FnMut(Range<usize>)) -> bool {
    match kind {
        BlockKind::Text => {
            inline::comments(body, visit);
            false
        }
        BlockKind::Html => html::comments(body, visit),
    }
}

fn inner(body: &str, range: Range<usize>) -> &str {
    body.get(range.start + 4..range.end - 3).unwrap_or("")
}

#[cfg(test)]
mod tests;
