//! The lists of workstreams: their keys, their older names, and the forms of their items.

use serde_json::Value as NewValue;

use crate::content;
use crate::json::{Kind, Value};

/// How many workstreams of one list are read. No build has as many, and a hostile file must not take all memory.
const MOST: usize = 100_000;

/// How far a workstream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bucket {
    Failed,
    InProgress,
    Pending,
    Skipped,
    Completed,
}

/// The lists of workstreams, the one that decides first when a workstream is in several: what may not be done counts
/// as not done.
pub(super) const BUCKETS: [(Bucket, &str); 6] = [
    (Bucket::Failed, "failed_workstreams"),
    (Bucket::InProgress, "in_progress_workstreams"),
    (Bucket::Pending, "pending_workstreams"),
    (Bucket::Skipped, "dormant_workstreams"),
    (Bucket::Skipped, "deferred_workstreams"),
    (Bucket::Completed, "completed_workstreams"),
];

/// Older names of the lists, with the protocol's.
pub(super) const OLDER: [(&str, &str); 4] = [
    ("workstreams_failed", "failed_workstreams"),
    ("workstreams_in_progress", "in_progress_workstreams"),
    ("workstreams_pending", "pending_workstreams"),
    ("workstreams_completed", "completed_workstreams"),
];

/// The older name of a list, when it has one.
pub(super) fn older_name(key: &str) -> Option<&'static str> {
    OLDER.iter().find(|(_, known)| *known == key).map(|(older, _)| *older)
}

/// A workstream in a list.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Listed {
    pub id: String,
    pub name: Option<String>,
    /// As it is written, to be moved from one list to another as it is.
    pub written: NewValue,
}

impl Listed {
    /// A workstream that is written as the protocol does: its id.
    pub(super) fn plain(id: &str) -> Listed {
        Listed { id: id.to_owned(), name: None, written: id.into() }
    }
}

/// The workstreams of one list, under its name or its older one.
pub(super) fn listed(root: Value<'_, '_>, key: &str) -> Vec<Listed> {
    let keys = [Some(key), older_name(key)];
    keys.into_iter().flatten().filter_map(|key| root.get(key)).flat_map(items).take(MOST).collect()
}

/// Whether every item of a list has a form that can be written back.
pub(super) fn is_writable(root: Value<'_, '_>, key: &str) -> bool {
    let keys = [Some(key), older_name(key)];
    let mut there = keys.into_iter().flatten().filter_map(|key| root.get(key));
    there.all(|list| match list.kind() {
        Kind::Array => list.items().all(|item| one(item).is_some()),
        Kind::Null => true,
        Kind::Object | Kind::String | Kind::Number | Kind::True | Kind::False => false,
    })
}

fn items(list: Value<'_, '_>) -> Vec<Listed> {
    match list.kind() {
        Kind::Array => list.items().filter_map(one).take(MOST).collect(),
        _ => content::as_texts(list).iter().map(|id| Listed::plain(id)).collect(),
    }
}

/// A workstream: a text, or an object that says its id.
fn one(item: Value<'_, '_>) -> Option<Listed> {
    match item.kind() {
        Kind::String | Kind::Number => content::as_text(item).map(|id| Listed::plain(&id)),
        Kind::Object => {
            let id = ["id", "workstream", "ws", "name"].iter().find_map(|key| content::text(item, key))?;
            let name = ["name", "title"].iter().find_map(|key| content::text(item, key)).filter(|name| *name != id);
            let written = serde_json::from_str(item.raw()).ok()?;
            Some(Listed { id, name, written })
        }
        Kind::Null | Kind::True | Kind::False | Kind::Array => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workstreams_are_texts_or_objects_under_either_name() {
        for (json, want) in [
            (r#"{"completed_workstreams": ["WS1"]}"#, vec![("WS1", None)]),
            (r#"{"completed_workstreams": [{"id": "WS1", "name": "Data"}]}"#, vec![("WS1", Some("Data"))]),
            (r#"{"workstreams_completed": ["WS1", {"id": "WS2"}]}"#, vec![("WS1", None), ("WS2", None)]),
            (
                r#"{"completed_workstreams": ["WS1"], "workstreams_completed": ["WS2"]}"#,
                vec![("WS1", None), ("WS2", None)],
            ),
            (r#"{"completed_workstreams": "WS1"}"#, vec![("WS1", None)]),
            (r#"{"completed_workstreams": [null, 7, ["x"]]}"#, vec![("7", None)]),
            (r#"{}"#, vec![]),
        ] {
            let parsed = crate::json::parse(json).expect("good");
            let got = listed(parsed.root(), "completed_workstreams");
            let got: Vec<_> = got.iter().map(|it| (it.id.as_str(), it.name.as_deref())).collect();
            assert_eq!(got, want, "{json}");
        }
    }
}
