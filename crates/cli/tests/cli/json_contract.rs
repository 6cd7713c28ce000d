//! What programs rely on: the keys of each JSON document, and the words of lifecycle and liveness.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::Workspace;
use crate::support::harbour::harbour;

const UNIT: [&str; 17] = [
    "unit",
    "dialect",
    "id",
    "title",
    "path",
    "lifecycle",
    "status_text",
    "position",
    "done",
    "total",
    "percent",
    "agent",
    "attempt",
    "liveness",
    "last_seen",
    "blockers",
    "findings",
];
/// Keys that `status --json` has beyond the promised ones.
const MORE: [&str; 1] = ["reason"];
const LIFECYCLES: [&str; 8] = ["queued", "running", "waiting", "paused", "blocked", "failed", "done", "unknown"];
const LIVENESS: [&str; 6] = ["alive", "late", "stale", "dead", "idle", "unknown"];

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

fn set<'a>(names: impl IntoIterator<Item = &'a &'a str>) -> BTreeSet<&'a str> {
    names.into_iter().copied().collect()
}

fn units(document: &Value) -> &Vec<Value> {
    document["units"].as_array().expect("units")
}

#[test]
fn status_has_the_promised_keys_and_words() {
    let workspace = harbour();
    let document = workspace.run(&["status", "--json"]).exits(0).json();
    assert_eq!(keys(&document), set(&["as_of", "workspace", "units", "summary", "run"]));
    assert_eq!(document["as_of"], "2026-02-20T12:00:00Z");
    let (mut lifecycles, mut lives) = (BTreeSet::new(), BTreeSet::new());
    for unit in units(&document) {
        assert_eq!(keys(unit), set(UNIT.iter().chain(&MORE)));
        assert_eq!(keys(&unit["findings"]), set(&["error", "warning", "note"]));
        lifecycles.insert(unit["lifecycle"].as_str().expect("a word"));
        lives.insert(unit["liveness"].as_str().expect("a word"));
        let types = unit["unit"].is_string()
            && unit["id"].is_string()
            && unit["path"].is_string()
            && unit["status_text"].is_string()
            && ["done", "total"].iter().all(|key| unit[key].is_u64())
            && unit["percent"].is_number()
            && unit["blockers"].is_array()
            && ["title", "position", "agent", "last_seen"]
                .iter()
                .all(|key| unit[key].is_string() || unit[key].is_null());
        assert!(types, "{unit:#}");
        let name = unit["unit"].as_str().expect("a name");
        assert!(name.starts_with(&format!("{}:", unit["dialect"].as_str().expect("a dialect"))), "{name}");
        let share = unit["percent"].as_f64().expect("a number");
        assert!((0.0..=100.0).contains(&share), "{unit:#}");
    }
    assert_eq!(lifecycles, set(&LIFECYCLES), "the harbour has a unit in every lifecycle");
    assert!(lives.is_subset(&set(&LIVENESS)), "{lives:?}");
    assert!(lives.is_superset(&set(&["alive", "late", "stale", "idle"])), "{lives:?}");
}

#[test]
fn the_summary_counts_the_units() {
    let document = harbour().run(&["status", "--json"]).json();
    let summary = &document["summary"];
    let count = |key: &str, word: &str| units(&document).iter().filter(|unit| unit[key] == word).count();
    assert_eq!(summary["units"], units(&document).len());
    for lifecycle in LIFECYCLES {
        assert_eq!(summary[lifecycle], count("lifecycle", lifecycle), "{lifecycle}");
    }
    for liveness in ["late", "stale"] {
        assert_eq!(summary[liveness], count("liveness", liveness), "{liveness}");
    }
}

#[test]
fn every_listed_unit_can_be_asked_for_by_its_name() {
    let workspace = harbour();
    let all = workspace.run(&["status", "--json"]).json();
    for unit in units(&all) {
        let name = unit["unit"].as_str().expect("a name");
        let one = workspace.run(&["status", name, "--json"]).exits(0).json();
        let alone = &units(&one)[0];
        for key in UNIT.iter().filter(|key| **key != "id") {
            assert_eq!(alone[key], unit[key], "{key} of {name}");
        }
        let judged = workspace.run(&["why", name, "--json"]).exits(0).json();
        assert_eq!((&judged["unit"], &judged["liveness"]), (&unit["unit"], &unit["liveness"]));
        assert_eq!(judged["lifecycle"], unit["lifecycle"]);
    }
}

#[test]
fn check_has_exactly_the_promised_keys() {
    let document = harbour().run(&["check", "--json"]).exits(3).json();
    assert_eq!(keys(&document), set(&["findings", "files"]));
    assert!(document["files"].is_u64());
    let findings = document["findings"].as_array().expect("findings");
    assert!(!findings.is_empty());
    for finding in findings {
        assert_eq!(keys(finding), set(&["code", "severity", "path", "line", "message", "help"]));
        assert!(["error", "warning", "note"].iter().any(|word| finding["severity"] == *word), "{finding}");
        assert!(finding["line"].is_u64() || finding["line"].is_null(), "{finding}");
    }
}

#[test]
fn status_and_check_count_the_same_findings() {
    let workspace = harbour();
    let summary = workspace.run(&["status", "--json"]).json()["summary"]["findings"].clone();
    let document = workspace.run(&["check", "--json"]).json();
    for severity in ["error", "warning", "note"] {
        let findings = document["findings"].as_array().expect("findings");
        let count = findings.iter().filter(|finding| finding["severity"] == severity).count();
        assert_eq!(summary[severity], count, "{severity}");
    }
}

#[test]
fn json_is_one_document_and_nothing_else() {
    for workspace in [harbour(), Workspace::new()] {
        for arguments in [&["status", "--json"][..], &["check", "--json"], &["stale", "--json"]] {
            let run = workspace.run(arguments);
            run.json();
            assert_eq!(run.stderr, "", "{}", run.transcript());
        }
    }
}
