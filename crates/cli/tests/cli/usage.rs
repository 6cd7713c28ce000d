//! Help, and the words for a command line that is wrong.

use insta::assert_snapshot;

use crate::support::Workspace;
use crate::support::fixtures::{BUILDS, agent, build};
use crate::support::harbour::{harbour, put};

/// Every verb there is.
const VERBS: [&str; 43] = [
    "status",
    "check",
    "stale",
    "why",
    "start",
    "step",
    "stage",
    "gate",
    "verdict",
    "block",
    "unblock",
    "pause",
    "fail",
    "note",
    "decide",
    "beat",
    "finish",
    "resume",
    "takeover",
    "restart",
    "reopen",
    "log",
    "show",
    "diff",
    "rollback",
    "repair",
    "plan",
    "send",
    "inbox",
    "sync",
    "compact",
    "run",
    "stop",
    "output",
    "approve",
    "demo",
    "worktrees",
    "hook",
    "init",
    "doctor",
    "mcp",
    "schema",
    "completions",
];

#[test]
fn help_shows_the_verbs_and_an_example() {
    let workspace = Workspace::new();
    let help = workspace.run(&["--help"]).exits(0);
    assert_snapshot!(help.transcript());
    let listed = help.stdout.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed: Vec<_> = listed.map_while(|line| line.split_whitespace().next()).collect();
    assert_eq!(listed, VERBS);
    for verb in VERBS {
        let help = workspace.run(&[verb, "--help"]).exits(0);
        assert!(help.stdout.contains("Example"), "{}", help.transcript());
        assert_eq!(help.stderr, "");
        assert_eq!(workspace.run(&[verb, "-h"]).exits(0).stderr, "");
    }
}

#[test]
fn the_version_is_the_packages() {
    let version = Workspace::new().call(&["--version"]).without_clock().run().exits(0);
    assert_eq!(version.stdout, format!("piton {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn no_verb_is_a_usage_error() {
    let run = Workspace::new().call(&[]).without_clock().run().exits(2);
    assert_eq!(run.stdout, "");
    assert!(run.stderr.contains("Usage: piton"), "{}", run.transcript());
}

#[test]
fn wrong_command_lines_are_explained() {
    let workspace = harbour();
    for (name, code, arguments) in [
        ("unknown_verb", 2, &["stauts"][..]),
        ("unknown_dialect", 2, &["status", "story:X"]),
        ("unknown_dialect_of_a_schema", 2, &["schema", "crews"]),
        ("unknown_document_of_a_schema", 5, &["schema", "plan", "diary"]),
        ("unknown_shell", 2, &["completions", "cmd"]),
        ("no_such_unit", 5, &["status", "build:PRD-0002"]),
        ("no_such_unit_and_nothing_similar", 5, &["why", "build:LIGHT-77"]),
        ("no_such_unit_to_check", 5, &["check", "task:quay/T061"]),
        ("an_id_that_is_none", 2, &["status", "build:../../etc/passwd"]),
        ("why_needs_a_unit", 2, &["why"]),
        ("a_directory_that_is_not_there", 5, &["status", "-C", "nowhere"]),
        ("a_file_as_workspace", 5, &["status", "-C", ".pipeline/state.json"]),
    ] {
        let run = workspace.run(arguments).exits(code);
        assert_eq!(run.stdout, "", "{}", run.transcript());
        assert_snapshot!(name, run.transcript());
    }
}

#[test]
fn a_clock_that_is_none_is_refused() {
    let workspace = Workspace::new();
    for (name, time) in [("a_word_for_a_time", "tomorrow"), ("no_time", ""), ("a_day_that_is_none", "2026-02-30")] {
        assert_snapshot!(name, workspace.call(&["status", "--at", time]).without_clock().run().exits(2).transcript());
    }
}

#[test]
fn an_ambiguous_name_lists_the_full_ones() {
    let workspace = Workspace::new();
    for epic in ["tides", "storms"] {
        let document = agent("Secondary-A", epic, "WAITING", "2026-02-20T11:55:00Z", "2026-02-20T12:10:00Z");
        put(&workspace, &format!("epics/{epic}/agent_checkpoints/secondary_a.json"), &document);
    }
    assert_snapshot!(workspace.run(&["status", "Secondary-A"]).exits(2).transcript());
    assert_snapshot!("ambiguous_why", workspace.run(&["why", "crew:secondary_a"]).exits(2).transcript());
    workspace.run(&["check", "crew:Secondary-A"]).exits(2);
    for unit in ["crew:tides/Secondary-A", "storms/secondary_a", "crew:epics/storms/Secondary-A"] {
        workspace.run(&["status", unit]).exits(0);
    }
}

#[test]
fn the_workspace_is_found_from_below_or_named() {
    let workspace = Workspace::new();
    put(&workspace, &format!("{BUILDS}/PRD-002.json"), &build("PRD-002", "Dredge the basin", "in_progress"));
    workspace.directory("src/deep").directory("../elsewhere/.git");
    let units = |run: crate::support::Run| run.exits(0).json()["units"].as_array().map(Vec::len);
    assert_eq!(units(workspace.call(&["status", "--json"]).from("src/deep").run()), Some(1));
    assert_eq!(units(workspace.call(&["status", "--json", "-C", "../elsewhere"]).run()), Some(0));
    let root = workspace.root().display().to_string();
    let named = || workspace.call(&["status", "--json"]).from("../elsewhere");
    assert_eq!(units(named().run()), Some(0));
    assert_eq!(units(named().env("PITON_ROOT", root).run()), Some(1));
}

#[test]
fn colour_is_only_for_who_asks() {
    let workspace = harbour();
    let has_colour = |run: crate::support::Run| run.exits(0).stdout.contains("\u{1b}[");
    assert!(!has_colour(workspace.run(&["status"])));
    assert!(has_colour(workspace.run(&["status", "--color", "always"])));
    assert!(has_colour(workspace.call(&["status"]).env("CLICOLOR_FORCE", "1").run()));
    assert!(!has_colour(workspace.call(&["status"]).env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1").run()));
    assert!(!has_colour(workspace.call(&["status", "--color", "never"]).env("CLICOLOR_FORCE", "1").run()));
}

#[test]
fn completions_know_the_verbs() {
    let workspace = Workspace::new();
    let bash = workspace.run(&["completions", "bash"]).exits(0);
    assert!(bash.stdout.starts_with("_piton() {"), "{}", bash.transcript());
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = workspace.run(&["completions", shell]).exits(0);
        for verb in VERBS {
            assert!(script.stdout.contains(verb), "{verb} in {shell}");
        }
    }
}
