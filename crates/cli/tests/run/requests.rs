//! Requests to end have a kind and a sender: what each does, that repeating one changes nothing, and what is true when
//! the lead is dead.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::yard::{Ended, Yard, finish, wait_for};

/// A yard with one story, whose worker waits in stage 2 until the test says go.
fn waiting() -> Yard {
    let yard = Yard::new(&[("S-1", &[])]).env("WAIT", "yes");
    yard.run(&["approve"]);
    yard
}

pub fn go(yard: &Yard) {
    std::fs::write(yard.outer("marks/go"), "").expect("it can be written");
}

/// Starts a lead and waits until the worker of stage 2 is there.
pub fn started(yard: &Yard, arguments: &[&str]) -> Child {
    let lead = yard.command(arguments).spawn().expect("it starts");
    wait_for("the worker of stage 2", || at_stage_2(yard), || format!("{:?}", yard.processes()));
    lead
}

fn at_stage_2(yard: &Yard) -> bool {
    let published = std::fs::read_to_string(yard.workspace.path(".piton/run/lead.json")).unwrap_or_default();
    let value: Value = serde_json::from_str(&published).unwrap_or_default();
    value["view"]["lanes"][0]["stage"] == 2 && value["view"]["lanes"][0]["state"] == "running"
}

pub fn signal(name: &str, pid: u32) {
    let status = Command::new("kill").args([name, &pid.to_string()]).status().expect("kill runs");
    assert!(status.success(), "kill {name} {pid}");
}

/// Waits until another Ctrl-C is not taken for the echo of the last.
fn next_press() {
    let since = Instant::now();
    wait_for("time to pass", || since.elapsed() > Duration::from_millis(250), String::new);
}

fn workers(yard: &Yard) -> Vec<String> {
    yard.processes().into_iter().filter(|process| process.contains("agent.sh")).collect()
}

/// What the log of the run has under a word.
pub fn told(yard: &Yard, word: &str) -> Vec<String> {
    let log = std::fs::read_to_string(yard.workspace.path(".piton/run/runs/1/events.jsonl")).unwrap_or_default();
    let events = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events
        .filter(|event| event["event"] == word)
        .filter_map(|event| event["text"].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn stop_drains_however_often_and_workers_are_stopped_only_when_asked_for() {
    let yard = waiting();
    let mut lead = started(&yard, &["run"]);
    for _ in 0..3 {
        let stop = yard.run(&["stop"]);
        assert!(stop.stdout.contains("starts nothing new and ends after its worker\n"), "{}", stop.stdout);
    }
    let told_so = || told(&yard, "requested");
    wait_for("three requests", || told_so().len() == 3, || format!("{:?}", told_so()));
    let asked = told_so();
    assert!(asked[0].contains("piton stop (process "), "{asked:?}");
    assert!(
        asked[0].contains("the lead ends when its worker has ended. To stop it: piton stop --workers"),
        "{asked:?}"
    );
    assert!(lead.try_wait().expect("it can be asked").is_none(), "it waits for its worker");
    // A shell that starts a program is two processes for a moment.
    wait_for("one worker", || workers(&yard).len() == 1, || format!("{:?}", workers(&yard)));
    // More is asked for: the worker ends, and the lead after it.
    let stop = yard.run(&["stop", "--workers"]);
    assert!(stop.stdout.contains("stops its worker, then ends"), "{}", stop.stdout);
    let ended = finish(lead);
    assert_eq!((ended.code, workers(&yard)), (Some(1), Vec::new()), "{}", ended.stdout);
    assert!(ended.stdout.contains("next: continue: piton run\n"), "{}", ended.stdout);
    let state = yard.read_json(".pipeline/state.json");
    assert_eq!((&state["story_state"]["S-1"], &state["crash_count"]["S-1"]), (&"STAGE_2".into(), &0.into()));
    go(&yard);
    yard.run(&["run"]);
    yard.assert_nothing_left();
}

#[test]
fn sigterm_drains_however_often_and_sighup_ends_nothing() {
    let yard = waiting();
    let lead = started(&yard, &["run"]);
    for _ in 0..3 {
        signal("-HUP", lead.id());
    }
    wait_for("the hang-up", || !told(&yard, "detached").is_empty(), String::new);
    assert!(told(&yard, "detached")[0].contains("Show it: piton run"), "{:?}", told(&yard, "detached"));
    for round in 1..4 {
        signal("-TERM", lead.id());
        wait_for(
            "the request",
            || told(&yard, "requested").len() == round,
            || format!("{:?}", told(&yard, "requested")),
        );
    }
    wait_for("its worker to continue", || workers(&yard).len() == 1, || format!("{:?}", workers(&yard)));
    go(&yard);
    let ended = finish(lead);
    assert_eq!(ended.code, Some(1), "{}{}", ended.stdout, ended.stderr);
    assert!(told(&yard, "requested")[0].starts_with("SIGTERM: no new work starts"), "{}", ended.stdout);
    // The worker came to its end, so stage 2 is over.
    assert_eq!(yard.read_json(".pipeline/state.json")["story_state"]["S-1"], "STAGE_3");
    yard.run(&["run"]);
    yard.assert_nothing_left();
}

#[test]
fn ctrl_c_drains_then_stops_then_leaves_and_says_so() {
    let yard = waiting();
    let lead = started(&yard, &["run"]);
    for (round, want) in [
        "Ctrl-C: no new work starts; the lead ends when its worker has ended. Ctrl-C again stops it",
        "Ctrl-C: its worker is asked to end within 0.3 s; then the lead ends. Ctrl-C again leaves it running",
    ]
    .iter()
    .enumerate()
    {
        // One Ctrl-C that a wrapper passes on once more is one.
        signal("-INT", lead.id());
        signal("-INT", lead.id());
        wait_for(
            "the request",
            || told(&yard, "requested").len() > round,
            || format!("{:?}", told(&yard, "requested")),
        );
        assert_eq!(told(&yard, "requested")[round], *want);
        next_press();
    }
    let ended = finish(lead);
    assert_eq!((ended.code, workers(&yard)), (Some(1), Vec::new()), "{}", ended.stdout);
    go(&yard);
    yard.run(&["run"]);
    yard.assert_nothing_left();
}

#[test]
fn a_lead_that_leaves_keeps_its_worker_for_the_next() {
    // Deaf to every request to end, so that there is time for a third Ctrl-C.
    let yard =
        Yard::with("[run]\nworkers = 1\nheartbeat = 1\npatience = 60\ngrace = 60\n", "[[stories]]\nid = \"S-1\"\n")
            .env("BAD", "deaf");
    yard.run(&["approve"]);
    let lead = started(&yard, &["run"]);
    wait_for("the deaf one", || yard.outer("marks/deaf-S-1").exists(), String::new);
    for round in 1..4 {
        signal("-INT", lead.id());
        wait_for(
            "the request",
            || told(&yard, "requested").len() == round,
            || format!("{:?}", told(&yard, "requested")),
        );
        next_press();
    }
    let ended = finish(lead);
    assert_eq!(ended.code, Some(1), "{}", ended.stdout);
    let last = told(&yard, "requested").pop().expect("three");
    assert_eq!(last, "Ctrl-C: the lead ends now and leaves its worker running. To continue: piton run");
    // A shell that starts a program is two processes for a moment.
    wait_for("one worker", || workers(&yard).len() == 1, || format!("{:?}", workers(&yard)));
    // Whatever becomes of the worker that was asked to end, that is no crash.
    let second = yard.types(&["run"]);
    wait_for(
        "the worker to be adopted",
        || !told(&yard, "adopted").is_empty(),
        || format!("{:?}", told(&yard, "adopted")),
    );
    let pid = workers(&yard)[0].split(' ').next().expect("a pid").parse().expect("a number");
    signal("-KILL", pid);
    let ended = second.end();
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    yard.assert_nothing_left();
}

#[test]
fn nohup_is_respected() {
    let yard = waiting();
    let piton = yard.command(&["run"]);
    let mut command = yard.command(&[]);
    command = {
        let mut nohup = Command::new("nohup");
        nohup.arg(piton.get_program()).args(piton.get_args());
        nohup.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        nohup.current_dir(command.get_current_dir().expect("a directory"));
        nohup.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped());
        nohup.stderr(std::process::Stdio::piped());
        nohup
    };
    let lead = command.spawn().expect("nohup is there");
    wait_for("the worker of stage 2", || at_stage_2(&yard), String::new);
    signal("-HUP", lead.id());
    signal("-HUP", lead.id());
    go(&yard);
    let ended = finish(lead);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert_eq!(told(&yard, "detached"), [""; 0]);
    assert!(ended.stdout.contains("done: 1 of 1 done"), "its output is still written: {}", ended.stdout);
    yard.assert_nothing_left();
}

/// What `piton stop` hints at, without the words in front.
fn hints(ended: &Ended) -> Vec<String> {
    let hints = ended.stderr.lines().filter_map(|line| line.strip_prefix("hint: "));
    hints.filter_map(|hint| hint.split_once(": piton ")).map(|(_, command)| command.to_owned()).collect()
}

#[test]
fn after_a_dead_lead_its_workers_are_named_and_can_be_ended_or_continued() {
    for (choice, what) in [(0, "ended"), (1, "continued")] {
        let yard = waiting();
        let mut lead = started(&yard, &["run", "pipeline:S-1"]);
        lead.kill().expect("it can be killed");
        lead.wait().expect("it is gone");
        let stop = yard.piton(&["stop"]);
        assert_eq!(stop.code, Some(5), "{}", stop.stderr);
        assert!(stop.stderr.contains("no lead is at work here"), "{}", stop.stderr);
        assert!(stop.stderr.contains("the worker of pipeline:S-1 (process "), "{}", stop.stderr);
        assert_eq!(hints(&stop), ["stop --workers", "run pipeline:S-1"]);
        if choice == 1 {
            go(&yard);
        }
        let words: Vec<String> = hints(&stop)[choice].split(' ').map(str::to_owned).collect();
        let done = yard.run(&words.iter().map(String::as_str).collect::<Vec<_>>());
        if choice == 0 {
            assert!(done.stdout.contains("ended the worker of pipeline:S-1"), "{}", done.stdout);
            assert!(done.stdout.contains("continue run 1: piton run pipeline:S-1\n"), "{}", done.stdout);
            assert_eq!(workers(&yard), [""; 0]);
            assert_eq!(yard.piton(&["stop", "--workers"]).code, Some(5), "there is nothing more to stop");
            go(&yard);
            yard.run(&["run", "pipeline:S-1"]);
        }
        let state = yard.read_json(".pipeline/state.json");
        assert_eq!((&state["story_state"]["S-1"], &state["crash_count"]["S-1"]), (&"DONE".into(), &0.into()), "{what}");
        yard.assert_nothing_left();
    }
}

#[test]
fn workers_of_a_dead_lead_count_for_a_run_of_other_work() {
    let stories = "[[stories]]\nid = \"S-1\"\n[[stories]]\nid = \"S-2\"\n";
    let yard =
        Yard::with("[run]\nworkers = 1\nheartbeat = 1\npatience = 60\ngrace = 0.3\n", stories).env("WAIT", "yes");
    yard.run(&["approve"]);
    let mut lead = started(&yard, &["run", "pipeline:S-1"]);
    lead.kill().expect("it can be killed");
    lead.wait().expect("it is gone");
    let second = yard.command(&["run", "pipeline:S-2"]).spawn().expect("it starts");
    let log = || std::fs::read_to_string(yard.workspace.path(".piton/run/runs/2/events.jsonl")).unwrap_or_default();
    wait_for("the other to be counted", || log().contains("\"event\":\"others\""), log);
    assert!(log().contains("pipeline:S-1. To stop all workers: piton stop --workers"), "{}", log());
    // It has no room for a worker of its own, and has not ended either.
    yard.run(&["status"]);
    wait_for("one worker", || workers(&yard).len() == 1, || format!("{:?}", workers(&yard)));
    assert!(!log().contains("\"event\":\"started\""), "{}", log());
    go(&yard);
    let ended = finish(second);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    yard.run(&["run", "pipeline:S-1"]);
    yard.assert_nothing_left();
}

/// While a worker works, the lead writes the whole state again on each beat.
#[test]
fn every_heartbeat_writes_the_whole_state() {
    const FIELDS: [&str; 25] = [
        "complete",
        "active_workers",
        "stories_remaining",
        "last_check",
        "story_state",
        "worker_map",
        "quality_cycles",
        "validation_retries",
        "crash_count",
        "priority_queue_ids",
        "story_results",
        "infra_issues",
        "worktree_map",
        "depends_on",
        "status_cache",
        "stage_timestamps",
        "git_stats",
        "pipeline_start_time",
        "readiness_scores",
        "team_name",
        "business_answers",
        "storage_mode",
        "skill_repo_path",
        "project_brief",
        "story_briefs",
    ];
    let yard = waiting();
    let lead = started(&yard, &["run"]);
    let state = || yard.read_json(".pipeline/state.json");
    let mut seen = state()["last_check"].clone();
    for _ in 0..2 {
        wait_for("another beat", || state()["last_check"] != seen, String::new);
        let state = state();
        for field in FIELDS {
            assert!(state.get(field).is_some(), "{field} in {state}");
        }
        assert_eq!((&state["complete"], &state["active_workers"]), (&false.into(), &1.into()), "{state}");
        assert_eq!(state["story_state"]["S-1"], "STAGE_2", "{state}");
        assert_eq!(state["worker_map"]["S-1"], "story-S-1-s2", "{state}");
        assert_eq!(state["worktree_map"]["S-1"], ".worktrees/story-S-1", "{state}");
        let started = state["pipeline_start_time"].as_str().expect("a time");
        assert_eq!(state["team_name"], format!("pipeline-{}", &started[..10]));
        seen = state["last_check"].clone();
    }
    go(&yard);
    let ended = finish(lead);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert_eq!((&state()["complete"], &state()["active_workers"]), (&true.into(), &0.into()));
    yard.assert_nothing_left();
}

#[test]
fn a_heartbeat_that_cannot_be_written_does_not_end_a_lead() {
    let yard = waiting();
    let mut lead = started(&yard, &["run"]);
    // A directory stands where the file is written first.
    let in_the_way = yard.workspace.path(".piton/run/.memory.json.piton-new");
    // The lead itself may be writing there just now.
    wait_for("the name to be free", || std::fs::create_dir(&in_the_way).is_ok(), String::new);
    wait_for("the trouble", || !told(&yard, "disk").is_empty(), String::new);
    assert!(told(&yard, "disk")[0].ends_with("the lead goes on and tries again"), "{:?}", told(&yard, "disk"));
    // More beats pass; it is told once.
    let beats = Instant::now();
    wait_for("more beats", || beats.elapsed().as_secs() >= 3, String::new);
    assert!(lead.try_wait().expect("it can be asked").is_none(), "the lead goes on");
    assert_eq!(told(&yard, "disk").len(), 1, "{:?}", told(&yard, "disk"));
    std::fs::remove_dir(&in_the_way).expect("it is empty");
    wait_for("the disk to work again", || told(&yard, "disk").len() == 2, || format!("{:?}", told(&yard, "disk")));
    go(&yard);
    let ended = finish(lead);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    let issues = &yard.read_json(".pipeline/report.json")["issues"];
    assert_eq!(issues[0]["type"], "disk", "{issues}");
    yard.assert_nothing_left();
}

#[test]
fn a_lead_that_cannot_write_a_decision_ends_and_its_worker_stays() {
    let yard = waiting().env("PITON_TEST_DISK_PATIENCE", "400");
    let lead = started(&yard, &["run", "pipeline:S-1"]);
    let in_the_way = yard.workspace.path(".piton/run/.memory.json.piton-new");
    // The lead itself may be writing there just now.
    wait_for("the name to be free", || std::fs::create_dir(&in_the_way).is_ok(), String::new);
    go(&yard);
    let ended = finish(lead);
    assert_eq!(ended.code, Some(1), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("the lead ends, its workers go on"), "{}", ended.stderr);
    assert!(ended.stderr.contains("when the disk can be written again: piton run pipeline:S-1"), "{}", ended.stderr);
    std::fs::remove_dir(&in_the_way).expect("it is empty");
    yard.run(&["run", "pipeline:S-1"]);
    yard.assert_nothing_twice(&["pipeline:S-1"]);
    yard.assert_nothing_left();
}
