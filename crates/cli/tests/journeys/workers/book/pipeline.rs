//! A story's worker: one stage, one checkpoint; in stage 2 one after each task.

use serde_json::{Value, json};

use super::{Book, names};
use crate::workers::bench::variable;

pub fn work(book: &Book<'_>) {
    let stage = variable("PITON_STAGE");
    match stage.as_str() {
        "0" => plan(book),
        "1" => validate(book),
        "2" => execute(book),
        "3" => judge(book),
        other => panic!("no stage {other}"),
    }
    book.bench.says(&format!("Stage {stage} COMPLETE for {}.", book.id));
}

fn plan(book: &Book<'_>) {
    let tasks = [format!("{}-make", book.id), format!("{}-check", book.id)];
    let score = json!({ "planScore": 4 });
    book.write(&checkpoint(book, 0, &[], &tasks, "2 tasks created", &score));
}

fn validate(book: &Book<'_>) {
    // Both lists are empty here: so the document says.
    if book.bench.takes("nogo-once") || book.bench.always("nogo") {
        let verdict = json!({ "readiness": 3, "verdict": "NO-GO", "reason": "the edge cases are not described" });
        return book.write(&checkpoint(book, 1, &[], &[], "Validated: NO-GO", &verdict));
    }
    book.write(&checkpoint(book, 1, &[], &[], "Validated: GO", &json!({ "readiness": 8, "verdict": "GO" })));
}

fn execute(book: &Book<'_>) {
    if book.bench.takes("block-once") || book.bench.takes("question-once") {
        book.bench.says(&format!("Stage 2 ERROR for {}: which of two ports is wanted?", book.id));
        std::process::exit(1);
    }
    let (mut completed, mut remaining) = (book.told("tasksCompleted"), book.told("tasksRemaining"));
    while !remaining.is_empty() {
        let task = remaining.remove(0);
        book.makes(&task);
        completed.push(task.clone());
        book.write(&checkpoint(book, 2, &completed, &remaining, &format!("Task {task} completed"), &json!({})));
        book.bench.reaches("recorded");
    }
}

fn judge(book: &Book<'_>) {
    let completed = names(&book.read()["tasksCompleted"]);
    if book.bench.takes("fail-once") || book.bench.always("fail") {
        let verdict = json!({ "verdict": "FAIL", "qualityScore": 40, "issues": "the edge cases are not tested" });
        return book.write(&checkpoint(book, 3, &completed, &[], "Quality gate completed, verdict: FAIL", &verdict));
    }
    let verdict = json!({ "verdict": "PASS", "qualityScore": 92 });
    book.write(&checkpoint(book, 3, &completed, &[], "Quality gate completed, verdict: PASS", &verdict));
}

fn checkpoint(
    book: &Book<'_>,
    stage: u8,
    completed: &[String],
    remaining: &[String],
    action: &str,
    more: &Value,
) -> Value {
    let mut checkpoint = json!({
        "storyId": book.id,
        "stage": stage,
        "agentId": format!("agent-{}", std::process::id()),
        "tasksCompleted": completed,
        "tasksRemaining": remaining,
        "lastAction": action,
        "timestamp": book.now(0),
    });
    let fields = checkpoint.as_object_mut().expect("an object");
    fields.extend(more.as_object().expect("an object").clone());
    checkpoint
}
