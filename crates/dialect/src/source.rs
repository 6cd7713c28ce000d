use std::sync::Arc;

use piton_model::{Document, Finding, Role, Said, Sign, Source as SignSource, Time, Unit, secret};

use crate::json::{self, Json, Kind, Problem};
use crate::{Findings, codes};

/// A document's bytes, and where they come from.
#[derive(Debug, Clone)]
pub struct Source<'a> {
    /// The path to show, relative to the workspace where it is inside.
    pub path: Arc<str>,
    /// What the file holds.
    pub bytes: &'a [u8],
    /// When it was last written.
    pub modified: Option<Time>,
}

impl Source<'_> {
    /// The reference that a unit keeps to this document.
    pub fn document(&self, role: Role) -> Document {
        Document { path: Arc::clone(&self.path), role, modified: self.modified }
    }

    /// The path's last part.
    pub fn file_name(&self) -> &str {
        // Names are short, and a search for a pattern takes longer to begin than to end.
        let start = self.path.bytes().rposition(|byte| byte == b'/').map_or(0, |at| at + 1);
        &self.path[start..]
    }

    /// The file's own time as a sign of life.
    pub fn file_time(&self) -> Option<Sign> {
        self.modified.map(|at| Sign { source: SignSource::FileTime, said: Said::At(at) })
    }
}

/// How much of a unit is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// What a line about it needs: where it stands, but not its steps, files and notes.
    Line,
    /// Everything.
    Full,
}

/// What a document says.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// The unit, when the document is readable and belongs to the dialect.
    pub unit: Option<Unit>,
    /// Everything odd about it.
    pub findings: Vec<Finding>,
}

/// Opens a document as text: UTF-8, with a byte order mark skipped. Offsets in the findings are offsets in
/// the text that is returned.
pub fn open_text<'a>(source: &Source<'a>) -> (Option<&'a str>, Findings<'a>) {
    let bytes = source.bytes;
    let (body, marked) = match bytes.strip_prefix(b"\xef\xbb\xbf") {
        Some(body) => (body, true),
        None => (bytes, false),
    };
    match std::str::from_utf8(body) {
        Ok(text) => {
            let mut findings = Findings::new(Arc::clone(&source.path), text);
            if marked {
                findings.at(0, &codes::BYTE_ORDER_MARK, "the text begins with a byte order mark");
            }
            for range in secret::find(text) {
                findings.at(
                    range.start,
                    &codes::SECRET,
                    format!("this looks like a credential: {}…", &text[range.start..range.start + 4]),
                );
            }
            (Some(text), findings)
        }
        Err(error) => {
            let good = std::str::from_utf8(&body[..error.valid_up_to()]).expect("valid up to there");
            let mut findings = Findings::new(Arc::clone(&source.path), good);
            let utf16 = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
            let message =
                if utf16 { "the text is UTF-16, not UTF-8" } else { "the text is not valid UTF-8 from here on" };
            findings.at(good.len(), &codes::NOT_UTF8, message);
            (None, findings)
        }
    }
}

/// Opens a document as a JSON object, with findings for all that is odd about it as JSON.
pub fn open_json<'a>(source: &Source<'a>) -> (Option<Json<'a>>, Findings<'a>) {
    let (text, mut findings) = open_text(source);
    let Some(text) = text else { return (None, findings) };
    let mut json = match json::parse(text) {
        Ok(json) => json,
        Err(error) => {
            let nul = error.problem == Problem::Expected("a value") && text.as_bytes().iter().all(|byte| *byte == 0);
            let message = if nul {
                "the file holds nothing but NUL bytes; it was probably torn".to_owned()
            } else {
                error.problem.to_string()
            };
            findings.at(error.at, &codes::NOT_JSON, message);
            return (None, findings);
        }
    };
    if json.root().kind() != Kind::Object {
        findings.at(json.root().span().start, &codes::NOT_AN_OBJECT, format!("the document is {}", json.root().kind()));
        return (None, findings);
    }
    for key in json::repeated_keys(&mut json) {
        let message = format!("the key {} stands twice in one object", &text[key.clone()]);
        findings.at(key.start, &codes::REPEATED_KEY, message);
    }
    if let Some(string) = json::first_lone_surrogate(&json) {
        findings.at(string.span().start, &codes::LONE_SURROGATE, "a string holds half of a surrogate pair");
    }
    if let Some(number) = json::first_huge_number(&json) {
        let spelled: String = number.raw().chars().take(20).collect();
        findings.at(number.span().start, &codes::HUGE_NUMBER, format!("a number is {spelled}"));
    }
    (Some(json), findings)
}
