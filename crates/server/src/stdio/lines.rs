//! Lines that are too long to be read. Whoever sent one waits for an answer, so its id is looked for where clients write
//! it: at the beginning of the line, or at its end. Nothing in between is kept.

use std::fmt;

use rmcp::model::RequestId;
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};

/// The longest line that is read, with its end.
pub const LONGEST: usize = 16 * 1024 * 1024;

/// How much is kept of each end of a line.
const KEPT: usize = 1024;

/// How many members of a message are looked at from its end.
const MEMBERS: usize = 8;

/// A line that was too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// How many bytes it had.
    pub bytes: usize,
    /// The id of the request in it, where it could be seen.
    pub id: Option<RequestId>,
}

/// The line that is being read.
#[derive(Debug)]
pub struct Lines {
    longest: usize,
    length: usize,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Default for Lines {
    fn default() -> Lines {
        Lines::of(LONGEST)
    }
}

impl Lines {
    fn of(longest: usize) -> Lines {
        Lines { longest, length: 0, head: Vec::new(), tail: Vec::new() }
    }

    /// Looks at what was read next; says which lines have ended that were too long.
    pub fn pass(&mut self, mut bytes: &[u8]) -> Vec<Lost> {
        let mut lost = Vec::new();
        while !bytes.is_empty() {
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let (line, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
            self.keep(line);
            bytes = rest;
            if end.is_some() {
                lost.extend(self.end());
            }
        }
        lost
    }

    fn keep(&mut self, part: &[u8]) {
        self.length = self.length.saturating_add(part.len());
        let room = KEPT.saturating_sub(self.head.len()).min(part.len());
        self.head.extend_from_slice(&part[..room]);
        // The end matters only of a line that may become too long.
        if self.length > self.longest / 2 {
            self.tail.extend_from_slice(&part[part.len().saturating_sub(KEPT)..]);
            self.tail.drain(..self.tail.len().saturating_sub(KEPT));
        }
    }

    fn end(&mut self) -> Option<Lost> {
        let lost = (self.length > self.longest)
            .then(|| Lost { bytes: self.length, id: id_at_start(&self.head).or_else(|| id_at_end(&self.tail)) });
        self.length = 0;
        self.head.clear();
        self.tail.clear();
        lost
    }
}

/// The id of a message of which only the beginning is there. It is cut after a comma: a number is whole then.
fn id_at_start(head: &[u8]) -> Option<RequestId> {
    let comma = head.iter().rposition(|byte| *byte == b',')?;
    let mut found = None;
    // It breaks off; what stands before that counts.
    let _ = serde_json::Deserializer::from_slice(&head[..=comma]).deserialize_map(FindId(&mut found));
    found
}

/// The id of a message of which only the end is there: its last members make an object of their own only where nothing
/// that is open was begun before them.
fn id_at_end(tail: &[u8]) -> Option<RequestId> {
    let commas = tail.iter().enumerate().rev().filter(|(_, byte)| **byte == b',').map(|(at, _)| at);
    commas.take(MEMBERS).find_map(|comma| {
        let mut members = tail[comma..].to_vec();
        members[0] = b'{';
        let mut found = None;
        let mut reader = serde_json::Deserializer::from_slice(&members);
        let is_whole = reader.deserialize_map(FindId(&mut found)).is_ok() && reader.end().is_ok();
        found.filter(|_| is_whole)
    })
}

/// Keeps the member `id` of an object.
struct FindId<'f>(&'f mut Option<RequestId>);

impl<'de> Visitor<'de> for FindId<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "id" => *self.0 = Some(map.next_value()?),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    const SHORT: usize = 8 * KEPT;

    /// What is lost of a text that comes in pieces of so many bytes.
    fn pass(text: &str, piece: usize) -> Vec<Lost> {
        let mut lines = Lines::of(SHORT);
        text.as_bytes().chunks(piece).flat_map(|piece| lines.pass(piece)).collect()
    }

    fn ids(text: &str) -> Vec<Option<RequestId>> {
        pass(text, 1_000).into_iter().map(|lost| lost.id).collect()
    }

    #[test]
    fn the_id_is_seen_where_clients_write_it() {
        let filler = "x".repeat(SHORT);
        let number = |number| vec![Some(RequestId::Number(number))];
        for (line, want) in [
            (format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{{"a":"{filler}"}}}}"#), number(7)),
            (format!(r#"{{"method":"m","params":{{"a":"{filler}"}},"jsonrpc":"2.0","id":7}}"#), number(7)),
            (format!(r#"{{"params":{{"a":"{filler}"}}, "id" : 7 , "jsonrpc":"2.0" }} "#), number(7)),
            (
                format!(r#"{{"id":"a,b\"c","params":{{"a":"{filler}"}}}}"#),
                vec![Some(RequestId::String("a,b\"c".into()))],
            ),
            (format!(r#"{{"params":{{"a":1,"id":3}},"id":7,"a":"{filler}"}}"#), number(7)),
            // Ids of others.
            (format!(r#"{{"params":{{"id":3,"a":"{filler}"}}}}"#), vec![None]),
            (format!(r#"{{"params":{{"a":"{filler}","id":3}}}}"#), vec![None]),
            (format!(r#"{{"params":{{"a":"{filler}"}},"result":{{"x":1,"id":3}}}}"#), vec![None]),
            (format!(r#"{{"params":"{filler},\"id\":3"}}"#), vec![None]),
            (format!(r#"{{"params":["{filler}",{{"id":3}}],"x":"id"}}"#), vec![None]),
            // What is no id.
            (format!(r#"{{"id":1.5,"a":"{filler}"}}"#), vec![None]),
            (format!(r#"{{"id":null,"a":"{filler}"}}"#), vec![None]),
            (filler.clone(), vec![None]),
            (format!("[{filler}"), vec![None]),
        ] {
            assert_eq!(ids(&format!("{line}\n")), want, "{}", line.replace(&filler, "…"));
        }
    }

    #[test]
    fn a_number_that_is_cut_is_no_id() {
        for length in 0..60 {
            let filler = "x".repeat(KEPT - 60 + length);
            let line = format!("{{\"a\":\"{filler}\",\"id\":1234567,\"b\":\"{}\"}}\n", "y".repeat(SHORT));
            let found = ids(&line);
            assert!(found == [None] || found == [Some(RequestId::Number(1_234_567))], "{length}: {found:?}");
        }
    }

    proptest! {
        /// Compared with whoever keeps everything: which lines are too long, and that a seen id is the right one.
        #[test]
        fn lines_are_told_apart_like_by_whoever_keeps_them(
            lines in prop::collection::vec((0..3 * SHORT, 0..3_u8, any::<i64>()), 0..6), piece in 1..5_000_usize,
        ) {
            let lines: Vec<String> = lines.iter().map(|(length, place, id)| {
                let filler = "x".repeat(*length);
                match place {
                    0 => json!({ "id": id, "a": filler }).to_string(),
                    1 => json!({ "a": filler, "id": id }).to_string(),
                    _ => json!({ "a": { "id": id, "a": filler } }).to_string(),
                }
            }).collect();
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let want: Vec<Lost> = lines.iter().filter(|line| line.len() + 1 > SHORT).map(|line| {
                let message: Value = serde_json::from_str(line).expect("JSON");
                Lost { bytes: line.len() + 1, id: message["id"].as_i64().map(RequestId::Number) }
            }).collect();
            prop_assert_eq!(pass(&text, piece), want);
        }
    }
}
