//! What is odd about a text that is JSON.

use std::ops::Range;

use piton_model::seek;

use super::{Json, Kind, Value, decode};

/// Finds keys that an object repeats: where the second and each further place is.
pub fn repeated_keys(json: &mut Json<'_>) -> Vec<Range<usize>> {
    let mut repeated = Vec::new();
    for index in 0..json.nodes.len() {
        let object = Value { json, index };
        if object.kind() != Kind::Object || may_not_repeat(object) {
            continue;
        }
        let mut keys: Vec<_> = object.entries().map(|(key, _)| (key.as_str(), key.index)).collect();
        keys.sort();
        let again = keys.windows(2).filter(|pair| pair[0].0 == pair[1].0);
        repeated.extend(again.map(|pair| Value { json, index: pair[1].1 }.span()));
    }
    repeated.sort_by_key(|span| span.start);
    json.keys_are_unique = repeated.is_empty();
    repeated
}

/// A cheap proof that no key repeats: all of them differ in length or in a few of their bytes, and none is escaped.
fn may_not_repeat(object: Value<'_, '_>) -> bool {
    let mut seen = [0u64; 32];
    object.entries().all(|(key, _)| {
        let node = key.node();
        let raw = &key.json.text.as_bytes()[node.start as usize..node.end as usize];
        let length = raw.len();
        // Behind the opening quote, in the middle, and before the closing one.
        let (first, middle, last) = (raw[1], raw[length / 2], raw[length - 2]);
        let bit = (first ^ middle.rotate_left(3) ^ last.rotate_left(5)) & 63;
        let slot = &mut seen[(length - 2).min(31)];
        let is_new = *slot & (1 << bit) == 0;
        *slot |= 1 << bit;
        is_new && !node.is_escaped
    })
}

/// Finds the first string that holds half of a surrogate pair, which no text can hold.
pub fn first_lone_surrogate<'a, 'j>(json: &'j Json<'a>) -> Option<Value<'a, 'j>> {
    seek::byte(b'\\', json.text.as_bytes())?;
    let strings = (0..json.nodes.len()).map(|index| Value { json, index }).filter(|value| value.kind() == Kind::String);
    strings.into_iter().find(|string| string.node().is_escaped && decode(string.raw(), &mut String::new()))
}

/// Finds the first number that no program can compute with.
pub fn first_huge_number<'a, 'j>(json: &'j Json<'a>) -> Option<Value<'a, 'j>> {
    if !json.may_be_huge {
        return None;
    }
    let mut numbers =
        (0..json.nodes.len()).map(|index| Value { json, index }).filter(|value| value.kind() == Kind::Number);
    numbers.find(|number| number.as_f64().is_none())
}
