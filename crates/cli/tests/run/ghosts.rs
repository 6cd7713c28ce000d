//! Workers that are really stopped, are followed by another, and wake up: their writes are refused.

use std::fs;
use std::process::{Child, Command, Stdio};

use crate::dialects::SPEC;
use crate::yard::{Ended, Yard, finish, wait_for};

/// Judges fast, but nobody by mistake who waits and says so.
fn impatient(more: &str) -> Yard {
    Yard::impatient("", more).env("BAD", "sleeps")
}

fn signal(name: &str, pid: u32) {
    let status = Command::new("kill").args([name, &pid.to_string()]).status().expect("kill runs");
    assert!(status.success(), "{name} {pid}");
}

/// Whether every thread of a process is stopped. One that is still on its way there may yet be given the lock it waits for.
fn is_stopped(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("a living process");
    threads.map(|thread| thread.expect("a thread").path()).all(|thread| {
        let stat = fs::read_to_string(thread.join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    })
}

/// A part of a worker that left its tree and does not carry its mark, so that nobody can end it: it has everything else
/// that the worker has, is stopped, and records `deed` when it is woken.
fn escaped(yard: &Yard, deed: &str) -> Child {
    let environment = fs::read_to_string(yard.outer("marks/env")).expect("the worker said who it is");
    let variables = environment.lines().filter_map(|line| line.split_once('='));
    let mut ghost = Command::new("/bin/sh");
    ghost.args(["-c", &format!("kill -STOP $$; exec \"$PITON\" {deed}")]).env_clear();
    ghost.envs(variables.filter(|(name, _)| *name != "PITON_WORKER")).current_dir(yard.workspace.path(""));
    ghost.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ghost = ghost.spawn().expect("it starts");
    wait_for("the ghost to be stopped", || is_stopped(ghost.id()), String::new);
    ghost
}

/// Leads until a worker is stopped and another is in its place; wakes what is left of the first, which then records
/// `deed`; leads to the end. Gives what the ghost heard.
#[track_caller]
fn wakes_too_late(yard: &Yard, run: &[&str], deed: &str, unit: &str) -> Ended {
    let lead = yard.command(run).spawn().expect("it starts");
    wait_for("a worker that stops", || yard.outer("marks/env").exists(), String::new);
    let ghost = escaped(yard, deed);
    wait_for("its successor", || yard.outer("marks/follows").exists(), String::new);
    signal("-CONT", ghost.id());
    let heard = finish(ghost);
    fs::write(yard.outer("marks/awake"), "").expect("a mark");
    let ended = finish(lead);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("did not answer"), "it was judged by its silence: {}", ended.stdout);
    assert_eq!(heard.code, Some(4), "{}{}", heard.stdout, heard.stderr);
    let log = yard.json(&["log", unit, "--json"]);
    let events = log["events"].as_array().expect("events");
    assert_eq!(events.iter().filter(|event| event["event"] == "refused").count(), 1, "{log}");
    yard.assert_nothing_left();
    heard
}

#[test]
fn a_story_is_not_written_by_who_slept() {
    let yard = impatient("[[stories]]\nid = \"S-1\"\ntitle = \"One\"\n");
    let heard = wakes_too_late(&yard, &["run", "--yes"], "step pipeline:S-1 done S-1-b", "pipeline:S-1");
    assert!(heard.stderr.contains("of pipeline:S-1 is over"), "{}", heard.stderr);
    yard.assert_nothing_twice(&["pipeline:S-1"]);
}

#[test]
fn a_task_is_not_written_by_who_slept() {
    let yard = impatient("");
    let registry =
        r#"{"tasks": [{"agent": "copy", "id": "T01", "subtasks": ["one", "two"], "acceptance_criteria": ["works"]}]}"#;
    yard.workspace.write("registry.json", registry);
    yard.commit("a registry");
    let heard =
        wakes_too_late(&yard, &["run", "registry.json", "--yes"], "step task:copy/T01 done two", "task:copy/T01");
    assert!(heard.stderr.contains("of task:copy/T01 is over"), "{}", heard.stderr);
}

#[test]
fn a_crews_feature_is_not_written_by_who_slept() {
    let yard = impatient("");
    yard.workspace.write("crew.toml", "[[agents]]\nagent = \"Secondary-A\"\nfeature = \"feature_02_search\"\n");
    yard.commit("a crew");
    let heard = wakes_too_late(&yard, &["run", "crew.toml", "--yes"], "finish crew:Secondary-A", "crew:Secondary-A");
    assert!(heard.stderr.contains("of crew:Secondary-A is over"), "{}", heard.stderr);
}

/// The first phase is over; of the second one workstream is followed by another, and its sibling goes on.
#[test]
fn a_workstream_is_not_written_by_who_slept_and_its_siblings_go_on() {
    let yard = impatient("").env("SIBLING", "WS3");
    // No phase before: WS2 and WS3 are all there is.
    let spec = SPEC.replace("    depends_on: [WS1]\n", "");
    let spec = spec.replace("  WS1:\n    name: Floor\n    outputs: [WS1.txt]\n    gate: floor\n", "");
    let spec = spec.replace("  - name: Ground\n    parallel: [WS1]\n    gates: [floor]\n", "");
    let spec = spec.replace("  floor:\n    command: test -f WS1.txt\n", "");
    yard.workspace.write("docs/EXECUTION-SPEC-PRD-031.md", spec);
    yard.commit("a specification");
    let run = ["run", "docs/EXECUTION-SPEC-PRD-031.md", "--yes"];
    let heard = wakes_too_late(&yard, &run, "step build:PRD-031 done WS2", "build:PRD-031");
    assert!(heard.stderr.contains("error: worker 1.1 of build:PRD-031 is over"), "{}", heard.stderr);
    // The sibling wrote after that, with the attempt that all of them share, and was never followed.
    let begun = |step: &str| yard.ledger().iter().filter(|(_, known, _)| known == step).count();
    assert_eq!((begun("WS2"), begun("WS3")), (1, 1), "{:?}", yard.ledger());
    let log = yard.json(&["log", "build:PRD-031", "--json"]);
    let at = |event: &str, step: &str| {
        let is_it = |known: &&serde_json::Value| known["event"] == event && known["data"]["steps"][0] == step;
        let found = log["events"].as_array().into_iter().flatten().rfind(is_it);
        found.and_then(|event| event["seq"].as_u64()).unwrap_or_else(|| panic!("{event} {step}: {log}"))
    };
    assert!(at("step_done", "WS3") > at("step_begun", "WS2"), "{log}");
}

/// A writer that slept inside of its write is no exception: the fence is asked under the lock.
#[test]
fn who_slept_while_it_waited_for_the_lock_is_refused() {
    let yard = Yard::new(&[("S-1", &[])]);
    yard.run(&["start", "task:copy/T01", "--step", "one", "--step", "two"]);
    let lock = fs::File::open(lock_of(&yard)).expect("a lock");
    lock.lock().expect("nobody holds it");
    let mut late = yard.command(&["step", "task:copy/T01", "done", "one", "--wait", "100"]);
    let late = late.env("PITON_ATTEMPT", "1").spawn().expect("it starts");
    wait_for("it to wait for the lock", || has_open(late.id(), &lock_of(&yard)), String::new);
    signal("-STOP", late.id());
    wait_for("it to be stopped", || is_stopped(late.id()), String::new);
    // Not only closed: a child that another test is just starting may have a handle for a moment.
    lock.unlock().expect("it is held");
    yard.run(&["resume", "task:copy/T01", "--force"]);
    signal("-CONT", late.id());
    let heard = finish(late);
    assert_eq!(heard.code, Some(4), "{}{}", heard.stdout, heard.stderr);
    assert!(heard.stderr.contains("attempt 1 of task:copy/T01 is over: attempt 2 has begun"), "{}", heard.stderr);
}

fn lock_of(yard: &Yard) -> std::path::PathBuf {
    fn find(directory: &std::path::Path) -> Option<std::path::PathBuf> {
        fs::read_dir(directory).ok()?.flatten().find_map(|entry| match entry.path() {
            path if path.is_dir() => find(&path),
            path => (path.file_name()? == "lock").then_some(path),
        })
    }
    find(&yard.workspace.path(".piton/units")).expect("a unit's lock")
}

fn has_open(pid: u32, path: &std::path::Path) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    files.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|found| found == path))
}
