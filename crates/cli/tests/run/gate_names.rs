//! Which gate a name means: a plan, a task and the settings may spell it in other ways.

use crate::whose_word::{said, workers, yard};

const PLAN: &str = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n- [ ] Lint <!-- ACCEPT: lint -->\n\n## Two\n\
                    <!-- CHECKPOINT: two -->\n- [ ] B <!-- TASK: b -->\n- [ ] Tests pass <!-- ACCEPT: tests-pass -->\n";

const TASKS: &str = "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\ntitle = \"Say\"\nsubtasks = [\"one\", \"two\"]\n\
                     acceptance_criteria = [\"Tests-pass\"]\n";

#[test]
fn a_criterion_is_judged_by_the_gate_that_is_spelled_almost_like_it() {
    let gates = "[gates]\nlint = \"test -s a.txt\"\ntests_pass = \"test -s b.txt\"\n";
    let yard = yard("", gates, &[("plans/p/plan.md", PLAN), ("tasks.toml", TASKS)]);
    let ended = yard.run(&["run", "plan:p", "--yes"]);
    assert!(said(&ended).contains("gate tests-pass passed"), "{}", said(&ended));
    assert_eq!(workers(&yard), ["a", "b"]);
    let ended = yard.run(&["run", "tasks.toml", "--yes"]);
    assert!(said(&ended).contains("gate Tests-pass passed"), "{}", said(&ended));
}

#[test]
fn a_gate_that_judges_nothing_for_its_spelling_is_named_before_the_run() {
    let gates = "[gates]\nlint = \"true\"\ntests_pass = \"true\"\nTests-Pass = \"true\"\nother = \"true\"\n";
    let yard = yard("", gates, &[("plans/p/plan.md", PLAN)]);
    let shown = yard.run(&["run", "plan:p", "--explain"]).stdout;
    for gate in ["tests_pass", "Tests-Pass"] {
        let told = format!("gate {gate} of piton.toml judges nothing: the work names tests-pass");
        assert!(shown.contains(&told), "{shown}");
    }
    assert!(!shown.contains("gate lint of") && !shown.contains("gate other of"), "{shown}");
    // Two spellings are two gates: a person judges what neither of them means.
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    yard.run(&["gate", "plan:p", "pass", "tests-pass"]);
    yard.run(&["run", "plan:p"]);
}
