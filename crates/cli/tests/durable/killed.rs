use std::fs;

use serde_json::Value;

use crate::process::{Ended, acknowledged, command, events, run};
use crate::support::Workspace;

/// No verb has as many effects.
const MOST_EFFECTS: u64 = 200;

/// A verb, and what it takes to be legal.
struct Case {
    unit: &'static str,
    documents: &'static [&'static str],
    before: &'static [&'static [&'static str]],
    verb: &'static [&'static str],
    files: &'static [(&'static str, &'static str)],
}

/// Kills the process before each of its effects in turn, each time in a workspace of its own. The document is the old
/// or the new one, the next command works without help, and all that was acknowledged is there.
fn kill_everywhere(case: &Case) {
    for effect in 1..=MOST_EFFECTS {
        let workspace = Workspace::new();
        for (path, text) in case.files {
            workspace.write(path, text);
        }
        let known: Vec<u64> = case.before.iter().map(|arguments| acknowledged(&workspace, arguments)).collect();
        let old: Vec<_> = case.documents.iter().map(|path| fs::read(workspace.path(path)).ok()).collect();
        let mut call = command(&workspace, case.verb);
        let ended = Ended::of(call.env("PITON_STOP_AT", effect.to_string()).spawn().expect("the binary starts"));
        let what = format!("{:?} killed before effect {effect}", case.verb);
        for path in case.documents.iter().filter(|path| path.ends_with(".json")) {
            if let Ok(bytes) = fs::read(workspace.path(path)) {
                let parsed: Result<Value, _> = serde_json::from_slice(&bytes);
                assert!(parsed.is_ok(), "{what}: {path} is torn");
            }
        }
        if ended.code == Some(0) {
            assert!(effect > 3, "{what}: the verb has next to no effects");
            return;
        }
        assert_eq!(ended.code, None, "{what}: {}", ended.stderr);
        let after = run(&workspace, case.verb);
        assert!(matches!(after.code, Some(0 | 4)), "{what}: the same command again: {}", after.stderr);
        let events = events(&workspace, case.unit);
        for number in known {
            assert!(events.len() as u64 >= number, "{what}: @{number} is gone");
        }
        // Once more, for whatever the last command may have left to do.
        let last = run(&workspace, &["note", case.unit, "still here"]);
        assert!(matches!(last.code, Some(0 | 4 | 5)), "{what}: {}", last.stderr);
        for path in case.documents {
            let directory = workspace.path(path).parent().expect("a directory").to_owned();
            let leftovers = fs::read_dir(&directory).into_iter().flatten().flatten();
            let leftovers: Vec<_> = leftovers
                .filter_map(|entry| entry.file_name().into_string().ok())
                .filter(|name| name.contains(".piton-"))
                .collect();
            assert_eq!(leftovers, Vec::<String>::new(), "{what}");
        }
        drop(old);
    }
    panic!("{:?} never ends", case.verb);
}

const CREW: &[&str] = &["agent_checkpoints/secondary_a.json"];
const START_CREW: &[&str] = &["start", "crew:Secondary-A", "--feature", "feature_01_x", "--stage", "S2.P1"];
const BUILD: &[&str] = &[".claude/skills/build-pipeline/checkpoints/PRD-009.json"];
const START_BUILD: &[&str] = &["start", "build:PRD-009", "--title", "T", "--step", "WS1", "--gate", "lint"];
const PLAN: &[&str] = &["plans/p1/plan.md", "plans/p1/.checkpoint/state.json"];
const PLAN_TEXT: &[(&str, &str)] = &[(
    "plans/p1/plan.md",
    "# P\n\n## One\n<!-- CHECKPOINT: one -->\n\n- [ ] a <!-- TASK: a -->\n- [ ] b <!-- TASK: b -->\n",
)];

#[test]
fn start_survives_a_kill_at_every_effect() {
    kill_everywhere(&Case { unit: "crew:Secondary-A", documents: CREW, before: &[], verb: START_CREW, files: &[] });
    kill_everywhere(&Case { unit: "build:PRD-009", documents: BUILD, before: &[], verb: START_BUILD, files: &[] });
    let verb = &["start", "plan:p1"];
    kill_everywhere(&Case { unit: "plan:p1", documents: PLAN, before: &[], verb, files: PLAN_TEXT });
}

#[test]
fn step_survives_a_kill_at_every_effect() {
    let case = |unit, documents, before, verb, files| Case { unit, documents, before, verb, files };
    kill_everywhere(&case(
        "crew:Secondary-A",
        CREW,
        &[START_CREW, &["beat", "crew:Secondary-A"]],
        &["step", "crew:Secondary-A", "done", "research"],
        &[],
    ));
    kill_everywhere(&case(
        "build:PRD-009",
        BUILD,
        &[START_BUILD, &["step", "build:PRD-009", "begin", "WS1"]],
        &["step", "build:PRD-009", "done", "WS1"],
        &[],
    ));
    kill_everywhere(&case("plan:p1", PLAN, &[&["start", "plan:p1"]], &["step", "plan:p1", "done", "a"], PLAN_TEXT));
}

#[test]
fn recovery_verbs_survive_a_kill_at_every_effect() {
    let case = |verb| Case { unit: "crew:Secondary-A", documents: CREW, before: &[START_CREW], verb, files: &[] };
    kill_everywhere(&case(&["resume", "crew:Secondary-A", "--force"]));
    kill_everywhere(&case(&["restart", "crew:Secondary-A", "--force"]));
    kill_everywhere(&case(&["rollback", "crew:Secondary-A@1"]));
}

/// Wherever a takeover is cut off, the work is in one place when the next commands have run.
#[test]
fn takeover_survives_a_kill_at_every_effect() {
    let verb = ["takeover", "crew:Secondary-A", "--as", "Secondary-C", "--force"];
    for effect in 1..=MOST_EFFECTS {
        let workspace = Workspace::new();
        acknowledged(&workspace, START_CREW);
        let mut call = command(&workspace, &verb);
        let ended = Ended::of(call.env("PITON_STOP_AT", effect.to_string()).spawn().expect("the binary starts"));
        let what = format!("killed before effect {effect}");
        if ended.code != Some(0) {
            assert_eq!(ended.code, None, "{what}: {}", ended.stderr);
            let again = run(&workspace, &verb);
            // It is refused when the work has been moved already.
            assert!(matches!(again.code, Some(0 | 4 | 5)), "{what}: {}", again.stderr);
        }
        acknowledged(&workspace, &["beat", "crew:Secondary-C"]);
        let is_there = |agent: &str| workspace.path(&format!("agent_checkpoints/secondary_{agent}.json")).exists();
        assert_eq!((is_there("a"), is_there("c")), (false, true), "{what}");
        let names = fs::read_dir(workspace.path("agent_checkpoints")).expect("the crew is there").flatten();
        let names: Vec<_> = names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        assert!(!names.iter().any(|name| name.contains(".piton-")), "{what}: {names:?}");
        let first = &events(&workspace, "crew:Secondary-C")[0]["event"];
        assert!(first == "taken_over" || first == "adopted", "{what}: {first}");
        if ended.code == Some(0) {
            assert_eq!(first, "taken_over");
            return;
        }
    }
    panic!("it never ends");
}

/// Whatever journal a cut-off compaction leaves, each version that it lists is as it was, and those that stay are there.
#[test]
fn compact_survives_a_kill_at_every_effect() {
    let verb = ["compact", "crew:Secondary-A", "--keep", "3", "--keep-version", "2"];
    for effect in 1..=MOST_EFFECTS {
        let workspace = Workspace::new();
        acknowledged(&workspace, START_CREW);
        let last = (0..7).map(|_| acknowledged(&workspace, &["beat", "crew:Secondary-A"])).max().expect("seven");
        let show = |seq: u64| run(&workspace, &["show", &format!("crew:Secondary-A@{seq}")]).stdout;
        let versions: Vec<String> = (1..=last).map(show).collect();
        let mut call = command(&workspace, &verb);
        let ended = Ended::of(call.env("PITON_STOP_AT", effect.to_string()).spawn().expect("the binary starts"));
        let what = format!("killed before effect {effect}");
        let is_as_it_was = |seq: u64| assert_eq!(show(seq), versions[seq as usize - 1], "{what}: @{seq}");
        let numbers = numbers(&workspace, "crew:Secondary-A");
        for seq in [2, last - 2, last - 1, last] {
            assert!(numbers.contains(&seq), "{what}: @{seq} is not in {numbers:?}");
        }
        numbers.iter().copied().filter(|seq| *seq <= last).for_each(is_as_it_was);
        if ended.code == Some(0) {
            assert_eq!(numbers, [2, last - 2, last - 1, last, last + 1]);
            return;
        }
        assert_eq!(ended.code, None, "{what}: {}", ended.stderr);
        let next = acknowledged(&workspace, &["beat", "crew:Secondary-A"]);
        assert!(next > last, "{what}: @{next}");
        acknowledged(&workspace, &["compact", "crew:Secondary-A", "--keep", "9", "--keep-version", "2"]);
        acknowledged(&workspace, &verb);
        is_as_it_was(2);
        let names = fs::read_dir(workspace.path(".piton/units/crew/secondary_a/root")).expect("the unit").flatten();
        let names: Vec<_> = names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        assert!(!names.iter().any(|name| name == "journal-new"), "{what}: {names:?}");
    }
    panic!("it never ends");
}

/// Whoever dies with the lock of the epic's README leaves it. The next command knows it for one of ours, and does not wait.
#[test]
fn a_lock_of_somebody_who_was_killed_is_in_nobodys_way() {
    const LOCK: &str = ".epic_locks/epic_readme.lock";
    let mut left = 0;
    for effect in 1..=MOST_EFFECTS {
        let workspace = Workspace::new();
        acknowledged(&workspace, START_CREW);
        let readme = "<!-- BEGIN SECONDARY-A PROGRESS -->\n<!-- END SECONDARY-A PROGRESS -->\nby hand\n";
        workspace.write("EPIC_README.md", readme).directory(".epic_locks");
        let mut call = command(&workspace, &["beat", "crew:Secondary-A"]);
        let ended = Ended::of(call.env("PITON_STOP_AT", effect.to_string()).spawn().expect("the binary starts"));
        left += usize::from(workspace.path(LOCK).exists());
        let what = format!("killed before effect {effect}");
        let after = run(&workspace, &["step", "crew:Secondary-A", "done", "research", "--wait", "0"]);
        assert_eq!((after.code, after.stderr.contains("locked")), (Some(0), false), "{what}: {}", after.stderr);
        let names = fs::read_dir(workspace.path(".epic_locks")).expect("it is there").count();
        assert_eq!(names, 0, "{what}");
        let readme = fs::read_to_string(workspace.path("EPIC_README.md")).expect("it is there");
        assert_eq!(readme.matches("Secondary-A: ").count(), 1, "{what}: {readme}");
        assert!(readme.ends_with("by hand\n"), "{what}: {readme}");
        if ended.code == Some(0) {
            assert!(left > 3, "{left}");
            return;
        }
    }
    panic!("it never ends");
}

fn text(workspace: &Workspace) -> String {
    fs::read_to_string(workspace.path(BUILD[0])).expect("the document is there")
}

/// Where the unit stands, for somebody who only reads: how many steps are done, and its attempt.
fn standing(workspace: &Workspace) -> (u64, u64) {
    let told = run(workspace, &["status", "build:PRD-009", "--json"]);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    let told: Value = serde_json::from_str(&told.stdout).expect("one JSON document");
    let count = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("a number in {told}"));
    (count(&told["units"][0]["done"]), count(&told["units"][0]["attempt"]))
}

/// Wherever a writer died, whoever reads is told what the next writer makes of it; what somebody did since then stands.
#[test]
fn readers_are_told_what_the_journal_says() {
    let verb = ["step", "build:PRD-009", "done", "WS1"];
    let mut were_behind = 0;
    for effect in 1..=MOST_EFFECTS {
        let workspace = Workspace::new();
        acknowledged(&workspace, START_BUILD);
        acknowledged(&workspace, &["step", "build:PRD-009", "begin", "WS1"]);
        let old = text(&workspace);
        let mut call = command(&workspace, &verb);
        let ended = Ended::of(call.env("PITON_STOP_AT", effect.to_string()).spawn().expect("the binary starts"));
        if ended.code == Some(0) {
            assert!(were_behind > 1, "{were_behind}");
            return;
        }
        let what = format!("killed before effect {effect}");
        let left = text(&workspace);
        let (done, attempt) = standing(&workspace);
        assert_eq!(text(&workspace), left, "{what}: who reads writes nothing");
        let is_behind = done == 1 && left == old;
        if is_behind {
            were_behind += 1;
            let theirs = old.replacen(": \"T\"", ": \"Theirs\"", 1);
            assert_ne!(theirs, old, "{what}");
            workspace.write(BUILD[0], theirs);
            assert_eq!(standing(&workspace).0, 0, "{what}: an edit since then stands");
            acknowledged(&workspace, &["beat", "build:PRD-009"]);
            assert!(text(&workspace).contains("Theirs"), "{what}");
        } else {
            acknowledged(&workspace, &["beat", "build:PRD-009"]);
            assert_eq!(standing(&workspace), (done, attempt), "{what}");
        }
    }
    panic!("it never ends");
}

fn numbers(workspace: &Workspace, unit: &str) -> Vec<u64> {
    let log: Value = serde_json::from_str(&run(workspace, &["log", unit, "--json"]).stdout).expect("one JSON document");
    let events = log["events"].as_array().expect("a list").iter();
    events.map(|event| event["seq"].as_u64().expect("a number")).collect()
}
