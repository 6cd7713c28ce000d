use serde::Serialize;

use super::Hash;

/// A line of a journal while it is written. Every event is one, so nothing of it is built twice.
#[derive(Debug, Default)]
pub(crate) struct Writing {
    bytes: Vec<u8>,
}

impl Writing {
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub fn begin_object(&mut self) {
        self.separate();
        self.bytes.push(b'{');
    }

    pub fn end_object(&mut self) {
        self.bytes.push(b'}');
    }

    pub fn begin_list(&mut self) {
        self.separate();
        self.bytes.push(b'[');
    }

    pub fn end_list(&mut self) {
        self.bytes.push(b']');
    }

    pub fn number(&mut self, key: &str, number: u64) -> &mut Writing {
        self.key(key).item_number(number)
    }

    pub fn text(&mut self, key: &str, text: &str) -> &mut Writing {
        self.key(key).item_text(text)
    }

    /// A text, or that there is none.
    pub fn maybe(&mut self, key: &str, text: Option<&str>) -> &mut Writing {
        self.key(key).item(&text)
    }

    pub fn hash(&mut self, key: &str, hash: Option<&Hash>) -> &mut Writing {
        self.key(key).item_hash(hash)
    }

    pub fn value(&mut self, key: &str, value: &impl Serialize) -> &mut Writing {
        self.key(key).item(value)
    }

    pub fn list<T>(&mut self, key: &str, items: &[T], write: impl Fn(&T, &mut Writing)) -> &mut Writing {
        self.key(key).begin_list();
        items.iter().for_each(|item| write(item, self));
        self.end_list();
        self
    }

    pub fn item_number(&mut self, number: u64) -> &mut Writing {
        self.item(&number)
    }

    pub fn item_text(&mut self, text: &str) -> &mut Writing {
        self.item(&text)
    }

    pub fn item_hash(&mut self, hash: Option<&Hash>) -> &mut Writing {
        self.item(&hash.map(Hash::as_str))
    }

    pub fn item(&mut self, value: &impl Serialize) -> &mut Writing {
        self.separate();
        serde_json::to_writer(&mut self.bytes, value).expect("memory takes it, and all keys are texts");
        self
    }

    fn key(&mut self, key: &str) -> &mut Writing {
        self.item(&key).bytes.push(b':');
        self
    }

    /// What follows something else is set apart from it.
    fn separate(&mut self) {
        if !matches!(self.bytes.last(), None | Some(b'{' | b'[' | b':')) {
            self.bytes.push(b',');
        }
    }
}
