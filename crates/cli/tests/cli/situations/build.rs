use serde_json::json;

use super::{NOTHING, prints, text};
use crate::support::harbour::but;

const SPEC: &str = "---\nprd: PRD-009\ntitle: T\nworkstreams:\n  - id: WS1\n    gate: schema\n  - id: WS2\n    \
                    depends_on: [WS1]\nphases:\n  - name: A\n    parallel: [WS1]\n  - name: B\n    parallel: [WS2]\n---\n";
const SPEC_PATH: &str = "docs/EXECUTION-SPEC-PRD-009.md";
const START_SPEC: &str = "start build:PRD-009 --spec docs/EXECUTION-SPEC-PRD-009.md\n";
const START: &str = "start build:PRD-009 --title T --step one --step two --gate lint\n";
const ONE_STEP: &str = "start build:PRD-009 --title T --step one\n";
const PATH: &str = ".claude/skills/build-pipeline/checkpoints/PRD-009.json";

#[test]
fn hints_of_a_build_lead_on() {
    for (after, last, hint) in [
        (
            "step build:PRD-009 begin one\nstep build:PRD-009 done one",
            "finish build:PRD-009",
            "piton step build:PRD-009 begin two",
        ),
        (
            "verdict build:PRD-009 ship_with_gates --p0 0 --p1 1",
            "step build:PRD-009 begin one",
            "approve it: piton unblock build:PRD-009",
        ),
        (
            "verdict build:PRD-009 ship_with_gates --p0 0 --p1 1",
            "PITON_ATTEMPT=1 unblock build:PRD-009",
            "ask the user to approve it: piton unblock build:PRD-009",
        ),
        ("", "verdict build:PRD-009 ship --p0 2 --p1 0", "piton verdict build:PRD-009 do_not_ship --p0 2 --p1 0"),
        (
            "step build:PRD-009 begin one\nstep build:PRD-009 done one",
            "step build:PRD-009 fail one --message x",
            "when its gate failed: piton gate build:PRD-009 fail lint --step one",
        ),
        (
            "step build:PRD-009 begin one two",
            "step build:PRD-009 fail one --message x",
            "when it is done: piton step build:PRD-009 done two",
        ),
        (
            "step build:PRD-009 begin one two",
            "step build:PRD-009 fail one --message x",
            "when they are stopped: piton step build:PRD-009 fail one two --message TEXT",
        ),
    ] {
        prints(NOTHING, &format!("{START}{after}\n{last}"), hint);
    }
    for (start, after, last, hint) in [
        (
            "start build:PRD-009 --title T --step one --gate lint\n",
            "step build:PRD-009 begin one\nstep build:PRD-009 done one",
            "finish build:PRD-009",
            "when it passes: piton gate build:PRD-009 pass lint",
        ),
        (
            ONE_STEP,
            "step build:PRD-009 skip one",
            "finish build:PRD-009",
            "begin it again from nothing: piton restart build:PRD-009",
        ),
        (ONE_STEP, "", "step build:PRD-009 done one", "begin it: piton step build:PRD-009 begin one"),
        (
            "start build:PRD-009 --title T --step one --step two\n",
            "step build:PRD-009 begin one\nstep build:PRD-009 done one",
            "step build:PRD-009 fail one --message x",
            "see where it stands: piton why build:PRD-009",
        ),
    ] {
        prints(NOTHING, &format!("{start}{after}\n{last}"), hint);
    }
}

#[test]
fn hints_of_a_build_with_a_specification_lead_on() {
    let ring = SPEC.replace("    gate: schema\n", "    depends_on: [WS2]\n");
    prints(
        &[(SPEC_PATH, SPEC)],
        &format!("{START_SPEC}gate build:PRD-009 pass schema"),
        "when it is done: piton step build:PRD-009 done WS1",
    );
    prints(
        &[(SPEC_PATH, &ring)],
        &format!("{START_SPEC}finish build:PRD-009"),
        "see what is left: piton status build:PRD-009",
    );
    prints(
        &[(SPEC_PATH, &ring)],
        &format!("{START_SPEC}step build:PRD-009 begin WS2"),
        "see what is left: piton status build:PRD-009",
    );
    let grown = "step build:PRD-009 begin WS1\nstep build:PRD-009 done WS1\ngate build:PRD-009 pass schema\n\
                 sub docs/EXECUTION-SPEC-PRD-009.md 'phases:' '  - id: WS3\\nphases:'\n";
    prints(
        &[(SPEC_PATH, SPEC)],
        &format!("{START_SPEC}{grown}finish build:PRD-009"),
        "bring them into line: piton repair build:PRD-009",
    );
    prints(
        &[("spec.md", "---\nprd: PRD-009\ntitle: T\n---\n")],
        "start build:PRD-009 --title T --spec spec.md",
        "see what is wrong with: piton check spec.md",
    );
}

#[test]
fn hints_of_a_build_that_others_wrote_lead_on() {
    let document = json!({
        "prd": "PRD-009", "prd_title": "T", "current_phase": 1, "status": "in_progress",
        "completed_workstreams": ["one"], "in_progress_workstreams": [], "pending_workstreams": [], "artifacts": {},
        "gates_passed": [], "gates_pending": [], "timestamp": "2026-02-20T09:00:00Z",
    });
    for (changes, line, hint) in [
        (json!({}), "resume build:PRD-009 --continue", "nothing is left: piton finish build:PRD-009"),
        (
            json!({ "completed_workstreams": { "a": 1 } }),
            "step build:PRD-009 begin one",
            "see what is wrong with: piton check",
        ),
        (
            json!({ "status": "initialized", "in_progress_workstreams": ["two"] }),
            "step build:PRD-009 fail two --message x",
            "see where it stands: piton why build:PRD-009",
        ),
        (
            json!({ "status": "complete", "pending_workstreams": ["two"] }),
            "step build:PRD-009 begin two",
            "open it again for what is missing: piton reopen build:PRD-009",
        ),
    ] {
        prints(&[(PATH, text(&but(document.clone(), changes)))], line, hint);
    }
}
