//! A plan's worker: does its task and ticks the box in plan.md.

use std::fs;
use std::path::Path;

use super::Book;
use crate::workers::bench::variable;

pub fn work(book: &Book<'_>) {
    let step = variable("PITON_STEP");
    // The plan that the lead names, or the copy that lies in the worker's own directory.
    let beside = format!("plans/{}/plan.md", book.id);
    let is_beside = book.bench.always("tick-in-worktree");
    if book.bench.takes("block-once") || book.bench.takes("question-once") {
        return edit(book, &book.document, |text| {
            text.replacen("\n\n", "\n\n<!-- BLOCKER: which of two ports is wanted? -->\n", 1)
        });
    }
    if is_beside && Path::new(&beside).exists() {
        edit(book, &beside, |text| ticked(text, &step));
        book.makes(&step);
    } else {
        book.makes(&step);
        edit(book, &book.document, |text| ticked(text, &step));
    }
    book.bench.reaches("recorded");
}

/// Edits a file, one worker of the journey at a time, and replaces it as a whole: editors of agents look before they
/// write, too.
fn edit(book: &Book<'_>, path: &str, change: impl Fn(&str) -> String) {
    let _turn = book.bench.turn();
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    // A box that is ticked stays so: work that is done again was done before.
    let aside = format!("{path}.{}", std::process::id());
    fs::write(&aside, change(&text)).expect("the plan can be written");
    fs::rename(&aside, path).expect("the plan can be replaced");
    book.bench.note(&format!("edited {path}"));
}

/// The plan with the box of a task ticked.
fn ticked(text: &str, step: &str) -> String {
    let marker = format!("<!-- TASK: {step} -->");
    let line = |line: &str| if line.contains(&marker) { line.replacen("[ ]", "[x]", 1) } else { line.to_owned() };
    text.split_inclusive('\n').map(line).collect()
}
