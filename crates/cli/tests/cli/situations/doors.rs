//! Hints that no dialect makes: of settings, clients, hooks and gates.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;

use super::{prints, text};
use crate::support::fixtures::{agent, task};
use crate::support::harbour::{but, put};
use crate::support::{Run, Workspace};

const OLD: &str = "2026-02-20T08:00:00Z";

#[track_caller]
fn says(run: &Run, hint: &str) {
    assert!(run.transcript().contains(hint), "not printed: {hint}\n{}", run.transcript());
}

#[test]
fn what_doctor_advises_works() {
    let workspace = Workspace::new();
    says(&workspace.run(&["doctor"]), "piton init");
    says(&workspace.run(&["doctor"]), "begin something, such as: piton start build:PRD-001 --title TITLE --step WS1");
    let bin = workspace.path("../clients");
    fs::create_dir_all(&bin).expect("a directory can be made");
    fs::write(bin.join("codex"), "#!/bin/sh\n").expect("it can be written");
    fs::set_permissions(bin.join("codex"), fs::Permissions::from_mode(0o755)).expect("it can be run");
    let path = format!("{}:/usr/bin:/bin", bin.display());
    says(&workspace.call(&["doctor"]).env("PATH", path).run(), "no server of ours in .codex/config.toml");
    workspace
        .write("progress/checkpoints/quay-T1.json", text(&but(task("quay", "T1", "T", OLD), json!({ "status": 5 }))));
    says(&workspace.run(&["doctor"]), "hint: piton check");
}

#[test]
fn what_doctor_advises_works_when_a_file_was_put_right() {
    let right: fn(&Path) = |root| {
        for path in [".claude/settings.json", ".mcp.json"] {
            let path = root.join(path);
            if path.is_dir() {
                fs::remove_dir(&path).expect("it is empty");
            } else if path.exists() {
                fs::write(&path, "{}\n").expect("it can be written");
            }
        }
    };
    for (path, text) in [(".claude/settings.json", "{\"hooks"), (".mcp.json", "{\"mcpServers\"")] {
        let workspace = Workspace::new();
        workspace.write(path, text);
        let run = workspace.call(&["doctor"]).mended_by(right).run();
        says(&run, "put it right, then: piton init");
    }
    for path in [".claude/settings.json", ".mcp.json"] {
        let workspace = Workspace::new();
        workspace.directory(path);
        says(&workspace.call(&["doctor"]).mended_by(right).run(), "put it right, then: piton init");
    }
    let workspace = Workspace::new();
    workspace.write(".mcp.json", "{\"mcpServers\"");
    says(&workspace.call(&["init"]).mended_by(right).run(), "put .mcp.json right, then run: piton init");
}

#[test]
fn hooks_go_into_the_settings_where_there_is_no_home() {
    let workspace = Workspace::new();
    let run = workspace.run(&["init", "--plugin"]).exits(1);
    says(&run, "write the hooks into the settings instead: piton init");
}

#[test]
fn a_gate_says_how_it_is_judged() {
    let build = "start build:PRD-009 --title T --step one --step two --gate lint\nstep build:PRD-009 begin one\nstep build:PRD-009 done one\n";
    let none: [(&str, &str); 0] = [];
    prints(
        &none,
        &format!("{build}gate build:PRD-009 run lint"),
        "or judge it yourself: piton gate build:PRD-009 pass lint",
    );
    let story = [(".pipeline/checkpoint-S.json", text(&crate::support::fixtures::story("S", OLD)))];
    prints(&story, "gate pipeline:S run lint", "it has no gates; see: piton status pipeline:S");
}

#[test]
fn a_gate_runs_when_its_command_was_read() {
    let workspace = Workspace::new();
    workspace.write("piton.toml", "[gates]\ngood = \"true\"\n");
    let home = workspace.outer().display().to_string();
    let types = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        workspace.call(&words).env("HOME", home.clone()).env("PATH", "/usr/bin:/bin").run()
    };
    types("start task:quay/T1 --title T --step one --criterion good").exits(0);
    types("step task:quay/T1 done one").exits(0);
    let hint = "piton gate task:quay/T1 run good --approve";
    says(&types("finish task:quay/T1").exits(4), &format!("read its command in piton.toml, then: {hint}"));
    says(&types("gate task:quay/T1 run good").exits(4), &format!("look at it, then: {hint}"));
    types("gate task:quay/T1 run good --approve").exits(0);
    types("gate task:quay/T1 fail good").exits(0);
    says(&types("finish task:quay/T1").exits(4), "run it: piton gate task:quay/T1 run good\n");
    types("gate task:quay/T1 run good").exits(0);
}

#[test]
fn one_of_the_missing_agents_is_resumed() {
    let document = text(&agent("Secondary-A", "tides", "IN_PROGRESS", OLD, OLD));
    prints(&[("epics/e/agent_checkpoints/secondary_a.json", document)], "resume", "resume one with: piton resume UNIT");
}

#[test]
fn a_unit_that_others_wrote_gets_its_first_version() {
    let story = but(crate::support::fixtures::story("S", OLD), json!({ "stage": 3, "tasksRemaining": [] }));
    let done = but(story.clone(), json!({ "verdict": "PASS", "qualityScore": 90 }));
    let path = ".pipeline/checkpoint-S.json";
    prints(
        &[(path, text(&story))],
        "log pipeline:S",
        "the first record keeps the document as it is now: piton beat pipeline:S",
    );
    prints(&[(path, text(&done))], "log pipeline:S", "keep the document as it is now: piton repair pipeline:S");
    let queued = crate::support::fixtures::pipeline(json!({ "S": "QUEUED" }), json!({}));
    prints(
        &[(".pipeline/state.json", text(&queued))],
        "log pipeline:S",
        "it has no document of its own yet; see: piton status pipeline:S",
    );
}

#[test]
fn a_session_sees_where_the_other_units_are() {
    let workspace = Workspace::new();
    for number in 10..24 {
        let id = format!("T{number}");
        put(&workspace, &format!("progress/checkpoints/quay-{id}.json"), &task("quay", &id, "List the quays", OLD));
    }
    let payload = json!({
        "session_id": "11111111-1111-4111-8111-111111111111", "hook_event_name": "SessionStart", "source": "startup",
        "cwd": workspace.root(), "transcript_path": "/dev/null",
    });
    let run = workspace.call(&["hook", "SessionStart"]).input(payload.to_string()).run().exits(0);
    says(&run, "more: piton status");
}

/// The last line of `why` is what comes next, wherever a unit stands.
#[test]
fn what_why_names_next_works() {
    let task = |changes| text(&but(task("quay", "T1", "List all quays", OLD), changes));
    let path = "progress/checkpoints/quay-T1.json";
    let error = json!({ "type": "x", "message": "no boat", "timestamp": OLD, "blocking": true });
    let waits = crate::support::fixtures::pipeline(json!({ "S": "QUEUED", "R": "STAGE_2" }), json!({ "S": ["R"] }));
    let prose = "# Secondary-A\n\n**Agent**: Secondary-A\n**Status**: IN_PROGRESS\n**Stage**: S2.P1\n";
    let done = "start task:quay/T1 --title T --step one\nstep task:quay/T1 done one\nfinish task:quay/T1\n";
    let none: [(&str, &str); 0] = [];
    prints(&none, &format!("{done}why task:quay/T1"), "see what was done: piton status task:quay/T1");
    for (changes, hint) in [
        (json!({ "status": "odd" }), "see what is not understood: piton check task:quay/T1"),
        (json!({}), "resume it: piton resume task:quay/T1"),
        (
            json!({ "status": "blocked", "errors": [error] }),
            "answer what blocks it: piton unblock task:quay/T1 --message TEXT",
        ),
    ] {
        prints(&[(path, task(changes))], "why task:quay/T1", hint);
    }
    prints(
        &none,
        "start task:quay/T1 --title T --total 2\nwhy task:quay/T1",
        "see what its agent recorded: piton status task:quay/T1",
    );
    prints(
        &[(".pipeline/state.json", text(&waits))],
        "why pipeline:S",
        "see where the others stand: piton status --all",
    );
    prints(
        &[("epics/e/agent_checkpoints/secondary_a.md", prose)],
        "why crew:Secondary-A",
        "list all units: piton status --all",
    );
}
