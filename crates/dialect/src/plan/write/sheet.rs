//! One file of a plan: its text as it was lent, and the ticks in it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use piton_model::{Digest, Edit, Effect, Refusal};

use super::super::{Parsed, parse};
use super::beside::{LARGE, beside};
use crate::digest::digest_of;
use crate::{Files, Findings};

/// One file of a plan. A hundred thousand boxes are megabytes, so its text is lent and ticks are kept beside it.
pub(in crate::plan) struct Sheet<'f> {
    path: String,
    /// All of its text, with the byte order mark when it has one, but for the ticks.
    text: Cow<'f, str>,
    /// How long that mark is.
    start: usize,
    pub parsed: Parsed,
    /// The boxes that are not as the text has them: where each one's byte is, and whether it is ticked now.
    ticks: BTreeMap<usize, bool>,
    /// Whether the text is another one than that of the file.
    is_rewritten: bool,
    /// What the file is to hold, and whether it can be edited; known when it was asked for.
    now: OnceLock<(Digest, bool)>,
}

impl<'f> Sheet<'f> {
    /// How many boxes have no marker, are open, and are no detail of the box above them.
    pub fn open_unmarked(&self) -> usize {
        let text = self.text.get(self.start..).unwrap_or_default();
        self.parsed.unmarked.iter().filter(|found| found.is_open(text)).count()
    }

    /// Reads and parses a file; nothing when it is missing or is no text.
    pub fn open(path: &str, files: &'f dyn Files) -> Result<Option<Sheet<'f>>, Refusal> {
        let Some(text) = files.look(path)?.and_then(text_of) else { return Ok(None) };
        let parsed = parsed(&text);
        Ok(Some(Sheet::new(path.to_owned(), text, parsed)))
    }

    /// The same with its digest, which takes as long as starting a hundred threads where nobody has it yet.
    pub fn open_summed(path: &str, files: &'f dyn Files) -> Result<Option<Sheet<'f>>, Refusal> {
        let Some(text) = files.look(path)?.and_then(text_of) else { return Ok(None) };
        let known = files.digest(path, &[]);
        let sum = || known.unwrap_or_else(|| digest_of([text.as_bytes()]));
        let (digest, parsed) = beside(files, known.is_none() && text.len() >= LARGE, sum, || parsed(&text));
        let sheet = Sheet::new(path.to_owned(), text, parsed);
        let _ = sheet.now.set((digest, known.is_some()));
        Ok(Some(sheet))
    }

    /// The file with another text, which has been read.
    pub fn rewritten(&self, body: &str) -> Sheet<'f> {
        let text = format!("{}{body}", &self.text[..self.start]);
        let parsed = parsed(&text);
        Sheet { is_rewritten: true, ..Sheet::new(self.path.clone(), text.into(), parsed) }
    }

    /// Whether work on it is worth a second core.
    pub fn is_large(&self) -> bool {
        self.text.len() >= LARGE
    }

    fn new(path: String, text: Cow<'f, str>, parsed: Parsed) -> Sheet<'f> {
        let start = mark_length(&text);
        Sheet { path, text, start, parsed, ticks: BTreeMap::new(), is_rewritten: false, now: OnceLock::new() }
    }

    /// The text that the offsets of marks refer to, but for the ticks.
    pub fn body(&self) -> &str {
        &self.text[self.start..]
    }

    /// Ticks or unticks a box.
    pub fn tick(&mut self, at: usize, ticked: bool) {
        let was_ticked = matches!(self.body().as_bytes()[at], b'x' | b'X');
        match was_ticked == ticked {
            true => drop(self.ticks.remove(&(self.start + at))),
            false => drop(self.ticks.insert(self.start + at, ticked)),
        }
        self.now = OnceLock::new();
    }

    fn edits(&self) -> Vec<Edit> {
        let edit = |(at, ticked): (&usize, &bool)| Edit {
            at: *at,
            removed: 1,
            inserted: if *ticked { b"x" } else { b" " }.to_vec(),
        };
        self.ticks.iter().map(edit).collect()
    }

    /// What the file is to hold, and whether it can be edited.
    pub fn now(&self, files: Option<&dyn Files>) -> (Digest, bool) {
        *self.now.get_or_init(|| {
            let edits = self.edits();
            let known = files.filter(|_| !self.is_rewritten).and_then(|files| files.digest(&self.path, &edits));
            known.map_or_else(|| (digest_of(self.parts(&edits)), false), |digest| (digest, true))
        })
    }

    fn parts<'s>(&'s self, edits: &'s [Edit]) -> Vec<&'s [u8]> {
        Edit::parts(self.text.as_bytes(), edits).expect("boxes are in the text, one behind the other")
    }

    /// What happens to the file; nothing when it stays.
    pub fn effect(self, files: Option<&dyn Files>) -> Option<Effect> {
        if self.ticks.is_empty() && !self.is_rewritten {
            return None;
        }
        let edits = self.edits();
        Some(match self.now(files) {
            (digest, true) => Effect::Edit { path: self.path, edits, digest: Some(digest) },
            (_, false) => {
                let bytes = self.parts(&edits).concat();
                Effect::Write { path: self.path, bytes }
            }
        })
    }
}

/// Bytes as text, lent as they were.
fn text_of(bytes: Cow<'_, [u8]>) -> Option<Cow<'_, str>> {
    match bytes {
        Cow::Borrowed(bytes) => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
        Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
    }
}

/// What a text says, without its byte order mark.
fn parsed(text: &str) -> Parsed {
    let body = &text[mark_length(text)..];
    parse(body, &mut Findings::new("".into(), body))
}

/// How long the byte order mark of a text is.
fn mark_length(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}
