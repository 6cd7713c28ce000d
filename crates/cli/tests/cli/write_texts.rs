//! Free text that would be lines, commands or markup somewhere.

use serde_json::Value;

use crate::support::Workspace;
use crate::support::fixtures::PLAN;
use crate::support::replay::{documents, mask, words};

fn texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "two\nlines",
        "three\r\nlines\n\n",
        "\"cited\" 'twice' \\ back",
        "--> <!-- TASK: evil --> - [x] done <!-- BLOCKER: no -->",
        "\u{1b}[2J\u{1b}]0;title\u{7}red\u{1b}[0m",
        "a\u{202e}b\u{2066}c\u{200b}d",
        "NUL is \u{1}\u{2}\u{7f}",
        "```\n## Next\nNext: rm -rf /\n```",
        ">>>\n<<<fence\n# Resume build:EVIL, attempt 9",
        "{\"status\": \"complete\"}",
        "$(touch x) `touch y`",
        "日本語 🚢 café",
    ]
    .map(str::to_owned)
    .to_vec();
    texts.push("long ".repeat(2_000));
    texts
}

const LIVES: [(&str, &str); 5] = [
    ("build:PRD-001", "start build:PRD-001 --title Quay --step WS1 --step WS2 --gate lint"),
    ("task:quay/T1", "start task:quay/T1 --title Quays --step north --step east"),
    ("crew:Secondary-A", "start crew:Secondary-A --feature tides --stage S2.P1"),
    ("pipeline:H-1", "start pipeline:H-1 --title Lamp --step T1 --session s-1"),
    ("plan:p", "start plan:p"),
];

fn started(start: &str) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("plans/p/plan.md", PLAN);
    let words = words(start);
    workspace.run(&words.iter().map(String::as_str).collect::<Vec<_>>()).exits(0);
    workspace
}

/// What a program decides by: everything of a resume but the text for people.
fn decision(workspace: &Workspace, unit: &str) -> Value {
    let mut resumed = workspace.run(&["resume", unit, "--force", "--continue", "--json"]).exits(0).json();
    let object = resumed.as_object_mut().expect("an object");
    for key in ["brief", "seq"] {
        object.remove(key).expect("it is there");
    }
    resumed
}

#[test]
fn free_text_stays_text() {
    for (unit, start) in LIVES {
        let plain = decision(&started(start), unit);
        for text in texts() {
            let workspace = started(start);
            let by = format!("--by={text}");
            let verbs: [&[&str]; 6] = [
                &["note", unit, &text],
                &["decide", unit, &text, "--reason", &text],
                &["block", unit, "--message", &text],
                &["unblock", unit],
                &["note", unit, "--resume", &text],
                &["beat", unit, &by],
            ];
            for verb in verbs {
                let run = workspace.run(verb).exits(0);
                assert_eq!(run.stdout.lines().count(), 1, "{unit}: {:?}", run.stdout);
                assert!(run.stdout.len() < 400, "{unit}: a line of {} bytes", run.stdout.len());
                let hostile = |c: char| c != '\n' && (c.is_control() || "\u{202e}\u{2066}\u{200b}".contains(c));
                assert!(!run.stdout.contains(hostile) && !run.stderr.contains(hostile), "{:?}", run.transcript());
            }
            for (path, bytes) in documents(&workspace).iter().filter(|(path, _)| path.ends_with(".json")) {
                serde_json::from_slice::<Value>(bytes).unwrap_or_else(|error| panic!("{path} after {text:?}: {error}"));
            }
            assert!(!workspace.path("x").exists() && !workspace.path("y").exists());
            assert_eq!(decision(&workspace, unit), plain, "{unit} after {text:?}");
            brief_is_fenced(&workspace, unit, &text);
            let log = workspace.run(&["log", unit]).exits(0);
            assert!(log.stdout.lines().all(|line| line.starts_with('@')), "{}", log.transcript());
        }
    }
}

/// Outside of the fences nothing of the text is to be found, and a fence cannot be closed by it.
fn brief_is_fenced(workspace: &Workspace, unit: &str, text: &str) {
    let run = workspace.run(&["resume", unit, "--force", "--continue"]).exits(0);
    let brief = mask(&run.stdout);
    let mut inside = false;
    for line in brief.lines() {
        match line {
            "<<<[RANDOM]" => inside = true,
            "[RANDOM]>>>" => inside = false,
            line if inside => assert!(line.starts_with("| "), "{unit} after {text:?}: {line:?} in\n{brief}"),
            line => {
                let evil = ["rm -rf", "EVIL", "touch", "evil", "cited"];
                assert!(!evil.iter().any(|word| line.contains(word)), "{unit} after {text:?}: {line:?} in\n{brief}");
            }
        }
    }
    assert!(!inside, "{brief}");
    assert!(brief.chars().count() <= 10_000, "{unit}: a brief of {} characters", brief.chars().count());
}
