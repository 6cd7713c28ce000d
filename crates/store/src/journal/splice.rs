use piton_model::Edit;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::line::hexadecimal;
use super::writing::Writing;

/// How one text became another: at some places bytes went, and others came.
///
/// A state of megabytes changes at its beginning, at its end and somewhere between, by some bytes each; all that lies
/// between those places is not written down again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    /// The places, in order.
    pub pieces: Vec<Edit>,
}

/// More places than these are one.
const MOST_PIECES: usize = 64;

/// How many lines are looked through for the place where two texts agree again, and how many bytes at most.
const WINDOW: usize = 64;
const WINDOW_BYTES: usize = 64 * 1024;

/// For how many bytes they have to agree there: a line of JSON may be nothing but a bracket.
const AGREED: usize = 64;

impl Splice {
    /// What turns `before` into `after`.
    pub fn between(before: &[u8], after: &[u8]) -> Splice {
        let start = common_start(before, after);
        let tail = common_end(&before[start..], &after[start..]);
        let (before, after) = (&before[..before.len() - tail], &after[..after.len() - tail]);
        let mut pieces = Vec::new();
        let (mut from, mut to) = (start, start);
        while from < before.len() || to < after.len() {
            let is_last = pieces.len() + 1 == MOST_PIECES;
            let (removed, length) = match where_they_agree(&before[from..], &after[to..]) {
                Some(place) if !is_last => place,
                _ => (before.len() - from, after.len() - to),
            };
            pieces.push(Edit { at: from, removed, inserted: after[to..to + length].to_vec() });
            let same = common_start(&before[from + removed..], &after[to + length..]);
            (from, to) = (from + removed + same, to + length + same);
        }
        Splice { pieces }
    }

    /// Edits as they are, where they are few.
    pub(crate) fn of(edits: &[Edit]) -> Option<Splice> {
        (edits.len() <= MOST_PIECES).then(|| Splice { pieces: edits.to_vec() })
    }

    /// Turns a text into the one after it, and says whether it fits: where it does not, the text is spoilt.
    pub(crate) fn apply_to(&self, text: &mut Vec<u8>) -> bool {
        // From the end: what lies before is where it was.
        let mut next = text.len();
        for Edit { at, removed, inserted } in self.pieces.iter().rev() {
            match at.checked_add(*removed) {
                Some(end) if end <= next && removed == &inserted.len() => text[*at..end].copy_from_slice(inserted),
                Some(end) if end <= next => drop(text.splice(*at..end, inserted.iter().copied())),
                Some(_) | None => return false,
            }
            next = *at;
        }
        true
    }

    /// The text after it; nothing when it does not fit.
    pub fn apply(&self, before: &[u8]) -> Option<Vec<u8>> {
        Edit::parts(before, &self.pieces).map(|parts| parts.concat())
    }

    /// About how many bytes it takes to write it down.
    pub fn weight(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.inserted.len() as u64 + 64).sum::<u64>().max(64)
    }

    pub(crate) fn from_json(value: &Value) -> Option<Splice> {
        let number = |value: &Value| usize::try_from(value.as_u64()?).ok();
        let piece = |value: &Value| {
            let [at, removed, inserted] = value.as_array()?.as_slice() else { return None };
            Some(Edit { at: number(at)?, removed: number(removed)?, inserted: text_from_json(inserted)? })
        };
        Some(Splice { pieces: value.as_array()?.iter().map(piece).collect::<Option<_>>()? })
    }
}

/// Writes one place of a splice down.
pub(crate) fn write_piece(piece: &Edit, out: &mut Writing) {
    out.begin_list();
    out.item(&piece.at).item(&piece.removed).item(&Text(&piece.inserted));
    out.end_list();
}

/// How far it is, in both texts, to the nearest beginning of a line from which on they agree for a while.
fn where_they_agree(before: &[u8], after: &[u8]) -> Option<(usize, usize)> {
    // Looking costs more than it saves in what is short.
    if before.len() <= AGREED || after.len() <= AGREED {
        return None;
    }
    let (old, new) = (line_starts(before), line_starts(after));
    if old.is_empty() || new.is_empty() {
        return None;
    }
    for sum in 0..old.len() + new.len() - 1 {
        let first = sum.saturating_sub(new.len() - 1);
        for place in first..=sum.min(old.len() - 1) {
            let (a, b) = (old[place], new[sum - place]);
            if before[a..].get(..AGREED).is_some_and(|agreed| after[b..].starts_with(agreed)) {
                return Some((a, b));
            }
        }
    }
    None
}

/// Where the next lines begin.
fn line_starts(text: &[u8]) -> Vec<usize> {
    let ends = text.iter().take(WINDOW_BYTES).enumerate().filter(|(_, byte)| **byte == b'\n');
    ends.map(|(end, _)| end + 1).take(WINDOW).collect()
}

/// Bytes in JSON: a text where they are one, else their hexadecimal digits in a list.
pub(crate) struct Text<'b>(pub &'b [u8]);

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => [hexadecimal(self.0)].serialize(serializer),
        }
    }
}

pub(crate) fn text_from_json(value: &Value) -> Option<Vec<u8>> {
    if let Some(text) = value.as_str() {
        return Some(text.as_bytes().to_vec());
    }
    bytes_from_digits(value)
}

/// The same, of a text that nobody else needs.
pub(crate) fn text_out_of_json(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::String(text) => Some(text.into_bytes()),
        value => bytes_from_digits(&value),
    }
}

fn bytes_from_digits(value: &Value) -> Option<Vec<u8>> {
    let digits = value.as_array()?.first()?.as_str()?.as_bytes();
    let pairs = digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    pairs.collect()
}

/// How many bytes agree from the start. Blocks are compared first: large documents mostly differ in one byte.
pub(crate) fn common_start(a: &[u8], b: &[u8]) -> usize {
    let blocks = a.chunks_exact(BLOCK).zip(b.chunks_exact(BLOCK)).take_while(|(a, b)| a == b).count() * BLOCK;
    blocks + a[blocks..].iter().zip(&b[blocks..]).take_while(|(a, b)| a == b).count()
}

/// How many bytes agree at the end.
pub(crate) fn common_end(a: &[u8], b: &[u8]) -> usize {
    let blocks = a.rchunks_exact(BLOCK).zip(b.rchunks_exact(BLOCK)).take_while(|(a, b)| a == b).count() * BLOCK;
    let (a, b) = (&a[..a.len() - blocks], &b[..b.len() - blocks]);
    blocks + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

const BLOCK: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_splice_turns_one_text_into_the_other() {
        let long = "x".repeat(3 * BLOCK);
        let ticked = format!("{}y{}", &long[..5000], &long[5001..]);
        let lines: Vec<String> = (0..2000).map(|number| format!("  \"number\": {number},\n")).collect();
        let (all, without_some) = (lines.concat(), [&lines[..700], &lines[702..]].concat().concat());
        let changed = all.replace("7,\n", "seven,\n").replace(": 1999", ":\n\n\n1999");
        for (before, after) in [
            ("", ""),
            ("", "a"),
            ("a", ""),
            ("aa", "a"),
            ("a", "aa"),
            ("aba", "aa"),
            ("abcabc", "abc"),
            ("- [ ] x", "- [x] x"),
            ("ä", "ö"),
            (long.as_str(), ticked.as_str()),
            (all.as_str(), without_some.as_str()),
            (all.as_str(), changed.as_str()),
            (all.as_str(), long.as_str()),
            (changed.as_str(), without_some.as_str()),
        ] {
            for (before, after) in [(before, after), (after, before)] {
                let splice = Splice::between(before.as_bytes(), after.as_bytes());
                assert_eq!(splice.apply(before.as_bytes()).as_deref(), Some(after.as_bytes()), "{before} to {after}");
                let mut text = before.as_bytes().to_vec();
                assert!(splice.apply_to(&mut text));
                assert_eq!(text, after.as_bytes(), "{before} to {after}");
                assert!(splice.pieces.len() <= MOST_PIECES);
                let mut out = Writing::default();
                out.begin_list();
                splice.pieces.iter().for_each(|piece| write_piece(piece, &mut out));
                out.end_list();
                let read = serde_json::from_slice(&out.into_bytes()).expect("it is JSON");
                assert_eq!(Splice::from_json(&read), Some(splice));
            }
        }
        assert_eq!(Splice::between(long.as_bytes(), ticked.as_bytes()).pieces[0].inserted, b"y");
    }

    #[test]
    fn what_lies_between_two_changes_is_not_written_down() {
        let task = |number: usize, rest: &str| format!("    \"task-{number}\": {{\n      {rest}\n    }},\n");
        let tasks: Vec<String> = (0..10_000).map(|number| task(number, "\"done\": false")).collect();
        let state = |time: &str, tasks: &[String], since: u32| {
            format!("{{\n  \"lastCheckpoint\": \"{time}\",\n{}  \"sinceBackup\": {since}\n}}\n", tasks.concat())
        };
        let before = state("2026-02-20T11:52:00Z", &tasks, 1);
        let mut ticked = tasks.clone();
        ticked[4321] = task(4321, "\"done\": true,\n      \"completedBy\": \"main\"");
        let after = state("2026-02-20T11:53:00Z", &ticked, 2);
        let splice = Splice::between(before.as_bytes(), after.as_bytes());
        assert_eq!(splice.apply(before.as_bytes()).as_deref(), Some(after.as_bytes()));
        assert!(splice.weight() < 500, "{splice:?}");
    }

    #[test]
    fn a_splice_that_does_not_fit_changes_nothing() {
        let piece = |at, removed| Edit { at, removed, inserted: Vec::new() };
        for pieces in [
            vec![piece(3, 2)],
            vec![piece(usize::MAX, 2)],
            vec![piece(2, usize::MAX)],
            vec![piece(2, 2), piece(1, 0)],
            vec![piece(5, 0)],
        ] {
            let splice = Splice { pieces };
            assert_eq!(splice.apply(b"abcd"), None, "{splice:?}");
            assert!(!splice.apply_to(&mut b"abcd".to_vec()), "{splice:?}");
        }
    }
}
