use serde_json::{Map, Value};

use super::splice::write_piece;
use super::writing::Writing;
use super::{Hash, Splice};

/// Whose journal it is, and in which form it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The unit's name with the directories that hold it: `crew:epics/e7/Secondary-A`.
    pub unit: String,
    /// The directory that holds the dialect's files.
    pub base: String,
    /// The unit's id, its parts between slashes.
    pub id: String,
    /// The unit's main document when the journal began.
    pub document: String,
    /// The last sequence number before this journal begins; more than zero after it was compacted.
    pub after: u64,
}

/// One event of a unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its number; the first one is 1, and none is left out.
    pub seq: u64,
    /// When, as RFC 3339.
    pub at: String,
    /// The attempt it belongs to.
    pub attempt: u64,
    /// Who recorded it.
    pub by: String,
    /// What later events are to know without reading this one: when somebody last recorded something, where the unit
    /// was last resumed. Each event passes it on.
    pub carried: Map<String, Value>,
    /// What kind of event it is.
    pub event: String,
    /// What became true.
    pub summary: String,
    /// What else is known about it.
    pub data: Map<String, Value>,
    /// What it does to files, in the order in which that happens.
    pub files: Vec<FileChange>,
    /// Where every document of the unit stands after it.
    pub documents: Vec<DocumentState>,
}

/// What an event does to a file: enough to do it again, or to see that it was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileChange {
    /// A document of the unit has new content.
    Write {
        /// The document.
        path: String,
        /// Where its new content was written first; nothing when somebody else wrote it.
        aside: Option<String>,
        /// What it held before; nothing when it was not there.
        before: Option<Hash>,
        /// Which file held that. It is kept until the next version is replaced, so its number stands for no other file.
        inode: Option<u64>,
        /// What it holds after; nothing when it is gone.
        after: Option<Hash>,
        /// How its content changed; nothing when a snapshot before this line holds all of it, or it is gone.
        splice: Option<Splice>,
    },
    /// A file that units share has new content.
    Share {
        /// The file.
        path: String,
        /// Where its new content was written first.
        aside: String,
        /// What it held before; nothing when it was not there.
        before: Option<Hash>,
        /// What it holds after.
        after: Hash,
        /// How its content changed.
        splice: Splice,
    },
    /// A line was added to a log that had this many bytes.
    Append {
        /// The log.
        path: String,
        /// How long it was.
        size: u64,
        /// What was added.
        text: String,
    },
    /// What a document held before is kept under another name.
    Keep {
        /// The document.
        from: String,
        /// Its copy.
        to: String,
    },
    /// A file is gone.
    Remove {
        /// The file.
        path: String,
    },
}

/// Where a document stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentState {
    /// The document.
    pub path: String,
    /// What it holds; nothing when it is not there.
    pub hash: Option<Hash>,
    /// What it held before that.
    pub was: Option<Hash>,
    /// Where in the journal its last snapshot begins.
    pub base: u64,
    /// How many bytes of splices came since then.
    pub weight: u64,
    /// How many splices.
    pub splices: u64,
}

impl Head {
    pub(crate) fn write_to(&self, out: &mut Writing) {
        out.begin_object();
        out.number("piton", 1).text("unit", &self.unit).text("base", &self.base).text("id", &self.id);
        out.text("document", &self.document).number("after", self.after);
    }

    pub(crate) fn from_json(object: &Map<String, Value>) -> Option<Head> {
        (object.get("piton")?.as_u64()? == 1).then_some(())?;
        Some(Head {
            unit: text(object, "unit")?,
            base: text(object, "base")?,
            id: text(object, "id")?,
            document: text(object, "document")?,
            after: object.get("after")?.as_u64()?,
        })
    }
}

impl Entry {
    /// Writes it as the beginning of an object, which whoever asked for it closes.
    pub(crate) fn write_to(&self, out: &mut Writing) {
        out.begin_object();
        out.number("seq", self.seq).text("at", &self.at).number("attempt", self.attempt);
        out.text("by", &self.by).text("event", &self.event).text("summary", &self.summary);
        if !self.carried.is_empty() {
            out.value("carried", &self.carried);
        }
        if !self.data.is_empty() {
            out.value("data", &self.data);
        }
        out.list("files", &self.files, FileChange::write_to);
        out.list("documents", &self.documents, DocumentState::write_to);
    }

    pub(crate) fn from_json(object: &Map<String, Value>) -> Option<Entry> {
        let list = |key: &str| object.get(key)?.as_array();
        Some(Entry {
            seq: object.get("seq")?.as_u64()?,
            at: text(object, "at")?,
            attempt: object.get("attempt")?.as_u64()?,
            by: text(object, "by")?,
            carried: object.get("carried").and_then(Value::as_object).cloned().unwrap_or_default(),
            event: text(object, "event")?,
            summary: text(object, "summary")?,
            data: object.get("data").and_then(Value::as_object).cloned().unwrap_or_default(),
            files: list("files")?.iter().map(FileChange::from_json).collect::<Option<_>>()?,
            documents: list("documents")?.iter().map(DocumentState::from_json).collect::<Option<_>>()?,
        })
    }

    /// Where a document stands after this event.
    pub fn document(&self, path: &str) -> Option<&DocumentState> {
        self.documents.iter().find(|document| document.path == path)
    }
}

impl FileChange {
    /// The file that it is about; of two the one that comes into being.
    pub fn path(&self) -> &str {
        match self {
            FileChange::Write { path, .. }
            | FileChange::Share { path, .. }
            | FileChange::Append { path, .. }
            | FileChange::Remove { path } => path,
            FileChange::Keep { to, .. } => to,
        }
    }

    fn write_to(&self, out: &mut Writing) {
        out.begin_object();
        match self {
            FileChange::Write { path, aside, before, inode, after, splice } => {
                out.text("write", path).maybe("aside", aside.as_deref()).hash("before", before.as_ref());
                match inode {
                    Some(inode) => out.number("inode", *inode),
                    None => out.maybe("inode", None),
                };
                out.hash("after", after.as_ref());
                match splice {
                    Some(splice) => out.list("splice", &splice.pieces, write_piece),
                    None => out.maybe("splice", None),
                };
            }
            FileChange::Share { path, aside, before, after, splice } => {
                out.text("share", path).text("aside", aside).hash("before", before.as_ref());
                out.hash("after", Some(after)).list("splice", &splice.pieces, write_piece);
            }
            FileChange::Append { path, size, text } => {
                out.text("append", path).number("size", *size).text("text", text);
            }
            FileChange::Keep { from, to } => {
                out.text("keep", from).text("as", to);
            }
            FileChange::Remove { path } => {
                out.text("remove", path);
            }
        }
        out.end_object();
    }

    fn from_json(value: &Value) -> Option<FileChange> {
        let object = value.as_object()?;
        let hash = |key: &str| match object.get(key) {
            None | Some(Value::Null) => Some(None),
            Some(value) => Hash::parse(value.as_str()?).map(Some),
        };
        if let Some(path) = text(object, "write") {
            let splice = object.get("splice").filter(|splice| !splice.is_null());
            let splice = splice.map(|splice| Splice::from_json(splice).ok_or(())).transpose().ok()?;
            let aside = text(object, "aside");
            let inode = object.get("inode").and_then(Value::as_u64);
            let (before, after) = (hash("before")?, hash("after")?);
            return Some(FileChange::Write { path, aside, before, inode, after, splice });
        }
        if let Some(path) = text(object, "share") {
            return Some(FileChange::Share {
                path,
                aside: text(object, "aside")?,
                before: hash("before")?,
                after: hash("after")??,
                splice: Splice::from_json(object.get("splice")?)?,
            });
        }
        if let Some(path) = text(object, "append") {
            return Some(FileChange::Append { path, size: object.get("size")?.as_u64()?, text: text(object, "text")? });
        }
        if let Some(from) = text(object, "keep") {
            return Some(FileChange::Keep { from, to: text(object, "as")? });
        }
        Some(FileChange::Remove { path: text(object, "remove")? })
    }
}

impl DocumentState {
    /// A document of which nothing is known yet.
    pub(crate) fn unknown(path: &str) -> DocumentState {
        DocumentState { path: path.to_owned(), hash: None, was: None, base: 0, weight: 0, splices: 0 }
    }

    fn write_to(&self, out: &mut Writing) {
        out.begin_list();
        out.item_text(&self.path).item_hash(self.hash.as_ref()).item_hash(self.was.as_ref());
        out.item_number(self.base).item_number(self.weight).item_number(self.splices);
        out.end_list();
    }

    fn from_json(value: &Value) -> Option<DocumentState> {
        let [path, hash, was, base, weight, splices] = value.as_array()?.as_slice() else { return None };
        let parse = |value: &Value| match value {
            Value::Null => Some(None),
            value => Hash::parse(value.as_str()?).map(Some),
        };
        Some(DocumentState {
            path: path.as_str()?.to_owned(),
            hash: parse(hash)?,
            was: parse(was)?,
            base: base.as_u64()?,
            weight: weight.as_u64()?,
            splices: splices.as_u64()?,
        })
    }
}

fn text(object: &Map<String, Value>, key: &str) -> Option<String> {
    object.get(key)?.as_str().map(str::to_owned)
}
