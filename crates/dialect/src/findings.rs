use std::cell::OnceCell;
use std::sync::Arc;

use piton_model::text::counted;
use piton_model::{Code, Finding, Place, seek};

use crate::codes;

/// How many findings of one document are listed. A hostile file must not cost a line of output per byte.
const MOST: usize = 200;

/// Collects findings about one document.
pub struct Findings<'a> {
    path: Arc<str>,
    text: &'a str,
    line_starts: OnceCell<Vec<u32>>,
    list: Vec<Finding>,
    dropped: usize,
}

impl<'a> Findings<'a> {
    /// A collector for the document at `path`; `text` is what offsets refer to.
    pub fn new(path: Arc<str>, text: &'a str) -> Findings<'a> {
        Findings { path, text, line_starts: OnceCell::new(), list: Vec::new(), dropped: 0 }
    }

    /// Adds a finding about the document as a whole.
    pub fn whole(&mut self, code: &'static Code, message: impl Into<String>) {
        self.push(code, None, message.into());
    }

    /// Adds a finding about the byte at `offset`.
    pub fn at(&mut self, offset: usize, code: &'static Code, message: impl Into<String>) {
        let line = self.line(offset);
        self.push(code, Some(line), message.into());
    }

    /// Adds a finding about a line, counted from 1.
    pub fn on_line(&mut self, line: u32, code: &'static Code, message: impl Into<String>) {
        self.push(code, Some(line), message.into());
    }

    /// The line, counted from 1, that holds the byte at `offset`.
    pub fn line(&self, offset: usize) -> u32 {
        let starts = self.line_starts.get_or_init(|| {
            let after_breaks = seek::bytes(b'\n', self.text.as_bytes()).map(|at| at as u32 + 1);
            std::iter::once(0).chain(after_breaks).collect()
        });
        starts.partition_point(|start| *start as usize <= offset) as u32
    }

    /// The text that offsets refer to.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The one finding about a document of another tool: what else is odd in it is not ours to judge.
    pub fn foreign(mut self, message: impl Into<String>) -> Vec<Finding> {
        self.list.clear();
        self.dropped = 0;
        self.whole(&codes::FOREIGN, message);
        self.list
    }

    /// The findings, in the order of their lines.
    pub fn finish(mut self) -> Vec<Finding> {
        self.list.sort_by_key(|finding| finding.place.line);
        if self.dropped > 0 {
            let message = format!(
                "{} not listed",
                counted(self.dropped, "more finding in this document is", "more findings in this document are")
            );
            self.list.push(Finding { code: &codes::MORE_FINDINGS, place: self.place(None), message });
        }
        self.list
    }

    fn push(&mut self, code: &'static Code, line: Option<u32>, message: String) {
        if self.list.len() < MOST {
            self.list.push(Finding { code, place: self.place(line), message });
        } else {
            self.dropped += 1;
        }
    }

    fn place(&self, line: Option<u32>) -> Place {
        Place { path: Arc::clone(&self.path), line }
    }
}
