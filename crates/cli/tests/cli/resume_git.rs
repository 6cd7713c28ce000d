//! `resume` in a repository: branches and commits that a document names are looked for.

use std::process::Command;

use crate::support::Workspace;
use crate::support::fixtures::task;
use crate::support::harbour::put;

const DOCUMENT: &str = "progress/checkpoints/quay-T060.json";

/// Runs git in the workspace; returns what it printed.
fn git(workspace: &Workspace, arguments: &[&str]) -> String {
    let ended = Command::new("git")
        .args(["-c", "user.name=quay", "-c", "user.email=quay@example.invalid", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(workspace.path(""))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .expect("git runs");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8_lossy(&ended.stdout).trim().to_owned()
}

fn alarms(workspace: &Workspace, branch: &str, commit: &str) -> Vec<String> {
    let mut document = task("quay", "T060", "List the quays", "2026-02-20T10:00:00Z");
    document["branch"] = branch.into();
    document["context"]["last_commit"] = commit.into();
    put(workspace, DOCUMENT, &document);
    let resumed = workspace.run(&["resume", "task:quay/T060", "--force"]).exits(0);
    let lines = resumed.stdout.lines().filter(|line| line.starts_with("ALARM:") && line.contains("the repository"));
    lines.map(str::to_owned).collect()
}

#[test]
fn a_branch_or_commit_that_is_gone_is_said_loudly() {
    let workspace = Workspace::new();
    // Without a repository nothing can be told.
    assert_eq!(alarms(&workspace, "quays/list", "0123456"), Vec::<String>::new());
    git(&workspace, &["init", "-q"]);
    git(&workspace, &["commit", "-q", "--allow-empty", "-m", "begin"]);
    git(&workspace, &["branch", "quays/list"]);
    let head = git(&workspace, &["rev-parse", "HEAD"]);
    assert_eq!(alarms(&workspace, "quays/list", &format!("{} begin", &head[..8])), Vec::<String>::new());
    assert_eq!(
        alarms(&workspace, "quays/lists", "0123456 begin"),
        [
            "ALARM: a branch quays/lists is named that the repository does not have",
            "ALARM: a commit 0123456 is named that the repository does not have",
        ]
    );
    // Words are no names, and no name becomes an option or a second question.
    assert_eq!(alarms(&workspace, "--batch-all-objects", "the last one\nHEAD"), Vec::<String>::new());
}
