use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use serde_json::json;

use super::hook::{Host, ONE, PLAN};
use crate::support::{Run, Workspace};

/// What is seen, on a machine whose disk is not busy.
fn shown(run: &Run) -> String {
    let slow = "note  disk       syncs work, but slowly: each record waits for one\n      hint: keep the repository on a local disk\n";
    run.stdout.replace(slow, "ok    disk       syncs work\n")
}

#[test]
fn a_repository_is_told_what_it_lacks() {
    let workspace = Workspace::new();
    let before = workspace.fingerprint();
    let run = workspace.run(&["doctor"]).exits(3);
    assert_snapshot!("doctor_empty", shown(&run));
    let left: Vec<_> = fs::read_dir(workspace.root()).expect("it can be listed").collect();
    assert_eq!(left.len(), 1, "what was tried is gone: {left:?}");
    assert_eq!(before.without(|_| false), workspace.fingerprint().without(|_| false));
}

#[test]
fn hooks_are_shown_with_when_they_really_fired() {
    let workspace = Workspace::new();
    workspace.write("plans/quay/plan.md", PLAN);
    workspace.run(&["start", "plan:quay"]).exits(0);
    workspace.run(&["init", "--yes"]).exits(0);
    let host = Host::new(&workspace, ONE);
    host.start(660, "startup");
    host.tell(690, "Stop", json!({"last_assistant_message": "x"}));
    let program = workspace.path("../bin/piton");
    fs::create_dir_all(program.parent().expect("a directory")).expect("it can be made");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_piton"), &program).expect("a link can be made");
    let path = workspace.path("../bin").display().to_string();
    let run = workspace.call(&["doctor"]).env("PATH", path.clone()).run().exits(0);
    assert_snapshot!("doctor_used", shown(&run));
    let all = workspace.call(&["doctor", "--json"]).env("PATH", path).run().exits(0).json();
    assert_eq!(all["ok"], true);
    let fired = all["checks"].as_array().expect("checks").iter().filter(|each| each["area"] == "hooks");
    assert_eq!(fired.count(), 13);
}

#[test]
fn clients_say_whether_they_are_logged_in() {
    use std::os::unix::fs::PermissionsExt as _;
    let workspace = Workspace::new();
    let bin = workspace.path("../clients");
    fs::create_dir_all(&bin).expect("it can be made");
    for (name, says) in [
        ("claude", "test \"$*\" = 'auth status' && echo '{\"loggedIn\": false}'; exit 1"),
        ("codex", "test \"$*\" = 'login status' && echo 'Logged in using an API key' >&2"),
    ] {
        fs::write(bin.join(name), format!("#!/bin/sh\n{says}\n")).expect("it can be written");
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).expect("it can be run");
    }
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let run = workspace.call(&["doctor"]).env("PATH", path).run().exits(3);
    let is_there = |text: &str| assert!(run.stdout.contains(text), "{text}: {}", run.stdout);
    is_there("Claude Code says that it is not logged in");
    is_there("hint: claude auth login");
    is_there("Codex is logged in");
}

#[test]
fn what_makes_hooks_silent_is_said() {
    let workspace = Workspace::new();
    workspace.run(&["init", "--yes"]).exits(0);
    let path = workspace.path(".claude/settings.json");
    let text = fs::read_to_string(&path).expect("settings");
    fs::write(&path, format!("// ours\n{text}")).expect("it can be written");
    let run = workspace.run(&["doctor"]).exits(3);
    assert!(run.stdout.contains("has comments, so Claude Code ignores all of it"), "{}", run.stdout);
    fs::write(&path, "{").expect("it can be written");
    let right: fn(&Path) = |root| fs::write(root.join(".claude/settings.json"), "{}\n").expect("it can be written");
    let run = workspace.call(&["doctor"]).mended_by(right).run().exits(3);
    assert!(run.stdout.contains("cannot be read, so Claude Code ignores it"), "{}", run.stdout);
}
