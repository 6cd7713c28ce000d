//! `piton init` on every kind of repository, and back.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use insta::assert_snapshot;

use crate::support::{NOW, Workspace};

const RICH: &str = r#"{
  // agreed in March
  "permissions": { "allow": ["Bash(make *)"] },
  "hooks": {
    "Stop": [{"hooks": [{"type": "command", "command": "notify-send done"}]}] // loud
  },
}
"#;

fn read(workspace: &Workspace, path: &str) -> Option<String> {
    fs::read_to_string(workspace.path(path)).ok()
}

#[test]
fn an_empty_repository_gets_everything_and_loses_it_again() {
    let workspace = Workspace::new();
    let plan = workspace.run(&["init", "--dry-run"]).exits(0);
    assert!(read(&workspace, ".mcp.json").is_none() && !workspace.path(".piton").exists(), "nothing is written");
    assert_snapshot!("init_dry_run", plan.transcript());
    assert_snapshot!("init_empty", workspace.run(&["init"]).exits(0).transcript());
    let files = [".claude/settings.json", ".mcp.json", "AGENTS.md"];
    let written: Vec<_> = files.iter().map(|path| read(&workspace, path).expect("it was made")).collect();
    assert_snapshot!("init_empty_again", workspace.run(&["init", "--yes"]).exits(0).transcript());
    assert_eq!(files.map(|path| read(&workspace, path).expect("it is there")).to_vec(), written);
    assert_snapshot!("init_empty_removed", workspace.run(&["init", "--remove"]).exits(0).transcript());
    assert_eq!(files.map(|path| read(&workspace, path)), [None, None, None]);
    workspace.run(&["init", "--remove"]).exits(0);
}

#[test]
fn what_is_there_stays_and_comes_back_byte_for_byte() {
    let workspace = Workspace::new();
    let files = [
        (".claude/settings.json", RICH),
        (".mcp.json", "{ \"mcpServers\": {\"db\": {\"command\": \"db-server\"} } }"),
        ("CLAUDE.md", "# Us\r\n\r\nBe kind.\r\n\r\n"),
        (".codex/config.toml", "model = \"o9\"   # ours\n\n[mcp_servers.db]\ncommand = \"x\"\n"),
    ];
    for (path, text) in files {
        workspace.write(path, text);
    }
    fs::set_permissions(workspace.path("CLAUDE.md"), fs::Permissions::from_mode(0o640)).expect("a mode can be set");
    let run = workspace.run(&["init", "--yes"]).exits(0);
    assert!(
        run.stdout.contains("note: .claude/settings.json has comments: Claude Code ignores such a file"),
        "{}",
        run.stdout
    );
    let settings = read(&workspace, ".claude/settings.json").expect("settings");
    for kept in ["// agreed in March", "// loud", "notify-send done", "\"args\": [\"hook\", \"SessionStart\"]"] {
        assert!(settings.contains(kept), "{kept} is in {settings}");
    }
    assert!(read(&workspace, "CLAUDE.md").is_some_and(|text| text.contains("<!-- piton:begin -->\r\n")));
    assert!(read(&workspace, "AGENTS.md").is_none(), "the host would not read it");
    let mode = fs::metadata(workspace.path("CLAUDE.md")).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    workspace.run(&["init", "--remove"]).exits(0);
    for (path, text) in files {
        assert_eq!(read(&workspace, path).as_deref(), Some(text), "{path}");
    }
}

#[test]
fn what_was_edited_meanwhile_keeps_the_edit() {
    let workspace = Workspace::new();
    workspace.write("AGENTS.md", "# Us\n");
    workspace.run(&["init", "--yes"]).exits(0);
    let settings = read(&workspace, ".claude/settings.json").expect("settings");
    let edited = settings.replacen("{\n", "{\n  \"model\": \"opus\",\n", 1);
    fs::write(workspace.path(".claude/settings.json"), edited).expect("it can be written");
    let agents = read(&workspace, "AGENTS.md").expect("it is there");
    fs::write(workspace.path("AGENTS.md"), format!("{agents}\nAnd be quick.\n")).expect("it can be written");
    workspace.run(&["init", "--yes"]).exits(0);
    workspace.run(&["init", "--remove"]).exits(0);
    assert_eq!(read(&workspace, ".claude/settings.json").as_deref(), Some("{\n  \"model\": \"opus\"\n}\n"));
    assert_eq!(read(&workspace, "AGENTS.md").as_deref(), Some("# Us\n\nAnd be quick.\n"));
    assert_eq!(read(&workspace, ".mcp.json"), None);
}

#[test]
fn tasks_and_crews_hear_of_every_file() {
    let workspace = Workspace::new();
    workspace.run(&["init", "--yes"]).exits(0);
    let few = read(&workspace, ".claude/settings.json").expect("settings");
    assert!(few.contains("\"if\": \"Write(**/plans/**)\""), "{few}");
    workspace.run(&["start", "task:mason/T1", "--title", "Walls", "--total", "3"]).exits(0);
    workspace.run(&["init", "--yes"]).exits(0);
    let all = read(&workspace, ".claude/settings.json").expect("settings");
    assert!(all.contains("PostToolUseFailure") && !all.contains("\"if\""), "{all}");
    workspace.run(&["init", "--remove"]).exits(0);
    assert_eq!(read(&workspace, ".claude/settings.json"), None);
}

#[test]
fn a_plugin_brings_hooks_and_server_itself() {
    let workspace = Workspace::new();
    workspace.run(&["init", "--plugin", "--yes"]).exits(0);
    assert_eq!(
        read(&workspace, ".claude/settings.json").as_deref(),
        Some("{\n  \"enabledPlugins\": {\n    \"piton@piton\": true\n  }\n}\n")
    );
    assert_eq!(read(&workspace, ".mcp.json"), None);
    workspace.run(&["init", "--remove"]).exits(0);
    assert_eq!(read(&workspace, ".claude/settings.json"), None);
}

#[test]
fn what_is_in_the_way_stops_everything() {
    let workspace = Workspace::new();
    workspace.write(".claude/settings.json", "{ \"hooks\": ");
    let before = workspace.fingerprint();
    let run = workspace.run(&["init", "--yes"]).exits(1);
    assert!(run.stderr.contains("nothing is changed, because .claude/settings.json is in the way"), "{}", run.stderr);
    assert!(run.stderr.contains("\"SessionStart\":[{\"hooks\":"), "what to add is said: {}", run.stderr);
    assert_eq!(before, workspace.fingerprint());
    let workspace = Workspace::new();
    workspace.directory(".mcp.json");
    let before = workspace.fingerprint();
    workspace.run(&["init", "--yes"]).exits(1);
    assert_eq!(before, workspace.fingerprint());
}

#[test]
fn a_read_only_repository_stays_as_it_is() {
    let workspace = Workspace::new();
    workspace.write("AGENTS.md", "# Us\n");
    // Nothing keeps the superuser from writing, so the program runs as somebody else then.
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    let program = workspace.path("../piton");
    fs::copy(env!("CARGO_BIN_EXE_piton"), &program).expect("a file can be copied");
    let close = |mode| {
        fs::set_permissions(workspace.root(), fs::Permissions::from_mode(mode)).expect("a mode can be set");
        fs::set_permissions(workspace.outer(), fs::Permissions::from_mode(0o755)).expect("a mode can be set");
    };
    close(0o555);
    let before = workspace.fingerprint();
    let mut command = Command::new(program);
    command.env_clear().current_dir(workspace.root()).args(["init", "--yes", "--at", NOW]);
    if is_root {
        command.uid(65534).gid(65534);
    }
    let output = command.output().expect("it can be started");
    let after = workspace.fingerprint();
    close(0o755);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.starts_with("error: cannot ") && said.contains("Permission denied"), "{said}");
    assert_eq!(before, after);
}
