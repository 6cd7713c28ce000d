//! `piton init` on every kind of repository, and back.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
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

/// Every file and directory of the workspace, with what it holds.
fn tree(workspace: &Workspace) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut all = Vec::new();
    let mut open = vec![workspace.root().to_path_buf()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).expect("it can be listed") {
            let path = entry.expect("it can be listed").path();
            let is_directory = path.is_dir() && !path.is_symlink();
            all.push((path.clone(), fs::read(&path).ok().filter(|_| !is_directory)));
            open.extend(is_directory.then_some(path));
        }
    }
    all.sort();
    all
}

fn read(workspace: &Workspace, path: &str) -> Option<String> {
    fs::read_to_string(workspace.path(path)).ok()
}

#[test]
fn an_empty_repository_gets_everything_and_loses_it_again() {
    let workspace = Workspace::new();
    let before = tree(&workspace);
    let plan = workspace.run(&["init", "--dry-run"]).exits(0);
    assert!(read(&workspace, ".mcp.json").is_none() && !workspace.path(".piton").exists(), "nothing is written");
    assert_snapshot!("init_dry_run", plan.transcript());
    assert_snapshot!("init_empty", workspace.run(&["init"]).exits(0).transcript());
    let files = [".claude/settings.json", ".mcp.json", "AGENTS.md"];
    let written: Vec<_> = files.iter().map(|path| read(&workspace, path).expect("it was made")).collect();
    assert_snapshot!("init_empty_again", workspace.run(&["init", "--yes"]).exits(0).transcript());
    assert_eq!(files.map(|path| read(&workspace, path).expect("it is there")).to_vec(), written);
    assert_snapshot!("init_empty_removed", workspace.run(&["init", "--remove"]).exits(0).transcript());
    assert_eq!(tree(&workspace), before, "directories go as well");
    workspace.run(&["init", "--remove"]).exits(0);
    assert_eq!(tree(&workspace), before);
}

#[test]
fn build_tools_are_found_and_proposed_to_workers() {
    let workspace = Workspace::new();
    workspace.write("package.json", r#"{"scripts": {"test": "node test.js", "deploy": "./deploy"}}"#);
    workspace.write("package-lock.json", "{}");
    let before = tree(&workspace);
    assert_snapshot!("init_tools", workspace.run(&["init", "--yes"]).exits(0).transcript());
    assert_snapshot!("init_tools_settings", read(&workspace, "piton.toml").expect("it was made"));
    // The printed command shows exactly what was written, and approves it.
    let home = workspace.path("../home").display().to_string();
    let approved = workspace.call(&["approve"]).env("HOME", home).run().exits(0);
    assert!(approved.stdout.contains("npm test") && approved.stdout.contains("npm ci"), "{}", approved.transcript());
    assert!(!workspace.run(&["init", "--yes"]).exits(0).stdout.contains("would be"), "a second time changes nothing");
    workspace.run(&["init", "--remove"]).exits(0);
    assert!(read(&workspace, "piton.toml").is_none(), "it goes as it came");
    let without_journal = |all: Vec<(PathBuf, Option<Vec<u8>>)>| -> Vec<PathBuf> {
        all.into_iter().map(|(path, _)| path).filter(|path| !path.to_string_lossy().contains(".piton")).collect()
    };
    assert_eq!(without_journal(tree(&workspace)), without_journal(before));
}

#[test]
fn settings_that_are_there_are_the_users() {
    let workspace = Workspace::new();
    workspace.write("Cargo.toml", "");
    workspace.write("piton.toml", "[run]\nworkers = 2\n");
    let run = workspace.run(&["init", "--yes"]).exits(0);
    assert!(run.stdout.contains("piton.toml is yours and stays as it is"), "{}", run.transcript());
    assert!(run.stdout.contains("\"cargo test\""), "{}", run.transcript());
    assert_eq!(read(&workspace, "piton.toml").as_deref(), Some("[run]\nworkers = 2\n"));
    workspace.run(&["init", "--remove"]).exits(0);
    assert_eq!(read(&workspace, "piton.toml").as_deref(), Some("[run]\nworkers = 2\n"));
    // What the user wrote into settings that were made here stays.
    let workspace = Workspace::new();
    workspace.write("Cargo.toml", "");
    workspace.run(&["init", "--yes"]).exits(0);
    let made = read(&workspace, "piton.toml").expect("it was made");
    workspace.write("piton.toml", format!("{made}\n[gates]\ntest = \"cargo test\"\n"));
    workspace.run(&["init", "--remove"]).exits(0);
    assert!(read(&workspace, "piton.toml").is_some_and(|text| text.contains("[gates]")));
}

#[test]
fn a_directory_stays_that_was_there_or_that_somebody_uses() {
    let workspace = Workspace::new();
    workspace.directory(".claude");
    workspace.directory(".codex");
    let before = tree(&workspace);
    workspace.run(&["init", "--yes"]).exits(0);
    workspace.run(&["init", "--remove"]).exits(0);
    assert_eq!(tree(&workspace), before, "what was there empty is there empty");
    let workspace = Workspace::new();
    workspace.run(&["init", "--yes"]).exits(0);
    workspace.write(".claude/agents/mason.md", "Lay bricks.\n");
    workspace.run(&["start", "task:mason/T1", "--title", "Walls", "--total", "3"]).exits(0);
    workspace.run(&["init", "--remove"]).exits(0);
    assert_eq!(read(&workspace, ".claude/agents/mason.md").as_deref(), Some("Lay bricks.\n"));
    workspace.run(&["step", "task:mason/T1", "done", "1"]).exits(0);
    assert!(read(&workspace, ".piton/init").is_none());
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
    let data = workspace.outer().join("data dir");
    let before = tree(&workspace);
    workspace.run(&["init", "--yes"]).exits(0);
    let with_plugin = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_piton"));
        command.env_clear().env("XDG_DATA_HOME", &data).current_dir(workspace.root());
        command.args(arguments).args(["--at", NOW]).output().expect("it can be started")
    };
    let output = with_plugin(&["init", "--plugin", "--yes"]);
    let said = String::from_utf8_lossy(&output.stdout).replace(&data.display().to_string(), "DATA");
    let commands = "    claude plugin marketplace add 'DATA/piton/claude-code'\n    claude plugin install piton@piton --scope project\n";
    assert!(output.status.success() && said.contains(commands), "{said}");
    assert_eq!(read(&workspace, ".claude/settings.json"), None, "hooks would fire twice");
    assert_eq!(read(&workspace, ".mcp.json"), None);
    for path in ["marketplace.json"].map(|name| format!(".claude-plugin/{name}")).iter().chain(&[
        "plugin/.claude-plugin/plugin.json".to_owned(),
        "plugin/hooks/hooks.json".to_owned(),
        "plugin/skills/plan/SKILL.md".to_owned(),
    ]) {
        let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
        let own = fs::read(own).expect("it is in the repository");
        assert_eq!(fs::read(data.join("piton/claude-code").join(path)).ok(), Some(own), "{path}");
    }
    // What the client writes when it installs it.
    workspace.write(".claude/settings.json", "{\"enabledPlugins\": {\"piton@piton\": true}}");
    workspace.run(&["init", "--yes"]).exits(0);
    assert!(read(&workspace, ".claude/settings.json").is_some_and(|text| !text.contains("hook")));
    let removed = workspace.run(&["init", "--remove"]).exits(0);
    assert!(removed.stdout.contains("claude plugin uninstall piton@piton"), "{}", removed.stdout);
    assert_eq!(tree(&workspace), before);
    let output = Command::new(env!("CARGO_BIN_EXE_piton"))
        .env_clear()
        .current_dir(workspace.root())
        .args(["init", "--plugin"])
        .output()
        .expect("it can be started");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(tree(&workspace), before, "without a place for it nothing is done");
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
    let own = fs::read(env!("CARGO_BIN_EXE_piton")).expect("the program can be read");
    piton_testkit::write_program(&program, &own).expect("a program can be written");
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
