use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::{Condvar, Mutex};

use crate::process::{acknowledged, events, run};
use crate::support::Workspace;

const PLAN: &str = "plans/p1/plan.md";
const ROUNDS: usize = 20;
const WRITERS: usize = 8;

/// How far the agents are. People wait for it, so that both get their turns on a busy machine.
#[derive(Default)]
struct Ticks {
    ticked: Mutex<usize>,
    changed: Condvar,
}

impl Ticks {
    fn add(&self) {
        *self.ticked.lock().expect("nobody panicked") += 1;
        self.changed.notify_all();
    }

    /// Waits for so many; whether there is anything left to wait for.
    fn wait_for(&self, wanted: usize) -> bool {
        let ticked = self.ticked.lock().expect("nobody panicked");
        let ticked = self.changed.wait_while(ticked, |ticked| *ticked < wanted.min(WRITERS * ROUNDS));
        *ticked.expect("nobody panicked") < WRITERS * ROUNDS
    }
}

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
    let ticks = Ticks::default();
    let lines = std::thread::scope(|scope| {
        let people: Vec<_> = [Editor::Renames, Editor::Truncates, Editor::Recreates]
            .into_iter()
            .map(|editor| {
                let (workspace, at_the_keyboard, ticks) = (&workspace, &at_the_keyboard, &ticks);
                scope.spawn(move || edit(workspace, editor, at_the_keyboard, ticks))
            })
            .collect();
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (workspace, ticks) = (&workspace, &ticks);
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        let task = format!("t{}", writer * ROUNDS + round);
                        let ended = run(workspace, &["step", "plan:p1", "done", &task, "--wait", "60"]);
                        ticks.add();
                        // A person may have the plan half saved for longer than anybody waits.
                        assert!(matches!(ended.code, Some(0 | 1 | 4 | 5)), "{}", ended.stderr);
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().expect("a writer ends well"));
        people.into_iter().flat_map(|person| person.join().expect("a person ends well")).collect::<Vec<_>>()
    });
    acknowledged(&workspace, &["beat", "plan:p1"]);
    let everything = everything_kept(&workspace);
    let lost: Vec<_> = lines.iter().filter(|line| !everything.contains(line.as_str())).collect();
    assert!(lines.len() > 20, "people saved {} times only", lines.len());
    assert_eq!(lost, Vec::<&String>::new(), "of {} lines", lines.len());
}

fn edit(workspace: &Workspace, editor: Editor, at_the_keyboard: &Mutex<()>, ticks: &Ticks) -> Vec<String> {
    let path = workspace.path(PLAN);
    let mut lines = Vec::new();
    while ticks.wait_for(3 * lines.len()) {
        let _turn = at_the_keyboard.lock().expect("nobody panicked");
        let text = fs::read_to_string(&path).expect("the plan is there at every moment");
        let line = format!("line {} of somebody whose editor {editor:?}.", lines.len());
        save(editor, &path, &format!("{text}{line}\n"));
        lines.push(line);
    }
    lines
}

/// The plan and all that its journal holds of it. The lines that people wrote look the same in a JSON text.
fn everything_kept(workspace: &Workspace) -> String {
    let events = events(workspace, "plan:p1");
    assert!(events.iter().any(|event| event["event"] == "observed"), "nobody's edit was seen");
    let read = |path: &str| fs::read_to_string(workspace.path(path)).expect("it is there");
    format!("{}{}", read(PLAN), read(".piton/units/plan/p1/root/journal"))
}
