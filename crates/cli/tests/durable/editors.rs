use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::process::{acknowledged, events, run};
use crate::support::Workspace;

const PLAN: &str = "plans/p1/plan.md";
const ROUNDS: usize = 40;
const WRITERS: usize = 8;

/// How a program saves a file.
#[derive(Debug, Clone, Copy)]
enum Editor {
    /// Writes a new file and renames it over the old one.
    Renames,
    /// Empties the file and writes it again, in pieces.
    Truncates,
    /// Removes the file and makes a new one.
    Recreates,
}

fn save(editor: Editor, path: &Path, text: &str) {
    match editor {
        Editor::Renames => {
            let aside = path.with_extension("swp");
            fs::write(&aside, text).expect("a file can be written");
            fs::rename(&aside, path).expect("a file can be renamed");
        }
        Editor::Truncates => {
            let mut file = OpenOptions::new().write(true).truncate(true).open(path).expect("the plan is there");
            let (first, second) = text.split_at(text.len() / 2);
            file.write_all(first.as_bytes()).expect("a file can be written");
            file.write_all(second.as_bytes()).expect("a file can be written");
        }
        Editor::Recreates => {
            let _ = fs::remove_file(path);
            fs::write(path, text).expect("a file can be written");
        }
    }
}

/// People add lines to a plan with all kinds of editors while agents tick its boxes. People do not save at the same
/// time: what they do to each other is not ours. Each of their lines is in the plan or in its journal at the end.
#[test]
fn no_line_of_a_person_is_lost_to_writers() {
    let workspace = Workspace::new();
    let tasks: String = (0..WRITERS * ROUNDS).map(|i| format!("- [ ] task {i} <!-- TASK: t{i} -->\n")).collect();
    workspace.write(PLAN, format!("# P\n\n## One\n<!-- CHECKPOINT: one -->\n\n{tasks}\n## Notes\n"));
    acknowledged(&workspace, &["start", "plan:p1"]);
    let at_the_keyboard = Mutex::new(());
    let is_over = AtomicBool::new(false);
    let lines = std::thread::scope(|scope| {
        let people: Vec<_> = [Editor::Renames, Editor::Truncates, Editor::Recreates]
            .into_iter()
            .map(|editor| {
                let (workspace, at_the_keyboard, is_over) = (&workspace, &at_the_keyboard, &is_over);
                scope.spawn(move || edit(workspace, editor, at_the_keyboard, is_over))
            })
            .collect();
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let workspace = &workspace;
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        let task = format!("t{}", writer * ROUNDS + round);
                        let ended = run(workspace, &["step", "plan:p1", "done", &task, "--wait", "60"]);
                        // A person may have the plan half saved for longer than anybody waits.
                        assert!(matches!(ended.code, Some(0 | 1 | 5)), "{}", ended.stderr);
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().expect("a writer ends well"));
        is_over.store(true, Ordering::SeqCst);
        people.into_iter().flat_map(|person| person.join().expect("a person ends well")).collect::<Vec<_>>()
    });
    acknowledged(&workspace, &["beat", "plan:p1"]);
    let everything = everything_kept(&workspace);
    let lost: Vec<_> = lines.iter().filter(|line| !everything.contains(line.as_str())).collect();
    assert!(lines.len() > 20, "people saved {} times only", lines.len());
    assert_eq!(lost, Vec::<&String>::new(), "of {} lines", lines.len());
}

fn edit(workspace: &Workspace, editor: Editor, at_the_keyboard: &Mutex<()>, is_over: &AtomicBool) -> Vec<String> {
    let path = workspace.path(PLAN);
    let mut lines = Vec::new();
    while !is_over.load(Ordering::SeqCst) {
        let turn = at_the_keyboard.lock().expect("nobody panicked");
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let line = format!("line {} of somebody whose editor {editor:?}.", lines.len());
        save(editor, &path, &format!("{text}{line}\n"));
        lines.push(line);
        drop(turn);
        std::thread::yield_now();
    }
    lines
}

/// The plan and all that its journal holds of it.
fn everything_kept(workspace: &Workspace) -> String {
    let mut all = fs::read_to_string(workspace.path(PLAN)).expect("the plan is there");
    for event in events(workspace, "plan:p1") {
        if let Some(late) = event["data"]["late"]["text"].as_str() {
            all.push_str(late);
        }
        let is_outside = event["by"] == "outside";
        let version = format!("plan:p1@{}", event["seq"]);
        if is_outside {
            let shown = run(workspace, &["show", &version, "--json"]);
            let shown: Value = serde_json::from_str(&shown.stdout).expect("one JSON document");
            for document in shown["documents"].as_array().expect("a list") {
                all.push_str(document["text"].as_str().expect("text"));
            }
        }
    }
    all
}
