//! Ids that would be paths, options or worse.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use super::healthy;

fn ids() -> Vec<OsString> {
    let long = |count| "a".repeat(count);
    let texts = [
        "",
        ".",
        "..",
        "/",
        "//",
        "../../x",
        "../../../etc/passwd",
        "/etc/passwd",
        "a/../b",
        "a..b",
        "...",
        "a/",
        "/a",
        "a//b",
        ".hidden",
        "-rf",
        "--help-me",
        "a b",
        " a",
        "a\tb",
        "a\nb",
        "a\r\nb",
        "a\u{1b}[31mb",
        "a\u{7}b",
        "a\u{202e}b",
        "a\u{200b}b",
        "cafe\u{301}",
        "café",
        "日本",
        "a\\b",
        "C:\\x",
        "a:b",
        ":",
        "build:",
        "build::x",
        "build:PRD-002:x",
        "build:/PRD-002",
        "build:../PRD-002",
        "pipeline:-1",
        "task:quay/../T060",
        "crew:*",
        "$(touch x)",
        "`touch x`",
        "a;b",
        "a|b",
        "a'b",
        "a\"b",
        "%2e%2e%2fx",
        "~root",
        "{}",
        "[a-z]*",
    ];
    let mut ids: Vec<OsString> = texts.iter().map(Into::into).collect();
    ids.extend([long(129), long(300), long(100_000), format!("build:{}", long(300))].map(OsString::from));
    ids.extend([b"a\xffb".to_vec(), b"build:\xc0\xaf".to_vec(), b"\xed\xa0\x80".to_vec()].map(OsString::from_vec));
    ids
}

/// Ids that the grammar allows, so that only their absence can be told.
const ALLOWED: [&str; 8] =
    ["CON", "nul", "a.", "aux.json", "PRD-002.json", "state.json", "build:CON", "task:quay/T060/T060"];

#[test]
fn hostile_ids_are_refused_before_a_path_is_built() {
    let workspace = healthy();
    workspace.write("../x", "canary").write("../x.json", "{}");
    let before = workspace.fingerprint();
    assert!(ids().len() >= 40);
    for id in ids() {
        // To `check` they may be paths, and the root of everything is one that takes long.
        let verbs = if id == "/" || id == "//" { &["status", "why"][..] } else { &["status", "why", "check"] };
        for verb in verbs {
            let run = workspace.call(&[verb, "--"]).arg(id.clone());
            // The clock comes behind `--` otherwise.
            let run = run.without_clock().run();
            let refused = matches!(run.code, Some(2 | 5));
            // What is there by that name is a path to `check`, and is read only.
            let is_path = *verb == "check" && workspace.root().join(&id).exists() && !id.is_empty();
            assert!(refused || is_path, "{}", run.transcript());
            assert!(refused != run.stderr.is_empty() || is_path, "{}", run.transcript());
            let shown = |c: char| c.is_control() && c != '\n';
            assert!(!run.stderr.contains(shown), "{:?}", run.stderr);
        }
    }
    for id in ALLOWED {
        for verb in ["status", "why", "check"] {
            workspace.run(&[verb, id]).exits(5);
        }
    }
    assert_eq!(workspace.fingerprint(), before);
}

/// What each verb that writes, or reads what was written, needs in front of a unit's name and behind it.
const WRITERS: [(&[&str], &[&str]); 22] = [
    (&["start"], &[]),
    (&["step"], &["done", "T2"]),
    (&["stage"], &["2"]),
    (&["gate"], &["pass", "lint"]),
    (&["gate"], &["run", "lint"]),
    (&["verdict"], &["GO"]),
    (&["block", "--message", "m"], &[]),
    (&["unblock"], &[]),
    (&["pause"], &[]),
    (&["fail", "--message", "m"], &[]),
    (&["note"], &["n"]),
    (&["decide"], &["d"]),
    (&["beat"], &[]),
    (&["finish"], &[]),
    (&["resume"], &[]),
    (&["takeover", "--as", "Secondary-C"], &[]),
    (&["restart"], &[]),
    (&["reopen"], &[]),
    (&["repair"], &[]),
    (&["plan", "mark"], &[]),
    (&["log"], &[]),
    (&["show"], &[]),
];

#[test]
fn verbs_that_write_refuse_hostile_ids_before_anything_is_made() {
    let workspace = healthy();
    workspace.write("../x", "canary").write("../x.json", "{}");
    let before = workspace.fingerprint();
    for id in ids() {
        for (front, behind) in WRITERS {
            let options = [front, &["--"]].concat();
            let run = workspace.call(&options).arg(id.clone());
            let run = behind.iter().fold(run, |run, more| run.arg(more.into())).without_clock().run();
            assert!(matches!(run.code, Some(2 | 5)), "{}", run.transcript());
            assert_eq!(run.stdout, "", "{}", run.transcript());
            assert!(run.stderr.starts_with("error: "), "{}", run.transcript());
            assert!(!run.stderr.contains(|c: char| c.is_control() && c != '\n'), "{:?}", run.stderr);
        }
    }
    for id in ALLOWED {
        for (front, behind) in WRITERS.iter().filter(|(front, _)| *front != ["start"]) {
            workspace.run(&[*front, &[id], *behind].concat()).exits(5);
        }
    }
    for suffix in ["@1", "@x", "@", "@-1", "@99999999999999999999"] {
        for verb in ["show", "rollback", "diff"] {
            let run = workspace.run(&[verb, &format!("build:../PRD-002{suffix}")]).exits(2);
            assert_eq!(run.stdout, "", "{}", run.transcript());
        }
    }
    assert_eq!(workspace.fingerprint(), before, "a refused id left something behind");
}

#[test]
fn ids_inside_of_documents_are_shown_and_never_followed() {
    use crate::support::Workspace;
    use crate::support::fixtures::{agent, story, task};
    use crate::support::harbour::put;
    let written = "2026-02-20T11:55:00Z";
    let workspace = Workspace::new();
    workspace.write("../secret.json", "{\"canary\": true}");
    put(&workspace, ".pipeline/checkpoint-x.json", &story("../../secret", written));
    put(&workspace, "progress/checkpoints/a-b.json", &task("../..", "/etc/passwd", "Climb", written));
    let document = agent("../../../secret", "tide", "IN_PROGRESS", written, "2026-02-20T12:10:00Z");
    put(&workspace, "agent_checkpoints/x.json", &document);
    let before = workspace.fingerprint();
    let checked = workspace.run(&["check", "--json"]).exits(3).json();
    for path in [".pipeline/checkpoint-x.json", "progress/checkpoints/a-b.json", "agent_checkpoints/x.json"] {
        let findings = checked["findings"].as_array().expect("findings");
        let is_named = |code: &str| findings.iter().any(|found| found["path"] == path && found["code"] == code);
        assert!(is_named("bad-id"), "{path} in {checked:#}");
    }
    workspace.run(&["status"]).exits(0);
    workspace.run(&["stale"]).exits(0);
    assert_eq!(workspace.fingerprint(), before);
}
