use serde_json::{Value, json};

use super::{NOTHING, prints, text};
use crate::support::fixtures::{pipeline, story};
use crate::support::harbour::but;

const CHECKPOINT: &str = ".pipeline/checkpoint-S.json";
const STATE: &str = ".pipeline/state.json";
const OLD: &str = "2026-02-20T08:00:00Z";
const ONE_TASK: &str = "start pipeline:S --stage 2 --step one\n";

/// A checkpoint with these keys, hours old.
fn checkpoint(changes: Value) -> (&'static str, String) {
    (CHECKPOINT, text(&but(story("S", OLD), changes)))
}

/// A lead's state with this word for the story.
fn state(word: &str, depends_on: Value) -> (&'static str, String) {
    (STATE, text(&pipeline(json!({ "S": word, "R": "STAGE_2" }), depends_on)))
}

#[test]
fn hints_of_a_story_lead_on() {
    for (lines, hint) in [
        (
            "start pipeline:S\nstage pipeline:S 1",
            "plan each: piton step pipeline:S begin TASK --title TEXT --description TEXT",
        ),
        ("start pipeline:S --stage 3", "start it with its tasks at stage 2: piton start pipeline:S --stage 2"),
        (
            "start pipeline:S --stage 2 --step one\nstep pipeline:S skip one --message x",
            "when it is done: piton step pipeline:S done one",
        ),
        (
            "start pipeline:S\nstep pipeline:S begin one --title O --description D\nstep pipeline:S skip one --message x",
            "plan another one first: piton step pipeline:S begin TASK --title TEXT",
        ),
    ] {
        prints(NOTHING, lines, hint);
    }
    let planned =
        "start pipeline:S\nstep pipeline:S begin one --title O --description D\nverdict pipeline:S PLAN --score 3.5\n";
    let validated = format!("{planned}stage pipeline:S 1\nverdict pipeline:S GO --score 9\n");
    for (lines, hint) in [
        (format!("{planned}step pipeline:S done one"), "the story is planned: piton stage pipeline:S 1"),
        (format!("{validated}step pipeline:S begin one"), "the story is validated: piton stage pipeline:S 2"),
        (
            format!("{ONE_TASK}step pipeline:S done one\nstage pipeline:S 0"),
            "no task remains: piton stage pipeline:S 3",
        ),
    ] {
        prints(NOTHING, &lines, hint);
    }
    let judged = format!("{ONE_TASK}step pipeline:S done one\nstage pipeline:S 3\n");
    for (line, hint) in [
        ("finish pipeline:S", "piton verdict pipeline:S PASS --score N"),
        ("stage pipeline:S 2", "piton verdict pipeline:S FAIL --score N --issues TEXT"),
    ] {
        prints(NOTHING, &format!("{judged}{line}"), hint);
    }
}

#[test]
fn hints_of_a_story_that_others_wrote_lead_on() {
    for (changes, line, hint) in [
        (json!({ "stage": 9 }), "start pipeline:S", "see why: piton why pipeline:S"),
        (json!({ "stage": 9 }), "unblock pipeline:S", "begin it again: piton restart pipeline:S"),
        (
            json!({ "stage": 1, "verdict": "NO-GO", "readiness": 3, "reason": "x" }),
            "step pipeline:S begin one",
            "validate the story again: piton stage pipeline:S 1",
        ),
        (
            json!({ "stage": 1, "verdict": "NO-GO", "readiness": 3, "reason": "x" }),
            "stage pipeline:S 2",
            "validate it again: piton stage pipeline:S 1",
        ),
        (json!({ "stage": 3 }), "stage pipeline:S 0", "do the tasks that are open: piton stage pipeline:S 2"),
        (json!({ "stage": 3 }), "finish pipeline:S", "do them at stage 2: piton stage pipeline:S 2"),
        (json!({ "stage": 3 }), "step pipeline:S begin one", "piton stage pipeline:S 2"),
        (
            json!({ "tasksRemaining": { "a": 1 } }),
            "start pipeline:S",
            "see what is wrong with: piton check .pipeline/checkpoint-S.json",
        ),
        (
            json!({ "tasksCompleted": ["T1", "T1"], "tasksRemaining": [] }),
            "stage pipeline:S 0",
            "bring its lists of tasks into line: piton repair pipeline:S",
        ),
        (
            json!({ "tasksRemaining": [], "lastAction": 5 }),
            "stage pipeline:S 0",
            "see what is wrong with its checkpoint: piton check .pipeline/checkpoint-S.json",
        ),
        (
            json!({ "stage": 1, "tasksCompleted": [], "validations": 5, "noGos": 5 }),
            "verdict pipeline:S NO-GO --score 1 --reason x",
            "piton pause pipeline:S --reason 'every validation was NO-GO'",
        ),
    ] {
        prints(&[checkpoint(changes)], line, hint);
    }
}

#[test]
fn hints_of_a_story_that_a_lead_knows_lead_on() {
    for (word, depends_on, line, hint) in [
        ("QUEUED", json!({ "S": ["R"] }), "resume pipeline:S", "see what it waits for: piton why pipeline:S"),
        ("QUEUED", json!({ "S": ["Z"] }), "resume pipeline:S", "see what it waits for: piton why pipeline:S"),
        ("QUEUED", json!({ "S": ["R"] }), "step pipeline:S begin one", "see what it waits for: piton why pipeline:S"),
        (
            "STAGE_3",
            json!({}),
            "step pipeline:S begin one",
            "start it with its tasks at stage 2: piton start pipeline:S --stage 2",
        ),
        ("QUEUED", json!({}), "step pipeline:S begin one", "start it: piton start pipeline:S"),
        ("STAGE_0", json!({}), "start pipeline:S --stage 1", "piton start pipeline:S --stage 0"),
    ] {
        prints(&[state(word, depends_on)], line, hint);
    }
    let validated = json!({ "stage": 1, "tasksCompleted": [], "tasksRemaining": [] });
    for (changes, word, line, hint) in [
        (json!({}), "QUEUED", "start pipeline:S", "to go on from its checkpoint, at stage 2: piton unblock pipeline:S"),
        (
            validated.clone(),
            "STAGE_2",
            "start pipeline:S",
            "name its tasks: piton step pipeline:S begin TASK --title TEXT",
        ),
        (json!({ "stage": 9 }), "WAITING", "start pipeline:S", "to begin it again: piton restart pipeline:S"),
        (
            json!({ "stage": 3, "tasksRemaining": [], "verdict": "PASS", "qualityScore": 90 }),
            "STAGE_3",
            "stage pipeline:S 0",
            "the quality gate let it pass: piton finish pipeline:S",
        ),
        (
            json!({ "stage": 3, "tasksCompleted": [], "tasksRemaining": [], "verdict": "PASS", "qualityScore": 90 }),
            "DONE",
            "resume pipeline:S",
            "plan it again from stage 0: piton start pipeline:S",
        ),
        (
            json!({}),
            "STAGE_2",
            "block pipeline:S --message x\npause pipeline:S\nresume pipeline:S",
            "when what blocks it is gone: piton unblock pipeline:S",
        ),
        (validated, "STAGE_2", "resume pipeline:S", "plan it again from stage 0: piton restart pipeline:S"),
    ] {
        prints(&[checkpoint(changes), state(word, json!({}))], line, hint);
    }
}
