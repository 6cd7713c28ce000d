//! A workstream whose file is there before its worker looks: the worker's word counts where it was made since the build began.

use crate::whose_word::{meanwhile, said, set_hook, workers, yard};
use crate::yard::{Ended, Yard, wait_for};

const SPEC: &str = "docs/EXECUTION-SPEC-PRD-076.md";

/// WS1 makes the file of WS2 as well; the worker of WS2 does this.
fn run(second: &str, gates: &str) -> (Ended, Vec<String>) {
    let text = format!(
        "---\nprd: PRD-076\nprd_title: A till\nworkstreams:\n  WS1: {{name: A, outputs: [WS1.txt]}}\n  WS2: {{name: B, \
         depends_on: [WS1], outputs: [WS2.txt]}}\nexecution_phases:\n  - {{name: P1, parallel: [WS1]{gates}}}\n  - {{name: P2, \
         parallel: [WS2]}}\ngates:\n  all: {{command: test -s WS1.txt}}\n---\n# A till\n"
    );
    let hook = format!("if [ \"$step\" = WS1 ]; then echo x > WS2.txt; else {second}; exit 0; fi");
    let yard = yard(&hook, "", &[(SPEC, &text)]);
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    (ended, workers(&yard))
}

#[test]
fn a_worker_that_finds_its_output_made_and_records_it_is_done() {
    for gates in ["", ", gates: [all]"] {
        let (ended, workers) = run("\"$PITON\" step \"$PITON_UNIT\" done WS2 --output WS2.txt", gates);
        assert_eq!((ended.code, workers.len()), (Some(0), 2), "{}", said(&ended));
    }
}

#[test]
fn a_worker_that_finds_its_output_made_and_says_nothing_is_not_done() {
    let (ended, _) = run("true", "");
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(said(&ended).contains("PRD-076 WS2 is paused"), "{}", said(&ended));
}

/// WS2 finds its file, says so and does nothing. `also` is what the worker of WS1 does.
fn finds(also: &str) -> Yard {
    let text = "---\nprd: PRD-076\nprd_title: A till\nworkstreams:\n  WS1: {name: A, outputs: [WS1.txt]}\n  WS2: {name: B, \
                depends_on: [WS1], outputs: [WS2.txt]}\nexecution_phases:\n  - {name: P1, parallel: [WS1]}\n  - {name: P2, \
                parallel: [WS2]}\ngates: {}\n---\n# A till\n";
    let finds = "[ -e WS2.txt ] || { [ -e \"$MARKS/dies\" ] && keep WS2 && exit 1; }; \
                 \"$PITON\" step \"$PITON_UNIT\" done WS2 --output WS2.txt; exit 0";
    yard(&format!("if [ \"$step\" = WS1 ]; then {also}; else {finds}; fi"), "", &[(SPEC, text)])
}

#[test]
fn file_that_another_worker_made_in_one_of_its_commits_is_made() {
    let yard = finds("keep WS2; keep more");
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    assert_eq!((ended.code, workers(&yard).len()), (Some(0), 2), "{}", said(&ended));
}

#[test]
fn file_that_a_person_made_while_the_build_waits_is_made() {
    let yard = finds("true");
    yard.run(&["approve"]);
    assert_eq!(yard.piton(&["run", SPEC]).code, Some(4));
    yard.workspace.write("WS2.txt", "x\n");
    yard.commit("by hand");
    yard.run(&["approve", "build:PRD-076"]);
    let ended = yard.run(&["run", SPEC]);
    assert_eq!(workers(&yard).len(), 2, "{}", said(&ended));
}

#[test]
fn branch_of_a_dead_worker_that_its_user_merged_is_made() {
    let yard = finds("true");
    std::fs::write(yard.outer("marks/dies"), "").expect("it can be written");
    assert_eq!(yard.piton(&["run", SPEC, "--yes"]).code, Some(4));
    yard.git(&["merge", "-q", "--no-edit", "feature/PRD-076-WS2-b"]);
    let ended = yard.run(&["run", SPEC, "--yes", "--retry"]);
    assert_eq!(workers(&yard).len(), 3, "{}", said(&ended));
}

#[test]
fn workstream_that_is_renamed_when_it_is_done_is_found_done() {
    let yard = finds("true");
    yard.run(&["approve"]);
    assert_eq!(yard.piton(&["run", SPEC]).code, Some(4));
    let renamed = yard.text(SPEC).replace("WS1:", "SCHEMA:").replace("[WS1]", "[SCHEMA]");
    yard.workspace.write(SPEC, renamed);
    yard.commit("another name");
    set_hook(&yard, "keep WS2; \"$PITON\" step \"$PITON_UNIT\" done \"$step\"; exit 0");
    let ended = yard.run(&["run", SPEC, "--yes"]);
    assert_eq!(workers(&yard).len(), 3, "{}", said(&ended));
}

#[test]
fn file_that_was_there_before_the_build_is_done_by_its_users_word() {
    let yard = finds("true");
    yard.workspace.write("WS2.txt", "x\n");
    yard.commit("it was there");
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    let why = "its worker says that it is done, and it is not there: a change of WS2.txt; when nothing is to be changed, record it \
               yourself: piton step build:PRD-076 done WS2";
    assert!(ended.code == Some(4) && said(&ended).contains(why), "{}", said(&ended));
    assert!(yard.run(&["why", "build:PRD-076"]).stdout.contains(why));
    yard.run(&["step", "build:PRD-076", "done", "WS2"]);
    let ended = yard.run(&["run", SPEC, "--yes", "--retry"]);
    assert_eq!(workers(&yard).len(), 2, "{}", said(&ended));
}

#[test]
fn conflict_of_a_phase_goes_to_the_worker_that_made_the_file() {
    let spec = "---\nprd: PRD-009\ntitle: x\nworkstreams:\n  WS1:\n    name: one\n    outputs: [WS1.txt]\n  WS2:\n    name: two\n    \
                outputs: [WS2.txt]\nexecution_phases:\n  - name: one\n    parallel: [WS1, WS2]\n    gates: [size]\n  - name: two\n    \
                parallel: []\ngates:\n  size:\n    command: test -s WS1.txt\n---\n";
    let hook = r#"if [ "$step" = WS2 ]; then hold WS2; fi
if [ "$step" = WS1 ] && [ -e "$MARKS/go" ]; then git merge -q main || git checkout -q --theirs WS1.txt; fi"#;
    let yard = yard(hook, "", &[("EXECUTION-SPEC-PRD-009.md", spec)]);
    yard.workspace.write("piton.toml", yard.text("piton.toml").replace("reworks = 0", "reworks = 1"));
    yard.commit("one rework");
    let ended = meanwhile(&yard, &["run", "EXECUTION-SPEC-PRD-009.md", "--yes"], "WS2", || {
        let collected = || yard.git(&["for-each-ref", "--format=%(contents:subject)", "refs/heads/piton/"]);
        wait_for("the work of WS1", || collected().contains("WS1"), collected);
        yard.workspace.write("WS1.txt", "another\n");
        yard.commit("their own version");
    });
    assert_eq!(workers(&yard), ["WS1", "WS2", "WS1"], "{}", said(&ended));
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}
