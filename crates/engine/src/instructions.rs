//! What the user wrote for the next worker of a unit, as the journal knows it.

use piton_store::journal::Entry;
use serde_json::Value;

use crate::record::{SESSION, TICKET};

/// The most instructions that are told.
const MOST: usize = 10;

/// Instructions of the user since the unit began, the oldest first: answers to what blocked it, and notes for whoever
/// resumes. What a worker, a session or the lead recorded is not the user's.
pub(crate) fn of_user(events: &[Entry]) -> Vec<String> {
    let begin = events.iter().rposition(|event| matches!(event.event.as_str(), "started" | "restarted")).unwrap_or(0);
    let is_users =
        |event: &&Entry| event.by != "lead" && !event.data.contains_key(TICKET) && !event.data.contains_key(SESSION);
    let text = |event: &Entry| {
        let text = |key: &str| event.data.get(key).and_then(Value::as_str).map(str::trim);
        let is_for_next = event.data.get("resume").and_then(Value::as_bool) == Some(true);
        let said = match event.event.as_str() {
            "noted" if is_for_next => text("text"),
            "unblocked" => text("answer"),
            _ => None,
        };
        said.filter(|said| !said.is_empty()).map(str::to_owned)
    };
    let mut found: Vec<String> = Vec::new();
    for said in events[begin..].iter().filter(is_users).filter_map(text) {
        found.retain(|known| *known != said);
        found.push(said);
    }
    found.split_off(found.len().saturating_sub(MOST))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(name: &str, by: &str, data: &Value) -> Entry {
        Entry {
            seq: 1,
            at: "2026-01-01T00:00:00Z".to_owned(),
            attempt: 1,
            by: by.to_owned(),
            carried: serde_json::Map::new(),
            event: name.to_owned(),
            summary: String::new(),
            data: data.as_object().cloned().unwrap_or_default(),
            files: Vec::new(),
            documents: Vec::new(),
        }
    }

    #[test]
    fn only_the_users_words_since_the_unit_began_are_instructions() {
        let events = [
            event("noted", "main", &json!({"text": "of another life", "resume": true})),
            event("restarted", "main", &json!({})),
            event("noted", "main", &json!({"text": "use stone", "resume": true})),
            event("noted", "main", &json!({"text": "a mere note"})),
            event("noted", "main", &json!({"text": "a worker's", "resume": true, "ticket": "2"})),
            event("noted", "main", &json!({"text": "a session's", "resume": true, "session": "x"})),
            event("noted", "lead", &json!({"text": "the lead's", "resume": true})),
            event("unblocked", "main", &json!({"which": "the crane", "answer": " take the small one "})),
            event("unblocked", "main", &json!({})),
            event("noted", "mason", &json!({"text": "use stone", "resume": true})),
        ];
        assert_eq!(of_user(&events), ["take the small one", "use stone"]);
    }
}
