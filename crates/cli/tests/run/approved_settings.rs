//! Settings that a branch changes and a person approved: their gates judge what the branch brings, and what comes after it.

use crate::whose_word::{is_on_main, said, set_hook, workers, yard};
use crate::yard::Yard;

const STORY: &str = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";

const PLAN: &str = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n- [ ] C <!-- ACCEPT: checked -->\n\n## Two\n\
                    <!-- CHECKPOINT: two -->\n- [ ] B <!-- TASK: b -->\n- [ ] C <!-- ACCEPT: checked-again -->\n";

const GATES: &str = "[gates]\nchecked = \"sh check.sh\"\nchecked-again = \"sh check.sh\"\n";

/// The check is somewhere else from now on.
const MOVES: &str = "if [ $step = a ]; then mkdir scripts; git mv check.sh scripts/; \
                     sed -i 's,sh check.sh,sh scripts/check.sh,' piton.toml; fi";

fn approved(yard: &Yard, run: &[&str], unit: &str) -> crate::yard::Ended {
    let first = yard.piton(&[run, &["--yes"]].concat());
    assert_eq!(first.code, Some(4), "{}", said(&first));
    assert!(said(&first).contains("approval lets its own version judge"), "{}", said(&first));
    yard.run(&["approve", unit]);
    yard.piton(run)
}

#[test]
fn phases_of_a_plan_are_judged_by_the_settings_that_were_approved() {
    let yard = yard(MOVES, GATES, &[("plans/p/plan.md", PLAN), ("check.sh", "test -s a.txt\n")]);
    let ended = approved(&yard, &["run", "plan:p"], "plan:p");
    assert_eq!((ended.code, workers(&yard).len()), (Some(0), 2), "{}", said(&ended));
    assert!(is_on_main(&yard, "scripts/check.sh") && is_on_main(&yard, "b.txt"), "{}", said(&ended));
}

#[test]
fn an_approved_gate_of_a_phase_has_to_pass_before_the_merge() {
    let hook = "sed -i 's,sh check.sh,test -s docs.txt,' piton.toml";
    let yard = yard(hook, GATES, &[("plans/p/plan.md", PLAN), ("check.sh", "true\n")]);
    let ended = approved(&yard, &["run", "plan:p"], "plan:p");
    assert_eq!((ended.code, is_on_main(&yard, "a.txt")), (Some(4), false), "{}", said(&ended));
    assert!(said(&ended).contains("gate checked failed: `test -s docs.txt`"), "{}", said(&ended));
}

#[test]
fn phases_of_a_build_are_judged_by_the_settings_that_were_approved() {
    let spec = "---\nprd: PRD-078\nprd_title: A roof\nworkstreams:\n  a: {name: A, outputs: [a.txt]}\n  b: {name: B, outputs: [b.txt], \
                gate: checked-again}\nexecution_phases:\n  - {name: One, parallel: [a, b], gates: [checked]}\n---\n# A roof\n";
    // The second begins when the first is collected.
    let spec = spec.replace("outputs: [b.txt], ", "outputs: [b.txt], depends_on: [a], ");
    let file = "docs/EXECUTION-SPEC-PRD-078.md";
    let yard = yard(MOVES, GATES, &[(file, &spec), ("check.sh", "test -s a.txt\n")]);
    let ended = approved(&yard, &["run", file], "build:PRD-078");
    assert_eq!((ended.code, workers(&yard).len()), (Some(0), 2), "{}", said(&ended));
    assert!(is_on_main(&yard, "scripts/check.sh") && is_on_main(&yard, "b.txt"), "{}", said(&ended));
}

#[test]
fn a_criterion_that_gets_its_command_from_an_approved_branch_is_judged_by_it() {
    let tasks = "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\ntitle = \"Say\"\nsubtasks = [\"one\", \"two\"]\n\
                 acceptance_criteria = [\"works\"]\n";
    let hook =
        "printf '[gates]\\nworks = \"test -s docs.txt\"\\n' >> piton.toml; \"$PITON\" gate \"$PITON_UNIT\" pass works";
    let yard = yard(hook, "", &[("tasks.toml", tasks)]);
    let ended = approved(&yard, &["run", "tasks.toml"], "task:copy/T1");
    assert_eq!((ended.code, is_on_main(&yard, "T1.txt")), (Some(4), false), "{}", said(&ended));
    assert!(said(&ended).contains("gate works failed: `test -s docs.txt`"), "{}", said(&ended));
}

#[test]
fn a_gate_that_a_branch_takes_out_judges_again_when_it_is_back() {
    let gates = format!("[gates]\nlint = \"test ! -e bad.txt\"\ntest = \"test -e docs.txt\"\n{STORY}");
    let yard = yard("echo x > bad.txt; sed -i '/^lint/d' piton.toml", &gates, &[]);
    let ended = approved(&yard, &["run"], "pipeline:S-1");
    assert!(said(&ended).contains("gate test failed"), "{}", said(&ended));
    // With the change of the settings taken back, the gates of the base judge.
    set_hook(&yard, "git checkout -q main -- piton.toml; echo x > docs.txt");
    let ended = yard.piton(&["run", "--retry"]);
    assert_eq!((ended.code, is_on_main(&yard, "bad.txt")), (Some(4), false), "{}", said(&ended));
    assert!(said(&ended).contains("gate lint failed"), "{}", said(&ended));
}

#[test]
fn what_an_approved_branch_brings_judges_the_next_story_too() {
    let stories =
        format!("{STORY}[[stories]]\nid = \"S-2\"\ntitle = \"Two\"\nstages = [2, 3]\ndepends_on = [\"S-1\"]\n");
    let hook =
        "[ $step = S-2 ] || [ $PITON_STAGE = 3 ] || printf '[gates]\\ntest = \"test -s S-1.txt\"\\n' >> piton.toml";
    let yard = yard(hook, &stories, &[]);
    let ended = approved(&yard, &["run"], "pipeline:S-1");
    assert_eq!((ended.code, is_on_main(&yard, "S-2.txt")), (Some(0), true), "{}", said(&ended));
    assert_eq!(said(&ended).matches("gate test passed").count(), 2, "{}", said(&ended));
}

#[test]
fn settings_that_cannot_be_read_are_not_merged() {
    let yard = yard("echo 'workers = = 3' >> piton.toml", STORY, &[]);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!((ended.code, is_on_main(&yard, "S-1.txt")), (Some(4), false), "{}", said(&ended));
    assert!(said(&ended).contains("piton.toml of its branch cannot be read: "), "{}", said(&ended));
    set_hook(&yard, "git checkout -q main -- piton.toml");
    let ended = yard.piton(&["run", "--retry"]);
    assert_eq!((ended.code, is_on_main(&yard, "S-1.txt")), (Some(0), true), "{}", said(&ended));
}

#[test]
fn a_gate_that_the_user_removes_meanwhile_does_not_judge() {
    let gates = format!("[gates]\nlint = \"false\"\ntest = \"true\"\n{STORY}");
    let yard = yard("[ $PITON_STAGE = 3 ] || hold S-1", &gates, &[]);
    let ended = crate::whose_word::meanwhile(&yard, &["run", "--yes"], "S-1", || {
        let settings = yard.text("piton.toml").replace("lint = \"false\"\n", "");
        yard.workspace.write("piton.toml", settings);
        yard.git(&["commit", "-qam", "no lint"]);
    });
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(said(&ended).contains("gates changed during the run: lint"), "{}", said(&ended));
    yard.run(&["run", "--retry"]);
    assert_eq!((workers(&yard).len(), is_on_main(&yard, "S-1.txt")), (2, true));
}
