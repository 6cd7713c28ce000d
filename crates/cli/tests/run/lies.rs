//! Workers that call done what they did not make. They are told what is not there; who repeats a lie is a person's business.

use crate::dialects::SPEC;
use crate::yard::{Ended, Yard};

const REGISTRY: &str = r#"{"tasks": [
    {"agent": "copy", "id": "T01", "subtasks": ["one", "two"], "acceptance_criteria": ["works"]}]}"#;
const PLAN: &str = "# Plan\n\n## Ground\n<!-- CHECKPOINT: ground -->\n- [ ] Dig <!-- TASK: dig -->\n\
                    - [ ] It holds <!-- ACCEPT: holds -->\n";

/// A yard with something to do in each dialect, and how it is run.
fn yards(gates: &str) -> Vec<(Yard, &'static str, &'static str, &'static str)> {
    let settings = "[run]\nheartbeat = 1\npatience = 60\ngrace = 0.3\n";
    let stories = "[[stories]]\nid = \"S-1\"\n";
    let yard = |path: &str, text: &str, more: &str| {
        // All gates are run for every story and every agent of a crew.
        let gates = if more.is_empty() && path != "crew.toml" { gates } else { "" };
        let yard = Yard::with(settings, &format!("{gates}{more}"));
        if !path.is_empty() {
            yard.workspace.write(path, text);
            yard.commit("work");
        }
        yard
    };
    vec![
        (yard("", "", stories), "pipeline:S-1", "pipeline:S-1", "S-1-a.txt, S-1-b.txt"),
        (
            yard("docs/EXECUTION-SPEC-PRD-031.md", SPEC, ""),
            "docs/EXECUTION-SPEC-PRD-031.md",
            "build:PRD-031",
            "WS1.txt",
        ),
        (yard("plans/260301-0900-hut/plan.md", PLAN, ""), "plan:260301-0900-hut", "plan:260301-0900-hut", "dig.txt"),
        (yard("registry.json", REGISTRY, ""), "registry.json", "task:copy/T01", "T01-one.txt, T01-two.txt"),
        (
            yard("crew.toml", "[[agents]]\nagent = \"Secondary-A\"\nfeature = \"feature_02\"\n", ""),
            "crew.toml",
            "crew:Secondary-A",
            "Secondary-A.txt",
        ),
    ]
}

const HOLDS: &str = "[gates]\nholds = 'test -f dig.txt'\n";

fn run(yard: &Yard, wanted: &str) -> Ended {
    yard.piton(&["run", wanted, "--yes"])
}

#[test]
fn who_lied_is_told_what_is_not_there_and_makes_it() {
    for (yard, wanted, unit, files) in yards(HOLDS) {
        let yard = yard.env("BAD", "lied");
        let ended = run(&yard, wanted);
        assert_eq!(ended.code, Some(0), "{unit}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stdout.contains("is claimed done, not there: "), "{unit}: {}", ended.stdout);
        for file in files.split(", ") {
            assert!(!yard.text(file).is_empty(), "{unit}: {file}");
        }
        yard.assert_nothing_left();
    }
}

#[test]
fn who_repeats_a_lie_is_paused_and_nothing_of_it_is_done() {
    for (yard, wanted, unit, files) in yards(HOLDS) {
        let yard = yard.env("BAD", "lies");
        let ended = run(&yard, wanted);
        assert_eq!(ended.code, Some(4), "{unit}: {}{}", ended.stdout, ended.stderr);
        let want = format!("its worker says that it is done, and it is not there: {files}; ");
        assert!(ended.stdout.contains(&want), "{unit}: {}", ended.stdout);
        assert!(ended.stdout.contains(": 0 of "), "{unit}: {}", ended.stdout);
        // Neither time nor another lead makes it true.
        let again = run(&yard, unit);
        assert_eq!(again.code, Some(4), "{unit}: {}{}", again.stdout, again.stderr);
    }
}

#[test]
fn a_gate_that_a_worker_calls_passed_is_run_all_the_same() {
    let gates = "[gates]\nholds = 'exit 3'\nworks = 'exit 3'\nstands = 'exit 3'\n";
    let oaths = [("build:PRD-031", "floor --step WS1"), ("plan:260301-0900-hut", "holds"), ("task:copy/T01", "works")];
    for (yard, wanted, unit, _) in yards(gates) {
        let Some((_, oath)) = oaths.iter().find(|(known, _)| *known == unit) else { continue };
        let yard = yard.env("BAD", "swears").env("OATH", oath);
        if unit == "build:PRD-031" {
            yard.workspace.write("docs/EXECUTION-SPEC-PRD-031.md", SPEC.replace("test -f WS1.txt", "exit 3"));
            yard.commit("a gate that fails");
        }
        let ended = run(&yard, wanted);
        assert_eq!(ended.code, Some(4), "{unit}: {}{}", ended.stdout, ended.stderr);
        let gate = oath.split(' ').next().unwrap_or_default();
        let want = format!("gate {gate} failed: `exit 3` ended with exit code 3");
        assert!(ended.stdout.contains(&want), "{unit}: {}", ended.stdout);
    }
}
