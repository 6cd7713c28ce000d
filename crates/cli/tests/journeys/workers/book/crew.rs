//! An agent of a crew: keeps a backup, then rewrites its checkpoint at each phase of its feature.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::Book;

/// The stages of a feature, what each is called, and what is done in it.
const STAGES: [(&str, &str, &str); 3] = [
    ("S2.P1", "Research Phase", "S2.P1 complete (Research Phase)"),
    ("S2.P2", "Specification", "S2.P2 complete (Specification)"),
    ("S2.P3", "Acceptance", "S2.P3 complete (Acceptance)"),
];

pub fn work(book: &Book<'_>) {
    let mut checkpoint = book.read();
    let feature = checkpoint["feature"].as_str().unwrap_or("feature").to_owned();
    checkpoint["session_id"] = json!(format!("session-{}", std::process::id()));
    if book.bench.takes("block-once") || book.bench.takes("question-once") {
        checkpoint["status"] = json!("BLOCKED");
        checkpoint["blockers"] = json!(["which of two ports is wanted?"]);
        return update(book, &mut checkpoint);
    }
    checkpoint["status"] = json!("IN_PROGRESS");
    checkpoint["blockers"] = json!([]);
    let mut steps = checkpoint["completed_steps"].as_array().cloned().unwrap_or_default();
    for (at, (stage, phase, step)) in STAGES.iter().enumerate() {
        if steps.iter().any(|done| done == step) {
            continue;
        }
        let file = format!("{feature}/{}.md", phase.to_lowercase().replace(' ', "-"));
        book.bench.makes(std::slice::from_ref(&file), stage);
        book.bench.commits(stage);
        steps.push(json!(step));
        let next = STAGES.get(at + 1);
        checkpoint["stage"] = json!(next.map_or(*stage, |(next, _, _)| next));
        checkpoint["phase"] = json!(next.map_or((*phase).to_owned(), |(_, phase, _)| format!("{phase} - Starting")));
        checkpoint["current_step"] = json!(next.map_or("Handing over", |(_, phase, _)| phase));
        checkpoint["completed_steps"] = json!(steps);
        let left: Vec<&str> = STAGES[at + 1..].iter().map(|(_, phase, _)| *phase).collect();
        checkpoint["next_steps"] = json!(left);
        let mut files = checkpoint["files_modified"].as_array().cloned().unwrap_or_default();
        files.push(json!(file));
        checkpoint["files_modified"] = json!(files);
        let resume = next.map_or_else(String::new, |(next, _, _)| format!("Resume from beginning of {next}"));
        checkpoint["recovery_instructions"] = json!(resume);
        update(book, &mut checkpoint);
        book.bench.reaches("recorded");
    }
    checkpoint["status"] = json!("COMPLETE");
    checkpoint["can_resume"] = json!(false);
    update(book, &mut checkpoint);
}

/// Keeps a backup, then writes the checkpoint with the times of now.
fn update(book: &Book<'_>, checkpoint: &mut Value) {
    let document = Path::new(&book.document);
    let backups = document.parent().expect("a directory").join("backups");
    fs::create_dir_all(&backups).expect("a directory can be made");
    if document.exists() {
        let name = document.file_stem().expect("a name").to_string_lossy().into_owned();
        let time = book.now(0).replace(['-', ':', 'Z'], "").replace('T', "_");
        fs::copy(document, backups.join(format!("{name}_{time}.json"))).expect("a backup can be made");
    }
    checkpoint["last_checkpoint"] = json!(book.now(0));
    checkpoint["next_checkpoint_expected"] = json!(book.now(15));
    let now = book.now(0);
    checkpoint["coordination_state"] = json!({
        "last_inbox_check": now, "unread_messages": 0, "last_epic_readme_update": now, "last_status_update": now,
    });
    book.write(checkpoint);
}
