//! What the list of tasks says counts for a task that another agent continues, and for one that was done before.

use std::fs;

use crate::whose_word::{is_on_main, said, set_hook, yard};
use crate::yard::{Ended, Yard};

const TASK: &str = "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\ntitle = \"one\"\ntext = \"WIDE-SADDLES\"\n\
                    subtasks = [\"one\", \"two\"]\n";

/// Keeps the prompt of a worker.
const KEEPS_PROMPT: &str = r#"cat > "$MARKS/prompt"
"#;

fn was_told(yard: &Yard, text: &str) -> bool {
    fs::read_to_string(yard.outer("marks/prompt")).is_ok_and(|prompt| prompt.contains(text))
}

fn must_be_done(ended: &Ended) {
    assert_eq!(ended.code, Some(0), "{}", said(ended));
}

#[test]
fn worker_of_a_task_that_was_taken_over_is_told_its_text() {
    let yard = yard("exit 1", "", &[("tasks.toml", TASK)]);
    assert_eq!(yard.piton(&["run", "tasks.toml", "--yes"]).code, Some(4));
    yard.run(&["takeover", "task:copy/T1", "--as", "edit"]);
    set_hook(&yard, KEEPS_PROMPT);
    must_be_done(&yard.piton(&["run", "task:edit/T1", "--yes", "--retry"]));
    assert!(was_told(&yard, "WIDE-SADDLES"));
}

#[test]
fn worker_of_a_task_that_is_opened_again_after_its_run_is_told_its_text() {
    let yard = yard("", "", &[("tasks.toml", TASK)]);
    must_be_done(&yard.piton(&["run", "tasks.toml", "--yes"]));
    yard.run(&["reopen", "task:copy/T1"]);
    set_hook(&yard, &format!(r#"{KEEPS_PROMPT}keep more; "$PITON" finish "$PITON_UNIT"; exit 0"#));
    must_be_done(&yard.piton(&["run", "task:copy/T1", "--yes"]));
    assert!(was_told(&yard, "WIDE-SADDLES"));
}

#[test]
fn subtasks_that_are_added_to_a_task_that_is_done_are_named() {
    let yard = yard("", "", &[("tasks.toml", TASK)]);
    let run = ["run", "tasks.toml", "--yes"];
    must_be_done(&yard.piton(&run));
    let quiet = yard.piton(&run);
    assert!(!said(&quiet).contains("piton reopen"), "{}", said(&quiet));
    yard.workspace.write("tasks.toml", TASK.replace("\"two\"]", "\"two\", \"three\"]"));
    yard.commit("one more");
    let told = "it is done without what its list has: the subtask \"three\"; open it for the next run: piton reopen task:copy/T1";
    for arguments in [&["run", "tasks.toml", "--explain"][..], &run] {
        let ended = yard.piton(arguments);
        must_be_done(&ended);
        assert!(said(&ended).contains(told), "{}", said(&ended));
    }
    yard.run(&["reopen", "task:copy/T1"]);
    set_hook(&yard, r#"keep three; "$PITON" step "$PITON_UNIT" done three; "$PITON" finish "$PITON_UNIT"; exit 0"#);
    let ended = yard.piton(&run);
    must_be_done(&ended);
    assert!(is_on_main(&yard, "three.txt") && !said(&ended).contains("piton reopen"), "{}", said(&ended));
}

#[test]
fn documents_of_a_task_whose_gate_failed_do_not_call_it_complete() {
    let gate = "[gates]\nholds = \"test -e fixed.txt\"\n";
    let task = format!("{TASK}acceptance_criteria = [\"holds\"]\n");
    let yard = yard("", gate, &[("tasks.toml", &task)]);
    let ended = yard.piton(&["run", "tasks.toml", "--yes"]);
    assert!(ended.code == Some(4) && ended.stdout.contains("gate holds failed"), "{}", said(&ended));
    // Another clone knows the documents alone.
    fs::remove_dir_all(yard.workspace.path(".piton")).expect("it can be removed");
    let shown = yard.run(&["status"]).stdout;
    assert!(!shown.contains("T1  done") && shown.contains("gate holds failed"), "{shown}");
    let ended = yard.piton(&["run", "tasks.toml", "--yes"]);
    assert!(ended.code == Some(4) && !is_on_main(&yard, "T1.txt"), "{}", said(&ended));
}
