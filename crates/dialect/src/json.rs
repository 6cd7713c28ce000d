//! JSON as other people wrote it: every value knows the bytes it came from.
//!
//! Documents are edited by replacing spans, so whatever an edit does not name keeps its bytes: unknown
//! keys, key order, number spelling, white space. That is why this is not a general JSON library. It reads
//! RFC 8259 strictly, says where it stopped, and goes no deeper than [`DEEPEST`].

mod edit;
mod editor;
mod lenient;
mod odd;
mod parse;

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::ops::Range;

pub use edit::Edits;
pub use editor::Editor;
pub use lenient::Lenient;
pub use odd::{first_huge_number, first_lone_surrogate, repeated_keys};
pub use parse::parse;

/// How deep values may be nested.
pub const DEEPEST: usize = 128;

/// How many values a document may hold; beyond that it is not a checkpoint, and reading it would take the
/// memory that other documents need.
pub const MOST_VALUES: usize = 4_000_000;

/// A parsed document. Its values are in the order of the text; each is followed by what it contains.
#[derive(Debug, Clone)]
pub struct Json<'a> {
    text: &'a str,
    nodes: Vec<Node>,
    /// Whether it is known that no object repeats a key, so that the first place of a key is also the last.
    keys_are_unique: bool,
    /// Whether a number has so many digits, or an exponent, that it may be too large for any program.
    may_be_huge: bool,
    /// Behind the entry that was found last. Keys are mostly asked for in the order of the document.
    next_entry: Cell<usize>,
    /// The object it belongs to.
    next_object: Cell<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    kind: Kind,
    /// Whether a string holds a backslash.
    is_escaped: bool,
    start: u32,
    end: u32,
    /// How many nodes this value takes, itself included: where its next sibling is.
    nodes: u32,
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true`
    True,
    /// `false`
    False,
    /// A number, kept as it is spelled.
    Number,
    /// A string.
    String,
    /// `[…]`
    Array,
    /// `{…}`
    Object,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Kind::Null => "null",
            Kind::True | Kind::False => "a boolean",
            Kind::Number => "a number",
            Kind::String => "a string",
            Kind::Array => "a list",
            Kind::Object => "an object",
        })
    }
}

/// Why a text is not JSON, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// The byte at which reading stopped.
    pub at: usize,
    /// What is wrong there.
    pub problem: Problem,
}

/// What can be wrong with a text that should be JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// The text ends inside a value: the sign of a torn write.
    Ends,
    /// There is nothing but white space.
    Empty,
    /// Something else is where this should be.
    Expected(&'static str),
    /// After the value there is more.
    Trailing,
    /// `NaN`, `Infinity` and the like.
    NotANumber,
    /// A raw control character in a string.
    ControlCharacter,
    /// A backslash with something unknown after it.
    Escape,
    /// Deeper than [`DEEPEST`].
    TooDeep,
    /// More values than [`MOST_VALUES`].
    TooMany,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Ends => write!(f, "the text ends inside a value; it was probably torn"),
            Problem::Empty => write!(f, "the file is empty"),
            Problem::Expected(what) => write!(f, "expected {what}"),
            Problem::Trailing => write!(f, "there is more text after the end of the value"),
            Problem::NotANumber => write!(f, "not a number that JSON knows"),
            Problem::ControlCharacter => write!(f, "a control character inside a string"),
            Problem::Escape => write!(f, "an escape that JSON does not know"),
            Problem::TooDeep => write!(f, "values are nested deeper than {DEEPEST} levels"),
            Problem::TooMany => write!(f, "there are more than {MOST_VALUES} values"),
        }
    }
}

/// A value inside a [`Json`].
#[derive(Clone, Copy)]
pub struct Value<'a, 'j> {
    json: &'j Json<'a>,
    index: usize,
}

impl<'a> Json<'a> {
    /// The outermost value.
    pub fn root(&self) -> Value<'a, '_> {
        Value { json: self, index: 0 }
    }

    /// The text it was read from.
    pub fn text(&self) -> &'a str {
        self.text
    }
}

impl<'a, 'j> Value<'a, 'j> {
    fn node(self) -> Node {
        self.json.nodes[self.index]
    }

    /// What it is.
    pub fn kind(self) -> Kind {
        self.node().kind
    }

    /// The bytes it takes in the text.
    pub fn span(self) -> Range<usize> {
        self.node().start as usize..self.node().end as usize
    }

    /// The text it was read from, spelled as it is there.
    pub fn raw(self) -> &'a str {
        &self.json.text[self.span()]
    }

    /// The string it is, when it is one. A lone surrogate becomes U+FFFD.
    #[inline]
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        let node = self.node();
        (node.kind == Kind::String)
            .then(|| unescape(&self.json.text[node.start as usize + 1..node.end as usize - 1], node.is_escaped))
    }

    /// The boolean it is, when it is one.
    pub fn as_bool(self) -> Option<bool> {
        match self.kind() {
            Kind::True => Some(true),
            Kind::False => Some(false),
            _ => None,
        }
    }

    /// The whole number it is, when it is one; `3.0` and `3e0` are three as well.
    pub fn as_int(self) -> Option<i64> {
        if self.kind() != Kind::Number {
            return None;
        }
        self.raw().parse().ok().or_else(|| {
            let number = self.as_f64()?;
            (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64)
        })
    }

    /// The number it is, when it is one that a double can hold.
    pub fn as_f64(self) -> Option<f64> {
        if self.kind() != Kind::Number {
            return None;
        }
        self.raw().parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// Whether it is `null`.
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// The values of a list; nothing for anything else.
    pub fn items(self) -> Items<'a, 'j> {
        self.children(Kind::Array)
    }

    /// The keys and values of an object, in order, repeated keys included; nothing for anything else.
    pub fn entries(self) -> Entries<'a, 'j> {
        Entries(self.children(Kind::Object))
    }

    /// The value of a key. Of a repeated key the last one counts, as in JavaScript.
    pub fn get(self, key: &str) -> Option<Value<'a, 'j>> {
        let is_wanted = |(found, _): &(Value<'a, 'j>, Value<'a, 'j>)| found.is_key(key);
        if !self.json.keys_are_unique {
            return self.entries().filter(is_wanted).last().map(|(_, value)| value);
        }
        let Entries(all) = self.entries();
        let hint = self.json.next_entry.get();
        let is_inside = (all.next..all.end).contains(&hint) && self.json.next_object.get() == self.index;
        let after = Entries(Items { next: if is_inside { hint } else { all.next }, ..all.clone() });
        let before = Entries(Items { end: if is_inside { hint } else { all.next }, ..all });
        let (_, value) = after.chain(before).find(is_wanted)?;
        self.json.next_entry.set(value.index + value.node().nodes as usize);
        self.json.next_object.set(self.index);
        Some(value)
    }

    /// The values of several keys, each as [`Value::get`] gives it, in one pass.
    pub fn pick<const N: usize>(self, keys: [&str; N]) -> [Option<Value<'a, 'j>>; N] {
        let mut found = [None; N];
        let mut next = 0;
        for (key, value) in self.entries() {
            if let Some(place) = key.place_among(N, next, |place| keys[place]) {
                found[place] = Some(value);
                next = place + 1;
            }
        }
        found
    }

    /// Which of `count` keys it is. Documents mostly keep the order in which their keys are listed, so the search
    /// begins at `next`, behind the key that was found last.
    pub(crate) fn place_among<'k>(self, count: usize, next: usize, key: impl Fn(usize) -> &'k str) -> Option<usize> {
        (next..count)
            .find(|place| self.is_key(key(*place)))
            .or_else(|| (0..next).find(|place| self.is_key(key(*place))))
    }

    /// Whether it, the key of an entry, is the string `key`. Cheaper than decoding it.
    #[inline]
    pub fn is_key(self, key: &str) -> bool {
        let node = self.node();
        let (start, end) = (node.start as usize, node.end as usize);
        if node.is_escaped {
            return self.as_str().is_some_and(|text| text == key);
        }
        end - start == key.len() + 2 && &self.json.text.as_bytes()[start + 1..end - 1] == key.as_bytes()
    }

    /// Whether it is that string.
    pub fn is_text(self, text: &str) -> bool {
        self.kind() == Kind::String && self.is_key(text)
    }

    fn children(self, kind: Kind) -> Items<'a, 'j> {
        let node = self.node();
        let end = if node.kind == kind { self.index + node.nodes as usize } else { 0 };
        Items { json: self.json, next: self.index + 1, end }
    }
}

impl fmt::Debug for Value<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.raw())
    }
}

/// The values of a list.
#[derive(Clone)]
pub struct Items<'a, 'j> {
    json: &'j Json<'a>,
    next: usize,
    end: usize,
}

impl<'a, 'j> Iterator for Items<'a, 'j> {
    type Item = Value<'a, 'j>;

    fn next(&mut self) -> Option<Value<'a, 'j>> {
        if self.next >= self.end {
            return None;
        }
        let value = Value { json: self.json, index: self.next };
        self.next += value.node().nodes as usize;
        Some(value)
    }
}

/// The entries of an object.
#[derive(Clone)]
pub struct Entries<'a, 'j>(Items<'a, 'j>);

impl<'a, 'j> Iterator for Entries<'a, 'j> {
    type Item = (Value<'a, 'j>, Value<'a, 'j>);

    fn next(&mut self) -> Option<Self::Item> {
        let key = self.0.next()?;
        let value = self.0.next().expect("every key is followed by its value");
        Some((key, value))
    }
}

fn unescape(inner: &str, is_escaped: bool) -> Cow<'_, str> {
    if !is_escaped {
        return Cow::Borrowed(inner);
    }
    let mut out = String::with_capacity(inner.len());
    decode(inner, &mut out);
    Cow::Owned(out)
}

/// Decodes escapes of a string that the parser accepted; returns whether a lone surrogate was replaced.
fn decode(inner: &str, out: &mut String) -> bool {
    let mut lone = false;
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let escape = rest.as_bytes().get(at + 1).copied().unwrap_or(b'\\');
        rest = rest.get(at + 2..).unwrap_or("");
        match escape {
            b'b' => out.push('\u{8}'),
            b'f' => out.push('\u{c}'),
            b'n' => out.push('\n'),
            b'r' => out.push('\r'),
            b't' => out.push('\t'),
            b'u' => {
                let unit = hex4(rest);
                rest = rest.get(4..).unwrap_or("");
                let low = rest.strip_prefix("\\u").map(hex4).filter(|low| (0xdc00..0xe000).contains(low));
                let decoded = match (unit, low) {
                    (0xd800..0xdc00, Some(low)) => {
                        rest = &rest[6..];
                        char::from_u32(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00))
                    }
                    _ => char::from_u32(unit),
                };
                lone |= decoded.is_none();
                out.push(decoded.unwrap_or('\u{fffd}'));
            }
            other => out.push(char::from(other)),
        }
    }
    out.push_str(rest);
    lone
}

fn hex4(text: &str) -> u32 {
    text.get(..4).and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(0xfffd)
}

#[cfg(test)]
mod tests;
