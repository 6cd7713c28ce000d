//! Copies of documents, and files that Piton and agents write together: neither stops the work that is led.

use std::fs;

use crate::whose_word::{is_on_main, said, set_hook, workers, yard};

const TASKS: &str = "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\ntitle = \"Say\"\nsubtasks = [\"one\", \"two\"]\n";

const STORY: &str = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";

#[test]
fn a_copy_of_a_tasks_documents_does_not_stop_its_run() {
    let yard = yard("exit 1", "", &[("tasks.toml", TASKS)]);
    assert_eq!(yard.piton(&["run", "tasks.toml", "--yes"]).code, Some(4));
    copy(&yard, "progress", "backup/progress");
    let before = yard.text("backup/progress/checkpoints/copy-T1.json");
    let why = yard.run(&["why", "task:copy/T1"]).stdout;
    assert!(why.contains("piton run tasks.toml --retry"), "{why}");
    set_hook(&yard, "");
    let ended = yard.run(&["run", "tasks.toml", "--retry"]);
    assert!(is_on_main(&yard, "T1.txt"), "{}", said(&ended));
    assert_eq!(yard.text("backup/progress/checkpoints/copy-T1.json"), before, "the copy is left alone");
}

#[test]
fn a_copy_of_a_storys_documents_does_not_stop_its_run() {
    let yard = yard("exit 1", STORY, &[]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    copy(&yard, ".pipeline", "backup/.pipeline");
    let led = |unit: &str| yard.run(&["why", unit]).stdout.contains("run 1");
    assert_eq!((led("pipeline:S-1"), led("pipeline:backup/S-1")), (true, false));
    set_hook(&yard, "");
    let ended = yard.run(&["run", "--retry"]);
    assert!(is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
}

#[test]
fn two_documents_that_no_record_tells_apart_are_both_named() {
    let yard = yard("", "", &[("tasks.toml", TASKS)]);
    yard.run(&["start", "task:copy/T1", "--step", "one"]);
    copy(&yard, "progress", "backup/progress");
    fs::remove_dir_all(yard.workspace.path(".piton")).expect("it is there");
    let ended = yard.piton(&["run", "task:copy/T1", "--yes"]);
    assert_eq!(ended.code, Some(2), "{}", said(&ended));
    assert!(
        said(&ended).contains("task:./copy/T1") && said(&ended).contains("task:backup/copy/T1"),
        "{}",
        said(&ended)
    );
}

#[test]
fn a_table_of_tasks_that_a_worker_writes_by_hand_is_left_to_piton() {
    // `progress/` is committed here, and the worker keeps its table as the protocol says.
    let hook = "mkdir -p progress; printf '| copy | T1 | 100%% |\\n' > progress/STATUS.md";
    let yard = yard(hook, "", &[("tasks.toml", TASKS)]);
    yard.workspace.write(".gitignore", ".piton/\n.worktrees/\n");
    yard.workspace.write("progress/STATUS.md", "# Status\n");
    yard.commit("with progress");
    let ended = yard.run(&["run", "tasks.toml", "--yes"]);
    assert_eq!((workers(&yard).len(), is_on_main(&yard, "T1.txt")), (1, true), "{}", said(&ended));
    assert_eq!(yard.git(&["show", "main:progress/STATUS.md"]), "# Status\n");
    assert!(yard.text("progress/STATUS.md").contains("T1"), "the workspace has Piton's table");
}

fn copy(yard: &crate::yard::Yard, from: &str, to: &str) {
    let to = yard.workspace.path(to);
    fs::create_dir_all(to.parent().expect("it is below the workspace")).expect("it can be made");
    let copied = std::process::Command::new("cp").arg("-r").arg(yard.workspace.path(from)).arg(&to).status();
    assert!(copied.is_ok_and(|status| status.success()));
}
