use crate::yard::{Yard, finish, wait_for};

pub const SPEC: &str = "---\nprd: PRD-031\nprd_title: A shed\nworkstreams:\n  WS1:\n    name: Floor\n    outputs: [WS1.txt]\n    \
gate: floor\n  WS2:\n    name: Walls\n    depends_on: [WS1]\n    outputs: [WS2.txt]\n  WS3:\n    name: Roof\n    \
depends_on: [WS1]\n    outputs: [WS3.txt]\nexecution_phases:\n  - name: Ground\n    parallel: [WS1]\n    gates: [floor]\n  \
- name: Rest\n    parallel: [WS2, WS3]\n    gates: [stands]\ngates:\n  floor:\n    command: test -f WS1.txt\n  stands:\n    \
command: test -f WS2.txt && test -f WS3.txt\n---\n# A shed\n";

pub const CHECKPOINT: &str = ".claude/skills/build-pipeline/checkpoints/PRD-031.json";

fn settings() -> Yard {
    Yard::with("[run]\nworkers = 3\nheartbeat = 1\npatience = 60\ngrace = 0.3\n", "")
}

fn build() -> Yard {
    let yard = settings();
    yard.workspace.write("docs/EXECUTION-SPEC-PRD-031.md", SPEC);
    yard.commit("a specification");
    yard
}

#[test]
fn a_build_goes_through_its_phases_with_gates_that_are_really_run() {
    // Who says nothing and makes its files has done its work as well.
    for bad in ["", "silent"] {
        let yard = build().env("BAD", bad);
        let ended = yard.run(&["run", "docs/EXECUTION-SPEC-PRD-031.md", "--yes"]);
        let said =
            |text: &str| ended.stdout.lines().filter(|line| line.contains("WS1") && line.ends_with(text)).count();
        assert_eq!((said(" its work is complete"), said(" done")), (1, 1), "each is said once: {}", ended.stdout);
        let checkpoint = yard.read_json(CHECKPOINT);
        assert_eq!(checkpoint["status"], "complete", "{checkpoint}");
        assert_eq!(checkpoint["completed_workstreams"].as_array().map(Vec::len), Some(3), "{checkpoint}");
        assert_eq!(checkpoint["gates_pending"].as_array().map(Vec::len), Some(0), "{checkpoint}");
        let log = yard.json(&["log", "build:PRD-031", "--json"]).to_string();
        assert!(log.contains("\"exit_code\":0") && log.contains("test -f WS1.txt"), "{log}");
        assert_eq!(yard.text("WS3.txt"), "WS3\n");
        yard.assert_nothing_left();
    }
}

#[test]
fn a_build_waits_for_approval_after_a_phase() {
    let yard = build();
    yard.run(&["approve", "docs/EXECUTION-SPEC-PRD-031.md"]);
    let ended = yard.piton(&["run", "docs/EXECUTION-SPEC-PRD-031.md"]);
    assert_eq!(ended.code, Some(4), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("waits for approval: piton approve build:PRD-031"), "{}", ended.stdout);
    assert_eq!(yard.read_json(CHECKPOINT)["status"], "paused");
    // Running again is no approval.
    assert_eq!(yard.piton(&["run", "build:PRD-031"]).code, Some(4));
    assert_eq!(yard.ledger().len(), 1);
    yard.run(&["approve", "build:PRD-031"]);
    yard.run(&["run", "build:PRD-031"]);
    assert_eq!(yard.read_json(CHECKPOINT)["status"], "complete");
    assert_eq!(yard.ledger().len(), 3);
}

#[test]
fn a_failed_gate_fails_the_build_and_nothing_more_begins() {
    let yard = settings();
    yard.workspace.write("docs/EXECUTION-SPEC-PRD-031.md", SPEC.replace("test -f WS1.txt", "echo crooked; exit 3"));
    yard.commit("a specification");
    let ended = yard.piton(&["run", "docs/EXECUTION-SPEC-PRD-031.md", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("gate floor failed"), "{}", ended.stdout);
    let checkpoint = yard.read_json(CHECKPOINT);
    assert_eq!(checkpoint["status"], "failed", "{checkpoint}");
    assert_eq!(checkpoint["error"]["workstream"], "WS1", "{checkpoint}");
    // It went back to its agent twice, and to nobody else.
    let begun: Vec<String> = yard.ledger().into_iter().map(|(_, step, _)| step).collect();
    assert_eq!(begun, ["WS1", "WS1", "WS1"]);
    assert!(!yard.workspace.path("WS1.txt").exists(), "nothing whose gate failed is on the base");
}

#[test]
fn what_was_mended_goes_on_with_its_gate_and_not_with_its_work() {
    let yard = settings();
    let spec = SPEC.replace("test -f WS1.txt", "test -f level.txt");
    yard.workspace.write("docs/EXECUTION-SPEC-PRD-031.md", spec);
    yard.commit("a specification");
    let ended = yard.piton(&["run", "docs/EXECUTION-SPEC-PRD-031.md", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}{}", ended.stdout, ended.stderr);
    // It stays paused until a person says otherwise.
    assert_eq!(yard.piton(&["run", "build:PRD-031", "--yes"]).code, Some(4));
    let begun = || yard.ledger().into_iter().filter(|(_, step, _)| step == "WS1").count();
    let before = begun();
    yard.workspace.write("level.txt", "level\n");
    yard.commit("level");
    yard.run(&["run", "build:PRD-031", "--yes", "--retry"]);
    assert_eq!(yard.read_json(CHECKPOINT)["status"], "complete");
    assert_eq!(begun(), before, "{:?}", yard.ledger());
    yard.assert_nothing_left();
}

#[test]
fn a_failed_workstream_lets_its_siblings_end() {
    let yard = build().env("BAD", "always-exits");
    let ended = yard.piton(&["run", "docs/EXECUTION-SPEC-PRD-031.md", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}{}", ended.stdout, ended.stderr);
    let checkpoint = yard.read_json(CHECKPOINT);
    assert_eq!(checkpoint["status"], "failed", "{checkpoint}");
    assert_eq!(checkpoint["error"]["workstream"], "WS1", "{checkpoint}");
    assert_eq!(checkpoint["pending_workstreams"].as_array().map(Vec::len), Some(3), "{checkpoint}");
}

#[test]
fn a_build_whose_lead_is_killed_goes_on_where_it_was() {
    let yard = build().env("BAD", "hangs");
    yard.run(&["approve", "docs/EXECUTION-SPEC-PRD-031.md"]);
    let mut lead = yard.command(&["run", "docs/EXECUTION-SPEC-PRD-031.md", "--yes"]).spawn().expect("it starts");
    let hangs = || yard.processes().iter().any(|process| process.contains("sleep 1000"));
    wait_for("a worker that hangs", hangs, String::new);
    lead.kill().expect("it can be killed");
    lead.wait().expect("it is gone");
    let second = yard.command(&["run", "build:PRD-031", "--yes"]).spawn().expect("it starts");
    // The one that hangs is adopted; when it is killed, another goes on.
    for process in yard.processes().iter().filter(|process| process.contains("sleep 1000")) {
        let pid = process.split(' ').next().unwrap_or_default();
        std::process::Command::new("kill").args(["-9", pid]).status().expect("kill runs");
    }
    let ended = finish(second);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert_eq!(yard.read_json(CHECKPOINT)["status"], "complete");
    yard.assert_nothing_left();
}

#[test]
fn a_plan_goes_phase_by_phase_and_its_acceptance_is_run() {
    let plan = "# Plan\n\n## Ground\n<!-- CHECKPOINT: ground -->\n- [ ] Dig <!-- TASK: dig -->\n- [ ] Pour <!-- TASK: pour -->\n\
                - [ ] It holds <!-- ACCEPT: holds -->\n\n## Walls\n<!-- CHECKPOINT: walls -->\n- [ ] Lay <!-- TASK: lay -->\n";
    let yard =
        Yard::with("[run]\nworkers = 2\npatience = 60\n", "[gates]\nholds = 'test -f dig.txt && test -f pour.txt'\n");
    yard.workspace.write("plans/260301-0900-hut/plan.md", plan);
    yard.commit("a plan");
    yard.run(&["run", "plan:260301-0900-hut", "--yes"]);
    let text = yard.text("plans/260301-0900-hut/plan.md");
    assert_eq!(text, plan.replace("[ ]", "[x]"));
    let order: Vec<String> = yard.ledger().into_iter().map(|(_, task, _)| task).collect();
    assert_eq!(order.last().map(String::as_str), Some("lay"), "{order:?}");
    assert_eq!(yard.text("lay.txt"), "lay\n");
    yard.assert_nothing_left();
}

#[test]
fn tasks_of_a_registry_are_dispatched_in_their_order() {
    let registry = r#"{"tasks": [
        {"agent": "copy", "id": "T01", "title": "First", "subtasks": ["one", "two"], "acceptance_criteria": ["works"]},
        {"agent": "photo", "id": "T02", "title": "Second", "subtasks": ["one", "two"],
         "acceptance_criteria": ["works"], "depends_on": ["T01"]}]}"#;
    let yard = settings().env("BAD", "exits");
    yard.workspace.write("registry.json", registry);
    yard.commit("a registry");
    yard.run(&["run", "registry.json", "--yes"]);
    for task in ["copy-T01", "photo-T02"] {
        let checkpoint = yard.read_json(&format!("progress/checkpoints/{task}-complete.json"));
        assert_eq!(checkpoint["status"], "complete", "{checkpoint}");
    }
    assert_eq!(yard.text("T02-two.txt"), "two\n");
    yard.assert_nothing_left();
}

#[test]
fn a_crew_works_in_parallel_and_meets_at_its_sync_point() {
    let agents = "[[agents]]\nagent = \"Agent-Primary\"\nfeature = \"feature_01_form\"\ntype = \"primary\"\n\
                  [[agents]]\nagent = \"Secondary-A\"\nfeature = \"feature_02_search\"\ntype = \"secondary\"\n\
                  [[agents]]\nagent = \"Secondary-B\"\nfeature = \"feature_03_photos\"\ntype = \"secondary\"\nwave = 2\n";
    let yard = settings().env("BAD", "exits");
    yard.workspace.write("crew.toml", agents);
    yard.commit("a crew");
    let ended = yard.run(&["run", "crew.toml", "--yes"]);
    assert!(ended.stdout.contains("gate sync point passed"), "{}", ended.stdout);
    let order: Vec<String> = yard.ledger().into_iter().map(|(unit, _, _)| unit).collect();
    assert_eq!(order.last().map(String::as_str), Some("crew:Secondary-B"), "{order:?}");
    yard.assert_nothing_left();
}
