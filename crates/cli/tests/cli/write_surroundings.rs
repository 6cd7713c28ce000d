//! Verbs that write, where something is wrong with the document they are to write.

use std::fs;
use std::process::Command;

use crate::support::fixtures::{BUILDS, PLAN, agent, build, pipeline, story, task};
use crate::support::harbour::put;
use crate::support::replay::{documents, words};
use crate::support::{Run, Workspace};

const WRITTEN: &str = "2026-02-20T09:00:00Z";

/// A unit of each dialect: its name, its main document, and verbs that can be used on it.
struct Subject {
    unit: &'static str,
    path: String,
    good: String,
    verbs: &'static [&'static str],
}

fn subjects() -> Vec<Subject> {
    let subject = |unit, path: &str, good: String, verbs| Subject { unit, path: path.to_owned(), good, verbs };
    let json = |document: serde_json::Value| format!("{document:#}\n");
    let crew = agent("Secondary-A", "tides", "IN_PROGRESS", WRITTEN, "2026-02-20T09:15:00Z");
    let pipeline: &[&str] =
        &["beat pipeline:H-1", "step pipeline:H-1 done T2", "note pipeline:H-1 x", "resume pipeline:H-1"];
    let build_verbs: &[&str] =
        &["beat build:PRD-002", "step build:PRD-002 done WS2", "resume build:PRD-002 --continue"];
    let task_verbs: &[&str] = &["beat task:quay/T1", "step task:quay/T1 done east", "resume task:quay/T1"];
    let crew_verbs: &[&str] =
        &["beat crew:Secondary-A", "step crew:Secondary-A done report", "resume crew:Secondary-A"];
    let plan: &[&str] = &["step plan:p done fit", "gate plan:p pass visible", "resume plan:p", "plan mark plan:p"];
    vec![
        subject("pipeline:H-1", ".pipeline/checkpoint-H-1.json", json(story("H-1", WRITTEN)), pipeline),
        subject(
            "build:PRD-002",
            &format!("{BUILDS}/PRD-002.json"),
            json(build("PRD-002", "Dredge", "in_progress")),
            build_verbs,
        ),
        subject(
            "task:quay/T1",
            "progress/checkpoints/quay-T1.json",
            json(task("quay", "T1", "List", WRITTEN)),
            task_verbs,
        ),
        subject("crew:Secondary-A", "agent_checkpoints/secondary_a.json", json(crew), crew_verbs),
        subject("plan:p", "plans/p/plan.md", PLAN.to_owned(), plan),
    ]
}

fn call(workspace: &Workspace, line: &str) -> Run {
    let words = words(line);
    workspace.run(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// No file that a writer puts aside for a moment is left anywhere.
fn no_leftovers(workspace: &Workspace) {
    let left: Vec<_> = documents(workspace).into_keys().filter(|path| path.contains(".piton-")).collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}

/// Something that is in the place of a document and no text: nothing is written, and it is said why.
#[test]
fn what_is_no_file_is_never_written_or_waited_for() {
    type Make = fn(&Workspace, &Subject);
    let rows: [(&str, Make); 5] = [
        ("a FIFO", |workspace, subject| {
            let made = Command::new("mkfifo").arg(workspace.parent_of(&subject.path)).status();
            assert!(made.expect("mkfifo can be started").success());
        }),
        ("a directory", |workspace, subject| {
            workspace.directory(&subject.path);
        }),
        ("a link out", |workspace, subject| {
            workspace.write("../canary", &subject.good);
            workspace.link(&subject.path, workspace.path("../canary"));
        }),
        ("a link to itself", |workspace, subject| {
            let name = subject.path.rsplit('/').next().expect("a name").to_owned();
            workspace.link(&subject.path, name);
        }),
        ("a device", |workspace, subject| {
            workspace.link(&subject.path, "/dev/zero");
        }),
    ];
    for (row, make) in rows {
        for subject in subjects() {
            let workspace = Workspace::new();
            make(&workspace, &subject);
            let outside = || fs::read(workspace.path("../canary")).ok();
            let (before, canary) = (documents(&workspace), outside());
            for verb in subject.verbs {
                let run = call(&workspace, verb);
                let about = format!("{row}: {}", run.transcript());
                assert!(matches!(run.code, Some(1 | 5)), "{about}");
                assert!(run.stdout.is_empty() && run.stderr.starts_with("error: "), "{about}");
                assert!(run.stderr.contains("hint: "), "{about}");
            }
            assert_eq!(documents(&workspace), before, "{row} at {}", subject.path);
            assert_eq!(outside(), canary, "{row} at {}: something outside was written", subject.path);
            no_leftovers(&workspace);
        }
    }
}

#[test]
fn a_link_inside_of_the_workspace_is_written_through() {
    for subject in subjects() {
        let workspace = Workspace::new();
        workspace.write("kept/real", &subject.good);
        let up = "../".repeat(subject.path.matches('/').count());
        workspace.link(&subject.path, format!("{up}kept/real"));
        let verb = subject.verbs[0];
        call(&workspace, verb).exits(0);
        assert!(workspace.path(&subject.path).is_symlink(), "{verb} replaced the link");
        let real = fs::read_to_string(workspace.path("kept/real")).expect("the target");
        assert_ne!(real, subject.good, "{verb} did not reach the target");
        no_leftovers(&workspace);
    }
}

/// A document without a journal that cannot be read stays exactly as it is.
#[test]
fn spoilt_documents_without_a_journal_are_left_alone() {
    type Spoil = fn(&str) -> Vec<u8>;
    let rows: [(&str, Spoil); 6] = [
        ("invalid UTF-8", |good| [b"\xff\xfe", good.as_bytes()].concat()),
        ("a torn end", |good| good.as_bytes()[..good.len() / 2].to_vec()),
        ("nothing", |_| Vec::new()),
        ("depth", |good| {
            good.replacen('{', &format!("{{\"x\": {}{},", "[".repeat(200), "]".repeat(200)), 1).into_bytes()
        }),
        ("an array", |good| format!("[{good}]").into_bytes()),
        ("17 MB", |good| format!("{good}{}", " ".repeat(17 * 1024 * 1024)).into_bytes()),
    ];
    for (row, spoil) in rows {
        for subject in subjects().into_iter().filter(|subject| subject.unit != "plan:p") {
            let workspace = Workspace::new();
            workspace.write(&subject.path, spoil(&subject.good));
            let before = documents(&workspace);
            for verb in subject.verbs {
                let run = call(&workspace, verb);
                let about = format!("{row}: {}", run.transcript());
                assert!(matches!(run.code, Some(1 | 4 | 5)), "{about}");
                assert!(run.stdout.is_empty() && run.stderr.contains("hint: "), "{about}");
            }
            assert!(documents(&workspace) == before, "{row} at {} was changed", subject.path);
            no_leftovers(&workspace);
        }
    }
}

#[test]
fn a_plan_that_is_no_text_is_left_alone() {
    let workspace = Workspace::new();
    workspace.write("plans/p/plan.md", b"# A\n- [ ] b <!-- TASK: b -->\n\xff\xfe\n");
    let before = documents(&workspace);
    for verb in ["step plan:p done b", "plan mark plan:p", "start plan:p"] {
        let run = call(&workspace, verb);
        assert!(matches!(run.code, Some(1 | 5)), "{}", run.transcript());
        assert!(run.stderr.contains("plans/p/plan.md") && run.stderr.contains("hint: "), "{}", run.transcript());
    }
    assert_eq!(documents(&workspace), before);
}

#[test]
fn a_key_that_stands_twice_is_not_guessed_about() {
    for subject in subjects().into_iter().filter(|subject| subject.unit != "plan:p") {
        let workspace = Workspace::new();
        workspace.write(&subject.path, subject.good.replacen('{', "{\"x\": 1, \"x\": 2,", 1));
        let run = call(&workspace, subject.verbs[0]);
        let text = fs::read_to_string(workspace.path(&subject.path)).expect("the document");
        match run.code {
            Some(0) => assert!(text.contains("\"x\": 1, \"x\": 2"), "{}\n{text}", run.transcript()),
            _ => assert!(run.stderr.contains("hint: ") && text.contains("\"x\": 1"), "{}", run.transcript()),
        }
        no_leftovers(&workspace);
    }
}

#[test]
fn byte_order_mark_line_ends_and_unknown_keys_stay() {
    for subject in subjects() {
        let workspace = Workspace::new();
        let mut good = subject.good.replace('\n', "\r\n");
        if good.starts_with('{') {
            good = good.replacen('{', "{\r\n  \"zz_kept\":   [1,2 , 3],", 1);
        }
        workspace.write(&subject.path, format!("\u{feff}{good}"));
        call(&workspace, subject.verbs[0]).exits(0);
        let text = fs::read_to_string(workspace.path(&subject.path)).expect("the document");
        assert!(text.starts_with('\u{feff}'), "{}: the mark is gone", subject.unit);
        let bare = text.replace("\r\n", "").matches('\n').count();
        assert_eq!(bare, 0, "{}: {bare} lines end otherwise\n{text}", subject.unit);
        assert!(good.starts_with('#') || text.contains("\"zz_kept\":   [1,2 , 3],"), "{text}");
        assert_ne!(text, format!("\u{feff}{good}"));
    }
}

#[test]
fn a_document_of_nearly_sixteen_megabytes_is_written() {
    let subject = subjects().remove(1);
    let workspace = Workspace::new();
    let padding = "x".repeat(15 * 1024 * 1024);
    workspace.write(&subject.path, subject.good.replacen('{', &format!("{{\"padding\": \"{padding}\","), 1));
    call(&workspace, "beat build:PRD-002").exits(0);
    let text = fs::read_to_string(workspace.path(&subject.path)).expect("the document");
    assert!(text.contains(&padding) && text.contains("2026-02-20T12:00:00Z"));
    no_leftovers(&workspace);
}

#[test]
fn the_state_of_another_tool_is_never_written() {
    let foreign = "{\"phase\": 1, \"project\": \"another tool's\"}\n";
    let workspace = Workspace::new();
    workspace.write(".pipeline/state.json", foreign);
    for line in [
        "start pipeline:H-1 --step T1",
        "verdict pipeline:H-1 PLAN --score 3",
        "stage pipeline:H-1 1",
        "pause pipeline:H-1",
        "resume pipeline:H-1",
        "restart pipeline:H-1 --force",
    ] {
        call(&workspace, line).exits(0);
        assert_eq!(fs::read_to_string(workspace.path(".pipeline/state.json")).expect("the state"), foreign, "{line}");
    }
}

#[test]
fn a_state_that_cannot_be_read_is_left_and_named() {
    let workspace = Workspace::new();
    put(&workspace, ".pipeline/checkpoint-H-1.json", &story("H-1", WRITTEN));
    let torn = pipeline(serde_json::json!({ "H-1": "STAGE_2" }), serde_json::json!({})).to_string();
    workspace.write(".pipeline/state.json", &torn[..torn.len() / 2]);
    let run = call(&workspace, "step pipeline:H-1 done T2").exits(0);
    assert!(run.stderr.contains("warning: ") && run.stderr.contains(".pipeline/state.json"), "{}", run.transcript());
    assert_eq!(
        fs::read_to_string(workspace.path(".pipeline/state.json")).expect("it is there"),
        torn[..torn.len() / 2]
    );
}

#[test]
fn what_is_in_the_way_of_the_journal_is_kept_and_nothing_outside_is_written() {
    for subject in subjects() {
        let workspace = Workspace::new();
        workspace.write(&subject.path, &subject.good).write(".piton", "in the way\n");
        let run = call(&workspace, subject.verbs[0]).exits(0);
        assert!(run.stderr.contains(".piton/quarantine"), "{}", run.transcript());
        let quarantine = fs::read_to_string(workspace.path(".piton/quarantine/1")).expect("it was kept");
        assert_eq!(quarantine, "in the way\n");

        let workspace = Workspace::new();
        workspace.write(&subject.path, &subject.good).directory("../elsewhere");
        workspace.link(".piton", workspace.path("../elsewhere"));
        let run = call(&workspace, subject.verbs[0]);
        let outside = fs::read_dir(workspace.path("../elsewhere")).expect("a directory").count();
        assert_eq!(outside, 0, "{}", run.transcript());
        assert!(run.code == Some(0) || run.stderr.contains("hint: "), "{}", run.transcript());
        no_leftovers(&workspace);
    }
}

#[test]
fn a_broken_document_with_a_journal_is_restored_and_says_from_where() {
    type Spoil = fn(&str) -> Vec<u8>;
    let rows: [(&str, Spoil); 3] = [
        ("a torn end", |good| good.as_bytes()[..good.len() / 2].to_vec()),
        ("nothing", |_| Vec::new()),
        ("invalid UTF-8", |good| [b"\xff", good.as_bytes()].concat()),
    ];
    for (row, spoil) in rows {
        for subject in subjects().into_iter().filter(|subject| subject.unit != "plan:p") {
            let workspace = Workspace::new();
            workspace.write(&subject.path, &subject.good);
            call(&workspace, &format!("note {} 'before the fall'", subject.unit)).exits(0);
            let whole = fs::read_to_string(workspace.path(&subject.path)).expect("the document");
            workspace.write(&subject.path, spoil(&whole));
            let run = call(&workspace, subject.verbs[0]).exits(0);
            let about = format!("{row}: {}", run.transcript());
            assert!(run.stderr.contains(&subject.path) && run.stderr.contains('@'), "{about}");
            let text = fs::read_to_string(workspace.path(&subject.path)).expect("the document");
            assert!(text.contains("before the fall"), "{about}{text}");
            serde_json::from_str::<serde_json::Value>(&text).expect("it is JSON again");
            no_leftovers(&workspace);
        }
    }
}
