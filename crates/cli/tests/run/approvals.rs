//! A build that waits for a person, while other work goes on and when there is none.

use crate::pty::Terminal;
use crate::yard::{Yard, finish, wait_for};

const SPEC: &str = "---\nprd: PRD-044\nprd_title: A fence\nworkstreams:\n  WS1:\n    name: Posts\n    outputs: [WS1.txt]\n  \
WS2:\n    name: Rails\n    depends_on: [WS1]\n    outputs: [WS2.txt]\nexecution_phases:\n  - name: Ground\n    parallel: \
[WS1]\n  - name: Rest\n    parallel: [WS2]\n---\n# A fence\n";

#[test]
fn while_other_work_goes_on_the_lead_waits_for_an_approval_and_goes_on_with_it() {
    let yard = Yard::new(&[("S-1", &[])]).env("WAIT", "yes");
    yard.workspace.write("docs/EXECUTION-SPEC-PRD-044.md", SPEC);
    yard.commit("a specification");
    let wanted = ["docs/EXECUTION-SPEC-PRD-044.md", "pipeline:S-1"];
    yard.run(&["approve", "--commands", wanted[0], wanted[1]]);
    let mut lead = yard.command(&["run", wanted[0], wanted[1], "--json"]).spawn().expect("it starts");
    let status = || yard.piton(&["status", "build:PRD-044", "--json"]).stdout;
    wait_for("the build to wait", || status().contains("waits for approval"), status);
    assert!(lead.try_wait().expect("it can be asked").is_none(), "the lead is at work on the story");
    let refused = yard.piton(&["run", wanted[0], wanted[1], "--yes"]);
    assert!(refused.stderr.contains("hint: approve a phase that waits: piton approve UNIT\n"), "{}", refused.stderr);
    for arguments in [&["status"][..], &["status", "build:PRD-044"], &["why", "build:PRD-044"], &["status", "--json"]] {
        wait_for(
            "the command",
            || yard.run(arguments).stdout.contains("piton approve build:PRD-044"),
            || yard.run(arguments).stdout,
        );
    }
    let shown = Terminal::start(&yard.command(&["run"]), 100, 30);
    shown.wait_for("waits for approval: piton approve build:PRD-044");
    let watcher = yard.types(&["run"]);
    // The unit's document says so a moment before the lead does.
    wait_for("the approval", || yard.piton(&["approve", "build:PRD-044"]).code == Some(0), status);
    wait_for("the second phase", || yard.ledger().iter().any(|(_, step, _)| step == "WS2"), status);
    std::fs::write(yard.outer("marks/go"), "").expect("it can be written");
    let ended = finish(lead);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert_eq!(watcher.end().code, Some(0));
    assert!(ended.stdout.contains("\"event\":\"approved\""), "{}", ended.stdout);
    yard.assert_nothing_left();
}

#[test]
fn files_that_are_copied_into_worktrees_are_shown_and_approved() {
    let settings = "[worktree]\ncopy = [\".env\"]\n[[stories]]\nid = \"S-1\"\ntitle = \"One\"\n";
    let yard = Yard::with("[run]\npatience = 60\n", "");
    yard.run(&["approve"]);
    yard.workspace.write("piton.toml", format!("{}{settings}", yard.text("piton.toml")));
    yard.workspace.write(".env", "KEY=1\n");
    yard.commit("a file to copy");
    let explained = yard.piton(&["run", "--explain"]);
    assert!(explained.stdout.contains("worktree copy: .env"), "{}{}", explained.stdout, explained.stderr);
    let refused = yard.piton(&["run"]);
    assert!(refused.code != Some(0) && refused.stderr.contains("worktree copy: .env"), "{}", refused.stderr);
    let approved = yard.run(&["approve"]);
    assert!(approved.stdout.contains("approved worktree copy: .env"), "{}", approved.stdout);
    yard.run(&["run"]);
}
