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
fn approved_phase_stays_approved_when_a_later_gate_fails() {
    let gates = "    gates: [rails]\n  - name: Roof\n    parallel: [WS3]\ngates:\n  rails:\n    command: test -s nails.txt\n---\n";
    let spec = SPEC.replace("execution_phases", "  WS3:\n    name: Roof\n    outputs: [WS3.txt]\nexecution_phases");
    let yard = Yard::with("[run]\nworkers = 3\nheartbeat = 1\npatience = 60\ngrace = 0.3\nreworks = 0\n", "");
    let path = "EXECUTION-SPEC-PRD-044.md";
    yard.workspace.write(path, spec.replace("    parallel: [WS2]\n---\n", &format!("    parallel: [WS2]\n{gates}")));
    yard.commit("a specification");
    yard.run(&["approve", path]);
    assert_eq!(yard.piton(&["run", path]).code, Some(4));
    yard.run(&["approve", "build:PRD-044"]);
    // The second lead only repeats what the first found, and where it has to be corrected.
    for _ in 0..2 {
        let refused = yard.piton(&["run", path]);
        assert_eq!(refused.code, Some(4), "{}{}", refused.stdout, refused.stderr);
        let place = "when it is fixed and committed in .worktrees/build-PRD-044-WS2 (branch feature/PRD-044-WS2-rails), or on main";
        assert!(refused.stdout.contains(place), "{}", refused.stdout);
        let why = yard.run(&["why", "build:PRD-044"]);
        assert!(why.stdout.contains(place), "{}", why.stdout);
    }
    yard.workspace.write("nails.txt", "ten\n");
    yard.commit("nails");
    let ended = yard.piton(&["run", path, "--retry"]);
    assert!(ended.stdout.contains("Rest is complete and waits for approval"), "{}{}", ended.stdout, ended.stderr);
    assert!(!ended.stdout.contains("Ground is complete and waits"), "{}", ended.stdout);
}

#[test]
fn run_that_finds_all_done_names_the_report_of_the_work() {
    let yard = Yard::new(&[("S-1", &[])]);
    let first = yard.run(&["run", "--yes"]);
    assert!(first.stdout.contains("report: .piton/run/runs/1/report.md"), "{}", first.stdout);
    for _ in 0..2 {
        let again = yard.run(&["run", "--yes"]);
        assert!(again.stdout.contains("report: .piton/run/runs/1/report.md"), "{}", again.stdout);
    }
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
