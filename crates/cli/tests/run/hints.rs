//! What runs and their doors print is typed, in the situation that printed it.

use std::process::Child;

use crate::pty::Terminal;
use crate::requests::{go, signal, started, told};
use crate::yard::{Yard, finish, wait_for};

const SPEC_PATH: &str = "docs/EXECUTION-SPEC-PRD-044.md";
const SPEC: &str = "---\nprd: PRD-044\nprd_title: A fence\nworkstreams:\n  WS1:\n    name: Posts\n    outputs: [WS1.txt]\n\
                    execution_phases:\n  - name: Ground\n    parallel: [WS1]\n---\n# A fence\n";
const PLAN: &str = "# P\n\n## Phase 1: A\n- [ ] One <!-- TASK: one -->\n";

/// A lead at work on one of two stories, and every command that offers to show or to stop it.
fn offered(yard: &Yard) -> Child {
    yard.run(&["approve"]);
    let lead = started(yard, &["run", "pipeline:S-1"]);
    assert_eq!(yard.piton(&["run", "pipeline:S-2"]).code, Some(6));
    assert_eq!(yard.piton(&["resume", "pipeline:S-1"]).code, Some(4));
    assert!(yard.run(&["why", "pipeline:S-1"]).stdout.contains("watch the run: piton run\n"));
    assert!(
        yard.run(&["run", "--detach", "pipeline:S-1"]).stdout.contains("show it: piton run\nstop it: piton stop\n")
    );
    let mut watcher = Terminal::start(&yard.command(&["run"]), 100, 30);
    watcher.wait_for("to stop it: piton stop");
    watcher.type_in("\x03");
    watcher.wait_for("stop it: piton stop");
    watcher.child.wait().expect("it ends");
    signal("-HUP", lead.id());
    wait_for("the hang-up", || !told(yard, "detached").is_empty(), String::new);
    lead
}

fn two_stories() -> Yard {
    Yard::new(&[("S-1", &[]), ("S-2", &[])]).env("WAIT", "yes")
}

#[test]
fn a_lead_at_work_is_shown_as_offered() {
    let yard = two_stories();
    let lead = offered(&yard);
    let shown = yard.types(&["run"]);
    go(&yard);
    let ended = finish(lead);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert_eq!(shown.end().code, Some(0));
    yard.run(&["run", "pipeline:S-2"]);
    yard.assert_nothing_left();
}

#[test]
fn a_lead_at_work_is_stopped_as_offered() {
    let yard = two_stories();
    let lead = offered(&yard);
    assert!(yard.run(&["stop"]).stdout.contains("stop it too: piton stop --workers\n"));
    yard.run(&["stop", "--workers"]);
    assert_eq!(finish(lead).code, Some(1));
    go(&yard);
    yard.run(&["run", "pipeline:S-1"]);
    yard.assert_nothing_left();
}

#[test]
fn a_lead_that_does_not_answer_is_shown() {
    let yard = two_stories();
    yard.run(&["approve"]);
    let lead = started(&yard, &["run", "pipeline:S-1"]);
    signal("-STOP", lead.id());
    let stop = yard.run(&["stop"]).stdout;
    assert!(stop.contains("has not answered yet\nshow it: piton run\n"), "{stop}");
    let shown = yard.types(&["run"]);
    signal("-CONT", lead.id());
    go(&yard);
    // It was asked to end, and so the run is not finished; a command that attaches has its exit code.
    assert_eq!((finish(lead).code, shown.ends_with(1).code), (Some(1), Some(1)));
    yard.run(&["run", "pipeline:S-1"]);
}

#[test]
fn workers_of_an_earlier_run_are_stopped_as_offered() {
    let settings = "[run]\nworkers = 1\nheartbeat = 1\npatience = 60\ngrace = 0.3\n";
    let yard = Yard::with(settings, "[[stories]]\nid = \"S-1\"\n[[stories]]\nid = \"S-2\"\n").env("WAIT", "yes");
    yard.run(&["approve"]);
    let mut lead = started(&yard, &["run", "pipeline:S-1"]);
    lead.kill().expect("it can be killed");
    lead.wait().expect("it is gone");
    let second = yard.command(&["run", "pipeline:S-2"]).spawn().expect("it starts");
    let log = || std::fs::read_to_string(yard.workspace.path(".piton/run/runs/2/events.jsonl")).unwrap_or_default();
    wait_for("the other to be counted", || log().contains("To stop all workers: piton stop --workers"), log);
    yard.run(&["stop", "--workers"]);
    assert_eq!(finish(second).code, Some(1));
    go(&yard);
    yard.run(&["run", "pipeline:S-1"]);
    yard.run(&["run", "pipeline:S-2"]);
    yard.assert_nothing_left();
}

#[test]
fn commands_are_approved_as_offered() {
    let yard = Yard::new(&[("S-1", &[])]);
    assert!(yard.run(&["run", "--explain"]).stdout.contains("not approved yet (piton approve):"));
    yard.run(&["approve"]);
    yard.run(&["run", "pipeline:S-1"]);
    let other = Yard::new(&[("S-1", &[])]);
    let stop = other.piton(&["stop"]);
    assert!(stop.stderr.contains("hint: start one: piton run\n"), "{}", stop.stderr);
    let refused = other.piton(&["run"]);
    assert!(refused.stderr.contains("or approve them and run: piton run --yes\n"), "{}", refused.stderr);
    other.run(&["run", "--yes"]);
    other.run(&["run"]);
    let output = other.piton(&["output", "pipeline:S-1", "--attempt", "99"]);
    assert!(output.stderr.contains("hint: piton output pipeline:S-1\n"), "{}", output.stderr);
    other.run(&["output", "pipeline:S-1"]);
}

#[test]
fn a_unit_that_waits_for_nothing_says_what_can_be_approved() {
    let yard = Yard::new(&[("S-1", &[])]);
    yard.workspace.write(SPEC_PATH, SPEC);
    yard.commit("a specification");
    yard.run(&["start", "build:PRD-044", "--spec", SPEC_PATH]);
    let refused = yard.piton(&["approve", "build:PRD-044"]);
    assert!(refused.stderr.contains("hint: see where it stands: piton status build:PRD-044\n"), "{}", refused.stderr);
    yard.run(&["status", "build:PRD-044"]);
    let hint = "to approve the commands that a run of it needs: piton approve build:PRD-044 --commands\n";
    assert!(refused.stderr.contains(hint), "{}", refused.stderr);
    let approved = yard.run(&["approve", "build:PRD-044", "--commands"]);
    assert!(approved.stdout.contains("approved worker"), "{}", approved.stdout);
    // In a workspace of its own, where nothing is approved yet.
    let yard = Yard::new(&[("S-1", &[])]);
    yard.workspace.write(SPEC_PATH, SPEC);
    yard.commit("a specification");
    yard.run(&["start", "build:PRD-044", "--spec", SPEC_PATH]);
    let mixed = yard.piton(&["approve", "build:PRD-044", SPEC_PATH]);
    let hint = format!("approve the commands of all of them: piton approve build:PRD-044 {SPEC_PATH} --commands\n");
    assert!(mixed.stderr.contains(&hint), "{}", mixed.stderr);
    yard.run(&["approve", "build:PRD-044", SPEC_PATH, "--commands"]);
}

#[test]
fn what_could_be_run_is_named() {
    let yard = Yard::with("[run]\nheartbeat = 1\ngrace = 0.3\n", "");
    let refused = yard.piton(&["run"]);
    assert!(refused.stderr.contains("or name a specification: piton run FILE\n"), "{}", refused.stderr);
    yard.workspace.write(SPEC_PATH, SPEC);
    yard.workspace.write("plans/p/plan.md", PLAN);
    yard.commit("work");
    let refused = yard.piton(&["run"]);
    assert!(refused.stderr.contains("name what to run, such as: piton run plan:p\n"), "{}", refused.stderr);
    yard.run(&["approve", SPEC_PATH]);
    yard.run(&["run", SPEC_PATH]);
    yard.run(&["run", "plan:p"]);
}

#[test]
fn work_that_cannot_be_run_says_what_to_do() {
    for (path, text, wanted, hint) in [
        (
            "docs/EXECUTION-SPEC-PRD-044.md",
            "# Nothing\n".to_owned(),
            "docs/EXECUTION-SPEC-PRD-044.md",
            "piton check docs/EXECUTION-SPEC-PRD-044.md",
        ),
        (
            "docs/EXECUTION-SPEC-PRD-044.md",
            SPEC.replace("PRD-044", "'a b'"),
            "docs/EXECUTION-SPEC-PRD-044.md",
            "piton check docs/EXECUTION-SPEC-PRD-044.md",
        ),
        (
            "docs/EXECUTION-SPEC-PRD-044.md",
            SPEC.replace("[WS1.txt]", "[posts.txt]").replace("WS1", "'a b'"),
            "docs/EXECUTION-SPEC-PRD-044.md",
            "piton check docs/EXECUTION-SPEC-PRD-044.md",
        ),
        (
            "docs/EXECUTION-SPEC-PRD-044.md",
            SPEC.replace("[WS1.txt]", "[posts.txt]").replace("WS1", "'a b'"),
            "build:PRD-044",
            "hint: piton check\n",
        ),
        ("plans/p/plan.md", "# P\n\n- [ ] One\n".to_owned(), "plan:p", "give its boxes ids: piton plan mark plan:p"),
        ("plans/p/plan.md", PLAN.replace("TASK: one", "TASK: -one"), "plan:p", "piton check plan:p"),
    ] {
        let yard = Yard::with("[run]\nheartbeat = 1\n", "");
        yard.workspace.write(path, text);
        yard.commit("work");
        // The hints of this call are followed in a copy.
        let run = yard.workspace.call(&["run", wanted]).env("PATH", "/usr/bin:/bin").without_clock().run();
        assert!(run.stderr.contains(hint), "{wanted}: {}", run.transcript());
    }
}

#[test]
fn a_build_without_a_specification_is_run_with_one() {
    let yard = Yard::with("[run]\nheartbeat = 1\ngrace = 0.3\n", "");
    yard.run(&["start", "build:PRD-044", "--title", "A fence", "--step", "WS1"]);
    let refused = yard.piton(&["run", "build:PRD-044"]);
    assert!(refused.stderr.contains("hint: name its specification: piton run FILE\n"), "{}", refused.stderr);
    yard.workspace.write(SPEC_PATH, SPEC);
    yard.commit("a specification");
    yard.run(&["approve", SPEC_PATH]);
    yard.run(&["run", SPEC_PATH]);
}

#[test]
fn tools_that_init_found_are_allowed_as_offered() {
    let yard = Yard::new(&[("S-1", &[])]);
    std::fs::remove_file(yard.workspace.path("piton.toml")).expect("it is there");
    yard.workspace.write("Cargo.toml", "[package]\nname = \"x\"\nversion = \"0.1.0\"\n");
    let init = yard.run(&["init", "--yes"]).stdout;
    assert!(init.contains("allow them with: piton approve\n"), "{init}");
    yard.run(&["approve"]);
}

#[test]
fn a_broken_state_of_the_lead_is_rebuilt_as_offered() {
    let yard = two_stories();
    yard.run(&["approve"]);
    let mut lead = started(&yard, &["run"]);
    lead.kill().expect("it can be killed");
    lead.wait().expect("it is gone");
    yard.workspace.write(".pipeline/state.json", "{\"story_state\": ");
    let noted = yard.run(&["beat", "pipeline:S-1"]);
    assert!(noted.stderr.contains("rebuild it: piton run\n"), "{}", noted.stderr);
    go(&yard);
    yard.run(&["run"]);
    assert_eq!(yard.read_json(".pipeline/state.json")["story_state"]["S-1"], "DONE");
}

#[test]
fn a_run_that_another_one_is_in_the_way_of_is_tried_again() {
    let yard = Yard::new(&[("S-1", &[])]);
    yard.run(&["approve"]);
    // A lead that is just starting holds the lock, and has not said who it is.
    let lock = yard.workspace.path(".piton/run/lock");
    std::fs::create_dir_all(lock.parent().expect("a directory")).expect("it can be made");
    let held = std::fs::File::create(&lock).expect("it can be made");
    held.lock().expect("it is free");
    let busy = yard.piton(&["run", "pipeline:S-1"]);
    assert_eq!(busy.code, Some(6), "{}{}", busy.stdout, busy.stderr);
    assert!(busy.stderr.contains("hint: try again: piton run pipeline:S-1\n"), "{}", busy.stderr);
    drop(held);
    yard.run(&["run", "pipeline:S-1"]);
}

#[test]
fn the_output_of_units_with_one_name_is_told_apart() {
    let yard = Yard::new(&[("S-1", &[])]);
    yard.workspace.write("plans/S-1/plan.md", PLAN);
    yard.commit("a plan");
    yard.run(&["run", "pipeline:S-1", "plan:S-1", "--yes"]);
    let refused = yard.piton(&["output", "S-1"]);
    assert!(refused.stderr.contains("hint: piton output pipeline:S-1\n"), "{}", refused.stderr);
    yard.run(&["output", "pipeline:S-1"]);
}

#[test]
fn a_gate_whose_approval_is_gone_is_approved_as_offered() {
    let yard = Yard::with("[run]\nheartbeat = 1\ngrace = 0.3\n", "");
    let forgets = format!("rm -rf {}/*", yard.outer("state").display());
    let gates = format!("gates:\n  first:\n    command: {forgets}\n  second:\n    command: test -f WS1.txt\n");
    let spec =
        SPEC.replace("    parallel: [WS1]\n", &format!("    parallel: [WS1]\n    gates: [first, second]\n{gates}"));
    yard.workspace.write(SPEC_PATH, spec);
    yard.commit("a specification");
    let ended = yard.piton(&["run", SPEC_PATH, "--yes"]);
    assert_eq!(ended.code, Some(4), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("approve it with: piton approve"), "{}", ended.stdout);
    yard.run(&["approve"]);
}

#[test]
fn a_demo_whose_lead_ends_early_can_be_looked_at() {
    let yard = Yard::new(&[("S-1", &[])]);
    let place = yard.outer("demo").to_str().expect("UTF-8").to_owned();
    let demo = yard.types(&["demo", &place]);
    let lead = || yard.processes().into_iter().find(|process| process.trim_end().ends_with("piton run --yes"));
    wait_for("its lead", || lead().is_some(), || format!("{:?}", yard.processes()));
    // Each lead is asked to end, also one that follows a lead which was killed.
    let is_over = || {
        if let Some(lead) = lead() {
            let pid = lead.split(' ').next().unwrap_or_default().to_owned();
            let _ = std::process::Command::new("kill").arg(pid).stderr(std::process::Stdio::null()).status();
        }
        !yard.processes().iter().any(|process| process.contains("piton demo "))
    };
    wait_for("its end", is_over, || format!("{:?}", yard.processes()));
    let ended = demo.end();
    assert_eq!(ended.code, Some(1), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains(&format!("look at it: piton -C {place} status\n")), "{}", ended.stderr);
    yard.run(&["-C", &place, "status"]);
    let _ = yard.piton(&["-C", &place, "stop", "--workers"]);
}

#[test]
fn a_story_whose_state_no_rule_knows_goes_on_as_offered() {
    // The lead writes its state once more when it has started the worker.
    let spoil = "while ! grep -q story-S-1-s2 .pipeline/state.json; do sleep 0.02; done
        sed -i 's/STAGE_2/WAITING/' .pipeline/state.json";
    let yard = Yard::new(&[("S-1", &[])]).env("BAD", "spoils").env("SPOILT", "").env("SPOIL", spoil);
    yard.run(&["approve"]);
    let ended = yard.piton(&["run"]);
    assert_eq!(ended.code, Some(4), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("go on with: piton unblock pipeline:S-1"), "{}", ended.stdout);
    yard.run(&["unblock", "pipeline:S-1"]);
    yard.run(&["run", "--retry"]);
}

#[test]
fn what_why_names_next_approves_and_continues() {
    let yard = Yard::with("[run]\nheartbeat = 1\ngrace = 0.3\n", "");
    let two = SPEC
        .replace(
            "execution_phases:",
            "  WS2:\n    name: Rails\n    depends_on: [WS1]\n    outputs: [WS2.txt]\nexecution_phases:",
        )
        .replace("    parallel: [WS1]\n", "    parallel: [WS1]\n  - name: Rest\n    parallel: [WS2]\n");
    yard.workspace.write(SPEC_PATH, two);
    yard.commit("a specification");
    yard.run(&["approve", SPEC_PATH]);
    assert_eq!(yard.piton(&["run", SPEC_PATH]).code, Some(4));
    let why = yard.run(&["why", "build:PRD-044"]).stdout;
    let next = format!("approve and continue: piton approve build:PRD-044 && piton run {SPEC_PATH}\n");
    assert!(why.contains(&next), "{why}");
    yard.run(&["approve", "build:PRD-044"]);
    yard.run(&["run", SPEC_PATH]);
}
