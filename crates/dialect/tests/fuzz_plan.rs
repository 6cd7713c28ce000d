//! Arbitrary bytes as plans, states and histories, and as files of any name: nothing panics.

use std::sync::Arc;

use piton_dialect::plan::{PlanFiles, parse, read, read_history};
use piton_dialect::{Findings, Source, check_file, json};
use piton_model::Time;

fn now() -> Time {
    Time::from_unix_seconds(1_771_588_140)
}

fn source<'a>(name: &str, bytes: &'a [u8]) -> Source<'a> {
    Source { path: Arc::from(name), bytes, modified: Some(now()) }
}

#[test]
fn any_bytes_are_a_plan_and_its_state() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let (plan, state) = bytes.split_at(bytes.len() / 2);
        let files = PlanFiles {
            directory: "plans/p".to_owned(),
            plan: Some(source("plans/p/plan.md", plan)),
            phases: vec![source("plans/p/phase-01.md", state)],
            state: Some(source("plans/p/.checkpoint/state.json", state)),
            recovery: Some(source("plans/p/.checkpoint/recovery.json", plan)),
            history: Some(source("plans/p/.checkpoint/history.jsonl", bytes)),
            legacy: None,
        };
        read(&files, now());
        read_history(&source("history.jsonl", bytes), now());
    });
}

#[test]
fn spans_of_any_plan_lie_in_its_text() {
    // Letters that mean something in a plan: arbitrary bytes are hardly ever a checkbox.
    const PIECES: [&str; 16] = [
        "- [ ] ",
        "- [x] ",
        "<!-- TASK: a -->",
        "<!-- ACCEPT: b -->",
        "<!-- CHECKPOINT: c -->",
        "<!--",
        "-->",
        "`",
        "```\n",
        "\n",
        "  ",
        "> ",
        "1. ",
        "é",
        "<b>",
        "\r\n",
    ];
    bolero::check!().with_type::<Vec<u8>>().for_each(|choices| {
        let text: String = choices.iter().map(|choice| PIECES[usize::from(*choice) % PIECES.len()]).collect();
        let mut findings = Findings::new("plan.md".into(), &text);
        let plan = parse(&text, &mut findings);
        for mark in plan.tasks.iter().chain(&plan.criteria) {
            assert!(matches!(text.as_bytes()[mark.box_at()], b' ' | b'x'));
            assert!(matches!(mark.id(&text), "a" | "b"));
            mark.text(&text);
            assert!(mark.phase() < plan.phases.len());
        }
    });
}

#[test]
fn any_bytes_may_have_any_name() {
    bolero::check!().for_each(|bytes: &[u8]| {
        for name in ["x.json", "plan.md", "notes.md", "EPIC_README.md", "a_to_b.md", "STATUS", "history.jsonl", "x"] {
            check_file(&source(name, bytes), now());
        }
    });
}

#[test]
fn any_text_is_json_or_not() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        if let Ok(mut document) = json::parse(text) {
            json::repeated_keys(&mut document);
            json::first_lone_surrogate(&document);
            json::first_huge_number(&document);
            assert_eq!(json::Edits::new(&document).apply(), text);
        }
    });
}
