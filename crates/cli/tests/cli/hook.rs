//! Hooks of a coding agent's host, as it calls them: an event's name, JSON on standard input, an answer or nothing.

use std::fs;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Run, Workspace};

pub const PLAN: &str = "# Mend the quay

## Phase 1
<!-- CHECKPOINT: phase-1 -->
- [ ] Measure the wall <!-- TASK: measure-wall -->
- [ ] Order stones <!-- TASK: order-stones -->

## Phase 2
<!-- CHECKPOINT: phase-2 -->
- [ ] Lay stones <!-- TASK: lay-stones -->
";

pub const ONE: &str = "11111111-aaaa-4bbb-8ccc-000000000001";
pub const TWO: &str = "22222222-aaaa-4bbb-8ccc-000000000002";

/// A session of a host, as its hooks see it.
pub struct Host<'w> {
    workspace: &'w Workspace,
    session: &'static str,
    environment: Vec<(&'static str, String)>,
}

impl<'w> Host<'w> {
    pub fn new(workspace: &'w Workspace, session: &'static str) -> Host<'w> {
        Host { workspace, session, environment: Vec::new() }
    }

    pub fn env(mut self, name: &'static str, value: impl Into<String>) -> Host<'w> {
        self.environment.push((name, value.into()));
        self
    }

    /// Calls a hook, a minute of the test's day after midnight; returns what the model is told.
    pub fn tell(&self, minute: u32, event: &str, more: Value) -> Run {
        let mut payload = json!({
            "session_id": self.session,
            "transcript_path": "/home/ada/.claude/projects/quay.jsonl",
            "cwd": self.workspace.root(),
            "hook_event_name": event,
        });
        payload.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let (day, hour) = (20 + minute / 1440, minute / 60 % 24);
        let clock = format!("2026-02-{day:02}T{hour:02}:{:02}:00Z", minute % 60);
        let call = self.workspace.call(&["hook", event]).at(clock).input(payload.to_string());
        let call = self.environment.iter().fold(call, |call, (name, value)| call.env(name, value.clone()));
        let run = call.run().exits(0);
        assert_eq!(run.stderr, "", "{}", run.transcript());
        assert!(run.stdout.is_empty() || run.json().is_object(), "{}", run.transcript());
        run
    }

    pub fn start(&self, minute: u32, source: &str) -> Option<String> {
        context(&self.tell(minute, "SessionStart", json!({"source": source})))
    }

    pub fn wrote(&self, minute: u32, tool: &str, path: &str) -> Option<String> {
        let full = self.workspace.path(path);
        let kind = if tool == "Write" { "create" } else { "" };
        let more = json!({"tool_name": tool, "tool_input": {"file_path": full}, "tool_response": {"type": kind}});
        context(&self.tell(minute, "PostToolUse", more))
    }

    fn stop(&self, minute: u32, said: &str) -> Option<String> {
        context(&self.tell(minute, "Stop", json!({"last_assistant_message": said, "background_tasks": []})))
    }
}

pub fn context(run: &Run) -> Option<String> {
    if run.stdout.is_empty() {
        return None;
    }
    run.json()["hookSpecificOutput"]["additionalContext"].as_str().map(str::to_owned)
}

fn tick(workspace: &Workspace, plan: &str, from: &str, to: &str) {
    let path = workspace.path(&format!("plans/{plan}/plan.md"));
    let text = fs::read_to_string(&path).expect("the plan is there");
    assert!(text.contains(from), "{from} is in {text}");
    fs::write(&path, text.replacen(from, to, 1)).expect("it can be written");
}

/// The events in a plan's log, each with what tells it from others.
fn history(workspace: &Workspace, plan: &str) -> Vec<String> {
    let path = workspace.path(&format!("plans/{plan}/.checkpoint/history.jsonl"));
    let line = |line: &str| {
        let all: Value = serde_json::from_str(line).expect("a line is JSON");
        let keys = ["taskId", "by", "reason", "completed", "unfinished", "session", "tasksRestored", "tasks"];
        let said = keys.iter().filter_map(|key| Some(format!(" {key}={}", all.get(key)?)));
        format!("{}{}", all["event"].as_str().expect("an event"), said.collect::<String>())
    };
    fs::read_to_string(path).unwrap_or_default().lines().map(line).collect()
}

fn with_plan(plans: &[&str]) -> Workspace {
    let workspace = Workspace::new();
    for plan in plans {
        workspace.write(&format!("plans/{plan}/plan.md"), PLAN);
        workspace.call(&["start", &format!("plan:{plan}")]).at("2026-02-20T08:00:00Z").run().exits(0);
    }
    workspace
}

#[test]
fn an_edit_that_takes_all_ids_out_of_a_recorded_plan_is_told_and_changes_nothing() {
    let workspace = with_plan(&["quay"]);
    let host = Host::new(&workspace, ONE);
    host.start(600, "startup");
    host.wrote(601, "Edit", "plans/quay/plan.md");
    let state = || fs::read_to_string(workspace.path("plans/quay/.checkpoint/state.json")).expect("there is a state");
    let before = state();
    let bare: String =
        PLAN.lines().map(|line| format!("{}\n", line.split(" <!-- TASK").next().unwrap_or(line))).collect();
    workspace.write("plans/quay/plan.md", &bare);
    let told = host.wrote(602, "Edit", "plans/quay/plan.md").unwrap_or_default();
    assert!(told.contains("none of the 3 checkboxes") && told.contains("piton plan mark"), "{told}");
    assert_eq!(state(), before);
}

#[test]
fn a_session_is_told_where_it_stands_and_its_deeds_are_recorded() {
    let workspace = with_plan(&["quay"]);
    let host = Host::new(&workspace, ONE);
    let brief = host.start(600, "startup").expect("a brief");
    assert!(brief.starts_with("# Resume plan:quay, attempt 1\n\nNext: do the task measure-wall"), "{brief}");
    let watched = host.tell(600, "SessionStart", json!({"source": "startup"})).json();
    assert_eq!(watched["hookSpecificOutput"]["watchPaths"], json!(["[TEMP]/workspace/plans/quay/plan.md"]));
    // Codex knows no such key, and would drop the brief with it.
    let rollout = "/h/.codex/sessions/2026/11/17/rollout-2026-11-17T00-21-01-01a1.jsonl";
    let told = host.tell(600, "SessionStart", json!({"source": "startup", "transcript_path": rollout})).json();
    let keys: Vec<&String> = told["hookSpecificOutput"].as_object().expect("an answer").keys().collect();
    assert_eq!(keys, ["additionalContext", "hookEventName"], "{told}");
    tick(&workspace, "quay", "[ ] Measure", "[x] Measure");
    assert_eq!(host.wrote(601, "Edit", "plans/quay/plan.md"), None);
    assert_eq!(host.start(602, "resume").map(|text| text.contains("Next: do the task order-stones")), Some(true));
    assert_eq!(host.start(603, "resume"), None, "a second copy says nothing new");
    assert!(
        host.start(604, "compact").is_some_and(|text| text.contains("order-stones")),
        "what was lost is told again"
    );
    tick(&workspace, "quay", "[x] Measure", "[ ] Measure");
    let told = host.wrote(605, "Edit", "plans/quay/plan.md").expect("an alarm");
    assert_eq!(told, "piton: plan:quay: progress went backwards: done before, open in the plan now: measure-wall");
    assert_eq!(host.stop(606, "Half of it is done."), None);
    host.tell(607, "SessionEnd", json!({"reason": "other"}));
    let want = [
        "checkpoint_created",
        "checksum_mismatch",
        "task_completed taskId=\"measure-wall\" by=\"main\"",
        "checksum_mismatch",
        "progress_regressed tasks=[\"measure-wall\"]",
        "session_checkpoint by=\"main\" reason=\"stop\"",
        "session_checkpoint by=\"main\" reason=\"session_end\"",
    ];
    assert_eq!(history(&workspace, "quay"), want);
    let state: Value =
        serde_json::from_slice(&fs::read(workspace.path("plans/quay/.checkpoint/state.json")).expect("a state"))
            .expect("JSON");
    assert_eq!(state["sessionNotes"], "Half of it is done.");
    workspace.run(&["check", "plan:quay"]).exits(0);
    assert!(!workspace.path(".piton/hook.log").exists(), "nothing went wrong");
}

#[test]
fn an_edit_by_the_shell_is_seen_and_what_it_undid_is_told_later() {
    let workspace = with_plan(&["quay"]);
    let host = Host::new(&workspace, ONE);
    host.start(600, "startup");
    host.tell(601, "UserPromptSubmit", json!({"prompt": "go"}));
    tick(&workspace, "quay", "[ ] Measure", "[x] Measure");
    let changed = json!({"file_path": workspace.path("plans/quay/plan.md"), "event": "change"});
    host.tell(602, "FileChanged", changed.clone());
    tick(&workspace, "quay", "[x] Measure", "[ ] Measure");
    assert_eq!(host.tell(603, "FileChanged", changed).stdout, "", "nobody hears this");
    let told = host.wrote(604, "Write", "src/a.rs").expect("the next one is heard");
    assert!(told.contains("progress went backwards"), "{told}");
    tick(&workspace, "quay", "[ ] Order", "[x] Order");
    host.stop(605, "Done.");
    let all = history(&workspace, "quay");
    assert!(all.contains(&"task_completed taskId=\"order-stones\" by=\"main\"".to_owned()), "{all:?}");
}

#[test]
fn a_helper_is_told_its_tasks_and_its_claims_are_compared_with_the_plan() {
    let workspace = with_plan(&["quay"]);
    let host = Host::new(&workspace, ONE);
    host.start(600, "startup");
    let helper = json!({"agent_id": "a17", "agent_type": "mason"});
    let wanted = json!({"subagent_type": "mason", "prompt": "do measure-wall and order-stones"});
    host.tell(601, "PreToolUse", json!({"tool_name": "Agent", "tool_input": wanted}));
    let told = context(&host.tell(602, "SubagentStart", helper.clone())).expect("an assignment");
    assert!(told.contains("- measure-wall \"Measure the wall\"\n- order-stones \"Order stones\"\n"), "{told}");
    tick(&workspace, "quay", "[ ] Measure", "[x] Measure");
    let mut edit = json!({"tool_name": "Edit", "tool_input": {"file_path": workspace.path("plans/quay/plan.md")}});
    edit.as_object_mut().expect("an object").extend(helper.as_object().expect("an object").clone());
    host.tell(603, "PostToolUse", edit);
    let fork = json!({"agent_id": "a18", "agent_type": "", "last_assistant_message": "lay-stones is done"});
    host.tell(603, "SubagentStop", fork);
    let mut end = helper.clone();
    end["last_assistant_message"] = "Done: measure-wall and order-stones.".into();
    assert_eq!(host.tell(604, "SubagentStop", end).stdout, "", "the helper itself is not made to go on");
    let told = context(&host.tell(605, "PostToolUse", json!({"tool_name": "Agent", "tool_input": {}})));
    let told = told.expect("the model is told");
    assert!(
        told.contains("the subagent mason says that order-stones is done, but plans/quay/plan.md does not"),
        "{told}"
    );
    let want = [
        "checkpoint_created",
        "recovery_saved reason=\"pre_subagent_spawn\"",
        "subagent_started tasks=[\"measure-wall\",\"order-stones\"]",
        "checksum_mismatch",
        "task_completed taskId=\"measure-wall\" by=\"subagent:mason\"",
        "subagent_stopped completed=1 unfinished=[\"order-stones\"]",
    ];
    assert_eq!(history(&workspace, "quay"), want);
    let plan = fs::read_to_string(workspace.path("plans/quay/plan.md")).expect("the plan");
    assert!(plan.contains("- [ ] Order stones"), "no claim ticks a box: {plan}");
}

#[test]
fn every_fifth_prompt_of_a_person_keeps_a_copy() {
    let workspace = with_plan(&["quay"]);
    let host = Host::new(&workspace, ONE).env("PITON_UNIT", "plan:quay");
    host.start(600, "startup");
    for minute in 601..=610 {
        host.tell(minute, "UserPromptSubmit", json!({"prompt": "<task-notification>\n<task-id>a</task-id>"}));
        host.tell(minute, "UserPromptSubmit", json!({"prompt": "go on"}));
    }
    let copies = history(&workspace, "quay").into_iter().filter(|event| event.contains("every_5_prompts")).count();
    assert_eq!(copies, 2);
}

#[test]
fn two_sessions_on_two_plans_do_not_mix() {
    let workspace = with_plan(&["quay", "pier"]);
    let (one, two) = (Host::new(&workspace, ONE), Host::new(&workspace, TWO));
    let list = one.start(600, "startup").expect("a list");
    assert!(list.contains("- plan:pier: ") && list.contains("- plan:quay: ") && !list.contains("Next:"), "{list}");
    two.start(600, "startup");
    tick(&workspace, "quay", "[ ] Measure", "[x] Measure");
    one.wrote(601, "Edit", "plans/quay/plan.md");
    // The newest file is another session's.
    tick(&workspace, "pier", "[ ] Order", "[x] Order");
    two.wrote(602, "Edit", "plans/pier/plan.md");
    one.stop(603, "said by one");
    two.stop(604, "said by two");
    for (plan, said) in [("quay", "said by one"), ("pier", "said by two")] {
        let state =
            fs::read_to_string(workspace.path(&format!("plans/{plan}/.checkpoint/state.json"))).expect("a state");
        assert!(state.contains(said), "{plan}: {state}");
        assert_eq!(state.matches("said by").count(), 2, "once in the notes, once as the last: {state}");
    }
    assert!(one.start(605, "compact").is_some_and(|brief| brief.contains("# Resume plan:quay")));
    assert!(two.start(605, "compact").is_some_and(|brief| brief.contains("# Resume plan:pier")));
}

#[test]
fn a_session_inside_of_a_session_records_nothing() {
    let workspace = with_plan(&["quay"]);
    let exports = workspace.path("../exports");
    let outer = Host::new(&workspace, ONE).env("CLAUDE_ENV_FILE", exports.display().to_string());
    outer.start(600, "startup");
    assert_eq!(fs::read_to_string(&exports).expect("exports"), format!("export PITON_SESSION={ONE}\n"));
    let before = workspace.fingerprint();
    let inner = Host::new(&workspace, TWO).env("PITON_SESSION", ONE).env("PITON_UNIT", "plan:quay");
    assert_eq!(inner.start(601, "startup"), None);
    inner.tell(601, "UserPromptSubmit", json!({"prompt": "x"}));
    assert_eq!(inner.wrote(602, "Edit", "plans/quay/plan.md"), None);
    inner.tell(603, "SessionEnd", json!({"reason": "other"}));
    let fired = |path: &str| path.ends_with("/fired");
    assert_eq!(before.without(fired), workspace.fingerprint().without(fired));
}

/// A process that stands for the host, and is killed with the value.
struct HostProcess(Child);

impl HostProcess {
    fn start() -> HostProcess {
        let mut command = Command::new("/bin/cat");
        HostProcess(command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("a process starts"))
    }

    fn kill(&mut self) {
        self.0.kill().expect("it can be killed");
        self.0.wait().expect("it is gone");
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        // One that is gone already cannot be killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_session_that_was_killed_is_a_crash_at_the_next_start_and_one_that_ended_is_not() {
    for (is_killed, has_ended) in [(true, false), (true, true), (false, false)] {
        let workspace = with_plan(&["quay"]);
        let mut process = HostProcess::start();
        let first = Host::new(&workspace, ONE).env("CLAUDE_PID", process.0.id().to_string());
        first.start(600, "startup");
        first.tell(601, "UserPromptSubmit", json!({"prompt": "go"}));
        tick(&workspace, "quay", "[ ] Measure", "[x] Measure");
        first.wrote(602, "Edit", "plans/quay/plan.md");
        if has_ended {
            first.stop(603, "over");
        }
        if is_killed {
            process.kill();
        }
        let second = Host::new(&workspace, TWO).env("CLAUDE_PID", std::process::id().to_string());
        let brief = second.start(610, "startup").unwrap_or_default();
        let events = history(&workspace, "quay");
        let crashes: Vec<_> = events.iter().filter(|event| event.starts_with("session_")).collect();
        match (is_killed, has_ended) {
            (true, false) => {
                let crash = format!("session_crash session=\"{ONE}\"");
                assert_eq!(crashes, [&crash, "session_recovered tasksRestored=1"], "{events:?}");
                assert!(brief.contains("went away without an end"), "{brief}");
                assert!(brief.contains("# Resume plan:quay, attempt 2\n\nNext: do the task order-stones"), "{brief}");
                second.start(611, "startup");
                assert_eq!(history(&workspace, "quay"), events, "it is told once");
            }
            _ => {
                assert!(!crashes.iter().any(|event| event.starts_with("session_crash")), "{events:?}");
                assert!(!brief.contains("attempt 2"), "{brief}");
            }
        }
    }
}

#[test]
fn a_tasks_files_and_failures_are_recorded_without_being_asked_for() {
    let workspace = Workspace::new();
    let start = ["start", "task:mason/T1", "--title", "Walls", "--total", "3"];
    workspace.call(&start).at("2026-02-20T08:00:00Z").run().exits(0);
    let host = Host::new(&workspace, ONE).env("PITON_UNIT", "task:mason/T1");
    assert!(host.start(600, "startup").is_some_and(|brief| brief.contains("# Resume task:mason/T1")));
    host.wrote(601, "Write", "src/wall.rs");
    host.wrote(602, "Edit", "src/wall.rs");
    host.wrote(603, "Edit", "src/quay.rs");
    host.wrote(604, "Edit", "../outside.rs");
    let failure = json!({"tool_name": "Bash", "error": "Exit code 2\nno such file", "is_interrupt": false});
    host.tell(605, "PostToolUseFailure", failure.clone());
    host.tell(606, "PostToolUseFailure", failure);
    let path = workspace.path("progress/checkpoints/mason-T1.json");
    let task: Value = serde_json::from_slice(&fs::read(&path).expect("a checkpoint")).expect("JSON");
    assert_eq!(task["files_created"], json!(["src/wall.rs"]));
    assert_eq!(task["files_modified"], json!(["src/quay.rs"]));
    let errors = task["errors"].as_array().expect("errors");
    assert_eq!(errors.len(), 1, "the same failure is listed once");
    assert_eq!(errors[0]["message"], "Bash: Exit code 2 no such file");
    assert_eq!((&errors[0]["blocking"], &task["status"]), (&json!(false), &json!("in_progress")));
    workspace.run(&["check", "task:mason/T1"]).exits(0);
}

/// A session that works gives its task a heartbeat, at the latest every five minutes.
#[test]
fn the_heartbeat_of_a_task_follows_its_session() {
    let workspace = Workspace::new();
    let start = ["start", "task:mason/T1", "--title", "Walls", "--total", "3"];
    workspace.call(&start).at("2026-02-20T10:00:00Z").run().exits(0);
    let host = Host::new(&workspace, ONE).env("PITON_UNIT", "task:mason/T1");
    host.start(600, "startup");
    for minute in 601..=620 {
        host.wrote(minute, "Edit", "src/wall.rs");
        let path = workspace.path("progress/checkpoints/mason-T1.json");
        let task: Value = serde_json::from_slice(&fs::read(path).expect("a checkpoint")).expect("JSON");
        let signs = [&task["heartbeat"]["last_beat"], &task["updated_at"]];
        let newest = signs.iter().filter_map(|sign| sign.as_str()).max().expect("a sign");
        let oldest = minute - 5;
        assert!(*newest >= *format!("2026-02-20T{:02}:{:02}:00Z", oldest / 60, oldest % 60), "{minute}: {newest}");
        if minute >= 606 {
            assert_eq!(task["heartbeat"]["interval_seconds"], 300, "{task}");
            assert_eq!(task["heartbeat"]["status"], "alive", "{task}");
        }
    }
}

#[test]
fn a_write_of_the_plan_is_taken_like_an_edit() {
    for tool in ["Edit", "Write"] {
        let workspace = with_plan(&["quay"]);
        let host = Host::new(&workspace, ONE);
        host.start(600, "startup");
        tick(&workspace, "quay", "[ ] Measure", "[x] Measure");
        host.wrote(601, tool, "plans/quay/plan.md");
        let path = workspace.path("plans/quay/.checkpoint/state.json");
        let state: Value = serde_json::from_slice(&fs::read(path).expect("a state")).expect("JSON");
        assert_eq!(state["progress"]["completedTasks"], 1, "{tool}");
        assert_eq!(state["currentTask"], "order-stones", "{tool}");
    }
}

/// Before a compaction, and at the end, the plan's state is copied with what the session said last.
#[test]
fn a_compaction_keeps_a_copy_with_the_notes() {
    let workspace = with_plan(&["quay"]);
    let host = Host::new(&workspace, ONE);
    host.start(600, "startup");
    tick(&workspace, "quay", "[ ] Measure", "[x] Measure");
    host.wrote(601, "Edit", "plans/quay/plan.md");
    host.stop(602, "Half of it is done.");
    for (minute, event, more, reason) in [
        (603, "PreCompact", json!({"trigger": "auto"}), "pre_compact"),
        (604, "SessionEnd", json!({"reason": "other"}), "session_end"),
    ] {
        host.tell(minute, event, more);
        let path = workspace.path("plans/quay/.checkpoint/recovery.json");
        let copy: Value = serde_json::from_slice(&fs::read(path).expect("a copy")).expect("JSON");
        assert_eq!(copy["reason"], reason);
        assert_eq!(copy["state"]["sessionNotes"], "Half of it is done.");
        assert_eq!(copy["state"]["progress"]["completedTasks"], 1);
    }
}

#[test]
fn a_checkpoint_that_is_broken_by_an_edit_is_restored_and_said() {
    let workspace = Workspace::new();
    let start = ["start", "task:mason/T1", "--title", "Walls", "--step", "a", "--step", "b"];
    workspace.call(&start).at("2026-02-20T08:00:00Z").run().exits(0);
    workspace.call(&["step", "task:mason/T1", "done", "a"]).at("2026-02-20T08:01:00Z").run().exits(0);
    let path = "progress/checkpoints/mason-T1.json";
    let good = fs::read_to_string(workspace.path(path)).expect("a checkpoint");
    let host = Host::new(&workspace, ONE);
    fs::write(workspace.path(path), &good[..good.len() / 2]).expect("it can be torn");
    let told = host.wrote(601, "Write", path).expect("it is said");
    assert!(told.contains("could not be read and is restored"), "{told}");
    assert_eq!(fs::read_to_string(workspace.path(path)).expect("a checkpoint"), good);
    let back = good.replacen("\"complete\"", "\"pending\"", 1).replacen("\"completed\": 1", "\"completed\": 0", 1);
    assert_ne!(back, good, "the test changes something");
    fs::write(workspace.path(path), back).expect("it can be written");
    let told = host.wrote(602, "Edit", path).expect("it is said");
    assert!(told.contains("task:mason/T1: progress went backwards: 1 steps were done before, now 0"), "{told}");
}

#[test]
fn hooks_are_signs_of_life_but_not_every_one() {
    let workspace = with_plan(&["quay"]);
    let host = Host::new(&workspace, ONE).env("PITON_UNIT", "plan:quay");
    host.start(600, "startup");
    for minute in 601..=610 {
        host.wrote(minute, "Edit", "src/a.rs");
        host.wrote(minute, "Edit", "src/b.rs");
    }
    let log = workspace.run(&["log", "plan:quay", "--json"]).json();
    let beats = log["events"].as_array().expect("events").iter().filter(|event| event["event"] == "beat").count();
    assert!((4..=6).contains(&beats), "one every two minutes, not {beats}");
    let status = workspace.call(&["status", "--json"]).at("2026-02-20T10:11:00Z").run().json();
    assert_eq!(status["units"][0]["last_seen"], "2026-02-20T10:09:00Z");
}

#[test]
fn an_edit_that_concerns_nobody_touches_nothing() {
    let workspace = with_plan(&["quay"]);
    let host = Host::new(&workspace, ONE);
    host.start(600, "startup");
    tick(&workspace, "quay", "[ ] Measure", "[x] Measure");
    host.wrote(601, "Edit", "plans/quay/plan.md");
    host.wrote(601, "Edit", "src/a.rs");
    let before = workspace.fingerprint();
    for path in ["src/a.rs", "src/b.rs", "../outside.rs", "plans/quay/notes.txt"] {
        assert_eq!(host.wrote(601, "Write", path), None);
    }
    assert_eq!(Host::new(&workspace, TWO).wrote(601, "Edit", "src/a.rs"), None, "nor that of an unknown session");
    assert_eq!(before, workspace.fingerprint());
}

#[test]
fn a_verb_of_the_session_binds_it() {
    let workspace = with_plan(&["quay", "pier"]);
    let host = Host::new(&workspace, ONE);
    host.start(600, "startup");
    let call = workspace.call(&["step", "plan:pier", "done", "measure-wall"]).env("PITON_SESSION", ONE);
    call.at("2026-02-20T10:01:00Z").run().exits(0);
    host.stop(602, "the pier is measured");
    let state = fs::read_to_string(workspace.path("plans/pier/.checkpoint/state.json")).expect("a state");
    assert!(state.contains("the pier is measured"), "{state}");
}

#[test]
fn a_start_that_finds_nothing_new_writes_nothing() {
    let workspace = with_plan(&["quay"]);
    let host = Host::new(&workspace, ONE);
    let brief = host.start(600, "startup").expect("a brief");
    let before = workspace.fingerprint();
    let fence = |brief: &str| brief.split_once("<<<").and_then(|(_, rest)| rest.lines().next().map(str::to_owned));
    let again = host.start(600, "compact").expect("a brief");
    assert_eq!(host.start(600, "resume"), None);
    assert_eq!(before, workspace.fingerprint());
    let (first, second) = (fence(&brief).expect("a fence"), fence(&again).expect("a fence"));
    assert_ne!(first, second, "who was shown the first one may have written what stands behind the second");
    assert_eq!(brief.replace(&first, ""), again.replace(&second, ""));
    assert!(
        !fs::read_to_string(workspace.path(&format!(".piton/sessions/{ONE}"))).expect("a session").contains(&second)
    );
}

#[test]
fn a_session_that_ended_is_put_away_and_comes_back_when_it_goes_on() {
    let workspace = with_plan(&["quay", "pier"]);
    let names = |directory: &str| -> Vec<String> {
        let names = fs::read_dir(workspace.path(directory)).into_iter().flatten();
        names.map(|entry| entry.expect("a name").file_name().to_string_lossy().into_owned()).collect()
    };
    let mut process = HostProcess::start();
    let host = Host::new(&workspace, ONE).env("CLAUDE_PID", process.0.id().to_string());
    host.start(600, "startup");
    tick(&workspace, "pier", "[ ] Measure", "[x] Measure");
    host.wrote(601, "Edit", "plans/pier/plan.md");
    host.stop(602, "so far");
    host.tell(603, "SessionEnd", json!({"reason": "other"}));
    assert_eq!((names(".piton/sessions"), names(".piton/sessions-ended")), (vec![], vec![ONE.to_owned()]));
    let brief = host.start(604, "resume").expect("a brief");
    assert!(brief.contains("# Resume plan:pier"), "it knows its unit still: {brief}");
    assert_eq!(names(".piton/sessions"), [ONE]);
    // One that is gone between two turns is no crash, and is not looked at for ever.
    process.kill();
    let other = Host::new(&workspace, TWO).env("CLAUDE_PID", std::process::id().to_string());
    other.start(605, "startup");
    assert_eq!(
        (names(".piton/sessions"), names(".piton/sessions-ended")),
        (vec![TWO.to_owned()], vec![ONE.to_owned()])
    );
    assert!(!history(&workspace, "pier").iter().any(|event| event.starts_with("session_crash")));
    let later = Host::new(&workspace, TWO);
    later.tell(605 + 8 * 24 * 60, "SessionEnd", json!({"reason": "other"}));
    assert_eq!(names(".piton/sessions-ended"), [TWO], "after a week it is forgotten");
}

#[test]
fn a_worker_that_was_started_for_an_attempt_keeps_it_after_a_crash() {
    // Its prompt holds the brief, so the hook tells it the alarm alone.
    for (attempt, want) in [(Some("1"), None), (None, Some("# Resume plan:quay, attempt 2\n"))] {
        let workspace = with_plan(&["quay", "pier"]);
        let mut process = HostProcess::start();
        let first = Host::new(&workspace, ONE).env("PITON_UNIT", "plan:quay");
        let first = first.env("CLAUDE_PID", process.0.id().to_string());
        first.start(600, "startup");
        first.tell(601, "UserPromptSubmit", json!({"prompt": "go"}));
        process.kill();
        let second = Host::new(&workspace, TWO).env("PITON_UNIT", "plan:quay");
        let second = attempt.into_iter().fold(second, |host, attempt| host.env("PITON_ATTEMPT", attempt));
        let brief = second.start(610, "startup").expect("a brief, or the alarm");
        assert_eq!(brief.contains("# Resume"), want.is_some(), "{brief}");
        assert!(want.is_none_or(|want| brief.contains(want)), "{brief}");
        assert!(brief.contains("went away without an end"), "{brief}");
        let crash = format!("session_crash session=\"{ONE}\"");
        assert!(history(&workspace, "quay").contains(&crash), "a session that was given its unit crashes as well");
        tick(&workspace, "quay", "[ ] Measure", "[x] Measure");
        second.wrote(611, "Edit", "plans/quay/plan.md");
        second.stop(612, "measured");
        assert!(!workspace.path(".piton/hook.log").exists(), "nobody was shut out");
    }
}
