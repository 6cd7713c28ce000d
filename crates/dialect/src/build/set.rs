//! A version of a build's checkpoint with some workstreams as another version, or an event, has them.

use std::collections::BTreeMap;

use piton_model::Refusal;
use piton_model::authorship::StepMark;
use serde_json::Value as NewValue;

use super::lists::{BUCKETS, Bucket, Listed, listed};
use crate::json::Editor;

/// Returns the checkpoint with workstreams in other lists. Their artifacts are those of another version, where that has any.
pub fn with_workstreams(
    path: &str,
    bytes: &[u8],
    other: &[u8],
    wanted: &BTreeMap<String, StepMark>,
) -> Result<Vec<u8>, Refusal> {
    let (mut editor, other) = (Editor::open(path, bytes)?, Editor::open(path, other)?);
    for (id, mark) in wanted {
        let bucket = match mark {
            StepMark::Open => Bucket::Pending,
            StepMark::Begun => Bucket::InProgress,
            StepMark::Done => Bucket::Completed,
        };
        put(&mut editor, id, bucket);
        if let Some(made) = other.get(&["artifacts", id]).filter(|_| *mark == StepMark::Done) {
            editor.set(&["artifacts", id], made);
        }
    }
    Ok(editor.into_bytes())
}

/// Moves a workstream into the list of a bucket and out of all others. It stays as it is written.
fn put(editor: &mut Editor, id: &str, bucket: Bucket) {
    let mut moved = None;
    for (_, key) in BUCKETS {
        let mut list = editor.look(|root| listed(root, key));
        let Some(at) = list.iter().position(|known| known.id == id) else { continue };
        moved = moved.or(Some(list.remove(at)));
        write(editor, key, list);
    }
    let key = BUCKETS.iter().find(|(found, _)| *found == bucket).map(|(_, key)| *key);
    if let Some(key) = key {
        let mut list = editor.look(|root| listed(root, key));
        list.push(moved.unwrap_or_else(|| Listed::plain(id)));
        write(editor, key, list);
    }
}

fn write(editor: &mut Editor, key: &str, list: Vec<Listed>) {
    if let Some(older) = super::lists::older_name(key) {
        // The list has one name from now on, the protocol's.
        editor.remove(&[older]);
    }
    editor.set(&[key], NewValue::Array(list.into_iter().map(|each| each.written).collect()));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn workstreams_move_and_the_rest_stays() {
        let before = json!({
            "prd": "PRD-1", "status": "in_progress", "in_progress_workstreams": [{"id": "WS1", "name": "one"}],
            "workstreams_pending": ["WS2"], "completed_workstreams": ["WS3"], "artifacts": {"WS3": ["c"]}, "mine": 1,
        });
        let other = json!({"artifacts": {"WS1": ["a"], "WS3": ["x"]}});
        let wanted = [("WS1", StepMark::Done), ("WS2", StepMark::Begun)];
        let wanted = wanted.into_iter().map(|(id, mark)| (id.to_owned(), mark)).collect();
        let (before, other) = (before.to_string(), other.to_string());
        let found = with_workstreams("p", before.as_bytes(), other.as_bytes(), &wanted).expect("it is JSON");
        let found: NewValue = serde_json::from_slice(&found).expect("it is JSON");
        let want = json!({
            "prd": "PRD-1", "status": "in_progress", "in_progress_workstreams": ["WS2"],
            "completed_workstreams": ["WS3", {"id": "WS1", "name": "one"}],
            "artifacts": {"WS3": ["c"], "WS1": ["a"]}, "mine": 1, "pending_workstreams": [],
        });
        assert_eq!(found, want);
    }
}
