//! `EPIC_README.md` is written under the lock that a crew's agents take for it.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::Workspace;

const README: &str = "EPIC_README.md";
const LOCK: &str = ".epic_locks/epic_readme.lock";
const EPIC: &str = "# Epic\n\n<!-- BEGIN SECONDARY-A PROGRESS -->\nSecondary-A: nothing yet\n<!-- END SECONDARY-A PROGRESS -->\n\nby hand\n";

/// A crew whose agents lock, at 12:00.
fn crew() -> Workspace {
    let workspace = Workspace::new();
    workspace.run(&["start", "crew:Secondary-A", "--feature", "tide_table", "--stage", "S2.P1"]).exits(0);
    workspace.write(README, EPIC).directory(".epic_locks");
    workspace
}

fn lock(expires_at: &str) -> String {
    format!(r#"{{"holder": "Secondary-B", "holder_id": "b-1", "operation": "a line", "expires_at": "{expires_at}"}}"#)
}

fn text(workspace: &Workspace, path: &str) -> String {
    fs::read_to_string(workspace.path(path)).expect("it is there")
}

fn updated(workspace: &Workspace) -> bool {
    text(workspace, README).contains("Secondary-A: IN_PROGRESS - S2.P1")
}

#[test]
fn a_file_that_somebody_has_locked_is_left_alone_and_the_work_is_recorded() {
    let workspace = crew();
    let theirs = lock("2026-02-20T12:05:00Z");
    workspace.write(LOCK, &theirs);
    let beat = workspace.run(&["beat", "crew:Secondary-A", "--wait", "0.1"]).exits(0);
    assert_eq!(beat.stdout, "crew:Secondary-A beat @2\n");
    assert_eq!(
        beat.stderr,
        "warning: EPIC_README.md is locked by Secondary-B (a line) until 2026-02-20T12:05:00Z, so it was not updated: \
         .epic_locks/epic_readme.lock\n"
    );
    assert_eq!((text(&workspace, README).as_str(), text(&workspace, LOCK)), (EPIC, theirs));
    // Then the line is made up for, and nobody has the lock.
    fs::remove_file(workspace.path(LOCK)).expect("it is released");
    let beat = workspace.run(&["beat", "crew:Secondary-A", "--wait", "0.1"]).exits(0);
    assert_eq!(beat.stderr, "");
    assert!(updated(&workspace) && !workspace.path(LOCK).exists());
    assert!(text(&workspace, README).ends_with("\nby hand\n"));
}

#[test]
fn a_lock_that_is_over_or_was_never_finished_is_cleared_away() {
    for (left, wait) in [(lock("2026-02-20T11:59:00Z"), "0"), (lock("2026-02-20T12:00:00Z"), "0"), (String::new(), "9")]
    {
        let workspace = crew();
        workspace.write(LOCK, &left);
        let beat = workspace.run(&["beat", "crew:Secondary-A", "--wait", wait]).exits(0);
        assert_eq!(beat.stderr, "", "{left}");
        assert!(updated(&workspace) && !workspace.path(LOCK).exists(), "{left}");
    }
}

#[test]
fn a_crew_that_locks_nothing_gets_no_locks() {
    let workspace = crew();
    fs::remove_dir(workspace.path(".epic_locks")).expect("it is empty");
    workspace.run(&["beat", "crew:Secondary-A"]).exits(0);
    assert!(updated(&workspace) && !workspace.path(".epic_locks").exists());
}

#[test]
fn what_is_refused_releases_its_lock() {
    let workspace = crew();
    workspace.write("tide_table/STATUS", [0xff, 0xfe]);
    workspace.run(&["stage", "crew:Secondary-A", "S9"]).exits(2);
    workspace.run(&["beat", "crew:Secondary-A"]).exits(0);
    assert!(updated(&workspace) && !workspace.path(LOCK).exists());
}

/// Somebody adds a line under their lock while a command waits for it. Both lines are there in the end.
#[test]
fn a_line_that_is_written_under_a_lock_is_not_lost() {
    let workspace = crew();
    workspace.write(LOCK, lock("2026-02-20T12:05:00Z"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_piton"));
    command
        .env_clear()
        .current_dir(workspace.root())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.args(["beat", "crew:Secondary-A", "--wait", "60", "--at", "2026-02-20T12:00:00Z"]);
    let child = command.spawn().expect("the binary starts");
    let note = workspace.path(".piton/units/crew/secondary_a/root/lock");
    let deadline = Instant::now() + Duration::from_secs(60);
    while !fs::read_to_string(&note).is_ok_and(|note| note.contains("`piton beat`")) {
        assert!(Instant::now() < deadline, "it does not come to its unit");
        std::thread::sleep(Duration::from_millis(5));
    }
    workspace.write(README, EPIC.replace("by hand", "by hand\nand by Secondary-B"));
    fs::remove_file(workspace.path(LOCK)).expect("it is released");
    let output = child.wait_with_output().expect("a child can be waited for");
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
    assert!(updated(&workspace) && !workspace.path(LOCK).exists());
    assert!(text(&workspace, README).ends_with("by hand\nand by Secondary-B\n"), "{}", text(&workspace, README));
}
