//! What a protocol's document looks like, as a table: one truth for `check` and for `schema`.

use std::fmt;

use piton_model::{Id, Time};

use crate::json::{Kind, Value};
use crate::time::{self, TimeText};
use crate::words::{Word, Words};
use crate::{Findings, codes};

/// What may stand at a place of a document.
#[derive(Debug)]
pub enum Shape {
    /// Any text.
    Text,
    /// An id that becomes a file name.
    Id,
    /// A moment that has passed.
    Time,
    /// A moment that may lie in the future.
    Deadline,
    /// A path inside the workspace.
    Path,
    /// `true` or `false`.
    Flag,
    /// A whole number in a range.
    Count {
        /// The least.
        min: i64,
        /// The greatest.
        max: i64,
    },
    /// Any number in a range.
    Number {
        /// The least.
        min: f64,
        /// The greatest.
        max: f64,
    },
    /// One of a few words.
    Word(&'static Words),
    /// A list.
    List(&'static Shape),
    /// An object whose keys are not fixed.
    Map(&'static Shape),
    /// An object with known keys; others are kept.
    Object(&'static [Field]),
    /// A text, or an object with known keys that stands for it.
    TextOr(&'static [Field]),
    /// That, or `null`.
    OrNull(&'static Shape),
    /// Anything.
    Any,
}

/// Any whole number from zero.
pub const COUNT: Shape = Shape::Count { min: 0, max: i64::MAX };

/// A key of an object.
#[derive(Debug)]
pub struct Field {
    /// The key.
    pub key: &'static str,
    /// Whether it must be there.
    pub need: Need,
    /// What belongs there.
    pub shape: Shape,
    /// What it means, for editors.
    pub about: &'static str,
}

/// Whether a key must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Without it the document breaks a rule.
    Required,
    /// It may be left out.
    Optional,
}

/// A key that must be there.
pub const fn required(key: &'static str, shape: Shape, about: &'static str) -> Field {
    Field { key, need: Need::Required, shape, about }
}

/// A key that may be left out.
pub const fn optional(key: &'static str, shape: Shape, about: &'static str) -> Field {
    Field { key, need: Need::Optional, shape, about }
}

/// Compares an object with its table and adds a finding for every difference.
pub fn check(object: Value<'_, '_>, fields: &'static [Field], now: Time, findings: &mut Findings<'_>) {
    Check { now, findings }.object(object, fields, &Way::Here);
}

/// The way to a value. It is put into words only for a finding.
enum Way<'w, 'a, 'j> {
    /// The document itself.
    Here,
    /// A key of the table, in the object that is found by the other way.
    Field(&'w Way<'w, 'a, 'j>, &'static str),
    /// Any key.
    Key(&'w Way<'w, 'a, 'j>, Value<'a, 'j>),
    /// A place in a list.
    Index(&'w Way<'w, 'a, 'j>, usize),
}

struct Check<'f, 't> {
    now: Time,
    findings: &'f mut Findings<'t>,
}

impl Check<'_, '_> {
    fn object(&mut self, object: Value<'_, '_>, fields: &'static [Field], way: &Way<'_, '_, '_>) {
        // Which fields are there, a bit each; the largest table has 25.
        let mut is_there = 0u64;
        let mut next = 0;
        for (key, value) in object.entries() {
            if let Some(place) = key.place_among(fields.len(), next, |place| fields[place].key) {
                is_there |= 1 << place;
                next = place + 1;
                self.value(value, &fields[place].shape, &Way::Field(way, fields[place].key));
            }
        }
        for (place, field) in fields.iter().enumerate() {
            if field.need == Need::Required && is_there & (1 << place) == 0 {
                let message = format!("`{}` is missing", Way::Field(way, field.key));
                self.findings.at(object.span().start, &codes::MISSING_KEY, message);
            }
        }
    }

    fn value(&mut self, value: Value<'_, '_>, shape: &'static Shape, way: &Way<'_, '_, '_>) {
        let at = At { value, way };
        match shape {
            Shape::Any => {}
            Shape::OrNull(inner) => {
                if !value.is_null() {
                    self.value(value, inner, way);
                }
            }
            Shape::Flag if value.as_bool().is_some() => {}
            Shape::Text | Shape::TextOr(_) if value.kind() == Kind::String => {}
            Shape::Id => self.text(at, |check, text| {
                if let Err(why) = Id::check(text) {
                    check.add(at, &codes::BAD_ID, &format!("is {text:?}, which is not an id: {why}"));
                }
            }),
            Shape::Path => self.text(at, |check, text| {
                if text.starts_with('/') || text.split('/').any(|part| part == "..") {
                    check.add(
                        at,
                        &codes::PATH_OUTSIDE,
                        &format!("is {text:?}, which may lie outside of the workspace"),
                    );
                }
            }),
            Shape::Time => self.text(at, |check, text| check.time(at, text, true)),
            Shape::Deadline => self.text(at, |check, text| check.time(at, text, false)),
            Shape::Word(words) => self.text(at, |check, text| check.word(at, text, words)),
            Shape::Count { min, max } if value.kind() == Kind::Number => match value.as_int() {
                Some(number) if (*min..=*max).contains(&number) => {}
                Some(number) => self.range(at, number, *min as f64, *max as f64),
                None if value.as_f64().is_some() => self.wrong_type(at, shape),
                // Said once, for the whole document.
                None => {}
            },
            Shape::Number { min, max } if value.kind() == Kind::Number => match value.as_f64() {
                Some(number) if (*min..=*max).contains(&number) => {}
                Some(number) => self.range(at, number, *min, *max),
                None => {}
            },
            Shape::List(inner) if value.kind() == Kind::Array => {
                for (index, item) in value.items().enumerate() {
                    self.value(item, inner, &Way::Index(way, index));
                }
            }
            Shape::Map(inner) if value.kind() == Kind::Object => {
                for (key, item) in value.entries() {
                    self.value(item, inner, &Way::Key(way, key));
                }
            }
            Shape::Object(fields) | Shape::TextOr(fields) if value.kind() == Kind::Object => {
                self.object(value, fields, way);
            }
            Shape::Flag
            | Shape::Text
            | Shape::Count { .. }
            | Shape::Number { .. }
            | Shape::List(_)
            | Shape::Map(_)
            | Shape::TextOr(_)
            | Shape::Object(_) => {
                self.wrong_type(at, shape);
            }
        }
    }

    fn text(&mut self, at: At<'_, '_, '_>, then: impl FnOnce(&mut Self, &str)) {
        match at.value.as_str() {
            Some(text) => then(self, &text),
            None => self.wrong_type(at, &Shape::Text),
        }
    }

    fn time(&mut self, at: At<'_, '_, '_>, text: &str, must_be_past: bool) {
        let read = time::read(text);
        match read {
            TimeText::At(_) => {}
            TimeText::Odd(_, why) => self.add(at, &codes::TIME_ODD, &format!("is {text:?}: {why}")),
            TimeText::Day(_) => self.add(at, &codes::TIME_ODD, &format!("is {text:?}: it is only a date")),
            TimeText::Words => self.add(at, &codes::TIME_WORDS, &format!("is {text:?}, which is not a time")),
        }
        if must_be_past && read.time().is_some_and(|time| time.is_impossible(self.now)) {
            self.add(at, &codes::TIME_FUTURE, &format!("is {text:?}, which lies in the future"));
        }
    }

    fn word(&mut self, at: At<'_, '_, '_>, text: &str, words: &Words) {
        match words.read(text) {
            Word::Exact(_) => {}
            Word::Folded(word) => self.add(at, &codes::WORD_FOLDED, &format!("is {text:?}, read as {word:?}")),
            Word::Other => {
                self.add(at, &codes::WORD_FOLDED, &format!("is {text:?}, a word that the protocol does not have"))
            }
            Word::Unknown => {
                self.add(at, &codes::WORD_UNKNOWN, &format!("is {text:?}, not one of {}", words.canonical.join(", ")))
            }
        }
    }

    fn range(&mut self, at: At<'_, '_, '_>, number: impl std::fmt::Display, min: f64, max: f64) {
        let allowed = match (min, max) {
            (min, max) if min == max => format!("only {min} is allowed"),
            (min, max) if max > 1e15 => format!("the least is {min}"),
            (min, max) => format!("not between {min} and {max}"),
        };
        self.add(at, &codes::OUT_OF_RANGE, &format!("is {number}; {allowed}"));
    }

    fn wrong_type(&mut self, at: At<'_, '_, '_>, shape: &Shape) {
        self.add(at, &codes::WRONG_TYPE, &format!("is {}, expected {}", at.value.kind(), shape.describe()));
    }

    fn add(&mut self, at: At<'_, '_, '_>, code: &'static piton_model::Code, what: &str) {
        let message = format!("`{}` {what}", at.way);
        self.findings.at(at.value.span().start, code, message);
    }
}

/// A value and the way to it.
#[derive(Clone, Copy)]
struct At<'w, 'a, 'j> {
    value: Value<'a, 'j>,
    way: &'w Way<'w, 'a, 'j>,
}

/// In words: `subtasks.items[3].status`.
impl fmt::Display for Way<'_, '_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = |outer: &Way<'_, '_, '_>| if matches!(outer, Way::Here) { "" } else { "." };
        match self {
            Way::Here => Ok(()),
            Way::Field(outer, key) => write!(f, "{outer}{}{key}", dot(outer)),
            Way::Key(outer, key) => write!(f, "{outer}{}{}", dot(outer), key.as_str().unwrap_or_default()),
            Way::Index(outer, index) => write!(f, "{outer}[{index}]"),
        }
    }
}

impl Shape {
    fn describe(&self) -> &'static str {
        match self {
            Shape::Text | Shape::TextOr(_) | Shape::Id | Shape::Path | Shape::Word(_) => "a string",
            Shape::Time | Shape::Deadline => "a time as a string",
            Shape::Flag => "true or false",
            Shape::Count { .. } => "a whole number",
            Shape::Number { .. } => "a number",
            Shape::List(_) => "a list",
            Shape::Map(_) | Shape::Object(_) => "an object",
            Shape::OrNull(inner) => inner.describe(),
            Shape::Any => "anything",
        }
    }
}
