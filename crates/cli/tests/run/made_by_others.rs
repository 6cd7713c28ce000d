//! A workstream whose file another one made before its turn: its worker's word counts, and nothing else.

use crate::whose_word::{meanwhile, said, workers, yard};
use crate::yard::{Ended, wait_for};

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
