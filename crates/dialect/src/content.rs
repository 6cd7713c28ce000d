//! Lenient access to values: what can be understood is taken, the table check has already complained.

use piton_model::{Said, Sign, Source};

use crate::json::{Kind, Value};
use crate::time::{self, TimeText};

/// How many texts of one list are taken. No real list comes near, and a hostile one must not take all memory.
const MOST_TEXTS: usize = 100_000;

/// Where the keys of an object are, each looked up once: an object may have a million keys, and a finding for each
/// of a million values.
pub struct Offsets<'a, 'j> {
    object: Value<'a, 'j>,
    known: Vec<(&'static str, usize)>,
}

impl<'a, 'j> Offsets<'a, 'j> {
    /// Nothing is looked up yet.
    pub fn new(object: Value<'a, 'j>) -> Offsets<'a, 'j> {
        Offsets { object, known: Vec::new() }
    }

    /// The byte at which the value of a key begins, or the object itself when it has no such key.
    pub fn of(&mut self, key: &'static str) -> usize {
        if let Some((_, at)) = self.known.iter().find(|(known, _)| *known == key) {
            return *at;
        }
        let at = self.object.get(key).unwrap_or(self.object).span().start;
        self.known.push((key, at));
        at
    }
}

/// The text at a key; empty and blank texts count as nothing.
pub fn text(object: Value<'_, '_>, key: &str) -> Option<String> {
    object.get(key).and_then(as_text)
}

/// A text, or a number as it is spelled; nothing for blank texts and everything else.
pub fn as_text(value: Value<'_, '_>) -> Option<String> {
    match value.kind() {
        Kind::String => value.as_str().map(|text| text.trim_ascii().to_owned()).filter(|text| !text.is_empty()),
        Kind::Number => Some(value.raw().to_owned()),
        Kind::Null | Kind::True | Kind::False | Kind::Array | Kind::Object => None,
    }
}

/// The texts of a list at a key. A single text counts as a list of one, and an object in the list is taken by
/// whichever of its keys says something: real files hold all three.
pub fn texts(object: Value<'_, '_>, key: &str) -> Vec<String> {
    object.get(key).map(as_texts).unwrap_or_default()
}

/// The texts that a value holds, as [`texts`] takes them.
pub fn as_texts(value: Value<'_, '_>) -> Vec<String> {
    match value.kind() {
        Kind::Array => value.items().filter_map(as_sentence).take(MOST_TEXTS).collect(),
        _ => as_text(value).filter(|text| !is_nothing(text)).into_iter().collect(),
    }
}

/// How many texts [`as_texts`] would take.
pub fn count_texts(value: Value<'_, '_>) -> u64 {
    let says_something = |value: &Value<'_, '_>| match value.kind() {
        Kind::String => value.as_str().is_some_and(|text| !text.trim_ascii().is_empty()),
        Kind::Number | Kind::Object => true,
        Kind::Null | Kind::True | Kind::False | Kind::Array => false,
    };
    match value.kind() {
        Kind::Array => value.items().filter(says_something).take(MOST_TEXTS).count() as u64,
        _ => as_text(value).filter(|text| !is_nothing(text)).map_or(0, |_| 1),
    }
}

/// A text, or what an object says in one of the keys that people use for it.
pub fn as_sentence(value: Value<'_, '_>) -> Option<String> {
    const TELLING: [&str; 9] =
        ["message", "decision", "blocker", "description", "text", "name", "title", "reason", "id"];
    match value.kind() {
        Kind::Object => TELLING.iter().find_map(|key| text(value, key)).or_else(|| Some(value.raw().to_owned())),
        _ => as_text(value),
    }
}

/// Whether a text only says that there is nothing: `none`, `N/A`.
pub fn is_nothing(text: &str) -> bool {
    ["none", "n/a", "na", "null", "nil", "-", "no", "[]"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// The time at a key as a sign of life.
pub fn sign(object: Value<'_, '_>, key: &'static str) -> Option<Sign> {
    object.get(key).and_then(|value| as_sign(value, key))
}

/// A time as a sign of life, by the name of its key.
pub fn as_sign(value: Value<'_, '_>, key: &'static str) -> Option<Sign> {
    let source = Source::Field(key);
    // Nearly always it is a time, which needs no text of its own.
    let plain = value.as_str().map(|text| time::read(text.trim_ascii()));
    if let Some(TimeText::At(at) | TimeText::Odd(at, _)) = plain {
        return Some(Sign { source, said: Said::At(at) });
    }
    // A day cannot decide about minutes.
    as_text(value).map(|text| Sign { source, said: Said::Words(text) })
}
