//! Outputs of a workstream as specifications write them: patterns, remarks, words. A worker that makes them and records
//! nothing has done its work.

use crate::whose_word::{is_on_main, said, set_hook, workers, yard};
use crate::yard::Yard;

const SPEC: &str = "docs/EXECUTION-SPEC-PRD-083.md";

/// A build with one workstream, whose worker does this and records nothing.
fn build(outputs: &str, does: &str) -> Yard {
    let text = format!(
        "---\nprd: PRD-083\nprd_title: A till\nworkstreams:\n  WS1: {{name: A, outputs: [{outputs}]}}\nexecution_phases:\n  \
         - {{name: P1, parallel: [WS1]}}\n---\n# A till\n"
    );
    yard(&makes(does), "", &[(SPEC, &text), ("old/x.ts", "old\n")])
}

fn makes(does: &str) -> String {
    format!("mkdir -p migrations types; {does}; git add -A; git commit -qm made; exit 0")
}

#[test]
fn outputs_with_patterns_and_remarks_are_found() {
    for (outputs, does) in [
        (r#""migrations/*_add_till.sql""#, "echo x > migrations/0001_add_till.sql"),
        (r#""types/db.ts (regenerated)""#, "echo x > types/db.ts"),
        (r#""types/db.ts (new)", "old/x.ts (DELETED)""#, "echo x > types/db.ts; git rm -q old/x.ts"),
        (r#""app/(shop)/[id]/page.tsx""#, "mkdir -p 'app/(shop)/[id]'; echo x > 'app/(shop)/[id]/page.tsx'"),
        (r#""the decision on tills""#, "echo x > decision.md"),
    ] {
        let yard = build(outputs, does);
        let ended = yard.piton(&["run", SPEC, "--yes"]);
        assert_eq!((ended.code, workers(&yard).len()), (Some(0), 1), "{outputs}: {}", said(&ended));
    }
}

#[test]
fn missing_output_is_named_and_its_worker_is_not_done() {
    for outputs in [r#""migrations/*_add_till.sql", "types/db.ts (new)""#, r#""types/*.rs", "types/db.ts""#] {
        let yard = build(outputs, "echo x > types/db.ts");
        let ended = yard.piton(&["run", SPEC, "--yes"]);
        assert_eq!(ended.code, Some(4), "{outputs}: {}", said(&ended));
        let missing = outputs.split('"').nth(1).unwrap_or_default();
        assert!(said(&ended).contains(&format!("not complete: {missing} is not there")), "{}", said(&ended));
        set_hook(&yard, &makes("echo x > migrations/0001_add_till.sql; echo x > types/a.rs"));
        let ended = yard.piton(&["run", SPEC, "--yes", "--retry"]);
        assert_eq!((ended.code, is_on_main(&yard, "types/a.rs")), (Some(0), true), "{outputs}: {}", said(&ended));
    }
}

#[test]
fn worker_that_commits_nothing_is_not_done_whatever_its_outputs_are_called() {
    for outputs in [r#""the decision on tills""#, r#""old/*.ts""#] {
        let yard = build(outputs, "true");
        let ended = yard.piton(&["run", SPEC, "--yes"]);
        assert_eq!(ended.code, Some(4), "{outputs}: {}", said(&ended));
    }
}
