//! The lead dies before each of its effects on the disk in turn, and another one goes on: nothing is lost, nothing is
//! done twice, nobody is taken for dead. Small runs that together have every kind of effect.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::yard::{Yard, finish};

/// A run that is stopped, and what has to be true when the next lead has brought it to its end.
struct Scenario {
    wanted: &'static [&'static str],
    yard: fn() -> Yard,
    check: fn(&Yard, &str),
}

const SETTINGS: &str = "[run]\nworkers = 2\nheartbeat = 60\npatience = 60\nlinger = 5\ngrace = 0.3\n";

/// Two at a time: most of a run is waiting for processes.
const AT_ONCE: usize = 3;

/// Stops the lead before its first effect, its second, and so on, until one comes to its end undisturbed.
fn stop_everywhere(scenario: &Scenario) {
    let number = |name: &str, usual: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let next = AtomicU64::new(number("PITON_TEST_FIRST", 1));
    let has_ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while !has_ended.load(Ordering::Relaxed) {
                    let effect = next.fetch_add(1, Ordering::Relaxed);
                    if stop_at(scenario, effect) {
                        has_ended.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let effects = next.load(Ordering::Relaxed);
    println!("{:?} has less than {effects} effects", scenario.wanted);
    assert!(effects > 30, "too few: they were not stopped");
}

/// Stops it before one effect; says whether it came to its end without that.
fn stop_at(scenario: &Scenario, effect: u64) -> bool {
    let yard = (scenario.yard)();
    let arguments: Vec<&str> = ["run", "--yes"].iter().chain(scenario.wanted).copied().collect();
    let mut lead = yard.command(&arguments);
    let ended = finish(lead.env("PITON_STOP_AT", effect.to_string()).spawn().expect("it starts"));
    assert!(matches!(ended.code, None | Some(0)), "{effect}: {}{}", ended.stdout, ended.stderr);
    let again = yard.piton(&arguments);
    assert_eq!(again.code, Some(0), "stopped before effect {effect}: {}{}", again.stdout, again.stderr);
    (scenario.check)(&yard, &format!("stopped before effect {effect}: {}\n{}", ended.stdout, again.stdout));
    yard.assert_nothing_left();
    ended.code.is_some()
}

#[test]
fn at_a_task_whose_worker_dies() {
    stop_everywhere(&Scenario {
        wanted: &["registry.json"],
        yard: || {
            let yard = Yard::with(&format!("{SETTINGS}worktrees = false\n"), "").env("BAD", "exits");
            let registry = r#"{"tasks": [{"agent": "copy", "id": "T01", "title": "First", "subtasks": ["one", "two"],
                "acceptance_criteria": ["works"]}]}"#;
            yard.workspace.write("registry.json", registry);
            yard
        },
        check: |yard, said| {
            let checkpoint = yard.read_json("progress/checkpoints/copy-T01-complete.json");
            assert_eq!(checkpoint["status"], "complete", "{said}");
            // One worker died, and its lead: that is one death, and each subtask was done once.
            // Where the first run came to its end, the second one had nothing to do.
            let last = yard.read_json(".piton/run/report.json");
            let report = match last["lanes"][0]["workers"] == 0 {
                true => yard.read_json(".piton/run/runs/1/report.json"),
                false => last,
            };
            assert_eq!(report["lanes"][0]["respawns"], 1, "{said}");
            assert_eq!(yard.ledger().len(), 2, "{:?}: {said}", yard.ledger());
        },
    });
}

#[test]
fn at_a_build_with_a_worktree_and_gates() {
    const SPEC: &str = "---\nprd: PRD-052\nprd_title: A gate\nworkstreams:\n  WS1:\n    name: Posts\n    outputs: \
                        [WS1.txt]\n    gate: posts\nexecution_phases:\n  - name: Ground\n    parallel: [WS1]\n    gates: \
                        [posts]\ngates:\n  posts:\n    command: test -f WS1.txt\n---\n# A gate\n";
    stop_everywhere(&Scenario {
        wanted: &["docs/EXECUTION-SPEC-PRD-052.md"],
        yard: || {
            let yard = Yard::with(SETTINGS, "");
            yard.workspace.write("docs/EXECUTION-SPEC-PRD-052.md", SPEC);
            yard.commit("a specification");
            yard
        },
        check: |yard, said| {
            let checkpoint = yard.read_json(".claude/skills/build-pipeline/checkpoints/PRD-052.json");
            assert_eq!(checkpoint["status"], "complete", "{said}");
            assert_eq!(yard.ledger().len(), 1, "{:?}: {said}", yard.ledger());
            assert_eq!(yard.text("WS1.txt"), "WS1\n", "{said}");
            assert_eq!(yard.read_json(".piton/run/report.json")["lanes"][0]["respawns"], 0, "{said}");
        },
    });
}

#[test]
fn at_a_story_that_is_to_be_judged() {
    stop_everywhere(&Scenario {
        // The user began it by hand, and hands it over.
        wanted: &["--retry"],
        yard: || {
            let story = "[gates]\nmade = 'true'\n[[stories]]\nid = \"S-1\"\ntitle = \"One\"\n";
            let yard = Yard::with(SETTINGS, story);
            // A story is judged only when its planned tasks are done.
            for words in [
                &["start", "pipeline:S-1"][..],
                &["step", "pipeline:S-1", "begin", "S-1-a"],
                &["verdict", "pipeline:S-1", "PLAN", "--score", "3"],
                &["stage", "pipeline:S-1", "1"],
                &["verdict", "pipeline:S-1", "GO", "--score", "8"],
                &["stage", "pipeline:S-1", "2"],
                &["step", "pipeline:S-1", "done", "S-1-a"],
                &["stage", "pipeline:S-1", "3"],
            ] {
                yard.run(words);
            }
            yard
        },
        check: |yard, said| {
            let state = yard.read_json(".pipeline/state.json");
            assert_eq!(state["story_state"]["S-1"], "DONE", "{said}");
            assert_eq!(state["complete"], true, "{said}");
            assert_eq!(yard.read_json(".pipeline/report.json")["lanes"][0]["respawns"], 0, "{said}");
        },
    });
}
