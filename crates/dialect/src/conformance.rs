//! The keys of the five protocols, written down a second time: every key of a document with values that do not belong
//! there. What the reader's tables say must agree.

mod build;
mod crew;
mod pipeline;
mod plan;
mod task;

use std::collections::BTreeSet;

use piton_model::Time;
use serde_json::Value;

use crate::shape::{Field, Need, check};
use crate::{Findings, json};

const MUST: Need = Need::Required;
const MAY: Need = Need::Optional;

/// 2026-11-17T00:00:00Z, later than every time in the documents.
const NOW: i64 = 1_794_873_600;

/// The findings of a document, each as its code and message.
fn findings(fields: &'static [Field], document: &Value) -> Vec<String> {
    let text = document.to_string();
    let parsed = json::parse(&text).expect("a document is JSON");
    let mut findings = Findings::new("document.json".into(), &text);
    check(parsed.root(), fields, Time::from_unix_seconds(NOW), &mut findings);
    findings.finish().iter().map(|found| format!("{}: {}", found.code.name, found.message)).collect()
}

/// Checks a whole document, and then each key of it: with every wrong value it has a finding that names the key, and
/// without the key it has one when the key must be there.
#[track_caller]
fn keys_hold(fields: &'static [Field], whole: &Value, keys: &[(&str, Need, Value)]) {
    assert_eq!(findings(fields, whole), [""; 0], "the whole document");
    let listed: BTreeSet<&str> = keys.iter().filter_map(|(at, _, _)| at.split('/').nth(1)).collect();
    let all: BTreeSet<&str> = whole.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(listed, all, "every key is listed");
    for (at, need, wrong) in keys {
        let (parent, key) = at.rsplit_once('/').expect("a pointer");
        for value in wrong.as_array().expect("a list of wrong values") {
            let mut changed = whole.clone();
            *changed.pointer_mut(at).unwrap_or_else(|| panic!("{at} is in the document")) = value.clone();
            let found = findings(fields, &changed);
            assert!(found.iter().any(|told| told.contains(key)), "{at} is {value}: {found:?}");
        }
        let mut without = whole.clone();
        let object = without.pointer_mut(parent).and_then(Value::as_object_mut);
        object.and_then(|object| object.shift_remove(key)).unwrap_or_else(|| panic!("{at} is in the document"));
        let is_missed = findings(fields, &without).iter().any(|told| told.starts_with("missing-key"));
        assert_eq!(is_missed, *need == MUST, "without {at}");
    }
}

/// Checks that a key takes each of these words, and no other.
#[track_caller]
fn words_hold(fields: &'static [Field], whole: &Value, at: &str, words: &[&str]) {
    let with = |word: &str| {
        let mut changed = whole.clone();
        *changed.pointer_mut(at).expect("the key is there") = word.into();
        findings(fields, &changed)
    };
    for word in words {
        assert_eq!(with(word), [""; 0], "{at} is {word}");
    }
    assert_ne!(with("something else"), [""; 0], "{at} takes any word");
}
