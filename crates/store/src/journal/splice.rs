use serde_json::{Value, json};

/// How one text became another: at one place some bytes went, and others came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    /// Where.
    pub at: usize,
    /// How many bytes went.
    pub removed: usize,
    /// What came.
    pub inserted: Vec<u8>,
}

impl Splice {
    /// What turns `before` into `after`: all between their common beginning and their common end.
    pub fn between(before: &[u8], after: &[u8]) -> Splice {
        let at = common_start(before, after);
        let tail = common_end(&before[at..], &after[at..]);
        Splice { at, removed: before.len() - at - tail, inserted: after[at..after.len() - tail].to_vec() }
    }

    /// The text after it; nothing when it does not fit.
    pub fn apply(&self, before: &[u8]) -> Option<Vec<u8>> {
        let end = self.at.checked_add(self.removed).filter(|end| *end <= before.len())?;
        let mut after = Vec::with_capacity(before.len() - self.removed + self.inserted.len());
        after.extend_from_slice(&before[..self.at]);
        after.extend_from_slice(&self.inserted);
        after.extend_from_slice(&before[end..]);
        Some(after)
    }

    /// About how many bytes it takes to write it down.
    pub fn weight(&self) -> u64 {
        self.inserted.len() as u64 + 64
    }

    pub(crate) fn to_json(&self) -> Value {
        json!([self.at, self.removed, text_to_json(&self.inserted)])
    }

    pub(crate) fn from_json(value: &Value) -> Option<Splice> {
        let [at, removed, inserted] = value.as_array()?.as_slice() else { return None };
        let number = |value: &Value| usize::try_from(value.as_u64()?).ok();
        Some(Splice { at: number(at)?, removed: number(removed)?, inserted: text_from_json(inserted)? })
    }
}

/// Bytes as JSON: a text where they are one, else their hexadecimal digits in a list.
pub(crate) fn text_to_json(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => Value::from(text),
        Err(_) => json!([bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()]),
    }
}

pub(crate) fn text_from_json(value: &Value) -> Option<Vec<u8>> {
    if let Some(text) = value.as_str() {
        return Some(text.as_bytes().to_vec());
    }
    let digits = value.as_array()?.first()?.as_str()?.as_bytes();
    let pairs = digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    pairs.collect()
}

/// How many bytes agree from the start. Blocks are compared first: large documents mostly differ in one byte.
fn common_start(a: &[u8], b: &[u8]) -> usize {
    let blocks = a.chunks_exact(BLOCK).zip(b.chunks_exact(BLOCK)).take_while(|(a, b)| a == b).count() * BLOCK;
    blocks + a[blocks..].iter().zip(&b[blocks..]).take_while(|(a, b)| a == b).count()
}

/// How many bytes agree at the end.
fn common_end(a: &[u8], b: &[u8]) -> usize {
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
        ] {
            let splice = Splice::between(before.as_bytes(), after.as_bytes());
            assert_eq!(splice.apply(before.as_bytes()).as_deref(), Some(after.as_bytes()), "{before:?} to {after:?}");
            assert_eq!(Splice::from_json(&splice.to_json()), Some(splice));
        }
        assert_eq!(Splice::between(long.as_bytes(), ticked.as_bytes()).inserted, b"y");
    }

    #[test]
    fn a_splice_that_does_not_fit_changes_nothing() {
        assert_eq!(Splice { at: 3, removed: 2, inserted: Vec::new() }.apply(b"abcd"), None);
        assert_eq!(Splice { at: usize::MAX, removed: 2, inserted: Vec::new() }.apply(b"abcd"), None);
    }
}
