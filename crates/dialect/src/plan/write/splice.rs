//! Changes to a JSON text of megabytes, all made in one pass.
//!
//! The state of a plan is as long as the plan. It is read once, compared with what it should say, and only what
//! differs is spliced in, so that everything else keeps its bytes.

use std::collections::HashMap;
use std::ops::Range;

use piton_model::{Edit, seek};
use serde_json::{Map, Value as NewValue};

use crate::json::{Json, Kind, Value};

/// So many keys are looked for one by one.
const FEW: usize = 16;

/// Changes that are collected first and applied together.
pub(super) struct Splice<'a> {
    text: &'a str,
    line_end: &'static str,
    /// One step of indentation, or nothing when the document is on one line.
    step: Option<String>,
    edits: Vec<(Range<usize>, String)>,
}

impl<'a> Splice<'a> {
    /// No changes yet.
    pub fn new(json: &Json<'a>) -> Splice<'a> {
        let text = json.text();
        let root = json.root();
        let gap = root.entries().next().map_or("", |(key, _)| &text[root.span().start + 1..key.span().start]);
        let step = gap.rsplit_once('\n').map(|(_, step)| if step.is_empty() { "  " } else { step }.to_owned());
        let line_end = if gap.contains("\r\n") { "\r\n" } else { "\n" };
        Splice { text, line_end, step, edits: Vec::new() }
    }

    /// Makes a value say something else, by the smallest change.
    pub fn become_value(&mut self, old: Value<'a, '_>, new: &NewValue) {
        match (old.kind(), new) {
            (Kind::Object, NewValue::Object(entries)) => self.become_object(old, entries),
            (Kind::Array, NewValue::Array(items)) => self.become_list(old, items),
            _ if to_new(old) == *new => {}
            _ => self.replace(old, new),
        }
    }

    /// Sets keys of an object and leaves all others; a key without a value goes.
    pub fn set_keys(&mut self, object: Value<'a, '_>, keys: &[(&str, Option<NewValue>)]) {
        let mut gone = Vec::new();
        let mut found = vec![false; keys.len()];
        // A hostile file may have a hundred thousand agents.
        let places: HashMap<&str, usize> = match keys.len() {
            0..=FEW => HashMap::new(),
            _ => keys.iter().enumerate().map(|(place, (key, _))| (*key, place)).collect(),
        };
        for (place, (key, old)) in object.entries().enumerate() {
            let wanted = match places.is_empty() {
                true => keys.iter().position(|(wanted, _)| key.is_key(wanted)),
                false => key.as_str().and_then(|key| places.get(&*key).copied()),
            };
            let Some(wanted) = wanted else { continue };
            match &keys[wanted].1 {
                // Of a key that stands twice one is enough.
                Some(new) if !std::mem::replace(&mut found[wanted], true) => self.become_value(old, new),
                Some(_) | None => gone.push(place),
            }
        }
        let is_missing = |((key, new), found): (&(&str, Option<NewValue>), bool)| {
            (!found).then(|| new.clone().map(|new| ((*key).to_owned(), new))).flatten()
        };
        let added: Vec<_> = keys.iter().zip(found).filter_map(is_missing).collect();
        self.reshape(object, &gone, &added);
    }

    /// Takes entries out of an object, by their places in order, and adds others behind the last. Nothing inside of an
    /// entry that goes may be changed as well.
    pub fn reshape(&mut self, object: Value<'a, '_>, gone: &[usize], added: &[(String, NewValue)]) {
        if gone.is_empty() && added.is_empty() {
            return;
        }
        let span = object.span();
        let spans: Vec<_> = object.entries().map(|(key, value)| key.span().start..value.span().end).collect();
        let Some(first_kept) = (0..spans.len()).find(|place| gone.binary_search(place).is_err()) else {
            let inner = self.print(&NewValue::Object(added.iter().cloned().collect()), &self.indent_at(span.start));
            self.edits.push((span, inner));
            return;
        };
        for place in gone.iter().copied() {
            let range = match place < first_kept {
                true => spans[place].start..spans[place + 1].start,
                false => spans[place - 1].end..spans[place].end,
            };
            self.edits.push((range, String::new()));
        }
        if added.is_empty() {
            return;
        }
        let gap = &self.text[span.start + 1..spans[0].start];
        let (separator, indent) = self.separator(gap, spans.get(..2).map(|two| two[0].end..two[1].start));
        let colon = object.entries().next().map_or(": ", |(key, value)| &self.text[key.span().end..value.span().start]);
        let mut new = String::new();
        for (key, value) in added {
            new.push_str(&separator);
            new.push_str(&NewValue::from(key.as_str()).to_string());
            new.push_str(colon);
            new.push_str(&self.print_inside(value, indent.as_deref()));
        }
        let end = spans[spans.len() - 1].end;
        self.edits.push((end..end, new));
    }

    /// All changes, in order.
    pub fn into_edits(mut self) -> Vec<Edit> {
        self.edits.sort_by_key(|(range, _)| range.start);
        let mut end = 0;
        let edit = |(range, new): (Range<usize>, String)| {
            assert!(range.start >= end, "no two changes are about the same bytes");
            end = range.end;
            Edit { at: range.start, removed: range.len(), inserted: new.into_bytes() }
        };
        self.edits.into_iter().map(edit).collect()
    }

    fn become_object(&mut self, old: Value<'a, '_>, new: &Map<String, NewValue>) {
        let known: Vec<_> = old.entries().map(|(key, _)| key.as_str().unwrap_or_default()).collect();
        let keys: Vec<(&str, Option<NewValue>)> = new
            .iter()
            .map(|(key, value)| (key.as_str(), Some(value.clone())))
            .chain(known.iter().filter(|key| !new.contains_key(&***key)).map(|key| (&**key, None)))
            .collect();
        self.set_keys(old, &keys);
    }

    fn become_list(&mut self, old: Value<'a, '_>, new: &[NewValue]) {
        let items: Vec<_> = old.items().collect();
        let is_start = items.len() <= new.len() && items.iter().zip(new).all(|(item, new)| to_new(*item) == *new);
        let (Some(last), true) = (items.last(), is_start) else {
            if !(is_start && new.is_empty()) {
                self.replace(old, &NewValue::Array(new.to_vec()));
            }
            return;
        };
        let gap = &self.text[old.span().start + 1..items[0].span().start];
        let (separator, indent) =
            self.separator(gap, items.get(1).map(|second| items[0].span().end..second.span().start));
        let added = |value: &NewValue| format!("{separator}{}", self.print_inside(value, indent.as_deref()));
        let text: String = new[items.len()..].iter().map(added).collect();
        if !text.is_empty() {
            self.edits.push((last.span().end..last.span().end, text));
        }
    }

    fn replace(&mut self, old: Value<'a, '_>, new: &NewValue) {
        let text = self.print(new, &self.indent_at(old.span().start));
        self.edits.push((old.span(), text));
    }

    /// What comes between entries, given what comes before the first and between the first two; and the indentation
    /// of a new one, unless it stays on the line.
    fn separator(&self, gap: &str, between: Option<Range<usize>>) -> (String, Option<String>) {
        match (gap.rsplit_once('\n'), between) {
            (Some((_, indent)), _) => (format!(",{gap}"), Some(indent.to_owned())),
            (None, Some(between)) => (self.text[between].to_owned(), None),
            (None, None) if self.step.is_some() => (", ".to_owned(), None),
            (None, None) => (",".to_owned(), None),
        }
    }

    /// The white space that begins the line of a byte.
    fn indent_at(&self, at: usize) -> String {
        let line = &self.text[seek::last_byte(b'\n', &self.text.as_bytes()[..at]).map_or(0, |start| start + 1)..at];
        line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
    }

    fn print_inside(&self, value: &NewValue, indent: Option<&str>) -> String {
        indent.map_or_else(|| value.to_string(), |indent| self.print(value, indent))
    }

    /// A value as the document would print it, its first line already indented.
    fn print(&self, value: &NewValue, indent: &str) -> String {
        let Some(step) = &self.step else { return value.to_string() };
        let inner = format!("{indent}{step}");
        let line_end = self.line_end;
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

/// A value as a new one. Half a surrogate pair becomes U+FFFD, as everywhere.
pub(in crate::plan) fn to_new(value: Value<'_, '_>) -> NewValue {
    match value.kind() {
        Kind::Array => NewValue::Array(value.items().map(to_new).collect()),
        Kind::Object => {
            let entry = |(key, value): (Value<'_, '_>, Value<'_, '_>)| (as_text(key), to_new(value));
            NewValue::Object(value.entries().map(entry).collect())
        }
        Kind::String => NewValue::String(as_text(value)),
        Kind::Null | Kind::True | Kind::False | Kind::Number => {
            serde_json::from_str(value.raw()).unwrap_or_else(|_| NewValue::String(value.raw().to_owned()))
        }
    }
}

fn as_text(value: Value<'_, '_>) -> String {
    value.as_str().unwrap_or_default().into_owned()
}
