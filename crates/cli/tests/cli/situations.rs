//! Small situations, each of which prints a hint that walks do not come to. Each command that is printed on the way is
//! run in a copy (`support/follow.rs`); the table says which one is meant.

mod build;
mod crew;
mod doors;
mod findings;
mod pipeline;
mod plan;
mod task;

use serde_json::Value;

use crate::support::Workspace;
use crate::support::replay::words;

/// Nothing is written before the first command.
const NOTHING: &[(&str, &str)] = &[];

/// Writes documents, runs commands, one a line, and expects the last to print a hint.
///
/// A line may begin with a time of the day and with variables, `09:00 NAME=value`; `sub PATH OLD NEW` changes a file as
/// an editor would.
#[track_caller]
fn prints(documents: &[(&str, impl AsRef<str>)], lines: &str, hint: &str) {
    let workspace = Workspace::new();
    for (path, text) in documents {
        workspace.write(path, text.as_ref());
    }
    let mut last = String::new();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        last = runs(&workspace, line).unwrap_or(last);
    }
    assert!(last.contains(hint), "not printed: {hint}\n{last}");
}

/// Runs a line; the transcript, if it was a command.
fn runs(workspace: &Workspace, line: &str) -> Option<String> {
    let mut words = words(line);
    let is_time = |word: &str| word.len() == 5 && word.as_bytes()[2] == b':' && word.as_bytes()[0].is_ascii_digit();
    let time = if is_time(&words[0]) { words.remove(0) } else { "12:00".to_owned() };
    match &*words[0] {
        "sub" => {
            let text = std::fs::read_to_string(workspace.path(&words[1])).expect("it is there");
            assert!(text.contains(&words[2]), "{text}");
            workspace.write(&words[1], text.replace(&words[2], &words[3].replace("\\n", "\n")));
        }
        _ => {
            let mut variables = Vec::new();
            while let Some((name, value)) = words[0].split_once('=') {
                let name = ["PITON_ATTEMPT", "PITON_UNIT"].into_iter().find(|known| *known == name);
                variables.push((name.expect("a variable that tests set"), value.to_owned()));
                words.remove(0);
            }
            let arguments: Vec<&str> = words.iter().map(String::as_str).collect();
            let call = workspace.call(&arguments).at(format!("2026-02-20T{time}:00Z"));
            let call = variables.into_iter().fold(call, |call, (name, value)| call.env(name, value));
            return Some(call.run().transcript());
        }
    }
    None
}

/// A document as text.
fn text(document: &Value) -> String {
    format!("{document:#}\n")
}
