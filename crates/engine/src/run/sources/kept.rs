//! The files that steer a run, as they are kept in the run's directory for its next lead.

use std::collections::BTreeMap;

use piton_store::disk::{Access, Disk, DiskError};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Source;

/// A file as it is written down.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Kept {
    /// Earlier versions wrote the text alone.
    Text(String),
    Source {
        text: String,
        on_base: Option<String>,
    },
}

/// The files that steered a run, each by its path.
pub(in crate::run) fn load(disk: &dyn Disk, directory: &str) -> BTreeMap<String, Source> {
    let read = |name: &str| disk.read(&format!("{directory}/{name}")).ok();
    let kept = read(SOURCES).or_else(|| read(LISTS));
    let kept: BTreeMap<String, Kept> =
        kept.and_then(|content| serde_json::from_slice(&content.bytes).ok()).unwrap_or_default();
    let source = |kept: Kept| {
        let (text, on_base) = match kept {
            Kept::Text(text) => (text, None),
            Kept::Source { text, on_base } => (text, on_base),
        };
        let text = Some(text.into_bytes());
        Source { began: text.clone(), text, on_base: on_base.map(String::into_bytes) }
    };
    kept.into_iter().map(|(path, kept)| (path, source(kept))).collect()
}

/// Writes down the files that steer a run. What is no text, and what is not there, is left out.
pub(in crate::run) fn save(
    disk: &dyn Disk,
    directory: &str,
    sources: &BTreeMap<String, Source>,
) -> Result<(), DiskError> {
    let text = |bytes: &Option<Vec<u8>>| bytes.clone().and_then(|bytes| String::from_utf8(bytes).ok());
    let kept = |(path, source): (&String, &Source)| {
        let on_base = text(&source.on_base);
        Some((path.clone(), Kept::Source { text: text(&source.text)?, on_base }))
    };
    let kept: BTreeMap<String, Kept> = sources.iter().filter_map(kept).collect();
    let bytes = format!("{:#}\n", json!(kept)).into_bytes();
    piton_store::replace(disk, &format!("{directory}/{SOURCES}"), &bytes, Access::Private)
}

const SOURCES: &str = "sources.json";

/// Where earlier versions kept them.
const LISTS: &str = "lists.json";
