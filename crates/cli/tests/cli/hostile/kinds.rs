//! Something else than a regular file where a document should be.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::process::Command;

use super::{Expected, FINE, Place, check_every_verb, healthy, lost, places};
use crate::support::Workspace;

type Row = (&'static str, fn(&Workspace, &Place), Expected);

const ROWS: [Row; 8] = [
    ("a FIFO", |workspace, place| fifo(workspace, &place.path), lost("not-a-file")),
    ("a socket", |workspace, place| socket(workspace, &place.path), lost("not-a-file")),
    ("a link out of the workspace", link_out, lost("link-outside")),
    ("a link to a device", |workspace, place| relink(workspace, place, "/dev/zero"), lost("link-outside")),
    ("a link that climbs out and comes back", link_around, lost("link-outside")),
    ("a link inside of the workspace", link_inside, FINE),
    ("a link to itself", link_to_itself, lost("unreadable")),
    ("a link to a directory", |workspace, place| relink(workspace, place, "."), lost("not-a-file")),
];

fn relink(workspace: &Workspace, place: &Place, target: &str) {
    workspace.link(&place.path, target);
}

fn fifo(workspace: &Workspace, path: &str) {
    let made = Command::new("mkfifo").arg(workspace.path(path)).status().expect("mkfifo can be started");
    assert!(made.success());
}

/// Paths of sockets are short, so it is made elsewhere and moved. It stays when nobody listens any more.
fn socket(workspace: &Workspace, path: &str) {
    let short = workspace.path("../s");
    drop(UnixListener::bind(&short).expect("a socket can be made"));
    fs::rename(short, workspace.path(path)).expect("a socket can be moved");
}

fn link_out(workspace: &Workspace, place: &Place) {
    workspace.write("../canary.json", format!("{:#}\n", place.good));
    workspace.link(&place.path, workspace.path("../canary.json"));
}

fn link_around(workspace: &Workspace, place: &Place) {
    workspace.write("kept/real.json", format!("{:#}\n", place.good));
    let up = "../".repeat(place.path.matches('/').count() + 1);
    workspace.link(&place.path, format!("{up}workspace/kept/real.json"));
}

fn link_inside(workspace: &Workspace, place: &Place) {
    workspace.write("kept/real.json", format!("{:#}\n", place.good));
    let up = "../".repeat(place.path.matches('/').count());
    workspace.link(&place.path, format!("{up}kept/real.json"));
}

fn link_to_itself(workspace: &Workspace, place: &Place) {
    workspace.link(&place.path, workspace.path(&place.path).file_name().expect("a name"));
}

#[test]
fn other_kinds_of_files_are_named_and_never_waited_for() {
    for (row, make, expected) in &ROWS {
        for place in places() {
            let workspace = healthy();
            fs::remove_file(workspace.path(&place.path)).expect("a file can be removed");
            make(&workspace, &place);
            check_every_verb(row, &workspace, &place, expected);
        }
    }
}

#[test]
fn a_link_to_nothing_is_no_document() {
    for place in places() {
        let workspace = healthy();
        fs::remove_file(workspace.path(&place.path)).expect("a file can be removed");
        workspace.link(&place.path, "nowhere.json");
        let before = workspace.fingerprint();
        for arguments in [&["status"][..], &["check"], &["check", &place.path], &["stale"], &["why", place.unit]] {
            workspace.run(arguments);
        }
        assert_eq!(workspace.fingerprint(), before);
    }
}

#[test]
fn a_directory_in_place_of_a_document_is_survived() {
    for place in places() {
        let workspace = healthy();
        fs::remove_file(workspace.path(&place.path)).expect("a file can be removed");
        workspace.write(&format!("{}/inside.json", place.path), "{}");
        let before = workspace.fingerprint();
        for arguments in [&["status"][..], &["check"], &["check", &place.path], &["stale"], &["why", place.unit]] {
            workspace.run(arguments);
        }
        assert_eq!(workspace.fingerprint(), before);
    }
}

#[test]
fn a_directory_in_place_of_a_document_is_named() {
    for place in places() {
        let workspace = healthy();
        fs::remove_file(workspace.path(&place.path)).expect("a file can be removed");
        workspace.directory(&place.path);
        check_every_verb("a directory", &workspace, &place, &lost("not-a-file"));
    }
}

#[test]
fn what_may_not_be_read_is_named() {
    let workspace = healthy();
    let place = places().remove(4);
    let path = workspace.path(&place.path);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).expect("a mode can be set");
    // Who may read everything, such as root, sees the document as it is.
    let expected = if fs::read(&path).is_ok() { FINE } else { lost("unreadable") };
    check_every_verb("no permission", &workspace, &place, &expected);
}

#[test]
fn a_directory_that_may_not_be_listed_hides_nothing_else() {
    let workspace = healthy();
    let hidden = workspace.path("epics/tides/agent_checkpoints");
    fs::set_permissions(&hidden, fs::Permissions::from_mode(0o000)).expect("a mode can be set");
    for arguments in [&["status"][..], &["check"], &["check", "epics"], &["stale"]] {
        let run = workspace.run(arguments);
        assert!(matches!(run.code, Some(0 | 3)), "{}", run.transcript());
    }
    workspace.run(&["status", "build:PRD-002"]).exits(0);
    fs::set_permissions(&hidden, fs::Permissions::from_mode(0o755)).expect("a mode can be set");
}

/// Not even root can list a directory by a path that is too long, so this holds for everybody.
#[test]
fn directories_too_deep_for_a_path_are_survived() {
    let workspace = healthy();
    let name = "d".repeat(200);
    let chain = |top: &str| [&[top][..], &[name.as_str(); 10]].concat().join("/");
    workspace.write(&format!("{}/agent_checkpoints/x.json", chain("upper")), "{}");
    workspace.directory(&chain("lower"));
    fs::rename(workspace.path("upper"), workspace.path(&format!("{}/upper", chain("lower")))).expect("a move");
    for arguments in [&["status"][..], &["check"], &["check", "lower"], &["stale"], &["why", "build:PRD-002"]] {
        let run = workspace.run(arguments);
        assert_eq!(run.code, Some(0), "{}", run.transcript());
    }
}
