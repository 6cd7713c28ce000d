//! A task or workstream that its user takes out when its work is complete: it does not reach the base, and its branch stays.

use crate::whose_word::{is_on_main, meanwhile, said, set_hook, workers, yard};
use crate::yard::Yard;

const PLAN: &str = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n- [ ] B <!-- TASK: b -->\n\
                    - [ ] Holds <!-- ACCEPT: holds -->\n";

const SPEC: &str = "docs/EXECUTION-SPEC-PRD-077.md";

const TEXT: &str = "---\nprd: PRD-077\nprd_title: A till\nworkstreams:\n  a: {name: A, outputs: [a.txt]}\n  b: {name: B, \
outputs: [b.txt]}\nexecution_phases:\n  - name: Ground\n    parallel: [a, b]\n    gates: [holds]\ngates:\n  holds: {command: \
\"! test -e bad.txt\"}\n---\n# A till\n";

fn take_out(yard: &Yard) {
    for path in ["plans/p/plan.md", SPEC] {
        if yard.workspace.path(path).exists() {
            let text = yard.text(path);
            let kept = text.lines().filter(|line| !line.contains("TASK: b") && !line.starts_with("  b:"));
            let kept: String = kept.map(|line| format!("{line}\n")).collect();
            yard.workspace.write(path, kept.replace("[a, b]", "[a]"));
        }
    }
    yard.commit("without b");
}

const GATE: &str = "[gates]\nholds = \"! test -e bad.txt\"\n";

/// The worker of b breaks the gate. It waits for a, so that it joins last; or a waits for it.
fn breaks(last: &str) -> String {
    let first = if last == "a" { "b" } else { "a" };
    format!(
        "if [ \"$step\" = b ]; then echo x > bad.txt; fi\n\
         if [ \"$step\" = {last} ]; then until git branch --list 'piton/*' --contains \"$(git log --all --format=%H -1 \
         --grep '^{first}$')\" | grep -q piton; do sleep 0.05; done; fi\n"
    )
}

#[test]
fn work_that_a_gate_refused_and_its_user_took_out_is_not_judged_again() {
    for (path, text, wanted) in [("plans/p/plan.md", PLAN, "plan:p"), (SPEC, TEXT, SPEC)] {
        for last in ["a", "b"] {
            let yard = yard(&breaks(last), GATE, &[(path, text)]);
            let settings = yard.text("piton.toml").replace("reworks = 0", "reworks = 1");
            yard.workspace.write("piton.toml", settings);
            yard.commit("one rework");
            let ended = yard.piton(&["run", wanted, "--yes"]);
            assert_eq!(ended.code, Some(4), "{wanted} {last}: {}", said(&ended));
            let before = workers(&yard);
            take_out(&yard);
            let ended = yard.piton(&["run", wanted, "--yes", "--retry"]);
            assert_eq!((ended.code, workers(&yard)), (Some(0), before), "{wanted} {last}: {}", said(&ended));
            assert!(is_on_main(&yard, "a.txt"), "{}", said(&ended));
            assert!(!is_on_main(&yard, "b.txt") && !is_on_main(&yard, "bad.txt"), "{}", said(&ended));
            assert!(said(&ended).contains(" b: it"), "{}", said(&ended));
            assert!(said(&ended).contains("it is not merged; its branch feature/"), "{}", said(&ended));
        }
    }
}

#[test]
fn work_that_was_collected_and_taken_out_does_not_reach_the_base() {
    let hook = r#"if [ "$step" = a ]; then exit 1; fi"#;
    let yard = yard(hook, GATE, &[("plans/p/plan.md", PLAN)]);
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    set_hook(&yard, "");
    take_out(&yard);
    let ended = yard.run(&["run", "plan:p", "--yes", "--retry"]);
    assert!(is_on_main(&yard, "a.txt") && !is_on_main(&yard, "b.txt"), "{}", said(&ended));
    assert!(said(&ended).contains("b: its box was removed from the plan: it is not merged"), "{}", said(&ended));
}

#[test]
fn work_that_is_taken_out_while_its_worker_is_at_it_is_not_merged() {
    let plain = PLAN.replace("- [ ] Holds <!-- ACCEPT: holds -->\n", "");
    let hook = r#"if [ "$step" = b ]; then hold b; fi"#;
    for (path, text, wanted) in
        [("plans/p/plan.md", PLAN, "plan:p"), ("plans/p/plan.md", &*plain, "plan:p"), (SPEC, TEXT, SPEC)]
    {
        let yard = yard(hook, GATE, &[(path, text)]);
        let ended = meanwhile(&yard, &["run", wanted, "--yes"], "b", || take_out(&yard));
        assert_eq!(ended.code, Some(0), "{wanted}: {}", said(&ended));
        assert!(is_on_main(&yard, "a.txt") && !is_on_main(&yard, "b.txt"), "{wanted}: {}", said(&ended));
        assert!(said(&ended).contains("it is not merged; its branch feature/"), "{wanted}: {}", said(&ended));
    }
}

#[test]
fn a_box_that_is_in_the_stash_is_not_taken_out() {
    let plain = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [x] A <!-- TASK: a -->\n";
    let yard = yard(r#"if [ "$step" = b ]; then hold b; fi"#, "", &[("plans/p/plan.md", plain)]);
    yard.workspace.write("plans/p/plan.md", format!("{plain}- [ ] B <!-- TASK: b -->\n"));
    let ended = meanwhile(&yard, &["run", "plan:p", "--yes"], "b", || {
        yard.git(&["stash"]);
    });
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(!said(&ended).contains("it is not merged"), "{}", said(&ended));
    yard.git(&["stash", "pop"]);
    set_hook(&yard, "");
    let ended = yard.run(&["run", "plan:p", "--yes", "--retry"]);
    assert!(is_on_main(&yard, "b.txt"), "{}", said(&ended));
}

#[test]
fn work_that_was_taken_out_and_is_wanted_again_is_done_anew() {
    let yard = yard(r#"if [ "$step" = a ]; then exit 1; fi"#, GATE, &[("plans/p/plan.md", PLAN)]);
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    take_out(&yard);
    assert_eq!(yard.piton(&["run", "plan:p", "--yes", "--retry"]).code, Some(4));
    set_hook(&yard, "");
    yard.workspace.write("plans/p/plan.md", PLAN);
    yard.commit("with b");
    let ended = yard.run(&["run", "plan:p", "--yes", "--retry"]);
    assert!(is_on_main(&yard, "a.txt") && is_on_main(&yard, "b.txt"), "{}", said(&ended));
    assert_eq!(workers(&yard).iter().filter(|step| *step == "b").count(), 2, "{}", said(&ended));
}
