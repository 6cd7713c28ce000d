//! `piton output`: what workers printed, whatever became of their lead.

use std::io::{BufRead as _, BufReader};

use serde_json::Value;

use crate::yard::Yard;

/// A repository with one story whose workers run a script.
fn yard(script: &str) -> Yard {
    let yard = Yard::with("", "");
    let settings = "[run]\nheartbeat = 1\nrespawn = 0\nreworks = 0\n";
    let worker = format!("[worker]\ncommand = [\"/bin/sh\", \"-c\", {}]\n", Value::from(script));
    let story = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\n";
    yard.workspace.write("piton.toml", format!("{settings}{worker}{story}"));
    yard.commit("a story");
    yard
}

const FAILS: &str = "echo first; printf 'red \\033[31mink\\n'; echo it broke >&2; exit 3";

#[test]
fn what_a_worker_printed_is_found_by_its_unit_and_attempt() {
    let yard = yard(FAILS);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    // What the lead remembers does not matter.
    std::fs::remove_file(yard.workspace.path(".piton/run/memory.json")).expect("there is a memory");

    let out = yard.run(&["output", "pipeline:S-1"]);
    assert_eq!(out.stdout, "first\nred \\x1b[31mink\n");
    assert!(out.stderr.starts_with("pipeline:S-1, worker story-S-1-s0"), "{}", out.stderr);
    assert!(out.stderr.contains("exit code 3"), "{}", out.stderr);
    assert_eq!(yard.run(&["output", "S-1", "--stderr"]).stdout, "it broke\n");
    assert_eq!(yard.run(&["output", "pipeline:S-1", "--raw"]).stdout, "first\nred \u{1b}[31mink\n");
    assert_eq!(yard.run(&["output", "pipeline:S-1", "--follow"]).stdout, "first\nred \\x1b[31mink\n");

    let document = yard.json(&["output", "pipeline:S-1", "--json"]);
    assert_eq!(document["lines"], serde_json::json!(["first", "red \\x1b[31mink"]));
    assert_eq!((&document["exit"], &document["is_running"]), (&"exit code 3".into(), &false.into()));
    assert_eq!((&document["stage"], &document["bytes"]), (&0.into(), &19.into()));
    let attempt = document["attempt"].as_str().expect("an attempt").to_owned();
    assert_eq!(yard.run(&["output", "pipeline:S-1", "--attempt", &attempt]).stdout, out.stdout);

    let missing = yard.piton(&["output", "pipeline:S-1", "--attempt", "77"]);
    assert_eq!(missing.code, Some(5), "{}", missing.stderr);
    assert!(missing.stderr.contains(&format!("attempt {attempt}")), "it says what there is: {}", missing.stderr);
    let missing = yard.piton(&["output", "pipeline:S-9"]);
    assert_eq!(missing.code, Some(5));
    assert!(missing.stderr.contains("no such unit: pipeline:S-9"), "{}", missing.stderr);
}

#[test]
fn the_last_lines_of_a_worker_that_failed_stand_where_a_person_looks() {
    let yard = yard(FAILS);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    for verb in ["why", "status"] {
        let text = yard.run(&[verb, "pipeline:S-1"]).stdout;
        assert!(text.contains("last worker\n"), "{verb}: {text}");
        for line in ["exit code 3\n", "    first\n", "    red \\x1b[31mink\n", "    it broke\n"] {
            assert!(text.contains(line), "{verb}: {line:?} in {text}");
        }
    }
    let why = yard.json(&["why", "pipeline:S-1", "--json"]);
    assert_eq!(why["last_worker"]["lines"][2], "it broke");
    let report = yard.text(".pipeline/report.md");
    assert!(report.contains("\n      it broke\n"), "{report}");
}

#[test]
fn what_a_gate_printed_stands_where_a_person_looks() {
    let yard = Yard::new(&[("S-1", &[])]);
    let gate = "[gates]\ntest = \"echo 3 of 4 hold; echo the quay leaks >&2; exit 1\"\n";
    yard.workspace.write("piton.toml", format!("{}{gate}", yard.text("piton.toml")));
    yard.commit("a gate");
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    for verb in ["why", "status"] {
        let text = yard.run(&[verb, "pipeline:S-1"]).stdout;
        let words = "last gate\n  test, exit code 1\n    3 of 4 hold\n    the quay leaks\n";
        assert!(text.contains(words), "{verb}: {text}");
    }
    let why = yard.json(&["why", "pipeline:S-1", "--json"]);
    assert_eq!(why["last_worker"]["gate"], "test");
    let report = yard.text(".pipeline/report.md");
    assert!(report.contains("\n      3 of 4 hold\n      the quay leaks\n"), "{report}");

    assert_eq!(yard.run(&["output", "pipeline:S-1", "--gate", "test"]).stdout, "3 of 4 hold\n");
    assert_eq!(yard.run(&["output", "pipeline:S-1", "--gate", "test", "--stderr"]).stdout, "the quay leaks\n");
    let missing = yard.piton(&["output", "pipeline:S-1", "--gate", "lint"]);
    assert_eq!(missing.code, Some(5), "{}", missing.stderr);
    assert!(missing.stderr.contains("gate lint is kept; "), "it says what there is: {}", missing.stderr);

    // When the gate passes, nothing is left to say.
    let settings = yard.text("piton.toml").replace("exit 1", "exit 0");
    yard.workspace.write("piton.toml", settings);
    yard.commit("the gate is right");
    yard.run(&["run", "--retry", "--yes"]);
    assert!(!yard.run(&["why", "pipeline:S-1"]).stdout.contains("last gate"));
}

#[test]
fn a_lane_is_named_by_its_step() {
    let yard = Yard::new(&[]);
    let spec = "---\nprd: PRD-001\nworkstreams:\n  WS1:\n    name: One\n    outputs: [WS1.txt]\n  WS2:\n    name: Two\n    \
                outputs: [WS2.txt]\nexecution_phases:\n  - name: all\n    parallel: [WS1, WS2]\n---\n\n# Spec\n";
    yard.workspace.write("docs/EXECUTION-SPEC-PRD-001.md", spec);
    yard.commit("a specification");
    yard.run(&["run", "docs/EXECUTION-SPEC-PRD-001.md", "--yes"]);
    let one = yard.run(&["output", "build:PRD-001", "WS1"]).stdout;
    assert!(one.contains("WS1 done"), "{one}");
    assert_eq!(yard.run(&["output", "build:PRD-001 WS1"]).stdout, one);
    assert_eq!(yard.run(&["output", "PRD-001", "--step", "WS1"]).stdout, one);
    assert!(yard.run(&["output", "build:PRD-001", "WS2"]).stdout.contains("WS2 done"));
    let missing = yard.piton(&["output", "build:PRD-001", "WS3"]);
    assert_eq!(missing.code, Some(5));
    assert!(missing.stderr.contains("WS1") && missing.stderr.contains("WS2"), "{}", missing.stderr);
}

#[test]
fn a_worker_is_followed_until_it_ends() {
    let yard = yard("echo begun; while ! [ -e \"$MARKS/go\" ]; do sleep 0.02; done; echo went on; exit 3");
    let mut lead = yard.command(&["run", "--yes"]).spawn().expect("the binary starts");
    crate::yard::wait_for(
        "a worker",
        || yard.piton(&["output", "pipeline:S-1"]).stdout == "begun\n",
        || yard.piton(&["output", "pipeline:S-1"]).stderr,
    );
    let mut follower = yard.command(&["output", "pipeline:S-1", "--follow"]).spawn().expect("the binary starts");
    let mut lines = BufReader::new(follower.stdout.take().expect("a pipe")).lines();
    let mut next = || lines.next().map(|line| line.expect("a line"));
    assert_eq!(next().as_deref(), Some("begun"));
    std::fs::write(yard.outer("marks/go"), "").expect("a mark");
    assert_eq!(next().as_deref(), Some("went on"));
    assert_eq!(next(), None);
    assert_eq!(follower.wait().expect("it ends").code(), Some(0));
    assert_eq!(lead.wait().expect("it ends").code(), Some(4));
}

#[test]
fn the_output_of_a_foreign_piton_directory_is_not_shown() {
    let yard = yard(FAILS);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    // As it would be in a clone of somebody else's repository.
    std::fs::write(yard.workspace.path(".piton/seal"), "another").expect("it can be written");
    let refused = yard.piton(&["output", "pipeline:S-1"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(5), ""), "{}", refused.stderr);
}
