//! Gates without a command, which a person judges for each workstream, and reviews that come while workers are at work.

use crate::whose_word::{is_on_main, meanwhile, said, workers, yard};
use crate::yard::{Ended, Yard};

const PATH: &str = "docs/EXECUTION-SPEC-PRD-012.md";

const RUN: [&str; 3] = ["run", PATH, "--yes"];

fn spec(phases: &str, (first, second): (&str, &str)) -> String {
    format!(
        "---\nprd: PRD-012\nprd_title: A till\nworkstreams:\n  WS1: {{name: Schema, outputs: [WS1.txt]{first}}}\n  \
         WS2: {{name: Receipts, outputs: [WS2.txt]{second}}}\nexecution_phases:\n{phases}---\n# A till\n"
    )
}

/// Two workstreams of one phase, each with a gate that a person judges.
fn judged(first: &str, second: &str) -> (Yard, Ended) {
    let gates = (format!(", gate: {first}"), format!(", gate: {second}"));
    let text = spec("  - name: Ground\n    parallel: [WS1, WS2]\n", (&gates.0, &gates.1));
    let yard = yard("", "", &[(PATH, &text)]);
    yard.workspace.write("piton.toml", yard.text("piton.toml").replace("reworks = 0", "reworks = 1"));
    yard.commit("settings");
    let ended = yard.piton(&RUN);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    (yard, ended)
}

fn judge(yard: &Yard, verdict: &str, gate: &str, step: &str) {
    yard.run(&["gate", "build:PRD-012", verdict, gate, "--step", step]);
}

fn begun(yard: &Yard) -> (usize, usize) {
    let count = |step: &str| workers(yard).iter().filter(|it| *it == step).count();
    (count("WS1"), count("WS2"))
}

#[test]
fn gates_of_one_name_are_judged_for_each_workstream() {
    let (yard, ended) = judged("review", "review");
    for step in ["WS1", "WS2"] {
        let command = format!("piton gate build:PRD-012 pass review --step {step}");
        assert!(said(&ended).contains(&command), "{step}: {}", said(&ended));
    }
    judge(&yard, "pass", "review", "WS1");
    let ended = yard.piton(&RUN);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(said(&ended).matches("gate review passed").count() <= 1, "nobody judged WS2: {}", said(&ended));
    assert!(said(&ended).contains("piton gate build:PRD-012 pass review --step WS2"), "{}", said(&ended));
    assert!(!said(&ended).contains("pass review --step WS1"), "{}", said(&ended));
    judge(&yard, "pass", "review", "WS2");
    let ended = yard.run(&RUN);
    assert_eq!(begun(&yard), (1, 1), "{}", said(&ended));
}

#[test]
fn workstream_that_is_added_after_the_judgement_is_judged_too() {
    let text = spec("  - name: Ground\n    parallel: [WS1, WS2]\n    gates: [look]\n", ("", ""));
    let yard = yard("", "", &[(PATH, &text)]);
    assert_eq!(yard.piton(&RUN).code, Some(4));
    yard.run(&["gate", "build:PRD-012", "pass", "look"]);
    yard.run(&RUN);
    let more = text
        .replace("execution_phases", "  WS3: {name: Paint, outputs: [WS3.txt]}\nexecution_phases")
        .replace("[WS1, WS2]", "[WS1, WS2, WS3]");
    yard.workspace.write(PATH, more);
    yard.commit("one more workstream");
    let ended = yard.piton(&RUN);
    assert_eq!(ended.code, Some(4), "nobody judged WS3: {}", said(&ended));
    assert!(is_on_main(&yard, "WS3.txt"), "{}", said(&ended));
    let next = "piton gate build:PRD-012 pass look && piton run";
    assert!(said(&ended).contains(next) && yard.run(&["status"]).stdout.contains(next), "{}", said(&ended));
    yard.run(&["gate", "build:PRD-012", "pass", "look"]);
    let ended = yard.run(&RUN);
    assert!(
        yard.text(".claude/skills/build-pipeline/checkpoints/PRD-012.json").contains("look (WS3)"),
        "{}",
        said(&ended)
    );
}

#[test]
fn a_gate_that_a_person_refuses_starts_the_worker_of_its_own_workstream() {
    for (gates, gate, step, want) in [
        (("design", "layout"), "design", "WS1", (2, 1)),
        (("design", "layout"), "layout", "WS2", (1, 2)),
        (("review", "review"), "review", "WS1", (2, 1)),
        (("review", "review"), "review", "WS2", (1, 2)),
    ] {
        let (yard, _) = judged(gates.0, gates.1);
        judge(&yard, "fail", gate, step);
        let ended = yard.piton(&RUN);
        assert_eq!((ended.code, begun(&yard)), (Some(4), want), "{gates:?} {step}: {}", said(&ended));
        judge(&yard, "pass", gates.0, "WS1");
        judge(&yard, "pass", gates.1, "WS2");
        let ended = yard.run(&RUN);
        assert_eq!(begun(&yard), want, "{gates:?} {step}: {}", said(&ended));
    }
}

#[test]
fn work_that_a_person_refuses_is_foreseen_by_every_door() {
    let plan = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n- [ ] B <!-- TASK: b -->\n\
                - [ ] Good <!-- ACCEPT: good -->\n";
    let yard = yard("", "", &[("plans/p/plan.md", plan)]);
    yard.workspace.write("piton.toml", yard.text("piton.toml").replace("reworks = 0", "reworks = 1"));
    yard.commit("settings");
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    let doors = || [yard.run(&["why", "plan:p"]).stdout, yard.run(&["status"]).stdout];
    let explained = || yard.run(&["run", "plan:p", "--explain"]).stdout;
    let met = "when it is met: piton gate plan:p pass good";
    assert!(doors().iter().all(|text| text.contains(met)), "{:?}", doors());
    assert_eq!(explained().matches("is done").count(), 2, "{}", explained());
    yard.run(&["gate", "plan:p", "fail", "good"]);
    let again = ": piton run plan:p --retry\n";
    assert!(doors().iter().all(|text| !text.contains(met) && text.contains(again)), "{:?}", doors());
    assert_eq!(explained().matches("is done").count(), 1, "{}", explained());
    let before = workers(&yard).len();
    let ended = yard.piton(&["run", "plan:p", "--retry"]);
    assert_eq!(workers(&yard)[before..].len(), 1, "{}", said(&ended));
}

/// A review that comes while the last worker is at work.
fn reviewed(arguments: &[&str]) -> (Yard, Ended) {
    let phases = "  - name: Ground\n    parallel: [WS1]\n  - name: Rest\n    parallel: [WS2]\n";
    let yard = yard(r#"if [ "$step" = WS2 ]; then hold WS2; fi"#, "", &[(PATH, &spec(phases, ("", "")))]);
    let ended = meanwhile(&yard, &RUN, "WS2", || {
        yard.run(arguments);
    });
    (yard, ended)
}

const REFUSE: [&str; 7] = ["verdict", "build:PRD-012", "do_not_ship", "--p0", "2", "--reason", "it leaks names"];

#[test]
fn work_is_not_merged_after_a_review_that_refuses_the_build() {
    let (yard, ended) = reviewed(&REFUSE);
    assert_eq!((ended.code, is_on_main(&yard, "WS2.txt")), (Some(4), false), "{}", said(&ended));
    let again = yard.piton(&RUN);
    assert_eq!((again.code, is_on_main(&yard, "WS2.txt")), (Some(4), false), "{}", said(&again));
}

#[test]
fn work_that_a_review_held_back_is_merged_when_the_review_is_overridden() {
    let (yard, _) = reviewed(&REFUSE);
    yard.run(&["verdict", "build:PRD-012", "override", "--reason", "it does not"]);
    let ended = yard.run(&[&RUN[..], &["--retry"]].concat());
    assert!(is_on_main(&yard, "WS2.txt"), "{}", said(&ended));
    assert_eq!(begun(&yard), (1, 1), "only the merge is left: {}", said(&ended));
}

#[test]
fn gate_that_a_person_refuses_goes_back_to_its_worker_by_what_is_printed() {
    let plan = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n- [ ] Nice <!-- ACCEPT: nice -->\n";
    let yard = yard("cat > \"$MARKS/told\"; date >> again.txt", "", &[("plans/p/plan.md", plan)]);
    yard.workspace.write("piton.toml", yard.text("piton.toml").replace("reworks = 0", "reworks = 1"));
    yard.commit("settings");
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    let next = "next: when it is not, for its worker: piton gate plan:p fail nice && piton run plan:p\n";
    assert!(ended.code == Some(4) && ended.stdout.contains(next), "{}", said(&ended));
    let refused = yard.run(&["gate", "plan:p", "fail", "nice"]);
    assert!(refused.stderr.contains("next: continue the run: piton run plan:p --retry\n"), "{}", said(&refused));
    let ended = yard.piton(&["run", "plan:p"]);
    assert_eq!((ended.code, workers(&yard).len()), (Some(4), 2), "{}", said(&ended));
    let told = std::fs::read_to_string(yard.outer("marks/told")).expect("a prompt");
    assert!(told.contains("a person judged nice: not met"), "{told}");
    yard.run(&["gate", "plan:p", "pass", "nice"]);
    yard.run(&["run", "plan:p"]);
}
