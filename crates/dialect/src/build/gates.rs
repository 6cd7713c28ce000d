//! Gates as checkpoints list them: `lint (WS1)`, and the other forms of real files.

pub(super) use piton_model::fold_gate as fold;

use crate::content;
use crate::json::{Kind, Value};

/// A gate that a checkpoint lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    pub name: String,
    /// The workstream it belongs to.
    pub step: Option<String>,
    /// What else is said about where it belongs.
    pub stage: Option<String>,
    pub has_failed: bool,
    pub result: Option<String>,
}

/// How many gates of one list are read. No build has as many, and a hostile file must not take all memory.
const MOST: usize = 10_000;

/// The gates of a list, or of a map from names to results.
pub(super) fn listed(list: Option<Value<'_, '_>>, is_step: &dyn Fn(&str) -> bool) -> Vec<Listed> {
    let Some(list) = list else { return Vec::new() };
    match list.kind() {
        Kind::Array => list.items().filter_map(|item| one(item, is_step)).take(MOST).collect(),
        Kind::Object => list.entries().map(|(name, result)| from_entry(name, result, is_step)).take(MOST).collect(),
        _ => content::as_text(list).into_iter().map(|text| parse(&text, is_step)).collect(),
    }
}

/// The workstreams that a listed gate belongs to: some files name several for one.
pub(super) fn steps_of(gate: &Listed) -> impl Iterator<Item = &str> {
    gate.step.iter().flat_map(|steps| steps.split(", "))
}

/// A gate as the protocol writes it: `lint (WS1)`.
pub(super) fn shown(gate: &Listed) -> String {
    match gate.step.as_ref().or(gate.stage.as_ref()) {
        Some(place) => format!("{} ({place})", gate.name),
        None => gate.name.clone(),
    }
}

fn one(item: Value<'_, '_>, is_step: &dyn Fn(&str) -> bool) -> Option<Listed> {
    if item.kind() != Kind::Object {
        return content::as_text(item).map(|text| parse(&text, is_step));
    }
    let name = ["gate", "name", "id"].iter().find_map(|key| content::text(item, key))?;
    let mut gate = parse(&name, is_step);
    let steps = ["workstream", "workstreams"].iter().map(|key| content::texts(item, key));
    let steps: Vec<_> = steps.flatten().collect();
    if !steps.is_empty() {
        gate.step = Some(steps.join(", "));
    }
    gate.stage = content::text(item, "phase").map(|phase| format!("phase {phase}")).or(gate.stage);
    gate.result = ["result", "status"].iter().find_map(|key| content::text(item, key));
    gate.has_failed = gate.result.as_deref().is_some_and(says_failed);
    Some(gate)
}

fn from_entry(name: Value<'_, '_>, result: Value<'_, '_>, is_step: &dyn Fn(&str) -> bool) -> Listed {
    let mut gate = parse(&name.as_str().expect("a key is a string"), is_step);
    gate.result = content::as_text(result);
    gate.has_failed = result.as_bool() == Some(false) || gate.result.as_deref().is_some_and(says_failed);
    gate
}

fn says_failed(result: &str) -> bool {
    result.trim().get(..4).is_some_and(|start| start.eq_ignore_ascii_case("fail"))
}

/// A gate as somebody writes it in one text.
pub(super) fn parse(text: &str, is_step: &dyn Fn(&str) -> bool) -> Listed {
    let gate = |name: &str, step: Option<&str>, stage: Option<&str>| Listed {
        name: name.trim().to_owned(),
        step: step.map(str::to_owned),
        stage: stage.map(str::to_owned),
        has_failed: false,
        result: None,
    };
    let place = |name: &str, place: &str| match is_step(place) {
        true => gate(name, Some(place), None),
        false => gate(name, None, Some(place)),
    };
    let text = text.trim();
    if let Some((name, inside)) = text.strip_suffix(')').and_then(|text| text.split_once(" (")) {
        return place(name, inside.trim());
    }
    match text.split_once(':') {
        Some((first, second)) if is_step(first) || is_phase(first) => place(second, first),
        Some((first, second)) if is_step(second) || second == "DoD" => place(first, second),
        _ => gate(text, None, None),
    }
}

fn is_phase(text: &str) -> bool {
    let digits = text.to_ascii_lowercase().strip_prefix("phase").map(|rest| rest.trim_start().to_owned());
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_read_in_every_form() {
        let is_step = |text: &str| text == "WS1";
        for (json, want) in [
            (r#"["lint (WS1)"]"#, ("lint", Some("WS1"), None, false)),
            (r#"["lint (Phase 1)"]"#, ("lint", None, Some("Phase 1"), false)),
            (r#"["lint"]"#, ("lint", None, None, false)),
            (r#"["lint:WS1"]"#, ("lint", Some("WS1"), None, false)),
            (r#"["phase2:lint"]"#, ("lint", None, Some("phase2"), false)),
            (r#"["lint:all"]"#, ("lint:all", None, None, false)),
            (
                r#"[{"gate": "lint", "phase": 2, "workstreams": ["WS1"]}]"#,
                ("lint", Some("WS1"), Some("phase 2"), false),
            ),
            (r#"{"lint": true}"#, ("lint", None, None, false)),
            (r#"{"lint": false}"#, ("lint", None, None, true)),
            (r#"{"lint": "FAIL (2 errors)"}"#, ("lint", None, None, true)),
            (r#"{"lint": "PASS"}"#, ("lint", None, None, false)),
            (r#""lint (WS1)""#, ("lint", Some("WS1"), None, false)),
        ] {
            let parsed = crate::json::parse(json).expect("good");
            let got = listed(Some(parsed.root()), &is_step);
            let got: Vec<_> = got
                .iter()
                .map(|gate| (&*gate.name, gate.step.as_deref(), gate.stage.as_deref(), gate.has_failed))
                .collect();
            assert_eq!(got, [want], "{json}");
        }
    }
}
