use std::fmt;

use piton_model::Digest;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::splice::Text;
use super::writing::Writing;
use super::{Entry, Head};

/// What is written before the checksum, which ends every line.
const SUM: &str = ",\"sum\":\"";

/// A digest of a document or of a line: half of a SHA-256, as hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Hash(String);

impl Hash {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Hash {
        Hash::finished(Sha256::new_with_prefix(bytes))
    }

    /// The digest of all bytes that a computation has seen.
    pub(crate) fn finished(hasher: Sha256) -> Hash {
        let digest = hasher.finalize();
        Hash::from(Digest(std::array::from_fn(|place| digest[place])))
    }

    /// The same as a value.
    pub fn digest(&self) -> Digest {
        let mut bytes = [0; 16];
        for (byte, digits) in bytes.iter_mut().zip(self.0.as_bytes().chunks(2)) {
            let digit = |digit: u8| char::from(digit).to_digit(16).unwrap_or(0) as u8;
            *byte = digit(digits[0]) << 4 | digit(digits[1]);
        }
        Digest(bytes)
    }

    pub(crate) fn parse(text: &str) -> Option<Hash> {
        let is_digest = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_digest.then(|| Hash(text.to_owned()))
    }

    /// Its digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Digest> for Hash {
    fn from(digest: Digest) -> Hash {
        Hash(hexadecimal(&digest.0))
    }
}

/// Bytes as hexadecimal digits.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |digit: u8| char::from(b"0123456789abcdef"[usize::from(digit)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A line of a journal.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// Whose journal it is.
    Head(Head),
    /// All of a document, for the event that follows.
    Snapshot {
        /// The document.
        path: String,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// Something happened.
    Event(Box<Entry>),
}

/// A line that was read, and the checksums it carries.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Parsed {
    pub line: Line,
    /// The checksum of the line before.
    pub previous: Option<Hash>,
    pub sum: Hash,
}

/// The first line of a journal, with its end, and its checksum.
pub(crate) fn seal_head(head: &Head) -> (Vec<u8>, Hash) {
    seal(None, |out| head.write_to(out))
}

/// The line of an event, behind the one that has the checksum `previous`.
pub(crate) fn seal_event(entry: &Entry, previous: Option<&Hash>) -> (Vec<u8>, Hash) {
    seal(previous, |out| entry.write_to(out))
}

/// The line that holds all of a document.
pub(crate) fn seal_snapshot(path: &str, bytes: &[u8], previous: Option<&Hash>) -> (Vec<u8>, Hash) {
    seal(previous, |out| {
        out.begin_object();
        out.text("snapshot", path).value("text", &Text(bytes));
    })
}

fn seal(previous: Option<&Hash>, write: impl FnOnce(&mut Writing)) -> (Vec<u8>, Hash) {
    let mut out = Writing::default();
    write(&mut out);
    out.hash("previous", previous);
    let mut text = out.into_bytes();
    let sum = Hash::of(&text);
    text.extend_from_slice(SUM.as_bytes());
    text.extend_from_slice(sum.as_str().as_bytes());
    text.extend_from_slice(b"\"}\n");
    (text, sum)
}

/// Reads a line without its end; nothing when it is torn, changed or unknown.
pub(crate) fn parse_line(bytes: &[u8]) -> Option<Parsed> {
    let body = &bytes[..bytes.len().checked_sub(SUM.len() + 32 + 2)?];
    parse_unsummed(bytes).filter(|parsed| parsed.sum == Hash::of(body))
}

/// The same, when something else tells whether it was changed: its sum is not looked at.
pub(crate) fn parse_unsummed(bytes: &[u8]) -> Option<Parsed> {
    let body = bytes.strip_suffix(b"\"}")?;
    let at = body.len().checked_sub(32 + SUM.len())?;
    let sum = body[at..].strip_prefix(SUM.as_bytes())?;
    let sum = Hash::parse(std::str::from_utf8(sum).ok()?)?;
    let Value::Object(mut object) = serde_json::from_slice(bytes).ok()? else { return None };
    let previous = match object.get("previous")? {
        Value::Null => None,
        text => Some(Hash::parse(text.as_str()?)?),
    };
    let line = if object.contains_key("piton") {
        Line::Head(Head::from_json(&object)?)
    } else if object.contains_key("snapshot") {
        let bytes = super::splice::text_out_of_json(object.remove("text")?)?;
        Line::Snapshot { path: object.get("snapshot")?.as_str()?.to_owned(), bytes }
    } else {
        Line::Event(Box::new(Entry::from_json(&object)?))
    };
    Some(Parsed { line, previous, sum })
}
