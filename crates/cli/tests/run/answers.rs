//! What the user answers to a worker is read by a worker before anything of the unit is merged, also when the worker had
//! recorded all of its work before it asked.

use std::fs;

use crate::whose_word::{is_on_main, said, yard};
use crate::yard::Yard;

const STORY: &str = "[[stories]]\nid = \"S-1\"\nstages = [2, 3]\n";

const TASK: &str = "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\ntitle = \"one\"\nsubtasks = [\"one\", \"two\"]\n";

const PLAN: &str = "# P\n\n- [ ] A <!-- TASK: a -->\n- [ ] B <!-- TASK: b -->\n";

/// Keeps every prompt; the first worker for which `when` holds does its work, records it, and asks.
fn asks_at_its_end(when: &str, record: &str) -> String {
    format!(
        "cat >> \"$MARKS/prompts\"\nif {when} && mkdir \"$MARKS/asked\" 2>/dev/null; then\n  keep \"$step\"\n  {record}\n  \
         \"$PITON\" block \"$PITON_UNIT\" --message 'may the old pages go?'\n  exit 0\nfi\n"
    )
}

/// Answers a run that asks, and continues it to its end.
fn answer(yard: &Yard, run: &[&str], unit: &str) {
    let ended = yard.piton(run);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(!is_on_main(yard, "T1.txt") && !is_on_main(yard, "a.txt") && !is_on_main(yard, "S-1.txt"));
    yard.run(&["unblock", unit, "--message", "no, keep the old pages"]);
    let ended = yard.piton(run);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    let prompts = fs::read_to_string(yard.outer("marks/prompts")).expect("prompts were kept");
    assert!(prompts.contains("no, keep the old pages"), "no worker read the answer: {}", said(&ended));
}

#[test]
fn worker_of_a_task_reads_the_answer_to_what_it_asked_after_its_last_subtask() {
    let record = r#"for part in one two; do "$PITON" step "$PITON_UNIT" done $part; done"#;
    let yard = yard(&asks_at_its_end("true", record), "", &[("tasks.toml", TASK)]);
    answer(&yard, &["run", "tasks.toml", "--yes"], "task:copy/T1");
}

#[test]
fn judge_of_a_story_reads_the_answer_to_what_it_asked_after_its_verdict() {
    let record = r#""$PITON" verdict "$PITON_UNIT" PASS --score 90"#;
    let yard = yard(&asks_at_its_end(r#"[ "$PITON_STAGE" = 3 ]"#, record), STORY, &[]);
    answer(&yard, &["run", "--yes"], "pipeline:S-1");
}

#[test]
fn worker_of_a_plan_reads_the_answer_to_what_it_asked_after_its_tick() {
    let record = r#""$PITON" step "$PITON_UNIT" done a"#;
    let yard = yard(&asks_at_its_end(r#"[ "$step" = a ]"#, record), "", &[("plans/p/plan.md", PLAN)]);
    answer(&yard, &["run", "plan:p", "--yes"], "plan:p");
}
