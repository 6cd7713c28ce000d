//! A task's agent: updates its checkpoint after each subtask, and completes it when all criteria are met.

use std::fs;

use serde_json::{Value, json};

use super::Book;

pub fn work(book: &Book<'_>) {
    let (agent, task) = book.id.split_once('/').expect("an agent and its task");
    let mut checkpoint = book.read();
    if book.bench.takes("block-once") || book.bench.takes("question-once") {
        checkpoint["status"] = json!("blocked");
        checkpoint["errors"] = json!([{
            "type": "decision_needed", "message": "which of two ports is wanted?", "timestamp": book.now(0), "blocking": true,
        }]);
        checkpoint["resumable"] = json!(true);
        checkpoint["resume_instructions"] = json!("Say which port, then continue");
        return book.write(&checkpoint);
    }
    let mut items = checkpoint["subtasks"]["items"].as_array().cloned().unwrap_or_default();
    for at in 0..items.len() {
        if items[at]["status"] == "complete" {
            continue;
        }
        let id = items[at]["id"].as_str().expect("an id").to_owned();
        let files = book.makes(&format!("{agent}-{task}-{id}"));
        items[at] = json!({ "id": id, "status": "complete", "output": files[0] });
        progress(&mut checkpoint, &items, at, &files, &book.now(0));
        checkpoint["task_id"] = json!(task);
        checkpoint["agent"] = json!(agent);
        book.write(&checkpoint);
        book.bench.says(&format!("@orchestrator: Task {task} progress: {}%", checkpoint["progress_percent"]));
        book.bench.reaches("recorded");
    }
    complete(book, checkpoint);
}

fn progress(checkpoint: &mut Value, items: &[Value], at: usize, files: &[String], now: &str) {
    let completed = items.iter().filter(|item| item["status"] == "complete").count();
    checkpoint["status"] = json!("in_progress");
    checkpoint["progress_percent"] = json!((100 * completed / items.len()).min(99));
    checkpoint["updated_at"] = json!(now);
    checkpoint["subtasks"] = json!({ "total": items.len(), "completed": completed, "failed": 0, "items": items });
    let mut created = checkpoint["files_created"].as_array().cloned().unwrap_or_default();
    created.extend(files.iter().map(|file| json!(file)));
    checkpoint["files_created"] = json!(created);
    checkpoint["context"]["last_processed"] = items[at]["id"].clone();
    checkpoint["context"]["next_to_process"] = items.get(at + 1).map_or(Value::Null, |item| item["id"].clone());
}

fn complete(book: &Book<'_>, mut checkpoint: Value) {
    let now = book.now(0);
    checkpoint["status"] = json!("complete");
    checkpoint["progress_percent"] = json!(100);
    checkpoint["updated_at"] = json!(now);
    checkpoint["completed_at"] = json!(now);
    for (_, met) in checkpoint["acceptance_criteria_met"].as_object_mut().into_iter().flatten() {
        *met = json!(true);
    }
    checkpoint["resumable"] = json!(false);
    book.write(&checkpoint);
    if book.bench.always("archive") {
        let archived = book.document.replace(".json", "-complete.json");
        fs::rename(&book.document, &archived).expect("the checkpoint can be archived");
        book.bench.note(&format!("archived {archived}"));
    }
}
