//! What goes in and out is bounded: a client's argument cannot fill a journal, and an answer cannot fill a context.

use std::ops::Range;

use piton_engine::{Problem, ProblemKind};
use piton_model::secret;
use piton_model::text::printable;
use serde_json::{Map, Value, json};

/// The most characters of an answer's structured content, as JSON.
pub const MOST_CHARACTERS: usize = 25_000;

/// The most entries of a list in an answer.
const LONGEST_PAGE: usize = 200;

/// The most bytes of one text in the arguments of a call.
const LONGEST_TEXT: usize = 64 * 1024;

/// The most entries of one list in the arguments of a call.
const LONGEST_LIST: usize = 1_000;

/// Refuses arguments that are too large to be meant.
pub fn check_arguments(arguments: &Map<String, Value>) -> Result<(), Problem> {
    arguments.iter().try_for_each(|(name, value)| check_argument(name, value))
}

fn check_argument(name: &str, value: &Value) -> Result<(), Problem> {
    let too_large = |found: usize, what: &str, most: usize| {
        Err(Problem::new(ProblemKind::Usage, format!("`{name}` has {found} {what}; at most {most} are taken"))
            .hint("write the whole of it into a file, and record where that is"))
    };
    match value {
        Value::String(text) if text.len() > LONGEST_TEXT => too_large(text.len(), "bytes", LONGEST_TEXT),
        Value::Array(list) if list.len() > LONGEST_LIST => too_large(list.len(), "entries", LONGEST_LIST),
        Value::Array(list) => list.iter().try_for_each(|value| check_argument(name, value)),
        Value::Object(map) => map.values().try_for_each(|value| check_argument(name, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// Cuts a document until it fits: lists to as many entries, texts to as many characters. Each list that was cut is
/// named in `cut`, with how many entries it has. Credentials are masked.
pub fn fit(document: &Value, most: usize) -> Value {
    const STEPS: [(usize, usize); 9] = [
        (usize::MAX, 12_000),
        (200, 12_000),
        (100, 2_000),
        (50, 1_000),
        (25, 500),
        (12, 300),
        (6, 200),
        (3, 100),
        (1, 40),
    ];
    let mut fitted = Value::Null;
    for (entries, characters) in STEPS {
        let mut cut = Vec::new();
        fitted = shorten(document, "", entries, characters, &mut cut);
        if let (false, Value::Object(map)) = (cut.is_empty(), &mut fitted) {
            cut.truncate(10);
            map.insert("cut".to_owned(), Value::Array(cut));
        }
        if fitted.to_string().chars().count() <= most {
            break;
        }
    }
    fitted
}

/// A part of a list that is too long for one answer.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// How many entries are skipped.
    pub offset: usize,
    /// How many there are.
    pub of: usize,
}

/// Which end of a page stays when not all of it fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The first entries.
    First,
    /// The last ones.
    Last,
}

impl Page {
    /// The entries of the page, counted from the start of the list.
    pub fn first(self) -> Range<usize> {
        self.offset.min(self.of)..self.offset.saturating_add(LONGEST_PAGE).min(self.of)
    }

    /// The entries of the page, counted from the end of the list.
    pub fn last(self) -> Range<usize> {
        let Range { start, end } = self.first();
        self.of - end..self.of - start
    }

    /// What is said about a page of which so many entries are shown.
    pub fn shown(self, entries: usize) -> Value {
        let next = self.offset.saturating_add(entries);
        let next = (entries > 0 && next < self.of).then_some(next);
        json!({ "offset": self.offset, "shown": entries, "of": self.of, "next_offset": next })
    }

    /// Cuts a document whose list holds the page until it fits, and says in `page` what is shown and how to go on.
    pub fn cut(self, mut document: Value, list: &str, keep: Keep) -> Value {
        let all = match document[list].take() {
            Value::Array(all) => all,
            _ => Vec::new(),
        };
        let mut most = all.len();
        loop {
            let shown = match keep {
                Keep::First => &all[..most],
                Keep::Last => &all[all.len() - most..],
            };
            document[list] = shown.to_vec().into();
            document["page"] = self.shown(most);
            if most <= 1 || document.to_string().chars().count() <= MOST_CHARACTERS {
                return document;
            }
            most /= 2;
        }
    }
}

fn shorten(value: &Value, path: &str, entries: usize, characters: usize, cut: &mut Vec<Value>) -> Value {
    match value {
        Value::String(text) => Value::String(shorten_text(text, characters)),
        Value::Array(list) => {
            if list.len() > entries {
                cut.push(json!({ "list": path, "shown": entries, "of": list.len() }));
            }
            list.iter().take(entries).map(|value| shorten(value, path, entries, characters, cut)).collect()
        }
        Value::Object(map) => {
            let mut shorter = Map::new();
            for (key, value) in map {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                shorter.insert(key.clone(), shorten(value, &path, entries, characters, cut));
            }
            Value::Object(shorter)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// A text of at most that many characters, and a word about the rest. There are no credentials in it, and nothing that
/// would hide from whoever reads it: control, bidirectional and invisible characters become visible.
pub fn shorten_text(text: &str, most: usize) -> String {
    let lines: Vec<_> = text.split('\n').map(printable).collect();
    cut(&secret::mask(&lines.join("\n")), most)
}

/// The same for a document that is to be seen as it is, except for credentials.
pub fn shorten_document(text: &str, most: usize) -> String {
    cut(&secret::mask(text), most)
}

/// So many characters of a text, behind those that are skipped.
pub fn characters(text: &str, skip: usize, most: usize) -> String {
    text.chars().skip(skip).take(most).collect()
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}… ({} more characters)", &text[..at], text[at..].chars().count()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_any_size_are_judged() {
        let text = |length: usize| json!({ "text": "x".repeat(length) });
        let list = |length: usize| json!({ "steps": vec!["s"; length] });
        let deep = json!({ "a": [{ "b": "x".repeat(LONGEST_TEXT + 1) }] });
        for (arguments, want) in [
            (json!({}), true),
            (text(LONGEST_TEXT), true),
            (text(LONGEST_TEXT + 1), false),
            (list(LONGEST_LIST), true),
            (list(LONGEST_LIST + 1), false),
            (deep, false),
        ] {
            assert_eq!(check_arguments(arguments.as_object().expect("an object")).is_ok(), want);
        }
    }

    #[test]
    fn what_fits_is_left_alone() {
        let document = json!({ "units": [{ "unit": "plan:a", "blockers": ["no ferry"] }], "count": 1 });
        assert_eq!(fit(&document, MOST_CHARACTERS), document);
    }

    #[test]
    fn what_does_not_fit_is_cut_and_says_so() {
        for (units, blockers, length) in
            [(5_000, 0, 10), (3, 5_000, 10), (100, 100, 200), (1, 1, 900_000), (40, 1, 5_000)]
        {
            let unit = json!({ "unit": "x".repeat(length), "blockers": vec!["b".repeat(length); blockers] });
            let document = json!({ "units": vec![unit; units] });
            let fitted = fit(&document, MOST_CHARACTERS);
            let written = fitted.to_string().chars().count();
            assert!(written <= MOST_CHARACTERS, "{units} {blockers} {length}: {written}");
            let shown = fitted["units"].as_array().expect("units").len();
            let said =
                fitted["cut"].as_array().map(|cut| cut.iter().any(|cut| cut["list"] == "units" && cut["of"] == units));
            assert_eq!(said.unwrap_or(false), shown < units, "{units} {blockers} {length}: {shown}");
        }
    }

    #[test]
    fn pages_follow_one_another_without_a_gap() {
        for (of, size, keep) in
            [(0, 10, Keep::First), (7, 10, Keep::First), (1_000, 400, Keep::First), (1_000, 400, Keep::Last)]
        {
            let all: Vec<Value> = (0..of).map(|number| json!({ "number": number, "text": "x".repeat(size) })).collect();
            let (mut seen, mut offset) = (Vec::new(), Some(0));
            while let Some(at) = offset {
                let page = Page { offset: at, of };
                let part = if keep == Keep::First { &all[page.first()] } else { &all[page.last()] };
                let document = page.cut(json!({ "list": part }), "list", keep);
                assert!(document.to_string().len() <= MOST_CHARACTERS);
                let mut shown = document["list"].as_array().expect("a list").clone();
                assert_eq!(document["page"]["shown"], shown.len());
                match keep {
                    Keep::First => seen.append(&mut shown),
                    Keep::Last => {
                        shown.append(&mut seen);
                        seen = shown;
                    }
                }
                offset = document["page"]["next_offset"].as_u64().map(|next| next as usize);
            }
            assert_eq!(seen, all);
        }
    }

    #[test]
    fn a_page_beyond_the_end_is_empty() {
        for offset in [3, usize::MAX] {
            let document = Page { offset, of: 3 }.cut(json!({ "list": [] }), "list", Keep::First);
            assert_eq!(document["page"], json!({ "offset": offset, "shown": 0, "of": 3, "next_offset": null }));
        }
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(shorten_text("äöü", 3), "äöü");
        assert_eq!(shorten_text("äöüß", 3), "äöü… (1 more characters)");
        assert_eq!(shorten_document("äöüß", 3), "äöü… (1 more characters)");
    }

    #[test]
    fn nothing_hides_in_a_text() {
        assert_eq!(shorten_text("one\ntwo \u{1b}[31m\u{202e}\u{e0041}", 100), "one\ntwo \\x1b[31m\\u{202e}\\u{e0041}");
    }
}
