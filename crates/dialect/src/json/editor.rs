use piton_model::Refusal;
use piton_model::hint::verbs;
use serde_json::{Map, Value as NewValue};

use crate::{Source, codes, open_json};

use super::{Edits, Json, Kind, Value, parse};

/// A document that is changed step by step. What no step names keeps its bytes.
///
/// Each step reads the text anew, which is cheap for a checkpoint; a document of megabytes takes one [`Edits`].
#[derive(Debug, Clone)]
pub struct Editor {
    text: String,
    /// Whether a byte order mark stood before the text, and will again.
    is_marked: bool,
}

impl Editor {
    /// Takes a text that is known to be a JSON object; anything else is given back.
    pub fn new(text: impl Into<String>) -> Result<Editor, String> {
        let text = text.into();
        match parse(&text) {
            Ok(json) if json.root().kind() == Kind::Object => {}
            _ => return Err(text),
        }
        Ok(Editor { text, is_marked: false })
    }

    /// Takes the bytes of a document that is to be changed. One that two programs could understand differently is
    /// left to a person: nothing is written into it.
    pub fn open(path: &str, bytes: &[u8]) -> Result<Editor, Refusal> {
        let source = Source { path: path.into(), bytes, modified: None };
        let (json, findings) = open_json(&source);
        let in_the_way = [&codes::NOT_JSON, &codes::NOT_UTF8, &codes::NOT_AN_OBJECT, &codes::REPEATED_KEY];
        let found = findings.finish();
        let odd = found.iter().find(|finding| in_the_way.iter().any(|code| code.name == finding.code.name));
        match (json, odd) {
            (Some(json), None) => {
                let is_marked = bytes.starts_with(b"\xef\xbb\xbf");
                Ok(Editor { text: json.text().to_owned(), is_marked })
            }
            (_, odd) => {
                let why = odd.map_or("it cannot be read", |finding| &finding.message);
                Err(Refusal::document(format!("nothing is written into a broken document: {why}: {path}"))
                    .hint(verbs::CHECK.call().path(path).to("see what is wrong with")))
            }
        }
    }

    /// A new document, laid out as documents of this kind are: two spaces, a final line end.
    pub fn create(value: &NewValue) -> Editor {
        Editor { text: format!("{value:#}\n"), is_marked: false }
    }

    /// The text as it is now.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The bytes to be written, when all is done.
    pub fn into_bytes(self) -> Vec<u8> {
        let mark = if self.is_marked { "\u{feff}" } else { "" };
        format!("{mark}{}", self.text).into_bytes()
    }

    /// Looks at the document as it is now.
    pub fn look<T>(&self, look: impl FnOnce(Value<'_, '_>) -> T) -> T {
        look(self.json().root())
    }

    /// The value at a path of keys, as a new one.
    pub fn get(&self, path: &[&str]) -> Option<NewValue> {
        self.look(|root| at(root, path).map(|value| to_new(value)))
    }

    /// Sets a value; objects on the way that are missing, or are something else, are made.
    pub fn set(&mut self, path: &[&str], value: impl Into<NewValue>) -> &mut Editor {
        let value = value.into();
        self.text = {
            let json = self.json();
            // The innermost object that is there takes the rest of the path.
            let mut object = json.root();
            let mut depth = 0;
            while depth + 1 < path.len() {
                match object.get(path[depth]).filter(|next| next.kind() == Kind::Object) {
                    Some(next) => object = next,
                    None => break,
                }
                depth += 1;
            }
            let wrap = |inner: NewValue, key: &&str| NewValue::Object(Map::from_iter([((*key).to_owned(), inner)]));
            let value = path[depth + 1..].iter().rev().fold(value, wrap);
            if object.get(path[depth]).is_some_and(|old| to_new(old) == value) {
                return self;
            }
            let mut edits = Edits::new(&json);
            edits.set(object, path[depth], value);
            edits.apply()
        };
        self
    }

    /// Adds a value at the end of a list, which is made when it is missing or something else.
    pub fn push(&mut self, path: &[&str], value: impl Into<NewValue>) -> &mut Editor {
        let value = value.into();
        let pushed = {
            let json = self.json();
            at(json.root(), path).filter(|list| list.kind() == Kind::Array).map(|list| {
                let mut edits = Edits::new(&json);
                edits.push(list, value.clone());
                edits.apply()
            })
        };
        match pushed {
            Some(text) => self.text = text,
            None => {
                self.set(path, NewValue::Array(vec![value]));
            }
        }
        self
    }

    /// Adds a text at the end of a list of texts, unless it is there.
    pub fn push_new(&mut self, path: &[&str], text: &str) -> &mut Editor {
        if self.strings(path).iter().any(|known| known == text) {
            return self;
        }
        self.push(path, text)
    }

    /// Makes several changes at once, to values found by any rule.
    pub fn edit(&mut self, change: impl for<'a, 'j> FnOnce(Value<'a, 'j>, &mut Edits<'a, 'j>)) -> &mut Editor {
        self.text = {
            let json = self.json();
            let mut edits = Edits::new(&json);
            change(json.root(), &mut edits);
            edits.apply()
        };
        self
    }

    /// Removes a key, where it is there.
    pub fn remove(&mut self, path: &[&str]) -> &mut Editor {
        let Some((key, outer)) = path.split_last() else { return self };
        let removed = {
            let json = self.json();
            at(json.root(), outer).filter(|object| object.get(key).is_some()).map(|object| {
                let mut edits = Edits::new(&json);
                edits.remove(object, key);
                edits.apply()
            })
        };
        if let Some(text) = removed {
            self.text = text;
        }
        self
    }

    /// The texts of a list; none when it is something else.
    pub fn strings(&self, path: &[&str]) -> Vec<String> {
        self.look(|root| {
            let items = at(root, path).into_iter().flat_map(Value::items);
            items.filter_map(|item| item.as_str().map(|text| text.into_owned())).collect()
        })
    }

    /// The text at a path, when it is one.
    pub fn string(&self, path: &[&str]) -> Option<String> {
        self.look(|root| at(root, path).and_then(|value| value.as_str().map(|text| text.into_owned())))
    }

    /// The whole number at a path, when it is one.
    pub fn int(&self, path: &[&str]) -> Option<i64> {
        self.look(|root| at(root, path).and_then(Value::as_int))
    }

    fn json(&self) -> Json<'_> {
        parse(&self.text).expect("an editor holds nothing but JSON")
    }
}

/// The value at a path of keys.
pub(super) fn at<'a, 'j>(root: Value<'a, 'j>, path: &[&str]) -> Option<Value<'a, 'j>> {
    path.iter().try_fold(root, |object, key| object.get(key))
}

/// A value as a new one.
pub(super) fn to_new(value: Value<'_, '_>) -> NewValue {
    match value.kind() {
        Kind::Array => NewValue::Array(value.items().map(to_new).collect()),
        Kind::Object => NewValue::Object(
            value
                .entries()
                .map(|(key, value)| (key.as_str().unwrap_or_default().into_owned(), to_new(value)))
                .collect(),
        ),
        _ => serde_json::from_str(value.raw())
            .unwrap_or_else(|_| NewValue::String(value.as_str().unwrap_or_default().into_owned())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn editor(text: &str) -> Editor {
        Editor::new(text).expect("an object")
    }

    #[test]
    fn a_key_goes_with_its_comma_and_nothing_else() {
        for (text, key, want) in [
            ("{\"a\": 1, \"b\": 2}", "a", "{\"b\": 2}"),
            ("{\"a\": 1, \"b\": 2}", "b", "{\"a\": 1}"),
            ("{\n  \"a\": 1,\n  \"b\": 2\n}\n", "a", "{\n  \"b\": 2\n}\n"),
            ("{\r\n  \"a\": 1,\r\n  \"b\": 2\r\n}", "b", "{\r\n  \"a\": 1\r\n}"),
            ("{ \"a\": 1 }", "a", "{}"),
            ("{\"a\": 1, \"b\": 2, \"c\": 3}", "b", "{\"a\": 1, \"c\": 3}"),
            ("{\"a\": 1}", "x", "{\"a\": 1}"),
        ] {
            assert_eq!(editor(text).remove(&[key]).text(), want, "{text:?} without {key}");
        }
    }

    #[test]
    fn missing_objects_on_the_way_are_made() {
        assert_eq!(editor("{}").set(&["a", "b", "c"], 1).get(&["a"]), Some(json!({"b": {"c": 1}})));
        assert_eq!(editor("{\"a\": {\"x\": 0}}").set(&["a", "b"], 1).text(), "{\"a\": {\"x\": 0, \"b\": 1}}");
        assert_eq!(editor("{\"a\": null}").set(&["a", "b"], 1).text(), "{\"a\": {\"b\":1}}");
    }

    #[test]
    fn a_value_that_stays_the_same_keeps_its_spelling() {
        assert_eq!(
            editor("{\"a\": 1.50, \"b\": \"\\u0041\"}").set(&["b"], "A").text(),
            "{\"a\": 1.50, \"b\": \"\\u0041\"}"
        );
    }

    #[test]
    fn a_list_takes_a_text_once() {
        let mut list = editor("{\"files\": [\"a\"]}");
        list.push_new(&["files"], "a").push_new(&["files"], "b").push(&["new"], 1);
        assert_eq!(list.text(), "{\"files\": [\"a\", \"b\"], \"new\": [1]}");
    }

    #[test]
    fn what_is_no_object_is_given_back() {
        assert!(Editor::new("[1]").is_err());
        assert!(Editor::new("{").is_err());
    }
}
