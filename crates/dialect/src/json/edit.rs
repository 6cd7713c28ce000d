use std::ops::Range;

use serde_json::Value as NewValue;

use super::{Json, Kind, Value};

/// Changes to a document. Every byte that no change names stays as it is: unknown keys, their order, the spelling of
/// numbers, white space and line ends.
pub struct Edits<'a, 'j> {
    json: &'j Json<'a>,
    style: Style,
    replaced: Vec<(Range<usize>, String)>,
    /// What is added behind the last entry of an object or list.
    added: Vec<(Value<'a, 'j>, Vec<NewEntry>)>,
}

/// A key, in an object, and a value.
type NewEntry = (Option<String>, NewValue);

/// How the document is laid out, as far as new parts have to fit in.
struct Style {
    line_end: &'static str,
    /// One step of indentation, or nothing when the document is on one line.
    step: Option<String>,
}

impl<'a, 'j> Edits<'a, 'j> {
    /// No changes yet.
    pub fn new(json: &'j Json<'a>) -> Edits<'a, 'j> {
        Edits { json, style: Style::of(json), replaced: Vec::new(), added: Vec::new() }
    }

    /// Replaces a value.
    pub fn replace(&mut self, place: Value<'a, 'j>, value: &NewValue) {
        let text = self.print(value, &self.indent_at(place.span().start));
        self.replaced.push((place.span(), text));
    }

    /// Sets a key of an object: its value is replaced, or it is added behind the last one.
    pub fn set(&mut self, object: Value<'a, 'j>, key: &str, value: NewValue) {
        match object.get(key) {
            Some(place) => self.replace(place, &value),
            None => self.add(object, Some(key.to_owned()), value),
        }
    }

    /// Adds a value behind the last one of a list.
    pub fn push(&mut self, list: Value<'a, 'j>, value: NewValue) {
        self.add(list, None, value);
    }

    /// Removes a key of an object, with its comma. No other change of the same object may go with it.
    pub fn remove(&mut self, object: Value<'a, 'j>, key: &str) {
        let entries: Vec<_> = object.entries().collect();
        let Some(place) = entries.iter().rposition(|(found, _)| found.is_key(key)) else { return };
        let value_end = entries[place].1.span().end;
        let range = match (place.checked_sub(1), entries.get(place + 1)) {
            (Some(before), _) => entries[before].1.span().end..value_end,
            (None, Some((next, _))) => entries[place].0.span().start..next.span().start,
            (None, None) => object.span().start + 1..object.span().end - 1,
        };
        self.replaced.push((range, String::new()));
    }

    /// The document with all changes.
    pub fn apply(self) -> String {
        let additions = self.added.iter().map(|(container, entries)| self.addition(*container, entries));
        let mut changes: Vec<_> = self.replaced.iter().cloned().chain(additions).collect();
        changes.sort_by_key(|(range, _)| range.start);
        let text = self.json.text();
        let mut out = String::with_capacity(text.len() + 256);
        let mut end = 0;
        for (range, new) in changes {
            assert!(range.start >= end, "no two changes are about the same bytes");
            out.push_str(&text[end..range.start]);
            out.push_str(&new);
            end = range.end;
        }
        out.push_str(&text[end..]);
        out
    }

    fn add(&mut self, container: Value<'a, 'j>, key: Option<String>, value: NewValue) {
        match self.added.iter_mut().find(|(known, _)| known.span() == container.span()) {
            Some((_, entries)) => entries.push((key, value)),
            None => self.added.push((container, vec![(key, value)])),
        }
    }

    /// Where new entries go, and as what.
    fn addition(&self, container: Value<'a, 'j>, entries: &[NewEntry]) -> (Range<usize>, String) {
        let span = container.span();
        let outer = self.indent_at(span.start);
        let (first, last) = ends_of(container);
        // What stands before the first entry is what comes before a new one.
        let gap = match (&first, &self.style.step) {
            (Some(first), _) => self.json.text()[span.start + 1..first.start].to_owned(),
            (None, Some(step)) => format!("{}{outer}{step}", self.style.line_end),
            (None, None) => String::new(),
        };
        let indent = gap.rsplit_once('\n').map(|(_, indent)| indent);
        let separator = match indent {
            Some(_) => format!(",{gap}"),
            None if self.is_spaced(container) => ", ".to_owned(),
            None => ",".to_owned(),
        };
        let colon = self.colon(container);
        let entry = |(key, value): &NewEntry| {
            let name = key.as_ref().map(|key| format!("{}{colon}", NewValue::from(key.as_str()))).unwrap_or_default();
            let value = indent.map_or_else(|| value.to_string(), |indent| self.print(value, indent));
            format!("{name}{value}")
        };
        let new = entries.iter().map(entry).collect::<Vec<_>>().join(&separator);
        match (last, indent) {
            (Some(last), _) => (last.end..last.end, format!("{separator}{new}")),
            // An empty container is opened; the white space between its brackets goes.
            (None, Some(_)) => (span.start + 1..span.end - 1, format!("{gap}{new}{}{outer}", self.style.line_end)),
            (None, None) => (span.start + 1..span.end - 1, new),
        }
    }

    /// What stands between a key and its value: as in the object itself, else as in the whole document.
    fn colon(&self, object: Value<'a, 'j>) -> String {
        let of = |object: Value<'a, 'j>| {
            let (key, value) = object.entries().next()?;
            Some(self.json.text()[key.span().end..value.span().start].to_owned())
        };
        of(object).or_else(|| of(self.json.root())).unwrap_or_else(|| ": ".to_owned())
    }

    /// Whether a list or object on one line has spaces behind its commas.
    fn is_spaced(&self, container: Value<'a, 'j>) -> bool {
        let mut ends = container.items().map(Value::span).collect::<Vec<_>>();
        ends.extend(container.entries().flat_map(|(key, value)| [key.span(), value.span()]));
        let text = self.json.text();
        let between =
            |pair: &[Range<usize>]| text[pair[0].end..pair[1].start].strip_prefix(',').map(|gap| !gap.is_empty());
        ends.windows(2).find_map(between).unwrap_or_else(|| self.colon_is_spaced())
    }

    fn colon_is_spaced(&self) -> bool {
        self.colon(self.json.root()).ends_with(' ')
    }

    /// The white space that begins the line of a byte.
    fn indent_at(&self, at: usize) -> String {
        let line = &self.json.text()[self.json.text()[..at].rfind('\n').map_or(0, |start| start + 1)..at];
        line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
    }

    /// A value as the document would print it, its first line already indented.
    fn print(&self, value: &NewValue, indent: &str) -> String {
        let Some(step) = &self.style.step else { return value.to_string() };
        let inner = format!("{indent}{step}");
        let line_end = self.style.line_end;
        let lines = |open: char, parts: Vec<String>, close: char| {
            let separator = format!(",{line_end}{inner}");
            format!("{open}{line_end}{inner}{}{line_end}{indent}{close}", parts.join(&separator))
        };
        match value {
            NewValue::Array(items) if !items.is_empty() => {
                lines('[', items.iter().map(|item| self.print(item, &inner)).collect(), ']')
            }
            NewValue::Object(entries) if !entries.is_empty() => {
                let entry = |(key, value): (&String, &NewValue)| {
                    format!("{}: {}", NewValue::from(key.as_str()), self.print(value, &inner))
                };
                lines('{', entries.iter().map(entry).collect(), '}')
            }
            other => other.to_string(),
        }
    }
}

impl Style {
    fn of(json: &Json<'_>) -> Style {
        let text = json.text();
        let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let root = json.root().span().start;
        let (first, _) = ends_of(json.root());
        let gap = first.map_or("", |first| &text[root + 1..first.start]);
        let step = gap.rsplit_once('\n').map(|(_, step)| if step.is_empty() { "  " } else { step }.to_owned());
        Style { line_end, step }
    }
}

/// Where the first and the last entry or item is.
fn ends_of(container: Value<'_, '_>) -> (Option<Range<usize>>, Option<Range<usize>>) {
    if container.kind() == Kind::Object {
        let first = container.entries().next().map(|(key, _)| key.span());
        return (first, container.entries().last().map(|(_, value)| value.span()));
    }
    (container.items().next().map(Value::span), container.items().last().map(Value::span))
}
