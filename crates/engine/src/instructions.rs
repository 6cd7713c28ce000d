//! What the user wrote for the next worker of a unit, as the journal knows it.

use piton_store::journal::Entry;
use serde_json::Value;

use crate::persons_word::is_by_person;
use crate::record::SESSION;

/// The most instructions that are told.
const MOST: usize = 10;

/// Instructions of the user since the unit began, the oldest first: answers, each with the question where that is known,
/// and notes for whoever resumes. What a worker, a session or the lead recorded is not the user's.
pub(crate) fn of_user(events: &[Entry]) -> Vec<String> {
    let begin = events.iter().rposition(|event| matches!(event.event.as_str(), "started" | "restarted")).unwrap_or(0);
    let is_users = |event: &Entry| is_by_person(event) && !event.data.contains_key(SESSION);
    let life = &events[begin..];
    let text = |event: &Entry, key: &str| {
        let said = event.data.get(key).and_then(Value::as_str).map(str::trim);
        said.filter(|said| !said.is_empty()).map(str::to_owned)
    };
    let said = |(at, event): (usize, &Entry)| {
        let is_for_next = event.data.get("resume").and_then(Value::as_bool) == Some(true);
        match event.event.as_str() {
            "noted" if is_for_next => text(event, "text"),
            "unblocked" => {
                let answer = text(event, "answer")?;
                let asked = || life[..at].iter().rfind(|event| event.event == "blocked");
                // Other workers of the unit get it as well: without the question it would mean nothing to them.
                let question = text(event, "which").or_else(|| text(asked()?, "message"));
                Some(question.map_or_else(|| answer.clone(), |question| format!("To \"{question}\": {answer}")))
            }
            _ => None,
        }
    };
    let mut found: Vec<String> = Vec::new();
    for said in life.iter().enumerate().filter(|(_, event)| is_users(event)).filter_map(said) {
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
            event("blocked", "main", &json!({"message": "which port?", "ticket": "2"})),
            event("unblocked", "main", &json!({"answer": "80"})),
            event("noted", "mason", &json!({"text": "use stone", "resume": true})),
        ];
        let want = ["To \"the crane\": take the small one", "To \"which port?\": 80", "use stone"];
        assert_eq!(of_user(&events), want);
    }
}
