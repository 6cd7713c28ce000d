//! Claims in JSON, which helpers are often told to answer in.

use super::{in_lines, places, verdict};
use crate::json::{Kind, Value, parse};

/// Keys whose values say how something stands.
const STATUS: [&str; 5] = ["status", "state", "result", "outcome", "verdict"];

/// Finds the claims in the JSON of a text, and returns the rest of it.
pub(super) fn claims(text: &str, ids: &[&str], found: &mut [bool]) -> String {
    let mut rest = String::new();
    for part in parts(text) {
        match parse(part.trim()) {
            Ok(json) if matches!(json.root().kind(), Kind::Object | Kind::Array) => {
                look(json.root(), None, ids, found);
            }
            _ => rest.push_str(part),
        }
    }
    rest
}

/// A text in pieces that may be JSON as a whole: all of it, what stands between fences, a line.
fn parts(text: &str) -> Vec<&str> {
    if text.trim_start().starts_with(['{', '[']) && parse(text.trim()).is_ok() {
        return vec![text];
    }
    let mut all = Vec::new();
    let mut start = None;
    let mut next = 0;
    for line in text.split_inclusive('\n') {
        let at = next;
        next += line.len();
        let is_fence = line.trim_start().starts_with("```");
        match start {
            Some(begin) if is_fence => {
                all.push(&text[begin..at]);
                start = None;
            }
            Some(_) => {}
            None if is_fence => start = Some(next),
            None => all.push(line),
        }
    }
    all.extend(start.map(|begin| &text[begin..]));
    all
}

/// Looks into a value. `said` is what stands above it.
fn look(value: Value<'_, '_>, said: Option<bool>, ids: &[&str], found: &mut [bool]) {
    match value.kind() {
        Kind::Object => {
            let said = own_status(value).or(said);
            for (key, inner) in value.entries() {
                let key = key.as_str().unwrap_or_default();
                match ids.iter().position(|id| *id == key) {
                    Some(place) => found[place] |= of_member(inner) == Some(true),
                    None => look(inner, of_key(&key).or(said), ids, found),
                }
            }
        }
        Kind::Array => value.items().for_each(|item| look(item, said, ids, found)),
        Kind::String => {
            let text = value.as_str().unwrap_or_default();
            for (place, id) in ids.iter().enumerate() {
                let is_named = *id == text || places(&text, id, ids).next().is_some();
                found[place] |= is_named && said == Some(true) && verdict(&text) != Some(false);
            }
            in_lines(&text, ids, found);
        }
        Kind::Number | Kind::True | Kind::False | Kind::Null => {}
    }
}

/// What the members of an object say about all of it: `"status": "done"`, `"completed": true`.
fn own_status(object: Value<'_, '_>) -> Option<bool> {
    object.entries().find_map(|(key, value)| {
        let key = key.as_str()?;
        match value.kind() {
            Kind::String if STATUS.contains(&key.to_lowercase().as_str()) => verdict(&value.as_str()?),
            Kind::True | Kind::False => of_key(&key).map(|means_done| Some(means_done) == value.as_bool()),
            _ => None,
        }
    })
}

/// What is said of a task whose id is a key.
fn of_member(value: Value<'_, '_>) -> Option<bool> {
    match value.kind() {
        Kind::True | Kind::False => value.as_bool(),
        Kind::String => verdict(&value.as_str()?),
        Kind::Object => own_status(value),
        Kind::Array | Kind::Number | Kind::Null => None,
    }
}

/// What a key says of what is below it: `completed_tasks`, `tasksRemaining`.
fn of_key(key: &str) -> Option<bool> {
    let mut words = String::new();
    for c in key.chars() {
        if c.is_uppercase() {
            words.push(' ');
        }
        words.push(if c == '_' { ' ' } else { c });
    }
    verdict(&words)
}

#[cfg(test)]
mod tests {
    use super::super::claimed;

    const IDS: [&str; 3] = ["db-schema", "auth-2", "light"];

    #[test]
    fn claims_in_json_are_told_from_what_it_says_else() {
        for (text, want) in [
            (r#"{"completed": ["db-schema", "auth-2"]}"#, vec!["db-schema", "auth-2"]),
            ("{\n  \"completed\": [\n    \"light\"\n  ],\n  \"remaining\": [\"auth-2\"]\n}", vec!["light"]),
            (r#"{"completedTasks": ["light"], "tasks_failed": ["auth-2"]}"#, vec!["light"]),
            (r#"{"tasks": [{"id": "light", "done": true}, {"id": "auth-2", "done": false}]}"#, vec!["light"]),
            (r#"[{"task": "light", "status": "completed"}, {"task": "auth-2", "status": "pending"}]"#, vec!["light"]),
            (r#"{"light": "done", "auth-2": {"status": "blocked"}, "db-schema": true}"#, vec!["db-schema", "light"]),
            (r#"{"light": false, "auth-2": 1, "db-schema": null}"#, vec![]),
            (r#"{"pending": {"light": {"status": "done"}}, "done": {"auth-2": {}}}"#, vec!["light"]),
            (r#"{"summary": "db-schema is done, the rest is not."}"#, vec![]),
            (r#"{"summary": "db-schema is done. auth-2 is not."}"#, vec!["db-schema"]),
            (r#"{"done": ["db-schema: table made", "auth-2: not yet"]}"#, vec!["db-schema"]),
            ("Here it is:\n```json\n{\"done\": [\n\"light\"]}\n```\nauth-2 is done.", vec!["auth-2", "light"]),
            ("Report:\n{\"done\": false, \"id\": \"light\"}\n", vec![]),
            ("```\nlight done\n", vec![]),
            ("```\n`light` done\n", vec!["light"]),
            ("[x] auth-2", vec!["auth-2"]),
            (r#"["auth-2"]"#, vec![]),
            (r#"{"done": ["#, vec![]),
        ] {
            assert_eq!(claimed(text, &IDS), want, "{text}");
        }
    }
}
