//! YAML front matter as a small tree that knows its lines.
//!
//! Only what front matter needs: texts, lists and maps. An alias is never followed, so that no document can grow
//! when it is read; depth and size are bounded.

use std::fmt;

use saphyr_parser::{Event, Parser, ScalarStyle};

/// How deep values may be nested.
pub const DEEPEST: usize = 128;

/// How many values a text may hold.
pub const MOST_VALUES: usize = 200_000;

/// How long a text may be, in bytes: no front matter is.
pub const LONGEST: usize = 1024 * 1024;

/// A parsed text. Its values are in the order of the text; each is followed by what it contains.
#[derive(Debug, Clone)]
pub struct Yaml {
    nodes: Vec<Node>,
}

#[derive(Debug, Clone)]
struct Node {
    content: Content,
    line: u32,
    /// How many nodes this value takes, itself included.
    nodes: u32,
}

#[derive(Debug, Clone)]
enum Content {
    Null,
    Text(Box<str>),
    List,
    Map,
    Alias,
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing, `~` or `null`.
    Null,
    /// A text, number, date or boolean: front matter needs no difference.
    Text,
    /// A list.
    List,
    /// A map.
    Map,
    /// A reference to another value, which is not followed.
    Alias,
}

/// Why a text is not YAML that can be read, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlError {
    /// The line, counted from 1.
    pub line: u32,
    /// What is wrong there.
    pub problem: String,
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

/// Parses a text that holds one document.
pub fn parse(text: &str) -> Result<Yaml, YamlError> {
    if text.len() > LONGEST {
        return Err(YamlError { line: 1, problem: format!("it has {} bytes, more than {LONGEST}", text.len()) });
    }
    let mut builder = Builder { nodes: Vec::new(), open: Vec::new() };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            // What is missing at the end is reported after the last line, where no text is.
            let line = error.marker().line().clamp(1, text.lines().count().max(1)) as u32;
            YamlError { line, problem: error.info().to_owned() }
        })?;
        let line = span.start.line() as u32;
        if let Event::DocumentEnd = event {
            break;
        }
        builder.take(event, line).map_err(|problem| YamlError { line, problem })?;
    }
    if builder.nodes.is_empty() {
        builder.push(Content::Null, 1).map_err(|problem| YamlError { line: 1, problem })?;
    }
    Ok(Yaml { nodes: builder.nodes })
}

struct Builder {
    nodes: Vec<Node>,
    /// The containers that are not closed yet.
    open: Vec<usize>,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, line: u32) -> Result<(), String> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) | Event::DocumentEnd => {
                Ok(())
            }
            Event::Alias(_) => self.push(Content::Alias, line),
            Event::Scalar(text, style, ..) => {
                let plain = style == ScalarStyle::Plain;
                let null = plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                self.push(if null { Content::Null } else { Content::Text(text.into()) }, line)
            }
            Event::SequenceStart(..) => self.begin(Content::List, line),
            Event::MappingStart(..) => self.begin(Content::Map, line),
            Event::SequenceEnd | Event::MappingEnd => {
                let open = self.open.pop().expect("the parser closes only what it opened");
                self.nodes[open].nodes = (self.nodes.len() - open) as u32;
                Ok(())
            }
        }
    }

    fn begin(&mut self, content: Content, line: u32) -> Result<(), String> {
        if self.open.len() >= DEEPEST {
            return Err(format!("values are nested deeper than {DEEPEST} levels"));
        }
        self.open.push(self.nodes.len());
        self.push(content, line)
    }

    fn push(&mut self, content: Content, line: u32) -> Result<(), String> {
        if self.nodes.len() >= MOST_VALUES {
            return Err(format!("there are more than {MOST_VALUES} values"));
        }
        self.nodes.push(Node { content, line, nodes: 1 });
        Ok(())
    }
}

impl Yaml {
    /// The outermost value.
    pub fn root(&self) -> Value<'_> {
        Value { yaml: self, index: 0 }
    }

    /// Finds keys that a map repeats: the second and each further place.
    pub fn repeated_keys(&self) -> Vec<Value<'_>> {
        let mut repeated = Vec::new();
        let mut keys: Vec<(&str, usize)> = Vec::new();
        for index in 0..self.nodes.len() {
            keys.clear();
            let map = Value { yaml: self, index };
            keys.extend(map.entries().filter_map(|(key, _)| Some((key.text()?, key.index))));
            keys.sort_unstable();
            repeated.extend(keys.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[1].1));
        }
        repeated.sort_unstable();
        repeated.into_iter().map(|index| Value { yaml: self, index }).collect()
    }
}

/// A value inside a [`Yaml`].
#[derive(Clone, Copy)]
pub struct Value<'y> {
    yaml: &'y Yaml,
    index: usize,
}

impl<'y> Value<'y> {
    fn node(self) -> &'y Node {
        &self.yaml.nodes[self.index]
    }

    /// What it is.
    pub fn kind(self) -> Kind {
        match self.node().content {
            Content::Null => Kind::Null,
            Content::Text(_) => Kind::Text,
            Content::List => Kind::List,
            Content::Map => Kind::Map,
            Content::Alias => Kind::Alias,
        }
    }

    /// The line it begins at, counted from 1.
    pub fn line(self) -> u32 {
        self.node().line
    }

    /// The text it is, trimmed, when there is any.
    pub fn text(self) -> Option<&'y str> {
        match &self.node().content {
            Content::Text(text) => Some(text.trim()).filter(|text| !text.is_empty()),
            Content::Null | Content::List | Content::Map | Content::Alias => None,
        }
    }

    /// The values of a list; nothing for anything else.
    pub fn items(self) -> impl Iterator<Item = Value<'y>> {
        self.children(Kind::List)
    }

    /// The keys and values of a map, in order, repeated keys included; nothing for anything else.
    pub fn entries(self) -> impl Iterator<Item = (Value<'y>, Value<'y>)> {
        let mut children = self.children(Kind::Map);
        std::iter::from_fn(move || {
            let key = children.next()?;
            Some((key, children.next().expect("every key is followed by its value")))
        })
    }

    /// The value of a key. Of a repeated key the last one counts.
    pub fn get(self, key: &str) -> Option<Value<'y>> {
        self.entries().filter(|(found, _)| found.text() == Some(key)).last().map(|(_, value)| value)
    }

    /// The text at a key.
    pub fn text_at(self, key: &str) -> Option<&'y str> {
        self.get(key).and_then(Value::text)
    }

    /// The texts of a list, each with its line; a single text counts as a list of one.
    pub fn texts(self) -> Vec<(&'y str, u32)> {
        let own = self.text().map(|text| (text, self.line()));
        own.into_iter().chain(self.items().filter_map(|item| Some((item.text()?, item.line())))).collect()
    }

    fn children(self, kind: Kind) -> impl Iterator<Item = Value<'y>> {
        let end = if self.kind() == kind { self.index + self.node().nodes as usize } else { 0 };
        let mut next = self.index + 1;
        std::iter::from_fn(move || {
            let value = (next < end).then_some(Value { yaml: self.yaml, index: next })?;
            next += value.node().nodes as usize;
            Some(value)
        })
    }
}

#[cfg(test)]
mod tests;
