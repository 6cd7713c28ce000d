//! JSON as settings of programs are written: with comments, and with commas behind the last entry.
//!
//! Comments are blanked before the text is parsed, byte for byte, so every place in the parsed text is a place in the
//! real one. Changes are made there, and every byte that no change names stays: other people's entries, their order,
//! their comments.

use std::ops::Range;

use serde_json::Value as NewValue;

use super::editor::{at, to_new};
use super::{Kind, SyntaxError, Value, parse};

/// A document with comments that is changed step by step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lenient {
    text: String,
    /// The same length, without comments and without commas that nothing follows.
    bare: String,
    comments: Vec<Range<usize>>,
    /// Where commas stand that nothing follows.
    loose_commas: Vec<usize>,
}

impl Lenient {
    /// Reads a text that is an object but for its comments; nothing at all counts as an empty object.
    pub fn open(text: &str) -> Result<Lenient, SyntaxError> {
        let text = if text.trim().is_empty() { "{}\n" } else { text };
        let lenient = Lenient::scan(text.to_owned());
        let json = parse(&lenient.bare)?;
        match json.root().kind() {
            Kind::Object => Ok(lenient),
            _ => Err(SyntaxError { at: 0, problem: super::Problem::Expected("an object") }),
        }
    }

    /// Whether there is anything in it that strict JSON does not have.
    pub fn is_strict(&self) -> bool {
        self.text == self.bare
    }

    /// The text as it is now.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value at a path of keys.
    pub fn get(&self, path: &[&str]) -> Option<NewValue> {
        self.look(|root| at(root, path).map(|value| to_new(value)))
    }

    /// Adds a key to the object at a path, or an item to the list there. Whether there is such a thing.
    pub fn add(&mut self, path: &[&str], key: Option<&str>, value: &NewValue) -> bool {
        let wanted = if key.is_some() { Kind::Object } else { Kind::Array };
        let changes = self.look(|root| {
            let container = at(root, path).filter(|found| found.kind() == wanted)?;
            Some(self.addition(container, key, value))
        });
        let Some(changes) = changes else { return false };
        self.change(changes);
        true
    }

    /// Removes the entries of the object or list at a path that are meant, each with its comma.
    pub fn remove(&mut self, path: &[&str], is_meant: &dyn Fn(Option<&str>, &NewValue) -> bool) {
        loop {
            let change = self.look(|root| {
                let container = at(root, path)?;
                let entries = entries_of(container);
                let meant = entries.iter().position(|(key, _, value)| is_meant(key.as_deref(), &to_new(*value)))?;
                Some(self.removal(container, &entries, meant))
            });
            match change {
                Some(changes) => self.change(changes),
                None => return,
            }
        }
    }

    fn look<T>(&self, look: impl FnOnce(Value<'_, '_>) -> T) -> T {
        let json = parse(&self.bare).expect("a lenient document is JSON but for its comments");
        look(json.root())
    }

    fn change(&mut self, mut changes: Vec<(Range<usize>, String)>) {
        changes.sort_by_key(|(range, _)| range.start);
        let mut text = String::with_capacity(self.text.len() + 256);
        let mut end = 0;
        for (range, new) in changes {
            text.push_str(&self.text[end..range.start]);
            text.push_str(&new);
            end = range.end;
        }
        text.push_str(&self.text[end..]);
        *self = Lenient::scan(text);
    }

    /// Where a new last entry goes, and as what.
    fn addition(&self, container: Value<'_, '_>, key: Option<&str>, value: &NewValue) -> Vec<(Range<usize>, String)> {
        let span = container.span();
        let entries = entries_of(container);
        let outer = self.indent_at(span.start);
        let first = entries.first().map(|(_, span, _)| span.start);
        let is_open = first.map_or_else(|| self.is_laid_out(), |first| self.text[span.start..first].contains('\n'));
        let indent = match first.filter(|_| is_open) {
            Some(first) => self.indent_at(first),
            None => format!("{outer}{}", self.step()),
        };
        let line_end = self.line_end();
        let name = key.map(|key| format!("{}: ", NewValue::from(key))).unwrap_or_default();
        let printed = if is_open { print(value, &indent, &self.step(), line_end) } else { value.to_string() };
        let entry = format!("{name}{printed}");
        let Some((_, last, _)) = entries.last() else {
            let inside = self.text[span.start + 1..span.end - 1].trim_end();
            let from = span.start + 1 + inside.len();
            let new = match is_open || !inside.is_empty() {
                true => format!("{line_end}{indent}{entry}{line_end}{outer}"),
                false => entry,
            };
            return vec![(from..span.end - 1, new)];
        };
        let loose = self.loose_commas.iter().copied().find(|comma| (last.end..span.end).contains(comma));
        let mut changes = Vec::new();
        if loose.is_none() {
            changes.push((last.end..last.end, ",".to_owned()));
        }
        let behind = loose.map_or(last.end, |comma| comma + 1);
        let place = if is_open { self.end_of_line(behind, span.end - 1) } else { behind };
        let gap = if is_open { format!("{line_end}{indent}") } else { " ".to_owned() };
        // Where a comma ends the last entry, it does so again.
        let comma = if loose.is_some() { "," } else { "" };
        changes.push((place..place, format!("{gap}{entry}{comma}")));
        changes
    }

    /// Behind what stands on the rest of a line: nothing, or a comment.
    fn end_of_line(&self, from: usize, most: usize) -> usize {
        let line = self.text[from..most].find('\n').map_or(most, |at| from + at);
        let line = line - usize::from(self.text[..line].ends_with('\r') && line > from);
        let comment = self.comments.iter().find(|comment| comment.start < line && comment.end > line);
        let place = comment.map_or(line, |comment| comment.end);
        let is_free = self.bare[from..place.min(most)].trim().is_empty();
        if is_free && place < most { place } else { from }
    }

    /// What goes with an entry.
    fn removal(
        &self,
        container: Value<'_, '_>,
        entries: &[(Option<String>, Range<usize>, Value<'_, '_>)],
        meant: usize,
    ) -> Vec<(Range<usize>, String)> {
        let (span, own) = (container.span(), entries[meant].1.clone());
        let comma_in = |range: Range<usize>| self.bare[range.clone()].find(',').map(|at| range.start + at);
        if let Some((_, next, _)) = entries.get(meant + 1) {
            let comma = comma_in(own.end..next.start).unwrap_or(own.end);
            let behind = &self.text[comma + 1..];
            let white = behind.len() - behind.trim_start().len();
            return vec![(own.start..comma + 1 + white, String::new())];
        }
        let floor = meant.checked_sub(1).map_or(span.start + 1, |before| entries[before].1.end);
        let white_from = floor + self.text[floor..own.start].trim_end().len();
        if meant == 0 {
            let loose = self.loose_commas.iter().copied().find(|comma| (own.end..span.end).contains(comma));
            let end = loose.map_or(own.end, |comma| comma + 1);
            let rest = &self.text[end..span.end - 1];
            let is_alone = rest.trim().is_empty() && self.text[floor..own.start].trim().is_empty();
            let to = if is_alone { span.end - 1 } else { end };
            return vec![(white_from..to, String::new())];
        }
        match self.loose_commas.iter().copied().find(|comma| (own.end..span.end).contains(comma)) {
            // The comma before stays as the one that nothing follows.
            Some(comma) => vec![(white_from..comma + 1, String::new())],
            None => {
                let comma = comma_in(floor..own.start);
                // The comma may end the white space, or stand before a comment that stays.
                match comma {
                    Some(comma) if comma + 1 >= white_from => {
                        let from = floor + self.text[floor..comma].trim_end().len();
                        vec![(from..own.end, String::new())]
                    }
                    Some(comma) => vec![(comma..comma + 1, String::new()), (white_from..own.end, String::new())],
                    None => vec![(white_from..own.end, String::new())],
                }
            }
        }
    }

    fn indent_at(&self, at: usize) -> String {
        let line = self.text[..at].rfind('\n').map_or(0, |start| start + 1);
        self.text[line..at].chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
    }

    /// One step of indentation, as the document has it.
    fn step(&self) -> String {
        let step = self.look(|root| entries_of(root).first().map(|(_, span, _)| self.indent_at(span.start)));
        step.filter(|step| !step.is_empty()).unwrap_or_else(|| "  ".to_owned())
    }

    /// Whether entries stand on lines of their own.
    fn is_laid_out(&self) -> bool {
        self.look(|root| {
            let (start, first) = (root.span().start, entries_of(root).first().map(|(_, span, _)| span.start));
            first.is_none_or(|first| self.text[start..first].contains('\n'))
        })
    }

    fn line_end(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    /// Blanks what strict JSON does not have.
    fn scan(text: String) -> Lenient {
        let bytes = text.as_bytes();
        let mut bare = text.clone().into_bytes();
        let mut comments = Vec::new();
        let mut loose_commas = Vec::new();
        let mut last_comma = None;
        let mut place = if text.starts_with('\u{feff}') { 3 } else { 0 };
        bare[..place].fill(b' ');
        while place < bytes.len() {
            let end = match &bytes[place..] {
                [b'"', ..] => {
                    last_comma = None;
                    end_of_string(bytes, place)
                }
                [b'/', b'/', rest @ ..] => {
                    let line = &rest[..rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())];
                    // The end of the line is no part of the comment, whichever kind it is.
                    place + 2 + line.strip_suffix(b"\r").unwrap_or(line).len()
                }
                [b'/', b'*', rest @ ..] => {
                    place + 2 + rest.windows(2).position(|pair| pair == b"*/").map_or(rest.len(), |at| at + 2)
                }
                [b',', ..] => {
                    last_comma = Some(place);
                    place + 1
                }
                [b'}' | b']', ..] => {
                    if let Some(comma) = last_comma.take() {
                        loose_commas.push(comma);
                        bare[comma] = b' ';
                    }
                    place + 1
                }
                [byte, ..] => {
                    if !byte.is_ascii_whitespace() {
                        last_comma = None;
                    }
                    place + 1
                }
                [] => break,
            };
            if bytes[place] == b'/' && end > place + 1 {
                comments.push(place..end);
                bare[place..end].iter_mut().filter(|byte| !matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
            }
            place = end;
        }
        // A comment is whole characters, and became as many spaces as it has bytes.
        let bare = String::from_utf8(bare).expect("only whole characters were replaced");
        Lenient { text, bare, comments, loose_commas }
    }
}

fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut place = start + 1;
    while place < bytes.len() {
        match bytes[place] {
            b'\\' => place += 2,
            b'"' => return place + 1,
            _ => place += 1,
        }
    }
    bytes.len()
}

/// The entries of an object or list: the key, the bytes of key and value, the value.
fn entries_of<'a, 'j>(container: Value<'a, 'j>) -> Vec<(Option<String>, Range<usize>, Value<'a, 'j>)> {
    if container.kind() == Kind::Object {
        let entry = |(key, value): (Value<'a, 'j>, Value<'a, 'j>)| {
            let name = key.as_str().unwrap_or_default().into_owned();
            (Some(name), key.span().start..value.span().end, value)
        };
        return container.entries().map(entry).collect();
    }
    container.items().map(|item| (None, item.span(), item)).collect()
}

fn print(value: &NewValue, indent: &str, step: &str, line_end: &str) -> String {
    let inner = format!("{indent}{step}");
    let lines = |open: char, parts: Vec<String>, close: char| {
        let separator = format!(",{line_end}{inner}");
        format!("{open}{line_end}{inner}{}{line_end}{indent}{close}", parts.join(&separator))
    };
    match value {
        // A list of words is read more easily on one line.
        NewValue::Array(items) if items.iter().all(|item| item.is_string()) => {
            format!("[{}]", items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
        }
        NewValue::Array(items) => {
            lines('[', items.iter().map(|item| print(item, &inner, step, line_end)).collect(), ']')
        }
        NewValue::Object(entries) if !entries.is_empty() => {
            let entry = |(key, value): (&String, &NewValue)| {
                format!("{}: {}", NewValue::from(key.as_str()), print(value, &inner, step, line_end))
            };
            lines('{', entries.iter().map(entry).collect(), '}')
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
