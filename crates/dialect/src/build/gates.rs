//! Gates as checkpoints list them: `lint (WS1)`, and the other forms of real files.

use std::collections::{HashMap, HashSet};

pub(super) use piton_model::fold_gate as fold;

use super::spec::{Phase, Spec};
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

/// How many pending gates are looked for in the specification.
const MOST_DUE: usize = 100;

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

/// Whether a listed gate has passed for a workstream.
pub(super) fn is_for(gate: &Listed, name: &str, step: &str) -> bool {
    !gate.has_failed && fold(&gate.name) == fold(name) && steps_of(gate).any(|known| known == step)
}

/// The workstreams to which the specification gives a gate.
pub(super) fn owners<'s>(spec: &'s Spec, name: &str) -> Vec<&'s str> {
    let name = fold(name);
    let is_it = |gate: &String| fold(gate) == name;
    let of_streams = spec.workstreams.iter().filter(|stream| stream.gate.as_ref().is_some_and(is_it));
    let of_streams: HashSet<&str> = of_streams.map(|stream| stream.id.as_str()).collect();
    // A phase that lists what one of its workstreams names says the same thing twice; the workstream has the gate.
    let names_it = |id: &String| of_streams.contains(id.as_str());
    let is_of_phase = |phase: &&Phase| phase.gates.iter().any(is_it) && !phase.parallel.iter().any(names_it);
    let by_phase = spec.phases.iter().filter(is_of_phase).flat_map(|phase| &phase.parallel);
    let by_phase: HashSet<&str> = by_phase.map(String::as_str).collect();
    let ids = spec.workstreams.iter().map(|stream| stream.id.as_str());
    ids.filter(|id| of_streams.contains(id) || by_phase.contains(id)).collect()
}

/// The first phase of the specification whose gate is due and has not passed, as an index, with that gate.
///
/// A gate is due in the phase of each of its workstreams that is completed, and in a phase that has no workstreams.
pub(super) fn first_due<'g>(
    spec: &Spec,
    passed: &[Listed],
    waiting: &'g [Listed],
    is_completed: &dyn Fn(&str) -> bool,
) -> Option<(usize, &'g Listed)> {
    let mut phase_of = HashMap::new();
    for (number, phase) in spec.phases.iter().enumerate() {
        for id in &phase.parallel {
            phase_of.entry(id.as_str()).or_insert(number);
        }
    }
    let passed = passed.iter().filter(|gate| !gate.has_failed);
    let passed: HashSet<_> = passed.flat_map(|gate| steps_of(gate).map(|step| (fold(&gate.name), step))).collect();
    let first = |gate: &Listed| {
        let name = fold(&gate.name);
        let named: Vec<_> = steps_of(gate).collect();
        let steps = if named.is_empty() { owners(spec, &gate.name) } else { named };
        let is_due = |step: &&str| is_completed(step) && !passed.contains(&(name.clone(), *step));
        let of_steps = steps.into_iter().filter(is_due).filter_map(|step| phase_of.get(step).copied());
        let is_bare = |phase: &Phase| phase.parallel.is_empty() && phase.gates.iter().any(|known| fold(known) == name);
        of_steps.chain(spec.phases.iter().position(is_bare)).min()
    };
    // Of several gates of one phase the first that is listed.
    let due = waiting.iter().take(MOST_DUE).filter_map(|gate| Some((first(gate)?, gate)));
    due.min_by_key(|(phase, _)| *phase)
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
