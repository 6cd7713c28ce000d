//! The by-the-book worker: never calls Piton. It writes the documents by hand, as the protocols tell agents to, does its
//! work, commits it and ends with 0.

mod crew;
mod pipeline;
mod plan;
mod task;

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::bench::{Bench, variable};
use super::prompt::Prompt;

/// A worker that knows its protocol, and where its document is.
pub struct Book<'a> {
    bench: &'a Bench,
    prompt: Prompt<'a>,
    /// The unit's id, without its dialect.
    id: String,
    document: String,
}

/// Works by the book.
pub fn work(bench: &Bench, text: &str) {
    let unit = variable("PITON_UNIT");
    let (dialect, id) = unit.split_once(':').expect("a unit");
    let mut document = variable("PITON_CHECKPOINT");
    if bench.always("stray") && dialect == "pipeline" {
        // As the document has it: relative, and so in the worker's own worktree.
        document = format!(".pipeline/checkpoint-{id}.json");
    }
    let book = Book { bench, prompt: Prompt::new(text), id: id.to_owned(), document };
    if text.to_lowercase().contains("conflicts with") {
        // Whoever has used git knows what to do about it.
        bench.merges("main");
    }
    bench.is_silent(|_| book.beats());
    if matches!(dialect, "task" | "crew") {
        book.corrects();
    }
    match dialect {
        "pipeline" => pipeline::work(&book),
        "plan" => plan::work(&book),
        "build" => build(&book),
        "task" => task::work(&book),
        "crew" => crew::work(&book),
        other => panic!("no book about {other}"),
    }
}

/// A workstream makes its outputs. The build's checkpoint is written by its lead alone.
fn build(book: &Book<'_>) {
    book.makes(&variable("PITON_STEP"));
}

impl Book<'_> {
    /// Makes and commits what the prompt has to correct first. Where everything else is done nothing else would.
    fn corrects(&self) {
        let told = self.prompt.told();
        if told.lines().any(|line| line.starts_with('#') && line.contains("Correct this first")) {
            self.bench.makes(&self.prompt.files(), "the correction");
            self.bench.commits("the correction");
        }
    }

    /// Makes and commits the files that the prompt names, or one that is named after the piece of work.
    fn makes(&self, item: &str) -> Vec<String> {
        let named = self.prompt.files();
        let files = if named.is_empty() { vec![format!("{}.txt", item.replace([' ', '/'], "-"))] } else { named };
        self.bench.makes(&files, item);
        self.bench.commits(item);
        files
    }

    /// A sign of life: the document's time, or where it has none anything at all.
    fn beats(&self) {
        let mut document = self.read();
        for key in ["timestamp", "updated_at", "last_checkpoint"] {
            if document.get(key).is_some() {
                document[key] = self.now(0).into();
                return self.write(&document);
            }
        }
        self.bench.says("still at it");
    }

    /// The names that a list in the prompt's own form of the document has: `"tasksRemaining": ["T1", "T2"]`.
    fn told(&self, key: &str) -> Vec<String> {
        let told = self.prompt.told();
        let form = told.lines().map(str::trim).find(|line| line.starts_with('{') && line.contains(key));
        let form: Value = form.and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
        names(&form[key])
    }

    /// The document as JSON; an empty object when it is not there or torn.
    fn read(&self) -> Value {
        let text = fs::read_to_string(&self.document).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_else(|_| Value::Object(serde_json::Map::new()))
    }

    /// Writes the document in place, as `cat > FILE` does: it is empty for a moment.
    fn write(&self, document: &Value) {
        let text = format!("{document:#}\n");
        if let Some(parent) = Path::new(&self.document).parent() {
            fs::create_dir_all(parent).expect("a directory can be made");
        }
        fs::write(&self.document, "").expect("the document can be written");
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::write(&self.document, &text).expect("the document can be written");
        self.bench.note(&format!("wrote {}: {document}", self.document));
    }

    /// The time, as the protocols have it.
    fn now(&self, minutes: u32) -> String {
        let command = format!("date -u -d '+{minutes} minutes' +%Y-%m-%dT%H:%M:%SZ");
        let output = std::process::Command::new("/bin/sh").args(["-c", &command]).output().expect("date runs");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

/// A list of names in JSON.
fn names(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
