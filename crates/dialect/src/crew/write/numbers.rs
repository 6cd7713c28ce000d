//! Numbers for steps. A step of a crew is a sentence of its agent, which does not belong into a command.
//!
//! When an attempt begins, the open steps are numbered from 1. A step keeps its number while the attempt lasts, so what is
//! done meanwhile does not move the others; one that comes later gets the next number.

use piton_model::Refusal;
use piton_model::text::shell_word;
use serde_json::{Value, json};

use super::steps::{list, said_by, same, short};
use crate::json::Editor;

/// The key under which a checkpoint keeps the steps of an attempt by their numbers; the first has the number 1.
const KEY: &str = "step_numbers";

/// How many steps a refusal lists.
const MOST: usize = 12;

/// Writes down the numbers that steps have now.
pub(super) fn keep(editor: &mut Editor, attempt: u64) {
    let all = all(editor, attempt);
    if !all.is_empty() {
        editor.set(&[KEY], json!({"attempt": attempt, "steps": all}));
    }
}

/// The step that somebody typed: its own words, or its number.
pub(super) fn meant(editor: &Editor, typed: &str, attempt: u64) -> Result<String, Refusal> {
    let is_it = |key: &str| list(editor, key).iter().filter_map(said_by).any(|step| same(&step, typed));
    if is_it("next_steps") || is_it("completed_steps") {
        return Ok(typed.to_owned());
    }
    let Ok(number) = typed.parse::<usize>() else { return Ok(typed.to_owned()) };
    let all = all(editor, attempt);
    number.checked_sub(1).and_then(|at| all.get(at)).cloned().ok_or_else(|| {
        let known = all.iter().take(MOST).enumerate().map(|(at, step)| format!("{} is {:?}", at + 1, short(step)));
        let refusal = Refusal::missing(format!("there is no step {number}"));
        known.fold(refusal, Refusal::hint)
    })
}

/// The steps of a checkpoint by their numbers; the first has the number 1. None of a document that cannot be read.
pub fn step_numbers(bytes: &[u8], attempt: u64) -> Vec<String> {
    Editor::open("", bytes).map(|editor| all(&editor, attempt)).unwrap_or_default()
}

/// The number of a step, when it has one.
pub(in crate::crew) fn number_of(editor: &Editor, step: &str, attempt: u64) -> Option<usize> {
    all(editor, attempt).iter().position(|known| same(known, step)).map(|at| at + 1)
}

/// A step as one word of a command: its number, or else its own words in quotes.
pub(super) fn word(editor: &Editor, step: &str, attempt: u64) -> String {
    number_of(editor, step, attempt).map_or_else(|| shell_word(step).into_owned(), |number| number.to_string())
}

/// The steps by their numbers: those that have one in this attempt, then what is open besides.
fn all(editor: &Editor, attempt: u64) -> Vec<String> {
    let is_of_attempt = editor.get(&[KEY, "attempt"]) == Some(json!(attempt));
    let known = editor.get(&[KEY, "steps"]).filter(|_| is_of_attempt);
    let known = known.as_ref().and_then(Value::as_array).into_iter().flatten();
    let mut all: Vec<String> = known.filter_map(said_by).collect();
    for step in list(editor, "next_steps").iter().filter_map(said_by) {
        if !all.iter().any(|known| same(known, &step)) {
            all.push(step);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn editor(next: &[&str], done: &[&str]) -> Editor {
        Editor::create(&serde_json::json!({"next_steps": next, "completed_steps": done}))
    }

    #[test]
    fn a_number_stays_with_its_step() {
        let mut editor = editor(&["Read the guide", "Write it", "Check it"], &["Begin"]);
        keep(&mut editor, 1);
        editor.set(&["next_steps"], vec!["Check it", "Ship it"]);
        keep(&mut editor, 1);
        for (typed, want) in
            [("1", "Read the guide"), ("3", "Check it"), ("4", "Ship it"), ("Write it", "Write it"), ("new", "new")]
        {
            assert_eq!(meant(&editor, typed, 1).expect("a step"), want);
        }
        assert_eq!(
            (word(&editor, "Ship it", 1).as_str(), word(&editor, "it's new", 1).as_str()),
            ("4", r"'it'\''s new'")
        );
        let refusal = meant(&editor, "9", 1).expect_err("no such step");
        assert_eq!(refusal.hints[2], "3 is \"Check it\"");
        // The next attempt begins with what is open then.
        assert_eq!(meant(&editor, "1", 2).expect("a step"), "Check it");
    }

    #[test]
    fn a_step_whose_words_are_a_number_is_meant_by_them() {
        let editor = editor(&["Read", "1"], &["7"]);
        assert_eq!(meant(&editor, "1", 1).expect("a step"), "1");
        assert_eq!(meant(&editor, "7", 1).expect("a step"), "7");
        assert_eq!(meant(&editor, "2", 1).expect("a step"), "1");
    }
}
