//! A workstream whose file another one made before its turn: its worker's word counts, and nothing else.

use crate::whose_word::{said, workers, yard};
use crate::yard::Ended;

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
