//! Settings and work as people write them, in TOML or JSON: every key is known, or is an error with a suggestion.

use std::time::Duration;

use piton_model::text::printable;
use serde_json::{Map, Value};

/// The longest name of a gate or worker, which may be the text of an acceptance criterion.
const LONGEST_NAME: usize = 200;

/// What is wrong with a file that a person wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadFile {
    /// The file.
    pub path: String,
    /// What is wrong, as a fragment.
    pub message: String,
    /// What was probably meant.
    pub hint: Option<String>,
}

/// A table of a file, whose keys are taken one after another.
pub(super) struct Section {
    /// The file.
    pub path: String,
    name: String,
    map: Map<String, Value>,
    known: Vec<&'static str>,
}

/// Parses a file by its name: JSON where it ends so, else TOML.
pub(super) fn parse(path: &str, text: &str) -> Result<Section, BadFile> {
    let bad = |message: String| BadFile { path: path.to_owned(), message, hint: None };
    let value: Value = match path.ends_with(".json") {
        true => serde_json::from_str(text).map_err(|error| bad(format!("it is not JSON: {error}")))?,
        false => toml::from_str(text).map_err(|error| bad(format!("it is not TOML: {}", error.to_string().trim())))?,
    };
    match value {
        Value::Object(map) => Ok(Section { path: path.to_owned(), name: String::new(), map, known: Vec::new() }),
        // A bare list of stories or tasks is welcome.
        Value::Array(items) => {
            let map = Map::from_iter([("items".to_owned(), Value::Array(items))]);
            Ok(Section { path: path.to_owned(), name: String::new(), map, known: Vec::new() })
        }
        _ => Err(bad("it holds no table".to_owned())),
    }
}

impl Section {
    fn bad(&self, key: &str, what: &str) -> BadFile {
        BadFile { path: self.path.clone(), message: format!("`{}{key}` is {what}", self.name), hint: None }
    }

    fn take(&mut self, key: &'static str) -> Option<Value> {
        self.known.push(key);
        self.map.remove(key).filter(|value| !value.is_null())
    }

    /// Whether a key is there, without taking it.
    pub fn has(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }

    pub fn section(&mut self, key: &'static str) -> Result<Option<Section>, BadFile> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Object(map)) => Ok(Some(self.inner(key, map))),
            Some(_) => Err(self.bad(key, "not a table")),
        }
    }

    /// Takes every table that is left, under whatever names a person gave them.
    pub fn tables(&mut self) -> Result<Vec<(String, Section)>, BadFile> {
        let is_table = |(key, value): (&String, &Value)| value.is_object().then(|| key.clone());
        let keys: Vec<String> = self.map.iter().filter_map(is_table).collect();
        if let Some(key) = keys.iter().find(|key| !is_name(key)) {
            return Err(bad_name(&self.path, &self.name, key));
        }
        let take = |key: String| match self.map.remove(&key) {
            Some(Value::Object(map)) => Some((key.clone(), self.inner(&key, map))),
            _ => None,
        };
        Ok(keys.into_iter().filter_map(take).collect())
    }

    /// The file's error about this table, with what to do.
    pub fn wrong(&self, message: String, hint: &str) -> BadFile {
        BadFile { path: self.path.clone(), message, hint: Some(hint.to_owned()) }
    }

    /// Its name: `worker.stage.2`.
    pub fn name(&self) -> &str {
        self.name.trim_end_matches('.')
    }

    fn inner(&self, key: &str, map: Map<String, Value>) -> Section {
        Section { path: self.path.clone(), name: format!("{}{key}.", self.name), map, known: Vec::new() }
    }

    pub fn sections(&mut self, key: &'static str) -> Result<Vec<Section>, BadFile> {
        let items = match self.take(key) {
            None => return Ok(Vec::new()),
            Some(Value::Array(items)) => items,
            Some(_) => return Err(self.bad(key, "not a list of tables")),
        };
        let each = |(place, item): (usize, Value)| match item {
            Value::Object(map) => Ok(self.inner(&format!("{key}[{place}]"), map)),
            _ => Err(self.bad(key, "not a list of tables")),
        };
        items.into_iter().enumerate().map(each).collect()
    }

    pub fn text(&mut self, key: &'static str) -> Result<Option<String>, BadFile> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.bad(key, "not a text")),
        }
    }

    pub fn texts(&mut self, key: &'static str) -> Result<Option<Vec<String>>, BadFile> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Array(items)) => {
                let texts = items.into_iter().map(|item| match item {
                    Value::String(text) => Ok(text),
                    _ => Err(self.bad(key, "not a list of texts")),
                });
                texts.collect::<Result<_, _>>().map(Some)
            }
            Some(_) => Err(self.bad(key, "not a list of texts")),
        }
    }

    /// A text, or a list of texts, as it was written.
    pub fn words(&mut self, key: &'static str) -> Result<Option<Value>, BadFile> {
        match self.take(key) {
            None => Ok(None),
            Some(value @ Value::String(_)) => Ok(Some(value)),
            Some(Value::Array(items)) if items.iter().all(Value::is_string) => Ok(Some(Value::Array(items))),
            Some(_) => Err(self.bad(key, "neither a text nor a list of texts")),
        }
    }

    pub fn flag(&mut self, key: &'static str) -> Result<Option<bool>, BadFile> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(_) => Err(self.bad(key, "neither true nor false")),
        }
    }

    pub fn count(&mut self, key: &'static str) -> Result<Option<u64>, BadFile> {
        match self.take(key) {
            None => Ok(None),
            Some(value) => value.as_u64().map(Some).ok_or_else(|| self.bad(key, "not a whole number")),
        }
    }

    /// A list of whole numbers.
    pub fn counts(&mut self, key: &'static str) -> Result<Option<Vec<u64>>, BadFile> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Array(items)) => {
                let counts =
                    items.iter().map(|item| item.as_u64().ok_or_else(|| self.bad(key, "not a list of numbers")));
                counts.collect::<Result<_, _>>().map(Some)
            }
            Some(_) => Err(self.bad(key, "not a list of numbers")),
        }
    }

    pub fn integer(&mut self, key: &'static str) -> Result<Option<i64>, BadFile> {
        match self.take(key) {
            None => Ok(None),
            Some(value) => value.as_i64().map(Some).ok_or_else(|| self.bad(key, "not a whole number")),
        }
    }

    pub fn number(&mut self, key: &'static str) -> Result<Option<f64>, BadFile> {
        match self.take(key) {
            None => Ok(None),
            Some(value) => value.as_f64().map(Some).ok_or_else(|| self.bad(key, "not a number")),
        }
    }

    /// A span: a number of seconds, or a text such as `90s`, `1.5m`, `200ms`, `2h`.
    pub fn span(&mut self, key: &'static str) -> Result<Option<Duration>, BadFile> {
        match self.take(key) {
            None => Ok(None),
            Some(value) => span(&value).map(Some).ok_or_else(|| self.bad(key, "not a span such as 90s, 15m or 0.5")),
        }
    }

    /// A whole number from the first to the last.
    pub fn count_in(&mut self, key: &'static str, (first, last): (u32, u32)) -> Result<Option<u32>, BadFile> {
        let Some(count) = self.count(key)? else { return Ok(None) };
        match u32::try_from(count) {
            Ok(count) if (first..=last).contains(&count) => Ok(Some(count)),
            _ => Err(self.out_of_range(key, &count.to_string(), &format!("{first} to {last}"))),
        }
    }

    /// A span that is not shorter than the first and not longer than the last.
    pub fn span_in(&mut self, key: &'static str, range: (Duration, Duration)) -> Result<Option<Duration>, BadFile> {
        let Some(span) = self.span(key)? else { return Ok(None) };
        self.check_span(key, span, range).map(Some)
    }

    /// The same for spans by stage.
    pub fn spans_in(
        &mut self,
        key: &'static str,
        range: (Duration, Duration),
    ) -> Result<Option<Vec<Duration>>, BadFile> {
        let Some(spans) = self.spans(key)? else { return Ok(None) };
        spans.into_iter().map(|span| self.check_span(key, span, range)).collect::<Result<_, _>>().map(Some)
    }

    fn check_span(&self, key: &str, span: Duration, (first, last): (Duration, Duration)) -> Result<Duration, BadFile> {
        let words = |span: Duration| format!("{} s", span.as_secs_f64());
        match (first..=last).contains(&span) {
            true => Ok(span),
            false => Err(self.out_of_range(key, &words(span), &format!("{} to {}", words(first), words(last)))),
        }
    }

    /// The error about a number that would stop all work, or make it endless.
    pub fn out_of_range(&self, key: &str, value: &str, range: &str) -> BadFile {
        let hint = format!("`{}{key}` may be {range}; leave it out for its default", self.name);
        BadFile { hint: Some(hint), ..self.bad(key, value) }
    }

    /// Spans by stage: one for all, or a list.
    pub fn spans(&mut self, key: &'static str) -> Result<Option<Vec<Duration>>, BadFile> {
        let wrong = || self.bad(key, "neither a span nor a list of spans by stage");
        let value = match self.map.get(key).cloned() {
            None => {
                self.known.push(key);
                return Ok(None);
            }
            Some(Value::Array(items)) if !items.is_empty() => items.iter().map(span).collect::<Option<Vec<_>>>(),
            Some(value) => span(&value).map(|span| vec![span]),
        };
        let spans = value.ok_or_else(wrong)?;
        self.take(key);
        Ok(Some(spans))
    }

    /// All entries of a table of texts.
    pub fn into_texts(self) -> Result<Vec<(String, String)>, BadFile> {
        let Section { path, name, map, .. } = self;
        let entry = |(key, value): (String, Value)| match value {
            Value::String(_) if !is_name(&key) => Err(bad_name(&path, &name, &key)),
            Value::String(text) => Ok((key, text)),
            _ => Err(BadFile { path: path.clone(), message: format!("`{name}{key}` is not a text"), hint: None }),
        };
        map.into_iter().map(entry).collect()
    }

    /// Refuses keys that nobody took.
    pub fn finish(self) -> Result<(), BadFile> {
        let Some(key) = self.map.keys().next() else { return Ok(()) };
        let near = crate::find::nearest(key, &self.known);
        let hint = match near {
            Some(near) => format!("did you mean `{}{near}`?", self.name),
            None => format!("known are: {}", self.known.join(", ")),
        };
        let message = format!("there is no setting `{}{key}`", self.name);
        Err(BadFile { path: self.path, message, hint: Some(hint) })
    }
}

/// Whether a terminal shows a name as it is. A person reads it before a command is approved.
fn is_name(name: &str) -> bool {
    !name.trim().is_empty() && name.chars().count() <= LONGEST_NAME && printable(name) == name
}

fn bad_name(path: &str, section: &str, name: &str) -> BadFile {
    let message = format!("`{}` has a name that cannot be used: {name:?}", section.trim_end_matches('.'));
    let hint = format!("a name has 1 to {LONGEST_NAME} characters, and no line ends or escape sequences");
    BadFile { path: path.to_owned(), message, hint: Some(hint) }
}

fn span(value: &Value) -> Option<Duration> {
    if let Some(seconds) = value.as_f64() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let text = value.as_str()?.trim();
    let at = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
    let number: f64 = text[..at].trim().parse().ok()?;
    let factor = match &text[at..] {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number * factor).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_as_people_write_them() {
        let seconds = |value: Value| span(&value).map(|span| span.as_secs_f64());
        for (value, want) in [
            (Value::from(90), Some(90.0)),
            (Value::from(0.25), Some(0.25)),
            (Value::from("90s"), Some(90.0)),
            (Value::from("200ms"), Some(0.2)),
            (Value::from("1.5m"), Some(90.0)),
            (Value::from("2 h"), Some(7200.0)),
            (Value::from("soon"), None),
            (Value::from(-1), None),
            (Value::from("1e400"), None),
        ] {
            assert_eq!(seconds(value.clone()), want, "{value}");
        }
    }

    #[test]
    fn an_unknown_key_is_an_error_with_what_was_meant() {
        let mut section = parse("piton.toml", "[run]\nworker = 3\n").expect("it parses");
        let mut run = section.section("run").expect("a table").expect("there");
        run.count("workers").expect("a count");
        run.span("heartbeat").expect("a span");
        let error = run.finish().unwrap_err();
        assert_eq!(error.message, "there is no setting `run.worker`");
        assert_eq!(error.hint.as_deref(), Some("did you mean `run.workers`?"));
        section.finish().expect("nothing else is there");
    }
}
