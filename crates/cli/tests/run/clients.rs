//! Clients of coding agents as they are started, and what they say: scripted ones, in the shape of the real.

use serde_json::Value;

use crate::yard::{Yard, finish, wait_for};

/// A story and no `[worker]` section, with the clients that are named on PATH.
fn yard(clients: &[&str], settings: &str, stories: &str) -> Yard {
    let yard = Yard::with("", "");
    let base = "[run]\nworkers = 1\nheartbeat = 1\npatience = 60\nlinger = 5\ngrace = 0.3\n";
    yard.workspace.write("piton.toml", format!("{base}{settings}{stories}"));
    yard.commit("other settings");
    std::fs::create_dir_all(yard.outer("bin")).expect("a directory");
    clients.iter().for_each(|name| install(&yard, name));
    let agent = yard.outer("agent.sh").display().to_string();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", yard.outer("bin").display());
    yard.env("AGENT", &agent).env("PATH", &path)
}

fn install(yard: &Yard, name: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let path = yard.outer("bin").join(name);
    std::fs::write(&path, include_str!("client.sh")).expect("the client is written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("its mode");
}

fn calls(yard: &Yard, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(yard.outer("marks").join(format!("{name}.calls"))).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn report(yard: &Yard) -> Value {
    yard.read_json(".piton/run/report.json")
}

const ONE: &str = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\n";
const TWO: &str = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\n[[stories]]\nid = \"S-2\"\ntitle = \"Two\"\n";

#[test]
fn without_a_worker_section_claude_may_do_its_work_and_nothing_else() {
    let yard = yard(&["claude"], "[gates]\ntest = \"CI=1 test -f README.md && ls\"\n", ONE);
    yard.run(&["run", "--yes"]);
    let call = calls(&yard, "claude").pop().expect("it was started");
    let root = yard.workspace.path("").display().to_string();
    let root = root.trim_end_matches('/');
    for rule in [
        "--permission-mode acceptEdits",
        "Bash(piton:*)",
        "Bash(git commit:*)",
        "Bash(test -f README.md:*)",
        "Bash(ls:*)",
        &format!("Read(/{root}/**)"),
        &format!("Edit(/{root}/.pipeline/checkpoint-S-1.json)"),
    ] {
        assert!(call.contains(rule), "{rule}: {call}");
    }
    for rule in ["Bash(git push", "Bash(git config", "Bash(git worktree", "Bash(npm", "skip-permissions", "Bash(*)"] {
        assert!(!call.contains(rule), "{rule}: {call}");
    }
    yard.assert_nothing_left();
}

#[test]
fn codex_is_used_where_it_is_the_one_that_is_installed() {
    let yard = yard(&["codex"], "", ONE);
    yard.run(&["run", "--yes"]);
    let calls = calls(&yard, "codex");
    let root = yard.workspace.path("").display().to_string();
    let root = root.trim_end_matches('/');
    let call = calls.last().expect("it was started");
    for part in [
        "exec --json -c allow_login_shell=false --sandbox workspace-write".to_owned(),
        format!("--add-dir {root}/.git/objects --add-dir {root}/.git/refs"),
        format!("--add-dir {root}/.git/worktrees/"),
        format!("--add-dir {root}/.piton/units"),
        format!("--add-dir {root}/.pipeline"),
    ] {
        assert!(call.contains(&part), "{part}: {call}");
    }
    for part in [".git ", ".git/config", ".git/hooks", ".piton ", ".piton/run", "danger-full-access", "skip-git"] {
        assert!(!call.contains(part), "{part}: {call}");
    }
    let lane = &report(&yard)["lanes"][0];
    assert_eq!((&lane["cost_usd"], &lane["output_tokens"]), (&Value::Null, &Value::from(4)), "{lane}");
    yard.assert_nothing_left();
}

#[test]
fn a_denied_command_is_a_reason_and_can_be_allowed() {
    let yard = yard(&["claude"], "", ONE).env("ODD", "denied");
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", ended.stdout);
    let reason = "denied: Bash(npm ci --silent); allow it with: piton approve --denied";
    assert!(ended.stdout.contains(reason), "{}", ended.stdout);
    let next = "allow what was denied: piton approve --denied && piton run --retry\n";
    assert!(ended.stdout.contains(&format!("next: {next}")), "{}", ended.stdout);
    assert!(!ended.stdout.contains("when it is fixed"), "{}", ended.stdout);
    assert!(yard.run(&["status"]).stdout.contains(next));
    let why = yard.run(&["why", "pipeline:S-1"]).stdout;
    assert!(why.contains(reason) && why.contains(&format!("next       {next}")), "{why}");
    assert!(yard.text(".piton/run/report.md").contains(reason));
    assert_eq!(calls(&yard, "claude").len(), 1, "another would be denied the same");
    assert_eq!(yard.read_json(".pipeline/state.json")["crash_count"]["S-1"], 0);
    assert_eq!(yard.run(&["approve", "--denied"]).stdout, "allowed for workers: npm ci --silent (pipeline:S-1)\n");
    assert_eq!(yard.run(&["approve", "--denied"]).stdout, "nothing was denied\n");
    yard.run(&["run", "--retry"]);
    yard.assert_nothing_left();
}

#[test]
fn a_plan_whose_worker_was_denied_is_retried_after_the_approval_alone() {
    let yard = yard(&["claude"], "", "").env("ODD", "denied");
    yard.workspace.write("plans/p/plan.md", "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n");
    yard.commit("a plan");
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", ended.stdout);
    let next = "next: allow what was denied: piton approve --denied && piton run plan:p --retry\n";
    assert!(ended.stdout.contains(next), "{}", ended.stdout);
    assert!(!ended.stdout.contains("when it is fixed"), "{}", ended.stdout);
}

#[test]
fn a_worker_cannot_approve_anything() {
    let yard = yard(&["claude"], "", ONE);
    for arguments in [&["approve"][..], &["approve", "--denied"], &["approve", "build:PRD-001"], &["run", "--yes"]] {
        let mut command = yard.command(arguments);
        let ended = finish(command.env("PITON_WORKER", "a-mark").spawn().expect("it starts"));
        assert_eq!(ended.code, Some(4), "{arguments:?}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stderr.contains("a worker cannot approve"), "{}", ended.stderr);
    }
}

#[test]
fn piton_runs_nothing_for_a_worker_that_its_client_would_refuse() {
    let yard = yard(&["claude"], "[gates]\ntest = \"test -f README.md\"\n", ONE);
    yard.run(&["approve"]);
    yard.run(&["start", "task:copy/T1", "--title", "x", "--step", "one", "--step", "two"]);
    let record = |step: &str, command: &str| {
        let mut verb = yard.command(&["step", "task:copy/T1", "done", step, "--evidence", command]);
        finish(verb.env("PITON_WORKER", "a-mark").env("PITON_HELD", "yes").spawn().expect("it starts"))
    };
    let ended = record("one", "touch pwned");
    assert_eq!(ended.code, Some(4), "{}{}", ended.stdout, ended.stderr);
    assert!(
        ended.stderr.contains("a worker may run only commands that were approved: touch pwned"),
        "{}",
        ended.stderr
    );
    assert!(!yard.workspace.path("pwned").exists());
    let ended = record("one", "test -f README.md");
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
}

#[test]
fn a_client_that_is_missing_pauses_before_anything_is_claimed() {
    let yard = yard(&[], "", ONE);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}{}", ended.stdout, ended.stderr);
    let reason = "the worker's program `claude` is not in PATH; install Claude Code";
    assert!(ended.stdout.contains(reason), "{}", ended.stdout);
    assert!(!yard.workspace.path(".pipeline/checkpoint-S-1.json").exists());
    assert!(!yard.workspace.path(".worktrees").exists());
    let issues = yard.read_json(".pipeline/state.json")["infra_issues"].clone();
    assert!(issues[0]["message"].as_str().is_some_and(|message| message.starts_with(reason)), "{issues}");
    install(&yard, "claude");
    yard.run(&["run", "--yes"]);
    yard.assert_nothing_left();
}

#[test]
fn a_program_that_is_named_by_a_path_and_missing_uses_no_attempt() {
    let yard = Yard::with("", TWO);
    for program in ["/no/such/agent", "./no-such-agent"] {
        yard.workspace.write("piton.toml", format!("[run]\ngrace = 0.3\n[worker]\ncommand = [{program:?}]\n{TWO}"));
        yard.commit(program);
        let ended = yard.piton(&["run", "--yes", "--retry"]);
        assert_eq!(ended.code, Some(4), "{}{}", ended.stdout, ended.stderr);
        let reason = format!(
            "the worker's program `{program}` does not exist; install it, or correct `command` in [worker] of piton.toml"
        );
        for story in ["S-1", "S-2"] {
            let paused = format!("pipeline:{story}: paused: cannot start its worker: {reason}\n");
            assert!(ended.stdout.contains(&paused), "{}", ended.stdout);
            assert!(!yard.workspace.path(&format!(".pipeline/checkpoint-{story}.json")).exists(), "it was claimed");
        }
        let issues = yard.read_json(".pipeline/state.json")["infra_issues"].clone();
        let named = issues.as_array().expect("a list").iter().filter(|issue| issue["message"] == reason.as_str());
        assert_eq!(named.count(), 1, "{issues}");
    }
}

#[test]
fn a_client_that_cannot_be_used_is_started_once_and_counts_as_no_crash() {
    for (odd, want) in [
        ("logged-out", "Claude Code is not logged in (Not logged in · Please run /login); log in"),
        ("old", "this version of Claude Code cannot be used (error: unknown option '--session-id'); update it"),
    ] {
        let yard = yard(&["claude"], "", TWO).env("ODD", odd);
        let ended = yard.piton(&["run", "--yes"]);
        assert_eq!(ended.code, Some(4), "{}", ended.stdout);
        assert!(ended.stdout.contains(&format!("pipeline:S-1: its worker cannot work: {want}")), "{}", ended.stdout);
        assert!(
            ended.stdout.contains(&format!("pipeline:S-2: paused: cannot start its worker: {want}")),
            "{}",
            ended.stdout
        );
        assert_eq!(calls(&yard, "claude").len(), 1, "{odd}: nobody else tries in vain");
        let state = yard.read_json(".pipeline/state.json");
        assert_eq!(state["crash_count"]["S-1"], 0);
        assert!(state["infra_issues"][0]["message"].as_str().is_some_and(|message| message.contains(want)), "{state}");
    }
}

#[test]
fn a_new_worker_whose_session_is_unknown_has_failed_and_that_counts() {
    let yard = yard(&["claude"], "", ONE).env("ODD", "unknown-session");
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", ended.stdout);
    // New, then by its session, then with the brief: and no more.
    assert_eq!(calls(&yard, "claude").len(), 3, "{}", ended.stdout);
    assert_eq!(yard.read_json(".pipeline/state.json")["crash_count"]["S-1"], 1);
}

#[test]
fn stages_stories_and_fallbacks_choose_their_workers() {
    let settings = "[worker]\nadapter = \"claude\"\nfallback = \"other\"\n\
                    [worker.stage.0]\nmodel = \"small\"\n[worker.other]\nadapter = \"codex\"\n";
    let stories =
        "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\n[[stories]]\nid = \"S-2\"\ntitle = \"Two\"\nworker = \"other\"\n";
    let resets = "4102444800";
    let yard = yard(&["claude", "codex"], settings, stories).env("ODD", "limited").env("RESETS", resets);
    let explained = yard.run(&["run", "--explain"]).stdout;
    for line in [
        "worker stage 0: claude --permission-mode acceptEdits --model small (for stage 0, [worker.stage.0])",
        "worker stage 1, 2, 3: claude --permission-mode acceptEdits (for all work, [worker])",
        "worker: codex --sandbox workspace-write (chosen by name, [worker.other])",
    ] {
        assert!(explained.contains(line), "{line}\n{explained}");
    }
    assert!(calls(&yard, "claude").is_empty(), "nothing is started");
    let ended = yard.run(&["run", "--yes", "--json"]);
    assert!(
        ended.stdout.contains("story-S-1-s1-retry started with the brief, attempt 3, by [worker.other]"),
        "{}",
        ended.stdout
    );
    let claude = calls(&yard, "claude");
    assert_eq!(claude.len(), 2, "stage 0, and stage 1 up to the limit: {claude:?}");
    assert!(claude[0].contains("--model small") && !claude[1].contains("--model"), "{claude:?}");
    assert_eq!(calls(&yard, "codex").len(), 3 + 4);
    assert!(!yard.outer("marks/mixed").exists(), "no session goes on with another client");
    yard.assert_nothing_left();
}

#[test]
fn a_story_that_asks_for_an_unknown_worker_is_an_error_before_anything_starts() {
    let settings = "[worker.reviewer]\nmodel = \"large\"\n";
    let stories = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nworker = \"reviewr\"\n";
    let yard = yard(&["claude"], settings, stories);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stdout);
    assert!(
        ended.stderr.contains("the story S-1 asks for the worker `reviewr`, which is not there"),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("did you mean `reviewer`?"), "{}", ended.stderr);
}

#[test]
fn a_limit_in_the_far_future_or_past_is_waited_for_within_bounds() {
    for (resets, least, most) in [("9999999999", 691_000, 691_300), ("1000000000", 5, 20)] {
        let yard = yard(&["claude"], "", ONE).env("ODD", "limited").env("RESETS", resets);
        yard.run(&["approve"]);
        let mut lead = yard.command(&["run", "--json"]).spawn().expect("it starts");
        let memory = || {
            let bytes = std::fs::read(yard.workspace.path(".piton/run/memory.json")).unwrap_or_default();
            serde_json::from_slice::<Value>(&bytes).unwrap_or_default()
        };
        let is_parked = || memory()["lanes"]["pipeline:S-1"]["state"]["is"] == "parked";
        wait_for("it to be parked", is_parked, || memory().to_string());
        let until = memory()["lanes"]["pipeline:S-1"]["state"]["until"].as_str().expect("a time").to_owned();
        lead.kill().expect("it can be killed");
        lead.wait().expect("it is gone");
        let until = std::process::Command::new("date").args(["-u", "-d", &until, "+%s"]).output().expect("date runs");
        let until: i64 = String::from_utf8_lossy(&until.stdout).trim().parse().expect("a number");
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("it is later").as_secs();
        let wait = until - i64::try_from(now).expect("it fits");
        assert!((least - 60..=most).contains(&wait), "{resets}: {wait} s");
    }
}

#[test]
fn the_cost_of_a_run_is_the_sum_of_its_workers() {
    let yard = yard(&["claude"], "", ONE).env("ODD", "dies");
    yard.run(&["run", "--yes"]);
    assert_eq!(calls(&yard, "claude").len(), 5, "four stages, and one worker that was resumed");
    let report = report(&yard);
    // The resumed session counts on from 0.25 to 0.50; each worker cost 0.25.
    assert_eq!(report["cost_usd"], 1.25, "{report}");
    assert_eq!(report["lanes"][0]["cost_usd"], 1.25);
    let costs = report["lanes"][0]["costs"].as_array().expect("a list").clone();
    assert_eq!(costs.len(), 5);
    assert!(costs.iter().all(|cost| cost["cost_usd"] == 0.25), "{costs:?}");
    assert!(yard.text(".piton/run/report.md").contains(", $1.25."));
}
